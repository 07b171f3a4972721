"""Makes data sets: one after those that it is made from, its cells side by side, each attempt in the order of slots.

One cell of a data set that is made: its slots, the rows that wait for their turn, and those that were accepted.

Slots are decided in their order, each to its end: whether a row repeats another is asked of the rows of earlier slots
alone. So a row follows from the replies, and from which slots of its cell the run has, in whatever order replies come
and whatever was made before. A run that adds slots after the others changes nothing of those.

Makes the data sets that a run needs, each after those that it is made from.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import field
from datetime import datetime
from typing import Any

from tripos_compiler.language.evaluation import Unavailable, evaluate
from tripos_compiler.language.rows import item_id
from tripos_compiler.library.registry import with_functions
from tripos_compiler.plan import Expr, Made, Plan, digest
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.asking.ledger import Ledger, Listing
from tripos_runtime.asking.progress import CallCounters
from tripos_runtime.datasets.cases import CaseSource
from tripos_runtime.datasets.generated_rows import MadeRow, Origins, Rejection, RowFile
from tripos_runtime.datasets.selection import Selection
from tripos_runtime.datasets.slots import Choice, RowSlot, SlotSource
from tripos_runtime.generate.attempts import AcceptedValues, Attempt, Attempts, Before, Outcome, keep, place_of
from tripos_runtime.generate.author import Asker, LedgerEntries, MadeCall, MadeReply, NotAsked, find
from tripos_runtime.program.adoption import Adoption, Namesakes, PackedNames
from tripos_runtime.program.binding import RoleBinding
from tripos_runtime.program.running import at_once, together
from tripos_runtime.scheduling.calling import Caller
from tripos_runtime.scheduling.endpoint import Sleep


@dataclass(frozen=True, slots=True)
class Candidate:
    """A row that breaks no condition of its own, with what is compared of it: its name, and what must be unique."""

    row: Mapping[str, Any]
    name: str
    values: tuple[Any, ...]


@dataclass(slots=True)
class State:
    """The state of a slot. `before` is the attempt before, and `waits` the row that waits for its turn."""

    slot: RowSlot
    before: Before | None = None
    reply: str | None = None
    names: tuple[str, ...] = ()
    """The author's reply to the last attempt, and the names of all replies of it."""
    rejections: list[Rejection] = field(default_factory=list)
    repeats: dict[int, Candidate] = field(default_factory=dict)
    """The rows that repeated another one before their turn had come, by the number of the attempt."""
    attempts: int = 0
    waits: Candidate | None = None
    ended: bool = False
    is_open: bool = False
    """Nobody can tell what becomes of it, because a call failed or nobody was asked."""
    unsettled: bool = False
    """It may come to something else once an earlier slot is filled; of an open slot, an attempt before may."""


