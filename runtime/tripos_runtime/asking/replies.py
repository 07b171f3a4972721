"""Programs that obtain one reply: the first try, a shorter prompt, the reading, and one repair of an unreadable reply.

A program does no I/O. It yields a request and is sent the outcome; it yields a draft, which must be kept before
anything else is asked; or it yields the reading of a long reply, which takes time. `run_reply` drives it with a live
model.

Kept rows become answers again here. A step that builds on a kept reply sees exactly what a fresh run would see: the
text, the value that its question's reader gives, the status, and the messages that were really sent, which may be
shortened."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeVar

import orjson

from tripos_compiler.language.rendering import SILENT
from tripos_compiler.library.media import unmarked
from tripos_compiler.library.types import Dialogue
from tripos_compiler.plan import (
    OK,
    REFUSED,
    TRUNCATED,
)
from tripos_compiler.plan.outcomes import PROVIDER_ERROR
from tripos_compiler.replies.text import ReplyText
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.asking.ledger import Row
from tripos_runtime.asking.questions import (
    NO_REPLY,
    OF_CALL,
    UNUSED,
    Adopted,
    Answer,
    Question,
    ReadOutcome,
    UnreadableReply,
    answer_from,
    as_one_text,
    messages_text,
    read_again,
    read_answer,
    reply_parts,
)
from tripos_runtime.models.base import (
    OPTION,
    PLAIN,
    TOOL,
    Contents,
    Message,
    Model,
    ModelError,
    Reply,
    Request,
    RequestOrigin,
)
from tripos_runtime.models.http import shared_reply_memory
from tripos_runtime.reading.plain_text import LONG_REPLY
from tripos_runtime.scheduling.calling import Called, Caller, Lane

REPAIR = {
    "en": "That reply could not be used: {error}. Reply again, with nothing but the JSON asked for.",
    "zh": "上面的回复无法使用：{error}。请重新回复，只输出所要求的 JSON。",
}
_USAGE = ("tokens_in", "tokens_out", "tokens_reasoning", "cost_usd")
CONTEXT_EXCEEDED = "R0107"
"""The error code of a prompt that exceeds the context of its model."""

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class ReplyReading:
    """The reading of a long reply. The program is sent its result."""

    reader: Callable[[], Any]


ReplyProgram = Generator[Request | UnreadableReply | ReplyReading, Any, Result]
Sent = tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request to a model, with `left_out` turns of a dialogue not shown. `shorter` is used if the request exceeds the
    model's context: given the number of turns left out so far, it returns the new number and the remaining messages;
    None if no more can be left out."""

    model: Model
    question: Question
    sent: Sent
    language: str
    left_out: int = 0
    shorter: Callable[[int], tuple[int, Sent] | None] | None = None
    name: str = ""
    """The name of the result, or of the first of several."""
    contents: Contents | None = None
    """Returns the content of the media in the messages."""
    origin: Callable[[int], RequestOrigin] | None = None
    """Returns the place in the run that a sample is for, by its number; None for a model that does not need it."""

    def request(self, sent: Sent, samples: int = 1, number: int = 0) -> Request:
        """Return the request that sends these messages for `samples` samples from `number` on."""
        settings, model = self.question.settings, self.model
        plain = any(message.role == PLAIN for message in sent)
        tools = tuple(message.content for message in sent if message.role == TOOL)
        chat = tuple(message for message in sent if message.role != TOOL) if tools else sent
        return Request(
            model=model.name,
            messages=tuple(Message("user", message.content) for message in sent if message.role == PLAIN)
            if plain
            else chat,
            plain=plain,
            options=tuple(message.content for message in sent if message.role == OPTION),
            tools=tools,
            settings=settings.of_sample(number),
            schema=self.question.schema if model.structured else None,
            samples=samples,
            number=number,
            name=self.name,
            contents=self.contents,
            origin=None if self.origin is None else self.origin(number),
        )


@dataclass(frozen=True, slots=True)
class FirstReply:
    """A first reply, or the error instead of it; the messages that were sent, and how many turns of a dialogue they
    leave out."""

    outcome: Called | ModelError
    sent: Sent
    left_out: int = 0


def first_replies(asked: SentRequest, samples: int = 1, number: int = 0) -> ReplyProgram[list[FirstReply]]:
    """Return the first replies to a question for the samples from `number` on, from one request. There is at least one;
    there are fewer than `samples` if the server ignores `n` or broke some off, and the caller asks for the others."""
    messages, left_out, attempts = asked.sent, asked.left_out, 0
    while True:
        came = yield asked.request(messages, samples, number)
        if isinstance(came, Called):
            break
        assert isinstance(came, ModelError)
        came.attempts += attempts
        attempts = came.attempts
        less = asked.shorter(left_out) if asked.shorter is not None and came.code == CONTEXT_EXCEEDED else None
        if less is None:
            further = came.of_further_sample()
            return [
                FirstReply(came, asked.sent, left_out),
                *[FirstReply(further, asked.sent, left_out)] * (samples - 1),
            ]
        left_out, messages = less
    # All replies share the latency. The requests and the tokens of the prompt count for the first reply.
    requests = [attempts + came.attempts, *[0] * (samples - 1)]
    return [
        FirstReply(Called(reply, count, came.latency_s, came.batch_id), messages, left_out)
        for reply, count in zip(came.reply.samples(samples), requests, strict=False)
    ]


