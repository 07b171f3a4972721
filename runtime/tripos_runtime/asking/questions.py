"""One question to one model, and the reading of what is replied."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from hashlib import blake2b
from typing import Any

import orjson

from tripos_compiler.language.evaluation import Unavailable
from tripos_compiler.language.rendering import Placeholders
from tripos_compiler.plan import (
    READINGS,
    Content,
    Expr,
    Form,
    NoTokenProbabilities,
    Settings,
    Texts,
    TokenProbability,
    canonical,
    ending_of,
    read_token_probabilities,
    reply_status,
    said_calls,
    write_calls,
)
from tripos_compiler.plan.outcomes import OK, PARSE_FAILURE, PROVIDER_ERROR, REFUSED
from tripos_compiler.replies.text import ReplyText
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.asking.ledger import OtherStore
from tripos_runtime.models.base import DialogueTurn, Message
from tripos_runtime.reading.json_values import parts_around_json
from tripos_runtime.reading.schema import format_note

UNUSED: dict[str, Any] = {
    "attempts": 0,
    "tokens_in": None,
    "tokens_out": None,
    "tokens_reasoning": None,
    "cost_usd": None,
    "latency_s": None,
}
NO_REPLY: dict[str, Any] = (
    dict.fromkeys(("reply", "thinking", "parsed", "error", "finish_reason", "model_served", "logprobs")) | UNUSED
)

SENT_ANEW: dict[str, Any] = {"adopted_from": None, "reused_from": None, "batch_id": None}
"""The columns of a result that was asked for."""

OF_CALL = ("thinking", "finish_reason", "model_served", "logprobs", *UNUSED, "error")
"""Facts of a call beside its reply."""

Lane = tuple[str, str]
"""The role and the scenario that a call is made for."""


@dataclass(frozen=True)
class ReadOutcome:
    """The result of reading a reply: a value, or why it is not usable and with what status. A reader gives one of
    `READINGS`; `PreparedQuestion.read` makes it the status of the reply, and adds its parts. `scored`: its text may be
    scored."""

    value: Any
    parsed: Any
    error: str | None = None
    status: str = OK
    scored: bool = True
    parts: ReplyText | None = None


Reader = Callable[[str], ReadOutcome]
"""Reads the answer of a reply."""

Weigher = Callable[[ReadOutcome, Sequence[TokenProbability]], ReadOutcome]
LACKS_PROBABILITIES = "no token probabilities"
"""The beginning of the error of a reply that came without the probabilities of its tokens, which were asked for."""


@dataclass(frozen=True)
class PreparedQuestion:
    """A question: texts, what fills them, and the JSON Schema that the reply should fit, if any; and how the reply is
    read."""

    system: Texts | None
    prompt: Texts | None
    settings: Settings
    schema: dict[str, Any] | None
    reader: Reader
    chat: Expr | None = None
    """Of a reward model: the dialogue that it judges."""
    form: Form = "text"
    chooses: bool = False
    """The likelihood of texts is asked for: nothing is written."""
    weigh: Weigher | None = None
    """Makes of a reply that was read, and of the probabilities of its tokens, what they say together."""
    varied: tuple[str, ...] = ()
    """The names of the settings that are not the same in all of its requests."""
    exact: bool = False
    """The reply is read as JSON of any form, in which nothing is thinking."""
    unsettled: tuple[tuple[Expr, Unavailable], ...] = ()
    """The conditions of its settings that have no value, and why. Then the settings are the widest that there may be,
    and nothing is sent with them."""

    def settle(self, placeholders: Placeholders | None) -> None:
        """Raise `Unavailable` where its settings are not known; `placeholders` stand for what is pending."""
        for when, reason in self.unsettled:
            if placeholders is None:
                raise reason
            placeholders.condition(when, reason)

    def read(self, kept: Mapping[str, Any]) -> ReadOutcome:
        """Return what a reply is read as, given the columns `reply`, `finish_reason` and `logprobs` of the store, and
        `thinking` and `tokens_reasoning` if they are known. Whatever reads a reply reads its answer."""
        ending = ending_of(kept["finish_reason"])
        parts = reply_parts(kept["reply"], self.form, kept.get("thinking"), exact=self.exact)
        outcome = self.reader(parts.answer)
        reading = READINGS[outcome.status]
        thought = parts.thinking is not None or bool(kept.get("tokens_reasoning"))
        content = content_of(parts.answer, self.form, thought=thought)
        status, scored, reason = reply_status(ending, content, self.form, reading)
        if reason is not None:
            return ReadOutcome(None, None, reason, status, scored=False, parts=parts)
        outcome = replace(outcome, status=status, scored=scored, parts=parts)
        if self.weigh is None or outcome.error is not None or outcome.status != OK:
            return outcome
        try:
            return replace(self.weigh(outcome, read_token_probabilities(kept.get("logprobs"))), parts=parts)
        except NoTokenProbabilities as error:
            said = f"{LACKS_PROBABILITIES}: {error}"
            return ReadOutcome(None, None, said, PARSE_FAILURE, parts=parts)

    def digest(self, identity: str, sent: Sequence[Message], number: int = 0) -> str:
        """Return the digest of a request that has these messages, to the model of that identity. The number of a sample
        is not in it but for the seed that it has; the schema is, whether or not the model is held to it."""
        spoken = ([each.speaker] if isinstance(each, DialogueTurn) else [] for each in sent)
        text = dumps([[each.role, each.content, *more] for each, more in zip(sent, spoken, strict=True)])
        about = self._told if self.settings.seed is None else self._about(self.settings.of_sample(number))
        told = b"\0".join((identity.encode(), about, text.encode("utf-8", "replace")))
        return blake2b(told, digest_size=16).hexdigest()

    def note(self, language: str) -> str:
        """Return what is added to the prompt so that a reply fits the schema; nothing without one."""
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

    def repairs(self, outcome: ReadOutcome) -> bool:
        """Return true if a reply of which that came is asked for once more."""
        if outcome.error is not None and outcome.error.startswith(LACKS_PROBABILITIES):
            return False  # another wording would not bring them
        if outcome.status in (REFUSED, PROVIDER_ERROR):
            return False
        return outcome.error is not None and self.schema is not None


@dataclass(frozen=True)
class Answer:
    """The answer to a question. `text` is that of the reply, without its thinking, if it may be scored; `value` is what
    the reader made of it, and `columns` are for the store. `thinking` and `raw`, the reply byte for byte, are there as
    `text` is."""

    status: str
    text: str | None
    value: Any
    prompt: str
    columns: Mapping[str, Any]
    thinking: str | None = None
    raw: str | None = None


@dataclass(frozen=True)
class Draft:
    """A first reply that could not be used, with what was sent for it and what it took, as columns of the store."""

    columns: Mapping[str, Any]


@dataclass(frozen=True)
class Adopted:
    """A reply that was sent for the same question under another name, as a row of the store, and the unreadable first
    reply before it, if there was one; `origin` is the name that it was asked for under. `source` says in which other
    store it was found."""

    row: Mapping[str, Any]
    draft: Mapping[str, Any] | None
    origin: str
    source: OtherStore | None = None

    @property
    def columns(self) -> dict[str, Any]:
        """Return the columns that say where the reply is from."""
        reused = self.row.get("reused_from") if self.source is None else str(self.source)
        return {"adopted_from": self.origin, "reused_from": reused}


def reread(
    question: PreparedQuestion, kept: Mapping[str, Any], draft: Mapping[str, Any] | None
) -> tuple[Mapping[str, Any], ReadOutcome | None]:
    """Return what a reader makes of a reply that is kept, after the unreadable `draft` if there was one, and the
    columns that change; no outcome where the reply now has to be asked for once more, in words that it was not asked
    for in."""
    last = question.read(kept)
    if draft is None:
        return {}, None if question.repairs(last) else last
    first = question.read(draft)
    if question.repairs(first) and first.error == draft["error"]:
        return {}, last
    return {key: draft[key] for key in ("reply", *OF_CALL)}, None if question.repairs(first) else first


def answer_read(outcome: ReadOutcome, prompt: str, columns: dict[str, Any]) -> Answer:
    """Return the answer that a reply is, as it was read; its columns are added to those of the call."""
    columns["parsed"] = None if outcome.parsed is None else dumps(outcome.parsed)
    columns |= {"error": outcome.error, "status": outcome.status}
    return answer_given(outcome, columns["reply"], outcome.status, prompt, columns)


def answer_given(outcome: ReadOutcome, raw: str, status: str, prompt: str, columns: Mapping[str, Any]) -> Answer:
    """Return the answer that a reply is, as it was read. It has no text if that may not be scored."""
    if not outcome.scored or outcome.parts is None:
        return Answer(status, None, outcome.value, prompt, columns)
    return Answer(status, outcome.parts.answer, outcome.value, prompt, columns, outcome.parts.thinking, raw)


def recorded_answer(question: PreparedQuestion, sent: tuple[Message, ...], told: Mapping[str, Any]) -> Answer:
    """Return the answer that a reply gives which was sent elsewhere: nobody can be asked for another. `told` are
    columns of the store, `reply` among them. Of a call that failed there, and of a reply that was refused, they have
    the `status`."""
    columns: dict[str, Any] = {"messages": messages_text(sent), **NO_REPLY, **told}
    if "status" in told:
        prompt = as_one_text(sent)
        if columns["reply"] is None:
            return Answer(told["status"], None, None, prompt, columns)
        outcome = replace(question.read(columns), value=None)
        return answer_given(outcome, columns["reply"], told["status"], prompt, columns)
    return answer_read(question.read(columns), as_one_text(sent), columns)


def as_one_text(sent: Sequence[Message]) -> str:
    """Return what is sent, as one text."""
    return sent[0].content if len(sent) == 1 else "\n\n".join(each.content for each in sent)


def text_reader(text: str) -> ReadOutcome:
    """Take a reply as it is."""
    return ReadOutcome(text, None)


def reply_parts(raw: str, form: Form, thinking: str | None = None, *, exact: bool = False) -> ReplyText:
    """Return the answer of a reply and the thinking before it; `thinking` is that of fields of its own. Of a reply that
    says calls, the answer says its text without the thinking. A number has no thinking, and JSON none within it if it
    is read exactly.

    >>> reply_parts("<think>A?</think> B", "text", "Let me see.").thinking
    'Let me see.\\n\\nA?'
    >>> reply_parts('{"text": "<think>Hm.</think> Wait.", "calls": [{"name": "ping"}]}', "tools").answer
    '{"text": "Wait.", "calls": [{"name": "ping", "arguments": {}}]}'
    """
    if form == "number":
        parts = ReplyText(raw)
    elif form == "tools":
        text, calls = said_calls(raw)
        parts = ReplyText.parse(text)
        if text is not raw:
            parts = replace(parts, answer=raw if parts.answer == text else write_calls(parts.answer, calls))
    else:
        parts = parts_around_json(raw) if exact else ReplyText.parse(raw)
    thoughts = "\n\n".join(each for each in (thinking, parts.thinking) if each and each.strip())
    return replace(parts, thinking=thoughts or None)


def content_of(text: str, form: Form, *, thought: bool = False) -> Content:
    """Return what a reply has: the only place that says so. `thought`: the model thought before it.

    >>> content_of(" \\n", "text"), content_of('{"text": "", "calls": [{"name": "ping"}]}', "tools")
    ('empty', 'calls')
    """
    calls: Sequence[Any] = ()
    if form == "tools":
        text, calls = said_calls(text)
    if calls or text.strip():
        return "calls" if calls else "answer"
    return "thinking" if thought else "empty"


def messages_text(sent: Sequence[Message]) -> str:
    """Return what is sent, as the store keeps it."""
    return dumps([{"role": message.role, "content": message.content} for message in sent])


def dumps(value: Any) -> str:
    """JSON text; sets are sorted lists. Slower where a text has what UTF-8 cannot hold.

    >>> dumps({"b": {2, 1}, "a": "é"})
    '{"a":"é","b":[1,2]}'
    """
    try:
        return orjson.dumps(value, default=_sorted_sets, option=orjson.OPT_SORT_KEYS).decode()
    except (TypeError, orjson.JSONEncodeError):
        return json.dumps(value, ensure_ascii=False, sort_keys=True, default=sorted, separators=(",", ":"))


def _sorted_sets(value: Any) -> Any:
    if isinstance(value, frozenset | set):
        return sorted(value)
    raise TypeError(type(value).__name__)
