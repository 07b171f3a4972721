"""Parts of a plan: declarations, data sets, scenarios, scorers, measures, exports, and the plan itself."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, Literal

import orjson
from pydantic import Field

from tripos_compiler.plan.base import Ordered, Part, digest, named
from tripos_compiler.plan.expressions import (
    Expr,
    IntegerType,
    Labels,
    NumberType,
    RecordType,
    Template,
    Texts,
    Type,
)
from tripos_compiler.plan.steps import (
    DERIVED,
    ELSEWHERE,
    EVALUATION,
    SETTINGS,
    TEXT,
    TYPE,
    Ask,
    Converse,
    DeclaredSettings,
    FieldMark,
    JudgedStep,
    Step,
)

# Declarations


class StoppingCriterion(Part):
    """Stopping rule of a run that continues until a figure is settled.

    A measure is settled once every two models differ in it, or once its interval extends at most `within` to either
    side. An expectation is settled once it is decided, and a benchmark once its headline measures are.
    """

    within: float | None = None


class Benchmark(Part):
    name: str
    version: str
    title: str
    license: str | None = None
    cites: tuple[str, ...] = ()
    languages: tuple[str, ...]
    headline: tuple[str, ...] = ()
    """Measures that stand for the benchmark, the most important first; empty if it names none."""
    until: StoppingCriterion | None = None


class ExtendedRelease(Part):
    """Release of another benchmark that this one extends: the SHA-256 of its manifest, and the scenarios and generated
    data sets that come from it."""

    name: str
    version: str
    digest: str
    scenarios: tuple[str, ...] = ()
    made: tuple[str, ...] = ()


class Role(Part):
    """Producer of text. Several models may fill a `compared` or a `panel` role, one model any other role.

    A role without a model takes the models of its `default`, another role, if it has one. Grades by people are reported
    separately from those of the models in a role unless the role is declared `with_people`.
    """

    name: str
    kind: Literal["single", "compared", "panel"]
    default: str | None = None
    with_people: bool = False


class AxisValue(Part):
    """Value of an axis. `group` is the first tier of a two-tier axis; `guard` is the condition on the cells in which
    the value is allowed."""

    name: Annotated[str, ELSEWHERE]
    labels: Annotated[Labels, ELSEWHERE]
    group: Annotated[str | None, ELSEWHERE] = None
    guard: Expr | None = None


class Axis(Part):
    name: str
    values: tuple[AxisValue, ...]


class ArmValue(Part):
    name: str
    labels: Labels


class Arm(Part):
    """Experimental condition: the same item under different treatments."""

    name: str
    values: tuple[ArmValue, ...]


class TreeFile(Part):
    """File of a tree: path below the data folder and SHA-256. A `draft` was written by a model and is not approved, or
    has changed since approval. `approved_by` is the person who approved the file in its present form."""

    path: str
    sha256: str
    draft: bool = False
    approved_by: str | None = None


class Tree(Part):
    """Hierarchy read from one file, or from several files that each hold some of the top branches.

    `leaves` and `inner` count its nodes, and `depth` the levels below the root. `path` is the first file and `sha256`
    the digest of its content; for several files it is a digest of theirs.
    """

    name: str
    source: str
    path: str
    sha256: str
    files: tuple[TreeFile, ...] = ()
    leaves: int
    inner: int
    depth: int


class Plugin(Ordered):
    """Python function of the user, called `name` in the spec.

    It is `function` in the Python file `path`, relative to the folder of the spec's main file, or the entry point
    `function` of an installed package if `path` is None.

    `version` is the SHA-256 of the file's text, or the package and its version: a changed function is another function.
    For a file that imports sibling files it is a digest of all of them, and `modules` has the SHA-256 of each. For a
    function of an extended release, `release` is its name and version, and `path` is relative to its folder.
    `parameters` are in call order.
    """

    _mapping = "parameters"
    name: str
    path: str | None
    function: str
    version: str
    parameters: dict[str, Type]
    optional: tuple[str, ...] = ()
    """Parameters that may be omitted."""
    returns: Type
    release: str | None = None
    aggregate: bool = False
    """Whether measures apply it to all values; such a function is not called in a scenario."""
    external: Literal["file", "shipped", "service", "tool"] | None = None
    """Kind of a scorer that is a program: the Python file `path`, a program shipped with Tripos, or a service whose
    address the user of the benchmark configures. Then `function` is the name passed to the program, and `version` the
    name and version of a program without a file.

    A `tool` is a function that a model calls. It takes a state before its parameters, changes it, and returns a result.
    """
    purity: Literal["proved", "declared"] | None = None
    """Why its value depends on its arguments alone: its source proves it, or its author declares it. None if neither
    holds."""
    modules: dict[str, str] = {}

    @property
    def files(self) -> dict[str, str]:
        """Its Python files with the SHA-256 of the text of each."""
        return self.modules or ({} if self.path is None else {self.path: self.version})

    @property
    def pure(self) -> bool:
        """True if its value depends on its arguments alone, so that it discloses only secrets that its arguments
        disclose."""
        return self.purity is not None


class Level(Part):
    """Meaning of a score from `low` to `high`, both inclusive."""

    low: int
    high: int
    text: Labels


Outside = Literal["refuse", "keep", "clip"]


class Metric(Part):
    """Criterion of a rubric. `outside` determines the treatment of a score that is not between `low` and `high`:
    `refuse` it, `keep` it, or `clip` it to the nearer end."""

    name: str
    title: Labels
    dimension: Annotated[str, ELSEWHERE]
    low: int
    high: int
    outside: Annotated[Outside, EVALUATION] = "refuse"
    asks: Labels
    levels: tuple[Level, ...]

    @property
    def ends(self) -> tuple[int, int] | None:
        """Range of its scores, or None if scores outside of the scale are kept.

        >>> Metric(name="A", title={}, dimension="d", low=1, high=10, asks={}, levels=()).ends
        (1, 10)
        """
        return None if self.outside == "keep" else (self.low, self.high)

    def placed(self, value: float) -> float | None:
        """Return the value that counts for a score, or None if the score is refused.

        >>> metric = Metric(name="A", title={}, dimension="d", low=1, high=10, outside="clip", asks={}, levels=())
        >>> metric.placed(0), metric.model_copy(update={"outside": "refuse"}).placed(0)
        (1.0, None)
        """
        if self.low <= value <= self.high or self.outside == "keep":
            return value
        return float(min(max(value, self.low), self.high)) if self.outside == "clip" else None


# Data sets


class DataField(Part):
    """Field of a data set. `columns` are tried in order; the first that a row has is read."""

    name: str
    type: Type
    columns: tuple[str, ...]
    secret: bool = False


class DataFile(Part):
    """File of a data set: path below the data folder, SHA-256, number of rows, and the values from its name
    (`{language}`)."""

    path: str
    sha256: str
    rows: int
    captures: dict[str, str] = {}
    repeats: tuple[int, ...] = ()
    """Numbers, from 1, of rows that repeat an earlier row of the data set; they are not run."""
    media: str | None = None
    """Digest of the images and other files of its rows, in order, without repeated rows; None for a file without
    any."""


class Join(Part):
    """Files that add `columns` to the rows of a data set. A row is joined to the one row whose `other` equals its
    `column`. Values in the names of both files, such as the language, must agree."""

    source: str
    column: str
    other: str
    columns: tuple[str, ...] = ()
    files: tuple[DataFile, ...] = ()


class Dataset(Part):
    """Typed rows read from files. Rows with an equal `key` belong together."""

    name: str
    source: str
    fields: tuple[DataField, ...]
    files: tuple[DataFile, ...]
    key: Expr | None = None
    joins: tuple[Join, ...] = ()

    @property
    def every_file(self) -> tuple[DataFile, ...]:
        """Its own files and the files that are joined to them."""
        return (*self.files, *(file for join in self.joins for file in join.files))


class Walk(Part):
    """Descent of a tree, level by level, that yields paths.

    `ask` chooses among the branches, known as `branches`, of every node that is reached. Every path from the root to a
    leaf that was chosen at each level is kept in the field with the name of the walk. With `below` the descent begins
    at the node of that path instead of the root. `starts` maps values of a choice to paths.
    """

    step: Literal["walk"] = "walk"
    tree: Annotated[str, ELSEWHERE]
    ask: Annotated[Ask, ELSEWHERE]
    below: Expr | None = None
    starts: dict[str, str] = {}

    @property
    def name(self) -> str:
        """Field that holds the paths."""
        return self.ask.name


class Verify(Part):
    """Verification step: a row is kept only if `require` holds for the value that `ask` returns."""

    step: Literal["verify"] = "verify"
    ask: Annotated[Ask, ELSEWHERE]
    require: tuple[Expr, ...]


class Derived(Part):
    """Field computed from the row."""

    step: Literal["derived"] = "derived"
    name: str
    value: Expr


class Distinct(Part):
    """Uniqueness condition: a row is refused if the text `value` is nearly equal to one of `others`, that is, if their
    overlap (`near_duplicates.jaccard_overlap`) is at least `above`, from 0 to 1."""

    value: Expr
    others: Expr
    above: float


class GeneratedDataset(Part):
    """Generated data set: rows written by a role, or derived row by row from another data set or from the leaves of a
    tree.

    For every row of `source` (known as `alias`, restricted by `where`; once without a source), in every cell of `axes`,
    `count` rows are generated by `steps` in order. A row is given up after `retries` further attempts if it cannot be
    read, violates a `require`, repeats another row's `unique` value, is not `distinct`, or fails verification.
    """

    name: Annotated[str, DERIVED]
    scenario: Annotated[str | None, DERIVED] = None
    source: Expr | None = None
    alias: str | None = None
    where: Expr | None = None
    axes: Annotated[tuple[str, ...], ELSEWHERE] = ()
    count: int = 1
    retries: int = 0
    fields: Annotated[tuple[DataField, ...], DERIVED]
    steps: Annotated[tuple[Annotated[Ask | Walk | Derived | Verify, Field(discriminator="step")], ...], ELSEWHERE]
    require: tuple[Expr, ...] = ()
    unique: tuple[Expr, ...] = ()
    distinct: tuple[Distinct, ...] = ()
    key: Annotated[Expr | None, EVALUATION] = None
    rows: Annotated[int, DERIVED]
    """Largest number of rows that it can have."""
    fingerprint: Annotated[str, DERIVED]

    @property
    def asks(self) -> tuple[Ask, ...]:
        """Requests that generate a row."""
        steps = [step for step in self.steps if not isinstance(step, Derived)]
        return tuple(step if isinstance(step, Ask) else step.ask for step in steps)

    @property
    def fingerprints(self) -> set[str]:
        """Its fingerprint and those of its requests."""
        return {self.fingerprint, *(ask.fingerprint for ask in self.asks)}


class PairedReply(Part):
    """Text of a row, or one text for every element of the list `each`, known as `alias`, for which `when` holds.

    `worth` is its quality: a number, or a list of criteria of which the number that are met counts. `by` is its author.
    """

    text: Expr
    each: Expr | None = None
    alias: str | None = None
    worth: Expr
    by: Expr | None = None
    when: Expr | None = None


class ScenarioRequest(Part):
    """Request of a scenario's step under the given arms, with the row known as `about` in place of a row of the
    scenario."""

    scenario: str
    step: str
    about: str
    arms: dict[str, str] = {}


class Partner(Part):
    """Another row of a data set, known as `alias`: one that satisfies `where`, drawn with the current row as seed."""

    dataset: str
    alias: str
    where: Expr | None = None


class Pairing(Part):
    """Export of training data from the replies of a row, known as `alias`.

    `paired`: for every two replies of which one is worth more than the other by more than `margin` (by at least
    `margin` if that is above 0), the better and the worse reply. `examples`: every reply to a row's prompt, without
    comparison. The prompt may be the request of a scenario (`asks`). A row without a partner `beside` it gives no
    example. Rows that share a value of `groups` belong together.
    """

    name: str
    kind: Literal["paired", "examples"] = "paired"
    dataset: str
    alias: str
    where: Expr | None = None
    margin: float = 0.0
    groups: tuple[Expr, ...] = ()
    prompt: Template | None = None
    asks: ScenarioRequest | None = None
    beside: Partner | None = None
    returns: Type | None = None
    """Type that the prompt of an example asks for, in place of that of the request in `asks`."""
    replies: tuple[PairedReply, ...]
    holds_out: tuple[str, ...] = ()
    """Data sets whose texts are held out: a row that contains one of them, nearly word for word, is omitted."""
    use: Literal["training", "test"] | None = None
    """Default use of the pairs in a training. It learns from all exports for training, or if there are none, from all
    that are not for testing."""


# Measures, expectations, subsets and exports

Missing = Literal["skip", "zero", "fail", "paired"]
"""Treatment of missing scores by an aggregate."""
BUILT_IN_DIMENSIONS = ("scenario", "metric", "dimension", "evaluator", "pair")
"""Dimensions of figures in addition to axes, arms and fields of rows."""


class Aggregate(Part):
    """Figure over scores or columns: `function` of `values`, in each cell of `by`.

    A value is the name of a score, a scorer or a column. `scenario` restricts it to one scenario.
    """

    op: Literal["aggregate"] = "aggregate"
    function: str
    values: tuple[str, ...]
    scenario: str | None = None
    named: dict[str, str | int | float | bool] = {}
    across: str | None = None
    by: tuple[str, ...] = ()
    of: Annotated[Aggregate | Measured | Formula, Field(discriminator="op")] | None = None
    """Inner figure of an aggregate over cells; `by` then has the dimensions of the cells, and `values` is empty."""
    true_of: tuple[str, ...] = ()
    """For choices by judges: the choices that count as true; all others count as false. Empty if values count
    unchanged."""
    among: tuple[str, ...] = ()
    """For such choices: those that count at all; empty if all do."""
    elements: bool = False
    """Whether its values are scores of the elements of lists, several for each reply."""

    @property
    def of_condition(self) -> bool:
        """True if it is over a condition on choices, or over some of the choices, instead of unchanged values.

        >>> Aggregate(function="share", values=("verdict",), true_of=("CORRECT",)).of_condition
        True
        """
        return bool(self.true_of or self.among)


class Measured(Part):
    """Value of another measure. `slice` fixes arms or dimensions, as in `accuracy[teaching: none]`. `by` is set if an
    aggregate is over its cells."""

    op: Literal["measure"] = "measure"
    measure: str
    slice: dict[str, str] = {}
    by: tuple[str, ...] = ()


class Formula(Part):
    """Arithmetic over measures. `overall` takes one value over all of the dimensions `over`, the same in each of their
    cells. `by` is set if an aggregate is over its cells."""

    op: Literal["formula"] = "formula"
    operator: Literal[
        "+", "-", "*", "/", "negate", "abs", "min", "max", "harmonic_mean", "overall",
        "sqrt", "log", "exp", "atanh", "tanh",
    ]  # fmt: skip
    values: tuple[Figure, ...]
    over: tuple[str, ...] = ()
    by: tuple[str, ...] = ()


class Constant(Part):
    op: Literal["constant"] = "constant"
    value: float


Figure = Annotated[Aggregate | Measured | Formula | Constant, Field(discriminator="op")]


class Measure(Part):
    """Figure of each compared model, in each cell of `by`.

    `low` and `high` bound the value if its scale is known. `lower_is_better` and `higher_is_better` are declared or
    follow from the parts of the measure. If neither is set, higher is better for a headline measure, and the direction
    of any other measure is unknown.
    """

    name: str
    scenario: str | None = None
    by: tuple[str, ...]
    low: float | None
    high: float | None
    missing: Missing = "skip"
    lower_is_better: bool = False
    higher_is_better: bool = False
    corrected: bool = False
    """Whether the figure estimates the grades of people, from a judge's grades of everything and people's grades of a
    sample."""
    random: tuple[str, ...] = ()
    """Random facets besides the items: roles whose judges, and arms whose values, are a sample of many. The interval
    generalizes over all of these."""
    until: StoppingCriterion | None = None
    figure: Figure

    @property
    def directed(self) -> bool:
        """True if the better direction is declared or follows."""
        return self.lower_is_better or self.higher_is_better


LEAST_COVERAGE = 0.9
"""Default for the least share of scores with a value that an expectation requires."""


IntervalEnd = Literal["lower", "upper"]
"""Ends of the 95 % interval of a figure."""


class Expectation(Part):
    """Gate: the figure of every compared model must satisfy `operator` with `value`, in every cell of `by`. `low` and
    `high` are those of a `Measure`."""

    figure: Figure
    end: IntervalEnd | None = None
    """End of the figure's interval that is compared instead of the figure."""
    difference: str | None = None
    """For an expectation that compares two figures: their difference in words; `figure` is that difference."""
    operator: Literal["<", "<=", ">", ">=", "==", "!="]
    value: float
    shown: str
    by: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    corrected: bool = False
    """See `Measure.corrected`."""
    random: tuple[str, ...] = ()
    """See `Measure.random`."""
    coverage: float | None = None
    """Least share of its scores that must have a value, if the spec gives one."""
    until: StoppingCriterion | None = None

    @property
    def least_coverage(self) -> float:
        """Least share of its scores that must have a value."""
        return LEAST_COVERAGE if self.coverage is None else self.coverage


