"""Lowering of data sets that are read from files: `dataset … from`, `like`, `key` and `join`.

Reads every file and checks each column and value.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from decimal import Decimal
from typing import Any

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.diagnostics.diagnostic import Attempt, Label, nearest
from tripos_compiler.language.evaluation import DATA, TREES
from tripos_compiler.language.exact_values import InexactJson, exact_number
from tripos_compiler.language.references import subexpressions
from tripos_compiler.language.rows import (
    ABSENT,
    COMMA_HELP,
    COMMA_IN_WORKBOOK_HELP,
    DateCell,
    Misfit,
    PointCell,
    find_value,
    has_comma,
    is_structured,
    item_id,
    read_row,
    row_number,
)
from tripos_compiler.library.media import MediumKind
from tripos_compiler.library.signature import in_bounds
from tripos_compiler.library.types import type_notation, without_optional
from tripos_compiler.lowering.declarations import branches_of
from tripos_compiler.plan import Branches, Data, DataField, DataFile, Dataset, Expr, Join, Type, digest
from tripos_compiler.resolve.program import Binding, LoadedDataset, LoadedRow, Program, Scope, Typed, row_fields
from tripos_compiler.resolve.python_functions import is_compile_time
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.inputs import DataError, JoinedFiles, ResolvedFile
from tripos_compiler.source.text import Span
from tripos_compiler.source.tree import BinaryExpr, Name, Syntax, Text
from tripos_compiler.typecheck.expressions import check
from tripos_compiler.typecheck.types import axis_type, field_type, is_secret

# Reading and checking files

REPORTED_A_FILE = 3
"""The most bad values of one file that are listed; the rest are counted."""
NAMED = 1000
"""The most columns of a file that are remembered to suggest a name for a missing one."""


AS_TEXT = "format the column as text and type it again: else `007` is kept as 7, `4.50` as 4.5, and `3/4` as a date"
"""The hint for a spreadsheet cell that is not text."""


@dataclass(frozen=True)
class RowsRead:
    """The files as the plan records them, and their typed rows, divided into new ones and repetitions."""

    files: tuple[DataFile, ...]
    rows: tuple[LoadedRow, ...]
    repeated: tuple[LoadedRow, ...]
    media_by_folder: bool = False
    """Whether equal cells can name different files, because each is relative to its own data file."""
    keys: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """By column, the values of `rows` that join files are looked up by, for columns that no field reads."""


@dataclass(frozen=True)
class ColumnPlan:
    """A data set to read, with the place of its path and the places at which mistakes in each field are reported."""

    dataset: Dataset
    where: Span
    places: Mapping[str, tuple[Span] | tuple[Span, Label]]
    suggestions: list[str] = field(default_factory=list)
    """The columns of the file that fields without a column probably misspell."""


@dataclass
class MissingColumn:
    """The rows of a file that lack a column, as long as no row has it."""

    of: DataField
    rows: int = 0
    first: list[int] = field(default_factory=list)


def read_files(program: Program, columns: ColumnPlan, files: list[ResolvedFile]) -> RowsRead | None:
    """Read the files of a data set; None if a row does not fit."""
    attempt, reading = program.diagnostics.attempt(), _Reading(program, columns)
    described = [reading.file(file) for file in files]
    reading.finish()
    if attempt.failed:
        return None
    by_folder = any(len(marks) > 1 for marks in reading.media.values())
    return RowsRead(tuple(described), tuple(reading.rows), tuple(reading.repeated), by_folder, reading.keys_of_rows())


class _Reading:
    """State of reading the files of one data set."""

    def __init__(self, program: Program, columns: ColumnPlan) -> None:
        self.program = program
        self.columns = columns
        self.fields = columns.dataset.fields
        self.rows: list[LoadedRow] = []
        self.repeated: list[LoadedRow] = []
        self.attempt = program.diagnostics.attempt()
        declared = {name for data_field in self.fields for name in data_field.columns}
        self.keys: dict[str, list[Any]] = {
            join.column: [] for join in columns.dataset.joins if join.column not in declared
        }
        self.paths: dict[int, LoadedRow] = {}
        """The rows by content hash, as a number because it takes less memory than its digits."""
        self.media: dict[tuple[MediumKind, str], set[str]] = {}
        """By kind and cell, the identities of the files that cells name."""
        self.absent: dict[str, list[tuple[str, list[str]]]] = {}
        """By field, the files without its column, each with the columns it has."""
        self.parts = {data_field.name: 0 for data_field in self.fields if _is_text(data_field)}
        """By text field, the number of rows with a list or record in it, as long as every row has one."""

    def file(self, file: ResolvedFile) -> DataFile:
        """Read and check one file, and return its record in the plan."""
        count, bad = 0, 0
        repeats: list[int] = []
        unseen = {
            data_field.name: MissingColumn(data_field)
            for data_field in self.fields
            if data_field.type.kind != "optional"
        }
        had: dict[str, None] = {}
        dates: dict[str, list[int]] = {}
        points: dict[str, tuple[int, str]] = {}
        marks: list[str] = []

        def medium(kind: MediumKind, value: Any) -> str:
            marks.append(self.program.data.medium(file, kind, value))
            if isinstance(value, str):
                self.media.setdefault((kind, value), set()).add(marks[-1])
            return marks[-1]

        try:
            for number, record in enumerate(self.program.data.rows(file), 1):
                raw = {**file.captures, **record}
                count = number
                shown = row_number(record, number)
                if unseen and not self._has_columns(file, shown, raw, unseen, had):
                    continue
                self._look_for_parts(raw)
                self._look_for_dates(raw, shown, dates)
                self._look_for_points(raw, shown, points)
                before = len(marks)
                row = read_row(self.columns.dataset, raw, self.program.axes, medium)
                if isinstance(row, Misfit):
                    bad += 1
                    if bad <= REPORTED_A_FILE:
                        self._misfit(file, shown, row)
                elif self._repeats(LoadedRow(row, file.path, number, shown), warn=not repeats):
                    repeats.append(number)
                    del marks[before:]
                else:
                    for name, values in self.keys.items():
                        values.append(raw.get(name))
        except DataError as error:
            self._error("E0307", error.message, self.columns.where, help=error.hint, fault=error.message)
            unseen.clear()  # the columns of the rows are unknown
        if bad > REPORTED_A_FILE:
            message = f"{bad - REPORTED_A_FILE} more rows of {file.path} do not fit"
            help_ = "fix the file, or the types of the fields"
            self._error("E0305", message, self.columns.where, help=help_, fault=message)
        for name, numbers in dates.items():
            rows = f"row {numbers[0]}" if len(numbers) == 1 else f"rows {numbers[0]} and {len(numbers) - 1} more"
            message = f"{rows} of {file.path}: a date stands in the text `{name}`"
            self.program.diagnostics.warning("W0310", message, *self.columns.places[name], help=AS_TEXT)
        if DECIMAL_POINT not in points:
            for name, (number, cell) in points.items():
                point, comma = f"{float(cell):g}", cell.replace(".", "")
                message = f"row {number} of {file.path}: `{cell}` may be {point} or {comma}"
                self._error("E0305", message, *self.columns.places[name], help=POINT_HELP, fault=message)
        for lacking in unseen.values():
            if lacking.rows:
                self.absent.setdefault(lacking.of.name, []).append((file.path, list(had)))
        return DataFile(
            path=file.path,
            sha256=file.sha256,
            rows=count,
            captures=dict(file.captures),
            repeats=tuple(repeats),
            media=digest(marks) if marks else None,
        )

    def keys_of_rows(self) -> Mapping[str, tuple[Any, ...]]:
        """Return the lookup values of joins whose column no field reads."""
        return {name: tuple(values) for name, values in self.keys.items()}

    def finish(self) -> None:
        """Report what is known only after all rows."""
        for name, files in self.absent.items():
            self._no_column(next(data_field for data_field in self.fields if data_field.name == name), files)
        if self.attempt.failed:
            return
        for name, rows in self.parts.items():
            if rows:
                message = f"`{name}` is a list or record in every row"
                help_ = f"write its type: `{name} list<text>`, or `{name} {{ … }}`"
                self._error("E0305", message, *self.columns.places[name], help=help_)

    def _error(self, code: str, message: str, *where: Span | Label, help: str, fault: str | None = None) -> None:
        self.program.diagnostics.error(code, message, *where, help=help, fault=fault)

    def _has_columns(
        self,
        file: ResolvedFile,
        number: int,
        raw: dict[str, Any],
        unseen: dict[str, MissingColumn],
        had: dict[str, None],
    ) -> bool:
        """Return true if the row has every column that was missing so far.

        If a column appears only in a later row, the earlier rows are reported as incomplete.
        """
        for name, lacking in list(unseen.items()):
            if find_value(lacking.of, raw)[1] is ABSENT:
                lacking.rows += 1
                if len(lacking.first) < REPORTED_A_FILE:
                    lacking.first.append(number)
            else:
                del unseen[name]
                for earlier in lacking.first:
                    self._nothing(file, earlier, lacking.of)
                if lacking.rows > len(lacking.first):
                    more = lacking.rows - len(lacking.first)
                    message = f"{more} more rows of {file.path} have nothing in `{name}`"
                    self._error("E0305", message, self.columns.where, help=_allow(lacking.of), fault=message)
        if unseen and len(had) < NAMED:
            had.update(dict.fromkeys(raw))
        return not any(lacking.rows for lacking in unseen.values())

    def _look_for_parts(self, raw: dict[str, Any]) -> None:
        for data_field in self.fields:
            if data_field.name in self.parts:
                value = find_value(data_field, raw)[1]
                if is_structured(data_field.type, value):
                    self.parts[data_field.name] += 1
                elif value is not ABSENT and value is not None:
                    del self.parts[data_field.name]

    def _look_for_dates(self, raw: dict[str, Any], number: int, dates: dict[str, list[int]]) -> None:
        """Note the text fields for which a spreadsheet has a date."""
        for data_field in self.fields:
            if _is_text(data_field) and isinstance(find_value(data_field, raw)[1], DateCell):
                dates.setdefault(data_field.name, []).append(number)

    def _look_for_points(self, raw: dict[str, Any], number: int, points: dict[str, tuple[int, str]]) -> None:
        """Note the fields of numbers with a cell that is one number with a decimal point and another with a decimal
        comma, and under `DECIMAL_POINT` a cell that shows which it is."""
        for data_field in self.fields:
            value = find_value(data_field, raw)[1]
            if isinstance(value, str) and "." in value and without_optional(data_field.type).kind in NUMBERS:
                name = data_field.name if isinstance(value, PointCell) else DECIMAL_POINT
                points.setdefault(name, (number, value.strip()))

    def _repeats(self, loaded: LoadedRow, warn: bool) -> bool:
        """Return true if a row repeats an earlier one; otherwise keep it."""
        earlier = self.paths.setdefault(int(item_id(loaded.values), 16), loaded)
        if earlier is loaded:
            self.rows.append(loaded)
            return False
        self.repeated.append(replace(loaded, values=earlier.values))
        if warn:
            place = f"row {earlier.shown}" + ("" if earlier.path == loaded.path else f" of {earlier.path}")
            message = f"row {loaded.shown} of {loaded.path} says what {place} says"
            help_ = "repeated rows run once: remove them, or add a distinguishing field"
            self.program.diagnostics.warning("W0309", message, self.columns.where, help=help_)
        return True

    def _no_column(self, field: DataField, files: list[tuple[str, list[str]]]) -> None:
        path, had = files[0]
        columns = " or ".join(f"`{column}`" for column in field.columns)
        close = nearest(field.columns[0], had)
        if close is not None:
            self.columns.suggestions.append(close)
        listed = ", ".join(f"`{column}`" for column in had[:10]) or "no columns"
        help_ = f'did you mean `{close}`? write `from "{close}"`' if close else f"the file has {listed}"
        more = f" and {len(files) - 1} more" if len(files) > 1 else ""
        message = f"{path}{more} {'have' if more else 'has'} no column {columns}"
        self._error("E0304", message, *self.columns.places[field.name], help=help_)

    def _nothing(self, file: ResolvedFile, number: int, field: DataField) -> None:
        message = f"row {number} of {file.path} has nothing in `{field.name}`"
        self._wrong_value(message, field, _allow(field))

    def _misfit(self, file: ResolvedFile, number: int, misfit: Misfit) -> None:
        """Report a value that does not fit its field, with the most specific hint."""
        field = next(data_field for data_field in self.fields if data_field.name == misfit.field)
        if misfit.value is None:
            self._nothing(file, number, field)
            return
        if misfit.reason is not None:
            message = f"row {number} of {file.path}: {misfit.reason}"
            if isinstance(misfit.reason, InexactJson):
                message = f"row {number} of {file.path}: `{field.name}` cannot be read exactly: {misfit.reason}"
            self._wrong_value(message, field, misfit.reason.help)
            return
        value = _as_in_file(misfit.value)
        value = value if len(value) <= 60 else value[:57] + "…"
        message = f"row {number} of {file.path}: {value} is not `{misfit.expected}`"
        help_ = "fix the row, or the field's type"
        workbook = file.path.casefold().endswith(".xlsx")
        exact = _exact(misfit.value)
        long = exact is not None and not -(2**63) < exact < 2**63
        if has_comma(misfit.value) and without_optional(field.type).kind in ("integer", "number"):
            help_ = COMMA_IN_WORKBOOK_HELP if workbook else COMMA_HELP
        if long and (_is_integer(field) or (_is_text(field) and not workbook)):
            message = f"row {number} of {file.path}: a whole number of `{field.name}` is beyond 64 bits"
            help_ = "put it in quotation marks, and make it `text`: the largest whole number is 9223372036854775807"
        elif exact is not None and without_optional(field.type).kind == "number":
            message = f"row {number} of {file.path}: a number of `{field.name}` is past all bounds, which are ±1e70"
            help_ = "fix the row, or make the field `text`"
            if in_bounds(exact):
                message = f"row {number} of {file.path}: {value} has more digits than `{field.name}` can keep"
                help_ = "round it, or make the field `text`"
        elif _is_text(field) and isinstance(misfit.value, int | float | Decimal):
            typed = file.path.casefold().endswith(COLUMN_TYPED)
            in_quotes = "put it in quotation marks, or fix the field's type"
            help_ = AS_TEXT if workbook else "make the column text, or fix the field's type" if typed else in_quotes
        self._wrong_value(message, field, help_)

    def _wrong_value(self, message: str, field: DataField, help_: str) -> None:
        """Report a value of a row; another data set with the same column of the file does not report it again."""
        fault = f"{message} {field.columns}"
        self._error("E0305", message, *self.columns.places[field.name], help=help_, fault=fault)


def _as_in_file(value: Any) -> str:
    """Return a value as its file has it: JSON for what JSON has, a text in single quotation marks."""
    if isinstance(value, str | bytes):
        return repr(value)
    return str(value) if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=False, default=str)


COLUMN_TYPED = (".parquet", ".arrow", ".feather", ".ipc")
"""The suffixes of files whose columns have types."""
NUMBERS = ("integer", "number")
DECIMAL_POINT = "."
POINT_HELP = (
    "its cells are separated by semicolons, as where numbers have a decimal comma, and no number of the file shows "
    "that a point is a decimal point: write `1500` without the point, or `1.5` without the last zeros"
)


def _is_text(field: DataField) -> bool:
    return without_optional(field.type).kind == "text"


def _is_integer(field: DataField) -> bool:
    """Return true for integers without a range."""
    type_ = without_optional(field.type)
    return type_.kind == "integer" and type_.low is None and type_.high is None


def _exact(value: object) -> float | Decimal | None:
    """Return the finite number in a cell; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        return None
    try:
        exact = exact_number(value) if isinstance(value, str | Decimal) else value
    except ValueError:
        return None
    return None if isinstance(exact, float) and not math.isfinite(exact) else exact


