"""The possible scores of a reply: its metrics, their scales, and the words for their levels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tripos.importing.row_errors import UnfitValue
from tripos_compiler.language.library import in_bounds
from tripos_compiler.plan import Ask, Grade, Metric, Plan, Type, turns_before
from tripos_runtime.asking import worth_of

YES = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}


@dataclass(frozen=True)
class MetricScale:
    """From `low` to `high`, where there are bounds; `words` are what the plan calls a level, with its two ends. Of a
    `truth` the values are 1 and 0. Of a `metric` the plan says what becomes of a value outside of its scale."""

    low: float | None = None
    high: float | None = None
    words: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    truth: bool = False
    metric: Metric | None = None
    names: Mapping[str, float | None] = field(default_factory=dict)
    """The names that are chosen from, each with the number that it stands for."""

    def chosen(self, said: Any) -> str | None:
        """Return the name that a value is, as it is written or else whatever its case; None where no names are chosen
        from. Raises `UnfitValue` for any other value.

        >>> MetricScale(names={"RIGHT": None, "WRONG": None}).chosen(" right ")
        'RIGHT'
        """
        if not self.names:
            return None
        for form in (str, folded):
            found = [name for name in self.names if form(name) == form(str(said).strip())]
            if len(found) == 1:
                return found[0]
        raise UnfitValue("value", said, f"not one of {', '.join(self.names)}")

    def read(self, said: Any) -> float | None:
        """Return the number that a value counts as, none for a name that stands for none. Raises `UnfitValue` for other
        values, and for numbers outside of a scale that refuses them.

        >>> MetricScale(1, 5, {"good": (4.0, 4.0)}).read("Good"), MetricScale(truth=True).read("yes")
        (4.0, 1.0)
        """
        if (name := self.chosen(said)) is not None:
            return self.names[name]
        value = self.number(said)
        if self.metric is not None and (placed := self.metric.placed(value)) is not None:
            return placed
        if (self.low is not None and value < self.low) or (self.high is not None and value > self.high):
            raise UnfitValue("value", said, f"not in {_end(self.low)}..{_end(self.high)}")
        return value

    def number(self, said: Any) -> float:
        """Return a value as a number, wherever that lies. Raises `UnfitValue` where it is none."""
        text = " ".join(str(said).split()).casefold()
        if self.truth and text in YES:
            return YES[text]
        if text in self.words:
            low, high = self.words[text]
            if low == high:
                return low
            raise UnfitValue("value", said, f"this level has the scores from {low:g} to {high:g}: give one of them")
        try:
            value = math.nan if isinstance(said, bool) else float(text)
        except ValueError:
            value = math.nan
        if self.truth and value not in (0.0, 1.0):
            raise UnfitValue("value", said, "not yes, no, true, false, 1 or 0")
        if not in_bounds(value):
            words = " or the words of a level" if self.words else ""
            raise UnfitValue("value", said, f"not a number{words}")
        return value


@dataclass(frozen=True)
class GradedMetric:
    """A graded criterion of a reply: a metric of a scorer, its scale, and the steps that grade it, each with the arms
    under which it does. Several steps have one where arms differ in what the judge is shown."""

    scorer: str
    metric: str
    scale: MetricScale
    steps: tuple[Grade, ...]
    arms: Mapping[str, Sequence[Mapping[str, str]]]

    def under(self, arms: Mapping[str, str]) -> GradedMetric | None:
        """Return the criterion with the steps that grade it under these arms; None where none does."""
        steps = tuple(
            step for step in self.steps if any(arms.items() <= each.items() for each in self.arms[step.fingerprint])
        )
        return replace(self, steps=steps) if steps else None


Place = tuple[str, str]
"""A scenario, and the fingerprint of a step whose replies are graded."""


def gradable(plan: Plan) -> dict[Place, dict[str, list[GradedMetric]]]:
    """Return what can be given to the replies of every step, by metric: one for each scorer that gives it."""
    found: dict[Place, dict[tuple[str, str], dict[str, Grade]]] = {}
    arms: dict[str, list[Mapping[str, str]]] = {}
    for scenario in plan.scenarios:
        for treatment in scenario.treatments:
            asks = {step.name: step for step in treatment.steps if isinstance(step, Ask)}
            for step in treatment.steps:
                if isinstance(step, Grade) and step.of in asks:
                    arms.setdefault(step.fingerprint, []).append(treatment.arms)
                    for asked in (asks[step.of], *turns_before(asks[step.of], asks)):
                        place = found.setdefault((scenario.name, asked.fingerprint), {})
                        for metric in step.metrics or (step.name,):
                            place.setdefault((metric, step.scorer), {})[step.fingerprint] = step
    return {place: _by_metric(plan, given, arms) for place, given in found.items()}


def _by_metric(
    plan: Plan,
    given: Mapping[tuple[str, str], Mapping[str, Grade]],
    arms: Mapping[str, Sequence[Mapping[str, str]]],
) -> dict[str, list[GradedMetric]]:
    found: dict[str, list[GradedMetric]] = {}
    for (metric, scorer), steps in given.items():
        gives = plan.scorer(scorer).gives
        scale = _scale_of(plan.metric(metric)) if gives is None else _scale_of_type(gives)
        found.setdefault(metric, []).append(GradedMetric(scorer, metric, scale, tuple(steps.values()), arms))
    return found


def metric_words(plan: Plan, metrics: Mapping[str, object]) -> dict[str, str]:
    """Return the name of each of these metrics by everything that it is called, its titles in all languages among them.
    A title that two of them share names neither."""
    titles: dict[str, set[str]] = {}
    for metric in plan.metrics:
        if metric.name in metrics:
            for title in metric.title.values():
                titles.setdefault(folded(title), set()).add(metric.name)
    found = {title: next(iter(names)) for title, names in titles.items() if len(names) == 1}
    return found | {folded(name): name for name in metrics}


def folded(text: str) -> str:
    """Return a name as it is compared: case and the width of spaces do not count.

    >>> folded("  Basic  Factual Accuracy ")
    'basic factual accuracy'
    """
    return " ".join(text.split()).casefold()


def _scale_of(metric: Metric) -> MetricScale:
    words: dict[str, tuple[float, float]] = {}
    for level in metric.levels:
        words |= {folded(text): (float(level.low), float(level.high)) for text in level.text.values()}
    return MetricScale(float(metric.low), float(metric.high), words, metric=metric)


def _scale_of_type(gives: Type) -> MetricScale:
    match gives.kind:
        case "integer":
            low, high = gives.low, gives.high
            return MetricScale(None if low is None else float(low), None if high is None else float(high))
        case "bool":
            return MetricScale(truth=True)
        case "choice":
            return MetricScale(names={name: worth_of(gives, name) for name in gives.values})
    return MetricScale()


def _end(bound: float | None) -> str:
    return "" if bound is None else f"{bound:g}"
