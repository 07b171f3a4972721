"""Types of the library: types without a Python counterpart, assignability, notation, and printing order."""

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
"""Path in a tree: the names from its root to a node, joined by ` / `."""

Tree = NewType("Tree", Mapping[str, Any])
"""Branches of a tree by name, each with its own branches; a node without branches is a leaf."""


class Turn(TypedDict):
    """Turn of one speaker."""

    speaker: str
    text: str


Dialogue = list[Turn]

Json = NewType("Json", object)
"""JSON value."""

Tools = NewType("Tools", object)
"""Functions that a model may call, as returned by `read_tools`."""

Calls = NewType("Calls", object)
"""Calls with the accepted values of each argument, as returned by `read_allowed_calls`."""


class ReadCall(TypedDict):
    """Tool call in a reply."""

    name: str
    arguments: Json
    readable: bool


T = TypeVar("T")
"""Any one type."""

N = TypeVar("N", int, float)
"""Number; whole numbers stay whole."""

K = TypeVar("K", bound=Hashable)
"""Types with equality and order: texts, numbers, bools, choices and paths."""


@dataclass(frozen=True)
class Implied:
    """Marks a parameter that the compiler fills in if it is not given.

    `values`: the values of the choice `of`. `path`: the name of the first field of `of` that is a path. `paths`: the
    first that is a path or contains paths. `texts`: the names of all text fields. `locale`: the locale of the current
    language.
    """

    by: Literal["values", "path", "paths", "texts", "locale"]
    of: str = ""


@dataclass(frozen=True)
class WrittenType:
    """Marks a parameter that is a type, written like the type of a field. `of` is its variable in the rest of the
    signature. The function receives the notation."""

    of: str


@dataclass(frozen=True)
class LiteralOnly:
    """Marks a parameter whose text must be a literal; `instead` is the alternative to suggest."""

    instead: str


MOST_VALUES = 6
"""Largest number of values of a choice that are printed; of a longer choice only the first ones are."""


def type_notation(type_: Type | None) -> str:
    """Return the notation of a type in a spec; a long choice is shortened. None is any type.

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
"""Scalar types of parts of JSON by notation, besides ranges of whole numbers, lists and records."""


def parse_type_notation(notation: str) -> Type | None:
    """Return the JSON type for a notation; None for any other notation.

    >>> parse_type_notation("list<1..5>") == ListType(of=IntegerType(low=1, high=5)), parse_type_notation("dialogue")
    (True, None)
    >>> type_notation(parse_type_notation("list<{ a text, b list<{ c integer }>? }>"))
    'list<{ a text, b list<{ c integer }>? }>'
    """
    if notation.startswith("{ "):
        return _notated_record(notation.removeprefix("{ ").removesuffix(" }"))
    if notation.startswith("list<") and notation.endswith(">"):
        of = parse_type_notation(notation[len("list<") : -1])
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
            type_ = parse_type_notation(of.removesuffix("?"))
            if type_ is None:
                return None
            fields[name] = OptionalType(of=type_) if of.endswith("?") else type_
            begin = place + 1
    return RecordType(fields=fields)


def _few(values: tuple[str, ...]) -> tuple[str, ...]:
    return values if len(values) <= MOST_VALUES else (*values[: MOST_VALUES - 1], "…")


Item = TypeVar("Item")


def ordered(items: Iterable[Item]) -> list[Item]:
    """Return the items as a list; those of a set are sorted, texts by code point.

    >>> ordered({"b", "a"}), ordered(("b", "a"))
    (['a', 'b'], ['b', 'a'])
    """
    return sorted_items(items) if isinstance(items, AbstractSet) else list(items)


def sorted_items(items: Iterable[Item]) -> list[Item]:
    """Return the items in ascending order, independent of their given order: 1 comes before 1.0. Raises `TypeError` if
    they have no order.

    >>> sorted_items([2, 1, 2]), sorted_items([1.0, 1]), sorted_items([1, 1.0])
    ([1, 2, 2], [1, 1.0], [1, 1.0])
    """
    sortable: list[Any] = list(items)
    if any(isinstance(item, float) for item in sortable):
        sortable.sort(key=repr)
    return sorted(sortable)


TURN = RecordType(fields={"speaker": TextType(), "text": TextType()})
"""Element type of a dialogue."""
TEXTS = ListType(of=TextType())

PLAIN = ("text", "integer", "number", "bool", "choice", "path")
"""Kinds of types with equality and order: their values can be in a set, distinguished in a figure, and grouped by."""


MEDIA = ("image", "audio", "file")
"""Kinds of types whose values a model sees or hears."""


def holds_media(type_: Type) -> bool:
    """Return true if a type is an image, a recording or a file, or contains one.

    >>> from tripos_compiler.plan import ImageType
    >>> holds_media(ListType(of=ImageType())), holds_media(TextType())
    (True, False)
    """
    return _holds(type_, MEDIA)


def holds_json(type_: Type) -> bool:
    """Return true if a type is JSON of any form or contains it.

    >>> holds_json(ListType(of=JsonType())), holds_json(TextType())
    (True, False)
    """
    return _holds(type_, ("json",))


def _holds(type_: Type, kinds: Collection[str]) -> bool:
    match type_.kind:
        case "list" | "set" | "optional":
            return _holds(type_.of, kinds)
        case "record":
            return any(_holds(field, kinds) for field in type_.fields.values())
    return type_.kind in kinds


def fits(given: Type, wanted: Type) -> bool:
    """Return true if a value of type `given` is accepted where `wanted` is required.

    A choice and a path are texts, an integer is a number, a set is a list of its items in order, a dialogue is a list
    of its turns, and a record may have additional fields. Bounds of integers are ignored.

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
    """Return the type without its optional marker.

    >>> without_optional(OptionalType(of=TextType())).kind
    'text'
    """
    return type_.of if type_.kind == "optional" else type_


def element_type(type_: Type) -> Type | None:
    """Return the element type of a list, set or dialogue; None for any other type.

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
    """Return the narrowest type that both fit, or None.

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
    """Return the type of a list of elements; a list of turns is a dialogue.

    >>> list_of(TURN).kind
    'dialogue'
    """
    return DialogueType() if of == TURN else ListType(of=of)


def are_equal(left: Any, right: Any) -> bool:
    """Return true if two values are equal. A set equals a list with the same items, and in JSON true is not 1.

    >>> are_equal({"a"}, ["a", "a"]), are_equal(1, 1.0), are_equal(True, 1), are_equal([True], [1])
    (True, True, False, False)
    """
    if isinstance(left, AbstractSet) != isinstance(right, AbstractSet):
        return left is not None and right is not None and set(left) == set(right)
    return bool(left == right) and _are_of_one_kind(left, right)


def _are_of_one_kind(left: Any, right: Any) -> bool:
    """Return true if equal values have bools in the same places."""
    match left:
        case Mapping():
            return all(_are_of_one_kind(value, right[key]) for key, value in left.items())
        case list():
            return all(map(_are_of_one_kind, left, right))
    return isinstance(left, bool) == isinstance(right, bool)
