"""Measures of arms: the same items in every arm, and tries after one conversation or another."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.compiler.compiling import compile_files, plan_of
from tests.warehouse.synthetic import AT, Results, digest, measured
from tripos_compiler.plan import Ask, Plan
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

SPEC = """
benchmark demo "1.0.0" { languages en }
role teacher compared
role student
arm teaching { none, lesson }
dataset item from "items.jsonl" { topic text, question text secret, answer text secret }
scenario gain {
  over item as q
  arms teaching
  converse talk when teaching == lesson {
    teacher { system "Teach {{ q.topic }}." }
    student { system "Learn." }
    opens  teacher
    until  teacher says "done"
    limit  4 turns
    repeat 2
  }
  ask sitting by student {
    continue talk
    prompt  "{{ q.question }}"
    samples 4
  }
  score right = contains(sitting.text, q.answer)
  measure skipped = mean(right) by teaching
  measure paired  = mean(right, missing: paired) by teaching
  measure gain    = paired - paired[teaching: none]
  measure once    = pass_at(1, right, missing: paired) by teaching
  measure twice   = pass_at(2, right) by teaching
  measure both    = pass_at(2, right, missing: paired) by teaching
  measure lesson  = paired[teaching: lesson]
  measure drawn   = pass_at(1, right, tries: first) by teaching
  measure pair    = pass_at(2, right, tries: first, missing: paired) by teaching
  measure full    = pass_all(2, right, tries: first) by teaching
}
"""


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    row = '{"topic": "?", "question": "?", "answer": "?"}\n'
    return plan_of(compile_files(tmp_path_factory.mktemp("spec"), {"spec.tripos": SPEC, "items.jsonl": row}))


def store_of(
    folder: Path, plan: Plan, told: Mapping[tuple[str, str], tuple[float | None, ...]], *, rounds: int = 1
) -> Store:
    """Return a store with the values of the replies to each item in each arm, each scored so many times."""
    results = Results(plan)
    samples: list[dict[str, Any]] = []
    for (item, arm), values in told.items():
        for number, value in enumerate(values):
            results.add("gain", "right", item, value, number=number, arms={"teaching": arm})
            samples.append(sample(plan, results.scores[-1], arm, number))
            for again in range(1, rounds):
                results.add("gain", "right", item, value, number=number, arms={"teaching": arm}, round=again)
    store = Store.open(folder, create=True, clock=lambda: AT)
    results.write(store)
    store.append({"samples": samples})
    return store


def sample(plan: Plan, score: Mapping[str, Any], arm: str, number: int) -> dict[str, Any]:
    """Return the reply that a score is about."""
    [scenario] = plan.scenarios
    treatment = next(each for each in scenario.treatments if each.arms["teaching"] == arm)
    step = next(each for each in treatment.steps if isinstance(each, Ask))
    own = {name: score[name] for name in ("sample_id", "run_id", "benchmark", "scenario", "item_id", "created_at")}
    return {
        **own,
        "context": {"language": "en"},
        "step": step.name,
        "role": "student",
        "model": "j1",
        "sample_number": number,
        "status": "ok",
        "messages": "[]",
        "reply": digest(number),
        "attempts": 1,
        "fingerprint": step.fingerprint,
    }


def values(store: Store, plan: Plan, name: str) -> dict[str, tuple[float | None, int]]:
    """Return the values of a measure with their number of items, by arm."""
    found = {}
    for row in measured(store, plan, f"gain.{name}").rows:
        found[str(row.by[0]) if row.by else ""] = (row.value, row.items)
    return found


TOLD: dict[tuple[str, str], tuple[float | None, ...]] = {
    ("a", "none"): (0, 0, 0, 0),
    ("a", "lesson"): (1, 1, 0, 0),
    ("b", "none"): (1, 1, 1, 1),
    ("b", "lesson"): (None, None, None, None),
    ("c", "none"): (0, 0, 1, 0),
    ("c", "lesson"): (1, None, 1, 1),
}


def test_an_item_without_a_value_in_one_arm_counts_in_none(tmp_path: Path, plan: Plan) -> None:
    store = store_of(tmp_path, plan, TOLD)
    assert values(store, plan, "skipped") == {"none": (5 / 12, 3), "lesson": (5 / 7, 2)}
    assert values(store, plan, "paired") == {"none": (1 / 8, 2), "lesson": (5 / 7, 2)}
    assert values(store, plan, "once") == {"none": (1 / 8, 2), "lesson": (0.75, 2)}


@pytest.mark.parametrize("rounds", [1, 3])
def test_a_reply_that_was_scored_again_is_one_try(tmp_path: Path, plan: Plan, rounds: int) -> None:
    told = {**TOLD, ("b", "lesson"): (1, 1, None, None), ("c", "lesson"): (1, 1, 1, 1)}
    store = store_of(tmp_path, plan, told, rounds=rounds)
    assert values(store, plan, "both") == {"none": (0.25, 2), "lesson": (1, 2)}


def test_what_is_left_out_shows_in_the_coverage(tmp_path: Path, plan: Plan) -> None:
    store = store_of(tmp_path, plan, TOLD)
    rows = {str(row.by[0]): (row.n, row.total) for row in measured(store, plan, "gain.paired").rows}
    assert rows == {"none": (8, 12), "lesson": (7, 12)}


def test_a_gain_is_taken_over_the_same_items(tmp_path: Path, plan: Plan) -> None:
    store = store_of(tmp_path, plan, TOLD)
    found = values(store, plan, "gain")
    assert found["none"][0] == 0
    assert found["lesson"][0] == pytest.approx(5 / 7 - 1 / 8)


def test_a_slice_leaves_out_the_same_items_as_the_whole(tmp_path: Path, plan: Plan) -> None:
    store = store_of(tmp_path, plan, {**TOLD, ("c", "none"): (None, None, None, None)})
    assert values(store, plan, "lesson") == {"": (0.5, 1)}


def test_tries_after_different_conversations_are_no_tries_at_the_same_thing(tmp_path: Path, plan: Plan) -> None:
    # Numbers 0 and 2 follow the first conversation, 1 and 3 the second.
    store = store_of(tmp_path, plan, {("a", "none"): (1, 0, 1, 0), ("a", "lesson"): (1, 0, 1, 0)})
    assert values(store, plan, "twice") == {"none": (pytest.approx(5 / 6), 1), "lesson": (0.5, 1)}


def test_more_tries_than_follow_one_conversation_are_refused(tmp_path: Path) -> None:
    lessons = SPEC.replace("{ none, lesson }", "{ plain, warm }").replace(" when teaching == lesson", "")
    lessons = lessons.replace('"Learn."', '"Learn, {{ teaching }}."').replace("teaching: none", "teaching: plain")
    lessons = lessons.replace("teaching: lesson", "teaching: warm").replace("pass_at(2, right)", "pass_at(3, right)")
    row = '{"topic": "?", "question": "?", "answer": "?"}\n'
    found = compile_files(tmp_path, {"spec.tripos": lessons, "items.jsonl": row})
    assert [(each.code, each.message, each.help) for each in found.diagnostics] == [
        (
            "E0622",
            "`right` has 2 replies after each of 2 conversations, fewer than 3",
            "ask for `samples 3 after each talk`, or try fewer",
        )
    ]


def test_tries_with_several_values_are_refused(tmp_path: Path) -> None:
    text = """\
