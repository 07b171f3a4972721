"""Signatures of functions: type patterns and parameters read from Python annotations; bounds and errors of values.

An annotation is read into a pattern once. Matching binds the pattern's variables to the narrowest types that fit all
arguments, so that `last(items: Sequence[T]) -> T` of a `list<text>` yields a `text`.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence, Set as AbstractSet
from decimal import Decimal
from typing import Annotated, Any, TypeVar, assert_never

from tripos_compiler.library.types import (
    PLAIN,
    TURN,
    Calls,
    Implied,
    Json,
    LiteralOnly,
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
from tripos_compiler.source.data_classes import dataclass

# Type patterns


@dataclass(frozen=True)
class ExactPattern:
    """Type without variables."""

    type: Type


@dataclass(frozen=True)
class AnyPattern:
    """Value of any type, also one that may be missing."""


@dataclass(frozen=True)
class PatternKind:
    """Any type of one kind, such as any `tree` or any `record`."""

    kind: str


@dataclass(frozen=True)
class Variable:
    """Type variable: the same type wherever the name occurs. `plain` restricts it to types with equality and order."""

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
    """Value that may be missing."""

    of: Pattern


@dataclass(frozen=True)
class TypeParameter:
    """Type as an argument, not a value of it."""

    of: Variable


@dataclass(frozen=True)
class OneOf:
    """First of several patterns that fits."""

    patterns: tuple[Pattern, ...]


Pattern = ExactPattern | AnyPattern | PatternKind | Variable | ListOf | SetOf | OptionalPattern | TypeParameter | OneOf
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
    """Return the pattern of an annotation. Raises `TypeError` if the language has no corresponding type.

    >>> pattern_notation(read_pattern(list[str] | None))
    'list<text>?'
    """
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is Any:
        return AnyPattern()
    if annotation is Tree:
        return PatternKind("tree")
    if isinstance(annotation, TypeVar):
        limit = "number" if annotation.__constraints__ else "plain" if annotation.__bound__ is Hashable else "none"
        return Variable(annotation.__name__, limit)  # type: ignore[arg-type]
    if annotation in _SIMPLE:
        return ExactPattern(_SIMPLE[annotation])
    if origin is Annotated:
        named = next((mark.of for mark in annotation.__metadata__ if isinstance(mark, WrittenType)), None)
        return read_pattern(arguments[0]) if named is None else TypeParameter(Variable(named))
    if origin in (types.UnionType, typing.Union):
        several = tuple(read_pattern(argument) for argument in arguments if argument is not types.NoneType)
        one = several[0] if len(several) == 1 else OneOf(several)
        return _maybe(one) if types.NoneType in arguments else one
    if origin in (list, Sequence, Collection):
        of = read_pattern(arguments[0])
        return ExactPattern(list_of(of.type)) if isinstance(of, ExactPattern) else ListOf(of)
    if origin in (set, frozenset, AbstractSet):
        of = read_pattern(arguments[0])
        return ExactPattern(SetType(of=of.type)) if isinstance(of, ExactPattern) else SetOf(of)
    if origin in (dict, Mapping):
        return PatternKind("record")
    raise TypeError(f"no type of the language says {annotation!r}")


def _maybe(pattern: Pattern) -> Pattern:
    return (
        ExactPattern(OptionalType(of=pattern.type)) if isinstance(pattern, ExactPattern) else OptionalPattern(pattern)
    )


def match_type(pattern: Pattern, given: Type, bound: Bindings) -> bool:
    """Return true if a type fits a pattern, and bind the pattern's variables in `bound`.

    >>> from tripos_compiler.plan import ListType
    >>> bound: Bindings = {}
    >>> match_type(ListOf(Variable("T")), ListType(of=TextType()), bound), bound["T"].kind
    (True, 'text')
    """
    match pattern:
        case ExactPattern(type=type_):
            return fits(given, type_)
        case AnyPattern():
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
        case TypeParameter(of=of):
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
    type_ = bound.get(variable.name)
    joined = given if type_ is None else join(type_, given)
    if joined is None:
        return False
    bound[variable.name] = joined
    return True


def instantiate(pattern: Pattern, bound: Bindings) -> Type | None:
    """Return the type of a pattern with its variables replaced by their bindings; None if a binding is missing."""
    match pattern:
        case ExactPattern(type=type_):
            return type_
        case Variable(name=name, limit=limit):
            return bound.get(name, NumberType() if limit == "number" else None)
        case ListOf(of=of):
            inner = instantiate(of, bound)
            return None if inner is None else list_of(inner)
        case SetOf(of=of):
            inner = instantiate(of, bound)
            return None if inner is None else SetType(of=inner)
        case OptionalPattern(of=of):
            inner = instantiate(of, bound)
            return None if inner is None else OptionalType(of=without_optional(inner))
        case AnyPattern() | PatternKind() | TypeParameter() | OneOf():
            return None
    assert_never(pattern)


def pattern_notation(pattern: Pattern, *, variables: bool = True) -> str:
    """Return the notation of a pattern in a signature; without `variables` its notation in a message.

    >>> pattern_notation(ListOf(Variable("T"))), pattern_notation(ListOf(Variable("T")), variables=False)
    ('list<T>', 'list<any>')
    """
    match pattern:
        case ExactPattern(type=type_):
            return type_notation(type_)
        case AnyPattern():
            return "any"
        case PatternKind(kind=kind):
            return kind
        case Variable(name=name, limit=limit):
            return "number" if limit == "number" else name if variables else "any"
        case ListOf(of=of):
            return f"list<{pattern_notation(of, variables=variables)}>"
        case SetOf(of=of):
            return f"set<{pattern_notation(of, variables=variables)}>"
        case OptionalPattern(of=of):
            return f"{pattern_notation(of, variables=variables)}?"
        case TypeParameter(of=of):
            return f"the type {of.name}"
        case OneOf(patterns=patterns):
            *most, last = (pattern_notation(one, variables=variables) for one in patterns)
            return f"{', '.join(most)} or {last}"
    assert_never(pattern)


# Bounds and errors

LARGEST = 1e70
"""Largest absolute value of a number in a spec, a score or a figure; larger numbers are undefined. Sums of fourth
powers of such numbers over a whole run are still double-precision numbers, so every error and test can be computed."""
OUT_OF_BOUNDS = "it is past all bounds, which are ±1e70"
"""Reason for a number above `LARGEST`."""


def in_bounds(number: float | Decimal) -> bool:
    """Return true if a number may be a score or a figure: finite, not NaN, and at most `LARGEST` in absolute value.

    >>> in_bounds(1e70), in_bounds(-1.1e70), in_bounds(float("nan")), in_bounds(10**400)
    (True, False, False, False)
    """
    return -LARGEST <= number <= LARGEST


class Undefined(Exception):
    """A function is undefined for these arguments. The message is the reason, without texts of replies and items."""


@dataclass(frozen=True)
class ArgumentError:
    """Error of literal arguments with its own code."""

    code: str
    message: str
    help: str


class AmbiguousAnswer(Exception):
    """A reading function finds an ambiguous text. The message says what is ambiguous."""


# Signatures

ANYTHING = AnyPattern()


@dataclass(frozen=True)
class Parameter:
    """Parameter of a function. `type` is None if several types are accepted; `Function.result` decides.

    `many`: any number of arguments, including none. `implied`: the compiler fills it in if it is not given.
    """

    name: str
    type: Type | None
    required: bool
    many: bool = False
    implied: Implied | None = None
    pattern: Pattern = ANYTHING
    written_out: LiteralOnly | None = None

    @property
    def accepts_any_type(self) -> bool:
        """Return true if it accepts any single type, which earlier arguments may determine."""
        return isinstance(self.pattern, Variable)

    @property
    def is_type(self) -> bool:
        """Return true if it takes a type instead of a value."""
        return isinstance(self.pattern, TypeParameter)

    @property
    def shown(self) -> str:
        """Return its notation in a signature.

        >>> Parameter("items", None, True, many=True).shown
        'items…: any'
        """
        return f"{self.name}{'…' if self.many else ''}: {pattern_notation(self.pattern)}{self._optional}"

    @property
    def _optional(self) -> str:
        return "" if self.required or self.many else " (optional)"


@dataclass(frozen=True)
class FunctionSignature:
    """Types of a function. `returns` is None if the type depends on the arguments."""

    parameters: tuple[Parameter, ...]
    returns: Type | None
    pattern: Pattern
    sequences: frozenset[str]


def read_signature(python: Callable[..., Any]) -> FunctionSignature:
    """Return the signature of a Python function. Raises `TypeError` for an annotation without a corresponding type."""
    hints = typing.get_type_hints(python, include_extras=True)
    parameters = tuple(_parameter(one, hints[one.name]) for one in inspect.signature(python).parameters.values())
    pattern = read_pattern(hints["return"])
    sequences = frozenset(name for name, hint in hints.items() if name != "return" and _is_sequence(hint))
    return FunctionSignature(parameters, _settled(pattern), pattern, sequences)


def _is_sequence(annotation: Any) -> bool:
    if typing.get_origin(annotation) is Annotated:
        annotation = typing.get_args(annotation)[0]
    return typing.get_origin(annotation) in (list, Sequence)


def _parameter(parameter: inspect.Parameter, annotation: Any) -> Parameter:
    pattern = read_pattern(annotation)
    marks = annotation.__metadata__ if typing.get_origin(annotation) is Annotated else ()
    many = parameter.kind is inspect.Parameter.VAR_POSITIONAL
    implied = next((mark for mark in marks if isinstance(mark, Implied)), None)
    required = parameter.default is inspect.Parameter.empty and not many
    out = next((mark for mark in marks if isinstance(mark, LiteralOnly)), None)
    return Parameter(parameter.name, _settled(pattern), required, many, implied, pattern, out)


def _settled(pattern: Pattern) -> Type | None:
    """Return the type of a pattern without bindings; for the number variable, any number."""
    settled = isinstance(pattern, ExactPattern) or (isinstance(pattern, Variable) and pattern.limit == "number")
    return instantiate(pattern, {}) if settled else None
