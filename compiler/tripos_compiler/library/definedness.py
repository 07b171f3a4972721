"""Definedness analysis: which expressions can be undefined, when they are defined, and which guards ensure it.

An operator or function is partial if its entry in the registry says so. Literals are decided here: `split`
has at least one item, and a number above 0 is a valid divisor. Otherwise a condition for definedness remains (`needs`).
The condition of a `when` or `choose`, or the left side of `and` or `or`, may imply it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, Protocol

from tripos_compiler.library.calls import arguments_of
from tripos_compiler.library.function import Evaluation, Function, Shape, StaticFacts
from tripos_compiler.library.ranges import ANY, COMPUTED, Interval
from tripos_compiler.library.registry import FUNCTIONS
from tripos_compiler.library.rules import length_of
from tripos_compiler.library.types import is_of_paths, without_optional
from tripos_compiler.plan import (
    MIRRORED,
    NEGATED,
    AtElement,
    Binary,
    Call,
    Data,
    Each,
    Expr,
    Get,
    Items,
    Literal_,
    RecordValue,
    Type,
    Unary,
    compare,
)
from tripos_compiler.source.data_classes import dataclass

HOLDS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


@dataclass(frozen=True)
class Undefinedness:
    """Subexpression that can be undefined: `why`, and the parts of it that cause this (`of`). It is defined if all of
    `needs` hold; `guard` is the fix to suggest."""

    why: str
    guard: str
    of: tuple[Expr, ...]
    needs: tuple[Expr, ...]


def undefinedness_of(expr: Expr, types: Mapping[str, Type] | None = None) -> Undefinedness | None:
    """Return how an operator or a call can be undefined although its arguments are defined, or None. `types` are the
    known types of a call's arguments, by parameter; for `/` the type of `right`."""
    match expr:
        case Binary(operator="/", right=right):
            facts = static_facts(right, (types or {}).get("right"))
            if facts.nonzero or facts.positive:
                return None
            guard = "say what stands in its place: `default(… / …, …)`"
            return Undefinedness("`/` has no value where it divides by 0", guard, (right,), (compare("!=", right, 0),))
        case Call(function=name) if (function := FUNCTIONS.get(name)) is not None and function.partial is not None:
            arguments = arguments_of(expr)
            known_args = {key: static_facts(argument, (types or {}).get(key)) for key, argument in arguments.items()}
            partial = function.partial
            if partial.total(known_args):
                return None
            of = tuple(arguments[key] for key in partial.of if key in arguments)
            guard = partial.guard or f"say what stands in its place: `default({name}(…), …)`"
            needs = partial.needs(arguments, known_args)
            return Undefinedness(f"`{name}` has no value where {partial.why}", guard, of, needs)
    return None


def find_undefined(expr: Expr) -> Iterator[Undefinedness]:
    """Yield how an expression of a plan can be undefined, without the cases that its own conditions exclude. Types are
    unknown here, so the result over-approximates."""
    return iter(_lacks(expr, {}))


def _lacks(expr: Expr, done: dict[int, tuple[Undefinedness, ...]]) -> tuple[Undefinedness, ...]:
    """Return the distinct lacks of an expression. `done` caches results by identity, since a `let` is shared."""
    if id(expr) not in done:
        lacks = _each_lack(expr, partial(_lacks, done=done))
        done[id(expr)] = tuple({id(lack): lack for lack in lacks}.values())
    return done[id(expr)]


def _each_lack(expr: Expr, lacks: Callable[[Expr], tuple[Undefinedness, ...]]) -> Iterator[Undefinedness]:
    match expr:
        case Unary(value=value) | Get(of=value) | AtElement(of=value):
            yield from lacks(value)
        case Each(loop=loop, value=value):
            yield from lacks(loop.of)
            if loop.where is None:
                yield from lacks(value)
            else:
                yield from (*lacks(loop.where), *unguarded_undefined(lacks(value), loop.where, True))
        case Items(values=values):
            for value in values:
                yield from lacks(value)
        case RecordValue(fields=fields):
            for value in fields.values():
                yield from lacks(value)
        case Binary(operator="and" | "or", left=left, right=right):
            yield from lacks(left)
            yield from unguarded_undefined(lacks(right), left, expr.operator == "and")
        case Binary(left=left, right=right):
            yield from (*lacks(left), *lacks(right))
        case Call():
            yield from _argument_lacks(expr, lacks)
    undefinedness = undefinedness_of(expr)
    if undefinedness is not None:
        yield undefinedness


