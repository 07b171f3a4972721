"""Taint analysis of expressions: the secrets that a value depends on, and the source spans for messages.

A value depends on everything that its parts depend on. The exceptions are the functions with a `Shape`, which move
elements of lists or fields of records unchanged, those that ignore the order of a list, and a choice with a constant
condition. Whether a value is defined is revealed together with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from operator import itemgetter
from typing import Protocol, assert_never

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.diagnostics.diagnostic import Label
from tripos_compiler.language.references import names_in, subexpressions
from tripos_compiler.library.calls import arguments_of
from tripos_compiler.library.function import Evaluation, Shape
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
from tripos_compiler.secrecy.labels import NONE, PUBLIC, Flow, Secrets, join_flows, narrow_regions, union
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.text import Span

# Source spans


@dataclass(frozen=True)
class SourceMap:
    """Source spans of a program's parts. A derived expression is located by its subexpressions."""

    program: Program
    _steps: dict[str, dict[tuple[str, bool], tuple[int, Statement]]] = field(default_factory=dict, compare=False)
    """By scenario, its steps by name; the name of an ask also stands for its turns."""

    @property
    def index(self) -> Index:
        """The symbol index of the program."""
        return self.program.index

    def of(self, part: Expr | Hole | Passage, default: Span) -> Span:
        """Return the span of an expression, a hole, or the condition of a passage."""
        known = self.index.places.get(id(part))
        if known is not None:
            return known[1]
        match part:
            case Hole(expr=expr):
                return self.of(expr, default)
            case Passage(when=when):
                return self.of(when, default) if when is not None else default
        for subexpression in subexpressions(part):
            known = self.index.places.get(id(subexpression))
            if known is not None:
                return known[1]
        return default

    def named(self, expr: Expr) -> Label | None:
        """Return the label of the name of an expression; None without one."""
        known = self.index.meanings.get(id(expr))
        return known[1] if known is not None else None

    def text(self, expr: Expr, default: Span) -> str:
        """Return the source text of an expression on one line."""
        return self.of(expr, default).excerpt

    def scenario(self, name: str) -> Statement:
        """Return the statement of a scenario. Raises `KeyError` if there is none."""
        return self._scenarios[name]

    @cached_property
    def _scenarios(self) -> dict[str, Statement]:
        return _first_named(self.program.of("scenario"))

    @cached_property
    def _datasets(self) -> dict[str, Statement]:
        return _first_named(self.program.of(*KINDS["dataset"]))

    def dataset(self, name: str) -> Statement:
        """Return the statement of a data set by its name in the plan. Raises `KeyError` if there is none."""
        outer, dot, inner = name.partition(".")
        if not dot:
            return self._datasets[name]
        return _first_named(
            statement for statement in self.scenario(outer).body if statement.construct in KINDS["dataset"]
        )[inner]

    def step(self, scenario: str, name: str, fingerprint: str = "") -> Statement:
        """Return the statement of a step, or else of its scenario. A turn of a multi-turn ask has the statement of the
        ask; of asks that share a name, it is the one with this fingerprint.
        """
        span = self.index.asked.get((scenario, name, fingerprint))
        if span is not None:
            return next(statement for statement in self.scenario(scenario).of("ask") if statement.name().span == span)
        if scenario not in self._steps:
            named = [statement for statement in self.scenario(scenario).body if statement.find_name("name") is not None]
            self._steps[scenario] = {}
            for place, statement in enumerate(named):
                for asks in (False, True) if statement.construct == "ask" else (False,):
                    self._steps[scenario].setdefault((statement.name().text, asks), (place, statement))
        known, turn_of = self._steps[scenario], name.partition("(")[0].partition(".")[0]
        matches = [known[key] for key in ((name, False), (turn_of, True)) if key in known]
        return min(matches, key=itemgetter(0))[1] if matches else self.scenario(scenario)


def _first_named(statements: Iterable[Statement]) -> dict[str, Statement]:
    """Return statements by name. The first one wins."""
    first: dict[str, Statement] = {}
    for statement in statements:
        if (name := statement.find_name("name")) is not None:
            first.setdefault(name.text, statement)
    return first


# Flows of expressions


class SecretTables(Protocol):
    """Facts about data sets and functions."""

    @property
    def everything(self) -> Secrets:
        """All secrets of the program."""

    def rows(self, name: str) -> Flow:
        """Return the flow of the rows of a data set, a list of records."""

    def impure(self, call: Call) -> Secrets:
        """Return the secrets that a call of a user's function can read besides its arguments."""

    def has_unique_values(self, column: Data) -> bool:
        """Return true if the values of a column are public and different in all rows."""


