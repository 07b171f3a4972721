"""Replies that are JSON of our own: likelihoods of options, token probabilities, and tool calls.

A reply to a step with `likelihood of` has for each option its text, the natural logarithm of its probability after the
prompt, its number of tokens, and whether it is the greedy continuation (temperature 0).

A reply to a step with `tools` has its text and its calls in order, each with the name of a tool and its arguments.
Arguments that are not a JSON object are kept as the text that the model wrote. A reply in any other form is a text
without calls.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeGuard

from tripos_compiler.plan.base import Part
from tripos_compiler.plan.expressions import (
    BoolType,
    ChoiceType,
    DialogueType,
    IntegerType,
    JsonType,
    Labels,
    ListType,
    NumberType,
    RecordType,
    TextType,
    Type,
)
from tripos_compiler.source.data_classes import dataclass

# Likelihoods of options

LIKELIHOODS = RecordType(
    fields={
        "likeliest": IntegerType(),
        "likeliest_by_character": IntegerType(),
        "likeliest_by_byte": IntegerType(),
        "likeliest_by_token": IntegerType(),
        "confidence": NumberType(),
        "logprobs": ListType(of=NumberType()),
        "probabilities": ListType(of=NumberType()),
        "tokens": ListType(of=IntegerType()),
        "greedy": ListType(of=BoolType()),
    }
)
"""Type of the value of a step with `likelihood of`."""


class NoLikelihoods(ValueError):
    """A text has no likelihoods of options."""


@dataclass(frozen=True)
class OptionLikelihood:
    """Option and its likelihood under a model."""

    text: str
    logprob: float
    tokens: int
    greedy: bool


def write_likelihoods(options: Sequence[OptionLikelihood]) -> str:
    """Return likelihoods as the text of a reply.

    >>> write_likelihoods([OptionLikelihood("yes", -0.5, 1, True)])
    '{"options": [{"text": "yes", "logprob": -0.5, "tokens": 1, "greedy": true}]}'
    """
    listed = [
        {"text": option.text, "logprob": option.logprob, "tokens": option.tokens, "greedy": option.greedy}
        for option in options
    ]
    return json.dumps({"options": listed}, ensure_ascii=False)


def read_likelihoods(text: str) -> dict[str, Any]:
    """Return the fields of `LIKELIHOODS` from a reply. Raises `NoLikelihoods` if the reply has none.

    The likeliest option has the greatest log-probability, or the greatest log-probability divided by the option's
    characters, UTF-8 bytes or tokens; ties go to the first. These are `acc`, `acc_norm`, `acc_bytes` (lengths are those
    of the option alone) and `acc_per_token` of the LM Evaluation Harness. Probabilities are normalized over the
    options.

    >>> options = [OptionLikelihood("no", -2.0, 1, False), OptionLikelihood("certainly", -4.0, 2, False)]
    >>> found = read_likelihoods(write_likelihoods(options))
    >>> found["likeliest"], found["likeliest_by_character"], round(found["confidence"], 3)
    (0, 1, 0.881)
    """
    options = _options(text)
    logprobs = [option.logprob for option in options]
    highest = max(logprobs)
    weights = [math.exp(logprob - highest) for logprob in logprobs]
    total = math.fsum(weights)
    return {
        "likeliest": _highest(options, lambda _: 1),
        "likeliest_by_character": _highest(options, lambda likelihood: len(likelihood.text)),
        "likeliest_by_byte": _highest(options, lambda likelihood: len(likelihood.text.encode("utf-8", "replace"))),
        "likeliest_by_token": _highest(options, lambda likelihood: likelihood.tokens),
        "confidence": max(weights) / total,
        "logprobs": logprobs,
        "probabilities": [weight / total for weight in weights],
        "tokens": [option.tokens for option in options],
        "greedy": [option.greedy for option in options],
    }


def _highest(options: Sequence[OptionLikelihood], length: Callable[[OptionLikelihood], int]) -> int:
    """Return the index of the first option with the greatest log-probability divided by its length."""
    return max(range(len(options)), key=lambda place: options[place].logprob / length(options[place]))


def _options(text: str) -> list[OptionLikelihood]:
    try:
        parsed = json.loads(text)
    except ValueError as error:
        raise NoLikelihoods("it is no JSON") from error
    listed = parsed.get("options") if isinstance(parsed, dict) else None
    if not isinstance(listed, list) or not listed:
        raise NoLikelihoods("it has no options")
    return [_option(option) for option in listed]


def _option(parsed: Any) -> OptionLikelihood:
    match parsed:
        case {"text": str(text), "logprob": int() | float() as logprob, "tokens": int(tokens), "greedy": bool(greedy)}:
            if text and tokens > 0 and math.isfinite(logprob) and not isinstance(logprob, bool):
                return OptionLikelihood(text, float(logprob), tokens, greedy)
    raise NoLikelihoods("an option lacks its text, logarithm, tokens or `greedy`")


# Token probabilities

TOKEN_PROBABILITIES: dict[str, Type] = {
    "tokens": ListType(of=TextType()),
    "logprobs": ListType(of=NumberType()),
    "top_tokens": ListType(of=TextType()),
    "top_logprobs": ListType(of=NumberType()),
}
"""Additional fields of a reply to a step with `top_logprobs`."""


class NoTokenProbabilities(ValueError):
    """A reply has no token probabilities, or the position of the answer is unclear."""


@dataclass(frozen=True)
class TokenProbability:
    """Token of a reply with its natural log-probability and the likeliest tokens at its position (`top`). `bytes` are
    its bytes in the UTF-8 reply."""

    text: str
    logprob: float
    top: tuple[tuple[str, float], ...]
    bytes: bytes


def write_token_probabilities(content: Sequence[Mapping[str, Any]]) -> str:
    """Return the tokens of a reply in OpenAI's form as stored text, without fields that are not used.

    >>> write_token_probabilities([{"token": "A", "logprob": -0.5, "bytes": [65], "top_logprobs": []}])
    '[{"token":"A","logprob":-0.5,"top_logprobs":[]}]'
    """
    records = []
    for entry in content:
        record = {"token": entry.get("token"), "logprob": entry.get("logprob")}
        own, token = entry.get("bytes"), entry.get("token")
        if isinstance(own, list) and isinstance(token, str) and own != list(token.encode("utf-8", "replace")):
            record["bytes"] = own  # a part of a character
        top = entry.get("top_logprobs")
        listed = top if isinstance(top, list) else []
        record["top_logprobs"] = [
            {"token": one.get("token"), "logprob": one.get("logprob")} for one in listed if isinstance(one, Mapping)
        ]
        records.append(record)
    return json.dumps(records, ensure_ascii=False, separators=(",", ":"))


def read_token_probabilities(text: str | None) -> list[TokenProbability]:
    """Return the tokens from a stored text. Raises `NoTokenProbabilities`."""
    try:
        parsed = json.loads(text or "null")
    except ValueError as error:
        raise NoTokenProbabilities("they are no JSON") from error
    if not isinstance(parsed, list) or not parsed:
        raise NoTokenProbabilities("the reply came without them")
    return [_token(token) for token in parsed]


def _token(parsed: Any) -> TokenProbability:
    match parsed:
        case {"token": str(text), "logprob": int() | float() as logprob, "top_logprobs": list(top)}:
            pairs = [(one.get("token"), one.get("logprob")) for one in top if isinstance(one, dict)]
            likeliest = tuple(
                (token, float(one)) for token, one in pairs if isinstance(token, str) and _is_logarithm(one)
            )
            own = parsed.get("bytes")
            if _is_logarithm(logprob):
                token_bytes = (
                    bytes(own) if isinstance(own, list) and _are_bytes(own) else text.encode("utf-8", "replace")
                )
                return TokenProbability(text, float(logprob), likeliest, token_bytes)
    raise NoTokenProbabilities("a token lacks its text or its logarithm")


def _are_bytes(numbers: Sequence[Any]) -> bool:
    return all(isinstance(number, int) and 0 <= number < 256 for number in numbers)


def _is_logarithm(number: Any) -> TypeGuard[float]:
    return (
        isinstance(number, int | float)
        and not isinstance(number, bool)
        and math.isfinite(number)
        and number <= MAX_LOGPROB
    )


MAX_LOGPROB = 1e-3
"""Largest accepted log-probability: providers round, so values slightly above 0 occur."""


def probability_fields(returns: Type | None) -> dict[str, Type]:
    """Return the additional fields of a reply with token probabilities. If its type has few values, their probabilities
    are included."""
    if returns is None or _values(returns) is None:
        return TOKEN_PROBABILITIES
    more: dict[str, Type] = {"likeliest": returns, "probabilities": ListType(of=NumberType())}
    more |= {"confidence": NumberType()} | ({} if returns.kind == "choice" else {"expected": NumberType()})
    return {**TOKEN_PROBABILITIES, **more}


VALUE_FIELDS = ("value", "score")
"""JSON keys of the value of a reply that is no record."""
VerdictPosition = tuple[str, ...] | int | None
"""Where the value of a reply stands: after one of these JSON keys, at a position in its bytes, or unknown."""


def reply_probabilities(
    tokens: Sequence[TokenProbability],
    returns: Type | None = None,
    value: object = None,
    where: VerdictPosition = VALUE_FIELDS,
) -> dict[str, Any]:
    """Return the values of `probability_fields` for a reply from which `value` was read.

    Fields about the answer are omitted if it is not clear with which token the answer begins, if that token is another
    value of the type, as `1` of a `10` that is written in two tokens, or if none of the likeliest tokens is a value.

    >>> said = [TokenProbability(each, -0.1, ((each, -0.1),), each.encode()) for each in ("1", "0")]
    >>> "expected" in reply_probabilities(said, IntegerType(low=1, high=10), 10)
    False
    """
    columns: dict[str, Any] = {
        "tokens": [token.text for token in tokens],
        "logprobs": [token.logprob for token in tokens],
    }
    place = answer_token_index(tokens, None if returns is None else value, where)
    if place is None:
        return columns
    top = tokens[place].top
    columns |= {"top_tokens": [text for text, _ in top], "top_logprobs": [logprob for _, logprob in top]}
    values = None if returns is None else _values(returns)
    if values is None:
        return columns
    options = [text for text, _ in values]
    begun = _option_begun(options, tokens[place].text)
    shares = normalized_probabilities(options, top) if begun is None or values[begun][1] == value else None
    if shares is None:
        return columns
    columns |= {"likeliest": values[shares.index(max(shares))][1], "probabilities": shares, "confidence": max(shares)}
    numbers = [float(possible) for _, possible in values if not isinstance(possible, str)]
    if numbers:
        mean = math.fsum(number * share for number, share in zip(numbers, shares, strict=True))
        columns["expected"] = min(max(mean, min(numbers)), max(numbers))  # rounding may pass an end of the scale
    return columns


def value_probability(returns: Type, fields: Mapping[str, Any], value: object) -> float:
    """Return the probability of a value among the values of its type, from the result of `reply_probabilities`. It is 0
    if it is not clear with which token the value begins."""
    values = [possible for _, possible in _values(returns) or []]
    return float(fields["probabilities"][values.index(value)]) if "probabilities" in fields and value in values else 0.0


MAX_SCALE_VALUES = 100
"""Largest number of values of an integer scale for which probabilities are computed."""


def _values(returns: Type) -> list[tuple[str, str | int | bool]] | None:
    """Return the notation and the value of each value of a type, or None if the type has too many."""
    match returns:
        case ChoiceType(values=values):
            return [(value, value) for value in values]
        case BoolType():
            return [("false", False), ("true", True)]
        case IntegerType(low=int(low), high=int(high)) if high - low < MAX_SCALE_VALUES:
            return [(str(number), number) for number in range(low, high + 1)]
    return None


def normalized_probabilities(options: Sequence[str], top: Sequence[tuple[str, float]]) -> list[float] | None:
    """Return the probability of each option, normalized over the options, or None if no token is an option.

    `top` holds the likeliest tokens at the start of the answer with their natural log-probabilities.

    >>> (normalized_probabilities(["A", "B"], [("A", -0.5), (" b", -0.5), ("The", -2.0)]),
    ... normalized_probabilities(["A"], [("I", -0.1)]))
    ([0.5, 0.5], None)
    """
    shares = [0.0] * len(options)
    for token, logprob in top:
        place = _option_begun(options, token)
        if place is not None:
            shares[place] += math.exp(min(logprob, 0.0))
    total = math.fsum(shares)
    return [share / total for share in shares] if total > 0 else None


def _option_begun(options: Sequence[str], token: str) -> int | None:
    """Return the index of the option that a token equals or is the only one to begin, or None. Case is ignored if only
    one option matches then."""
    bare = token.strip().strip(AROUND) or token.strip()
    for text in (token, token.strip(), bare):
        if text and text in options:
            return list(options).index(text)
    folded = [option.casefold() for option in options]
    if bare and folded.count(bare.casefold()) == 1:
        return folded.index(bare.casefold())
    for text, among in ((bare, options), (bare.casefold(), folded)):
        begun = {place for place, option in enumerate(among) if text and option.startswith(text)}
        if len(begun) == 1:
            return begun.pop()
    return None


AROUND = " \"'`*().:,;{}[]"
"""Characters that a token may have around the letters of an option."""


def answer_token_index(
    tokens: Sequence[TokenProbability], value: object = None, where: VerdictPosition = VALUE_FIELDS
) -> int | None:
    """Return the index of the token with which the answer of a reply begins, or None if it is unclear.

    Without `value` it is the first token that is not blank. Otherwise it is the token with which `value` begins: at a
    known position, or after one of the JSON keys `where`, else at the beginning, else at its only occurrence.

    >>> said = [TokenProbability(each, -0.1, (), each.encode()) for each in ('{"', "value", '": ', '"', "B", '"}')]
    >>> answer_token_index(said, "B"), answer_token_index(said[4:5], "B"), answer_token_index(said[:3], "B")
    (4, 0, None)
    """
    if where is None:
        return None
    if value is not None and isinstance(where, int):
        return _token_at(tokens, where)
    if value is None:
        return next((place for place, probability in enumerate(tokens) if probability.text.strip()), None)
    reply = b"".join(probability.bytes for probability in tokens)
    written = re.escape(_written(value).encode("utf-8", "replace"))
    alone = rb"(?![\w.])" if isinstance(value, int | float) and not isinstance(value, bool) else rb"(?!\w)"
    names = where if isinstance(where, tuple) else VALUE_FIELDS
    keys = b"|".join(re.escape(json.dumps(name, ensure_ascii=False)[1:-1]).encode() for name in names)
    positions = [
        match.end() for match in re.finditer(rb'(?i)"(?:%s)"\s*:\s*"?(?=%s%s)' % (keys, written, alone), reply)
    ]
    if not positions:
        first = re.match(rb"(?i)\s*(?=%s%s)" % (written, alone), reply)
        positions = [first.end()] if first is not None else []
    if not positions:
        positions = [match.start() for match in re.finditer(rb"(?<!\w)%s%s" % (written, alone), reply)]
        if len(positions) > 1:
            return None
    return _token_at(tokens, positions[-1]) if positions else None


def _token_at(tokens: Sequence[TokenProbability], position: int) -> int | None:
    """Return the index of the token at a position in the bytes of a reply."""
    at = 0
    for place, token in enumerate(tokens):
        at += len(token.bytes)
        if at > position:
            return place
    return None


def _written(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


# Tools and their calls

TOOL_CALL = RecordType(fields={"name": TextType(), "arguments": JsonType(), "readable": BoolType()})
"""Type of a tool call in expressions. A call is not `readable` if it has no name or if its arguments are not a JSON
object."""
TOOL_RESULT = RecordType(fields={"name": TextType(), "text": TextType(), "failed": BoolType()})
"""Type of the result of a tool call, for expressions and for the model: the tool, a text, and whether the text reports
a failure."""
TOOL_REPLY_FIELDS = ("text", "prompt", "calls", "samples", "tools")
"""Reserved field names of a reply to a step with tools; no tool may have one of them."""
TOOL_LOOP_FIELDS = ("state", "results", "replies", "turns", "ended", "so_far", "came")
"""Further reserved field names if the calls are executed."""


class ToolParameter(Part):
    """Parameter of a tool. A parameter of optional type may be omitted."""

    name: str
    type: Type
    about: Labels = {}


class Tool(Part):
    """Function that a model may call; `about` describes it in each language."""

    name: str
    about: Labels
    parameters: tuple[ToolParameter, ...] = ()

    @property
    def arguments(self) -> RecordType:
        """Record type of the arguments of a call."""
        return RecordType(fields={parameter.name: parameter.type for parameter in self.parameters})


def tool_function_name(tool: str) -> str:
    """Return the name of a tool's function among the functions of a plan. No function of the spec can have this
    name."""
    return f"tool {tool}"


@dataclass(frozen=True)
class ToolCall:
    """Call made by a model. `arguments` is the JSON object that it wrote, or its text if it is not one."""

    name: str
    arguments: Any

    @property
    def readable(self) -> bool:
        """True if the call names a tool and its arguments are a JSON object."""
        return bool(self.name) and isinstance(self.arguments, Mapping)


def tool_reply_type(tools: Sequence[Tool]) -> RecordType:
    """Return the type of the value of a step with tools: its text, all calls, and for each declared tool the list of
    the arguments of its valid calls."""
    declared = {tool.name: ListType(of=tool.arguments) for tool in tools}
    return RecordType(fields={"text": TextType(), "calls": ListType(of=TOOL_CALL), **declared})


LIMIT, REPLIED, SAID, CALLED = "limit", "replied", "said", "called"
"""How a tool loop ended: the turns were used up, a reply had no call, the user said what ends it, or the model called a
tool that ends it."""


def tool_loop_type(tools: Sequence[Tool], *, called: bool = False) -> RecordType:
    """Return the type of the value of a tool loop up to a turn: the state, all calls with their results, and the
    replies. With `called`, a call may end the loop."""
    calling = tool_reply_type(tools).fields
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
    listed = [{"name": call.name, "arguments": call.arguments} for call in calls]
    return json.dumps({"text": text, "calls": listed}, ensure_ascii=False)


def parse_call(name: Any, arguments: Any) -> ToolCall:
    """Return a call. Its arguments may be the text of a JSON object, as providers send them. Null or blank arguments
    become an empty object.

    >>> parse_call("weather", '{"city": "Rome"}').arguments, parse_call("weather", "Rome").readable
    ({'city': 'Rome'}, False)
    >>> [parse_call("ping", each).arguments for each in (None, "", "  ", '""', "null", "{}")]
    [{}, {}, {}, {}, {}, {}]
    """
    if isinstance(arguments, str):
        try:
            parsed = json.loads(arguments, parse_constant=_no_number)
        except (ValueError, RecursionError):
            parsed = arguments
        blank = parsed is None or (isinstance(parsed, str) and not parsed.strip())
        arguments = {} if blank else parsed if isinstance(parsed, dict) else arguments
    elif arguments is None:
        arguments = {}
    return ToolCall(name if isinstance(name, str) else "", arguments)


def _no_number(word: str) -> Any:
    raise ValueError(f"`{word}` is no JSON")


def split_text_and_calls(reply: str) -> tuple[str, tuple[ToolCall, ...]]:
    """Return the text and the calls of a reply.

    >>> split_text_and_calls(write_calls("Let me see.", [ToolCall("ping", {})]))
    ('Let me see.', (ToolCall(name='ping', arguments={}),))
    >>> split_text_and_calls("It is 12 degrees.")
    ('It is 12 degrees.', ())
    """
    try:
        parsed = json.loads(reply, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return reply, ()
    match parsed:
        case {"calls": list(calls), **more} if all(isinstance(call, dict) for call in calls) and not more.keys() - {
            "text"
        }:
            text = more.get("text")
            listed = tuple(parse_call(call.get("name"), call.get("arguments")) for call in calls)
            return text if isinstance(text, str) else "", listed
    return reply, ()


def read_calls(tools: Sequence[Tool], reply: str) -> dict[str, Any]:
    """Return the fields of `tool_reply_type` from a reply."""
    text, calls = split_text_and_calls(reply)
    listed = [
        {"name": call.name, "arguments": call.arguments if call.readable else None, "readable": call.readable}
        for call in calls
    ]
    fields: dict[str, Any] = {"text": text, "calls": listed}
    for tool in tools:
        own = [fit_arguments(tool.arguments, call.arguments) for call in calls if call.name == tool.name]
        fields[tool.name] = [value for value in own if value is not None]
    return fields


class _NoArgument(Exception):
    """A value does not have the required type. Never leaves this module."""


def fit_arguments(type_: RecordType, arguments: Any) -> dict[str, Any] | None:
    """Return the arguments of a call as values of a record type, with None for omitted ones, or None if they do not
    fit. Nothing is converted, and unknown arguments do not fit.

    >>> of = RecordType(fields={"city": TextType()})
    >>> fit_arguments(of, {"city": "Rome"}), fit_arguments(of, {"city": 3}), fit_arguments(of, {})
    ({'city': 'Rome'}, None, None)
    """
    try:
        return _record(type_, arguments)
    except _NoArgument:
        return None


def fit_value(type_: Type, value: Any) -> Any:
    """Return a JSON value as a value of a type, or None if it does not fit. Nothing is converted. An object may have
    more fields than the record type.

    >>> from tripos_compiler.plan import NumberType
    >>> fit_value(NumberType(), 3), fit_value(NumberType(), "3"), fit_value(NumberType(), True)
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
    """Return a JSON value as a value of a type. With `more`, records may have additional fields. Raises
    `_NoArgument`."""
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
            return [_fitted(type_.of, item, more=more) for item in value]
        case "set" if isinstance(value, list):
            return frozenset(_fitted(type_.of, item, more=more) for item in value)
    raise _NoArgument
