"""Dependencies of a measure: all parts of a plan on which its figures depend, and the changes of a plan that affect it.

Two plans in which a measure has equal dependencies give equal figures for equal rows. The plan alone does not determine
the rows of a run: the models of roles, the selected items and the values of their fields are in the store.

A slice of a measure, or a cell of its dimensions, selects treatments and items. The others are not dependencies, unless
the figure of a cell also depends on other cells or on all models; then nothing counts as excluded.
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
"""Selected values by the name of an axis or arm, or by `scenario`; a missing name is not restricted."""
Cut = tuple[tuple[str, frozenset[str]], ...]
"""The part of `Values` that restricts the items of one scenario: pairs of an axis and its selected values."""
GROUP = ".group"
"""Suffix of a dimension whose values are the groups of an axis."""


@dataclass(frozen=True)
class MeasureDependencies:
    """Parts of a plan on which figures of a measure depend."""

    digest: str
    """Digest of the formula with the measures that it names, of the steps whose values it uses, and of the groups and
    dimensions that assign values to cells. A step's fingerprint stands for everything that determines the step."""
    rows: str
    """Digest of what determines the rows of its scenarios: data and conditions, or the axes of a scenario without
    data."""
    prints: frozenset[tuple[str, str]]
    """Scenario and fingerprint of every step whose values it uses."""
    measures: frozenset[str]
    scenarios: frozenset[str]
    steps: frozenset[tuple[str, str]]
    """Scenario and name of the steps in `prints` and of all steps on which they depend."""
    stale: frozenset[str]
    """Fingerprints of `steps` and of their judgements, to be compared with `Change.stale`."""
    roles: frozenset[str]
    metrics: frozenset[str]
    datasets: frozenset[str]
    """Data sets whose rows the scenarios run over."""
    axes: frozenset[str]
    fields: Mapping[str, frozenset[str] | None]
    """By scenario, the fields of a row that steps and dimensions read; `None` for all."""
    cuts: Mapping[str, tuple[Cut, ...]]
    """By scenario, the selections of axis values that the parts of the figure make. An item is included if it satisfies
    any of them."""
    of_all_models: bool
    """True if the figure of a model depends on the other compared models."""

    def includes_item(self, scenario: str, context: Mapping[str, str]) -> bool:
        """Return true if the figure includes the items of a scenario with these values of axes."""
        return any(
            all(axis not in context or context[axis] in values for axis, values in cut)
            for cut in self.cuts.get(scenario, ())
        )


def dependencies_of(plan: Plan, measure: Measure, cell: Sequence[str | None] = ()) -> MeasureDependencies:
    """Return the dependencies of a measure, or of one cell of it.

    `cell` has a value for each dimension of the measure, in order; None does not restrict a dimension.
    """
    collector = _DependencyCollector(plan, _has_independent_cells(plan, measure))
    definition = collector.measure(measure, collector.cut_of(dict(zip(measure.by, cell, strict=False))))
    steps = {(scenario.name, step.name): step for scenario, _, step in collector.value_steps}
    prints = frozenset((scenario.name, step.fingerprint) for scenario, _, step in collector.value_steps)
    built_on = {
        (scenario.name, step.name): step
        for scenario, treatment, value_step in collector.value_steps
        for step in _step_closure(treatment, value_step)
    }
    all_steps = [*built_on.values()]
    scorers = [plan.scorer(step.scorer) for step in all_steps if isinstance(step, JudgedStep)]
    judging = {
        role for step in steps.values() if isinstance(step, JudgedStep) for role in plan.scorer(step.scorer).roles
    }
    metrics = frozenset(name for step in all_steps if isinstance(step, Grade) for name in step.metrics)
    scenarios = {scenario.name: scenario for scenario, _, _ in collector.value_steps}
    rows = [scenario.rows for scenario in scenarios.values() if scenario.rows is not None]
    roles = {role for step in all_steps for role in _roles_called(step)} | {
        role for scorer in scorers for role in scorer.roles
    }
    # A step's fingerprint covers its text, but not what assigns its values to cells: the groups of axes, the dimensions
    # of metrics, and the kinds of judging roles.
    cells = [
        {name: _groups_of_axis(plan, name) for name in sorted(collector.dimensions) if name.endswith(GROUP)},
        {name: plan.metric(name).dimension for name in sorted(metrics) if "dimension" in collector.dimensions},
        {name: [plan.role(name).kind, plan.role(name).with_people] for name in sorted(judging)},
    ]
    return MeasureDependencies(
        digest([definition, sorted(collector.sources), cells]),
        digest([_row_definition(plan, scenarios[name]) for name in sorted(scenarios)]),
        prints,
        frozenset(collector.measures),
        frozenset(scenarios),
        frozenset(built_on),
        frozenset(
            mark for step in all_steps for mark in (step.fingerprint, getattr(step, "judgement", step.fingerprint))
        ),
        frozenset(roles),
        metrics,
        frozenset(row.dataset for row in rows),
        frozenset(axis for part in (*all_steps, *scorers) for axis in printed_axes(part))
        | {name.removesuffix(GROUP) for name in collector.dimensions},
        {name: _fields_read(scenario, built_on, scorers, collector.dimensions) for name, scenario in scenarios.items()},
        {name: tuple(sorted(cuts, key=repr)) for name, cuts in collector.cuts.items()},
        collector.of_all_models,
    )


