"""The SQL of whole figures: aggregates of scores and of cells, slices, and formulas with their errors.

A figure is a set of tables (`FigureTables`), among them its cells and the influences of items on them. `aggregates`
writes those of aggregates of scores, `CellsSql` those of aggregates of cells. A formula has the derivative of its value
by each of its parts, and the influence of an item on the formula is the sum of the item's influences on the parts, each
times that derivative (the delta method). So `a - b` over the same items is a paired comparison, and over different
items the variances add up, without declaring which of the two it is. If a part has no derivative and its error comes
from a bootstrap, so does that of the whole formula.

An aggregate of the cells of a formula may be biased by chance: the mean of (a − b)² over groups is above the same mean
of the expected values of a and b, since chance alone separates them, and so is a mean of absolute values. The error of
a mean falls with the number of cells, and this bias does not. So the figure is also computed in bootstrap draws of the
items, and the mean over the draws less the figure estimates the bias: the interval is extended downwards by twice the
bias (upwards if it is negative). If the bias is greater than the error, there is no interval.

A median has no reliable influences, so it is computed for many bootstrap draws of the items, and formulas of medians
have a value for each draw too. The column `draws` has a list of these values for each cell. The draws are made by the
SQL functions `tripos_statistic` and `tripos_draws` of the warehouse.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field, replace

from tripos_compiler.language.aggregates import AggregateFunction, declared_aggregate
from tripos_compiler.language.scored_values import ScoredStep, ScoredValues, scored_inputs, scored_values_of
from tripos_compiler.library.signature import LARGEST, OUT_OF_BOUNDS
from tripos_compiler.plan import Aggregate, Constant, Figure, Formula, Measure, Measured, Missing, Plan, named
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.measures.aggregates import cells_formula, implementation
from tripos_warehouse.measures.influences import by_unit, combined_leaves, precision
from tripos_warehouse.measures.products import pooled_mean
from tripos_warehouse.measures.query import (
    ELEMENT_PLACE,
    PAIR,
    End,
    FigureTables,
    Parts,
    Query,
    RowSelection,
    columns,
    count_without_overlap,
    ordered,
    over_cells,
    renamed,
    row_source,
    row_source_of_cells,
    same,
)
from tripos_warehouse.measures.rows import LABELS, LeafRows, Sums, corrected_query, no_sums
from tripos_warehouse.query.aggregates import CellsFormula
from tripos_warehouse.sql import name as sql_named, text as quoted
from tripos_warehouse.statistics.intervals import NO_SPREAD_IN_A_CELL, SINGLE_ITEM, SINGLE_ITEM_CELL
from tripos_warehouse.views.benchmark_views import Graders, axis_columns
from tripos_warehouse.views.dimensions import arm_columns

Condition = tuple[str, str]
"""A condition in SQL, and the reason to give if it holds."""
CUT_OFF = "a number in `min` or `max` cuts a part of it off, so its error is unknown"
ROOT_OF_ZERO = "it is the square root of 0, which rises without bound there, so its error is unknown"
BY_ZERO = "it divides by zero"
MOST_EXPONENT = math.log(LARGEST)
"""The greatest number whose `exp` is finite."""
HIDING = ("/", "min", "max", "harmonic_mean", "exp")
"""Operators that may return a finite number although an argument is infinite or NaN."""


@dataclass(frozen=True)
class NumberSql:
    """A number in a formula."""

    value: float
    is_linear = True

    @property
    def text(self) -> str:
        return f"({self.value!r}::double)"

    def slope(self, name: str) -> str:
        return "0"

    def cuts(self) -> list[Condition]:
        return []

    def gaps(self) -> list[Condition]:
        return []


@dataclass(frozen=True)
class PartSql:
    """A part of a formula, by the alias of the table of its cells."""

    name: str
    is_linear = True

    @property
    def text(self) -> str:
        return f"{self.name}.value"

    def slope(self, name: str) -> str:
        return "1" if name == self.name else "0"

    def cuts(self) -> list[Condition]:
        return []

    def gaps(self) -> list[Condition]:
        return []


@dataclass(frozen=True)
class FormulaSql:
    """An operator with its arguments, and the SQL of its value and derivatives."""

    operator: str
    values: tuple[Arithmetic, ...]

    @property
    def is_linear(self) -> bool:
        """True if it is an affine function of its parts: its derivatives are constant."""
        values_are_linear = all(value.is_linear for value in self.values)
        are_constant = [not _has_part(value) for value in self.values]
        if self.operator in ("negate", "+", "-"):
            return values_are_linear
        return values_are_linear and (
            any(are_constant) if self.operator == "*" else are_constant[-1] and self.operator == "/"
        )

    @property
    def text(self) -> str:
        texts = [value.text for value in self.values]
        if self.operator in HIDING:
            texts = [_bounded(value) for value in self.values]
        match self.operator:
            case "negate":
                return f"(-{texts[0]})"
            case "abs":
                return f"abs({texts[0]})"
            case "min" | "max":  # which ignore NULL in SQL
                end = "least" if self.operator == "min" else "greatest"
                known = " and ".join(f"{text} is not null" for text in texts)
                return f"(case when {known} then {end}({', '.join(texts)}) end)"
            case "harmonic_mean":
                inverse = " + ".join(f"1 / nullif({text}, 0)" for text in texts)
                zero = f"least({', '.join(texts)}) = 0 and {' and '.join(f'{text} is not null' for text in texts)}"
                return f"(case when {zero} then 0 else {len(texts)} / ({inverse}) end)"
            case "sqrt":
                return f"(case when {texts[0]} >= 0 then sqrt({texts[0]}) end)"
            case "log":
                return f"(case when {texts[0]} > 0 then ln({texts[0]}) end)"
            case "exp":
                return f"(case when {texts[0]} <= {MOST_EXPONENT!r} then exp({texts[0]}) end)"
            case "atanh":
                return f"(case when abs({texts[0]}) < 1 then atanh({texts[0]}) end)"
            case "tanh":
                return f"tanh({texts[0]})"
            case "/":
                return f"({texts[0]} / nullif({texts[1]}, 0))"
        return f"({texts[0]} {self.operator} {texts[1]})"

    def slope(self, name: str) -> str:
        """Return the SQL of the derivative by a part; for `min` and `max`, that of the argument that has the value."""
        texts = [_bounded(value) if self.operator in HIDING else value.text for value in self.values]
        slopes = [value.slope(name) for value in self.values]
        if all(slope == "0" for slope in slopes):
            return "0"
        match self.operator:
            case "negate":
                return f"(-{slopes[0]})"
            case "abs":
                return f"(case when {texts[0]} < 0 then -{slopes[0]} else {slopes[0]} end)"
            case "sqrt":
                return f"({slopes[0]} / (2 * nullif({self.text}, 0)))"
            case "log":
                return f"({slopes[0]} / nullif({texts[0]}, 0))"
            case "exp":
                return _times(slopes[0], self.text)
            case "atanh":
                return f"({slopes[0]} / nullif(1 - {texts[0]} ** 2, 0))"
            case "tanh":
                return _times(slopes[0], f"(1 - {self.text} ** 2)")
            case "min" | "max":
                cases = " ".join(
                    f"when {text} = {self.text} then {slope}" for text, slope in zip(texts, slopes, strict=True)
                )
                return f"(case {cases} end)"
            case "harmonic_mean":  # by a part H² / n · 1 / part²; if H is 0 all derivatives are 0
                terms = [
                    f"{_times(slope, f'(({self.text} / {text}) ** 2 / {len(texts)})')}"
                    for text, slope in zip(texts, slopes, strict=True)
                    if slope != "0"
                ]
                return f"(case when {self.text} = 0 then 0 else {' + '.join(terms)} end)"
            case "+":
                return _added(slopes[0], slopes[1])
            case "-":
                return _added(slopes[0], "0" if slopes[1] == "0" else f"(-{slopes[1]})")
            case "*":
                return _added(_times(slopes[0], texts[1]), _times(slopes[1], texts[0]))
        down = f"nullif({texts[1]}, 0)"
        first = "0" if slopes[0] == "0" else f"{slopes[0]} / {down}"
        second = "0" if slopes[1] == "0" else f"(-({texts[0]} / {down}) * {slopes[1]} / {down})"
        return _added(first, second)

    def cuts(self) -> list[Condition]:
        """Return the conditions under which the derivative says nothing about the error: a number in `min` or `max`
        clamps the other arguments, or a square root is 0."""
        conditions = [cut for value in self.values for cut in value.cuts()]
        numbers = [value.text for value in self.values if isinstance(value, NumberSql)]
        if self.operator in ("min", "max") and numbers:
            others = [value.text for value in self.values if not isinstance(value, NumberSql)]
            conditions += [(f"{text} = {self.text}", CUT_OFF) for text in numbers] if others else []
        return [*conditions, (f"{self.text} = 0", ROOT_OF_ZERO)] if self.operator == "sqrt" else conditions

    def gaps(self) -> list[Condition]:
        """Return the conditions under which the formula has no value although all its parts have one, the innermost
        first."""
        conditions = [gap for value in self.values for gap in value.gaps()]
        last = self.values[-1].text
        texts = [value.text for value in self.values]
        match self.operator:
            case "/" if not isinstance(self.values[1], NumberSql):
                conditions.append((f"{last} = 0", BY_ZERO))
            case "harmonic_mean":
                conditions.append((f"least({', '.join(texts)}) < 0", BY_ZERO))
            case "sqrt":
                conditions.append((f"{last} < 0", "it is the square root of a number below 0"))
            case "log":
                conditions.append((f"{last} <= 0", "it is the logarithm of a number that is not above 0"))
            case "atanh":
                text = "it is the inverse hyperbolic tangent of a number that is not between -1 and 1"
                conditions.append((f"abs({last}) >= 1", text))
            case "exp":
                conditions.append((f"{last} > {MOST_EXPONENT!r}", OUT_OF_BOUNDS))
        return conditions


Arithmetic = NumberSql | PartSql | FormulaSql


def _bounded(value: Arithmetic) -> str:
    """Return the SQL of a value that is NULL if it is infinite or NaN, which an outer formula might hide.

    A list of one value names it once. DuckDB duplicates the first argument of `nullif`, so three nested calls write it
    eight times, and planning a formula with four such parts takes ten seconds.
    """
    if not isinstance(value, FormulaSql) or value.operator in ("min", "max", "abs", "negate", "harmonic_mean", "sqrt"):
        return value.text
    return f"list_filter([{value.text}], lambda v: isfinite(v::double))[1]"


def _has_part(value: Arithmetic) -> bool:
    return isinstance(value, PartSql) or (isinstance(value, FormulaSql) and any(map(_has_part, value.values)))


def reason_sql(conditions: Sequence[Condition]) -> str:
    """Return the SQL of the reason of the first condition that holds; NULL if none does."""
    reasons = dict.fromkeys(reason for _, reason in conditions)
    cases = (
        f"when {' or '.join(condition for condition, text in conditions if text == reason)} then '{reason}'"
        for reason in reasons
    )
    return f"case {' '.join(cases)} end"


def _added(one: str, other: str) -> str:
    if one == "0" or other == "0":
        return other if one == "0" else one
    return f"({one} + {other})"


def _times(slope: str, text: str) -> str:
    return "0" if slope == "0" else text if slope == "1" else f"({slope} * {text})"


DRAW_ROWS = "unnest(draws) as value, generate_subscripts(draws, 1) as draw"
"""The columns that turn a list of draws into one row per draw."""


def collected_draws(parts: Parts, dims: tuple[str, ...], rows: str) -> str:
    """Return the name of a table of draws, from rows of `draw` and `value`."""
    values = parts.add("values", rows)
    return parts.add(
        "drawn",
        f"""select {columns(dims)}, list(value order by draw) as draws
