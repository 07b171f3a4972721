"""The power curve: with what probability a test finds a true difference of two models, by the number of items."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tripos.plots.picture import AnyChart, Picture, data_of, nothing_to_draw
from tripos.plots.sources import PictureSource
from tripos.plots.theme import COLOURS, DASHES, GREY, Style
from tripos_compiler.plan import Measure
from tripos_warehouse.measures import Half, remeasure_pairs
from tripos_warehouse.report import headlines, items_by_model
from tripos_warehouse.statistics import detectable_difference, paired_variance, power_of

WANTED = 0.8
TIMES = (0.5, 0.75, 1.0, 1.5)
"""The differences that are drawn, as multiples of what the items of the run detect."""
POINTS = 60


@dataclass(frozen=True)
class _Design:
    """How much a paired difference varies from item to item, on how many items, and where that is known from."""

    variance: float
    items: int
    told: str


def power_picture(source: PictureSource) -> Picture:
    """Return power curves for differences around what the items of the run detect. Raises `StoreError` S0621 where
    nothing says how much scores vary."""
    measure, words = _measure(source), source.words
    design = _design(source, measure)
    least = detectable_difference(design.items, design.variance, power=WANTED).value
    if not least:
        raise nothing_to_draw(f"two models never differ in `{measure.name}`", "choose a measure in which models differ")
    span = None if measure.low is None or measure.high is None else measure.high - measure.low
    differences = [
        each for each in dict.fromkeys(_rounded(least * times) for times in TIMES) if span is None or each < span
    ]
    most = max(design.items * 2, 20)
    counts = sorted({max(2, round(most * at / POINTS)) for at in range(1, POINTS + 1)} | {design.items})
    rows: list[dict[str, Any]] = [
        {
            "items": items,
            "difference": f"{difference:g}",
            "power": power_of(difference, items, design.variance).value,
        }
        for difference in differences
        for items in counts
    ]
    told = words["detects"].format(items=f"{design.items:,}", difference=f"{least:.2g}")

    def draws(width: float, style: Style) -> AnyChart:
        import altair as alt

        named = [f"{each:g}" for each in differences]
        colour = alt.Color(
            "difference:N",
            title=words["difference"],
            sort=named,
            scale=alt.Scale(domain=named, range=list(COLOURS[: len(named)])),
            legend=alt.Legend(
                orient="top",
                titleOrient="left",
                columns=max(1, min(len(named), int((width - style.size * 8) / (style.size * 6)))),
                symbolType="stroke",
                symbolStrokeWidth=style.size / 5,
                symbolSize=(style.size * 2) ** 2,
            ),
        )
        dash = alt.StrokeDash(
            "difference:N",
            title=words["difference"],
            sort=named,
            scale=alt.Scale(domain=named, range=list(DASHES[: len(named)])),
        )
        x = alt.X("items:Q", title=words["items"], scale=alt.Scale(domain=[0, most], nice=False))
        y = alt.Y("power:Q", title=words["power"], scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format=".0%"))
        lines = (
            alt.Chart(data_of(rows))
            .mark_line(strokeWidth=style.size / 5)
            .encode(x=x, y=y, color=colour, strokeDash=dash)
        )
        rule: dict[str, Any] = {"color": GREY, "strokeWidth": 0.8}
        wanted = alt.Chart(data_of([{"power": WANTED}])).mark_rule(**rule).encode(y=y)
        here = alt.Chart(data_of([{"items": design.items}])).mark_rule(**rule).encode(x=x)
        return alt.layer(wanted, here, lines).properties(width=width, height=width * 0.6)

    notes = (told, design.told, *source.caution)
    return Picture(
        "power", f"{source.title}: {words['title_power']}, {source.title_of(measure)}", tuple(rows), notes, draws
    )


def _measure(source: PictureSource) -> Measure:
    if source.options.measure is not None:
        return source.board().measure
    found = headlines(source.plan)
    if not found:
        raise nothing_to_draw("no measure comes to one value for each model", "choose a measure: --measure")
    return found[0]


def _design(source: PictureSource, measure: Measure) -> _Design:
    """Return the variance that two models of the run show, the first two of those that are drawn; of a single model,
    the largest that the scale allows, as `tripos plan` has it."""
    words = source.words
    of_model = items_by_model(source.connection, source.plan, measure)
    models = [model for model in source.models if of_model.get(model)]
    if len(models) >= 2:
        a, b = models[:2]
        shared = sorted(of_model[a] & of_model[b])
        half = Half(source.connection, source.plan.benchmark.name, (a, b))
        found = remeasure_pairs(half, source.plan, measure, shared).get((a, b))
        if found is not None and found.standard_error and found.clusters:
            error = f"{found.standard_error:.2g}"
            told = words["power_note"].format(a=a, b=b, items=f"{found.clusters:,}", measure=measure.name, error=error)
            return _Design(found.standard_error**2 * found.clusters, found.clusters, told)
    if measure.low is None or measure.high is None or not models:
        told = f"two models show no error of their difference in `{measure.name}`, and its scale has no ends"
        raise nothing_to_draw(told, "run two models, or choose a measure whose scale has ends: --measure")
    items = len(of_model[models[0]])
    largest = ((measure.high - measure.low) / 2) ** 2
    told = words["bound_note"].format(measure=measure.name, items=f"{items:,}")
    return _Design(paired_variance(largest, largest, 0.5), items, told)


def _rounded(value: float) -> float:
    """Return a number with two figures that count.

    >>> _rounded(0.12345), _rounded(13.7)
    (0.12, 14.0)
    """
    return round(value, 1 - math.floor(math.log10(abs(value))))
