"""Types, expressions and templates of a plan, and common-subexpression elimination for expressions.

In memory an expression shares the values of a `let` and of a formula's arguments, so it is a graph. Written out as a
tree it doubles with each `let` that uses another twice. `share_parts` names the repeated parts: the size of the
serialized form and the cost of evaluation then grow only with the number of distinct parts. Parts are compared by
content, not by identity, so an expression that is written out by hand is shared like one with `let`s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    Generic,
    Literal,
    NamedTuple,
    TypeVar,
    assert_never,
    get_args,
    overload,
)
from weakref import ref

from pydantic import AfterValidator, Field, SerializationInfo, SerializerFunctionWrapHandler, WrapSerializer

from tripos_compiler.plan.base import Ordered, Part

# Types


class TextType(Part):
    kind: Literal["text"] = "text"


class IntegerType(Part):
    """Whole number; `low` and `high` are inclusive bounds, None if there is no bound."""

    kind: Literal["integer"] = "integer"
    low: int | None = None
    high: int | None = None


class NumberType(Part):
    kind: Literal["number"] = "number"


class BoolType(Part):
    kind: Literal["bool"] = "bool"


class ChoiceType(Part):
    """One of several names. `axis` is the axis whose values these are, if any; `worth` has the number of each name if
    the names stand for numbers."""

    kind: Literal["choice"] = "choice"
    values: tuple[str, ...]
    axis: str | None = None
    worth: tuple[float, ...] = ()


class ListType(Part):
    kind: Literal["list"] = "list"
    of: Type


class SetType(Part):
    kind: Literal["set"] = "set"
    of: Type


class RecordType(Ordered):
    """Named values, in the order in which a model is asked for them."""

    _mapping = "fields"
    kind: Literal["record"] = "record"
    fields: dict[str, Type]


class DialogueType(Part):
    """Turns, each with a `speaker` and a `text`."""

    kind: Literal["dialogue"] = "dialogue"


class ImageType(Part):
    """Image; a value names it by its content (`library.media.Medium`)."""

    kind: Literal["image"] = "image"


class AudioType(Part):
    """Recording, named by its content like an image."""

    kind: Literal["audio"] = "audio"


class FileType(Part):
    """File such as a PDF, named by its content like an image."""

    kind: Literal["file"] = "file"


class OptionalType(Part):
    kind: Literal["optional"] = "optional"
    of: Type


class PathType(Part):
    """Path in a tree: the names from its root to a node, joined by ` / `."""

    kind: Literal["path"] = "path"


class TreeType(Part):
    """Whole tree, an argument of functions such as `leaves`."""

    kind: Literal["tree"] = "tree"
    tree: str


class JsonType(Part):
    """JSON value. The `form` `tools` is a list of functions that a model may call, each with the JSON Schema of its
    parameters; `calls` is a list of calls of them, each with the accepted values of every argument."""

    kind: Literal["json"] = "json"
    form: Literal["json", "tools", "calls"] = "json"


class MetricsType(Part):
    """Metrics allocated to the current scenario, printable as a rubric."""

    kind: Literal["metrics"] = "metrics"


Type = Annotated[
    TextType
    | IntegerType
    | NumberType
    | BoolType
    | ChoiceType
    | ListType
    | SetType
    | RecordType
    | DialogueType
    | ImageType
    | AudioType
    | FileType
    | OptionalType
    | PathType
    | TreeType
    | JsonType
    | MetricsType,
    Field(discriminator="kind"),
]


# Expressions


class Literal_(Part):  # noqa: N801 - `Literal` is taken by typing
    op: Literal["literal"] = "literal"
    value: str | int | float | bool | None


class Ref(Part):
    """Name and the fields below it: `("item", "question")`, `("answer", "text")`, `("stage",)`."""

    op: Literal["ref"] = "ref"
    path: tuple[str, ...]


REVEAL = "reveal"
"""Function that returns its argument and declassifies it."""


class Call(Part):
    op: Literal["call"] = "call"
    function: str
    args: tuple[Inner, ...] = ()
    named: dict[str, Inner] = {}

    @property
    def is_reveal(self) -> bool:
        """True if it declassifies its argument."""
        return self.function == REVEAL


class Unary(Part):
    op: Literal["unary"] = "unary"
    operator: Literal["-", "not"]
    value: Inner


class Binary(Part):
    op: Literal["binary"] = "binary"
    operator: Literal["+", "-", "*", "/", "==", "!=", "<", "<=", ">", ">=", "and", "or", "in", "not in"]
    left: Inner
    right: Inner


class Items(Part):
    """List literal: `("a", "b")`."""

    op: Literal["items"] = "items"
    values: tuple[Inner, ...]


class RecordValue(Ordered):
    """Record literal. A field without a value is missing on its own; only the use of the whole record is then
    undefined."""

    _mapping = "fields"
    op: Literal["record"] = "record"
    fields: dict[str, Inner]


class Get(Part):
    """Field of a record-valued expression, such as `last(history).text`; for a list of records, the list of the field's
    values."""

    op: Literal["get"] = "get"
    of: Inner
    field: str


class Data(Part):
    """All rows of a data set, or one field of each of them."""

    op: Literal["data"] = "data"
    dataset: str
    field: str | None = None


class Branches(Part):
    """Tree as a value."""

    op: Literal["tree"] = "tree"
    tree: str


class Loop(Part):
    """Elements of a list, each known as `alias`, for which `where` holds. A list with more than `most` elements is
    undefined."""

    alias: str
    of: Expr
    where: Expr | None = None
    most: int | None = None


class Each(Part):
    """List of the values of an expression for each element of a list."""

    op: Literal["each"] = "each"
    loop: Loop
    value: Expr


class AtElement(Part):
    """A judge's value for the current elements of the enclosing loops; `of` names its verdicts."""

    op: Literal["at"] = "at"
    of: Ref
    loops: tuple[str, ...]


