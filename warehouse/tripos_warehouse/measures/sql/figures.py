"""SQL of whole figures: aggregates of cells, slices, and arithmetic that carries the error through.

A figure is put together from two tables, its cells and the pulls of the items on them (`aggregates`). What is made of
several figures has, for each of them, the derivative of its value by theirs, and an item pulls at it with the sum of
its pulls on the parts, each times that derivative (the delta method). So `a - b` over the same items is compared item
by item, and over different ones the variances add up, without a word about which of them it is. Where a part is drawn
again, since it has no derivative, the whole is (`bootstrap`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

from tripos_compiler.language.figures import ScoredStep, ScoredValues, scored_by, scored_values_of
from tripos_compiler.language.library import PAST
from tripos_compiler.plan import Aggregate, Constant, Figure, Formula, Measure, Measured, Missing, Plan, named
from tripos_compiler.source import dataclass
from tripos_warehouse.measures.sql.aggregates import LeafSql
from tripos_warehouse.measures.sql.bootstrap import EACH_DRAW, bounded, collected_draws, draws_of
from tripos_warehouse.measures.sql.comparisons import CompareSql
from tripos_warehouse.measures.sql.counts import OF_ONE_CELL, counted_once, seen
from tripos_warehouse.measures.sql.derivatives import (
    Arithmetic,
    FormulaSql,
    NumberSql,
    PartSql,
    reason_sql,
    with_freedom,
)
from tripos_warehouse.measures.sql.labels import LABELS, corrected_sql
from tripos_warehouse.measures.sql.means import Sums, find_sql
from tripos_warehouse.measures.sql.parts import Cut, Parts, columns, renamed, same
from tripos_warehouse.measures.sql.raters import PAIR, FigureTables
from tripos_warehouse.views import Graders, arm_columns, axis_columns


def sql_of(plan: Plan, measure: Measure, by_people: bool = False, sums: Sums = lambda dims: None) -> str:
    """Return the SQL of a measure of a plan: a query over the views of its benchmark.

    It yields `model`, a column a name of `by`, `value`, `standard_error`, `df` (degrees of freedom), `items`, `n`,
    `total`, `is share` (of independent items), and it may be `reason` (why there is no value or no error) and `low` and
    `high` (the ends of an interval from draws). Means of scores, which are most figures, have a query that is shorter
    and faster. Where scores by people are apart, the figure is one of models, and with `by_people` one of people; a
    measure that goes by evaluators has a value for each of them anyway.

    Of a measure that people correct it yields three figures and the pulls of items on them instead (`corrected_sql`),
    from which `evaluate` takes one. A mean of scores is taken from the tables that `sums` names, if there are any.
    """
    axes = [*axis_columns(plan), *arm_columns(plan)]
    if measure.corrected and not by_people:
        return renamed(_corrected_sql_of(plan, measure), plan.benchmark.name, axes, measure.by)
    graders = graders_of(measure, by_people)
    summed = _sql_of(plan, measure, graders, sums)
    if renamed(summed, plan.benchmark.name, axes, measure.by) == summed:
        return summed
    return renamed(_sql_of(plan, measure, graders), plan.benchmark.name, axes, measure.by)


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


def _sql_of(plan: Plan, measure: Measure, graders: Graders, sums: Sums = lambda dims: None) -> str:
    values = scored_values_of(plan)
    found: str | None = None
    match measure.figure:
        case Aggregate() as figure:
            found = find_sql(plan, figure, scored_by(values, figure)[0], measure.missing, graders, sums)
        case Measured(measure=name, slice=fixed) if not fixed:
            same = named(plan.measures, name)
            found = _sql_of(plan, same, graders, sums) if same.by == measure.by else None
    if found is not None:
        return found
    writer = _FigureWriter(plan, values, Parts())
    return writer.whole(writer.node(measure.figure, Cut(measure.by, graders=graders), measure.missing))


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
    made: dict[tuple[object, ...], FigureTables] = field(default_factory=dict)

    def node(self, figure: Figure, cut: Cut, missing: Missing) -> FigureTables:
        terms: dict[str, _Term] = {}
        value = self._read(figure, cut, missing, terms)
        if isinstance(value, PartSql):
            node = terms[value.name].node
            if set(node.dims) == set(cut.dims):
                return node
        return self._joined(value, list(terms.values()), cut)

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
                return FormulaSql(operator, tuple(self._read(each, cut, missing, terms) for each in values))

    def _aggregate(self, figure: Aggregate, cut: Cut, missing: Missing) -> FigureTables:
        taken = figure.model_copy(update={"by": ()}).model_dump_json()  # in a formula it goes by what the formula does
        key = (taken, cut, missing)
        if key not in self.made:
            scored = scored_by(self.values, figure)
            if figure.of is None:
                of = CompareSql if scored[0].kind == "compare" else LeafSql
                node = of(self.plan, self.parts, figure, scored, cut, missing).write()
            else:
                fixed = {name for name, _ in cut.fixed}
                within = dict.fromkeys([*cut.dims, *(dim for dim in figure.of.by if dim not in fixed)])
                inner = self._aggregate(figure.of, replace(cut, dims=tuple(within)), missing)
                node = self._over_cells(figure, inner, cut, missing)
            self.made[key] = replace(node, rows=seen(figure, scored, cut))
        return self.made[key]

    # --- aggregates of cells ---

    def _over_cells(self, figure: Aggregate, inner: FigureTables, cut: Cut, missing: Missing) -> FigureTables:
        node = self._of_cells(figure, inner, cut, missing)
        return self._told_apart(figure.function, inner, node) if figure.function in ("min", "max") else node

    def _told_apart(self, function: str, inner: FigureTables, node: FigureTables) -> FigureTables:
        """Return the least or greatest of cells, which has an error where no other cell comes near it: near is within
        twice the sum of both errors, which is no less than twice the error of their difference."""
        errors = self.parts.add(
            "errors",
            f"""select {columns(inner.dims, "c")}, any_value(c.value) as value,
  coalesce(sqrt(sum(p.pull ** 2)), 0) as error
