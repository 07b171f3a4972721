"""The `Program`: the state of a compilation, with the symbol index, scopes and bindings, and the tables that lowering
fills.

A name that is in `Program.declared` but not in its table has a wrong declaration; a use of it is a failure that follows
from that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from pathlib import PurePosixPath
from typing import Any, Literal, TypeVar, cast

from tripos_compiler.constructs.signature import Changes, Labels, Statement
from tripos_compiler.diagnostics.diagnostic import Diagnostics, Label, nearest, suggest
from tripos_compiler.language.near_duplicates import NearCopies
from tripos_compiler.library.definedness import Undefinedness, unguarded_undefined
from tripos_compiler.plan import (
    Arm,
    Axis,
    Benchmark,
    CallCount,
    Dataset,
    Expectation,
    Export,
    Expr,
    GeneratedDataset,
    Literal_,
    Measure,
    Metric,
    Pairing,
    Plugin,
    ResultTable,
    Reveal,
    Role,
    Scenario,
    Scorer,
    Subset,
    Tool,
    Tree,
    Type,
)
from tripos_compiler.replies.number_tokens import DEFAULT, convention_of
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.inputs import (
    DataReader,
    JoinedFiles,
    NoReleases,
    Origin,
    Packages,
    ReleaseFinder,
    ResolvedRelease,
)
from tripos_compiler.source.text import Source, Span
from tripos_compiler.source.tree import BinaryExpr, Name, Syntax, Text

# Scopes and checked expressions


@dataclass(frozen=True)
class PossiblyUndefined:
    """A part of an expression that can be undefined, and its place."""

    lack: Undefinedness
    span: Span


@dataclass(frozen=True)
class Binding:
    """A name in scope: its path in the plan, its type, and the bindings of its fields.

    `value` replaces the path if the name was defined by a `let`. `span` is the place of the declaration.
    """

    path: tuple[str, ...]
    type: Type | None = None
    fields: Mapping[str, Binding] = field(default_factory=dict)
    value: Expr | None = None
    span: Span | None = None
    may: tuple[PossiblyUndefined, ...] = ()
    """The reasons why `value` can be undefined."""
    secret: bool = False
    """Whether it is a field declared as secret; editors show it."""
    precedes_declaration: bool = False
    """Whether it can be used before its declaration, as the element in `[c.points each c in item.rubric]`."""
    most: int | None = None
    """The upper bound of the length of a list that is known only during a run; None if the spec implies no bound."""

    @property
    def is_error(self) -> bool:
        """True if its declaration was reported: it has neither a type nor fields."""
        return self.type is None and not self.fields


Scope = Mapping[str, Binding]


class ErrorType:
    """Type of a wrong expression. It exists during compilation only and is in no plan."""

    kind = "error"


ERROR_TYPE = cast("Type", ErrorType())


@dataclass(frozen=True)
class Typed:
    """A checked expression with its type. `may` are the reasons why it can be undefined."""

    expr: Expr
    type: Type
    may: tuple[PossiblyUndefined, ...] = ()

    def __post_init__(self) -> None:
        if len(self.may) > 1:
            object.__setattr__(self, "may", _once(self.may))

    @property
    def is_error(self) -> bool:
        """True if the expression is wrong, which counts as a failure already."""
        return self.type is ERROR_TYPE

    def under(self, condition: Expr, held: bool = True) -> tuple[PossiblyUndefined, ...]:
        """Return the reasons that remain if `condition` holds, or, with `held` false, if it fails."""
        return tuple(
            replace(undefined, lack=undefinedness)
            for undefined in self.may
            for undefinedness in unguarded_undefined([undefined.lack], condition, held)
        )


ERROR = Typed(Literal_(value=""), ERROR_TYPE)
"""A wrong expression. An expression with a wrong part is wrong too, and nothing is reported of it again."""


def _once(lacks: Iterable[PossiblyUndefined]) -> tuple[PossiblyUndefined, ...]:
    """Merge the reasons of one place, so that a `let` is reported once however often it is used."""
    undefineds: dict[tuple[Span, str, int], PossiblyUndefined] = {}
    for lack in lacks:
        key = (lack.span, lack.lack.why, id(lack.lack.needs))
        undefined = undefineds.get(key)
        if undefined is None:
            undefineds[key] = lack
        elif undefined is not lack:
            of = {id(part): part for part in (*undefined.lack.of, *lack.lack.of)}
            undefineds[key] = replace(undefined, lack=replace(undefined.lack, of=tuple(of.values())))
    return tuple(undefineds.values())


def expr_of(typed: Typed | None) -> Expr | None:
    """Return the expression of an optional part."""
    return None if typed is None else typed.expr


def undefined_in(known: Iterable[Typed]) -> tuple[PossiblyUndefined, ...]:
    """Return the reasons why any of these expressions can be undefined."""
    return tuple(may for typed in known for may in typed.may)


def record_fields(path: tuple[str, ...], type_: Type, span: Span | None) -> dict[str, Binding]:
    """Return the bindings of the fields of a record, at any depth."""
    if type_.kind != "record":
        return {}
    return {
        name: Binding((*path, name), of, record_fields((*path, name), of, span), span=span)
        for name, of in type_.fields.items()
    }


# Data sets and their rows


@dataclass(frozen=True, slots=True)
class LoadedRow:
    """A typed row with its file and its number there, counted from 1."""

    values: dict[str, Any]
    path: str
    number: int
    shown: int
    """The number by which messages name the row: `row_number`."""


@dataclass(frozen=True)
class LoadedDataset:
    """A lowered data set with the rows that were read to check it.

    If it is not `sound`, a mistake in it was reported: `rows` means nothing then, and `poisoned` are the fields without
    a known type.
    """

    dataset: Dataset
    """Its name and fields. For a generated data set it has no files and is not in the plan."""
    rows: tuple[LoadedRow, ...]
    spans: dict[str, Span]
    """The place of the name of each field."""
    poisoned: tuple[str, ...] = ()
    sound: bool = True
    span: Span | None = None
    """The place of the data set's name."""
    generated: GeneratedDataset | None = None
    count: int = 0
    """Number of rows; an upper bound if the data set is generated."""
    axes: tuple[str, ...] = ()
    """The axes that its rows have as fields."""
    rows_known: bool = True
    """Whether `rows` are all of its rows; false for a generated data set."""
    repeated: tuple[LoadedRow, ...] = ()
    """Rows that repeat an earlier row and are not in `rows`."""
    media_by_folder: bool = False
    """Whether equal cells can name different files, because each is relative to its own data file."""
    keys: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """By column, the values of `rows` that join files are looked up by, for columns that no field reads."""
    unpacked: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of the decompressed content of each compressed file, by path."""
    origin: Origin = "spec"
    """The kind of place where its files were found."""
    joined: tuple[JoinedFiles, ...] | None = ()
    """The files joined to its rows; None if a mistake in one of them was reported."""


def no_rows_of(sources: Iterable[LoadedDataset | None]) -> str | None:
    """Return a text for the first of these sources that is a file without rows; None if there is none.

    It identifies the fault, so that it is not reported again by what is made from these rows.
    """
    empty = [
        source.dataset.source for source in sources if source is not None and source.rows_known and not source.rows
    ]
    return f"no rows in {empty[0]}" if empty else None


def row_fields(loaded: LoadedDataset, *path: str) -> dict[str, Binding]:
    """Return the bindings of a row's fields. `path` names the row; it is empty if only one row is in scope."""
    fields = {
        data_field.name: Binding(
            (*path, data_field.name), data_field.type, span=loaded.spans.get(data_field.name), secret=data_field.secret
        )
        for data_field in loaded.dataset.fields
    }
    return fields | {name: Binding((*path, name)) for name in loaded.poisoned}


