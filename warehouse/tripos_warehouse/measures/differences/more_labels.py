"""The gain from more labels in a measure that people correct: how far its interval would reach, and up to which price
of a label more labels are worth more than more items."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tripos_compiler.plan import Measure, Plan
from tripos_compiler.source import dataclass
from tripos_warehouse.measures.corrected import ThreeFigures, find_corrected
from tripos_warehouse.query import Connection
from tripos_warehouse.statistics.design import DifferenceComponents, LabelComponents, corrected_variance

MORE_LABELS = (30, 60, 100)
"""The numbers of further graded items that are told of."""


@dataclass(frozen=True)
class MoreLabels:
    """How far the interval of a corrected measure reaches `now`, with so many graded `items`, and about `then`: pairs
    of graded items and of how far it would reach with them."""

    measure: str
    model: str
    now: float
    items: int
    then: tuple[tuple[int, float], ...]

    @property
    def sentence(self) -> str:
        """Return it for people."""
        told = ", ".join(f"±{reach:.3g} with {items:,}" for items, reach in self.then)
        first = f"`{self.measure}` of {self.model}: ±{self.now:.3g} with {self.items:,} graded items"
        return f"{first}, about {told}." if told else f"{first}, which are all."

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        then = [{"graded_items": items, "half_width": reach} for items, reach in self.then]
        return {"model": self.model, "graded_items": self.items, "half_width": self.now, "with_more": then}


def find_more_labels(connection: Connection, plan: Plan, measure: Measure) -> Iterator[MoreLabels]:
    """Yield what more labels would bring to each model's figure of a measure that people correct already."""
    if not measure.corrected or measure.by:
        return
    for model, three in sorted(find_corrected(connection, plan, measure).items()):
        now = three.reach(three.items)
        if now is not None:
            yield MoreLabels(measure.name, model, now, three.items, tuple(_then(three)))


def _then(three: ThreeFigures) -> Iterator[tuple[int, float]]:
    for more in MORE_LABELS:
        items = min(three.items + more, len(three.names))
        reach = three.reach(items)
        if reach is not None and items > three.items:
            yield items, reach
        if items == len(three.names):
            return


def worth_of_a_label(
    parts: DifferenceComponents, labels: LabelComponents, items: int, graded: int, spent: float, share: float
) -> float | None:
    """Return the price below which a label of both models' replies to an item is worth more than more items: a `share`
    more of what was `spent` on `items`, of which people graded some, lessens the variance of the corrected difference
    as much as the labels that this money buys. None where labels of all items would lessen it less.

    >>> parts, labels = DifferenceComponents(items=1.0, known=frozenset()), LabelComponents(people=1.2, items=0.9)
    >>> round(worth_of_a_label(parts, labels, 400, 50, 20.0, 0.1), 2)
    1.65
    """
    samples, judges, repeats = parts.observed
    every, one = parts.variance(samples, judges, repeats), parts.variance(1, judges, repeats)

    def variance(items: float, graded: float) -> float:
        return corrected_variance(labels, every, one, samples, items, graded)

    aim = variance(items * (1 + share), graded)
    low, high = float(graded), float(items)
    if graded >= items or variance(items, high) > aim:
        return None
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if variance(items, middle) > aim else (low, middle)
    return share * spent / (high - graded) if high > graded else None
