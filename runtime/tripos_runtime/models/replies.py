"""Reading of replies in OpenAI's form: texts, finish reasons, tool calls, tokens and cost.

`usage_of` is the only account of tokens and cost; rows, reports, forecasts and budgets all use it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from tripos_compiler.plan import (
    BROKEN,
    REFUSAL,
    Ending,
    ToolCall,
    ending_of,
    parse_call,
    split_text_and_calls,
    write_calls,
    write_token_probabilities,
)
from tripos_compiler.replies.text import storable
from tripos_runtime.models.base import ModelError, Price, Reply
from tripos_runtime.models.prices import audio_factor

TICKS_PER_USD = 10_000_000_000
"""The unit in which xAI counts costs."""
MOST_TOKENS = 10**12
MOST_USD = 10**6
"""The largest credible numbers for one call. A larger one is an error of the provider, and counts as unknown."""


@dataclass(frozen=True, slots=True)
class CallUsage:
    """The tokens and the cost of a call; `None` means unknown. `reasoning` is the hidden part of `tokens_out`;
    `prompt_usd` is the prompt's part of the cost."""

    tokens_in: int | None = None
    tokens_out: int | None = None
    reasoning: int | None = None
    cost_usd: float | None = None
    prompt_usd: float = 0.0

    def as_reply(self, name: str) -> Reply | None:
        """Return this usage as a reply without text; None if nothing is known."""
        if self.tokens_in is None and self.cost_usd is None:
            return None
        return Reply("", name, None, self.tokens_in, self.tokens_out, self.cost_usd, self.reasoning)

    def shares(self, texts: Sequence[str]) -> list[CallUsage]:
        """Divide the usage of one request among its replies, given their texts. The first reply gets the prompt, and
        each reply gets output tokens in proportion to its length. The sum of the shares is this usage.

        >>> [each.tokens_out for each in CallUsage(10, 20).shares(["four", "four"])]
        [10, 10]
        """
        if len(texts) == 1:
            return [self]
        outs, hidden = _shares(self.tokens_out, texts), _shares(self.reasoning, texts)
        costs: list[float | None] = [None] * len(texts)
        if self.cost_usd is not None:
            usd_per_token = max(self.cost_usd - self.prompt_usd, 0.0) / (self.tokens_out or 1)
            costs = [usd_per_token * (out or 0) for out in outs]
            costs[0] = self.cost_usd - sum(cost or 0.0 for cost in costs[1:])
        tokens_in = None if self.tokens_in is None else 0
        further = [CallUsage(tokens_in, *each) for each in zip(outs[1:], hidden[1:], costs[1:], strict=True)]
        return [CallUsage(self.tokens_in, outs[0], hidden[0], costs[0]), *further]


def usage_of(body: Mapping[str, Any], name: str, price: Price | None, *, own_price: bool = False) -> CallUsage:
    """Return the usage of a call to the model `name`, given the body of its answer.

    If `total_tokens` exceeds the sum of tokens in and out, the difference counts as output: providers bill hidden
    reasoning as output, and some count it nowhere else. The cost is the one that the provider states. If it states
    none, or the price is from the user's settings (`own_price`), the cost is computed from the tokens and the price.

    >>> counts = {"prompt_tokens": 20, "completion_tokens": 198, "total_tokens": 623}
    >>> usage = usage_of({"usage": counts}, "openai/gemini", Price(1.0, 1.0))
    >>> usage.tokens_in, usage.tokens_out, usage.reasoning, usage.cost_usd
    (20, 603, 405, 623.0)
    """
    usage = _part(body, "usage")
    tokens_in, tokens_out, reasoning, cached = _tokens(usage)
    cost = None if own_price else _stated_cost(usage)
    prompt_usd = 0.0
    if price is not None and tokens_in is not None and tokens_out is not None:
        prompt_usd = price.cost_usd(tokens_in, 0, cached)
        if cost is None:
            cost = price.cost_usd(tokens_in, tokens_out, cached, reasoning or 0)
            audio_tokens = _count(_part(usage, "prompt_tokens_details"), "audio_tokens")
            if audio_tokens and not own_price:
                cost += min(audio_tokens, tokens_in) * price.input_usd * (audio_factor(name) - 1)
    return CallUsage(tokens_in, tokens_out, reasoning, cost, prompt_usd)


