"""Types of the library: kinds that Python has no word for, which type fits where, notation, and printed order."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Set as AbstractSet
from typing import Any, Literal, NewType, TypedDict, TypeVar

from tripos_compiler.plan import (
    BoolType,
    DialogueType,
    IntegerType,
    JsonType,
    ListType,
    NumberType,
    OptionalType,
    RecordType,
    SetType,
    TextType,
    Type,
)
from tripos_compiler.source.data_classes import dataclass

Path = NewType("Path", str)
"""A way through a tree: the names from its root to a node, joined by ` / `."""

Tree = NewType("Tree", Mapping[str, Any])
"""The branches of a tree by name, each with its own branches below it; what has none is a leaf."""


class Turn(TypedDict):
    """A turn of one speaker."""

    speaker: str
    text: str


Dialogue = list[Turn]

Json = NewType("Json", object)
"""Any value of JSON."""

Tools = NewType("Tools", object)
"""The functions that a model may call, as `read_tools` gives them."""

Calls = NewType("Calls", object)
"""Calls with the values that each argument may have, as `read_allowed_calls` gives them."""


class ReadCall(TypedDict):
    """A call of a tool, as a reply has it."""

    name: str
    arguments: Json
    readable: bool


T = TypeVar("T")
"""Any one type."""

N = TypeVar("N", int, float)
"""A number; whole numbers stay whole."""

K = TypeVar("K", bound=Hashable)
"""What can be told apart and put in order: texts, numbers, true and false, choices and paths."""


@dataclass(frozen=True)
class Implied:
    """Marks a parameter that the compiler fills in where it is not given: with the values of the choice that `of` is,
    the name of the field of `of` that is a path, or that is one or holds some, or the names of those that are texts; or
    with the locale of the language at hand."""

    by: Literal["values", "path", "paths", "texts", "locale"]
    of: str = ""


@dataclass(frozen=True)
class WrittenType:
    """Marks a parameter that is a type, written as that of a field is. `of` names it in the rest of the signature, and
    the function is given its notation."""

    of: str


@dataclass(frozen=True)
class WrittenOut:
    """Marks a parameter of which a text has to be written out; `instead` says what to write of one that cannot be."""

    instead: str


MOST_VALUES = 6
"""A choice of more values than these is shown by its first ones."""


def type_notation(type_: Type | None) -> str:
    """Return a type as it is written in a spec; of a long choice its first values. None is any type.

    >>> from tripos_compiler.plan import ListType, OptionalType, TextType
    >>> type_notation(ListType(of=OptionalType(of=TextType())))
    'list<text?>'
    """
    if type_ is None:
        return "any"
    match type_.kind:
        case "list" | "set":
            return f"{type_.kind}<{type_notation(type_.of)}>"
        case "optional":
            return f"{type_notation(type_.of)}?"
        case "choice":
            return type_.axis or f"choice({', '.join(_few(type_.values))})"
        case "record":
            return "{ " + ", ".join(f"{name} {type_notation(of)}" for name, of in type_.fields.items()) + " }"
        case "json":
            return type_.form
        case "integer" if type_.low is not None and type_.high is not None:
            return f"{type_.low}..{type_.high}"
    return type_.kind


PLAIN_JSON: Mapping[str, Type] = {
    "text": TextType(),
    "integer": IntegerType(),
    "number": NumberType(),
    "bool": BoolType(),
    "json": JsonType(),
}
"""The types that a part of JSON is read as, beside ranges of whole numbers, lists and records of them, by their
notation."""


def notated_type(notation: str) -> Type | None:
    """Return the type of JSON that a notation stands for; None where it is that of another type.

    >>> notated_type("list<1..5>") == ListType(of=IntegerType(low=1, high=5)), notated_type("dialogue")
    (True, None)
    >>> type_notation(notated_type("list<{ a text, b list<{ c integer }>? }>"))
    'list<{ a text, b list<{ c integer }>? }>'
    """
    if notation.startswith("{ "):
        return _notated_record(notation.removeprefix("{ ").removesuffix(" }"))
    if notation.startswith("list<") and notation.endswith(">"):
        of = notated_type(notation[len("list<") : -1])
        return None if of is None else ListType(of=of)
    low, dots, high = notation.partition("..")
    return IntegerType(low=int(low), high=int(high)) if dots else PLAIN_JSON.get(notation)


def _notated_record(notation: str) -> RecordType | None:
    fields: dict[str, Type] = {}
    depth = 0
    begin = 0
    for place, sign in enumerate(notation + ","):
        depth += (sign in "{<") - (sign in "}>")
        if sign == "," and depth == 0:
            name, _, of = notation[begin:place].strip().partition(" ")
            type_ = notated_type(of.removesuffix("?"))
            if type_ is None:
                return None
            fields[name] = OptionalType(of=type_) if of.endswith("?") else type_
            begin = place + 1
    return RecordType(fields=fields)


def _few(values: tuple[str, ...]) -> tuple[str, ...]:
    return values if len(values) <= MOST_VALUES else (*values[: MOST_VALUES - 1], "…")


Item = TypeVar("Item")


def ordered(items: Iterable[Item]) -> list[Item]:
    """Return the items as a list; those of a set sorted, texts by code point.

    >>> ordered({"b", "a"}), ordered(("b", "a"))
    (['a', 'b'], ['b', 'a'])
    """
    return sorted_items(items) if isinstance(items, AbstractSet) else list(items)


def sorted_items(items: Iterable[Item]) -> list[Item]:
    """Return the items from the least to the greatest, the same in whatever order they are given: of equal numbers
    whole ones are first. Raises `TypeError` where they have no order.

    >>> sorted_items([2, 1, 2]), sorted_items([1.0, 1]), sorted_items([1, 1.0])
    ([1, 2, 2], [1, 1.0], [1, 1.0])
    """
    sortable: list[Any] = list(items)
    if any(isinstance(each, float) for each in sortable):
        sortable.sort(key=repr)
    return sorted(sortable)


TURN = RecordType(fields={"speaker": TextType(), "text": TextType()})
"""What a dialogue is a list of."""

PLAIN = ("text", "integer", "number", "bool", "choice", "path")
"""The kinds of values that can be told apart and put in order, and so be in a set."""


MEDIA = ("image", "audio", "file")
"""The kinds of values that a model sees or hears."""


def holds_media(type_: Type) -> bool:
    """Return true if a value is an image, a recording or a file, or has one in it.

    >>> from tripos_compiler.plan import ImageType
    >>> holds_media(ListType(of=ImageType())), holds_media(TextType())
    (True, False)
    """
    return _holds(type_, MEDIA)


def holds_json(type_: Type) -> bool:
    """Return true if a value is JSON of any form, or has some in it.

    >>> holds_json(ListType(of=JsonType())), holds_json(TextType())
    (True, False)
    """
    return _holds(type_, ("json",))


def _holds(type_: Type, kinds: Collection[str]) -> bool:
    match type_.kind:
        case "list" | "set" | "optional":
            return _holds(type_.of, kinds)
        case "record":
            return any(_holds(each, kinds) for each in type_.fields.values())
    return type_.kind in kinds


def fits(given: Type, wanted: Type) -> bool:
    """Return true if a value of type `given` may stand where `wanted` is asked for.

    A choice and a path are texts, an integer is a number, a set is a list of what it holds in order, a dialogue a list
    of its turns, and a record may have more fields than are asked for. Bounds of integers do not matter.

    >>> from tripos_compiler.plan import NumberType
    >>> fits(IntegerType(low=1, high=5), NumberType()), fits(OptionalType(of=TextType()), TextType())
    (True, False)
    """
    if wanted.kind == "optional":
        return fits(without_optional(given), wanted.of)
    match wanted.kind:
        case "text":
            return given.kind in ("text", "choice", "path")
        case "number":
            return given.kind in ("number", "integer")
        case "list":
            of = element_type(given)
            return of is not None and fits(of, wanted.of)
        case "set":
            return given.kind == "set" and fits(given.of, wanted.of)
        case "choice":
            return given.kind == "choice" and set(given.values) <= set(wanted.values)
        case "record":
            return given.kind == "record" and all(
                name in given.fields and fits(given.fields[name], of) for name, of in wanted.fields.items()
            )
        case "dialogue":
            return given.kind == "dialogue" or (given.kind == "list" and fits(given.of, TURN))
        case "tree":
            return given == wanted
        case "json":
            return given.kind == "json" and wanted.form in ("json", given.form)
    return given.kind == wanted.kind


def without_optional(type_: Type) -> Type:
    """Return the type of a value that is there.

    >>> without_optional(OptionalType(of=TextType())).kind
    'text'
    """
    return type_.of if type_.kind == "optional" else type_


def element_type(type_: Type) -> Type | None:
    """Return the type of what a list, set or dialogue holds; None where it holds nothing.

    >>> element_type(DialogueType()) == TURN, element_type(TextType())
    (True, None)
    """
    if type_.kind in ("list", "set"):
        return type_.of
    return TURN if type_.kind == "dialogue" else None


def is_of_paths(type_: Type) -> bool:
    """Return true if a value is a path, or a list or set of paths.

    >>> from tripos_compiler.plan import PathType
    >>> is_of_paths(ListType(of=PathType())), is_of_paths(TextType())
    (True, False)
    """
    of = element_type(type_) or type_
    return of.kind == "path"


def join(a: Type, b: Type) -> Type | None:
    """Return the narrowest type that both fit, or None where there is none.

    >>> from tripos_compiler.plan import NumberType
    >>> join(IntegerType(low=1, high=5), OptionalType(of=NumberType())) == OptionalType(of=NumberType())
    True
    >>> join(IntegerType(low=1, high=5), IntegerType(low=3, high=9)) == IntegerType(low=1, high=9)
    True
    """
    if "optional" in (a.kind, b.kind):
        inner = join(without_optional(a), without_optional(b))
        return None if inner is None else OptionalType(of=inner)
    if a.kind == "integer" and b.kind == "integer":
        low = None if a.low is None or b.low is None else min(a.low, b.low)
        return IntegerType(low=low, high=None if a.high is None or b.high is None else max(a.high, b.high))
    if a.kind == "set" and b.kind == "set":
        of = join(a.of, b.of)
        return None if of is None else SetType(of=of)
    if fits(a, b):
        return b
    if fits(b, a):
        return a
    if fits(a, TextType()) and fits(b, TextType()):
        return TextType()
    of_a, of_b = element_type(a), element_type(b)
    of = join(of_a, of_b) if of_a is not None and of_b is not None else None
    return None if of is None else list_of(of)


def list_of(of: Type) -> Type:
    """Return the type of a list; of turns it is a dialogue.

    >>> list_of(TURN).kind
    'dialogue'
    """
    return DialogueType() if of == TURN else ListType(of=of)


def are_equal(left: Any, right: Any) -> bool:
    """Equality; of a set and a list, that of what they hold. In JSON true is no 1."""
    if isinstance(left, AbstractSet) != isinstance(right, AbstractSet):
        return left is not None and right is not None and set(left) == set(right)
    return bool(left == right) and (not isinstance(left, Mapping | list) or _are_of_one_kind(left, right))


def _are_of_one_kind(left: Any, right: Any) -> bool:
    """Return true if equal values have truth values in the same places."""
    match left:
        case Mapping():
            return all(_are_of_one_kind(value, right[key]) for key, value in left.items())
        case list():
            return all(map(_are_of_one_kind, left, right))
    return isinstance(left, bool) == isinstance(right, bool)
