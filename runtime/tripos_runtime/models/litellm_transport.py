"""Models that litellm asks over Tripos's own connections.

litellm writes the request and reads the reply (`acompletion`). Its client sends through `transport`, which hands the
request to the exchange of the call. So these models have the limits of size and memory, the timeouts, proxies and
certificates of the models that are asked directly. A call is one request, whatever litellm would try again, and the
answer is known as the provider sent it: its status, its finish reasons, and its counts of tokens.

Requests and replies of batches go the same way, with an exchange that sends nothing."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import orjson

from tripos_compiler.plan import Ending, Settings, ending_of
from tripos_runtime.models.base import Endpoint, ModelError, Price, Reply, Request
from tripos_runtime.models.catalog import (
    NATIVE_PROVIDERS,
    PROVIDERS,
    REASONING_MODELS,
    has_capability,
    is_local_endpoint,
    provider_named,
    variables_of,
)
from tripos_runtime.models.chat_completions import (
    as_objects,
    base_url_of,
    completion,
    ignored_settings_at,
    key_of,
    openai_headers,
    samples_given,
    without_system,
)
from tripos_runtime.models.errors import CallTarget, answer_error, model_error
from tripos_runtime.models.http import SHORTEST_KEY, HttpAnswer, HttpError, ModelConnection, headers_of
from tripos_runtime.models.litellm_models import (
    dropped_settings,
    known_price,
    library,
    no_tools,
    read_response,
    sends_tools,
    settings_of,
    without_key,
)
from tripos_runtime.models.replies import parse_body, read_reply

OLLAMA = ("ollama", "ollama_chat")
FILTER = "content_filter"
"""The finish reason of a prompt that was blocked without a usable reason."""
CLIENT_HEADERS = frozenset(("accept-encoding", "connection", "content-length", "host", "user-agent"))
"""Headers that describe litellm's client and its connection, which is not the one that the request goes over."""


def anthropic_finish_reasons(found: Any) -> list[str]:
    """Return the finish reason of a reply as a list, empty if there is none.

    >>> anthropic_finish_reasons({"stop_reason": "refusal"}), anthropic_finish_reasons([])
    (['refusal'], [])
    """
    word = found.get("stop_reason") if isinstance(found, Mapping) else None
    return [word] if isinstance(word, str) else []


def gemini_finish_reasons(found: Any) -> list[str]:
    """Return the finish reason of each candidate; for a blocked prompt, the block reason.

    >>> gemini_finish_reasons({"candidates": [{"finishReason": "SAFETY"}]})
    ['SAFETY']
    >>> gemini_finish_reasons({"promptFeedback": {"blockReason": "BLOCK_REASON_UNSPECIFIED"}})
    ['content_filter']
    """
    match found:
        case {"promptFeedback": {"blockReason": str(reason)}}:
            return [reason if ending_of(reason) is Ending.CONTENT_FILTER else FILTER]
        case {"candidates": list(candidates)}:
            words = [candidate.get("finishReason") for candidate in candidates if isinstance(candidate, Mapping)]
            return [word for word in words if isinstance(word, str)]
    return []


FINISH_REASONS_OF: Mapping[str, Callable[[Any], list[str]]] = {
    "anthropic": anthropic_finish_reasons,
    "gemini": gemini_finish_reasons,
}
"""The readers of a provider's own finish reasons, by its name. litellm keeps its own words for them."""


def from_ollama(found: Any) -> dict[str, Any] | None:
    """Return a reply of Ollama in OpenAI's form; None if it is none. litellm estimates tokens if Ollama reports none;
    an estimate must not pass for a count.

    >>> from_ollama({"response": "hi", "done_reason": "stop"})["choices"][0]["finish_reason"]
    'stop'
    """
    if not isinstance(found, dict) or not ({"message", "response"} & found.keys()):
        return None
    message = found.get("message")
    told = message if isinstance(message, dict) else found
    text = told.get("content") if told is message else found.get("response")
    calls = told.get("tool_calls") if told is message else None
    choice = {
        "message": {"content": text, "tool_calls": calls, "thinking": told.get("thinking")},
        "finish_reason": found.get("done_reason"),
    }
    usage = {"prompt_tokens": found.get("prompt_eval_count"), "completion_tokens": found.get("eval_count")}
    return {"model": found.get("model"), "choices": [choice], "usage": usage}


