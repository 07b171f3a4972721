"""Takes a unit through its steps: asks, scores and grades what the ledger has not, and keeps what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, partial
from typing import Any

from tripos_compiler.language.evaluation import Unavailable
from tripos_compiler.plan import (
    Ask,
    Column,
    Compare,
    Converse,
    Grade,
    Judging,
    Plan,
    Retrieve,
    Score,
    Step,
    Verdict,
)
from tripos_runtime.asking.asking import NOTHING, Adopted, Answer, Asking, Draft, Question, dumps
from tripos_runtime.asking.grading import score_rows
from tripos_runtime.asking.kept_rows import answer_of, draft_of
from tripos_runtime.asking.ledger import Keeper, Listing
from tripos_runtime.asking.prompting import ask_messages, grade_messages, shorter
from tripos_runtime.asking.questions import Questions
from tripos_runtime.asking.statuses import AGAIN, NOT_ASKED, SCORED
from tripos_runtime.asking.tally import Tally
from tripos_runtime.datasets.sources import Sources
from tripos_runtime.models.base import Message, ModelError
from tripos_runtime.program.adopting import Adoption, Wanted
from tripos_runtime.program.case_cache import Shared, together
from tripos_runtime.program.columns import kept_value
from tripos_runtime.program.conversing import converse, count_kept
from tripos_runtime.program.retrieving import Retriever, retrieve
from tripos_runtime.program.units import Call, Names, Unit, is_told
from tripos_runtime.program.verdicts import take_verdict
from tripos_runtime.retrieval.choosing import Chooser
from tripos_runtime.retrieval.encoding import Encoder
from tripos_runtime.scheduling.calling import Called, Caller


@dataclass
class Stepper:
    """Works on units. What it asks for is in the ledger before it goes on."""

    plan: Plan
    sources: Sources
    callers: Mapping[str, Caller]
    ledger: Keeper
    tally: Tally
    work: Listing
    run_id: str
    now: Callable[[], datetime]
    whole: bool = True
    """Whether nothing failed so far that a later run would try again."""
    chooser: Chooser = field(default_factory=Chooser)
    encoder: Encoder | None = None
    """Who embeds for steps that retrieve."""
    adoption: Adoption | None = None
    """Who finds replies that the ledger has under other names."""

    @cached_property
    def questions(self) -> Questions:
        """What the steps ask."""
        return Questions(self.plan, tuple(self.sources.axes.values()))

    def reuse(self, unit: Unit, shared: Shared) -> None:
        """Counts a unit of which the ledger has everything."""
        for call in unit.calls:
            self.reuse_call(call, unit.case.scenario.name, shared)
        for talk in unit.talks.values():
            count_kept(self, unit, talk, shared)
        names = [call.name for call in unit.calls]
        for (fingerprint, _), scores in unit.scores.items():
            names += scores.values()
            if fingerprint in unit.wiring.columns:
                continue
            self.tally.scores.update(shared.kept[name] for name in scores.values() if shared.first(name))
        self.work.add(names)

    def reuse_call(self, call: Call, scenario: str, shared: Shared) -> None:
        """Counts a call of which the ledger has the result; one that was not made then is not made now."""
        if not shared.reuses(call.name):
            return
        status = shared.kept[call.name]
        counter = self.tally.skipped if status in NOT_ASKED else self.tally.reused
        counter[call.role, scenario] += 1
        if status in NOT_ASKED:
            self.tally.unasked[call.role, "what was to be asked has no value"] += 1
        else:
            self._count_status(call.table, status)

    async def go_through(self, unit: Unit, shared: Shared) -> None:
        """Takes a unit through all its steps."""
        names = Names(unit.case.names)
        for step in unit.wiring.treatment.steps:
            await self.take(unit, step, names, shared)
        shared.names[unit] = names

    async def take(self, unit: Unit, step: Step, names: Names, shared: Shared) -> None:
        """Takes a unit through a step."""
        match step:
            case Ask():
                await self._ask(unit, step, names, shared)
            case Converse():
                await converse(self, unit, step, names, shared)
            case Score():
                self._score(unit, step, names, shared)
            case Column():
                self._column(unit, step, names, shared)
            case Grade():
                await self._grade(unit, step, names, shared)
            case Verdict():
                await take_verdict(self, unit, step, names, shared)
            case Retrieve():
                await retrieve(self, unit, step, names, shared)

    async def _ask(self, unit: Unit, step: Ask, names: Names, shared: Shared) -> None:
        name = unit.samples[step.name]
        against = names.against(step)
        sent: tuple[Message, ...] = ()
        question = self.questions.of(step, unit.case.language)
        if against is None and name not in shared.answers:
            try:
                sent = self._sent(unit, step, question, names, shared)
            except Unavailable as reason:
                against = reason
        model = unit.wiring.model_of(step, unit.model)
        if against is not None:
            call, numbers = Call("samples", name, step.role, model, step), {name: unit.number % step.samples}
            self.skip(call, against, unit, shared, lambda call: self._sample(unit, step, numbers, call.name))
            names.skipped(step, against.status, against.reason)
            return
        # With a seed each sample is a request of its own, with the seed of its own.
        together = step.samples > 1 and step.settings.seed is None
        several = self.callers[model].model.most_samples if together else 1
        numbers = {name: unit.number % step.samples}
        if several > 1:
            numbers |= {each: number for number, each in unit.all_samples(step) if each not in shared.kept}

        async def make(wanted: Sequence[str]) -> Mapping[str, Answer]:
            lane = (step.role, unit.case.scenario.name)
            less = None
            if step.continues is not None:
                less = partial(shorter, step, question, unit.case, names.values, self.sources)
            asking = Asking(self.callers[model], question, sent, unit.case.language, lane, less)
            calls = {each: Call("samples", each, step.role, model, step) for each in wanted}
            return await self.answers(
                unit, asking, calls, shared, numbers, lambda each: self._sample(unit, step, numbers, each)
            )

        answer = await shared.once(name, list(numbers), make)
        names.answered(step, answer.text, answer.value, answer.status, answer.prompt)

    def _sent(self, unit: Unit, step: Ask, question: Question, names: Names, shared: Shared) -> tuple[Message, ...]:
        """What is sent for a step, which is the same after the same replies."""
        key = (step.fingerprint, *unit.upstream(step.needs))
        if key not in shared.sent:
            shared.sent[key] = ask_messages(step, question, unit.case, names.values, self.sources)
        return shared.sent[key]

    async def _grade(self, unit: Unit, step: Grade, names: Names, shared: Shared) -> None:
        against = names.against(step)
        sent: tuple[Message, ...] = ()
        question = self.questions.of(step, unit.case.language)
        if against is None:
            try:
                metrics = self.questions.metrics(step)
                sent = grade_messages(step, question, unit.case, names.values, self.sources, metrics)
            except Unavailable as reason:
                against = reason
        titles = step.metrics or (step.name,)

        async def judge(call: Call) -> None:
            name, evaluator = call.name, call.model
            if against is not None:
                self.skip(
                    call,
                    against,
                    unit,
                    shared,
                    lambda call: self.judgement_row(
                        unit, step, evaluator, call.name, unit.pattern.judgement(step, evaluator)
                    ),
                )
                empty = dict.fromkeys(titles, (None, against.status))
                self._keep_scores(unit, step, None, evaluator, empty, shared, reason=against.reason)
                return

            async def make(wanted: Sequence[str]) -> Mapping[str, Answer]:
                asking = Asking(
                    self.callers[evaluator], question, sent, unit.case.language, (call.role, unit.case.scenario.name)
                )
                return await self.answers(
                    unit,
                    asking,
                    {name: call},
                    shared,
                    {name: 0},
                    lambda each: self.judgement_row(
                        unit, step, evaluator, each, unit.pattern.judgement(step, evaluator)
                    ),
                )

            answer = await shared.once(name, [name], make)
            self._keep_scores(unit, step, name, evaluator, score_rows(step, answer), shared)

        await together([judge(call) for call in unit.calls if call.step is step])

    async def answers(
        self,
        unit: Unit,
        asking: Asking,
        calls: Mapping[str, Call],
        shared: Shared,
        numbers: Mapping[str, int],
        row: Callable[[str], dict[str, Any]],
    ) -> dict[str, Answer]:
        """The answers to some calls that are sent the same: those that the ledger has, or else new ones, which it
        has by then. `numbers` says which sample each is, and `row` gives the columns of a result beside those of the
        answer."""
        for name, call in calls.items():
            if name in shared.skipped:  # it is made after all
                shared.skipped.discard(name)
                self.tally.skipped[call.role, unit.case.scenario.name] -= 1
        answers = {name: answer_of(shared.rows[name], asking.question.reader) for name in calls if name in shared.kept}
        new = [name for name in calls if name not in answers]
        firsts: dict[str, Called | ModelError | Draft | Adopted] = {
            name: draft_of(shared.drafts[name]) for name in new if name in shared.drafts
        }
        binding, question = unit.wiring.binding, asking.question
        requests = {
            name: question.digest(binding.identity_of(calls[name].model), asking.sent, numbers[name]) for name in new
        }
        for name in new:
            if name not in firsts and (
                found := self._adopted(unit, calls[name], requests[name], numbers[name], shared)
            ):
                firsts[name] = found
        fresh = [name for name in new if name not in firsts]
        most = max(1, asking.caller.model.most_samples)
        chunks = [fresh[start : start + most] for start in range(0, len(fresh), most)]

        async def settle(name: str, first: Called | ModelError | Draft | Adopted) -> None:
            def keep(draft: Draft) -> None:
                self._keep_draft(row(name), name, draft)

            own = {**row(name), "request_digest": requests[name], "adopted_from": None}
            if isinstance(first, Adopted):
                answer = await asking.adopt(first, keep, numbers[name])
                self.keep_adopted(calls[name], answer, {**own, **answer.columns}, first, asking.lane)
            else:
                answer = await asking.settle(first, keep, numbers[name])
                self._keep_answer(calls[name], answer, own, asking)
            answers[name] = answer

        async def ask(chunk: list[str]) -> None:
            replies = await asking.first(len(chunk), numbers[chunk[0]])
            await together([settle(name, first) for name, first in zip(chunk, replies, strict=True)])

        todo = [ask(chunk) for chunk in chunks] + [settle(name, first) for name, first in firsts.items()]
        if todo:
            await together(todo)
        for name, call in calls.items():
            if name in shared.kept and shared.reuses(name):
                self.tally.reused[call.role, unit.case.scenario.name] += 1
                self._count_status(call.table, answers[name].status)
                self.work.add([name])
        return answers

    def _adopted(self, unit: Unit, call: Call, request: str, number: int, shared: Shared) -> Adopted | None:
        """A reply that the ledger has under another name, if any."""
        if self.adoption is None or shared.here is None:
            return None
        about = (unit.case.item_id, *unit.samples.values())
        return self.adoption.find(Wanted(call.table, call.name, call.model, request, number, about), shared.here)

    def keep_adopted(
        self, call: Call, answer: Answer, row: Mapping[str, Any], adopted: Adopted, lane: tuple[str, str]
    ) -> None:
        """Keeps a reply that was asked for under another name, which costs nothing but what it is asked once more."""
        assert self.adoption is not None
        self.ledger.keep({call.table: [{**row, "adopted_from": adopted.origin}]})
        self.adoption.kept(adopted)
        self.tally.adopt(lane, call.model, answer, adopted)
        if call.table != "turns":
            self._count_status(call.table, answer.status)
            self.settled([call.name], answer.status)

    def skip(
        self, call: Call, against: Unavailable, unit: Unit, shared: Shared, row: Callable[[Call], dict[str, Any]]
    ) -> None:
        """Counts a call that is not made, once for all units. Where what it asks has no value, that is kept as a result
        of its own: `row` gives the columns beside those that say why."""
        if against.status in AGAIN:  # no row may say so
            self.whole = False
        if not shared.first(call.name):
            return
        shared.skipped.add(call.name)
        self.tally.skipped[call.role, unit.case.scenario.name] += 1
        if not is_told(against):
            return
        self.tally.unasked[call.role, against.reason] += 1
        if call.name not in shared.kept:
            self.ledger.keep({call.table: [{**row(call), **unasked(against)}]})
        self.settled([call.name], against.status)

    def _keep_answer(self, call: Call, answer: Answer, row: dict[str, Any], asking: Asking) -> None:
        self.ledger.keep({call.table: [{**row, **answer.columns}]})
        self.tally.count(asking.lane, call.model, answer)
        self._count_status(call.table, answer.status)
        self.settled([call.name], answer.status)

    def _keep_draft(self, row: dict[str, Any], name: str, draft: Draft) -> None:
        """Keeps a reply that is going to be asked for once more."""
        own = {
            "unit_id": name,
            "run_id": self.run_id,
            "fingerprint": row["fingerprint"],
            "created_at": row["created_at"],
        }
        self.ledger.keep({"drafts": [{**own, **draft.columns}]})
        self.tally.repaired += 1

    def _sample(self, unit: Unit, step: Ask, numbers: Mapping[str, int], name: str) -> dict[str, Any]:
        return {
            "sample_id": name,
            **self.common(unit, step.fingerprint, unit.sample_binding(step, numbers[name])),
            "step": step.name,
            "item_id": unit.case.item_id,
            "context": dict(unit.case.context),
            "role": step.role,
            "model": unit.wiring.model_of(step, unit.model),
            "identity": unit.wiring.binding.identity_beside(unit.wiring.model_of(step, unit.model)),
            "sample_number": numbers[name],
        }

    def judgement_row(self, unit: Unit, step: Judging, evaluator: str, name: str, binding: str) -> dict[str, Any]:
        """The columns of a judgement beside those of the answer."""
        return {
            "judgement_id": name,
            "sample_id": unit.samples[step.of] if isinstance(step, Grade | Compare) else unit.last_reply(step.needs),
            "item_id": unit.case.item_id,
            **self.common(unit, step.judgement, binding),
            "scorer": step.scorer,
            "evaluator": evaluator,
            "identity": unit.wiring.binding.identity_beside(evaluator),
        }

    def common(self, unit: Unit, fingerprint: str, binding: str) -> dict[str, Any]:
        """The columns that every result of a unit has."""
        return {
            "run_id": self.run_id,
            "benchmark": self.plan.benchmark.name,
            "scenario": unit.case.scenario.name,
            "fingerprint": fingerprint,
            "binding": binding,
            "created_at": self.now(),
        }

    def _score(self, unit: Unit, step: Score, names: Names, shared: Shared) -> None:
        found, against = names.value_of(step)
        self._keep_own(unit, step, None if against else float(found), against, shared)

    def _column(self, unit: Unit, step: Column, names: Names, shared: Shared) -> None:
        found, against = names.value_of(step)
        value, given = kept_value(found) if against is None else (None, None)
        self._keep_own(unit, step, value, against, shared, given)

    def _keep_own(
        self,
        unit: Unit,
        step: Score | Column,
        value: float | None,
        against: Unavailable | None,
        shared: Shared,
        given: str | None = None,
    ) -> None:
        """Keeps the value of an expression, or why it has none."""
        status, reason = (SCORED, None) if against is None else (against.status, against.reason)
        self._keep_scores(unit, step, None, None, {step.name: (value, status)}, shared, given, reason)

    def _keep_scores(
        self,
        unit: Unit,
        step: Score | Column | Grade,
        judgement: str | None,
        evaluator: str | None,
        values: Mapping[str, tuple[float | None, str]],
        shared: Shared,
        given: str | None = None,
        reason: str | None = None,
    ) -> None:
        """Keeps the scores that the ledger has not yet."""
        names = unit.scores[step.fingerprint, evaluator]
        rows: list[dict[str, Any]] = []
        for title, (value, status) in values.items():
            name = names[title]
            if not shared.first(name):
                continue
            if step.fingerprint not in unit.wiring.columns:
                self.tally.scores[status] += 1
            self.settled([name], status)
            if name in shared.kept:
                continue
            rows.append(
                {
                    "score_id": name,
                    "sample_id": unit.samples[step.of],
                    "judgement_id": judgement,
                    **self.common(unit, step.fingerprint, unit.score_binding(step, evaluator)),
                    "item_id": unit.case.item_id,
                    "model": unit.scored(step),
                    "scorer": step.scorer if isinstance(step, Grade) else step.name,
                    "metric": title,
                    "evaluator": evaluator,
                    "value": value,
                    "given": given,
                    "judged_by": unit.judged_by(step),
                    "status": status,
                    "error": reason,
                }
            )
        if rows:
            self.ledger.keep({"scores": rows})

    def settled(self, names: Sequence[str], status: str) -> None:
        """Says that these results are kept with this status."""
        if status in AGAIN:
            self.whole = False
        else:
            self.work.add(names)

    @cached_property
    def retriever(self) -> Retriever:
        """Retrieves for all steps."""
        assert self.encoder is not None, "a run has an encoder"
        return Retriever(self.chooser, self.encoder)

    def lacks(self, status: str) -> None:
        """Says that something which is no result of its own is not there, for that reason."""
        if status in AGAIN:
            self.whole = False

    def _count_status(self, table: str, status: str) -> None:
        (self.tally.samples if table == "samples" else self.tally.judgements)[status] += 1


def unasked(against: Unavailable) -> dict[str, Any]:
    """The columns of a call that was not made, and why."""
    return {"messages": dumps([]), **NOTHING, "status": against.status, "error": f"not asked: {against.reason}"}
