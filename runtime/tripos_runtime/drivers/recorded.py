"""Replies that were given elsewhere, taken through the steps of a plan as if a model had just sent them.

What comes of it is what a run would have kept: samples under the names that a run looks for, read as a run reads them,
and the scores that need no model. Nobody is asked. A step whose reply is not there is left out, and with it whatever
builds on it; so are judges, whose scores come from elsewhere, and conversations, with what continues them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tripos_compiler.language.evaluation import Unavailable
from tripos_compiler.plan import Ask, Converse, Plan, Retrieve, Scenario, Score, Verdict
from tripos_runtime.asking.asking import Answer, recorded_answer
from tripos_runtime.asking.kept_rows import answer_of
from tripos_runtime.asking.ledger import Ledger, Row
from tripos_runtime.asking.statuses import AGAIN, NOT_APPLICABLE
from tripos_runtime.asking.tally import Tally
from tripos_runtime.datasets.cases import Case
from tripos_runtime.datasets.sources import Sources
from tripos_runtime.models.base import Message
from tripos_runtime.program.case_cache import Shared
from tripos_runtime.program.retrieving import found
from tripos_runtime.program.stepping import Stepper
from tripos_runtime.program.units import Names, Unit, Wiring
from tripos_runtime.roles.binding import Binding

Told = Mapping[str, Any]
"""What is known of a reply, as columns of `samples`: `reply`, the text, and any of `model_served`, `finish_reason`,
`tokens_in`, `tokens_out`, `tokens_reasoning`, `cost_usd` and `latency_s`."""


@dataclass(frozen=True)
class Refusal:
    """Why a reply is not taken; `other` is the one that the ledger has in its place, where it has."""

    reason: str
    other: str | None = None


@dataclass
class Collected:
    """What a recorder keeps: rows by table, in memory, over a ledger that is only read."""

    ledger: Ledger
    kept: dict[str, list[Row]] = field(default_factory=dict)

    def keep(self, rows: Mapping[str, Sequence[Row]]) -> None:
        """Takes rows, by table."""
        for table, some in rows.items():
            self.kept.setdefault(table, []).extend(some)

    def add(self, ids: Iterable[str]) -> None:
        """Takes the names of results, of which nothing is made."""


def recorded_units(case: Case, plan: Plan, binding: Binding) -> Iterator[Unit]:
    """Every unit of a case, without the judges: for each treatment, model and sample."""
    for treatment in case.scenario.treatments:
        wiring = _wiring(case.scenario, tuple(treatment.arms.items()), plan, binding)
        for model in binding.of(binding.compared):
            for number in range(wiring.samples):
                yield Unit(case, wiring, model, number)


def _wiring(scenario: Scenario, arms: tuple[tuple[str, str], ...], plan: Plan, binding: Binding) -> Wiring:
    treatment = next(each for each in scenario.treatments if each.arms == dict(arms))
    absent = {step.name for step in treatment.steps if isinstance(step, Converse | Verdict)}
    there = (step for step in treatment.steps if isinstance(step, Ask | Retrieve | Score))
    steps = tuple(step for step in there if absent.isdisjoint(step.needs))
    return Wiring(scenario, treatment.model_copy(update={"steps": steps}), plan, binding)


class Recorder:
    """Takes cases of one plan. `collected` has the rows of what is new; nothing is written."""

    def __init__(self, plan: Plan, sources: Sources, ledger: Ledger, run_id: str, now: Callable[[], datetime]) -> None:
        self.collected = Collected(ledger)
        self.tally = Tally()
        self._ledger = ledger
        self._stepper = _Stepper(plan, sources, self.collected, self.tally, run_id, now)

    def take(self, cases: Iterable[tuple[Sequence[Unit], Mapping[str, Told]]]) -> Iterator[dict[str, Refusal]]:
        """Takes the units of some cases, which are looked up together. The replies to each are by name of a sample;
        those that are not taken come back, with the reason. What the ledger has already, word for word, stays."""
        together = list(cases)
        units = [unit for some, _ in together for unit in some]
        wanted = {call.name for unit in units for call in unit.calls}
        scores = {name for unit in units for names in unit.scores.values() for name in names.values()}
        kept = {**self._kept("samples", wanted), **self._kept("scores", scores)}
        rows = self._ledger.rows("samples", wanted & kept.keys())
        for some, replies in together:
            refused = {
                name: Refusal("the store has another reply to the same question", str(rows[name]["reply"]))
                for name, told in replies.items()
                if name in rows and rows[name]["reply"] != told["reply"]
            }
            shared = Shared(kept, rows, {})
            self._stepper.begin_case()
            for unit in some:
                refused |= self._stepper.record(unit, replies, shared)
            yield refused

    def _kept(self, table: str, names: set[str]) -> dict[str, str]:
        ids = sorted(names)
        found = zip(ids, self._ledger.statuses(table, ids), strict=True)
        return {name: status for name, status in found if status is not None and status not in AGAIN}


class _Stepper(Stepper):
    """Steps through a unit whose replies are known."""

    def __init__(
        self,
        plan: Plan,
        sources: Sources,
        collected: Collected,
        tally: Tally,
        run_id: str,
        now: Callable[[], datetime],
    ) -> None:
        super().__init__(plan, sources, {}, collected, tally, collected, run_id, now)
        self._taken: dict[str, Answer] = {}

    def begin_case(self) -> None:
        """Forgets the replies of the case before."""
        self._taken.clear()

    def record(self, unit: Unit, replies: Mapping[str, Told], shared: Shared) -> dict[str, Refusal]:
        """Keeps what is new of a unit."""
        names = Names(unit.case.names)
        absent: set[str] = set()
        refused: dict[str, Refusal] = {}
        for step in unit.wiring.treatment.steps:
            if isinstance(step, Score) and absent.isdisjoint((*step.needs, step.of)):
                self._score(unit, step, names, shared)
            if isinstance(step, Retrieve):
                names.found(step, found(self.chooser, unit, step, names))
            if not isinstance(step, Ask):
                continue
            name = unit.samples[step.name]
            why = self._why_not(step, names, absent) if name in replies else None
            answer = None
            if why is None and absent.isdisjoint(step.needs) and names.holds(step) is None:
                try:
                    answer = self._answer_to(unit, step, names, replies.get(name), shared)
                except Unavailable as reason:
                    why = f"a run would not ask for it: {reason}"
            if why is not None:
                refused[name] = Refusal(why)
            if answer is not None:
                names.answered(step, answer.text, answer.value, answer.status, answer.prompt)
            elif absent.isdisjoint(step.needs) and (status := names.holds(step)) is not None:
                names.skipped(step, status)
            else:
                absent.add(step.name)
                names.skipped(step, NOT_APPLICABLE)
        return refused

    def _why_not(self, step: Ask, names: Names, absent: set[str]) -> str | None:
        """Why a reply to a step cannot be taken, if so."""
        if missing := sorted(absent.intersection(step.needs)):
            return f"`{step.name}` builds on `{missing[0]}`, to which there is no reply"
        if names.holds(step) is not None:
            return f"a run would not ask for it: the condition of `{step.name}` does not hold"
        return None

    def _answer_to(self, unit: Unit, step: Ask, names: Names, told: Told | None, shared: Shared) -> Answer | None:
        """The reply to a step as the ledger has it, or as it is told; None where there is none."""
        name = unit.samples[step.name]
        if name in self._taken:
            return self._taken[name]
        if name not in shared.kept and told is None:
            return None
        question = self.questions.of(step, unit.case.language)
        sent: tuple[Message, ...] = self._sent(unit, step, question, names, shared)
        if name in shared.kept:
            return answer_of(shared.rows[name], question.reader)
        assert told is not None
        answer = self._taken[name] = recorded_answer(question, sent, told)
        row = self._sample(unit, step, {name: unit.number % step.samples}, name)
        self.ledger.keep({"samples": [{**row, **answer.columns}]})
        self._count_status("samples", answer.status)
        return answer
