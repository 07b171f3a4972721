"""What is known of a data set once it was lowered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tripos_compiler.data import Origin
from tripos_compiler.plan import Dataset, Made
from tripos_compiler.scope import Binding, record_fields
from tripos_compiler.source import Span


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
    unpacked: Mapping[str, str] = field(default_factory=dict)
    """By path, the SHA-256 of what its compressed files hold."""
    origin: Origin = "spec"
    """Where its files were found."""


def row_fields(loaded: LoadedDataset, *path: str) -> dict[str, Binding]:
    """The fields of a row as names; `path` is what the row itself is known as, nothing where it is all there is."""
    fields = {
        each.name: Binding((*path, each.name), each.type, span=loaded.spans.get(each.name), secret=each.secret)
        for each in loaded.dataset.fields
    }
    return fields | {name: Binding((*path, name)) for name in loaded.poisoned}


def row_binding(loaded: LoadedDataset, alias: str, span: Span) -> Binding:
    """A row as a name, with the fields of records behind their own dots; `span` is where the row is named."""
    fields = row_fields(loaded, alias)
    for each in loaded.dataset.fields:
        below = record_fields(fields[each.name].path, each.type, fields[each.name].span)
        fields[each.name] = replace(fields[each.name], fields=below)
    return Binding((alias,), None, fields, span=span)
