"""The lines of `tripos plan` on what earlier runs teach: the least difference that is detected, and more labels."""

from __future__ import annotations

from tripos.api import RunPlan, expected_labels, learned_components
from tripos.settings import Config
from tripos_compiler.diagnostics import localized, wrap
from tripos_warehouse.measures import MeasureComponents
from tripos_warehouse.statistics.design import least_difference


def learned_lines(found: RunPlan, config: Config, width: int = 80) -> tuple[list[str], list[str]]:
    """Return the lines on what a test detects as earlier runs in the store teach it, and those on what more labels
    bring; none where the store teaches nothing of it."""
    models = () if found.prepared is None else found.prepared.binding.models[found.prepared.binding.compared]
    known = learned_components(found.plan, config.store, models=models)
    learned = known.components
    told = _detects(found, learned) if isinstance(learned, MeasureComponents) else None
    more = [
        line for each in expected_labels(found.plan, config.store) for line in wrap(localized(each.sentence), width)
    ]
    return [] if told is None else wrap(told, width), more


def _detects(found: RunPlan, learned: MeasureComponents) -> str | None:
    """Return the sentences on the first headline; none where the plan has no more than one item of it."""
    parts = learned.parts
    scenarios = {name for name, count in found.items.items() if count and name in learned.scenarios}
    items = round(sum(found.items[name] for name in scenarios) / learned.scenarios_an_item)
    if items < 2:
        return None
    samples, judges, repeats = parts.observed
    variance = parts.variance(samples, judges, repeats)
    least = least_difference(variance / items, items - 1, parts.learned_from)
    told = (
        f"{items:,} items: a test detects a difference of {least:.2g} in `{learned.measure.name}` between two models on"
        " the same items (80 % power)."
    )
    source = (
        f"So says the store: an item's difference has a variance of {variance:.2g} there, from"
        f" {learned.items:,} items of {', '.join(learned.models)}."
    )
    if parts.models > 1:
        correlation = f"Two models correlate by {parts.correlation(samples, judges, repeats):.2f} on an item."
    else:
        correlation = "Two models are taken to correlate by 0.5 on an item, since the store has one."
    return " ".join(map(localized, (told, source, correlation)))
