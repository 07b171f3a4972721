"""Figures of an exported run: the measures of the spec, and the mean of every score, each with its error.

No form of another tool computes a figure anew from what it is given: these are the ones that Tripos reports. A mean is
that of one metric by one evaluator, in one scenario and its arms, with an error that is clustered by item.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tripos_compiler.plan import Plan
from tripos_warehouse.exports.every_eval_ever import scale
from tripos_warehouse.exports.interchange.units import RunUnit, UnitScore, arms_text, figure_name
from tripos_warehouse.measures import as_told, evaluate, lower_scores, mean_of_run
from tripos_warehouse.query import Connection
from tripos_warehouse.statistics.intervals import mean_of_cells
from tripos_warehouse.views import RunRecord


@dataclass(frozen=True)
class ExportedFigure:
    """A figure of one model: a value of a measure, or the mean of one score."""

    name: str
    source: str
    """The measure, or the scorer."""
    value: float | None
    standard_error: float | None
    low: float | None
    high: float | None
    n: int
    items: int
    without_value: int
    """The scores that it was to have and that have no value."""
    reason: str | None
    """Why there is no value, or no interval."""
    method: str | None = None
    lower_is_better: bool = False
    metric: str | None = None
    """The metric of a mean; `None` of a measure."""
    scenario: str | None = None
    evaluator: str | None = None
    arms: Mapping[str, str] = field(default_factory=dict)
    by: Mapping[str, str] = field(default_factory=dict)
    """The dimensions of a measure, with their values."""

    @property
    def is_measure(self) -> bool:
        """True for a value of a measure."""
        return self.metric is None

    @property
    def arms_label(self) -> str:
        """The words for the arms at the end of the name."""
        return arms_label(self.arms)

    def details(self) -> dict[str, Any]:
        """Return what other tools have no field for, as JSON values."""
        told = {
            "kind": "measure" if self.is_measure else "mean of scores",
            "low": self.low,
            "high": self.high,
            "confidence": None if self.low is None else 0.95,
            "n": self.n,
            "items": self.items,
            "without_value": self.without_value,
            "method": self.method,
            "reason": self.reason,
            "scenario": self.scenario,
            "metric": self.metric,
            "evaluator": self.evaluator,
            "lower_is_better": self.lower_is_better or None,
            **{f"arm {name}": value for name, value in self.arms.items()},
            **self.by,
        }
        return {name: value for name, value in told.items() if value is not None}


def arms_label(arms: Mapping[str, str]) -> str:
    """Return what the name of a figure says of arms.

    >>> arms_label({"hint": "none"}), arms_label({})
    (' [hint: none]', '')
    """
    return f" {arms_text(arms)}" if arms else ""


@dataclass
class _Gathered:
    first: UnitScore
    unit: RunUnit
    name: str
    clusters: list[str] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    without: int = 0


class ScoreMeans:
    """The means of the scores of a model that pass by, one unit after the other."""

    def __init__(
        self, run: RunRecord, model: str, steps: Mapping[str, Mapping[str, Sequence[str]]], prefix: bool
    ) -> None:
        """`steps` are the scored ones of each scenario; `prefix` puts the scenario before a name."""
        self._run, self._model = run, model
        self._steps = steps
        self._prefix = prefix
        self._gathered: dict[str, _Gathered] = {}

    def add(self, unit: RunUnit) -> None:
        """Take the scores of a unit; one that the item is not to have counts nowhere."""
        steps = self._steps[unit.scenario]
        for score in unit.scores:
            if score.status == "not_applicable":
                continue
            name = figure_name(score, steps.get(score.metric, ()), unit.scenario if self._prefix else None)
            name += arms_label(unit.arms)
            found = self._gathered.setdefault(name, _Gathered(score, unit, name))
            if score.value is None:
                found.without += 1
            else:
                found.clusters.append(unit.cluster_id)
                found.values.append(score.value)

    def figures(self, plan: Plan) -> Iterator[ExportedFigure]:
        """Yield the means, in the order in which their first score came."""
        lower = lower_scores(plan)
        for each in self._gathered.values():
            low, high, _ = scale(plan, each.unit.scenario, each.first.metric)
            ends = None if low is None or high is None else (low, high)
            mean = mean_of_cells(each.values, each.clusters, ends=ends, paired=False)
            found = mean_of_run(self._run, self._model, mean)
            yield ExportedFigure(
                name=each.name,
                source=each.first.scorer,
                value=found.value,
                standard_error=found.standard_error,
                low=found.low,
                high=found.high,
                n=len(each.values),
                items=len(set(each.clusters)),
                without_value=each.without,
                reason=found.reason,
                lower_is_better=(each.unit.scenario, each.first.metric) in lower,
                metric=each.first.metric,
                scenario=each.unit.scenario,
                evaluator=each.first.evaluator,
                arms=each.unit.arms,
            )


def measure_figures(connection: Connection, plan: Plan, run: RunRecord, model: str) -> list[ExportedFigure]:
    """Return every value of every measure of a model, as the run's report has them."""
    found = []
    for measure in plan.measures:
        for row in as_told(run, evaluate(connection, plan, measure)).rows:
            if row.model != model:
                continue
            by = {name: str(value) for name, value in zip(measure.by, row.by, strict=True) if value is not None}
            cell = ", ".join(f"{name}: {value}" for name, value in by.items())
            figure = ExportedFigure(
                name=measure.name + (f" [{cell}]" if cell else ""),
                source=measure.name,
                value=row.value,
                standard_error=row.standard_error,
                low=row.interval_low,
                high=row.interval_high,
                n=row.n,
                items=row.items,
                without_value=max(row.total - row.n, 0),
                reason=row.reason,
                method=row.method,
                lower_is_better=measure.lower_is_better,
                by=by,
            )
            found.append(figure)
    return found
