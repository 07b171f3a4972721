"""The secrets that an expression tells, by what it is made of, and the places that a message shows.

There is one rule: a value tells all that its parts tell. The functions in `SHAPED` are excepted, which put elements of
lists or fields of records somewhere else as they are, those in `UNORDERED`, which give the same in whatever order a
list is, and `choose` where its condition is known: what is not looked at tells nothing. Whether a part has a value is
told with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from functools import cached_property
from operator import itemgetter
from typing import Protocol, assert_never

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.diagnostics.diagnostic import Label
from tripos_compiler.language.references import names_in, subexpressions
from tripos_compiler.library.definedness import arguments_of
from tripos_compiler.library.registry import FUNCTIONS
from tripos_compiler.plan import (
    AtElement,
    Binary,
    Branches,
    Call,
    Data,
    Each,
    Expr,
    Get,
    Hole,
    Items,
    Literal_,
    Loop,
    Passage,
    RecordValue,
    Ref,
    Unary,
)
from tripos_compiler.resolve.program import KINDS, Index, Program
from tripos_compiler.secrecy.labels import NONE, PUBLIC, Flow, Secrets, one_of_several, union, within
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.text import Span


@dataclass(frozen=True)
class SourcePlaces:
    """Finds the places of a program's parts. What was put together anew is found by what it is made of."""

    program: Program
    _steps: dict[str, dict[tuple[str, bool], tuple[int, Statement]]] = field(default_factory=dict, compare=False)
    """For every scenario its steps by their names, and its asks, which give their name to their turns too."""

    @property
    def index(self) -> Index:
        """Return what was noted while the program was lowered."""
        return self.program.index

    def of(self, part: Expr | Hole | Passage, otherwise: Span) -> Span:
        """Return where an expression, a hole or the condition of a passage is written."""
        known = self.index.places.get(id(part))
        if known is not None:
            return known[1]
        match part:
            case Hole(expr=expr):
                return self.of(expr, otherwise)
            case Passage(when=when):
                return self.of(when, otherwise) if when is not None else otherwise
        for each in subexpressions(part):
            known = self.index.places.get(id(each))
            if known is not None:
                return known[1]
        return otherwise

    def named(self, expr: Expr) -> Label | None:
        """Return what gives an expression a name, if anything does."""
        known = self.index.meanings.get(id(expr))
        return known[1] if known is not None else None

    def text(self, expr: Expr, otherwise: Span) -> str:
        """Return an expression as it is written, in one line."""
        span = self.of(expr, otherwise)
        return " ".join(span.source.text[span.start : span.end].split())

    def scenario(self, name: str) -> Statement:
        """Return the statement of a scenario. Raises `KeyError` where there is none."""
        return self._scenarios[name]

    @cached_property
    def _scenarios(self) -> dict[str, Statement]:
        return _first_named(self.program.of("scenario"))

    @cached_property
    def _datasets(self) -> dict[str, Statement]:
        return _first_named(self.program.of(*KINDS["dataset"]))

    def dataset(self, name: str) -> Statement:
        """Return the statement of a data set, by the name it has in the plan. Raises `KeyError` where there is none."""
        outer, dot, inner = name.partition(".")
        if not dot:
            return self._datasets[name]
        return _first_named(each for each in self.scenario(outer).body if each.construct in KINDS["dataset"])[inner]

    def step(self, scenario: str, name: str) -> Statement:
        """Return the statement of a step; that of the scenario, where it has none of its own. A turn of an ask with
        several prompts has that of the ask."""
        if scenario not in self._steps:
            named = [each for each in self.scenario(scenario).body if each.find_name("name") is not None]
            self._steps[scenario] = {}
            for place, each in enumerate(named):
                for asks in (False, True) if each.construct == "ask" else (False,):
                    self._steps[scenario].setdefault((each.name().text, asks), (place, each))
        known, turn_of = self._steps[scenario], name.partition("(")[0].partition(".")[0]
        found = [known[key] for key in ((name, False), (turn_of, True)) if key in known]
        return min(found, key=itemgetter(0))[1] if found else self.scenario(scenario)


def _first_named(statements: Iterable[Statement]) -> dict[str, Statement]:
    """Return statements by their names; the first of a name stands."""
    found: dict[str, Statement] = {}
    for each in statements:
        if (name := each.find_name("name")) is not None:
            found.setdefault(name.text, each)
    return found


class SecretTables(Protocol):
    """Known facts about data sets and functions."""

    @property
    def everything(self) -> Secrets:
        """Every secret that there is."""

    def rows(self, name: str) -> Flow:
        """Return what the rows of a data set tell, as a list of records."""

    def impure(self, call: Call) -> Secrets:
        """Return what a call of a user's function tells beside its arguments."""

    def tells_apart(self, column: Data) -> bool:
        """Return true if no two rows of a data set have the same in a column, and that is no secret."""


Revealed = Callable[[Call, "Flows"], None]
"""Is told of every use of `reveal`, with the flows of where it stands."""


