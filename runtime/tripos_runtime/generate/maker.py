"""Generation of the data sets that a run needs, each after those that it is generated from.

Cells of the context are filled concurrently. Within a cell, slots are decided in their order: a row is compared only
with the rows of earlier slots. So the rows are determined by the replies and by which slots of their cell are in the
run, not by the order in which replies arrive or by what was generated before. Slots that are added at the end change no
earlier row."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import Any

from tripos_compiler.language.evaluation import Unavailable, evaluate
from tripos_compiler.language.rows import item_id
from tripos_compiler.library.registry import with_functions
from tripos_compiler.plan import Expr, GeneratedDataset, digest
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.asking.ledger import NOTHING_KEPT
from tripos_runtime.asking.progress import RunProgress
from tripos_runtime.datasets.cases import CaseSource
from tripos_runtime.datasets.generated_rows import GeneratedRow, Origins, Rejection, RowFile
from tripos_runtime.datasets.selection import Selection
from tripos_runtime.datasets.slots import RowSlot, SlotChoice, SlotSource
from tripos_runtime.generate.attempts import (
    AcceptedValues,
    Attempt,
    Attempts,
    Outcome,
    PreviousAttempt,
    keep_outcomes,
    place_of,
)
from tripos_runtime.generate.author import (
    Asker,
    GenerationCall,
    GenerationNeed,
    GenerationObserver,
    LedgerEntries,
    NobodyAsked,
    find_entries,
)
from tripos_runtime.program.adoption import Namesakes, PackedNames, ReplyReuse
from tripos_runtime.program.running import RunContext, gather_all, run_synchronously
from tripos_runtime.scheduling.calling import Caller


@dataclass(frozen=True, slots=True)
class Candidate:
    """A row that met all conditions except being unique, with what is compared with other rows: the name of its
    content, and the values of the `unique` expressions."""

    row: Mapping[str, Any]
    name: str
    values: tuple[Any, ...]


@dataclass(slots=True)
class SlotState:
    """The state of a slot. `before` is the previous attempt, `attempts` the number of attempts so far, and `waits` a
    row that waits until the slots before this one are decided."""

    slot: RowSlot
    before: PreviousAttempt | None = None
    reply: str | None = None
    names: tuple[str, ...] = ()
    """The author's reply to the last attempt, and the names of all replies of it."""
    rejections: list[Rejection] = field(default_factory=list)
    repeats: dict[int, Candidate] = field(default_factory=dict)
    """The rows that were rejected while they waited, since they repeat a row, by the index of the rejection."""
    attempts: int = 0
    waits: Candidate | None = None
    ended: bool = False
    """True if no further attempt is made and no row waits."""
    is_open: bool = False
    """True if its outcome is unknown, because a call failed or nobody was asked."""
    unsettled: bool = False
    """True if its outcome depends on an earlier slot that is open, so that it may change once that is filled."""


