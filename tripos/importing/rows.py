"""Rows of an imported file: the mapping of their columns, rejected rows, and the item that each row belongs to.

Rows are numbered as people see them in the file: from 1, and in a spreadsheet from 2, below the names of the columns.
An item is found by its id, by its position in the scenario, or by the values of its fields.
"""

from __future__ import annotations

import csv
import json
import math
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tripos.files import writing
from tripos.settings.environment import read_toml
from tripos.settings.options import COLUMN, REJECTED, SET, SKIP_REJECTED, AnnotateParameters
from tripos.source_files import SourceFolder
from tripos.terminal import escape_controls, show_message
from tripos_compiler.diagnostics.diagnostic import nearest, suggest
from tripos_compiler.errors import ExitCode, TriposError
from tripos_compiler.language.exact_values import load_json
from tripos_compiler.language.rows import DoesNotFit, read_value, row_number
from tripos_compiler.plan import Axis, DataField, Plan, Scenario, canonical
from tripos_compiler.source.inputs import DataError, ResolvedFile
from tripos_runtime.datasets.data_files import DataFolders
from tripos_runtime.datasets.trust import TRUSTED, Trust

UNFIT_MAPPING = "S0502"
PARTS = ("each", "columns", "set", "values")
DEFAULT_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "item": ("item_id", "item"),
    "sample": ("sample_number", "sample"),
    "reply": ("reply", "response"),
    "value": ("value", "score"),
    "rationale": ("rationale", "reason"),
}
"""Default column names of fields that are not only looked up under their own name."""


@dataclass(frozen=True)
class ColumnMap:
    """How to read the columns of a file: `columns` maps a field to its column, `set` gives a field one value in all
    rows, and `values` maps the file's words to values. `list_column` names a column that holds a list; each entry
    becomes a row."""

    columns: Mapping[str, str] = field(default_factory=dict)
    set: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    list_column: str | None = None

    def column(self, name: str, record: Mapping[str, Any]) -> str | None:
        """Return the column of a record that holds a field, or None.

        >>> ColumnMap({"value": "Score"}).column("value", {"Score": 3}), ColumnMap().column("item", {"item_id": "a"})
        ('Score', 'item_id')
        """
        if name in self.columns:
            return self.columns[name] if self.columns[name] in record else None
        taken = self.columns.values()
        return next((each for each in DEFAULT_COLUMNS.get(name, (name,)) if each in record and each not in taken), None)

    def get(self, name: str, record: Mapping[str, Any]) -> Any:
        """Return a record's value of a field, translated by `values`, or None if it is missing. Surrounding spaces are
        removed from every field except the reply; an empty text counts as missing.

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
        return self.translate(name, said)

    def translate(self, name: str, cell: Any) -> Any:
        """Return the meaning of a cell by the words of a field in `values`, or the cell if it has none there. A word
        `1` is also the number 1.0 of a Parquet file or a workbook, and `true` its truth value.

        >>> ColumnMap(values={"value": {"1": 5}}).translate("value", 1.0)
        5
        """
        words = self.values.get(name)
        if words is None or cell is None:
            return cell
        text = cell_text(cell)
        spellings = (str(cell), text, text.lower() if isinstance(cell, bool) else text)
        return next((words[spelling] for spelling in spellings if spelling in words), cell)


def is_blank(said: Any) -> bool:
    """Return true if a cell is empty: None, NaN or only spaces.

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


def cell_text(cell: Any) -> str:
    """Return a cell as the text that a person sees: a whole number has no decimals, whatever the file stores.

    >>> cell_text(1.0), cell_text(2.5), cell_text(True), cell_text(" A ")
    ('1', '2.5', 'True', 'A')
    """
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    return str(cell).strip()


def read_mapping(path: str | None, columns: Sequence[str], fixed: Mapping[str, Any], each: str | None) -> ColumnMap:
    """Return the mapping of a TOML file, if any, overridden by the command line: `columns` are written `FIELD=COLUMN`,
    and `fixed` are fields with one value in all rows. Raises `TriposError` S0502."""
    told = _read_mapping_file(path) if path is not None else {}
    over = dict(_parse_pair(text) for text in columns)
    own = {str(name): str(column) for name, column in told.get("columns", {}).items()}
    fixed = {**told.get("set", {}), **fixed}
    both = sorted({**own, **over}.keys() & fixed.keys())
    if both:
        raise TriposError(UNFIT_MAPPING, f"`{both[0]}` has a column and a fixed value", "say one of them")
    return ColumnMap({**own, **over}, fixed, told.get("values", {}), each or told.get("each"))


