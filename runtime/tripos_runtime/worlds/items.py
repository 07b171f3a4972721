"""The secrets of an item: of its row, with their copies; of a row that a role made, also those of the rows it was made
from, and what the role wrote as secrets."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from tripos_compiler.language import item_id, without_reveal
from tripos_compiler.plan import Data, Made as MadeSet, Scenario
from tripos_runtime.worlds.changes import Changer
from tripos_runtime.worlds.copies import Row
from tripos_runtime.worlds.seen_requests import Made, Place
from tripos_runtime.worlds.tables import Cell
from tripos_runtime.worlds.world import TrialWorld


@dataclass(frozen=True)
class WorldItem:
    """Some items: their places, their secrets in files, and rows that roles made. `fields` are the names of the fields
    that are secret, `copies` says where else they stand."""

    title: str
    places: frozenset[Place]
    cells: frozenset[Cell]
    made: frozenset[Made]
    fields: tuple[str, ...]
    copies: tuple[str, ...] = ()

    @classmethod
    def of(cls, items: Sequence[WorldItem]) -> WorldItem:
        """Several items as one."""
        return cls(
            "",
            frozenset().union(*(each.places for each in items)),
            frozenset().union(*(each.cells for each in items)),
            frozenset().union(*(each.made for each in items)),
            tuple(sorted({name for each in items for name in each.fields})),
        )


@dataclass(frozen=True)
class WorldItems:
    """The items of a world."""

    world: TrialWorld
    changer: Changer

    def at(self, place: Place) -> WorldItem:
        """Return the item at a place."""
        rows, made = self._from(place)
        cells = self.changer.of_rows(rows)
        fields = {self.changer.roots[cell].field for cell in cells}
        for name, *_ in made:
            fields |= {each.name for each in self._made[name].fields if each.secret}
        return WorldItem(
            self._title(place), frozenset((place,)), cells, made, tuple(sorted(fields)), tuple(self._copies(cells))
        )

    def rows_of(self, scenario: Scenario, places: Sequence[Place]) -> set[Row]:
        """Return the rows of files that a scenario asks about; of rows that are made, those that the rows at these
        places are made from."""
        if scenario.rows is not None and scenario.rows.dataset not in self._made:
            places = [case.origin for case in self.world.picked(scenario, None) if case.origin is not None]
        return {row for place in places for row in self._from(place)[0]}

    def root(self, place: Place) -> Hashable:
        """Return the row of a file that an item is of, by whichever name comes first, or else the item itself."""
        if place not in self._roots:
            rows = self._from(place)[0]
            every = {other for row in rows for other in (row, *self.changer.copies.twins(row))}
            self._roots[place] = min(every, default=place)
        return self._roots[place]

    @cached_property
    def _roots(self) -> dict[Place, Hashable]:
        return {}

    def _title(self, place: Place) -> str:
        if isinstance(place, str):
            return "a cell of axes"
        if len(place) > 2:
            return f"a row of `{place[0]}`"
        name, number = place[:2]
        every = self.changer.tables.every
        paths = sorted({each.file.path for key, each in every.items() if key[1] == name})
        return f"row {number} of `{paths[0]}`"

    def _copies(self, cells: Iterable[Cell]) -> Iterator[str]:
        """Yield where the secrets of an item stand elsewhere."""
        found: dict[str, None] = {}
        for cell in sorted(cells):
            for key, number, path in self.changer.copies_of(cell):
                file = self.changer.tables[key].file
                found[f"row {number} of `{file.path}`, `{'.'.join(path)}`"] = None
        yield from found

    @cached_property
    def _made(self) -> Mapping[str, MadeSet]:
        return self.world.slots.by_name

    def _from(self, place: Place) -> tuple[set[Row], frozenset[Made]]:
        """Return the rows of files that an item is, or was made from, and the rows that roles made on the way."""
        if isinstance(place, str):
            return set(), frozenset()
        if len(place) == 2:
            return {(key, place[1]) for key in self.changer.tables.every if key[1] == place[0]}, frozenset()
        name, source, *_ = place
        if isinstance(source, tuple):
            rows, others = self._from(cast("Made", source))
            return rows, frozenset({place, *others})
        return self._sources(self._made[name], source), frozenset({place})

    def _sources(self, made: MadeSet, at: int) -> set[Row]:
        """Return the rows of files that a row is made from, the element of its source of that number."""
        if made.source is None:
            return set()
        source = without_reveal(made.source)
        if isinstance(source, Data) and source.dataset not in self._made:
            rows = (self.world.rows.base or self.world.rows).rows[source.dataset]
            if at >= len(rows):
                return set()
            sha256, number = rows[at].origin
            return {(key, number) for key in self.changer.tables.every if key[1] == sha256}
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