class Let(Part):
    """Expression with named shared parts, `$1` and so on; `of` and each of `values` refer to them. Long expressions are
    serialized in this form; when a plan is read, the names are replaced by their parts."""

    op: Literal["let"] = "let"
    values: dict[str, Inner]
    of: Inner


AnyExpr = Literal_ | Ref | Call | Unary | Binary | Items | RecordValue | Get | Data | Branches | Each | AtElement
EXPRESSIONS: Final = get_args(AnyExpr)
"""Classes of expressions."""
Inner = Annotated[AnyExpr, Field(discriminator="op")]
"""Expression as a part of another one."""


class LongForm(NamedTuple):
    """Conversion of a long expression to its serialized form with named shared parts, and back."""

    written: Callable[[Expr | Let], Expr | Let]
    read: Callable[[Let], Expr]


long_forms: list[LongForm] = []
"""The conversion, registered at the end of this module."""


def _write(expr: Expr | Let, write: SerializerFunctionWrapHandler, info: SerializationInfo) -> Any:
    written = long_forms[0].written(expr)
    return written.model_dump(mode=info.mode) if isinstance(written, Let) else write(written)


def _read(expr: Expr | Let) -> Expr:
    return long_forms[0].read(expr) if isinstance(expr, Let) else expr


if TYPE_CHECKING:
    Expr = AnyExpr
else:
    Expr = Annotated[
        Annotated[AnyExpr | Let, Field(discriminator="op")],
        AfterValidator(_read),
        WrapSerializer(_write),
    ]


# Templates


class Hole(Part):
    """Placeholder of a template. Its value is printed once and never read as a template again."""

    expr: Expr
    type: Type


class Passage(Part):
    """Part of a template that is printed if `when` holds or is None."""

    when: Expr | None = None
    parts: tuple[str | Hole, ...]


class Template(Part):
    """Text and holes in printing order, or passages separated by an empty line."""

    parts: tuple[str | Hole | Passage, ...]


Texts = dict[str, Template]
"""Template for each language of the benchmark; a text that was written once is repeated under every language."""

Labels = dict[str, str]
"""Plain text for each language of the benchmark."""


# Common-subexpression elimination

MARK = "$"
"""Prefix of the names of shared parts; names in a spec cannot begin with it."""
LEAVES = (Literal_, Ref, Data, Branches)
"""Classes of expressions that are never named, because a name would not be shorter."""


LONG = 200
"""Number of parts above which an expression is serialized with shared parts."""


class LetRef(Ref):
    """Reference to a part named by a `Let`."""


