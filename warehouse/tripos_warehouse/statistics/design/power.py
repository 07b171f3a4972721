"""Power of a design: the least difference, the power, and the items that it takes.

`variance` is that of the figure of one item: of its score against a fixed value, of the difference of its two scores
where two models answer the same items (`paired_variance`), and of both models' scores added up where each has items of
its own. Where items come in clusters or have several samples, `effect` is the design effect. Normal approximation
throughout (Cohen 1988; Miller 2024, "Adding error bars to evals").
"""

from __future__ import annotations

import math

from tripos_warehouse.statistics.found import StatisticResult
from tripos_warehouse.statistics.quantiles import z_quantile


def detectable_difference(
    items: float, variance: float, *, power: float = 0.8, level: float = 0.05, sides: int = 2, effect: float = 1.0
) -> StatisticResult:
    """Return the least true difference that a test at `level` finds with probability `power`, in the unit of the
    scores.

    (z₁₋α⸝₂ + z_power) · √(effect · variance / items); with one of two `sides` tested, z₁₋α. Raises `ValueError` for a
    probability outside 0 to 1, a negative variance, or sides other than 1 and 2.

    >>> round(100 * detectable_difference(198, 0.25).value, 2)
    9.95
    >>> detectable_difference(0, 0.25).reason
    'no items'
    """
    wanted = _quantile(level, sides) + _power_quantile(power, level)
    error = _error(items, variance, effect)
    return (
        StatisticResult.undefined("no items")
        if error is None
        else StatisticResult(wanted * error, standard_error=error, n=int(items))
    )


def power_of(
    difference: float, items: float, variance: float, *, level: float = 0.05, sides: int = 2, effect: float = 1.0
) -> StatisticResult:
    """Return the probability that a test at `level` finds a true `difference`.

    Φ(|δ| / e − z) + Φ(−|δ| / e − z) with e = √(effect · variance / items); one-sided without the second term, for a
    difference in the direction that is tested.

    >>> round(power_of(0.0995, 198, 0.25).value, 3), round(power_of(0, 198, 0.25).value, 3)
    (0.8, 0.05)
    """
    z = _quantile(level, sides)
    error = _error(items, variance, effect)
    if error is None:
        return StatisticResult.undefined("no items")
    if error == 0:
        return StatisticResult.undefined("no variance: any difference shows", n=int(items))
    from scipy.special import ndtr

    away = (abs(difference) if sides == 2 else difference) / error
    value = float(ndtr(away - z)) + (float(ndtr(-away - z)) if sides == 2 else 0.0)
    return StatisticResult(value, standard_error=error, n=int(items))


def items_needed(
    difference: float, variance: float, *, power: float = 0.8, level: float = 0.05, sides: int = 2, effect: float = 1.0
) -> StatisticResult:
    """The items it takes to find a true `difference` with probability `power`: a whole number, rounded up.

    effect · variance · ((z₁₋α⸝₂ + z_power) / δ)²

    >>> items_needed(0.1, 0.25).value, items_needed(0.0, 0.25).reason
    (197.0, 'no number of items shows a difference of 0')
    """
    wanted = _quantile(level, sides) + _power_quantile(power, level)
    _error(1, variance, effect)
    if difference == 0:
        return StatisticResult.undefined("no number of items shows a difference of 0")
    needed = effect * variance * (wanted / difference) ** 2
    # A hair above a whole number is what rounding leaves of it.
    whole = max(1, math.ceil(needed - 1e-9 * needed))
    return StatisticResult(float(whole), n=whole)


def paired_variance(first: float, second: float, correlation: float) -> float:
    """Return the variance of the difference of two scores of an item, from those of both and how they correlate.

    >>> round(paired_variance(0.25, 0.25, 0.5), 4)
    0.25
    """
    if not -1 <= correlation <= 1 or min(first, second) < 0:
        raise ValueError(f"no variances {first} and {second} with a correlation of {correlation}")
    return first + second - 2 * correlation * math.sqrt(first * second)


def design_effect(size: float, correlation: float, *, variation: float = 0.0) -> float:
    """Return how many times larger the variance of a mean is for coming in clusters of `size` that correlate within.

    1 + ((1 + v²) · size − 1) · ρ, with v the coefficient of `variation` of the sizes (Kish 1965; Eldridge, Ashby and
    Kerry 2006). Samples of an item are such a cluster: count the samples as items, then, and give their correlation.

    >>> design_effect(1, 0.4), round(design_effect(5, 0.25), 2)
    (1.0, 2.0)
    """
    if size < 1 or not -1 <= correlation <= 1 or variation < 0:
        raise ValueError(f"no clusters of {size} with a correlation of {correlation} and a variation of {variation}")
    return 1 + ((1 + variation**2) * size - 1) * correlation


def _quantile(level: float, sides: int) -> float:
    if not 0 < level < 1:
        raise ValueError(f"a level lies between 0 and 1, not at {level}")
    if sides not in {1, 2}:
        raise ValueError(f"a test has 1 side or 2, not {sides}")
    return z_quantile(1 - level / sides)


def _power_quantile(power: float, level: float) -> float:
    if not level < power < 1:
        raise ValueError(f"a power lies between the level, {level}, and 1, not at {power}")
    return z_quantile(power)


def _error(items: float, variance: float, effect: float) -> float | None:
    if variance < 0 or effect < 0 or items < 0:
        raise ValueError(f"no {items} items with a variance of {variance} and a design effect of {effect}")
    return math.sqrt(effect * variance / items) if items else None
