"""The program: all statements of a spec's files, the tables that lowering fills, and the locale of its numbers.

Names in scope, checked expressions, and lowered data sets with the copies of secrets among them.

Declarations of a spec and their uses: for editors, and to find what is never used.

Names that are joined by `*`: the axes of a context, the arms of a scenario, the random facets of a measure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from pathlib import PurePosixPath
from typing import Any, Literal, TypeVar

from tripos_compiler.constructs.signature import Labels, Statement
from tripos_compiler.diagnostics.diagnostic import Diagnostics, Label, nearest
from tripos_compiler.language.near_duplicates import NearCopies
from tripos_compiler.library.definedness import Lack, unguarded_lacks
from tripos_compiler.plan import (
    Arm,
    Axis,
    Benchmark,
    CallCount,
    Dataset,
    Expectation,
    Export,
    Expr,
    Made,
    Measure,
    Metric,
    Pairing,
    Plugin,
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
    FoundRelease,
    JoinedFiles,
    NoReleases,
    Origin,
    Packages,
    ReleaseFinder,
)
from tripos_compiler.source.text import Source, Span
from tripos_compiler.source.tree import BinaryExpr, Name, Syntax, Text


@dataclass(frozen=True)
class PossibleLack:
    """A part of an expression that may have no value, and where it stands."""

    lack: Lack
    span: Span


@dataclass(frozen=True)
class Binding:
    """A name in scope. `fields` are what stands behind its dot; `path` is what the name means, and `value` the
    expression that stands for it instead, where it was named by a `let`. `span` is where it was declared.
    """

    path: tuple[str, ...]
    type: Type | None = None
    fields: Mapping[str, Binding] = field(default_factory=dict)
    value: Expr | None = None
    span: Span | None = None
    may: tuple[PossibleLack, ...] = ()
    """What may be lacking for it to have a value, where it stands for an expression."""
    secret: bool = False
    """Whether it is a field that is declared as secret, for editors."""
    early: bool = False
    """Whether it is known in front of the place that names it, as an element of a list is."""
    most: int | None = None
    """Of a list that only a run knows, how many elements it has at most, where that follows from the spec."""


Scope = Mapping[str, Binding]


@dataclass(frozen=True)
class Typed:
    """A checked expression. `may` says what may be lacking for it to have a value."""

    expr: Expr
    type: Type
    may: tuple[PossibleLack, ...] = ()

    def __post_init__(self) -> None:
        if len(self.may) > 1:
            object.__setattr__(self, "may", _once(self.may))

    def under(self, condition: Expr, held: bool = True) -> tuple[PossibleLack, ...]:
        """Return what may still be lacking where a condition holds, or does not."""
        return tuple(
            replace(each, lack=left) for each in self.may for left in unguarded_lacks([each.lack], condition, held)
        )


def _once(lacks: Iterable[PossibleLack]) -> tuple[PossibleLack, ...]:
    """Return lacks, those of one place as one: what is named by a `let` is lacking once, however often it is used. Its
    reasons are those of all."""
    found: dict[tuple[Span, str, int], PossibleLack] = {}
    for each in lacks:
        key = (each.span, each.lack.why, id(each.lack.needs))
        known = found.get(key)
        if known is None:
            found[key] = each
        elif known is not each:
            of = {id(part): part for part in (*known.lack.of, *each.lack.of)}
            found[key] = replace(known, lack=replace(known.lack, of=tuple(of.values())))
    return tuple(found.values())


def joint_lacks(known: Iterable[Typed]) -> tuple[PossibleLack, ...]:
    """Return what may be lacking for all of these expressions to have a value."""
    return tuple(may for each in known for may in each.may)


def record_fields(path: tuple[str, ...], type_: Type, span: Span | None) -> dict[str, Binding]:
    """Return the bindings behind the dot of a record, at any depth."""
    if type_.kind != "record":
        return {}
    return {
        name: Binding((*path, name), of, record_fields((*path, name), of, span), span=span)
        for name, of in type_.fields.items()
    }


@dataclass(frozen=True, slots=True)
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
    """Its name and fields; of a made data set it has no files, and is not in the plan."""
    rows: tuple[LoadedRow, ...]
    spans: dict[str, Span]
    """Where the name of every field is declared."""
    poisoned: tuple[str, ...] = ()
    sound: bool = True
    span: Span | None = None
    """The place of the data set's name."""
    made: Made | None = None
    count: int = 0
    """How many rows it has; of a made one, at most."""
    axes: tuple[str, ...] = ()
    """The axes that its rows carry as fields."""
    known: bool = True
    """Whether `rows` are all of its rows; those of a made data set are not known before a run."""
    repeated: tuple[LoadedRow, ...] = ()
    """The rows that say what an earlier row says, which `rows` leaves out."""
    media_by_folder: bool = False
    """Whether cells that say the same name different files, each beside its own data file."""
    keys: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """By column what `rows` have by which rows of joined files are found, where no field reads it."""
    unpacked: Mapping[str, str] = field(default_factory=dict)
    """By path, the SHA-256 of what its compressed files hold."""
    origin: Origin = "spec"
    """Where its files were found."""
    joined: tuple[JoinedFiles, ...] | None = ()
    """The files that are joined to its rows; None where something of them was reported."""


