"""Scored steps: the values of an aggregate, the number of tries for an item, and requirements for headline measures.

An ask after `repeat 3` follows three different conversations. A reply after one of them is not another try at the
request after another. So a probability for `k` tries is computed for each conversation, and the value of the item is
the mean.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Literal

from tripos_compiler.language.aggregates import MEAN, is_of_all_models
from tripos_compiler.language.figures import aggregates_of
from tripos_compiler.plan import (
    Aggregate,
    Ask,
    BoolType,
    Column,
    Compare,
    Converse,
    Each,
    Expr,
    Grade,
    Measure,
    NumberType,
    Plan,
    Scenario,
    Score,
    Scorer,
    Treatment,
    Type,
    Verdict,
)
from tripos_compiler.source.data_classes import dataclass


def why_no_headline(measure: Measure, measures: Mapping[str, Measure]) -> str | None:
    """Return why a measure has no single value for each model, in words that continue its name; None if it has one.
    `measures` are those of its benchmark, by name.

    >>> figure = Aggregate(function="mean", values=("right",))
    >>> right = Measure(name="right", by=("level",), low=0, high=1, figure=figure)
    >>> why_no_headline(right, {"right": right})
    'goes by level'
    >>> why_no_headline(right.model_copy(update={"by": ()}), {}) is None
    True
    """
    if measure.by:
        return f"goes by {', '.join(measure.by)}"
    if any(is_of_all_models(aggregate) for aggregate in aggregates_of(measure.figure, measures)):
        return "is one figure of all models together"
    return None


NUMBER = NumberType()
Kind = Literal["score", "scorer", "metric", "compare", "column"]
ScoringStep = Score | Grade | Compare | Column
"""Step that yields values."""


@dataclass(frozen=True)
class ScoredStep:
    """Values that an aggregate takes.

    `within` is the only scenario if there is a restriction; `scenarios` are all scenarios that have the values, and
    `steps` the steps that yield them. `type` is the type of a value, and `judges` are the roles that judge.
    """

    name: str
    kind: Kind
    within: str | None
    scenarios: tuple[Scenario, ...] = ()
    steps: tuple[ScoringStep, ...] = ()
    type: Type = NUMBER
    judges: tuple[str, ...] = ()

    @property
    def stored(self) -> bool:
        """True if they are rows of the table of scores."""
        return self.kind not in ("compare", "column")

    @property
    def elements(self) -> tuple[str, Type] | None:
        """Name and type of the list elements that are scored separately; None if replies are scored."""
        named = {element_name(step) for step in self.steps}
        steps = [step for step in self.steps if isinstance(step, Score | Column)]
        types = [step.element for step in steps if step.element is not None]
        name = next(iter(named)) if len(named) == 1 else None
        return None if name is None else (name, types[0])

    @property
    def scores_elements(self) -> bool:
        """True if any of them has a row for each element of a list."""
        return any(element_name(step) is not None for step in self.steps)

    @property
    def of(self) -> frozenset[str]:
        """Steps whose replies are scored."""
        return frozenset(step.of for step in self.steps)


def element_name(step: ScoringStep) -> str | None:
    """Return the name in the spec of the elements that a step scores separately; None if it scores a reply. Primes that
    make the name unique in a plan are removed."""
    if not isinstance(step, Score | Column) or step.element is None or not isinstance(step.value, Each):
        return None
    return step.value.loop.alias.rstrip("'")


def lists_of(scored: ScoredStep) -> list[Expr]:
    """Return the distinct lists whose elements are scored."""
    lists: list[Expr] = []
    for step in scored.steps:
        value = step.value if isinstance(step, Score | Column) and step.element is not None else None
        if isinstance(value, Each) and value.loop.of not in lists:
            lists.append(value.loop.of)
    return lists


def element_scores(plan: Plan) -> list[str]:
    """Return the names of the scores and columns with a row for each element of a list."""
    steps = (step for scenario in plan.scenarios for step in scenario.steps)
    return sorted({step.name for step in steps if isinstance(step, Score | Column) and step.element is not None})


@dataclass(frozen=True)
class ScoredValues:
    """Resolver of names in figures, for `scenarios` and the `scorers` of their judges."""

    scenarios: tuple[Scenario, ...]
    scorers: Mapping[str, Scorer]

    def named(self, name: str, within: str | None) -> ScoredStep:
        """Return the values for a name in a figure of a plan. The name of a judge stands for all scores that it
        gave."""
        if name in self.scorers:
            step = self.scorer(name, within)
        else:
            step = self.score(name, within) or self.metric(name, within)
        return step or self.column(name, within)

    def score(self, name: str, within: str | None) -> ScoredStep | None:
        """Return the scores or comparisons with a name, or None if no scenario has them."""
        scoring = [(scenario, step) for scenario, step in self._giving(within) if step.name == name]
        scoring = [
            (scenario, step) for scenario, step in scoring if not isinstance(step, Column) and not _is_rubric(step)
        ]
        compares = [(scenario, step) for scenario, step in scoring if isinstance(step, Compare)]
        kind: Kind = "compare" if compares else "score"
        return self._scored(name, kind, within, compares or scoring) if scoring else None

    def scorer(self, name: str, within: str | None) -> ScoredStep | None:
        """Return all scores of a judge, or None if no scenario uses it."""
        scoring = [
            (scenario, step)
            for scenario, step in self._giving(within)
            if isinstance(step, Grade) and step.scorer == name
        ]
        return self._scored(name, "scorer", within, scoring) if scoring else None

    def metric(self, name: str, within: str | None) -> ScoredStep | None:
        """Return all scores on a metric by any judge, or None if no scenario has it."""
        scoring = [
            (scenario, step)
            for scenario, step in self._giving(within)
            if isinstance(step, Grade) and name in step.metrics
        ]
        return self._scored(name, "metric", within, scoring) if scoring else None

    def column(self, name: str, within: str | None) -> ScoredStep:
        """Return the values of a column of a scenario."""
        scoring = [
            (scenario, step)
            for scenario, step in self._giving(within)
            if isinstance(step, Column) and step.name == name
        ]
        return self._scored(name, "column", within, scoring)

    def type_of(self, step: ScoringStep) -> Type:
        """Return the type of the values that a step yields."""
        match step:
            case Column():
                return step.type
            case Score():
                return step.gives or (BoolType() if step.truth else NumberType())
        return self.scorers[step.scorer].gives or NumberType()

    @cached_property
    def _all_steps(self) -> tuple[tuple[Scenario, ScoringStep], ...]:
        return tuple(
            (scenario, step) for scenario in self.scenarios for step in scenario.steps if isinstance(step, ScoringStep)
        )

    def _giving(self, within: str | None) -> list[tuple[Scenario, ScoringStep]]:
        return [(scenario, step) for scenario, step in self._all_steps if within in (None, scenario.name)]

    def _scored(
        self, name: str, kind: Kind, within: str | None, scoring: Sequence[tuple[Scenario, ScoringStep]]
    ) -> ScoredStep:
        steps = tuple(step for _, step in scoring)
        types = [self.type_of(step) for step in steps]
        judge_names = [
            step.judge if isinstance(step, Score) else step.scorer for step in steps if not isinstance(step, Column)
        ]
        judges = [self.scorers[name].role for name in judge_names if name is not None]
        return ScoredStep(
            name,
            kind,
            within,
            tuple({scenario.name: scenario for scenario, _ in scoring}.values()),
            steps,
            types[0] if len({type_.kind for type_ in types}) == 1 else NumberType(),
            tuple(dict.fromkeys(judges)),
        )


def scored_values_of(plan: Plan) -> ScoredValues:
    """Return the resolver of names in the figures of a plan."""
    return ScoredValues(plan.scenarios, {scorer.name: scorer for scorer in plan.scorers})


def mean_in(figure: Aggregate) -> Aggregate | None:
    """Return the mean of scores that an aggregate is, or whose cell means it averages; None for any other aggregate.

    >>> mean = Aggregate(function="mean", values=("right",), by=("level",))
    >>> mean_in(Aggregate(function="mean", values=(), of=mean)) == mean_in(mean) == mean
    True
    """
    inner = figure if figure.of is None else figure.of
    if not isinstance(inner, Aggregate) or inner.of is not None:
        return None
    return inner if figure.function == inner.function == MEAN.name else None


def scored_inputs(values: ScoredValues, figure: Aggregate) -> tuple[ScoredStep, ...]:
    """Return the values that an aggregate takes.

    For an aggregate over cells these are the values of the inner aggregate; for one over the cells of a formula there
    are none, because the aggregates of the formula have their own.
    """
    inner = figure
    while isinstance(inner.of, Aggregate):
        inner = inner.of
    return tuple(values.named(name, inner.scenario) for name in inner.values)


def judged_steps(scored: ScoredStep) -> list[Grade]:
    """Return the grades among the steps of scored values."""
    return [step for step in scored.steps if isinstance(step, Grade)]


def computed_from(scored: ScoredStep) -> set[str]:
    """Return the scorers from whose verdicts scored values are computed, without those whose verdict is the value."""
    return {
        step.scorer
        for scenario in scored.scenarios
        for score in scored.steps
        if isinstance(score, Score | Column) and not (isinstance(score, Score) and score.judge is not None)
        for step in scenario.steps
        if isinstance(step, Verdict) and step.name in score.needs
    }


def conversations_before(scored: ScoredStep) -> dict[str, int]:
    """Return the number of conversations among which the replies of a scored step are divided, by fingerprint; only for
    steps that follow several conversations."""
    numbers: dict[str, int] = {}
    for scenario in scored.scenarios:
        for treatment in scenario.treatments:
            for ask, talks in _asks_after_conversations(treatment, scored.of):
                if (times := _times(talks)) > 1:
                    numbers[ask.fingerprint] = times
    return numbers


def repeated_conversations(scored: ScoredStep) -> set[str]:
    """Return the names of the conversations among which the replies of a scored step are divided."""
    return {
        talk.name
        for scenario in scored.scenarios
        for treatment in scenario.treatments
        for _, talks in _asks_after_conversations(treatment, scored.of)
        for talk in talks
        if talk.repeat > 1
    }


def most_tries(scored: ScoredStep) -> int:
    """Return the largest number of replies of an item to the same request."""
    most = [1]
    # A score over the list of all samples is one for a row.
    of = frozenset(step.of for step in scored.steps if step.of in step.needs or f"{step.of}.samples" not in step.needs)
    for scenario in scored.scenarios:
        for treatment in scenario.treatments:
            most += [-(-ask.samples // _times(talks)) for ask, talks in _asks_after_conversations(treatment, of)]
            most += [step.repeat for step in treatment.steps if isinstance(step, Converse) and step.name in of]
    return max(most)


def values_of_a_reply(scored: ScoredStep) -> tuple[Ask, Ask] | None:
    """Return the ask whose replies have several values each, and the later ask with a value for each of its replies;
    None if every reply has one value."""
    for scenario in scored.scenarios:
        for treatment in scenario.treatments:
            asks = {step.name: step for step in treatment.steps if isinstance(step, Ask)}
            for step in scored.steps:
                of, needs = asks.get(step.of), (asks[need] for need in step.needs if need in asks)
                later = next((ask for ask in needs if of is not None and ask.samples > of.samples), None)
                if of is not None and later is not None and of.name in step.needs:
                    return of, later
    return None


def _asks_after_conversations(treatment: Treatment, names: frozenset[str]) -> Iterator[tuple[Ask, list[Converse]]]:
    """Yield every ask with one of these names, and the conversations among which its replies are divided."""
    steps = {step.name: step for step in treatment.steps}
    for name in names:
        ask = steps.get(name)
        if isinstance(ask, Ask):
            before = [steps[need] for need in ask.needs if need in steps]
            yield ask, [step for step in before if isinstance(step, Converse) and step.repeat < ask.samples]


def _times(talks: Iterable[Converse]) -> int:
    return math.lcm(*(talk.repeat for talk in talks))


def _is_rubric(step: ScoringStep) -> bool:
    return isinstance(step, Grade) and bool(step.metrics)
