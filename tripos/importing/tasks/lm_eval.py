"""Tasks and groups of lm-eval, read from YAML with `include` and `!function`, and translated to specs.

A task becomes a scenario with its data sets; a group becomes a spec with a scenario for each task and the figures of
the whole group. A part without translation becomes a hole and a note.

No code of a task is executed while its file is read: a `!function` is kept as its name. Only `write_rows` runs a task's
own Python, in a process of the environment with lm-eval, to write its rows once.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import as_file, files
from itertools import islice
from pathlib import Path
from typing import Any

from tripos.importing.spec_text import (
    ImportedTask,
    Note,
    NotTranslatable,
    benchmark_name,
    commented,
    name_of,
    quoted,
    title,
)
from tripos.importing.tasks.lm_eval_prompts import PromptTranslation, WorkedExamples, translate_prompt
from tripos.importing.tasks.lm_eval_scoring import FunctionTexts, KnownFigure, TaskScores, score_lines
from tripos.importing.tasks.lm_eval_templates import PythonName, TaskColumns, TaskFields, check_config
from tripos.importing.tasks.shapes import CODE, as_list, kind_of as kind_of_value
from tripos.settings.options import DATA, ImportTaskParameters
from tripos.source_files import SourceFile, SourceFolder
from tripos_compiler.errors import TriposError
from tripos_compiler.source.inputs import DataError
from tripos_runtime.asking.functions.process import run_python

_HIDDEN = frozenset(("__pycache__", ".ipynb_checkpoints"))


@dataclass(frozen=True)
class TaskFile:
    """A task or group with its configuration, including the files that it includes."""

    name: str
    kind: str
    path: Path
    config: Mapping[str, Any] = field(hash=False)
    changes: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """The keys that a group overrides."""
    source: SourceFolder | None = field(default=None, hash=False, compare=False)
    """The folder that the task may read, if it is not the folder of its file."""

    @property
    def folder(self) -> SourceFolder:
        """The folder that the task may read."""
        return self.source or SourceFolder.around(self.path)

    def get(self, key: str, fallback: Any = None) -> Any:
        """Return the value of a key, or the fallback if it is missing or null."""
        found = self.config.get(key)
        return fallback if found is None else found

    def changed(self, config: Mapping[str, Any]) -> TaskFile:
        """Return the task with other values of some keys, as a group sets them for its members."""
        return replace(self, config={**self.config, **config}, changes={**self.changes, **config})


def read_task(path: Path, source: SourceFolder | None = None) -> TaskFile:
    """Read a file with a task or group, and the files that it includes, within a folder. Raises `TriposError` R0246 if
    it is neither."""
    return TaskReader(source or SourceFolder.around(path)).read(path)


def config_kind(config: Mapping[str, Any]) -> str:
    """Return `class` for a task in Python, `group`, `task`, or an empty text."""
    return next((each for each in ("class", "group", "task") if each in config), "")


def read_folder(folder: Path, source: SourceFolder | None = None) -> dict[str, TaskFile]:
    """Return the tasks and groups below a folder by name, in the order of their paths. If a name is repeated, the first
    is taken, as in lm-eval. Other files are skipped."""
    reader = TaskReader(source or SourceFolder.around(folder))
    task_files: dict[str, TaskFile] = {}
    for path in _files(folder):
        try:
            task = reader.read(path)
        except TriposError:
            continue
        task_files.setdefault(task.name, task)
    return task_files


def tasks_with_tag(tasks: Mapping[str, TaskFile], tag: str) -> list[TaskFile]:
    """Return the tasks with a tag, sorted by name."""
    return [tasks[name] for name in sorted(tasks) if tag in as_list(tasks[name].get("tag"))]


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.glob("**/*.yaml"), key=lambda each: each.as_posix()):
        if not _HIDDEN.intersection(path.parts):
            yield path


class TaskReader:
    """Reader of the tasks of a folder. Each file is read once, since thousands of tasks may include the same one."""

    def __init__(self, source: SourceFolder) -> None:
        self.source = source
        self._files: dict[Path, dict[str, Any]] = {}
        self._with_includes: dict[Path, dict[str, Any]] = {}
        """Configurations merged with their includes."""

    def read(self, path: Path) -> TaskFile:
        """Return the task or group of a file. Raises `TriposError` R0246 if it is neither or has another shape."""
        place = path.absolute()
        config = self._merged(place, ())
        kind = config_kind(config)
        if not kind:
            hint = f"give a YAML file with `task` or `group`, or a folder and `{ImportTaskParameters.task} NAME`"
            raise TriposError(CODE, f"`{path}` is no task of lm-eval: it has neither `task` nor `group`", hint)
        if "task" not in config and kind == "class":
            raise TriposError(CODE, f"`{path}` has a class and no name", "write `task: NAME`")
        check_config(config, path)
        name = config["group"] if kind == "group" else config["task"]
        return TaskFile(str(name), kind, place, config, source=self.source)

    def _merged(self, path: Path, around: tuple[Path, ...]) -> dict[str, Any]:
        if path in self._with_includes:
            return self._with_includes[path]
        if path in around:
            raise TriposError(CODE, f"`{path.name}` includes itself", "remove the `include`")
        if len(around) > MOST_INCLUDED:
            raise TriposError(
                CODE, f"`{path.name}` is included over more than {MOST_INCLUDED} files", "include it directly"
            )
        config = dict(self._loaded(path))
        includes = as_list(config.pop("include", None))
        merged: dict[str, Any] = {}
        for include in includes:
            if not isinstance(include, str):
                raise TriposError(
                    CODE, f"`{path}`: `include`: it is {kind_of_value(include)}, and should be a text", FIX
                )
            above = self._merged(Path(os.path.normpath(path.parent / include)), (*around, path))
            merged.update({key: value for key, value in above.items() if key != "task_list"})
        self._with_includes[path] = {**merged, **config}
        return self._with_includes[path]

    def _loaded(self, path: Path) -> dict[str, Any]:
        if path in self._files:
            return self._files[path]
        try:
            document = self.source.file(path).yaml(TAGS)
        except OSError as error:
            raise TriposError(CODE, f"cannot read `{path}`: {error.strerror}", "check the path") from error
        except ValueError as error:
            raise TriposError(CODE, f"`{path}` is no YAML: {error}", "fix the file") from error
        if not isinstance(document, dict):
            raise TriposError(CODE, f"`{path}` is no task of lm-eval: it is no mapping", "give a YAML file of a task")
        self._files[path] = document
        return document


# The data of a task
TAGS = {"!function": PythonName}
"""YAML tags of task files. A Python function is kept as its name."""
MOST_INCLUDED = 50
"""Maximum length of a chain of includes."""
FIX = "fix the file"


READ = 1_000
"""Rows from which types of columns are inferred; `tripos check` reads all."""
LOCAL = frozenset(("json", "csv", "parquet"))
PARQUET = "~parquet"
"""The Hub's revision of a data set with all rows as Parquet, in a folder for each configuration."""


