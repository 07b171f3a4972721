"""Lowers data sets, and checks their columns and values against the real files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.data import DataError, FoundFile
from tripos_compiler.diagnostics import nearest
from tripos_compiler.plan import DataField, DataFile, Dataset, Type
from tripos_compiler.program import Program
from tripos_compiler.semantics.rows import ABSENT, Misfit, find_value, item_id, read_row
from tripos_compiler.source import Span
from tripos_compiler.syntax.tree import BinaryExpr, Name, Syntax, Text
from tripos_compiler.types import axis_type, read_type

REPORTED_A_FILE = 3
"""After so many bad values of one file the rest are counted, not listed."""


@dataclass(frozen=True)
class LoadedRow:
    """A typed row and where it stands: its file and its number, counted from 1."""

    values: dict[str, Any]
    path: str
    number: int


@dataclass(frozen=True)
class LoadedDataset:
    """A lowered data set with the rows that were read to check it. Where it is not `sound`, something about it was
    reported, `rows` says nothing, and `poisoned` are the fields that have no known type."""

    dataset: Dataset
    rows: tuple[LoadedRow, ...]
    spans: dict[str, Span]
    poisoned: tuple[str, ...] = ()
    sound: bool = True


def lower_datasets(program: Program) -> dict[str, LoadedDataset]:
    """Every data set at the top of a file."""
    loaded: dict[str, LoadedDataset] = {}
    for statement in program.of("dataset"):
        name = statement.name().text
        found = lower_dataset(program, statement, name)
        if name not in loaded:
            loaded[name] = found
            program.datasets[name] = found.dataset
    return loaded


def lower_dataset(program: Program, statement: Statement, name: str) -> LoadedDataset:
    """A data set under the name it has in the plan."""
    fields: list[DataField] = []
    poisoned: list[str] = []
    spans: dict[str, Span] = {}
    good = True
    for inner in statement.body:
        field = _field(program, inner)
        if field is None:
            poisoned.append(inner.name().text)
            good = False
        elif field.name in spans:
            message = f"field `{field.name}` is declared twice"
            program.diagnostics.error("E0202", message, inner.head, help="rename one")
            good = False
        else:
            fields.append(field)
            spans[field.name] = inner.head
    if not fields and good:
        help_ = "write a field a line: `question text`"
        block = statement.block.span if statement.block is not None else None
        program.diagnostics.error("E0206", "this data set has no fields", statement.head, help=help_, lacking=block)
        good = False
    path = statement.text("path")
    dataset = Dataset(name=name, source=path.value, fields=tuple(fields), files=())
    unsound = LoadedDataset(dataset, (), spans, tuple(poisoned), sound=False)
    try:
        files = program.data.find(path.value, statement.span.source.path)
    except DataError as error:
        program.diagnostics.error("E0307", error.message, path.span, help=error.help)
        return unsound
    return (_read(program, dataset, files, spans, path.span) if good else None) or unsound


def _field(program: Program, statement: Statement) -> DataField | None:
    name = statement.name()
    type_: Type | None
    written = statement.find("type")
    secret = statement.has("secret")
    if isinstance(written, Name) and written.text == "secret" and not secret:
        written, secret = None, True  # `stage secret`: an axis, and secret
    if written is not None:
        type_ = read_type(program, written)
    elif name.text in program.axes:
        type_ = axis_type(program.axes[name.text])
    elif name.text in program.declared.get("axis", {}):
        type_ = None
    else:
        close = nearest(name.text, program.axes)
        help_ = f"did you mean the axis `{close}`?" if close else f"write its type: `{name.text} text`"
        program.diagnostics.error("E0302", f"field `{name.text}` has no type", name.span, help=help_, unknown=name.text)
        type_ = None
    columns = _columns(program, statement.find("columns"), name)
    if type_ is None or columns is None:
        return None
    return DataField(name=name.text, type=type_, columns=columns, secret=secret)


def _columns(program: Program, syntax: Syntax | None, name: Name) -> tuple[str, ...] | None:
    match syntax:
        case None:
            return (name.text,)
        case Text(value=value):
            return (value,)
        case BinaryExpr(operator="or", left=left, right=right):
            first, second = _columns(program, left, name), _columns(program, right, name)
            return None if first is None or second is None else (*first, *second)
    help_ = 'write `from "Column"`, or `from "One" or "Other"`'
    program.diagnostics.error("E0106", "a column is named by a string", syntax.span, help=help_)
    return None


def _read(
    program: Program, dataset: Dataset, files: list[FoundFile], spans: dict[str, Span], where: Span
) -> LoadedDataset | None:
    rows: list[LoadedRow] = []
    seen: dict[str, LoadedRow] = {}
    described: list[DataFile] = []
    good = True
    for file in files:
        count = 0
        bad = 0
        repeats: list[int] = []
        try:
            for number, record in enumerate(program.data.rows(file), 1):
                raw = {**file.captures, **record}
                count = number
                if number == 1 and not _columns_present(program, dataset, file, raw, spans):
                    good = False
                    break
                row = read_row(dataset, raw, program.axes)
                if isinstance(row, Misfit):
                    bad += 1
                    if bad <= REPORTED_A_FILE:
                        _misfit(program, file, number, row, spans)
                    continue
                loaded = LoadedRow(row, file.path, number)
                earlier = seen.setdefault(item_id(row), loaded)
                if earlier is loaded:
                    rows.append(loaded)
                else:
                    repeats.append(number)
                    if len(repeats) == 1:
                        _repeated(program, loaded, earlier, where)
        except DataError as error:
            program.diagnostics.error("E0307", error.message, where, help=error.help)
            good = False
        if bad > REPORTED_A_FILE:
            message = f"{bad - REPORTED_A_FILE} more rows of {file.path} do not fit"
            program.diagnostics.error("E0305", message, where, help="mend the file, or the types of the fields")
        good = good and bad == 0
        described.append(
            DataFile(
                path=file.path, sha256=file.sha256, rows=count, captures=dict(file.captures), repeats=tuple(repeats)
            )
        )
    if not good:
        return None
    return LoadedDataset(dataset.model_copy(update={"files": tuple(described)}), tuple(rows), spans)


def _repeated(program: Program, row: LoadedRow, earlier: LoadedRow, where: Span) -> None:
    place = f"row {earlier.number}" + ("" if earlier.path == row.path else f" of {earlier.path}")
    message = f"row {row.number} of {row.path} says what {place} says"
    help_ = "rows that repeat are run once; remove them, or add the field that tells them apart"
    program.diagnostics.warning("E0309", message, where, help=help_)


def _columns_present(
    program: Program, dataset: Dataset, file: FoundFile, raw: dict[str, Any], spans: dict[str, Span]
) -> bool:
    """Whether the first row has every column; a wrong column is reported once, not once a row."""
    good = True
    for field in dataset.fields:
        if field.type.kind == "optional" or find_value(field, raw)[1] is not ABSENT:
            continue
        columns = " or ".join(f"`{column}`" for column in field.columns)
        close = nearest(field.columns[0], raw)
        shown = ", ".join(f"`{column}`" for column in list(raw)[:10])
        help_ = f'did you mean `{close}`? write `from "{close}"`' if close else f"the file has {shown}"
        message = f"{file.path} has no column {columns}"
        program.diagnostics.error("E0304", message, spans[field.name], help=help_)
        good = False
    return good


def _misfit(program: Program, file: FoundFile, number: int, misfit: Misfit, spans: dict[str, Span]) -> None:
    shown = repr(misfit.value)
    shown = shown if len(shown) <= 60 else shown[:57] + "…"
    if misfit.value is None:
        message = f"row {number} of {file.path} has nothing in `{misfit.field}`"
        help_ = f"mend the row, or allow it: `{misfit.field} {misfit.expected}?`"
    else:
        message = f"row {number} of {file.path}: {shown} is not `{misfit.expected}`"
        help_ = "mend the row, or the field's type"
    program.diagnostics.error("E0305", message, spans[misfit.field], help=help_)