from {values}
group by {columns(dims)}""",
    )


def draws_of(parts: Parts, node: FigureTables) -> str:
    """Return the name of the table of draws of a figure: its own, or draws made from the influences of its items."""
    if node.drawn is not None:
        return node.drawn
    cell = columns(node.dims, "c")
    lists = ", ".join(f"list(u.{name} order by u.cluster_id)" for name in ("cluster_id", "influence"))
    return parts.add(
        "drawn",
        f"""select {cell}, tripos_draws(any_value(c.value), {lists}) as draws
from {node.cells} as c left join {by_unit(parts, node)} as u on {same("c", "u", node.dims)}
group by {cell}""",
    )


def bounded(parts: Parts, node: FigureTables, drawn: str, error: str) -> Query:
    """Return the query of a figure whose interval comes from its draws. `error` is the table of its `precision`.

    If influences show no variance, there are no degrees of freedom from them: then they are the number of items less 1,
    as for items of equal weight.
    """
    df = "coalesce(e.df, greatest(e.items - 1, 0), 0)"
    bounds = parts.add(
        "found",
        f"""select c.*, {df} as "df of items", coalesce(e.items, 0) as items,
  case when c.known and c.value is not null then tripos_interval(d.draws, {df}) end as found
from {node.cells} as c left join {error} as e on {same("c", "e", node.dims)}
  left join {drawn} as d on {same("c", "d", node.dims)}""",
    )
    answer = f"""select {columns(node.dims)}, value, found.error as standard_error, "df of items" as df, items, n,
  total, reason, known as "is known", found.low as low, found.high as high
