"""The items of a subset among those that a store has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import duckdb

from tripos_compiler.plan import Plan, Subset
from tripos_compiler.semantics.subsets import Drawn, Placed, draw, placed, places


@dataclass(frozen=True)
class StoredItem:
    """An item as a store has it; `context` with its language."""

    scenario: str
    dataset: str | None
    item_id: str
    context: Mapping[str, str]
    fields: Mapping[str, Any]


def drawn_items(
    connection: duckdb.DuckDBPyConnection, plan: Plan, subset: Subset, items: Iterable[StoredItem]
) -> Drawn:
    """Those of `items` that are in `subset`, as pairs of scenario and `item_id`: the ones that a run of the subset has.

    An item that was written is drawn by its slot, since it was before it was there.
    """
    slots: dict[tuple[str, str], list[str]] = {}
    for dataset, item_id, key in connection.execute(
        "select distinct dataset, item_id, slot_key from main.slots where benchmark = ? and item_id is not null",
        [plan.benchmark.name],
    ).fetchall():
        slots.setdefault((dataset, item_id), []).append(key)
    scenarios = {each.name: each for each in plan.scenarios}
    owner: dict[tuple[str, str], str] = {}
    entries: list[Placed] = []
    for item in items:
        for name in slots.get((item.dataset or "", item.item_id), [item.item_id]):
            owner[item.scenario, name] = item.item_id
            entries.append(placed(scenarios[item.scenario], name, item.context, item.fields))
    drawn = draw(subset, entries, places(plan, subset))
    return frozenset((scenario, owner[scenario, name]) for scenario, name in drawn)
