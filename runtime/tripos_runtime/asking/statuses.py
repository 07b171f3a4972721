"""Statuses of calls and of scores: every status there is, and the one place where it is decided.

| status | of | means |
| --- | --- | --- |
| `ok` | replies | answered, and read where something was to be read |
| `scored` | scores | there is a value |
| `parse_failure` | both | answered, but not in a form that could be read, also when asked once more |
| `truncated` | both | the reply was cut off at its most tokens; a text that was cut is still scored |
| `refused` | both | the model or its provider would not answer |
| `provider_error` | both | no answer came; the next run asks again |
| `function_error` | scores | a Python function failed; the next run calls it again |
| `undefined` | both | an expression has no value because of a reply; of a call, it was not made for that reason |
| `not_applicable` | both | a condition ruled it out, or an expression has no value because of what the item lacks |

An `undefined` score is one that failed: it is counted like one that could not be read. One that is `not_applicable` is
no score of the item at all.
"""

from __future__ import annotations

from typing import Final

from tripos_compiler.language import NOT_APPLICABLE as _NOT_APPLICABLE, UNDEFINED as _UNDEFINED
from tripos_runtime.asking.functions import FUNCTION_ERROR

OK: Final = "ok"
SCORED: Final = "scored"
PARSE_FAILURE: Final = "parse_failure"
TRUNCATED: Final = "truncated"
REFUSED: Final = "refused"
FAILED: Final = "provider_error"
UNDEFINED: Final = _UNDEFINED
NOT_APPLICABLE: Final = _NOT_APPLICABLE
PENDING: Final = "pending"
"""Stands where the status of a reply would, while there is no reply; no result has it."""

AGAIN: Final = frozenset({FAILED, FUNCTION_ERROR})
"""The statuses that the next run tries again, and no other: an answer that is bad stays the answer."""
NOT_ASKED: Final = frozenset({UNDEFINED, NOT_APPLICABLE})
"""The statuses of calls that were not made, since what they were to ask has no value."""
CUT: Final = frozenset({"length", "max_tokens", "MAX_TOKENS"})
"""The words of providers for a reply that was cut off."""


def status_of_reply(read: str, finish_reason: str | None) -> str:
    """Return the status of a reply that was read with the status `read`: one that could not be read and was cut off
    failed for that reason, and one that was read whole in spite of it is as good as any. `finish_reason` is the
    provider's.

    >>> status_of_reply("parse_failure", "length"), status_of_reply("parse_failure", "stop")
    ('truncated', 'parse_failure')
    >>> status_of_reply("ok", "length"), status_of_reply("refused", "length")
    ('ok', 'refused')
    """
    return TRUNCATED if read == PARSE_FAILURE and finish_reason in CUT else read


def status_of_text(finish_reason: str | None) -> str:
    """Return the status of a reply that is taken as it is, with nothing to read in it.

    >>> status_of_text("length"), status_of_text(None)
    ('truncated', 'ok')
    """
    return TRUNCATED if finish_reason in CUT else OK
