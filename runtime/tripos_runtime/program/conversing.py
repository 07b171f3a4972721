"""Holds conversations: turn by turn, each in the ledger before the next is asked.

A turn is named by its conversation and its number, and a conversation by what determines it: so one that was cut short
goes on after its last turn, and one that several treatments or models have in common is held once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tripos_compiler.language.conversations import leave_out, opening, seen_by
from tripos_compiler.language.evaluation import Unavailable
from tripos_compiler.language.library.functions.dialogues import transcript
from tripos_compiler.language.library.types import Dialogue
from tripos_compiler.language.rendering import render
from tripos_compiler.plan import Converse, Speaker
from tripos_runtime.asking.asking import CONTEXT_EXCEEDED, Adopted, Answer, Asking, Question, dumps, text_reader
from tripos_runtime.asking.kept_rows import dialogue_of
from tripos_runtime.asking.ledger import Row
from tripos_runtime.asking.statuses import AGAIN, OK
from tripos_runtime.datasets.cases import Case
from tripos_runtime.datasets.sources import Sources
from tripos_runtime.models.base import Message, ModelError
from tripos_runtime.program.adopting import Wanted
from tripos_runtime.program.case_cache import Shared
from tripos_runtime.program.talks import LIMIT, SAID, Talk, ends, most_turns
from tripos_runtime.program.units import Call, is_told

if TYPE_CHECKING:
    from tripos_runtime.program.stepping import Stepper
    from tripos_runtime.program.units import Names, Unit

SUMMED = ("attempts", "tokens_in", "tokens_out", "tokens_reasoning", "cost_usd", "latency_s")
"""What a conversation takes is what its turns take together."""
OF_TURN = ("status", "error", "finish_reason", "model_served", *SUMMED)


async def converse(stepper: Stepper, unit: Unit, step: Converse, names: Names, shared: Shared) -> None:
    """Holds the conversation of a unit, unless that was done, and puts it among the names."""
    talk = unit.talks[step.name]
    against = names.against(step)
    told: dict[str, str] = {}
    if against is None and talk.name not in shared.answers:
        try:
            told = systems(step, unit.case, names.values, stepper.sources)
        except Unavailable as reason:
            against = reason
    if against is not None:
        _skip(stepper, unit, talk, against, shared)
        names.lacks(step, against.status, against.reason)
        return

    async def make(wanted: Sequence[str]) -> Mapping[str, Answer]:
        holding = _Holding(stepper, unit, talk, told, shared)
        async with AsyncExitStack() as stack:
            for alone in holding.alone():
                await stack.enter_async_context(alone)
            return {talk.name: await holding.hold()}

    answer = await shared.once(talk.name, [talk.name], make)
    names.talked(step, answer.value, answer.status)


def systems(step: Converse, case: Case, names: Mapping[str, Any], sources: Sources) -> dict[str, str]:
    """The system message of each role that is told something. Raises `Unavailable` where one needs what an earlier
    step did not yield."""
    found = {}
    for speaker in step.speakers:
        text = _system(speaker, case, names, sources)
        if text:
            found[speaker.role] = text
    return found


def _system(speaker: Speaker, case: Case, names: Mapping[str, Any], sources: Sources) -> str:
    if speaker.system is None:
        return ""
    return render(speaker.system[case.language], names, case.language, sources.axes)


def count_kept(stepper: Stepper, unit: Unit, talk: Talk, shared: Shared) -> None:
    """Counts a conversation of which the ledger has everything."""
    if not shared.reuses(talk.name):
        return
    said = sum(name in shared.kept for name in talk.turns)
    scenario = unit.case.scenario.name
    for number in range(1, len(talk.turns) + 1):
        counter = stepper.tally.reused if number <= said else stepper.tally.skipped
        counter[talk.speaker(number), scenario] += 1
    stepper.tally.samples[shared.kept[talk.name]] += 1
    stepper.work.add([talk.name])


def _skip(stepper: Stepper, unit: Unit, talk: Talk, against: Unavailable, shared: Shared) -> None:
    """Counts the turns of a conversation that is not held, once for all units; one in which a speaker cannot be told
    what it is to be told is kept as a result."""
    if against.status in AGAIN:  # no row may say so
        stepper.whole = False
    if shared.first(talk.name):
        shared.skipped.add(talk.name)
        for role, most in most_turns(talk.step):
            stepper.tally.skipped[role, unit.case.scenario.name] += most
        if is_told(against):
            stepper.tally.unasked[talk.step.opens, against.reason] += 1
            if talk.name not in shared.kept:
                _Holding(stepper, unit, talk, {}, shared).keep_unheld(against)


@dataclass
class _Holding:
    """One conversation on its way."""

    stepper: Stepper
    unit: Unit
    talk: Talk
    told: Mapping[str, str]
    shared: Shared
    turns: Dialogue = field(default_factory=list)
    taken: list[Mapping[str, Any]] = field(default_factory=list)
    """What every turn took, as columns."""
    left_out: dict[str, int] = field(default_factory=dict)
    """How many turns are not shown to a role any more, since the dialogue would pass the context of its model."""

    def alone(self) -> Iterator[AbstractAsyncContextManager[None]]:
        """What keeps those who hold one conversation at a time, as people do, to this one."""
        if self.talk.name in self.shared.kept:
            return
        for model in sorted(set(self.talk.models.values())):
            alone = getattr(self.stepper.callers[model].model, "alone", None)
            if alone is not None:
                yield alone

    async def hold(self) -> Answer:
        """What comes of it; what is new is in the ledger by then."""
        stepper, talk, shared = self.stepper, self.talk, self.shared
        if talk.name in shared.skipped:  # it is held after all
            shared.skipped.discard(talk.name)
            for role, most in most_turns(talk.step):
                stepper.tally.skipped[role, self.scenario] -= most
        if talk.name in shared.kept:
            row = shared.rows[talk.name]
            count_kept(stepper, self.unit, talk, shared)
            return Answer(row["status"], row["reply"], dialogue_of(row), "", {})
        status, ended, error = OK, LIMIT, None
        for number, name in enumerate(talk.turns, 1):
            role = talk.speaker(number)
            row = await self._turn(number, name, role)
            self.taken.append(row)
            self.left_out[role] = row["left_out"]
            if row["text"] is None:
                passed = str(row["error"]).startswith(CONTEXT_EXCEEDED)
                status, ended, error = row["status"], "context_exceeded" if passed else row["status"], row["error"]
                break
            self.turns.append({"speaker": role, "text": row["text"]})
            if ends(talk.step, role, row["text"]):
                ended = SAID
                break
        for number in range(len(self.taken) + 1, len(talk.turns) + 1):
            stepper.tally.skipped[talk.speaker(number), self.scenario] += 1
        return self._keep(status, ended, error)

    @property
    def scenario(self) -> str:
        """Its name."""
        return self.unit.case.scenario.name

    async def _turn(self, number: int, name: str, role: str) -> Row:
        """A turn as the ledger has it, or else a new one, which it has by then."""
        if name in self.shared.kept and name in self.shared.rows:
            self.stepper.tally.reused[role, self.scenario] += 1
            return self.shared.rows[name]
        left_out = self.left_out.get(role, 0)
        asking = self._asking(role, left_out)
        identity = self.unit.wiring.binding.identity_of(self.talk.models[role])
        request = asking.question.digest(identity, asking.sent, self.talk.number)
        found = self._adopted(name, role, request)
        if found is not None:
            answer, left_out = await asking.adopt(found, lambda draft: None), found.row["left_out"]
        else:
            answer, left_out = await self._ask(role, asking, left_out)
        row = {
            "turn_id": name,
            "conversation_id": self.talk.name,
            **self._place(),
            "conversation_number": self.talk.number,
            "number": number,
            "role": role,
            "model": self.talk.models[role],
            "identity": self.unit.wiring.binding.identity_beside(self.talk.models[role]),
            "text": answer.text,
            "left_out": left_out,
            **{column: answer.columns[column] for column in OF_TURN},
            "request_digest": request,
            "adopted_from": None,
        }
        if found is not None:
            call = Call("turns", name, role, self.talk.models[role], self.talk.step, self.talk.name)
            self.stepper.keep_adopted(call, answer, row, found, (role, self.scenario))
            return row
        self.stepper.ledger.keep({"turns": [row]})
        self.stepper.tally.count((role, self.scenario), self.talk.models[role], answer)
        return row

    def _adopted(self, name: str, role: str, request: str) -> Adopted | None:
        """The turn that another conversation has after the same, if any."""
        adoption, here = self.stepper.adoption, self.shared.here
        if adoption is None or here is None:
            return None
        about = (self.unit.case.item_id,)
        return adoption.find(Wanted("turns", name, self.talk.models[role], request, self.talk.number, about), here)

    def _asking(self, role: str, left_out: int) -> Asking:
        """What is sent to a role, where that many turns are not shown to it."""
        step, language = self.talk.step, self.unit.case.language
        settings = next(speaker.settings for speaker in step.speakers if speaker.role == role)
        question = Question(None, None, settings, None, text_reader)
        sent = said_to(role, self.told, self.turns, opening(language) if role == step.opens else None, left_out)
        return Asking(self.stepper.callers[self.talk.models[role]], question, sent, language, (role, self.scenario))

    async def _ask(self, role: str, asking: Asking, left_out: int) -> tuple[Answer, int]:
        """What a role says next, and how many turns were not shown to it."""
        while True:
            [first] = await asking.first(1, self.talk.number)
            if isinstance(first, ModelError) and first.code == CONTEXT_EXCEEDED:
                more = leave_out(len(self.turns), left_out)
                if more is not None:
                    left_out = more
                    asking = self._asking(role, left_out)
                    continue
            return await asking.settle(first, lambda draft: None, self.talk.number), left_out

    def _place(self) -> dict[str, Any]:
        return {
            **self.stepper.common(
                self.unit, self.talk.step.fingerprint, self.unit.pattern.samples[self.talk.step.name]
            ),
            "step": self.talk.step.name,
            "item_id": self.unit.case.item_id,
        }

    def _keep(self, status: str, ended: str, error: str | None) -> Answer:
        step, models = self.talk.step, self.talk.models
        text = transcript(self.turns) if self.turns else None
        role = self.unit.wiring.told_by(step)
        begun = [{"role": "user", "name": step.opens, "content": opening(self.unit.case.language)}]
        told = [{"role": "system", "name": name, "content": text} for name, text in self.told.items()]
        columns = {
            "messages": dumps([*told, *begun]),
            "reply": text,
            "parsed": dumps({"ended": ended, "ended_by": self._last(), "models": dict(models), "turns": self.turns}),
            "status": status,
            "error": error,
            "finish_reason": ended,
            "model_served": None,
            **{column: _sum([row[column] for row in self.taken]) for column in SUMMED},
        }
        row = {
            "sample_id": self.talk.name,
            **self._place(),
            "context": dict(self.unit.case.context),
            "role": role,
            "model": models[role],
            "identity": self.unit.wiring.binding.identity_beside(models[role]),
            "sample_number": self.talk.number,
            **columns,
            "request_digest": None,
            "adopted_from": None,
        }
        self.stepper.ledger.keep({"samples": [row]})
        self.stepper.tally.samples[status] += 1
        self.stepper.settled([self.talk.name], status)
        return Answer(status, text, self.turns, "", columns)

    def keep_unheld(self, against: Unavailable) -> None:
        """Keeps that the conversation is not held, and why."""
        self._keep(against.status, against.status, f"not held: {against.reason}")

    def _last(self) -> str:
        """Who spoke last, or would have."""
        return self.talk.speaker(len(self.taken))


def said_to(
    role: str, told: Mapping[str, str], turns: Dialogue, begun: str | None, left_out: int = 0
) -> tuple[Message, ...]:
    """The messages to a role: its system message and the dialogue as it sees it."""
    system = [Message("system", told[role])] if role in told else []
    return (*system, *(Message(*each) for each in seen_by(role, turns, begun, left_out)))


def _sum(values: Sequence[float | None]) -> float | None:
    """What nobody told of one is not known of all."""
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
