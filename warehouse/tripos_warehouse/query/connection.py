"""Connections to a sandboxed DuckDB over a store: views that are created on first use, and additional SQL functions.

The sandbox reads the given files and nothing else: no other files, no network, no settings. It is locked before any
statement from a store is executed, so nothing in a store can remove the restriction.

A connection has the statements that create its views. Before a query is executed, the views that it names are created,
and the views that these name; to create all of them takes longer than most queries. If a query names a view in a way
that only DuckDB can resolve, as in `query_table('sco' || 'res')`, DuckDB fails; then all views are created and the
query is repeated. A query about the catalog needs all views.

The module imports only DuckDB's engine, since every command waits for it: its Python layer, which makes relations,
takes 13 MB and 60 ms. What the SQL functions need is imported when one is called.
"""

from __future__ import annotations

import importlib
import os
import re
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

from tripos_warehouse.errors import StoreError

if TYPE_CHECKING:
    import duckdb as duckdb  # noqa: PLC0414 - others import it from here
else:
    try:
        duckdb = importlib.import_module("_duckdb")
    except ImportError:
        duckdb = importlib.import_module("duckdb")


def as_relation(
    connection: duckdb.DuckDBPyConnection, query: str | duckdb.Statement, params: object = None
) -> duckdb.DuckDBPyRelation:
    """Return a query as a relation, for results as Arrow columns or in batches."""
    importlib.import_module("duckdb")  # adds the methods of relations
    return connection.sql(query, params=params)


# The sandbox
SMALL_BYTES = 8 * 2**20
"""Stores with fewer bytes get the settings `SMALL`."""
SMALL: dict[str, str | int | float | list[str]] = {
    "threads": 1,
    "allocator_bulk_deallocation_flush_threshold": "3MB",
}
"""Settings for small stores. One thread reads them, since more threads take more memory and no less time. Freed memory
is returned to the system in units of 3 MB, more than the table of a `group by` of few rows. In units of 2 MB and less,
each `group by` takes 2 ms of CPU more, a report a sixth more, and the process 12 MB less.
"""

LARGE_BYTES = 256 * 2**20
"""From this size on, the footers of the files are read again for every query: to cache them takes a sixth of the size
of the files, 100 MB for ten million samples with a score each.
"""


def open_sandbox(files: Sequence[str]) -> duckdb.DuckDBPyConnection:
    """Return an in-memory DuckDB that may read `files`.

    >>> open_sandbox([]).execute("select current_setting('enable_external_access')").fetchall()
    [(False,)]
    """
    # The folder for large sorts, which exists only while it is needed.
    folder = f"{tempfile.gettempdir()}/tripos-{os.urandom(16).hex()}"
    connection = duckdb.connect(
        ":memory:",
        config={
            "python_enable_replacements": False,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "temp_directory": folder,
            **(SMALL if _bytes_of(files) < SMALL_BYTES else {}),
        },
    )
    try:
        if files:
            quoted = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
            connection.execute(f"set allowed_paths = [{quoted}]")
        # The footers are read when a view is created, again for every view over it, and by every query.
        if _bytes_of(files) < LARGE_BYTES:
            connection.execute("set parquet_metadata_cache = true")
        connection.execute("set enable_external_access = false")
        connection.execute("set lock_configuration = true")
    except BaseException:
        connection.close()
        raise
    return connection


def _bytes_of(files: Sequence[str]) -> int:
    """Return the total size of the files, without missing ones."""
    total = 0
    for file in files:
        with suppress(OSError):
            total += Path(file).stat().st_size
    return total


