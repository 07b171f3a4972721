"""The error of a figure in SQL: what each unit contributes to it, and the variance and degrees of freedom that follow.

A unit is an item, or a cluster of items that were drawn together. A leaf cell is one cell of an aggregate of scores. In
a leaf cell a unit has a weight w, its share of the mean (Σ w = 1), and an influence r: the first-order change of the
value when the unit's weight changes. With S_k = Σ wᵏ, and units of equal variance:

- E Σ r² = σ² (S₂ − 2 S₃ + S₂²), which estimates σ², and the variance of the value is σ² S₂. So each influence is
  multiplied by √(S₂ / (S₂ − 2 S₃ + S₂²)), which is √(m / (m − 1)) for m units of equal weight (CR2: Bell and McCaffrey
  2002; Pustejovsky and Tipton 2018).
- The variance has (S₂ − 2 S₃ + S₂²)² / T degrees of freedom, where T is the trace of the square of the covariance of
  the influences, S₂⁴ + 2 S₂ S₄ − 4 S₂² S₃ + 2 S₃² + S₄ (1 + 2 S₂) − 4 S₅ (Bell and McCaffrey). For units of equal
  weight these are m − 1.

A figure is made of leaf cells, each with the derivative g of the figure by its value. The influence of a unit on the
figure is the sum of g r over the leaf cells that contain it, and the variance is the sum of the squares of these, so
the covariance of cells that share units is included. The expected square is v = Σ g² σ² w², and the degrees of freedom
are (Σ v)² / Σ t², where t = Σ g² σ² w² √κ, and κ is chosen so that a single leaf cell has the degrees of freedom above
(Satterthwaite 1946). A small cell may show less variance than it has although most of the error comes from it. So the
degrees of freedom are at most those that follow if all cells of an aggregate had one variance, that of all their units.
All this depends on the leaf cells and derivatives alone, and so not on how the figure is written.

A figure therefore carries its leaf cells with their derivatives, which are few rows; the influences of units are joined
once, at the end. Besides units there may be studies that a figure depends on, such as the one that measured the error
rates of a judge: their influences add to the variance and not to the number of items.

A leaf cell whose units are all alike shows no error. A kind of unit that none of m units showed has at most the share 1
− (α/2)^(1/m), and may lie at either end of the scale. So the interval of a figure is extended by that, on each side by
the root of the sum of squares over its cells. Without a scale the error is unknown.
"""

from __future__ import annotations

from collections.abc import Sequence

from tripos_compiler.language.aggregates import AGGREGATES, OF_PRODUCTS, AggregateFunction
from tripos_compiler.language.intervals import metric_range, quotient_range, ranges_of
from tripos_compiler.language.scored_values import ScoredStep, scored_inputs, scored_values_of
from tripos_compiler.library.ranges import ANY, SHARE, Interval, enclosing_range
from tripos_compiler.plan import Aggregate, Grade, Missing, Plan
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.measures.query import IS_ITEM, FigureTables, Parts, RowSelection, columns, ordered, same
from tripos_warehouse.sql import name as named, text as quoted
from tripos_warehouse.statistics.arrays import CONFIDENCE, two_sided, z_quantile
from tripos_warehouse.statistics.intervals import SINGLE_ITEM

ONE_HEAVY = "one item has nearly all the weight"
LEAST_FREEDOM = 0.02
"""The least part of the variance that the influences must show, relative to many units. Below it one unit has about 90
% of the weight, and the others show too little of the variance."""
CANCELLED = 1e-12
"""A weight below this share of its terms is the rounding error of a cell that is added and subtracted."""
ALIKE = 1e-10
"""Influences below this share of the scale, or of the value, are rounding errors of zero."""
CONSTANTS = ("items", "aggregate", "sigma", "root", "unseen", "share", "below", "above")
"""The columns of a leaf cell.

- `items`: its units
- `aggregate`: the aggregate that it belongs to
- `sigma`: σ
- `root`: √κ
- `unseen`: if all units are alike, the largest share of units that none of them shows, NULL if it is unknown; otherwise
  0
- `share`: the value, if the cell is a share of independent units
- `below`, `above`: the distance of the value from the low and from the high end of its scale
"""
TAIL = round(1 - two_sided(CONFIDENCE), 12)
"""The probability beyond either end of an interval."""
NORMAL = z_quantile(two_sided(CONFIDENCE))
"""The quantile of the normal distribution at the end of an interval."""


