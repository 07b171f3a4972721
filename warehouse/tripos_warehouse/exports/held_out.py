"""Held-out items of training data: items on which models are graded, and near duplicates of these."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

import orjson

from tripos_compiler.language.near_duplicates import NEAR_DUPLICATE_OVERLAP, NearTexts, runs_of
from tripos_compiler.plan import Plan
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse import sql
from tripos_warehouse.exports.replies import Replies, ReplyQuery
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.views.runs import RunRecord, SubsetCount, find_run, known_in_store

SHORTEST = 24
"""The least number of n-grams of a field that is compared alone: a shorter one is a word or two, which items share."""

Key = tuple[str, str]
"""A scenario and an `item_id`."""


@dataclass(frozen=True)
class StoredItem:
    """An item in a store."""

    scenario: str
    item_id: str
    fields: Mapping[str, Any]

    @property
    def key(self) -> Key:
        """Its key in the store."""
        return self.scenario, self.item_id


@dataclass(frozen=True)
class HeldOutItem:
    """An item with its text, and the texts of fields that are long enough to be compared alone."""

    key: Key
    text: str
    fields: Mapping[str, str]


@dataclass(frozen=True)
class NearDuplicate:
    """An item that is left out as a near duplicate of a held-out item (`like`); `overlap` is from 0 to 1."""

    item: Key
    like: Key
    overlap: float


@dataclass(frozen=True)
class HeldOut:
    """The held-out items.

    `subsets` and `runs`: their sources. `items`: the items of this run in them. `near`: near duplicates of a held-out
    item. `coverage`: how much of every subset the runs of the store have covered.
    """

    subsets: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    items: frozenset[Key] = frozenset()
    near: Mapping[Key, NearDuplicate] = field(default_factory=dict)
    coverage: Mapping[str, SubsetCount] = field(default_factory=dict)

    def keep(self, candidates: Replies) -> Replies:
        """Return the replies to items that are not held out; the others are counted in `left_out`."""
        left_out = dict(candidates.left_out)
        replies = []
        for reply in candidates.replies:
            key = (reply.scenario, reply.item_id)
            reason = "held out" if key in self.items else "near held out" if key in self.near else None
            if reason is None:
                replies.append(reply)
            else:
                left_out[reason] = left_out.get(reason, 0) + 1
        return Replies(tuple(replies), dict(sorted(left_out.items())), candidates.misfits)


NOTHING_HELD_OUT = HeldOut()


def read_held_out(connection: Connection, plan: Plan, run: RunRecord, wanted: ReplyQuery) -> HeldOut:
    """Return what `wanted` holds out from the items of `run`. `connection` shows `run` alone.

    For a subset that is every item which any run of the benchmark in the store has marked, in any scenario. Raises
    `StoreError` S0301 if there is no such run.
    """
    if not wanted.hold_out and not wanted.apart_from:
        return NOTHING_HELD_OUT
    axes = {axis.name for axis in plan.axes}
    scenarios = {scenario.name for scenario in plan.scenarios}
    rows = [row for row in _rows(connection, run.run_id) if row.scenario in scenarios]
    marked = _marked(connection, run.benchmark, wanted.hold_out)
    own, held = {row.key for row in rows}, {row.key for row in marked}
    # A field counts if it distinguishes items in this run or among all, so other runs never reduce what is held out.
    others_rows = [row for row in marked if row.key not in own]
    items = _items(
        rows + others_rows, axes, _distinguishing_fields(rows, axes) | _distinguishing_fields(rows + others_rows, axes)
    )
    out_items: list[HeldOutItem] = []
    for other in (find_run(connection, name) for name in wanted.apart_from):
        of_other = _rows(connection, other.run_id)
        out_items += _items(of_other, axes, _distinguishing_fields(of_other, axes))
    # A row that several scenarios use has one id, and is the same item in all of them.
    names = {item.key[1] for item in items if item.key in held and item.text} | {item.key[1] for item in out_items}
    held |= {item.key for item in items if item.key[1] in names}
    held_out_items = [item for item in items if item.key in own and item.key not in held]
    near = _near([item for item in items if item.key in held] + out_items, held_out_items)
    counts = known_in_store(connection, run.benchmark, wanted.hold_out)
    return HeldOut(
        wanted.hold_out,
        wanted.apart_from,
        frozenset(held & own),
        {duplicate.item: duplicate for duplicate in near},
        counts,
    )


def _rows(connection: Connection, run_id: str) -> list[StoredItem]:
    return _found(connection, f"listed.run_id = {sql.text(run_id)}")


def _marked(connection: Connection, benchmark: str, subsets: tuple[str, ...]) -> list[StoredItem]:
    """Return the items that runs of a benchmark have marked as members of these subsets."""
    if not subsets:
        return []
    marked = f"list_has_any(listed.subsets, {sql.texts(subsets)})"
    return _found(connection, f"run.benchmark = {sql.text(benchmark)} and {marked}")


def _found(connection: Connection, where: str) -> list[StoredItem]:
    result = connection.execute(
        f"""select item.scenario, item.item_id, any_value(item.fields)
        from main.items as item join main.run_items as listed
          on listed.scenario = item.scenario and listed.item_id = item.item_id
        join main.runs as run on run.run_id = listed.run_id and run.benchmark = item.benchmark
        where {where} group by all order by all"""
    ).fetchall()
    return [StoredItem(scenario, item, orjson.loads(fields)) for scenario, item, fields in result]


def _items(rows: list[StoredItem], axes: set[str], telling: set[tuple[str, str]]) -> list[HeldOutItem]:
    """Return the items of `rows`, with the texts of the `telling` fields, given as (scenario, name)."""
    items = []
    for row in rows:
        of = _texts_of(row, axes)
        alone = {
            name: text
            for name, text in of.items()
            if (row.scenario, name) in telling and len(runs_of(text)) >= SHORTEST
        }
        items.append(HeldOutItem((row.scenario, row.item_id), "\n".join(filter(None, of.values())), alone))
    return items


def _distinguishing_fields(rows: list[StoredItem], axes: set[str]) -> set[tuple[str, str]]:
    """Return the fields that distinguish items, as (scenario, name). A field with repeated texts, such as a passage
    with several questions or an instruction, is common to items, and does not make them near duplicates by itself.
    """
    seen: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for row in rows:
        for name, text in _texts_of(row, axes).items():
            seen[row.scenario, name].append(text)
    return {key for key, values in seen.items() if 2 * len(set(values)) > len(values)}


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


def _near(held: list[HeldOutItem], items: list[HeldOutItem]) -> Iterator[NearDuplicate]:
    """Yield the `items` that are near duplicates of a held-out one, as a whole or in a field that is compared alone."""
    texts = NearTexts[tuple[int, str]](NEAR_DUPLICATE_OVERLAP)
    for place, item in enumerate(held):
        texts.add((place, ""), item.text)
        for name, text in item.fields.items():
            texts.add((place, name), text)
    for item in items if len(texts) else ():
        likes = [match for text in (item.text, *item.fields.values()) if (match := texts.find(text)) is not None]
        if likes:
            (place, _), overlap = max(likes, key=lambda match: match[1])
            yield NearDuplicate(item.key, held[place].key, overlap)
