"""Figures that confidence sequences can follow while a run adds one item after another.

Such a figure is a weighted sum of means: a mean of scores, a mean of cell means, a slice, and sums, differences, and
products or quotients with constants of these. It is then a mean over items of each item's contribution.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from tripos_compiler.language.intervals import scored_range
from tripos_compiler.language.scored_values import ScoredStep, mean_in, scored_inputs, scored_values_of
from tripos_compiler.plan import Aggregate, Constant, Expectation, Figure, Formula, Measure, Measured, Plan
from tripos_compiler.source.data_classes import dataclass

DECIDABLE_OPERATORS = {"<": -1, "<=": -1, ">": 1, ">=": 1}
"""Operators of expectations that a sequence can decide, with the side on which they hold."""


@dataclass(frozen=True)
class SequentialMean:
    """Mean of scores in the range `ends`, multiplied by `factor`. Dimensions in `fixed` have one value. With `over`, it
    is the mean of the cell means over these dimensions."""

    scored: ScoredStep
    ends: tuple[float, float]
    factor: float = 1.0
    fixed: tuple[tuple[str, str], ...] = ()
    over: tuple[str, ...] = ()


@dataclass(frozen=True)
class SequentialFigure:
    """Sum of means and a constant, in each cell of `by`, that a sequence can follow."""

    means: tuple[SequentialMean, ...]
    constant: float
    by: tuple[str, ...]
    ends: tuple[float, float]

    @property
    def is_mean(self) -> bool:
        """True if it is a single mean of scores, without arithmetic."""
        first = self.means[0]
        return len(self.means) == 1 and first.factor == 1 and self.constant == 0 and not (first.fixed or first.over)


def sequential_figure(plan: Plan, of: Measure | Expectation) -> SequentialFigure | str:
    """Return the figure of a measure or an expectation as a sum of means, or the reason why no sequence can follow it,
    in words that continue its name."""
    if isinstance(of, Expectation) and of.operator not in DECIDABLE_OPERATORS:
        return f"compares with `{of.operator}`, which no interval decides"
    if of.random:
        return "speaks of other judges or prompts too, and no more items show those"
    if of.corrected:
        return "is corrected by people"
    if getattr(of, "missing", "skip") != "skip":
        return "has a rule for missing scores"
    try:
        means, constant = _sum_of(plan, of.figure, {})
        by = of.figure.by if isinstance(of.figure, Aggregate) else of.by
        _check_dimensions(plan, [*by, *(name for mean in means for name in (*mean.over, *dict(mean.fixed)))], means)
    except _Unfollowed as error:
        return str(error)
    if not means:
        return "is no mean of scores"
    if of.low is None or of.high is None or not of.low < of.high:
        return "has a scale without two ends"
    if len(means) == 1 and means[0].factor == 1 and constant == 0:
        means = (replace(means[0], ends=(of.low, of.high)),)
    elif any(math.isinf(end) for mean in means for end in mean.ends):
        return "is made of scores without two ends"
    return SequentialFigure(means, constant, by, (of.low, of.high))


class _Unfollowed(Exception):
    """No sequence can follow a figure; the text is the reason."""


def _sum_of(plan: Plan, figure: Figure, fixed: Mapping[str, str]) -> tuple[tuple[SequentialMean, ...], float]:
    """Return a figure as a sum of means and a constant. Raises `_Unfollowed` if it is not one."""
    match figure:
        case Constant(value=value):
            return (), value
        case Aggregate():
            return (_mean_of(plan, figure, fixed),), 0.0
        case Measured(measure=name, slice=more):
            measure = next(declared for declared in plan.measures if declared.name == name)
            if measure.missing != "skip":
                raise _Unfollowed("has a rule for missing scores")
            return _sum_of(plan, measure.figure, {**fixed, **more})
        case Formula(operator="overall"):
            raise _Unfollowed("takes a part over all beside parts by group")
        case Formula(operator=operator, values=values):
            return _added(operator, [_sum_of(plan, value, fixed) for value in values])


def _added(
    operator: str, parts: list[tuple[tuple[SequentialMean, ...], float]]
) -> tuple[tuple[SequentialMean, ...], float]:
    def times(
        part: tuple[tuple[SequentialMean, ...], float], factor: float
    ) -> tuple[tuple[SequentialMean, ...], float]:
        return tuple(replace(mean, factor=mean.factor * factor) for mean in part[0]), part[1] * factor

    if operator == "negate":
        return times(parts[0], -1.0)
    if operator in ("+", "-"):
        signed = [parts[0], *(times(part, 1.0 if operator == "+" else -1.0) for part in parts[1:])]
        return tuple(mean for part in signed for mean in part[0]), sum(part[1] for part in signed)
    numbers = [part[1] for part in parts if not part[0]]
    if operator == "*" and len(numbers) >= len(parts) - 1:
        first = next((part for part in parts if part[0]), parts[0])
        others = [part[1] for part in parts if part is not first]
        return times(first, math.prod(others))
    if operator == "/" and len(parts) == 2 and not parts[1][0] and parts[1][1] != 0:
        return times(parts[0], 1 / parts[1][1])
    raise _Unfollowed("is no sum of means")


def _mean_of(plan: Plan, figure: Aggregate, fixed: Mapping[str, str]) -> SequentialMean:
    inner = mean_in(figure)
    if (
        inner is None
        or figure.across
        or figure.named
        or inner.named
        or inner.across
        or figure.of_condition
        or inner.of_condition
    ):
        raise _Unfollowed("is no plain mean of scores")
    if inner.elements:
        raise _Unfollowed("takes several scores of a reply")
    scored = scored_inputs(scored_values_of(plan), figure)
    if len(scored) != 1 or not scored[0].stored:
        raise _Unfollowed("is no plain mean of scores")
    over = tuple(name for name in inner.by if name not in figure.by) if figure.of is not None else ()
    return SequentialMean(scored[0], scored_range(plan, scored[0]), 1.0, tuple(sorted(fixed.items())), over)


def _check_dimensions(plan: Plan, names: list[str], means: tuple[SequentialMean, ...]) -> None:
    """Raise `_Unfollowed` for a dimension that the score of an item does not have."""
    known = {*(axis.name for axis in plan.axes), *(arm.name for arm in plan.arms)}
    known |= {"language", "scenario", "metric", "dimension"}
    aliases = [
        {scenario.rows.alias if scenario.rows is not None else "" for scenario in mean.scored.scenarios}
        for mean in means
    ]
    for name in names:
        alias, dot, field = name.partition(".")
        plain = dot and "." not in field
        if name not in known and not (plain and all(own == {alias} for own in aliases)):
            raise _Unfollowed(f"goes by {name}")


def has_stopping_rule(plan: Plan) -> bool:
    """Return true if a benchmark has a stopping rule."""
    criterions = [plan.benchmark.until, *(measure.until for measure in plan.measures)]
    criterions += [expectation.until for expectation in plan.expectations]
    return any(until is not None for until in criterions)