def row_binding(loaded: LoadedDataset, alias: str, span: Span) -> Binding:
    """Return the binding of a row with its fields and the fields of records. `span` is the place that names the row."""
    fields = row_fields(loaded, alias)
    for data_field in loaded.dataset.fields:
        below = record_fields(fields[data_field.name].path, data_field.type, fields[data_field.name].span)
        fields[data_field.name] = replace(fields[data_field.name], fields=below)
    return Binding((alias,), None, fields, span=span)


# Copies of secret fields

Field = tuple[str, str]
"""The plan's name of a data set, and the name of a field in it."""

CopiedHow = Literal["column", "capture", "values"]


@dataclass(frozen=True)
class Copy:
    """A field that repeats the content of a secret field. `why` is a clause for messages that names both."""

    field: Field
    of: Field
    """The secret field."""
    how: CopiedHow
    why: str


@dataclass(frozen=True)
class CopiedField:
    """A copy between two contents, independent of the names of their data sets.

    For a copied column, `column` and `where` name the column that both read. For a part of the secret, the message is
    composed from `does` and `rest`.
    """

    field: str
    of: str
    how: CopiedHow
    column: str = ""
    where: str = ""
    does: str = ""
    rest: str = ""

    def between(self, owner: str, other: str) -> Copy:
        """Return the copy between the data sets `other` and `owner`; `owner` has the secret."""
        mine, its = f"{other}.{self.field}", f"{owner}.{self.of}"
        match self.how:
            case "column":
                why = (
                    f"`{other}.{self.field}` is read from the same column as `{owner}.{self.of}`,"
                    f" `{self.column}` of {self.where}"
                )
            case "capture":
                why = f"`{other}.{self.field}` is read from the names of the same files as `{owner}.{self.of}`"
            case _ if self.does:
                why = f"`{mine}` {self.does} `{its}{self.rest}"
            case _:
                why = f"`{mine}` lists the values of `{its}` in another order"
        return Copy((other, self.field), (owner, self.of), self.how, why)


