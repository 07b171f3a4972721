"""Variance components: against published figures, REML of another package, and known truth whatever is missing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tripos_warehouse.statistics.variance import (
    DifferenceComponents,
    NotEstimable,
    difference_components,
    variance_components,
)

PANEL = [[9, 6, 8, 7, 10, 6], [2, 1, 4, 1, 5, 2], [5, 3, 6, 2, 6, 4], [8, 2, 8, 6, 9, 7]]
"""Six targets and four judges of Shrout and Fleiss (1979), table 2."""


def test_it_is_the_analysis_of_variance_where_nothing_is_missing() -> None:
    rows = [(score, item, judge) for judge, scores in enumerate(PANEL) for item, score in enumerate(scores)]
    scores, items, judges = zip(*rows, strict=True)
    found = variance_components(scores, {"items": items, "judges": judges})
    # The mean squares that the paper prints in table 3: 11.24 of targets, 32.49 of judges, 1.02 of what is left.
    assert found["residual"] == pytest.approx(1.02, abs=0.005)
    assert found["items"] == pytest.approx((11.24 - 1.02) / 4, abs=0.005)
    assert found["judges"] == pytest.approx((32.49 - 1.02) / 6, abs=0.005)


def scores_of(random: np.random.Generator, items: int, share: float = 1.0) -> tuple[Any, ...]:
    """Draw scores of 2 models, 2 samples and 3 judges, of which a share is there; judges prefer models of their own."""
    i, m, s, j = (each.ravel() for each in np.indices((items, 2, 2, 3)))
    y = (
        random.normal(0, 1, items)[i]
        + random.normal(0, 0.7, (items, 2))[i, m]
        + random.normal(0, 0.4, (items, 3, 2))[i, j, m]
        + random.normal(0, 0.6, (items, 2, 2))[i, m, s]
        + random.normal(0, 0.5, len(i))
        + random.normal(0, 3, (2, 3))[m, j]
    )
    there = random.random(len(y)) < share
    return tuple(each[there] for each in (y, i, m, s, j))


def test_what_is_missing_biases_no_component() -> None:
    random = np.random.default_rng(2)
    found = [difference_components(*scores_of(random, 60, 0.7)) for _ in range(60)]
    parts = [each for each in found if isinstance(each, DifferenceComponents)]
    assert len(parts) == 60
    for name, truth in {"items": 0.98, "judges": 0.32, "samples": 0.72, "gradings": 0.5, "shared": 1.0}.items():
        values = np.array([getattr(each, name) for each in parts])
        assert abs(values.mean() - truth) < 3.3 * values.std() / 60**0.5 + 0.01, name


def test_the_variance_of_a_design_is_that_of_its_differences() -> None:
    y, i, m, s, j = scores_of(np.random.default_rng(3), 300)
    found = difference_components(y, i, m, s, j)
    assert isinstance(found, DifferenceComponents)
    assert (found.observed, found.separated, found.learned_from) == ((2, 3, 1), {"samples", "judges"}, 300)
    table = y.reshape(300, 2, 2, 3)
    differences = (table[:, 0] - table[:, 1]).mean(axis=(1, 2))
    assert found.variance(2, 3) == pytest.approx(differences.var(ddof=1), rel=1e-9)
    for_one = difference_components(*(each[j == 0] for each in (y, i, m, s, j)))
    assert isinstance(for_one, DifferenceComponents)
    assert for_one.separated == {"samples"}
    assert for_one.variance(2) == pytest.approx((table[:, 0] - table[:, 1])[..., 0].mean(axis=1).var(ddof=1))


@pytest.mark.parametrize(
    ("drop", "known"), [("samples", {"judges"}), ("both", set()), ("models", {"samples", "judges"})]
)
def test_what_the_scores_do_not_vary_is_not_known(drop: str, known: set[str]) -> None:
    y, i, m, s, j = scores_of(np.random.default_rng(4), 400)
    keep = {"samples": s == 0, "both": (s == 0) & (j == 0), "models": m == 0}[drop]
    found = difference_components(*(each[keep] for each in (y, i, m, s, j)))
    assert isinstance(found, DifferenceComponents)
    assert found.separated == known
    assert found.models == (1 if drop == "models" else 2)
    table = y.reshape(400, 2, 2, 3)
    if drop == "models":
        # One model alone: its variance twice, and half of what lies in the item is taken to be common.
        own = table[:, 0].mean(axis=(1, 2)).var(ddof=1)
        assert found.variance(2, 3) < 2 * own
        assert found.variance(2, 3) == pytest.approx(2 * own - (1 + 0.49), abs=0.45)
        return
    part = table[:, :, 0] if drop == "samples" else table[:, :, 0, :1]
    differences = (part[:, 0] - part[:, 1]).mean(axis=1)
    assert found.variance(1, part.shape[2]) == pytest.approx(differences.var(ddof=1), rel=1e-9)


def test_repeats_are_the_noise_of_a_judge() -> None:
    random = np.random.default_rng(5)
    i, m, _ = (each.ravel() for each in np.indices((400, 2, 2)))
    y = random.normal(0, 1, (400, 2))[i, m] + random.normal(0, 0.5, len(i))
    found = difference_components(y, i, m, i * 0, i * 0)
    assert isinstance(found, DifferenceComponents)
    assert found.separated == {"repeats"}
    assert found.repeats == pytest.approx(0.5, rel=0.15)
    assert found.variance(repeats=2) < found.variance()


def test_differences_between_cells_are_no_noise_where_cells_are_averaged() -> None:
    random = np.random.default_rng(6)
    i, m = (each.ravel() for each in np.indices((400, 2)))
    cell = i % 4
    y = random.normal(0, 1, len(i)) + random.normal(0, 3, (4, 2))[cell, m]
    whole, within = (difference_components(y, i, m, i * 0, i * 0, cells) for cells in (None, cell))
    assert isinstance(whole, DifferenceComponents)
    assert isinstance(within, DifferenceComponents)
    assert within.items == pytest.approx(2, rel=0.2)
    assert whole.items > 2 * within.items


def test_too_little_has_a_reason() -> None:
    few = difference_components([1, 2, 3, 4], [1, 1, 2, 2], [0, 1, 0, 1], [0] * 4, [0] * 4)
    assert isinstance(few, NotEstimable)
    assert few.reason == "2 items have scores: it takes 8"
    alike = difference_components([3] * 40, [*range(20)] * 2, [0] * 20 + [1] * 20, [0] * 40, [0] * 40)
    assert isinstance(alike, NotEstimable)
    assert alike.reason == "all differences are alike"
    assert variance_components([], {"items": []}).missing["residual"] == "no values"
    alone = variance_components([1, 2], {"items": [0, 1]}, [0, 1])
    assert alone.missing["residual"] == "no group has two values"
    with pytest.raises(ValueError, match="residual"):
        variance_components([1], {"residual": [1]})


@pytest.mark.long
def test_reml_of_statsmodels_gives_the_same_where_nothing_is_missing() -> None:
    models = pytest.importorskip("statsmodels.api")
    import pandas as pd

    y, i, m, s, j = scores_of(np.random.default_rng(8), 30)
    found = variance_components(
        y, {"items": i, "items x models": i * 2 + m, "replies": (i * 2 + m) * 2 + s}, groups=m * 3 + j
    )
    table = pd.DataFrame({"y": y, "i": i, "m": m, "s": s, "g": m * 3 + j})
    fitted = models.MixedLM.from_formula(
        "y ~ C(g)", table, groups="i", re_formula="1", vc_formula={"im": "0 + C(m)", "ims": "0 + C(m):C(s)"}
    ).fit(reml=True)
    wanted = {
        "items": float(fitted.cov_re.iloc[0, 0]),
        "items x models": float(fitted.vcomp[0]),
        "replies": float(fitted.vcomp[1]),
        "residual": float(fitted.scale),
    }
    for name, value in wanted.items():
        assert found[name] == pytest.approx(value, rel=2e-3), name
