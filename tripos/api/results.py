"""The results of a store for Python: queries as DuckDB relations, runs, reports and plots, shown in notebooks."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, Unpack

from tripos.errors import explain_interrupt
from tripos_warehouse.errors import StoreError
from tripos_warehouse.query.statements import statements_of, tables_and_macros, translate_errors
from tripos_warehouse.report.run_report import Report
from tripos_warehouse.report.tables import report_tables
from tripos_warehouse.store.store import Store
from tripos_warehouse.tables.markup import to_html, to_markdown
from tripos_warehouse.tables.model import Column, Table as ShownTable
from tripos_warehouse.views.connect import connect, connect_run, snippet
from tripos_warehouse.views.runs import ListedRun

if TYPE_CHECKING:
    from tripos.plots.plot import PlotChoices
    from tripos.settings.options import PlotKind
    from tripos_compiler.plan import Plan
    from tripos_warehouse.query.relations import Table


def measure_table(report: Report) -> Table:
    """Return a relation with one row for each value of each measure."""
    import duckdb

    from tripos_warehouse.query.relations import as_table

    return as_table(duckdb.connect().from_arrow(report.to_arrow()))


class Results:
    """The results of a store as of its opening or the last `refresh`. Each thread needs its own.

    Every method raises `StoreError`, which has `code`, `message` and `hint`.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._connection = connect(store)

    @property
    def path(self) -> Path:
        """The folder of the store."""
        return self._store.root

    def sql(self, query: str, params: object = None) -> Table:
        """Return the result of a query as a DuckDB relation, which is computed on demand: `.to_pandas()`,
        `.to_polars()`, `.to_arrow()`, or `.fetchall()` for tuples. `params` fill `?` or `$name`. Methods that would
        write a file or run a statement, such as `.to_parquet(…)` or `.query(…)`, raise `StoreError` S0205.

        Raises `StoreError` S0203 for anything but one read-only query, S0204 for an unknown name, S0205 for access to a
        file or a setting, and S0201 for other errors in the query.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, Results(Store.open(folder, create=True)) as results:
        ...     results.sql("select count(*) as n from scores where model = ?", ["openai/gpt"]).fetchall()
        [(0,)]
        """
        from tripos_warehouse.query.relations import read_only

        statements = statements_of(self._connection, query)
        self._connection.make_views()  # a later filter on the relation may name any
        last = None
        for statement in statements:
            text = statement.query
            last = translate_errors(self._connection, lambda text=text: self._connection.sql(text, params=params))  # type: ignore[misc]
        if last is None:
            last = self._connection.sql("select NULL as nothing where false")
        relation: Table = read_only(last)
        return relation

    def tables(self) -> dict[str, list[str]]:
        """Return every table and macro, with its columns or parameters."""
        return tables_and_macros(self._connection)

    def runs(self) -> list[ListedRun]:
        """Return every run, newest first, with its extent."""
        from tripos_warehouse.views.runs import list_runs

        return list_runs(self._connection)

    def report(self, run: str | None = None) -> Report:
        """Return the measures of a run with their errors and intervals; by default of the last run. `run` is the id of
        a run or its beginning. Raises `StoreError` S0301 if there is no such run."""
        from tripos_warehouse.report.run_report import report
        from tripos_warehouse.views.runs import get_selected

        connection, record = connect_run(self._store, run, sums=True)
        with explain_interrupt(f"the report of run {record.run_id}"), connection:
            return ShownReport.of(report(connection, get_selected(connection, record), record))

    def plan(self, run: str | None = None) -> Plan:
        """Return the plan of a run. Raises as `report` does."""
        from tripos_warehouse.views.runs import find_run, get_plan

        return get_plan(self._connection, find_run(self._connection, run))

    def plot(self, kind: PlotKind, run: str | Sequence[str] | None = None, **choices: Unpack[PlotChoices]) -> Any:
        """Return a plot as an Altair chart. Without `run`, plot the last run; `leaderboard` and `cost` then show all
        models of its benchmark.

        The keywords are the options of `tripos plot`: `measure`, `models`, `against`, `metric`, `cost`, `size`,
        `width`, `font`, `font_size`, `language`, `bare` and `out`, a file to write. Raises `StoreError` S0621 if there
        is nothing to plot, S0622 without the extra `plot`, and others as `report` does.
        """
        from tripos.plots.plot import plot

        return plot(self._store, kind, run, choices).chart

    def snippet(self) -> str:
        """Return SQL that creates the same views and macros in any DuckDB."""
        return "".join(f"{statement.strip()};\n" for statement in snippet(self._store))

    def refresh(self) -> None:
        """Include what has been committed since. Existing relations become invalid."""
        self._connection.close()
        self._connection = connect(self._store)

    def close(self) -> None:
        """Close the store."""
        self._connection.close()

    def __repr__(self) -> str:
        return f"<Results in {self.path}>"

    def _repr_mimebundle_(self, *_: Any, **__: Any) -> dict[str, str]:
        runs = self.runs()
        count = "1 run" if len(runs) == 1 else f"{len(runs):,} runs"
        return notebook_formats(f"{count} in {self.path}", [runs_table(runs)] if runs else [])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open(root: str | Path = "results") -> Results:  # noqa: A001 - `tripos.open` is its name
    """Return the results of a store. Damaged parts are skipped, with a `UserWarning` that names them. Raises
    `StoreError` S0101 if there is no store, S0103 and S0104 if it cannot be read."""
    return Results(Store.open(root, create=False, on_damage=_warn, tolerant=True))


