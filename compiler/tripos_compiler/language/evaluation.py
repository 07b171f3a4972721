"""Evaluation of the expressions of a plan, and undefined values.

Only a failure that a function or an operator declares becomes a status. If it depends on a reply, the status is
`undefined`: the model is the cause, and the score counts as failed. If it follows from the item alone, the status is
`not_applicable`. Any other exception is a bug in Tripos and is raised as a `InternalError`.

A condition on the choice of a panel without a majority is decided by the votes of its judges on the condition. Suppose
the votes are `comply`, `partial` and `refuse`: no name has a majority, but `!= comply` holds for two of three judges.
The vote is on the whole condition with its `and`, `or` and `not`, provided it depends on a single verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from contextlib import contextmanager, suppress
from itertools import repeat
from operator import add, mul, sub, truediv
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
    Get,
    Items,
    Let,
    LetRef,
    Literal_,
    Loop,
    RecordValue,
    Ref,
    Unary,
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
        if error.status != NOT_APPLICABLE or status_of(condition, names) != UNDEFINED:
            raise
        if isinstance(error, NoValue):
            raise NoValue(UNDEFINED, error.reason) from error
        raise Unavailable(error.step, UNDEFINED, error.reason) from error


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

_COMPUTED: Final = MappingProxyType({"+": add, "-": sub, "*": mul, "/": truediv})


def evaluate(expr: Expr, names: Mapping[str, Any]) -> Any:
    """Return the value of an expression. Repeated and loop-invariant parts are evaluated once.

    Raises `Unavailable` if a required value was not yielded by a step, and its subclass `NoValue` if the expression is
    undefined: a division by zero, a missing list item, a number out of bounds, an unreadable answer. Raises
    `InternalError` if a function fails in any other way.

    >>> evaluate(Binary(operator="+", left=Literal_(value=1), right=Ref(path=("item", "n"))), {"item": {"n": 2}})
    3
    """
    return _value(with_shared_parts(expr), names)


def _value(expr: Expr | Let, names: Mapping[str, Any]) -> Any:
    """Return the value of an expression whose shared parts are named."""
    return _EVALUATED[type(expr)](expr, names)


class LetValue(Deferred):
    """Shared part of a `Let`, evaluated once at the first read."""

    def __init__(self, expr: Expr, names: Mapping[str, Any]) -> None:
        self.expr = expr
        self.names = names
        self.resolved: list[Any] = []
        self.lacking: Unavailable | None = None

    def resolve(self) -> Any:
        if self.lacking is not None:
            raise self.lacking.with_traceback(None)
        if not self.resolved:
            try:
                self.resolved.append(_value(self.expr, self.names))
            except Unavailable as lacking:
                self.lacking = lacking
                raise
        return self.resolved[0]


def _let(expr: Let, names: Mapping[str, Any]) -> Any:
    inner = dict(names)
    replies = set(names.get(REPLIES, ()))
    divided = dict(names.get(DIVIDED) or {})
    for name, value in expr.values.items():
        inner[name] = LetValue(value, inner)
        if replies and not replies.isdisjoint(names_in(value)):
            replies.add(name)
        if divided and (verdicts := divided_in(value, {DIVIDED: divided})):
            divided[name] = verdicts
    inner[REPLIES], inner[DIVIDED] = replies, divided
    return _value(expr.of, inner)


def _ballot(expr: Binary | Unary) -> Callable[[Mapping[str, Any]], Any]:
    """Return a function that evaluates a condition in the names of one judge, with shared parts evaluated afresh."""

    def evaluated(names: Mapping[str, Any]) -> Any:
        own = dict(names)
        own |= {name: LetValue(each.expr, own) for name, each in names.items() if isinstance(each, LetValue)}
        return _value(expr, own)

    return evaluated


def _unary(expr: Unary, names: Mapping[str, Any]) -> Any:
    if names.get(DIVIDED) and is_condition(expr) and (voted := decide(expr, names, _ballot(expr))) is not None:
        return voted
    inner = _value(expr.value, names)
    return -inner if expr.operator == "-" else not inner


def _called_value(expr: Call, names: Mapping[str, Any]) -> Any:
    function = FUNCTIONS.get(expr.function)
    if function is not None and function.evaluation is not Evaluation.EAGER and expr.function not in user_functions():
        return _lazy(expr, function, names)
    if expr.is_reveal and (shown := reveal_handler()) is not None:
        return shown(expr, lambda: _call(expr, function, names))
    return _call(expr, function, names)


def _field(expr: Get, names: Mapping[str, Any]) -> Any:
    record = _value(expr.of, names)
    return _of_each(record, expr.field) if isinstance(record, list) else _bounded(_at(record, expr.field), expr, names)


def _of_each(records: list[Any], field: str) -> list[Any]:
    return [
        _of_each(record, field) if isinstance(record, list) else _require_complete(_at(record, field))
        for record in records
    ]


def _at(record: Mapping[str, Any], field: str) -> Any:
    return _resolved(record[field])


def _record(expr: RecordValue, names: Mapping[str, Any]) -> dict[str, Any]:
    record = PartialRecord()
    for name, value in expr.fields.items():
        try:
            record[name] = _value(value, names)
        except Unavailable as reason:
            record[name] = MissingValue(reason.step, reason.status, reason.reason)
    return record if any(isinstance(each, MissingValue) for each in record.values()) else dict(record)


def _require_complete(value: Any) -> Any:
    """Return a value that is used as a whole. Raises `Unavailable` if a record in it has a missing field."""
    for record in value if isinstance(value, list) else (value,):
        for each in record.values() if isinstance(record, PartialRecord) else ():
            _resolved(each)
    return value


def elements(loop: Loop, names: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the names for each element of a loop, as one mapping that is mutated. Raises `NoValue` if the list is too
    long."""
    return _elements(loop, names, evaluate(loop.of, names))


