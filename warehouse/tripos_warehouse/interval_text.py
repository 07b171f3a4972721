"""A value with its interval, in a cell of a table."""

from __future__ import annotations

from collections.abc import Callable

from tripos_warehouse.measures import MeasureRow


def with_interval(row: MeasureRow, figure: Callable[[float | None], str]) -> str:
    """`value ±half` where the interval reaches as far up as down, in the decimals that `figure` prints, and else the
    value with its bounds: `3.00 (2.00–3.00)`. Without an interval it is the value alone."""
    value, low, high = row.value, row.interval_low, row.interval_high
    if row.half_width is None or value is None:
        return figure(value)
    # A `t` is even before the ends of the scale cut it.
    if row.method != "t" and low is not None and high is not None and figure(value - low) != figure(high - value):
        return f"{figure(value)} ({figure(low)}–{figure(high)})"
    return f"{figure(value)} ±{figure(row.half_width)}"
