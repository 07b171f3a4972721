"""The ledger: writes the results of runs, finds those that need no new call, and coordinates workers.

`keep` writes rows to a journal before it returns; `flush` commits them. If the process dies in between, the next one
that opens the store commits them, under the name that the flush would have used.

A work list has the names of all results of a finished piece of work, so that a repetition only looks them up. Its file
has a header of 512 bytes (a line of JSON padded with blanks), then 16 bytes for each name (`store.index.pack`), and at
the end the JSON summary of the work. The header has the SHA-256 of the rest. The file is written under a temporary
name, and renamed when the work is finished.
"""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import orjson

from tripos_compiler.files import sync
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.errors import StoreError, is_full, store_write_error
from tripos_warehouse.ledger.replies import RepliesByRequest, RowLookup, rows_of
from tripos_warehouse.store.bucket.leases import Leases
from tripos_warehouse.store.commits import Commit, check_name, new_name
from tripos_warehouse.store.index import FAILED, RESULT_TABLES, SIZE, RowIndex, has_all, has_failed, pack, still_counts
from tripos_warehouse.store.journal import JOURNAL, JournalSegment, Reserve, to_line
from tripos_warehouse.store.locks import LIST, SEGMENT, ChangeCounter, Claims, Locks, Peers, lock_offset
from tripos_warehouse.store.parts import Row, check_columns, check_part, count_rows, get_table, open_part, to_arrow
from tripos_warehouse.store.paths import open_plain
from tripos_warehouse.store.schemas import BATCHES, DRAFTS, JUDGEMENTS, RELEASE, RUN_ITEMS, SAMPLES, TABLES, TableSchema
from tripos_warehouse.store.store import FINISHED_WORK, Store

# Batches of rows
FLUSH_ROWS = 5000
FLUSH_BYTES = 32 * 2**20
"""A batch of this size, or of `FLUSH_ROWS` rows, is committed at once."""


@dataclass
class RowBatch:
    """Rows for one commit, and the segment of the journal that contains them. `may_exist`: the commit may exist
    already. `unwritten`: the number of lines that are in no journal, because they could not be written to the disk.
    """

    segment: JournalSegment | None = None
    rows: dict[str, list[Row]] = field(default_factory=dict)
    count: int = 0
    size: int = 0
    may_exist: bool = False
    unwritten: int = 0

    def add(self, rows: Mapping[str, Sequence[Row]], size: int) -> None:
        """Add rows by table; `size` is their number of bytes."""
        for table, batch in rows.items():
            self.rows.setdefault(table, []).extend(batch)
            self.count += len(batch)
        self.size += size

    @property
    def is_full(self) -> bool:
        """True if the batch should be committed now."""
        return self.count >= FLUSH_ROWS or self.size >= FLUSH_BYTES


# Lists of finished work
WORK_FORMAT = "tripos.work/2"
RUN_CACHE_SUFFIX = ".ids"
HEADER_BYTES = 512
_WAITING = 4096
"""The number of names that are written at once."""
_CHUNK = 2**18
"""The number of names that are read and looked up at once: 4 MiB."""

IsKept = Callable[[bytes], bool]
"""Returns true if a store has all of some packed names, with a status that needs no retry."""


