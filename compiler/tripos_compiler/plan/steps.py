"""Steps of a scenario, and the settings of their requests.

Settings are one frozen record from the spec to the provider, and a key of stored results.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache
from itertools import product
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, field_validator

from tripos_compiler.plan.base import Part
from tripos_compiler.plan.expressions import (
    ChoiceType,
    Each,
    Expr,
    Loop,
    OptionalType,
    RecordType,
    Texts,
    TextType,
    Type,
)
from tripos_compiler.plan.structured_replies import Tool, probability_fields

# Settings of a request

Detail = Literal["low", "high", "auto"]
Template = Literal["own"]
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh"]


class Extra(Part):
    """Provider-specific field: a text, a number, a bool, or a record of such fields. Each kind has its own attribute
    because `True == 1` in Python, but a request with `true` differs from one with `1`."""

    name: str
    text: str | None = None
    number: int | float | None = None
    truth: bool | None = None
    record: tuple[Extra, ...] = ()

    @field_validator("number")
    @classmethod
    def _one_form(cls, number: int | float | None) -> int | float | None:
        """Normalize `1.0` to `1`: equal settings must be one key and be sent alike."""
        return int(number) if isinstance(number, float) and number.is_integer() else number

    @property
    def value(self) -> Any:
        """The field as a JSON value."""
        for plain in (self.text, self.number, self.truth):
            if plain is not None:
                return plain
        return as_record(self.record)


def as_record(extras: Iterable[Extra]) -> dict[str, Any]:
    """Return provider-specific fields as a JSON object.

    >>> as_record([Extra(name="top_a", number=0.2), Extra(name="kwargs", record=(Extra(name="think", truth=False),))])
    {'top_a': 0.2, 'kwargs': {'think': False}}
    """
    return {extra.name: extra.value for extra in extras}


class _Fields(Part):
    """All settings. Sending, storing and exporting follow from the fields of this class. A new setting is a line here
    and one in the table of settings of `constructs/table.py`, which defines its notation."""

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
    """With `own`, the text of a plain ask is sent as a user message in the chat template of the model's file."""
    provider: tuple[Extra, ...] = ()


class Settings(_Fields):
    """Settings of a request, by OpenAI's names. The model determines those that are not given.

    >>> Settings(temperature=0.0).given, Settings() == Settings(stop=())
    ({'temperature': 0.0}, True)
    """

    @property
    def given(self) -> dict[str, Any]:
        """Given settings as JSON values by name; `provider` is a record."""
        return {name: _json_value(name, value) for name in NAMES if (value := getattr(self, name)) not in (None, ())}

    @property
    def drawn(self) -> bool:
        """True if a reply is drawn at random. It is not if the temperature is given as 0, if only one token is
        possible, or if a seed fixes the draw. An unspecified temperature is the model's default, which is seldom 0."""
        return self.temperature != 0 and self.top_k != 1 and self.seed is None

    def without(self, names: Collection[str]) -> Settings:
        """Return the settings without those with the given names."""
        return self.model_copy(update={name: Settings.model_fields[name].default for name in names})

    def of_sample(self, number: int) -> Settings:
        """Return the settings for sample `number` of a request. A seed fixes one draw, so each sample has its own seed.

        >>> Settings(seed=7).of_sample(2).seed, Settings().of_sample(2).seed
        (9, None)
        """
        return self if self.seed is None or number == 0 else self.model_copy(update={"seed": self.seed + number})


NAMES = tuple(_Fields.model_fields)
"""Names of the settings."""
REPEATED = "stop"
"""Setting whose given texts all apply; of every other setting the first value applies."""
MAX_STOP_CONDITIONS = 6
"""Largest number of conditions on `stop` whose combinations are enumerated."""


def _json_value(name: str, value: Any) -> Any:
    return as_record(value) if name == "provider" else list(value) if name == "stop" else value


class SettingCase(Part):
    """Conditional value of one setting: it applies in one language, if `language` is set, and if `when` holds."""

    name: str
    """Name of the setting, the only one in `settings`."""
    settings: Settings
    language: str | None = None
    when: Expr | None = None

    @property
    def value(self) -> Any:
        """Value of the setting."""
        return getattr(self.settings, self.name)


