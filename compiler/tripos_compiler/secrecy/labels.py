"""Labels of the taint analysis: the secrets that a value depends on, including its mere presence.

A secret is a column of a data set, in certain rows. The lattice is that of sets of secrets ordered by inclusion, with
union as join. A value has a `Flow` in the shape of the value: what a list or record as a whole depends on is separate
from what its elements and fields depend on, so that `length(item)` is public even if `item.answer` is secret.

The rows of a secret are a region: a set of conditions that all hold, such as `split == "train"`, or `fold` different
from that of the current row. Two regions are disjoint if no row can satisfy the conditions of both. A condition that is
not understood is dropped, so a region is never smaller than it claims to be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from types import MappingProxyType
from typing import Literal

from tripos_compiler.diagnostics.diagnostic import Label
from tripos_compiler.plan import MIRRORED, NEGATED, Binary, Expr, Items, Literal_, Ref, Unary
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.text import Span

# Regions of rows

Value = str | int | float | bool | None
Operator = Literal["==", "!=", "<", "<=", ">", ">=", "in", "not in"]
OPPOSITE: Mapping[str, Operator] = {**NEGATED, "in": "not in", "not in": "in"}


@dataclass(frozen=True)
class Condition:
    """A condition on a column of a row, compared with `values` or with the column `own_column` of the current row."""

    column: str
    operator: Operator
    values: tuple[Value, ...] = ()
    own_column: str | None = None


@dataclass(frozen=True)
class Region:
    """The rows that satisfy all of `conditions`.

    `part`: any few of these rows, chosen by something else. `current`: the current row. `other`: rows different from
    those that contain the secret, as if every row of a generated data set holds all answers of a file; a condition on
    the generated rows then says nothing about the rows of the file."""

    conditions: frozenset[Condition] = frozenset()
    part: bool = False
    current: bool = False
    other: bool = False

    @property
    def is_everything(self) -> bool:
        """True if it is all rows of the data set."""
        return not (self.conditions or self.part or self.current)

    def where(self, conditions: frozenset[Condition]) -> Region:
        """Return the subset for which these conditions hold too."""
        return self if self.current or self.other else replace(self, conditions=self.conditions | conditions)

    @property
    def subset(self) -> Region:
        """An unknown subset of its rows."""
        return self if self.current else replace(self, part=True)

    @property
    def elsewhere(self) -> Region:
        """The same secret in rows other than those that contain it."""
        return self if self.current else replace(self, other=True)


ALL_ROWS = Region()
CURRENT_ROW = Region(current=True)

Columns = Callable[[Expr], tuple[str, bool] | None]
"""The public column that an expression is, and whether it is one of the current row; None for other expressions."""


def conditions(expr: Expr, column: Columns) -> frozenset[Condition]:
    """Return the conditions on public columns that hold if the expression holds.

    >>> where = Binary(operator="==", left=Ref(path=("s", "split")), right=Literal_(value="train"))
    >>> conditions(where, lambda expr: (expr.path[1], False) if expr.op == "ref" else None)
    frozenset({Condition(column='split', operator='==', values=('train',), own_column=None)})
    """
    return frozenset(_conditions(expr, column, True))


def _conditions(expr: Expr, column: Columns, holds: bool) -> Iterator[Condition]:
    match expr:
        case Unary(operator="not", value=value):
            yield from _conditions(value, column, not holds)
        case Binary(operator="and" | "or" as joint, left=left, right=right):
            if (joint == "and") == holds:
                yield from _conditions(left, column, holds)
                yield from _conditions(right, column, holds)
        case Binary(operator=written, left=left, right=right) if written in OPPOSITE:
            operator = OPPOSITE[OPPOSITE[written] if holds else written]
            yield from _comparison(left, operator, right, column)
            if operator in MIRRORED:
                yield from _comparison(right, MIRRORED[operator], left, column)
        case Ref():
            reference = column(expr)
            if reference is not None and not reference[1]:
                yield Condition(reference[0], "==", (holds,))


def _comparison(left: Expr, operator: Operator, right: Expr, column: Columns) -> Iterator[Condition]:
    reference = column(left)
    if reference is None or reference[1]:
        return
    other = column(right)
    if other is not None and other[1]:
        yield Condition(reference[0], operator, own_column=other[0])
    match right:
        case Literal_(value=value):
            yield Condition(reference[0], operator, (value,))
        case Items(values=values) if operator in ("in", "not in"):
            written = [value.value for value in values if isinstance(value, Literal_)]
            if len(written) == len(values):
                yield Condition(reference[0], operator, tuple(written))


def are_disjoint(one: frozenset[Condition], other: frozenset[Condition], at_hand: bool = True) -> bool:
    """Return true if no row satisfies both. With `at_hand`, the second conditions are on the current row.

    >>> train, test = (frozenset({Condition("split", "==", (name,))}) for name in ("train", "test"))
    >>> other = frozenset({Condition("fold", "!=", own_column="fold")})
    >>> are_disjoint(train, test), are_disjoint(train, train), are_disjoint(other, frozenset())
    (True, False, True)
    """
    both = one | other
    if at_hand and any(
        condition.own_column == condition.column and condition.operator in ("!=", "<", ">") for condition in both
    ):
        return True
    return any(
        _are_contradictory([condition for condition in both if condition.column == name])
        for name in {condition.column for condition in both}
    )


def _are_contradictory(of_column: list[Condition]) -> bool:
    """Return true if conditions on one column exclude every value."""
    written = [condition for condition in of_column if condition.own_column is None]
    allowed: set[Value] | None = None
    for condition in written:
        if condition.operator in ("==", "in"):
            allowed = set(condition.values) if allowed is None else allowed & set(condition.values)
    if allowed is not None:
        return not any(all(_may_hold(value, condition) for condition in written) for value in allowed)
    low = [
        (condition.values[0], condition.operator == ">") for condition in written if condition.operator in (">", ">=")
    ]
    high = [
        (condition.values[0], condition.operator == "<") for condition in written if condition.operator in ("<", "<=")
    ]
    return any(_is_empty_range(least, most, strict or below) for least, strict in low for most, below in high)


def _is_empty_range(least: Value, most: Value, strict: bool) -> bool:
    """Return true if no value lies between two bounds."""
    if not isinstance(least, int | float) or not isinstance(most, int | float):
        return False
    return least > most or (strict and least == most)


def _may_hold(value: Value, condition: Condition) -> bool:
    """Return true if a condition can hold for a value. Values that cannot be compared may satisfy it."""
    match condition.operator:
        case "==" | "in":
            return value in condition.values
        case "!=" | "not in":
            return value not in condition.values
    bound = condition.values[0]
    if not isinstance(value, int | float) or not isinstance(bound, int | float):
        return True
    return {"<": value < bound, "<=": value <= bound, ">": value > bound, ">=": value >= bound}[condition.operator]


# Secrets and their trails

TaintTrail = tuple[Label, ...]
"""The path of a secret, step by step, from its secret field."""

MOST_TRAILS = 6
"""The most trails of a secret that are kept at one place, always including the shortest."""


@dataclass(frozen=True)
class Secret:
    """A secret column of a data set, in the rows of a region."""

    dataset: str
    column: str
    rows: Region = ALL_ROWS

    @property
    def of_model(self) -> bool:
        """True for the identity of the model, as far as a reply reveals it; this is no secret of the data."""
        return not self.dataset


Secrets = Mapping[Secret, tuple[TaintTrail, ...]]
"""Secrets, each with its trails, the shortest first."""

NONE: Secrets = MappingProxyType({})


def union(*sets: Secrets) -> Secrets:
    """Return all secrets of several sets with their trails."""
    nonempty = [secrets for secrets in sets if secrets]
    if len(nonempty) < 2:
        return nonempty[0] if nonempty else NONE
    joined: dict[Secret, tuple[TaintTrail, ...]] = {}
    for secrets in nonempty:
        for secret, trails in secrets.items():
            existing = joined.get(secret)
            if existing is None:
                joined[secret] = trails
            elif existing is not trails:
                joined[secret] = tuple(sorted({*existing, *trails}, key=_length)[:MOST_TRAILS])
    return joined


def _length(trail: TaintTrail) -> tuple[int, tuple[tuple[int, str], ...]]:
    return len(trail), tuple((label.span.start, label.text) for label in trail)


def extend_trail(secrets: Secrets, step: Label | None) -> Secrets:
    """Return the secrets with a step added to each trail."""
    if step is None or not secrets:
        return secrets
    return {secret: tuple(_on(trail, step) for trail in trails) for secret, trails in secrets.items()}


def _on(trail: TaintTrail, step: Label) -> TaintTrail:
    return trail if trail and trail[-1] == step else (*trail, step)


def rename_source(secrets: Secrets, name: str) -> Secrets:
    """Return the secrets with their source renamed to the local name of the field, if they come directly from it."""
    return {
        secret: tuple((Label(trail[0].span, f"`{name}` is secret"),) if len(trail) == 1 else trail for trail in trails)
        for secret, trails in secrets.items()
    }


def shortest_trail(secrets: Secrets) -> TaintTrail:
    """Return the shortest trail of any of these secrets. There must be one."""
    return min((trail for trails in secrets.values() for trail in trails), key=_length)


def split_by_source(secrets: Secrets) -> tuple[Secrets, Secrets]:
    """Return the secrets of the data, and separately those about the model."""
    data = {secret: trails for secret, trails in secrets.items() if not secret.of_model}
    return data, {secret: trails for secret, trails in secrets.items() if secret.of_model}


def narrow_regions(secrets: Secrets, narrow: Callable[[Region], Region]) -> Secrets:
    """Return the same secrets with their regions narrowed."""
    narrowed: dict[Secret, tuple[TaintTrail, ...]] = {}
    for secret, trails in secrets.items():
        kept = Secret(secret.dataset, secret.column, narrow(secret.rows))
        narrowed[kept] = (*narrowed.get(kept, ()), *trails)
    return narrowed


# Flows


@dataclass(frozen=True)
class Flow:
    """The secrets that a value depends on.

    `structure`: revealed by its presence, its value and its length. `fields`: by the fields of a record. `elements`: by
    the elements of a list. `order`: by the order of a list. For a value without known fields or elements, `structure`
    is everything."""

    structure: Secrets = field(default_factory=lambda: NONE)
    fields: Mapping[str, Flow] = field(default_factory=dict)
    elements: Flow | None = None
    order: Secrets = field(default_factory=lambda: NONE)

    @property
    def all(self) -> Secrets:
        """All secrets it depends on."""
        return union(self.content, self.order)

    @property
    def content(self) -> Secrets:
        """All secrets it depends on if the order of lists is ignored."""
        inside = [flow.all for flow in self.fields.values()]
        return union(self.structure, *inside, self.elements.all if self.elements is not None else NONE)

    def at(self, name: str) -> Flow:
        """Return the flow of a field of the record; for a list of records, the list of that field."""
        if self.elements is not None:
            return Flow(self.structure, elements=self.elements.at(name), order=self.order)
        inner = self.fields.get(name)
        return Flow(self.all) if inner is None else inner.with_structure(self.structure)

    @property
    def element(self) -> Flow:
        """The flow of an element of the list, including its membership but not its position."""
        return Flow(self.all) if self.elements is None else self.elements.with_structure(self.structure)

    def with_structure(self, what: Secrets) -> Flow:
        """Return the flow with further secrets that its presence reveals."""
        return self if not what else Flow(union(self.structure, what), self.fields, self.elements, self.order)

    def map_secrets(self, change: Callable[[Secrets], Secrets]) -> Flow:
        """Return the flow with every set of secrets changed."""
        fields = {name: inner.map_secrets(change) for name, inner in self.fields.items()}
        flow = self.elements.map_secrets(change) if self.elements is not None else None
        return Flow(change(self.structure), fields, flow, change(self.order))

    def extend_trail(self, step: Label | None) -> Flow:
        """Return the flow with a step added to each trail."""
        return self if step is None else self.map_secrets(lambda secrets: extend_trail(secrets, step))


PUBLIC = Flow()


def join_flows(flows: Iterable[Flow]) -> Flow:
    """Return the flow of a value that is any one of several."""
    known = [flow for flow in flows if flow != PUBLIC]
    if len(known) < 2:
        return known[0] if known else PUBLIC
    names = {name for flow in known for name in flow.fields}
    element = join_flows(flow.element for flow in known) if any(flow.elements is not None for flow in known) else None
    fields = {name: join_flows(flow.at(name) for flow in known) for name in sorted(names)} if element is None else {}
    return Flow(union(*(flow.structure for flow in known)), fields, element, union(*(flow.order for flow in known)))


# Facts about items and roles


@dataclass(frozen=True)
class ItemReference:
    """Rows whose secrets belong to an item: the rows of a data set that satisfy the conditions, or one of its columns
    there.

    `at_hand`: they are the current rows or their sources, and not merely rows with equal values.
    """

    dataset: str
    column: str | None = None
    conditions: frozenset[Condition] = frozenset()
    at_hand: bool = True

    def has(self, secret: Secret) -> bool:
        """Return true if it covers the column of a secret."""
        return self.dataset == secret.dataset and self.column in (None, secret.column)


@dataclass(frozen=True)
class Disclosure:
    """A piece of information given to a role: its secrets, its place, and the clause for messages."""

    secrets: Secrets
    span: Span
    into: str


@dataclass(frozen=True)
class Leak:
    """Secrets that reach the compared role."""

    role: str
    disclosure: Disclosure
    judged: str | None = None
    """For a blind judge, which `role` names in this case, the reply that it judges."""