from {bounds}
order by all
"""
    return parts.query(answer)


MAX_BIAS = 1
"""The largest accepted bias, in standard errors. The interval is extended by twice the bias, since draws show only half
of it if absolute values are 0 in expectation."""
MAX_BOOTSTRAP_BIAS = 0.25
"""The same for figures whose interval comes from draws, which contain the bias a second time."""
EMPTY = "one of its cells has no value, so its error is unknown"
BY_CHANCE = "chance alone moves it by more than its error shows, so its error is unknown"
MIN_COMPLETE_DRAWS = 0.95
"""The least share of draws in which all cells must have a value."""


@dataclass(frozen=True)
class CellsSql:
    """The tables of an aggregate of the cells of another figure."""

    parts: Parts
    figure: Aggregate
    inner: FigureTables
    cut: RowSelection
    missing: Missing

    @property
    def formula(self) -> CellsFormula:
        """The aggregate in SQL."""
        return cells_formula(self.figure.function)

    @property
    def declaration(self) -> AggregateFunction:
        """The facts about the aggregate."""
        return declared_aggregate(self.figure.function)

    def write(self) -> FigureTables:
        """Return the tables of the aggregate."""
        node = self._of_cells()
        if self.inner.row_sources and node.is_nonlinear and not self.declaration.counts:
            node = self._check_bias(node)
        return node if self.formula.end is None else self._check_end(node, *self.formula.end)

    def _of_cells(self) -> FigureTables:
        inner, cut = self.inner, self.cut
        group = columns(cut.dims)
        weighed = self.parts.add(
            "cells",
            f"""select *, {self.formula.weight} as weight
