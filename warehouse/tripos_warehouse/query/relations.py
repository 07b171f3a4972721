"""Relations that only read: those of DuckDB, without what would write a file, change a table or run a statement.

The box keeps SQL from other files, but has to name the store's own to DuckDB, which may then write them too. So what is
let through is listed, and what a later DuckDB adds is refused until it is. This stops slips, and SQL that somebody else
wrote; whoever may run Python can write to files without DuckDB.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import duckdb

from tripos_warehouse.errors import StoreError
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


_READS = """
    aggregate alias any_value apply arg_max arg_min arrow avg bit_and bit_or bit_xor bitstring_agg bool_and bool_or
    close columns count cross cume_dist dense_rank describe description df distinct drop dtypes except_ execute explain
    favg fetch_arrow_reader fetch_arrow_table fetch_df_chunk fetch_record_batch fetchall fetchdf fetchmany fetchnumpy
    fetchone filter first first_value fsum geomean group_by head histogram intersect iter_rows join lag last last_value
    lead limit list map materialize max mean median min mode n_tile nth_value offset order percent_rank pivot pl preview
    product project quantile quantile_cont quantile_disc rank rank_dense record_batch rename row_number sample select
    select_dtypes select_types set_alias shape show sort sql_query std stddev stddev_pop stddev_samp string_agg sum tf
    to_arrow_reader to_arrow_table to_df to_dicts torch type types union union_by_name unique unnest unpivot
    value_counts var var_pop var_samp variance with_columns
"""
READS = frozenset(_READS.split())
"""What may be asked of a relation."""

_ASKED = ("__getitem__", "__getattr__")


class Relation(Table):
    """A relation of DuckDB that only reads, as do all that are made from it. The rest raises `StoreError` S0205."""

    __slots__ = ()


class Groups:
    """Rows in groups, waiting for aggregates: what `group_by` of a relation gives."""

    def __init__(self, groups: Any) -> None:
        self._groups = groups

    def agg(self, *arguments: Any, **named: Any) -> Any:
        """As of DuckDB's own."""
        return reading(self._groups.agg(*arguments, **named))


def reading(found: Any) -> Any:
    """Return the same relation, of which only what reads can be asked; anything else as it is.

    >>> relation = reading(duckdb.sql("select 1 as n"))
    >>> relation.filter("n = 1").fetchall()
    [(1,)]
    >>> relation.write_csv("n.csv")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tripos_warehouse.errors.StoreError: S0205: ...
    """
    if isinstance(found, duckdb.DuckDBPyRelation):
        found.__class__ = Relation
    elif type(found).__name__ == "GroupedRelation":
        return Groups(found)
    return found


def _asked(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def ask(*arguments: Any, **named: Any) -> Any:
        return reading(function(*arguments, **named))

    return ask


def _refused(name: str) -> Callable[..., Any]:
    def refuse(*_: Any, **__: Any) -> Any:
        hint = "take the rows out, as with `.to_arrow_table()` or `.df()`, and go on with those"
        raise StoreError("S0205", f"`{name}` of a relation does more than read the store", hint)

    refuse.__name__ = refuse.__qualname__ = name
    return refuse


for _name in dir(duckdb.DuckDBPyRelation):
    _member = getattr(duckdb.DuckDBPyRelation, _name)
    if callable(_member) and (_name in _ASKED or not _name.startswith("_")):
        setattr(Relation, _name, _asked(_member) if _name in READS or _name in _ASKED else _refused(_name))
