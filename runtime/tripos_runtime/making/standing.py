"""What stands of slots that an earlier run has decided: an item is not lost because a larger run adds others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

from tripos_compiler.plan import Made
from tripos_runtime.ledger import Ledger
from tripos_runtime.making.outcomes import slot_id
from tripos_runtime.making.rejections import Rejection
from tripos_runtime.making.slots import Slot

BY_OTHERS = frozenset({"duplicate", "near_duplicate"})
"""Reasons that lie in other rows of the cell. Which of them were there when it was decided, only the outcome says."""


def standing(
    ledger: Ledger, made: Made, models: Sequence[str], slots: Iterable[Slot]
) -> dict[int, tuple[Rejection | None, ...]]:
    """Of every slot, by its place, of which the ledger has an outcome: for each attempt that was rejected for what
    other rows are, why; for others `None`."""
    names = {slot_id(made, models, slot): slot.place for slot in slots}
    rows = ledger.rows("slots", names.keys()) if names else {}
    return {
        names[name]: tuple(_by_others(each) for each in orjson.loads(row["rejections"])) for name, row in rows.items()
    }


def _by_others(rejection: Mapping[str, Any]) -> Rejection | None:
    told = dict(rejection)
    reason = told.pop("reason")
    return Rejection(reason, told) if reason in BY_OTHERS else None
