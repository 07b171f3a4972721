"""Texts for the cells of a workbook: each stays the text it is, whatever it begins with and whatever is in it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openpyxl.cell import Cell

_ESCAPED = re.compile(r"_(?=x[0-9A-Fa-f]{4}_)")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\ufffe\uffff]")


def written(text: str) -> str:
    """Return a text as the XML of a workbook has it: what XML cannot hold escaped, and what looks like such an escape
    too. Half of a surrogate pair, which nothing can hold, becomes U+FFFD.

    >>> written("a\\x07b"), written("a_x0007_b"), written("two\\r\\nlines")
    ('a_x0007_b', 'a_x005F_x0007_b', 'two_x000D_\\nlines')
    """
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return _CONTROL.sub(lambda found: f"_x{ord(found[0]):04X}_", _ESCAPED.sub("_x005F_", whole))


def put_text(cell: Cell, text: str) -> None:
    """Put a text of at most 32,767 characters into a cell, where it is never a formula, a number or an escape."""
    cell.value = ""
    # Set as a value, it would be read for what it looks like, and cut where its escapes make it longer.
    cell._value = written(text)  # type: ignore[attr-defined]
    cell.data_type = "s"