@dataclass
class Cell:
    """The slots of one cell, in order; `turn` is the first of which it is not known what becomes of it."""

    attempts: Attempts
    states: list[State]
    turn: int = 0
    behind_open: bool = False
    """True if a slot before `turn` is open, so that what is decided now may be decided otherwise later."""

    def __post_init__(self) -> None:
        self._unique: tuple[Expr, ...] = self.attempts.made.unique
        self._pools = [AcceptedValues() for _ in self._unique]
        self._rows: set[str] = set()
        self._names: dict[int, str] = {}
        self._waiting: dict[int, State] = {}
        self._to_compare: list[State] = []
        self._compared = 0
        """With how many accepted rows those that wait were compared, or are about to be."""

    def candidate(self, slot: RowSlot, row: dict[str, Any]) -> Candidate | Rejection:
        """Return a row as it is compared, or why it cannot be. Raises `Unasked` where a function is needed that is not
        there."""
        try:
            seen = self.attempts.names_at(slot, row)
            values = tuple(evaluate(expr, seen) for expr in self._unique)
        except Unavailable as reason:
            return Rejection("no_value", {"error": str(reason)})
        return Candidate(row, item_id(row), values)

    def repeat(self, candidate: Candidate) -> Rejection | None:
        """Return why a row is rejected, if it repeats an accepted one. As rows are accepted, one that repeats another
        goes on to do so."""
        if candidate.name in self._rows:
            return Rejection("duplicate", {"of": candidate.name})
        for number, (value, pool) in enumerate(zip(candidate.values, self._pools, strict=True), 1):
            found = pool.repeats(value)
            if found is not None:
                told = {"number": number, "of": self._names[found.place]}
                if found.similarity < 1:
                    return Rejection("near_duplicate", {**told, "similarity": round(found.similarity, 3)})
                return Rejection("duplicate", told)
        return None

    def next_due(self) -> State | None:
        """Return the slot whose turn it is, if its last attempt was made or a row of it waits."""
        if self.turn == len(self.states):
            return None
        state = self.states[self.turn]
        return state if state.ended or state.waits is not None else None

    def accept(self, state: State) -> Candidate:
        """Take the row that waits, whose turn it is."""
        candidate = self.leave(state)
        self._rows.add(candidate.name)
        self._names[state.slot.place] = candidate.name
        for pool, value in zip(self._pools, candidate.values, strict=True):
            pool.add(state.slot.place, value)
        return candidate

    def pass_on(self, state: State) -> None:
        """Return the turn to the next slot. Of rows that were rejected before theirs had come it is said what they
        repeat of all earlier slots."""
        for number, candidate in state.repeats.items():
            state.rejections[number] = self.repeat(candidate) or state.rejections[number]
        state.repeats.clear()
        state.ended = True
        if state.is_open:
            self.behind_open = True
        elif self.behind_open:
            state.unsettled = True
        self.turn += 1

    def wait(self, state: State, candidate: Candidate) -> None:
        """Have a row wait for the turn of its slot."""
        state.waits, self._waiting[state.slot.place] = candidate, state
        self._to_compare.append(state)

    def leave(self, state: State) -> Candidate:
        """Take away the row that waits."""
        candidate, state.waits = state.waits, None
        assert candidate is not None
        del self._waiting[state.slot.place]
        return candidate

    def next_refused(self) -> tuple[State, Rejection] | None:
        """Return a slot whose row waits and repeats an accepted one, so that it need not wait for its turn. What it
        repeats is looked up again when that has come."""
        if len(self._rows) > self._compared:
            self._compared, self._to_compare = len(self._rows), list(self._waiting.values())
        while self._to_compare:
            state = self._to_compare.pop()
            rejection = None if state.waits is None else self.repeat(state.waits)
            if state.waits is not None and rejection is not None:
                state.repeats[state.attempts - 1] = state.waits
                return state, rejection
        return None


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


class Unlisted:
    """Lists no result, for whoever goes through what is kept."""

    def add(self, ids: Iterable[str]) -> None:
        """Take further names, and forget them."""


