"""The plan as a whole.

Declarations of a benchmark: roles, axes, arms, trees, metrics, plug-ins.

Data sets: read from files, or made.

Measures, expectations, subsets and exports of a plan, and pairs of texts out of data sets.

Scenarios, their treatments, and the scorers that they use.
"""

from __future__ import annotations

import json
from functools import cached_property
from typing import Annotated, Literal

import orjson
from pydantic import Field

from tripos_compiler.plan.base import Ordered, Part, digest, named
from tripos_compiler.plan.expressions import Expr, Labels, NumberType, Template, Texts, Type
from tripos_compiler.plan.steps import Ask, Converse, DeclaredSettings, Judging, Step


class Settling(Part):
    """Says that a run goes on until something is settled: a measure once every two models are told apart in it, or once
    it is known to `within` on either side; an expectation once it is decided; a benchmark once its headlines are."""

    within: float | None = None


class Benchmark(Part):
    name: str
    version: str
    title: str
    license: str | None = None
    cites: tuple[str, ...] = ()
    languages: tuple[str, ...]
    headline: tuple[str, ...] = ()
    """The measures that stand for it, the first first; none where it does not say."""
    until: Settling | None = None


class Extended(Part):
    """A release of another benchmark, of which this one has parts: the SHA-256 of its manifest, and the scenarios and
    the data sets that models write that come from it."""

    name: str
    version: str
    digest: str
    scenarios: tuple[str, ...] = ()
    made: tuple[str, ...] = ()


class Role(Part):
    """Someone who produces text. Several models may fill a `compared` or a `panel` role, one any other. A role that is
    given no model takes those of its `default`, another role, where it has one. Grades by people are shown apart from
    those of the models in a role, unless it is one `with_people`."""

    name: str
    kind: Literal["single", "compared", "panel"]
    default: str | None = None
    with_people: bool = False


class AxisValue(Part):
    """`group` is the first tier of a two-tier axis; `guard` says in which cells the value is allowed."""

    name: str
    labels: Labels
    group: str | None = None
    guard: Expr | None = None


class Axis(Part):
    name: str
    values: tuple[AxisValue, ...]


class ArmValue(Part):
    name: str
    labels: Labels


class Arm(Part):
    """An experimental condition: the same item under different treatment."""

    name: str
    values: tuple[ArmValue, ...]


class TreeFile(Part):
    """One file of a tree: path below the data folder and SHA-256. A `draft` was written by a model and is not approved,
    or was changed since; `approved_by` is the person who approved the file as it is."""

    path: str
    sha256: str
    draft: bool = False
    approved_by: str | None = None


class Tree(Part):
    """A hierarchy read from one file, or from several that each have some of the branches at the top: how many leaves
    and inner nodes it has, and how many levels below its root. `path` is the first file, `sha256` that of its content;
    of several, a hash of theirs."""

    name: str
    source: str
    path: str
    sha256: str
    files: tuple[TreeFile, ...] = ()
    leaves: int
    inner: int
    depth: int


class Plugin(Ordered):
    """A function of the user's, called `name` in the spec: `function` in the Python file `path`, as seen from the
    folder of the spec's main file, or the entry point `function` of an installed package, without a path.

    `version` is the SHA-256 of the file's text, or the package and its version: a changed function is another function.
    Of a file that imports others beside it, it stands for all of them, and `modules` has the SHA-256 of each.
    Of a release that is extended, `release` is its name and version, and `path` is as seen from its folder.
    `parameters` are in the order in which values are handed to them.
    """

    _mapping = "parameters"
    name: str
    path: str | None
    function: str
    version: str
    parameters: dict[str, Type]
    optional: tuple[str, ...] = ()
    """The parameters that may be left out."""
    returns: Type
    release: str | None = None
    aggregate: bool = False
    """Whether measures take it of all values, and nothing in a scenario calls it."""
    external: Literal["file", "shipped", "service", "tool"] | None = None
    """Of a scorer that is a program: it is the Python file `path`, it comes with Tripos, or it is a service at an
    address that whoever runs it names. `function` is the name that the program is told then, and `version` of a
    program without a file its name and version. A `tool` is a function that a model calls: it takes a state before
    its parameters, changes it, and gives a result."""
    purity: Literal["proved", "declared"] | None = None
    """Why its value depends on its arguments alone: its source proves it, or else its author says so; None where
    neither does."""
    modules: dict[str, str] = {}

    @property
    def files(self) -> dict[str, str]:
        """Its Python files, with the SHA-256 of the text of each."""
        return self.modules or ({} if self.path is None else {self.path: self.version})

    @property
    def pure(self) -> bool:
        """True if its value depends on its arguments alone, and so tells of no secret that they do not tell of."""
        return self.purity is not None


