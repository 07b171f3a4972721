"""SQL of whole figures: aggregates of cells, slices, and arithmetic that carries the error through.

A figure is put together from two tables, its cells and the pulls of the items on them (`aggregates`, and `cells` for
those of other cells). What is made of several figures has, for each of them, the derivative of its value by theirs, and
an item pulls at it with the sum of its pulls on the parts, each times that derivative (the delta method). So `a - b`
over the same items is compared item by item, and over different ones the variances add up, without a word about which
of them it is. Where a part is drawn again, since it has no derivative, the whole is (`bootstrap`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

from tripos_compiler.language.figures import ScoredStep, ScoredValues, scored_by, scored_values_of
from tripos_compiler.language.library import PAST
from tripos_compiler.plan import Aggregate, Constant, Figure, Formula, Measure, Measured, Missing, Plan, named
from tripos_compiler.source import dataclass
from tripos_warehouse.measures.products import pooled_mean
from tripos_warehouse.measures.sql.aggregates import LeafSql
from tripos_warehouse.measures.sql.bootstrap import bounded, collected_draws, draws_of
from tripos_warehouse.measures.sql.cells import CellsSql
from tripos_warehouse.measures.sql.comparisons import CompareSql
from tripos_warehouse.measures.sql.derivatives import (
    Arithmetic,
    FormulaSql,
    NumberSql,
    PartSql,
    reason_sql,
)
from tripos_warehouse.measures.sql.influences import combined_leaves, precision
from tripos_warehouse.measures.sql.labels import LABELS, corrected_sql
from tripos_warehouse.measures.sql.means import Sums, no_sums
from tripos_warehouse.measures.sql.parts import Cut, Parts, columns, renamed, same
from tripos_warehouse.measures.sql.tables import OF_ONE_CELL, PAIR, FigureTables, counted_once, seen, seen_over
from tripos_warehouse.measures.sql.unread import End
from tripos_warehouse.sql import text as quoted
from tripos_warehouse.statistics.intervals import ALIKE_IN_A_CELL, ONE_IN_A_CELL, ONE_ITEM
from tripos_warehouse.views import Graders, arm_columns, axis_columns

Unread = tuple[tuple[str, End], ...]
"""As in a `Cut`: the scores whose unreadable replies count as wrong."""


def sql_of(
    plan: Plan,
    measure: Measure,
    by_people: bool = False,
    sums: Sums = no_sums,
    unread: Unread = (),
) -> str:
    """Return the SQL of a measure of a plan: a query over the views of its benchmark.

    It yields `model`, a column a name of `by`, `value`, `standard_error`, `df` (degrees of freedom), `items`, `n`,
    `total`, `is share` (of independent items), and it may be `reason` (why there is no value or no error) and `low` and
    `high` (the ends of an interval from draws). Means of scores, which are most figures, have a query that is shorter
    and faster. Where scores by people are apart, the figure is one of models, and with `by_people` one of people; a
    measure that goes by evaluators has a value for each of them anyway.

    Of a measure that people correct it yields three figures and the pulls of items on them instead (`corrected_sql`),
    from which `evaluate` takes one. A mean of scores is taken from the tables that `sums` names, if there are any. With
    `unread` scores whose reply could not be read count as the worst that they may be.
    """
    axes = [*axis_columns(plan), *arm_columns(plan)]
    if measure.corrected and not by_people:
        return renamed(_corrected_sql_of(plan, measure), plan.benchmark.name, axes, measure.by)
    graders = graders_of(measure, by_people)
    summed = _sql_of(plan, measure, graders, sums, unread)
    if renamed(summed, plan.benchmark.name, axes, measure.by) == summed:
        return summed
    return renamed(_sql_of(plan, measure, graders, unread=unread), plan.benchmark.name, axes, measure.by)


def _corrected_sql_of(plan: Plan, measure: Measure) -> str:
    writer = _FigureWriter(plan, scored_values_of(plan), Parts())
    cuts = (Cut(measure.by, labels=each) for each in LABELS)
    return corrected_sql(writer.parts, *(writer.node(measure.figure, cut, measure.missing) for cut in cuts))


def pairs_sql(plan: Plan, figure: Aggregate, scored: Sequence[ScoredStep]) -> str:
    """Return the SQL of the pairs that an aggregate of two columns is taken of, `n` for each model, `gold` and what was
    said for it, which is `key`, as texts and as numbers; `items` are those of a model that have this `gold`."""
    parts = Parts()
    pairs = LeafSql(plan, parts, figure, tuple(scored), Cut(), "skip").pairs()
    return f"""{parts.text}
