"""Warnings of what a reply may leave undefined: scores, holes of prompts, conditions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tripos_compiler.scope import Typed

if TYPE_CHECKING:
    from tripos_compiler.lower.questions import Question
    from tripos_compiler.lower.steps import Steps

NOT_JUDGED = "what the judge is given may have no value, and it is not asked then"
NOT_ASKED = "what is asked may have no value, and nothing is asked then"
NOT_DECIDED = "this condition may have no value, and nothing is asked then"


def warn_unasked(steps: Steps, question: Question, when: Typed | None) -> None:
    """Warns of every hole of a question, and of every condition of its texts, that may have no value."""
    for texts in (question.system, question.prompt):
        for hole in texts.told() if texts is not None else ():
            warn_undefined(steps, hole.typed, NOT_DECIDED if hole.condition else NOT_ASKED, when)


def warn_undefined(steps: Steps, typed: Typed, what: str, when: Typed | None = None) -> None:
    """Warns of every part of an expression that may have no value because of a reply, unless the condition `when` sees
    to it; once for each place."""
    left = typed.may if when is None else typed.under(when.expr)
    items = steps.program.diagnostics.items
    for may in left:
        if not steps.replied(*may.lack.of):
            continue
        if any(item.code == "E0320" and item.labels[0].span == may.span for item in items):
            continue
        steps.program.diagnostics.warning("E0320", f"{what}: {may.lack.why}", may.span, help=may.lack.guard)
