"""The rows of a file that is imported, numbered as whoever opens the file sees them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tripos.failure import Failure
from tripos.importing.mapping import NAMES, ColumnMap
from tripos_compiler.data import DataError, FoundFile
from tripos_compiler.diagnostics import nearest
from tripos_runtime.datasets.data_folders import DataFolders

CODE = "W0501"
SHEET_MARK = "mark:"
"""Begins the key of a column in which a sheet of `tripos annotate` asks for grades."""


@dataclass(frozen=True)
class Record:
    """One row: `number` counts the rows of the file from 1, `part` the entries of the column that `each` names; `said`
    is what stands there, `told` how it is to be read."""

    file: str
    number: int
    part: int | None
    said: Mapping[str, Any]
    told: ColumnMap

    @property
    def place(self) -> str:
        """Where it stands, for a message: `row 3`, or `row 3.2` for the second entry of a list."""
        return f"row {self.number}" + ("" if self.part is None else f".{self.part}")

    def get(self, name: str) -> Any:
        """What it says of a field; None where it says nothing."""
        return self.told.get(name, self.said)

    def text(self, name: str) -> str | None:
        """What it says of a field, as text."""
        said = self.get(name)
        return None if said is None else str(said)


@dataclass(frozen=True)
class Table:
    """The rows of all files of an import, and where they came from: the names, and the SHA-256 of what stands there."""

    records: tuple[Record, ...]
    files: tuple[FoundFile, ...]

    @property
    def source(self) -> str:
        """The files as a column of the store says it: name and beginning of the SHA-256.

        >>> Table((), (FoundFile("a/scores.csv", "/data/a/scores.csv", "12ab" * 16, {}),)).source
        'scores.csv 12ab12ab12ab'
        """
        return ", ".join(f"{file.path.rpartition('/')[2]} {file.sha256[:12]}" for file in self.files)

    def unused(self, names: Iterable[str], more: Collection[str]) -> tuple[str, ...]:
        """The columns in which none of the fields `names` is, and which are not among `more`."""
        told = self.records[0].told
        used = {*told.columns.values(), *more, *(column for name in names for column in NAMES.get(name, (name,)))}
        return tuple(column for column in self.columns if column not in used)

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that a row has, in the order in which they come up."""
        return tuple(dict.fromkeys(name for record in self.records for name in record.said))


def read_table(source: str, told: ColumnMap) -> Table:
    """The rows of a file, or of all that a pattern means: `*` matches within a name, and `{field}` is also a column.

    Raises `Failure`: W0501 where a file is not there or cannot be read, W0502 where no row has a column that the
    mapping names.
    """
    reader = DataFolders()
    try:
        files = tuple(reader.find(source, "import"))
        records = tuple(record for file in files for record in _records(reader, file, told))
    except DataError as error:
        hint = "check the path" if error.help.startswith("give the folder") else error.help
        raise Failure(CODE, error.message, hint) from error
    if any(name.startswith(SHEET_MARK) for record in records[:1] for name in record.said):
        message = f"`{source}` is a sheet that `tripos annotate` handed out"
        raise Failure(CODE, message, f"tripos annotate --take {source}")
    table = Table(records, files)
    if not records:
        raise Failure(CODE, f"`{source}` has no rows", "give a file with a row for each score or reply")
    columns = table.columns
    for name, column in told.columns.items():
        if column not in columns:
            close = nearest(column, columns)
            hint = f"did you mean `{close}`?" if close else f"its columns are {', '.join(columns[:12])}"
            raise Failure("W0502", f"`{name}` should be in the column `{column}`, which no row has", hint)
    return table


def _records(reader: DataFolders, file: FoundFile, told: ColumnMap) -> Iterator[Record]:
    for number, row in enumerate(reader.rows(file), 1):
        said = {**file.captures, **row}
        if told.each is None:
            yield Record(file.path, number, None, said, told)
            continue
        entries = _entries(said.get(told.each))
        if entries is None:
            message = f"row {number} of `{file.path}` has no list of records in the column `{told.each}`"
            raise Failure("W0502", message, "`each` names a column whose lists hold a record a reply")
        rest = {name: value for name, value in said.items() if name != told.each}
        for part, entry in enumerate(entries, 1):
            yield Record(file.path, number, part, {**rest, **entry}, told)


def _entries(value: Any) -> list[dict[str, Any]] | None:
    """A list of records, also one that is written as JSON text."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return None
    good = isinstance(value, list) and all(isinstance(entry, dict) for entry in value)
    return value if good else None
