"""Arms are run: every treatment once, what treatments share once, and values that are whole data sets or trees."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.lengths import spread
from tests.runtime.small_runs import SmallRun, echo, run_small
from tripos_runtime.models.base import ModelError, Request
from tripos_runtime.scheduling.budget import Stopped

TEACHING = """\
benchmark openings "1.0.0" { languages en }
role candidate compared
role student
role judge panel
arm lesson { none, given }
arm tone { plain, warm "with warmth" }
axis subject { history, physics }
scorer grader(response: text) by judge { prompt "Grade: {{ response }}", gives 1..10 }
scenario opening {
  context subject
  arms lesson * tone
  ask taught by candidate when lesson == given {
    system "Answer {{ tone }}." when tone == warm
    prompt "Teach {{ subject }}."
  }
  ask answer by student {
    system "You were taught: {{ taught.text }}" when lesson == given
    prompt "What is {{ subject }}?"
  }
  score long = words(answer.text) > 3
  score good = grader(response: answer.text)
}
"""


def graded(request: Request) -> str:
    return '{"verdict": 7}' if request.messages[-1].content.startswith("Grade") else echo(request)


def taught(folder: Path, spec: str = TEACHING, **options: Any) -> SmallRun:
    return run_small(folder, spec, {}, **{"script": graded, "student": "s", "judge": "j", **options})


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> SmallRun:
    """A run with one compared model."""
    return taught(tmp_path_factory.mktemp("alone"))


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> SmallRun:
    """A run with two compared models."""
    return taught(tmp_path_factory.mktemp("both"), models=("a", "b"))


def test_every_treatment_is_run_and_what_they_share_is_asked_once(alone: SmallRun, both: SmallRun) -> None:
    # Two subjects: a lesson in two tones; the student after each of them, and once without any.
    assert alone.asked == {"a": 2 * 2, "s": 2 * 3, "j": 2 * 3}
    assert len(alone.table("scores")) == 2 * 3 * 2
    # What no compared model takes part in is asked once for all of them.
    assert both.asked == {"a": 4, "b": 4, "s": 2 * (1 + 2 * 2), "j": 2 * (1 + 2 * 2)}
    assert both.calls == both.planned


def test_a_score_is_about_the_compared_model_or_else_about_who_replied(both: SmallRun) -> None:
    about = Counter(row["model"] for row in both.table("scores") if row["metric"] == "long")
    assert about == {"a": 2 * 2, "b": 2 * 2, "s": 2}


def test_it_does_not_matter_which_model_comes_first(tmp_path: Path, both: SmallRun) -> None:
    assert _told(both.table("scores")) == _told(taught(tmp_path, models=("b", "a")).table("scores"))


def test_a_second_run_asks_nothing_and_a_changed_arm_only_what_it_changes(tmp_path: Path, alone: SmallRun) -> None:
    again = taught(tmp_path, before=alone)
    assert sum(again.asked.values()) == 0
    assert len(again.table("scores")) == len(alone.table("scores"))
    again = taught(tmp_path, TEACHING.replace("with warmth", "with great warmth"), before=alone)
    assert again.asked == {"a": 2, "s": 0, "j": 0}  # whose replies are the same, and so is what goes on from them


def test_labels_of_arms_are_printed_and_what_an_arm_rules_out_is_not(alone: SmallRun) -> None:
    assert alone.sent("a") == sorted(
        message
        for subject in ("history", "physics")
        for message in (
            (("user", f"Teach {subject}."),),
            (("system", "Answer with warmth."), ("user", f"Teach {subject}.")),
        )
    )


def test_a_failure_in_one_arm_leaves_the_others_scored(tmp_path: Path) -> None:
    def down_when_warm(request: Request) -> str | ModelError:
        if request.messages[0].content == "Answer with warmth.":
            return ModelError("R0111", "down", "")
        return graded(request)

    run = taught(tmp_path, script=down_when_warm)
    statuses = Counter(row["status"] for row in run.table("scores") if row["metric"] == "long")
    assert statuses == {"scored": 2 * 2, "provider_error": 2}


def test_several_samples_in_every_arm_build_on_one_reply_that_is_sampled_once(tmp_path: Path) -> None:
    spec = TEACHING.replace('prompt "What is {{ subject }}?"', 'prompt "What is {{ subject }}?"\n    samples 3')
    run = taught(tmp_path, spec)
    assert run.asked == {"a": 4, "s": 2 * 3 * 3, "j": 2 * 3 * 3}
    assert run.calls == run.planned


def test_a_condition_of_a_row_holds_in_the_arm_that_has_it(tmp_path: Path) -> None:
    spec = """\
benchmark sums "1.0.0" { languages en }
role candidate compared
role helper
arm help { sometimes, always }
dataset item from "items.jsonl" { question text, hard bool }
scenario sums {
  over item
  arms help
  ask hint by helper when help == always or item.hard { prompt "Help with {{ item.question }}" }
  ask reply by candidate { prompt "{{ item.question }}" }
  score helped = contains(reply.text, hint.text) or true
}
"""
    rows = [{"question": "1 + 1", "hard": False}, {"question": "17 x 19", "hard": True}]
    run = run_small(tmp_path, spec, {"items.jsonl": rows}, helper="h")
    assert run.asked == {"a": 2, "h": 2}
    assert run.calls == run.planned
    assert run.engine.tally.skipped.total() == 0
    assert Counter(row["status"] for row in run.table("scores")) == {"scored": 3, "not_applicable": 1}


def test_columns_that_measures_look_at_do_not_stop_a_run(tmp_path: Path) -> None:
    spec = """\
