"""Figures that a run follows: what each item adds to them, and the sequences of what it adds.

A sum of means is a mean over items. Of N items, one of the n in a mean adds N/n times its own value to it, times the
factor of the mean; of K cells over which a mean is taken, N/(K n) times. So one sequence follows the whole figure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import product
from statistics import fmean
from typing import TYPE_CHECKING, Any

from tripos_compiler.language.figures import SettlingFigure, SettlingMean
from tripos_compiler.plan import Grade, Plan, Scenario
from tripos_compiler.source import dataclass
from tripos_runtime.datasets import Case
from tripos_runtime.drivers import ItemScore

if TYPE_CHECKING:
    from tripos_warehouse.statistics.design import BettingSequence

LEVEL = 0.05
"""The probability that a sequence leaves the truth at any time, and that any comparison is settled wrongly."""
Cell = tuple[str | None, ...]
Place = tuple[int, Cell]
"""A mean of a figure, by its number, and the cell of those that it is taken over."""
Additions = dict[Place, float]
"""What an item has at each place."""


@dataclass
class FollowedFigure:
    """A figure by cell, and how a case is read for it. Its cells are known once every case is counted."""

    figure: SettlingFigure
    plan: Plan
    items: dict[Cell, int] = field(default_factory=dict)
    """The cases of each cell."""
    cases: dict[Cell, dict[str, int]] = field(default_factory=dict)
    """How many of them each cluster has: an item that several scenarios ask about, items that were drawn together."""
    _counts: dict[Cell, dict[Place, int]] = field(default_factory=dict)
    _shapes: dict[Cell, set[frozenset[Place]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._dimensions = {metric.name: metric.dimension for metric in self.plan.metrics}

    def count(self, case: Case, scenario: Scenario, cluster: str) -> None:
        """Count a case of the run, which is of a cluster."""
        for cell, places in self.places(case, scenario).items():
            self.items[cell] = self.items.get(cell, 0) + 1
            own = self.cases.setdefault(cell, {})
            own[cluster] = own.get(cluster, 0) + 1
            counts = self._counts.setdefault(cell, {})
            for place in places:
                counts[place] = counts.get(place, 0) + 1
            self._shapes.setdefault(cell, set()).add(places)

    @property
    def cells(self) -> Iterator[Cell]:
        """The cells in which every mean has items."""
        for cell, counts in self._counts.items():
            if len({number for number, _ in counts}) == len(self.figure.means):
                yield cell

    def ends(self, cell: Cell) -> tuple[float, float]:
        """Between which ends an item adds to the figure."""
        lows, highs = zip(*(self._reach(cell, shape) for shape in self._shapes[cell]), strict=True)
        return self.figure.constant + min(lows), self.figure.constant + max(highs)

    def span(self, cell: Cell) -> float:
        """How far what two models add by one item can differ."""
        widest = max(high - low for low, high in (self._reach(cell, shape) for shape in self._shapes[cell]))
        return widest * max(self.share(cell, cluster) for cluster in self.cases[cell])

    def share(self, cell: Cell, cluster: str) -> float:
        """Return how often the mean of a cluster's cases counts in a mean over clusters, so that each case counts
        once."""
        own = self.cases[cell]
        return own[cluster] * len(own) / self.items[cell]

    def added(self, cell: Cell, values: Additions) -> float:
        """Return what an item adds to the figure by its values."""
        return self.figure.constant + sum(self._times(cell, place) * value for place, value in values.items())

    def of_means(self, cell: Cell, means: Mapping[Place, float]) -> float | None:
        """Return the figure, made of the means of each place."""
        if self._counts[cell].keys() - means.keys():
            return None
        found = self.figure.constant
        for number, mean in enumerate(self.figure.means):
            found += mean.factor * fmean(value for (own, _), value in means.items() if own == number)
        return found

    def places(self, case: Case, scenario: Scenario) -> dict[Cell, frozenset[Place]]:
        """Return the cells in which a case has scores, if nothing fails, and where in each; `scenario` has the
        treatments that are run."""
        found: dict[Cell, set[Place]] = {}
        for number, mean in enumerate(self.figure.means):
            own = {step.fingerprint for step in mean.scored.steps}
            if all(each.name != scenario.name for each in mean.scored.scenarios):
                continue
            for treatment in scenario.treatments:
                for step in treatment.steps:
                    if getattr(step, "fingerprint", None) in own:
                        name = getattr(step, "name", "")
                        titles = step.metrics or (name,) if isinstance(step, Grade) else (name,)
                        for title in titles:
                            if mean.scored.kind != "metric" or title == mean.scored.name:
                                for cell, over in self._cells(mean, case, treatment.arms, title):
                                    found.setdefault(cell, set()).add((number, over))
        return {cell: frozenset(places) for cell, places in found.items()}

    def values(self, case: Case, scores: Sequence[ItemScore]) -> dict[tuple[str, Cell], Additions]:
        """Return a case's values at each place, by model and cell: means of its scores, by the weights of metrics."""
        sums: dict[tuple[str, Cell, Place], tuple[float, float]] = {}
        for (number, mean), score in product(enumerate(self.figure.means), scores):
            named = score.scorer if mean.scored.kind == "scorer" else score.metric
            inside = mean.scored.within in (None, case.scenario.name)
            if not inside or named != mean.scored.name or score.value is None:
                continue
            weight = _weight(mean, case.scenario, score.metric)
            for cell, over in self._cells(mean, case, score.arms, score.metric):
                key = (score.model, cell, (number, over))
                total, weights = sums.get(key, (0.0, 0.0))
                sums[key] = total + weight * score.value, weights + weight
        found: dict[tuple[str, Cell], Additions] = {}
        for (model, cell, place), (total, weights) in sums.items():
            found.setdefault((model, cell), {})[place] = total / weights
        return found

    def _times(self, cell: Cell, place: Place) -> float:
        """Return how often an item's value at a place counts in what it adds."""
        number, _ = place
        cells = sum(own == number for own, _ in self._counts[cell])
        return self.figure.means[number].factor * self.items[cell] / (cells * self._counts[cell][place])

    def _reach(self, cell: Cell, shape: Iterable[Place]) -> tuple[float, float]:
        """Return the least and the most that an item with values at these places adds, without the constant."""
        low = high = 0.0
        for place in shape:
            ends = [self._times(cell, place) * end for end in self.figure.means[place[0]].ends]
            low, high = low + min(ends), high + max(ends)
        return low, high

    def _cells(
        self, mean: SettlingMean, case: Case, arms: Mapping[str, str], metric: str
    ) -> Iterator[tuple[Cell, Cell]]:
        """Yield the cell of a score, and its cell of those that a mean is taken over; nothing where it is in none."""
        known: dict[str, Any] = {**case.context, **arms, "scenario": case.scenario.name, "metric": metric}
        known["dimension"] = self._dimensions.get(metric)

        def at(name: str) -> str | None:
            alias, dot, of = name.partition(".")
            value = case.names[alias].get(of) if dot else known.get(name)
            return None if value is None else str(value).lower() if isinstance(value, bool) else str(value)

        if all(at(name) == value for name, value in mean.fixed):
            yield tuple(map(at, self.figure.by)), tuple(map(at, mean.over))


