"""Inputs of a step from outside of its own fields: data sets, trees, functions of the user's, and printed labels."""

from __future__ import annotations

from collections.abc import Iterator

from tripos_compiler.plan import Ask, Branches, Call, Data, Dataset, Hole, Judging, Part, Plan, Step, Type
from tripos_compiler.semantics.names import exprs_of, parts_of


def outside_changes(before: Step, after: Step, old: Plan, new: Plan) -> list[str]:
    """The inputs from outside that both steps take and that differ between their plans, in words."""
    was, now = _inputs(before, old), _inputs(after, new)
    return [name for name, content in now.items() if name in was and was[name] != content]


def _inputs(step: Step, plan: Plan) -> dict[str, object]:
    """What a step takes from outside, by name in words, each with what determines it."""
    parts: list[Part] = [step]
    if isinstance(step, Judging):
        parts += [scorer for scorer in plan.scorers if scorer.name == step.scorer]
    inner = [each for part in parts for expr in exprs_of(part) for each in parts_of(expr)]
    data = {each.dataset for each in inner if isinstance(each, Data)}
    data |= {shots.dataset for part in parts if isinstance(part, Ask) for shots in part.shots}
    trees = {each.tree for each in inner if isinstance(each, Branches)}
    called = {each.function for each in inner if isinstance(each, Call)}
    axes = {name for part in parts for name in printed_axes(part)}
    found: dict[str, object] = {f"data set `{each.name}`": rows_of(each) for each in plan.datasets if each.name in data}
    found |= {f"data set `{each.name}`": each.fingerprint for each in plan.made if each.name in data}
    found |= {f"tree `{each.name}`": each.sha256 for each in plan.trees if each.name in trees}
    found |= {
        f"function `{each.name}`": (each.function, each.version, each.returns)
        for each in plan.plugins
        if each.name in called
    }
    found |= {
        f"the labels of `{each.name}`, which it prints": [value.labels for value in each.values]
        for each in plan.axes
        if each.name in axes
    }
    return found


def rows_of(dataset: Dataset) -> object:
    """What determines the rows of a data set that is read, as JSON values."""
    return [[file.sha256 for file in dataset.files], [field.model_dump(mode="json") for field in dataset.fields]]


def printed_axes(part: object) -> set[str]:
    """The axes whose labels a part of a plan prints, or offers as a choice."""
    found = {name for hole in _holes(part) for name in axes_in(hole.type)}
    return found | axes_in(part.returns) if isinstance(part, Ask) and part.returns is not None else found


def axes_in(type_: Type) -> set[str]:
    """The axes whose values a type has."""
    match type_.kind:
        case "choice":
            return {type_.axis} if type_.axis is not None else set()
        case "list" | "set" | "optional":
            return axes_in(type_.of)
        case "record":
            return {name for of in type_.fields.values() for name in axes_in(of)}
    return set()


def _holes(part: object) -> Iterator[Hole]:
    match part:
        case Hole():
            yield part
        case Part():
            for name in type(part).model_fields:
                yield from _holes(getattr(part, name))
        case dict():
            for value in part.values():
                yield from _holes(value)
        case tuple():
            for value in part:
                yield from _holes(value)
