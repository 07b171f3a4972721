"""Worked examples before a question: which rows are shown, and what is said of each.

They are the first rows of their data set for which the condition holds, in the order of its files or in one that a text
draws, so every case that has no condition and no draw of its own sees the same ones. Where fewer hold, fewer are shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import chain, islice
from typing import Any

from tripos_compiler.language import NoValue, Unavailable, evaluate, render
from tripos_compiler.plan import Shots
from tripos_runtime.datasets import Case, SourceRow, Sources, SplitCondition, holds
from tripos_runtime.models import Message

NONE = object()
"""The key of a row that has none: it is nobody else's."""


def shot_messages(shots: Shots, case: Case, names: Mapping[str, Any], sources: Sources) -> Iterator[Message]:
    """Yield a user's message and a reply for each shot, in the case's language. `names` is what the asking step sees.

    Raises `Unavailable` where the condition or the texts need what an earlier step did not yield.
    """
    parted = sources.examples.of(shots)
    for row in islice(chosen_rows(shots, case, names, sources), shots.count):
        place = (case.language, row.origin)
        texts = parted.texts.get(place)
        if texts is None:
            texts = _texts(shots, row, case.language, names, sources)
            if parted.alone:
                parted.texts[place] = texts
        yield Message("user", texts[0])
        yield Message("assistant", texts[1])


def _texts(shots: Shots, row: SourceRow, language: str, names: Mapping[str, Any], sources: Sources) -> tuple[str, str]:
    """Return what a shot asks and what it replies."""
    seen = {**names, shots.alias: row.values}
    asked, replied = (render(each[language], seen, language, sources.axes) for each in (shots.prompt, shots.reply))
    return asked, replied


def chosen_rows(
    shots: Shots, case: Case, names: Mapping[str, Any], sources: Sources, begin: int = 0
) -> Iterator[SourceRow]:
    """Yield the rows that may be shown before this case: not the case's own, nor one that shares its key, and such that
    the condition holds. In the order of the files, or in the one that is drawn, from place `begin` on among those for
    which its equalities hold."""
    own = _key(case.dataset, case.fields, sources)
    seen = dict(names)
    where = sources.examples.of(shots).where
    known: dict[int, bool] = {}
    rows = _in_order(shots, _candidates(shots, where, names, sources), names, sources)
    turn = begin % len(rows) if rows else 0
    for row in chain(islice(rows, turn, None), islice(rows, turn)):
        seen[shots.alias] = row.values
        if not all(_holds(where, place, seen, known) for place in range(len(where.rest))):
            continue
        if row.origin == case.origin or row.item_id == case.item_id:
            continue
        if own is NONE or _key(shots.dataset, row.values, sources) != own:
            yield row


def _holds(where: SplitCondition, place: int, seen: Mapping[str, Any], known: dict[int, bool]) -> bool:
    """Return true if a part of the condition holds; what says nothing of the row is evaluated once, and then
    `known`."""
    if place not in where.fixed:
        return holds(where.rest[place], seen)
    if place not in known:
        known[place] = holds(where.rest[place], seen)
    return known[place]


def _in_order(shots: Shots, places: Sequence[int], names: Mapping[str, Any], sources: Sources) -> Sequence[SourceRow]:
    """Return the rows at these places in the order in which they are taken. A draw goes by the places of rows, since
    what a row says may be a secret: then its digest would tell of it."""
    rows = sources.rows[shots.dataset]
    if shots.drawn is None:
        return rows if len(places) == len(rows) else [rows[place] for place in places]
    drawn = str(evaluate(shots.drawn, names)).encode("utf-8", "surrogatepass")
    orders, whole = sources.examples.of(shots).orders, len(places) == len(rows)
    if not whole or drawn not in orders:
        order = sorted(places, key=lambda place: blake2b(b"%d %b" % (place, drawn), digest_size=16).digest())
        if not whole:
            return [rows[place] for place in order]
        orders.clear()  # a draw for each item is not kept
        orders[drawn] = order
    return [rows[place] for place in orders[drawn]]


def _candidates(shots: Shots, where: SplitCondition, names: Mapping[str, Any], sources: Sources) -> Sequence[int]:
    """Return the places of the rows for which the condition's equalities hold, in order: looked up, since many rows are
    none."""
    rows = sources.rows[shots.dataset]
    kept: list[int] | None = None
    for same in where.same:
        try:
            value = evaluate(same.other, names)
        except NoValue:
            return ()
        places = sources.places(shots.dataset, shots.alias, same, value)
        kept = places if kept is None else sorted(set(kept).intersection(places))
    return range(len(rows)) if kept is None else kept


def _key(dataset: str | None, values: Mapping[str, Any], sources: Sources) -> Any:
    """Return what the row of a data set has in common with those it belongs to; `NONE` where the data set has no
    key."""
    key = None if dataset is None else sources.key_of(dataset)
    if key is None:
        return NONE
    try:
        return evaluate(key, values)
    except Unavailable:
        return NONE
