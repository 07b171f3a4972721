"""Rows that roles make: which row is which in another world, and other values for what a role wrote as a secret."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tripos_compiler.language import Unavailable, evaluate
from tripos_compiler.plan import Ask, DataField, Derived, Made as MadeSet, Walk, digest
from tripos_runtime.datasets import MadeRow, RowFile, SlotSource
from tripos_runtime.generate import Attempts
from tripos_runtime.worlds.changes import SecretChange
from tripos_runtime.worlds.seen_requests import Made
from tripos_runtime.worlds.values import fresh, permuted
from tripos_runtime.worlds.world import World


def made_at(slots: SlotSource, dataset: str, place: int) -> Made:
    """Return the row that is made at a place of a world, as it is called in all worlds."""
    made = slots.by_name[dataset]
    slot = slots.slot_at(made, place)
    source: Any = slot.at
    if slot.above is not None:
        source = made_at(slots, slots.upstream(made) or "", slot.above)
    return dataset, source, digest(slot.cell), slot.number


def change_made(attempts: Attempts, world: World, change: SecretChange) -> None:
    """Change what roles wrote as secrets of the rows that they made. The rows themselves stay: what becomes of a row by
    its own secrets is not told by it."""
    made, kept = attempts.made, world.sources.made.rows
    secret = _written(made)
    if not secret:
        return
    before, after = list(kept[made.name]), RowFile()
    for number, row in enumerate(before):
        at = made_at(world.slots, made.name, row.place)
        values = dict(row.values)
        for layer in (change.under, change):
            if layer is None or not (layer.touches(at) if layer.made is None else at in layer.made):
                continue
            for each in secret:
                if layer.takes(each.name):
                    values[each.name] = _other(each, number, at, before, layer, world)
            _derive(attempts, row, values, world)
        after.add(MadeRow(row.place, values, row.origins))
    kept[made.name] = after


def _written(made: MadeSet) -> list[DataField]:
    """Return the secret fields that a role fills."""
    written: set[str] = set()
    for step in made.steps:
        if isinstance(step, Ask) and step.returns is not None and step.returns.kind == "record":
            written |= step.returns.fields.keys()
        if isinstance(step, Walk):
            written.add(step.name)
    return [each for each in made.fields if each.secret and each.name in written]


def _other(each: DataField, number: int, at: Made, rows: Sequence[MadeRow], change: SecretChange, world: World) -> Any:
    """Return what stands in the place of a secret that a role wrote."""
    values = [row.values[each.name] for row in rows]
    if change.kind == "alike":
        return values[0]
    if change.kind in ("permuted", "drawn"):
        found = values[permuted(values, change.dice(at[0], each.name))[number]]
        if found != values[number]:
            return found
    dice = change.dice(at, each.name)
    lacks = change.kind == "missing" and dice.random() < 0.6
    new = fresh(each.type, values[number], dice, world.axes, values, lacks)
    return frozenset(new) if each.type.kind == "set" else new


def _derive(attempts: Attempts, row: MadeRow, values: dict[str, Any], world: World) -> None:
    """Computes anew what is computed from the row."""
    filled = world.slots.filled(attempts.made, world.slots.slot_at(attempts.made, row.place))
    if filled is None:
        return
    names = attempts.names_at(filled, values)
    for step in attempts.made.steps:
        if isinstance(step, Derived) and step.name in values:
            try:
                values[step.name] = evaluate(step.value, names)
            except Unavailable:
                continue
