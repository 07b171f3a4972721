"""Token probabilities of a reply: which value of a scale a token counts for, however a model divides its digits."""

from __future__ import annotations

import math

from hypothesis import given, strategies as st

from tripos_compiler.plan import IntegerType
from tripos_compiler.plan.structured_replies import TokenProbability, reply_probabilities


def said(pieces: list[str]) -> list[TokenProbability]:
    """Return the tokens of a reply, each nearly certain."""
    return [TokenProbability(piece, -0.01, ((piece, -0.01), ("?", -5.0)), piece.encode()) for piece in pieces]


@given(high=st.integers(1, 99), value=st.integers(0, 99), by_digit=st.booleans(), quoted=st.booleans())
def test_a_nearly_certain_score_is_expected_or_there_is_none(
    high: int, value: int, by_digit: bool, quoted: bool
) -> None:
    value = min(value, high)
    digits = list(str(value)) if by_digit else [str(value)]
    pieces = ['{"value": ', *digits, "}"] if quoted else digits
    found = reply_probabilities(said(pieces), IntegerType(low=0, high=high), value)
    assert ("expected" in found) == (len(digits) == 1)
    if "expected" in found:
        assert math.isclose(found["expected"], value) and found["likeliest"] == value