def complete_reply(
    asked: SentRequest, first: FirstReply | UnreadableReply | Adopted, number: int = 0
) -> ReplyProgram[Answer]:
    """Return the answer from the first reply to sample `number`, after one repair if it is unreadable. The unreadable
    reply is yielded as a draft, which must not be asked for again."""
    if isinstance(first, Adopted):
        return (yield from _reuse_reply(asked, first, number))
    messages = first.sent if isinstance(first, FirstReply) else _sent(asked, first.columns["messages"])
    prompt = as_one_text(messages)
    columns: dict[str, Any] = {"messages": messages_text(messages), **NO_REPLY}
    if isinstance(first, FirstReply) and isinstance(first.outcome, ModelError):
        error = first.outcome
        columns |= {**_usage_columns(error), "error": f"{error.code} {error.message}", "status": error.status}
        return Answer(error.status, None, None, prompt, columns)
    columns |= first.columns if isinstance(first, UnreadableReply) else _columns(first.outcome)  # type: ignore[arg-type]
    outcome = yield from _read(asked.question, columns)
    if asked.question.needs_repair(outcome):
        if isinstance(first, FirstReply):
            yield UnreadableReply(
                {**{key: columns[key] for key in ("messages", "reply", *OF_CALL)}, "error": outcome.error}
            )
        outcome = yield from _repaired(asked, messages, outcome, columns, number)
    return read_answer(outcome, prompt, columns)


def _reuse_reply(asked: SentRequest, adopted_reply: Adopted, number: int) -> ReplyProgram[Answer]:
    """Return the answer from a reply to the same question under another name. It is read again. A repair is made only
    if the earlier repair, if any, was worded differently."""
    row = adopted_reply.row
    messages = _sent(asked, row["messages"]) if "messages" in row else asked.sent
    columns: dict[str, Any] = {
        "messages": messages_text(messages),
        **NO_REPLY,
        **{key: row.get(key) for key in OF_CALL},
    }
    columns["batch_id"] = row.get("batch_id")
    columns["reply"] = row["reply"] if "reply" in row else row["text"]
    prompt = as_one_text(messages)
    if columns["reply"] is None:
        return Answer(row["status"], None, None, prompt, {**columns, "status": row["status"]})
    replied, outcome = yield from _read_text(
        columns["reply"], partial(read_again, asked.question, columns, adopted_reply.draft)
    )
    columns |= replied
    if outcome is None:
        outcome = yield from _read(asked.question, columns)
        if adopted_reply.draft is None:
            told = {key: columns[key] for key in ("messages", "reply", *OF_CALL)}
            yield UnreadableReply({**told, "error": outcome.error})
        outcome = yield from _repaired(asked, messages, outcome, columns, number)
    return read_answer(outcome, prompt, columns)


def _repaired(
    asked: SentRequest, sent: Sent, before: ReadOutcome, columns: dict[str, Any], number: int
) -> ReplyProgram[ReadOutcome]:
    """Return the better of the outcome before and the outcome of a second reply; `columns` become those of both."""
    note = REPAIR.get(asked.language, REPAIR["en"]).format(error=before.error)
    said = Message("assistant", shown_again(columns["reply"])), Message("user", unmarked(note))
    came = yield asked.request((*sent, *said), 1, number)
    if not isinstance(came, Called):
        assert isinstance(came, ModelError)
        columns["attempts"] += came.attempts
        taken = _usage_columns(came)
        for key in _USAGE if came.usage is not None else ():
            columns[key] = _sum(columns[key], taken[key])
        return before  # keep the outcome of the first reply
    second = _columns(replace(came, reply=came.reply.samples(1)[0]))
    for key in UNUSED:
        columns[key] = _sum(columns[key], second[key])
    columns |= {"model_served": second["model_served"], "batch_id": second["batch_id"]}
    after = yield from _read(asked.question, second)
    if after.error is not None and _usable(after) <= _usable(before):
        return before
    columns |= {key: second[key] for key in ("reply", "thinking", "finish_reason", "logprobs")}
    return after


def shown_again(raw: str) -> str:
    """Return how a model's own unreadable reply is shown to it: the answer without the thinking."""
    answer = ReplyText.parse(raw).answer
    return unmarked(answer) if answer.strip() else SILENT


def _read(question: Question, columns: Mapping[str, Any]) -> ReplyProgram[ReadOutcome]:
    """Read a reply."""
    text = columns["reply"]
    return (yield from _read_text(text, partial(question.read, dict(columns))))


def _read_text(text: str, read: Callable[[], Result]) -> ReplyProgram[Result]:
    """Return the result of reading a text; for a long text, the result that the driver sends."""
    if len(text) <= LONG_REPLY:
        return read()
    result: Result = yield ReplyReading(read)
    return result


