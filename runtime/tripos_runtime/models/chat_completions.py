"""Models with OpenAI's form of chat completions, asked without litellm: each call is one POST of JSON.

The module builds the messages of a request, with media as content parts, and balances the load over several servers of
one model: a request goes to the server with the fewest in flight, and servers that do not answer are left out."""

from __future__ import annotations

import asyncio
import time
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit

import orjson

from tripos_compiler.library.media import OPEN, Medium, split_media
from tripos_compiler.plan import Settings
from tripos_compiler.replies.text import storable
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.models.base import (
    CALLED,
    RESULT,
    Contents,
    DialogueTurn,
    Endpoint,
    Message,
    Model,
    ModelError,
    Price,
    Reply,
    Request,
)
from tripos_runtime.models.catalog import (
    Provider,
    check_address,
    entry_of,
    has_capability,
    is_local_endpoint,
    provider_named,
    variable,
    variables_of,
)
from tripos_runtime.models.errors import CallTarget, answer_error, model_error
from tripos_runtime.models.http import HttpAnswer, ModelConnection, headers_of
from tripos_runtime.models.replies import call_id, parse_body, read_reply, tool_call_message, tools_in_request

AUDIO_FORMATS = {"audio/wav": "wav", "audio/mpeg": "mp3"}


def content_of(text: str, contents: Callable[[Medium], bytes], detail: str | None = None) -> str | list[dict[str, Any]]:
    """Return the content of a message: its text, or, if it contains marks of media, a part for every piece in order.
    Images have the requested `detail`. Raises `OSError` if a content cannot be read.

    >>> picture = Medium("image/png", "ab" * 32, 3)
    >>> content_of(f"Which?{picture}", lambda medium: b"abc")[1]
    {'type': 'image_url', 'image_url': {'url': 'data:image/png;base64,YWJj'}}
    """
    pieces = split_media(text)
    if len(pieces) == 1 and isinstance(pieces[0], str):
        return text
    return [
        {"type": "text", "text": piece} if isinstance(piece, str) else part_of(piece, contents(piece), detail)
        for piece in pieces
        if not isinstance(piece, str) or piece.strip()
    ]


def part_of(medium: Medium, content: bytes, detail: str | None = None) -> dict[str, Any]:
    """Return the content part of a medium. Its name in the data set is left out, since it may reveal the answer."""
    encoded = b64encode(content).decode("ascii")
    if medium.kind == "audio":
        return {"type": "input_audio", "input_audio": {"data": encoded, "format": AUDIO_FORMATS[medium.mime]}}
    url = f"data:{medium.mime};base64,{encoded}"
    if medium.kind == "file":
        return {"type": "file", "file": {"filename": f"{medium.sha256[:12]}.pdf", "file_data": url}}
    image_detail = {} if detail is None else {"detail": detail}
    return {"type": "image_url", "image_url": {"url": url, **image_detail}}


Part = TypeVar("Part")
MOST_PARTS = 256
"""The number of request parts that are kept per model."""


class RequestCache(Generic[Part]):
    """A cache for the part of a request that depends only on its settings, samples, schema and tools."""

    def __init__(self, make: Callable[[Request], Part], *, structured: bool, most_samples: int) -> None:
        self._make = make
        self._structured = structured
        self._most_samples = most_samples
        self._parts: dict[tuple[object, ...], Part] = {}

    def part(self, request: Request) -> Part:
        """Return the part for a request."""
        schema = None if request.schema is None or not self._structured else orjson.dumps(request.schema)
        key = (request.settings, min(request.samples, self._most_samples), schema, request.tools)
        part = self._parts.get(key)
        if part is None:
            if len(self._parts) >= MOST_PARTS:
                self._parts.clear()
            part = self._parts[key] = self._make(request)
        return part


def as_json(
    messages: tuple[Message, ...],
    contents: Contents | None = None,
    tools: Sequence[str] = (),
    detail: str | None = None,
) -> bytes:
    """Return the messages as a JSON array of objects with `role` and `content`; `content` is a list of parts if the
    message shows media. Calls of `tools` and their results have OpenAI's form. Raises `ModelError` R0127 if a medium
    cannot be read.

    >>> as_json((Message("user", "hi"),))
    b'[{"role":"user","content":"hi"}]'
    """
    if any(OPEN in message.content or message.role == CALLED for message in messages):
        return orjson.dumps(as_objects(messages, contents, tools, detail))
    try:
        if not messages or not isinstance(messages[-1], DialogueTurn):
            return orjson.dumps(messages)
        return orjson.dumps([{"role": message.role, "content": message.content} for message in messages])
    except TypeError:  # JSON cannot encode a lone surrogate
        return orjson.dumps([{"role": message.role, "content": storable(message.content)} for message in messages])


