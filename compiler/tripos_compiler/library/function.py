"""Library functions with every fact about them that the compiler and the runtime ask for.

`registry.py` has one `Function` for each function; its fields hold the facts, and everything else asks the fields.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence, Set as AbstractSet
from enum import Enum
from functools import cached_property
from typing import Any, Protocol

from tripos_compiler.library.ranges import ANY, Interval
from tripos_compiler.library.signature import (
    ArgumentError,
    Bindings,
    FunctionSignature,
    Parameter,
    Pattern,
    instantiate,
    match_type,
    pattern_notation,
    read_signature,
)
from tripos_compiler.library.types import Implied, is_of_paths, ordered, type_notation, without_optional
from tripos_compiler.plan import Expr, Type
from tripos_compiler.source.data_classes import dataclass

# Types

Types = Mapping[str, Type | Sequence[Type]]
"""Types of the given arguments by parameter; for a variadic parameter the types of all of them."""

Rule = Callable[[Types], Type | str]
"""Computes the result type if a signature cannot express it, or returns the error of the arguments."""

Check = Callable[[Mapping[str, object]], str | ArgumentError | None]
"""Returns the error of literal arguments by parameter, or None."""


def _nothing_wrong(_: Mapping[str, object]) -> str | ArgumentError | None:
    return None


# Definedness


@dataclass(frozen=True)
class StaticFacts:
    """Static knowledge about the value of an argument.

    `literal` is its literal value, `range` has a lower bound and no upper one, `items` is a lower bound of its number
    of items, `inner_items` one of the number of items of all lists in it, and `dataset` the data set of which it is a
    column.
    """

    literal: object = None
    range: Interval = ANY
    nonzero: bool = False
    items: int = 0
    inner_items: int = 0
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
        return self.range.low > 0 or (self.range.low == 0 and self.nonzero)


Arguments = Mapping[str, StaticFacts]
"""Static knowledge about the arguments, by parameter."""


@dataclass(frozen=True)
class Partial:
    """Condition under which a function is undefined.

    `why` completes "has no value where …"; `of` are the parameters that cause it; `guard` is the fix to suggest, where
    None stands for a `default` around the call; `total` returns true if the known facts about the arguments rule it
    out; `needs` returns the conditions under which a call is defined, or nothing if no expression can say so.
    """

    of: tuple[str, ...]
    why: str
    guard: str | None
    total: Callable[[Arguments], bool]
    needs: Callable[[Mapping[str, Expr], Arguments], tuple[Expr, ...]] = lambda given, facts: ()


class Evaluation(Enum):
    """Which arguments of a call are evaluated."""

    EAGER = "all"
    CHOICE = "`condition`, and one of `this` and `other`"
    FALLBACK = "`value`, and `fallback` if there is none"
    READING = "`value`, which a reply may lack"


# Values


class ArgumentRanges(Protocol):
    """Known ranges of the arguments of a call, by parameter."""

    def __contains__(self, name: str, /) -> bool:
        """Return true if the argument is given."""

    def all(self) -> Sequence[Interval]:
        """Return the ranges of all arguments."""

    def of(self, name: str) -> Interval:
        """Return the range of a number."""

    def items(self, name: str) -> Interval:
        """Return the range of the numbers in a list."""

    def count(self, name: str) -> Interval:
        """Return the range of the number of items of a list."""

    def literal(self, name: str) -> object:
        """Return the value of a literal, and None for anything else."""


RangeRule = Callable[[ArgumentRanges], Interval]
"""Returns the range of the result, or for a list of numbers the range of its items."""


class Shape(Enum):
    """How the parts of a result depend on the parts of the arguments. `MIXED` is true of every function."""

    MIXED = "every part depends on every argument"
    SAME = "the first argument, unchanged"
    LENGTH = "the number of items of the first argument"
    ITEM = "one item of the first argument, at a position that the others determine"
    SLICE = "items of the first argument, from a position that the others determine"
    SAMPLE = "items of the first argument, selected by their values and the other arguments"
    ORDERED = "items of the arguments, selected and ordered by their values"
    SORTED = "all of `items`, ordered by `values`"
    MATCHING = "the `items` for which the item of `keys` is `key`"
    EXAMPLES = "`fields` of those `rows` whose field `at` is one of `points`"
    FLAT = "the items of the lists in the first argument"


class SearchIndex(Enum):
    """Index by which a retrieval ranks elements as the function does, which compares its first two parameters."""

    TERMS = "words, weighted by their rarity among all elements"
    GRAMS = "runs of letters, or vectors of an embedding model"


# Functions


@dataclass(frozen=True)
class Function:
    """Function of the language. Its signature is read at first use, because a spec uses few functions.

    >>> def half(value: float) -> float:
    ...     return value / 2
    >>> Function(half).shown
    'half(value: number) -> number'
    """

    python: Callable[..., Any]
    renamed: str | None = None
    """Its name, if that is not the name of the Python function."""
    version: int = 1
    rule: Rule | None = None
    check: Check = _nothing_wrong
    partial: Partial | None = None
    """Condition under which it is undefined; None if it is total."""
    evaluation: Evaluation = Evaluation.EAGER
    gives: Interval | RangeRule | None = None
    """Interval of its result, or for a list of numbers the range of its items; None if there are no numbers in it."""
    least_items: Callable[[Arguments], int] = lambda given: 0
    """Lower bound of the number of items of its result."""
    shape: Shape = Shape.MIXED
    ignores_order: bool = False
    """Whether the order of the items of its arguments is irrelevant."""
    takes_missing_fields: bool = False
    """Whether it reads no field of the items of a list, so that fields may be missing."""
    overflows: bool = False
    """Whether its result can be out of bounds although its arguments are within bounds."""
    no_longer_than_arguments: bool = False
    """Whether its result contains no more text than its arguments."""
    compares_answers: bool = False
    """Whether it decides if its two arguments are the same answer."""
    replies: tuple[str, ...] = ()
    """Replies that it reads, if it reads the answer of one; `#` stands for a whole number, and `{marker}` for the value
    of a parameter of that name. Mocks reply with one of them if nothing else says what to reply."""
    reads_option_of: str | None = None
    """Parameter with the options of a question, if it reads which of them a reply chooses."""
    prints_options: str | None = None
    """Parameter with the options of a question, if it prints them with their letters."""
    values_by_name: bool = False
    """Whether its last two parameters, names and their values, are given as arguments with names of the caller's, or
    without names, which are empty then: `fill(template, question: q.text)`."""
    index: SearchIndex | None = None
    """Index that can replace it in a retrieval."""

    @cached_property
    def name(self) -> str:
        """Return the name by which a spec and a plan call it."""
        return self.renamed or self.python.__name__

    @cached_property
    def _signature(self) -> FunctionSignature:
        return read_signature(self.python)

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

    @property
    def own_parameters(self) -> tuple[Parameter, ...]:
        """Return the parameters that a call writes under their own names: all but the names and the values of
        `values_by_name`."""
        return self.parameters[:-2] if self.values_by_name else self.parameters

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Return the names of its parameters."""
        return tuple(parameter.name for parameter in self.parameters)

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Return its value. Raises `Undefined` if it is undefined, and `OverflowError` if a number is out of bounds."""
        if self.sequences:
            args = tuple(self._listed(name, value) for name, value in zip(self.names, args, strict=False))
            named = {name: self._listed(name, value) for name, value in named.items()}
        return self.python(*args, **named)

    def _listed(self, name: str, value: Any) -> Any:
        return ordered(value) if name in self.sequences and isinstance(value, AbstractSet) else value

    def range_of(self, ranges: ArgumentRanges) -> Interval:
        """Return the range of its result, or for a list of numbers the range of its items."""
        if self.gives is None:
            return ANY
        return self.gives(ranges) if callable(self.gives) else self.gives

    @property
    def shown(self) -> str:
        """Signature for people, for example `same_number(a: number?, b: number?) -> bool`."""
        parameters = [parameter.shown for parameter in self.own_parameters]
        if self.values_by_name:
            parameters.append("NAME…: text")
        return f"{self.name}({', '.join(parameters)}) -> {pattern_notation(self.pattern)}"

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
            own = types.get(parameter.name, ())
            for type_ in own if isinstance(own, Sequence) else (own,):
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
        implied_arguments: dict[str, str | tuple[str, ...]] = {}
        for parameter in self.parameters:
            mark = parameter.implied
            if mark is None or mark.by == "locale" or parameter.name in types:
                continue
            of = types[mark.of]
            assert not isinstance(of, Sequence)
            value = _implied(mark, without_optional(of))
            assert value is not None, f"{self.name}: its rule let {type_notation(of)} pass"
            implied_arguments[parameter.name] = value
        return implied_arguments


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


def _misfit(parameter: Parameter, type_: Type, bound: Bindings) -> str:
    """Return the error of an argument whose type does not fit, given the bindings of earlier arguments."""
    if match_type(parameter.pattern, type_, {}):
        before = next(iter(bound.values()), None)
        return (
            f"`{parameter.name}` is `{type_notation(type_)}` beside `{type_notation(before)}`; give both the same type"
        )
    if type_.kind == "optional" and match_type(parameter.pattern, type_.of, dict(bound)):
        return f"`{parameter.name}` may be missing here; say what stands in its place: `default(…, …)`"
    wanted = pattern_notation(parameter.pattern, variables=False)
    return f"`{parameter.name}` must be `{wanted}`, this is `{type_notation(type_)}`"