from (
  select *, row_number() over (partition by {group} order by value nulls last, {columns(inner.dims)}) as place,
    {", ".join(['count(value) over cell as "number of cells"', *self.formula.columns])}
  from {inner.cells}
  window cell as (partition by {group})
)""",
        )
        value, undefined = self.formula.value, ""
        counts = "weight <> 0" if inner.drawn is None else "value is not null"
        one_item, one_in_a_cell = quoted(SINGLE_ITEM), quoted(SINGLE_ITEM_CELL)
        reason = f"""any_value(reason) filter (value is null),
    any_value(reason) filter (reason <> {one_item}),
    case when count(*) = 1 then any_value(reason)
      when bool_or(reason = {one_item}) filter ({counts}) then {one_in_a_cell} end"""
        means_of_scores = self.declaration.is_mean_of_scores and not inner.row_sources and inner.drawn is None
        empty = f" when count(value) < count(*) then {quoted(EMPTY)}" if means_of_scores else ""
        all_present = " and count(value) = count(*)" if empty else ""
        if self.missing == "fail" or cut.labels != "none":
            value = f"case when count(value) = count(*) then {value} end"
        if inner.row_sources:
            undefined = ', bool_or("is undefined") as "is undefined"'
            value = f'case when not bool_or("is undefined") then {value} end'
            reason = f'any_value(reason) filter ("is undefined"), {reason}'
        counted = [f"sum({column})" for column in ("n", "total")]
        if self.declaration.single_value:
            counted = [f"coalesce({column} filter (weight <> 0), {column})" for column in counted]
        cells = self.parts.add(
            "cells",
            f"""select {group}, {value} as value, {counted[0]}::bigint as n, {counted[1]}::bigint as total,
  coalesce({reason}, case when count(value) = 0 then 'no cell has a value'
    when max(abs(weight)) = 0 then '{self.formula.unmoved}'{empty} end) as reason,
  coalesce(bool_and(known) filter ({counts}), false){all_present} as known{undefined}
from {weighed}
group by {group}""",
        )
        counted_here = "c.weight <> 0" if self.declaration.single_value else "c.value is not null"
        source = f"from {inner.leaves} as l join {weighed} as c on {same('l', 'c', inner.dims)}\n  where {counted_here}"
        leaves = combined_leaves(self.parts, cut.dims, [("c.weight", source)])
        drawn = None
        if inner.drawn is not None:
            drawn = self._draws(f"select {columns(inner.dims)}, {DRAW_ROWS} from {inner.drawn}")
        is_nonlinear = inner.is_nonlinear or not self.formula.linear
        node = FigureTables(cells, leaves, cut.dims, inner.influences, drawn=drawn, is_nonlinear=is_nonlinear)
        return self._of_formula(node, weighed) if inner.row_sources else node

    def _of_formula(self, node: FigureTables, weighed: str) -> FigureTables:
        """Return the tables `node` of an aggregate of the cells of a formula, with numbers of scores that count each
        score once. `weighed` is the name of the table of the cells with their weights."""
        of_one = self.figure if self.declaration.single_value else None
        sources = over_cells(self.parts, self.inner, weighed, node.dims, of_one)
        named = [(f"part{place}", tables) for place, tables in enumerate(sources, 1)]
        joins = "".join(
            f"\nleft join {tables.cells} as {name} on {same('base', name, tables.dims)}" for name, tables in named
        )
        rows = [(name, tables.rows) for name, tables in named]
        text = ", ".join(f"({count_without_overlap(rows, column)})::bigint as {column}" for column in ("n", "total"))
        cells = self.parts.add("cells", f"select base.* replace ({text})\nfrom {node.cells} as base{joins}")
        return replace(node, cells=cells, row_sources=sources)

    # --- draws ---

    def _draws(self, cell_draws: str, condition: str | None = None) -> str:
        """Return the name of the table of draws of the aggregate. `cell_draws` is a query with a row per cell and draw.
        A draw has no value unless the SQL `condition` holds for its cells."""
        group, value = columns(self.cut.dims), self.formula.value
        value = value if condition is None else f"case when {condition} then {value} end"
        rows = f"select {group}, draw, {value} as value\nfrom ({cell_draws})\ngroup by {group}, draw"
        return collected_draws(self.parts, self.cut.dims, rows)

    def _check_bias(self, node: FigureTables) -> FigureTables:
        """Return an aggregate whose error is unknown if its estimated bias is too large, and with the bias as the
        column `excess`. If the error comes from influences, the value that follows from them in the same draws is
        subtracted, so that only the nonlinear part is left."""
        inner, dims, most = self.inner, node.dims, MAX_BIAS if node.drawn is None else MAX_BOOTSTRAP_BIAS
        group = columns(dims)
        if node.drawn is None:
            inner_draws = inner.trial or draws_of(self.parts, inner)
            cell_draws = f"""select {columns(inner.dims, "d")}, {DRAW_ROWS}
  from {inner_draws} as d join {inner.cells} as c on {same("d", "c", inner.dims)} and c.value is not null"""
            trial = self._draws(cell_draws, "count(value) filter (isfinite(value)) = count(*)")
            linear = draws_of(self.parts, node)
            pairs = f"""select {group}, value, value - linear as bias
  from (
    select {columns(dims, "t")}, unnest(t.draws) as value, unnest(l.draws) as linear
    from {trial} as t join {linear} as l on {same("t", "l", dims)}
  )"""
            error = f"select {group}, error from {precision(self.parts, node)}"
        else:
            trial = node.drawn
            pairs = f"""select {columns(dims, "t")}, t.value as value, t.value - c.value as bias
  from (select {group}, {DRAW_ROWS} from {trial}) as t join {node.cells} as c on {same("t", "c", dims)}
  where isfinite(t.value)"""
            error = f"""select {group}, {ordered("stddev_samp", "value")} as error
  from (select {group}, {DRAW_ROWS} from {trial}) where isfinite(value) group by {group}"""
        # A row is a cell: the estimated bias in draws, and whether it is small enough.
        bias = self.parts.add(
            "bias",
            f"""select {columns(dims, "m")}, m.bias, m.complete >= {MIN_COMPLETE_DRAWS}
    and abs(m.bias) <= {most} * e.error as acceptable