def _weight(mean: SettlingMean, scenario: Scenario, metric: str) -> float:
    if mean.scored.kind != "scorer":
        return 1.0
    own = {step.fingerprint for step in mean.scored.steps}
    for step in scenario.steps:
        if isinstance(step, Grade) and step.fingerprint in own and metric in step.metrics and step.weights:
            return step.weights[step.metrics.index(metric)]
    return 1.0


@dataclass
class Followed:
    """The sequence of one model's figure in one cell."""

    name: str
    model: str
    figure: FollowedFigure
    cell: Cell
    sequence: BettingSequence
    gate: tuple[int, float] | None = None
    """Of an expectation: on which side of what value it holds."""
    margin: float | None = None
    """Of a measure: how close it is known once it is settled."""
    wanted: bool = False
    """True if the run goes on until it is settled."""
    _sums: dict[Place, tuple[float, int]] = field(default_factory=dict)

    def add(self, places: Iterable[Place], values: Additions) -> float | None:
        """Take the next item's values, and return what it adds; `None` where one of them is missing."""
        for place, value in values.items():
            total, many = self._sums.get(place, (0.0, 0))
            self._sums[place] = total + value, many + 1
        whole = values.keys() >= set(places)
        added = self.figure.added(self.cell, values) if whole else None
        self.sequence.add(added)
        return added

    @property
    def by(self) -> dict[str, str | None]:
        """The dimensions of the cell."""
        return dict(zip(self.figure.figure.by, self.cell, strict=True))

    @property
    def value(self) -> float | None:
        """The figure of the items so far."""
        return self.figure.of_means(self.cell, {place: total / many for place, (total, many) in self._sums.items()})

    @property
    def interval(self) -> tuple[float, float]:
        """The interval of the sequence, cut at the ends of the figure, and no narrower than that it holds the value."""
        low, high = self.sequence.interval(LEVEL)
        ends, value = self.figure.figure.ends, self.value
        inside = (low, high) if value is None else (min(low, value), max(high, value))
        return max(ends[0], inside[0]), min(ends[1], inside[1])

    @property
    def settled(self) -> bool:
        """True if the figure is known to the margin, or the expectation is decided."""
        low, high = self.interval
        if self.gate is not None:
            return not low <= self.gate[1] <= high
        return self.margin is not None and high - low <= 2 * self.margin + 1e-9

    def told(self) -> dict[str, Any]:
        """Return it as JSON."""
        low, high = self.interval
        kind = "measure" if self.gate is None else "expect"
        where = {"name": self.name, "model": self.model, "by": self.by}
        count = {"items": self.sequence.n, "of": self.figure.items[self.cell], "missing": self.sequence.missing}
        figures = {"value": self.value, "low": low, "high": high, "level": LEVEL}
        return {"kind": kind, **where, **count, **figures, "settled": self.settled}
