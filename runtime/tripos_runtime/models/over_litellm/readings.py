"""Plain replies of Anthropic and Gemini in OpenAI's form, read directly; what is not plain is left to litellm.

Plain is text that ended of itself or at a limit. litellm reads the same from it, for ten times the work.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ANTHROPIC_ENDINGS = {"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length"}
GEMINI_ENDINGS = {"STOP": "stop", "MAX_TOKENS": "length"}


def from_anthropic(found: Any) -> dict[str, Any] | None:
    """Return the reply in OpenAI's form; `None` where it has anything but text, or a prompt that was put in a cache.

    >>> usage = {"input_tokens": 5, "output_tokens": 2}
    >>> reply = {"content": [{"type": "text", "text": "hi"}], "stop_reason": "end_turn", "usage": usage}
    >>> from_anthropic(reply)["choices"]
    [{'message': {'content': 'hi'}, 'finish_reason': 'stop'}]
    """
    match found:
        case {"content": [{"type": "text", "text": str(text)}], "stop_reason": str(reason), "usage": dict(usage)}:
            ending = ANTHROPIC_ENDINGS.get(reason)
            special = ("cache_creation_input_tokens", "server_tool_use", "output_tokens_details")
            if ending is None or any(usage.get(name) for name in special):
                return None
            cached, tokens_in = usage.get("cache_read_input_tokens") or 0, usage.get("input_tokens")
            counts = {
                "prompt_tokens": tokens_in + cached if isinstance(tokens_in, int) and isinstance(cached, int) else None,
                "completion_tokens": usage.get("output_tokens"),
                "prompt_tokens_details": {"cached_tokens": cached},
                "completion_tokens_details": {"reasoning_tokens": 0},  # thoughts come in blocks of their own
            }
            return _completion(found, "model", text, ending, counts)
    return None


def from_gemini(found: Any) -> dict[str, Any] | None:
    """Return the reply in OpenAI's form; `None` where it has anything but one candidate of text.

    >>> candidate = {"content": {"parts": [{"text": "hi"}]}, "finishReason": "STOP"}
    >>> from_gemini({"candidates": [candidate], "usageMetadata": {"promptTokenCount": 5}})["usage"]["prompt_tokens"]
    5
    """
    match found:
        case {
            "candidates": [{"content": {"parts": [{"text": str(text), **more}]}, "finishReason": str(reason)}],
            "usageMetadata": dict(usage),
        } if not more.keys() - {"thoughtSignature"} and "promptFeedback" not in found:
            ending = GEMINI_ENDINGS.get(reason)
            if ending is None or usage.get("toolUsePromptTokenCount"):
                return None
            tokens_in, thoughts = usage.get("promptTokenCount"), usage.get("thoughtsTokenCount")
            tokens_out = usage.get("candidatesTokenCount")
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
            return _completion(found, "modelVersion", text, ending, counts)
    return None


def _heard(details: Any) -> int | None:
    """Return how many tokens of a prompt are of recordings."""
    told = details if isinstance(details, list) else []
    counts = [each.get("tokenCount") for each in told if isinstance(each, Mapping) and each.get("modality") == "AUDIO"]
    return sum(each for each in counts if isinstance(each, int)) or None


def _completion(
    found: Mapping[str, Any], model: str, text: str, ending: str, counts: Mapping[str, Any]
) -> dict[str, Any]:
    choice = {"message": {"content": text}, "finish_reason": ending}
    return {"model": found.get(model), "choices": [choice], "usage": counts}
