"""Power of a design: the detectable difference, the power, the number of items, and the cheapest design.

`variance` is the variance of one item's contribution: of its score for a test against a fixed value, of the difference
of two models' scores on it for a paired test (`paired_variance`), or the sum of both models' variances if each has its
own items. If items come in clusters or have several samples, `effect` is the design effect. The simple functions use
the normal approximation (Cohen 1988; Miller 2024, "Adding error bars to evals").

With an estimated variance, power is that of a t test, by the noncentral t distribution (Johnson, Kotz and Balakrishnan
1995, "Continuous Univariate Distributions", volume 2, chapter 31). A variance V estimated with m degrees of freedom is
uncertain: power is averaged over V m / χ²_m, the distribution of the true variance given the estimate (Julious and Owen
2006, "Sample size calculations for clinical studies allowing for uncertainty about the variance"). Without that, a
design from a pilot study is underpowered on average.

Unequal weights (`MeanDesign`). A mean of cells is Σ_c g_c Σ_i w_ic d_i: g_c is the weight of cell c in the mean, and
w_ic the weight within the cell of unit i, an item or a cluster of items. Units are independent. If every unit has the
variance σ², the variance of the mean is A σ² with A = Σ_i (Σ_c g_c w_ic)², and 1 / A is the effective number of units
(Kish 1965). For one cell the error has the degrees of freedom of Bell and McCaffrey 2002 ("Bias reduction in standard
errors for linear regression with multi-stage samples"), for several those of Satterthwaite 1946: (Σ 1 / n_c)² / Σ 1
/ (n_c² (n_c - 1)) for cells of equal weight with n_c items of equal weight. A test estimates the variance of each cell,
and its degrees of freedom from these estimates. In cells of two or three items they vary so much that the power of a
noncentral t with their expectations is wrong by up to 15 percentage points. So power is averaged over `DRAWS` simulated
draws of the estimates.

A design has a number of items, of samples of each model's reply, of judges, of repeats of each grading, and of labels
by people. Its variance follows from the components of a difference (`DifferenceComponents`), its cost from prices. The
search tries every combination of the choices other than the number of items (`Levers`) up to a maximum, each with the
fewest sufficient items (Cochran 1977, "Sampling Techniques", section 10.6, has the optimum of two stages in closed
form: the more expensive an item is relative to a sample, and the larger σ²_samples / σ²_items, the more samples).

An expectation of a benchmark may require that a limit of a confidence interval lies beyond a number.
`least_shown_share` and `least_shown_mean` return the least true value at which the lower limit does so with a given
power. By symmetry they also give the greatest true value for an upper limit.
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
    quantiles = _quantile(level, sides) + _power_quantile(power, level)
    error = _error(items, variance, effect)
    return (
        Estimate.undefined("no items")
        if error is None
        else Estimate(quantiles * error, standard_error=error, n=int(items))
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

    shift = (abs(difference) if sides == 2 else difference) / error
    value = float(ndtr(shift - z)) + (float(ndtr(-shift - z)) if sides == 2 else 0.0)
    return Estimate(value, standard_error=error, n=int(items))


def items_needed(
    difference: float, variance: float, *, power: float = 0.8, level: float = 0.05, sides: int = 2, effect: float = 1.0
) -> Estimate:
    """Return the number of items that detect a true `difference` with probability `power`, rounded up.

    effect · variance · ((z₁₋α⸝₂ + z_power) / δ)²

    >>> items_needed(0.1, 0.25).value, items_needed(0.0, 0.25).reason
    (197.0, 'no number of items shows a difference of 0')
    """
    quantiles = _quantile(level, sides) + _power_quantile(power, level)
    _error(1, variance, effect)  # raises for invalid arguments
    if difference == 0:
        return Estimate.undefined("no number of items shows a difference of 0")
    needed = effect * variance * (quantiles / difference) ** 2
    # A number just above an integer is that integer plus a rounding error.
    items = max(1, math.ceil(needed - 1e-9 * needed))
    return Estimate(float(items), n=items)


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
    Kerry 2006). The samples of an item are also a cluster: count each sample as an item, and pass their correlation.

    >>> design_effect(1, 0.4), round(design_effect(5, 0.25), 2)
    (1.0, 2.0)
    """
    if size < 1 or not -1 <= correlation <= 1 or variation < 0:
        raise ValueError(f"no clusters of {size} with a correlation of {correlation} and a variation of {variation}")
    return 1 + ((1 + variation**2) * size - 1) * correlation


