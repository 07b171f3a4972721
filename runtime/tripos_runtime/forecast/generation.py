"""The forecast of the generation of data sets: calls that are or may be made, and which rows may still change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

from tripos_compiler.language.evaluation import TREES, MissingValue, Unavailable
from tripos_compiler.library.functions.trees import ParsedTree
from tripos_compiler.plan import Ask, GeneratedDataset, Plan, Scenario, Walk
from tripos_compiler.plan.outcomes import PENDING
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.datasets.cases import Case, CaseSource
from tripos_runtime.datasets.selection import Selection
from tripos_runtime.datasets.slots import RowSlot, data_sets_read
from tripos_runtime.forecast.sizes import (
    NO_SIZE,
    CallCertainty,
    Known,
    ReplySource,
    Size,
    SizedPlaceholders,
    pending_size,
)
from tripos_runtime.generate.attempts import place_of
from tripos_runtime.generate.author import GenerationCall, GenerationNeed, GenerationObserver, NobodyAsked
from tripos_runtime.generate.maker import DataMaker, Maker
from tripos_runtime.program.adoption import ReplyReuse
from tripos_runtime.program.binding import RoleBinding
from tripos_runtime.program.running import RunContext

TOLD_AGAIN = 600
"""The largest number of characters added for a further attempt, apart from the rejected reply."""


Cell = Mapping[str, str]
"""The known values of axes of a row that is not generated yet, and its language."""


@dataclass
class MadeCalls:
    """The calls of one step of one data set: the number of kept ones, and those that are or may be made, with their
    certainty, the size of the prompt, and the number of equal ones."""

    ask: Ask
    dataset: str
    place: str
    title: str
    model: str
    reused: int = 0
    open: list[tuple[CallCertainty, Size, int]] = field(default_factory=list)


@dataclass
class GenerationForecast:
    """The result of reading the kept part of the data sets that a run generates; `source` finds their rows."""

    source: CaseSource
    expected: Mapping[str, int]
    """The largest number of rows of every scenario."""
    calls: list[MadeCalls] = field(default_factory=list)
    made_by: dict[str, ReplySource] = field(default_factory=dict)
    """The makers of the rows of each data set."""
    open: dict[str, dict[int, Cell]] = field(default_factory=dict)
    """The known fields of rows to be written, by data set and place."""
    unsettled: dict[str, set[int] | None] = field(default_factory=dict)
    """The places of rows that exist and may change once open ones are filled; `None` means all of a data set."""

    def unmade(self, scenario: Scenario) -> list[tuple[Cell, int]]:
        """Return the largest number of rows of a scenario that are not generated yet, by what is known of them."""
        if scenario.rows is None or scenario.rows.dataset not in self.open:
            return []
        dataset = scenario.rows.dataset
        chosen = self.source.sources.generated.chosen.get(scenario.name)
        found = Counter(
            tuple(sorted(cell.items()))
            for place, cell in self.open[dataset].items()
            if chosen is None or place in chosen
        )
        if self.unsettled.get(dataset, set()) is None:  # there may be further rows whose slots do not exist yet
            there = len(self.source.sources.generated.rows[dataset])
            more = self.expected[scenario.name] - there - found.total()
            found[(("language", self.source.plan.benchmark.languages[0]),)] += max(0, more)
        return [(dict(cell), count) for cell, count in found.items() if count > 0]

    def is_sure(self, case: Case) -> bool:
        """Return true if a row stays as it is, whatever else is generated."""
        if case.dataset not in self.unsettled or case.origin is None:
            return True
        places = self.unsettled[case.dataset]
        return places is not None and case.origin[1] not in places

    def case(self, scenario: Scenario, cell: Cell) -> Case:
        """Return a case of which only the language and the cell are known."""
        assert scenario.rows is not None
        dataset = scenario.rows.dataset
        absent = MissingValue(dataset, PENDING)
        fields = {data_field.name: absent for data_field in self.source.slots.by_name[dataset].fields}
        context: dict[str, Any] = {name: cell.get(name, absent) for name in scenario.axes}
        context |= {"language": cell["language"]}
        names = {**context, scenario.rows.alias: {**fields, **cell}, **self.source.sources.names}
        return Case(scenario, "", context, {}, dataset, names)

    def known_fields(self, scenario: Scenario) -> Known:
        """Return the known fields of a row that is not generated yet. Fields that nobody writes may have any length."""
        assert scenario.rows is not None
        dataset = self.source.slots.by_name[scenario.rows.dataset]
        return {
            (scenario.rows.alias, data_field.name): pending_size(dataset.name, _rows_of(dataset.name))
            for data_field in dataset.fields
            if data_field.name not in _written(dataset)
        }


def forecast_generation(
    plan: Plan,
    source: CaseSource,
    selection: Selection,
    binding: RoleBinding,
    ledger: Any,
    adoption: ReplyReuse | None = None,
) -> GenerationForecast:
    """Read what a ledger has of the data sets that a run generates. Nobody is asked and nothing is kept."""
    forecast = GenerationForecast(source, source.counts(selection))
    slots = source.slot_counts(selection)
    maker = data_maker(plan, source, selection, binding, ledger)
    maker.adoption = adoption
    maker.functions = dict.fromkeys((plugin.name for plugin in plan.plugins), _not_called)
    maker.observer = calls = _CallCounter()
    maker.go_through()
    for name, each in maker.makers.items():
        foreseen = _MadeSet(plan, maker, each, forecast, slots.get(name, 0))
        foreseen.count([one for one in calls.unasked if one.call.dataset == name], calls.reused)
    return forecast


@dataclass
class _UnaskedCall:
    """A call that would be made; for a walk, with the number of levels below it."""

    call: GenerationCall
    size: Size
    levels: int = 0


@dataclass
class _CallCounter(GenerationObserver):
    """The calls of the generation of data sets: those that are kept, by fingerprint, and those that are not made."""

    reused: Counter[str] = field(default_factory=Counter)
    unasked: list[_UnaskedCall] = field(default_factory=list)

    def on_reused(self, call: GenerationCall) -> None:
        self.reused[call.step.fingerprint] += 1

    def on_unasked(self, need: GenerationNeed) -> None:
        self.unasked.append(_UnaskedCall(need.call, Size.sent(need.sent), _levels_below(need)))


def _levels_below(need: GenerationNeed) -> int:
    """Return how many levels a walk would go on from a node: one path, down to a leaf."""
    return 0 if need.node is None else ParsedTree(need.node).depth - 1


class _MadeSet:
    """Counts the calls of one data set."""

    def __init__(self, plan: Plan, maker: DataMaker, one: Maker, found: GenerationForecast, slots: int) -> None:
        self.dataset, self.attempts, self.one, self.entries, self.slots = one.dataset, one.attempts, one, found, slots
        self.upstream = {maker.source.slots.upstream(one.dataset)} | data_sets_read(one.dataset)
        self.unsure = any(found.open.get(str(name)) or name in found.unsettled for name in self.upstream)
        assert maker.choice is not None
        for scenario, _ in maker.choice.point_reads.get(one.dataset.name, ()):
            rows = scenario.rows.dataset if scenario.rows is not None else ""
            self.unsure = self.unsure or bool(found.open.get(rows)) or rows in found.unsettled
        self.widest = {
            count.step: count.row[1] // (1 + one.dataset.retries)
            for count in plan.calls
            if count.scenario == one.dataset.name and count.row is not None
        }
        own = one.dataset.name.rpartition(".")[2]
        self.lines = [
            MadeCalls(
                ask,
                one.dataset.name,
                place_of(one.dataset),
                own if ask is self.attempts.author else f"{own}.{ask.name}",
                self.attempts.binding.of(ask.role)[0],
            )
            for ask in self.attempts.asks
        ]
        author = next((line for line in self.lines if line.ask is self.attempts.author), None)
        if author is not None:
            found.made_by[one.dataset.name] = (author.place, author.title, author.model)

    def count(self, unasked: list[_UnaskedCall], reused: Mapping[str, int]) -> None:
        """Count the calls that are certain, those that follow if all goes well, and those that follow a rejection."""
        dataset, one, retries = self.dataset, self.one, self.dataset.retries
        for line in self.lines:
            line.reused = reused.get(line.ask.fingerprint, 0)
        by_slot: dict[int, list[_UnaskedCall]] = {}
        for call in unasked:
            by_slot.setdefault(call.call.slot, []).append(call)
        for slot in one.open:
            waiting = by_slot.get(slot.place, [])
            first = waiting[0].call if waiting else None
            number = first.number if first is not None else 0
            reached = next((place for place, line in enumerate(self.lines) if first and line.ask is first.step), -1)
            sure = first is not None and not self.unsure and slot.place not in one.unsure
            for call in waiting:
                self._add(reached, CallCertainty.CERTAIN if sure else CallCertainty.LIKELY, call.size)
                self._add(reached, CallCertainty.LIKELY, call.size, call.levels)
            if reached >= 0:
                done = len(waiting) + sum(unasked_call.levels for unasked_call in waiting)
                size = self._size(reached, slot, again=True)
                self._add(reached, CallCertainty.SPARE, size, max(0, self._most(reached) - done))
            for place in range(reached + 1, len(self.lines)):
                size = self._size(place, slot)
                levels = self._levels(place)
                self._add(place, CallCertainty.LIKELY, size, levels)
                self._add(place, CallCertainty.SPARE, size, self._most(place) - levels)
            for place in range(len(self.lines)):
                self._add(
                    place,
                    CallCertainty.SPARE,
                    self._size(place, slot, again=True),
                    self._most(place) * (retries - number),
                )
        for slot, tried in one.unsettled:
            for place in range(len(self.lines)):
                size = self._size(place, slot, again=True)
                self._add(place, CallCertainty.SPARE, size, self._most(place) * (retries + 1 - tried))
        if self.unsure:
            self._count_unlisted(max(0, self.slots - one.filled))
        forecast = self.entries
        language = self.attempts.language
        forecast.open[dataset.name] = {slot.place: {**slot.cell, "language": language(slot)} for slot in one.open}
        if self.unsure:
            forecast.unsettled[dataset.name] = None
        elif one.unsettled:
            forecast.unsettled[dataset.name] = {slot.place for slot, _ in one.unsettled}
        forecast.calls += self.lines

    def _count_unlisted(self, slots: int) -> None:
        """Count slots for rows generated from rows that do not exist yet."""
        above = ", ".join(_rows_of(str(name)) for name in sorted(map(str, self.upstream)) if name != "None")
        for place in range(len(self.lines) if slots else 0):
            size, levels = pending_size(self.dataset.name, above), self._levels(place)
            self._add(place, CallCertainty.LIKELY, size, levels * slots)
            more = self._most(place) * (1 + self.dataset.retries) - levels
            self._add(place, CallCertainty.SPARE, size, more * slots)

    def _add(self, place: int, fate: CallCertainty, size: Size, times: int = 1) -> None:
        if times > 0:
            self.lines[place].open.append((fate, size, times))

    def _most(self, place: int) -> int:
        """Return the largest number of calls of a step in one attempt at a row."""
        return self.widest.get(self.lines[place].ask.name, 1)

    def _levels(self, place: int) -> int:
        """Return the usual number of its calls: a walk takes one path."""
        step = self._walk(place)
        if step is None:
            return 1
        tree = self.one.source.names[TREES][step.tree]
        return min(self._most(place), max((depth for depth, _ in _nodes(tree)), default=0))

    def _walk(self, place: int) -> Walk | None:
        ask = self.lines[place].ask
        return next((step for step in self.dataset.steps if isinstance(step, Walk) and step.ask is ask), None)

    def _size(self, place: int, slot: RowSlot, again: bool = False) -> Size:
        """Return the size of a prompt that contains a row not written yet, possibly of a further attempt."""
        ask, attempts = self.lines[place].ask, self.attempts
        row = {
            name: MissingValue(self.dataset.name, PENDING)
            for name in (data_field.name for data_field in self.dataset.fields)
        }
        row |= attempts.first_row(slot)
        names = attempts.names_at(slot, row)
        sizes: dict[tuple[str, ...], Size] = {
            (attempts.row_name, data_field.name): pending_size(self.dataset.name, _rows_of(self.dataset.name))
            for data_field in self.dataset.fields
            if data_field.name not in _written(self.dataset)
        }
        walk = self._walk(place)
        if walk is not None:
            names["branches"] = MissingValue(walk.name, PENDING)
            sizes["branches",] = Size(most=max((each for _, each in _nodes(self._tree(walk))), default=0))
        placeholders = SizedPlaceholders(names, sizes)
        try:
            size = placeholders.size(attempts.messages(ask, slot, names, placeholders))
        except (Unavailable, NobodyAsked):
            language = attempts.language(slot)
            note = attempts.questions.widest(ask, language).note(language)
            size = pending_size(self.dataset.name, _rows_of(self.dataset.name)) + Size.of(note)
        if not again:
            return size
        said = Size(pending=(self.dataset.name,)) if self.dataset.name in self.entries.made_by else NO_SIZE
        return size + said + Size(most=TOLD_AGAIN, messages=2)

    def _tree(self, walk: Walk) -> Mapping[str, Any]:
        tree: Mapping[str, Any] = self.one.source.names[TREES][walk.tree]
        return tree


def _nodes(tree: Mapping[str, Any], depth: int = 1) -> Iterator[tuple[int, int]]:
    """Yield every node of a tree with branches: its depth, and the total length of its branches."""
    if tree:
        yield depth, sum(len(name) + 4 for name in tree)
        for below in tree.values():
            yield from _nodes(below, depth + 1)


def _written(made: GeneratedDataset) -> frozenset[str]:
    """Return the fields that the author of a row writes."""
    author = next((step for step in made.steps if isinstance(step, Ask)), None)
    if author is None or author.returns is None or author.returns.kind != "record":
        return frozenset()
    return frozenset(author.returns.fields)


def _rows_of(dataset: str) -> str:
    return f"rows of `{dataset}` that are yet to be made"


def data_maker(plan: Plan, source: CaseSource, selection: Selection, binding: RoleBinding, ledger: Any) -> DataMaker:
    """Return a maker that asks nobody: it reads what is kept, with the available plug-ins."""
    return DataMaker(RunContext(plan, binding, source.sources, ledger), source, selection)


def _not_called(*_: Any, **__: Any) -> Any:
    """Leave open what needs a Python function of the plan."""
    raise NobodyAsked