def _allow(field: DataField) -> str:
    return f"fix the row, or allow it: `{field.name} {type_notation(field.type)}?`"


# Joined files


@dataclass(frozen=True)
class FoundJoins:
    """The joins of a data set in the plan, and their files."""

    joins: tuple[Join, ...] = ()
    files: tuple[JoinedFiles, ...] = ()


def lower_joins(program: Program, statement: Statement, dataset: Dataset) -> FoundJoins | None:
    """Lower `join PATH on COLUMN [to OTHER]`. Reports mistakes and returns None.

    From each file, only the columns are taken that a field or a later join reads.
    """
    wanted = {name for data_field in dataset.fields for name in data_field.columns}
    joins: list[Join] = []
    fileses: list[JoinedFiles] = []
    for written in statement.of("join"):
        path, column = written.text("path"), written.text("column").value
        other = written.text("other").value if written.has("other") else column
        try:
            files = program.data.find(path.value, written.span.source.path)
            read = [_columns(program, file) for file in files]
        except DataError as error:
            program.diagnostics.error("E0307", error.message, path.span, help=error.hint, fault=error.message)
            continue
        there = {name for names, _ in read for name in names}
        if other not in there:
            message = f"{files[0].path} has no column `{other}`, by which its rows are found"
            listed = ", ".join(f"`{name}`" for name in sorted(there)[:10]) or "no columns"
            span = written.text("other" if written.has("other") else "column").span
            program.diagnostics.error("E0304", message, span, help=f'write `to "COLUMN"`: the file has {listed}')
            continue
        later = {join.text("column").value for join in statement.of("join")}
        taken = tuple(sorted(there & (wanted | later)))
        described = tuple(
            DataFile(path=file.path, sha256=file.sha256, rows=rows, captures=dict(file.captures))
            for file, (_, rows) in zip(files, read, strict=True)
        )
        joins.append(Join(source=path.value, column=column, other=other, columns=taken, files=described))
        fileses.append(JoinedFiles(tuple(files), column, other, taken))
    return FoundJoins(tuple(joins), tuple(fileses)) if len(joins) == len(list(statement.of("join"))) else None


