"""What scores and columns come to: one value, or one of each element of a list, in one row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set as AbstractSet
from functools import partial
from typing import Any, NamedTuple

import orjson

from tripos_compiler.language import Missing, Unavailable
from tripos_compiler.language.library import in_bounds
from tripos_compiler.plan import Column, Score
from tripos_runtime.asking import AGAIN, NOT_APPLICABLE, SCORED, worth_of
from tripos_runtime.program.answers import with_programs
from tripos_runtime.program.names import ElementValue, Names
from tripos_runtime.program.needs import Program, Scored


class Raters(NamedTuple):
    """The judges each of whom gives a score of an element, and the name of their verdict."""

    verdict: str
    judges: tuple[str, ...]


def score_of(names: Names, step: Score | Column, raters: Raters | None = None) -> Program:
    """Return what a step comes to: a `Scored`."""
    if step.element is not None:
        return (yield from _scored_elements(names, step, raters))
    found, against = yield from with_programs(partial(names.value_of, step))
    value, given = None, None
    if against is None:
        value, given = _score_value(step, found) if isinstance(step, Score) else kept_value(found)
    status, reason = (SCORED, None) if against is None else (against.status, against.reason)
    return Scored(step, None, None, {step.name: (value, status)}, given, reason)


def _score_value(step: Score, value: Any) -> tuple[float | None, str | None]:
    """Return a score as a number, and as JSON text where it is a name; such a name may stand for a number."""
    if step.gives is None:
        return float(value), None
    return worth_of(step.gives, value), orjson.dumps(str(value)).decode()


def _scored_elements(names: Names, step: Score | Column, raters: Raters | None) -> Program:
    judges: tuple[str | None, ...] = (None,) if raters is None else raters.judges
    kept: list[KeptElement] = []
    lacking: list[Unavailable] = []
    for judge in judges:
        seen = names if judge is None or raters is None else names.as_said_by(raters.verdict, judge)
        found = yield from with_programs(partial(seen.element_values, step))
        against = found if isinstance(found, Unavailable) else worst(found)
        lacking += [] if against is None else [against]
        if not isinstance(found, Unavailable):
            kept += [_kept_element(step, each, judge) for each in found]
        elif judge is not None:
            kept.append(KeptElement({"evaluator": judge}, _kept_reason(found)))
    listed = orjson.dumps([each.element for each in kept], default=str).decode() if kept else None
    given = orjson.dumps([each.value for each in kept]).decode() if kept else None
    against = next((each for each in lacking if each.status in AGAIN), lacking[0] if lacking else None)
    status, reason = (SCORED, None) if against is None else (against.status, against.reason)
    return Scored(step, None, None, {step.name: (None, status)}, given, reason, listed)


class KeptElement(NamedTuple):
    """An element and its value, as the row of a score keeps them."""

    element: dict[str, Any]
    value: dict[str, Any]


def _kept_element(step: Score | Column, found: ElementValue, judge: str | None) -> KeptElement:
    element = {"place": str(found.place), "element": _plain(found.element)}
    if judge is not None:
        element["evaluator"] = judge
    if found.against is not None:
        return KeptElement(element, _kept_reason(found.against))
    chosen = isinstance(step, Score) and step.gives is not None
    number, text = _score_value(step, found.value) if chosen else kept_value(found.value)  # type: ignore[arg-type]
    return KeptElement(element, {"value": number, "status": SCORED} | ({} if text is None else {"given": text}))


def _kept_reason(against: Unavailable) -> dict[str, Any]:
    return {"value": None, "status": against.status, "error": against.reason}


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
        return (number, None) if in_bounds(number) else (None, None)
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
