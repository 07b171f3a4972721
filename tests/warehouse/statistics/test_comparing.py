"""Two runs and many models: second implementations and what must hold."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from tests.lengths import sized
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.statistics.multiple_tests import (
    Test,
    benjamini_hochberg,
    compare_paired,
    fixed_sequence,
    holm,
    letters_of,
    rank_by,
    rank_groups,
)

PAIRS = np.random.default_rng(8).normal(0.4, 1, (2, 25))
FIRST, SECOND = (dict(enumerate(values.tolist())) for values in PAIRS)


def test_the_difference_is_that_of_the_paired_t_test() -> None:
    found = compare_paired(FIRST, SECOND).difference
    result = stats.ttest_rel(*PAIRS)
    bounds = result.confidence_interval()
    assert (found.low, found.high, found.p) == pytest.approx((bounds.low, bounds.high, result.pvalue))


def test_wilcoxon_is_that_of_scipy() -> None:
    found = compare_paired(FIRST, SECOND, test="wilcoxon").difference
    assert found.p == pytest.approx(stats.wilcoxon(*PAIRS).pvalue)


def test_wilcoxon_ranks_the_mean_differences_of_groups_whatever_their_size() -> None:
    groups = {item: min(item, 9) for item in FIRST}
    found = compare_paired(FIRST, SECOND, groups, test="wilcoxon").difference
    differences = PAIRS[0] - PAIRS[1]
    assert found.p == pytest.approx(stats.wilcoxon([*differences[:9], differences[9:].mean()]).pvalue)


def test_few_items_are_turned_round_in_all_ways() -> None:
    differences = [0.5, 1.0, -0.25, 2.0, 0.75]
    found = compare_paired(dict(enumerate(differences)), dict.fromkeys(range(5), 0.0), test="sign_flip").difference
    sums = [abs(np.dot(signs, differences)) for signs in itertools.product([1, -1], repeat=5)]
    assert found.p == pytest.approx(np.mean([each >= abs(sum(differences)) - 1e-12 for each in sums]))


def test_many_items_are_turned_round_at_random_by_a_seed() -> None:
    p = [compare_paired(FIRST, SECOND, test="sign_flip", resamples=500, seed=seed).difference.p for seed in (1, 1, 2)]
    assert p[0] == p[1] != p[2]
    assert p[0] == pytest.approx(compare_paired(FIRST, SECOND).difference.p, abs=0.06)


@pytest.mark.parametrize("test", ["t", "sign_flip", "wilcoxon"])
@given(values=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=10))
@settings(max_examples=sized(10, 40), deadline=None)
def test_the_other_way_round_only_the_sign_changes(values: list[tuple[int, int]], test: Test) -> None:
    first, second = (dict(enumerate(column)) for column in zip(*values, strict=True))
    one, other = (compare_paired(a, b, test=test).difference for a, b in ((first, second), (second, first)))
    assert one.value == pytest.approx(-(other.value or 0.0))
    assert one.p == pytest.approx(other.p)
    if one.low is not None and other.high is not None:
        assert one.low == pytest.approx(-other.high)


def test_samples_of_an_item_count_as_one() -> None:
    once = compare_paired({1: 1.0, 2: 0.5, 3: 0.0}, {1: 0.0, 2: 0.0, 3: 0.0}).difference
    often = compare_paired({1: [1, 1, 1, 1], 2: [1, 0], 3: [0, None]}, {1: 0, 2: [0, 0], 3: 0}).difference
    assert once == often


def test_items_of_one_run_only_are_counted_and_left_out() -> None:
    found = compare_paired({1: 1, 2: 2, 3: None}, {2: 1, 3: 1, 4: 1})
    assert (found.difference.n, found.only_first, found.only_second) == (1, 1, 2)
    assert compare_paired({1: 1}, {2: 1}).difference.reason == "no item has a score in both runs"


def test_groups_of_items_are_what_is_independent() -> None:
    found = compare_paired(FIRST, SECOND, {item: item % 5 for item in FIRST}).difference
    assert (found.clusters, found.df, found.n) == (5, 4, 25)


def test_the_same_difference_on_every_item_is_tested_by_turning_it_round() -> None:
    found = compare_paired(dict.fromkeys(range(4), 2.0), dict.fromkeys(range(4), 1.0)).difference
    assert (found.value, found.low, found.high, found.p) == (1.0, None, None, 2 / 2**4)


@pytest.mark.parametrize("test", ["t", "sign_flip"])
@given(values=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=20))
@settings(max_examples=sized(30, 300), deadline=None)
def test_a_p_value_says_what_the_interval_says(values: list[tuple[int, int]], test: Test) -> None:
    first, second = (dict(enumerate(column)) for column in zip(*values, strict=True))
    found = compare_paired(first, second, test=test, resamples=400).difference
    excludes = found.low is not None and found.high is not None and (found.low > 0 or found.high < 0)
    assert (found.p is not None and found.p < 0.05) == excludes


def test_runs_that_are_equal_throughout_do_not_differ() -> None:
    assert compare_paired(FIRST, FIRST).difference.p == 1.0


def test_holm_of_published_values() -> None:
    # R's `p.adjust(c(0.01, 0.02, 0.03, 0.04), "holm")`.
    assert holm([0.01, 0.02, None, 0.03, 0.04]) == pytest.approx([0.04, 0.06, None, 0.06, 0.06])


@given(p_values=st.lists(st.floats(0, 1), max_size=8))
@settings(max_examples=sized(30, 60), deadline=None)
def test_holm_keeps_the_order_and_lies_between_the_value_and_bonferronis(p_values: list[float]) -> None:
    found = holm(p_values)
    for p, corrected in zip(p_values, found, strict=True):
        assert corrected is not None
        assert p <= corrected <= min(1.0, p * len(p_values)) + 1e-12
    pairs = sorted(zip(p_values, found, strict=True), key=lambda pair: pair[0])
    assert [c for _, c in pairs] == sorted(c for _, c in pairs if c is not None)


@given(size=st.integers(1, 6), data=st.data())
@settings(max_examples=sized(30, 80), deadline=None)
def test_names_share_a_letter_unless_they_are_apart(size: int, data: st.DataObject) -> None:
    names = [f"m{at}" for at in range(size)]
    pairs = list(itertools.combinations(names, 2))
    apart = data.draw(st.sets(st.sampled_from(pairs))) if pairs else set()
    letters = letters_of(names, apart)
    for first, second in pairs:
        assert bool(set(letters[first]) & set(letters[second])) == ((first, second) not in apart)


def test_models_share_a_group_until_holm_tells_them_apart() -> None:
    random = np.random.default_rng(4)
    hard = random.normal(0, 1, 60)
    strengths = {"best": 1.5, "as good": 1.48, "middle": 0.8, "poor": 0.0}
    scores = {
        model: dict(enumerate((hard + strength + random.normal(0, 0.5, 60)).tolist()))
        for model, strength in strengths.items()
    }
    ranking = rank_groups(scores)
    assert {rank.model: rank.rank for rank in ranking.ranks} == {"best": 1, "as good": 1, "middle": 3, "poor": 4}
    assert {rank.model: rank.letters for rank in ranking.ranks} == {
        "best": "a",
        "as good": "a",
        "middle": "b",
        "poor": "c",
    }


def test_ranks_go_by_the_items_that_two_models_share() -> None:
    random = np.random.default_rng(6)
    shared = random.normal(0, 0.1, 20)
    # On the 20 items that both have, the first is worse; on 20 easy ones of its own it collects points.
    first = dict(enumerate([*(shared - 1).tolist(), *random.normal(9, 0.1, 20).tolist()]))
    second = dict(enumerate((shared + random.normal(0, 0.1, 20)).tolist()))
    ranking = rank_groups({"first": first, "second": second})
    assert [(rank.model, rank.rank) for rank in ranking.ranks] == [("first", 2), ("second", 1)]


def test_a_model_without_a_score_stands_last_and_is_told_from_none() -> None:
    ranking = rank_groups({"a": {1: 1.0, 2: 2.0}, "none": {}})
    assert [(rank.model, rank.letters) for rank in ranking.ranks] == [("a", "a"), ("none", "a")]
    assert ranking.ranks[1].mean.value is None


def test_of_errors_the_lowest_is_first() -> None:
    values = {
        "poor": Estimate(0.9, n=50),
        "fair": Estimate(0.3, n=50),
        "good": Estimate(0.2, n=50),
    }

    def compared(first: str, second: str) -> Estimate:
        difference = (values[first].value or 0.0) - (values[second].value or 0.0)
        return Estimate(difference, p=0.001 if abs(difference) > 0.2 else 0.4)

    ranks = rank_by(values, compared, lower_is_better=True).ranks
    assert [(rank.model, rank.rank, rank.letters) for rank in ranks] == [
        ("good", 1, "a"),
        ("fair", 1, "a"),
        ("poor", 3, "b"),
    ]
    assert [rank.model for rank in rank_by(values, compared).ranks] == ["poor", "fair", "good"]


@pytest.mark.parametrize("seed", range(3))
def test_the_false_discovery_rate_is_that_of_scipy(seed: int) -> None:
    given = np.random.default_rng(seed).beta(0.4, 1, 12)
    found = benjamini_hochberg([*given, None])
    assert found[-1] is None
    assert found[:-1] == pytest.approx(stats.false_discovery_control(given, method="bh"))


def test_what_is_declared_is_tested_before_all_others() -> None:
    """With a headline that is not significant nothing else is; what comes first pays nothing for what follows."""
    given = [0.04, 0.001, 0.2, None, 0.01]
    assert fixed_sequence(given, [0]) == [0.04, 0.04, 0.2, None, 0.04]
    assert fixed_sequence(given, [2, 0]) == [0.2, 0.2, 0.2, None, 0.2]
    assert fixed_sequence(given, [3, 1]) == pytest.approx([0.08, 0.001, 0.2, None, 0.03], nan_ok=True)
    assert fixed_sequence(given) == holm(given)
