"""The parts that all drivers of a run share: its context, the writer of its replies, the state of a case, and the loop
that runs programs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from tripos_compiler.plan import Ask, Converse, JudgedStep, Plan
from tripos_compiler.plan.outcomes import NOT_ASKED, RETRIED_NEXT_RUN
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.asking.ledger import NOTHING_KEPT, Ledger, Listing, OtherReplies, Row, condition_id
from tripos_runtime.asking.progress import RunProgress
from tripos_runtime.asking.questions import Adopted, Answer, UnreadableReply
from tripos_runtime.asking.replies import FirstReply, adopted_rows, draft_row
from tripos_runtime.datasets.sources import Sources
from tripos_runtime.models.base import Message
from tripos_runtime.program.adoption import CurrentCase, Namesakes, ReplyReuse
from tripos_runtime.program.binding import RoleBinding
from tripos_runtime.program.units import Unit
from tripos_runtime.program.values import StepValues
from tripos_runtime.scheduling.budget import Halted
from tripos_runtime.scheduling.endpoint import Sleep

NO_ROWS: Mapping[str, Sequence[Row]] = MappingProxyType({})


class CallPlace(NamedTuple):
    """The table of a call's reply, the model, and the role and the scenario or data set for which it is made."""

    table: str
    model: str
    lane: tuple[str, str]


@dataclass(frozen=True)
class RunContext:
    """The context of one run. The defaults are those of a run that keeps nothing."""

    plan: Plan
    binding: RoleBinding
    sources: Sources
    ledger: Ledger = NOTHING_KEPT
    work: Listing = NOTHING_KEPT
    """The list of the names of the run's results."""
    run_id: str = ""
    tally: RunProgress = field(default_factory=RunProgress)
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    sleep: Sleep = asyncio.sleep
    others: OtherReplies = NOTHING_KEPT
    """Other stores, whose replies are reused."""


@dataclass
class ReplyWriter:
    """Keeps the replies of one run in the ledger and counts them."""

    run: RunContext
    complete: bool = True
    """True if no result so far will be retried by a later run."""
    adoption: ReplyReuse | Namesakes | None = None
    """The reuse of replies that the ledger has under other names."""

    def keep_draft(self, row: Row, name: str, draft: UnreadableReply) -> None:
        """Keep an unreadable reply before it is repaired. `row` has the columns of the result."""
        self.run.ledger.keep({"drafts": [draft_row(row, name, draft)]})
        self.run.tally.repaired += 1

    def keep_reply(
        self,
        call: CallPlace,
        name: str,
        answer: Answer,
        row: Row,
        first: FirstReply | UnreadableReply | Adopted,
        companions: Mapping[str, Sequence[Row]] = NO_ROWS,
    ) -> None:
        """Keep the answer to a call together with its `companions`, further rows by table. `first` is what the answer
        was made from. Of an adopted reply, only the cost of a repair counts."""
        if isinstance(first, Adopted):
            assert isinstance(self.adoption, ReplyReuse), "a reader of kept results keeps nothing"
            self.run.ledger.keep({**adopted_rows(call.table, row, name, first), **companions})
            self.run.tally.adopt(call.lane, call.model, answer, first)
            self.adoption.record_kept(first)
        else:
            self.run.ledger.keep({call.table: [row], **companions})
            self.run.tally.count(call.lane, call.model, answer)
        if call.table != "turns":  # turns are counted with their conversation
            self.count_status(call.table, answer.status)
            self.record_kept([name], answer.status)

    def count_status(self, table: str, status: str) -> None:
        """Count a reply by its status."""
        (self.run.tally.samples if table == "samples" else self.run.tally.judgements)[status] += 1

    def record_kept(self, names: Sequence[str], status: str) -> None:
        """Record that these results are kept with this status."""
        if status in RETRIED_NEXT_RUN:
            self.complete = False
        else:
            self.run.work.add(names)


Value = TypeVar("Value")
_synchronous: ContextVar[bool] = ContextVar("synchronous", default=False)
"""True inside `run_synchronously`."""


