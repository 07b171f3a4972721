"""Groups of tasks: their members, with what a group says otherwise for them, and the figures of the whole group."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tripos.importing.tasks.lm_eval.configs import TaskFile, tagged
from tripos.importing.tasks.lm_eval.scenario import TaskScenario
from tripos.importing.tasks.shapes import CODE, as_list
from tripos.importing.tasks.spec_text import Note, name_of, title
from tripos.ui import Failure

_OWN = frozenset(("group", "group_alias", "task", "aggregate_metric_list", "metadata", "tag", "include"))
"""The keys of a group that say nothing of its members."""
_DEEPEST = 20
MOST_MEMBERS = 20_000
"""The most members of a group and of those in it, each counted wherever it is one."""


@dataclass
class TaskGroup:
    """A group: its members in order, which are tasks or groups."""

    name: str
    alias: str
    members: list[TaskFile | TaskGroup] = field(default_factory=list)
    aggregates: list[Mapping[str, Any]] = field(default_factory=list)

    def leaves(self) -> Iterator[TaskFile]:
        """Yield the tasks of the group and of those in it, each once."""
        seen: set[str] = set()
        for member in self.members:
            for task in member.leaves() if isinstance(member, TaskGroup) else (member,):
                if task.name not in seen:
                    seen.add(task.name)
                    yield task

    def groups(self) -> Iterator[TaskGroup]:
        """Yield the group, and those in it."""
        yield self
        for member in self.members:
            if isinstance(member, TaskGroup):
                yield from member.groups()


def group_of(
    task: TaskFile,
    tasks: Mapping[str, TaskFile],
    changes: Mapping[str, Any] = {},
    depth: int = 0,
    count: Iterator[int] | None = None,
) -> TaskGroup:
    """Return a group with its members, which are looked up by name. Raises `Failure` R0246 where one is not there."""
    if depth > _DEEPEST:
        raise Failure(CODE, f"the group `{task.name}` is a member of itself", "remove it from its own `task`")
    said = {key: each for key, each in task.config.items() if key not in _OWN}
    own = {**said, **{key: each for key, each in changes.items() if key not in _OWN}}
    made = TaskGroup(task.name, str(task.get("group_alias", task.name)), aggregates=_aggregates(task))
    number = count or itertools.count(1)
    for each in as_list(task.get("task", [])):
        if next(number) > MOST_MEMBERS:
            raise Failure(
                CODE, f"the group `{task.name}` has more than {MOST_MEMBERS:,} members", "import a part of it"
            )
        item = each if isinstance(each, dict) else {"task": each}
        made.members += _members(item, task, tasks, own, depth, number)
    return made


def _members(
    item: Mapping[str, Any],
    task: TaskFile,
    tasks: Mapping[str, TaskFile],
    own: Mapping[str, Any],
    depth: int,
    number: Iterator[int],
) -> list[TaskFile | TaskGroup]:
    name = str(item.get("group", item.get("task")))
    more = {**own, **{key: each for key, each in item.items() if key not in ("group", "task")}}
    if name in tasks:
        found = tasks[name]
        return [group_of(found, tasks, more, depth + 1, number)] if found.kind == "group" else [found.changed(more)]
    if "group" in item:
        inner = TaskFile(name, "group", task.path, dict(item), source=task.source)
        return [group_of(inner, tasks, own, depth + 1, number)]
    some = tagged(tasks, name)
    if some:
        return [each.changed(more) for each in some]
    if "dataset_path" in more:
        return [TaskFile(name, "task", task.path, {**more, "task": name}, source=task.source)]
    hint = "give the folder that has it too: `tripos import task FOLDER --task NAME`"
    raise Failure(CODE, f"the group `{task.name}` has a member `{name}`, which is not there", hint)


def _aggregates(task: TaskFile) -> list[Mapping[str, Any]]:
    return as_list(task.get("aggregate_metric_list", []))


@dataclass
class GroupFigures:
    """The measures of a group, and the scores that its scenarios have for them."""

    measures: list[str] = field(default_factory=list)
    scores: dict[str, dict[str, str]] = field(default_factory=dict)
    """By scenario: name and code of each score."""
    notes: list[Note] = field(default_factory=list)


def figures_of(group: TaskGroup, scenarios: Mapping[str, TaskScenario]) -> GroupFigures:
    """Return the figures of a group and of those in it: the mean over all items, or over tasks."""
    made = GroupFigures()
    for each in group.groups():
        inside = [scenarios[task.name] for task in each.leaves() if task.name in scenarios]
        for how in each.aggregates:
            _figure(each, how, inside, made)
    return made


def _figure(group: TaskGroup, how: Mapping[str, Any], inside: list[TaskScenario], made: GroupFigures) -> None:
    filters = how.get("filter_list")
    chosen = None if filters is None else {name_of(str(each)) for each in as_list(filters)}
    names: dict[str, None] = {}
    for each in inside:
        for name, score in each.scored.means.items():
            if score.metric == how["metric"] and (chosen is None or score.filter_name in chosen):
                names[name] = None
    if not names:
        made.notes.append(Note(f"group {group.name}", "not", f"no task of it has a mean `{how['metric']}`"))
    if how.get("aggregation", "mean") != "mean":
        made.notes.append(Note(f"group {group.name}", "not", f"the aggregation `{how['aggregation']}`"))
        return
    for name in names:
        whole = f"{name_of(group.name)}_{name}"
        for each in inside:
            if name in each.scored.means:
                made.scores.setdefault(each.name, {})[whole] = each.scored.means[name].code
        value = f"mean({whole})" if how.get("weight_by_size", True) else f"mean(mean({whole}) by scenario)"
        made.measures.append(f"measure {whole} {title(group.alias)} = {value}")