@dataclass
class Cell:
    """The slots of one cell, in order; `turn` is the index of the first one that is not decided yet."""

    attempts: Attempts
    states: list[SlotState]
    turn: int = 0
    behind_open: bool = False
    """True if a slot before `turn` is open, so that later decisions may change."""

    def __post_init__(self) -> None:
        self._unique: tuple[Expr, ...] = self.attempts.dataset.unique
        self._pools = [AcceptedValues() for _ in self._unique]
        self._rows: set[str] = set()
        self._names: dict[int, str] = {}
        self._waiting: dict[int, SlotState] = {}
        self._to_compare: list[SlotState] = []
        self._compared = 0
        """The number of accepted rows with which the waiting rows were compared, apart from those in `_to_compare`."""

    def candidate(self, slot: RowSlot, row: dict[str, Any]) -> Candidate | Rejection:
        """Return a row with its values for comparison, or why it cannot be compared. Raises `NobodyAsked` if it needs a
        function that may not be called."""
        try:
            names = self.attempts.names_at(slot, row)
            values = tuple(evaluate(expr, names) for expr in self._unique)
        except Unavailable as reason:
            return Rejection("no_value", {"error": str(reason)})
        return Candidate(row, item_id(row), values)

    def repeat(self, candidate: Candidate) -> Rejection | None:
        """Return the rejection of a row if it repeats an accepted one. A row that does will also do so when more rows
        are accepted."""
        if candidate.name in self._rows:
            return Rejection("duplicate", {"of": candidate.name})
        for number, (value, pool) in enumerate(zip(candidate.values, self._pools, strict=True), 1):
            repeat = pool.repeats(value)
            if repeat is not None:
                details = {"number": number, "of": self._names[repeat.place]}
                if repeat.similarity < 1:
                    return Rejection("near_duplicate", {**details, "similarity": round(repeat.similarity, 3)})
                return Rejection("duplicate", details)
        return None

    def next_due(self) -> SlotState | None:
        """Return the slot whose turn it is, if it can be decided: a row of it waits, or it has no further attempts."""
        if self.turn == len(self.states):
            return None
        state = self.states[self.turn]
        return state if state.ended or state.waits is not None else None

    def accept(self, state: SlotState) -> Candidate:
        """Accept the waiting row whose turn it is."""
        candidate = self.leave(state)
        self._rows.add(candidate.name)
        self._names[state.slot.place] = candidate.name
        for pool, value in zip(self._pools, candidate.values, strict=True):
            pool.add(state.slot.place, value)
        return candidate

    def pass_on(self, state: SlotState) -> None:
        """Pass the turn to the next slot. The rejections of rows that were rejected while they waited get the row that
        they repeat most: all earlier slots are decided."""
        for number, candidate in state.repeats.items():
            state.rejections[number] = self.repeat(candidate) or state.rejections[number]
        state.repeats.clear()
        state.ended = True
        if state.is_open:
            self.behind_open = True
        elif self.behind_open:
            state.unsettled = True
        self.turn += 1

    def wait(self, state: SlotState, candidate: Candidate) -> None:
        """Let a row wait for the turn of its slot."""
        state.waits, self._waiting[state.slot.place] = candidate, state
        self._to_compare.append(state)

    def leave(self, state: SlotState) -> Candidate:
        """Remove the waiting row."""
        candidate, state.waits = state.waits, None
        assert candidate is not None
        del self._waiting[state.slot.place]
        return candidate

    def next_refused(self) -> tuple[SlotState, Rejection] | None:
        """Return a slot whose waiting row repeats an accepted one, so that it need not wait for its turn. When its turn
        comes, `pass_on` finds the row that it repeats most."""
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
"""The number of slots, in whole cells, that are looked up and claimed at once."""
WAIT_S = 0.5
"""The pause in seconds before cells are tried again that another process generates."""


