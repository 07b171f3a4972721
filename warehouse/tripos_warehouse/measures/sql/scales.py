"""Between which ends the values of an aggregate of scores lie, in SQL: where its units are all alike, what is not seen
may lie at either."""

from __future__ import annotations

import math

from tripos_compiler.language.figures import AGGREGATES, Range, ScoredStep, enclosing_range, ranges_of
from tripos_compiler.plan import Aggregate, Grade, Missing, Plan
from tripos_warehouse.measures.sql.influences import Scale
from tripos_warehouse.measures.sql.parts import Cut
from tripos_warehouse.sql import text as quoted

JACKKNIFED = frozenset(
    (
        *("kendall_w", "krippendorff_alpha", "kendall_tau", "spearman"),
        *("cohen_kappa", "quadratic_kappa", "gwet_ac1", "gwet_ac2", "mcc"),
        *("ece", "auroc", "length_controlled"),
    )
)
"""Aggregates whose influences are found by leaving out items."""
CORRELATED = JACKKNIFED | {"bradley_terry", "self_preference"}
"""Aggregates that are no means over items: where all items are alike, nothing says how far another could move them."""
RARELY_BELOW_MINUS_1 = frozenset(("krippendorff_alpha", "gwet_ac2"))
"""Aggregates that may come to less than -1, but hardly ever do: two raters who never agree come to -1 as items grow."""


def leaf_scale(plan: Plan, figure: Aggregate, scored: ScoredStep, missing: Missing, cut: Cut) -> Scale | None:
    """Return the scale of an aggregate of something scored; None where one of its ends is not known. Of cells that go
    by metric each has the scale of its own."""
    if figure.function not in AGGREGATES:
        return None
    shows = figure.function not in CORRELATED
    if figure.true_of or scored.kind == "compare":
        by_metric: dict[str, Range] = {}
        every = (0.0, 1.0)
    else:
        by_metric, every = _ranges(plan, scored)
    metrics = by_metric if "metric" in cut.dims and len(by_metric) > 1 else {}
    fixed = dict(cut.fixed).get("metric")
    every = by_metric.get(fixed, every) if fixed is not None else every
    scales = {name: _bounds(figure.function, ends, missing) for name, ends in metrics.items()}
    whole = _bounds(figure.function, every, missing)
    if not scales:
        if figure.function in RARELY_BELOW_MINUS_1:
            return Scale("case when c.value > -1 then -1 end", "1", shows)
        return None if whole is None else Scale(repr(whole[0]), repr(whole[1]), shows)
    ends = []
    for place in (0, 1):
        whens = " ".join(
            f"when {quoted(name)} then {scale[place]!r}" for name, scale in sorted(scales.items()) if scale is not None
        )
        ends.append(f"case c.metric::varchar {whens} end" if whens else "NULL")
    return Scale(ends[0], ends[1], shows)


def _bounds(function: str, ends: Range, missing: Missing) -> Range | None:
    low, high = (None if math.isinf(end) else end for end in ends)
    if missing == "zero":
        low, high = None if low is None else min(low, 0.0), None if high is None else max(high, 0.0)
    found = AGGREGATES[function].bounds((low, high))
    return None if found[0] is None or found[1] is None else (float(found[0]), float(found[1]))


def _ranges(plan: Plan, scored: ScoredStep) -> tuple[dict[str, Range], Range]:
    """Return the ends of something scored, by metric where judges give several, and of all of it."""
    ranges = ranges_of(plan)
    scales = {metric.name: metric.ends for metric in plan.metrics}
    by_metric: dict[str, list[Range]] = {}
    for scenario in scored.scenarios:
        for step in scenario.steps:
            if step not in scored.steps:
                continue
            if isinstance(step, Grade) and step.metrics:
                for name in (scored.name,) if scored.kind == "metric" else step.metrics:
                    low, high = scales.get(name) or (-math.inf, math.inf)
                    by_metric.setdefault(name, []).append((float(low), float(high)))
            else:
                by_metric.setdefault(step.name, []).append(ranges.of_step(scenario, step))
    found = {name: enclosing_range(each) for name, each in by_metric.items()}
    return found, enclosing_range(found.values()) if found else (-math.inf, math.inf)