def parts_of(expr: Expr | Let) -> tuple[Expr, ...]:
    """Return the direct subexpressions of an expression."""
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
    """Return an expression with its direct subexpressions replaced by `change`; the same object if none changes."""
    changed = [change(part) for part in parts_of(expr)]
    if all(one is other for one, other in zip(changed, parts_of(expr), strict=True)):
        return expr
    update: dict[str, Any]
    match expr:
        case Unary() | Binary() | Get() | AtElement():
            names = {Unary: ("value",), Binary: ("left", "right"), Get: ("of",), AtElement: ("of",)}[type(expr)]
            update = dict(zip(names, changed, strict=True))
        case Items():
            update = {"values": tuple(changed)}
        case RecordValue(fields=fields):
            update = {"fields": dict(zip(fields, changed, strict=True))}
        case Call(args=args, named=named):
            update = {"args": tuple(changed[: len(args)]), "named": dict(zip(named, changed[len(args) :], strict=True))}
        case Each(loop=loop):
            where = changed[1] if loop.where is not None else None
            update = {"loop": loop.model_copy(update={"of": changed[0], "where": where}), "value": changed[-1]}
        case _:
            return expr
    return expr.model_copy(update=update)


def share_parts(expr: Expr, opaque: str | None = None, invariant: bool = False) -> Expr | Let:
    """Return an expression with a name for each repeated part, or the expression itself if no part is repeated.

    Arguments of the function `opaque` are left unchanged. With `invariant`, loop-invariant parts are named too.

    >>> twice = Call(function="lower", args=(Ref(path=("a",)),))
    >>> shared = share_parts(Binary(operator="+", left=twice, right=twice))
    >>> list(shared.values), shared.of.left.path, shared.of.right.path
    (['$1'], ('$1',), ('$1',))
    """
    return _shared(expr, opaque, invariant, count(1))


def serialized_form(expr: Expr | Let) -> Expr | Let:
    """Return the serialized form of an expression: a long one has its repeated parts named."""
    return expr if isinstance(expr, Let) or not _is_long(expr) else share_parts(expr)


def serialized_parts(expr: Expr) -> Iterator[Expr]:
    """Yield an expression and all its subexpressions, repeated as often as the serialized form repeats them.

    >>> [part.op for part in serialized_parts(Unary(operator="not", value=Ref(path=("a",))))]
    ['unary', 'ref']
    """
    if _is_long(expr):
        graph = ExpressionGraph()
        graph.add(expr)
        yield from graph.nodes
        return
    yield expr
    for part in parts_of(expr):
        yield from serialized_parts(part)


def _is_long(expr: Expr) -> bool:
    waiting, seen = [expr], 0
    while waiting and seen <= LONG:
        seen += 1
        waiting += parts_of(waiting.pop())
    return seen > LONG


def expand_shared(let: Let) -> Expr:
    """Return the expression of a `Let` with names replaced by their parts; each part is one object wherever it is used.
    Raises `ValueError` if a part refers to itself."""
    expanded: dict[str, Expr | None] = {}
    done: dict[int, Expr] = {}

    def put(expr: Expr) -> Expr:
        if isinstance(expr, Ref) and (name := expr.path[0]) in let.values:
            if name not in expanded:
                expanded[name] = None
                expanded[name] = put(let.values[name])
            if (known := expanded[name]) is None:
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
                shared_part = _shared(put(part, inside=True), opaque, invariant, numbers)
                seen[id(part)] = shared_part  # type: ignore[assignment]
        return map_parts(node, lambda part: seen[id(part)])

    values = {names[place]: write(place) for place in sorted(names)}
    of = write(len(graph.nodes) - 1)
    return Let(values=values, of=of) if values else of


@dataclass
class ExpressionGraph:
    """Distinct subexpressions of expressions, each after the parts that it consists of."""

    opaque: str | None = None
    """Function whose arguments are left unchanged."""
    nodes: list[Expr] = field(default_factory=list)
    parts: list[tuple[int, ...]] = field(default_factory=list)
    names: list[frozenset[str]] = field(default_factory=list)
    """Free names of each node."""
    places: dict[int, int] = field(default_factory=dict)
    """Index of the node by `id` of an expression."""
    held: list[Expr] = field(default_factory=list)
    """Expressions whose `id` is in use; this keeps them alive."""
    _known: dict[tuple[Any, ...], int] = field(default_factory=dict)

    def add(self, expr: Expr) -> int:
        """Add an expression and all its parts, and return its index; equal expressions have the same index."""
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
        """Return the indexes of the parts to name: those that are used repeatedly and refer to no loop variable."""
        aliases = {node.loop.alias for node in self.nodes if isinstance(node, Each)}
        uses, inside = [0] * len(self.nodes), [False] * len(self.nodes)
        numbers: list[int] = []
        for place in reversed(range(len(self.nodes))):  # whatever takes a part comes before it
            node = self.nodes[place]
            free = not isinstance(node, LEAVES) and aliases.isdisjoint(self.names[place])
            if free and uses[place] > 1:
                numbers.append(place)
            if isinstance(node, Call) and node.function == self.opaque:
                continue
            repeated = inside[place] and place not in numbers[-1:]
            for number, part in enumerate(self.parts[place]):
                again = invariant and (repeated or (isinstance(node, Each) and number > 0))
                inside[part] = inside[part] or again
                uses[part] += 2 if again else 1
        return sorted(numbers)


