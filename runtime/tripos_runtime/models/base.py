"""The interface that all models share: a request goes in, a reply or a `ModelError` comes out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Any, Literal, TypeVar

from tripos_compiler.errors import TriposError
from tripos_compiler.library.media import Medium
from tripos_compiler.plan import MODEL_DEFAULTS, Settings
from tripos_compiler.replies.stated_forms import form_with_verdict
from tripos_compiler.source.data_classes import dataclass

Amount = TypeVar("Amount", int, float)
Contents = Callable[[Medium], bytes]
"""A function that returns the content of an image or another file. Raises `OSError` if it cannot be read."""


@dataclass(frozen=True)
class Message:
    """One message of a conversation."""

    role: str
    """`system`, `user` or `assistant`; or one of the roles below: `PLAIN` for a text without a chat, `OPTION` for each
    of its possible continuations, `TOOL` for a function that the model may call, `CALLED` for a reply that called
    functions, and `RESULT` for the result of each of these calls, in their order."""
    content: str


PLAIN, OPTION = "text", "option"
"""The role of a text without a chat, and of each continuation whose likelihood is asked for."""
TOOL = "tool"
"""The role of the description of a function that a model may call: JSON with its name, description and parameters."""
CALLED, RESULT = "calls", "result"
"""The role of a reply that called functions, in the form of `write_calls`, and the role of the result of each call."""


def texts_read(messages: Iterable[Message]) -> list[str]:
    """Return every text that a model reads. If there are options, these are the text itself without trailing space,
    and the text with each option.

    >>> texts_read((Message(PLAIN, "2 + 2 = "), Message(OPTION, "4"), Message(OPTION, "5")))
    ['2 + 2 =', '2 + 2 = 4', '2 + 2 = 5']
    """
    all_messages = list(messages)
    options = [message.content for message in all_messages if message.role == OPTION]
    if not options:
        return [message.content for message in all_messages]
    text = "".join(message.content for message in all_messages if message.role != OPTION)
    return [text.rstrip(), *(text + option for option in options)]


@dataclass(frozen=True)
class DialogueTurn(Message):
    """A turn of a judged dialogue. `speaker` is shown only to models that read the dialogue as one text."""

    speaker: str = ""


@dataclass(frozen=True)
class StatedReply:
    """A reply whose form the author of the prompt states, so that nothing is added to the prompt and no model enforces
    it. `schema` is the JSON Schema of its content; with a `form`, the content is only its `value`, which stands in that
    form in free text (`replies.stated_forms`)."""

    schema: dict[str, Any]
    form: str | None = None

    def from_json(self, text: str, reasons: str) -> str:
        """Return a reply in this form from JSON that fits `schema`. JSON is the form without `form`; other text stays.

        >>> StatedReply({}, "Rating: [[{}]]").from_json('{"value": 5}', "It is short.")
        'It is short.\\n\\nRating: [[5]]'
        """
        try:
            value = None if self.form is None else json.loads(text)["value"]
        except (ValueError, TypeError, KeyError):
            value = None
        if self.form is None or value is None:
            return text
        verdict = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return f"{reasons}\n\n{form_with_verdict(self.form, verdict)}".lstrip()


@dataclass(frozen=True)
class RequestOrigin:
    """The place in a run that a request is for. It is never sent, and only models that reply from a table of the user
    know it: `values` has the secret fields too."""

    scenario: str
    """The name of the scenario, or of the data set that is written."""
    role: str
    ask: str | None = None
    """The name of the ask or of the conversation."""
    scorer: str | None = None
    number: int = 0
    """The number of the sample or of the judge's repetition, from 0."""
    turn: int | None = None
    """The number of the turn of a conversation, from 1."""
    element: str | None = None
    item_names: tuple[str, ...] = ()
    """The names of the item: the value of its data set's `key`, if it has one, and its id."""
    values: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """The axes and the fields of the item."""