class Level(Part):
    """The meaning of a score from `low` to `high` (both inclusive) means."""

    low: int
    high: int
    text: Labels


Outside = Literal["refuse", "keep", "clip"]


class Metric(Part):
    """A criterion of a rubric. `outside` says what becomes of a score that does not lie from `low` to `high`: it is
    refused, kept as it is, or taken as the nearer end."""

    name: str
    title: Labels
    dimension: str
    low: int
    high: int
    outside: Outside = "refuse"
    asks: Labels
    levels: tuple[Level, ...]

    @property
    def ends(self) -> tuple[int, int] | None:
        """Between which ends its scores lie; None where some may lie outside of the scale.

        >>> Metric(name="A", title={}, dimension="d", low=1, high=10, asks={}, levels=()).ends
        (1, 10)
        """
        return None if self.outside == "keep" else (self.low, self.high)

    def placed(self, value: float) -> float | None:
        """Return what a score counts as; None where it is refused.

        >>> metric = Metric(name="A", title={}, dimension="d", low=1, high=10, outside="clip", asks={}, levels=())
        >>> metric.placed(0), metric.model_copy(update={"outside": "refuse"}).placed(0)
        (1.0, None)
        """
        if self.low <= value <= self.high or self.outside == "keep":
            return value
        return float(min(max(value, self.low), self.high)) if self.outside == "clip" else None


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
    media: str | None = None
    """The digest of the images and other files that its rows name or hold, in order, repeated rows left out; None of a
    file without any."""


class Join(Part):
    """Files that add `columns` to the rows of a data set: of every row, those of their one row in which `other` is what
    `column` is in it. What the names of both files say of the same thing is the same."""

    source: str
    column: str
    other: str
    columns: tuple[str, ...] = ()
    files: tuple[DataFile, ...] = ()


class Dataset(Part):
    """Typed rows that are read from files. Rows of which `key` is equal belong together."""

    name: str
    source: str
    fields: tuple[DataField, ...]
    files: tuple[DataFile, ...]
    key: Expr | None = None
    joins: tuple[Join, ...] = ()

    @property
    def every_file(self) -> tuple[DataFile, ...]:
        """The files of its rows, and those that are joined to them."""
        return (*self.files, *(file for join in self.joins for file in join.files))


class Walk(Part):
    """Descends a tree level by level: `ask` is put at every node that is reached and chooses among its branches, known
    as `branches`; every path from the root to a leaf that was chosen throughout is kept, under the name of the walk.

    With `below` it begins at the node of that path and not at the root. `starts` are the paths that values of a choice
    stand for."""

    step: Literal["walk"] = "walk"
    tree: str
    ask: Ask
    below: Expr | None = None
    starts: dict[str, str] = {}

    @property
    def name(self) -> str:
        """The field that holds the paths."""
        return self.ask.name


class Verify(Part):
    """A row is kept only where `require` holds of what `ask` returns."""

    step: Literal["verify"] = "verify"
    ask: Ask
    require: tuple[Expr, ...]


class Derived(Part):
    """A field computed from the row."""

    step: Literal["derived"] = "derived"
    name: str
    value: Expr


