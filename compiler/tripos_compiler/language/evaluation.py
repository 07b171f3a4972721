"""Evaluation of the expressions of a plan, and undefined values.

Only a failure that a function or an operator declares becomes a status. If it depends on a reply, the status is
`undefined`: the model is the cause, and the score counts as failed. If it follows from the item alone, the status is
`not_applicable`. Any other exception is a bug in Tripos and is raised as a `InternalError`.

A condition on the choice of a panel without a majority is decided by the votes of its judges on the condition. Suppose
the votes are `comply`, `partial` and `refuse`: no name has a majority, but `!= comply` holds for two of three judges.
The vote is on the whole condition with its `and`, `or` and `not`, provided it depends on a single verdict.

An expression is compiled once to nested Python functions of the names, a function for each part, and every row calls
them. What depends on the expression alone is decided then: its operator, its function, the order of its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from contextlib import contextmanager, suppress
from itertools import chain
from operator import add, ge, gt, le, lt, mul, sub, truediv
from types import FrameType, MappingProxyType
from typing import Any, Final

from tripos_compiler.language.references import names_in
from tripos_compiler.library.function import Evaluation, Function
from tripos_compiler.library.registry import FUNCTIONS, reveal_handler, user_functions
from tripos_compiler.library.signature import OUT_OF_BOUNDS, AmbiguousAnswer, Undefined, in_bounds
from tripos_compiler.library.types import are_equal
from tripos_compiler.plan import (
    NOT_APPLICABLE,
    UNDEFINED,
    AtElement,
    Binary,
    Branches,
    Call,
    Data,
    Each,
    Expr,
    ExpressionCache,
    Get,
    Items,
    Let,
    LetRef,
    Literal_,
    Loop,
    RecordValue,
    Ref,
    Unary,
    lit,
    with_shared_parts,
)

# Undefined values


class Unavailable(Exception):
    """A value that a step did not yield, for example a field of a reply that could not be read."""

    def __init__(self, step: str, status: str, reason: str = "") -> None:
        super().__init__(reason or f"`{step}` has no value: {status}")
        self.step = step
        self.status = status

    @property
    def reason(self) -> str:
        """Why there is no value, in one line without texts of replies and items."""
        return str(self)


class NoValue(Unavailable):
    """An expression is undefined although all its inputs exist. The status is `undefined` if that depends on a reply,
    else `not_applicable`."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__("the expression", status, reason)


class CalledInRunsOnly(Unavailable):
    """A call of a user's function before a run, in which its code is not loaded."""

    def __init__(self, function: str) -> None:
        super().__init__("the expression", "unknown", f"`{function}` is only called in a run")


class InternalError(Exception):
    """A function or an operator of Tripos failed in an undeclared way."""


class EvaluationStopped(BaseException):
    """Raised inside an evaluation to stop it. It is neither a fault nor an undefined value; the result is not
    needed."""


class Deferred:
    """Placeholder for a value that is computed when it is read. It is not an abstract class because `isinstance` checks
    of those are slow."""

    def resolve(self) -> Any:
        """Return the value. Raises `Unavailable` if there is none."""
        raise NotImplementedError


class MissingValue(Deferred):
    """Placeholder in a record for a value that a step did not yield; reading it raises `Unavailable`."""

    def __init__(self, step: str, status: str, reason: str = "") -> None:
        self.step = step
        self.status = status
        self.reason = reason

    def resolve(self) -> Any:
        raise Unavailable(self.step, self.status, self.reason)


class DividedVerdict(MissingValue):
    """Choice of a panel without a majority, with the vote of each judge. Reading it raises `Unavailable`; a condition
    on it is decided by the votes of the judges on the condition."""

    def __init__(self, step: str, scorer: str, votes: Sequence[Any]) -> None:
        super().__init__(step, UNDEFINED, f"no answer of `{scorer}` has more than half of the panel")
        self.scorer = scorer
        self.votes = tuple(votes)

    def decide(self, ballots: Sequence[bool]) -> bool:
        """Return the majority of the judges on a condition. Raises `Unavailable` if neither side has more than half.

        >>> DividedVerdict("kind(1)", "kind", ("a", "b", "c")).decide([True, False, True])
        True
        """
        for side in (True, False):
            if 2 * ballots.count(side) > len(ballots):
                return side
        reason = f"a condition on `{self.scorer}` holds for half of the panel"
        raise Unavailable(self.step, UNDEFINED, reason)


