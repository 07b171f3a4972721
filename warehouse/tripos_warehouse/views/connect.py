"""Opening a store: views over the committed parts, in a DuckDB that can read them and nothing else.

A connection is a snapshot of what was committed when it was opened. A view is created when a query first names it.
Schema `main` has the tables over all runs; each benchmark has its own schema (`benchmark_views`).

The tables show one row for each key, from parts of all schema versions. Superseded rows do not count: failures that
were retried, and rows that were written again.
"""

from __future__ import annotations

import atexit
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import MappingProxyType

import orjson

from tripos_compiler.language.contexts import ArmSelection, RowClusters, select_treatments
from tripos_compiler.language.scored_values import element_scores
from tripos_compiler.plan import Plan
from tripos_warehouse import sql
from tripos_warehouse.errors import StoreError
from tripos_warehouse.query.connection import Connection, StoreConnection, Views, add_functions, duckdb, open_sandbox
from tripos_warehouse.store.index import winner_order
from tripos_warehouse.store.parts import FORMER
from tripos_warehouse.store.schemas import RUN_ENDS, RUN_ITEMS, RUN_SLOTS, RUN_STEPS, RUNS, TABLES, TableSchema
from tripos_warehouse.store.store import DamageListener, Store
from tripos_warehouse.views import view_cache
from tripos_warehouse.views.benchmark_views import OF_SUMS, Current, benchmark_views, read_plan, sum_views
from tripos_warehouse.views.derived import (
    ENUMERATED_TABLES,
    all_sums,
    may_have_duplicates,
    read_score_sums,
    read_values,
    score_sums,
    stored_values,
)
from tripos_warehouse.views.macros import main_macros
from tripos_warehouse.views.run_rows import INTERNAL, LATEST, PlanSteps, latest_rows, rows_of_run
from tripos_warehouse.views.runs import RunRecord, find_run


# The tables of schema `main`
def tables_with_duplicates(
    connection: duckdb.DuckDBPyConnection, sources: Mapping[str, str], keys: Mapping[str, Sequence[str]]
) -> set[str]:
    """Return the tables in which several rows may have one key, found in one query, since each query costs more than
    its reading. For large tables use `may_have_duplicates`.
    """
    # By hash, which takes a tenth of the memory for a million keys. Collisions are resolved later.
    parts = (
        f"""select {sql.text(name)} where exists (
          select 1 from {source} group by hash({", ".join(keys[name])}) having count(*) > 1)"""
        for name, source in sources.items()
    )
    query = " union all ".join(parts)
    return {name for (name,) in connection.execute(query).fetchall()} if query else set()


def exclude_superseded(
    connection: duckdb.DuckDBPyConnection,
    table: TableSchema,
    source: str,
    places: Sequence[int],
    columns: Sequence[str],
) -> tuple[list[str], str]:
    """Return the statements that list the superseded rows of a table, and a condition that excludes them; empty if
    there are none. `columns` are those of the key.

    The row that did not fail counts, then the one committed last. The locations of the other rows are stored, so that a
    view over wide rows needs no sort. They are few, since only failed units are retried.
    """
    key = ", ".join(columns)
    # By hash, which takes a tenth of the memory for a million keys. `partition` resolves collisions.
    doubles = f"select hash({key}) as hashed from {source} group by hashed having count(*) > 1"
    committed = "file_index" if [*places] == sorted(places) else f"({[*places]})[file_index::bigint + 1]"
    found = connection.execute(
        f"""select file_index, file_row_number from (
          select file_index, file_row_number,
            row_number() over (partition by {key} order by {winner_order(table.schema.names, committed)}) as place
          from {source} where hash({key}) in ({doubles}))
        where place > 1 order by all"""
    ).fetchall()
    if not found:
        return [], ""
    lost = superseded_table(table.name)
    files, rows = ([row[place] for row in found] for place in (0, 1))
    made = f"create or replace table {lost} as select unnest({files}) as file_index, unnest({rows}) as file_row_number"
    return [made], is_not_superseded(lost)


