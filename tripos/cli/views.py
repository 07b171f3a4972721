"""`tripos view`, `plot` and `judges`: results as a page, plots for papers, and the agreement of judges."""

from __future__ import annotations

import secrets
import tempfile
import warnings
import webbrowser
from argparse import Namespace
from contextlib import ExitStack, closing
from pathlib import Path

from tripos.cli.context import open_store
from tripos.plots.plot import FontWarning, PlotChoices, plot
from tripos.settings.option import listed_names
from tripos.settings.options import PlotParameters
from tripos.terminal import print_json, show_diagnostic, show_message, show_text, table_width, terminal_width
from tripos.view.export import write_folder, write_report
from tripos.view.files import ViewFiles
from tripos.view.server import serve
from tripos_compiler.errors import ExitCode, TriposError
from tripos_warehouse.measures.judges import report_judges
from tripos_warehouse.report.run_report import Report
from tripos_warehouse.report.text import render_judges
from tripos_warehouse.store.derived import CACHE
from tripos_warehouse.views.connect import connect_run
from tripos_warehouse.views.runs import get_selected


def main(options: Namespace) -> ExitCode:
    """Serve the page until interrupted, or write it to a folder."""
    root = open_store(options).root  # report damage of the store before serving
    lasting = None if options.to else root / CACHE / "view"
    with (
        tempfile.TemporaryDirectory(prefix="tripos-view-") as folder,
        closing(ViewFiles(lambda: open_store(options), Path(folder), lasting=lasting)) as view,
    ):
        run = _run_id(options)
        if options.to is None:
            serve(view, options.port, secrets.token_urlsafe(16), lambda address: _open_browser(address, run, options))
            return ExitCode.SUCCESS
        target = Path(options.to)
        remarks = write_folder(view, target, [run] if run else [])
    show_message(f"written to {target}: open {target / 'index.html'}")
    for remark in remarks:
        show_message(f"! {remark}")
    if options.open:
        webbrowser.open((target / "index.html").absolute().as_uri())
    return ExitCode.SUCCESS


def write_html(options: Namespace, report: Report, path: str) -> None:
    """Write the report of a run as one page. Raises `TriposError` S0102 if it cannot be written, and `StoreError`."""
    run = report.run.run_id
    with (
        tempfile.TemporaryDirectory(prefix="tripos-view-") as folder,
        closing(ViewFiles(lambda: open_store(options), Path(folder), {run: report})) as view,
    ):
        page = write_report(view, run)
    try:
        Path(path).write_text(page, "utf-8")
    except OSError as error:
        raise TriposError("S0102", f"cannot write `{path}`: {error.strerror}", "write it somewhere else") from error


def _run_id(options: Namespace) -> str | None:
    """Return the full id of the run that was named, or None. Raises `StoreError` S0301 for an unknown run."""
    if options.run is None:
        return None
    connection, run = connect_run(open_store(options), options.run)
    connection.close()
    return run.run_id


def _open_browser(address: str, run: str | None, options: Namespace) -> None:
    where = f"{address}#/run/{run}" if run else address
    show_message(f"the results are at {where}", flush=True)
    show_message("stop with Ctrl-C", flush=True)
    if options.open:
        webbrowser.open(where)


# tripos plot
def plot_main(options: Namespace) -> ExitCode:
    """Draw a plot, write it to a file, and print its notes for a caption. Raises `TriposError`."""
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
        picture = plot(open_store(options), options.kind, options.run, choices).picture
    for each in told:
        code, _, message = str(each.message).partition(": ")
        show_diagnostic("warning", code, message, "install one, such as Noto Sans CJK; SVG keeps its texts")
    show_text("\n".join([picture.title, *(f"  {note}" for note in picture.notes)]))
    show_message(f"written to {options.out}")
    return ExitCode.SUCCESS


REQUIRED_AGREEMENT = 0.9
"""The required agreement with people for a threshold, by default."""


# tripos judges
def judges_main(options: Namespace) -> ExitCode:
    """Print the agreement of a run's judges with people and with each other."""
    if options.agree in (0.0, 1.0):
        message = f"no labels can show an agreement of {options.agree:g}"
        raise TriposError("R0202", message, "give a share between 0 and 1, such as 0.9")
    store = open_store(options)
    with ExitStack() as stack:
        connection, run = connect_run(store, options.run)
        stack.enter_context(connection)
        plan, before, since = get_selected(connection, run), None, None
        if options.since is not None:
            before, earlier = connect_run(store, options.since)
            stack.enter_context(before)
            since = earlier.run_id
            if earlier.benchmark != run.benchmark:
                message = f"run `{since}` is of `{earlier.benchmark}`, and not of `{run.benchmark}`"
                raise TriposError("R0202", message, "name an earlier run of the same benchmark")
        level = options.agree if options.agree is not None else REQUIRED_AGREEMENT
        report = report_judges(connection, plan, run, before, since, against=options.against, level=level)
        if options.against is not None and not report.people:
            message = f"`{options.against}` scored no reply of run `{run.run_id}`"
            raise TriposError("R0202", message, "name an evaluator of the run, or a person as `human/NAME`")
    if options.json:
        print_json(report.to_json())
    else:
        show_text(*render_judges(report, plan, terminal_width(), table_width()), sep="\n")
    return ExitCode.SUCCESS
