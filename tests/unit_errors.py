"""A second opinion on errors of means of cells: by whole matrices, unit by unit, and signs turned in all ways.

Slow and plain: every covariance is written out as a matrix, where Tripos has sums of powers of weights. The
degrees of freedom of a leaf cell are those of Bell and McCaffrey (2002), those of a figure Satterthwaite's (1946).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

Value = tuple[Hashable, float, float]
"""The unit of a value, the value and its weight."""


@dataclass(frozen=True)
class Leaf:
    """The mean of a leaf cell of several units, and its error."""

    value: float
    units: tuple[Hashable, ...]
    weights: np.ndarray[tuple[int], np.dtype[np.float64]]
    """The share of each unit in the weight of the cell."""
    influences: np.ndarray[tuple[int], np.dtype[np.float64]]
    """Enlarged, so that their squares add up to the variance of the mean."""
    contributions: np.ndarray[tuple[int], np.dtype[np.float64]]
    of_one: float
    """The variance of a unit."""
    df: float

    @property
    def alike(self) -> bool:
        """Return true if no unit differs from another."""
        return self.of_one <= 1e-24 * max(1.0, abs(self.value)) ** 2


def leaf(values: Sequence[Value]) -> Leaf:
    """Return what the values of one cell show, of two units or more.

    Residuals of units are r = R d with R = diag(w) (I - 1 w'). If units have the variance s² and are independent, r has
    the covariance s² R R', whose trace says how large the sum of squared residuals is.
    """
    units = tuple(dict.fromkeys(unit for unit, _, _ in values))
    total = sum(weight for _, _, weight in values)
    w = np.array([sum(weight for unit, _, weight in values if unit == each) / total for each in units])
    own = np.array([sum(x * weight for unit, x, weight in values if unit == each) / total for each in units])
    means = own / w
    residuals_of = np.diag(w) @ (np.eye(len(w)) - np.outer(np.ones(len(w)), w))
    covariance = residuals_of @ residuals_of.T
    residuals = residuals_of @ means
    trace, of_square = np.trace(covariance), np.trace(covariance @ covariance)
    return Leaf(
        value=float(w @ means),
        units=units,
        weights=w,
        influences=residuals * np.sqrt(w @ w / trace),
        contributions=own,
        of_one=float(residuals @ residuals / trace),
        df=float(trace**2 / of_square),
    )


@dataclass(frozen=True)
class FigureError:
    """A sum of cells, each times a number: its value, its standard error and its degrees of freedom."""

    value: float
    error: float
    df: float
    contributions: Mapping[Hashable, float]


def figure(cells: Sequence[Sequence[Value]], times: Sequence[float], length: float | None = None) -> FigureError:
    """Return a figure of `cells`, the n-th of which counts `times[n]`; `length` is that of the scale, from 0 on, if it
    has one. Cells whose units are alike are reckoned with one more unit, half of which lies at each end."""
    leaves = [leaf(each) for each in cells]
    units = list(dict.fromkeys(unit for each in leaves for unit in each.units))
    influence, added = dict.fromkeys(units, 0.0), dict.fromkeys(units, 0.0)
    contributions = dict.fromkeys(units, 0.0)
    expected = {kind: (dict.fromkeys(units, 0.0), dict.fromkeys(units, 0.0)) for kind in ("observed", "equal")}
    for each, share in zip(leaves, times, strict=True):
        of_one, df = each.of_one, each.df
        if each.alike:
            assert length is not None
            many = len(each.units)
            points = np.array([*[each.value / length] * many, 0.0, 1.0])
            mass = np.array([*[1.0] * many, 0.5, 0.5]) / (many + 1)
            of_one = float(mass @ (points - mass @ points) ** 2) * length**2
            df = many - 1
        square = float(each.weights @ each.weights)
        stretch = square**2 / (df * float((each.weights**2) @ (each.weights**2)))
        for place, unit in enumerate(each.units):
            contributions[unit] += share * each.contributions[place]
            if each.alike:
                added[unit] += share**2 * of_one * each.weights[place] ** 2
            else:
                influence[unit] += share * each.influences[place]
            for kind, variance in (("observed", of_one), ("equal", 1.0)):
                s, t = expected[kind]
                s[unit] += share**2 * variance * each.weights[place] ** 2
                t[unit] += share**2 * variance * each.weights[place] ** 2 * stretch**0.5
    variance = sum(each**2 for each in influence.values()) + sum(added.values())
    freedom = [sum(s.values()) ** 2 / sum(each**2 for each in t.values()) for s, t in expected.values()]
    value = sum(share * each.value for each, share in zip(leaves, times, strict=True))
    return FigureError(value, variance**0.5, max(1.0, min(freedom)), contributions)


def turned_round(contributions: Sequence[float]) -> float:
    """Return the share of all ways of turning signs round that move a sum as far from 0 as it is."""
    wanted = abs(sum(contributions)) - 1e-9 * sum(map(abs, contributions))
    ways = list(product((1, -1), repeat=len(contributions)))
    return sum(abs(sum(s * c for s, c in zip(way, contributions, strict=True))) >= wanted for way in ways) / len(ways)
