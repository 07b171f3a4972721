"""The state of the model of a store on a bucket: logs, claims, catalog, objects, requests in flight, and who is where."""

from __future__ import annotations

from typing import Any, NamedTuple

SEAL = -1
"""The entry of a log that is a seal; others are the number of the shard whose reply was uploaded, or None: collected."""
OVER = -1
"""Instead of the first slot that is in no part: the session is over, and is in the catalog no more."""
Log = tuple[int | None, ...]


class Part(NamedTuple):
    """A part: the serial of the catalog at which it was made, its maker, and its rows: shard and session."""

    base: int
    name: str
    rows: frozenset[tuple[int, int]]


class Catalog(NamedTuple):
    """The catalog, as `tripos_warehouse.store.bucket.catalog` has it."""

    serial: int
    parts: frozenset[Part]
    upto: tuple[int, ...]
    floor: int


class Worker(NamedTuple):
    """Where a session is, with what it knows."""

    at: str
    shard: int
    known: frozenset[int]
    slot: int
    seen: Any = None


class State(NamedTuple):
    """Everything that there is."""

    logs: tuple[Log, ...]
    shards: tuple[tuple[int, int], ...]
    """By shard, who has it (-1: nobody) and the version of the claims."""
    catalog: Catalog
    objects: frozenset[Part]
    flying: frozenset[tuple[Any, ...]]
    workers: tuple[Worker, ...]
    committers: tuple[tuple[Any, ...], ...]
    compactor: tuple[Any, ...]
    collector: tuple[Any, ...]
    expired: frozenset[int]
    acknowledged: frozenset[tuple[int, int]]


class Broken(Exception):
    """An invariant that does not hold."""


def tail(log: Log, start: int) -> tuple[list[int], int, bool]:
    """Return the entries from a slot to the first that is free or a seal, where that is, and if it is a seal."""
    found, end = [], max(start, 0)
    while end < len(log) and (entry := log[end]) not in (None, SEAL):
        assert entry is not None
        found.append(entry)
        end += 1
    return found, end, end < len(log) and log[end] == SEAL


def put(values: tuple[Any, ...], place: int, value: Any) -> tuple[Any, ...]:
    """Return the values with another one at a place."""
    return (*values[:place], value, *values[place + 1 :])
