"""Narrower intervals of corrected measures that the grades of a batch will bring, as far as earlier grades show it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tripos.annotation.batch import Batch
from tripos_compiler.plan import Plan
from tripos_warehouse.measures import find_corrected
from tripos_warehouse.query import Connection


@dataclass(frozen=True)
class ExpectedGain:
    """How far the interval of a corrected measure reaches `now`, with so many graded `items`, and about `then`, with
    those of a batch too."""

    measure: str
    model: str
    now: float
    items: int
    then: float
    items_then: int


def expected_gains(connection: Connection, plan: Plan, batch: Batch) -> Iterator[ExpectedGain]:
    """Yield what the grades of a batch will bring to every measure that people correct, where some are there already
    and the batch has items of which nobody has graded anything."""
    handed: dict[str, set[str]] = {}
    for row in batch.rows:
        handed.setdefault(row.model, set()).add(row.item_id)
    for measure in plan.measures:
        if not measure.corrected or measure.by:
            continue
        for model, three in sorted(find_corrected(connection, plan, measure).items()):
            more = three.items + len(handed.get(model, set()) & set(three.names) - three.graded_items)
            now, then = three.reach(three.items), three.reach(more)
            if now is not None and then is not None and more > three.items:
                yield ExpectedGain(measure.name, model, now, three.items, then, more)