def _elements(loop: Loop, names: Mapping[str, Any], listed: Any) -> Iterator[dict[str, Any]]:
    if loop.most is not None and len(listed) > loop.most:
        raise NoValue(status_of(loop.of, names), f"the list has {len(listed)} elements, more than {loop.most}")
    inner = {**names, REPLIES: {*names.get(REPLIES, ()), *((loop.alias,) * (status_of(loop.of, names) == UNDEFINED))}}
    for place, element in enumerate(sorted(listed) if isinstance(listed, AbstractSet) else listed):
        inner[loop.alias], inner[INDEX_PREFIX + loop.alias] = element, place
        yield inner


def _each(expr: Each, names: Mapping[str, Any]) -> list[Any]:
    kept = _all_of(repeat(expr), _elements(expr.loop, names, _value(expr.loop.of, names)), _element_value)
    return [value for each in kept for value in each]


def element_value(expr: Each, names: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the value for the current element as a tuple, which is empty if the condition does not hold."""
    where = None if expr.loop.where is None else with_shared_parts(expr.loop.where)
    return _value_at(where, with_shared_parts(expr.value), names)


def _element_value(expr: Each, names: Mapping[str, Any]) -> tuple[Any, ...]:
    return _value_at(expr.loop.where, expr.value, names)


def _value_at(where: Expr | Let | None, value: Expr | Let, names: Mapping[str, Any]) -> tuple[Any, ...]:
    if where is None:
        return (_value(value, names),)
    return (_evaluate_branch(where, value, names),) if _value(where, names) else ()


def _verdict_at(expr: AtElement, names: Mapping[str, Any]) -> Any:
    return _resolved(_value(expr.of, names)[tuple(names[INDEX_PREFIX + alias] for alias in expr.loops)])


def _rows(expr: Data, names: Mapping[str, Any]) -> Any:
    rows = names[DATA][expr.dataset]
    return [row if expr.field is None else row[expr.field] for row in rows]


def _lazy(expr: Call, function: Function, names: Mapping[str, Any]) -> Any:
    """Return the value of a call that evaluates only the arguments that it needs."""
    given = dict(zip(function.names, expr.args, strict=False)) | expr.named
    if function.evaluation is Evaluation.CHOICE:
        condition = given["condition"]
        return _evaluate_branch(condition, given["this" if _value(condition, names) else "other"], names)
    first, reading = given["value"], function.evaluation is Evaluation.READING
    try:
        value = _value(first, names)
    except NoValue as error:
        if reading and error.status == UNDEFINED:
            raise Unavailable("the expression", "parse_failure", str(error)) from error
        if reading:
            raise
        if error.status == NOT_APPLICABLE:
            return _value(given["fallback"], names)
        value = None
    if value is not None:
        return value
    if reading:
        raise Unavailable("the expression", "parse_failure", "nothing that could be read")
    return _evaluate_branch(first, given["fallback"], names)


def _evaluate_branch(condition: Expr | Let, branch: Expr | Let, names: Mapping[str, Any]) -> Any:
    """Return the value of a branch that a condition selects."""
    with attribute_to_condition(condition, names):
        return _value(branch, names)


def _call(expr: Call, function: Function | None, names: Mapping[str, Any]) -> Any:
    exprs = (*expr.args, *expr.named.values())
    values = _all(map(with_shared_parts, exprs) if expr.is_reveal else exprs, names)
    for value in values if function is None or not function.takes_missing_fields else ():
        if isinstance(value, PartialRecord | list):
            _require_complete(value)
    arguments, keywords = values[: len(expr.args)], dict(zip(expr.named, values[len(expr.args) :], strict=True))
    plugin = user_functions().get(expr.function)
    if plugin is not None:
        return plugin(*arguments, **keywords)
    if function is None and not user_functions():
        raise CalledInRunsOnly(expr.function)
    try:
        value = FUNCTIONS[expr.function](*arguments, **keywords)
    except AmbiguousAnswer as error:  # no fallback stands in for it: it says something, and nobody knows what
        raise Unavailable("the expression", "parse_failure", str(error)) from error
    except (Undefined, OverflowError) as error:
        text = str(error) if isinstance(error, Undefined) else OUT_OF_BOUNDS
        raise NoValue(status_of_call(expr, names), f"`{expr.function}` has no value: {text}") from error
    except Exception as error:
        raise InternalError(f"the function `{expr.function}` failed: {type(error).__name__}: {error}") from error
    return _bounded(value, expr, names)


def _bounded(value: Any, expr: Expr, names: Mapping[str, Any]) -> Any:
    """Return the value. Raises `NoValue` if a number is not finite or too large for a column of figures."""
    if isinstance(value, int | float) and not in_bounds(value):
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


def _look_up(path: tuple[str, ...], names: Mapping[str, Any]) -> Any:
    value: Any = names
    for part in path:
        value = _resolved(value[part])
    return _require_complete(value) if isinstance(value, PartialRecord) else value


def _resolved(value: Any) -> Any:
    return value.resolve() if isinstance(value, Deferred) else value


def _all(exprs: Iterable[Expr | Let], names: Mapping[str, Any]) -> list[Any]:
    """Return the values of expressions that are all evaluated.

    If several are undefined, one that is undefined because of the item determines the status, so that a model that
    declines is scored on the same items as all others.
    """
    return _all_of(exprs, repeat(names), _value)


def _all_of(
    exprs: Iterable[Any], seen: Iterable[Mapping[str, Any]], look: Callable[[Any, Mapping[str, Any]], Any]
) -> list[Any]:
    values: list[Any] = []
    first_undefined: Unavailable | None = None
    for expr, names in zip(exprs, seen, strict=False):
        try:
            values.append(look(expr, names))
        except Unavailable as error:
            if error.status == NOT_APPLICABLE:
                raise
            first_undefined = first_undefined or error
            values.append(None)
    if first_undefined is not None:
        raise first_undefined
    return values


def _joined(expr: Binary, names: Mapping[str, Any], decides: bool) -> bool:
    """Evaluate `and` or `or`; a left side equal to `decides` is the result.

    The right side is evaluated if the left side does not decide, and also if the left side is undefined because of a
    reply and the right side depends on the item alone.
    """
    try:
        left = bool(_value(expr.left, names))
    except Unavailable as error:
        if error.status != NOT_APPLICABLE and status_of(expr.right, names) == NOT_APPLICABLE:
            with suppress(Unavailable):
                if bool(_value(expr.right, names)) == decides:
                    return decides
        raise
    return decides if left == decides else bool(_evaluate_branch(expr.left, expr.right, names))


def _binary(expr: Binary, names: Mapping[str, Any]) -> Any:
    if names.get(DIVIDED) and is_condition(expr) and (voted := decide(expr, names, _ballot(expr))) is not None:
        return voted
    match expr.operator:
        case "and":
            return _joined(expr, names, decides=False)
        case "or":
            return _joined(expr, names, decides=True)
    try:
        left, right = _all((expr.left, expr.right), names)
    except Unavailable as error:
        of_row = expr.operator == "/" and status_of(expr.right, names) == NOT_APPLICABLE
        if of_row and error.status != NOT_APPLICABLE and not isinstance(expr.left, Literal_):
            _value(expr.model_copy(update={"left": Literal_(value=1)}), names)
        raise
    match expr.operator:
        case "==":
            return are_equal(left, right)
        case "!=":
            return not are_equal(left, right)
        case "in":
            return left in right
        case "not in":
            return left not in right
        case "<":
            return left < right
        case "<=":
            return left <= right
        case ">":
            return left > right
        case ">=":
            return left >= right
    try:
        return _bounded(_COMPUTED[expr.operator](left, right), expr, names)
    except ZeroDivisionError as error:
        raise NoValue(status_of(expr.right, names), "`/` has no value: division by zero") from error
    except OverflowError as error:
        reason = f"`{expr.operator}` has no value: {OUT_OF_BOUNDS}"
        raise NoValue(status_of(expr, names), reason) from error


_EVALUATED: Final[Mapping[type, Callable[[Any, Mapping[str, Any]], Any]]] = MappingProxyType(
    {
        Literal_: lambda expr, names: _bounded(expr.value, expr, names),
        Ref: lambda expr, names: _bounded(_look_up(expr.path, names), expr, names),
        Let: _let,
        LetRef: lambda expr, names: names[expr.path[0]].resolve(),
        Items: lambda expr, names: _all(expr.values, names),
        RecordValue: _record,
        Unary: _unary,
        Call: _called_value,
        Binary: _binary,
        Get: _field,
        Data: _rows,
        Each: _each,
        AtElement: _verdict_at,
        Branches: lambda expr, names: names[TREES][expr.tree],
    }
)
"""Evaluation function of each class of expression; a lookup is faster than a series of `isinstance` checks."""


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