class FinishedWork:
    """The work list of one piece of work; `name` is a digest of the work."""

    def __init__(self, root: Path, name: str, locks: Locks, is_kept: IsKept) -> None:
        self._root = root
        self._path = root / FINISHED_WORK / f"{check_name(name)}{RUN_CACHE_SUFFIX}"
        self._locks = locks
        self._is_kept = is_kept
        self._new: Path | None = None
        """The temporary file, if names were written."""
        self._lock = 0
        """The offset of the lock of the temporary file."""
        self._waiting: list[str] = []
        """The names that are not written yet."""
        self._count = 0
        """The number of names that were written."""
        self._hash = hashlib.sha256()

    def finished(self) -> Mapping[str, Any] | None:
        """Return the summary of the finished work if the store still has all of its results and none failed; otherwise
        None.
        """
        return read_summary(self._path, self._is_kept)

    def add(self, ids: Iterable[str]) -> None:
        """Add names. Raises `StoreError` S0102 if they cannot be written."""
        remaining = iter(ids)
        while batch := list(islice(remaining, _WAITING)):
            self._waiting.extend(batch)
            if len(self._waiting) >= _WAITING:
                self._write()

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Write the list with the summary of the work. Raises `StoreError` S0102 if it cannot be written."""
        self._write()
        new = self._new
        assert new is not None
        encoded = orjson.dumps(summary)
        self._hash.update(encoded)
        header = {
            "format": WORK_FORMAT,
            "count": self._count,
            "said": len(encoded),  # the length of the summary
            "sha256": self._hash.hexdigest(),
        }
        try:
            with new.open("r+b") as file:
                file.write(_header(header))
                file.seek(HEADER_BYTES + SIZE * self._count)
                file.write(encoded)
                file.truncate()
                file.flush()
                os.fsync(file.fileno())
            new.replace(self._path)
            sync(self._path.parent)
        except OSError as error:
            raise store_write_error(self._root, error) from error
        self._new = None
        self._locks.free(self._lock)
        self._reset()

    def _reset(self) -> None:
        """Prepare for the names of a new list."""
        self._count = 0
        self._hash = hashlib.sha256()

    def abandon(self) -> None:
        """Drop the names of unfinished work."""
        self._waiting.clear()
        self._reset()
        if self._new is not None:
            self._new.unlink(missing_ok=True)
            self._new = None
            self._locks.free(self._lock)

    def _write(self) -> None:
        """Write the waiting names to the temporary file."""
        packed = pack(self._waiting)
        try:
            if self._new is None:
                new = self._path.with_suffix(f".{uuid.uuid4().hex[:12]}.tmp")
                new.parent.mkdir(exist_ok=True)
                self._lock = lock_offset(LIST, new.name)
                self._locks.hold(self._lock)
                new.write_bytes(_header({}))
                self._new = new
            with self._new.open("r+b") as file:
                # Not at the end of the file, so that a partial write of an earlier attempt is overwritten.
                file.seek(HEADER_BYTES + SIZE * self._count)
                file.write(packed)
        except OSError as error:
            raise store_write_error(self._root, error) from error
        self._hash.update(packed)
        self._count += len(self._waiting)
        self._waiting.clear()


def read_summary(path: Path, is_kept: IsKept) -> Mapping[str, Any] | None:
    """Return the summary at the end of a list; `None` if the list is missing or damaged, or one of its names is not
    stored.

    >>> read_summary(Path("nowhere.ids"), lambda packed: True) is None
    True
    """
    try:
        with open_plain(path) as file:
            header = orjson.loads(file.read(HEADER_BYTES))
            if header.get("format") != WORK_FORMAT:
                return None
            remaining = SIZE * header["count"]
            if path.stat().st_size != HEADER_BYTES + remaining + header["said"]:
                return None
            hashed = hashlib.sha256()
            while chunk := file.read(min(remaining, SIZE * _CHUNK)):
                remaining -= len(chunk)
                hashed.update(chunk)
                # Sorted names make the index searches sequential.
                if not is_kept(np.sort(np.frombuffer(chunk, dtype=f"V{SIZE}").view(f"S{SIZE}")).tobytes()):
                    return None
            encoded = file.read()
            hashed.update(encoded)
            summary = orjson.loads(encoded)
            return summary if isinstance(summary, dict) and hashed.hexdigest() == header["sha256"] else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _header(fields: dict[str, object]) -> bytes:
    """Return the header of a work list."""
    return orjson.dumps(fields).ljust(HEADER_BYTES - 1) + b"\n"


# The ledger
class RunLedger:
    """A writer of rows by result name. A process may have several; each thread needs its own."""

    def __init__(self, store: Store, fingerprints: Collection[str], release: str | None = None) -> None:
        self._store = store
        self._defaults = {
            table.name: _default_values(table, release) for table in TABLES.values() if RELEASE in table.schema.names
        }
        """The values of the columns that a row may omit, by table."""
        self._fingerprints = frozenset(fingerprints)
        self._batch = RowBatch()
        """The batch to which rows are added."""
        self._closed: list[RowBatch] = []
        """The full batches that are not committed yet."""
        self._reserve: Reserve | None = None
        self.lost = 0
        """The number of lines that could be written nowhere; known after the ledger was closed."""
        self._done: list[JournalSegment] = []
        """The segments of committed batches, which can be removed."""
        self._uncommitted_rows: dict[str, dict[str, Row]] = {}
        """The rows that are not committed, by table and name."""
        self._lookup = RowLookup()
        self._names = {table.name: frozenset(table.schema.names) for table in TABLES.values()}
        try:
            (store.root / JOURNAL).mkdir(exist_ok=True)
            (store.root / FINISHED_WORK).mkdir(exist_ok=True)
            self._locks = Locks(store.root)
            self._ticks = ChangeCounter(store.root)
        except OSError as error:
            raise store_write_error(store.root, error) from error
        self._claims: Claims | Leases = Claims(self._locks)
        self._peers = Peers(store.root, self._locks, self._ticks)
        store.recover()
        self._seen_changes = -1
        """The change counter when the commits were last read; -1 if they must be read again."""
        self._commits: dict[str, Commit] = {}
        """The commits that are in the indexes, by name."""
        self._own_commits: list[Commit] = []
        """Commits of this ledger that are not in the indexes."""
        self._indexes: dict[str, RowIndex] = {}
        self._replies = RepliesByRequest(lambda table: self._paths(table, self._commits.values()), self._lookup)
        self.refresh()

    def __enter__(self) -> RunLedger:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    # Reading

    def statuses(self, table: str, ids: Sequence[str]) -> list[str | None]:
        """Return the status of each row, including rows that wait for a flush. `None`: the row is not stored, or this
        ledger committed it after `refresh` last found commits of others.
        """
        index = self._index(table)
        statuses = index.names_of(index.find(pack(ids)).codes)
        for layer in self._uncommitted(table):
            for number, name in enumerate(ids):
                row = layer.get(name)
                if row is not None and (statuses[number] in (None, FAILED) or not has_failed(row)):
                    statuses[number] = FAILED if has_failed(row) else row.get("status", "ok")
        return statuses

    def fingerprints(self) -> set[str]:
        """Return the fingerprints of all stored results, including those that wait for a flush."""
        layers = (layer for table in RESULT_TABLES for layer in self._uncommitted(table))
        uncommitted = {row["fingerprint"] for layer in layers for row in layer.values()}
        return uncommitted.union(*(self._index(table).fingerprints for table in RESULT_TABLES))

    def rows(self, table: str, ids: Iterable[str]) -> dict[str, Row]:
        """Return rows by id, including those that wait for a flush. Rows that are not stored are absent, and so are
        rows that this ledger committed after `refresh` last found commits of others.

        Raises `StoreError` S0103 if a part cannot be read.
        """
        names = list(dict.fromkeys(ids))
        try:
            committed = self._committed(table, names)
        except StoreError:
            # Another process may have compacted the store and removed old parts.
            self._seen_changes = -1
            if not self.refresh():
                raise
            committed = self._committed(table, names)
        for layer in self._uncommitted(table):
            for name in names:
                if (row := layer.get(name)) is not None and not still_counts(committed.get(name), row):
                    committed[name] = {column: row.get(column) for column in TABLES[table].schema.names}
        return committed

    def drafts(self, ids: Iterable[str]) -> dict[str, Row]:
        """Return the unreadable first replies of these samples and judgements, for those that have no later reply."""
        rows = self.rows(DRAFTS.name, ids)
        names = list(rows)
        for table in (SAMPLES.name, JUDGEMENTS.name):
            for name, status in zip(names, self.statuses(table, names), strict=True):
                if status not in (None, FAILED):
                    rows.pop(name, None)
        return rows

    def repliers(self, table: str) -> Collection[str]:
        """Return the models that gave replies with a known request."""
        return self._replies.models(table)

    def replies(self, table: str, request: str) -> list[tuple[Row, Row | None]]:
        """Return the rows of a table with this request digest, whatever their step; each with its unreadable first
        reply, if there was one. Uncommitted rows are absent.

        Raises `StoreError` S0103 if a part cannot be read.
        """
        try:
            return self._replies.find(table, request)
        except StoreError:
            self._seen_changes = -1  # as in `rows`
            if not self.refresh():
                raise
            return self._replies.find(table, request)

    def item_count(self, run_id: str) -> int:
        """Return the number of committed items of a run. Raises `StoreError` S0103 if a part cannot be read."""
        return count_rows(self._paths(RUN_ITEMS.name, [*self._commits.values(), *self._own_commits]), "run_id", run_id)

    def refresh(self) -> bool:
        """Read what others committed since the last call, and commit the journals of processes that died. Return true
        if there were new commits.

        The commits of this ledger are added to the indexes only together with those of others: a run without other
        workers needs each of its results once, so its memory does not grow with them.

        Raises `StoreError` S0103 and S0104 as `Store.files` does.
        """
        self._recover()
        count = self._ticks.count()
        if count == self._seen_changes:
            return False
        commits = {commit.name: commit for commit in self._store.commits()}
        own = {commit.name for commit in self._own_commits}
        if all(name in self._commits or name in own for name in commits) and self._commits.keys() <= commits.keys():
            self._seen_changes = count
            return False
        self._own_commits.clear()
        new = [commit for name, commit in commits.items() if name not in self._commits]
        if self._commits.keys() <= commits.keys():
            for table, index in self._indexes.items():
                index.load(self._paths(table, new))
            self._replies.load(lambda table: self._paths(table, new))
        else:  # the store was compacted: all rows have moved
            self._lookup.forget()
            self._replies.forget()
            for table in self._indexes:
                self._indexes[table] = self._load(table, commits.values())
        self._commits = commits
        self._seen_changes = count
        return bool(new)

    def _recover(self) -> None:
        """Commit the journals of processes that died."""
        while self._peers.has_dead_owner(self._own_segments()):  # another process may die during recovery
            self._store.recover()
            self._peers.recovered()

    # Writing

    def keep(self, rows: Mapping[str, Sequence[Row]]) -> None:
        """Write rows that belong together, by table. When it returns, they survive the death of this process.

        Raises `StoreError`: S0105 if a row has wrong columns, and nothing is written; S0102 if the disk cannot be
        written. If the disk is full, the error is raised once, and these rows and the following ones are written to the
        reserved space. If that is used up, or the disk cannot be written for another reason, the rows stay in memory,
        and a later `flush` may succeed.
        """
        rows = {
            table: [{**self._defaults[table], **row} for row in table_rows] if table in self._defaults else table_rows
            for table, table_rows in rows.items()
        }
        for table, table_rows in rows.items():
            names = self._names.get(table) or frozenset(get_table(table).schema.names)
            for row in table_rows:
                if row.keys() != names:
                    check_columns(table, row)
        line = to_line(rows)
        batch = self._batch
        batch.add(rows, len(line))
        for table, table_rows in rows.items():
            add_uncommitted(self._uncommitted_rows, table, table_rows)
        try:
            self._write(batch, line)
        except OSError as error:
            freed = is_full(error) and self._reserve is not None and self._reserve.free()
            if not (freed and self._try_write(batch, line)):
                batch.unwritten += 1
                self._close_batch()  # a line after a partial one would be lost
            self._added(line, rows)
            raise store_write_error(self._store.root, error) from error
        self._added(line, rows)
        if batch.is_full:
            self.flush()

    def _write(self, batch: RowBatch, line: bytes) -> None:
        """Append a line to the segment of a batch, which is created first if needed. Raises `OSError`."""
        if batch.segment is None:
            batch.segment = self._new_segment()
        batch.segment.append(line)

    def _try_write(self, batch: RowBatch, line: bytes) -> bool:
        """Append a line and return true; false if that fails."""
        with suppress(OSError):
            self._write(batch, line)
            return True
        return False

    def _added(self, line: bytes, rows: Mapping[str, Sequence[Row]]) -> None:
        """Do something with rows that were added: nothing here, an upload in `BucketLedger`."""

    def flush(self) -> Commit | None:
        """Commit all rows, then free released claims. Return the last commit; `None` if there were no rows.

        Raises `StoreError`: S0102 if the disk cannot be written, S0105 if a value does not fit its column. Rows that
        are not committed then wait for the next flush, or the next process.
        """
        self._close_batch()
        commit: Commit | None = None
        first_error: StoreError | None = None
        for batch in list(self._closed):
            try:
                commit = self._commit(batch)
                self._closed.remove(batch)
            except StoreError as error:
                first_error = first_error or error
        if self._seen_changes < 0:
            self.refresh()
        self._uncommitted_rows = {}
        for batch in self._closed:
            for table, rows in batch.rows.items():
                add_uncommitted(self._uncommitted_rows, table, rows)
        try:
            while self._done:
                self._done[-1].remove()
                self._locks.free(lock_offset(SEGMENT, self._done.pop().name))
            if first_error is None:
                self._claims.let_go()
        except OSError as error:
            raise first_error or store_write_error(self._store.root, error) from error
        if first_error is not None:
            raise first_error
        return commit

    def close(self) -> None:
        """Flush and release everything. Raises what `flush` raises; uncommitted rows are in the journal, except for the
        `lost` ones that could not be written to the disk.
        """
        try:
            self.flush()
        finally:
            self.lost = sum(batch.unwritten for batch in self._closed)
            self._release_all()

    def _release_all(self) -> None:
        """Close all files and free all locks."""
        if self._reserve is not None:
            self._reserve.free()
        for batch in self._closed:
            if batch.segment is not None:
                batch.segment.close()
        self._locks.close()
        with suppress(OSError):
            self._ticks.close()

    # Claims

    def claim(self, key: str, *, later: bool = False) -> bool:
        """Return true if this process may work on `key`, until `release` and a flush, or until it dies. With `later`
        the call does not wait for a claim if there is other work.

        After a successful claim, `refresh` reads everything that earlier owners of the claim wrote, also if they died.
        One refresh is enough for any number of claims.
        """
        try:
            if not self._claims.take(key, later=later):
                return False
        except OSError as error:
            raise store_write_error(self._store.root, error) from error
        return True

    def release(self, key: str) -> None:
        """Give up the claim of `key` at the next flush."""
        self._claims.release(key)

    def work(self, name: str) -> FinishedWork:
        """Return the work list with this name, a digest."""
        return FinishedWork(self._store.root, name, self._locks, self._has_all)

    def _own_segments(self) -> frozenset[str]:
        """Return the names of the segments of this ledger's uncommitted batches."""
        batches = (self._batch, *self._closed)
        return frozenset(batch.segment.name for batch in batches if batch.segment is not None)

    def _segment_name(self) -> str:
        """Return the name of a new segment."""
        return new_name(self._store.now)

    def _new_segment(self) -> JournalSegment:
        """Create a segment. Raises `OSError`."""
        name = self._segment_name()
        offset = lock_offset(SEGMENT, name)
        if self._reserve is None:
            self._reserve = Reserve(self._store.root)
        self._locks.hold(offset)  # before the file exists, or a recovery could take it for abandoned
        try:
            return JournalSegment(self._store.root, name)
        except OSError:
            self._locks.free(offset)
            raise

    def _close_batch(self) -> None:
        """Begin a new batch, so that the current one can be committed."""
        if self._batch.count:
            self._closed.append(self._batch)
            self._batch = RowBatch()

    def _commit(self, batch: RowBatch) -> Commit:
        """Commit a batch. Raises `StoreError`."""
        name = None if batch.segment is None else batch.segment.name
        is_first_attempt, batch.may_exist = not batch.may_exist, True
        contents = {table: to_arrow(table, rows) for table, rows in batch.rows.items() if rows}
        commit = self._store.append_arrow(contents, name)
        if commit.repeated and is_first_attempt:
            # Without locks, another process took our segment for abandoned and committed it, perhaps incompletely.
            commit = self._store.append_arrow(contents)
        if batch.segment is not None:
            self._done.append(batch.segment)
        if commit.repeated:
            self._seen_changes = -1
        else:
            self._own_commits.append(commit)
        return commit

    def _uncommitted(self, table: str) -> list[dict[str, Row]]:
        """Return the uncommitted rows of a table by name, in layers; later layers take precedence."""
        return [self._uncommitted_rows[table]] if table in self._uncommitted_rows else []

    # The index

    def _index(self, table: str) -> RowIndex:
        """Return the index of a table, which is loaded when it is first needed, with all commits."""
        if (index := self._indexes.get(table)) is None:
            index = self._indexes[table] = self._load(table, [*self._commits.values(), *self._own_commits])
            for other, row_index in self._indexes.items():
                if other != table:
                    row_index.load(self._paths(other, self._own_commits))
            self._commits |= {commit.name: commit for commit in self._own_commits}
            self._own_commits.clear()
        return index

    def _load(self, table: str, commits: Iterable[Commit]) -> RowIndex:
        """Return a new index of the rows of a table in some commits."""
        index = RowIndex(table, self._fingerprints, self._store.root)
        index.load(self._paths(table, commits))
        return index

    def _paths(self, table: str, commits: Iterable[Commit]) -> list[Path]:
        """Return the parts of a table in some commits."""
        root = self._store.root
        return [check_part(root, part, commit) for commit in commits for part in commit.parts if part.table == table]

    def _has_all(self, packed: bytes) -> bool:
        """Return true if the store has all of some packed names, with a status that needs no retry."""
        return has_all((self._index(table) for table in RESULT_TABLES), packed)

    def _committed(self, table: str, names: list[str]) -> dict[str, Row]:
        """Return the rows of the indexed commits by name."""
        return rows_of(self._index(table), names, self._lookup)


