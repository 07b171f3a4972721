"""Lowers data sets that are read from files: their fields and key, and those that take the fields of another."""

from __future__ import annotations

from dataclasses import field, replace

from tripos_compiler.constructs import Statement
from tripos_compiler.diagnostics import Label, nearest
from tripos_compiler.language.library import type_notation
from tripos_compiler.plan import DataField, Dataset, Type
from tripos_compiler.resolve import Binding, LoadedDataset, Program, Scope, Typed, row_fields
from tripos_compiler.source import BinaryExpr, DataError, Name, Span, Syntax, Text, dataclass
from tripos_compiler.statements.datasets.file_rows import Columns, read_files
from tripos_compiler.statements.datasets.joins import FoundJoins, lower_joins
from tripos_compiler.typing import Elaborator, axis_type, field_type, is_secret


@dataclass
class Fields:
    """The fields of a data set, as they are declared."""

    fields: list[DataField] = field(default_factory=list)
    poisoned: list[str] = field(default_factory=list)
    spans: dict[str, Span] = field(default_factory=dict)
    heads: dict[str, Span] = field(default_factory=dict)
    sound: bool = True


def lower_file(program: Program, statement: Statement, name: str) -> LoadedDataset:
    """`dataset NAME from PATH { … }`, under the name it has in the plan."""
    fields = _fields(program, statement, name)
    path = statement.text("path")
    dataset = Dataset(name=name, source=path.value, fields=tuple(fields.fields), files=())
    loaded = _loaded(statement, fields, dataset)
    key = _key(program, statement, loaded)
    if key is False:
        fields.sound = False
    elif isinstance(key, Typed):
        dataset = dataset.model_copy(update={"key": key.expr})
    places = {each: (head,) for each, head in fields.heads.items()}
    joins = lower_joins(program, statement, dataset)
    return _read(program, statement, fields, dataset, Columns(dataset, path.span, places), joins)


def lower_like(program: Program, statement: Statement, name: str) -> LoadedDataset | None:
    """`dataset NAME from PATH like DATASET`; None where there is no such data set, or it was reported."""
    other = statement.name("dataset")
    if not program.is_declared("dataset", other):
        return None
    model = program.rowsets.get(other.text)
    if model is None:
        return None
    if model.made is not None or not model.dataset.source:
        help_ = "name one that is read from a file, or list the fields in a block"
        message = f"`{other.text}` is made, and says of no column what it holds"
        program.diagnostics.error("E0301", message, other.span, help=help_)
        return None
    path = statement.text("path")
    given = model.dataset
    dataset = given.model_copy(update={"name": name, "source": path.value, "files": ()})
    fields = Fields(list(given.fields), list(model.poisoned), dict(model.spans), {})
    fields.sound = not model.poisoned and bool(given.fields)
    places = {each.name: (path.span, Label(model.spans[each.name], "the field")) for each in given.fields}
    joins = FoundJoins(given.joins, model.joined) if model.joined is not None else None
    return _read(program, statement, fields, dataset, Columns(dataset, path.span, places), joins)


def check_origins(program: Program) -> None:
    """Warn of data sets whose rows ship with the benchmark where those of others were found in folders that were
    given: the published data lacks a part, and sample rows stand in its place."""
    given = next((each for each in program.rowsets.values() if each.origin == "given"), None)
    if given is None:
        return
    theirs = bare_name(given.dataset.name)
    for each in program.rowsets.values():
        if each.origin == "shipped" and each.span is not None:
            name, source = bare_name(each.dataset.name), each.dataset.source
            message = f"the rows of `{name}` ship with the benchmark, and those of `{theirs}` come from a given folder"
            help_ = f"put `{source}` into the folder of --data, or allow it where sample rows are meant"
            program.diagnostics.warning("W1011", message, each.span, help=help_)


def bare_name(name: str) -> str:
    """Return what a spec calls a data set that the plan knows as `name`.

    >>> bare_name("error_correction.item")
    'item'
    """
    return name.rpartition(".")[2]


