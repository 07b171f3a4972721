"""Scores that raters from outside a run were to give and did not are in the denominator of every figure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import QUIZ, Command
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

MEASURES = """
measure as_given  = mean(rubric) by evaluator
measure as_nought = mean(rubric, missing: zero) by evaluator
measure whole     = mean(rubric, missing: fail) by evaluator
measure agreed    = krippendorff_alpha(rubric) across judge by pair
"""
ONE = [{"scenario": "sums", "question": "1+1", "metric": "CLEAR", "score": "8"}]
"""Of the replies to three sums, on two metrics, and of two in words, on one, alice grades one: eight were hers to give."""


def report(tripos: Command) -> dict[str, Any]:
    found = tripos("report", "--json").data
    return {
        measure["name"]: {row["evaluator"]: row for row in measure["rows"]}
        for measure in found["measures"]
        if measure["by"] == ["evaluator"]
    }


def write(rows: list[dict[str, str]]) -> str:
    Path("grades.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return "grades.jsonl"


@pytest.fixture
def graded(quiz: Path, tripos: Command, once: Command) -> Path:
    """A run of a quiz with measures by evaluator, without a judge of its own for alice."""
    text = QUIZ + MEASURES
    (quiz / "quiz.tripos").write_text(text, "utf-8")
    assert once("run", "quiz.tripos", "--model", "mock/careful", "--role", "judge=mock/careful:a").code == 0
    return quiz


def take(tripos: Command, rows: list[dict[str, str]], evaluator: str = "human/alice", *more: str) -> None:
    assert tripos("import", "scores", write(rows), "--evaluator", evaluator, *more).code == 0


def test_a_rater_who_left_scores_out_has_them_in_the_denominator(graded: Path, tripos: Command) -> None:
    assert report(tripos)["as_given"]["mock/careful:a"]["total"] == 8
    take(tripos, ONE)
    row = report(tripos)["as_given"]["human/alice"]
    assert (row["value"], row["n"], row["total"], row["coverage"]) == (8.0, 1, 8, 1 / 8)
    assert report(tripos)["as_given"]["mock/careful:a"]["coverage"] == 1


def test_what_a_rater_left_out_is_taken_as_the_measure_says(graded: Path, tripos: Command) -> None:
    take(tripos, ONE)
    found = report(tripos)
    assert (found["as_nought"]["human/alice"]["value"], found["as_nought"]["human/alice"]["n"]) == (1.0, 1)
    assert found["whole"]["human/alice"]["value"] is None


def test_what_comes_later_is_missing_no_more(graded: Path, tripos: Command) -> None:
    take(tripos, ONE)
    take(tripos, [{**ONE[0], "metric": "RIGHT"}, {**ONE[0], "question": "half of 9"}])
    row = report(tripos)["as_given"]["human/alice"]
    assert (row["value"], row["n"], row["total"]) == (8.0, 3, 8)


@pytest.mark.long
def test_every_rater_and_round_has_a_denominator_of_its_own(graded: Path, tripos: Command) -> None:
    take(tripos, ONE)
    take(tripos, ONE, "human/alice", "--round", "2")
    take(tripos, ONE, "human/bob")
    found = report(tripos)["as_given"]
    assert (found["human/alice"]["n"], found["human/alice"]["total"]) == (2, 16)
    assert (found["human/bob"]["n"], found["human/bob"]["total"]) == (1, 8)


def test_a_second_grade_of_one_reply_leaves_the_agreement_on_the_others(graded: Path, tripos: Command) -> None:
    grades = [
        {"scenario": "sums", "question": question, "metric": metric, "score": score}
        for metric in ("CLEAR", "RIGHT")
        for question, score in (("1+1", "8"), ("12 + 30", "6"), ("half of 9", "3"))
    ]

    def agreed() -> dict[str, Any]:
        [measure] = [each for each in tripos("report", "--json").data["measures"] if each["name"] == "agreed"]
        return {name: measure["rows"][0][name] for name in ("value", "items", "n", "total")}

    take(tripos, grades)
    first = agreed()
    take(tripos, grades[:1], "human/alice", "--round", "2")
    assert first["value"] is not None
    assert agreed() == first


def test_the_view_of_scores_shows_what_was_not_given(graded: Path, tripos: Command) -> None:
    take(tripos, ONE)
    query = (
        "select scenario, metric, count(*) as n from quiz.scores where status = 'not_given' group by all order by all"
    )
    with connect(Store.open("results", create=False)) as connection:
        found = connection.execute(query).fetchall()
    assert found == [("sums", "CLEAR", 2), ("sums", "RIGHT", 3), ("words", "CLEAR", 2)]


def test_replies_that_nobody_outside_graded_expect_nothing(graded: Path, tripos: Command, once: Command) -> None:
    """The raters of one run are none of another, whose replies they never saw."""
    take(tripos, ONE)
    assert once("run", "quiz.tripos", "--model", "mock/careless", "--role", "judge=mock/careful:a").code == 0
    assert set(report(tripos)["as_given"]) == {"mock/careful:a"}
