"""Columns of joined files in another world: a row with another key has those of another row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from tripos_compiler.plan import Dataset, Join
from tripos_runtime.datasets import dataset_files, key_text
from tripos_runtime.worlds.layouts import Placement
from tripos_runtime.worlds.tables import DataFiles, Key, Records

Record = dict[str, Any]
JoinKey = tuple[str | None, ...]


@dataclass(frozen=True)
class JoinedRows:
    """The rows of the files that are joined to those of a plan, as far as a row of these has them."""

    tables: DataFiles

    def joined(self, key: Key, number: int, record: Record) -> Record:
        """Return a record that was changed with the columns of the rows that its keys find now. Where they find none,
        columns that may be missing are; others stay as they were, since every row of a benchmark has them."""
        before = self.tables[key].records[number - 1]
        dataset = self._datasets.get(key)
        if dataset is None:
            return record
        for place, join in enumerate(dataset.joins):
            names = _names(join)
            now = _key(record, names)
            if now == _key(before, names):
                continue
            found = self._found[dataset.name, place].get(now)
            for column in self._added(key, number, join, names):
                if found is not None:
                    record = {**record, column: found.get(column)}
                elif column in self._optional[dataset.name]:
                    record = {**record, column: None}
        return record

    def moved(self, records: Records, placement: Placement) -> Records:
        """Return the records of a world with the columns of joined files whose rows lie in other files there."""
        found: dict[Key, dict[int, Record]] = {key: dict(rows) for key, rows in records.items()}
        for key, dataset in self._datasets.items():
            for join in dataset.joins:
                moved = any(file.sha256 in placement.files for file in join.files)
                if not moved or any(file.sha256 not in self._by_digest for file in join.files):
                    continue
                there = self._there(join, placement, records)
                for number, before in enumerate(self.tables[key].records, 1):
                    record = found.get(key, {}).get(number, before)
                    now = there.get(key_text(record.get(join.column)))
                    for column in self._added(key, number, join, _names(join)):
                        if now is not None:
                            record = {**record, column: now.get(column)}
                        elif column in self._optional[dataset.name]:
                            record = {**record, column: None}
                    if record is not before:
                        found.setdefault(key, {})[number] = record
        return found

    def _there(self, join: Join, placement: Placement, records: Records) -> Mapping[str | None, Record]:
        """Return the rows of the files of a join in another world, by what they are found by."""
        found: dict[str | None, Record] = {}
        for file in join.files:
            placed = placement.files.get(file.sha256)
            for each, number in self.tables.rows(self._by_digest[file.sha256]) if placed is None else placed:
                record = records.get(each, {}).get(number) or self.tables[each].records[number - 1]
                found[key_text(record.get(join.other))] = record
        return found

    @cached_property
    def _by_digest(self) -> Mapping[str, Key]:
        """The files that a data set reads, by their SHA-256."""
        return {key[1]: key for key in self.tables.every}

    def _added(self, key: Key, number: int, join: Join, names: tuple[str, ...]) -> Iterator[str]:
        """Yield the columns that a row has of a join, and not by itself; what is secret is changed anyway."""
        secret = {each.column for each in self.tables.secrets.get(key, ())}
        own = self._own[key][number - 1]
        yield from (each for each in join.columns if each not in secret and each not in names and own.get(each) is None)

    @cached_property
    def _datasets(self) -> Mapping[Key, Dataset]:
        return {
            key: dataset for dataset in self.tables.plan.datasets if dataset.joins
            for key in self.tables.keys(dataset.name)
        }  # fmt: skip

    @cached_property
    def _own(self) -> Mapping[Key, list[Record]]:
        """The records of the files of data sets with joins, without what is joined to them."""
        found: dict[Key, list[Record]] = {}
        for dataset in {each.name: each for each in self._datasets.values()}.values():
            for file in dataset_files(self.tables.reader, dataset, self.tables.spec_files):
                alone = replace(file, joined=())
                found[self.tables.key(dataset, file)] = list(self.tables.reader.rows(alone))
        return found

    @cached_property
    def _found(self) -> Mapping[tuple[str, int], Mapping[JoinKey, Record]]:
        """For a join of a data set, by its key a record that has what is joined by it."""
        found: dict[tuple[str, int], dict[JoinKey, Record]] = {}
        for dataset in {each.name: each for each in self._datasets.values()}.values():
            for place, join in enumerate(dataset.joins):
                records = (each for key in self.tables.keys(dataset.name) for each in self.tables[key].records)
                rows = found[dataset.name, place] = {}
                for each in records:
                    rows.setdefault(_key(each, _names(join)), each)
        return found

    @cached_property
    def _optional(self) -> Mapping[str, frozenset[str]]:
        """The columns of every data set that a row may lack."""
        found: dict[str, frozenset[str]] = {}
        for dataset in self._datasets.values():
            needed = {name for each in dataset.fields if each.type.kind != "optional" for name in each.columns}
            found[dataset.name] = frozenset(name for each in dataset.fields for name in each.columns) - needed
        return found


def _names(join: Join) -> tuple[str, ...]:
    """Return the columns of a row by which its row in a joined file is found."""
    captured = {name for file in join.files for name in file.captures}
    return (join.column, *sorted(captured - {join.column, join.other}))


def _key(record: Mapping[str, Any], names: tuple[str, ...]) -> JoinKey:
    return tuple(key_text(record.get(name)) for name in names)
