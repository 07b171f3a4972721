"""Power of a mean whose cells, items and clusters weigh unequally, as a design has them before anything is asked.

A mean of cells is Σ g_c Σ w_ic d_i: cell c weighs g_c, and in it an independent unit, an item or a cluster of items,
weighs w_ic. If every unit varies by σ², so does the mean by A σ² with A = Σ_i (Σ_c g_c w_ic)², and 1 / A is the number
of units that would be as sure if they weighed alike (Kish 1965). Of one cell the error has the degrees of freedom of
Bell and McCaffrey 2002 ("Bias reduction in standard errors for linear regression with multi-stage samples"), of several
those of Satterthwaite 1946: (Σ 1 / n_c)² / Σ (1 / n_c²) / (n_c - 1) where items of a cell weigh alike.

A test estimates the variance of each cell, and its degrees of freedom from these. With cells of two or three items they
are far from what they are on average, and a power by noncentral t alone is off by up to 15 points. So power is the mean
over `DRAWS` draws of what the test would estimate.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import field, replace
from functools import cached_property, lru_cache

import numpy as np

from tripos_compiler.source import dataclass
from tripos_warehouse.statistics.design.learned_power import LEVEL, POWER, least_difference
from tripos_warehouse.statistics.ratings import Floats, Ints

DRAWS = 2000
SURE, SURE_WHOLE = 100, 500
"""With so many degrees of freedom in every cell, or of the whole, draws of the error say no more than Satterthwaite."""
MOST_DRAWN = 1000
"""Of more units that weigh unequally, the variance is drawn as χ² with its degrees of freedom."""

Parts = tuple[Floats, Floats, Floats, Floats]
"""By draw: by how much the mean is off as far as the errors show it, its variance, and the sums of expected squares
and of their squares, from which Satterthwaite's degrees of freedom come."""


@dataclass(frozen=True)
class CellDesign:
    """A cell of a mean: its share `gain` of the whole, and the shares that its units have of it."""

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
        """True if its units weigh alike."""
        return max(self.weights) - min(self.weights) <= 1e-12

    @property
    def left(self) -> float:
        """Return what the squares of plain influences come to, for a variance of 1 of a unit."""
        second, third, _, _ = self.sums
        return second - 2 * third + second**2

    @property
    def df(self) -> float:
        """Return Bell and McCaffrey's degrees of freedom; m - 1 of m units that weigh alike."""
        m = len(self.weights)
        if m < 2 or self.even:
            return float(m - 1)
        second, third, fourth, fifth = self.sums
        spread = second**4 + 2 * second * fourth - 4 * second**2 * third + 2 * third**2
        return self.left**2 / (spread + fourth * (1 + 2 * second) - 4 * fifth)

    def resized(self, ratio: float) -> CellDesign:
        """Return the cell with so many times as many units, one at least, whose weights are spread as before."""
        count = max(1, round(ratio * len(self.weights)))
        order = np.sort(np.array(self.weights))
        taken = order[((np.arange(count) + 0.5) / count * len(order)).astype(int)]
        return replace(self, units=tuple(range(count)), weights=tuple((taken / taken.sum()).tolist()))


