"""SQL of means over a benchmark's `scores` view.

A measure of `mean(x) by dims` is the mean of the scores in each cell; a measure of another measure is the mean of its
cells. The standard error is that of a mean clustered by item (Liang and Zeger, 1986): in a cell of m items an item's
pull on the mean is the sum over its scores of (score - mean) / number of scores, enlarged by the square root of
m / (m - 1), and the variance is the sum of squared pulls. In a mean of cells an item's pulls are added up over the
cells it is in and divided by their number, so items that share no cell make strata and metrics of one item stay
correlated. A cell of one item says nothing about its error, and then the error of the whole is unknown.

Where metrics have weights w, a mean over metrics is sum(w * score) / sum(w), and an item's pull on it the sum over its
scores of w * (score - mean) / sum(w). All sums of numbers are taken from the least to the greatest, here and in the
other modules of this room: in another order their last bits differ, and a figure would tell how its rows lie on the
disk. Weights say what metrics count beside each other, so a mean that goes by metric
has none; a mean of cells counts every cell alike.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from tripos_compiler.language.figures import ScoredStep, mean_in
from tripos_compiler.plan import Aggregate, Missing, Plan
from tripos_warehouse.measures.sql.parts import (
    Cut,
    Weights,
    condition,
    given_value,
    goes_by_elements,
    ordered,
    weight_sql,
    weights_of,
)
from tripos_warehouse.sql import text as quoted
from tripos_warehouse.statistics.intervals import ONE_IN_A_CELL
from tripos_warehouse.views import Graders

EMPTY = "one of its cells has no value, so its error is unknown"
Sums = Callable[[Collection[str]], str | None]
"""Returns the name of the table of sums of the scores that has these dimensions, where there is one."""


def find_sql(
    plan: Plan,
    figure: Aggregate,
    scored: ScoredStep,
    missing: Missing,
    graders: Graders,
    sums: Sums = lambda dims: None,
) -> str | None:
    """The SQL of a mean, or of a mean of means, of scores by axes and arms; None for any other aggregate."""
    inner = mean_in(figure)
    if inner is None or len(inner.values) != 1:
        return None
    of_items = any("." in dim or goes_by_elements(scored, dim) for dim in (*figure.by, *inner.by))
    if missing == "paired" or not scored.kept or of_items or inner.of_condition:
        return None
    weights = {} if "metric" in inner.by else weights_of(scored)
    chosen = condition(plan, scored, Cut(graders=graders))
    return mean_sql(plan.benchmark.name, chosen, inner.by, figure.by, weights, missing, sums(inner.by))


def mean_sql(
    benchmark: str,
    condition: str,
    inner: tuple[str, ...],
    dims: tuple[str, ...],
    weights: Weights | None = None,
    missing: Missing = "skip",
    sums: str | None = None,
) -> str:
    """SQL for a mean by `dims` of means by `inner`, where `inner` contains `dims`; equal ones are a plain mean. Where
    all scores weigh alike, it is taken from `sums` if there are any."""
    cell = ", ".join(["model", *(f'"{dim}"' for dim in inner)])
    if not weights and missing == "skip":
        plain = _pulls(benchmark, condition, cell) if sums is None else _pulls_of_sums(sums, condition, cell)
        pulls, counting = plain, "n"
    else:
        counting = '"that count"'
        pulls = _weighted_pulls(benchmark, condition, cell, weights or {}, missing)
    if set(inner) == set(dims):
        return f"""\
{pulls}
select {cell}, mean as value,
  case when count(pull) > 1 then sqrt(count(pull) / (count(pull) - 1) * {ordered("sum", "pull * pull")}) end
    as standard_error,
  greatest(count(pull) - 1, 0) as df, count(pull) as items, n, total,
  any_value({counting}) = count(pull) and bool_and("all are 0 or 1") as "is share"
