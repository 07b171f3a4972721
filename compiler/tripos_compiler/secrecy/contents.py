"""Which fields hold what a secret field says: sources are contents, and not names.

The same column of the same file says the same however the file is named, packed or read; and a field of other rows
says it where the rows that belong together agree so often that it is no accident (`values.py`). What is compared are
data sets that are read from files; those that are made follow from what they are made of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from tripos_compiler.dataset_info import LoadedDataset
from tripos_compiler.plan import DataField, DataFile, Type
from tripos_compiler.secrecy.columns import Column
from tripos_compiler.secrecy.rows_together import Rows, Together, together
from tripos_compiler.secrecy.values import SHARE, held_in

MOST_PUBLIC = 20
"""So many rows tell whether a field is one that is not marked."""

FEWEST_VALUES = 5
"""A list of fewer different values is no list of answers."""

Field = tuple[str, str]
"""A data set, by its name in the plan, and one of its fields."""


@dataclass(frozen=True)
class Copy:
    """A field that holds what a secret field says. `why` is a clause for messages, which names both."""

    field: Field
    of: Field
    """The secret field."""
    how: Literal["column", "capture", "values"]
    why: str


@dataclass
class KnownCopies:
    """What comparisons came to, by the files and fields of the two data sets that were compared."""

    found: dict[tuple[str, str], tuple[Copy, ...]] = field(default_factory=dict)

    def among(self, loaded: Mapping[str, LoadedDataset]) -> tuple[Copy, ...]:
        """All fields that hold a secret field, of data sets that are read from files. What was compared before is not
        compared again, and what is not there any more is forgotten."""
        prints = {name: each.dataset.model_dump_json() for name, each in loaded.items()}
        rows = {name: Rows(each) for name, each in loaded.items()}
        compared: dict[tuple[str, str], tuple[Copy, ...]] = {}
        for owner in (name for name, each in loaded.items() if any(of.secret for of in each.dataset.fields)):
            for name in loaded:
                key = (prints[owner], prints[name])
                kept = self.found.get(key)
                compared[key] = kept if kept is not None else tuple(_copies(rows[owner], rows[name]))
        self.found = compared
        return tuple(copy for copies in compared.values() for copy in copies)


def same_content(loaded: Mapping[str, LoadedDataset], known: KnownCopies) -> dict[Field, tuple[Copy, ...]]:
    """For every field that holds what a secret field says, all secret fields that it holds, the secret field itself
    left out. `loaded` are the data sets that are read from files, by their names in the plan (`Program.loaded`); a
    secret field of one data set that holds the secret of another is there too. What `unmarked` gives is not."""
    found: dict[Field, list[Copy]] = {}
    for copy in known.among(loaded):
        if copy.how != "values" or copy.field[0] != copy.of[0]:
            found.setdefault(copy.field, []).append(copy)
    return {each: tuple(copies) for each, copies in found.items()}


def unmarked(loaded: Mapping[str, LoadedDataset], known: KnownCopies) -> tuple[Copy, ...]:
    """The public fields that have the values of a secret field of the same rows: either nothing is secret there, or
    one mark is missing, which the author has to say."""
    return tuple(copy for copy in known.among(loaded) if copy.how == "values" and copy.field[0] == copy.of[0])


def _copies(secret: Rows, other: Rows) -> Iterator[Copy]:
    """The fields of a data set that hold a secret of another, or of its own."""
    owner, name = secret.loaded.dataset.name, other.loaded.dataset.name
    shared = list(shared_files(secret.loaded, other.loaded))
    ways = list(together(secret, other, shared))
    telling = {
        each: [way for way in ways if way.field != each and not _public(secret, column, way)]
        for each, column in other.columns.items()
        if not (owner == name and column.field.secret)
    }
    for parts in secret.secrets.values():
        for each, left in telling.items():
            column = other.columns[each]
            copy = _same_column(secret.loaded, parts[0].field, other.loaded, column.field, shared)
            copy = copy or _same_values(parts, column, left) or _same_list(secret, parts[0], column)
            if copy is not None:
                yield copy


def _same_values(parts: tuple[Column, ...], column: Column, ways: list[Together]) -> Copy | None:
    """How a field holds the values of a secret field, or of a part of it."""
    name = (column.loaded.dataset.name, column.field.name)
    for way in ways:
        for part in parts:
            held = held_in(part, column, way)
            if held is not None:
                of = (part.loaded.dataset.name, part.field.name)
                shown = ".".join((*of, part.part) if part.part is not None else of)
                return Copy(name, of, "values", f"`{'.'.join(name)}` {held.does} `{shown}` {held.rows}")
    return None


def _same_list(rows: Rows, secret: Column, column: Column) -> Copy | None:
    """A field of as many rows that has the same values in another order, most of them once: whoever has the list has
    the answers, if not whose they are."""
    if secret.loaded is column.loaded or len(secret.loaded.rows) != len(column.loaded.rows):
        return None
    common, many = secret.counts & column.counts, secret.counts.total()
    if common.total() < SHARE * many or len(common) < max(FEWEST_VALUES, many / 2):
        return None
    public = (each for each in rows.columns.values() if not each.field.secret)
    if any((each.counts & column.counts).total() >= SHARE * many for each in public):
        return None  # it lists what is public there
    name, of = (column.loaded.dataset.name, column.field.name), (secret.loaded.dataset.name, secret.field.name)
    why = f"`{'.'.join(name)}` lists the values of `{'.'.join(of)}` in another order"
    return Copy(name, of, "values", why)


def _public(secret: Rows, column: Column, way: Together) -> bool:
    """Whether a field only says what its rows say in the data set of the secret too, where it is not marked."""
    if secret.loaded is column.loaded:
        return False
    pairs = way.pairs[:MOST_PUBLIC]
    return any(
        sum(public.plain(one) == column.plain(two) for one, two in pairs) >= SHARE * len(pairs)
        for public in secret.columns.values()
        if not public.field.secret
    )


def shared_files(one: LoadedDataset, two: LoadedDataset) -> Iterator[tuple[DataFile, DataFile]]:
    """The files of two data sets that hold the same, packed or not."""
    held: dict[str, DataFile] = {}
    for file in reversed(one.dataset.files):
        held[file.sha256] = held[one.unpacked.get(file.path, file.sha256)] = file
    for file in two.dataset.files:
        found = held.get(file.sha256) or held.get(two.unpacked.get(file.path, file.sha256))
        if found is not None:
            yield found, file


def _same_column(
    secret: LoadedDataset,
    of: DataField,
    other: LoadedDataset,
    each: DataField,
    shared: list[tuple[DataFile, DataFile]],
) -> Copy | None:
    names = (secret.dataset.name, of.name), (other.dataset.name, each.name)
    columns = [column for column in each.columns if column in of.columns]
    said = f"`{names[1][0]}.{each.name}`"
    for file, same in shared:
        for column in columns:
            captured = column in file.captures, column in same.captures
            if not any(captured) and overlap(of.type, each.type):
                where = same.path if same.path == file.path else f"{same.path}, which holds what {file.path} holds"
                why = f"{said} is read from the same column as `{names[0][0]}.{of.name}`, `{column}` of {where}"
                return Copy(names[1], names[0], "column", why)
    pairs = [(_captured(of, file), _captured(each, same)) for file, same in shared]
    if pairs and all(one is not None and one == two for one, two in pairs):
        why = f"{said} is read from the names of the same files as `{names[0][0]}.{of.name}`"
        return Copy(names[1], names[0], "capture", why)
    return None


def same_files(loaded: Mapping[str, LoadedDataset]) -> dict[str, frozenset[str]]:
    """For every data set the others that read a file of it, packed or not."""
    return {
        name: frozenset(
            other for other, each in loaded.items() if other != name and any(shared_files(loaded[name], each))
        )
        for name in loaded
    }


def told_apart(loaded: LoadedDataset, names: frozenset[str]) -> bool:
    """Whether no two rows of a data set have the same values in these fields, rows that repeat others left out."""
    if loaded.repeated:
        return False
    columns = [[row.values.get(name) for row in loaded.rows] for name in sorted(names)]
    telling = (each for each in columns if all(isinstance(value, str) for value in each))
    if any(len(set(each)) == len(each) for each in telling):
        return True
    return len({repr(values) for values in zip(*columns, strict=True)}) == len(loaded.rows)


def _captured(of: DataField, file: DataFile) -> str | None:
    """What the name of a file says in a field."""
    return next((file.captures[column] for column in of.columns if column in file.captures), None)


def overlap(one: Type, two: Type) -> bool:
    """Whether two readings of a column can hold the same part of it: all but records that name different parts.

    >>> from tripos_compiler.plan import ListType, RecordType, TextType
    >>> key, note = RecordType(fields={"key": TextType()}), RecordType(fields={"note": TextType()})
    >>> overlap(key, note), overlap(key, ListType(of=key)), overlap(key, TextType())
    (False, True, True)
    """
    while one.kind in ("optional", "list", "set"):
        one = one.of
    while two.kind in ("optional", "list", "set"):
        two = two.of
    if one.kind != "record" or two.kind != "record":
        return True
    common = set(one.fields) & set(two.fields)
    return any(overlap(one.fields[name], two.fields[name]) for name in common)