class Distinct(Part):
    """A row is refused where the text `value` is nearly one of `others`: their overlap (`near_duplicates.overlap`) is
    `above` or more, from 0 to 1."""

    value: Expr
    others: Expr
    above: float


class Made(Part):
    """A data set that is made, by a role or row by row from another data set or the leaves of a tree.

    For every row of `source` (known as `alias`, those for which `where` holds; without a source, once), in every cell
    of `axes`, `count` rows are made by `steps` in order, each given up after `retries` further attempts where it cannot
    be read, breaks a `require`, repeats another row's `unique` value, is not `distinct` from what it must be, or is not
    verified.
    """

    name: str
    scenario: str | None = None
    source: Expr | None = None
    alias: str | None = None
    where: Expr | None = None
    axes: tuple[str, ...] = ()
    count: int = 1
    retries: int = 0
    fields: tuple[DataField, ...]
    steps: tuple[Annotated[Ask | Walk | Derived | Verify, Field(discriminator="step")], ...]
    require: tuple[Expr, ...] = ()
    unique: tuple[Expr, ...] = ()
    distinct: tuple[Distinct, ...] = ()
    key: Expr | None = None
    rows: int
    """How many rows it has at most."""
    fingerprint: str

    @property
    def asks(self) -> tuple[Ask, ...]:
        """The questions that are put to make a row."""
        steps = [step for step in self.steps if not isinstance(step, Derived)]
        return tuple(step if isinstance(step, Ask) else step.ask for step in steps)

    @property
    def fingerprints(self) -> set[str]:
        """Its fingerprint, and those of what is asked."""
        return {self.fingerprint, *(ask.fingerprint for ask in self.asks)}


class PairedReply(Part):
    """A text of a row, or one for every element of the list `each`, known as `alias`, for which `when` holds. `worth`
    says how good it is, as a number or as a list of criteria of which the number of those that are met counts, and `by`
    who wrote it."""

    text: Expr
    each: Expr | None = None
    alias: str | None = None
    worth: Expr
    by: Expr | None = None
    when: Expr | None = None


class AskedAs(Part):
    """The request of a scenario's step, under these arms, about the row known as `about`, in the place of a row of the
    scenario's own."""

    scenario: str
    step: str
    about: str
    arms: dict[str, str] = {}


class Partner(Part):
    """Another row of a data set, known as `alias`: one of those for which `where` holds, drawn by the row at hand."""

    dataset: str
    alias: str
    where: Expr | None = None


class Pairing(Part):
    """Training data out: of every two replies of a row, known as `alias`, of which one is worth more by more than
    `margin`, or as much where that is above 0, the better and the worse. Rows that share a value of `groups` belong
    together. Of the kind `examples` every reply to a row's prompt is one, and nothing is compared; the prompt may be
    what a scenario `asks`, and a row that finds none `beside` it gives no example."""

    name: str
    kind: Literal["paired", "examples"] = "paired"
    dataset: str
    alias: str
    where: Expr | None = None
    margin: float = 0.0
    groups: tuple[Expr, ...] = ()
    prompt: Template | None = None
    asks: AskedAs | None = None
    beside: Partner | None = None
    replies: tuple[PairedReply, ...]
    holds_out: tuple[str, ...] = ()
    """The data sets whose texts are kept out: a row that has one of them, nearly word for word, is left out."""
    use: Literal["training", "test"] | None = None
    """What a training does with the pairs where nothing else is said: it learns all that are for training, or where
    none is, all that are not for a test."""


Missing = Literal["skip", "zero", "fail", "paired"]
"""What an aggregate does where a score is missing."""
FIXED = ("scenario", "metric", "dimension", "evaluator", "pair")
"""What a figure can go by beside axes, arms and fields of rows."""


