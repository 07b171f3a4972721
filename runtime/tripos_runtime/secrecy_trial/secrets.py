"""The secrets of items, and the data files of other worlds, in which secrets have other values.

The trial compares runs in worlds that differ in secrets only. In another world, secrets and their copies have new
values, and everything public is the same. The secrets of an item are the secrets of its row. Those of a generated row
are the secrets of the rows from which it was generated, and its own secret fields, which a model wrote."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from tripos_compiler.language.references import without_reveal
from tripos_compiler.language.rows import item_id
from tripos_compiler.plan import Axis, Data, GeneratedDataset, Scenario
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
from tripos_runtime.secrecy_trial.seen_requests import Made, Place as ItemPlace
from tripos_runtime.secrecy_trial.tables import Cell, DataFiles, Key, Records, SecretColumn
from tripos_runtime.secrecy_trial.world import TrialWorld

MOST_SIMILAR = 200
"""The most values of a column among which a new value is drawn."""
SHARE_KEPT = 0.3
"""The probability that a secret is kept while other secrets of its row change."""
SHARE_OF_OWN_WORDS = 0.35
"""The probability that the new value of a text is a word of the public texts of its own row."""
MOST_WORDS = 20
"""The most words of a text among which a new value is drawn."""


@dataclass(frozen=True)
class SecretChange:
    """The secrets that differ in a world, and how they differ (`kind`).

    These are the secrets in `cells`, and those of the generated rows in `generated`; None means all. With `fields`,
    only fields of these names change. New values depend on `kind` and `seed`."""

    kind: Kind
    seed: int
    cells: frozenset[Cell] | None = None
    generated: frozenset[Made] | None = None
    fields: frozenset[str] | None = None
    under: SecretChange | None = None
    """Another change, which is applied before this one."""

    def dice(self, *about: object) -> random.Random:
        """Return the random generator for the value that `about` identifies, from the seed and the kind."""
        return random.Random(repr((self.seed, self.kind, *about)))

    def changes_row(self, *row: object) -> bool:
        """Return true if a row is changed, for a change of all rows. With drawn values, about half of the rows stay."""
        return self.kind != "drawn" or self.dice(*row).random() < 0.5

    def keeps(self, *cell: object) -> bool:
        """Return true if a secret stays while other secrets of its row change. Then whatever depends on this secret
        alone stays the same: an item that is selected by one secret may leak another."""
        return self.kind in ("fresh", "missing", "drawn") and self.dice(*cell, "spared").random() < SHARE_KEPT

    def takes(self, field: str) -> bool:
        """Return true if fields of that name are changed."""
        return self.fields is None or field in self.fields


@dataclass(frozen=True)
class Changer:
    """The builder of the records of other worlds."""

    tables: DataFiles
    copies: Copies
    axes: Mapping[str, Axis]

    @cached_property
    def roots(self) -> Mapping[Cell, SecretColumn]:
        """The secrets that are no copy of an earlier one. Copies change with the secret that they copy."""
        columns: dict[Cell, SecretColumn] = {}
        copy_places: set[Place] = set()
        for cell, secret in self.tables.cells():
            key, number, column = cell
            if (key, number, (column,)) in copy_places:
                continue
            columns[cell] = secret
            copy_places.update(self.copies_of(cell))
        return columns

    def copies_of(self, cell: Cell) -> list[Place]:
        """Return the places of the copies of a secret. If data sets read its file with different joins, each such
        reading has a copy."""
        key, number, column = cell
        joined_otherwise = (
            other for other in self._joined_otherwise.get(key, ()) if column in self.tables[other].columns
        )
        return [
            *self.copies.of.get((key, number), {}).get(column, []),
            *((other, number, (column,)) for other in joined_otherwise),
        ]

    @cached_property
    def _joined_otherwise(self) -> Mapping[Key, tuple[Key, ...]]:
        """For each file, its other readings: the same file with other files joined to it."""
        identities = {key: (records.file.path, key[1]) for key, records in self.tables.all_files.items()}
        return {
            key: tuple(other for other in identities if other != key and identities[other] == identity)
            for key, identity in identities.items()
        }

    def of_rows(self, rows: Collection[Row]) -> frozenset[Cell]:
        """Return the secrets of some rows, and of the same rows in other files. A secret of another file is excluded if
        the row, in a file that has secrets, states it publicly: one data set may ask for a value that another one
        shows."""
        cells: set[Cell] = set()
        for row in rows:
            for twin in (row, *self.copies.twins(row)):
                related = self._cells_by_row.get(twin, set())
                cells |= (
                    related
                    if row[0] not in self.tables.secrets
                    else {cell for cell in related if not self._is_stated_publicly(cell, row)}
                )
        return frozenset(cells)

    def _is_stated_publicly(self, cell: Cell, row: Row) -> bool:
        """Return true if a public field of a row contains a secret of another file."""
        public = self.tables.public[row[0]]
        return cell[0] != row[0] and any(
            (key, number) == row and path[0] in public for key, number, path in self.copies_of(cell)
        )

    @cached_property
    def _cells_by_row(self) -> Mapping[Row, set[Cell]]:
        cells_by_row: dict[Row, set[Cell]] = defaultdict(set)
        for cell in self.roots:
            cells_by_row[cell[:2]].add(cell)
            for key, number, _ in self.copies_of(cell):
                cells_by_row[key, number].add(cell)
        return cells_by_row

    def records(self, change: SecretChange) -> Records:
        """Return the records that differ from the files, with the values of a change and of the change under it."""
        changed: dict[Key, dict[int, dict[str, Any]]] = defaultdict(dict)
        cells: Collection[Cell] = self.roots if change.cells is None or change.under is not None else change.cells
        for cell in cells:
            key, number, column = cell
            value = original = self.tables[key].records[number - 1].get(column)
            changes = [candidate for candidate in (change.under, change) if candidate is not None]
            changes = [candidate for candidate in changes if self._changes(candidate, cell, self.roots[cell])]
            if not changes:
                continue
            for applied in changes:
                value = self.value(applied, cell, value)
            if self.tables.is_shared(key, column):
                value = self._keep_public_parts(key, column, original, value)
            for target, target_number, path in ((key, number, (column,)), *self.copies_of(cell)):
                before = changed[target].get(target_number) or self.tables[target].records[target_number - 1]
                changed[target][target_number] = with_leaf(before, path, value)
        for key, rows in changed.items():
            for number, record in rows.items():
                rows[number] = self.joins.joined(key, number, record)
        return changed

    def _changes(self, change: SecretChange, cell: Cell, secret: SecretColumn) -> bool:
        """Return true if a change affects a secret."""
        is_chosen = change.changes_row(*cell[:2]) if change.cells is None else cell in change.cells
        is_kept = len(self.tables.secrets[cell[0]]) > 1 and change.keeps(*cell)
        return is_chosen and change.takes(secret.field) and not is_kept

    def value(self, change: SecretChange, cell: Cell, old: Any) -> Any:
        """Return the new value of a secret that has the value `old`."""
        (key, number, column), secret, records = cell, self.roots[cell], self.tables[cell[0]].records
        random_generator = change.dice(key, number, column)
        if change.kind == "alike":
            return records[0].get(column)
        if change.kind in ("permuted", "exchanged"):
            donor_file, donor_number = self._donors(change, key)[number - 1]
            other = self.tables[donor_file].records[donor_number - 1].get(column)
            if other is not None or secret.type.kind == "optional" or change.kind == "exchanged":
                return other
        if change.kind == "drawn":
            candidates, old_text = self._similar(key, secret), canonical_text(old)
            if secret.type.kind == "text" and random_generator.random() < SHARE_OF_OWN_WORDS:
                candidates = self._words_of_row(key, number) or candidates
            drawn = (random_generator.choice(candidates) for _ in range(8 if candidates else 0))
            replacement = next((candidate for candidate in drawn if canonical_text(candidate) != old_text), None)
            if replacement is not None:
                return replacement
        is_missing = change.kind == "missing" and random_generator.random() < 0.6
        pool, types = self.tables[key].values(column), self.tables.types(key, column)
        if len(types) < 2:
            return new_value(secret.type, old, random_generator, self.axes, pool, is_missing)
        value = old
        for type_ in types:
            value = with_unread_parts(
                type_, value, new_value(type_, value, random_generator, self.axes, pool, is_missing)
            )
        return value

    def _keep_public_parts(self, key: Key, column: str, old: Any, new: Any) -> Any:
        """Return a new value of a column, with the parts of the old value that no secret field reads."""
        for type_ in self.tables.types(key, column):
            old = with_unread_parts(type_, old, new)
        return old

    def _words_of_row(self, key: Key, number: int) -> list[str]:
        """Return words of the public texts of a row, since an expression may search for a secret in these texts."""
        record, public = self.tables[key].records[number - 1], self.tables.public[key]
        texts = (record[name] for name in sorted(public & record.keys()))
        return [word for text in texts if isinstance(text, str) for word in text.split()[:MOST_WORDS]]

    def _similar(self, key: Key, secret: SecretColumn) -> list[Any]:
        """Return values of similar length from fields of the same type in all data sets; for texts, also their
        words."""
        cache_key = (key, secret.column)
        if cache_key not in self._similar_values:
            lengths = [len(canonical_text(value)) for value in self.tables[key].values(secret.column)] or [0]
            shortest, longest = min(lengths) / 2, max(lengths) * 2
            similar: dict[str, Any] = {}
            for dataset in self.tables.plan.datasets:
                columns = {field.columns[0] for field in dataset.fields if field.type == secret.type}
                for file in self.tables.keys(dataset.name):
                    for column in columns:
                        for value in self.tables[file].values(column)[:MOST_SIMILAR]:
                            if value is not None:
                                similar[canonical_text(value)] = value
                            if secret.type.kind == "text" and isinstance(value, str):
                                similar |= {word: word for word in value.split()[:MOST_WORDS]}
            self._similar_values[cache_key] = [
                similar[text] for text in sorted(similar) if shortest <= len(text) <= longest
            ]
        return self._similar_values[cache_key]

    @cached_property
    def _similar_values(self) -> dict[tuple[Key, str], list[Any]]:
        return {}

    def _donors(self, change: SecretChange, key: Key) -> Sequence[tuple[Key, int]]:
        """Return, for each row of a file, the row whose secrets it gets. That row is in one of the files that exchange
        their secrets, which may be the same file."""
        cache_key = (key, change.seed, change.kind)
        if cache_key not in self._donor_orders:
            files = self._exchanging_files(key, change.kind)
            rows = [row for file in files for row in self.tables.rows(file)]
            names = [column.column for column in self.tables.secrets[key]]
            values = [[self.tables[file].records[number - 1].get(name) for name in names] for file, number in rows]
            donors = [rows[position] for position in permuted(values, change.dice(files[0]))]
            for file in files:
                count = len(self.tables.rows(file))
                self._donor_orders[file, change.seed, change.kind], donors = donors[:count], donors[count:]
        return self._donor_orders[cache_key]

    def _exchanging_files(self, key: Key, kind: Kind) -> tuple[Key, ...]:
        """Return the files whose rows exchange secrets with the rows of a file. They have the same secret columns. With
        `exchanged`, they are files that are read together with it; otherwise the files of its group if file names
        contain secrets, or only the file itself."""
        if kind == "exchanged":
            candidates = self._read_together(key)
        else:
            candidates = next((group.keys for group in self.layouts.groups if key in group.keys), (key,))
        columns = {column.column for column in self.tables.secrets[key]}
        matching = (
            file for file in candidates if {column.column for column in self.tables.secrets.get(file, ())} == columns
        )
        return tuple(matching)

    def _read_together(self, key: Key) -> tuple[Key, ...]:
        """Return the files that are connected to a file by data sets which read several files."""
        together = {key: None}
        files_of_datasets = [self.tables.keys(dataset.name) for dataset in self.tables.plan.datasets]
        while connected := [
            keys for keys in files_of_datasets if 0 < sum(file in together for file in keys) < len(keys)
        ]:
            together |= {file: None for keys in connected for file in keys}
        return tuple(sorted(together))

    @cached_property
    def joins(self) -> JoinedRows:
        """The rows of joined files by their keys."""
        return JoinedRows(self.tables)

    @cached_property
    def layouts(self) -> FileLayouts:
        """The files whose names contain secrets."""
        return FileLayouts(self.tables, self.copies)

    def secrets_in_file_names(self, rows: Collection[Row]) -> frozenset[Cell]:
        """Return the secrets of rows that occur in the name of their file or of a file with a copy of them."""
        twins = {other for row in rows for other in (row, *self.copies.twins(row))}
        named = self.layouts.named
        return frozenset(
            cell
            for cell in self.roots
            if cell[:2] in twins
            and any((key, path[0]) in named for key, _, path in ((*cell[:2], (cell[2],)), *self.copies_of(cell)))
        )

    @cached_property
    def _donor_orders(self) -> dict[tuple[Key, int, Kind], Sequence[tuple[Key, int]]]:
        return {}


@dataclass(frozen=True)
class WorldItem:
    """An item, or several as one: its places, the secrets in files, and the generated rows on which it depends.
    `fields` are the names of the secret fields, and `copies` describes the places of the copies of the secrets."""

    title: str
    places: frozenset[ItemPlace]
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

    def at(self, place: ItemPlace) -> WorldItem:
        """Return the item at a place."""
        rows, generated = self._origins(place)
        cells = self.changer.of_rows(rows)
        fields = {self.changer.roots[cell].field for cell in cells}
        for name, *_ in generated:
            fields |= {field.name for field in self._generated_datasets[name].fields if field.secret}
        return WorldItem(
            self._title(place),
            frozenset((place,)),
            cells,
            generated,
            tuple(sorted(fields)),
            tuple(self._copy_descriptions(cells)),
        )

    def rows_of(self, scenario: Scenario, places: Sequence[ItemPlace]) -> set[Row]:
        """Return the rows of files that a scenario asks about. If it asks about generated rows, these are the rows from
        which the items at these places were generated."""
        if scenario.rows is not None and scenario.rows.dataset not in self._generated_datasets:
            places = [case.origin for case in self.world.picked(scenario, None) if case.origin is not None]
        return {row for place in places for row in self._origins(place)[0]}

    def root(self, place: ItemPlace) -> Hashable:
        """Return an identifier that is equal for items from the same row of files: the smallest of the rows of which
        an item consists; for an item without rows, its place."""
        if place not in self._roots:
            rows = self._origins(place)[0]
            twins = {other for row in rows for other in (row, *self.changer.copies.twins(row))}
            self._roots[place] = min(twins, default=place)
        return self._roots[place]

    @cached_property
    def _roots(self) -> dict[ItemPlace, Hashable]:
        return {}

    def _title(self, place: ItemPlace) -> str:
        if isinstance(place, str):
            return "a cell of axes"
        if len(place) > 2:
            return f"a row of `{place[0]}`"
        name, number = place[:2]
        files = self.changer.tables.all_files
        paths = sorted({records.file.path for key, records in files.items() if key[1] == name})
        return f"row {number} of `{paths[0]}`"

    def _copy_descriptions(self, cells: Iterable[Cell]) -> Iterator[str]:
        """Yield a description of each place that has a copy of one of these secrets."""
        descriptions: dict[str, None] = {}
        for cell in sorted(cells):
            for key, number, path in self.changer.copies_of(cell):
                file = self.changer.tables[key].file
                descriptions[f"row {number} of `{file.path}`, `{'.'.join(path)}`"] = None
        yield from descriptions

    @cached_property
    def _generated_datasets(self) -> Mapping[str, GeneratedDataset]:
        return self.world.slots.by_name

    def _origins(self, place: ItemPlace) -> tuple[set[Row], frozenset[Made]]:
        """Return the rows of files that an item is or was generated from, and the generated rows on the way."""
        if isinstance(place, str):
            return set(), frozenset()
        if len(place) == 2:
            return {(key, place[1]) for key in self.changer.tables.all_files if key[1] == place[0]}, frozenset()
        name, source, *_ = place
        if isinstance(source, tuple):
            rows, ancestors = self._origins(cast("Made", source))
            return rows, frozenset({place, *ancestors})
        return self._source_rows(self._generated_datasets[name], source), frozenset({place})

    def _source_rows(self, generated: GeneratedDataset, source_number: int) -> set[Row]:
        """Return the rows of files that are the element of this number of the source of a generated data set."""
        if generated.source is None:
            return set()
        source = without_reveal(generated.source)
        if isinstance(source, Data) and source.dataset not in self._generated_datasets:
            rows = (self.world.rows.base or self.world.rows).rows[source.dataset]
            if source_number >= len(rows):
                return set()
            sha256, number = rows[source_number].origin
            return {(key, number) for key in self.changer.tables.all_files if key[1] == sha256}
        slots = (slot for slot in self.world.slots.slots(generated) if slot.at == source_number)
        value = next((slot.source for slot in slots), None)
        return self._rows_by_content.get(item_id(value), set()) if isinstance(value, Mapping) else set()

    @cached_property
    def _rows_by_content(self) -> Mapping[str, set[Row]]:
        rows_by_content: dict[str, set[Row]] = {}
        for dataset in self.world.plan.datasets:
            for key, number in self.world.rows.numbers(dataset):
                row = self.world.rows.row(dataset, key, number)
                if row is not None:
                    rows_by_content.setdefault(row.item_id, set()).add((key, number))
        return rows_by_content
