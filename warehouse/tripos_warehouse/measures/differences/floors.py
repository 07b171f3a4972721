"""Floors: what trivial baselines get, and the figures of models that do not clear it.

A figure clears a floor where the whole of its interval lies beyond it: a point that lies above by chance shows nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from tripos_compiler.source import dataclass
from tripos_warehouse.measures.measure_rows import MeasureTable

BASELINE = "baseline/"
"""What the names of baselines begin with."""


class Placed(NamedTuple):
    """A figure of a model, with the ends of its interval where it has one."""

    model: str
    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Matched:
    """A figure of a model that does not clear the best baseline in the same cell of a measure: an end of its interval
    lies no better, or where it has none the figure itself."""

    measure: str
    by: tuple[Any, ...]
    model: str
    value: float
    low: float | None
    high: float | None
    baseline: str
    baseline_value: float

    def to_json(self, dimensions: Sequence[str]) -> dict[str, Any]:
        """As JSON values; `dimensions` are the names of `by`."""
        return {
            "measure": self.measure,
            **dict(zip(dimensions, self.by, strict=True)),
            "model": self.model,
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "baseline": self.baseline,
            "baseline_value": self.baseline_value,
        }


def is_baseline(model: str) -> bool:
    """Return true if a model is a baseline, by its name.

    >>> is_baseline("baseline/constant:0"), is_baseline("openai/gpt-4o")
    (True, False)
    """
    return model.startswith(BASELINE)


def matched(table: MeasureTable) -> tuple[Matched, ...]:
    """Return every figure of a measure that does not clear the best baseline in its cell: it is to be higher, or lower
    where the measure says that lower is better. Of one that says nothing it is for the reader to know whether high is
    good."""
    cells: dict[tuple[Any, ...], list[Placed]] = {}
    for row in table.rows:
        cells.setdefault(row.by, []).append(Placed(row.model, row.value, row.interval_low, row.interval_high))
    lower = table.measure.lower_is_better
    floors = {by: not_clear(rows, lower_is_better=lower) for by, rows in cells.items()}
    return tuple(
        Matched(table.measure.name, row.by, row.model, row.value, row.interval_low, row.interval_high, *floor)
        for row in table.rows
        if (floor := floors[row.by].get(row.model)) is not None and row.value is not None
    )


def not_clear(rows: Iterable[Placed], *, lower_is_better: bool = False) -> dict[str, tuple[str, float]]:
    """Return the models that do not clear the best baseline of a cell, with its name and what it gets.

    >>> rows = [Placed("baseline/echo", 0.5, 0.3, 0.7), Placed("a", 0.8, 0.6, 0.9), Placed("b", 0.6, 0.4, 0.8)]
    >>> not_clear(rows)
    {'b': ('baseline/echo', 0.5)}
    """
    rows, sign = list(rows), -1.0 if lower_is_better else 1.0
    free = [(sign * row.value, row.model) for row in rows if is_baseline(row.model) and row.value is not None]
    if not free:
        return {}
    best, floor = max(free, key=lambda pair: pair[0])
    found = {}
    for row in rows:
        near = row.high if lower_is_better else row.low
        near = row.value if near is None else near
        if near is not None and not is_baseline(row.model) and sign * near <= best:
            found[row.model] = floor, sign * best
    return found
