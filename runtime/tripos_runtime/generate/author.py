"""The driver of programs that generate rows. A reply in the ledger is not asked for again, and a new reply is written
to the ledger before it is used."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from dataclasses import field
from functools import cached_property, partial
from typing import Any, NamedTuple

from tripos_compiler.language.evaluation import Unavailable
from tripos_compiler.plan import Ask, GeneratedDataset
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.asking.ledger import Ledger, Row, kept_statuses, sample_id
from tripos_runtime.asking.plan_questions import Questions
from tripos_runtime.asking.questions import (
    SENT_ANEW,
    Adopted,
    Answer,
    Question,
    UnreadableReply,
    answer_from,
    as_one_text,
    read_again,
)
from tripos_runtime.asking.replies import (
    FirstReply,
    SentRequest,
    answer_of,
    complete_reply,
    draft_of,
    first_replies,
    run_reply,
)
from tripos_runtime.models.base import Message, RequestOrigin
from tripos_runtime.models.kinds import kind_of
from tripos_runtime.program.adoption import NOWHERE, ReplyReuse, Wanted
from tripos_runtime.program.needs import pending
from tripos_runtime.program.running import CallPlace, ReplyWriter, drive
from tripos_runtime.scheduling.calling import Caller


@dataclass(frozen=True)
class LedgerEntries:
    """The ledger's entries of some replies by name."""

    names: frozenset[str] = frozenset()
    """The names that were looked up. A name that is not among `rows` and `drafts` has no reply yet."""
    rows: Mapping[str, Row] = field(default_factory=dict)
    """The complete replies."""
    drafts: Mapping[str, Row] = field(default_factory=dict)
    """The replies that could not be read and have not been repaired yet."""


@dataclass(frozen=True)
class GenerationCall:
    """A call for the slot at the place `slot` of a data set. `author` is true if the step writes the row.

    `place` is the scenario that the data set is in, or else the data set. `item` names what the call is about, `number`
    counts the attempts from 0, `identity` is that of `model`, and `upstream` are the names of the replies that the call
    builds on. `binding` identifies the step and all models that generate the data set."""

    slot: int
    step: Ask
    author: bool
    dataset: str
    place: str
    item: str
    context: Mapping[str, str]
    language: str
    number: int
    model: str
    identity: str
    upstream: tuple[str, ...]
    binding: str

    @property
    def name(self) -> str:
        """The name of the reply. It contains the binding, like every name, so a run with another reviewer has different
        names; it reuses the author's replies by adopting them."""
        return sample_id(self.step.fingerprint, self.item, self.identity, self.number, (self.binding, *self.upstream))

    @property
    def title(self) -> str:
        """The name of the step in tables: the data set for the author's step, else the step's own name."""
        dataset = self.dataset.rpartition(".")[2]
        return dataset if self.author else f"{dataset}.{self.step.name}"

    @property
    def lane(self) -> tuple[str, str]:
        """The role and the data set of the call."""
        return self.step.role, self.dataset


class NobodyAsked(Exception):
    """A reply is missing, and no model may be asked; or the value of a function is missing, and none may be called."""


@dataclass(frozen=True, slots=True)
class GenerationNeed:
    """The need of a program for a reply to `question`, with the messages `sent`. `node` is the current node of a walk.
    The program receives the `Answer`, or `Unavailable` if no model is asked."""

    call: GenerationCall
    sent: tuple[Message, ...]
    question: Question
    node: Mapping[str, Any] | None = None


class PlannedCalls(NamedTuple):
    """A row needs `more` calls than one of each step, or fewer if it is negative. The program receives nothing."""

    lane: tuple[str, str]
    more: int


MakingProgram = Generator["GenerationNeed | PlannedCalls | list[MakingProgram]", Any, Any]
"""A program that generates a row, as a generator: it yields what it needs, or a list of programs to run at once, and
receives the results."""


class GenerationObserver:
    """Learns of the generation of data sets. By default it does nothing."""

    def on_attempt(self, dataset: str, place: int, number: int) -> None:
        """Learn of an attempt at the slot at a place of a data set, counted from 0, before it is made."""

    def on_reused(self, call: GenerationCall) -> None:
        """Learn of a reply that is not asked for, since the ledger has it."""

    def on_unasked(self, need: GenerationNeed) -> None:
        """Learn of a call that is not made, since no model may be asked."""

    def on_made(self, dataset: GeneratedDataset) -> None:
        """Learn of a data set whose rows are complete, before anything is generated from them."""

    def on_failure(self) -> None:
        """Learn that an attempt raised an error, so that no new calls should be made. Calls in flight are finished."""


