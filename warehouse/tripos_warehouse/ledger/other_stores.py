"""Other stores: their replies and vectors are read, so that a run need not pay for them, and nothing is written there.

Whoever wrote them, their rows pass the checks of `store check` before they are taken. What is damaged is told and left
out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import orjson
import pyarrow as pa

from tripos_warehouse.errors import StoreError
from tripos_warehouse.ledger.draws import Draws, located_rows
from tripos_warehouse.ledger.lookup import RowLookup
from tripos_warehouse.store import (
    AGAIN,
    TABLES,
    Row,
    RowIndex,
    Store,
    Tell,
    address_of,
    check_schema,
    content_problem,
    reading,
)

VECTORS = "vectors"
ANSWERED = frozenset({"ok", "parse_failure", "truncated", "refused"})
"""The statuses of calls that were answered."""
_NAME = re.compile(r"[0-9a-f]{32}")
Found = TypeVar("Found")


class OtherStores:
    """Stores that are only read. Raises `StoreError` as `Store.open` does where one cannot be opened."""

    def __init__(self, places: Sequence[str], own: str | Path, tell: Tell) -> None:
        """Open the stores at `places`; the run's `own` one is passed over where it is among them. `tell` is called with
        what is damaged."""
        own_place = address_of(own) or str(Path(own).expanduser().resolve())
        opened = [Store.open(place, create=False, tell=tell, tolerant=True, writes=False) for place in places]
        others = {each.place: each for each in opened if each.place != own_place}
        self._stores = [_OtherStore(each) for each in others.values()]

    def repliers(self, table: str) -> Collection[str]:
        """Return who gave replies of which it is known what they are replies to."""
        return set[str]().union(*(each.repliers(table) for each in self._stores))

    def replies(self, table: str, request: str) -> list[tuple[Row, Row | None, tuple[str, str]]]:
        """Return the rows whose reply was sent for the request of that digest, each with its unreadable first reply,
        and with the place and the commit where it lies."""
        return [found for each in self._stores for found in each.replies(table, request)]

    def vectors(self, names: Sequence[str]) -> Mapping[str, tuple[Row, tuple[str, str]]]:
        """Return the rows of vectors, each with the place and the commit where it lies; those of an earlier store
        first."""
        found: dict[str, tuple[Row, tuple[str, str]]] = {}
        for each in self._stores:
            found |= each.vectors([name for name in names if name not in found])
        return found


class _OtherStore:
    def __init__(self, store: Store) -> None:
        self._store = store
        self.place = shown_place(store.place)
        self._begin()

    def _begin(self) -> None:
        """Read anew what is committed."""
        self._lookup = RowLookup()
        self._draws = Draws(self._paths, self._lookup)
        self._vectors: RowIndex | None = None
        root = self._store.root
        self._commits = {root / part.path: each.name for each in self._store.commits() for part in each.parts}

    def _paths(self, table: str) -> Iterable[Path]:
        """Return the parts of a table that have its columns."""
        for path in self._store.parts(table):
            try:
                with reading(path) as file:
                    check_schema(table, path, file.schema_arrow)
            except StoreError as error:
                self._store.leave_out(error)
            else:
                yield path

    def repliers(self, table: str) -> Collection[str]:
        return self._read(lambda: self._draws.models(table)) or ()

    def replies(self, table: str, request: str) -> list[tuple[Row, Row | None, tuple[str, str]]]:
        found = self._read(lambda: self._draws.located(table, request)) or ()
        (key,) = TABLES[table].key
        return [
            (row, draft, (self.place, self._commits[path]))
            for row, draft, path in found
            if self._is_sound(table, row, key) and (draft is None or self._is_sound("drafts", draft, "unit_id"))
        ]

    def vectors(self, names: Sequence[str]) -> dict[str, tuple[Row, tuple[str, str]]]:
        found = self._read(lambda: self._vector_rows(list(names))) or {}
        return {
            name: (row, (self.place, self._commits[path]))
            for name, (row, path) in found.items()
            if row["status"] not in AGAIN and self._is_sound(VECTORS, row, "vector_id")
        }

    def _vector_rows(self, names: list[str]) -> dict[str, tuple[Row, Path]]:
        if self._vectors is None:
            self._vectors = RowIndex(VECTORS, None)
            self._vectors.load(self._paths(VECTORS))
        return located_rows(self._vectors, names, self._lookup) if len(self._vectors) else {}

    def _read(self, read: Callable[[], Found]) -> Found | None:
        """Return what is read. Where that fails, parts may have been taken away by a compaction; what then is damaged
        is left out."""
        for once_more in (True, True, False):
            try:
                return read()
            except StoreError as error:
                if not once_more:
                    self._store.leave_out(error)
                    return None
                self._store.sweep()
                self._begin()
        return None

    def _is_sound(self, table: str, row: Row, key: str) -> bool:
        """Return true if a row has what readers of it rely on; one that has not is told."""
        schema = TABLES[table].schema
        names = [name for name in schema.names if name in row]
        origin = row.get("adopted_from")
        if not _NAME.fullmatch(str(row[key])) or not (origin is None or _NAME.fullmatch(origin)):
            problem: str | None = "its name is none that a run gives"
        else:
            content = pa.Table.from_pylist(
                [{name: row[name] for name in names}], schema=schema.empty_table().select(names).schema
            )
            problem = content_problem(table, content) or _reply_problem(row)
        if problem is not None:
            message = f"a row of `{table}` in `{self.place}`: {problem}"
            self._store.leave_out(StoreError("S0103", message, "find the damaged file with `tripos store check`"))
        return problem is None


def _reply_problem(row: Row) -> str | None:
    """Return what is wrong with a reply, its draft or a vector whose columns are those of its table."""
    if "status" in row and row["status"] not in ANSWERED:
        return "its status is none of a reply"
    if row.get("status", "ok") != "refused" and all(row.get(name) is None for name in ("reply", "text")):
        return "it has no reply"
    if "messages" in row:
        for each in orjson.loads(row["messages"]):
            if not (
                isinstance(each, dict) and each.keys() == {"role", "content"} and set(map(type, each.values())) == {str}
            ):
                return "`messages` has no messages"
    return None


def shown_place(place: str) -> str:
    """Return the address of a store, or its folder as it is written from here where that is shorter.

    >>> shown_place("s3://class/results")
    's3://class/results'
    """
    if "://" in place:
        return place
    try:
        return min(os.path.relpath(place), place, key=len)
    except ValueError:  # another drive
        return place
