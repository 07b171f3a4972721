"""Replies by the digest of their request, whatever their step: in this store, in other stores, and in stores that are
only read.

The index takes 16 bytes for each reply. The rows are read by location: only the parts and row groups with one of them
are opened. Replies of other stores save a run the cost of calls; nothing is written to these stores. Whoever wrote
them, a row must pass the checks of `store check` before it is used. Damage is reported and skipped.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, groupby
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa

from tripos_compiler.plan import Ending, finish_reasons_of
from tripos_warehouse.errors import FIND_DAMAGE, StoreError
from tripos_warehouse.store.index import (
    RESULT_TABLES,
    RETRIED_STATUSES,
    Halves,
    RowIndex,
    halves,
    pack,
    pack_column,
    rows_by_part,
)
from tripos_warehouse.store.parts import Row, check_schema, conform, content_problem, get_table, open_part
from tripos_warehouse.store.paths import address_of
from tripos_warehouse.store.schemas import DRAFTS, REQUEST, TABLES, TURNS
from tripos_warehouse.store.store import DamageListener, Store

# Rows by location
CACHED_BYTES = 64 * 2**20
"""The size limit of the cache of decompressed row groups. Rows that are requested one after the other are often in the
same group.
"""
BLOCK, CACHED_BLOCKS = 64, 32
"""Single rows are converted from Arrow in blocks of `BLOCK` rows, which costs little more than one row; this many
blocks are cached.
"""


class RowLookup:
    """A reader of rows of parts by row number."""

    def __init__(self) -> None:
        self._ends: dict[Path, list[int]] = {}
        """By part, the number of the row after each row group."""
        self._groups: OrderedDict[tuple[Path, int], pa.Table] = OrderedDict()
        self._size = 0
        """The size of the cached row groups in bytes."""
        self._blocks: OrderedDict[tuple[Path, int, tuple[str, ...]], list[Row]] = OrderedDict()

    def forget(self) -> None:
        """Empty the caches."""
        self._ends.clear()
        self._groups.clear()
        self._size = 0
        self._blocks.clear()

    def neighbouring_rows(
        self, table: str, path: Path, numbers: Sequence[int], columns: tuple[str, ...]
    ) -> Iterator[Row]:
        """Yield rows as `rows` does, for few rows whose neighbours will be requested next."""
        for number in sorted(numbers):
            yield self._block(table, path, number // BLOCK, columns)[number % BLOCK]

    def _block(self, table: str, path: Path, block: int, columns: tuple[str, ...]) -> list[Row]:
        """Return the rows of a block of a part, from the cache if possible."""
        key = (path, block, columns)
        if key in self._blocks:
            self._blocks.move_to_end(key)
            return self._blocks[key]
        first = block * BLOCK
        numbers = range(first, min(first + BLOCK, self._ends_of(path)[-1]))
        rows = self._blocks[key] = list(self.rows(table, path, numbers, columns))
        if len(self._blocks) > CACHED_BLOCKS:
            self._blocks.popitem(last=False)
        return rows

    def rows(
        self, table: str, path: Path, numbers: Sequence[int], columns: Sequence[str] | None = None
    ) -> Iterator[Row]:
        """Yield the rows of a part with these numbers, or some of their columns, lowest number first. Raises
        `StoreError` S0103.
        """
        ends = self._ends_of(path)
        for group, in_group in groupby(sorted(numbers), key=lambda number: bisect_right(ends, number)):
            start = ends[group - 1] if group else 0
            content = self._group(table, path, group)
            content = content if columns is None else content.select(columns)
            yield from content.take([number - start for number in in_group]).to_pylist(maps_as_pydicts="strict")

    def _ends_of(self, path: Path) -> list[int]:
        """Return the number of the row after each row group of a part."""
        if path not in self._ends:
            with open_part(path) as file:
                sizes = (file.metadata.row_group(group).num_rows for group in range(file.num_row_groups))
                self._ends[path] = list(accumulate(sizes))
        return self._ends[path]

    def _group(self, table: str, path: Path, group: int) -> pa.Table:
        """Return a row group of a part, from the cache if possible."""
        key = (path, group)
        if (content := self._groups.get(key)) is not None:
            self._groups.move_to_end(key)
            return content
        with open_part(path) as file:
            content = conform(table, TABLES[table].schema.names, file.read_row_group(group))
        self._groups[key] = content
        self._size += content.nbytes
        while self._size > CACHED_BYTES and len(self._groups) > 1:
            self._size -= self._groups.popitem(last=False)[1].nbytes
        return content


# Replies by request
Places = npt.NDArray[np.uint64]
Paths = Callable[[str], Iterable[Path]]
"""Returns the parts of a table, in the order of their commits."""
UNREAD_COLUMNS = frozenset(
    [
        "run_id",
        "benchmark",
        "scenario",
        "step",
        "scorer",
        "context",
        "role",
        "parsed",
        "source",
        "created_at",
        "release",
    ]
)
"""The columns that depend on what a reply was requested for. They are not read, since a row that adopts the reply has
values of its own.
"""
_ROW_BITS = 32
_BATCH = 65536
_RETRIED = pa.array(RETRIED_STATUSES, type=pa.string())
_BROKEN = pa.array(finish_reasons_of(Ending.ERROR), type=pa.string())
"""The finish reasons of replies that ended with an error."""


class RepliesByRequest:
    """The replies in the parts of a store. `paths` is called when a table is first used."""

    def __init__(self, paths: Paths, lookup: RowLookup) -> None:
        self._paths, self._lookup = paths, lookup
        self._indexes: dict[str, _RequestIndex] = {}
        self._drafts: RowIndex | None = None

    def models(self, table: str) -> Collection[str]:
        """Return the models that gave the replies of a table."""
        return self._of(table).models

    def find(self, table: str, request: str) -> list[tuple[Row, Row | None]]:
        """Return the replies of a table with this request digest, each with the unreadable first reply before it, if
        there was one. Raises `StoreError` S0103 if a part cannot be read.
        """
        return [(row, draft) for row, draft, _ in self.located(table, request)]

    def located(self, table: str, request: str) -> list[tuple[Row, Row | None, Path]]:
        """Return what `find` returns, each with the part of its row."""
        (key,) = get_table(table).key
        by_id: dict[str, tuple[Row, Path]] = {}
        for path, numbers in self._of(table).find(request).items():
            for row in self._lookup.neighbouring_rows(table, path, numbers, self._of(table).columns):
                if row[REQUEST] == request:
                    by_id[row[key]] = row, path
        if not by_id or table == TURNS.name:
            return [(row, None, path) for row, path in by_id.values()]
        if self._drafts is None:
            self._drafts = RowIndex(DRAFTS.name, None)
            self._drafts.load(self._paths(DRAFTS.name))
        if not len(self._drafts):
            return [(row, None, path) for row, path in by_id.values()]
        # The draft of a reply that was adopted from another row of this store has the name of that row.
        origins = {name: (not row["reused_from"] and row["adopted_from"]) or name for name, (row, _) in by_id.items()}
        drafts = rows_of(self._drafts, list(origins.values()), self._lookup)
        return [(row, drafts.get(origins[name]), path) for name, (row, path) in by_id.items()]

    def load(self, paths: Paths) -> None:
        """Add further parts."""
        for table, index in self._indexes.items():
            index.load(paths(table))
        if self._drafts is not None:
            self._drafts.load(paths(DRAFTS.name))

    def forget(self) -> None:
        """Drop the indexes, since all rows have moved to other parts."""
        self._indexes.clear()
        self._drafts = None

    def _of(self, table: str) -> _RequestIndex:
        """Return the index of a table, which is loaded when it is first needed."""
        if table not in self._indexes:
            index = self._indexes[table] = _RequestIndex(table)
            index.load(self._paths(table))
        return self._indexes[table]


class _RequestIndex:
    """The replies of one table, by the upper half of their request digests, without those that a later run would
    request again.
    """

    def __init__(self, table: str) -> None:
        names = get_table(table).schema.names
        self._model = "model" if "model" in names else "evaluator"
        self.columns = tuple(name for name in names if name not in UNREAD_COLUMNS)
        self.models: set[str] = set()
        """The models that gave the replies."""
        self._parts: list[Path] = []
        self._runs: list[tuple[Halves, Places]] = []
        """Sorted runs of digests, each with the locations of the rows."""

    def load(self, paths: Iterable[Path]) -> None:
        """Add the replies of further parts. Raises `StoreError` S0103."""
        chunks: list[tuple[Halves, Places]] = []
        for path in paths:
            import pyarrow.compute as pc  # not imported by a run with an empty store

            number = len(self._parts)
            self._parts.append(path)
            with open_part(path) as file:
                if REQUEST not in file.schema_arrow.names:
                    continue  # an earlier schema version
                row = 0
                columns = [REQUEST, self._model, "status", "finish_reason"]
                for batch in file.iter_batches(_BATCH, columns=columns, use_threads=False):
                    rows = np.arange(row, row + batch.num_rows, dtype=np.uint64)
                    row += batch.num_rows
                    failed = pc.is_in(batch["status"], value_set=_RETRIED)
                    if "finish_reason" in batch.schema.names:
                        failed = pc.or_(failed, pc.is_in(pc.utf8_lower(batch["finish_reason"]), value_set=_BROKEN))
                    hits = pc.and_(pc.is_valid(batch[REQUEST]), pc.invert(failed))
                    replies = batch.filter(hits)
                    if replies.num_rows:
                        self.models.update(pc.unique(replies[self._model]).to_pylist())
                        rows = rows[hits.to_numpy(zero_copy_only=False)] | np.uint64(number << _ROW_BITS)
                        chunks.append((halves(pack_column(replies[REQUEST]))[0], rows))
        if chunks:
            run = _sorted(chunks)
            while self._runs and len(self._runs[-1][0]) < 2 * len(run[0]):
                run = _sorted([self._runs.pop(), run])
            self._runs.append(run)

    def find(self, request: str) -> dict[Path, list[int]]:
        """Return the row numbers, by part, of the replies whose request digest has the same upper half."""
        upper_half = np.uint64(int(request[:16], 16))
        row_numbers: dict[Path, list[int]] = {}
        for high, places in self._runs:
            start = int(np.searchsorted(high, upper_half))
            if start == len(high) or high[start] != upper_half:
                continue
            end = int(np.searchsorted(high, upper_half, side="right"))
            for place in places[start:end].tolist():
                row_numbers.setdefault(self._parts[place >> _ROW_BITS], []).append(place & (2**_ROW_BITS - 1))
        return row_numbers


def rows_of(index: RowIndex, names: list[str], lookup: RowLookup) -> dict[str, Row]:
    """Return the indexed rows of these names."""
    return {name: row for name, (row, _) in located_rows(index, names, lookup).items()}


def located_rows(index: RowIndex, names: list[str], lookup: RowLookup) -> dict[str, tuple[Row, Path]]:
    """Return what `rows_of` returns, each with the part of its row."""
    table = index.table
    (key,) = table.key
    located: dict[str, tuple[Row, Path]] = {}
    for path, numbers in rows_by_part(index, index.find(pack(names))).items():
        for row in lookup.rows(table.name, path, numbers):
            located[row[key]] = row, path
    return located


def _sorted(chunks: list[tuple[Halves, Places]]) -> tuple[Halves, Places]:
    """Return digests and locations as one sorted run."""
    high = np.concatenate([chunk[0] for chunk in chunks])
    places = np.concatenate([chunk[1] for chunk in chunks])
    order = np.argsort(high, kind="stable")
    return high[order], places[order]


# Other stores
VECTORS = "vectors"
ANSWERED = frozenset({"ok", "parse_failure", "truncated", "refused"})
"""The statuses of calls that were answered."""
_NAME = re.compile(r"[0-9a-f]{32}")
Found = TypeVar("Found")


class OtherStores:
    """Stores that are only read. Raises `StoreError` as `Store.open` does if one cannot be opened."""

    def __init__(self, places: Sequence[str], own: str | Path, on_damage: DamageListener) -> None:
        """Open the stores at `places`, except for `own`, the place of the run's store. `on_damage` is called with the
        error of each damage.
        """
        own_place = address_of(own) or str(Path(own).expanduser().resolve())
        opened = [Store.open(place, create=False, on_damage=on_damage, tolerant=True, writes=False) for place in places]
        stores = {store.place: store for store in opened if store.place != own_place}
        self._stores = [_OtherStore(other) for other in stores.values()]

    def repliers(self, table: str) -> Collection[str]:
        """Return the models that gave replies with a known request."""
        return set[str]().union(*(store.repliers(table) for store in self._stores))

    def replies(self, table: str, request: str) -> list[tuple[Row, Row | None, tuple[str, str]]]:
        """Return the rows with this request digest, each with its unreadable first reply, and with the store and commit
        of the row.
        """
        return [reply for store in self._stores for reply in store.replies(table, request)]

    def vectors(self, names: Sequence[str]) -> Mapping[str, tuple[Row, tuple[str, str]]]:
        """Return the rows of vectors, each with its store and commit; earlier stores take precedence."""
        by_name: dict[str, tuple[Row, tuple[str, str]]] = {}
        for store in self._stores:
            by_name |= store.vectors([name for name in names if name not in by_name])
        return by_name


class _OtherStore:
    """One of the `OtherStores`; its methods return what those of `OtherStores` return."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.place = shown_place(store.place)
        self._begin()

    def _begin(self) -> None:
        """Read the commits, and drop all indexes."""
        self._lookup = RowLookup()
        self._replies = RepliesByRequest(self._paths, self._lookup)
        self._vectors: RowIndex | None = None
        root = self._store.root
        self._commits = {root / part.path: commit.name for commit in self._store.commits() for part in commit.parts}

    def _paths(self, table: str) -> Iterable[Path]:
        """Yield the parts of a table; those with unknown columns are reported and skipped."""
        for path in self._store.parts(table):
            try:
                with open_part(path) as file:
                    check_schema(table, path, file.schema_arrow)
            except StoreError as error:
                self._store.leave_out(error)
            else:
                yield path

    def repliers(self, table: str) -> Collection[str]:
        return self._read(lambda: self._replies.models(table)) or ()

    def replies(self, table: str, request: str) -> list[tuple[Row, Row | None, tuple[str, str]]]:
        located = self._read(lambda: self._replies.located(table, request)) or ()
        (key,) = TABLES[table].key
        return [
            (row, draft, (self.place, self._commits[path]))
            for row, draft, path in located
            if self._is_sound(table, row, key) and (draft is None or self._is_sound("drafts", draft, "unit_id"))
        ]

    def vectors(self, names: Sequence[str]) -> dict[str, tuple[Row, tuple[str, str]]]:
        rows = self._read(lambda: self._vector_rows(list(names))) or {}
        return {
            name: (row, (self.place, self._commits[path]))
            for name, (row, path) in rows.items()
            if row["status"] not in RETRIED_STATUSES and self._is_sound(VECTORS, row, "vector_id")
        }

    def _vector_rows(self, names: list[str]) -> dict[str, tuple[Row, Path]]:
        """Return the rows of vectors by name, each with its part."""
        if self._vectors is None:
            self._vectors = RowIndex(VECTORS, None)
            self._vectors.load(self._paths(VECTORS))
        return located_rows(self._vectors, names, self._lookup) if len(self._vectors) else {}

    def _read(self, read: Callable[[], Found]) -> Found | None:
        """Return the result of `read`. After an error, which may be due to a compaction, the commits are read again and
        damaged parts are skipped; None if the third attempt fails too.
        """
        for may_retry in (True, True, False):
            try:
                return read()
            except StoreError as error:
                if not may_retry:
                    self._store.leave_out(error)
                    return None
                self._store.sweep()
                self._begin()
        return None

    def _is_sound(self, table: str, row: Row, key: str) -> bool:
        """Return true if a row is valid, as `tripos store check` defines; otherwise report it and return false."""
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
            self._store.leave_out(StoreError("S0103", message, FIND_DAMAGE))
        return problem is None


