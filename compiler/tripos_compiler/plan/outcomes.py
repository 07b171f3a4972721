"""Statuses of replies and scores, finish reasons of providers, and the decision from one to the other.

| status | of | means |
| --- | --- | --- |
| `ok` | replies | answered, and read if something was to be read |
| `scored` | scores | there is a value |
| `parse_failure` | both | answered, but with no answer, or with none that could be read, also after one more request |
| `truncated` | both | the reply was cut off at its token limit; a text that was cut is still scored |
| `refused` | both | the model or its provider would not answer, or its provider withheld the answer |
| `provider_error` | both | no answer or a broken one; the next run asks again |
| `function_error` | scores | a Python function failed; the next run calls it again |
| `undefined` | both | an expression has no value because of a reply; a call was not made for that reason |
| `not_applicable` | both | excluded by a condition, or an expression has no value because the item lacks one |

An `undefined` score is a failed score: it is counted like one that could not be read. A `not_applicable` score is not a
score of the item.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Final, Literal, NamedTuple, get_args

OK: Final = "ok"
SCORED: Final = "scored"
PARSE_FAILURE: Final = "parse_failure"
TRUNCATED: Final = "truncated"
REFUSED: Final = "refused"
PROVIDER_ERROR: Final = "provider_error"
FUNCTION_ERROR: Final = "function_error"
UNDEFINED: Final = "undefined"
NOT_APPLICABLE: Final = "not_applicable"
PENDING: Final = "pending"
"""Placeholder for a status before there is a reply; no result has it."""

RETRIED_NEXT_RUN: Final = (PROVIDER_ERROR, FUNCTION_ERROR)
"""Statuses that the next run tries again. A bad answer is final."""
NOT_ASKED: Final = frozenset({UNDEFINED, NOT_APPLICABLE})
"""Statuses of calls that were not made because their request has no value."""


class Ending(StrEnum):
    """How a reply ended."""

    STOP = "stop"
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"
    CONTENT_FILTER = "content_filter"
    ERROR = "error"
    UNKNOWN = "unknown"


REFUSAL: Final = "refusal"
"""Finish reason for a reply in the provider's field for refusals, and Claude's own word."""
BROKEN: Final = "error"
"""Finish reason for a reply that contains an error."""

FINISH_REASONS: Final[Mapping[Ending, tuple[str, ...]]] = {
    Ending.STOP: ("stop", "end_turn", "stop_sequence", "COMPLETE", "eos", "eos_token", "endoftext"),
    Ending.LENGTH: (
        *("length", "max_tokens", "model_length", "max_output_tokens", "model_context_window_exceeded"),
        *("pause_turn", "compaction", "CONTINUATION"),
    ),
    Ending.TOOL_CALLS: ("tool_calls", "tool_use", "tool_call", "function_call"),
    Ending.CONTENT_FILTER: (
        *("content_filter", "content_filtered", REFUSAL, "guardrail_intervened", "sensitive", "ERROR_TOXIC"),
        *("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR", "ESCALATION"),
        *("OTHER", "NO_IMAGE", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "IMAGE_OTHER"),
    ),
    Ending.ERROR: (
        *(BROKEN, "abort", "aborted", "network_error", "insufficient_system_resource", "ERROR_LIMIT", "TIMEOUT"),
        *("cancelled", "load", "unload", "MALFORMED_FUNCTION_CALL", "malformed_tool_use", "malformed_model_output"),
        *("MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE"),
    ),
    Ending.UNKNOWN: ("unknown", "FINISH_REASON_UNSPECIFIED"),
}
"""Finish reasons of providers, compared without regard to case. An unlisted or missing word is `UNKNOWN`; the listed
words of `UNKNOWN` carry no information."""
_ENDINGS: Final = {word.casefold(): ending for ending, words in FINISH_REASONS.items() for word in words}


def ending_of(word: str | None) -> Ending:
    """Return how a reply ended, from the provider's finish reason.

    >>> [str(ending_of(word)) for word in ("MAX_TOKENS", "refusal", "abort", "done", None)]
    ['length', 'content_filter', 'error', 'unknown', 'unknown']
    """
    return Ending.UNKNOWN if word is None else _ENDINGS.get(word.casefold(), Ending.UNKNOWN)


def finish_reasons_of(*endings: Ending) -> tuple[str, ...]:
    """Return the finish reasons of endings in lower case, for example for a SQL condition on `lower(finish_reason)`."""
    return tuple(word for word, ending in _ENDINGS.items() if ending in endings)


Form = Literal["text", "turn", "typed", "tools", "number"]
"""Expected form of a reply: a text; a turn of a conversation; a typed value, also from a judge; a text or tool calls;
or a number, such as a reward or likelihoods."""
Content = Literal["answer", "calls", "thinking", "empty"]
"""Content of a reply: an answer; tool calls; only thinking; or nothing."""
Reading = Literal["read", "refusal", "unread"]
"""Result of reading a value from a reply: the value; a refusal in words; or nothing."""
READINGS: Final[Mapping[str, Reading]] = {OK: "read", REFUSED: "refusal", PARSE_FAILURE: "unread"}
"""Reading by the status that a reader returns."""


class Outcome(NamedTuple):
    """Outcome of a reply: its status; whether its text and value may be scored; and the reason for a failure, if the
    reader does not give one."""

    status: str
    scored: bool
    reason: str | None = None


def reply_status(ending: Ending, content: Content, form: Form, reading: Reading) -> Outcome:
    """Return the outcome of a reply. This is the only place that decides it. `reading` matters only for the forms
    `typed` and `number`.

    >>> reply_status(Ending.LENGTH, "answer", "text", "read").status
    'truncated'
    >>> reply_status(Ending.STOP, "thinking", "text", "read")
    Outcome(status='parse_failure', scored=False, reason='the reply is nothing but thinking')
    """
    cut = ending is Ending.LENGTH
    if ending is Ending.ERROR:
        return Outcome(PROVIDER_ERROR, False, "the provider broke off the reply")
    if ending is Ending.CONTENT_FILTER:
        return Outcome(REFUSED, False, "the provider withheld the reply")
    answered = content in ("answer", "calls") or form == "turn"
    empty = "the reply is nothing but thinking" if content == "thinking" else "the reply is empty"
    if cut and not answered:
        empty = f"{empty}: it was cut off"
    if form in ("typed", "number") and answered and reading != "unread":
        return Outcome(OK if reading == "read" else REFUSED, True)
    if form in ("typed", "number") or not answered:
        return Outcome(TRUNCATED if cut else PARSE_FAILURE, answered, None if answered else empty)
    return Outcome(TRUNCATED if cut else OK, True)


class OutcomeRow(NamedTuple):
    """Row of the table of outcomes: a form, a content and a reading, with the outcome for each ending."""

    form: Form
    content: Content
    reading: Reading
    outcomes: Mapping[Ending, Outcome]


def outcome_table() -> Iterator[OutcomeRow]:
    """Yield every row of the table of outcomes: each form with each content that it may have."""
    for form in get_args(Form):
        contents: tuple[Content, ...] = ("answer", "thinking", "empty")
        if form == "tools":
            contents = ("answer", "calls", "thinking", "empty")
        for content in contents:
            readings: tuple[Reading, ...] = ("read",)
            if form in ("typed", "number"):
                readings = ("unread",)
                if content == "answer":
                    readings = ("read", "unread", "refusal") if form == "typed" else ("read", "unread")
            for reading in readings:
                outcomes = {ending: reply_status(ending, content, form, reading) for ending in Ending}
                yield OutcomeRow(form, content, reading, outcomes)
