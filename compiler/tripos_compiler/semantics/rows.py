"""Raw records of a data file to typed rows, and what is wrong with those that do not fit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tripos_compiler.plan import Axis, DataField, Dataset, Type, digest
from tripos_compiler.semantics.library import shown

ABSENT = object()
LEAST, MOST = -(2**63), 2**63 - 1
"""The integers that can be stored."""


@dataclass(frozen=True)
class Misfit:
    """A value that does not fit. `column` is the column it came from, or None where no column was there."""

    field: str
    column: str | None
    value: Any
    expected: str


class DoesNotFit(Exception):
    """A value cannot be read as a type."""


def read_row(dataset: Dataset, raw: Mapping[str, Any], axes: Mapping[str, Axis]) -> dict[str, Any] | Misfit:
    """The typed row of a raw record, or the first value that does not fit."""
    row: dict[str, Any] = {}
    for field in dataset.fields:
        column, value = find_value(field, raw)
        try:
            row[field.name] = read_value(field.type, None if value is ABSENT else value, axes)
        except DoesNotFit:
            shown_value = None if value is ABSENT else value
            return Misfit(field.name, column, shown_value, shown(field.type))
    return row


def find_value(field: DataField, raw: Mapping[str, Any]) -> tuple[str | None, Any]:
    """The first of a field's columns that the record has, and its value; `ABSENT` where it has none of them."""
    for column in field.columns:
        if column in raw:
            return column, raw[column]
    return None, ABSENT


def read_value(type_: Type, value: Any, axes: Mapping[str, Axis]) -> Any:
    """A raw value as a type: numbers also from text, as CSV has them, values of an axis also by label.

    >>> from tripos_compiler.plan import IntegerType
    >>> read_value(IntegerType(low=1, high=5), "4", {})
    4
    """
    if type_.kind == "optional":
        return None if value is None or value == "" else read_value(type_.of, value, axes)
    if value is None:
        raise DoesNotFit
    match type_.kind:
        case "text":
            if isinstance(value, str):
                return value
            raise DoesNotFit
        case "integer" | "number":
            return _number(type_, value)
        case "bool":
            return _bool(value)
        case "choice":
            return _choice(type_.values, axes.get(type_.axis or ""), value)
        case "list" | "set":
            if not isinstance(value, list):
                raise DoesNotFit
            items = [read_value(type_.of, item, axes) for item in value]
            return frozenset(items) if type_.kind == "set" else items
        case "record":
            if not isinstance(value, Mapping):
                raise DoesNotFit
            return {name: read_value(of, value.get(name), axes) for name, of in type_.fields.items()}
        case "dialogue":
            return _dialogue(value)
    raise DoesNotFit


def item_id(row: Mapping[str, Any]) -> str:
    """The name of a row's content: equal rows have equal names, wherever they are stored."""
    return digest(row)


def _number(type_: Any, value: Any) -> int | float:
    if isinstance(value, bool):
        raise DoesNotFit
    try:
        if type_.kind == "integer":
            return _integer(type_, value)
        number = value if isinstance(value, int) and LEAST <= value <= MOST else float(value)
    except (TypeError, ValueError, OverflowError):
        raise DoesNotFit from None
    if not math.isfinite(number):
        raise DoesNotFit
    return number


def _integer(type_: Any, value: Any) -> int:
    number = value
    if isinstance(value, str):
        try:
            number = int(value)
        except ValueError:
            number = float(value)  # `3.0` is 3; a float is exact only up to 2^53, so it comes second
    whole = int(number)
    low = LEAST if type_.low is None else type_.low
    high = MOST if type_.high is None else type_.high
    if whole != number or not low <= whole <= high or not LEAST <= whole <= MOST:
        raise DoesNotFit
    return whole


def _bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.casefold() in ("true", "false"):
        return value.casefold() == "true"
    raise DoesNotFit


def _choice(values: tuple[str, ...], axis: Axis | None, value: Any) -> str:
    if isinstance(value, str):
        if value in values:
            return value
        folded = value.strip().casefold()
        for candidate in axis.values if axis is not None else ():
            if folded in {candidate.name.casefold(), *(text.casefold() for text in candidate.labels.values())}:
                return candidate.name
    raise DoesNotFit


def _dialogue(value: Any) -> list[dict[str, str]]:
    if not isinstance(value, list):
        raise DoesNotFit
    turns: list[dict[str, str]] = []
    for turn in value:
        if not isinstance(turn, Mapping) or len(set(turn)) < 1:
            raise DoesNotFit
        speaker, text = turn.get("speaker", turn.get("role")), turn.get("text", turn.get("content"))
        if not isinstance(speaker, str) or not isinstance(text, str):
            raise DoesNotFit
        turns.append({"speaker": speaker, "text": text})
    return turns
