"""A model of the protocol of a store on a bucket, all of whose states are explored.

Sessions claim shards, read what others did, ask, and upload to their logs; somebody silent is sealed; committers put
slots into parts and the catalog, a compactor replaces parts, garbage collection removes objects and slots. A request
that was sent stays in flight and may land at any later time, or never, also after its sender died. A sender learns what
became of it by reading back only. Death is to take no further step. There is one question a shard.

A rule of the protocol is left out by its name in `without`, and then some state breaks an invariant.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.bucket.model_commits import committing
from tests.bucket.model_recovery import UPLOADS, recovering, taking_in
from tests.bucket.model_state import OVER, SEAL, Broken, Catalog, Log, Part, State, Worker, put, tail

MOST_CLAIMS = 4
"""A shard that changed hands so often is given back no more."""


@dataclass(frozen=True)
class Explored:
    """The number of states, and the first broken invariant with the steps that lead there; `whole` if none was left
    out."""

    states: int
    broken: str | None
    steps: tuple[str, ...]
    whole: bool


@dataclass(frozen=True)
class Protocol:
    """A size to explore. So many committers as `together` says take the logs of all sessions into one commit, the
    others that of one session. With `gives_back` a session gives back shards of which everything is uploaded. With
    `recovers` a session may die with a reply in its journal, which its machine uploads later. `without` names a rule
    that is left out."""

    sessions: int = 2
    shards: int = 1
    committers: int = 1
    together: int = 0
    compactions: int = 0
    collections: int = 0
    gives_back: bool = False
    recovers: bool = False
    without: str = ""

    def first(self) -> State:
        """Return the state in which nothing has happened."""
        n = self.sessions
        catalog = Catalog(0, frozenset(), (0,) * n, 0)
        idle = Worker("idle", 0, frozenset(), 0)
        return State(
            ((),) * n, ((-1, 0),) * self.shards, catalog, frozenset(), frozenset(), (idle,) * n,
            (("rest",),) * self.committers, ("rest", self.compactions), ("rest", self.collections), frozenset(),
            frozenset(),
        )  # fmt: skip

    def explore(self, most: int = 3_000_000) -> Explored:
        """Go through all states, nearest first, until an invariant breaks or there are `most`."""
        first = self.first()
        came_from: dict[State, tuple[State, str] | None] = {first: None}
        waiting = deque([first])
        while waiting and len(came_from) < most:
            state = waiting.popleft()
            at = state
            try:
                for step, after in self.steps(state):
                    following = self._settled(after)
                    if following not in came_from:
                        came_from[following] = (state, step)
                        at = following
                        self.check(following)
                        at = state
                        waiting.append(following)
            except Broken as broken:
                steps = []
                while (before := came_from[at]) is not None:
                    at, step = before
                    steps.append(step)
                return Explored(len(came_from), str(broken), tuple(reversed(steps)), whole=True)
        return Explored(len(came_from), None, (), whole=not waiting)

    def check(self, state: State) -> None:
        """Raise `Broken` for a reply that was acknowledged and is nowhere, or twice, and for a part that is gone."""
        rows = [row for part in state.catalog.parts for row in part.rows]
        if len(rows) != len(set(rows)):
            raise Broken("a row is in the catalog twice")
        if len({shard for shard, _ in rows}) != len(rows):
            raise Broken("two replies to one question are in the catalog")
        if not state.catalog.parts <= state.objects:
            raise Broken("a part that the catalog lists is gone")
        if len({shard for shard, _ in state.acknowledged}) != len(state.acknowledged):
            raise Broken("two replies to one question were uploaded")
        for shard, session in state.acknowledged:
            upto = state.catalog.upto[session]
            in_log = upto != OVER and shard in tail(state.logs[session], upto)[0]
            if in_log == ((shard, session) in rows):
                raise Broken("an uploaded reply is " + ("counted twice" if in_log else "lost"))

    def steps(self, state: State) -> Iterator[tuple[str, State]]:
        """Yield every step that anybody can take, with the state after it."""
        for request in state.flying:
            if (landed := self._landed(state, request)) is not None:
                yield f"{request[0]} lands", landed
        for session in range(self.sessions):
            if session not in state.expired:
                yield f"{session} expires", state._replace(expired=state.expired | {session})
        for session, worker in enumerate(state.workers):
            yield from self._of_worker(state, session, worker)
            if self.recovers:
                yield from recovering(state, session, worker, self.without)
                if worker.at == "working":
                    yield from taking_in(state, session, worker, self.without)
        for place in range(self.committers):
            yield from committing(state, place, self.without, together=place < self.together)
        yield from self._of_compactor(state)
        yield from self._of_collector(state)

    def _landed(self, state: State, request: tuple[Any, ...]) -> State | None:
        match request:
            case ("claim", shard, version, session):
                if state.shards[shard][1] != version:
                    return None
                shards = (*state.shards[:shard], (session, version + 1), *state.shards[shard + 1 :])
                return state._replace(shards=shards)
            case ("change", serial, new):
                return state._replace(catalog=new) if state.catalog.serial == serial else None
            case ("slot", session, slot, entry):
                log = state.logs[session]
                if slot > len(log) or (slot < len(log) and log[slot] is not None):
                    return None
                log = (*log[:slot], entry, *log[slot + 1 :])
                landed = state._replace(logs=put(state.logs, session, log))
                worker = state.workers[session]
                # What lands before the start of its log is in the place of a slot that was collected: it is in no tail.
                counts = worker.at == "uploading" or OVER != state.catalog.upto[session] <= slot
                if entry != SEAL and worker.at in UPLOADS and worker.slot == slot and counts:
                    done = worker
                    if worker.at == "uploading":
                        done = worker._replace(at="idle", known=worker.known | {worker.shard}, slot=slot + 1)
                    acknowledged = state.acknowledged | {(worker.shard, session)}
                    landed = landed._replace(workers=put(state.workers, session, done), acknowledged=acknowledged)
                return landed
        return None

    def _settled(self, state: State) -> State:
        """Drop the requests in flight that can never land."""
        flying = []
        for request in state.flying:
            match request:
                case ("claim", shard, version, _) if state.shards[shard][1] != version:
                    continue
                case ("change", serial, _) if state.catalog.serial != serial:
                    continue
                case ("slot", session, slot, _):
                    log = state.logs[session]
                    taken = slot < len(log) and log[slot] is not None
                    if taken and (not self.collections or (log[slot] == SEAL and self.without != "seals stay")):
                        continue
            flying.append(request)
        return state._replace(flying=frozenset(flying))

    def _of_worker(self, state: State, session: int, worker: Worker) -> Iterator[tuple[str, State]]:
        upto, log = state.catalog.upto, state.logs[session]

        def now(**changes: Any) -> State:
            sent = changes.pop("sent", None)
            workers = put(state.workers, session, worker._replace(**changes))
            return state._replace(workers=workers, flying=state.flying if sent is None else state.flying | {sent})

        match worker.at:
            case "idle" if session not in state.expired and SEAL not in log:
                for shard, (holder, version) in enumerate(state.shards):
                    if self.gives_back and holder == session and shard in worker.known and version < MOST_CLAIMS:
                        yield (
                            f"{session} gives back {shard}",
                            now(at="giving back", shard=shard, seen=version, sent=("claim", shard, version, -1)),
                        )
                    if holder == session or shard in worker.known:
                        continue
                    free = holder == -1 or upto[holder] == OVER
                    if free or (self.without == "sealing" and holder in state.expired):
                        sent = ("claim", shard, version, session)
                        yield f"{session} claims {shard}", now(at="claiming", shard=shard, seen=version, sent=sent)
                    elif holder in state.expired:
                        yield (
                            f"{session} looks at {holder}",
                            now(at="sealing", shard=shard, seen=(holder, upto[holder])),
                        )
            case "sealing":  # the catalog that it read may be old by now
                holder, start = worker.seen
                _, end, _ = tail(state.logs[holder], start)
                yield f"{session} seals {holder}", now(at="idle", seen=None, sent=("slot", holder, end, SEAL))
            case "giving back" if state.shards[worker.shard][1] != worker.seen:
                yield f"{session} has given back", now(at="idle", seen=None)
            case "claiming":
                holder, version = state.shards[worker.shard]
                if (holder, version) == (session, worker.seen + 1):
                    yield f"{session} has claimed", now(at="reading", seen=None)
                elif version != worker.seen:
                    yield f"{session} has not claimed", now(at="idle", seen=None)
            case "reading":
                rows = frozenset(shard for part in state.catalog.parts for shard, _ in part.rows)
                yield f"{session} reads the catalog", now(at="reading tails", seen=(upto, rows))
            case "reading tails":
                start, rows = worker.seen
                every = (tail(each, at)[0] for each, at in zip(state.logs, start, strict=True) if at != OVER)
                found = rows | {shard for entries in every for shard in entries}
                yield f"{session} reads the tails", now(at="reading again", seen=(start, found))
            case "reading again":
                start, found = worker.seen
                if start == upto or self.without == "reading again":
                    yield f"{session} is up to date", now(at="working", known=worker.known | found, seen=None)
                else:
                    yield f"{session} begins again", now(at="reading", seen=None)
            case "working" if worker.shard in worker.known:
                yield f"{session} has nothing to do", now(at="idle")
            case "working" if session not in state.expired:
                if any(shard == worker.shard for shard, _ in state.acknowledged):
                    raise Broken("a question is asked whose reply was uploaded")
                sent = ("slot", session, worker.slot, worker.shard)
                yield f"{session} asks {worker.shard}", now(at="uploading", sent=sent)
            case "uploading" if worker.slot < len(log) and log[worker.slot] == SEAL:
                yield f"{session} is fenced", now(at="dead", known=frozenset(), seen=None)

    def _of_compactor(self, state: State) -> Iterator[tuple[str, State]]:
        catalog, (at, left, *rest) = state.catalog, state.compactor

        def sent(old: frozenset[Part], part: Part, left: int) -> State:
            new = Catalog(catalog.serial + 1, (catalog.parts - old) | {part}, catalog.upto, catalog.floor)
            flying = state.flying | {("change", catalog.serial, new)}
            return state._replace(
                compactor=("sent", left, old, part, new), flying=flying, objects=state.objects | {part}
            )

        if at == "rest" and left and len(catalog.parts) >= 2:
            rows = frozenset(row for part in catalog.parts for row in part.rows)
            yield "parts are put together", sent(catalog.parts, Part(catalog.serial, f"k{left}", rows), left - 1)
        elif at == "sent":
            old, part, new = rest
            if catalog == new:
                yield "the compaction is there", state._replace(compactor=("rest", left))
            elif catalog.serial >= new.serial:
                if old <= catalog.parts and (part.base >= catalog.floor or self.without == "floor"):
                    yield "the compaction is tried again", sent(old, part, left)
                else:
                    yield "the compaction is given up", state._replace(compactor=("rest", left))

    def _of_collector(self, state: State) -> Iterator[tuple[str, State]]:
        catalog, (at, left, *rest) = state.catalog, state.collector
        if at == "rest" and left:
            floor = catalog.floor if self.without == "floor" else catalog.serial + 1
            new = catalog._replace(serial=catalog.serial + 1, floor=floor)
            flying = state.flying | {("change", catalog.serial, new)}
            yield "the floor is raised", state._replace(collector=("sent", left - 1, new), flying=flying)
        elif at == "sent" and catalog.serial >= rest[0].serial:
            if catalog == rest[0] or (catalog.floor >= rest[0].floor and self.without != "floor"):
                yield "the floor is there", state._replace(collector=("remove", left, catalog))
            else:
                yield "the floor is not there", state._replace(collector=("rest", left))
        elif at == "remove":
            (listed,) = rest
            is_old = self.without == "floor"
            gone = {part for part in state.objects - listed.parts if is_old or part.base < listed.floor}
            logs = tuple(self._collected(*each) for each in zip(state.logs, listed.upto, strict=True))
            after = state._replace(objects=state.objects - gone, logs=logs, collector=("rest", left))
            yield "objects are removed", after

    def _collected(self, log: Log, upto: int) -> Log:
        """Return a log without the slots that are in parts. Seals stay, and so does the last sign of life."""
        end = len(log) if upto == OVER else upto
        stay = (SEAL,) if self.without != "seals stay" else ()
        return tuple(None if place < end and entry not in stay else entry for place, entry in enumerate(log))
