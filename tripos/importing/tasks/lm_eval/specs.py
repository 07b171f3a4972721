"""Specs of tasks and groups: what `tripos import task` writes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from tripos.importing.tasks.lm_eval.configs import TaskFile
from tripos.importing.tasks.lm_eval.groups import TaskGroup, figures_of
from tripos.importing.tasks.lm_eval.scenario import TaskScenario, scenario_of
from tripos.importing.tasks.lm_eval.sources import TaskData, WrittenRows
from tripos.importing.tasks.spec_text import ImportedTask, Note, commented, name_of, quoted, title

HELPERS = "lm_eval_figures.py"
_HEAD = '"""Figures of lm-eval, written by `tripos import task`."""\n'
_RESERVED = frozenset(("main", "temp", "system", "information_schema", "pg_catalog"))


def spec_of(
    task: TaskFile,
    folders: tuple[Path, ...] = (),
    rows: WrittenRows | None = None,
    shots: int | None = None,
    language: str = "en",
) -> ImportedTask:
    """Return a task as a spec."""
    data = TaskData(task.config, task.name, folders, task.source, rows or WrittenRows())
    made = scenario_of(task, data, shots)
    lines = [*_opening(task, [made], language), *made.lines()]
    return ImportedTask(made.name, "\n".join(lines) + "\n", made.notes, {**made.files, **_helpers([made])}, made.copies)


def spec_of_group(
    group: TaskGroup,
    head: TaskFile,
    folders: tuple[Path, ...] = (),
    rows: Mapping[str, WrittenRows] = {},
    shots: int | None = None,
    language: str = "en",
) -> ImportedTask:
    """Return a group as a spec: a scenario for each of its tasks, and the figures of the group. `rows` are by task."""
    scenarios = {}
    for task in group.leaves():
        data = TaskData(task.config, task.name, folders, task.source, rows.get(task.name, WrittenRows()))
        scenarios[task.name] = scenario_of(task, data, shots)
    figures = figures_of(group, scenarios)
    every = list(scenarios.values())
    lines = _opening(head, every, language)
    for each in every:
        lines += [*each.lines(figures.scores.get(each.name)), ""]
    files = {name: text for each in every for name, text in each.files.items()}
    copies = {name: path for each in every for name, path in each.copies.items()}
    notes = [*_together(every), *figures.notes]
    text = "\n".join([*lines, *figures.measures]) + "\n"
    return ImportedTask(name_of(group.name, tuple(_RESERVED)), text, notes, {**files, **_helpers(every)}, copies)


def _together(scenarios: Sequence[TaskScenario]) -> list[Note]:
    """Return the notes of several tasks, those that are equal as one."""
    told: dict[Note, int] = {}
    for scenario in scenarios:
        for note in scenario.notes:
            told[note] = told.get(note, 0) + 1
    total = len(scenarios)
    return [Note(f"{note.part} ({count} of {total} tasks)", note.how, note.why) for note, count in told.items()]


def _opening(task: TaskFile, scenarios: Sequence[TaskScenario], language: str) -> list[str]:
    """Return the beginning of a spec: benchmark, role and aggregates."""
    name = name_of(task.name, tuple(_RESERVED))
    lines = commented(f"Imported by `tripos import task` from `{task.name}` of lm-eval, {task.path.name}.")
    for note in scenarios[0].notes if len(scenarios) == 1 else _together(scenarios):
        if note.how != "exactly":
            lines += commented(f"{note.part}: {note.how} translated: {note.why}")
    alias = task.get("task_alias", task.get("group_alias", task.name))
    lines += [
        f'benchmark {name} "{_version(task)}" {{',
        f"  title {title(str(alias))}",
        f"  languages {language}",
        "}",
        "",
        "role candidate compared",
        "",
    ]
    figures = {name: each for scenario in scenarios for name, each in scenario.figures.items()}
    lines += [f"{each.statement} from {quoted(f'{HELPERS}:{each.name}')}" for each in figures.values()]
    return [*lines, ""] if figures else lines


def _version(task: TaskFile) -> str:
    """Return the version of a task as three numbers.

    >>> _version(TaskFile("a", "task", Path("a.yaml"), {"metadata": {"version": 2.1}}))
    '2.1.0'
    """
    metadata = task.get("metadata", {})
    found = re.findall(r"[0-9]+", str(metadata.get("version", "1.0"))) if isinstance(metadata, Mapping) else []
    parts = [str(int(each[:9])) for each in found[:3]] or ["1"]
    return ".".join([*parts, "0", "0"][:3])


def _helpers(scenarios: Sequence[TaskScenario]) -> dict[str, str]:
    figures = {name: each for scenario in scenarios for name, each in scenario.figures.items()}
    if not figures:
        return {}
    body = "\n\n\n".join(each.source.strip("\n") for each in figures.values())
    imports = "".join(f"import {name}\n" for name in ("math", "re", "unicodedata") if f"{name}." in body)
    head = _HEAD + (f"\n{imports}" if imports else "")
    return {HELPERS: f"{head}\n\n{body}\n"}
