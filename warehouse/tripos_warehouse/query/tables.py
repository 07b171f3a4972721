"""Relations as tables: short in a notebook, and pandas, polars or Arrow at a word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb

from tripos_warehouse.formats import answer_table, to_html, to_markdown

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from tripos_warehouse.formats import PaperTable

SHOWN = 20
"""Rows that a notebook shows."""
LONGEST = 60
"""Characters of a text that it shows."""


class Table(duckdb.DuckDBPyRelation):
    """A relation of DuckDB of which a notebook shows the first rows."""

    __slots__ = ()

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a data frame of pandas, which must be installed."""
        found: pd.DataFrame = self.df()
        return found

    def to_polars(self) -> pl.DataFrame:
        """Return the rows as a data frame of polars, which must be installed."""
        found: pl.DataFrame = self.pl()
        return found

    def to_arrow(self) -> pa.Table:
        """Return the rows as a table of Arrow."""
        return self.to_arrow_table()

    def _repr_mimebundle_(self, *_: Any, **__: Any) -> dict[str, str]:
        shown = [glimpse(self)]
        return {"text/plain": str(self), "text/html": to_html(shown), "text/markdown": to_markdown(shown)}


def glimpse(relation: duckdb.DuckDBPyRelation, name: str = "answer") -> PaperTable:
    """Return the first rows of a relation as a table, its texts cut.

    >>> table = glimpse(duckdb.sql("select range as n, repeat('a', 100) as long from range(30)"))
    >>> len(table.rows), len(table.columns[1].cells[0]), table.notes
    (20, 60, ('the first 20 rows; `.to_pandas()`, `.to_polars()` and `.to_arrow()` have all',))
    """
    rows = relation.limit(SHOWN + 1).to_arrow_table()
    more = rows.num_rows > SHOWN
    note = f"the first {SHOWN} rows; `.to_pandas()`, `.to_polars()` and `.to_arrow()` have all"
    return answer_table(rows.slice(0, SHOWN), name, longest=LONGEST, notes=(note,) if more else ())


def as_table(relation: duckdb.DuckDBPyRelation) -> Table:
    """Return the same relation as a table."""
    relation.__class__ = Table
    return relation  # type: ignore[return-value]
