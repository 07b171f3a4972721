"""A question to one model: its texts, its settings, and how its reply is read."""

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
    split_text_and_calls,
    write_calls,
)
from tripos_compiler.plan.outcomes import OK, PARSE_FAILURE, PROVIDER_ERROR, REFUSED
from tripos_compiler.replies.text import ReplyText
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.asking.ledger import OtherStore
from tripos_runtime.models.base import DialogueTurn, Message, StatedReply
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
"""The columns on the origin of a reply, for one that this run asked a model for itself."""

OF_CALL = ("thinking", "finish_reason", "model_served", "logprobs", *UNUSED, "error")
"""The columns of a call apart from its messages and its reply."""


@dataclass(frozen=True)
class ReadOutcome:
    """The result of reading a reply: a value, or an error.

    The status from a reader is a key of `READINGS`. `Question.read` replaces it by the status of the reply, and sets
    `scored` and `parts`."""

    value: Any
    parsed: Any
    """The value as the store keeps it, before it becomes JSON text."""
    error: str | None = None
    status: str = OK
    scored: bool = True
    """True if the text of the reply may be scored."""
    parts: ReplyText | None = None
    """The answer and the thinking of the reply."""


Reader = Callable[[str], ReadOutcome]
"""Reads the answer of a reply."""

ProbabilityReader = Callable[[ReadOutcome, Sequence[TokenProbability]], ReadOutcome]
"""Adds the probabilities of a reply's tokens to what was read from it. Raises `NoTokenProbabilities`."""
LACKS_PROBABILITIES = "no token probabilities"
"""The start of the error of a reply that lacks the requested token probabilities."""


@dataclass(frozen=True)
class Question:
    """A question: its texts and arguments, the JSON Schema of the reply, if any, and the reader of the reply."""

    system: Texts | None
    prompt: Texts | None
    settings: Settings
    schema: dict[str, Any] | None
    reader: Reader
    stated: StatedReply | None = None
    """The form of the reply, if the prompt states it itself."""
    readable: tuple[str, ...] = ()
    """Replies that the scores can read; see `Request.readable`."""
    chat: Expr | None = None
    """The dialogue that a reward model judges."""
    form: Form = "text"
    chooses: bool = False
    """True if the model returns the likelihoods of the options, and writes no text."""
    add_probabilities: ProbabilityReader | None = None
    """Adds the probabilities of the reply's tokens; None if they are not asked for."""
    varied: tuple[str, ...] = ()
    """The names of the settings that differ between the requests of the step."""
    exact: bool = False
    """True if the reply is read as any JSON. A mark of thinking inside the JSON is then part of the value."""
    unsettled: tuple[tuple[Expr, Unavailable], ...] = ()
    """The conditions of the settings, and the end of a judge's scale, that have no value, with the reasons. `settings`
    and the scale are then the widest possible, and the question cannot be asked."""

    def settle(self, placeholders: Placeholders | None) -> None:
        """Raise `Unavailable` if the settings or the scale are unknown. With `placeholders`, these receive the
        conditions without a value, and raise the reason only if the value will never be available."""
        for when, reason in self.unsettled:
            if placeholders is None:
                raise reason
            placeholders.condition(when, reason)

    def read(self, kept: Mapping[str, Any]) -> ReadOutcome:
        """Read a reply, given the columns `reply`, `finish_reason` and `logprobs` of the store, and `thinking` and
        `tokens_reasoning` if they are known. Every reader gets the answer without the thinking."""
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
        if self.add_probabilities is None or outcome.error is not None or outcome.status != OK:
            return outcome
        try:
            return replace(self.add_probabilities(outcome, read_token_probabilities(kept.get("logprobs"))), parts=parts)
        except NoTokenProbabilities as error:
            text = f"{LACKS_PROBABILITIES}: {error}"
            return ReadOutcome(None, None, text, PARSE_FAILURE, parts=parts)

    def form_error(self, text: str) -> str | None:
        """Return why a reply is not exactly what the prompt asks for; None if it is. The reader must accept it, and if
        the prompt has a note on the form, it must be JSON alone that fits the schema: the reader forgives more."""
        if self.reader is text_reader:
            return None
        answer = reply_parts(text, self.form, exact=self.exact).answer
        outcome = self.reader(answer)
        if outcome.error is not None or self.schema is None:
            return outcome.error
        try:
            value = orjson.loads(answer)
        except orjson.JSONDecodeError:
            return "it is not JSON alone"
        error = next(self._validator.iter_errors(value), None)
        return None if error is None else f"`{error.json_path}`: {error.message}"

    @cached_property
    def _validator(self) -> Any:
        from jsonschema import Draft202012Validator

        return Draft202012Validator(self.schema or {})

    def digest(self, identity: str, sent: Sequence[Message], number: int = 0) -> str:
        """Return the digest of a request with these messages to the model of that identity. The digest covers the seed
        of sample `number` but not the number itself, and the schema whether or not the model enforces it."""
        speakers = ([message.speaker] if isinstance(message, DialogueTurn) else [] for message in sent)
        text = dumps([[message.role, message.content, *name] for message, name in zip(sent, speakers, strict=True)])
        settings = self._content if self.settings.seed is None else self._about(self.settings.of_sample(number))
        content = b"\0".join((identity.encode(), settings, text.encode("utf-8", "replace")))
        return blake2b(content, digest_size=16).hexdigest()

    def note(self, language: str) -> str:
        """Return the note on the format that is added to the prompt; empty without a schema."""
        if self.schema is None:
            return ""
        if language not in self._notes:
            self._notes[language] = format_note(self.schema, language)
        return self._notes[language]

    @cached_property
    def _notes(self) -> dict[str, str]:
        return {}

    @cached_property
    def _content(self) -> bytes:
        return self._about(self.settings)

    def _about(self, settings: Settings) -> bytes:
        return canonical([settings.model_dump(mode="json"), self.schema])

    def needs_repair(self, outcome: ReadOutcome) -> bool:
        """Return true if a reply with this outcome is repaired, which means asked for once more."""
        if outcome.error is not None and outcome.error.startswith(LACKS_PROBABILITIES):
            return False  # another wording would not return the probabilities
        if outcome.status in (REFUSED, PROVIDER_ERROR):
            return False
        return outcome.error is not None and self.is_formed

    @property
    def is_formed(self) -> bool:
        """True if the reply must have a form, so that an unreadable one is repaired."""
        return self.schema is not None or self.stated is not None


