"""Dependencies of a measure: all parts of a plan on which its figures depend, and the changes of a plan that affect it.

Two plans with equal dependencies give equal figures for equal rows. The rows of a run do not follow from its plan
alone: the models of roles, the selected items and the values of their fields are in the store.

A slice of a measure, and a cell of its dimensions, exclude treatments and items. Excluded parts are not dependencies,
unless other cells or all models enter the figure of one cell; then nothing counts as excluded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tripos_compiler.language.aggregates import is_of_all_models
from tripos_compiler.language.figures import aggregates_of, measures_of, walk
from tripos_compiler.language.plan_diff import Change
from tripos_compiler.language.references import (
    direct_dependencies,
    expressions_of,
    paths_in,
    printed_axes,
    row_identity,
)
from tripos_compiler.language.scored_values import ScoredStep, scored_inputs, scored_values_of
from tripos_compiler.plan import (
    BUILT_IN_DIMENSIONS,
    Aggregate,
    Constant,
    Converse,
    Figure,
    Formula,
    Grade,
    JudgedStep,
    Measure,
    Measured,
    Part,
    Plan,
    Scenario,
    Step,
    Treatment,
    digest,
    named,
)
from tripos_compiler.plan.steps import field_marks
from tripos_compiler.source.data_classes import dataclass

Values = dict[str, frozenset[str]]
Cut = tuple[tuple[str, frozenset[str]], ...]
GROUP = ".group"
"""Suffix of a dimension by the groups of an axis."""


@dataclass(frozen=True)
class MeasureDependencies:
    """Parts of a plan on which figures of a measure depend."""

    digest: str
    """Digest of the formula with the measures that it names, of the steps whose values it takes with all that
    determines them, and of what assigns them to cells."""
    rows: str
    """Digest of what determines the rows of its scenarios: data, conditions, or axes if there are only these."""
    prints: frozenset[tuple[str, str]]
    """Scenario and fingerprint of every step whose values it takes."""
    measures: frozenset[str]
    scenarios: frozenset[str]
    steps: frozenset[tuple[str, str]]
    """Scenario and name of these steps and of all steps on which they depend."""
    stale: frozenset[str]
    """Fingerprints of `steps`."""
    roles: frozenset[str]
    metrics: frozenset[str]
    datasets: frozenset[str]
    """Data sets whose rows the scenarios run over."""
    axes: frozenset[str]
    fields: Mapping[str, frozenset[str] | None]
    """By scenario, the fields of a row that steps and cells read; `None` for all."""
    cuts: Mapping[str, tuple[Cut, ...]]
    """By scenario, the values of axes that an item must have for each part of the figure; an item is included if it
    satisfies any part."""
    of_all_models: bool
    """Whether the figure of a model depends on the other compared models."""

    def includes_item(self, scenario: str, context: Mapping[str, str]) -> bool:
        """Return true if the figure includes items of a scenario with that context."""
        return any(
            all(axis not in context or context[axis] in values for axis, values in cut)
            for cut in self.cuts.get(scenario, ())
        )


def dependencies_of(plan: Plan, measure: Measure, cell: Sequence[str | None] = ()) -> MeasureDependencies:
    """Return the dependencies of a measure of a plan, in one cell of its dimensions or, without one, as a whole."""
    collector = _DependencyCollector(plan, _has_independent_cells(plan, measure))
    definition = collector.measure(measure, collector.cut_of(dict(zip(measure.by, cell, strict=False))))
    steps = {(scenario.name, step.name): step for scenario, _, step in collector.giving}
    prints = frozenset((scenario.name, step.fingerprint) for scenario, _, step in collector.giving)
    built_on = {
        (scenario.name, step.name): step
        for scenario, treatment, giving in collector.giving
        for step in _closure(treatment, giving)
    }
    every = [*built_on.values()]
    scorers = [plan.scorer(step.scorer) for step in every if isinstance(step, JudgedStep)]
    judging = {
        role for step in steps.values() if isinstance(step, JudgedStep) for role in plan.scorer(step.scorer).roles
    }
    metrics = frozenset(name for step in every if isinstance(step, Grade) for name in step.metrics)
    scenarios = {scenario.name: scenario for scenario, _, _ in collector.giving}
    rows = [scenario.rows for scenario in scenarios.values() if scenario.rows is not None]
    roles = {role for step in every for role in _roles(step)} | {role for scorer in scorers for role in scorer.roles}
    # The printed text of a step is in its fingerprint; groups of axes and dimensions of metrics, which form cells,
    # are not.
    cells = [
        {name: _groups(plan, name) for name in sorted(collector.dimensions) if name.endswith(GROUP)},
        {name: plan.metric(name).dimension for name in sorted(metrics) if "dimension" in collector.dimensions},
        {name: [plan.role(name).kind, plan.role(name).with_people] for name in sorted(judging)},
    ]
    return MeasureDependencies(
        digest([definition, sorted(collector.sources), cells]),
        digest([_rows(plan, scenarios[name]) for name in sorted(scenarios)]),
        prints,
        frozenset(collector.measures),
        frozenset(scenarios),
        frozenset(built_on),
        frozenset(each for step in every for each in (step.fingerprint, getattr(step, "judgement", step.fingerprint))),
        frozenset(roles),
        metrics,
        frozenset(row.dataset for row in rows),
        frozenset(axis for part in (*every, *scorers) for axis in printed_axes(part))
        | {name.removesuffix(GROUP) for name in collector.dimensions},
        {name: _fields(scenario, built_on, scorers, collector.dimensions) for name, scenario in scenarios.items()},
        {name: tuple(sorted(cuts, key=repr)) for name, cuts in collector.cuts.items()},
        collector.of_all_models,
    )


def _has_independent_cells(plan: Plan, measure: Measure) -> bool:
    """Return true if the figure of a cell or slice depends only on its own rows."""
    measures = measures_of(plan)
    named_by = {part.measure for part in walk(measure.figure, measures) if isinstance(part, Measured)} | {measure.name}
    own = [measures[name] for name in named_by]
    if any(each.corrected or each.missing == "paired" for each in own):
        return False
    return not any(is_of_all_models(aggregate) for aggregate in aggregates_of(measure.figure, measures))


class _DependencyCollector:
    """Traversal of the figures in a measure that collects their dependencies. `exclusive`: slices and cells exclude the
    rows that they do not name."""

    def __init__(self, plan: Plan, independent_cells: bool) -> None:
        self.plan = plan
        self.exclusive = independent_cells
        self.cuts: dict[str, set[Cut]] = {}
        self.values = scored_values_of(plan)
        self.measures: set[str] = set()
        self.dimensions: set[str] = set()
        self.giving: list[tuple[Scenario, Treatment, Step]] = []
        self.sources: set[str] = set()
        self.of_all_models = False

    def cut_of(self, values: Mapping[str, str | None]) -> Values:
        """Return the values of axes and arms, and the scenarios, that a slice or a cell selects."""
        found: Values = {}
        axes = {axis.name: axis for axis in self.plan.axes}
        for name, value in values.items() if self.exclusive else ():
            axis = axes.get(name.removesuffix(GROUP))
            if value is None:
                continue
            if axis is not None and name.endswith(GROUP):
                found[axis.name] = frozenset(axis_value.name for axis_value in axis.values if axis_value.group == value)
            elif name not in BUILT_IN_DIMENSIONS or name == "scenario":
                found[name] = frozenset((value,))
        return found

    def measure(self, measure: Measure, cut: Values) -> Any:
        """Return the complete definition of a measure, as JSON values."""
        self.measures.add(measure.name)
        self.dimensions |= {*measure.by}
        apart = {"name", "lower_is_better", "higher_is_better", "until", "figure"}
        own = measure.model_dump(mode="json", exclude=apart)
        return [own, self.figure(measure.figure, cut)]

    def figure(self, figure: Figure, cut: Values) -> Any:
        match figure:
            case Aggregate():
                return self.aggregate(figure, cut)
            case Formula(operator="overall", values=(of,), over=over):
                self.dimensions |= {*over}
                axes = {dim.removesuffix(GROUP) for dim in over}
                return ["overall", over, self.figure(of, {name: cut[name] for name in cut if name not in axes})]
            case Formula(values=values):
                return [figure.operator, *(self.figure(value, cut) for value in values)]
            case Measured(measure=name):
                self.dimensions |= {*figure.slice}
                inner = {**cut, **self.cut_of(figure.slice)}
                return [figure.slice, self.measure(named(self.plan.measures, name), inner)]
            case Constant(value=value):
                return value

    def aggregate(self, figure: Aggregate, cut: Values) -> Any:
        self.dimensions |= {*figure.by}
        self.of_all_models |= is_of_all_models(figure)
        own = figure.model_dump(mode="json", exclude={"of"})
        version = [
            plugin.version for plugin in self.plan.plugins if plugin.name == figure.function and plugin.aggregate
        ]
        if figure.of is not None:
            self.dimensions |= {*figure.of.by}
            cells = self.figure(figure.of, cut)
            return [own, version, cells if isinstance(figure.of, Aggregate) else [figure.of.by, cells]]
        steps = scored_inputs(self.values, figure)
        for scored in steps:
            self._take(scored, cut)
        return [own, version, [[step.kind, step.type.model_dump(mode="json")] for step in steps]]

    def _take(self, scored: ScoredStep, cut: Values) -> None:
        self.of_all_models |= scored.kind == "compare"
        own = {(step.name, step.fingerprint) for step in scored.steps}
        for scenario in scored.scenarios:
            if scenario.name not in cut.get("scenario", (scenario.name,)):
                continue
            placed = tuple((axis, cut[axis]) for axis in sorted(scenario.axes) if axis in cut)
            for treatment in scenario.treatments:
                if any(value not in cut.get(arm, (value,)) for arm, value in treatment.arms.items()):
                    continue
                for step in treatment.steps:
                    if (step.name, step.fingerprint) not in own:
                        continue
                    self.cuts.setdefault(scenario.name, set()).add(placed)
                    self.giving.append((scenario, treatment, step))
                    source = [scored.name, scenario.name, treatment.arms, step.name, step.fingerprint]
                    self.sources.add(digest([*source, _weights(step, scored)]))


def _weights(step: Step, scored: ScoredStep) -> Any:
    """Return the weights of the metrics of a grade that a figure takes."""
    if not isinstance(step, Grade):
        return None
    weights = dict(zip(step.metrics, step.weights or (1.0,) * len(step.metrics), strict=True))
    return weights.get(scored.name) if scored.kind == "metric" else weights


def _closure(treatment: Treatment, giving: Step) -> Iterator[Step]:
    """Yield a step and all steps of its treatment on which it depends. Steps that share a name with one of them are
    included."""
    waiting, seen = [giving.name], {giving.name}
    while waiting:
        name = waiting.pop()
        for step in treatment.steps:
            if step.name != name:
                continue
            yield step
            on = {*step.needs, *direct_dependencies(step), getattr(step, "of", step.name)}
            more = {each for need in on for each in (need, need.partition(".")[0])} - seen
            seen |= more
            waiting += sorted(more)


def _roles(step: Step) -> Iterator[str]:
    parts: tuple[Part, ...] = (step, *(step.speakers if isinstance(step, Converse) else ()))
    for part in parts:
        roles = (getattr(part, name) for name, mark in field_marks(type(part)).items() if mark.use == "role")
        yield from filter(None, roles)


def _fields(
    scenario: Scenario, steps: Mapping[tuple[str, str], Step], scorers: Iterable[Any], dimensions: Iterable[str]
) -> frozenset[str] | None:
    """Return the fields of a row that a scenario reads; `None` if the whole row is used."""
    if scenario.rows is None:
        return None
    alias = scenario.rows.alias
    parts = [*scorers, *(step for (name, _), step in steps.items() if name == scenario.name)]
    paths = {path for part in parts for expr in expressions_of(part) for path in paths_in(expr) if path[0] == alias}
    paths |= {tuple(name.split(".")) for name in dimensions if name.partition(".")[0] == alias}
    return None if any(len(path) < 2 for path in paths) else frozenset(path[1] for path in paths)


def _rows(plan: Plan, scenario: Scenario) -> Any:
    """Return what determines the rows of a scenario, as JSON values."""
    if scenario.rows is None:
        axes = [
            plan.axis(name).model_dump(mode="json", exclude={"values": {"__all__": {"labels"}}})
            for name in scenario.axes
        ]
        return [scenario.name, axes]
    rows = scenario.rows.model_dump(mode="json")
    read = [row_identity(dataset) for dataset in plan.datasets if dataset.name == scenario.rows.dataset]
    made = [dataset.fingerprint for dataset in plan.made if dataset.name == scenario.rows.dataset]
    return [scenario.name, rows, read, made]


def _groups(plan: Plan, dimension: str) -> Any:
    axis = plan.axis(dimension.removesuffix(GROUP))
    return {value.name: value.group for value in axis.values}


def changes_affecting(
    changes: Iterable[Change], before: MeasureDependencies, after: MeasureDependencies, *, items: bool = True
) -> list[Change]:
    """Return the changes between two plans that affect a measure. With `items=False`, changes of the set of rows are
    excluded, for callers that know the rows to be the same."""
    return [change for change in changes if _touches(change, before, after, items)]


def _touches(change: Change, before: MeasureDependencies, after: MeasureDependencies, items: bool) -> bool:
    scenarios = before.scenarios | after.scenarios
    if change.step:
        scenario = change.name.removesuffix(f".{change.step}")
        own = (scenario, change.step) in before.steps | after.steps
        return own and bool(not change.stale or change.stale & before.stale or change.field in ("weights", "name"))
    if change.part == "patch":
        return False
    match change.kind:
        case "scenario":
            return change.name in scenarios
        case "treatment":
            return change.name.partition(" ")[0] in scenarios
        case "cells" | "items":
            return items and change.name in scenarios
        case "data set":
            return items and change.name in before.datasets | after.datasets
        case "measure":
            turned = "is better when lower" in change.what
            return change.name in before.measures | after.measures and not turned
        case "metric":
            return change.name in before.metrics | after.metrics
        case "role":
            return change.name in before.roles | after.roles and change.part == "major"
        case "axis":
            return change.name.partition(".")[0] in before.axes | after.axes
        case "function" | "tree" | "benchmark":
            return change.part == "major" and (change.kind != "benchmark" or bool(change.stale & before.stale))
        case "language":
            return items
    return False
