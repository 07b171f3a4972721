"""Commits in the model of a store on a bucket: the slots of one log, or of all logs at once, become one part.

The starts of the logs are read first, in one catalog. Then the logs are read one after another, while everything else
goes on. Then the part is written, and the catalog is changed on the condition that every log still starts there: where
one does not, the part is left, and the other logs are committed in a new one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.bucket.model_state import OVER, Catalog, Part, State, put, tail


class ReadLog(NamedTuple):
    """A log as a committer read it: from its start in the catalog to its first slot that is free, or a seal."""

    session: int
    start: int
    entries: tuple[int, ...]
    end: int
    sealed: bool


def committing(state: State, place: int, without: str, *, together: bool) -> Iterator[tuple[str, State]]:
    """Yield the steps of the committer at a place, who takes the logs of all sessions `together` or one."""
    catalog, name = state.catalog, f"c{place}"

    def now(*committer: Any, **changes: Any) -> State:
        return state._replace(committers=put(state.committers, place, committer), **changes)

    def sent(logs: tuple[ReadLog, ...], over: frozenset[int], part: Part | None) -> State:
        new = _changed(catalog, logs, over, part)
        objects = state.objects | ({part} if part else set())
        flying = state.flying | {("change", catalog.serial, new)}
        return now("sent", logs, over, part, new, objects=objects, flying=flying)

    def written(logs: tuple[ReadLog, ...], over: frozenset[int]) -> State:
        rows = frozenset((shard, log.session) for log in logs for shard in log.entries)
        return sent(logs, over, Part(catalog.serial, name, rows) if rows else None)

    def still(log: ReadLog) -> bool:
        return catalog.upto[log.session] == log.start

    match state.committers[place]:
        case ("rest",):
            listed = tuple((session, start) for session, start in enumerate(catalog.upto) if start != OVER)
            for wanted in [listed] if together else [(each,) for each in listed]:
                if wanted:
                    yield f"{name} reads where logs start", now("read", wanted, ())
        case ("read", ((session, start), *others), found):
            entries, end, sealed = tail(state.logs[session], start)
            log = ReadLog(session, start, tuple(entries), end, sealed)
            logs = (*found, log) if entries or sealed else found
            if others:
                yield f"{name} reads the log of {session}", now("read", tuple(others), logs)
            elif logs:
                yield f"{name} reads the log of {session}", now("write", logs)
            else:
                yield f"{name} finds nothing", now("rest")
        case ("write", logs):
            # A seal counts if the catalog, read after it, is not beyond it.
            over = frozenset(log.session for log in logs if log.sealed and catalog.upto[log.session] <= log.end)
            logs = tuple(log for log in logs if log.entries or log.session in over)
            if without != "every start":
                logs = tuple(filter(still, logs))
            yield (f"{name} commits", written(logs, over)) if logs else (f"{name} is overtaken", now("rest"))
        case ("sent", logs, over, part, new):
            if catalog == new:
                yield f"{name} has committed", now("rest")
            elif catalog.serial >= new.serial:
                left = tuple(filter(still, logs))
                same = left == logs or (without == "every start" and len(left) > 0)
                if (same or (without == "upto" and part not in catalog.parts)) and _allowed(part, catalog, without):
                    yield f"{name} tries again", sent(logs, over, part)
                elif left and without == "a new part":
                    yield f"{name} goes on with the rest", sent(left, over, part)
                elif left:
                    yield f"{name} goes on with the rest", written(left, over)
                else:
                    yield f"{name} gives up", now("rest")
            elif without == "leaving parts" and part is not None:
                yield f"{name} removes its part", now("rest", objects=state.objects - {part})


def _changed(catalog: Catalog, logs: tuple[ReadLog, ...], over: frozenset[int], part: Part | None) -> Catalog:
    upto = catalog.upto
    for log in logs:
        upto = put(upto, log.session, OVER if log.session in over else log.end)
    return Catalog(catalog.serial + 1, catalog.parts | ({part} if part else set()), upto, catalog.floor)


def _allowed(part: Part | None, catalog: Catalog, without: str) -> bool:
    return part is None or part.base >= catalog.floor or without == "floor"
