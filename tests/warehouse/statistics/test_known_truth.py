"""Simulated judges and models of known quality: a 95 % interval holds the truth in about 95 of 100 repetitions.

Each repetition is seeded. Of 200 an interval that keeps its promise holds the truth in 179 to 198, but for 1 case in
1,000 (binomial).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from tests.lengths import sized
from tripos_warehouse.statistics.agreement import (
    cohen_kappa,
    intraclass,
    krippendorff_alpha,
    over_items,
    percent_agreement,
    spearman_rho,
)
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.statistics.intervals import bootstrap_mean, clopper_pearson, jackknife, mean, wilson
from tripos_warehouse.statistics.metrics import mean_pass_at_k
from tripos_warehouse.statistics.multiple_tests import compare_paired
from tripos_warehouse.statistics.preferences import (
    Preference,
    bradley_terry,
    flip_rate,
    judge_severity,
    position_bias,
    self_preference,
    win_rate,
)

REPETITIONS = sized(100, 200)
Random = np.random.Generator
LEAST, MOST = (int(stats.binom.ppf(p, REPETITIONS, 0.95)) for p in (0.0005, 0.9995))


def held(found: Callable[[Random], tuple[Estimate, float]], seed: int) -> int:
    """In how many repetitions the interval holds the truth. One without an interval does not."""
    times = 0
    for repetition in range(REPETITIONS):
        figure, truth = found(np.random.default_rng([seed, repetition]))
        if figure.low is not None and figure.high is not None:
            times += figure.low - 1e-12 <= truth <= figure.high + 1e-12
    return times


def rated(random: Random, items: int = 40, raters: int = 4, between: float = 2.0, judges: float = 0.0) -> np.ndarray:
    """Return ratings with a variance of `between` items, of `judges`, and of 1 for everything else."""
    return (
        random.normal(0, math.sqrt(between), (1, items))
        + random.normal(0, math.sqrt(judges), (raters, 1))
        + random.normal(0, 1, (raters, items))
    )


def icc_consistency(random: Random) -> tuple[Estimate, float]:
    return intraclass(rated(random, judges=3.0), "3,1"), 2 / 3


def icc_of_a_mean(random: Random) -> tuple[Estimate, float]:
    return intraclass(rated(random), "1,k"), 8 / 9


def icc_agreement(random: Random) -> tuple[Estimate, float]:
    return intraclass(rated(random, raters=8, judges=0.5), "2,1"), 2 / 3.5


def alpha(random: Random) -> tuple[Estimate, float]:
    ratings = rated(random, items=60)
    ratings[random.random(ratings.shape) < 0.15] = np.nan
    return over_items(krippendorff_alpha, ratings, method="jackknife"), 2 / 3


def confused(random: Random, n: int = 150) -> tuple[np.ndarray, np.ndarray]:
    """Return two raters who each see the truth, one of three, in 4 of 5 cases, and else one of the others."""
    truth = random.integers(0, 3, n)
    first, second = ((truth + (random.random(n) < 0.2) * random.integers(1, 3, n)) % 3 for _ in range(2))
    return first, second


AGREE = 0.8**2 + 2 * 0.1**2


def kappa(random: Random) -> tuple[Estimate, float]:
    first, second = confused(random)
    return cohen_kappa(first.tolist(), second.tolist(), categories=[0, 1, 2]), (AGREE - 1 / 3) / (2 / 3)


def agreement(random: Random) -> tuple[Estimate, float]:
    return percent_agreement(np.array(confused(random))), AGREE


def rho(random: Random) -> tuple[Estimate, float]:
    pairs = random.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], 60)
    return spearman_rho(pairs[:, 0], pairs[:, 1]), 6 / math.pi * math.asin(0.3)


def clustered_mean(random: Random) -> tuple[Estimate, float]:
    sizes = random.integers(1, 6, 40)
    clusters = np.repeat(np.arange(40), sizes)
    return mean(1.5 + random.normal(size=40)[clusters] + random.normal(size=len(clusters)), clusters), 1.5


def bootstrapped_mean(random: Random) -> tuple[Estimate, float]:
    clusters = np.repeat(np.arange(60), 3)
    values = random.exponential(size=60)[clusters] + random.normal(size=180)
    return bootstrap_mean(values, clusters, resamples=500), 1.0


def jackknifed_ratio(random: Random) -> tuple[Estimate, float]:
    x, y = random.uniform(1, 3, (2, 50))
    return jackknife(lambda rows: float(x[rows].sum() / y[rows].sum()), 50), 1.0


def wilson_share(random: Random) -> tuple[Estimate, float]:
    return wilson(int(random.binomial(30, 0.2)), 30), 0.2


def pass_at_2(random: Random) -> tuple[Estimate, float]:
    chances = random.beta(1, 2, 80)
    right = [int(random.binomial(6, chance)) for chance in chances]
    # E[1 − (1 − p)²] of a Beta(1, 2) variable.
    return mean_pass_at_k([6] * 80, right, 2), 0.5


def paired_difference(random: Random) -> tuple[Estimate, float]:
    groups = {item: item // 3 for item in range(90)}
    hard = random.normal(size=90) + np.repeat(random.normal(size=30), 3)
    gain = 0.3 + np.repeat(random.normal(0, 0.3, 30), 3)
    first, second = ((hard + shift)[:, None] + random.normal(0, 0.7, (90, 2)) for shift in (gain, 0))
    runs = [dict(enumerate(run.tolist())) for run in (first, second)]
    return compare_paired(runs[0], runs[1], groups).difference, 0.3


STRENGTHS = {"a": 0.9, "b": 0.3, "c": -0.2, "d": -1.0}
TIES = 0.6


def judged(random: Random, items: int = 30, ties: float = TIES) -> list[Preference]:
    """Return every two models on each item, by Davidson's model."""
    found = []
    for item in range(items):
        for i, j in itertools.combinations(STRENGTHS, 2):
            a, b = (math.exp(STRENGTHS[model]) for model in (i, j))
            weights = np.array([a, b, ties * math.sqrt(a * b)])
            found.append(Preference(i, j, (i, j, None)[random.choice(3, p=weights / weights.sum())], item))
    return found