def _tokens(usage: Mapping[str, Any]) -> tuple[int | None, int | None, int | None, int]:
    """Return the tokens in, the tokens out, the hidden part of the output, and the cached part of the input."""
    stated_in, tokens_out = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    total, cached = _count(usage, "total_tokens"), _cached(usage)
    reasoning = _count(_part(usage, "completion_tokens_details"), "reasoning_tokens")
    if total is not None and tokens_out is None and stated_in:
        tokens_out = max(0, total - stated_in)
    elif total is not None and tokens_out is not None and not stated_in:
        stated_in = max(0, total - tokens_out)
    tokens_in = stated_in or None  # 0 means unknown: no prompt is empty
    if tokens_in is None or tokens_out is None:
        return tokens_in, None, reasoning, 0
    if total is None:
        # Some servers count hidden or cached tokens in addition to the others.
        tokens_in += cached if cached > tokens_in else 0
        tokens_out += reasoning if reasoning is not None and reasoning > tokens_out else 0
    elif (uncounted := total - tokens_in - tokens_out) > 0:
        if uncounted in _separate_cache_counts(usage) and uncounted != reasoning:
            tokens_in += uncounted
        else:
            tokens_out += uncounted
            reasoning = max(reasoning or 0, uncounted)
    return tokens_in, tokens_out, None if reasoning is None else min(reasoning, tokens_out), min(cached, tokens_in)


def _separate_cache_counts(usage: Mapping[str, Any]) -> set[int]:
    """Return the numbers of tokens that a provider with Anthropic's fields may count in addition to the prompt: read
    from its cache, written to it, or both."""
    read, created = (_count(usage, f"cache_{word}_input_tokens") or 0 for word in ("read", "creation"))
    return {read, created, read + created}


