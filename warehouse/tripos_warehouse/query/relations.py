"""Results of queries as relations of DuckDB, whose first rows a notebook shows; and relations that cannot write."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from tripos_warehouse.errors import StoreError
from tripos_warehouse.tables.markup import to_html, to_markdown
from tripos_warehouse.tables.model import answer_table

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from tripos_warehouse.tables.model import Table as ShownTable


SHOWN = 20
"""The number of rows that a notebook shows."""
LONGEST = 60
"""The maximum length of a text in a notebook, in characters."""


class Table(duckdb.DuckDBPyRelation):
    """A DuckDB relation whose first rows a notebook shows."""

    __slots__ = ()

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a pandas data frame; pandas must be installed."""
        frame: pd.DataFrame = self.df()
        return frame

    def to_polars(self) -> pl.DataFrame:
        """Return the rows as a polars data frame; polars must be installed."""
        frame: pl.DataFrame = self.pl()
        return frame

    def to_arrow(self) -> pa.Table:
        """Return the rows as an Arrow table."""
        return self.to_arrow_table()

    def _repr_mimebundle_(self, *_: Any, **__: Any) -> dict[str, str]:
        tables = [preview(self)]
        return {"text/plain": str(self), "text/html": to_html(tables), "text/markdown": to_markdown(tables)}


def preview(relation: duckdb.DuckDBPyRelation, name: str = "answer") -> ShownTable:
    """Return the first rows of a relation as a table, with long texts cut.

    >>> table = preview(duckdb.sql("select range as n, repeat('a', 100) as long from range(30)"))
    >>> table.height, len(table.columns[1].cells[0]), table.notes
    (20, 60, ('the first 20 rows; `.to_pandas()`, `.to_polars()` and `.to_arrow()` have all',))
    """
    rows = relation.limit(SHOWN + 1).to_arrow_table()
    has_more = rows.num_rows > SHOWN
    note = f"the first {SHOWN} rows; `.to_pandas()`, `.to_polars()` and `.to_arrow()` have all"
    return answer_table(rows.slice(0, SHOWN), name, longest=LONGEST, notes=(note,) if has_more else ())


def as_table(relation: duckdb.DuckDBPyRelation) -> Table:
    """Return the same relation as a `Table`."""
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
"""The permitted methods and attributes of a relation.

The sandbox keeps SQL from other files, but DuckDB must be allowed to open the files of the store, which it could then
write. So the permitted methods are listed, and methods of later DuckDB versions are refused until they are added. This
prevents accidents and SQL from others; a user who can run Python can write files without DuckDB.
"""

_SPECIAL = ("__getitem__", "__getattr__")
"""The permitted special methods of a relation."""


class Relation(Table):
    """A DuckDB relation that only reads, as do all relations derived from it. Methods that are not permitted raise
    `StoreError` S0205.
    """

    __slots__ = ()


class Groups:
    """The result of the method `group_by` of a relation: groups of rows, to be aggregated."""

    def __init__(self, groups: Any) -> None:
        self._groups = groups

    def agg(self, *arguments: Any, **named: Any) -> Any:
        """Aggregate the groups, as in DuckDB."""
        return read_only(self._groups.agg(*arguments, **named))


def read_only(frame: Any) -> Any:
    """Return the same relation restricted to methods that read; any other object unchanged.

    >>> relation = read_only(duckdb.sql("select 1 as n"))
    >>> relation.filter("n = 1").fetchall()
    [(1,)]
    >>> relation.write_csv("n.csv")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tripos_warehouse.errors.StoreError: S0205: ...
    """
    if isinstance(frame, duckdb.DuckDBPyRelation):
        frame.__class__ = Relation
    elif type(frame).__name__ == "GroupedRelation":
        return Groups(frame)
    return frame


def _read_only_method(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method whose result is restricted to reading."""

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        return read_only(function(*arguments, **named))

    return call


def _refused_method(name: str) -> Callable[..., Any]:
    """Return a method that raises `StoreError` S0205."""

    def refuse(*_: Any, **__: Any) -> Any:
        hint = "take the rows out, as with `.to_arrow_table()` or `.df()`, and go on with those"
        raise StoreError("S0205", f"`{name}` of a relation does more than read the store", hint)

    refuse.__name__ = refuse.__qualname__ = name
    return refuse


for _name in dir(duckdb.DuckDBPyRelation):
    _member = getattr(duckdb.DuckDBPyRelation, _name)
    if callable(_member) and (_name in _SPECIAL or not _name.startswith("_")):
        setattr(
            Relation,
            _name,
            _read_only_method(_member) if _name in READS or _name in _SPECIAL else _refused_method(_name),
        )
