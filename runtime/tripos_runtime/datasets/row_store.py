"""The rows that were made in this run, outside of memory, and which of them each scenario runs over."""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

from tripos_compiler.source import DataError, dataclass


@dataclass(frozen=True, slots=True)
class Origins:
    """The author of a row (`None`: nobody was asked), at which attempt, counted from 1, and why the earlier ones were
    rejected."""

    written_by: str | None
    attempts: int
    rejections: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class MadeRow:
    """A row, and the place of its slot among all slots of the data set, from 0."""

    place: int
    values: Mapping[str, Any]
    origins: Origins


class RowFile:
    """Rows in a file that is gone with the process; memory holds 16 bytes a row.

    >>> rows = RowFile()
    >>> rows.add(MadeRow(1, {"n": 2}, Origins(None, 1)))
    >>> rows.add(MadeRow(0, {"n": 1}, Origins(None, 1)))
    >>> [row.values for row in rows], len(rows)
    ([{'n': 1}, {'n': 2}], 2)
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  # it lives as long as its rows are looked into
        self._at: dict[int, int] = {}
        self._end = 0

    def __len__(self) -> int:
        return len(self._at)

    def add(self, row: MadeRow) -> None:
        """Take a row, whose place no other has."""
        written = pickle.dumps((row.place, row.values, row.origins), pickle.HIGHEST_PROTOCOL)
        self._file.seek(self._end)
        self._file.write(len(written).to_bytes(8, "big") + written)
        self._at[row.place] = self._end
        self._end += 8 + len(written)

    def __iter__(self) -> Iterator[MadeRow]:
        """The rows in the order of their places."""
        for place in sorted(self._at):
            yield self[place]

    def __contains__(self, place: int) -> bool:
        return place in self._at

    def __getitem__(self, place: int) -> MadeRow:
        """The row of that place. Raises `KeyError` where there is none."""
        self._file.flush()
        at, number = self._at[place], self._file.fileno()
        size = int.from_bytes(os.pread(number, 8, at), "big")
        return MadeRow(*pickle.loads(os.pread(number, size, at + 8)))


@dataclass
class MadeData:
    """The rows of every data set that was made, by its name; the places of the slots that a scenario runs over, by its
    name, where those are not all; and the data sets whose rows were there before the run, so that it makes none."""

    rows: dict[str, RowFile] = field(default_factory=dict)
    chosen: dict[str, frozenset[int]] = field(default_factory=dict)
    frozen: set[str] = field(default_factory=set)

    def of(self, dataset: str, scenario: str | None = None) -> Iterator[MadeRow]:
        """Yield the rows of a data set, or those of them that a scenario runs over. Raises `DataError` where none were
        made yet."""
        chosen = self.chosen.get(scenario) if scenario is not None else None
        if dataset not in self.rows:
            raise DataError(f"the rows of `{dataset}` are yet to be made", "run the benchmark first: `tripos run`")
        made = self.rows[dataset]
        if chosen is None:
            yield from made
            return
        for place in sorted(chosen):
            if place in made:
                yield made[place]
