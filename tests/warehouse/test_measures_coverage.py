"""Intervals cover the truth as often as they say, on result sets that are drawn again and again."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import numpy as np
import pytest
from scipy import stats
from scipy.stats import binom

from tests.bench.coverage import FEWEST, ITEMS, NEAR
from tests.lengths import sized, spread
from tests.warehouse.test_measures import plan_with
from tripos_warehouse.measures.evaluation import evaluate

REPETITIONS = sized(40, 200)
LEAST, MOST = (int(stats.binom.ppf(p, REPETITIONS, 0.95)) for p in (0.0005, 0.9995))


def drawn(random: np.random.Generator, connection: duckdb.DuckDBPyConnection) -> None:
    """Scores of 40 items with 4 samples each under two arms, the second of which is right 0.1 more often."""
    ease = np.repeat(random.uniform(0.1, 0.8, 40), 4)
    rows = []
    for arm, gain in (("none", 0.0), ("some", 0.1)):
        right = (random.random(160) < ease + gain).astype(float)
        rows += [(f"i{place // 4}", f"{arm}{place}", arm, float(value)) for place, value in enumerate(right)]
    kept(connection, rows)


def kept(connection: duckdb.DuckDBPyConnection, rows: Sequence[tuple[str, str, str, float | None]]) -> None:
    """A store with scores of items and samples under arms; one without a value could not be read."""
    connection.execute("create schema if not exists demo")
    connection.execute(
        "create or replace table demo.scores (item_id text, sample_id text, hint text, value double, model text,"
        " scenario text, metric text, scorer text, evaluator text, status text,"
        " cluster_id text generated always as (item_id))"
    )
    values = ", ".join(
        f"('{i}', '{s}', '{a}', {'null' if v is None else v}, 'm', 'sums', 'right', 'right', null,"
        f" '{'parse_failure' if v is None else 'scored'}')"
        for i, s, a, v in rows
    )
    connection.execute(f"insert into demo.scores values {values}")


def test_a_mean_and_a_paired_difference_are_covered_in_the_promised_share_of_repetitions() -> None:
    plan = plan_with(
        "measure whole = mean(right)",
        "measure by_hint = mean(right) by hint",
        "measure gain = by_hint[hint: some] - by_hint[hint: none]",
    )
    truth = {"sums.whole": 0.5, "sums.gain": 0.1}
    covered = dict.fromkeys(truth, 0)
    random, connection = np.random.default_rng(11), duckdb.connect()
    for _ in range(REPETITIONS):
        drawn(random, connection)
        for measure in plan.measures:
            if measure.name in truth:
                [row] = evaluate(connection, plan, measure).rows
                assert row.low is not None and row.high is not None
                covered[measure.name] += row.low <= truth[measure.name] <= row.high
    # 95 % of 200 are 190; fewer than 179 or more than 198 come once in a thousand draws.
    assert all(LEAST <= count <= MOST for count in covered.values()), covered


@pytest.mark.parametrize("items", spread(ITEMS, 1))
@pytest.mark.parametrize("figure", ["mean(right, missing: zero)", "mean(right)", "share(right, missing: zero)"])
def test_a_share_with_zeros_for_what_is_missing_is_covered_near_the_ends_too(figure: str, items: int) -> None:
    """Of every number of right replies the interval, and so how often such intervals hold every share."""
    plan = plan_with(f"measure whole = {figure}")
    [measure] = [each for each in plan.measures if each.name == "sums.whole"]
    connection = duckdb.connect()
    ends = []
    for right in range(items + 1):
        missing = (items - right + 1) // 2 if "missing" in figure else 0
        replies = [1.0] * right + [None] * missing + [0.0] * (items - right - missing)
        kept(connection, [(f"i{place}", f"s{place}", "none", value) for place, value in enumerate(replies)])
        [row] = evaluate(connection, plan, measure).rows
        assert (row.method, row.items, row.n) == ("exact", items, items - missing)
        assert row.low is not None and row.high is not None
        ends.append((row.low, row.high))
    for share in NEAR:
        chances = binom.pmf(np.arange(items + 1), items, share)
        held = sum(chance for chance, (low, high) in zip(chances, ends, strict=True) if low <= share <= high)
        assert held >= FEWEST, share
