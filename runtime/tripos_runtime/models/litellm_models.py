"""Models asked by litellm: chat and embedding models that are not reached in OpenAI's form.

Calls are made by litellm's public `acompletion` and `aembedding`. Two further parts are used that are not documented as
public. `get_optional_params` returns, without a key or a server, the settings and tools that litellm keeps for a model.
The public `get_supported_openai_params` ignores values, but a reasoning model, for instance, takes `temperature` 1 and
no other. `AsyncHTTPHandler` is the type of the documented argument `client` (`litellm_transport.py`)."""

from __future__ import annotations

import difflib
import functools
import gc
import itertools
import logging
import os
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tripos_compiler.plan import Settings
from tripos_runtime.models.base import FREE, Endpoint, Model, ModelError, Price, Reply, Request
from tripos_runtime.models.catalog import (
    PROVIDERS,
    completion_name,
    is_local_endpoint,
    provider_named,
    variable,
    variables_of,
)
from tripos_runtime.models.chat_completions import as_objects, format_of, without_system
from tripos_runtime.models.completions import as_transcript_request, trimmed
from tripos_runtime.models.errors import model_error
from tripos_runtime.models.http import SHORTEST_KEY
from tripos_runtime.models.prices import tariff
from tripos_runtime.models.readiness import (
    needs_of,
    require_chat,
    require_ready,
    require_sign_in,
    variables_for_litellm,
)
from tripos_runtime.models.replies import THOUGHTS, read_reply, tools_in_request
from tripos_runtime.models.vectors import EmbeddingModel, replies_of


@functools.cache
def library() -> Any:
    """Return litellm, imported once, offline and quiet. The import takes seconds, less with garbage collection
    paused."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    # OpenAI's client would send these headers, which may contain a key, to every provider.
    os.environ.pop("OPENAI_CUSTOM_HEADERS", None)
    # In its other mode litellm reads every `.env` file in the folders above its package and above the current folder.
    os.environ["LITELLM_MODE"] = "PRODUCTION"
    for limit in ("AIOHTTP_CONNECTOR_LIMIT", "AIOHTTP_CONNECTOR_LIMIT_PER_HOST"):
        os.environ.setdefault(limit, "100000")  # the scheduler limits the concurrent calls; 0 would mean 100
    collecting = gc.isenabled()
    gc.disable()
    try:
        import litellm
    finally:
        if collecting:
            gc.enable()
    litellm.disable_hf_tokenizer_download = True
    litellm.telemetry = False
    litellm.suppress_debug_info = True
    litellm.drop_params = True
    warnings.filterwarnings("ignore", "Items? .* on TypedDict", UserWarning)  # at its first Ollama prompt
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return litellm


RETRIES: Mapping[str, Mapping[str, list[str]]] = {
    "parameter": {},
    "forced": {"allowed_openai_params": ["max_retries"]},
    "dropped": {"additional_drop_params": ["max_retries"]},
}
"""The arguments besides `max_retries` that keep litellm's clients from retrying, by `LitellmProvider.retries`."""


class LitellmClient(Model):
    """A model asked by litellm, at its provider or at an endpoint in OpenAI's form. `price` is the price from the
    user's settings, if any.

    Opening raises `ModelError` R0103 if litellm does not know the provider or a chat of it, R0105 if a Python package
    that litellm needs for the provider is not installed, R0102 if the key is not set, and R0101 if the address is
    unknown."""

    def __init__(
        self, name: str, endpoint: Endpoint | None = None, *, price: Price | None = None, timeout_s: float = 300.0
    ) -> None:
        self.name = name
        self._timeout_s = timeout_s
        self._completes = completion_name(name)
        self._asked_as = self._completes or name
        self._provider, address = provider_of(self._asked_as)
        self._target_arguments: dict[str, Any] = {}
        """litellm's arguments for the address and the key, if they are not read from the environment."""
        self._known_key = ""
        self._check_provider()
        if endpoint is None:
            self._address = address or f"the address of {self._provider}"
            self._key_variable = require_ready(name, self._provider)
            self._target_arguments = file_arguments(self._provider)
            self._known_key = self._target_arguments.get("api_key", "")
        else:
            self._address = endpoint.base_url
            self._key_variable = endpoint.api_key_env or ""
            self._known_key = endpoint_key(name, endpoint)
            self._target_arguments = {"api_base": endpoint.base_url, "api_key": self._known_key}
        self.endpoint = f"{self._address} {self._key_variable}".strip()
        self._is_local = is_local_endpoint(endpoint)
        self._own_price = price is not None
        self.price = price

    def _check_provider(self) -> None:
        """Raise `ModelError` R0103 if the provider has no such model."""

    @property
    def _key(self) -> str:
        return self._known_key or variable(self._key_variable)

    def _error(self, error: Exception, key: str) -> ModelError:
        """Return the error of a call. An error inside litellm may be any exception, such as `AttributeError` for an
        unreadable reply."""
        return model_error(error, self.name, self._address, self._key_variable, (key,))