def rows_outside_parts(
    connection: StoreConnection,
    tables: Sequence[str],
    table: str,
    source: str,
    read: Sequence[Path],
    kept: Collection[Path],
) -> tuple[str, list[Path]]:
    """Return the query of the rows that are in none of the fully derived parts, and these parts.

    A part is fully derived if it is in `kept` and none of its rows is superseded. `read` are the files of the table,
    `tables` the statements that create the tables.
    """
    lost, condition, spoilt = superseded_table(table), "", set()
    if any(each.startswith(f"create or replace table {lost} ") for each in tables):
        condition = is_not_superseded(lost)
        spoilt = {place for (place,) in connection.execute(f"select distinct file_index from {lost}").fetchall()}
    paths = {place: path for place, path in enumerate(read) if path in kept and place not in spoilt}
    if paths:
        others = f"part.file_index not in ({', '.join(map(str, paths))})"
        condition = f"{condition} and {others}" if condition else f"where {others}"
    return f"select * from {source} as part {condition}", [*paths.values()]


def is_not_superseded(lost: str) -> str:
    """Return the SQL condition that a row is not superseded."""
    return (
        f"where not exists (from {lost} as lost"
        " where lost.file_index = part.file_index and lost.file_row_number = part.file_row_number)"
    )


def superseded_table(table: str) -> str:
    """Return the name of the table of superseded rows."""
    return f"{sql.name(INTERNAL)}.{sql.name(f'lost {table}')}"


def source_of(paths: Sequence[Path], outdated: bool) -> str:
    """Return the `read_parquet` call for the files of a table."""
    return f"read_parquet({sql.texts([str(path) for path in paths])}{', union_by_name = true' if outdated else ''})"


def select_rows(
    connection: duckdb.DuckDBPyConnection,
    table: TableSchema,
    source: str | None,
    outdated: bool,
    places: Sequence[int] | None,
) -> tuple[list[str], str]:
    """Return the statements that a table needs first, and the query of its rows, one for each key.

    `outdated`: some files lack newer columns. `places`: the position of each file in the order of commits, if keys may
    be repeated.
    """
    if source is None:
        columns = (f"cast(NULL as {sql.type_of(field.type)}) as {sql.name(field.name)}" for field in table.schema)
        return [], f"select {', '.join(columns)} where false"
    columns = (_column(field.name, sql.type_of(field.type)) for field in table.schema)
    if outdated:
        have = _columns(connection, source)
        columns = (_old_column(table, field.name, sql.type_of(field.type), have) for field in table.schema)
    made: list[str] = []
    condition = ""
    if places is not None:
        made, condition = exclude_superseded(
            connection, table, source, places, key_of(connection, table.name, source, outdated)
        )
    return made, f"select {', '.join(columns)} from {source} as part {condition}"


def _columns(connection: duckdb.DuckDBPyConnection, source: str) -> set[str]:
    return {row[0] for row in connection.execute(f"describe select * from {source}").fetchall()}


def key_of(connection: duckdb.DuckDBPyConnection, table: str, source: str, outdated: bool) -> tuple[str, ...]:
    """Return the key columns of a table that any of its files has; the others are null in all rows."""
    key = TABLES[table].key
    have = _columns(connection, source) if outdated else key
    return tuple(name for name in key if name in have)


def _column(name: str, type: str) -> str:
    # A time with a zone needs pytz in Python and the session's zone in SQL; ours are UTC without a zone.
    return f"make_timestamp(epoch_us(part.{name})) as {name}" if type == "TIMESTAMP" else f"part.{name}"


def _old_column(table: TableSchema, name: str, type: str, have: set[str]) -> str:
    former = FORMER.get((table.name, name))
    if name not in have:
        return f"cast({f'part.{former}' if former else 'NULL'} as {type}) as {name}"
    return _column(name, type) if former is None else f"coalesce(part.{name}, part.{former}) as {name}"


RUNS_VIEW = "create or replace view main.runs as"


def runs_view(runs: str, run_ends: str) -> str:
    ends = ", ".join(f"run_ends.{field.name}" for field in RUN_ENDS.schema if field.name not in ("run_id", "status"))
    return f"""{RUNS_VIEW}
        select runs.*, coalesce(run_ends.status, 'unfinished') as status, {ends}
        from ({runs}) as runs left join ({run_ends}) as run_ends using (run_id)"""


def with_runs(statement: str, among: Collection[str]) -> str:
    """Return a statement of schema `main`; the view of runs is restricted to `among`."""
    if not statement.startswith(RUNS_VIEW):
        return statement
    return f"{statement} where run_id in ({', '.join(map(sql.text, sorted(among))) or 'NULL'})"


