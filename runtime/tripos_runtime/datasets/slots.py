"""The slots of generated data sets, which are known before any row is generated, and the choice of slots that a run
needs."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from functools import cached_property
from itertools import islice
from typing import Any

from tripos_compiler.language.contexts import allowed_cells
from tripos_compiler.language.evaluation import Unavailable, evaluate
from tripos_compiler.language.references import DatasetLookup, expressions_of, find_lookups, paths_in, subexpressions
from tripos_compiler.language.rows import item_id
from tripos_compiler.plan import Axis, Data, Expr, GeneratedDataset, Plan, Scenario, digest
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.datasets.generated_rows import GeneratedData
from tripos_runtime.datasets.selection import Selection, data_of

Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RowSlot:
    """A slot for one row of a generated data set. `cell` maps each axis of the data set to the row's value.

    `place` counts the slots of the data set from 0, `number` those with the same cell and source row. `source` is the
    row or value from which the row is generated. If that is a generated row too, `above` is the place of its slot, and
    `source` is `None` until it exists. `key` distinguishes all slots without reading their sources."""

    place: int
    key: str
    cell: Mapping[str, str]
    number: int
    source: Any = None
    above: int | None = None
    at: int = 0
    """The index of the source element, counted from 0, including elements that are ruled out."""

    @property
    def group(self) -> str:
        """The group of slots whose rows must differ: their cell of the context."""
        return digest(self.cell)

    @property
    def name(self) -> str:
        """The name of the slot in the ledger, from its source, context and number."""
        return digest(["slot", self.key, _name_of(self.source)])


@dataclass(frozen=True)
class SlotSource:
    """The slots of the generated data sets of a plan. `names` are the values of data sets and trees in expressions,
    `read_rows` returns the rows of a data set from files, and `generated` has the rows generated so far."""

    plan: Plan
    axes: Mapping[str, Axis]
    names: Mapping[str, Any]
    read_rows: Callable[[str], Iterator[Values]]
    generated: GeneratedData
    _listed: dict[str, dict[int, RowSlot]] = field(default_factory=dict)

    @cached_property
    def by_name(self) -> Mapping[str, GeneratedDataset]:
        """The generated data sets by name."""
        return {dataset.name: dataset for dataset in self.plan.made}

    def upstream(self, made: GeneratedDataset) -> str | None:
        """Return the generated data set from whose rows this one is generated one by one, if any."""
        source = made.source
        if isinstance(source, Data) and source.field is None and source.dataset in self.by_name:
            return source.dataset
        return None

    def is_listable(self, made: GeneratedDataset) -> bool:
        """Return true if its slots can be listed now: the data sets that determine them are complete."""
        upstream = self.upstream(made)
        if not all(name in self.generated.rows for name in _determined_by(made) & self.by_name.keys() - {upstream}):
            return False
        return upstream is None or self.is_listable(self.by_name[upstream])

    def slots(self, made: GeneratedDataset) -> Iterator[RowSlot]:
        """Yield every slot in order: by source row, then by cell, then by number. If the source is not generated yet,
        slots that a condition may rule out are included."""
        axes = [self.axes[name] for name in made.axes]
        cells = list(allowed_cells(axes))
        place = 0
        for at, (key, source, above) in enumerate(self._sources(made)):
            for cell in cells:
                if above is None and not self._holds(made, cell, source):
                    continue
                for number in range(made.count):
                    name = digest([made.name, key, cell, number])
                    yield RowSlot(place + number, name, cell, number, source, above, at)
                place += made.count

    def slot_at(self, made: GeneratedDataset, place: int) -> RowSlot:
        """Return the slot at that place."""
        if made.name not in self._listed:
            self._listed[made.name] = {slot.place: slot for slot in self.slots(made)}
        return self._listed[made.name][place]

    def filled(self, made: GeneratedDataset, slot: RowSlot) -> RowSlot | None:
        """Return the slot with its source row, if that exists and the condition holds."""
        if slot.above is None:
            return slot
        upstream = self.upstream(made)
        assert upstream is not None
        rows = self.generated.rows[upstream]
        if slot.above not in rows:
            return None
        source = rows[slot.above].values
        if not self._holds(made, slot.cell, source):
            return None
        return RowSlot(slot.place, slot.key, slot.cell, slot.number, source, slot.above, slot.at)

    def _sources(self, made: GeneratedDataset) -> Iterator[tuple[str, Any, int | None]]:
        """Yield a name of each source, its row or value, and the place of its slot if it is a generated row: then the
        value is `None`. A data set without a source has one, with an empty name."""
        if made.source is None:
            yield "", None, None
            return
        upstream = self.upstream(made)
        if upstream is not None:
            for slot in self.slots(self.by_name[upstream]):
                yield slot.key, None, slot.place
            return
        if isinstance(made.source, Data) and made.source.field is None:
            values: Iterator[Any] = self.read_rows(made.source.dataset)
        else:
            values = iter(evaluate(made.source, {**self.names}))
        seen: Counter[str] = Counter()
        for value in values:
            name = _name_of(value)
            seen[name] += 1
            yield (name if seen[name] == 1 else f"{name} {seen[name]}"), value, None

    def _holds(self, made: GeneratedDataset, cell: Mapping[str, str], source: Any) -> bool:
        if made.where is None or made.alias is None:
            return True
        try:
            return bool(evaluate(made.where, {**cell, made.alias: source, **self.names}))
        except Unavailable:
            return False


def data_sets_read(made: GeneratedDataset) -> set[str]:
    """Return the data sets that a generated one reads values from; they must be complete first.

    The one from whose rows it is generated one by one is not among them."""
    data = made.source if isinstance(made.source, Data) and made.source.field is None else None
    return {
        part.dataset
        for expr in expressions_of(made)
        if expr is not data
        for part in subexpressions(expr)
        if isinstance(part, Data)
    }


def _determined_by(made: GeneratedDataset) -> set[str]:
    """Return the data sets that determine the slots of a generated one."""
    exprs = [expr for expr in (made.source, made.where) if expr is not None]
    return {part.dataset for expr in exprs for part in subexpressions(expr) if isinstance(part, Data)}


def _name_of(value: Any) -> str:
    return item_id(value) if isinstance(value, Mapping) else digest(["value", value])


def referenced_slots(
    lookups: Iterable[DatasetLookup],
    made: GeneratedDataset,
    slots: Iterable[RowSlot],
    rows: Iterable[Mapping[str, Any]],
    names: Mapping[str, Any],
) -> frozenset[int] | None:
    """Return the places of the slots that `lookups` from these rows refer to; None if this is unknown before the slots
    are filled. `names` are the values for expressions in addition to the row."""
    lookups = tuple(lookups)
    if any(lookup.at != made.alias for lookup in lookups):
        return None
    wanted: set[str] = set()
    for row in rows:
        for lookup in lookups:
            try:
                wanted.update(evaluate(lookup.points, {**names, lookup.alias: row}))
            except Unavailable:
                continue  # this row looks nothing up
    return frozenset(slot.place for slot in slots if slot.source in wanted)


@dataclass
class SlotChoice:
    """The slots of generated data sets that a run over `selection` needs."""

    source: SlotSource
    selection: Selection
    unsure: set[str] = field(default_factory=set)
    """The data sets of which not all rows exist yet."""

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The data sets that are needed, each after those that it is generated from."""
        source, done = self.source, dict[str, None]()

        def visit(name: str) -> None:
            dataset = source.by_name[name]
            upstream = source.upstream(dataset)
            for other in sorted(data_sets_read(dataset) & source.by_name.keys()):
                visit(other)
            if upstream is not None:
                visit(upstream)
            done[name] = None

        for scenario in self._scenarios:
            # Data read at certain rows comes after the rows that determine them.
            for name in sorted(self._needed_by(scenario), key=lambda name: (name in self.point_reads, name)):
                visit(name)
        return tuple(done)

    def places(self, name: str) -> frozenset[int] | None:
        """Return the places of the slots of a data set that are needed; `None` means all. The data sets that it reads
        must be complete. All are needed if the slots of a data set generated from it cannot be listed yet."""
        if name in self._complete_datasets:
            return None
        needed = self._looked_up(name)
        if needed is None:
            return None
        for scenario in self._scenarios:
            if scenario.rows is not None and scenario.rows.dataset == name:
                chosen = self.chosen(scenario)
                if chosen is None:
                    return None
                needed |= chosen
        for other in self.order:
            dataset = self.source.by_name[other]
            if self.source.upstream(dataset) == name:
                places = self.places(other) if self.source.is_listable(dataset) else None
                if places is None:
                    return None
                slots = self.source.slots(dataset)
                needed |= {slot.above for slot in slots if slot.place in places and slot.above is not None}
        return needed

    def chosen(self, scenario: Scenario) -> frozenset[int] | None:
        """Return the places of the slots that a scenario runs over; `None` means all."""
        selection = self.selection
        if selection.limit is None and not selection.only and selection.drawn is None:
            return None
        return frozenset(slot.place for slot in chosen_slots(self.source, scenario, self.selection))

    def counts(self) -> dict[str, int]:
        """Return the largest number of slots needed of every data set, as far as it is known before generation."""
        counts: dict[str, int] = {}
        for name in self.order:
            dataset = self.source.by_name[name]
            places = self.places(name) if self.source.is_listable(dataset) else None
            counts[name] = dataset.rows if places is None else len(places)
        return counts

    @cached_property
    def _scenarios(self) -> tuple[Scenario, ...]:
        return self.selection.chosen(self.source.plan)

    @cached_property
    def _complete_datasets(self) -> frozenset[str]:
        """The data sets of which all rows are read, not only some."""
        names = {name for scenario in self._scenarios for name in data_of(scenario)} - self.point_reads.keys()
        return frozenset(names.union(*(data_sets_read(self.source.by_name[name]) for name in self.order)))

    @cached_property
    def point_reads(self) -> Mapping[str, tuple[tuple[Scenario, tuple[DatasetLookup, ...]], ...]]:
        """The generated data sets of which scenarios read only certain rows: for each, these scenarios, with the
        lookups that select the rows."""
        point_reads: dict[str, tuple[tuple[Scenario, tuple[DatasetLookup, ...]], ...]] = {}
        for name in self.source.by_name:
            readers = [scenario for scenario in self._scenarios if name in data_of(scenario)]
            reads = [(scenario, find_lookups(scenario, name)) for scenario in readers]
            by_lookups = tuple((scenario, lookups) for scenario, lookups in reads if lookups is not None)
            if reads and len(by_lookups) == len(reads):
                point_reads[name] = by_lookups
        return point_reads

    def _looked_up(self, name: str) -> frozenset[int] | None:
        """Return the places of the slots of a data set that scenarios look up; `None` if they are unknown, so that all
        are needed."""
        places: frozenset[int] = frozenset()
        dataset = self.source.by_name[name]
        for scenario, lookups in self.point_reads.get(name, ()):
            assert scenario.rows is not None
            own = scenario.rows.dataset
            if own not in self.source.generated.rows or own in self.unsure or not self.source.is_listable(dataset):
                return None
            chosen = self.chosen(scenario)
            rows = (row.values for row in self.source.generated.rows[own] if chosen is None or row.place in chosen)
            referenced = referenced_slots(lookups, dataset, self.source.slots(dataset), rows, self.source.names)
            if referenced is None:
                return None
            places |= referenced
        return places

    def _needed_by(self, scenario: Scenario) -> set[str]:
        rows = set() if scenario.rows is None else {scenario.rows.dataset}
        return (data_of(scenario) | rows) & self.source.by_name.keys()


