"""Judges inside expressions are graders like any other: who they are decides what may be compared."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Command

SPEC = """\
benchmark manners "1.0.0" {
  languages en
  headline  kindness
}
role candidate compared
role judge
dataset item from "items.jsonl" { question text }
scorer kind(reply: text) by judge { prompt "Is this kind? {{ reply }}", gives bool }
scenario once {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score good = kind(reply.text) and words(reply.text) >= 0
}
measure kindness = mean(once.good)
"""
ITEMS = 12


@pytest.fixture
def manners(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a benchmark whose only score is computed from what a judge says."""
    rows = (json.dumps({"question": f"How do you greet number {number}?"}) for number in range(ITEMS))
    (tmp_path / "items.jsonl").write_text("\n".join(rows), "utf-8")
    (tmp_path / "manners.tripos").write_text(SPEC, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def run(tripos: Command, model: str, judge: str) -> str:
    """Return the id of a run in which a judge takes part."""
    done = tripos("run", "manners.tripos", "--model", model, "--role", f"judge={judge}", "--json")
    assert done.code == 0, done.err
    return str(done.data["run_id"])


def test_a_computed_score_says_who_judged_inside_it(manners: Path, tripos: Command) -> None:
    run(tripos, "mock/careful", "mock/fair:a")
    said = "evaluator is null and judged_by = ['mock/fair:a']"
    assert f"true  {ITEMS}" in tripos("sql", f"select {said} as own, count(*) as n from manners.scores group by 1").out


def test_models_that_others_judged_inside_an_expression_are_not_told_apart(manners: Path, tripos: Command) -> None:
    for model, judge in (("mock/careful", "mock/fair:a"), ("mock/careless", "mock/fair:b")):
        run(tripos, model, judge)
    [board] = tripos("leaderboard", "--json").data["boards"]
    assert {each["model"]: each["graders"] for each in board["models"]} == {
        "mock/careful": ["mock/fair:a"],
        "mock/careless": ["mock/fair:b"],
    }
    assert {each["rank"] for each in board["models"]} == {1}
    assert "not all were graded by the same" in tripos("leaderboard").out


def test_a_report_of_a_run_has_what_its_own_judge_said(manners: Path, tripos: Command) -> None:
    first = run(tripos, "mock/careful", "mock/fair:a")
    second = run(tripos, "mock/careful", "mock/fair:b")
    for each in (first, second):
        [measure] = tripos("report", each, "--json").data["measures"]
        assert measure["rows"][0]["n"] == ITEMS


def test_a_comparison_takes_of_either_side_what_its_own_judge_said(manners: Path, tripos: Command) -> None:
    first = run(tripos, "mock/careful", "mock/fair:a")
    second = run(tripos, "mock/careful", "mock/fair:b")
    refused = tripos("compare", first, second)
    assert (refused.code, "judge: mock/fair:a → mock/fair:b" in " ".join(refused.err.split())) == (2, True)
    done = tripos("compare", first, second, "--anyway", "--json")
    own = [tripos("report", each, "--json").data["measures"][0]["rows"][0]["value"] for each in (first, second)]
    row = next(row for row in done.data["rows"] if row["name"] == "kindness")
    assert [row["a"], row["b"]] == pytest.approx(own)
    assert done.data["pairs"] == ITEMS