def _columns(program: Program, file: ResolvedFile) -> tuple[set[str], int]:
    """Return the columns of a file and its number of rows."""
    names, count = set(file.captures), 0
    for record in program.data.rows(file):
        names.update(record)
        count += 1
    return names, count


# Declarations


@dataclass
class Fields:
    """The declared fields of a data set."""

    attempt: Attempt
    """The lowering of the data set."""
    fields: list[DataField] = field(default_factory=list)
    poisoned: list[str] = field(default_factory=list)
    spans: dict[str, Span] = field(default_factory=dict)
    heads: dict[str, Span] = field(default_factory=dict)


def lower_file(program: Program, statement: Statement, name: str) -> LoadedDataset:
    """Lower `dataset NAME from PATH { … }`. `name` is its name in the plan."""
    fields = _fields(program, statement, name)
    path = statement.text("path")
    dataset = Dataset(name=name, source=path.value, fields=tuple(fields.fields), files=())
    loaded = _loaded(statement, fields, dataset)
    key = _key(program, statement, loaded)
    if key is not None and not key.is_error:
        dataset = dataset.model_copy(update={"key": key.expr})
    places = {field: (head,) for field, head in fields.heads.items()}
    joins = lower_joins(program, statement, dataset)
    return _read(program, statement, fields, dataset, ColumnPlan(dataset, path.span, places), joins)


