"""`tripos view`, `plot` and `judges`: results as a page, plots for papers, and the agreement of judges."""

from __future__ import annotations

import secrets
import tempfile
import warnings
import webbrowser
from collections.abc import Iterable
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Literal

from tripos.annotation.assignment import check_name
from tripos.annotation.notes import NoteDesk
from tripos.cli.context import Context, Outcome
from tripos.files import write_file
from tripos.plots.plot import FontWarning, PlotChoices, plot
from tripos.settings.option import listed_names
from tripos.settings.options import LANGUAGE, PlotParameters
from tripos.terminal import message, show_diagnostic, show_message, table_width, terminal_width
from tripos.view.export import write_folder, write_report
from tripos.view.files import NotesAccess, ViewFiles, readable_plans
from tripos.view.server import serve, with_language
from tripos_compiler.diagnostics.i18n import titles_language
from tripos_compiler.errors import TriposError
from tripos_compiler.language.plan_diff import are_comparable
from tripos_compiler.plan import Plan
from tripos_warehouse.measures.judges import report_judges
from tripos_warehouse.report.best_values import best_values
from tripos_warehouse.report.leaderboard import Board, boards_of_run
from tripos_warehouse.report.result_tables import filled_tables
from tripos_warehouse.report.run_report import Report
from tripos_warehouse.report.tables import report_tables
from tripos_warehouse.report.text import render_judges
from tripos_warehouse.store.derived import CACHE
from tripos_warehouse.store.store import Store
from tripos_warehouse.tables.text import wrapped
from tripos_warehouse.views.connect import connect, connect_run
from tripos_warehouse.views.runs import all_runs, get_selected


def main(context: Context) -> Outcome:
    """Serve the page until interrupted, or write it to a folder."""
    options = context.options
    root = context.store().root  # report damage of the store before serving
    lasting = None if options.to else root / CACHE / "view"
    if options.name is not None:
        check_name(options.name)
    kept: Literal["store", "browser"] | None = "browser" if options.to else "store"
    notes = NotesAccess(None if options.read_only else kept, options.name, not options.no_notes)
    with (
        tempfile.TemporaryDirectory(prefix="tripos-view-") as folder,
        closing(ViewFiles(context.store, Path(folder), lasting=lasting, notes=notes)) as view,
    ):
        run = _run_id(context)
        if LANGUAGE.is_in(options):
            context.read_in(_plans(context, run))
        if options.to is None:
            takers = {} if options.read_only else {"notes": _note_desk(context).take}
            token = secrets.token_urlsafe(16)
            serve(view, options.port, token, lambda address: _open_browser(address, run, context), takers)
            return Outcome()
        target = Path(options.to)
        remarks = write_folder(view, target, [run] if run else [])
    index = target / "index.html"
    if options.open:
        webbrowser.open(index.absolute().as_uri())
    texts = (f"written to {target}: open {index}", *(f"! {remark}" for remark in remarks))
    return Outcome(lambda: {"index": str(index), "remarks": list(remarks)}, map(message, texts))


def _note_desk(context: Context) -> NoteDesk:
    """Return the receiver of notes. The store is opened for writing once somebody writes one."""
    return NoteDesk(cache(lambda: context.store(writes=True)), context.options.name, lambda: datetime.now(UTC))


def write_html(context: Context, report: Report, path: str) -> None:
    """Write the report of a run as one page. Raises `TriposError` S0102 if it cannot be written, and `StoreError`."""
    run = report.run.run_id
    with (
        tempfile.TemporaryDirectory(prefix="tripos-view-") as folder,
        closing(ViewFiles(context.store, Path(folder), {run: report})) as view,
    ):
        page = write_report(view, run)
    write_file(Path(path), page)