def _default_values(table: TableSchema, release: str | None) -> dict[str, Any]:
    """Return the values of the columns that a row may omit."""
    return {**{field.name: None for field in table.schema if field.nullable}, RELEASE: release}


def add_uncommitted(layer: dict[str, dict[str, Row]], table: str, rows: Sequence[Row]) -> None:
    """Add rows to the uncommitted rows of `layer`, by table and name. Tables whose key is several columns are
    left out.
    """
    if table not in TABLES or len(key := TABLES[table].key) != 1:
        return
    by_name = layer.setdefault(table, {})
    for row in rows:
        name = row[key[0]]
        if not still_counts(by_name.get(name), row):
            by_name[name] = row


# Records of provider batches
class StoredBatches:
    """The rows of the table `batches`, the records of provider batches. Each is committed before the next step of its
    batch.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._read_parts: set[str] = set()
        self._ticks: ChangeCounter | None = None

    def add(self, row: Row) -> None:
        """Commit a row. Raises `StoreError` S0102 if the store cannot be written."""
        self._store.append({BATCHES.name: [row]})

    def ticks(self) -> int:
        """Return the change counter of the store, as far as this machine has seen it. Raises `StoreError` S0102."""
        if self._ticks is None:
            try:
                self._ticks = ChangeCounter(self._store.root)
            except OSError as error:
                raise store_write_error(self._store.root, error) from error
        return self._ticks.count()

    def new_rows(self) -> list[dict[str, Any]]:
        """Return the rows that were committed since the last call, in order. Raises `StoreError` S0103 if the store
        cannot be read.
        """
        if self._store.bucket is not None:
            self._store.bucket.sync()
        rows: list[dict[str, Any]] = []
        for path in self._store.parts(BATCHES.name):
            if path.name not in self._read_parts:
                with open_part(path) as file:
                    rows += file.read().to_pylist()
                self._read_parts.add(path.name)
        return sorted(rows, key=lambda row: row["created_at"])
