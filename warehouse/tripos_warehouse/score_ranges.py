"""Between which ends a score lies, as SQL over the rows of scores."""

from __future__ import annotations

from tripos_compiler.plan import BoolType, Grade, IntegerType, Plan, Score, Type
from tripos_warehouse import sql


def range_columns(plan: Plan) -> dict[str, str]:
    """The columns `low` and `high` of the rows known as `score`, beside the `metric` that each is called like.

    The ends are those that the score's own step gives it, or else the metric's. What an expression comes to has none,
    unless it is true or false.
    """
    fingerprints: dict[tuple[int, int], set[str]] = {}
    gives = {scorer.name: scorer.gives for scorer in plan.scorers}
    for step in (step for scenario in plan.scenarios for step in scenario.steps):
        found = None
        if isinstance(step, Score) and step.truth:
            found = (0, 1)
        elif isinstance(step, Grade) and not step.metrics:
            found = _ends(gives.get(step.scorer))
        if found is not None:
            fingerprints.setdefault(found, set()).add(step.fingerprint)
    return {name: _column(name, place, fingerprints) for place, name in enumerate(("low", "high"))}


def _ends(type_: Type | None) -> tuple[int, int] | None:
    match type_:
        case BoolType():
            return 0, 1
        case IntegerType(low=int(low), high=int(high)):
            return low, high
        case _:
            return None


def _column(name: str, place: int, fingerprints: dict[tuple[int, int], set[str]]) -> str:
    if not fingerprints:
        return f"metric.{name}"
    whens = " ".join(
        f"when score.fingerprint in ({', '.join(map(sql.text, sorted(found)))}) then {ends[place]}::bigint"
        for ends, found in sorted(fingerprints.items())
    )
    return f"case {whens} else metric.{name} end as {name}"
