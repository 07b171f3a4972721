"""A picture: its rows, its words, and how the chart is made of them once its width is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tripos.plots.theme import Style
from tripos_warehouse.errors import StoreError

if TYPE_CHECKING:
    import pyarrow as pa

AnyChart = Any
"""A chart of Altair, of any of its classes."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Picture:
    """A picture: `rows` are its figures, one for each mark; `notes` say on what they stand, as a caption does."""

    kind: str
    title: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...]
    draws: Callable[[float, Style], AnyChart]
    several: int = 1
    """How many plots stand side by side, which share the width."""

    def to_arrow(self) -> pa.Table:
        """Return the rows as a table."""
        import pyarrow as pa

        return pa.Table.from_pylist([dict(row) for row in self.rows])


def nothing_to_draw(what: str, hint: str) -> StoreError:
    """Return the error for a run without the figures of a picture.

    >>> nothing_to_draw("no person graded a reply", "import grades").code
    'S0621'
    """
    return StoreError("S0621", f"nothing to draw: {what}", hint)


def data_of(rows: Sequence[Row]) -> Any:
    """Return rows as the data of a chart, inside of it."""
    import altair as alt

    return alt.Data(values=[dict(row) for row in rows])
