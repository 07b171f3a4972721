"""Small things that are said in one place: hints with the nearest name, and the commands that install an extra."""

from __future__ import annotations

import ast
import itertools
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
LEGS = ("compiler/tripos_compiler", "runtime/tripos_runtime", "warehouse/tripos_warehouse", "tripos")
SOURCES = [path for leg in LEGS for path in sorted((ROOT / leg).rglob("*.py"))]


def _bodies(tree: ast.AST) -> list[list[ast.stmt]]:
    return [
        body
        for node in ast.walk(tree)
        for field in ("body", "orelse", "finalbody")
        if isinstance(body := getattr(node, field, None), list)
    ]


def test_the_nearest_name_is_suggested_in_one_place() -> None:
    """A choice between `did you mean` and another hint, right after the search, is what `suggest` does."""
    found = set()
    for path in SOURCES:
        for body in _bodies(ast.parse(path.read_text("utf-8"))):
            for before, after in itertools.pairwise(body):
                search = before.value if isinstance(before, ast.Assign) else None
                searches = isinstance(search, ast.Call) and ast.unparse(search.func) == "nearest"
                hints = re.search(r"f'did you mean `\{\w+\}`\?' if \w+ else", ast.unparse(after))
                if searches and hints and not isinstance(after, ast.If | ast.For | ast.With):
                    found.add(path.relative_to(ROOT).as_posix())
    assert found == {"compiler/tripos_compiler/diagnostics/diagnostic.py"}  # `suggest` itself, and an edit


def test_every_extra_that_a_message_names_is_one_of_the_project() -> None:
    known = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    named = {
        (extra, path.relative_to(ROOT).as_posix())
        for path in [*SOURCES, *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
        for listed in re.findall(r"tripos\[([\w,-]+)\]", path.read_text("utf-8"))
        for extra in listed.split(",")
    }
    assert len({extra for extra, _ in named}) > 5
    assert [each for each in named if each[0] not in known] == []
