"""Results of slots, as rows of tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tripos_compiler.plan import Made, digest
from tripos_compiler.source import dataclass
from tripos_runtime.asking import Ledger, dumps
from tripos_runtime.datasets import Origins, RowSlot


@dataclass(frozen=True)
class Outcome:
    """The result of a slot: the item, or `None` where it was given up."""

    slot: RowSlot
    language: str
    item_id: str | None
    origins: Origins


def origin_columns(origins: Origins | None) -> dict[str, Any]:
    """Return the columns of `items` that say how an item was made.

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
    """Return the scenario that a data set is in, or else the data set."""
    return made.scenario or made.name


def keep(
    ledger: Ledger, made: Made, models: Sequence[str], outcomes: Iterable[Outcome], row: Mapping[str, Any]
) -> list[str]:
    """Keep what the ledger has not, and return the names of all. `models` are those that made the rows, `row` has the
    columns that are common. What became of a slot is in the name, since that may be another in another run: a slot that
    only one of them has may hold the row that this one would repeat."""
    rows: dict[str, dict[str, Any]] = {}
    for each in outcomes:
        slot = each.slot
        became = {
            "status": "given_up" if each.item_id is None else "made",
            "item_id": each.item_id,
            **origin_columns(each.origins),
        }
        name = digest(["slot", made.fingerprint, slot.name, *models, became])
        rows[name] = {
            **row,
            "slot_id": name,
            "scenario": place_of(made),
            "dataset": made.name,
            "fingerprint": made.fingerprint,
            "context": {**_carried(made, slot), "language": each.language, **slot.cell},
            "number": slot.number,
            **became,
        }
    kept = ledger.rows("slots", rows.keys()) if rows else {}
    new = [each for name, each in rows.items() if name not in kept]
    if new:
        ledger.keep({"slots": new})
    return list(rows)


def _carried(made: Made, slot: RowSlot) -> dict[str, str]:
    """Return the axes that the source's row says."""
    source = slot.source if isinstance(slot.source, Mapping) else {}
    return {name: str(source[name]) for name in carried_axes(made) if source.get(name) is not None}


def carried_axes(made: Made) -> tuple[str, ...]:
    """Return the axes whose values the rows of a data set have from those of its source."""
    fields = (each.name for each in made.fields if each.type.kind == "choice" and each.type.axis == each.name)
    return tuple(name for name in fields if name not in made.axes)
