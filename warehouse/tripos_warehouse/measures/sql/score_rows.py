"""SQL of the scores that a mean is taken of, a row each, with their judges and arms."""

from __future__ import annotations

from tripos_compiler.language.figures import scored_by, scored_values_of
from tripos_compiler.plan import Aggregate, Measure, Plan
from tripos_warehouse.measures.sql.aggregate_tables import AggregateTables
from tripos_warehouse.measures.sql.figures import graders_of
from tripos_warehouse.measures.sql.parts import PLACE, Cut, Parts, columns, renamed
from tripos_warehouse.sql import name as named
from tripos_warehouse.views import arm_columns, axis_columns

OF_SCORE = ("scenario", "metric", "scorer", "evaluator")
"""The columns, beside the item, arms, and the place of an element, that tell a score of a model from its others."""


def keys_of_scores(plan: Plan, figure: Aggregate) -> tuple[str, ...]:
    """Return the columns that tell the scores of a mean apart, beside the model, the item and the sample."""
    return (*OF_SCORE, *arm_columns(plan), *((PLACE,) if figure.elements else ()))


def scores_sql(plan: Plan, measure: Measure, figure: Aggregate, by_people: bool = False) -> str:
    """Return the SQL of the scores of a measure that is the mean `figure`, or the mean of its cells: the model, the
    dimensions that make the cells, `item_id`, `cluster_id`, the columns `keys_of_scores`, `value` and `its weight`."""
    dims = tuple(dict.fromkeys([*measure.by, *figure.by]))
    scored = scored_by(scored_values_of(plan), figure)
    cut = Cut(dims, graders=graders_of(measure, by_people))
    parts = Parts()
    keys = [name for name in keys_of_scores(plan, figure) if name not in dims]
    rows = _ScoreRows(plan, parts, figure, scored, cut, measure.missing).table(keys)
    shown = ", ".join([columns(dims), "item_id", "cluster_id", *map(named, keys), "value", '"its weight"'])
    query = f"{parts.text}\nselect {shown}\nfrom {rows}\nwhere value is not null"
    axes = [*axis_columns(plan), *arm_columns(plan)]
    return renamed(query, plan.benchmark.name, axes, [*dims, *keys])


class _ScoreRows(AggregateTables):
    """The table of the single scores of a mean."""

    def table(self, keys: list[str]) -> str:
        """Add the table with these columns, and return its name."""
        return self._single(*keys)
