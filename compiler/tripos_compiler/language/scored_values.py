"""Scored steps: the values that an aggregate takes, how often they are tried, and what a headline may be.

What is asked after `repeat 3` is asked after three different conversations. A reply after one of them is no try at what
is asked after another, so a chance of `k` tries is worked out for each conversation, and an item's own is their mean.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Literal

from tripos_compiler.plan import (
    Aggregate,
    Ask,
    BoolType,
    Column,
    Compare,
    Constant,
    Converse,
    Each,
    Expr,
    Figure,
    Formula,
    Grade,
    Measure,
    Measured,
    NumberType,
    Plan,
    Scenario,
    Score,
    Scorer,
    Treatment,
    Type,
)
from tripos_compiler.source.data_classes import dataclass


def why_no_headline(measure: Measure, measures: Mapping[str, Measure]) -> str | None:
    """Return why a measure does not come to one value for each model, in words that follow its name; None where it
    does. `measures` are those of its benchmark, by name.

    >>> figure = Aggregate(function="mean", values=("right",))
    >>> right = Measure(name="right", by=("level",), low=0, high=1, figure=figure)
    >>> why_no_headline(right, {"right": right})
    'goes by level'
    >>> why_no_headline(right.model_copy(update={"by": ()}), {}) is None
    True
    """
    if measure.by:
        return f"goes by {', '.join(measure.by)}"
    if any(each.of_all_models for each in aggregates_of(measure.figure, measures)):
        return "is one figure of all models together"
    return None


def aggregates_of(figure: Figure, measures: Mapping[str, Measure]) -> Iterator[Aggregate]:
    """Yield the aggregates that a figure is made of, also of the measures that it names, and those whose cells they are
    taken over."""
    match figure:
        case Aggregate():
            yield figure
            if figure.of is not None:
                yield from aggregates_of(figure.of, measures)
        case Measured(measure=name):
            yield from aggregates_of(measures[name].figure, measures)
        case Formula(values=values):
            for value in values:
                yield from aggregates_of(value, measures)
        case Constant():
            return


NUMBER = NumberType()
Kind = Literal["score", "scorer", "metric", "compare", "column"]
Giving = Score | Grade | Compare | Column
"""A step that gives values."""


@dataclass(frozen=True)
class ScoredStep:
    """Values that an aggregate is taken of. `within` is the scenario that they are taken from, where they are taken
    from one only; `scenarios` are all that have them, and `steps` what gives them there. `type` is that of a value, and
    `judges` are the roles that give them."""

    name: str
    kind: Kind
    within: str | None
    scenarios: tuple[Scenario, ...] = ()
    steps: tuple[Giving, ...] = ()
    type: Type = NUMBER
    judges: tuple[str, ...] = ()

    @property
    def kept(self) -> bool:
        """True if they are rows of the table of scores."""
        return self.kind not in ("compare", "column")

    @property
    def elements(self) -> tuple[str, Type] | None:
        """The name and the type of the elements of a list that are scored, each on its own; None where replies are."""
        named = {element_name(step) for step in self.steps}
        given = [step for step in self.steps if isinstance(step, Score | Column)]
        types = [step.element for step in given if step.element is not None]
        name = next(iter(named)) if len(named) == 1 else None
        return None if name is None else (name, types[0])

    @property
    def scores_elements(self) -> bool:
        """True if any of them has a row for each element of a list."""
        return any(element_name(step) is not None for step in self.steps)

    @property
    def of(self) -> frozenset[str]:
        """The steps whose replies they are about."""
        return frozenset(step.of for step in self.steps)


def element_name(step: Giving) -> str | None:
    """Return what a spec calls the elements that a step scores, each on its own; None where it scores a reply. In a
    plan its name may end in primes, which tell it from others."""
    if not isinstance(step, Score | Column) or step.element is None or not isinstance(step.value, Each):
        return None
    return step.value.loop.alias.rstrip("'")


def lists_of(scored: ScoredStep) -> list[Expr]:
    """Return the lists whose elements are scored, each once."""
    lists: list[Expr] = []
    for step in scored.steps:
        value = step.value if isinstance(step, Score | Column) and step.element is not None else None
        if isinstance(value, Each) and value.loop.of not in lists:
            lists.append(value.loop.of)
    return lists


def element_scores(plan: Plan) -> list[str]:
    """Return the names of the scores and columns that have a row for each element of a list."""
    every = (step for scenario in plan.scenarios for step in scenario.steps)
    return sorted({step.name for step in every if isinstance(step, Score | Column) and step.element is not None})


@dataclass(frozen=True)
class ScoredValues:
    """Looks up what names mean, among `scenarios` and the `scorers` of their judges."""

    scenarios: tuple[Scenario, ...]
    scorers: Mapping[str, Scorer]

    def named(self, name: str, within: str | None) -> ScoredStep:
        """Return what a name in the figure of a plan means. A judge's name means all that it gave, and no score of its
        own."""
        if name in self.scorers:
            found = self.scorer(name, within)
        else:
            found = self.score(name, within) or self.metric(name, within)
        return found or self.column(name, within)

    def score(self, name: str, within: str | None) -> ScoredStep | None:
        """Return the scores or comparisons of that name; None where no scenario has them."""
        found = [(scenario, step) for scenario, step in self._giving(within) if step.name == name]
        found = [(scenario, step) for scenario, step in found if not isinstance(step, Column) and not _is_rubric(step)]
        compares = [(scenario, step) for scenario, step in found if isinstance(step, Compare)]
        kind: Kind = "compare" if compares else "score"
        return self._scored(name, kind, within, compares or found) if found else None

    def scorer(self, name: str, within: str | None) -> ScoredStep | None:
        """Return all scores that a judge gave; None where no scenario is scored by it."""
        found = [
            (scenario, step)
            for scenario, step in self._giving(within)
            if isinstance(step, Grade) and step.scorer == name
        ]
        return self._scored(name, "scorer", within, found) if found else None

    def metric(self, name: str, within: str | None) -> ScoredStep | None:
        """Return all scores on a metric, whoever gave them; None where no scenario is given it."""
        found = [
            (scenario, step)
            for scenario, step in self._giving(within)
            if isinstance(step, Grade) and name in step.metrics
        ]
        return self._scored(name, "metric", within, found) if found else None

    def column(self, name: str, within: str | None) -> ScoredStep:
        """Return a value that a measure of a scenario looks at."""
        found = [
            (scenario, step)
            for scenario, step in self._giving(within)
            if isinstance(step, Column) and step.name == name
        ]
        return self._scored(name, "column", within, found)

    def type_of(self, step: Giving) -> Type:
        """Return the type of the values that a step gives."""
        match step:
            case Column():
                return step.type
            case Score():
                return step.gives or (BoolType() if step.truth else NumberType())
        return self.scorers[step.scorer].gives or NumberType()

    @cached_property
    def _every(self) -> tuple[tuple[Scenario, Giving], ...]:
        return tuple(
            (scenario, step) for scenario in self.scenarios for step in scenario.steps if isinstance(step, Giving)
        )

    def _giving(self, within: str | None) -> list[tuple[Scenario, Giving]]:
        return [(scenario, step) for scenario, step in self._every if within in (None, scenario.name)]

    def _scored(
        self, name: str, kind: Kind, within: str | None, found: Sequence[tuple[Scenario, Giving]]
    ) -> ScoredStep:
        steps = tuple(step for _, step in found)
        types = [self.type_of(step) for step in steps]
        given = [
            step.judge if isinstance(step, Score) else step.scorer for step in steps if not isinstance(step, Column)
        ]
        judges = [self.scorers[name].role for name in given if name is not None]
        return ScoredStep(
            name,
            kind,
            within,
            tuple({scenario.name: scenario for scenario, _ in found}.values()),
            steps,
            types[0] if len({type_.kind for type_ in types}) == 1 else NumberType(),
            tuple(dict.fromkeys(judges)),
        )


def scored_values_of(plan: Plan) -> ScoredValues:
    """Return what looks up the names in the figures of a plan."""
    return ScoredValues(plan.scenarios, {scorer.name: scorer for scorer in plan.scorers})


def mean_in(figure: Aggregate) -> Aggregate | None:
    """Return the mean of scores that an aggregate is, or that it is the mean of the cells of; None of any other.

    >>> mean = Aggregate(function="mean", values=("right",), by=("level",))
    >>> mean_in(Aggregate(function="mean", values=(), of=mean)) == mean_in(mean) == mean
    True
    """
    inner = figure if figure.of is None else figure.of
    if not isinstance(inner, Aggregate) or inner.of is not None:
        return None
    return inner if figure.function == inner.function == "mean" else None


def scored_by(values: ScoredValues, figure: Aggregate) -> tuple[ScoredStep, ...]:
    """Return what an aggregate of a plan is taken of; where it is taken of cells, what these are taken of, and nothing
    where they are those of a formula, whose aggregates have their own."""
    inner = figure
    while isinstance(inner.of, Aggregate):
        inner = inner.of
    return tuple(values.named(name, inner.scenario) for name in inner.values)


def judged_steps(scored: ScoredStep) -> list[Grade]:
    """Return the steps of judges that give something scored."""
    return [step for step in scored.steps if isinstance(step, Grade)]


def conversations_before(scored: ScoredStep) -> dict[str, int]:
    """Return how many conversations share out the replies of every step that is scored, by its fingerprint; only of
    those that follow several."""
    found: dict[str, int] = {}
    for scenario in scored.scenarios:
        for treatment in scenario.treatments:
            for ask, talks in _followed(treatment, scored.of):
                if talks > 1:
                    found[ask.fingerprint] = talks
    return found


def most_tries(scored: ScoredStep) -> int:
    """Return how many replies to one and the same question an item has at most."""
    most = [1]
    # A score over the list of all samples is one for a row.
    of = frozenset(step.of for step in scored.steps if step.of in step.needs or f"{step.of}.samples" not in step.needs)
    for scenario in scored.scenarios:
        for treatment in scenario.treatments:
            most += [-(-ask.samples // talks) for ask, talks in _followed(treatment, of)]
            most += [step.repeat for step in treatment.steps if isinstance(step, Converse) and step.name in of]
    return max(most)


def _followed(treatment: Treatment, names: frozenset[str]) -> Iterator[tuple[Ask, int]]:
    """Every ask of these names, and how many conversations its replies are shared out among."""
    steps = {step.name: step for step in treatment.steps}
    for name in names:
        ask = steps.get(name)
        if isinstance(ask, Ask):
            before = [steps[need] for need in ask.needs if need in steps]
            counts = [each.repeat for each in before if isinstance(each, Converse) and each.repeat < ask.samples]
            yield ask, math.lcm(*counts)


def _is_rubric(step: Giving) -> bool:
    return isinstance(step, Grade) and bool(step.metrics)
