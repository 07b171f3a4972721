"""Views over the committed parts, in a DuckDB that can read them and nothing else.

A connection is a snapshot: it sees what was committed when it was opened. A view is made when a query first names it.
Schema `main` has the tables over all runs; each benchmark has a schema of its own (`benchmark_views`).
"""

from __future__ import annotations

import atexit
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType

import duckdb
import orjson

from tripos_compiler.language import Only, select_treatments
from tripos_compiler.language.figures import element_scores
from tripos_compiler.plan import Plan
from tripos_warehouse import sql
from tripos_warehouse.errors import StoreError
from tripos_warehouse.query import Connection, StoreConnection, Views, add_functions, open_box
from tripos_warehouse.store import (
    FORMER,
    RUN_ENDS,
    RUN_ITEMS,
    RUN_SLOTS,
    RUN_STEPS,
    RUNS,
    TABLES,
    Store,
    TableSchema,
    Tell,
)
from tripos_warehouse.views import view_cache
from tripos_warehouse.views.benchmark_views import Current, benchmark_views, read_plan, sum_views
from tripos_warehouse.views.dimensions import stored_values
from tripos_warehouse.views.macros import main_macros
from tripos_warehouse.views.prepared import (
    PartSums,
    all_sums,
    is_none_of,
    kept_sums,
    lost_name,
    with_doubles,
    without_lost,
)
from tripos_warehouse.views.run_rows import INTERNAL, LATEST, AskedSteps, latest_rows, rows_of_run
from tripos_warehouse.views.runs import RunRecord, find_run

MANY_BYTES = 2_000_000
"""Of so many bytes of scores, the means are taken from sums: of fewer, the scores themselves are as quick."""
LARGE_BYTES = 50_000_000
"""The keys of a table of so many bytes are compared outside of DuckDB."""
SHORT = 0.5
"""A file of less than this share of the mean size is short."""
MAY_STOP_EARLY = "select 1 from main.runs where json_extract(options, '$.until') is not null limit 1"
IMPORTED = "select 1 from main.scores where round is not null limit 1"


def connect(store: Store, run_id: str | None = None, *, sums: bool = False) -> StoreConnection:
    """Return an in-memory DuckDB with views over the store, without access to anything else.

    With `run_id` the schema of that run's benchmark shows exactly that run; every other shows what is
    current for the latest run of its benchmark. Threads need a cursor each. With `sums` the sums of the scores of a
    large store are there as well (`score_sums.py`).

    Raises `StoreError`: S0103, S0104 as `Store.files` does, S0301 for a run that the store lacks.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     connection = connect(Store.open(folder, create=True))
    ...     connection.sql("select count(*) from scores").fetchall()
    [(0,)]
    """
    return _opened(store, lambda connection: run_id, sums=sums)


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
    kept: list[view_cache.CachedViews] = []
    _opened(store, lambda connection: None, kept).close()
    return [*kept[0].tables, *kept[0].benchmarks]


def _opened(
    store: Store,
    choose: Callable[[Connection], str | None],
    made: list[view_cache.CachedViews] | None = None,
    plan: Plan | None = None,
    only: Only = MappingProxyType({}),
    sums: bool = False,
) -> StoreConnection:
    """Return a connection over the tables, with the views of the run that is chosen once the tables are there."""
    try:
        return _shown(store, choose, made, plan, only, sums)
    except StoreError:
        if not store.sweep():
            raise
    return _shown(store, choose, made, plan, only, sums)