def _has_independent_cells(plan: Plan, measure: Measure) -> bool:
    """Return true if the figure of a cell or slice depends only on its own rows.

    It does not if grades of people correct those of a judge, if an item without a value in one arm is left out of all
    (`paired`), or if an aggregate compares all models.
    """
    measures = measures_of(plan)
    names = {part.measure for part in walk(measure.figure, measures) if isinstance(part, Measured)} | {measure.name}
    if any(measures[name].corrected or measures[name].missing == "paired" for name in names):
        return False
    return not any(is_of_all_models(aggregate) for aggregate in aggregates_of(measure.figure, measures))


class _DependencyCollector:
    """Visitor of the figures in a measure that collects their dependencies. Its methods return the definitions of what
    they visit as JSON values, for a digest.

    `cut` is the selection of the enclosing slices and cell. It is always empty unless cells are independent.
    """

    def __init__(self, plan: Plan, independent_cells: bool) -> None:
        self.plan = plan
        self.independent_cells = independent_cells
        self.cuts: dict[str, set[Cut]] = {}
        self.values = scored_values_of(plan)
        self.measures: set[str] = set()
        self.dimensions: set[str] = set()
        self.value_steps: list[tuple[Scenario, Treatment, Step]] = []
        self.sources: set[str] = set()
        self.of_all_models = False

    def cut_of(self, values: Mapping[str, str | None]) -> Values:
        """Return the axis values, arm values and scenarios that a slice or a cell selects."""
        selected: Values = {}
        axes = {axis.name: axis for axis in self.plan.axes}
        for name, value in values.items() if self.independent_cells else ():
            axis = axes.get(name.removesuffix(GROUP))
            if value is None:
                continue
            if axis is not None and name.endswith(GROUP):
                selected[axis.name] = frozenset(
                    axis_value.name for axis_value in axis.values if axis_value.group == value
                )
            elif name not in BUILT_IN_DIMENSIONS or name == "scenario":
                selected[name] = frozenset((value,))
        return selected

    def measure(self, measure: Measure, cut: Values) -> Any:
        """Return the definition of a measure without its name, direction and stopping rule."""
        self.measures.add(measure.name)
        self.dimensions |= {*measure.by}
        excluded = {"name", "lower_is_better", "higher_is_better", "until", "figure"}
        definition = measure.model_dump(mode="json", exclude=excluded)
        return [definition, self.figure(measure.figure, cut)]

    def figure(self, figure: Figure, cut: Values) -> Any:
        match figure:
            case Aggregate():
                return self.aggregate(figure, cut)
            case Formula(operator="overall", values=(of,), over=over):
                self.dimensions |= {*over}
                axes = {dimension.removesuffix(GROUP) for dimension in over}
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
        definition = figure.model_dump(mode="json", exclude={"of"})
        version = [
            plugin.version for plugin in self.plan.plugins if plugin.name == figure.function and plugin.aggregate
        ]
        if figure.of is not None:
            self.dimensions |= {*figure.of.by}
            cells = self.figure(figure.of, cut)
            return [definition, version, cells if isinstance(figure.of, Aggregate) else [figure.of.by, cells]]
        steps = scored_inputs(self.values, figure)
        for scored in steps:
            self._add_steps(scored, cut)
        return [definition, version, [[step.kind, step.type.model_dump(mode="json")] for step in steps]]

    def _add_steps(self, scored: ScoredStep, cut: Values) -> None:
        """Record the steps of the selected treatments that yield the values."""
        self.of_all_models |= scored.kind == "compare"
        identities = {(step.name, step.fingerprint) for step in scored.steps}
        for scenario in scored.scenarios:
            if scenario.name not in cut.get("scenario", (scenario.name,)):
                continue
            item_cut = tuple((axis, cut[axis]) for axis in sorted(scenario.axes) if axis in cut)
            for treatment in scenario.treatments:
                if any(value not in cut.get(arm, (value,)) for arm, value in treatment.arms.items()):
                    continue
                for step in treatment.steps:
                    if (step.name, step.fingerprint) not in identities:
                        continue
                    self.cuts.setdefault(scenario.name, set()).add(item_cut)
                    self.value_steps.append((scenario, treatment, step))
                    source = [scored.name, scenario.name, treatment.arms, step.name, step.fingerprint]
                    self.sources.add(digest([*source, _metric_weights(step, scored)]))