class LitellmModel(LitellmClient):
    """A chat or completion model asked by litellm."""

    _opened = 0
    """The number of open models in this process, which share litellm's connection pool."""

    def __init__(
        self, name: str, endpoint: Endpoint | None = None, *, price: Price | None = None, timeout_s: float = 300.0
    ) -> None:
        litellm = library()
        super().__init__(name, endpoint, price=price, timeout_s=timeout_s)
        self.structured = self._completes is None and (self._is_local or bool(litellm.supports_response_schema(name)))
        self._retries = RETRIES[needs_of(self._provider).retries]
        self.price = price or known_price(self._asked_as, self._provider)
        self._folds_system = litellm_entry(name).get("supports_system_messages") is False
        LitellmModel._opened += 1
        self._closed = False

    def _check_provider(self) -> None:
        require_chat(self.name, self._provider)

    async def ask(self, request: Request) -> Reply:
        """Return the reply to the request. `Reply.cost_usd` is `None` if the price of the model is unknown."""
        litellm = library()
        if self._completes is not None:
            request = as_transcript_request(request)
        if request.tools and not sends_tools(self._asked_as):
            raise no_tools(self.name)
        messages = as_objects(
            without_system(request.messages) if self._folds_system else request.messages,
            request.contents,
            request.tools,
            request.settings.image_detail,
        )
        key = self._key
        try:
            response = await litellm.acompletion(
                model=self._asked_as,
                messages=messages,
                timeout=self._timeout_s,
                num_retries=0,
                max_retries=0,
                **self._retries,
                **self._target_arguments,
                **settings_of(request, structured=self.structured),
            )
            own, tools = self._own_price, request.tools
            reply = read_response(response, self.name, self.price, own_price=own, tools=tools)
        except Exception as error:
            raise self._error(error, key) from error
        if self._completes is not None:
            reply = trimmed(reply)
        return without_key(reply, key) if len(key) >= SHORTEST_KEY else reply

    def ignored_settings(self, settings: Settings) -> tuple[str, ...]:
        """Return the names of the settings that a request would leave out."""
        return dropped_settings(self._asked_as, settings)

    async def close(self) -> None:
        """Close litellm's connections once the last model is closed."""
        if self._closed:
            return
        self._closed = True
        LitellmModel._opened -= 1
        if LitellmModel._opened == 0:
            litellm = library()
            await litellm.close_litellm_async_clients()
            litellm.in_memory_llm_clients_cache.flush_cache()


@functools.cache
def sends_tools(name: str) -> bool:
    """Return true if litellm sends tools to a model of that name instead of dropping them."""
    model, provider, _ = resolve_name(name)  # must come first: it imports litellm by `library`, without the network
    from litellm.utils import get_optional_params

    tools = tools_in_request(('{"name": "any", "parameters": {"type": "object", "properties": {}}}',))
    with_tools, without_tools = (
        get_optional_params(model=model, custom_llm_provider=provider, drop_params=True, **arguments)
        for arguments in ({"tools": tools}, {})
    )
    return bool(with_tools != without_tools)


def no_tools(name: str) -> ModelError:
    """Return the error of a model that cannot be offered the tools of a step."""
    hint = "give a model with a chat that takes tools, such as `openai/gpt-4o`"
    return ModelError("R0128", f"`{name}` cannot call tools", hint, fatal=True)


def without_key(reply: Reply, key: str) -> Reply:
    """Return a reply without the key of its request: some servers echo it.

    >>> without_key(Reply("you are abc123", "m", "stop", 1, 1, None), "abc123").text
    'you are [key]'
    """
    replies = tuple(without_key(other, key) for other in reply.further_choices)
    served = reply.model_served.replace(key, "[key]")
    logprobs = None if key in reply.text else reply.logprobs  # the tokens would reveal the key in pieces
    text = reply.text.replace(key, "[key]")
    thinking = None if reply.thinking is None else reply.thinking.replace(key, "[key]")
    return replace(reply, text=text, model_served=served, logprobs=logprobs, thinking=thinking, further_choices=replies)


def settings_of(request: Request, *, structured: bool, without: Collection[str] = ()) -> dict[str, Any]:
    """Return the settings of a request by litellm's names. Settings that are not set, and those of `without`, are left
    out."""
    settings = request.settings.without(without).given
    settings.pop("image_detail", None)  # it is part of the images
    settings.pop("chat_template", None)  # litellm does not support it
    settings |= settings.pop("provider", {})
    if "top_logprobs" in settings:
        settings["logprobs"] = True
    if structured and (schema := request.strict_schema) is not None:
        settings["response_format"] = format_of(schema)
    if request.tools:
        settings["tools"] = tools_in_request(request.tools)
    return settings