def listed_view(table: TableSchema, listed: str) -> str:
    """Return the view of what runs list. A run that repeats the work of another shares its list."""
    rest = ", ".join(f"listed.{name}" for name in table.schema.names if name != "run_id")
    return f"""create or replace view main.{table.name} as
        select runs.run_id, {rest}
        from ({listed}) as listed join main.runs as runs on runs.items_of = listed.run_id"""


# Opening
MANY_BYTES = 2_000_000
"""From this size of the scores on, means are computed from sums; below, the scores are as fast."""
LARGE_BYTES = 50_000_000
"""The keys of a table of this size are compared outside of DuckDB."""
SHORT = 0.5
"""A file smaller than this share of the mean size is short."""
MAY_STOP_EARLY = "select 1 from main.runs where json_extract(options, '$.until') is not null limit 1"
IMPORTED = "select 1 from main.scores where round is not null limit 1"


def connect(
    store: Store, run_id: str | None = None, *, sums: bool = False, among: Collection[str] | None = None
) -> StoreConnection:
    """Return an in-memory DuckDB with views over the store, without access to anything else.

    With `run_id` the schema of that run's benchmark shows exactly that run; every other schema shows the latest state
    of its benchmark. Each thread needs its own cursor. With `sums` the score sums of a large store are included
    (`views/derived.py`). With `among` the connection shows only these runs.

    Raises `StoreError`: S0103, S0104 as `Store.files` does, S0301 if there is no such run.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     connection = connect(Store.open(folder, create=True))
    ...     connection.sql("select count(*) from scores").fetchall()
    [(0,)]
    """
    return _connect(store, lambda connection: run_id, sums=sums, among=among)


def connect_run(
    store: Store,
    text: str | None = None,
    plan: Plan | None = None,
    only: ArmSelection = MappingProxyType({}),
    sums: bool = False,
) -> tuple[StoreConnection, RunRecord]:
    """Return a connection that shows one run, as `connect` does, and the run: the one whose id is `text` or the only
    one whose id begins with it; without `text` the latest.

    With a `plan`, the rows of the run are read by that plan and not by its own. With `only`, they are restricted to
    these values of axes and arms. `sums` is that of `connect`.

    Raises `StoreError` as `connect` and `find_run` do, and S0210 for a plan of another benchmark.
    """
    records: list[RunRecord] = []

    def chosen(connection: Connection) -> str:
        records.append(find_run(connection, text))
        if plan is not None and plan.benchmark.name != records[0].benchmark:
            message = (
                f"run `{records[0].run_id}` is of `{records[0].benchmark}`, and the spec of `{plan.benchmark.name}`"
            )
            raise StoreError("S0210", message, "name a run of that benchmark: `tripos list` shows them")
        return records[0].run_id

    return _connect(store, chosen, plan=plan, only=only, sums=sums), records[0]


def snippet(store: Store) -> list[str]:
    """Return the statements that create the views and macros of `connect` in any DuckDB 2, with absolute paths of the
    current files. Raises what `connect` raises.
    """
    viewses: list[view_cache.CachedViews] = []
    _connect(store, lambda connection: None, viewses).close()
    return [*viewses[0].tables, *viewses[0].benchmarks]


def _connect(
    store: Store,
    choose: Callable[[Connection], str | None],
    made: list[view_cache.CachedViews] | None = None,
    plan: Plan | None = None,
    only: ArmSelection = MappingProxyType({}),
    sums: bool = False,
    among: Collection[str] | None = None,
) -> StoreConnection:
    """Return a connection with the views of the run that `choose` returns; it is called once the tables exist."""
    try:
        return _connect_once(store, choose, made, plan, only, sums, among)
    except StoreError:
        if not store.sweep():
            raise
    return _connect_once(store, choose, made, plan, only, sums, among)


