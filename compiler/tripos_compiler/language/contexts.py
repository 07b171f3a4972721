"""Contexts: allowed combinations of axis values (cells), selection of treatments, shared replies, subsets and clusters.

Cells are counted without enumeration wherever possible. Subsets are drawn from the whole benchmark, evenly and
deterministically.

Rows that were sampled together are one cluster: rows with the same `key`, and rows derived from one row of another data
set. Errors are computed over clusters. Only this module decides which cluster a row belongs to: a run stores it with
each of its items, and everything else reads it there.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property, lru_cache
from itertools import product
from typing import Any

from tripos_compiler.language.evaluation import Unavailable, evaluate
from tripos_compiler.language.references import names_in
from tripos_compiler.language.rows import item_id
from tripos_compiler.plan import (
    Ask,
    Axis,
    AxisValue,
    CallCount,
    Converse,
    Data,
    Dataset,
    DeclaredSettings,
    Expr,
    GeneratedDataset,
    JudgedStep,
    Plan,
    RecordType,
    Ref,
    Scenario,
    Step,
    Subset,
    Verdict,
    Verify,
    digest,
)
from tripos_compiler.source.data_classes import dataclass

# Selection of treatments

ArmSelection = Mapping[str, Collection[str]]
"""Selected values by the name of an arm; other names are ignored."""


def select_treatments(plan: Plan, only: ArmSelection) -> Plan:
    """Return the plan with the selected treatments and their calls. A scenario without the arm is kept whole. The
    fingerprints of steps, and so their stored results, do not change."""
    chosen = {arm.name: frozenset(only[arm.name]) for arm in plan.arms if arm.name in only}
    if not chosen:
        return plan
    scenarios = tuple(scenario_under(scenario, chosen) for scenario in plan.scenarios)
    calls = tuple(call_count for count in plan.calls if (call_count := _calls_under(count, chosen)) is not None)
    return plan.model_copy(update={"scenarios": scenarios, "calls": calls})


def scenario_under(scenario: Scenario, only: ArmSelection) -> Scenario:
    """Return the scenario with the selected treatments."""
    if not any(arm in only for arm in scenario.arms):
        return scenario
    treatments = tuple(treatment for treatment in scenario.treatments if _selected(treatment.arms, only))
    fields = {name: getattr(scenario, name) for name in Scenario.model_fields}
    return Scenario.model_construct(**{**fields, "treatments": treatments})


def left_out_arm_values(plan: Plan, only: ArmSelection) -> str | None:
    """Return the arm values that are not selected, in words, such as `tone warm; lesson none`; None if all are
    selected."""
    texts = []
    for arm in (chosen for chosen in plan.arms if chosen.name in only):
        values = [value.name for value in arm.values if value.name not in only[arm.name]]
        texts += [f"{arm.name} {', '.join(values)}"] if values else []
    return "; ".join(texts) or None


def _calls_under(count: CallCount, only: ArmSelection) -> CallCount | None:
    kept = tuple(arms for arms in count.arms if _selected(arms, only))
    if count.arms and not kept:
        return None
    return count if len(kept) == len(count.arms) else count.model_copy(update={"arms": kept})


def _selected(arms: Mapping[str, str], only: ArmSelection) -> bool:
    return all(arms[arm] in values for arm, values in only.items() if arm in arms)


# Steps that share replies


@dataclass(frozen=True)
class ReplySharing:
    """Steps of one treatment that share one reply, and why."""

    steps: tuple[str, ...]
    why: str

    @property
    def shown(self) -> str:
        """Line for people.

        >>> ReplySharing(("a", "b"), "same text at temperature 0").shown
        '`a`, `b` share replies: same text at temperature 0'
        """
        return f"{', '.join(f'`{step}`' for step in self.steps)} share replies: {self.why}"


def steps_sharing_replies(plan: Plan, scenario: Scenario) -> list[ReplySharing]:
    """Return every group of steps that share replies, in the order of the steps."""
    sharing: dict[ReplySharing, None] = {}
    for treatment in scenario.treatments:
        alike: dict[str, dict[str, Step]] = {}
        for step in treatment.steps:
            if isinstance(step, Ask | Converse | JudgedStep):
                name = step.judgement if isinstance(step, JudgedStep) else step.fingerprint
                role = plan.scorer(step.scorer).role if isinstance(step, JudgedStep) else ""
                alike.setdefault(f"{name} {role}", {})[_called(step)] = step
        for steps in alike.values():
            if len(steps) > 1:
                sharing[ReplySharing(tuple(steps), _why(next(iter(steps.values()))))] = None
    return list(sharing)


def _called(step: Step) -> str:
    return f"{step.scorer}(…)" if isinstance(step, Verdict) else step.name


def _why(step: Step) -> str:
    if isinstance(step, JudgedStep):
        return f"the same call of `{step.scorer}`"
    assert isinstance(step, Ask | Converse)
    return _fixed(step.settings if isinstance(step, Ask) else step.speakers[0].settings)


def _fixed(settings: DeclaredSettings) -> str:
    """Return the setting that makes replies deterministic."""
    if settings.temperature == 0:
        return "same text at temperature 0"
    seeds = " or ".join(str(value) for value in settings.values("seed") if value is not None)
    return f"same text with seed {seeds}" if seeds else "same text with top_k 1"


# Cells


def broken_guard(cell: Mapping[str, str], axes: Sequence[Axis]) -> Axis | None:
    """Return the first axis whose value is not allowed in the cell, or None."""
    return next((axis for axis in axes if not _guard_holds(_axis_value(axis, cell[axis.name]), cell)), None)


def allowed_cells(axes: Sequence[Axis]) -> Iterator[dict[str, str]]:
    """Yield every allowed cell, the last axis varying fastest."""
    names = [axis.name for axis in axes]
    for values in product(*(axis.values for axis in axes)):
        cell = {name: value.name for name, value in zip(names, values, strict=True)}
        if all(_guard_holds(value, cell) for value in values):
            yield cell


def count_cells(axes: Sequence[Axis]) -> int:
    """Return the number of allowed cells. Independent groups of axes are multiplied, not enumerated."""
    return _counted(_AxesKey(axes))


def axes_in_guards(axis: Axis) -> frozenset[str]:
    """Return the axes that the guards of an axis refer to."""
    return _looked_at(_AxesKey([axis]))


class _AxesKey(tuple[Axis, ...]):
    """Axes as a cache key, compared by the identity of the objects, since comparing their content is slow. Most
    scenarios of a benchmark share contexts."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _AxesKey) and [*map(id, self)] == [*map(id, other)]

    def __hash__(self) -> int:
        return hash(tuple(map(id, self)))


