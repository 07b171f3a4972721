"""What became of slots, as rows of tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tripos_compiler.plan import Made, digest
from tripos_runtime.asking import dumps
from tripos_runtime.ledger import Ledger
from tripos_runtime.making.kept import Origins
from tripos_runtime.making.slots import Slot

CONTENT = ("status", "item_id", "attempts", "rejections")
"""What may be another at a later time, as where a failed call was made up for."""


@dataclass(frozen=True)
class Outcome:
    """What became of a slot: the item, or `None` where it was given up."""

    slot: Slot
    language: str
    item_id: str | None
    origins: Origins


def origin_columns(origins: Origins | None) -> dict[str, Any]:
    """The columns of `items` that say how an item was made.

    >>> origin_columns(None)["attempts"] is None
    True
    >>> origin_columns(Origins("mock/author", 2, ({"reason": "verify"},)))["rejections"]
    '[{"reason":"verify"}]'
    """
    if origins is None:
        return {"written_by": None, "attempts": None, "rejections": None}
    return {
        "written_by": origins.written_by,
        "attempts": origins.attempts,
        "rejections": dumps(list(origins.rejections)),
    }


def place_of(made: Made) -> str:
    """The scenario that a data set is in, or else the data set."""
    return made.scenario or made.name


def slot_id(made: Made, models: Sequence[str], slot: Slot) -> str:
    """The name of what became of a slot. `models` are those that made the rows."""
    return digest(["slot", made.fingerprint, slot.name, *models])


def keep(
    ledger: Ledger, made: Made, models: Sequence[str], outcomes: Iterable[Outcome], row: Mapping[str, Any]
) -> None:
    """Keeps what the ledger has not. `models` are those that made the rows, `row` has the columns that are common."""
    rows: dict[str, dict[str, Any]] = {}
    for each in outcomes:
        slot = each.slot
        name = slot_id(made, models, slot)
        rows[name] = {
            **row,
            "slot_id": name,
            "scenario": place_of(made),
            "dataset": made.name,
            "fingerprint": made.fingerprint,
            "context": {**_carried(made, slot), "language": each.language, **slot.cell},
            "number": slot.number,
            "status": "given_up" if each.item_id is None else "made",
            "item_id": each.item_id,
            **origin_columns(each.origins),
        }
    before = ledger.rows("slots", rows.keys()) if rows else {}
    new = [
        each
        for name, each in rows.items()
        if name not in before or any(before[name][key] != each[key] for key in CONTENT)
    ]
    if new:
        ledger.keep({"slots": new})


def _carried(made: Made, slot: Slot) -> dict[str, str]:
    """The axes that the source's row says."""
    source = slot.source if isinstance(slot.source, Mapping) else {}
    return {name: str(source[name]) for name in carried_axes(made) if source.get(name) is not None}


def carried_axes(made: Made) -> tuple[str, ...]:
    """The axes whose values the rows of a data set have from those of its source."""
    fields = (each.name for each in made.fields if each.type.kind == "choice" and each.type.axis == each.name)
    return tuple(name for name in fields if name not in made.axes)