@dataclass
class Flows:
    """The flows of expressions where `names` are in scope."""

    names: Mapping[str, Flow]
    """What is not among them is taken to tell every secret that there is."""
    tables: SecretTables
    revealed: Revealed
    places: SourcePlaces
    known: dict[int, tuple[Expr, Flow]] = field(default_factory=dict)
    """By identity; expressions share what a `let` names."""
    outer: Flows | None = None
    """The flows around it, which know of all that looks up none of its `own` names."""
    own: frozenset[str] = frozenset()
    looked_up: dict[int, tuple[Expr, set[str]]] = field(default_factory=dict)
    """By identity, the names in expressions."""

    def within(self, names: Mapping[str, Flow]) -> Flows:
        """Return the same where further names are in scope."""
        inner = Flows({**self.names, **names}, self.tables, self.revealed, self.places)
        inner.outer, inner.own, inner.looked_up = self, frozenset(names), self.looked_up
        return inner

    def all(self, *exprs: Expr | None) -> Secrets:
        """Return everything that expressions tell."""
        return union(*(self.of(expr).all for expr in exprs if expr is not None))

    def of(self, expr: Expr) -> Flow:
        """Return what an expression tells."""
        known = self.known.get(id(expr))
        if known is not None:
            return known[1]
        if self.outer is not None and self.own.isdisjoint(self._names(expr)):
            return self.outer.of(expr)
        flow = self._of(expr).onward(self.places.named(expr))
        self.known[id(expr)] = (expr, flow)
        return flow

    def _names(self, expr: Expr) -> set[str]:
        if id(expr) not in self.looked_up:
            self.looked_up[id(expr)] = (expr, names_in(expr))
        return self.looked_up[id(expr)][1]

    def _of(self, expr: Expr) -> Flow:
        match expr:
            case Literal_() | Branches():
                return PUBLIC
            case Ref(path=path):
                flow = self.names[path[0]] if path[0] in self.names else Flow(self.tables.everything)
                for name in path[1:]:
                    flow = flow.at(name)
                return flow
            case Get(of=of, field=name):
                return self.of(of).at(name)
            case Data(dataset=dataset, field=column):
                rows = self.tables.rows(dataset)
                return rows if column is None else rows.at(column)
            case Items(values=values):
                return Flow(self.all(*values), each=one_of_several(self.of(value) for value in values))
            case RecordValue(fields=fields):
                return Flow(fields={name: self.of(value) for name, value in fields.items()})
            case Unary(value=value):
                return Flow(self.of(value).all)
            case Binary(operator="and" | "or" as operator, left=left, right=right):
                decided = _decided(left)
                if decided is not None and decided == (operator == "or"):
                    return PUBLIC
                return Flow(self.all(left, right))
            case Binary(operator="in", left=left, right=right):
                return Flow(union(self.all(left), self.of(right).content))
            case Binary(left=left, right=right):
                return Flow(self.all(left, right))
            case Call():
                return self._call(expr)
            case AtElement(of=of):
                return Flow(self.of(of).all)
            case Each(loop=loop, value=value):
                source, inner = self.of(loop.of), self.of_elements(loop)
                if loop.where is None:
                    return Flow(source.what, each=inner.of(value), order=source.order)
                what = union(source.what, inner.all(loop.where))
                return _some(Flow(what, each=inner.of(value), order=source.order))
        assert_never(expr)

    def of_elements(self, loop: Loop) -> Flows:
        """Return the same where an element of a loop is in scope too."""
        source = self.of(loop.of)
        return self.within({loop.alias: Flow(source.all) if source.each is None else source.each})

    def _call(self, expr: Call) -> Flow:
        if expr.function not in FUNCTIONS:
            return Flow(union(self.all(*expr.args, *expr.named.values()), self.tables.impure(expr)))
        given = arguments_of(expr)
        if expr.function == "reveal":
            self.revealed(expr, self)
            return PUBLIC
        if expr.function == "choose" and (decided := _decided(given["condition"])) is not None:
            return self.of(given["this" if decided else "other"])
        shape = SHAPED.get(expr.function)
        if shape is not None:
            return shape(self, expr, given)
        if expr.function in UNORDERED:
            return Flow(union(*(self.of(each).content for each in (*expr.args, *expr.named.values()))))
        return Flow(self.all(*expr.args, *expr.named.values()))


def _decided(condition: Expr) -> bool | None:
    """Return what a condition is that is written out; None where it depends on anything."""
    match condition:
        case Literal_(value=bool() as value):
            return value
        case Unary(operator="not", value=value):
            inner = _decided(value)
            return None if inner is None else not inner
    return None


Shape = Callable[[Flows, Call, Mapping[str, Expr]], Flow]


def _length(flows: Flows, call: Call, given: Mapping[str, Expr]) -> Flow:
    """Return how many there are; of a text, how long it is."""
    flow = flows.of(given["value"])
    return Flow(flow.what if flow.each is not None else flow.all)


def _element(flows: Flows, call: Call, given: Mapping[str, Expr]) -> Flow:
    """Return one of the elements, which it is being told too."""
    flow, rest = flows.of(given["items"]), [each for name, each in given.items() if name != "items"]
    return _some(Flow(union(flow.what, flow.order), each=flow.element)).element.beside(flows.all(*rest))