@lru_cache(maxsize=256)
def _counted(axes: _AxesKey) -> int:
    return math.prod(_count(tied) for tied in _components(axes))


@lru_cache(maxsize=256)
def _looked_at(axes: _AxesKey) -> frozenset[str]:
    guards = {id(value.guard): value.guard for axis in axes for value in axis.values if value.guard is not None}
    return frozenset(name for guard in guards.values() for name in names_in(guard))


def _count(axes: Sequence[Axis]) -> int:
    """Return the number of allowed cells of axes. Values with the same guard are tried once."""
    told_apart = {name for axis in axes for name in axes_in_guards(axis)}
    count = 0
    for picked in product(*(_alike(axis, axis.name in told_apart) for axis in axes)):
        cell = {axis.name: value.name for axis, (value, _) in zip(axes, picked, strict=True)}
        if all(_guard_holds(value, cell) for value, _ in picked):
            count += math.prod(number for _, number in picked)
    return count


def _alike(axis: Axis, told_apart: bool) -> list[tuple[AxisValue, int]]:
    """Return the values of an axis with multiplicity 1, or one representative of those with the same guard with their
    number."""
    if told_apart:
        return [(value, 1) for value in axis.values]
    numbers = Counter(id(value.guard) for value in axis.values)
    firsts = {id(value.guard): value for value in reversed(axis.values)}
    return [(value, numbers[guard]) for guard, value in firsts.items()]


def _guard_holds(value: AxisValue, cell: Mapping[str, str]) -> bool:
    return value.guard is None or bool(evaluate(value.guard, cell))


def _axis_value(axis: Axis, name: str) -> AxisValue:
    return next(value for value in axis.values if value.name == name)


def _components(axes: Sequence[Axis]) -> list[list[Axis]]:
    groups: list[list[Axis]] = []
    for axis in axes:
        mine = {axis.name} | axes_in_guards(axis)
        tied = [group for group in groups if any(a.name in mine or axis.name in axes_in_guards(a) for a in group)]
        merged = [member for group in tied for member in group] + [axis]
        groups = [group for group in groups if group not in tied] + [merged]
    order = {axis.name: index for index, axis in enumerate(axes)}
    return [sorted(group, key=lambda axis: order[axis.name]) for group in groups]


