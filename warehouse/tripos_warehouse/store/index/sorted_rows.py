"""Rows sorted by name, and how a name is found among them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tripos_compiler.source import dataclass
from tripos_warehouse.store.index.names import Halves

Codes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.uint64]
ABSENT = 0
"""The code of a name that the index has not; the statuses themselves have the codes that follow."""
FAILED_CODE = 1
"""The code of a unit that may be tried again."""


@dataclass(frozen=True)
class IndexedRows:
    """The index entries of some names, in their order: the codes of the statuses, and where the rows lie."""

    codes: Codes
    places: Places


@dataclass(frozen=True)
class SortedRows:
    """Rows sorted by name, a name once. `places` are the number of the part, then 32 bits of the row in it."""

    high: Halves
    low: Halves
    codes: Codes
    places: Places

    def __len__(self) -> int:
        return len(self.high)

    @property
    def columns(self) -> tuple[Halves, Halves, Codes, Places]:
        """The four of them."""
        return self.high, self.low, self.codes, self.places

    def find(self, high: Halves, low: Halves) -> IndexedRows:
        """Return what there is of these names."""
        codes, places = np.full(len(high), ABSENT, np.uint8), np.zeros(len(high), np.uint64)
        at = _search(self, high, low)
        there = at >= 0
        codes[there], places[there] = self.codes[at[there]], self.places[at[there]]
        return IndexedRows(codes, places)


class GrowingRows:
    """Rows as they are read, in arrays that grow: many small ones would leave as much memory behind as they took."""

    def __init__(self) -> None:
        self._columns: list[npt.NDArray[Any]] = [
            np.empty(0, each) for each in (np.uint64, np.uint64, np.uint8, np.uint64)
        ]
        self._count = 0

    def add(self, rows: SortedRows) -> None:
        """Take in further rows."""
        end = self._count + len(rows)
        for place, more in enumerate(rows.columns):
            column = self._columns[place]
            if end > len(column):
                column = np.empty(max(end, 2 * len(column)), column.dtype)
                column[: self._count] = self._columns[place][: self._count]
                self._columns[place] = column
            column[self._count : end] = more
        self._count = end

    def __len__(self) -> int:
        return self._count

    def taken(self) -> list[npt.NDArray[Any]]:
        """Return the columns, which are here no longer."""
        columns = [column[: self._count] for column in self._columns]
        self._columns = [np.empty(0, column.dtype) for column in columns]
        self._count = 0
        return columns


def _search(run: SortedRows, high: Halves, low: Halves) -> npt.NDArray[np.int64]:
    """Return where each name is in a run; -1 where it is not."""
    at = np.searchsorted(run.high, high)
    at[at == len(run)] = 0
    there = (run.high[at] == high) & (run.low[at] == low)
    # Names that have the upper half of another one lie behind it.
    for each in np.flatnonzero(~there & (run.high[at] == high)).tolist():
        end = int(np.searchsorted(run.high, high[each], side="right"))
        spot = int(at[each]) + int(np.searchsorted(run.low[at[each] : end], low[each]))
        if spot < end and run.low[spot] == low[each]:
            at[each], there[each] = spot, True
    found: npt.NDArray[np.int64] = np.where(there, at, -1)
    return found


def in_order(columns: list[npt.NDArray[Any]]) -> SortedRows:
    """Return the rows of `columns`, which are taken from there, as one run: later ones were committed later, and of
    equal names the last that did not fail stays."""
    order = np.argsort(columns[0], kind="stable")
    high, low, codes, places = (_taken(columns, order) for _ in range(4))
    if bool((high[1:] == high[:-1]).any()):
        # The order by the upper half stays; below it by the lower one, and failures before the rest.
        below = np.lexsort((codes != FAILED_CODE, low, high))
        low, codes, places = low[below], codes[below], places[below]
        last = np.ones(len(order), bool)
        last[:-1] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
        high, low, codes, places = high[last], low[last], codes[last], places[last]
    return SortedRows(high, low, codes, places)


def _taken(columns: list[npt.NDArray[Any]], order: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """Return the first column in an order, and let go of it: of ten million rows each takes 80 MB."""
    column = columns.pop(0)
    return column[order]
