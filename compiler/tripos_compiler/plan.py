"""The plan: what the compiler makes and all that the runtime and the warehouse read.

A plan holds everything needed to run a benchmark and nothing about who runs it: no model ids, keys,
endpoints or absolute paths. It is frozen, versioned and content-addressed: `Plan.digest` is the
BLAKE2b-256 of its canonical JSON, so equal plans have equal digests on every machine.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, Literal, Protocol, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict, Field

PLAN_FORMAT: Literal["tripos.plan/1"] = "tripos.plan/1"


def canonical(value: Any) -> bytes:
    """The one byte form of a JSON value: sorted keys, no spaces, UTF-8; sets are sorted lists.

    >>> canonical({"b": 1, "a": "é"}).decode()
    '{"a":"é","b":1}'
    """
    return orjson.dumps(value, default=_plain, option=orjson.OPT_SORT_KEYS)


def _plain(value: Any) -> Any:
    if isinstance(value, frozenset | set):
        return sorted(value)
    raise TypeError(f"not a JSON value: {type(value).__name__}")


def digest(value: Any, *, size: int = 16) -> str:
    """A hexadecimal name for a JSON value: BLAKE2b of its canonical form, `size` bytes long.

    >>> digest({"a": 1}) == digest({"a": 1}), len(digest(None))
    (True, 32)
    """
    return hashlib.blake2b(canonical(value), digest_size=size).hexdigest()


class Part(BaseModel):
    """Base of every piece of a plan: frozen, and an unknown field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


# --- types -----------------------------------------------------------------------------------------


class TextType(Part):
    kind: Literal["text"] = "text"


class IntegerType(Part):
    """A whole number; `low` and `high` are inclusive bounds, absent where there is none."""

    kind: Literal["integer"] = "integer"
    low: int | None = None
    high: int | None = None


class NumberType(Part):
    kind: Literal["number"] = "number"


class BoolType(Part):
    kind: Literal["bool"] = "bool"


class ChoiceType(Part):
    """One of some names. `axis` names the axis whose values these are, where there is one."""

    kind: Literal["choice"] = "choice"
    values: tuple[str, ...]
    axis: str | None = None


class ListType(Part):
    kind: Literal["list"] = "list"
    of: Type


class SetType(Part):
    kind: Literal["set"] = "set"
    of: Type


class RecordType(Part):
    kind: Literal["record"] = "record"
    fields: dict[str, Type]


class DialogueType(Part):
    """Turns, each with a `speaker` and a `text`."""

    kind: Literal["dialogue"] = "dialogue"


class OptionalType(Part):
    kind: Literal["optional"] = "optional"
    of: Type


class MetricsType(Part):
    """The metrics allocated to the scenario at hand, printable as a rubric."""

    kind: Literal["metrics"] = "metrics"


Type = Annotated[
    TextType
    | IntegerType
    | NumberType
    | BoolType
    | ChoiceType
    | ListType
    | SetType
    | RecordType
    | DialogueType
    | OptionalType
    | MetricsType,
    Field(discriminator="kind"),
]


# --- expressions -----------------------------------------------------------------------------------


class Literal_(Part):  # noqa: N801 - `Literal` is taken by typing
    op: Literal["literal"] = "literal"
    value: str | int | float | bool | None


class Ref(Part):
    """A name and the fields below it: `("item", "question")`, `("answer", "text")`, `("stage",)`."""

    op: Literal["ref"] = "ref"
    path: tuple[str, ...]


class Call(Part):
    op: Literal["call"] = "call"
    function: str
    args: tuple[Expr, ...] = ()
    named: dict[str, Expr] = {}


class Unary(Part):
    op: Literal["unary"] = "unary"
    operator: Literal["-", "not"]
    value: Expr


class Binary(Part):
    op: Literal["binary"] = "binary"
    operator: Literal["+", "-", "*", "/", "==", "!=", "<", "<=", ">", ">=", "and", "or", "in", "not in"]
    left: Expr
    right: Expr


class Items(Part):
    """A list written out: `("a", "b")`."""

    op: Literal["items"] = "items"
    values: tuple[Expr, ...]


Expr = Annotated[Literal_ | Ref | Call | Unary | Binary | Items, Field(discriminator="op")]


class Hole(Part):
    """A placeholder of a template. What fills it is printed once and never read as a template again."""

    expr: Expr
    type: Type


class Template(Part):
    """Text and holes in the order in which they are printed."""

    parts: tuple[str | Hole, ...]


Texts = dict[str, Template]
"""A template for each language of the benchmark; text that was written once stands under every language."""

Labels = dict[str, str]
"""Plain text for each language of the benchmark."""


# --- declarations ----------------------------------------------------------------------------------


class Benchmark(Part):
    name: str
    version: str
    title: str
    license: str | None = None
    cites: tuple[str, ...] = ()
    languages: tuple[str, ...]


class Role(Part):
    """Someone who produces text. Several models may fill a `compared` or a `panel` role, one any other."""

    name: str
    kind: Literal["single", "compared", "panel"]


class AxisValue(Part):
    """`group` is the first tier of a two-tier axis; `guard` says in which cells the value is allowed."""

    name: str
    labels: Labels
    group: str | None = None
    guard: Expr | None = None


class Axis(Part):
    name: str
    values: tuple[AxisValue, ...]


class Level(Part):
    """What a score from `low` to `high` (both inclusive) means."""

    low: int
    high: int
    text: Labels


class Metric(Part):
    name: str
    title: Labels
    dimension: str
    low: int
    high: int
    asks: Labels
    levels: tuple[Level, ...]


class DataField(Part):
    """A column of a data set. `columns` are tried in order; the first that a row has is read."""

    name: str
    type: Type
    columns: tuple[str, ...]
    secret: bool = False


