"""SQuAD 2.0: exact match and F1 are those of the official script, with and without an answer."""

from __future__ import annotations

import re
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from tests.gallery.playing import answered, facts_of, is_answer, play, verdicts_of


def figures_of(said: list[dict[str, Any]], metric: str) -> dict[str, float]:
    """Return the mean of a metric in per cent: of all questions, of those with an answer, and of those without."""
    kinds = {"HasAns": [each for each in said if each["row"]["answers"]["text"]]}
    kinds |= {"NoAns": [each for each in said if not each["row"]["answers"]["text"]], "all": said}
    return {kind: 100 * fmean(each[metric] for each in own) for kind, own in kinds.items()}


def test_every_score_and_figure_is_that_of_the_official_script(tmp_path: Path) -> None:
    *said, last = verdicts_of("squad")
    facts = facts_of("squad")
    assert len(said) == facts.replies

    def answers(messages: list[str]) -> str:
        return str(said[int(re.findall(r"Question: Question (\d+)\?", messages[0])[0])]["reply"])

    figures = play(tmp_path, "squad", {"validation.jsonl": [each["row"] for each in said]}, answers)
    scores = {(score.metric, score.fields["id"]): score.value for score in figures.scores}
    for each in said:
        for metric in ("exact", "f1"):
            wanted = pytest.approx(each[metric], abs=facts.apart) if is_answer(each["reply"]) else None
            assert scores[metric, each["row"]["id"]] == wanted, each
    for metric in ("exact", "f1"):
        there = {kind: last["figures"][kind][metric] for kind in ("all", "HasAns", "NoAns")}
        assert figures_of(said, metric) == pytest.approx(there, abs=1e-9)
        parts = figures_of(answered(said), metric)
        assert figures[f"reading.{metric}"].value == pytest.approx(parts.pop("all"), abs=1e-9)
        assert figures.by(f"reading.{metric}_by_answer") == pytest.approx(parts, abs=1e-9)
