"""A reply, or two of them, that a person may be handed, and the view of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tripos.annotation.batch import OtherReply, WantedGrade, key_of
from tripos.annotation.elements import LabelledElement
from tripos_compiler.plan import ChoiceType, Compare, Grade, Plan, Verdict, digest
from tripos_runtime.asking import VERDICT, compared_worth
from tripos_runtime.program import Pair, Unit, pairs_of


@dataclass(frozen=True, eq=False)
class GradableReply:
    """A reply that could be handed out, by the name that its judgement will have."""

    unit: Unit
    step: Grade | Compare | Verdict
    sample_id: str
    """The reply that is graded: of a chat the last one. Of two that are compared the one that is shown first."""
    judgement_id: str
    model: str
    binding: str
    marks: tuple[WantedGrade, ...]
    pair: Pair | None = None
    other: OtherReply | None = None
    element: LabelledElement | None = None
    """The element of a list that is labelled, where it is not the whole reply."""
    also: tuple[GradableReply, ...] = ()
    """The same judgement under further scores, which may have other conditions."""

    @property
    def fingerprint(self) -> str:
        """The fingerprint of its scores."""
        return self.step.fingerprint if self.element is None else self.element.score.fingerprint

    @property
    def key(self) -> tuple[str, str]:
        """What it is, whoever it is handed to."""
        beside = None if self.other is None else self.other.sample_id
        return key_of(self.sample_id, beside if self.element is None else self.element.place, self.fingerprint)

    @property
    def of(self) -> str:
        """The model whose reply it is, or the two, in the order of their names."""
        return self.model if self.other is None else " & ".join(sorted((self.model, self.other.model)))

    @property
    def arms(self) -> Mapping[str, str]:
        """The arms that it was made in, each with its value."""
        return self.unit.bound.treatment.arms

    @property
    def value_names(self) -> Iterable[str]:
        """The axes, arms and columns that it has a value of."""
        return {*self.unit.case.context, *self.arms, *self.unit.case.fields}

    def value_of(self, name: str) -> str:
        """Return its value of an axis, an arm or a column, as a text; an empty one where it has none."""
        case = self.unit.case
        return str(case.context.get(name, self.arms.get(name, case.fields.get(name, ""))))

    @property
    def scenario(self) -> str:
        """The name of its scenario."""
        return self.unit.case.scenario.name


def pairs_to_compare(units: Sequence[Unit], role: str) -> Iterator[Pair]:
    """Yield every two replies that a role compares, each in the order that their names decide: half of them in either,
    and the same for everybody."""
    for pair in pairs_of(units):
        if pair.bound.role_of(pair.step) == role and _is_shown(pair):
            yield pair


def _is_shown(pair: Pair) -> bool:
    own, other = (side.about(pair.step) for side in pair.sides)
    turned = int(digest(["shown first", pair.step.name, *sorted((own, other))])[:8], 16) % 2 == 1
    return (own > other) == turned


def gradable_pair(plan: Plan, pair: Pair, binding: str, evaluator: str, round: int | None) -> GradableReply:
    """Return two replies as something to grade. Of a later round the verdict is called otherwise."""
    step, scorer = pair.step, plan.scorer(pair.step.scorer)
    assert isinstance(scorer.gives, ChoiceType)
    choices = tuple((name, compared_worth(scorer, name) or 0.0) for name in scorer.gives.values)
    judgement, name = pair.calls[0].name, pair.comparisons[evaluator]
    first, second = (side.about(step) for side in pair.sides)
    if round is not None:
        about = evaluator, round, first, second, binding
        judgement = digest(["imported judgement", step.judgement, *about])
        name = digest(["imported comparison", step.fingerprint, *about])
    mark = WantedGrade(step.name, VERDICT, name, 1, len(choices), True, choices)
    other = OtherReply(step.name, pair.second.model, second)
    return GradableReply(pair.first, step, first, judgement, pair.first.model, binding, (mark,), pair, other)


@dataclass(frozen=True)
class ShownReply:
    """The view of a reply for a person: headings and texts, as the judge's prompt takes them, in the item's
    language."""

    language: str
    title: str
    texts: tuple[tuple[str, str], ...]
    scales: tuple[ShownScale, ...]
    of: GradableReply


@dataclass(frozen=True)
class ShownScale:
    """A metric as a person sees it; `levels` are `(low, high, text)` from the highest down. With `names` each value is
    the place of one of them, from 1."""

    metric: str
    title: str
    asks: str
    low: int | None
    high: int | None
    whole: bool
    levels: tuple[tuple[int, int, str], ...]
    names: tuple[str, ...] = ()

    @property
    def values(self) -> tuple[int, ...]:
        """The values to choose from; empty where there are too many, or no end of them."""
        if self.low is None or self.high is None or not self.whole or (self.high - self.low > 20 and not self.names):
            return ()
        return tuple(range(self.low, self.high + 1))
