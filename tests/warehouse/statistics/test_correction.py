"""Means that people correct: against another way to compute them, known truth, and what leaves people alone."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.bench.real_labels import JUDGES, held as held_of_people, tutors_of
from tests.bench.validity import FEWEST, WORLDS, World, held
from tests.conftest import SHARED_DATA
from tripos_warehouse.statistics.prediction_powered import InfluencedEstimate, corrected_mean, expected_half_width

REPETITIONS = 150
MRBENCH = SHARED_DATA / "mrbench/MRBench_V1.json"


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_the_corrected_interval_holds_what_people_would_say(world: World) -> None:
    found = held(world, 30, REPETITIONS)
    spread = math.sqrt(0.95 * 0.05 / REPETITIONS)
    assert found.corrected >= FEWEST - 2 * spread
    assert found.width <= 1.06, "labels alone are hardly ever narrower"


def test_it_is_the_estimate_of_ppi_plus_plus_as_its_authors_write_it() -> None:
    random = np.random.default_rng(3)
    people = random.normal(5, 2, 6000)
    judge = people * 0.6 + random.normal(1, 1, 6000)
    n = 2000
    found = corrected_mean(judge.tolist(), [*people[:n].tolist(), *[None] * 4000])
    labelled, unlabelled = judge[:n], judge[n:]
    ratio = n / len(unlabelled)
    power = np.cov(people[:n], labelled)[0, 1] / ((1 + ratio) * np.var(judge, ddof=1))
    value = people[:n].mean() + power * (unlabelled.mean() - labelled.mean())
    variance = np.var(people[:n] - power * labelled) / n + power**2 * np.var(unlabelled) / len(unlabelled)
    assert found.result.value == pytest.approx(value, abs=2e-3)
    assert found.result.standard_error == pytest.approx(math.sqrt(variance), rel=5e-3)
    # Over all replies the judge's mean has the graded ones too: it moves by less, and λ is larger by as much.
    assert found.power == pytest.approx(power * 6000 / 4000, rel=2e-2)


def test_it_is_what_the_package_of_its_authors_gives() -> None:
    random = np.random.default_rng(3)
    people = random.normal(5, 2, 6000)
    judge = people * 0.6 + random.normal(1, 1, 6000)
    found = corrected_mean(judge.tolist(), [*people[:2000].tolist(), *[None] * 4000]).result
    # ppi-python 0.2.3: ppi_mean_pointestimate and ppi_mean_ci of the first 2,000 as labelled
    assert found.value == pytest.approx(5.03339089, abs=2e-4)
    assert (found.low, found.high) == pytest.approx((4.96570829, 5.10107349), abs=3e-4)


@pytest.mark.skipif(not MRBENCH.exists(), reason="the real data are not here")
@pytest.mark.parametrize("difference", [False, True])
def test_60_grades_of_real_people_hold_what_all_their_grades_say(difference: bool) -> None:
    found = held_of_people(tutors_of(MRBENCH), JUDGES["another side of the reply"], difference, 3)
    assert found.judge < 0.8
    assert found.corrected >= FEWEST


def test_more_grades_are_foreseen_as_they_come() -> None:
    random = np.random.default_rng(11)
    people = random.normal(5, 2, 4000)
    judge = people + random.normal(1, 1, 4000)
    reached = []
    for graded in (100, 400):
        known = np.arange(4000) < graded
        weight = np.where(known, 1 / graded, 0.0)
        of_people, on_graded = (weight * (each - each[known].mean()) for each in (people, judge))
        three = InfluencedEstimate(people[known].mean(), of_people), InfluencedEstimate(judge[known].mean(), on_graded)
        on_all = InfluencedEstimate(judge.mean(), (judge - judge.mean()) / 4000)
        now, then = (expected_half_width(*three, on_all, known, many) for many in (graded, 400))
        assert now is not None and then is not None
        reached.append((now, then))
    assert reached[0][1] == pytest.approx(reached[1][0], rel=0.15)
    assert reached[0][1] < 0.7 * reached[0][0]


def test_grades_that_are_all_alike_foresee_nothing() -> None:
    known = np.arange(40) < 10
    alike = InfluencedEstimate(2.0, np.zeros(40))
    assert expected_half_width(alike, alike, InfluencedEstimate(4.0, np.linspace(-0.1, 0.1, 40)), known, 20) is None


def test_where_people_graded_all_the_judge_says_nothing_more() -> None:
    people = [3.0, 4.0, 2.0, 5.0, 4.0]
    found = corrected_mean([1, 5, 2, 2, 3], people)
    assert found.result.value == found.graded.value == sum(people) / 5
    assert found.power == 0


def test_replies_that_were_drawn_more_often_weigh_less() -> None:
    random = np.random.default_rng(5)
    off, spread = [], []
    for _ in range(200):
        hard = random.random(300) < 2 / 3
        people = np.where(hard, 2.0, 8.0) + random.normal(0, 1, 300)
        judge = people + np.where(hard, 3.0, 0.0) + random.normal(0, 0.5, 300)
        chance = np.where(hard, 0.1, 0.4)
        known = random.random(300) < chance
        given = [float(value) if there else None for value, there in zip(people, known, strict=True)]
        found = corrected_mean(judge.tolist(), given, weights=(1 / chance).tolist())
        assert found.result.value is not None
        off.append(found.result.value - 4.0)
        spread.append(found.result.standard_error or 0.0)
    assert abs(np.mean(off)) < 3 * np.std(off) / math.sqrt(200)
    assert np.mean(spread) == pytest.approx(np.std(off), rel=0.2)


@pytest.mark.parametrize(
    ("graded", "reason"), [([None] * 4, "people graded nothing"), ([3, 4, None, None], "it takes 3")]
)
def test_too_few_grades_have_a_reason(graded: list[float | None], reason: str) -> None:
    found = corrected_mean([1, 2, 3, 4], graded)
    assert found.result.low is None
    assert reason in (found.result.reason or "")
    assert found.judged.value == 2.5


def test_values_that_lack_are_refused() -> None:
    with pytest.raises(ValueError, match="one each a reply"):
        corrected_mean([1, 2], [1])
    with pytest.raises(ValueError, match="a value of the judge"):
        corrected_mean([1, math.nan], [1, None])
