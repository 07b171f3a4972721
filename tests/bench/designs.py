"""How often the design that is chosen from an earlier run detects the difference that it was chosen for, and its cost.

    python tests/bench/designs.py [REPETITIONS]

A line is a setting: a scale, what varies, a panel with its prices, and a difference. Each repetition draws an earlier
run of `LEARNED` items in the default design, estimates the components of a difference, chooses the cheapest design for
`POWER`, draws scores in that design, and tests the difference by Student's t over items. Beside the share of tests that
detect it stand the mean cost, as a share of the cost of the default design: the whole panel and all samples, with the
items that the worst variance and a correlation of 0.5 ask for; and as a share of the cost with the same panel and
samples, and items by the variance that was learned. Nothing is asked in batches, in either.

In the settings of `REPEATED` the default design asks each judge three times for a mark, and a part of the noise of a
mark is that of asking again. In those of `LABELLED` people correct judges that compress the scale and are noisy beside
them: people grade all items of the earlier run and of the default design, and those that the chosen design has labels
of; the difference is that of people, and it is detected where the corrected interval leaves 0 out. There the last share is
of the cost of people who grade all that they need, without a judge.

`FROM`, `TO` and `COST` are what a test holds a short form to.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtr

from tripos_warehouse.measures.study_design import label_variance
from tripos_warehouse.statistics.arrays import Floats, t_tails
from tripos_warehouse.statistics.power import (
    MOST_ITEMS,
    LabelComponents,
    Levers,
    Prices,
    Space,
    cheapest,
    items_needed,
    least_difference,
    least_whole,
)
from tripos_warehouse.statistics.prediction_powered import corrected_mean
from tripos_warehouse.statistics.variance import DifferenceComponents, difference_components

POWER, FROM, TO, COST = 0.8, 0.77, 0.83, 0.7
LEARNED = 60
DIFFERENCE = 0.08
"""Of the scale."""
Draws = np.random.Generator


@dataclass(frozen=True)
class Scale:
    """The steps of a scale, from `low` to `high`, and how far latent scores spread on it."""

    name: str
    low: float
    high: float
    middle: float
    spread: float


@dataclass(frozen=True)
class Varying:
    """Variances of latent scores, as shares: of items, items × models, replies, items × judges, and gradings."""

    name: str
    items: float
    models: float
    replies: float
    judges: float
    gradings: float


@dataclass(frozen=True)
class Setting:
    """A scale, what varies, and the default panel and samples with their prices."""

    scale: Scale
    varying: Varying
    samples: int
    prices: Prices
    repeats: int = 1
    """How often the default design asks a judge for a mark."""

    @property
    def labelled(self) -> bool:
        """True if people correct the judges."""
        return self.prices.labels is not None

    @property
    def difference(self) -> float:
        """Return the difference that is to be detected."""
        return DIFFERENCE * (self.scale.high - self.scale.low)


SCALES = (
    Scale("marks of 1 to 10", 1, 10, 6.5, 3.0),
    Scale("levels of 1 to 5", 1, 5, 3.4, 1.5),
    Scale("pass or fail", 0, 1, 0.8, 1.0),
)
VARYING = (
    Varying("items differ", 0.45, 0.2, 0.15, 0.1, 0.1),
    Varying("replies and judges differ", 0.3, 0.05, 0.3, 0.15, 0.2),
)
PANELS = (
    (1, Prices(0.001, (0.008, 0.008, 0.008, 0.008))),
    (2, Prices(0.04, (0.004, 0.004, 0.004))),
    (2, Prices(0.004, (0.02, 0.004, 0.002))),
    (3, Prices(0.006, (0.006, 0.006))),
    (4, Prices(0.008, (0.008,))),
)
"""Samples of the default design, and prices of both models' replies and their judges."""
SETTINGS = tuple(
    Setting(scale, varying, samples, prices) for scale in SCALES for varying in VARYING for samples, prices in PANELS
)