from (
  select {group}, {ordered("avg", "bias")} as bias, count(value) / count(*) as complete
  from (
  {pairs}
  ) group by {group}
) as m join (
  {error}
) as e on {same("m", "e", dims)}""",
        )
        acceptable = "coalesce(b.acceptable, false)"
        text = f"'{BY_CHANCE}'"
        cells = self.parts.add(
            "cells",
            f"""select c.* replace (c.known and {acceptable} as known,
  case when c.known and not {acceptable} then {text} else c.reason end as reason), coalesce(b.bias, 0) as excess
from {node.cells} as c left join {bias} as b on {same("c", "b", dims)}""",
        )
        return replace(node, cells=cells, trial=trial, is_nonlinear=True, has_bias_bound=node.drawn is None)

    # --- the least and the greatest ---

    def _check_end(self, node: FigureTables, function: str, which: str) -> FigureTables:
        """Return the least or greatest of cells, whose error is unknown if the value of another cell is near: within
        twice the sum of both errors, which is at least twice the error of their difference."""
        inner = self.inner
        errors = self.parts.add(
            "errors",
            f"""select {columns(inner.dims, "c")}, c.value,
  case when c.known then coalesce(e.error, 0) else 'infinity'::double end as error
from {inner.cells} as c left join {precision(self.parts, inner)} as e on {same("c", "e", inner.dims)}
where c.value is not null""",
        )
        group = columns(node.dims)
        end = f"arg_{function}(error, value) over cell"
        near = self.parts.add(
            "near",
            f"""select {group}, count(*) > 1 as near
from (
  select *, abs(value - {function}(value) over cell) <= 2 * (error + {end}) as close
  from {errors}
  window cell as (partition by {group})
) where close
group by {group}""",
        )
        text = f"'which cell is the {which} may be chance, so its error is unknown'"
        cells = self.parts.add(
            "cells",
            f"""select c.* replace (coalesce(c.known and not n.near, false) as known,
  coalesce(c.reason, case when n.near then {text} end) as reason)
from {node.cells} as c left join {near} as n on {same("c", "n", node.dims)}""",
        )
        return replace(node, cells=cells)


Unread = tuple[tuple[str, End], ...]
"""As in `RowSelection`: the scores whose unreadable replies count as wrong."""


def sql_of(
    plan: Plan,
    measure: Measure,
    by_people: bool = False,
    sums: Sums = no_sums,
    unread: Unread = (),
    *,
    values_only: bool = False,
) -> str:
    """Return the SQL of a measure of a plan: a query over the views of its benchmark.

    Its columns are `model`, one per name in `by`, `value`, `standard_error`, `df` (degrees of freedom), `items`, `n`,
    `total`, `reason` (why there is no value or no error), `is known` (whether there is an error), and either `low` and
    `high`, the ends of an interval from draws, or those of `precision` and of kinds of figures (`figure_query`). If
    scores by people are kept separate, the figure is one of models, or with `by_people` one of people; a measure that
    goes by evaluators has a value for each of them anyway.

    For a measure that people correct, the query returns three figures and the influences of items on them
    (`corrected_query`), and `evaluate` combines them. A mean of scores is taken from the stored table that `sums`
    names, if there is one. With `unread`, scores whose reply could not be read count as their worst value. If
    `values_only`, functions of the user compute no error.
    """
    return measure_query(plan, measure, by_people, sums, unread, values_only=values_only).text


def measure_query(
    plan: Plan,
    measure: Measure,
    by_people: bool = False,
    sums: Sums = no_sums,
    unread: Unread = (),
    *,
    values_only: bool = False,
) -> Query:
    """Return the query of `sql_of` with its parts; without parts if an axis has the name of a word in the query
    (`renamed`)."""
    axes = [*axis_columns(plan), *arm_columns(plan)]
    if measure.corrected and not by_people:
        cuts = [RowSelection(measure.by, labels=label) for label in LABELS]
    else:
        cuts = [RowSelection(measure.by, graders=graders_of(measure, by_people), unread=unread)]
    for of_sums in dict.fromkeys((sums, no_sums)):
        writer = _FigureWriter(plan, scored_values_of(plan), Parts(), of_sums, values_only)
        nodes = [writer.node(measure.figure, cut, measure.missing) for cut in cuts]
        query = figure_query(writer.parts, *nodes) if len(nodes) == 1 else corrected_query(writer.parts, *nodes)
        text = renamed(query.text, plan.benchmark.name, axes, measure.by)
        if text == query.text:
            return query
    return Query({}, text)


def pairs_sql(plan: Plan, figure: Aggregate, scored: Sequence[ScoredStep]) -> str:
    """Return the SQL of the pairs of values behind an aggregate of two columns.

    A row is a model, an expected value (`gold` as text, `gold value` as a number) and an actual value (`key`, `value`).
    `n` is the number of such pairs, `items` the number of the model's items with this expected value.
    """
    parts = Parts()
    pairs = LeafRows(plan, parts, figure, tuple(scored), RowSelection(), "skip").pairs()
    return parts.query(
        f"""select model, gold, key, value, "gold value", count(*) as n, any_value(items) as items
