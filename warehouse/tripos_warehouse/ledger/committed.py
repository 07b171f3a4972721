"""The committed results of a store that nothing is written to."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tripos_warehouse.ledger.draws import Draws
from tripos_warehouse.ledger.lookup import RowLookup
from tripos_warehouse.store import RESULTS, Row, RowIndex, Store, pack


class Committed:
    """The committed rows of a read-only store."""

    def __init__(self, store: Store, fingerprints: Collection[str]) -> None:
        self._store, self._fingerprints = store, fingerprints
        self._indexes: dict[str, RowIndex] = {}
        self._draws = Draws(store.parts, RowLookup())

    def statuses(self, table: str, ids: Sequence[str]) -> list[str | None]:
        """Return the status of each of these rows; `None` for those that are not kept."""
        index = self._index(table)
        return index.names_of(index.find(pack(ids)).codes)

    def held(self) -> set[str]:
        """Return the fingerprints of which any result is kept."""
        return set[str]().union(*(self._index(table).fingerprints for table in RESULTS))

    def rows(self, table: str, ids: Collection[str]) -> Mapping[str, Mapping[str, Any]]:
        """Return whole rows, by id."""
        return self._store.rows(table, ids)

    def repliers(self, table: str) -> Collection[str]:
        """Return who gave replies of which it is known what they are replies to."""
        return self._draws.models(table)

    def replies(self, table: str, request: str) -> list[tuple[Row, Row | None]]:
        """Return the rows whose reply was sent for the request of that digest, each with its unreadable first reply."""
        return self._draws.find(table, request)

    def _index(self, table: str) -> RowIndex:
        if table not in self._indexes:
            self._indexes[table] = RowIndex(table, self._fingerprints, self._store.root)
            self._indexes[table].load(self._store.parts(table))
        return self._indexes[table]
