"""Mutants: small errors, made by hand in each leg, that the tests must find.

    python tests/mutants/run.py                    all of them
    python tests/mutants/run.py lock secrecy       those that name one of these words
    python tests/mutants/run.py --check            say only whether each still fits the source

`*.toml` beside this file have the mutants, a file for each leg: what an entry breaks, where, the text and what stands
in its place, and the tests that should fail then. The text is looked for in the whole leg, since
modules move; it must occur once, or once within the function that `where` names. Each mutant is made in a copy of the
tree, whose tests run until one fails. Long tests run at their small size: `.ci/run` runs those of a file that changes.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
LEGS = {
    "compiler": Path("compiler/tripos_compiler"),
    "product": Path("tripos"),
    "runtime": Path("runtime/tripos_runtime"),
    "warehouse": Path("warehouse/tripos_warehouse"),
}
KILLED, SURVIVED, STALE, BROKEN = "killed", "survived", "stale", "broken"
TIMEOUT_S = 900


@dataclass(frozen=True)
class Mutant:
    """An error: the `old` text becomes the `new` one in a leg."""

    leg: str
    breaks: str
    where: str
    old: str
    new: str
    tests: tuple[str, ...]

    @property
    def function(self) -> str:
        """The last name of `where`."""
        return self.where.rpartition(".")[2]


class Stale(Exception):
    """The text of a mutant is nowhere, or at several places."""


def read_mutants() -> list[Mutant]:
    """Read all mutants, in the order of their files."""
    found = []
    for leg in LEGS:
        table = tomllib.loads((Path(__file__).parent / f"{leg}.toml").read_text("utf-8"))
        found += [Mutant(leg, **{**each, "tests": tuple(each["tests"])}) for each in table["mutant"]]
    return found


def read_leg(leg: str, root: Path) -> dict[Path, str]:
    """Read the sources of a leg, by their paths."""
    return {path: path.read_text("utf-8") for path in sorted((root / LEGS[leg]).rglob("*.py"))}


def place_of(mutant: Mutant, sources: Mapping[Path, str]) -> tuple[Path, int]:
    """Find the file of a mutant's text among those of its leg, and its position there. Raises `Stale`."""
    found = [(path, at) for path, text in sources.items() for at in _positions(text, mutant.old)]
    if len(found) > 1:
        found = [(path, at) for path, at in found if _function_at(sources[path], at) == mutant.function]
    if len(found) != 1:
        raise Stale(f"the text occurs {len(found)} times")
    return found[0]


def _positions(text: str, part: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def _function_at(text: str, at: int) -> str:
    """Return the name of the function that is defined last before a position."""
    before = [
        line.split("def ", 1)[1] for line in text[:at].splitlines() if line.lstrip().startswith(("def ", "async def "))
    ]
    return before[-1].split("(")[0] if before else ""


def copy_tree(to: Path) -> Path:
    """Copy the files that git knows, changes and new ones included; `shared` stays a link beside the copy."""
    root = to / "tripos"
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout.decode()
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, root / name)
    if (ROOT.parent / "shared").exists():
        (to / "shared").symlink_to((ROOT.parent / "shared").resolve())
    return root


def try_mutant(mutant: Mutant, root: Path, number: int) -> tuple[str, str]:
    """Make a mutant in a copy of the tree and run its tests: the outcome, and the test that failed."""
    try:
        path, at = place_of(mutant, read_leg(mutant.leg, root))
    except Stale as stale:
        return STALE, str(stale)
    whole, times = path.read_bytes(), path.stat()
    text = whole.decode()
    try:
        path.write_text(text[:at] + mutant.new + text[at + len(mutant.old) :], "utf-8")
        # Compiled files are known by the second and the size of their source: every mutant has a second of its own.
        os.utime(path, (times.st_atime, times.st_mtime + 10 * number))
        return _outcome(mutant, root)
    finally:
        path.write_bytes(whole)
        os.utime(path, (times.st_atime, times.st_mtime))


def _outcome(mutant: Mutant, root: Path) -> tuple[str, str]:
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | {
        "TESTS_LENGTH": "long"
    }
    environ["PYTHONPATH"] = os.pathsep.join(str(root / part) for part in ("", "compiler", "runtime", "warehouse"))
    command = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", "--no-header", "--tb=no", *mutant.tests]
    try:
        done = subprocess.run(
            command, cwd=root, env=environ, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return KILLED, "a test never ends"
    told = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    first = told[0].split(" - ")[0] if told else ""
    if done.returncode == 1:
        return KILLED, first.removeprefix("FAILED ").removeprefix("ERROR ")
    if done.returncode == 0:
        return SURVIVED, ""
    if done.returncode == 2 and told:  # a module of tests that cannot even be imported
        return KILLED, first
    return BROKEN, (done.stdout + done.stderr).strip().splitlines()[-1]


def main() -> int:
    """Print a line for each mutant, and how many were killed; fail where one was not."""
    parser = argparse.ArgumentParser(description="make small errors and see whether the tests find them")
    parser.add_argument("words", nargs="*", help="only mutants that have one of these words in any of their texts")
    parser.add_argument("--check", action="store_true", help="say only whether each mutant still fits the source")
    arguments = parser.parse_args()
    chosen = [
        each
        for each in read_mutants()
        if not arguments.words or any(word in f"{each.leg} {each.breaks} {each.where}" for word in arguments.words)
    ]
    counts = {KILLED: 0, SURVIVED: 0, STALE: 0, BROKEN: 0}
    with tempfile.TemporaryDirectory(prefix="tripos-mutants-") as folder:
        root = ROOT if arguments.check else copy_tree(Path(folder))
        for number, mutant in enumerate(chosen, 1):
            began = time.monotonic()
            if arguments.check:
                try:
                    place_of(mutant, read_leg(mutant.leg, root))
                    continue
                except Stale as stale:
                    outcome, told = STALE, str(stale)
            else:
                outcome, told = try_mutant(mutant, root, number)
            counts[outcome] += 1
            took = f"{time.monotonic() - began:5.1f} s"
            print(f"{outcome:8}  {mutant.leg:9}  {took}  {mutant.breaks}  ({mutant.where})  {told}", flush=True)
    if arguments.check:
        print(f"{len(chosen) - counts[STALE]} of {len(chosen)} mutants fit the source")
        return int(counts[STALE] > 0)
    print(
        f"{counts[KILLED]} of {len(chosen)} killed; "
        + ", ".join(f"{n} {name}" for name, n in counts.items() if name != KILLED)
    )
    return int(counts[KILLED] < len(chosen))


if __name__ == "__main__":
    sys.exit(main())
