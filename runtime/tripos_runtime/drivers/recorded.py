"""The driver of recorded replies: replies given elsewhere are read as if a model had just sent them.

Its results are those that a run would keep: samples under the names that a run looks for, and the scores that need no
model. Nobody is asked. A step without a recorded reply is left out together with everything that builds on it. So are
judges, whose scores are imported separately, and conversations with their continuations."""

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

Told = Mapping[str, Any]
"""The columns of a reply: `reply`, the text, and any of `model_served`, `finish_reason`, `tokens_in`, `tokens_out`,
`tokens_reasoning`, `cost_usd` and `latency_s`."""


@dataclass(frozen=True)
class Refusal:
    """The reason why a reply is refused; `other` is the reply that the ledger has instead, if any."""

    reason: str
    other: str | None = None


@dataclass
class CollectedResults(EmptyLedger):
    """The results of a recorder: rows by table, in memory."""

    collected: dict[str, list[Row]] = field(default_factory=dict)

    def keep(self, rows: Mapping[str, Sequence[Row]]) -> None:
        """Keep rows by table."""
        for table, row in rows.items():
            self.collected.setdefault(table, []).extend(row)


def recorded_treatments(scenario: Scenario, plan: Plan, binding: RoleBinding) -> tuple[BoundTreatment, ...]:
    """Return the treatments of a scenario with models in their roles, without judges."""
    return tuple(_wiring(scenario, treatment, plan, binding) for treatment in scenario.treatments)


def recorded_units(case: Case, treatments: Iterable[BoundTreatment]) -> Iterator[Unit]:
    """Yield every unit of a case: for each of the `recorded_treatments` of its scenario, each model and sample."""
    for bound in treatments:
        for model in bound.binding.of(bound.binding.compared):
            for number in range(bound.samples):
                yield Unit(case, bound, model, number)


def _wiring(scenario: Scenario, treatment: Treatment, plan: Plan, binding: RoleBinding) -> BoundTreatment:
    absent = {step.name for step in treatment.steps if isinstance(step, Converse | SampleList | Verdict)}
    there = (step for step in treatment.steps if isinstance(step, Ask | Retrieve | Score | Column))
    steps = tuple(step for step in there if absent.isdisjoint(step.needs))
    return BoundTreatment(scenario, treatment.model_copy(update={"steps": steps}), plan, binding)


class Recorder:
    """Records the replies to cases of one plan. `collected` has the new rows; nothing is written."""

    def __init__(self, plan: Plan, sources: Sources, ledger: Ledger, run_id: str, now: Callable[[], datetime]) -> None:
        self.collected = CollectedResults()
        self.tally = RunProgress()
        self._ledger = ledger
        self._world = PlanContext(plan, sources)
        binding = RoleBinding({}, "")  # the names of results are those of the units
        run = RunContext(plan, binding, sources, self.collected, run_id=run_id, tally=self.tally, now=now)
        self._keeping = ResultWriter(run)

    def take(self, cases: Iterable[tuple[Sequence[Unit], Mapping[str, Told]]]) -> Iterator[dict[str, Refusal]]:
        """Record the replies to some units of cases, which are looked up together. The replies to each are by name
        of a sample. Return those that were refused, with the reason. A reply that the ledger has with the same text
        stays."""
        together = list(cases)
        units = [unit for some, _ in together for unit in some]
        wanted = {call.name for unit in units for call in unit.calls}
        conditions = {name for unit in units for table, name in unit.results if table == CONDITIONS}
        scores = {name for unit in units for names in unit.scores.values() for name in names.values()}
        kept = kept_statuses(self._ledger, {"samples": wanted, "scores": scores, CONDITIONS: conditions}, final=True)
        rows = self._ledger.rows("samples", wanted & kept.keys())
        for some, replies in together:
            refused = {
                name: Refusal("the store has another reply to the same question", str(rows[name]["reply"]))
                for name, reply in replies.items()
                if name in rows and rows[name]["reply"] != reply["reply"]
            }
            shared = CaseState(kept, rows, {})
            answers: dict[str, Answer] = {}
            for unit in some:
                refused |= _Recording(self._keeping, self._world, unit, replies, shared, answers).go()
            yield refused


