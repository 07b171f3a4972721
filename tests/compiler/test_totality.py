"""What a condition sees to: nothing is taken to be guarded that is not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from tests.each import each
from tests.lengths import sized
from tripos_compiler.language.evaluation import InternalError, NoValue, Unavailable, evaluate
from tripos_compiler.library.definedness import facts_of, find_undefined, implied, static_facts
from tripos_compiler.library.registry import FUNCTIONS
from tripos_compiler.plan import Binary, Call, Each, Expr, Items, Literal_, Loop, Ref, Unary

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
    if next(find_undefined(expr), None) is None:
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
    assert static_facts(items).items == count
    found: Any = None
    try:
        found = evaluate(expr, {})
    except NoValue:
        assert next(find_undefined(expr), None) is not None
    else:
        assert found == index and next(find_undefined(expr), None) is None


def called(name: str, *args: Expr) -> Call:
    return Call(function=name, args=args)


def written(values: tuple[Expr, ...]) -> Items:
    return Items(values=values)


TEXTS = st.sampled_from([Literal_(value="a"), Literal_(value="b"), Literal_(value="a b"), Ref(path=("word",))])
BY = Literal_(value="by")
COUNTS = st.integers(-2, 3).map(lambda number: Literal_(value=number))


def longer(lists: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    def looped(of: Expr, value: Expr, kept: bool) -> Expr:
        where = Binary(operator="==", left=Ref(path=("x",)), right=Literal_(value="a")) if kept else None
        return Each(loop=Loop(alias="x", of=of, where=where), value=value)

    elements = TEXTS | st.just(Ref(path=("x",)))
    pairs = st.tuples(lists, lists).map(written) | st.builds(looped, lists, lists, st.booleans())
    chosen = Binary(operator="==", left=Ref(path=("word",)), right=Literal_(value="a"))
    return (
        st.builds(looped, lists, elements, st.booleans())
        | st.builds(lambda of: called("shuffled", of, BY), lists)
        | st.builds(lambda of, count: called("drawn", of, count, BY), lists, COUNTS)
        | st.builds(called, st.sampled_from(["without_last", "distinct", "sorted"]), lists)
        | st.builds(lambda one, two: called("distinct", one, two), lists, lists)
        | st.builds(lambda one, two: called("choose", chosen, one, two), lists, lists)
        | st.builds(lambda one, two: called("zip", one, two), lists, lists)
        | st.builds(lambda of: called("flat", of), pairs)
        | st.builds(lambda of, start: called("slice", of, start), lists, COUNTS)
        | st.builds(lambda of, start, count: called("slice", of, start, count), lists, COUNTS, COUNTS)
    )


MADE = st.recursive(st.lists(TEXTS, max_size=3).map(tuple).map(written) | st.just(XS), longer, max_leaves=5)


@settings(max_examples=sized(200, 2000), deadline=None)
@given(expr=MADE, xs=st.lists(st.sampled_from(["a", "c"]), max_size=3), word=st.sampled_from(["a", "z"]))
def test_a_list_has_the_items_that_it_is_known_to_have(expr: Expr, xs: list[str], word: str) -> None:
    try:
        found = evaluate(expr, {"xs": xs, "word": word})
    except (Unavailable, InternalError):  # lists of other lengths, or of what has no order
        return
    assert len(found) >= static_facts(expr).items


@pytest.mark.parametrize(
    ("expr", "known"),
    [
        (Each(loop=Loop(alias="x", of=Items(values=(N, N))), value=N), 2),
        (called("shuffled", Items(values=(N, N)), BY), 2),
        (called("drawn", Items(values=(N, N)), Literal_(value=2), BY), 1),
        (called("without_last", Items(values=(N, N))), 1),
        (called("slice", Items(values=(N, N, N)), Literal_(value=-2), Literal_(value=1)), 1),
        (called("distinct", XS, Items(values=(Literal_(value="a"),))), 1),
        (called("distinct", Items(values=(N,))), 0),
        (called("flat", Each(loop=Loop(alias="x", of=Items(values=(N, N))), value=Items(values=(N,)))), 2),
    ],
)
def test_what_is_known_of_the_length_of_a_list(expr: Expr, known: int) -> None:
    assert static_facts(expr).items == known


def test_a_set_is_the_order_that_a_rank_is_taken_in() -> None:
    expr = Call(function="rank", args=(Literal_(value="b"), XS))
    assert evaluate(expr, {"xs": frozenset("cab")}) == 1


def test_what_stands_behind_an_or_is_looked_at_where_its_condition_does_not_hold() -> None:
    zero = Literal_(value=0)
    positive = Binary(operator=">", left=Binary(operator="/", left=Literal_(value=1), right=N), right=zero)
    never, always = (Binary(operator=sign, left=N, right=zero) for sign in ("==", "!="))
    assert next(find_undefined(Binary(operator="or", left=never, right=positive)), None) is None
    assert next(find_undefined(Binary(operator="or", left=always, right=positive)), None) is not None


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
