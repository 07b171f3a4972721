"""`tripos report`: the measures of a run, with their intervals and the SQL behind them."""

from __future__ import annotations

import json
import shutil
import sys
from argparse import Namespace

from tripos.command.opening import open_store
from tripos.failure import GOOD, Failure
from tripos_warehouse.errors import StoreError
from tripos_warehouse.report import Report
from tripos_warehouse.report import report as report_of
from tripos_warehouse.report_text import render
from tripos_warehouse.runs import get_plan
from tripos_warehouse.store import Store
from tripos_warehouse.views import connect_run


def main(options: Namespace) -> int:
    """Prints the report of a run."""
    try:
        report = make_report(open_store(options), options.run)
    except StoreError as error:
        raise Failure(error.code, error.message, error.hint) from error
    if options.json:
        print(json.dumps(report.to_json(), ensure_ascii=False, indent=2))
    else:
        show_report(report, sql=options.sql, store=options.store)
    return GOOD


def make_report(store: Store, run_id: str | None) -> Report:
    """The report of a run; without a name that of the last. Raises `StoreError`."""
    connection, run = connect_run(store, run_id)
    with connection:
        return report_of(connection, get_plan(connection, run), run)


def show_report(report: Report, *, sql: bool, store: str | None) -> None:
    """Prints a report; `store` is the folder that was given with `--store`, if any."""
    from rich.console import Console

    width = shutil.get_terminal_size((80, 24)).columns
    where = f"--store {store}" if store else ""
    console = Console(file=sys.stdout, width=width, highlight=False)
    with console.capture() as captured:  # rich would end the program where nobody reads this any more
        console.print(render(report, width, sql, where), soft_wrap=True)
    sys.stdout.write(captured.get())
