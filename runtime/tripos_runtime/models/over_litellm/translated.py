"""Models that litellm translates for and we send to: its words for a provider, over our own connections."""

from __future__ import annotations

import copy
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import orjson

from tripos_compiler.plan import Settings
from tripos_runtime.models.base import Contents, Endpoint, ModelError, Price, Reply, Request
from tripos_runtime.models.catalog import (
    FOREIGN,
    PARTICULAR,
    PROVIDERS,
    CallPlace,
    allows,
    answer_error,
    is_here,
    model_error,
)
from tripos_runtime.models.over_http import (
    HttpAnswer,
    ModelConnection,
    RequestCache,
    as_objects,
    base_url_of,
    headers_of,
    key_of,
    lacking,
    samples_given,
    without_system,
)
from tripos_runtime.models.over_litellm.litellm_client import (
    known_price,
    library,
    no_tools,
    settings_of,
    without_effect,
)
from tripos_runtime.models.over_litellm.translations import FORMS, Form

OLLAMA = ("ollama", "ollama_chat")


@dataclass(frozen=True)
class _Skeleton:
    """The common part of requests with the same settings. `parameters` are JSON, copied for each call; `kept` are those
    that JSON cannot hold."""

    parameters: bytes
    kept: dict[str, Any] | None
    line: ModelConnection
    headers: dict[str, str]

    def own_parameters(self) -> dict[str, Any]:
        found: dict[str, Any] = orjson.loads(self.parameters) if self.kept is None else copy.deepcopy(self.kept)
        return found


class TranslatedModel:
    """A model of a provider in `FORMS`. Raises `ModelError` R0102 where the key is not set and R0101 where nothing says
    where the provider is. `own_price`: the price is the user's."""

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
        self.price = price or _known_price(name)
        self.own_price = own_price
        self._timeout_s = timeout_s
        provider_name, _, model = name.partition("/")
        provider = FOREIGN.get(provider_name) or PROVIDERS[provider_name]
        base_url = base_url_of(name, provider, endpoint)
        variable, key = key_of(name, provider, endpoint)
        self.endpoint = f"{base_url} {variable}".strip()
        self.structured = is_here(endpoint) or _structured(name, provider_name, model)
        reasons = allows(provider_name, model, "supports_reasoning") is not False or PARTICULAR.search(model)
        self.most_samples = provider.samples if provider_name == "azure" and not reasons else 1
        self._folds_system = allows(provider_name, model, "supports_system_messages") is False
        self._lacking = lacking(provider_name, provider, model, base_url)
        self.place = CallPlace(name, base_url, variable, (key,))
        self._form = FORMS[provider_name](provider_name, model, key, self.place)
        self._skeletons = RequestCache(self._skeleton, structured=self.structured, most_samples=self.most_samples)
        self._lines: dict[str, ModelConnection] = {}

    async def ask(self, request: Request) -> Reply:
        """Return the reply to the request, with `others` where it asks for several samples. Raises `ModelError`."""
        try:
            answer = await self._skeletons.part(request).line.post(self.body_of(request))
            return self.reply_in(request, answer)
        except ModelError:
            raise
        except Exception as error:
            # litellm lets its own slips through as any exception, as it does where it sends for itself.
            place = self.place
            raise model_error(error, self.name, place.address, place.key_variables, place.secrets) from error

    def body_of(self, request: Request) -> bytes:
        """Return the body of a request, as JSON."""
        skeleton = self._skeletons.part(request)
        parameters, messages = skeleton.own_parameters(), self._messages(request, request.contents)
        return orjson.dumps(self._form.body(messages, parameters, skeleton.headers))

    @property
    def headers(self) -> dict[str, str]:
        """The headers of every request."""
        return self._form.target({})[1]

    def reply_in(self, request: Request, answer: HttpAnswer) -> Reply:
        """Return the reply in an answer to a request that went another way, such as in a batch. Raises `ModelError`."""
        if answer.status != 200:
            raise answer_error(answer.status, answer.body, headers_of(answer.headers), self.place)
        messages, parameters = self._messages(request, None), self._skeletons.part(request).own_parameters()
        try:
            reply = self._form.reply(answer, messages, parameters, self.price, self.own_price, request.tools)
        except ModelError:
            raise
        except Exception as error:
            raise answer_error(answer.status, answer.body, headers_of(answer.headers), self.place) from error
        self.most_samples = samples_given(1 + len(reply.others), request.samples, self.most_samples)
        return reply

    async def close(self) -> None:
        """Let go of the connections."""
        for line in self._lines.values():
            await line.close()

    def refuses(self, settings: Settings) -> tuple[str, ...]:
        """Return the names of the settings that a request would go without."""
        return dropped_by(self._form, self._lacking, settings)

    def _sent(self, settings: Settings) -> Settings:
        """Return the settings without those that the provider takes for no model."""
        return settings.without(self._lacking)

    def _messages(self, request: Request, contents: Contents | None) -> list[dict[str, Any]]:
        folded = without_system(request.messages) if self._folds_system else request.messages
        return as_objects(folded, contents, request.tools, request.settings.image_detail)

    def _skeleton(self, request: Request) -> _Skeleton:
        """Return what requests of the same settings share."""
        samples = min(request.samples, self.most_samples)
        told = replace(request, settings=self._sent(request.settings))
        parameters = self._form.parameters(settings_of(told, structured=self.structured), samples)
        if request.tools and not parameters.get("tools"):
            raise no_tools(self.name)
        url, headers = self._form.target(copy.deepcopy(parameters))
        try:
            plain, kept = orjson.dumps(parameters), None
        except TypeError:
            plain, kept = b"", parameters
        line = self._lines.setdefault(
            f"{url} {sorted(headers.items())}", ModelConnection(url, headers, self._timeout_s, self.place.secrets)
        )
        return _Skeleton(plain, kept, line, headers)


def dropped_by(form: Form, unknown: Collection[str], settings: Settings) -> tuple[str, ...]:
    """Return the settings that a request goes without: the `unknown` ones, and what the provider's form leaves out."""
    first = tuple(name for name in settings.given if name in unknown)
    taken = settings.without(frozenset(unknown))
    return (*first, *without_effect(taken, lambda told: form.parameters(told, 1), form.provider))


def _known_price(name: str) -> Price | None:
    """litellm's price of a model that its map has under another name."""
    provider = name.partition("/")[0]
    return None if provider in OLLAMA else known_price(name, provider)


def _structured(name: str, provider: str, model: str) -> bool:
    if provider in OLLAMA:
        return True  # and litellm would ask the server, which may not be up yet
    told = allows(provider, model, "supports_response_schema")
    return bool(library().supports_response_schema(name)) if told is None else told