def row_fields(loaded: LoadedDataset, *path: str) -> dict[str, Binding]:
    """Return the fields of a row as names; `path` is what the row itself is known as, nothing where it is all there
    is."""
    fields = {
        each.name: Binding((*path, each.name), each.type, span=loaded.spans.get(each.name), secret=each.secret)
        for each in loaded.dataset.fields
    }
    return fields | {name: Binding((*path, name)) for name in loaded.poisoned}


def row_binding(loaded: LoadedDataset, alias: str, span: Span) -> Binding:
    """Return a row as a name, with the fields of records behind their own dots; `span` is where the row is named."""
    fields = row_fields(loaded, alias)
    for each in loaded.dataset.fields:
        below = record_fields(fields[each.name].path, each.type, fields[each.name].span)
        fields[each.name] = replace(fields[each.name], fields=below)
    return Binding((alias,), None, fields, span=span)


Field = tuple[str, str]
"""A data set, by its name in the plan, and one of its fields."""

CopiedHow = Literal["column", "capture", "values"]


@dataclass(frozen=True)
class Copy:
    """A field that holds what a secret field says. `why` is a clause for messages, which names both."""

    field: Field
    of: Field
    """The secret field."""
    how: CopiedHow
    why: str


@dataclass(frozen=True)
class CopiedField:
    """The same of two contents, however the data sets with them are called. Of a column, `column` and `where` say which
    one is read by both; of a part of the secret, a message says what it `does`, and the `rest` after its name."""

    field: str
    of: str
    how: CopiedHow
    column: str = ""
    where: str = ""
    does: str = ""
    rest: str = ""

    def between(self, owner: str, other: str) -> Copy:
        """Return the copy in a data set of that name, of the secret of another."""
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


Contents = tuple[str, str, bool]
"""What two data sets say beside their names, of which the first has the secrets; and whether they are one."""


@dataclass
class KnownCopies:
    """The findings of comparisons."""

    found: dict[Contents, tuple[CopiedField, ...]] = field(default_factory=dict)


Key = TypeVar("Key")
Noted = TypeVar("Noted")


@dataclass(frozen=True)
class Symbol:
    """A declared name. `kind` is that of its declaration (`role`, `axis`, `value`, `field`, `ask`, `let`, …), `span`
    the place of the name, `owner` what it is declared in (`scenario kct`), `detail` its type or signature."""

    kind: str
    name: str
    span: Span
    owner: str = ""
    detail: str = ""


@dataclass(frozen=True)
class Use:
    """A place that names a symbol, which is at `symbol`."""

    span: Span
    symbol: Span