def as_objects(
    messages: Sequence[Message], contents: Contents | None, tools: Sequence[str] = (), detail: str | None = None
) -> list[dict[str, Any]]:
    """Return the messages as objects with `role` and `content`; see `as_json`."""
    objects: list[dict[str, Any]] = []
    calls, results = 0, 0  # the numbers of the last call and of the last call with a result
    for message in messages:
        if message.role == CALLED:
            object_ = tool_call_message(storable(message.content), tools, calls)
            calls, results = calls + len(object_["tool_calls"]), calls
        elif message.role == RESULT:
            results += 1
            object_ = {"role": "tool", "tool_call_id": call_id(results), "content": storable(message.content)}
        else:
            object_ = {"role": message.role, "content": _content(storable(message.content), contents, detail)}
        objects.append(object_)
    return objects


def _content(text: str, contents: Contents | None, detail: str | None) -> str | list[dict[str, Any]]:
    if contents is None or OPEN not in text:
        return text
    try:
        return content_of(text, contents, detail)
    except OSError as error:
        message = f"a file that a prompt shows cannot be read: {error}"
        raise ModelError("R0127", message, "put it back where it was, and run again") from error


def without_system(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Return the messages for a model without a system role: the system message is put before the first user message.

    >>> without_system((Message("system", "be brief"), Message("user", "hi")))
    (Message(role='user', content='be brief\\n\\nhi'),)
    """
    system = [message.content for message in messages if message.role == "system"]
    rest = [message for message in messages if message.role != "system"]
    if not system:
        return messages
    for at, message in enumerate(rest):
        if message.role == "user":
            rest[at] = Message("user", "\n\n".join((*system, message.content)))
            return tuple(rest)
    return (Message("user", "\n\n".join(system)), *rest)


HEALTH_S = 5.0
"""The longest wait for a health check, in seconds."""
NO_PAGE = (404, 405)
"""The statuses of an address that a server does not have."""


class ServedModel(Model):
    """A model at the address of a provider in `PROVIDERS` or `NATIVE_PROVIDERS`, or at an endpoint. Raises `ModelError`
    R0102 if the key is not set, and R0101 if the address is unknown.

    With `own_price`, the price is from the user's settings and counts before the cost that the provider states.
    `sent_as` is the name of the model in requests in OpenAI's form, if it differs from its own."""

    def __init__(
        self,
        name: str,
        endpoint: Endpoint | None = None,
        *,
        price: Price | None = None,
        own_price: bool = False,
        sent_as: str | None = None,
        timeout_s: float = 300.0,
    ) -> None:
        self.name, self.price, self.own_price = name, price, own_price
        self._timeout_s = timeout_s
        kind, _, model = name.partition("/")
        provider = "openai" if sent_as is not None else kind
        self._provider_name, self._model = kind, sent_as or model
        self._provider = provider_named(provider)
        base_url = base_url_of(name, self._provider, endpoint)
        variable, self._key = key_of(name, self._provider, endpoint)
        self.endpoint = f"{base_url} {variable}".strip()
        self.structured = is_local_endpoint(endpoint) or self._is_structured(model)
        self._folds_system = has_capability(kind, model, "supports_system_messages") is False
        self._lacking = ignored_settings_at(kind, self._provider, self._model, base_url)
        self.target = CallTarget(name, base_url, variable, (self._key,))
        self._connect()

    headers: dict[str, str]
    """The headers of every request, also of those to the provider's batches."""

    def _connect(self) -> None:
        """Set what requests need, once the address and the key are known."""
        raise NotImplementedError

    def _is_structured(self, model: str) -> bool:
        """Return true if the provider enforces schemas of replies by this model."""
        known = has_capability(self._provider_name, model, "supports_response_schema")
        return self._provider.structured or bool(known)

    async def request_body(self, request: Request) -> bytes:
        """Return the body of a request as JSON, for a batch. Raises `ModelError`."""
        raise NotImplementedError

    async def reply_in(self, request: Request, answer: HttpAnswer) -> Reply:
        """Return the reply in the answer of a batch to a request. Raises `ModelError`."""
        raise NotImplementedError


class DirectModel(ServedModel):
    """A model of one of `PROVIDERS`, asked in OpenAI's form."""

    path = "/chat/completions"
    field = "messages"
    """The field of the body that contains the messages."""

    def _connect(self) -> None:
        self.most_samples = self._provider.samples if _bills_once(self._provider_name, self.target.address) else 1
        address = self.target.address
        url = address if address.endswith(self.path) else address + self.path
        self.headers = openai_headers(self._provider, self._key)
        self._connection = ModelConnection(url, self.headers, self._timeout_s, (self._key,))
        self._head = b'{"model":' + orjson.dumps(self._model) + f',"{self.field}":'.encode()
        """The body before the messages."""
        self._tails = RequestCache(self._tail, structured=self.structured, most_samples=self.most_samples)

    async def ask(self, request: Request) -> Reply:
        """Return the reply to the request, with `further_choices` if it asks for several samples. Raises
        `ModelError`."""
        return self._read(request, await self._answer(self._body(request)))

    async def request_body(self, request: Request) -> bytes:
        return self._body(request)

    def _body(self, request: Request) -> bytes:
        messages = without_system(request.messages) if self._folds_system else request.messages
        content = as_json(messages, request.contents, request.tools, request.settings.image_detail)
        return self._head + content + self._tails.part(request)

    async def reply_in(self, request: Request, answer: HttpAnswer) -> Reply:
        return self._read(request, self._completed(answer))

    def _read(self, request: Request, body: dict[str, Any]) -> Reply:
        choices = body.get("choices")
        received = len(choices) if isinstance(choices, list) else 0
        self.most_samples = samples_given(received, request.samples, self.most_samples)
        return read_reply(body, self.name, self.price, own_price=self.own_price, tools=request.tools)

    async def _answer(self, body: bytes) -> dict[str, Any]:
        """Post a body, and return the JSON object of the server's answer. Raises `ModelError`."""
        try:
            answer = await self._connection.post(body)
        except OSError as error:
            raise model_error(error, self.name, self.target.address, self.target.key_variables) from error
        return self._completed(answer)

    def _completed(self, answer: HttpAnswer) -> dict[str, Any]:
        if answer.status != 200:
            raise answer_error(answer.status, answer.body, headers_of(answer.headers), self.target)
        return completion(answer.body, headers_of(answer.headers), self.target)

    async def is_ready(self) -> bool:
        """Return true if the server answers `/health` without a server error, or its list of models if it has no such
        page. A server that refuses access is ready."""
        base_url = self.target.address.removesuffix("/chat/completions")
        status = await self._connection.status(f"{base_url.removesuffix('/v1')}/health", HEALTH_S)
        if status in NO_PAGE:
            status = await self._connection.status(f"{base_url}/models", HEALTH_S)
        return status is not None and status < 500

    async def close(self) -> None:
        """Close the connections."""
        await self._connection.close()

    def ignored_settings(self, settings: Settings) -> tuple[str, ...]:
        """Return the names of the settings that a request would leave out."""
        return tuple(name for name in settings.given if name in self._lacking)

    def _tail(self, request: Request) -> bytes:
        """Return the part of the body after the messages."""
        fields = request.settings.given
        for name in self.ignored_settings(request.settings):
            del fields[name]
        fields.pop("image_detail", None)  # it is part of the images
        provider_fields = fields.pop("provider", {})
        if "seed" in fields:
            fields[self._provider.seed] = fields.pop("seed")
        fields |= {"logprobs": True} if "top_logprobs" in fields else {}
        samples = min(request.samples, self.most_samples)
        fields |= {"n": samples} if samples > 1 else {}
        schema = request.strict_schema if self.structured else None
        fields |= {} if schema is None else {"response_format": format_of(schema)}
        fields |= {"tools": tools_in_request(request.tools)} if request.tools else {}
        fields |= {**self._provider.body, **provider_fields}
        return b"," + orjson.dumps(fields)[1:] if fields else b"}"


def samples_given(received: int, asked: int, most: int) -> int:
    """Return how many samples later requests to a model may ask for: `most`, or 1 if it returned fewer than it was
    asked for, since such a server ignores `n`.

    >>> samples_given(1, 3, 8), samples_given(3, 3, 8), samples_given(8, 10, 8)
    (1, 8, 8)
    """
    return 1 if 0 < received < min(asked, most) else most


def ignored_settings_at(provider_name: str, provider: Provider, model: str, base_url: str) -> frozenset[str]:
    """Return the settings that a model is known to ignore: because of its name, and because of its provider if it is
    reached at the provider's address. Nothing is known of other servers."""
    ignored = frozenset({"chat_template"})
    if provider.base_url is not None and urlsplit(base_url).hostname == urlsplit(provider.base_url).hostname:
        entry = entry_of(provider_name, model)
        may_reason = entry is None or entry.get("supports_reasoning")
        ignored |= provider.lacks | (frozenset() if may_reason else frozenset({"reasoning_effort"}))
    if provider.without is not None and provider.without[0].search(model):
        ignored |= provider.without[1]
    return ignored


def format_of(schema: Any) -> dict[str, Any]:
    """Return the setting that enforces a JSON Schema."""
    return {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema, "strict": True}}


