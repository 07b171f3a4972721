"""The names that a page shows for the parts of a benchmark: titles of scenarios, metrics, axes and arms, in every
language that the benchmark has, and what its steps and scorers ask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tripos_compiler.plan import ArmValue, Ask, AxisValue, Plan
from tripos_warehouse.views import RunRecord


def describe(plan: Plan) -> dict[str, Any]:
    """Return the names of a plan as JSON values: each title is a text a language."""
    benchmark = plan.benchmark
    return {
        "name": benchmark.name,
        "version": benchmark.version,
        "title": benchmark.title,
        "titles": {kind: dict(names) for kind, names in plan.titles.items()},
        "license": benchmark.license,
        "cites": list(benchmark.cites),
        "languages": list(benchmark.languages),
        "headline": list(benchmark.headline),
        "lower_is_better": [measure.name for measure in plan.measures if measure.lower_is_better],
        "roles": [{"name": role.name, "kind": role.kind} for role in plan.roles],
        "axes": [_dimension(axis.name, axis.values) for axis in plan.axes],
        "arms": [_dimension(arm.name, arm.values) for arm in plan.arms],
        "metrics": [
            {
                "name": metric.name,
                "title": dict(metric.title),
                "dimension": metric.dimension,
                "low": metric.low,
                "high": metric.high,
                "asks": dict(metric.asks),
                "levels": [{"low": each.low, "high": each.high, "text": dict(each.text)} for each in metric.levels],
            }
            for metric in plan.metrics
        ],
        "scenarios": [
            {
                "name": scenario.name,
                "title": scenario.title,
                "axes": list(scenario.axes),
                "arms": list(scenario.arms),
                "rows": scenario.row_count,
                "steps": [
                    {"name": step.name, "kind": step.step, "role": step.role if isinstance(step, Ask) else None}
                    for step in scenario.steps
                ],
            }
            for scenario in plan.scenarios
        ],
        "scorers": [{"name": scorer.name, "role": scorer.role, "blind": scorer.blind} for scorer in plan.scorers],
    }


def names_of_run(plan: Plan | None, run: RunRecord) -> dict[str, Any]:
    """Return the title of the benchmark of a run; its name, where nobody can read its plan."""
    if plan is None:
        return {"title": run.benchmark, "titles": {}}
    return {"title": plan.benchmark.title, "titles": plan.titles.get("benchmark", {}).get(run.benchmark, {})}


def _dimension(name: str, values: Sequence[AxisValue | ArmValue]) -> dict[str, Any]:
    return {"name": name, "values": [{"name": each.name, "labels": dict(each.labels)} for each in values]}