class Subset(Part):
    """Stratified sample: `take` items for every combination of `per`, spread evenly over `spread`.

    The text of `withheld` items is kept out of public releases. A subset of an extended release is drawn from its
    `scenarios`, as it was there; any other subset is drawn from all scenarios.
    """

    name: str
    take: int
    per: tuple[str, ...]
    spread: tuple[str, ...]
    seed: int
    withheld: bool = False
    scenarios: tuple[str, ...] = ()


class Export(Part):
    """Export of training data: the replies to `rows` of the model that is best by `measure` in each cell of `per`, or
    pairs of a better and a worse reply that differ by at least `margin`.

    Items of the subsets in `holds_out` are omitted; those of all subsets if it is empty. With `every`, all replies of a
    model that is best in any cell are exported.
    """

    name: str
    kind: Literal["best", "pairs"]
    role: str
    measure: str
    per: tuple[str, ...] = ()
    every: bool = False
    margin: float = 0.0
    rows: str
    format: Literal["chat", "completion"]
    where: Expr | None = None
    holds_out: tuple[str, ...] = ()


# Tables of results


class TableFigure(Part):
    """Line of a table that shows a figure: a column, or a row, for each value of `spread`.

    The figure is a measure of the plan, or one that only the table has. It goes by `spread` and by the keys of the
    table, apart from `model`. If `evaluator` is a key and the figure goes by `pair`, it is a matrix: the evaluator of
    the key, and that of `spread`.
    """

    measure: Measure
    title: Labels = {}
    """Heading in each language; empty for the name of the figure, or the values of `spread`."""
    group: str | None = None
    """Heading above this line and its neighbours of the same group."""
    spread: tuple[str, ...] = ()