class PartialRecord(dict[str, Any]):
    """Record literal with at least one `MissingValue` field; the other fields can be read."""


REPLIES = "@replies"
"""Key in `names` of the set of names whose values depend on a reply."""


@contextmanager
def attribute_to_condition(condition: Expr | Let, names: Mapping[str, Any]) -> Iterator[None]:
    """Context for the evaluation of a branch that `condition` selects.

    If the condition depends on a reply, an inapplicable value in the branch becomes `undefined`: a model with another
    reply would not need the value.
    """
    try:
        yield
    except Unavailable as error:
        if (attributed := _attributed(error, condition, names)) is error:
            raise
        raise attributed from error


def _attributed(error: Unavailable, condition: Expr | Let, names: Mapping[str, Any]) -> Unavailable:
    """Return the error of a branch that `condition` selects, from the error of the branch alone."""
    if error.status != NOT_APPLICABLE or status_of(condition, names) != UNDEFINED:
        return error
    if isinstance(error, NoValue):
        return NoValue(UNDEFINED, error.reason)
    return Unavailable(error.step, UNDEFINED, error.reason)


def status_of(expr: Expr | Let, names: Mapping[str, Any]) -> str:
    """Return the status of an undefined expression."""
    replies: AbstractSet[str] = names.get(REPLIES, frozenset())
    return UNDEFINED if replies and not replies.isdisjoint(names_in(expr)) else NOT_APPLICABLE


def status_of_call(expr: Call, names: Mapping[str, Any]) -> str:
    """Return the status of an undefined call, from the arguments that cause it."""
    function = FUNCTIONS[expr.function]
    if function.partial is None:
        return status_of(expr, names)
    given = dict(zip((parameter.name for parameter in function.parameters), expr.args, strict=False)) | dict(expr.named)
    reasons = [status_of(given[name], names) for name in function.partial.of if name in given]
    return UNDEFINED if UNDEFINED in reasons else NOT_APPLICABLE


# Conditions on a panel without a majority

DIVIDED: Final = "@divided"
"""Key in `names` of the mapping from a name to the divided verdicts on which it depends."""
CONDITIONS: Final = frozenset(("==", "!=", "in", "not in", "and", "or"))


def divided_verdict_in(value: Any) -> DividedVerdict | None:
    """Return a divided verdict, or the first one among verdicts on elements; None for any other value.

    >>> (divided_verdict_in({(0,): "a", (1,): DividedVerdict("kind(1)", "kind", ("a", "b"))}).votes,
    ... divided_verdict_in("a"))
    (('a', 'b'), None)
    """
    several = value.values() if isinstance(value, Mapping) else (value,)
    return next((each for each in several if isinstance(each, DividedVerdict)), None)


def divided_in(expr: Expr | Let, names: Mapping[str, Any]) -> frozenset[str]:
    """Return the names of the divided verdicts that an expression refers to."""
    divided: Mapping[str, frozenset[str]] = names.get(DIVIDED) or {}
    return frozenset().union(*(divided[name] for name in names_in(expr) & divided.keys())) if divided else frozenset()


def is_condition(expr: Binary | Unary) -> bool:
    """Return true if an expression is a comparison of choices or a logical operation."""
    return expr.operator in CONDITIONS or expr.operator == "not"


def names_for_judge(judge: int, verdict: str, names: Mapping[str, Any]) -> dict[str, Any]:
    """Return `names` with a verdict replaced by the vote of one judge of its panel, counted from 0."""

    def own(value: Any) -> Any:
        return value.votes[judge] if isinstance(value, DividedVerdict) else value

    value = names[verdict]
    divided = {name: left for name, of in names[DIVIDED].items() if (left := of - {verdict})}
    seen = {place: own(each) for place, each in value.items()} if isinstance(value, Mapping) else own(value)
    return {**names, verdict: seen, DIVIDED: divided}