@dataclass
class Index:
    """Symbols by the place of their name, the uses of them, and what was in scope where."""

    symbols: dict[Span, Symbol] = field(default_factory=dict)
    uses: dict[Span, Use] = field(default_factory=dict)
    types: dict[Span, str] = field(default_factory=dict)
    """The type of expressions that have a name, as people write it."""
    places: dict[int, tuple[Any, Span]] = field(default_factory=dict)
    """Where parts of a plan are written, by identity: expressions, and the holes of texts."""
    meanings: dict[int, tuple[Any, Label]] = field(default_factory=dict)
    """What gives an expression a name, by its identity: a `let`, or a call of one with parameters."""
    judged: dict[tuple[str, str], Span] = field(default_factory=dict)
    """Where a judge is called, by the scenario and the name of the step."""
    scopes: list[tuple[Span, Mapping[str, Any]]] = field(default_factory=list)
    """For a stretch of a file, the bindings (`expressions.Binding`) that its expressions can name."""

    def define(self, kind: str, name: str, span: Span, owner: str = "", detail: str = "") -> None:
        """Note a declaration; the first at a place stands, with the fullest detail."""
        known = self.symbols.get(span)
        if known is None or (detail and not known.detail):
            self.symbols[span] = Symbol(kind, name, span, owner, detail)

    def use(self, span: Span, symbol: Span | None, type_: str = "") -> None:
        """Note that a name at `span` means the symbol declared at `symbol`."""
        if symbol is not None and span != symbol:
            self.uses.setdefault(span, Use(span, symbol))
        if type_:
            self.types.setdefault(span, type_)

    def place(self, part: Any, span: Span) -> None:
        """Note where a part of a plan is written; the first place stands."""
        self.places.setdefault(id(part), (part, span))

    def mean(self, expr: Any, label: Label) -> None:
        """Note what gives an expression a name."""
        self.meanings.setdefault(id(expr), (expr, label))

    def add(self, other: Index) -> None:
        """Add all of another index; what is known already stands."""
        for symbol in other.symbols.values():
            self.define(symbol.kind, symbol.name, symbol.span, symbol.owner, symbol.detail)
        self.scopes.extend(other.scopes)
        _add(self.uses, other.uses)
        _add(self.types, other.types)
        _add(self.places, other.places)
        _add(self.meanings, other.meanings)
        _add(self.judged, other.judged)


def _add(known: dict[Key, Noted], others: Mapping[Key, Noted]) -> None:
    """Add what is not known: as many steps as there are others, however much is known."""
    known |= {key: noted for key, noted in others.items() if key not in known}


def locale_of(program: Program, statement: Statement) -> str | None:
    """Return the locale that a benchmark or a scenario says in its block; None where it says none. One that is not
    known is reported."""
    said = statement.one_of("numbers")
    if said is None:
        return None
    name = said.name("locale")
    if convention_of(name.text) is None:
        message = f"how `{name.text}` writes numbers is not known"
        help_ = "name a language, or one of a country: `de`, `de_CH`"
        program.diagnostics.error("E0201", message, name.span, help=help_, unknown=name.text)
        return None
    return name.text


def numbers_of(program: Program, returns: Type | None) -> dict[str, str]:
    """For every language the locale in which the numbers of a typed reply are read, but for languages that write them
    as they are read where none is said; nothing where no number is asked for."""
    if returns is None or not has_number(returns):
        return {}
    said = {language: program.numbers or language for language in program.languages}
    return {language: name for language, name in said.items() if convention_of(name) != convention_of(DEFAULT)}


def has_number(type_: Type) -> bool:
    """Return true if a number is somewhere in values of a type."""
    match type_.kind:
        case "integer" | "number":
            return True
        case "list" | "set" | "optional":
            return has_number(type_.of)
        case "record":
            return any(has_number(each) for each in type_.fields.values())
    return False