def dropped_settings(name: str, settings: Settings, unknown: Collection[str] = ()) -> tuple[str, ...]:
    """Return the settings that a request to a model of that name leaves out: the `unknown` ones, and those that litellm
    drops."""
    model, provider, _ = resolve_name(name)  # must come first: it imports litellm by `library`, without the network
    from litellm.utils import get_optional_params

    given_unknown = tuple(each for each in settings.given if each in unknown)

    def translate(arguments: dict[str, Any]) -> Any:
        return get_optional_params(model=model, custom_llm_provider=provider, drop_params=True, **arguments)

    request = Request("", (), settings.without(frozenset(unknown)))
    all_translated = translate(settings_of(request, structured=False))
    dropped = []
    for each in request.settings.given:
        if each == "image_detail":
            dropped += [each] * (provider not in TAKE_IMAGE_DETAIL)
        elif translate(settings_of(request, structured=False, without={each})) == all_translated:
            dropped.append(each)
    return (*given_unknown, *dropped)


TAKE_IMAGE_DETAIL = frozenset(("openai", "azure", "azure_ai", "openrouter", "xai"))
"""litellm's names of the providers that accept a detail with an image."""


def read_response(
    response: Any,
    name: str,
    price: Price | None,
    *,
    own_price: bool,
    tools: Sequence[str] = (),
    finish_reasons: Sequence[str] = (),
) -> Reply:
    """Return the reply in litellm's response. `finish_reasons` are the provider's own, one for each choice, if known;
    litellm translates them, and keeps the original of some. Raises the errors of `read_reply`."""
    if response is None:  # litellm returns None for status 422
        raise ModelError("R0110", f"`{name}` rejected the request", "check the settings of the step")
    choices = [
        {"message": {"content": choice.message.content, "refusal": _refusal(choice.message),
                     "tool_calls": _calls(choice.message), **_thoughts(choice.message)},
         "logprobs": _probabilities(choice), "finish_reason": reason or _finish_reason(choice)}
        for choice, reason in itertools.zip_longest(response.choices, finish_reasons[: len(response.choices)])
    ]  # fmt: skip
    usage: Any = getattr(response, "usage", None)
    usage = usage.model_dump() if hasattr(usage, "model_dump") else usage
    body = {"model": response.model, "choices": [] if _is_default_response(choices, usage) else choices, "usage": usage}
    return read_reply(body, name, price, own_price=own_price, tools=tools)


def _is_default_response(choices: Sequence[Mapping[str, Any]], usage: Mapping[str, Any] | None) -> bool:
    """Return true if a response is litellm's default, which it returns if a server's answer has none of the expected
    fields."""
    counted = any((usage or {}).get(name) for name in ("prompt_tokens", "completion_tokens"))
    values = [value for choice in choices for value in choice["message"].values() if value is not None and value != []]
    blank = not values and all(choice["finish_reason"] == "stop" for choice in choices)
    return blank and not counted


def provider_of(name: str) -> tuple[str, str | None]:
    """Return litellm's provider of a model, and the provider's address if known. Raises `ModelError` R0103, and R0102
    for a provider that requires a sign-in by a person."""
    _, provider, address = resolve_name(name)
    return provider, address


def resolve_name(name: str) -> tuple[str, str, str | None]:
    """Return litellm's name of a model, its provider, and the provider's address if known. Raises `ModelError` as
    `provider_of` does."""
    require_sign_in(name, name.partition("/")[0])
    litellm = library()
    try:
        model, provider, _, address = litellm.get_llm_provider(name)
    except litellm.BadRequestError as error:
        hint = "write `provider/model`, such as `openai/gpt-4o`"
        if "/" in name:
            close = difflib.get_close_matches(name.partition("/")[0].casefold(), _providers(), n=1)
            hint = "a server of your own: `hosted_vllm/NAME`, with its address under [endpoints] in tripos.toml"
            hint = f"did you mean `{close[0]}/{name.partition('/')[2]}`?" if close else hint
        raise ModelError("R0103", f"no provider of `{name}` is known", hint, fatal=True) from error
    return model, provider, address


def _providers() -> list[str]:
    return [str(getattr(each, "value", each)) for each in library().provider_list]


def litellm_entry(name: str) -> dict[str, Any]:
    """Return litellm's entry for a model, under any of the names that litellm resolves; empty if there is none."""
    litellm = library()
    try:
        entry = litellm.get_model_info(name)["key"]
    except Exception:
        # litellm raises a bare `Exception` if it has no entry for a model.
        return {}
    return dict(litellm.model_cost.get(entry, {}))


