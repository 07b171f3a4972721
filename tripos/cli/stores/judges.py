"""`tripos judges`: the judges of a run beside people, beside each other, and beside themselves."""

from __future__ import annotations

from argparse import Namespace
from contextlib import ExitStack

from tripos.cli.inputs import open_store
from tripos.ui import GOOD, Failure, print_json, show_text, table_width, terminal_width
from tripos_warehouse.errors import StoreError
from tripos_warehouse.measures.judges import render_judges, report_judges
from tripos_warehouse.views import connect_run, get_selected


def main(options: Namespace) -> int:
    """Print what is known of the judges of a run."""
    try:
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
                    raise Failure("R0202", message, "name an earlier run of the same benchmark")
            report = report_judges(connection, plan, run.run_id, before, since)
    except StoreError as error:
        raise Failure(error.code, error.message, error.hint) from error
    if options.json:
        print_json(report.to_json())
    else:
        show_text(*render_judges(report, plan, terminal_width(), table_width()), sep="\n")
    return GOOD