def locale_in(program: Program, scenario: Statement) -> str | None:
    """Return the locale of a scenario: its own, or that of the benchmark that it comes from."""
    release = program.release_of(scenario.head)
    whole = program.numbers if release is None else program.numbers_in.get(release.name)
    return locale_of(program, scenario) or whole


def has_lost_part(program: Program, statement: Statement) -> bool:
    """Return true if a part of a statement's block was reported and left out: it may be whatever is missing."""
    lost = program.diagnostics
    return lost.lost_files or (statement.block is not None and statement.block.span in lost.lost_blocks)


def has_lost_values(program: Program, *axes: str) -> bool:
    """Return true if a part of one of these axes was reported and left out: it may have had other values."""
    written = (each for each in program.of("axis") if each.name().text in axes)
    return any(has_lost_part(program, part) for axis in written for part in (axis, *axis.body))


def forget_diagnostics(program: Program, mark: int, *codes: str) -> None:
    """Take back what was reported with these codes since there were `mark` diagnostics."""
    items = program.diagnostics.items
    items[mark:] = [item for item in items[mark:] if item.code not in codes]


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
    "scorer": ("scorer", "formula", "python_scorer", "program_scorer", "named"),
    "aggregate": ("aggregate",),
    "measure": ("measure",),
    "subset": ("subset",),
    "export": ("export",),
}
"""What can be declared at the top of a file, and by which constructs."""


@dataclass(frozen=True)
class FormulaScorer:
    """A scorer that is an expression over its parameters, or, where it `scores` nothing, a `let` at the top of a file,
    whose value may be of any type."""

    name: Name
    params: dict[str, Type]
    value: Syntax
    scores: bool = True
    holes: tuple[Syntax, ...] = ()
    """What stands in the holes of the texts that a `let` writes."""


@dataclass(frozen=True)
class ReleaseImport:
    """A release that a spec extends, and whether the spec says its digest."""

    release: FoundRelease
    pinned: bool


@dataclass(frozen=True)
class NamedColumn:
    """A resolved argument of a measure: the name of a score or column of a scenario, and its type."""

    name: str
    type: Type