@dataclass(frozen=True)
class Answer:
    """The answer to a question. `text` is the reply without its thinking; None if it may not be scored. `value` is the
    result of the reader; `columns` are for the store. `thinking` and the exact reply, `raw`, are None if `text` is."""

    status: str
    text: str | None
    value: Any
    prompt: str
    columns: Mapping[str, Any]
    thinking: str | None = None
    raw: str | None = None


@dataclass(frozen=True)
class UnreadableReply:
    """An unreadable first reply, as columns of the store: its messages, its usage and the error."""

    columns: Mapping[str, Any]


@dataclass(frozen=True)
class Adopted:
    """A kept reply to the same request that belongs to a result of another name, as a row of the store. `draft` is the
    unreadable first reply before it, if any; `origin` is the name of that other result; `source` is the store that the
    row is from, if it is not the store of the run."""

    row: Mapping[str, Any]
    draft: Mapping[str, Any] | None
    origin: str
    source: OtherStore | None = None

    @property
    def columns(self) -> dict[str, Any]:
        """The columns on the origin of the reply."""
        reused = self.row.get("reused_from") if self.source is None else str(self.source)
        return {"adopted_from": self.origin, "reused_from": reused}


def read_again(
    question: Question, kept: Mapping[str, Any], draft: Mapping[str, Any] | None
) -> tuple[Mapping[str, Any], ReadOutcome | None]:
    """Read a kept reply again; `draft` is the unreadable first reply before it, if any. Return the columns to replace,
    and the outcome. A draft that is readable after all becomes the reply. The outcome is None if a repair is needed
    whose wording has not been sent."""
    last = question.read(kept)
    if draft is None:
        return {}, None if question.needs_repair(last) else last
    first = question.read(draft)
    if question.needs_repair(first) and first.error == draft["error"]:
        return {}, last
    return {key: draft[key] for key in ("reply", *OF_CALL)}, None if question.needs_repair(first) else first


