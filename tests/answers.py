"""Answers of a store: the rows of a query, by the command or in Python."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect


def ask(tripos: Callable[..., Any], query: str, *options: str) -> list[dict[str, Any]]:
    """Return the rows that `tripos sql` answers, each by the names of its columns."""
    answer = Path("answer.json")
    done = tripos("sql", query, "-o", str(answer), *options)
    assert done.code == 0, done.err
    rows: list[dict[str, Any]] = json.loads(answer.read_text("utf-8"))
    answer.unlink()
    return rows


def ask_values(tripos: Callable[..., Any], query: str, *options: str) -> list[tuple[Any, ...]]:
    """Return the rows that `tripos sql` answers, without their names."""
    return [tuple(row.values()) for row in ask(tripos, query, *options)]


def fetch(query: str, store: str | Path = "results") -> list[tuple[Any, ...]]:
    """Return the rows of a query over a store, as Python reads it."""
    with connect(Store.open(store, create=False)) as connection:
        return connection.execute(query).fetchall()
