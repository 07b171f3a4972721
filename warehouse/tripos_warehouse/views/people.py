"""People who grade in a role beside its models: which of their scores count in one figure.

A person is another kind of evaluator than a model, and grades some of what a judge grades. A mean over both would move
with every reply that a person adds. So figures are of models, people have figures of their own, and one over both is
there where the spec joins them: `role judge panel with people`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from tripos_compiler.plan import Compare, Plan, Score
from tripos_warehouse import sql
from tripos_warehouse.query import Connection
from tripos_warehouse.store import HUMAN

Graders = Literal["counted", "people", "each"]
"""Whose scores a figure is of: those that `counted` beside each other, those of `people` who are apart, or all, where
every evaluator has a figure of their own."""


def apart_scorers(plan: Plan) -> tuple[str, ...]:
    """Return the scorers whose role does not join people with its models, and the scores of elements that are the
    choice of one of these."""
    joined = {role.name for role in plan.roles if role.with_people}
    apart = {scorer.name for scorer in plan.scorers if scorer.role not in joined}
    steps = (step for scenario in plan.scenarios for step in scenario.steps)
    return tuple(sorted(apart | {step.name for step in steps if isinstance(step, Score) and step.judge in apart}))


def are_counted(plan: Plan, row: str = "") -> str:
    """Return a condition, as SQL, that leaves the scores that count in one figure; `row` is what the row is called."""
    return f"not coalesce({are_apart(plan, row)}, false)"


def are_apart(plan: Plan, row: str = "", scorers: Collection[str] | None = None) -> str:
    """Return a condition, as SQL, that leaves the scores by people that no figure of models has. Where all rows are of
    judges that are among the `scorers`, those need no name."""
    apart = apart_scorers(plan)
    before = f"{row}." if row else ""
    by_person = f"starts_with({before}evaluator, {sql.text(HUMAN)})"
    if scorers is not None and set(scorers) <= set(apart):
        return by_person
    apart = apart if scorers is None else tuple(each for each in apart if each in set(scorers))
    return f"({by_person} and {before}scorer in {sql.texts(apart)})" if apart else "false"


def people_apart(connection: Connection, plan: Plan) -> tuple[str, ...]:
    """Return the people whose scores no figure of models has, over what `connection` shows of the benchmark."""
    if not apart_scorers(plan):
        return ()
    schema = sql.name(plan.benchmark.name)
    views = ["scores"]
    if any(isinstance(step, Compare) for scenario in plan.scenarios for step in scenario.steps):
        views.append("comparisons")
    every = " union ".join(f"select evaluator from {schema}.{view} where {are_apart(plan)}" for view in views)
    query = f"select distinct evaluator from ({every}) order by all"
    return tuple(name for (name,) in connection.execute(query).fetchall())