@dataclass(frozen=True)
class Scale:
    """The ends between which the values of a unit lie, in SQL. `shows`: a unit that was never observed moves the value
    no further than its distance from the others, as in a mean."""

    low: str
    high: str
    shows: bool = True


@dataclass(frozen=True)
class Leaf:
    """An aggregate of scores: the text that identifies it, the values that its slice fixes, its scale, and `exact` if
    it has no error, such as a number of scores."""

    text: str
    fixed: tuple[tuple[str, str], ...] = ()
    scale: Scale | None = None
    exact: bool = False

    def key(self, dims: Sequence[str]) -> str:
        """Return the SQL of the name of a leaf cell of a model. It is the same whether a slice fixes a value or the
        cell has it."""
        values = {name: quoted(value) for name, value in self.fixed}
        values |= {name: f"coalesce(c.{named(name)}::varchar, '')" for name in dims}
        text = ", ".join(f"{quoted(name)}, {values[name]}" for name in sorted(values))
        return f"hash(concat_ws(chr(31), c.model, {quoted(self.text)}{f', {text}' if text else ''}))"


def leaf_tables(
    parts: Parts, dims: tuple[str, ...], leaf: Leaf, cells: str, units: str, *, weighted: bool, failing: bool
) -> FigureTables:
    """Return the tables of an aggregate of scores, from its cells and the unscaled influences of its units.

    `cells` has `value`, `n`, `total`, `reason` and `is share`, and `units` has `cluster_id`, `influence` and, if
    `weighted`, `weight`.
    """
    moments = parts.add("moments", _moments(units, dims, weighted))
    low, high = ("NULL", "NULL") if leaf.scale is None else (leaf.scale.low, leaf.scale.high)
    by_length = "case when low is not null and high is not null then high - low else abs(value) end"
    unseen = "0"
    if not leaf.exact:
        shown = leaf.scale is not None and leaf.scale.shows
        bound = (
            f"case when low is not null and high is not null then 1 - {TAIL!r} ** s2 end" if shown else "NULL::double"
        )
        unseen = f"case when alike then {bound} else 0 end"
    # A row is a leaf cell: the statistics of its units, its scale, and its distances from the ends of the scale.
    leaves = parts.add(
        "leaves",
        f"""select *, 1 as slope, hash({quoted(leaf.text)}) as aggregate, value - low as below, high - value as above,
  case when "is share" and low = 0 and high = 1 then value end as share,
  case when alike then 0 else coalesce(sqrt(squares / freedom), 0) end as sigma, {unseen} as unseen
from (
  select *, greatest <= {ALIKE} * ({by_length}) as alike
  from (
    select {columns(dims, "c")}, c.value, c.n, c.total, c.reason, c."is share", m.clusters as items, m.m, m.squares,
      m.greatest, m.s2, m.freedom, m.root, {leaf.key(dims)} as leaf, ({low})::double as low, ({high})::double as high
    from {cells} as c left join {moments} as m on {same("c", "m", dims)}
  )
)""",
    )
    value = "case when n = total then value end" if failing else "value"
    text = "(total - n) || ' of ' || total || ' have no value, which `missing: fail` forbids'"
    reason = f"case when n < total then {text} else reason end" if failing else "reason"
    heavy = f"m > 1 and freedom < {LEAST_FREEDOM} * s2"
    reason = f"""coalesce({reason}, case when value is not null and items = 1 then {quoted(SINGLE_ITEM)}
    when value is not null and {heavy} then {quoted(ONE_HEAVY)} end)"""
    done = parts.add(
        "cells",
        f"""select {columns(dims)}, {value} as value, n, total, {reason} as reason,
  coalesce(m > 1 and not ({heavy}), false) as known
from {leaves}""",
    )
    influences = parts.add(
        "influences",
        f"""select l.leaf, u.cluster_id,
  case when not {IS_ITEM} then u.influence when l.alike then 0
    else u.influence * sqrt(l.s2 / nullif(l.freedom, 0)) end as influence,
  {"u.weight" if weighted else f"case when {IS_ITEM} then 1 / nullif(l.m, 0) else 0 end"} as weight
from {leaves} as l join {units} as u on {same("l", "u", dims)}""",
    )
    return FigureTables(done, leaves, dims, (influences,), is_leaf=True)