def parse_constants(texts: Sequence[str]) -> dict[str, str]:
    """Parse the values of `--set FIELD=VALUE`. Raises `TriposError` S0502."""
    return dict(_parse_pair(text, f"{SET} FIELD=VALUE") for text in texts)


def _parse_pair(text: str, form: str = f"{COLUMN} FIELD=COLUMN") -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip() or not value:
        raise TriposError(UNFIT_MAPPING, f"`{text}` does not say which is which", f"write `{form}`")
    return name.strip(), value


def _read_mapping_file(path: str) -> dict[str, Any]:
    try:
        _, told = read_toml(Path(path))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        hint = "it is a TOML file in UTF-8"
        raise TriposError(UNFIT_MAPPING, f"cannot read the mapping `{path}`: {reason}", hint) from error
    for name, value in told.items():
        if name not in PARTS:
            raise TriposError(UNFIT_MAPPING, f"a mapping has no part `{name}`", f"its parts are {', '.join(PARTS)}")
        if isinstance(value, dict) == (name == "each"):
            raise TriposError(
                UNFIT_MAPPING, f"`{name}` in `{path}` is not of the form that it should have", _FORMS[name]
            )
    for name, words in told.get("values", {}).items():
        if not isinstance(words, dict):
            raise TriposError(UNFIT_MAPPING, f"`values.{name}` in `{path}` is no table", _FORMS["values"])
    return told


_FORMS = {
    "each": 'write `each = "COLUMN"`',
    "columns": 'write it as a table: `[columns]`, then lines such as `reply = "Answer"`',
    "set": "write it as a table: `[set]`, then lines such as `round = 2`",
    "values": 'write it as a table for each field: `[values.model]`, then lines such as `"A" = "openai/gpt-4o"`',
}


# Rows of files
UNREADABLE = "S0501"
SHEET_MARK = "mark:"
"""Prefix of the key of a column in which a grading sheet of `tripos annotate` asks for grades."""


@dataclass(frozen=True)
class FileRow:
    """One row of a file. `number` counts rows from 1; `part` counts the entries of the column that `each` names.
    `cells` are the raw cells, and `mapping` is the mapping that reads them."""

    file: str
    number: int
    part: int | None
    cells: Mapping[str, Any]
    mapping: ColumnMap

    @property
    def place(self) -> str:
        """The position of the row for a message: `row 3`, or `row 3.2` for the second entry of a list."""
        return f"row {self.number}" + ("" if self.part is None else f".{self.part}")

    def get(self, name: str) -> Any:
        """Return the value of a field, or None."""
        return self.mapping.get(name, self.cells)

    def text(self, name: str) -> str | None:
        """Return the value of a field as text, or None."""
        value = self.get(name)
        return None if value is None else value if isinstance(value, str) else cell_text(value)


