"""What `tripos show` prints without a key: the last replies of a store, so that there is one to be picked."""

from __future__ import annotations

from tripos_warehouse.query.answers import render_table, run_query
from tripos_warehouse.query.sandbox import duckdb
from tripos_warehouse.text_table import wrapped

SHOWN = 20
"""Replies that are listed."""
BEGINNING = 60
"""Characters of a reply that are listed, at most."""
LISTED = f"""
    with marks as (select sample_id, avg(value) as score from scores group by all)
    select left(sample_id, 12) as key, scenario, model, status, round(score, 2) as score,
      left(trim(regexp_replace(reply, '\\s+', ' ', 'g')), {BEGINNING}) as reply
    from samples left join marks using (sample_id)
    order by created_at desc, sample_id limit {SHOWN}"""


def listing(connection: duckdb.DuckDBPyConnection, width: int) -> str:
    """The last replies of a store, the newest first, in lines of `width` columns, and how more are found."""
    rows = run_query(connection, LISTED)
    [count] = run_query(connection, "select count(*) as n from samples")["n"].to_pylist()
    shown = "all" if rows.num_rows == count else f"the last {rows.num_rows}"
    told = f"{shown} of {count} replies, with the mean of their scores; `tripos show KEY` prints one"
    table, _, _ = render_table(rows, width).rpartition("\n\n")  # without how many rows there are
    others = "others: tripos sql \"select sample_id from samples where status <> 'ok'\""
    return f"{table}\n\n{wrapped(told, width)}\n{others}"
