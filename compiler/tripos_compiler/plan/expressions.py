"""Types, expressions and templates of a plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple, get_args

from pydantic import AfterValidator, Field, SerializationInfo, SerializerFunctionWrapHandler, WrapSerializer

from tripos_compiler.plan.base import Ordered, Part


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
    """One of some names. `axis` names the axis whose values these are, where there is one; `worth` is the number that
    each of the names stands for, where they stand for numbers."""

    kind: Literal["choice"] = "choice"
    values: tuple[str, ...]
    axis: str | None = None
    worth: tuple[float, ...] = ()


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


class ImageType(Part):
    """An image, which a value names by its content: `language.Medium`."""

    kind: Literal["image"] = "image"


class AudioType(Part):
    """A recording, named as an image is."""

    kind: Literal["audio"] = "audio"


class FileType(Part):
    """A file, such as a PDF, named as an image is."""

    kind: Literal["file"] = "file"


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


class JsonType(Part):
    """Any value of JSON. `form` says which: `tools` are functions that a model may call, each with the JSON Schema of
    its parameters, and `calls` are calls of them, each with the values that every argument may have."""

    kind: Literal["json"] = "json"
    form: Literal["json", "tools", "calls"] = "json"


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
    | ImageType
    | AudioType
    | FileType
    | OptionalType
    | PathType
    | TreeType
    | JsonType
    | MetricsType,
    Field(discriminator="kind"),
]


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
    args: tuple[Inner, ...] = ()
    named: dict[str, Inner] = {}


class Unary(Part):
    op: Literal["unary"] = "unary"
    operator: Literal["-", "not"]
    value: Inner


class Binary(Part):
    op: Literal["binary"] = "binary"
    operator: Literal["+", "-", "*", "/", "==", "!=", "<", "<=", ">", ">=", "and", "or", "in", "not in"]
    left: Inner
    right: Inner


class Items(Part):
    """A list written out: `("a", "b")`."""

    op: Literal["items"] = "items"
    values: tuple[Inner, ...]


class RecordValue(Ordered):
    """A record written out. A field that has no value is missing alone, and the record has none only as a whole."""

    _mapping = "fields"
    op: Literal["record"] = "record"
    fields: dict[str, Inner]


class Get(Part):
    """A field of a record that an expression yields, `last(history).text`; of a list of records, that of each."""

    op: Literal["get"] = "get"
    of: Inner
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


class Loop(Part):
    """The elements of a list, each known as `alias`; those for which `where` holds. A list of more than `most` has no
    value."""

    alias: str
    of: Expr
    where: Expr | None = None
    most: int | None = None


class Each(Part):
    """The value of an expression for each element of a list, a list too."""

    op: Literal["each"] = "each"
    loop: Loop
    value: Expr


class AtElement(Part):
    """The value that a judge gave for the elements at hand of the loops that it stands in; `of` names its verdicts."""

    op: Literal["at"] = "at"
    of: Ref
    loops: tuple[str, ...]


class Let(Part):
    """An expression whose parts that stand in several places have a name, `$1` and so on. `of`, and each of `values`,
    refer to them. A long expression is written so; in a plan that is read, the parts stand where their names are."""

    op: Literal["let"] = "let"
    values: dict[str, Inner]
    of: Inner


AnyExpr = Literal_ | Ref | Call | Unary | Binary | Items | RecordValue | Get | Data | Branches | Each | AtElement
EXPRESSIONS: Final = get_args(AnyExpr)
"""The classes of expressions."""
Inner = Annotated[AnyExpr, Field(discriminator="op")]
"""An expression as a part of another."""


class LongForm(NamedTuple):
    """The form of a long expression: how it is written, with a name for each part that it has several times, and read
    again."""

    written: Callable[[Expr | Let], Expr | Let]
    read: Callable[[Let], Expr]


long_forms: list[LongForm] = []
"""The form, which `sharing` knows."""


def _write(expr: Expr | Let, write: SerializerFunctionWrapHandler, info: SerializationInfo) -> Any:
    found = long_forms[0].written(expr)
    return found.model_dump(mode=info.mode) if isinstance(found, Let) else write(found)


def _read(expr: Expr | Let) -> Expr:
    return long_forms[0].read(expr) if isinstance(expr, Let) else expr


if TYPE_CHECKING:
    Expr = AnyExpr
else:
    Expr = Annotated[
        Annotated[AnyExpr | Let, Field(discriminator="op")],
        AfterValidator(_read),
        WrapSerializer(_write),
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
