"""The data files of a plan as raw records, with the columns that data sets keep secret."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tripos_compiler.plan import DataField, DataFile, Dataset, Plan, Type, digest
from tripos_compiler.source.inputs import ResolvedFile
from tripos_runtime.datasets.data_files import DataFolders, dataset_files

Key = tuple[str, str]
"""A file: its path, with a digest of the joins if there are any, and its SHA-256."""
Records = Mapping[Key, Mapping[int, dict[str, Any]]]
"""The changed records by file and row number, from 1."""
Cell = tuple[Key, int, str]
"""A value in a file: the file, the number of the row, from 1, and the column."""


@dataclass(frozen=True)
class FileRecords:
    """The records of a file. Each has the values that were captured from the file's name as further columns."""

    file: ResolvedFile
    records: list[dict[str, Any]]

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """All columns, in the order in which the records have them."""
        return tuple(dict.fromkeys(name for record in self.records for name in record))

    def values(self, column: str) -> list[Any]:
        """Return the values of a column, from the records that have it."""
        return [record[column] for record in self.records if column in record]


@dataclass(frozen=True)
class SecretColumn:
    """A column of a file that a data set reads as a secret field, with the type of that field."""

    dataset: str
    field: str
    type: Type
    column: str


@dataclass
class DataFiles:
    """All files from which the data sets of a plan are read. Each file is read once."""

    plan: Plan
    reader: DataFolders
    spec_files: tuple[str, ...]

    def keys(self, dataset: str) -> tuple[Key, ...]:
        """Return the keys of the files from which a data set is read."""
        declaration = self.plan.dataset(dataset)
        return tuple(self.key(declaration, file) for file in declaration.files)

    def key(self, dataset: Dataset, file: DataFile | ResolvedFile) -> Key:
        """Return the key of a data set's file. A file to which two data sets join different files has two keys."""
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
        by_key: dict[Key, FileRecords] = {}
        for dataset in self.plan.datasets:
            captures = {(file.path, file.sha256): file.captures for file in dataset.files}
            for file in dataset_files(self.reader, dataset, self.spec_files):
                key = self.key(dataset, file)
                captured = captures[file.path, file.sha256]
                if key not in by_key:
                    by_key[key] = FileRecords(file, [{**captured, **record} for record in self.reader.rows(file)])
                elif not captured.keys() <= set(by_key[key].columns):  # this data set captures more of the file's name
                    by_key[key] = FileRecords(file, [{**captured, **record} for record in by_key[key].records])
        return by_key

    @cached_property
    def secrets(self) -> Mapping[Key, tuple[SecretColumn, ...]]:
        """The secret columns of every file. A column is secret for all data sets if one of them reads it as a secret.

        If a field can be read from several columns, those that the file has are secret, or the first if it has none.
        """
        by_key: dict[Key, dict[str, SecretColumn]] = {}
        for dataset in self.plan.datasets:
            for key in self.keys(dataset.name):
                existing = set(self.all_files[key].columns)
                for data_field in dataset.fields:
                    columns = [name for name in data_field.columns if name in existing] or [data_field.columns[0]]
                    for column in columns if data_field.secret else ():
                        secret = SecretColumn(dataset.name, data_field.name, data_field.type, column)
                        by_key.setdefault(key, {}).setdefault(column, secret)
        return {key: tuple(secret_columns.values()) for key, secret_columns in by_key.items()}

    def types(self, key: Key, column: str) -> list[Type]:
        """Return the types of the secret fields that are read from a column; each may read a different part of it."""
        return [data_field.type for data_field in self._fields_by_column[key, column] if data_field.secret]

    def is_shared(self, key: Key, column: str) -> bool:
        """Return true if a public field is read from a column too. Of a secret column, it should read other parts."""
        return any(not data_field.secret for data_field in self._fields_by_column[key, column])

    @cached_property
    def _fields_by_column(self) -> Mapping[tuple[Key, str], list[DataField]]:
        fields: dict[tuple[Key, str], list[DataField]] = defaultdict(list)
        for dataset in self.plan.datasets:
            for key in self.keys(dataset.name):
                for data_field in dataset.fields:
                    for column in data_field.columns:
                        fields[key, column].append(data_field)
        return fields

    @cached_property
    def columns_read(self) -> Mapping[Key, frozenset[str]]:
        """The columns of every file that any data set reads."""
        by_key: dict[Key, set[str]] = {}
        for dataset in self.plan.datasets:
            for key in self.keys(dataset.name):
                by_key.setdefault(key, set()).update(
                    name for data_field in dataset.fields for name in data_field.columns
                )
        return {key: frozenset(columns) for key, columns in by_key.items()}

    @cached_property
    def public(self) -> Mapping[Key, frozenset[str]]:
        """The columns of every file that a data set reads and no data set keeps secret."""
        secret = {key: {column.column for column in columns} for key, columns in self.secrets.items()}
        return {key: columns - secret.get(key, set()) for key, columns in self.columns_read.items()}

    @cached_property
    def public_columns(self) -> Mapping[Key, frozenset[str]]:
        """The columns of every file that a data set with secrets reads as public fields: its author decided that their
        content may be shown."""
        by_key: dict[Key, set[str]] = {}
        for dataset in self.plan.datasets:
            if any(data_field.secret for data_field in dataset.fields):
                public = {
                    column for data_field in dataset.fields if not data_field.secret for column in data_field.columns
                }
                for key in self.keys(dataset.name):
                    by_key.setdefault(key, set()).update(public)
        return {key: frozenset(columns) for key, columns in by_key.items()}

    def cells(self) -> Iterator[tuple[Cell, SecretColumn]]:
        """Yield every secret value of every file, with its column."""
        for key, secrets in self.secrets.items():
            for number in range(1, len(self.all_files[key].records) + 1):
                for secret in secrets:
                    yield (key, number, secret.column), secret
