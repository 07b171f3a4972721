"""Names in scope, checked expressions, and lowered data sets with the copies of secrets among them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import Any, Literal

from tripos_compiler.language.library import Lack, unguarded_lacks
from tripos_compiler.plan import Dataset, Expr, Made, Type
from tripos_compiler.source import JoinedFiles, Origin, Span, dataclass


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
