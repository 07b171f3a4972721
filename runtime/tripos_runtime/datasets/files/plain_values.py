"""Values of tables and databases as JSON has them, which is what types are read from."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from tripos_compiler.language import exact_number


def plain_value(value: Any) -> Any:
    """Return a value as JSON has it: a decimal is a number, a date or a time its text in ISO 8601, a duration its
    seconds, a mapping an object, NaN a value that is missing. What JSON has nothing for, such as bytes, stays, and so
    does a decimal that no number holds.

    >>> plain_value(Decimal("1.50")), plain_value([date(2024, 1, 2), Decimal(3)]), plain_value(timedelta(minutes=1))
    (1.5, ['2024-01-02', 3], 60.0)
    """
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return None if value != value else value  # noqa: PLR0124
        case Decimal() if not value.is_finite():
            return plain_value(float(value))
        case Decimal():
            return int(value) if value == value.to_integral_value() else exact_number(value)
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


def shortest_decimal(value: float | None, bits: int) -> float | None:
    """Return a number that was kept in 32 or 16 bits as its shortest decimal; NaN is missing. Its nearest number in 64
    bits has digits that nobody wrote.

    >>> shortest_decimal(0.10000000149011612, 32), shortest_decimal(0.0999755859375, 16)
    (0.1, 0.1)
    """
    import numpy as np

    if value is None or value != value:  # noqa: PLR0124
        return None
    return float(str((np.float32 if bits == 32 else np.float16)(value)))