Send = Callable[[str, dict[str, str], bytes], Awaitable[HttpAnswer]]
"""Sends a body with headers to an address, and returns the answer."""


@dataclass
class Exchange:
    """The one request of a call, and its answer or the reason why there is none."""

    send: Send
    added: Mapping[str, Any] = field(default_factory=dict)
    """Fields that the body gets besides those that litellm writes."""
    live: bool = False
    """False for a request or a reply of a batch: nothing may be sent, not even by litellm itself."""
    url: str = ""
    body: bytes = b""
    answer: HttpAnswer | None = None
    error: Exception | None = None

    async def respond(self, url: str, headers: dict[str, str], body: bytes) -> HttpAnswer:
        """Return the answer to a request. Raises if it is the second of its call: Tripos itself retries."""
        if self.url:
            raise self.error or HttpError("a call is one request")
        self.url, self.body = url, orjson.dumps({**orjson.loads(body), **self.added}) if self.added else body
        try:
            self.answer = await self.send(url, headers, self.body)
        except Exception as error:
            self.error = error
            raise
        return self.answer


_EXCHANGE: ContextVar[Exchange | None] = ContextVar("_EXCHANGE", default=None)
NOWHERE = "http://nothing-is-sent.invalid"
"""The address that litellm is given for what must not be sent."""
NO_TIMEOUT_S = 7 * 86_400.0
"""litellm's timeout, which never comes: that of the connection counts, which pauses while a reply waits for memory."""


class NotSentError(Exception):
    """A request was written and is not to be sent."""


async def _keep(url: str, headers: dict[str, str], body: bytes) -> HttpAnswer:
    raise NotSentError