def lower_like(program: Program, statement: Statement, name: str) -> LoadedDataset | None:
    """Lower `dataset NAME from PATH like DATASET`; None if the fields of that data set are unknown."""
    attempt, other = program.diagnostics.attempt(), statement.name("dataset")
    if not program.is_declared("dataset", other):
        return None
    model = program.top_level_datasets.get(other.text)
    if model is None:
        program.diagnostics.follows()
        return None
    if model.generated is not None or not model.dataset.source:
        help_ = "name one that is read from a file, or list the fields in a block"
        message = f"`{other.text}` is made, and says of no column what it holds"
        program.diagnostics.error("E0301", message, other.span, help=help_)
        return None
    path = statement.text("path")
    if not model.sound and path.value == model.dataset.source:
        program.diagnostics.follows()
        return model
    shared = model.dataset
    dataset = shared.model_copy(update={"name": name, "source": path.value, "files": ()})
    fields = Fields(attempt, list(shared.fields), list(model.poisoned), dict(model.spans), {})
    if model.poisoned or not shared.fields or model.joined is None:
        program.diagnostics.follows()
    places = {
        data_field.name: (path.span, Label(model.spans[data_field.name], "the field")) for data_field in shared.fields
    }
    joins = FoundJoins(shared.joins, model.joined) if model.joined is not None else None
    return _read(program, statement, fields, dataset, ColumnPlan(dataset, path.span, places), joins)


