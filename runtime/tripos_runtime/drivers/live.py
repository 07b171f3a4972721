"""The live driver of programs: it asks models for what the ledger does not have.

Every result is in the ledger before its program continues. `ResultWriter` is the part that all drivers that keep
results share: it writes rows to the ledger and counts calls."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import field
from functools import cached_property
from typing import Any, NamedTuple

from tripos_compiler.language.evaluation import Unavailable
from tripos_compiler.plan import Ask, Converse, JudgedStep, Step
from tripos_compiler.plan.outcomes import NOT_APPLICABLE, NOT_ASKED, RETRIED_NEXT_RUN
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.asking.questions import SENT_ANEW, Adopted, Answer, UnreadableReply
from tripos_runtime.asking.replies import (
    FirstReply,
    SentRequest,
    answer_of,
    complete_reply,
    conversation_of,
    draft_of,
    first_replies,
    run_reply,
    turn_of,
)
from tripos_runtime.drivers.encoding import Encoder, Retriever
from tripos_runtime.drivers.rows import ResultRows, Row, answered_turn, skipped_columns
from tripos_runtime.models.base import Message
from tripos_runtime.program.adoption import Wanted, subject_of
from tripos_runtime.program.needs import (
    Answered,
    CallSkipped,
    ComparisonResult,
    ConversationEnded,
    ConversationNeed,
    ConversationSkipped,
    Need,
    PlanContext,
    Program,
    ProgramEvent,
    ReplyNeed,
    RetrievalEmpty,
    ScoreResult,
    ScorerNeed,
    SimilarityNeed,
)
from tripos_runtime.program.running import CallPlace, CaseState, ReplyWriter, drive, gather_all
from tripos_runtime.program.steps import UnitProgram, pair_program
from tripos_runtime.program.units import Conversation, Pair, StepCall, Unit, most_turns
from tripos_runtime.program.values import StepValues, is_kept_as_result
from tripos_runtime.scheduling.calling import Caller

CONDITIONS = "conditions"
"""The table of the conditions under which results were asked for."""


@dataclass
class ResultWriter(ReplyWriter):
    """Writes the results of one run to the ledger and counts them. Every result is in the ledger before its program
    continues."""

    scored: dict[str, float | None] | None = None
    """The values of scores by name, for a reader during the run."""

    @cached_property
    def row(self) -> ResultRows:
        """The row factory of this run."""
        return ResultRows(self.run)

    def take(self, result: ProgramEvent, part: Unit | Pair, shared: CaseState) -> None:
        """Keep and count an event of a program."""
        match result:
            case ScoreResult():
                self._keep_scores(result, part, shared)
            case CallSkipped():
                self._skip(result, part, shared)
            case ConversationEnded():
                self._keep_talk(result, part, shared)
            case ConversationSkipped():
                self._skip_talk(result, part, shared)
            case ComparisonResult():
                self._keep_comparison(result, part, shared)
            case RetrievalEmpty(status=status) if status in RETRIED_NEXT_RUN:
                self.complete = False

    def reuse(self, unit: Unit, shared: CaseState) -> None:
        """Count a unit whose results are all in the ledger."""
        for call in unit.calls:
            self._reuse_call(call, unit.case.scenario.name, shared)
        for talk in unit.talks.values():
            self.count_kept_conversation(unit, talk, shared)
        names = [call.name for call in unit.calls]
        for (fingerprint, _), scores in unit.scores.items():
            names += scores.values()
            if fingerprint in unit.bound.columns:
                continue
            self.run.tally.scores.update(shared.statuses[name] for name in scores.values() if shared.first(name))
        self.run.work.add(names)

    def count_kept_pair(self, pair: Pair, shared: CaseState) -> None:
        """Count a pair whose results are all in the ledger."""
        for call in pair.calls:
            self._reuse_call(call, pair.case.scenario.name, shared)
        outcomes = [name for name in pair.comparisons.values() if shared.first(name)]
        self.run.tally.comparisons.update(shared.statuses[name] for name in outcomes)
        self.run.work.add([name for table, name in pair.results if table != CONDITIONS])

    def _reuse_call(self, call: StepCall, scenario: str, shared: CaseState) -> None:
        """Count a call whose result is in the ledger. A call that was skipped then counts as skipped now."""
        if not shared.is_first_reuse(call.name):
            return
        status = shared.statuses[call.name]
        counter = self.run.tally.skipped if status in NOT_ASKED else self.run.tally.reused
        counter[call.role, scenario] += 1
        if status in NOT_ASKED:
            self.run.tally.unasked[call.role, "what was to be asked has no value"] += 1
        else:
            self.count_status(call.table, status)

    def count_kept_conversation(self, unit: Unit, talk: Conversation, shared: CaseState) -> None:
        """Count a conversation whose turns are all in the ledger."""
        if not shared.is_first_reuse(talk.name):
            return
        said = sum(name in shared.statuses for name in talk.turns)
        scenario = unit.case.scenario.name
        for number in range(1, len(talk.turns) + 1):
            counter = self.run.tally.reused if number <= said else self.run.tally.skipped
            counter[talk.speaker(number), scenario] += 1
        self.run.tally.samples[shared.statuses[talk.name]] += 1
        self.run.work.add([talk.name])

    def condition_rows(
        self, step: Ask | Converse | JudgedStep, name: str, item_id: str | None, shared: CaseState
    ) -> dict[str, list[Row]]:
        """Return the row that is kept with a result under a condition: it says that the step's condition held. Return
        nothing if the step has no condition or the row is kept already."""
        if shared.is_sure(name, step):
            return {}
        row = self.row.condition(step, name, item_id)
        shared.conditions.add(row["condition_id"])
        return {CONDITIONS: [row]}

    def keep_condition(
        self, step: Ask | Converse | JudgedStep, name: str, part: Unit | Pair, shared: CaseState
    ) -> None:
        """Keep that the condition of a step held for a result that is kept under other conditions only."""
        if rows := self.condition_rows(step, name, part.case.item_id, shared):
            self.run.ledger.keep(rows)

    def _companion_rows(self, call: StepCall, name: str, row: Row, shared: CaseState) -> dict[str, list[Row]]:
        """Return the rows that are kept with a reply. A turn uses the condition of its conversation."""
        return self.condition_rows(call.step, call.part_of or name, row["item_id"], shared)

    def _skip(self, result: CallSkipped, part: Unit | Pair, shared: CaseState) -> None:
        """Count a skipped call once per case. If its prompt has no value, keep that as a result."""
        call, against = result
        if against.status in RETRIED_NEXT_RUN:  # a retried status is never kept
            self.complete = False
        if not shared.first(call.name):
            return
        shared.skipped.add(call.name)
        self.run.tally.skipped[call.role, part.case.scenario.name] += 1
        if not is_kept_as_result(against):
            return
        self.run.tally.unasked[call.role, against.reason] += 1
        if call.name not in shared.statuses:
            own = (
                self.row.sample(part, call, call.name, part.number % call.step.samples)  # type: ignore[arg-type,union-attr]
                if call.table == "samples"
                else self.row.judgement(part, call)
            )
            beside = self.condition_rows(call.step, call.name, part.case.item_id, shared)
            self.run.ledger.keep({call.table: [{**own, **skipped_columns(against)}], **beside})
        else:
            self.keep_condition(call.step, call.name, part, shared)
        self.record_kept([call.name], against.status)

    def _skip_talk(self, result: ConversationSkipped, part: Unit | Pair, shared: CaseState) -> None:
        """Count the turns of a skipped conversation once per case. If a speaker's system message has no value, keep
        that as a result."""
        talk, against = result
        if against.status in RETRIED_NEXT_RUN:  # a retried status is never kept
            self.complete = False
        if not shared.first(talk.name):
            return
        shared.skipped.add(talk.name)
        for role, most in most_turns(talk.step):
            self.run.tally.skipped[role, part.case.scenario.name] += most
        if is_kept_as_result(against):
            self.run.tally.unasked[talk.step.opens, against.reason] += 1
            if talk.name not in shared.statuses:
                error = f"not held: {against.reason}"
                self._keep_held(
                    ConversationEnded(talk, dict, [], (), against.status, against.status, error), part, shared
                )
            else:
                self.keep_condition(talk.step, talk.name, part, shared)

    def _keep_talk(self, talked: ConversationEnded, part: Unit | Pair, shared: CaseState) -> None:
        """Keep a finished conversation and count the turns that were not needed."""
        talk = talked.talk
        for number in range(len(talked.turn_usage) + 1, len(talk.turns) + 1):
            self.run.tally.skipped[talk.speaker(number), part.case.scenario.name] += 1
        self._keep_held(talked, part, shared)

    def _keep_held(self, talked: ConversationEnded, part: Unit | Pair, shared: CaseState) -> None:
        assert isinstance(part, Unit)
        talk = talked.talk
        beside = self.condition_rows(talk.step, talk.name, part.case.item_id, shared)
        self.run.ledger.keep({"samples": [self.row.talk(part, talked)], **beside})
        self.run.tally.samples[talked.status] += 1
        self.record_kept([talk.name], talked.status)

    def _keep_scores(self, scored: ScoreResult, part: Unit | Pair, shared: CaseState) -> None:
        """Keep the scores that the ledger does not have yet."""
        assert isinstance(part, Unit)
        step = scored.step
        names = part.scores[step.fingerprint, scored.evaluator]
        rows: list[dict[str, Any]] = []
        for title, (_, status) in scored.values.items():
            name = names[title]
            if self.scored is not None and status != NOT_APPLICABLE:
                self.scored[name] = self.row.score(part, scored, title)["value"]
            if not shared.first(name):
                continue
            if step.fingerprint not in part.bound.columns:
                self.run.tally.scores[status] += 1
            self.record_kept([name], status)
            if name not in shared.statuses:
                rows.append(self.row.score(part, scored, title))
        if rows:
            self.run.ledger.keep({"scores": rows})

    def _keep_comparison(self, compared: ComparisonResult, part: Unit | Pair, shared: CaseState) -> None:
        """Keep an outcome that the ledger does not have yet."""
        assert isinstance(part, Pair)
        name = part.comparisons[compared.call.model]
        if not shared.first(name):
            return
        self.run.tally.comparisons[compared.status] += 1
        self.record_kept([name], compared.status)
        if name not in shared.statuses:
            self.run.ledger.keep({"comparisons": [self.row.comparison(part, compared)]})


class UnitContext(NamedTuple):
    """The unit or pair of a running program, the state of its case, and the events it has emitted."""

    part: Unit | Pair
    unit: Unit
    """The unit; for a pair, the first one."""
    shared: CaseState
    out: list[ProgramEvent]


@dataclass
class LiveDriver(ResultWriter):
    """Runs the programs of units and pairs with live models."""

    callers: Mapping[str, Caller] = field(default_factory=dict)
    encoder: Encoder | None = None
    """The encoder for retrieving steps."""

    @cached_property
    def world(self) -> PlanContext:
        """The inputs of programs."""
        return PlanContext(self.run.plan, self.run.sources)

    @cached_property
    def retriever(self) -> Retriever:
        """The similarity search for retrieving steps."""
        assert self.encoder is not None, "a run has an encoder"
        return Retriever(self.world.chooser, self.encoder)

    def steps(self, unit: Unit) -> Sequence[Step]:
        """Return the steps that a unit goes through."""
        return unit.bound.treatment.steps

    async def go_through(self, unit: Unit, shared: CaseState) -> None:
        """Run the program of a unit."""
        names = StepValues(unit.case.names)
        program = UnitProgram(self.world, unit, names, [], shared.retrieved)
        await self._drive(program.go(self.steps(unit)), UnitContext(unit, unit, shared, program.out))
        shared.names[unit] = names

    async def compare(self, pairs: Sequence[Pair], kept: Sequence[Pair], shared: CaseState) -> None:
        """Judge the pairs of finished units, and count the pairs whose results are all in the ledger."""
        for pair in kept:
            self.count_kept_pair(pair, shared)
        await gather_all([self._compare(pair, shared) for pair in pairs])

    async def _compare(self, pair: Pair, shared: CaseState) -> None:
        out: list[ProgramEvent] = []
        names = pair.names(shared.names[pair.first], shared.names[pair.second])
        await self._drive(pair_program(self.world, pair, names, out), UnitContext(pair, pair.first, shared, out))

    async def _drive(self, program: Program, at: UnitContext) -> Any:
        """Return the result of a program."""
        return await drive(program, lambda need: self.answer(need, at), lambda: self._take(at))

    def _take(self, at: UnitContext) -> None:
        """Keep and count the events that a program has emitted so far."""
        if at.out:
            results = at.out[:]
            at.out.clear()
            for result in results:
                self.take(result, at.part, at.shared)

    async def answer(self, need: Need, at: UnitContext) -> Answered:
        """Return what a program is sent for a need."""
        match need:
            case ReplyNeed():
                return await (self._turn(need, at) if need.talk is not None else self._reply(need, at))
            case ConversationNeed():
                return await self._hold(need, at)
            case SimilarityNeed():
                return await self._near(need, at)
            case ScorerNeed():
                return await need.scorer.awaited(need.request)

    async def _reply(self, need: ReplyNeed, at: UnitContext) -> Answer | Unavailable:
        """Return the reply to a step. The first unit that needs it asks for it, together with the samples that have the
        same prompt and that nobody has asked for yet."""
        call, shared = need.call, at.shared
        numbers = self._siblings(need, at)
        messages: tuple[Message, ...] = ()
        sure = shared.is_sure(call.name, call.step)
        if not sure or (call.name not in shared.answers and (len(numbers) > 1 or not shared.has_reply(call.name))):
            try:
                messages = self._sent(need, at)
            except Unavailable as reason:
                return reason
        if not sure and (call.name in shared.answers or call.name in shared.statuses):
            self.keep_condition(call.step, call.name, at.part, shared)
        if call.name in shared.answers:
            return await asyncio.shield(shared.answers[call.name])
        wanted = {name: number for name, number in numbers.items() if name not in shared.answers}
        answers = await shared.once(list(wanted), self._answers(need, wanted, messages, at))
        return answers[call.name]

    def _siblings(self, need: ReplyNeed, at: UnitContext) -> dict[str, int]:
        """Return the samples for one request, by name: those with the same prompt. With a seed, each sample is a
        request of its own with its own seed."""
        step, name = need.call.step, need.call.name
        found = {name: need.number}
        if isinstance(step, Ask) and step.samples > 1 and need.question.settings.seed is None:
            most = self.callers[need.call.model].model.most_samples
            if most > 1:
                kept = at.shared.statuses
                found |= {each: number for number, each in at.unit.all_samples(step) if each not in kept}
        return found

    def _sent(self, need: ReplyNeed, at: UnitContext) -> tuple[Message, ...]:
        """Return the messages for a need. An ask has the same messages after the same replies."""
        step = need.call.step
        if not isinstance(step, Ask):
            return need.prompt.messages()
        key = (step.fingerprint, step.condition, *at.unit.upstream(step.needs))
        if key not in at.shared.sent:
            at.shared.sent[key] = need.prompt.messages()
        return at.shared.sent[key]

    async def _answers(
        self, need: ReplyNeed, wanted: Mapping[str, int], sent: tuple[Message, ...], at: UnitContext
    ) -> dict[str, Answer]:
        """Return the answers to calls that send the same messages: from the ledger, or new ones, which are in the
        ledger on return. `wanted` has the sample number of each name."""
        shared, call, lane = at.shared, need.call, self._lane(need, at)
        for name in wanted:
            if name in shared.skipped:  # the call is made after all
                shared.skipped.discard(name)
                self.run.tally.skipped[lane] -= 1
        answers = {name: answer_of(shared.rows[name], need.question) for name in wanted if name in shared.statuses}
        await self._ask(need, {name: wanted[name] for name in wanted if name not in answers}, sent, answers, at)
        for name in wanted:
            if name in shared.statuses and shared.is_first_reuse(name):
                self.run.tally.reused[lane] += 1
                self.count_status(call.table, answers[name].status)
                self.run.work.add([name])
        return answers

    async def _ask(
        self,
        need: ReplyNeed,
        numbers: Mapping[str, int],
        sent: tuple[Message, ...],
        answers: dict[str, Answer],
        at: UnitContext,
    ) -> None:
        """Ask for replies, or continue from what the ledger has of them, and add them to `answers`."""
        if not numbers:
            return
        shared, caller, lane = at.shared, self.callers[need.call.model], self._lane(need, at)
        request, place = self._send(need, sent, at), CallPlace(need.call.table, need.call.model, lane)
        identity = at.unit.bound.binding.identity_of(need.call.model)
        requests = {name: need.question.digest(identity, sent, number) for name, number in numbers.items()}
        firsts: dict[str, UnreadableReply | Adopted] = {
            name: draft_of(shared.drafts[name]) for name in numbers if name in shared.drafts
        }
        for message in sent:  # adopted and batched replies may have been sent by another process
            self.run.sources.reader.media.keep_shown(message.content)
        for name, number in numbers.items():
            if name not in firsts and (adopted := self._find_reuse(need, name, number, requests[name], at)):
                firsts[name] = adopted

        async def settle(name: str, first: FirstReply | UnreadableReply | Adopted) -> None:
            own = {**self._row(need, name, numbers[name], at), **SENT_ANEW, "request_digest": requests[name]}

            def keep(draft: UnreadableReply) -> None:
                self.keep_draft(own, name, draft)

            program = complete_reply(request, first, numbers[name])
            answer = answers[name] = await run_reply(program, caller, lane, keep)
            left_out = first.row.get("left_out", 0) if isinstance(first, Adopted) else getattr(first, "left_out", 0)
            row = {**own, **(answer.columns if need.talk is None else answered_turn(answer, left_out))}
            if need.talk is not None:
                answers[name] = turn_of(row)
            companions = self._companion_rows(need.call, name, row, shared)
            self.keep_reply(place, name, answer, row, first, companions)

        async def ask(names: list[str]) -> None:
            program = first_replies(request, len(names), numbers[names[0]])
            replies = await run_reply(program, caller, lane, _no_draft)
            left = names[len(replies) :]
            answered = [settle(name, first) for name, first in zip(names, replies, strict=False)]
            await gather_all([*answered, *(ask([name]) for name in left)])

        fresh = [name for name in numbers if name not in firsts]
        most = max(1, caller.model.most_samples)
        chunks = [fresh[start : start + most] for start in range(0, len(fresh), most)]
        await gather_all([*map(ask, chunks), *(settle(name, first) for name, first in firsts.items())])

    def _send(self, need: ReplyNeed, sent: tuple[Message, ...], at: UnitContext) -> SentRequest:
        model, prompt = self.callers[need.call.model].model, need.prompt
        language, name = at.unit.case.language, need.call.name
        contents = self.run.sources.reader.media.content
        return SentRequest(model, need.question, sent, language, prompt.left_out, prompt.shorter, name, contents)

    def _row(self, need: ReplyNeed, name: str, number: int, at: UnitContext) -> dict[str, Any]:
        """Return the columns of a result other than those of its answer."""
        if need.talk is not None:
            return self.row.turn(at.unit, need.talk, need.call)
        if need.call.table == "judgements":
            return self.row.judgement(at.part, need.call)
        return self.row.sample(at.unit, need.call, name, number)

    def _lane(self, need: ReplyNeed, at: UnitContext) -> tuple[str, str]:
        return need.call.role, at.unit.case.scenario.name

    def _find_reuse(self, need: ReplyNeed, name: str, number: int, request: str, at: UnitContext) -> Adopted | None:
        """Return a reply that the ledger has under another name, if any."""
        if self.adoption is None or at.shared.case is None:
            return None
        wanted = Wanted(need.call.table, name, need.call.model, request, number, subject_of(need.call, at.unit))
        return self.adoption.find(wanted, at.shared.case)

    async def _turn(self, need: ReplyNeed, at: UnitContext) -> Answer | Unavailable:
        """Return a turn from the ledger, or a new one, which is in the ledger on return."""
        name, shared = need.call.name, at.shared
        if name in shared.statuses and name in shared.rows:
            self.run.tally.reused[self._lane(need, at)] += 1
            return turn_of(shared.rows[name])
        answers: dict[str, Answer] = {}
        await self._ask(need, {name: need.number}, need.prompt.messages(), answers, at)
        return answers[name]

    async def _hold(self, need: ConversationNeed, at: UnitContext) -> Answer | Unavailable:
        """Return a conversation. The first unit that needs it holds it; a person holds only one conversation at a
        time."""
        talk, shared = need.talk, at.shared
        sure = shared.is_sure(talk.name, talk.step)
        if not sure or (talk.name not in shared.answers and not shared.has_reply(talk.name)):
            try:
                need.systems()
            except Unavailable as reason:
                return reason
        if not sure and (talk.name in shared.answers or talk.name in shared.statuses):
            self.keep_condition(talk.step, talk.name, at.part, shared)
        if talk.name in shared.answers:
            return await asyncio.shield(shared.answers[talk.name])
        return (await shared.once([talk.name], self._known_answers(need, at)))[talk.name]

    async def _known_answers(self, need: ConversationNeed, at: UnitContext) -> dict[str, Answer]:
        talk, shared = need.talk, at.shared
        if talk.name in shared.skipped:  # the conversation is held after all
            shared.skipped.discard(talk.name)
            for role, most in most_turns(talk.step):
                self.run.tally.skipped[role, at.unit.case.scenario.name] -= most
        if talk.name in shared.statuses:
            self.count_kept_conversation(at.unit, talk, shared)
            return {talk.name: conversation_of(shared.rows[talk.name])}
        async with AsyncExitStack() as stack:
            for model in sorted(set(talk.models.values())):
                alone = getattr(self.callers[model].model, "alone", None)
                if alone is not None:
                    await stack.enter_async_context(alone)
            return {talk.name: await self._drive(need.program(), at)}

    async def _near(self, need: SimilarityNeed, at: UnitContext) -> Any:
        """Return the similarities of elements, computed once for all units that search for the same text."""
        near = at.shared.near
        if need.key not in near:
            lane = (str(need.step.using), at.unit.case.scenario.name)
            (model,) = at.unit.bound.retrieved[need.step.name]
            near[need.key] = asyncio.ensure_future(self.retriever.values(need.step, model, lane, need.names))
        return await asyncio.shield(near[need.key])


def _no_draft(draft: UnreadableReply) -> None:
    raise AssertionError("a first reply has no draft")
