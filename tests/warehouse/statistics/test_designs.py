"""The cheapest and the sharpest design: against all designs one by one, closed forms, and simulation."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from tests.bench.designs import COST, SETTINGS, outcome
from tripos_warehouse.statistics.power import (
    LabelComponents,
    Prices,
    Space,
    cheapest,
    corrected_variance,
    items_needed,
    least_difference,
    power_with,
    sharpest,
)
from tripos_warehouse.statistics.variance import DifferenceComponents

PARTS = DifferenceComponents(items=0.04, samples=0.2, judges=0.02, gradings=0.3, repeats=0.1)
PRICES = Prices(replies=0.004, judgements=(0.01, 0.002, 0.003), batch=0.5)


def test_no_other_design_detects_the_difference_for_less() -> None:
    best = cheapest(Space(PARTS, PRICES, most_items=300), 0.1)[0]
    assert best.reaches
    assert power_with(0.1, PARTS.variance(best.levers.samples, best.levers.judges, best.levers.repeats) / best.items,
                      best.items - 1) == pytest.approx(0.8, abs=0.004)  # fmt: skip
    judges = sorted(PRICES.judgements)
    costs = []
    for samples, panel, repeats, items in product(range(1, 6), range(1, 4), range(1, 4), range(2, 301)):
        cost = items * samples * (PRICES.replies + repeats * sum(judges[:panel])) * 0.5
        if cost < best.cost * 0.999:
            costs.append(power_with(0.1, PARTS.variance(samples, panel, repeats) / items, items - 1) if cost > best.cost
                         * 0.9 else 0.0)  # fmt: skip
    assert max(costs) < 0.8
    assert best.cost == pytest.approx(
        best.items * best.levers.samples * 0.5 * (0.004 + best.levers.repeats * sum(judges[: best.levers.judges]))
    )


def test_with_many_items_it_is_what_the_normal_formula_says() -> None:
    parts = DifferenceComponents(items=1.0, separated=frozenset())
    best = cheapest(Space(parts, Prices(1.0, ())), 0.02)[0]
    assert best.items == pytest.approx(items_needed(0.02, 1.0).value, rel=1e-3)


def test_the_sharpest_for_what_the_cheapest_costs_detects_the_same() -> None:
    space = Space(PARTS, PRICES)
    best = cheapest(space, 0.05)[0]
    sharp = sharpest(space, best.cost)[0]
    assert sharp.cost <= best.cost
    assert sharp.detects == pytest.approx(0.05, rel=2e-3)


def test_more_samples_are_worth_it_where_items_are_dear_to_come_by() -> None:
    few = cheapest(Space(PARTS, PRICES, most_items=60), 0.15)
    assert few[0].levers.samples > 1
    assert few[0].reaches
    beyond = cheapest(Space(PARTS, PRICES, most_items=10), 0.02)
    assert not any(each.reaches for each in beyond)
    assert beyond[0].detects == min(each.detects for each in beyond)
    assert all(each.items == 10 for each in beyond)


def test_what_is_not_known_is_not_chosen() -> None:
    parts = replace(PARTS, separated=frozenset({"judges"}), observed=(2, 3, 1))
    levers = {(each.levers.samples, each.levers.repeats) for each in cheapest(Space(parts, PRICES), 0.1)}
    assert levers == {(2, 1)}


def test_a_design_from_few_items_is_larger() -> None:
    sure, unsure = (cheapest(Space(replace(PARTS, learned_from=n), PRICES), 0.1)[0].cost for n in (None, 20))
    assert sure < unsure < 1.25 * sure


def test_power_averages_over_what_a_pilot_leaves_open() -> None:
    random = np.random.default_rng(1)
    learned, wanted = 12, least_difference(1.0, 40, 12)
    found = []
    for _ in range(4000):
        # A pilot whose estimate came out at 1, of a variance that it does not know.
        variance = (learned - 1) / random.chisquare(learned - 1)
        found.append(power_with(wanted, variance, 40))
    assert np.mean(found) == pytest.approx(0.8, abs=0.012)
    assert math.isinf(least_difference(1.0, 0))


def test_labels_have_the_variance_of_a_corrected_difference() -> None:
    random = np.random.default_rng(4)
    labels, items, labelled, samples = LabelComponents(people=1.0, items=0.5, samples=0.2), 200, 40, 2
    found = []
    for _ in range(3000):
        item, reply = random.normal(0, 1, items), random.normal(0, 1, (items, samples))
        people = 0.6 * item + 0.4 * reply[:, 0] + random.normal(0, 0.48**0.5, items)
        judge = 0.5 / 0.6 * item[:, None] + 0.5 * reply + random.normal(0, 0.3, (items, samples))
        every, one = judge.mean(axis=1), judge[:, 0]
        power = ((0.7 / labelled) - (0.6 / items)) / (1 / labelled * _one() - _every(samples) / items)
        found.append(people[:labelled].mean() + power * (every.mean() - one[:labelled].mean()))
    wanted = corrected_variance(labels, _every(samples), _one(), samples, items, labelled)
    assert np.var(found) == pytest.approx(wanted, rel=0.08)
    assert wanted < 1 / labelled
    space = Space(PARTS, replace(PRICES, labels=0.5), LabelComponents(0.5, 0.04, 0.2))
    corrected = [each for each in cheapest(space, 0.2) if each.levers.labels]
    assert corrected[0].reaches
    assert 0 < corrected[0].labels <= corrected[0].items
    assert corrected[0].detects <= 0.2
    spent = [each for each in sharpest(space, corrected[0].cost) if each.levers.labels]
    assert spent[0].detects == pytest.approx(0.2, rel=0.03)


def _one() -> float:
    return (0.5 / 0.6) ** 2 + 0.25 + 0.09


def _every(samples: int) -> float:
    return (0.5 / 0.6) ** 2 + (0.25 + 0.09) / samples


@pytest.mark.parametrize("place", [0, *(pytest.param(place, marks=pytest.mark.long) for place in (12, 22, 27))])
def test_the_chosen_design_has_its_power_for_less(place: int) -> None:
    found = outcome(SETTINGS[place], 30)
    assert found.of_default < COST
    assert abs(found.power - 0.8) < 3.3 * (0.16 / 30) ** 0.5