@dataclass
class Program:
    """A spec while it is compiled. The tables hold what was lowered without a mistake; a name that is in `declared`
    but not in its table was reported already, and uses of it are passed over in silence."""

    diagnostics: Diagnostics
    data: DataReader
    sources: list[Source] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    """What stands at the top of its files; `state` sets it."""
    of_kinds: dict[tuple[str, ...], tuple[Statement, ...]] = field(default_factory=dict)
    """The same by their kinds, as far as somebody asked."""
    declared: dict[str, dict[str, Name]] = field(default_factory=dict)
    benchmark: Benchmark | None = None
    numbers: str | None = None
    """The locale in which texts write numbers; None where their language says it."""
    numbers_in: dict[str, str] = field(default_factory=dict)
    """The same of releases that are part of the spec, by name."""
    roles: dict[str, Role] = field(default_factory=dict)
    axes: dict[str, Axis] = field(default_factory=dict)
    arms: dict[str, Arm] = field(default_factory=dict)
    trees: dict[str, Tree] = field(default_factory=dict)
    plugins: dict[str, Plugin] = field(default_factory=dict)
    aggregates: dict[str, Plugin] = field(default_factory=dict)
    """Functions of the user's that measures take of all values."""
    tools: dict[str, Tool] = field(default_factory=dict)
    metrics: dict[str, Metric] = field(default_factory=dict)
    datasets: dict[str, Dataset] = field(default_factory=dict)
    rowsets: dict[str, LoadedDataset] = field(default_factory=dict)
    """Every data set at the top of a file, with what was read to check it."""
    loaded: dict[str, LoadedDataset] = field(default_factory=dict)
    """Every data set that is read from files, by its name in the plan; also those of scenarios."""
    copies: KnownCopies = field(default_factory=KnownCopies)
    """Which fields hold what a secret field says, as far as it was compared."""
    near: dict[tuple[str, tuple[str, ...]], NearCopies[int]] = field(default_factory=dict)
    """The texts of rows in which questions are looked for, by data set and fields."""
    value_spans: dict[tuple[str, str], Span] = field(default_factory=dict)
    """Where a value of an axis or arm is declared, or a parameter of a scorer, by `scorer NAME`, or what else can be
    named as a value, by its kind: a scenario, a metric."""
    made: dict[str, Made] = field(default_factory=dict)
    scorers: dict[str, Scorer] = field(default_factory=dict)
    formulas: dict[str, FormulaScorer] = field(default_factory=dict)
    late: dict[str, str] = field(default_factory=dict)
    """Scorers that are not lowered yet, while data sets and judges are, which cannot depend on them; each with why."""
    allocation: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    weights: dict[str, dict[str, tuple[float, ...]]] = field(default_factory=dict)
    """For every allocated scorer and scenario what each metric counts; empty where all count alike."""
    table_rows: dict[str, set[str]] = field(default_factory=dict)
    """For every allocation table, sound or not, the scenarios that have a row, or are likely meant by one."""
    scenarios: dict[str, Scenario] = field(default_factory=dict)
    columns: dict[Span, NamedColumn] = field(default_factory=dict)
    """The arguments of measures that are expressions, by their place."""
    measures: dict[str, Measure] = field(default_factory=dict)
    expectations: list[Expectation] = field(default_factory=list)
    subsets: dict[str, Subset] = field(default_factory=dict)
    exports: dict[str, Export | Pairing] = field(default_factory=dict)
    calls: list[CallCount] = field(default_factory=list)
    reveals: list[Reveal] = field(default_factory=list)
    titles: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)
    index: Index = field(default_factory=Index)
    read_text: ReadText | None = None
    """Reads the text of a file by path, also of a Python file; `resolve` sets it."""
    packages: Packages = field(default_factory=Packages)
    finder: ReleaseFinder = field(default_factory=NoReleases)
    releases: dict[str, FoundRelease] = field(default_factory=dict)
    """By name, every release that is part of the spec."""
    extended: list[ReleaseImport] = field(default_factory=list)
    """Those that the spec's own files name."""
    released: dict[str, FoundRelease] = field(default_factory=dict)
    """By path, the release that a source belongs to."""
    scenarios_in: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The scenarios of every release, also those that are not taken."""
    homes: dict[tuple[str, str], str] = field(default_factory=dict)
    """The benchmark that a scenario or data set comes from, by kind and name, where it is another one."""

    @property
    def languages(self) -> tuple[str, ...]:
        """The benchmark's languages; empty where they could not be read."""
        return self.benchmark.languages if self.benchmark is not None else ()

    def release_of(self, span: Span) -> FoundRelease | None:
        """Return the release that a place belongs to; None in the spec's own files."""
        return self.released.get(span.source.path) if self.released else None

    def home(self, kind: str, name: str) -> str:
        """Return the benchmark that a scenario or data set comes from. What a release runs keeps its name in whatever
        extends it, so that results are the same results."""
        if "." in name:
            kind, name = "scenario", name.partition(".")[0]
        return self.homes.get((kind, name), self.benchmark.name if self.benchmark is not None else "")

    def of(self, *constructs: str) -> tuple[Statement, ...]:
        """Return every statement of those kinds at the top of a file."""
        if constructs not in self.of_kinds:
            self.of_kinds[constructs] = tuple(each for each in self.statements if each.construct in constructs)
        return self.of_kinds[constructs]

    def state(self, statements: Iterable[Statement]) -> None:
        """Take these for all statements at the top of its files."""
        self.statements = list(statements)
        self.of_kinds = {}

    @property
    def lost(self) -> Span | None:
        """A file in which a statement at the top was lost, if there is one: what it declares is not known. Where a
        file was lost, the first."""
        whole = (Span(source, 0, len(source.text)) for source in self.sources)
        return next((s for s in whole if s in self.diagnostics.lost_blocks or self.diagnostics.lost_files), None)

    def unknown(self, kind: str, name: Name, extra: tuple[str, ...] = ()) -> None:
        """Report a name of that kind that is not declared."""
        known = [*self.declared.get(kind, {}), *extra]
        close = nearest(name.text, known)
        if close is not None:
            help_ = f"did you mean `{close}`?"
        elif known:
            help_ = f"there is {', '.join(f'`{other}`' for other in sorted(known)[:8])}"
        else:
            help_ = f"declare it: `{kind} {name.text} …`"
        self.diagnostics.error("E0201", f"there is no {kind} `{name.text}`", name.span, help=help_, unknown=name.text)

    def is_declared(self, kind: str, name: Name) -> bool:
        """Return true if the name is declared as that kind; reports it where it is not."""
        declared = self.declared.get(kind, {}).get(name.text)
        if declared is not None:
            self.index.use(name.span, declared.span)
            return True
        self.unknown(kind, name)
        return False

    def localised(self, labels: Labels, where: Span, what: str, *, for_readers: bool = False) -> dict[str, Text] | None:
        """Return a string for each language, from strings with and without a language. None where one is missing.
        Texts `for_readers`, which no model sees, may also be in languages that the benchmark does not have."""
        found: dict[str, Text] = {}
        general: Text | None = None
        good = True
        for language, text in labels:
            if language is None and general is not None:
                earlier = Label(general.span, "first written here")
                help_ = "put both into one text, or give each its language or its `when`"
                self.diagnostics.error("E0202", f"{what} is written twice", text.span, earlier, help=help_)
                good = False
            elif language is None:
                general = text
            elif language.text not in self.languages and not (for_readers and convention_of(language.text)):
                if self.benchmark is not None:
                    close = nearest(language.text, self.languages)
                    help_ = f"did you mean `{close}`?" if close else "add it to `languages` of the benchmark"
                    message = f"`{language.text}` is not a language of this benchmark"
                    self.diagnostics.error("E0201", message, language.span, help=help_, unknown=language.text)
                good = False
            elif language.text in found:
                earlier = Label(found[language.text].span, "first written here")
                message = f"{what} has two texts for `{language.text}`"
                self.diagnostics.error("E0202", message, text.span, earlier, help="remove one")
            else:
                found[language.text] = text
        if general is not None:
            found = {language: found.get(language, general) for language in self.languages}
        missing = [language for language in self.languages if language not in found]
        if missing and good:
            message = f"{what} has no text for {' and '.join(f'`{language}`' for language in missing)}"
            help_ = f'write `{missing[0]} "…"` beside it, or one text without a language'
            self.diagnostics.error("E0402", message, where, help=help_)
        more = sorted(found.keys() - set(self.languages))
        return None if missing else {language: found[language] for language in (*self.languages, *more)}

    def labels(self, statement: Statement, what: str) -> dict[str, str] | None:
        """Return the labels of a statement in every language, None where one is missing."""
        texts = self.localised(statement.labels(), statement.head, what)
        return None if texts is None else {language: text.value for language, text in texts.items()}


def path_beside(path: str, relative: str) -> str:
    """Return a path as a file at `path` means it.

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
"""What is written as a product of names, each with an example."""


def product_of(program: Program, syntax: Syntax, what: str = "axes") -> list[Name] | None:
    """Return the names that are joined by `*`, one of `PRODUCTS`; None for anything else, which is reported."""
    match syntax:
        case Name():
            return [syntax]
        case BinaryExpr(operator="*", left=left, right=right):
            first, second = product_of(program, left, what), product_of(program, right, what)
            return None if first is None or second is None else [*first, *second]
    program.diagnostics.error("E0106", f"this is a product of {what}", syntax.span, help=f"write `{PRODUCTS[what]}`")
    return None
