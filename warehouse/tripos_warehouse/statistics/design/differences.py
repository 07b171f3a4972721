"""Components of a paired difference: how much of what two models differ by on an item is the item, and how much noise.

Both models answer the same items, each reply is graded by the same judges, and the difference is taken item by item. Of
a design of S samples, J judges and R repeats of each grading, the difference of an item has the variance

    items + samples / S + judges / J + gradings / (S J) + repeats / (S J R),

which is what generalizability theory calls the relative error of a decision study (Brennan 2001, sections 4.1 and 5.1),
of items nested in nothing and with the panel fixed. The mean over items has this variance over their number.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import field, replace

import numpy as np

from tripos_compiler.source import dataclass
from tripos_warehouse.statistics.design.components import RESIDUAL, VarianceComponents, variance_components
from tripos_warehouse.statistics.ratings import Ints, Values, cluster_codes, read_values

CORRELATION = 0.5
"""How far the scores of two models on one item are taken to go together, where one model alone is known."""


@dataclass(frozen=True)
class DifferenceComponents:
    """The parts of the variance of an item's difference of two models; a part that is not known apart is in another.

    >>> parts = DifferenceComponents(items=0.04, samples=0.08, judges=0.02, gradings=0.06)
    >>> round(parts.variance(), 3), round(parts.variance(samples=2, judges=2), 3)
    (0.2, 0.105)
    """

    items: float
    """Of the difference that any number of samples and judges would leave."""
    samples: float = 0.0
    """Of a reply of each model, whoever judges it."""
    judges: float = 0.0
    """Of what a judge sees in the item's replies and others do not."""
    gradings: float = 0.0
    """Of what a judge sees in one reply."""
    repeats: float = 0.0
    """Of what a judge gives the same reply when it is asked again."""
    shared: float = 0.0
    """Of the mean of both models on an item, which a paired difference does not have."""
    panel: float | None = None
    """Of the difference between one judge and another over all items: it is no noise of a panel that stays the same,
    and more items do not lessen it. `None` where it is not known."""
    known: frozenset[str] = frozenset({"samples", "judges", "repeats"})
    """The levers whose effect is known: `samples`, `judges`, `repeats`."""
    learned_from: int | None = None
    """The items that the parts are estimated from; `None` where they are given."""
    observed: tuple[int, int, int] = (1, 1, 1)
    """The samples, judges and repeats of an item, as the most items have them."""
    models: int = 2
    """The models that the parts are estimated from; of one alone, `CORRELATION` says how two go together."""

    def variance(self, samples: float = 1, judges: float = 1, repeats: float = 1) -> float:
        """Return the variance of the difference of one item; a part of a sample or a judge counts as such."""
        graded = self.gradings + self.repeats / repeats
        return self.items + self.samples / samples + self.judges / judges + graded / (samples * judges)

    def scaled(self, times: float) -> DifferenceComponents:
        """Return parts of which each is so many times as large.

        >>> DifferenceComponents(items=0.5, samples=0.25).scaled(2).variance()
        1.5
        """
        names = ("items", "samples", "judges", "gradings", "repeats", "shared")
        return self if times == 1 else replace(self, **{name: times * getattr(self, name) for name in names})

    def correlation(self, samples: int = 1, judges: int = 1, repeats: int = 1) -> float:
        """Return how far the scores of two models on an item go together; 0 where nothing varies."""
        whole = self.shared + self.variance(samples, judges, repeats) / 2
        return self.shared / whole if whole else 0.0


@dataclass(frozen=True)
class Unknown:
    """Components that cannot be estimated, and why."""

    reason: str
    missing: dict[str, str] = field(default_factory=dict)


FEWEST_ITEMS = 8
"""With fewer items a variance is no more than a guess."""


