"""Replies by what was sent for them, whatever step they were made for: an index of 16 bytes a reply."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tripos_compiler.plan import Ending, words_of
from tripos_warehouse.ledger.lookup import RowLookup
from tripos_warehouse.store import (
    AGAIN,
    DRAFTS,
    REQUEST,
    TURNS,
    Halves,
    Row,
    RowIndex,
    get_table,
    halves,
    pack,
    pack_column,
    reading,
    rows_by_part,
)

Places = npt.NDArray[np.uint64]
Paths = Callable[[str], Iterable[Path]]
"""The parts of a table, those that were committed first first."""
OF_NAME = frozenset(
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
"""The columns of a row that say for what its reply was asked, and are not looked at: they are those of the new name."""
_ROW_BITS = 32
_BATCH = 65536
_AGAIN = pa.array(AGAIN, type=pa.string())
_BROKEN = pa.array(words_of(Ending.ERROR), type=pa.string())


class Draws:
    """The replies in the parts of a store; `paths` are those that are there when a table is first asked about."""

    def __init__(self, paths: Paths, lookup: RowLookup) -> None:
        self._paths, self._lookup = paths, lookup
        self._sent: dict[str, _Sent] = {}
        self._drafts: RowIndex | None = None

    def models(self, table: str) -> Collection[str]:
        """Return who gave the replies of a table."""
        return self._of(table).models

    def find(self, table: str, request: str) -> list[tuple[Row, Row | None]]:
        """Return what is known of the replies of a table that were sent for the request of that digest, each with the
        unreadable first reply before it, if there was one. Raises `StoreError` S0103 where a part cannot be read."""
        return [(row, draft) for row, draft, _ in self.located(table, request)]

    def located(self, table: str, request: str) -> list[tuple[Row, Row | None, Path]]:
        """As `find`, each with the part that the row is in."""
        (key,) = get_table(table).key
        found: dict[str, tuple[Row, Path]] = {}
        for path, numbers in self._of(table).find(request).items():
            for row in self._lookup.each(table, path, numbers, self._of(table).columns):
                if row[REQUEST] == request:
                    found[row[key]] = row, path
        if not found or table == TURNS.name:
            return [(row, None, path) for row, path in found.values()]
        if self._drafts is None:
            self._drafts = RowIndex(DRAFTS.name, None)
            self._drafts.load(self._paths(DRAFTS.name))
        if not len(self._drafts):
            return [(row, None, path) for row, path in found.values()]
        # With a reply of another store its draft was kept, under the new name.
        origins = {name: (not row["reused_from"] and row["adopted_from"]) or name for name, (row, _) in found.items()}
        drafts = rows_of(self._drafts, list(origins.values()), self._lookup)
        return [(row, drafts.get(origins[name]), path) for name, (row, path) in found.items()]

    def load(self, paths: Paths) -> None:
        """Take in further parts."""
        for table, sent in self._sent.items():
            sent.load(paths(table))
        if self._drafts is not None:
            self._drafts.load(paths(DRAFTS.name))

    def forget(self) -> None:
        """Let go of everything, since all lies elsewhere."""
        self._sent.clear()
        self._drafts = None

    def _of(self, table: str) -> _Sent:
        if table not in self._sent:
            sent = self._sent[table] = _Sent(table)
            sent.load(self._paths(table))
        return self._sent[table]


class _Sent:
    """The replies of one table, by the upper half of the digests of their requests. Those that a later run would ask
    for again are none."""

    def __init__(self, table: str) -> None:
        names = get_table(table).schema.names
        self._model = "model" if "model" in names else "evaluator"
        self.columns = tuple(name for name in names if name not in OF_NAME)
        self.models: set[str] = set()
        self._parts: list[Path] = []
        self._runs: list[tuple[Halves, Places]] = []

    def load(self, paths: Iterable[Path]) -> None:
        chunks: list[tuple[Halves, Places]] = []
        for path in paths:
            import pyarrow.compute as pc  # which a run that has nothing yet does without

            number = len(self._parts)
            self._parts.append(path)
            with reading(path) as file:
                if REQUEST not in file.schema_arrow.names:
                    continue  # of an earlier version of the schema
                row = 0
                columns = [REQUEST, self._model, "status", "finish_reason"]
                for batch in file.iter_batches(_BATCH, columns=columns, use_threads=False):
                    rows = np.arange(row, row + batch.num_rows, dtype=np.uint64)
                    row += batch.num_rows
                    failed = pc.is_in(batch["status"], value_set=_AGAIN)
                    if "finish_reason" in batch.schema.names:
                        failed = pc.or_(failed, pc.is_in(pc.utf8_lower(batch["finish_reason"]), value_set=_BROKEN))
                    hits = pc.and_(pc.is_valid(batch[REQUEST]), pc.invert(failed))
                    sent = batch.filter(hits)
                    if sent.num_rows:
                        self.models.update(pc.unique(sent[self._model]).to_pylist())
                        rows = rows[hits.to_numpy(zero_copy_only=False)] | np.uint64(number << _ROW_BITS)
                        chunks.append((halves(pack_column(sent[REQUEST]))[0], rows))
        if chunks:
            run = _sorted(chunks)
            while self._runs and len(self._runs[-1][0]) < 2 * len(run[0]):
                run = _sorted([self._runs.pop(), run])
            self._runs.append(run)

    def find(self, request: str) -> dict[Path, list[int]]:
        """Return the rows, by part, of what may be replies to a request."""
        wanted = np.uint64(int(request[:16], 16))
        found: dict[Path, list[int]] = {}
        for high, places in self._runs:
            start = int(np.searchsorted(high, wanted))
            if start == len(high) or high[start] != wanted:
                continue
            end = int(np.searchsorted(high, wanted, side="right"))
            for place in places[start:end].tolist():
                found.setdefault(self._parts[place >> _ROW_BITS], []).append(place & (2**_ROW_BITS - 1))
        return found


def rows_of(index: RowIndex, names: list[str], lookup: RowLookup) -> dict[str, Row]:
    """Return the rows of these names that an index has."""
    return {name: row for name, (row, _) in located_rows(index, names, lookup).items()}


def located_rows(index: RowIndex, names: list[str], lookup: RowLookup) -> dict[str, tuple[Row, Path]]:
    """As `rows_of`, each with the part that the row is in."""
    table = index.table
    (key,) = table.key
    found: dict[str, tuple[Row, Path]] = {}
    for path, numbers in rows_by_part(index, index.find(pack(names))).items():
        for row in lookup.rows(table.name, path, numbers):
            found[row[key]] = row, path
    return found


def _sorted(chunks: list[tuple[Halves, Places]]) -> tuple[Halves, Places]:
    high = np.concatenate([chunk[0] for chunk in chunks])
    places = np.concatenate([chunk[1] for chunk in chunks])
    order = np.argsort(high, kind="stable")
    return high[order], places[order]
