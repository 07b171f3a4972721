"""Judges beside people and beside themselves: against other packages, computations by hand, and known truth."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import beta, binom

from tests.bench.judges import CASCADES, WORLDS, BinaryWorld, broken, held
from tripos_warehouse.statistics.validity import (
    RepeatedVerdict,
    calibrate,
    corrected_prevalence,
    judge_drift,
    judge_noise,
    judge_stability,
    learned_threshold,
)

REPETITIONS = 100
FEWER = 40


def test_stability_is_what_counting_pairs_of_verdicts_says() -> None:
    random = np.random.default_rng(1)
    told = {reply: random.integers(1, 4, 4).tolist() for reply in range(30)}
    verdicts = [RepeatedVerdict("j", reply, reply % 10, value) for reply, said in told.items() for value in said]
    found = judge_stability(verdicts)["j"]
    flips = [np.mean([a != b for a, b in itertools.combinations(said, 2)]) for said in told.values()]
    assert found.flips.value == pytest.approx(np.mean(flips))
    assert found.stable.value == pytest.approx(np.mean([len(set(said)) == 1 for said in told.values()]))
    assert found.spread == pytest.approx(math.sqrt(np.mean([np.var(said, ddof=1) for said in told.values()])))
    assert found.flips.clusters == 10


def test_a_judge_that_is_asked_once_shows_no_stability() -> None:
    found = judge_stability([RepeatedVerdict("j", reply, reply, 1.0) for reply in range(5)])["j"]
    assert found.flips.value is None
    assert found.spread is None


def test_the_components_of_disagreement_are_recovered() -> None:
    noise, severity, own = 0.5, 0.4, 0.3
    shares, hits = [], 0
    for seed in range(FEWER):
        random = np.random.default_rng(seed)
        lenient = np.array([severity, -severity])  # a variance of 2 severity² between two judges
        seen = random.normal(0, own, (60, 2))
        verdicts = [
            RepeatedVerdict(f"j{judge}", reply, reply, lenient[judge] + seen[reply, judge] + random.normal(0, noise))
            for reply in range(60)
            for judge in range(2)
            for _ in range(3)
        ]
        found = judge_noise(verdicts)
        shares.append(found.share.value)
        truth = noise**2 / (noise**2 + 2 * severity**2 + own**2)
        hits += found.share.low <= truth <= found.share.high  # type: ignore[operator]
    assert np.mean(shares) == pytest.approx(truth, abs=0.03)
    assert hits / FEWER >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / FEWER)


def test_judges_that_differ_by_chance_alone_have_noise_only() -> None:
    random = np.random.default_rng(4)
    verdicts = [
        RepeatedVerdict(judge, reply, reply, random.normal()) for reply in range(200) for judge in "ab" for _ in "xyz"
    ]
    found = judge_noise(verdicts)
    assert found.share.value is not None
    assert found.share.value > 0.9
    assert found.repeats == pytest.approx(1.0, abs=0.15)


def test_the_curve_is_that_of_scikit_learn() -> None:
    random = np.random.default_rng(2)
    judge = random.integers(1, 11, 200).astype(float)
    people = np.clip(0.5 * judge + random.normal(2, 1.5, 200), 1, 10)
    found = calibrate(judge, people, np.repeat(np.arange(50), 4))
    from sklearn.isotonic import IsotonicRegression  # and pandas with it: every process would wait for both

    fitted = IsotonicRegression().fit(judge, people).predict([score for score, _ in found.curve])
    assert [value for _, value in found.curve] == pytest.approx(fitted.tolist())
    assert found.slope.value == pytest.approx(np.polyfit(judge, people, 1)[0])
    assert found.bias.value == pytest.approx((judge - people).mean())
    squares = found.miscalibration - found.discrimination + found.uncertainty  # type: ignore[operator]
    assert squares == pytest.approx(((judge - people) ** 2).mean())
    assert [each.graded.n for each in found.bins] == [int((judge == each.low).sum()) for each in found.bins]


def test_scores_of_many_values_fall_into_ten_bins_and_none_into_two() -> None:
    random = np.random.default_rng(3)
    judge = np.round(random.random(500), 2)
    found = calibrate(judge, judge + random.normal(0, 0.1, 500))
    assert len(found.bins) == 10
    assert sum(each.graded.n for each in found.bins) == 500
    assert all(one.high < two.low for one, two in itertools.pairwise(found.bins))


def test_few_replies_have_no_curve() -> None:
    found = calibrate([1, 2, 3], [1, 2, None])
    assert (found.curve, found.reason) == ((), "2 replies have both scores: it takes 10")


def test_the_slope_covers_the_truth() -> None:
    hits = 0
    for seed in range(REPETITIONS):
        random = np.random.default_rng(seed)
        item = np.repeat(random.normal(0, 0.5, 20), 4)
        judge = np.repeat(random.normal(5, 1, 20), 4) + random.normal(0, 1, 80)
        slope = calibrate(judge, 1 + 0.6 * judge + item + random.normal(0, 1, 80), np.repeat(np.arange(20), 4)).slope
        hits += slope.low <= 0.6 <= slope.high  # type: ignore[operator]
    assert hits / REPETITIONS >= 0.93 - 3 * math.sqrt(0.93 * 0.07 / REPETITIONS)


@pytest.mark.parametrize("world", WORLDS[::2], ids=lambda world: world.name)
def test_a_corrected_prevalence_holds_the_truth(world: BinaryWorld) -> None:
    found = held(world, REPETITIONS)
    assert found.rogan_gladen >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / REPETITIONS)


def test_the_limits_are_those_that_follow_from_the_published_steps() -> None:
    # 20 of 100 found good; 45 of 50 good ones and 40 of 50 bad ones told right; z = 1.96, so z² = 3.84146.
    judged = [1] * 20 + [0] * 80
    verdicts = [1] * 45 + [0] * 5 + [1] * 10 + [0] * 40
    labels = [1] * 50 + [0] * 50
    found = corrected_prevalence(judged, verdicts, labels).result
    p, se, sp = (20 + 1.920729) / 103.841459, 46 / 52, 41 / 52
    middle = (p + sp - 1) / (se + sp - 1)
    by_se, by_sp = se * (1 - se) / 52, sp * (1 - sp) / 52
    width = 1.959964 * math.sqrt(p * (1 - p) / 103.841459 + middle**2 * by_se + (1 - middle) ** 2 * by_sp)
    shift = 2 * 3.841459 * (middle * by_se - (1 - middle) * by_sp)
    assert found.value == 0.0
    assert found.low == 0.0
    assert found.high == pytest.approx(middle + shift + width / (se + sp - 1), abs=1e-6)


def test_a_judge_that_is_no_better_than_chance_corrects_nothing() -> None:
    found = corrected_prevalence([1, 0, 1], [1, 0, 1, 0], [1, 1, 0, 0])
    assert found.result.value is None
    assert found.result.reason == "the judge tells good replies from bad ones no better than chance"


def test_replies_to_one_item_are_worth_less_than_as_many_items() -> None:
    judged, verdicts, labels = [1, 1, 0, 0] * 25, [1, 1, 0, 0, 1, 0] * 10, [1, 1, 0, 0, 0, 1] * 10
    alone = corrected_prevalence(judged, verdicts, labels).result
    items = [place // 2 for place in range(100)], [place // 2 for place in range(60)]
    together = corrected_prevalence(judged, verdicts, labels, *items).result
    assert together.value == alone.value
    assert together.high - together.low > alone.high - alone.low  # type: ignore[operator]


def test_of_random_labels_ppi_is_sharper_and_of_others_only_rogan_and_gladen_is_right() -> None:
    by_name = {world.name: world for world in WORLDS}
    random = held(by_name["fair judge, random labels"], REPETITIONS)
    assert random.ppi >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / REPETITIONS)
    assert random.ppi_width < 0.7 * random.rogan_gladen_width
    elsewhere = held(by_name["lenient judge, labels elsewhere"], REPETITIONS)
    assert elsewhere.ppi < 0.5 < elsewhere.rogan_gladen


@pytest.mark.parametrize("name", CASCADES)
def test_a_cascade_breaks_its_promise_no_more_often_than_it_says(name: str) -> None:
    worse, trusted = broken(name, 300)
    assert worse <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 300)
    assert (trusted > 0.2) == (name == "confident where it is right")


def test_the_bound_of_a_threshold_is_the_exact_binomial_one() -> None:
    [tested] = learned_threshold([1.0] * 50, [True] * 47 + [False] * 3, 0.8).tested
    assert tested.least == pytest.approx(beta.ppf(0.05, 47, 4))
    assert binom.sf(46, 50, tested.least) == pytest.approx(0.05)


def test_too_few_labels_learn_no_threshold() -> None:
    found = learned_threshold([1.0] * 20, [True] * 20, 0.9)
    assert found.threshold is None
    assert found.reason == "20 labels are too few: 29 that all agree are needed to show 90%"


def test_drift_is_paired() -> None:
    random = np.random.default_rng(6)
    replies = random.normal(5, 2, 40)
    found = judge_drift(replies, replies + 0.5 + random.normal(0, 0.1, 40), np.arange(40))
    assert found.difference.low > 0.4  # type: ignore[operator]
    assert found.difference.high < 0.6  # type: ignore[operator]
    assert found.changed.value == 1.0
    missing = judge_drift([1.0, None], [1.0, 2.0])
    assert (missing.difference.n, missing.difference.left_out) == (1, 1)