from {pairs} left join (
  select model, gold, count(distinct item_id) as items from {pairs} where gold is not null group by all
) using (model, gold)
group by model, gold, key, value, "gold value"
order by all
"""
    ).text


def graders_of(measure: Measure, by_people: bool = False) -> Graders:
    """Return whose scores a measure uses."""
    return "each" if {"evaluator", PAIR} & set(measure.by) else "people" if by_people else "counted"


@dataclass(frozen=True)
class _Term:
    """A part of a formula: the alias of the table of its cells, and its tables."""

    name: str
    node: FigureTables


@dataclass
class _FigureWriter:
    """Writes the common table expressions of a figure, each distinct subfigure once."""

    plan: Plan
    values: ScoredValues
    parts: Parts
    sums: Sums = no_sums
    values_only: bool = False
    made: dict[tuple[object, ...], FigureTables] = field(default_factory=dict)

    def node(self, figure: Figure, cut: RowSelection, missing: Missing, inside: bool = False) -> FigureTables:
        """Return the tables of a figure. `inside` is true if the cells are the input of an aggregate."""
        terms: dict[str, _Term] = {}
        value = self._read(figure, cut, missing, terms)
        if isinstance(value, PartSql):
            node = terms[value.name].node
            if set(node.dims) == set(cut.dims):
                return node
        return self._joined(value, list(terms.values()), cut, inside)

    # --- the parts of a formula ---

    def _read(self, figure: Figure, cut: RowSelection, missing: Missing, terms: dict[str, _Term]) -> Arithmetic:
        """Return the arithmetic of a figure, over parts that are added to `terms`."""
        match figure:
            case Constant(value=value):
                return NumberSql(value)
            case Aggregate():
                return _part(self._aggregate(figure, cut, missing), terms)
            case Measured(measure=name, slice=fixed):
                measure = named(self.plan.measures, name)
                inner = replace(
                    cut,
                    dims=tuple(dim for dim in cut.dims if dim not in fixed),
                    fixed=tuple(dict([*cut.fixed, *fixed.items()]).items()),
                )
                return self._read(measure.figure, inner, measure.missing, terms)
            case Formula(operator="overall", values=(of,), over=over):
                selection = replace(
                    cut,
                    dims=tuple(dim for dim in cut.dims if dim not in over),
                    fixed=tuple(pair for pair in cut.fixed if pair[0] not in over),
                )
                return self._read(of, selection, missing, terms)
            case Formula(operator=operator, values=values):
                if (mean := pooled_mean(self.plan, figure, missing)) is not None:
                    return self._read(mean, cut, missing, terms)
                return FormulaSql(operator, tuple(self._read(operand, cut, missing, terms) for operand in values))

    def _aggregate(self, figure: Aggregate, cut: RowSelection, missing: Missing) -> FigureTables:
        identity = figure.model_copy(update={"by": ()}).model_dump_json()  # the dimensions are those of the selection
        key = (identity, cut, missing)
        if key not in self.made:
            scored = scored_inputs(self.values, figure)
            if figure.of is None:
                rows = LeafRows(self.plan, self.parts, figure, scored, cut, missing, self.sums, self.values_only)
                node = implementation(self.plan, figure.function).write(rows)
            else:
                fixed = {name for name, _ in cut.fixed}
                inner_dims = dict.fromkeys([*cut.dims, *(dim for dim in figure.of.by if dim not in fixed)])
                inner = self.node(figure.of, replace(cut, dims=tuple(inner_dims)), missing, inside=True)
                node = CellsSql(self.parts, figure, inner, cut, missing).write()
                if not scored and not node.row_sources:  # a slice
                    of_one = figure if declared_aggregate(figure.function).single_value else None
                    node = replace(node, rows=row_source_of_cells(inner, cut.dims, of_one))
            self.made[key] = replace(node, rows=row_source(figure, scored, cut)) if scored else node
        return self.made[key]

    # --- draws ---

    def _drawn(
        self, value: Arithmetic, terms: list[_Term], cut: RowSelection, base: str, trial: bool = False
    ) -> str | None:
        """Return the name of the table of draws of a formula if one of its parts has draws, or for a `trial`, which
        estimates its bias, if none of them has; otherwise None. All parts use the same draws of items."""
        if any(term.node.drawn is not None for term in terms) == trial:
            return None
        tables = [(trial and term.node.trial) or draws_of(self.parts, term.node) for term in terms]
        joins = "\n".join(
            f"join {table} as {term.name} on {same('base', term.name, term.node.dims)}"
            for term, table in zip(terms, tables, strict=True)
        )
        # The lists of a cell are unnested in parallel: a join by the number of the draw would join all cells.
        lists = ", ".join(f'unnest({term.name}.draws) as "draw of {term.name}"' for term in terms)
        structs = ", ".join(f"{{'value': \"draw of {term.name}\"}} as {term.name}" for term in terms)
        # A row is a cell and a draw: the value of the formula for the draws of its parts.
        return collected_draws(
            self.parts,
            cut.dims,
            f"""select {columns(cut.dims)}, draw, {value.text} as value
