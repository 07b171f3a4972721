"""Programs that go on side by side, and those that get one answer or several: of judges, and of programs that score."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tripos_compiler.language import Unavailable
from tripos_runtime.asking import PreparedQuestion
from tripos_runtime.asking.functions import Suspended, suspending
from tripos_runtime.program.calls import StepCall
from tripos_runtime.program.needs import Program, ProgramValue, ReplyNeed, is_pending
from tripos_runtime.program.prompts import JudgePrompt


def with_programs(evaluated: Callable[[], Any]) -> Program:
    """Return what an expression comes to, evaluated once more for each value of a program that it needs."""
    told: dict[str, Any] = {}
    while True:
        try:
            with suspending(told):
                return evaluated()
        except Suspended as call:
            told[call.key] = yield ProgramValue(call.scorer, call.request)


def by_judge(calls: Iterable[StepCall]) -> list[list[StepCall]]:
    """Return the calls of each judge."""
    found: dict[str, list[StepCall]] = {}
    for call in calls:
        found.setdefault(call.model, []).append(call)
    return list(found.values())


def side_by_side(programs: list[Program]) -> Program:
    """Return the results of programs that go on side by side."""
    if len(programs) == 1:
        return [(yield from programs[0])]
    found = (yield programs) if programs else []
    return found


def replies(calls: Sequence[StepCall], prompt: JudgePrompt, question: PreparedQuestion, certain: bool) -> Program:
    """Return every reply of one judge to the same, or why there is one less."""
    needs = [answered(ReplyNeed(call, prompt, question, call.number, certain)) for call in calls]
    answers = yield from side_by_side(needs)
    against = [each for each in answers if isinstance(each, Unavailable)]
    return next((each for each in against if is_pending(each)), against[0]) if against else answers


def answered(need: ReplyNeed) -> Program:
    """The answer to one need, as a program beside others."""
    got = yield need
    return got