benchmark sums "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { question text, answer integer secret }
scenario sums {
  over item
  ask reply by candidate { prompt "{{ item.question }}", returns integer }
  measure micro = f1(reply, item.answer, average: micro)
}
"""
    run = run_small(tmp_path, spec, {"items.jsonl": [{"question": "1 + 1", "answer": 2}]}, script=lambda request: "2")
    assert [row["status"] for row in run.table("samples")] == ["ok"]


def test_expressions_see_whole_data_sets_and_trees(tmp_path: Path) -> None:
    spec = """\
benchmark tagging "1.0.0" { languages en }
role candidate compared
tree syllabus from "syllabus.json"
dataset item from "items.jsonl" { question text, point text secret }
dataset glossary from "glossary.jsonl" { term text }
scenario tagging {
  over item
  ask reply by candidate { prompt "{{ item.question }}\\n{{ bullets(leaves(syllabus)) }}\\n{{ bullets(glossary.term) }}" }
  score known = item.point in glossary.term and reply.text != ""
}
"""
    files = {
        "items.jsonl": [{"question": "Which?", "point": "sets"}, {"question": "What?", "point": "waves"}],
        "glossary.jsonl": [{"term": "sets"}, {"term": "groups"}],
        "syllabus.json": json.dumps({"Algebra": ["Sets", "Groups"]}),
    }
    run = run_small(tmp_path, spec, files)
    assert (("user", "Which?\n- Algebra / Sets\n- Algebra / Groups\n- sets\n- groups"),) in run.sent("a")
    assert sorted(row["value"] for row in run.table("scores")) == [0.0, 1.0]


def test_a_judge_sees_whole_data_sets_and_trees(tmp_path: Path) -> None:
    spec = """\
benchmark tagging "1.0.0" { languages en }
role candidate compared
role judge
tree syllabus from "syllabus.json"
dataset item from "items.jsonl" { question text }
dataset glossary from "glossary.jsonl" { term text }
scorer good(response: text) by judge {
  prompt "{{ response }}: {{ bullets(glossary.term) }} {{ bullets(leaves(syllabus)) }}"
  gives bool
}
scenario tagging {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score well = good(response: reply.text)
}
"""
    files = {
        "items.jsonl": [{"question": "Which?"}],
        "glossary.jsonl": [{"term": "sets"}],
        "syllabus.json": '{"Algebra": ["Groups"]}',
    }
    ((message,),) = run_small(tmp_path, spec, files, script=lambda request: "yes", judge="j").sent("j")
    assert message[1].startswith("yes: - sets - Algebra / Groups")


@pytest.mark.parametrize("calls", spread(range(16), 6))
def test_a_run_that_is_cut_short_anywhere_goes_on_where_it_was(tmp_path: Path, calls: int, alone: SmallRun) -> None:
    answered: list[Request] = []

    def cut_short(request: Request) -> str:
        if len(answered) == calls:
            raise Stopped("R0302", "the budget is spent", "")
        answered.append(request)
        return graded(request)

    first = taught(tmp_path, script=cut_short)
    again = taught(tmp_path, before=first)
    assert len(answered) == calls
    assert sum(again.asked.values()) == 16 - calls
    for table in ("samples", "judgements", "scores"):
        assert _told(again.table(table)) == _told(alone.table(table))


def _told(rows: list[Mapping[str, Any]]) -> list[str]:
    hidden = {"created_at", "run_id"}
    told = [{key: value for key, value in row.items() if key not in hidden} for row in rows]
    return sorted(json.dumps(row, sort_keys=True) for row in told)


TALKS = {
    "one reply": 'ask talk by candidate { prompt "{{ item.q }}", samples 2 }',
    "prompts": "ask talk by candidate { prompts item.hints at most 3, samples 2 }",
    "elements": 'ask talk by candidate each h in item.hints { prompt "{{ h }}", samples 2 }',
}
LATER = {
    "one reply": 'ask later by candidate { prompt "{{ said }} {{ item.q }}", samples 3 after each talk }',
    "prompts": 'ask later by candidate { system "{{ said }}", prompts item.hints at most 3, samples 3 after each talk }',
    "elements": 'ask later by candidate each h in item.hints { prompt "{{ said }} {{ h }}", samples 3 after each talk }',
}


@pytest.mark.parametrize("first", TALKS)
@pytest.mark.parametrize("then", LATER)
def test_samples_after_each_reply_follow_an_ask_of_any_form(first: str, then: str, tmp_path: Path) -> None:
    said, after = ("[e.text each e in talk]", "[e.text each e in later]")
    spec = f"""benchmark after "1.0.0" {{ languages en }}
role candidate compared
dataset item from "items.jsonl" {{ q text, hints list<text> }}
scenario one {{
  over item
  {TALKS[first]}
  let said = join({said if first == "elements" else "[talk.text]"}, " ")
  {LATER[then]}
  score long = length(join({after if then == "elements" else "[later.text]"}, " "))
}}
"""
    run = run_small(tmp_path, spec, {"items.jsonl": [{"q": "a", "hints": ["b", "c"]}]})
    asked = Counter(row["step"] for row in run.table("samples"))
    assert {(step.partition("(")[0], count) for step, count in asked.items()} == {("talk", 2), ("later", 6)}