def _without_last(flows: Flows, call: Call, given: Mapping[str, Expr]) -> Flow:
    """Return all of the elements but one."""
    flow = flows.of(given["items"])
    return _some(flow).beside(flow.order)


def _drawn(flows: Flows, call: Call, given: Mapping[str, Expr]) -> Flow:
    """Return some of the elements, by what they are: what stands there twice is drawn once."""
    flow, rest = flows.of(given["items"]), [each for name, each in given.items() if name != "items"]
    return _some(Flow(union(flow.content, flows.all(*rest)), each=flow.element))


def _sliced(flows: Flows, call: Call, given: Mapping[str, Expr]) -> Flow:
    """Return some of the elements of a list, by their places; of a text, a part of it."""
    flow, rest = flows.of(given["value"]), [each for name, each in given.items() if name != "value"]
    if flow.each is None:
        return Flow(flows.all(*given.values()))
    return _some(flow).beside(union(flow.order, flows.all(*rest)))


def _picked(flows: Flows, call: Call, given: Mapping[str, Expr]) -> Flow:
    """Return those elements of which the key is the one. Two columns of one data set go together in whatever order its
    rows are."""
    flow, keys = flows.of(given["items"]), flows.of(given["keys"])
    apart = NONE if _of_one_table(given["items"], given["keys"]) else union(flow.order, keys.order)
    what = union(flow.what, keys.content, apart, flows.all(given["key"]))
    return _some(Flow(what, each=flow.element, order=flow.order))


def _of_one_table(one: Expr, other: Expr) -> bool:
    return isinstance(one, Data) and isinstance(other, Data) and one.dataset == other.dataset


def _ordered(flows: Flows, call: Call, given: Mapping[str, Expr]) -> Flow:
    """Return elements of lists, chosen and put in order by what they are."""
    flow = one_of_several(flows.of(each) for each in (*call.args, *call.named.values()))
    return Flow(flow.content, each=flow.element)


def _sorted_by(flows: Flows, call: Call, given: Mapping[str, Expr]) -> Flow:
    """Return the elements, put in order by other values: those of equal values as they stood. Two columns of one data
    set go together in whatever order its rows are."""
    flow, values = flows.of(given["items"]), flows.of(given["values"])
    order = values.content
    of, by = given["items"], given["values"]
    if not (_of_one_table(of, by) and isinstance(by, Data) and flows.tables.tells_apart(by)):
        order = union(order, flow.order, values.order)
    return Flow(union(flow.what, values.what), each=flow.element, order=order)


def _default(flows: Flows, call: Call, given: Mapping[str, Expr]) -> Flow:
    """Return one value or the other, by whether the first is there."""
    return one_of_several((flows.of(given["value"]), flows.of(given["fallback"])))


def _readable(flows: Flows, call: Call, given: Mapping[str, Expr]) -> Flow:
    return flows.of(given["value"])


def _choose(flows: Flows, call: Call, given: Mapping[str, Expr]) -> Flow:
    """Return one value or the other, by the condition."""
    chosen = one_of_several((flows.of(given["this"]), flows.of(given["other"])))
    return chosen.beside(flows.all(given["condition"]))


def _examples(flows: Flows, call: Call, given: Mapping[str, Expr]) -> Flow:
    """Return the fields that are named, of the rows whose place is one of the points."""
    rows, names = flows.of(given["rows"]), [*subexpressions(given["at"]), *subexpressions(given["fields"])]
    written = [name.value for name in names if isinstance(name, Literal_)]
    if rows.each is None or len(written) + sum(isinstance(name, Items) for name in names) < len(names):
        return Flow(flows.all(*call.args, *call.named.values()))
    shown = Flow(union(*(rows.each.at(str(name)).all for name in written)))
    return _some(Flow(union(rows.what, rows.order, shown.what, flows.all(given["points"])), each=shown))


def _some(flow: Flow) -> Flow:
    """Return the same for some of the elements of a list: no longer whole columns."""
    each = flow.element.mapped(lambda secrets: within(secrets, lambda region: region.some))
    return Flow(flow.what, each=each, order=flow.order)


SHAPED: Mapping[str, Shape] = {
    "length": _length,
    "first": _element,
    "last": _element,
    "nth": _element,
    "without_last": _without_last,
    "drawn": _drawn,
    "picked": _picked,
    "slice": _sliced,
    "distinct": _ordered,
    "sorted": _ordered,
    "sorted_by": _sorted_by,
    "default": _default,
    "readable": _readable,
    "choose": _choose,
    "examples_for": _examples,
}
"""The functions of which a list, a record or an element keeps its shape; of all others, everything is told by all."""
UNORDERED = frozenset(
    {
        "length", "distinct", "sorted", "drawn", "sum", "min", "max", "any", "all",
        "precision", "recall", "f1", "jaccard", "overlap",
    }
)  # fmt: skip
"""The functions that give the same in whatever order a list is that they are given."""