def decide(expr: Binary | Unary, names: Mapping[str, Any], ballot: Callable[[Mapping[str, Any]], Any]) -> bool | None:
    """Return the majority on a condition that depends on exactly one divided verdict, or None for any other expression.
    `ballot` evaluates the condition in the names of one judge."""
    verdicts = divided_in(expr, names)
    if len(verdicts) != 1:
        return None
    (verdict,) = verdicts
    panel = divided_verdict_in(names[verdict])
    assert panel is not None
    return panel.decide([bool(ballot(names_for_judge(judge, verdict, names))) for judge in range(len(panel.votes))])


# Evaluation of expressions

DATA = "@data"
"""Key in `names` of the rows of each data set that is used as a value."""
TREES = "@trees"
"""Key in `names` of each tree that is used as a value."""
INDEX_PREFIX = "#"
"""Prefix of the key in `names` for the index of the current element of a loop."""

Names = Mapping[str, Any]
Code = Callable[[Names], Any]
"""A compiled expression: a function from the names to the value. Raises what `evaluate` raises."""
Compiled = dict[int, tuple[Expr | Let, Code]]
"""The parts of an expression that are compiled, by `id`: a part that is used twice is compiled once."""

_COMPARED: Final[Mapping[str, Callable[[Any, Any], Any]]] = MappingProxyType(
    {
        "==": are_equal,
        "!=": lambda left, right: not are_equal(left, right),
        "in": lambda left, right: left in right,
        "not in": lambda left, right: left not in right,
        "<": lt,
        "<=": le,
        ">": gt,
        ">=": ge,
    }
)
_COMPUTED: Final[Mapping[str, Callable[[Any, Any], Any]]] = MappingProxyType(
    {"+": add, "-": sub, "*": mul, "/": truediv}
)
_NUMBERS = (int, float)
_MAY_LACK_FIELDS = (PartialRecord, list)


def evaluate(expr: Expr, names: Names) -> Any:
    """Return the value of an expression. Repeated and loop-invariant parts are evaluated once.

    Raises `Unavailable` if a required value was not yielded by a step, and its subclass `NoValue` if the expression is
    undefined: a division by zero, a missing list item, a number out of bounds, an unreadable answer. Raises
    `InternalError` if a function fails in any other way.

    >>> evaluate(Binary(operator="+", left=Literal_(value=1), right=Ref(path=("item", "n"))), {"item": {"n": 2}})
    3
    """
    return _compiled(expr)(names)


_codes: ExpressionCache[Code] = ExpressionCache()
"""The compiled forms of expressions."""


def _compiled(expr: Expr) -> Code:
    """Return the compiled form of an expression with its shared parts named. It is cached as long as the expression
    exists, so it holds a copy: nothing in it may refer to the expression itself."""
    code = _codes.get(expr)
    if code is None:
        shared = with_shared_parts(expr)
        code = _codes.put(expr, code_of(expr.model_copy() if shared is expr else shared))
    return code


def code_of(expr: Expr | Let, compiled: Compiled | None = None) -> Code:
    """Return the compiled form of an expression as it is, without naming its shared parts."""
    parts: Compiled = {} if compiled is None else compiled
    if id(expr) not in parts:
        parts[id(expr)] = expr, _COMPILED[type(expr)](expr, parts)
    return parts[id(expr)][1]


# Names, literals and records
def _literal(expr: Literal_, compiled: Compiled) -> Code:
    value = expr.value
    if isinstance(value, _NUMBERS) and not in_bounds(value):
        return lambda names: _bounded(value, expr, names)
    return lambda names: value


def _reference(expr: Ref, compiled: Compiled) -> Code:
    path = expr.path

    def reference(names: Names) -> Any:
        value: Any = names
        for part in path:
            value = value[part]
            if isinstance(value, Deferred):
                value = value.resolve()
        if isinstance(value, PartialRecord):
            return _require_complete(value)
        return _bounded(value, expr, names) if isinstance(value, _NUMBERS) else value

    return reference