class Aggregate(Part):
    """A figure over scores or columns: `function` of `values`, in each cell of `by`.

    A value is a name of a score, a scorer or a column, and `scenario` the one that it is taken from, where it is one.
    """

    op: Literal["aggregate"] = "aggregate"
    function: str
    values: tuple[str, ...]
    scenario: str | None = None
    named: dict[str, str | int | float | bool] = {}
    across: str | None = None
    by: tuple[str, ...] = ()
    of: Annotated[Aggregate | Measured | Formula, Field(discriminator="op")] | None = None
    """Where it is a figure over cells of another one, that one, `by` what makes the cells; `values` is empty then."""
    true_of: tuple[str, ...] = ()
    """Of choices that judges give: those that count as true, and all others as false. Empty where a value counts as
    it is."""
    among: tuple[str, ...] = ()
    """Of such choices those that count at all; empty where all do."""
    elements: bool = False
    """Whether its values are scores of the elements of lists, of which a reply has several."""

    @property
    def of_condition(self) -> bool:
        """True if it is taken of a condition on choices, or of some choices only, and not of values as they are.

        >>> Aggregate(function="share", values=("verdict",), true_of=("CORRECT",)).of_condition
        True
        """
        return bool(self.true_of or self.among)

    @property
    def of_all_models(self) -> bool:
        """True if it is one figure of all compared models, taken over their replies together, and not one of each.

        >>> Aggregate(function="kendall_w", values=("rubric",), named={"models": "together"}).of_all_models
        True
        """
        if isinstance(self.of, Aggregate):
            return self.of.of_all_models
        return self.function == "mean_tau_agreement" or self.named.get("models") == "together"


class Measured(Part):
    """Another measure; `slice` fixes arms or dimensions: `accuracy[teaching: none]`. It goes `by` something where an
    aggregate is taken of its cells."""

    op: Literal["measure"] = "measure"
    measure: str
    slice: dict[str, str] = {}
    by: tuple[str, ...] = ()


class Formula(Part):
    """Arithmetic over measures. `overall` takes its one value over all of the dimensions `over`: it is the same in each
    of their cells. It goes `by` something where an aggregate is taken of its cells."""

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
    """A figure of each compared model, in each cell of `by`. `low` and `high` bound the value where its scale is known.
    `lower_is_better` is said of errors and the like, or follows from what the measure is made of, and so does
    `higher_is_better`. A measure with neither is better when higher if it is a headline; of any other nobody knows."""

    name: str
    scenario: str | None = None
    by: tuple[str, ...]
    low: float | None
    high: float | None
    missing: Missing = "skip"
    lower_is_better: bool = False
    higher_is_better: bool = False
    corrected: bool = False
    """Whether the figure is that of people, as a judge's grades of everything and people's of a sample show it."""
    random: tuple[str, ...] = ()
    """The facets that are random as items are: roles whose judges, and arms whose values, are a sample of many like
    them, so that the interval speaks of all of these."""
    until: Settling | None = None
    figure: Figure

    @property
    def directed(self) -> bool:
        """True if it is said, or follows, whether a lower or a higher value is the better one."""
        return self.lower_is_better or self.higher_is_better


LEAST_COVERAGE = 0.9
"""The share of the scores of a figure that must have a value, so that an expectation can hold which names no other."""


IntervalEnd = Literal["lower", "upper"]
"""The ends of the 95 % interval of a figure."""


class Expectation(Part):
    """A gate: the figure of every compared model must stand so to `value`, in every cell of `by`. `low` and `high`
    are as in a `Measure`."""

    figure: Figure
    end: IntervalEnd | None = None
    """The end of the figure's interval that is compared, in the place of the figure itself."""
    difference: str | None = None
    """Of two figures that the spec compares: their difference in words, which is the figure."""
    operator: Literal["<", "<=", ">", ">=", "==", "!="]
    value: float
    shown: str
    by: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    corrected: bool = False
    """As in a `Measure`, of which it is one."""
    random: tuple[str, ...] = ()
    """As in a `Measure`, of which it is one."""
    coverage: float | None = None
    """The least share of its scores that must have a value, if the spec gives one."""
    until: Settling | None = None

    @property
    def least_coverage(self) -> float:
        """The least share of its scores that must have a value."""
        return LEAST_COVERAGE if self.coverage is None else self.coverage