def _quantile(level: float, sides: int) -> float:
    """Return the critical value of a z test. Raises `ValueError` for an invalid level or number of sides."""
    if not 0 < level < 1:
        raise ValueError(f"a level lies between 0 and 1, not at {level}")
    if sides not in {1, 2}:
        raise ValueError(f"a test has 1 side or 2, not {sides}")
    return z_quantile(1 - level / sides)


def _power_quantile(power: float, level: float) -> float:
    """Return the normal quantile of a power. Raises `ValueError` unless it lies between the level and 1."""
    if not level < power < 1:
        raise ValueError(f"a power lies between the level, {level}, and 1, not at {power}")
    return z_quantile(power)


def _error(items: float, variance: float, effect: float) -> float | None:
    """Return the standard error of a mean over items; `None` for no items. Raises `ValueError` for a negative
    argument."""
    if variance < 0 or effect < 0 or items < 0:
        raise ValueError(f"no {items} items with a variance of {variance} and a design effect of {effect}")
    return math.sqrt(effect * variance / items) if items else None


# Estimated variances

POWER, LEVEL = 0.8, 0.05
"""The default power and level of tests."""
VARIANCE_QUANTILES = 32
"""The number of quantiles of χ² that represent the distribution of a variance."""
NORMAL_DF = 2000
"""The degrees of freedom from which the normal distribution replaces Student's t."""


def power_with(
    difference: float, variance: float, df: float, pilot_items: int | None = None, *, level: float = LEVEL
) -> float:
    """Return the probability that a t test with `df` detects a `difference` whose estimate has this variance.

    With `pilot_items`, the variance is an estimate from this number of items, and the power is averaged over the
    distribution of the true variance.

    >>> round(power_with(0.5, 1 / 32, 31), 3), round(power_with(0.5, 1 / 32, 31, 20), 3)
    (0.782, 0.752)
    """
    if variance == 0:
        return 1.0 if difference else level
    return _power(abs(difference) / math.sqrt(variance), df, pilot_items, level)


def least_difference(
    variance: float, df: float, pilot_items: int | None = None, *, power: float = POWER, level: float = LEVEL
) -> float:
    """Return the least difference that a t test with `df` detects with probability `power`; infinite for `df` below 1.

    >>> round(least_difference(1 / 32, 31), 3), least_difference(1 / 32, 0)
    (0.511, inf)
    """
    if df < 1:
        return math.inf
    return math.sqrt(variance) * _least_in_errors(df, pilot_items, power, level)


