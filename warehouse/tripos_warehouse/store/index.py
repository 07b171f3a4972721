"""The index of a table: the status and location of each row by its name, sorted in memory or, from a million rows on,
on disk.

A row's name is its key, such as a `sample_id`. It is stored as a number of 128 bits, by which rows are sorted. On disk,
sorted rows are divided into blocks, and only the first name of each block is in memory. The file has no name, so it
disappears with the process. It is written by an external sort: pieces are sorted in memory and written; then the rows
whose names have their first bytes in a range are collected from all pieces, sorted and appended.
"""

from __future__ import annotations

import os
import re
import tempfile
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from hashlib import blake2b
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tripos_compiler.plan import OK, PROVIDER_ERROR, RETRIED_NEXT_RUN, Ending, ending_of, finish_reasons_of
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse import sql
from tripos_warehouse.store.parts import conform, get_table, open_part
from tripos_warehouse.store.schemas import COMPARISONS, JUDGEMENTS, SAMPLES, SCORES, TURNS, TableSchema

Halves = npt.NDArray[np.uint64]
"""Upper or lower 64 bits of names."""

SIZE = 16
"""The number of bytes of a packed name."""
_DIGITS = 2 * SIZE
_HEX = re.compile(r"[0-9a-f]{32}")


def pack(names: Sequence[str]) -> bytes:
    """Return the numbers of `names`, 16 bytes each, concatenated. A name that is not 32 hexadecimal digits is hashed.

    >>> pack(["00112233445566778899aabbccddeeff"]).hex(), len(pack(["i0", "i1"]))
    ('00112233445566778899aabbccddeeff', 32)
    """
    if not names:
        return b""
    if set(map(len, names)) == {_DIGITS} and (packed := _unhex("".join(names), len(names))) is not None:
        return packed
    return b"".join(_pack(name) for name in names)


def pack_column(column: pa.Array[Any]) -> bytes:
    """Pack an Arrow array of strings without nulls, as `pack` does."""
    import pyarrow.compute as pc

    lengths = pc.min_max(pc.binary_length(column)).as_py()
    if lengths["min"] == lengths["max"] == _DIGITS:
        start = _DIGITS * column.offset
        data = column.buffers()[2]
        text = bytes(memoryview(data)[start : start + _DIGITS * len(column)])
        if text.isascii() and (packed := _unhex(text.decode("ascii"), len(column))) is not None:
            return packed
    return pack(column.to_pylist())


def halves(packed: bytes) -> tuple[Halves, Halves]:
    """Return packed names as two arrays: the upper and the lower halves of their numbers."""
    pairs = np.frombuffer(packed, dtype=">u8").reshape(-1, 2)
    return pairs[:, 0].astype(np.uint64), pairs[:, 1].astype(np.uint64)


def _unhex(text: str, count: int) -> bytes | None:
    """Return the bytes of lower-case digits; None for any other text, since `fromhex` also accepts capitals and
    blanks.
    """
    if text.lower() != text:
        return None
    try:
        packed = bytes.fromhex(text)
    except ValueError:
        return None
    return packed if len(packed) == SIZE * count else None


def _pack(name: str) -> bytes:
    """Return the packed form of one name."""
    if _HEX.fullmatch(name):
        return bytes.fromhex(name)
    return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=SIZE).digest()


# Rows sorted by name, in memory
Codes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.uint64]
ABSENT = 0
"""The code of a name that is not in the index. The codes from 1 on are statuses."""
FAILED_CODE = 1
"""The code of a unit that may be tried again."""


@dataclass(frozen=True)
class IndexedRows:
    """The index entries of some names, in the order of the names: status codes and row locations."""

    codes: Codes
    places: Places


