"""MMLU-Pro: the letter that is read is the one that the authors' script reads, and the figures follow."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.gallery.playing import answered, facts_of, is_answer, play, verdicts_of

WORKED = [
    {
        "question_id": 1000 + number,
        "question": f"Worked {number}",
        "options": ["yes", "no"],
        "answer": "B",
        "cot_content": "A: Let's think step by step. RNA: no. The answer is (B).",
        "category": "math",
    }
    for number in range(6)
]


def test_every_score_is_that_of_the_authors_script(tmp_path: Path) -> None:
    said = verdicts_of("mmlu_pro")
    facts = facts_of("mmlu_pro")
    assert len(said) == facts.replies
    sent: dict[int, str] = {}

    def answers(messages: list[str]) -> str:
        (text,) = messages
        number = int(re.findall(r"Question: Question (\d+)\?", text)[0])
        sent[number] = text
        return str(said[number]["reply"])

    rows = [each["row"] for each in said]
    figures = play(tmp_path, "mmlu_pro", {"test.jsonl": rows, "validation.jsonl": WORKED}, answers)
    scores = {(score.metric, score.fields["question_id"]): score.value for score in figures.scores}
    for each in said:
        number, letter = each["row"]["question_id"], each["letter"]
        if not is_answer(each["reply"]):
            assert {scores[metric, number] for metric in ("readable", "strict", "right")} == {None}
            continue
        assert scores["readable", number] == (letter is not None), each
        assert scores["strict", number] == (letter == each["row"]["answer"]), each
        if letter is not None:
            assert scores["right", number] == scores["strict", number]
    right = [each["letter"] == each["row"]["answer"] for each in answered(said)]
    assert figures["without"].value == pytest.approx(sum(right) / len(right), abs=facts.apart)
    # A reply that names no letter is a guess, as the authors have it; theirs is another draw of the same chance.
    guessed = [scores["right", each["row"]["question_id"]] for each in answered(said) if each["letter"] is None]
    assert 0 < sum(value or 0 for value in guessed) < len(guessed) / 2
    whole = sum(right) + sum(value or 0 for value in guessed)
    assert figures["accuracy"].value == pytest.approx(whole / len(right), abs=facts.apart)
    example = next(text for number, text in sent.items() if rows[number]["category"] == "math")
    assert example.count("Worked") == 5, "five examples of the subject"
    assert "Answer: Let's think step by step. RNA: no. The answer is (B).\n\nQuestion:" in example
    assert "Worked" not in next(text for number, text in sent.items() if rows[number]["category"] == "law")
    assert all("N/A" not in text for text in sent.values())