@dataclass
class Asker(ReplyWriter):
    """Drives programs that generate rows. The `callers` by model make their calls; without callers no model is asked,
    and missing replies are pending."""

    callers: Mapping[str, Caller] | None = None
    observer: GenerationObserver = field(default_factory=GenerationObserver)
    _listed: set[tuple[str, str]] = field(default_factory=set)
    """The places and names that `enlist` has recorded."""

    @cached_property
    def questions(self) -> Questions:
        """The questions of the steps."""
        return Questions(self.run.plan, tuple(self.run.sources.axes.values()))

    async def drive(self, program: MakingProgram, entries: LedgerEntries) -> Any:
        """Return the result of a program; `entries` are the replies looked up for it. Raises the errors of callers."""

        async def answer(need: GenerationNeed | PlannedCalls) -> Answer | Unavailable | None:
            if isinstance(need, GenerationNeed):
                return await self._answer(need, entries)
            self.run.tally.planned[need.lane] += need.more
            return None

        return await drive(program, answer)

    async def _answer(self, need: GenerationNeed, entries: LedgerEntries) -> Answer | Unavailable:
        """Return the answer to a call: the kept one, or a new one; pending if no model is asked."""
        call, question, sent, name = need.call, need.question, need.sent, need.call.name
        self.enlist(call.place, [name])
        if name not in entries.names:
            entries = find_entries(self.run.ledger, [name])
        if name in entries.rows:
            self.observer.on_reused(call)
            kept = answer_of(entries.rows[name], question)
            self.run.tally.reused[call.lane] += 1
            self.count_status("samples", kept.status)
            self.run.work.add([name])
            return kept
        request = question.digest(call.identity, sent, call.number)
        adopted = None if name in entries.drafts else self._find_reuse(call, request)
        if self.callers is None:
            if adopted is not None and (answer := _reused_answer(adopted, question, sent)) is not None:
                self.observer.on_reused(call)
                return answer
            self.observer.on_unasked(need)
            return pending(call.step.name)
        caller = self.callers[call.model]
        for message in sent:
            self.run.sources.reader.media.keep_shown(message.content)
        to_send = SentRequest(
            caller.model,
            question,
            sent,
            call.language,
            name=name,
            contents=self.run.sources.reader.media.content,
            origin=partial(self._origin, call) if kind_of(caller.model.name).needs_origin else None,
        )
        row = {**self._row(call), **SENT_ANEW, "request_digest": request}

        def keep(draft: UnreadableReply) -> None:
            self.keep_draft(row, name, draft)

        first: FirstReply | UnreadableReply | Adopted
        if adopted is not None:
            first = adopted
        elif name in entries.drafts:
            first = draft_of(entries.drafts[name])
        else:
            (first,) = await run_reply(first_replies(to_send, 1, call.number), caller, call.lane, keep)
        answer = await run_reply(complete_reply(to_send, first, call.number), caller, call.lane, keep)
        self.keep_reply(CallPlace("samples", call.model, call.lane), name, answer, {**row, **answer.columns}, first)
        if adopted is not None:
            self.observer.on_reused(call)
        return answer

    def _origin(self, call: GenerationCall, number: int) -> RequestOrigin:
        """Return the place in the run that an attempt at a row is for; `number` is the number of the attempt."""
        return RequestOrigin(
            scenario=call.place,
            role=call.step.role,
            ask=call.title,
            number=number,
            item_names=(call.item,),
            values=call.context,
        )

    def _find_reuse(self, call: GenerationCall, request: str) -> Adopted | None:
        """Return a reply that the ledger has under another name, if any."""
        if self.adoption is None:
            return None
        wanted = Wanted("samples", call.name, call.model, request, call.number, (call.item,))
        return self.adoption.find(wanted, NOWHERE)

    def refresh(self) -> None:
        """Read what other processes have written to the ledger."""
        if isinstance(self.adoption, ReplyReuse):
            self.adoption.refresh()
        else:
            self.run.ledger.refresh()

    def enlist(self, place: str, names: Iterable[str]) -> None:
        """Record in the ledger that the slots or replies with these names belong to the run, at a place."""
        new = [name for name in names if (place, name) not in self._listed]
        if new and self.callers is not None:
            self._listed.update((place, name) for name in new)
            rows = [{"run_id": self.run.run_id, "scenario": place, "made_id": name} for name in new]
            self.run.ledger.keep({"run_slots": rows})

    def _row(self, call: GenerationCall) -> dict[str, Any]:
        return {
            "sample_id": call.name,
            "run_id": self.run.run_id,
            "benchmark": self.run.plan.benchmark.name,
            "scenario": call.place,
            "fingerprint": call.step.fingerprint,
            "binding": call.binding,
            "created_at": self.run.now(),
            "step": call.title,
            "item_id": call.item,
            "context": {"language": call.language, **call.context},
            "role": call.step.role,
            "model": call.model,
            "identity": call.identity if call.identity != call.model else None,
            "sample_number": call.number,
        }


def _reused_answer(adopted: Adopted, question: Question, sent: tuple[Message, ...]) -> Answer | None:
    """Return the answer that an adopted reply gives; None if it still needs to be repaired by the model."""
    row = adopted.row
    if row["reply"] is None:
        return Answer(row["status"], None, None, as_one_text(sent), {"error": row["error"]})
    replied, outcome = read_again(question, row, adopted.draft)
    if outcome is None:
        return None
    raw = replied.get("reply", row["reply"])
    return answer_from(outcome, raw, outcome.status, as_one_text(sent), {"error": outcome.error})


def find_entries(ledger: Ledger, names: Iterable[str]) -> LedgerEntries:
    """Return the ledger's entries of these replies, without failed calls, which are retried."""
    distinct = list(dict.fromkeys(names))
    kept = kept_statuses(ledger, {"samples": distinct}, final=True).keys()
    rows = ledger.rows("samples", kept) if kept else {}
    absent = {name for name in distinct if name not in kept}
    drafts = ledger.drafts(absent) if absent and hasattr(ledger, "drafts") else {}
    return LedgerEntries(frozenset(distinct), rows, drafts)