ComparisonKey = tuple[str, str, bool]
"""The key of a comparison: the content of the data set with the secrets, the content of the other, and whether they are
the same data set.
"""


@dataclass
class KnownCopies:
    """Memo of the comparisons between data sets."""

    copies: dict[ComparisonKey, tuple[CopiedField, ...]] = field(default_factory=dict)


Key = TypeVar("Key")
Noted = TypeVar("Noted")


# The symbol index


@dataclass(frozen=True)
class Symbol:
    """A declared name.

    `kind` is the kind of declaration (`role`, `axis`, `value`, `field`, `ask`, `let`, …), `span` the place of the name,
    `owner` the enclosing declaration (`scenario kct`), and `detail` its type or signature.
    """

    kind: str
    name: str
    span: Span
    owner: str = ""
    detail: str = ""
    changes: Changes | None = None
    """Of a declaration that is like another one."""


@dataclass(frozen=True)
class Use:
    """A place that refers to the symbol declared at `symbol`."""

    span: Span
    symbol: Span


@dataclass
class Index:
    """The symbol index: symbols by the place of their name, their uses, and the names in scope at each place."""

    symbols: dict[Span, Symbol] = field(default_factory=dict)
    uses: dict[Span, Use] = field(default_factory=dict)
    types: dict[Span, str] = field(default_factory=dict)
    """The type of each named expression, in the notation of the language."""
    places: dict[int, tuple[Any, Span]] = field(default_factory=dict)
    """Source spans of parts of the plan (expressions and holes of texts), by object identity."""
    meanings: dict[int, tuple[Any, Label]] = field(default_factory=dict)
    """The names of expressions, by the identity of the expression: a `let`, or a call of one with parameters."""
    judged: dict[tuple[str, str], Span] = field(default_factory=dict)
    """The place of each judge call, by scenario and step name."""
    asked: dict[tuple[str, str, str], Span] = field(default_factory=dict)
    """The place of the name of every further ask of a name, by scenario, name and fingerprint."""
    scopes: list[tuple[Span, Mapping[str, Any]]] = field(default_factory=list)
    """The bindings in scope for a stretch of a file."""

    def define(
        self,
        kind: str,
        name: str,
        span: Span,
        owner: str = "",
        detail: str = "",
        changes: Changes | None = None,
    ) -> None:
        """Record a declaration. The first one at a place wins, unless a later one adds the detail.

        Copies of a text are one place, as they are for an editor.
        """
        span = span.written
        symbol = self.symbols.get(span)
        if symbol is None or (detail and not symbol.detail):
            self.symbols[span] = Symbol(kind, name, span, owner, detail, changes)

    def use(self, span: Span, symbol: Span | None, type_: str = "") -> None:
        """Record that the name at `span` refers to the symbol declared at `symbol`."""
        span, symbol = span.written, None if symbol is None else symbol.written
        if symbol is not None and span != symbol:
            self.uses.setdefault(span, Use(span, symbol))
        if type_:
            self.types.setdefault(span, type_)

    def place(self, part: Any, span: Span) -> None:
        """Record the source span of a part of the plan. The first span wins."""
        self.places.setdefault(id(part), (part, span))

    def mean(self, expr: Any, label: Label) -> None:
        """Record what names an expression."""
        self.meanings.setdefault(id(expr), (expr, label))

    def add(self, other: Index) -> None:
        """Merge another index. Existing entries win."""
        for symbol in other.symbols.values():
            self.define(symbol.kind, symbol.name, symbol.span, symbol.owner, symbol.detail, symbol.changes)
        self.scopes.extend(other.scopes)
        _add(self.uses, other.uses)
        _add(self.types, other.types)
        _add(self.places, other.places)
        _add(self.meanings, other.meanings)
        _add(self.judged, other.judged)
        _add(self.asked, other.asked)