class Subset(Part):
    """A stratified sample: `take` items for every combination of `per`, spread evenly over `spread`. The text of items
    that are `withheld` is kept out of public releases. One that comes from a release is drawn from its `scenarios`, as
    it was there; any other from all."""

    name: str
    take: int
    per: tuple[str, ...]
    spread: tuple[str, ...]
    seed: int
    withheld: bool = False
    scenarios: tuple[str, ...] = ()


class Export(Part):
    """Training data out: the replies to `rows` of the model that is best by `measure` in each cell of `per`, or pairs
    of a better and a worse reply, which differ by `margin` at least. The items of the subsets `holds_out` are left out;
    of all subsets where there are none. With `every` reply, those of a model that is best in any cell are all taken."""

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


class Rows(Part):
    """The rows that a scenario runs over: those of a data set that satisfy `where`, each known as `alias`."""

    dataset: str
    alias: str
    where: Expr | None = None


class Treatment(Part):
    """The steps for a row under one combination of a scenario's arms (none where it has no arms).

    Conditions on arms are gone from the steps: what they rule out is not there. Steps with one fingerprint in several
    treatments are one: their results are shared.
    """

    arms: dict[str, str] = {}
    steps: tuple[Step, ...]

    def ask(self, name: str) -> Ask:
        """The ask of that name. Raises `KeyError` where there is none."""
        return named(tuple(step for step in self.steps if isinstance(step, Ask)), name)


class Scenario(Part):
    """One task. `cells` counts the allowed combinations of `axes`, `row_count` the rows it runs over, at most."""

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
        """The steps of all treatments, those that are shared once."""
        found = {(step.name, step.fingerprint): step for treatment in self.treatments for step in treatment.steps}
        return tuple(found.values())

    @property
    def talks(self) -> tuple[Converse, ...]:
        """The conversations of all treatments."""
        return tuple(step for step in self.steps if isinstance(step, Converse))

    def ask(self, name: str) -> Ask:
        """The first ask of that name. Raises `KeyError` where there is none."""
        return named(tuple(step for step in self.steps if isinstance(step, Ask)), name)

    @property
    def fingerprints(self) -> set[str]:
        """The fingerprints of all its steps, those of judgements included."""
        own = {step.fingerprint for step in self.steps}
        return own | {step.judgement for step in self.steps if isinstance(step, Judging)}


class Scorer(Part):
    """A judge, a reward model or an embedding model: `role` reads `prompt` and gives `gives`, or a score and a reason
    per allocated metric.

    Scorers that are expressions or Python functions leave no part: they are calls in the expressions that use them.
    """

    name: str
    role: str
    params: dict[str, Type]
    system: Texts | None = None
    prompt: Texts
    chat: Expr | None = None
    """Of a reward model: the dialogue that it judges, sent as messages behind the prompt. Who spoke last is judged."""
    gives: Type | None
    """`None`: the metrics that the allocation table gives the scenario."""
    weighted: bool = False
    """Whether the score is the mean of the scale's values, each weighted with the probability of its token."""
    source: Literal["reply", "reward", "similarity"] = "reply"
    """Where the value comes from: said in a reply, a reward model's number, or the cosine of an embedding model's
    vectors of the two texts of the JSON list that `prompt` makes."""
    settings: DeclaredSettings = DeclaredSettings()
    samples: int = 1
    """How many times each judge is asked about the same reply: a score is the mean of what it said, and of a bool or a
    choice what most of it was."""
    then: str | None = None
    """The role that is asked where the judges are unsure: where fewer of their verdicts than the share `unsure_below`
    are the same, or with `top_logprobs` where the verdict has a lower probability. Its verdict is the score then."""
    unsure_below: float = 0.0
    blind: bool = False
    """Whether it is told nothing that depends on which model it judges, but for the reply that it judges."""
    numbers: dict[str, str] = {}
    """As that of an `Ask`."""

    @property
    def writes(self) -> bool:
        """Return true if its value is said in a reply that a model writes."""
        return self.source == "reply"

    @property
    def says(self) -> Type | None:
        """Return the type of its value in an expression."""
        return NumberType() if self.weighted else self.gives

    @property
    def roles(self) -> tuple[str, ...]:
        """The role that judges, and the stronger one of a cascade."""
        return (self.role,) if self.then is None else (self.role, self.then)


