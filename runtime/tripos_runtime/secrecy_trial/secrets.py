"""The secrets of items, and their changes in another world: new values for secrets and their copies; everything public
stays.

The secrets of an item are those of its row with their copies. For a generated row, they include those of the rows that
it was generated from, and the fields that the role wrote as secrets."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from tripos_compiler.language.references import without_reveal
from tripos_compiler.language.rows import item_id
from tripos_compiler.plan import Axis, Data, GeneratedDataset as MadeSet, Scenario
from tripos_runtime.secrecy_trial.copies import (
    Copies,
    FileLayouts,
    JoinedRows,
    Kind,
    Place,
    Row,
    canonical_text,
    new_value,
    permuted,
    with_leaf,
    with_unread_parts,
)
from tripos_runtime.secrecy_trial.seen_requests import Made, Place as seen_requests_Place
from tripos_runtime.secrecy_trial.tables import Cell, DataFiles, Key, Records, SecretColumn
from tripos_runtime.secrecy_trial.world import TrialWorld

MOST_ALIKE = 200
"""The number of values of a column that are drawn from."""
SPARED = 0.3
"""How often a secret stays while others of its row change."""
OWN = 0.35
"""How often a text is drawn from the texts of its own row."""
MOST_WORDS = 20
"""The number of words of a text that are drawn from."""


@dataclass(frozen=True)
class SecretChange:
    """Which secrets differ, and how: all, or those of `cells` and, in generated rows, of `generated`. With `fields`,
    only fields of these names."""

    kind: Kind
    seed: int
    cells: frozenset[Cell] | None = None
    generated: frozenset[Made] | None = None
    fields: frozenset[str] | None = None
    under: SecretChange | None = None
    """How the world differs from the files if this changes nothing."""

    def dice(self, *about: object) -> random.Random:
        """Return a random generator for a value: the same in every world of this change."""
        return random.Random(repr((self.seed, self.kind, *about)))

    def changes_row(self, *row: object) -> bool:
        """Return true if a row is changed when all may be; with drawn values, every second one stays."""
        return self.kind != "drawn" or self.dice(*row).random() < 0.5

    def keeps(self, *cell: object) -> bool:
        """Return true if a secret stays while others change, so that what depends on it alone stays the same: an item
        selected by one secret may leak another."""
        return self.kind in ("fresh", "missing", "drawn") and self.dice(*cell, "spared").random() < SPARED

    def takes(self, field: str) -> bool:
        """Return true if fields of that name are changed."""
        return self.fields is None or field in self.fields


@dataclass(frozen=True)
class Changer:
    """Creates the files of other worlds."""

    tables: DataFiles
    copies: Copies
    axes: Mapping[str, Axis]

    @cached_property
    def roots(self) -> Mapping[Cell, SecretColumn]:
        """The secrets, without those that are copies of others."""
        columns: dict[Cell, SecretColumn] = {}
        copied: set[Place] = set()
        for cell, secret in self.tables.cells():
            key, number, column = cell
            if (key, number, (column,)) in copied:
                continue
            columns[cell] = secret
            copied.update(self.copies_of(cell))
        return columns

    def copies_of(self, cell: Cell) -> list[Place]:
        """Return the other places of a secret, also in the same file if other files are joined to it."""
        key, number, column = cell
        same = (each for each in self._joined_otherwise.get(key, ()) if column in self.tables[each].columns)
        return [*self.copies.of.get((key, number), {}).get(column, []), *((each, number, (column,)) for each in same)]

    @cached_property
    def _joined_otherwise(self) -> Mapping[Key, tuple[Key, ...]]:
        """For every file the same file as read by other data sets that join other files to it."""
        paths = {key: (all_file.file.path, key[1]) for key, all_file in self.tables.all_files.items()}
        return {key: tuple(path for path in paths if path != key and paths[path] == at) for key, at in paths.items()}

    def of_rows(self, rows: Collection[Row]) -> frozenset[Cell]:
        """Return the secrets of some rows, and of the same rows in other files. Secrets of their own file are excluded
        if the row states them publicly: another data set may ask for what is given here."""
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
        """Return true if a row states a secret of another file in a public field."""
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
        """Return the records that a change modifies."""
        found: dict[Key, dict[int, dict[str, Any]]] = defaultdict(dict)
        cells: Collection[Cell] = self.roots if change.cells is None or change.under is not None else change.cells
        for cell in cells:
            key, number, column = cell
            value = was = self.tables[key].records[number - 1].get(column)
            layers = [secret_change for secret_change in (change.under, change) if secret_change is not None]
            layers = [secret_change for secret_change in layers if self._changes(secret_change, cell, self.roots[cell])]
            if not layers:
                continue
            for layer in layers:
                value = self.value(layer, cell, value)
            if self.tables.is_shared(key, column):
                value = self._keep_public_parts(key, column, was, value)
            for place, at, path in ((key, number, (column,)), *self.copies_of(cell)):
                before = found[place].get(at) or self.tables[place].records[at - 1]
                found[place][at] = with_leaf(before, path, value)
        for key, rows in found.items():
            for number, record in rows.items():
                rows[number] = self.joins.joined(key, number, record)
        return found

    def _changes(self, change: SecretChange, cell: Cell, secret: SecretColumn) -> bool:
        """Return true if a change affects a secret."""
        chosen = change.changes_row(*cell[:2]) if change.cells is None else cell in change.cells
        spared = len(self.tables.secrets[cell[0]]) > 1 and change.keeps(*cell)
        return chosen and change.takes(secret.field) and not spared

    def value(self, change: SecretChange, cell: Cell, old: Any) -> Any:
        """Return the replacement of a secret with the value `old`."""
        (key, number, column), secret, records = cell, self.roots[cell], self.tables[cell[0]].records
        dice = change.dice(key, number, column)
        if change.kind == "alike":
            return records[0].get(column)
        if change.kind in ("permuted", "exchanged"):
            giving, at = self._givers(change, key)[number - 1]
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
            return new_value(secret.type, old, dice, self.axes, pool, lacks)
        value = old
        for type_ in types:
            value = with_unread_parts(type_, value, new_value(type_, value, dice, self.axes, pool, lacks))
        return value

    def _keep_public_parts(self, key: Key, column: str, was: Any, value: Any) -> Any:
        """Return a value in which the parts that no secret reads stay."""
        for type_ in self.tables.types(key, column):
            was = with_unread_parts(type_, was, value)
        return was

    def _words(self, key: Key, number: int) -> list[str]:
        """Return the words of the public texts of a row: some expressions look for the secret in them."""
        record, public = self.tables[key].records[number - 1], self.tables.public[key]
        texts = (record[name] for name in sorted(public & record.keys()))
        return [word for text in texts if isinstance(text, str) for word in text.split()[:MOST_WORDS]]

    def _like(self, key: Key, secret: SecretColumn) -> list[Any]:
        """Return values of columns of the same type in any data set, and words of texts, of similar length."""
        about = (key, secret.column)
        if about not in self._similar_values:
            lengths = [len(canonical_text(each)) for each in self.tables[key].values(secret.column)] or [0]
            least, most = min(lengths) / 2, max(lengths) * 2
            found: dict[str, Any] = {}
            for dataset in self.tables.plan.datasets:
                columns = {field.columns[0] for field in dataset.fields if field.type == secret.type}
                for each in self.tables.keys(dataset.name):
                    for column in columns:
                        for value in self.tables[each].values(column)[:MOST_ALIKE]:
                            if value is not None:
                                found[canonical_text(value)] = value
                            if secret.type.kind == "text" and isinstance(value, str):
                                found |= {word: word for word in value.split()[:MOST_WORDS]}
            self._similar_values[about] = [found[text] for text in sorted(found) if least <= len(text) <= most]
        return self._similar_values[about]

    @cached_property
    def _similar_values(self) -> dict[tuple[Key, str], list[Any]]:
        return {}

    def _givers(self, change: SecretChange, key: Key) -> Sequence[tuple[Key, int]]:
        """Return, for each row of a file, the row that gives it its secrets: from the same file, or from one that is
        read with it if file names contain secrets, or if all rows of a data set exchange theirs."""
        about = (key, change.seed, change.kind)
        if about not in self._orders:
            keys = self._exchanging(key, change.kind)
            rows = [row for each in keys for row in self.tables.rows(each)]
            names = [column.column for column in self.tables.secrets[key]]
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
            together = next((group.keys for group in self.layouts.groups if key in group.keys), (key,))
        columns = {column.column for column in self.tables.secrets[key]}
        alike = (
            each for each in together if {column.column for column in self.tables.secrets.get(each, ())} == columns
        )
        return tuple(alike)

    def _read_together(self, key: Key) -> tuple[Key, ...]:
        """Return the files that data sets read together with a file, directly or indirectly."""
        found = {key: None}
        every = [self.tables.keys(dataset.name) for dataset in self.tables.plan.datasets]
        while near := [keys for keys in every if 0 < sum(each in found for each in keys) < len(keys)]:
            found |= {each: None for keys in near for each in keys}
        return tuple(sorted(found))

    @cached_property
    def joins(self) -> JoinedRows:
        """The rows of joined files by their keys."""
        return JoinedRows(self.tables)

    @cached_property
    def layouts(self) -> FileLayouts:
        """The files whose names contain secrets."""
        return FileLayouts(self.tables, self.copies)

    def secrets_in_file_names(self, rows: Collection[Row]) -> frozenset[Cell]:
        """Return the secrets of rows that are stated by the names of their own files, or of files with their copies."""
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


@dataclass(frozen=True)
class WorldItem:
    """Some items: their places, their secrets in files, and generated rows. `fields` are the names of the secret
    fields, `copies` their other places."""

    title: str
    places: frozenset[seen_requests_Place]
    cells: frozenset[Cell]
    generated: frozenset[Made]
    fields: tuple[str, ...]
    copies: tuple[str, ...] = ()

    @classmethod
    def of(cls, items: Sequence[WorldItem]) -> WorldItem:
        """Return several items as one."""
        return cls(
            "",
            frozenset().union(*(item.places for item in items)),
            frozenset().union(*(item.cells for item in items)),
            frozenset().union(*(item.generated for item in items)),
            tuple(sorted({name for item in items for name in item.fields})),
        )


@dataclass(frozen=True)
class WorldItems:
    """The items of a world."""

    world: TrialWorld
    changer: Changer

    def at(self, place: seen_requests_Place) -> WorldItem:
        """Return the item at a place."""
        rows, made = self._from(place)
        cells = self.changer.of_rows(rows)
        fields = {self.changer.roots[cell].field for cell in cells}
        for name, *_ in made:
            fields |= {field.name for field in self._generated[name].fields if field.secret}
        return WorldItem(
            self._title(place), frozenset((place,)), cells, made, tuple(sorted(fields)), tuple(self._copies(cells))
        )

    def rows_of(self, scenario: Scenario, places: Sequence[seen_requests_Place]) -> set[Row]:
        """Return the rows of files that a scenario asks about; for generated rows, those that the rows at these places
        come from."""
        if scenario.rows is not None and scenario.rows.dataset not in self._generated:
            places = [case.origin for case in self.world.picked(scenario, None) if case.origin is not None]
        return {row for place in places for row in self._from(place)[0]}

    def root(self, place: seen_requests_Place) -> Hashable:
        """Return the file row that an item comes from, under the first of its names, else the item itself."""
        if place not in self._roots:
            rows = self._from(place)[0]
            every = {other for row in rows for other in (row, *self.changer.copies.twins(row))}
            self._roots[place] = min(every, default=place)
        return self._roots[place]

    @cached_property
    def _roots(self) -> dict[seen_requests_Place, Hashable]:
        return {}

    def _title(self, place: seen_requests_Place) -> str:
        if isinstance(place, str):
            return "a cell of axes"
        if len(place) > 2:
            return f"a row of `{place[0]}`"
        name, number = place[:2]
        recordses = self.changer.tables.all_files
        paths = sorted({records.file.path for key, records in recordses.items() if key[1] == name})
        return f"row {number} of `{paths[0]}`"

    def _copies(self, cells: Iterable[Cell]) -> Iterator[str]:
        """Yield the other places of the secrets of an item."""
        found: dict[str, None] = {}
        for cell in sorted(cells):
            for key, number, path in self.changer.copies_of(cell):
                file = self.changer.tables[key].file
                found[f"row {number} of `{file.path}`, `{'.'.join(path)}`"] = None
        yield from found

    @cached_property
    def _generated(self) -> Mapping[str, MadeSet]:
        return self.world.slots.by_name

    def _from(self, place: seen_requests_Place) -> tuple[set[Row], frozenset[Made]]:
        """Return the rows of files that an item is or comes from, and the generated rows in between."""
        if isinstance(place, str):
            return set(), frozenset()
        if len(place) == 2:
            return {(key, place[1]) for key in self.changer.tables.all_files if key[1] == place[0]}, frozenset()
        name, source, *_ = place
        if isinstance(source, tuple):
            rows, others = self._from(cast("Made", source))
            return rows, frozenset({place, *others})
        return self._sources(self._generated[name], source), frozenset({place})

    def _sources(self, made: MadeSet, at: int) -> set[Row]:
        """Return the rows of files behind the source element with that number."""
        if made.source is None:
            return set()
        source = without_reveal(made.source)
        if isinstance(source, Data) and source.dataset not in self._generated:
            rows = (self.world.rows.base or self.world.rows).rows[source.dataset]
            if at >= len(rows):
                return set()
            sha256, number = rows[at].origin
            return {(key, number) for key in self.changer.tables.all_files if key[1] == sha256}
        slots = (slot for slot in self.world.slots.slots(made) if slot.at == at)
        value = next((slot.source for slot in slots), None)
        return self._by_content.get(item_id(value), set()) if isinstance(value, Mapping) else set()

    @cached_property
    def _by_content(self) -> Mapping[str, set[Row]]:
        found: dict[str, set[Row]] = {}
        for dataset in self.world.plan.datasets:
            for key, number in self.world.rows.numbers(dataset):
                row = self.world.rows.row(dataset, key, number)
                if row is not None:
                    found.setdefault(row.item_id, set()).add((key, number))
        return found
