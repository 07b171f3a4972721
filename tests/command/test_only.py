"""`--only`: what is selected of a spec's axes and arms is run, counted, reported and said, and nothing else."""

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
role author

arm lesson { none, given, told }
arm tone { plain, warm }
axis subject { history, physics }

dataset hint by author {
  context subject
  count 2
  prompt "A hint about {{ subject }}, please."
  returns { text text }
}

dataset topic from "topics.jsonl" { subject, name text }

scenario opening {
  context subject
  over topic
  arms lesson * tone
  ask taught by candidate when lesson == given {
    system "Be friendly." when tone == warm
    prompt "Teach the first thing about {{ topic.name }} in {{ subject }}."
  }
  ask answer by student {
    system "You were taught: {{ taught.text }}" when lesson == given
    system "Hints: {{ bullets(hint.text) }}" when lesson == told
    prompt "What is {{ topic.name }} in {{ subject }} about?"
  }
  score short = words(answer.text) < 30
  measure brief = share(short, missing: paired) by lesson, tone
  measure gain  = brief - brief[lesson: none] by lesson, tone
}
"""
TOPICS = [("history", "Rome"), ("history", "Troy"), ("physics", "mass")]
MODELS = ("--model", "mock/careful,mock/careless", "--role", "student=mock/careful", "--role", "author=mock/author")


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    Path("openings.tripos").write_text(SPEC, "utf-8")
    rows = [json.dumps({"subject": subject, "name": name}) for subject, name in TOPICS]
    Path("topics.jsonl").write_text("\n".join(rows), "utf-8")
    return "openings.tripos"


def reported(tripos: Command, *options: str) -> dict[str, Any]:
    shown = tripos("report", "--json", *options)
    assert shown.code == 0, shown.err
    found: dict[str, Any] = json.loads(shown.out)
    return found


def cells(report: dict[str, Any], measure: str) -> set[tuple[str, str]]:
    rows = next(each["rows"] for each in report["measures"] if each["name"] == f"opening.{measure}")
    return {(row["lesson"], row["tone"]) for row in rows if row["value"] is not None}


def notes(report: dict[str, Any]) -> list[str]:
    return [each["text"] for each in report["remarks"] if each["kind"] == "selection"]


def test_a_plan_counts_the_treatments_that_are_selected(spec: str, tripos: Command) -> None:
    every, some = tripos("plan", spec), tripos("plan", spec, "--only", "lesson=given", "--only", "tone=warm")
    assert every.out.splitlines()[0] == some.out.splitlines()[0]  # it is the same plan
    lines = [" ".join(line.split()) for line in some.out.splitlines()]
    assert "opening 2 3 3 0..3" in lines
    assert "Left out by `--only`: lesson none, told; tone plain." in lines
    assert "data set hint" in every.out
    assert "data set hint" not in some.out  # what no treatment looks into is not made


def test_a_run_asks_what_is_selected_and_says_so(spec: str, tripos: Command) -> None:
    foreseen = tripos("run", spec, *MODELS, "--only", "lesson=none,given", "--only", "tone=warm", "--dry-run", "--json")
    done = tripos("run", spec, *MODELS, "--only", "lesson=none,given", "--only", "tone=warm", "--json")
    assert done.code == 0, done.err
    steps = ask_values(tripos, "select step, count(*) from main.samples group by all order by all")
    # Untaught students are asked once for both teachers; no hint is written, and nobody is plain.
    assert steps == [("answer", 3 + 2 * 3), ("taught", 2 * 3)]
    assert {(each["step"], each["arm"]) for each in json.loads(foreseen.out)["calls"]} == {
        ("taught", "lesson given"),
        ("answer", "lesson none"),
        ("answer", "lesson given"),
    }
    seen = ask_values(tripos, "select distinct lesson::varchar, tone::varchar from openings.scores order by all")
    assert seen == [("given", "warm"), ("none", "warm")]
    report = reported(tripos)
    assert report["run"]["only"] == {"lesson": ["none", "given"], "tone": ["warm"]}
    assert cells(report, "brief") == cells(report, "gain") == {("none", "warm"), ("given", "warm")}
    told = "without lesson told; tone plain, which `--only` left out: what is measured against it has no figure"
    assert notes(report) == [told]
    assert told in tripos("report").out


def test_what_is_measured_against_what_was_left_out_has_no_figure(spec: str, tripos: Command) -> None:
    assert tripos("run", spec, *MODELS, "--only", "lesson=given").code == 0
    report = reported(tripos)
    assert cells(report, "brief") == {("given", "plain"), ("given", "warm")}
    assert cells(report, "gain") == set()


@pytest.mark.long
def test_a_figure_does_not_depend_on_what_other_runs_left_in_the_store(spec: str, tripos: Command) -> None:
    assert tripos("run", spec, *MODELS, "--only", "tone=warm").code == 0
    alone = reported(tripos)
    whole = tripos("run", spec, *MODELS)
    assert whole.code == 0
    again = tripos("run", spec, *MODELS, "--only", "tone=warm")
    assert again.code == 0
    assert "0 calls asked" in again.out + again.err
    after = reported(tripos)
    assert [each["rows"] for each in alone["measures"]] == [each["rows"] for each in after["measures"]]
    assert alone["scores"] == after["scores"]
    # The latest state is as the last run selected.
    assert ask_values(tripos, "select distinct tone::varchar from openings.scores") == [("warm",)]


def test_a_report_is_restricted_to_items_and_treatments(spec: str, tripos: Command) -> None:
    assert tripos("run", spec, *MODELS).code == 0
    assert len(cells(reported(tripos), "brief")) == 6
    report = reported(tripos, "--only", "lesson=none,given", "--only", "subject=history")
    assert cells(report, "gain") == {("none", "plain"), ("none", "warm"), ("given", "plain"), ("given", "warm")}
    [measure] = [each for each in report["measures"] if each["name"] == "opening.brief"]
    assert {row["items"] for row in measure["rows"]} == {2}
    items, treatments = notes(report)
    assert items == "on 2 of the run's 3 items: --only lesson=none,given --only subject=history"
    assert treatments.startswith("without lesson told, which")
    # As a run of that selection has it.
    assert tripos("run", spec, *MODELS, "--only", "lesson=none,given", "--only", "subject=history").code == 0
    run = reported(tripos)
    assert [each["rows"] for each in run["measures"]] == [each["rows"] for each in report["measures"]]
    refused = tripos("report", "--only", "subject=physics")
    assert refused.code == 2
    assert "has nothing of `subject=physics`" in refused.err
    assert "it was made with `--only subject=history`" in refused.err


def test_an_export_and_the_people_who_grade_are_told_of_arms_too(spec: str, tripos: Command) -> None:
    assert tripos("run", spec, *MODELS).code == 0
    wrong = tripos("export", "distillation", "--only", "tone=wram", "-o", "out.jsonl")
    assert wrong.code == 2
    assert "arm `tone` has no value `wram`" in wrong.err


@pytest.mark.parametrize(
    ("only", "message", "hint"),
    [
        ("tonne=warm", "the benchmark has no axis or arm `tonne`", "did you mean `tone`?"),
        (
            "zzz=1",
            "the benchmark has no axis or arm `zzz`",
            "its axes are language, subject, and its arms lesson, tone",
        ),
        ("tone=wram", "arm `tone` has no value `wram`", "did you mean `warm`?"),
        ("subject=law", "axis `subject` has no value `law`", "its values are history, physics"),
        ("tone=", "`--only tone=` names no value", "write --only AXIS=VALUE[,VALUE]"),
    ],
)
@pytest.mark.parametrize("verb", ["plan", "run"])
def test_a_selection_that_is_not_there_is_refused(
    spec: str, tripos: Command, verb: str, only: str, message: str, hint: str
) -> None:
    told = tripos(verb, spec, "--only", only, *(MODELS if verb == "run" else ()))
    assert told.code == 2
    assert f"error[R0202]: {message}" in told.err
    assert hint in told.err
