"""Held-out items of training data: the items that models are graded on, and items that are nearly the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

import orjson

from tripos_compiler.language.near_duplicates import ALIKE, NearTexts, runs_of
from tripos_compiler.plan import Plan
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse import sql
from tripos_warehouse.exports.replies import Replies, ReplyQuery
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.views.runs import RunRecord, SubsetCount, find_run, known_in_store

SHORTEST = 24
"""Runs of characters that a field has at least to be compared alone: below, it is a word or two, which items share."""

Key = tuple[str, str]
"""A scenario and an `item_id`."""


@dataclass(frozen=True)
class StoredItem:
    """An item as a store has it."""

    scenario: str
    item_id: str
    fields: Mapping[str, Any]

    @property
    def key(self) -> Key:
        """Its name in the store."""
        return self.scenario, self.item_id


@dataclass(frozen=True)
class HeldOutItem:
    """An item with its text, and the texts of its fields that are long enough to stand alone."""

    key: Key
    text: str
    fields: Mapping[str, str]


@dataclass(frozen=True)
class Likeness:
    """An item that is left out for being like one that is held out: `like` is that one, `overlap` from 0 to 1."""

    item: Key
    like: Key
    overlap: float


@dataclass(frozen=True)
class HeldOut:
    """The held-out items: the `subsets` and other `runs` by name, the `items` of this run that are in them, and those
    that are `near` one of theirs. `known` says how much of every subset the runs of the store have marked."""

    subsets: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    items: frozenset[Key] = frozenset()
    near: Mapping[Key, Likeness] = field(default_factory=dict)
    known: Mapping[str, SubsetCount] = field(default_factory=dict)

    def kept(self, found: Replies) -> Replies:
        """Return the replies to items that are not held out; how many are goes to what is left out."""
        left_out = dict(found.left_out)
        kept = []
        for reply in found.replies:
            key = (reply.scenario, reply.item_id)
            reason = "held out" if key in self.items else "near held out" if key in self.near else None
            if reason is None:
                kept.append(reply)
            else:
                left_out[reason] = left_out.get(reason, 0) + 1
        return Replies(tuple(kept), dict(sorted(left_out.items())))


NOTHING = HeldOut()


def read_held_out(connection: Connection, plan: Plan, run: RunRecord, wanted: ReplyQuery) -> HeldOut:
    """Return what `wanted` holds out of the items of `run`. `connection` shows `run` alone.

    Of a subset that is every item that any run of the benchmark in the store has marked as one of its, in whatever
    scenario it is run. Raises `StoreError` S0301 for a run that the store has not.
    """
    if not wanted.hold_out and not wanted.apart_from:
        return NOTHING
    axes = {axis.name for axis in plan.axes}
    scenarios = {each.name for each in plan.scenarios}
    rows = [row for row in _rows(connection, run.run_id) if row.scenario in scenarios]
    marked = _marked(connection, run.benchmark, wanted.hold_out)
    here, held = {row.key for row in rows}, {row.key for row in marked}
    # Fields tell items apart if they do so in this run, or among all: other runs never have less held out.
    others_rows = [row for row in marked if row.key not in here]
    every = _items(rows + others_rows, axes, _telling(rows, axes) | _telling(rows + others_rows, axes))
    others: list[HeldOutItem] = []
    for other in (find_run(connection, name) for name in wanted.apart_from):
        of_other = _rows(connection, other.run_id)
        others += _items(of_other, axes, _telling(of_other, axes))
    # A row that several scenarios run over has one name, and is the same item in all of them.
    names = {item.key[1] for item in every if item.key in held and item.text} | {item.key[1] for item in others}
    held |= {item.key for item in every if item.key[1] in names}
    kept = [item for item in every if item.key in here and item.key not in held]
    near = _near([item for item in every if item.key in held] + others, kept)
    known = known_in_store(connection, run.benchmark, wanted.hold_out)
    return HeldOut(
        wanted.hold_out, wanted.apart_from, frozenset(held & here), {each.item: each for each in near}, known
    )


def _rows(connection: Connection, run_id: str) -> list[StoredItem]:
    return _found(connection, f"listed.run_id = {sql.text(run_id)}")


def _marked(connection: Connection, benchmark: str, subsets: tuple[str, ...]) -> list[StoredItem]:
    """Return the items that runs of a benchmark have marked as those of any of these subsets."""
    if not subsets:
        return []
    marked = f"list_has_any(listed.subsets, {sql.texts(subsets)})"
    return _found(connection, f"run.benchmark = {sql.text(benchmark)} and {marked}")


def _found(connection: Connection, where: str) -> list[StoredItem]:
    found = connection.execute(
        f"""select item.scenario, item.item_id, any_value(item.fields)
        from main.items as item join main.run_items as listed
          on listed.scenario = item.scenario and listed.item_id = item.item_id
        join main.runs as run on run.run_id = listed.run_id and run.benchmark = item.benchmark
        where {where} group by all order by all"""
    ).fetchall()
    return [StoredItem(scenario, item, orjson.loads(fields)) for scenario, item, fields in found]


def _items(rows: list[StoredItem], axes: set[str], telling: set[tuple[str, str]]) -> list[HeldOutItem]:
    """Return the items of `rows`, with the `telling` fields by scenario and name."""
    found = []
    for row in rows:
        of = _texts_of(row, axes)
        alone = {
            name: text
            for name, text in of.items()
            if (row.scenario, name) in telling and len(runs_of(text)) >= SHORTEST
        }
        found.append(HeldOutItem((row.scenario, row.item_id), "\n".join(filter(None, of.values())), alone))
    return found


def _telling(rows: list[StoredItem], axes: set[str]) -> set[tuple[str, str]]:
    """Return the fields that tell items apart, by scenario. A field whose texts repeat, as that of a passage with
    several questions does or an instruction, is what items have in common: it makes none like another by itself."""
    seen: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for row in rows:
        for name, text in _texts_of(row, axes).items():
            seen[row.scenario, name].append(text)
    return {key for key, found in seen.items() if 2 * len(set(found)) > len(found)}


def _texts_of(row: StoredItem, axes: set[str]) -> dict[str, str]:
    return {name: _text(value) for name, value in row.fields.items() if name not in axes}


def _text(value: Any) -> str:
    return "\n".join(_texts(value))


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for inner in value.values():
                yield from _texts(inner)
        case list():
            for inner in value:
                yield from _texts(inner)


def _near(held: list[HeldOutItem], items: list[HeldOutItem]) -> Iterator[Likeness]:
    """Yield those of `items` that are like one that is held: as a whole, or in a field that says enough alone."""
    known = NearTexts[tuple[int, str]](ALIKE)
    for place, item in enumerate(held):
        known.add((place, ""), item.text)
        for name, text in item.fields.items():
            known.add((place, name), text)
    for item in items if len(known) else ():
        likes = [found for text in (item.text, *item.fields.values()) if (found := known.find(text)) is not None]
        if likes:
            (place, _), overlap = max(likes, key=lambda found: found[1])
            yield Likeness(item.key, held[place].key, overlap)
