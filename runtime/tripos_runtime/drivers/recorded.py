"""The driver of recorded replies: replies from elsewhere are read as if a model had just sent them.

Its results are those that a run would keep: samples under the names that a run looks for, and the scores that need no
model. No model is called. A step without a recorded reply is left out together with everything that builds on it. So
are judges, whose scores are imported separately, and conversations with everything that builds on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tripos_compiler.language.evaluation import Unavailable
from tripos_compiler.plan import Ask, Column, Converse, Plan, Retrieve, SampleList, Scenario, Score, Treatment, Verdict
from tripos_compiler.plan.outcomes import NOT_APPLICABLE
from tripos_runtime.asking.ledger import EmptyLedger, Ledger, Row, kept_statuses
from tripos_runtime.asking.progress import RunProgress
from tripos_runtime.asking.questions import Answer, recorded_answer
from tripos_runtime.asking.replies import answer_of
from tripos_runtime.datasets.cases import Case
from tripos_runtime.datasets.sources import Sources
from tripos_runtime.drivers.live import CONDITIONS, ResultWriter
from tripos_runtime.program.binding import RoleBinding
from tripos_runtime.program.needs import (
    Answered,
    CallSkipped,
    Need,
    PlanContext,
    ReplyNeed,
    ScoreResult,
    ScorerNeed,
    SimilarityNeed,
)
from tripos_runtime.program.running import CaseState, RunContext, drive_now
from tripos_runtime.program.steps import UnitProgram
from tripos_runtime.program.units import BoundTreatment, Unit
from tripos_runtime.program.values import StepValues

RecordedReply = Mapping[str, Any]
"""The columns of a reply: `reply`, the text, and any of `model_served`, `finish_reason`, `tokens_in`, `tokens_out`,
`tokens_reasoning`, `cost_usd` and `latency_s`."""


@dataclass(frozen=True)
class Refusal:
    """The reason why a reply is refused; `other` is the reply that the ledger has instead, if any."""

    reason: str
    other: str | None = None


@dataclass
class CollectedResults(EmptyLedger):
    """A ledger that collects the rows of a recorder in memory, by table."""

    collected: dict[str, list[Row]] = field(default_factory=dict)

    def keep(self, rows: Mapping[str, Sequence[Row]]) -> None:
        """Keep rows by table."""
        for table, row in rows.items():
            self.collected.setdefault(table, []).extend(row)


def recorded_treatments(scenario: Scenario, plan: Plan, binding: RoleBinding) -> tuple[BoundTreatment, ...]:
    """Return the treatments of a scenario with models in their roles, without judges."""
    return tuple(_without_models(scenario, treatment, plan, binding) for treatment in scenario.treatments)


def recorded_units(case: Case, treatments: Iterable[BoundTreatment]) -> Iterator[Unit]:
    """Yield every unit of a case: for each of the `recorded_treatments` of its scenario, each model and sample."""
    for bound in treatments:
        for model in bound.binding.of(bound.binding.compared):
            for number in range(bound.samples):
                yield Unit(case, bound, model, number)


def _without_models(scenario: Scenario, treatment: Treatment, plan: Plan, binding: RoleBinding) -> BoundTreatment:
    """Return a treatment without judges, conversations and lists of samples, and what builds on them."""
    absent = {step.name for step in treatment.steps if isinstance(step, Converse | SampleList | Verdict)}
    recorded = (step for step in treatment.steps if isinstance(step, Ask | Retrieve | Score | Column))
    steps = tuple(step for step in recorded if absent.isdisjoint(step.needs))
    return BoundTreatment(scenario, treatment.model_copy(update={"steps": steps}), plan, binding)


class Recorder:
    """A recorder of replies to cases of one plan. The new rows are in `collected`; the ledger is only read."""

    def __init__(self, plan: Plan, sources: Sources, ledger: Ledger, run_id: str, now: Callable[[], datetime]) -> None:
        self.collected = CollectedResults()
        self.tally = RunProgress()
        self._ledger = ledger
        self._world = PlanContext(plan, sources)
        binding = RoleBinding({}, "")  # not used: the units compute the names of results
        run = RunContext(plan, binding, sources, self.collected, run_id=run_id, tally=self.tally, now=now)
        self._writer = ResultWriter(run)

    def take(self, cases: Iterable[tuple[Sequence[Unit], Mapping[str, RecordedReply]]]) -> Iterator[dict[str, Refusal]]:
        """Record the replies of some cases, which are looked up together. A case is given as its units and the replies
        by the name of a sample. Yield for each case the replies that were refused, with the reason. A reply whose text
        the ledger already has is accepted and not recorded again."""
        batch = list(cases)
        units = [unit for case_units, _ in batch for unit in case_units]
        wanted = {call.name for unit in units for call in unit.calls}
        conditions = {name for unit in units for table, name in unit.results if table == CONDITIONS}
        scores = {name for unit in units for names in unit.scores.values() for name in names.values()}
        kept = kept_statuses(self._ledger, {"samples": wanted, "scores": scores, CONDITIONS: conditions}, final=True)
        rows = self._ledger.rows("samples", wanted & kept.keys())
        for case_units, replies in batch:
            refused = {
                name: Refusal("the store has another reply to the same question", str(rows[name]["reply"]))
                for name, reply in replies.items()
                if name in rows and rows[name]["reply"] != reply["reply"]
            }
            shared = CaseState(kept, rows, {})
            answers: dict[str, Answer] = {}
            for unit in case_units:
                refused |= _Recording(self._writer, self._world, unit, replies, shared, answers).go()
            yield refused


@dataclass
class _Recording:
    """The driver of one unit with recorded replies. `accepted` are the accepted replies of all units of the case."""

    writer: ResultWriter
    world: PlanContext
    unit: Unit
    replies: Mapping[str, RecordedReply]
    shared: CaseState
    accepted: dict[str, Answer]
    absent: set[str] = field(default_factory=set)
    """The steps without a reply, and those that build on such a step."""
    refused: dict[str, Refusal] = field(default_factory=dict)

    def go(self) -> dict[str, Refusal]:
        """Keep the new results of the unit. Return the refused replies."""
        self.program = UnitProgram(self.world, self.unit, StepValues(self.unit.case.names), [], self.shared.retrieved)
        drive_now(self.program.go(), self._respond, self._take)
        return self.refused

    def _respond(self, need: Need) -> Answered:
        """Return what the program is sent for a need: no vectors, and only recorded replies."""
        if isinstance(need, SimilarityNeed):
            return {}
        if isinstance(need, ScorerNeed):
            return need.scorer.request_value(need.request)
        assert isinstance(need, ReplyNeed), "conversations are left out"
        step, name = need.call.step, need.call.name
        assert isinstance(step, Ask)
        recorded = self.replies.get(name)
        if missing := sorted(self.absent.intersection(step.needs)):
            self._refuse(name, f"`{step.name}` builds on `{missing[0]}`, to which there is no reply")
        elif name in self.accepted and self.shared.is_sure(name, step):
            return self.accepted[name]
        elif name in self.accepted or name in self.shared.statuses or recorded is not None:
            try:
                return self._answer(need, recorded)
            except Unavailable as reason:
                self._refuse(name, f"a run would not ask for it: {reason}")
        self.absent.add(step.name)
        return Unavailable(step.name, NOT_APPLICABLE)

    def _answer(self, need: ReplyNeed, recorded: RecordedReply | None) -> Answer:
        """Return the reply from the ledger or the recording. Raises `Unavailable` if a run would not ask for it."""
        name, messages = need.call.name, need.prompt.messages()
        if name in self.accepted:
            self.writer.keep_condition(need.call.step, name, self.unit, self.shared)
            return self.accepted[name]
        if name in self.shared.statuses:
            self.writer.keep_condition(need.call.step, name, self.unit, self.shared)
            return answer_of(self.shared.rows[name], need.question)
        assert recorded is not None
        answer = self.accepted[name] = recorded_answer(need.question, messages, recorded)
        row = self.writer.row.sample(self.unit, need.call, name, need.number)
        companions = self.writer.condition_rows(need.call.step, name, self.unit.case.item_id, self.shared)
        self.writer.run.ledger.keep({"samples": [{**row, **answer.columns}], **companions})
        self.writer.count_status("samples", answer.status)
        return answer

    def _take(self) -> None:
        """Keep the scores that the program has emitted, except those that build on a missing reply, and refuse the
        replies to steps that it has skipped."""
        events = self.program.out[:]
        self.program.out.clear()
        for event in events:
            if isinstance(event, ScoreResult) and self.absent.isdisjoint((*event.step.needs, event.step.of)):
                self.writer.take(event, self.unit, self.shared)
            if isinstance(event, CallSkipped):
                self._leave_out(event)

    def _leave_out(self, event: CallSkipped) -> None:
        """Refuse the reply to a skipped step: its condition is false, or it builds on a step that is left out."""
        step = event.call.step
        missing = sorted(self.absent.intersection(getattr(step, "needs", ())))
        if missing:
            self._refuse(event.call.name, f"`{step.name}` builds on `{missing[0]}`, to which there is no reply")
            self.absent.add(step.name)
        elif step.name not in self.absent:
            reason = f"a run would not ask for it: the condition of `{step.name}` does not hold"
            self._refuse(event.call.name, reason)

    def _refuse(self, name: str, reason: str) -> None:
        """Refuse a recorded reply, if there is one."""
        if name in self.replies:
            self.refused[name] = Refusal(reason)