def _moments(units: str, dims: tuple[str, ...], weighted: bool) -> str:
    """Return the SQL of the moments of the units of a cell: `s2`, `freedom` (Σ r² over σ²) and `root` (√κ)."""
    only = f"filter ({IS_ITEM})"
    sums = f"""count(*) {only} as clusters, count(influence) {only} as m,
    {ordered("sum", "influence ** 2")} {only} as squares, max(abs(influence)) {only} as greatest"""
    if not weighted:
        return f"""select *, 1 / nullif(m, 0) as s2, (m - 1) / nullif(m, 0) ** 2 as freedom,
  sqrt(m / nullif(m - 1, 0)) as root
from (
  select {columns(dims)}, {sums}
  from {units}
  group by {columns(dims)}
)"""
    powers = ", ".join(f"{ordered('sum', f'weight ** {power}')} as p{power}" for power in (2, 3, 4, 5))
    trace = "p2 ** 4 + 2 * p2 * p4 - 4 * p2 ** 2 * p3 + 2 * p3 ** 2 + p4 * (1 + 2 * p2) - 4 * p5"
    even = "least >= most * (1 - 1e-12)"
    # A row is a cell: the moments of the weights of its units, in closed form if all weights are equal.
    return f"""select {columns(dims)}, clusters, m, squares, greatest,
  case when {even} then 1 / m else p2 end as s2,
  case when {even} then (m - 1) / m ** 2 else p2 - 2 * p3 + p2 ** 2 end as freedom,
  case when {even} then sqrt(m / nullif(m - 1, 0))
    else p2 * sqrt(({trace}) / nullif(p4, 0)) / nullif(p2 - 2 * p3 + p2 ** 2, 0) end as root
from (
  select {columns(dims)}, {sums}, min(weight) as least, max(weight) as most, {powers}
  from {units}
  group by {columns(dims)}
)"""


def combined_leaves(parts: Parts, dims: tuple[str, ...], through: Sequence[tuple[str, str]]) -> str:
    """Return the name of the table of the leaf cells of a figure, from those of its parts. For each part, `through` has
    its derivative in SQL, and the `from` that joins the cells of the figure, `c`, with the leaf cells of the part,
    `l`."""
    all_leaves = "\nunion all\n".join(
        f"""select {columns(dims, "c")}, l.leaf, l.slope * {slope} as slope,
    {", ".join(f"l.{name}" for name in CONSTANTS)}
  {source}"""
        for slope, source in through
    )
    return parts.add(
        "leaves",
        f"""select {columns(dims)}, leaf,
  case when abs(sum(slope)) > {CANCELLED} * sum(abs(slope)) then {ordered("sum", "slope")} else 0 end as slope,
  {", ".join(f"any_value({name}) as {name}" for name in CONSTANTS)}
from (
  {all_leaves}
)
group by {columns(dims)}, leaf""",
    )


def _from_influences(node: FigureTables, leaves: str) -> str:
    """Return the `from` of the leaf cells of a figure, `l`, with the influences on them, `i`.

    A leaf cell may be in several tables, since the table of all cells includes that of a slice: each unit counts once.
    """
    influences = " union all ".join(f"from {influence}" for influence in node.influences)
    if len(node.influences) > 1:
        values = "min(influence) as influence, min(weight) as weight"
        influences = f"select leaf, cluster_id, {values} from ({influences}) group by leaf, cluster_id"
    return f"from {leaves} as l join ({influences}) as i on l.leaf = i.leaf"


def by_unit(parts: Parts, node: FigureTables) -> str:
    """Return the name of the table of the influence of each unit on a figure."""
    return parts.add(
        "units",
        f"""select {columns(node.dims, "l")}, i.cluster_id, {ordered("sum", "l.slope * i.influence")} as influence
{_from_influences(node, node.leaves)}
group by {columns(node.dims, "l")}, i.cluster_id""",
    )