def completion(body: bytes, headers: Mapping[str, str], target: CallTarget) -> dict[str, Any]:
    """Return the JSON object in the body of an answer with status 200. Raises `ModelError` if the body is no object, or
    is an error."""
    try:
        content = parse_body(body)
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise answer_error(200, body, headers, target)
    error = content.get("error")
    if error and "choices" not in content:
        code = error.get("code") if isinstance(error, dict) else None
        raise answer_error(code if isinstance(code, int) and 400 <= code < 600 else 200, body, headers, target)
    return content


def base_url_of(name: str, provider: Provider, endpoint: Endpoint | None) -> str:
    """Return the address of a model without a slash at the end. Raises `ModelError` R0101 if it has none, or no valid
    one."""
    in_variables = map(variables_of(provider).get, provider.base_urls)
    base_url = endpoint.base_url if endpoint is not None else next(filter(None, in_variables), provider.base_url)
    if not base_url:
        hint = f"set {provider.base_urls[0]}, or write `base_url` for it under `[endpoints]` in tripos.toml"
        raise ModelError("R0101", f"there is no address for `{name}`", hint, fatal=True)
    base_url = base_url.rstrip("/")
    check_address(name, base_url)
    if urlsplit(base_url).scheme not in {"http", "https"}:
        hint = f"write `base_url` with `http://` or `https://`, such as `http://{base_url.rpartition('://')[2]}`"
        raise ModelError("R0101", f"`{base_url}`, where `{name}` is to be reached, is no address", hint, fatal=True)
    return base_url if base_url.endswith(provider.ends_with) else base_url + provider.ends_with