def _connect_once(
    store: Store,
    choose: Callable[[Connection], str | None],
    made: list[view_cache.CachedViews] | None,
    plan: Plan | None,
    only: ArmSelection,
    sums: bool,
    among: Collection[str] | None = None,
) -> StoreConnection:
    """Connect as `_connect` does, without retrying after damage."""
    state = view_cache.state_of(store.root)
    files_by_table = store.files()
    files = tuple(str(path) for paths in files_by_table.values() for path in paths)
    cached = None if store.damages or among is not None else view_cache.read(store.root)
    scores = files_by_table.get("scores", ())
    size = sum(path.stat().st_size for path in scores)
    sums = sums and size >= LARGE_BYTES and "scores" not in store.outdated(files_by_table)
    part_sums = read_score_sums(store, scores) if sums else None
    database = open_sandbox((*files, *(str(part_sum.path) for part_sum in (part_sums or {}).values())))
    _open.add(database)
    try:
        add_functions(database)
        if cached is not None:
            _read_feet(database, files_by_table)
        tables = cached.tables if cached is not None else _tables(database, store, files_by_table)
        tables = tables if among is None else tuple(with_runs(table, among) for table in tables)
        views = Views(tables)
        connection = StoreConnection(database, views)
        run_id = choose(connection)
        values = cached.values if cached is not None else _values(connection, store, tables, files_by_table)
        if cached is not None and run_id is None:
            benchmarks, of_sums = cached.benchmarks, cached.sums
        else:
            imported = bool(connection.execute(IMPORTED).fetchall())
            many = run_id is None and size >= MANY_BYTES  # sums of a single run are not cached
            currents = _benchmark_contents(connection, run_id, plan, only, store.leave_out)
            benchmarks, of_sums = (
                tuple(
                    statement
                    for current in currents
                    for statement in make(current, values.get(current.plan.benchmark.name, {}))
                )
                for make in (partial(benchmark_views, imported=imported, many=many), sum_views)
            )
            of_sums = () if imported else of_sums  # expected scores are in no part
        if part_sums is not None:
            rest, parts = _rows_outside_parts(connection, tables, files_by_table, "scores", part_sums)
            views.add(all_sums(rest, [part_sums[part] for part in parts]))
        views.add(benchmarks)
        if part_sums is not None:
            for place in range(0, len(of_sums), OF_SUMS):
                parted, *own = of_sums[place : place + OF_SUMS]
                views.add([] if connection.execute(parted).fetchall() else own)
        cached_views = view_cache.CachedViews(state, files, tables, benchmarks, of_sums, values)
        if run_id is None and among is None:
            view_cache.cache_moments(store.root, cached_views, views)
        if (
            cached is None
            and among is None
            and run_id is None
            and not store.damages
            and view_cache.state_of(store.root) == state
        ):
            view_cache.write(store.root, cached_views)
        if made is not None:
            made.append(cached_views)
    except duckdb.Error as error:
        database.close()
        raise StoreError("S0103", f"the store cannot be read: {' '.join(str(error).split())}") from error
    except BaseException:
        database.close()
        raise
    return connection


def _read_feet(database: duckdb.DuckDBPyConnection, found: Mapping[str, Sequence[Path]]) -> None:
    """Read the footer of one file of every table, so that an unreadable store fails when it is opened."""
    first = [str(paths[0]) for paths in found.values() if paths]
    if first:
        database.execute(f"select 1 from parquet_file_metadata({sql.texts(first)})").fetchall()


def _tables(
    connection: duckdb.DuckDBPyConnection, store: Store, found: Mapping[str, Sequence[Path]]
) -> tuple[str, ...]:
    """Return the statements that create schema `main`."""
    outdated = store.outdated(found)
    statements = [f"create schema if not exists {sql.name(INTERNAL)}"]
    read = {name: _in_reading_order(paths) for name, paths in found.items() if paths}
    sources = {name: source_of(paths, name in outdated) for name, paths in read.items()}
    # A key of one column is in all versions of a table.
    large = {name for name in read if _is_large(read[name]) and (name not in outdated or len(TABLES[name].key) == 1)}
    keys = {name: key_of(connection, name, source, name in outdated) for name, source in sources.items()}
    doubled = tables_with_duplicates(
        connection, {name: source for name, source in sources.items() if name not in large}, keys
    )
    doubled |= {name for name in large if may_have_duplicates(connection, store, name, read[name], keys[name])}
    selects = {}
    for table in TABLES.values():
        committed = {path: place for place, path in enumerate(found[table.name])} if table.name in doubled else {}
        places = [committed[path] for path in read[table.name]] if committed else None
        lost, selects[table.name] = select_rows(
            connection, table, sources.get(table.name), table.name in outdated, places
        )
        statements += lost
    statements.append(runs_view(selects.pop(RUNS.name), selects.pop(RUN_ENDS.name)))
    statements += [listed_view(table, selects.pop(table.name)) for table in (RUN_ITEMS, RUN_STEPS, RUN_SLOTS)]
    statements += [f"create or replace view main.{table} as {select}" for table, select in selects.items()]
    return (*statements, *main_macros())


