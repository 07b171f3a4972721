"""`tripos store batches`: batches under way at providers, and those that are given up."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from tripos.runs import BatchesUnderWay, BatchUnderWay
from tripos.ui import GOOD, Failure, columns_of, print_json, show_message, show_text, table_lines
from tripos_compiler.diagnostics import counted
from tripos_warehouse.store import Store


def show_batches(store: Store, options: Namespace) -> int:
    """List the batches of a store that are under way, or give one up. Raises `StoreError`, and `Failure` R0202 where
    none has the name."""
    batches = BatchesUnderWay(store)
    found = list(batches)
    if options.give_up is None:
        if options.json:
            print_json({"batches": [_row(each) for each in found]})
            return GOOD
        if not found:
            show_message("no batch is under way")
            return GOOD
        rows = [
            (each.batch, each.model, f"{each.requests:,}", f"{each.made_at:%Y-%m-%d %H:%M}", _left(each.expires_at))
            for each in found
        ]
        headings = ("batch", "model", "requests", "made (UTC)", "expires")
        columns = columns_of(headings, rows, left=("batch", "model", "made (UTC)", "expires"))
        show_text(*table_lines(columns), sep="\n", styled=True)
        return GOOD
    given_up = next((each for each in found if each.batch == options.give_up), None)
    if given_up is None:
        known = ", ".join(each.batch for each in found)
        hint = f"name one of these: {known}" if known else "no batch is under way"
        raise Failure("R0202", f"no batch under way is called `{options.give_up}`", hint)
    batches.give_up(given_up)
    if options.json:
        print_json({"given_up": _row(given_up)})
    else:
        show_message(
            f"batch {given_up.batch} of {given_up.model} is given up: "
            f"{counted(given_up.requests, 'request')} will be asked again"
        )
        show_message("what the provider answered is billed all the same, and may then be paid for twice")
    return GOOD


def _row(batch: BatchUnderWay) -> dict[str, Any]:
    times = {"made_at": batch.made_at.isoformat(), "expires_at": batch.expires_at.isoformat()}
    return {**asdict(batch), **times}


def _left(until: datetime) -> str:
    hours = (until - datetime.now(UTC)).total_seconds() / 3600
    return f"in {hours:.0f} h" if hours >= 1 else "within the hour" if hours > 0 else "has expired"
