"""The inputs of aggregates: the scores, comparisons and columns that the scenarios of a program have."""

from __future__ import annotations

import math
from dataclasses import field, fields, replace
from functools import cached_property

from tripos_compiler.constructs import Statement
from tripos_compiler.language.figures import (
    Bounds as Ends,
    Giving,
    Ranges,
    ScoredStep as PlanScored,
    ScoredValues,
    enclosing_range,
    judged_steps,
)
from tripos_compiler.resolve import NamedColumn, Program, scorer_name
from tripos_compiler.source import Name, Span, dataclass
from tripos_compiler.statements.measures.scales import Bounds


@dataclass(frozen=True)
class Operand(PlanScored):
    """Values that an aggregate is taken of, with what is checked before it is. `bounds` is the scale of a value where
    one is declared, and `ends` are the least and the greatest value that there can be, also where they only follow from
    how it is computed; `mixed` says that these are metrics of different scales, and `metrics` whether metrics of a
    rubric are among them."""

    bounds: Bounds | None = None
    ends: Ends = (None, None)
    mixed: bool = False
    metrics: bool = False
    whole: bool = True
    """Whether all scenarios that may have them are sound, so that what is not known of them is not there."""
    true_of: tuple[str, ...] = ()
    """The choices of a judge that count as true, where it is a condition on them."""
    written: str = ""
    """How a column is written, whose name is the compiler's."""

    @property
    def shown(self) -> str:
        """Return what messages call it."""
        return f"`{self.written or self.name}`"


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
        """Return the names of scores and comparisons of a scenario, or of all; scorers that are judges are not among
        them."""
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

    def score(self, name: str, within: str | None) -> Operand | None:
        """Return the scores or comparisons of that name. None where no sound scenario has them."""
        found = self.values.score(name, within)
        return None if found is None else self._given(found)

    def scorer(self, name: str, within: str | None) -> Operand | None:
        """Return all scores that a judge gave. None where no sound scenario is scored by it."""
        found = self.values.scorer(name, within)
        if found is None or self.program.scorers[name].gives is not None:
            return None if found is None else self._given(found)
        return self._rubric(found, [metric for step in judged_steps(found) for metric in step.metrics])

    def metric(self, name: str, within: str | None) -> Operand | None:
        """Return all scores on a metric, whoever gave them. None where no sound scenario is given it."""
        found = self.values.metric(name, within)
        return None if found is None else self._rubric(found, [name])

    def column(self, column: NamedColumn, scenario: str, written: str) -> Operand | None:
        """Return a value that a measure of that scenario looks at, as it is written. None where the scenario is not
        sound."""
        lowered = self.program.scenarios.get(scenario)
        if lowered is None:
            return None
        found = self.values.column(column.name, scenario)
        found = replace(found, scenarios=(lowered,), type=column.type)
        return replace(self._given(found), written=written)

    @cached_property
    def values(self) -> ScoredValues:
        """Return what the names of scores mean."""
        return ScoredValues(tuple(self.program.scenarios.values()), self.program.scorers)

    @cached_property
    def ranges(self) -> Ranges:
        """Between which ends expressions of the scenarios lie."""
        datasets = self.program.datasets.values()
        fields = {dataset.name: {field.name: field.type for field in dataset.fields} for dataset in datasets}
        return Ranges(fields, {name: scorer.gives for name, scorer in self.program.scorers.items()})

    def _given(self, found: PlanScored) -> Operand:
        """Return values with their scale, where all that gives them has one and the same; and with their ends."""
        given = {id(step) for step in found.steps}
        steps = [
            (scenario, step)
            for scenario in found.scenarios
            for step in scenario.steps
            if isinstance(step, Giving) and id(step) in given
        ]
        scales = {self.ranges.scale_of(scenario, step) for scenario, step in steps}
        low, high = enclosing_range(self.ranges.of_step(scenario, step) for scenario, step in steps)
        ends = (low if math.isfinite(low) else None, high if math.isfinite(high) else None)
        return self._scored(
            found, next(iter(scales)) if len(scales) == 1 else None, ends if low < high else (None, None)
        )

    def _rubric(self, found: PlanScored, metrics: list[str]) -> Operand:
        known = [self.program.metrics[metric] for metric in metrics if metric in self.program.metrics]
        scales = sorted({(float(metric.low), float(metric.high)) for metric in known})
        alone = len(scales) == 1 and all(metric.ends is not None for metric in known)
        ends = scales[0] if alone else None
        scored = self._scored(found, ends, ends or (None, None))
        return replace(scored, mixed=len(scales) > 1, metrics=True)

    def _scored(self, found: PlanScored, bounds: Bounds | None, ends: Ends) -> Operand:
        whole = found.within is not None or not self.broken
        own = {field.name: getattr(found, field.name) for field in fields(found)}
        return Operand(**own, bounds=bounds if whole else None, ends=ends if whole else (None, None), whole=whole)


def declared_score(statement: Statement) -> Name | None:
    """Return the name of the score, comparison or applied scorer that a statement of a scenario declares."""
    match statement.construct:
        case "score" | "compare":
            return statement.name()
        case "grade":
            return scorer_name(statement.syntax("call"))
    return None
