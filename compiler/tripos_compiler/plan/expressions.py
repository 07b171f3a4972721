"""Expressions and templates of a plan."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from tripos_compiler.plan.base import Part
from tripos_compiler.plan.types import Type


class Literal_(Part):  # noqa: N801 - `Literal` is taken by typing
    op: Literal["literal"] = "literal"
    value: str | int | float | bool | None


class Ref(Part):
    """A name and the fields below it: `("item", "question")`, `("answer", "text")`, `("stage",)`."""

    op: Literal["ref"] = "ref"
    path: tuple[str, ...]


class Call(Part):
    op: Literal["call"] = "call"
    function: str
    args: tuple[Expr, ...] = ()
    named: dict[str, Expr] = {}


class Unary(Part):
    op: Literal["unary"] = "unary"
    operator: Literal["-", "not"]
    value: Expr


class Binary(Part):
    op: Literal["binary"] = "binary"
    operator: Literal["+", "-", "*", "/", "==", "!=", "<", "<=", ">", ">=", "and", "or", "in", "not in"]
    left: Expr
    right: Expr


class Items(Part):
    """A list written out: `("a", "b")`."""

    op: Literal["items"] = "items"
    values: tuple[Expr, ...]


class Get(Part):
    """A field of a record that an expression yields, `last(history).text`; of a list of records, that of each."""

    op: Literal["get"] = "get"
    of: Expr
    field: str


class Data(Part):
    """All rows of a data set, or one field of each of them."""

    op: Literal["data"] = "data"
    dataset: str
    field: str | None = None


class Branches(Part):
    """A tree as a value."""

    op: Literal["tree"] = "tree"
    tree: str


Expr = Annotated[
    Literal_ | Ref | Call | Unary | Binary | Items | Get | Data | Branches,
    Field(discriminator="op"),
]


class Hole(Part):
    """A placeholder of a template. What fills it is printed once and never read as a template again."""

    expr: Expr
    type: Type


class Passage(Part):
    """A part of a template that is printed where `when` holds, and always where there is none."""

    when: Expr | None = None
    parts: tuple[str | Hole, ...]


class Template(Part):
    """Text and holes in the order in which they are printed; or passages, between which an empty line is printed."""

    parts: tuple[str | Hole | Passage, ...]


Texts = dict[str, Template]
"""A template for each language of the benchmark; text that was written once stands under every language."""

Labels = dict[str, str]
"""Plain text for each language of the benchmark."""