def _loaded(statement: Statement, fields: Fields, dataset: Dataset) -> LoadedDataset:
    """Return what is known before the files are read."""
    return LoadedDataset(
        dataset,
        (),
        fields.spans,
        tuple(fields.poisoned),
        sound=False,
        span=statement.name().span,
        axes=tuple(each.name for each in dataset.fields if each.type.kind == "choice" and each.type.axis == each.name),
    )


def _read(
    program: Program,
    statement: Statement,
    fields: Fields,
    dataset: Dataset,
    columns: Columns,
    joins: FoundJoins | None,
) -> LoadedDataset:
    """Return a data set with what its files hold; without `joins`, of which something was reported, it is not read."""
    if joins is not None:
        dataset = dataset.model_copy(update={"joins": joins.joins})
        columns = replace(columns, dataset=dataset)
    unsound = replace(_loaded(statement, fields, dataset), joined=None if joins is None else joins.files)
    try:
        found = program.data.find(dataset.source, statement.span.source.path)
    except DataError as error:
        program.diagnostics.error("E0307", error.message, columns.where, help=error.help)
        return unsound
    read = None
    if fields.sound and joins is not None:
        read = read_files(program, columns, [replace(file, joined=joins.files) for file in found])
    if read is None or joins is None:
        likely = tuple(name for name in columns.meant if name not in fields.spans)
        return replace(unsound, poisoned=(*unsound.poisoned, *likely))
    return LoadedDataset(
        dataset.model_copy(update={"files": read.files}),
        read.rows,
        fields.spans,
        span=unsound.span,
        count=len(read.rows),
        axes=unsound.axes,
        repeated=read.repeated,
        media_by_folder=read.media_by_folder,
        keys=read.keys,
        unpacked={
            file.path: file.unpacked
            for file in (*found, *(each for join in joins.files for each in join.files))
            if file.unpacked is not None
        },
        origin=found[0].origin,
        joined=joins.files,
    )


def _fields(program: Program, statement: Statement, name: str) -> Fields:
    found = Fields()
    for inner in statement.of("field"):
        written = inner.name()
        declared = _field(program, inner)
        if written.text in found.spans:
            earlier = Label(found.spans[written.text], "first declared here")
            message = f"field `{written.text}` is declared twice"
            program.diagnostics.error("E0202", message, inner.head, earlier, help="rename one")
            found.sound = False
            continue
        found.spans[written.text] = written.span
        found.heads[written.text] = inner.head
        detail = type_notation(declared.type) if declared is not None else ""
        program.index.define("field", written.text, written.span, f"dataset {bare_name(name)}", detail)
        if declared is None:
            found.poisoned.append(written.text)
            found.sound = False
            continue
        found.fields.append(declared)
    if not found.fields and found.sound:
        help_ = "write a field a line: `question text`"
        block = statement.block.span if statement.block is not None else None
        program.diagnostics.error("E0206", "this data set has no fields", statement.head, help=help_, lacking=block)
        found.sound = False
    return found


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
        type_ = None
    else:
        close = nearest(name.text, program.axes)
        typed_so = f"{name.text} text secret" if secret else f"{name.text} text"
        help_ = f"did you mean the axis `{close}`?" if close else f"write its type: `{typed_so}`"
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


def _key(program: Program, statement: Statement, loaded: LoadedDataset) -> Typed | bool | None:
    """Return what rows that belong together have in common; None where nothing is said, False where it is wrong."""
    written = statement.one_of("key")
    if written is None:
        return None
    own, fields = statement.name().text, row_fields(loaded)
    return lower_key(program, written, {**fields, own: Binding((), None, fields, span=loaded.span)})


def lower_key(program: Program, statement: Statement, scope: Scope) -> Typed | bool:
    """Return the value of `key`, an expression of the row's own fields; False where it is wrong."""
    value = statement.syntax("value")
    program.index.scopes.append((value.span, scope))
    return Elaborator(program, scope).expression(value) or False
