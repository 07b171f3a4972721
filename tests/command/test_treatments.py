"""Arms from the plan to the report: calls as planned, a column each, and baselines that stand for every model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.answers import ask_values
from tests.conftest import Command

SPEC = """\
benchmark openings "1.0.0" { languages en }
role candidate compared
role student
role judge panel
arm lesson { none "no lesson", given "a lesson" }
arm tone { warm, plain }
axis subject { history, physics }
scorer grader(response: text) by judge {
  prompt "{{ metrics }} Grade: {{ response }}"
  gives allocated metrics
}
dimension quality "Quality" {
  metric CLEAR "Clarity" { scale 1..10, asks "Is it clear?" }
}
allocate grader {
  |         | CLEAR |
  | opening |   x   |
}
scenario opening {
  context subject
  arms lesson * tone
  ask taught by candidate when lesson == given {
    system "Be friendly." when tone == warm
    prompt "Teach {{ subject }}."
  }
  ask answer by student {
    system "You were taught: {{ taught.text }}" when lesson == given
    prompt "What is {{ subject }}?"
  }
  score long = words(answer.text) > 3
  score grader(response: answer.text)
  measure by_arms = mean(long) by tone, lesson
}
scenario plain {
  context subject
  ask reply by candidate { prompt "Define {{ subject }}." }
  score short = words(reply.text) < 40
}
measure clear = mean(grader) by lesson
"""
MODELS = ("--model", "mock/careful,mock/careless", "--role", "student=mock/careful:s", "--role", "judge=mock/careful:j")


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    (tmp_path / "openings.tripos").write_text(SPEC, "utf-8")
    return tmp_path


@pytest.fixture
def ran(spec: Path, tripos: Command, once: Command) -> dict[str, Any]:
    done = once("run", "openings.tripos", *MODELS, "--json")
    assert done.code == 0, done.err
    data: dict[str, Any] = done.data
    return data


def test_as_many_calls_are_made_as_were_planned_and_what_is_shared_counts_once(
    ran: dict[str, Any], tripos: Command
) -> None:
    # Two subjects, two models: lessons in two tones; a student after each lesson and without; a judge of each answer.
    lessons, answers, plain = 2 * 2 * 2, 2 * (2 * 2 + 1), 2 * 2
    assert ran["calls"]["planned"] == ran["calls"]["asked"] == lessons + 2 * answers + plain
    report = tripos("report", "--json").data
    assert (report["samples"], report["scores"]) == ({"ok": 8 + 4}, {"scored": 2 * 10 + 4})
    assert [each["scores"] for each in tripos("list", "--json").data] == [2 * 10 + 4]
    query = "select distinct lesson, tone, model from openings.scores where scenario = 'plain' order by all"
    assert ask_values(tripos, query) == [(None, None, "mock/careful"), (None, None, "mock/careless")]


def test_arms_are_columns_and_what_they_share_is_a_row_in_each(ran: dict[str, Any], tripos: Command) -> None:
    found = ask_values(
        tripos,
        "select lesson::text, tone::text, count(*) from openings.samples where step = 'answer' group by all order by all",
    )
    assert found == [("given", "plain", 4), ("given", "warm", 4), ("none", "plain", 2), ("none", "warm", 2)]
    assert ask_values(tripos, "select count(*) from main.samples where step = 'answer'") == [(10,)]


@pytest.mark.parametrize("table", ["scores", "rationales", "judgements"])
def test_every_arm_has_its_rows_for_every_model(ran: dict[str, Any], tripos: Command, table: str) -> None:
    only = {"scores": "where metric = 'CLEAR'", "rationales": "", "judgements": ""}[table]
    found = ask_values(
        tripos, f"select lesson::text, tone::text, count(*) from openings.{table} {only} group by all order by all"
    )
    without = 2 if table == "judgements" else 4  # a judgement is no model's but the one that it judges
    assert found == [
        ("given", "plain", 4),
        ("given", "warm", 4),
        ("none", "plain", without),
        ("none", "warm", without),
    ]


def test_a_baseline_stands_for_every_compared_model(ran: dict[str, Any], tripos: Command) -> None:
    query = "select distinct model, sample_id from openings.scores where lesson = 'none' and metric = 'long'"
    found = ask_values(tripos, query)
    assert {model for model, _ in found} == {"mock/careful", "mock/careless"}
    assert len({sample for _, sample in found}) == 2
    assert ask_values(tripos, "select count(*) from main.scores where model = 'mock/careful:s'") == [(4,)]


def test_measures_go_by_arms_in_the_order_of_the_plan_with_their_labels(ran: dict[str, Any], tripos: Command) -> None:
    data = tripos("report", "--json").data
    measures = {each["name"]: each["rows"] for each in data["measures"]}
    order = [(row["tone"], row["lesson"]) for row in measures["opening.by_arms"] if row["model"] == "mock/careful"]
    assert order == [("warm", "none"), ("warm", "given"), ("plain", "none"), ("plain", "given")]
    assert [(row["lesson"], row["items"], row["n"]) for row in measures["clear"] if row["model"] == "mock/careful"] == [
        ("none", 2, 4),
        ("given", 2, 4),
    ]
    assert "no lesson" in tripos("report").out


def test_a_run_of_one_model_shows_its_own_baseline_and_nothing_of_another(ran: dict[str, Any], tripos: Command) -> None:
    done = tripos("run", "openings.tripos", "--model", "mock/slow", *MODELS[2:], "--json")
    assert done.code == 0
    # A baseline is asked once for all models: that of the first run serves this one.
    assert done.data["calls"]["asked"] == 4 + 2 * 4 + 2
    data = tripos("report", "--json").data
    (by_arms,) = [each["rows"] for each in data["measures"] if each["name"] == "opening.by_arms"]
    assert {row["model"] for row in by_arms} == {"mock/slow"}
    assert {(row["lesson"], row["n"]) for row in by_arms} == {("none", 2), ("given", 2)}


def test_a_model_that_was_run_on_fewer_items_has_the_baseline_of_these(
    ran: dict[str, Any], tripos: Command, once: Command
) -> None:
    assert once("run", "openings.tripos", "--model", "mock/slow", *MODELS[2:], "--limit", "1", "--json").code == 0
    found = ask_values(
        tripos,
        "select model, count(distinct item_id) from openings.scores"
        " where lesson = 'none' and metric = 'long' group by all order by all",
    )
    assert found == [("mock/careful", 2), ("mock/careless", 2), ("mock/slow", 1)]


def test_an_example_with_shots_runs(tripos: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    example = Path(__file__).parents[2] / "docs" / "examples" / "mathtutorbench.tripos"
    chosen = ("--scenario", "problem_solving", "--scenario", "mistake_location")
    done = tripos("run", str(example), "--model", "mock/careful", "--role", "critic=mock/reward", *chosen, "--json")
    assert done.code == 0
    assert done.data["calls"]["planned"] == done.data["calls"]["asked"] == 5
    (messages,) = ask_values(tripos, "select messages from mathtutorbench.samples where step = 'solution' limit 1")[0]
    assert [each["role"] for each in json.loads(messages)] == ["user", "assistant", "user", "assistant", "user"]


def test_a_scenario_of_baselines_alone_shows_them_for_the_models_of_its_runs(spec: Path, tripos: Command) -> None:
    only = SPEC.replace("> 3", "> 3 when lesson == none").replace(
        "score grader(response: answer.text)", "score grader(response: answer.text) when lesson == none"
    )
    (spec / "openings.tripos").write_text(only, "utf-8")
    done = tripos("run", "openings.tripos", *MODELS, "--limit", "1", "--json")
    assert done.code == 0, done.err
    query = "select model, metric::text, tone::text, count(*) from openings.scores where scenario = 'opening' group by all order by all"
    found = ask_values(tripos, query)
    assert found == [
        (model, metric, tone, 1)
        for model in ("mock/careful", "mock/careless")
        for metric in ("CLEAR", "long")
        for tone in ("plain", "warm")
    ]
    assert tripos("sql", "--run", done.data["run_id"], query, "-o", "rows.json").code == 0
    assert [tuple(row.values()) for row in json.loads(Path("rows.json").read_text())] == found


def test_one_run_shows_the_baselines_of_its_own_student(ran: dict[str, Any], tripos: Command) -> None:
    other = ("--role", "student=mock/careful:t", "--role", "judge=mock/careful:j")
    done = tripos("run", "openings.tripos", "--model", "mock/careful", *other, "--json")
    query = "select distinct sample_id from openings.scores where lesson = 'none'"
    for run, student in ((ran["run_id"], "mock/careful:s"), (done.data["run_id"], "mock/careful:t")):
        assert tripos("sql", "--run", run, query, "-o", "rows.json").code == 0
        shown = {row["sample_id"] for row in json.loads(Path("rows.json").read_text())}
        kept = ask_values(tripos, f"select sample_id from main.scores where model = '{student}'")
        assert shown == {sample for (sample,) in kept}
