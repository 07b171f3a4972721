"""Which rows of a table a secret belongs to, as far as public columns say it.

A region is a set of conditions that all hold of a row: `split == "train"`, `fold != ` that of the row at hand. Two
regions are apart where no row can satisfy the conditions of both. What is not understood of a condition is left out,
so a region is never smaller than it is said to be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Literal

from tripos_compiler.plan import Binary, Expr, Items, Literal_, Ref, Unary
from tripos_compiler.source import dataclass

Value = str | int | float | bool | None
Operator = Literal["==", "!=", "<", "<=", ">", ">=", "in", "not in"]
TURNED: dict[str, Operator] = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
NEGATED: dict[str, Operator] = {
    "==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<", "in": "not in", "not in": "in",
}  # fmt: skip


@dataclass(frozen=True)
class Condition:
    """A condition on a column of a row: it is compared with `values`, or with the column `own` of the row at hand."""

    column: str
    operator: Operator
    values: tuple[Value, ...] = ()
    own: str | None = None


@dataclass(frozen=True)
class Region:
    """The rows that satisfy all of `conditions`. `part` says that it may be any few of them, chosen by something else;
    `own` that it is the row at hand; `other` that they are not the rows at which the secret stands, as where every row
    of a made set holds all answers of a file: what is said of the rows of the set says nothing of these."""

    conditions: frozenset[Condition] = frozenset()
    part: bool = False
    own: bool = False
    other: bool = False

    @property
    def whole(self) -> bool:
        """True if it is all rows of the table."""
        return not (self.conditions or self.part or self.own)

    def where(self, conditions: frozenset[Condition]) -> Region:
        """Return the part of it for which these hold too."""
        return self if self.own or self.other else replace(self, conditions=self.conditions | conditions)

    @property
    def some(self) -> Region:
        """Some of its rows."""
        return self if self.own else replace(self, part=True)

    @property
    def elsewhere(self) -> Region:
        """The same, of rows that are not those at which the secret stands."""
        return self if self.own else replace(self, other=True)


EVERY = Region()
OWN = Region(own=True)

Columns = Callable[[Expr], tuple[str, bool] | None]
"""The column that an expression is, and whether it is one of the row at hand; None where it is none that is public."""


def conditions(expr: Expr, column: Columns) -> frozenset[Condition]:
    """Return what an expression that holds says of public columns.

    >>> where = Binary(operator="==", left=Ref(path=("s", "split")), right=Literal_(value="train"))
    >>> conditions(where, lambda expr: (expr.path[1], False) if expr.op == "ref" else None)
    frozenset({Condition(column='split', operator='==', values=('train',), own=None)})
    """
    return frozenset(_conditions(expr, column, True))


def _conditions(expr: Expr, column: Columns, holds: bool) -> Iterator[Condition]:
    match expr:
        case Unary(operator="not", value=value):
            yield from _conditions(value, column, not holds)
        case Binary(operator="and" | "or" as joint, left=left, right=right):
            if (joint == "and") == holds:
                yield from _conditions(left, column, holds)
                yield from _conditions(right, column, holds)
        case Binary(operator=written, left=left, right=right) if written in NEGATED:
            operator = NEGATED[NEGATED[written] if holds else written]
            yield from _comparison(left, operator, right, column)
            if operator in TURNED:
                yield from _comparison(right, TURNED[operator], left, column)
        case Ref():
            found = column(expr)
            if found is not None and not found[1]:
                yield Condition(found[0], "==", (holds,))


def _comparison(left: Expr, operator: Operator, right: Expr, column: Columns) -> Iterator[Condition]:
    found = column(left)
    if found is None or found[1]:
        return
    other = column(right)
    if other is not None and other[1]:
        yield Condition(found[0], operator, own=other[0])
    match right:
        case Literal_(value=value):
            yield Condition(found[0], operator, (value,))
        case Items(values=values) if operator in ("in", "not in"):
            written = [value.value for value in values if isinstance(value, Literal_)]
            if len(written) == len(values):
                yield Condition(found[0], operator, tuple(written))


def are_disjoint(one: frozenset[Condition], other: frozenset[Condition], at_hand: bool = True) -> bool:
    """Return true if no row satisfies both. `at_hand`: the other conditions are those of the row at hand, whose columns
    are its own.

    >>> train, test = (frozenset({Condition("split", "==", (name,))}) for name in ("train", "test"))
    >>> other = frozenset({Condition("fold", "!=", own="fold")})
    >>> are_disjoint(train, test), are_disjoint(train, train), are_disjoint(other, frozenset())
    (True, False, True)
    """
    both = one | other
    if at_hand and any(each.own == each.column and each.operator in ("!=", "<", ">") for each in both):
        return True
    return any(_impossible([each for each in both if each.column == name]) for name in {each.column for each in both})


def _impossible(of_column: list[Condition]) -> bool:
    """Return true if conditions on one column leave no value for it."""
    written = [each for each in of_column if each.own is None]
    allowed: set[Value] | None = None
    for each in written:
        if each.operator in ("==", "in"):
            allowed = set(each.values) if allowed is None else allowed & set(each.values)
    if allowed is not None:
        return not any(all(_holds(value, each) for each in written) for value in allowed)
    low = [(each.values[0], each.operator == ">") for each in written if each.operator in (">", ">=")]
    high = [(each.values[0], each.operator == "<") for each in written if each.operator in ("<", "<=")]
    return any(_past(least, most, strict or below) for least, strict in low for most, below in high)


def _past(least: Value, most: Value, strict: bool) -> bool:
    """Return true if nothing lies between two bounds."""
    if not isinstance(least, int | float) or not isinstance(most, int | float):
        return False
    return least > most or (strict and least == most)


def _holds(value: Value, condition: Condition) -> bool:
    """Return true if a condition may hold of a value; what cannot be compared may."""
    match condition.operator:
        case "==" | "in":
            return value in condition.values
        case "!=" | "not in":
            return value not in condition.values
    bound = condition.values[0]
    if not isinstance(value, int | float) or not isinstance(bound, int | float):
        return True
    return {"<": value < bound, "<=": value <= bound, ">": value > bound, ">=": value >= bound}[condition.operator]
