"""The rows of a file that is imported, numbered as whoever opens the file sees them."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tripos.settings import SourceFolder, read_toml
from tripos.ui import Failure
from tripos_compiler.diagnostics import nearest
from tripos_compiler.language import load_json
from tripos_compiler.source import DataError, FoundFile
from tripos_runtime.datasets import TRUSTED, DataFolders, Trust

UNFIT_MAPPING = "S0502"
PARTS = ("each", "columns", "set", "values")
NAMES: Mapping[str, tuple[str, ...]] = {
    "item": ("item_id", "item"),
    "sample": ("sample_number", "sample"),
    "reply": ("reply", "response"),
    "value": ("value", "score"),
    "rationale": ("rationale", "reason"),
}
"""The columns in which a field is looked for, where nothing says in which it is and it has other names than its own."""


@dataclass(frozen=True)
class ColumnMap:
    """`columns` says in which column a field is, `set` what it is in every row, `values` what the file's words mean;
    `each` is a column that holds a list, each entry of which is a row of its own."""

    columns: Mapping[str, str] = field(default_factory=dict)
    set: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    each: str | None = None

    def column(self, name: str, record: Mapping[str, Any]) -> str | None:
        """Return the column of a record in which a field is; None where it has none.

        >>> ColumnMap({"value": "Score"}).column("value", {"Score": 3}), ColumnMap().column("item", {"item_id": "a"})
        ('Score', 'item_id')
        """
        if name in self.columns:
            return self.columns[name] if self.columns[name] in record else None
        taken = self.columns.values()
        return next((each for each in NAMES.get(name, (name,)) if each in record and each not in taken), None)

    def get(self, name: str, record: Mapping[str, Any]) -> Any:
        """Return what a record says of a field, in the words of the benchmark; None where it says nothing. Spaces
        around a text do not count, and an empty one says nothing.

        >>> told = ColumnMap({"model": "system"}, {"round": 2}, {"model": {"A": "openai/gpt"}})
        >>> told.get("model", {"system": "A "}), told.get("round", {}), told.get("value", {"score": " "})
        ('openai/gpt', 2, None)
        """
        if name in self.set:
            return self.set[name]
        column = self.column(name, record)
        said = None if column is None or is_blank(record[column]) else record[column]
        if isinstance(said, str) and name != "reply":
            said = said.strip()
        meant = self.values.get(name)
        return said if meant is None or said is None else meant.get(str(said), said)


def is_blank(said: Any) -> bool:
    """Return true if a cell says nothing: it is empty, or holds what some writers put there for an empty one.

    >>> [is_blank(said) for said in (None, " ", float("nan"), 0, "0")]
    [True, True, True, False, False]
    """
    match said:
        case None:
            return True
        case float():
            return math.isnan(said)
        case str():
            return not said.strip()
    return False


def read_mapping(path: str | None, columns: Sequence[str], fixed: Mapping[str, Any], each: str | None) -> ColumnMap:
    """Return the mapping of a TOML file, if any, with what the command line says put over it: `columns` are written
    `FIELD=COLUMN`, `fixed` are fields that are the same in every row. Raises `Failure` S0502."""
    told = _file(path) if path is not None else {}
    over = dict(_pair(text) for text in columns)
    own = {str(name): str(column) for name, column in told.get("columns", {}).items()}
    fixed = {**told.get("set", {}), **fixed}
    both = sorted({**own, **over}.keys() & fixed.keys())
    if both:
        raise Failure(UNFIT_MAPPING, f"`{both[0]}` has a column and a fixed value", "say one of them")
    return ColumnMap({**own, **over}, fixed, told.get("values", {}), each or told.get("each"))


def read_fixed(texts: Sequence[str]) -> dict[str, str]:
    """Return what `--set FIELD=VALUE` says. Raises `Failure` S0502."""
    return dict(_pair(text, "--set FIELD=VALUE") for text in texts)


def _pair(text: str, form: str = "--column FIELD=COLUMN") -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip() or not value:
        raise Failure(UNFIT_MAPPING, f"`{text}` does not say which is which", f"write `{form}`")
    return name.strip(), value


def _file(path: str) -> dict[str, Any]:
    try:
        _, told = read_toml(Path(path))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        hint = "it is a TOML file in UTF-8"
        raise Failure(UNFIT_MAPPING, f"cannot read the mapping `{path}`: {reason}", hint) from error
    for name, value in told.items():
        if name not in PARTS:
            raise Failure(UNFIT_MAPPING, f"a mapping has no part `{name}`", f"its parts are {', '.join(PARTS)}")
        if isinstance(value, dict) == (name == "each"):
            raise Failure(UNFIT_MAPPING, f"`{name}` in `{path}` is not of the form that it should have", _FORMS[name])
    for name, words in told.get("values", {}).items():
        if not isinstance(words, dict):
            raise Failure(UNFIT_MAPPING, f"`values.{name}` in `{path}` is no table", _FORMS["values"])
    return told


_FORMS = {
    "each": 'write `each = "COLUMN"`',
    "columns": 'write it as a table: `[columns]`, then lines such as `reply = "Answer"`',
    "set": "write it as a table: `[set]`, then lines such as `round = 2`",
    "values": 'write it as a table for each field: `[values.model]`, then lines such as `"A" = "openai/gpt-4o"`',
}


UNREADABLE = "S0501"
SHEET_MARK = "mark:"
"""Begins the key of a column in which a sheet of `tripos annotate` asks for grades."""


@dataclass(frozen=True)
class FileRow:
    """One row: `number` counts the rows of the file from 1, `part` the entries of the column that `each` names; `said`
    is what stands there, `told` how it is to be read."""

    file: str
    number: int
    part: int | None
    said: Mapping[str, Any]
    told: ColumnMap

    @property
    def place(self) -> str:
        """Return where it stands, for a message: `row 3`, or `row 3.2` for the second entry of a list."""
        return f"row {self.number}" + ("" if self.part is None else f".{self.part}")

    def get(self, name: str) -> Any:
        """Return what it says of a field; None where it says nothing."""
        return self.told.get(name, self.said)

    def text(self, name: str) -> str | None:
        """Return what it says of a field, as text."""
        said = self.get(name)
        return None if said is None else str(said)


@dataclass(frozen=True)
class FileRows:
    """The rows of all files of an import, and where they came from: the names, and the SHA-256 of what stands there."""

    records: tuple[FileRow, ...]
    files: tuple[FoundFile, ...]

    @property
    def source(self) -> str:
        """The files as a column of the store says it: name and beginning of the SHA-256.

        >>> FileRows((), (FoundFile("a/scores.csv", "/data/a/scores.csv", "12ab" * 16, {}),)).source
        'scores.csv 12ab12ab12ab'
        """
        return ", ".join(f"{file.path.rpartition('/')[2]} {file.sha256[:12]}" for file in self.files)

    def unused(self, names: Iterable[str], more: Collection[str]) -> tuple[str, ...]:
        """Return the columns in which none of the fields `names` is, and which are not among `more`."""
        told = self.records[0].told
        used = {*told.columns.values(), *more, *(column for name in names for column in NAMES.get(name, (name,)))}
        return tuple(column for column in self.columns if column not in used)

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that a row has, in the order in which they come up."""
        return tuple(dict.fromkeys(name for record in self.records for name in record.said))


