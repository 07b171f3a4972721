"""Roots, logarithms and exponentials of figures: values, errors and intervals against numpy, and what has no value."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pytest

from tests.lengths import sized
from tests.warehouse.drawn_items import Drawn, measured, plan_of_items
from tests.warehouse.test_measures_coverage import kept
from tripos_warehouse.measures.evaluation import evaluate
from tripos_warehouse.store.store import Store

Statistic = Callable[[Callable[[str | None], float]], float]
BASE = "  measure overall = mean(long)\n  measure by_kind = mean(long) by q.kind\n"
FORMULAS: dict[str, Statistic] = {
    "sqrt(mean(long))": lambda mean: math.sqrt(mean(None)),
    "log(mean(long))": lambda mean: math.log(mean(None)),
    "log(mean(long), 10)": lambda mean: math.log10(mean(None)),
    "exp(mean(long) / 100)": lambda mean: math.exp(mean(None) / 100),
    "100 - 2 * sqrt(overall)": lambda mean: 100 - 2 * math.sqrt(mean(None)),
    "exp((log(by_kind[q.kind: a]) + log(by_kind[q.kind: b])) / 2)": lambda mean: math.sqrt(mean("a") * mean("b")),
    "sqrt(by_kind[q.kind: a] / overall) * log(overall)": lambda mean: (
        math.sqrt(mean("a") / mean(None)) * math.log(mean(None))
    ),
    "(exp(2 * sqrt(overall) / 9) - 1) / (exp(2 * sqrt(overall) / 9) + 1)": lambda mean: math.tanh(
        math.sqrt(mean(None)) / 9
    ),
}


@pytest.mark.parametrize("seed", range(sized(1, 30)))
def test_errors_of_roots_logarithms_and_exponentials_are_those_of_the_jackknife(
    store: Store, tmp_path: Path, seed: int
) -> None:
    drawn = Drawn(seed, [int(each) for each in np.random.default_rng(seed).integers(25, 60, 2)])
    named = {f"f{place}": text for place, text in enumerate(FORMULAS)}
    plan = plan_of_items(tmp_path, BASE + "".join(f"  measure {key} = {text}\n" for key, text in named.items()))
    drawn.write(store, plan)
    tables = measured(store, plan)
    once = np.ones(len(drawn.kinds))
    for key, text in named.items():
        [row] = tables[f"sums.{key}"].rows

        def statistic(counts: np.ndarray, text: str = text) -> float:
            return FORMULAS[text](lambda kind: drawn.mean(counts, kind))

        assert row.value == pytest.approx(statistic(once)), text
        assert row.standard_error == pytest.approx(drawn.jackknifed(statistic), rel=0.06), text
        assert row.low is not None and row.high is not None and row.value is not None
        assert row.low < row.value < row.high, text


def test_an_interval_is_taken_through_a_function_of_one_figure(store: Store, tmp_path: Path) -> None:
    figures = {"overall": lambda x: x, "a": math.sqrt, "b": math.log, "c": lambda x: 3 - 2 * math.exp(x / 10)}
    written = ("a = sqrt(overall)", "b = log(overall)", "c = 3 - 2 * exp(overall / 10)")
    plan = plan_of_items(tmp_path, BASE + "".join(f"  measure {each}\n" for each in written))
    Drawn(1, (5, 7)).write(store, plan)
    tables = measured(store, plan)
    [whole] = tables["sums.overall"].rows
    for name, function in figures.items():
        [row] = tables[f"sums.{name}"].rows
        assert whole.low is not None and whole.high is not None and whole.value is not None
        ends = sorted((function(whole.low), function(whole.high)))
        assert [row.low, row.high] == pytest.approx(ends), name
        assert row.value == pytest.approx(function(whole.value)) and row.method == whole.method == "t"


NOWHERE = {
    "sqrt(0 - 2 * mean(long))": "it is the square root of a number below 0",
    "log(mean(long) - 5)": "it is the logarithm of a number that is not above 0",
    "1 / (mean(long) - 3)": "it divides by zero",
    "exp(1000 * mean(long))": "it is past all bounds, which are ±1e70",
    "min(sqrt(0 - mean(long)), mean(right))": "it is the square root of a number below 0",
    "max(1 / (mean(long) - 3), mean(right))": "it divides by zero",
    "abs(log(3 - mean(long)) + mean(right))": "it is the logarithm of a number that is not above 0",
    "sqrt(median(long) - 4)": "it is the square root of a number below 0",
}


@pytest.mark.parametrize("figure", NOWHERE)
def test_what_has_no_value_is_missing_with_a_reason(store: Store, tmp_path: Path, figure: str) -> None:
    plan = plan_of_items(tmp_path, f"  measure it = {figure}\n")
    drawn = Drawn(1, (3, 3))
    drawn.values = [np.array([3.0])] * 6
    drawn.write(store, plan)
    [row] = measured(store, plan)["sums.it"].rows
    assert (row.value, row.standard_error, row.low, row.reason) == (None, None, None, NOWHERE[figure])


def test_the_root_of_nought_has_an_interval_where_its_square_has_one_and_no_error(store: Store, tmp_path: Path) -> None:
    plan = plan_of_items(
        tmp_path,
        """  measure wrong = mean(right)
  measure root = sqrt(wrong)
  measure both = sqrt(mean(right)) + sqrt(overall)
  measure overall = mean(long)
""",
    )
    drawn = Drawn(1, (5, 5))
    drawn.values = [np.array([float(place)]) for place in range(10)]
    drawn.write(store, plan)
    tables = measured(store, plan)
    [row], [both] = (tables[f"sums.{name}"].rows for name in ("root", "both"))
    assert (row.value, row.standard_error, row.low) == (0, None, 0)
    assert row.high == pytest.approx(math.sqrt(1 - 0.025**0.1))
    assert (both.low, both.value) == (None, pytest.approx(math.sqrt(4.5)))
    assert both.reason == "it is the square root of 0, which rises without bound there, so its error is unknown"


def test_intervals_of_a_root_mean_square_hold_the_truth() -> None:
    from scipy.stats import binom

    from tests.warehouse.test_measures import plan_with

    plan = plan_with("measure it = sqrt(mean(long))")
    [measure] = [each for each in plan.measures if each.name == "sums.it"]
    random, connection = np.random.default_rng(2), duckdb.connect()
    times, held = sized(30, 300), 0
    for _ in range(times):
        squares = random.normal(0, 2, 40) ** 2
        kept(connection, [(f"i{place}", f"s{place}", "none", float(each)) for place, each in enumerate(squares)])
        connection.execute("update demo.scores set metric = 'long', scorer = 'long'")
        [row] = evaluate(connection, plan, measure).rows
        assert row.low is not None and row.high is not None
        held += row.low <= 2 <= row.high
    assert held >= binom.ppf(0.001, times, 0.92)  # squares are skewed, and forty of them are few
