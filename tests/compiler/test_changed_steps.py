"""Reasons in words: each field of a step that differs is named, and nothing that does not."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pytest

from tests import changed_fields
from tests.changed_fields import REPLY, STEPS, changed
from tests.each import each
from tripos_compiler.language.plan_diff import reply_changes, step_changes
from tripos_compiler.plan import (
    Ask,
    Axis,
    AxisValue,
    Branches,
    Call,
    ChoiceType,
    Compare,
    Converse,
    Data,
    DataFile,
    Dataset,
    DeclaredSettings,
    Grade,
    Hole,
    NumberType,
    Part,
    Plan,
    Plugin,
    Settings,
    Step,
    Template,
    Treatment,
    Tree,
    Verdict,
)

ASKING = (Ask, Converse, Grade, Verdict, Compare)
ITEMS = Dataset(name="item", source="i", fields=(), files=(DataFile(path="i.jsonl", sha256="a", rows=1),))
TREE = Tree(name="topics", source="t", path="t", sha256="a", leaves=1, inner=1, depth=1)
PLUGIN = Plugin(name="mine", path="f.py", function="mine", version="a", parameters={}, returns=NumberType())
LEVEL = Axis(name="level", values=(AxisValue(name="easy", labels={"en": "easy"}),))
CALL = Call(function="mine", args=(Branches(tree="topics"), Data(dataset="item")))
HOLES = (Hole(expr=CALL, type=NumberType()), Hole(expr=REPLY, type=ChoiceType(values=("easy",), axis="level")))
TAKING = (
    STEPS[0].model_copy(update={"prompt": {"en": Template(parts=HOLES)}}),
    STEPS[-1].model_copy(update={"args": {"response": CALL}}),
)
"""Steps that take something from outside."""
NO_INPUT = {"samples", "repeat", "when", "earlier", "weights"}
"""Fields that change no reply."""
WORDS = {
    "args": "what it is given",
    "until": "what ends it",
    "opens": "who opens",
    "speakers": "who talks| of helper$",
    "shots": "shots",
    "scorer": "of the scorer",
    "metrics": "metric",
}
"""What a reason says of a field where it does not name it."""


@cache
def plan() -> Plan:
    return changed_fields.plan()


def named(case: tuple[str, Step, Step]) -> str:
    return f"{case[1].step}.{case[0]}"


@each("case", changed(*ASKING))
def test_a_reason_names_the_field_that_changed(case: tuple[str, Step, Step]) -> None:
    field, before, after = case
    found = reply_changes(before, after, plan(), plan())
    assert len(found) == (0 if field in NO_INPUT else 1), found
    assert all(re.search(WORDS.get(field, rf"^{field}\b"), each) for each in found), found


@pytest.mark.parametrize("settings", changed_fields.other_settings(), ids=lambda each: next(iter(each.model_dump())))
def test_a_reason_names_the_setting_that_changed_and_both_its_values(settings: DeclaredSettings) -> None:
    [(name, value)] = settings.given.items()
    step = STEPS[0]
    [reason] = reply_changes(step, step.model_copy(update={"settings": settings}), plan(), plan())
    assert reason.startswith(f"settings ({name} unset → ")
    assert str(value) in reason or isinstance(value, list | tuple | dict)


def test_a_text_that_changed_in_one_language_is_named_with_it() -> None:
    step = STEPS[0]
    other = step.model_copy(update={"prompt": changed_fields.texts("Why?", "何时")})
    assert reply_changes(step, other, plan(), plan()) == ["prompt (zh)"]


@each("case", changed())
def test_a_change_of_a_plan_names_the_field_that_changed(case: tuple[str, Step, Step]) -> None:
    field, before, after = case
    sides = [Treatment(steps=(step,)) for step in (before, after)]
    told = [change.what for change in step_changes(*sides, plan(), plan())]
    words = {"when": "condition", "value": "expression", "args": "what the scorer is given"}
    names = "|".join(Settings.model_fields) if field == "settings" else words.get(field, field)
    assert len(told) == 1 and re.search(names, told[0]), told


@each("case", changed())
def test_scores_mean_something_else_after_a_change_of_what_they_are_made_by(case: tuple[str, Step, Step]) -> None:
    field, before, after = case
    sides = [Treatment(steps=(step,)) for step in (before, after)]
    [found] = step_changes(*sides, plan(), plan())
    scored = before.step in ("grade", "verdict", "compare", "score") and field not in ("when", "earlier", "of")
    assert found.changes_meaning == scored


@pytest.mark.parametrize(
    ("step", "field", "part", "update", "words"),
    [
        ("ask", "datasets", ITEMS, {"files": (DataFile(path="i.jsonl", sha256="b", rows=1),)}, "data set `item`"),
        ("ask", "trees", TREE, {"sha256": "b"}, "tree `topics`"),
        ("ask", "plugins", PLUGIN, {"version": "b"}, "function `mine`"),
        ("ask", "axes", LEVEL, {"values": (AxisValue(name="easy", labels={"en": "simple"}),)}, "the labels of `level`"),
        ("compare", "plugins", PLUGIN, {"version": "b"}, "function `mine`"),
    ],
    ids=["data", "tree", "function", "labels", "judge"],
)
def test_a_reason_names_the_input_that_changed_where_no_field_did(
    step: str, field: str, part: Part, update: dict[str, Any], words: str
) -> None:
    [given] = [each for each in TAKING if each.step == step]
    assert isinstance(given, Ask | Compare)
    old, new = (plan().model_copy(update={field: (each,)}) for each in (part, part.model_copy(update=update)))
    [reason] = reply_changes(given, given, old, new)
    assert reason.startswith(words)
    assert reply_changes(given, given, old, old) == []
