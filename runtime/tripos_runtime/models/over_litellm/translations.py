"""The forms that litellm translates a request to: where each is sent, its body, and the reply in its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tripos_runtime.models.base import Price, Reply
from tripos_runtime.models.catalog import FOREIGN, PROVIDERS, CallPlace, answer_error, variables_of
from tripos_runtime.models.over_http import HttpAnswer, completion, headers_of, openai_headers, parsed, read_reply
from tripos_runtime.models.over_litellm.litellm_client import library, read_response
from tripos_runtime.models.over_litellm.readings import (
    from_anthropic,
    from_gemini,
    words_of_anthropic,
    words_of_gemini,
)

Messages = list[dict[str, Any]]


class Form:
    """The common part of all forms: litellm's configuration of a provider's model, and its parameters for a request's
    settings.

    `key` is the provider's key, "" where none is needed. The parameters belong to one call: litellm changes them.
    """

    def __init__(self, provider: str, model: str, key: str, place: CallPlace) -> None:
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
        """Return the settings by the provider's names, without those that the model does not take."""
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
        """Return the address that a request is sent to, and its headers."""
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
        """Return what is sent, as JSON values."""
        return self.config.transform_request(
            model=self.model, messages=messages, optional_params=parameters, litellm_params=self.litellm_params,
            headers=headers,
        )  # fmt: skip

    def plain(self, body: bytes) -> dict[str, Any] | None:
        """Return a reply that is nothing but text, in OpenAI's form; `None` for any other."""
        return None

    def words(self, body: bytes) -> list[str]:
        """Return the provider's words for how each choice of a reply ended, as far as they are known."""
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
        """Return the reply in an answer with status 200: read directly where it is plain, else by litellm."""
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
    """OpenAI's own, for models that take other settings than most: litellm says which, the reply is read directly."""

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
    """OpenAI's, at the address of a deployment."""

    def version(self) -> dict[str, str]:
        told = variables_of(FOREIGN["azure"]).get("AZURE_API_VERSION")
        return {"api_version": told or library().AZURE_DEFAULT_API_VERSION}

    def target(self, parameters: dict[str, Any]) -> tuple[str, dict[str, str]]:
        url = f"{self.place.address}/openai/deployments/{self.model}/chat/completions"
        headers = {"api-key": self.key, "Content-Type": "application/json", "Accept": "application/json"}
        return f"{url}?api-version={self.version()['api_version']}", headers


class AnthropicForm(Form):
    """Anthropic's messages."""

    def plain(self, body: bytes) -> dict[str, Any] | None:
        return from_anthropic(parsed(body))

    def words(self, body: bytes) -> list[str]:
        return words_of_anthropic(parsed(body))

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
        return from_gemini(parsed(body))

    def words(self, body: bytes) -> list[str]:
        return words_of_gemini(parsed(body))

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
    """Ollama's own, for `ollama/` (`/api/generate`) and `ollama_chat/` (`/api/chat`)."""

    def parameters(self, settings: Mapping[str, Any], samples: int) -> dict[str, Any]:
        """As those of any form. Tools go as they are: litellm would ask the server whether the model takes them."""
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
        # litellm's reading counts tokens by itself where Ollama tells none, which would pass for what was told.
        try:
            found = parsed(answer.body)
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
    """A logger for litellm's readers: it keeps nothing."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.optional_params = parameters
        self.litellm_params: dict[str, Any] = {}
        self.model_call_details: dict[str, Any] = {}

    def post_call(self, *args: Any, **kwargs: Any) -> None:
        pass