# Subsets

Drawn = frozenset[tuple[str, str]]
"""Drawn items: scenario and name of each."""

MAX_LISTED_CELLS = 100_000
"""Largest number of cells of a scenario that are enumerated. With more, a random sample of a hundred is spread well
enough."""

SPARE = 256
"""Number of surplus items of a cell that are kept before they are pruned."""

Place = Mapping[str, Any]
Parts = tuple[str | None, ...]


@dataclass(frozen=True)
class PlacedItem:
    """Item and its position in the benchmark. `name` is the `item_id` of a row from a file, or the key of the slot of a
    generated row, which is drawn before it is written. `place` has its values of the dimensions of subsets."""

    scenario: str
    name: str
    place: Place


def place_item(scenario: Scenario, name: str, context: Mapping[str, Any], fields: Mapping[str, Any]) -> PlacedItem:
    """Return an item of a scenario, placed by its axes and, under the alias of its rows, by its fields.

    >>> from tripos_compiler.plan import Rows
    >>> of = Scenario.model_construct(name="sums", rows=Rows(dataset="item", alias="q"))
    >>> place_item(of, "1f", {"level": "easy"}, {"kind": "part"}).place
    {'scenario': 'sums', 'level': 'easy', 'q.kind': 'part'}
    """
    alias = scenario.rows.alias if scenario.rows is not None else ""
    of_rows = {f"{alias}.{name}": value for name, value in fields.items()} if alias else {}
    return PlacedItem(scenario.name, name, {"scenario": scenario.name, **context, **of_rows})


def subset_places(plan: Plan, subset: Subset) -> list[Place]:
    """Return every possible place of an item of a subset; empty if the subset uses a dimension that only the items
    have."""
    axes = {axis.name: axis for axis in plan.axes}
    if not {*subset.per, *subset.spread} <= {"scenario", *axes}:
        return []
    places: list[Place] = []
    for scenario in plan.scenarios:
        if subset.scenarios and scenario.name not in subset.scenarios:
            continue
        own = [axes[name] for name in scenario.axes]
        if count_cells(own) <= MAX_LISTED_CELLS:
            places += [{"scenario": scenario.name, **cell} for cell in allowed_cells(own)]
    return places


def draw_subset(subset: Subset, items: Iterable[PlacedItem], everywhere: Iterable[Place] = ()) -> Drawn:
    """Return the items of a subset, drawn from `items`, which are all items of the benchmark. `everywhere` are its
    `subset_places`.

    In each stratum the cells of `spread` take turns. Each turn draws the item with the smallest seeded digest, until
    `take` are drawn or none is left. The order of the turns makes each value of `spread` about equally frequent; ties
    are broken by the seed.

    >>> items = [PlacedItem("s", name, {"scenario": "s", "level": name[0]}) for name in ("a1", "a2", "a3", "b1")]
    >>> few = Subset(name="few", take=2, per=("scenario",), spread=("level",), seed=0)
    >>> sorted(name[0] for _, name in draw_subset(few, items))
    ['a', 'b']
    """
    drawing = _Drawing(subset)
    for item in items:
        drawing.add(item)
    return drawing.drawn(everywhere)


def draw_subsets(plan: Plan, items: Iterable[PlacedItem]) -> dict[str, Drawn]:
    """Return the items of every subset of a plan, by name, in one pass over all items of the benchmark."""
    drawings = [_Drawing(subset) for subset in plan.subsets]
    for item in items:
        for drawing in drawings:
            drawing.add(item)
    return {one.subset.name: one.drawn(subset_places(plan, one.subset)) for one in drawings}


