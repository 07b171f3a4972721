"""The tables of a figure, of ratings by pairs of raters, and of the replies of all compared models taken together; and
how many values a formula rests on, where its parts share some: what several parts count counts once.

Two parts may look at the same scores, or one at some of those of the other: `a` and `a[hint: none]` do, and in the cell
of `none` both look at the same. Which part is contained in which follows from what its rows must be like.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tripos_compiler.language.figures import ScoredStep, judged_steps
from tripos_compiler.plan import Aggregate
from tripos_compiler.source import dataclass
from tripos_warehouse.measures.sql.parts import Cut, Parts, columns, same
from tripos_warehouse.sql import name as named, text as quoted
from tripos_warehouse.store import HUMAN

PAIR = "pair"
"""The dimension whose values are every two evaluators."""
REPLY_TO_ITEM = '"of item" || chr(31) || subject'
"""What is rated, behind the item that it is a reply to; the warehouse parts them there."""


IS_ITEM = "not starts_with(cluster_id, chr(31))"
"""Of what pulls at a figure: whether it is an item, and no study behind a rate (`list_statistics.STUDY`)."""
OF_ONE_CELL = ("min", "max", "median")
"""Aggregates of cells that are the value of a single one, or of the two in the middle, and rest on that alone."""

Conditions = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class CountedRows:
    """The rows that an aggregate looks at: `required` are the columns that choose them, each with its value in SQL,
    `given` what holds of them beside. A dimension that it goes by has the value of the cell, `base`."""

    required: Conditions = ()
    given: Conditions = ()


UNSEEN = CountedRows()


@dataclass(frozen=True)
class FigureTables:
    """The tables of a figure, and the dimensions that its cells go by."""

    cells: str
    leaves: str
    """The table of its leaf cells, each with its derivative (`influences`)."""
    dims: tuple[str, ...]
    influences: tuple[str, ...] = ()
    """The tables of the influences of units on leaf cells, its own and others'."""
    is_leaf: bool = False
    """Whether each of its cells is a single leaf cell (`influences`)."""
    drawn: str | None = None
    """The table of `draws`: the value of every cell in each of many draws of the items. Only where the pulls alone give
    no interval, as of a median and what is made of it."""
    classes: bool = False
    """Whether its cells have `classes`: the shares of classes, where some have few items, and how many."""
    limited: bool = False
    """Whether its cells have `limits`: the ends of an interval that is not the one of their error."""
    tried: bool = False
    """Whether its cells have `items that count`, and `all items`: those of a chance of several tries."""
    rows: CountedRows = UNSEEN
    """What it looks at, where it is an aggregate of scores or of the cells of such."""
    made_of: tuple[FigureTables, ...] = ()
    """Of a formula, and of the cells of one, the tables of all that it looks at."""
    is_moved: bool = False
    """Whether it is a formula of one part that numbers move and stretch, or the cells of such."""
    bends: bool = False
    """Whether it is a formula that is no sum of its parts, or is made of such."""
    exceeds: bool = False
    """Whether its cells have an `excess`: how far chance alone moves the value up."""
    trial: str | None = None
    """Of what bends, and stands inside of an aggregate of cells: its draws, which no interval is taken from."""


def without_pair(dims: Sequence[str]) -> tuple[str, ...]:
    """Return the dimensions that rows have of their own; who makes a pair follows from them."""
    return tuple(dim for dim in dims if dim != PAIR)


def by_pair(parts: Parts, rows: str) -> str:
    """Return ratings under every pair that their rater is in."""
    raters = f"(select distinct rater from {rows} where rater is not null)"
    pairs = parts.add(
        "pairs",
        f"""select one.rater as one, other.rater as other, one.rater || ' & ' || other.rater as {named(PAIR)}
from {raters} as one join {raters} as other on one.rater < other.rater""",
    )
    return parts.add(
        "rows",
        f"""select r.*, {named(PAIR)}
from {rows} as r join {pairs} as p on r.rater in (p.one, p.other)""",
    )


def models_as_one(parts: Parts, rows: str) -> str:
    """Return the same rows with nothing said of whose reply it is, so that cells hold those of all models."""
    return parts.add("rows", f"select * replace ('' as model)\nfrom {rows}")


def for_every_model(parts: Parts, node: FigureTables, rows: str) -> FigureTables:
    """Return a figure of all models together, as that of each of them: what else is made of it goes by model."""
    models = parts.add("models", f"select distinct model\nfrom {rows}")
    cells = f"select c.* replace (m.model as model)\nfrom {node.cells} as c cross join {models} as m"
    leaves = f"select l.* replace (m.model as model)\nfrom {node.leaves} as l cross join {models} as m"
    return replace(node, cells=parts.add("cells", cells), leaves=parts.add("leaves", leaves))


