"""Comparisons by two: published values, second implementations and what must hold."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from scipy.optimize import linprog, minimize

from tests.lengths import sized
from tripos_warehouse.statistics.preferences import (
    Counts,
    Preference,
    _fit,
    bradley_terry,
    flip_rate,
    judge_severity,
    position_bias,
    self_preference,
    win_rate,
)

CITATIONS = {
    ("Biometrika", "Comm Statist"): (730, 33),
    ("Biometrika", "JASA"): (498, 320),
    ("Biometrika", "JRSS-B"): (221, 284),
    ("Comm Statist", "JASA"): (68, 813),
    ("Comm Statist", "JRSS-B"): (17, 276),
    ("JASA", "JRSS-B"): (142, 325),
}
"""Citations of statistics journals, by pair: Stigler (1994), as in Agresti, "Categorical data analysis", and the vignette
of the R package BradleyTerry2."""


def verdicts_of(counts: dict[tuple[str, str], tuple[int, int]]) -> list[Preference]:
    return [
        Preference(first, second, winner)
        for (first, second), times in counts.items()
        for winner, count in zip((first, second), times, strict=True)
        for _ in range(count)
    ]


@pytest.mark.parametrize(
    ("journal", "value", "error"),
    [("Comm Statist", -2.9491, 0.1025), ("JASA", -0.4796, 0.0606), ("JRSS-B", 0.2690, 0.0708)],
)
def test_strengths_of_the_journals_are_the_published_ones(journal: str, value: float, error: float) -> None:
    found = bradley_terry(verdicts_of(CITATIONS)).difference(journal, "Biometrika")
    assert (found.value, found.standard_error) == pytest.approx((value, error), abs=6e-5)


three = st.lists(
    st.tuples(st.sampled_from(list(itertools.permutations("abc", 2))), st.sampled_from([0, 1, None])),
    min_size=1,
    max_size=14,
)


def as_verdicts(drawn: list[tuple[tuple[str, str], int | None]]) -> list[Preference]:
    return [
        Preference(*pair, None if winner is None else pair[winner], item=at % 5)
        for at, (pair, winner) in enumerate(drawn)
    ]


def likelihood(verdicts: list[Preference], values: np.ndarray, names: str = "abc") -> float:
    """Davidson's log-likelihood, verdict by verdict; the last value is log ν."""
    total = 0.0
    for verdict in verdicts:
        a, b = (values[names.index(model)] for model in (verdict.first, verdict.second))
        weights = {verdict.first: a, verdict.second: b, None: values[-1] + (a + b) / 2}
        total += weights[verdict.winner] - float(np.logaddexp.reduce(list(weights.values())))
    return total


@given(drawn=three)
@settings(max_examples=sized(30, 40), deadline=None)
def test_no_other_strengths_are_more_likely(drawn: list[tuple[tuple[str, str], int | None]]) -> None:
    verdicts = as_verdicts(drawn)
    assume({model for verdict in verdicts for model in verdict.models} == set("abc"))
    assume(any(verdict.winner is None for verdict in verdicts))
    found = bradley_terry(verdicts)
    assume(found.ties.value is not None)
    ours = np.array([found.by_model[model].value for model in "abc"] + [math.log(found.ties.value or 1)])
    theirs = minimize(lambda values: -likelihood(verdicts, values), np.zeros(4), method="BFGS")
    assert likelihood(verdicts, ours) >= -theirs.fun - 1e-7
    assert ours[:3].sum() == pytest.approx(0, abs=1e-8)


def grows_for_ever(verdicts: list[Preference], names: str = "abc") -> bool:
    """Return true if some direction makes no verdict less likely and one more so: no finite strengths are best (by a
    linear program; Albert and Anderson 1984)."""
    tied = any(verdict.winner is None for verdict in verdicts)
    rows = []
    for verdict in verdicts:
        a, b, draw = np.zeros(4), np.zeros(4), np.zeros(4)
        a[names.index(verdict.first)] = b[names.index(verdict.second)] = 1
        draw = (a + b) / 2
        draw[3] = 1
        by_winner = {verdict.first: a, verdict.second: b} | ({None: draw} if tied else {})
        rows += [by_winner[verdict.winner] - other for winner, other in by_winner.items() if winner != verdict.winner]
    table = np.array(rows)
    result = linprog(-table.sum(axis=0), A_ub=-table, b_ub=np.zeros(len(table)), bounds=[(-1, 1)] * 4)
    # What no verdict says anything of, such as two models that nothing links, is a direction too.
    rank = np.linalg.matrix_rank(table)
    return bool(-result.fun > 1e-9) or bool(rank < 2 + tied)


