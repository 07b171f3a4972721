"""The values of files that are copies of a secret: sources are contents, and not names.

Two rows are the same row where what identifies one stands in the other. A column, or a part of a record, is a copy of a
secret where it holds the secret's value in every such row, and that is no chance.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import orjson

from tripos_runtime.worlds.tables import DataFiles, Key
from tripos_runtime.worlds.values import canonical_text

Path = tuple[str, ...]
"""A value of a record: its column, and the names below it."""
Row = tuple[Key, int]
"""A row of a file, by its number from 1."""
Place = tuple[Key, int, Path]
LONG = 12
"""A text of so many characters stands in two files for a reason."""
SHARED = 0.5
"""The share of the rows of one of two files that must stand in the other, for their columns to be compared."""
BITS = 6.0
"""So unlikely, in bits, must it be that a column agrees with a secret by chance."""


@dataclass(frozen=True)
class Copies:
    """The copies of the secrets of a plan's files, and the rows that are the same row."""

    tables: DataFiles

    @cached_property
    def leaves(self) -> Mapping[Key, list[dict[Path, str]]]:
        """Every value of every record of every file that some data set reads, as a text."""
        found: dict[Key, list[dict[Path, str]]] = {}
        for key, table in self.tables.every.items():
            seen = self.tables.seen[key]
            records = ({name: value for name, value in each.items() if name in seen} for each in table.records)
            found[key] = [{path: canonical_text(value) for path, value in leaves_of(each)} for each in records]
        return found

    def same(self, row: Row) -> list[Row]:
        """Return the rows of other files that seem to be the same row."""
        group = self._group_of[row[0]]
        if group not in self._same:
            self._same[group] = self._aligned(group)
        return self._same[group].get(row, [])

    def twins(self, row: Row) -> list[Row]:
        """Return the rows of other files that are the same row for certain: what identifies both is long."""
        return [other for other in self.same(row) if (row, other) in self._certain]

    @cached_property
    def _same(self) -> dict[tuple[Key, ...], Mapping[Row, list[Row]]]:
        return {}

    @cached_property
    def _certain(self) -> set[tuple[Row, Row]]:
        return set()

    @cached_property
    def of(self) -> Mapping[Row, Mapping[str, list[Place]]]:
        """The copies of every secret, by its row and column."""
        found: dict[Row, dict[str, list[Place]]] = {}
        for keys in self._groups:
            own = [(key, number) for key in keys for number in range(1, len(self.leaves[key]) + 1)]
            pairs: dict[tuple[Key, ...], list[tuple[Row, Row]]] = defaultdict(list)
            pairs[()] = [(row, row) for row in own]
            for row in own:
                for other in self.same(row):
                    pairs[self._group_of[other[0]]].append((row, other))
            columns = dict.fromkeys(each.column for key in keys for each in self.tables.secrets.get(key, ()))
            for column in columns:
                for group, some in pairs.items():
                    for path in self._copied(column, some, own=not group):
                        for row, other in some:
                            if path in self._at(other) and (column,) in self._at(row):
                                found.setdefault(row, {}).setdefault(column, []).append((*other, path))
        return found

    @cached_property
    def _groups(self) -> tuple[tuple[Key, ...], ...]:
        """The files that are read together, as parts of the same data sets."""
        readers: dict[Key, list[str]] = {key: [] for key in self.tables.every}
        for dataset in self.tables.plan.datasets:
            for key in self.tables.keys(dataset.name):
                readers[key].append(dataset.name)
        together: dict[tuple[str, ...], list[Key]] = defaultdict(list)
        for key, names in readers.items():
            together[tuple(names)].append(key)
        return tuple(tuple(keys) for keys in together.values())

    @cached_property
    def _group_of(self) -> Mapping[Key, tuple[Key, ...]]:
        return {key: keys for keys in self._groups for key in keys}

    def _at(self, row: Row) -> dict[Path, str]:
        return self.leaves[row[0]][row[1] - 1]

    def _copied(self, column: str, pairs: list[tuple[Row, Row]], own: bool) -> Iterator[Path]:
        """Yield the values of other rows, by their place in the record, that agree with a secret wherever both are
        there. `own`: they are the same rows."""
        candidates = {path for _, other in pairs[:50] for path in self._at(other)}
        for candidate in sorted(candidates):
            if own and (candidate[0] == column or candidate[0] in self._told(pairs)):
                continue
            values: list[str] = []
            for row, other in pairs:
                mine, its = self._at(row).get((column,)), self._at(other).get(candidate)
                if mine is None or its is None:
                    continue
                if mine != its:
                    break
                values.append(mine)
            else:
                if unlikely(values) >= BITS:
                    yield candidate

    def _told(self, pairs: list[tuple[Row, Row]]) -> set[str]:
        """Return the columns that are public beside the secrets of these rows."""
        return set().union(*(self.tables.told.get(key, frozenset()) for key in {row[0] for row, _ in pairs}))

    def _aligned(self, group: tuple[Key, ...]) -> dict[Row, list[Row]]:
        """For the rows of files that are read together, the rows of others in which what identifies them stands."""
        identifying = self._identifying(group)
        telling = {path for each in identifying.values() for path, _ in each}
        own = [(key, number) for key in group for number in range(1, len(self.leaves[key]) + 1)]
        found: dict[Row, list[Row]] = defaultdict(list)
        for others in self._groups:
            if others == group:
                continue
            rows = [(key, number) for key in others for number in range(1, len(self.leaves[key]) + 1)]
            hits: dict[tuple[Path, Path], dict[Row, Row]] = defaultdict(dict)
            for other in rows:
                for path, text in self._at(other).items():
                    for own_path, row in identifying.get(text, ()):
                        hits[own_path, path][other] = row
            good = [(path, each) for (path, _), each in hits.items() if self._is_good(path, each, len(own), len(rows))]
            mine = ((self._row_of(other, good, telling), other) for other in rows)
            known = [(row, other) for row, other in mine if row is not None]
            if len(known) >= SHARED * min(len(own), len(rows)):  # fewer are questions here and there that stand in both
                for row, other in known:
                    found[row].append(other)
            if len(own) == len(rows) and not known:
                for row, other in zip(own, rows, strict=True):  # only what agrees throughout is a copy then
                    found[row].append(other)
        return found

    def _is_good(self, path: Path, hits: Mapping[Row, Row], own: int, others: int) -> bool:
        """Return true if it is no chance that values of a column stand in these other rows."""
        lengths = [len(self._at(row)[path]) for row in hits.values()]
        return sum(lengths) >= LONG * len(lengths) or len(hits) >= SHARED * min(own, others)

    def _row_of(self, other: Row, good: list[tuple[Path, dict[Row, Row]]], telling: set[Path]) -> Row | None:
        """Return the row that another one is, if it is one."""
        agreeing = [(path, rows[other]) for path, rows in good if other in rows]
        known = {row for _, row in agreeing}
        if len(known) != 1:
            return None
        row = known.pop()
        mine, theirs = self._at(row), self._at(other)
        alike = sum(map(len, {mine[path] for path, _ in agreeing}))
        shared = (path for path in telling if path in mine and path in theirs)
        if alike < sum(len(mine[path]) for path in shared if mine[path] != theirs[path]):
            return None  # another question, from the same page of the same book
        if alike >= LONG:
            self._certain.add((row, other))
        return row

    def _identifying(self, group: tuple[Key, ...]) -> dict[str, list[tuple[Path, Row]]]:
        """Return the texts that stand in one row only of a column whose rows mostly differ: in which column, and which
        row. Secrets are none of them."""
        columns: dict[Path, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
        count = 0
        for key in group:
            secret = {each.column for each in self.tables.secrets.get(key, ())}
            for number, record in enumerate(self.leaves[key], 1):
                count += 1
                for path, text in record.items():
                    if text and path[0] not in secret:
                        columns[path][text].append((key, number))
        found: dict[str, list[tuple[Path, Row]]] = defaultdict(list)
        for path, texts in columns.items():
            if len(texts) >= max(2, 0.5 * count):
                for text, rows in texts.items():
                    if len(rows) == 1:
                        found[text].append((path, rows[0]))
        return found


def leaves_of(record: Mapping[str, Any], above: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield the values of a record: those of its columns, and of records in them, also where those are written as
    JSON."""
    for name, value in record.items():
        path = (*above, name)
        yield path, value
        inner = value
        if isinstance(value, str) and value.lstrip()[:1] == "{":
            try:
                inner = orjson.loads(value)
            except ValueError:
                continue
        if isinstance(inner, Mapping):
            yield from leaves_of(inner, path)


def with_leaf(record: dict[str, Any], path: Path, value: Any) -> dict[str, Any]:
    """Return a record with another value at a path; what was written as JSON is again, and a list of one is one of one.

    >>> with_leaf({"a": '{"b":1}'}, ("a", "b"), 2)
    {'a': '{"b":2}'}
    """
    name, *below = path
    old = record.get(name)
    if not below:
        return {**record, name: [value] if isinstance(old, list) and not isinstance(value, list) else value}
    if isinstance(old, str):
        return {**record, name: orjson.dumps(with_leaf(orjson.loads(old), tuple(below), value)).decode()}
    return {**record, name: with_leaf(dict(old or {}), tuple(below), value)}


def unlikely(values: list[str]) -> float:
    """Return how unlikely it is, in bits, that another column has the same values by chance: a long text tells much,
    one of two little.

    >>> unlikely(["yes", "no", "yes"]), unlikely(["the whole answer", "another answer"]) > 6
    (3.0, True)
    """
    kinds = set(values)
    if len(kinds) < 2:
        return 0.0
    plain = math.log2(len(kinds))
    return sum(max(plain, 8.0) if len(each) >= LONG else plain for each in values)
