"""The lever that would have sharpened a measure most for the same money: items, samples of each, judges, repeats of
their marks, or labels by people.

For a tenth more of what a run cost, spent on one of them, the error of a difference of two models falls: from
√V(I, S, J) to √V(1.1 I, S, J), and so on, with V of `DifferenceComponents` and each lever as far as the money goes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from tripos_compiler.diagnostics import usd
from tripos_compiler.language.figures import ScoredStep
from tripos_compiler.plan import Measure, Plan
from tripos_compiler.source import dataclass
from tripos_warehouse.measures.differences.components import measure_components, scored_step
from tripos_warehouse.measures.differences.labels import label_components
from tripos_warehouse.measures.differences.more_labels import MoreLabels, find_more_labels, worth_of_a_label
from tripos_warehouse.query import Connection
from tripos_warehouse.sql import name as quoted, texts
from tripos_warehouse.statistics.design import DifferenceComponents, Unknown
from tripos_warehouse.views import shows_several_times

MORE = 0.1
"""The share of the cost of a run that is spent on more."""


@dataclass(frozen=True)
class Sharpening:
    """By what share the error of a difference falls for a tenth more money, by what it is spent on; or why nothing is
    known."""

    measure: str
    falls: Mapping[str, float] = field(default_factory=dict)
    """By lever, `items`, `samples`, `judges` or `repeats`, the most first."""
    in_calls: bool = False
    """True if calls are counted, since no cost is known."""
    reason: str | None = None
    """Why there are none."""
    labels: tuple[MoreLabels, ...] = ()
    """Of a measure that people correct: what more labels would bring."""
    worth: float | None = None
    """Of such a measure: the price in USD of a graded reply below which labels are worth more than items."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """Return sentences for people; none where nothing is known."""
        labels = tuple(each.sentence for each in self.labels)
        if self.worth is not None:
            price = usd(self.worth)
            told = (
                "More labels sharpen a difference more than more items do while a graded reply costs less than"
                f" {price} USD."
            )
            labels += (told,)
        if not self.falls:
            return labels
        (best, most), *others = self.falls.items()
        money = "calls" if self.in_calls else "money"
        first = (
            f"`{self.measure}`: a tenth more {money} for more {best} makes a difference of two models"
            f" {100 * most:.1f} % sharper."
        )
        return first, *(f"For more {name} it is {100 * fall:.1f} %." for name, fall in others)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        unit = {} if self.reason else {"unit": "calls" if self.in_calls else "USD"}
        labels = {"labels": [each.to_json() for each in self.labels]} if self.labels else {}
        worth = {} if self.worth is None else {"label_worth_usd": self.worth}
        found = {"measure": self.measure, "error_falls_by": dict(self.falls), **unit, "reason": self.reason}
        return {**found, **labels, **worth}


def find_sharpening(connection: Connection, plan: Plan, measure: Measure) -> Sharpening:
    """Return what would have sharpened a measure of a run more, over what `connection` shows of the benchmark."""
    if measure.corrected:
        return _of_people(connection, plan, measure)
    scored = scored_step(plan, measure)
    found = measure_components(connection, plan, measure)
    if isinstance(found, Unknown) or scored is None:
        return Sharpening(measure.name, reason=found.reason if isinstance(found, Unknown) else None)
    in_calls, asked, graded = _costs(connection, plan, scored)
    falls = error_falls(found.parts, asked, graded)
    ranked = dict(sorted(falls.items(), key=lambda each: -each[1]))
    return Sharpening(measure.name, ranked, in_calls, None if ranked else "no call was made")


def _of_people(connection: Connection, plan: Plan, measure: Measure) -> Sharpening:
    """Return what more labels would bring to a measure that people correct."""
    more = tuple(find_more_labels(connection, plan, measure))
    reason = "people correct it, so its error is that of their grades too"
    judged = measure.model_copy(update={"corrected": False})
    scored = scored_step(plan, judged)
    found, labels = measure_components(connection, plan, judged), label_components(connection, plan, judged)
    worth = None
    if scored is not None and not isinstance(found, Unknown) and not isinstance(labels, Unknown):
        in_calls, asked, graded = _costs(connection, plan, scored)
        spent = 0.0 if in_calls else asked + graded
        both = worth_of_a_label(found.parts, labels.parts, found.items, labels.items, spent, MORE)
        # That money went to all models, and a label is a reply of one of them.
        worth = None if both is None or not spent else both / len(found.models)
    return Sharpening(measure.name, reason=reason, labels=more, worth=worth)


def _costs(connection: Connection, plan: Plan, scored: ScoredStep) -> tuple[bool, float, float]:
    """Return true if calls are counted, and what replies and judgements cost."""
    schema, scenarios = quoted(plan.benchmark.name), texts(scenario.name for scenario in scored.scenarios)
    several = any(shows_several_times(plan, role.name) for role in plan.roles if role.kind == "compared")
    replies, judged = (
        _spent(connection, [f"{schema}.{table}" for table in tables], scenarios, several)
        for tables in (("samples", "turns"), ("judgements",))
    )
    in_calls = replies[0] is None or judged[0] is None or replies[0] + judged[0] == 0
    asked, graded = (replies[1], judged[1]) if in_calls else (replies[0] or 0.0, judged[0] or 0.0)
    return in_calls, asked, graded


def error_falls(parts: DifferenceComponents, asked: float, graded: float) -> dict[str, float]:
    """Return the share by which the error falls, by lever, of a run that spent `asked` on replies and `graded` on
    judges.

    >>> parts = DifferenceComponents(items=1.0, samples=2.0, judges=0.5, observed=(1, 2, 1))
    >>> {name: round(fall, 3) for name, fall in error_falls(parts, 4.0, 4.0).items()}
    {'items': 0.047, 'samples': 0.028, 'judges': 0.006, 'repeats': 0.0}
    """
    samples, judges, repeats = parts.observed
    spent = asked + graded
    if spent <= 0:
        return {}
    now = parts.variance(samples, judges, repeats)
    found = {"items": now / (1 + MORE)}
    if "samples" in parts.known:
        found["samples"] = parts.variance(samples * (1 + MORE), judges, repeats)
    if "judges" in parts.known and graded > 0:
        found["judges"] = parts.variance(samples, judges * (1 + MORE * spent / graded), repeats)
    if "repeats" in parts.known and graded > 0:
        found["repeats"] = parts.variance(samples, judges, repeats * (1 + MORE * spent / graded))
    return {name: 1 - math.sqrt(after / now) for name, after in found.items()}


def _spent(connection: Connection, tables: list[str], scenarios: str, several: bool) -> tuple[float | None, int]:
    """Return what calls cost in USD, `None` where one is not known, and how many they were. `several`: one call may
    stand in several rows. To tell it means to hold the names of all."""
    keys = {"samples": "sample_id", "turns": "turn_id", "judgements": "judgement_id"}
    once = {table: f"distinct {keys[table.rpartition('.')[2]]} as call," if several else "" for table in tables}
    parts = " union all ".join(
        f"select {name} cost_usd from {table} where scenario in {scenarios}" for table, name in once.items()
    )
    query = f"select case when count(cost_usd) = count(*) then coalesce(sum(cost_usd), 0) end, count(*) from ({parts})"
    [(cost, calls)] = connection.execute(query).fetchall()
    return cost, calls
