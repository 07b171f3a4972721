"""The results that a store has committed, for those who read it and write nothing."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from tripos_warehouse.errors import StoreError
from tripos_warehouse.ledger.draws import Draws
from tripos_warehouse.ledger.lookup import Lookup
from tripos_warehouse.store.index import RESULTS, Index, pack
from tripos_warehouse.store.rows import Row
from tripos_warehouse.store.store import Store


def find_store(path: str | Path) -> Store | None:
    """The store at a path; `None` where there is none. Raises `StoreError` where there is one that cannot be read."""
    try:
        return Store.open(path, create=False)
    except StoreError as error:
        if error.code == "W0101":
            return None
        raise


class Committed:
    """What a store that may only be read has committed."""

    def __init__(self, store: Store, fingerprints: Collection[str]) -> None:
        self._store, self._fingerprints = store, fingerprints
        self._indexes: dict[str, Index] = {}
        self._draws = Draws(store.parts, Lookup())

    def statuses(self, table: str, ids: Sequence[str]) -> list[str | None]:
        """The status of each of these rows; `None` for those that are not kept."""
        index = self._index(table)
        return index.names_of(index.find(pack(ids)).codes)

    def held(self) -> set[str]:
        """The fingerprints of which any result is kept."""
        return set[str]().union(*(self._index(table).fingerprints for table in RESULTS))

    def rows(self, table: str, ids: Collection[str]) -> Mapping[str, Mapping[str, Any]]:
        """Whole rows, by id."""
        return self._store.rows(table, ids)

    def repliers(self, table: str) -> Collection[str]:
        """Who gave replies of which it is known what they are replies to."""
        return self._draws.models(table)

    def replies(self, table: str, request: str) -> list[tuple[Row, Row | None]]:
        """The rows whose reply was sent for the request of that digest, each with its unreadable first reply."""
        return self._draws.find(table, request)

    def _index(self, table: str) -> Index:
        if table not in self._indexes:
            self._indexes[table] = Index(table, self._fingerprints)
            self._indexes[table].load(self._store.parts(table))
        return self._indexes[table]