@dataclass
class Maker:
    """Generates the rows of one data set. `open` lists the slots without an outcome, since a call failed or no model
    was asked."""

    dataset: GeneratedDataset
    source: SlotSource
    attempts: Attempts
    asker: Asker
    workers: int
    functions: Mapping[str, Callable[..., Any]] | None
    """The plug-ins with which expressions are evaluated; `None` for those that are available now."""
    open: list[RowSlot] = field(default_factory=list)
    unsettled: list[tuple[RowSlot, int]] = field(default_factory=list)
    """Slots that may change once open ones are filled, with the attempts so far."""
    unsure: set[int] = field(default_factory=set)
    """The places of open slots whose further attempts depend on the outcomes of earlier slots."""
    filled: int = 0
    """The number of slots that had a source to generate from."""
    rows: RowFile = field(default_factory=RowFile)
    """The generated rows."""
    _put_off: list[list[RowSlot]] = field(default_factory=list)
    """The cells that another process generates at the moment, to be tried again later."""

    async def make(self, places: Collection[int] | None) -> None:
        """Generate the rows of the slots at these places, or of all. Raises the errors of callers."""
        dataset = self.dataset
        self.tally = self.asker.run.tally.making(dataset.name)
        self.tally.asks = self._asks
        groups: dict[str, list[RowSlot]] = {}
        for slot in self.source.slots(dataset):
            if places is None or slot.place in places:
                filled = self.source.filled(dataset, slot)
                if filled is not None:
                    groups.setdefault(slot.group, []).append(filled)
        self.filled = sum(map(len, groups.values()))
        for ask in self.attempts.asks:
            self.asker.run.tally.planned[ask.role, dataset.name] += self.filled
        await self._pass(list(groups.values()))
        while self._put_off:
            waiting, self._put_off = self._put_off, []
            self.asker.run.ledger.flush()
            self.asker.refresh()
            await self._pass(waiting)
            self.asker.run.tally.waiting = sum(map(len, self._put_off))
            if len(self._put_off) == len(waiting):
                await self.asker.run.sleep(WAIT_S)
        self.asker.run.tally.waiting = 0

    async def _pass(self, groups: list[list[RowSlot]]) -> None:
        """Generate the rows of cells, given as the slots of each."""
        blocks = iter(_blocks(groups))

        async def work() -> None:
            for block in blocks:
                await self._block(block)

        with contextlib.nullcontext() if self.functions is None else with_functions(self.functions):
            count = min(max(1, -(-self.workers // BLOCK)) + 1, max(1, len(groups)))
            await gather_all([work() for _ in range(count)])

    async def _block(self, groups: list[list[RowSlot]]) -> None:
        """Generate the rows of some cells, except those that another process generates."""
        claimed: list[list[RowSlot]] = []
        keys: list[str] = []
        for group in groups:
            key = digest(["made", self._about, group[0].group])
            if self._asks and not self._claimed(key):
                self._put_off.append(group)
                continue
            keys.append(key)
            claimed.append(group)
        if keys and self._asks and self.asker.callers is not None:
            self.asker.refresh()
        block = _Block([Cell(self.attempts, [SlotState(slot) for slot in group]) for group in claimed])
        block.queue.extend((cell, state) for cell in block.cells for state in cell.states)
        workers = min(len(block.queue), self.workers)
        await gather_all([self._work(block) for _ in range(workers)])
        unsettled = [state for cell in block.cells for state in cell.states if state.unsettled]
        self.unsettled += [(state.slot, state.attempts) for state in unsettled if not state.is_open]
        self.unsure |= {state.slot.place for state in unsettled if state.is_open}
        if self._asks and self.asker.callers is not None:
            asker, run = self.asker, self.asker.run
            row = {"run_id": run.run_id, "benchmark": run.plan.benchmark.name, "created_at": run.now()}
            row["binding"] = self.attempts.binding_of(self.dataset.fingerprint)
            models = [self.attempts.binding.answering[ask.role][0] for ask in self.attempts.asks]
            # An outcome that may change once a failed call is retried is not kept yet.
            outcomes = [outcome for state, outcome in block.outcomes if not state.unsettled]
            asker.enlist(place_of(self.dataset), keep_outcomes(run.ledger, self.dataset, models, outcomes, row))
            for key in keys:
                self.asker.run.ledger.release(key)

    async def _work(self, block: _Block) -> None:
        """Make attempts until none are left."""
        while block.queue or block.in_flight:
            if not block.queue:
                await block.wait()
                continue
            cell, state = block.queue.popleft()
            entries = self._looked_up(block, state)
            block.in_flight += 1
            try:
                attempt = await self.attempts.make(state.slot, state.attempts, state.before, entries)
            except NobodyAsked:
                attempt = None
            except BaseException:
                self.asker.observer.on_failure()
                raise
            finally:
                block.in_flight -= 1
                block.wake()
            self._record(block, cell, state, attempt)
            block.wake()

    def _looked_up(self, block: _Block, state: SlotState) -> LedgerEntries:
        """Return the ledger's replies for an attempt, looked up together with those of the next ones."""
        if state.slot.place not in block.entries:
            states = [state, *(slot_state for _, slot_state in itertools.islice(block.queue, BLOCK - 1))]
            states = [slot_state for slot_state in states if slot_state.slot.place not in block.entries]
            wanted = [
                name
                for slot_state in states
                for name in self.attempts.names_of(slot_state.slot, slot_state.attempts, slot_state.before)
            ]
            entries = find_entries(self.asker.run.ledger, wanted) if wanted else LedgerEntries()
            block.entries |= dict.fromkeys((slot_state.slot.place for slot_state in states), entries)
        return block.entries.pop(state.slot.place)

    def _record(self, block: _Block, cell: Cell, state: SlotState, attempt: Attempt | None) -> None:
        """Record the result of an attempt, and decide the slots that waited for it."""
        state.attempts += 1
        self._skip(0 if attempt is None else attempt.asked_steps)
        if attempt is None or (attempt.row is None and attempt.rejection is None):
            self._leave_open(state)
        else:
            state.reply, state.names = attempt.reply, attempt.names
            try:
                result = attempt.rejection if attempt.row is None else cell.candidate(state.slot, attempt.row)
            except NobodyAsked:
                self._leave_open(state)
            else:
                if isinstance(result, Candidate):
                    cell.wait(state, result)
                elif result is not None:
                    same_again = attempt.row is not None and not self.attempts.can_vary
                    self._reject(block, cell, state, result, last=attempt.last or same_again)
        self._decide(block, cell)

    def _decide(self, block: _Block, cell: Cell) -> None:
        """Decide the slots whose turn has come, and reject waiting rows that repeat an accepted one."""
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

    def _reject(self, block: _Block, cell: Cell, state: SlotState, rejection: Rejection, *, last: bool = False) -> None:
        """Schedule another attempt, or give the slot up. `last` is true if another attempt would have the same
        result."""
        if state.waits is not None:  # the row repeats another one, which may change if a slot before it is open
            cell.leave(state)
            last = self._stays(rejection)
            state.unsettled = state.unsettled or cell.behind_open
        state.rejections.append(rejection)
        state.before = PreviousAttempt(rejection, state.reply, state.names)
        self.tally.rejected[rejection.reason] += 1
        if state.attempts <= self.dataset.retries and not last:
            for ask in self.attempts.asks:
                self.asker.run.tally.planned[ask.role, self.dataset.name] += 1
            block.queue.append((cell, state))
        else:
            state.ended = True

    def _stays(self, rejection: Rejection) -> bool:
        """Return true if another attempt at a row that repeats another one would be rejected too. That is so if no
        model contributes to the row; and if no model writes it, but its walks chose the same paths as for an equal row:
        the note to the model that walks could not name that row."""
        if rejection.reason == "duplicate" and "number" not in rejection.details and self.attempts.author is None:
            return True
        return not self.attempts.can_vary

    def _leave_open(self, state: SlotState) -> None:
        """Record that a slot has no outcome."""
        state.ended = state.is_open = True
        self.open.append(state.slot)

    def _settle(self, block: _Block, state: SlotState, row: Mapping[str, Any] | None) -> None:
        """Record the outcome of a slot."""
        author, slot = self.attempts.author, state.slot
        by = None if author is None else self.attempts.binding.of(author.role)[0]
        origins = Origins(by, state.attempts, tuple(rejection.to_json() for rejection in state.rejections))
        if row is None:
            self.tally.given_up += 1
        else:
            self.rows.add(GeneratedRow(slot.place, row, origins))
            self.tally.made += 1
        if self._asks:
            name = None if row is None else item_id(row)
            block.outcomes.append((state, Outcome(slot, self.attempts.language(slot), name, origins)))

    def _skip(self, replies: int) -> None:
        """Count the calls of an attempt as skipped that follow its first `replies` ones."""
        for ask in self.attempts.asks[replies:]:
            self.asker.run.tally.skipped[ask.role, self.dataset.name] += 1

    def _claimed(self, key: str) -> bool:
        """Return true if this process may generate a cell: no other one does, or nothing is generated."""
        return self.asker.callers is None or self.asker.run.ledger.claim(key, later=True)

    @property
    def _asks(self) -> bool:
        """True if steps of the data set ask models."""
        return bool(self.attempts.asks)

    @property
    def _about(self) -> str:
        """The key that separates the claims of cells from those of other data sets."""
        return self.attempts.asks[0].fingerprint if self.attempts.asks else self.dataset.name


@dataclass
class _Block:
    """Cells that are filled together: the `queue` of slots that need an attempt, the ledger's `entries` looked up for
    them by the place of the slot, the number of attempts `in_flight`, and the futures of `waiting` workers."""

    cells: list[Cell]
    queue: deque[tuple[Cell, SlotState]] = field(default_factory=deque)
    entries: dict[int, LedgerEntries] = field(default_factory=dict)
    in_flight: int = 0
    waiting: list[asyncio.Future[None]] = field(default_factory=list)
    outcomes: list[tuple[SlotState, Outcome]] = field(default_factory=list)

    async def wait(self) -> None:
        """Wait until there is something to do, or nothing is in flight."""
        self.waiting.append(asyncio.get_running_loop().create_future())
        await self.waiting[-1]

    def wake(self) -> None:
        """Wake all waiting workers."""
        waiting, self.waiting = self.waiting, []
        for each in waiting:
            if not each.done():
                each.set_result(None)


def _blocks(groups: Iterable[list[RowSlot]]) -> Iterator[list[list[RowSlot]]]:
    """Yield groups of cells that together have `BLOCK` slots or somewhat more, except the last."""
    block: list[list[RowSlot]] = []
    for group in groups:
        block.append(group)
        if sum(map(len, block)) >= BLOCK:
            yield block
            block = []
    if block:
        yield block


@dataclass
class DataMaker:
    """Generates the data sets that a run over `selection` needs, and puts their rows where `source` finds them. Without
    `callers` no model is asked: rows are generated from kept replies, and the other slots stay open."""

    run: RunContext
    source: CaseSource
    selection: Selection
    callers: Mapping[str, Caller] | None = None
    workers: int = 1
    functions: Mapping[str, Callable[..., Any]] | None = None
    """The plug-ins with which expressions are evaluated; `None` for those that are available now."""
    observer: GenerationObserver = field(default_factory=GenerationObserver)
    adoption: ReplyReuse | None = None
    """The reuse of replies that the ledger has under other names."""
    makers: dict[str, Maker] = field(default_factory=dict)
    choice: SlotChoice | None = None
    """The choice of the slots that are needed."""
    _asker: Asker | None = None
    _places: dict[str, frozenset[int] | None] = field(default_factory=dict)
    """The places of the slots of the data sets whose generation has begun."""
    _complete_datasets: set[str] = field(default_factory=set)
    """The data sets whose generation has ended."""
    _stored_names: dict[str, PackedNames] = field(default_factory=dict)
    """The names of the replies behind the rows of each data set, as far as the ledger has them."""

    async def make(self) -> None:
        """Generate everything. Raises the errors of callers and of the ledger."""
        slots, sources = self.source.slots, self.run.sources
        choice = self.choice = SlotChoice(slots, self.selection)
        asker = self._asker = Asker(self.run, adoption=self.adoption, callers=self.callers, observer=self.observer)
        if self.adoption is not None:
            self.adoption.run_results.making = self
        for name in choice.order:
            if name in sources.generated.frozen:
                continue
            self._places[name] = choice.places(name)
            attempts = Attempts(slots.by_name[name], asker)
            maker = self.makers[name] = self._maker(attempts, self.workers)
            sources.generated.rows[name] = maker.rows
            await maker.make(self._places[name])
            self._complete_datasets.add(name)
            self.observer.on_made(attempts.dataset)
            if self.callers is None and maker.open:
                choice.unsure.add(name)
        for scenario in self.selection.chosen(self.run.plan):
            if scenario.rows is not None and scenario.rows.dataset in self.makers.keys() | sources.generated.frozen:
                chosen = choice.chosen(scenario)
                if chosen is not None:
                    sources.generated.chosen[scenario.name] = chosen

    def _maker(self, attempts: Attempts, workers: int) -> Maker:
        return Maker(attempts.dataset, self.source.slots, attempts, attempts.asker, workers, self.functions)

    @property
    def pending(self) -> frozenset[str]:
        """The data sets whose rows are not all generated yet."""
        order = () if self.choice is None else self.choice.order
        return frozenset(order) - self._complete_datasets - self.source.sources.generated.frozen

    def has(self, dataset: str, name: str) -> bool:
        """Return true if a reply belongs to the rows of a data set, or if this is not known yet, as for a later data
        set."""
        if dataset not in self._places:
            return dataset in self.pending
        if dataset not in self._stored_names:
            self._stored_names[dataset] = PackedNames(self._names_of(dataset))
        return name in self._stored_names[dataset]

    def forget(self) -> None:
        """Have the names of kept replies read again, since the ledger has more."""
        self._stored_names.clear()

    def _names_of(self, dataset: str) -> Iterable[str]:
        """Return the names of the replies from which the rows of a data set are generated, and of those that are needed
        next. Only the ledger is read."""
        names = _Names()
        run = replace(self.run, tally=RunProgress(), work=NOTHING_KEPT)
        reuse = None if self.adoption is None else Namesakes(self.adoption.others)
        asker = Asker(run, adoption=reuse, observer=names)
        attempts = Attempts(self.source.slots.by_name[dataset], asker)
        run_synchronously(self._maker(attempts, 1).make(self._places[dataset]))
        return names.names

    def go_through(self) -> None:
        """Generate the rows from kept replies, without asking a model."""
        assert self.callers is None, "whoever asks has to wait"
        run_synchronously(self.make())

    @property
    def is_complete(self) -> bool:
        """True if nothing failed that a later run would retry."""
        return self._asker is None or self._asker.complete


@dataclass
class _Names(GenerationObserver):
    """Collects the names of the replies from which rows are generated, kept or needed."""

    names: list[str] = field(default_factory=list)

    def on_reused(self, call: GenerationCall) -> None:
        self.names.append(call.name)

    def on_unasked(self, need: GenerationNeed) -> None:
        self.names.append(need.call.name)
