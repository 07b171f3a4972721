"""Columns of the rows of a task, and what is known of their types: from the data, or from how templates use them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tripos.importing.tasks.spec_text import Untranslated, name_of, quoted

RESERVED = ("language",)
"""Names that a field cannot have: those of axes."""


@dataclass
class ColumnShape:
    """Known facts about the values of a column: a kind, the shape of the items of a list, the fields of a record."""

    kind: str = ""
    """`text`, `integer`, `number`, `bool`, `list`, `record`, or nothing where nobody knows."""
    item: ColumnShape | None = None
    fields: dict[str, ColumnShape] = field(default_factory=dict)
    missing: bool = False
    certain: bool = False
    """Told by data, so that no use changes it."""
    digits: bool = True
    """Texts of it may be numbers, which a target that is a template reads as positions."""
    brackets: bool = False
    """Texts of it stand in square brackets, which a target that is a template reads as lists."""
    least: int | None = None
    """The least of its integers; None where nobody knows it."""
    blank: bool = False
    """A text of it is empty, or has blanks alone."""

    def present(self) -> ColumnShape:
        """Return the shape of what is made of a value, which is not missing."""
        return replace(self, missing=False) if self.missing else self

    def want(self, kind: str) -> ColumnShape:
        """Take it that values are of a kind; nothing changes where the kind is known."""
        if not self.kind:
            self.kind = kind
            if kind == "list":
                self.item = self.item or ColumnShape()
        return self

    def member(self, name: str) -> ColumnShape:
        """Return the shape of a field of a record."""
        self.want("record")
        if name not in self.fields:
            if self.certain:
                raise Untranslated(f"there is no field `{name}` in the data")
            self.fields[name] = ColumnShape()
        return self.fields[name]

    def items(self) -> ColumnShape:
        """Return the shape of the items of a list; a text has texts."""
        if self.kind == "text":
            return ColumnShape("text")
        self.want("list")
        if self.kind != "list":
            raise Untranslated(f"an item of a {self.kind}")
        if self.item is None:
            self.item = ColumnShape()
        return self.item

    def type_text(self) -> str:
        """Return the type as the language writes it. What nobody knows is a text."""
        if self.kind == "list":
            inner = self.item.type_text() if self.item else "text"
            return f"list<{inner}>" + ("?" if self.missing else "")
        if self.kind == "record":
            if not self.fields:
                return "json"
            fields = ", ".join(f"{name_of(name)} {shape.type_text()}" for name, shape in self.fields.items())
            return f"{{ {fields} }}"
        return (self.kind or "text") + ("?" if self.missing else "")


@dataclass
class TaskColumns:
    """The columns of a data set that a task uses, with their names as fields."""

    shapes: dict[str, ColumnShape] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    shown: set[str] = field(default_factory=set)
    """Columns that a prompt prints."""
    closed: bool = False
    """All columns are known, from the data: a name that is none of them is undefined."""

    @classmethod
    def of_rows(cls, rows: Iterable[Mapping[str, Any]]) -> TaskColumns:
        """Return the columns of rows, with the shapes of their values."""
        found = list(rows)
        names = dict.fromkeys(name for row in found for name in row)
        shapes = {name: shape_of([row.get(name) for row in found]) for name in names}
        return cls({name: shape for name, shape in shapes.items() if shape is not None}, closed=True)

    def __contains__(self, name: str) -> bool:
        return name in self.shapes or not self.closed

    def shape(self, name: str) -> ColumnShape:
        """Return the shape of a column. Raises `Untranslated` where the data has none of that name."""
        if name not in self.shapes:
            if self.closed:
                raise Untranslated(f"there is no column `{name}` in the data")
            self.shapes[name] = ColumnShape()
        quoted(name)  # a column that no spec can name is none
        self.names.setdefault(name, name_of(name, (*self.names.values(), *RESERVED)))
        return self.shapes[name]

    def used(self) -> list[str]:
        """Return the columns that the spec names."""
        return list(self.names)

    def blank_in(self, code: str, row: str) -> str | None:
        """Return a column that an expression over a row looks up and that is empty in some rows; None where none is
        known to be."""
        looked_up = set(re.findall(rf"\b{row}\.(\w+)", code))
        return next((each for each, name in self.names.items() if name in looked_up and self.shapes[each].blank), None)

    def declared(self, secret: bool = True) -> list[str]:
        """Return a line for each column that is used, as a data set declares it."""
        wide = max((len(self.names[name]) for name in self.names), default=0)
        lines = []
        for name, fieldname in self.names.items():
            shape = self.shapes[name]
            told, words = shape.type_text(), ["secret"] if secret and name not in self.shown else []
            words += [f"from {quoted(name)}"] if fieldname != name else []
            words.insert(len(words) if told.startswith("{") else 0, told)  # a block ends a field
            lines.append(" ".join([fieldname.ljust(wide), *words]))
        return lines


def is_digits(text: str) -> bool:
    """Return true if a text is a whole number as the language writes it, and not `²` or one in other digits."""
    return text.isascii() and text.isdigit()


def shape_of(values: list[Any]) -> ColumnShape | None:
    """Return the shape of values; None where no one type holds them.

    >>> shape_of(["a", None]).type_text(), shape_of([[1], []]).type_text(), shape_of([{"a": [True]}]).type_text()
    ('text?', 'list<integer>', '{ a list<bool> }')
    """
    held = [each for each in values if each is not None]
    found = _held_shape(held) if held else ColumnShape("text")
    if found is not None:
        found.missing = len(held) < len(values)
        found.certain = True
        texts = [each for each in held if isinstance(each, str)]
        found.digits = any(is_digits(each) for each in texts)
        found.least = min(held, default=None) if found.kind == "integer" else None
        found.blank = any(not each.strip() for each in texts)
        found.brackets = any(each[:1] == "[" and each[-1:] == "]" for each in texts)
    return found


def _held_shape(held: list[Any]) -> ColumnShape | None:
    for name, types in (("text", str), ("bool", bool), ("integer", int), ("number", (int, float))):
        if all(isinstance(each, types) and (name == "bool" or not isinstance(each, bool)) for each in held):
            return ColumnShape(name)
    if all(isinstance(each, list | tuple) for each in held):
        items = [item for each in held for item in each]
        inner = shape_of(items) if items else ColumnShape("text", certain=True)
        return ColumnShape("list", item=inner) if inner is not None else None
    if all(isinstance(each, Mapping) for each in held):
        names = dict.fromkeys(name for each in held for name in each)
        fields = {name: shape_of([each.get(name) for each in held]) for name in names}
        known = {name: shape for name, shape in fields.items() if shape is not None}
        return ColumnShape("record", fields=known)
    return None