class DeclaredSettings(_Fields):
    """Settings as declared in a spec: its own fields apply to every request unless one of the `cases` applies.

    The first case of a setting that holds applies. For `stop`, the texts of all cases that hold apply.

    >>> from tripos_compiler.plan import Literal_
    >>> hot = SettingCase(name="temperature", settings=Settings(temperature=0.7), when=Literal_(value=True))
    >>> found = DeclaredSettings(temperature=0.0, cases=(hot,))
    >>> found.of("en", lambda when: when.value).temperature, found.of("en", lambda when: False).temperature
    (0.7, 0.0)
    """

    cases: tuple[SettingCase, ...] = ()

    @property
    def otherwise(self) -> Settings:
        """Settings of a request to which no case applies."""
        return Settings(**{name: getattr(self, name) for name in NAMES})

    def of(self, language: str, holds: Callable[[Expr], bool]) -> Settings:
        """Return the settings of one request; `holds` evaluates a condition."""
        if not self.cases:
            return self.otherwise
        counting = [case_ for case_ in self.cases if case_.when is None or holds(case_.when)]
        return self._with(case_ for case_ in counting if case_.language in (None, language))

    def _with(self, cases: Iterable[SettingCase]) -> Settings:
        values: dict[str, Any] = {}
        for case in cases:
            if case.name == REPEATED:
                values[REPEATED] = (*values.get(REPEATED, self.stop), *case.value)
            else:
                values.setdefault(case.name, case.value)
        return self.otherwise.model_copy(update=values)

    def values(self, name: str) -> tuple[Any, ...]:
        """Return the distinct values that a setting may have."""
        cases = [case for case in self.cases if case.name == name]
        if name != REPEATED:
            return tuple(dict.fromkeys((*(case.value for case in cases), getattr(self, name))))
        possible = [getattr(self._with(()), name)]
        for language in dict.fromkeys(case.language for case in cases):
            setting_cases = [case for case in cases if case.language in (None, language)]
            chosen = [case for case in setting_cases if case.when is not None]
            for held in product((False, True), repeat=len(chosen)) if len(chosen) <= MAX_STOP_CONDITIONS else ():
                out = {id(case) for case, holds in zip(chosen, held, strict=True) if not holds}
                possible.append(self._with(case for case in setting_cases if id(case) not in out).stop)
        return tuple(dict.fromkeys(possible))

    @property
    def possible(self) -> Iterator[Settings]:
        """Yield the distinct settings that a request may have. Some may be impossible because their conditions depend
        on each other."""
        for values in product(*(self.values(name) for name in self.varied)):
            yield self.otherwise.model_copy(update=dict(zip(self.varied, values, strict=True)))

    @property
    def widest(self) -> Settings:
        """Settings with the longest possible reply and the largest possible request."""
        longest, details = self.values("max_tokens"), self.values("image_detail")
        detail: Detail | None = next((candidate for candidate in _LARGEST_FIRST if candidate in details), None)
        most = None if None in longest else max(longest)
        return self.otherwise.model_copy(update={"max_tokens": most, "image_detail": detail})

    @property
    def drawn(self) -> bool:
        """True if some reply may be drawn at random; see `Settings.drawn`."""
        warm = any(value != 0 for value in self.values("temperature"))
        return warm and any(value != 1 for value in self.values("top_k")) and None in self.values("seed")

    @property
    def copies(self) -> bool:
        """True if every request is sent at temperature 0, so that further samples are copies of the first."""
        return self.values("temperature") == (0,)

    @property
    def given(self) -> dict[str, Any]:
        """Given settings as JSON values by name. A setting with cases is the list of them, in order, each with its
        `value` and condition."""
        settings = self.otherwise.given
        for name in self.varied:
            lines = [_line(case_) for case_ in self.cases if case_.name == name]
            settings[name] = [*lines, *([{"value": settings[name]}] if name in settings else [])]
        return settings

    @property
    def varied(self) -> tuple[str, ...]:
        """The names of the settings with cases."""
        return tuple(dict.fromkeys(case.name for case in self.cases))

    def conditions(self) -> Iterator[Expr]:
        """Yield the condition of every case that has one."""
        yield from (case.when for case in self.cases if case.when is not None)


