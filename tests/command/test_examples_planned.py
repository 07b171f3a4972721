"""The four benchmarks in miniature (`docs/examples`): they compile without a word, and their calls are counted."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tripos_compiler.compile import compile_spec
from tripos_compiler.plan import CallCount, Plan
from tripos_runtime.datasets.data_files import DataFolders

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples"
NAMES = ("cjeval", "edubench", "mathtutorbench", "teachbench")


def plan_of(name: str) -> Plan:
    path = EXAMPLES / f"{name}.tripos"
    compilation = compile_spec(path.as_posix(), lambda each: Path(each).read_text("utf-8"), DataFolders())
    assert compilation.diagnostics == ()
    assert compilation.plan is not None
    return compilation.plan


def counted(plan: Plan, scenario: str, step: str) -> list[CallCount]:
    return [count for count in plan.calls if (count.scenario, count.step) == (scenario, step)]


@pytest.mark.parametrize("name", NAMES)
def test_an_example_compiles_without_a_word(name: str) -> None:
    assert plan_of(name).benchmark.name == name


@pytest.mark.parametrize("name", NAMES)
def test_what_plan_prints_of_an_example_fits_80_columns(
    name: str, tripos: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = tripos("plan", str(EXAMPLES / f"{name}.tripos"))
    assert (done.code, done.err) == (0, "")
    said = re.sub(r"plan [0-9a-f]{12}", "plan …", done.out)
    assert max(map(len, said.splitlines())) <= 80
    assert not [line for line in said.splitlines() if line != line.rstrip()]
    assert all(span in said.partition("Calls for")[0] for span in re.findall(r"`(\S+[.][.]\S+)`", said))
    golden = ROOT / "tests" / "golden" / "plans" / f"{name}.txt"
    if os.environ.get("TRIPOS_UPDATE_GOLDEN"):
        golden.write_text(said, "utf-8")
    assert said == golden.read_text("utf-8")


def test_a_sitting_without_a_teacher_is_counted_once_and_not_once_a_teacher() -> None:
    plan = plan_of("teachbench")
    sittings = {count.arms[0]["teaching"]: count for count in counted(plan, "learning_gain", "sitting")}
    assert {arm: count.times for arm, count in sittings.items()} == {
        "none": (),
        "knowledge": (),
        "lesson": ("teacher",),
        "lesson_with_examples": ("teacher",),
    }
    # three questions, 64 samples each
    assert {(count.calls, count.most) for count in sittings.values()} == {(192, 192)}


def test_a_lesson_is_bounded_by_its_turns_and_repeats() -> None:
    plan = plan_of("teachbench")
    # three questions, three lessons each, thirty turns that the teacher opens
    talks = [count for count in counted(plan, "learning_gain", "talk") if count.role == "teacher"]
    assert [(count.most, count.times) for count in talks] == [(3 * 3 * 15, ("teacher",))] * 2


def test_the_reward_of_the_teachers_own_turn_is_asked_for_once() -> None:
    plan = plan_of("mathtutorbench")
    replies = counted(plan, "scaffolding", "reward(1)")
    own = counted(plan, "scaffolding", "reward(2)")
    assert [(count.calls, count.times, len(count.arms)) for count in replies] == [(2, ("candidate",), 1)] * 2
    assert [(count.calls, count.times, len(count.arms)) for count in own] == [(2, (), 2)]


def test_a_judge_is_asked_only_of_the_rows_that_no_rule_marks() -> None:
    plan = plan_of("cjeval")
    # of five questions two are blanks or worked solutions; a candidate that declines leaves nothing to judge
    assert [(count.least, count.calls, count.most) for count in counted(plan, "qa", "correct")] == [(0, 2, 2)]


def test_every_concept_and_question_is_embedded_once() -> None:
    plan = plan_of("cjeval")
    questions = 5
    concepts = {
        "绝对值",
        "一元一次方程的解法",
        "质数与合数",
        "摩擦力的大小",
        "增大摩擦的方法",
        "自由落体运动",
        "相反数",
    }
    assert [count.calls for count in counted(plan, "kct", "options")] == [questions + len(concepts)]


def test_what_is_revealed_is_listed() -> None:
    assert [(reveal.step, reveal.text, reveal.secret) for reveal in plan_of("cjeval").reveals] == [
        ("options", "distinct(question.concepts, dev.concepts)", "dev.concepts, question.concepts"),
        ("options", "q.concepts", "q.concepts"),
    ]
    assert [(reveal.scenario, reveal.step, reveal.text) for reveal in plan_of("teachbench").reveals] == [
        ("question", "knowledge", "q.stem")
    ]
