"""Programs that get one answer or several: of judges, of programs that score, and of the tools that a reply calls.

A call that names no tool, or whose arguments do not fit, is answered with what is wrong with it, as is one whose
function raises an error. So a model may mend its call, and nothing of the state has changed by then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from tripos_compiler.language import Unavailable, evaluate
from tripos_compiler.language.library import type_notation
from tripos_compiler.plan import (
    LIMIT,
    REPLIED,
    Ask,
    Call,
    RecordType,
    Ref,
    Tool,
    ToolCall,
    arguments_fitting,
    said_calls,
    tool_function_name,
    write_calls,
)
from tripos_runtime.asking import PreparedQuestion
from tripos_runtime.asking.functions import Suspended, suspending
from tripos_runtime.models import TOOL, Message
from tripos_runtime.program.calls import StepCall
from tripos_runtime.program.names import Names
from tripos_runtime.program.needs import Program, ProgramValue, Prompt, ReplyNeed, is_pending
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


def heard(sent: Sequence[Message]) -> str:
    """Return what the user said last, before a reply; nothing where results came after it."""
    chat = [each for each in sent if each.role != TOOL]
    return chat[-1].content if chat and chat[-1].role == "user" else ""


USER = "user"
"""Who has said what is asked, where it is no role."""


def acted(step: Ask, reply: str, prompt: Prompt, names: Names) -> Program:
    """Make the calls of a reply, and put what comes of them among the names, with what the turns before came to. A
    forecast, which makes no call, finds that nothing has come of them yet."""
    own, (text, calls) = names.values[step.name], said_calls(reply)
    try:
        said_before = heard(prompt.messages())
        earlier = evaluate(Ref(path=(str(step.continues), "so_far")), names.values) if step.takes_results else None
        state = evaluate(step.acts[0].args[0], names.values)  # type: ignore[union-attr]
        results: list[dict[str, Any]] = []
        for call in calls:
            state, result, failed = yield from _made(step, call, state)
            results.append({"name": call.name, "text": result, "failed": failed})
    except Unavailable as reason:
        names.failed(step, reason)
        return
    spoken = (_user(step), said_before), (step.role, text)
    so_far: dict[str, Any] = {
        "state": state,
        "results": results,
        "calls": own["calls"],
        "replies": [] if calls else [text],
        "turns": [{"speaker": who, "text": said} for who, said in spoken if said],
        **{tool.name: own[tool.name] for tool in step.tools},
    }
    if earlier is not None:
        so_far = {key: value if key == "state" else [*earlier[key], *value] for key, value in so_far.items()}
    so_far |= {"text": text, "ended": LIMIT if calls else REPLIED}
    names.acted(step, so_far, (write_calls(text, calls), [each["text"] for each in results]))


def _user(step: Ask) -> str:
    """Return who is the user of a loop: the role that answers, where it is one."""
    return step.user or USER


def _made(step: Ask, call: ToolCall, state: Any) -> Program:
    """Return the state after a call, its result, and whether that says what was wrong."""
    tool = next((each for each in step.tools if each.name == call.name), None)
    if tool is None:
        return state, f"Error: there is no tool `{call.name}`", True
    wrong = misfit(tool, call)
    if wrong is not None:
        return state, f"Error: {wrong}", True
    done = yield from with_programs(partial(_called, tool, state, call))
    return done.state, done.text, done.failed


def _called(tool: Tool, state: Any, call: ToolCall) -> Any:
    fitted: Mapping[str, Any] = arguments_fitting(tool.arguments, call.arguments) or {}
    given = {name: value for name, value in fitted.items() if value is not None}
    names = {"state": state, "arguments": given}
    function = tool_function_name(tool.name)
    return evaluate(Call(function=function, args=(Ref(path=("state",)), Ref(path=("arguments",)))), names)


def misfit(tool: Tool, call: ToolCall) -> str | None:
    """Return what is wrong with a call of a tool, in words for the model; None where it fits.

    >>> from tripos_compiler.plan import IntegerType, ToolParameter
    >>> ping = Tool(name="ping", about={}, parameters=(ToolParameter(name="n", type=IntegerType()),))
    >>> misfit(ping, ToolCall("ping", {"m": 1})), misfit(ping, ToolCall("ping", {"n": 1}))
    ('`ping` has no parameter `m`', None)
    >>> misfit(ping, ToolCall("ping", {"n": "x"}))
    '`n` of `ping` must be `integer`'
    """
    if not isinstance(call.arguments, Mapping):
        return f"the arguments are no JSON object: {call.arguments}"
    for name in call.arguments:
        if name not in tool.arguments.fields:
            return f"`{tool.name}` has no parameter `{name}`"
    for name, type_ in tool.arguments.fields.items():
        if name not in call.arguments and type_.kind != "optional":
            return f"`{tool.name}` needs `{name}`"
        if arguments_fitting(RecordType(fields={name: type_}), {name: call.arguments.get(name)}) is None:
            return f"`{name}` of `{tool.name}` must be `{type_notation(type_)}`"
    return None
