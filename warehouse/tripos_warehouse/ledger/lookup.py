"""Whole rows by where they lie: opens only the parts, and unpacks only the row groups, that hold one of them."""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby
from pathlib import Path

import pyarrow as pa

from tripos_warehouse.store import TABLES, Row, conform, reading

CACHED_BYTES = 64 * 2**20
"""So much stays unpacked, since rows that are asked for one after the other lie together."""
BLOCK, CACHED_BLOCKS = 64, 32
"""Rows that are asked for one by one are taken from Arrow so many at a time, which costs little more than one, and so
many times that stay."""


class RowLookup:
    """Reads rows of parts by their numbers."""

    def __init__(self) -> None:
        self._ends: dict[Path, list[int]] = {}
        self._groups: OrderedDict[tuple[Path, int], pa.Table] = OrderedDict()
        self._size = 0
        self._blocks: OrderedDict[tuple[Path, int, tuple[str, ...]], list[Row]] = OrderedDict()

    def forget(self) -> None:
        """Let go of what is unpacked."""
        self._ends.clear()
        self._groups.clear()
        self._size = 0
        self._blocks.clear()

    def each(self, table: str, path: Path, numbers: Sequence[int], columns: tuple[str, ...]) -> Iterator[Row]:
        """As `rows`, of few rows whose neighbours are asked for next."""
        for number in sorted(numbers):
            yield self._block(table, path, number // BLOCK, columns)[number % BLOCK]

    def _block(self, table: str, path: Path, block: int, columns: tuple[str, ...]) -> list[Row]:
        key = (path, block, columns)
        if key in self._blocks:
            self._blocks.move_to_end(key)
            return self._blocks[key]
        first = block * BLOCK
        numbers = range(first, min(first + BLOCK, self._ends_of(path)[-1]))
        found = self._blocks[key] = list(self.rows(table, path, numbers, columns))
        if len(self._blocks) > CACHED_BLOCKS:
            self._blocks.popitem(last=False)
        return found

    def rows(
        self, table: str, path: Path, numbers: Sequence[int], columns: Sequence[str] | None = None
    ) -> Iterator[Row]:
        """Yield the rows of a part with these numbers, or some columns of them, lowest first. Raises `StoreError`
        S0103."""
        ends = self._ends_of(path)
        for group, among in groupby(sorted(numbers), key=lambda number: bisect_right(ends, number)):
            start = ends[group - 1] if group else 0
            content = self._group(table, path, group)
            content = content if columns is None else content.select(columns)
            yield from content.take([number - start for number in among]).to_pylist(maps_as_pydicts="strict")

    def _ends_of(self, path: Path) -> list[int]:
        if path not in self._ends:
            with reading(path) as file:
                sizes = (file.metadata.row_group(group).num_rows for group in range(file.num_row_groups))
                self._ends[path] = list(accumulate(sizes))
        return self._ends[path]

    def _group(self, table: str, path: Path, group: int) -> pa.Table:
        key = (path, group)
        if (content := self._groups.get(key)) is not None:
            self._groups.move_to_end(key)
            return content
        with reading(path) as file:
            content = conform(table, TABLES[table].schema.names, file.read_row_group(group))
        self._groups[key] = content
        self._size += content.nbytes
        while self._size > CACHED_BYTES and len(self._groups) > 1:
            self._size -= self._groups.popitem(last=False)[1].nbytes
        return content
