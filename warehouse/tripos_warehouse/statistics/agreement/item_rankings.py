"""How far raters put the replies to one item in the same order: τ_b within every item, brought to 0 to 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
AT_ONCE = 10_000
"""So many items are compared at a time: each takes the square of its replies in memory."""


@dataclass(frozen=True)
class TauByItem:
    """`figures` has one number an item, NaN where there is none; `value` is the mean of the others."""

    value: float | None
    figures: Floats
    reason: str | None = None


def tau_by_item(items: Sequence[Floats]) -> TauByItem:
    """(τ_b + 1) / 2 of every two raters over the replies to an item, as the mean over pairs and then over items.

    Each of `items` is a matrix, a row a rater and a column a reply, with NaN for holes; a pair is taken over the
    replies that both rated. It is undefined where a rater gave all replies to an item one score, and such a pair is
    left out, as is an item without any. Raters who order at random come to 0.5, not to 0: this is the figure that
    arXiv:2505.16160 reports, and no coefficient of concordance such as Kendall's W. τ_b is Kendall's of 1945.

    >>> one = np.array([[1, 2, 3, 4, 5], [2, 1, 3, 4, 5.0]])
    >>> other = np.array([[5, 4, 3, 2, 1], [1, 2, 3, 4, 5.0]])
    >>> tied = np.array([[3, 3, 3, 3, 3], [1, 2, 3, 4, 5.0]])
    >>> found = tau_by_item([one, other, tied])
    >>> round(found.value, 6), found.figures.round(6).tolist()
    (0.45, [0.9, 0.0, nan])
    """
    shapes: dict[tuple[int, ...], list[int]] = {}
    for place, ratings in enumerate(items):
        shapes.setdefault(ratings.shape, []).append(place)
    return tau_of_stacks([(np.array(places), np.stack([items[each] for each in places])) for places in shapes.values()])


def tau_of_stacks(stacks: Sequence[tuple[Ints, Floats]]) -> TauByItem:
    """Return the same of items in stacks: the places of items that have matrices of one shape, and these as one array,
    (items, raters, replies).

    >>> one = np.array([[[1, 2, 3, 4, 5], [2, 1, 3, 4, 5.0]]])
    >>> tau_of_stacks([(np.array([1]), one), (np.array([0]), one[:, :, :1])]).figures.round(6).tolist()
    [nan, 0.9]
    """
    figures = np.full(sum(len(places) for places, _ in stacks), np.nan)
    for places, ratings in stacks:
        if ratings.shape[1] >= 2 and ratings.shape[2] >= 2:
            for start in range(0, len(places), AT_ONCE):
                figures[places[start : start + AT_ONCE]] = _figures(ratings[start : start + AT_ONCE])
    if np.isnan(figures).all():
        reason = "no item has replies that two raters put in an order" if len(figures) else "nothing has a value"
        return TauByItem(None, figures, reason)
    return TauByItem(float(np.nanmean(figures)), figures)


def _figures(ratings: Floats) -> Floats:
    """Return the figure of each item of (items, raters, replies)."""
    differences = np.sign(ratings[:, :, :, None] - ratings[:, :, None, :])
    taus = []
    for one, other in combinations(range(ratings.shape[1]), 2):
        first, second = differences[:, one], differences[:, other]
        both = ~np.isnan(first) & ~np.isnan(second)
        first, second = np.where(both, first, 0), np.where(both, second, 0)
        untied = np.sqrt((first**2).sum(axis=(1, 2)) * (second**2).sum(axis=(1, 2)))
        shared = (first * second).sum(axis=(1, 2))
        taus.append(np.divide(shared, untied, out=np.full(len(untied), np.nan), where=untied > 0))
    every = np.stack(taus)
    known = (~np.isnan(every)).sum(axis=0)
    return np.where(known > 0, (np.nansum(every, axis=0) / np.maximum(known, 1) + 1) / 2, np.nan)
