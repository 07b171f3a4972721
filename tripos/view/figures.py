"""Figures of boards, comparisons and headlines as JSON values of a page."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from typing import Any

from tripos_compiler.plan import Plan
from tripos_warehouse.errors import StoreError
from tripos_warehouse.measures import SEQUENCE
from tripos_warehouse.query import Connection
from tripos_warehouse.report import Board, Section, board_notes, verdicts
from tripos_warehouse.views import RunRecord, get_plan


def section_json(section: Section, tests: int) -> dict[str, Any]:
    """Return the rows of a table of a comparison, each with its verdict; it is one of so many `tests`."""
    return {
        "kind": section.kind,
        "rows": [
            {
                "name": row.name,
                "of": row.of,
                "a": row.a,
                "b": row.b,
                "difference": row.difference.value,
                "low": row.difference.low,
                "high": row.difference.high,
                "p": row.p,
                "q": row.q,
                "method": SEQUENCE if row.by_sequence else None,
                "lower_is_better": row.lower_is_better,
                "verdict": said,
            }
            for row, said in zip(section.rows, verdicts(section, tests), strict=True)
        ],
    }


def time_json(value: datetime | None) -> str | None:
    """Return a time of the store in ISO 8601."""
    return None if value is None else value.isoformat() + "Z"


def board_json(board: Board) -> dict[str, Any]:
    """Return a board with its notes."""
    return {**board.to_json(), "notes": [each.text for each in board_notes(board)]}


def headline_figures(connection: Connection) -> dict[str, list[dict[str, Any]]]:
    """Return the figures that are one for each model, as runs kept them at their end, by run."""
    found: dict[str, list[dict[str, Any]]] = {}
    query = """select run_id, measure, model, value, low, high, n, total from main.measures where dims = '{}'
      order by measure, value desc, model"""
    for run, measure, model, value, low, high, n, total in connection.execute(query).fetchall():
        figure = {"measure": measure, "model": model, "value": value, "low": low, "high": high, "n": n, "total": total}
        found.setdefault(run, []).append(figure)
    return found


def readable_plans(connection: Connection, runs: Iterable[RunRecord]) -> dict[str, Plan]:
    """Return the plans of runs by their digests, without those of a format that we do not know."""
    plans: dict[str, Plan] = {}
    for run in runs:
        if run.plan_digest not in plans:
            with suppress(StoreError):
                plans[run.plan_digest] = get_plan(connection, run)
    return plans


def takes_python(plans: Iterable[Plan]) -> bool:
    """Return true if measures take functions of the user's: their values follow from more than the store."""
    return any(plugin.aggregate for plan in plans for plugin in plan.plugins)


def headline_of(plan: Plan | None, figures: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the figures that are the headline of the plan of their run, in the order that it gives."""
    order = [] if plan is None else list(plan.benchmark.headline)
    found = [each for each in figures if each["measure"] in order]
    return sorted(found, key=lambda each: order.index(each["measure"]))
