"""Which items of data sets that are made stand: a slot that came to another item has left one behind."""

from __future__ import annotations

from tripos_compiler.plan import Plan
from tripos_warehouse import sql


def abandoned_items(plan: Plan, run_id: str) -> str | None:
    """A query for the `item_id`s that no slot of the plan has any longer; `None` where the plan makes no data.

    The items of the run `run_id`, which decides what shows, all stand: of a cell in which a call failed no outcome is
    kept yet, and it was run all the same.
    """
    if not plan.made:
        return None
    mine = f"benchmark = {sql.text(plan.benchmark.name)}"
    prints = ", ".join(sql.text(each.fingerprint) for each in plan.made)
    return (
        f"select made.item_id from main.items as made where made.{mine}"
        f" and made.dataset in (select slots.dataset from main.slots where slots.{mine})"
        f" and made.item_id not in (select slots.item_id from main.slots where slots.{mine}"
        f" and slots.fingerprint in ({prints}) and slots.item_id is not null)"
        f" and made.item_id not in (select run_items.item_id from main.run_items"
        f" where run_items.run_id = {sql.text(run_id)})"
    )
