"""The Pedagogy Benchmark: the letters that its own code reads in replies, and the form in which it puts questions."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.gallery.pedagogy_rows import examples, questions, replies
from tests.gallery.playing import facts_of, is_answer, play, verdicts_of


def test_letters_and_questions_are_those_of_the_original(tmp_path: Path) -> None:
    verdicts = verdicts_of("pedagogy")
    rows, said = questions(), replies()
    assert [verdict["reply"] for verdict in verdicts] == said
    sent: dict[int, str] = {}

    def answer(messages: list[str]) -> str:
        asked = messages[0].rpartition("What helps in case ")[2]
        number = int(asked.partition("?")[0])
        sent[number] = messages[0]
        return said[number]

    files = {
        "cdpk_main/train-ours.jsonl": [row for row in rows if row["category"] != "SEND"],
        "cdpk_send/train-ours.jsonl": [row for row in rows if row["category"] == "SEND"],
        "examples.jsonl": examples(),
    }
    figures = play(tmp_path, "pedagogy", files, answer)
    numbers = {row["question"]: row["question_id"] for row in rows}
    for score in figures.scores:
        number = numbers[score.fields["question"]]
        letter = verdicts[number]["letter"]
        wanted = letter == rows[number]["correct_answer"] if score.metric == "right" else letter is None
        if not is_answer(said[number]):
            assert (score.value, score.status) == (None, "parse_failure")
            continue
        assert score.value == wanted, (score.metric, said[number], letter)
    assert len(figures.scores) == 2 * facts_of("pedagogy").replies
    for number, verdict in enumerate(verdicts):
        if "question" in verdict:
            assert verdict["examples"] + "Answer the real" in sent[number]
            assert f":\n{verdict['question']}\n\n" in sent[number]
    apart = facts_of("pedagogy").apart
    for name, is_send in (("cdpk", False), ("send", True)):
        part = [n for n, row in enumerate(rows) if (row["category"] == "SEND") == is_send and is_answer(said[n])]
        right = sum(verdicts[n]["letter"] == rows[n]["correct_answer"] for n in part)
        assert figures[f"exams.{name}"].value == pytest.approx(right / len(part), abs=apart)
        unread = next(row for row in figures.rows["exams.bad_format"] if row.by == ("send" if is_send else "main",))
        assert unread.value == pytest.approx(sum(verdicts[n]["letter"] is None for n in part) / len(part), abs=apart)
    main = [is_answer(said[n]) for n, row in enumerate(rows) if row["category"] != "SEND"]
    assert figures["exams.cdpk"].coverage == pytest.approx(sum(main) / len(main), abs=apart)