def _argument_lacks(call: Call, lacks: Callable[[Expr], tuple[Undefinedness, ...]]) -> Iterator[Undefinedness]:
    """Yield the lacks of the arguments that a call evaluates."""
    function = FUNCTIONS.get(call.function)
    match function.evaluation if function is not None else Evaluation.EAGER:
        case Evaluation.CHOICE:
            arguments = arguments_of(call)
            yield from lacks(arguments["condition"])
            yield from unguarded_undefined(lacks(arguments["this"]), arguments["condition"], True)
            yield from unguarded_undefined(lacks(arguments["other"]), arguments["condition"], False)
        case Evaluation.FALLBACK:
            yield from lacks(arguments_of(call)["fallback"])
        case _:
            for value in (*call.args, *call.named.values()):
                yield from lacks(value)


def unguarded_undefined(parts: Iterable[Undefinedness], condition: Expr, held: bool) -> Iterator[Undefinedness]:
    """Yield the lacks that a condition, true or false according to `held`, does not exclude. Their definedness depends
    on the condition."""
    facts = tuple(facts_of(condition, held))
    for lack in parts:
        if not lack.needs or not all(implied(need, facts) for need in lack.needs):
            yield Undefinedness(lack.why, lack.guard, (*lack.of, condition), lack.needs)


class FactsOf(Protocol):
    """Returns the static knowledge about a value, of a type if that is known."""

    def __call__(self, expr: Expr, type_: Type | None = None, /) -> StaticFacts: ...


def static_facts(expr: Expr, type_: Type | None = None, done: dict[int, StaticFacts] | None = None) -> StaticFacts:
    """Return the static knowledge about a value without the values of names. `done` caches results by identity."""
    done = {} if done is None else done
    if id(expr) not in done:
        done[id(expr)] = _known(expr, type_, partial(static_facts, done=done))
    return done[id(expr)]


def _known(expr: Expr, type_: Type | None, static_facts: FactsOf) -> StaticFacts:
    match expr:
        case Literal_(value=bool() as value):
            return StaticFacts(literal=value)
        case Literal_(value=int() | float() as number):
            return StaticFacts(literal=number, range=Interval(number), nonzero=number != 0)
        case Literal_(value=str() as text):
            return StaticFacts(literal=text, text=True, order=(text,))
        case Items(values=values):
            texts = [part.value for part in values if isinstance(part, Literal_) and isinstance(part.value, str)]
            inner = sum(static_facts(part).items for part in values)
            order = tuple(texts) if len(texts) == len(values) else None
            return StaticFacts(items=len(values), inner_items=inner, order=order)
        case Each(loop=loop, value=value) if loop.where is None:
            items = static_facts(loop.of).items
            return StaticFacts(items=items, inner_items=items * static_facts(value).items)
        case Data(dataset=dataset):
            return replace(_typed(type_), dataset=dataset)
        case Get(of=Data(dataset=dataset)):
            return StaticFacts(dataset=dataset)
        case Binary(operator="+" | "*" as sign, left=left, right=right):
            return _sum_or_product(sign, static_facts(left), static_facts(right))
        case Call(function=name) if name in FUNCTIONS:
            return _known_call(FUNCTIONS[name], expr, type_, static_facts)
    return _typed(type_)


def _typed(type_: Type | None) -> StaticFacts:
    if type_ is None:
        return StaticFacts()
    match type_.kind:
        case "choice":
            return StaticFacts(text=True, order=type_.values)
        case "text" | "path":
            return StaticFacts(text=True)
        case "list" if type_.of.kind == "record":
            fields = type_.of.fields
            texts = tuple(name for name, of in fields.items() if without_optional(of).kind == "text")
            return StaticFacts(
                texts=texts, places=tuple(name for name, of in fields.items() if is_of_paths(without_optional(of)))
            )
        case "integer":
            low, high = type_.low, type_.high
            apart = (low is not None and low > 0) or (high is not None and high < 0)
            return StaticFacts(range=Interval.of_ends(low, None), nonzero=apart)
    return StaticFacts()


def _sum_or_product(sign: str, left: StaticFacts, right: StaticFacts) -> StaticFacts:
    nonzero = sign == "*" and left.positive and right.positive
    return StaticFacts(range=COMPUTED[sign](left.range, right.range), nonzero=nonzero)


