"""Lowers `state`: an ask whose calls of tools are made, and whose results go back to the model.

It is as many asks as there may be turns, each of which continues the one before where that one called a tool. So
whatever is proved, counted and kept of an ask holds of each turn, and what the name of the whole means is that of the
first turn after which there is no more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tripos_compiler.constructs import Statement
from tripos_compiler.language.library import type_notation
from tripos_compiler.plan import (
    SAID_IN_LOOP,
    Ask,
    Binary,
    Call,
    Expr,
    JsonType,
    Literal_,
    Ref,
    TextType,
    Tool,
    loop_type,
    tool_function_name,
)
from tripos_compiler.resolve import Binding, Typed
from tripos_compiler.source import Name, Number, dataclass
from tripos_compiler.statements.steps.steps import NOT_ASKED, Steps, warn_undefined

MOST_TURNS = 50
SO_FAR = "so_far"
"""The field of a turn that has what the loop came to up to it."""


@dataclass(frozen=True)
class ToolLoop:
    """The state that tools start from, and the most turns that a model may take."""

    state: Typed
    most: int


def lower_state(steps: Steps, statement: Statement, tools: Sequence[Tool]) -> ToolLoop | bool | None:
    """Return the loop of an ask; None where it has none, False where anything of it is wrong, which is reported."""
    written = statement.one_of("state")
    if written is None:
        return None
    program, good = steps.program, True
    value, count = written.syntax("value"), written.syntax("count")
    if not statement.of("tools"):
        help_ = "name tools that have functions: `tools find_order, cancel_order`"
        program.diagnostics.error("E0206", "no tool reads or changes this state", written.head, help=help_)
        good = False
    for tool in tools:
        name = tool_function_name(tool.name)
        if name not in program.plugins and name not in program.diagnostics.lost_names:
            help_ = f'write `tool {tool.name} from "tools.py:{tool.name}" "…" {{ … }}`'
            message = f"`{tool.name}` has no function, so nothing comes of its calls"
            program.diagnostics.error("E0206", message, written.head, help=help_)
        good = good and name in program.plugins
        if tool.name in SAID_IN_LOOP:
            help_ = "the reply has a value of that name already; take another"
            program.diagnostics.error("E0207", f"no tool can be called `{tool.name}` here", written.head, help=help_)
            good = False
    if statement.of("tools") and not tools:
        help_ = "name tools of this file; those of a column have no functions"
        program.diagnostics.error("E0107", "`state` needs tools that are declared", written.head, help=help_)
        good = False
    program.index.scopes.append((value.span, dict(steps.scope)))
    state = steps.elaborator().infer(value)
    if state is not None and state.type != JsonType():
        message = f"this is no state: `{type_notation(state.type)}`"
        program.diagnostics.error("E0301", message, value.span, help="take a column of type `json`")
        state = None
    most = int(count.value) if isinstance(count, Number) else 0
    if not 1 <= most <= MOST_TURNS:
        message = f"a model has between 1 and {MOST_TURNS} turns"
        program.diagnostics.error("E0803", message, count.span, help=f"write a number up to {MOST_TURNS}")
        good = False
    return ToolLoop(state, most) if state is not None and good else False


def lower_loop(steps: Steps, statement: Statement, first: Ask, loop: ToolLoop) -> None:
    """Add an ask for each turn that there may be; `first` has all that they have in common, and what is sent first."""
    name = statement.name()
    warn_undefined(steps, loop.state, NOT_ASKED)
    turns: list[Ask] = []
    for number in range(1, loop.most + 1):
        before = turns[-1] if turns else None
        state = loop.state.expr if before is None else Ref(path=(before.name, SO_FAR, "state"))
        acts = tuple(Call(function=tool_function_name(tool.name), args=(state,)) for tool in first.tools)
        turn = first.model_copy(update={"name": f"{name.text}({number})", "acts": acts})
        if before is not None:
            alone = {"system": None, "shots": (), "chat": None, "prompt": None, "continues": before.name}
            more = _calls(before)
            when = more if first.when is None else Binary(operator="and", left=first.when, right=more)
            turn = turn.model_copy(update={**alone, "when": when})
        turns.append(turn)
        steps.lowered.append(turn)
        steps.wholes[turn.name] = name
    steps.scope[name.text] = _whole(name, first, turns)
    steps.define("ask", name, loop_type(first.tools))


def _calls(turn: Ask) -> Expr:
    """Return the condition that a turn calls any tool."""
    count = Call(function="length", args=(Ref(path=(turn.name, "calls")),))
    return Binary(operator=">", left=count, right=Literal_(value=0))


def _whole(name: Name, first: Ask, turns: Sequence[Ask]) -> Binding:
    """Return what the name of a loop means: its last text, and behind a dot what it came to."""

    def at_the_end(value: Callable[[Ask], Expr]) -> Expr:
        found = value(turns[-1])
        for turn in reversed(turns[:-1]):
            found = Call(function="choose", args=(_calls(turn), found, value(turn)))
        return found

    last = at_the_end(lambda turn: Ref(path=(turn.name, "text")))
    fields = {"text": Binding((name.text, "text"), TextType(), {}, last, name.span)}
    for field, type_ in loop_type(first.tools).fields.items():
        if field != "text":
            value = at_the_end(lambda turn, field=field: Ref(path=(turn.name, SO_FAR, field)))  # type: ignore[misc]
            fields[field] = Binding((name.text, field), type_, {}, value, name.span)
    return Binding((name.text,), TextType(), fields, last, name.span)
