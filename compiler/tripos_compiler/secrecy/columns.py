"""The values of a field, and how surprising it is that another row has one of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import cached_property
from typing import Any

from tripos_compiler.dataset_info import LoadedDataset, LoadedRow
from tripos_compiler.plan import DataField, Type
from tripos_compiler.secrecy.holding import GROUPED, Said, look_at, plain

MOST_COUNTED = 2_000
"""So many rows tell how often values stand in a field."""
SAID = frozenset({"yes", "no", "true", "false", "correct", "incorrect", "right", "wrong", "none", "both", "all"})
"""Words that many answers are."""


@dataclass(frozen=True, eq=False)
class Column:
    """A field of the rows of a data set; `part` takes a part of its values."""

    loaded: LoadedDataset
    field: DataField
    part: str | None = None
    _said: dict[int, Said] = dataclass_field(default_factory=dict, repr=False)

    def said(self, row: LoadedRow) -> Said:
        """What a row says there, with its parts."""
        if id(row) not in self._said:
            self._said[id(row)] = look_at(self.value(row))
        return self._said[id(row)]

    def plain(self, row: LoadedRow) -> str:
        """What a row says there."""
        return self.said(row).plain

    def value(self, row: LoadedRow) -> Any:
        """What a row has there."""
        found = row.values.get(self.field.name)
        if self.part is None:
            return found
        return found.get(self.part) if isinstance(found, dict) else None

    @cached_property
    def counts(self) -> Counter[str]:
        """How often every value stands in the rows."""
        rows = self.loaded.rows[:MOST_COUNTED]
        return Counter(plain(self.value(row)) for row in rows)

    def chance(self, row: LoadedRow) -> float:
        """How likely it is that another row has the value of a row, by how often it stands there and how long it is."""
        value, text = self.value(row), self.plain(row)
        rows = sum(self.counts.values())
        often = max(self.counts[text] - 1, 0) / max(rows - 1, 1)
        if text in SAID:
            return max(often, 0.5)
        long = 10.0 ** -min(len(text), 12)
        if text.isalpha() and text.isascii() and not (isinstance(value, str) and " " in value.strip()):
            long = max(long, 1e-3 if len(text) > 2 else 1e-1)  # a word, a letter
        elif GROUPED.fullmatch(text):
            long = 10.0 ** -min(len(text.replace(".", "").lstrip("-0")) or 1, 12)
        return max(often, long, 1 / _values(self.field.type))


def parts_of(column: Column) -> Iterator[Column]:
    """A field, and the parts of one that is a record."""
    yield column
    of = column.field.type.of if column.field.type.kind == "optional" else column.field.type
    if of.kind == "record":
        yield from (Column(column.loaded, column.field, name) for name in of.fields)


def _values(type_: Type) -> float:
    """How many values a type has; infinitely many where they are not listed."""
    of = type_.of if type_.kind == "optional" else type_
    match of.kind:
        case "bool":
            return 2
        case "choice":
            return len(of.values)
        case "integer" if of.low is not None and of.high is not None:
            return max(of.high - of.low + 1, 1)
    return math.inf
