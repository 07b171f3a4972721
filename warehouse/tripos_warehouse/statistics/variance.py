"""Variance components: of scores by factor, of the difference of two models, and generalizability of panels.

A score is a fixed mean of its group, plus a random effect for its level of each factor, plus a residual: y = X β + Σ
Z_f u_f + e. Groups are not sampled, such as a model with a judge in a cell. With the projection M that subtracts the
group mean, the sum of squares of the level totals of a factor, y′ M Z_f Z_f′ M y, has the expectation Σ_g tr(M Z_f Z_f′
M Z_g Z_g′) σ²_g, one equation per component: MIVQUE(0) (Hartley, Rao and LaMotte 1978; Searle, Casella and McCulloch
1992, "Variance Components", section 11.3). The estimates are unbiased for crossed or nested factors, any pattern of
missing values, and any distribution of the scores. If nothing is missing they are those of the analysis of variance, as
in generalizability theory (Brennan 2001), and of REML as long as none is negative.

For a paired difference, both models answer the same items, each reply is graded by the same judges, and the difference
is taken by item. With S samples, J judges and R repeats of each grading, the difference of an item has the variance

    items + samples / S + judges / J + gradings / (S J) + repeats / (S J R),

which generalizability theory calls the relative error variance of a decision study (Brennan 2001, sections 4.1 and
5.1), for items that are not nested and a fixed panel. The mean over items has this variance divided by their number.

In generalizability theory, a score of an object p under conditions of facets is a sum of effects, whose variances
`variance_components` estimates. The mean over n conditions of each facet has the universe score variance σ²(p), and two
error variances. The relative one, σ²(δ), is the sum of the interactions of p with facets, each divided by its number of
conditions: this error changes the order of objects. The absolute one, σ²(Δ), also has the facets' main effects and
their interactions: this error also shifts the scores of all objects. So the generalizability coefficient G, Eρ² = σ²(p)
/ (σ²(p) + σ²(δ)), is for rankings, and the index of dependability D, Φ = σ²(p) / (σ²(p) + σ²(Δ)), for the scores
themselves (Shavelson and Webb 1991, chapters 2 and 6; Brennan 2001, section 1.1.2 and chapter 4).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np

from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.statistics.agreement import intraclass
from tripos_warehouse.statistics.arrays import (
    Floats,
    Ints,
    Ratings,
    Values,
    cluster_codes,
    read_ratings,
    read_values,
)
from tripos_warehouse.statistics.estimate import Estimate

# Components by factor

RESIDUAL = "residual"
"""The name of the component of the variance that no factor explains."""
DENSE = 1_000_000
"""Up to this many cells, the table of levels by group is a dense array, which is faster than a sparse one."""


@dataclass(frozen=True)
class VarianceComponents:
    """The variances of the effects of factors, in the squared unit of the scores."""

    raw: Mapping[str, float]
    """The estimates, which may be negative if the true variance is near 0."""
    fitted: Mapping[str, float] = field(default_factory=dict)
    """The estimates after negative ones were set to 0, and the others estimated without them. Components that may be
    negative, the argument `signed`, keep their sign."""
    missing: Mapping[str, str] = field(default_factory=dict)
    """Why a factor has no component."""
    levels: Mapping[str, int] = field(default_factory=dict)
    """The number of levels of each factor that occur."""
    n: int = 0
    """The number of scores that count."""

    def __getitem__(self, name: str) -> float:
        """Return a component of `fitted`: 0 if its raw estimate is negative, and the others are then estimated without
        it (Thompson 1962; Searle, Casella and McCulloch 1992, section 4.4). Raises `KeyError` if there is none."""
        return self.fitted.get(name, 0.0) if name in self.raw else self.raw[name]

    def __contains__(self, name: str) -> bool:
        return name in self.raw

    def get(self, name: str) -> float:
        """Return a component as `[]` does, and 0 if the factor has none."""
        return self[name] if name in self.raw else 0.0


def variance_components(
    values: Values,
    factors: Mapping[str, Sequence[Hashable] | Ints],
    groups: Sequence[Hashable] | Ints | None = None,
    signed: Collection[str] = (),
) -> VarianceComponents:
    """Return the variance component of each factor and of the `residual`, by MIVQUE(0) (module docstring).

    `factors` have a level for each value, `groups` the group of each value (by default all are in one); each group has
    a fixed mean. Missing values are left out. A factor has no component if another factor splits the values in the same
    way, if each value has its own level, or if it does not vary within groups; `missing` has the reason. In the first
    two cases its variance is included in the other factor's component, or in the residual. Components named in `signed`
    may be negative: they are covariances.

    Raises `ValueError` if the sequences differ in length, or a factor is called `residual`.

    >>> panel = [[9, 6, 8, 7, 10, 6], [2, 1, 4, 1, 5, 2], [5, 3, 6, 2, 6, 4], [8, 2, 8, 6, 9, 7]]
    >>> rows = [(score, item, judge) for judge, scores in enumerate(panel) for item, score in enumerate(scores)]
    >>> scores, items, judges = zip(*rows)
    >>> found = variance_components(scores, {"items": items, "judges": judges})
    >>> {name: round(value, 3) for name, value in found.raw.items()}
    {'items': 2.556, 'judges': 5.244, 'residual': 1.019}
    """
    y = read_values(values)
    present = ~np.isnan(y)
    if RESIDUAL in factors:
        raise ValueError(f"no factor is called `{RESIDUAL}`")
    codes = {name: cluster_codes(levels, len(y))[present] for name, levels in factors.items()}
    group = cluster_codes([0] * len(y) if groups is None else groups, len(y))[present]
    y = y[present]
    codes = {name: _numbered(levels) for name, levels in codes.items()}
    group = _numbered(group)
    codes, missing = _estimable_factors(codes, group)
    all_codes = {**codes, RESIDUAL: np.arange(len(y))}
    levels = {name: int(code.max()) + 1 if len(code) else 0 for name, code in all_codes.items()}
    if len(y) == 0 or levels[RESIDUAL] <= int(group.max()) + 1:
        reason = "no values" if len(y) == 0 else "no group has two values"
        return VarianceComponents({}, {}, {**missing, **dict.fromkeys(all_codes, reason)}, levels, len(y))
    sizes = np.bincount(group).astype(float)
    centred = y - (np.bincount(group, weights=y) / sizes)[group]
    squares = np.array([float((np.bincount(code, weights=centred) ** 2).sum()) for code in all_codes.values()])
    expected = _expected(list(all_codes.values()), group, sizes)
    # The rank is that of the matrix scaled to a diagonal of 1: unscaled, entries of factors with few large levels are
    # so much larger that a factor with many small levels would seem to be inseparable.
    scale = np.sqrt(np.diag(expected))
    if np.linalg.matrix_rank(expected / np.outer(scale, scale), tol=1e-9) < len(scale):
        reason = "factors cannot be separated: too little is crossed"
        return VarianceComponents({}, {}, {**missing, **dict.fromkeys(all_codes, reason)}, levels, len(y))
    raw = _solved(expected, squares, scale)
    is_fitted = np.ones(len(scale), dtype=bool)
    may_be_negative = np.array([name in signed for name in all_codes])
    fitted = raw
    # Remove one component at a time, the most negative one.
    while ((fitted < 0) & ~may_be_negative).any() and is_fitted.sum() > 1:
        is_fitted[np.where(may_be_negative, 0.0, fitted * scale).argmin()] = False
        fitted = np.zeros(len(scale))
        fitted[is_fitted] = _solved(expected[np.ix_(is_fitted, is_fitted)], squares[is_fitted], scale[is_fitted])
    fitted = np.where(may_be_negative, fitted, np.maximum(fitted, 0.0))
    by_name = [dict(zip(all_codes, estimates.tolist(), strict=True)) for estimates in (raw, fitted)]
    return VarianceComponents(by_name[0], by_name[1], missing, levels, len(y))


def _solved(expected: Floats, squares: Floats, scale: Floats) -> Floats:
    """Return the components for which the `expected` sums of squares are equal to `squares`."""
    components: Floats = np.linalg.solve(expected / np.outer(scale, scale), squares / scale) / scale
    return components


def _numbered(codes: Ints) -> Ints:
    """Return codes without gaps, in the same order."""
    return np.unique(codes, return_inverse=True)[1].astype(np.int64)


def _joined(first: Ints, second: Ints) -> Ints:
    """Return a code for every pair of levels that occurs."""
    return _numbered(first * (int(second.max()) + 1 if len(second) else 1) + second)


def _estimable_factors(codes: Mapping[str, Ints], group: Ints) -> tuple[dict[str, Ints], dict[str, str]]:
    """Return the factors whose component can be estimated, and the reasons why others have none."""
    estimable: dict[str, Ints] = {}
    missing: dict[str, str] = {}
    for name, code in codes.items():
        levels = int(code.max()) + 1 if len(code) else 0
        if levels == len(code):
            missing[name] = "no two values are alike in it"
        elif int(_joined(code, group).max()) == int(group.max()):
            missing[name] = "each group has one level of it"
        else:
            same = next((other for other, other_code in estimable.items() if _same(code, other_code)), None)
            if same is None:
                estimable[name] = code
            else:
                missing[name] = f"it parts values as `{same}` does"
    return estimable, missing


def _same(first: Ints, second: Ints) -> bool:
    """Return true if two factors split the values in the same way."""
    return int(first.max()) == int(second.max()) == int(_joined(first, second).max())


def _expected(codes: Sequence[Ints], group: Ints, sizes: Floats) -> Floats:
    """Return tr(M V_f M V_g) for every two factors, with V = Z Z′ and M = I - P, P the mean of the group.

    The product is tr(V_f V_g) - 2 tr(P V_f V_g) + tr(P V_f P V_g). The first term is the sum of squares of the joint
    counts of levels; the others are computed from the counts of levels by group.
    """
    shapes = [(int(code.max()) + 1, len(sizes)) for code in codes]
    by_group = [_by_group(code, group, sizes, shape) for code, shape in zip(codes, shapes, strict=True)]
    inner = [counts.T @ counts for counts in by_group]
    expected = np.zeros((len(codes), len(codes)))
    for f, first in enumerate(codes):
        for g in range(f + 1):
            second = codes[g]
            pairs = first * shapes[g][0] + second
            _, occurrence, counts = np.unique(pairs, return_index=True, return_counts=True)
            product = float((counts.astype(float) ** 2).sum())
            rows = (by_group[f][first[occurrence]] * by_group[g][second[occurrence]]).sum(axis=1)
            projected_once = float((counts * np.asarray(rows).ravel()).sum())
            projected_twice = float((inner[f] * inner[g]).sum())
            expected[f, g] = expected[g, f] = product - 2 * projected_once + projected_twice
    return expected


def _by_group(code: Ints, group: Ints, sizes: Floats, shape: tuple[int, int]) -> Any:
    """Return the counts of levels by group, divided by the roots of the group sizes."""
    if len(group) * len(sizes) <= DENSE:
        counts = np.bincount(code * shape[1] + group, minlength=shape[0] * shape[1]).reshape(shape)
        return counts / np.sqrt(sizes)
    from scipy import sparse

    sparse_counts = sparse.csr_array((np.ones(len(group)), (code, group)), shape=shape)
    return sparse_counts @ sparse.diags_array(1 / np.sqrt(sizes))


# Components of a difference

CORRELATION = 0.5
"""The assumed correlation of the scores of two models on one item, if only one model is known."""


@dataclass(frozen=True)
class DifferenceComponents:
    """The variance components of the difference of two models on an item; a component that cannot be separated is
    included in another.

    >>> parts = DifferenceComponents(items=0.04, samples=0.08, judges=0.02, gradings=0.06)
    >>> round(parts.variance(), 3), round(parts.variance(samples=2, judges=2), 3)
    (0.2, 0.105)
    """

    items: float
    """The variance between items, which no number of samples or judges reduces."""
    samples: float = 0.0
    """The variance between samples of the models' replies to the same item, common to all judges."""
    judges: float = 0.0
    """The variance between judges of the difference on the same item, common to all samples."""
    gradings: float = 0.0
    """The variance between judges that is specific to a single reply."""
    repeats: float = 0.0
    """The variance between repeated gradings of the same reply by the same judge."""
    shared: float = 0.0
    """The variance of the mean of both models on an item, which a paired difference does not have."""
    panel: float | None = None
    """The variance between judges of the difference over all items: no noise for a fixed panel, and not reduced by more
    items. `None` if unknown."""
    separated: frozenset[str] = frozenset({"samples", "judges", "repeats"})
    """Which of `samples`, `judges` and `repeats` have a separate component, so that the effect of their number is
    known."""
    learned_from: int | None = None
    """The number of items from which the components were estimated; `None` if they were not estimated."""
    observed: tuple[int, int, int] = (1, 1, 1)
    """The numbers of samples, judges and repeats that are the most frequent in the data."""
    models: int = 2
    """The number of models from which the components were estimated; from one model, with `CORRELATION`."""

    def variance(self, samples: float = 1, judges: float = 1, repeats: float = 1) -> float:
        """Return the variance of the difference of one item; numbers of samples and judges may be fractions."""
        per_grading = self.gradings + self.repeats / repeats
        return self.items + self.samples / samples + self.judges / judges + per_grading / (samples * judges)

    def scaled(self, times: float) -> DifferenceComponents:
        """Return the components multiplied by a number.

        >>> DifferenceComponents(items=0.5, samples=0.25).scaled(2).variance()
        1.5
        """
        names = ("items", "samples", "judges", "gradings", "repeats", "shared")
        return self if times == 1 else replace(self, **{name: times * getattr(self, name) for name in names})

    def correlation(self, samples: int = 1, judges: int = 1, repeats: int = 1) -> float:
        """Return the correlation of the scores of two models on an item; 0 if nothing varies."""
        total = self.shared + self.variance(samples, judges, repeats) / 2
        return self.shared / total if total else 0.0