def chosen_slots(source: SlotSource, scenario: Scenario, selection: Selection) -> Iterator[RowSlot]:
    """Yield the slots that a scenario runs over. A condition on a field that is not generated yet counts as true."""
    assert scenario.rows is not None
    dataset = source.by_name[scenario.rows.dataset]
    slots = (
        slot
        for slot in source.slots(dataset)
        if selection.holds(scenario.name, slot.key) and _allowed(source, scenario, dataset, slot, selection)
    )
    if selection.limit is None:
        return slots
    if selection.seed is None:
        return islice(slots, selection.limit)
    drawn = heapq.nsmallest(selection.limit, slots, key=lambda slot: digest([selection.seed, scenario.name, slot.key]))
    return iter(sorted(drawn, key=lambda slot: slot.place))


def known_slots(source: SlotSource, scenario: Scenario) -> Iterator[tuple[RowSlot, Mapping[str, Any]]]:
    """Yield every slot of a scenario with the fields of its row that are known before generation."""
    assert scenario.rows is not None
    dataset = source.by_name[scenario.rows.dataset]
    for slot in source.slots(dataset):
        known = known_fields(source, dataset, slot)
        if _fits(source, scenario, known):
            yield slot, known


def _allowed(
    source: SlotSource, scenario: Scenario, made: GeneratedDataset, slot: RowSlot, selection: Selection
) -> bool:
    known = known_fields(source, made, slot)
    return selection.allows(known) and _fits(source, scenario, known)


