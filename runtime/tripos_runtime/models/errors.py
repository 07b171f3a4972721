"""Conversion of failed calls into `ModelError`, whether an exception was raised or a server sent an error. No key
remains in the message."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from tripos_compiler.diagnostics.text_format import shorten
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.models.base import ModelError
from tripos_runtime.models.catalog import all_variables, secret_variables
from tripos_runtime.models.readiness import chain_of, missing_import

LONGEST_S = 7 * 86_400.0
"""The longest wait that a server may ask for, in seconds."""


def retry_after_s(value: str, now: datetime) -> float | None:
    """Return the seconds from `now` that a `Retry-After` header asks for: a number of seconds, or a date (RFC 9110). A
    date in the past counts as 0. Return None if the value is neither, or more than a week away.

    >>> noon = datetime(2026, 11, 21, 12, tzinfo=UTC)
    >>> retry_after_s("2.5", noon), retry_after_s("Sat, 21 Nov 2026 12:01:30 GMT", noon), retry_after_s("soon", noon)
    (2.5, 90.0, None)
    """
    try:
        seconds = float(value)
    except ValueError:
        try:
            when = parsedate_to_datetime(value)
        except (ValueError, IndexError, TypeError, OverflowError):
            return None
        aware = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
        seconds = max(0.0, (aware - now).total_seconds())
    return seconds if math.isfinite(seconds) and 0 <= seconds <= LONGEST_S else None


LONGEST_DETAIL = 200
"""The longest quotation of a provider's message, in characters."""
LONGEST_READ = 65_536
"""The number of bytes of an answer that are searched for the kind of error."""
SHORTEST_SECRET = 6
"""Shorter values of secret variables are not removed from messages: they would remove ordinary words."""
SECRET_NAME = re.compile(r"_(KEY|TOKEN|SECRET|PASSWORD)$")
"""The names of variables whose values are removed from messages, besides those of `secret_variables`."""
KEY_SHAPED = re.compile(r"\b(?:sk-[\w*.-]+|AIza[\w-]{10,})|(?<=[Bb]earer )[\w.~+/=-]+|(?<=[?&]key=)[^\s&]+")

CONTEXT = re.compile(
    r"exceed_context_size|context[ _](length|window|size)|maximum (context|prompt)|too many tokens|prompt is too long"
    r"|input token count|reduce the length of the messages|input is too long|max_new_tokens` must be",
    re.I,
)
FILTERED = re.compile(r"content_filter|content[ _]management[ _]policy|content[ _]policy|moderation|flagged", re.I)
NO_CREDIT = re.compile(r"insufficient[ _](quota|balance|credit)|credit balance is too low", re.I)
NO_CONNECTION = re.compile(r"connect(ion|or)?\b|disconnected|name resolution|name or service not known", re.I)
UNSIGNED = re.compile(
    r"\bmissing [\w .'-]*\b(credentials|api[ _-]?key|jwt key|token|tenant id)\b"
    r"|\b(\w*api[ _-]?key|credentials)\b[^.]{0,40}\b(is required|(is |are )?not (set|found)|could not be found)\b"
    r"|\bunable to lo(cate|ad) [\w ]*credentials\b|\bno (usable [\w ]*)?credentials\b",
    re.I,
)
"""Messages of litellm and of the signing packages that say that there are no credentials."""
UNSIGNED_KINDS = frozenset(
    (
        "CredentialRetrievalError",
        "DefaultCredentialsError",
        "NoCredentialsError",
        "PartialCredentialsError",
        "ProfileNotFound",
        "RefreshError",
    )
)
"""The errors of botocore and google.auth that say that there are no credentials."""
NO_ADDRESS = re.compile(r"\bapi[ _]base\b[^.]{0,30}\b(is required|not set)\b", re.I)
"""Messages of litellm that say that it does not know where to send a call."""
BROKEN_OFF = {"HttpError"}
"""The exceptions for a connection that was never made, broke off, or delivered something other than HTTP."""
PASSING = frozenset({409, 425})
"""The statuses Conflict and Too Early: the server was busy with something else."""
WAIT = re.compile(r'"retryDelay":\s*"([\d.]+)s"|try again in ([\d.]+)\s?s\b', re.I)
"""The texts in which Gemini, OpenAI and Groq say how many seconds to wait."""


@dataclass(frozen=True)
class CallTarget:
    """The target of a call: the model, its address, the environment variables that may hold the key, and the keys that
    were sent, which no message may contain."""

    name: str
    address: str
    key_variables: str = ""
    secrets: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Failure:
    """The details of a failed call."""

    kinds: Collection[str]
    """The names of the exception's class and its base classes."""
    status: int | None
    """The HTTP status, if known."""
    text: str
    """The provider's message in full."""
    detail: str
    """The provider's message on one line, without keys."""
    answered: bool
    """True if a server answered."""
    retry_after_s: float | None
    """How long the server asks clients to wait."""


