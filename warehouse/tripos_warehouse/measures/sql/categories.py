"""The categories that a rater may choose from, as Gwet's coefficients take them: the levels of a rubric, the names of a
choice, true and false."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from tripos_compiler.language.figures import ScoredStep, ranges_of
from tripos_compiler.plan import Aggregate, Grade, Metric, Plan, Type
from tripos_warehouse.measures.sql.parts import Cut
from tripos_warehouse.sql import text as quoted

Category = str | float | tuple[int, int]
"""A name, a number, or all integers between two ends."""


def categories_sql(plan: Plan, figure: Aggregate, scored: Sequence[ScoredStep], cut: Cut) -> str:
    """Return the SQL of the declared categories of a cell, the JSON that `tripos_statistic` takes: if cells go by
    metric, those of the cell's metric. Scores without a scale have none, and those that were given count."""
    only = dict(cut.fixed).get("metric")
    metrics = [metric for metric in _metrics(plan, scored) if only in (None, metric.name)]
    if "metric" not in cut.dims or len({metric.ends for metric in metrics}) < 2:
        return quoted(_json(_declared(plan, figure, scored, metrics)))
    cases = " ".join(
        f"when {quoted(metric.name)} then {quoted(_json(_declared(plan, figure, scored, [metric])))}"
        for metric in metrics
    )
    return f"case metric {cases} else '[]' end"


def _metrics(plan: Plan, scored: Sequence[ScoredStep]) -> list[Metric]:
    """Return the metrics that judges score, each once."""
    names: dict[str, None] = {}
    for each in scored:
        for step in each.steps:
            if isinstance(step, Grade):
                names.update(dict.fromkeys([each.name] if each.kind == "metric" else step.metrics))
    return [metric for metric in plan.metrics if metric.name in names]


def _declared(plan: Plan, figure: Aggregate, scored: Sequence[ScoredStep], metrics: Sequence[Metric]) -> list[Category]:
    if figure.true_of:
        return [(0, 1)]
    found: dict[Category, None] = {(metric.low, metric.high): None for metric in metrics}
    ranges = ranges_of(plan)
    for each in scored:
        for scenario in each.scenarios:
            for step in scenario.steps:
                if step in each.steps and not (isinstance(step, Grade) and step.metrics):
                    found.update(dict.fromkeys(_of_type(ranges.declared(scenario, step), figure)))
    return list(found)


def _of_type(type_: Type, figure: Aggregate) -> Iterator[Category]:
    inner = type_.of if type_.kind == "optional" else type_
    match inner.kind:
        case "bool":
            yield 0, 1
        case "choice":
            worth: Sequence[Category] = inner.worth if figure.function == "gwet_ac2" and inner.worth else inner.values
            for name, value in zip(inner.values, worth, strict=True):
                if not figure.among or name in figure.among:
                    yield value
        case "integer" if inner.low is not None and inner.high is not None:
            yield inner.low, inner.high


def _json(categories: Sequence[Category]) -> str:
    return json.dumps(categories, ensure_ascii=False)
