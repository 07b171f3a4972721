"""Values of tables and databases as JSON has them, which is what types are read from."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID


def plain_value(value: Any) -> Any:
    """Return a value as JSON has it: a decimal is a number, a date or a time its text in ISO 8601, a duration its
    seconds, a mapping an object. What JSON has nothing for, such as bytes, stays.

    >>> plain_value(Decimal("1.50")), plain_value([date(2024, 1, 2), Decimal(3)]), plain_value(timedelta(minutes=1))
    (1.5, ['2024-01-02', 3], 60.0)
    """
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Decimal():
            return int(value) if value.is_finite() and value == value.to_integral_value() else float(value)
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case UUID():
            return str(value)
        case list() | tuple():
            return [plain_value(each) for each in value]
        case Mapping():
            return {str(name): plain_value(each) for name, each in value.items()}
    return value