def _known_call(function: Function, call: Call, type_: Type | None, static_facts: FactsOf) -> StaticFacts:
    arguments = arguments_of(call)
    if function.shape is Shape.SAME:  # only a literal is checked, not the argument of a call
        return replace(static_facts(arguments[function.names[0]], type_), literal=None)
    known = {name: static_facts(argument) for name, argument in arguments.items()}
    every = [static_facts(argument) for argument in (*call.args, *call.named.values())]
    low, _ = function.range_of(_KnownRanges(known, every))
    facts = replace(_typed(type_), items=function.least_items(known))
    return replace(facts, range=Interval(max(low, facts.range.low)))


@dataclass(frozen=True)
class _KnownRanges:
    """Ranges of arguments as far as they are static."""

    known: Mapping[str, StaticFacts]
    every: Sequence[StaticFacts]

    def __contains__(self, name: str) -> bool:
        return name in self.known

    def all(self) -> Sequence[Interval]:
        return [facts.range for facts in self.every]

    def of(self, name: str) -> Interval:
        return self.known[name].range

    def items(self, name: str) -> Interval:
        return ANY

    def count(self, name: str) -> Interval:
        return Interval(self.known[name].items)

    def literal(self, name: str) -> object:
        return self.known[name].literal


# Conditions and facts


def facts_of(condition: Expr, held: bool) -> Iterator[Expr]:
    """Yield the facts that follow from a condition that is true, or false if not `held`.

    >>> from tripos_compiler.plan import Ref
    >>> a, b = Ref(path=("a",)), Ref(path=("b",))
    >>> [fact.path for fact in facts_of(Binary(operator="and", left=a, right=b), True)]
    [('a',), ('b',)]
    """
    return iter(_facts(condition, held, {}))


def _facts(condition: Expr, held: bool, done: dict[tuple[int, bool], tuple[Expr, ...]]) -> tuple[Expr, ...]:
    """Return the distinct facts; `done` caches results by identity."""
    key = id(condition), held
    if key not in done:
        exprs = _each_fact(condition, held, partial(_facts, done=done))
        done[key] = tuple({id(expr): expr for expr in exprs}.values())
    return done[key]


def _each_fact(condition: Expr, held: bool, facts: Callable[[Expr, bool], tuple[Expr, ...]]) -> Iterator[Expr]:
    match condition:
        case Unary(operator="not", value=value):
            yield from facts(value, not held)
        case Binary(operator="and" | "or" as sign, left=left, right=right):
            if (sign == "and") == held:
                yield from (*facts(left, held), *facts(right, held))
        case Binary(operator="in" | "not in" as sign, left=left, right=right):
            if (sign == "in") == held:
                yield Binary(operator="in", left=left, right=right)
                yield compare(">", length_of(right), 0)
        case Binary(operator="==" | "!=" | "<" | "<=" | ">" | ">=" as sign, left=left, right=right):
            meant = sign if held else NEGATED[sign]
            yield compare(meant, left, right)
            yield compare(MIRRORED[meant], right, left)
        case _ if held:
            yield condition


def implied(need: Expr, facts: Sequence[Expr]) -> bool:
    """Return true if one of the facts implies a condition.

    >>> from tripos_compiler.plan import Ref
    >>> n = Ref(path=("n",))
    >>> over = [Binary(operator=">=", left=n, right=Literal_(value=2))]
    >>> implied(Binary(operator=">", left=n, right=Literal_(value=1)), over)
    True
    >>> implied(Binary(operator=">", left=n, right=Literal_(value=2)), over)
    False
    """
    if need in facts:
        return True
    if not isinstance(need, Binary) or not isinstance(need.right, Literal_):
        return False
    return any(
        isinstance(fact, Binary) and fact.left == need.left and isinstance(fact.right, Literal_)
        and _implies(fact.operator, fact.right.value, need.operator, need.right.value, need.left)
        for fact in facts
    )  # fmt: skip


def _implies(sign: str, bound: object, wanted: str, least: object, of: Expr) -> bool:
    """Return true if a comparison with `bound` implies the comparison `wanted` with `least`."""
    if not isinstance(bound, int | float) or not isinstance(least, int | float):
        return False
    if sign == "==":
        return HOLDS[wanted](bound, least)
    if sign == "!=":  # what is not negative and not 0 is above it
        lowest = static_facts(of).range.low
        return bound == least == 0 and (wanted == "!=" or (wanted == ">" and lowest >= 0))
    if wanted == "!=":
        return (sign == ">" and bound >= least) or (sign == ">=" and bound > least) or (
            (sign == "<" and bound <= least) or (sign == "<=" and bound < least)
        )  # fmt: skip
    if wanted in (">", ">="):
        return (sign == ">" and bound >= least) or (
            sign == ">=" and (bound > least or (bound == least and wanted == ">="))
        )  # fmt: skip
    return False