def precision(parts: Parts, node: FigureTables) -> str:
    """Return the name of the table of the error of a figure.

    Its columns are `error`, `shown` (the part of it that units show), `df`, `items`, `units` (the number of equally
    weighted units with the same precision), `down` and `up` (how far the interval is extended for unobserved units),
    and `is hidden` (whether one of its leaf cells has an unknown error).

    A weighted sum of leaf cells also has `below` and `above`, the distances of the value from the ends of the scale of
    the sum, and `shares`, if all leaf cells are shares of units and no unit is in two of them: per cell its weight, its
    value and its units.
    """
    group = columns(node.dims)
    # Sums that affect only the degrees of freedom are rounded in the end, so their order does not matter.
    pooled, spreads = node.leaves, {"": "l.slope * i.weight * l.sigma"}
    if not node.is_leaf:
        pooled = parts.add(
            "leaves",
            f"""select *,
  sqrt(sum(sigma ** 2 * (items - 1)) over alike / nullif(sum(items - 1) over alike, 0)) as pooled
from {node.leaves}
window alike as (partition by {group}, aggregate order by sigma, items
  rows between unbounded preceding and unbounded following)""",
        )
        spreads["of one spread"] = "l.slope * i.weight * l.pooled"
    squares = {name: f"({spread}) ** 2" for name, spread in spreads.items()}
    summed = {f"spread {name}": square for name, square in squares.items()}
    summed |= {f"known {name}": f"{square} * l.root" for name, square in squares.items()}
    summed |= {"weight": "abs(l.slope * i.weight)", "leaves": "(l.slope <> 0)::integer"}
    influence, grouped = "l.slope * i.influence", ""
    if not node.is_leaf:  # a unit is in several leaf cells
        influence, summed = ordered("sum", influence), {name: f"sum({sum_sql})" for name, sum_sql in summed.items()}
        grouped = f"\ngroup by {columns(node.dims, 'l')}, i.cluster_id"
    of_unit = ", ".join([f"{influence} as influence", *(f'{sum_sql} as "{name}"' for name, sum_sql in summed.items())])
    units = parts.add(
        "units",
        f"""select {columns(node.dims, "l")}, i.cluster_id, {of_unit}\n{_from_influences(node, pooled)}{grouped}""",
    )
    ends = {"below": ("below", "above"), "above": ("above", "below")}
    distances = ", ".join(
        f"""case when bool_and({one} is not null and {other} is not null)
    then {ordered("sum", f"abs(slope) * case when slope > 0 then {one} else {other} end")} end as {one}"""
        for one, other in ends.values()
    )
    unseen_squares = {
        name: f"(slope * unseen * case when slope > 0 then {one} else {other} end) ** 2"
        for name, (one, other) in (("down", ends["below"]), ("up", ends["above"]))
    }
    reaches = ", ".join(
        f"sqrt(coalesce({ordered('sum', unseen_square)}, 0)) as {name}"
        for name, unseen_square in unseen_squares.items()
    )
    leaves = parts.add(
        "leaves",
        f"""select {group}, {distances}, {reaches}, bool_or(unseen is null) as hidden,
  case when bool_and(share is not null)
    then list({{'weight': slope, 'share': share, 'items': items}} order by slope, share, items) end as shares
from {node.leaves}
where slope <> 0
group by {group}""",
    )
    of_sum = ("l.below", "l.above", "case when u.leaves <= 1 then l.shares end")
    of_sum = ("NULL::double", "NULL::double", "NULL") if node.is_nonlinear else of_sum
    of_spread = 'sum(sqrt("spread ")) ** 2 / nullif(sum("spread "), 0)'
    of_weight = "sum(weight) ** 2 / nullif(sum(weight ** 2), 0)"
    freedom = ", ".join(f"""sum("spread {name}") ** 2 / nullif(sum("known {name}" ** 2), 0)""" for name in spreads)
    # A row is a cell: the error that units show, with the extensions for units that were not observed.
    return parts.add(
        "precision",
        f"""select {columns(node.dims, "u")}, u.items, u.shown, u.df, u.units, coalesce(l.down, 0) as down,
  coalesce(l.up, 0) as up, coalesce(l.hidden, false) as "is hidden",
  sqrt(u.shown ** 2 + (coalesce(l.down, 0) ** 2 + coalesce(l.up, 0) ** 2) / (2 * {NORMAL} ** 2)) as error,
  {", ".join(f"{sum_sql} as {name}" for sum_sql, name in zip(of_sum, ("below", "above", "shares"), strict=True))}
from (
  select {group}, count(*) filter ({IS_ITEM}) as items, max(leaves) as leaves,
    sqrt({ordered("sum", "influence ** 2")}) as shown,
    case when sum("spread ") > 0 then round(greatest(least({freedom}), 1), 9)
      else count(*) filter ({IS_ITEM}) - 1 end as df,
    round(coalesce({of_spread}, {of_weight}), 9) as units
  from {units}
  group by {group}
) as u left join {leaves} as l on {same("u", "l", node.dims)}""",
    )


