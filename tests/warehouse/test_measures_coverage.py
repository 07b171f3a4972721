"""Intervals cover the truth as often as they say, on result sets that are drawn again and again."""

from __future__ import annotations

import duckdb
import numpy as np

from tests.warehouse.test_measures import plan_with
from tripos_warehouse.measures import evaluate

REPETITIONS = 200


def drawn(random: np.random.Generator, connection: duckdb.DuckDBPyConnection) -> None:
    """Scores of 40 items with 4 samples each under two arms, the second of which is right 0.1 more often."""
    ease = np.repeat(random.uniform(0.1, 0.8, 40), 4)
    rows = []
    for arm, gain in (("none", 0.0), ("some", 0.1)):
        right = (random.random(160) < ease + gain).astype(float)
        rows += [(f"i{place // 4}", f"{arm}{place}", arm, float(value)) for place, value in enumerate(right)]
    connection.execute("create schema if not exists demo")
    connection.execute(
        "create or replace table demo.scores (item_id text, sample_id text, hint text, value double, model text,"
        " scenario text, metric text, scorer text, evaluator text, status text)"
    )
    values = ", ".join(
        f"('{i}', '{s}', '{a}', {v}, 'm', 'sums', 'right', 'right', null, 'scored')" for i, s, a, v in rows
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
                assert row.interval_low is not None and row.interval_high is not None
                covered[measure.name] += row.interval_low <= truth[measure.name] <= row.interval_high
    # 95 % of 200 are 190; fewer than 180 or more than 199 come once in a few hundred draws.
    assert all(180 <= count <= 199 for count in covered.values()), covered