def _add(known: dict[Key, Noted], others: Mapping[Key, Noted]) -> None:
    """Add the missing entries, in time proportional to `others`."""
    known |= {key: noted for key, noted in others.items() if key not in known}


# Locales of numbers


def locale_of(program: Program, statement: Statement) -> str | None:
    """Return the locale in the `numbers` block of a benchmark or scenario, or None without one. Reports an unknown
    locale.
    """
    numbers = statement.one_of("numbers")
    if numbers is None:
        return None
    name = numbers.name("locale")
    if convention_of(name.text) is None:
        message = f"how `{name.text}` writes numbers is not known"
        help_ = "name a language, or one of a country: `de`, `de_CH`"
        program.diagnostics.error("E0201", message, name.span, help=help_, unknown=name.text)
        return None
    return name.text


def numbers_of(program: Program, returns: Type | None) -> dict[str, str]:
    """Return, by language, the locale in which numbers of a typed reply are read.

    Languages that write numbers in the default way are left out, and the result is empty if the type has no number.
    """
    if returns is None or not has_number(returns):
        return {}
    locales = {language: program.numbers or language for language in program.languages}
    return {language: name for language, name in locales.items() if convention_of(name) != convention_of(DEFAULT)}


def has_number(type_: Type) -> bool:
    """Return true if values of the type contain a number."""
    match type_.kind:
        case "integer" | "number":
            return True
        case "list" | "set" | "optional":
            return has_number(type_.of)
        case "record":
            return any(has_number(field_type) for field_type in type_.fields.values())
    return False


def locale_in(program: Program, scenario: Statement) -> str | None:
    """Return the locale of a scenario: its own, or else that of its benchmark."""
    release = program.release_of(scenario.head)
    of_benchmark = program.numbers if release is None else program.numbers_in.get(release.name)
    return locale_of(program, scenario) or of_benchmark


# Parts that were reported and skipped


def has_skipped_part(program: Program, statement: Statement) -> bool:
    """Return true if part of the statement's block was reported and skipped, so that anything missing may have been
    there.
    """
    lost = program.diagnostics
    return lost.skipped_files or (statement.block is not None and statement.block.span in lost.skipped_blocks)


def has_skipped_values(program: Program, *axes: str) -> bool:
    """Return true if part of one of these axes was reported and skipped, so that it may have had other values."""
    statements = (statement for statement in program.of("axis") if statement.name().text in axes)
    return any(has_skipped_part(program, part) for axis in statements for part in (axis, *axis.body))


# The program

ReadText = Callable[[str], str]
"""Reads a spec file by path. Raises `OSError` or `UnicodeDecodeError`."""