class DataFile(Part):
    """One file of a data set: path below the data folder, SHA-256, rows, and what its name says (`{language}`)."""

    path: str
    sha256: str
    rows: int
    captures: dict[str, str] = {}
    repeats: tuple[int, ...] = ()
    """The numbers, from 1, of rows that say what an earlier row of the data set says; they are not run."""


class Dataset(Part):
    name: str
    source: str
    fields: tuple[DataField, ...]
    files: tuple[DataFile, ...]


class Rows(Part):
    """The rows that a scenario runs over: those of a data set that satisfy `where`, each known as `alias`."""

    dataset: str
    alias: str
    where: Expr | None = None


class Settings(Part):
    """What is sent with a request. `None` leaves it to the model."""

    temperature: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()


class Ask(Part):
    """One call of `role` a row and sample. `returns` makes the reply a record, read into the step's fields."""

    step: Literal["ask"] = "ask"
    name: str
    role: str
    system: Texts | None = None
    prompt: Texts
    returns: Type | None = None
    samples: int = 1
    settings: Settings = Settings()
    when: Expr | None = None
    needs: tuple[str, ...] = ()
    """Every earlier ask whose reply it uses, those that its asks use included."""
    fingerprint: str


class Score(Part):
    """A value computed from a response by an expression."""

    step: Literal["score"] = "score"
    name: str
    value: Expr
    of: str
    """The `ask` step whose reply is scored: the last of the compared role that the score depends on."""
    needs: tuple[str, ...]
    """Every ask that it depends on, those that its asks use included."""
    truth: bool
    """Whether the value is true or false, which counts as 1 or 0."""
    when: Expr | None = None
    fingerprint: str


class Grade(Part):
    """A scorer applied to a response. With `metrics` it yields a score each, otherwise one called `name`."""

    step: Literal["grade"] = "grade"
    name: str
    scorer: str
    args: dict[str, Expr]
    of: str
    """The `ask` step whose reply is graded: the last of the compared role that the grade depends on."""
    needs: tuple[str, ...]
    """Every ask that it depends on, those that its asks use included."""
    metrics: tuple[str, ...] = ()
    when: Expr | None = None
    judgement: str
    """The fingerprint of the judge's reply; `fingerprint` is that of the scores taken from it."""
    fingerprint: str


Step = Annotated[Ask | Score | Grade, Field(discriminator="step")]


class Scenario(Part):
    """One task. `cells` counts the allowed combinations of `axes`, `row_count` the rows it runs over."""

    name: str
    title: str
    axes: tuple[str, ...]
    cells: int
    rows: Rows | None
    row_count: int
    steps: tuple[Step, ...]

    def ask(self, name: str) -> Ask:
        """The ask of that name. Raises `KeyError` where there is none."""
        return _named(tuple(step for step in self.steps if isinstance(step, Ask)), name)

    @property
    def fingerprints(self) -> set[str]:
        """The fingerprints of all its steps, those of judgements included."""
        own = {step.fingerprint for step in self.steps}
        return own | {step.judgement for step in self.steps if isinstance(step, Grade)}


class Scorer(Part):
    """A judge: `role` reads `prompt` and gives `gives`, or a score and a reason per allocated metric."""

    name: str
    role: str
    params: dict[str, Type]
    system: Texts | None = None
    prompt: Texts
    gives: Type | None
    """`None`: the metrics that the allocation table gives the scenario."""
    settings: Settings = Settings()


class Measure(Part):
    """An aggregate over the scores of each compared model. `sql` reads the benchmark's `scores` view and yields
    `model`, a column a name of `by`, `value`, `standard_error`, `df` (degrees of freedom), `items`, `n`, `total`."""

    name: str
    by: tuple[str, ...]
    low: float | None
    high: float | None
    sql: str


class CallCount(Part):
    """`calls` model calls for every combination of models that fill the roles in `times`."""

    scenario: str
    step: str
    role: str
    calls: int
    times: tuple[str, ...]


class Plan(Part):
    format: Literal["tripos.plan/1"] = PLAN_FORMAT
    benchmark: Benchmark
    roles: tuple[Role, ...]
    axes: tuple[Axis, ...]
    metrics: tuple[Metric, ...]
    datasets: tuple[Dataset, ...]
    scenarios: tuple[Scenario, ...]
    scorers: tuple[Scorer, ...]
    measures: tuple[Measure, ...]
    calls: tuple[CallCount, ...]

    @property
    def digest(self) -> str:
        """The plan's name, 64 hexadecimal digits."""
        return digest(self.model_dump(mode="json"), size=32)

    def to_json(self) -> str:
        """The plan as indented JSON with sorted keys, ending in a line feed."""
        options = orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
        return orjson.dumps(self.model_dump(mode="json"), option=options).decode()

    def role(self, name: str) -> Role:
        """The role of that name. Raises `KeyError` where there is none."""
        return _named(self.roles, name)

    def axis(self, name: str) -> Axis:
        """The axis of that name. Raises `KeyError` where there is none."""
        return _named(self.axes, name)

    def metric(self, name: str) -> Metric:
        """The metric of that name. Raises `KeyError` where there is none."""
        return _named(self.metrics, name)

    def dataset(self, name: str) -> Dataset:
        """The data set of that name. Raises `KeyError` where there is none."""
        return _named(self.datasets, name)

    def scorer(self, name: str) -> Scorer:
        """The scorer of that name. Raises `KeyError` where there is none."""
        return _named(self.scorers, name)


class _Named(Protocol):
    @property
    def name(self) -> str: ...


_N = TypeVar("_N", bound=_Named)


def _named(parts: tuple[_N, ...], name: str) -> _N:
    for part in parts:
        if part.name == name:
            return part
    raise KeyError(name)