class LetValue(Deferred):
    """Shared part of a `Let`, evaluated once at the first read."""

    def __init__(self, code: Code, names: Names) -> None:
        self.code = code
        self.names = names
        self.resolved: list[Any] = []
        self.lacking: Unavailable | None = None

    def resolve(self) -> Any:
        if self.lacking is not None:
            raise self.lacking.with_traceback(None)
        if not self.resolved:
            try:
                self.resolved.append(self.code(self.names))
            except Unavailable as lacking:
                self.lacking = lacking
                raise
        return self.resolved[0]


def _let(expr: Let, compiled: Compiled) -> Code:
    values = {name: (value, code_of(value, compiled)) for name, value in expr.values.items()}
    of = code_of(expr.of, compiled)

    def let(names: Names) -> Any:
        inner = dict(names)
        replies = set(names.get(REPLIES, ()))
        divided = dict(names.get(DIVIDED) or {})
        for name, (value, code) in values.items():
            inner[name] = LetValue(code, inner)
            if replies and not replies.isdisjoint(names_in(value)):
                replies.add(name)
            if divided and (verdicts := divided_in(value, {DIVIDED: divided})):
                divided[name] = verdicts
        inner[REPLIES], inner[DIVIDED] = replies, divided
        return of(inner)

    return let


def _let_reference(expr: LetRef, compiled: Compiled) -> Code:
    name = expr.path[0]
    return lambda names: names[name].resolve()


def _items(expr: Items, compiled: Compiled) -> Code:
    return _all_of([code_of(value, compiled) for value in expr.values])


def _record(expr: RecordValue, compiled: Compiled) -> Code:
    fields = {name: code_of(value, compiled) for name, value in expr.fields.items()}

    def record(names: Names) -> dict[str, Any]:
        made = PartialRecord()
        for name, code in fields.items():
            try:
                made[name] = code(names)
            except Unavailable as reason:
                made[name] = MissingValue(reason.step, reason.status, reason.reason)
        return made if any(isinstance(each, MissingValue) for each in made.values()) else dict(made)

    return record


def _field(expr: Get, compiled: Compiled) -> Code:
    of, name = code_of(expr.of, compiled), expr.field

    def field(names: Names) -> Any:
        record = of(names)
        return _of_each(record, name) if isinstance(record, list) else _bounded(_resolved(record[name]), expr, names)

    return field


def _of_each(records: list[Any], field: str) -> list[Any]:
    return [
        _of_each(record, field) if isinstance(record, list) else _require_complete(_resolved(record[field]))
        for record in records
    ]


def _require_complete(value: Any) -> Any:
    """Return a value that is used as a whole. Raises `Unavailable` if a record in it has a missing field."""
    for record in value if isinstance(value, list) else (value,):
        for each in record.values() if isinstance(record, PartialRecord) else ():
            _resolved(each)
    return value


def _resolved(value: Any) -> Any:
    return value.resolve() if isinstance(value, Deferred) else value


def _rows(expr: Data, compiled: Compiled) -> Code:
    dataset, field = expr.dataset, expr.field

    def rows(names: Names) -> Any:
        found = names[DATA][dataset]
        return [row if field is None else row[field] for row in found]

    return rows


def _tree(expr: Branches, compiled: Compiled) -> Code:
    tree = expr.tree
    return lambda names: names[TREES][tree]


# Loops
def elements(loop: Loop, names: Names) -> Iterator[dict[str, Any]]:
    """Yield the names for each element of a loop, as one mapping that is mutated. Raises `NoValue` if the list is too
    long."""
    return _elements(loop, names, evaluate(loop.of, names))