def write_pdf(store: Store, report: Report, path: str) -> None:
    """Write the report of a run as PDF. Raises `TriposError` S0102 if it cannot be written, what `report_pdf` raises,
    and `StoreError`."""
    from tripos.view.paper import report_pdf

    run, declared, boards = report.run, report.plan.tables, list[Board]()
    connection, record = connect_run(store, run.run_id, report.plan, report.only)
    with connection:
        measures = report_tables(report, best_values(connection, report))
        if not report.only and report.plan.digest == run.plan_digest:  # a board is of the run as it was
            boards = boards_of_run(connection, record, are_comparable)
        tables = filled_tables(connection, report, declared, titles_language()) if declared else []
    write_file(Path(path), report_pdf(report, boards, measures, tables))


def _run_id(context: Context) -> str | None:
    """Return the full id of the run that was named, or None. Raises `StoreError` S0301 for an unknown run."""
    if context.options.run is None:
        return None
    connection, run = connect_run(context.store(), context.options.run)
    connection.close()
    return run.run_id


def _plans(context: Context, run: str | None) -> Iterable[Plan]:
    """Return the plans of the runs that the page shows."""
    with connect(context.store()) as connection:
        runs = [record for record in all_runs(connection) if run in (None, record.run_id)]
        return readable_plans(connection, runs).values()


def _open_browser(address: str, run: str | None, context: Context) -> None:
    where = f"{with_language(address)}#/run/{run}" if run else with_language(address)
    show_message(f"the results are at {where}", flush=True)
    show_message("stop with Ctrl-C", flush=True)
    if context.options.open:
        webbrowser.open(where)


# tripos plot
def plot_main(context: Context) -> Outcome:
    """Draw a plot, write it to a file, and return its notes for a caption. Raises `TriposError`."""
    options = context.options
    PlotParameters.check_kind(options, options.kind)
    choices = PlotChoices(
        measure=options.measure,
        models=listed_names(options.models),
        against=options.against,
        metric=options.metric,
        cost=options.cost,
        size=options.size,
        width=options.width,
        font=options.font,
        font_size=options.font_size,
        language=options.language,
        bare=options.bare,
        out=options.out,
    )
    with warnings.catch_warnings(record=True, category=FontWarning) as told:
        warnings.simplefilter("always", FontWarning)
        picture = plot(context.store(), options.kind, options.run, choices).picture
    for each in told:
        code, _, fault = str(each.message).partition(": ")
        show_diagnostic("warning", code, fault, "install one, such as Noto Sans CJK; SVG keeps its texts")
    return Outcome(
        lambda: {"title": picture.title, "notes": list(picture.notes), "written": str(options.out)},
        [picture.title, *_indented(picture.notes), message(f"written to {options.out}")],
    )


def _indented(notes: Iterable[str]) -> list[str]:
    """Return notes as indented lines of the width of the terminal."""
    return [f"  {line}" for note in notes for line in wrapped(note, table_width() - 2).split("\n")]


REQUIRED_AGREEMENT = 0.9
"""The required agreement with people for a threshold, by default."""


# tripos judges
def judges_main(context: Context) -> Outcome:
    """Return the agreement of a run's judges with people and with each other."""
    options = context.options
    if options.agree in (0.0, 1.0):
        fault = f"no labels can show an agreement of {options.agree:g}"
        raise TriposError("R0202", fault, "give a share between 0 and 1, such as 0.9")
    store = context.store()
    with ExitStack() as stack:
        connection, run = connect_run(store, options.run)
        stack.enter_context(connection)
        plan, before, since = get_selected(connection, run), None, None
        context.read_in([plan])
        if options.since is not None:
            before, earlier = connect_run(store, options.since)
            stack.enter_context(before)
            since = earlier.run_id
            if earlier.benchmark != run.benchmark:
                fault = f"run `{since}` is of `{earlier.benchmark}`, and not of `{run.benchmark}`"
                raise TriposError("R0202", fault, "name an earlier run of the same benchmark")
        level = options.agree if options.agree is not None else REQUIRED_AGREEMENT
        report = report_judges(connection, plan, run, before, since, against=options.against, level=level)
        if options.against is not None and not report.people:
            fault = f"`{options.against}` scored no reply of run `{run.run_id}`"
            raise TriposError("R0202", fault, "name an evaluator of the run, or a person as `human/NAME`")
    return Outcome(report.to_json, render_judges(report, plan, terminal_width(), table_width()))