@dataclass(frozen=True)
class FileRows:
    """The rows of all files of an import, and the files with their SHA-256."""

    records: tuple[FileRow, ...]
    files: tuple[ResolvedFile, ...]

    @property
    def source(self) -> str:
        """The files as the store records them: file name and first 12 digits of the SHA-256.

        >>> FileRows((), (ResolvedFile("a/scores.csv", "/data/a/scores.csv", "12ab" * 16, {}),)).source
        'scores.csv 12ab12ab12ab'
        """
        return ", ".join(f"{file.path.rpartition('/')[2]} {file.sha256[:12]}" for file in self.files)

    def unused(self, names: Iterable[str], more: Collection[str]) -> tuple[str, ...]:
        """Return the columns that hold none of the fields `names` and are not among `more`."""
        column_map = self.records[0].mapping
        used = {
            *column_map.columns.values(),
            *more,
            *(column for name in names for column in DEFAULT_COLUMNS.get(name, (name,))),
        }
        return tuple(column for column in self.columns if column not in used)

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column of the rows, in order of first appearance."""
        return tuple(dict.fromkeys(name for record in self.records for name in record.cells))


def read_table(source: str, told: ColumnMap, trust: Trust = TRUSTED, *, outside: bool = False) -> FileRows:
    """Return the rows of a file, or of all files that match a pattern: `*` matches within a name, and `{field}` also
    becomes a column. Only the folder of the pattern is read, unless `outside` is true.

    Raises `TriposError` S0501 if a file is missing or cannot be read, and S0502 if no row has a column that the mapping
    names.
    """
    reader = SourceFolder.of_pattern(Path(source), trust, outside=outside).data
    try:
        files = tuple(reader.find(source, "import"))
        records = tuple(record for file in files for record in _records(reader, file, told))
    except DataError as error:
        hint = "check the path" if error.hint.startswith("give the folder") else error.hint
        raise TriposError(UNREADABLE, error.message, hint) from error
    if any(name.startswith(SHEET_MARK) for record in records[:1] for name in record.cells):
        message = f"`{source}` is a sheet that `tripos annotate` handed out"
        raise TriposError(UNREADABLE, message, f"tripos annotate {AnnotateParameters.take} {source}")
    table = FileRows(records, files)
    if not records:
        raise TriposError(UNREADABLE, f"`{source}` has no rows", "give a file with a row for each score or reply")
    columns = table.columns
    for name, column in told.columns.items():
        if column not in columns:
            hint = suggest(column, columns, f"its columns are {', '.join(columns[:12])}")
            raise TriposError("S0502", f"`{name}` should be in the column `{column}`, which no row has", hint)
    return table


def _records(reader: DataFolders, file: ResolvedFile, told: ColumnMap) -> Iterator[FileRow]:
    for count, row in enumerate(reader.rows(file), 1):
        number = row_number(row, count)
        said = {**file.captures, **row}
        if told.list_column is None:
            yield FileRow(file.path, number, None, said, told)
            continue
        entries = _entries(said.get(told.list_column))
        if entries is None:
            message = f"row {number} of `{file.path}` has no list of records in the column `{told.list_column}`"
            raise TriposError("S0502", message, "`each` names a column whose lists hold a record a reply")
        rest = {name: value for name, value in said.items() if name != told.list_column}
        for part, entry in enumerate(entries, 1):
            yield FileRow(file.path, number, part, {**rest, **entry}, told)


def _entries(value: Any) -> list[dict[str, Any]] | None:
    """Return a list of records, also if it is given as JSON text; None for any other value."""
    if isinstance(value, str):
        try:
            value = load_json(value)
        except ValueError:
            return None
    good = isinstance(value, list) and all(isinstance(entry, dict) for entry in value)
    return value if good else None


# Rejected rows
SHOWN_LINES = 20
LONGEST = 40
MAX_SINGLE_LINES = 3
"""If more rows than this are rejected for the same reason, they share one line."""


@dataclass(frozen=True)
class RowError:
    """The reason why a row was rejected, with the field and the value that caused it."""

    record: FileRow
    field: str
    value: Any
    reason: str

    @property
    def line(self) -> str:
        """The rejection in one line, with the row.

        >>> from tripos.importing.rows import ColumnMap
        >>> RowError(FileRow("a.csv", 3, None, {}, ColumnMap()), "value", "12", "not in 1..10").line
        'row 3: value `12`: not in 1..10'
        """
        return f"{self.record.place}: {self.summary}"

    @property
    def summary(self) -> str:
        """The rejection in one line, without the row."""
        text = "" if self.value is None else f" `{_short(str(self.value))}`"
        return escape_controls(f"{self.field}{text}: {self.reason}").replace("\n", " ")

    def is_of(self, options: Collection[str]) -> bool:
        """Return true if one of these options gave the wrong value or could supply the missing one."""
        return self.field in options and (self.value is None or self.field in self.record.mapping.set)

    def to_json(self) -> dict[str, Any]:
        """Return the entry for `--rejected` and `--json`."""
        record = self.record
        found = {"file": record.file, "row": record.number}
        if record.part is not None:
            found["entry"] = record.part
        return {**found, "field": self.field, "value": self.value, "reason": self.reason}


class InvalidValue(Exception):
    """An invalid value in a row. The reader turns it into a `RowError`."""

    def __init__(self, field: str, value: Any, reason: str) -> None:
        super().__init__(reason)
        self.field, self.value, self.reason = field, value, reason

    def at(self, record: FileRow) -> RowError:
        """Return the rejection of this row."""
        return RowError(record, self.field, self.value, self.reason)


def parse_whole_number(said: Any, field: str) -> int | None:
    """Return a value as a whole number, or None if it is missing. Texts and floats are accepted, since tables have
    both. Raises `InvalidValue` for anything else, a negative number, or one from 2**53 on.

    >>> parse_whole_number("3", "sample"), parse_whole_number(2.0, "round"), parse_whole_number(None, "round")
    (3, 2, None)
    """
    if said is None:
        return None
    try:
        number = float(said)
        if not isinstance(said, bool) and number == int(number) and 0 <= number < 2**53:
            return int(number)
    except (TypeError, ValueError, OverflowError):
        pass
    raise InvalidValue(field, said, "not a whole number")


def report_row_errors(
    rejected: Sequence[RowError], rows: int, file: str | None, *, skip: bool, what: str, options: Collection[str]
) -> None:
    """Write the rejected rows to `file` and show the first of them on standard error.

    Raises `TriposError` S0503 if any row was rejected and `skip` is false. The exit code is that of a usage error if
    one of the `options` is missing or wrong in all rows.
    """
    if file is not None:
        _write(rejected, Path(file))
    if not rejected:
        return
    bad = len({(row_error.record.file, row_error.record.place) for row_error in rejected})
    groups: dict[str, list[RowError]] = {}
    for error in rejected:
        groups.setdefault(error.summary, []).append(error)
    told = list(_lines(groups, whole_file=bad == rows))
    for line, _ in told[:SHOWN_LINES]:
        show_message(line, stderr=True)
    if left := sum(count for _, count in told[SHOWN_LINES:]):
        rest = f"`{REJECTED} FILE` writes all" if file is None else f"`{file}` has all"
        show_message(f"and {left:,} more: {rest}", stderr=True)
    if skip:
        show_message(f"{bad:,} of {rows:,} rows do not fit and are left out, as `{SKIP_REJECTED}` says", stderr=True)
        return
    option = len(groups) == 1 and bad == rows and rejected[0].is_of(options)
    hint = f"fix them, or import the others with `{SKIP_REJECTED}`"
    if bad == rows:
        hint = f"give another `--{rejected[0].field}`" if option else "fix them, or say how to read them"
    raise TriposError(
        "S0503",
        f"{bad:,} of {rows:,} rows do not fit, so no {what} was imported",
        hint,
        ExitCode.USAGE if option else ExitCode.SOME_FAILED,
    )


def _lines(groups: Mapping[str, Sequence[RowError]], *, whole_file: bool) -> Iterator[tuple[str, int]]:
    """Yield each line with the number of rejections that it covers. Rejections with the same reason share a line."""
    for what, group in groups.items():
        if len(group) <= MAX_SINGLE_LINES:
            yield from ((error.line, 1) for error in group)
        elif whole_file and len(groups) == 1:
            yield f"every row: {what}", len(group)
        else:
            yield f"{group[0].record.place} and {len(group) - 1:,} more: {what}", len(group)


def _write(rejected: Sequence[RowError], path: Path) -> None:
    with writing(path, "check the path and its permissions"), path.open("w", encoding="utf-8", newline="") as file:
        if path.suffix.casefold() in (".csv", ".tsv"):
            delimiter = "\t" if path.suffix.casefold() == ".tsv" else ","
            writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
            writer.writerow(("file", "row", "field", "value", "reason"))
            for row_error in rejected:
                place = row_error.record.place.removeprefix("row ")
                writer.writerow((row_error.record.file, place, row_error.field, row_error.value, row_error.reason))
            return
        for row_error in rejected:
            told = {**row_error.to_json(), "record": dict(row_error.record.cells)}
            file.write(json.dumps(told, ensure_ascii=False, default=str) + "\n")


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


# The item of a row
@dataclass(frozen=True)
class PlannedItem:
    """An item of a scenario. `position` counts the items of the scenario from 1, or is 0 if unknown."""

    scenario: str
    item_id: str
    context: Mapping[str, str]
    fields: Mapping[str, Any]
    position: int = 0


@dataclass
class ItemIndex:
    """The items of a plan, indexed by id, by position and by the values of their fields."""

    plan: Plan
    items: Sequence[PlannedItem]
    own_fields: Sequence[str] = ()
    """Other fields of a row. Their columns are not read as fields of an item."""
    by_id: dict[str, list[PlannedItem]] = field(default_factory=dict)
    by_place: dict[tuple[str, int], PlannedItem] = field(default_factory=dict)
    _by_fields: dict[tuple[str, tuple[str, ...]], dict[bytes, list[PlannedItem]]] = field(default_factory=dict)
    _of: dict[str, list[PlannedItem]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.axes: dict[str, Axis] = {axis.name: axis for axis in self.plan.axes}
        for item in self.items:
            self.by_id.setdefault(item.item_id, []).append(item)
            self._of.setdefault(item.scenario, []).append(item)
            if item.position:
                self.by_place[item.scenario, item.position] = item

    @property
    def field_names(self) -> frozenset[str]:
        """Every name that can identify an item: the fields of the data sets, and the axes."""
        return frozenset({data_field.name for data_field in self._every_field} | self.axes.keys())

    @property
    def columns(self) -> frozenset[str]:
        """The columns that can identify an item: the names of its fields, and the columns of the data that hold
        them.
        """
        return self.field_names | {column for data_field in self._every_field for column in data_field.columns}

    @property
    def _every_field(self) -> Iterator[DataField]:
        for fields in self._fields_of.values():
            yield from fields

    @property
    def _fields_of(self) -> dict[str, tuple[DataField, ...]]:
        """The fields of every data set, by the name of the data set."""
        read = {dataset.name: dataset.fields for dataset in self.plan.datasets}
        return read | {dataset.name: dataset.fields for dataset in self.plan.made}

    def scenario(self, record: FileRow) -> Scenario | None:
        """Return the scenario that a row gives by name or title, or None if it gives none. Raises `InvalidValue` for an
        unknown one."""
        said = record.text("scenario")
        if said is None:
            return None
        for each in self.plan.scenarios:
            titles = self.plan.titles.get("scenario", {}).get(each.name, {}).values()
            if said.casefold() in {text.casefold() for text in (each.name, each.title, *titles)}:
                return each
        known = [scenario.name for scenario in self.plan.scenarios]
        close = nearest(said, known)
        raise InvalidValue("scenario", said, f"no such scenario; {_suggestion(close, known)}")

    def find(self, record: FileRow) -> PlannedItem:
        """Return the item that a row belongs to. Raises `InvalidValue` if no item or several items match."""
        items, field, value = self.candidates(record)
        return _only_item(items, field, value)

    def candidates(self, record: FileRow) -> tuple[list[PlannedItem], str, Any]:
        """Return the items that match a row, the field that identified them, and its value. Raises `InvalidValue` if
        none matches."""
        items, field, value = self._candidates(record)
        return items or [_only_item(items, field, value)], field, value

    def _candidates(self, record: FileRow) -> tuple[list[PlannedItem], str, Any]:
        scenario = self.scenario(record)
        within = [each.name for each in self.plan.scenarios if scenario is None or each is scenario]
        if (text := record.text("item")) is not None:
            items = [planned_item for planned_item in self.by_id.get(text, ()) if planned_item.scenario in within]
            if not items:
                fields = dict.fromkeys(
                    data_field.name for name in within for data_field in self._fields(self.plan_scenario(name))
                )
                told = f"; a column may say it by what it holds: {', '.join([*fields][:4])}" if fields else ""
                raise InvalidValue("item", text, f"no item of the benchmark has this id{told}")
            return items, "item", text
        if (place := parse_whole_number(record.get("position"), "position")) is not None:
            if scenario is None:
                raise InvalidValue(
                    "position", place, "a position counts the items of a scenario, and no scenario is named"
                )
            item = self.by_place.get((scenario.name, place))
            return [] if item is None else [item], "position", place
        return self._match_by_fields(record, within)

    def _match_by_fields(self, record: FileRow, within: Iterable[str]) -> tuple[list[PlannedItem], str, Any]:
        items: list[PlannedItem] = []
        tried: dict[str, Any] = {}
        for name in within:
            said = self._typed_fields(record, self.plan_scenario(name))
            if said:
                tried |= said
                items += self._index(name, tuple(said)).get(_key(said), ())
        if not tried:
            raise InvalidValue(
                "item", None, "nothing says which item it is about: no item_id, position, or field of an item"
            )
        names = ", ".join(tried)
        return items, names, next(iter(tried.values())) if len(tried) == 1 else None

    def plan_scenario(self, name: str) -> Scenario:
        """Return the scenario with this name."""
        return next(scenario for scenario in self.plan.scenarios if scenario.name == name)

    def _typed_fields(self, record: FileRow, scenario: Scenario) -> dict[str, Any]:
        """Return the fields of an item that a row gives, typed as in the data set. A value of the wrong type is left
        out. Raises `InvalidValue` if the mapping names that field."""
        said: dict[str, Any] = {}
        taken = {record.mapping.column(name, record.cells) for name in self.own_fields} | set(
            record.mapping.columns.values()
        )
        for data_field in self._fields(scenario):
            if data_field.name in record.mapping.columns or data_field.name in record.mapping.set:
                value = record.get(data_field.name)
            else:
                free = (c for c in (data_field.name, *data_field.columns) if c not in taken)
                cell = next((v for c in free if not is_blank(v := record.cells.get(c))), None)
                value = record.mapping.translate(data_field.name, cell)
            if value is None:
                continue
            try:
                said[data_field.name] = read_value(data_field.type, value, self.axes)
            except DoesNotFit:
                if data_field.name in record.mapping.columns or data_field.name in record.mapping.set:
                    raise InvalidValue(data_field.name, value, f"no item of `{scenario.name}` can have this") from None
        named = {axis for axis in scenario.axes if axis not in said}
        return said | {axis: value for axis in sorted(named) if (value := self._axis(record, axis)) is not None}

    def _fields(self, scenario: Scenario) -> tuple[DataField, ...]:
        rows = scenario.rows
        if rows is None:
            return ()
        return self._fields_of.get(rows.dataset, ())

    def _axis(self, record: FileRow, name: str) -> str | None:
        said = record.text(name)
        if said is None:
            return None
        for value in self.axes[name].values:
            if said.casefold() in {value.name.casefold(), *(text.casefold() for text in value.labels.values())}:
                return value.name
        raise InvalidValue(name, said, f"the axis `{name}` has no such value")

    def _index(self, scenario: str, names: tuple[str, ...]) -> dict[bytes, list[PlannedItem]]:
        if (scenario, names) not in self._by_fields:
            index: dict[bytes, list[PlannedItem]] = {}
            for item in self._of.get(scenario, ()):
                told = {**item.context, **item.fields}
                index.setdefault(_key({name: told.get(name) for name in names}), []).append(item)
            self._by_fields[scenario, names] = index
        return self._by_fields[scenario, names]


def _key(said: Mapping[str, Any]) -> bytes:
    return canonical(said)


def _only_item(found: Sequence[PlannedItem], field: str, value: Any) -> PlannedItem:
    """Return the only item. Raises `InvalidValue` if there are none or several."""
    if len(found) == 1:
        return found[0]
    if not found:
        raise InvalidValue(field, value, "no item of the benchmark has this")
    scenarios = sorted({item.scenario for item in found})
    if len(scenarios) > 1:
        raise InvalidValue(
            field, value, f"items of {len(scenarios)} scenarios have this: {', '.join(scenarios)}; name one"
        )
    raise InvalidValue(field, value, f"{len(found)} items have this: say more of the one that is meant")


def _suggestion(close: str | None, known: Sequence[str]) -> str:
    return (
        f"did you mean `{close}`?" if close else f"there are {', '.join(known[:8])}" + ("…" if len(known) > 8 else "")
    )
