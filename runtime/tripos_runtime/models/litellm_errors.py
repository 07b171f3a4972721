"""What a failed litellm call means: every exception becomes one `ModelError`, short and free of keys."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Any

from tripos_runtime.models.base import ModelError

LONGEST_DETAIL = 200
SHORTEST_SECRET = 6
"""Shorter values of secret variables are left alone: they would blot out ordinary words."""
SECRET_NAME = re.compile(r"_(KEY|TOKEN|SECRET)$")
KEY_SHAPED = re.compile(r"\b(?:sk-[\w*.-]+|AIza[\w-]{10,})|(?<=[Bb]earer )[\w.~+/=-]+|(?<=[?&]key=)[^\s&]+")

CONTEXT = re.compile(r"exceed_context_size|context (length|window|size)|maximum context|too many tokens", re.I)
FILTERED = re.compile(r"content_filter|content[ _]management[ _]policy|content[ _]policy|moderation|flagged", re.I)
NO_CREDIT = re.compile(r"insufficient[ _](quota|balance|credit)", re.I)
NO_CONNECTION = re.compile(r"connect(ion|or)?\b|disconnected|name resolution|name or service not known", re.I)


def scrub(text: str, environ: Mapping[str, str] | None = None) -> str:
    """The text without keys: neither the value of an environment variable whose name ends in `_KEY`, `_TOKEN` or
    `_SECRET`, nor anything shaped like a key.

    >>> scrub("key hunter22 or sk-abc123 was refused", {"SCHOOL_API_KEY": "hunter22"})
    'key [key] or [key] was refused'
    """
    variables = os.environ if environ is None else environ
    secrets = {value for name, value in variables.items() if SECRET_NAME.search(name.upper())}
    for secret in sorted(secrets, key=lambda secret: (-len(secret), secret)):
        if len(secret) >= SHORTEST_SECRET:
            text = text.replace(secret, "[key]")
    return KEY_SHAPED.sub("[key]", text)


def model_error(error: Exception, name: str, address: str, key_variables: str) -> ModelError:
    """The `ModelError` for an exception out of litellm; `address` is where the call went, `key_variables` the
    environment variables that may hold the key.

    >>> model_error(TimeoutError("too slow"), "openai/gpt-4o", "https://api.openai.com", "OPENAI_API_KEY").code
    'R0109'
    """
    kinds = {kind.__name__ for kind in type(error).__mro__}
    status = getattr(error, "status_code", None)
    detail = _detail(error)
    answered = bool(_headers(error))
    if "ContextWindowExceededError" in kinds or (status in {400, 413} and CONTEXT.search(detail)):
        return ModelError(
            "R0107", f"the prompt is too long for `{name}`: {detail}", "shorten it or use a model with a longer context"
        )
    if "ContentPolicyViolationError" in kinds or (status in {400, 403} and FILTERED.search(detail)):
        return ModelError(
            "R0108",
            f"the provider of `{name}` refused the content: {detail}",
            "the sample is kept as refused",
            status="refused",
        )
    if kinds & {"Timeout", "TimeoutError"} or status in {408, 504}:
        return ModelError("R0109", f"`{name}` did not answer in time", "lower `--max-connections`", retryable=True)
    if status in {401, 403}:
        hint = f"set {key_variables} to a valid key" if key_variables else "set the key that its provider asks for"
        return ModelError("R0102", f"the key for `{name}` is missing or was refused", hint, fatal=True)
    if status == 404:
        hint = f"check the name of the model and the address {address}"
        return ModelError("R0103", f"there is no model `{name}`: {detail}", hint, fatal=True)
    if status in {402, 429}:
        if status == 402 or NO_CREDIT.search(detail):
            hint = "add credit to the account, or use another model"
            return ModelError("R0104", f"the account for `{name}` has no credit left", hint, fatal=True)
        hint = "lower `--max-connections`"
        wait_s = _retry_after_s(error)
        return ModelError("R0104", f"`{name}` is rate limited", hint, retryable=True, retry_after_s=wait_s)
    if not answered and (status is None or status >= 500) and NO_CONNECTION.search(detail):
        hint = "check that the server is running and the address is right"
        return ModelError("R0101", f"`{name}` cannot be reached at {address}", hint, retryable=True)
    if status is not None and (status >= 500 or status == 200):
        wait_s = _retry_after_s(error)
        message = f"`{name}` failed with status {status}: {detail}"
        return ModelError("R0111", message, "try again later", retryable=True, retry_after_s=wait_s)
    return ModelError("R0110", f"`{name}` rejected the request: {detail}", "check the settings of the step")


def _detail(error: Exception) -> str:
    """The provider's own words, on one line, without the names of the exceptions they were wrapped in."""
    text = re.sub(r"^(litellm\.)?(\w+: )+", "", str(error)).split("Exception - ", 1)[-1]
    try:
        parsed: Any = json.loads(text)
    except (ValueError, RecursionError):
        parsed = None
    if isinstance(parsed, dict):
        inner = parsed.get("error", parsed)
        text = str(inner.get("message", text)) if isinstance(inner, dict) else str(inner)
    line = " ".join(scrub(text).split()) or type(error).__name__
    return line if len(line) <= LONGEST_DETAIL else f"{line[: LONGEST_DETAIL - 1]}…"


def _headers(error: Exception) -> dict[str, str]:
    found = getattr(error, "litellm_response_headers", None) or {}
    return {str(name).lower(): str(value) for name, value in dict(found).items()}


def _retry_after_s(error: Exception) -> float | None:
    try:
        seconds = float(_headers(error)["retry-after"])
    except (KeyError, ValueError):
        return None
    return seconds if 0 <= seconds < 86_400 else None
