"""Two regions are said to be apart only where no row satisfies the conditions of both."""

from __future__ import annotations

import operator
from itertools import product

from hypothesis import example, given, strategies as st

from tripos_compiler.language.evaluation import evaluate
from tripos_compiler.plan import Binary, Expr, Items, Literal_, Ref, Unary
from tripos_compiler.secrecy.labels import Condition, are_disjoint, conditions

WORDS, NUMBERS = ("a", "b", "c"), (0, 1, 2, 2.5, 3)
ROWS = [{"split": word, "n": number, "sound": sound} for word, number, sound in product(WORDS, NUMBERS, (True, False))]


def leaves(name: str) -> st.SearchStrategy[Expr]:
    """Comparisons of the columns of a row that is known by this name, also with those of the row at hand."""
    split, n = Ref(path=(name, "split")), Ref(path=(name, "n"))
    word, number = st.sampled_from(WORDS), st.sampled_from(NUMBERS)
    orders = st.sampled_from(("==", "!=", "<", "<=", ">", ">="))
    equal = st.sampled_from(("==", "!="))
    among = st.sampled_from(("in", "not in"))

    def compared(left: Expr, operator: str, right: Expr, turned: bool = False) -> Expr:
        left, right = (right, left) if turned else (left, right)
        return Binary.model_validate({"operator": operator, "left": left, "right": right})

    def several(values: list[str]) -> Expr:
        return Items(values=tuple(Literal_(value=value) for value in values))

    return st.one_of(
        st.builds(
            lambda op, value, turned: compared(split, op, Literal_(value=value), turned), equal, word, st.booleans()
        ),
        st.builds(
            lambda op, value, turned: compared(n, op, Literal_(value=value), turned), orders, number, st.booleans()
        ),
        st.builds(
            lambda op, values: compared(split, op, several(values)), among, st.lists(word, min_size=1, max_size=2)
        ),
        st.builds(lambda op: compared(split, op, Ref(path=("own", "split"))), equal),
        st.builds(lambda op: compared(n, op, Ref(path=("own", "n"))), orders),
        st.just(Ref(path=(name, "sound"))),
    )


def predicates(name: str) -> st.SearchStrategy[Expr]:
    """Conditions put together by `and`, `or` and `not`."""
    return st.recursive(
        leaves(name),
        lambda inner: st.one_of(
            st.builds(lambda value: Unary(operator="not", value=value), inner),
            st.builds(lambda left, right: Binary(operator="and", left=left, right=right), inner, inner),
            st.builds(lambda left, right: Binary(operator="or", left=left, right=right), inner, inner),
        ),
        max_leaves=4,
    )


def understood(where: Expr, name: str) -> frozenset[Condition]:
    """Return what a condition says of a row's public columns."""

    def column(expr: Expr) -> tuple[str, bool] | None:
        return (expr.path[1], expr.path[0] != name) if isinstance(expr, Ref) else None

    return conditions(where, column)


@given(shown=predicates("s"), asked=predicates("q"))
@example(
    shown=Binary(operator="!=", left=Ref(path=("s", "n")), right=Ref(path=("own", "n"))), asked=Literal_(value=True)
)
def test_no_row_is_in_two_regions_that_are_apart(shown: Expr, asked: Expr) -> None:
    if not are_disjoint(understood(shown, "s"), understood(asked, "q")):
        return
    for row in ROWS:
        names = {"s": row, "q": row, "own": row}
        assert not (evaluate(shown, names) and evaluate(asked, names)), row


def test_the_splits_of_the_page_are_apart() -> None:
    train = Binary(operator="==", left=Ref(path=("s", "split")), right=Literal_(value="a"))
    test = Binary(operator="!=", left=Ref(path=("q", "split")), right=Literal_(value="a"))
    assert are_disjoint(understood(train, "s"), understood(test, "q"))
    assert not are_disjoint(understood(train, "s"), frozenset())


ORDERS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
BOUNDS = (1, 2, 2.5)
GRID = (0.5, 1, 1.5, 2, 2.25, 2.5, 3)
"""Values below, at, between and above all bounds."""


def test_two_bounds_are_apart_exactly_where_no_number_lies_within_both() -> None:
    for one, other, least, most in product(ORDERS, ORDERS, BOUNDS, BOUNDS):
        left, right = frozenset({Condition("n", one, (least,))}), frozenset({Condition("n", other, (most,))})
        there = [value for value in GRID if ORDERS[one](value, least) and ORDERS[other](value, most)]
        assert are_disjoint(left, right) == (not there), (one, least, other, most, there)


def test_bounds_that_are_no_numbers_are_never_apart() -> None:
    below, word = frozenset({Condition("n", "<", ("a",))}), frozenset({Condition("n", "==", ("a",))})
    for sign in ("<", "<=", ">", ">="):
        bound = frozenset({Condition("n", sign, (1,))})
        assert not are_disjoint(bound, below) and not are_disjoint(word, bound), sign
