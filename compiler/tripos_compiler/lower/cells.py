"""In which cells a figure is taken: the dimensions of its statement, and those that its parts go by on their own."""

from __future__ import annotations

from tripos_compiler.lower.dims import read_dimension, text_of
from tripos_compiler.lower.figured import Figured, Reading


def find_cells(reading: Reading, figured: Figured) -> tuple[str, ...] | None:
    """The dimensions that a figure goes by. None where it cannot go by one, or where one of its parts does not go by
    what another does, which is reported: what `by_metric - overall` means by metric would be anybody's guess."""
    good = True
    for syntax in reading.written:
        free = [leaf.parted for leaf in figured.leaves if text_of(syntax) not in leaf.fixed]
        if free:
            good = read_dimension(reading.program, syntax, free) is not None and good
        else:
            message = f"`{text_of(syntax)}` is fixed already, so there is nothing to go by"
            reading.error("E0621", message, syntax.span, "leave it out here, or in the slice")
            good = False
    return _joined(reading, figured) if good else None


def _joined(reading: Reading, figured: Figured) -> tuple[str, ...] | None:
    by = tuple(dict.fromkeys([*reading.by, *figured.cells]))
    for term in reading.terms:
        lacking = [dim for dim in by if dim not in reading.by and dim not in term.cells and dim not in term.fixed]
        if lacking:
            other = next(each for each in reading.terms if lacking[0] in each.cells)
            message = f"`{other.named}` goes by `{lacking[0]}`, and `{term.named}` does not"
            reading.error("E0621", message, term.span, f"take both by it, with `by {', '.join(by)}` at the end")
            return None
    return by
