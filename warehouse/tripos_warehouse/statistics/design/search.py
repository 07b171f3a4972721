"""The cheapest design that detects a difference of two models, and the sharpest for a sum of money.

A design is so many items, samples of each model's reply, judges, repeats of each grading, and labels by people. Its
variance comes from the components of a difference (`DifferenceComponents`), its cost from prices; every combination of
levers up to `MOST` is tried, with the fewest items that do (Cochran 1977, "Sampling Techniques", section 10.6, has the
optimum of two stages in closed form: more samples the dearer an item and the larger σ²_samples / σ²_items).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import product

from tripos_compiler.source import dataclass
from tripos_warehouse.statistics.design.differences import DifferenceComponents
from tripos_warehouse.statistics.design.learned_power import LEVEL, POWER, least_difference
from tripos_warehouse.statistics.design.uneven import MeanDesign

MOST_SAMPLES, MOST_REPEATS = 5, 3
MOST_ITEMS = 1_000_000
"""As many as are tried where there is no end to the items."""
FEWEST_LABELS = 10


@dataclass(frozen=True)
class Prices:
    """Prices in one currency, of both models together."""

    replies: float
    """Of a reply of each model to one item."""
    judgements: tuple[float, ...]
    """By judge, of grading these two replies once."""
    labels: float | None = None
    """Of a person who grades these two; `None` where nobody is asked."""
    batch: float | None = None
    """What models cost in a batch, as a share of their price; `None` where none is offered."""


@dataclass(frozen=True)
class LabelComponents:
    """The grades of people beside those of judges: variance and covariances of an item's difference of two models."""

    people: float
    """Variance of the difference that a person sees, a reply a model."""
    items: float
    """Its covariance with what judges see, as far as it lies in the item."""
    samples: float = 0.0
    """As far as it lies in the two replies."""


@dataclass(frozen=True)
class Levers:
    """The choices besides the number of items."""

    samples: int = 1
    judges: int = 1
    repeats: int = 1
    labels: bool = False
    batch: bool = False


@dataclass(frozen=True)
class Design:
    """A design with its cost and the least difference that it detects."""

    levers: Levers
    items: int
    labels: int
    panel: tuple[int, ...]
    """The judges, by their place in the prices: the cheapest ones."""
    cost: float
    detects: float
    """The least difference with the power that was asked for."""
    reaches: bool = True
    """False where no number of items that there are detects the difference."""


