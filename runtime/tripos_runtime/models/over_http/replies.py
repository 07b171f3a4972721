"""Reading a reply in OpenAI's form: its texts, why each ended, and what the call took."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from tripos_compiler.plan import BROKEN, REFUSAL, Ending, ending_of, write_token_probabilities
from tripos_runtime.models.base import ModelError, Price, Reply
from tripos_runtime.models.catalog import audio_factor
from tripos_runtime.models.over_http.called import said_with_calls

TICKS_PER_USD = 10_000_000_000
"""The unit in which xAI counts costs."""
MOST_TOKENS = 10**12
MOST_USD = 10**6
"""More than this for one call is a mistake of the provider: its tokens or its cost are unknown."""

THOUGHTS = ("reasoning_content", "reasoning", "thinking", "thinking_blocks", "reasoning_details")
"""The fields of a message that say what was thought. A provider that has several says the same in each."""
THINKING_PARTS = ("thinking", "reasoning", "thought")
"""The types of parts of a content that are thinking."""
_THOUGHT = ("thinking", "text", "summary", "content", "reasoning")
"""The names under which the text of a thought stands in it."""


def parsed(body: bytes) -> Any:
    """Return the JSON value of a body. Raises `ValueError`.

    >>> parsed(b'{"a": 1}')
    {'a': 1}
    """
    try:
        return orjson.loads(body)
    except ValueError:
        # Half a surrogate pair, or a number beyond 64 bits, is no reason to lose a reply.
        try:
            return json.loads(body)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error


def whole(text: str) -> str:
    """Return the text as it can be stored and sent: half a surrogate pair becomes U+FFFD.

    >>> whole("a\\ud800b") == "a\\ufffdb"
    True
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def read_reply(
    body: Mapping[str, Any], name: str, price: Price | None, *, own_price: bool = False, tools: Sequence[str] = ()
) -> Reply:
    """Return the reply in a body that has `choices`; further ones are its `others`. Where `tools` were offered, a reply
    says its text and its calls.

    What a call cost is what the provider says it did, where it says so and the price is not the user's (`own_price`);
    else what the price makes of its tokens. A reply that the provider withheld is one with that ending. Of several, one
    that broke off is left out. Raises `ModelError` R0111 if there is none, or every one broke off.

    >>> message = {"content": "hello"}
    >>> usage = {"prompt_tokens": 10, "completion_tokens": 2}
    >>> body = {"model": "m", "choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}
    >>> read_reply(body, "openai/m", Price(0.5, 1.0)).cost_usd
    7.0
    """
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices or not all(isinstance(choice, dict) for choice in choices):
        raise ModelError("R0111", f"`{name}` sent a reply without a choice", "try again later", retryable=True)
    broken, choices = choices, [choice for choice in choices if ending_of(_ending(choice)) is not Ending.ERROR]
    if not choices:
        message = f"the provider of `{name}` broke off the reply: {_told_error(broken[0])}"
        raise ModelError("R0111", message, "try again later", retryable=True, broken=True)
    model = body.get("model")
    served = model if isinstance(model, str) and model else name
    usage = body.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    tokens_in, tokens_out = _count(usage, "prompt_tokens") or None, _count(usage, "completion_tokens")
    reasoning = _count(_part(usage, "completion_tokens_details"), "reasoning_tokens")
    if tokens_in is None or tokens_out is None:
        cost = None
        tokens_out = None if tokens_in is None else tokens_out
    else:
        if reasoning and _count(usage, "total_tokens") == tokens_in + tokens_out + reasoning:
            tokens_out += reasoning  # xAI counts them apart
        cost = None if own_price else _told_cost(usage)
        if cost is None and price is not None:
            cost = price.cost_usd(
                tokens_in, tokens_out, min(_cached(usage), tokens_in), min(reasoning or 0, tokens_out)
            )
            sounds = _count(_part(usage, "prompt_tokens_details"), "audio_tokens")
            if sounds and not own_price:
                cost += min(sounds, tokens_in) * price.input_usd * (audio_factor(name) - 1)
    texts = [_text(choice) for choice in choices]
    endings = [_ending(choice) for choice in choices]
    if tools:
        messages = [_part(choice, "message") for choice in choices]
        texts = [said_with_calls(each, text, tools) for each, text in zip(messages, texts, strict=True)]
    told = [_token_probabilities(choice) for choice in choices]
    thoughts = [thinking_of(_part(choice, "message")) for choice in choices]
    if len(choices) == 1:
        return Reply(texts[0], served, endings[0], tokens_in, tokens_out, cost, reasoning, told[0], thoughts[0])
    prompt_cost = price.cost_usd(tokens_in or 0, 0, min(_cached(usage), tokens_in or 0)) if price is not None else 0.0
    outs, hidden = _shares(tokens_out, texts), _shares(reasoning, texts)
    costs = _cost_shares(cost, prompt_cost, outs)
    none = None if tokens_in is None else 0
    others = tuple(
        Reply(texts[at], served, endings[at], none, outs[at], costs[at], hidden[at], told[at], thoughts[at])
        for at in range(1, len(texts))
    )
    return Reply(texts[0], served, endings[0], tokens_in, outs[0], costs[0], hidden[0], told[0], thoughts[0], others)


