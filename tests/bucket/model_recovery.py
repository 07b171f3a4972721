"""Recovery in the model of a store on a bucket: a process dies with a reply in its journal, and its machine goes on.

Who starts again on that machine reads the catalog and then the log of the session that died. A reply that is in neither
becomes the next slot of that log, and then the log is read again; once it has the reply, it is closed with a seal. Where
it was sealed before, the reply came late: others may have asked for it. Then it waits for a session that has claimed
the shard and read what others did: if nobody has a reply by then, that session uploads it as its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.bucket.model_state import OVER, SEAL, Catalog, Part, State, Worker, put, tail

UPLOADS = ("uploading", "down", "looking", "writing")
"""Where a session is whose reply may land: in its life, and after its death."""


def taking_in(state: State, session: int, worker: Worker, without: str) -> Iterator[tuple[str, State]]:
    """Yield how a session that has claimed a shard, and knows of no reply, uploads one that came late as its own."""
    for other, late in enumerate(state.workers):
        is_of_use = without == "looking before taking in" or worker.shard not in worker.known
        if late.at == "late" and late.shard == worker.shard and is_of_use and session not in state.expired:
            workers = put(state.workers, session, worker._replace(at="uploading"))
            workers = put(workers, other, late._replace(at="dead"))
            sent = ("slot", session, worker.slot, worker.shard)
            taken = state._replace(workers=workers, flying=state.flying | {sent})
            yield f"{session} takes in what {other} had", taken


def recovering(state: State, session: int, worker: Worker, without: str) -> Iterator[tuple[str, State]]:
    """Yield the steps of a session that dies while it uploads, and of the one who recovers its journal."""
    catalog, log = state.catalog, state.logs[session]

    def now(at: str, sent: tuple[object, ...] | None = None, **changes: object) -> State:
        workers = put(state.workers, session, worker._replace(at=at, **changes))
        return state._replace(workers=workers, flying=state.flying | ({sent} if sent else set()))

    match worker.at:
        case "uploading":
            yield f"{session} dies with a reply in its journal", now("down", known=frozenset())
        case "down":
            start = catalog.upto[session]
            there = any((worker.shard, session) in part.rows for part in catalog.parts)
            if there and without != "looking for the reply":
                yield f"{session} finds its reply", now("dead", seen=None)
            elif start == OVER:
                yield f"{session} finds its log closed", now("late", seen=None)
            else:
                yield f"the start of the log of {session} is read", now("looking", seen=start)
        case "looking":
            entries, end, sealed = tail(log, worker.seen)
            if sealed:
                yield f"the log of {session} has a seal", now("down", seen=None)
            elif worker.shard in entries and without != "looking for the reply":
                yield f"the log of {session} has its reply", now("dead", ("slot", session, end, SEAL), seen=None)
            else:
                sent = ("slot", session, end, worker.shard)
                yield f"{session} uploads its reply again", now("writing", sent, slot=end, seen=None)
        case "late" if without == "a claim for what is late":
            part = Part(catalog.serial, f"l{session}", frozenset({(worker.shard, session)}))
            new = Catalog(catalog.serial + 1, catalog.parts | {part}, catalog.upto, catalog.floor)
            yield (
                f"what {session} had is committed",
                now("dead", ("change", catalog.serial, new))._replace(objects=state.objects | {part}),
            )
        case "writing" if worker.slot < len(log) and log[worker.slot] is not None:
            at = "dead" if without == "looking for the reply" or log[worker.slot] == SEAL else "down"
            yield f"{session} reads its log again", now(at)
