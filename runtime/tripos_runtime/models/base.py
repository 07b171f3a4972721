"""The common interface of models: a request goes in, a reply or a `ModelError` comes out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, replace
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

from tripos_compiler.library.media import Medium
from tripos_compiler.plan import LEFT, Settings
from tripos_compiler.source.data_classes import dataclass


class CodedError(Exception):
    """An error with a code. `str` of it is the message.

    >>> error = CodedError("R0401", "`3 apples` is no amount", "write `$2`, `500k tokens` or `300 calls`")
    >>> error.code, str(error)
    ('R0401', '`3 apples` is no amount')
    """

    def __init__(self, code: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint


Amount = TypeVar("Amount", int, float)
Contents = Callable[[Medium], bytes]
"""Gives the content of an image or another file. It raises `OSError` where that is not to be had."""


@dataclass(frozen=True)
class Message:
    """One message of a conversation."""

    role: str
    """`system`, `user` or `assistant`; of a text without a chat `PLAIN`, and `OPTION` of what may stand after it;
    `TOOL` of a description of a function that the model may call, `CALLED` of a reply of its own that called some, and
    `RESULT` of what came of each of these calls, in their order."""
    content: str


PLAIN, OPTION = "text", "option"
"""The roles of a text without a chat, and of each text whose likelihood after it is asked for."""
TOOL = "tool"
"""The role of the description of a function that a model may call: JSON with its name, description and parameters."""
CALLED, RESULT = "calls", "result"
"""The roles of a reply with calls, whose content is what `write_calls` makes of it, and of the result of each call."""


def texts_read(messages: Iterable[Message]) -> list[str]:
    """Return every text that a model reads: of a text with options the text itself, and once with each of them.

    >>> texts_read((Message(PLAIN, "2 + 2 = "), Message(OPTION, "4"), Message(OPTION, "5")))
    ['2 + 2 =', '2 + 2 = 4', '2 + 2 = 5']
    """
    told = list(messages)
    options = [each.content for each in told if each.role == OPTION]
    if not options:
        return [each.content for each in told]
    text = "".join(each.content for each in told if each.role != OPTION)
    return [text.rstrip(), *(text + option for option in options)]


@dataclass(frozen=True)
class DialogueTurn(Message):
    """A message that is a turn of a dialogue which is judged. A model that reads messages is not told `speaker`; one
    that reads a text is."""

    speaker: str = ""


@dataclass(frozen=True)
class Request:
    """Everything that is sent.

    >>> Request("mock/careful", (Message("user", "Why is the sky blue?"),)).settings.given
    {}
    """

    model: str
    messages: tuple[Message, ...]
    settings: Settings = LEFT
    schema: dict[str, Any] | None = None
    """JSON Schema that the reply should fit; an empty one is that of any JSON. Only models with `structured` are held
    to it, and to none with a part that may be any JSON (`strict_schema`)."""
    samples: int = 1
    """How many replies are wanted, at most the model's `most_samples`."""
    number: int = 0
    """Which of several samples of the same question this is, or the first of those. It is not sent: a recording is
    asked for its own."""
    name: str = ""
    """The name of the result that the reply is for. It is not sent: a batch knows its requests by it."""
    plain: bool = False
    """The one message is a text to go on with, and not the turn of a chat. A model that has nothing but a chat takes
    it as the user's."""
    options: tuple[str, ...] = ()
    """The texts whose likelihood after the text is asked for, in place of a reply."""
    tools: tuple[str, ...] = ()
    """The functions that the model may call, each described by JSON. Where there are any, the text of a reply is what
    `write_calls` makes of its text and calls."""
    contents: Contents | None = field(default=None, compare=False, repr=False)
    """Gives the content of an image or another file of which a message has the mark."""

    @property
    def strict_schema(self) -> dict[str, Any] | None:
        """Return the schema that a server can hold the reply to: none where any JSON may stand somewhere in it, since
        strict output knows no such part, and the modes without a schema force an object.

        >>> Request("m", (), schema={"type": "array", "items": {}}).strict_schema is None
        True
        """
        return None if self.schema is None or _is_open(self.schema) else self.schema

    @property
    def said(self) -> list[tuple[str, str]]:
        """Return the role and the content of every message, as a store keeps them.

        >>> Request("m", (Message("user", "2 + 2 ="),), plain=True, options=("4", "5")).said
        [('text', '2 + 2 ='), ('option', '4'), ('option', '5')]
        """
        told = [(PLAIN if self.plain else each.role, each.content) for each in self.messages]
        return [*told, *((OPTION, each) for each in self.options), *((TOOL, each) for each in self.tools)]

    @property
    def texts(self) -> list[str]:
        """Return every text that the model reads, as `texts_read` does."""
        return texts_read(Message(*each) for each in self.said)


