"""Makes data sets: one after those that it is made from, its cells side by side, each attempt in the order of slots."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any

from tripos_compiler.language import item_id
from tripos_compiler.language.library import with_functions
from tripos_compiler.plan import Made, digest
from tripos_compiler.source import dataclass
from tripos_runtime.datasets import MadeRow, Origins, Rejection, RowFile, RowSlot, SlotSource
from tripos_runtime.generate.attempts import Attempt, Attempts, Before
from tripos_runtime.generate.author import Asker, LedgerEntries, NotAsked, find
from tripos_runtime.generate.cells import Candidate, Cell, State
from tripos_runtime.generate.outcomes import Outcome, keep, place_of
from tripos_runtime.program import together
from tripos_runtime.scheduling import Sleep

BLOCK = 64
"""The number of slots, of whole cells, that are looked up and claimed at once."""
WAIT_S = 0.5
"""Between looks at what another process makes."""


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
    open: list[RowSlot] = field(default_factory=list)
    unsettled: list[tuple[RowSlot, int]] = field(default_factory=list)
    """Slots that may come to something else once those that are open are filled, with the attempts at them so far."""
    unsure: set[int] = field(default_factory=set)
    """The places of open slots whose further attempts are made only if those before them are filled as they are."""
    filled: int = 0
    """How many slots there was something to make from."""
    rows: RowFile = field(default_factory=RowFile)
    """The rows that are made."""
    _put_off: list[list[RowSlot]] = field(default_factory=list)

    async def make(self, places: Collection[int] | None) -> None:
        """Make the rows of the slots of these places, or of all. Raises what callers raise."""
        made = self.made
        self.tally = self.asker.tally.making(made.name)
        self.tally.asks = self._asks
        groups: dict[str, list[RowSlot]] = {}
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
            self.asker.refresh()
            await self._pass(waiting)
            self.asker.tally.waiting = sum(map(len, self._put_off))
            if len(self._put_off) == len(waiting):
                await self.sleep(WAIT_S)
        self.asker.tally.waiting = 0

    async def _pass(self, groups: list[list[RowSlot]]) -> None:
        blocks = iter(_blocks(groups))

        async def work() -> None:
            for block in blocks:
                await self._block(block)

        with contextlib.nullcontext() if self.functions is None else with_functions(self.functions):
            count = min(max(1, -(-self.workers // BLOCK)) + 1, max(1, len(groups)))
            await together([work() for _ in range(count)])

    async def _block(self, groups: list[list[RowSlot]]) -> None:
        """Make the rows of some cells, those apart that another process makes."""
        ours: list[list[RowSlot]] = []
        keys: list[str] = []
        for group in groups:
            key = digest(["made", self._about, group[0].group])
            if self._asks and not self._claimed(key):
                self._put_off.append(group)
                continue
            keys.append(key)
            ours.append(group)
        if keys and self._asks and self.asker.callers is not None:
            self.asker.refresh()
        block = _Block([Cell(self.attempts, [State(slot) for slot in group]) for group in ours])
        block.queue.extend((cell, state) for cell in block.cells for state in cell.states)
        workers = min(len(block.queue), self.workers)
        await together([self._work(block) for _ in range(workers)])
        unsettled = [state for cell in block.cells for state in cell.states if state.unsettled]
        self.unsettled += [(state.slot, state.attempts) for state in unsettled if not state.is_open]
        self.unsure |= {state.slot.place for state in unsettled if state.is_open}
        if self._asks and self.asker.callers is not None:
            asker = self.asker
            row = {"run_id": asker.run_id, "benchmark": asker.plan.benchmark.name, "created_at": asker.now()}
            row["binding"] = self.attempts.binding_of(self.made.fingerprint)
            models = [self.attempts.binding.answering[ask.role][0] for ask in self.attempts.asks]
            # What may come to something else once a failed call is made up for is no outcome yet.
            settled = [outcome for state, outcome in block.outcomes if not state.unsettled]
            asker.enlist(place_of(self.made), keep(asker.ledger, self.made, models, settled, row))
            for key in keys:
                self.asker.ledger.release(key)

    async def _work(self, block: _Block) -> None:
        """Make attempts until there are none left to make."""
        while block.queue or block.under_way:
            if not block.queue:
                await block.wait()
                continue
            cell, state = block.queue.popleft()
            found = self._looked_up(block, state)
            block.under_way += 1
            try:
                attempt = await self.attempts.make(state.slot, state.attempts, state.before, found)
            except NotAsked:
                attempt = None
            except BaseException:
                self.stop()
                raise
            finally:
                block.under_way -= 1
                block.wake()
            self._take_in(block, cell, state, attempt)
            block.wake()

    def _looked_up(self, block: _Block, state: State) -> LedgerEntries:
        """Return what the ledger has of the replies of an attempt, looked up together with those of the next ones."""
        if state.slot.place not in block.found:
            states = [state, *(each for _, each in itertools.islice(block.queue, BLOCK - 1))]
            states = [each for each in states if each.slot.place not in block.found]
            wanted = [name for each in states for name in self.attempts.names_of(each.slot, each.attempts, each.before)]
            found = find(self.asker.ledger, wanted) if wanted else LedgerEntries()
            block.found |= dict.fromkeys((each.slot.place for each in states), found)
        return block.found.pop(state.slot.place)

    def _take_in(self, block: _Block, cell: Cell, state: State, attempt: Attempt | None) -> None:
        """Record the fate of an attempt, and of the slots that waited for it."""
        state.attempts += 1
        self._skip(0 if attempt is None else attempt.asked)
        if attempt is None or (attempt.row is None and attempt.rejection is None):
            self._leave_open(state)
        else:
            state.reply, state.names = attempt.reply, attempt.names
            try:
                found = attempt.rejection if attempt.row is None else cell.candidate(state.slot, attempt.row)
            except NotAsked:
                self._leave_open(state)
            else:
                if isinstance(found, Candidate):
                    cell.wait(state, found)
                elif found is not None:
                    same_again = attempt.row is not None and not self.attempts.written
                    self._reject(block, cell, state, found, last=attempt.last or same_again)
        self._decide(block, cell)

    def _decide(self, block: _Block, cell: Cell) -> None:
        """Go on with the slots whose turn has come, and with those whose row waits in vain."""
        while (state := cell.next_due()) is not None:
            row, rejection = None, None if state.waits is None else cell.repeat(state.waits)
            if rejection is not None:
                self._reject(block, cell, state, rejection)
                continue
            if state.waits is not None:
                row = cell.accept(state).row
            cell.pass_on(state)
            if not state.is_open:
                self._settle(block, state, row)
        while (refused := cell.next_refused()) is not None:
            self._reject(block, cell, *refused)

    def _reject(self, block: _Block, cell: Cell, state: State, rejection: Rejection, *, last: bool = False) -> None:
        """Have another attempt made, or give the slot up. `last`: another attempt would come to the same."""
        if state.waits is not None:  # it repeats another row, of which nobody knows whether it stays
            cell.leave(state)
            last = self._stays(rejection)
            state.unsettled = state.unsettled or cell.behind_open
        state.rejections.append(rejection)
        state.before = Before(rejection, state.reply, state.names)
        self.tally.rejected[rejection.reason] += 1
        if state.attempts <= self.made.retries and not last:
            for ask in self.attempts.asks:
                self.asker.tally.planned[ask.role, self.made.name] += 1
            block.queue.append((cell, state))
        else:
            state.ended = True

    def _stays(self, rejection: Rejection) -> bool:
        """Return true if another attempt would be rejected too. A row that repeats another is the same in all that
        nobody wrote: whoever walks is not asked for another place of it, and is not told that there is such a row."""
        if rejection.reason == "duplicate" and "number" not in rejection.told and self.attempts.author is None:
            return True
        return not self.attempts.written

    def _leave_open(self, state: State) -> None:
        """Note that nobody can tell what becomes of a slot."""
        state.ended = state.is_open = True
        self.open.append(state.slot)

    def _settle(self, block: _Block, state: State, row: Mapping[str, Any] | None) -> None:
        """Note what became of a slot."""
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
            block.outcomes.append((state, Outcome(slot, self.attempts.language(slot), name, origins)))

    def _skip(self, replies: int) -> None:
        """Count the calls of an attempt that were not made after so many."""
        for ask in self.attempts.asks[replies:]:
            self.asker.tally.skipped[ask.role, self.made.name] += 1

    def _claimed(self, key: str) -> bool:
        return self.asker.callers is None or self.asker.ledger.claim(key, later=True)

    @property
    def _asks(self) -> bool:
        return bool(self.attempts.asks)

    @property
    def _about(self) -> str:
        return self.attempts.asks[0].fingerprint if self.attempts.asks else self.made.name


@dataclass
class _Block:
    """Cells that are made together: the slots at which an attempt is to be made, with what was looked up for them, and
    who waits for there to be some."""

    cells: list[Cell]
    queue: deque[tuple[Cell, State]] = field(default_factory=deque)
    found: dict[int, LedgerEntries] = field(default_factory=dict)
    under_way: int = 0
    waiting: list[asyncio.Future[None]] = field(default_factory=list)
    outcomes: list[tuple[State, Outcome]] = field(default_factory=list)

    async def wait(self) -> None:
        """Wait until there is something to do, or nothing is under way."""
        self.waiting.append(asyncio.get_running_loop().create_future())
        await self.waiting[-1]

    def wake(self) -> None:
        """Wake all who wait."""
        waiting, self.waiting = self.waiting, []
        for each in waiting:
            if not each.done():
                each.set_result(None)


def _blocks(groups: Iterable[list[RowSlot]]) -> Iterator[list[list[RowSlot]]]:
    """Yield whole cells, together so many slots as are looked up at once."""
    block: list[list[RowSlot]] = []
    for group in groups:
        block.append(group)
        if sum(map(len, block)) >= BLOCK:
            yield block
            block = []
    if block:
        yield block