def _cost_shares(cost: float | None, prompt_cost: float, outs: Sequence[int | None]) -> list[float | None]:
    """Return what each of several replies cost: the first has the prompt, and each its share of the rest."""
    if cost is None:
        return [None] * len(outs)
    written = sum(out or 0 for out in outs) or 1
    a_token = max(cost - prompt_cost, 0.0) / written
    shares: list[float | None] = [a_token * (out or 0) for out in outs]
    shares[0] = cost - sum(share or 0.0 for share in shares[1:])
    return shares


def _shares(total: int | None, texts: Sequence[str]) -> list[int | None]:
    """Return the parts of a total in proportion to the length of the texts; they add up to it."""
    if total is None:
        return [None] * len(texts)
    lengths = [len(text) + 1 for text in texts]
    shares: list[int | None] = [total * length // sum(lengths) for length in lengths]
    shares[0] = total - sum(share or 0 for share in shares[1:])
    return shares


def _text(choice: Mapping[str, Any]) -> str:
    message = _part(choice, "message")
    content = message.get("content")
    if isinstance(content, list):  # parts, of which those that think are left out
        content = "".join(str(part.get("text", "")) for part in content if _is_text(part))
    found = content or message.get("refusal")
    return whole(found) if isinstance(found, str) else ""


def thinking_of(message: Mapping[str, Any]) -> str | None:
    """Return the thinking that a message has in fields of its own, or in parts of its content; None where it has none.
    Fields that say the same in two forms are read once.

    >>> thinking_of({"content": "B", "reasoning_content": "A? No."})
    'A? No.'
    >>> thinking_of({"content": [{"type": "thinking", "thinking": "A?"}, {"type": "text", "text": "B"}]})
    'A?'
    """
    fields = (_thought(message.get(name)) for name in THOUGHTS)
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    inside = _thought([part for part in parts if isinstance(part, dict) and part.get("type") in THINKING_PARTS])
    return next((whole(found) for found in (*fields, inside) if found.strip()), None)


def _thought(value: Any) -> str:
    """Return the text of a thought, in whichever form it comes; of one that is hidden, nothing."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n\n".join(filter(None, map(_thought, value)))
    if isinstance(value, dict):
        return next((found for name in _THOUGHT if (found := _thought(value.get(name)))), "")
    return ""


def _token_probabilities(choice: Mapping[str, Any]) -> str | None:
    """Return the probabilities of the tokens of a choice, where it says them."""
    content = _part(choice, "logprobs").get("content")
    if not isinstance(content, list) or not content or not all(isinstance(each, dict) for each in content):
        return None
    return whole(write_token_probabilities(content))


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") in ("text", "output_text")


def _ending(choice: Mapping[str, Any]) -> str | None:
    """Return the provider's word for how a choice ended; an error or a refusal in a field of its own has its word."""
    ending = choice.get("finish_reason")
    word = ending if isinstance(ending, str) and ending.strip() else None
    if choice.get("error") and ending_of(word) is not Ending.ERROR:
        return BROKEN
    refusal = _part(choice, "message").get("refusal")
    if isinstance(refusal, str) and refusal.strip() and ending_of(word) not in (Ending.CONTENT_FILTER, Ending.ERROR):
        return REFUSAL
    return word


def _told_error(choice: Mapping[str, Any]) -> str:
    """Return the word for an error, with its code. Its message may have a key, so it is left out."""
    code = _part(choice, "error").get("code")
    return f"`{_ending(choice)}`" + (f", code {code}" if isinstance(code, int) else "")


def _cached(usage: Mapping[str, Any]) -> int:
    return (
        _count(_part(usage, "prompt_tokens_details"), "cached_tokens")
        or _count(usage, "prompt_cache_hit_tokens")
        or _count(usage, "cached_tokens")
        or 0
    )


def _told_cost(usage: Mapping[str, Any]) -> float | None:
    """Return what the provider says a call cost: OpenRouter in USD, xAI in ticks."""
    cost, ticks = usage.get("cost"), usage.get("cost_in_usd_ticks")
    if isinstance(cost, int | float) and not isinstance(cost, bool) and 0 <= cost <= MOST_USD:
        return float(cost)
    if isinstance(ticks, int) and not isinstance(ticks, bool) and 0 <= ticks <= MOST_USD * TICKS_PER_USD:
        return ticks / TICKS_PER_USD
    return None


def _part(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = value.get(name)
    return part if isinstance(part, dict) else {}


def _count(value: Mapping[str, Any], name: str) -> int | None:
    count = value.get(name)
    return count if isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= MOST_TOKENS else None