def _is_open(schema: dict[str, Any]) -> bool:
    """Return true if any JSON may stand somewhere in a value that fits a schema."""
    parts = [*schema.get("properties", {}).values(), *schema.get("anyOf", ())]
    parts += [schema["items"]] if "items" in schema else []
    return not schema or any(map(_is_open, parts))


@dataclass(frozen=True)
class Reply:
    """The reply of a model. `None` means unknown: a count or a cost is never 0 for want of a better answer."""

    text: str
    model_served: str
    finish_reason: str | None
    tokens_in: int | None
    tokens_out: int | None
    cost_usd: float | None
    tokens_reasoning: int | None = None
    """The part of `tokens_out` that nobody sees."""
    logprobs: str | None = None
    """The probabilities of its tokens, as `write_token_probabilities` says them, where they were asked for and came."""
    thinking: str | None = None
    """The thinking that came in fields of its own."""
    others: tuple[Reply, ...] = ()
    """The further replies to a request for several. Each has its own share of the usage, and no further ones."""

    def taking(self, more: Iterable[Reply]) -> Reply:
        """Return this reply, which took what other ones did as well: what is unknown of one is unknown of all.

        >>> lost = Reply("", "m", "error", 5, 1, None)
        >>> found = Reply("hi", "m", "stop", 5, 2, 0.25).taking([lost])
        >>> found.text, found.tokens_in, found.tokens_out, found.cost_usd
        ('hi', 10, 3, None)
        """
        every = (self, *more)
        return replace(
            self,
            tokens_in=_total([each.tokens_in for each in every]),
            tokens_out=_total([each.tokens_out for each in every]),
            cost_usd=_total([each.cost_usd for each in every]),
            tokens_reasoning=_total([each.tokens_reasoning for each in every]),
        )

    def samples(self, wanted: int) -> tuple[Reply, ...]:
        """Return the `wanted` first replies of a request. Further ones, which nobody asked for, are paid for all the
        same: the first reply took what they did.

        >>> every = Reply("a", "m", "stop", 10, 1, 0.0, others=(Reply("b", "m", "stop", 0, 2, 0.0),))
        >>> [(each.text, each.tokens_out) for each in every.samples(1)]
        [('a', 3)]
        """
        every = (replace(self, others=()), *self.others)
        return (every[0].taking(every[wanted:]), *every[1:wanted]) if len(every) > wanted else every


def _total(parts: Sequence[Amount | None]) -> Amount | None:
    known = [part for part in parts if part is not None]
    return sum(known[1:], known[0]) if known and len(known) == len(parts) else None


@dataclass(frozen=True)
class Price:
    """The price of a model in USD per token. `most_out` is how many tokens a reply of it may have, where that is known.

    >>> Price(1e-6, 4e-6).cost_usd(1000, 500)
    0.003
    """

    input_usd: float
    output_usd: float
    cached_usd: float | None = None
    """A token of a prompt that the provider has in its cache; `None`: as any other."""
    most_out: int | None = None

    def cost_usd(self, tokens_in: int, tokens_out: int, cached: int = 0, reasoning: int = 0) -> float:
        """Return the cost of a call in USD; `cached` of its `tokens_in` came from the provider's cache, and `reasoning`
        of its `tokens_out` are those that nobody sees, which only some prices tell apart."""
        cached_usd = self.input_usd if self.cached_usd is None else self.cached_usd
        return (tokens_in - cached) * self.input_usd + cached * cached_usd + tokens_out * self.output_usd


