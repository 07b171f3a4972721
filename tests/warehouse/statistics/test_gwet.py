"""Gwet's AC1 and AC2, against values of the package irrCAC 0.4.4, and where kappa fails."""

from __future__ import annotations

import numpy as np
import pytest

from tests.lengths import sized
from tripos_warehouse.query.aggregates import AGREEMENTS
from tripos_warehouse.statistics.agreement import Weights, cohen_kappa, gwet_ac, krippendorff_alpha

GAPS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, None],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 3],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]
"""Four raters and twelve items, with gaps: the ratings of Krippendorff (2011)."""


@pytest.mark.parametrize(
    ("weights", "value", "error", "low"),
    [
        ("none", 0.77544407, 0.14294995, 0.46081335),
        ("linear", 0.85873914, 0.11732902, 0.6004997),
        ("quadratic", 0.91400072, 0.10396224, 0.68518137),
    ],
)
def test_it_has_the_values_of_irrcac(weights: Weights, value: float, error: float, low: float) -> None:
    for found in (gwet_ac(GAPS, weights), gwet_ac(GAPS, weights, [1, 2, 3, 4, 5])):
        assert (found.value, found.standard_error, found.low) == pytest.approx((value, error, low), abs=1e-7)
        assert (found.high, found.n, found.df) == (1, 12, 11)


def test_two_raters_have_the_values_of_irrcac() -> None:
    found = gwet_ac([[0, 1, 1, 1, 1, 1, 1, 0], [0, 1, 1, 0, 1, 1, 1, 1]])
    assert (found.value, found.standard_error, found.low) == pytest.approx((0.6, 0.30687364, -0.12564084), abs=1e-7)


def test_where_one_class_is_frequent_it_stays_near_the_agreement() -> None:
    """The paradox of Feinstein and Cicchetti (1990): 90 of 100 are the same, and kappa says hardly more than chance."""
    one, other = [1] * 90 + [1] * 5 + [0] * 5, [1] * 90 + [0] * 5 + [1] * 5
    kappa, ac1 = cohen_kappa(one, other).value, gwet_ac([one, other]).value
    assert kappa is not None and kappa < 0
    assert ac1 is not None and 0.85 < ac1 < 0.9


def test_it_is_undefined_with_a_reason() -> None:
    assert gwet_ac([[1, None], [None, 2]]).reason == "no item has two ratings"
    assert gwet_ac([[1, 1], [1, 1]]).reason == "all ratings are the same: there is one category"
    assert gwet_ac([[1, 2], [1, 2]]).value == krippendorff_alpha([[1, 2], [1, 2]]).value == 1


def test_measures_have_it_and_leave_items_out_without_losing_a_category() -> None:
    matrix = np.array(GAPS, dtype=float)
    assert AGREEMENTS["gwet_ac1"].estimate(matrix).value == pytest.approx(0.77544407)
    assert AGREEMENTS["gwet_ac2"].estimate(matrix).value == pytest.approx(0.91400072)
    # Only the tenth item is of the fifth category.
    without = AGREEMENTS["gwet_ac1"].leave_out(matrix, "", np.arange(12), 12)[9]
    kept = np.delete(matrix, 9, axis=1)
    assert without == gwet_ac(kept, "none", [1, 2, 3, 4, 5]).value != gwet_ac(kept).value


def in_words(ratings: list[list[float | None]], weights: Weights, categories: list[float]) -> float:
    """Return the coefficient of Gwet (2014, sections 4.2 and 4.3) by his sums over all categories."""
    far = max(categories) - min(categories)
    power = {"none": 0, "linear": 1, "quadratic": 2}[weights]

    def weight(one: float, other: float) -> float:
        return float(one == other) if power == 0 else 1 - (abs(one - other) / far) ** power

    agreed, shares, rated = 0.0, dict.fromkeys(categories, 0.0), 0
    items = [[value for value in item if value is not None] for item in zip(*ratings, strict=True)]
    for given in (given for given in items if given):
        for category in categories:
            shares[category] += given.count(category) / len(given)
    for given in (given for given in items if len(given) > 1):
        rated += 1
        pairs = [(a, b) for a, one in enumerate(given) for b, _ in enumerate(given) if a != b and one is not None]
        agreed += sum(weight(given[a], given[b]) for a, b in pairs) / len(pairs)
    many, size = sum(1 for given in items if given), len(categories)
    total = sum(weight(one, other) for one in categories for other in categories)
    chance = total / (size * (size - 1)) * sum(share / many * (1 - share / many) for share in shares.values())
    return (agreed / rated - chance) / (1 - chance)


@pytest.mark.parametrize("seed", range(sized(30, 2000)))
def test_a_category_that_nobody_gave_counts(seed: int) -> None:
    random = np.random.default_rng([3, seed])
    scale = sorted(random.choice(12, random.integers(3, 8), replace=False).astype(float).tolist())
    given = random.choice(scale, random.integers(2, len(scale)), replace=False)
    matrix = random.choice(given, (random.integers(2, 5), random.integers(2, 9)))
    holes = [[None if random.random() < 0.2 else float(value) for value in row] for row in matrix]
    for weights in ("none", "linear", "quadratic"):
        found = gwet_ac(holes, weights, scale)
        if not any(sum(value is not None for value in item) > 1 for item in zip(*holes, strict=True)):
            assert found.reason == "no item has two ratings"
            continue
        assert found.value == pytest.approx(in_words(holes, weights, scale), abs=1e-12)
        if len({value for row in holes for value in row if value is not None}) > 1 and weights == "none":
            fewer = gwet_ac(holes, weights)
            assert fewer.value is not None and fewer.value <= found.value + 1e-12


def test_all_ratings_alike_are_agreement_if_others_were_possible() -> None:
    found = gwet_ac([[3, 3, 3], [3, 3, 3]], "quadratic", [1, 2, 3, 4, 5])
    assert (found.value, found.reason) == (1, "items do not differ: nothing shows the error")


def test_a_rating_outside_of_the_categories_is_refused() -> None:
    with pytest.raises(ValueError, match=r"the rating 7.* is none of the categories"):
        gwet_ac([[1, 7], [1, 2]], "none", [1, 2])


@pytest.mark.parametrize("seed", range(sized(10, 200)))
def test_kappa_by_squares_needs_no_categories(seed: int) -> None:
    """The distance of two levels is that of their numbers, so the length of the scale cancels out (Cohen, 1968)."""
    random = np.random.default_rng([4, seed])
    one, other = (random.choice([1, 2, 5], 20).tolist() for _ in range(2))
    found = AGREEMENTS["quadratic_kappa"].estimate(np.array([one, other], dtype=float)).value
    assert found == pytest.approx(cohen_kappa(one, other, "quadratic", [1, 2, 3, 4, 5, 6, 7]).value)


@pytest.mark.parametrize("same", [0.3, 0.8])
def test_its_interval_holds_the_truth(same: float) -> None:
    """Two raters agree on a share of the items and else by chance, over three classes: 40 items, 300 times."""
    random, held, alike = np.random.default_rng(5), 0, 0
    for _ in range(300):
        one, chance = random.integers(0, 3, (2, 40))
        other = np.where(random.random(40) < same, one, chance)
        found = gwet_ac([one, other], "none", [0, 1, 2])
        if found.low is None or found.high is None:
            alike += 1
        else:
            held += found.low <= same <= found.high
    assert alike <= 3 and held >= 0.92 * 300
