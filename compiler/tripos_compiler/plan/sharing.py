"""The parts that an expression has several times, each named once.

In memory an expression shares what a `let` or an argument of a formula stands for, and is a graph. As a tree it doubles
with each `let` that names another twice. `share` names these parts: then what is written of it, and what it takes to
evaluate it, grow with the number of parts alone. It looks at what parts say and not at where they stand in memory, so
that an expression that is written out by hand is shared as one with `let`s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any, assert_never
from weakref import ref

from tripos_compiler.plan.expressions import (
    AtElement,
    Binary,
    Branches,
    Call,
    Data,
    Each,
    Expr,
    Get,
    Items,
    Let,
    Literal_,
    LongForm,
    RecordValue,
    Ref,
    Unary,
    long_forms,
)

MARK = "$"
"""What begins the name of a part; no name of a spec does."""
LEAVES = (Literal_, Ref, Data, Branches)
"""What is not named: a name for it would say no less."""


LONG = 200
"""An expression with more parts than this is written with each of them once."""


class LetRef(Ref):
    """A reference to a part that a `Let` names."""


def parts_of(expr: Expr | Let) -> tuple[Expr, ...]:
    """Return what an expression is made of, directly."""
    match expr:
        case Unary(value=value):
            return (value,)
        case Binary(left=left, right=right):
            return (left, right)
        case Items(values=values):
            return values
        case RecordValue(fields=fields):
            return tuple(fields.values())
        case Call(args=args, named=named):
            return (*args, *named.values())
        case Get(of=of) | AtElement(of=of):
            return (of,)
        case Each(loop=loop, value=value):
            return (loop.of, value) if loop.where is None else (loop.of, loop.where, value)
        case Literal_() | Ref() | Data() | Branches():
            return ()
        case Let(values=values, of=of):
            return (*values.values(), of)
    assert_never(expr)


def map_parts(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """Return an expression with what it is made of, directly, changed; the same one where nothing is."""
    made = [change(part) for part in parts_of(expr)]
    if all(one is other for one, other in zip(made, parts_of(expr), strict=True)):
        return expr
    update: dict[str, Any]
    match expr:
        case Unary() | Binary() | Get() | AtElement():
            names = {Unary: ("value",), Binary: ("left", "right"), Get: ("of",), AtElement: ("of",)}[type(expr)]
            update = dict(zip(names, made, strict=True))
        case Items():
            update = {"values": tuple(made)}
        case RecordValue(fields=fields):
            update = {"fields": dict(zip(fields, made, strict=True))}
        case Call(args=args, named=named):
            update = {"args": tuple(made[: len(args)]), "named": dict(zip(named, made[len(args) :], strict=True))}
        case Each(loop=loop):
            where = made[1] if loop.where is not None else None
            update = {"loop": loop.model_copy(update={"of": made[0], "where": where}), "value": made[-1]}
        case _:
            return expr
    return expr.model_copy(update=update)


def share(expr: Expr, opaque: str | None = None, invariant: bool = False) -> Expr | Let:
    """Return an expression with a name for each part that it has several times; itself where it has none.

    The calls of a function `opaque` keep what they are given as it is. With `invariant`, what is the same for each
    element of a list has a name too.

    >>> twice = Call(function="lower", args=(Ref(path=("a",)),))
    >>> shared = share(Binary(operator="+", left=twice, right=twice))
    >>> list(shared.values), shared.of.left.path, shared.of.right.path
    (['$1'], ('$1',), ('$1',))
    """
    return _shared(expr, opaque, invariant, count(1))


def written(expr: Expr | Let) -> Expr | Let:
    """Return an expression as a plan has it: a long one with a name for each part that it has several times."""
    return expr if isinstance(expr, Let) or not _is_long(expr) else share(expr)


def written_parts(expr: Expr) -> Iterator[Expr]:
    """Yield an expression and all that it is made of, as often as a plan says it.

    >>> [part.op for part in written_parts(Unary(operator="not", value=Ref(path=("a",))))]
    ['unary', 'ref']
    """
    if _is_long(expr):
        graph = ExpressionGraph()
        graph.add(expr)
        yield from graph.nodes
        return
    yield expr
    for part in parts_of(expr):
        yield from written_parts(part)


def _is_long(expr: Expr) -> bool:
    waiting, seen = [expr], 0
    while waiting and seen <= LONG:
        seen += 1
        waiting += parts_of(waiting.pop())
    return seen > LONG


def unshared(let: Let) -> Expr:
    """Return the expression, which has each part that is named as the same object wherever it stands. Raises
    `ValueError` where a part is made of itself."""
    found: dict[str, Expr | None] = {}
    done: dict[int, Expr] = {}

    def put(expr: Expr) -> Expr:
        if isinstance(expr, Ref) and (name := expr.path[0]) in let.values:
            if name not in found:
                found[name] = None
                found[name] = put(let.values[name])
            if (known := found[name]) is None:
                raise ValueError(f"`{name}` is made of itself")
            return known
        if id(expr) not in done:
            done[id(expr)] = map_parts(expr, put)
        return done[id(expr)]

    return put(let.of)


def _shared(expr: Expr, opaque: str | None, invariant: bool, numbers: Iterator[int]) -> Expr | Let:
    graph = ExpressionGraph(opaque)
    graph.add(expr)
    names = {place: f"{MARK}{next(numbers)}" for place in graph.named(invariant)}
    if not names and not any(isinstance(node, Each) for node in graph.nodes):
        return expr
    made: dict[tuple[int, bool], Expr] = {}

    def put(part: Expr, inside: bool = False) -> Expr:
        place = graph.places[id(part)]
        return LetRef(path=(names[place],)) if place in names else write(place, inside)

    def write(place: int, inside: bool = False) -> Expr:
        """Return a part with names in it; `inside` what is evaluated for each element, which has names of its own."""
        if (place, inside) not in made:
            node = graph.nodes[place]
            if isinstance(node, Call) and node.function == opaque:
                made[place, inside] = node
            elif isinstance(node, Each) and not inside:
                made[place, inside] = write_each(node)
            else:
                made[place, inside] = map_parts(node, partial(put, inside=inside))
        return made[place, inside]

    def write_each(node: Each) -> Expr:
        seen = {id(node.loop.of): put(node.loop.of)}
        for part in (node.loop.where, node.value):
            if part is not None:
                found = _shared(put(part, inside=True), opaque, invariant, numbers)
                seen[id(part)] = found  # type: ignore[assignment]
        return map_parts(node, lambda part: seen[id(part)])

    values = {names[place]: write(place) for place in sorted(names)}
    of = write(len(graph.nodes) - 1)
    return Let(values=values, of=of) if values else of


@dataclass
class ExpressionGraph:
    """The parts of expressions that differ, each after those that it is made of."""

    opaque: str | None = None
    """A function whose calls keep what they are given as it is."""
    nodes: list[Expr] = field(default_factory=list)
    parts: list[tuple[int, ...]] = field(default_factory=list)
    names: list[frozenset[str]] = field(default_factory=list)
    """What each part looks up from outside itself."""
    places: dict[int, int] = field(default_factory=dict)
    """By identity of an expression."""
    held: list[Expr] = field(default_factory=list)
    """What an identity stands for, as long as it lives."""
    _known: dict[tuple[Any, ...], int] = field(default_factory=dict)

    def add(self, expr: Expr) -> int:
        """Return the place of an expression, all parts of which are added; that of an equal one where it is known."""
        if id(expr) in self.places:
            return self.places[id(expr)]
        self.held.append(expr)
        parts = tuple(self.add(part) for part in parts_of(expr))
        key = (type(expr), _own(expr), parts)
        place = self._known.setdefault(key, len(self.nodes))
        if place == len(self.nodes):
            self.nodes.append(expr)
            self.parts.append(parts)
            self.names.append(self._looked_up(expr, parts))
        self.places[id(expr)] = place
        return place

    def _looked_up(self, expr: Expr, parts: tuple[int, ...]) -> frozenset[str]:
        match expr:
            case Ref(path=path):
                return frozenset(path[:1])
            case AtElement(loops=loops):
                return self.names[parts[0]].union(loops)
            case Each(loop=loop):
                inner = frozenset[str]().union(*(self.names[part] for part in parts[1:]))
                return self.names[parts[0]] | (inner - {loop.alias})
        return frozenset[str]().union(*(self.names[part] for part in parts))

    def named(self, invariant: bool) -> list[int]:
        """Return the parts to name: those that stand in several places, and look up no element of a list in it."""
        aliases = {node.loop.alias for node in self.nodes if isinstance(node, Each)}
        uses, inside = [0] * len(self.nodes), [False] * len(self.nodes)
        found: list[int] = []
        for place in reversed(range(len(self.nodes))):  # whatever takes a part comes before it
            node = self.nodes[place]
            free = not isinstance(node, LEAVES) and aliases.isdisjoint(self.names[place])
            if free and uses[place] > 1:
                found.append(place)
            if isinstance(node, Call) and node.function == self.opaque:
                continue
            repeated = inside[place] and place not in found[-1:]
            for number, part in enumerate(self.parts[place]):
                again = invariant and (repeated or (isinstance(node, Each) and number > 0))
                inside[part] = inside[part] or again
                uses[part] += 2 if again else 1
        return sorted(found)


def _own(expr: Expr) -> tuple[Any, ...]:
    """Return what an expression says beside what it is made of."""
    match expr:
        case Literal_(value=value):
            return (type(value), value)
        case Ref(path=path):
            return path
        case Call(function=function, args=args, named=named):
            return (function, len(args), *named)
        case Unary(operator=operator) | Binary(operator=operator):
            return (operator,)
        case RecordValue(fields=fields):
            return tuple(fields)
        case Get(field=name):
            return (name,)
        case Data(dataset=dataset, field=column):
            return (dataset, column)
        case Branches(tree=tree):
            return (tree,)
        case Each(loop=loop):
            return (loop.alias, loop.most, loop.where is None)
        case AtElement(loops=loops):
            return loops
    return ()


long_forms.append(LongForm(written, unshared))


_named: dict[int, tuple[ref[Expr], Expr | Let | None]] = {}
"""By the identity of an expression: the expression, and itself with its parts named, if it has any."""


def linear(expr: Expr) -> Expr | Let:
    """Return an expression with its parts named, which is found once. What a `reveal` is given stays as it is: it tells
    one `reveal` from another."""
    known = _named.get(id(expr))
    if known is None or known[0]() is not expr:
        if type(expr) in LEAVES:
            return expr
        shared = share(expr, opaque="reveal", invariant=True) if _may_share(expr) else expr
        place = id(expr)
        known = ref(expr, lambda gone: _forget(place, gone)), None if shared is expr else shared
        _named[place] = known
    return expr if known[1] is None else known[1]


def _may_share(expr: Expr) -> bool:
    return not all(isinstance(part, LEAVES) for part in parts_of(expr))


def _forget(place: int, gone: ref[Expr]) -> None:
    if place in _named and _named[place][0] is gone:
        del _named[place]
