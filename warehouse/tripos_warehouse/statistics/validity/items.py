"""Items: whether each tells good models from bad ones, and which may have a wrong key."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from tripos_warehouse.statistics.found import StatisticResult
from tripos_warehouse.statistics.quantiles import two_sided, z_quantile, z_tails
from tripos_warehouse.statistics.ratings import Floats, Ratings, read_ratings

NEAR_ONE = 1 - 1e-6
"""A correlation of 1 has an infinite logarithm; it is taken for this."""
FEW = "fewer than four models have it and another item: nothing shows how it goes with the rest"
STILL = "all models have the same on it, or on the rest: nothing goes with anything"


def item_discrimination(scores: Ratings, *, confidence: float = 0.95) -> list[StatisticResult]:
    """The corrected item-total correlation of every item: of its score with the mean of the model over its other items.

    `scores` has a row a model and a column an item. Below 0 those who do better elsewhere do worse here: the key may be
    wrong, or the question asks something else. The item itself is left out of the mean, which would else go with it
    (Nunnally 1978). The interval is Fisher's (1921), tanh(artanh r ± z / √(n − 3)) of n models, and the test is of 0.

    >>> scores = [[1, 1, 0, 1], [1, 1, 0, 1], [1, 0, 1, 1], [0, 0, 1, 0], [0, 1, 1, 0]]
    >>> [round(each.value, 2) for each in item_discrimination(scores)]
    [0.61, -0.22, -0.84, 0.61]
    """
    matrix = read_ratings(scores)
    there = ~np.isnan(matrix)
    totals, counts = np.where(there, matrix, 0.0).sum(axis=1), there.sum(axis=1)
    return [_discrimination(matrix[:, item], totals, counts, confidence) for item in range(matrix.shape[1])]


def _discrimination(own: Floats, totals: Floats, counts: Floats, confidence: float) -> StatisticResult:
    models = ~np.isnan(own) & (counts > 1)
    n, left_out = int(models.sum()), int((~models).sum())
    if n < 4:
        return StatisticResult.undefined(FEW, n=n, left_out=left_out)
    value = own[models]
    rest = (totals[models] - value) / (counts[models] - 1)
    if value.std() <= 1e-9 or rest.std() <= 1e-9:
        return StatisticResult.undefined(STILL, n=n, left_out=left_out)
    found = tested_correlation(float(np.corrcoef(value, rest)[0, 1]), n, confidence=confidence)
    return replace(found, left_out=left_out)


def tested_correlation(value: float | None, n: int, *, confidence: float = 0.95) -> StatisticResult:
    """A correlation of `n` pairs with Fisher's interval and his test of 0 (1921): artanh r · √(n − 3) is normal.

    >>> found = tested_correlation(-0.9, 9)
    >>> round(found.low, 2), round(found.high, 2), round(found.p, 4)
    (-0.98, -0.59, 0.0003)
    """
    if value is None or n < 4:
        return StatisticResult.undefined(FEW if n < 4 else STILL, n=n)
    r = max(-NEAR_ONE, min(NEAR_ONE, value))
    stretched, reach = math.atanh(r), z_quantile(two_sided(confidence)) / math.sqrt(n - 3)
    statistic = stretched * math.sqrt(n - 3)
    low, high = math.tanh(stretched - reach), math.tanh(stretched + reach)
    return StatisticResult(r, low=low, high=high, statistic=statistic, p=z_tails(statistic), n=n)


def wrongly_keyed(items: Iterable[StatisticResult], *, level: float = 0.05) -> list[int]:
    """Return the places of items that go against the rest, at a false discovery rate: of many items one in forty has an
    interval below 0 by chance alone (Benjamini and Hochberg 1995).

    >>> against = StatisticResult(-0.9, p=0.001)
    >>> wrongly_keyed([against, StatisticResult(-0.5, p=0.2), StatisticResult(0.9, p=0.001)])
    [0]
    """
    from tripos_warehouse.statistics.comparing import benjamini_hochberg

    found = [(each.p, (each.value or 0.0) < 0) for each in items]
    rates = benjamini_hochberg([p for p, _ in found])
    return [
        place
        for place, ((_, against), rate) in enumerate(zip(found, rates, strict=True))
        if rate is not None and rate < level and against
    ]
