"""The index of a table: which of its rows are there, by their names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tripos_compiler.plan import OK, PROVIDER_ERROR, RETRIED_NEXT_RUN, Ending, ending_of, words_of
from tripos_warehouse import sql
from tripos_warehouse.store.index.disk_rows import LEAST_ROWS, PIECE_ROWS, DiskRows, RowWriter
from tripos_warehouse.store.index.names import SIZE, halves, pack_column
from tripos_warehouse.store.index.sorted_rows import (
    ABSENT,
    FAILED_CODE,
    Codes,
    GrowingRows,
    IndexedRows,
    SortedRows,
    in_order,
)
from tripos_warehouse.store.parts import conform, reading
from tripos_warehouse.store.rows import get_table
from tripos_warehouse.store.schemas import COMPARISONS, JUDGEMENTS, SAMPLES, SCORES, TURNS
from tripos_warehouse.store.table_schema import TableSchema

FAILED = PROVIDER_ERROR
"""The status of a unit that may be tried again: any other row of the same key counts before it. A row that was kept
with another status has it too if its reply broke off (`is_failed`)."""
AGAIN = RETRIED_NEXT_RUN
"""The statuses that a later run does not take as an answer."""
_BROKEN = words_of(Ending.ERROR)
RESULTS = (SAMPLES.name, JUDGEMENTS.name, SCORES.name, COMPARISONS.name, TURNS.name)
"""The tables whose rows have a status."""

_ROW_BITS = 32
_BATCH = 65536


def is_failed(columns: Collection[str]) -> str:
    """Return the condition of SQL that a row failed, given the columns of its table.

    >>> is_failed(["score_id", "status"])
    "(status = 'provider_error')"
    """
    if "status" not in columns:
        return "(false)"
    broken = f" or coalesce(lower(finish_reason) in ({', '.join(map(sql.text, _BROKEN))}), false)"
    return f"(status = {sql.text(FAILED)}{broken if 'finish_reason' in columns else ''})"


def has_failed(row: Mapping[str, Any]) -> bool:
    """Return true if a row failed, as `is_failed` says."""
    return row.get("status", OK) == FAILED or ending_of(row.get("finish_reason")) is Ending.ERROR


class RowIndex:
    """The rows of one table, of some fingerprints or of all. Where they are many they lie in a file in `folder`, or
    among the temporary files if that cannot be written to; where no disk takes them they are in memory."""

    def __init__(self, table: str, fingerprints: Collection[str] | None, folder: Path | None = None) -> None:
        self.table = get_table(table)
        names = self.table.schema.names
        self._columns = [
            self.table.key[0],
            *(name for name in ("fingerprint", "status", "finish_reason") if name in names),
        ]
        wanted = fingerprints if "fingerprint" in names else None
        self._wanted = None if wanted is None else pa.array(sorted(wanted), type=pa.string())
        self._folders = (None,) if folder is None else (folder, None)
        self.statuses: list[str | None] = [None, *AGAIN]
        self.parts: list[Path] = []
        self.fingerprints: set[str] = set()
        """Those of the rows that it has."""
        self._runs: list[SortedRows | DiskRows] = []

    def __len__(self) -> int:
        return sum(map(len, self._runs))

    def load(self, paths: Iterable[Path]) -> None:
        """Take in the rows of further parts, those that were committed first first. Raises `StoreError` S0103."""
        first = len(self.parts)
        self.parts += paths
        try:
            run = self._read(first, on_disk=True)
        except OSError:  # a part that cannot be read is a `StoreError`
            run = self._read(first, on_disk=False)
        self._add(run)

    def _read(self, first: int, *, on_disk: bool) -> SortedRows | DiskRows:
        """Return the rows of the parts from a place on. Raises `OSError` where no disk takes them."""
        rows, writer = GrowingRows(), None
        for chunk in self._chunks(first):
            rows.add(chunk)
            if on_disk and len(rows) >= (LEAST_ROWS if writer is None else PIECE_ROWS):
                writer = writer or RowWriter(self._folders)
                writer.add(rows.taken())
        if writer is None:
            return in_order(rows.taken())
        if len(rows):
            writer.add(rows.taken())
        return writer.rows()

    def _chunks(self, first: int) -> Iterator[SortedRows]:
        for number, path in enumerate(self.parts[first:], first):
            with reading(path) as file:
                row = 0
                for batch in file.iter_batches(_BATCH, columns=self._columns, use_threads=False):
                    yield self._chunk(batch, number, row)
                    row += batch.num_rows

    def find(self, packed: bytes) -> IndexedRows:
        """Return what there is of the packed names (`names.pack`)."""
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
        """Return the statuses that `codes` stand for."""
        statuses = self.statuses
        return [statuses[code] for code in codes.tolist()]

    def place_of(self, place: int) -> tuple[Path, int]:
        """Return the part that a place is in, and the row there."""
        return self.parts[place >> _ROW_BITS], place & (2**_ROW_BITS - 1)

    def _chunk(self, batch: pa.RecordBatch, part: int, first: int) -> SortedRows:
        import pyarrow.compute as pc

        rows = np.arange(first, first + batch.num_rows, dtype=np.uint64)
        if self._wanted is not None:
            hits = pc.is_in(batch["fingerprint"], value_set=self._wanted)
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
        told = column.dictionary_encode()
        codes = np.array([self._code(status) for status in told.dictionary.to_pylist()] or [ABSENT], np.uint8)
        taken: Codes = codes[told.indices.to_numpy(zero_copy_only=False)]
        return taken

    def _code(self, status: str) -> int:
        if status not in self.statuses:
            self.statuses.append(status)
        return self.statuses.index(status)

    def _add(self, run: SortedRows | DiskRows) -> None:
        if not len(run):
            return
        while isinstance(run, SortedRows) and self._runs:
            before = self._runs[-1]
            if not isinstance(before, SortedRows) or len(before) >= 2 * len(run):
                break
            self._runs.pop()
            both: Iterable[tuple[Any, Any]] = zip(before.columns, run.columns, strict=True)
            run = in_order([np.concatenate((one, other)) for one, other in both])
        self._runs.append(run)


def rows_by_part(index: RowIndex, found: IndexedRows) -> dict[Path, list[int]]:
    """Return the rows to read, by part, of the names that the index has."""
    rows: dict[Path, list[int]] = {}
    for place in found.places[found.codes != ABSENT].tolist():
        path, row = index.place_of(place)
        rows.setdefault(path, []).append(row)
    return rows


def has_all(indexes: Iterable[RowIndex], packed: bytes) -> bool:
    """Return true if every one of the packed names is in one of the indexes, with a status that needs no further
    try."""
    left = packed
    for index in indexes:
        codes = index.find(left).codes
        if bool(((codes > ABSENT) & (codes <= len(AGAIN))).any()):
            return False
        left = np.frombuffer(left, dtype=f"V{SIZE}")[codes == ABSENT].tobytes()
        if not left:
            return True
    return not left


def rows_by_id(
    table: TableSchema, paths: Iterable[Path], ids: Iterable[str], columns: Sequence[str] | None
) -> dict[str, dict[str, Any]]:
    """Return whole rows of parts by their id, as `Store.rows` does."""
    import pyarrow.compute as pc

    (key,) = table.key
    names = list(columns if columns is not None else table.schema.names)
    deciding = [name for name in ("status", "finish_reason") if name in table.schema.names]
    needed = list(dict.fromkeys([*names, key, *deciding]))
    wanted = pa.array(sorted(set(ids)), type=pa.string())
    failed: dict[str, dict[str, Any]] = {}
    answered: dict[str, dict[str, Any]] = {}
    for path in paths:
        with reading(path) as file:
            hits = pc.is_in(file.read([key])[key], value_set=wanted)
            if not pc.any(hits).as_py():
                continue
            content = file.read(needed).filter(hits)
        for row in conform(table.name, needed, content).to_pylist(maps_as_pydicts="strict"):
            into = failed if has_failed(row) else answered
            into[row[key]] = {name: row[name] for name in names}
    return failed | answered
