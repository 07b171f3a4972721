"""Values of templates: expressions of the language, and what is known of their types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tripos.importing.tasks.lm_eval.templates.columns import ColumnShape
from tripos.importing.tasks.spec_text import Code, Pieces, Untranslated, joined, quoted


@dataclass
class TemplateValue:
    """An expression of the language, and the shape of what it gives."""

    code: str
    shape: ColumnShape
    constant: Any = None
    """The value itself, where it is written in the template."""
    members: tuple[TemplateValue, ...] | None = None
    """The values of a list that is written in the template."""
    printed: str = ""
    """An expression for what is printed, where that is not the value: `None` for a value that is missing."""
    parts: Pieces | None = None
    """The texts that are put together in it."""
    sought: bool = False
    """A place among options where a text was sought: below 0 it is none."""

    @property
    def kind(self) -> str:
        """Return the kind of the value; what nobody knows is a text."""
        return self.shape.kind or "text"

    def as_text(self) -> str:
        """Return an expression for the text that Jinja prints."""
        if self.kind == "text" and self.printed:
            return self.printed
        if self.shape.missing:
            raise Untranslated(f"a {self.kind} that is printed and may be missing")
        match self.kind:
            case "text":
                return self.code
            case "integer":
                return f"json({self.code})"
            case "bool":
                return f'choose({self.code}, "True", "False")'
        raise Untranslated(f"a {self.kind} that is printed")

    def hole(self) -> Code:
        """Return the value as the filling of a hole."""
        said = self.as_text()
        return Code(self.code, said) if self.kind == "integer" else Code(said)

    def pieces(self) -> Pieces:
        """Return the value as pieces of a template."""
        if isinstance(self.constant, str):
            return [self.constant]
        return [self.hole()] if self.parts is None else self.parts


def item_at(of: TemplateValue, index: TemplateValue, known: bool) -> str:
    """Return the code for an item of a list at an index that a row says. One below 0 counts from the end, as in Python;
    that there is none is taken to be so where no row is `known`."""
    least = index.shape.least
    if index.constant is not None or index.sought or not known or (least is not None and least >= 0):
        return f"nth({of.code}, {index.code})"
    count = f"length({of.code})" if of.members is None else str(len(of.members))
    return f"nth({of.code}, choose({index.code} < 0, {index.code} + {count}, {index.code}))"


def constant(value: Any) -> TemplateValue:
    """Return a value that is written in a template."""
    match value:
        case bool():
            return TemplateValue("true" if value else "false", ColumnShape("bool"), value)
        case int():
            return TemplateValue(str(value), ColumnShape("integer", least=value), value)
        case float():
            return TemplateValue(repr(value), ColumnShape("number"), value)
        case str():
            return TemplateValue(quoted(value), ColumnShape("text"), value)
    raise Untranslated(f"the constant `{value}`")


def concatenated(values: Sequence[TemplateValue]) -> TemplateValue:
    """Return texts in a row as one."""
    if all(isinstance(each.constant, str) for each in values):
        return constant("".join(each.constant for each in values))
    parts = [piece for each in values for piece in each.pieces()]
    return TemplateValue(joined(parts), ColumnShape("text"), parts=parts)


def shape_called(kind: str) -> ColumnShape:
    """Return the shape of what a function gives; `texts` is a list of texts, and an integer is a count or a place."""
    if kind == "texts":
        return ColumnShape("list", item=ColumnShape("text"))
    return ColumnShape(kind, least=0 if kind == "integer" else None)


def fallback(shape: ColumnShape) -> str:
    """Return what stands for a value that is missing."""
    return {"integer": "-1", "number": "-1", "bool": "false", "list": '[""]'}.get(shape.kind, '""')
