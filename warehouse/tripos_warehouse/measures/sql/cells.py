"""SQL of aggregates of cells: of those of another aggregate, `mean(mean(right) by q.kind)`, and of a formula's.

What a formula comes to in its cells may be off by chance: the mean of (a - b)² over groups lies above that of what a
and b come to in the long run, since chance alone sets them apart, and so does a mean of absolute values. The error of a
mean falls with the number of cells, and this excess does not. So the figure is also taken in draws of the items, and
how far these lie above it is its excess: the interval reaches further down by twice that (of one below 0, up). Where it
is greater than the error, nothing is known.
"""

from __future__ import annotations

from dataclasses import replace

from tripos_compiler.plan import Aggregate, Missing
from tripos_compiler.source import dataclass
from tripos_warehouse.measures.sql.bootstrap import EACH_DRAW, collected_draws, draws_of
from tripos_warehouse.measures.sql.influences import combined_leaves, precision
from tripos_warehouse.measures.sql.parts import Cut, Parts, columns, ordered, same
from tripos_warehouse.measures.sql.tables import OF_ONE_CELL, FigureTables, counted_once, over_cells
from tripos_warehouse.sql import text as quoted
from tripos_warehouse.statistics.intervals import ONE_IN_A_CELL, ONE_ITEM

MOST_EXCESS = 1
"""How far chance may move a figure, in errors. Twice the excess makes up for the half of it that draws do not show
where absolute values are 0 in the long run."""
MOST_OF_DRAWN = 0.25
"""The same of what has its interval from draws, which are as far off once more."""
EMPTY = "one of its cells has no value, so its error is unknown"
BY_CHANCE = "chance alone moves it by more than its error shows, so its error is unknown"
THERE = 0.95
"""The share of draws in which all cells have a value, at least, as of what is drawn again anyway."""