from (
  select *, {structs}
  from (
    select {columns(cut.dims, "base")}, {lists}, generate_subscripts({terms[0].name}.draws, 1) as draw
    from {base} as base
    {joins}
  )
)""",
        )

    # --- arithmetic ---

    def _joined(self, value: Arithmetic, terms: list[_Term], cut: RowSelection, inside: bool) -> FigureTables:
        """Return the tables of a formula over its parts, in every cell that one of them has."""
        base = self._cells_of(terms, cut)
        joins = "\n".join(
            f"left join {term.node.cells} as {term.name} on {same('base', term.name, term.node.dims)}" for term in terms
        )
        present = " and ".join(f"{term.name}.value is not null" for term in terms)
        reasons = ", ".join(
            f"case when {term.name}.value is null then coalesce({term.name}.reason, 'a part of it has no value') end"
            for term in terms
        )
        error_reasons = ", ".join(_error_reason(term, len(terms)) for term in terms)
        sources = [source for term in terms for source in _sources_of(term)]
        counted = [(name, tables.rows) for name, tables in sources]
        joins += "".join(
            f"\nleft join {tables.cells} as {name} on {same('base', name, tables.dims)}"
            for name, tables in sources
            if all(name != term.name for term in terms)
        )
        excess = [
            f'coalesce("{term.name} weight" * {term.name}.excess, 0)' for term in terms if term.node.has_bias_bound
        ]
        undefined = [f"({present} and {value.text} is null)"]
        undefined += [f'coalesce({term.name}."is undefined", false)' for term in terms if term.node.row_sources]
        weights = ",\n  ".join(
            f'case when {present} then {value.slope(term.name)} end as "{term.name} weight"' for term in terms
        )
        cuts = value.cuts() if cut.labels == "none" and not any(term.node.drawn for term in terms) else []
        cut_off = " or ".join(condition for condition, _ in cuts)
        error_reasons = f"{error_reasons}, {reason_sql(cuts)}" if cuts else error_reasons
        gap = reason_sql([*value.gaps(), ("true", OUT_OF_BOUNDS)])
        active = [f'("{term.name} weight" = 0 or coalesce({term.name}.known, false))' for term in terms]
        limited = len(terms) == 1 and value.is_linear and terms[0].node.limited
        limits = f", {_affine_limits(value, terms[0].name)} as limits" if limited else ""
        # A row is a cell: the value of the formula, the weights of its parts, and why it has no value or error.
        cells = self.parts.add(
            "cells",
            f"""select {columns(cut.dims, "base")}, case when {present} then {value.text} end as value,
  {weights},
  coalesce({reasons}, case when {present} and {value.text} is null then {gap} end, {error_reasons}) as reason,
  {count_without_overlap(counted, "n")} as n, {count_without_overlap(counted, "total")} as total,
  coalesce({" and ".join([*active, *([f"not ({cut_off})"] if cut_off else [])])}, false) as known{
                f', {" or ".join(undefined)} as "is undefined"' if inside else ""
            }{f", {' + '.join(excess)} as excess" if excess else ""}{limits}
