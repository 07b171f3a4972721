"""The pages for people who change Tripos name files and folders that are there."""

from __future__ import annotations

import re

import pytest

from tests.sources import LEGS, ROOT

CONTRIBUTING = ROOT / "docs/contributing"
TOP = ("compiler", "runtime", "warehouse", "tests", "docs", "specs", "editors")
PAGES = (
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    *(f"docs/contributing/{path.name}" for path in CONTRIBUTING.glob("*.md")),
)
FILES = frozenset(
    path.relative_to(ROOT).as_posix()
    for folder in (*LEGS, "tests", "docs", "editors")
    for path in (ROOT / folder).rglob("*")
    if not {"__pycache__", "node_modules"} & set(path.parts)
)


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_is_named_is_there(page: str) -> None:
    named = re.findall(r"`([\w./]+(?:\.py|/))`", (ROOT / page).read_text("utf-8"))
    wanted = {f"/{name.removesuffix('/')}" for name in named if "NAME" not in name}
    there = [f"/{path}" for path in (*FILES, *LEGS, *TOP)]
    assert sorted(name for name in wanted if not any(path.endswith(name) for path in there)) == []
