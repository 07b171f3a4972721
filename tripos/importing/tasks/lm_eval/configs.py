"""Task files of lm-eval: YAML with `include` and `!function`, and the index of a folder of them.

Nothing of a task is executed here: a `!function` is kept as its name.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tripos.importing.tasks.lm_eval.forms import PythonName, check_config
from tripos.importing.tasks.shapes import CODE, as_list, kind_of as kind_of_value
from tripos.settings import SourceFolder
from tripos.ui import Failure

_HIDDEN = frozenset(("__pycache__", ".ipynb_checkpoints"))


@dataclass(frozen=True)
class TaskFile:
    """A task or a group, as its file and those that it includes say it."""

    name: str
    kind: str
    path: Path
    config: Mapping[str, Any] = field(hash=False)
    changes: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """The keys that a group says otherwise than the file."""
    source: SourceFolder | None = field(default=None, hash=False, compare=False)
    """The folder in which the task reads files; without one its own."""

    @property
    def folder(self) -> SourceFolder:
        """The folder in which the task reads files."""
        return self.source or SourceFolder.around(self.path)

    def get(self, key: str, fallback: Any = None) -> Any:
        """Return what the file says under a key; the fallback where it says nothing, or null."""
        found = self.config.get(key)
        return fallback if found is None else found

    def changed(self, config: Mapping[str, Any]) -> TaskFile:
        """Return the task with other words for some keys, as a group gives its members."""
        return replace(self, config={**self.config, **config}, changes={**self.changes, **config})


def read_task(path: Path, source: SourceFolder | None = None) -> TaskFile:
    """Read a file with a task or a group, and those that it includes, in a folder. Raises `Failure` for one that is
    neither."""
    return TaskReader(source or SourceFolder.around(path)).read(path)


def kind_of(config: Mapping[str, Any]) -> str:
    """Return `class` for a task in Python, `group`, `task`, or nothing."""
    return next((each for each in ("class", "group", "task") if each in config), "")


def read_folder(folder: Path, source: SourceFolder | None = None) -> dict[str, TaskFile]:
    """Return the tasks and groups of a folder and those below it, by name, in the order of their paths; of two of one
    name the first, as lm-eval has it. Files that are neither are passed over."""
    reader = TaskReader(source or SourceFolder.around(folder))
    found: dict[str, TaskFile] = {}
    for path in _files(folder):
        try:
            task = reader.read(path)
        except Failure:
            continue
        found.setdefault(task.name, task)
    return found


def tagged(tasks: Mapping[str, TaskFile], tag: str) -> list[TaskFile]:
    """Return the tasks with a tag, by name."""
    return [tasks[name] for name in sorted(tasks) if tag in as_list(tasks[name].get("tag"))]


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.glob("**/*.yaml"), key=lambda each: each.as_posix()):
        if not _HIDDEN.intersection(path.parts):
            yield path


class TaskReader:
    """Reads tasks of a folder. A file is read once: thousands of tasks include the same one."""

    def __init__(self, source: SourceFolder) -> None:
        self.source = source
        self._read: dict[Path, dict[str, Any]] = {}
        self._whole: dict[Path, dict[str, Any]] = {}
        """With what they include."""

    def read(self, path: Path) -> TaskFile:
        """Return the task or the group in a file. Raises `Failure` for one that is neither, or of another shape."""
        place = path.absolute()
        config = self._merged(place, ())
        kind = kind_of(config)
        if not kind:
            hint = "give a YAML file with `task` or `group`, or a folder and `--task NAME`"
            raise Failure(CODE, f"`{path}` is no task of lm-eval: it has neither `task` nor `group`", hint)
        if "task" not in config and kind == "class":
            raise Failure(CODE, f"`{path}` has a class and no name", "write `task: NAME`")
        check_config(config, path)
        name = config["group"] if kind == "group" else config["task"]
        return TaskFile(str(name), kind, place, config, source=self.source)

    def _merged(self, path: Path, around: tuple[Path, ...]) -> dict[str, Any]:
        if path in self._whole:
            return self._whole[path]
        if path in around:
            raise Failure(CODE, f"`{path.name}` includes itself", "remove the `include`")
        if len(around) > MOST_INCLUDED:
            raise Failure(
                CODE, f"`{path.name}` is included over more than {MOST_INCLUDED} files", "include it directly"
            )
        config = dict(self._loaded(path))
        includes = as_list(config.pop("include", None))
        merged: dict[str, Any] = {}
        for each in includes:
            if not isinstance(each, str):
                raise Failure(CODE, f"`{path}`: `include`: it is {kind_of_value(each)}, and should be a text", MEND)
            above = self._merged(Path(os.path.normpath(path.parent / each)), (*around, path))
            merged.update({key: value for key, value in above.items() if key != "task_list"})
        self._whole[path] = {**merged, **config}
        return self._whole[path]

    def _loaded(self, path: Path) -> dict[str, Any]:
        if path in self._read:
            return self._read[path]
        try:
            document = self.source.file(path).yaml(TAGS)
        except OSError as error:
            raise Failure(CODE, f"cannot read `{path}`: {error.strerror}", "check the path") from error
        except ValueError as error:
            raise Failure(CODE, f"`{path}` is no YAML: {error}", "mend the file") from error
        if not isinstance(document, dict):
            raise Failure(CODE, f"`{path}` is no task of lm-eval: it is no mapping", "give a YAML file of a task")
        self._read[path] = document
        return document


TAGS = {"!function": PythonName}
"""The tags of task files: a function in Python is kept as its name."""
MOST_INCLUDED = 50
"""The most files of which each includes the next."""
MEND = "mend the file"
