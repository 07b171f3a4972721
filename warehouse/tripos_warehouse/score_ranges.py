"""Between which ends a score lies, as SQL over the rows of scores."""

from __future__ import annotations

from tripos_compiler.plan import Grade, Plan, Score
from tripos_compiler.semantics.ranges import Range, ranges_of
from tripos_warehouse import sql


def range_columns(plan: Plan) -> dict[str, str]:
    """The columns `low` and `high` of the rows known as `score`, beside the `metric` that each is called like.

    The ends are those that the score's own step gives it, or else the metric's. What an expression comes to has none,
    unless it is true or false, or a field that has a scale.
    """
    fingerprints: dict[Range, set[str]] = {}
    ranges = ranges_of(plan)
    for scenario in plan.scenarios:
        for step in scenario.steps:
            if isinstance(step, Score) or (isinstance(step, Grade) and not step.metrics):
                found = ranges.scale_of(scenario, step)
                if found is not None:
                    fingerprints.setdefault(found, set()).add(step.fingerprint)
    return {name: _column(name, place, fingerprints) for place, name in enumerate(("low", "high"))}


def _column(name: str, place: int, fingerprints: dict[Range, set[str]]) -> str:
    if not fingerprints:
        return f"metric.{name}"
    whens = " ".join(
        f"when score.fingerprint in ({', '.join(map(sql.text, sorted(found)))}) then {ends[place]:.0f}::bigint"
        for ends, found in sorted(fingerprints.items())
    )
    return f"case {whens} else metric.{name} end as {name}"
