"""SQuAD 2.0: exact match and F1 are those of the official script, with and without an answer."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.gallery.playing import facts_of, play, verdicts_of


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
            assert scores[metric, each["row"]["id"]] == pytest.approx(each[metric], abs=facts.apart), each
    for metric in ("exact", "f1"):
        whole = last["figures"]["all"]
        assert figures[f"reading.{metric}"].value == pytest.approx(whole[metric], abs=1e-9)
        parts = {kind: last["figures"][kind][metric] for kind in ("HasAns", "NoAns")}
        assert figures.by(f"reading.{metric}_by_answer") == pytest.approx(parts, abs=1e-9)
