"""Programs that obtain one reply: the first try, a shorter prompt, the reading, and one repair of an unreadable reply.

A program is a generator and does no I/O. It yields a request and is sent the outcome; it yields a draft, which is an
unreadable first reply and must be kept before anything else is asked; or it yields the reading of a long reply, which
takes time. `run_reply` drives it with a live model.

The module also turns kept rows into answers. A step that builds on a kept reply sees exactly what a fresh run would
see: the text, the value that the reader of its question returns, the status, and the messages that were really sent,
which may be shortened."""

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

REPAIR: Final = {
    "en": "That reply could not be used: {error}. Reply again, with nothing but the JSON asked for.",
    "zh": "上面的回复无法使用：{error}。请重新回复，只输出所要求的 JSON。",
}
"""The message that asks for a readable reply, by language."""
REPAIR_STATED = {
    "en": "That reply could not be used: {error}. Reply again, in exactly the form asked for.",
    "zh": "上面的回复无法使用：{error}。请重新回复，严格按照所要求的格式。",
}
"""The same if the prompt states the form of a JSON reply."""
REPAIR_FORM = {
    "en": "That reply could not be used: {error}. Reply again, and state one verdict in the form `{form}`.",
    "zh": "上面的回复无法使用：{error}。请重新回复，并按照 `{form}` 的格式给出一个结论。",
}
"""The same if the prompt states the form of a verdict in a text."""
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
    """A question with its messages, `sent`, to one model. `left_out` is the number of turns of a dialogue that the
    messages leave out. `shorter` is called if the request exceeds the model's context: given the number of turns left
    out so far, it returns the new number and the remaining messages, or None if no more can be left out."""

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
            stated=self.question.stated,
            readable=self.question.readable,
            samples=samples,
            number=number,
            name=self.name,
            contents=self.contents,
            origin=None if self.origin is None else self.origin(number),
        )


@dataclass(frozen=True, slots=True)
class FirstReply:
    """A first reply and the messages that were sent, or an error and the messages of the longest request. `left_out` is
    the number of turns of a dialogue that the last request left out."""

    outcome: Called | ModelError
    sent: Sent
    left_out: int = 0


def first_replies(asked: SentRequest, samples: int = 1, number: int = 0) -> ReplyProgram[list[FirstReply]]:
    """Return the first replies to a question for the samples from `number` on, from one request. There is at least one.
    There are fewer than `samples` if the server ignores `n` or did not complete some of the replies; the caller asks
    for the others. If the request fails, there are `samples` errors."""
    messages, left_out, attempts = asked.sent, asked.left_out, 0
    while True:
        outcome = yield asked.request(messages, samples, number)
        if isinstance(outcome, Called):
            break
        assert isinstance(outcome, ModelError)
        outcome.attempts += attempts
        attempts = outcome.attempts
        shorter = asked.shorter(left_out) if asked.shorter is not None and outcome.code == CONTEXT_EXCEEDED else None
        if shorter is None:
            further = outcome.of_further_sample()
            return [
                FirstReply(outcome, asked.sent, left_out),
                *[FirstReply(further, asked.sent, left_out)] * (samples - 1),
            ]
        left_out, messages = shorter
    # All replies share the latency. The requests and the tokens of the prompt count for the first reply.
    requests = [attempts + outcome.attempts, *[0] * (samples - 1)]
    return [
        FirstReply(Called(reply, count, outcome.latency_s, outcome.batch_id), messages, left_out)
        for reply, count in zip(outcome.reply.samples(samples), requests, strict=False)
    ]


def complete_reply(
    asked: SentRequest, first: FirstReply | UnreadableReply | Adopted, number: int = 0
) -> ReplyProgram[Answer]:
    """Return the answer from the first reply to sample `number`, after one repair if that reply is unreadable. A new
    unreadable reply is yielded as a draft, so that a later run repairs it and does not ask for it again."""
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
    """Return the answer from a kept reply to the same request under another name. The reply is read again, and repaired
    if it is unreadable, unless a repair of the same wording was already tried."""
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
    replaced, outcome = yield from _read_text(
        columns["reply"], partial(read_again, asked.question, columns, adopted_reply.draft)
    )
    columns |= replaced
    if outcome is None:
        outcome = yield from _read(asked.question, columns)
        if adopted_reply.draft is None:
            draft_columns = {key: columns[key] for key in ("messages", "reply", *OF_CALL)}
            yield UnreadableReply({**draft_columns, "error": outcome.error})
        outcome = yield from _repaired(asked, messages, outcome, columns, number)
    return read_answer(outcome, prompt, columns)


