"""Power of a design: the detectable difference, the power, the number of items, and the cheapest design.

`variance` is that of the figure of one item: of its score against a fixed value, of the difference of two models'
scores on the same item (`paired_variance`), or the sum of both models' variances if each has its own items. If items
come in clusters or have several samples, `effect` is the design effect. The simple functions use the normal
approximation (Cohen 1988; Miller 2024, "Adding error bars to evals").

With an estimated variance, power is that of Student's t: noncentral t (Johnson, Kotz and Balakrishnan 1995, "Continuous
Univariate Distributions", volume 2, chapter 31). A variance V estimated with m degrees of freedom is uncertain: power
is averaged over V m / χ²_m, the distribution of the true variance given the estimate (Julious and Owen 2006, "Sample
size calculations for clinical studies allowing for uncertainty about the variance"). Without that, a design from a
pilot study is underpowered on average.

Unequal weights (`MeanDesign`). A mean of cells is Σ g_c Σ w_ic d_i: cell c weighs g_c, and in it an independent unit,
an item or a cluster of items, weighs w_ic. If every unit has the variance σ², the mean has A σ² with A = Σ_i (Σ_c g_c
w_ic)², and 1 / A is the effective number of units (Kish 1965). For one cell the error has the degrees of freedom of
Bell and McCaffrey 2002 ("Bias reduction in standard errors for linear regression with multi-stage samples"), for
several those of Satterthwaite 1946: (Σ 1 / n_c)² / Σ (1 / n_c²) / (n_c - 1) if items of a cell have equal weights. A
test estimates the variance of each cell, and its degrees of freedom from these. With cells of two or three items these
estimates are far from their expectations, and a power by noncentral t alone is wrong by up to 15 points. So power is
the mean over `DRAWS` draws of these estimates.

A design has a number of items, samples of each model's reply, judges, repeats of each grading, and labels by people.
Its variance follows from the components of a difference (`DifferenceComponents`), its cost from prices; every
combination of levers up to a maximum is tried, with the fewest sufficient items (Cochran 1977, "Sampling Techniques",
section 10.6, has the optimum of two stages in closed form: more samples the more expensive an item and the larger
σ²_samples / σ²_items).

An expectation may ask that an end of an interval lies beyond a number. `least_shown_share` and `least_shown_mean`
return the least true value at which the lower end does so. By symmetry they also give the greatest value for an upper
end.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import field, replace
from functools import cached_property, lru_cache
from itertools import product

import numpy as np

from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.statistics.arrays import Floats, Ints, two_sided, z_quantile
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.statistics.intervals import clopper_pearson
from tripos_warehouse.statistics.variance import DifferenceComponents

# Known variances


def detectable_difference(
    items: float, variance: float, *, power: float = 0.8, level: float = 0.05, sides: int = 2, effect: float = 1.0
) -> Estimate:
    """Return the least true difference that a test at `level` detects with probability `power`, in the unit of the
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
        Estimate.undefined("no items")
        if error is None
        else Estimate(wanted * error, standard_error=error, n=int(items))
    )


def power_of(
    difference: float, items: float, variance: float, *, level: float = 0.05, sides: int = 2, effect: float = 1.0
) -> Estimate:
    """Return the probability that a test at `level` detects a true `difference`.

    Φ(|δ| / e − z) + Φ(−|δ| / e − z) with e = √(effect · variance / items); one-sided without the second term, for a
    difference in the tested direction.

    >>> round(power_of(0.0995, 198, 0.25).value, 3), round(power_of(0, 198, 0.25).value, 3)
    (0.8, 0.05)
    """
    z = _quantile(level, sides)
    error = _error(items, variance, effect)
    if error is None:
        return Estimate.undefined("no items")
    if error == 0:
        return Estimate.undefined("no variance: any difference shows", n=int(items))
    from scipy.special import ndtr

    away = (abs(difference) if sides == 2 else difference) / error
    value = float(ndtr(away - z)) + (float(ndtr(-away - z)) if sides == 2 else 0.0)
    return Estimate(value, standard_error=error, n=int(items))