Revealed = Callable[[Call, "Flows"], None]
"""Called for every use of `reveal`, with the flows of its context."""


@dataclass
class Flows:
    """The flows of expressions, with `names` in scope."""

    names: Mapping[str, Flow]
    """An unknown name is assumed to depend on all secrets."""
    tables: SecretTables
    revealed: Revealed
    places: SourceMap
    cache: dict[int, tuple[Expr, Flow]] = field(default_factory=dict)
    """Memo by identity; expressions share the value of a `let`."""
    outer: Flows | None = None
    """The flows of the enclosing scope, which memoise every expression without one of the `row_names`."""
    row_names: frozenset[str] = frozenset()
    names_by_expression: dict[int, tuple[Expr, set[str]]] = field(default_factory=dict)
    """Memo of the names in expressions, by identity."""

    def within(self, names: Mapping[str, Flow]) -> Flows:
        """Return the flows with further names in scope."""
        inner = Flows({**self.names, **names}, self.tables, self.revealed, self.places)
        inner.outer, inner.row_names, inner.names_by_expression = self, frozenset(names), self.names_by_expression
        return inner

    def all(self, *exprs: Expr | None) -> Secrets:
        """Return all secrets that the expressions depend on."""
        return union(*(self.of(expr).all for expr in exprs if expr is not None))

    def of(self, expr: Expr) -> Flow:
        """Return the flow of an expression."""
        known = self.cache.get(id(expr))
        if known is not None:
            return known[1]
        if self.outer is not None and self.row_names.isdisjoint(self._names(expr)):
            return self.outer.of(expr)
        flow = self._of(expr).extend_trail(self.places.named(expr))
        self.cache[id(expr)] = (expr, flow)
        return flow

    def _names(self, expr: Expr) -> set[str]:
        if id(expr) not in self.names_by_expression:
            self.names_by_expression[id(expr)] = (expr, names_in(expr))
        return self.names_by_expression[id(expr)][1]

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
                return Flow(self.all(*values), elements=join_flows(self.of(value) for value in values))
            case RecordValue(fields=fields):
                return Flow(fields={name: self.of(value) for name, value in fields.items()})
            case Unary(value=value):
                return Flow(self.of(value).all)
            case Binary(operator="and" | "or" as operator, left=left, right=right):
                constant = _constant_value(left)
                if constant is not None and constant == (operator == "or"):
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
                    return Flow(source.structure, elements=inner.of(value), order=source.order)
                what = union(source.structure, inner.all(loop.where))
                return _subset(Flow(what, elements=inner.of(value), order=source.order))
        assert_never(expr)

    def of_elements(self, loop: Loop) -> Flows:
        """Return the flows with an element of a loop in scope."""
        source = self.of(loop.of)
        return self.within({loop.alias: Flow(source.all) if source.elements is None else source.elements})

    def _call(self, expr: Call) -> Flow:
        function = FUNCTIONS.get(expr.function)
        if function is None:
            return Flow(union(self.all(*expr.args, *expr.named.values()), self.tables.impure(expr)))
        arguments = arguments_of(expr)
        if expr.is_reveal:
            self.revealed(expr, self)
            return PUBLIC
        if function.evaluation is Evaluation.CHOICE:
            return _choice(self, arguments)
        if function.evaluation is Evaluation.FALLBACK:
            return join_flows((self.of(arguments["value"]), self.of(arguments["fallback"])))
        rule = SHAPE_RULES.get(function.shape)
        if rule is not None:
            return rule(self, expr, [arguments[name] for name in function.names if name in arguments])
        if function.ignores_order:
            return Flow(union(*(self.of(argument).content for argument in (*expr.args, *expr.named.values()))))
        return Flow(self.all(*expr.args, *expr.named.values()))


def _constant_value(condition: Expr) -> bool | None:
    """Return the value of a constant condition; None for others."""
    match condition:
        case Literal_(value=bool() as value):
            return value
        case Unary(operator="not", value=value):
            inner = _constant_value(value)
            return None if inner is None else not inner
    return None


def _choice(flows: Flows, arguments: Mapping[str, Expr]) -> Flow:
    """Either value, depending on the condition."""
    constant = _constant_value(arguments["condition"])
    if constant is not None:
        return flows.of(arguments["this" if constant else "other"])
    chosen = join_flows((flows.of(arguments["this"]), flows.of(arguments["other"])))
    return chosen.with_structure(flows.all(arguments["condition"]))


# Functions that keep the shape of their arguments