select model, gold, key, value, "gold value", count(*) as n, any_value(items) as items
from {pairs} left join (
  select model, gold, count(distinct item_id) as items from {pairs} where gold is not null group by all
) using (model, gold)
group by model, gold, key, value, "gold value"
order by all
"""


def graders_of(measure: Measure, by_people: bool = False) -> Graders:
    """Return whose scores a measure is of."""
    return "each" if {"evaluator", PAIR} & set(measure.by) else "people" if by_people else "counted"


def _sql_of(plan: Plan, measure: Measure, graders: Graders, sums: Sums = no_sums, unread: Unread = ()) -> str:
    writer = _FigureWriter(plan, scored_values_of(plan), Parts(), sums)
    node = writer.node(measure.figure, Cut(measure.by, graders=graders, unread=unread), measure.missing)
    return figure_query(writer.parts, node)


@dataclass(frozen=True)
class _Term:
    """A part of a formula: the name of its column beside the others, and its tables."""

    name: str
    node: FigureTables


@dataclass
class _FigureWriter:
    plan: Plan
    values: ScoredValues
    parts: Parts
    sums: Sums = no_sums
    made: dict[tuple[object, ...], FigureTables] = field(default_factory=dict)

    def node(self, figure: Figure, cut: Cut, missing: Missing, inside: bool = False) -> FigureTables:
        """Return the tables of a figure. `inside`: an aggregate is taken of its cells."""
        terms: dict[str, _Term] = {}
        value = self._read(figure, cut, missing, terms)
        if isinstance(value, PartSql):
            node = terms[value.name].node
            if set(node.dims) == set(cut.dims):
                return node
        return self._joined(value, list(terms.values()), cut, inside)

    # --- the parts of a formula ---

    def _read(self, figure: Figure, cut: Cut, missing: Missing, terms: dict[str, _Term]) -> Arithmetic:
        """Return the arithmetic of a figure, over parts that are added to `terms`."""
        match figure:
            case Constant(value=value):
                return NumberSql(value)
            case Aggregate():
                return _part(self._aggregate(figure, cut, missing), terms)
            case Measured(measure=name, slice=fixed):
                known = named(self.plan.measures, name)
                inner = replace(
                    cut,
                    dims=tuple(dim for dim in cut.dims if dim not in fixed),
                    fixed=tuple(dict([*cut.fixed, *fixed.items()]).items()),
                )
                return self._read(known.figure, inner, known.missing, terms)
            case Formula(operator="overall", values=(of,), over=over):
                whole = replace(
                    cut,
                    dims=tuple(dim for dim in cut.dims if dim not in over),
                    fixed=tuple(pair for pair in cut.fixed if pair[0] not in over),
                )
                return self._read(of, whole, missing, terms)
            case Formula(operator=operator, values=values):
                if (mean := pooled_mean(self.plan, figure, missing)) is not None:
                    return self._read(mean, cut, missing, terms)
                return FormulaSql(operator, tuple(self._read(each, cut, missing, terms) for each in values))

    def _aggregate(self, figure: Aggregate, cut: Cut, missing: Missing) -> FigureTables:
        taken = figure.model_copy(update={"by": ()}).model_dump_json()  # in a formula it goes by what the formula does
        key = (taken, cut, missing)
        if key not in self.made:
            scored = scored_by(self.values, figure)
            if figure.of is None:
                of = CompareSql if scored[0].kind == "compare" else LeafSql
                node = of(self.plan, self.parts, figure, scored, cut, missing, self.sums).write()
            else:
                fixed = {name for name, _ in cut.fixed}
                within = dict.fromkeys([*cut.dims, *(dim for dim in figure.of.by if dim not in fixed)])
                inner = self.node(figure.of, replace(cut, dims=tuple(within)), missing, inside=True)
                node = CellsSql(self.parts, figure, inner, cut, missing).write()
                if not scored and not node.made_of:  # of a slice
                    of_one = figure if figure.function in OF_ONE_CELL else None
                    node = replace(node, rows=seen_over(inner, cut.dims, of_one))
            self.made[key] = replace(node, rows=seen(figure, scored, cut)) if scored else node
        return self.made[key]

    # --- draws ---

    def _drawn(self, value: Arithmetic, terms: list[_Term], cut: Cut, base: str, trial: bool = False) -> str | None:
        """Return the draws of a formula, where one of its parts has such, or for a trial. All parts are drawn with the
        same items."""
        if any(term.node.drawn is not None for term in terms) == trial:
            return None
        tables = [(trial and term.node.trial) or draws_of(self.parts, term.node) for term in terms]
        joins = "\n".join(
            f"join {table} as {term.name} on {same('base', term.name, term.node.dims)}"
            for term, table in zip(terms, tables, strict=True)
        )
        # The lists of a cell are taken apart side by side: a join by the number of the draw would be one of all cells.
        lists = ", ".join(f'unnest({term.name}.draws) as "draw of {term.name}"' for term in terms)
        given = ", ".join(f"{{'value': \"draw of {term.name}\"}} as {term.name}" for term in terms)
        return collected_draws(
            self.parts,
            cut.dims,
            f"""select {columns(cut.dims)}, draw, {value.text} as value
