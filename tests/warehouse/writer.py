"""The writer: gathers rows of all tables and commits them in batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tripos_warehouse.store.commits import Commit
from tripos_warehouse.store.parts import Row, get_table
from tripos_warehouse.store.store import Store


class Writer:
    """Buffers rows until `flush`, which makes all of them visible in one commit.

    It has no thread and no clock: the caller flushes every few seconds and at the end. With `max_rows`
    rows waiting, `add` flushes by itself. Where a flush fails the rows stay, so that a later one can
    write them.
    """

    def __init__(self, store: Store, max_rows: int = 5000) -> None:
        self._store = store
        self._max_rows = max_rows
        self._waiting: dict[str, list[Row]] = {}
        self._count = 0

    @property
    def waiting(self) -> int:
        """Return how many rows a flush would write."""
        return self._count

    def add(self, table: str, row: Row) -> None:
        """Add a row. Raises `StoreError` S0105 for a table that does not exist, and what `flush` raises."""
        self.add_all({table: [row]})

    def add_all(self, rows: Mapping[str, Sequence[Row]]) -> None:
        """Add rows that belong together, such as a judgement and its scores: they share a commit."""
        for table, batch in rows.items():
            get_table(table)
            self._waiting.setdefault(table, []).extend(batch)
            self._count += len(batch)
        if self._count >= self._max_rows:
            self.flush()

    def flush(self) -> Commit | None:
        """Commit what waits; `None` where nothing does. Raises `StoreError` S0102 or S0105."""
        if not self._count:
            return None
        commit = self._store.append(self._waiting)
        self._waiting, self._count = {}, 0
        return commit