def difference_components(
    values: Values,
    items: Sequence[Hashable] | Ints,
    models: Sequence[Hashable] | Ints,
    samples: Sequence[Hashable] | Ints,
    judges: Sequence[Hashable] | Ints,
    cells: Sequence[Hashable] | Ints | None = None,
) -> DifferenceComponents | Unknown:
    """Return the components of a difference of two of the models, as the mean over all pairs of them.

    A value is a grade of a reply: of an item, by a model, the `samples`-th, as a judge sees it; values that are alike
    in all four are repeats. `cells` are what items are averaged within: then differences between them are not noise.
    The means of models, judges and cells are fixed effects (`variance_components`), and the parts are twice those of
    one model: σ² of item × model, reply, item × judge × model, and reply × judge.

    >>> import numpy as np
    >>> draws = np.random.default_rng(1)
    >>> item, model, sample = (each.ravel() for each in np.indices((500, 2, 2)))
    >>> own = draws.normal(0, 0.3, (500, 2))[item, model]
    >>> scores = draws.normal(0, 1, 500)[item] + own + draws.normal(0, 0.5, 2000)
    >>> found = difference_components(scores, item, model, sample, item * 0)
    >>> round(found.items, 1), round(found.samples, 1), sorted(found.known)
    (0.2, 0.5, ['samples'])
    """
    y = read_values(values)
    there = ~np.isnan(y)
    y = y[there]
    item, model, judge = (cluster_codes(each, len(there))[there] for each in (items, models, judges))
    sample = cluster_codes(samples, len(there))[there]
    cell = np.zeros(len(y), dtype=np.int64) if cells is None else cluster_codes(cells, len(there))[there]
    many = _distinct(item)
    if many < FEWEST_ITEMS:
        return Unknown(f"{many} items have scores: it takes {FEWEST_ITEMS}")
    both = _distinct(model) > 1
    reply = _together(item, model, sample)
    grading = _together(reply, judge)
    factors = {"items": item, "items x models": _together(item, model)} if both else {"items": item}
    factors |= {"items x judges": _together(item, judge)}
    factors |= {"items x judges x models": _together(item, judge, model)} if both else {}
    factors |= {"replies": reply, "gradings": grading}
    # What both models have of an item is their covariance.
    signed = ("items", "items x judges") if both else ()
    found = variance_components(y, factors, _together(model, judge, cell), signed)
    if RESIDUAL not in found:
        return Unknown(found.missing[RESIDUAL], dict(found.missing))
    counts = (
        _usual(_together(item, model), reply),
        _usual(item, _together(item, judge)),
        _usual(grading, np.arange(len(y))),
    )
    known = frozenset(name for name, count in zip(("samples", "judges", "repeats"), counts, strict=True) if count > 1)
    panel = _between_judges(y, model, judge, factors) if both and "judges" in known else None
    return _of_difference(found, both, known, counts, panel, many, _distinct(model))


def _of_difference(
    found: VarianceComponents,
    both: bool,
    known: frozenset[str],
    counts: tuple[int, int, int],
    panel: float | None,
    items: int,
    models: int,
) -> DifferenceComponents | Unknown:
    """Return twice the components of one model. What could not be told apart lies in the residual, or in the items."""

    rest = 2 * found[RESIDUAL]
    replies, graded, repeated = 2 * found.get("replies"), 2 * found.get("gradings"), 0.0
    if "repeats" in known:
        repeated = rest
    elif "judges" in known:
        graded += rest
    else:
        replies += rest
    if both:
        own, by_judge, shared = (
            2 * found.get("items x models"),
            2 * found.get("items x judges x models"),
            found.get("items"),
        )
    else:
        own, shared = 2 * (1 - CORRELATION) * found.get("items"), CORRELATION * found.get("items")
        by_judge = 2 * found.get("items x judges")
    if "samples" not in known:
        # A reply a model: what differs between replies differs between items, and is in the same part.
        own, replies = own + replies, 0.0
    if own + replies + by_judge + graded + repeated == 0:
        return Unknown("all differences are alike", dict(found.missing))
    return DifferenceComponents(own, replies, by_judge, graded, repeated, shared, panel, known, items, counts, models)


def _distinct(codes: Ints) -> int:
    """Return how many different numbers there are. `np.unique` would import what masks arrays: 10 ms."""
    return int(np.count_nonzero(np.bincount(codes)))


def _together(*codes: Ints) -> Ints:
    """Return a number for every combination that occurs."""
    found = codes[0]
    for more in codes[1:]:
        joined = found * (int(more.max()) + 1 if len(more) else 1) + more
        found = np.unique(joined, return_inverse=True)[1].astype(np.int64)
    return found


def _usual(outer: Ints, inner: Ints) -> int:
    """Return how many levels of `inner` an `outer` one has, as most have it; of as many, the fewer."""
    pairs = np.unique(np.stack([outer, inner]), return_index=True, axis=1)[0][0]  # with places: see `_distinct`
    per = np.unique(pairs, return_counts=True)[1]
    sizes, times = np.unique(per, return_counts=True)
    return int(sizes[times.argmax()])


def _between_judges(y: Values, model: Ints, judge: Ints, factors: dict[str, Ints]) -> float | None:
    """Return the variance between judges of their difference of two models."""
    more = {**factors, "models": model, "judges": judge, "judges x models": _together(judge, model)}
    found = variance_components(y, more)
    return 2 * found["judges x models"] if "judges x models" in found else None
