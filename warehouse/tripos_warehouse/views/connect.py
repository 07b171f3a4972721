"""Opening a store: views over the committed parts, in a DuckDB that can read them and nothing else.

A connection is a snapshot of what was committed when it was opened. A view is created when a query first names it.
Schema `main` has the tables over all runs; each benchmark has its own schema (`benchmark_views`).

The tables show one row for each key, from parts of all schema versions. Superseded rows are left out: failures that
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
    """Return the tables in which several rows may have one key. For large tables use `may_have_duplicates`.

    One query sorts the keys of all tables, since to start a query or a hash table takes longer than to read a small
    table. `sources` are the `from` items of the tables, `keys` their key columns.
    """
    if not sources:
        return set()
    # Keys are sorted by hash, which takes a tenth of the memory for a million keys. `exclude_superseded` resolves
    # collisions.
    names = [*sources]
    hashes = " union all ".join(
        f"select {place} as place, hash({', '.join(keys[name])}) as hashed from {sources[name]}"
        for place, name in enumerate(names)
    )
    # A row for each key that the one before it equals.
    query = f"""select place from (
        select place, hashed, lag(place) over sorted as place_before, lag(hashed) over sorted as hashed_before
        from ({hashes}) window sorted as (order by hashed, place))
      where hashed = hashed_before and place = place_before"""
    return {names[place] for (place,) in connection.execute(query).fetchall()}


def exclude_superseded(
    connection: duckdb.DuckDBPyConnection,
    table: TableSchema,
    source: str,
    commit_positions: Sequence[int],
    columns: Sequence[str],
) -> tuple[list[str], str]:
    """Return the statements that create the table of superseded rows, and the SQL condition that excludes these rows;
    both empty if there are none.

    `source` is the `from` item of the files of `table`, `columns` its key, and `commit_positions` has the position of
    each file in the order of commits. Among the rows of one key, one that did not fail counts; among several such rows,
    the one committed last. The table has the file and the row number of every other row, so that a view over wide rows
    needs no sort. These rows are few, since only failed units are retried.
    """
    key = ", ".join(columns)
    # Keys are grouped by hash, which takes a tenth of the memory for a million keys. `partition by` compares the keys
    # themselves, so collisions do no harm.
    repeated_hashes = f"select hash({key}) as hashed from {source} group by hashed having count(*) > 1"
    commit_position = (
        "file_index"
        if [*commit_positions] == sorted(commit_positions)
        else f"({[*commit_positions]})[file_index::bigint + 1]"
    )
    superseded = connection.execute(
        f"""select file_index, file_row_number from (
          select file_index, file_row_number,
            row_number() over (partition by {key} order by {winner_order(table.schema.names, commit_position)}) as place
          from {source} where hash({key}) in ({repeated_hashes}))
        where place > 1 order by all"""
    ).fetchall()
    if not superseded:
        return [], ""
    name = superseded_table(table.name)
    files, rows = ([row[column] for row in superseded] for column in (0, 1))
    statement = (
        f"create or replace table {name} as select unnest({files}) as file_index, unnest({rows}) as file_row_number"
    )
    return [statement], is_not_superseded(name)


def rows_outside_parts(
    connection: StoreConnection,
    statements: Sequence[str],
    table: str,
    source: str,
    files: Sequence[Path],
    derived: Collection[Path],
) -> tuple[str, list[Path]]:
    """Return the query of the rows of parts whose derived data cannot be used, and the parts whose derived data can.

    Derived data of a part, such as sums, cover all its rows. So they can be used if the part is in `derived` and none
    of its rows is superseded. `files` are the parts of `table` in the order of `source`; `statements` are those of
    schema `main`, which create the tables of superseded rows.
    """
    superseded, condition, affected = superseded_table(table), "", set()
    if any(statement.startswith(f"create or replace table {superseded} ") for statement in statements):
        condition = is_not_superseded(superseded)
        affected = {
            file_index
            for (file_index,) in connection.execute(f"select distinct file_index from {superseded}").fetchall()
        }
    paths = {
        file_index: path for file_index, path in enumerate(files) if path in derived and file_index not in affected
    }
    if paths:
        others = f"part.file_index not in ({', '.join(map(str, paths))})"
        condition = f"{condition} and {others}" if condition else f"where {others}"
    return f"select * from {source} as part {condition}", [*paths.values()]


def is_not_superseded(superseded: str) -> str:
    """Return the `where` clause that excludes the rows of `part` that are in the table of superseded rows."""
    return (
        f"where not exists (from {superseded} as superseded"
        " where superseded.file_index = part.file_index and superseded.file_row_number = part.file_row_number)"
    )


def superseded_table(table: str) -> str:
    """Return the quoted name of the table of superseded rows of a table."""
    return f"{sql.name(INTERNAL)}.{sql.name(f'superseded {table}')}"


def source_of(paths: Sequence[Path], outdated: bool) -> str:
    """Return the `read_parquet` call for the files of a table. `outdated` is true if some files lack newer columns."""
    return f"read_parquet({sql.texts([str(path) for path in paths])}{', union_by_name = true' if outdated else ''})"


def select_rows(
    connection: duckdb.DuckDBPyConnection,
    table: TableSchema,
    source: str | None,
    outdated: bool,
    commit_positions: Sequence[int] | None,
) -> tuple[list[str], str]:
    """Return the statements to execute first, and the query of the rows of a table, one for each key.

    `source` is the `from` item of its files; None if it has none. `outdated` is true if some files lack newer columns.
    `commit_positions` has the position of each file in the order of commits, if keys may be repeated; otherwise it is
    None.
    """
    if source is None:
        columns = (f"cast(NULL as {sql.type_of(field.type)}) as {sql.name(field.name)}" for field in table.schema)
        return [], f"select {', '.join(columns)} where false"
    columns = (_column(field.name, sql.type_of(field.type)) for field in table.schema)
    if outdated:
        available = _columns(connection, source)
        columns = (_old_column(table, field.name, sql.type_of(field.type), available) for field in table.schema)
    statements: list[str] = []
    condition = ""
    if commit_positions is not None:
        statements, condition = exclude_superseded(
            connection, table, source, commit_positions, key_of(connection, table.name, source, outdated)
        )
    return statements, f"select {', '.join(columns)} from {source} as part {condition}"


def _columns(connection: duckdb.DuckDBPyConnection, source: str) -> set[str]:
    """Return the columns of the files of a table."""
    return {row[0] for row in connection.execute(f"describe select * from {source}").fetchall()}


def key_of(connection: duckdb.DuckDBPyConnection, table: str, source: str, outdated: bool) -> tuple[str, ...]:
    """Return the key columns of a table that occur in at least one of its files; the others are NULL in all rows."""
    key = TABLES[table].key
    available = _columns(connection, source) if outdated else key
    return tuple(name for name in key if name in available)


def _column(name: str, type: str) -> str:
    """Return the `select` item of a column of a part."""
    # A timestamp with a time zone needs pytz in Python and the session's time zone in SQL. These are UTC without one.
    return f"make_timestamp(epoch_us(part.{name})) as {name}" if type == "TIMESTAMP" else f"part.{name}"


def _old_column(table: TableSchema, name: str, type: str, available: set[str]) -> str:
    """Return the `select` item of a column of which some files have an earlier schema version. `available` are the
    columns of the files.
    """
    earlier = FORMER.get((table.name, name))
    if name not in available:
        return f"cast({f'part.{earlier}' if earlier else 'NULL'} as {type}) as {name}"
    return _column(name, type) if earlier is None else f"coalesce(part.{name}, part.{earlier}) as {name}"


RUNS_VIEW = "create or replace view main.runs as"


def runs_view(runs: str, run_ends: str) -> str:
    """Return the statement that creates the view of runs with their status, from the queries of two tables."""
    ends = ", ".join(f"run_ends.{field.name}" for field in RUN_ENDS.schema if field.name not in ("run_id", "status"))
    return f"""{RUNS_VIEW}
        select runs.*, coalesce(run_ends.status, 'unfinished') as status, {ends}
        from ({runs}) as runs left join ({run_ends}) as run_ends using (run_id)"""


def with_runs(statement: str, among: Collection[str]) -> str:
    """Return a statement of schema `main`, unchanged unless it creates the view of runs. That view is restricted to the
    run ids `among`.
    """
    if not statement.startswith(RUNS_VIEW):
        return statement
    return f"{statement} where run_id in ({', '.join(map(sql.text, sorted(among))) or 'NULL'})"


def listed_view(table: TableSchema, listed: str) -> str:
    """Return the statement that creates the view of a table of the items, steps or slots of runs, from the query
    `listed`. A run with the same work as an earlier run has no rows of its own: `items_of` names the earlier run.
    """
    rest = ", ".join(f"listed.{name}" for name in table.schema.names if name != "run_id")
    return f"""create or replace view main.{table.name} as
        select runs.run_id, {rest}
        from ({listed}) as listed join main.runs as runs on runs.items_of = listed.run_id"""


# Opening
MANY_BYTES = 2_000_000
"""The size of the scores from which means are computed from sums. Below it, reading the scores is as fast."""
LARGE_BYTES = 50_000_000
"""The size from which a table is large: its keys are compared outside of DuckDB, and the sums of scores and the values
of enumerations come from derived files."""
SHORT = 0.5
"""A file smaller than this share of the mean size is not read first."""
MAY_STOP_EARLY = "select 1 from main.runs where json_extract(options, '$.until') is not null limit 1"
"""A query that has a row if a run may stop before all its units are run (`--until`)."""
IMPORTED = "select 1 from main.scores where round is not null limit 1"
"""A query that has a row if a run has imported scores."""


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
    """Return a connection that shows one run, as `connect` does, and the record of the run: the one whose id is `text`,
    or the only one whose id begins with it; without `text` the latest run.

    With a `plan`, the rows of the run are selected by that plan instead of the run's own. With `only`, they are
    restricted to these values of axes and arms. For `sums` see `connect`.

    Raises `StoreError` as `connect` and `find_run` do, and S0210 for a plan of another benchmark.
    """
    records: list[RunRecord] = []  # one for each attempt: without damaged rows, another run may be the latest

    def chosen(connection: Connection) -> str:
        record = find_run(connection, text)
        if plan is not None and plan.benchmark.name != record.benchmark:
            message = f"run `{record.run_id}` is of `{record.benchmark}`, and the spec of `{plan.benchmark.name}`"
            raise StoreError("S0210", message, "name a run of that benchmark: `tripos list` shows them")
        records.append(record)
        return record.run_id

    return _connect(store, chosen, plan=plan, only=only, sums=sums), records[-1]


def snippet(store: Store) -> list[str]:
    """Return the statements that create the views and macros of `connect` in any DuckDB 2, with absolute paths of the
    current files. Raises what `connect` raises.
    """
    cached_views: list[view_cache.CachedViews] = []
    _connect(store, lambda connection: None, cached_views).close()
    return [*cached_views[0].tables, *cached_views[0].benchmarks]


def _connect(
    store: Store,
    choose: Callable[[Connection], str | None],
    collected: list[view_cache.CachedViews] | None = None,
    plan: Plan | None = None,
    only: ArmSelection = MappingProxyType({}),
    sums: bool = False,
    among: Collection[str] | None = None,
) -> StoreConnection:
    """Return a connection with the views of the run that `choose` returns; if it returns None, of the latest state of
    every benchmark.

    `choose` gets a connection with schema `main`. If the store is damaged, a second attempt leaves out what is damaged,
    and calls `choose` again. The statements of the views are appended to `collected`.
    """
    try:
        return _connect_once(store, choose, collected, plan, only, sums, among)
    except StoreError:
        if not store.sweep():
            raise
    return _connect_once(store, choose, collected, plan, only, sums, among)


def _connect_once(
    store: Store,
    choose: Callable[[Connection], str | None],
    collected: list[view_cache.CachedViews] | None,
    plan: Plan | None,
    only: ArmSelection,
    sums: bool,
    among: Collection[str] | None = None,
) -> StoreConnection:
    """Connect as `_connect` does, with a single attempt."""
    state = view_cache.state_of(store.root)
    files_by_table = store.files()
    files = tuple(str(path) for paths in files_by_table.values() for path in paths)
    cached = None if store.damages or among is not None else view_cache.read(store.root)
    scores = files_by_table.get("scores", ())
    size = sum(path.stat().st_size for path in scores)
    sums = sums and size >= LARGE_BYTES and "scores" not in store.outdated(files_by_table)
    part_sums = read_score_sums(store, scores) if sums else None
    database = open_sandbox((*files, *(str(part_sum.path) for part_sum in (part_sums or {}).values())))
    _open_databases.add(database)
    try:
        add_functions(database)
        if cached is not None:
            _read_footers(database, files_by_table)
        table_statements = cached.tables if cached is not None else _main_statements(database, store, files_by_table)
        table_statements = (
            table_statements if among is None else tuple(with_runs(table, among) for table in table_statements)
        )
        views = Views(table_statements)
        connection = StoreConnection(database, views)
        run_id = choose(connection)
        values = (
            cached.values
            if cached is not None
            else _enumerated_values(connection, store, table_statements, files_by_table)
        )
        if cached is not None and run_id is None:
            benchmark_statements, sum_statements = cached.benchmarks, cached.sums
        else:
            imported = bool(connection.execute(IMPORTED).fetchall())
            many_scores = run_id is None and size >= MANY_BYTES  # sums of a single run are not cached
            contents = _benchmark_contents(connection, run_id, plan, only, store.leave_out)
            benchmark_statements, sum_statements = (
                tuple(
                    statement
                    for content in contents
                    for statement in make(content, values.get(content.plan.benchmark.name, {}))
                )
                for make in (partial(benchmark_views, imported=imported, many=many_scores), sum_views)
            )
            # With imported scores a figure also counts expected scores that no rater gave, and these are in no part.
            sum_statements = () if imported else sum_statements
        if part_sums is not None:
            uncovered, covered = _rows_outside_parts(connection, table_statements, files_by_table, "scores", part_sums)
            views.add(all_sums(uncovered, [part_sums[part] for part in covered]))
        views.add(benchmark_statements)
        if part_sums is not None:
            # The first statement of each benchmark is a query; if it has a row, the sums must not be used.
            for start in range(0, len(sum_statements), OF_SUMS):
                forbids_sums, *statements = sum_statements[start : start + OF_SUMS]
                views.add([] if connection.execute(forbids_sums).fetchall() else statements)
        cached_views = view_cache.CachedViews(
            state, files, table_statements, benchmark_statements, sum_statements, values
        )
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
        if collected is not None:
            collected.append(cached_views)
    except duckdb.Error as error:
        database.close()
        raise StoreError("S0103", f"the store cannot be read: {' '.join(str(error).split())}") from error
    except BaseException:
        database.close()
        raise
    return connection


def _read_footers(database: duckdb.DuckDBPyConnection, files: Mapping[str, Sequence[Path]]) -> None:
    """Read the footer of one file of every table, so that an unreadable store fails when it is opened."""
    first = [str(paths[0]) for paths in files.values() if paths]
    if first:
        database.execute(f"select 1 from parquet_file_metadata({sql.texts(first)})").fetchall()


def _main_statements(
    connection: duckdb.DuckDBPyConnection, store: Store, files: Mapping[str, Sequence[Path]]
) -> tuple[str, ...]:
    """Return the statements that create schema `main` and the tables of superseded rows."""
    outdated = store.outdated(files)
    statements = [f"create schema if not exists {sql.name(INTERNAL)}"]
    paths_by_table = {name: _in_reading_order(paths) for name, paths in files.items() if paths}
    sources = {name: source_of(paths, name in outdated) for name, paths in paths_by_table.items()}
    # `may_have_duplicates` needs files that all have the key: those of one version, or with a key of one column, which
    # is in all versions.
    large = {
        name
        for name in paths_by_table
        if _is_large(paths_by_table[name]) and (name not in outdated or len(TABLES[name].key) == 1)
    }
    keys = {name: key_of(connection, name, source, name in outdated) for name, source in sources.items()}
    with_duplicates = tables_with_duplicates(
        connection, {name: source for name, source in sources.items() if name not in large}, keys
    )
    with_duplicates |= {
        name for name in large if may_have_duplicates(connection, store, name, paths_by_table[name], keys[name])
    }
    selects = {}
    for table in TABLES.values():
        commit_order = (
            {path: position for position, path in enumerate(files[table.name])} if table.name in with_duplicates else {}
        )
        commit_positions = [commit_order[path] for path in paths_by_table[table.name]] if commit_order else None
        exclusions, selects[table.name] = select_rows(
            connection, table, sources.get(table.name), table.name in outdated, commit_positions
        )
        statements += exclusions
    statements.append(runs_view(selects.pop(RUNS.name), selects.pop(RUN_ENDS.name)))
    statements += [listed_view(table, selects.pop(table.name)) for table in (RUN_ITEMS, RUN_STEPS, RUN_SLOTS)]
    statements += [f"create or replace view main.{table} as {select}" for table, select in selects.items()]
    return (*statements, *main_macros())


def _in_reading_order(paths: Sequence[Path]) -> Sequence[Path]:
    """Return the files of a table in the order in which DuckDB reads them: if the table is large and its first file is
    short, a file of at least average size comes first. DuckDB assumes the size of the first file for all, and would
    take a table that begins with a short file for the small side of a join.
    """
    sizes = [path.stat().st_size for path in paths]
    if sum(sizes) < MANY_BYTES or sizes[0] * len(sizes) >= SHORT * sum(sizes):
        return paths
    first = next(place for place, size in enumerate(sizes) if size * len(sizes) >= sum(sizes))
    return [paths[first], *paths[:first], *paths[first + 1 :]]


def _rows_outside_parts(
    connection: StoreConnection,
    statements: Sequence[str],
    files: Mapping[str, Sequence[Path]],
    table: str,
    derived: Collection[Path],
) -> tuple[str, list[Path]]:
    """Return the result of `rows_outside_parts`, from the parts of every table."""
    paths = _in_reading_order(files[table])
    return rows_outside_parts(connection, statements, table, source_of(paths, outdated=False), paths, derived)


def _enumerated_values(
    connection: StoreConnection, store: Store, statements: Sequence[str], files: Mapping[str, Sequence[Path]]
) -> dict[str, dict[str, list[str]]]:
    """Return the values of enumerations by benchmark and column (`stored_values`). Those of large tables come from
    derived files if possible.
    """
    outdated, known = store.outdated(files), {}
    for table in ENUMERATED_TABLES:
        if _is_large(files[table]) and table not in outdated:
            values_by_part = read_values(connection.database, store, table, files[table])
            uncovered, covered = _rows_outside_parts(connection, statements, files, table, values_by_part)
            known[table] = f"({uncovered})", {value for part in covered for value in values_by_part[part]}
    return stored_values(connection, known)


def _is_large(paths: Sequence[Path]) -> bool:
    """Return true if a table with these files is large."""
    return sum(path.stat().st_size for path in paths) >= LARGE_BYTES


def _benchmark_contents(
    connection: Connection, run_id: str | None, plan: Plan | None, only: ArmSelection, leave_out: DamageListener
) -> list[Current]:
    """Return the content of the schema of each benchmark, in the order of their names. The benchmark of `run_id` has
    exactly that run, selected by `plan` and `only`; every other benchmark has its latest state. `leave_out` is called
    with the error of an unreadable plan.
    """
    chosen: dict[str, tuple[str, Plan, Collection[str], str]] = {}
    columns = "run_id, benchmark, plan, fingerprints, compared_role, json_extract(options, '$.only')"
    latest = connection.execute(
        f"""select {columns} from main.runs
        qualify row_number() over (partition by benchmark order by {LATEST}) = 1"""
    ).fetchall()
    for run, benchmark, plan_json, fingerprints, compared_role, selected in latest:
        try:
            chosen_plan = read_plan(plan_json, run, benchmark)
        except StoreError as error:
            leave_out(error)
            continue
        chosen[benchmark] = run, *_selected(chosen_plan, fingerprints, orjson.loads(selected or "{}")), compared_role
    run_benchmark = None
    if run_id is not None:
        row = connection.execute(f"select {columns} from main.runs where run_id = ?", [run_id]).fetchone()
        if row is None:
            raise StoreError("S0301", f"the store has no run `{run_id}`", "`tripos list` shows the runs")
        _, run_benchmark, plan_json, fingerprints, compared_role, selected = row
        if plan is None:
            plan = read_plan(plan_json, run_id, run_benchmark)
        else:
            fingerprints = plan.fingerprints
        chosen[run_benchmark] = (
            run_id,
            *_selected(plan, fingerprints, {**orjson.loads(selected or "{}"), **only}),
            compared_role,
        )
    fingerprints_of = {name: fingerprints for name, (_, _, fingerprints, _) in chosen.items()}
    shared = _sharing_benchmarks(connection, fingerprints_of) if len(latest) > 1 else set()
    may_be_partial = bool(connection.execute(MAY_STOP_EARLY).fetchall())
    currents = []
    for name, (run, chosen_plan, fingerprints, compared_role) in sorted(chosen.items()):
        steps = PlanSteps(
            name,
            frozenset(fingerprints),
            name in shared,
            bool(chosen_plan.made),
            bool(element_scores(chosen_plan)),
            chosen_plan.conditional,
            bool(RowClusters(chosen_plan).scenarios),
        )
        axes = {axis.name: only[axis.name] for axis in chosen_plan.axes if axis.name in only}
        rows = (
            rows_of_run(run, steps, axes, partly=may_be_partial)
            if name == run_benchmark
            else latest_rows(connection, steps, partly=may_be_partial)
        )
        currents.append(Current(chosen_plan, compared_role, rows))
    return currents


def _selected(plan: Plan, fingerprints: Collection[str], only: ArmSelection) -> tuple[Plan, Collection[str]]:
    """Return a plan with the selected treatments only, and the fingerprints of its steps."""
    selected = select_treatments(plan, only)
    return selected, fingerprints if selected is plan else selected.fingerprints


def _sharing_benchmarks(connection: Connection, chosen: Mapping[str, Collection[str]]) -> set[str]:
    """Return the benchmarks with steps that runs of other benchmarks also have. `chosen` has the fingerprints of each
    benchmark.
    """
    runs = connection.execute("select distinct benchmark, unnest(fingerprints) from main.runs").fetchall()
    return {
        name
        for name, fingerprints in chosen.items()
        if any(benchmark != name and fingerprint in fingerprints for benchmark, fingerprint in runs)
    }


_open_databases: weakref.WeakSet[duckdb.DuckDBPyConnection] = weakref.WeakSet()


@atexit.register
def _close_open() -> None:
    """Close all open databases when the interpreter ends."""
    # A connection with a Python function that outlives the interpreter makes DuckDB complain on stderr.
    for connection in list(_open_databases):
        connection.close()


# Copies in memory
COPIED = ("scores", "columns")
"""Views that are copied. Each is a join over the whole run, which every query would repeat."""
MOST_ROWS = 300_000
"""The most rows that are copied. With more, the time that a copy saves is not worth its memory."""
REPLIES = ("samples", "judgements")
"""Views that may be copied too."""
MOST_SAMPLES = 500
"""The most replies that are copied, since replies are long texts."""


@contextmanager
def copied_scores(connection: Connection, benchmark: str, replies: bool = False) -> Iterator[None]:
    """Replace the views of the scores of a benchmark by copies in memory while the block runs. If there are copies
    already, or too many rows, nothing changes. With `replies`, replies and judgements are copied too, if they are few.
    """
    if not isinstance(connection, StoreConnection):
        yield
        return
    with connection.views.first(f"copies of {benchmark}") as first:
        views = _views_to_copy(connection, benchmark, replies) if first else ()
        if views:
            with _copies_in_memory(connection, benchmark, views):
                yield
        else:
            yield


@contextmanager
def _copies_in_memory(connection: Connection, benchmark: str, views: Sequence[str]) -> Iterator[None]:
    """Replace views by copies while the block runs."""
    schema = sql.name(benchmark)
    # With a space in its name, a copy cannot clash with a table.
    copies = {view: f"main.{sql.name(f'{benchmark} {view} in memory')}" for view in views}
    places = [(f"{schema}.{view}", sql.name(f"{view} in the store"), copy, view) for view, copy in copies.items()]
    statements = [f"create or replace table {copy} as from {shown}" for shown, _, copy, _ in places]
    for shown, stored, copy, _ in places:
        statements += [f"alter view {shown} rename to {stored}", f"create view {shown} as from {copy}"]
    connection.execute("; ".join(statements))
    try:
        yield
    finally:
        restored = (
            f"drop view {shown}; alter view {schema}.{stored} rename to {view}; drop table {copy}"
            for shown, stored, copy, view in places
        )
        with suppress(duckdb.ConnectionException):  # a closed connection has no copies
            connection.execute("; ".join(restored))


def _views_to_copy(connection: Connection, benchmark: str, replies: bool) -> Sequence[str]:
    """Return the views to copy; none if there are too many rows. In a small store the rows of its tables are counted,
    since counting those of a view takes as long as copying it.
    """
    tables = ", ".join(f"(select count(*) from main.{table})" for table in ("scores", *REPLIES))
    [(scores, *replies_by_table)] = connection.execute(f"select {tables}").fetchall()
    chosen = (*COPIED, *REPLIES) if replies and sum(replies_by_table) <= MOST_SAMPLES else COPIED
    if scores <= min(MOST_SAMPLES, MOST_ROWS):
        return chosen
    sums = score_sums(connection, benchmark)
    counts = " + ".join(f"(select count(*) from {sql.name(benchmark)}.{view})" for view in COPIED)
    if sums is not None:  # the first rows of the sums may show that there are too many
        counts = f"""(select coalesce(sum("its rows"), 0) from (select "its rows" from {sums} limit {MOST_ROWS + 1}))"""
    [(rows,)] = connection.execute(f"select {counts}").fetchall()
    return chosen if rows <= MOST_ROWS else ()
