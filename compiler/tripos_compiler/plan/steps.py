"""The steps of a scenario.

The settings of a request: one frozen record from the spec to the provider, and the key of all that is kept by it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import product
from typing import Annotated, Any, Literal

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
from tripos_compiler.plan.structured_replies import Tool, weighed_fields

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


REPLY_PARTS: Mapping[str, Type] = {"text": TextType(), "thinking": OptionalType(of=TextType()), "raw": TextType()}
"""The parts of a reply, as expressions see them: the answer, the thinking, and the whole byte for byte. A field of a
value that is called so comes before them."""


class Shots(Part):
    """`count` worked examples before a question, drawn from the rows of a data set that satisfy `where`; never the row
    itself, nor one that shares its key. Each is a user's turn and a reply, with the row known as `alias`."""

    count: int
    dataset: str
    alias: str
    where: Expr | None = None
    drawn: Expr | None = None
    """The text that draws them at random; the first rows where there is none."""
    prompt: Texts
    reply: Texts


class Plain(Part):
    """A question is one text without the roles of a chat, which the model goes on with: `parted` stands between worked
    examples, `link` before each answer."""

    parted: str = "\n\n"
    link: str = " "


class Ask(Part):
    """One call of `role` a row and sample. `returns` makes the reply a record, read into the step's fields.

    What is sent is: the system message; the shots; the turns of `chat`, or of the conversation that `continues` names,
    seen from the role's side; the prompt. Where `continues` names an ask, what that one sent and its reply come before
    the prompt. Of a `plain` one it is a text; with `options` the model says how likely each
    of them is after it, and writes nothing. It may call `tools`, or those that `offered` lists for the row: then
    `returns` is what `calling_type` says. Where it `acts`, the calls of its reply are made, and what comes of them
    stands beside the reply; an ask that continues it is sent the results.
    """

    step: Literal["ask"] = "ask"
    name: str
    role: str
    system: Texts | None = None
    shots: tuple[Shots, ...] = ()
    chat: Expr | None = None
    continues: str | None = None
    prompt: Texts | None = None
    plain: Plain | None = None
    options: Expr | None = None
    tools: tuple[Tool, ...] = ()
    offered: Expr | None = None
    acts: tuple[Expr, ...] = ()
    """Of a turn whose calls are made: a call for each tool, of its function with the state before."""
    user: str | None = None
    """Of such a turn the role that answers where nothing is called."""
    opened: bool = False
    """Whether its `chat` begins with a turn of its own, before which stands what asks it to begin."""
    returns: Type | None = None
    numbers: dict[str, str] = {}
    """For a language the locale in which numbers are read that a reply writes outside JSON; `en` where none is said."""
    samples: int = 1
    settings: DeclaredSettings = DeclaredSettings()
    element: int | None = None
    """Of an ask for each element of a list, the place of the element that it is about, from 0."""
    when: Expr | None = None
    needs: tuple[str, ...] = ()
    """Every earlier step that calls a model and that it builds on, those that these build on included."""
    draw: int = 0
    """Of steps that send the same, where the settings leave the reply to chance: how many of the scenario come before
    this one. It is in the fingerprint, so that each has a reply of its own."""
    condition: str = ""
    """A digest of all that decides whether it is asked: its own condition and those of what it builds on. Empty where
    it always is."""
    fingerprint: str

    @property
    def read_as(self) -> Type | None:
        """Return the type of what expressions see of a reply: `returns`, and with `top_logprobs` in the settings a
        record with the probabilities of its tokens too."""
        if self.settings.top_logprobs is None:
            return self.returns
        said = {} if self.returns is None else {"value": self.returns}
        return RecordType(fields={**said, **weighed_fields(self.returns)})

    @property
    def calls_tools(self) -> bool:
        """True if the model may call tools."""
        return bool(self.tools) or self.offered is not None

    @property
    def script(self) -> str:
        """Return the name of the ask with several turns that it is one of, or of that for each element of a list;
        empty where it is none."""
        return self.name.rpartition("(")[0]

    @property
    def before(self) -> str | None:
        """Return the step that comes before it in its chat; of an ask for each element of a list, the ask for the
        element before."""
        return f"{self.script}({self.element})" if self.element else self.continues

    @property
    def takes_results(self) -> bool:
        """True if it is sent the results of the calls of the turn before, and nothing has to be said besides."""
        return bool(self.acts) and bool(self.script) and (self.continues or "").rpartition("(")[0] == self.script


