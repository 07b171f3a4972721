"""The status of an expression that has no value: `undefined` where a reply is the reason, else `not_applicable`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set as AbstractSet
from contextlib import contextmanager
from typing import Any

from tripos_compiler.language.evaluation.absence import NoValue, Unavailable
from tripos_compiler.language.library import FUNCTIONS
from tripos_compiler.language.references import names_in
from tripos_compiler.plan import NOT_APPLICABLE, UNDEFINED, Call, Expr, Let

REPLIES = "@replies"
"""The name under which `evaluate` finds the names whose values follow from what a model said."""


@contextmanager
def decided_by(condition: Expr | Let, names: Mapping[str, Any]) -> Iterator[None]:
    """For what is looked at because a condition holds, or does not: where that depends on a reply, what has no value
    there is `undefined`, since a model that replies otherwise is not asked for it."""
    try:
        yield
    except Unavailable as error:
        if error.status != NOT_APPLICABLE or status_of(condition, names) != UNDEFINED:
            raise
        if isinstance(error, NoValue):
            raise NoValue(UNDEFINED, error.reason) from error
        raise Unavailable(error.step, UNDEFINED, error.reason) from error


def status_of(expr: Expr | Let, names: Mapping[str, Any]) -> str:
    """Return the status of an expression that has no value."""
    replies: AbstractSet[str] = names.get(REPLIES, frozenset())
    return UNDEFINED if replies and not replies.isdisjoint(names_in(expr)) else NOT_APPLICABLE


def status_of_call(expr: Call, names: Mapping[str, Any]) -> str:
    """Return the status of a call that has no value, by the arguments that are the reason."""
    function = FUNCTIONS[expr.function]
    if function.partial is None:
        return status_of(expr, names)
    given = dict(zip((each.name for each in function.parameters), expr.args, strict=False)) | dict(expr.named)
    reasons = [status_of(given[name], names) for name in function.partial.of if name in given]
    return UNDEFINED if UNDEFINED in reasons else NOT_APPLICABLE