ShapeRule = Callable[[Flows, Call, Sequence[Expr]], Flow]
"""Returns the flow of a call from its arguments in the order of the parameters."""


def _length(flows: Flows, call: Call, arguments: Sequence[Expr]) -> Flow:
    """The number of elements; for a text, its length."""
    flow = flows.of(arguments[0])
    return Flow(flow.structure if flow.elements is not None else flow.all)


def _item(flows: Flows, call: Call, arguments: Sequence[Expr]) -> Flow:
    """One element. The position of the element is revealed too."""
    flow, exprs = flows.of(arguments[0]), arguments[1:]
    return _subset(Flow(union(flow.structure, flow.order), elements=flow.element)).element.with_structure(
        flows.all(*exprs)
    )


def _sample(flows: Flows, call: Call, arguments: Sequence[Expr]) -> Flow:
    """Some elements, selected by value; equal elements are drawn once."""
    flow, exprs = flows.of(arguments[0]), arguments[1:]
    return _subset(Flow(union(flow.content, flows.all(*exprs)), elements=flow.element))


def _slice(flows: Flows, call: Call, arguments: Sequence[Expr]) -> Flow:
    """Some elements of a list, by position; or a part of a text."""
    flow, exprs = flows.of(arguments[0]), arguments[1:]
    if flow.elements is None:
        return Flow(flows.all(*arguments))
    return _subset(flow).with_structure(union(flow.order, flows.all(*exprs)))


def _matching(flows: Flows, call: Call, arguments: Sequence[Expr]) -> Flow:
    """The elements whose key has a given value. Two columns of one data set correspond, whatever the order of
    its rows.
    """
    items, of, key = arguments
    flow, keys = flows.of(items), flows.of(of)
    apart = NONE if _of_one_table(items, of) else union(flow.order, keys.order)
    what = union(flow.structure, keys.content, apart, flows.all(key))
    return _subset(Flow(what, elements=flow.element, order=flow.order))


def _of_one_table(one: Expr, other: Expr) -> bool:
    return isinstance(one, Data) and isinstance(other, Data) and one.dataset == other.dataset


def _ordered(flows: Flows, call: Call, arguments: Sequence[Expr]) -> Flow:
    """Elements of lists, selected and ordered by value."""
    flow = join_flows(flows.of(argument) for argument in (*call.args, *call.named.values()))
    return Flow(flow.content, elements=flow.element)


def _sorted(flows: Flows, call: Call, arguments: Sequence[Expr]) -> Flow:
    """The elements ordered by other values; ties keep their order. Two columns of one data set correspond, whatever the
    order of its rows.
    """
    of, by = arguments
    flow, values = flows.of(of), flows.of(by)
    order = values.content
    if not (_of_one_table(of, by) and isinstance(by, Data) and flows.tables.has_unique_values(by)):
        order = union(order, flow.order, values.order)
    return Flow(union(flow.structure, values.structure), elements=flow.element, order=order)


def _same(flows: Flows, call: Call, arguments: Sequence[Expr]) -> Flow:
    return flows.of(arguments[0])


def _examples(flows: Flows, call: Call, arguments: Sequence[Expr]) -> Flow:
    """The named fields of the rows whose place is one of the points."""
    points, of, at, fields = arguments
    rows, names = flows.of(of), [*subexpressions(at), *subexpressions(fields)]
    written = [name.value for name in names if isinstance(name, Literal_)]
    if rows.elements is None or len(written) + sum(isinstance(name, Items) for name in names) < len(names):
        return Flow(flows.all(*call.args, *call.named.values()))
    flow = Flow(union(*(rows.elements.at(str(name)).all for name in written)))
    return _subset(Flow(union(rows.structure, rows.order, flow.structure, flows.all(points)), elements=flow))


def _subset(flow: Flow) -> Flow:
    """Return the flow of some elements of a list, which are no longer whole columns."""
    element = flow.element.map_secrets(lambda secrets: narrow_regions(secrets, lambda region: region.subset))
    return Flow(flow.structure, elements=element, order=flow.order)


SHAPE_RULES: Mapping[Shape, ShapeRule] = {
    Shape.SAME: _same,
    Shape.LENGTH: _length,
    Shape.ITEM: _item,
    Shape.SLICE: _slice,
    Shape.SAMPLE: _sample,
    Shape.ORDERED: _ordered,
    Shape.SORTED: _sorted,
    Shape.MATCHING: _matching,
    Shape.EXAMPLES: _examples,
}
"""Flows of the functions that keep the shape of a list, record or element. With any other function, every part of the
result depends on every argument.
"""