def items_needed(
    difference: float, variance: float, *, power: float = 0.8, level: float = 0.05, sides: int = 2, effect: float = 1.0
) -> Estimate:
    """Return the number of items that detect a true `difference` with probability `power`, rounded up.

    effect · variance · ((z₁₋α⸝₂ + z_power) / δ)²

    >>> items_needed(0.1, 0.25).value, items_needed(0.0, 0.25).reason
    (197.0, 'no number of items shows a difference of 0')
    """
    wanted = _quantile(level, sides) + _power_quantile(power, level)
    _error(1, variance, effect)
    if difference == 0:
        return Estimate.undefined("no number of items shows a difference of 0")
    needed = effect * variance * (wanted / difference) ** 2
    # A number just above an integer is that integer plus a rounding error.
    whole = max(1, math.ceil(needed - 1e-9 * needed))
    return Estimate(float(whole), n=whole)


def paired_variance(first: float, second: float, correlation: float) -> float:
    """Return the variance of the difference of two scores of an item, from the variances of both and their correlation.

    >>> round(paired_variance(0.25, 0.25, 0.5), 4)
    0.25
    """
    if not -1 <= correlation <= 1 or min(first, second) < 0:
        raise ValueError(f"no variances {first} and {second} with a correlation of {correlation}")
    return first + second - 2 * correlation * math.sqrt(first * second)


def design_effect(size: float, correlation: float, *, variation: float = 0.0) -> float:
    """Return the factor by which clusters of `size` with an intraclass `correlation` enlarge the variance of a mean.

    1 + ((1 + v²) · size − 1) · ρ, with v the coefficient of `variation` of the sizes (Kish 1965; Eldridge, Ashby and
    Kerry 2006). Samples of an item are such a cluster: then count the samples as items, and pass their correlation.

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


POWER, LEVEL = 0.8, 0.05
# Estimated variances

NODES = 32
"""The number of quantiles of χ² that represent the distribution of a variance."""
MANY = 2000
"""The degrees of freedom from which Student's t is taken to be normal."""


def power_with(
    difference: float, variance: float, df: float, learned: int | None = None, *, level: float = LEVEL
) -> float:
    """Return the probability that a t test with `df` detects a `difference` whose estimate has this variance.

    With `learned`, the variance is an estimate from this number of items, and the power is averaged over the true
    variance.

    >>> round(power_with(0.5, 1 / 32, 31), 3), round(power_with(0.5, 1 / 32, 31, 20), 3)
    (0.782, 0.752)
    """
    if variance == 0:
        return 1.0 if difference else level
    return _power(abs(difference) / math.sqrt(variance), df, learned, level)


def least_difference(
    variance: float, df: float, learned: int | None = None, *, power: float = POWER, level: float = LEVEL
) -> float:
    """Return the least difference that a t test detects with the `power`; infinite without degrees of freedom.

    >>> round(least_difference(1 / 32, 31), 3), least_difference(1 / 32, 0)
    (0.511, inf)
    """
    if df < 1:
        return math.inf
    return math.sqrt(variance) * _errors(df, learned, power, level)