REPEATED = tuple(
    Setting(scale, varying, 1, Prices(replies, (0.004, 0.004)), repeats=3)
    for scale, replies in zip(SCALES, (0.002, 0.01, 0.03), strict=True)
    for varying in VARYING
)
LABELLED = tuple(
    Setting(scale, varying, samples, Prices(0.004, (0.01, 0.006), labels=labels))
    for scale, samples, labels in zip(SCALES, (1, 1, 2), (0.2, 0.5, 1.0), strict=True)
    for varying in VARYING
)
EVERY = (*SETTINGS, *REPEATED, *LABELLED)
COMPRESSED = 0.7
"""How far a judge follows a difference, where people correct it."""


def scores(random: Draws, setting: Setting, items: int, levers: Levers, shift: float) -> tuple[Floats, Floats]:
    """Draw scores by judges, by item, model, sample, judge and repeat, and by people of the first sample; the first
    model's latent ones lie higher by `shift`."""
    v, scale = setting.varying, setting.scale
    samples, judges, repeats = levers.samples, levers.judges, levers.repeats
    again = 0.5 * v.gradings if setting.repeats > 1 else 0.0

    def effect(variance: float, *shape: int) -> Floats:
        return random.normal(0, scale.spread * variance**0.5, shape)

    seen = effect(v.items, items, 1, 1, 1) + effect(v.models, items, 2, 1, 1) + effect(v.replies, items, 2, samples, 1)
    seen[:, 0] += shift
    # Half of what a judge sees in an item is the same for both models.
    judged = (
        (COMPRESSED if setting.labelled else 1.0) * seen
        + effect(v.judges / 2, items, 1, 1, judges)
        + effect(v.judges / 2, items, 2, 1, judges)
        + effect(v.gradings - again, items, 2, samples, judges)
    )
    marks = scale.middle + judged[..., None]
    if setting.repeats > 1:
        marks = marks + effect(again, items, 2, samples, judges, repeats)
    people = scale.middle + seen[:, :, 0, 0]
    if setting.labelled:
        people = people + effect(v.judges + v.gradings, items, 2)
    by_judges, by_people = (np.clip(np.rint(each), scale.low, scale.high) for each in (marks, people))
    return by_judges, by_people


@lru_cache
def shift_of(setting: Setting) -> float:
    """Return the shift of latent scores that makes the true difference the one that is to be detected."""
    scale, v = setting.scale, setting.varying
    spread = scale.spread * (v.items + v.models + v.replies + v.judges + v.gradings) ** 0.5
    steps = np.arange(scale.low, scale.high) + 0.5

    def mean(shift: float) -> float:
        return scale.low + float(ndtr((scale.middle + shift - steps) / spread).sum())

    low, high = 0.0, scale.high - scale.low
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if mean(middle) - mean(0) < setting.difference else (low, middle)
    return (low + high) / 2


@dataclass(frozen=True)
class Outcome:
    """Of the repetitions of a setting: the share that detected the difference, and costs."""

    power: float
    of_default: float
    of_same_panel: float
    items: float
    default_items: int