def key_of(name: str, provider: Provider, endpoint: Endpoint | None) -> tuple[str, str]:
    """Return the environment variable of the key ("" if there is none) and the key. Raises `ModelError` if it is not
    set."""
    if endpoint is not None and endpoint.api_key_env is None:
        return "", "none"
    if endpoint is None or endpoint.api_key_env is None:
        variables, names = variables_of(provider), provider.keys
    else:
        variables, names = {endpoint.api_key_env: variable(endpoint.api_key_env)}, (endpoint.api_key_env,)
    for each in names:
        if key := variables.get(each, ""):
            if not key.isprintable():
                message = f"the key for `{name}` has a character that cannot be sent"
                raise ModelError("R0102", message, f"set {each} again, on one line", fatal=True)
            return each, key
    if endpoint is None and provider.key_unset is not None:
        return "", provider.key_unset
    raise ModelError("R0102", f"the key for `{name}` is missing", f"set {names[0]}", fatal=True)


def openai_headers(provider: Provider, key: str) -> dict[str, str]:
    """Return the headers of every request in OpenAI's form."""
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json", "Accept": "application/json"}
    variables = variables_of(provider)
    for header, name, default in provider.headers:
        value = variables.get(name) or default
        if value is not None and header not in headers:
            headers[header] = value
    return headers | {"User-Agent": "tripos"}


def _bills_once(provider_name: str, base_url: str) -> bool:
    """Return true if a prompt with several samples is known to be billed once. This is unknown for `openai/` at another
    address."""
    return provider_name != "openai" or (urlsplit(base_url).hostname or "").endswith("openai.com")