_LARGEST_FIRST: tuple[Detail | None, ...] = ("high", None, "auto", "low")
"""Values of `image_detail`, by decreasing number of tokens."""


def _line(case: SettingCase) -> dict[str, Any]:
    line = {"value": _json_value(case.name, case.value)}
    line |= {} if case.language is None else {"language": case.language}
    return line if case.when is None else {**line, "when": case.when.model_dump(mode="json")}


MODEL_DEFAULTS = Settings()
"""Settings that leave everything to the model."""


# Marks of the fields of steps

Use = Literal[
    "condition", "text", "settings", "dialogue", "options", "source", "arguments", "loops", "example", "filter",
    "query", "ranking", "included", "result", "value", "type", "tools", "speakers", "role", "other",
]  # fmt: skip
"""What a step does with a field. It does not run if a text, a condition of a setting, a dialogue, options, a source or
arguments are undefined. A result and a value are computed after the reply."""
Effect = Literal["content", "elsewhere", "evaluation", "applicability", "draw", "derived"]
"""What depends on a field: the reply or score itself; the same, by the content of another field or part; how often a
reply is requested and how scores are read from it; whether the step runs and for which reply; which of several draws of
a request the reply is; nothing, because the field follows from others."""


class FieldMark(NamedTuple):
    """Meaning of a field of a step, a speaker, shots or a scorer, for everything that reads steps field by field.

    A field without a mark counts as content, as information that reaches the model, as possibly undefined, and as a
    change of the step.
    """

    use: Use = "other"
    effect: Effect = "content"
    change: str = ""
    """Kind of change in a difference of plans; empty for the kind of the step."""
    title: str = ""
    """Name of the field in a difference of plans, if it is not that of the field."""
    brief: str = ""
    """Short description of a change, if it is not the name of the field."""
    written: tuple[str, str] = ("", "")
    """Construct of the field in a spec, and the name of its operand; empty for the head of the construct."""
    discloses: str = ""
    """Message about a secret in the field, if it has one of its own."""
    names_step: bool = False
    """Whether the value is the name of an earlier step, whose result is used."""


@cache
def field_marks(of: type[Part]) -> dict[str, FieldMark]:
    """Return the mark of each field of a class of parts.

    >>> field_marks(Score)["when"].effect, field_marks(Score)["truth"] == FieldMark()
    ('applicability', True)
    """
    return {
        name: next((mark for mark in field.metadata if isinstance(mark, FieldMark)), FieldMark())
        for name, field in of.model_fields.items()
    }


def fields_with(of: type[Part], *effects: Effect) -> list[str]:
    """Return the fields of a class of parts with one of these effects, in order."""
    return [name for name, mark in field_marks(of).items() if mark.effect in effects]


DERIVED = FieldMark(effect="derived")
ELSEWHERE = FieldMark(effect="elsewhere")
EVALUATION = FieldMark(effect="evaluation")
SAMPLES = FieldMark(effect="evaluation", change="settings")
CONDITION = FieldMark("condition", "applicability", title="the condition", brief="its condition")
EARLIER = FieldMark(
    "condition",
    "applicability",
    title="the condition of an earlier score of its name",
    brief="the condition of an earlier one",
)
TEXT = FieldMark("text", change="prompt", discloses="this prompt tells")
SETTINGS = FieldMark("settings", change="settings", discloses="its condition tells")
TYPE = FieldMark("type")
FOLLOWING_TYPE = FieldMark("type", "elsewhere")
VALUE = FieldMark("value", title="the expression", brief="computed in another way")
ARGUMENTS = FieldMark("arguments", title="what the scorer is given")
OWNER = FieldMark(effect="applicability")


# Steps

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
"""Fields of a request other than its settings, and those that determine its destination; not allowed as
provider-specific fields."""


