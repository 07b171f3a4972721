"""Rows sorted by name in a file of the disk: a lookup reads the blocks that may have its names, and nothing is held but
the first name of each block.

The file has no name, so it is gone with the process, also with one that is killed. It is made as long tables are
sorted: pieces are sorted in memory and written, and then all rows whose names begin alike are taken from every piece,
sorted together and written one after the other.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tripos_warehouse.store.index.names import Halves
from tripos_warehouse.store.index.sorted_rows import ABSENT, IndexedRows, SortedRows, in_order

LEAST_ROWS = 2**20
"""Fewer rows stay in memory, where a name is found in half the time."""
PIECE_ROWS = 2**18
BLOCK = 32
"""The rows of a block."""
NAMES_AT_ONCE = 4096
_BEGINNINGS = 256
"""Rows are told apart by the first byte of their names; of several bytes together they are sorted at once."""
_ROW = np.dtype([("high", "<u8"), ("low", "<u8"), ("code", "u1"), ("place", "<u8")])

Rows = npt.NDArray[np.void]


class DiskRows:
    """Rows sorted by name, a name once, in a file."""

    def __init__(self, file: _RowFile, firsts: Halves, count: int) -> None:
        self._file, self._firsts, self._count = file, firsts, count

    def __len__(self) -> int:
        return self._count

    def find(self, high: Halves, low: Halves) -> IndexedRows:
        """Return what there is of these names."""
        codes, places = np.full(len(high), ABSENT, np.uint8), np.zeros(len(high), np.uint64)
        order = np.argsort(high)
        for start in range(0, len(order), NAMES_AT_ONCE):
            some = order[start : start + NAMES_AT_ONCE]
            rows = self._around(high[some])
            if len(rows):
                found = rows.find(high[some], low[some])
                codes[some], places[some] = found.codes, found.places
        return IndexedRows(codes, places)

    def _around(self, high: Halves) -> SortedRows:
        """Return the rows of the blocks that may have names with these upper halves, which are in order."""
        # Names of one upper half may begin at the end of a block.
        begin = np.maximum(np.searchsorted(self._firsts, high, side="left") - 1, 0)
        end = np.searchsorted(self._firsts, high, side="right")
        blocks = np.arange(0)
        for more in range(int((end - begin).max(initial=0))):
            blocks = np.union1d(blocks, (begin + more)[begin + more < end])
        breaks = np.flatnonzero(np.diff(blocks) > 1) + 1
        starts = blocks[np.concatenate(([0], breaks))] if len(blocks) else blocks
        ends = blocks[np.concatenate((breaks - 1, [len(blocks) - 1]))] + 1 if len(blocks) else blocks
        stretches = zip((starts * BLOCK).tolist(), np.minimum(ends * BLOCK, self._count).tolist(), strict=True)
        return _columns(self._file.read([*stretches]))


class RowWriter:
    """Takes rows in the order of their commits, and returns them sorted. The file lies in the first of the `folders`
    that can be written to. All of it raises `OSError`."""

    def __init__(self, folders: Sequence[Path | None]) -> None:
        self._folders = folders
        self._pieces = _RowFile(folders)
        self._bounds: list[list[int]] = []
        self._count = 0

    def add(self, columns: list[npt.NDArray[Any]]) -> None:
        """Take in a piece, whose columns are taken from there."""
        piece = in_order(columns)
        beginnings = np.arange(1, _BEGINNINGS, dtype=np.uint64) << np.uint64(56)
        bounds = [0, *np.searchsorted(piece.high, beginnings).tolist(), len(piece)]
        self._bounds.append([self._count + each for each in bounds])
        self._pieces.write(piece)
        self._count += len(piece)

    def rows(self) -> DiskRows:
        """Return all rows."""
        file, firsts, count = _RowFile(self._folders), [], 0
        for begin, end in self._together():
            read = self._pieces.read([(bounds[begin], bounds[end]) for bounds in self._bounds])
            rows = in_order(list(_columns(read).columns))
            del read
            file.write(rows)
            firsts.append(rows.high[-count % BLOCK :: BLOCK].copy())
            count += len(rows)
        return DiskRows(file, np.concatenate(firsts), count)

    def _together(self) -> Iterator[tuple[int, int]]:
        """Yield which beginnings are sorted at once."""
        sizes = np.diff(np.array(self._bounds), axis=1).sum(axis=0).tolist()
        begin = size = 0
        for place, more in enumerate(sizes):
            if size and size + more > PIECE_ROWS:
                yield begin, place
                begin, size = place, 0
            size += more
        yield begin, len(sizes)


class _RowFile:
    """A file of rows without a name."""

    def __init__(self, folders: Sequence[Path | None]) -> None:
        file = _unnamed(folders)
        self._write: Callable[[bytes | memoryview], int] = file.write
        self._number = file.fileno()
        weakref.finalize(self, file.close)

    def write(self, rows: SortedRows) -> None:
        """Write rows behind those that are there."""
        packed = np.empty(len(rows), _ROW)
        packed["high"], packed["low"], packed["code"], packed["place"] = rows.columns
        left = memoryview(packed.tobytes())
        while left:
            left = left[self._write(left) :]

    def read(self, stretches: Sequence[tuple[int, int]]) -> Rows:
        """Return the rows of several stretches, one after the other."""
        size = _ROW.itemsize
        read = partial(os.pread, self._number)
        data = b"".join([read(size * (end - begin), size * begin) for begin, end in stretches])
        if len(data) != size * sum(end - begin for begin, end in stretches):
            raise OSError("a file of the index ends before its rows do")
        return np.frombuffer(data, _ROW)


def _unnamed(folders: Sequence[Path | None]) -> FileIO:
    for folder in folders[:-1]:
        with suppress(OSError):
            return tempfile.TemporaryFile(dir=folder, buffering=0)
    return tempfile.TemporaryFile(dir=folders[-1], buffering=0)


def _columns(rows: Rows) -> SortedRows:
    """Return rows of a file, each column for itself."""
    high, low, codes, places = (np.ascontiguousarray(rows[name]) for name in ("high", "low", "code", "place"))
    return SortedRows(high, low, codes, places)
