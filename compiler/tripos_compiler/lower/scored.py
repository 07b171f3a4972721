"""What aggregates look at: the scores, comparisons and columns that the scenarios of a program have."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.lower.scales import Bounds
from tripos_compiler.plan import BoolType, Compare, Grade, NumberType, Scenario, Score, Type
from tripos_compiler.program import NamedColumn, Program
from tripos_compiler.resolve import scorer_name
from tripos_compiler.source import Span
from tripos_compiler.syntax.tree import Name

Kind = Literal["score", "scorer", "metric", "compare", "column"]


@dataclass(frozen=True)
class Scored:
    """Values that an aggregate is taken of. `within` is the scenario that they are taken from, where they are taken
    from one only, and `scenarios` are all that have them.

    `type` is that of a value, `bounds` its scale where it is known; `mixed` says that these are metrics of different
    scales. `judges` are the roles that give them, and `metrics` says whether metrics of a rubric are among them.
    `of` are the steps whose replies they are about.
    """

    name: str
    kind: Kind
    within: str | None
    scenarios: tuple[Scenario, ...]
    type: Type
    bounds: Bounds | None = None
    mixed: bool = False
    judges: tuple[str, ...] = ()
    metrics: bool = False
    of: frozenset[str] = frozenset()
    kept: bool = True
    """Whether they are rows of the table of scores."""
    whole: bool = True
    """Whether all scenarios that may have them are sound, so that what is not known of them is not there."""
    written: str = ""
    """How a column is written, whose name is the compiler's."""

    @property
    def shown(self) -> str:
        """What messages call it."""
        return f"`{self.written or self.name}`"


@dataclass(frozen=True)
class Found:
    """A step that yields values of a name, as one scenario has it."""

    scenario: Scenario
    step: Score | Grade | Compare


