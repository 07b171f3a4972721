"""Scenarios, their treatments, and the scorers that they use."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

from tripos_compiler.plan.base import Part, named
from tripos_compiler.plan.expressions import Expr, NumberType, Texts, Type
from tripos_compiler.plan.settings import DeclaredSettings
from tripos_compiler.plan.steps import Ask, Converse, Judging, Step


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
