"""A finished piece of work is known by its plan, its models and the cases that it covered."""

from __future__ import annotations

from dataclasses import replace

from tests.compiler.compiling import compile_text, plan_of
from tripos_runtime.datasets.selection import Selection
from tripos_runtime.drivers.engine import work_name
from tripos_runtime.program.binding import RoleBinding

SPEC = """
benchmark demo "1.0.0" { languages en }
role candidate compared
scenario sums {
  ask answer by candidate { prompt "1+1" }
  score long = words(answer.text)
}
"""


def test_another_choice_of_cases_and_other_models_are_other_work() -> None:
    plan, binding, whole = (
        plan_of(compile_text(SPEC)),
        RoleBinding({"candidate": ("mock/careful",)}, "candidate"),
        Selection(),
    )
    names = {
        work_name(plan, binding, whole),
        work_name(plan, binding, replace(whole, limit=3)),
        work_name(plan, binding, replace(whole, limit=4)),
        work_name(plan, binding, replace(whole, limit=4, seed=1)),
        work_name(plan, binding, replace(whole, scenarios=("sums",))),
        work_name(plan, binding, replace(whole, only={"language": ("en",)})),
        work_name(plan, binding, whole, {"sums": frozenset({"i1"})}),
        work_name(plan, RoleBinding({"candidate": ("mock/careless",)}, "candidate"), whole),
    }
    assert len(names) == 8
    assert work_name(plan, binding, Selection()) == work_name(plan, binding, whole)