def read_answer(outcome: ReadOutcome, prompt: str, columns: dict[str, Any]) -> Answer:
    """Return the answer of a reply that was read. Add `parsed`, `error` and `status` to `columns`, those of the
    call."""
    columns["parsed"] = None if outcome.parsed is None else dumps(outcome.parsed)
    columns |= {"error": outcome.error, "status": outcome.status}
    return answer_from(outcome, columns["reply"], outcome.status, prompt, columns)


def answer_from(outcome: ReadOutcome, raw: str, status: str, prompt: str, columns: Mapping[str, Any]) -> Answer:
    """Return the answer of a reply that was read. It has no text if the text may not be scored."""
    if not outcome.scored or outcome.parts is None:
        return Answer(status, None, outcome.value, prompt, columns)
    return Answer(status, outcome.parts.answer, outcome.value, prompt, columns, outcome.parts.thinking, raw)


def recorded_answer(question: Question, sent: tuple[Message, ...], stored: Mapping[str, Any]) -> Answer:
    """Return the answer of a reply that was recorded elsewhere and cannot be repaired. `stored` are columns of the
    store, with `reply`, and with `status` if the call failed or the reply was refused."""
    columns: dict[str, Any] = {"messages": messages_text(sent), **NO_REPLY, **stored}
    if "status" in stored:
        prompt = as_one_text(sent)
        if columns["reply"] is None:
            return Answer(stored["status"], None, None, prompt, columns)
        outcome = replace(question.read(columns), value=None)
        return answer_from(outcome, columns["reply"], stored["status"], prompt, columns)
    return read_answer(question.read(columns), as_one_text(sent), columns)


def as_one_text(sent: Sequence[Message]) -> str:
    """Return the messages as one text."""
    return sent[0].content if len(sent) == 1 else "\n\n".join(message.content for message in sent)


def text_reader(text: str) -> ReadOutcome:
    """Read a reply as its text."""
    return ReadOutcome(text, None)


def reply_parts(raw: str, form: Form, thinking: str | None = None, *, exact: bool = False) -> ReplyText:
    """Split a reply into its answer and its thinking. `thinking` is the thinking that the provider returned in a field
    of its own; it precedes the thinking in the reply. In a reply with calls of tools, the thinking is removed from the
    text. A number has no thinking, and with `exact` the inside of JSON is not searched for any.

    >>> reply_parts("<think>A?</think> B", "text", "Let me see.").thinking
    'Let me see.\\n\\nA?'
    >>> reply_parts('{"text": "<think>Hm.</think> Wait.", "calls": [{"name": "ping"}]}', "tools").answer
    '{"text": "Wait.", "calls": [{"name": "ping", "arguments": {}}]}'
    """
    if form == "number":
        parts = ReplyText(raw)
    elif form == "tools":
        text, calls = split_text_and_calls(raw)
        parts = ReplyText.parse(text)
        if text is not raw:
            parts = replace(parts, answer=raw if parts.answer == text else write_calls(parts.answer, calls))
    else:
        parts = parts_around_json(raw) if exact else ReplyText.parse(raw)
    thoughts = "\n\n".join(each for each in (thinking, parts.thinking) if each and each.strip())
    return replace(parts, thinking=thoughts or None)


def content_of(text: str, form: Form, *, thought: bool = False) -> Content:
    """Return the kind of content of a reply. This is the only place that decides it. `thought` is true if there was
    thinking before the text.

    >>> content_of(" \\n", "text"), content_of('{"text": "", "calls": [{"name": "ping"}]}', "tools")
    ('empty', 'calls')
    """
    calls: Sequence[Any] = ()
    if form == "tools":
        text, calls = split_text_and_calls(text)
    if calls or text.strip():
        return "calls" if calls else "answer"
    return "thinking" if thought else "empty"


def messages_text(sent: Sequence[Message]) -> str:
    """Return the messages as the store keeps them."""
    return dumps([{"role": message.role, "content": message.content} for message in sent])


def dumps(value: Any) -> str:
    """Return compact JSON text with sorted keys; sets become sorted lists. Text that UTF-8 cannot encode takes a slower
    path.

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
