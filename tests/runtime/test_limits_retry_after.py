"""What a server says about when to ask again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given, strategies as st

from tripos_runtime.models.errors import retry_after_s

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0.0),
        ("120", 120.0),
        (" 1.5 ", 1.5),
        ("Sat, 21 Nov 2026 12:02:00 GMT", 120.0),
        ("Saturday, 21-Nov-26 12:02:00 GMT", 120.0),
        ("Sat Nov 21 12:02:00 2026", 120.0),
        ("Sat, 21 Nov 2026 14:02:00 +0200", 120.0),
        ("Sat, 21 Nov 2026 11:00:00 GMT", 0.0),
    ],
)
def test_seconds_and_dates_in_all_three_forms_are_read(value: str, seconds: float) -> None:
    assert retry_after_s(value, NOON) == seconds


@pytest.mark.parametrize("value", ["", "soon", "-5", "nan", "inf", "1e9", "Sat, 21 Nov 2027 12:00:00 GMT", "99:99"])
def test_what_makes_no_sense_is_unknown(value: str) -> None:
    assert retry_after_s(value, NOON) is None


@given(st.integers(0, 7 * 86_400))
def test_a_date_is_as_far_away_as_it_is(seconds: int) -> None:
    assert retry_after_s(format_datetime(NOON + timedelta(seconds=seconds), usegmt=True), NOON) == seconds


@given(st.text())
def test_no_text_is_too_odd(value: str) -> None:
    found = retry_after_s(value, NOON)
    assert found is None or found >= 0