@dataclass(frozen=True)
class SortedRows:
    """Rows with unique names, sorted by name: the halves of the names, the codes of the statuses, and the locations.

    A location has the number of the part in its upper 32 bits, and the number of the row in the part in the lower ones.
    """

    high: Halves
    low: Halves
    codes: Codes
    places: Places

    def __len__(self) -> int:
        return len(self.high)

    @property
    def columns(self) -> tuple[Halves, Halves, Codes, Places]:
        """The four columns."""
        return self.high, self.low, self.codes, self.places

    def find(self, high: Halves, low: Halves) -> IndexedRows:
        """Return the entries of these names."""
        codes, places = np.full(len(high), ABSENT, np.uint8), np.zeros(len(high), np.uint64)
        positions = _search(self, high, low)
        is_present = positions >= 0
        codes[is_present], places[is_present] = self.codes[positions[is_present]], self.places[positions[is_present]]
        return IndexedRows(codes, places)


class GrowingRows:
    """Rows as they are read, in arrays that grow, since many small arrays would fragment the memory."""

    def __init__(self) -> None:
        self._columns: list[npt.NDArray[Any]] = [
            np.empty(0, dtype) for dtype in (np.uint64, np.uint64, np.uint8, np.uint64)
        ]
        self._count = 0

    def add(self, rows: SortedRows) -> None:
        """Append rows."""
        end = self._count + len(rows)
        for number, added in enumerate(rows.columns):
            column = self._columns[number]
            if end > len(column):
                column = np.empty(max(end, 2 * len(column)), column.dtype)
                column[: self._count] = self._columns[number][: self._count]
                self._columns[number] = column
            column[self._count : end] = added
        self._count = end

    def __len__(self) -> int:
        return self._count

    def take(self) -> list[npt.NDArray[Any]]:
        """Return the columns and empty this object."""
        columns = [column[: self._count] for column in self._columns]
        self._columns = [np.empty(0, column.dtype) for column in columns]
        self._count = 0
        return columns


def _search(run: SortedRows, high: Halves, low: Halves) -> npt.NDArray[np.int64]:
    """Return the position of each name in a run; -1 if it is absent."""
    positions = np.searchsorted(run.high, high)
    positions[positions == len(run)] = 0
    is_found = (run.high[positions] == high) & (run.low[positions] == low)
    # Rows with equal upper halves are adjacent, and sorted by their lower halves.
    for index in np.flatnonzero(~is_found & (run.high[positions] == high)).tolist():
        start = int(positions[index])
        end = int(np.searchsorted(run.high, high[index], side="right"))
        position = start + int(np.searchsorted(run.low[start:end], low[index]))
        if position < end and run.low[position] == low[index]:
            positions[index], is_found[index] = position, True
    rows: npt.NDArray[np.int64] = np.where(is_found, positions, -1)
    return rows


def sort_rows(columns: list[npt.NDArray[Any]]) -> SortedRows:
    """Return the rows of `columns` as one sorted run, and empty the list.

    Rows must be in the order of their commits. If a name is repeated, the last row that did not fail is kept.
    """
    order = np.argsort(columns[0], kind="stable")
    high, low, codes, places = (_taken(columns, order) for _ in range(4))
    if bool((high[1:] == high[:-1]).any()):
        # Within equal upper halves, sort by the lower half, and failures first.
        order = np.lexsort((codes != FAILED_CODE, low, high))
        low, codes, places = low[order], codes[order], places[order]
        last = np.ones(len(order), bool)
        last[:-1] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
        high, low, codes, places = high[last], low[last], codes[last], places[last]
    return SortedRows(high, low, codes, places)


