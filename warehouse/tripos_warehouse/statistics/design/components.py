"""Variance components: how much of the variance of scores lies between items, samples, judges, and what else crosses.

A score is a sum of a fixed mean of its group, a random effect for the level that it has of each factor, and a rest:
y = X β + Σ Z_f u_f + e. Groups are what is not drawn, such as a model with a judge in a cell. With M what takes the
mean of the group off, the sum of squares of the level totals of a factor, y′ M Z_f Z_f′ M y, has the expectation
Σ_g tr(M Z_f Z_f′ M Z_g Z_g′) σ²_g, and as many equations as components give these: MIVQUE(0) (Hartley, Rao and LaMotte
1978; Searle, Casella and McCulloch 1992, "Variance Components", section 11.3). It holds for any pattern of what is
missing, crossed or nested, and for any distribution of the scores. Where nothing is missing it is the analysis of
variance, as in generalizability theory (Brennan 2001), and equal to REML as long as no estimate is below 0.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from tripos_compiler.source import dataclass
from tripos_warehouse.statistics.ratings import Floats, Ints, Values, cluster_codes, read_values

RESIDUAL = "residual"
"""The name of the component of what no factor says."""
DENSE = 1_000_000
"""Tables of levels by group are dense up to so many cells: sparse ones take longer where they are small."""


@dataclass(frozen=True)
class VarianceComponents:
    """Variances of the effects of factors, in the square of the unit of the scores."""

    raw: Mapping[str, float]
    """The estimates as they come, which may be below 0 where the truth is near it."""
    fitted: Mapping[str, float] = field(default_factory=dict)
    """The estimates of those that are none below 0, with the others held at 0."""
    missing: Mapping[str, str] = field(default_factory=dict)
    """Why a factor has no component of its own."""
    levels: Mapping[str, int] = field(default_factory=dict)
    n: int = 0
    """The scores that counted."""

    def __getitem__(self, name: str) -> float:
        """Return a component, 0 where its estimate is below: the others are then estimated without it (Thompson 1962;
        Searle, Casella and McCulloch 1992, section 4.4)."""
        return self.fitted.get(name, 0.0) if name in self.raw else self.raw[name]

    def __contains__(self, name: str) -> bool:
        return name in self.raw

    def get(self, name: str) -> float:
        """Return a component as above, and 0 where it has none of its own."""
        return self[name] if name in self.raw else 0.0


def variance_components(
    values: Values,
    factors: Mapping[str, Sequence[Hashable] | Ints],
    groups: Sequence[Hashable] | Ints | None = None,
    signed: Collection[str] = (),
) -> VarianceComponents:
    """Return the variance component of each factor and of the `residual`, by MIVQUE(0) (module docstring).

    `factors` have a level for each value, `groups` what has a fixed mean of its own (one for all without them); missing
    values are left out. A factor that parts the values as another one does, or as no value is like any other, or not at
    all within groups, has no component, and `missing` says why; what it would explain is in the other one.

    Raises `ValueError` where the sequences differ in length, or a factor is called `residual`.

    >>> panel = [[9, 6, 8, 7, 10, 6], [2, 1, 4, 1, 5, 2], [5, 3, 6, 2, 6, 4], [8, 2, 8, 6, 9, 7]]
    >>> rows = [(score, item, judge) for judge, scores in enumerate(panel) for item, score in enumerate(scores)]
    >>> scores, items, judges = zip(*rows)
    >>> found = variance_components(scores, {"items": items, "judges": judges})
    >>> {name: round(value, 3) for name, value in found.raw.items()}
    {'items': 2.556, 'judges': 5.244, 'residual': 1.019}
    """
    y = read_values(values)
    there = ~np.isnan(y)
    if RESIDUAL in factors:
        raise ValueError(f"no factor is called `{RESIDUAL}`")
    codes = {name: cluster_codes(levels, len(y))[there] for name, levels in factors.items()}
    group = cluster_codes([0] * len(y) if groups is None else groups, len(y))[there]
    y = y[there]
    codes = {name: _numbered(levels) for name, levels in codes.items()}
    group = _numbered(group)
    codes, missing = _told_apart(codes, group)
    every = {**codes, RESIDUAL: np.arange(len(y))}
    levels = {name: int(each.max()) + 1 if len(each) else 0 for name, each in every.items()}
    if len(y) == 0 or levels[RESIDUAL] <= int(group.max()) + 1:
        reason = "no values" if len(y) == 0 else "no group has two values"
        return VarianceComponents({}, {}, {**missing, **dict.fromkeys(every, reason)}, levels, len(y))
    sizes = np.bincount(group).astype(float)
    centred = y - (np.bincount(group, weights=y) / sizes)[group]
    squares = np.array([float((np.bincount(each, weights=centred) ** 2).sum()) for each in every.values()])
    expected = _expected(list(every.values()), group, sizes)
    # On the scale of correlations, so that a factor of few large levels does not hide one of many small ones.
    scale = np.sqrt(np.diag(expected))
    if np.linalg.matrix_rank(expected / np.outer(scale, scale), tol=1e-9) < len(scale):
        reason = "factors cannot be told apart: too little is crossed"
        return VarianceComponents({}, {}, {**missing, **dict.fromkeys(every, reason)}, levels, len(y))
    raw = _solved(expected, squares, scale)
    kept = np.ones(len(scale), dtype=bool)
    free = np.array([name in signed for name in every])
    fitted = raw
    # Off by one at a time, the one that lies farthest below 0.
    while ((fitted < 0) & ~free).any() and kept.sum() > 1:
        kept[np.where(free, 0.0, fitted * scale).argmin()] = False
        fitted = np.zeros(len(scale))
        fitted[kept] = _solved(expected[np.ix_(kept, kept)], squares[kept], scale[kept])
    fitted = np.where(free, fitted, np.maximum(fitted, 0.0))
    by_name = [dict(zip(every, each.tolist(), strict=True)) for each in (raw, fitted)]
    return VarianceComponents(by_name[0], by_name[1], missing, levels, len(y))


def _solved(expected: Floats, squares: Floats, scale: Floats) -> Floats:
    found: Floats = np.linalg.solve(expected / np.outer(scale, scale), squares / scale) / scale
    return found


def _numbered(codes: Ints) -> Ints:
    return np.unique(codes, return_inverse=True)[1].astype(np.int64)


def _joined(first: Ints, second: Ints) -> Ints:
    """Return a code for every pair of levels that occurs."""
    return _numbered(first * (int(second.max()) + 1 if len(second) else 1) + second)


def _told_apart(codes: Mapping[str, Ints], group: Ints) -> tuple[dict[str, Ints], dict[str, str]]:
    """Return the factors whose component can be estimated, and why others have none."""
    kept: dict[str, Ints] = {}
    missing: dict[str, str] = {}
    for name, own in codes.items():
        many = int(own.max()) + 1 if len(own) else 0
        if many == len(own):
            missing[name] = "no two values are alike in it"
        elif int(_joined(own, group).max()) == int(group.max()):
            missing[name] = "each group has one level of it"
        else:
            twin = next((other for other, its in kept.items() if _same(own, its)), None)
            if twin is None:
                kept[name] = own
            else:
                missing[name] = f"it parts values as `{twin}` does"
    return kept, missing


def _same(first: Ints, second: Ints) -> bool:
    return int(first.max()) == int(second.max()) == int(_joined(first, second).max())


def _expected(codes: Sequence[Ints], group: Ints, sizes: Floats) -> Floats:
    """Return tr(M V_f M V_g) of every two factors, with V = Z Z′ and M = I - P, P the mean of the group.

    tr(V_f V_g) is the sum of squares of the joint counts; tr(P V_f V_g) and tr(P V_f P V_g) come from the counts of
    levels by group, which are sparse.
    """
    shapes = [(int(own.max()) + 1, len(sizes)) for own in codes]
    by_group = [_by_group(own, group, sizes, shape) for own, shape in zip(codes, shapes, strict=True)]
    inner = [counts.T @ counts for counts in by_group]
    found = np.zeros((len(codes), len(codes)))
    for f, first in enumerate(codes):
        for g in range(f + 1):
            second = codes[g]
            pairs = first * shapes[g][0] + second
            _, where, counts = np.unique(pairs, return_index=True, return_counts=True)
            whole = float((counts.astype(float) ** 2).sum())
            rows = (by_group[f][first[where]] * by_group[g][second[where]]).sum(axis=1)
            once = float((counts * np.asarray(rows).ravel()).sum())
            twice = float((inner[f] * inner[g]).sum())
            found[f, g] = found[g, f] = whole - 2 * once + twice
    return found


def _by_group(own: Ints, group: Ints, sizes: Floats, shape: tuple[int, int]) -> Any:
    """Return the counts of levels by group over the roots of the groups' sizes."""
    if len(group) * len(sizes) <= DENSE:
        counts = np.bincount(own * shape[1] + group, minlength=shape[0] * shape[1]).reshape(shape)
        return counts / np.sqrt(sizes)
    from scipy import sparse

    whole = sparse.csr_array((np.ones(len(group)), (own, group)), shape=shape)
    return whole @ sparse.diags_array(1 / np.sqrt(sizes))
