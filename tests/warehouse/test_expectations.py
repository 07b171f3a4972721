"""Whether an expectation holds: at its number, near it, and where nothing was measured."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given, strategies

from tests.compiler.compiling import compile_text, plan_of
from tripos_warehouse.measures.expectations import CheckedExpectation, holds, outcome_of
from tripos_warehouse.measures.measure_rows import MeasureRow

SPEC = """
benchmark demo "1.0.0" { languages en }
role candidate compared
scenario sums {
  ask answer by candidate { prompt "1 + 1" }
  score long = words(answer.text)
  measure length = mean(long)
}
expect sums.length >= 1
"""


def test_a_value_that_equals_the_number_holds_where_the_operator_says_so() -> None:
    at_number = {operator: holds(operator, 0.1 + 0.2, 0.3)[0] for operator in (">=", ">", "<=", "<", "==", "!=")}
    assert at_number == {">=": True, ">": False, "<=": True, "<": False, "==": True, "!=": False}
    above = {operator: holds(operator, 0.4, 0.3)[0] for operator in at_number}
    assert above == {">=": True, ">": True, "<=": False, "<": False, "==": False, "!=": True}


def test_an_expectation_without_an_outcome_does_not_hold() -> None:
    [expectation] = plan_of(compile_text(SPEC)).expectations
    assert not CheckedExpectation(expectation, ()).held


NUMBERS = strategies.integers(-4, 4).map(lambda number: number / 4)


@given(
    strategies.sampled_from([">=", ">", "<=", "<"]),
    strategies.sampled_from([None, "lower", "upper"]),
    NUMBERS,
    strategies.none() | strategies.tuples(NUMBERS, NUMBERS, NUMBERS).map(sorted),
    strategies.booleans(),
    strategies.integers(0, 10),
)
@example(">=", "lower", 0.5, [0.25, 0.75, 1.0], True, 10)
@example("<=", "upper", 0.5, [0.0, 0.25, 0.75], True, 10)
def test_an_outcome_holds_as_the_interval_and_the_scores_say(
    operator: Any, end: Any, number: float, ends: list[float] | None, interval: bool, n: int
) -> None:
    low, value, high = ends or (None, None, None)
    if not interval:
        low = high = None
    row = MeasureRow(value, "no interval", low, high, model="m", n=n, total=10)
    [written] = plan_of(compile_text(SPEC)).expectations
    wanted = written.model_copy(update={"operator": operator, "end": end, "value": number})
    found = outcome_of(wanted, row)
    compared = {None: value, "lower": low, "upper": high}[end]
    if compared is None:
        assert (found.held, found.margin) == (False, None)
        return
    sign = 1 if operator[0] == ">" else -1
    clear = compared == number if "=" in operator else False
    assert found.held == ((clear or sign * compared > sign * number) and n >= 9)
    assert found.margin == sign * (compared - number)
    told = CheckedExpectation(wanted, (found,)).to_json()
    assert (told["end"], told["number"], told["outcomes"][0]["margin"]) == (end, number, found.margin)
    if operator == ">=":  # the lower end is the hardest gate of a least value, and the upper end the easiest
        order = [outcome_of(wanted.model_copy(update={"end": each}), row).held for each in ("lower", None, "upper")]
        assert not interval or order == sorted(order)
