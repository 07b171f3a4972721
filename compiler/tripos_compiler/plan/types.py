"""The types of values in a plan."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from tripos_compiler.plan.base import Part
from tripos_compiler.plan.ordered import Ordered


class TextType(Part):
    kind: Literal["text"] = "text"


class IntegerType(Part):
    """A whole number; `low` and `high` are inclusive bounds, absent where there is none."""

    kind: Literal["integer"] = "integer"
    low: int | None = None
    high: int | None = None


class NumberType(Part):
    kind: Literal["number"] = "number"


class BoolType(Part):
    kind: Literal["bool"] = "bool"


class ChoiceType(Part):
    """One of some names. `axis` names the axis whose values these are, where there is one."""

    kind: Literal["choice"] = "choice"
    values: tuple[str, ...]
    axis: str | None = None


class ListType(Part):
    kind: Literal["list"] = "list"
    of: Type


class SetType(Part):
    kind: Literal["set"] = "set"
    of: Type


class RecordType(Ordered):
    """Named values, in the order in which a model is asked for them."""

    _mapping = "fields"
    kind: Literal["record"] = "record"
    fields: dict[str, Type]


class DialogueType(Part):
    """Turns, each with a `speaker` and a `text`."""

    kind: Literal["dialogue"] = "dialogue"


class OptionalType(Part):
    kind: Literal["optional"] = "optional"
    of: Type


class PathType(Part):
    """A way through a tree: the names from its root to a node, joined by ` / `."""

    kind: Literal["path"] = "path"


class TreeType(Part):
    """A whole tree, which only functions such as `leaves` take."""

    kind: Literal["tree"] = "tree"
    tree: str


class MetricsType(Part):
    """The metrics allocated to the scenario at hand, printable as a rubric."""

    kind: Literal["metrics"] = "metrics"


Type = Annotated[
    TextType
    | IntegerType
    | NumberType
    | BoolType
    | ChoiceType
    | ListType
    | SetType
    | RecordType
    | DialogueType
    | OptionalType
    | PathType
    | TreeType
    | MetricsType,
    Field(discriminator="kind"),
]
