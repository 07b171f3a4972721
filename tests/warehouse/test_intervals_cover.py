"""Intervals of what lies between two ends hold the truth as often as they promise, also near the ends and of few items.

The long form is `tests/bench/coverage.py`.
"""

from __future__ import annotations

from itertools import groupby

import numpy as np
import pytest

from tests.bench.coverage import FEWEST, ITEMS, Family, covered, families
from tests.lengths import spread
from tripos_warehouse.statistics.intervals import shares_between

GROUPS = {name: tuple(found) for name, found in groupby(families(), lambda family: family.name)}


@pytest.mark.parametrize("name", spread(GROUPS, 12))
def test_a_family_is_covered_near_both_ends_and_between(name: str) -> None:
    missed = {
        (family.truth, items): share
        for family in GROUPS[name]
        for items in ITEMS
        if (share := covered(family, items, repetitions_of(family))[0]) < FEWEST
    }
    assert not missed


def repetitions_of(family: Family) -> int:
    return 80 if "macro" in family.name else 300 if "kappa" in family.name else 2000


def test_an_interval_that_is_merely_cut_at_the_ends_would_not_do() -> None:
    """Marks that mostly are the best: Student's t, cut at the ends, misses the truth too often."""
    random = np.random.default_rng(1)
    ease = random.beta(0.9 * 7 / 3, 0.1 * 7 / 3, (4000, 10))
    marks = random.binomial(9, ease) / 9
    value, error = marks.mean(1), marks.std(1, ddof=1) / 10**0.5
    cut = (np.abs(value - 0.9) <= 2.262 * error).mean()
    size = np.full(4000, 10.0)
    low, high = shares_between(value, error, size - 1, size)
    assert cut < 0.9
    assert ((low <= 0.9) & (high >= 0.9)).mean() > FEWEST
