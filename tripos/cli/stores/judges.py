"""`tripos judges`: the judges of a run beside people, beside each other, and beside themselves."""

from __future__ import annotations

from argparse import Namespace
from contextlib import ExitStack

from tripos.cli.inputs import open_store
from tripos.ui import GOOD, Failure, print_json, show_text, table_width, terminal_width
from tripos_warehouse.errors import StoreError
from tripos_warehouse.measures.judges import render_judges, report_judges
from tripos_warehouse.views import connect_run, get_selected

LEVEL = 0.9
"""The agreement with people that a threshold is to have, where none is said."""


def main(options: Namespace) -> int:
    """Print what is known of the judges of a run."""
    if options.agree in (0.0, 1.0):
        message = f"no labels can show an agreement of {options.agree:g}"
        raise Failure("R0202", message, "give a share between 0 and 1, such as 0.9")
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
            level = options.agree if options.agree is not None else LEVEL
            report = report_judges(connection, plan, run, before, since, against=options.against, level=level)
            if options.against is not None and not report.people:
                message = f"`{options.against}` scored no reply of run `{run.run_id}`"
                raise Failure("R0202", message, "name an evaluator of the run, or a person as `human/NAME`")
    except StoreError as error:
        raise Failure(error.code, error.message, error.hint) from error
    if options.json:
        print_json(report.to_json())
    else:
        show_text(*render_judges(report, plan, terminal_width(), table_width()), sep="\n")
    return GOOD
