"""One question to one model: the call, the reading of the reply, and one repair of a bad one."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from typing import Any

import orjson

from tripos_compiler.plan import Expr, Settings, Texts
from tripos_compiler.plan.base import canonical
from tripos_runtime.asking.statuses import OK, REFUSED, status_of_text
from tripos_runtime.models.base import Message, ModelError, Reply, Request, Turn
from tripos_runtime.reading import format_note
from tripos_runtime.scheduling.calling import Called, Caller

REPAIR = {
    "en": "That reply could not be used: {error}. Reply again, with nothing but the JSON asked for.",
    "zh": "上面的回复无法使用：{error}。请重新回复，只输出所要求的 JSON。",
}
UNUSED: dict[str, Any] = {
    "attempts": 0,
    "tokens_in": None,
    "tokens_out": None,
    "tokens_reasoning": None,
    "cost_usd": None,
    "latency_s": None,
}
CONTEXT_EXCEEDED = "R0107"
"""What a provider answers where a prompt passes the context of its model."""
NOTHING: dict[str, Any] = dict.fromkeys(("reply", "parsed", "error", "finish_reason", "model_served")) | UNUSED

OF_CALL = ("finish_reason", "model_served", *UNUSED, "error")
"""What is known of a call beside its reply."""

Lane = tuple[str, str]
"""The role and the scenario that a call is made for."""


@dataclass(frozen=True)
class Outcome:
    """What a reader makes of a reply: a value, or why it is not usable and with what status."""

    value: Any
    parsed: Any
    error: str | None = None
    status: str = OK


Reader = Callable[[str, str | None], Outcome]
"""Reads the text of a reply, given why the provider says that it ended."""


@dataclass(frozen=True)
class Question:
    """What is sent: texts, what fills them, and the JSON Schema that the reply should fit, if any; and how the reply is
    read."""

    system: Texts | None
    prompt: Texts | None
    settings: Settings
    schema: dict[str, Any] | None
    reader: Reader
    chat: Expr | None = None
    """Of a reward model: the dialogue that it judges."""

    def digest(self, identity: str, sent: Sequence[Message], number: int = 0) -> str:
        """The digest of a request that has these messages, to the model of that identity. The number of a sample is not
        in it but for the seed that it has; the schema is, whether or not the model is held to it."""
        spoken = ([each.speaker] if isinstance(each, Turn) else [] for each in sent)
        text = dumps([[each.role, each.content, *more] for each, more in zip(sent, spoken, strict=True)])
        about = self._told if self.settings.seed is None else self._about(self.settings.of_sample(number))
        told = b"\0".join((identity.encode(), about, text.encode("utf-8", "replace")))
        return blake2b(told, digest_size=16).hexdigest()

    def note(self, language: str) -> str:
        """What is added to the prompt so that a reply fits the schema; nothing without one."""
        if self.schema is None:
            return ""
        if language not in self._notes:
            self._notes[language] = format_note(self.schema, language)
        return self._notes[language]

    @cached_property
    def _notes(self) -> dict[str, str]:
        return {}

    @cached_property
    def _told(self) -> bytes:
        return self._about(self.settings)

    def _about(self, settings: Settings) -> bytes:
        return canonical([settings.model_dump(mode="json"), self.schema])

    def repairs(self, outcome: Outcome) -> bool:
        """Whether a reply of which that came is asked for once more."""
        return outcome.error is not None and self.schema is not None and outcome.status != REFUSED


@dataclass(frozen=True)
class Answer:
    """What came of a question. `value` is what the reader made of the reply; `columns` are for the store."""

    status: str
    text: str | None
    value: Any
    prompt: str
    columns: Mapping[str, Any]


@dataclass(frozen=True)
class Draft:
    """A first reply that could not be used, with what was sent for it and what it took, as columns of the store."""

    columns: Mapping[str, Any]


@dataclass(frozen=True)
class Adopted:
    """A reply that was sent for the same question under another name, as a row of the store, and the unreadable first
    reply before it, if there was one; `origin` is the name that it was asked for under."""

    row: Mapping[str, Any]
    draft: Mapping[str, Any] | None
    origin: str


Keep = Callable[[Draft], None]


@dataclass(frozen=True)
class Asking:
    """One question on its way to one model."""

    caller: Caller
    question: Question
    sent: tuple[Message, ...]
    language: str
    lane: Lane
    shorter: Callable[[int], tuple[int, tuple[Message, ...]] | None] | None = None
    """What is sent instead where the model says that it passes its context: given how much of it was left out so far,
    how much is left out then, and the rest; None where nothing more can be."""

    @property
    def prompt(self) -> str:
        """What is sent, as one text."""
        return as_one_text(self.sent)

    async def first(self, samples: int = 1, number: int = 0) -> list[Called | ModelError]:
        """The first replies to the question for so many samples from `number` on, one request for all of them, or why
        there are none. Only `Stopped` is
        raised, where no other call could succeed."""
        sent, left_out = self.sent, 0
        while True:
            try:
                called = await self.caller.call(self._request(sent, samples, number), self.lane)
                break
            except ModelError as error:
                less = self.shorter(left_out) if self.shorter is not None and error.code == CONTEXT_EXCEEDED else None
                if less is None:
                    return [error] * samples
                left_out, sent = less
        # The attempts and the wait were the same for all of them.
        replies = (called.reply, *called.reply.others)[:samples]
        found: list[Called | ModelError] = [
            Called(reply, called.attempts, called.latency_s, sent if sent is not self.sent else None)
            for reply in replies
        ]
        missing = ModelError("R0111", f"`{self.caller.model.name}` sent fewer replies than it was asked for", "")
        return found + [missing] * (samples - len(found))

    async def settle(self, first: Called | ModelError | Draft, keep: Keep, number: int = 0) -> Answer:
        """The answer that the first reply to sample `number` gives, asked for once more where it cannot be used. `keep`
        is given such a reply before that, since it must not be asked for again."""
        if isinstance(first, Called) and first.sent is not None:
            return await replace(self, sent=first.sent).settle(replace(first, sent=None), keep, number)
        if isinstance(first, Draft) and first.columns["messages"] != _messages(self.sent):
            sent = tuple(Message(**each) for each in orjson.loads(first.columns["messages"]))
            return await replace(self, sent=sent).settle(first, keep, number)
        prompt = self.prompt
        columns: dict[str, Any] = {"messages": _messages(self.sent), **NOTHING}
        if isinstance(first, ModelError):
            columns |= {"attempts": 1, "error": f"{first.code} {first.message}", "status": first.status}
            return Answer(first.status, None, None, prompt, columns)
        columns |= first.columns if isinstance(first, Draft) else _columns(first)
        outcome = self.question.reader(columns["reply"], columns["finish_reason"])
        if self.question.repairs(outcome):
            if not isinstance(first, Draft):
                keep(Draft({**_columns(first), "messages": columns["messages"], "error": outcome.error}))
            outcome = await self._repair(outcome, columns, number)
        return _answer(outcome, prompt, columns)

    async def adopt(self, found: Adopted, keep: Keep, number: int = 0) -> Answer:
        """The answer that a reply gives which was sent for the same question under another name. It is read anew, and
        asked for once more only where the one that was asked for once more then was asked otherwise."""
        row = found.row
        sent = self.sent
        if "messages" in row and row["messages"] != _messages(self.sent):
            sent = tuple(Message(**each) for each in orjson.loads(row["messages"]))
        columns: dict[str, Any] = {"messages": _messages(sent), **NOTHING, **{key: row[key] for key in OF_CALL}}
        columns["reply"] = row["reply"] if "reply" in row else row["text"]
        prompt = as_one_text(sent)
        if columns["reply"] is None:
            return Answer(row["status"], None, None, prompt, {**columns, "status": row["status"]})
        replied, outcome = reread(self.question, columns, found.draft)
        columns |= replied
        if outcome is None:
            outcome = self.question.reader(columns["reply"], columns["finish_reason"])
            if found.draft is None:
                told = {key: columns[key] for key in ("messages", "reply", *OF_CALL)}
                keep(Draft({**told, "error": outcome.error}))
            outcome = await replace(self, sent=sent)._repair(outcome, columns, number)
        return _answer(outcome, prompt, columns)

    async def _repair(self, before: Outcome, columns: dict[str, Any], number: int) -> Outcome:
        """The better outcome of the one before and the one of a second reply; `columns` become those of both."""
        note = REPAIR.get(self.language, REPAIR["en"]).format(error=before.error)
        again = (*self.sent, Message("assistant", columns["reply"]), Message("user", note))
        try:
            called = await self.caller.call(self._request(again, 1, number), self.lane)
        except ModelError:
            columns["attempts"] += 1
            return before  # what the first reply gave stands
        second = _columns(called)
        for key in UNUSED:
            columns[key] = _sum(columns[key], second[key])
        columns["model_served"] = second["model_served"]
        after = self.question.reader(second["reply"], second["finish_reason"])
        if after.error is not None and _usable(after) <= _usable(before):
            return before
        columns |= {"reply": second["reply"], "finish_reason": second["finish_reason"]}
        return after

    def _request(self, sent: tuple[Message, ...], samples: int = 1, number: int = 0) -> Request:
        settings, model = self.question.settings, self.caller.model
        return Request(
            model=model.name,
            messages=sent,
            settings=settings.of_sample(number),
            schema=self.question.schema if model.structured else None,
            samples=samples,
            number=number,
        )


def reread(
    question: Question, kept: Mapping[str, Any], draft: Mapping[str, Any] | None
) -> tuple[Mapping[str, Any], Outcome | None]:
    """What a reader makes of a reply that is kept, after the unreadable `draft` if there was one, and the columns that
    change; no outcome where the reply now has to be asked for once more, in words that it was not asked for in."""
    last = question.reader(kept["reply"], kept["finish_reason"])
    if draft is None:
        return {}, None if question.repairs(last) else last
    first = question.reader(draft["reply"], draft["finish_reason"])
    if question.repairs(first) and first.error == draft["error"]:
        return {}, last
    return {key: draft[key] for key in ("reply", *OF_CALL)}, None if question.repairs(first) else first


def _answer(outcome: Outcome, prompt: str, columns: dict[str, Any]) -> Answer:
    columns["parsed"] = None if outcome.parsed is None else dumps(outcome.parsed)
    columns |= {"error": outcome.error, "status": outcome.status}
    return Answer(outcome.status, columns["reply"], outcome.value, prompt, columns)


def recorded_answer(question: Question, sent: tuple[Message, ...], told: Mapping[str, Any]) -> Answer:
    """The answer that a reply gives which was sent elsewhere: nobody can be asked for another. `told` are columns of
    the store, `reply` among them."""
    columns: dict[str, Any] = {"messages": _messages(sent), **NOTHING, **told}
    return _answer(question.reader(columns["reply"], columns["finish_reason"]), as_one_text(sent), columns)


def as_one_text(sent: Sequence[Message]) -> str:
    """What is sent, as one text."""
    return sent[0].content if len(sent) == 1 else "\n\n".join(each.content for each in sent)


def text_reader(text: str, finish_reason: str | None) -> Outcome:
    """Takes a reply as it is."""
    return Outcome(text, None, None, status_of_text(finish_reason))


def _columns(called: Called) -> dict[str, Any]:
    reply: Reply = called.reply
    return {
        "reply": reply.text,
        "finish_reason": reply.finish_reason,
        "model_served": reply.model_served,
        "attempts": called.attempts,
        "tokens_in": reply.tokens_in,
        "tokens_out": reply.tokens_out,
        "tokens_reasoning": reply.tokens_reasoning,
        "cost_usd": reply.cost_usd,
        "latency_s": called.latency_s,
    }


def _usable(outcome: Outcome) -> int:
    """How much of a reply could be read."""
    return len(outcome.parsed) if isinstance(outcome.parsed, Mapping) else int(outcome.parsed is not None)


def _sum(before: float | None, more: float | None) -> float | None:
    return None if before is None or more is None else before + more


def _messages(sent: Sequence[Message]) -> str:
    return dumps([{"role": message.role, "content": message.content} for message in sent])


def dumps(value: Any) -> str:
    """JSON text; sets are sorted lists. Slower where a text has what UTF-8 cannot hold.

    >>> dumps({"b": {2, 1}, "a": "é"})
    '{"a":"é","b":[1,2]}'
    """
    try:
        return orjson.dumps(value, default=_plain, option=orjson.OPT_SORT_KEYS).decode()
    except (TypeError, orjson.JSONEncodeError):
        return json.dumps(value, ensure_ascii=False, sort_keys=True, default=sorted, separators=(",", ":"))


def _plain(value: Any) -> Any:
    if isinstance(value, frozenset | set):
        return sorted(value)
    raise TypeError(type(value).__name__)


__all__ = ["Answer", "Asking", "Draft", "Outcome", "Question", "Reader"]
