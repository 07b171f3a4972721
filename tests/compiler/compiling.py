"""Compiles specs in tests."""

from __future__ import annotations

from pathlib import Path

from tests.compiler.stand_in_releases import StandInReleases
from tripos_compiler.compile import Compilation, compile_spec
from tripos_compiler.plan import Plan
from tripos_runtime.datasets.data_files import DataFolders

ROOT = Path(__file__).parents[2]
EDUBENCH = ROOT / "specs" / "edubench"


def read(path: str) -> str:
    """Return the text of a spec file."""
    return Path(path).read_text("utf-8")


def compile_file(path: Path, against: Plan | None = None) -> Compilation:
    """Compile a file against the data beside it and in a folder `given`, and an earlier version where one is given."""
    given = path.parent / "given"
    data = DataFolders((given,) if given.is_dir() else ())
    return compile_spec(path.as_posix(), read, data, against=against, releases=StandInReleases())


def compile_files(folder: Path, files: dict[str, str], main: str = "spec.tripos") -> Compilation:
    """Write files into a folder and compile one of them."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    against = compile_file(folder / "before.tripos").plan if "before.tripos" in files else None
    return compile_file(folder / main, against)


def compile_text(text: str) -> Compilation:
    """Compile a spec of one file that has no data."""
    return compile_spec("spec.tripos", lambda path: text)


def plan_of(compilation: Compilation) -> Plan:
    """Return the plan, where there is one; fails with the diagnostics where there is none."""
    assert compilation.plan is not None, [(item.code, item.message) for item in compilation.diagnostics]
    return compilation.plan
