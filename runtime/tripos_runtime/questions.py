"""The questions of steps: what is sent for each, apart from what fills it, and how its replies are read."""

from __future__ import annotations

from collections.abc import Sequence

from tripos_compiler.plan import Ask, Axis, Compare, Judging, Plan
from tripos_runtime.asking import Outcome, Question, Reader, text_reader
from tripos_runtime.grading import grade_reader, grade_schema, verdict_reader
from tripos_runtime.reading import read, schema_of
from tripos_runtime.statuses import status_of_reply


def question_of(plan: Plan, axes: Sequence[Axis], step: Ask | Judging) -> Question:
    """The question of a step."""
    if isinstance(step, Ask):
        schema = schema_of(step.returns) if step.returns is not None else None
        return Question(step.system, step.prompt, step.settings, schema, reply_reader(step, axes))
    scorer = plan.scorer(step.scorer)
    metrics = [plan.metric(metric) for metric in getattr(step, "metrics", ())]
    reader = verdict_reader(scorer) if isinstance(step, Compare) else grade_reader(scorer, metrics)
    return Question(scorer.system, scorer.prompt, scorer.settings, grade_schema(scorer, metrics), reader)


def reply_reader(step: Ask, axes: Sequence[Axis]) -> Reader:
    """Reads a reply as what the step returns."""
    returns = step.returns
    if returns is None:
        return text_reader

    def reader(text: str, finish_reason: str | None) -> Outcome:
        found = read(returns, text, axes)
        if found.error is not None:
            return Outcome(None, None, found.error, status_of_reply(found.status, finish_reason))
        return Outcome(found.value, found.value)

    return reader