from {inner.cells} as c left join {inner.pulls} as p on {same("c", "p", inner.dims)}
where c.value is not null
group by {columns(inner.dims, "c")}""",
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

    def _of_cells(self, figure: Aggregate, inner: FigureTables, cut: Cut, missing: Missing) -> FigureTables:
        group = columns(cut.dims)
        weighed = self.parts.add(
            "cells",
            f"""select *, {_WEIGHTS[figure.function]} as weight
from (
  select *, row_number() over (partition by {group} order by value nulls last, {columns(inner.dims)}) as place,
    count(value) over cell as "number of cells", avg(value) over cell as "mean of cells",
    stddev_samp(value) over cell as "spread of cells"
  from {inner.cells}
  window cell as (partition by {group})
)""",
        )
        value = _OF_CELLS[figure.function]
        counts = "weight <> 0" if inner.drawn is None else "value is not null"
        if missing == "fail" or cut.labels != "none":
            value = f"case when count(value) = count(*) then {value} end"
        counted = [f"sum({each})" for each in ("n", "total")]
        if figure.function in OF_ONE_CELL:
            counted = [f"coalesce({each} filter (weight <> 0), {each})" for each in counted]
        cells = self.parts.add(
            "cells",
            f"""select {group}, {value} as value, {counted[0]}::bigint as n, {counted[1]}::bigint as total,
  coalesce(any_value(reason), case when count(value) = 0 then 'no cell has a value'
    when max(abs(weight)) = 0 then '{_STILL.get(figure.function, "")}' end) as reason, false as "is share",
  sum(df) filter (weight <> 0)::bigint as df, coalesce(bool_and(known) filter ({counts}), false) as known,
  min(bearing) filter (weight <> 0) * count(*) filter (weight <> 0) as bearing
from {weighed}
group by {group}""",
        )
        outer = columns(cut.dims, "c")
        pulls = self.parts.add(
            "pulls",
            f"""select {outer}, p.item_id, sum(p.pull * c.weight) as pull