def _in_reading_order(paths: Sequence[Path]) -> Sequence[Path]:
    """Return large files with one of average size first: DuckDB assumes the size of the first for all, and would hold a
    table that begins with a short file as the small side of a join.
    """
    sizes = [path.stat().st_size for path in paths]
    if sum(sizes) < MANY_BYTES or sizes[0] * len(sizes) >= SHORT * sum(sizes):
        return paths
    first = next(place for place, size in enumerate(sizes) if size * len(sizes) >= sum(sizes))
    return [paths[first], *paths[:first], *paths[first + 1 :]]


def _rows_outside_parts(
    connection: StoreConnection,
    tables: Sequence[str],
    found: Mapping[str, Sequence[Path]],
    table: str,
    kept: Collection[Path],
) -> tuple[str, list[Path]]:
    """Return the query of the rows that are in none of the fully derived parts, and these parts."""
    paths = _in_reading_order(found[table])
    return rows_outside_parts(connection, tables, table, source_of(paths, outdated=False), paths, kept)


def _values(
    connection: StoreConnection, store: Store, tables: Sequence[str], found: Mapping[str, Sequence[Path]]
) -> dict[str, dict[str, list[str]]]:
    """Return the values of enumerations; those of large tables come from derived files where possible."""
    outdated, others = store.outdated(found), {}
    for table in ENUMERATED_TABLES:
        if _is_large(found[table]) and table not in outdated:
            kept = read_values(connection.database, store, table, found[table])
            rest, paths = _rows_outside_parts(connection, tables, found, table, kept)
            others[table] = f"({rest})", {value for part in paths for value in kept[part]}
    return stored_values(connection, others)


def _is_large(paths: Sequence[Path]) -> bool:
    return sum(path.stat().st_size for path in paths) >= LARGE_BYTES


def _benchmark_contents(
    connection: Connection, run_id: str | None, plan: Plan | None, only: ArmSelection, leave_out: DamageListener
) -> list[Current]:
    """Return the content of each benchmark's schema, by name: the run `run_id`, by `plan` and `only`, for its
    benchmark, and the latest state of every other. `leave_out` is called with the error of an unreadable plan.
    """
    chosen: dict[str, tuple[str, Plan, Collection[str], str]] = {}
    columns = "run_id, benchmark, plan, fingerprints, compared_role, json_extract(options, '$.only')"
    latest = connection.execute(
        f"""select {columns} from main.runs
        qualify row_number() over (partition by benchmark order by {LATEST}) = 1"""
    ).fetchall()
    for run, benchmark, text, fingerprints, compared, selected in latest:
        try:
            own_plan = read_plan(text, run, benchmark)
        except StoreError as error:
            leave_out(error)
            continue
        chosen[benchmark] = run, *_selected(own_plan, fingerprints, orjson.loads(selected or "{}")), compared
    of_run = None
    if run_id is not None:
        found = connection.execute(f"select {columns} from main.runs where run_id = ?", [run_id]).fetchone()
        if found is None:
            raise StoreError("S0301", f"the store has no run `{run_id}`", "`tripos list` shows the runs")
        _, of_run, text, fingerprints, compared, selected = found
        if plan is None:
            plan = read_plan(text, run_id, of_run)
        else:
            fingerprints = plan.fingerprints
        chosen[of_run] = (run_id, *_selected(plan, fingerprints, {**orjson.loads(selected or "{}"), **only}), compared)
    several = len(latest) > 1  # otherwise there is no other benchmark
    shared = _shared(connection, {name: each for name, (_, _, each, _) in chosen.items()}) if several else set()
    partly = bool(connection.execute(MAY_STOP_EARLY).fetchall())
    currents = []
    for name, (run, own_plan, fingerprints, compared) in sorted(chosen.items()):
        of = PlanSteps(
            name,
            frozenset(fingerprints),
            name in shared,
            bool(own_plan.made),
            bool(element_scores(own_plan)),
            own_plan.conditional,
            bool(RowClusters(own_plan).scenarios),
        )
        axes = {axis.name: only[axis.name] for axis in own_plan.axes if axis.name in only}
        of_one = name == of_run
        rows = rows_of_run(run, of, axes, partly=partly) if of_one else latest_rows(connection, of, partly=partly)
        currents.append(Current(own_plan, compared, rows))
    return currents


