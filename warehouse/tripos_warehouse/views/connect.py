"""Views over the committed parts, in a DuckDB that can read them and nothing else.

A connection is a snapshot: it sees what was committed when it was opened. A view is made when a query first names it.
Schema `main` has the tables over all runs; each benchmark has a schema of its own (`benchmark_views`).

The queries that schema `main` shows: the rows of each table, of all versions, one for each key.

Rows that do not count, since another row of their key does: those that failed first, and those that came again.

Copies of the views that measures read, in memory for as long as many queries are asked of them.
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

from tripos_compiler.language.contexts import Only, RowClusters, select_treatments
from tripos_compiler.language.scored_values import element_scores
from tripos_compiler.plan import Plan
from tripos_warehouse import sql
from tripos_warehouse.errors import StoreError
from tripos_warehouse.query.connection import Connection, StoreConnection, Views, add_functions, duckdb, open_box
from tripos_warehouse.store.index import is_failed
from tripos_warehouse.store.parts import FORMER
from tripos_warehouse.store.schemas import RUN_ENDS, RUN_ITEMS, RUN_SLOTS, RUN_STEPS, RUNS, TABLES, TableSchema
from tripos_warehouse.store.store import Store, Tell
from tripos_warehouse.views import derived
from tripos_warehouse.views.benchmark_views import OF_SUMS, Current, benchmark_views, read_plan, sum_views
from tripos_warehouse.views.derived import VALUED, all_sums, has_doubles, kept_sums, kept_values, stored_values, sums_of
from tripos_warehouse.views.macros import main_macros
from tripos_warehouse.views.run_rows import INTERNAL, LATEST, AskedSteps, latest_rows, rows_of_run
from tripos_warehouse.views.runs import RunRecord, find_run


def with_doubles(
    connection: duckdb.DuckDBPyConnection, sources: Mapping[str, str], keys: Mapping[str, Sequence[str]]
) -> set[str]:
    """Return the tables in which several rows may have one of the `keys`, found in one query: each costs more than what
    it reads. Of large tables `has_doubles` says so."""
    # By hash: of a million keys that takes a tenth of the memory. Two keys of one hash are told apart afterwards.
    parts = (
        f"""select {sql.text(name)} where exists (
          select 1 from {source} group by hash({", ".join(keys[name])}) having count(*) > 1)"""
        for name, source in sources.items()
    )
    query = " union all ".join(parts)
    return {name for (name,) in connection.execute(query).fetchall()} if query else set()


def without_lost(
    connection: duckdb.DuckDBPyConnection,
    table: TableSchema,
    source: str,
    places: Sequence[int],
    columns: Sequence[str],
) -> tuple[list[str], str]:
    """Return a condition without the rows that another row of their key, which is in `columns`, replaces, and the
    statement that lists those; empty where there are none.

    The row that did not fail wins, then the one committed last. The places of the others are kept, so
    that a view over wide rows needs no sort: doubles are few, as only failed units are tried again.
    """
    key = ", ".join(columns)
    # By hash: of a million keys that takes a tenth of the memory. Two keys of one hash are told apart by `partition`.
    doubles = f"select hash({key}) as hashed from {source} group by hashed having count(*) > 1"
    failed_last = f"{is_failed(table.schema.names)}, " if "status" in table.schema.names else ""
    committed = "file_index" if [*places] == sorted(places) else f"({[*places]})[file_index::bigint + 1]"
    found = connection.execute(
        f"""select file_index, file_row_number from (
          select file_index, file_row_number,
            row_number() over (partition by {key}
              order by {failed_last}{committed} desc, file_row_number desc) as place
          from {source} where hash({key}) in ({doubles}))
        where place > 1 order by all"""
    ).fetchall()
    if not found:
        return [], ""
    lost = lost_name(table.name)
    files, rows = ([row[place] for row in found] for place in (0, 1))
    made = f"create or replace table {lost} as select unnest({files}) as file_index, unnest({rows}) as file_row_number"
    return [made], is_none_of(lost)


def rows_beside(
    connection: StoreConnection,
    tables: Sequence[str],
    table: str,
    source: str,
    read: Sequence[Path],
    kept: Collection[Path],
) -> tuple[str, list[Path]]:
    """Return a query for the rows of a table, of the files `read`, that are in none of the parts of which all rows
    count, and these parts: those of which something is kept, and in which no row does not count, since another of its
    key does. `tables` are the statements that make the tables."""
    lost, condition, spoilt = lost_name(table), "", set()
    if any(each.startswith(f"create or replace table {lost} ") for each in tables):
        condition = is_none_of(lost)
        spoilt = {place for (place,) in connection.execute(f"select distinct file_index from {lost}").fetchall()}
    whole = {place: path for place, path in enumerate(read) if path in kept and place not in spoilt}
    if whole:
        others = f"part.file_index not in ({', '.join(map(str, whole))})"
        condition = f"{condition} and {others}" if condition else f"where {others}"
    return f"select * from {source} as part {condition}", [*whole.values()]


def is_none_of(lost: str) -> str:
    """Return the condition that a row of a table is none of the lost ones."""
    return (
        f"where not exists (from {lost} as lost"
        " where lost.file_index = part.file_index and lost.file_row_number = part.file_row_number)"
    )


def lost_name(table: str) -> str:
    """Return the name of the table of the rows of a table that do not count."""
    return f"{sql.name(INTERNAL)}.{sql.name(f'lost {table}')}"


def source_of(paths: Sequence[Path], outdated: bool) -> str:
    """Return what reads the files of a table."""
    return f"read_parquet({sql.texts([str(path) for path in paths])}{', union_by_name = true' if outdated else ''})"


def select_rows(
    connection: duckdb.DuckDBPyConnection,
    table: TableSchema,
    source: str | None,
    outdated: bool,
    places: Sequence[int] | None,
) -> tuple[list[str], str]:
    """Return the query for the rows of a table, one a key, and what it needs to have been made before. `outdated`: some
    of its files lack newer columns. `places`: where each file stands in the order of commits, if rows may have one
    key."""
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
        made, condition = without_lost(
            connection, table, source, places, key_of(connection, table.name, source, outdated)
        )
    return made, f"select {', '.join(columns)} from {source} as part {condition}"


def _columns(connection: duckdb.DuckDBPyConnection, source: str) -> set[str]:
    return {row[0] for row in connection.execute(f"describe select * from {source}").fetchall()}


def key_of(connection: duckdb.DuckDBPyConnection, table: str, source: str, outdated: bool) -> tuple[str, ...]:
    """Return the columns that name a row of a table: where none of its files has one of these yet, it is null in all
    rows."""
    key = TABLES[table].key
    have = _columns(connection, source) if outdated else key
    return tuple(name for name in key if name in have)


def _column(name: str, type: str) -> str:
    # A time with a zone needs pytz in Python and the zone of the session in SQL; ours are UTC without one.
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
    """Return a statement that makes schema `main`; that of the view of runs without other runs than `among`."""
    if not statement.startswith(RUNS_VIEW):
        return statement
    return f"{statement} where run_id in ({', '.join(map(sql.text, sorted(among))) or 'NULL'})"


def listed_view(table: TableSchema, listed: str) -> str:
    """Of what a run lists: the same for a run that did all of the same again."""
    rest = ", ".join(f"listed.{name}" for name in table.schema.names if name != "run_id")
    return f"""create or replace view main.{table.name} as
        select runs.run_id, {rest}
        from ({listed}) as listed join main.runs as runs on runs.items_of = listed.run_id"""


MANY_BYTES = 2_000_000
"""Of so many bytes of scores, the means are taken from sums: of fewer, the scores themselves are as quick."""
LARGE_BYTES = 50_000_000
"""The keys of a table of so many bytes are compared outside of DuckDB."""
SHORT = 0.5
"""A file of less than this share of the mean size is short."""
MAY_STOP_EARLY = "select 1 from main.runs where json_extract(options, '$.until') is not null limit 1"
IMPORTED = "select 1 from main.scores where round is not null limit 1"


def connect(
    store: Store, run_id: str | None = None, *, sums: bool = False, among: Collection[str] | None = None
) -> StoreConnection:
    """Return an in-memory DuckDB with views over the store, without access to anything else.

    With `run_id` the schema of that run's benchmark shows exactly that run; every other shows what is
    current for the latest run of its benchmark. Threads need a cursor each. With `sums` the sums of the scores of a
    large store are there as well (`score_sums.py`). With `among` it is as if the store had these runs alone.

    Raises `StoreError`: S0103, S0104 as `Store.files` does, S0301 for a run that the store lacks.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     connection = connect(Store.open(folder, create=True))
    ...     connection.sql("select count(*) from scores").fetchall()
    [(0,)]
    """
    return _opened(store, lambda connection: run_id, sums=sums, among=among)


def connect_run(
    store: Store,
    text: str | None = None,
    plan: Plan | None = None,
    only: Only = MappingProxyType({}),
    sums: bool = False,
) -> tuple[StoreConnection, RunRecord]:
    """Return the run whose id is `text` or alone begins with it, and a connection that shows it as `connect` does;
    without `text` the latest run. With a `plan` it shows what of the run is as that plan has it, and not as its own;
    with `only` what of it has these values of axes and arms. `sums` is as for `connect`.

    Raises `StoreError` as `connect` and `find_run` do, and S0210 for a plan of another benchmark.
    """
    found: list[RunRecord] = []

    def chosen(connection: Connection) -> str:
        found.append(find_run(connection, text))
        if plan is not None and plan.benchmark.name != found[0].benchmark:
            message = f"run `{found[0].run_id}` is of `{found[0].benchmark}`, and the spec of `{plan.benchmark.name}`"
            raise StoreError("S0210", message, "name a run of that benchmark: `tripos list` shows them")
        return found[0].run_id

    return _opened(store, chosen, plan=plan, only=only, sums=sums), found[0]


def snippet(store: Store) -> list[str]:
    """Return the statements that make the views and macros of `connect` in any DuckDB of version 2, with the absolute
    paths of what is committed now. Raises `StoreError` as `connect` does."""
    kept: list[derived.CachedViews] = []
    _opened(store, lambda connection: None, kept).close()
    return [*kept[0].tables, *kept[0].benchmarks]


def _opened(
    store: Store,
    choose: Callable[[Connection], str | None],
    made: list[derived.CachedViews] | None = None,
    plan: Plan | None = None,
    only: Only = MappingProxyType({}),
    sums: bool = False,
    among: Collection[str] | None = None,
) -> StoreConnection:
    """Return a connection over the tables, with the views of the run that is chosen once the tables are there."""
    try:
        return _shown(store, choose, made, plan, only, sums, among)
    except StoreError:
        if not store.sweep():
            raise
    return _shown(store, choose, made, plan, only, sums, among)


def _shown(
    store: Store,
    choose: Callable[[Connection], str | None],
    made: list[derived.CachedViews] | None,
    plan: Plan | None,
    only: Only,
    sums: bool,
    among: Collection[str] | None = None,
) -> StoreConnection:
    """As `_opened`, without what is known to be damaged."""
    state = derived.state_of(store.root)
    found = store.files()
    files = tuple(str(path) for paths in found.values() for path in paths)
    kept = None if store.damages or among is not None else derived.read(store.root)
    scores = found.get("scores", ())
    size = sum(path.stat().st_size for path in scores)
    sums = sums and size >= LARGE_BYTES and "scores" not in store.outdated(found)
    summed = kept_sums(store, scores) if sums else None
    database = open_box((*files, *(str(each.path) for each in (summed or {}).values())))
    _open.add(database)
    try:
        add_functions(database)
        if kept is not None:
            _read_feet(database, found)
        tables = kept.tables if kept is not None else _tables(database, store, found)
        tables = tables if among is None else tuple(with_runs(each, among) for each in tables)
        views = Views(tables)
        connection = StoreConnection(database, views)
        run_id = choose(connection)
        values = kept.values if kept is not None else _values(connection, store, tables, found)
        if kept is not None and run_id is None:
            benchmarks, of_sums = kept.benchmarks, kept.sums
        else:
            imported = bool(connection.execute(IMPORTED).fetchall())
            many = run_id is None and size >= MANY_BYTES  # the sums of one run would be kept by nobody
            currents = _currents(connection, run_id, plan, only, store.leave_out)
            benchmarks, of_sums = (
                tuple(
                    statement
                    for current in currents
                    for statement in make(current, values.get(current.plan.benchmark.name, {}))
                )
                for make in (partial(benchmark_views, imported=imported, many=many), sum_views)
            )
            of_sums = () if imported else of_sums  # what raters did not give is in no part
        if summed is not None:
            rest, parts = _beside(connection, tables, found, "scores", summed)
            views.add(all_sums(rest, [summed[part] for part in parts]))
        views.add(benchmarks)
        if summed is not None:
            for place in range(0, len(of_sums), OF_SUMS):
                parted, *own = of_sums[place : place + OF_SUMS]
                views.add([] if connection.execute(parted).fetchall() else own)
        whole = derived.CachedViews(state, files, tables, benchmarks, of_sums, values)
        if run_id is None and among is None:
            derived.keep_moments(store.root, whole, views)
        if (
            kept is None
            and among is None
            and run_id is None
            and not store.damages
            and derived.state_of(store.root) == state
        ):
            derived.write(store.root, whole)
        if made is not None:
            made.append(whole)
    except duckdb.Error as error:
        database.close()
        raise StoreError("S0103", f"the store cannot be read: {' '.join(str(error).split())}") from error
    except BaseException:
        database.close()
        raise
    return connection


def _read_feet(database: duckdb.DuckDBPyConnection, found: Mapping[str, Sequence[Path]]) -> None:
    """Read the foot of a file of every table, so that a store that cannot be read is told when it is opened."""
    first = [str(paths[0]) for paths in found.values() if paths]
    if first:
        database.execute(f"select 1 from parquet_file_metadata({sql.texts(first)})").fetchall()


def _tables(
    connection: duckdb.DuckDBPyConnection, store: Store, found: Mapping[str, Sequence[Path]]
) -> tuple[str, ...]:
    """Return the statements that make schema `main`."""
    outdated = store.outdated(found)
    statements = [f"create schema if not exists {sql.name(INTERNAL)}"]
    read = {name: _in_reading_order(paths) for name, paths in found.items() if paths}
    sources = {name: source_of(paths, name in outdated) for name, paths in read.items()}
    # A name alone is in all versions of a table.
    large = {name for name in read if _is_large(read[name]) and (name not in outdated or len(TABLES[name].key) == 1)}
    keys = {name: key_of(connection, name, source, name in outdated) for name, source in sources.items()}
    doubled = with_doubles(connection, {name: source for name, source in sources.items() if name not in large}, keys)
    doubled |= {name for name in large if has_doubles(connection, store, name, read[name], keys[name])}
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
    """Return the files with one of middling size first, if they are large: DuckDB takes each for as long as the first,
    and would hold a table that begins with a short one as the small side of a join."""
    sizes = [path.stat().st_size for path in paths]
    if sum(sizes) < MANY_BYTES or sizes[0] * len(sizes) >= SHORT * sum(sizes):
        return paths
    first = next(place for place, size in enumerate(sizes) if size * len(sizes) >= sum(sizes))
    return [paths[first], *paths[:first], *paths[first + 1 :]]


def _beside(
    connection: StoreConnection,
    tables: Sequence[str],
    found: Mapping[str, Sequence[Path]],
    table: str,
    kept: Collection[Path],
) -> tuple[str, list[Path]]:
    """Return a query for the rows of a table that are in no part of which something kept tells all, and these parts."""
    read = _in_reading_order(found[table])
    return rows_beside(connection, tables, table, source_of(read, outdated=False), read, kept)


def _values(
    connection: StoreConnection, store: Store, tables: Sequence[str], found: Mapping[str, Sequence[Path]]
) -> dict[str, dict[str, list[str]]]:
    """Return the values of enumerations, of large tables as far as the store has kept them."""
    outdated, others = store.outdated(found), {}
    for table in VALUED:
        if _is_large(found[table]) and table not in outdated:
            kept = kept_values(connection.database, store, table, found[table])
            rest, whole = _beside(connection, tables, found, table, kept)
            others[table] = f"({rest})", {value for part in whole for value in kept[part]}
    return stored_values(connection, others)


def _is_large(paths: Sequence[Path]) -> bool:
    return sum(path.stat().st_size for path in paths) >= LARGE_BYTES


def _currents(
    connection: Connection, run_id: str | None, plan: Plan | None, only: Only, leave_out: Tell
) -> list[Current]:
    """Return what each benchmark's schema shows, by benchmark name: the run `run_id`, as `plan` has it and where `only`
    says, where it is of that benchmark; else its latest state. `leave_out` is told of a plan that cannot be read."""
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
    several = len(latest) > 1  # else there is no other benchmark to share steps with
    shared = _shared(connection, {name: each for name, (_, _, each, _) in chosen.items()}) if several else set()
    partly = bool(connection.execute(MAY_STOP_EARLY).fetchall())
    currents = []
    for name, (run, own_plan, fingerprints, compared) in sorted(chosen.items()):
        of = AskedSteps(
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


def _selected(plan: Plan, fingerprints: Collection[str], only: Only) -> tuple[Plan, Collection[str]]:
    """Return a plan with the treatments that are selected, and what of it is asked for."""
    selected = select_treatments(plan, only)
    return selected, fingerprints if selected is plan else selected.fingerprints


def _shared(connection: Connection, chosen: Mapping[str, Collection[str]]) -> set[str]:
    """Return the benchmarks with steps that runs of others have too."""
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


COPIED = ("scores", "columns")
"""Each is a join over the whole run, which every query would do again."""
MOST_ROWS = 300_000
"""More are read from the store each time: they would take more memory than they save time."""
REPLIES = ("samples", "judgements")
MOST_SAMPLES = 500
"""Replies hold long texts."""


@contextmanager
def copied_scores(connection: Connection, benchmark: str, replies: bool = False) -> Iterator[None]:
    """Show the scores of a benchmark out of a copy in memory, and at the end out of the store again. Where they are
    copied already, or too many, nothing changes. `replies`: many queries are asked of those too."""
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
    # With a space in its name, a copy is nobody's table.
    copies = {view: f"main.{sql.name(f'{benchmark} {view} in memory')}" for view in views}
    places = [(f"{schema}.{view}", sql.name(f"{view} in the store"), copy, view) for view, copy in copies.items()]
    made = [f"create or replace table {copy} as from {shown}" for shown, _, copy, _ in places]
    for shown, stored, copy, _ in places:
        made += [f"alter view {shown} rename to {stored}", f"create view {shown} as from {copy}"]
    connection.execute("; ".join(made))
    try:
        yield
    finally:
        restored = (
            f"drop view {shown}; alter view {schema}.{stored} rename to {view}; drop table {copy}"
            for shown, stored, copy, view in places
        )
        with suppress(duckdb.ConnectionException):  # what was closed has no copy any more
            connection.execute("; ".join(restored))


def _few(connection: Connection, benchmark: str, replies: bool) -> Sequence[str]:
    """Return the views whose rows are few. Of a small store the rows of its tables say so: to count those of a view
    takes as long as to copy it."""
    tables = ", ".join(f"(select count(*) from main.{table})" for table in ("scores", *REPLIES))
    [(kept, *texts)] = connection.execute(f"select {tables}").fetchall()
    copied = (*COPIED, *REPLIES) if replies and sum(texts) <= MOST_SAMPLES else COPIED
    if kept <= min(MOST_SAMPLES, MOST_ROWS):
        return copied
    sums = sums_of(connection, benchmark)
    counts = " + ".join(f"(select count(*) from {sql.name(benchmark)}.{view})" for view in COPIED)
    if sums is not None:  # a sum is of a row or of several, so the first ones may tell already that there are too many
        counts = f"""(select coalesce(sum("its rows"), 0) from (select "its rows" from {sums} limit {MOST_ROWS + 1}))"""
    [(rows,)] = connection.execute(f"select {counts}").fetchall()
    return copied if rows <= MOST_ROWS else ()
