"""The functions that SQL over a store has beside DuckDB's own. What they need is imported when one is called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb
from duckdb.func import SPECIAL

from tripos_warehouse.statistics import t_quantile

Given = Sequence[Any] | None
FOUND = "struct(value double, reason varchar, items varchar[], pulls double[], draws double[])"
"""What `tripos_statistic` gives: `list_statistics.statistic`."""
BOUNDS = "struct(low double, high double, error double)"
"""What `tripos_interval` gives: `bootstrap.interval`."""


def add_functions(connection: duckdb.DuckDBPyConnection) -> None:
    """Add `t_quantile(p, df)`, `tripos_statistic(what, level, items, subjects, raters, keys, values)`, and for items
    that are drawn again `tripos_draws(value, items, pulls)` and `tripos_interval(draws, df)`.

    >>> connection = duckdb.connect()
    >>> add_functions(connection)
    >>> connection.sql("select round(t_quantile(0.975, 10), 3)").fetchall()
    [(2.228,)]
    """
    connection.create_function("t_quantile", t_quantile, ["double", "double"], "double", null_handling=SPECIAL)
    words: list[Any] = ["varchar[]"] * 4
    taken = ["varchar", "varchar", *words, "double[]"]
    connection.create_function("tripos_statistic", _statistic, taken, FOUND, null_handling=SPECIAL)
    pulled: list[Any] = ["double", "varchar[]", "double[]"]
    connection.create_function("tripos_draws", _draws, pulled, "double[]", null_handling=SPECIAL)
    drawn: list[Any] = ["double[]", "bigint"]
    connection.create_function("tripos_interval", _interval, drawn, BOUNDS, null_handling=SPECIAL)


def _statistic(
    what: str, level: str, items: Given, subjects: Given, raters: Given, keys: Given, values: Given
) -> dict[str, Any]:
    from tripos_warehouse.query.list_statistics import statistic

    return statistic(what, level, items or (), subjects or (), raters or (), keys or (), values or ())


def _draws(value: float | None, items: Given, pulls: Given) -> list[float] | None:
    from tripos_warehouse.query.bootstrap import sums

    return sums(value, items, pulls)


def _interval(draws: Given, df: int | None) -> dict[str, Any] | None:
    from tripos_warehouse.query.bootstrap import interval

    return interval(draws, df)
