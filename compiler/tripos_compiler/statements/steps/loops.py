"""Lowers `state`: an ask whose calls of tools are made, and whose results go back to the model.

It is as many asks as there may be turns, each of which continues the one before where that one called a tool. So
whatever is proved, counted and kept of an ask holds of each turn, and what the name of the whole means is that of the
first turn after which there is no more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from tripos_compiler.constructs import Statement
from tripos_compiler.language.library import type_notation
from tripos_compiler.plan import (
    CALLED,
    LIMIT,
    SAID,
    SAID_IN_LOOP,
    Ask,
    Binary,
    Call,
    Expr,
    Hole,
    JsonType,
    Literal_,
    RecordType,
    Ref,
    Template,
    Texts,
    TextType,
    Tool,
    Unary,
    loop_type,
    tool_function_name,
)
from tripos_compiler.resolve import Binding, Typed
from tripos_compiler.source import Name, Number, dataclass
from tripos_compiler.statements.prompts import Question, lower_question
from tripos_compiler.statements.steps.steps import NOT_ASKED, Steps, mention_question, warn_unasked, warn_undefined

MOST_TURNS = 50
SO_FAR = "so_far"
"""The field of a turn that has what the loop came to up to it."""


@dataclass(frozen=True)
class LoopUser:
    """The role that answers turns without a call, what it is told, and what it says to end the loop."""

    role: Name
    question: Question
    ends: tuple[str, ...]

    def ended(self, said: Expr) -> Expr:
        """Return the condition that a turn of the user ends the loop."""
        over: list[Expr] = [Call(function="contains", args=(said, Literal_(value=each))) for each in self.ends]
        if not over:
            return Literal_(value=False)
        return reduce(lambda one, other: Binary(operator="or", left=one, right=other), over)


@dataclass(frozen=True)
class ToolLoop:
    """The state that tools start from, the most turns that a model may take, who answers them, and what ends them."""

    state: Typed
    most: int
    user: LoopUser | None = None
    ends: tuple[str, ...] = ()
    """The tools whose call ends it."""


MayAnswer = Callable[[Steps, Name], bool]


def lower_state(
    steps: Steps, statement: Statement, tools: Sequence[Tool], may_answer: MayAnswer
) -> ToolLoop | bool | None:
    """Return the loop of an ask; None where it has none, False where anything of it is wrong, which is reported."""
    written, user = statement.one_of("state"), _user(steps, statement, may_answer)
    ends = _ending_tools(steps, statement, tools)
    if written is None:
        return None if user is None and ends is not None else False
    program, good = steps.program, user is not False and ends is not None
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
    other = user if isinstance(user, LoopUser) else None
    return ToolLoop(state, most, other, ends or ()) if state is not None and good else False


def _ending_tools(steps: Steps, statement: Statement, tools: Sequence[Tool]) -> tuple[str, ...] | None:
    """Return the tools of an ask whose call ends its loop; None where anything of them is wrong, which is reported."""
    program, role = steps.program, statement.name("role").text
    found: list[str] = []
    good = True
    for each in statement.of("called"):
        caller, tool = each.name("role"), each.name("tool")
        if not statement.of("state"):
            message, help_ = "no call is made here, so none ends anything", "write a `state`, or remove this line"
            program.diagnostics.error("E0107", message, each.head, help=help_)
            good = False
        elif caller.text != role:
            message, help_ = f"`{caller.text}` calls no tools here", f"write `until {role} calls {tool.text}`"
            program.diagnostics.error("E0201", message, caller.span, help=help_, unknown=caller.text)
            good = False
        elif not program.is_declared("tool", tool):
            good = False
        elif tool.text not in [one.name for one in tools]:
            message, help_ = f"`{tool.text}` is none of the tools of this ask", "name it after `tools` too"
            program.diagnostics.error("E0201", message, tool.span, help=help_, unknown=tool.text)
            good = False
        elif tool.text in found:
            message = f"the call of `{tool.text}` ends this loop already"
            program.diagnostics.error("E0202", message, each.head, help="remove one")
            good = False
        else:
            found.append(tool.text)
    return tuple(found) if good else None


def _user(steps: Steps, statement: Statement, may_answer: MayAnswer) -> LoopUser | bool | None:
    """Return the user of a loop; None where it has none, False where anything of it is wrong, which is reported."""
    program, written, good = steps.program, statement.one_of("user"), True
    if written is None or not statement.of("state"):
        stray = [*statement.of("user"), *statement.of("until")]
        for each in stray:
            message = "only an ask with a `state` has a user" if statement.of("user") else "this ask has no user"
            program.diagnostics.error("E0107", message, each.head, help="write a `state`, and `user ROLE { … }`")
        return False if stray else None
    role = written.name("role")
    if not program.is_declared("role", role) or not may_answer(steps, role):
        return False
    if role.text == statement.name("role").text:
        help_ = "declare a role for the user; one model may fill both"
        program.diagnostics.error("E0202", f"`{role.text}` cannot be its own user", role.span, help=help_)
        good = False
    ends: list[str] = []
    for each in statement.of("until"):
        speaker, text = each.name("role"), each.text("string")
        if speaker.text != role.text:
            message, help_ = f"`{speaker.text}` is not the user", f"write `until {role.text} says …`"
            program.diagnostics.error("E0201", message, speaker.span, help=help_, unknown=speaker.text)
            good = False
        elif not text.value.strip():
            message = "every turn would end it: this text is empty"
            program.diagnostics.error("E0803", message, text.span, help='write what is said: "done"')
            good = False
        ends.append(text.value)
    question = lower_question(program, dict(steps.scope), written, steps.rows)
    return LoopUser(role, question, tuple(ends)) if question is not None and good else False


def lower_loop(steps: Steps, statement: Statement, first: Ask, loop: ToolLoop) -> None:
    """Add an ask for each turn that there may be; `first` has all that they have in common, and what is sent first."""
    name, user = statement.name(), loop.user
    warn_undefined(steps, loop.state, NOT_ASKED)
    if user is not None:
        warn_unasked(steps, user.question, None)
        mention_question(steps, user.question)
    turns: list[_LoopTurn] = []
    for number in range(1, loop.most + 1):
        before = turns[-1] if turns else None
        state = loop.state.expr if before is None else Ref(path=(before.ask.name, SO_FAR, "state"))
        acts = tuple(Call(function=tool_function_name(tool.name), args=(state,)) for tool in first.tools)
        ask = first.model_copy(
            update={"name": f"{name.text}({number})", "acts": acts, "user": user.role.text if user else None}
        )
        if before is not None:
            prompt = None if before.said is None else _prompt(steps, before.said)
            alone = {"system": None, "shots": (), "chat": None, "prompt": prompt, "continues": before.ask.name}
            ask = ask.model_copy(update={**alone, "when": _both(first.when, before.more)})
        answer = None if user is None else _answer(first, ask, user)
        turns.append(_LoopTurn(ask, answer, user, loop.ends))
        for each in (ask, answer):
            if each is not None:
                steps.lowered.append(each)
                steps.wholes[each.name] = name
    type_ = loop_type(first.tools, called=bool(loop.ends))
    steps.scope[name.text] = _whole(name, type_, turns)
    steps.define("ask", name, type_)


@dataclass(frozen=True)
class _LoopTurn:
    """A turn of the model, and the user's answer to it, which is there where the model called nothing."""

    ask: Ask
    answer: Ask | None
    user: LoopUser | None
    ends: tuple[str, ...] = ()

    @property
    def calls(self) -> Expr:
        """Return the condition that the turn calls any tool."""
        count = Call(function="length", args=(Ref(path=(self.ask.name, "calls")),))
        return Binary(operator=">", left=count, right=Literal_(value=0))

    @property
    def over(self) -> Expr | None:
        """Return the condition that a call of the turn ends the loop, one whose arguments fit; None where none can."""
        made: list[Expr] = [
            Binary(
                operator=">",
                left=Call(function="length", args=(Ref(path=(self.ask.name, tool)),)),
                right=Literal_(value=0),
            )
            for tool in self.ends
        ]
        return reduce(lambda one, other: Binary(operator="or", left=one, right=other), made) if made else None

    @property
    def said(self) -> Expr | None:
        """Return what the user answers."""
        return None if self.answer is None else Ref(path=(self.answer.name, "text"))

    @property
    def more(self) -> Expr:
        """Return the condition that another turn follows, where there may be one."""
        more = self.calls
        if self.said is not None and self.user is not None:
            goes_on = Unary(operator="not", value=self.user.ended(self.said))
            more = Binary(operator="or", left=more, right=goes_on)
        return more if self.over is None else _both(Unary(operator="not", value=self.over), more)

    def value(self, field: str, *, last: bool) -> Expr:
        """Return what the loop came to where it ends with this turn."""
        found = self._without_call(field, last=last)
        if field != "ended" or self.over is None:
            return found
        return Call(function="choose", args=(self.over, Literal_(value=CALLED), found))

    def _without_call(self, field: str, *, last: bool) -> Expr:
        """Return the same where no call ends it."""
        found = Ref(path=(self.ask.name, SO_FAR, field))
        if self.said is None or self.user is None:
            return found
        if field == "turns":
            role = Literal_(value=self.user.role.text)
            with_answer = Call(function="with_turn", args=(found, role, self.said))
            return Call(function="choose", args=(self.calls, found, with_answer))
        if field == "ended":
            over = Literal_(value=SAID)
            return Call(function="choose", args=(self.more, Literal_(value=LIMIT), over)) if last else over
        return found


