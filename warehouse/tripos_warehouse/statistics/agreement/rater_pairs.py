"""Statistics of two raters, for more: the mean over every pair of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations

from tripos_warehouse.statistics.found import StatisticResult
from tripos_warehouse.statistics.ratings import Floats, Ratings, read_ratings


@dataclass(frozen=True)
class Pairwise:
    """A mean over pairs of raters, and what each pair came to."""

    mean: StatisticResult
    """`n` are the pairs with a value, `left_out` those without one."""
    pairs: dict[tuple[int, int], StatisticResult]
    """By the numbers of the two raters, from 0."""


def pairwise(
    statistic: Callable[[Floats, Floats], StatisticResult],
    ratings: Ratings,
    categories: Sequence[Hashable] | None = None,
) -> Pairwise:
    """The mean of a statistic of two raters over every pair of raters for which it is defined.

    `ratings` has a row a rater. With `categories` the statistic is given their places, from 0. For the interval of the
    mean, hand `lambda ratings: pairwise(…, ratings).mean` to `over_items`.

    >>> from tripos_warehouse.statistics.agreement import kendall_tau_b
    >>> found = pairwise(kendall_tau_b, [[1, 2, 3], [1, 3, 2], [2, 2, 2]])
    >>> round(found.mean.value, 3), found.mean.n, found.mean.left_out
    (0.333, 1, 2)
    >>> found.pairs[0, 2].reason
    'a rater gave all items the same: there is no order'
    """
    matrix = read_ratings(ratings, categories)
    pairs = {(a, b): statistic(matrix[a], matrix[b]) for a, b in combinations(range(len(matrix)), 2)}
    values = [found.value for found in pairs.values() if found.value is not None]
    left_out = len(pairs) - len(values)
    if not pairs:
        return Pairwise(StatisticResult.undefined("fewer than two raters"), pairs)
    if not values:
        first = next(iter(pairs.values())).reason
        return Pairwise(
            StatisticResult.undefined(f"undefined for every pair of raters ({first})", left_out=left_out), pairs
        )
    return Pairwise(StatisticResult(sum(values) / len(values), n=len(values), left_out=left_out), pairs)
