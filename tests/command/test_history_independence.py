"""The figures of a run do not depend on what happened in its store before (`tests/bench/history.py` is the long form)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.histories import History
from tests.lengths import sized
from tripos_warehouse.store.index import RESULT_TABLES
from tripos_warehouse.store.schemas import TABLES
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect


@pytest.mark.parametrize("seed", (5, 10)[: sized(1, 2)])
def test_a_run_shows_after_any_history_what_it_shows_in_a_fresh_store(tmp_path: Path, seed: int) -> None:
    history = History(tmp_path, seed)
    assert not history.differences(), history.told
    store = Store.open(tmp_path / "results", create=False)
    with connect(store) as connection:
        for table in RESULT_TABLES:
            [key] = TABLES[table].key
            query = f"select {key}, status, fingerprint, epoch_us(created_at) from main.{table}"
            shown = {name: told for name, *told in connection.execute(query).fetchall()}
            rows = store.rows(table, shown, ["status", "fingerprint", "created_at"])
            found = {
                name: [row["status"], row["fingerprint"], _epoch_us(row["created_at"])] for name, row in rows.items()
            }
            assert shown == found, table


def _epoch_us(at: datetime) -> int:
    return (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
