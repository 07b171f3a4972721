"""MGSM: texts, worked examples and both readings of a number are those of lm-eval, in all eleven languages."""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from pathlib import Path

import pytest

from tests.gallery.playing import GALLERY, answered, facts_of, is_answer, play, verdicts_of


def test_every_score_in_every_language_is_that_of_lm_eval(tmp_path: Path) -> None:
    said = verdicts_of("mgsm")
    facts = facts_of("mgsm")
    assert len(said) == facts.replies
    with (GALLERY / "mgsm" / "words.csv").open(encoding="utf-8", newline="") as file:
        words = {row["code"]: row for row in csv.DictReader(file)}
    rows, replies = defaultdict(list), {}
    for each in said:
        rows[each["language"]].append(each["row"])
        replies[each["last"]] = each["reply"]
    files = {f"test/{code}.jsonl": each for code, each in rows.items()}
    for code in rows:
        before = words[code]
        worked = [f"{before['question']} Worked {number}?" for number in range(8)]
        files[f"train/{code}.jsonl"] = [
            {"question": each, "answer": f"{before['answer']} 5 - 2 = 3."} for each in worked
        ]

    def answers(messages: list[str]) -> str:
        first, *_, last = messages[0].split("\n\n")
        assert messages[0].count("Worked") == 8
        assert re.sub(r"\d", "", first) == re.sub(r"\d", "", examples[last])
        return str(replies[last])

    examples = {each["last"]: each["first"] for each in said}
    assert len(replies) == len(said)
    figures = play(tmp_path, "mgsm", files, answers)
    scores = {
        (score.metric, score.fields["language"], score.fields["question"]): score.value for score in figures.scores
    }
    for each in said:
        for metric in ("strict", "flexible"):
            wanted = each[metric] if is_answer(each["reply"]) else None
            assert scores[metric, each["language"], each["row"]["question"]] == wanted, each
    for metric, average in (("flexible", "average"), ("strict", "strict_average")):
        parts = [[each[metric] for each in answered(said) if each["language"] == code] for code in rows]
        mean = sum(sum(part) / len(part) for part in parts) / len(parts)
        assert figures[average].value == pytest.approx(mean, abs=facts.apart)
