"""The least true value that items show to lie above a number: at which the lower end of the 95 % interval clears it.

What a gate on an end of an interval asks for. By 1 less the share, or the scale turned round, the same holds of the
greatest value that is shown to lie below a number.
"""

from __future__ import annotations

import math

from tripos_warehouse.statistics.found import StatisticResult
from tripos_warehouse.statistics.intervals import clopper_pearson
from tripos_warehouse.statistics.quantiles import two_sided, z_quantile


def least_shown_share(
    number: float, items: int, *, power: float = 0.8, confidence: float = 0.95, beyond: bool = False
) -> StatisticResult:
    """Return the least true share at which the lower end of the exact interval is `number` or more with a probability
    of `power`, and lies above it if `beyond`. None, and why, if even `items` that are all right do not show it; `low`
    is their lower end.

    With k the least count of right items whose interval is there, the share at which k or more are right with that
    probability, a quantile of the beta distribution of k and items − k + 1 (Clopper and Pearson 1934).

    >>> found = least_shown_share(0.8, 100)
    >>> round(found.value, 3), clopper_pearson(89, 100).low > 0.8 > clopper_pearson(88, 100).low
    (0.909, True)
    >>> none = least_shown_share(0.95, 20)
    >>> none.reason, round(none.low, 3)
    ('even all right do not show it', 0.832)
    """
    if not 0 <= number <= 1:
        raise ValueError(f"a share lies between 0 and 1, not at {number}")
    if items < 1:
        return StatisticResult.undefined("no items")

    def shows(count: int) -> bool:
        low = clopper_pearson(count, items, confidence=confidence).low
        return low is not None and (low > number if beyond else low >= number)

    if not shows(items):
        best = clopper_pearson(items, items, confidence=confidence).low
        return StatisticResult(None, "even all right do not show it", low=best, n=items)
    few, enough = -1, items
    while enough - few > 1:  # the lower end rises with the count
        middle = (few + enough) // 2
        few, enough = (few, middle) if shows(middle) else (middle, enough)
    if enough == 0:
        return StatisticResult(0.0, n=items)
    from scipy.special import betaincinv

    return StatisticResult(float(betaincinv(enough, items - enough + 1, power)), n=items)


def least_shown_mean(
    number: float, items: int, ends: tuple[float, float], *, power: float = 0.8, confidence: float = 0.95
) -> StatisticResult:
    """Return the least true mean of values between two `ends` at which the lower end of the interval clears `number`
    with a probability of `power`, by the normal approximation and for the greatest variance that such a mean allows,
    (mean − low) · (high − mean) (Bhatia and Davis 2000).

    >>> round(least_shown_mean(0.8, 100, (0, 1)).value, 3)
    0.888
    """
    low, high = ends
    if not low <= number <= high or not low < high:
        raise ValueError(f"{number} does not lie between {low} and {high}")
    if items < 1:
        return StatisticResult.undefined("no items")
    scale, above = high - low, number - low
    # The greater root x of (x − above)² = reach · x · (scale − x), with x the mean above `low`.
    reach = (z_quantile(two_sided(confidence)) + z_quantile(power)) ** 2 / items
    half = above + reach * scale / 2
    root = math.sqrt(max(half**2 - (1 + reach) * above**2, 0.0))
    return StatisticResult(low + (half + root) / (1 + reach), n=items)
