"""The page on mistakes of a protocol: how many it has, and that each shows as it says."""

from __future__ import annotations

import re
from pathlib import Path

from tripos_compiler.diagnostics.codes import CODES

PAGE = (Path(__file__).parents[2] / "docs" / "explanation/protocol-mistakes.md").read_text("utf-8")
ROWS = re.findall(r"^\| (?!mistake|---)(.+?) \| (.+?) \|$", PAGE, re.MULTILINE)
OTHERWISE = {"a line of the report", "a line of the leaderboard", "the coverage of the report"}


def test_forty_mistakes_and_more_are_listed_once_each() -> None:
    mistakes = [mistake for mistake, _ in ROWS]
    assert len(mistakes) == len(set(mistakes)) >= 40


def test_each_shows_as_a_code_that_exists_or_in_the_report() -> None:
    ways = {way for _, shown in ROWS for way in shown.split(", and ")}
    assert ways - OTHERWISE - set(CODES) == set()