@dataclass(frozen=True)
class NotEstimable:
    """The reason why components cannot be estimated."""

    reason: str
    missing: dict[str, str] = field(default_factory=dict)
    """Why single factors have no component."""


FEWEST_ITEMS = 8
"""With fewer items a variance is only a guess."""


def difference_components(
    values: Values,
    items: Sequence[Hashable] | Ints,
    models: Sequence[Hashable] | Ints,
    samples: Sequence[Hashable] | Ints,
    judges: Sequence[Hashable] | Ints,
    cells: Sequence[Hashable] | Ints | None = None,
) -> DifferenceComponents | NotEstimable:
    """Return the components of a difference of two models, as the mean over all pairs of models.

    Each value is a judge's grade of a reply; `items`, `models`, `samples` and `judges` have its item, model, sample and
    judge, and values that agree in all four are repeats. With `cells`, the cell of each value, differences between
    cells are not noise, as for a mean of cells. Every combination of model, judge and cell has a fixed mean
    (`variance_components`), and the components are twice those of one model: σ² of item × model, reply, item × judge ×
    model, and reply × judge.

    >>> import numpy as np
    >>> draws = np.random.default_rng(1)
    >>> item, model, sample = (each.ravel() for each in np.indices((500, 2, 2)))
    >>> own = draws.normal(0, 0.3, (500, 2))[item, model]
    >>> scores = draws.normal(0, 1, 500)[item] + own + draws.normal(0, 0.5, 2000)
    >>> found = difference_components(scores, item, model, sample, item * 0)
    >>> round(found.items, 1), round(found.samples, 1), sorted(found.separated)
    (0.2, 0.5, ['samples'])
    """
    y = read_values(values)
    present = ~np.isnan(y)
    y = y[present]
    item, model, judge = (cluster_codes(each, len(present))[present] for each in (items, models, judges))
    sample = cluster_codes(samples, len(present))[present]
    cell = np.zeros(len(y), dtype=np.int64) if cells is None else cluster_codes(cells, len(present))[present]
    item_count = _distinct(item)
    if item_count < FEWEST_ITEMS:
        return NotEstimable(f"{item_count} items have scores: it takes {FEWEST_ITEMS}")
    several_models = _distinct(model) > 1
    reply = _together(item, model, sample)
    grading = _together(reply, judge)
    factors = {"items": item, "items x models": _together(item, model)} if several_models else {"items": item}
    factors |= {"items x judges": _together(item, judge)}
    factors |= {"items x judges x models": _together(item, judge, model)} if several_models else {}
    factors |= {"replies": reply, "gradings": grading}
    # The effects of an item that models share are covariances of models, which may be negative.
    signed = ("items", "items x judges") if several_models else ()
    components = variance_components(y, factors, _together(model, judge, cell), signed)
    if RESIDUAL not in components:
        return NotEstimable(components.missing[RESIDUAL], dict(components.missing))
    counts = (
        _usual(_together(item, model), reply),
        _usual(item, _together(item, judge)),
        _usual(grading, np.arange(len(y))),
    )
    separated = frozenset(
        name for name, count in zip(("samples", "judges", "repeats"), counts, strict=True) if count > 1
    )
    panel = _between_judges(y, model, judge, factors) if several_models and "judges" in separated else None
    return _of_difference(components, several_models, separated, counts, panel, item_count, _distinct(model))


