"""Taint analysis of data sets: the flows of rows that are read from files or generated.

The presence of a generated row depends on everything given to the roles that write and check it, and on every condition
that can refuse it. Its texts depend on what the author was given; if a refused row is written again, also on the
reasons for the refusal.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Protocol

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.diagnostics.diagnostic import Label
from tripos_compiler.language.references import datasets_of, expressions_of, subexpressions
from tripos_compiler.library.definedness import find_undefined
from tripos_compiler.library.function import Evaluation
from tripos_compiler.library.registry import FUNCTIONS
from tripos_compiler.library.types import holds_media
from tripos_compiler.plan import (
    Ask,
    Binary,
    Call,
    Data,
    DataField,
    Dataset,
    Derived,
    Expr,
    GeneratedDataset,
    Ref,
    Verify,
    Walk,
)
from tripos_compiler.resolve.program import Copy
from tripos_compiler.secrecy.flows import Flows, Revealed, SecretTables, SourceMap
from tripos_compiler.secrecy.labels import (
    ALL_ROWS,
    NONE,
    PUBLIC,
    Condition,
    Flow,
    ItemReference,
    Secret,
    Secrets,
    conditions,
    extend_trail,
    narrow_regions,
    rename_source,
    union,
)
from tripos_compiler.secrecy.layouts import JoinedSecrets, Layout, Layouts, joined_secrets
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.text import Span

# Generated data sets


@dataclass(frozen=True)
class TableSecrets:
    """The flow of a data set.

    `rows` is the flow of the list of its rows. `columns` are the public fields, each with the identity by which
    conditions on it are compared.
    """

    name: str
    rows: Flow
    columns: Mapping[str, str]
    about: tuple[ItemReference, ...]
    """The subjects of its rows: themselves, rows of the same files, rows they contain values of, and rows they are made
    from.
    """
    key: Expr | None = None
    """The key that groups rows, an expression of the fields alone."""
    tied: frozenset[str] = frozenset()
    """Fields that depend on a secret together with something public of the row, such as a join by both."""

    @cached_property
    def _about(self) -> frozenset[tuple[str, str | None]]:
        return frozenset((reference.dataset, reference.column) for reference in self.about)

    def is_about(self, secret: Secret) -> bool:
        """Return true if its rows are about the column of a secret."""
        return (secret.dataset, None) in self._about or (secret.dataset, secret.column) in self._about


class DatasetFlows(SecretTables, Protocol):
    """The data sets of a program."""

    @property
    def places(self) -> SourceMap:
        """The source spans of the program."""

    @property
    def revealed(self) -> Callable[[str, str], Revealed]:
        """Given a data set or scenario and a step, returns the callback for uses of `reveal` there."""

    def of(self, name: str) -> TableSecrets:
        """Return the flow of a data set."""

    def declaration(self, dataset: str, column: str) -> Statement:
        """Return the statement that declares a field."""


@dataclass(frozen=True)
class _Elsewhere:
    """The data sets of a program as the generation of a row reads them: rows other than its own."""

    tables: DatasetFlows

    @property
    def everything(self) -> Secrets:
        """All secrets."""
        return narrow_regions(self.tables.everything, lambda rows: rows.elsewhere)

    def rows(self, name: str) -> Flow:
        """Return the flow of all rows of a data set."""
        return self.tables.rows(name).map_secrets(lambda secrets: narrow_regions(secrets, lambda rows: rows.elsewhere))

    def impure(self, call: Call) -> Secrets:
        """Return the secrets that a user's function can read besides its arguments."""
        return narrow_regions(self.tables.impure(call), lambda rows: rows.elsewhere)

    def has_unique_values(self, column: Data) -> bool:
        """Return true if the values of a column are public and different in all rows."""
        return self.tables.has_unique_values(column)


