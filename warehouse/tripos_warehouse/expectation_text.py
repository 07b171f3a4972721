"""Expectations as text for a terminal: which held, and of the others what came instead."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from tripos_compiler.plan import Plan
from tripos_warehouse import dimensions
from tripos_warehouse.expectations import Gate, Outcome
from tripos_warehouse.grid import Column, grid

STYLES = {True: "green", False: "red"}


def expectation_lines(plan: Plan, gates: Sequence[Gate], width: int) -> Iterator[tuple[str, str]]:
    """Lines of at most `width` cells, each with its style: how many held, then a line and a table an expectation."""
    failed = sum(not gate.held for gate in gates)
    count = f"{len(gates) - failed} held" + (f", {failed} did not" if failed else "")
    yield f"expectations: {count}", "bold"
    for gate in gates:
        words = f"{'held' if gate.held else 'did not hold'}: {gate.expectation.shown}"
        for line in textwrap.wrap(words, width, subsequent_indent="  "):
            yield line, STYLES[gate.held]
        for line in grid(_columns(plan, gate), width - 2):
            yield f"  {line}", ""
        for reason in dict.fromkeys(outcome.row.reason for outcome in gate.outcomes if outcome.row.value is None):
            for line in textwrap.wrap(f"no value: {reason}", width - 2):
                yield f"  {line}", ""


def _columns(plan: Plan, gate: Gate) -> list[Column]:
    outcomes = gate.outcomes
    rows = [outcome.row for outcome in outcomes]
    return [
        Column("model", tuple(row.model for row in rows), whole=True),
        *(
            Column(name.replace("_", " "), tuple(dimensions.label(plan, name, row.by[place]) for row in rows))
            for place, name in enumerate(gate.expectation.by)
        ),
        Column("value", tuple("—" if row.value is None else f"{row.value:.4g}" for row in rows), right=True),
        Column(
            "95 % interval",
            tuple(
                "—" if row.interval_low is None else f"{row.interval_low:.4g} – {row.interval_high:.4g}" for row in rows
            ),
            right=True,
        ),
        Column("", tuple(_told(outcome) for outcome in outcomes)),
    ]


def _told(outcome: Outcome) -> str:
    if outcome.margin is None:
        return "undefined"
    return f"{'held by' if outcome.held else 'off by'} {abs(outcome.margin):.3g}"
