"""Tools that a model may call: their parameters, how a reply says its calls, and the values that expressions see.

The reply to a step with `tools` is JSON: its text, and its calls in their order, each with the name of a tool and its
arguments. Arguments that are no JSON object stand there as the text that the model wrote. A reply that is no such JSON
is a text without calls.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tripos_compiler.plan.base import Part
from tripos_compiler.plan.expressions import (
    BoolType,
    ChoiceType,
    DialogueType,
    JsonType,
    Labels,
    ListType,
    RecordType,
    TextType,
    Type,
)
from tripos_compiler.source import dataclass

TOOL_CALL = RecordType(fields={"name": TextType(), "arguments": JsonType(), "readable": BoolType()})
"""A call as expressions see it. What is not `readable` has no name, or arguments that are no JSON object."""
TOOL_RESULT = RecordType(fields={"name": TextType(), "text": TextType(), "failed": BoolType()})
"""The result of a call as expressions and the model see it: the tool, a text, and whether that says what was wrong."""
SAID_WITH_CALLS = ("text", "prompt", "calls", "samples", "tools")
"""The names that a reply to a step with tools has already, so that no tool can be called so."""
SAID_IN_LOOP = ("state", "results", "replies", "turns", "ended", "so_far", "came")
"""The further names of one whose calls are made."""


class ToolParameter(Part):
    """A parameter of a tool. One of an optional type may be left out."""

    name: str
    type: Type
    about: Labels = {}


class Tool(Part):
    """A function that a model may call; `about` says what it is for, in each language."""

    name: str
    about: Labels
    parameters: tuple[ToolParameter, ...] = ()

    @property
    def arguments(self) -> RecordType:
        """Return the type of the arguments of a call."""
        return RecordType(fields={each.name: each.type for each in self.parameters})


def tool_function_name(tool: str) -> str:
    """Return the name of a tool's function among the functions of a plan, which no function of the spec can have."""
    return f"tool {tool}"


@dataclass(frozen=True)
class ToolCall:
    """A call that a model made. `arguments` are the JSON object that it wrote, or else its text."""

    name: str
    arguments: Any

    @property
    def readable(self) -> bool:
        """True if it names a tool, and its arguments are a JSON object."""
        return bool(self.name) and isinstance(self.arguments, Mapping)


def calling_type(tools: Sequence[Tool]) -> RecordType:
    """Return what a step with tools yields: its text, all calls, and under the name of each declared tool the arguments
    of those calls of it that fit its parameters."""
    declared = {each.name: ListType(of=each.arguments) for each in tools}
    return RecordType(fields={"text": TextType(), "calls": ListType(of=TOOL_CALL), **declared})


LIMIT, REPLIED, SAID, CALLED = "limit", "replied", "said", "called"
"""How a loop of calls ended: there were no more turns, a reply had no call, the user said what ends it, or the model
called a tool that does."""


def loop_type(tools: Sequence[Tool], *, called: bool = False) -> RecordType:
    """Return what a loop of calls yields, up to a turn: the state, all calls with their results, and what was said.
    `called`: a call may end it."""
    calling = calling_type(tools).fields
    return RecordType(
        fields={
            **calling,
            "state": JsonType(),
            "results": ListType(of=TOOL_RESULT),
            "replies": ListType(of=TextType()),
            "turns": DialogueType(),
            "ended": ChoiceType(values=(REPLIED, SAID, *((CALLED,) * called), LIMIT)),
        }
    )


def write_calls(text: str, calls: Sequence[ToolCall]) -> str:
    """Return a text and calls as the text of a reply.

    >>> write_calls("", [ToolCall("weather", {"city": "Rome"})])
    '{"text": "", "calls": [{"name": "weather", "arguments": {"city": "Rome"}}]}'
    """
    told = [{"name": each.name, "arguments": each.arguments} for each in calls]
    return json.dumps({"text": text, "calls": told}, ensure_ascii=False)


def call_of(name: Any, arguments: Any) -> ToolCall:
    """Return a call whose arguments may be the text of a JSON object, as providers send them. Those of a call without
    any, which are null or blank in some way, are empty.

    >>> call_of("weather", '{"city": "Rome"}').arguments, call_of("weather", "Rome").readable
    ({'city': 'Rome'}, False)
    >>> [call_of("ping", each).arguments for each in (None, "", "  ", '""', "null", "{}")]
    [{}, {}, {}, {}, {}, {}]
    """
    if isinstance(arguments, str):
        try:
            found = json.loads(arguments, parse_constant=_no_number)
        except (ValueError, RecursionError):
            found = arguments
        blank = found is None or (isinstance(found, str) and not found.strip())
        arguments = {} if blank else found if isinstance(found, dict) else arguments
    elif arguments is None:
        arguments = {}
    return ToolCall(name if isinstance(name, str) else "", arguments)