def leaf_scale(plan: Plan, figure: Aggregate, scored: ScoredStep, missing: Missing, cut: RowSelection) -> Scale | None:
    """Return the scale of an aggregate of a scored step; None if an end is unknown. Cells that go by metric each have
    their own scale."""
    declaration = AGGREGATES.get(figure.function)
    if declaration is None:  # a function of the user
        return None
    shows = not declaration.needs_spread
    if figure.true_of or scored.kind == "compare":
        by_metric: dict[str, Interval] = {}
        overall_ends = SHARE
    elif figure.named == OF_PRODUCTS:
        values = scored_inputs(scored_values_of(plan), figure)
        by_metric, overall_ends = {}, quotient_range(plan, *values) or ANY
    else:
        by_metric, overall_ends = _ranges(plan, scored)
    metrics = by_metric if "metric" in cut.dims and len(by_metric) > 1 else {}
    fixed = dict(cut.fixed).get("metric")
    overall_ends = by_metric.get(fixed, overall_ends) if fixed is not None else overall_ends
    scales = {name: _bounds(declaration, ends, missing) for name, ends in metrics.items()}
    overall = _bounds(declaration, overall_ends, missing)
    if not scales:
        if declaration.likely_low is not None:
            low = f"{declaration.likely_low:g}"
            return Scale(f"case when c.value > {low} then {low} end", f"{declaration.bounds((None, None))[1]:g}", shows)
        return None if overall is None else Scale(repr(overall[0]), repr(overall[1]), shows)
    ends = []
    for place in (0, 1):
        whens = " ".join(
            f"when {quoted(name)} then {scale[place]!r}" for name, scale in sorted(scales.items()) if scale is not None
        )
        ends.append(f"case c.metric::varchar {whens} end" if whens else "NULL")
    return Scale(ends[0], ends[1], shows)


def _bounds(declaration: AggregateFunction, ends: Interval, missing: Missing) -> Interval | None:
    """Return the range of an aggregate of values in a range; None if an end is unknown."""
    values = ends.hull(Interval.point(0.0)) if missing == "zero" else ends
    return Interval.of_ends(*declaration.bounds(values.ends)).finite


def _ranges(plan: Plan, scored: ScoredStep) -> tuple[dict[str, Interval], Interval]:
    """Return the range of a scored step by metric, or by name for a step without metrics, and the range that encloses
    them."""
    ranges = ranges_of(plan)
    scales = {metric.name: metric_range(metric) for metric in plan.metrics}
    by_metric: dict[str, list[Interval]] = {}
    for scenario in scored.scenarios:
        for step in scenario.steps:
            if step not in scored.steps:
                continue
            if isinstance(step, Grade) and step.metrics:
                for name in (scored.name,) if scored.kind == "metric" else step.metrics:
                    by_metric.setdefault(name, []).append(scales.get(name, ANY))
            else:
                by_metric.setdefault(step.name, []).append(ranges.of_step(scenario, step))
    enclosing = {name: enclosing_range(intervals) for name, intervals in by_metric.items()}
    return enclosing, enclosing_range(enclosing.values()) if enclosing else ANY