REPLY_PARTS: Mapping[str, Type] = {"text": TextType(), "thinking": OptionalType(of=TextType()), "raw": TextType()}
"""Parts of a reply in expressions: the answer, the thinking, and the complete text byte for byte. A field of a reply
with one of these names hides the part."""


class Shots(Part):
    """Worked examples before a prompt: `count` rows of a data set that satisfy `where`, without the row itself and rows
    that share its key. Each example is a user turn and a reply, with its row known as `alias`."""

    count: int
    dataset: Annotated[str, ELSEWHERE]
    alias: str
    where: Annotated[Expr | None, FieldMark("filter")] = None
    drawn: Annotated[Expr | None, FieldMark("source")] = None
    """Text that seeds the random draw; without it the first rows are taken."""
    prompt: Annotated[Texts, TEXT]
    reply: Annotated[Texts, TEXT]


class Plain(Part):
    """Plain-text request without chat roles, which the model continues: `parted` separates worked examples, and `link`
    precedes each answer."""

    parted: str = "\n\n"
    link: str = " "


class Ask(Part):
    """Call of `role` for each row and sample. `returns` is the record type into which the reply is read.

    The request has, in order: the system message; the shots; the turns of `chat`, or of the conversation that
    `continues` names, from the role's side; the prompt. If `continues` names an ask, its messages and reply precede the
    prompt. A `plain` request is one text. With `options` the model returns the likelihood of each option and writes
    nothing. The model may call `tools`, or those in the list `offered` of the row; `returns` is then `calling_type`.
    With `acts`, the calls in its reply are executed and their results are stored with the reply; an ask that continues
    it receives the results.
    """

    step: Annotated[Literal["ask"], DERIVED] = "ask"
    name: Annotated[str, DERIVED]
    role: Annotated[str, FieldMark("role")]
    system: Annotated[Texts | None, TEXT] = None
    shots: Annotated[tuple[Shots, ...], FieldMark("example", "elsewhere", change="prompt")] = ()
    chat: Annotated[
        Expr | None, FieldMark("dialogue", change="prompt", written=("chat", "value"), discloses="this chat tells")
    ] = None
    continues: Annotated[
        str | None,
        FieldMark(
            "source", change="prompt", written=("continue", "step"), discloses="continuing it tells", names_step=True
        ),
    ] = None
    prompt: Annotated[Texts | None, TEXT] = None
    plain: Annotated[Plain | None, FieldMark(change="prompt")] = None
    options: Annotated[
        Expr | None,
        FieldMark("options", change="prompt", written=("likelihood", "options"), discloses="these options tell"),
    ] = None
    tools: Annotated[tuple[Tool, ...], FieldMark("tools", change="prompt")] = ()
    offered: Annotated[
        Expr | None, FieldMark("source", change="prompt", written=("tools", ""), discloses="these tools tell")
    ] = None
    acts: Annotated[
        tuple[Expr, ...], FieldMark("result", written=("state", "value"), discloses="the results of its tools tell")
    ] = ()
    """For a turn whose calls are executed: a call of each tool's function with the preceding state."""
    user: Annotated[str | None, FieldMark("role")] = None
    """For such a turn: the role that answers if there is no call."""
    opened: bool = False
    """Whether `chat` begins with a turn of this role, which is then preceded by the request to begin."""
    returns: Annotated[Type | None, FieldMark("type", change="prompt")] = None
    numbers: dict[str, str] = {}
    """Locale, by language, for reading numbers that a reply writes outside JSON; the default is `en`."""
    samples: Annotated[int, SAMPLES] = 1
    settings: Annotated[DeclaredSettings, SETTINGS] = DeclaredSettings()
    element: Annotated[int | None, ELSEWHERE] = None
    """For an ask about each element of a list: the index of its element, from 0."""
    when: Annotated[Expr | None, CONDITION] = None
    needs: Annotated[tuple[str, ...], DERIVED] = ()
    """All earlier steps with a model call on which it depends, directly or indirectly."""
    draw: Annotated[int, FieldMark(effect="draw")] = 0
    """Number of earlier steps of the scenario that send the same request, if its settings leave the reply to chance. It
    is part of the fingerprint, so that each step has its own reply."""
    condition: Annotated[str, DERIVED] = ""
    """Digest of all conditions on this step: its own and those of the steps on which it depends. Empty if it is
    unconditional."""
    fingerprint: Annotated[str, DERIVED]

    @property
    def read_as(self) -> Type | None:
        """Return the type of a reply in expressions: `returns`, and with `top_logprobs` in the settings a record that
        adds token probabilities."""
        if self.settings.top_logprobs is None:
            return self.returns
        declared = {} if self.returns is None else {"value": self.returns}
        return RecordType(fields={**declared, **probability_fields(self.returns)})

    @property
    def calls_tools(self) -> bool:
        """True if the model may call tools."""
        return bool(self.tools) or self.offered is not None

    @property
    def script(self) -> str:
        """Return the name of the multi-turn ask, or of the ask for each element of a list, to which this one belongs;
        empty if there is none."""
        return self.name.rpartition("(")[0]

    @property
    def before(self) -> str | None:
        """Return the preceding step of its chat. For an ask about each element of a list it is the ask about the
        preceding element."""
        return f"{self.script}({self.element})" if self.element else self.continues

    @property
    def takes_results(self) -> bool:
        """True if the request consists of the results of the preceding turn's calls, so that no prompt is required."""
        return bool(self.acts) and bool(self.script) and (self.continues or "").rpartition("(")[0] == self.script


