"""The cases of a plan: the rows of every scenario, each with its values of the scenario's axes, built one at a time."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from functools import cached_property, partial
from typing import Any

from tripos_compiler.language.contexts import (
    Clustering,
    Drawn,
    PlacedItem,
    RowClusters,
    allowed_cells,
    draw_subsets,
    place_item,
)
from tripos_compiler.language.evaluation import Unavailable, evaluate
from tripos_compiler.plan import Axis, Expr, Plan, Rows, Scenario, Subset, digest
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.inputs import DataError
from tripos_runtime.datasets.data_files import DataFolders
from tripos_runtime.datasets.generated_rows import Origins
from tripos_runtime.datasets.selection import Selection
from tripos_runtime.datasets.slots import SlotChoice, SlotSource, chosen_slots, known_fields, known_slots
from tripos_runtime.datasets.sources import Origin, SourceRow, Sources
from tripos_runtime.datasets.trust import Trust

MOST_LISTED = 10_000_000
"""The largest number of contexts that are listed for a scenario without rows."""


@dataclass(frozen=True)
class SubsetTags:
    """The drawn items of every subset of a plan, by its name."""

    source: CaseSource
    drawn: Mapping[str, Drawn]

    def of(self, case: Case) -> list[str] | None:
        """Return the subsets of a case, in the order of the plan; `None` if the plan has none."""
        if not self.drawn:
            return None
        key = (case.scenario.name, self.source.draw_name(case))
        return [name for name, drawn in self.drawn.items() if key in drawn]


def drawn_counts(source: CaseSource) -> dict[str, int]:
    """Return the number of items of every subset, counted over all scenarios. The result is empty if some items depend
    on rows that are not generated yet, or data cannot be read, which a run then reports."""
    if not source.plan.subsets or not all(map(source.is_listable, source.plan.scenarios)):
        return {}
    try:
        return {name: len(drawn) for name, drawn in source.drawn().items()}
    except DataError:
        return {}


@dataclass(frozen=True)
class Case:
    """One row of one scenario. `context` maps each axis to a value; `names` are the values for its expressions;
    `origin` is the position of the row in its file, `None` for a case of axes only; `origins` says how a generated row
    was made."""

    scenario: Scenario
    item_id: str
    context: Mapping[str, str]
    fields: Mapping[str, Any]
    dataset: str | None
    names: Mapping[str, Any]
    origin: Origin | None = None
    origins: Origins | None = None

    @property
    def language(self) -> str:
        """The language in which the case is asked and graded."""
        return self.context["language"]


def drawn_order_key(seed: int, case: Case) -> str:
    """Return a case's sort key in the order drawn by a seed, independent of the order of its file. A run over some
    drawn items of a scenario uses the first ones of this order."""
    return digest([seed, case.scenario.name, case.item_id])


@dataclass(frozen=True)
class CaseSource:
    """Builds the cases of a plan from its data files, which are searched relative to `spec_files`, the paths of the
    spec, and in the reader's folders."""

    plan: Plan
    reader: DataFolders
    spec_files: tuple[str, ...]
    axes: Mapping[str, Axis] = field(init=False)
    sources: Sources = field(init=False)
    withheld: dict[str, frozenset[str]] = field(default_factory=dict, init=False)
    """The items of each scenario that a release withholds and whose text is not available: they have no case."""
    public_drawn: dict[str, Drawn] = field(default_factory=dict, init=False)
    """The items of the subsets as drawn from all items, if some are withheld."""
    _drawn: dict[tuple[str, ...], Mapping[str, Drawn]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        axes = {axis.name: axis for axis in self.plan.axes}
        object.__setattr__(self, "axes", axes)
        object.__setattr__(self, "sources", Sources(self.plan, self.reader, self.spec_files, axes))

    @property
    def trust(self) -> Trust:
        """The permissions of the benchmark on this machine, and the limits of its files."""
        return self.reader.trust

    def cases(self, selection: Selection) -> Iterator[Case]:
        """Yield the cases, one of each scenario in turn, so that an interrupted run has some of each. A run with a
        stopping rule gets them in one random order."""
        if selection.until is not None:
            cases = self.cases_of(selection.chosen(self.plan), selection)
            yield from sorted(cases, key=partial(drawn_order_key, selection.until.seed))
            return
        iterators = [self.of(scenario, selection) for scenario in selection.chosen(self.plan)]
        while iterators:
            unfinished = []
            for iterator in iterators:
                case = next(iterator, None)
                if case is not None:
                    yield case
                    unfinished.append(iterator)
            iterators = unfinished

    def cases_of(self, scenarios: Iterable[Scenario], selection: Selection) -> Iterator[Case]:
        """Yield the selected cases of some scenarios, one scenario after another."""
        return (case for scenario in scenarios for case in self.of(scenario, selection))

    def of(self, scenario: Scenario, selection: Selection) -> Iterator[Case]:
        """Yield the selected cases of one scenario."""
        shard, cases = selection.shard, self._of(scenario, selection)
        return cases if shard is None else (case for case in cases if shard.has(case.item_id))

    def _of(self, scenario: Scenario, selection: Selection) -> Iterator[Case]:
        """Yield the selected cases of all shards."""
        first_only = selection.limit is not None and selection.seed is None
        cases = (case for case in self._all_cases(scenario, first_only=first_only) if selection.allows(case.context))
        if selection.drawn is not None and not self._is_generated(scenario):
            cases = (case for case in cases if selection.holds(scenario.name, case.item_id))
        if selection.limit is None or self._is_generated(scenario):  # generated rows were selected before generation
            yield from cases
        elif selection.seed is None:
            for _, case in zip(range(selection.limit), cases, strict=False):
                yield case
        else:
            # The rows with the smallest seeded digests: the draw does not depend on file order.
            yield from heapq.nsmallest(selection.limit, cases, key=partial(drawn_order_key, selection.seed))

    def count(self, scenario: Scenario, selection: Selection) -> int:
        """Return the number of cases of a scenario in a run. If the plan does not determine it, the cases are read and
        counted; for rows that are not generated yet it is the largest number possible."""
        if self._is_generated(scenario):
            if scenario.rows is not None and scenario.rows.dataset not in self.sources.generated.rows:
                return self._expected(scenario, selection)
            return sum(1 for _ in self.of(scenario, selection))
        if (
            selection.only
            or selection.drawn is not None
            or selection.shard is not None
            or scenario.name in self.withheld
        ):
            return sum(1 for _ in self.of(scenario, selection))
        return scenario.row_count if selection.limit is None else min(selection.limit, scenario.row_count)

    def in_subset(self, selection: Selection, subset: Subset) -> Selection:
        """Return the selection with the items of a subset, drawn from the whole benchmark whatever is selected."""
        return replace(selection, subset=subset, drawn=self.drawn()[subset.name])

    def drawn(self) -> Mapping[str, Drawn]:
        """Return the items of every subset of the plan, by its name. A scenario whose slots depend on data not
        generated yet contributes none."""
        if not self.plan.subsets:
            return {}
        if self.public_drawn:
            return self.public_drawn
        listable = [scenario for scenario in self.plan.scenarios if self.is_listable(scenario)]
        names = tuple(scenario.name for scenario in listable)
        if names not in self._drawn:
            items = (item for scenario in listable for item in self._placed(scenario))
            self._drawn[names] = draw_subsets(self.plan, items)
        return self._drawn[names]

    def draw_name(self, case: Case) -> str:
        """Return the name by which a case is drawn; for a generated one, the name of its slot."""
        if not self._is_generated(case.scenario) or case.origin is None or case.dataset is None:
            return case.item_id
        return self.slots.slot_at(self.slots.by_name[case.dataset], case.origin[1]).key

    def is_listable(self, scenario: Scenario) -> bool:
        """Return true if the items of a scenario, or their slots, can be listed now."""
        if scenario.rows is None or not self._is_generated(scenario):
            return True
        return self.slots.is_listable(self.slots.by_name[scenario.rows.dataset])

    def _placed(self, scenario: Scenario) -> Iterator[PlacedItem]:
        if self._is_generated(scenario):
            for slot, known in known_slots(self.slots, scenario):
                yield place_item(scenario, slot.key, known, known)
            return
        for case in self._all_cases(scenario):
            yield place_item(scenario, case.item_id, case.context, case.fields)

    @cached_property
    def clusters(self) -> RowClusters:
        """The clusters of rows that were sampled together, by which standard errors are computed."""
        return RowClusters(self.plan)

    def cluster(self, case: Case) -> str | None:
        """Return the cluster of a case; None if the case is its own cluster."""
        return self.clusters.of(case.scenario.name, case.dataset, case.fields)

    def clusterings(self, selection: Selection) -> tuple[Clustering, ...]:
        """Return the clusterings of the selected cases, if several cases share a cluster. For rows that are not
        generated yet, the clusters are those that their sources determine."""
        chosen = [scenario for scenario in selection.chosen(self.plan) if scenario.name in self.clusters.scenarios]
        return self.clusters.count({scenario.name: list(self._members(scenario, selection)) for scenario in chosen})

    def _members(self, scenario: Scenario, selection: Selection) -> Iterator[tuple[str, str]]:
        """Yield the item and the cluster of each case."""
        if scenario.rows is None or not self.is_ungenerated(scenario):
            for case in self.of(scenario, selection):
                yield case.item_id, self.cluster(case) or case.item_id
            return
        dataset = self.slots.by_name[scenario.rows.dataset]
        if self.slots.is_listable(dataset):
            for slot in chosen_slots(self.slots, scenario, selection):
                known = known_fields(self.slots, dataset, slot)
                if dataset.alias is not None and slot.source is not None and not isinstance(slot.source, Mapping):
                    known[dataset.alias] = slot.source
                named = self.clusters.has_key(dataset.name, known)
                yield slot.key, (self.clusters.of(scenario.name, dataset.name, known) if named else None) or slot.key

    def counts(self, selection: Selection) -> dict[str, int]:
        """Return the number of cases of every selected scenario in a run."""
        return {scenario.name: self.count(scenario, selection) for scenario in selection.chosen(self.plan)}

    def withheld_counts(self, selection: Selection) -> dict[str, int]:
        """Return the number of withheld items of every selected scenario that has some, within the subset if one is
        selected."""
        withheld = {
            scenario.name: self.withheld.get(scenario.name, frozenset()) for scenario in selection.chosen(self.plan)
        }
        counts = {name: sum(selection.holds(name, item) for item in items) for name, items in withheld.items()}
        return {name: count for name, count in counts.items() if count}

    def slot_counts(self, selection: Selection) -> dict[str, int]:
        """Return the largest number of slots needed of every data set that is not generated yet."""
        counts = SlotChoice(self.slots, selection).counts()
        return {name: count for name, count in counts.items() if name not in self.sources.generated.frozen}

    def _all_cases(self, scenario: Scenario, *, first_only: bool = False) -> Iterator[Case]:
        """Yield every case; with `first_only`, the caller takes only the first ones. Raises `DataError` if there are
        too many contexts to list."""
        if scenario.rows is None:
            axes = [self.axes[name] for name in scenario.axes]
            for number, cell in enumerate(allowed_cells(axes)):
                if (number == 0 and scenario.cells > MOST_LISTED and not first_only) or number >= MOST_LISTED:
                    message = (
                        f"`{scenario.name}` has {scenario.cells:,} contexts, and {MOST_LISTED:,} are listed at most"
                    )
                    raise DataError(message, "use fewer axes or values, or take some of them: --limit N")
                yield Case(scenario, digest(cell), cell, {}, None, {**cell, **self.sources.names})
            return
        for row in self.sources.rows_of(scenario.rows.dataset, scenario.name):
            case = self._case(scenario, scenario.rows, row)
            if case is not None:
                yield case

    def case_of(self, scenario: Scenario, row: SourceRow) -> Case | None:
        """Return the case of a scenario for a row, which may come from other data with the same fields; None if the
        scenario's own condition is false for it."""
        return None if scenario.rows is None else self._case(scenario, scenario.rows, row)

    def _case(self, scenario: Scenario, rows: Rows, row: SourceRow) -> Case | None:
        fields = row.values
        context = {name: fields[name] if name in fields else self.axes[name].values[0].name for name in scenario.axes}
        names = {**context, rows.alias: fields, **self.sources.names}
        if rows.where is not None and not self._holds(rows.where, names, row):
            return None
        return Case(scenario, row.item_id, context, fields, rows.dataset, names, row.origin, row.origins)

    def _holds(self, where: Expr, names: Mapping[str, Any], row: SourceRow) -> bool:
        try:
            return bool(evaluate(where, names))
        except Unavailable:
            if row.origins is None:  # for rows of files the compiler has checked that the condition has a value
                raise
            return False

    def _expected(self, scenario: Scenario, selection: Selection) -> int:
        """Return the largest number of rows of a scenario before they are generated."""
        most = scenario.row_count if selection.limit is None else min(selection.limit, scenario.row_count)
        assert scenario.rows is not None
        takes_any_slot = not selection.only and selection.drawn is None
        if takes_any_slot or not self.slots.is_listable(self.slots.by_name[scenario.rows.dataset]):
            return most
        return sum(1 for _ in chosen_slots(self.slots, scenario, selection))

    def unmade(self, selection: Selection) -> tuple[str, ...]:
        """Return the data sets that models write during the run, including those from which others are generated."""
        frozen = self.sources.generated.frozen
        return tuple(name for name in SlotChoice(self.slots, selection).order if name not in frozen)

    def has_ungenerated(self, selection: Selection) -> bool:
        """Return true if models write rows of a selected scenario during the run."""
        frozen = self.sources.generated.frozen
        rows = [scenario.rows for scenario in selection.chosen(self.plan) if self._is_generated(scenario)]
        return any(row is not None and row.dataset not in frozen for row in rows)

    def is_ungenerated(self, scenario: Scenario) -> bool:
        """Return true if the rows of a scenario are not generated yet."""
        return (
            self._is_generated(scenario)
            and scenario.rows is not None
            and scenario.rows.dataset not in self.sources.generated.rows
        )

    def _is_generated(self, scenario: Scenario) -> bool:
        return scenario.rows is not None and scenario.rows.dataset in self.slots.by_name

    @cached_property
    def slots(self) -> SlotSource:
        """The slots of the generated data sets."""
        sources = self.sources

        def read(name: str) -> Iterator[Mapping[str, Any]]:
            return (row.values for row in sources.rows_of(name))

        return SlotSource(self.plan, self.axes, sources.names, read, sources.generated)


@dataclass(frozen=True)
class PlannedStepCalls:
    """The calls of a step for the selected cases, over all models of its role: the expected number, the smallest and
    the largest. `place` is its scenario or generated data set; `arms` are the treatments that share the calls."""

    place: str
    step: str
    role: str
    arms: tuple[Mapping[str, str], ...]
    least: int
    calls: int
    most: int


def planned_steps(
    plan: Plan, cases: Mapping[str, int], models: Mapping[str, int], slots: Mapping[str, int] | None = None
) -> list[PlannedStepCalls]:
    """Return the model calls of every step, given the numbers of cases of each scenario and of models in each role. The
    calls of generated data sets come first, for the given numbers of their `slots`, or for all."""
    planned: list[PlannedStepCalls] = []
    rows = {scenario.name: max(scenario.row_count, 1) for scenario in plan.scenarios}
    rows |= {dataset.name: max(dataset.rows, 1) for dataset in plan.made}
    parts = {**({dataset.name: dataset.rows for dataset in plan.made} if slots is None else slots), **cases}
    for count in plan.calls:
        if count.scenario not in parts:
            continue
        part, total = parts[count.scenario], rows[count.scenario]
        times = math.prod(models.get(role, 1) for role in count.times)
        if count.pairs is not None:
            models_in_pairs = models.get(count.pairs, 1)
            times *= models_in_pairs * (models_in_pairs - 1)
        least, calls, most = (each * part // total for each in (count.least, count.calls, count.most))
        if count.row is not None and part < total:  # rows differ in their calls, and which ones are run is unknown here
            row_least, row_most = count.row
            least = max(row_least * part, count.least - row_most * (total - part))
            most = min(row_most * part, count.most)
            calls = min(max(calls, least), most)
        least, calls, most = least * times, calls * times, most * times
        planned.append(PlannedStepCalls(count.scenario, count.step, count.role, count.arms, least, calls, most))
    return planned


def planned_calls(plan: Plan, cases: Mapping[str, int], models: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """Return the model calls by scenario and role, given the numbers of cases of each scenario and of models in each
    role."""
    planned: dict[str, dict[str, int]] = {}
    for planned_step in planned_steps(plan, cases, models):
        if planned_step.place in cases:
            by_role = planned.setdefault(planned_step.place, {})
            by_role[planned_step.role] = by_role.get(planned_step.role, 0) + planned_step.calls
    return planned