class _Drawing:
    """Draw in progress. It keeps only as many items of each cell as can be drawn."""

    def __init__(self, subset: Subset) -> None:
        self.subset = subset
        self._strata: dict[str, dict[Parts, dict[tuple[str, str], str]]] = {}

    def add(self, item: PlacedItem) -> None:
        """Add an item."""
        if self.subset.scenarios and item.scenario not in self.subset.scenarios:
            return
        key, take = (item.scenario, item.name), self.subset.take
        cells_of = self._strata.setdefault(_stratum(self.subset, item.place), {})
        cell = cells_of.setdefault(_parts(self.subset, item.place), {})
        cell[key] = digest([self.subset.seed, *key])
        if len(cell) > 2 * take + SPARE:
            first = sorted(cell, key=cell.__getitem__)[:take]
            cells_of[_parts(self.subset, item.place)] = {name: cell[name] for name in first}

    def drawn(self, everywhere: Iterable[Place]) -> Drawn:
        """Return the items drawn from those added so far."""
        subset = self.subset
        known: dict[str, set[Parts]] = {}
        for place in everywhere:
            known.setdefault(_stratum(subset, place), set()).add(_parts(subset, place))
        drawn: set[tuple[str, str]] = set()
        for stratum, by_cell in self._strata.items():
            order = _turns(subset, stratum, known.get(stratum, set()), by_cell)
            queues = [sorted(by_cell[cell], key=by_cell[cell].__getitem__) for cell in order]
            turns = [key for turn in range(subset.take) for queue in queues for key in queue[turn : turn + 1]]
            drawn.update(turns[: subset.take])
        return frozenset(drawn)


def _turns(subset: Subset, stratum: str, known: set[Parts], there: Iterable[Parts]) -> list[Parts]:
    """Return the non-empty cells in the order of their turns. If an axis is a field of the rows, contexts do not
    determine the cells, and the cells of the items are balanced instead."""
    own = set(there)
    balanced = _balanced(subset, stratum, own if known and known.isdisjoint(own) else known)
    first = {cell: turn for turn, cell in enumerate(balanced)}
    return sorted(own, key=lambda cell: (first.get(cell, subset.take), _chance(subset, stratum, cell)))


def _balanced(subset: Subset, stratum: str, known: set[Parts]) -> list[Parts]:
    """Return the cells with the first turns: repeatedly the one whose parts were taken least, with ties broken by the
    seed."""
    waiting = sorted(known, key=lambda cell: _chance(subset, stratum, cell))
    taken: Counter[tuple[int, str | None]] = Counter()
    order: list[Parts] = []
    while waiting and len(order) < subset.take:
        best = min(range(len(waiting)), key=lambda at: sum(taken[part] for part in enumerate(waiting[at])))
        cell = waiting.pop(best)
        order.append(cell)
        taken.update(enumerate(cell))
    return order


def _chance(subset: Subset, stratum: str, cell: Parts) -> str:
    return digest([subset.seed, stratum, list(cell)])


def _stratum(subset: Subset, place: Place) -> str:
    return digest([_place_value(place, name) for name in subset.per])


def _parts(subset: Subset, place: Place) -> Parts:
    return tuple(_place_value(place, name) for name in subset.spread)


def _place_value(place: Place, name: str) -> str | None:
    value = place.get(name)
    return None if value is None else str(value)


# Clusters


@dataclass(frozen=True)
class Clustering:
    """Clustering of the items of some scenarios, and the number of clusters."""

    by: str
    scenarios: tuple[str, ...]
    clusters: int
    items: int
    complete: bool
    """Whether these are all scenarios of the benchmark."""

    @property
    def sentence(self) -> str:
        """Return it as a sentence.

        >>> Clustering("`passage`", ("s",), 10, 100, True).sentence
        'intervals cluster by `passage`: 10 clusters of 100 items'
        """
        where = "" if self.complete else f" in {', '.join(f'`{name}`' for name in self.scenarios)}"
        many = f"{self.clusters:,} cluster{'' if self.clusters == 1 else 's'}"
        return f"intervals cluster by {self.by}{where}: {many} of {self.items:,} items"

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "by": self.by.replace("`", ""),
            "scenarios": list(self.scenarios),
            "clusters": self.clusters,
            "items": self.items,
        }


