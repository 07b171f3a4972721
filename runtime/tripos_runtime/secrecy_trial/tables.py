"""The data files of a plan as raw records, with their secret columns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tripos_compiler.plan import DataField, DataFile, Dataset, Plan, Type, digest
from tripos_compiler.source.inputs import ResolvedFile
from tripos_runtime.datasets.data_files import DataFolders, dataset_files

Key = tuple[str, str]
"""A file: its path with the joined files, and its SHA-256."""
Records = Mapping[Key, Mapping[int, dict[str, Any]]]
"""The changed records, by file and number."""
Cell = tuple[Key, int, str]
"""A value of a file: the number of its row, from 1, and the column."""


@dataclass(frozen=True)
class FileRecords:
    """The records of a file, each with the captures of the file's name."""

    file: ResolvedFile
    records: list[dict[str, Any]]

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns that any record has."""
        return tuple(dict.fromkeys(name for record in self.records for name in record))

    def values(self, column: str) -> list[Any]:
        """Return the values of a column, from the records that have it."""
        return [record[column] for record in self.records if column in record]


@dataclass(frozen=True)
class SecretColumn:
    """A column of a file that a data set keeps secret, with its type."""

    dataset: str
    field: str
    type: Type
    column: str


@dataclass
class DataFiles:
    """Every file that a plan's data sets are read from, each read once."""

    plan: Plan
    reader: DataFolders
    spec_files: tuple[str, ...]
    _records: dict[Key, FileRecords] = field(default_factory=dict)

    def keys(self, dataset: str) -> tuple[Key, ...]:
        """Return the files of a data set that is read."""
        read = self.plan.dataset(dataset)
        return tuple(self.key(read, file) for file in read.files)

    def key(self, dataset: Dataset, file: DataFile | ResolvedFile) -> Key:
        """Return the key of a data set's file. Two data sets may join different files to the same one."""
        joins = [join.model_dump(mode="json") for join in dataset.joins]
        return f"{file.path} {digest(joins)}" if joins else file.path, file.sha256

    def rows(self, key: Key) -> tuple[tuple[Key, int], ...]:
        """Return the rows of a file by file and number."""
        return tuple((key, number) for number in range(1, len(self.all_files[key].records) + 1))

    def __getitem__(self, key: Key) -> FileRecords:
        return self.all_files[key]

    @cached_property
    def all_files(self) -> Mapping[Key, FileRecords]:
        """All files. Raises `DataError` if one has changed since the plan was made."""
        recordses: dict[Key, FileRecords] = {}
        for dataset in self.plan.datasets:
            captures = {(file.path, file.sha256): file.captures for file in dataset.files}
            for file in dataset_files(self.reader, dataset, self.spec_files):
                key = self.key(dataset, file)
                told = captures[file.path, file.sha256]
                if key not in recordses:
                    recordses[key] = FileRecords(file, [{**told, **record} for record in self.reader.rows(file)])
                elif not told.keys() <= set(
                    recordses[key].columns
                ):  # another data set captures more of the file's name
                    recordses[key] = FileRecords(file, [{**told, **record} for record in recordses[key].records])
        return recordses

    @cached_property
    def secrets(self) -> Mapping[Key, tuple[SecretColumn, ...]]:
        """The secret columns of every file. A column is secret for all data sets if one of them keeps it secret."""
        found: dict[Key, dict[str, SecretColumn]] = {}
        for dataset in self.plan.datasets:
            for key in self.keys(dataset.name):
                columns = set(self.all_files[key].columns)
                for data_field in dataset.fields:
                    own = [name for name in data_field.columns if name in columns] or [data_field.columns[0]]
                    for column in own if data_field.secret else ():
                        secret = SecretColumn(dataset.name, data_field.name, data_field.type, column)
                        found.setdefault(key, {}).setdefault(column, secret)
        return {key: tuple(secret_columns.values()) for key, secret_columns in found.items()}

    def types(self, key: Key, column: str) -> list[Type]:
        """Return the types of the fields that keep a column of a file secret; each may read a part of it."""
        return [data_field.type for data_field in self._readers[key, column] if data_field.secret]

    def is_shared(self, key: Key, column: str) -> bool:
        """Return true if a public field also reads a secret column: other parts of it, if its author is right."""
        return any(not data_field.secret for data_field in self._readers[key, column])

    @cached_property
    def _readers(self) -> Mapping[tuple[Key, str], list[DataField]]:
        found: dict[tuple[Key, str], list[DataField]] = defaultdict(list)
        for dataset in self.plan.datasets:
            for key in self.keys(dataset.name):
                for data_field in dataset.fields:
                    for column in data_field.columns:
                        found[key, column].append(data_field)
        return found

    @cached_property
    def columns_read(self) -> Mapping[Key, frozenset[str]]:
        """The columns of every file that some data set reads."""
        found: dict[Key, set[str]] = {}
        for dataset in self.plan.datasets:
            for key in self.keys(dataset.name):
                found.setdefault(key, set()).update(
                    name for data_field in dataset.fields for name in data_field.columns
                )
        return {key: frozenset(each) for key, each in found.items()}

    @cached_property
    def public(self) -> Mapping[Key, frozenset[str]]:
        """The columns of every file that some data set reads and none keeps secret."""
        secret = {key: {column.column for column in columns} for key, columns in self.secrets.items()}
        return {key: seen - secret.get(key, set()) for key, seen in self.columns_read.items()}

    @cached_property
    def public_columns(self) -> Mapping[Key, frozenset[str]]:
        """The columns of a file that a data set keeps public in addition to a secret: their content is the author's
        decision."""
        found: dict[Key, set[str]] = {}
        for dataset in self.plan.datasets:
            if any(data_field.secret for data_field in dataset.fields):
                public = {
                    column for data_field in dataset.fields if not data_field.secret for column in data_field.columns
                }
                for key in self.keys(dataset.name):
                    found.setdefault(key, set()).update(public)
        return {key: frozenset(each) for key, each in found.items()}

    def cells(self) -> Iterator[tuple[Cell, SecretColumn]]:
        """Yield every secret value of every file."""
        for key, secrets in self.secrets.items():
            for number in range(1, len(self.all_files[key].records) + 1):
                for secret in secrets:
                    yield (key, number, secret.column), secret
