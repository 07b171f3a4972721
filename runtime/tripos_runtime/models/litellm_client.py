"""Every model that litellm knows, asked over the network."""

from __future__ import annotations

import functools
import gc
import logging
import os
from typing import Any
from urllib.parse import urlsplit

from tripos_runtime.models.base import Endpoint, ModelError, Reply, Request
from tripos_runtime.models.litellm_errors import model_error

LOOPBACK = ("127.0.0.1", "localhost", "::1")


@functools.cache
def library() -> Any:
    """litellm, imported once, kept offline and quiet. The import costs seconds, less with the collector paused."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
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
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return litellm


class LitellmModel:
    """A model of litellm's. `route` is the name litellm is given where that is not the model's own.

    Opening raises `ModelError` R0103 where litellm knows no such provider and R0102 where the key is not set.
    """

    _opened = 0
    """How many are open in this process: litellm keeps one pool of connections for all of them."""

    def __init__(
        self, name: str, endpoint: Endpoint | None = None, *, route: str | None = None, timeout_s: float = 300.0
    ) -> None:
        litellm = library()
        self.name = name
        self._route = route or name
        self._timeout_s = timeout_s
        try:
            _, provider, _, api_base = litellm.get_llm_provider(self._route)
        except litellm.BadRequestError as error:
            hint = "write `provider/model`, such as `openai/gpt-4o`"
            raise ModelError("R0103", f"no provider of `{name}` is known", hint, fatal=True) from error
        self._where: dict[str, Any] = {}
        if endpoint is None:
            self._address = api_base or f"the address of {provider}"
            self._key_variables = self._require_key(litellm, provider)
        else:
            self._address = endpoint.base_url
            self._key_variables = endpoint.api_key_env or ""
            self._where = {"api_base": endpoint.base_url, "api_key": self._key_of(endpoint)}
        at_home = endpoint is not None and urlsplit(endpoint.base_url).hostname in LOOPBACK
        self.slots: int | None = None
        self.structured: bool = at_home or bool(litellm.supports_response_schema(self._route))
        LitellmModel._opened += 1
        self._closed = False

    async def ask(self, request: Request) -> Reply:
        """The reply to the request; `Reply.cost_usd` is `None` where litellm has no price for the model."""
        litellm = library()
        try:
            response = await litellm.acompletion(
                model=self._route,
                messages=[{"role": message.role, "content": message.content} for message in request.messages],
                timeout=self._timeout_s,
                num_retries=0,
                max_retries=0,
                **self._where,
                **self._settings(request),
            )
        except Exception as error:
            # litellm lets its own slips through as any exception, an `AttributeError` for a reply it cannot read.
            raise model_error(error, self.name, self._address, self._key_variables) from error
        return self._reply(response)

    async def close(self) -> None:
        """Closes litellm's connections once the last model is closed."""
        if self._closed:
            return
        self._closed = True
        LitellmModel._opened -= 1
        if LitellmModel._opened == 0:
            litellm = library()
            await litellm.close_litellm_async_clients()
            litellm.in_memory_llm_clients_cache.flush_cache()

    def _settings(self, request: Request) -> dict[str, Any]:
        settings: dict[str, Any] = {
            "temperature": request.temperature,
            "max_tokens": request.max_tokens,
            "seed": request.seed,
            "stop": list(request.stop) or None,
        }
        if request.schema is not None and self.structured:
            form = {"name": "reply", "schema": request.schema, "strict": True}
            settings["response_format"] = {"type": "json_schema", "json_schema": form}
        return {name: value for name, value in settings.items() if value is not None}

    def _reply(self, response: Any) -> Reply:
        if response is None:  # what litellm makes of status 422
            raise ModelError("R0110", f"`{self.name}` rejected the request", "check the settings of the step")
        if not response.choices:
            raise ModelError("R0111", f"`{self.name}` sent a reply without a choice", "try again later", retryable=True)
        choice = response.choices[0]
        text = choice.message.content or _refusal(choice.message) or ""
        if choice.finish_reason == "content_filter" and not text:
            hint = "the sample is kept as refused"
            raise ModelError("R0108", f"the provider of `{self.name}` withheld the reply", hint, status="refused")
        usage = getattr(response, "usage", None)
        tokens_in = getattr(usage, "prompt_tokens", None) or None  # litellm writes 0 where the provider sent none
        return Reply(
            text=text.encode(errors="replace").decode(),  # a lone surrogate could not be stored
            model_served=response.model or self.name,
            finish_reason=choice.finish_reason,
            tokens_in=tokens_in,
            tokens_out=None if tokens_in is None else getattr(usage, "completion_tokens", None),
            cost_usd=None if tokens_in is None else self._cost_usd(response),
        )

    def _cost_usd(self, response: Any) -> float | None:
        litellm = library()
        try:
            entry = litellm.get_model_info(self._route)["key"]
        except Exception:
            # litellm raises a bare `Exception` where it has no entry for a model.
            return None
        if not any("cost" in field for field in litellm.model_cost.get(entry, {})):
            return None
        cost = response._hidden_params.get("response_cost")
        return None if cost is None else float(cost)

    def _require_key(self, litellm: Any, provider: str) -> str:
        """The environment variable of the key, as far as it is known. Raises `ModelError` where it is not set."""
        usual = f"{provider.upper()}_API_KEY"
        missing: list[str] = litellm.validate_environment(self._route)["missing_keys"]
        # Azure and the clouds have other ways to sign in; a provider that wants nothing but a key has none.
        if missing and all(name.endswith("_API_KEY") for name in missing) and not provider.startswith("azure"):
            hint = f"set {' or '.join(missing)}"
            raise ModelError("R0102", f"the key for `{self.name}` is missing", hint, fatal=True)
        return usual if usual in os.environ else ""

    def _key_of(self, endpoint: Endpoint) -> str:
        if endpoint.api_key_env is None:
            return "none"
        key = os.environ.get(endpoint.api_key_env)
        if not key:
            hint = f"set {endpoint.api_key_env}"
            raise ModelError("R0102", f"the key for `{self.name}` is missing", hint, fatal=True)
        return key


def _refusal(message: Any) -> str | None:
    fields = getattr(message, "provider_specific_fields", None) or {}
    return getattr(message, "refusal", None) or fields.get("refusal")
