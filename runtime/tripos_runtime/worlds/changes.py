"""Changes of another world: new values for secrets, with their copies; everything public stays."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tripos_compiler.plan import Axis
from tripos_runtime.worlds.copies import Copies, Place, Row, with_leaf
from tripos_runtime.worlds.joins import JoinedRows
from tripos_runtime.worlds.layouts import FileLayouts
from tripos_runtime.worlds.seen_requests import Made
from tripos_runtime.worlds.tables import Cell, DataFiles, Key, Records, SecretColumn
from tripos_runtime.worlds.values import Kind, beside, canonical_text, fresh, permuted

MOST_ALIKE = 200
"""The number of values of a column that are drawn from."""
SPARED = 0.3
"""So often a secret stays as it is where others of its row change."""
OWN = 0.35
"""So often a text is drawn from the texts of its own row."""
MOST_WORDS = 20
"""The number of words of a text that are drawn from."""


@dataclass(frozen=True)
class SecretChange:
    """The secrets that are other, and in which way: all, or those of `cells` and, of rows that roles make, of `made`.
    With `fields`, only fields of these names."""

    kind: Kind
    seed: int
    cells: frozenset[Cell] | None = None
    made: frozenset[Made] | None = None
    fields: frozenset[str] | None = None
    under: SecretChange | None = None
    """How the world is other than the files where this changes nothing."""

    def dice(self, *about: object) -> random.Random:
        """Dice for a value: the same value in every world of this change."""
        return random.Random(repr((self.seed, self.kind, *about)))

    def touches(self, *row: object) -> bool:
        """Return true if a row is changed, where all are to be: of what is drawn every other stays."""
        return self.kind != "drawn" or self.dice(*row).random() < 0.5

    def spares(self, *cell: object) -> bool:
        """Return true if a secret stays as it is beside others that change, so that what goes by it alone goes on as
        before: an item that is selected by one secret may leak another."""
        return self.kind in ("fresh", "missing", "drawn") and self.dice(*cell, "spared").random() < SPARED

    def takes(self, field: str) -> bool:
        """Return true if fields of that name are changed."""
        return self.fields is None or field in self.fields


@dataclass(frozen=True)
class Changer:
    """Makes the files of other worlds."""

    tables: DataFiles
    copies: Copies
    axes: Mapping[str, Axis]

    @cached_property
    def roots(self) -> Mapping[Cell, SecretColumn]:
        """The secrets, those left out that are copies of others."""
        found: dict[Cell, SecretColumn] = {}
        copied: set[Place] = set()
        for cell, secret in self.tables.cells():
            key, number, column = cell
            if (key, number, (column,)) in copied:
                continue
            found[cell] = secret
            copied.update(self.copies_of(cell))
        return found

    def copies_of(self, cell: Cell) -> list[Place]:
        """Return where else a secret stands, also in the same file where other files are joined to it."""
        key, number, column = cell
        same = (each for each in self._joined_otherwise.get(key, ()) if column in self.tables[each].columns)
        return [*self.copies.of.get((key, number), {}).get(column, []), *((each, number, (column,)) for each in same)]

    @cached_property
    def _joined_otherwise(self) -> Mapping[Key, tuple[Key, ...]]:
        """For every file the same one, as other data sets read it that join other files to it."""
        paths = {key: (each.file.path, key[1]) for key, each in self.tables.every.items()}
        return {key: tuple(each for each in paths if each != key and paths[each] == at) for key, at in paths.items()}

    def of_rows(self, rows: Collection[Row]) -> frozenset[Cell]:
        """Return the secrets of some rows, and of the rows of other files that are the same rows. Where their own file
        keeps secrets, those are none that it says publicly: another data set may ask for what is given here."""
        found: set[Cell] = set()
        for row in rows:
            for each in (row, *self.copies.twins(row)):
                own = self._by_row.get(each, set())
                found |= (
                    own
                    if row[0] not in self.tables.secrets
                    else {cell for cell in own if not self._is_given(cell, row)}
                )
        return frozenset(found)

    def _is_given(self, cell: Cell, row: Row) -> bool:
        """Return true if a row says a secret of another file in a public field."""
        public = self.tables.public[row[0]]
        return cell[0] != row[0] and any(
            (key, number) == row and path[0] in public for key, number, path in self.copies_of(cell)
        )

    @cached_property
    def _by_row(self) -> Mapping[Row, set[Cell]]:
        found: dict[Row, set[Cell]] = defaultdict(set)
        for cell in self.roots:
            found[cell[:2]].add(cell)
            for key, number, _ in self.copies_of(cell):
                found[key, number].add(cell)
        return found

    def records(self, change: SecretChange) -> Records:
        """Return the records that a change makes other than they are."""
        found: dict[Key, dict[int, dict[str, Any]]] = defaultdict(dict)
        cells: Collection[Cell] = self.roots if change.cells is None or change.under is not None else change.cells
        for cell in cells:
            key, number, column = cell
            value = was = self.tables[key].records[number - 1].get(column)
            layers = [each for each in (change.under, change) if each is not None]
            layers = [each for each in layers if self._changes(each, cell, self.roots[cell])]
            if not layers:
                continue
            for layer in layers:
                value = self.value(layer, cell, value)
            if self.tables.is_shared(key, column):
                value = self._beside(key, column, was, value)
            for place, at, path in ((key, number, (column,)), *self.copies_of(cell)):
                before = found[place].get(at) or self.tables[place].records[at - 1]
                found[place][at] = with_leaf(before, path, value)
        for key, rows in found.items():
            for number, record in rows.items():
                rows[number] = self.joins.joined(key, number, record)
        return found

    def _changes(self, change: SecretChange, cell: Cell, secret: SecretColumn) -> bool:
        """Return true if a change is one of a secret."""
        chosen = change.touches(*cell[:2]) if change.cells is None else cell in change.cells
        spared = len(self.tables.secrets[cell[0]]) > 1 and change.spares(*cell)
        return chosen and change.takes(secret.field) and not spared

    def value(self, change: SecretChange, cell: Cell, old: Any) -> Any:
        """Return what stands in the place of a secret that is `old`."""
        (key, number, column), secret, records = cell, self.roots[cell], self.tables[cell[0]].records
        dice = change.dice(key, number, column)
        if change.kind == "alike":
            return records[0].get(column)
        if change.kind in ("permuted", "exchanged"):
            giving, at = self._gives(change, key)[number - 1]
            other = self.tables[giving].records[at - 1].get(column)
            if other is not None or secret.type.kind == "optional" or change.kind == "exchanged":
                return other
        if change.kind == "drawn":
            others, was = self._like(key, secret), canonical_text(old)
            if secret.type.kind == "text" and dice.random() < OWN:
                others = self._words(key, number) or others
            drawn = (dice.choice(others) for _ in range(8 if others else 0))
            found = next((each for each in drawn if canonical_text(each) != was), None)
            if found is not None:
                return found
        lacks = change.kind == "missing" and dice.random() < 0.6
        pool, types = self.tables[key].values(column), self.tables.types(key, column)
        if len(types) < 2:
            return fresh(secret.type, old, dice, self.axes, pool, lacks)
        value = old
        for each in types:
            value = beside(each, value, fresh(each, value, dice, self.axes, pool, lacks))
        return value

    def _beside(self, key: Key, column: str, was: Any, value: Any) -> Any:
        """Return a value with what no secret reads of it as it was."""
        for each in self.tables.types(key, column):
            was = beside(each, was, value)
        return was

    def _words(self, key: Key, number: int) -> list[str]:
        """Return the words of the texts that are public in a row: some expressions look for the secret in them."""
        record, public = self.tables[key].records[number - 1], self.tables.public[key]
        texts = (record[name] for name in sorted(public & record.keys()))
        return [word for text in texts if isinstance(text, str) for word in text.split()[:MOST_WORDS]]

    def _like(self, key: Key, secret: SecretColumn) -> list[Any]:
        """Return the values that stand in columns of the same type, of whatever data set, and words of texts, that are
        about as long."""
        about = (key, secret.column)
        if about not in self._alike:
            lengths = [len(canonical_text(each)) for each in self.tables[key].values(secret.column)] or [0]
            least, most = min(lengths) / 2, max(lengths) * 2
            found: dict[str, Any] = {}
            for dataset in self.tables.plan.datasets:
                columns = {each.columns[0] for each in dataset.fields if each.type == secret.type}
                for each in self.tables.keys(dataset.name):
                    for column in columns:
                        for value in self.tables[each].values(column)[:MOST_ALIKE]:
                            if value is not None:
                                found[canonical_text(value)] = value
                            if secret.type.kind == "text" and isinstance(value, str):
                                found |= {word: word for word in value.split()[:MOST_WORDS]}
            self._alike[about] = [found[text] for text in sorted(found) if least <= len(text) <= most]
        return self._alike[about]

    @cached_property
    def _alike(self) -> dict[tuple[Key, str], list[Any]]:
        return {}

    def _gives(self, change: SecretChange, key: Key) -> Sequence[tuple[Key, int]]:
        """Return which row gives its secrets to each row of a file: one of that file, or of one that is read with it
        where their names say secrets, or where all rows of a data set exchange theirs."""
        about = (key, change.seed, change.kind)
        if about not in self._orders:
            keys = self._exchanging(key, change.kind)
            rows = [row for each in keys for row in self.tables.rows(each)]
            names = [each.column for each in self.tables.secrets[key]]
            values = [[self.tables[each].records[at - 1].get(name) for name in names] for each, at in rows]
            gives = [rows[place] for place in permuted(values, change.dice(keys[0]))]
            for each in keys:
                count = len(self.tables.rows(each))
                self._orders[each, change.seed, change.kind], gives = gives[:count], gives[count:]
        return self._orders[about]

    def _exchanging(self, key: Key, kind: Kind) -> tuple[Key, ...]:
        """Return the files whose rows exchange their secrets with those of a file."""
        if kind == "exchanged":
            together = self._read_together(key)
        else:
            together = next((each.keys for each in self.layouts.groups if key in each.keys), (key,))
        columns = {each.column for each in self.tables.secrets[key]}
        alike = (each for each in together if {own.column for own in self.tables.secrets.get(each, ())} == columns)
        return tuple(alike)

    def _read_together(self, key: Key) -> tuple[Key, ...]:
        """Return the files that data sets read with a file, or with one that is read with it."""
        found = {key: None}
        every = [self.tables.keys(dataset.name) for dataset in self.tables.plan.datasets]
        while near := [keys for keys in every if 0 < sum(each in found for each in keys) < len(keys)]:
            found |= {each: None for keys in near for each in keys}
        return tuple(sorted(found))

    @cached_property
    def joins(self) -> JoinedRows:
        """The rows of joined files, by their keys."""
        return JoinedRows(self.tables)

    @cached_property
    def layouts(self) -> FileLayouts:
        """The files of which the names say something secret."""
        return FileLayouts(self.tables, self.copies)

    def laid_out(self, rows: Collection[Row]) -> frozenset[Cell]:
        """Return the secrets of rows that the names of files say, of their own or of those in which they stand too."""
        every = {other for row in rows for other in (row, *self.copies.twins(row))}
        named = self.layouts.named
        return frozenset(
            cell
            for cell in self.roots
            if cell[:2] in every
            and any((key, path[0]) in named for key, _, path in ((*cell[:2], (cell[2],)), *self.copies_of(cell)))
        )

    @cached_property
    def _orders(self) -> dict[tuple[Key, int, Kind], Sequence[tuple[Key, int]]]:
        return {}
