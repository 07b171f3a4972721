"""Three commands that go on from a run, each with what it shows."""

from __future__ import annotations

import shlex
from argparse import Namespace
from collections.abc import Iterator

from tripos_compiler.diagnostics import display_width, localized
from tripos_warehouse.report import Report, further_query

GOOD = {"samples": ("ok",), "scores": ("scored", "not_applicable"), "comparisons": ("scored", "not_applicable")}
"""The statuses of each table that are no news."""
TOLD = {
    "samples": "model, status, error, reply",
    "scores": "model, metric, status, error",
    "comparisons": "first_model, second_model, status, error",
}
"""What says why a row of it has no value."""


def next_lines(report: Report, store: str) -> list[str]:
    """Return a line for each command: what it shows, and the command, which is never broken. `store` is what
    `store_options` gives."""
    said = {localized(label): command for label, command in _commands(report)}
    room = max(map(display_width, said))
    return [
        f"{label}{' ' * (room - display_width(label))}  {_with_store(command, store)}"
        for label, command in said.items()
    ]


def store_options(options: Namespace) -> str:
    """Return the options that a further command needs to find the same store, as they are typed.

    >>> store_options(Namespace(store="my results", profile=None))
    "--store 'my results'"
    """
    if options.store:
        return f"--store {shlex.quote(options.store)}"
    return f"--profile {shlex.quote(options.profile)}" if options.profile else ""


def _commands(report: Report) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the measures, then the page, then what the run suggests: replies and scores without a value, how two models
    differ, or the scores of the one."""
    run, count = report.run, len(report.measures)
    yield (f"all {count} measures" if count > 1 else "the whole report"), ("report", run.run_id)
    yield "every reply", ("view", run.run_id)
    for table, good in GOOD.items():
        if any(status not in good for status in getattr(report, table)):
            wanted = " and ".join(f"status <> '{status}'" for status in good)
            yield "what failed", ("sql", f"select {TOLD[table]} from {run.benchmark}.{table} where {wanted} limit 5")
            return
    if len(run.models) > 1:
        two = ("--models", ",".join(run.models[:2])) if len(run.models) > 2 else ()
        yield "two models", ("compare", run.run_id, *two)
    else:
        yield "in SQL", ("sql", further_query(report))


def _with_store(command: tuple[str, ...], store: str) -> str:
    verb, *words = command
    quoted = [f'"{word}"' if " " in word else shlex.quote(word) for word in words]
    return " ".join(["tripos", verb, *quoted, *([store] if store else [])])
