"""The types of parameters as patterns that types of arguments are matched against.

A Python annotation is read into a pattern once; matching binds its variables to the narrowest types that all the
arguments fit, so that `last(items: Sequence[T]) -> T` of a `list<text>` gives a `text`.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Collection, Hashable, Mapping, Sequence, Set as AbstractSet
from typing import Annotated, Any, TypeVar, assert_never

from tripos_compiler.language.library.types import (
    PLAIN,
    TURN,
    Calls,
    Json,
    Path,
    ReadCall,
    Tools,
    Tree,
    Turn,
    WrittenType,
    element_type,
    fits,
    join,
    list_of,
    type_notation,
    without_optional,
)
from tripos_compiler.plan import (
    TOOL_CALL,
    BoolType,
    IntegerType,
    JsonType,
    NumberType,
    OptionalType,
    PathType,
    SetType,
    TextType,
    Type,
)
from tripos_compiler.source import dataclass


@dataclass(frozen=True)
class Exactly:
    """A type without variables."""

    type: Type


@dataclass(frozen=True)
class Whatever:
    """A value of any type, also one that may be missing."""


@dataclass(frozen=True)
class PatternKind:
    """Any `tree`, any `record`."""

    kind: str


@dataclass(frozen=True)
class Variable:
    """One type, the same wherever the name stands. `plain` takes only what can be told apart and put in order."""

    name: str
    limit: typing.Literal["none", "number", "plain"] = "none"


@dataclass(frozen=True)
class ListOf:
    of: Pattern


@dataclass(frozen=True)
class SetOf:
    of: Pattern


@dataclass(frozen=True)
class OptionalPattern:
    """May be missing."""

    of: Pattern


@dataclass(frozen=True)
class TypeItself:
    """A type, and no value of it."""

    of: Variable


@dataclass(frozen=True)
class OneOf:
    """The first of these that fits."""

    patterns: tuple[Pattern, ...]


Pattern = Exactly | Whatever | PatternKind | Variable | ListOf | SetOf | OptionalPattern | TypeItself | OneOf
Bindings = dict[str, Type]

_SIMPLE: dict[Any, Type] = {
    str: TextType(),
    int: IntegerType(),
    float: NumberType(),
    bool: BoolType(),
    Path: PathType(),
    Turn: TURN,
    Json: JsonType(),
    Tools: JsonType(form="tools"),
    Calls: JsonType(form="calls"),
    ReadCall: TOOL_CALL,
}


def read_pattern(annotation: Any) -> Pattern:
    """Return the pattern of an annotation. Raises `TypeError` where it has no counterpart in the language.

    >>> written(read_pattern(list[str] | None))
    'list<text>?'
    """
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is Any:
        return Whatever()
    if annotation is Tree:
        return PatternKind("tree")
    if isinstance(annotation, TypeVar):
        limit = "number" if annotation.__constraints__ else "plain" if annotation.__bound__ is Hashable else "none"
        return Variable(annotation.__name__, limit)  # type: ignore[arg-type]
    if annotation in _SIMPLE:
        return Exactly(_SIMPLE[annotation])
    if origin is Annotated:
        named = next((mark.of for mark in annotation.__metadata__ if isinstance(mark, WrittenType)), None)
        return read_pattern(arguments[0]) if named is None else TypeItself(Variable(named))
    if origin in (types.UnionType, typing.Union):
        several = tuple(read_pattern(argument) for argument in arguments if argument is not types.NoneType)
        one = several[0] if len(several) == 1 else OneOf(several)
        return _maybe(one) if types.NoneType in arguments else one
    if origin in (list, Sequence, Collection):
        of = read_pattern(arguments[0])
        return Exactly(list_of(of.type)) if isinstance(of, Exactly) else ListOf(of)
    if origin in (set, frozenset, AbstractSet):
        of = read_pattern(arguments[0])
        return Exactly(SetType(of=of.type)) if isinstance(of, Exactly) else SetOf(of)
    if origin in (dict, Mapping):
        return PatternKind("record")
    raise TypeError(f"no type of the language says {annotation!r}")


def _maybe(pattern: Pattern) -> Pattern:
    return Exactly(OptionalType(of=pattern.type)) if isinstance(pattern, Exactly) else OptionalPattern(pattern)


def match_type(pattern: Pattern, given: Type, bound: Bindings) -> bool:
    """Return true if a type fits a pattern; if so, binds the pattern's variables in `bound`.

    >>> from tripos_compiler.plan import ListType
    >>> bound: Bindings = {}
    >>> match_type(ListOf(Variable("T")), ListType(of=TextType()), bound), bound["T"].kind
    (True, 'text')
    """
    match pattern:
        case Exactly(type=type_):
            return fits(given, type_)
        case Whatever():
            return True
        case PatternKind(kind=kind):
            return given.kind == kind
        case Variable():
            return _bind(pattern, given, bound)
        case ListOf(of=of):
            held = element_type(given)
            return held is not None and match_type(of, held, bound)
        case SetOf(of=of):
            return given.kind == "set" and match_type(of, given.of, bound)
        case OptionalPattern(of=of):
            return match_type(of, without_optional(given), bound)
        case TypeItself(of=of):
            return match_type(of, given, bound)
        case OneOf(patterns=patterns):
            for candidate in patterns:
                attempt = dict(bound)
                if match_type(candidate, given, attempt):
                    bound.update(attempt)
                    return True
            return False
    assert_never(pattern)


def _bind(variable: Variable, given: Type, bound: Bindings) -> bool:
    if variable.limit == "number" and not fits(given, NumberType()):
        return False
    if variable.limit == "plain" and given.kind not in PLAIN:
        return False
    if variable.limit == "number":
        given = IntegerType() if given.kind == "integer" else given  # `abs` of a -5..5 is none
    known = bound.get(variable.name)
    joined = given if known is None else join(known, given)
    if joined is None:
        return False
    bound[variable.name] = joined
    return True


def fill(pattern: Pattern, bound: Bindings) -> Type | None:
    """Return the type that a pattern stands for, given what its variables are bound to; None where that is not
    known."""
    match pattern:
        case Exactly(type=type_):
            return type_
        case Variable(name=name, limit=limit):
            return bound.get(name, NumberType() if limit == "number" else None)
        case ListOf(of=of):
            inner = fill(of, bound)
            return None if inner is None else list_of(inner)
        case SetOf(of=of):
            inner = fill(of, bound)
            return None if inner is None else SetType(of=inner)
        case OptionalPattern(of=of):
            inner = fill(of, bound)
            return None if inner is None else OptionalType(of=without_optional(inner))
        case Whatever() | PatternKind() | TypeItself() | OneOf():
            return None
    assert_never(pattern)


def written(pattern: Pattern, *, variables: bool = True) -> str:
    """Return a pattern as it is written in a signature; without `variables` as it is written in a message.

    >>> written(ListOf(Variable("T"))), written(ListOf(Variable("T")), variables=False)
    ('list<T>', 'list<any>')
    """
    match pattern:
        case Exactly(type=type_):
            return type_notation(type_)
        case Whatever():
            return "any"
        case PatternKind(kind=kind):
            return kind
        case Variable(name=name, limit=limit):
            return "number" if limit == "number" else name if variables else "any"
        case ListOf(of=of):
            return f"list<{written(of, variables=variables)}>"
        case SetOf(of=of):
            return f"set<{written(of, variables=variables)}>"
        case OptionalPattern(of=of):
            return f"{written(of, variables=variables)}?"
        case TypeItself(of=of):
            return f"the type {of.name}"
        case OneOf(patterns=patterns):
            *most, last = (written(one, variables=variables) for one in patterns)
            return f"{', '.join(most)} or {last}"
    assert_never(pattern)
