"""The canonical form of a plan: what is not used is not written, so a field that is added later changes no name."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests import changed_fields
from tests.changed_fields import STEPS, changed
from tests.compiler.compiling import ROOT, compile_file, compile_text, plan_of
from tests.each import each
from tripos_compiler.lowering.fingerprints import StepFingerprints
from tripos_compiler.plan import Grade, JudgedStep, Part, Plan, Settings, Step
from tripos_compiler.plan.base import canonical, digest
from tripos_compiler.resolve.program import Program

NAMES = ("cjeval", "edubench", "mathtutorbench", "teachbench")
EXAMPLES = [ROOT / "docs" / "examples" / f"{name}.tripos" for name in NAMES]
WIDER = """
from pydantic._internal._model_construction import ModelMetaclass

plain, widened = ModelMetaclass.__new__, []


def wider(mcs, name, bases, namespace, *args, **kwargs):
    if namespace.get("__module__", "").startswith("tripos_compiler.plan.") and name not in ("Canonical", "Part"):
        more = {"added_number": "float | None", "added_names": "tuple[str, ...]", "added_word": "Literal['a', 'b']"}
        namespace["__annotations__"] = {**namespace.get("__annotations__", {}), **more}
        namespace |= {"added_number": None, "added_names": (), "added_word": "a"}
        widened.append(name)
    return plain(mcs, name, bases, namespace, *args, **kwargs)


ModelMetaclass.__new__ = wider
import typing, builtins
builtins.Literal = typing.Literal
import json, sys
from pathlib import Path
from tripos_compiler.compile import compile_spec
from tripos_runtime.datasets.data_files import DataFolders

found = {}
for path in sys.argv[1:]:
    plan = compile_spec(path, lambda each: Path(each).read_text("utf-8"), DataFolders()).plan
    assert plan.benchmark.added_word == plan.scenarios[0].steps[0].added_word == "a"
    found[path] = [plan.digest, sorted(plan.fingerprints), plan.to_json()]
print(json.dumps([widened, found]))
"""
"""Compiles specs with three more optional fields in every part of a plan, and prints the plans' names."""
APART = {"when", "earlier", "samples", "repeat", "weights", "type", "element", "judge"}
"""Fields that do not determine what a step yields: they say whether, how often and how it counts, or follow from its
value, as types do."""


def names_of(plan: Plan) -> list[Any]:
    return [plan.digest, sorted(plan.fingerprints), plan.to_json()]


def every_kind(of: type[Part] = Part) -> set[str]:
    """Return the names of all kinds of parts, without those that tests make."""
    kinds = [kind for kind in of.__subclasses__() if kind.__module__.startswith("tripos_compiler.")]
    return {name for kind in kinds for name in (kind.__name__, *every_kind(kind))}


def parts_in(value: object) -> Iterator[Part]:
    match value:
        case Part():
            yield value
            yield from (inner for name in type(value).model_fields for inner in parts_in(getattr(value, name)))
        case dict():
            yield from (inner for each in value.values() for inner in parts_in(each))
        case tuple():
            yield from (inner for each in value for inner in parts_in(each))


def test_an_optional_field_in_every_part_changes_no_digest_and_no_fingerprint() -> None:
    paths = [path.as_posix() for path in EXAMPLES]
    command = [sys.executable, "-c", WIDER, *paths]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    widened, found = json.loads(done.stdout)
    assert every_kind() <= set(widened) and len(widened) > 50
    assert found == {path: names_of(plan_of(compile_file(Path(path)))) for path in paths}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_of_fields_that_have_their_default_only_the_kind_of_a_part_is_written(path: Path) -> None:
    plan = plan_of(compile_file(path))
    written = {
        name
        for part in parts_in(plan)
        for name in part.model_dump()
        if getattr(part, name) == type(part).model_fields[name].default
    }
    assert written - {"order"} == {"format", "kind", "op", "step"}  # the order of a mapping is put there in JSON only
    assert Plan.model_validate_json(plan.to_json()) == plan


def test_a_plan_written_by_hand_may_hold_an_integer_of_any_length() -> None:
    plan = plan_of(compile_file(EXAMPLES[0]))
    long = plan.model_copy(
        update={"scenarios": tuple(each.model_copy(update={"cells": 10**30}) for each in plan.scenarios)}
    )
    assert Plan.model_validate_json(long.to_json()) == long
    assert long.digest != plan.digest


def prints_of(step: Step) -> str:
    """Return the fingerprint of what a step yields, that of a judgement where it is one."""
    plan = changed_fields.plan()
    program = SimpleNamespace(home=lambda kind, name: "t", datasets={}, generated={}, trees={}, plugins={}, axes={})
    program.scorers = {scorer.name: scorer for scorer in plan.scorers}
    program.metrics = {metric.name: metric for metric in plan.metrics}
    found = StepFingerprints(cast("Program", program), "sums").of(step)
    return found.judgement if isinstance(found, JudgedStep) else found.fingerprint


@each("case", changed)
def test_every_field_that_determines_a_result_is_in_its_fingerprint(case: tuple[str, Step, Step]) -> None:
    field, before, after = case
    same = field in APART and not (field in ("when", "earlier") and before.step in ("score", "column"))
    assert (prints_of(before) == prints_of(after)) is same


@pytest.mark.parametrize("settings", changed_fields.other_settings(), ids=lambda each: next(iter(each.model_dump())))
def test_every_setting_is_in_the_fingerprint_of_a_question(settings: Settings) -> None:
    assert prints_of(STEPS[0]) != prints_of(STEPS[0].model_copy(update={"settings": settings}))


def test_the_weights_of_metrics_are_in_no_fingerprint() -> None:
    [grade] = [step for step in STEPS if isinstance(step, Grade)]
    assert prints_of(grade) == prints_of(grade.model_copy(update={"weights": (7.0,)}))


def test_the_order_of_keys_changes_no_name() -> None:
    one, other = {"a": 1, "b": {"c": 2, "d": {3, 4}}}, {"b": {"d": {4, 3}, "c": 2}, "a": 1}
    assert canonical(one) == canonical(other) == b'{"a":1,"b":{"c":2,"d":[3,4]}}'
    assert digest(one) == digest(other)


TWO_STEPS = """\
benchmark two "1.0.0" { languages en }
role candidate compared
scenario asked {
  ask first by candidate { prompt "One." }
  ask second by candidate { prompt "And then: {{ first.text }}" }
  score done = words(second.text) > 0
}
"""


def steps_of(text: str) -> list[str]:
    """Return the fingerprints of the steps of the only scenario, in their order."""
    return [step.fingerprint for step in plan_of(compile_text(text)).scenarios[0].steps]


def test_a_step_has_another_fingerprint_where_what_it_builds_on_has() -> None:
    before, after = steps_of(TWO_STEPS), steps_of(TWO_STEPS.replace('"One."', '"Two."'))
    assert [one == other for one, other in zip(before, after, strict=True)] == [False, False, False]


def test_a_question_keeps_its_fingerprint_under_another_name() -> None:
    before, after = steps_of(TWO_STEPS), steps_of(TWO_STEPS.replace("second", "last"))
    assert before[:2] == after[:2]