class TableValue(Part):
    """Value of a dimension that a table shows, and what it calls it; without a title as elsewhere."""

    name: str
    title: Labels = {}


class PublishedRow(Part):
    """Published figures beside those of a run, in the unit that the table shows, by the key of a line (`line_key`)."""

    keys: tuple[str, ...]
    figures: dict[str, float]


def line_key(figure: TableFigure, values: Sequence[str]) -> str:
    """Return the key of the line of a figure at these values of `spread`, in the notation of a slice.

    >>> mean = Aggregate(function="mean", values=("right",), by=("hint",))
    >>> measure = Measure(name="accuracy", by=("hint",), low=0, high=1, figure=mean)
    >>> line_key(TableFigure(measure=measure, spread=("hint",)), ["some"])
    'accuracy[hint: some]'
    """
    fixed = ", ".join(f"{name}: {value}" for name, value in zip(figure.spread, values, strict=True))
    return f"{figure.measure.name}[{fixed}]" if fixed else figure.measure.name


class ResultTable(Part):
    """Table of figures as a paper prints it: `figures` on one side, and the values of `keys` on the other.

    The keys are `model` and dimensions. `values` chooses, orders and names the values of some of them.
    """

    name: str
    keys: tuple[str, ...]
    figures: tuple[TableFigure, ...]
    transposed: bool = False
    """Whether figures are rows and keys columns."""
    group: str | None = None
    """Dimension of `spread` by which lines stand together, each under its value."""
    values: dict[str, tuple[TableValue, ...]] = {}
    short: tuple[str, ...] = ()
    """Dimensions whose values have their name in the spec as their heading."""
    digits: int | None = None
    points: bool = False
    """Whether figures are shown times 100."""
    marked: int = 0
    """How many of the best values are marked: 0, 1 or 2."""
    reference: str | None = None
    """Value of the last key from whose figures those of its other values are shown as differences."""
    beside: bool = False
    """Whether differences are shown beside the values, instead of in their place."""
    level: float | None = None
    """Level at which values are marked that differ from those of `reference`, or without it from the best."""
    notes: tuple[Labels, ...] = ()
    published: tuple[PublishedRow, ...] = ()
    published_title: Labels = {}


