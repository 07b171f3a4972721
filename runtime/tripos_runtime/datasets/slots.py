"""Slots: the places that a made data set has for rows, known before anything is written into them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from functools import cached_property
from typing import Any

from tripos_compiler.language import Unavailable, allowed_cells, evaluate, expressions_of, item_id, subexpressions
from tripos_compiler.plan import Axis, Data, Made, Plan, digest
from tripos_compiler.source import dataclass
from tripos_runtime.datasets.row_store import MadeData

Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RowSlot:
    """Room for one row. `place` counts the slots of the data set from 0, `number` those of one cell and row of the
    source. `source` is the source's row, or value; where that has yet to be made, `above` is the place of its slot
    and `source` is `None`. `key` tells the slot from others before that is there."""

    place: int
    key: str
    cell: Mapping[str, str]
    number: int
    source: Any = None
    above: int | None = None
    at: int = 0
    """Which element of the source it is made from, counted from 0, ruled out or not."""

    @property
    def group(self) -> str:
        """Return what slots have in common whose rows must differ: their cell of the context."""
        return digest(self.cell)

    @property
    def name(self) -> str:
        """The name of the slot in the ledger: it says from what, in which context, and which of several."""
        return digest(["slot", self.key, _name_of(self.source)])


@dataclass(frozen=True)
class SlotSource:
    """Lists the slots of the made data sets of a plan. `names` is what expressions see of data sets and trees, `rows`
    gives the rows of a data set that is read, and `made` those that were made."""

    plan: Plan
    axes: Mapping[str, Axis]
    names: Mapping[str, Any]
    read: Callable[[str], Iterator[Values]]
    made: MadeData
    _listed: dict[str, dict[int, RowSlot]] = field(default_factory=dict)

    @cached_property
    def by_name(self) -> Mapping[str, Made]:
        """The made data sets by name."""
        return {each.name: each for each in self.plan.made}

    def upstream(self, made: Made) -> str | None:
        """Return the made data set whose rows this one is made from one by one, if so."""
        source = made.source
        if isinstance(source, Data) and source.field is None and source.dataset in self.by_name:
            return source.dataset
        return None

    def is_listable(self, made: Made) -> bool:
        """Return true if its slots can be listed now: what they are told by was made, if it had to be."""
        upstream = self.upstream(made)
        if not all(name in self.made.rows for name in _told_by(made) & self.by_name.keys() - {upstream}):
            return False
        return upstream is None or self.is_listable(self.by_name[upstream])

    def slots(self, made: Made) -> Iterator[RowSlot]:
        """Yield every slot, in order: by row of the source, then by cell, then by number. Where the source has yet to
        be made, also those that a condition may rule out."""
        axes = [self.axes[name] for name in made.axes]
        every = list(allowed_cells(axes))
        place = 0
        for at, (key, source, above) in enumerate(self._sources(made)):
            for cell in every:
                if above is None and not self._holds(made, cell, source):
                    continue
                for number in range(made.count):
                    name = digest([made.name, key, cell, number])
                    yield RowSlot(place + number, name, cell, number, source, above, at)
                # Places of rows to be made are counted whether or not a condition rules them out afterwards.
                place += made.count

    def slot_at(self, made: Made, place: int) -> RowSlot:
        """Return the slot of that place."""
        if made.name not in self._listed:
            self._listed[made.name] = {slot.place: slot for slot in self.slots(made)}
        return self._listed[made.name][place]

    def filled(self, made: Made, slot: RowSlot) -> RowSlot | None:
        """Return the slot with the row that it is made from, where that was made and the condition holds."""
        if slot.above is None:
            return slot
        upstream = self.upstream(made)
        assert upstream is not None
        rows = self.made.rows[upstream]
        if slot.above not in rows:
            return None
        source = rows[slot.above].values
        if not self._holds(made, slot.cell, source):
            return None
        return RowSlot(slot.place, slot.key, slot.cell, slot.number, source, slot.above, slot.at)

    def _sources(self, made: Made) -> Iterator[tuple[str, Any, int | None]]:
        if made.source is None:
            yield "", None, None
            return
        upstream = self.upstream(made)
        if upstream is not None:
            for slot in self.slots(self.by_name[upstream]):
                yield slot.key, None, slot.place
            return
        if isinstance(made.source, Data) and made.source.field is None:
            values: Iterator[Any] = self.read(made.source.dataset)
        else:
            values = iter(evaluate(made.source, {**self.names}))
        seen: Counter[str] = Counter()
        for value in values:
            key = _name_of(value)
            seen[key] += 1
            yield (key if seen[key] == 1 else f"{key} {seen[key]}"), value, None

    def _holds(self, made: Made, cell: Mapping[str, str], source: Any) -> bool:
        if made.where is None or made.alias is None:
            return True
        try:
            return bool(evaluate(made.where, {**cell, made.alias: source, **self.names}))
        except Unavailable:
            return False


def looked_into(made: Made) -> set[str]:
    """Return the data sets that a made one takes as a value: they must be whole before it is begun.

    The one whose rows it is made from, one by one, is none of them.
    """
    own = made.source if isinstance(made.source, Data) and made.source.field is None else None
    return {
        part.dataset
        for expr in expressions_of(made)
        if expr is not own
        for part in subexpressions(expr)
        if isinstance(part, Data)
    }


def _told_by(made: Made) -> set[str]:
    """Return the data sets that say what its slots are."""
    exprs = [expr for expr in (made.source, made.where) if expr is not None]
    return {part.dataset for expr in exprs for part in subexpressions(expr) if isinstance(part, Data)}


def _name_of(value: Any) -> str:
    return item_id(value) if isinstance(value, Mapping) else digest(["value", value])
