"""The wheel, installed alone: its weight by package, and whether its commands work.

`python tests/bench/installed.py [--wheel FILE] [PYTHON …]` builds the wheel where none is given, installs it into a new
environment of each Python, prints what every package weighs, and runs commands there. It needs a registry of packages.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
NAMED = ("lark", "pydantic", "jsonschema", "duckdb", "pyarrow", "litellm", "scipy")
"""The libraries that Tripos was asked to stand on."""
WEIGH = """
import importlib.metadata as metadata, json
found = {}
for each in metadata.distributions():
    files = [each.locate_file(name) for name in each.files or ()]
    sizes = [(file.suffix == ".pyc", file.stat().st_size) for file in files if file.is_file()]
    code = sum(size for compiled, size in sizes if not compiled)
    found[each.metadata["Name"]] = (each.version, code, sum(size for _, size in sizes), each.requires or [])
print(json.dumps(found))
"""
SPEC = """
benchmark weather "1.0.0" { languages en }
role candidate compared
role judge panel
axis topic { rain, snow, fog }
scorer kind(text: text) by judge { prompt "Is this kind? {{ text }}", gives 1..5 }
scenario explain {
  context topic
  ask reply by candidate { prompt "Explain {{ topic }}." }
  score kind = kind(reply.text)
}
measure kindness = mean(kind)
"""
MODELS = ("--model", "mock/careful,mock/careless", "--role", "judge=mock/fair,mock/severe")
COMMANDS = (
    ("check", "weather.tripos"),
    ("plan", "weather.tripos", *MODELS),
    ("run", "weather.tripos", *MODELS),
    ("report",),
    ("sql", "select model, avg(value) from weather.scores group by all order by all"),
    ("view", "--to", "site"),
    ("explain", "E0501"),
    ("check", "specs/cjeval"),
)


class Weights:
    """The size of the packages of an environment, and which of them need each other."""

    def __init__(self, python: Path) -> None:
        said = json.loads(subprocess.check_output([python, "-c", WEIGH], text=True))
        self.packages = {canonicalize_name(name): row for name, row in said.items()}

    def closure(self, names: list[str]) -> set[str]:
        """Return packages with all that they need."""
        found: set[str] = set()
        todo = [(canonicalize_name(name), frozenset[str]()) for name in names]
        while todo:
            name, extras = todo.pop()
            if name in found or name not in self.packages:
                continue
            found.add(name)
            for text in self.packages[name][3]:
                each = Requirement(text)
                if each.marker is None or any(each.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
                    todo.append((canonicalize_name(each.name), frozenset(each.extras)))
        return found

    def megabytes(self, names: set[str], *, compiled: bool = True) -> float:
        """Return what packages weigh, with or without the bytecode that pip compiles."""
        return sum(self.packages[name][2 if compiled else 1] for name in names) / 1e6

    def show(self) -> None:
        """Print the whole, what the named libraries take of it, and every package that weighs something."""
        whole = self.closure(["tripos"])
        floor = self.closure(list(NAMED))
        for title, names in (("all", whole), ("named libraries", floor), ("the rest", whole - floor)):
            amounts = f"{self.megabytes(names):6.0f} MB {self.megabytes(names, compiled=False):6.0f} MB"
            print(f"{title:<18} {len(names):>4} packages {amounts} without bytecode")
        for name in NAMED:
            alone = self.megabytes(self.closure([name]) - self.closure([each for each in NAMED if each != name]))
            print(f"  {name:<16} {self.megabytes({name}):6.1f} MB; {alone:6.1f} MB with what it alone needs")
        for name in sorted(whole - floor, key=lambda each: -self.packages[each][2]):
            if self.megabytes({name}) >= 0.5:
                print(f"  {name:<16} {self.megabytes({name}):6.1f} MB  of ours")


def build(folder: Path) -> Path:
    """Return the wheel of this tree."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT]
    subprocess.run(command, check=True)
    [wheel] = folder.glob("*.whl")
    return wheel


def try_with(python: str, wheel: Path, folder: Path) -> None:
    """Install the wheel with a Python, weigh it, and run its commands. Raises where one fails."""
    subprocess.run([python, "-m", "venv", folder / "env"], check=True)
    bin_ = folder / "env" / ("Scripts" if sys.platform == "win32" else "bin")
    subprocess.run([bin_ / "python", "-m", "pip", "install", "--quiet", "--only-binary=:all:", wheel], check=True)
    print(subprocess.check_output([bin_ / "python", "--version"], text=True).strip())
    Weights(bin_ / "python").show()
    (folder / "weather.tripos").write_text(SPEC, "utf-8")
    with zipfile.ZipFile(wheel) as inside:
        documented = "tripos/handbook/index.html" in inside.namelist()
    for command in (*COMMANDS, *([("docs", "--print", "E0501")] if documented else [])):
        done = subprocess.run([bin_ / "tripos", *command], cwd=folder, capture_output=True, text=True, check=False)
        print(f"  tripos {command[0]:<8} exit {done.returncode}")
        if done.returncode:
            raise SystemExit(done.stdout + done.stderr)


def main() -> None:
    """Try every Python that was named, or this one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wheel", help="try this one instead of building it")
    parser.add_argument("pythons", metavar="PYTHON", nargs="*")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tripos-installed-") as folder:
        wheel = Path(given.wheel).absolute() if given.wheel else build(Path(folder))
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")
        for number, python in enumerate(given.pythons or [sys.executable]):
            place = Path(folder, str(number))
            place.mkdir()
            try_with(python, wheel, place)


if __name__ == "__main__":
    main()
