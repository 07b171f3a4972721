"""SQL of how many values a formula rests on, where its parts share some: what several parts count counts once.

Two parts may look at the same scores, or one at some of those of the other: `a` and `a[hint: none]` do, and in the cell
of `none` both look at the same. Which part is contained in which follows from what its rows must be like.
"""

from __future__ import annotations

from collections.abc import Sequence

from tripos_compiler.language.figures import ScoredStep, judged_steps
from tripos_compiler.plan import Aggregate
from tripos_compiler.source import dataclass
from tripos_warehouse.measures.sql.parts import Cut
from tripos_warehouse.sql import name as named, text as quoted
from tripos_warehouse.store import HUMAN

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


_TABLES = {"compare": "comparisons", "column": "columns"}
_COLUMNS = {"scorer": "scorer", "compare": "step"}
_OF_BOTH_ORDERS = ("position_bias", "flip_rate")
