"""The figures that a log has of its own, held against those of the scores that were read from it."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

from tripos.importing.logs.entries import OwnFigure
from tripos.importing.logs.reducers import MEAN, reduced_measure, reduced_value

MEANS = frozenset({"mean", "accuracy"})
ERRORS = frozenset({"stderr"})
CLOSE = 1e-9


class ItemSums:
    """The sum and the number of the scores of each item, by its place: 16 bytes an item."""

    def __init__(self) -> None:
        self.totals, self.counts = array("d"), array("q")
        self.items = 0
        self.truth = True
        """Whether all are 0 or 1."""

    @property
    def most(self) -> int:
        """The most scores of an item."""
        return max(self.counts, default=0)

    def add(self, item: int, value: float) -> None:
        """Take in a score."""
        if (more := item + 1 - len(self.totals)) > 0:
            self.totals.extend(repeat(0.0, more))
            self.counts.extend(repeat(0, more))
        self.truth = self.truth and value in (0.0, 1.0)
        self.items += not self.counts[item]
        self.totals[item] += value
        self.counts[item] += 1

    def __len__(self) -> int:
        return self.items

    def __iter__(self) -> Iterator[tuple[float, int]]:
        return (pair for pair in zip(self.totals, self.counts, strict=True) if pair[1])


@dataclass
class FigureCheck:
    """The sums of the scores of a log, by task and score."""

    sums: dict[tuple[str, str], ItemSums] = field(default_factory=dict)

    def add(self, task: str, score: str, item: int, value: float | None) -> None:
        """Take in a score."""
        if value is None:
            return
        if (task, score) not in self.sums:
            self.sums[task, score] = ItemSums()
        self.sums[task, score].add(item, value)

    def own(self, figures: Sequence[OwnFigure]) -> list[dict[str, Any]]:
        """Return the figures of a log that nothing here computes: of the whole set, of a reducer that no measure says,
        of metrics other than a mean, and of scores that the log does not have."""
        return [
            {
                "task": each.task,
                "score": each.score,
                "figure": each.name,
                **({} if each.reducer == MEAN else {"reducer": each.reducer}),
                "value": each.value,
            }
            for each in figures
            if not self._is_held(each)
        ]

    def _is_held(self, figure: OwnFigure) -> bool:
        items = self.sums.get((figure.task, figure.score))
        if figure.whole or items is None or figure.name not in MEANS | ERRORS:
            return False
        if figure.reducer == MEAN:
            return True
        said = reduced_measure(figure.score, figure.reducer, truth=items.truth, samples=items.most)
        return figure.name in MEANS and said is not None

    def unheld(self, figures: Sequence[OwnFigure]) -> list[str]:
        """Return the scores of which a log has a mean, and no score."""
        lacking = (each.score for each in figures if each.name in MEANS and (each.task, each.score) not in self.sums)
        return list(dict.fromkeys(lacking))

    def differences(self, figures: Sequence[OwnFigure]) -> Iterator[dict[str, Any]]:
        """Yield every figure of a log that can be held against its scores: the figure, what a report makes of the
        scores, and whether they are the same. An error is that of the mean."""
        for figure in figures:
            items = self.sums.get((figure.task, figure.score), ItemSums())
            if not self._is_held(figure):
                continue
            if figure.reducer != MEAN:
                reduced = _reduced(items, figure.reducer)
                if reduced is None:
                    continue
                here = reduced
            elif figure.name in MEANS and len(items):
                here = mean_of(items)
            elif figure.name in ERRORS and len(items) > 1:
                here = standard_error(items)
                others = plain_error(items)
                if math.isclose(others, figure.value, rel_tol=CLOSE, abs_tol=CLOSE):
                    here = others
            else:
                continue
            same = math.isclose(here, figure.value, rel_tol=CLOSE, abs_tol=CLOSE)
            told = {"task": figure.task, "score": figure.score, "figure": figure.name}
            told |= {} if figure.reducer == MEAN else {"reducer": figure.reducer}
            yield {**told, "log": figure.value, "scores": here, "same": same}


def _reduced(items: ItemSums, reducer: str) -> float | None:
    """Return the mean of what a reducer makes of each item's scores, of which all are 0 or 1; None of others."""
    if not items.truth:
        return None
    values = [reduced_value(reducer, round(total), count) for total, count in items]
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known and len(known) == len(values) else None


def mean_of(items: ItemSums | Sequence[tuple[float, int]]) -> float:
    """Return the mean of scores, given their sum and number for every item."""
    return math.fsum(total for total, _ in items) / sum(count for _, count in items)


def standard_error(items: ItemSums | Sequence[tuple[float, int]]) -> float:
    """Return the standard error of that mean as reports have it, by item, of two items or more (`cell_means`).

    >>> standard_error([(0.0, 1), (1.0, 1)])
    0.5
    """
    _, scores = zip(*items, strict=True)
    whole = sum(scores)
    second, third = (math.fsum((count / whole) ** power for count in scores) for power in (2, 3))
    return plain_error(items) * math.sqrt(second / (second - 2 * third + second**2) * (len(scores) - 1) / len(scores))


def plain_error(items: ItemSums | Sequence[tuple[float, int]]) -> float:
    """Return the same as other programs have it, with the factor m / (m - 1) also where m items differ in their numbers
    of scores (Liang and Zeger 1986)."""
    mean, scores = mean_of(items), sum(count for _, count in items)
    influences = math.fsum(((total - mean * count) / scores) ** 2 for total, count in items)
    return math.sqrt(influences * len(items) / (len(items) - 1))