class GenerationFlow:
    """The flow of the generation of a data set, step by step."""

    def __init__(self, tables: DatasetFlows, made: GeneratedDataset, statement: Statement) -> None:
        self.tables = tables
        self.generated = made
        self.statement = statement
        self.row_name = made.name.rpartition(".")[2]
        flows = replace(self._flows(dict.fromkeys((*made.axes, "language"), PUBLIC), "from"), tables=tables)
        self.source = flows.of(made.source) if made.source is not None else PUBLIC
        self.where = frozenset[Condition]()
        self.row: dict[str, Flow] = {}
        self.disclosed: list[tuple[Secrets, Span]] = []
        """Secrets given to a role that may decline, or that rows are refused by, each with its place."""

    def _flows(self, names: Mapping[str, Flow], step: str) -> Flows:
        tables = self.tables
        return Flows(names, _Elsewhere(tables), tables.revealed(self.row_name, step), tables.places)

    def columns(self) -> dict[str, str]:
        """Return the public columns of its rows. Those of the source keep their identity there."""
        source = self.generated.source
        carried = dict(self.tables.of(source.dataset).columns) if isinstance(source, Data) and not source.field else {}
        carried = {name: column for name, column in carried.items() if name not in written_fields(self.generated)}
        return {
            data_field.name: carried.get(data_field.name, f"{self.generated.name} {data_field.name}")
            for data_field in self.generated.fields
        }

    def about(self) -> Iterator[ItemReference]:
        """Yield the data sets whose rows its rows are about."""
        source = self.generated.source
        if source is None or not any(isinstance(part, Data) for part in subexpressions(source)):
            steps = tuple(step for step in self.generated.steps if not isinstance(step, Verify))
            for name in sorted(datasets_of(steps) - {self.generated.name}):
                yield from self.tables.of(name).about
            return
        for part in subexpressions(source):
            if isinstance(part, Data):
                where = self.where if part is source else frozenset[Condition]()
                for reference in self.tables.of(part.dataset).about:
                    yield replace(reference, conditions=reference.conditions | where)

    def fields(self) -> dict[str, Flow]:
        """Return the flows of the fields of a row."""
        dataset = self.generated
        element = self.source.elements or Flow(
            self.source.all
        )  # `existence_secrets` accounts for the presence of a row
        names: dict[str, Flow] = dict.fromkeys((*dataset.axes, "language"), PUBLIC)
        if dataset.alias is not None:
            self.where = self._conditions(dataset.where)
            row = element.map_secrets(lambda secrets: narrow_regions(secrets, lambda rows: rows.where(self.where)))
            fields = {name: flow.map_secrets(self._rename_to_alias(name)) for name, flow in row.fields.items()}
            names[dataset.alias] = Flow(row.structure, fields, row.elements)
            names["language"] = fields.get("language", PUBLIC)
        texts = written_fields(self.generated)
        for data_field in dataset.fields:
            if data_field.name in texts or data_field.name in dataset.axes:
                continue
            alias = names[dataset.alias] if dataset.alias is not None else Flow(self.tables.everything)
            is_element = data_field.name == dataset.alias and data_field.name not in alias.fields
            self.row[data_field.name] = alias if is_element or not alias.fields else alias.at(data_field.name)
        self.names = names
        carried = dict(self.row)
        for step in dataset.steps:
            self._step(step, NONE)
        refusals = self._refusals()
        if refusals:
            self.row, self.disclosed = carried, []
            for step in dataset.steps:
                self._step(step, refusals)
        unknown = Flow(self.tables.everything)
        return {
            data_field.name: self.row.get(data_field.name, PUBLIC if data_field.name in dataset.axes else unknown)
            for data_field in dataset.fields
        }

    def _rename_to_alias(self, column: str) -> Callable[[Secrets], Secrets]:
        """Return a function that renames secrets of the source's rows to their local names."""
        return lambda secrets: rename_source(secrets, f"{self.generated.alias}.{column}")

    def _refusals(self) -> Secrets:
        """Return the secrets that rows are refused by if refused rows are written again, except those of the written
        text itself.
        """
        if not self.generated.retries:
            return NONE
        refused = union(
            *(extend_trail(secrets, Label(span, "rows are refused by it")) for secrets, span in self._refused())
        )
        return {secret: trails for secret, trails in refused.items() if secret.dataset != self.generated.name}

    def _scope(self, step: str) -> Flows:
        return self._flows({**self.names, self.row_name: Flow(fields=dict(self.row))}, step)

    def _conditions(self, where: Expr | None) -> frozenset[Condition]:
        source = self.generated.source
        if where is None or not isinstance(source, Data) or source.field is not None:
            return frozenset()
        columns = self.tables.of(source.dataset).columns
        names = {self.generated.alias, self.row_name}

        def column(expr: Expr) -> tuple[str, bool] | None:
            known = isinstance(expr, Ref) and len(expr.path) == 2 and expr.path[0] in names and expr.path[1] in columns
            return (columns[expr.path[1]], False) if known and isinstance(expr, Ref) else None

        return conditions(where, column)

    def _step(self, step: Ask | Walk | Derived | Verify, refusals: Secrets) -> None:
        flows = self._scope(step.ask.name if isinstance(step, Verify) else step.name)
        statement = self.statement
        match step:
            case Derived(name=name, value=value):
                place = next((clause for clause in statement.of("let") if clause.name().text == name), statement)
                flow = flows.of(value)
                self.row[name] = flow.extend_trail(Label(place.name().span, f"`{name}` holds it"))
                if any(find_undefined(value)) or any(map(self._may_fail, subexpressions(value))):
                    self.disclosed.append((flow.all, place.head))
            case Ask():
                request_secrets = self._request_secrets(step, flows, statement.head)
                self._write(step, request_secrets, refusals)
            case Walk(ask=ask, below=below, name=name):
                place = next((clause for clause in statement.of("walk") if clause.name().text == name), statement)
                start = flows.of(below) if below is not None else PUBLIC
                request_secrets = self._request_secrets(ask, flows.within({"branches": start}), place.head)
                self.disclosed.append((start.all, place.head))  # the node may not exist
                chosen = extend_trail(
                    union(request_secrets, start.all), Label(place.name().span, f"`{name}` is chosen by it")
                )
                self.row[name] = Flow({**refusals, **chosen})
            case Verify(ask=ask, require=require):
                place = self._verifying(ask.name)
                request_secrets = self._request_secrets(ask, flows, place.head)
                verdicts = dict.fromkeys(_returned(ask), Flow(request_secrets))
                for condition in require:
                    self.disclosed.append(
                        (flows.within(verdicts).all(condition), flows.places.of(condition, place.head))
                    )

    def _may_fail(self, part: Expr) -> bool:
        """Return true if the operation can fail with defined operands: a number out of bounds, a text that cannot be
        read, or a failing user's function.
        """
        if isinstance(part, Call):
            function = FUNCTIONS.get(part.function)
            return function is None or function.overflows or function.evaluation is Evaluation.READING
        return isinstance(part, Binary) and part.operator in ("+", "-", "*", "/")

    def _verifying(self, name: str) -> Statement:
        number = int(name.rpartition("_")[2]) if "_" in name else 1
        statements = self.statement.of("verify")
        return statements[number - 1] if number <= len(statements) else self.statement

    def _request_secrets(self, ask: Ask, flows: Flows, span: Span) -> Secrets:
        """Return the secrets given to a role that is asked about a row."""
        secrets = union(flows.all(*expressions_of(ask)), flows.names["language"].all)
        self.disclosed.append((secrets, span))
        return secrets

    def _write(self, ask: Ask, request_secrets: Secrets, refusals: Secrets) -> None:
        """Add the fields that an author writes. Secret ones are secrets of the row."""
        declared = {data_field.name: data_field.secret for data_field in self.generated.fields}
        for name in _returned(ask):
            head = self.tables.declaration(self.generated.name, name).head
            secrets: Secrets = {**refusals, **extend_trail(request_secrets, Label(head, "written knowing it"))}
            if declared.get(name):
                own = {Secret(self.generated.name, name, ALL_ROWS): ((Label(head, f"`{name}` is secret"),),)}
                secrets = union(secrets, own)
            self.row[name] = Flow(secrets)

    def _refused(self) -> Iterator[tuple[Secrets, Span]]:
        """Yield the secrets by which rows are refused or not generated, with the places."""
        yield from self.disclosed
        flows = self._scope("require")
        for expr in self.generated.require:
            yield flows.all(expr), flows.places.of(expr, self.statement.head)
        compared = [(expr, flows.all(expr)) for expr in self.generated.unique]
        flows = self._scope("distinct")
        compared += [
            (distinct.value, flows.all(distinct.value, distinct.others)) for distinct in self.generated.distinct
        ]
        for expr, secrets in compared:  # compared with other rows
            yield narrow_regions(secrets, lambda rows: rows.elsewhere), flows.places.of(expr, self.statement.head)

    def existence_secrets(self) -> Secrets:
        """Return the secrets that decide which rows exist."""
        chosen = self.source.structure
        if self.generated.unique or self.generated.distinct:  # of two equal rows, the first is kept
            chosen = union(chosen, self.source.order)
        where = self.generated.where
        if where is not None:
            flows = self._scope("where")
            span = flows.places.of(where, self.statement.head)
            chosen = union(chosen, extend_trail(flows.all(where), Label(span, f"`{self.row_name}` keeps rows by it")))
        refused = (extend_trail(secrets, Label(span, "rows are refused by it")) for secrets, span in self._refused())
        return union(chosen, *refused)