def check_origins(program: Program) -> None:
    """Warn of data sets read from the benchmark's own folder while others come from a given folder.

    Then the given data is probably incomplete, and sample rows take the place of the missing part.
    """
    dataset = next(
        (loaded_dataset for loaded_dataset in program.top_level_datasets.values() if loaded_dataset.origin == "given"),
        None,
    )
    if dataset is None:
        return
    theirs = bare_name(dataset.dataset.name)
    for top_level_dataset in program.top_level_datasets.values():
        if top_level_dataset.origin == "shipped" and top_level_dataset.span is not None:
            name, source = bare_name(top_level_dataset.dataset.name), top_level_dataset.dataset.source
            message = f"the rows of `{name}` ship with the benchmark, and those of `{theirs}` come from a given folder"
            help_ = f"put `{source}` into the folder of --data, or allow it where sample rows are meant"
            program.diagnostics.warning("W1011", message, top_level_dataset.span, help=help_)


def bare_name(name: str) -> str:
    """Return the name in the spec of a data set that the plan calls `name`.

    >>> bare_name("error_correction.item")
    'item'
    """
    return name.rpartition(".")[2]


def _loaded(statement: Statement, fields: Fields, dataset: Dataset) -> LoadedDataset:
    """Return the data set before its files are read."""
    return LoadedDataset(
        dataset,
        (),
        fields.spans,
        tuple(fields.poisoned),
        sound=False,
        span=statement.name().span,
        axes=tuple(
            data_field.name
            for data_field in dataset.fields
            if data_field.type.kind == "choice" and data_field.type.axis == data_field.name
        ),
    )