@given(drawn=three)
@settings(max_examples=sized(30, 150), deadline=None)
def test_a_reason_is_given_where_and_only_where_no_finite_strengths_are_best(
    drawn: list[tuple[tuple[str, str], int | None]],
) -> None:
    verdicts = as_verdicts(drawn)
    assume({model for verdict in verdicts for model in verdict.models} == set("abc"))
    found = bradley_terry(verdicts).by_model["a"]
    assert (found.value is None) == grows_for_ever(verdicts)
    assert (found.value is None) == (found.reason is not None)


def test_a_start_that_is_far_off_leads_to_the_same_strengths() -> None:
    wins = np.zeros((6, 6))
    for winner, loser, times in ((0, 2, 1), (0, 3, 2), (0, 4, 1000), (0, 5, 1001), (1, 0, 2001), (1, 5, 2), (2, 0, 1)):
        wins[winner, loser] = times
    for winner, loser, times in ((3, 1, 1), (4, 0, 2000), (4, 3, 1), (5, 0, 1000)):
        wins[winner, loser] = times
    ties = np.zeros((6, 6))
    far = np.array([0.92, 1.98, -5.99, 0.72, 1.45, 0.92])
    assert _fit(wins, ties, 0.0, far).values == pytest.approx(_fit(wins, ties, 0.0).values, abs=1e-6)


def test_two_models_with_ties_have_strengths_and_errors_in_closed_form() -> None:
    verdicts = [Preference("a", "b", winner) for winner in ["a"] * 9 + ["b"] * 4 + [None] * 12]
    found = bradley_terry(verdicts)
    assert found.difference("a", "b").value == pytest.approx(math.log(9 / 4))
    assert found.ties.value == pytest.approx(12 / math.sqrt(9 * 4))
    # By the delta method, of log (w / l) and of log (t / √(w l)).
    of_difference, of_ties = math.sqrt(1 / 9 + 1 / 4), 12 / 6 * math.sqrt(1 / 12 + 1 / 36 + 1 / 16)
    assert found.difference("a", "b").standard_error == pytest.approx(of_difference)
    assert found.ties.standard_error == pytest.approx(of_ties)
    # Of a model that fits exactly, with a verdict an item, the two ways differ by n / (n − 1) only.
    by_items = bradley_terry(verdicts, errors="items")
    assert by_items.difference("a", "b").standard_error == pytest.approx(of_difference * math.sqrt(25 / 24))
    assert by_items.ties.standard_error == pytest.approx(of_ties * math.sqrt(25 / 24))


def test_a_bootstrap_has_about_the_interval_of_ties_that_the_information_has() -> None:
    verdicts = [Preference("a", "b", winner) for winner in ["a"] * 90 + ["b"] * 40 + [None] * 120]
    drawn, wanted = (bradley_terry(verdicts, errors=way, resamples=400).ties for way in ("bootstrap", "information"))  # type: ignore[arg-type]
    assert drawn.value == pytest.approx(wanted.value)
    assert (drawn.low, drawn.high) == pytest.approx((wanted.low, wanted.high), rel=0.1)


REASONS = {
    "`a` never lost to or tied with any of the others": [
        Preference("a", "b", "a"),
        Preference("b", "c", "c"),
        Preference("b", "c", "b"),
    ],
    "no verdict links `a`, `b` with `c`, `d`": [
        Preference(*pair, winner) for pair in (("a", "b"), ("c", "d")) for winner in pair
    ],
    "wins and ties follow one order without an exception": [Preference("a", "b", "a"), Preference("a", "b", None)],
    "no verdicts": [],
}


@pytest.mark.parametrize("reason", REASONS)
def test_strengths_that_are_not_finite_have_a_reason_and_a_prior_makes_them_finite(reason: str) -> None:
    found = bradley_terry(REASONS[reason])
    assert str(found.ties.reason).startswith(reason)
    assert all(each.value is None and each.reason == found.ties.reason for each in found.by_model.values())
    if REASONS[reason]:
        found = bradley_terry(REASONS[reason], prior_sd=2)
        assert sum(each.value or 0 for each in found.by_model.values()) == pytest.approx(0)
        assert all(each.low is not None for each in found.by_model.values())


