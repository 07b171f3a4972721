"""The values of a measure's dimensions: their order in the plan and what they are called there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tripos_compiler.diagnostics import localized
from tripos_compiler.plan import ArmValue, AxisValue, Labels, Plan, Score
from tripos_warehouse import sql

LANGUAGE = "language"


@dataclass(frozen=True)
class Enumerations:
    """The types of one benchmark's schema: the statements that make them, and the type of each column that has one."""

    statements: tuple[str, ...]
    types: Mapping[str, str]

    def cast(self, column: str, expression: str) -> str:
        """`expression` as what the column is, under the column's name.

        Tried, since a condition on the column may be looked at before the one that leaves out other benchmarks' rows.
        """
        type_ = self.types.get(column)
        value = expression if type_ is None else f"try_cast({expression} as {type_})"
        return f"{value} as {sql.name(column)}"


def enumerations(plan: Plan, values: Mapping[str, Sequence[str]]) -> Enumerations:
    """Return those of a plan. What the data have beside what the plan lists (`values`) sorts after it, by name.

    A column without any value stays text, since an enumeration of nothing cannot be made.
    """
    schema = sql.name(plan.benchmark.name)
    statements, types = [], {}
    for column, listed in _positions(plan).items():
        every = dict.fromkeys([*listed, *sorted(values.get(column, ()))])
        if every:
            types[column] = f"{schema}.{sql.name(column)}"
            statements.append(f"create or replace type {types[column]} as enum ({', '.join(map(sql.text, every))})")
    return Enumerations(tuple(statements), types)


def _positions(plan: Plan) -> dict[str, Iterable[str]]:
    computed = (step.name for scenario in plan.scenarios for step in scenario.steps if isinstance(step, Score))
    columns: dict[str, Iterable[str]] = {
        "scenario": [scenario.name for scenario in plan.scenarios],
        "metric": [*(metric.name for metric in plan.metrics), *computed],
        "dimension": [metric.dimension for metric in plan.metrics],
        LANGUAGE: plan.benchmark.languages,
    }
    axes = {axis.name: [value.name for value in axis.values] for axis in plan.axes}
    return columns | axes | {arm.name: [value.name for value in arm.values] for arm in plan.arms}


def dimension_label(plan: Plan, dimension: str, value: Any, language: str | None = None) -> str:
    """Return what to print for a value of a dimension: a title of the plan, or the value itself.

    `language` is that of the reader; by default the first of the benchmark. `None`, which a row without that axis has,
    is `—`.
    """
    if value is None:
        return "—"
    titles: dict[str, str] = {}
    match dimension:
        case "metric":
            titles = {metric.name: _in(metric.title, plan, language) for metric in plan.metrics}
        case "scenario":
            titles = {
                each.name: plan.title_of("scenario", each.name, language) or each.title for each in plan.scenarios
            }
        case "dimension" if language is not None:
            return plan.title_of("dimension", str(value), language) or str(value)
        case _:
            titles = {each.name: _in(each.labels, plan, language) for each in _values(plan, dimension)}
    return titles.get(str(value)) or str(value)


def dimension_heading(plan: Plan, dimension: str, language: str) -> str:
    """Return what to print above the values of a dimension: the title of its axis or arm, or its name."""
    title = plan.title_of("axis", dimension, language) or plan.title_of("arm", dimension, language)
    return title or localized(dimension.replace("_", " "), language)


def dimension_place(plan: Plan, dimension: str) -> Callable[[Any], tuple[int, str]]:
    """Return a sort key for values of a dimension: those that the plan lists come first, in its order."""
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
    """Return the values of the axis, or the arm, of that name."""
    found: list[AxisValue | ArmValue] = [each for axis in plan.axes if axis.name == dimension for each in axis.values]
    return found + [each for arm in plan.arms if arm.name == dimension for each in arm.values]


def _in(labels: Labels, plan: Plan, language: str | None) -> str:
    for choice in (language, *plan.benchmark.languages):
        if choice is not None and choice in labels:
            return labels[choice]
    return ""
