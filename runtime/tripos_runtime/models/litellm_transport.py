"""Models that litellm asks over Tripos's own connections.

litellm writes the request and reads the reply (`acompletion`). Its client sends through `transport`, which passes the
request to the `Exchange` of the call. So these models have the limits of size and memory, the timeouts, proxies and
certificates of the models that are asked directly. Each call makes one request, also where litellm would retry, and the
provider's answer is known as it was sent: its status, its finish reasons, and its counts of tokens.

Requests and replies of batches are written and read the same way, with an exchange that sends nothing."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import orjson

from tripos_compiler.plan import Ending, Settings, ending_of
from tripos_runtime.models.base import ModelError, Price, Reply, Request
from tripos_runtime.models.catalog import (
    NATIVE_PROVIDERS,
    PROVIDERS,
    REASONING_MODELS,
    has_capability,
    variables_of,
)
from tripos_runtime.models.chat_completions import (
    ServedModel,
    as_objects,
    completion,
    openai_headers,
    samples_given,
    without_system,
)
from tripos_runtime.models.errors import answer_error, model_error
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
    reason = found.get("stop_reason") if isinstance(found, Mapping) else None
    return [reason] if isinstance(reason, str) else []


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
            reasons = [candidate.get("finishReason") for candidate in candidates if isinstance(candidate, Mapping)]
            return [reason for reason in reasons if isinstance(reason, str)]
    return []


FINISH_REASONS_OF: Mapping[str, Callable[[Any], list[str]]] = {
    "anthropic": anthropic_finish_reasons,
    "gemini": gemini_finish_reasons,
}
"""The readers of a provider's own finish reasons, by the provider's name. litellm replaces them by its own."""


def from_ollama(found: Any) -> dict[str, Any] | None:
    """Return a reply of Ollama in OpenAI's form; None if it is no reply. It is not read by litellm, which returns an
    estimate of the tokens if Ollama does not count them.

    >>> from_ollama({"response": "hi", "done_reason": "stop"})["choices"][0]["finish_reason"]
    'stop'
    """
    if not isinstance(found, dict) or not ({"message", "response"} & found.keys()):
        return None
    message = found.get("message")
    fields = message if isinstance(message, dict) else found
    text = fields.get("content") if fields is message else found.get("response")
    calls = fields.get("tool_calls") if fields is message else None
    choice = {
        "message": {"content": text, "tool_calls": calls, "thinking": fields.get("thinking")},
        "finish_reason": found.get("done_reason"),
    }
    usage = {"prompt_tokens": found.get("prompt_eval_count"), "completion_tokens": found.get("eval_count")}
    return {"model": found.get("model"), "choices": [choice], "usage": usage}


Send = Callable[[str, dict[str, str], bytes], Awaitable[HttpAnswer]]
"""Sends a body with headers to an address, and returns the answer."""


@dataclass
class Exchange:
    """The one request of a call, and its answer or error. `send` is called for the request."""

    send: Send
    added: Mapping[str, Any] = field(default_factory=dict)
    """Fields that are added to the body that litellm writes."""
    live: bool = False
    """False for a request or a reply of a batch: nothing may be sent, also not by litellm itself."""
    url: str = ""
    body: bytes = b""
    answer: HttpAnswer | None = None
    error: Exception | None = None

    async def respond(self, url: str, headers: dict[str, str], body: bytes) -> HttpAnswer:
        """Send a request, and return the answer. Raises `HttpError` for a second request: Tripos itself retries."""
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
"""litellm's address for a request that must not be sent."""
NO_TIMEOUT_S = 7 * 86_400.0
"""litellm's timeout, which is never reached. The connection's timeout counts, which pauses while a reply waits for
memory."""


class NotSentError(Exception):
    """A request was written and must not be sent."""


async def _refuse_to_send(url: str, headers: dict[str, str], body: bytes) -> HttpAnswer:
    """The `send` of an exchange that only keeps the body."""
    raise NotSentError


