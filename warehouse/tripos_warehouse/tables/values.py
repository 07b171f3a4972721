"""Values as text: numbers, estimates with their intervals, ranges; and Arrow values as Python objects.

Every table and sentence writes its numbers with these functions. An estimate is written as `0.82 [0.75, 0.88]`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tripos_compiler.diagnostics.text_format import abbreviated, percent, usd
from tripos_warehouse.statistics.estimate import Estimate

if TYPE_CHECKING:
    import pyarrow as pa

NULL_TEXT = "—"
"""The text of a missing value."""
LARGE = 1e16
"""The absolute value from which numbers are written with an exponent."""
Interval = Literal["ci", "pm", "none"]
"""The notation of an interval: `ci` for its ends in brackets, `pm` for its half-width after `±`, `none` for no text."""
Kind = Literal["text", "count", "number", "share", "p", "money", "tokens"]
"""The content of a column: texts, whole numbers, other numbers, shares from 0 to 1 written in percent, p-values,
amounts in USD, or numbers of tokens."""


# Numbers
def fixed(value: float, decimals: int, *, signed: bool = False, thousands: bool = False) -> str:
    """Return a number with a fixed number of decimals. A number that rounds to zero has no minus sign. `signed`: a
    positive number has a plus sign. `thousands`: with thousands separators.

    >>> fixed(-0.25, 2), fixed(-0.001, 2), fixed(0.25, 2, signed=True), fixed(1234.5, 1, thousands=True), fixed(2e16, 2)
    ('-0.25', '0.00', '+0.25', '1,234.5', '2e+16')
    """
    if abs(value) >= LARGE:
        return f"{value:.6g}"
    return f"{value:{'+' if signed else ''}z{',' if thousands else ''}.{decimals}f}"


def p_text(p: float) -> str:
    """Return a p-value with three decimals, or `< .001`.

    >>> p_text(0.0004), p_text(0.0312)
    ('< .001', '0.031')
    """
    return "< .001" if p < 0.001 else f"{p:.3f}"


def count_text(count: float) -> str:
    """Return a number, rounded to a whole number, with thousands separators.

    >>> count_text(1234), count_text(1234.6)
    ('1,234', '1,235')
    """
    return f"{count:,}" if isinstance(count, int) else f"{count:,.0f}"


FORMATS: Mapping[Kind, Callable[[float], str]] = {
    "count": count_text,
    "share": percent,
    "p": p_text,
    "money": usd,
    "tokens": abbreviated,
}
"""The format of the numbers of each kind. Numbers of kind `number` have the decimals of their column."""


def decimals_of(values: Sequence[float | None]) -> int:
    """Return the number of decimals for a column of numbers, by its largest absolute value.

    It is 1 for values from 1000, 2 from 1, and 3 below that. If the largest value is below 0.01, it gets two
    significant digits, unless it is below 1e-12 and counts as a rounding error of 0.

    >>> [decimals_of(values) for values in ([7.4213, 10, None], [0.5], [1200.5, 3.25], [0.00012], [3.3e-16])]
    [2, 3, 1, 5, 3]
    """
    magnitudes = [abs(value) for value in values if value is not None and math.isfinite(value)]
    largest = max(magnitudes, default=0.0)
    if 1e-12 <= largest < 0.01:
        return 1 - math.floor(math.log10(largest))
    return 1 if largest >= 1000 else 2 if largest >= 1 else 3


# Estimates and ranges
def interval_text(estimate: Estimate, number: Callable[[float], str], interval: Interval = "ci") -> str:
    """Return the interval of an estimate as text; empty if it has none, or if `interval` is `none`.

    >>> estimate = Estimate(0.875, low=0.473, high=0.997)
    >>> [interval_text(estimate, "{:.2f}".format, each) for each in ("ci", "pm", "none")]
    ['[0.47, 1.00]', '± 0.40', '']
    """
    if interval == "none" or estimate.low is None or estimate.high is None or estimate.half_width is None:
        return ""
    if interval == "pm":
        return f"± {number(estimate.half_width).lstrip('+')}"
    return f"[{number(estimate.low)}, {number(estimate.high)}]"


def estimate_text(estimate: Estimate, number: Callable[[float], str], interval: Interval = "ci") -> str:
    """Return the value of an estimate, followed by its interval if it has one.

    >>> estimate_text(Estimate(0.82, low=0.75, high=0.88), "{:.2f}".format)
    '0.82 [0.75, 0.88]'
    >>> estimate_text(Estimate(0.82, "one item"), "{:.2f}".format), estimate_text(Estimate(None, "none"), str)
    ('0.82', '—')
    """
    value = NULL_TEXT if estimate.value is None else number(estimate.value)
    return f"{value} {interval_text(estimate, number, interval)}".rstrip()


class Range(NamedTuple):
    """The smallest and the largest of several numbers."""

    low: float
    high: float

    @classmethod
    def of(cls, numbers: Sequence[float | None]) -> Range | None:
        """Return the range of the numbers that are not None, or None if there are none.

        >>> Range.of([3, None, 1200]), Range.of([None])
        (Range(low=3, high=1200), None)
        """
        present = [number for number in numbers if number is not None]
        return cls(min(present), max(present)) if present else None


def range_text(ends: Range | None, number: Callable[[float], str]) -> str:
    """Return a range as text; a single number if the texts of both ends are equal. A percent sign is written once.

    >>> [range_text(each, "{:,}".format) for each in (Range(3, 1200), Range(3, 3), None)]
    ['3–1,200', '3', '—']
    >>> range_text(Range(0.8, 1), percent)
    '80–100%'
    """
    if ends is None:
        return NULL_TEXT
    low, high = number(ends.low), number(ends.high)
    return low if low == high else f"{low.removesuffix('%')}–{high}"


def count_range(numbers: Sequence[float | None]) -> str:
    """Return the smallest and the largest of some whole numbers, or the single value if all are equal.

    >>> count_range([3, 1200]), count_range([3, 3]), count_range([])
    ('3–1,200', '3', '—')
    """
    return range_text(Range.of(numbers), count_text)


def share_range(shares: Sequence[float | None]) -> str:
    """Return the smallest and the largest of some shares.

    >>> share_range([1.0, 0.8333, None])
    '83.3–100%'
    """
    return range_text(Range.of(shares), percent)


# Values of queries
LONGEST = 10_000
"""The number of characters of a text that are processed at most: a terminal does not show more, and a text may have
millions."""


def cell_text(value: Any, longest: int | None = LONGEST) -> str:
    """Return a value as text on one line without control characters, and with at most `longest` characters.

    >>> cell_text(None), cell_text([1, True]), cell_text("two\\nlines")
    ('—', '1, true', 'two lines')
    """
    match value:
        case None:
            return NULL_TEXT
        case bool():
            return "true" if value else "false"
        case list():
            return ", ".join(cell_text(element, longest) for element in value)
        case datetime():
            return f"{value:%Y-%m-%d %H:%M:%S}"
        case _:
            return on_one_line(str(value), longest)


def on_one_line(text: str, longest: int | None) -> str:
    """Return the beginning of a text on one line, without control characters."""
    if longest is not None and len(text) > longest:
        text = f"{text[:longest]}…"
    # Escape sequences in a reply must not reach the terminal.
    return "".join(character if character.isprintable() else " " for character in " ".join(text.split()))


def has_decimals(cell: Any) -> bool:
    """Return true for a `Decimal` with digits after the decimal point, even if these are zeros."""
    if not isinstance(cell, Decimal):
        return False
    exponent = cell.as_tuple().exponent
    return isinstance(exponent, int) and exponent < 0


Maps = Literal["lossy"] | None
"""The form of maps: `lossy` for dictionaries, in which the last of repeated keys counts; None for lists of pairs."""


def values_of(column: pa.Array | pa.ChunkedArray, maps: Maps = "lossy") -> list[Any]:
    """Return the values of a column as Python objects. A date or time outside of the years 1 to 9999 becomes a text.

    >>> import pyarrow as pa
    >>> values_of(pa.array([0, None, 2**31 - 1], pa.date32()))
    [datetime.date(1970, 1, 1), None, '<value out of range: 2147483647>']
    """
    try:
        values: list[Any] = column.to_pylist(maps_as_pydicts=maps)
    except (OverflowError, ValueError):
        values = [_value_of(scalar, maps) for scalar in column]
    return values


def _value_of(scalar: pa.Scalar, maps: Maps) -> Any:
    """Return an Arrow value as a Python object, with texts in place of dates and times that Python cannot represent."""
    import pyarrow as pa

    try:
        return scalar.as_py(maps_as_pydicts=maps)
    except (OverflowError, ValueError):
        pass
    match scalar:
        case pa.StructScalar():
            return {name: _value_of(value, maps) for name, value in scalar.items()}
        case pa.ListScalar() | pa.LargeListScalar() | pa.FixedSizeListScalar() | pa.MapScalar():
            return [_value_of(value, maps) for value in scalar.values]
        case _:
            return scalar.cast(pa.string()).as_py()