def _no_number(word: str) -> Any:
    raise ValueError(f"`{word}` is no JSON")


def said_calls(reply: str) -> tuple[str, tuple[ToolCall, ...]]:
    """Return the text and the calls of a reply.

    >>> said_calls(write_calls("Let me see.", [ToolCall("ping", {})]))
    ('Let me see.', (ToolCall(name='ping', arguments={}),))
    >>> said_calls("It is 12 degrees.")
    ('It is 12 degrees.', ())
    """
    try:
        found = json.loads(reply, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return reply, ()
    match found:
        case {"calls": list(calls), **more} if all(isinstance(each, dict) for each in calls) and not more.keys() - {
            "text"
        }:
            text = more.get("text")
            listed = tuple(call_of(each.get("name"), each.get("arguments")) for each in calls)
            return text if isinstance(text, str) else "", listed
    return reply, ()


def read_calls(tools: Sequence[Tool], reply: str) -> dict[str, Any]:
    """Return the values of `calling_type` that a reply says."""
    text, calls = said_calls(reply)
    listed = [
        {"name": each.name, "arguments": each.arguments if each.readable else None, "readable": each.readable}
        for each in calls
    ]
    found: dict[str, Any] = {"text": text, "calls": listed}
    for tool in tools:
        own = [arguments_fitting(tool.arguments, each.arguments) for each in calls if each.name == tool.name]
        found[tool.name] = [each for each in own if each is not None]
    return found


class _NoArgument(Exception):
    """A value is none of a type; never leaves this module."""


def arguments_fitting(type_: RecordType, arguments: Any) -> dict[str, Any] | None:
    """Return the arguments of a call as values of a type, what is left out as None; None where they do not fit: nothing
    is converted, and nothing else may be there.

    >>> of = RecordType(fields={"city": TextType()})
    >>> arguments_fitting(of, {"city": "Rome"}), arguments_fitting(of, {"city": 3}), arguments_fitting(of, {})
    ({'city': 'Rome'}, None, None)
    """
    try:
        return _record(type_, arguments)
    except _NoArgument:
        return None


def value_fitting(type_: Type, value: Any) -> Any:
    """Return a value of JSON as one of a type, and None where it is of another: nothing is converted. An object may
    have more than a record asks for.

    >>> from tripos_compiler.plan import NumberType
    >>> value_fitting(NumberType(), 3), value_fitting(NumberType(), "3"), value_fitting(NumberType(), True)
    (3, None, None)
    """
    try:
        return _fitted(type_, value, more=True)
    except _NoArgument:
        return None


def _record(type_: RecordType, value: Any, *, more: bool = False) -> dict[str, Any]:
    if not isinstance(value, Mapping) or (not more and value.keys() - type_.fields.keys()):
        raise _NoArgument
    if any(of.kind == "json" and value.get(name) is None for name, of in type_.fields.items()):
        raise _NoArgument  # which is any value but null
    return {name: _fitted(of, value.get(name), more=more) for name, of in type_.fields.items()}


def _fitted(type_: Type, value: Any, *, more: bool) -> Any:
    """Return a JSON value as a type; of a record it may have `more`. Raises `_NoArgument`."""
    truth, number = isinstance(value, bool), isinstance(value, int | float)
    match type_.kind:
        case "optional":
            return None if value is None else _fitted(type_.of, value, more=more)
        case "json":
            return value
        case "text" if isinstance(value, str):
            return value
        case "bool" if truth:
            return value
        case "number" if number and not truth:
            return value
        case "integer" if number and not truth and (isinstance(value, int) or value.is_integer()):
            whole = int(value)
            low, high = type_.low, type_.high
            if (low is None or low <= whole) and (high is None or whole <= high):
                return whole
        case "choice" if value in type_.values:
            return value
        case "record":
            return _record(type_, value, more=more)
        case "list" if isinstance(value, list):
            return [_fitted(type_.of, each, more=more) for each in value]
        case "set" if isinstance(value, list):
            return frozenset(_fitted(type_.of, each, more=more) for each in value)
    raise _NoArgument
