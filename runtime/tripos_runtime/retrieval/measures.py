"""The rankings of a step: the measures in its expression that an index can take of all elements at once."""

from __future__ import annotations

from tripos_compiler.language import names_in, subexpressions
from tripos_compiler.plan import Binary, Call, Expr, Get, Items, RecordValue, Ref, Unary
from tripos_compiler.source import dataclass

SIDES = {"bm25": ("query", "document"), "similarity": ("a", "b")}
"""The functions that an index can take, with the names of their arguments."""
VALUE = "@measure"
"""The first part of the name under which an expression finds a measure of the element at hand."""


@dataclass(frozen=True)
class SimilarityCall:
    """A call that compares a text of the row at hand, `query`, with a text of the element."""

    call: Call
    query: Expr
    text: Expr

    @property
    def kind(self) -> str:
        """The function."""
        return self.call.function


def measures_in(by: Expr, alias: str) -> tuple[SimilarityCall, ...]:
    """Return the measures in an expression, each once, in the order in which they stand.

    >>> call = Call(function="bm25", args=(Ref(path=("q", "stem")), Ref(path=("c",))))
    >>> [(each.kind, each.text.path) for each in measures_in(call, "c")]
    [('bm25', ('c',))]
    """
    found: dict[str, SimilarityCall] = {}
    for part in subexpressions(by):
        if isinstance(part, Call) and (measure := _measure(part, alias)) is not None:
            found.setdefault(part.model_dump_json(), measure)
    return tuple(found.values())


def with_values(by: Expr, measures: tuple[SimilarityCall, ...]) -> Expr:
    """Return the expression with every measure looked up under its number."""
    calls = [measure.call for measure in measures]

    def put(expr: Expr) -> Expr:
        match expr:
            case Call() if expr in calls:
                return Ref(path=(VALUE, str(calls.index(expr))))
            case Call(args=args, named=named):
                inner = {name: put(value) for name, value in named.items()}
                return expr.model_copy(update={"args": tuple(map(put, args)), "named": inner})
            case Unary(value=value):
                return expr.model_copy(update={"value": put(value)})
            case Binary(left=left, right=right):
                return expr.model_copy(update={"left": put(left), "right": put(right)})
            case Items(values=values):
                return expr.model_copy(update={"values": tuple(map(put, values))})
            case RecordValue(fields=fields):
                return expr.model_copy(update={"fields": {name: put(value) for name, value in fields.items()}})
            case Get(of=of):
                return expr.model_copy(update={"of": put(of)})
        return expr

    return put(by)


def _measure(call: Call, alias: str) -> SimilarityCall | None:
    sides = SIDES.get(call.function)
    if sides is None:
        return None
    given = {**dict(zip(sides, call.args, strict=False)), **call.named}
    first, second = (given[side] for side in sides)
    if alias not in names_in(first) and names_in(second) == {alias}:
        return SimilarityCall(call, first, second)
    if call.function == "similarity" and alias not in names_in(second) and names_in(first) == {alias}:
        return SimilarityCall(call, second, first)
    return None