KINDS: dict[str, tuple[str, ...]] = {
    "role": ("role",),
    "axis": ("axis",),
    "arm": ("arm",),
    "tree": ("tree",),
    "function": ("function",),
    "tool": ("tool",),
    "dimension": ("dimension",),
    "dataset": ("dataset", "like", "made"),
    "scenario": ("scenario",),
    "rows": ("row_table",),
    "scorer": ("scorer", "formula", "python_scorer", "program_scorer", "named"),
    "aggregate": ("aggregate",),
    "measure": ("measure",),
    "subset": ("subset",),
    "export": ("export",),
    "table": ("table",),
}
"""The kinds of declarations at the top of a file, each with the constructs that declare it."""


@dataclass(frozen=True)
class FormulaScorer:
    """A scorer defined by an expression over its parameters; or, with `scores` false, a `let` at the top of a file,
    whose value can have any type.
    """

    name: Name
    params: dict[str, Type]
    value: Syntax
    scores: bool = True
    holes: tuple[Syntax, ...] = ()
    """The expressions in the holes of the texts of a `let`."""


@dataclass(frozen=True)
class ReleaseImport:
    """A release that a spec imports, and whether the spec pins its digest."""

    release: ResolvedRelease
    pinned: bool


@dataclass(frozen=True)
class NamedColumn:
    """A resolved argument of a measure: the name of a score or column of a scenario, and its type."""

    name: str
    type: Type