@dataclass(frozen=True)
class Request:
    """Everything that is sent to a model for one question.

    >>> Request("mock/careful", (Message("user", "Why is the sky blue?"),)).settings.given
    {}
    """

    model: str
    messages: tuple[Message, ...]
    settings: Settings = MODEL_DEFAULTS
    schema: dict[str, Any] | None = None
    """The JSON Schema that the reply should fit; an empty schema allows any JSON. Only models with `structured` enforce
    a schema, and never one with a part that allows any JSON (see `strict_schema`)."""
    stated: StatedReply | None = None
    """The form of the reply that the messages themselves state. It is not sent; mocks and baselines reply in it."""
    readable: tuple[str, ...] = ()
    """Replies that the scores can read, with `#` for a whole number, if the messages state no form. They are not sent;
    mocks reply with one of them."""
    samples: int = 1
    """The number of replies wanted, at most the model's `most_samples`."""
    number: int = 0
    """The number of this sample of the question, or of the first of several samples. It is not sent; recorded replies
    are looked up by it."""
    name: str = ""
    """The name of the result that the reply is for. It is not sent; batches identify requests by it."""
    plain: bool = False
    """True if the only message is a text to continue, not a turn of a chat. A model that only has a chat reads it as
    the user's message."""
    options: tuple[str, ...] = ()
    """The continuations whose likelihood is asked for, instead of a reply."""
    tools: tuple[str, ...] = ()
    """The functions that the model may call, each described by JSON. If there are any, the text of the reply is what
    `write_calls` returns for its text and calls."""
    contents: Contents | None = field(default=None, compare=False, repr=False)
    """Returns the content of the image or other file that a mark in a message refers to."""
    origin: RequestOrigin | None = field(default=None, compare=False, repr=False)
    """The place in the run that it is for, if the model's kind `needs_origin`."""

    @property
    def without_stated(self) -> Request:
        """The request for the content of a reply as JSON, if the messages state its form."""
        return self if self.stated is None else replace(self, schema=self.stated.schema, stated=None)

    @property
    def strict_schema(self) -> dict[str, Any] | None:
        """The schema, if a server can enforce it; None if a part of it allows any JSON. Strict output does not support
        such parts, and the modes without a schema force an object.

        >>> Request("m", (), schema={"type": "array", "items": {}}).strict_schema is None
        True
        """
        return None if self.schema is None or _is_open(self.schema) else self.schema

    @property
    def message_pairs(self) -> list[tuple[str, str]]:
        """The role and the content of every message, as the store keeps them.

        >>> Request("m", (Message("user", "2 + 2 ="),), plain=True, options=("4", "5")).message_pairs
        [('text', '2 + 2 ='), ('option', '4'), ('option', '5')]
        """
        pairs = [(PLAIN if self.plain else message.role, message.content) for message in self.messages]
        return [*pairs, *((OPTION, option) for option in self.options), *((TOOL, tool) for tool in self.tools)]

    @property
    def texts(self) -> list[str]:
        """Every text that the model reads; see `texts_read`."""
        return texts_read(Message(*message_pair) for message_pair in self.message_pairs)


def _is_open(schema: dict[str, Any]) -> bool:
    """Return true if some part of a value that fits the schema may be any JSON."""
    parts = [*schema.get("properties", {}).values(), *schema.get("anyOf", ())]
    parts += [schema["items"]] if "items" in schema else []
    return not schema or any(map(_is_open, parts))


@dataclass(frozen=True)
class Reply:
    """The reply of a model. `None` means unknown: an unknown count or cost is never reported as 0."""

    text: str
    model_served: str
    finish_reason: str | None
    tokens_in: int | None
    tokens_out: int | None
    cost_usd: float | None
    tokens_reasoning: int | None = None
    """The part of `tokens_out` that is hidden reasoning."""
    logprobs: str | None = None
    """The probabilities of the reply's tokens as `write_token_probabilities` writes them, if asked for and returned."""
    thinking: str | None = None
    """The thinking that the provider returned in separate fields."""
    further_choices: tuple[Reply, ...] = ()
    """The further replies to a request for several samples. Each has its own share of the usage and no further
    choices."""

    def with_usage_of(self, others_usage: Iterable[Reply]) -> Reply:
        """Return this reply with the usage of other replies added to it. A sum with an unknown part is unknown.

        >>> failed = Reply("", "m", "error", 5, 1, None)
        >>> reply = Reply("hi", "m", "stop", 5, 2, 0.25).with_usage_of([failed])
        >>> reply.text, reply.tokens_in, reply.tokens_out, reply.cost_usd
        ('hi', 10, 3, None)
        """
        replies = (self, *others_usage)
        return replace(
            self,
            tokens_in=_total([reply.tokens_in for reply in replies]),
            tokens_out=_total([reply.tokens_out for reply in replies]),
            cost_usd=_total([reply.cost_usd for reply in replies]),
            tokens_reasoning=_total([reply.tokens_reasoning for reply in replies]),
        )

    def samples(self, wanted: int) -> tuple[Reply, ...]:
        """Return the first `wanted` replies to a request, or all if there are fewer. Surplus replies are billed as
        well, so their usage is added to the first reply.

        >>> reply = Reply("a", "m", "stop", 10, 1, 0.0, further_choices=(Reply("b", "m", "stop", 0, 2, 0.0),))
        >>> [(each.text, each.tokens_out) for each in reply.samples(1)]
        [('a', 3)]
        """
        replies = (replace(self, further_choices=()), *self.further_choices)
        return (replies[0].with_usage_of(replies[wanted:]), *replies[1:wanted]) if len(replies) > wanted else replies


def _total(parts: Sequence[Amount | None]) -> Amount | None:
    known = [part for part in parts if part is not None]
    return sum(known[1:], known[0]) if known and len(known) == len(parts) else None