def _read(
    program: Program,
    statement: Statement,
    fields: Fields,
    dataset: Dataset,
    columns: ColumnPlan,
    joins: FoundJoins | None,
) -> LoadedDataset:
    """Return a data set with the rows of its files. A wrong one, such as one without `joins`, is not read."""
    if joins is not None:
        dataset = dataset.model_copy(update={"joins": joins.joins})
        columns = replace(columns, dataset=dataset)
    unsound = replace(_loaded(statement, fields, dataset), joined=None if joins is None else joins.files)
    try:
        files = program.data.find(dataset.source, statement.span.source.path)
    except DataError as error:
        program.diagnostics.error("E0307", error.message, columns.where, help=error.hint, fault=error.message)
        return unsound
    rows_read = None
    if joins is not None and not fields.attempt.failed:
        rows_read = read_files(program, columns, [replace(file, joined=joins.files) for file in files])
    if rows_read is None or joins is None:
        likely = tuple(name for name in columns.suggestions if name not in fields.spans)
        return replace(unsound, poisoned=(*unsound.poisoned, *likely))
    return LoadedDataset(
        dataset.model_copy(update={"files": rows_read.files}),
        rows_read.rows,
        fields.spans,
        span=unsound.span,
        count=len(rows_read.rows),
        axes=unsound.axes,
        repeated=rows_read.repeated,
        media_by_folder=rows_read.media_by_folder,
        keys=rows_read.keys,
        unpacked={
            file.path: file.unpacked
            for file in (*files, *(file for join in joins.files for file in join.files))
            if file.unpacked is not None
        },
        origin=files[0].origin,
        joined=joins.files,
    )