def _of_difference(
    components: VarianceComponents,
    several_models: bool,
    separated: frozenset[str],
    counts: tuple[int, int, int],
    panel: float | None,
    items: int,
    models: int,
) -> DifferenceComponents | NotEstimable:
    """Return the components of a difference: twice those of one model.

    Without repeats, the residual is the component of gradings; without several judges too, that of replies; without
    several samples too, that of items.
    """
    residual = 2 * components[RESIDUAL]
    replies, gradings, repeats = 2 * components.get("replies"), 2 * components.get("gradings"), 0.0
    if "repeats" in separated:
        repeats = residual
    elif "judges" in separated:
        gradings += residual
    else:
        replies += residual
    if several_models:
        by_item, by_judge, shared = (
            2 * components.get("items x models"),
            2 * components.get("items x judges x models"),
            components.get("items"),
        )
    else:
        by_item, shared = 2 * (1 - CORRELATION) * components.get("items"), CORRELATION * components.get("items")
        by_judge = 2 * components.get("items x judges")
    if "samples" not in separated:
        # With one reply per model, replies cannot be separated from items.
        by_item, replies = by_item + replies, 0.0
    if by_item + replies + by_judge + gradings + repeats == 0:
        return NotEstimable("all differences are alike", dict(components.missing))
    return DifferenceComponents(
        by_item, replies, by_judge, gradings, repeats, shared, panel, separated, items, counts, models
    )