def turns_before(ask: Ask, asks: Mapping[str, Ask]) -> tuple[Ask, ...]:
    """Return the earlier turns of the same ask with several prompts, or for each element of a list, the last one
    first."""
    found: list[Ask] = []
    while ask.script and (earlier := asks.get(ask.before or "")) is not None and earlier.script == ask.script:
        found.append(ask := earlier)
    return tuple(found)


class Speaker(Part):
    """One side of a conversation."""

    role: str
    system: Texts | None = None
    settings: DeclaredSettings = DeclaredSettings()


class Until(Part):
    """The conversation ends once `role` says `text`, in any case, on its own or inside a turn."""

    role: str
    text: str


class Converse(Part):
    """Two roles talk in turns, `opens` first, until one says what ends it or `limit` turns were said; `repeat` such
    conversations are held a row."""

    step: Literal["converse"] = "converse"
    name: str
    speakers: tuple[Speaker, Speaker]
    opens: str
    until: tuple[Until, ...]
    limit: int
    repeat: int = 1
    when: Expr | None = None
    needs: tuple[str, ...] = ()
    draw: int = 0
    """As that of an `Ask`."""
    condition: str = ""
    """As that of an `Ask`."""
    fingerprint: str

    @property
    def samples(self) -> int:
        """Return how many conversations are held a row."""
        return self.repeat


class Retrieve(Part):
    """The `top` elements of `source` (each known as `alias`, those for which `where` holds) by the value of `by`;
    `include` are put among them. `using` is the role that embeds texts where similarity needs one."""

    step: Literal["retrieve"] = "retrieve"
    name: str
    source: Expr
    alias: str
    where: Expr | None = None
    top: int
    by: Expr
    using: str | None = None
    include: tuple[Expr, ...] = ()
    when: Expr | None = None
    needs: tuple[str, ...] = ()
    fingerprint: str

    @property
    def samples(self) -> int:
        """It is done once a row."""
        return 1


class SampleList(Part):
    """The replies to all samples of an ask as a list: one for a row, whichever sample a step goes on from."""

    step: Literal["samples"] = "samples"
    name: str
    of: str
    when: Expr | None = None
    needs: tuple[str, ...] = ()
    fingerprint: str

    @property
    def samples(self) -> int:
        """It is made once a row."""
        return 1


class Verdict(Part):
    """A scorer's value that an expression uses: a call of the scorer's role, and no score of its own."""

    step: Literal["verdict"] = "verdict"
    name: str
    scorer: str
    args: dict[str, Expr]
    loops: tuple[Loop, ...] = ()
    """The lists whose elements it is asked about, each element on its own; a later one may be of an element."""
    when: Expr | None = None
    earlier: tuple[Expr, ...] | None = None
    """Where a single score uses it, those of that score."""
    needs: tuple[str, ...] = ()
    inputs: tuple[str, ...] | None = None
    """As those of a `Grade`."""
    condition: str = ""
    """As that of an `Ask`."""
    judgement: str
    fingerprint: str

    @property
    def judged(self) -> tuple[str, ...]:
        """Return the steps that name the judge's reply: those that its arguments build on."""
        return self.needs if self.inputs is None else self.inputs


