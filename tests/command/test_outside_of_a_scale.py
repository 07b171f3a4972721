"""A scale says what becomes of a score that does not lie on it, whoever gave the score."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.compiler.compiling import compile_files, plan_of
from tests.conftest import QUIZ, Command
from tripos_compiler.plan import Grade, Metric
from tripos_compiler.plan.plan import Outside
from tripos_runtime.reading.judgements import read_metrics

NOUGHT = [
    {"scenario": "sums", "question": "1+1", "metric": "CLEAR", "score": 0},
    {"scenario": "sums", "question": "12 + 30", "metric": "CLEAR", "score": 8},
]
ITEM = '{"question": "12 + 30", "answer": "42"}\n'
MEASURES = """
measure clear = mean(CLEAR) by evaluator
measure both  = mean(rubric) by evaluator
"""


def spec(outside: str) -> str:
    return QUIZ.replace('scale 1..10\n    asks "Is the reply clear?"', f'scale 1..10 {outside}\n    asks "Clear?"')


def taken(quiz: Path, tripos: Command, outside: str) -> dict[str, Any]:
    """Return what alice's scores come to: the rows of the measures, with the exit code and words of the import."""
    (quiz / "quiz.tripos").write_text(spec(outside) + MEASURES, "utf-8")
    (quiz / "grades.jsonl").write_text("\n".join(map(json.dumps, NOUGHT)), "utf-8")
    assert tripos("run", "quiz.tripos", "--model", "mock/careful", "--role", "judge=mock/careful:a").code == 0
    done = tripos("import", "scores", "grades.jsonl", "--evaluator", "human/alice")
    rows = {
        measure["name"]: row
        for measure in tripos("report", "--json").data["measures"]
        for row in measure["rows"]
        if row.get("evaluator") == "human/alice"
    }
    return {"code": done.code, "said": done.out + done.err, **rows}


def test_a_scale_that_says_nothing_refuses_what_lies_outside(quiz: Path, tripos: Command) -> None:
    found = taken(quiz, tripos, "")
    assert found["code"] == 1
    assert "row 1: score `0`: not in 1..10" in found["said"] or "value `0`: not in 1..10" in found["said"]


def test_a_scale_that_keeps_has_the_score_as_it_was_given_and_no_ends(quiz: Path, tripos: Command) -> None:
    found = taken(quiz, tripos, "outside keep")
    clear = found["clear"]
    assert (found["code"], clear["value"], clear["n"], clear["method"]) == (0, 4.0, 2, "t")
    assert clear["low"] < 0


def test_a_scale_that_clips_takes_the_nearer_end(quiz: Path, tripos: Command) -> None:
    found = taken(quiz, tripos, "outside clip")
    clear = found["clear"]
    assert (found["code"], clear["value"], clear["n"], clear["method"]) == (0, 4.5, 2, "logit")
    assert 1 <= clear["low"] < clear["high"] <= 10


@pytest.mark.parametrize(
    ("outside", "value", "status"), [("refuse", None, "parse_failure"), ("keep", 0, "scored"), ("clip", 1, "scored")]
)
def test_a_judge_is_read_by_the_same_rule(outside: Outside, value: float | None, status: str) -> None:
    metric = Metric(name="A", title={"en": "A"}, dimension="d", low=1, high=10, outside=outside, asks={}, levels=())
    found = read_metrics((metric,), json.dumps({"A": {"reason": "Off.", "score": 0}}))["A"]
    assert (found.value, found.status, found.reason) == (value, status, "Off.")


def test_another_rule_reads_the_replies_again_and_asks_no_judge(quiz: Path) -> None:
    before, after = (
        compile_files(quiz / name, {"spec.tripos": spec(outside), "items.jsonl": ITEM})
        for name, outside in (("before", ""), ("after", "outside keep"))
    )
    grades = [
        next(step for step in plan_of(each).scenarios[0].steps if isinstance(step, Grade)) for each in (before, after)
    ]
    assert grades[0].judgement == grades[1].judgement
    assert grades[0].fingerprint != grades[1].fingerprint