@dataclass(frozen=True)
class WrittenRows:
    """Files with the rows that lm-eval's Python wrote for a task: `tested` and `shots`, the worked examples."""

    files: Mapping[str, Path] = field(default_factory=dict)


@dataclass
class TaskSplit:
    """The rows of a split: the source that the data set names, and the columns."""

    name: str
    source: str
    columns: TaskColumns
    explicit: bool = False
    """Whether lm-eval's Python wrote the rows, with the values of the task's fields."""
    content: str = ""
    """Rows from the task file itself, to be written next to the spec."""
    local: SourceFile | None = None
    """A local file of the task, to be copied next to the spec."""


@dataclass
class TaskData:
    """The splits of a task. `folders` are searched for data that is already downloaded."""

    config: Mapping[str, Any]
    name: str
    folders: tuple[Path, ...] = ()
    source: SourceFolder | None = None
    """The folder whose files may be read; if None, the searched folders."""
    rows: WrittenRows = field(default_factory=WrittenRows)

    def tested(self) -> TaskSplit:
        """Return the split of the questions. Raises `NotTranslatable`."""
        if "class" in self.config:
            raise NotTranslatable("the task is a class in Python")
        split = self.config.get("test_split") or self.config.get("validation_split")
        if split is None and "tested" not in self.rows.files:
            raise NotTranslatable("a task without `test_split` and `validation_split`")
        if "tested" in self.rows.files:
            return self._split_of("tested", str(split or "test"))
        if isinstance(self.config.get("process_docs"), PythonName):
            raise NotTranslatable(
                f"`process_docs` is Python, `{self.config['process_docs']}`: "
                f"{ImportTaskParameters.run_python} writes its rows"
            )
        return self._split(str(split))

    def shots(self, tested: TaskSplit) -> TaskSplit:
        """Return the split of the worked examples. Raises `NotTranslatable`."""
        own = self.config.get("fewshot_config") or {}
        split = own.get("split") or self.config.get("fewshot_split")
        if "shots" in self.rows.files:
            return self._split_of("shots", str(split or "shots"))
        samples = own.get("samples")
        if split is None and isinstance(samples, list):
            content = "".join(json.dumps(sample, ensure_ascii=False) + "\n" for sample in samples)
            source = f"{name_of(self.name)}.shots.jsonl"
            return TaskSplit("shots", source, TaskColumns.of_rows(samples), content=content)
        if isinstance(samples, PythonName) or isinstance(own.get("process_docs"), PythonName):
            raise NotTranslatable(f"worked examples that Python gives: {ImportTaskParameters.run_python} writes them")
        order = ("training_split", "validation_split", "test_split")
        split = split or next((self.config[each] for each in order if self.config.get(each)), None)
        if isinstance(self.config.get("process_docs"), PythonName):
            raise NotTranslatable(f"worked examples that Python gives: {ImportTaskParameters.run_python} writes them")
        return tested if str(split) == tested.name else self._split(str(split))

    def _split_of(self, which: str, split: str) -> TaskSplit:
        path = self.rows.files[which]
        file = SourceFolder.around(path).file(path)  # trusted: the task's own Python, which was run, wrote it
        columns = _columns(file) if file.is_there else TaskColumns()
        return TaskSplit(split, f"rows/{path.name}", columns, explicit=True)

    def _split(self, split: str) -> TaskSplit:
        if "[" in split or "+" in split:
            raise NotTranslatable(f"the split `{split}`, which is a part of another")
        if self.config.get("custom_dataset") is not None:
            raise NotTranslatable(f"the rows are those of a function in Python, `{self.config['custom_dataset']}`")
        source = self._source(split)
        quoted(source)  # raises if the name cannot be written in a spec
        file = self._find(split, source)
        local = file if "://" not in source else None
        return TaskSplit(split, source, _columns(file) if file is not None else TaskColumns(), local=local)

    def _find(self, split: str, source: str) -> SourceFile | None:
        """Return the file of a split, if it exists. Raises `NotTranslatable` if it lies outside the allowed folder."""
        for path in self._places(split, source):
            file = (self.source or SourceFolder.around(path)).file(path)
            if file.is_there:
                return file
            if _is_there(path):
                raise NotTranslatable(f"`{path}` lies outside of the folder of the task: name its own with {DATA} DIR")
        return None

    def _source(self, split: str) -> str:
        path, options = str(self.config.get("dataset_path") or ""), self.config.get("dataset_kwargs") or {}
        files = options.get("data_files")
        if files is not None:
            chosen = files.get(split) if isinstance(files, Mapping) else files
            if not isinstance(chosen, str):
                raise NotTranslatable(f"several files of the split `{split}`")
            if chosen.startswith(("hf://", "https://")):
                return chosen
            if path in LOCAL:
                return Path(chosen).name
            return f"hf://{path}/{chosen}"
        if path.count("/") != 1 or path.startswith((".", "/")):
            raise NotTranslatable(f"the data set `{path}` has no owner on the Hub")
        return f"hf://{path}@{PARQUET}/{self.config.get('dataset_name') or 'default'}/{split}/0000.parquet"

    def _places(self, split: str, source: str) -> list[Path]:
        inside = source
        if "://" not in source:
            files = (self.config.get("dataset_kwargs") or {}).get("data_files")
            inside = str(files.get(split) if isinstance(files, Mapping) else files)
        if source.startswith("hf://"):
            inside = "hf/" + source.removeprefix("hf://").removeprefix("datasets/")
        return [folder / inside for folder in self.folders]