@dataclass(frozen=True)
class Space:
    """The designs to choose from. `labels` where people may grade; `most_items` where there are no more."""

    components: DifferenceComponents
    prices: Prices
    labels: LabelComponents | None = None
    only_labelled: bool = False
    """True where a figure is asked for that people correct: then every design has labels."""
    most_items: int = MOST_ITEMS
    planned: MeanDesign | None = None
    """How the mean weighs the items that are planned, and those of another number after their pattern; `None` where all
    weigh alike. The components are those of the mean, times the number of items."""
    most_samples: int = MOST_SAMPLES
    most_repeats: int = MOST_REPEATS
    power: float = POWER
    level: float = LEVEL

    def levers(self) -> Iterator[Levers]:
        """Yield every combination whose effect the components know; of others the value that was observed."""
        parts = self.components
        samples, judges, repeats = parts.observed
        panel = len(self.prices.judgements)
        yield from (
            Levers(*chosen)
            for chosen in product(
                range(1, self.most_samples + 1) if "samples" in parts.known else (samples,),
                range(1, panel + 1) if "judges" in parts.known and panel else (min(judges, panel) if panel else 1,),
                range(1, self.most_repeats + 1) if "repeats" in parts.known and panel else (repeats,),
                self._labelling(),
                (False, True) if self.prices.batch is not None else (False,),
            )
        )

    def _labelling(self) -> tuple[bool, ...]:
        if self.labels is None or self.prices.labels is None:
            return (False,)
        return (True,) if self.only_labelled else (False, True)

    def per_item(self, levers: Levers) -> float:
        """Return what an item costs without people."""
        graded = levers.repeats * sum(self.prices.judgements[place] for place in self.panel(levers.judges))
        share = self.prices.batch if levers.batch and self.prices.batch is not None else 1.0
        return share * levers.samples * (self.prices.replies + graded)

    def panel(self, judges: int) -> tuple[int, ...]:
        """Return the cheapest judges, by place."""
        order = sorted(range(len(self.prices.judgements)), key=lambda place: (self.prices.judgements[place], place))
        return tuple(sorted(order[:judges]))

    def variance(self, levers: Levers, items: int, labels: int) -> float:
        """Return the variance of the mean difference."""
        parts = self.components
        every = parts.variance(levers.samples, levers.judges, levers.repeats)
        if not levers.labels:
            return every / items
        assert self.labels is not None
        one = parts.variance(1, levers.judges, levers.repeats)
        if labels < 4:
            return math.inf
        # λ is estimated from the labels: it takes a degree of freedom, and its own error adds to that of the figure.
        raised = (labels - 1) / (labels - 2) * (1 + 1 / (labels - 3))
        return raised * corrected_variance(self.labels, every, one, levers.samples, items, labels)

    def detects(self, levers: Levers, items: int, labels: int) -> float:
        """Return the least difference that is detected."""
        variance = self.variance(levers, items, labels)
        if self.planned is not None and not levers.labels:
            errors = self.planned.errors(items, self.components.learned_from, power=self.power, level=self.level)
            return errors * math.sqrt(variance) if math.isfinite(errors) else errors
        df = labels - 2 if levers.labels else items - 1
        return least_difference(variance, df, self.components.learned_from, power=self.power, level=self.level)

    def design(self, levers: Levers, items: int, labels: int = 0, reaches: bool = True) -> Design:
        """Return a design with its cost and what it detects."""
        cost = items * self.per_item(levers) + labels * (self.prices.labels or 0.0)
        detects = self.detects(levers, items, labels)
        return Design(levers, items, labels, self.panel(levers.judges), cost, detects, reaches)


def corrected_variance(
    labels: LabelComponents, every: float, one: float, samples: int, items: float, labelled: float
) -> float:
    """Return the variance of a difference that people's labels correct: of `labelled` items, of a judge on all `items`.

    H + λ (J - L) at its best λ has Var H - c² / Var(J - L), with c the covariance of H and L - J (Angelopoulos, Duchi
    and Zrnic 2023, PPI++, section 6). People grade one sample of each model, the judge has `samples` of each: `every`
    is the variance of an item's difference over these, and `one` over one of them.

    >>> labels = LabelComponents(people=1.0, items=0.8)
    >>> round(corrected_variance(labels, 1.0, 1.0, 1, 1000, 100), 5), corrected_variance(labels, 1.0, 1.0, 1, 100, 100)
    (0.00424, 0.01)
    """
    alone = labels.people / labelled
    beyond = one / labelled - every / items
    shared = (labels.items + labels.samples) / labelled - (labels.items + labels.samples / samples) / items
    if beyond <= 1e-12 * one / labelled or shared <= 0:
        return alone
    return max(alone - shared**2 / beyond, 1e-12 * alone)


def cheapest(space: Space, difference: float) -> list[Design]:
    """Return the cheapest design of every combination of levers that detects a `difference`, the cheapest of all first.

    Those that no number of items reaches come last, with all items that there are; of designs that cost the same, the
    one with more judges comes first. Raises `ValueError` unless the difference is above 0.

    >>> parts = DifferenceComponents(items=0.04, samples=0.08, judges=0.02, gradings=0.06)
    >>> found = cheapest(Space(parts, Prices(replies=0.001, judgements=(0.01, 0.002))), 0.05)[0]
    >>> found.levers.samples, found.levers.judges, found.panel, found.items, round(found.cost, 2)
    (1, 1, (1,), 630, 1.89)
    """
    if not difference > 0:
        raise ValueError(f"a difference that a design detects is above 0, not {difference}")
    return sorted(
        ((_with_labels if each.labels else _fewest)(space, each, difference) for each in space.levers()), key=_by_cost
    )