def _errors(df: float, learned: int | None, power: float, level: float) -> float:
    """Return the least difference in standard errors, interpolated linearly in the inverse degrees of freedom."""
    if df >= MANY:
        return _solved(MANY, learned, power, level)
    below = _step_below(df)
    above = min(MANY, below + max(1, below // 8))
    low, high = _solved(below, learned, power, level), _solved(above, learned, power, level)
    return high + (low - high) * (1 / df - 1 / above) / (1 / below - 1 / above)


@lru_cache(maxsize=4096)
def _step_below(df: float) -> int:
    step = 1
    while (above := step + max(1, step // 8)) <= df:
        step = above
    return step


@lru_cache(maxsize=4096)
def _solved(df: int, learned: int | None, power: float, level: float) -> float:
    low, high = 0.0, z_quantile(1 - level / 2) + z_quantile(power)
    while _power(high, df, learned, level) < power:
        low, high = high, 2 * high
    while high - low > 1e-5 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _power(middle, df, learned, level) < power else (low, middle)
    return high


def _power(errors: float, df: float, learned: int | None, level: float) -> float:
    """Return the power for a difference of this number of standard errors."""
    from scipy.special import chdtri

    ratio = np.ones(1)
    if learned is not None:
        m = max(learned - 1, 1)
        ratio = m / chdtri(m, (np.arange(NODES) + 0.5) / NODES)
    return float(_tails(errors / np.sqrt(ratio), df, level).mean())


def _tails(away: Floats, df: float, level: float) -> Floats:
    from scipy.special import nctdtr, ndtr, stdtrit

    if df < 1:
        return np.zeros_like(away)
    bound = float(stdtrit(df, 1 - level / 2))
    if df >= MANY:
        normal: Floats = ndtr(away - bound) + ndtr(-away - bound)
        return normal
    # Far out the series of the noncentral t does not converge, and the power is 1 to all digits that matter.
    far = away > 30 * max(1.0, bound / 2)
    near = np.where(far, 0.0, away)
    found: Floats = np.where(far, 1.0, 1 - nctdtr(df, near, bound) + nctdtr(df, near, -bound))
    return found


# Unequal weights

DRAWS = 2000
SURE, SURE_WHOLE = 100, 500
"""With this many degrees of freedom in every cell, or in total, draws of the error add nothing to Satterthwaite."""
MAX_DRAWN_UNITS = 1000
"""With more units of unequal weights, the variance is drawn from χ² with its degrees of freedom."""

Parts = tuple[Floats, Floats, Floats, Floats]
"""By draw: the error of the mean as far as the variance estimates depend on it, its variance, and the sums of expected
squares and of their squares for Satterthwaite's degrees of freedom."""


@dataclass(frozen=True)
class CellDesign:
    """A cell of a mean: its weight `gain` in the whole, and the weights of its units."""

    gain: float
    units: tuple[int, ...]
    weights: tuple[float, ...]

    @cached_property
    def sums(self) -> tuple[float, float, float, float]:
        """Return Σ w², Σ w³, Σ w⁴ and Σ w⁵."""
        w = np.array(self.weights)
        second, third, fourth, fifth = (float((w**power).sum()) for power in (2, 3, 4, 5))
        return second, third, fourth, fifth

    @property
    def even(self) -> bool:
        """True if all units have the same weight."""
        return max(self.weights) - min(self.weights) <= 1e-12

    @property
    def left(self) -> float:
        """Return the expected sum of squares of plain influences, for a variance of 1 per unit."""
        second, third, _, _ = self.sums
        return second - 2 * third + second**2

    @property
    def df(self) -> float:
        """Return Bell and McCaffrey's degrees of freedom; m - 1 for m units of equal weight."""
        m = len(self.weights)
        if m < 2 or self.even:
            return float(m - 1)
        second, third, fourth, fifth = self.sums
        spread = second**4 + 2 * second * fourth - 4 * second**2 * third + 2 * third**2
        return self.left**2 / (spread + fourth * (1 + 2 * second) - 4 * fifth)

    def resized(self, ratio: float) -> CellDesign:
        """Return the cell with `ratio` times as many units, at least one, with the same distribution of weights."""
        count = max(1, round(ratio * len(self.weights)))
        order = np.sort(np.array(self.weights))
        taken = order[((np.arange(count) + 0.5) / count * len(order)).astype(int)]
        return replace(self, units=tuple(range(count)), weights=tuple((taken / taken.sum()).tolist()))


@dataclass(frozen=True)
class MeanDesign:
    """A mean of cells of `units` units. Cells with the same units and weights are one, with several labels."""

    cells: tuple[CellDesign, ...]
    labels: tuple[tuple[Hashable, ...], ...]
    units: int
    _steps: dict[tuple[int, int | None, float, float], float] = field(default_factory=dict, init=False, compare=False)

    @cached_property
    def variance(self) -> float:
        """The variance of the mean, for a variance of 1 per unit."""
        whole: defaultdict[int, float] = defaultdict(float)
        for cell in self.cells:
            for unit, weight in zip(cell.units, cell.weights, strict=True):
                whole[unit] += cell.gain * weight
        return sum(weight**2 for weight in whole.values())

    @property
    def effective(self) -> float:
        """The number of units of equal weight with the same precision."""
        return 1 / self.variance

    @cached_property
    def shares(self) -> tuple[float, ...]:
        """The share of each cell in the variance; for cells that share units, computed for each alone."""
        own = [cell.gain**2 * cell.sums[0] for cell in self.cells]
        return tuple(part / sum(own) for part in own)

    @property
    def single(self) -> list[int]:
        """The indices of the cells with one unit, whose error is unknown."""
        return [place for place, cell in enumerate(self.cells) if len(cell.weights) < 2]

    @property
    def even(self) -> bool:
        """True if there is one cell and all units have the same weight."""
        return len(self.cells) == 1 and self.cells[0].even

    @cached_property
    def df(self) -> float:
        """Satterthwaite's degrees of freedom for equal variances; 0 if a cell has one unit."""
        if self.single:
            return 0.0
        expected: defaultdict[int, float] = defaultdict(float)
        root: defaultdict[int, float] = defaultdict(float)
        for cell in self.cells:
            steady = math.sqrt(cell.sums[0] ** 2 / cell.df / cell.sums[2])
            for unit, weight in zip(cell.units, cell.weights, strict=True):
                expected[unit] += (cell.gain * weight) ** 2
                root[unit] += (cell.gain * weight) ** 2 * steady
        return sum(expected.values()) ** 2 / sum(each**2 for each in root.values())

    def least(self, learned: int | None = None, *, power: float = POWER, level: float = LEVEL) -> float:
        """Return the least true difference that a test detects with the `power`, in standard deviations of a unit; with
        `learned` for a deviation estimated from this number of units. Infinite if a cell has one unit.

        >>> even, uneven = mean_design(range(24)), mean_design(range(333), ["a"] * 3 + ["b"] * 30 + ["c"] * 300)
        >>> round(uneven.effective, 1), round(uneven.df, 2), round(uneven.shares[0], 2)
        (24.3, 2.46, 0.9)
        >>> round(even.least(), 2), round(uneven.least(), 1)
        (0.6, 1.0)
        """
        if self.single:
            return math.inf
        if self.even or min(cell.df for cell in self.cells) >= SURE or self.df >= SURE_WHOLE:
            return least_difference(self.variance, self.df, learned, power=power, level=level)
        return self._drawn_least(learned, power, level)

    def errors(self, units: int, learned: int | None = None, *, power: float = POWER, level: float = LEVEL) -> float:
        """Return the least difference with a number of units, in standard errors of a mean that falls with their root.

        Cells and weights keep their distribution. It is computed at numbers an eighth apart, and interpolated linearly
        in their inverse. Infinite if a cell is left with one unit.
        """
        if units == self.units:
            return self.least(learned, power=power, level=level) / math.sqrt(self.variance)
        if self.even:
            return least_difference(1.0, units - 1, learned, power=power, level=level)
        below = 2
        while (above := below + max(1, below // 8)) <= units:
            below = above
        low, high = (self._errors_at(each, learned, power, level) for each in (below, above))
        return low if math.isinf(low) else high + (low - high) * (1 / units - 1 / above) / (1 / below - 1 / above)

    def _errors_at(self, units: int, learned: int | None, power: float, level: float) -> float:
        key = units, learned, power, level
        if key not in self._steps:
            ratio = units / self.units
            cells, first = [], 0
            for cell in self.cells:
                smaller = cell.resized(ratio)
                cells.append(replace(smaller, units=tuple(range(first, first + len(smaller.units)))))
                first += len(smaller.units)
            # Cells that share units are drawn as independent: only the ratio to the standard error is used.
            design = MeanDesign(tuple(cells), self.labels, first)
            found = design.least(learned, power=power, level=level)
            own = sum(cell.gain**2 * cell.sums[0] for cell in self.cells) / ratio
            self._steps[key] = found / math.sqrt(own)
        return self._steps[key]

    def _drawn_least(self, learned: int | None, power: float, level: float) -> float:
        from scipy.special import ndtr, stdtrit

        random = np.random.default_rng(1)
        off, variance, expected, squares = (sum(each) for each in zip(*self._drawn(random), strict=True))
        df = np.maximum(np.asarray(expected) ** 2 / np.asarray(squares), 1.0)
        bound = np.asarray(stdtrit(df, 1 - level / 2)) * np.sqrt(np.asarray(variance))
        spread = math.sqrt(sum(gain**2 / units for gain, units in self._components))
        ratio = np.ones(DRAWS)
        if learned is not None:
            ratio = random.permutation(np.sqrt(1 / _chi_square(max(learned - 1, 1))))

        def power_at(difference: float) -> float:
            away = difference / ratio + np.asarray(off)
            return float((ndtr((away - bound) / spread) + ndtr((-away - bound) / spread)).mean())

        low, high = 0.0, 3 * math.sqrt(self.variance)
        while power_at(high) < power:
            low, high = high, 2 * high
        while high - low > 1e-4 * high:
            middle = (low + high) / 2
            low, high = (middle, high) if power_at(middle) < power else (low, middle)
        return high

    @cached_property
    def _components(self) -> list[tuple[float, int]]:
        """Return the gain and the number of units of each group of cells that are connected by shared units."""
        return [
            (sum(cell.gain for cell in cells), len({unit for cell in cells for unit in cell.units}))
            for cells in self._linked_cells()
        ]

    def _linked_cells(self) -> list[list[CellDesign]]:
        """Return the cells in groups without shared units between groups."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        cell = [number for number, cell_design in enumerate(self.cells) for _ in cell_design.units]
        unit = [len(self.cells) + number for cell_design in self.cells for number in cell_design.units]
        size = len(self.cells) + self.units
        _, group = connected_components(coo_array((np.ones(len(cell)), (cell, unit)), shape=(size, size)))
        found: defaultdict[int, list[CellDesign]] = defaultdict(list)
        for number, design in enumerate(self.cells):
            found[int(group[number])].append(design)
        return list(found.values())

    def _drawn(self, random: np.random.Generator) -> Iterator[Parts]:
        for cells in self._linked_cells():
            if len(cells) == 1 and cells[0].even:
                yield _draw_variance(cells[0], random)
            elif len({unit for cell in cells for unit in cell.units}) > MAX_DRAWN_UNITS:
                yield _draw_variance(_merge_cells(cells), random)
            else:
                yield _draw_units(cells, random)


def _merge_cells(cells: Sequence[CellDesign]) -> CellDesign:
    """Return cells that share units as one, in which a unit has its total weight."""
    gain = sum(cell.gain for cell in cells)
    whole: defaultdict[int, float] = defaultdict(float)
    for cell in cells:
        for unit, weight in zip(cell.units, cell.weights, strict=True):
            whole[unit] += cell.gain * weight / gain
    return CellDesign(gain, tuple(whole), tuple(whole.values()))


def _draw_variance(cell: CellDesign, random: np.random.Generator) -> Parts:
    """Draw the variance of a cell whose units have equal, or nearly equal, weights: χ², independent of its mean."""
    variance = cell.gain**2 * cell.sums[0] * random.permutation(_chi_square(cell.df))
    return np.zeros(DRAWS), variance, variance, variance**2 / cell.df


@lru_cache(maxsize=1024)
def _chi_square(df: float) -> Floats:
    """Return draws of χ² by its degrees of freedom."""
    from scipy.special import chdtri

    found: Floats = chdtri(df, (np.arange(DRAWS) + 0.5) / DRAWS) / df
    return found


def _draw_units(cells: Sequence[CellDesign], random: np.random.Generator) -> Parts:
    """Draw the units of cells that share some, or have unequal weights. Their plain mean is left out: it is independent
    of all errors."""
    place = {unit: number for number, unit in enumerate(sorted({unit for cell in cells for unit in cell.units}))}
    drawn = random.standard_normal((DRAWS, len(place)))
    drawn -= drawn.mean(axis=1, keepdims=True)
    off = np.zeros(DRAWS)
    influence, expected, root = (np.zeros_like(drawn) for _ in range(3))
    for cell in cells:
        at: Ints = np.array([place[unit] for unit in cell.units])
        weights = np.array(cell.weights)
        own = drawn[:, at]
        value = own @ weights
        plain = weights * (own - value[:, None])
        variance = (plain**2).sum(axis=1, keepdims=True) / cell.left
        square = cell.gain**2 * variance * weights**2
        off += cell.gain * value
        influence[:, at] += cell.gain * plain * math.sqrt(cell.sums[0] / cell.left)
        expected[:, at] += square
        root[:, at] += square * math.sqrt(cell.sums[0] ** 2 / cell.df / cell.sums[2])
    return off, (influence**2).sum(axis=1), expected.sum(axis=1), (root**2).sum(axis=1)


def mean_design(
    units: Sequence[Hashable], cells: Sequence[Hashable] | None = None, weights: Sequence[float] | None = None
) -> MeanDesign:
    """Return the design of a mean over rows, or of a mean of the means of `cells`; rows of one unit are not
    independent, and a row has a weight in its cell, 1 by default. Cells with the same units and weights, such as arms
    that include all items, are merged.

    >>> design = mean_design(["x"] * 4 + ["y", "z"])
    >>> round(design.effective, 1), round(design.df, 2)
    (2.0, 1.47)
    """
    own: dict[Hashable, dict[Hashable, float]] = {}
    for number, unit in enumerate(units):
        cell = own.setdefault(None if cells is None else cells[number], {})
        cell[unit] = cell.get(unit, 0.0) + (1.0 if weights is None else weights[number])
    codes = {unit: number for number, unit in enumerate(dict.fromkeys(units))}
    found: dict[tuple[tuple[int, ...], tuple[float, ...]], list[Hashable]] = {}
    for label, members in own.items():
        whole = sum(members.values())
        kept = sorted((codes[unit], weight / whole) for unit, weight in members.items() if weight > 0)
        key = tuple(unit for unit, _ in kept), tuple(round(weight, 15) for _, weight in kept)
        found.setdefault(key, []).append(label)
    designs = tuple(CellDesign(len(labels) / len(own), *members) for members, labels in found.items())
    return MeanDesign(designs, tuple(map(tuple, found.values())), len(codes))


MOST_SAMPLES, MOST_REPEATS = 5, 3
# The cheapest design

MOST_ITEMS = 1_000_000
"""The most items that are tried if the number of items is unlimited."""
FEWEST_LABELS = 10


@dataclass(frozen=True)
class Prices:
    """Prices in one currency, for both models together."""

    replies: float
    """For a reply of each model to one item."""
    judgements: tuple[float, ...]
    """By judge, for grading these two replies once."""
    labels: float | None = None
    """For a person who grades these two; `None` if there are no people."""
    batch: float | None = None
    """The price of models in a batch, as a share of the full price; `None` if there is no batch."""


@dataclass(frozen=True)
class LabelComponents:
    """The variance of people's difference of two models on an item, and its covariances with that of judges."""

    people: float
    """The variance of the difference that a person sees, with one reply per model."""
    items: float
    """The part of its covariance with judges that is due to the item."""
    samples: float = 0.0
    """The part that is due to the two replies."""


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
    """The judges, by their index in the prices: the cheapest ones."""
    cost: float
    detects: float
    """The least difference that it detects with the requested power."""
    reaches: bool = True
    """False if no available number of items detects the difference."""


@dataclass(frozen=True)
class Space:
    """The designs to choose from, with `labels` if people may grade, and at most `most_items` items."""

    components: DifferenceComponents
    prices: Prices
    labels: LabelComponents | None = None
    only_labelled: bool = False
    """True for a figure that people correct: then every design has labels."""
    most_items: int = MOST_ITEMS
    planned: MeanDesign | None = None
    """The weights of the planned items in the mean; other numbers of items follow their distribution. `None` if all
    weigh the same. The components are those of the mean, times the number of items."""
    most_samples: int = MOST_SAMPLES
    most_repeats: int = MOST_REPEATS
    power: float = POWER
    level: float = LEVEL

    def levers(self) -> Iterator[Levers]:
        """Yield every combination of levers whose effect is known from the components; the others keep their observed
        value."""
        parts = self.components
        samples, judges, repeats = parts.observed
        panel = len(self.prices.judgements)
        yield from (
            Levers(*chosen)
            for chosen in product(
                range(1, self.most_samples + 1) if "samples" in parts.separated else (samples,),
                range(1, panel + 1) if "judges" in parts.separated and panel else (min(judges, panel) if panel else 1,),
                range(1, self.most_repeats + 1) if "repeats" in parts.separated and panel else (repeats,),
                self._labelling(),
                (False, True) if self.prices.batch is not None else (False,),
            )
        )

    def _labelling(self) -> tuple[bool, ...]:
        if self.labels is None or self.prices.labels is None:
            return (False,)
        return (True,) if self.only_labelled else (False, True)

    def per_item(self, levers: Levers) -> float:
        """Return the cost of an item without people."""
        graded = levers.repeats * sum(self.prices.judgements[place] for place in self.panel(levers.judges))
        share = self.prices.batch if levers.batch and self.prices.batch is not None else 1.0
        return share * levers.samples * (self.prices.replies + graded)

    def panel(self, judges: int) -> tuple[int, ...]:
        """Return the indices of the cheapest judges."""
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
        # λ is estimated from the labels: it costs a degree of freedom, and its error adds to that of the figure.
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
        """Return a design with its cost and the difference that it detects."""
        cost = items * self.per_item(levers) + labels * (self.prices.labels or 0.0)
        detects = self.detects(levers, items, labels)
        return Design(levers, items, labels, self.panel(levers.judges), cost, detects, reaches)


def corrected_variance(
    labels: LabelComponents, every: float, one: float, samples: int, items: float, labelled: float
) -> float:
    """Return the variance of a difference that people's labels correct, with `labelled` items and a judge on all
    `items`.

    H + λ (J - L) at its best λ has Var H - c² / Var(J - L), with c the covariance of H and L - J (Angelopoulos, Duchi
    and Zrnic 2023, PPI++, section 6). People grade one sample of each model, the judge grades `samples` of each:
    `every` is the variance of an item's difference over these, and `one` over one of them.

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

    Combinations that detect it with no number of items come last, with all available items; for equal costs, the design
    with more judges comes first. Raises `ValueError` unless the difference is above 0.

    >>> parts = DifferenceComponents(items=0.04, samples=0.08, judges=0.02, gradings=0.06)
    >>> found = cheapest(Space(parts, Prices(replies=0.001, judgements=(0.01, 0.002))), 0.05)[0]
    >>> found.levers.samples, found.levers.judges, found.panel, found.items, round(found.cost, 2)
    (1, 1, (1,), 630, 1.89)
    """
    if not difference > 0:
        raise ValueError(f"a difference that a design detects is above 0, not {difference}")
    return sorted(
        ((_with_labels if lever.labels else _fewest)(space, lever, difference) for lever in space.levers()),
        key=_by_cost,
    )


def _by_cost(design: Design) -> tuple[object, ...]:
    levers = design.levers
    rank = design.cost if design.reaches else design.detects
    return not design.reaches, rank, -levers.judges, levers.repeats, levers.samples, levers.batch


def _fewest(space: Space, levers: Levers, difference: float) -> Design:
    items = least_whole(lambda items: space.detects(levers, items, 0) <= difference, 2, space.most_items)
    return space.design(levers, space.most_items if items is None else items, reaches=items is not None)


def _with_labels(space: Space, levers: Levers, difference: float) -> Design:
    """Return the cheapest pair of items and labels: for each number of items the fewest sufficient labels."""
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
    """Return the least integer from `low` to `high` for which a monotone condition holds; `None` if it never does.

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
    """Return the most precise design of every combination of levers for a sum of money, the most precise of all first.

    Combinations whose first two items cost more are left out, so the list may be empty. Raises `ValueError` unless the
    sum is above 0.

    >>> parts = DifferenceComponents(items=0.04, samples=0.08, judges=0.02, gradings=0.06)
    >>> found = sharpest(Space(parts, Prices(replies=0.001, judgements=(0.01, 0.002))), 2.5)[0]
    >>> found.levers.samples, found.items, round(found.detects, 3)
    (1, 833, 0.043)
    """
    if not money > 0:
        raise ValueError(f"a sum of money to spend is above 0, not {money}")
    designs = []
    for levers in space.levers():
        each = space.per_item(levers)
        afforded = space.most_items if each == 0 else min(space.most_items, int(money / each * (1 + 1e-12)))
        if levers.labels:
            designs += _shared_out(space, levers, money)
        elif afforded >= 2:
            designs.append(space.design(levers, afforded))
    return sorted(
        designs, key=lambda design: (design.detects, design.cost, -design.levers.judges, design.levers.repeats)
    )


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


# Ends of intervals


def least_shown_share(
    number: float, items: int, *, power: float = 0.8, confidence: float = 0.95, beyond: bool = False
) -> Estimate:
    """Return the least true share at which the lower end of the exact interval is at least `number` with probability
    `power`, or above it if `beyond`.

    If even `items` that are all right do not suffice, there is no value, with a reason, and `low` is their lower end.
    With k the least sufficient count of right items, it is the share at which k or more are right with that
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
        return Estimate.undefined("no items")

    def shows(count: int) -> bool:
        low = clopper_pearson(count, items, confidence=confidence).low
        return low is not None and (low > number if beyond else low >= number)

    if not shows(items):
        best = clopper_pearson(items, items, confidence=confidence).low
        return Estimate(None, "even all right do not show it", low=best, n=items)
    few, enough = -1, items
    while enough - few > 1:  # the lower end rises with the count
        middle = (few + enough) // 2
        few, enough = (few, middle) if shows(middle) else (middle, enough)
    if enough == 0:
        return Estimate(0.0, n=items)
    from scipy.special import betaincinv

    return Estimate(float(betaincinv(enough, items - enough + 1, power)), n=items)


def least_shown_mean(
    number: float, items: int, ends: tuple[float, float], *, power: float = 0.8, confidence: float = 0.95
) -> Estimate:
    """Return the least true mean of values between two `ends` at which the lower end of the interval is above `number`
    with probability `power`, by the normal approximation and for the greatest variance of such a mean, (mean − low) ·
    (high − mean) (Bhatia and Davis 2000).

    >>> round(least_shown_mean(0.8, 100, (0, 1)).value, 3)
    0.888
    """
    low, high = ends
    if not low <= number <= high or not low < high:
        raise ValueError(f"{number} does not lie between {low} and {high}")
    if items < 1:
        return Estimate.undefined("no items")
    scale, above = high - low, number - low
    # The greater root x of (x − above)² = reach · x · (scale − x), with x the mean above `low`.
    reach = (z_quantile(two_sided(confidence)) + z_quantile(power)) ** 2 / items
    half = above + reach * scale / 2
    root = math.sqrt(max(half**2 - (1 + reach) * above**2, 0.0))
    return Estimate(low + (half + root) / (1 + reach), n=items)