def _least_in_errors(df: float, pilot_items: int | None, power: float, level: float) -> float:
    """Return the least detectable difference in standard errors, interpolated linearly in 1 / `df` between grid
    points."""
    if df >= NORMAL_DF:
        return _solve_least_in_errors(NORMAL_DF, pilot_items, power, level)
    below = _grid_point_below(df)
    above = min(NORMAL_DF, below + max(1, below // 8))
    low, high = (
        _solve_least_in_errors(below, pilot_items, power, level),
        _solve_least_in_errors(above, pilot_items, power, level),
    )
    return high + (low - high) * (1 / df - 1 / above) / (1 / below - 1 / above)


@lru_cache(maxsize=4096)
def _grid_point_below(df: float) -> int:
    """Return the greatest grid point up to `df`. Grid points are an eighth apart."""
    point = 1
    while (above := point + max(1, point // 8)) <= df:
        point = above
    return point


@lru_cache(maxsize=4096)
def _solve_least_in_errors(df: int, pilot_items: int | None, power: float, level: float) -> float:
    """Return the least detectable difference in standard errors, by bisection of the power."""
    low, high = 0.0, z_quantile(1 - level / 2) + z_quantile(power)
    while _power(high, df, pilot_items, level) < power:
        low, high = high, 2 * high
    while high - low > 1e-5 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _power(middle, df, pilot_items, level) < power else (low, middle)
    return high


def _power(errors: float, df: float, pilot_items: int | None, level: float) -> float:
    """Return the power for a difference of this number of standard errors."""
    from scipy.special import chdtri

    ratio = np.ones(1)  # of the true variance to its estimate
    if pilot_items is not None:
        m = max(pilot_items - 1, 1)
        ratio = m / chdtri(m, (np.arange(VARIANCE_QUANTILES) + 0.5) / VARIANCE_QUANTILES)
    return float(_rejection_probability(errors / np.sqrt(ratio), df, level).mean())


def _rejection_probability(noncentrality: Floats, df: float, level: float) -> Floats:
    """Return the probability that a two-sided t test rejects, by noncentrality."""
    from scipy.special import nctdtr, ndtr, stdtrit

    if df < 1:
        return np.zeros_like(noncentrality)
    critical = float(stdtrit(df, 1 - level / 2))
    if df >= NORMAL_DF:
        normal: Floats = ndtr(noncentrality - critical) + ndtr(-noncentrality - critical)
        return normal
    # For large noncentralities the series of the noncentral t does not converge, and the power is 1 to double
    # precision.
    is_large = noncentrality > 30 * max(1.0, critical / 2)
    small = np.where(is_large, 0.0, noncentrality)
    probability: Floats = np.where(is_large, 1.0, 1 - nctdtr(df, small, critical) + nctdtr(df, small, -critical))
    return probability


# Unequal weights

DRAWS = 2000
"""The number of simulated draws of variance estimates."""
ENOUGH_CELL_DF, ENOUGH_DF = 100, 500
"""With this many degrees of freedom in every cell, or in total, Satterthwaite's approximation needs no simulation."""
MAX_DRAWN_UNITS = 1000
"""With more units of unequal weights, the variance is drawn from χ² with its degrees of freedom."""

ErrorDraws = tuple[Floats, Floats, Floats, Floats]
"""By draw: the part of the error of the mean that depends on the variance estimates, the estimated variance of the
mean, and the sums Σ v and Σ v² / df of Satterthwaite's degrees of freedom, (Σ v)² / (Σ v² / df)."""


@dataclass(frozen=True)
class CellDesign:
    """A cell of a mean of cells: `gain` is its weight in the mean, `weights` those of its units, which sum to 1."""

    gain: float
    units: tuple[int, ...]
    weights: tuple[float, ...]

    @cached_property
    def sums(self) -> tuple[float, float, float, float]:
        """Σ w², Σ w³, Σ w⁴ and Σ w⁵."""
        w = np.array(self.weights)
        second, third, fourth, fifth = (float((w**power).sum()) for power in (2, 3, 4, 5))
        return second, third, fourth, fifth

    @property
    def even(self) -> bool:
        """True if all units have the same weight."""
        return max(self.weights) - min(self.weights) <= 1e-12

    @property
    def expected_squares(self) -> float:
        """The expected sum of squares of the residuals w_i (d_i - Σ w d), for a variance of 1 per unit."""
        second, third, _, _ = self.sums
        return second - 2 * third + second**2

    @property
    def df(self) -> float:
        """Bell and McCaffrey's degrees of freedom; m - 1 for m units of equal weight."""
        m = len(self.weights)
        if m < 2 or self.even:
            return float(m - 1)
        second, third, fourth, fifth = self.sums
        spread = second**4 + 2 * second * fourth - 4 * second**2 * third + 2 * third**2
        return self.expected_squares**2 / (spread + fourth * (1 + 2 * second) - 4 * fifth)

    def resized(self, ratio: float) -> CellDesign:
        """Return the cell with `ratio` times as many units, at least one, with the same distribution of weights."""
        count = max(1, round(ratio * len(self.weights)))
        ascending = np.sort(np.array(self.weights))
        weights = ascending[((np.arange(count) + 0.5) / count * len(ascending)).astype(int)]
        return replace(self, units=tuple(range(count)), weights=tuple((weights / weights.sum()).tolist()))


@dataclass(frozen=True)
class MeanDesign:
    """A mean of cells, over `units` units in all. Cells with equal units and weights are merged: `labels` has the
    labels of each merged cell."""

    cells: tuple[CellDesign, ...]
    labels: tuple[tuple[Hashable, ...], ...]
    units: int
    _grid: dict[tuple[int, int | None, float, float], float] = field(default_factory=dict, init=False, compare=False)

    @cached_property
    def variance(self) -> float:
        """The variance of the mean, for a variance of 1 per unit."""
        totals: defaultdict[int, float] = defaultdict(float)
        for cell in self.cells:
            for unit, weight in zip(cell.units, cell.weights, strict=True):
                totals[unit] += cell.gain * weight
        return sum(weight**2 for weight in totals.values())

    @property
    def effective(self) -> float:
        """Kish's effective number of units: the number of units of equal weight with the same precision."""
        return 1 / self.variance

    @cached_property
    def shares(self) -> tuple[float, ...]:
        """The share of each cell in the variance of the mean, ignoring covariances of cells that share units."""
        variances = [cell.gain**2 * cell.sums[0] for cell in self.cells]
        return tuple(variance / sum(variances) for variance in variances)

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
        terms: defaultdict[int, float] = defaultdict(float)
        # A cell's term (g² Σw²)² / df is spread over its units, so that the terms of cells that share units add up.
        for cell in self.cells:
            scale = math.sqrt(cell.sums[0] ** 2 / cell.df / cell.sums[2])
            for unit, weight in zip(cell.units, cell.weights, strict=True):
                expected[unit] += (cell.gain * weight) ** 2
                terms[unit] += (cell.gain * weight) ** 2 * scale
        return sum(expected.values()) ** 2 / sum(term**2 for term in terms.values())

    def least(self, pilot_items: int | None = None, *, power: float = POWER, level: float = LEVEL) -> float:
        """Return the least true difference that a test detects with probability `power`, in standard deviations of a
        unit.

        With `pilot_items`, this standard deviation is an estimate from as many units. Infinite if a cell has one unit.

        >>> even, uneven = mean_design(range(24)), mean_design(range(333), ["a"] * 3 + ["b"] * 30 + ["c"] * 300)
        >>> round(uneven.effective, 1), round(uneven.df, 2), round(uneven.shares[0], 2)
        (24.3, 2.46, 0.9)
        >>> round(even.least(), 2), round(uneven.least(), 1)
        (0.6, 1.0)
        """
        if self.single:
            return math.inf
        if self.even or min(cell.df for cell in self.cells) >= ENOUGH_CELL_DF or self.df >= ENOUGH_DF:
            return least_difference(self.variance, self.df, pilot_items, power=power, level=level)
        return self._simulate_least(pilot_items, power, level)

    def errors(
        self, units: int, pilot_items: int | None = None, *, power: float = POWER, level: float = LEVEL
    ) -> float:
        """Return the least detectable difference of a design of this form with `units` units, in standard errors.

        Cells and weights keep their distribution, and the standard error is that of this design, times √(own units /
        `units`). It is computed at grid points an eighth apart, and interpolated linearly in 1 / `units`. Infinite if a
        cell has one unit there.
        """
        if units == self.units:
            return self.least(pilot_items, power=power, level=level) / math.sqrt(self.variance)
        if self.even:
            return least_difference(1.0, units - 1, pilot_items, power=power, level=level)
        below = 2
        while (above := below + max(1, below // 8)) <= units:
            below = above
        low, high = (self._least_in_errors_at(point, pilot_items, power, level) for point in (below, above))
        return low if math.isinf(low) else high + (low - high) * (1 / units - 1 / above) / (1 / below - 1 / above)

    def _least_in_errors_at(self, units: int, pilot_items: int | None, power: float, level: float) -> float:
        """Return `errors` at a grid point."""
        key = units, pilot_items, power, level
        if key not in self._grid:
            ratio = units / self.units
            cells, start = [], 0
            for cell in self.cells:
                resized = cell.resized(ratio)
                cells.append(replace(resized, units=tuple(range(start, start + len(resized.units)))))
                start += len(resized.units)
            # Cells that share units are treated as independent here: only the ratio to the standard error is used.
            design = MeanDesign(tuple(cells), self.labels, start)
            least = design.least(pilot_items, power=power, level=level)
            variance = sum(cell.gain**2 * cell.sums[0] for cell in self.cells) / ratio
            self._grid[key] = least / math.sqrt(variance)
        return self._grid[key]

    def _simulate_least(self, pilot_items: int | None, power: float, level: float) -> float:
        """Return `least` by simulation of the variance estimates, and bisection of the average power."""
        from scipy.special import ndtr, stdtrit

        random = np.random.default_rng(1)
        dependent_error, variance, expected, terms = (
            sum(each) for each in zip(*self._draw_errors(random), strict=True)
        )
        df = np.maximum(np.asarray(expected) ** 2 / np.asarray(terms), 1.0)
        critical = np.asarray(stdtrit(df, 1 - level / 2)) * np.sqrt(np.asarray(variance))
        independent_error = math.sqrt(sum(gain**2 / units for gain, units in self._linked_sizes))
        ratio = np.ones(DRAWS)  # of the true standard deviation to its estimate
        if pilot_items is not None:
            ratio = random.permutation(np.sqrt(1 / _chi_square(max(pilot_items - 1, 1))))

        def power_at(difference: float) -> float:
            shift = difference / ratio + np.asarray(dependent_error)
            return float(
                (ndtr((shift - critical) / independent_error) + ndtr((-shift - critical) / independent_error)).mean()
            )

        low, high = 0.0, 3 * math.sqrt(self.variance)
        while power_at(high) < power:
            low, high = high, 2 * high
        while high - low > 1e-4 * high:
            middle = (low + high) / 2
            low, high = (middle, high) if power_at(middle) < power else (low, middle)
        return high

    @cached_property
    def _linked_sizes(self) -> list[tuple[float, int]]:
        """Return the total gain and the number of units of each group of linked cells."""
        return [
            (sum(cell.gain for cell in cells), len({unit for cell in cells for unit in cell.units}))
            for cells in self._linked_cells()
        ]

    def _linked_cells(self) -> list[list[CellDesign]]:
        """Return groups of cells that are linked, directly or indirectly, by shared units."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        cell = [number for number, cell_design in enumerate(self.cells) for _ in cell_design.units]
        unit = [len(self.cells) + number for cell_design in self.cells for number in cell_design.units]
        size = len(self.cells) + self.units
        _, group = connected_components(coo_array((np.ones(len(cell)), (cell, unit)), shape=(size, size)))
        groups: defaultdict[int, list[CellDesign]] = defaultdict(list)
        for number, design in enumerate(self.cells):
            groups[int(group[number])].append(design)
        return list(groups.values())

    def _draw_errors(self, random: np.random.Generator) -> Iterator[ErrorDraws]:
        """Yield the draws of each group of linked cells; groups are independent, so draws add up."""
        for cells in self._linked_cells():
            if len(cells) == 1 and cells[0].even:
                yield _draw_variance(cells[0], random)
            elif len({unit for cell in cells for unit in cell.units}) > MAX_DRAWN_UNITS:
                yield _draw_variance(_merge_cells(cells), random)
            else:
                yield _draw_units(cells, random)


def _merge_cells(cells: Sequence[CellDesign]) -> CellDesign:
    """Merge cells that share units into one, in which a unit has its total weight."""
    gain = sum(cell.gain for cell in cells)
    totals: defaultdict[int, float] = defaultdict(float)
    for cell in cells:
        for unit, weight in zip(cell.units, cell.weights, strict=True):
            totals[unit] += cell.gain * weight / gain
    return CellDesign(gain, tuple(totals), tuple(totals.values()))


def _draw_variance(cell: CellDesign, random: np.random.Generator) -> ErrorDraws:
    """Draw the variance estimate of a cell from a scaled χ², independent of its mean: exact for units of equal
    weight."""
    variance = cell.gain**2 * cell.sums[0] * random.permutation(_chi_square(cell.df))
    return np.zeros(DRAWS), variance, variance, variance**2 / cell.df


@lru_cache(maxsize=1024)
def _chi_square(df: float) -> Floats:
    """Return `DRAWS` quantiles of χ² divided by its degrees of freedom, in descending order."""
    from scipy.special import chdtri

    draws: Floats = chdtri(df, (np.arange(DRAWS) + 0.5) / DRAWS) / df
    return draws


def _draw_units(cells: Sequence[CellDesign], random: np.random.Generator) -> ErrorDraws:
    """Draw the units of cells that share units or have unequal weights. The unweighted mean of the units is subtracted,
    since it is independent of the variance estimates; `MeanDesign` adds its variance."""
    column_of = {unit: number for number, unit in enumerate(sorted({unit for cell in cells for unit in cell.units}))}
    drawn = random.standard_normal((DRAWS, len(column_of)))
    drawn -= drawn.mean(axis=1, keepdims=True)
    dependent_error = np.zeros(DRAWS)
    influence, expected, terms = (np.zeros_like(drawn) for _ in range(3))
    for cell in cells:
        columns: Ints = np.array([column_of[unit] for unit in cell.units])
        weights = np.array(cell.weights)
        values = drawn[:, columns]
        mean = values @ weights
        residuals = weights * (values - mean[:, None])
        variance = (residuals**2).sum(axis=1, keepdims=True) / cell.expected_squares
        square = cell.gain**2 * variance * weights**2
        dependent_error += cell.gain * mean
        influence[:, columns] += cell.gain * residuals * math.sqrt(cell.sums[0] / cell.expected_squares)
        expected[:, columns] += square
        terms[:, columns] += square * math.sqrt(cell.sums[0] ** 2 / cell.df / cell.sums[2])
    return dependent_error, (influence**2).sum(axis=1), expected.sum(axis=1), (terms**2).sum(axis=1)


def mean_design(
    units: Sequence[Hashable], cells: Sequence[Hashable] | None = None, weights: Sequence[float] | None = None
) -> MeanDesign:
    """Return the design of a mean over rows, or of the mean of the means of `cells`.

    All arguments have one entry per row: its unit, its cell, and its weight in the cell, 1 by default. Rows of the same
    unit are dependent. Cells with equal units and weights, such as arms that include all items, are merged.

    >>> design = mean_design(["x"] * 4 + ["y", "z"])
    >>> round(design.effective, 1), round(design.df, 2)
    (2.0, 1.47)
    """
    weights_by_cell: dict[Hashable, dict[Hashable, float]] = {}
    for number, unit in enumerate(units):
        cell = weights_by_cell.setdefault(None if cells is None else cells[number], {})
        cell[unit] = cell.get(unit, 0.0) + (1.0 if weights is None else weights[number])
    codes = {unit: number for number, unit in enumerate(dict.fromkeys(units))}
    labels_of: dict[tuple[tuple[int, ...], tuple[float, ...]], list[Hashable]] = {}
    for label, members in weights_by_cell.items():
        total = sum(members.values())
        weighted = sorted((codes[unit], weight / total) for unit, weight in members.items() if weight > 0)
        key = tuple(unit for unit, _ in weighted), tuple(round(weight, 15) for _, weight in weighted)
        labels_of.setdefault(key, []).append(label)
    designs = tuple(CellDesign(len(labels) / len(weights_by_cell), *members) for members, labels in labels_of.items())
    return MeanDesign(designs, tuple(map(tuple, labels_of.values())), len(codes))


# The cheapest design

MOST_SAMPLES, MOST_REPEATS = 5, 3
"""The most samples, and the most repeats of a grading, that are tried by default."""
MOST_ITEMS = 1_000_000
"""The most items that are tried by default."""
FEWEST_LABELS = 10
"""The fewest labelled items of a design with labels, if it has as many items."""


@dataclass(frozen=True)
class Prices:
    """Prices in one currency, for both models together."""

    replies: float
    """For a reply of each model to one item."""
    judgements: tuple[float, ...]
    """By judge, for grading the two replies once."""
    labels: float | None = None
    """For the two grades by a person; `None` if no people grade."""
    batch: float | None = None
    """The price of batched calls as a share of the full price; `None` if calls cannot be batched."""


@dataclass(frozen=True)
class LabelComponents:
    """The variance of the difference of two models on an item as graded by people, and its covariance with the same
    difference as graded by judges."""

    people: float
    """The variance of people's difference, with one reply per model."""
    items: float
    """The part of the covariance that is due to the item."""
    samples: float = 0.0
    """The part of the covariance that is due to the two replies."""


@dataclass(frozen=True)
class Levers:
    """The choices of a design other than its numbers of items and labels."""

    samples: int = 1
    judges: int = 1
    repeats: int = 1
    labels: bool = False
    """Whether people grade some of the replies."""
    batch: bool = False
    """Whether calls are batched."""


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
    """The designs to choose from, each with at most `most_items` items. There are designs with labels only if `labels`
    and their price are given."""

    components: DifferenceComponents
    prices: Prices
    labels: LabelComponents | None = None
    only_labelled: bool = False
    """If true, every design has labels: for a figure that is corrected by people's grades."""
    most_items: int = MOST_ITEMS
    planned: MeanDesign | None = None
    """The weights of the planned items in the mean, or `None` if they are equal. Designs with other numbers of items
    have the same distribution of weights. With it, `components` are those of the mean, times the number of items."""
    most_samples: int = MOST_SAMPLES
    most_repeats: int = MOST_REPEATS
    power: float = POWER
    level: float = LEVEL

    def levers(self) -> Iterator[Levers]:
        """Yield every combination of levers. A lever without a component of its own keeps its observed value."""
        separated = self.components.separated
        samples, judges, repeats = self.components.observed
        panel = len(self.prices.judgements)
        yield from (
            Levers(*combination)
            for combination in product(
                range(1, self.most_samples + 1) if "samples" in separated else (samples,),
                range(1, panel + 1) if "judges" in separated and panel else (min(judges, panel) if panel else 1,),
                range(1, self.most_repeats + 1) if "repeats" in separated and panel else (repeats,),
                self._label_options(),
                (False, True) if self.prices.batch is not None else (False,),
            )
        )

    def _label_options(self) -> tuple[bool, ...]:
        """Return the values of the lever `labels`."""
        if self.labels is None or self.prices.labels is None:
            return (False,)
        return (True,) if self.only_labelled else (False, True)

    def per_item(self, levers: Levers) -> float:
        """Return the cost of an item, without labels by people."""
        judgements = levers.repeats * sum(self.prices.judgements[judge] for judge in self.panel(levers.judges))
        discount = self.prices.batch if levers.batch and self.prices.batch is not None else 1.0
        return discount * levers.samples * (self.prices.replies + judgements)

    def panel(self, judges: int) -> tuple[int, ...]:
        """Return the indices of the cheapest judges."""
        order = sorted(range(len(self.prices.judgements)), key=lambda judge: (self.prices.judgements[judge], judge))
        return tuple(sorted(order[:judges]))

    def variance(self, levers: Levers, items: int, labels: int) -> float:
        """Return the variance of the mean difference."""
        all_samples = self.components.variance(levers.samples, levers.judges, levers.repeats)
        if not levers.labels:
            return all_samples / items
        assert self.labels is not None
        one_sample = self.components.variance(1, levers.judges, levers.repeats)
        if labels < 4:
            return math.inf
        # λ is estimated from the labels: it costs a degree of freedom, and its error adds to that of the figure.
        inflation = (labels - 1) / (labels - 2) * (1 + 1 / (labels - 3))
        return inflation * corrected_variance(self.labels, all_samples, one_sample, levers.samples, items, labels)

    def detects(self, levers: Levers, items: int, labels: int) -> float:
        """Return the least difference that a design detects with the requested power."""
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
    labels: LabelComponents, all_samples: float, one_sample: float, samples: int, items: float, labelled: float
) -> float:
    """Return the variance of a prediction-powered difference: a judge grades all `items`, and people a number of them,
    `labelled`.

    H + λ (J - L) with the optimal λ has the variance Var H - c² / Var(J - L), with c the covariance of H and L - J
    (Angelopoulos, Duchi and Zrnic 2023, PPI++, section 6). H, L and J are the means over labelled replies of people's
    grades and of the judge's, and that of the judge over all replies. People grade one sample of each model, the judge
    grades `samples` of each: `all_samples` is the variance of the judge's difference of an item averaged over these,
    `one_sample` that of one of them.

    >>> labels = LabelComponents(people=1.0, items=0.8)
    >>> round(corrected_variance(labels, 1.0, 1.0, 1, 1000, 100), 5), corrected_variance(labels, 1.0, 1.0, 1, 100, 100)
    (0.00424, 0.01)
    """
    people_variance = labels.people / labelled
    difference_variance = one_sample / labelled - all_samples / items
    covariance = (labels.items + labels.samples) / labelled - (labels.items + labels.samples / samples) / items
    if difference_variance <= 1e-12 * one_sample / labelled or covariance <= 0:
        return people_variance
    return max(people_variance - covariance**2 / difference_variance, 1e-12 * people_variance)


def cheapest(space: Space, difference: float) -> list[Design]:
    """Return, for every combination of levers, the cheapest design that detects a `difference`; the cheapest first.

    Combinations that cannot detect it with the available items come last, with all of them. For equal costs, the design
    with more judges comes first. Raises `ValueError` unless the difference is above 0.

    >>> parts = DifferenceComponents(items=0.04, samples=0.08, judges=0.02, gradings=0.06)
    >>> found = cheapest(Space(parts, Prices(replies=0.001, judgements=(0.01, 0.002))), 0.05)[0]
    >>> found.levers.samples, found.levers.judges, found.panel, found.items, round(found.cost, 2)
    (1, 1, (1,), 630, 1.89)
    """
    if not difference > 0:
        raise ValueError(f"a difference that a design detects is above 0, not {difference}")
    return sorted(
        (
            (_cheapest_labelled if levers.labels else _cheapest_unlabelled)(space, levers, difference)
            for levers in space.levers()
        ),
        key=_by_cost,
    )


def _by_cost(design: Design) -> tuple[object, ...]:
    """Return the sort key of `cheapest`: designs that do not detect the difference are ordered by what they detect."""
    levers = design.levers
    rank = design.cost if design.reaches else design.detects
    return not design.reaches, rank, -levers.judges, levers.repeats, levers.samples, levers.batch


def _cheapest_unlabelled(space: Space, levers: Levers, difference: float) -> Design:
    """Return the design with the fewest items that detect the difference; with all items if none do."""
    items = least_whole(lambda items: space.detects(levers, items, 0) <= difference, 2, space.most_items)
    return space.design(levers, space.most_items if items is None else items, reaches=items is not None)


def _cheapest_labelled(space: Space, levers: Levers, difference: float) -> Design:
    """Return the cheapest design with labels: each number of items of a grid is tried with the fewest sufficient
    labels."""
    best: Design | None = None
    for items in _item_grid(space.most_items):

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


def _item_grid(most: int) -> Iterator[int]:
    """Yield numbers of items an eighth apart, from `FEWEST_LABELS` to `most`."""
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
    """Return, for every combination of levers, the most precise design that costs at most `money`; the most precise
    first.

    Combinations are left out if the money is too little for two items, or for the fewest items with labels
    (`FEWEST_LABELS`), so the list may be empty. Raises `ValueError` unless the sum is above 0.

    >>> parts = DifferenceComponents(items=0.04, samples=0.08, judges=0.02, gradings=0.06)
    >>> found = sharpest(Space(parts, Prices(replies=0.001, judgements=(0.01, 0.002))), 2.5)[0]
    >>> found.levers.samples, found.items, round(found.detects, 3)
    (1, 833, 0.043)
    """
    if not money > 0:
        raise ValueError(f"a sum of money to spend is above 0, not {money}")
    designs = []
    for levers in space.levers():
        item_cost = space.per_item(levers)
        affordable = space.most_items if item_cost == 0 else min(space.most_items, int(money / item_cost * (1 + 1e-12)))
        if levers.labels:
            designs += _sharpest_labelled(space, levers, money)
        elif affordable >= 2:
            designs.append(space.design(levers, affordable))
    return sorted(
        designs, key=lambda design: (design.detects, design.cost, -design.levers.judges, design.levers.repeats)
    )


def _sharpest_labelled(space: Space, levers: Levers, money: float) -> list[Design]:
    """Return the most precise division of the money between items and labels, in a list; empty if there is none."""
    price = space.prices.labels or 0.0
    best: Design | None = None
    for items in _item_grid(space.most_items):
        remaining = money - items * space.per_item(levers)
        labels = items if price == 0 else min(items, int(remaining / price * (1 + 1e-12)))
        if remaining < 0 or labels < min(FEWEST_LABELS, items):
            break
        design = space.design(levers, items, labels)
        if best is None or design.detects < best.detects:
            best = design
    return [] if best is None else [best]


# Ends of intervals


def least_shown_share(
    number: float, items: int, *, power: float = 0.8, confidence: float = 0.95, beyond: bool = False
) -> Estimate:
    """Return the least true share at which the lower limit of the exact interval is at least `number` with probability
    `power`; with `beyond`, above `number`.

    If even `items` that are all correct do not suffice, the result is undefined, and its `low` is their lower limit.
    With k the least sufficient number of correct items, it is the share at which k or more are correct with that
    probability: a quantile of the beta distribution of k and items − k + 1 (Clopper and Pearson 1934).

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
    too_few, enough = -1, items
    while enough - too_few > 1:  # bisection: the lower limit rises with the count
        middle = (too_few + enough) // 2
        too_few, enough = (too_few, middle) if shows(middle) else (middle, enough)
    if enough == 0:
        return Estimate(0.0, n=items)
    from scipy.special import betaincinv

    return Estimate(float(betaincinv(enough, items - enough + 1, power)), n=items)


def least_shown_mean(
    number: float, items: int, ends: tuple[float, float], *, power: float = 0.8, confidence: float = 0.95
) -> Estimate:
    """Return the least true mean of values between two `ends` at which the lower limit of the interval is above
    `number` with probability `power`.

    It uses the normal approximation, and the greatest variance of values with such a mean, (mean − low) · (high − mean)
    (Bhatia and Davis 2000).

    >>> round(least_shown_mean(0.8, 100, (0, 1)).value, 3)
    0.888
    """
    low, high = ends
    if not low <= number <= high or not low < high:
        raise ValueError(f"{number} does not lie between {low} and {high}")
    if items < 1:
        return Estimate.undefined("no items")
    length, distance = high - low, number - low
    # The greater root x of (x − distance)² = factor · x · (length − x), with x the mean less `low`.
    factor = (z_quantile(two_sided(confidence)) + z_quantile(power)) ** 2 / items
    half = distance + factor * length / 2
    root = math.sqrt(max(half**2 - (1 + factor) * distance**2, 0.0))
    return Estimate(low + (half + root) / (1 + factor), n=items)