from pulls
group by all
order by all
"""
    group = ["model", *(f'"{dim}"' for dim in dims)]
    groups = ", ".join(group)
    value = ordered("avg", "mean")
    value = value if missing != "fail" else f"case when count(mean) = count(*) then {value} end"
    same = " and ".join(f"errors.{name} is not distinct from groups.{name}" for name in group)
    return f"""\
{pulls}, enlarged as (
  select *, count(pull) over cell as m,
    case when m > 1 then pull * sqrt(m / (m - 1)) end as enlarged
  from pulls
  window cell as (partition by {cell})
), cells as (
  select distinct {cell}, mean, n, total, m
  from enlarged
), groups as (
  select {groups}, {value} as value, count(mean) as parts, min(m) as least, bool_or(m = 1) as "one alone",
    sum(m - 1) as df,
    sum(n) as n, sum(total) as total
  from cells
  group by {groups}
), items as (
  select {groups}, cluster_id, {ordered("sum", "enlarged")} as pull, count(pull) > 0 as counts
  from enlarged
  group by {groups}, cluster_id
), errors as (
  select {groups}, count(*) filter (counts) as items, sqrt({ordered("sum", "pull * pull")}) as error
  from items
  group by {groups}
)
select {", ".join(f"groups.{name}" for name in group)}, value,
  case when least > 1 then error / parts end as standard_error,
  greatest(least(df, items - 1), 0) as df, items, n, total, least > 1 as "is known",
  case when "one alone" then {quoted(ONE_IN_A_CELL)} when least = 0 then {quoted(EMPTY)} end as reason,
  least(items, least * parts) as "is bearing"
from groups join errors on {same}
order by all
"""


def _pulls(benchmark: str, condition: str, cell: str) -> str:
    """The mean of every cell, and the pull on it of every item.

    The scores are read twice: a window over each cell would hold all of them at once.
    """
    names = cell.split(", ")
    same = " and ".join(f"chosen.{name} is not distinct from pulled.{name}" for name in names)
    return f"""\
with chosen as not materialized (
  select {cell}, cluster_id, value
  from "{benchmark}".scores
  where {condition} and status <> 'not_applicable'
), pulled as (
  select {cell}, {ordered("avg", "value")} as mean, count(value) as n, count(*) as total
  from chosen
  group by all
), pulls as (
  select {", ".join(f"chosen.{name}" for name in names)}, cluster_id, mean, n, total,
    {ordered("sum", "value - mean")} / any_value(n) as pull,
    coalesce(bool_and(value in (0, 1)), true) as "all are 0 or 1"
  from chosen join pulled on {same}
  group by all
)"""


def _pulls_of_sums(sums: str, condition: str, cell: str) -> str:
    """Return the same from the sums of each item's scores."""
    names = cell.split(", ")
    same = " and ".join(f"chosen.{name} is not distinct from pulled.{name}" for name in names)
    return f"""\
with chosen as not materialized (
  select {cell}, cluster_id, "its total", "its n", "its rows", "all are 0 or 1"
  from {sums}
  where {condition} and status <> 'not_applicable' and "is score"
), pulled as (
  select {cell}, {ordered("sum", '"its total"')} / nullif(sum("its n"), 0) as mean, sum("its n")::bigint as n,
    sum("its rows")::bigint as total
  from chosen
  group by all
), pulls as (
  select {", ".join(f"chosen.{name}" for name in names)}, cluster_id, mean, n, total,
    {ordered("sum", '"its total" - mean * "its n"')} / any_value(n) as pull,
    bool_and("all are 0 or 1") as "all are 0 or 1"
  from chosen join pulled on {same}
  group by all
)"""


def _weighted_pulls(benchmark: str, condition: str, cell: str, weights: Weights, missing: Missing) -> str:
    """Return the same where scores weigh differently, or a missing one is not left out. Names with a space are no
    axis's."""
    weighed = ordered("sum", '"its weight" * value')
    mean = f'{weighed} over cell / nullif("weight of cell", 0)'
    if missing == "fail":
        mean = f"case when n = total then {mean} end"
    return f"""\
with weighed as (
  select {cell}, cluster_id, value is not null as "has value", {given_value(missing)} as value,
    {weight_sql(weights)} as "its weight"
  from "{benchmark}".scores
  where {condition} and status <> 'not_applicable'
), counted as (
  select *, count(*) filter ("has value") over cell as n, count(*) over cell as total,
    {ordered("sum", '"its weight"')} filter (value is not null) over cell as "weight of cell",
    count(value) over cell as "that count", min("its weight") over cell = max("its weight") over cell as "weigh alike"
  from weighed
  window cell as (partition by {cell})
), chosen as (
  select *, {mean} as mean
  from counted
  window cell as (partition by {cell})
), pulls as (
  select {cell}, cluster_id, mean, n, "that count", total,
    {ordered("sum", '"its weight" * (value - mean)')} / any_value("weight of cell") as pull,
    coalesce(bool_and(value in (0, 1) and "weigh alike"), true) as "all are 0 or 1"
  from chosen
  group by all
)"""