def turns_before(ask: Ask, asks: Mapping[str, Ask]) -> tuple[Ask, ...]:
    """Return the earlier turns of the same multi-turn ask, or earlier asks about elements of the same list, the last
    one first."""
    turns: list[Ask] = []
    while ask.script and (earlier := asks.get(ask.before or "")) is not None and earlier.script == ask.script:
        turns.append(ask := earlier)
    return tuple(turns)


class Speaker(Part):
    """Side of a conversation."""

    role: Annotated[str, FieldMark("role")]
    system: Annotated[Texts | None, TEXT] = None
    settings: Annotated[DeclaredSettings, SETTINGS] = DeclaredSettings()


class Until(Part):
    """End condition of a conversation: `role` says `text`, in any case, alone or inside a turn."""

    role: str
    text: str


class Converse(Part):
    """Conversation of two roles in turns, begun by `opens`, until an end condition holds or `limit` turns are reached.
    Each row has `repeat` such conversations."""

    step: Annotated[Literal["converse"], DERIVED] = "converse"
    name: Annotated[str, DERIVED]
    speakers: Annotated[tuple[Speaker, Speaker], FieldMark("speakers")]
    opens: Annotated[str, FieldMark("role", brief="who opens")]
    until: Annotated[tuple[Until, ...], FieldMark(brief="what ends it")]
    limit: Annotated[int, FieldMark(change="settings")]
    repeat: Annotated[int, SAMPLES] = 1
    when: Annotated[Expr | None, CONDITION] = None
    needs: Annotated[tuple[str, ...], DERIVED] = ()
    draw: Annotated[int, FieldMark(effect="draw")] = 0
    """See `Ask.draw`."""
    condition: Annotated[str, DERIVED] = ""
    """See `Ask.condition`."""
    fingerprint: Annotated[str, DERIVED]

    @property
    def samples(self) -> int:
        """Return the number of conversations for a row."""
        return self.repeat


class Retrieve(Part):
    """The `top` elements of `source` (each known as `alias`, restricted by `where`) by the value of `by`, together with
    `include`. `using` is the role whose model embeds texts for a similarity."""

    step: Annotated[Literal["retrieve"], DERIVED] = "retrieve"
    name: Annotated[str, DERIVED]
    source: Annotated[Expr, FieldMark("source")]
    alias: str
    where: Annotated[Expr | None, FieldMark("query")] = None
    top: int
    by: Annotated[Expr, FieldMark("ranking")]
    using: Annotated[str | None, FieldMark("role")] = None
    include: Annotated[tuple[Expr, ...], FieldMark("included")] = ()
    when: Annotated[Expr | None, CONDITION] = None
    needs: Annotated[tuple[str, ...], DERIVED] = ()
    fingerprint: Annotated[str, DERIVED]

    @property
    def samples(self) -> int:
        """Return 1: retrieval is done once for a row."""
        return 1