@dataclass(frozen=True)
class Price:
    """The price of a model in USD per token. `most_out` is the largest number of tokens of a reply, if known.

    >>> Price(1e-6, 4e-6).cost_usd(1000, 500)
    0.003
    """

    input_usd: float
    output_usd: float
    cached_usd: float | None = None
    """The price of a prompt token that comes from the provider's cache; `None` if it costs the same as any other."""
    most_out: int | None = None

    def cost_usd(self, tokens_in: int, tokens_out: int, cached: int = 0, reasoning: int = 0) -> float:
        """Return the cost of a call in USD. `cached` is the number of `tokens_in` that came from the provider's cache;
        `reasoning` is the number of `tokens_out` that are hidden, which cost the same here and not in every
        subclass."""
        cached_usd = self.input_usd if self.cached_usd is None else self.cached_usd
        return (tokens_in - cached) * self.input_usd + cached * cached_usd + tokens_out * self.output_usd


FREE = Price(0.0, 0.0)


@dataclass(frozen=True)
class Endpoint:
    """The address of a model that is not reached at its provider's own address.

    `api_key_env` is the name of the environment variable with the key; if it is None, no key is sent. `name` identifies
    the endpoint in results, and stays the same if the model moves to another address."""

    base_url: str
    api_key_env: str | None = None
    name: str | None = None
    replicas: tuple[str, ...] = ()
    """Further addresses of the same model."""
    warm_up_s: float = 0.0
    """How long a run waits at its start until a server answers, in seconds."""
    media: tuple[str, ...] | None = None
    """The kinds of media that the model accepts, if declared."""


class ModelError(TriposError):
    """A call that returned no reply.

    R0101 unreachable, R0102 key, R0103 unknown model, R0104 rate limited, R0105 a package is not installed, R0106 no
    such model file, R0107 context exceeded, R0108 content refused, R0109 timeout, R0110 bad request, R0111 server
    error. Other modules add codes of their own.

    >>> error = ModelError("R0104", "rate limited", "lower `--max-connections`", retryable=True, retry_after_s=7.0)
    >>> error.code, error.status, error.fatal, error.message
    ('R0104', 'provider_error', False, 'rate limited')
    """

    def __init__(
        self,
        code: str,
        message: str,
        hint: str,
        *,
        status: Literal["provider_error", "refused"] = "provider_error",
        retryable: bool = False,
        fatal: bool = False,
        retry_after_s: float | None = None,
        broken: bool = False,
    ) -> None:
        super().__init__(code, message, hint)
        self.status = status
        self.retryable = retryable
        """True if the same call may succeed later."""
        self.fatal = fatal
        """True if no further call to this model can succeed."""
        self.retry_after_s = retry_after_s
        """How long the endpoint asks clients to wait, in seconds."""
        self.broken = broken
        """True if a reply began and broke off, so that the endpoint is reachable."""
        self.attempts = 1
        """The number of requests that were made for the call."""
        self.usage: Reply | None = None
        """The usage that the provider reported despite the error, as a reply without text; None if it reported none."""

    def of_further_sample(self) -> ModelError:
        """Return this error for a further sample of the same request, which made no request of its own."""
        error = ModelError(self.code, self.message, self.hint, status=self.status, retryable=self.retryable)
        error.attempts = 0
        return error


def check_alone(name: str, endpoint: Endpoint | None) -> None:
    """Raise `ModelError` R0110 if an endpoint has replicas or a warm-up time. It is called for models that are not
    asked in OpenAI's form, which support neither."""
    if endpoint is not None and (endpoint.replicas or endpoint.warm_up_s):
        message = f"`replicas` and `warm_up_s` are for chats in OpenAI's form, and `{name}` is none"
        raise ModelError("R0110", message, "leave them out of its endpoint in tripos.toml", fatal=True)


class Model:
    """A model that answers requests. A subclass overrides the defaults of this class where it differs."""

    name: str
    structured: bool = False
    """True if the model enforces the schema of a request."""
    slots: int | None = None
    """How many requests the model answers at a time; None means no limit."""
    price: Price | None = None
    """The price of a call; None if unknown."""
    most_samples: int = 1
    """How many replies one request may ask for."""

    @cached_property
    def endpoint(self) -> str:
        """A text that identifies the address and the key through which the model is reached. Models with the same
        endpoint share limits. The default is the model's own name, so that it shares none."""
        return self.name

    async def ask(self, request: Request) -> Reply:
        """Return the reply to a request. Raises `ModelError`."""
        raise NotImplementedError

    async def warm_up(self) -> None:
        """Wait until the model can be asked; its servers may still be starting. Raises `ModelError` if that takes too
        long."""

    def ignored_settings(self, settings: Settings) -> tuple[str, ...]:
        """Return the names of the given settings that a request would leave out, as far as is known."""
        return ()

    def end_notes(self, *, partial: bool) -> list[str]:
        """Return notes on a finished run that asked the model. `partial` is true if it was not asked for some replies
        of the run, because they were kept or another process asked for them."""
        return []

    async def close(self) -> None:
        """Close connections and processes. The model must not be asked again."""
