"""SQL of means over a benchmark's `scores` view by axes and arms, which most figures are made of.

It is that of any other mean of scores (`AggregateTables`), in fewer passes: the rows are grouped as they are read, or
taken from the sums that a store keeps. Where metrics have weights w, a mean over metrics is sum(w * score) / sum(w).
Weights say what metrics count beside each other, so a mean that goes by metric has none.

All sums of numbers are taken from the least to the greatest, here and in the other modules of this room: in another
order their last bits differ, and a figure would tell how its rows lie on the disk.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from tripos_compiler.language.figures import ScoredStep
from tripos_compiler.plan import Aggregate, Missing
from tripos_compiler.source import dataclass
from tripos_warehouse.measures.sql.parts import (
    Cut,
    Parts,
    Weights,
    columns,
    given_value,
    goes_by_elements,
    ordered,
    same,
    weight_sql,
)
from tripos_warehouse.sql import name as named

Sums = Callable[[Collection[str]], str | None]
"""Returns the name of the table of sums of the scores that has these dimensions, where there is one."""


def no_sums(dims: Collection[str]) -> str | None:
    """Return no table."""
    return None


def is_plain_mean(figure: Aggregate, scored: ScoredStep, cut: Cut, missing: Missing) -> bool:
    """Return true if an aggregate is a mean of scores that the columns of `scores` alone choose."""
    if figure.function != "mean" or figure.of_condition or missing == "paired" or not scored.kept:
        return False
    names = (*cut.dims, *(name for name, _ in cut.fixed))
    of_items = any("." in name or goes_by_elements(scored, name) for name in names)
    return not of_items and cut.labels == "none" and not dict(cut.unread).get(figure.values[0])


@dataclass(frozen=True)
class PlainMean:
    """The rows of a mean: the schema that has them, a condition, and the dimensions of its cells."""

    parts: Parts
    benchmark: str
    condition: str
    dims: tuple[str, ...]

    def tables(self, weights: Weights, missing: Missing, sums: str | None = None) -> tuple[str, str]:
        """Return the tables of the cells, and of the units with their plain influences and weights (`leaf_tables`)."""
        if sums is not None and not weights and missing == "skip":
            rows = self._of_sums(sums)
        else:
            rows = self._of_scores(weights, missing)
        cell = columns(self.dims)
        cells = self.parts.add(
            "cells",
            f"""select {cell}, {ordered("sum", '"its total"')} / nullif({ordered("sum", '"its weight"')}, 0) as value,
  {ordered("sum", '"its weight"')} as "weight of cell", sum("its n")::bigint as n, sum("its rows")::bigint as total,
  coalesce(sum("that count") = count(*) filter ("that count" > 0) and bool_and("all are 0 or 1")
    and min("least weight") = max("most weight"), false) as "is share", NULL::varchar as reason
from {rows}
group by {cell}""",
        )
        units = self.parts.add(
            "units",
            f"""select {columns(self.dims, "rows")}, cluster_id,
  ("its total" - value * "its weight") / "weight of cell" as influence, "its weight" / "weight of cell" as weight
from {rows} as rows join {cells} as cells on {same("rows", "cells", self.dims)}
where "that count" > 0""",
        )
        return cells, units

    def _of_scores(self, weights: Weights, missing: Missing) -> str:
        """Return the table of the sums of each unit in each cell."""
        sums = f"""{ordered("sum", "value")} as "its total", count(value) as "its weight",
  1 as "least weight", 1 as "most weight\""""
        weighed, there = "", "value is not null"
        if weights:
            sums = f"""{ordered("sum", '"own weight" * value')} as "its total",
  {ordered("sum", '"own weight"')} filter ({there}) as "its weight",
  min("own weight") filter ({there}) as "least weight", max("own weight") filter ({there}) as "most weight\""""
            weighed = f""",
    {weight_sql(weights)} as "own weight\""""
        return self.parts.add(
            "rows",
            f"""select {columns(self.dims)}, cluster_id, {sums},
  count(value) as "that count", count(*) filter ("has value") as "its n", count(*) as "its rows",
  coalesce(bool_and(value in (0, 1)), true) as "all are 0 or 1"
from (
  select {columns(self.dims)}, cluster_id, {there} as "has value", {given_value(missing)} as value{weighed}
  from {named(self.benchmark)}.scores
  where {self.condition} and status <> 'not_applicable'
)
group by {columns(self.dims)}, cluster_id""",
        )

    def _of_sums(self, sums: str) -> str:
        """Return the same from the sums of each item's scores."""
        return self.parts.add(
            "rows",
            f"""select {columns(self.dims)}, cluster_id, {ordered("sum", '"its total"')} as "its total",
  sum("its n") as "its weight", sum("its n") as "that count", sum("its n") as "its n", sum("its rows") as "its rows",
  1 as "least weight", 1 as "most weight", bool_and("all are 0 or 1") as "all are 0 or 1"
from {sums}
where {self.condition} and status <> 'not_applicable' and "is score"
group by {columns(self.dims)}, cluster_id""",
        )