class Score(Part):
    """A value computed from a response by an expression."""

    step: Literal["score"] = "score"
    name: str
    value: Expr
    of: str
    """The step whose reply is scored: the last of the compared role that the score depends on, or else the last."""
    needs: tuple[str, ...]
    """Every step with a model's call that it depends on, those that these build on included."""
    truth: bool
    """Whether the value is true or false, which counts as 1 or 0."""
    gives: ChoiceType | None = None
    """The names one of which is the value; None where it is a number, or true or false."""
    judge: str | None = None
    """The scorer whose choice about an element is the value, where it is nothing else: each of a panel gives its
    own."""
    element: Type | None = None
    """Where it scores each element of a list on its own, the type of an element; `value` is an `Each` then."""
    when: Expr | None = None
    earlier: tuple[Expr, ...] | None = None
    """Where several scores have its name, the conditions of those before it: it applies where none of these holds, or
    waits for a reply that is lacking. So one of them speaks for an item."""
    fingerprint: str

    @property
    def single(self) -> Expr:
        """Return the expression of one score: of an element, where elements are scored."""
        return _single(self.value, self.element)


class Column(Part):
    """A value that a measure looks at, kept with each response: what was answered, what would be right."""

    step: Literal["column"] = "column"
    name: str
    value: Expr
    type: Type
    element: Type | None = None
    """As that of a `Score`: `type` is that of the value for one element then."""
    of: str
    needs: tuple[str, ...]
    when: Expr | None = None
    fingerprint: str

    @property
    def single(self) -> Expr:
        """Return the expression of one value: of an element, where it is of elements."""
        return _single(self.value, self.element)


def _single(value: Expr, element: Type | None) -> Expr:
    return value.value if element is not None and isinstance(value, Each) else value


class Grade(Part):
    """A scorer applied to a response. With `metrics` it yields a score each, otherwise one called `name`."""

    step: Literal["grade"] = "grade"
    name: str
    scorer: str
    args: dict[str, Expr]
    of: str
    """The step whose reply is graded: the last of the compared role that the grade depends on, or else the last."""
    needs: tuple[str, ...]
    """Every step with a model's call that it depends on, those that these build on included."""
    metrics: tuple[str, ...] = ()
    weights: tuple[float, ...] = ()
    """What each metric counts in a mean over metrics; empty where all count alike."""
    when: Expr | None = None
    earlier: tuple[Expr, ...] | None = None
    """As those of a `Score`."""
    inputs: tuple[str, ...] | None = None
    """The steps of `needs` that the arguments build on, which name the judge's reply: the same call under another
    condition has the same reply. None if these are all of them."""
    draw: int = 0
    """Read in plans of earlier versions, in which calls of several scores were draws of their own; now 0."""
    condition: str = ""
    """As that of an `Ask`."""
    judgement: str
    """The fingerprint of the judge's reply; `fingerprint` is that of the scores taken from it."""
    fingerprint: str

    @property
    def judged(self) -> tuple[str, ...]:
        """Return the steps that name the judge's reply: those that its arguments build on."""
        return self.needs if self.inputs is None else self.inputs


class Compare(Part):
    """A scorer applied to the replies of two compared models to the same row, in both orders. In `args` the replies
    are below `first` and `second`. The scorer gives a choice: its first value says that the first is better, its
    second that the second is, a third that neither is."""

    step: Literal["compare"] = "compare"
    name: str
    scorer: str
    args: dict[str, Expr]
    of: str
    needs: tuple[str, ...]
    when: Expr | None = None
    earlier: tuple[Expr, ...] | None = None
    """As those of a `Score`."""
    inputs: tuple[str, ...] | None = None
    """As those of a `Grade`."""
    draw: int = 0
    """As that of a `Grade`."""
    condition: str = ""
    """As that of an `Ask`."""
    judgement: str
    fingerprint: str

    @property
    def judged(self) -> tuple[str, ...]:
        """Return the steps that name the judge's reply: those that its arguments build on."""
        return self.needs if self.inputs is None else self.inputs


Judging = Grade | Verdict | Compare
"""A step that a scorer's role is called for."""

Step = Annotated[
    Ask | Converse | Retrieve | SampleList | Verdict | Score | Column | Grade | Compare,
    Field(discriminator="step"),
]
