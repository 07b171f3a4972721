"""Small things that are said in one place: hints with the nearest name, and the commands that install an extra."""

from __future__ import annotations

import ast
import itertools
import re
import tomllib
from pathlib import Path

from tests.sources import ROOT, modules, name_of, nodes_of


def _bodies(path: Path) -> list[list[ast.stmt]]:
    return [
        body
        for node in nodes_of(path)
        for field in ("body", "orelse", "finalbody")
        if isinstance(body := getattr(node, field, None), list)
    ]


def test_the_nearest_name_is_suggested_in_one_place() -> None:
    """A choice between `did you mean` and another hint, right after the search, is what `suggest` does."""
    found = set()
    for path in modules():
        for body in _bodies(path):
            for before, after in itertools.pairwise(body):
                search = before.value if isinstance(before, ast.Assign) else None
                searches = isinstance(search, ast.Call) and ast.unparse(search.func) == "nearest"
                chooses = searches and not isinstance(after, ast.If | ast.For | ast.With)
                if chooses and re.search(r"f'did you mean `\{\w+\}`\?' if \w+ else", ast.unparse(after)):
                    found.add(name_of(path))
    assert found == {"compiler/tripos_compiler/diagnostics/diagnostic.py"}  # `suggest` itself, and an edit


def test_every_extra_that_a_message_names_is_one_of_the_project() -> None:
    known = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    named = {
        (extra, name_of(path))
        for path in [*modules(), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
        for listed in re.findall(r"tripos\[([\w,-]+)\]", path.read_text("utf-8"))
        for extra in listed.split(",")
    }
    assert len({extra for extra, _ in named}) > 5
    assert [each for each in named if each[0] not in known] == []
