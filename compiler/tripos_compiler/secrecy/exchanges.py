"""Invariance of values when rows of a data set exchange their secrets.

An invariant value reveals which values a column has, but not which row has which. An expression is analysed by its
parts: a whole column is a list in the order of the rows, so an exchange only reorders it, and a function that ignores
the order of a list is invariant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from enum import IntEnum

from tripos_compiler.language.references import names_in, without_reveal
from tripos_compiler.library.definedness import find_undefined
from tripos_compiler.library.function import Shape
from tripos_compiler.library.registry import FUNCTIONS
from tripos_compiler.plan import (
    Binary,
    Call,
    Data,
    Derived,
    Each,
    Expr,
    GeneratedDataset,
    Get,
    Items,
    Literal_,
    Loop,
    RecordValue,
    Ref,
    Unary,
)
from tripos_compiler.secrecy.datasets import written_fields
from tripos_compiler.secrecy.flows import Flows
from tripos_compiler.secrecy.labels import Flow, Secret, split_by_source
from tripos_compiler.source.data_classes import dataclass


class Exchange(IntEnum):
    """The effect of an exchange on a value."""

    STAYS = 0
    OF_SECRETS = 1
    """It moves with the secrets of the row of a loop."""
    OF_PLACE = 2
    """It stays with the row of a loop."""
    ROWS = 3
    """A list of rows, each of which gets other secrets."""
    REORDERED = 4
    """A list of the same elements in another order."""
    CHANGES = 5


HasAll = Callable[[Data, Secret], bool]
"""Whether a column of a file data set has everything that a secret column of another one has in any row."""

Tied = Callable[[str, str], bool]
"""Whether a column of a data set depends on a secret together with something public of the row."""


@dataclass
class Exchanges:
    """The effects of an exchange on expressions of one place."""

    flows: Flows
    generated: Mapping[str, GeneratedDataset]
    has_all: HasAll
    tied: Tied
    loops: Mapping[str, Exchange] = field(default_factory=dict)
    """By alias, the effect on an element of each enclosing loop."""
    rows: Mapping[str, str] = field(default_factory=dict)
    """By alias, the data set whose rows a loop visits."""

    def is_invariant(self, expr: Expr) -> bool:
        """Return true if a value is invariant."""
        return self.of(expr) == Exchange.STAYS

    def of(self, expr: Expr) -> Exchange:
        """Return the effect on a value."""
        if names_in(expr).isdisjoint(self.loops) and not split_by_source(self.flows.of(expr).all)[0]:
            return Exchange.STAYS
        match expr:
            case Literal_():
                return Exchange.STAYS
            case Ref(path=path) if path[0] in self.loops:
                return self._of_element(path)
            case Data(dataset=dataset, field=column):
                return self._column(dataset, column)
            case Get(of=of, field=column):
                if isinstance(of, Data) and of.field is None:
                    return self._column(of.dataset, column)
                exchange = self.of(of)
                return Exchange.REORDERED if exchange == Exchange.ROWS else exchange
            case Each(loop=loop, value=value):
                return self._loop(loop, value)
            case Binary(operator="in", left=left, right=right):
                return _joined([self.of(left), self._unordered(right)])
            case Binary(left=left, right=right):
                return _joined(map(self.of, (left, right)))
            case Unary(value=value):
                return self.of(value)
            case Items(values=values):
                return _joined(map(self.of, values))
            case RecordValue(fields=fields):
                return _joined(map(self.of, fields.values()))
            case Call():
                return self._call(expr)
        return Exchange.CHANGES

    def _call(self, call: Call) -> Exchange:
        arguments = (*call.args, *call.named.values())
        function = FUNCTIONS.get(call.function)
        if function is None:
            return Exchange.CHANGES if self.flows.tables.impure(call) else _joined(map(self.of, arguments))
        if function.ignores_order:
            return _joined(self._unordered(argument, rows=function.shape is Shape.LENGTH) for argument in arguments)
        exchange = _joined(map(self.of, arguments))
        return Exchange.CHANGES if exchange == Exchange.ROWS and function.shape is Shape.FLAT else exchange

    def _unordered(self, expr: Expr, *, rows: bool = False) -> Exchange:
        """Return the effect on a list whose order does not matter."""
        exchange = self.of(expr)
        return Exchange.STAYS if exchange == Exchange.REORDERED or (rows and exchange == Exchange.ROWS) else exchange

    def _of_element(self, path: tuple[str, ...]) -> Exchange:
        """Return the effect on the element of a loop, or on a field of a row."""
        exchange = self.loops[path[0]]
        if exchange != Exchange.ROWS:
            return exchange
        if len(path) == 1:
            return Exchange.CHANGES
        flow: Flow = self.flows.names[path[0]]
        if not flow.at(path[1]).all:
            return Exchange.OF_PLACE
        column = self._column(self.rows[path[0]], path[1])
        return Exchange.OF_SECRETS if column == Exchange.REORDERED else Exchange.CHANGES

    def _loop(self, loop: Loop, value: Expr) -> Exchange:
        """Return the effect on a list made from the elements of another."""
        source, inner = self.of(loop.of), self.flows.of_elements(loop)
        loops = {alias: other_loop for alias, other_loop in self.loops.items() if alias != loop.alias}
        if source == Exchange.CHANGES:
            return source
        if source in (Exchange.ROWS, Exchange.REORDERED):  # in nested loops, every row meets every other
            exchange = Exchange.ROWS if source == Exchange.ROWS else Exchange.OF_SECRETS
            loops = {**dict.fromkeys(loops, Exchange.CHANGES), loop.alias: exchange}
        elif source != Exchange.STAYS:
            loops[loop.alias] = source
        of, rows = without_reveal(loop.of), dict(self.rows)
        if isinstance(of, Data):
            rows[loop.alias] = of.dataset
        inside = Exchanges(inner, self.generated, self.has_all, self.tied, loops, rows)
        found = _joined(inside.of(expr) for expr in (value, loop.where) if expr is not None)
        if source in (Exchange.ROWS, Exchange.REORDERED):
            return Exchange.CHANGES if found == Exchange.CHANGES else Exchange.REORDERED
        return _joined((source, found))

    def _column(self, dataset: str, column: str | None) -> Exchange:
        """Return the effect on a whole column, or on all rows, of a data set.

        If a data set has only some rows of another, rows may exchange their secrets with rows it does not have.
        """
        rows = self.flows.tables.rows(dataset)
        if split_by_source(rows.structure)[0]:
            return Exchange.CHANGES
        if column is None:
            return Exchange.ROWS
        flow = rows.at(column)
        if dataset in self.generated:
            return self._made_column(self.generated[dataset], column, flow)
        if self.tied(dataset, column):
            return Exchange.CHANGES
        secrets = [secret for secret in split_by_source(flow.element.all)[0] if secret.dataset != dataset]
        whole = all(self.has_all(Data(dataset=dataset, field=column), other) for other in secrets)
        return Exchange.REORDERED if whole else Exchange.CHANGES

    def _made_column(self, made: GeneratedDataset, column: str, flow: Flow) -> Exchange:
        """Return the effect on a column of a generated data set.

        It changes if the column is written with knowledge of other secrets or computed from them, or if rows are left
        out.
        """
        secrets = split_by_source(flow.element.all)[0]
        if all((secret.dataset, secret.column) == (made.name, column) for secret in secrets):
            return Exchange.REORDERED
        if column in written_fields(made) or made.source is None or not _keeps_all(made):
            return Exchange.CHANGES
        if isinstance(made.source, Data) and made.source.field is None:
            return self._column(made.source.dataset, column)
        exchange = self.of(made.source)
        return Exchange.REORDERED if exchange in (Exchange.STAYS, Exchange.REORDERED) else Exchange.CHANGES


def _keeps_all(made: GeneratedDataset) -> bool:
    """Return true if every source row becomes a row: no condition or role can refuse one."""
    if made.where is not None or made.require or made.unique or made.distinct:
        return False
    return all(isinstance(step, Derived) and not any(find_undefined(step.value)) for step in made.steps)


def _joined(parts: Iterable[Exchange]) -> Exchange:
    """Return the effect on a value computed from several."""
    moving = {part for part in parts if part != Exchange.STAYS}
    if not moving:
        return Exchange.STAYS
    if len(moving) == 1 and moving <= {Exchange.OF_SECRETS, Exchange.OF_PLACE}:
        return moving.pop()
    return Exchange.CHANGES