@dataclass
class Program:
    """A spec during compilation. The tables hold what was lowered without a mistake."""

    diagnostics: Diagnostics
    data: DataReader
    sources: list[Source] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    """The statements at the top of all files. Set it through `state`."""
    of_kinds: dict[tuple[str, ...], tuple[Statement, ...]] = field(default_factory=dict)
    """Memo of `of`."""
    declared: dict[str, dict[str, Name]] = field(default_factory=dict)
    benchmark: Benchmark | None = None
    numbers: str | None = None
    """The locale in which texts write numbers; None if it follows from the language."""
    numbers_in: dict[str, str] = field(default_factory=dict)
    """The same for each imported release, by name."""
    roles: dict[str, Role] = field(default_factory=dict)
    axes: dict[str, Axis] = field(default_factory=dict)
    arms: dict[str, Arm] = field(default_factory=dict)
    trees: dict[str, Tree] = field(default_factory=dict)
    plugins: dict[str, Plugin] = field(default_factory=dict)
    aggregates: dict[str, Plugin] = field(default_factory=dict)
    """The user's functions that aggregate all values of a measure."""
    tools: dict[str, Tool] = field(default_factory=dict)
    metrics: dict[str, Metric] = field(default_factory=dict)
    datasets: dict[str, Dataset] = field(default_factory=dict)
    top_level_datasets: dict[str, LoadedDataset] = field(default_factory=dict)
    """Every data set at the top of a file, with the rows that were read to check it."""
    unread_datasets: set[str] = field(default_factory=set)
    """The data sets at the top of a file that are not lowered yet, while axes and other data sets are."""
    loaded: dict[str, LoadedDataset] = field(default_factory=dict)
    """Every data set read from files, also those of scenarios, by its name in the plan."""
    copies: KnownCopies = field(default_factory=KnownCopies)
    """The fields found to copy secret fields."""
    near: dict[tuple[str, tuple[str, ...]], NearCopies[int]] = field(default_factory=dict)
    """Indexes of the texts of rows that are searched for questions, by data set and fields."""
    value_spans: dict[tuple[str, str], Span] = field(default_factory=dict)
    """Places of declarations that can be named as a value: by axis or arm and value, by `scorer NAME` and parameter, or
    by kind and name (a scenario, a metric).
    """
    generated: dict[str, GeneratedDataset] = field(default_factory=dict)
    scorers: dict[str, Scorer] = field(default_factory=dict)
    formulas: dict[str, FormulaScorer] = field(default_factory=dict)
    late: dict[str, str] = field(default_factory=dict)
    """Scorers that are not lowered yet while data sets and judges are, which cannot depend on them, each with the
    reason.
    """
    allocation: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    weights: dict[str, dict[str, tuple[float, ...]]] = field(default_factory=dict)
    """For every allocated scorer and scenario, the weight of each metric; empty if the weights are equal."""
    table_rows: dict[str, set[str]] = field(default_factory=dict)
    """For every allocation table, the scenarios that have a row or that a misspelt row probably means."""
    scenarios: dict[str, Scenario] = field(default_factory=dict)
    columns: dict[Span, NamedColumn] = field(default_factory=dict)
    """Arguments of measures that are expressions, by their place."""
    measures: dict[str, Measure] = field(default_factory=dict)
    expectations: list[Expectation] = field(default_factory=list)
    subsets: dict[str, Subset] = field(default_factory=dict)
    exports: dict[str, Export | Pairing] = field(default_factory=dict)
    tables: dict[str, ResultTable] = field(default_factory=dict)
    calls: list[CallCount] = field(default_factory=list)
    reveals: list[Reveal] = field(default_factory=list)
    titles: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)
    index: Index = field(default_factory=Index)
    read_text: ReadText | None = None
    """Reads the text of any file by path, also of Python files. `resolve` sets it."""
    packages: Packages = field(default_factory=Packages)
    finder: ReleaseFinder = field(default_factory=NoReleases)
    releases: dict[str, ResolvedRelease] = field(default_factory=dict)
    """Every release that is part of the spec, by name."""
    extended: list[ReleaseImport] = field(default_factory=list)
    """The releases named by the spec's own files."""
    released: dict[str, ResolvedRelease] = field(default_factory=dict)
    """The release of each source that belongs to one, by path."""
    scenarios_in: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """All scenarios of each release, also those that are not taken."""
    origin_benchmarks: dict[tuple[str, str], str] = field(default_factory=dict)
    """The benchmark that a scenario or data set comes from, by kind and name, if it is not this one."""

    @property
    def languages(self) -> tuple[str, ...]:
        """The benchmark's languages; empty if they could not be read."""
        return self.benchmark.languages if self.benchmark is not None else ()

    def known_rows(self, dataset: str) -> list[dict[str, Any]] | None:
        """Return the rows of a data set at the top of a file; None if they are not known before a run, or wrong."""
        loaded = self.top_level_datasets.get(dataset)
        if loaded is None or not loaded.rows_known or not loaded.sound:
            return None
        return [row.values for row in loaded.rows]

    def release_of(self, span: Span) -> ResolvedRelease | None:
        """Return the release that a place belongs to; None in the spec's own files."""
        return self.released.get(span.source.path) if self.released else None

    def home(self, kind: str, name: str) -> str:
        """Return the benchmark that a scenario or data set comes from.

        A release keeps its name in every spec that imports it, so that its results remain the same results.
        """
        if "." in name:
            kind, name = "scenario", name.partition(".")[0]
        return self.origin_benchmarks.get((kind, name), self.benchmark.name if self.benchmark is not None else "")

    def of(self, *constructs: str) -> tuple[Statement, ...]:
        """Return the statements of these constructs at the top of all files."""
        if constructs not in self.of_kinds:
            self.of_kinds[constructs] = tuple(
                statement for statement in self.statements if statement.construct in constructs
            )
        return self.of_kinds[constructs]

    def state(self, statements: Iterable[Statement]) -> None:
        """Replace the statements at the top of all files."""
        self.statements = list(statements)
        self.of_kinds = {}

    @property
    def lost(self) -> Span | None:
        """The first file with a skipped statement, whose declarations are unknown; None without one."""
        spans = (Span(source, 0, len(source.text)) for source in self.sources)
        return next((s for s in spans if s in self.diagnostics.skipped_blocks or self.diagnostics.skipped_files), None)

    def unknown(self, kind: str, name: Name, extra: tuple[str, ...] = ()) -> None:
        """Report an undeclared name of that kind."""
        known = list(dict.fromkeys([*self.declared.get(kind, {}), *extra]))
        close = nearest(name.text, known)
        clause = _CLAUSES.get(kind)
        other = next(
            (
                other_kind
                for other_kind in _CLAUSES
                if other_kind != kind and name.text in self.declared.get(other_kind, {})
            ),
            None,
        )
        if clause is not None and other is not None:
            help_ = f"`{name.text}` is an {other}: write `{_CLAUSES[other]} {name.text}`"
        elif close is not None:
            help_ = f"did you mean `{close}`?"
        elif known:
            help_ = f"there is {', '.join(f'`{other}`' for other in sorted(known)[:8])}"
        else:
            help_ = f"declare it: `{kind} {name.text} …`"
        self.diagnostics.error("E0201", f"there is no {kind} `{name.text}`", name.span, help=help_, unknown=name.text)

    def is_declared(self, kind: str, name: Name) -> bool:
        """Return true if the name is declared as that kind; otherwise report it."""
        declared = self.declared.get(kind, {}).get(name.text)
        if declared is not None:
            self.index.use(name.span, declared.span)
            return True
        self.unknown(kind, name)
        return False

    def localised(self, labels: Labels, where: Span, what: str, *, for_readers: bool = False) -> dict[str, Text] | None:
        """Return the text of each language, from texts with and without a language. Returns None if one is missing.

        Texts `for_readers` are never sent to a model and can also be in other languages than the benchmark's.
        """
        texts: dict[str, Text] = {}
        general: Text | None = None
        attempt = self.diagnostics.attempt()
        for language, text in labels:
            if language is None and general is not None:
                earlier = Label(general.span, "first written here")
                help_ = "put both into one text, or give each its language or its `when`"
                message = f"{what} is written twice"
                self.diagnostics.error("E0202", message, text.span, earlier, help=help_, recovered=True)
            elif language is None:
                general = text
            elif language.text not in self.languages and not (for_readers and convention_of(language.text)):
                self.diagnostics.follows()
                if self.benchmark is not None:
                    help_ = suggest(language.text, self.languages, "add it to `languages` of the benchmark")
                    message = f"`{language.text}` is not a language of this benchmark"
                    self.diagnostics.error("E0201", message, language.span, help=help_, unknown=language.text)
            elif language.text in texts:
                earlier = Label(texts[language.text].span, "first written here")
                message = f"{what} has two texts for `{language.text}`"
                self.diagnostics.error("E0202", message, text.span, earlier, help="remove one", recovered=True)
            else:
                texts[language.text] = text
        if general is not None:
            texts = {language: texts.get(language, general) for language in self.languages}
        missing = [language for language in self.languages if language not in texts]
        if missing and not attempt.failed:
            message = f"{what} has no text for {' and '.join(f'`{language}`' for language in missing)}"
            help_ = f'write `{missing[0]} "…"` beside it, or one text without a language'
            self.diagnostics.error("E0402", message, where, help=help_)
        more = sorted(texts.keys() - set(self.languages))
        return None if missing else {language: texts[language] for language in (*self.languages, *more)}

    def labels(self, statement: Statement, what: str) -> dict[str, str] | None:
        """Return the labels of a statement by language; None if one is missing."""
        texts = self.localised(statement.labels(), statement.head, what)
        return None if texts is None else {language: text.value for language, text in texts.items()}


