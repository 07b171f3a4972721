"""Reads `Retry-After`: when a server wants to be asked again."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

LONGEST_S = 7 * 86_400.0


def retry_after_s(value: str, now: datetime) -> float | None:
    """Return the seconds from `now` that a header asks for: a number of them, or a date (RFC 9110). A date that has
    passed is 0; what is neither, or further away than a week, is None.

    >>> noon = datetime(2026, 11, 21, 12, tzinfo=UTC)
    >>> retry_after_s("2.5", noon), retry_after_s("Sat, 21 Nov 2026 12:01:30 GMT", noon), retry_after_s("soon", noon)
    (2.5, 90.0, None)
    """
    try:
        seconds = float(value)
    except ValueError:
        try:
            when = parsedate_to_datetime(value)
        except (ValueError, IndexError, TypeError, OverflowError):
            return None
        aware = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
        seconds = max(0.0, (aware - now).total_seconds())
    return seconds if math.isfinite(seconds) and 0 <= seconds <= LONGEST_S else None