DOUBTFUL = ("R0101", "R0111")
"""Errors after which a server's health is checked: no response, or a server error."""
LOOK_S = 1.0
"""The first pause between health checks, in seconds; it doubles up to the longest one."""
LONGEST_LOOK_S = 30.0


@dataclass(eq=False)
class _Replica:
    """One of several servers, with the number of its requests in flight."""

    model: DirectModel
    in_flight: int = 0
    left_out: asyncio.Task[None] | None = None
    """The task that waits until a server that is left out is ready again; None if it is not left out."""


class ReplicatedModel(Model):
    """One model on several servers, with one name, one price and one limit of connections.

    If a call fails and its server then fails a health check, the server is left out until it passes one, and the call
    goes to another server. If all have failed, the error is raised, and the call is retried like any other."""

    def __init__(
        self,
        models: Sequence[DirectModel],
        warm_up_s: float,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        first = models[0]
        self.name, self.price, self.endpoint = first.name, first.price, first.endpoint
        self.structured = all(model.structured for model in models)
        self._replicas = [_Replica(model) for model in models]
        self._warm_up_s = warm_up_s
        self._sleep, self._clock = sleep, clock

    @property
    def most_samples(self) -> int:
        """How many replies one request may ask for on every server."""
        return min(each.model.most_samples for each in self._replicas)

    @most_samples.setter
    def most_samples(self, most: int) -> None:
        for each in self._replicas:
            each.model.most_samples = most

    async def warm_up(self) -> None:
        """Wait at most `warm_up_s` until a server is ready; servers that are not ready yet are left out until they are.
        Raises `ModelError` R0101."""
        if not self._warm_up_s:
            return
        deadline = self._clock() + self._warm_up_s
        while True:
            ready = await asyncio.gather(*(each.model.is_ready() for each in self._replicas))
            if any(ready):
                break
            if self._clock() >= deadline:
                addresses = ", ".join(each.model.endpoint.partition(" ")[0] for each in self._replicas)
                message = f"no server of `{self.name}` was ready within {self._warm_up_s:g} s: {addresses}"
                raise ModelError("R0101", message, "start a server, or raise `warm_up_s` of its endpoint", fatal=True)
            await self._sleep(min(LOOK_S, max(0.0, deadline - self._clock())))
        for each, is_ready in zip(self._replicas, ready, strict=True):
            if not is_ready:
                self._leave_out(each)

    async def ask(self, request: Request) -> Reply:
        """Return the reply of the server with the fewest requests in flight. Raises `ModelError`."""
        tried: set[_Replica] = set()
        while True:
            replica = self._least_loaded(tried)
            tried.add(replica)
            replica.in_flight += 1
            try:
                return await replica.model.ask(request)
            except ModelError as error:
                if error.code not in DOUBTFUL or error.fatal:
                    raise
                if replica.left_out is None and await replica.model.is_ready():
                    raise
                self._leave_out(replica)
                if len(tried) == len(self._replicas):
                    raise
            finally:
                replica.in_flight -= 1

    def _least_loaded(self, tried: set[_Replica]) -> _Replica:
        """Return the untried server with the fewest requests in flight, preferably one that is not left out; among
        equals, the least recently used one."""
        untried = [each for each in self._replicas if each not in tried]
        available = [each for each in untried if each.left_out is None]
        chosen = min(available or untried, key=lambda each: each.in_flight)
        self._replicas.remove(chosen)  # keeps them in the order of their last use
        self._replicas.append(chosen)
        return chosen

    def _leave_out(self, replica: _Replica) -> None:
        if replica.left_out is None:
            replica.left_out = asyncio.get_running_loop().create_task(self._wait_until_ready(replica))

    async def _wait_until_ready(self, replica: _Replica) -> None:
        pause_s = LOOK_S
        while True:
            await self._sleep(pause_s)
            if await replica.model.is_ready():
                replica.left_out = None
                return
            pause_s = min(2 * pause_s, LONGEST_LOOK_S)

    def ignored_settings(self, settings: Settings) -> tuple[str, ...]:
        """Return the names of the settings that a request would leave out."""
        return self._replicas[0].model.ignored_settings(settings)

    async def close(self) -> None:
        """Close the connections."""
        waiting = [each.left_out for each in self._replicas if each.left_out is not None]
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        for each in self._replicas:
            await each.model.close()
