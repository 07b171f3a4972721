"""The specs that lexer and grammar are tried on: those that come with Tripos, valid cases, the example, the design's."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
EXTENSION = ROOT / "editors" / "vscode"
EXAMPLE = EXTENSION / "test" / "example.tripos"
DESIGN = ROOT.parent / "shared" / "design" / "examples"

SPECS = [
    *sorted((ROOT / "specs").rglob("*.tripos")),
    *sorted((ROOT / "docs" / "examples").glob("*.tripos")),
    *sorted((ROOT / "tests" / "cases").glob("*/valid/*.tripos")),
    *sorted(DESIGN.glob("*.tripos")),
    EXAMPLE,
]


def shown(path: Path) -> str:
    """Return the name of a spec in the list of tests."""
    folder = next(folder for folder in (ROOT, DESIGN.parent) if path.is_relative_to(folder))
    return path.relative_to(folder).as_posix()
