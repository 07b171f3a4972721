"""Reading a reply in OpenAI's form: its texts, why each ended, and what the call took."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from tripos_compiler.plan import BROKEN, REFUSAL, Ending, ending_of, write_token_probabilities
from tripos_runtime.models.base import ModelError, Price, Reply
from tripos_runtime.models.over_http.called import said_with_calls
from tripos_runtime.models.over_http.usage import usage_of

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

    `usage_of` says what the call took, also one that is an error (`took`). A reply that the provider withheld is one
    with that ending. Of several, one that broke off is left out. Raises `ModelError` R0111 if there is none, or every
    one broke off.

    >>> message = {"content": "hello"}
    >>> usage = {"prompt_tokens": 10, "completion_tokens": 2}
    >>> body = {"model": "m", "choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}
    >>> read_reply(body, "openai/m", Price(0.5, 1.0)).cost_usd
    7.0
    """
    try:
        return _reply(body, name, price, own_price, tools)
    except ModelError as error:
        error.took = usage_of(body, name, price, own_price=own_price).as_reply(name)
        raise


def _reply(body: Mapping[str, Any], name: str, price: Price | None, own_price: bool, tools: Sequence[str]) -> Reply:
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices or not all(isinstance(choice, dict) for choice in choices):
        raise ModelError("R0111", f"`{name}` sent a reply without a choice", "try again later", retryable=True)
    broken, choices = choices, [choice for choice in choices if ending_of(_ending(choice)) is not Ending.ERROR]
    if not choices:
        message = f"the provider of `{name}` broke off the reply: {_told_error(broken[0])}"
        raise ModelError("R0111", message, "try again later", retryable=True, broken=True)
    model = body.get("model")
    served = model if isinstance(model, str) and model else name
    texts = [_text(choice) for choice in choices]
    endings = [_ending(choice) for choice in choices]
    if tools:
        messages = [_part(choice, "message") for choice in choices]
        texts = [said_with_calls(each, text, tools) for each, text in zip(messages, texts, strict=True)]
    told = [_token_probabilities(choice) for choice in choices]
    thoughts = [thinking_of(_part(choice, "message")) for choice in choices]
    used = usage_of(body, name, price, own_price=own_price).shares(texts)
    first, *others = (
        Reply(
            *(text, served, ending, each.tokens_in, each.tokens_out, each.cost_usd, each.reasoning, probabilities),
            thinking=thought,
        )
        for text, ending, each, probabilities, thought in zip(texts, endings, used, told, thoughts, strict=True)
    )
    return replace(first, others=tuple(others)) if others else first


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


def _part(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = value.get(name)
    return part if isinstance(part, dict) else {}
