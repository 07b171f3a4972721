"""The settings of a request: one frozen record from the spec to the provider, and the key of all that is kept by it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import product
from typing import Any, Literal

from pydantic import field_validator

from tripos_compiler.plan.base import Part
from tripos_compiler.plan.expressions import Expr

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


class _Fields(Part):
    """The settings that there are. A field is sent, kept and exported by what stands here: one more is a line here, and
    one in `constructs/settings.py` for how it is written."""

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


class Settings(_Fields):
    """The settings of a request, by OpenAI's names. The model determines those that are not given.

    >>> Settings(temperature=0.0).given, Settings() == Settings(stop=())
    ({'temperature': 0.0}, True)
    """

    @property
    def given(self) -> dict[str, Any]:
        """The settings that are given, as JSON values by name; `provider` is a record."""
        return {name: _json_value(name, value) for name in NAMES if (value := getattr(self, name)) not in (None, ())}

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


NAMES = tuple(_Fields.model_fields)
"""The names of the settings."""
REPEATED = "stop"
"""The setting of which all texts count that are given, and of every other the first value."""
MOST_STOPS = 6
"""Conditions of `stop` whose combinations are tried."""


def _json_value(name: str, value: Any) -> Any:
    return as_record(value) if name == "provider" else list(value) if name == "stop" else value


class SettingCase(Part):
    """A line of one setting that counts for some requests: in a language, where it has one, and where `when` holds."""

    name: str
    """The name of the setting, which alone `settings` has."""
    settings: Settings
    language: str | None = None
    when: Expr | None = None

    @property
    def value(self) -> Any:
        """The value of the setting."""
        return getattr(self.settings, self.name)


class DeclaredSettings(_Fields):
    """The settings as a spec gives them: its own fields for every request, unless one of the `cases` counts for it.

    Of the cases of a setting the first one counts that holds; the texts of `stop` are those of all that hold.

    >>> from tripos_compiler.plan import Literal_
    >>> hot = SettingCase(name="temperature", settings=Settings(temperature=0.7), when=Literal_(value=True))
    >>> found = DeclaredSettings(temperature=0.0, cases=(hot,))
    >>> found.of("en", lambda when: when.value).temperature, found.of("en", lambda when: False).temperature
    (0.7, 0.0)
    """

    cases: tuple[SettingCase, ...] = ()

    @property
    def otherwise(self) -> Settings:
        """The settings of a request for which no case counts."""
        return Settings(**{name: getattr(self, name) for name in NAMES})

    def of(self, language: str, holds: Callable[[Expr], bool]) -> Settings:
        """Return the settings of one request; `holds` evaluates a condition."""
        if not self.cases:
            return self.otherwise
        counting = [each for each in self.cases if each.when is None or holds(each.when)]
        return self._with(each for each in counting if each.language in (None, language))

    def _with(self, cases: Iterable[SettingCase]) -> Settings:
        found: dict[str, Any] = {}
        for case in cases:
            if case.name == REPEATED:
                found[REPEATED] = (*found.get(REPEATED, self.stop), *case.value)
            else:
                found.setdefault(case.name, case.value)
        return self.otherwise.model_copy(update=found)

    def values(self, name: str) -> tuple[Any, ...]:
        """Return the values that a setting has in some requests, each once."""
        cases = [case for case in self.cases if case.name == name]
        if name != REPEATED:
            return tuple(dict.fromkeys((*(case.value for case in cases), getattr(self, name))))
        found = [getattr(self._with(()), name)]
        for language in dict.fromkeys(case.language for case in cases):
            own = [case for case in cases if case.language in (None, language)]
            chosen = [case for case in own if case.when is not None]
            for held in product((False, True), repeat=len(chosen)) if len(chosen) <= MOST_STOPS else ():
                out = {id(case) for case, holds in zip(chosen, held, strict=True) if not holds}
                found.append(self._with(case for case in own if id(case) not in out).stop)
        return tuple(dict.fromkeys(found))

    @property
    def possible(self) -> Iterator[Settings]:
        """Yield all settings that a request may have, each once; some that none has, where conditions hang together."""
        for values in product(*(self.values(name) for name in self.varied)):
            yield self.otherwise.model_copy(update=dict(zip(self.varied, values, strict=True)))

    @property
    def widest(self) -> Settings:
        """The settings of which a reply is the longest and a request the largest, of all that there may be."""
        longest, details = self.values("max_tokens"), self.values("image_detail")
        detail: Detail | None = next((each for each in _LARGEST_FIRST if each in details), None)
        most = None if None in longest else max(longest)
        return self.otherwise.model_copy(update={"max_tokens": most, "image_detail": detail})

    @property
    def drawn(self) -> bool:
        """True if some reply may be drawn at random, as `Settings.drawn` says."""
        warm = any(each != 0 for each in self.values("temperature"))
        return warm and any(each != 1 for each in self.values("top_k")) and None in self.values("seed")

    @property
    def copies(self) -> bool:
        """True if every request is sent at temperature 0, so that further samples are copies of the first."""
        return self.values("temperature") == (0,)

    @property
    def given(self) -> dict[str, Any]:
        """The settings that are given, as JSON values by name; of one with cases the list of them, in their order, each
        with its `value` and when it counts."""
        found = self.otherwise.given
        for name in self.varied:
            lines = [_line(each) for each in self.cases if each.name == name]
            found[name] = [*lines, *([{"value": found[name]}] if name in found else [])]
        return found

    @property
    def varied(self) -> tuple[str, ...]:
        """The names of the settings that have cases."""
        return tuple(dict.fromkeys(case.name for case in self.cases))

    def conditions(self) -> Iterator[Expr]:
        """Yield the condition of every case that has one."""
        yield from (case.when for case in self.cases if case.when is not None)


_LARGEST_FIRST: tuple[Detail | None, ...] = ("high", None, "auto", "low")
"""How closely images are looked at, by the tokens that it takes at the most."""


def _line(case: SettingCase) -> dict[str, Any]:
    found = {"value": _json_value(case.name, case.value)}
    found |= {} if case.language is None else {"language": case.language}
    return found if case.when is None else {**found, "when": case.when.model_dump(mode="json")}


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
