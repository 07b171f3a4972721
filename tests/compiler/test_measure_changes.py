"""Which changes between two plans affect a measure."""

from __future__ import annotations

import pytest

from tests.compiler.compiling import compile_text, plan_of
from tripos_compiler.language.measure_dependencies import changes_affecting, dependencies_of
from tripos_compiler.language.plan_diff import find_changes
from tripos_compiler.plan import Plan

SPEC = """benchmark demo "1.0.0" { languages en }
role candidate compared
axis level { low, high }
scenario s {
  context level
  ask reply by candidate { prompt "{{ level }}" }
  score size = length(reply)
  measure length = mean(size)
}
"""


@pytest.mark.parametrize(
    ("now", "affected"),
    [
        ("mean(size) lower is better", []),
        ("mean(size) lower is better by level", ["measure"]),
        ("max(size)", ["measure"]),
    ],
)
def test_the_direction_of_a_measure_changes_no_figure(now: str, affected: list[str]) -> None:
    before, after = _plan("mean(size)"), _plan(now)
    changes = find_changes(before, after)
    assert changes
    found = changes_affecting(changes, *(dependencies_of(plan, plan.measures[0]) for plan in (before, after)))
    assert [change.kind for change in found] == affected


def _plan(figure: str) -> Plan:
    return plan_of(compile_text(SPEC.replace("mean(size)", figure)))
