"""Types, expressions and templates of a plan.

The parts that an expression has several times, each named once.

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
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple, assert_never, get_args
from weakref import ref

from pydantic import AfterValidator, Field, SerializationInfo, SerializerFunctionWrapHandler, WrapSerializer

from tripos_compiler.plan.base import Ordered, Part


class TextType(Part):
    kind: Literal["text"] = "text"


class IntegerType(Part):
    """A whole number; `low` and `high` are inclusive bounds, absent where there is none."""

    kind: Literal["integer"] = "integer"
    low: int | None = None
    high: int | None = None


class NumberType(Part):
    kind: Literal["number"] = "number"


class BoolType(Part):
    kind: Literal["bool"] = "bool"


class ChoiceType(Part):
    """One of some names. `axis` names the axis whose values these are, where there is one; `worth` is the number that
    each of the names stands for, where they stand for numbers."""

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
    """An image, which a value names by its content: `language.Medium`."""

    kind: Literal["image"] = "image"


class AudioType(Part):
    """A recording, named as an image is."""

    kind: Literal["audio"] = "audio"


class FileType(Part):
    """A file, such as a PDF, named as an image is."""

    kind: Literal["file"] = "file"


class OptionalType(Part):
    kind: Literal["optional"] = "optional"
    of: Type


class PathType(Part):
    """A way through a tree: the names from its root to a node, joined by ` / `."""

    kind: Literal["path"] = "path"


class TreeType(Part):
    """A whole tree, which only functions such as `leaves` take."""

    kind: Literal["tree"] = "tree"
    tree: str


class JsonType(Part):
    """Any value of JSON. `form` says which: `tools` are functions that a model may call, each with the JSON Schema of
    its parameters, and `calls` are calls of them, each with the values that every argument may have."""

    kind: Literal["json"] = "json"
    form: Literal["json", "tools", "calls"] = "json"


class MetricsType(Part):
    """The metrics allocated to the scenario at hand, printable as a rubric."""

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


class Literal_(Part):  # noqa: N801 - `Literal` is taken by typing
    op: Literal["literal"] = "literal"
    value: str | int | float | bool | None


class Ref(Part):
    """A name and the fields below it: `("item", "question")`, `("answer", "text")`, `("stage",)`."""

    op: Literal["ref"] = "ref"
    path: tuple[str, ...]


class Call(Part):
    op: Literal["call"] = "call"
    function: str
    args: tuple[Inner, ...] = ()
    named: dict[str, Inner] = {}


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
    """A list written out: `("a", "b")`."""

    op: Literal["items"] = "items"
    values: tuple[Inner, ...]


class RecordValue(Ordered):
    """A record written out. A field that has no value is missing alone, and the record has none only as a whole."""

    _mapping = "fields"
    op: Literal["record"] = "record"
    fields: dict[str, Inner]


class Get(Part):
    """A field of a record that an expression yields, `last(history).text`; of a list of records, that of each."""

    op: Literal["get"] = "get"
    of: Inner
    field: str


class Data(Part):
    """All rows of a data set, or one field of each of them."""

    op: Literal["data"] = "data"
    dataset: str
    field: str | None = None


class Branches(Part):
    """A tree as a value."""

    op: Literal["tree"] = "tree"
    tree: str


class Loop(Part):
    """The elements of a list, each known as `alias`; those for which `where` holds. A list of more than `most` has no
    value."""

    alias: str
    of: Expr
    where: Expr | None = None
    most: int | None = None


class Each(Part):
    """The value of an expression for each element of a list, a list too."""

    op: Literal["each"] = "each"
    loop: Loop
    value: Expr


class AtElement(Part):
    """The value that a judge gave for the elements at hand of the loops that it stands in; `of` names its verdicts."""

    op: Literal["at"] = "at"
    of: Ref
    loops: tuple[str, ...]


class Let(Part):
    """An expression whose parts that stand in several places have a name, `$1` and so on. `of`, and each of `values`,
    refer to them. A long expression is written so; in a plan that is read, the parts stand where their names are."""

    op: Literal["let"] = "let"
    values: dict[str, Inner]
    of: Inner


AnyExpr = Literal_ | Ref | Call | Unary | Binary | Items | RecordValue | Get | Data | Branches | Each | AtElement
EXPRESSIONS: Final = get_args(AnyExpr)
"""The classes of expressions."""
Inner = Annotated[AnyExpr, Field(discriminator="op")]
"""An expression as a part of another."""


class LongForm(NamedTuple):
    """The form of a long expression: how it is written, with a name for each part that it has several times, and read
    again."""

    written: Callable[[Expr | Let], Expr | Let]
    read: Callable[[Let], Expr]


long_forms: list[LongForm] = []
"""The form, which `sharing` knows."""


def _write(expr: Expr | Let, write: SerializerFunctionWrapHandler, info: SerializationInfo) -> Any:
    found = long_forms[0].written(expr)
    return found.model_dump(mode=info.mode) if isinstance(found, Let) else write(found)


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


class Hole(Part):
    """A placeholder of a template. What fills it is printed once and never read as a template again."""

    expr: Expr
    type: Type


class Passage(Part):
    """A part of a template that is printed where `when` holds, and always where there is none."""

    when: Expr | None = None
    parts: tuple[str | Hole, ...]


class Template(Part):
    """Text and holes in the order in which they are printed; or passages, between which an empty line is printed."""

    parts: tuple[str | Hole | Passage, ...]


Texts = dict[str, Template]
"""A template for each language of the benchmark; text that was written once stands under every language."""

Labels = dict[str, str]
"""Plain text for each language of the benchmark."""


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