def _distinct(codes: Ints) -> int:
    """Return the number of distinct codes. `np.unique` without further arguments would import masked arrays, which
    takes 10 ms."""
    return int(np.count_nonzero(np.bincount(codes)))


def _together(*codes: Ints) -> Ints:
    """Return the combination of levels of each value as a code; codes are the combinations that occur, in order."""
    combined = codes[0]
    for code in codes[1:]:
        combined = _joined(combined, code)
    return combined


def _usual(outer: Ints, inner: Ints) -> int:
    """Return the most frequent number of `inner` levels per `outer` level; for ties, the smallest."""
    pairs = np.unique(np.stack([outer, inner]), return_index=True, axis=1)[0][0]  # with indices: see `_distinct`
    numbers = np.unique(pairs, return_counts=True)[1]
    sizes, frequencies = np.unique(numbers, return_counts=True)
    return int(sizes[frequencies.argmax()])


def _between_judges(y: Values, model: Ints, judge: Ints, factors: dict[str, Ints]) -> float | None:
    """Return the variance between judges of the difference of two models over all items; `None` if unknown."""
    all_factors = {**factors, "models": model, "judges": judge, "judges x models": _together(judge, model)}
    components = variance_components(y, all_factors)
    return 2 * components["judges x models"] if "judges x models" in components else None


