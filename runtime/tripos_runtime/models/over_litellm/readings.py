"""Replies of Anthropic and Gemini in OpenAI's form: plain ones read directly, what is not plain is left to litellm.

Plain is text, or nothing, however it ended. litellm reads the same from it, for ten times the work; but it has no word
for a reply that broke off, so the words of the providers are taken from the body in any case.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tripos_compiler.plan import Ending, ending_of

FILTER = "content_filter"
"""The word for a prompt that was blocked for a reason that is no word for an ending."""


def words_of_anthropic(found: Any) -> list[str]:
    """Return the word for how a reply ended, if there is one.

    >>> words_of_anthropic({"stop_reason": "refusal"}), words_of_anthropic([])
    (['refusal'], [])
    """
    word = found.get("stop_reason") if isinstance(found, Mapping) else None
    return [word] if isinstance(word, str) else []


def words_of_gemini(found: Any) -> list[str]:
    """Return the word for how each candidate ended; for a blocked prompt the reason, of a reply without any.

    >>> words_of_gemini({"candidates": [{"finishReason": "SAFETY"}]})
    ['SAFETY']
    >>> words_of_gemini({"promptFeedback": {"blockReason": "BLOCK_REASON_UNSPECIFIED"}})
    ['content_filter']
    """
    match found:
        case {"promptFeedback": {"blockReason": str(reason)}}:
            return [reason if ending_of(reason) is Ending.CONTENT_FILTER else FILTER]
        case {"candidates": list(candidates)}:
            words = [each.get("finishReason") for each in candidates if isinstance(each, Mapping)]
            return [word for word in words if isinstance(word, str)]
    return []


def from_anthropic(found: Any) -> dict[str, Any] | None:
    """Return the reply in OpenAI's form; `None` if it has anything but text, or a prompt that was put in a cache.

    >>> usage = {"input_tokens": 5, "output_tokens": 2}
    >>> reply = {"content": [{"type": "text", "text": "hi"}], "stop_reason": "end_turn", "usage": usage}
    >>> from_anthropic(reply)["choices"]
    [{'message': {'content': 'hi'}, 'finish_reason': 'end_turn'}]
    """
    match found:
        case {"content": list(blocks), "stop_reason": str(word), "usage": dict(usage)} if len(blocks) < 2:
            special = ("cache_creation_input_tokens", "server_tool_use", "output_tokens_details")
            if any(usage.get(name) for name in special) or not all(map(_is_text, blocks)):
                return None
            text = "".join(each["text"] for each in blocks)
            cached, tokens_in = usage.get("cache_read_input_tokens") or 0, usage.get("input_tokens")
            counts = {
                "prompt_tokens": tokens_in + cached if isinstance(tokens_in, int) and isinstance(cached, int) else None,
                "completion_tokens": usage.get("output_tokens"),
                "prompt_tokens_details": {"cached_tokens": cached},
                "completion_tokens_details": {"reasoning_tokens": 0},  # thoughts come in blocks of their own
            }
            return _completion(found, "model", text, word, counts)
    return None


def from_gemini(found: Any) -> dict[str, Any] | None:
    """Return the reply in OpenAI's form; `None` if it has anything but one candidate of text, or a blocked prompt.

    >>> candidate = {"content": {"parts": [{"text": "hi"}]}, "finishReason": "STOP"}
    >>> from_gemini({"candidates": [candidate], "usageMetadata": {"promptTokenCount": 5}})["usage"]["prompt_tokens"]
    5
    """
    match found:
        case {"usageMetadata": dict(usage)}:
            words, text = words_of_gemini(found), _gemini_text(found)
            if len(words) != 1 or text is None or usage.get("toolUsePromptTokenCount"):
                return None
            tokens_in, thoughts = usage.get("promptTokenCount"), usage.get("thoughtsTokenCount")
            tokens_out = usage.get("candidatesTokenCount") if text else usage.get("candidatesTokenCount", 0)
            # Some models count their thoughts among the tokens of the candidates.
            if thoughts and usage.get("totalTokenCount") != (tokens_in or 0) + (tokens_out or 0):
                tokens_out = (tokens_out or 0) + thoughts
            counts = {
                "prompt_tokens": tokens_in,
                "completion_tokens": tokens_out,
                "total_tokens": usage.get("totalTokenCount"),
                "prompt_tokens_details": {
                    "cached_tokens": usage.get("cachedContentTokenCount"),
                    "audio_tokens": _heard(usage.get("promptTokensDetails")),
                },
                "completion_tokens_details": {"reasoning_tokens": thoughts},
            }
            return _completion(found, "modelVersion", text, words[0], counts)
    return None


def _is_text(block: Any) -> bool:
    return isinstance(block, Mapping) and block.get("type") == "text" and isinstance(block.get("text"), str)


def _gemini_text(found: Mapping[str, Any]) -> str | None:
    """Return the text of the one candidate, "" of none; None if it has more than text."""
    match found:
        case {"candidates": [{"content": {"parts": [*parts]}}]}:
            plain = all(isinstance(each, Mapping) and isinstance(each.get("text"), str) for each in parts)
            if not plain or any(each.keys() - {"text", "thoughtSignature"} for each in parts) or len(parts) > 1:
                return None
            return "".join(each["text"] for each in parts)
        case {"candidates": [{"content": {"parts": _}}]} | {"candidates": [_, _, *_]}:
            return None
    return ""


def _heard(details: Any) -> int | None:
    """Return how many tokens of a prompt are of recordings."""
    told = details if isinstance(details, list) else []
    counts = [each.get("tokenCount") for each in told if isinstance(each, Mapping) and each.get("modality") == "AUDIO"]
    return sum(each for each in counts if isinstance(each, int)) or None


def _completion(
    found: Mapping[str, Any], model: str, text: str, word: str, counts: Mapping[str, Any]
) -> dict[str, Any]:
    choice = {"message": {"content": text}, "finish_reason": word}
    return {"model": found.get(model), "choices": [choice], "usage": counts}
