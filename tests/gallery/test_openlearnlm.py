"""OpenLearnLM by the authors' own checker and report: `originals/openlearnlm.py`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from statistics import fmean

import pytest

from tests.gallery.playing import facts_of, is_answer, play, verdicts_of

FILES = {
    "content": "content_knowledge/questions_test.jsonl",
    "pedagogy": "pedagogical_knowledge/questions_test.jsonl",
    "skills": "skills/questions_test.jsonl",
    "attitude": "attitude/questions_test.jsonl",
}


def test_scores_and_figures_are_those_of_the_authors(tmp_path: Path) -> None:
    *told, last = verdicts_of("openlearnlm")
    facts = facts_of("openlearnlm")
    assert len(told) == facts.replies
    rows: dict[str, list[dict[str, object]]] = {path: [] for path in FILES.values()}
    for number, row in enumerate(told):
        meta = {"subject": "s", "tag": "t", "center": "Teaching", "role": "r", "domain": "cognitive"}
        meta |= {"scenario": ("Analysis / Learners", "Analysis / Other", "Analysis")[number % 3]}
        meta |= {
            "dimension": "d",
            "evaluation_question": "Is it so?",
            "scale": "1-2: no. 9-10: yes.",
            **row.get("metadata", {}),
        }
        options = ["one", "two", "three", "four"] if "said" in row else None
        answer = row.get("answer", "a reference")
        item = {"question": f"question {number:03}", "options": options, "answer": answer, "metadata": meta}
        rows[FILES[row["part"]]].append(item)

    def candidate(messages: list[str]) -> str:
        number = int(re.findall(r"question (\d{3})", messages[-1])[0])
        assert ("A. one" in messages[-1]) == ("said" in told[number])
        return str(told[number].get("said", f"answer {number:03}"))

    def judge(messages: list[str]) -> str:
        number = int(re.findall(r"answer (\d{3})", messages[-1])[0])
        if (
            told[number]["part"] == "skills"
        ):  # the part of the scenario has a rubric of its own, or the general one holds
            assert (
                ("the rubric of learners" in messages[-1]) == (number % 3 == 0) != ("a full analysis" in messages[-1])
            )
        return json.dumps({"value": told[number]["grade"]})

    files = {**rows, "rubrics.jsonl": [{"part": "Learners", "rubric": "the rubric of learners"}]}
    figures = play(tmp_path, "openlearnlm", files, candidate, {"judge": judge})
    found = {(int(str(each.fields["question"])[-3:]), each.metric): each.value for each in figures.scores}
    for number, row in enumerate(told):
        if "said" in row:
            assert found[number, "right"] == (row["is_correct"] if is_answer(row["said"]) else None), row
        else:
            assert found[number, "grade"] == row["score"]
            assert row["part"] == "attitude" or found[number, "pass"] == row["is_correct"]
    expected = last["figures"]
    near = lambda value: pytest.approx(value, abs=facts.apart)  # noqa: E731
    for name in ("content", "pedagogy"):
        own = [row for row in told if row["part"] == name]
        assert fmean(row["is_correct"] for row in own) == near(expected[name]["accuracy"])
        assert figures[name].value == near(fmean(row["is_correct"] for row in own if is_answer(row["said"])))
    for name in ("skills", "attitude"):
        assert figures[name].value == near(expected[name]["avg_score"])
    assert figures["skills.pass_rate"].value == near(expected["skills"]["pass_rate"])
    for level in ("Easy", "Medium", "Hard"):
        assert figures.by("skills.by_difficulty")[level] == near(expected["skills"][level])
    for stance, value in figures.by("attitudes.by_category").items():
        assert value == near(expected["attitude"][stance])
