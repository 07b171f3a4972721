"""Intervals of shares cover the truth as often as they say, near both ends and with replies that are missing."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import numpy as np
import pytest
from scipy.stats import binom

from tests.bench.coverage import FEWEST, ITEMS, NEAR
from tests.lengths import spread
from tests.warehouse.test_measures import plan_with
from tripos_warehouse.measures.evaluation import evaluate


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
