"""What people and files said of a reply is scored under every plan that asks the same, as what a judge said is."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tripos.annotation.assignment import Assignment, AssignmentDesk, AssignmentOptions
from tripos.annotation.sheet import GradesFile
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect_run
from tripos_warehouse.views.runs import get_plan

SPEC = """\
benchmark graded "1.0.0" { languages en }
role candidate compared
role judge panel
dataset item from "items.jsonl" { question text }
dimension quality "Quality" {
  metric A "A" { scale 1..10 OUTSIDE, asks "Is it?" }
}
scorer rubric(response: text) by judge { prompt "{{ metrics }} {{ response }}", gives allocated metrics }
scorer grader(response: text) by judge { prompt "Grade: {{ response }}", gives 1..10 }
scenario sums {
  over item
  ask reply by candidate { prompt "{{ item.question }}", samples NUMBER }
  score rubric(response: reply.text)
  score NAME = grader(response: reply.text) WHEN
}
allocate rubric {
  |      | A |
  | sums | x |
}
measure level = mean(A) by evaluator
"""
QUESTIONS = ("1+1", "20+22")
ALL = AssignmentOptions(None, {}, (), None, None, 0)
FIRST = {"A": 3.0, "good": 8.0}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("items.jsonl").write_text("".join(json.dumps({"question": each}) + "\n" for each in QUESTIONS), "utf-8")


def run(tripos: Command, outside: str = "", *, name: str = "good", when: str = "", number: int = 1) -> str:
    """Return the name of a run of the spec as it is now."""
    text = SPEC.replace("OUTSIDE", outside).replace("NAME", name).replace("WHEN", when)
    Path("spec.tripos").write_text(text.replace("NUMBER", str(number)), "utf-8")
    done = tripos("run", "spec.tripos", "--model", "mock/careful:m", "--role", "judge=mock/careful:j", "--json")
    assert done.code in (0, 1), done.err
    return str(done.data["run_id"])


def handed(of_run: str | None = None, name: str = "ben") -> Assignment:
    store = Store.open("results", create=False)
    connection, found = connect_run(store, of_run)
    with connection:
        desk = AssignmentDesk(store, connection, get_plan(connection, found), found, "judge", name)
        return desk.assign(ALL, lambda: datetime.now(UTC))


def take(tripos: Command, hand: Assignment, values: dict[str, float]) -> None:
    path = Path("said.jsonl")
    path.unlink(missing_ok=True)
    file = GradesFile(path, hand.batch, "now")
    for row in hand.batch.rows:
        for mark in row.marks:
            file.grade(row.row, mark.metric, values[mark.metric], "now")
    file.close()
    done = tripos("annotate", "--take", str(path))
    assert done.code == 0, done.err


def rate(tripos: Command, value: float, metric: str = "A", *more: str) -> dict[str, Any]:
    rows = [{"question": each, "sample": 0, "metric": metric, "score": value} for each in QUESTIONS]
    Path("ratings.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    done = tripos("import", "scores", "ratings.jsonl", "--evaluator", "human/carl", "--json", *more)
    assert done.code == 0, done.err
    return dict(done.data)


def shown(tripos: Command, who: str, of_run: str = "") -> list[tuple[str, float | None, int]]:
    """Return what somebody gave by metric, and of how many replies, in a run or the last one."""
    opened = Store.open("results", create=False)
    connection, _ = connect_run(opened, of_run or None)
    with connection:
        query = """select metric::varchar, value, count(*) from graded.scores
          where evaluator = ? and status = 'scored' group by all order by all"""
        return connection.execute(query, [who]).fetchall()


def test_a_grade_is_scored_by_the_rule_and_under_the_name_of_the_plan_at_hand(tripos: Command) -> None:
    first = run(tripos)
    take(tripos, handed(), FIRST)
    run(tripos, "outside clip", name="fine")
    assert shown(tripos, "human/ben") == [("A", 3.0, 2), ("fine", 8.0, 2)]
    assert shown(tripos, "human/ben", first) == [("A", 3.0, 2), ("good", 8.0, 2)]


@pytest.mark.long
def test_a_grade_holds_also_where_more_samples_are_asked_for(tripos: Command) -> None:
    run(tripos)
    take(tripos, handed(), FIRST)
    run(tripos, number=2)
    assert shown(tripos, "human/ben") == [("A", 3.0, 2), ("good", 8.0, 2)]


def test_no_grade_is_scored_where_the_plan_at_hand_asks_for_none(tripos: Command) -> None:
    run(tripos)
    take(tripos, handed(), FIRST)
    run(tripos, when="when length(item.question) > 3")
    assert shown(tripos, "human/ben") == [("A", 3.0, 2), ("good", 8.0, 1)]


@pytest.mark.long
def test_a_grade_that_is_carried_has_the_name_that_it_would_have_been_given(tripos: Command) -> None:
    run(tripos)
    take(tripos, handed(), FIRST)
    last = run(tripos, "outside clip", name="fine")
    again = handed(last, "anna")
    take(tripos, again, {"A": 3.0, "fine": 8.0})
    opened = Store.open("results", create=False)
    before = opened.commits()
    run(tripos, "outside clip", name="fine")
    with connect_run(opened)[0] as connection:
        query = "select evaluator, scorer, metric::varchar, value, sample_id, fingerprint from graded.scores"
        rows = connection.execute(f"{query} where evaluator like 'human/%'").fetchall()
    by = {who: sorted(row[1:] for row in rows if row[0] == who) for who in ("human/ben", "human/anna")}
    assert by["human/ben"] == by["human/anna"] != []
    new = [part.table for commit in opened.commits()[len(before) :] for part in commit.parts]
    assert "scores" not in new  # what is there already is not written again


def test_a_grade_that_is_given_or_changed_later_shows_in_runs_of_other_plans_too(tripos: Command) -> None:
    first = run(tripos)
    hand = handed()
    last = run(tripos, "outside clip", name="fine")
    for value in (3.0, 5.0):
        take(tripos, hand, {"A": value, "good": 8.0})
        assert shown(tripos, "human/ben", last) == [("A", value, 2), ("fine", 8.0, 2)]
        assert shown(tripos, "human/ben", first) == [("A", value, 2), ("good", 8.0, 2)]


@pytest.mark.parametrize(
    ("before", "said", "after", "found"),
    [
        ("", 3.0, "outside clip", [("A", 3.0, 2)]),
        pytest.param("outside keep", 12.0, "outside clip", [("A", 10.0, 2)], marks=pytest.mark.long),
        pytest.param("outside clip", 12.0, "outside keep", [("A", 12.0, 2)], marks=pytest.mark.long),
        pytest.param("outside keep", 12.0, "", [], marks=pytest.mark.long),
    ],
)
def test_a_rating_is_scored_by_the_rule_of_the_plan_at_hand(
    tripos: Command, before: str, said: float, after: str, found: list[Any]
) -> None:
    run(tripos, before)
    rate(tripos, said)
    run(tripos, after)
    assert shown(tripos, "human/carl") == found
    if found:
        told = rate(tripos, said)  # it is known, under the names that an import would give
        assert (told["new"], told["changed"], told["same"]) == (0, 0, 2)


@pytest.mark.long
def test_a_rating_that_is_changed_later_shows_in_runs_of_other_plans_too(tripos: Command) -> None:
    first = run(tripos)
    rate(tripos, 3.0)
    run(tripos, "outside clip")
    rate(tripos, 5.0, "A", "--replace", "--run", first)
    assert shown(tripos, "human/carl") == [("A", 5.0, 2)]
    rate(tripos, 6.0, "A", "--replace")
    assert shown(tripos, "human/carl", first) == [("A", 6.0, 2)]


@pytest.mark.long
def test_a_rating_is_of_the_metric_that_the_file_names(tripos: Command) -> None:
    run(tripos)
    rate(tripos, 3.0, "good")
    run(tripos, number=2)
    assert shown(tripos, "human/carl") == [("good", 3.0, 2)]
    run(tripos, name="fine")
    assert shown(tripos, "human/carl") == []
