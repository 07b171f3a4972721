"""Generalizability theory: how dependably a mean over judges, samples or tasks tells the objects of measurement apart.

A score of an object p under conditions of facets is a sum of effects, whose variances `variance_components` estimates.
The mean over n conditions of each facet has the universe score variance σ²(p), and two errors. The relative error
σ²(δ) are the interactions of p with facets, each over its number of conditions: it moves objects against each other.
The absolute error σ²(Δ) has the facets' own effects and their interactions too: it moves them against a fixed mark. So
the generalizability coefficient G, Eρ² = σ²(p) / (σ²(p) + σ²(δ)), speaks of rankings, and the index of dependability
D, Φ = σ²(p) / (σ²(p) + σ²(Δ)), of the scores themselves (Shavelson and Webb 1991, chapters 2 and 6; Brennan 2001,
section 1.1.2 and chapter 4).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from tripos_compiler.source import dataclass
from tripos_warehouse.statistics.agreement import intraclass
from tripos_warehouse.statistics.design.components import RESIDUAL, VarianceComponents, variance_components
from tripos_warehouse.statistics.found import StatisticResult
from tripos_warehouse.statistics.ratings import Ratings, read_ratings

CROSSED = " x "
"""Stands between the facets of an interaction in the name of a component."""
REPLIES, JUDGES = "replies", "judges"
PANELS = (1, 2, 3, 5)
"""The sizes of panels that a D-study looks at."""


@dataclass(frozen=True)
class Generalizability:
    """The universe score variance of a design, and the variances of its two errors."""

    universe: float
    relative_error: float
    absolute_error: float

    @property
    def relative(self) -> float | None:
        """Return Eρ², the generalizability coefficient G: 0 to 1, and None where nothing varies."""
        return _share(self.universe, self.relative_error)

    @property
    def absolute(self) -> float | None:
        """Return Φ, the index of dependability D: 0 to 1, no higher than G, and None where nothing varies."""
        return _share(self.universe, self.absolute_error)


def generalizability(components: VarianceComponents, of: str, counts: Mapping[str, int]) -> Generalizability:
    """Return what the mean over `counts` conditions of each facet comes to, for the objects called `of`: a D-study.

    A component is named like its facets, ` x ` between those of an interaction; one facet nested in another (raters in
    tasks) is an interaction of the two. The residual is the interaction of the objects with all facets. Components that
    could not be estimated count as 0.

    Raises `ValueError` for a component of a facet that `counts` does not have, and for a count below 1.

    >>> panel = [[9, 6, 8, 7, 10, 6], [2, 1, 4, 1, 5, 2], [5, 3, 6, 2, 6, 4], [8, 2, 8, 6, 9, 7]]
    >>> rows = [(score, item, judge) for judge, scores in enumerate(panel) for item, score in enumerate(scores)]
    >>> scores, items, judges = zip(*rows)
    >>> found = variance_components(scores, {"items": items, "judges": judges})
    >>> designs = [generalizability(found, "items", {"judges": judges}) for judges in (1, 4)]
    >>> [(round(each.relative, 2), round(each.absolute, 2)) for each in designs]
    [(0.71, 0.29), (0.91, 0.62)]
    """
    if strange := [name for name, count in counts.items() if count < 1]:
        raise ValueError(f"a mean is over 1 condition at least, and not over {counts[strange[0]]} of `{strange[0]}`")
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
    """How dependable the mean of so many judges is: G for the order of replies, and D for their scores."""

    judges: int
    relative: StatisticResult
    absolute: StatisticResult


@dataclass(frozen=True)
class PanelStudy:
    """The variance of one score of a panel, in parts, and what panels of several sizes come to."""

    components: dict[str, float]
    """The variances of `replies`, of `judges`, and of the `residual`."""
    designs: tuple[PanelDesign, ...]
    """The panel as it is, and panels of 1, 2, 3 and 5 judges like these, by their size."""
    reason: str | None = None
    """Why there is nothing."""


def panel_study(
    ratings: Ratings, clusters: Sequence[Hashable] | None = None, *, confidence: float = 0.95
) -> PanelStudy:
    """Return how dependably panels of judges like these tell replies apart; `ratings` has a row a judge.

    Judges are taken as drawn from many like them, and crossed with replies. The intervals are those of the intraclass
    correlations ICC(3) and ICC(2) of one judge, which G and D are where nothing is missing, for as many judges
    (Spearman and Brown); replies that share one of `clusters` count as one. There is none where a rating is missing.

    >>> panel = [[9, 6, 8, 7, 10, 6], [2, 1, 4, 1, 5, 2], [5, 3, 6, 2, 6, 4], [8, 2, 8, 6, 9, 7]]
    >>> [(each.judges, round(each.absolute.value, 2)) for each in panel_study(panel).designs]
    [(1, 0.29), (2, 0.45), (3, 0.55), (4, 0.62), (5, 0.67)]
    """
    matrix = read_ratings(ratings)
    if (~np.isnan(matrix).all(axis=1)).sum() < 2:
        return PanelStudy({}, (), "one judge shows nothing of judges like it")
    judges, replies = np.indices(matrix.shape)
    found = variance_components(matrix.ravel(), {REPLIES: replies.ravel(), JUDGES: judges.ravel()})
    missing = next((found.missing[name] for name in (RESIDUAL, REPLIES, JUDGES) if name in found.missing), None)
    if missing is not None:
        return PanelStudy({}, (), missing)
    one = [intraclass(matrix, form, clusters, confidence=confidence) for form in ("3,1", "2,1")]
    if np.isnan(matrix).any():
        gaps = "not every judge scored every reply"
        one = [each.without_interval(gaps) if each.value is not None else replace(each, reason=gaps) for each in one]
    designs = []
    for count in sorted({*PANELS, len(matrix)}):
        study = generalizability(found, REPLIES, {JUDGES: count})
        values = (study.relative, study.absolute)
        designs.append(PanelDesign(count, *map(_of_panel, values, one, [count] * 2)))
    return PanelStudy({name: found[name] for name in (REPLIES, JUDGES, RESIDUAL)}, tuple(designs))


def _share(universe: float, error: float) -> float | None:
    return universe / (universe + error) if universe + error > 0 else None


def _of_panel(value: float | None, one: StatisticResult, judges: int) -> StatisticResult:
    """Return a coefficient of so many judges, with the interval that follows from that of one."""
    if value is None:
        return StatisticResult.undefined("all scores are the same", n=one.n)
    found = StatisticResult(value, n=one.n, clusters=one.clusters, left_out=one.left_out)
    if one.low is None or one.high is None:
        return found.without_interval(one.reason or "nothing shows the error")
    low, high = (_stepped_up(max(end, 0.0), judges) for end in (one.low, one.high))
    return replace(found, low=min(low, value), high=max(high, value))


def _stepped_up(reliability: float, judges: int) -> float:
    """Return the reliability of a mean of so many judges, from that of one (Spearman 1910; Brown 1910)."""
    return judges * reliability / (1 + (judges - 1) * reliability)