def known_price(name: str, provider: str) -> Price | None:
    """Return the price of a model, under any of the names that litellm resolves; None if unknown."""
    return tariff(litellm_entry(name), provider)


def file_arguments(provider_name: str) -> dict[str, Any]:
    """Return litellm's arguments for a key and an address from a `.env` file. With an address this includes the
    headers, since OpenAI's client would otherwise take those of the environment."""
    provider, passed = provider_named(provider_name), variables_for_litellm(provider_name)
    key, address = (next((passed[name] for name in names if name in passed), None)
                    for names in (provider.keys, provider.base_urls))  # fmt: skip
    arguments: dict[str, Any] = {} if key is None else {"api_key": key}
    if address is None:
        return arguments
    variables = variables_of(provider)
    headers = {header: "" for header, name, _ in PROVIDERS["openai"].headers if os.environ.get(name)}
    headers |= {header: variables[name] for header, name, _ in provider.headers if name in variables}
    return {**arguments, "api_base": address, **({"extra_headers": headers} if headers else {})}


def endpoint_key(name: str, endpoint: Endpoint) -> str:
    """Return the key for an endpoint; `none` if it has none. Raises `ModelError` if it is not set."""
    if endpoint.api_key_env is None:
        return "none"
    key = variable(endpoint.api_key_env)
    if not key:
        raise ModelError("R0102", f"the key for `{name}` is missing", f"set {endpoint.api_key_env}", fatal=True)
    return key


def _calls(message: Any) -> list[dict[str, Any]]:
    """Return the tool calls in a message."""
    listed = getattr(message, "tool_calls", None) or ()
    return [{"function": {"name": each.function.name, "arguments": each.function.arguments}} for each in listed]


def _probabilities(choice: Any) -> Any:
    """Return the token probabilities of a choice in OpenAI's form; None if there are none."""
    logprobs: Any = getattr(choice, "logprobs", None)
    return logprobs.model_dump() if hasattr(logprobs, "model_dump") else logprobs


def _finish_reason(choice: Any) -> str | None:
    """Return the provider's finish reason of a choice, else litellm's."""
    fields = getattr(choice, "provider_specific_fields", None) or {}
    reason = fields.get("native_finish_reason") or choice.finish_reason
    return reason if isinstance(reason, str) else None


def _thoughts(message: Any) -> dict[str, Any]:
    """Return the fields of a message that contain thinking."""
    return {name: value for name in THOUGHTS if (value := getattr(message, name, None))}


def _refusal(message: Any) -> str | None:
    fields = getattr(message, "provider_specific_fields", None) or {}
    return getattr(message, "refusal", None) or fields.get("refusal")


CODE = "R0257"
"""The error code of an answer without a vector for each text."""


class LitellmEmbedding(LitellmClient, EmbeddingModel):
    """An embedding model asked by litellm."""

    def __init__(
        self, name: str, endpoint: Endpoint | None = None, *, price: Price | None = None, timeout_s: float = 300.0
    ) -> None:
        super().__init__(name, endpoint, price=price, timeout_s=timeout_s)
        self.price = price or (FREE if self._is_local else known_price(name, self._provider))

    async def embed(self, texts: Sequence[str]) -> Reply:
        """Return the vector of each text. Raises `ModelError`."""
        key = self._key
        try:
            response = await library().aembedding(
                model=self.name,
                input=texts,
                timeout=self._timeout_s,
                num_retries=0,
                max_retries=0,
                encoding_format="float",
                **self._target_arguments,
            )
        except Exception as error:
            raise self._error(error, key) from error
        vectors = vectors_of(self.name, response.data or [], len(texts))
        usage = getattr(response, "usage", None)
        tokens = getattr(usage, "prompt_tokens", None) or None
        return replies_of(vectors, texts, str(response.model or self.name), tokens, self.price)


def vectors_of(name: str, data: list[Any], count: int) -> list[list[float]]:
    """Return the vectors of an answer in the order of the texts. Raises `ModelError` R0257 if there is not one for
    each.

    >>> vectors_of("m", [{"index": 1, "embedding": [0.5]}, {"index": 0, "embedding": [1, 2]}], 2)
    [[1.0, 2.0], [0.5]]
    """
    try:
        ordered = sorted(data, key=lambda entry: int(entry["index"]))
        vectors = [[float(value) for value in entry["embedding"]] for entry in ordered]
    except (TypeError, ValueError, KeyError) as error:
        message = f"`{name}` answered without a vector for each text"
        raise ModelError(CODE, message, "check that it is an embedding model") from error
    if len(vectors) != count or not all(vectors):
        message = f"`{name}` gave {len(vectors)} vectors for {count} texts"
        raise ModelError(CODE, message, "check that it is an embedding model")
    return vectors