# Queries that need all views: those about the catalog, and those that run a text, as `query` does. A `describe` or
# `desc` alone lists the tables; `desc` also occurs in `order by`. `duckdb_tables` lists no views.
_NEEDS_ALL = re.compile(
    r"""\b(?:show|describe|query|json_execute_serialized_sql|information_schema|duckdb_(?!tables\b)\w+|pg_\w+|sqlite_\w+)\b
    | (?:^|[(;/])\s*desc\b""",
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
_NAME = r"(\w+|\"(?:[^\"]|\"\")*\")"
_CREATES = re.compile(
    rf"create\s+(?:or\s+replace\s+)?(schema|type|table|view|macro)\s+(?:if\s+not\s+exists\s+)?{_NAME}(?:\.{_NAME})?"
)
_JOINT = re.compile(r"\s*([.(])\s*")
_WORD = re.compile(r"\w+")
_MAIN = "main"


# Connections with views
class Connection(Protocol):
    """The part of a DuckDB connection that readers of a store use."""

    def execute(self, query: str | duckdb.Statement, parameters: object = None) -> duckdb.DuckDBPyConnection:
        """Run statements; the result fetches the rows."""

    def sql(self, query: str | duckdb.Statement, *, params: object = None) -> duckdb.DuckDBPyRelation:
        """Return a query as a relation."""

    def extract_statements(self, query: str) -> list[duckdb.Statement]:
        """Return the statements in a text."""

    def cursor(self) -> Connection:
        """Return another connection to the same database, for a thread or for rows that are fetched in batches."""

    def close(self) -> None:
        """Close the connection."""


class Views:
    """The statements that create the views of a database, and which of them are still pending.

    >>> views = ["create schema q", "create or replace view q.a as select 1", "create or replace view q.b as from q.a"]
    >>> [len(Views(views).needed(query)) for query in ("from q.b", "from Q . a", "show all tables", "from a")]
    [3, 2, 3, 0]
    """

    def __init__(self, statements: Sequence[str] = ()) -> None:
        self._pending: list[str] = []
        self._names: set[tuple[str, str]] = set()
        """The names of all views, created or not, each in two parts."""
        self._active: set[str] = set()
        """The arguments of active contexts of `first`."""
        self._after: dict[str, Callable[[duckdb.DuckDBPyConnection], None]] = {}
        self._lock = threading.Lock()
        self.add(statements)

    def add(self, statements: Sequence[str]) -> None:
        """Add pending statements, which may build on earlier ones."""
        self._pending += statements
        self._names.update(created[1:] for created in map(_created, statements) if created is not None)

    def has(self, outer: str, inner: str) -> bool:
        """Return true if there is a view of this name, created or not."""
        return (_plain(outer), _plain(inner)) in self._names

    def after(self, statement: str, do: Callable[[duckdb.DuckDBPyConnection], None]) -> None:
        """Register a callback that is called after a statement was executed."""
        self._after[statement] = do

    def needed(self, query: str) -> list[str]:
        """Return the pending statements that a query needs, in order."""
        if _NEEDS_ALL.search(query):
            return list(self._pending)
        text = _plain(query)
        words = set(_WORD.findall(text))
        needed: list[str] = []
        for statement in reversed(self._pending):
            if _is_named(statement, text, words):
                needed.append(statement)
                body = _plain(statement)
                text += f"\n{body}"
                words.update(_WORD.findall(body))
        return needed[::-1]

    def make(self, database: duckdb.DuckDBPyConnection, query: str | None = None) -> bool:
        """Create the views that a query needs, or all, and return true if there were any. Raises `StoreError` S0103."""
        with self._lock:
            needed = list(self._pending) if query is None else self.needed(query) if self._pending else []
            try:
                for statement in needed:
                    database.execute(statement)
                    self._pending.remove(statement)
                    if statement in self._after:
                        self._after.pop(statement)(database)
            except duckdb.Error as error:
                raise StoreError("S0103", f"the store cannot be read: {' '.join(str(error).split())}") from error
        return bool(needed)

    @contextmanager
    def first(self, what: str) -> Iterator[bool]:
        """Yield true if there is no other active context with the same `what`, on any connection to the database;
        otherwise false.
        """
        with self._lock:
            is_first = what not in self._active
            self._active.add(what)
        try:
            yield is_first
        finally:
            if is_first:
                self._active.discard(what)


class StoreConnection:
    """A connection to a database whose `views` are created when a query first names them."""

    def __init__(self, database: duckdb.DuckDBPyConnection, views: Views) -> None:
        self.database = database
        self.views = views

    def execute(self, query: str | duckdb.Statement, parameters: object = None) -> duckdb.DuckDBPyConnection:
        """Run statements; the result fetches the rows. Raises `duckdb.Error`, and `StoreError` S0103 if a view cannot
        be created.
        """
        self._make(query)
        try:
            return self.database.execute(query, parameters)
        except (duckdb.CatalogException, duckdb.BinderException):
            if not self._make(None):
                raise
        return self.database.execute(query, parameters)

    def sql(self, query: str | duckdb.Statement, *, params: object = None) -> duckdb.DuckDBPyRelation:
        """Return a query as a relation. Raises what `execute` raises."""
        self._make(query)
        try:
            return as_relation(self.database, query, params)
        except (duckdb.CatalogException, duckdb.BinderException):
            if not self._make(None):
                raise
        return as_relation(self.database, query, params)

    def extract_statements(self, query: str) -> list[duckdb.Statement]:
        """Return the statements in a text."""
        return self.database.extract_statements(query)

    def interrupt(self) -> None:
        """End the query that runs, from another thread. It raises `duckdb.InterruptException` there."""
        self.database.interrupt()

    def make_views(self) -> None:
        """Create all views, for queries that are extended later. Raises `StoreError` S0103."""
        self._make(None)

    def cursor(self) -> StoreConnection:
        """Return another connection to the same database."""
        return StoreConnection(self.database.cursor(), self.views)

    def close(self) -> None:
        """Close the connection."""
        self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _make(self, query: str | duckdb.Statement | None) -> bool:
        """Create the views that a query needs, or all, and return true if there were any."""
        return self.views.make(self.database, query if isinstance(query, str | None) else query.query)


def _is_named(statement: str, text: str, words: set[str]) -> bool:
    """Return true if a text, in the form of `_plain`, contains the name of what a statement creates, or if that is
    unknown. `words` are those of the text.
    """
    created = _created(statement)
    if created is None:
        return True
    kind, outer, inner = created
    end = "(" if kind == "macro" else ""
    if kind == "schema":
        return f"{outer}." in text
    if outer == _MAIN:
        return inner in words and f"{inner}{end}" in text
    return f"{outer}.{inner}{end}" in text


@lru_cache(1024)
def _created(statement: str) -> tuple[str, str, str] | None:
    """Return the kind of object that a statement creates, and the two parts of its name; None for other statements."""
    match = _CREATES.match(statement)
    return match and (match[1], _plain(match[2]), _plain(match[3] or ""))


def _plain(text: str) -> str:
    """Return a text in lower case without quotes, and without blanks around `.` and `(`."""
    return _JOINT.sub(r"\1", text.casefold().replace('"', ""))


# SQL functions
SqlList = Sequence[Any] | None
"""A list of SQL as an argument of a Python function."""
ARROW: Any = "arrow"
SPECIAL: Any = "special"
"""Options of DuckDB: a function of Arrow columns, and one that is also called for nulls."""
RATED = "struct(item varchar, subject varchar, rater varchar, key varchar, value double)[]"
"""The type of the argument `rows` of `tripos_statistic`: a list of rows, in any order, for each cell."""
STATISTIC = (
    "struct(value double, reason varchar, items varchar[], influences double[], draws double[], limits double[])"
)
"""The result type of `tripos_statistic`: see `aggregates.statistic`."""
BOUNDS = "struct(low double, high double, error double)"
"""The result type of `tripos_interval`: see `resampling.percentile_interval`."""


def add_functions(connection: duckdb.DuckDBPyConnection) -> None:
    """Register the SQL functions `t_quantile(p, df)`, `tripos_statistic(what, level, rows)`, and for the bootstrap
    `tripos_draws(value, items, influences)` and `tripos_interval(draws, df)`.

    >>> import duckdb
    >>> connection = duckdb.connect()
    >>> add_functions(connection)
    >>> connection.sql("select round(t_quantile(0.975, 10), 3)").fetchall()
    [(2.228,)]
    """
    from tripos_warehouse.statistics.arrays import t_quantile  # imports NumPy, which most queries do not need

    connection.create_function("t_quantile", t_quantile, ["double", "double"], "double", null_handling=SPECIAL)
    of_statistic: list[Any] = ["varchar", "varchar", RATED]
    connection.create_function(
        "tripos_statistic", _statistic, of_statistic, STATISTIC, type=ARROW, null_handling=SPECIAL
    )
    of_draws: list[Any] = ["double", "varchar[]", "double[]"]
    connection.create_function("tripos_draws", _draws, of_draws, "double[]", null_handling=SPECIAL)
    of_interval: list[Any] = ["double[]", "double"]
    connection.create_function("tripos_interval", _interval, of_interval, BOUNDS, null_handling=SPECIAL)


def _statistic(what: Any, level: Any, rows: Any) -> Any:
    """Return one statistic for each row of Arrow columns, which take less memory than Python objects."""
    import pyarrow as pa

    from tripos_warehouse.query.aggregates import statistic

    lists, numbers = pa.list_(pa.string()), pa.list_(pa.float64())
    kinds = {
        "value": pa.float64(),
        "reason": pa.string(),
        "items": lists,
        "influences": numbers,
        "draws": numbers,
        "limits": numbers,
    }
    results = []
    for name, settings, row in zip(what.to_pylist(), level.to_pylist(), rows, strict=True):
        columns = [] if row.values is None else row.values.flatten()
        results.append(statistic(name, settings, *(columns or [()] * 5)))
    return pa.array(results, pa.struct(list(kinds.items())))


def _draws(value: float | None, items: SqlList, influences: SqlList) -> list[float] | None:
    """Return bootstrap draws of a value from the influences of items: the SQL function `tripos_draws`."""
    from tripos_warehouse.query.resampling import first_order_draws

    return first_order_draws(value, items, influences)


def _interval(draws: SqlList, df: float | None) -> dict[str, Any] | None:
    """Return the percentile interval of draws: the SQL function `tripos_interval`."""
    from tripos_warehouse.query.resampling import percentile_interval

    return percentile_interval(draws, df)