def seen(figure: Aggregate, scored: Sequence[ScoredStep], cut: Cut) -> CountedRows:
    """Return the rows of an aggregate in a cell."""
    of = scored[0]
    required = {"": quoted(_TABLES.get(of.kind, "scores"))}
    if of.within is not None:
        required["scenario"] = quoted(of.within)
    column = _COLUMNS.get(of.kind, "metric")
    required[column] = quoted(" ".join(each.name for each in scored))
    if figure.across is not None:
        required["its role"] = quoted(figure.across)
    if figure.of is not None and figure.function in OF_ONE_CELL:
        required["its cell"] = quoted(figure.function)
    if figure.function in _OF_BOTH_ORDERS:
        required["its orders"] = quoted("both")
    if not cut.of_each:
        required["its graders"] = quoted(cut.graders)
    required |= {name: quoted(value) for name, value in cut.fixed}
    required |= {name: f"base.{named(name)}" for name in cut.dims}
    return CountedRows(tuple(required.items()), (*_given(of), *_given_graders(cut)))


def _given(of: ScoredStep) -> Conditions:
    scorers = {step.scorer for step in judged_steps(of)} if of.kind in ("score", "metric") else set()
    return (("scorer", quoted(scorers.pop())),) if len(scorers) == 1 else ()


def _given_graders(cut: Cut) -> Conditions:
    """Return that a model, where one is named, is among those that count."""
    named_one = dict(cut.fixed).get("evaluator")
    return () if named_one is None or named_one.startswith(HUMAN) else (("its graders", quoted("counted")),)


def counted_once(parts: Sequence[tuple[str, CountedRows]], column: str) -> str:
    """Return the sum of a column over parts, given by their names, without those whose rows another part counts."""
    terms = []
    for place, (name, rows) in enumerate(parts):
        within: list[str] = []
        for other, (_, wider) in enumerate(parts):
            contained = _contained(rows, wider)
            if other == place or contained is None:
                continue
            back = _contained(wider, rows) if other > place else None  # of equal parts the first counts
            if back is None:
                within.append(" and ".join(contained) or "true")
            elif not set(back) <= set(contained):
                within.append(" and ".join([*contained, f"not ({' and '.join(back)})"]))
        plain = f"coalesce({name}.{column}, 0)"
        if not within:
            terms.append(plain)
        elif "true" not in within:
            terms.append(f"case when {' or '.join(within)} then 0 else {plain} end")
    return " + ".join(terms)


def _contained(rows: CountedRows, wider: CountedRows) -> tuple[str, ...] | None:
    """Return what must hold of a cell for all of the rows to be among the wider ones; None where they never are."""
    known = dict(rows.given) | dict(rows.required)
    conditions = []
    for name, value in wider.required:
        own = known.get(name)
        if own is None or (own != value and not (own.startswith("base.") or value.startswith("base."))):
            return None
        if own != value:
            conditions.append(" is not distinct from ".join(sorted((own, value))))
    return tuple(conditions)


def over_cells(
    parts: Parts, inner: FigureTables, cells: str, dims: tuple[str, ...], of_one: Aggregate | None
) -> tuple[FigureTables, ...]:
    """Return the tables of all that an aggregate of a formula's cells looks at, each score counting once. `of_one`: it
    rests on one of its cells, which have a weight."""
    found = []
    for each in inner.made_of:
        own = columns(tuple(dict.fromkeys([*dims, *each.dims])))
        chosen = "" if of_one is None else ' where weight <> 0 or "number of cells" = 0'
        counts = parts.add(
            "counts",
            f"""select {columns(dims, "b")}, sum(t.n) as n, sum(t.total) as total
from (select distinct {own} from {cells}{chosen}) as b left join {each.cells} as t on {same("b", "t", each.dims)}
group by {columns(dims, "b")}""",
        )
        found.append(FigureTables(counts, "", dims, rows=seen_over(each, dims, of_one)))
    return tuple(found)


def seen_over(node: FigureTables, dims: tuple[str, ...], of_one: Aggregate | None) -> CountedRows:
    """Return the rows of an aggregate of the cells of a figure; `of_one`: of one of them, whichever it is."""
    inside = {f"base.{named(dim)}" for dim in node.dims if dim not in dims}
    required = [pair for pair in node.rows.required if pair[1] not in inside]
    if of_one is not None:
        its_cell = quoted(of_one.model_dump_json())
        required += [(name, its_cell) for name, value in node.rows.required if value in inside]
    return CountedRows(tuple(required), node.rows.given)


_TABLES = {"compare": "comparisons", "column": "columns"}
_COLUMNS = {"scorer": "scorer", "compare": "step"}
_OF_BOTH_ORDERS = ("position_bias", "flip_rate")