# Generalizability

CROSSED = " x "
"""The separator of facets in the name of an interaction."""
REPLIES, JUDGES = "replies", "judges"
PANELS = (1, 2, 3, 5)
"""The sizes of panels in a D-study."""


@dataclass(frozen=True)
class Generalizability:
    """The universe score variance of a design, and the variances of its two errors."""

    universe: float
    relative_error: float
    absolute_error: float

    @property
    def relative(self) -> float | None:
        """Eρ², the generalizability coefficient G: 0 to 1, None if nothing varies."""
        return _share(self.universe, self.relative_error)

    @property
    def absolute(self) -> float | None:
        """Φ, the index of dependability D: 0 to 1, at most G, None if nothing varies."""
        return _share(self.universe, self.absolute_error)


def generalizability(components: VarianceComponents, of: str, counts: Mapping[str, int]) -> Generalizability:
    """Return the generalizability of the mean over `counts` conditions of each facet (a D-study); `of` is the name of
    the objects.

    A component's name is that of its facets, with ` x ` between those of an interaction; a facet nested in another
    (raters in tasks) is an interaction of the two. The residual is the interaction of the objects with all facets.
    Components that could not be estimated count as 0.

    Raises `ValueError` for a component of a facet that `counts` does not have, and for a count below 1.

    >>> panel = [[9, 6, 8, 7, 10, 6], [2, 1, 4, 1, 5, 2], [5, 3, 6, 2, 6, 4], [8, 2, 8, 6, 9, 7]]
    >>> rows = [(score, item, judge) for judge, scores in enumerate(panel) for item, score in enumerate(scores)]
    >>> scores, items, judges = zip(*rows)
    >>> found = variance_components(scores, {"items": items, "judges": judges})
    >>> designs = [generalizability(found, "items", {"judges": judges}) for judges in (1, 4)]
    >>> [(round(each.relative, 2), round(each.absolute, 2)) for each in designs]
    [(0.71, 0.29), (0.91, 0.62)]
    """
    if invalid := [name for name, count in counts.items() if count < 1]:
        raise ValueError(f"a mean is over 1 condition at least, and not over {counts[invalid[0]]} of `{invalid[0]}`")
    universe = relative = absolute = 0.0
    for name in components.raw:
        facets = {of, *counts} if name == RESIDUAL else set(name.split(CROSSED))
        if unknown := sorted(facets - {of, *counts}):
            raise ValueError(f"`{unknown[0]}` has no count")
        if facets == {of}:
            universe += components[name]
            continue
        error = components[name] / math.prod(counts[facet] for facet in facets - {of})
        absolute += error
        relative += error if of in facets else 0.0
    return Generalizability(universe, relative, absolute)


