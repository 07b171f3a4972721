"""The values of a measure's dimensions: their order in the plan and what they are called there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tripos_compiler.plan import ArmValue, AxisValue, Labels, Plan


def label(plan: Plan, dimension: str, value: Any, language: str | None = None) -> str:
    """What to print for a value of a dimension: a title of the plan, or the value itself.

    `language` is one of the benchmark; by default its first. `None`, which a row without that axis has, is `—`.
    """
    if value is None:
        return "—"
    titles: dict[str, str] = {}
    match dimension:
        case "metric":
            titles = {metric.name: _in(metric.title, plan, language) for metric in plan.metrics}
        case "scenario":
            titles = {scenario.name: scenario.title for scenario in plan.scenarios}
        case _:
            titles = {each.name: _in(each.labels, plan, language) for each in _values(plan, dimension)}
    return titles.get(str(value)) or str(value)


def place(plan: Plan, dimension: str) -> Callable[[Any], tuple[int, str]]:
    """A sort key for values of a dimension: those that the plan lists come first, in its order."""
    listed = {value: index for index, value in enumerate(dict.fromkeys(_listed(plan, dimension)))}
    return lambda value: (listed.get(value, len(listed)), "" if value is None else str(value))


def _listed(plan: Plan, dimension: str) -> list[str]:
    match dimension:
        case "metric":
            return [metric.name for metric in plan.metrics]
        case "dimension":
            return [metric.dimension for metric in plan.metrics]
        case "scenario":
            return [scenario.name for scenario in plan.scenarios]
        case "language":
            return list(plan.benchmark.languages)
        case _:
            return [value.name for value in _values(plan, dimension)]


def _values(plan: Plan, dimension: str) -> list[AxisValue | ArmValue]:
    """The values of the axis, or the arm, of that name."""
    found: list[AxisValue | ArmValue] = [each for axis in plan.axes if axis.name == dimension for each in axis.values]
    return found + [each for arm in plan.arms if arm.name == dimension for each in arm.values]


def _in(labels: Labels, plan: Plan, language: str | None) -> str:
    for choice in (language, *plan.benchmark.languages):
        if choice is not None and choice in labels:
            return labels[choice]
    return ""
