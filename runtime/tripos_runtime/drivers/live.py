"""The live driver of programs: it asks models for the replies that are not in the ledger.

Every result is in the ledger before its program continues. `ResultWriter` is the part that other drivers use too: it
writes rows to the ledger and counts calls; `ResultRows` builds these rows."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import field
from functools import cached_property, partial
from typing import Any, NamedTuple

from tripos_compiler.language.evaluation import Unavailable
from tripos_compiler.language.rendering import opening_text
from tripos_compiler.library.functions.dialogues import transcript
from tripos_compiler.plan import Ask, Compare, Converse, Grade, JudgedStep, Step
from tripos_compiler.plan.outcomes import NOT_APPLICABLE, NOT_ASKED, RETRIED_NEXT_RUN
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.asking.judging import comparison_worth, score_columns
from tripos_runtime.asking.ledger import condition_id
from tripos_runtime.asking.questions import NO_REPLY, SENT_ANEW, Adopted, Answer, UnreadableReply, dumps
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
from tripos_runtime.models.base import Message, RequestOrigin
from tripos_runtime.models.kinds import kind_of
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
from tripos_runtime.program.running import CallPlace, CaseState, ReplyWriter, RunContext, drive, gather_all
from tripos_runtime.program.steps import UnitProgram, pair_program
from tripos_runtime.program.units import Conversation, Pair, StepCall, Unit, most_turns
from tripos_runtime.program.values import StepValues, is_kept_as_result
from tripos_runtime.scheduling.calling import Caller

CONDITIONS = "conditions"
"""The table that records the conditions under which results were asked for."""


@dataclass
class ResultWriter(ReplyWriter):
    """Writes the results of one run to the ledger and counts them. Every result is in the ledger before its program
    continues."""

    scored: dict[str, float | None] | None = None
    """The values of scores by name, for a run with a stopping rule; None for other runs."""

    @cached_property
    def row(self) -> ResultRows:
        """The builder of the rows of this run."""
        return ResultRows(self.run)

    def take(self, event: ProgramEvent, part: Unit | Pair, shared: CaseState) -> None:
        """Count an event of a program, and write its result to the ledger unless the ledger has it."""
        match event:
            case ScoreResult():
                self._keep_scores(event, part, shared)
            case CallSkipped():
                self._skip_call(event, part, shared)
            case ConversationEnded():
                self._keep_conversation(event, part, shared)
            case ConversationSkipped():
                self._skip_conversation(event, part, shared)
            case ComparisonResult():
                self._keep_comparison(event, part, shared)
            case RetrievalEmpty(status=status) if status in RETRIED_NEXT_RUN:
                self.complete = False

    def reuse(self, unit: Unit, shared: CaseState) -> None:
        """Count a unit whose results are all in the ledger."""
        for call in unit.calls:
            self._reuse_call(call, unit.case.scenario.name, shared)
        for conversation in unit.talks.values():
            self.count_kept_conversation(unit, conversation, shared)
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
        """Count a call whose result is in the ledger: as skipped if the result says that nothing was asked, otherwise
        as reused."""
        if not shared.is_first_reuse(call.name):
            return
        status = shared.statuses[call.name]
        counter = self.run.tally.skipped if status in NOT_ASKED else self.run.tally.reused
        counter[call.role, scenario] += 1
        if status in NOT_ASKED:
            self.run.tally.unasked[call.role, "what was to be asked has no value"] += 1
        else:
            self.count_status(call.table, status)

    def count_kept_conversation(self, unit: Unit, conversation: Conversation, shared: CaseState) -> None:
        """Count a conversation that is in the ledger: its turns as reused, and the remaining possible turns as
        skipped."""
        if not shared.is_first_reuse(conversation.name):
            return
        turns_taken = sum(name in shared.statuses for name in conversation.turns)
        scenario = unit.case.scenario.name
        for number in range(1, len(conversation.turns) + 1):
            counter = self.run.tally.reused if number <= turns_taken else self.run.tally.skipped
            counter[conversation.speaker(number), scenario] += 1
        self.run.tally.samples[shared.statuses[conversation.name]] += 1
        self.run.work.add([conversation.name])

    def condition_rows(
        self, step: Ask | Converse | JudgedStep, name: str, item_id: str | None, shared: CaseState
    ) -> dict[str, list[Row]]:
        """Return the row that records, for the result `name`, that the condition of its step held; empty if the step
        has no condition or the row is in the ledger already."""
        if shared.is_sure(name, step):
            return {}
        row = self.row.condition(step, name, item_id)
        shared.conditions.add(row["condition_id"])
        return {CONDITIONS: [row]}

    def keep_condition(
        self, step: Ask | Converse | JudgedStep, name: str, part: Unit | Pair, shared: CaseState
    ) -> None:
        """Record that the condition of a step held for a result, if this is not recorded yet. The ledger may have the
        result from a step with another condition."""
        if rows := self.condition_rows(step, name, part.case.item_id, shared):
            self.run.ledger.keep(rows)

    def _companion_rows(self, call: StepCall, name: str, row: Row, shared: CaseState) -> dict[str, list[Row]]:
        """Return the condition row to keep together with a reply; for a turn, that of its conversation."""
        return self.condition_rows(call.step, call.part_of or name, row["item_id"], shared)

    def _skip_call(self, event: CallSkipped, part: Unit | Pair, shared: CaseState) -> None:
        """Count a skipped call once per case. If the reason is that its prompt has no value, keep a row that says
        so."""
        call, reason = event
        if reason.status in RETRIED_NEXT_RUN:  # a retried status is never kept
            self.complete = False
        if not shared.first(call.name):
            return
        shared.skipped.add(call.name)
        self.run.tally.skipped[call.role, part.case.scenario.name] += 1
        if not is_kept_as_result(reason):
            return
        self.run.tally.unasked[call.role, reason.reason] += 1
        if call.name not in shared.statuses:
            columns = (
                self.row.sample(part, call, call.name, part.number % call.step.samples)  # type: ignore[arg-type,union-attr]
                if call.table == "samples"
                else self.row.judgement(part, call)
            )
            companions = self.condition_rows(call.step, call.name, part.case.item_id, shared)
            self.run.ledger.keep({call.table: [{**columns, **skipped_columns(reason)}], **companions})
        else:
            self.keep_condition(call.step, call.name, part, shared)
        self.record_kept([call.name], reason.status)

    def _skip_conversation(self, event: ConversationSkipped, part: Unit | Pair, shared: CaseState) -> None:
        """Count the turns of a skipped conversation once per case. If the reason is that a speaker's system message has
        no value, keep a row that says so."""
        conversation, reason = event
        if reason.status in RETRIED_NEXT_RUN:  # a retried status is never kept
            self.complete = False
        if not shared.first(conversation.name):
            return
        shared.skipped.add(conversation.name)
        for role, most in most_turns(conversation.step):
            self.run.tally.skipped[role, part.case.scenario.name] += most
        if is_kept_as_result(reason):
            self.run.tally.unasked[conversation.step.opens, reason.reason] += 1
            if conversation.name not in shared.statuses:
                error = f"not held: {reason.reason}"
                self._keep_conversation_row(
                    ConversationEnded(conversation, dict, [], (), reason.status, reason.status, error), part, shared
                )
            else:
                self.keep_condition(conversation.step, conversation.name, part, shared)

    def _keep_conversation(self, ended: ConversationEnded, part: Unit | Pair, shared: CaseState) -> None:
        """Keep an ended conversation, and count its remaining possible turns as skipped."""
        conversation = ended.talk
        for number in range(len(ended.turn_usage) + 1, len(conversation.turns) + 1):
            self.run.tally.skipped[conversation.speaker(number), part.case.scenario.name] += 1
        self._keep_conversation_row(ended, part, shared)

    def _keep_conversation_row(self, ended: ConversationEnded, part: Unit | Pair, shared: CaseState) -> None:
        assert isinstance(part, Unit)
        conversation = ended.talk
        companions = self.condition_rows(conversation.step, conversation.name, part.case.item_id, shared)
        self.run.ledger.keep({"samples": [self.row.talk(part, ended)], **companions})
        self.run.tally.samples[ended.status] += 1
        self.record_kept([conversation.name], ended.status)

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
        """Keep the outcome of a comparison, unless the ledger has it."""
        assert isinstance(part, Pair)
        name = part.comparisons[compared.call.model]
        if not shared.first(name):
            return
        self.run.tally.comparisons[compared.status] += 1
        self.record_kept([name], compared.status)
        if name not in shared.statuses:
            self.run.ledger.keep({"comparisons": [self.row.comparison(part, compared)]})


class UnitContext(NamedTuple):
    """The unit or pair of a running program, the state of its case, and the emitted events that are not kept yet."""

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
        """The context that programs read: the plan, and its data sources."""
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
        """Judge `pairs`, whose units have run, and count the pairs in `kept`, whose results are all in the ledger."""
        for pair in kept:
            self.count_kept_pair(pair, shared)
        await gather_all([self._compare(pair, shared) for pair in pairs])

    async def _compare(self, pair: Pair, shared: CaseState) -> None:
        out: list[ProgramEvent] = []
        names = pair.names(shared.names[pair.first], shared.names[pair.second])
        await self._drive(pair_program(self.world, pair, names, out), UnitContext(pair, pair.first, shared, out))

    async def _drive(self, program: Program, context: UnitContext) -> Any:
        """Run a program and return its result."""
        return await drive(program, lambda need: self.answer(need, context), lambda: self._take(context))

    def _take(self, context: UnitContext) -> None:
        """Keep and count the events that a program has emitted so far."""
        if context.out:
            events = context.out[:]
            context.out.clear()
            for event in events:
                self.take(event, context.part, context.shared)

    async def answer(self, need: Need, context: UnitContext) -> Answered:
        """Return the answer to a need, which the program receives."""
        match need:
            case ReplyNeed():
                return await (self._turn(need, context) if need.talk is not None else self._reply(need, context))
            case ConversationNeed():
                return await self._conversation(need, context)
            case SimilarityNeed():
                return await self._similarities(need, context)
            case ScorerNeed():
                return await need.scorer.awaited(need.request)

    async def _reply(self, need: ReplyNeed, context: UnitContext) -> Answer | Unavailable:
        """Return the reply to a step. The first unit of a case that needs a reply makes one request for it and for the
        other samples of the same prompt that no unit has asked for."""
        call, shared = need.call, context.shared
        numbers = self._samples_of_request(need, context)
        messages: tuple[Message, ...] = ()
        is_sure = shared.is_sure(call.name, call.step)
        if not is_sure or (call.name not in shared.answers and (len(numbers) > 1 or not shared.has_reply(call.name))):
            try:
                messages = self._messages(need, context)
            except Unavailable as reason:
                return reason
        if not is_sure and (call.name in shared.answers or call.name in shared.statuses):
            self.keep_condition(call.step, call.name, context.part, shared)
        if call.name in shared.answers:
            return await asyncio.shield(shared.answers[call.name])
        wanted = {name: number for name, number in numbers.items() if name not in shared.answers}
        answers = await shared.once(list(wanted), self._answers(need, wanted, messages, context))
        return answers[call.name]

    def _samples_of_request(self, need: ReplyNeed, context: UnitContext) -> dict[str, int]:
        """Return the numbers of the samples that one request can ask for, by name: the needed sample, and if the model
        returns several, those of the same prompt that are not in the ledger. With a seed, each sample has a request of
        its own, since it has a seed of its own."""
        step, name = need.call.step, need.call.name
        samples = {name: need.number}
        if isinstance(step, Ask) and step.samples > 1 and need.question.settings.seed is None:
            most_samples = self.callers[need.call.model].model.most_samples
            if most_samples > 1:
                in_ledger = context.shared.statuses
                samples |= {
                    sample: number for number, sample in context.unit.all_samples(step) if sample not in in_ledger
                }
        return samples

    def _messages(self, need: ReplyNeed, context: UnitContext) -> tuple[Message, ...]:
        """Return the messages for a need. Those of an ask are rendered once for all units that build on the same
        replies."""
        step = need.call.step
        if not isinstance(step, Ask):
            return need.prompt.messages()
        key = (step.fingerprint, step.condition, *context.unit.upstream(step.needs))
        if key not in context.shared.sent:
            context.shared.sent[key] = need.prompt.messages()
        return context.shared.sent[key]

    async def _answers(
        self, need: ReplyNeed, wanted: Mapping[str, int], sent: tuple[Message, ...], context: UnitContext
    ) -> dict[str, Answer]:
        """Return the answers to calls that send the same messages, from the ledger or new ones. New answers are in the
        ledger when this returns. `wanted` has the sample number of each name."""
        shared, call, lane = context.shared, need.call, self._lane(need, context)
        for name in wanted:
            if name in shared.skipped:  # an earlier unit skipped the call, but this unit makes it
                shared.skipped.discard(name)
                self.run.tally.skipped[lane] -= 1
        answers = {name: answer_of(shared.rows[name], need.question) for name in wanted if name in shared.statuses}
        await self._ask(need, {name: wanted[name] for name in wanted if name not in answers}, sent, answers, context)
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
        context: UnitContext,
    ) -> None:
        """Add the answers of these samples to `answers`. An unreadable first reply in the ledger is repaired, and a
        reply under another name is reused; otherwise the model is asked."""
        if not numbers:
            return
        shared, caller, lane = context.shared, self.callers[need.call.model], self._lane(need, context)
        request, call_place = self._request(need, sent, context), CallPlace(need.call.table, need.call.model, lane)
        identity = context.unit.bound.binding.identity_of(need.call.model)
        requests = {name: need.question.digest(identity, sent, number) for name, number in numbers.items()}
        first_replies_by_name: dict[str, UnreadableReply | Adopted] = {
            name: draft_of(shared.drafts[name]) for name in numbers if name in shared.drafts
        }
        for message in sent:  # the media must be kept even if another process sent the messages
            self.run.sources.reader.media.keep_shown(message.content)
        for name, number in numbers.items():
            if name not in first_replies_by_name and (
                adopted := self._find_reuse(need, name, number, requests[name], context)
            ):
                first_replies_by_name[name] = adopted

        async def settle(name: str, first: FirstReply | UnreadableReply | Adopted) -> None:
            columns = {**self._row(need, name, numbers[name], context), **SENT_ANEW, "request_digest": requests[name]}

            def keep(draft: UnreadableReply) -> None:
                self.keep_draft(columns, name, draft)

            program = complete_reply(request, first, numbers[name])
            answer = answers[name] = await run_reply(program, caller, lane, keep)
            left_out = first.left_out if isinstance(first, FirstReply) else 0
            if isinstance(first, Adopted):
                left_out = first.row.get("left_out", 0)
            row = {**columns, **(answer.columns if need.talk is None else answered_turn(answer, left_out))}
            if need.talk is not None:
                answers[name] = turn_of(row)
            companions = self._companion_rows(need.call, name, row, shared)
            self.keep_reply(call_place, name, answer, row, first, companions)

        async def request_samples(names: list[str]) -> None:
            program = first_replies(request, len(names), numbers[names[0]])
            replies = await run_reply(program, caller, lane, _no_draft)
            remaining = names[len(replies) :]
            settled = [settle(name, first) for name, first in zip(names, replies, strict=False)]
            await gather_all([*settled, *(request_samples([name]) for name in remaining)])

        new = [name for name in numbers if name not in first_replies_by_name]
        batch_size = max(1, caller.model.most_samples)
        batches = [new[start : start + batch_size] for start in range(0, len(new), batch_size)]
        await gather_all(
            [*map(request_samples, batches), *(settle(name, first) for name, first in first_replies_by_name.items())]
        )

    def _request(self, need: ReplyNeed, sent: tuple[Message, ...], context: UnitContext) -> SentRequest:
        """Return the request that sends these messages."""
        model, prompt = self.callers[need.call.model].model, need.prompt
        language, name = context.unit.case.language, need.call.name
        contents = self.run.sources.reader.media.content
        origin = partial(self._origin, need, context) if kind_of(model.name).needs_origin else None
        return SentRequest(
            model, need.question, sent, language, prompt.left_out, prompt.shorter, name, contents, origin
        )

    def _origin(self, need: ReplyNeed, context: UnitContext, number: int) -> RequestOrigin:
        """Return the place in the run that a sample of a need is for."""
        call, case = need.call, context.unit.case
        step, turn = call.step, None if need.talk is None else need.talk.turns.index(call.name) + 1
        return RequestOrigin(
            scenario=case.scenario.name,
            role=call.role,
            ask=None if isinstance(step, JudgedStep) else step.name,
            scorer=step.scorer if isinstance(step, JudgedStep) else None,
            number=call.number if isinstance(step, JudgedStep) else number,
            turn=turn,
            element=call.element_name,
            item_names=(*self.run.sources.key_texts(case.dataset, case.fields), case.item_id),
            values={**case.context, **case.fields},
        )

    def _row(self, need: ReplyNeed, name: str, number: int, context: UnitContext) -> dict[str, Any]:
        """Return the columns of a result other than those of its answer."""
        if need.talk is not None:
            return self.row.turn(context.unit, need.talk, need.call)
        if need.call.table == "judgements":
            return self.row.judgement(context.part, need.call)
        return self.row.sample(context.unit, need.call, name, number)

    def _lane(self, need: ReplyNeed, context: UnitContext) -> tuple[str, str]:
        """Return the role and the scenario under which a call is counted."""
        return need.call.role, context.unit.case.scenario.name

    def _find_reuse(
        self, need: ReplyNeed, name: str, number: int, request: str, context: UnitContext
    ) -> Adopted | None:
        """Return a reply that the ledger has under another name, if any."""
        if self.adoption is None or context.shared.case is None:
            return None
        wanted = Wanted(need.call.table, name, need.call.model, request, number, subject_of(need.call, context.unit))
        return self.adoption.find(wanted, context.shared.case)

    async def _turn(self, need: ReplyNeed, context: UnitContext) -> Answer | Unavailable:
        """Return a turn, from the ledger or a new one. A new turn is in the ledger when this returns."""
        name, shared = need.call.name, context.shared
        if name in shared.statuses and name in shared.rows:
            self.run.tally.reused[self._lane(need, context)] += 1
            return turn_of(shared.rows[name])
        answers: dict[str, Answer] = {}
        await self._ask(need, {name: need.number}, need.prompt.messages(), answers, context)
        return answers[name]

    async def _conversation(self, need: ConversationNeed, context: UnitContext) -> Answer | Unavailable:
        """Return a conversation, from the ledger or a new one. The first unit of a case that needs it asks for its
        turns."""
        conversation, shared = need.talk, context.shared
        is_sure = shared.is_sure(conversation.name, conversation.step)
        if not is_sure or (conversation.name not in shared.answers and not shared.has_reply(conversation.name)):
            try:
                need.systems()
            except Unavailable as reason:
                return reason
        if not is_sure and (conversation.name in shared.answers or conversation.name in shared.statuses):
            self.keep_condition(conversation.step, conversation.name, context.part, shared)
        if conversation.name in shared.answers:
            return await asyncio.shield(shared.answers[conversation.name])
        return (await shared.once([conversation.name], self._kept_or_new(need, context)))[conversation.name]

    async def _kept_or_new(self, need: ConversationNeed, context: UnitContext) -> dict[str, Answer]:
        """Return a conversation by its name, from the ledger or a new one. A person has only one conversation at a
        time."""
        conversation, shared = need.talk, context.shared
        if conversation.name in shared.skipped:  # an earlier unit skipped it, but this unit needs it
            shared.skipped.discard(conversation.name)
            for role, most in most_turns(conversation.step):
                self.run.tally.skipped[role, context.unit.case.scenario.name] -= most
        if conversation.name in shared.statuses:
            self.count_kept_conversation(context.unit, conversation, shared)
            return {conversation.name: conversation_of(shared.rows[conversation.name])}
        async with AsyncExitStack() as stack:
            for model in sorted(set(conversation.models.values())):
                lock = getattr(self.callers[model].model, "alone", None)
                if lock is not None:
                    await stack.enter_async_context(lock)
            return {conversation.name: await self._drive(need.program(), context)}

    async def _similarities(self, need: SimilarityNeed, context: UnitContext) -> Any:
        """Return the similarities of the searched elements, which are computed once for all units of a case with the
        same query."""
        similarities = context.shared.near
        if need.key not in similarities:
            lane = (str(need.step.using), context.unit.case.scenario.name)
            (model,) = context.unit.bound.retrieved[need.step.name]
            similarities[need.key] = asyncio.ensure_future(self.retriever.values(need.step, model, lane, need.names))
        return await asyncio.shield(similarities[need.key])


def _no_draft(draft: UnreadableReply) -> None:
    raise AssertionError("a first reply has no draft")


Row = dict[str, Any]
SUMMED = ("attempts", "tokens_in", "tokens_out", "tokens_reasoning", "cost_usd", "latency_s")
"""The columns of a conversation that are sums over its turns."""
OF_TURN = ("thinking", "status", "error", "finish_reason", "model_served", *SUMMED)
"""The columns of a turn that are those of its answer."""


@dataclass(frozen=True)
class ResultRows:
    """The builder of the rows of one run."""

    run: RunContext

    def sample(self, unit: Unit, call: StepCall, name: str, number: int) -> Row:
        """Return the columns of a reply to an ask, without those of its answer. `number` is the number of the
        sample."""
        step, binding = call.step, unit.bound.binding
        assert isinstance(step, Ask)
        return {
            "sample_id": name,
            **self._common(unit, step.fingerprint, unit.sample_binding(step, number)),
            "step": step.name,
            "item_id": unit.case.item_id,
            "context": dict(unit.case.context),
            "role": step.role,
            "model": call.model,
            "identity": binding.identity_if_distinct(call.model),
            "sample_number": number,
        }

    def judgement(self, part: Unit | Pair, call: StepCall) -> Row:
        """Return the columns of a judgement, without those of its answer."""
        step = call.step
        assert not isinstance(step, Ask | Converse)
        unit = part.first if isinstance(part, Pair) else part
        return {
            "judgement_id": call.name,
            "sample_id": unit.about(step) if isinstance(step, Grade | Compare) else unit.last_reply(step.needs),
            "item_id": unit.case.item_id,
            **self._common(unit, step.judgement, part.pattern.judged(call)),
            "scorer": step.scorer,
            "evaluator": call.model,
            "repeat": call.number,
            "element_place": call.element_name,
            "identity": unit.bound.binding.identity_if_distinct(call.model),
        }

    def turn(self, unit: Unit, talk: Conversation, call: StepCall) -> Row:
        """Return the columns of a turn of a conversation, without those of its answer."""
        return {
            "turn_id": call.name,
            "conversation_id": talk.name,
            **self._of_talk(unit, talk),
            "conversation_number": talk.number,
            "number": talk.turns.index(call.name) + 1,
            "role": call.role,
            "model": call.model,
            "identity": unit.bound.binding.identity_if_distinct(call.model),
        }

    def condition(self, step: Ask | Converse | JudgedStep, name: str, item_id: str | None) -> Row:
        """Return the row that records that a result was asked for under the condition of its step."""
        fingerprint = step.fingerprint if isinstance(step, Ask | Converse) else step.judgement
        return {
            "condition_id": condition_id(name, step.condition),
            "result_id": name,
            "condition": step.condition,
            "run_id": self.run.run_id,
            "benchmark": self.run.plan.benchmark.name,
            "item_id": item_id,
            "fingerprint": fingerprint,
        }

    def talk(self, unit: Unit, event: ConversationEnded) -> Row:
        """Return the row of an ended conversation."""
        talk, turns = event.talk, event.turns
        step, models, role = talk.step, talk.models, unit.bound.conversation_role(talk.step)
        opening = [{"role": "user", "name": step.opens, "content": opening_text(unit.case.language)}]
        systems = [{"role": "system", "name": name, "content": text} for name, text in event.systems().items()]
        parsed = {"ended": event.ended, "ended_by": event.last, "models": dict(models), "turns": turns}
        return {
            "sample_id": talk.name,
            **self._of_talk(unit, talk),
            "context": dict(unit.case.context),
            "role": role,
            "model": models[role],
            "identity": unit.bound.binding.identity_if_distinct(models[role]),
            "sample_number": talk.number,
            "messages": dumps([*systems, *opening]),
            "reply": transcript(turns) if turns else None,
            "thinking": None,
            "parsed": dumps(parsed),
            "logprobs": None,
            "status": event.status,
            "error": event.error,
            "finish_reason": event.ended,
            "model_served": None,
            **{column: _sum([row[column] for row in event.turn_usage]) for column in SUMMED},
            "request_digest": None,
            **SENT_ANEW,
        }

    def score(self, unit: Unit, scored: ScoreResult, title: str) -> Row:
        """Return the row of a score."""
        step, (verdict, status) = scored.step, scored.values[title]
        scorer = self.run.plan.scorer(step.scorer) if isinstance(step, Grade) else None
        value, name = (verdict, None) if scorer is None else score_columns(scorer, verdict)
        return {
            "score_id": unit.scores[step.fingerprint, scored.evaluator][title],
            "sample_id": unit.about(step),
            "judgement_id": scored.judgement,
            **self._common(unit, step.fingerprint, unit.score_binding(step, scored.evaluator)),
            "item_id": unit.case.item_id,
            "model": unit.scored(step),
            "scorer": step.scorer if isinstance(step, Grade) else step.name,
            "metric": title,
            "evaluator": scored.evaluator,
            "value": value,
            "given": scored.label or name,
            "elements": scored.elements,
            "judged_by": unit.judged_by(step),
            "status": status,
            "error": scored.reason,
        }

    def comparison(self, pair: Pair, compared: ComparisonResult) -> Row:
        """Return the row of the outcome of a comparison."""
        step, judge = pair.step, compared.call.model
        return {
            "comparison_id": pair.comparisons[judge],
            "judgement_id": compared.judgement,
            **self._common(pair.first, step.fingerprint, pair.pattern.comparisons[judge]),
            "item_id": pair.case.item_id,
            "step": step.name,
            "scorer": step.scorer,
            "evaluator": judge,
            "first_model": pair.first.model,
            "second_model": pair.second.model,
            "first_sample_id": pair.first.about(step),
            "second_sample_id": pair.second.about(step),
            "value": comparison_worth(self.run.plan.scorer(step.scorer), compared.value),
            "given": None if compared.value is None else dumps(compared.value),
            "status": compared.status,
            "error": compared.reason,
        }

    def _of_talk(self, unit: Unit, talk: Conversation) -> Row:
        step = talk.step
        return {
            **self._common(unit, step.fingerprint, unit.pattern.samples[step.name]),
            "step": step.name,
            "item_id": unit.case.item_id,
        }

    def _common(self, unit: Unit, fingerprint: str, binding: str) -> Row:
        """Return the columns that every result of a unit has."""
        return {
            "run_id": self.run.run_id,
            "benchmark": self.run.plan.benchmark.name,
            "scenario": unit.case.scenario.name,
            "fingerprint": fingerprint,
            "binding": binding,
            "created_at": self.run.now(),
        }


def answered_turn(answer: Answer, left_out: int) -> Row:
    """Return the columns of a turn that come from its answer."""
    columns = {"text": answer.columns["reply"], "left_out": left_out, "batch_id": answer.columns.get("batch_id")}
    return columns | {column: answer.columns[column] for column in OF_TURN}


def skipped_columns(reason: Unavailable) -> Row:
    """Return the columns of the row that says why a call was skipped."""
    return {"messages": dumps([]), **NO_REPLY, "status": reason.status, "error": f"not asked: {reason.reason}"}


def _sum(values: Sequence[float | None]) -> float | None:
    """Return the sum of the values; None if one of them is unknown."""
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