def _is_there(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _columns(file: SourceFile) -> TaskColumns:
    try:
        return TaskColumns.of_rows(islice(file.rows(), READ))
    except DataError as error:
        raise NotTranslatable(f"the rows of `{file.path.name}` cannot be read: {error.message}") from error


# A task as a scenario
QUESTION = ("description", "doc_to_text", "doc_to_choice", "doc_to_target", "gen_prefix")
SCORING = ("filter_list", "metric_list", "process_results")
_PASSES = 3
"""Number of translation passes. Each learns types from how the previous one used the columns."""


@dataclass
class TaskScenario:
    """A task as a scenario."""

    name: str
    declared: list[str]
    """The data sets."""
    ask: list[str]
    scored: TaskScores
    notes: list[Note]
    files: dict[str, str] = field(default_factory=dict)
    copies: dict[str, SourceFile] = field(default_factory=dict)
    """Local files that the data sets name, by their path next to the spec."""

    @property
    def figures(self) -> Mapping[str, KnownFigure]:
        """The Python aggregates of the measures."""
        return {name: figure for name, figure in self.scored.figures.items() if figure.source}

    def is_complete(self) -> bool:
        """Return true if every part was translated."""
        return all(note.how != "not" for note in self.notes)

    def lines(self, more: Mapping[str, str] | None = None) -> list[str]:
        """Return the lines of the scenario. `more` are scores that the measures of a group average."""
        scores = [f"  score {name} = {code}" for name, code in (more or {}).items()]
        return [
            *self.declared,
            "",
            f"scenario {self.name} {{",
            f"  over {self.name}_tested as doc",
            *self.ask,
            *self.scored.scores,
            *scores,
            *self.scored.measures,
            "}",
        ]


def scenario_of(task: TaskFile, data: TaskData, shots: int | None = None) -> TaskScenario:
    """Translate a task to a scenario, with holes for parts without translation. `shots` overrides the task's number of
    worked examples."""
    name = name_of(task.name)
    notes: list[Note] = []
    try:
        tested = data.tested()
    except NotTranslatable as why:
        notes.append(Note("data", "not", str(why)))
        tested = TaskSplit("tested", f"rows/{name}.tested.jsonl", TaskColumns())
    count = int(task.get("num_fewshot", 0)) if shots is None else shots
    drawn = _shots(task, data, tested, count, name, notes) if count else None
    assumed: dict[str, None] = {}
    for _ in range(_PASSES):
        fields = TaskFields(task.config, tested.columns, "doc", tested.explicit, assumed)
        translation, hole = _asked(task, fields, drawn)
        scores, lack = _scored(task, fields, translation, hole)
    notes += [*hole, *translation.notes, *scores.notes, *lack]
    notes += [Note("assumed", "approximately", each) for each in assumed if not tested.columns.closed]
    shown_again = drawn is not None and drawn.fields.columns is tested.columns
    declared = [f"dataset {name}_tested from {quoted(tested.source)} {{"]
    declared += [f"  {line}" for line in tested.columns.declared(secret=not shown_again)]
    if tested.explicit:
        own = name_of("row", tuple(tested.columns.names.values()))
        declared += [f'  {own} integer from "_row"']
    declared += ["}"]
    files: dict[str, str] = {}
    splits = [tested]
    if drawn is not None and not shown_again:
        split = drawn.split
        splits.append(split)
        declared += _shot_dataset(drawn.dataset, split, tested, name)
        files = {split.source: split.content} if split.content else {}
    copies = {task_split.source: task_split.local for task_split in splits if task_split.local is not None}
    return TaskScenario(name, declared, translation.lines, scores, _complete(notes), files, copies)


def _shot_dataset(dataset: str, split: TaskSplit, tested: TaskSplit, name: str) -> list[str]:
    lines = ["", f"dataset {dataset} from {quoted(split.source)} {{"]
    return [*lines, *(f"  {line}" for line in split.columns.declared(secret=False)), "}"]


@dataclass
class SampledExamples(WorkedExamples):
    """Worked examples and their split."""

    split: TaskSplit = field(default_factory=lambda: TaskSplit("", "", TaskColumns()))


def _shots(
    task: TaskFile, data: TaskData, tested: TaskSplit, count: int, name: str, notes: list[Note]
) -> SampledExamples | None:
    own = task.get("fewshot_config", {})
    if isinstance(own, PythonName):
        notes.append(Note("worked examples", "not", "`fewshot_config` is Python"))
        return None
    try:
        split = data.shots(tested)
    except NotTranslatable as why:
        notes.append(Note("worked examples", "not", str(why)))
        split = TaskSplit("shots", f"rows/{name}.shots.jsonl", TaskColumns())
    same = split is tested
    if same:
        notes.append(Note("worked examples", "exactly", "of the rows that are asked about: no column is secret"))
        if (own.get("split") or task.get("fewshot_split")) != task.get("test_split"):
            remark = (
                "no row is an example for itself, as it may be in the Harness where `fewshot_split` is no `test_split`"
            )
            notes.append(Note("worked examples", "approximately", remark))
    fields = TaskFields(task.config, split.columns, "shot", split.explicit)
    dataset = f"{name}_tested" if same else f"{name}_shots"
    indices = own.get("fewshot_indices")
    if indices:
        notes.append(Note("worked examples", "not", "`fewshot_indices`"))
    return SampledExamples(count, dataset, str(own.get("sampler", "default")), fields, own, split=split)


def _asked(task: TaskFile, fields: TaskFields, shots: WorkedExamples | None) -> tuple[PromptTranslation, list[Note]]:
    try:
        return translate_prompt(task.config, fields, shots), []
    except NotTranslatable as why:
        lines = ["  # HOLE: the question. " + str(why).replace("\n", " ")]
        for key in QUESTION:
            if task.get(key) is not None:
                lines += [f"  {line}" for line in commented(str(task.get(key)), f"{key}: ")]
        lines += ["  ask reply by candidate {", '    prompt "{{ hole_of_the_question }}"', "  }"]
        return PromptTranslation(lines), [Note("question", "not", str(why))]


def _scored(
    task: TaskFile, fields: TaskFields, asked: PromptTranslation, hole: list[Note]
) -> tuple[TaskScores, list[Note]]:
    try:
        if hole and (task.get("output_type") == "multiple_choice"):
            raise NotTranslatable("there is no question to score")
        return score_lines(task.config, fields, asked, FunctionTexts(task.path.parent, task.folder)), []
    except NotTranslatable as why:
        lines = ["  # HOLE: the scores. " + str(why).replace("\n", " ")]
        for key in SCORING:
            if task.get(key) is not None:
                lines += [f"  {line}" for line in commented(str(task.get(key)), f"{key}: ")]
        scores = TaskScores([*lines, "  score hole = hole_of_the_scores"], ["  measure hole = mean(hole)"])
        return scores, [Note("scores", "not", str(why))]


def _complete(notes: list[Note]) -> list[Note]:
    """Return the notes, completed by notes on parts that were translated exactly."""
    texts = {note.part for note in notes}
    exact = [Note(part, "exactly") for part in ("data", "question", "scores") if part not in texts]
    return [*exact, *dict.fromkeys(notes)]


# Groups of tasks
_GROUP_KEYS = frozenset(("group", "group_alias", "task", "aggregate_metric_list", "metadata", "tag", "include"))
"""Keys of a group that do not apply to its members."""
_DEEPEST = 20
MOST_MEMBERS = 20_000
"""Maximum members of a group and its subgroups, counted with repetition."""


@dataclass
class TaskGroup:
    """A group: its members in order, which are tasks or groups."""

    name: str
    alias: str
    members: list[TaskFile | TaskGroup] = field(default_factory=list)
    aggregates: list[Mapping[str, Any]] = field(default_factory=list)

    def leaves(self) -> Iterator[TaskFile]:
        """Yield the tasks of the group and its subgroups, without repetition."""
        seen: set[str] = set()
        for member in self.members:
            for task in member.leaves() if isinstance(member, TaskGroup) else (member,):
                if task.name not in seen:
                    seen.add(task.name)
                    yield task

    def groups(self) -> Iterator[TaskGroup]:
        """Yield the group and its subgroups."""
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
    """Return a group with its members, looked up by name. Raises `TriposError` R0246 if a member is missing."""
    if depth > _DEEPEST:
        raise TriposError(CODE, f"the group `{task.name}` is a member of itself", "remove it from its own `task`")
    said = {key: each for key, each in task.config.items() if key not in _GROUP_KEYS}
    own = {**said, **{key: change for key, change in changes.items() if key not in _GROUP_KEYS}}
    group = TaskGroup(task.name, str(task.get("group_alias", task.name)), aggregates=_aggregates(task))
    number = count or itertools.count(1)
    for each in as_list(task.get("task", [])):
        if next(number) > MOST_MEMBERS:
            raise TriposError(
                CODE, f"the group `{task.name}` has more than {MOST_MEMBERS:,} members", "import a part of it"
            )
        item = each if isinstance(each, dict) else {"task": each}
        group.members += _members(item, task, tasks, own, depth, number)
    return group


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
        file = tasks[name]
        return [group_of(file, tasks, more, depth + 1, number)] if file.kind == "group" else [file.changed(more)]
    if "group" in item:
        inner = TaskFile(name, "group", task.path, dict(item), source=task.source)
        return [group_of(inner, tasks, own, depth + 1, number)]
    task_files = tasks_with_tag(tasks, name)
    if task_files:
        return [task_file.changed(more) for task_file in task_files]
    if "dataset_path" in more:
        return [TaskFile(name, "task", task.path, {**more, "task": name}, source=task.source)]
    hint = f"give the folder that has it too: `tripos import task FOLDER {ImportTaskParameters.task} NAME`"
    raise TriposError(CODE, f"the group `{task.name}` has a member `{name}`, which is not there", hint)


def _aggregates(task: TaskFile) -> list[Mapping[str, Any]]:
    return as_list(task.get("aggregate_metric_list", []))


@dataclass
class GroupFigures:
    """The measures of a group, and the scores that they need in its scenarios."""

    measures: list[str] = field(default_factory=list)
    scores: dict[str, dict[str, str]] = field(default_factory=dict)
    """The name and code of each score, by scenario."""
    notes: list[Note] = field(default_factory=list)


def figures_of(group: TaskGroup, scenarios: Mapping[str, TaskScenario]) -> GroupFigures:
    """Return the figures of a group and its subgroups: the mean over all items, or over tasks."""
    figures = GroupFigures()
    for task_group in group.groups():
        inside = [scenarios[task.name] for task in task_group.leaves() if task.name in scenarios]
        for how in task_group.aggregates:
            _figure(task_group, how, inside, figures)
    return figures


def _figure(group: TaskGroup, how: Mapping[str, Any], inside: list[TaskScenario], made: GroupFigures) -> None:
    filters = how.get("filter_list")
    chosen = None if filters is None else {name_of(str(each)) for each in as_list(filters)}
    names: dict[str, None] = {}
    for scenario in inside:
        for name, score in scenario.scored.means.items():
            if score.metric == how["metric"] and (chosen is None or score.filter_name in chosen):
                names[name] = None
    if not names:
        made.notes.append(Note(f"group {group.name}", "not", f"no task of it has a mean `{how['metric']}`"))
    if how.get("aggregation", "mean") != "mean":
        made.notes.append(Note(f"group {group.name}", "not", f"the aggregation `{how['aggregation']}`"))
        return
    for name in names:
        whole = f"{name_of(group.name)}_{name}"
        for scenario in inside:
            if name in scenario.scored.means:
                made.scores.setdefault(scenario.name, {})[whole] = scenario.scored.means[name].code
        value = f"mean({whole})" if how.get("weight_by_size", True) else f"mean(mean({whole}) by scenario)"
        made.measures.append(f"measure {whole} {title(group.alias)} = {value}")


# Rows written by a task's own Python
LONGEST_S = 3600.0
_HUB = ("HF_HOME", "HF_ENDPOINT", "HF_DATASETS_CACHE", "HF_DATASETS_OFFLINE", "HF_HUB_OFFLINE")
"""Environment variables with the location of data sets; none contains a key."""


def write_rows(
    task: TaskFile, folder: Path, python: str | None = None, shots: int | None = None, changes: Mapping[str, Any] = {}
) -> WrittenRows:
    """Execute the Python of a task, and return the files with its rows in `folder/rows`. `changes` overrides the
    configuration of the file. Raises `TriposError` R0246 if the execution fails."""
    name = name_of(task.name)
    rows = (folder / "rows").resolve()
    count = int(task.get("num_fewshot", 0)) if shots is None else shots
    said = {key: each for key, each in {**task.changes, **changes}.items() if not isinstance(each, PythonName)}
    asked = {"path": str(task.path), "folder": str(rows), "name": name, "shots": count > 0, "changes": said}
    with as_file(files("tripos.importing.tasks").joinpath("lm_eval_row_writer.py")) as program:
        command = ["-P", str(program)]
        try:
            ended = run_python(
                python or sys.executable,
                command,
                task.path.parent,
                LONGEST_S,
                text=json.dumps(asked),
                variables=_HUB,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise TriposError(
                CODE, f"the Python of `{task.name}` could not run: {error}", f"check `{ImportTaskParameters.python}`"
            ) from error
    if ended.failed:
        hint = f"give the Python of the environment with lm-eval: `{ImportTaskParameters.python} ENV/bin/python`"
        raise TriposError(CODE, f"the Python of `{task.name}` failed: {ended.last_line}", hint)
    paths = {which: rows / f"{name}.{which}.jsonl" for which in ("tested", "shots")}
    return WrittenRows({which: path for which, path in paths.items() if path.is_file()})


# Specs of tasks and groups
HELPERS = "lm_eval_figures.py"
_HEAD = '"""Figures of lm-eval, written by `tripos import task`."""\n'


def spec_of(
    task: TaskFile,
    folders: tuple[Path, ...] = (),
    rows: WrittenRows | None = None,
    shots: int | None = None,
    language: str = "en",
) -> ImportedTask:
    """Return a task as a spec."""
    data = TaskData(task.config, task.name, folders, task.source, rows or WrittenRows())
    scenario = scenario_of(task, data, shots)
    lines = [*_opening(task, [scenario], language), *scenario.lines()]
    return ImportedTask(
        scenario.name,
        "\n".join(lines) + "\n",
        scenario.notes,
        {**scenario.files, **_helpers([scenario])},
        scenario.copies,
    )


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
    task_scenarios = list(scenarios.values())
    lines = _opening(head, task_scenarios, language)
    for scenario in task_scenarios:
        lines += [*scenario.lines(figures.scores.get(scenario.name)), ""]
    files = {name: text for task_scenario in task_scenarios for name, text in task_scenario.files.items()}
    copies = {name: path for task_scenario in task_scenarios for name, path in task_scenario.copies.items()}
    notes = [*_count_notes(task_scenarios), *figures.notes]
    text = "\n".join([*lines, *figures.measures]) + "\n"
    return ImportedTask(benchmark_name(group.name), text, notes, {**files, **_helpers(task_scenarios)}, copies)


def _count_notes(scenarios: Sequence[TaskScenario]) -> list[Note]:
    """Return the notes of several tasks, with equal notes counted."""
    told: dict[Note, int] = {}
    for scenario in scenarios:
        for note in scenario.notes:
            told[note] = told.get(note, 0) + 1
    total = len(scenarios)
    return [Note(f"{note.part} ({count} of {total} tasks)", note.how, note.why) for note, count in told.items()]


def _opening(task: TaskFile, scenarios: Sequence[TaskScenario], language: str) -> list[str]:
    """Return the first lines of a spec: benchmark, role and aggregates."""
    name = benchmark_name(task.name)
    lines = commented(f"Imported by `tripos import task` from `{task.name}` of lm-eval, {task.path.name}.")
    for note in scenarios[0].notes if len(scenarios) == 1 else _count_notes(scenarios):
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
    figures = {name: figure for scenario in scenarios for name, figure in scenario.figures.items()}
    lines += [f"{figure.statement} from {quoted(f'{HELPERS}:{figure.name}')}" for figure in figures.values()]
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
    figures = {name: figure for scenario in scenarios for name, figure in scenario.figures.items()}
    if not figures:
        return {}
    body = "\n\n\n".join(figure.source.strip("\n") for figure in figures.values())
    imports = "".join(f"import {name}\n" for name in ("math", "re", "unicodedata") if f"{name}." in body)
    head = _HEAD + (f"\n{imports}" if imports else "")
    return {HELPERS: f"{head}\n\n{body}\n"}