@functools.cache
def transport() -> Any:
    """Return the transport that hands a request of httpx to the exchange of the current call."""
    import httpx

    class ExchangeTransport(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            headers = {
                name: value
                for name, value in request.headers.items()
                if name not in CLIENT_HEADERS and not name.startswith("x-stainless-")
            }
            exchange = _EXCHANGE.get()
            if (
                exchange is None
            ):  # litellm keeps a client for Azure that it was given, and sends calls of its own with it
                async with httpx.AsyncClient(timeout=None) as client:
                    return await client.send(request)
            answer = await exchange.respond(str(request.url), headers, await request.aread())
            told = {name: value for name, value in answer.headers.items() if name.lower() not in BODY_HEADERS}
            return httpx.Response(answer.status, headers=told, content=answer.body, request=request)

    return ExchangeTransport()


BODY_HEADERS = frozenset(("content-encoding", "content-length", "transfer-encoding"))
"""Headers about the form in which a body came; it is decompressed by now."""


@functools.cache
def http_client() -> Any:
    """Return litellm's client of providers with a form of their own."""
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler

    return AsyncHTTPHandler(transport=transport())


class CarriedModel:
    """A model of a provider in `NATIVE_PROVIDERS`, or a reasoning model of OpenAI. Raises `ModelError` R0102 if the key
    is not set, and R0101 if the address is unknown. `own_price`: the price is the user's."""

    slots: int | None = None

    def __init__(
        self,
        name: str,
        endpoint: Endpoint | None = None,
        *,
        price: Price | None = None,
        own_price: bool = False,
        timeout_s: float = 300.0,
    ) -> None:
        self.name = name
        self._provider, _, self._model = name.partition("/")
        self.price = price or _known_price(name, self._provider)
        self.own_price = own_price
        self._timeout_s = timeout_s
        provider = provider_named(self._provider)
        base_url = base_url_of(name, provider, endpoint)
        variable, self._key = key_of(name, provider, endpoint)
        self.endpoint = f"{base_url} {variable}".strip()
        self.structured = is_local_endpoint(endpoint) or _structured(name, self._provider, self._model)
        reasons = has_capability(self._provider, self._model, "supports_reasoning") is not False
        reasons = reasons or bool(REASONING_MODELS.search(self._model))
        self.most_samples = provider.samples if self._provider == "azure" and not reasons else 1
        self._folds_system = has_capability(self._provider, self._model, "supports_system_messages") is False
        self._lacking = ignored_settings_at(self._provider, provider, self._model, base_url)
        self.place = CallTarget(name, base_url, variable, (self._key,))
        self._connections: dict[str, ModelConnection] = {}

    async def ask(self, request: Request) -> Reply:
        """Return the reply to the request, with `others` if it asks for several samples. Raises `ModelError`."""
        exchange = Exchange(self._post, live=True)
        return self._read(request, exchange, *await self._exchanged(request, exchange))

    async def request_body(self, request: Request) -> bytes:
        """Return the body of a request as JSON. Raises `ModelError`."""
        exchange = Exchange(_keep, self._apart(request))
        _, failure = await self._exchanged(request, exchange)
        if not exchange.body:
            raise self._failure(failure or HttpError("litellm sent no request"))
        return exchange.body

    async def reply_in(self, request: Request, answer: HttpAnswer) -> Reply:
        """Return the reply in an answer that came another way, such as in a batch. Raises `ModelError`."""

        async def answered(url: str, headers: dict[str, str], body: bytes) -> HttpAnswer:
            return answer

        exchange = Exchange(answered, self._apart(request))
        return self._read(request, exchange, *await self._exchanged(request, exchange))

    def _apart(self, request: Request) -> dict[str, Any]:
        """Return the settings that litellm is not told of in a batch. It takes some models of OpenAI with tools and
        `reasoning_effort` to another API, Responses, and asks that one live."""
        effort = request.settings.given.get("reasoning_effort") if request.tools else None
        return {"reasoning_effort": effort} if effort and self._provider == "openai" else {}

    @property
    def headers(self) -> dict[str, str]:
        """The headers of requests that litellm does not write: those of batches."""
        if self._provider == "anthropic":
            told = {"x-api-key": self._key, "anthropic-version": "2023-06-01"}
            return {**told, "Content-Type": "application/json", "Accept": "application/json"}
        return openai_headers(PROVIDERS["openai"], self._key)

    def ignored_settings(self, settings: Settings) -> tuple[str, ...]:
        """Return the names of the settings that a request would leave out."""
        return dropped_settings(self.name, settings, self._lacking)

    async def close(self) -> None:
        """Close the connections."""
        for connection in self._connections.values():
            await connection.close()

    async def _exchanged(self, request: Request, exchange: Exchange) -> tuple[Any, Exception | None]:
        """Have litellm make a call. Return its response, or the error that it raised."""
        if request.tools and self._provider not in OLLAMA and not sends_tools(self.name):
            raise no_tools(self.name)
        told = without_system(request.messages) if self._folds_system else request.messages
        messages = as_objects(told, request.contents, request.tools, request.settings.image_detail)
        settings = settings_of(request, structured=self.structured, without={*self._lacking, *exchange.added})
        samples = min(request.samples, self.most_samples)
        token = _EXCHANGE.set(exchange)
        try:
            response = await library().acompletion(
                model=self.name,
                messages=messages,
                num_retries=0,
                max_retries=0,
                timeout=NO_TIMEOUT_S,
                **(self._where if exchange.live else self._nowhere),
                **({"n": samples} if samples > 1 else {}),
                **settings,
            )
        except Exception as error:
            # An error inside litellm may be any exception, such as `AttributeError` for an unreadable reply.
            return None, error
        finally:
            _EXCHANGE.reset(token)
        return response, None

    def _read(self, request: Request, exchange: Exchange, response: Any, failure: Exception | None) -> Reply:
        answer = exchange.answer
        if answer is None and exchange.error is None and failure is None:  # it asked OpenAI's API Responses
            reply = read_response(response, self.name, self.price, own_price=self.own_price, tools=request.tools)
            return without_key(reply, self._key) if len(self._key) >= SHORTEST_KEY else reply
        if exchange.error is not None or answer is None:
            raise self._failure(exchange.error or failure or HttpError("litellm sent no request")) from failure
        headers = headers_of(answer.headers)
        if answer.status != 200:
            raise answer_error(answer.status, answer.body, headers, self.place)
        found = self._in_openai_form(exchange.url, answer.body, headers)
        if found is not None:
            reply = read_reply(found, self.name, self.price, own_price=self.own_price, tools=request.tools)
        elif failure is not None:
            raise answer_error(200, answer.body, headers, self.place) from failure
        else:
            finish_reasons = FINISH_REASONS_OF.get(self._provider, lambda _: [])(parse_body(answer.body))
            reply = read_response(
                response, self.name, self.price, own_price=self.own_price, tools=request.tools, words=finish_reasons
            )
        self.most_samples = samples_given(1 + len(reply.further_choices), request.samples, self.most_samples)
        return reply

    def _in_openai_form(self, url: str, body: bytes, headers: Mapping[str, str]) -> dict[str, Any] | None:
        """Return an answer in OpenAI's form, which is read as a direct model's; None if litellm has to read it."""
        if self._provider in ("openai", "azure"):
            chat = url.partition("?")[0].endswith("/chat/completions")
            return completion(body, headers, self.place) if chat else None
        if self._provider not in OLLAMA:
            return None
        try:
            found = from_ollama(parse_body(body))
        except ValueError:
            found = None
        if found is None:
            raise answer_error(200, body, headers, self.place)
        return found

    def _failure(self, error: Exception) -> ModelError:
        if isinstance(error, ModelError):
            return error
        return model_error(error, self.name, self.place.address, self.place.key_variables, self.place.secrets)

    async def _post(self, url: str, headers: dict[str, str], body: bytes) -> HttpAnswer:
        match self._provider:
            case "openai":
                headers = openai_headers(PROVIDERS["openai"], self._key)
            case "azure":
                headers = {"api-key": self._key, "Content-Type": "application/json", "Accept": "application/json"}
            case _:
                headers.setdefault("content-type", "application/json")
        key = f"{url} {sorted(headers.items())}"
        if key not in self._connections:
            self._connections[key] = ModelConnection(url, headers, self._timeout_s, self.place.secrets)
        return await self._connections[key].post(body)

    @functools.cached_property
    def _where(self) -> dict[str, Any]:
        """litellm's arguments for a call that is sent."""
        return self._arguments(self.place.address, self._key)

    @functools.cached_property
    def _nowhere(self) -> dict[str, Any]:
        """litellm's arguments for a call that must not be sent."""
        return self._arguments(NOWHERE, "none")

    def _arguments(self, address: str, key: str) -> dict[str, Any]:
        """Return litellm's arguments for the address, the key and the client."""
        library()
        import httpx
        import openai

        carrier: Any = httpx.AsyncClient(transport=transport())  # newer clients of OpenAI take it beside httpx2's
        match self._provider:
            case "openai":
                client: Any = openai.AsyncOpenAI(api_key=key, base_url=address, max_retries=0, http_client=carrier)
            case "azure":
                version = _azure_version()
                client = openai.AsyncAzureOpenAI(
                    api_key=key, azure_endpoint=address, api_version=version, max_retries=0, http_client=carrier
                )
                return {"api_base": address, "api_key": key, "api_version": version, "client": client}
            case "gemini" if address == NATIVE_PROVIDERS["gemini"].base_url:
                return {"api_key": key, "client": http_client()}
            case _:
                client = http_client()
        return {"api_base": address, "client": client, **({"api_key": key} if key else {})}


def _azure_version() -> str:
    text = variables_of(NATIVE_PROVIDERS["azure"]).get("AZURE_API_VERSION")
    return text or str(library().AZURE_DEFAULT_API_VERSION)


def _known_price(name: str, provider: str) -> Price | None:
    """Return litellm's price of a model that its map has under another name."""
    return None if provider in OLLAMA else known_price(name, provider)


def _structured(name: str, provider: str, model: str) -> bool:
    if provider in OLLAMA:
        return True  # litellm would ask the server, which may not be running yet
    told = has_capability(provider, model, "supports_response_schema")
    return bool(library().supports_response_schema(name)) if told is None else told
