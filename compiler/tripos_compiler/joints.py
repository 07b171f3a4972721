"""Names joined by another sign than the statement takes: `arms a, b` for `arms a * b`, `by a * b` for `by a, b`."""

from __future__ import annotations

from collections.abc import Sequence

from tripos_compiler.constructs.signature import Slot
from tripos_compiler.constructs.table import Construct
from tripos_compiler.diagnostics import Diagnostics
from tripos_compiler.syntax.tree import BinaryExpr, Entry, Line, Name, Syntax

PRODUCTS = frozenset({"AXES", "ARMS"})
"""The slots of a signature whose names are joined by `*`."""


def with_commas(line: Line, construct: Construct, table: dict[str, list[Construct]]) -> Sequence[Entry]:
    """The entries of a line, of which the first is of `construct`: with the names that follow it after commas."""
    first, *rest = line.entries
    kinds = {item.kind for item in construct.shape.items if isinstance(item, Slot)}
    if not kinds & PRODUCTS or first.block is not None or len(first.elements) < 2:
        return ()
    count = next((index for index, entry in enumerate(rest) if not _bare(entry, table)), len(rest))
    return rest[:count]


def as_product(first: Entry, names: Sequence[Entry], diagnostics: Diagnostics) -> Entry:
    """An entry with the names that followed it after commas joined by `*`, as they were meant; this is reported."""
    product = first.elements[-1]
    for entry in names:
        element = entry.elements[0]
        product = BinaryExpr(product.span.to(element.span), "*", product, element)
    elements = (*first.elements[:-1], product)
    keyword = first.elements[0]
    word = keyword.text if isinstance(keyword, Name) else ""
    help_ = f"write `{word} {' * '.join(_names(product))}`: every combination of their values"
    diagnostics.error("E0106", f"what `{word}` takes is joined by `*`, not by commas", product.span, help=help_)
    return Entry(first.span.to(names[-1].span), elements, None)


def with_stars(element: Syntax, before: Syntax | None) -> str | None:
    """How names joined by `*` are written after a word that takes them parted by commas; None for anything else."""
    if isinstance(before, Name) and isinstance(element, BinaryExpr) and element.operator == "*":
        names = _names(element)
        return f"write `{before.text} {', '.join(names)}`" if names else None
    return None


def _bare(entry: Entry, table: dict[str, list[Construct]]) -> bool:
    """Whether an entry is a name, or names joined by `*`, that begin no statement."""
    names = _names(entry.elements[0]) if len(entry.elements) == 1 and entry.block is None and not entry.broken else []
    return bool(names) and names[0] not in table


def _names(syntax: Syntax) -> list[str]:
    """The names that `*` joins, or none where something else is joined."""
    match syntax:
        case Name(text=text):
            return [text]
        case BinaryExpr(operator="*", left=left, right=right):
            some, more = _names(left), _names(right)
            return some + more if some and more else []
        case _:
            return []
