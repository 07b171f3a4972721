"""Functions as the language sees them, read from Python signatures."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping, Sequence, Set as AbstractSet
from functools import cached_property
from typing import Annotated, Any

from tripos_compiler.language.library.partiality import Partial, Wrong
from tripos_compiler.language.library.patterns import (
    Bindings,
    Exactly,
    Pattern,
    TypeItself,
    Variable,
    Whatever,
    fill,
    match_type,
    read_pattern,
    written,
)
from tripos_compiler.language.library.types import (
    Implied,
    WrittenOut,
    is_of_paths,
    ordered,
    type_notation,
    without_optional,
)
from tripos_compiler.plan import Type
from tripos_compiler.source import dataclass

Types = Mapping[str, Type | Sequence[Type]]
"""The types of the arguments that are given, by the name of their parameter; of one that takes many, all of them."""

Rule = Callable[[Types], Type | str]
"""The type of a result where a signature cannot say it, or a message that says what is wrong with the arguments."""

Check = Callable[[Mapping[str, object]], str | Wrong | None]
"""What is wrong with arguments that are written out, by the name of their parameter; None where nothing is."""

ANYTHING = Whatever()


@dataclass(frozen=True)
class Parameter:
    """`type` None: several types are taken, and `Function.result` says which.

    `many`: any number of arguments, none included. `implied`: the compiler fills it in where it is not given.
    """

    name: str
    type: Type | None
    required: bool
    many: bool = False
    implied: Implied | None = None
    pattern: Pattern = ANYTHING
    written_out: WrittenOut | None = None

    @property
    def is_like_others(self) -> bool:
        """Return true if it takes any one type, which arguments before it may have."""
        return isinstance(self.pattern, Variable)

    @property
    def is_type(self) -> bool:
        """Return true if it is a type, and not a value of one."""
        return isinstance(self.pattern, TypeItself)

    @property
    def shown(self) -> str:
        """Return how it stands in a signature.

        >>> Parameter("items", None, True, many=True).shown
        'items…: any'
        """
        return f"{self.name}{'…' if self.many else ''}: {written(self.pattern)}{self._optional}"

    @property
    def _optional(self) -> str:
        return "" if self.required or self.many else " (optional)"


def _nothing_wrong(_: Mapping[str, object]) -> str | Wrong | None:
    return None


@dataclass(frozen=True)
class FunctionSignature:
    """The types of a function. `returns` None: it depends on the arguments."""

    parameters: tuple[Parameter, ...]
    returns: Type | None
    pattern: Pattern
    sequences: frozenset[str]


@dataclass(frozen=True)
class Function:
    """A function as the language sees it. Its signature is read when somebody first asks for it: a spec uses few."""

    name: str
    python: Callable[..., Any]
    annotated: Callable[..., Any]
    """The Python function whose signature it has."""
    rule: Rule | None = None
    check: Check = _nothing_wrong
    partial: Partial | None = None
    """When it has no value; None where it always has one."""

    @cached_property
    def _signature(self) -> FunctionSignature:
        return _read_signature(self.annotated)

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Return its parameters. Raises `TypeError` for an annotation that the language has no type for."""
        return self._signature.parameters

    @cached_property
    def returns(self) -> Type | None:
        """Return its type; None where it depends on the arguments, and `result` says it."""
        return self._signature.returns

    @cached_property
    def pattern(self) -> Pattern:
        """Return what its type is like."""
        return self._signature.pattern

    @cached_property
    def sequences(self) -> frozenset[str]:
        """Return the parameters that are lists, also where a set is given: then its items in order."""
        return self._signature.sequences

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Return the names of its parameters."""
        return tuple(each.name for each in self.parameters)

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Its value. Raises `Undefined` where it has none and says so, `OverflowError` where a number has no bounds."""
        if self.sequences:
            args = tuple(self._listed(name, value) for name, value in zip(self.names, args, strict=False))
            named = {name: self._listed(name, value) for name, value in named.items()}
        return self.python(*args, **named)

    def _listed(self, name: str, value: Any) -> Any:
        return ordered(value) if name in self.sequences and isinstance(value, AbstractSet) else value

    @property
    def shown(self) -> str:
        """The signature as people read it, for example `same_number(a: number?, b: number?) -> bool`."""
        return f"{self.name}({', '.join(p.shown for p in self.parameters)}) -> {written(self.pattern)}"

    @property
    def summary(self) -> str:
        """Return what it gives, in a line: the first sentence of its docstring."""
        return (inspect.getdoc(self.python) or "").split("\n\n")[0].replace("\n", " ")

    def result(self, types: Types) -> Type | str:
        """Return the type of its result for arguments of these types, or what is wrong with them.

        >>> from tripos_compiler.language.library import FUNCTIONS
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
        result = fill(self.pattern, bound)
        assert result is not None, f"the signature of {self.name} does not say what it gives"
        return result

    def implied(self, types: Types) -> dict[str, str | tuple[str, ...]]:
        """Return what the compiler passes for the parameters that are not given, by name, but for the locale; `types`
        are those of the given ones, for which `result` found a type.

        >>> from tripos_compiler.language.library import FUNCTIONS
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
    """Return what is wrong with an argument that does not fit beside those before it."""
    if match_type(parameter.pattern, given, {}):
        before = next(iter(bound.values()), None)
        return (
            f"`{parameter.name}` is `{type_notation(given)}` beside `{type_notation(before)}`; give both the same type"
        )
    if given.kind == "optional" and match_type(parameter.pattern, given.of, dict(bound)):
        return f"`{parameter.name}` may be missing here; say what stands in its place: `default(…, …)`"
    wanted = written(parameter.pattern, variables=False)
    return f"`{parameter.name}` must be `{wanted}`, this is `{type_notation(given)}`"


def define(
    python: Callable[..., Any],
    name: str | None = None,
    *,
    rule: Rule | None = None,
    check: Check = _nothing_wrong,
    partial: Partial | None = None,
) -> Function:
    """Return the function of the language that a Python function is.

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
    out = next((mark for mark in marks if isinstance(mark, WrittenOut)), None)
    return Parameter(parameter.name, _settled(pattern), required, many, implied, pattern, out)


def _settled(pattern: Pattern) -> Type | None:
    """Return the type that a pattern stands for by itself; of a number that stays whole, any number."""
    settled = isinstance(pattern, Exactly) or (isinstance(pattern, Variable) and pattern.limit == "number")
    return fill(pattern, {}) if settled else None
