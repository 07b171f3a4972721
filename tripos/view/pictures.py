"""Means for pictures: every score at its place on its own scale, from 0 to 1, so that scales can stand side by side."""

from __future__ import annotations

from math import inf, isfinite
from typing import Any

from tripos_compiler.language.figures import (
    ScoredStep,
    aggregates_of,
    judged_steps,
    score_spans,
    scored_by,
    scored_values_of,
)
from tripos_compiler.plan import Grade, Plan, Score
from tripos_warehouse import sql
from tripos_warehouse.query import Connection
from tripos_warehouse.views import LANGUAGE, are_counted, arm_columns, axis_columns


def placed(plan: Plan, row: str = "") -> str:
    """Return where a score lies on its scale, from 0 to 1, as SQL; `row` is what the row is called. A scale is the one
    that is declared, or else the ends of what the expression of the score can come to. A score without both ends has
    no place."""
    before = f"{row}." if row else ""
    value, low, high = (f"{before}{name}" for name in ("value", "low", "high"))
    whens = [f"when {high} > {low} then ({value} - {low}) / ({high} - {low})"]
    for name, (least, most) in score_spans(plan).items():
        if isfinite(least) and isfinite(most) and least < most:
            span = f"({value} - {least!r}) / {most - least!r}"
            whens.append(f"when {high} is null and {before}metric::varchar = {sql.text(name)} then {span}")
    return f"case {' '.join(whens)} end"


def metric_places(plan: Plan) -> dict[str, int]:
    """Return the order of the metrics of a plan that have a scale: those of its headline come first, and all others as
    it declares them. A reply that has scores in several metrics is shown with that of the first."""
    measures = {measure.name: measure for measure in plan.measures}
    values = scored_values_of(plan)
    headline = (
        scored
        for name in plan.benchmark.headline
        for figure in aggregates_of(measures[name].figure, measures)
        for scored in scored_by(values, figure)
    )
    steps = [step for scenario in plan.scenarios for step in scenario.steps]
    names = [name for scored in headline for name in _metrics_of(scored)]
    names += [metric.name for metric in plan.metrics]
    names += [step.name for step in steps if isinstance(step, Score) or (isinstance(step, Grade) and not step.metrics)]
    spans, declared = score_spans(plan), {metric.name for metric in plan.metrics}
    scaled = [name for name in names if name in declared or all(map(isfinite, spans.get(name, (-inf, inf))))]
    return {name: place for place, name in enumerate(dict.fromkeys(scaled))}


def _metrics_of(scored: ScoredStep) -> list[str]:
    if scored.kind == "scorer":
        return [name for step in judged_steps(scored) for name in step.metrics or (step.name,)]
    return [scored.name] if scored.kept else []


def grid_means(connection: Connection, plan: Plan) -> list[dict[str, Any]]:
    """Return a mean for every scenario, metric and model."""
    return _rows(connection, plan, ["scenario", "metric", "model"], are_counted(plan))


def axis_means(connection: Connection, plan: Plan) -> list[dict[str, Any]]:
    """Return a mean for every metric, model and value of every axis and arm."""
    names = [*([LANGUAGE] if len(plan.benchmark.languages) > 1 else []), *axis_columns(plan), *arm_columns(plan)]
    found = []
    for name in names:
        for row in _rows(connection, plan, [name, "metric", "model"], are_counted(plan)):
            value = row.pop(name)
            if value is not None:
                found.append({"axis": name, "value": value, **row})
    return found


def judge_means(connection: Connection, plan: Plan, *by: str) -> list[dict[str, Any]]:
    """Return a mean for every evaluator and metric, and every value of `by`."""
    return _rows(connection, plan, ["evaluator", "metric", *by], "evaluator is not null")


def position_shares(connection: Connection, plan: Plan) -> list[dict[str, Any]]:
    """Return for every evaluator of pairs, in every step that compares, the share of verdicts for the reply that was
    shown first; ties are half."""
    schema = sql.name(plan.benchmark.name)
    if not has_comparisons(connection, plan.benchmark.name):
        return []
    found = connection.execute(
        f"""select evaluator, scenario::varchar, step, avg(value), count(value) from {schema}.comparisons
        where evaluator is not null group by all order by all"""
    ).fetchall()
    return [dict(zip(("evaluator", "scenario", "step", "share", "n"), row, strict=True)) for row in found]


def has_comparisons(connection: Connection, benchmark: str) -> bool:
    """Return true if the benchmark compares replies: others have no view of comparisons."""
    query = "select 1 from information_schema.tables where table_schema = ? and table_name = 'comparisons'"
    return bool(connection.execute(query, [benchmark]).fetchall())


def _rows(connection: Connection, plan: Plan, keys: list[str], where: str) -> list[dict[str, Any]]:
    """Return the mean place of the scores of each group. A group in which some score has no place has no mean: that of
    the others would be of another thing."""
    named = [sql.name(each) for each in keys]
    told = ", ".join(f"cast({each} as varchar)" for each in named)
    groups = ", ".join(named)
    found = connection.execute(
        f"""select {told}, case when count(place) = count(value) then avg(place) end,
          case when count(place) = count(value) then count(place) else 0 end
        from (select *, {placed(plan)} as place from {sql.name(plan.benchmark.name)}.scores where {where})
        group by {groups} order by {groups}"""
    ).fetchall()
    return [{**dict(zip(keys, row, strict=False)), "score": row[-2], "n": row[-1]} for row in found]
