"""Functions as the language sees them: type patterns read from Python annotations, signatures, and partiality.

An annotation is read into a pattern once. Matching binds the pattern's variables to the narrowest types that fit all
arguments, so that `last(items: Sequence[T]) -> T` of a `list<text>` yields a `text`.

A partial function is undefined for some arguments; `Partial` says when, and which guard prevents it.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence, Set as AbstractSet
from decimal import Decimal
from functools import cached_property
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
    is_of_paths,
    join,
    list_of,
    ordered,
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
    known = bound.get(variable.name)
    joined = given if known is None else join(known, given)
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


# Partiality

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


@dataclass(frozen=True)
class StaticFacts:
    """Static knowledge about the value of an argument.

    `pattern_notation` is its literal value, `least` a lower bound, `items` a lower bound of its number of items, and
    `dataset` the data set of which it is a column.
    """

    written: object = None
    least: float | None = None
    above: bool = False
    """Whether it is strictly greater than `least`."""
    nonzero: bool = False
    items: int = 0
    text: bool = False
    order: tuple[str, ...] | None = None
    """Values of a choice or of a literal list of texts."""
    dataset: str | None = None
    texts: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    """For rows: the names of their fields that are texts (`texts`), and of those that are or contain paths
    (`places`)."""

    @property
    def positive(self) -> bool:
        """True if it is a number above 0."""
        return self.least is not None and (self.least > 0 or (self.least == 0 and (self.above or self.nonzero)))


Arguments = Mapping[str, StaticFacts]
"""Static knowledge about the arguments, by parameter."""


@dataclass(frozen=True)
class Partial:
    """Condition under which a function is undefined.

    `why` completes "has no value where …"; `of` are the parameters that cause it; `guard` is the fix to suggest;
    `total` returns true if the known facts about the arguments rule it out.
    """

    of: tuple[str, ...]
    why: str
    guard: str
    total: Callable[[Arguments], bool]


def _is_there(given: Arguments) -> bool:
    items, index = given["items"], given["index"].written
    return isinstance(index, int) and 0 <= index < items.items


def _has_items(name: str) -> Callable[[Arguments], bool]:
    return lambda given: given[name].items > 0


def _has_numbers(given: Arguments) -> bool:
    return "b" in given or given["a"].items > 0


def _has_reference(name: str) -> Callable[[Arguments], bool]:
    return lambda given: given[name].text or given[name].items > 0


def _is_written(name: str) -> Callable[[Arguments], bool]:
    """Return a test that an argument is literal or omitted: the compiler has already checked a literal."""
    return lambda given: name not in given or given[name].written is not None


def _are_columns(given: Arguments) -> bool:
    return given["items"].dataset is not None and given["items"].dataset == given["keys"].dataset


def _is_ordered(given: Arguments) -> bool:
    value, order = given["value"].order, given["order"].order
    return value is not None and order is not None and set(value) <= set(order)


def _has_fields(given: Arguments) -> bool:
    rows, at, fields = given["rows"], given.get("at"), given.get("fields")
    placed = at is None or at.written in rows.places
    return placed and (fields is None or (fields.order is not None and set(fields.order) <= set(rows.texts)))


def _is_not_negative(given: Arguments) -> bool:
    least = given["value"].least
    return least is not None and least >= 0


def _has_logarithm(given: Arguments) -> bool:
    return given["value"].positive and _is_written("base")(given)


def _has_power(given: Arguments) -> bool:
    base, exponent = given["value"], given["exponent"].written
    if base.positive:
        return True
    whole = isinstance(exponent, int | float) and exponent >= 0 and int(exponent) == exponent
    return whole or (_is_not_negative(given) and isinstance(exponent, int | float) and exponent >= 0)


_OR = "say what stands in its place: `default({}, …)`"
NO_ITEM = Partial(("items", "index"), "the list has no item at that position", _OR.format("nth(…)"), _is_there)
NO_KEY = Partial(("key", "items"), "no option has that letter", _OR.format("key_place(…)"), lambda _: False)
NO_SHUFFLED_PLACE = Partial(
    ("place", "items"), "the list has no item at that position", _OR.format("shuffled_place(…)"), lambda _: False
)
NO_LEAST = Partial(("a",), "the list is empty", _OR.format("min(…)"), _has_numbers)
NO_GREATEST = Partial(("a",), "the list is empty", _OR.format("max(…)"), _has_numbers)
NO_FIRST = Partial(("items",), "the list is empty", _OR.format("first(…)"), _has_items("items"))
NO_LAST = Partial(("items",), "the list is empty", _OR.format("last(…)"), _has_items("items"))
NOT_ALIKE = Partial(("items", "keys"), "the lists differ in length", "take columns of one data set", _are_columns)
NO_BEST = Partial(
    ("items", "values"), "the lists differ in length, or are empty", _OR.format("best_of(…)"), lambda given: False
)
NOT_OF_ONE_LENGTH = Partial(
    ("items", "values"), "the lists differ in length", _OR.format("sorted_by(…)"), lambda given: False
)
NO_PAIRS = Partial(("items", "others"), "the lists differ in length", _OR.format("zip(…)"), lambda given: False)
NO_EXPECTATION = Partial(
    ("values", "probabilities"),
    "the lists differ in length, or all probabilities are 0",
    _OR.format("expected_value(…)"),
    lambda _: False,
)
NO_OPTION_SEEN = Partial(
    ("tokens", "logprobs"),
    "no option is among the likeliest tokens",
    "say what stands in place of what is made of it: `default(expected_value(…), 0)`",
    lambda _: False,
)
NO_PERPLEXITY = Partial(("logprobs",), "the list is empty", _OR.format("perplexity(…)"), lambda _: False)
NO_TOOL = Partial(
    ("tools", "allowed"),
    "a call is allowed of a tool that is not there",
    "mend the row, which allows it",
    lambda _: False,
)
NOT_IN_ORDER = Partial(("value", "order"), "the text is not in the order", _OR.format("rank(…)"), _is_ordered)
NO_ROOT = Partial(("value",), "the number is negative", _OR.format("sqrt(…)"), _is_not_negative)
NO_LOGARITHM = Partial(("value", "base"), "the number is not positive", _OR.format("log(…)"), _has_logarithm)
NO_POWER = Partial(
    ("value", "exponent"), "0 or a negative number has no such power", _OR.format("power(…)"), _has_power
)
NO_PATTERN = Partial(
    ("pattern",), "the pattern is not a regular expression", "write the pattern out", _is_written("pattern")
)
NO_SEPARATOR = Partial(("separator",), "the separator is empty", "write the separator out", _is_written("separator"))
NOTHING_OLD = Partial(("old",), "what is replaced is empty", "write out what is replaced", _is_written("old"))
NO_MARKER = Partial(("marker",), "the marker is empty", "write the marker out", _is_written("marker"))
NO_SIGN = Partial(("mark",), "the mark does not have `{}` once", "write the mark out", _is_written("mark"))
NO_RUN = Partial(("run",), "the run is shorter than a word", "write the length of the run out", _is_written("run"))
NO_REFERENCE = Partial(
    ("reference",), "there is no reference", "rule it out: `when length(…) > 0`", _has_reference("reference")
)
NO_REFERENCES = Partial(
    ("references",), "there is no reference", "rule it out: `when length(…) > 0`", _has_reference("references")
)
NO_GROUP = Partial(
    ("pattern", "new"),
    "the pattern is not a regular expression, or lacks a group that is put in",
    "write the pattern and the new text out",
    lambda given: _is_written("pattern")(given) and _is_written("new")(given),
)
NO_RUN_OR_REFERENCE = Partial(
    ("n", "reference"),
    "the run is shorter than a word, or there is no reference",
    "write the length of the run out, and rule it out: `when length(…) > 0`",
    lambda given: _is_written("n")(given) and _has_reference("reference")(given),
)
NO_PLACE = Partial(("at",), "the rows have no such field", "write the field out", _has_fields)
NO_FIELD = Partial(("at", "fields"), "the rows have no such field", "write the field out", _has_fields)


# Signatures and functions

Types = Mapping[str, Type | Sequence[Type]]
"""Types of the given arguments by parameter; for a variadic parameter the types of all of them."""

Rule = Callable[[Types], Type | str]
"""Computes the result type if a signature cannot express it, or returns the error of the arguments."""

Check = Callable[[Mapping[str, object]], str | ArgumentError | None]
"""Returns the error of literal arguments by parameter, or None."""

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


def _nothing_wrong(_: Mapping[str, object]) -> str | ArgumentError | None:
    return None


@dataclass(frozen=True)
class FunctionSignature:
    """Types of a function. `returns` is None if the type depends on the arguments."""

    parameters: tuple[Parameter, ...]
    returns: Type | None
    pattern: Pattern
    sequences: frozenset[str]


@dataclass(frozen=True)
class Function:
    """Function of the language. Its signature is read at first use, because a spec uses few functions."""

    name: str
    python: Callable[..., Any]
    annotated: Callable[..., Any]
    """Python function with its signature."""
    rule: Rule | None = None
    check: Check = _nothing_wrong
    partial: Partial | None = None
    """Condition under which it is undefined; None if it is total."""

    @cached_property
    def _signature(self) -> FunctionSignature:
        return _read_signature(self.annotated)

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Return its parameters. Raises `TypeError` for an annotation without a corresponding type."""
        return self._signature.parameters

    @cached_property
    def returns(self) -> Type | None:
        """Return its result type; None if it depends on the arguments, see `result`."""
        return self._signature.returns

    @cached_property
    def pattern(self) -> Pattern:
        """Return the pattern of its result type."""
        return self._signature.pattern

    @cached_property
    def sequences(self) -> frozenset[str]:
        """Return the parameters that are lists. A set given for one becomes the list of its items in order."""
        return self._signature.sequences

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Return the names of its parameters."""
        return tuple(each.name for each in self.parameters)

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Return its value. Raises `Undefined` if it is undefined, and `OverflowError` if a number is out of bounds."""
        if self.sequences:
            args = tuple(self._listed(name, value) for name, value in zip(self.names, args, strict=False))
            named = {name: self._listed(name, value) for name, value in named.items()}
        return self.python(*args, **named)

    def _listed(self, name: str, value: Any) -> Any:
        return ordered(value) if name in self.sequences and isinstance(value, AbstractSet) else value

    @property
    def shown(self) -> str:
        """Signature for people, for example `same_number(a: number?, b: number?) -> bool`."""
        return f"{self.name}({', '.join(p.shown for p in self.parameters)}) -> {pattern_notation(self.pattern)}"

    @property
    def summary(self) -> str:
        """Return a one-line description: the first sentence of its docstring."""
        return (inspect.getdoc(self.python) or "").split("\n\n")[0].replace("\n", " ")

    def result(self, types: Types) -> Type | str:
        """Return the result type for arguments of these types, or the error.

        >>> from tripos_compiler.library.registry import FUNCTIONS
        >>> from tripos_compiler.plan import IntegerType, ListType, TextType
        >>> FUNCTIONS["last"].result({"items": ListType(of=TextType())})
        TextType(kind='text')
        >>> FUNCTIONS["last"].result({"items": IntegerType()})
        '`items` must be `list<any>`, this is `integer`'
        """
        bound: Bindings = {}
        for parameter in self.parameters:
            given = types.get(parameter.name, ())
            for type_ in given if isinstance(given, Sequence) else (given,):
                earlier = dict(bound)
                if not match_type(parameter.pattern, type_, bound):
                    return _misfit(parameter, type_, earlier)
        if self.rule is not None:
            return self.rule(types)
        result = instantiate(self.pattern, bound)
        assert result is not None, f"the signature of {self.name} does not say what it gives"
        return result

    def implied(self, types: Types) -> dict[str, str | tuple[str, ...]]:
        """Return the arguments that the compiler fills in, by name, except the locale. `types` are those of the given
        arguments, for which `result` returned a type.

        >>> from tripos_compiler.library.registry import FUNCTIONS
        >>> from tripos_compiler.plan import ChoiceType
        >>> FUNCTIONS["rank"].implied({"value": ChoiceType(values=("low", "high"))})
        {'order': ('low', 'high')}
        """
        found: dict[str, str | tuple[str, ...]] = {}
        for parameter in self.parameters:
            mark = parameter.implied
            if mark is None or mark.by == "locale" or parameter.name in types:
                continue
            of = types[mark.of]
            assert not isinstance(of, Sequence)
            value = _implied(mark, without_optional(of))
            assert value is not None, f"{self.name}: its rule let {type_notation(of)} pass"
            found[parameter.name] = value
        return found