def read_table(source: str, told: ColumnMap, trust: Trust = TRUSTED, *, outside: bool = False) -> FileRows:
    """Return the rows of a file, or of all that a pattern means: `*` matches within a name, and `{field}` is also a
    column. Nothing outside of the folder that is named is read, unless `outside` is given.

    Raises `Failure`: S0501 where a file is not there or cannot be read, S0502 where no row has a column that the
    mapping names.
    """
    reader = SourceFolder.of_pattern(Path(source), trust, outside=outside).data
    try:
        files = tuple(reader.find(source, "import"))
        records = tuple(record for file in files for record in _records(reader, file, told))
    except DataError as error:
        hint = "check the path" if error.help.startswith("give the folder") else error.help
        raise Failure(UNREADABLE, error.message, hint) from error
    if any(name.startswith(SHEET_MARK) for record in records[:1] for name in record.said):
        message = f"`{source}` is a sheet that `tripos annotate` handed out"
        raise Failure(UNREADABLE, message, f"tripos annotate --take {source}")
    table = FileRows(records, files)
    if not records:
        raise Failure(UNREADABLE, f"`{source}` has no rows", "give a file with a row for each score or reply")
    columns = table.columns
    for name, column in told.columns.items():
        if column not in columns:
            close = nearest(column, columns)
            hint = f"did you mean `{close}`?" if close else f"its columns are {', '.join(columns[:12])}"
            raise Failure("S0502", f"`{name}` should be in the column `{column}`, which no row has", hint)
    return table


def _records(reader: DataFolders, file: FoundFile, told: ColumnMap) -> Iterator[FileRow]:
    for number, row in enumerate(reader.rows(file), 1):
        said = {**file.captures, **row}
        if told.each is None:
            yield FileRow(file.path, number, None, said, told)
            continue
        entries = _entries(said.get(told.each))
        if entries is None:
            message = f"row {number} of `{file.path}` has no list of records in the column `{told.each}`"
            raise Failure("S0502", message, "`each` names a column whose lists hold a record a reply")
        rest = {name: value for name, value in said.items() if name != told.each}
        for part, entry in enumerate(entries, 1):
            yield FileRow(file.path, number, part, {**rest, **entry}, told)


def _entries(value: Any) -> list[dict[str, Any]] | None:
    """Return a list of records, also one that is written as JSON text."""
    if isinstance(value, str):
        try:
            value = load_json(value)
        except ValueError:
            return None
    good = isinstance(value, list) and all(isinstance(entry, dict) for entry in value)
    return value if good else None
