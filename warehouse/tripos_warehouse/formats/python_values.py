"""Values of Arrow as Python has them; those that Python cannot have, as texts."""

from __future__ import annotations

from typing import Any, Literal

import pyarrow as pa

Maps = Literal["lossy"] | None
"""How maps come: as dictionaries, or as lists of pairs."""


def values_of(column: pa.Array | pa.ChunkedArray, maps: Maps = "lossy") -> list[Any]:
    """Return the values of a column. A date or a time outside of the years 1 to 9999 is a text.

    >>> values_of(pa.array([0, None, 2**31 - 1], pa.date32()))
    [datetime.date(1970, 1, 1), None, '<value out of range: 2147483647>']
    """
    try:
        found: list[Any] = column.to_pylist(maps_as_pydicts=maps)
    except (OverflowError, ValueError):
        found = [_value_of(scalar, maps) for scalar in column]
    return found


def _value_of(scalar: pa.Scalar, maps: Maps) -> Any:
    try:
        return scalar.as_py(maps_as_pydicts=maps)
    except (OverflowError, ValueError):
        pass
    match scalar:
        case pa.StructScalar():
            return {name: _value_of(value, maps) for name, value in scalar.items()}
        case pa.ListScalar() | pa.LargeListScalar() | pa.FixedSizeListScalar() | pa.MapScalar():
            return [_value_of(value, maps) for value in scalar.values]
        case _:
            return scalar.cast(pa.string()).as_py()
