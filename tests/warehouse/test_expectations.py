"""Whether an expectation holds: at its number, near it, and where nothing was measured."""

from __future__ import annotations

from tests.compiler.compiling import compile_text, plan_of
from tripos_warehouse.measures.expectations import CheckedExpectation, holds

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
