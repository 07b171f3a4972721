"""Of the rows of one key one counts, and every reader of a store takes the same one: a row that did not fail, and of
several the one committed last."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from tests.lengths import sized
from tests.warehouse.bound import bound
from tests.warehouse.small_run import START, rows_of_run, small_plan
from tripos_warehouse.ledger.ledger import RunLedger
from tripos_warehouse.ledger.opening import open_ledger
from tripos_warehouse.maintenance.compaction import compact, open_database, superseded_rows
from tripos_warehouse.maintenance.merging import merge_stores
from tripos_warehouse.store.index import RowIndex, failed_condition, has_failed, pack, winner_order
from tripos_warehouse.store.schemas import SAMPLES
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

PLAN = small_plan()
TEMPLATE = bound(rows_of_run(PLAN, "r1", ("openai/gpt",), items=1))
[SAMPLE] = TEMPLATE["samples"]
IDS = ("a" * 32, "b" * 32, "c" * 32)
BROKEN = ("error", "ERROR")

ROWS = st.fixed_dictionaries(
    {
        "sample_id": st.sampled_from(IDS),
        "status": st.sampled_from(("ok", "provider_error", "refused", "parse_failure")),
        "finish_reason": st.sampled_from((None, "stop", "length", *BROKEN)),
    }
)
HISTORIES = st.lists(st.lists(ROWS, min_size=1, max_size=4), min_size=1, max_size=5)
"""Commits, each with rows in their order."""


def _expected(history: Iterable[Iterable[Mapping[str, Any]]]) -> dict[str, str]:
    """Return the reply of the row that counts, by id: stated once more, without the code under test."""
    counts: dict[str, tuple[bool, str]] = {}
    for row in itertools.chain.from_iterable(history):
        failed = row["status"] == "provider_error" or row["finish_reason"] in BROKEN
        before = counts.get(row["sample_id"])
        if before is None or before[0] or not failed:
            counts[row["sample_id"]] = failed, row["reply"]
    return {name: reply for name, (_, reply) in counts.items()}


def _replies(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    return {name: row["reply"] for name, row in rows.items()}


def _shown(store: Store) -> dict[str, str]:
    with connect(store) as connection:
        return dict(connection.execute("select sample_id, reply from main.samples").fetchall())


def _answered(ledger: RunLedger) -> set[str]:
    """Return the ids of the rows that a run would not ask for again."""
    statuses = ledger.statuses("samples", IDS)
    return {name for name, status in zip(IDS, statuses, strict=True) if status not in (None, "provider_error")}


def _indexed(parts: list[list[Path]]) -> dict[str, str]:
    """Return the replies that an index of the rows points to, which is loaded in several steps."""
    import pyarrow.parquet as pq

    index = RowIndex("samples", None)
    for some in parts:
        index.load(some)
    found = index.find(pack(IDS))
    replies = {}
    for name, code, place in zip(IDS, found.codes.tolist(), found.places.tolist(), strict=True):
        if code:
            path, row = index.place_of(place)
            replies[name] = pq.read_table(path, columns=["reply"])["reply"][row].as_py()
    return replies


def _left(store: Store) -> dict[str, str]:
    """Return the replies without the rows that compaction would drop."""
    import pyarrow.parquet as pq

    paths = store.parts("samples")
    with open_database() as database:
        lost = superseded_rows(database, SAMPLES, paths)
    return {
        row["sample_id"]: row["reply"]
        for path in paths
        for number, row in enumerate(pq.read_table(path, columns=["sample_id", "reply"]).to_pylist())
        if number not in lost.get(path, ())
    }


@settings(max_examples=sized(8, 300), deadline=None)
@given(history=HISTORIES, cut=st.integers(0, 5))
def test_every_reader_takes_the_same_row(
    tmp_path_factory: pytest.TempPathFactory, history: list[list[dict[str, Any]]], cut: int
) -> None:
    ticks, numbers = itertools.count(), itertools.count()
    folder = tmp_path_factory.mktemp("stores")
    store = Store.open(folder / "one", create=True, clock=lambda: START + timedelta(seconds=next(ticks)))
    store.append({name: rows for name, rows in TEMPLATE.items() if name != "samples"})
    commits = [[{**SAMPLE, **row, "reply": f"reply {next(numbers)}"} for row in rows] for rows in history]
    every = {row["reply"]: row for rows in commits for row in rows}
    expected = _expected(commits)
    answered = {name for name, reply in expected.items() if not has_failed(every[reply])}
    *early, last = commits
    with open_ledger(store, PLAN.fingerprints) as ledger:
        for rows in early:
            store.append({"samples": rows})
            ledger.refresh()
        ledger.keep({"samples": last})  # and do not commit them
        assert _replies(ledger.rows("samples", IDS)) == expected
        assert _answered(ledger) == answered
    with open_ledger(store, PLAN.fingerprints) as ledger:
        assert _replies(ledger.rows("samples", IDS)) == expected
        assert _answered(ledger) == answered
    parts = store.parts("samples")
    assert _replies(store.rows("samples", IDS)) == expected
    assert _shown(store) == expected
    assert _left(store) == expected
    assert _indexed([parts]) == _indexed([parts[:cut], parts[cut:]]) == expected
    merged = Store.open(folder / "merged", create=True)
    merge_stores(merged, [store])
    assert _shown(merged) == expected
    compact(store)
    assert _replies(store.rows("samples", IDS)) == _shown(store) == expected


@given(row=ROWS)
def test_sql_and_python_say_the_same_of_a_row(row: dict[str, Any]) -> None:
    import duckdb

    columns = ("status", "finish_reason")
    values = ", ".join("null" if row[name] is None else f"'{row[name]}'" for name in columns)
    query = f"select {failed_condition(columns)} from (values ({values})) as row ({', '.join(columns)})"
    [(failed,)] = duckdb.execute(query).fetchall()
    assert failed is has_failed(row)
    assert winner_order(columns).startswith(failed_condition(columns))