from {base} as base
{joins}""",
        )
        through = [
            (
                f'c."{term.name} weight"',
                f"from {cells} as c join {term.node.leaves} as l on {same('c', 'l', term.node.dims)}",
            )
            for term in terms
        ]
        leaves = combined_leaves(self.parts, cut.dims, through)
        is_nonlinear = not value.is_linear or any(term.node.is_nonlinear for term in terms)
        return FigureTables(
            cells,
            leaves,
            cut.dims,
            tuple(dict.fromkeys(name for term in terms for name in term.node.influences)),
            drawn=self._drawn(value, terms, cut, base),
            row_sources=tuple(tables for _, tables in sources),
            is_nonlinear=is_nonlinear,
            has_bias_bound=bool(excess),
            limited=limited,
            trial=self._drawn(value, terms, cut, base, trial=True) if inside and is_nonlinear else None,
        )

    def _cells_of(self, terms: list[_Term], cut: RowSelection) -> str:
        """Return the name of the table of the cells of a formula: those that a part with all dimensions has. If there
        is no such part, the cells are the combinations of those of all parts, by the dimensions that they share."""
        full = [term for term in terms if set(term.node.dims) == set(cut.dims)]
        if full:
            cells = "\nunion\n".join(f"select {columns(cut.dims)} from {term.node.cells}" for term in full)
            return self.parts.add("base", cells)
        lines: list[str] = []
        known: set[str] = set()
        for term in terms:
            new = [dim for dim in term.node.dims if dim not in known]
            if lines and not new:
                continue
            shared = [dim for dim in term.node.dims if dim in known]
            picked = f"(select distinct {columns(term.node.dims)} from {term.node.cells})"
            lines.append(picked if not lines else f"join {picked} using ({columns(tuple(shared))})")
            known.update(new)
        return self.parts.add("base", f"select {columns(cut.dims)}\nfrom " + "\n".join(lines))


def figure_query(parts: Parts, node: FigureTables) -> Query:
    """Return the query of a figure: one row per cell, with the error that follows from the influences."""
    error = precision(parts, node)
    if node.drawn is not None:
        return bounded(parts, node, node.drawn, error)
    text = ', c.classes as "its classes"' if node.classes else ""
    text += ', c.limits as "its limits"' if node.limited else ""
    text += ', c.excess as "its excess"' if node.has_bias_bound else ""
    text += ', c."items that count", c."all items"' if node.has_counted_items else ""
    hidden = f'case when c.known and e."is hidden" and e.shown > 0 then {quoted(NO_SPREAD_IN_A_CELL)} end'
    known = 'c.known and not coalesce(e."is hidden" and e.shown > 0, false)'
    shown = f"case when {known} and c.value is not null then e.error end"
    answer = f"""select {columns(node.dims, "c")}, c.value, {shown} as standard_error,
  e.shown as "error shown", coalesce(e.df, 0) as df, coalesce(e.items, 0) as items, c.n, c.total,
  coalesce(c.reason, {hidden}) as reason, {known} as "is known", e.units as "effective items", e.down as "reach down",
  e.up as "reach up", e.below as "room below", e.above as "room above", e."is hidden", e.shares as "its shares"{text}
from {node.cells} as c left join {error} as e on {same("c", "e", node.dims)}
order by all
"""
    return parts.query(answer)


def _sources_of(term: _Term) -> list[tuple[str, FigureTables]]:
    """Return the tables of every aggregate of scores that a part reads, each with its alias."""
    sources = term.node.row_sources
    return [(f"{term.name}_{place}", tables) for place, tables in enumerate(sources, 1)] or [(term.name, term.node)]


def _error_reason(term: _Term, terms: int) -> str:
    """Return the SQL of why a part has no error, as the reason for a formula of a number of parts."""
    if terms == 1:
        return f"{term.name}.reason"
    one_item, part = quoted(SINGLE_ITEM), quoted(SINGLE_ITEM_CELL)
    return f"case when {term.name}.reason = {one_item} then {part} else {term.name}.reason end"


def _affine_limits(value: Arithmetic, part: str) -> str:
    """Return the SQL of the limits of an affine formula of a part, from the limits of the part."""
    ends = (f"{value.text} + {value.slope(part)} * ({part}.limits[{place}] - {part}.value)" for place in (1, 2))
    return f"case when {part}.limits is not null then list_sort([{', '.join(ends)}]) end"


def _part(node: FigureTables, terms: dict[str, _Term]) -> PartSql:
    """Return the part with some tables, which is added to `terms` unless it is there already."""
    part = next((term for term in terms.values() if term.node == node), None)
    if part is None:
        part = _Term(f"part{len(terms) + 1}", node)
        terms[part.name] = part
    return PartSql(part.name)


OF_SCORE = ("scenario", "metric", "scorer", "evaluator")
"""The columns that identify a score of a model, besides the item, the arms and the place of an element."""


def keys_of_scores(plan: Plan, figure: Aggregate) -> tuple[str, ...]:
    """Return the columns that distinguish the scores of a mean, besides the model, the item and the sample."""
    return (*OF_SCORE, *arm_columns(plan), *((ELEMENT_PLACE,) if figure.elements else ()))


def scores_sql(plan: Plan, measure: Measure, figure: Aggregate, by_people: bool = False) -> str:
    """Return the SQL of the scores of a measure that is the mean `figure`, or the mean of its cells.

    The columns are the model, the dimensions of the measure and of its cells, `item_id`, `cluster_id`, the columns
    `keys_of_scores`, `value` and `its weight`.
    """
    dims = tuple(dict.fromkeys([*measure.by, *figure.by]))
    scored = scored_inputs(scored_values_of(plan), figure)
    cut = RowSelection(dims, graders=graders_of(measure, by_people))
    parts = Parts()
    keys = [name for name in keys_of_scores(plan, figure) if name not in dims]
    rows = LeafRows(plan, parts, figure, scored, cut, measure.missing).single(*keys, weighted=True)
    text = ", ".join([columns(dims), "item_id", "cluster_id", *map(sql_named, keys), "value", '"its weight"'])
    query = parts.query(f"select {text}\nfrom {rows}\nwhere value is not null").text
    axes = [*axis_columns(plan), *arm_columns(plan)]
    return renamed(query, plan.benchmark.name, axes, [*dims, *keys])
