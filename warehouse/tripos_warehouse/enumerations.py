"""The enumerations of a benchmark: columns that sort in the order of the plan, such as metrics in that of the rubric.

They are DuckDB's `ENUM`: they compare with texts, and leave the database as texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tripos_compiler.plan import Plan, Score
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
    """Those of a plan. What the data have beside what the plan lists (`values`) sorts after it, by name.

    A column without any value stays text, since an enumeration of nothing cannot be made.
    """
    schema = sql.name(plan.benchmark.name)
    statements, types = [], {}
    for column, listed in _listed(plan).items():
        every = dict.fromkeys([*listed, *sorted(values.get(column, ()))])
        if every:
            types[column] = f"{schema}.{sql.name(column)}"
            statements.append(f"create or replace type {types[column]} as enum ({', '.join(map(sql.text, every))})")
    return Enumerations(tuple(statements), types)


def _listed(plan: Plan) -> dict[str, Iterable[str]]:
    computed = (step.name for scenario in plan.scenarios for step in scenario.steps if isinstance(step, Score))
    columns: dict[str, Iterable[str]] = {
        "scenario": [scenario.name for scenario in plan.scenarios],
        "metric": [*(metric.name for metric in plan.metrics), *computed],
        "dimension": [metric.dimension for metric in plan.metrics],
        LANGUAGE: plan.benchmark.languages,
    }
    axes = {axis.name: [value.name for value in axis.values] for axis in plan.axes}
    return columns | axes | {arm.name: [value.name for value in arm.values] for arm in plan.arms}