def _metric_weights(step: Step, scored: ScoredStep) -> Any:
    """Return the weights of a grade's metrics that enter a figure: the weight of one metric, or all by metric. None for
    any other step."""
    if not isinstance(step, Grade):
        return None
    weights = dict(zip(step.metrics, step.weights or (1.0,) * len(step.metrics), strict=True))
    return weights.get(scored.name) if scored.kind == "metric" else weights


def _step_closure(treatment: Treatment, first: Step) -> Iterator[Step]:
    """Yield a step and all steps of its treatment on which it depends, directly or not. Several steps can have the same
    name; all of them are yielded."""
    waiting, seen = [first.name], {first.name}
    while waiting:
        name = waiting.pop()
        for step in treatment.steps:
            if step.name != name:
                continue
            yield step
            needs = {*step.needs, *direct_dependencies(step), getattr(step, "of", step.name)}
            unseen = {name for need in needs for name in (need, need.partition(".")[0])} - seen
            seen |= unseen
            waiting += sorted(unseen)


def _roles_called(step: Step) -> Iterator[str]:
    """Yield the roles that a step names, speakers of a conversation included."""
    parts: tuple[Part, ...] = (step, *(step.speakers if isinstance(step, Converse) else ()))
    for part in parts:
        roles = (getattr(part, name) for name, mark in field_marks(type(part)).items() if mark.use == "role")
        yield from filter(None, roles)


def _fields_read(
    scenario: Scenario, steps: Mapping[tuple[str, str], Step], scorers: Iterable[Any], dimensions: Iterable[str]
) -> frozenset[str] | None:
    """Return the fields of a row that the steps, scorers and dimensions of a scenario read; `None` if it has no rows or
    a whole row is used."""
    if scenario.rows is None:
        return None
    alias = scenario.rows.alias
    parts = [*scorers, *(step for (name, _), step in steps.items() if name == scenario.name)]
    paths = {path for part in parts for expr in expressions_of(part) for path in paths_in(expr) if path[0] == alias}
    paths |= {tuple(name.split(".")) for name in dimensions if name.partition(".")[0] == alias}
    return None if any(len(path) < 2 for path in paths) else frozenset(path[1] for path in paths)


def _row_definition(plan: Plan, scenario: Scenario) -> Any:
    """Return what determines the rows of a scenario, as JSON values."""
    if scenario.rows is None:
        axes = [
            plan.axis(name).model_dump(mode="json", exclude={"values": {"__all__": {"labels"}}})
            for name in scenario.axes
        ]
        return [scenario.name, axes]
    rows = scenario.rows.model_dump(mode="json")
    files = [row_identity(dataset) for dataset in plan.datasets if dataset.name == scenario.rows.dataset]
    generated = [dataset.fingerprint for dataset in plan.made if dataset.name == scenario.rows.dataset]
    return [scenario.name, rows, files, generated]


def _groups_of_axis(plan: Plan, dimension: str) -> Any:
    axis = plan.axis(dimension.removesuffix(GROUP))
    return {value.name: value.group for value in axis.values}


def changes_affecting(
    changes: Iterable[Change], before: MeasureDependencies, after: MeasureDependencies, *, items: bool = True
) -> list[Change]:
    """Return the changes between two plans that affect a measure. With `items=False`, changes to the set of rows are
    left out, for callers that know that the rows are the same."""
    return [change for change in changes if _affects(change, before, after, items)]


def _affects(change: Change, before: MeasureDependencies, after: MeasureDependencies, items: bool) -> bool:
    scenarios = before.scenarios | after.scenarios
    if change.step:
        scenario = change.name.removesuffix(f".{change.step}")
        is_dependency = (scenario, change.step) in before.steps | after.steps
        return is_dependency and bool(
            not change.stale or change.stale & before.stale or change.field in ("weights", "name")
        )
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
            return change.name in before.measures | after.measures and change.field != "lower_is_better"
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
