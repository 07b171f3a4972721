"""Statistics of a data set: rows, values, lengths and distinct values of every field, for all rows or by fields."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tripos_compiler.plan import DataField, ListType, RecordType, SetType, TextType, Type
from tripos_compiler.semantics.library.texts import words

Row = Mapping[str, Any]
Group = tuple[str, ...]
"""The value of every field that rows are counted by."""
NO_VALUE = "(none)"
"""Stands for a missing value of a field that rows are counted by."""
UNITS: dict[str, Callable[[str], int]] = {"characters": len, "words": words}
"""How the length of a text is counted."""
FIGURES = ("rows", "values", "distinct", "mean", "least", "median", "most")
"""What is said of a field."""


@dataclass(frozen=True)
class Figures:
    """What is said of one field in one group. `unit` is what `mean`, `least`, `median` and `most` count: characters or
    words of a text, items of a list, turns of a dialogue, or nothing where they are of the numbers themselves; they are
    None of what has no length, such as a choice. `distinct` counts different values, of a list different items."""

    rows: int
    values: int
    distinct: int
    unit: str
    mean: float | None = None
    least: float | None = None
    median: float | None = None
    most: float | None = None


@dataclass
class Gathered:
    """The values of one field in one group."""

    values: int = 0
    distinct: set[Any] = field(default_factory=set)
    sizes: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Part:
    """A field, a part of a record, or the texts of a list `joined`: its name with dots, and its type without `?`."""

    name: str
    path: tuple[str, ...]
    type: Type
    joined: bool = False

    def of(self, row: Row) -> Any:
        """Its value in a row; None where it is missing."""
        value: Any = row
        for name in self.path:
            value = None if value is None else value.get(name)
        return "".join(map(str, value)) if self.joined and value is not None else value


def parts_of(fields: Iterable[DataField]) -> list[Part]:
    """The fields of a data set, those of records in their place, and behind a list of texts its texts together."""
    return [part for each in fields for part in _parts((each.name,), each.type)]


def _parts(path: tuple[str, ...], type_: Type) -> Iterator[Part]:
    bare = type_.of if type_.kind == "optional" else type_
    name = ".".join(path)
    if isinstance(bare, RecordType):
        for inner, of in bare.fields.items():
            yield from _parts((*path, inner), of)
        return
    yield Part(name, path, bare)
    if isinstance(bare, ListType | SetType) and bare.of.kind == "text":
        yield Part(f"{name}.text", path, TextType(), joined=True)


def describe(
    rows: Iterable[Row],
    parts: Sequence[Part],
    by: Sequence[Part],
    unit: str = "characters",
    names: Mapping[str, str] | None = None,
) -> dict[Group, dict[str, Figures]]:
    """The figures of every part in every group of rows, the groups in the order in which the rows have them. `names`
    has the name under which a value of `by` is counted, where that is not its own.

    >>> from tripos_compiler.plan import TextType
    >>> kind, text = (Part(name, (name,), TextType()) for name in ("kind", "text"))
    >>> rows = [{"kind": "a", "text": "one"}, {"kind": "b", "text": "three"}, {"kind": "c", "text": "three"}]
    >>> found = describe(rows, [text], [kind], names={"b": "others", "c": "others"})
    >>> [(group, of["text"].rows, of["text"].distinct, of["text"].mean) for group, of in found.items()]
    [(('a',), 1, 1, 3.0), (('others',), 2, 1, 5.0)]
    """
    counts: dict[Group, int] = defaultdict(int)
    gathered: dict[Group, dict[str, Gathered]] = {}
    for row in rows:
        group = tuple(_named(part.of(row), names or {}) for part in by)
        counts[group] += 1
        of = gathered.setdefault(group, {part.name: Gathered() for part in parts})
        for part in parts:
            _gather(of[part.name], part.of(row), UNITS[unit])
    return {
        group: {part.name: _figures(of[part.name], part, counts[group], unit) for part in parts}
        for group, of in gathered.items()
    }


def _named(value: Any, names: Mapping[str, str]) -> str:
    if value is None:
        return NO_VALUE
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return names.get(text, text)


def _gather(into: Gathered, value: Any, length: Callable[[str], int]) -> None:
    if value is None:
        return
    into.values += 1
    match value:
        case bool():
            into.distinct.add(value)
        case int() | float():
            into.distinct.add(value)
            into.sizes.append(value)
        case str():
            into.distinct.add(value)
            into.sizes.append(length(value))
        case list() | tuple() | set() | frozenset():
            into.distinct.update(map(repr, value))
            into.sizes.append(len(value))
        case _:
            into.distinct.add(repr(value))


COUNTED = {"list": "items", "set": "items", "dialogue": "turns"}
"""What is counted of a value of a type; of a text it is the unit that was asked for, and a number is itself."""


def _figures(of: Gathered, part: Part, rows: int, unit: str) -> Figures:
    kind = part.type.kind
    if kind not in (*COUNTED, "text", "integer", "number") or not of.sizes:
        return Figures(rows, of.values, len(of.distinct), "")
    mean, median = statistics.fmean(of.sizes), statistics.median(of.sizes)
    counted = unit if kind == "text" else COUNTED.get(kind, "")
    return Figures(rows, of.values, len(of.distinct), counted, mean, min(of.sizes), median, max(of.sizes))
