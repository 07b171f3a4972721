"""The flow of the generation of a data set.

Which rows of a made data set there are depends on everything that is told to those who write and check them, and on
every condition that refuses a row. What an author writes depends on what it was told, and, where it is asked again for
a row that was refused, on that too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Protocol

from tripos_compiler.constructs import Statement
from tripos_compiler.diagnostics import Label
from tripos_compiler.language import expressions_of, subexpressions
from tripos_compiler.language.library import FUNCTIONS, find_lacks
from tripos_compiler.plan import Ask, Binary, Call, Data, Derived, Expr, Made, Ref, Verify, Walk
from tripos_compiler.secrecy.flows import Flows, Revealed, SecretTables, SourcePlaces
from tripos_compiler.secrecy.labels import NONE, PUBLIC, About, Flow, Secret, Secrets, called, onward, union, within
from tripos_compiler.secrecy.regions import EVERY, Condition, conditions
from tripos_compiler.source import Span, dataclass


@dataclass(frozen=True)
class TableSecrets:
    """The flow of a data set. `rows` is the flow of all its rows, a list of records; `columns` are the public columns
    of its fields, under the names that conditions know them by."""

    name: str
    rows: Flow
    columns: Mapping[str, str]
    about: tuple[About, ...]
    """What its rows are about: themselves, those of the same files, what they hold of others, what they are made
    from."""
    key: Expr | None = None
    """What rows that belong together have in common, an expression of the fields alone."""
    tied: frozenset[str] = frozenset()
    """The fields that a secret and something public of the row decide together, as a row that is found by both."""

    @cached_property
    def _about(self) -> frozenset[tuple[str, str | None]]:
        return frozenset((each.dataset, each.column) for each in self.about)

    def is_about(self, secret: Secret) -> bool:
        """Return true if its rows are about the column of a secret."""
        return (secret.dataset, None) in self._about or (secret.dataset, secret.column) in self._about


class DatasetFlows(SecretTables, Protocol):
    """The data sets of a program."""

    @property
    def places(self) -> SourcePlaces:
        """Where everything is written."""

    @property
    def revealed(self) -> Callable[[str, str], Revealed]:
        """Given what makes rows and the step, is told of every use of `reveal` there."""

    def of(self, name: str) -> TableSecrets:
        """Return what a data set tells."""

    def declaration(self, dataset: str, column: str) -> Statement:
        """Return the statement that declares a field."""


@dataclass(frozen=True)
class _Elsewhere:
    """The data sets of a program, as what makes a row looks into them: at rows other than its own."""

    tables: DatasetFlows

    @property
    def everything(self) -> Secrets:
        """Every secret."""
        return within(self.tables.everything, lambda rows: rows.elsewhere)

    def rows(self, name: str) -> Flow:
        """Return what all rows of a data set tell."""
        return self.tables.rows(name).mapped(lambda found: within(found, lambda rows: rows.elsewhere))

    def impure(self, call: Call) -> Secrets:
        """Return what a user's function may read by itself."""
        return within(self.tables.impure(call), lambda rows: rows.elsewhere)

    def tells_apart(self, column: Data) -> bool:
        """Return true if no two rows of a data set have the same in a column, and that is no secret."""
        return self.tables.tells_apart(column)