# Scenarios and scorers


class Rows(Part):
    """Rows of a scenario: those of a data set that satisfy `where`, each known as `alias`."""

    dataset: str
    alias: str
    where: Expr | None = None


class Treatment(Part):
    """Steps for a row under one combination of a scenario's arms (`arms` is empty without arms).

    Conditions on arms are resolved: a step that they exclude is not in `steps`. Steps with the same fingerprint in
    several treatments share their results.
    """

    arms: dict[str, str] = {}
    steps: tuple[Step, ...]

    def ask(self, name: str) -> Ask:
        """Return the ask with a name. Raises `KeyError` if there is none."""
        return named(tuple(step for step in self.steps if isinstance(step, Ask)), name)


class Scenario(Part):
    """Task of a benchmark. `cells` counts the allowed combinations of `axes`; `row_count` is the largest number of
    rows."""

    name: str
    title: str
    axes: tuple[str, ...]
    cells: int
    rows: Rows | None
    row_count: int
    arms: tuple[str, ...] = ()
    treatments: tuple[Treatment, ...]

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """Steps of all treatments; shared steps are listed once."""
        by_name = {(step.name, step.fingerprint): step for treatment in self.treatments for step in treatment.steps}
        return tuple(by_name.values())

    @property
    def conversations(self) -> tuple[Converse, ...]:
        """Conversations of all treatments."""
        return tuple(step for step in self.steps if isinstance(step, Converse))

    def ask(self, name: str) -> Ask:
        """Return the first ask with a name. Raises `KeyError` if there is none."""
        return named(tuple(step for step in self.steps if isinstance(step, Ask)), name)

    @property
    def fingerprints(self) -> set[str]:
        """Fingerprints of all its steps, including those of judgements."""
        own = {step.fingerprint for step in self.steps}
        return own | {step.judgement for step in self.steps if isinstance(step, JudgedStep)}