def strength(random: Random) -> tuple[Estimate, float]:
    return bradley_terry(judged(random)).by_model["a"], STRENGTHS["a"]


def strength_difference_by_items(random: Random) -> tuple[Estimate, float]:
    return bradley_terry(judged(random, 40, ties=0.0), errors="items").difference("a", "c"), 1.1


def ties(random: Random) -> tuple[Estimate, float]:
    return bradley_terry(judged(random)).ties, TIES


def win_rate_of_a(random: Random) -> tuple[Estimate, float]:
    a, b = math.exp(0.9), math.exp(0.3)
    draw = TIES * math.sqrt(a * b)
    return win_rate(judged(random, 60), "a", "b"), (a + draw / 2) / (a + b + draw)


def leaning(random: Random, items: int = 120) -> list[Preference]:
    """Return a judge who takes what is shown first in 3 of 10 cases without reading, and else finds the better in 4 of
    5."""
    found = []
    for item in range(items):
        for first, second in (("a", "b"), ("b", "a")):
            read = random.random() >= 0.3
            winner = ("a" if random.random() < 0.8 else "b") if read else first
            found.append(Preference(first, second, winner, item, "judge"))
    return found


def planted_bias(random: Random) -> tuple[Estimate, float]:
    return position_bias(leaning(random)), 0.3


def planted_flips(random: Random) -> tuple[Estimate, float]:
    shown_first, shown_second = 0.3 + 0.7 * 0.8, 0.7 * 0.8
    return flip_rate(leaning(random)), shown_first * (1 - shown_second) + (1 - shown_first) * shown_second


def severity(random: Random) -> tuple[Estimate, float]:
    ratings = rated(random, items=50) + np.array([[-0.6], [0.0], [0.2], [0.4]])
    return judge_severity(ratings)[0], -0.6


def planted_self_preference(random: Random) -> tuple[Estimate, float]:
    found = []
    for item in range(80):
        chance = random.uniform(0.3, 0.6)
        for judge, bonus in (("gpt", 0.25), ("one", 0.0), ("two", 0.0)):
            won = random.random() < chance + bonus
            found.append(Preference("gpt", "other", "gpt" if won else "other", item, judge))
    return self_preference(found)["gpt"], 0.25


TRUTHS = [
    icc_consistency,
    icc_of_a_mean,
    icc_agreement,
    alpha,
    kappa,
    agreement,
    rho,
    clustered_mean,
    bootstrapped_mean,
    jackknifed_ratio,
    wilson_share,
    pass_at_2,
    paired_difference,
    strength,
    strength_difference_by_items,
    ties,
    win_rate_of_a,
    planted_bias,
    planted_flips,
    severity,
    planted_self_preference,
]


@pytest.mark.parametrize("truth", TRUTHS, ids=lambda truth: truth.__name__)
def test_an_interval_holds_the_truth_as_often_as_it_says(
    truth: Callable[[Random], tuple[Estimate, float]],
) -> None:
    assert LEAST <= held(truth, 20) <= MOST


def test_the_exact_interval_holds_the_truth_at_least_as_often_as_it_says() -> None:
    times = held(lambda random: (clopper_pearson(int(random.binomial(30, 0.2)), 30), 0.2), 21)
    assert times >= LEAST


def test_an_interval_that_takes_samples_of_an_item_for_items_does_not_hold_what_it_says() -> None:
    def naive(random: Random) -> tuple[Estimate, float]:
        values = np.repeat(random.normal(size=30), 5) + random.normal(0, 0.3, 150)
        return mean(values), 0.0

    assert held(naive, 22) < LEAST


def test_a_test_of_no_difference_finds_one_no_more_often_than_its_level() -> None:
    found = {"t": 0, "sign_flip": 0, "wilcoxon": 0}
    for repetition in range(REPETITIONS):
        random = np.random.default_rng([23, repetition])
        hard = random.normal(size=20)
        runs = [dict(enumerate((hard + random.normal(size=20)).tolist())) for _ in range(2)]
        for test in found:
            p = compare_paired(runs[0], runs[1], test=test, resamples=400).difference.p  # type: ignore[arg-type]
            found[test] += p is not None and p < 0.05
    assert all(REPETITIONS - MOST <= times <= REPETITIONS - LEAST for times in found.values()), found