def _warn(error: StoreError) -> None:
    warnings.warn(f"{error.code}: {error.message}: what it held is left out", stacklevel=2)


# Display in notebooks
def notebook_formats(line: str, tables: Sequence[ShownTable]) -> dict[str, str]:
    """Return a line and tables in the formats that a notebook chooses from."""
    head = ShownTable((), "line", line)
    return {
        "text/plain": line,
        "text/html": to_html([head, *tables]),
        "text/markdown": to_markdown([head, *tables]).removeprefix("### "),
    }


class ShownReport(Report):
    """A report whose headline a notebook shows."""

    __slots__ = ()

    @classmethod
    def of(cls, report: Report) -> ShownReport:
        """Return a report in the form that notebooks show."""
        return cls(**{field.name: getattr(report, field.name) for field in fields(report)})

    def __repr__(self) -> str:
        run, scores = self.run, sum(self.scores.values())
        text = f"{run.status}, {len(self.measures)} measures, {scores:,} scores"
        return f"<Report of run {run.run_id} of {run.benchmark} {run.version}: {text}>"

    def _repr_mimebundle_(self, *_: Any, **__: Any) -> dict[str, str]:
        return notebook_formats(repr(self)[1:-1], shortened(self))


def shortened(report: Report) -> list[ShownTable]:
    """Return the tables of a report, headline first, up to the number of rows that a notebook shows."""
    from tripos_warehouse.query.relations import SHOWN

    headline = set(report.plan.benchmark.headline)
    tables = report_tables(report)
    names = {f"{report.run.benchmark}-{name}" for name in headline}
    tables.sort(key=lambda table: table.name not in names)
    shown: list[ShownTable] = []
    room = SHOWN
    for place, table in enumerate(tables):
        if shown and table.height > room:
            more = f"{len(tables) - place} more tables; `.to_arrow()` has every value"
            shown[-1] = replace(shown[-1], notes=(*shown[-1].notes, more))
            break
        shown.append(_cut(table, room))
        room -= max(1, table.height)
    return shown


def _cut(table: ShownTable, rows: int) -> ShownTable:
    if table.height <= rows:
        return table
    columns = tuple(replace(column, cells=column.cells[:rows]) for column in table.columns)
    return replace(table, columns=columns, notes=(*table.notes, f"the first {rows} rows of {table.height}"))


def runs_table(runs: Sequence[ListedRun]) -> ShownTable:
    """Return the newest runs of a store as a table."""
    from tripos_warehouse.query.relations import SHOWN

    rows = [run.to_row() for run in runs[:SHOWN]]
    counts = {name: tuple(row[name] for row in rows) for name in ("samples", "scores")}
    columns = (
        Column("run", tuple(row["run_id"] for row in rows)),
        Column("benchmark", tuple(f"{row['benchmark']} {row['version']}" for row in rows)),
        Column("models", tuple(", ".join(row["models"]) for row in rows)),
        *(Column(name, cells, "count") for name, cells in counts.items()),
        Column("scored", tuple(row["scored_share"] for row in rows), "share"),
        Column("status", tuple(row["status"] for row in rows)),
    )
    notes = (f"the newest {SHOWN} of {len(runs):,} runs; `.runs()` has all",) if len(runs) > SHOWN else ()
    return ShownTable(columns, "runs", "", notes)