class SampleList(Part):
    """List of the replies to all samples of an ask: one list for a row, independent of the sample that a step
    continues."""

    step: Annotated[Literal["samples"], DERIVED] = "samples"
    name: Annotated[str, DERIVED]
    of: Annotated[str, FieldMark("source", names_step=True)]
    when: Annotated[Expr | None, CONDITION] = None
    needs: Annotated[tuple[str, ...], DERIVED] = ()
    fingerprint: Annotated[str, DERIVED]

    @property
    def samples(self) -> int:
        """Return 1: the list is built once for a row."""
        return 1


class Verdict(Part):
    """Value of a scorer inside an expression: a call of the scorer's role that is not a score by itself."""

    step: Annotated[Literal["verdict"], DERIVED] = "verdict"
    name: Annotated[str, DERIVED]
    scorer: Annotated[str, ELSEWHERE]
    args: Annotated[dict[str, Expr], ARGUMENTS]
    loops: Annotated[tuple[Loop, ...], FieldMark("loops")] = ()
    """Nested lists whose elements are judged separately; a later list may depend on an element of an earlier one."""
    when: Annotated[Expr | None, CONDITION] = None
    earlier: Annotated[tuple[Expr, ...] | None, EARLIER] = None
    """See `Score.earlier`; set if a single score uses the verdict."""
    needs: Annotated[tuple[str, ...], DERIVED] = ()
    inputs: Annotated[tuple[str, ...] | None, DERIVED] = None
    """See `Grade.inputs`."""
    condition: Annotated[str, DERIVED] = ""
    """See `Ask.condition`."""
    judgement: Annotated[str, DERIVED]
    fingerprint: Annotated[str, DERIVED]

    @property
    def judged(self) -> tuple[str, ...]:
        """Return the steps that identify the judge's reply: those on which its arguments depend."""
        return self.needs if self.inputs is None else self.inputs


class Score(Part):
    """Value computed from a response by an expression."""

    step: Annotated[Literal["score"], DERIVED] = "score"
    name: Annotated[str, DERIVED]
    value: Annotated[Expr, VALUE]
    of: Annotated[str, OWNER]
    """Step whose reply is scored: the last step of the compared role on which the score depends, or else the last
    step."""
    needs: Annotated[tuple[str, ...], DERIVED]
    """All steps with a model call on which it depends, directly or indirectly."""
    truth: bool
    """Whether the value is a bool, which counts as 1 or 0."""
    gives: Annotated[ChoiceType | None, TYPE] = None
    """Type of a value that is a choice; None for a number or a bool."""
    judge: Annotated[str | None, ELSEWHERE] = None
    """Scorer whose choice about an element is the value, if the expression is nothing else: each judge of a panel then
    gives its own score."""
    element: Annotated[Type | None, FOLLOWING_TYPE] = None
    """Element type, if each element of a list is scored separately; `value` is then an `Each`."""
    when: Annotated[Expr | None, CONDITION] = None
    earlier: Annotated[tuple[Expr, ...] | None, EARLIER] = None
    """Conditions of earlier scores with the same name. This score applies if none of them holds or has a missing reply.
    So exactly one score of the name applies to an item."""
    fingerprint: Annotated[str, DERIVED]

    @property
    def single(self) -> Expr:
        """Return the expression of one score, which is that of one element if elements are scored."""
        return _single(self.value, self.element)


class Column(Part):
    """Value stored with each response for measures, such as the answer or the correct answer."""

    step: Annotated[Literal["column"], DERIVED] = "column"
    name: Annotated[str, DERIVED]
    value: Annotated[Expr, VALUE]
    type: Annotated[Type, FOLLOWING_TYPE]
    element: Annotated[Type | None, FOLLOWING_TYPE] = None
    """See `Score.element`; `type` is then the type of the value for one element."""
    of: Annotated[str, OWNER]
    needs: Annotated[tuple[str, ...], DERIVED]
    when: Annotated[Expr | None, CONDITION] = None
    fingerprint: Annotated[str, DERIVED]

    @property
    def single(self) -> Expr:
        """Return the expression of one value, which is that of one element if there is a value for each element."""
        return _single(self.value, self.element)


