"""Displays of runs, results and reports in a notebook: a line or two, and tables of at most twenty rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from tripos_compiler.diagnostics import percent
from tripos_warehouse.formats import PaperColumn, PaperTable, to_html, to_markdown
from tripos_warehouse.query import SHOWN
from tripos_warehouse.report import Report, report_tables
from tripos_warehouse.views import ListedRun


def bundle(line: str, tables: Sequence[PaperTable]) -> dict[str, str]:
    """Return a line and tables in the forms that a notebook chooses from."""
    head = PaperTable("line", line, ())
    return {
        "text/plain": line,
        "text/html": to_html([head, *tables]),
        "text/markdown": to_markdown([head, *tables]).removeprefix("### "),
    }


class ShownReport(Report):
    """A report of which a notebook shows the headline."""

    __slots__ = ()

    @classmethod
    def of(cls, report: Report) -> ShownReport:
        """Return the same report, to be shown."""
        return cls(**{each.name: getattr(report, each.name) for each in fields(report)})

    def __repr__(self) -> str:
        run, scores = self.run, sum(self.scores.values())
        told = f"{run.status}, {len(self.measures)} measures, {scores:,} scores"
        return f"<Report of run {run.run_id} of {run.benchmark} {run.version}: {told}>"

    def _repr_mimebundle_(self, *_: Any, **__: Any) -> dict[str, str]:
        return bundle(repr(self)[1:-1], shortened(self))


def shortened(report: Report) -> list[PaperTable]:
    """Return the tables of a report, those of its headline first, up to as many rows as a notebook shows."""
    headline = set(report.plan.benchmark.headline)
    every = report_tables(report)
    names = {f"{report.run.benchmark}-{name}" for name in headline}
    every.sort(key=lambda table: table.name not in names)
    shown: list[PaperTable] = []
    room = SHOWN
    for place, table in enumerate(every):
        if shown and len(table.rows) > room:
            more = f"{len(every) - place} more tables; `.to_arrow()` has every value"
            shown[-1] = replace(shown[-1], notes=(*shown[-1].notes, more))
            break
        shown.append(_cut(table, room))
        room -= max(1, len(table.rows))
    return shown


def _cut(table: PaperTable, rows: int) -> PaperTable:
    if len(table.rows) <= rows:
        return table
    columns = tuple(replace(column, cells=column.cells[:rows]) for column in table.columns)
    return replace(table, columns=columns, notes=(*table.notes, f"the first {rows} rows of {len(table.rows)}"))


def runs_table(runs: Sequence[ListedRun]) -> PaperTable:
    """Return the newest runs of a store as a table."""
    rows = [each.to_row() for each in runs[:SHOWN]]
    cells = {
        "run": [row["run_id"] for row in rows],
        "benchmark": [f"{row['benchmark']} {row['version']}" for row in rows],
        "models": [", ".join(row["models"]) for row in rows],
        "samples": [row["samples"] for row in rows],
        "scores": [row["scores"] for row in rows],
        "scored": [None if row["scored_share"] is None else percent(row["scored_share"]) for row in rows],
        "status": [row["status"] for row in rows],
    }
    notes = (f"the newest {SHOWN} of {len(runs):,} runs; `.runs()` has all",) if len(runs) > SHOWN else ()
    return PaperTable("runs", "", tuple(PaperColumn(name, tuple(each)) for name, each in cells.items()), notes)