def scrub(text: str, environ: Mapping[str, str] | None = None, secrets: Collection[str] = ()) -> str:
    """Return the text without keys: without `secrets`, without the values of environment variables that hold a key of
    a provider or whose names end in `_KEY`, `_TOKEN`, `_SECRET` or `_PASSWORD`, and without anything that looks like a
    key.

    >>> scrub("key hunter22 or sk-abc123 was refused", {"SCHOOL_API_KEY": "hunter22"})
    'key [key] or [key] was refused'
    """
    variables = all_variables() if environ is None else environ
    names = secret_variables()
    known = {value for name, value in variables.items() if name in names or SECRET_NAME.search(name.upper())}
    known |= set(secrets)
    for secret in sorted(known, key=lambda secret: (-len(secret), secret)):
        if len(secret) >= SHORTEST_SECRET:
            text = text.replace(secret, "[key]")
    return KEY_SHAPED.sub("[key]", text)


def model_error(
    error: Exception, name: str, address: str, key_variables: str, secrets: Collection[str] = ()
) -> ModelError:
    """Return the `ModelError` for an exception of litellm or of a connection. `address` is where the call went;
    `key_variables` are the environment variables that may hold the key.

    >>> model_error(TimeoutError("too slow"), "openai/gpt-4o", "https://api.openai.com", "OPENAI_API_KEY").code
    'R0109'
    """
    if isinstance(error, ModelError):
        return error
    answer = _answer_of(error)
    headers = {str(at).lower(): str(value) for at, value in dict(_headers_of(error, answer)).items()}
    if (lacking := missing_import(error, name, answered=bool(headers) or answer is not None)) is not None:
        return lacking
    # litellm puts the names of exceptions before the provider's message, and a traceback behind it.
    text = re.sub(r"^(litellm\.)?(\w+: )+", "", str(error)).split("Exception - ", 1)[-1]
    text = text.split("Traceback (most recent call last)")[0].rstrip()
    failure = _Failure(
        {kind.__name__ for kind in type(error).__mro__},
        _status_of(error, answer),
        text,
        _detail(text, secrets) or type(error).__name__,
        bool(headers) or answer is not None,
        _retry_after_s(headers, text),
    )
    target = CallTarget(name, address, key_variables, tuple(secrets))
    return _unsent_error(error, failure, target) or _classify_failure(failure, target)


def _unsent_error(error: Exception, failure: _Failure, target: CallTarget) -> ModelError | None:
    """Return the error of a call that was never sent because its key or its address is unknown; None for other errors.
    litellm gives most of them status 500, as if a server had failed."""
    if failure.answered or failure.status not in {None, 400, 401, 404, 500}:
        return None
    lasting = [each for each in chain_of(error) if not getattr(each, "retryable", False)]  # set by google-auth
    kinds = {kind.__name__ for each in lasting for kind in type(each).__mro__}
    if kinds & UNSIGNED_KINDS or UNSIGNED.search(failure.text):
        hint = (
            f"set {target.key_variables} to a valid key"
            if target.key_variables
            else "`tripos docs providers` says what it needs"
        )
        return ModelError(
            "R0102", f"the credentials for `{target.name}` are missing: {failure.detail}", hint, fatal=True
        )
    if NO_ADDRESS.search(failure.text):
        hint = "write `base_url` for it under `[endpoints]` in tripos.toml"
        return ModelError("R0101", f"there is no address for `{target.name}`", hint, fatal=True)
    return None


def answer_error(status: int, body: bytes, headers: Mapping[str, str], target: CallTarget) -> ModelError:
    """Return the `ModelError` for an error that a server sent instead of a reply. The names of `headers` are in lower
    case.

    >>> target = CallTarget("openai/gpt-4o", "https://api.openai.com/v1")
    >>> error = answer_error(429, b'{"error": {"message": "slow down"}}', {"retry-after": "7"}, target)
    >>> error.code, error.retry_after_s
    ('R0104', 7.0)
    """
    text = body[:LONGEST_READ].decode(errors="replace")
    detail = _detail(text, target.secrets) or f"status {status}"
    return _classify_failure(_Failure((), status, text, detail, True, _retry_after_s(headers, text)), target)