@functools.cache
def transport() -> Any:
    """Return the transport of httpx that passes a request to the exchange of the current call."""
    import httpx

    class ExchangeTransport(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            headers = {
                name: value
                for name, value in request.headers.items()
                if name not in CLIENT_HEADERS and not name.startswith("x-stainless-")
            }
            exchange = _EXCHANGE.get()
            if exchange is None:  # litellm keeps the client for Azure, and makes calls of its own with it
                async with httpx.AsyncClient(timeout=None) as client:
                    return await client.send(request)
            answer = await exchange.respond(str(request.url), headers, await request.aread())
            kept = {name: value for name, value in answer.headers.items() if name.lower() not in BODY_HEADERS}
            return httpx.Response(answer.status, headers=kept, content=answer.body, request=request)

    return ExchangeTransport()


BODY_HEADERS = frozenset(("content-encoding", "content-length", "transfer-encoding"))
"""Headers on the encoding of a body, which no longer apply to the decompressed one."""


@functools.cache
def http_client() -> Any:
    """Return litellm's client for providers with a form of their own, with our transport."""
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler

    return AsyncHTTPHandler(transport=transport())


class CarriedModel(ServedModel):
    """A model of a provider in `NATIVE_PROVIDERS`, or a model of OpenAI that litellm has to translate for, asked by
    litellm over our connections."""

    def _connect(self) -> None:
        self.price = self.price or _known_price(self.name, self._provider_name)
        reasons = has_capability(self._provider_name, self._model, "supports_reasoning") is not False
        reasons = reasons or bool(REASONING_MODELS.search(self._model))
        self.most_samples = self._provider.samples if self._provider_name == "azure" and not reasons else 1
        self._connections: dict[str, ModelConnection] = {}
        self.headers = openai_headers(PROVIDERS["openai"], self._key)
        if self._provider_name == "anthropic":
            own = {"x-api-key": self._key, "anthropic-version": "2023-06-01"}
            self.headers = {**own, "Content-Type": "application/json", "Accept": "application/json"}

    def _is_structured(self, model: str) -> bool:
        if self._provider_name in OLLAMA:
            return True  # litellm would call the server, which may not be running yet
        known = has_capability(self._provider_name, model, "supports_response_schema")
        return bool(library().supports_response_schema(self.name)) if known is None else known

    async def ask(self, request: Request) -> Reply:
        """Return the reply to the request, with `further_choices` if it asks for several samples. Raises
        `ModelError`."""
        exchange = Exchange(self._post, live=True)
        return self._read(request, exchange, *await self._call_litellm(request, exchange))

    async def request_body(self, request: Request) -> bytes:
        exchange = Exchange(_refuse_to_send, self._added_fields(request))
        _, failure = await self._call_litellm(request, exchange)
        if not exchange.body:
            raise self._model_error(failure or HttpError("litellm sent no request"))
        return exchange.body

    async def reply_in(self, request: Request, answer: HttpAnswer) -> Reply:

        async def return_answer(url: str, headers: dict[str, str], body: bytes) -> HttpAnswer:
            return answer

        exchange = Exchange(return_answer, self._added_fields(request))
        return self._read(request, exchange, *await self._call_litellm(request, exchange))

    def _added_fields(self, request: Request) -> dict[str, Any]:
        """Return the settings of a request in a batch that are added to the body and not passed to litellm. With tools
        and `reasoning_effort`, litellm would call another API of OpenAI, Responses, for some models."""
        effort = request.settings.given.get("reasoning_effort") if request.tools else None
        return {"reasoning_effort": effort} if effort and self._provider_name == "openai" else {}

    def ignored_settings(self, settings: Settings) -> tuple[str, ...]:
        """Return the names of the settings that a request would leave out."""
        return dropped_settings(self.name, settings, self._lacking)

    async def close(self) -> None:
        """Close the connections."""
        for connection in self._connections.values():
            await connection.close()

    async def _call_litellm(self, request: Request, exchange: Exchange) -> tuple[Any, Exception | None]:
        """Let litellm make a call. Return its response and None, or None and the error that it raised."""
        if request.tools and self._provider_name not in OLLAMA and not sends_tools(self.name):
            raise no_tools(self.name)
        sent = without_system(request.messages) if self._folds_system else request.messages
        messages = as_objects(sent, request.contents, request.tools, request.settings.image_detail)
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
                **(self._live_arguments if exchange.live else self._batch_arguments),
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
        """Return the reply of a call, given its exchange and the result of `_call_litellm`. Raises `ModelError`."""
        answer = exchange.answer
        if answer is None and exchange.error is None and failure is None:  # litellm called OpenAI's API Responses
            reply = read_response(response, self.name, self.price, own_price=self.own_price, tools=request.tools)
            return without_key(reply, self._key) if len(self._key) >= SHORTEST_KEY else reply
        if exchange.error is not None or answer is None:
            raise self._model_error(exchange.error or failure or HttpError("litellm sent no request")) from failure
        headers = headers_of(answer.headers)
        if answer.status != 200:
            raise answer_error(answer.status, answer.body, headers, self.target)
        found = self._in_openai_form(exchange.url, answer.body, headers)
        if found is not None:
            reply = read_reply(found, self.name, self.price, own_price=self.own_price, tools=request.tools)
        elif failure is not None:
            raise answer_error(200, answer.body, headers, self.target) from failure
        else:
            finish_reasons = FINISH_REASONS_OF.get(self._provider_name, lambda _: [])(parse_body(answer.body))
            reply = read_response(
                response,
                self.name,
                self.price,
                own_price=self.own_price,
                tools=request.tools,
                finish_reasons=finish_reasons,
            )
        self.most_samples = samples_given(1 + len(reply.further_choices), request.samples, self.most_samples)
        return reply

    def _in_openai_form(self, url: str, body: bytes, headers: Mapping[str, str]) -> dict[str, Any] | None:
        """Return the body of an answer in OpenAI's form, which is read like that of a direct model; None if litellm has
        to read it."""
        if self._provider_name in ("openai", "azure"):
            chat = url.partition("?")[0].endswith("/chat/completions")
            return completion(body, headers, self.target) if chat else None
        if self._provider_name not in OLLAMA:
            return None
        try:
            content = from_ollama(parse_body(body))
        except ValueError:
            content = None
        if content is None:
            raise answer_error(200, body, headers, self.target)
        return content

    def _model_error(self, error: Exception) -> ModelError:
        if isinstance(error, ModelError):
            return error
        return model_error(error, self.name, self.target.address, self.target.key_variables, self.target.secrets)

    async def _post(self, url: str, headers: dict[str, str], body: bytes) -> HttpAnswer:
        match self._provider_name:
            case "openai":
                headers = openai_headers(PROVIDERS["openai"], self._key)
            case "azure":
                headers = {"api-key": self._key, "Content-Type": "application/json", "Accept": "application/json"}
            case _:
                headers.setdefault("content-type", "application/json")
        key = f"{url} {sorted(headers.items())}"
        if key not in self._connections:
            self._connections[key] = ModelConnection(url, headers, self._timeout_s, self.target.secrets)
        return await self._connections[key].post(body)

    @functools.cached_property
    def _live_arguments(self) -> dict[str, Any]:
        """litellm's arguments for a call that is sent."""
        return self._arguments(self.target.address, self._key)

    @functools.cached_property
    def _batch_arguments(self) -> dict[str, Any]:
        """litellm's arguments for a call that must not be sent."""
        return self._arguments(NOWHERE, "none")

    def _arguments(self, address: str, key: str) -> dict[str, Any]:
        """Return litellm's arguments for the address, the key and the client."""
        library()
        import httpx
        import openai

        carrier: Any = httpx.AsyncClient(transport=transport())  # newer OpenAI clients accept it besides httpx2's
        match self._provider_name:
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