@dataclass(frozen=True)
class CellsSql:
    """Writes the tables of an aggregate of the cells of another figure."""

    parts: Parts
    figure: Aggregate
    inner: FigureTables
    cut: Cut
    missing: Missing

    def write(self) -> FigureTables:
        """Return the tables."""
        node = self._of_cells()
        if self.inner.made_of and node.bends and self.figure.function != "count":
            node = self._held_against_draws(node)
        return self._told_apart(node) if self.figure.function in ("min", "max") else node

    def _of_cells(self) -> FigureTables:
        figure, inner, cut = self.figure, self.inner, self.cut
        group = columns(cut.dims)
        weighed = self.parts.add(
            "cells",
            f"""select *, {_WEIGHTS[figure.function]} as weight
from (
  select *, row_number() over (partition by {group} order by value nulls last, {columns(inner.dims)}) as place,
    count(value) over cell as "number of cells", {ordered("avg", "value")} over cell as "mean of cells",
    {ordered("stddev_samp", "value")} over cell as "spread of cells"
  from {inner.cells}
  window cell as (partition by {group})
)""",
        )
        value, undefined = _OF_CELLS[figure.function], ""
        counts = "weight <> 0" if inner.drawn is None else "value is not null"
        one_item, one_in_a_cell = quoted(ONE_ITEM), quoted(ONE_IN_A_CELL)
        reason = f"""any_value(reason) filter (value is null),
    any_value(reason) filter (reason <> {one_item}),
    case when count(*) = 1 then any_value(reason)
      when bool_or(reason = {one_item}) filter ({counts}) then {one_in_a_cell} end"""
        means_of_scores = figure.function == "mean" and not inner.made_of and inner.drawn is None
        empty = f" when count(value) < count(*) then {quoted(EMPTY)}" if means_of_scores else ""
        whole = " and count(value) = count(*)" if empty else ""
        if self.missing == "fail" or cut.labels != "none":
            value = f"case when count(value) = count(*) then {value} end"
        if inner.made_of:
            undefined = ', bool_or("is undefined") as "is undefined"'
            value = f'case when not bool_or("is undefined") then {value} end'
            reason = f'any_value(reason) filter ("is undefined"), {reason}'
        counted = [f"sum({each})" for each in ("n", "total")]
        if figure.function in OF_ONE_CELL:
            counted = [f"coalesce({each} filter (weight <> 0), {each})" for each in counted]
        cells = self.parts.add(
            "cells",
            f"""select {group}, {value} as value, {counted[0]}::bigint as n, {counted[1]}::bigint as total,
  coalesce({reason}, case when count(value) = 0 then 'no cell has a value'
    when max(abs(weight)) = 0 then '{_STILL.get(figure.function, "")}'{empty} end) as reason,
  coalesce(bool_and(known) filter ({counts}), false){whole} as known{undefined}
from {weighed}
group by {group}""",
        )
        counted_here = "c.weight <> 0" if figure.function in OF_ONE_CELL else "c.value is not null"
        source = f"from {inner.leaves} as l join {weighed} as c on {same('l', 'c', inner.dims)}\n  where {counted_here}"
        leaves = combined_leaves(self.parts, cut.dims, [("c.weight", source)])
        drawn = None
        if inner.drawn is not None:
            drawn = self._draws(f"select {columns(inner.dims)}, {EACH_DRAW} from {inner.drawn}")
        bends = inner.bends or figure.function not in ("mean", "sum", "count")
        node = FigureTables(
            cells, leaves, cut.dims, inner.influences, drawn=drawn, is_moved=inner.is_moved, bends=bends
        )
        return self._of_formula(node, weighed) if inner.made_of else node

    def _of_formula(self, node: FigureTables, weighed: str) -> FigureTables:
        """Return an aggregate of a formula's cells, with what it looks at counted once."""
        of_one = self.figure if self.figure.function in OF_ONE_CELL else None
        made_of = over_cells(self.parts, self.inner, weighed, node.dims, of_one)
        named = [(f"part{place}", each) for place, each in enumerate(made_of, 1)]
        joins = "".join(
            f"\nleft join {each.cells} as {name} on {same('base', name, each.dims)}" for name, each in named
        )
        rows = [(name, each.rows) for name, each in named]
        told = ", ".join(f"({counted_once(rows, each)})::bigint as {each}" for each in ("n", "total"))
        cells = self.parts.add("cells", f"select base.* replace ({told})\nfrom {node.cells} as base{joins}")
        return replace(node, cells=cells, made_of=made_of)

    # --- draws ---

    def _draws(self, each: str, holds: str | None = None) -> str:
        """Return the table of draws of the aggregate, from rows of draws of its cells."""
        group, value = columns(self.cut.dims), _OF_CELLS[self.figure.function]
        value = value if holds is None else f"case when {holds} then {value} end"
        rows = f"select {group}, draw, {value} as value\nfrom ({each})\ngroup by {group}, draw"
        return collected_draws(self.parts, self.cut.dims, rows)

    def _held_against_draws(self, node: FigureTables) -> FigureTables:
        """Return an aggregate whose error is unknown where chance alone moves it too far. What the influences of the
        items come to in the same draws is taken off, so that only what bends is left."""
        inner, dims, most = self.inner, node.dims, MOST_EXCESS if node.drawn is None else MOST_OF_DRAWN
        group = columns(dims)
        if node.drawn is None:
            of_inner = inner.trial or draws_of(self.parts, inner)
            each = f"""select {columns(inner.dims, "d")}, {EACH_DRAW}
  from {of_inner} as d join {inner.cells} as c on {same("d", "c", inner.dims)} and c.value is not null"""
            trial = self._draws(each, "count(value) filter (isfinite(value)) = count(*)")
            straight = draws_of(self.parts, node)
            pairs = f"""select {group}, value, value - straight as moved
  from (
    select {columns(dims, "t")}, unnest(t.draws) as value, unnest(l.draws) as straight
    from {trial} as t join {straight} as l on {same("t", "l", dims)}
  )"""
            error = f"select {group}, error from {precision(self.parts, node)}"
        else:
            trial = node.drawn
            pairs = f"""select {columns(dims, "t")}, t.value as value, t.value - c.value as moved
  from (select {group}, {EACH_DRAW} from {trial}) as t join {node.cells} as c on {same("t", "c", dims)}
  where isfinite(t.value)"""
            error = f"""select {group}, {ordered("stddev_samp", "value")} as error
  from (select {group}, {EACH_DRAW} from {trial}) where isfinite(value) group by {group}"""
        held = self.parts.add(
            "held",
            f"""select {columns(dims, "m")}, m.moved, m.there >= {THERE} and abs(m.moved) <= {most} * e.error as holds
from (
  select {group}, {ordered("avg", "moved")} as moved, count(value) / count(*) as there
  from (
  {pairs}
  ) group by {group}
) as m join (
  {error}
) as e on {same("m", "e", dims)}""",
        )
        holds = "coalesce(h.holds, false)"
        told = f"'{BY_CHANCE}'"
        cells = self.parts.add(
            "cells",
            f"""select c.* replace (c.known and {holds} as known,
  case when c.known and not {holds} then {told} else c.reason end as reason), coalesce(h.moved, 0) as excess
from {node.cells} as c left join {held} as h on {same("c", "h", dims)}""",
        )
        return replace(node, cells=cells, trial=trial, bends=True, exceeds=node.drawn is None)

    # --- the least and the greatest ---

    def _told_apart(self, node: FigureTables) -> FigureTables:
        """Return the least or greatest of cells, which has an error where no other cell comes near it: near is within
        twice the sum of both errors, which is no less than twice the error of their difference."""
        function, inner = self.figure.function, self.inner
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
        which = "least" if function == "min" else "greatest"
        told = f"'which cell is the {which} may be chance, so its error is unknown'"
        cells = self.parts.add(
            "cells",
            f"""select c.* replace (coalesce(c.known and not n.near, false) as known,
  coalesce(c.reason, case when n.near then {told} end) as reason)
from {node.cells} as c left join {near} as n on {same("c", "n", node.dims)}""",
        )
        return replace(node, cells=cells)


_OF_CELLS = {
    "mean": ordered("avg", "value"),
    "median": "median(value)",
    "stdev": ordered("stddev_samp", "value"),
    "sum": f"coalesce({ordered('sum', 'value')}, 0)",
    "min": "min(value)",
    "max": "max(value)",
    "count": "count(value)::double",
}

_WEIGHTS = {
    "mean": 'case when value is not null then 1 / "number of cells" else 0 end',
    "median": """case when value is null then 0
    when "number of cells" % 2 = 1 then (place = ("number of cells" + 1) // 2)::integer
    else (place in ("number of cells" // 2, "number of cells" // 2 + 1))::integer / 2 end""",
    "stdev": """case when value is null then 0
    else coalesce((value - "mean of cells") / nullif(("number of cells" - 1) * "spread of cells", 0), 0) end""",
    "sum": "(value is not null)::integer",
    "min": "(value is not null and place = 1)::integer",
    "max": '(value is not null and place = "number of cells")::integer',
    "count": "0",
}
"""How each changes with the value of a cell; and why there is no error where it changes with that of none."""
_STILL = {"count": "a number of cells has no error", "stdev": "the cells do not differ: nothing shows the error"}
