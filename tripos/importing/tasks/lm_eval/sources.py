"""The data of a task: where its rows lie, and what is known of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from tripos.importing.tasks.lm_eval.forms import PythonName
from tripos.importing.tasks.lm_eval.templates import TaskColumns
from tripos.importing.tasks.spec_text import Note, Untranslated, name_of, quoted
from tripos.settings import SourceFile, SourceFolder
from tripos_compiler.source import DataError

READ = 1_000
"""Rows that tell the types of columns; `tripos check` reads all."""
LOCAL = frozenset(("json", "csv", "parquet"))
PARQUET = "~parquet"
"""The revision of a data set of the Hub that has all its rows as Parquet, in a folder for each configuration."""


@dataclass(frozen=True)
class WrittenRows:
    """Files with the rows that lm-eval's own Python gave for a task, by split; `shots` are its worked examples."""

    files: Mapping[str, Path] = field(default_factory=dict)


@dataclass
class TaskSplit:
    """The rows of a split: the source that a data set names, and their columns."""

    name: str
    source: str
    columns: TaskColumns
    written: bool = False
    notes: list[Note] = field(default_factory=list)
    content: str = ""
    """Rows that the task itself has, to be written beside the spec."""
    local: SourceFile | None = None
    """A file of this machine that the task names, to be copied beside the spec."""


@dataclass
class TaskData:
    """Finds the splits of a task. `folders` are looked in for data that is there already."""

    config: Mapping[str, Any]
    name: str
    folders: tuple[Path, ...] = ()
    source: SourceFolder | None = None
    """The folder in which files may be read; without one, those that are looked in."""
    rows: WrittenRows = field(default_factory=WrittenRows)

    def tested(self) -> TaskSplit:
        """Return the split that is asked about. Raises `Untranslated`."""
        if "class" in self.config:
            raise Untranslated("the task is a class in Python")
        split = self.config.get("test_split") or self.config.get("validation_split")
        if split is None and "tested" not in self.rows.files:
            raise Untranslated("a task without `test_split` and `validation_split`")
        if "tested" in self.rows.files:
            return self._written("tested", str(split or "test"))
        if isinstance(self.config.get("process_docs"), PythonName):
            raise Untranslated(
                f"`process_docs` is Python, `{self.config['process_docs']}`: --run-python writes its rows"
            )
        return self._split(str(split))

    def shots(self, tested: TaskSplit) -> TaskSplit:
        """Return the split that worked examples are taken from. Raises `Untranslated`."""
        own = self.config.get("fewshot_config") or {}
        split = own.get("split") or self.config.get("fewshot_split")
        if "shots" in self.rows.files:
            return self._written("shots", str(split or "shots"))
        samples = own.get("samples")
        if split is None and isinstance(samples, list):
            content = "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in samples)
            source = f"{name_of(self.name)}.shots.jsonl"
            return TaskSplit("shots", source, TaskColumns.of_rows(samples), content=content)
        if isinstance(samples, PythonName) or isinstance(own.get("process_docs"), PythonName):
            raise Untranslated("worked examples that Python gives: --run-python writes them")
        order = ("training_split", "validation_split", "test_split")
        split = split or next((self.config[each] for each in order if self.config.get(each)), None)
        if isinstance(self.config.get("process_docs"), PythonName):
            raise Untranslated("worked examples that Python gives: --run-python writes them")
        return tested if str(split) == tested.name else self._split(str(split))

    def _written(self, which: str, split: str) -> TaskSplit:
        path = self.rows.files[which]
        written = SourceFolder.around(path).file(path)  # by the Python of the task, which was executed
        columns = _columns(written) if written.is_there else TaskColumns()
        return TaskSplit(split, f"rows/{path.name}", columns, written=True)

    def _split(self, split: str) -> TaskSplit:
        if "[" in split or "+" in split:
            raise Untranslated(f"the split `{split}`, which is a part of another")
        if self.config.get("custom_dataset") is not None:
            raise Untranslated(f"the rows are those of a function in Python, `{self.config['custom_dataset']}`")
        source = self._source(split)
        quoted(source)  # a name that no spec can write is no source
        found = self._found(split, source)
        local = found if "://" not in source else None
        return TaskSplit(split, source, _columns(found) if found is not None else TaskColumns(), local=local)

    def _found(self, split: str, source: str) -> SourceFile | None:
        """Return the file of a split, if it is there. Raises `Untranslated` for one that may not be read."""
        for path in self._places(split, source):
            file = (self.source or SourceFolder.around(path)).file(path)
            if file.is_there:
                return file
            if _is_there(path):
                raise Untranslated(f"`{path}` lies outside of the folder of the task: name its own with --data DIR")
        return None

    def _source(self, split: str) -> str:
        path, options = str(self.config.get("dataset_path") or ""), self.config.get("dataset_kwargs") or {}
        files = options.get("data_files")
        if files is not None:
            chosen = files.get(split) if isinstance(files, Mapping) else files
            if not isinstance(chosen, str):
                raise Untranslated(f"several files of the split `{split}`")
            if chosen.startswith(("hf://", "https://")):
                return chosen
            if path in LOCAL:
                return Path(chosen).name
            return f"hf://{path}/{chosen}"
        if path.count("/") != 1 or path.startswith((".", "/")):
            raise Untranslated(f"the data set `{path}` has no owner on the Hub")
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
        raise Untranslated(f"the rows of `{file.path.name}` cannot be read: {error.message}") from error