FREE = Price(0.0, 0.0)


@dataclass(frozen=True)
class Endpoint:
    """Where a model is reached in place of its provider's own address. `api_key_env` names the environment variable
    that holds the key; `None` sends none. `name` stays when the model moves to another address."""

    base_url: str
    api_key_env: str | None = None
    name: str | None = None
    replicas: tuple[str, ...] = ()
    """Further addresses of the same model."""
    warm_up_s: float = 0.0
    """How long a run waits until a server is there."""
    media: tuple[str, ...] | None = None
    """The kinds of media that it takes, where that was declared."""


class ModelError(CodedError):
    """A call that gave no reply.

    R0101 unreachable, R0102 key, R0103 unknown model, R0104 rate limited, R0105 a package is not installed, R0106 no
    such model file, R0107 context exceeded, R0108 content refused, R0109 timeout, R0110 bad request, R0111 server
    error.

    >>> error = ModelError("R0104", "rate limited", "lower `--max-connections`", retryable=True, retry_after_s=7.0)
    >>> error.code, error.status, error.fatal, str(error)
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
        """The same call may succeed later."""
        self.fatal = fatal
        """No further call to this model can succeed."""
        self.retry_after_s = retry_after_s
        """How long the endpoint asks to be left alone, in seconds."""
        self.broken = broken
        """A reply came, and broke off: the endpoint answers."""
        self.attempts = 1
        """The number of requests that were made for the call."""
        self.took: Reply | None = None
        """The usage that the provider reported all the same, as a reply without a text; None if it reported none."""

    def of_further_sample(self) -> ModelError:
        """Return this error for a further sample of the same request, which made none of its own."""
        error = ModelError(self.code, self.message, self.hint, status=self.status, retryable=self.retryable)
        error.attempts = 0
        return error


def check_alone(name: str, endpoint: Endpoint | None) -> None:
    """Raise `ModelError` R0110 where an endpoint has replicas, or is waited for, and the model is reached in a way that
    knows neither."""
    if endpoint is not None and (endpoint.replicas or endpoint.warm_up_s):
        message = f"`replicas` and `warm_up_s` are for chats in OpenAI's form, and `{name}` is none"
        raise ModelError("R0110", message, "leave them out of its endpoint in tripos.toml", fatal=True)


class Model(Protocol):
    """Something that answers requests.

    `structured`: it holds its replies to the schema of a request. `slots`: how many requests it answers at a time;
    `None`: as many as come. `endpoint` names the address and the key that it is reached with: what models share limits
    by. `price`: `None` where nobody knows it. `most_samples`: how many replies one request may ask for.
    """

    @property
    def name(self) -> str: ...

    @property
    def structured(self) -> bool: ...

    @property
    def slots(self) -> int | None: ...

    @property
    def endpoint(self) -> str: ...

    @property
    def price(self) -> Price | None: ...

    @property
    def most_samples(self) -> int: ...

    async def ask(self, request: Request) -> Reply:
        """Return the reply to a request. Raises `ModelError`."""
        ...

    async def close(self) -> None:
        """Let go of connections and processes. The model must not be asked again."""
        ...


@runtime_checkable
class Warming(Protocol):
    """A model whose servers may still be starting."""

    async def warm_up(self) -> None:
        """Wait until it can be asked. Raises `ModelError` where that takes too long."""
        ...


@runtime_checkable
class Choosy(Protocol):
    """A model that is known not to take some settings."""

    def refuses(self, settings: Settings) -> tuple[str, ...]:
        """Return the names of the settings that a request would go without."""
        ...


def refused(model: Model, settings: Settings) -> tuple[str, ...]:
    """Return the names of the settings that a model is known not to take, of those that are given."""
    return model.refuses(settings) if isinstance(model, Choosy) else ()