def _classify_failure(failure: _Failure, target: CallTarget) -> ModelError:
    kinds, status, text, detail = set(failure.kinds), failure.status, failure.text, failure.detail
    name, address = target.name, target.address
    if "ContextWindowExceededError" in kinds or (status in {400, 413, 422} and CONTEXT.search(text)):
        return ModelError(
            "R0107", f"the prompt is too long for `{name}`: {detail}", "shorten it or use a model with a longer context"
        )
    if "ContentPolicyViolationError" in kinds or (status in {400, 403} and FILTERED.search(text)):
        return ModelError(
            "R0108",
            f"the provider of `{name}` refused the content: {detail}",
            "the sample is kept as refused",
            status="refused",
        )
    if kinds & {"Timeout", "TimeoutError"} or status in {408, 504}:
        return ModelError("R0109", f"`{name}` did not answer in time", "lower `--max-connections`", retryable=True)
    if status in {401, 403}:
        hint = (
            f"set {target.key_variables} to a valid key"
            if target.key_variables
            else "set the key that its provider asks for"
        )
        return ModelError("R0102", f"the key for `{name}` is missing or was refused", hint, fatal=True)
    if status == 404:
        hint = f"check the name of the model and the address {address}"
        return ModelError("R0103", f"there is no model `{name}`: {detail}", hint, fatal=True)
    if status in {402, 429} or (status == 400 and NO_CREDIT.search(text)):
        if status != 429 or NO_CREDIT.search(text):
            hint = "add credit to the account, or use another model"
            return ModelError("R0104", f"the account for `{name}` has no credit left", hint, fatal=True)
        hint = "lower `--max-connections`"
        return ModelError(
            "R0104", f"`{name}` is rate limited", hint, retryable=True, retry_after_s=failure.retry_after_s
        )
    unreached = kinds & BROKEN_OFF or ((status is None or status >= 500) and NO_CONNECTION.search(text))
    if not failure.answered and unreached:
        hint = "check that the server is running and the address is right"
        if address.startswith("https://"):
            hint = "check the network of this machine (a proxy stands in HTTPS_PROXY), and that the address is right"
        if "certificate" in text.lower():
            hint = "its certificate is not trusted here: set SSL_CERT_FILE to the authorities to trust"
        return ModelError("R0101", f"`{name}` cannot be reached at {address}", hint, retryable=True)
    if status is not None and (status >= 500 or 200 <= status < 300 or status in PASSING):
        message = f"`{name}` failed with status {status}: {detail}"
        return ModelError("R0111", message, "try again later", retryable=True, retry_after_s=failure.retry_after_s)
    if status is not None and 300 <= status < 400:
        hint = "write the address that it leads to as `base_url`: no redirect is followed with a key"
        return ModelError("R0110", f"the address of `{name}`, {address}, is redirected (status {status})", hint)
    return ModelError("R0110", f"`{name}` rejected the request: {detail}", "check the settings of the step")


def _detail(text: str, secrets: Collection[str]) -> str:
    """Return the provider's own message on one line, without keys: the message in a JSON body, or the text itself."""
    message = text
    try:
        parsed: Any = json.loads(text)
    except (ValueError, RecursionError):
        parsed = None
    if isinstance(parsed, list) and parsed:
        parsed = parsed[0]  # Gemini sends some errors in a list
    if isinstance(parsed, dict):
        inner = parsed.get("error", parsed)
        message = str(inner.get("message", text)) if isinstance(inner, dict) else str(inner)
    printable = "".join(each if each.isprintable() else " " for each in scrub(message, secrets=secrets))
    return shorten(printable, LONGEST_DETAIL)


def _answer_of(error: Exception) -> Any:
    """Return the server's answer that caused an error, if litellm kept it. Only an `HTTPStatusError` has one: litellm
    makes up answers for other errors."""
    for each in chain_of(error):
        if any(kind.__name__ == "HTTPStatusError" for kind in type(each).__mro__):
            return getattr(each, "response", None)
    return None


def _status_of(error: Exception, answer: Any) -> int | None:
    """Return the status of an answer; without an answer, the status of litellm's exception. For an answer of status 200
    that litellm could not parse, that is 400 or 422, so 200 is returned instead."""
    status: int | None = getattr(answer, "status_code", None) or getattr(error, "status_code", None)
    unparsed = answer is None and any(type(each).__name__ == "JSONDecodeError" for each in chain_of(error))
    return 200 if unparsed and status in {400, 422} else status


def _headers_of(error: Exception, answer: Any) -> Mapping[Any, Any]:
    return getattr(error, "litellm_response_headers", None) or getattr(answer, "headers", None) or {}


def _retry_after_s(headers: Mapping[str, str], message: str) -> float | None:
    """Return the seconds that the server asks clients to wait: from `retry-after-ms`, `retry-after` (seconds or a date)
    or its message."""
    in_message = WAIT.search(message)
    now = datetime.now(UTC)
    in_headers = ((headers.get("retry-after-ms"), 0.001), (headers.get("retry-after"), 1.0))
    for text, unit_s in (*in_headers, (in_message and (in_message[1] or in_message[2]), 1.0)):
        seconds = retry_after_s(str(text), now) if text else None
        if seconds is not None:
            return seconds * unit_s
    return None