def _prompt(steps: Steps, said: Expr) -> Texts:
    hole = Hole(expr=said, type=TextType())
    return {language: Template(parts=(hole,)) for language in steps.program.languages}


def _both(one: Expr | None, other: Expr) -> Expr:
    return other if one is None else Binary(operator="and", left=one, right=other)


def _answer(first: Ask, turn: Ask, user: LoopUser) -> Ask:
    """Return the ask of the user after a turn."""
    count = Call(function="length", args=(Ref(path=(turn.name, "calls")),))
    silent = Binary(operator="==", left=count, right=Literal_(value=0))
    number = turn.name.removeprefix(turn.script)
    return Ask(
        name=f"{turn.script}.{user.role.text}{number}",
        role=user.role.text,
        system=user.question.system.texts if user.question.system else None,
        chat=Ref(path=(turn.name, SO_FAR, "turns")),
        opened=True,
        samples=first.samples,
        settings=user.question.settings,
        when=_both(first.when, silent),
        fingerprint="",
    )


def _whole(name: Name, type_: RecordType, turns: Sequence[_LoopTurn]) -> Binding:
    """Return what the name of a loop means: its last text, and behind a dot what it came to."""

    def at_the_end(field: str) -> Expr:
        found = turns[-1].value(field, last=True)
        for turn in reversed(turns[:-1]):
            found = Call(function="choose", args=(turn.more, found, turn.value(field, last=False)))
        return found

    last = at_the_end("text")
    fields = {"text": Binding((name.text, "text"), TextType(), {}, last, name.span)}
    for field, of in type_.fields.items():
        if field != "text":
            fields[field] = Binding((name.text, field), of, {}, at_the_end(field), name.span)
    return Binding((name.text,), TextType(), fields, last, name.span)
