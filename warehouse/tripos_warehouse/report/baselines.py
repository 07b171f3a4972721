"""Figures that cost nothing: where a model is no better than a trivial baseline beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tripos_warehouse.measures import MeasureRow, MeasureTable

BASELINE = "baseline/"
"""What the names of baselines begin with."""


@dataclass(frozen=True)
class Matched:
    """A figure of a model that the best baseline in the same cell of a measure reaches or passes."""

    measure: str
    by: tuple[Any, ...]
    model: str
    value: float
    baseline: str
    baseline_value: float

    def to_json(self, dimensions: Sequence[str]) -> dict[str, Any]:
        """As JSON values; `dimensions` are the names of `by`."""
        return {
            "measure": self.measure,
            **dict(zip(dimensions, self.by, strict=True)),
            "model": self.model,
            "value": self.value,
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
    """Return every figure of a measure that is no better than that of a baseline in its cell: no higher, or no lower
    where the measure says that lower is better. Of one that says nothing it is for the reader to know whether high is
    good."""
    sign = -1.0 if table.measure.lower_is_better else 1.0
    best: dict[tuple[Any, ...], MeasureRow] = {}
    for row in table.rows:
        if is_baseline(row.model) and row.value is not None:
            before = best.get(row.by)
            if before is None or before.value is None or sign * row.value > sign * before.value:
                best[row.by] = row
    found: list[Matched] = []
    for row in table.rows:
        free = best.get(row.by)
        if free is None or free.value is None or row.value is None or is_baseline(row.model):
            continue
        if sign * row.value <= sign * free.value:
            found.append(Matched(table.measure.name, row.by, row.model, row.value, free.model, free.value))
    return tuple(found)