def outcome(setting: Setting, repetitions: int, learned: int = LEARNED, seed: int = 1) -> Outcome:
    """Return what the designs come to that are chosen in a setting.

    >>> found = outcome(SETTINGS[2], 20)
    >>> 0.5 < found.power <= 1 and found.of_default < COST
    True
    """
    random = np.random.default_rng([seed, EVERY.index(setting)])
    panel = len(setting.prices.judgements)
    usual = Levers(setting.samples, panel, setting.repeats, labels=setting.labelled)
    width = setting.scale.high - setting.scale.low
    default = int(items_needed(setting.difference, 0.25 * width**2).value or 0)
    shift, detected, cost, same, items = shift_of(setting), 0, 0.0, 0.0, 0.0
    for _ in range(repetitions):
        earlier, people = scores(random, setting, learned, usual, shift)
        item, model, sample, judge, _ = (each.ravel() for each in np.indices(earlier.shape))
        parts = difference_components(earlier.ravel(), item, model, sample, judge)
        assert isinstance(parts, DifferenceComponents)
        labels = taught(people, earlier) if setting.labelled else None
        space = Space(parts, setting.prices, labels, only_labelled=setting.labelled)
        found = cheapest(space, setting.difference)
        chosen = found[0]
        cost += chosen.cost
        alone = None if labels is None else by_people(setting, labels)
        same += next(each.cost for each in found if each.levers == usual) if alone is None else alone
        items += chosen.items
        drawn, people = scores(random, setting, chosen.items, chosen.levers, shift)
        differences = (drawn[:, 0] - drawn[:, 1]).mean(axis=(1, 2, 3))
        detected += found_apart(differences, people[:, 0] - people[:, 1], chosen.labels, width)
    by_default = default * (Space(parts, setting.prices).per_item(usual) + (setting.prices.labels or 0.0))
    many = repetitions
    return Outcome(detected / many, cost / many / by_default, cost / same, items / many, default)


def taught(people: Floats, judges: Floats) -> LabelComponents:
    """Return what labels of all items of an earlier run teach, as a store's do."""
    items, models = people.shape
    rows = np.stack([people.ravel(), judges[:, :, 0].mean(axis=(2, 3)).ravel()], axis=1)
    names = [str(item) for item in range(items) for _ in range(models)]
    return label_variance(rows, names, [str(model) for _ in range(items) for model in range(models)])


def by_people(setting: Setting, labels: LabelComponents) -> float:
    """Return the cost of people who grade all that they need to detect the difference, without a judge."""

    def reaches(items: int) -> bool:
        return least_difference(labels.people / items, items - 1, LEARNED) <= setting.difference

    assert setting.prices.labels is not None
    return (least_whole(reaches, 2, MOST_ITEMS) or MOST_ITEMS) * (setting.prices.replies + setting.prices.labels)


def found_apart(judged: Floats, people: Floats, labels: int, width: float) -> bool:
    """Return true if a difference is told from 0: by Student's t over items, or as people correct it on the first
    `labels` of the items."""
    if labels:
        given = [*people[:labels].tolist(), *[None] * (len(judged) - labels)]
        found = corrected_mean(judged.tolist(), given, ends=(-width, width)).result
        return found.low is not None and found.high is not None and not found.low <= 0 <= found.high
    error = judged.std(ddof=1) / len(judged) ** 0.5
    return bool(error == 0 or t_tails(judged.mean() / error, len(judged) - 1) < 0.05)


def main() -> None:
    """Print a line a setting."""
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    learned = int(sys.argv[2]) if len(sys.argv) > 2 else LEARNED
    print(f"{repetitions:,} repetitions, learned from {learned} items; power, cost of default, cost of the same panel")
    every = []
    for setting in EVERY:
        found = outcome(setting, repetitions, learned)
        every.append(found)
        told = f"{setting.scale.name}, {setting.varying.name}, {len(setting.prices.judgements)} x {setting.samples}"
        told += f" x {setting.repeats}" if setting.repeats > 1 else ", labels" if setting.labelled else ""
        print(
            f"{told:<62}{found.power:6.1%} {found.of_default:6.0%} {found.of_same_panel:6.0%}"
            f" {found.items:5.0f} items for {found.default_items}",
            flush=True,
        )
    powers, costs, same = (np.array([getattr(each, name) for each in every]) for name in
                           ("power", "of_default", "of_same_panel"))  # fmt: skip
    print(f"power {powers.min():.1%} to {powers.max():.1%}, mean {powers.mean():.1%}")
    print(f"cost of default: {costs.min():.0%} to {costs.max():.0%}, median {np.median(costs):.0%}")
    print(f"cost of the same panel: {same.min():.0%} to {same.max():.0%}, median {np.median(same):.0%}")


if __name__ == "__main__":
    main()