@dataclass(frozen=True)
class RowClusters:
    """Clusters of the rows of a plan's data sets.

    A row belongs to the cluster of its `key`, in any data set. A row without one belongs to the cluster of the row or
    the value from which it was derived. Any other row is a cluster of its own.
    """

    plan: Plan
    _by: dict[str, str | None] = field(default_factory=dict, init=False)

    @cached_property
    def scenarios(self) -> Mapping[str, str]:
        """Clustering variable of each scenario whose rows may share a cluster."""
        clustered = {
            scenario.name: self.by(scenario.rows.dataset) or self._shared(scenario.rows.dataset)
            for scenario in self.plan.scenarios
            if scenario.rows is not None
        }
        return {name: by for name, by in clustered.items() if by is not None}

    def count(self, members: Mapping[str, Iterable[tuple[str, str]]]) -> tuple[Clustering, ...]:
        """Return the clusterings of scenarios in which items share clusters. `members` has item and cluster of each
        row, by scenario."""
        clusterings = []
        for by in dict.fromkeys(self.scenarios.values()):
            names = tuple(name for name in members if self.scenarios.get(name) == by)
            pairs = {pair for name in names for pair in members[name]}
            clusters, items = ({pair[place] for pair in pairs} for place in (1, 0))
            if len(clusters) < len(items):
                whole = len(names) == len(self.plan.scenarios)
                clusterings.append(Clustering(by, names, len(clusters), len(items), whole))
        return tuple(clusterings)

    def of(self, scenario: str, dataset: str | None, values: Mapping[str, Any]) -> str | None:
        """Return the cluster of a row of a scenario; None if it is a cluster of its own."""
        return self._of(dataset, values) if dataset is not None and scenario in self.scenarios else None

    def has_key(self, name: str, values: Mapping[str, Any]) -> bool:
        """Return true if the key of a row is known or its data set has none. The key of a row that is not yet generated
        may be written later."""
        key = self._datasets[name].key
        return key is None or _key_value(key, values) is not None

    def by(self, name: str) -> str | None:
        """Return the clustering variable of a data set in words; None if each row is its own cluster.

        A generated data set derives several rows from one source row if it has several cells or a `count`.
        """
        if name not in self._by:
            self._by[name] = self._named(name)
        return self._by[name]

    def _named(self, name: str) -> str | None:
        dataset = self._datasets[name]
        if dataset.key is not None:
            return f"`{'.'.join(dataset.key.path)}`" if isinstance(dataset.key, Ref) else f"the key of `{name}`"
        if isinstance(dataset, Dataset) or dataset.source is None:
            return None
        above = self._source(dataset)
        if above is not None and (by := self.by(above)) is not None:
            return by
        axes = [axis for axis in self.plan.axes if axis.name in dataset.axes]
        if dataset.count * count_cells(axes) < 2:
            return None
        return f"the row of `{above}`" if above is not None else f"`{dataset.alias}`"

    def _shared(self, name: str) -> str | None:
        """Return the source of a data set whose rows scenarios run over in several forms."""
        root = self._root(name)
        forms = {scenario.rows.dataset for scenario in self.plan.scenarios if scenario.rows is not None}
        return f"the row of `{root}`" if any(form != name and self._root(form) == root for form in forms) else None

    def _root(self, name: str) -> str:
        dataset = self._datasets[name]
        above = self._source(dataset) if isinstance(dataset, GeneratedDataset) else None
        return name if above is None else self._root(above)

    def _of(self, name: str, values: Mapping[str, Any]) -> str | None:
        dataset = self._datasets[name]
        key = None if dataset.key is None else _key_value(dataset.key, values)
        if key is not None:
            return digest(["cluster", key])
        if isinstance(dataset, Dataset) or dataset.source is None:
            return None
        above = self._source(dataset)
        if above is None:
            own = _own_fields(dataset)
            return digest(["value", {name: value for name, value in values.items() if name not in own}])
        source = {
            data_field.name: values[data_field.name]
            for data_field in self._datasets[above].fields
            if data_field.name in values
        }
        return self._of(above, source) or item_id(source)

    def _source(self, made: GeneratedDataset) -> str | None:
        """Return the data set from whose rows a data set is derived, row by row."""
        source = made.source
        return source.dataset if isinstance(source, Data) and source.field is None else None

    @cached_property
    def _datasets(self) -> Mapping[str, Dataset | GeneratedDataset]:
        by_name: dict[str, Dataset | GeneratedDataset] = {dataset.name: dataset for dataset in self.plan.datasets}
        return by_name | {dataset.name: dataset for dataset in self.plan.made}


def _own_fields(made: GeneratedDataset) -> set[str]:
    """Return the fields of a row that do not come from the value from which it was derived."""
    fields = set(made.axes)
    for step in made.steps:
        if isinstance(step, Ask):
            fields |= set(step.returns.fields) if isinstance(step.returns, RecordType) else {step.name}
        elif not isinstance(step, Verify):
            fields.add(step.name)
    return fields


def _key_value(key: Expr, values: Mapping[str, Any]) -> Any:
    """Return the key of a row, or None if it has none."""
    try:
        value = evaluate(key, values)
    except (Unavailable, LookupError):  # of a row that is yet to be made some fields are not there
        return None
    return sorted(value) if isinstance(value, frozenset | set) else value
