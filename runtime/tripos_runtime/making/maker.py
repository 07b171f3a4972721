"""Makes data sets: one after those that it is made from, its cells side by side, each attempt in the order of slots."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tripos_compiler.plan import Made, digest
from tripos_compiler.semantics.evaluate import Unavailable, calling, evaluate
from tripos_compiler.semantics.rows import item_id
from tripos_runtime.making.asked import Asker, Found, Unasked, find
from tripos_runtime.making.attempts import Attempt, Attempts, Before
from tripos_runtime.making.duplicates import Pool
from tripos_runtime.making.kept import MadeRow, Origins, RowFile
from tripos_runtime.making.outcomes import Outcome, keep, place_of, slot_id
from tripos_runtime.making.rejections import Rejection
from tripos_runtime.making.slots import Slot, SlotSource
from tripos_runtime.making.standing import standing
from tripos_runtime.shared import together
from tripos_runtime.times import Sleep

BLOCK = 64
"""So many slots, of whole cells, are looked up and claimed at once."""
WAIT_S = 0.5
"""Between looks at what another process makes."""


@dataclass
class State:
    """How things stand with a slot."""

    slot: Slot
    before: Before | None = None
    rejections: list[Rejection] = field(default_factory=list)
    attempts: int = 0
    stands: tuple[Rejection | None, ...] = ()
    """Of the attempts that an earlier run has decided, why they were rejected for what other rows are."""


@dataclass
class Maker:
    """Makes the rows of one data set. `open` counts slots of which nobody can tell what becomes of them, because calls
    failed or nobody was asked."""

    made: Made
    source: SlotSource
    attempts: Attempts
    asker: Asker
    workers: int
    functions: Mapping[str, Callable[..., Any]] | None
    """The plug-ins, or those that are there already."""
    sleep: Sleep
    stop: Callable[[], None]
    """Makes no further call; what is under way is finished."""
    open: list[Slot] = field(default_factory=list)
    unsettled: list[tuple[Slot, int]] = field(default_factory=list)
    """Slots that may come to something else once those that are open are filled, with the attempts at them so far."""
    filled: int = 0
    """How many slots there was something to make from."""
    _put_off: list[list[Slot]] = field(default_factory=list)

    async def make(self, places: Collection[int] | None) -> None:
        """Makes the rows of the slots of these places, or of all. Raises what callers raise."""
        made = self.made
        self.rows = self.source.made.rows[made.name] = RowFile()
        self.tally = self.asker.tally.making(made.name)
        self.tally.asks = self._asks
        groups: dict[str, list[Slot]] = {}
        for slot in self.source.slots(made):
            if places is None or slot.place in places:
                filled = self.source.filled(made, slot)
                if filled is not None:
                    groups.setdefault(slot.group, []).append(filled)
        self.filled = sum(map(len, groups.values()))
        for ask in self.attempts.asks:
            self.asker.tally.planned[ask.role, made.name] += self.filled
        await self._pass(list(groups.values()))
        while self._put_off:
            waiting, self._put_off = self._put_off, []
            self.asker.ledger.flush()
            self.asker.ledger.refresh()
            await self._pass(waiting)
            self.asker.tally.waiting = sum(map(len, self._put_off))
            if len(self._put_off) == len(waiting):
                await self.sleep(WAIT_S)
        self.asker.tally.waiting = 0

    async def _pass(self, groups: list[list[Slot]]) -> None:
        blocks = iter(_blocks(groups))

        async def work() -> None:
            for block in blocks:
                await self._block(block)

        with contextlib.nullcontext() if self.functions is None else calling(self.functions):
            count = min(max(1, -(-self.workers // BLOCK)) + 1, max(1, len(groups)))
            await together([work() for _ in range(count)])

    async def _block(self, groups: list[list[Slot]]) -> None:
        """Makes the rows of some cells, those apart that another process makes."""
        ours: list[list[Slot]] = []
        keys: list[str] = []
        for group in groups:
            key = digest(["made", self._about, group[0].group])
            if self._asks and not self._claimed(key):
                self._put_off.append(group)
                continue
            keys.append(key)
            ours.append(group)
        if keys and self._asks and self.asker.callers is not None:
            self.asker.ledger.refresh()
        models = [self.attempts.binding.answering[ask.role][0] for ask in self.attempts.asks]
        slots = [slot for group in ours for slot in group]
        stands = standing(self.asker.ledger, self.made, models, slots) if self._asks else {}
        block = _Block({group[0].group: _Pools(self.attempts, len(group) > 1) for group in ours})
        # What an earlier run decided is there before anything is added, so no addition can take an item's place.
        for before in (True, False):
            states = [State(s, stands=stands.get(s.place, ())) for s in slots if (s.place in stands) is before]
            for number in range(self.made.retries + 1):
                if not states:
                    break
                states = await self._round(states, number, block)
        self.unsettled += [
            (each.slot, each.origins.attempts)
            for each in block.outcomes
            if each.slot.group in block.still_open and each.slot.place not in stands
        ]
        if self._asks and self.asker.callers is not None:
            asker = self.asker
            row = {"run_id": asker.run_id, "benchmark": asker.plan.benchmark.name, "created_at": asker.now()}
            row["binding"] = self.attempts.binding_of(self.made.fingerprint)
            # Of a cell all is kept, or nothing: with a part of it another run would begin from another place.
            whole = [each for each in block.outcomes if each.slot.group not in block.still_open]
            keep(asker.ledger, self.made, models, whole, row)
            asker.enlist(place_of(self.made), [slot_id(self.made, models, each.slot) for each in whole])
            for key in keys:
                self.asker.ledger.release(key)

    async def _round(self, states: list[State], number: int, block: _Block) -> list[State]:
        """Makes one attempt at each slot; those at which there is to be another."""
        waiting = iter(self._looked_up(states, number))
        done: dict[int, Attempt | None] = {}
        again: list[State] = []
        decided = 0

        async def work() -> None:
            nonlocal decided
            for index, state, found in waiting:
                try:
                    done[index] = await self.attempts.make(state.slot, number, state.before, found)
                except Unasked:
                    done[index] = None
                except BaseException:
                    self.stop()
                    raise
                while decided in done:
                    self._decide(states[decided], done.pop(decided), number, block, again)
                    decided += 1

        await together([work() for _ in range(min(len(states), self.workers))])
        return again

    def _looked_up(self, states: list[State], number: int) -> Iterator[tuple[int, State, Found]]:
        numbered = enumerate(states)
        while batch := list(itertools.islice(numbered, BLOCK)):
            wanted = [name for _, each in batch for name in self.attempts.names_of(each.slot, number, each.before)]
            found = find(self.asker.ledger, wanted) if wanted else Found()
            for index, state in batch:
                yield index, state, found

    def _decide(self, state: State, attempt: Attempt | None, number: int, block: _Block, again: list[State]) -> None:
        """What becomes of an attempt, in the order of the slots."""
        state.attempts = number + 1
        if attempt is None or (attempt.row is None and attempt.rejection is None):
            self._leave_open(state.slot, block)
            self._skip(0 if attempt is None else attempt.asked)
            return
        rejection = attempt.rejection
        if attempt.row is not None and number < len(state.stands) and state.stands[number] is not None:
            rejection = state.stands[number]
        elif attempt.row is not None:
            try:
                rejection = block.pools[state.slot.group].rejection(state.slot, attempt.row)
            except Unasked:
                self._leave_open(state.slot, block)
                return
        self._skip(attempt.asked)
        if rejection is None:
            assert attempt.row is not None
            self._end(state, attempt.row, block)
            return
        state.rejections.append(rejection)
        state.before = Before(rejection, attempt.reply, attempt.names)
        self.tally.rejected[rejection.reason] += 1
        last = attempt.last or (attempt.row is not None and not self.attempts.written)
        if number < self.made.retries and not last:
            for ask in self.attempts.asks:
                self.asker.tally.planned[ask.role, self.made.name] += 1
            again.append(state)
        else:
            self._end(state, None, block)

    def _leave_open(self, slot: Slot, block: _Block) -> None:
        """Notes that nobody can tell what becomes of a slot."""
        self.open.append(slot)
        block.still_open.add(slot.group)

    def _end(self, state: State, row: Mapping[str, Any] | None, block: _Block) -> None:
        """Notes what became of a slot."""
        author, slot = self.attempts.author, state.slot
        by = None if author is None else self.attempts.binding.of(author.role)[0]
        origins = Origins(by, state.attempts, tuple(each.to_json() for each in state.rejections))
        if row is None:
            self.tally.given_up += 1
        else:
            self.rows.add(MadeRow(slot.place, row, origins))
            self.tally.made += 1
        if self._asks:
            name = None if row is None else item_id(row)
            block.outcomes.append(Outcome(slot, self.attempts.language(slot), name, origins))

    def _skip(self, replies: int) -> None:
        """Counts the calls of an attempt that were not made after so many."""
        for ask in self.attempts.asks[replies:]:
            self.asker.tally.skipped[ask.role, self.made.name] += 1

    def _claimed(self, key: str) -> bool:
        return self.asker.callers is None or self.asker.ledger.claim(key)

    @property
    def _asks(self) -> bool:
        return bool(self.attempts.asks)

    @property
    def _about(self) -> str:
        return self.attempts.asks[0].fingerprint if self.attempts.asks else self.made.name


@dataclass
class _Block:
    """Cells that are made together: what was accepted in each, what became of their slots, and the groups of those of
    which nobody can tell."""

    pools: Mapping[str, _Pools]
    outcomes: list[Outcome] = field(default_factory=list)
    still_open: set[str] = field(default_factory=set)


class _Pools:
    """What was accepted in one cell. `several`: more than one row may be."""

    def __init__(self, attempts: Attempts, several: bool) -> None:
        self.attempts, self.several = attempts, several
        self.unique = attempts.made.unique
        self.pools = [Pool() for _ in self.unique]
        self.rows: set[str] = set()
        self.names: dict[int, str] = {}

    def rejection(self, slot: Slot, row: dict[str, Any]) -> Rejection | None:
        """Why a row is rejected, if it repeats one; else it is taken."""
        if not self.several:
            return None
        name, place = item_id(row), slot.place
        if name in self.rows:
            return Rejection("duplicate", {"of": name})
        values: list[Any] = []
        for number, (expr, pool) in enumerate(zip(self.unique, self.pools, strict=True), 1):
            try:
                value = evaluate(expr, self.attempts.names_at(slot, row))
            except Unavailable as reason:
                return Rejection("no_value", {"error": str(reason)})
            repeat = pool.repeats(value)
            if repeat is not None:
                told = {"number": number, "of": self.names[repeat.place]}
                if repeat.similarity < 1:
                    return Rejection("near_duplicate", {**told, "similarity": round(repeat.similarity, 3)})
                return Rejection("duplicate", told)
            values.append(value)
        self.rows.add(name)
        self.names[place] = name
        for pool, value in zip(self.pools, values, strict=True):
            pool.add(place, value)
        return None


def _blocks(groups: Iterable[list[Slot]]) -> Iterator[list[list[Slot]]]:
    """Whole cells, together so many slots as are looked up at once."""
    block: list[list[Slot]] = []
    for group in groups:
        block.append(group)
        if sum(map(len, block)) >= BLOCK:
            yield block
            block = []
    if block:
        yield block
