"""What changed in a spec between two plans of it, in a few words each, and whether scores can still be compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from tripos_compiler.plan import Ask, Dataset, Grade, Plan, Scenario, Score, Step
from tripos_compiler.plan.base import Named
from tripos_runtime.differences import changes

N = TypeVar("N", bound=Named)


@dataclass(frozen=True)
class Change:
    """One change: where, such as `scenario letter`, and what. `scoring`: scores before and after mean different
    things."""

    where: str
    what: str
    scoring: bool = False

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def spec_changes(old: Plan, new: Plan) -> list[Change]:
    """What changed, the data first, then metrics, then scenario by scenario; a change in several scenarios is told
    with the first that has it and the others' number."""
    if old.digest == new.digest:
        return []
    found = []
    if old.benchmark.version != new.benchmark.version:
        found.append(Change("version", f"{old.benchmark.version} → {new.benchmark.version}"))
    found += _datasets(old, new)
    found += _sets("axis", _values(old.axes), _values(new.axes))
    found += _sets("arm", _values(old.arms), _values(new.arms))
    found += _listed("metric", old.metrics, new.metrics)
    found += _listed("scenario", old.scenarios, new.scenarios)
    before = {each.name: each for each in old.scenarios}
    told: dict[tuple[str, bool], list[str]] = {}
    for scenario in new.scenarios:
        if scenario.name in before:
            for what, scoring in _scenario(before[scenario.name], scenario, old, new):
                told.setdefault((what, scoring), []).append(scenario.name)
    for (what, scoring), names in told.items():
        others = f" and {len(names) - 1} more" if len(names) > 1 else ""
        found.append(Change(f"scenario {names[0]}{others}", what, scoring))
    return found


def _datasets(old: Plan, new: Plan) -> Iterable[Change]:
    yield from _listed("data set", old.datasets, new.datasets)
    before = {each.name: each for each in old.datasets}
    for dataset in new.datasets:
        if dataset.name in before:
            told = list(_data(before[dataset.name], dataset))
            if told:
                yield Change(f"data set {dataset.name}", ", ".join(told))


def _data(before: Dataset, after: Dataset) -> Iterable[str]:
    if [each.sha256 for each in before.files] != [each.sha256 for each in after.files]:
        was, now = (sum(each.rows for each in one.files) for one in (before, after))
        yield f"{was:,} → {now:,} rows" if was != now else f"other content ({now:,} rows)"
    if [each.model_dump() for each in before.fields] != [each.model_dump() for each in after.fields]:
        yield "fields"


def _scenario(before: Scenario, after: Scenario, old: Plan, new: Plan) -> Iterable[tuple[str, bool]]:
    if _plain(before.rows) != _plain(after.rows):
        yield "the rows it runs over", False
    treated = {tuple(sorted(each.arms.items())): each for each in before.treatments}
    told: dict[tuple[str, bool], None] = {}
    for treatment in after.treatments:
        was = treated.get(tuple(sorted(treatment.arms.items())))
        if was is None:
            told["other arms", False] = None
            continue
        steps = {each.name: each for each in was.steps}
        for step in treatment.steps:
            if step.name not in steps:
                told[f"`{step.name}` new", False] = None
            else:
                told |= dict.fromkeys(_step(steps[step.name], step, old, new))
        names = {each.name for each in treatment.steps}
        told |= {(f"`{name}` taken out", False): None for name in steps if name not in names}
    yield from told


def _step(before: Step, after: Step, old: Plan, new: Plan) -> Iterable[tuple[str, bool]]:
    if isinstance(before, Ask) and isinstance(after, Ask):
        yield from ((f"`{after.name}`: {what}", False) for what in changes(before, after, old, new))
        if before.samples != after.samples:
            yield f"`{after.name}`: samples {before.samples} → {after.samples}", False
    elif isinstance(before, Grade) and isinstance(after, Grade):
        yield from ((f"`{after.name}`: {what}", True) for what in changes(before, after, old, new))
        if before.weights != after.weights:
            yield f"`{after.name}`: weights of the metrics", True
    elif isinstance(before, Score) and isinstance(after, Score):
        if _plain(before.value) != _plain(after.value):
            yield f"`{after.name}`: computed in another way", True
    else:
        hidden = {"fingerprint", "judgement", "needs"}
        if before.model_dump(exclude=hidden) != after.model_dump(exclude=hidden):
            yield f"`{after.name}`: another {after.step}", isinstance(after, Score | Grade)
        return
    if _plain(before.when) != _plain(after.when):
        yield f"`{after.name}`: its condition", False


def _listed(noun: str, before: Iterable[N], after: Iterable[N]) -> Iterable[Change]:
    was, now = [each.name for each in before], [each.name for each in after]
    yield from (Change(f"{noun} {name}", "new") for name in now if name not in was)
    yield from (Change(f"{noun} {name}", "taken out") for name in was if name not in now)


def _values(named: Iterable[Any]) -> dict[str, list[str]]:
    return {each.name: [value.name for value in each.values] for each in named}


def _sets(noun: str, before: Mapping[str, list[str]], after: Mapping[str, list[str]]) -> Iterable[Change]:
    for name in dict.fromkeys((*before, *after)):
        was, now = before.get(name, []), after.get(name, [])
        told = [f"+ {each}" for each in now if each not in was] + [f"- {each}" for each in was if each not in now]
        if told:
            yield Change(f"{noun} {name}", ", ".join(told))


def _plain(value: Any) -> Any:
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else value
