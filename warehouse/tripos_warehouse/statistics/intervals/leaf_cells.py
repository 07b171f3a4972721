"""The error of a mean of cells, by what each independent unit contributes to it.

A leaf cell is a weighted mean D = Σ w d of m units (items, or clusters of items). With the weight w_i of unit i
(Σ w_i = 1), S_k = Σ w_i^k and the influence r_i = Σ w d − w_i D of the unit's values d:

- E = S2 − 2 S3 + S2² is Σ E[r_i²] where units have the variance 1, so σ² = Σ r_i² / E and Var D = S2 σ², without bias
  if units are alike. Enlarged influences p_i = r_i √(S2 / E) have Σ p_i² = Var D.
- The degrees of freedom are those of Bell and McCaffrey (2002): tr(G)² / tr(G²) of the covariance matrix G of the r_i.
  With equal variances that is E² / T, T = S2⁴ + 2 S2 S4 − 4 S2² S3 + 2 S3² + S4 (1 + 2 S2) − 4 S5. Equal weights have
  E = (m − 1) / m², enlarge by √(m / (m − 1)) and have m − 1 degrees of freedom.

A figure is Σ_c g_c D_c. A unit may lie in several cells, and its influences add up: P_i = Σ_c g_c p_ic, Var = Σ_i P_i².
Its degrees of freedom follow Satterthwaite (1946), by unit: (Σ s_i)² / Σ t_i² with s_i = Σ_c g_c² v_ic and t_i = Σ_c
g_c² v_ic √κ_c, where v_ic = σ_c² w_ic² and κ_c = S2² / (S4 df_c). Of one cell that is df_c, and of cells that share no
unit (Σ V_c)² / Σ (V_c² / df_c). A cell of few units may look alike by chance, and then hides that its error is the
largest; so the smaller is taken of this, and of the same as if all cells had one variance of a unit, which follows
from their weights alone. Degrees of freedom are at least 1, and no whole numbers.

A cell all of whose units are alike shows no error, although it has one. On a scale of length L it is reckoned with one
more unit, half of which lies at each end: σ² = L² q, with the variance q of m units at their share x of the way and of
half a unit at 0 and at 1, and m − 1 degrees of freedom. Without a scale the error is unknown, and so it is if all units
of all cells are alike.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tripos_compiler.source import dataclass
from tripos_warehouse.statistics.ratings import Floats, Ints

ROUNDING_OF_VALUES = 1e-12
"""Units whose values differ by less than this, or than this share of the largest, are alike: rounding leaves as much.
"""


@dataclass(frozen=True)
class CellMeans:
    """The mean of the means of cells, or another sum of them. `standard_error` and `df` are 0 if nothing shows them."""

    value: float
    standard_error: float
    df: float
    contributions: Floats
    """The part of `value` that each unit adds: they sum up to it."""
    units: Ints
    """The units of each cell."""
    effective: float
    """How many units that weigh alike would say as much (Kish 1965)."""
    alike: bool
    """True if all units of all cells are alike, and no cell counts against another."""


def cell_means(
    values: Floats,
    weights: Floats,
    unit: Ints,
    cell: Ints,
    *,
    times: Floats | None = None,
    ends: tuple[float, float] | None = None,
) -> CellMeans:
    """Return the mean of the means of cells of weighted values, or their sum with each `times` a number. `unit` and
    `cell` number the unit and the cell of each value from 0, all numbers used; `ends` are those of the scale.

    >>> found = cell_means(np.array([1.0, 2.0, 3.0, 4.0]), np.ones(4), np.arange(4), np.zeros(4, int))
    >>> found.value, round(found.standard_error, 4), found.df
    (2.5, 0.6455, 3.0)
    >>> uneven = cell_means(np.array([0.0, 1.0, 2.0]), np.array([8.0, 1.0, 1.0]), np.arange(3), np.zeros(3, int))
    >>> round(uneven.value, 2), round(uneven.df, 2)
    (0.3, 1.34)
    """
    cells, units = int(cell.max()) + 1, int(unit.max()) + 1
    total = np.bincount(cell, weights, cells)
    share = weights / total[cell]
    means: Floats = np.bincount(cell, weights * values, cells) / total
    # A place is a unit within a cell.
    places, where = np.unique(cell * np.int64(units) + unit, return_inverse=True)
    of_cell, of_unit = places // units, places % units
    w: Floats = np.bincount(where, share).astype(float)
    r = np.bincount(where, share * (values - means[cell]))
    g: Floats = np.full(cells, 1 / cells) if times is None else times
    contributions: Floats = np.bincount(of_unit, np.bincount(where, share * values) * g[of_cell], units).astype(float)
    m = np.bincount(of_cell[w > 0], minlength=cells)

    s2, s3, s4, s5 = (np.bincount(of_cell, w**power, cells) for power in (2, 3, 4, 5))
    expected = np.bincount(of_cell, w**2 * ((1 - w) ** 2 + (s2[of_cell] - w**2)), cells)
    trace = s2**4 + 2 * s2 * s4 - 4 * s2**2 * s3 + 2 * s3**2 + s4 * (1 + 2 * s2) - 4 * s5
    least = ROUNDING_OF_VALUES * max(1.0, float(np.abs(values).max()))
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = np.bincount(of_cell, r**2, cells) / expected
        df = np.maximum(expected**2 / trace, 1.0)
        enlarged = np.sqrt(s2 / expected)
    alike = ~(variance > least**2)
    value = float(means.mean()) if times is None else float(g @ means)
    same = bool(alike.all()) and float(np.ptp(means)) <= least and bool((g > 0).all())
    weighed = np.bincount(of_unit, np.abs(g[of_cell]) * w, units)
    found = CellMeans(value, 0.0, 0.0, contributions, m, float(weighed.sum() ** 2 / np.square(weighed).sum()), same)
    if m.min() < 2 or same or (ends is None and alike.any()):
        return found
    hidden = np.zeros(cells)
    if ends is not None:
        low, length = ends[0], ends[1] - ends[0]
        hidden[alike] = length**2 * _unseen((means[alike] - low) / length, m[alike])
    p = np.where(alike[of_cell], 0.0, r * enlarged[of_cell] * g[of_cell])
    total_variance = float(np.square(np.bincount(of_unit, p, units)).sum() + (g**2 * hidden * s2).sum())
    root_of_kappa = np.sqrt(s2**2 / (s4 * np.where(alike, np.maximum(m - 1.0, 1.0), df)))
    observed, equal = np.where(alike, hidden, variance), np.ones(cells)
    df_of_all = min(_freedom(g**2 * each, w, root_of_kappa, of_cell, of_unit) for each in (observed, equal))
    of_units = np.sqrt(np.bincount(of_unit, observed[of_cell] * np.square(w * g[of_cell]), units))
    found = replace(found, effective=float(of_units.sum() ** 2 / np.square(of_units).sum()))
    # Rounding leaves whole numbers next to themselves.
    return replace(found, standard_error=float(np.sqrt(total_variance)), df=max(round(df_of_all, 9), 1.0))


def _freedom(variance: Floats, w: Floats, root_of_kappa: Floats, of_cell: Ints, of_unit: Ints) -> float:
    """Return Satterthwaite's degrees of freedom by unit, of cells with these variances of a unit."""
    v = variance[of_cell] * w**2
    s, t = np.bincount(of_unit, v), np.bincount(of_unit, v * root_of_kappa[of_cell])
    return float(s.sum() ** 2 / np.square(t).sum())


def _unseen(share: Floats, units: Ints) -> Floats:
    """Return the variance of `units` at a share of a scale of length 1, and of half a unit at each of its ends."""
    middle = (units * share + 0.5) / (units + 1)
    found: Floats = (units * share**2 + 0.5) / (units + 1) - middle**2
    return found
