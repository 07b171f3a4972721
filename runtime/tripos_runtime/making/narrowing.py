"""Which slots of a made data set need to be filled, where it is looked into for points of rows alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tripos_compiler.plan import Made
from tripos_compiler.semantics.evaluate import Unavailable, evaluate
from tripos_compiler.semantics.looks import Look
from tripos_runtime.making.slots import Slot


def slots_at(
    looks: Iterable[Look],
    made: Made,
    slots: Iterable[Slot],
    rows: Iterable[Mapping[str, Any]],
    names: Mapping[str, Any],
) -> frozenset[int] | None:
    """The places of the slots that `looks` from these rows fall on; None where it cannot be told before they are
    filled. `names` is what expressions see besides the row."""
    looks = tuple(looks)
    if any(look.at != made.alias for look in looks):
        return None
    wanted: set[str] = set()
    for row in rows:
        for look in looks:
            try:
                wanted.update(evaluate(look.points, {**names, look.alias: row}))
            except Unavailable:
                continue  # nothing is looked up for it
    return frozenset(slot.place for slot in slots if slot.source in wanted)