@dataclass(frozen=True)
class PanelDesign:
    """How dependable the mean of a number of judges is: G for the order of replies, and D for their scores."""

    judges: int
    relative: Estimate
    absolute: Estimate


@dataclass(frozen=True)
class PanelStudy:
    """The variance components of a single score of a panel of judges, and the dependability of panels by their size."""

    components: dict[str, float]
    """The variances of `replies`, of `judges`, and of the `residual`."""
    designs: tuple[PanelDesign, ...]
    """The designs with 1, 2, 3 and 5 judges and with the panel's own number, by number."""
    reason: str | None = None
    """Why there is no result."""


def panel_study(
    ratings: Ratings, clusters: Sequence[Hashable] | None = None, *, confidence: float = 0.95
) -> PanelStudy:
    """Return how dependably panels of judges like these distinguish replies; `ratings` has one row per judge.

    Judges are taken as a sample of a population, and crossed with replies. The intervals are those of the intraclass
    correlations ICC(3) and ICC(2) of one judge, which equal G and D if nothing is missing, extended to the number of
    judges (Spearman and Brown); replies that share one of `clusters` count as one. There is no interval if a rating is
    missing.

    >>> panel = [[9, 6, 8, 7, 10, 6], [2, 1, 4, 1, 5, 2], [5, 3, 6, 2, 6, 4], [8, 2, 8, 6, 9, 7]]
    >>> [(each.judges, round(each.absolute.value, 2)) for each in panel_study(panel).designs]
    [(1, 0.29), (2, 0.45), (3, 0.55), (4, 0.62), (5, 0.67)]
    """
    matrix = read_ratings(ratings)
    if (~np.isnan(matrix).all(axis=1)).sum() < 2:
        return PanelStudy({}, (), "one judge shows nothing of judges like it")
    judges, replies = np.indices(matrix.shape)
    components = variance_components(matrix.ravel(), {REPLIES: replies.ravel(), JUDGES: judges.ravel()})
    missing = next(
        (components.missing[name] for name in (RESIDUAL, REPLIES, JUDGES) if name in components.missing), None
    )
    if missing is not None:
        return PanelStudy({}, (), missing)
    of_one_judge = [intraclass(matrix, form, clusters, confidence=confidence) for form in ("3,1", "2,1")]
    if np.isnan(matrix).any():
        reason = "not every judge scored every reply"
        of_one_judge = [
            estimate.without_interval(reason) if estimate.value is not None else replace(estimate, reason=reason)
            for estimate in of_one_judge
        ]
    designs = []
    for count in sorted({*PANELS, len(matrix)}):
        study = generalizability(components, REPLIES, {JUDGES: count})
        values = (study.relative, study.absolute)
        designs.append(PanelDesign(count, *map(_of_panel, values, of_one_judge, [count] * 2)))
    return PanelStudy({name: components[name] for name in (REPLIES, JUDGES, RESIDUAL)}, tuple(designs))


def _share(universe: float, error: float) -> float | None:
    """Return the share of the universe score variance in its sum with an error variance; `None` if both are 0."""
    return universe / (universe + error) if universe + error > 0 else None


def _of_panel(value: float | None, of_one: Estimate, judges: int) -> Estimate:
    """Return a coefficient for a number of judges, with the interval that follows from the interval of one judge."""
    if value is None:
        return Estimate.undefined("all scores are the same", n=of_one.n)
    estimate = Estimate(value, n=of_one.n, clusters=of_one.clusters, left_out=of_one.left_out)
    if of_one.low is None or of_one.high is None:
        return estimate.without_interval(of_one.reason or "nothing shows the error")
    low, high = (_stepped_up(max(end, 0.0), judges) for end in (of_one.low, of_one.high))
    return replace(estimate, low=min(low, value), high=max(high, value))


def _stepped_up(reliability: float, judges: int) -> float:
    """Return the reliability of a mean of several judges, from that of one (Spearman 1910; Brown 1910)."""
    return judges * reliability / (1 + (judges - 1) * reliability)
