"""SQL of scores whose reply could not be read, as the value that counts for them if they count as wrong.

A reply that came and has no value was refused, was cut off, or does not say what the score asks for. A call that was
never answered is none of these, and neither is a grade that a person did not give.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

from tripos_compiler.language.figures import Range, ScoredStep, ranges_of
from tripos_compiler.plan import Aggregate, Grade, Plan
from tripos_warehouse.sql import text as quoted, texts
from tripos_warehouse.store import AGAIN
from tripos_warehouse.views import NOT_GIVEN

End = Literal["low", "high"]
"""The end of a score's range that is the worst value of it."""
SCORED = "scored"
COMPARED = frozenset(("accuracy", "precision", "recall", "f1"))
"""Aggregates that hold a value against another: one that could not be read is equal to none."""
OF_TRIES = frozenset(("pass_at", "pass_all"))
"""Aggregates that leave out items of too few values, so that an unread score may bring in others beside itself."""
OF_NUMBERS = OF_TRIES | frozenset(
    ("mean", "share", "corrected_prevalence", "weighted_mean", "median", "sum", "min", "max")
)
"""Aggregates of numbers that take the worst value of a score like any other."""


UNREAD = "is unread"
"""The column that says so of a row."""


def is_unread(given: str) -> str:
    """Return the condition that a row has no value although a reply came. `given` is the SQL of its name or text."""
    there = texts((SCORED, *AGAIN, NOT_GIVEN))
    return f"(value is null and {given} is null and status not in {there})"


def worst_value(plan: Plan, figure: Aggregate, scored: ScoredStep, end: End) -> str | None:
    """Return the SQL of the worst value that a row of something scored may have. None if nothing bounds one of them at
    that end."""
    if figure.function not in OF_NUMBERS:
        return None
    ranges, place = ranges_of(plan), ("low", "high").index(end)
    if figure.true_of:
        return _number(place)
    metrics = {metric.name: metric.ends for metric in plan.metrics}
    found: dict[tuple[str, str], float] = {}
    for scenario in scored.scenarios:
        for step in scenario.steps:
            if step not in scored.steps:
                continue
            if isinstance(step, Grade) and step.metrics:
                of_it = [name for name in step.metrics if scored.kind != "metric" or name == scored.name]
                ends: dict[tuple[str, str], Range | None] = {("metric", name): metrics.get(name) for name in of_it}
            else:
                ends = {("fingerprint", step.fingerprint): ranges.of_step(scenario, step)}
            if any(each is None or math.isinf(each[place]) for each in ends.values()):
                return None
            found |= {key: float(each[place]) for key, each in ends.items() if each is not None}
    return _by_row(found) if found else None


def _by_row(found: Mapping[tuple[str, str], float]) -> str:
    """Return the SQL of what each row has, by its metric or fingerprint."""
    if len(set(found.values())) == 1:
        return _number(next(iter(found.values())))
    whens = " ".join(
        f"when {column} = {quoted(name)} then {_number(value)}" for (column, name), value in sorted(found.items())
    )
    return f"case {whens} end"


def _number(value: float) -> str:
    return f"({float(value)!r}::double)"
