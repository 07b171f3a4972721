"""TutorEval by the authors' own parsing of verdicts and their own totals: `originals/tutoreval.py`."""

from __future__ import annotations

import re
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from tests.gallery.playing import facts_of, is_answer, play, verdicts_of

FIELDS = ("closed_book", "answer_in_chapter", "misleading_question", "difficulty", "domain")
PARTS = ("life_sciences", "math", "physics", "easy", "hard")


def figures_of(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Return the totals of the authors' script, in per cent of 3, for rows that were graded."""
    parts = {"total": rows, "misleading_questions": [row for row in rows if row["misleading_question"]]}
    parts["answer_in_chapter"] = [row for row in rows if row["answer_in_chapter"]]
    parts |= {name: [row for row in rows if name in (row["domain"], row["difficulty"])] for name in PARTS}
    found = {name: 100 * fmean(row["correctness"] for row in part) / 3 for name, part in parts.items()}
    return found | {"presentation_score": 100 * fmean(row["presentation"] for row in rows) / 3}


def test_grades_and_figures_are_those_of_the_authors_scripts(tmp_path: Path) -> None:
    *told, last = verdicts_of("tutoreval")
    facts = facts_of("tutoreval")
    assert len(told) == facts.replies
    rows = [
        {"chapter": f"chapter {number:03}", "question": f"question {number:03}", "key_points": f"points {number:03}"}
        | {name: row[name] for name in FIELDS}
        for number, row in enumerate(told)
    ]
    seen: list[tuple[str, str]] = []

    def answer(messages: list[str]) -> str:
        (number,) = re.findall(r"question (\d{3})", messages[-1])
        assert "points" not in messages[-1] and messages[0].startswith("You are a teacher")
        assert re.findall(r"chapter (\d{3})", messages[-1]) in ([], [number])
        return f"answer {number}"

    def judge(messages: list[str]) -> str:
        (number,) = re.findall(r"answer (\d{3})", messages[-1])
        assert f"question {number}" in messages[-1] and f"points {number}" in messages[-1]
        seen.append((number, "open" if f"chapter {number}" in messages[-1] else "closed"))
        return str(told[int(number)]["verdict"])

    figures = play(tmp_path, "tutoreval", {"questions.jsonl": rows}, answer, {"judge": judge})
    closed = [number for number, row in enumerate(told) if row["closed_book"]]
    assert len(seen) == len(told) + len(closed)
    for metric in ("presentation", "correctness"):
        found = {
            (score.scenario, score.fields["question"]): score.value
            for score in figures.scores
            if score.metric == metric
        }
        grades = [row[metric] if is_answer(row["verdict"]) else None for row in told]
        wanted = {("open_book", f"question {number:03}"): grade for number, grade in enumerate(grades)}
        wanted |= {("closed_book", f"question {number:03}"): grades[number] for number in closed}
        assert found == wanted
    near = lambda value: pytest.approx(value, abs=facts.apart)  # noqa: E731
    assert {"open": near(figures_of(told)), "closed": near(figures_of([told[n] for n in closed]))} == last["figures"]
    read = [row for row in told if is_answer(row["verdict"])]
    opened, shut = figures_of(read), figures_of([row for row in read if row["closed_book"]])
    assert figures["total"].value == figures["open_book.total"].value == near(opened["total"])
    assert figures["open_book.presentation"].value == near(opened["presentation_score"])
    assert figures.by("open_book.by_domain") == near(
        {name: opened[name] for name in ("life_sciences", "math", "physics")}
    )
    assert figures.by("open_book.by_difficulty") == near({name: opened[name] for name in ("easy", "hard")})
    assert figures["open_book.misleading"].value == near(opened["misleading_questions"])
    assert figures["open_book.in_chapter"].value == near(opened["answer_in_chapter"])
    assert figures["closed_book.total"].value == near(shut["total"])
    assert figures["closed_book.presentation"].value == near(shut["presentation_score"])