from {inner.pulls} as p join {weighed} as c on {same("p", "c", inner.dims)}
where {"c.weight <> 0" if figure.function in OF_ONE_CELL else "c.value is not null"}
group by {outer}, p.item_id""",
        )
        drawn = None
        if inner.drawn is not None:
            each = f"select {columns(inner.dims)}, {EACH_DRAW} from {inner.drawn}"
            drawn = collected_draws(
                self.parts,
                cut.dims,
                f"select {group}, draw, {_OF_CELLS[figure.function]} as value\nfrom ({each})\ngroup by {group}, draw",
            )
        return FigureTables(cells, pulls, cut.dims, drawn)

    def _drawn(self, value: Arithmetic, terms: list[_Term], cut: Cut, base: str) -> str | None:
        """Return the draws of a formula, where one of its parts has such. All parts are drawn with the same items."""
        if all(term.node.drawn is None for term in terms):
            return None
        first = terms[0].name
        joins = "\n".join(
            f"join (select {columns(term.node.dims)}, {EACH_DRAW} from {draws_of(self.parts, term.node)})"
            f" as {term.name} on {same('base', term.name, term.node.dims)}"
            + (f" and {term.name}.draw = {first}.draw" if term.name != first else "")
            for term in terms
        )
        return collected_draws(
            self.parts,
            cut.dims,
            f"select {columns(cut.dims, 'base')}, {first}.draw, {value.text} as value\nfrom {base} as base\n{joins}",
        )

    # --- arithmetic ---

    def _joined(self, value: Arithmetic, terms: list[_Term], cut: Cut) -> FigureTables:
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
        own = ", ".join(f"{term.name}.reason" for term in terms)
        counted = [(term.name, term.node.rows) for term in terms]
        weights = ",\n  ".join(
            f'case when {present} then {value.slope(term.name)} end as "{term.name} weight"' for term in terms
        )
        cuts = value.cuts() if cut.labels == "none" and not any(term.node.drawn for term in terms) else []
        cut_off = " or ".join(condition for condition, _ in cuts)
        own = f"{own}, {reason_sql(cuts)}" if cuts else own
        gap = reason_sql([*value.gaps(), ("true", PAST)])
        active = [f'("{term.name} weight" = 0 or coalesce({term.name}.known, false))' for term in terms]
        cells = self.parts.add(
            "cells",
            f"""select {columns(cut.dims, "base")}, case when {present} then {value.text} end as value,
  {weights},
  coalesce({reasons}, case when {present} and {value.text} is null then {gap} end, {own}) as reason,
  false as "is share", {counted_once(counted, "n")} as n, {counted_once(counted, "total")} as total,
  {" + ".join(f"coalesce({term.name}.df, 0)" for term in terms)} as df,
  {", ".join(f'{term.name}.df as "{term.name} df"' for term in terms)},
  coalesce({" and ".join([*active, *([f"not ({cut_off})"] if cut_off else [])])}, false) as known,
  least({", ".join(f"{term.name}.bearing" for term in terms)}) as bearing
from {base} as base
{joins}""",
        )
        cell = columns(cut.dims, "c")
        pulled = self.parts.add(
            "pulled",
            "\nunion all\n".join(
                f"""select {cell}, p.item_id, p.pull * c."{term.name} weight" as pull, {place} as part,
  c."{term.name} df" as df
from {cells} as c join {term.node.pulls} as p on {same("c", "p", term.node.dims)}"""
                for place, term in enumerate(terms)
            ),
        )
        pulls = self.parts.add(
            "pulls",
            f"""select {columns(cut.dims)}, item_id, sum(pull) as pull
from {pulled}
group by {columns(cut.dims)}, item_id""",
        )
        if len(terms) > 1 and all(term.node.drawn is None for term in terms):
            cells = with_freedom(self.parts, cells, pulled, pulls, cut.dims)
        return FigureTables(cells, pulls, cut.dims, self._drawn(value, terms, cut, base))

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

    def whole(self, node: FigureTables) -> str:
        """Return the query: a row a cell, with the error that the pulls come to."""
        items = self.parts.add(
            "items",
            f"""select {columns(node.dims)}, sqrt(sum(pull * pull)) as error, count(*) as items
from {node.pulls}
group by {columns(node.dims)}""",
        )
        df = "greatest(least(c.df, i.items - 1), 0)"
        if node.drawn is not None:
            return bounded(self.parts, node, node.drawn, items, df)
        told = ', c.classes as "its classes"' if node.classes else ""
        return f"""{self.parts.text}
select {columns(node.dims, "c")}, c.value, case when c.known and c.value is not null then i.error end as standard_error,
  {df} as df, coalesce(i.items, 0) as items, c.n, c.total, c.reason, c."is share",
  c.known as "is known", least(c.bearing, i.items) as "is bearing"{told}
from {node.cells} as c left join {items} as i on {same("c", "i", node.dims)}
order by all
"""


_OF_CELLS = {
    "mean": "avg(value)",
    "median": "median(value)",
    "stdev": "stddev_samp(value)",
    "sum": "coalesce(sum(value), 0)",
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


def _part(node: FigureTables, terms: dict[str, _Term]) -> PartSql:
    """Return the part that a node is, the same wherever it occurs in the formula."""
    found = next((term for term in terms.values() if term.node == node), None)
    if found is None:
        found = _Term(f"part{len(terms) + 1}", node)
        terms[found.name] = found
    return PartSql(found.name)