def _single(value: Expr, element: Type | None) -> Expr:
    return value.value if element is not None and isinstance(value, Each) else value


class Grade(Part):
    """Scorer applied to a response. With `metrics` it yields a score for each, otherwise one score called `name`."""

    step: Annotated[Literal["grade"], DERIVED] = "grade"
    name: Annotated[str, DERIVED]
    scorer: Annotated[str, ELSEWHERE]
    args: Annotated[dict[str, Expr], ARGUMENTS]
    of: Annotated[str, OWNER]
    """Step whose reply is graded: the last step of the compared role on which the grade depends, or else the last
    step."""
    needs: Annotated[tuple[str, ...], DERIVED]
    """All steps with a model call on which it depends, directly or indirectly."""
    metrics: Annotated[tuple[str, ...], FieldMark(effect="elsewhere", change="allocation")] = ()
    weights: Annotated[
        tuple[float, ...], FieldMark(effect="evaluation", change="allocation", brief="weights of the metrics")
    ] = ()
    """Weight of each metric in a mean over metrics; empty if all are equal."""
    when: Annotated[Expr | None, CONDITION] = None
    earlier: Annotated[tuple[Expr, ...] | None, EARLIER] = None
    """See `Score.earlier`."""
    inputs: Annotated[tuple[str, ...] | None, DERIVED] = None
    """Steps of `needs` on which the arguments depend; they identify the judge's reply, so the same call under another
    condition has the same reply. None if these are all of `needs`."""
    draw: Annotated[int, FieldMark(effect="draw")] = 0
    """Always 0 now; plans of earlier versions have other values."""
    condition: Annotated[str, DERIVED] = ""
    """See `Ask.condition`."""
    judgement: Annotated[str, DERIVED]
    """Fingerprint of the judge's reply; `fingerprint` is that of the scores read from it."""
    fingerprint: Annotated[str, DERIVED]

    @property
    def judged(self) -> tuple[str, ...]:
        """Return the steps that identify the judge's reply: those on which its arguments depend."""
        return self.needs if self.inputs is None else self.inputs


class Compare(Part):
    """Scorer applied to the replies of two compared models to the same row, in both orders.

    In `args` the replies are below `first` and `second`. The scorer returns a choice: its first value means that the
    first reply is better, its second value that the second is, a third value that neither is.
    """

    step: Annotated[Literal["compare"], DERIVED] = "compare"
    name: Annotated[str, DERIVED]
    scorer: Annotated[str, ELSEWHERE]
    args: Annotated[dict[str, Expr], ARGUMENTS]
    of: Annotated[str, OWNER]
    needs: Annotated[tuple[str, ...], DERIVED]
    when: Annotated[Expr | None, CONDITION] = None
    earlier: Annotated[tuple[Expr, ...] | None, EARLIER] = None
    """See `Score.earlier`."""
    inputs: Annotated[tuple[str, ...] | None, DERIVED] = None
    """See `Grade.inputs`."""
    draw: Annotated[int, FieldMark(effect="draw")] = 0
    """See `Grade.draw`."""
    condition: Annotated[str, DERIVED] = ""
    """See `Ask.condition`."""
    judgement: Annotated[str, DERIVED]
    fingerprint: Annotated[str, DERIVED]

    @property
    def judged(self) -> tuple[str, ...]:
        """Return the steps that identify the judge's reply: those on which its arguments depend."""
        return self.needs if self.inputs is None else self.inputs


JudgedStep = Grade | Verdict | Compare
"""Step that calls a scorer's role."""

Step = Annotated[
    Ask | Converse | Retrieve | SampleList | Verdict | Score | Column | Grade | Compare,
    Field(discriminator="step"),
]