def test_a_wide_prior_changes_little() -> None:
    found, held = (bradley_terry(verdicts_of(CITATIONS), prior_sd=sd) for sd in (None, 50))
    for model in found.models:
        assert held.by_model[model].value == pytest.approx(found.by_model[model].value, abs=1e-3)


def simulated(items: int, seed: int) -> list[Preference]:
    random = np.random.default_rng(seed)
    strength = {"a": 0.5, "b": 0.0, "c": -0.5}
    return [
        Preference(i, j, i if random.random() < 1 / (1 + math.exp(strength[j] - strength[i])) else j, item)
        for item in range(items)
        for i, j in itertools.combinations("abc", 2)
    ]


def test_items_that_are_independent_have_the_errors_of_the_information_by_any_way() -> None:
    verdicts = simulated(400, 1)
    by_way = {way: bradley_terry(verdicts, errors=way, resamples=200) for way in ("information", "items", "bootstrap")}  # type: ignore[arg-type]
    for model in "abc":
        errors = [found.by_model[model].standard_error for found in by_way.values()]
        assert errors == pytest.approx([errors[0]] * 3, rel=0.15)


def test_copies_of_verdicts_within_items_do_not_make_items_surer() -> None:
    once = bradley_terry(simulated(60, 2), errors="items").difference("a", "b")
    often = bradley_terry(simulated(60, 2) * 5, errors="items").difference("a", "b")
    assert (often.low, often.high) == pytest.approx((once.low, once.high))


def test_a_bootstrap_has_the_same_draws_for_the_same_seed() -> None:
    verdicts = simulated(40, 3)
    low = [bradley_terry(verdicts, errors="bootstrap", resamples=50, seed=s).by_model["a"].low for s in (1, 1, 2)]
    assert low[0] == low[1] != low[2]


def test_the_chance_is_the_share_of_wins_where_two_models_meet() -> None:
    found = bradley_terry([Preference("a", "b", winner) for winner in "aaab"]).chance("a", "b")
    assert found.value == pytest.approx(0.75)
    assert found.low is not None and 0 < found.low < 0.75 < (found.high or 1) < 1


@given(drawn=three)
@settings(max_examples=sized(30, 40), deadline=None)
def test_win_rates_of_two_models_against_each_other_add_up_to_1(
    drawn: list[tuple[tuple[str, str], int | None]],
) -> None:
    verdicts = as_verdicts(drawn)
    one, other = win_rate(verdicts, "a", "b"), win_rate(verdicts, "b", "a")
    assert (one.value is None) == (other.value is None)
    if one.value is not None and other.value is not None:
        assert one.value + other.value == pytest.approx(1)
        assert one.n == other.n


def test_the_interval_of_a_win_rate_stays_within_0_and_1() -> None:
    verdicts = [Preference("a", "b", winner) for winner in ("a", "a", None)]
    assert (win_rate(verdicts, "a").high, win_rate(verdicts, "b").low) == (1.0, 0.0)
    assert win_rate(verdicts, "c").reason == "no verdict on `c`"
    with pytest.raises(ValueError, match="compared with itself"):
        Preference("a", "a", "a")


def test_verdicts_on_the_same_items_make_a_win_rate_no_surer() -> None:
    once = [Preference("a", "b", winner, item) for item, winner in enumerate(["a", "b", "a", "a", None, "b"])]
    plain = [verdict for verdict in once if verdict.winner]
    assert win_rate(once * 4, "a").standard_error == pytest.approx(win_rate(once, "a").standard_error)
    assert win_rate(plain * 4, "a").clusters == len(plain)


def both(item: int, first: str | None, second: str | None, judge: str = "j") -> list[Preference]:
    """Return the verdicts on a and b in both orders."""
    return [Preference("a", "b", first, item, judge), Preference("b", "a", second, item, judge)]


def test_flips_are_counted_over_pairs_of_orders() -> None:
    verdicts = both(1, "a", "b") + both(2, "a", "a") + both(3, "b", "a") + both(4, "a", None)
    lonely = [Preference("a", "b", "a", 5, "j"), Preference("a", "b", "a", 1, "other")]
    found = flip_rate(verdicts + lonely)
    assert (found.value, found.n, found.left_out) == (0.5, 4, 2)
    assert flip_rate(verdicts, ties=True).value == 0.75


