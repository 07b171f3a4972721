"""A reply, or two of them, that a person may be handed, and the view of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tripos.annotation.batch import OtherReply, WantedGrade, key_of
from tripos_compiler.plan import Compare, Grade
from tripos_runtime.program import Pair, Unit


@dataclass(frozen=True, eq=False)
class GradableReply:
    """A reply that could be handed out, by the name that its judgement will have."""

    unit: Unit
    step: Grade | Compare
    sample_id: str
    """The reply that is graded: of a chat the last one. Of two that are compared the one that is shown first."""
    judgement_id: str
    model: str
    binding: str
    marks: tuple[WantedGrade, ...]
    pair: Pair | None = None
    other: OtherReply | None = None

    @property
    def key(self) -> tuple[str, str]:
        """What it is, whoever it is handed to."""
        return key_of(self.sample_id, None if self.other is None else self.other.sample_id, self.step.fingerprint)

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


@dataclass(frozen=True)
class ShownReply:
    """The view of a reply for a person: headings and texts, as the judge's prompt takes them, in the item's
    language."""

    language: str
    title: str
    texts: tuple[tuple[str, str], ...]
    scales: tuple[ShownScale, ...]


@dataclass(frozen=True)
class ShownScale:
    """A metric as a person sees it; `levels` are `(low, high, text)` from the highest down."""

    metric: str
    title: str
    asks: str
    low: int | None
    high: int | None
    whole: bool
    levels: tuple[tuple[int, int, str], ...]

    @property
    def values(self) -> tuple[int, ...]:
        """The values to choose from; empty where there are too many, or no end of them."""
        if self.low is None or self.high is None or not self.whole or self.high - self.low > 20:
            return ()
        return tuple(range(self.low, self.high + 1))