@dataclass
class CaseState:
    """The rows of the ledger for one case, and the state that its units share, so that a reply that several units need
    is asked for once."""

    statuses: Mapping[str, str]
    """The status of each result of this case in the ledger, by name."""
    rows: Mapping[str, Row]
    drafts: Mapping[str, Row]
    case: CurrentCase | None = None
    """The current case, for the search for replies under other names."""
    answers: dict[str, asyncio.Future[Answer]] = field(default_factory=dict)
    """The answers that are known or being asked for, by name."""
    asked_names: set[str] = field(default_factory=set)
    """The names that were counted, or whose answer was asked for."""
    reused: set[str] = field(default_factory=set)
    """The names of the replies that were counted as reused."""
    skipped: set[str] = field(default_factory=set)
    """The names of the calls that the units so far skipped; a unit of another treatment may make them."""
    sent: dict[tuple[str, ...], tuple[Message, ...]] = field(default_factory=dict)
    """The messages of every step, by its fingerprint and the names of the replies that it builds on."""
    near: dict[tuple[str, ...], asyncio.Future[Any]] = field(default_factory=dict)
    """The similarities for retrieving steps with embeddings, by the same key."""
    retrieved: dict[tuple[str, ...], Any] = field(default_factory=dict)
    """The results of retrieving steps, by the same key."""
    conditions: set[str] = field(default_factory=set)
    """The names of the rows of `conditions` that were written for this case."""
    names: dict[Unit, StepValues] = field(default_factory=dict)
    """The final values of the steps of each unit that was run."""

    def has_reply(self, name: str) -> bool:
        """Return true if the ledger has a reply of that name, and not a row that says that there was nothing to ask."""
        status = self.statuses.get(name)
        return status is not None and status not in NOT_ASKED

    def is_sure(self, name: str, step: Ask | Converse | JudgedStep) -> bool:
        """Return true if a kept reply of this name can be used without making its prompt: the step has no condition, or
        it is recorded that the condition held. Otherwise the prompt must be made, since under this condition it may
        have no value."""
        if not step.condition:
            return True
        condition_row = condition_id(name, step.condition)
        return condition_row in self.statuses or condition_row in self.conditions

    def is_first_reuse(self, name: str) -> bool:
        """Return true if a kept reply is used for the first time."""
        if name in self.reused:
            return False
        self.reused.add(name)
        return True

    def first(self, name: str) -> bool:
        """Return true if this name occurs for the first time."""
        if name in self.asked_names:
            return False
        self.asked_names.add(name)
        return True

    async def once(
        self, names: Sequence[str], answering: Coroutine[Any, Any, Mapping[str, Answer]]
    ) -> Mapping[str, Answer]:
        """Return the answers of these names, which `answering` returns. Meanwhile and afterwards, others find them in
        `answers`."""
        loop = asyncio.get_running_loop()
        futures = {name: loop.create_future() for name in names}
        self.answers |= futures
        self.asked_names.update(names)
        try:
            answers = await answering
        except BaseException as error:
            for future in futures.values():
                future.set_exception(error)
                future.exception()  # mark as retrieved: perhaps no other unit awaits it
            raise
        for each, future in futures.items():
            future.set_result(answers[each])
        return answers


async def drive(
    program: Generator[Any, Any, Any], answer: Callable[[Any], Awaitable[Any]], take: Callable[[], None] | None = None
) -> Any:
    """Run a program to its end and return its result. `answer` returns what the program is sent for a need; the
    programs of a list run side by side. `take` is called before every need and at the end, to take the events that the
    program emitted."""
    result: Any = None
    try:
        while True:
            need = program.send(result)
            if take is not None:
                take()
            result = await (_side_by_side(need, answer, take) if isinstance(need, list) else answer(need))
    except StopIteration as end:
        if take is not None:
            take()
        return end.value


async def _side_by_side(
    programs: Sequence[Generator[Any, Any, Any]],
    answer: Callable[[Any], Awaitable[Any]],
    take: Callable[[], None] | None,
) -> list[Any]:
    results: list[Any] = [None] * len(programs)

    async def run(place: int) -> None:
        results[place] = await drive(programs[place], answer, take)

    await gather_all([run(place) for place in range(len(programs))])
    return results


def drive_now(program: Generator[Any, Any, Any], answer: Callable[[Any], Any], take: Callable[[], None]) -> Any:
    """Run a program whose needs are answered without waiting, one after the other, and return its result; see
    `drive`."""
    result: Any = None
    try:
        while True:
            need = program.send(result)
            take()
            result = [drive_now(each, answer, take) for each in need] if isinstance(need, list) else answer(need)
    except StopIteration as end:
        take()
        return end.value


async def gather_all(todo: Sequence[Coroutine[Any, Any, None]]) -> None:
    """Run all coroutines to their end, even if one fails, so that replies in flight are kept. Then raise the first
    error; `Halted` only if there is no other."""
    if len(todo) == 1:
        await todo[0]
        return
    if _synchronous.get():
        outcomes: list[BaseException | None] = [await _outcome(each) for each in todo]
    else:
        outcomes = await asyncio.gather(*todo, return_exceptions=True)
    errors = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    if errors:
        raise next((error for error in errors if not isinstance(error, Halted)), errors[0])


async def _outcome(one: Coroutine[Any, Any, None]) -> BaseException | None:
    try:
        await one
    except BaseException as error:
        return error
    return None


def run_synchronously(work: Coroutine[Any, Any, Value]) -> Value:
    """Return the result of a coroutine that never waits, such as one that reads kept results. It runs to its end
    without an event loop, so it may be called inside a running one.

    >>> async def answer() -> int:
    ...     return 42
    >>> run_synchronously(answer())
    42
    """
    token = _synchronous.set(True)
    try:
        work.send(None)
    except StopIteration as end:
        value: Value = end.value
        return value
    finally:
        _synchronous.reset(token)
        work.close()
    raise RuntimeError("a step that should not wait waits")
