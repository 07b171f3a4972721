"""MATH-500: the rule of the authors of MATH, and the symbolic one, give the verdicts that lm-eval's code gives."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.field.running import Figures
from tests.gallery.playing import answered, facts_of, is_answer, play, verdicts_of


def played(folder: Path, said: list[dict[str, Any]], spec: str) -> Figures:
    def answers(messages: list[str]) -> str:
        return str(said[int(re.findall(r"Problem (\d+)\.", messages[0])[0])]["reply"])

    return play(folder, "math_500", {"test.jsonl": [each["row"] for each in said]}, answers, spec=spec)


def compare(figures: Figures, said: list[dict[str, Any]], verdict: str) -> None:
    scores = {score.fields["unique_id"]: score for score in figures.scores if score.metric == "right"}
    for each in said:
        wanted = each[verdict] if is_answer(each["reply"]) else None
        assert scores[each["row"]["unique_id"]].value == wanted, each
    right = [each[verdict] for each in answered(said)]
    assert figures["accuracy"].value == pytest.approx(sum(right) / len(right), abs=facts_of("math_500").apart)
    levels = {str(each["row"]["level"]) for each in said}
    assert set(figures.by("by_level")) == levels


def test_every_score_is_that_of_the_authors_rule(tmp_path: Path) -> None:
    said = verdicts_of("math_500")
    assert len(said) == facts_of("math_500").replies
    compare(played(tmp_path, said, "math_500.tripos"), said, "right")


def test_every_symbolic_score_is_that_of_math_verify(tmp_path: Path) -> None:
    pytest.importorskip("math_verify")
    said = verdicts_of("math_500")[:80]
    compare(played(tmp_path, said, "symbolic.tripos"), said, "verified")