from (
  select *, {given}
  from (
    select {columns(cut.dims, "base")}, {lists}, generate_subscripts({terms[0].name}.draws, 1) as draw
    from {base} as base
    {joins}
  )
)""",
        )

    # --- arithmetic ---

    def _joined(self, value: Arithmetic, terms: list[_Term], cut: Cut, inside: bool) -> FigureTables:
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
        own = ", ".join(_own_reason(term, len(terms)) for term in terms)
        looked_at = [each for term in terms for each in _looked_at(term)]
        counted = [(name, each.rows) for name, each in looked_at]
        joins += "".join(
            f"\nleft join {each.cells} as {name} on {same('base', name, each.dims)}"
            for name, each in looked_at
            if all(name != term.name for term in terms)
        )
        excess = [f'coalesce("{term.name} weight" * {term.name}.excess, 0)' for term in terms if term.node.exceeds]
        undefined = [f"({present} and {value.text} is null)"]
        undefined += [f'coalesce({term.name}."is undefined", false)' for term in terms if term.node.made_of]
        weights = ",\n  ".join(
            f'case when {present} then {value.slope(term.name)} end as "{term.name} weight"' for term in terms
        )
        cuts = value.cuts() if cut.labels == "none" and not any(term.node.drawn for term in terms) else []
        cut_off = " or ".join(condition for condition, _ in cuts)
        own = f"{own}, {reason_sql(cuts)}" if cuts else own
        gap = reason_sql([*value.gaps(), ("true", PAST)])
        active = [f'("{term.name} weight" = 0 or coalesce({term.name}.known, false))' for term in terms]
        limited = len(terms) == 1 and value.is_straight and terms[0].node.limited
        limits = f", {_moved_limits(value, terms[0].name)} as limits" if limited else ""
        cells = self.parts.add(
            "cells",
            f"""select {columns(cut.dims, "base")}, case when {present} then {value.text} end as value,
  {weights},
  coalesce({reasons}, case when {present} and {value.text} is null then {gap} end, {own}) as reason,
  {counted_once(counted, "n")} as n, {counted_once(counted, "total")} as total,
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
        bends = not value.is_straight or any(term.node.bends for term in terms)
        return FigureTables(
            cells,
            leaves,
            cut.dims,
            tuple(dict.fromkeys(name for term in terms for name in term.node.influences)),
            drawn=self._drawn(value, terms, cut, base),
            made_of=tuple(each for _, each in looked_at),
            is_moved=len(terms) == 1 and value.is_straight and (terms[0].node.is_moved or not terms[0].node.made_of),
            bends=bends,
            exceeds=bool(excess),
            limited=limited,
            trial=self._drawn(value, terms, cut, base, trial=True) if inside and bends else None,
        )

    def _cells_of(self, terms: list[_Term], cut: Cut) -> str:
        """Return every cell that a formula has a part for; a part that does not go by a dimension counts in all its
        values."""
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


def figure_query(parts: Parts, node: FigureTables) -> str:
    """Return the query: a row a cell, with the error that the influences come to."""
    error = precision(parts, node)
    if node.drawn is not None:
        return bounded(parts, node, node.drawn, error)
    told = ', c.classes as "its classes"' if node.classes else ""
    told += ', c.limits as "its limits"' if node.limited else ""
    told += ', c.excess as "its excess"' if node.exceeds else ""
    told += ', c."items that count", c."all items"' if node.tried else ""
    hidden = f'case when c.known and e."is hidden" and e.shown > 0 then {quoted(ALIKE_IN_A_CELL)} end'
    known = 'c.known and not coalesce(e."is hidden" and e.shown > 0, false)'
    return f"""{parts.text}
select {columns(node.dims, "c")}, c.value, case when {known} and c.value is not null then e.error end as standard_error,
  e.shown, coalesce(e.df, 0) as df, coalesce(e.items, 0) as items, c.n, c.total,
  coalesce(c.reason, {hidden}) as reason, {known} as "is known", e.units as "effective items", e.down, e.up,
  e.below, e.above, e."is hidden", e.shares as "its shares"{told}
from {node.cells} as c left join {error} as e on {same("c", "e", node.dims)}
order by all
"""


def _looked_at(term: _Term) -> list[tuple[str, FigureTables]]:
    """Return the tables of all that a part looks at, each under the name that it has beside the part."""
    made_of = term.node.made_of
    return [(f"{term.name}_{place}", each) for place, each in enumerate(made_of, 1)] or [(term.name, term.node)]


def _own_reason(term: _Term, terms: int) -> str:
    """Return why a part has no error, in the words of the whole."""
    if terms == 1:
        return f"{term.name}.reason"
    one_item, part = quoted(ONE_ITEM), quoted(ONE_IN_A_CELL)
    return f"case when {term.name}.reason = {one_item} then {part} else {term.name}.reason end"


def _moved_limits(value: Arithmetic, part: str) -> str:
    """Return the SQL of the limits of a part as a straight formula of it moves and stretches them."""
    ends = (f"{value.text} + {value.slope(part)} * ({part}.limits[{place}] - {part}.value)" for place in (1, 2))
    return f"case when {part}.limits is not null then list_sort([{', '.join(ends)}]) end"


def _part(node: FigureTables, terms: dict[str, _Term]) -> PartSql:
    """Return the part that a node is, the same wherever it occurs in the formula."""
    found = next((term for term in terms.values() if term.node == node), None)
    if found is None:
        found = _Term(f"part{len(terms) + 1}", node)
        terms[found.name] = found
    return PartSql(found.name)
