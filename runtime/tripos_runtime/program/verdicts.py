"""Judges inside expressions: a call of the scorer's role, kept as a judgement, whose value goes on into the expression.

A verdict is work like every other: it is named by what determines it, so that one which builds on no reply, such as the
reward of what a teacher really said, is asked once a row, however many models and treatments are compared on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tripos_compiler.language.evaluation import Missing, Unavailable
from tripos_compiler.plan import Scorer, Verdict
from tripos_runtime.asking.asking import Answer, Asking
from tripos_runtime.asking.grading import VERDICT
from tripos_runtime.asking.prompting import grade_messages
from tripos_runtime.asking.statuses import SCORED
from tripos_runtime.models.base import Message
from tripos_runtime.program.case_cache import Shared, together

if TYPE_CHECKING:
    from tripos_runtime.program.stepping import Stepper
    from tripos_runtime.program.units import Call, Names, Unit


async def take_verdict(stepper: Stepper, unit: Unit, step: Verdict, names: Names, shared: Shared) -> None:
    """Asks whoever fills the scorer's role, unless that was done, and puts the value among the names."""
    scorer = stepper.plan.scorer(step.scorer)
    calls = [call for call in unit.calls if call.step is step]
    against = names.against(step)
    sent: tuple[Message, ...] = ()
    question = stepper.questions.of(step, unit.case.language)
    if against is None and any(call.name not in shared.answers for call in calls):
        try:
            sent = grade_messages(step, question, unit.case, names.values, stepper.sources, ())
        except Unavailable as reason:
            against = reason
    if against is not None:
        for call in calls:
            stepper.skip(
                call,
                against,
                unit,
                shared,
                lambda call: stepper.judgement_row(
                    unit, step, call.model, call.name, unit.pattern.judgement(step, call.model)
                ),
            )
        names.lacks(step, against.status, against.reason)
        return
    answers: dict[str, Answer] = {}

    async def judge(call: Call) -> None:
        async def make(wanted: Sequence[str]) -> Mapping[str, Answer]:
            asking = Asking(
                stepper.callers[call.model], question, sent, unit.case.language, (call.role, unit.case.scenario.name)
            )
            return await stepper.answers(
                unit,
                asking,
                {call.name: call},
                shared,
                {call.name: 0},
                lambda name: stepper.judgement_row(
                    unit, step, call.model, name, unit.pattern.judgement(step, call.model)
                ),
            )

        answers[call.name] = await shared.once(call.name, [call.name], make)

    await together([judge(call) for call in calls])
    names.gave(step.name, said(step, scorer, [answers[call.name] for call in calls]))


def said(step: Verdict, scorer: Scorer, answers: Sequence[Answer]) -> Any:
    """The value that an expression sees: what the judge gave; of a panel the mean, or what more than half of it said
    where that is true or false. Where one of them gave none there is none, for the reason that it has."""
    values: list[float] = []
    for answer in answers:
        value, status = (answer.value or {}).get(VERDICT, (None, answer.status))
        if value is None or status != SCORED:
            return Missing(step.name, status)
        values.append(value)
    mean = sum(values) / len(values)
    kind = None if scorer.gives is None else scorer.gives.kind
    if kind == "bool":
        return mean > 0.5
    return int(mean) if kind == "integer" and mean.is_integer() else mean