def _fits(source: SlotSource, scenario: Scenario, known: Mapping[str, Any]) -> bool:
    """Return true if the known fields of a row meet the scenario's condition. Unknown fields count as met."""
    rows = scenario.rows
    if rows is None or rows.where is None or not _is_known(rows.where, rows.alias, known, source.axes):
        return True
    first = {axis: source.axes[axis].values[0].name for axis in scenario.axes}
    try:
        return bool(evaluate(rows.where, {**first, **known, rows.alias: known, **source.names}))
    except Unavailable:
        return False


def known_fields(source: SlotSource, made: GeneratedDataset, slot: RowSlot) -> dict[str, Any]:
    """Return the fields of a row that are known before generation: its axes, and the fields of a source row from a
    file."""
    if slot.above is not None:
        upstream = source.upstream(made)
        assert upstream is not None
        above = source.slot_at(source.by_name[upstream], slot.above)
        return {**known_fields(source, source.by_name[upstream], above), **slot.cell}
    source_fields = slot.source if isinstance(slot.source, Mapping) else {}
    return {**source_fields, **slot.cell}


def _is_known(where: Expr, alias: str, known: Mapping[str, Any], axes: Mapping[str, Axis]) -> bool:
    """Return true if a condition can be evaluated from the fields known before generation."""
    for path in paths_in(where):
        if path[0] == alias:
            if len(path) == 1 or path[1] not in known:
                return False
        elif path[0] not in known and path[0] not in axes:
            return False
    return True