@dataclass
class _Recording:
    """The driver of one unit with known replies; it yields the refused replies and the reasons. `accepted` are the
    accepted replies of all units of the case."""

    keeping: ResultWriter
    world: PlanContext
    unit: Unit
    replies: Mapping[str, Told]
    shared: CaseState
    accepted: dict[str, Answer]
    absent: set[str] = field(default_factory=set)
    """The steps without a reply, and those that build on one."""
    refused: dict[str, Refusal] = field(default_factory=dict)

    def go(self) -> dict[str, Refusal]:
        """Keep the new results of the unit. Return the refused replies."""
        self.program = UnitProgram(self.world, self.unit, StepValues(self.unit.case.names), [], self.shared.retrieved)
        drive_now(self.program.go(), self._meet, self._take)
        return self.refused

    def _meet(self, need: Need) -> Answered:
        """Return what a program is sent for a need: no vectors, and only recorded replies."""
        if isinstance(need, SimilarityNeed):
            return {}
        if isinstance(need, ScorerNeed):
            return need.scorer.request_value(need.request)
        assert isinstance(need, ReplyNeed), "conversations are left out"
        step, name = need.call.step, need.call.name
        assert isinstance(step, Ask)
        told = self.replies.get(name)
        if missing := sorted(self.absent.intersection(step.needs)):
            self._refuse(name, f"`{step.name}` builds on `{missing[0]}`, to which there is no reply")
        elif name in self.accepted and self.shared.is_sure(name, step):
            return self.accepted[name]
        elif name in self.accepted or name in self.shared.statuses or told is not None:
            try:
                return self._answer(need, told)
            except Unavailable as reason:
                self._refuse(name, f"a run would not ask for it: {reason}")
        self.absent.add(step.name)
        return Unavailable(step.name, NOT_APPLICABLE)

    def _answer(self, need: ReplyNeed, told: Told | None) -> Answer:
        """Return the reply from the ledger or the recording. Raises `Unavailable` if a run would not ask for it."""
        name, messages = need.call.name, need.prompt.messages()
        if name in self.accepted:
            self.keeping.keep_condition(need.call.step, name, self.unit, self.shared)
            return self.accepted[name]
        if name in self.shared.statuses:
            self.keeping.keep_condition(need.call.step, name, self.unit, self.shared)
            return answer_of(self.shared.rows[name], need.question)
        assert told is not None
        answer = self.accepted[name] = recorded_answer(need.question, messages, told)
        row = self.keeping.row.sample(self.unit, need.call, name, need.number)
        beside = self.keeping.condition_rows(need.call.step, name, self.unit.case.item_id, self.shared)
        self.keeping.run.ledger.keep({"samples": [{**row, **answer.columns}], **beside})
        self.keeping.count_status("samples", answer.status)
        return answer

    def _take(self) -> None:
        """Keep the events of the program, except those that build on a missing reply."""
        results = self.program.out[:]
        self.program.out.clear()
        for result in results:
            if isinstance(result, ScoreResult) and self.absent.isdisjoint((*result.step.needs, result.step.of)):
                self.keeping.take(result, self.unit, self.shared)
            if isinstance(result, CallSkipped):
                self._leave_out(result)

    def _leave_out(self, result: CallSkipped) -> None:
        """Record a skipped step: its condition is false, or it builds on a step that is left out."""
        step = result.call.step
        missing = sorted(self.absent.intersection(getattr(step, "needs", ())))
        if missing:
            self._refuse(result.call.name, f"`{step.name}` builds on `{missing[0]}`, to which there is no reply")
            self.absent.add(step.name)
        elif step.name not in self.absent:
            reason = f"a run would not ask for it: the condition of `{step.name}` does not hold"
            self._refuse(result.call.name, reason)

    def _refuse(self, name: str, reason: str) -> None:
        """Record why a reply is refused, if there is one."""
        if name in self.replies:
            self.refused[name] = Refusal(reason)