def _shares(total: int | None, texts: Sequence[str]) -> list[int | None]:
    """Divide a total in proportion to the lengths of the texts. The parts sum to the total."""
    if total is None:
        return [None] * len(texts)
    lengths = [len(text) + 1 for text in texts]
    shares: list[int | None] = [total * length // sum(lengths) for length in lengths]
    shares[0] = total - sum(share or 0 for share in shares[1:])
    return shares


def _cached(usage: Mapping[str, Any]) -> int:
    return (
        _count(_part(usage, "prompt_tokens_details"), "cached_tokens")
        or _count(usage, "prompt_cache_hit_tokens")
        or _count(usage, "cache_read_input_tokens")
        or _count(usage, "cached_tokens")
        or 0
    )


def _stated_cost(usage: Mapping[str, Any]) -> float | None:
    """Return the cost that the provider states: OpenRouter in USD, xAI in ticks.

    With the user's own key at a provider (`is_byok`) OpenRouter charges a fee, which may be 0, and that provider
    charges the rest; the cost is the sum. If the provider's part is not stated, the cost is unknown.

    >>> _stated_cost({"cost": 0, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.03}})
    0.03
    """
    cost, ticks = _usd(usage, "cost"), usage.get("cost_in_usd_ticks")
    if cost is not None:
        upstream = _usd(_part(usage, "cost_details"), "upstream_inference_cost")
        own_key = usage.get("is_byok")
        if own_key is True or (own_key is None and not cost and upstream):
            return None if upstream is None else cost + upstream
        return cost
    if isinstance(ticks, int) and not isinstance(ticks, bool) and 0 <= ticks <= MOST_USD * TICKS_PER_USD:
        return ticks / TICKS_PER_USD
    return None


def _usd(value: Mapping[str, Any], name: str) -> float | None:
    amount = value.get(name)
    known = isinstance(amount, int | float) and not isinstance(amount, bool) and 0 <= amount <= MOST_USD
    return float(amount) if known else None  # type: ignore[arg-type]


def _part(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = value.get(name)
    return part if isinstance(part, dict) else {}


def _count(value: Mapping[str, Any], name: str) -> int | None:
    count = value.get(name)
    return count if isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= MOST_TOKENS else None


OTHER = re.compile(r"[^A-Za-z0-9_-]")
"""Characters that are replaced by `_` in the names of tools that are sent."""
LONGEST = 64
"""The longest name of a tool that all providers accept."""


def tools_in_request(tools: Sequence[str]) -> list[dict[str, Any]]:
    """Return the tools, described by JSON, in the form of a request.

    >>> tools_in_request(('{"name": "math.add", "parameters": {}}',))
    [{'type': 'function', 'function': {'name': 'math_add', 'parameters': {}}}]
    """
    functions = [orjson.loads(tool) for tool in tools]
    return [
        {"type": "function", "function": {**function, "name": name}}
        for function, name in zip(functions, tool_names_by_sent(tools), strict=True)
    ]


def tool_names_by_sent(tools: Sequence[str]) -> dict[str, str]:
    """Return the names of tools by the names that are sent, which contain only characters that providers accept.

    >>> tool_names_by_sent(('{"name": "math.add"}', '{"name": "math_add"}'))
    {'math_add': 'math.add', 'math_add_2': 'math_add'}
    """
    names: dict[str, str] = {}
    for tool in tools:
        own = str(orjson.loads(tool)["name"])
        plain = sent = OTHER.sub("_", own)[:LONGEST]
        number = 1
        while sent in names:
            number += 1
            sent = f"{plain[: LONGEST - len(str(number)) - 1]}_{number}"
        names[sent] = own
    return names


def call_id(number: int) -> str:
    """Return the id of a call of a chat, counted from 1, in a form that all providers accept.

    >>> call_id(12)
    'call00012'
    """
    return f"call{number:05d}"


def tool_call_message(content: str, tools: Sequence[str], before: int) -> dict[str, Any]:
    """Return a reply with calls as a message; `before` is the number of earlier calls. Arguments that are not a JSON
    object are sent as an empty one, since some providers parse them; the result of the call quotes the original.

    >>> message = tool_call_message('{"text": "", "calls": [{"name": "a.b", "arguments": {"n": 1}}]}',
    ... ('{"name": "a.b"}',), 0)
    >>> message["content"], message["tool_calls"][0]["function"]
    (None, {'name': 'a_b', 'arguments': '{"n":1}'})
    """
    text, calls = split_text_and_calls(content)
    sent_names = {own: sent for sent, own in tool_names_by_sent(tools).items()}
    entries = []
    for number, call in enumerate(calls, before + 1):
        name = sent_names.get(call.name) or OTHER.sub("_", call.name)[:LONGEST] or "unknown"
        arguments = json.dumps(call.arguments if call.readable else {}, ensure_ascii=False, separators=(",", ":"))
        function = {"name": name, "arguments": arguments}
        entries.append({"id": call_id(number), "type": "function", "function": function})
    return {"role": "assistant", "content": text or None, "tool_calls": entries}


def parse_tool_calls(message: Mapping[str, Any], text: str, tools: Sequence[str]) -> str:
    """Return a reply's text and the calls of its message in the form of `write_calls`, under the original names of the
    tools.

    >>> call = {"function": {"name": "math_add", "arguments": '{"a": 1}'}}
    >>> parse_tool_calls({"tool_calls": [call]}, "", ('{"name": "math.add"}',))
    '{"text": "", "calls": [{"name": "math.add", "arguments": {"a": 1}}]}'
    """
    own_names = tool_names_by_sent(tools)
    calls: list[ToolCall] = []
    listed = message.get("tool_calls")
    for each in listed if isinstance(listed, list) else []:
        function = each.get("function") if isinstance(each, Mapping) else None
        function = function if isinstance(function, Mapping) else {}
        name = function.get("name")
        own_name = own_names.get(name, name) if isinstance(name, str) else ""
        calls.append(parse_call(own_name, function.get("arguments")))
    return write_calls(text, calls)


THOUGHTS = ("reasoning_content", "reasoning", "thinking", "thinking_blocks", "reasoning_details")
"""The fields of a message that contain thinking. If a provider fills several, they contain the same."""
THINKING_PARTS = ("thinking", "reasoning", "thought")
"""The types of content parts that are thinking."""
_THOUGHT = ("thinking", "text", "summary", "content", "reasoning")
"""The fields of a thinking part that contain its text."""


def parse_body(body: bytes) -> Any:
    """Return the JSON value of a body. Raises `ValueError`.

    >>> parse_body(b'{"a": 1}')
    {'a': 1}
    """
    try:
        return orjson.loads(body)
    except ValueError:
        # orjson refuses lone surrogates and numbers beyond 64 bits; the reply is still usable.
        try:
            return json.loads(body)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error


def read_reply(
    body: Mapping[str, Any], name: str, price: Price | None, *, own_price: bool = False, tools: Sequence[str] = ()
) -> Reply:
    """Return the reply in a body with `choices`; further choices are its `further_choices`. If `tools` were offered,
    its text has the form of `write_calls`.

    The finish reason of a reply that the provider withheld says so. Replies that broke off are left out if there are
    others. Raises `ModelError` R0111 if there is no reply or all broke off; its `usage` is that of the body.

    >>> message = {"content": "hello"}
    >>> usage = {"prompt_tokens": 10, "completion_tokens": 2}
    >>> body = {"model": "m", "choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}
    >>> read_reply(body, "openai/m", Price(0.5, 1.0)).cost_usd
    7.0
    """
    try:
        return _reply(body, name, price, own_price, tools)
    except ModelError as error:
        error.usage = usage_of(body, name, price, own_price=own_price).as_reply(name)
        raise


def _reply(body: Mapping[str, Any], name: str, price: Price | None, own_price: bool, tools: Sequence[str]) -> Reply:
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices or not all(isinstance(choice, dict) for choice in choices):
        raise ModelError("R0111", f"`{name}` sent a reply without a choice", "try again later", retryable=True)
    broken, choices = choices, [choice for choice in choices if ending_of(_finish_reason(choice)) is not Ending.ERROR]
    if not choices:
        message = f"the provider of `{name}` broke off the reply: {_error_reason(broken[0])}"
        raise ModelError("R0111", message, "try again later", retryable=True, broken=True)
    model = body.get("model")
    served = model if isinstance(model, str) and model else name
    texts = [_text(choice) for choice in choices]
    endings = [_finish_reason(choice) for choice in choices]
    if tools:
        messages = [_part(choice, "message") for choice in choices]
        texts = [parse_tool_calls(each, text, tools) for each, text in zip(messages, texts, strict=True)]
    logprobs = [_token_probabilities(choice) for choice in choices]
    thoughts = [thinking_of(_part(choice, "message")) for choice in choices]
    shares = usage_of(body, name, price, own_price=own_price).shares(texts)
    first, *replies = (
        Reply(
            *(text, served, ending, usage.tokens_in, usage.tokens_out, usage.cost_usd, usage.reasoning, probabilities),
            thinking=thought,
        )
        for text, ending, usage, probabilities, thought in zip(texts, endings, shares, logprobs, thoughts, strict=True)
    )
    return replace(first, further_choices=tuple(replies)) if replies else first


def _text(choice: Mapping[str, Any]) -> str:
    message = _part(choice, "message")
    content = message.get("content")
    if isinstance(content, list):  # parts, of which thinking is left out
        content = "".join(part["text"] for part in content if _is_text(part))
    text = content or message.get("refusal")
    return storable(text) if isinstance(text, str) else ""


def thinking_of(message: Mapping[str, Any]) -> str | None:
    """Return the thinking that a message has in separate fields or in parts of its content; None if there is none. If
    several fields have thinking, they are forms of the same text, and the first one is read.

    >>> thinking_of({"content": "B", "reasoning_content": "A? No."})
    'A? No.'
    >>> thinking_of({"content": [{"type": "thinking", "thinking": "A?"}, {"type": "text", "text": "B"}]})
    'A?'
    """
    fields = (_thought(message.get(name)) for name in THOUGHTS)
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    inside = _thought([part for part in parts if isinstance(part, dict) and part.get("type") in THINKING_PARTS])
    return next((storable(field) for field in (*fields, inside) if field.strip()), None)


def _thought(value: Any) -> str:
    """Return the text of a thinking part in any form; empty if it is encrypted."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n\n".join(filter(None, map(_thought, value)))
    if isinstance(value, dict):
        return next((text for name in _THOUGHT if (text := _thought(value.get(name)))), "")
    return ""


def _token_probabilities(choice: Mapping[str, Any]) -> str | None:
    """Return the token probabilities of a choice, if there are any."""
    content = _part(choice, "logprobs").get("content")
    if not isinstance(content, list) or not content or not all(isinstance(each, dict) for each in content):
        return None
    return storable(write_token_probabilities(content))


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") in ("text", "output_text") and isinstance(part.get("text"), str)


def _finish_reason(choice: Mapping[str, Any]) -> str | None:
    """Return the provider's finish reason of a choice; `BROKEN` or `REFUSAL` if only another field reports an error or
    a refusal."""
    stated = choice.get("finish_reason")
    reason = stated if isinstance(stated, str) and stated.strip() else None
    if choice.get("error") and ending_of(reason) is not Ending.ERROR:
        return BROKEN
    refusal = _part(choice, "message").get("refusal")
    if isinstance(refusal, str) and refusal.strip() and ending_of(reason) not in (Ending.CONTENT_FILTER, Ending.ERROR):
        return REFUSAL
    return reason


def _error_reason(choice: Mapping[str, Any]) -> str:
    """Return the finish reason of an error, with its code. Its message may contain a key, so it is left out."""
    code = _part(choice, "error").get("code")
    return f"`{_finish_reason(choice)}`" + (f", code {code}" if isinstance(code, int) else "")