def _repaired(
    asked: SentRequest, sent: Sent, before: ReadOutcome, columns: dict[str, Any], number: int
) -> ReplyProgram[ReadOutcome]:
    """Ask once more, and return the outcome of the second reply, or `before` if less of the second reply is readable or
    the call fails. `columns` get the usage of both calls, and the second reply if its outcome is returned."""
    stated = asked.question.stated
    notes = REPAIR if stated is None else REPAIR_STATED if stated.form is None else REPAIR_FORM
    note = notes.get(asked.language, notes["en"]).format(error=before.error, form=stated and stated.form)
    added = Message("assistant", shown_again(columns["reply"])), Message("user", unmarked(note))
    outcome = yield asked.request((*sent, *added), 1, number)
    if not isinstance(outcome, Called):
        assert isinstance(outcome, ModelError)
        columns["attempts"] += outcome.attempts
        usage = _usage_columns(outcome)
        for key in _USAGE if outcome.usage is not None else ():
            columns[key] = _sum(columns[key], usage[key])
        return before
    second = _columns(replace(outcome, reply=outcome.reply.samples(1)[0]))
    for key in UNUSED:
        columns[key] = _sum(columns[key], second[key])
    columns |= {"model_served": second["model_served"], "batch_id": second["batch_id"]}
    after = yield from _read(asked.question, second)
    if after.error is not None and _usable(after) <= _usable(before):
        return before
    columns |= {key: second[key] for key in ("reply", "thinking", "finish_reason", "logprobs")}
    return after


def shown_again(raw: str) -> str:
    """Return a model's own unreadable reply as it is shown to the model again: the answer without the thinking."""
    answer = ReplyText.parse(raw).answer
    return unmarked(answer) if answer.strip() else SILENT


def _read(question: Question, columns: Mapping[str, Any]) -> ReplyProgram[ReadOutcome]:
    """Read a reply."""
    text = columns["reply"]
    return (yield from _read_text(text, partial(question.read, dict(columns))))


def _read_text(text: str, read: Callable[[], Result]) -> ReplyProgram[Result]:
    """Return `read()`. For a long text, the driver calls it, and sends the result."""
    if len(text) <= LONG_REPLY:
        return read()
    result: Result = yield ReplyReading(read)
    return result


async def run_reply(
    program: ReplyProgram[Result], caller: Caller, lane: Lane, keep: Callable[[UnreadableReply], None]
) -> Result:
    """Return the result of a program: send its requests to a model and keep its drafts. Long replies are read in a
    thread, so that other calls go on; they count towards the run's memory until they are read. The program receives a
    `ModelError` as the outcome of its request; errors that end the run, such as `Stopped`, are raised."""
    outcome: Any = None
    with shared_reply_memory():
        try:
            while True:
                need = program.send(outcome)
                if isinstance(need, ReplyReading):
                    outcome = await asyncio.to_thread(need.reader)
                    continue
                if isinstance(need, UnreadableReply):
                    keep(need)
                    outcome = None
                    continue
                try:
                    outcome = await caller.call(need, lane)
                except ModelError as error:
                    outcome = error
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
"""The columns of `drafts` that `UnreadableReply` holds."""


def answer_of(row: Row, question: Question) -> Answer:
    """Return the answer to a question from its row of `samples` or `judgements`."""
    if row["reply"] is None:
        return Answer(row["status"], None, None, as_one_text(messages_of(row)), {"error": row["error"]})
    outcome = question.read(row)
    # An imported reply may be readable although its log says that it was refused or failed.
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
    """Return the row in `drafts` of an unreadable reply. `row` is that of the result `name`, which the repair will
    complete."""
    return {"unit_id": name, **{key: row[key] for key in ("run_id", "fingerprint", "created_at")}, **draft.columns}


def adopted_rows(table: str, row: Row, name: str, adopted: Adopted) -> dict[str, list[dict[str, Any]]]:
    """Return the rows, by table, of a result whose reply was asked for under another name: its own, and the draft if
    the reply is from another store, since the store of the run may lack that draft."""
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
    turns: Dialogue = orjson.loads(row["parsed"])["turns"] if row["parsed"] else []
    return turns