@dataclass(frozen=True)
class MeanDesign:
    """A mean of cells of so many units. A cell has several labels where it stands for cells of the same units."""

    cells: tuple[CellDesign, ...]
    labels: tuple[tuple[Hashable, ...], ...]
    units: int
    _steps: dict[tuple[int, int | None, float, float], float] = field(default_factory=dict, init=False, compare=False)

    @cached_property
    def variance(self) -> float:
        """The variance of the mean, for a variance of 1 of each unit."""
        whole: defaultdict[int, float] = defaultdict(float)
        for cell in self.cells:
            for unit, weight in zip(cell.units, cell.weights, strict=True):
                whole[unit] += cell.gain * weight
        return sum(weight**2 for weight in whole.values())

    @property
    def effective(self) -> float:
        """The number of units that would be as sure if they weighed alike."""
        return 1 / self.variance

    @cached_property
    def shares(self) -> tuple[float, ...]:
        """The share that each cell has of the variance; in cells that share units, of what each has by itself."""
        own = [cell.gain**2 * cell.sums[0] for cell in self.cells]
        return tuple(part / sum(own) for part in own)

    @property
    def single(self) -> list[int]:
        """The places of the cells of one unit, which say nothing about the error."""
        return [place for place, cell in enumerate(self.cells) if len(cell.weights) < 2]

    @property
    def even(self) -> bool:
        """True if all units weigh alike in one cell."""
        return len(self.cells) == 1 and self.cells[0].even

    @cached_property
    def df(self) -> float:
        """Satterthwaite's degrees of freedom, if every unit varies alike; 0 where a cell has one unit."""
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
        """Return the least true difference that a test finds with the `power`, in standard deviations of a unit; with
        `learned` for a deviation that so many units taught. Infinite where a cell has one unit.

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
        """Return the least difference with so many units, in standard errors of a mean that falls with their root: of
        fewer or more units, whose cells and weights are spread as these are, at steps an eighth apart and between these
        by a line in the inverse of their number. Infinite where a cell is left with one unit."""
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
            # Cells that share units are drawn as if they did not: only the error in standard errors is taken from it.
            apart = MeanDesign(tuple(cells), self.labels, first)
            found = apart.least(learned, power=power, level=level)
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
        """Of the cells that hang together by common units, the gain and the number of units."""
        return [
            (sum(cell.gain for cell in cells), len({unit for cell in cells for unit in cell.units}))
            for cells in self._together()
        ]

    def _together(self) -> list[list[CellDesign]]:
        """Return the cells in groups that have no unit in common."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        cell = [number for number, each in enumerate(self.cells) for _ in each.units]
        unit = [len(self.cells) + number for each in self.cells for number in each.units]
        size = len(self.cells) + self.units
        _, group = connected_components(coo_array((np.ones(len(cell)), (cell, unit)), shape=(size, size)))
        found: defaultdict[int, list[CellDesign]] = defaultdict(list)
        for number, each in enumerate(self.cells):
            found[int(group[number])].append(each)
        return list(found.values())

    def _drawn(self, random: np.random.Generator) -> Iterator[Parts]:
        for cells in self._together():
            if len(cells) == 1 and cells[0].even:
                yield _drawn_variance(cells[0], random)
            elif len({unit for cell in cells for unit in cell.units}) > MOST_DRAWN:
                yield _drawn_variance(_as_one(cells), random)
            else:
                yield _drawn_units(cells, random)


def _as_one(cells: Sequence[CellDesign]) -> CellDesign:
    """Return cells with common units as one, in which a unit has its share of them all."""
    gain = sum(cell.gain for cell in cells)
    whole: defaultdict[int, float] = defaultdict(float)
    for cell in cells:
        for unit, weight in zip(cell.units, cell.weights, strict=True):
            whole[unit] += cell.gain * weight / gain
    return CellDesign(gain, tuple(whole), tuple(whole.values()))


def _drawn_variance(cell: CellDesign, random: np.random.Generator) -> Parts:
    """Draw the variance of a cell whose units weigh alike, or nearly: χ², apart from its mean."""
    variance = cell.gain**2 * cell.sums[0] * random.permutation(_chi_square(cell.df))
    return np.zeros(DRAWS), variance, variance, variance**2 / cell.df


@lru_cache(maxsize=1024)
def _chi_square(df: float) -> Floats:
    """Return quantiles of χ² by its degrees of freedom, one for each draw."""
    from scipy.special import chdtri

    found: Floats = chdtri(df, (np.arange(DRAWS) + 0.5) / DRAWS) / df
    return found


def _drawn_units(cells: Sequence[CellDesign], random: np.random.Generator) -> Parts:
    """Draw the units of cells that share some, or weigh them unequally. Their plain mean is left out: it is independent
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
    """Return the design of a mean over rows, or of a mean of the means of `cells`, in which rows of one unit are not
    independent; a row has a weight in its cell, 1 by default. Cells of the same units in the same weights, such as arms
    that all items are in, are one.

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
    made = tuple(CellDesign(len(labels) / len(own), *members) for members, labels in found.items())
    return MeanDesign(made, tuple(map(tuple, found.values())), len(codes))