def _selected(plan: Plan, fingerprints: Collection[str], only: ArmSelection) -> tuple[Plan, Collection[str]]:
    """Return a plan with the selected treatments, and its fingerprints."""
    selected = select_treatments(plan, only)
    return selected, fingerprints if selected is plan else selected.fingerprints


def _shared(connection: Connection, chosen: Mapping[str, Collection[str]]) -> set[str]:
    """Return the benchmarks with steps that runs of other benchmarks also have."""
    runs = connection.execute("select distinct benchmark, unnest(fingerprints) from main.runs").fetchall()
    return {
        name
        for name, mine in chosen.items()
        if any(benchmark != name and fingerprint in mine for benchmark, fingerprint in runs)
    }


_open: weakref.WeakSet[duckdb.DuckDBPyConnection] = weakref.WeakSet()


@atexit.register
def _close_open() -> None:
    # A connection with a Python function that outlives the interpreter makes DuckDB complain on stderr.
    for connection in list(_open):
        connection.close()


# Copies in memory
COPIED = ("scores", "columns")
"""Views that are copied. Each is a join over the whole run, which every query would repeat."""
MOST_ROWS = 300_000
"""More rows are read from the store each time: a copy would take more memory than it saves time."""
REPLIES = ("samples", "judgements")
MOST_SAMPLES = 500
"""The limit for copies of replies, which are long texts."""


@contextmanager
def copied_scores(connection: Connection, benchmark: str, replies: bool = False) -> Iterator[None]:
    """Show the scores of a benchmark from a copy in memory while the block runs. If they are copied already or too
    many, nothing changes. `replies`: copy replies and judgements too.
    """
    if not isinstance(connection, StoreConnection):
        yield
        return
    with connection.views.first(f"copies of {benchmark}") as first:
        views = _few(connection, benchmark, replies) if first else ()
        if views:
            with _copied(connection, benchmark, views):
                yield
        else:
            yield


@contextmanager
def _copied(connection: Connection, benchmark: str, views: Sequence[str]) -> Iterator[None]:
    schema = sql.name(benchmark)
    # With a space in its name, a copy cannot clash with a table.
    copies = {view: f"main.{sql.name(f'{benchmark} {view} in memory')}" for view in views}
    places = [(f"{schema}.{view}", sql.name(f"{view} in the store"), copy, view) for view, copy in copies.items()]
    made = [f"create or replace table {copy} as from {shown}" for shown, _, copy, _ in places]
    for text, stored, copy, _ in places:
        made += [f"alter view {text} rename to {stored}", f"create view {text} as from {copy}"]
    connection.execute("; ".join(made))
    try:
        yield
    finally:
        restored = (
            f"drop view {shown}; alter view {schema}.{stored} rename to {view}; drop table {copy}"
            for shown, stored, copy, view in places
        )
        with suppress(duckdb.ConnectionException):  # a closed connection has no copies
            connection.execute("; ".join(restored))


def _few(connection: Connection, benchmark: str, replies: bool) -> Sequence[str]:
    """Return the views that have few rows. For a small store the rows of its tables decide, since counting those of a
    view takes as long as copying it.
    """
    tables = ", ".join(f"(select count(*) from main.{table})" for table in ("scores", *REPLIES))
    [(kept, *texts)] = connection.execute(f"select {tables}").fetchall()
    copied = (*COPIED, *REPLIES) if replies and sum(texts) <= MOST_SAMPLES else COPIED
    if kept <= min(MOST_SAMPLES, MOST_ROWS):
        return copied
    sums = score_sums(connection, benchmark)
    counts = " + ".join(f"(select count(*) from {sql.name(benchmark)}.{view})" for view in COPIED)
    if sums is not None:  # the first sums may already show that there are too many rows
        counts = f"""(select coalesce(sum("its rows"), 0) from (select "its rows" from {sums} limit {MOST_ROWS + 1}))"""
    [(rows,)] = connection.execute(f"select {counts}").fetchall()
    return copied if rows <= MOST_ROWS else ()
