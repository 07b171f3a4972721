"""What an estimate counts: how many of the calls that may be made, and the repair of what is read into a schema."""

from __future__ import annotations

from typing import Any

import pytest

from tripos_compiler.plan import Settings
from tripos_runtime.forecast.estimates import CallLoad, Estimate, estimates, guessed_tokens
from tripos_runtime.forecast.reasons import NO_HISTORY
from tripos_runtime.forecast.sizes import CallCertainty, CallGroup, Size

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"score": {"type": "integer"}}}
HERE = CallGroup("sums", "", "answer", "candidate", "lab/model")


def estimate(schema: dict[str, Any] | None = None, **calls: int) -> Estimate:
    """The estimate of so many calls of each fate, of 400 characters and at most 100 tokens of reply each."""
    load = CallLoad(("samples", "sums", "answer"), Settings(max_tokens=100), schema)
    for fate, times in calls.items():
        load.add(CallCertainty[fate], Size(narrow=400, messages=1), {}, times)
    return estimates({HERE: load}, {}, NO_HISTORY)[HERE]


@pytest.mark.parametrize(
    ("fate", "calls"),
    [("CERTAIN", (10, 10, 10)), ("LIKELY", (0, 10, 10)), ("PERHAPS", (0, 5, 10)), ("SPARE", (0, 0, 10))],
)
def test_calls_count_by_how_sure_they_are(fate: str, calls: tuple[float, float, float]) -> None:
    found = estimate(**{fate: 10})
    assert tuple(found.calls) == calls
    assert (found.tokens_in.low > 0, found.tokens_out.low > 0) == (calls[0] > 0, calls[0] > 0)


def test_the_highest_estimate_has_the_repair_of_every_reply_that_is_read() -> None:
    plain, read = estimate(CERTAIN=3), estimate(SCHEMA, CERTAIN=3)
    assert (plain.calls.high, read.calls.high) == (3, 6)
    assert (plain.tokens_out.high, read.tokens_out.high) == (300, 600)
    assert read.tokens_in.high > 2 * plain.tokens_in.high
    assert read.calls.low == read.calls.expected == 3


def test_a_guess_adds_up_the_fields_of_a_reply() -> None:
    fields = {"why": {"type": "string"}, "score": {"type": "integer"}, "sure": {"type": "boolean"}}
    assert guessed_tokens({"type": "object", "properties": fields}) == sum(map(guessed_tokens, fields.values()))
