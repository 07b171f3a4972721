"""The settings of a request: one frozen record from the spec to the provider, and the key of all that is kept by it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Literal

from pydantic import field_validator

from tripos_compiler.plan.base import Part

Detail = Literal["low", "high", "auto"]
Template = Literal["own"]
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh"]


class Extra(Part):
    """A field of the provider's own: a text, a number, a truth value, or a record of such. Kinds stand apart, since
    `True == 1` in Python and a request that says `true` is not one that says `1`."""

    name: str
    text: str | None = None
    number: int | float | None = None
    truth: bool | None = None
    record: tuple[Extra, ...] = ()

    @field_validator("number")
    @classmethod
    def _one_form(cls, number: int | float | None) -> int | float | None:
        """`1.0` is `1`, as it is for `==`: equal settings are one key, and are sent alike."""
        return int(number) if isinstance(number, float) and number.is_integer() else number

    @property
    def value(self) -> Any:
        """As a JSON value."""
        for plain in (self.text, self.number, self.truth):
            if plain is not None:
                return plain
        return as_record(self.record)


def as_record(extras: Iterable[Extra]) -> dict[str, Any]:
    """Return fields of the provider's own as a JSON object.

    >>> as_record([Extra(name="top_a", number=0.2), Extra(name="kwargs", record=(Extra(name="think", truth=False),))])
    {'top_a': 0.2, 'kwargs': {'think': False}}
    """
    return {extra.name: extra.value for extra in extras}


class Settings(Part):
    """The settings of a request, by OpenAI's names. The model determines those that are not given.

    A field is sent, kept and exported by what stands here: one more is a line here, and one in `constructs/settings.py`
    for how it is written.

    >>> Settings(temperature=0.0).given, Settings() == Settings(stop=())
    ({'temperature': 0.0}, True)
    """

    temperature: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    top_p: float | None = None
    top_k: int | None = None
    seed: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    reasoning_effort: Effort | None = None
    top_logprobs: int | None = None
    image_detail: Detail | None = None
    chat_template: Template | None = None
    """The text of a plain question stands as a user's message in the template of a chat that the model's file has."""
    provider: tuple[Extra, ...] = ()

    @property
    def given(self) -> dict[str, Any]:
        """The settings that are given, as JSON values by name; `provider` is a record."""
        found: dict[str, Any] = {}
        for name in Settings.model_fields:
            value = getattr(self, name)
            if value is None or value == ():
                continue
            found[name] = as_record(value) if name == "provider" else list(value) if name == "stop" else value
        return found

    @property
    def drawn(self) -> bool:
        """True if a reply is drawn at random: unless the temperature is given as 0, one token alone may come, or a seed
        says which draw it is. A temperature that is left to the model is its own, and seldom 0."""
        return self.temperature != 0 and self.top_k != 1 and self.seed is None

    def without(self, names: Collection[str]) -> Settings:
        """Return the settings without those of these names."""
        return self.model_copy(update={name: Settings.model_fields[name].default for name in names})

    def of_sample(self, number: int) -> Settings:
        """Return the settings that sample `number` of a question is asked with: one seed is one draw, so that each
        sample has its own.

        >>> Settings(seed=7).of_sample(2).seed, Settings().of_sample(2).seed
        (9, None)
        """
        return self if self.seed is None or number == 0 else self.model_copy(update={"seed": self.seed + number})


LEFT = Settings()
"""Every setting is left to the model."""


RESERVED = frozenset(
    {
        *("model", "messages", "prompt", "input", "suffix", "echo", "stream", "stream_options", "n", "best_of"),
        *("samples", "response_format", "tools", "tool_choice", "functions", "function_call", "logprobs"),
        *("top_logprobs", "metadata", "callbacks", "cache", "caching", "fallbacks", "user_id", "client"),
        *("key", "api_key", "api_base", "api_version", "base_url", "api_type", "organization", "mock_response"),
        *("headers", "extra_headers", "extra_body", "extra_query", "timeout", "num_retries", "max_retries"),
        *("custom_llm_provider", "drop_params", "additional_drop_params", "allowed_openai_params"),
    }
)
"""What a request has besides its settings, or what says where it goes: no field of the provider's own."""
