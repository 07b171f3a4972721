"""`tripos list`: the runs in the store."""

from __future__ import annotations

import json
import shutil
from argparse import Namespace

from tripos.command.opening import open_store
from tripos.failure import GOOD, Failure
from tripos_warehouse.errors import StoreError
from tripos_warehouse.views.runs import list_runs
from tripos_warehouse.views.views import connect


def main(options: Namespace) -> int:
    """Prints the runs, newest first."""
    try:
        rows = [listed.to_row() for listed in list_runs(connect(open_store(options)))]
    except StoreError as error:
        raise Failure(error.code, error.message, error.hint) from error
    if options.json:
        print(json.dumps(rows, ensure_ascii=False, indent=2))
        return GOOD
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name, justify in (("run", "left"), ("benchmark", "left"), ("models", "left"), ("samples", "right")):
        table.add_column(name, justify=justify, overflow="fold", no_wrap=name == "run")  # type: ignore[arg-type]
    table.add_column("scored", justify="right")
    table.add_column("status")
    for row in rows:
        share = row["scored_share"]
        scored = "—" if share is None else f"{share:.0%}"
        name = f"{row['benchmark']} {row['version']}"
        status = f"{row['status']}, {row['withheld']:,} items withheld" if row["withheld"] else row["status"]
        table.add_row(row["run_id"], name, ", ".join(row["models"]), f"{row['samples']:,}", scored, status)
    console = Console(width=shutil.get_terminal_size((80, 24)).columns, highlight=False)
    with console.capture() as captured:
        console.print(table)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))
    return GOOD