_CLAUSES = {"axis": "context", "arm": "arms"}
"""The clause that names declarations of a kind in a scenario, for kinds that are taken for each other."""


# Relative paths and products of names


def path_beside(path: str, relative: str) -> str:
    """Resolve a relative path against the file at `path`.

    >>> path_beside("specs/edubench/edubench.tripos", "../common/scales.tripos")
    'specs/common/scales.tripos'
    """
    parts: list[str] = []
    for part in (PurePosixPath(path).parent / relative).parts:
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        else:
            parts.append(part)
    return str(PurePosixPath(*parts))


PRODUCTS = {
    "axes": "context language * stage * subject",
    "arms": "arms shots * wording",
    "facets": "across judge * wording as sample",
}
"""The clauses that are written as a product of names, each with an example."""


def product_of(program: Program, syntax: Syntax, what: str = "axes") -> list[Name] | None:
    """Return the names joined by `*`; `what` is a key of `PRODUCTS`. Reports other syntax and returns None."""
    match syntax:
        case Name():
            return [syntax]
        case BinaryExpr(operator="*", left=left, right=right):
            first, second = product_of(program, left, what), product_of(program, right, what)
            return None if first is None or second is None else [*first, *second]
    program.diagnostics.error("E0106", f"this is a product of {what}", syntax.span, help=f"write `{PRODUCTS[what]}`")
    return None