def _elements(loop: Loop, names: Names, listed: Any) -> Iterator[dict[str, Any]]:
    if loop.most is not None and len(listed) > loop.most:
        raise NoValue(status_of(loop.of, names), f"the list has {len(listed)} elements, more than {loop.most}")
    inner = {**names, REPLIES: {*names.get(REPLIES, ()), *((loop.alias,) * (status_of(loop.of, names) == UNDEFINED))}}
    for place, element in enumerate(sorted(listed) if isinstance(listed, AbstractSet) else listed):
        inner[loop.alias], inner[INDEX_PREFIX + loop.alias] = element, place
        yield inner


def element_value(expr: Each, names: Names) -> tuple[Any, ...]:
    """Return the value for the current element as a tuple, which is empty if the condition does not hold."""
    where, value = expr.loop.where, _compiled(expr.value)
    if where is None:
        return (value(names),)
    return (_branch(with_shared_parts(where), value, names),) if _compiled(where)(names) else ()


def _each(expr: Each, compiled: Compiled) -> Code:
    loop = expr.loop
    of, value = code_of(loop.of, compiled), code_of(expr.value, compiled)
    element = _kept_element(loop.where, value, compiled) if loop.where is not None else lambda inner: (value(inner),)

    def each(names: Names) -> list[Any]:
        return list(chain.from_iterable(_all_values((element, inner) for inner in _elements(loop, names, of(names)))))

    return each


def _kept_element(where: Expr, value: Code, compiled: Compiled) -> Callable[[Names], tuple[Any, ...]]:
    """Return the function that gives the value of an element as a tuple, empty if the condition does not hold."""
    holds = code_of(where, compiled)
    return lambda inner: (_branch(where, value, inner),) if holds(inner) else ()


def _verdict_at(expr: AtElement, compiled: Compiled) -> Code:
    of, indexes = code_of(expr.of, compiled), tuple(INDEX_PREFIX + alias for alias in expr.loops)
    return lambda names: _resolved(of(names)[tuple(names[index] for index in indexes)])


# Calls
def _call(expr: Call, compiled: Compiled) -> Code:
    function = FUNCTIONS.get(expr.function)
    call = _eager(expr, function, compiled)
    if function is not None and function.evaluation is not Evaluation.EAGER:
        lazy = _lazy(expr, function, compiled)
        return lambda names: call(names) if expr.function in user_functions() else lazy(names)
    if not expr.is_reveal:
        return call

    def revealed(names: Names) -> Any:
        shown = reveal_handler()
        return call(names) if shown is None else shown(expr, lambda: call(names))

    return revealed


def _eager(expr: Call, function: Function | None, compiled: Compiled) -> Code:
    """Return a call that evaluates all its arguments. Those of `reveal` are compiled apart from the rest."""
    name, count, keys = expr.function, len(expr.args), tuple(expr.named)
    exprs = (*expr.args, *expr.named.values())
    values_of = _all_of(
        [code_of(with_shared_parts(each)) if expr.is_reveal else code_of(each, compiled) for each in exprs]
    )
    takes_missing_fields = function is not None and function.takes_missing_fields

    def call(names: Names) -> Any:
        values = values_of(names)
        if not takes_missing_fields:
            for value in values:
                if isinstance(value, _MAY_LACK_FIELDS):
                    _require_complete(value)
        keywords = dict(zip(keys, values[count:], strict=True)) if keys else {}
        arguments = values[:count] if keys else values
        plugin = user_functions().get(name)
        if plugin is not None:
            return plugin(*arguments, **keywords)
        if function is None and not user_functions():
            raise CalledInRunsOnly(name)
        try:
            value = (FUNCTIONS[name] if function is None else function)(*arguments, **keywords)
        except AmbiguousAnswer as error:  # no fallback stands in for it: it says something, and nobody knows what
            raise Unavailable("the expression", "parse_failure", str(error)) from error
        except (Undefined, OverflowError) as error:
            text = str(error) if isinstance(error, Undefined) else OUT_OF_BOUNDS
            raise NoValue(status_of_call(expr, names), f"`{name}` has no value: {text}") from error
        except Exception as error:
            raise InternalError(f"the function `{name}` failed: {type(error).__name__}: {error}") from error
        return _bounded(value, expr, names) if isinstance(value, _NUMBERS) else value

    return call


