"""The Berkeley Function Calling Leaderboard by its package: the verdict of `ast_checker` on every reply."""

from __future__ import annotations

import re
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from tests.gallery.originals.bfcl import CATEGORIES, calls, rows
from tests.gallery.playing import facts_of, play, verdicts_of
from tripos_compiler.plan import parse_call, write_calls


def lines(found: list[dict[str, Any]], *names: str) -> list[dict[str, Any]]:
    return [{name: row[name] for name in names} for row in found]


def said(row: dict[str, Any]) -> str | None:
    """Return the reply to a question."""
    found = calls(row)
    if found is None:
        return None if row["ground_truth"] else "No function fits."
    if isinstance(found, str):
        return write_calls("", [parse_call("weather.now", '{"city": "Rome"')])
    return write_calls("Let me see.", [parse_call(name, each) for call in found for name, each in call.items()])


def test_verdicts_are_those_of_ast_checker(tmp_path: Path) -> None:
    questions = {category: rows(category) for category in CATEGORIES}
    by_id = {row["id"]: row for found in questions.values() for row in found}
    files = {f"BFCL_v4_{name}.json": lines(found, "id", "question", "function") for name, found in questions.items()}
    files |= {
        f"possible_answer/BFCL_v4_{name}.json": lines(found, "id", "ground_truth")
        for name, found in questions.items()
        if name != "irrelevance"
    }
    figures = play(
        tmp_path, "bfcl", files, lambda messages: said(by_id["_".join(re.findall(r"<(\w+) (\d+)>", messages[-1])[0])])
    )
    verdicts = {each["id"]: each["right"] for each in verdicts_of("bfcl")}
    found = {score.fields["id"]: bool(score.value) for score in figures.scores}
    assert found == verdicts
    assert len(found) == facts_of("bfcl").replies
    shares = {name: fmean(verdicts[row["id"]] for row in rows) for name, rows in questions.items()}
    assert all(0.2 < share < 0.9 for share in shares.values())
    apart = facts_of("bfcl").apart
    assert figures["irrelevance"].value == pytest.approx(shares.pop("irrelevance"), abs=apart)
    by_category = {f"{name.removesuffix('_python')}_calls": share for name, share in shares.items()}
    assert figures.by("by_category") == pytest.approx(by_category, abs=apart)
    assert figures["non_live_ast"].value == pytest.approx(fmean(shares.values()), abs=apart)