@dataclass
class Scores:
    """Looks up what is scored, by name."""

    program: Program
    written: dict[str, dict[str, Span]] = field(default_factory=dict)
    """The scores, comparisons and applied scorers that every scenario declares, sound or not, and where."""
    broken: frozenset[str] = frozenset()
    """Scenarios that were reported: what they score is known by name only."""

    def __post_init__(self) -> None:
        for statement in self.program.of("scenario"):
            names = self.written.setdefault(statement.name().text, {})
            for inner in statement.body:
                name = declared_score(inner)
                if name is not None:
                    names.setdefault(name.text, name.span)
        self.broken = frozenset(name for name in self.written if name not in self.program.scenarios)

    def names(self, scenario: str | None) -> dict[str, Span]:
        """The names of scores and comparisons of a scenario, or of all; scorers that are judges are not among them."""
        found: dict[str, Span] = {}
        for each, names in self.written.items():
            if scenario is None or scenario == each:
                for name, span in names.items():
                    found.setdefault(name, span)
        return {name: span for name, span in found.items() if name not in self.judges}

    @cached_property
    def judges(self) -> frozenset[str]:
        """Scorers whose scores have the names of metrics, or that of the score that they are applied as."""
        computed = {*self.program.formulas, *self.program.plugins}
        return frozenset(self.program.declared.get("scorer", {})) - computed

    def score(self, name: str, within: str | None) -> Scored | None:
        """The scores or comparisons of that name. None where no sound scenario has them."""
        found = [f for f in self._steps(within) if f.step.name == name and not (_is_rubric(f.step))]
        if not found:
            return None
        if any(isinstance(each.step, Compare) for each in found):
            found = [each for each in found if isinstance(each.step, Compare)]
        types = [self._type(each.step) for each in found]
        bounds = {bounds_of(type_) for type_ in types}
        kind: Kind = "compare" if isinstance(found[0].step, Compare) else "score"
        return self._scored(
            name,
            kind,
            within,
            found,
            types[0] if len({type_.kind for type_ in types}) == 1 else NumberType(),
            next(iter(bounds)) if len(bounds) == 1 else None,
        )

    def scorer(self, name: str, within: str | None) -> Scored | None:
        """All scores that a judge gave. None where no sound scenario is scored by it."""
        found = [f for f in self._steps(within) if isinstance(f.step, Grade) and f.step.scorer == name]
        if not found:
            return None
        scorer = self.program.scorers[name]
        if scorer.gives is not None:
            return self._scored(name, "scorer", within, found, scorer.gives, bounds_of(scorer.gives))
        given = [metric for each in found if isinstance(each.step, Grade) for metric in each.step.metrics]
        return self._rubric(name, "scorer", within, found, given)

    def metric(self, name: str, within: str | None) -> Scored | None:
        """All scores on a metric, whoever gave them. None where no sound scenario is given it."""
        found = [f for f in self._steps(within) if isinstance(f.step, Grade) and name in f.step.metrics]
        return self._rubric(name, "metric", within, found, [name]) if found else None

    def column(self, column: NamedColumn, scenario: str, written: str) -> Scored | None:
        """A value that a measure of that scenario looks at, as it is written. None where the scenario is not sound."""
        lowered = self.program.scenarios.get(scenario)
        if lowered is None:
            return None
        steps = [step for step in lowered.steps if step.name == column.name and step.step == "column"]
        return Scored(
            column.name,
            "column",
            scenario,
            (lowered,),
            column.type,
            bounds_of(column.type),
            of=frozenset(step.of for step in steps if step.step == "column"),
            kept=False,
            written=written,
        )

    @cached_property
    def _every(self) -> tuple[Found, ...]:
        return tuple(
            Found(scenario, step)
            for scenario in self.program.scenarios.values()
            for step in scenario.steps
            if isinstance(step, Score | Grade | Compare)
        )

    def _steps(self, within: str | None) -> list[Found]:
        return [found for found in self._every if within is None or found.scenario.name == within]

    def _type(self, step: Score | Grade | Compare) -> Type:
        if isinstance(step, Score):
            return BoolType() if step.truth else NumberType()
        gives = self.program.scorers[step.scorer].gives
        return gives if gives is not None else NumberType()

    def _rubric(self, name: str, kind: Kind, within: str | None, found: list[Found], metrics: list[str]) -> Scored:
        known = [self.program.metrics[metric] for metric in metrics if metric in self.program.metrics]
        scales = sorted({(float(metric.low), float(metric.high)) for metric in known})
        bounds = scales[0] if len(scales) == 1 and all(metric.ends is not None for metric in known) else None
        return self._scored(name, kind, within, found, NumberType(), bounds, len(scales) > 1, metrics=True)

    def _scored(
        self,
        name: str,
        kind: Kind,
        within: str | None,
        found: list[Found],
        type_: Type,
        bounds: Bounds | None,
        mixed: bool = False,
        metrics: bool = False,
    ) -> Scored:
        judges = [self.program.scorers[f.step.scorer].role for f in found if isinstance(f.step, Grade | Compare)]
        whole = within is not None or not self.broken
        return Scored(
            name=name,
            kind=kind,
            within=within,
            scenarios=tuple({each.scenario.name: each.scenario for each in found}.values()),
            type=type_,
            bounds=bounds if whole else None,
            mixed=mixed,
            judges=tuple(dict.fromkeys(judges)),
            metrics=metrics,
            of=frozenset(each.step.of for each in found),
            kept=kind != "compare",
            whole=whole,
        )


def declared_score(statement: Statement) -> Name | None:
    """The name of the score, comparison or applied scorer that a statement of a scenario declares."""
    match statement.construct:
        case "score" | "compare":
            return statement.name()
        case "grade":
            return scorer_name(statement.syntax("call"))
    return None


def bounds_of(type_: Type) -> Bounds | None:
    """The scale of the values of a type, where they have one.

    >>> bounds_of(BoolType())
    (0.0, 1.0)
    """
    if type_.kind == "bool":
        return (0.0, 1.0)
    if type_.kind == "integer" and type_.low is not None and type_.high is not None:
        return (float(type_.low), float(type_.high))
    return None


def graded(scored: Scored) -> list[Grade]:
    """The steps that give something scored."""
    return [
        step
        for scenario in scored.scenarios
        for step in scenario.steps
        if isinstance(step, Grade)
        and scored.name in {"metric": step.metrics, "scorer": (step.scorer,)}.get(scored.kind, (step.name,))
    ]


def _is_rubric(step: Score | Grade | Compare) -> bool:
    return isinstance(step, Grade) and bool(step.metrics)
