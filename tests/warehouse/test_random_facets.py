"""Measures that take judges and prompts as a sample: their intervals, differences of models, and why there is none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tests.compiler.compiling import compile_text, plan_of
from tests.lengths import sized
from tests.warehouse.synthetic import Results, measured, single
from tripos_compiler.plan import Plan
from tripos_warehouse.measures.differences import measure_differences, model_differences
from tripos_warehouse.measures.evaluation import evaluate
from tripos_warehouse.measures.expectations import expectation_measure, outcome_of
from tripos_warehouse.measures.measure_rows import MeasureRow
from tripos_warehouse.measures.sides import Side
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

HEAD = """
benchmark demo "1.0.0" { languages en }
role candidate compared
role judge panel
axis level { easy, hard }
arm wording { plain, warm, short }
dimension quality "Quality" {
  metric CLAR "Clarity" { scale 1..10, asks "?" }
  metric DEEP "Depth" { scale 1..10, asks "?" }
}
scorer rubric(reply: text) by judge { prompt "{{ metrics }} {{ reply }}", gives allocated metrics }
allocate rubric {
  |      | CLAR | DEEP |
  | sums |  x   |  x   |
}
scenario sums {
  context level
  arms wording
  ask answer by candidate { prompt "Add {{ level }} {{ wording }}." }
  score rubric(answer.text)
}
measure plain   = mean(rubric)
measure judges  = mean(rubric) across judge as sample
measure prompts = mean(rubric) across wording as sample
measure both    = mean(rubric) across judge * wording as sample
measure alias   = judges
measure by_level  = mean(rubric) by level
measure by_level2 = mean(rubric) across judge as sample by level
measure cells   = mean(mean(rubric) by metric)
measure cells2  = mean(mean(rubric) by metric) across judge as sample
expect judges >= 5
"""
ARMS = ("plain", "warm", "short")
METRICS = ("CLAR", "DEEP")
Scores = dict[tuple[str, int, str, str, str], float]
"""By model, item, judge, wording and metric."""


def drawn(seed: int, models: Sequence[str] = ("m",), judges: int = 3, items: int = 12) -> Scores:
    random = np.random.default_rng([7, seed])
    found: Scores = {}
    of_item, of_judge = random.normal(6, 1.5, items), random.normal(0, 0.8, judges)
    of_arm, of_metric = random.normal(0, 0.6, 3), random.normal(0, 1, (judges, 2))
    for model in models:
        own = random.normal(0, 0.5, judges)
        for item in range(items):
            for judge in range(judges):
                for place, arm in enumerate(ARMS):
                    for metric, name in enumerate(METRICS):
                        value = of_item[item] + of_judge[judge] + of_arm[place] + of_metric[judge, metric] + own[judge]
                        value += random.normal(0, 1)
                        found[model, item, f"j{judge}", arm, name] = float(np.clip(np.rint(value), 1, 10))
    return found


def stored(store: Store, scores: Scores) -> Plan:
    plan = plan_of(compile_text(HEAD))
    models, judges = (tuple(dict.fromkeys(key[place] for key in scores)) for place in (0, 2))
    results = Results(plan, models=models, judges=judges)
    for item in sorted({key[1] for key in scores}):
        results.item("sums", f"i{item}", axes={"level": "easy" if item % 3 else "hard"})
    for (model, item, judge, arm, metric), value in scores.items():
        about: dict[str, Any] = {"model": model, "evaluator": judge, "arms": {"wording": arm}}
        results.add("sums", "rubric", f"i{item}", value, metric=metric, **about)
    results.write(store)
    return plan


def spread(scores: Scores, place: int) -> float:
    """Return the square of the distance that the levels at a place of the keys add: t² times the variance of their
    means over the number of levels. Complete scores only."""
    levels = sorted({key[place] for key in scores}, key=str)
    means = [np.mean([value for key, value in scores.items() if key[place] == level]) for level in levels]
    many = len(levels)
    return float(stats.t.ppf(0.975, many - 1) ** 2 * np.var(means, ddof=1) / many)


def widened(row: MeasureRow, *squares: float) -> Any:
    assert row.value is not None and row.low is not None and row.high is not None
    low = row.value - math.sqrt((row.value - row.low) ** 2 + sum(squares))
    high = row.value + math.sqrt((row.high - row.value) ** 2 + sum(squares))
    return pytest.approx((max(low, 1), min(high, 10)))


@pytest.mark.parametrize("seed", range(sized(1, 60)))
def test_the_error_over_levels_is_added_to_that_over_items(store: Store, seed: int) -> None:
    scores = drawn(seed)
    plan = stored(store, scores)
    plain = single(store, plan, "plain")
    of_judges, of_arms = spread(scores, 2), spread(scores, 3)
    for name, squares in {"judges": [of_judges], "prompts": [of_arms], "both": [of_judges, of_arms]}.items():
        row = single(store, plan, name)
        assert (row.value, row.items, row.n, row.total) == (plain.value, plain.items, plain.n, plain.total)
        assert (row.low, row.high) == widened(plain, *squares)
        assert (row.method, row.reason) == ("generalized", None)
    alias, judges = single(store, plan, "alias"), single(store, plan, "judges")
    assert (alias.low, alias.high) == (judges.low, judges.high)


def test_cells_have_the_error_of_their_own_scores(store: Store) -> None:
    scores = drawn(100)
    plan = stored(store, scores)
    plain = {row.by: row for row in measured(store, plan, "by_level").rows}
    for row in measured(store, plan, "by_level2").rows:
        own = {key: value for key, value in scores.items() if ("easy" if key[1] % 3 else "hard",) == row.by}
        assert (row.low, row.high) == widened(plain[row.by], spread(own, 2))
    row, cells = single(store, plan, "cells2"), single(store, plan, "cells")
    assert (row.low, row.high) == widened(cells, spread(scores, 2))


def test_judges_who_graded_unlike_numbers_of_replies_pull_by_these(store: Store) -> None:
    scores = {key: value for key, value in drawn(101).items() if key[2] != "j2" or key[1] < 4}
    plan = stored(store, scores)
    plain, row = single(store, plan, "plain"), single(store, plan, "judges")
    assert row.value == plain.value == pytest.approx(np.mean(list(scores.values())))
    assert None not in (plain.low, row.low, plain.high, row.high)
    assert row.low < plain.low  # type: ignore[operator]
    assert row.high > plain.high  # type: ignore[operator]


def test_one_judge_has_no_interval_and_a_reason(store: Store) -> None:
    plan = stored(store, drawn(102, judges=1))
    row = single(store, plan, "judges")
    assert row.value == single(store, plan, "plain").value
    assert (row.low, row.high, row.method) == (None, None, None)
    assert row.reason == "one judge shows nothing of judges like it"
    assert single(store, plan, "prompts").method == "generalized"


def test_judges_who_say_the_same_have_no_interval_and_a_reason(store: Store) -> None:
    scores = {key: float(3 + key[1] % 5) for key in drawn(103)}
    row = single(store, stored(store, scores), "both")
    assert row.low is None
    assert row.reason == "judges do not differ: nothing shows how far others would"


def test_one_value_of_an_arm_has_no_interval_and_a_reason(store: Store) -> None:
    plan = stored(store, {key: value for key, value in drawn(104).items() if key[3] == "warm"})
    assert single(store, plan, "prompts").reason == "one value of `wording` shows nothing of others like it"


# --- differences ---


@pytest.mark.parametrize("seed", range(sized(1, 40)))
def test_models_are_paired_by_item_judge_and_prompt(store: Store, seed: int) -> None:
    scores = drawn(200 + seed, ("m", "n"))
    if seed % 2:  # what one side lacks counts on neither
        scores = {key: value for key, value in scores.items() if key[:3] != ("n", 2, "j1")}
    plan = stored(store, scores)
    shared = {key[1:] for key in scores if key[0] == "m"} & {key[1:] for key in scores if key[0] == "n"}
    apart = {("d", *key): scores["n", *key] - scores["m", *key] for key in shared}  # type: ignore[arg-type]
    mean = float(np.mean(list(apart.values())))
    items = [f"i{item}" for item in range(12)]
    measure = next(each for each in plan.measures if each.name == "both")
    with connect(store) as connection:
        side = Side(connection, plan, ("m", "n"))
        found = model_differences(side, measure, items=items)[(), "m", "n"]
        m, n = (Side(connection, plan, (model,)) for model in ("m", "n"))
        [row] = measure_differences(m, n, measure, items=items)
        by_level = next(each for each in plan.measures if each.name == "by_level2")
        cells = model_differences(side, by_level, items=items)
    assert found.value == pytest.approx(-mean)
    assert row.difference.value == pytest.approx(mean) == pytest.approx(row.b - row.a)
    assert row.b == pytest.approx(np.mean([scores["n", *key] for key in shared]))  # type: ignore[arg-type]
    assert None not in (found.low, found.high, found.p, row.difference.low)
    assert (found.p < 0.05) == (not found.low <= 0 <= found.high)  # type: ignore[operator]
    assert set(cells) == {((level,), "m", "n") for level in ("easy", "hard")}
    if seed % 2:
        return
    by_item = [np.mean([value for key, value in apart.items() if key[1] == item]) for item in range(12)]
    half_width = math.sqrt(
        stats.t.ppf(0.975, 11) ** 2 * np.var(by_item, ddof=1) / 12 + spread(apart, 2) + spread(apart, 3)
    )
    # Over items the interval of a difference between two ends is no plain t, so it is near that and not it.
    assert found.high - found.low == pytest.approx(2 * half_width, rel=0.05)  # type: ignore[operator]


def test_an_expectation_has_the_interval_of_its_measure(store: Store) -> None:

    scores = drawn(300)
    plan = stored(store, scores)
    row = single(store, plan, "judges")
    with connect(store) as connection:
        [own] = evaluate(connection, plan, expectation_measure(plan.expectations[0])).rows
    outcome = outcome_of(plan.expectations[0], own)
    assert (outcome.row.low, outcome.row.high) == (row.low, row.high)
