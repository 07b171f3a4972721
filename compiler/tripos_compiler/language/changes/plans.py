"""Changes between two plans of a benchmark, and the effect of each to figures that are compared.

A change is `major` where it can change a score, a figure that there was before, or the items behind it; `minor` where
it adds what no earlier figure takes in; `patch` where it is words about the benchmark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from tripos_compiler.language.changes.steps import NEW, WEIGHTS, Change, Weight, settling_changes, step_changes
from tripos_compiler.language.contexts import allowed_cells
from tripos_compiler.language.references import row_identity
from tripos_compiler.plan import (
    Aggregate,
    Axis,
    Dataset,
    Figure,
    Formula,
    Judging,
    Measure,
    Named,
    Part,
    Plan,
    Scenario,
    Step,
    canonical,
)

N = TypeVar("N", bound=Named)


def find_changes(before: Plan, after: Plan) -> list[Change]:
    """Return what changed between two plans, the weightiest first; empty where nothing but the version did."""
    found = _merged(
        [
            *_benchmark(before, after),
            *_titles(before, after),
            *_roles(before, after),
            *_scenarios(before, after),
            *_items(before, after),
            *_metrics(before, after),
            *_measures(before, after),
            *_outside(before, after),
            *_axes(before, after),
            *_rest(before, after),
        ]
    )
    lost = before.fingerprints - after.fingerprints - frozenset().union(*(each.stale for each in found))
    if lost:  # whatever it was, it is no matter of words
        found.append(Change("major", "benchmark", after.benchmark.name, "asks or scores otherwise", frozenset(lost)))
    if not found and _without_version(before) != _without_version(after):
        words = Change("patch", "benchmark", after.benchmark.name, "is described in other words")
        found += list(_declared(before, after)) or [words]
    return sorted(found, key=lambda change: WEIGHTS.index(change.part))


def _merged(found: Iterable[Change]) -> list[Change]:
    """Return changes that several treatments have in common, told once."""
    told: dict[tuple[str, str, str, str], Change] = {}
    for each in found:
        key = (each.part, each.kind, each.name, each.what)
        told[key] = replace(each, stale=each.stale | told[key].stale) if key in told else each
    return list(told.values())


def _benchmark(before: Plan, after: Plan) -> Iterator[Change]:
    old, new = before.benchmark, after.benchmark
    if old.name != new.name:
        yield Change("major", "benchmark", new.name, f"was called `{old.name}`")
    for field in ("title", "license", "cites"):
        if getattr(old, field) != getattr(new, field):
            yield Change("patch", "text", field, "is other than before")
    if old.headline != new.headline:
        yield _headline(old.headline, new.headline)
    yield from _extended(before, after)
    gone = [each for each in old.languages if each not in new.languages]
    added = [each for each in new.languages if each not in old.languages]
    yield from (Change("major", "language", each, "is gone") for each in gone)
    yield from (Change("minor", "language", each, "is new") for each in added)


def _titles(before: Plan, after: Plan) -> Iterator[Change]:
    """Yield the titles that have other texts, of what is in both."""
    for (kind, old), new in zip(_titled(before).items(), _titled(after).values(), strict=True):
        for name in sorted(old & new):
            if before.titles.get(kind, {}).get(name) != after.titles.get(kind, {}).get(name):
                what = "title" if kind == "benchmark" else f"title of {name}"
                yield Change("patch", "text", what, "is other than before")


def _titled(plan: Plan) -> dict[str, set[str]]:
    """Return the names of what may have a title, by kind."""
    return {
        "arm": {arm.name for arm in plan.arms},
        "axis": {axis.name for axis in plan.axes},
        "benchmark": {plan.benchmark.name},
        "dimension": {metric.dimension for metric in plan.metrics},
        "measure": {measure.name for measure in plan.measures},
        "scenario": {scenario.name for scenario in plan.scenarios},
    }


def _headline(old: tuple[str, ...], new: tuple[str, ...]) -> Change:
    """Return what stands for the benchmark: to say so first takes nothing back, to say otherwise makes it another
    figure."""
    told = ", ".join(new)
    if not old:
        return Change("minor", "headline", told, "is named first")
    if set(old) == set(new):
        return Change("patch", "headline", told, "stands in another order")
    return Change("major", "headline", told or "none", f"stands for the benchmark, and {', '.join(old)} did")


def _extended(before: Plan, after: Plan) -> Iterator[Change]:
    """Yield the releases that are extended. What follows from another of them is told of its scenarios and their
    steps."""
    for gone in _gone(before.extends, after.extends):
        yield Change("patch", "extends", gone.name, "is no longer extended")
    for new in _new(before.extends, after.extends):
        yield Change("patch", "extends", new.name, f"is extended, as {new.version}")
    for old, now in _both(before.extends, after.extends):
        if old.digest != now.digest:
            yield Change("patch", "extends", now.name, f"was {old.version} and is {now.version}")


def _roles(before: Plan, after: Plan) -> Iterator[Change]:
    for old, new in _both(before.roles, after.roles):
        if old.kind != new.kind:
            yield Change("major", "role", new.name, f"is {new.kind} and was {old.kind}")
        if old.default != new.default:
            filled = "has no default" if new.default is None else f"defaults to `{new.default}`"
            yield Change("minor", "role", new.name, filled)
        if old.with_people != new.with_people:
            told = "counts people with its models" if new.with_people else "shows people apart from its models"
            yield Change("major", "role", new.name, told)


def _scenarios(before: Plan, after: Plan) -> Iterator[Change]:
    for scenario in _gone(before.scenarios, after.scenarios):
        yield Change("major", "scenario", scenario.name, "is gone", frozenset(scenario.fingerprints))
    for scenario in _new(before.scenarios, after.scenarios):
        into = next((measure.name for measure in before.measures if _takes_in(measure, before, scenario)), None)
        if into is None:
            yield Change("minor", "scenario", scenario.name, "is new, and in no earlier measure")
        else:
            yield Change("major", "scenario", scenario.name, f"is new, and counts in measure `{into}`")
    for old, new in _both(before.scenarios, after.scenarios):
        yield from _scenario(old, new, before, after)


def _scenario(old: Scenario, new: Scenario, before: Plan, after: Plan) -> Iterator[Change]:
    if old.title != new.title:
        yield Change("patch", "text", f"title of {new.name}", "is other than before")
    if set(old.axes) != set(new.axes) or old.cells != new.cells:
        yield Change("major", "cells", new.name, f"are {new.cells:,}, and were {old.cells:,}")
    elif _other_cells(old, before, after):
        yield Change("major", "cells", new.name, "are others than before")
    if old.rows != new.rows:
        yield Change("major", "items", new.name, "are taken from other rows")
    elif old.row_count != new.row_count:
        yield Change("major", "items", new.name, f"are {new.row_count:,}, and were {old.row_count:,}")
    was = {_arms(each.arms): each for each in old.treatments}
    now = {_arms(each.arms): each for each in new.treatments}
    for arms in was.keys() - now.keys():
        lost = {step.fingerprint for step in was[arms].steps} - new.fingerprints
        yield Change("major", "treatment", f"{new.name} {arms}".strip(), "is gone", frozenset(lost))
    for arms in now.keys() - was.keys():
        yield Change("major", "treatment", f"{new.name} {arms}".strip(), "is new, and counts in its measures")
    for arms in sorted(now.keys() & was.keys()):
        for each in step_changes(was[arms], now[arms], before, after):
            part: Weight = "minor" if each.what == NEW and not _counts(each, new, before) else "major"
            yield replace(each, part=part, name=f"{new.name}.{each.step}", stale=each.stale - new.fingerprints)


def _other_cells(old: Scenario, before: Plan, after: Plan) -> bool:
    """Return true if guards that were changed leave other cells, however many they are. They are listed only where they
    may be others."""
    was, now = ([axis for axis in plan.axes if axis.name in old.axes] for plan in (before, after))
    if all(_allowed(each) == _allowed(other) for each, other in _both(was, now)):
        return False
    left, leaves = ({frozenset(each.items()) for each in allowed_cells(axes)} for axes in (was, now))
    return left != leaves


def _allowed(axis: Axis) -> dict[str, Any]:
    return {value.name: value.guard for value in axis.values}


def _counts(change: Change, scenario: Scenario, before: Plan) -> bool:
    """Return true if a step that is new may count in a figure that there was before. What is asked may; a value that is
    taken of what is asked does where an earlier measure names it, or the scorer that it comes from."""
    if change.kind not in ("score", "column", "grade", "verdict", "compare"):
        return True
    step = next(each for each in scenario.steps if each.name == change.step)
    names = {step.name, getattr(step, "scorer", None), *getattr(step, "metrics", ())}
    return any(
        names & set(part.values)
        for measure in before.measures
        if measure.scenario in (None, scenario.name)
        for part in _aggregates(measure.figure, before, ())
        if part.scenario in (None, scenario.name)
    )


def _items(before: Plan, after: Plan) -> Iterator[Change]:
    for old, new in _both(before.datasets, after.datasets):
        if _content(old) != _content(new):
            was, now = (sum(file.rows for file in each.files) for each in (old, new))
            what = f"has {now:,} rows, and had {was:,}" if was != now else "has other rows, or reads them differently"
            brief = f"{was:,} → {now:,} rows" if was != now else f"other content ({now:,} rows)"
            if [(f.sha256, f.media) for f in old.every_file] == [(f.sha256, f.media) for f in new.every_file]:
                brief = "read in another way"
            yield Change("major", "data set", new.name, what, brief=(brief,))
        elif old.key != new.key:
            yield Change("major", "data set", new.name, "has another key: other rows belong together")
    for made_before, made in _both(before.made, after.made):
        if made_before.fingerprint != made.fingerprint or made_before.rows != made.rows:
            lost = frozenset(made_before.fingerprints - made.fingerprints)
            yield Change("major", "data set", made.name, "is made another way", lost)
    for old_tree, tree in _both(before.trees, after.trees):
        if old_tree.sha256 != tree.sha256:
            yield Change("major", "tree", tree.name, "has other branches")


def _metrics(before: Plan, after: Plan) -> Iterator[Change]:
    for old, new in _both(before.metrics, after.metrics):
        if old.dimension != new.dimension:
            yield Change("major", "metric", new.name, f"counts in `{new.dimension}`, and did in `{old.dimension}`")
        elif (old.low, old.high, old.asks, old.levels) != (new.low, new.high, new.asks, new.levels):
            yield Change("major", "metric", new.name, "has another rubric", brief=())  # its grades say so in few words
        elif old.outside != new.outside:
            yield Change("major", "metric", new.name, f"takes scores outside of its scale by `{new.outside}`")
        elif old.title != new.title:
            yield Change("major", "metric", new.name, "is called otherwise in the rubric")


_APART = ("lower_is_better", "higher_is_better", "until", "random")
"""Fields of a measure that change no figure."""


def _measures(before: Plan, after: Plan) -> Iterator[Change]:
    yield from _gone_or_new("measure", before.measures, after.measures)
    for old, new in _both(before.measures, after.measures):
        if old.lower_is_better != new.lower_is_better:
            headlines = (*before.benchmark.headline, *after.benchmark.headline)
            turned = "is better when lower" if new.lower_is_better else "is better when lower no longer"
            yield Change("major" if new.name in headlines else "minor", "measure", new.name, turned)
        if old.random != new.random:
            what = "has an interval that speaks of other judges or prompts than before"
            yield Change("minor", "measure", new.name, what)
        if any(getattr(old, name) != getattr(new, name) for name in ("figure", "by", "missing", "corrected")):
            yield Change("major", "measure", new.name, "is computed another way")
        elif old.model_copy(update={name: getattr(new, name) for name in _APART}) != new:
            yield Change("major", "measure", new.name, "is taken over other scores")


def _outside(before: Plan, after: Plan) -> Iterator[Change]:
    """Yield what no score depends on: gates, samples, training data."""
    yield from _gone_or_new("subset", before.subsets, after.subsets)
    for old, new in _both(before.subsets, after.subsets):
        if old.model_copy(update={"withheld": new.withheld}) != new:
            yield Change("major", "subset", new.name, "is drawn another way")
        elif old.withheld != new.withheld:
            what = "is withheld now" if new.withheld else "is withheld no longer"
            yield Change("minor", "subset", new.name, what)
    yield from settling_changes(before, after)
    gates = [{each.shown for each in plan.expectations} for plan in (before, after)]
    yield from (Change("minor", "expect", each, "is gone") for each in sorted(gates[0] - gates[1]))
    yield from (Change("minor", "expect", each, "is new") for each in sorted(gates[1] - gates[0]))
    least = [{each.shown: each.least_coverage for each in plan.expectations} for plan in (before, after)]
    for name in sorted(gates[0] & gates[1]):
        if least[0][name] != least[1][name]:
            yield Change("minor", "expect", name, "asks for another coverage")
    yield from _gone_or_new("export", before.exports, after.exports, gone="minor")
    for was, now in _both(before.exports, after.exports):
        if was != now:
            yield Change("minor", "export", now.name, "is other than before")


def _axes(before: Plan, after: Plan) -> Iterator[Change]:
    for old, new in _both(before.axes, after.axes):
        was, now = ({value.name: value for value in axis.values} for axis in (old, new))
        for name in was.keys() & now.keys():
            if was[name].group != now[name].group:
                yield Change("major", "axis", f"{new.name}.{name}", "is in another group")
            elif was[name].labels != now[name].labels:
                yield Change("patch", "text", f"label of {new.name}.{name}", "is other than before")
    for old_arm, arm in _both(before.arms, after.arms):
        labels = {value.name: value.labels for value in old_arm.values}
        for value in arm.values:
            if labels.get(value.name, value.labels) != value.labels:
                yield Change("patch", "text", f"label of {arm.name}.{value.name}", "is other than before")


def _rest(before: Plan, after: Plan) -> Iterator[Change]:
    for old, new in _both(before.plugins, after.plugins):
        if (old.version, old.function) != (new.version, new.function):
            yield Change("major", "function", new.name, "has another text or version")


def _declared(before: Plan, after: Plan) -> Iterator[Change]:
    """Yield what is declared and nothing uses."""
    for noun, field in _DECLARED.items():
        old, new = getattr(before, field), getattr(after, field)
        yield from _gone_or_new(noun, old, new, gone="minor")


_DECLARED = {
    "role": "roles",
    "axis": "axes",
    "arm": "arms",
    "tree": "trees",
    "function": "plugins",
    "metric": "metrics",
    "data set": "datasets",
    "scorer": "scorers",
}
"""By the noun for one, the fields of a plan with what may be declared for others to use."""


def _takes_in(measure: Measure, plan: Plan, scenario: Scenario) -> bool:
    """Return true if a measure of an earlier plan takes scores of a scenario that is new: it names no scenario, and a
    score, scorer or column that the scenario has."""
    if measure.scenario is not None:
        return False
    names = {name for step in scenario.steps for name in (step.name, getattr(step, "scorer", None))}
    return any(part.scenario is None and names & set(part.values) for part in _aggregates(measure.figure, plan, ()))


def _aggregates(figure: Figure, plan: Plan, seen: tuple[str, ...]) -> Iterator[Aggregate]:
    """Yield the aggregates that a figure is made of, those of other measures that it uses among them."""
    match figure:
        case Aggregate():
            yield figure
            if figure.of is not None:
                yield from _aggregates(figure.of, plan, seen)
        case Formula():
            for value in figure.values:
                yield from _aggregates(value, plan, seen)
        case _:
            name = getattr(figure, "measure", None)
            for each in plan.measures:
                if each.name == name and each.name not in seen and each.scenario is None:
                    yield from _aggregates(each.figure, plan, (*seen, each.name))


def renamed_from(scenario: Scenario, before: Plan, after: Plan) -> str | None:
    """Return the scenario of an earlier plan that this one, which that plan has not, is by its steps; `None` where
    there is none, or more than one."""
    shape = _shape(scenario, after)
    same = [each for each in _gone(before.scenarios, after.scenarios) if _shape(each, before) == shape]
    return same[0].name if len(same) == 1 else None


def _shape(scenario: Scenario, plan: Plan) -> Any:
    """Return what a scenario does, whatever its name."""

    def written(step: Step) -> Any:
        return step.model_dump(mode="json", exclude={"fingerprint", "judgement"})

    judged = {step.scorer for step in scenario.steps if isinstance(step, Judging)}
    scorers = {name: plan.scorer(name).model_dump(mode="json") for name in judged}
    return [[[one.arms, [written(step) for step in one.steps]] for one in scenario.treatments], scorers]


def _content(dataset: Dataset) -> object:
    return row_identity(dataset), [(file.captures, file.repeats, file.media) for file in dataset.every_file]


def _arms(arms: Mapping[str, str]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in sorted(arms.items()))


def _gone(before: Iterable[N], after: Iterable[N]) -> list[N]:
    names = {each.name for each in after}
    return [each for each in before if each.name not in names]


def _new(before: Iterable[N], after: Iterable[N]) -> list[N]:
    return _gone(after, before)


def _gone_or_new(noun: str, before: Iterable[N], after: Iterable[N], gone: Weight = "major") -> Iterator[Change]:
    yield from (Change(gone, noun, each.name, "is gone") for each in _gone(before, after))
    yield from (Change("minor", noun, each.name, "is new") for each in _new(before, after))


def _both(before: Iterable[N], after: Iterable[N]) -> list[tuple[N, N]]:
    now = {each.name: each for each in after}
    return [(each, now[each.name]) for each in before if each.name in now]


def _without_version(plan: Plan) -> Any:
    """Return a plan without its version, and without the order in which its parts are declared."""
    benchmark: Part = plan.benchmark.model_copy(update={"version": ""})
    return _unordered(plan.model_copy(update={"benchmark": benchmark}).model_dump(mode="json"))


def _unordered(value: Any) -> Any:
    match value:
        case dict():
            return {name: _unordered(each) for name, each in value.items()}
        case list():
            return sorted(map(_unordered, value), key=canonical)
    return value