def _reply_problem(row: Row) -> str | None:
    """Return what is wrong with a reply, draft or vector that has the columns of its table; None if it is valid."""
    if "status" in row and row["status"] not in ANSWERED:
        return "its status is none of a reply"
    if row.get("status", "ok") != "refused" and all(row.get(name) is None for name in ("reply", "text")):
        return "it has no reply"
    if "messages" in row:
        for message in orjson.loads(row["messages"]):
            if not (
                isinstance(message, dict)
                and message.keys() == {"role", "content"}
                and set(map(type, message.values())) == {str}
            ):
                return "`messages` has no messages"
    return None


def shown_place(place: str) -> str:
    """Return the address of a store, or its folder as an absolute or relative path, whichever is shorter.

    >>> shown_place("s3://class/results")
    's3://class/results'
    """
    if "://" in place:
        return place
    try:
        return min(os.path.relpath(place), place, key=len)
    except ValueError:  # another drive
        return place


# Read-only stores
class CommittedResults:
    """The committed rows of a read-only store."""

    def __init__(self, store: Store, fingerprints: Collection[str]) -> None:
        self._store, self._fingerprints = store, fingerprints
        self._indexes: dict[str, RowIndex] = {}
        self._replies = RepliesByRequest(store.parts, RowLookup())

    def statuses(self, table: str, ids: Sequence[str]) -> list[str | None]:
        """Return the status of each row; `None` for those that are not stored."""
        index = self._index(table)
        return index.names_of(index.find(pack(ids)).codes)

    def fingerprints(self) -> set[str]:
        """Return the fingerprints of all stored results."""
        return set[str]().union(*(self._index(table).fingerprints for table in RESULT_TABLES))

    def rows(self, table: str, ids: Collection[str]) -> Mapping[str, Mapping[str, Any]]:
        """Return rows by id."""
        return self._store.rows(table, ids)

    def repliers(self, table: str) -> Collection[str]:
        """Return the models that gave replies with a known request."""
        return self._replies.models(table)

    def replies(self, table: str, request: str) -> list[tuple[Row, Row | None]]:
        """Return the rows with this request digest, each with its unreadable first reply."""
        return self._replies.find(table, request)

    def _index(self, table: str) -> RowIndex:
        """Return the index of a table, which is loaded when it is first needed."""
        if table not in self._indexes:
            self._indexes[table] = RowIndex(table, self._fingerprints, self._store.root)
            self._indexes[table].load(self._store.parts(table))
        return self._indexes[table]