async def run_reply(
    program: ReplyProgram[Result], caller: Caller, lane: Lane, keep: Callable[[UnreadableReply], None]
) -> Result:
    """Return the result of a program: send its requests to a model and keep its drafts. Long replies are read in a
    thread, so that other calls go on; they count towards the run's memory until they are read. Raises the caller's
    error if no other call could succeed, such as `Stopped`."""
    came: Any = None
    with shared_reply_memory():
        try:
            while True:
                need = program.send(came)
                if isinstance(need, ReplyReading):
                    came = await asyncio.to_thread(need.reader)
                    continue
                if isinstance(need, UnreadableReply):
                    keep(need)
                    came = None
                    continue
                try:
                    came = await caller.call(need, lane)
                except ModelError as error:
                    came = error
        except StopIteration as end:
            result: Result = end.value
            return result


def _sent(asked: SentRequest, text: str) -> Sent:
    """Return the messages that were sent, given the text that the store keeps."""
    if text == messages_text(asked.sent):
        return asked.sent
    return tuple(Message(**load) for load in orjson.loads(text))


def _columns(called: Called) -> dict[str, Any]:
    reply: Reply = called.reply
    return {
        "reply": reply.text,
        "thinking": reply.thinking,
        "finish_reason": reply.finish_reason,
        "model_served": reply.model_served,
        "logprobs": reply.logprobs,
        "attempts": called.attempts,
        **{key: getattr(reply, key) for key in _USAGE},
        "latency_s": called.latency_s,
        "batch_id": called.batch_id,
    }


def _usage_columns(error: ModelError) -> dict[str, Any]:
    """Return the columns of usage of a call without a reply."""
    usage = {} if error.usage is None else {key: getattr(error.usage, key) for key in _USAGE}
    return {"attempts": error.attempts, **usage}


def _usable(outcome: ReadOutcome) -> int:
    """Return a rank for how much of a reply could be read."""
    return len(outcome.parsed) if isinstance(outcome.parsed, Mapping) else int(outcome.parsed is not None)


def _sum(before: float | None, more: float | None) -> float | None:
    return None if before is None or more is None else before + more


DRAFT: Final = (
    "messages", "reply", "thinking", "error", "finish_reason", "model_served", "logprobs",
    "attempts", "tokens_in", "tokens_out", "tokens_reasoning", "cost_usd", "latency_s",
)  # fmt: skip
"""The columns of a draft that become those of the answer."""


def answer_of(row: Row, question: Question) -> Answer:
    """Return the answer to a question from its row of `samples` or `judgements`."""
    if row["reply"] is None:
        return Answer(row["status"], None, None, as_one_text(messages_of(row)), {"error": row["error"]})
    outcome = question.read(row)
    # A reply that was refused elsewhere, as in a log, may be readable.
    status = row["status"] if outcome.scored and row["status"] in (REFUSED, PROVIDER_ERROR) else outcome.status
    return answer_from(outcome, row["reply"], status, as_one_text(messages_of(row)), {"error": row["error"]})


def turn_of(row: Row) -> Answer:
    """Return the answer from a row of `turns`; its columns are the whole row."""
    if row["text"] is None or row["status"] not in (OK, TRUNCATED):
        return Answer(row["status"], None, None, "", row)
    parts = reply_parts(row["text"], "turn", row.get("thinking"))
    return Answer(row["status"], parts.answer, parts.answer, "", row, parts.thinking, row["text"])


def conversation_of(row: Row) -> Answer:
    """Return the answer of a conversation from its row of `samples`; its value is the turns."""
    return Answer(row["status"], row["reply"], dialogue_of(row), "", {"error": row["error"]})


def draft_row(row: Row, name: str, draft: UnreadableReply) -> dict[str, Any]:
    """Return the row of an unreadable reply that will be repaired, given the columns of the result."""
    return {"unit_id": name, **{key: row[key] for key in ("run_id", "fingerprint", "created_at")}, **draft.columns}


def adopted_rows(table: str, row: Row, name: str, adopted: Adopted) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of a result whose reply was asked for under another name: its own, and the draft if the reply is
    in another store, since the store of the run may lack it."""
    rows = {table: [{**row, **adopted.columns}]}
    if adopted.draft is not None and adopted.columns["reused_from"] is not None:
        rows["drafts"] = [draft_row(row, name, draft_of(adopted.draft))]
    return rows


def draft_of(row: Row) -> UnreadableReply:
    """Return the unreadable first reply from a row of `drafts`."""
    return UnreadableReply({name: row[name] for name in DRAFT})


def messages_of(row: Row) -> tuple[Message, ...]:
    """Return the messages that were sent."""
    return tuple(Message(load["role"], load["content"]) for load in orjson.loads(row["messages"]))


def dialogue_of(row: Row) -> Dialogue:
    """Return the turns of a conversation from its row of `samples`."""
    found: Dialogue = orjson.loads(row["parsed"])["turns"] if row["parsed"] else []
    return found
