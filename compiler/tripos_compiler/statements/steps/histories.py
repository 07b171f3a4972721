"""Lowers what an ask goes on from: a `chat` of the data, or what `continue` names."""

from __future__ import annotations

from tripos_compiler.constructs import Statement
from tripos_compiler.diagnostics import nearest
from tripos_compiler.plan import Ask, Converse, DialogueType
from tripos_compiler.resolve import Typed
from tripos_compiler.source import Name
from tripos_compiler.statements.steps.steps import Steps

SETTLED = ("system", "shots")
"""What the first question of a chat has said for all that follow."""


def lower_chat(steps: Steps, statement: Statement) -> Typed | bool | None:
    """Return the dialogue that comes first; None where there is none, False where it is wrong."""
    written = statement.one_of("chat")
    if written is None:
        return None
    value = written.syntax("value")
    return steps.elaborator().expression(value, DialogueType(), "what is chatted") or False


def lower_continued(steps: Steps, statement: Statement, role: Name) -> str | bool | None:
    """Return the name of the conversation, or of the ask, that is continued; None where there is none, False where it
    is wrong."""
    written = statement.one_of("continue")
    if written is None:
        return None
    program, name = steps.program, written.name("step")
    found = next((step for step in steps.lowered if step.name == name.text), None)
    binding = steps.scope.get(name.text)
    if not isinstance(found, Ask | Converse) or binding is None:
        if binding is not None and binding.type is None and not binding.fields:
            return False  # it was reported
        close = nearest(name.text, [step.name for step in steps.lowered if isinstance(step, Ask | Converse)])
        help_ = f"did you mean `{close}`?" if close else "name an `ask` or a `converse` step that stands before"
        program.diagnostics.error(
            "E0201", f"nothing called `{name.text}` can be continued here", name.span, help=help_, unknown=name.text
        )
        return False
    program.index.use(name.span, binding.span)
    if (chat := statement.one_of("chat")) is not None:
        help_ = "remove one of the two: a question goes on from one dialogue"
        program.diagnostics.error("E0107", "an ask with `continue` takes no `chat`", chat.head, help=help_)
        return False
    if role.text not in program.roles:
        return False  # it was reported
    good = _goes_on(steps, statement, found) if isinstance(found, Ask) else True
    return found.name if _took_part(steps, found, role, name) and good else False


def _took_part(steps: Steps, found: Ask | Converse, role: Name, name: Name) -> bool:
    """Return true if the role spoke in what it continues; reports where it did not."""
    if isinstance(found, Ask):
        message, help_ = f"`{found.name}` is a reply of `{found.role}`", f"ask `{found.role}`"
        took_part = role.text == found.role
    else:
        message = f"`{role.text}` took no part in `{found.name}`"
        help_ = f"its speakers are {' and '.join(f'`{speaker.role}`' for speaker in found.speakers)}"
        took_part = role.text in [speaker.role for speaker in found.speakers]
    if not took_part:
        steps.program.diagnostics.error("E0208", message, name.span, help=help_)
    return took_part


def _goes_on(steps: Steps, statement: Statement, found: Ask) -> bool:
    """Return true if an ask may go on from another; reports what stands in the way."""
    program, good = steps.program, True
    for construct in SETTLED:
        for written in statement.of(construct):
            message = f"an ask that continues `{found.name}` takes no `{construct}`"
            help_ = f"write it in `{found.name}`: a chat has it once, at its beginning"
            program.diagnostics.error("E0107", message, written.head, help=help_)
            good = False
    if found.plain is not None:
        span = statement.of("continue")[0].name("step").span
        message, help_ = f"`{found.name}` is a plain text, which has no turns", "name an ask without `plain`"
        program.diagnostics.error("E0107", message, span, help=help_)
        good = False
    if found.calls_tools:
        span = statement.of("continue")[0].name("step").span
        message = f"`{found.name}` may call tools, and a call without its result cannot be gone on from"
        program.diagnostics.error("E0107", message, span, help="name an ask without `tools`")
        good = False
    return good