PLAN_FORMAT: Literal["tripos.plan/3"] = "tripos.plan/3"


class Reveal(Part):
    """A use of `reveal`: what secret is shown, where in the spec's own words, and by which step."""

    scenario: str
    step: str
    text: str
    secret: str
    """The secrets that go through, with commas between them."""

    @property
    def shown(self) -> str:
        """Return what is shown, and of which secret it tells, where that is not the same."""
        return self.text if self.text == self.secret else f"{self.text}, which tells {self.secret}"


class CallCount(Part):
    """The calls of a step for every combination of models that fill the roles in `times`.

    `calls` are made where nothing is tried again and every condition that only a run can decide holds; there are
    `least` at the least and `most` at the most. `arms` are the treatments that share them. `pairs` is the role of whose
    models every ordered pair is compared. A reply that cannot be read is asked for once more, which is not counted.
    Where rows differ in what they may take, `row` is the least and the most for one of them.
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
    extends: tuple[Extended, ...] = ()
    roles: tuple[Role, ...]
    axes: tuple[Axis, ...]
    arms: tuple[Arm, ...] = ()
    trees: tuple[Tree, ...] = ()
    plugins: tuple[Plugin, ...] = ()
    metrics: tuple[Metric, ...]
    datasets: tuple[Dataset, ...]
    made: tuple[Made, ...] = ()
    scenarios: tuple[Scenario, ...]
    scorers: tuple[Scorer, ...]
    measures: tuple[Measure, ...]
    expectations: tuple[Expectation, ...] = ()
    subsets: tuple[Subset, ...] = ()
    exports: tuple[Export | Pairing, ...] = ()
    reveals: tuple[Reveal, ...] = ()
    titles: dict[str, dict[str, Labels]] = {}
    """What readers see in place of names, by kind and name: a text a language."""
    calls: tuple[CallCount, ...]

    @property
    def digest(self) -> str:
        """The plan's name, 64 hexadecimal digits."""
        return digest(self.model_dump(mode="json"), size=32)

    @property
    def fingerprints(self) -> set[str]:
        """The fingerprints of everything that a run asks and scores: of the steps of all scenarios, and of those that
        make data sets."""
        own = {each for scenario in self.scenarios for each in scenario.fingerprints}
        return own.union(*(made.fingerprints for made in self.made))

    @property
    def conditional(self) -> bool:
        """True if some calls are made only where a condition holds."""
        steps = (step for scenario in self.scenarios for each in scenario.treatments for step in each.steps)
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
        """Return the title of a scenario, dimension, axis, arm or measure, or of the benchmark: in that language, else
        in one of the benchmark; None where it has no text a language."""
        texts = self.titles.get(kind, {}).get(name, {})
        return next((texts[each] for each in (language, *self.benchmark.languages) if each in texts), None)

    def role(self, name: str) -> Role:
        """Return the role of that name. Raises `KeyError` where there is none."""
        return named(self.roles, name)

    def axis(self, name: str) -> Axis:
        """Return the axis of that name. Raises `KeyError` where there is none."""
        return named(self.axes, name)

    def metric(self, name: str) -> Metric:
        """Return the metric of that name. Raises `KeyError` where there is none."""
        return named(self.metrics, name)

    def dataset(self, name: str) -> Dataset:
        """Return the data set of that name. Raises `KeyError` where there is none."""
        return named(self.datasets, name)

    def scorer(self, name: str) -> Scorer:
        """Return the scorer of that name. Raises `KeyError` where there is none."""
        return named(self.scorers, name)