def _by_cost(design: Design) -> tuple[object, ...]:
    levers = design.levers
    rank = design.cost if design.reaches else design.detects
    return not design.reaches, rank, -levers.judges, levers.repeats, levers.samples, levers.batch


def _fewest(space: Space, levers: Levers, difference: float) -> Design:
    items = least_whole(lambda items: space.detects(levers, items, 0) <= difference, 2, space.most_items)
    return space.design(levers, space.most_items if items is None else items, reaches=items is not None)


def _with_labels(space: Space, levers: Levers, difference: float) -> Design:
    """Return the cheapest pair of items and labels: for each number of items the fewest labels that do."""
    best: Design | None = None
    for items in _steps(space.most_items):

        def detects(labels: int, items: int = items) -> bool:
            return space.detects(levers, items, labels) <= difference

        labels = least_whole(detects, min(FEWEST_LABELS, items), items)
        if labels is None:
            continue
        design = space.design(levers, items, labels)
        if best is not None and design.cost > 4 * best.cost:
            break
        if best is None or design.cost < best.cost:
            best = design
    if best is not None:
        return best
    return space.design(levers, space.most_items, space.most_items, reaches=False)


def _steps(most: int) -> Iterator[int]:
    """Yield numbers of items an eighth apart, and the last."""
    items = FEWEST_LABELS
    while items < most:
        yield items
        items += max(1, items // 8)
    yield most


def least_whole(holds: Callable[[int], bool], low: int, high: int) -> int | None:
    """Return the least whole number from `low` to `high` for which something holds that, once it does, goes on to;
    `None` where it never does.

    >>> least_whole(lambda number: number**2 > 50, 1, 100), least_whole(lambda number: False, 1, 100)
    (8, None)
    """
    reach = low
    while reach < high and not holds(reach):
        low, reach = reach + 1, min(2 * reach, high)
    if reach >= high and not holds(high):
        return None
    high = min(reach, high)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return high


def sharpest(space: Space, money: float) -> list[Design]:
    """Return the sharpest design of every combination of levers for a sum of money, the sharpest of all first.

    Combinations whose first two items cost more are left out; so the list may be empty. Raises `ValueError` unless the
    sum is above 0.

    >>> parts = DifferenceComponents(items=0.04, samples=0.08, judges=0.02, gradings=0.06)
    >>> found = sharpest(Space(parts, Prices(replies=0.001, judgements=(0.01, 0.002))), 2.5)[0]
    >>> found.levers.samples, found.items, round(found.detects, 3)
    (1, 833, 0.043)
    """
    if not money > 0:
        raise ValueError(f"a sum of money to spend is above 0, not {money}")
    found = []
    for levers in space.levers():
        each = space.per_item(levers)
        afforded = space.most_items if each == 0 else min(space.most_items, int(money / each * (1 + 1e-12)))
        if levers.labels:
            found += _shared_out(space, levers, money)
        elif afforded >= 2:
            found.append(space.design(levers, afforded))
    return sorted(found, key=lambda design: (design.detects, design.cost, -design.levers.judges, design.levers.repeats))


def _shared_out(space: Space, levers: Levers, money: float) -> list[Design]:
    """Return the best division of the money between items and labels."""
    price = space.prices.labels or 0.0
    best: Design | None = None
    for items in _steps(space.most_items):
        left = money - items * space.per_item(levers)
        labels = items if price == 0 else min(items, int(left / price * (1 + 1e-12)))
        if left < 0 or labels < min(FEWEST_LABELS, items):
            break
        design = space.design(levers, items, labels)
        if best is None or design.detects < best.detects:
            best = design
    return [] if best is None else [best]
