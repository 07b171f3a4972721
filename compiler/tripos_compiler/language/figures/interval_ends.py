"""The ends of the interval of a figure, as an `expect` takes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tripos_compiler.plan import IntervalEnd

INTERVAL_ENDS: Final[Mapping[IntervalEnd, str]] = {
    "lower": "the lower end of the 95 % interval of a figure, in an `expect`",
    "upper": "the upper end of the 95 % interval of a figure, in an `expect`",
}
"""The ends by the names that an `expect` has for them, each with what it is."""


def end_signature(end: str) -> str:
    """Return how an end is written.

    >>> end_signature("lower")
    'lower(figure)'
    """
    return f"{end}(figure)"
