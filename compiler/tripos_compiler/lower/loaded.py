"""What is known of a data set once it was lowered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tripos_compiler.plan import Dataset, Made
from tripos_compiler.scope import Binding, Way
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
    ways: Mapping[str, Way] = field(default_factory=dict)
    """For every secret field, the way that the secret took there."""
    chosen: Way = ()
    """The way of a secret by which rows were chosen out of others: then it is one which rows there are."""
    keyed: Way = ()
    """The way of a secret that the key of the rows holds."""
    span: Span | None = None
    """The place of the data set's name."""
    made: Made | None = None
    count: int = 0
    """How many rows it has; of a made one, at most."""
    axes: tuple[str, ...] = ()
    """The axes that its rows carry as fields."""
    known: bool = True
    """Whether `rows` are all of its rows; those of a made data set are not known before a run."""


def row_fields(loaded: LoadedDataset, *path: str) -> dict[str, Binding]:
    """The fields of a row as names; `path` is what the row itself is known as, nothing where it is all there is."""
    fields = {
        each.name: Binding(
            (*path, each.name), each.type, loaded.ways.get(each.name, ()), span=loaded.spans.get(each.name)
        )
        for each in loaded.dataset.fields
    }
    return fields | {name: Binding((*path, name)) for name in loaded.poisoned}