def _lazy(expr: Call, function: Function, compiled: Compiled) -> Code:
    """Return a call that evaluates only the arguments that it needs."""
    given = dict(zip(function.names, expr.args, strict=False)) | expr.named
    codes = {name: code_of(value, compiled) for name, value in given.items()}
    if function.evaluation is Evaluation.CHOICE:
        condition, holds, this, other = given["condition"], codes["condition"], codes["this"], codes["other"]
        return lambda names: _branch(condition, this if holds(names) else other, names)
    first, value_of, reading = given["value"], codes["value"], function.evaluation is Evaluation.READING

    def choice(names: Names) -> Any:
        try:
            value = value_of(names)
        except NoValue as error:
            if reading and error.status == UNDEFINED:
                raise Unavailable("the expression", "parse_failure", str(error)) from error
            if reading:
                raise
            if error.status == NOT_APPLICABLE:
                return codes["fallback"](names)
            value = None
        if value is not None:
            return value
        if reading:
            raise Unavailable("the expression", "parse_failure", "nothing that could be read")
        return _branch(first, codes["fallback"], names)

    return choice


def _branch(condition: Expr | Let, branch: Code, names: Names) -> Any:
    """Return the value of a branch that a condition selects."""
    try:
        return branch(names)
    except Unavailable as error:
        if (attributed := _attributed(error, condition, names)) is error:
            raise
        raise attributed from error


def _all_of(codes: Sequence[Code]) -> Callable[[Names], list[Any]]:
    """Return a function that returns the values of expressions that are all evaluated (`_all_values`)."""
    if len(codes) == 1:
        (single,) = codes
        return lambda names: [single(names)]
    return lambda names: _all_values((code, names) for code in codes)


def _all_values(evaluations: Iterable[tuple[Callable[[Names], Any], Names]]) -> list[Any]:
    """Evaluate every code under the names beside it, and return the values.

    If several are undefined, one that is undefined because of the item determines the status, so that a model that
    declines is scored on the same items as all others.
    """
    values: list[Any] = []
    first_undefined: Unavailable | None = None
    for code, names in evaluations:
        try:
            values.append(code(names))
        except Unavailable as error:
            if error.status == NOT_APPLICABLE:
                raise
            first_undefined = first_undefined or error
    if first_undefined is not None:
        raise first_undefined
    return values


# Operators
def _unary(expr: Unary, compiled: Compiled) -> Code:
    inner = code_of(expr.value, compiled)
    return _voted(expr, lambda names: not inner(names)) if expr.operator == "not" else lambda names: -inner(names)


def _binary(expr: Binary, compiled: Compiled) -> Code:
    match expr.operator:
        case "and":
            code = _joined(expr, compiled, decides=False)
        case "or":
            code = _joined(expr, compiled, decides=True)
        case operator if operator in _COMPARED:
            code = _compared(expr, compiled)
        case _:
            code = _computed(expr, compiled)
    return _voted(expr, code) if is_condition(expr) else code


def _voted(expr: Binary | Unary, code: Code) -> Code:
    """Return a condition that the votes of a panel without a majority decide, each with its shared parts evaluated
    afresh."""

    def ballot(names: Names) -> Any:
        own = dict(names)
        own |= {name: LetValue(each.code, own) for name, each in names.items() if isinstance(each, LetValue)}
        return condition(own)

    def condition(names: Names) -> Any:
        if names.get(DIVIDED) and (voted := decide(expr, names, ballot)) is not None:
            return voted
        return code(names)

    return condition


def _joined(expr: Binary, compiled: Compiled, decides: bool) -> Code:
    """Compile `and` or `or`; a left side equal to `decides` is the result.

    The right side is evaluated if the left side does not decide, and also if the left side is undefined because of a
    reply and the right side depends on the item alone.
    """
    left_of, right_of = code_of(expr.left, compiled), code_of(expr.right, compiled)

    def joined(names: Names) -> bool:
        try:
            left = bool(left_of(names))
        except Unavailable as error:
            if error.status != NOT_APPLICABLE and status_of(expr.right, names) == NOT_APPLICABLE:
                with suppress(Unavailable):
                    if bool(right_of(names)) == decides:
                        return decides
            raise
        return decides if left == decides else bool(_branch(expr.left, right_of, names))

    return joined