class GenerationFlow:
    """The flow of the generation of a data set, step by step."""

    def __init__(self, tables: DatasetFlows, made: Made, statement: Statement) -> None:
        self.tables = tables
        self.made = made
        self.statement = statement
        self.own = made.name.rpartition(".")[2]
        flows = replace(self._flows(dict.fromkeys((*made.axes, "language"), PUBLIC), "from"), tables=tables)
        self.source = flows.of(made.source) if made.source is not None else PUBLIC
        self.where = frozenset[Condition]()
        self.row: dict[str, Flow] = {}
        self.told: list[tuple[Secrets, Span]] = []
        """What was told to somebody who may decline, or by what rows are refused, and where."""

    def _flows(self, names: Mapping[str, Flow], step: str) -> Flows:
        tables = self.tables
        return Flows(names, _Elsewhere(tables), tables.revealed(self.own, step), tables.places)

    def columns(self) -> dict[str, str]:
        """Return the public columns of its rows, those of the source under the name that they have there."""
        source = self.made.source
        carried = dict(self.tables.of(source.dataset).columns) if isinstance(source, Data) and not source.field else {}
        carried = {name: column for name, column in carried.items() if name not in written_fields(self.made)}
        return {each.name: carried.get(each.name, f"{self.made.name} {each.name}") for each in self.made.fields}

    def about(self) -> Iterator[About]:
        """Yield the data sets whose rows its rows are about."""
        source = self.made.source
        if source is None or not any(isinstance(part, Data) for part in subexpressions(source)):
            steps = tuple(step for step in self.made.steps if not isinstance(step, Verify))
            used = {
                part.dataset
                for expr in expressions_of(steps)
                for part in subexpressions(expr)
                if isinstance(part, Data)
            }
            for name in sorted(used - {self.made.name}):
                yield from self.tables.of(name).about
            return
        for part in subexpressions(source):
            if isinstance(part, Data):
                where = self.where if part is source else frozenset[Condition]()
                for each in self.tables.of(part.dataset).about:
                    yield replace(each, conditions=each.conditions | where)

    def fields(self) -> dict[str, Flow]:
        """Return what the fields of a row tell."""
        made = self.made
        element = self.source.each or Flow(self.source.all)  # that there is such a row is no message
        names: dict[str, Flow] = dict.fromkeys((*made.axes, "language"), PUBLIC)
        if made.alias is not None:
            self.where = self._conditions(made.where)
            row = element.mapped(lambda found: within(found, lambda rows: rows.where(self.where)))
            fields = {name: flow.mapped(self._called(name)) for name, flow in row.fields.items()}
            names[made.alias] = Flow(row.what, fields, row.each)
            names["language"] = fields.get("language", PUBLIC)
        written = written_fields(self.made)
        for each in made.fields:
            if each.name in written or each.name in made.axes:
                continue
            alias = names[made.alias] if made.alias is not None else Flow(self.tables.everything)
            self.row[each.name] = alias if each.name == made.alias or not alias.fields else alias.at(each.name)
        self.names = names
        carried = dict(self.row)
        for step in made.steps:
            self._step(step, NONE)
        refusals = self._refusals()
        if refusals:
            self.row, self.told = carried, []
            for step in made.steps:
                self._step(step, refusals)
        unknown = Flow(self.tables.everything)
        return {
            each.name: self.row.get(each.name, PUBLIC if each.name in made.axes else unknown) for each in made.fields
        }

    def _called(self, column: str) -> Callable[[Secrets], Secrets]:
        """Return secrets of the source's rows, called as its rows are called here."""
        return lambda secrets: called(secrets, f"{self.made.alias}.{column}")

    def _refusals(self) -> Secrets:
        """By what rows are refused, where those who write them are asked again; not by what is written itself."""
        if not self.made.retries:
            return NONE
        refused = union(*(onward(found, Label(span, "rows are refused by it")) for found, span in self._refused()))
        return {secret: ways for secret, ways in refused.items() if secret.dataset != self.made.name}

    def _scope(self, step: str) -> Flows:
        return self._flows({**self.names, self.own: Flow(fields=dict(self.row))}, step)

    def _conditions(self, where: Expr | None) -> frozenset[Condition]:
        source = self.made.source
        if where is None or not isinstance(source, Data) or source.field is not None:
            return frozenset()
        columns = self.tables.of(source.dataset).columns
        names = {self.made.alias, self.own}

        def column(expr: Expr) -> tuple[str, bool] | None:
            known = isinstance(expr, Ref) and len(expr.path) == 2 and expr.path[0] in names and expr.path[1] in columns
            return (columns[expr.path[1]], False) if known and isinstance(expr, Ref) else None

        return conditions(where, column)

    def _step(self, step: Ask | Walk | Derived | Verify, refusals: Secrets) -> None:
        flows = self._scope(step.ask.name if isinstance(step, Verify) else step.name)
        statement = self.statement
        match step:
            case Derived(name=name, value=value):
                place = next((each for each in statement.of("let") if each.name().text == name), statement)
                flow = flows.of(value)
                self.row[name] = flow.onward(Label(place.name().span, f"`{name}` holds it"))
                if any(find_lacks(value)) or any(map(self._may_fail, subexpressions(value))):
                    self.told.append((flow.all, place.head))
            case Ask():
                told = self._asked(step, flows, statement.head)
                self._write(step, told, refusals)
            case Walk(ask=ask, below=below, name=name):
                place = next((each for each in statement.of("walk") if each.name().text == name), statement)
                start = flows.of(below) if below is not None else PUBLIC
                told = self._asked(ask, flows.within({"branches": start}), place.head)
                self.told.append((start.all, place.head))  # there may be no such node
                chosen = onward(union(told, start.all), Label(place.name().span, f"`{name}` is chosen by it"))
                self.row[name] = Flow({**refusals, **chosen})
            case Verify(ask=ask, require=require):
                place = self._verifying(ask.name)
                told = self._asked(ask, flows, place.head)
                said = dict.fromkeys(_returned(ask), Flow(told))
                for condition in require:
                    self.told.append((flows.within(said).all(condition), flows.places.of(condition, place.head)))

    def _may_fail(self, part: Expr) -> bool:
        """Return true if a part of an expression may have no value though it lacks nothing: a number that is past all
        bounds, a function of the user's that fails."""
        if isinstance(part, Call):
            return part.function not in FUNCTIONS or part.function in ("power", "sum")
        return isinstance(part, Binary) and part.operator in ("+", "-", "*", "/")

    def _verifying(self, name: str) -> Statement:
        number = int(name.rpartition("_")[2]) if "_" in name else 1
        found = self.statement.of("verify")
        return found[number - 1] if number <= len(found) else self.statement

    def _asked(self, ask: Ask, flows: Flows, span: Span) -> Secrets:
        """Return what somebody is told who is asked about a row."""
        told = union(flows.all(*expressions_of(ask)), flows.names["language"].all)
        self.told.append((told, span))
        return told

    def _write(self, ask: Ask, told: Secrets, refusals: Secrets) -> None:
        """The fields that an author writes. Its own secrets are those of the row."""
        declared = {each.name: each.secret for each in self.made.fields}
        for name in _returned(ask):
            head = self.tables.declaration(self.made.name, name).head
            found: Secrets = {**refusals, **onward(told, Label(head, "written knowing it"))}
            if declared.get(name):
                own = {Secret(self.made.name, name, EVERY): ((Label(head, f"`{name}` is secret"),),)}
                found = union(found, own)
            self.row[name] = Flow(found)

    def _refused(self) -> Iterator[tuple[Secrets, Span]]:
        """By what rows are refused, or not made, and where."""
        yield from self.told
        flows = self._scope("require")
        for expr in self.made.require:
            yield flows.all(expr), flows.places.of(expr, self.statement.head)
        compared = [(expr, flows.all(expr)) for expr in self.made.unique]
        flows = self._scope("distinct")
        compared += [(each.value, flows.all(each.value, each.others)) for each in self.made.distinct]
        for expr, found in compared:  # with what other rows say
            yield within(found, lambda rows: rows.elsewhere), flows.places.of(expr, self.statement.head)

    def there(self) -> Secrets:
        """Return what it tells which rows there are."""
        chosen = self.source.what
        if self.made.unique or self.made.distinct:  # the first of two that are alike stays
            chosen = union(chosen, self.source.order)
        where = self.made.where
        if where is not None:
            flows = self._scope("where")
            span = flows.places.of(where, self.statement.head)
            chosen = union(chosen, onward(flows.all(where), Label(span, f"`{self.own}` keeps rows by it")))
        refused = (onward(found, Label(span, "rows are refused by it")) for found, span in self._refused())
        return union(chosen, *refused)


def written_fields(made: Made) -> set[str]:
    """Return the fields of a made data set that are no field of its source."""
    written: set[str] = set()
    for step in made.steps:
        match step:
            case Ask(returns=returns):
                written |= set(returns.fields) if returns is not None and returns.kind == "record" else set()
            case Walk() | Derived():
                written.add(step.name)
    return written


def _returned(ask: Ask) -> tuple[str, ...]:
    """Return the fields that a reply is read as."""
    return tuple(ask.returns.fields) if ask.returns is not None and ask.returns.kind == "record" else ()