def _implied(mark: Implied, of: Type) -> str | tuple[str, ...] | None:
    if mark.by == "values":
        return of.values if of.kind == "choice" else None
    record = of.of if of.kind in ("list", "set") else of
    if record.kind != "record":
        return None
    if mark.by == "paths":
        return next((name for name, type_ in record.fields.items() if is_of_paths(type_)), None)
    kind = "path" if mark.by == "path" else "text"
    names = tuple(name for name, type_ in record.fields.items() if without_optional(type_).kind == kind)
    return names if mark.by == "texts" else next(iter(names), None)


def _misfit(parameter: Parameter, given: Type, bound: Bindings) -> str:
    """Return the error of an argument whose type does not fit, given the bindings of earlier arguments."""
    if match_type(parameter.pattern, given, {}):
        before = next(iter(bound.values()), None)
        return (
            f"`{parameter.name}` is `{type_notation(given)}` beside `{type_notation(before)}`; give both the same type"
        )
    if given.kind == "optional" and match_type(parameter.pattern, given.of, dict(bound)):
        return f"`{parameter.name}` may be missing here; say what stands in its place: `default(…, …)`"
    wanted = pattern_notation(parameter.pattern, variables=False)
    return f"`{parameter.name}` must be `{wanted}`, this is `{type_notation(given)}`"


def define(
    python: Callable[..., Any],
    name: str | None = None,
    *,
    rule: Rule | None = None,
    check: Check = _nothing_wrong,
    partial: Partial | None = None,
) -> Function:
    """Return the language function for a Python function.

    >>> def half(value: float) -> float:
    ...     return value / 2
    >>> define(half).shown
    'half(value: number) -> number'
    """
    return Function(name or python.__name__, python, python, rule, check, partial)


def _read_signature(python: Callable[..., Any]) -> FunctionSignature:
    hints = typing.get_type_hints(python, include_extras=True)
    parameters = tuple(_parameter(one, hints[one.name]) for one in inspect.signature(python).parameters.values())
    pattern = read_pattern(hints["return"])
    sequences = frozenset(name for name, each in hints.items() if name != "return" and _is_sequence(each))
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
