"""DROP: exact match and F1 over spans that are put side by side are those of the official metric, as lm-eval has it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.gallery.playing import facts_of, is_answer, play, verdicts_of


def has_truth(row: dict[str, Any]) -> bool:
    """Return true if any answer begins with a part that says something: without one, all replies are wrong."""
    answers = [row["answer"], *row["validated_answers"]]
    firsts = [each["number"] or next(iter(each["spans"]), " ".join(each["date"].values())) for each in answers]
    return any(first.strip() for first in firsts)


def test_every_score_is_that_of_the_official_metric(tmp_path: Path) -> None:
    said = verdicts_of("drop")
    facts = facts_of("drop")
    assert len(said) == facts.replies

    def answers(messages: list[str]) -> str:
        return str(said[int(re.findall(r"Question: Question (\d+)\?", messages[0])[0])]["reply"])

    figures = play(tmp_path, "drop", {"drop_dev.jsonl": [each["row"] for each in said]}, answers)
    scores = {(score.metric, score.fields["query_id"]): score.value for score in figures.scores}
    for each in said:
        for metric in ("em", "f1"):
            is_read = is_answer(each["reply"]) or not has_truth(each["row"])
            wanted = pytest.approx(each[metric], abs=facts.apart) if is_read else None
            assert scores[metric, each["row"]["query_id"]] == wanted, each
    for metric in ("em", "f1"):
        values = [each[metric] for each in said if is_answer(each["reply"]) or not has_truth(each["row"])]
        assert figures[metric].value == pytest.approx(sum(values) / len(values), abs=facts.apart)
    assert len({each["f1"] for each in said}) > 10