@dataclass
class DataMaker:
    """Makes what a run over `selection` needs, and puts it where `source` finds it. Without `callers` nobody is asked:
    what is kept is gone through, and the rest is left open."""

    plan: Plan
    binding: RoleBinding
    source: CaseSource
    selection: Selection
    callers: Mapping[str, Caller] | None
    ledger: Ledger
    tally: CallCounters
    work: Listing
    run_id: str
    now: Callable[[], datetime]
    workers: int
    functions: Mapping[str, Callable[..., Any]] | None
    sleep: Sleep
    stop: Callable[[], None]
    makers: dict[str, Maker] = field(default_factory=dict)
    reused: Callable[[MadeCall], None] | None = None
    unasked: Callable[[MadeReply], None] | None = None
    """The observers of a reply that is kept, and of one that nobody was asked for."""
    adoption: Adoption | None = None
    """The adoption of replies that the ledger has under other names."""
    on_made: Callable[[Attempts], None] | None = None
    """Told of a data set whose rows are there, before anything is made of them."""
    on_attempt: Callable[[str, int, int], None] | None = None
    """Told of every attempt at a row, as an `Asker` tells it."""
    choice: Choice | None = None
    """Which slots were needed."""
    _asker: Asker | None = None
    _places: dict[str, frozenset[int] | None] = field(default_factory=dict)
    """The places of the slots of the data sets whose making has begun."""
    _whole: set[str] = field(default_factory=set)
    """The data sets whose making has ended."""
    _kept: dict[str, PackedNames] = field(default_factory=dict)
    """By data set the names of the replies that its rows are made of, as far as the ledger has them."""

    async def make(self) -> None:
        """Make all of it. Raises what callers and the ledger raise."""
        slots = self.source.slots
        sources = self.source.sources
        choice = self.choice = Choice(slots, self.selection)
        asker = self._asker = Asker(
            self.plan, sources, self.callers, self.ledger, self.tally, self.work, self.run_id, self.now
        )
        asker.adoption, asker.on_attempt = self.adoption, self.on_attempt
        asker.on_reused, asker.on_unasked = self.reused, self.unasked
        if self.adoption is not None:
            self.adoption.own.making = self
        for name in choice.order:
            if name in sources.made.frozen:
                continue
            self._places[name] = choice.places(name)
            attempts = Attempts(slots.by_name[name], asker, sources, self.binding)
            maker = self.makers[name] = self._maker(attempts, self.workers)
            sources.made.rows[name] = maker.rows
            await maker.make(self._places[name])
            self._whole.add(name)
            if self.on_made is not None:
                self.on_made(attempts)
            if self.callers is None and maker.open:
                choice.unsure.add(name)
        for scenario in self.selection.chosen(self.plan):
            if scenario.rows is not None and scenario.rows.dataset in self.makers.keys() | sources.made.frozen:
                chosen = choice.chosen(scenario)
                if chosen is not None:
                    sources.made.chosen[scenario.name] = chosen

    def _maker(self, attempts: Attempts, workers: int) -> Maker:
        return Maker(
            attempts.made,
            self.source.slots,
            attempts,
            attempts.asker,
            workers,
            self.functions,
            self.sleep,
            self.stop,
        )

    @property
    def pending(self) -> frozenset[str]:
        """Return the data sets whose rows are not all made yet."""
        order = () if self.choice is None else self.choice.order
        return frozenset(order) - self._whole - self.source.sources.made.frozen

    def has(self, dataset: str, name: str) -> bool:
        """Return true if a reply is one of those that the rows of a data set are made of, or if that is not known
        yet: of one that comes later."""
        if dataset not in self._places:
            return dataset in self.pending
        if dataset not in self._kept:
            self._kept[dataset] = PackedNames(self._named(dataset))
        return name in self._kept[dataset]

    def forget(self) -> None:
        """Look again at what is kept, since there is more."""
        self._kept.clear()

    def _named(self, dataset: str) -> Iterable[str]:
        """Return the names of the replies that the rows of a data set are made of, and of those that are asked for
        next: what is kept under these names is gone through, and nobody is asked."""
        asker = Asker(
            self.plan, self.source.sources, None, self.ledger, CallCounters(), Unlisted(), self.run_id, self.now
        )
        asker.adoption = None if self.adoption is None else Namesakes(self.adoption.others)
        names: list[str] = []
        asker.on_reused = lambda call: names.append(call.name)
        asker.on_unasked = lambda need: names.append(need.call.name)
        attempts = Attempts(self.source.slots.by_name[dataset], asker, self.source.sources, self.binding)
        at_once(self._maker(attempts, 1).make(self._places[dataset]))
        return names

    def go_through(self) -> None:
        """Go through what is kept, where nobody is asked."""
        assert self.callers is None, "whoever asks has to wait"
        at_once(self.make())

    @property
    def whole(self) -> bool:
        """True if nothing failed that a later run would try again."""
        return self._asker is None or self._asker.whole