def written_fields(made: GeneratedDataset) -> set[str]:
    """Return the fields of a generated data set that are not from its source."""
    texts: set[str] = set()
    for step in made.steps:
        match step:
            case Ask(returns=returns):
                texts |= set(returns.fields) if returns is not None and returns.kind == "record" else set()
            case Walk() | Derived():
                texts.add(step.name)
    return texts


def _returned(ask: Ask) -> tuple[str, ...]:
    """Return the fields of a reply."""
    return tuple(ask.returns.fields) if ask.returns is not None and ask.returns.kind == "record" else ()


# All data sets

Copies = Mapping[tuple[str, str], tuple[Copy, ...]]
"""By field of a data set, the secret fields whose content it repeats."""

Files = Mapping[str, frozenset[str]]
"""By data set, the others that read one of its files, compressed or not."""

MAY_READ = "may read it from its file"
IN_FILES = "the rows stand in files that are named by it"
FOUND_BY = "is found by"


@dataclass(frozen=True)
class BoundRows:
    """The flows of the names of a scenario's rows, and what the rows are about."""

    names: Mapping[str, Flow]
    about: Mapping[str, list[ItemReference]] = field(default_factory=dict)
    """By data set."""


@dataclass
class DatasetSecrets:
    """The data sets of a program, read from files or generated."""

    datasets: Mapping[str, Dataset]
    generated: Mapping[str, GeneratedDataset]
    copies: Copies
    keys: Mapping[tuple[str, str], tuple[tuple[str, str], ...]]
    """By join column that no field reads, the secret fields that have its values."""
    files: Files
    layouts: Layouts
    identifies_rows: Callable[[str, frozenset[str]], bool]
    """Whether these fields of a data set identify all its rows."""
    places: SourceMap
    pure: Callable[[str], bool]
    """Whether a user's function reads nothing but its arguments."""
    revealed: Callable[[str, str], Revealed]
    """Given a data set or scenario and a step, returns the callback for uses of `reveal` there."""
    tables: dict[str, TableSecrets] = field(default_factory=dict)
    declared: dict[tuple[str, str], Statement] = field(default_factory=dict)
    """Memo of the statements that declare fields."""
    at_hand: dict[str, BoundRows] = field(default_factory=dict)
    """Memo of `RowsAtHand.bind`, by scenario."""

    def of(self, name: str) -> TableSecrets:
        """Return the flow of a data set. One that was reported has no known fields."""
        if name not in self.tables:
            self.tables[name] = TableSecrets(
                name, Flow(elements=PUBLIC), {}, ()
            )  # one that is made from itself was reported
            if name in self.generated:
                self.tables[name] = self._generated_secrets(self.generated[name])
            elif name in self.datasets:
                self.tables[name] = self._read(self.datasets[name])
        return self.tables[name]

    def rows(self, name: str) -> Flow:
        """Return the flow of all rows of a data set."""
        return self.of(name).rows

    @property
    def everything(self) -> Secrets:
        """All secrets of files, and all secret fields that are written."""
        written = [
            {Secret(dataset.name, data_field.name): ((self._source_label(dataset.name, data_field.name),),)}
            for dataset in self.generated.values()
            for data_field in dataset.fields
            if data_field.secret
        ]
        return union(*(self.of(name).rows.element.all for name in self.datasets), *written)

    def impure(self, call: Call) -> Secrets:
        """Return the secrets that a user's function can read besides its arguments."""
        if self.pure(call.function):
            return NONE
        head = next(iter(self.places.program.of("benchmark"))).head
        return extend_trail(self.everything, Label(self.places.of(call, head), f"`{call.function}` {MAY_READ}"))

    def has_unique_values(self, column: Data) -> bool:
        """Return true if the values of a column are public and different in all rows."""
        return (
            column.dataset in self.datasets
            and column.field is not None
            and not self.rows(column.dataset).at(column.field).content
            and self.identifies_rows(column.dataset, frozenset((column.field,)))
        )

    # --- read from files ---

    def _read(self, dataset: Dataset) -> TableSecrets:
        joined, media = self._joined(dataset), self._media(dataset)
        contents = self._contents(dataset, joined)
        fields = {
            data_field.name: Flow(union(contents[data_field.name], media.get(data_field.name, NONE)))
            for data_field in dataset.fields
        }
        public = [data_field for data_field in dataset.fields if not fields[data_field.name].all]
        columns = {
            data_field.name: f"{dataset.source} {' '.join(data_field.columns)} {data_field.type.model_dump_json()}"
            for data_field in public
        }
        about = (ItemReference(dataset.name), *self._same_rows(dataset))
        existence, order = self._layout_secrets(dataset)
        rows = Flow(union(self._merging_secrets(dataset, fields), existence), elements=Flow(fields=fields), order=order)
        tied = frozenset(media) | {name for name, joins in joined.items() if any(join.tied for join in joins)}
        return TableSecrets(dataset.name, rows, columns, about, dataset.key, tied)

    def _joined(self, dataset: Dataset) -> Mapping[str, list[JoinedSecrets]]:
        """Return the secrets that the fields of a data set depend on by its joins."""
        if not dataset.joins:
            return {}
        by_join = [self._join_file_secrets(dataset, place) for place in range(len(dataset.joins))]
        return joined_secrets(dataset, self._columns(dataset), by_join)

    def _contents(self, dataset: Dataset, joined: Mapping[str, list[JoinedSecrets]]) -> Mapping[str, Secrets]:
        """Return the secrets in the fields of a data set, including those of the keys by which joined columns are
        found.
        """
        own = {data_field.name: self._field_secrets(dataset.name, data_field) for data_field in dataset.fields}
        heads = {name: self.declaration(dataset.name, name).head for name, joins in joined.items() if joins}

        def label(name: str, keys: str) -> Label:
            by = f"`{name}` {FOUND_BY} {keys}" if keys else f"whether there is `{name}` is decided by the joined files"
            return Label(heads[name], by)

        return own | {
            name: union(own[name], *(extend_trail(join.secrets, label(name, join.keys)) for join in joins))
            for name, joins in joined.items()
        }

    def _media(self, dataset: Dataset) -> Mapping[str, Secrets]:
        """Return the secrets in files that cells name, if equal cells name different files depending on the folder."""
        if not self.layouts.are_media_by_folder(dataset.name):
            return {}
        layouts = (layout for layout in self._every_layout if layout.dataset == dataset.name and not layout.joined)
        stated = union(*(self._stated_by(layout) for layout in layouts))
        if not stated:
            return {}
        media_fields = [data_field.name for data_field in dataset.fields if holds_media(data_field.type)]
        heads = {name: self.declaration(dataset.name, name).head for name in media_fields}
        return {
            name: extend_trail(
                stated, Label(head, f"`{name}` is the file of that name in a folder that is named by it")
            )
            for name, head in heads.items()
        }

    def _columns(self, dataset: Dataset) -> Mapping[str, Secrets]:
        """Return the secrets in the columns of a data set's files, whichever data set reads them."""
        columns: dict[str, Secrets] = {}
        for name in (dataset.name, *sorted(self.files.get(dataset.name, ()))):
            for data_field in self.datasets[name].fields if name in self.datasets else ():
                for column in data_field.columns:
                    columns[column] = union(columns.get(column, NONE), self._field_secrets(name, data_field))
        head = self.places.dataset(dataset.name).head
        for join in dataset.joins:
            label = Label(head, f"the column `{join.column}` of the files says it")
            for of in self.keys.get((dataset.name, join.column), ()):
                secret: Secrets = {Secret(*of): ((self._source_label(*of), label),)}
                columns[join.column] = union(columns.get(join.column, NONE), secret)
        return columns

    def _join_file_secrets(self, dataset: Dataset, place: int) -> Secrets:
        """Return the secrets that decide which rows the files of a join have.

        The join has only some files of a layout, or its files are named by values of the rows that have a match.
        """
        files = self.layouts.joined(dataset.name, place)
        layouts = [layout for layout in self._every_layout if files & layout.files and not layout.files <= files]
        named = [
            self._field_secrets(dataset.name, data_field)
            for data_field in dataset.fields
            if self._field_secrets(dataset.name, data_field)
            and self.layouts.is_join_named_by(dataset.name, place, data_field.name)
        ]
        return union(*(self._stated_by(layout) for layout in layouts if layout.dataset != dataset.name), *named)

    def _layout_secrets(self, dataset: Dataset) -> tuple[Secrets, Secrets]:
        """Return the secrets that decide which rows a data set has, and those that decide their order.

        A row with another secret would be in another file if the file's name states the secret.
        """
        head = self.places.dataset(dataset.name).head
        existence, order = NONE, NONE
        for layout in self._every_layout:
            stated = self._stated_by(layout)
            if self.layouts.has_some_files(dataset.name, layout):
                existence = union(
                    existence, extend_trail(stated, Label(head, "it tells which rows lie in these files"))
                )
            if self.layouts.is_ordered_by_file(dataset.name, layout):
                order = union(order, extend_trail(stated, Label(head, IN_FILES)))
        for name, secrets in self._named_by(dataset):
            if self.layouts.count(dataset.name) < self.layouts.count(name):
                existence = union(
                    existence, extend_trail(secrets, Label(head, "it tells which rows lie in these files"))
                )
            order = union(order, extend_trail(secrets, Label(head, IN_FILES)))
        return existence, order

    def _named_by(self, dataset: Dataset) -> Iterator[tuple[str, Secrets]]:
        """Yield the secrets of other data sets by which the files of a data set are named."""
        words = next(iter(self.layouts.words_of_files(dataset.name)), ())
        for name, column in sorted({of for word in words for of in self._secret_words.get(word, ())}):
            if name != dataset.name and self.layouts.is_named_by(dataset.name, name, column):
                yield name, self._field_secrets(name, self._fields[name][column])

    @cached_property
    def _secret_words(self) -> Mapping[str, Sequence[tuple[str, str]]]:
        """Fields with secrets, by the words of file names that occur in them."""
        by_word: dict[str, list[tuple[str, str]]] = {}
        for name, fields in self._fields.items():
            for column in (column for column, data_field in fields.items() if self._field_secrets(name, data_field)):
                for word in self.layouts.words_in(name, column):
                    by_word.setdefault(word, []).append((name, column))
        return by_word

    @cached_property
    def _fields(self) -> Mapping[str, Mapping[str, DataField]]:
        return {
            name: {data_field.name: data_field for data_field in dataset.fields}
            for name, dataset in self.datasets.items()
        }

    @cached_property
    def _every_layout(self) -> tuple[Layout, ...]:
        secret = {
            name: {data_field.name for data_field in dataset.fields if self._field_secrets(name, data_field)}
            for name, dataset in self.datasets.items()
        }
        return tuple(
            layout for name, fields in secret.items() if fields for layout in self.layouts.stated_layouts(name, fields)
        )

    def _stated_by(self, layout: Layout) -> Secrets:
        fields = self._fields[layout.dataset]
        return union(*(self._field_secrets(layout.dataset, fields[name]) for name in layout.fields))

    def _merging_secrets(self, dataset: Dataset, fields: Mapping[str, Flow]) -> Secrets:
        """Return the secrets that decide which rows exist because equal rows are merged, unless public fields identify
        all rows.
        """
        names = frozenset(name for name, flow in fields.items() if not flow.all)
        if len(names) == len(fields) or self.identifies_rows(dataset.name, names):
            return NONE
        head = self.places.dataset(dataset.name).head
        return extend_trail(
            union(*(flow.all for flow in fields.values())), Label(head, "rows that say the same are one")
        )

    def _field_secrets(self, dataset: str, declared: DataField) -> Secrets:
        """Return the secrets in a field: its own, and those it is a copy of."""
        secrets: dict[Secret, tuple[tuple[Label, ...], ...]] = {}
        if declared.secret:
            secrets[Secret(dataset, declared.name)] = ((self._source_label(dataset, declared.name),),)
        for copy in self.copies.get((dataset, declared.name), ()):
            label = Label(self.declaration(dataset, declared.name).head, copy.why)
            secrets[Secret(*copy.of)] = ((self._source_label(*copy.of), label),)
        return secrets

    def _same_rows(self, dataset: Dataset) -> Iterator[ItemReference]:
        """Yield the data sets that read the same files, and columns of other files that a field has the values of.

        The latter only if none of these data sets marks a secret; otherwise its public fields are asked about on
        purpose.
        """
        same = [self.datasets[name] for name in sorted(self.files.get(dataset.name, ())) if name in self.datasets]
        for other in same:
            yield ItemReference(other.name)
        if any(data_field.secret for other in (dataset, *same) for data_field in other.fields):
            return
        copies = (
            copy for data_field in dataset.fields for copy in self.copies.get((dataset.name, data_field.name), ())
        )
        for name, column in sorted({copy.of for copy in copies if copy.how == "values"}):
            yield ItemReference(name, column, at_hand=False)

    def related(self, name: str) -> set[str]:
        """Return the other data sets with the same rows or a common secret."""
        return (self._sharing_secrets.get(name, set()) | self.files.get(name, frozenset())) - {name}

    @cached_property
    def _sharing_secrets(self) -> dict[str, set[str]]:
        """By data set, those that share a secret with it."""
        sharing: dict[str, set[str]] = defaultdict(set)
        for copies in self.copies.values():
            for copy in copies:
                sharing[copy.field[0]].add(copy.of[0])
                sharing[copy.of[0]].add(copy.field[0])
        return sharing

    def _source_label(self, dataset: str, column: str) -> Label:
        name = f"{dataset.rpartition('.')[2]}.{column}" if dataset in self.datasets else column
        return Label(self.declaration(dataset, column).head, f"`{name}` is secret")

    def declaration(self, dataset: str, column: str) -> Statement:
        """Return the statement that declares a field."""
        if (dataset, column) not in self.declared:
            self.declared[dataset, column] = self._find_declaration(dataset, column)
        return self.declared[dataset, column]

    def _find_declaration(self, dataset: str, column: str) -> Statement:
        statement = self.places.dataset(dataset)
        outer = statement
        while outer.construct == "like":
            outer = self.places.dataset(outer.name("dataset").text)
        blocks = (outer, *outer.of("returns"))
        inner = [declaration for block in blocks for declaration in block.body if declaration.construct == "field"]
        return next((declaration for declaration in inner if declaration.name().text == column), statement)

    # --- made ---

    def _generated_secrets(self, made: GeneratedDataset) -> TableSecrets:
        generation = GenerationFlow(self, made, self.places.dataset(made.name))
        fields = generation.fields()
        refused = generation.existence_secrets()
        if made.source is not None and not any(isinstance(step, Ask) for step in made.steps):
            fields |= dict.fromkeys(made.axes, Flow(refused))  # the cells where a row is kept reveal it
        public = {data_field.name for data_field in made.fields if not fields[data_field.name].all}
        columns = {name: column for name, column in generation.columns().items() if name in public}
        about = (ItemReference(made.name), *generation.about())
        refused = narrow_regions(refused, lambda rows: rows.elsewhere)
        order = narrow_regions(generation.source.order, lambda rows: rows.elsewhere)
        rows = Flow(refused, elements=Flow(fields=fields), order=order)
        return TableSecrets(made.name, rows, columns, about, made.key)

    def labelled(self, made: GeneratedDataset) -> GeneratedDataset:
        """Return the generated data set with every field marked as secret that depends on a secret."""
        fields = self.of(made.name).rows.element.fields
        marked = tuple(
            data_field.model_copy(update={"secret": True})
            if not data_field.secret and fields[data_field.name].all
            else data_field
            for data_field in made.fields
        )
        return made if marked == made.fields else made.model_copy(update={"fields": marked})
