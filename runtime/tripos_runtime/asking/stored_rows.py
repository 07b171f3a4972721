"""Rows of the ledger read back: the one way in which a result that is kept becomes again what it was when it arrived.

Whoever builds on a kept reply, sees what a fresh run would see: the text, the value that the reader of its question
makes of it, the status, and what was really sent for it, which may be less than the whole prompt.
"""

from __future__ import annotations

from typing import Final

import orjson

from tripos_compiler.language.library import Dialogue
from tripos_runtime.asking.ledger import Row
from tripos_runtime.asking.question import (
    Answer,
    Draft,
    PreparedQuestion,
    answer_given,
    as_one_text,
    reply_parts,
)
from tripos_runtime.asking.statuses import FAILED, OK, REFUSED, TRUNCATED
from tripos_runtime.models import Message

DRAFT: Final = (
    "messages", "reply", "thinking", "error", "finish_reason", "model_served", "logprobs",
    "attempts", "tokens_in", "tokens_out", "tokens_reasoning", "cost_usd", "latency_s",
)  # fmt: skip
"""The columns of a draft that become those of the answer."""


def answer_of(row: Row, question: PreparedQuestion) -> Answer:
    """Return the answer that a row of `samples` or `judgements` is to its question."""
    if row["reply"] is None:
        return Answer(row["status"], None, None, as_one_text(messages_of(row)), {"error": row["error"]})
    outcome = question.read(row)
    # A reply that was refused elsewhere, as one of a log, may read like any other.
    status = row["status"] if outcome.scored and row["status"] in (REFUSED, FAILED) else outcome.status
    return answer_given(outcome, row["reply"], status, as_one_text(messages_of(row)), {"error": row["error"]})


def turn_of(row: Row) -> Answer:
    """Return the answer that a row of `turns` is; its columns are all of the row."""
    if row["text"] is None or row["status"] not in (OK, TRUNCATED):
        return Answer(row["status"], None, None, "", row)
    parts = reply_parts(row["text"], "turn", row.get("thinking"))
    return Answer(row["status"], parts.answer, parts.answer, "", row, parts.thinking, row["text"])


def talk_of(row: Row) -> Answer:
    """Return the answer that a conversation is, given its row of `samples`: its value are the turns."""
    return Answer(row["status"], row["reply"], dialogue_of(row), "", {"error": row["error"]})


def draft_of(row: Row) -> Draft:
    """Return the first reply that a row of `drafts` is, which could not be read."""
    return Draft({name: row[name] for name in DRAFT})


def messages_of(row: Row) -> tuple[Message, ...]:
    """Return what was sent."""
    return tuple(Message(each["role"], each["content"]) for each in orjson.loads(row["messages"]))


def dialogue_of(row: Row) -> Dialogue:
    """The turns of a conversation, given its row of `samples`."""
    found: Dialogue = orjson.loads(row["parsed"])["turns"] if row["parsed"] else []
    return found