def _own(expr: Expr) -> tuple[Any, ...]:
    """Return the content of an expression apart from its subexpressions."""
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


long_forms.append(LongForm(serialized_form, expand_shared))


T = TypeVar("T")


class ExpressionCache(Generic[T]):
    """Values computed from expressions, each kept as long as its expression exists. Expressions are told apart by
    identity: comparing two of them by content takes longer than most values. A value must not refer to its
    expression."""

    def __init__(self) -> None:
        self._entries: dict[int, tuple[ref[Expr], T]] = {}

    def get(self, expr: Expr) -> T | None:
        """Return the value of an expression; None if there is none yet."""
        entry = self._entries.get(id(expr))
        return entry[1] if entry is not None and entry[0]() is expr else None

    def put(self, expr: Expr, value: T) -> T:
        """Keep the value of an expression, and return it."""
        place = id(expr)
        self._entries[place] = ref(expr, partial(self._forget, place)), value
        return value

    def _forget(self, place: int, gone: ref[Expr]) -> None:
        if place in self._entries and self._entries[place][0] is gone:
            del self._entries[place]


_named: ExpressionCache[Expr | Let | Literal["as it is"]] = ExpressionCache()
"""Cache of `with_shared_parts`: the form with named parts, or that there is none."""


def with_shared_parts(expr: Expr) -> Expr | Let:
    """Return an expression with its repeated and loop-invariant parts named; the result is cached. Arguments of
    `reveal` are left unchanged because they distinguish one `reveal` from another."""
    known = _named.get(expr)
    if known is None:
        if type(expr) in LEAVES:
            return expr
        shared = share_parts(expr, opaque=REVEAL, invariant=True) if _may_share(expr) else expr
        known = _named.put(expr, "as it is" if shared is expr else shared)
    return expr if isinstance(known, str) else known


def _may_share(expr: Expr) -> bool:
    return not all(isinstance(part, LEAVES) for part in parts_of(expr))


Comparison = Literal["==", "!=", "<", "<=", ">", ">="]
MIRRORED: Final[Mapping[str, Comparison]] = {"==": "==", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
"""The comparison operators, each with its equivalent for exchanged sides."""
NEGATED: Final[Mapping[str, Comparison]] = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
"""The comparison operators, each with the one that holds if it does not."""


def lit(value: str | float | bool | None) -> Literal_:
    """Return a literal."""
    return Literal_(value=value)


def compare(operator: Comparison, left: Expr, right: Expr | float) -> Binary:
    """Return a comparison of two values, or of a value with a number."""
    return Binary(operator=operator, left=left, right=lit(right) if isinstance(right, int | float) else right)


def negated(condition: Expr) -> Unary:
    """Return the expression that is true if a condition is false."""
    return Unary(operator="not", value=condition)


@overload
def all_of(first: Expr, /, *others: Expr | None) -> Expr: ...


@overload
def all_of(*conditions: Expr | None) -> Expr | None: ...


def all_of(*conditions: Expr | None) -> Expr | None:
    """Return the conjunction of conditions, from left to right, without those that are None; None if none is left.

    >>> from tripos_compiler.plan import Ref
    >>> a, b = Ref(path=("a",)), Ref(path=("b",))
    >>> all_of(a, None, b).left.path, all_of(None)
    (('a',), None)
    """
    return _joined("and", conditions)


@overload
def any_of(first: Expr, /, *others: Expr | None) -> Expr: ...


@overload
def any_of(*conditions: Expr | None) -> Expr | None: ...


def any_of(*conditions: Expr | None) -> Expr | None:
    """Return the disjunction of conditions, from left to right, without those that are None; None if none is left."""
    return _joined("or", conditions)


def _joined(operator: Literal["and", "or"], conditions: Iterable[Expr | None]) -> Expr | None:
    expr: Expr | None = None
    for condition in conditions:
        if condition is not None:
            expr = condition if expr is None else Binary(operator=operator, left=expr, right=condition)
    return expr