Counted = Literal["every", "first", "last"]
"""Occurrences of a verdict in a reply that count: one of them, or all, which must agree."""
VERDICT = "verdict"
"""Name of a judge's single value where values have the names of metrics, as in `judgements.parsed`."""
VERDICTS = ("bool", "integer", "number", "choice")
"""Kinds of the types that a verdict may have."""


class Scorer(Part):
    """Judge, reward model or embedding model: `role` reads `prompt` and returns a value of type `gives`, or a score and
    a reason for each allocated metric.

    Scorers that are expressions or Python functions have no part of their own: they are calls in the expressions that
    use them.
    """

    name: Annotated[str, DERIVED]
    role: Annotated[str, FieldMark("role", "elsewhere")]
    params: Annotated[dict[str, Type], ELSEWHERE]
    system: Annotated[Texts | None, TEXT] = None
    prompt: Annotated[Texts, TEXT]
    chat: Annotated[Expr | None, FieldMark("dialogue")] = None
    """For a reward model: the dialogue that it judges, sent as messages after the prompt. The last speaker is
    judged."""
    gives: Annotated[Type | None, TYPE]
    """`None`: the metrics that the allocation table assigns to the scenario."""
    maximum: Annotated[Expr | None, FieldMark("type", title="the end of the scale")] = None
    """Upper end of the scale in terms of the parameters, if the row gives it. `gives` then ends at the largest value of
    the parameter's type, or nowhere (`on_scale`)."""
    record: Annotated[RecordType | None, TYPE] = None
    """Record in which it replies, if its verdict is a field of one; all other fields are reasons."""
    form: Annotated[Labels, FieldMark(title="the form of the verdict")] = {}
    """Form of the verdict in its reply, by language, with `{}` in place of the verdict (`replies.stated_forms`)."""
    counts: Annotated[Counted, FieldMark(title="which verdict of a reply counts")] = "every"
    """Which occurrences of the form in a reply count; all must agree if `every` one does."""
    stated: bool = False
    """Whether the prompt states the form of the reply, so that nothing is added to it. True if there is a `form`."""
    weighted: Annotated[bool, EVALUATION] = False
    """Whether the score is the mean of the scale's values, each weighted with the probability of its token."""
    source: Literal["reply", "reward", "similarity"] = "reply"
    """Source of the value: a written reply, a reward model's number, or the cosine similarity of an embedding model's
    vectors for the two texts of the JSON list in `prompt`."""
    settings: Annotated[DeclaredSettings, SETTINGS] = DeclaredSettings()
    samples: Annotated[int, EVALUATION] = 1
    """Number of requests to each judge for one reply. The score is the mean of its values, or the most frequent one for
    a bool or a choice."""
    then: Annotated[str | None, EVALUATION] = None
    """Role that decides if the judges are unsure: the share of equal verdicts is less than `unsure_below`, or with
    `top_logprobs` the probability of the verdict is. The score is then the verdict of this role."""
    unsure_below: Annotated[float, EVALUATION] = 0.0
    blind: bool = False
    """Whether its input excludes everything that depends on the judged model, except the reply that it judges."""
    numbers: dict[str, str] = {}
    """See `Ask.numbers`."""

    @property
    def writes(self) -> bool:
        """Return true if its value comes from a reply that a model writes."""
        return self.source == "reply"

    @property
    def verdict_field(self) -> str | None:
        """Return the name of the field of `record` that is the verdict; None without a record."""
        fields = {} if self.record is None else self.record.fields
        return next((name for name, of in fields.items() if of.kind in VERDICTS), None)

    def on_scale(self, maximum: int) -> Scorer:
        """Return the scorer with this upper end of its scale.

        >>> judge = Scorer(name="mark", role="judge", params={}, prompt={}, gives=IntegerType(low=0))
        >>> judge.on_scale(4).gives
        IntegerType(kind='integer', low=0, high=4)
        """
        assert isinstance(self.gives, IntegerType)
        gives, record = self.gives.model_copy(update={"high": maximum}), self.record
        if record is not None:
            record = record.model_copy(update={"fields": {**record.fields, str(self.verdict_field): gives}})
        return self.model_copy(update={"gives": gives, "record": record})

    @property
    def gives_reasons(self) -> bool:
        """True if a reason is kept with its verdict: for each metric, in a record, or beside a stated form."""
        return self.gives is None or bool(self.record or self.form)

    @property
    def value_type(self) -> Type | None:
        """Return the type of its value in an expression."""
        return NumberType() if self.weighted else self.gives

    @property
    def roles(self) -> tuple[str, ...]:
        """Role that judges, and the stronger role of a cascade if there is one."""
        return (self.role,) if self.then is None else (self.role, self.then)


