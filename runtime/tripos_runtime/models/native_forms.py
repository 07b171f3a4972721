"""Models of providers with an API form of their own: litellm translates requests, and Tripos sends them.

Plain replies of Anthropic and Gemini, which contain only text, are read directly; litellm reads the same from them at
ten times the cost. Other replies are read by litellm. litellm has no finish reason for a reply that broke off, so the
provider's own reasons are always read from the body."""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from tripos_compiler.plan import Ending, Settings, ending_of
from tripos_runtime.models.base import Contents, Endpoint, ModelError, Price, Reply, Request
from tripos_runtime.models.catalog import (
    NATIVE_PROVIDERS,
    PROVIDERS,
    REASONING_MODELS,
    has_capability,
    is_local_endpoint,
    variables_of,
)
from tripos_runtime.models.chat_completions import (
    RequestCache,
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
from tripos_runtime.models.http import HttpAnswer, ModelConnection, headers_of
from tripos_runtime.models.litellm_models import (
    ignored_by_translation,
    known_price,
    library,
    no_tools,
    read_response,
    settings_of,
)
from tripos_runtime.models.replies import parse_body, read_reply

FILTER = "content_filter"
"""The finish reason of a prompt that was blocked without a usable reason."""


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
            words = [each.get("finishReason") for each in candidates if isinstance(each, Mapping)]
            return [word for word in words if isinstance(word, str)]
    return []


def from_anthropic(found: Any) -> dict[str, Any] | None:
    """Return the reply in OpenAI's form; `None` if it contains anything but text, or if its prompt was written to a
    cache.

    >>> usage = {"input_tokens": 5, "output_tokens": 2}
    >>> reply = {"content": [{"type": "text", "text": "hi"}], "stop_reason": "end_turn", "usage": usage}
    >>> from_anthropic(reply)["choices"]
    [{'message': {'content': 'hi'}, 'finish_reason': 'end_turn'}]
    """
    match found:
        case {"content": list(blocks), "stop_reason": str(word), "usage": dict(usage)} if len(blocks) < 2:
            special = ("cache_creation_input_tokens", "server_tool_use", "output_tokens_details")
            if any(usage.get(name) for name in special) or not all(map(_is_text, blocks)):
                return None
            text = "".join(each["text"] for each in blocks)
            cached, tokens_in = usage.get("cache_read_input_tokens") or 0, usage.get("input_tokens")
            counts = {
                "prompt_tokens": tokens_in + cached if isinstance(tokens_in, int) and isinstance(cached, int) else None,
                "completion_tokens": usage.get("output_tokens"),
                "prompt_tokens_details": {"cached_tokens": cached},
                "completion_tokens_details": {"reasoning_tokens": 0},  # thoughts come in blocks of their own
            }
            return _completion(found, "model", text, word, counts)
    return None


def from_gemini(found: Any) -> dict[str, Any] | None:
    """Return the reply in OpenAI's form; `None` if it contains anything but one candidate of text or a blocked prompt.

    >>> candidate = {"content": {"parts": [{"text": "hi"}]}, "finishReason": "STOP"}
    >>> from_gemini({"candidates": [candidate], "usageMetadata": {"promptTokenCount": 5}})["usage"]["prompt_tokens"]
    5
    """
    match found:
        case {"usageMetadata": dict(usage)}:
            words, text = gemini_finish_reasons(found), _gemini_text(found)
            if len(words) != 1 or text is None or usage.get("toolUsePromptTokenCount"):
                return None
            tokens_in, thoughts = usage.get("promptTokenCount"), usage.get("thoughtsTokenCount")
            tokens_out = usage.get("candidatesTokenCount") if text else usage.get("candidatesTokenCount", 0)
            # Some models count their thoughts among the tokens of the candidates.
            if thoughts and usage.get("totalTokenCount") != (tokens_in or 0) + (tokens_out or 0):
                tokens_out = (tokens_out or 0) + thoughts
            counts = {
                "prompt_tokens": tokens_in,
                "completion_tokens": tokens_out,
                "total_tokens": usage.get("totalTokenCount"),
                "prompt_tokens_details": {
                    "cached_tokens": usage.get("cachedContentTokenCount"),
                    "audio_tokens": _audio_tokens(usage.get("promptTokensDetails")),
                },
                "completion_tokens_details": {"reasoning_tokens": thoughts},
            }
            return _completion(found, "modelVersion", text, words[0], counts)
    return None


def _is_text(block: Any) -> bool:
    return isinstance(block, Mapping) and block.get("type") == "text" and isinstance(block.get("text"), str)


def _gemini_text(found: Mapping[str, Any]) -> str | None:
    """Return the text of the single candidate, "" if there is none; None if it contains more than text."""
    match found:
        case {"candidates": [{"content": {"parts": [*parts]}}]}:
            plain = all(isinstance(each, Mapping) and isinstance(each.get("text"), str) for each in parts)
            if not plain or any(each.keys() - {"text", "thoughtSignature"} for each in parts) or len(parts) > 1:
                return None
            return "".join(each["text"] for each in parts)
        case {"candidates": [{"content": {"parts": _}}]} | {"candidates": [_, _, *_]}:
            return None
    return ""


def _audio_tokens(details: Any) -> int | None:
    """Return how many prompt tokens come from recordings."""
    told = details if isinstance(details, list) else []
    counts = [each.get("tokenCount") for each in told if isinstance(each, Mapping) and each.get("modality") == "AUDIO"]
    return sum(each for each in counts if isinstance(each, int)) or None


def _completion(
    found: Mapping[str, Any], model: str, text: str, word: str, counts: Mapping[str, Any]
) -> dict[str, Any]:
    choice = {"message": {"content": text}, "finish_reason": word}
    return {"model": found.get(model), "choices": [choice], "usage": counts}


Messages = list[dict[str, Any]]


class Form:
    """The common part of all forms: litellm's configuration of a provider's model, and its parameters for a request.

    `key` is the provider's key, "" if none is needed. Parameters belong to one call: litellm modifies them."""

    def __init__(self, provider: str, model: str, key: str, place: CallTarget) -> None:
        self.provider = provider
        self.model = model
        self.key = key
        self.place = place
        litellm = library()
        from litellm.utils import ProviderConfigManager

        self.config: Any = ProviderConfigManager.get_provider_chat_config(
            model=model, provider=litellm.LlmProviders(provider)
        )
        self.litellm_params: dict[str, Any] = {"custom_llm_provider": provider, "drop_params": True}

    def parameters(self, settings: Mapping[str, Any], samples: int) -> dict[str, Any]:
        """Return the settings by the provider's names, without those that the model ignores."""
        from litellm.utils import get_optional_params

        n = {"n": samples} if samples > 1 else {}
        return dict(
            get_optional_params(
                model=self.model,
                custom_llm_provider=self.provider,
                drop_params=True,
                stream=None,
                **self.version(),
                **n,
                **settings,
            )
        )

    def version(self) -> dict[str, str]:
        """Return what else the parameters depend on."""
        return {}

    def target(self, parameters: dict[str, Any]) -> tuple[str, dict[str, str]]:
        """Return the address and the headers of a request."""
        url = self.config.get_complete_url(
            api_base=self.place.address, api_key=self.key or None, model=self.model, optional_params=parameters,
            litellm_params=self.litellm_params, stream=None,
        )  # fmt: skip
        headers = self.config.validate_environment(
            headers={}, model=self.model, messages=[], optional_params=parameters, litellm_params=self.litellm_params,
            api_key=self.key or None, api_base=self.place.address,
        )  # fmt: skip
        return str(url), dict(headers)

    def body(self, messages: Messages, parameters: dict[str, Any], headers: dict[str, str]) -> Any:
        """Return the body as JSON values."""
        return self.config.transform_request(
            model=self.model, messages=messages, optional_params=parameters, litellm_params=self.litellm_params,
            headers=headers,
        )  # fmt: skip

    def plain(self, body: bytes) -> dict[str, Any] | None:
        """Return a text-only reply in OpenAI's form; `None` for any other."""
        return None

    def words(self, body: bytes) -> list[str]:
        """Return the provider's finish reason of each choice, as far as they are known."""
        return []

    def reply(
        self,
        answer: HttpAnswer,
        messages: Messages,
        parameters: dict[str, Any],
        price: Price | None,
        own_price: bool,
        tools: Sequence[str] = (),
    ) -> Reply:
        """Return the reply in an answer with status 200: read directly if it is plain, else by litellm."""
        plain = self.plain(answer.body)
        if plain is not None:
            return read_reply(plain, self.place.name, price, own_price=own_price, tools=tools)
        litellm = library()
        import httpx

        response = self.config.transform_response(
            model=self.model,
            raw_response=httpx.Response(answer.status, headers=headers_of(answer.headers), content=answer.body),
            model_response=litellm.ModelResponse(),
            logging_obj=_Silent(parameters),
            request_data={},
            messages=messages,
            optional_params=parameters,
            litellm_params=self.litellm_params,
            encoding=None,
            api_key="",
            json_mode=bool(parameters.get("json_mode")),
        )
        words = self.words(answer.body)
        return read_response(response, self.place.name, price, own_price=own_price, tools=tools, words=words)


class OpenaiForm(Form):
    """OpenAI's form for models with other settings than most: litellm says which; the reply is read directly."""

    def target(self, parameters: dict[str, Any]) -> tuple[str, dict[str, str]]:
        url = f"{self.place.address}/chat/completions"
        return url, openai_headers(PROVIDERS["openai"], self.key)

    def body(self, messages: Messages, parameters: dict[str, Any], headers: dict[str, str]) -> Any:
        more = parameters.pop("extra_body", None) or {}
        return super().body(messages, parameters, headers) | more

    def reply(
        self,
        answer: HttpAnswer,
        messages: Messages,
        parameters: dict[str, Any],
        price: Price | None,
        own_price: bool,
        tools: Sequence[str] = (),
    ) -> Reply:
        body = completion(answer.body, headers_of(answer.headers), self.place)
        return read_reply(body, self.place.name, price, own_price=own_price, tools=tools)


class AzureForm(OpenaiForm):
    """OpenAI's form at the address of an Azure deployment."""

    def version(self) -> dict[str, str]:
        told = variables_of(NATIVE_PROVIDERS["azure"]).get("AZURE_API_VERSION")
        return {"api_version": told or library().AZURE_DEFAULT_API_VERSION}

    def target(self, parameters: dict[str, Any]) -> tuple[str, dict[str, str]]:
        url = f"{self.place.address}/openai/deployments/{self.model}/chat/completions"
        headers = {"api-key": self.key, "Content-Type": "application/json", "Accept": "application/json"}
        return f"{url}?api-version={self.version()['api_version']}", headers


class AnthropicForm(Form):
    """Anthropic's messages."""

    def plain(self, body: bytes) -> dict[str, Any] | None:
        return from_anthropic(parse_body(body))

    def words(self, body: bytes) -> list[str]:
        return anthropic_finish_reasons(parse_body(body))

    def target(self, parameters: dict[str, Any]) -> tuple[str, dict[str, str]]:
        _, headers = super().target(parameters)
        address = self.place.address
        return address if address.endswith("/v1/messages") else f"{address}/v1/messages", headers

    def body(self, messages: Messages, parameters: dict[str, Any], headers: dict[str, str]) -> Any:
        parameters.pop("json_mode", None)
        parameters["is_vertex_request"] = False
        return super().body(messages, parameters, headers)


class GeminiForm(Form):
    """Google AI Studio's `generateContent`."""

    def plain(self, body: bytes) -> dict[str, Any] | None:
        return from_gemini(parse_body(body))

    def words(self, body: bytes) -> list[str]:
        return gemini_finish_reasons(parse_body(body))

    def target(self, parameters: dict[str, Any]) -> tuple[str, dict[str, str]]:
        from litellm.llms.vertex_ai.vertex_llm_base import VertexBase

        own = self.place.address == "https://generativelanguage.googleapis.com"
        auth, url = VertexBase()._get_token_and_url(
            model=self.model, auth_header=None, gemini_api_key=self.key, vertex_project=None, vertex_location=None,
            vertex_credentials=None, stream=None, custom_llm_provider="gemini",
            api_base=None if own else self.place.address,
        )  # fmt: skip
        headers = self.config.validate_environment(
            headers=None, model=self.model, messages=[], optional_params=parameters,
            litellm_params=self.litellm_params, api_key=auth,
        )  # fmt: skip
        return str(url), dict(headers)

    def body(self, messages: Messages, parameters: dict[str, Any], headers: dict[str, str]) -> Any:
        from litellm.llms.vertex_ai.gemini.transformation import transform_request_body

        return transform_request_body(
            messages=messages, model=self.model, optional_params=parameters, custom_llm_provider="gemini",
            litellm_params=self.litellm_params, cached_content=None,
        )  # fmt: skip


class OllamaForm(Form):
    """Ollama's form, for `ollama/` (`/api/generate`) and `ollama_chat/` (`/api/chat`)."""

    def parameters(self, settings: Mapping[str, Any], samples: int) -> dict[str, Any]:
        """Return the parameters as any form does. Tools are passed through: litellm would ask the server whether the
        model supports them."""
        told = {**settings}
        tools = told.pop("tools", None)
        return super().parameters(told, samples) | ({"tools": tools} if tools else {})

    def target(self, parameters: dict[str, Any]) -> tuple[str, dict[str, str]]:
        url, headers = super().target(parameters)
        return url, {"Content-Type": "application/json", **headers} | self._authorized()

    def reply(
        self,
        answer: HttpAnswer,
        messages: Messages,
        parameters: dict[str, Any],
        price: Price | None,
        own_price: bool,
        tools: Sequence[str] = (),
    ) -> Reply:
        # litellm estimates tokens if Ollama reports none; the estimate must not pass for a reported count.
        try:
            found = parse_body(answer.body)
        except ValueError:
            found = None
        if not isinstance(found, dict) or not ({"message", "response"} & found.keys()):
            raise answer_error(200, answer.body, headers_of(answer.headers), self.place)
        text = found["message"].get("content") if isinstance(found.get("message"), dict) else found.get("response")
        calls = found["message"].get("tool_calls") if isinstance(found.get("message"), dict) else None
        told = found["message"] if isinstance(found.get("message"), dict) else found
        message = {"content": text, "tool_calls": calls, "thinking": told.get("thinking")}
        choice = {"message": message, "finish_reason": found.get("done_reason")}
        usage = {"prompt_tokens": found.get("prompt_eval_count"), "completion_tokens": found.get("eval_count")}
        body = {"model": found.get("model"), "choices": [choice], "usage": usage}
        return read_reply(body, self.place.name, price, own_price=own_price, tools=tools)

    def _authorized(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"} if self.key else {}


FORMS: Mapping[str, type[Form]] = {
    "openai": OpenaiForm,
    "azure": AzureForm,
    "anthropic": AnthropicForm,
    "gemini": GeminiForm,
    "ollama": OllamaForm,
    "ollama_chat": OllamaForm,
}


class _Silent:
    """A logger for litellm's readers that keeps nothing."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.optional_params = parameters
        self.litellm_params: dict[str, Any] = {}
        self.model_call_details: dict[str, Any] = {}

    def post_call(self, *args: Any, **kwargs: Any) -> None:
        pass


OLLAMA = ("ollama", "ollama_chat")


@dataclass(frozen=True)
class _Skeleton:
    """The common part of requests with the same settings. `parameters` are JSON, copied for each call; `kept` are
    parameters that JSON cannot represent."""

    parameters: bytes
    kept: dict[str, Any] | None
    line: ModelConnection
    headers: dict[str, str]

    def own_parameters(self) -> dict[str, Any]:
        found: dict[str, Any] = orjson.loads(self.parameters) if self.kept is None else copy.deepcopy(self.kept)
        return found


class TranslatedModel:
    """A model of a provider in `FORMS`. Raises `ModelError` R0102 if the key is not set, and R0101 if the address is
    unknown. `own_price`: the price is the user's."""

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
        provider = NATIVE_PROVIDERS.get(provider_name) or PROVIDERS[provider_name]
        base_url = base_url_of(name, provider, endpoint)
        variable, key = key_of(name, provider, endpoint)
        self.endpoint = f"{base_url} {variable}".strip()
        self.structured = is_local_endpoint(endpoint) or _structured(name, provider_name, model)
        reasons = has_capability(provider_name, model, "supports_reasoning") is not False or REASONING_MODELS.search(
            model
        )
        self.most_samples = provider.samples if provider_name == "azure" and not reasons else 1
        self._folds_system = has_capability(provider_name, model, "supports_system_messages") is False
        self._lacking = ignored_settings_at(provider_name, provider, model, base_url)
        self.place = CallTarget(name, base_url, variable, (key,))
        self._form = FORMS[provider_name](provider_name, model, key, self.place)
        self._skeletons = RequestCache(self._skeleton, structured=self.structured, most_samples=self.most_samples)
        self._lines: dict[str, ModelConnection] = {}

    async def ask(self, request: Request) -> Reply:
        """Return the reply to the request, with `others` if it asks for several samples. Raises `ModelError`."""
        try:
            answer = await self._skeletons.part(request).line.post(self.request_body(request))
            return self.reply_in(request, answer)
        except ModelError:
            raise
        except Exception as error:
            # An error inside litellm may be any exception.
            place = self.place
            raise model_error(error, self.name, place.address, place.key_variables, place.secrets) from error

    def request_body(self, request: Request) -> bytes:
        """Return the body of a request as JSON."""
        skeleton = self._skeletons.part(request)
        parameters, messages = skeleton.own_parameters(), self._messages(request, request.contents)
        return orjson.dumps(self._form.body(messages, parameters, skeleton.headers))

    @property
    def headers(self) -> dict[str, str]:
        """The headers of every request."""
        return self._form.target({})[1]

    def reply_in(self, request: Request, answer: HttpAnswer) -> Reply:
        """Return the reply in an answer that came another way, such as in a batch. Raises `ModelError`."""
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
        """Close the connections."""
        for line in self._lines.values():
            await line.close()

    def ignored_settings(self, settings: Settings) -> tuple[str, ...]:
        """Return the names of the settings that a request would leave out."""
        return settings_dropped_by(self._form, self._lacking, settings)

    def _sent(self, settings: Settings) -> Settings:
        """Return the settings without those that no model of the provider accepts."""
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


def settings_dropped_by(form: Form, unknown: Collection[str], settings: Settings) -> tuple[str, ...]:
    """Return the settings that a request leaves out: the `unknown` ones, and those that the provider's form drops."""
    first = tuple(name for name in settings.given if name in unknown)
    taken = settings.without(frozenset(unknown))
    return (*first, *ignored_by_translation(taken, lambda told: form.parameters(told, 1), form.provider))


def _known_price(name: str) -> Price | None:
    """Return litellm's price of a model that its map has under another name."""
    provider = name.partition("/")[0]
    return None if provider in OLLAMA else known_price(name, provider)


def _structured(name: str, provider: str, model: str) -> bool:
    if provider in OLLAMA:
        return True  # litellm would ask the server, which may not be running yet
    told = has_capability(provider, model, "supports_response_schema")
    return bool(library().supports_response_schema(name)) if told is None else told
