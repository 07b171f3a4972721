"""What a condition sees to: nothing is taken to be guarded that is not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests.each import each
from tripos_compiler.language.evaluation import NoValue, evaluate
from tripos_compiler.language.library import FUNCTIONS
from tripos_compiler.language.library.totality import facts_of, find_lacks, implied, known_of
from tripos_compiler.plan import Binary, Call, Expr, Items, Literal_, Ref, Unary

N, XS = Ref(path=("n",)), Ref(path=("xs",))
LENGTH = Call(function="length", args=(XS,))
SIGNS = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
SMALL = st.integers(-2, 3)
LISTS = st.lists(st.integers(0, 1), max_size=4)


@st.composite
def conditions(draw: st.DrawFn, depth: int = 2) -> Expr:
    """Return a condition on a number and the length of a list."""
    kind = draw(st.sampled_from(["compare", "in", "not", "and", "or"] if depth else ["compare"]))
    if kind == "not":
        return Unary(operator="not", value=draw(conditions(depth=depth - 1)))
    if kind in ("and", "or"):
        left, right = draw(conditions(depth=depth - 1)), draw(conditions(depth=depth - 1))
        return Binary(operator=kind, left=left, right=right)  # type: ignore[arg-type]
    if kind == "in":
        return Binary(operator=draw(st.sampled_from(["in", "not in"])), left=Literal_(value=1), right=XS)
    sides: list[Expr] = [draw(st.sampled_from([N, LENGTH])), Literal_(value=draw(SMALL))]
    left, right = sides if draw(st.booleans()) else sides[::-1]
    return Binary(operator=draw(SIGNS), left=left, right=right)


@given(condition=conditions(), need=conditions(depth=0), n=SMALL, xs=LISTS)
def test_what_a_condition_implies_holds_wherever_the_condition_does(
    condition: Expr, need: Expr, n: int, xs: list[int]
) -> None:
    names = {"n": n, "xs": xs}
    held = bool(evaluate(condition, names))
    if implied(need, tuple(facts_of(condition, held))):
        assert evaluate(need, names) is True


def partial(draw: st.DrawFn) -> Expr:
    """Return an expression that may have no value."""
    index: Expr = draw(st.sampled_from([N, Literal_(value=0), Literal_(value=2)]))
    return draw(
        st.sampled_from(
            [
                Binary(operator="/", left=Literal_(value=1), right=N),
                Call(function="nth", args=(XS, index)),
                Call(function="last", args=(XS,)),
                Call(function="log", args=(N,)),
                Call(function="sqrt", args=(N,)),
                Binary(operator="/", left=N, right=LENGTH),
            ]
        )
    )


@st.composite
def guarded(draw: st.DrawFn) -> Expr:
    """Such an expression behind a condition, which may have nothing to do with it."""
    condition, inner, zero = draw(conditions()), partial(draw), Literal_(value=0)
    positive = Binary(operator=">", left=inner, right=zero)
    return draw(
        st.sampled_from(
            [
                Call(function="choose", args=(condition, inner, zero)),
                Call(function="choose", args=(condition, zero, inner)),
                Binary(operator="and", left=condition, right=positive),
                Binary(operator="or", left=condition, right=positive),
                Call(function="default", args=(inner, zero)),
            ]
        )
    )


@given(expr=guarded(), n=SMALL, xs=LISTS)
def test_an_expression_of_which_nothing_lacks_has_a_value(expr: Expr, n: int, xs: list[int]) -> None:
    if next(find_lacks(expr), None) is None:
        evaluate(expr, {"n": n, "xs": xs})


@each("name", sorted(name for name, each in FUNCTIONS.items() if each.partial is not None))
def test_what_a_partial_function_declares_are_parameters_of_it(name: str) -> None:
    function = FUNCTIONS[name]
    assert function.partial is not None
    assert set(function.partial.of) <= {each.name for each in function.parameters}


@given(count=st.integers(0, 3), index=st.integers(0, 4))
def test_an_item_that_is_written_out_is_there(count: int, index: int) -> None:
    items = Items(values=tuple(Literal_(value=each) for each in range(count)))
    expr = Call(function="nth", args=(items, Literal_(value=index)))
    assert known_of(items).items == count
    found: Any = None
    try:
        found = evaluate(expr, {})
    except NoValue:
        assert next(find_lacks(expr), None) is not None
    else:
        assert found == index and next(find_lacks(expr), None) is None


def test_a_set_is_the_order_that_a_rank_is_taken_in() -> None:
    expr = Call(function="rank", args=(Literal_(value="b"), XS))
    assert evaluate(expr, {"xs": frozenset("cab")}) == 1


def test_what_stands_behind_an_or_is_looked_at_where_its_condition_does_not_hold() -> None:
    zero = Literal_(value=0)
    positive = Binary(operator=">", left=Binary(operator="/", left=Literal_(value=1), right=N), right=zero)
    never, always = (Binary(operator=sign, left=N, right=zero) for sign in ("==", "!="))
    assert next(find_lacks(Binary(operator="or", left=never, right=positive)), None) is None
    assert next(find_lacks(Binary(operator="or", left=always, right=positive)), None) is not None


@pytest.mark.parametrize(
    ("known", "need", "enough"),
    [
        (">", ">", True),
        (">", ">=", True),
        (">=", ">", False),
        (">=", ">=", True),
        (">", "!=", True),
        (">=", "!=", False),
    ],
)
def test_a_bound_at_the_number_that_is_needed(known: str, need: str, enough: bool) -> None:
    def at_two(sign: Any) -> Binary:
        return Binary(operator=sign, left=N, right=Literal_(value=2))

    assert implied(at_two(need), [at_two(known)]) == enough
