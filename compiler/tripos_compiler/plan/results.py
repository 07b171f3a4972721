"""Measures, expectations, subsets and exports of a plan, and pairs of texts out of data sets."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from tripos_compiler.plan.base import Part
from tripos_compiler.plan.declarations import Settling
from tripos_compiler.plan.expressions import Expr, Template


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
