"""The steps of a scenario."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

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
from tripos_compiler.plan.likelihoods import weighed_fields
from tripos_compiler.plan.settings import DeclaredSettings
from tripos_compiler.plan.tool_calls import Tool

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
