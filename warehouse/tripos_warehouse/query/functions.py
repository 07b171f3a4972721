"""The functions that SQL over a store has beside DuckDB's own. What they need is imported when one is called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tripos_warehouse.query.sandbox import duckdb
from tripos_warehouse.statistics import t_quantile

Given = Sequence[Any] | None
ARROW: Any = "arrow"
SPECIAL: Any = "special"
"""Words of DuckDB: a function of columns, and one that is called for what is null too."""
RATED = "struct(item varchar, subject varchar, rater varchar, key varchar, value double)[]"
"""What `tripos_statistic` is given, in any order: a list a cell, so that the fields of a row stay together."""
FOUND = "struct(value double, reason varchar, items varchar[], pulls double[], draws double[], limits double[])"
"""What `tripos_statistic` gives: `list_statistics.statistic`."""
BOUNDS = "struct(low double, high double, error double)"
"""What `tripos_interval` gives: `bootstrap.interval`."""


def add_functions(connection: duckdb.DuckDBPyConnection) -> None:
    """Add `t_quantile(p, df)`, `tripos_statistic(what, level, rows)`, and for items
    that are drawn again `tripos_draws(value, items, pulls)` and `tripos_interval(draws, df)`.

    >>> import duckdb
    >>> connection = duckdb.connect()
    >>> add_functions(connection)
    >>> connection.sql("select round(t_quantile(0.975, 10), 3)").fetchall()
    [(2.228,)]
    """
    connection.create_function("t_quantile", t_quantile, ["double", "double"], "double", null_handling=SPECIAL)
    taken: list[Any] = ["varchar", "varchar", RATED]
    connection.create_function("tripos_statistic", _statistic, taken, FOUND, type=ARROW, null_handling=SPECIAL)
    pulled: list[Any] = ["double", "varchar[]", "double[]"]
    connection.create_function("tripos_draws", _draws, pulled, "double[]", null_handling=SPECIAL)
    drawn: list[Any] = ["double[]", "double"]
    connection.create_function("tripos_interval", _interval, drawn, BOUNDS, null_handling=SPECIAL)


def _statistic(what: Any, level: Any, rows: Any) -> Any:
    """Return a statistic a row, of columns of Arrow: there a million texts are no million objects."""
    import pyarrow as pa

    from tripos_warehouse.query.list_statistics import statistic

    lists, numbers = pa.list_(pa.string()), pa.list_(pa.float64())
    kinds = {
        "value": pa.float64(),
        "reason": pa.string(),
        "items": lists,
        "pulls": numbers,
        "draws": numbers,
        "limits": numbers,
    }
    found = []
    for name, about, given in zip(what.to_pylist(), level.to_pylist(), rows, strict=True):
        columns = [] if given.values is None else given.values.flatten()
        found.append(statistic(name, about, *(columns or [()] * 5)))
    return pa.array(found, pa.struct(list(kinds.items())))


def _draws(value: float | None, items: Given, pulls: Given) -> list[float] | None:
    from tripos_warehouse.query.bootstrap import sums

    return sums(value, items, pulls)


def _interval(draws: Given, df: float | None) -> dict[str, Any] | None:
    from tripos_warehouse.query.bootstrap import interval

    return interval(draws, df)