def _shown(
    store: Store,
    choose: Callable[[Connection], str | None],
    made: list[view_cache.CachedViews] | None,
    plan: Plan | None,
    only: Only,
    sums: bool,
) -> StoreConnection:
    """As `_opened`, without what is known to be damaged."""
    state = view_cache.state_of(store.root)
    found = store.files()
    files = tuple(str(path) for paths in found.values() for path in paths)
    kept = None if store.damages else view_cache.read(store.root)
    scores = found.get("scores", ())
    size = sum(path.stat().st_size for path in scores)
    sums = sums and size >= LARGE_BYTES and "scores" not in store.outdated(found)
    summed = kept_sums(store.root, scores) if sums else None
    database = open_box((*files, *(str(each.path) for each in (summed or {}).values())))
    _open.add(database)
    try:
        add_functions(database)
        if kept is not None:
            _read_feet(database, found)
        tables = kept.tables if kept is not None else _tables(database, store, found)
        views = Views(tables)
        connection = StoreConnection(database, views)
        run_id = choose(connection)
        values = kept.values if kept is not None else stored_values(connection)
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
            views.add(_all_sums(tables, scores, summed, connection))
        views.add(benchmarks)
        if summed is not None:
            for place in range(0, len(of_sums), 3):
                parted, *own = of_sums[place : place + 3]
                views.add([] if connection.execute(parted).fetchall() else own)
        whole = view_cache.CachedViews(state, files, tables, benchmarks, of_sums, values)
        if run_id is None:
            view_cache.keep_moments(store.root, whole, views)
        if kept is None and run_id is None and not store.damages and view_cache.state_of(store.root) == state:
            view_cache.write(store.root, whole)
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
    sources = {name: _source(paths, name in outdated) for name, paths in read.items()}
    large = {name for name, paths in read.items() if sum(path.stat().st_size for path in paths) >= LARGE_BYTES}
    keys = {name: _key(connection, name, source, name in outdated) for name, source in sources.items()}
    doubled = with_doubles(connection, sources, large, keys)
    selects = {}
    for table in TABLES.values():
        committed = {path: place for place, path in enumerate(found[table.name])} if table.name in doubled else {}
        places = [committed[path] for path in read[table.name]] if committed else None
        lost, selects[table.name] = _select(connection, table, sources.get(table.name), table.name in outdated, places)
        statements += lost
    statements.append(_runs_view(selects.pop(RUNS.name), selects.pop(RUN_ENDS.name)))
    statements += [_listed_view(table, selects.pop(table.name)) for table in (RUN_ITEMS, RUN_STEPS, RUN_SLOTS)]
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


def _all_sums(
    tables: Sequence[str], scores: Sequence[Path], kept: Mapping[Path, PartSums], connection: StoreConnection
) -> list[str]:
    """Return the statements that make the table of all sums. Of a file in which a row does not count, since another of
    its name does, those that are kept are of no use."""
    read = _in_reading_order(scores)
    lost = lost_name("scores")
    condition, spoilt = "", set()
    if any(each.startswith(f"create or replace table {lost} ") for each in tables):
        condition = is_none_of(lost)
        spoilt = {place for (place,) in connection.execute(f"select distinct file_index from {lost}").fetchall()}
    places = {place: kept[path] for place, path in enumerate(read) if path in kept and place not in spoilt}
    return all_sums(_source(read, outdated=False), condition, places)


def _source(paths: Sequence[Path], outdated: bool) -> str:
    """Return what reads the files of a table."""
    return f"read_parquet({sql.texts([str(path) for path in paths])}{', union_by_name = true' if outdated else ''})"


def _select(
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
            connection, table, source, places, _key(connection, table.name, source, outdated)
        )
    return made, f"select {', '.join(columns)} from {source} as part {condition}"


def _columns(connection: duckdb.DuckDBPyConnection, source: str) -> set[str]:
    return {row[0] for row in connection.execute(f"describe select * from {source}").fetchall()}


def _key(connection: duckdb.DuckDBPyConnection, table: str, source: str, outdated: bool) -> tuple[str, ...]:
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


def _runs_view(runs: str, run_ends: str) -> str:
    ends = ", ".join(f"run_ends.{field.name}" for field in RUN_ENDS.schema if field.name not in ("run_id", "status"))
    return f"""create or replace view main.runs as
        select runs.*, coalesce(run_ends.status, 'unfinished') as status, {ends}
        from ({runs}) as runs left join ({run_ends}) as run_ends using (run_id)"""


def _listed_view(table: TableSchema, listed: str) -> str:
    """Of what a run lists: the same for a run that did all of the same again."""
    rest = ", ".join(f"listed.{name}" for name in table.schema.names if name != "run_id")
    return f"""create or replace view main.{table.name} as
        select runs.run_id, {rest}
        from ({listed}) as listed join main.runs as runs on runs.items_of = listed.run_id"""


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