benchmark demo "1.0.0" { languages en }
role candidate compared
role pupil
dataset item from "items.jsonl" { question text }
scenario all {
  over item as item
  ask taught by candidate {
    prompt  "Teach {{ item.question }}"
    samples 2
    temperature 1
  }
  ask sitting by pupil {
    prompt  "{{ taught }} {{ item.question }}"
    samples 2 after each taught
    temperature 1
  }
  score right = contains(sitting.text, "4")
}
measure some = pass_at(2, all.right)
"""
    row = '{"question": "?"}\n'
    found = compile_files(tmp_path, {"spec.tripos": text, "items.jsonl": row})
    message = "a reply of `taught` has several values of `right`, one for each reply of `sitting`"
    assert [(each.code, each.message) for each in found.diagnostics] == [("E0622", message)]
    paired = text.replace(" after each taught", "")
    assert not compile_files(tmp_path, {"spec.tripos": paired, "items.jsonl": row}).diagnostics


def test_there_is_nothing_to_pair_without_an_arm(tmp_path: Path) -> None:
    text = """
benchmark demo "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { question text }
scenario all {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score long = words(reply.text)
  measure length = mean(long, missing: paired)
}
"""
    found = compile_files(tmp_path, {"spec.tripos": text, "items.jsonl": '{"question": "?"}\n'})
    assert [(each.code, each.message) for each in found.diagnostics] == [
        ("E0301", "`missing: paired` pairs items between arms, and there is no arm")
    ]


def test_the_items_that_are_left_out_can_be_listed(tmp_path: Path, plan: Plan) -> None:
    store = store_of(tmp_path, plan, TOLD)
    with connect(store) as connection:
        rows = connection.execute("select item_id, lacks from demo.unpaired(metric := 'right')").fetchall()
    assert rows == [("b", "lesson")]


def test_one_draw_is_of_the_first_replies_to_a_question(tmp_path: Path, plan: Plan) -> None:
    told: dict[tuple[str, str], tuple[float | None, ...]] = {
        ("a", "none"): (0, 1, 1, 1),
        ("a", "lesson"): (0, 1, 1, 0),
        ("b", "none"): (0, 0, 1, 1),
        ("b", "lesson"): (None, 0, 0, 1),
    }
    store = store_of(tmp_path, plan, told)
    # Of a lesson its own replies in their order: those of `a` are (0, 1) and (1, 0), those of `b` (0) and (0, 1).
    assert values(store, plan, "drawn") == {"none": (0, 2), "lesson": (0.25, 2)}
    assert values(store, plan, "full") == {"none": (0, 2), "lesson": (0, 2)}
    # One lesson of `b` lacks a value, so it has one whole draw of two, and one that is none.
    assert values(store, plan, "pair") == {"none": (0.5, 2), "lesson": (1, 2)}