def test_a_judge_that_always_takes_the_first_or_the_second_is_found_out() -> None:
    assert position_bias(both(1, "a", "b") + both(2, "a", "b")).value == 1
    assert position_bias(both(1, "b", "a") + both(2, "b", "a")).value == -1
    assert position_bias(both(1, "a", "a") + both(2, "b", "b")).value == 0
    verdicts = [Preference("a", "b", "a", item) for item in range(5)]
    assert position_bias(verdicts).reason == flip_rate(verdicts).reason == "no item was judged in both orders"


def test_the_interval_of_a_position_bias_stays_within_its_scale() -> None:
    leaning = [both(item, "a", "b") for item in range(3)] + [both(3, "a", "a")]
    found = position_bias([verdict for pair in leaning for verdict in pair])
    assert (found.value, found.high) == (0.75, 1.0)
    turned = [both(item, "b", "a") for item in range(3)] + [both(3, "a", "a")]
    assert position_bias([verdict for pair in turned for verdict in pair]).low == -1.0


@given(rows=st.lists(st.lists(st.integers(0, 9), min_size=6, max_size=6), min_size=2, max_size=5))
@settings(max_examples=sized(30, 40), deadline=None)
def test_severities_of_a_whole_panel_add_up_to_0(rows: list[list[int]]) -> None:
    assert sum(found.value or 0 for found in judge_severity(rows)) == pytest.approx(0)


def test_an_item_that_only_one_judge_rated_says_nothing_of_it() -> None:
    strict, lenient, alone = judge_severity([[1, 2, None, 9], [2, 3, None, None], [None, None, 5, None]])
    assert (strict.value, strict.n, lenient.value) == (-0.5, 2, 0.5)
    assert alone.reason == "no item that another judge rated"


def test_a_judge_prefers_itself_by_what_others_say_but_its_opponent() -> None:
    judged = [Preference("gpt", "x", "gpt", item, judge) for item in range(4) for judge in ("gpt", "neutral")]
    found = self_preference(judged)
    assert found["gpt"].value == 0 and "neutral" not in found
    judged = [Preference("gpt", "x", judge, item, judge) for item in range(4) for judge in ("gpt", "x")]
    found = self_preference(judged)
    assert found["gpt"].reason == "nobody else judged what its model took part in"
    assert found["gpt"].left_out == 4
    judged = [
        Preference("m", "x", winner, item, judge) for item in range(3) for judge, winner in (("J", "m"), ("K", "x"))
    ]
    assert self_preference(judged, own={"J": "m"})["J"].value == 1


def test_counts_forget_nothing() -> None:
    verdicts = [*simulated(10, 4), Preference("c", "a", None)]
    counts = Counts.of(verdicts)
    assert counts.wins().sum() + counts.ties().sum() / 2 == len(verdicts)


@pytest.mark.long
def test_strengths_and_their_clustered_errors_are_those_of_a_logistic_regression_of_statsmodels() -> None:
    models = pytest.importorskip("statsmodels.api")
    random, names = np.random.default_rng(4), "abc"
    rows, won, items, said, weights = [], [], [], [], []
    for item in range(60):
        for one, other in ((0, 1), (0, 2), (1, 2)):
            odds = (0.8, 0.1, -0.9)[one] - (0.8, 0.1, -0.9)[other]
            first = bool(random.random() < 1 / (1 + np.exp(-odds)))
            said.append(Preference(names[one], names[other], names[one if first else other], item))
            weights.append(float(random.integers(1, 4)))
            rows.append([(name == one) - (name == other) for name in range(2)])  # the third is the base
            won.append(float(first))
            items.append(item)
    found = bradley_terry(said, weights=weights, errors="items")
    often = np.array(weights, dtype=int)
    table, outcome, group = (np.repeat(np.array(each), often, axis=0) for each in (rows, won, items))
    fitted = models.GLM(outcome, table, family=models.families.Binomial()).fit(
        cov_type="cluster", cov_kwds={"groups": group, "use_correction": False}, tol=1e-12
    )
    for name, value, error in zip("ab", fitted.params, fitted.bse, strict=True):
        gap = found.difference(name, "c")
        assert gap.value == pytest.approx(value, rel=1e-6)
        assert gap.standard_error == pytest.approx(error * (60 / 59) ** 0.5, rel=1e-6)