def _fields(program: Program, statement: Statement, name: str) -> Fields:
    fields = Fields(program.diagnostics.attempt())
    for inner in statement.of("field"):
        written = inner.name()
        declared = _field(program, inner)
        if written.text in fields.spans:
            earlier = Label(fields.spans[written.text], "first declared here")
            message = f"field `{written.text}` is declared twice"
            program.diagnostics.error("E0202", message, inner.head, earlier, help="rename one")
            continue
        fields.spans[written.text] = written.span
        fields.heads[written.text] = inner.head
        detail = type_notation(declared.type) if declared is not None else ""
        program.index.define("field", written.text, written.span, f"dataset {bare_name(name)}", detail)
        if declared is None:
            fields.poisoned.append(written.text)
        else:
            fields.fields.append(declared)
    if not fields.fields and not fields.attempt.failed:
        help_ = "write a field a line: `question text`"
        block = statement.block.span if statement.block is not None else None
        program.diagnostics.error("E0206", "this data set has no fields", statement.head, help=help_, lacking=block)
    return fields


def _field(program: Program, statement: Statement) -> DataField | None:
    name = statement.name()
    type_: Type | None
    secret = is_secret(statement)
    typed = statement.has("secret") or not secret
    if statement.block is not None or (statement.find("type") is not None and typed):
        type_ = field_type(program, statement)
    elif name.text in program.axes:
        type_ = axis_type(program.axes[name.text])
        declared = program.declared.get("axis", {}).get(name.text)
        program.index.use(name.span, declared.span if declared is not None else None)
    elif name.text in program.declared.get("axis", {}):
        program.diagnostics.follows()
        type_ = None
    else:
        close = nearest(name.text, program.axes)
        typed_so = f"{name.text} text secret" if secret else f"{name.text} text"
        help_ = f"did you mean the axis `{close}`?" if close else f"write its type: `{typed_so}`"
        program.diagnostics.error("E0302", f"field `{name.text}` has no type", name.span, help=help_, unknown=name.text)
        type_ = None
    columns = _column_names(program, statement.find("columns"), name)
    if type_ is None or columns is None:
        return None
    return DataField(name=name.text, type=type_, columns=columns, secret=secret)


def _column_names(program: Program, syntax: Syntax | None, name: Name) -> tuple[str, ...] | None:
    match syntax:
        case None:
            return (name.text,)
        case Text(value=value):
            return (value,)
        case BinaryExpr(operator="or", left=left, right=right):
            first, second = _column_names(program, left, name), _column_names(program, right, name)
            return None if first is None or second is None else (*first, *second)
    help_ = 'write `from "Column"`, or `from "One" or "Other"`'
    program.diagnostics.error("E0106", "a column is named by a string", syntax.span, help=help_)
    return None


def _key(program: Program, statement: Statement, loaded: LoadedDataset) -> Typed | None:
    """Return the expression of `key`, which groups rows; None without one."""
    written = statement.one_of("key")
    if written is None:
        return None
    own, fields = statement.name().text, row_fields(loaded)
    return check_key(program, written.syntax("value"), {**fields, own: Binding((), None, fields, span=loaded.span)})


def check_key(program: Program, syntax: Syntax, scope: Scope) -> Typed:
    """Check the value of a `key`, which is evaluated for a row alone, wherever rows are read."""
    typed = check(program, syntax, scope)
    if any(part.op in ("data", "tree") for part in subexpressions(typed.expr)):
        message = "a key is a value of the row alone, and this looks into a data set or tree"
        help_ = "keep what it gives in a column of the data, or in a field of the rows that are made"
        program.diagnostics.error("E0314", message, syntax.span, help=help_)
    else:
        is_compile_time(program, typed.expr, syntax.span)
    return typed


# Data that is known before a run


def known_data(program: Program, expr: Expr, report: Callable[[str], None] | None = None) -> dict[str, Any] | None:
    """Return the data sets and trees that an expression reads, as names for `evaluate`; None if one of them is not
    known before a run, whose name is passed to `report`."""
    data: dict[str, Any] = {}
    trees: dict[str, Any] = {}
    for part in subexpressions(expr):
        match part:
            case Data(dataset=name):
                known: Any = data.setdefault(name, program.known_rows(name))
            case Branches(tree=name):
                known = trees.setdefault(name, branches_of(program, name))
            case _:
                continue
        if known is None:
            if report is not None:
                report(name)
            return None
    return {DATA: data, TREES: trees}
