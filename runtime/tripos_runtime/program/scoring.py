"""What scores and columns come to: one value, or one of each element of a list, in one row."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set as AbstractSet
from functools import partial
from typing import Any

import orjson

from tripos_compiler.language import Missing, Unavailable
from tripos_compiler.plan import Column, Score
from tripos_runtime.asking import AGAIN, NOT_APPLICABLE, SCORED
from tripos_runtime.program.answers import with_programs
from tripos_runtime.program.names import ElementValue, Names
from tripos_runtime.program.needs import Program, Scored


def score_of(names: Names, step: Score | Column) -> Program:
    """Return what a step comes to: a `Scored`."""
    if step.element is not None:
        return (yield from _scored_elements(names, step))
    found, against = yield from with_programs(partial(names.value_of, step))
    value, given = None, None
    if against is None:
        value, given = (float(found), None) if isinstance(step, Score) else kept_value(found)
    status, reason = (SCORED, None) if against is None else (against.status, against.reason)
    return Scored(step, None, None, {step.name: (value, status)}, given, reason)


def _scored_elements(names: Names, step: Score | Column) -> Program:
    found = yield from with_programs(partial(names.element_values, step))
    against = found if isinstance(found, Unavailable) else worst(found)
    listed, given = (None, None) if isinstance(found, Unavailable) else kept_elements(found)
    status, reason = (SCORED, None) if against is None else (against.status, against.reason)
    return Scored(step, None, None, {step.name: (None, status)}, given, reason, listed)


def kept_elements(found: Sequence[ElementValue]) -> tuple[str, str]:
    """Return the elements, and their values, as one row keeps them: as JSON texts."""
    listed = [{"place": str(each.place), "element": _plain(each.element)} for each in found]
    values: list[dict[str, Any]] = []
    for each in found:
        if each.against is not None:
            values.append({"value": None, "status": each.against.status, "error": each.against.reason})
            continue
        number, text = kept_value(each.value)
        values.append({"value": number, "status": SCORED} | ({} if text is None else {"given": text}))
    return orjson.dumps(listed, default=str).decode(), orjson.dumps(values).decode()


def worst(found: Sequence[ElementValue]) -> Unavailable | None:
    """Return why not every element has a score, where a reply is why: first what another run would ask for again. None
    where all have one that may have one."""
    lacking = [each.against for each in found if each.against is not None and each.against.status != NOT_APPLICABLE]
    return next((each for each in lacking if each.status in AGAIN), lacking[0] if lacking else None)


def kept_value(value: Any) -> tuple[float | None, str | None]:
    """Return a number, and JSON text for what is none. True and false are 1 and 0; a set is a list in order; what is
    not there is neither.

    >>> kept_value(True), kept_value("B"), kept_value({"b", "a"}), kept_value(None)
    ((1.0, None), (None, '"B"'), (None, '["a","b"]'), (None, None))
    """
    if value is None:
        return None, None
    if isinstance(value, bool | int | float):
        number = float(value)
        return (number, None) if math.isfinite(number) else (None, None)
    return None, orjson.dumps(_plain(value), default=str).decode()


def _plain(value: Any) -> Any:
    match value:
        case str():
            return str(value)
        case AbstractSet():
            return sorted((_plain(each) for each in value), key=repr)
        case list() | tuple():
            return [_plain(each) for each in value]
        case Mapping():
            return {name: _plain(each) for name, each in value.items() if not isinstance(each, Missing)}
    return value
