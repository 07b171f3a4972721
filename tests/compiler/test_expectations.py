"""Expectations of figures, of differences of two, and of ends of intervals, and the numbers they are compared with."""

from __future__ import annotations

import operator
from fractions import Fraction

import pytest
from hypothesis import given, strategies

from tests.compiler.compiling import compile_text, plan_of
from tripos_compiler.language.sequential_stopping import sequential_figure
from tripos_compiler.plan import Constant, Expectation, Formula, Measured

SPEC = """
benchmark demo "1.0.0" { languages en }
role candidate compared
axis level { easy, hard }
scenario sums {
  context level
  ask answer by candidate { prompt "{{ level }}" }
  score right = contains(answer.text, "42")
  score other = contains(answer.text, "4")
}
measure a = mean(right)
measure b = mean(other)
measure by_level = mean(right) by level
"""
UNBOUNDED = """
benchmark demo "1.0.0" { languages en }
role candidate compared
scenario sums {
  ask answer by candidate { prompt "1 + 1" }
  score words = words(answer.text)
  score letters = length(answer.text)
}
measure a = mean(words)
measure b = mean(letters)
"""
OPERATORS = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
    "==": operator.eq,
    "!=": operator.ne,
}


def gate(text: str, spec: str = SPEC) -> Expectation:
    [found] = plan_of(compile_text(f"{spec}expect {text}\n")).expectations
    return found


A, B = Measured(measure="a"), Measured(measure="b")


@pytest.mark.parametrize(
    ("text", "figure", "wanted"),
    [
        ("a >= 0.8", A, (">=", 0.8, None, None)),
        ("a - 0.5 >= 0.2", Formula(operator="-", values=(A, Constant(value=0.5))), (">=", 0.2, None, None)),
        ("a >= b", Formula(operator="-", values=(A, B)), (">=", 0, None, "a - b")),
        ("a >= b - 0.02", Formula(operator="-", values=(A, B)), (">=", -0.02, None, "a - b")),
        ("b - 0.1 - 0.2 <= a", Formula(operator="-", values=(B, A)), ("<=", 0.3, None, "b - a")),
        ("0.02 + (a) > ((1/4 + b))", Formula(operator="-", values=(A, B)), (">", 0.23, None, "(a) - b")),
        (
            "a >= b + a / 2 - 0.5",
            Formula(
                operator="-",
                values=(A, Formula(operator="+", values=(B, Formula(operator="/", values=(A, Constant(value=2)))))),
            ),
            (">=", -0.5, None, "a - (b + a / 2)"),
        ),
        ("lower(a) >= 0.8", A, (">=", 0.8, "lower", None)),
        ("0.2 > (upper(a))", A, ("<", 0.2, "upper", None)),
        ("lower(a - b) >= -0.02", Formula(operator="-", values=(A, B)), (">=", -0.02, "lower", None)),
    ],
)
def test_an_expectation_is_of_a_figure_or_a_difference_and_a_number(text: str, figure: object, wanted: object) -> None:
    found = gate(text)
    assert found.figure == figure
    assert (found.operator, found.value, found.end, found.difference) == wanted
    assert found.shown == text


def test_a_side_that_goes_by_nothing_is_the_same_number_in_each_cell_of_the_other() -> None:
    found = gate("by_level >= a - 0.1")
    assert found.by == ("level",)
    assert isinstance(found.figure, Formula)
    assert found.figure.values[1] == Formula(operator="overall", values=(A,), over=("level",))
    assert gate("by_level[level: easy] >= by_level[level: hard]").by == ()


def test_a_difference_and_an_end_are_followed_by_sequences() -> None:
    plan = plan_of(compile_text(f"{SPEC}expect lower(a) > 0.5 until settled\nexpect a >= b - 0.1 until settled\n"))
    assert not [each for each in plan.expectations if isinstance(sequential_figure(plan, each), str)]


NUMBERS = strategies.decimals(0, 9, places=2).map(str)


def sides(name: str) -> strategies.SearchStrategy[str]:
    return strategies.recursive(
        strategies.just(name),
        lambda inner: strategies.one_of(
            inner.map("({})".format),
            strategies.builds("{} {} {}".format, inner, strategies.sampled_from("+-"), NUMBERS),
            strategies.builds("{} + ({})".format, NUMBERS, inner),
        ),
        max_leaves=4,
    )


@given(
    sides("a"),
    sides("b"),
    strategies.sampled_from(list(OPERATORS)),
    strategies.lists(strategies.fractions(-20, 20, max_denominator=100), min_size=2, max_size=2),
)
def test_two_figures_are_compared_as_their_sides_say(left: str, right: str, sign: str, values: list[Fraction]) -> None:
    found = gate(f"{left} {sign} {right}", UNBOUNDED)
    a, b = values
    known = {"a": a, "b": b}

    def side(text: str) -> Fraction:
        exact = " ".join(f"Fraction('{word}')" if word[:1].isdigit() else word for word in _words(text))
        return Fraction(eval(exact, {"Fraction": Fraction, **known}))

    assert found.figure == Formula(operator="-", values=(A, B))
    compare = OPERATORS[sign]
    assert compare(a - b, Fraction(repr(found.value))) == compare(side(left), side(right))
    level = Fraction(repr(found.value)) + b  # at the number itself
    known["a"] = level
    assert compare(0, 0) == compare(side(left), side(right))


def _words(text: str) -> list[str]:
    return text.replace("(", " ( ").replace(")", " ) ").split()
