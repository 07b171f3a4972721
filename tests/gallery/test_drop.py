"""DROP: exact match and F1 over spans that are put side by side are those of the official metric, as lm-eval has it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.gallery.playing import facts_of, play, verdicts_of


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
            assert scores[metric, each["row"]["query_id"]] == pytest.approx(each[metric], abs=facts.apart), each
    for metric in ("em", "f1"):
        values = [each[metric] for each in said]
        assert figures[metric].value == pytest.approx(sum(values) / len(values), abs=facts.apart)
    assert len({each["f1"] for each in said}) > 10