def _taken(columns: list[npt.NDArray[Any]], order: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """Remove the first column and return it in an order, so that its memory is free for the next: of ten million rows a
    column takes 80 MB.
    """
    column = columns.pop(0)
    return column[order]


# Rows sorted by name, on disk
LEAST_ROWS = 2**20
"""Fewer rows stay in memory, where a lookup takes half the time."""
PIECE_ROWS = 2**18
"""The most rows that are sorted at once, unless more have the same first byte."""
BLOCK = 32
"""The number of rows of a block."""
NAMES_AT_ONCE = 4096
"""The number of names that are looked up at once."""
_FIRST_BYTES = 256
"""The number of groups of rows, by the first byte of their names; small adjacent groups are sorted together."""
_ROW = np.dtype([("high", "<u8"), ("low", "<u8"), ("code", "u1"), ("place", "<u8")])

Rows = npt.NDArray[np.void]


class DiskRows:
    """Rows with unique names, sorted by name, in a file."""

    def __init__(self, file: _RowFile, firsts: Halves, count: int) -> None:
        self._file, self._firsts, self._count = file, firsts, count

    def __len__(self) -> int:
        return self._count

    def find(self, high: Halves, low: Halves) -> IndexedRows:
        """Return the entries of these names."""
        codes, places = np.full(len(high), ABSENT, np.uint8), np.zeros(len(high), np.uint64)
        order = np.argsort(high)
        for start in range(0, len(order), NAMES_AT_ONCE):
            indices = order[start : start + NAMES_AT_ONCE]
            rows = self._read_blocks(high[indices])
            if len(rows):
                indexed_rows = rows.find(high[indices], low[indices])
                codes[indices], places[indices] = indexed_rows.codes, indexed_rows.places
        return IndexedRows(codes, places)

    def _read_blocks(self, high: Halves) -> SortedRows:
        """Return the rows of the blocks that may contain names with these upper halves, which must be sorted."""
        # Names with this upper half may begin at the end of the block before.
        begin = np.maximum(np.searchsorted(self._firsts, high, side="left") - 1, 0)
        end = np.searchsorted(self._firsts, high, side="right")
        blocks = np.arange(0)
        for offset in range(int((end - begin).max(initial=0))):
            blocks = np.union1d(blocks, (begin + offset)[begin + offset < end])
        breaks = np.flatnonzero(np.diff(blocks) > 1) + 1
        starts = blocks[np.concatenate(([0], breaks))] if len(blocks) else blocks
        ends = blocks[np.concatenate((breaks - 1, [len(blocks) - 1]))] + 1 if len(blocks) else blocks
        ranges = zip((starts * BLOCK).tolist(), np.minimum(ends * BLOCK, self._count).tolist(), strict=True)
        return _columns(self._file.read([*ranges]))


class RowWriter:
    """An external sort of rows, which are added in the order of their commits. Its files are in the first writable one
    of `folders`; `None` is the folder of temporary files. All methods raise `OSError`.
    """

    def __init__(self, folders: Sequence[Path | None]) -> None:
        self._folders = folders
        self._pieces = _RowFile(folders)
        self._bounds: list[list[int]] = []
        """By piece, the positions in the file at which its groups of rows begin, and its end."""
        self._count = 0

    def add(self, columns: list[npt.NDArray[Any]]) -> None:
        """Add a piece and empty its list of columns."""
        piece = sort_rows(columns)
        group_starts = np.arange(1, _FIRST_BYTES, dtype=np.uint64) << np.uint64(56)
        bounds = [0, *np.searchsorted(piece.high, group_starts).tolist(), len(piece)]
        self._bounds.append([self._count + bound for bound in bounds])
        self._pieces.write(piece)
        self._count += len(piece)

    def rows(self) -> DiskRows:
        """Return all rows, sorted."""
        file, firsts, count = _RowFile(self._folders), [], 0
        for begin, end in self._sort_ranges():
            read = self._pieces.read([(bounds[begin], bounds[end]) for bounds in self._bounds])
            rows = sort_rows(list(_columns(read).columns))
            del read
            file.write(rows)
            firsts.append(rows.high[-count % BLOCK :: BLOCK].copy())
            count += len(rows)
        return DiskRows(file, np.concatenate(firsts), count)

    def _sort_ranges(self) -> Iterator[tuple[int, int]]:
        """Yield the ranges of first bytes whose rows are sorted together."""
        group_sizes = np.diff(np.array(self._bounds), axis=1).sum(axis=0).tolist()
        begin = size = 0
        for first_byte, group_size in enumerate(group_sizes):
            if size and size + group_size > PIECE_ROWS:
                yield begin, first_byte
                begin, size = first_byte, 0
            size += group_size
        yield begin, len(group_sizes)


class _RowFile:
    """A file of rows that has no name."""

    def __init__(self, folders: Sequence[Path | None]) -> None:
        file = _unnamed(folders)
        self._write: Callable[[bytes | memoryview], int] = file.write
        self._number = file.fileno()
        weakref.finalize(self, file.close)

    def write(self, rows: SortedRows) -> None:
        """Append rows."""
        packed = np.empty(len(rows), _ROW)
        packed["high"], packed["low"], packed["code"], packed["place"] = rows.columns
        unwritten = memoryview(packed.tobytes())
        while unwritten:
            unwritten = unwritten[self._write(unwritten) :]

    def read(self, ranges: Sequence[tuple[int, int]]) -> Rows:
        """Return the rows of several ranges, concatenated."""
        size = _ROW.itemsize
        read = partial(os.pread, self._number)
        data = b"".join([read(size * (end - begin), size * begin) for begin, end in ranges])
        if len(data) != size * sum(end - begin for begin, end in ranges):
            raise OSError("a file of the index ends before its rows do")
        return np.frombuffer(data, _ROW)


def _unnamed(folders: Sequence[Path | None]) -> FileIO:
    """Return a temporary file without a name in the first writable folder. Raises `OSError` if none is writable."""
    for folder in folders[:-1]:
        with suppress(OSError):
            return tempfile.TemporaryFile(dir=folder, buffering=0)
    return tempfile.TemporaryFile(dir=folders[-1], buffering=0)


def _columns(rows: Rows) -> SortedRows:
    """Return rows of a file as separate columns."""
    high, low, codes, places = (np.ascontiguousarray(rows[name]) for name in ("high", "low", "code", "place"))
    return SortedRows(high, low, codes, places)


# The index of a table
FAILED = PROVIDER_ERROR
"""The status of a row that failed: any other row with the same key counts before it. A row with another status failed
too if its reply ended with an error (`failed_condition`).
"""
RETRIED_STATUSES = RETRIED_NEXT_RUN
"""The statuses that a later run does not accept as a result."""
_BROKEN = finish_reasons_of(Ending.ERROR)
RESULT_TABLES = (SAMPLES.name, JUDGEMENTS.name, SCORES.name, COMPARISONS.name, TURNS.name)
"""The tables whose rows have a status."""

_ROW_BITS = 32
_BATCH = 65536


def failed_condition(columns: Collection[str]) -> str:
    """Return the SQL condition that a row failed, given the columns of its table.

    >>> failed_condition(["score_id", "status"])
    "(status = 'provider_error')"
    """
    if "status" not in columns:
        return "(false)"
    broken = f" or coalesce(lower(finish_reason) in ({', '.join(map(sql.text, _BROKEN))}), false)"
    return f"(status = {sql.text(FAILED)}{broken if 'finish_reason' in columns else ''})"


def has_failed(row: Mapping[str, Any]) -> bool:
    """Return true if a row failed, as `failed_condition` defines."""
    return row.get("status", OK) == FAILED or ending_of(row.get("finish_reason")) is Ending.ERROR


def winner_order(columns: Collection[str], committed: str = "file_index") -> str:
    """Return the SQL `order by` of rows with the same key, of which the first counts, given the columns of their table.
    Rows that did not fail come first, and among them the one that was committed last. `committed` is the SQL of the
    number of the row's part, in the order of commits.

    >>> winner_order(["item_id"])
    '(false), file_index desc, file_row_number desc'
    """
    return f"{failed_condition(columns)}, {committed} desc, file_row_number desc"


def still_counts(row: Mapping[str, Any] | None, later: Mapping[str, Any]) -> bool:
    """Return true if a row counts although a later one has the same key, as `winner_order` defines; false for None."""
    return row is not None and has_failed(later) and not has_failed(row)


class RowIndex:
    """The index of one table, for rows with some fingerprints or for all.

    Large indexes are kept in a file in `folder`, or among the temporary files if that is not writable, or in memory if
    no disk takes them.
    """

    def __init__(self, table: str, fingerprints: Collection[str] | None, folder: Path | None = None) -> None:
        self.table = get_table(table)
        names = self.table.schema.names
        self._columns = [
            self.table.key[0],
            *(name for name in ("fingerprint", "status", "finish_reason") if name in names),
        ]
        selected = fingerprints if "fingerprint" in names else None
        self._fingerprints = None if selected is None else pa.array(sorted(selected), type=pa.string())
        self._folders = (None,) if folder is None else (folder, None)
        self.statuses: list[str | None] = [None, *RETRIED_STATUSES]
        """The status of each code; `ABSENT` has none."""
        self.parts: list[Path] = []
        """The parts whose rows are in the index, in the order of their commits."""
        self.fingerprints: set[str] = set()
        """The fingerprints of the indexed rows."""
        self._runs: list[SortedRows | DiskRows] = []
        """Sorted runs of rows, those of later commits last."""

    def __len__(self) -> int:
        return sum(map(len, self._runs))

    def load(self, paths: Iterable[Path]) -> None:
        """Add the rows of further parts, in the order of their commits. Raises `StoreError` S0103."""
        first = len(self.parts)
        self.parts += paths
        try:
            run = self._read(first, on_disk=True)
        except OSError:  # the disk; an unreadable part raises `StoreError`
            run = self._read(first, on_disk=False)
        self._add(run)

    def _read(self, first: int, *, on_disk: bool) -> SortedRows | DiskRows:
        """Return the rows of the parts from number `first` on. Raises `OSError` if no disk takes them."""
        rows, writer = GrowingRows(), None
        for chunk in self._chunks(first):
            rows.add(chunk)
            if on_disk and len(rows) >= (LEAST_ROWS if writer is None else PIECE_ROWS):
                writer = writer or RowWriter(self._folders)
                writer.add(rows.take())
        if writer is None:
            return sort_rows(rows.take())
        if len(rows):
            writer.add(rows.take())
        return writer.rows()

    def _chunks(self, first: int) -> Iterator[SortedRows]:
        """Yield the rows of the parts from number `first` on, batch by batch, unsorted."""
        for number, path in enumerate(self.parts[first:], first):
            with open_part(path) as file:
                row = 0
                for batch in file.iter_batches(_BATCH, columns=self._columns, use_threads=False):
                    yield self._chunk(batch, number, row)
                    row += batch.num_rows

    def find(self, packed: bytes) -> IndexedRows:
        """Return the entries of packed names (`pack`)."""
        high, low = halves(packed)
        codes = np.zeros(len(high), np.uint8)
        places = np.zeros(len(high), np.uint64)
        for run in self._runs:
            new = run.find(high, low)
            better = (new.codes != ABSENT) & ((new.codes != FAILED_CODE) | (codes == ABSENT) | (codes == FAILED_CODE))
            codes[better] = new.codes[better]
            places[better] = new.places[better]
        return IndexedRows(codes, places)

    def names_of(self, codes: Codes) -> list[str | None]:
        """Return the statuses for `codes`."""
        statuses = self.statuses
        return [statuses[code] for code in codes.tolist()]

    def place_of(self, place: int) -> tuple[Path, int]:
        """Return the part and the row number of a location."""
        return self.parts[place >> _ROW_BITS], place & (2**_ROW_BITS - 1)

    def _chunk(self, batch: pa.RecordBatch, part: int, first: int) -> SortedRows:
        """Return the rows of a batch, unsorted; `first` is the number of its first row in the part."""
        import pyarrow.compute as pc

        rows = np.arange(first, first + batch.num_rows, dtype=np.uint64)
        if self._fingerprints is not None:
            hits = pc.is_in(batch["fingerprint"], value_set=self._fingerprints)
            rows = rows[hits.to_numpy(zero_copy_only=False)]
            batch = batch.filter(hits)
            self.fingerprints.update(pc.unique(batch["fingerprint"]).to_pylist())
        if "status" in self._columns:
            codes = self._codes(batch["status"])
            if "finish_reason" in batch.schema.names:
                broken = pc.is_in(pc.utf8_lower(batch["finish_reason"]), value_set=pa.array(_BROKEN))
                codes[broken.to_numpy(zero_copy_only=False)] = FAILED_CODE
        else:
            codes = np.full(batch.num_rows, self._code("ok"), np.uint8)
        high, low = halves(pack_column(batch[self._columns[0]]) if batch.num_rows else b"")
        return SortedRows(high, low, codes, rows | np.uint64(part << _ROW_BITS))

    def _codes(self, column: pa.Array[Any]) -> Codes:
        """Return the codes of statuses."""
        encoded = column.dictionary_encode()
        dictionary = np.array([self._code(status) for status in encoded.dictionary.to_pylist()] or [ABSENT], np.uint8)
        codes: Codes = dictionary[encoded.indices.to_numpy(zero_copy_only=False)]
        return codes

    def _code(self, status: str) -> int:
        """Return the code of a status, after adding the status if it is new."""
        if status not in self.statuses:
            self.statuses.append(status)
        return self.statuses.index(status)

    def _add(self, run: SortedRows | DiskRows) -> None:
        """Append a run, merged with earlier ones in memory that are less than twice as long, so that there are few."""
        if not len(run):
            return
        while isinstance(run, SortedRows) and self._runs:
            before = self._runs[-1]
            if not isinstance(before, SortedRows) or len(before) >= 2 * len(run):
                break
            self._runs.pop()
            pairs: Iterable[tuple[Any, Any]] = zip(before.columns, run.columns, strict=True)
            run = sort_rows([np.concatenate((earlier, later)) for earlier, later in pairs])
        self._runs.append(run)


def rows_by_part(index: RowIndex, indexed: IndexedRows) -> dict[Path, list[int]]:
    """Return the row numbers to read, by part, of the names that were found."""
    rows: dict[Path, list[int]] = {}
    for place in indexed.places[indexed.codes != ABSENT].tolist():
        path, row = index.place_of(place)
        rows.setdefault(path, []).append(row)
    return rows


def has_all(indexes: Iterable[RowIndex], packed: bytes) -> bool:
    """Return true if every packed name is in one of the indexes with a status that needs no retry."""
    missing = packed
    for index in indexes:
        codes = index.find(missing).codes
        if bool(((codes > ABSENT) & (codes <= len(RETRIED_STATUSES))).any()):
            return False
        missing = np.frombuffer(missing, dtype=f"V{SIZE}")[codes == ABSENT].tobytes()
        if not missing:
            return True
    return not missing


def rows_by_id(
    table: TableSchema, paths: Iterable[Path], ids: Iterable[str], columns: Sequence[str] | None
) -> dict[str, dict[str, Any]]:
    """Return rows of parts by id, as `Store.rows` does."""
    import pyarrow.compute as pc

    (key,) = table.key
    names = list(columns if columns is not None else table.schema.names)
    for_order = [name for name in ("status", "finish_reason") if name in table.schema.names]
    needed = list(dict.fromkeys([*names, key, *for_order]))
    id_values = pa.array(sorted(set(ids)), type=pa.string())
    rows: dict[str, dict[str, Any]] = {}
    for path in paths:
        with open_part(path) as file:
            hits = pc.is_in(file.read([key])[key], value_set=id_values)
            if not pc.any(hits).as_py():
                continue
            content = file.read(needed).filter(hits)
        for row in conform(table.name, needed, content).to_pylist(maps_as_pydicts="strict"):
            if not still_counts(rows.get(row[key]), row):
                rows[row[key]] = row
    return {name: {column: row[column] for column in names} for name, row in rows.items()}
