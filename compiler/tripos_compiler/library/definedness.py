"""Definedness analysis: which expressions can be undefined, when they are defined, and which guards ensure it.

An operator or function is partial if the library says so (`library/signature.py`). Literals are decided here: `split`
has at least one item, and a number above 0 is a valid divisor. Otherwise a condition for definedness remains (`needs`).
The condition of a `when` or `choose`, or the left side of `and` or `or`, may imply it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, Literal

from tripos_compiler.library.registry import FUNCTIONS
from tripos_compiler.library.signature import StaticFacts
from tripos_compiler.library.types import is_of_paths, without_optional
from tripos_compiler.plan import (
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
)
from tripos_compiler.source.data_classes import dataclass

COUNTS: Final = ("length", "words", "turns", "depth")
"""Functions that count, so that their value is at least 0."""
KEEPS: Final = ("sorted", "sorted_by", "shuffled", "letters_for", "readable", "reveal")
"""Functions whose result has as many items as their first argument."""

Comparison = Literal["==", "!=", "<", "<=", ">", ">="]
NEGATED: Final[Mapping[str, Comparison]] = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
TURNED: Final[Mapping[str, Comparison]] = {"==": "==", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
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
            known = static_facts(right, (types or {}).get("right"))
            if known.nonzero or known.positive:
                return None
            guard = "say what stands in its place: `default(… / …, …)`"
            return Undefinedness(
                "`/` has no value where it divides by 0", guard, (right,), (_compared("!=", right, 0),)
            )
        case Call(function=name) if (function := FUNCTIONS.get(name)) is not None and function.partial is not None:
            given = arguments_of(expr)
            known_args = {key: static_facts(each, (types or {}).get(key)) for key, each in given.items()}
            partial = function.partial
            if partial.total(known_args):
                return None
            of = tuple(given[key] for key in partial.of if key in given)
            return Undefinedness(f"`{name}` has no value where {partial.why}", partial.guard, of, _needs(name, given))
    return None


def arguments_of(call: Call) -> dict[str, Expr]:
    """Return the arguments of a library call, by parameter."""
    names = (each.name for each in FUNCTIONS[call.function].parameters)
    return dict(zip(names, call.args, strict=False)) | dict(call.named)


def find_undefined(expr: Expr) -> Iterator[Undefinedness]:
    """Yield how an expression of a plan can be undefined, without the cases that its own conditions exclude. Types are
    unknown here, so the result over-approximates."""
    return iter(_lacks(expr, {}))


def _lacks(expr: Expr, done: dict[int, tuple[Undefinedness, ...]]) -> tuple[Undefinedness, ...]:
    """Return the distinct lacks of an expression. `done` caches results by identity, since a `let` is shared."""
    if id(expr) not in done:
        done[id(expr)] = tuple({id(each): each for each in _each_lack(expr, partial(_lacks, done=done))}.values())
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
        case Call(function="choose"):
            given = arguments_of(expr)
            yield from lacks(given["condition"])
            yield from unguarded_undefined(lacks(given["this"]), given["condition"], True)
            yield from unguarded_undefined(lacks(given["other"]), given["condition"], False)
        case Call(function="default"):
            yield from lacks(arguments_of(expr)["fallback"])
        case Call(args=args, named=named):
            for value in (*args, *named.values()):
                yield from lacks(value)
    own = undefinedness_of(expr)
    if own is not None:
        yield own


def unguarded_undefined(parts: Iterable[Undefinedness], condition: Expr, held: bool) -> Iterator[Undefinedness]:
    """Yield the lacks that a condition, true or false according to `held`, does not exclude. Their definedness depends
    on the condition."""
    facts = tuple(facts_of(condition, held))
    for lack in parts:
        if not lack.needs or not all(implied(need, facts) for need in lack.needs):
            yield Undefinedness(lack.why, lack.guard, (*lack.of, condition), lack.needs)


def static_facts(expr: Expr, type_: Type | None = None, done: dict[int, StaticFacts] | None = None) -> StaticFacts:
    """Return the static knowledge about a value without the values of names. `done` caches results by identity."""
    done = {} if done is None else done
    if id(expr) not in done:
        done[id(expr)] = _known(expr, type_, partial(static_facts, done=done))
    return done[id(expr)]


def _known(expr: Expr, type_: Type | None, static_facts: Callable[[Expr], StaticFacts]) -> StaticFacts:
    match expr:
        case Literal_(value=bool() as value):
            return StaticFacts(written=value)
        case Literal_(value=int() | float() as number):
            return StaticFacts(written=number, least=number, nonzero=number != 0)
        case Literal_(value=str() as text):
            return StaticFacts(written=text, text=True, order=(text,))
        case Items(values=values):
            texts = [each.value for each in values if isinstance(each, Literal_) and isinstance(each.value, str)]
            return StaticFacts(items=len(values), order=tuple(texts) if len(texts) == len(values) else None)
        case Each(loop=loop) if loop.where is None:
            return StaticFacts(items=static_facts(loop.of).items)
        case Data(dataset=dataset):
            return replace(_typed(type_), dataset=dataset)
        case Get(of=Data(dataset=dataset)):
            return StaticFacts(dataset=dataset)
        case Binary(operator="+" | "*" as sign, left=left, right=right):
            return _sum_or_product(sign, static_facts(left), static_facts(right))
        case Call(function="max"):
            every = map(static_facts, (*expr.args, *expr.named.values()))
            least = [known.least for known in every if known.least is not None]
            return StaticFacts(least=max(least)) if least else StaticFacts()
        case Call(function=name) if name in FUNCTIONS:
            return _known_call(name, arguments_of(expr), type_, static_facts)
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
            return StaticFacts(least=low, nonzero=apart)
    return StaticFacts()


def _sum_or_product(sign: str, left: StaticFacts, right: StaticFacts) -> StaticFacts:
    if left.least is None or right.least is None:
        return StaticFacts()
    if sign == "+":
        return StaticFacts(least=left.least + right.least, above=left.above or right.above)
    if min(left.least, right.least) < 0:
        return StaticFacts()
    return StaticFacts(least=left.least * right.least, nonzero=left.positive and right.positive)


def _known_call(
    name: str, given: Mapping[str, Expr], type_: Type | None, static_facts: Callable[[Expr], StaticFacts]
) -> StaticFacts:
    if name == "length":
        return StaticFacts(least=static_facts(given["value"]).items)
    if name in COUNTS or name == "abs":
        return StaticFacts(least=0)
    return replace(_typed(type_), items=_items_of(name, given))


def _items_of(name: str, given: Mapping[str, Expr]) -> int:
    """Return a lower bound of the number of items in the list that a call returns. It is 0 for `choose`: replies to a
    list of prompts are compiled to one, in which the first reply stands for a missing one."""
    first = next(iter(given.values()), None)
    if name in KEEPS and first is not None:
        return static_facts(first).items
    match name:
        case "split":
            return 1
        case "zip":
            return min(static_facts(given[each]).items for each in ("items", "others"))
        case "without_last":
            return max(static_facts(given["items"]).items - 1, 0)
        case "drawn":  # an item that a list has twice is drawn once
            count = static_facts(given["count"]).least or 0
            return min(static_facts(given["items"]).items, 1) if count >= 1 else 0
        case "distinct":
            return int(any(static_facts(each).order for each in given.values()))
        case "flat":
            return _items_inside(given["lists"])
        case "slice":
            return _items_left(given)
    return 0


def _items_inside(lists: Expr) -> int:
    """Return a lower bound of the total number of items of the lists in a list."""
    match lists:
        case Items(values=values):
            return sum(static_facts(value).items for value in values)
        case Each(loop=loop, value=value) if loop.where is None:
            return static_facts(loop.of).items * static_facts(value).items
    return 0


def _items_left(given: Mapping[str, Expr]) -> int:
    """Return a lower bound of the number of items in a slice."""
    items, start = static_facts(given["value"]).items, static_facts(given["start"]).written
    if not isinstance(start, int):
        return 0
    left = max(items - start, 0) if start >= 0 else min(items, -start)
    if "count" not in given:
        return left
    count = static_facts(given["count"]).written
    return min(left, max(count, 0)) if isinstance(count, int) else 0


# Conditions and facts


def _compared(sign: Comparison, left: Expr, right: Expr | float) -> Binary:
    other = Literal_(value=right) if isinstance(right, int | float) else right
    return Binary(operator=sign, left=left, right=other)


def _length(of: Expr) -> Call:
    while isinstance(of, Each) and of.loop.where is None:  # there are as many values as elements
        of = of.loop.of
    return Call(function="length", args=(of,))


def _needs(name: str, given: Mapping[str, Expr]) -> tuple[Expr, ...]:
    """Return the conditions under which a call is defined; empty if they cannot be written as an expression."""
    match name:
        case "nth":
            index = given["index"]
            if isinstance(index, Literal_) and isinstance(index.value, int):
                return (_compared(">", _length(given["items"]), index.value),)
            below = _compared("<", index, _length(given["items"]))
            least = static_facts(index).least
            return (below,) if least is not None and least >= 0 else (below, _compared(">=", index, 0))
        case "min" | "max" if "b" not in given:
            return (_compared(">", _length(given["a"]), 0),)
        case "first" | "last":
            return (_compared(">", _length(given["items"]), 0),)
        case "bleu" | "chrf" | "rouge":
            return (_compared(">", _length(given["reference"]), 0),)
        case "rouge_n" if isinstance(given["n"], Literal_):
            return (_compared(">", _length(given["reference"]), 0),)
        case "best_bleu" | "coverage":
            return (_compared(">", _length(given["references"]), 0),)
        case "sqrt":
            return (_compared(">=", given["value"], 0),)
        case "log" if "base" not in given or isinstance(given["base"], Literal_):
            return (_compared(">", given["value"], 0),)
        case "power":
            return (_compared(">", given["value"], 0),)
        case "rank":
            return (Binary(operator="in", left=given["value"], right=given["order"]),)
        case "picked":
            return (_compared("==", _length(given["items"]), _length(given["keys"])),)
    return ()


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
        found = _each_fact(condition, held, partial(_facts, done=done))
        done[key] = tuple({id(each): each for each in found}.values())
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
                yield _compared(">", _length(right), 0)
        case Binary(operator="==" | "!=" | "<" | "<=" | ">" | ">=" as sign, left=left, right=right):
            meant = sign if held else NEGATED[sign]
            yield _compared(meant, left, right)
            yield _compared(TURNED[meant], right, left)
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
    if sign == "!=":  # a count that is not 0 is above it
        counts = isinstance(of, Call) and of.function in COUNTS
        return bound == least == 0 and (wanted == "!=" or (wanted == ">" and counts))
    if wanted == "!=":
        return (sign == ">" and bound >= least) or (sign == ">=" and bound > least) or (
            (sign == "<" and bound <= least) or (sign == "<=" and bound < least)
        )  # fmt: skip
    if wanted in (">", ">="):
        return (sign == ">" and bound >= least) or (
            sign == ">=" and (bound > least or (bound == least and wanted == ">="))
        )  # fmt: skip
    return False
