"""Lowers what an ask says of tools: which the model may call."""

from __future__ import annotations

from tripos_compiler.constructs import Statement
from tripos_compiler.language.library import type_notation
from tripos_compiler.plan import JsonType, Tool
from tripos_compiler.resolve import Typed
from tripos_compiler.source import Name, Syntax, dataclass
from tripos_compiler.statements.steps.steps import NOT_ASKED, Steps, warn_undefined

WITHOUT = ("plain", "likelihood", "returns")
"""What no ask with tools has: a reply with calls has a form of its own."""


@dataclass(frozen=True)
class OfferedTools:
    """The tools of an ask: those that are declared, and an expression for those of the row."""

    declared: tuple[Tool, ...] = ()
    listed: Typed | None = None


def lower_offered(steps: Steps, ask: Statement) -> OfferedTools | None:
    """Return the tools of an ask; None where anything of them is wrong, which is reported."""
    written = ask.one_of("tools")
    if written is None:
        return OfferedTools()
    good = True
    for construct in WITHOUT:
        if (other := ask.one_of(construct)) is not None:
            message = f"an ask with `tools` takes no `{construct}`"
            help_ = "remove one of the two: a reply with calls has a form of its own"
            steps.program.diagnostics.error("E0107", message, other.head, help=help_)
            good = False
    declared: dict[str, Tool] = {}
    listed: Typed | None = None
    for syntax in written.many("tools"):
        if isinstance(syntax, Name) and syntax.text not in steps.scope:
            tool = _declared(steps, syntax)
            good = good and tool is not None and _is_new(steps, syntax, syntax.text in declared)
            if tool is not None:
                declared[tool.name] = tool
            continue
        found = _listed(steps, syntax)
        good = good and found is not None and _is_new(steps, syntax, listed is not None)
        listed = found
    if declared and listed is not None:
        message = "these tools are declared, and those of a column stand beside them"
        help_ = "take the tools of the column, or those that are declared"
        steps.program.diagnostics.error("E0107", message, written.head, help=help_)
        good = False
    return OfferedTools(tuple(declared.values()), listed) if good else None


def _declared(steps: Steps, name: Name) -> Tool | None:
    if not steps.program.is_declared("tool", name):
        return None
    return steps.program.tools.get(name.text)  # one that is wrong was reported


def _listed(steps: Steps, syntax: Syntax) -> Typed | None:
    steps.program.index.scopes.append((syntax.span, dict(steps.scope)))
    typed = steps.elaborator().infer(syntax)
    if typed is None:
        return None
    if typed.type != JsonType(form="tools"):
        message = f"these are no tools: `{type_notation(typed.type)}`"
        help_ = "name tools that are declared, or a column of type `tools`: `functions tools`"
        steps.program.diagnostics.error("E0301", message, syntax.span, help=help_)
        return None
    warn_undefined(steps, typed, NOT_ASKED)
    return typed


def _is_new(steps: Steps, syntax: Syntax, known: bool) -> bool:
    """Return true if a tool, or a list of them, is named for the first time; reports it where it is not."""
    if known:
        message = "these tools are named twice" if isinstance(syntax, Name) else "only one column can have tools"
        steps.program.diagnostics.error("E0202", message, syntax.span, help="remove one")
    return not known
