"""Counting: how many rows of some parts have one text in a column, without reading what cannot have it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from tripos_warehouse.parts import reading


def count_rows(paths: Iterable[Path], column: str, text: str) -> int:
    """How many rows have `text` in `column`. Raises `StoreError` W0103 where a part cannot be read.

    >>> count_rows([], "run_id", "r1")
    0
    """
    count = 0
    for path in paths:
        with reading(path) as file:
            place = file.schema_arrow.get_field_index(column)
            for number in range(file.num_row_groups):
                known = file.metadata.row_group(number).column(place).statistics
                if known is not None and known.has_min_max and not known.min <= text <= known.max:
                    continue
                found = file.read_row_group(number, [column])[column]
                count += pc.sum(pc.equal(found, pa.scalar(text))).as_py() or 0
    return count