# The plan

PLAN_FORMAT: Literal["tripos.plan/3"] = "tripos.plan/3"


class Reveal(Part):
    """Use of `reveal`: the secret that is shown, in the words of the spec, and the step that shows it."""

    scenario: str
    step: str
    text: str
    secret: str
    """Secrets that are disclosed, separated by commas."""

    @property
    def shown(self) -> str:
        """Text of the argument of `reveal`, with the secret it discloses if that has another name."""
        return self.text if self.text == self.secret else f"{self.text}, which tells {self.secret}"


class CallCount(Part):
    """Number of calls of a step for every combination of models that fill the roles in `times`.

    `calls` assumes no retries and that every condition decided during the run holds; `least` and `most` are bounds.
    `arms` are the treatments that share the calls. If `pairs` is a role, every ordered pair of its models is compared.
    The second request after an unreadable reply is not counted. If the bounds differ between rows, `row` has the least
    and the most calls for one row.
    """

    scenario: str
    step: str
    role: str
    calls: int
    least: int
    most: int
    times: tuple[str, ...]
    arms: tuple[dict[str, str], ...] = ()
    pairs: str | None = None
    row: tuple[int, int] | None = None


class Plan(Part):
    format: Literal["tripos.plan/3"] = PLAN_FORMAT
    benchmark: Benchmark
    extends: tuple[ExtendedRelease, ...] = ()
    roles: tuple[Role, ...]
    axes: tuple[Axis, ...]
    arms: tuple[Arm, ...] = ()
    trees: tuple[Tree, ...] = ()
    plugins: tuple[Plugin, ...] = ()
    metrics: tuple[Metric, ...]
    datasets: tuple[Dataset, ...]
    made: tuple[GeneratedDataset, ...] = ()
    scenarios: tuple[Scenario, ...]
    scorers: tuple[Scorer, ...]
    measures: tuple[Measure, ...]
    expectations: tuple[Expectation, ...] = ()
    subsets: tuple[Subset, ...] = ()
    exports: tuple[Export | Pairing, ...] = ()
    tables: tuple[ResultTable, ...] = ()
    reveals: tuple[Reveal, ...] = ()
    titles: dict[str, dict[str, Labels]] = {}
    """Display titles, by kind and name, in each language."""
    calls: tuple[CallCount, ...]

    @property
    def digest(self) -> str:
        """Content address of the plan: 64 hexadecimal digits."""
        return digest(self.model_dump(mode="json"), size=32)

    @property
    def fingerprints(self) -> set[str]:
        """Fingerprints of all requests and scores of a run: of the steps of all scenarios and of generated data
        sets."""
        own = {fingerprint for scenario in self.scenarios for fingerprint in scenario.fingerprints}
        return own.union(*(dataset.fingerprints for dataset in self.made))

    @property
    def conditional(self) -> bool:
        """True if some calls are made only if a condition holds."""
        steps = (step for scenario in self.scenarios for treatment in scenario.treatments for step in treatment.steps)
        return any(getattr(step, "condition", "") for step in steps)

    def to_json(self) -> str:
        """Return the plan as indented JSON with sorted keys, ending in a line feed."""
        options = orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
        content = self.model_dump(mode="json")
        try:
            return orjson.dumps(content, option=options).decode()
        except TypeError:  # a plan that somebody wrote by hand may hold an integer of more than 64 bits
            return json.dumps(content, ensure_ascii=False, indent=2, sort_keys=True) + "\n"

    def title_of(self, kind: str, name: str, language: str | None = None) -> str | None:
        """Return the title of a part, such as a scenario, an axis, a group of one (`AXIS.GROUP`) or an input of a judge
        (`SCORER.PARAMETER`), or of the benchmark. None if it has none."""
        return self.text_in(self.titles.get(kind, {}).get(name, {}), language)

    def text_in(self, texts: Labels, language: str | None = None) -> str | None:
        """Return a text in a language, or else in the first language of the benchmark that has it; None if none has."""
        return next(
            (texts[candidate] for candidate in (language, *self.benchmark.languages) if candidate in texts), None
        )

    @property
    def title_languages(self) -> tuple[str, ...]:
        """The languages of the benchmark, and then further ones of titles."""
        named = (texts for by_name in self.titles.values() for texts in by_name.values())
        return tuple(dict.fromkeys((*self.benchmark.languages, *(language for texts in named for language in texts))))

    def role(self, name: str) -> Role:
        """Return the role with a name. Raises `KeyError` if there is none."""
        return named(self.roles, name)

    def axis(self, name: str) -> Axis:
        """Return the axis with a name. Raises `KeyError` if there is none."""
        return named(self.axes, name)

    def metric(self, name: str) -> Metric:
        """Return the metric with a name. Raises `KeyError` if there is none."""
        return named(self.metrics, name)

    def dataset(self, name: str) -> Dataset:
        """Return the data set with a name. Raises `KeyError` if there is none."""
        return named(self.datasets, name)

    def scorer(self, name: str) -> Scorer:
        """Return the scorer with a name. Raises `KeyError` if there is none."""
        return named(self.scorers, name)