def _compared(expr: Binary, compiled: Compiled) -> Code:
    compare, sides = _COMPARED[expr.operator], _all_of([code_of(each, compiled) for each in (expr.left, expr.right)])
    return lambda names: compare(*sides(names))


def _computed(expr: Binary, compiled: Compiled) -> Code:
    operator, compute = expr.operator, _COMPUTED[expr.operator]
    sides = _all_of([code_of(each, compiled) for each in (expr.left, expr.right)])
    # If the left side has no value because of a reply, `1 / right` still tells whether the item alone leaves the
    # division without a value, for example by a zero; the status is `not_applicable` then.
    divides = operator == "/" and not isinstance(expr.left, Literal_)
    quotient = code_of(expr.model_copy(update={"left": lit(1)}), compiled) if divides else None

    def computed(names: Names) -> Any:
        try:
            left, right = sides(names)
        except Unavailable as error:
            if quotient and error.status != NOT_APPLICABLE and status_of(expr.right, names) == NOT_APPLICABLE:
                quotient(names)
            raise
        try:
            return _bounded(compute(left, right), expr, names)
        except ZeroDivisionError as error:
            raise NoValue(status_of(expr.right, names), "`/` has no value: division by zero") from error
        except OverflowError as error:
            reason = f"`{operator}` has no value: {OUT_OF_BOUNDS}"
            raise NoValue(status_of(expr, names), reason) from error

    return computed


def _bounded(value: Any, expr: Expr, names: Names) -> Any:
    """Return the value. Raises `NoValue` if a number is not finite or too large for a column of figures."""
    if isinstance(value, _NUMBERS) and not in_bounds(value):
        raise NoValue(status_of(expr, names), f"{_called(expr)} has no value: {OUT_OF_BOUNDS}")
    return value


def _called(expr: Expr) -> str:
    """Return a description of an expression for a reason: its function or operator, without texts of replies."""
    match expr:
        case Call(function=function):
            return f"`{function}`"
        case Binary(operator=operator):
            return f"`{operator}`"
    return "the expression"


_COMPILED: Final[Mapping[type, Callable[[Any, Compiled], Code]]] = MappingProxyType(
    {
        Literal_: _literal,
        Ref: _reference,
        Let: _let,
        LetRef: _let_reference,
        Items: _items,
        RecordValue: _record,
        Unary: _unary,
        Call: _call,
        Binary: _binary,
        Get: _field,
        Data: _rows,
        Each: _each,
        AtElement: _verdict_at,
        Branches: _tree,
    }
)
"""The function that compiles each class of expression."""


# Watchdog of long evaluations

OURS = "tripos_compiler"


class EvaluationWatchdog:
    """Watchdog that inspects a thread repeatedly and stops an evaluation that it sees twice.

    It is called from a signal handler because nothing else runs while a thread evaluates.
    """

    def __init__(self) -> None:
        self._last: FrameType | None = None

    def look(self, frame: FrameType | None) -> None:
        """Record the evaluation that is active in a frame. Raises `EvaluationStopped` if it was active at the previous
        call too. An evaluation that waits for a user function is not stopped: the protocol with its process would
        break."""
        found = _evaluation(frame)
        again, self._last = found is not None and found is self._last, found
        if again:
            self._last = None
            raise EvaluationStopped


def _evaluation(frame: FrameType | None) -> FrameType | None:
    """Return the outermost active evaluation of a stack, or None if there is none or it is waiting for a user
    function."""
    found = None
    inside = True
    while frame is not None:
        if frame.f_code is evaluate.__code__:
            found = frame
        elif found is None and str(frame.f_globals.get("__name__", "")).startswith("tripos_runtime"):
            inside = False
        frame = frame.f_back
    return found if inside else None
