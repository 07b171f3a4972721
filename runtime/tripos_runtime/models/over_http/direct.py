"""Models whose chat completions have OpenAI's form, asked without litellm: one post and one reading of JSON a call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import orjson

from tripos_compiler.plan import Settings
from tripos_runtime.models.base import Endpoint, ModelError, Price, Reply, Request
from tripos_runtime.models.catalog import (
    PROVIDERS,
    CallPlace,
    Provider,
    allows,
    answer_error,
    check_address,
    entry_of,
    is_here,
    model_error,
    variable,
    variables_of,
)
from tripos_runtime.models.over_http.called import tools_sent
from tripos_runtime.models.over_http.connections import HttpAnswer, ModelConnection, headers_of
from tripos_runtime.models.over_http.messages import RequestCache, as_json, without_system
from tripos_runtime.models.over_http.replies import parsed, read_reply

HEALTH_S = 5.0
"""The longest time until a server says that it is there."""
NO_PAGE = (404, 405)


class DirectModel:
    """A model of one of `PROVIDERS`. Raises `ModelError` R0102 where the key is not set and R0101 where nothing says
    where the provider is.

    `own_price`: the price is the user's, and counts before what the provider says that a call cost. `sent_as` is the
    name that the server is asked for where that is not the model's own.
    """

    slots: int | None = None

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
        self.name = name
        self.price = price
        self.own_price = own_price
        provider_name, _, model = name.partition("/")
        self._model = sent_as or model
        self._provider = PROVIDERS[provider_name] if sent_as is None else PROVIDERS["openai"]
        base_url = base_url_of(name, self._provider, endpoint)
        variable, key = key_of(name, self._provider, endpoint)
        self.endpoint = f"{base_url} {variable}".strip()
        known = self._provider.structured or allows(provider_name, model, "supports_response_schema")
        self.structured = is_here(endpoint) or bool(known)
        self.most_samples = self._provider.samples if _bills_once(provider_name, base_url) else 1
        self._folds_system = allows(provider_name, model, "supports_system_messages") is False
        self._lacking = lacking(provider_name, self._provider, self._model, base_url)
        self.place = CallPlace(name, base_url, variable, (key,))
        url = base_url if base_url.endswith("/chat/completions") else f"{base_url}/chat/completions"
        self.headers = openai_headers(self._provider, key)
        self._line = ModelConnection(url, self.headers, timeout_s, (key,))
        self._head = b'{"model":' + orjson.dumps(self._model) + b',"messages":'
        self._tails = RequestCache(self._tail, structured=self.structured, most_samples=self.most_samples)

    async def ask(self, request: Request) -> Reply:
        """Return the reply to the request, with `others` where it asks for several samples. Raises `ModelError`."""
        return self._read(request, await self._answer(self.body_of(request)))

    def body_of(self, request: Request) -> bytes:
        """Return the body of a request, as JSON."""
        messages = without_system(request.messages) if self._folds_system else request.messages
        told = as_json(messages, request.contents, request.tools, request.settings.image_detail)
        return self._head + told + self._tails.part(request)

    def reply_in(self, request: Request, answer: HttpAnswer) -> Reply:
        """Return the reply in an answer to a request that went another way, such as in a batch. Raises `ModelError`."""
        return self._read(request, self._completed(answer))

    def _read(self, request: Request, found: dict[str, Any]) -> Reply:
        choices = found.get("choices")
        came = len(choices) if isinstance(choices, list) else 0
        self.most_samples = samples_given(came, request.samples, self.most_samples)
        return read_reply(found, self.name, self.price, own_price=self.own_price, tools=request.tools)

    async def _answer(self, body: bytes) -> dict[str, Any]:
        """Return the JSON object that the server answers a body with. Raises `ModelError`."""
        try:
            answer = await self._line.post(body)
        except OSError as error:
            raise model_error(error, self.name, self.place.address, self.place.key_variables) from error
        return self._completed(answer)

    def _completed(self, answer: HttpAnswer) -> dict[str, Any]:
        if answer.status != 200:
            raise answer_error(answer.status, answer.body, headers_of(answer.headers), self.place)
        return completion(answer.body, headers_of(answer.headers), self.place)

    async def is_ready(self) -> bool:
        """Return true if the server says that it can be asked: by `/health`, or where it has no such page by its list
        of models. A server that refuses to say is there."""
        base_url = self.place.address.removesuffix("/chat/completions")
        status = await self._line.status(f"{base_url.removesuffix('/v1')}/health", HEALTH_S)
        if status in NO_PAGE:
            status = await self._line.status(f"{base_url}/models", HEALTH_S)
        return status is not None and status < 500

    async def close(self) -> None:
        """Let go of the connections."""
        await self._line.close()

    def refuses(self, settings: Settings) -> tuple[str, ...]:
        """Return the names of the settings that a request would go without."""
        return tuple(name for name in settings.given if name in self._lacking)

    def _tail(self, request: Request) -> bytes:
        """Return everything of the body after the messages."""
        told = request.settings.given
        for name in self.refuses(request.settings):
            del told[name]
        told.pop("image_detail", None)  # it stands with the images
        own = told.pop("provider", {})
        if "seed" in told:
            told[self._provider.seed] = told.pop("seed")
        told |= {"logprobs": True} if "top_logprobs" in told else {}
        samples = min(request.samples, self.most_samples)
        told |= {"n": samples} if samples > 1 else {}
        schema = request.strict_schema if self.structured else None
        told |= {} if schema is None else {"response_format": format_of(schema)}
        told |= {"tools": tools_sent(request.tools)} if request.tools else {}
        told |= {**self._provider.body, **own}
        return b"," + orjson.dumps(told)[1:] if told else b"}"


def samples_given(came: int, asked: int, most: int) -> int:
    """Return how many samples a model is asked for at a time from now on: `most`, or 1 once it gave fewer than it was
    asked for, as servers do that pass over `n`.

    >>> samples_given(1, 3, 8), samples_given(3, 3, 8), samples_given(8, 10, 8)
    (1, 8, 8)
    """
    return 1 if 0 < came < min(asked, most) else most


def lacking(provider_name: str, provider: Provider, model: str, base_url: str) -> frozenset[str]:
    """Return the settings that a model is known not to take: by its name, and by its provider where it is reached
    there, since of any other server nothing is known. None says the template that its file has."""
    found = frozenset({"chat_template"})
    if provider.base_url is not None and urlsplit(base_url).hostname == urlsplit(provider.base_url).hostname:
        entry = entry_of(provider_name, model)
        thinks = entry is None or entry.get("supports_reasoning")
        found |= provider.lacks | (frozenset() if thinks else frozenset({"reasoning_effort"}))
    if provider.without is not None and provider.without[0].search(model):
        found |= provider.without[1]
    return found


def format_of(schema: Any) -> dict[str, Any]:
    """Return the setting that holds a reply to a JSON Schema."""
    return {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema, "strict": True}}


def completion(body: bytes, headers: Mapping[str, str], place: CallPlace) -> dict[str, Any]:
    """Return the JSON object of an answer with status 200. Raises `ModelError` where it is none, or tells of a
    mistake."""
    try:
        found = parsed(body)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise answer_error(200, body, headers, place)
    mistake = found.get("error")
    if mistake and "choices" not in found:
        code = mistake.get("code") if isinstance(mistake, dict) else None
        raise answer_error(code if isinstance(code, int) and 400 <= code < 600 else 200, body, headers, place)
    return found


def base_url_of(name: str, provider: Provider, endpoint: Endpoint | None) -> str:
    """Return where a model is reached, without a slash at the end."""
    told = map(variables_of(provider).get, provider.base_urls)
    base_url = endpoint.base_url if endpoint is not None else next(filter(None, told), provider.base_url)
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
    """Return the environment variable of the key, "" where none is, and the key. Raises `ModelError` where it is not
    set."""
    if endpoint is not None and endpoint.api_key_env is None:
        return "", "none"
    if endpoint is None or endpoint.api_key_env is None:
        told, names = variables_of(provider), provider.keys
    else:
        told, names = {endpoint.api_key_env: variable(endpoint.api_key_env)}, (endpoint.api_key_env,)
    for each in names:
        if key := told.get(each, ""):
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
    told = variables_of(provider)
    for header, name, unset in provider.headers:
        value = told.get(name) or unset
        if value is not None and header not in headers:
            headers[header] = value
    return headers | {"User-Agent": "tripos"}


def _bills_once(provider_name: str, base_url: str) -> bool:
    """Return true if a prompt is paid once for several samples: who serves `openai/` at another address is not
    known."""
    return provider_name != "openai" or (urlsplit(base_url).hostname or "").endswith("openai.com")
