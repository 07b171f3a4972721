"""`tripos view`: the results of a store as a page, served to this machine or written to a folder."""

from __future__ import annotations

import secrets
import tempfile
import webbrowser
from argparse import Namespace
from contextlib import closing
from pathlib import Path

from tripos.cli.inputs import open_store
from tripos.ui import GOOD, Failure, show_message
from tripos.view import ViewFiles, serve, write_folder, write_report
from tripos_warehouse.errors import StoreError
from tripos_warehouse.report import Report
from tripos_warehouse.views import CACHE, connect_run


def main(options: Namespace) -> int:
    """Serve the page until it is interrupted, or write it to a folder."""
    root = open_store(options).root  # what is wrong with the store is said before anything is served
    lasting = None if options.to else root / CACHE / "view"
    try:
        with (
            tempfile.TemporaryDirectory(prefix="tripos-view-") as folder,
            closing(ViewFiles(lambda: open_store(options), Path(folder), lasting=lasting)) as view,
        ):
            run = _run_id(options)
            if options.to is None:
                serve(view, options.port, secrets.token_urlsafe(16), lambda address: _opened(address, run, options))
                return GOOD
            target = Path(options.to)
            remarks = write_folder(view, target, [run] if run else [])
    except StoreError as error:
        raise Failure(error.code, error.message, error.hint) from error
    show_message(f"written to {target}: open {target / 'index.html'}")
    for remark in remarks:
        show_message(f"! {remark}")
    if options.open:
        webbrowser.open((target / "index.html").absolute().as_uri())
    return GOOD


def write_html(options: Namespace, report: Report, path: str) -> None:
    """Write the report of a run as one page. Raises `Failure` S0102 where the disk refuses, and `StoreError`."""
    run = report.run.run_id
    with (
        tempfile.TemporaryDirectory(prefix="tripos-view-") as folder,
        closing(ViewFiles(lambda: open_store(options), Path(folder), {run: report})) as view,
    ):
        page = write_report(view, run)
    try:
        Path(path).write_text(page, "utf-8")
    except OSError as error:
        raise Failure("S0102", f"cannot write `{path}`: {error.strerror}", "write it somewhere else") from error


def _run_id(options: Namespace) -> str | None:
    """Return the whole id of the run that was named, if any. Raises `StoreError` S0301."""
    if options.run is None:
        return None
    connection, run = connect_run(open_store(options), options.run)
    connection.close()
    return run.run_id


def _opened(address: str, run: str | None, options: Namespace) -> None:
    where = f"{address}#/run/{run}" if run else address
    show_message(f"the results are at {where}", flush=True)
    show_message("stop with Ctrl-C", flush=True)
    if options.open:
        webbrowser.open(where)
