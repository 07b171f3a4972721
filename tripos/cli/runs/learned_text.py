"""The lines of `tripos plan` on what earlier runs teach: the least difference that is detected, more labels, and the
saving of a run that stops when it is settled."""

from __future__ import annotations

from collections.abc import Iterator

from tripos.api import RunPlan, SettlingForecast, expected_labels, learned_components
from tripos.settings import Config
from tripos_compiler.diagnostics import localized, usd, wrap
from tripos_warehouse.measures import MeasureComponents


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
    detection = found.detection
    if detection is None or detection.items < 2:
        return None
    if detection.design is not None and detection.design.mean.single:
        return " ".join(map(localized, detection.unevenness))
    parts = learned.planned(1.0)
    samples, judges, repeats = parts.observed
    variance = parts.variance(samples, judges, repeats)
    least = detection.least(variance, parts.learned_from)
    told = (
        f"{detection.items:,} items: a test detects a difference of {least:.2g} in `{learned.measure.name}` between two"
        " models on the same items (80 % power)."
    )
    source = (
        f"So says the store: an item's difference has a variance of {variance:.2g} there, from"
        f" {learned.items:,} items of {', '.join(learned.models)}."
    )
    if parts.models > 1:
        correlation = f"Two models correlate by {parts.correlation(samples, judges, repeats):.2f} on an item."
    else:
        correlation = "Two models are taken to correlate by 0.5 on an item, since the store has one."
    return " ".join(map(localized, (told, source, correlation, *detection.unevenness)))


def settling_lines(found: SettlingForecast, width: int) -> list[str]:
    """Return the lines of what a run saves that stops when it is settled, none wider than `width` columns.

    >>> print("\\n".join(settling_lines(SettlingForecast(400, unknown="there is no store yet"), 80)))
    Until settled: nothing is known of what it saves: there is no store yet.
    """
    return [line for told in _settles(found) for line in wrap(localized(told), width)]


def _settles(found: SettlingForecast) -> Iterator[str]:
    if found.unknown is not None:
        yield f"Until settled: nothing is known of what it saves: {localized(found.unknown)}."
        return
    low, high, mean = round(found.items[0]), round(found.items[-1]), round(found.share * found.of)
    many = len(found.items)
    yield f"Until settled: a model is asked for {mean:,} of {found.of:,} items ({low:,} to {high:,} in {many} orders)."
    if found.calls is not None and found.calls.expected:
        every, some = round(found.calls.expected), round(found.calls.expected * found.share)
        if found.cost_usd is not None and found.cost_usd.expected:
            paid = usd(found.cost_usd.expected * found.share)
            yield f"That is about {some:,} of {every:,} calls, for {paid} of {usd(found.cost_usd.expected)} USD."
        else:
            yield f"That is about {some:,} of {every:,} calls."
    yield f"It is what scores in the store show, of {', '.join(found.models)}."
    if found.others:
        yield f"The store has no scores of {', '.join(found.others)}."
    if found.scored < found.of:
        yield f"Of {found.scored:,} items there are scores: the others are drawn from them."
    if found.unsettled:
        yield f"In {found.unsettled:,} of {many} orders something is not settled before the last item."
