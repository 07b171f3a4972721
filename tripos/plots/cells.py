"""Pictures of cells: a heat map of scenarios and metrics, a radar of a measure, and gains of arms.

The heat map shows mean scores rescaled to 0–1 on their own scale, with a plot for each model. The radar shows the cells
of a measure around a circle, from the lowest end of the scale to the highest. A gain is the difference of a figure
under each arm from the figure under the arm that it starts from.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from rich.cells import cell_len

from tripos.plots.chart import colour_of, estimates, shape_of, titled_plots
from tripos.plots.picture import (
    CONTINUOUS,
    DASHES,
    GREY,
    PALE,
    AnyChart,
    Picture,
    PictureSource,
    Row,
    Style,
    data_of,
    nothing_to_draw,
)
from tripos.settings.options import PlotParameters
from tripos.view.tables import grid_means
from tripos_compiler.plan import Figure, Formula, Measure, Measured, Plan
from tripos_warehouse.report.tables import counts_of
from tripos_warehouse.tables.text import fold
from tripos_warehouse.tables.values import count_range
from tripos_warehouse.views.dimensions import dimension_place


def heatmap_picture(source: PictureSource) -> Picture:
    """Return the heat map of the means on the page of results. Raises `StoreError` S0621 if no score has a scale."""
    plan, words = source.plan, source.words
    models = source.models
    found = [row for row in grid_means(source.connection, plan) if row["score"] is not None and row["model"] in models]
    if not found:
        raise nothing_to_draw("no score of the run has a known scale", "draw a measure: tripos plot leaderboard")
    rows = tuple(
        {
            "scenario": source.label("scenario", row["scenario"]),
            "metric": source.label("metric", row["metric"]),
            "model": row["model"],
            "share": row["score"],
            "n": row["n"],
        }
        for row in found
    )
    across = [source.label("metric", name) for name in _in_order(source, found, "metric")]
    down = [source.label("scenario", name) for name in _in_order(source, found, "scenario")]
    texts = [model for model in models if any(row["model"] == model for row in rows)]
    n = count_range([row["n"] for row in rows])

    def draws(width: float, style: Style) -> AnyChart:
        plots = [(model, _grid(source, rows, model, across, down, width, style, model == texts[-1])) for model in texts]
        return plots[0][1] if len(plots) == 1 else titled_plots(plots, style, 1)

    title = f"{source.title}: {words['title_heatmap']}" + (f", {texts[0]}" if len(texts) == 1 else "")
    return Picture("heatmap", title, rows, (words["share_note"].format(n=n), *source.caution), draws)


def _grid(
    source: PictureSource,
    rows: Sequence[Row],
    model: str,
    across: Sequence[str],
    down: Sequence[str],
    width: float,
    style: Style,
    last: bool,
) -> AnyChart:
    """Return the cells of a model. Only the last plot labels the metrics."""
    import altair as alt

    plain: dict[str, Any] = {"ticks": False, "domain": False}
    x = alt.X("metric:N", sort=list(across), title=None, axis=alt.Axis(labelAngle=-45, labels=last, **plain))
    y = alt.Y("scenario:N", sort=list(down), title=None, axis=alt.Axis(**plain))
    colour = alt.Color(
        "share:Q",
        title=source.words["share"],
        scale=alt.Scale(scheme=CONTINUOUS, domain=[0, 1]),
        legend=alt.Legend(
            orient="top",
            titleOrient="left",
            gradientLength=min(width * 0.7, style.size * 14),
            gradientThickness=style.size * 0.8,
        ),
    )
    base = alt.Chart(data_of([row for row in rows if row["model"] == model])).encode(x=x, y=y)
    layers = [base.mark_rect().encode(color=colour)]
    if width / len(across) >= style.size * 2:
        ink = alt.condition("datum.share > 0.6", alt.value("black"), alt.value("white"))
        text = alt.Text("share:Q", format=".2f")
        layers.append(base.mark_text(fontSize=style.size * 0.9).encode(text=text, color=ink))
    return alt.layer(*layers).properties(width=width, height=alt.Step(style.step))


def _in_order(source: PictureSource, found: list[dict[str, object]], name: str) -> list[str]:
    place = dimension_place(source.plan, name)
    return sorted({str(row[name]) for row in found}, key=place)


# Radar
MIN_SPOKES = 3
"""Minimum spokes of a radar."""
MAX_LINES_HIGH = 42
"""Maximum height of a radar in lines of text."""
LABEL = 18
"""Maximum width of a label's line in characters."""
RINGS = (0.25, 0.5, 0.75, 1.0)


def radar_picture(source: PictureSource) -> Picture:
    """Return the radar of a measure by one dimension. Raises `StoreError` S0621 if its cells have no bounds or are
    fewer than three."""
    measure = _radar_measure(source)
    [name] = measure.by
    table, words = source.evaluate(measure), source.words
    place = dimension_place(source.plan, name)
    spokes = list(dict.fromkeys(str(row.by[0]) for row in sorted(table.rows, key=lambda row: place(row.by[0]))))
    if len(spokes) < MIN_SPOKES:
        raise nothing_to_draw(
            f"`{measure.name}` has {len(spokes)} cells, and a radar needs three", f"choose {PlotParameters.measure}"
        )
    rows = []
    for row in table.rows:
        assert row.value is not None
        low, high = _ends(source, measure, str(row.by[0]))
        at = spokes.index(str(row.by[0]))
        placed = [None if end is None else (end - low) / (high - low) for end in (row.value, row.low, row.high)]
        rows.append(
            {
                "spoke": at,
                name: source.label(name, row.by[0]),
                "model": row.model,
                "value": row.value,
                "low": row.low,
                "high": row.high,
                "place": placed[0],
                "place_low": placed[1],
                "place_high": placed[2],
                "items": row.items,
                "n": row.n,
            }
        )
    models = list(dict.fromkeys(row.model for row in table.rows))
    labels = [source.label(name, spoke) for spoke in spokes]

    def draws(width: float, style: Style) -> AnyChart:
        return _chart(rows, labels, models, width, style)

    notes = (
        counts_of(table.rows, words["n"]),
        words["interval"],
        words["radar_note"],
        *source.stopped,
        *source.caution,
    )
    return Picture("radar", f"{source.title}: {source.title_of(measure)}", tuple(rows), notes, draws)


def _radar_measure(source: PictureSource) -> Measure:
    """Return the requested measure, or the first by metric, dimension or scenario, or else by any single dimension."""
    if source.options.measure is not None:
        measure = source.measure(source.options.measure)
        if len(measure.by) != 1:
            text = f"`{measure.name}` goes by {len(measure.by)} dimensions, and a radar shows one"
            raise nothing_to_draw(text, "choose a measure by one dimension")
        return measure
    single = [each for each in source.plan.measures if len(each.by) == 1 and each.by[0] not in ("pair", "evaluator")]
    for wanted in ("metric", "dimension", "scenario"):
        for measure in single:
            if measure.by == (wanted,):
                return measure
    if not single:
        raise nothing_to_draw("no measure goes by one dimension", "declare one, such as `mean(score) by metric`")
    return single[0]


def _ends(source: PictureSource, measure: Measure, value: str) -> tuple[float, float]:
    ends = measure.low, measure.high
    if measure.by == ("metric",):
        metric = next((each for each in source.plan.metrics if each.name == value), None)
        if metric is not None and metric.ends is not None:
            ends = metric.ends
    low, high = ends
    if low is None or high is None or not low < high:
        text = f"the scale of `{measure.name}` has no ends, so nothing has a place on it"
        raise nothing_to_draw(text, f"choose a measure whose scores have a scale: {PlotParameters.measure}")
    return float(low), float(high)


def _spoke_point(place: float, spoke: float, many: int) -> dict[str, float]:
    """Return the coordinates of a value on a spoke. The first spoke points up; the others follow clockwise."""
    angle = 2 * math.pi * spoke / many
    return {"x": place * math.sin(angle), "y": place * math.cos(angle)}


def _chart(rows: Sequence[Row], labels: Sequence[str], models: Sequence[str], width: float, style: Style) -> AnyChart:
    import altair as alt

    many = len(labels)
    height = min(width, style.size * MAX_LINES_HIGH)
    rim = 1.1 + style.size * 5 / height
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[-rim * width / height, rim * width / height], nice=False))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[-rim, rim], nice=False))
    grid = [{"ring": ring, "order": at, **_spoke_point(ring, at, many)} for ring in RINGS for at in range(many + 1)]
    spokes: list[dict[str, Any]] = [
        {"ring": at, "order": end, **_spoke_point(end, at, many)} for at in range(many) for end in (0, 1)
    ]
    lines: list[dict[str, Any]] = []
    spans: list[dict[str, Any]] = []
    step = 0.035
    for number, model in enumerate(models):
        own = sorted((row for row in rows if row["model"] == model), key=lambda row: int(row["spoke"]))
        closed = [*own, *own[:1]] if len(own) == many else own
        lines += [
            {**row, "order": at, **_spoke_point(row["place"], row["spoke"], many)} for at, row in enumerate(closed)
        ]
        aside = (number - (len(models) - 1) / 2) * step
        for row in own:
            if row["place_low"] is not None and row["place_high"] is not None:
                one, two = (_shifted(row[end], row["spoke"], many, aside) for end in ("place_low", "place_high"))
                spans.append({"model": model, "x": one["x"], "y": one["y"], "x2": two["x"], "y2": two["y"]})
    thin = {"strokeWidth": 0.5, "color": PALE}
    layers: list[Any] = [
        alt.Chart(data_of(each)).mark_line(**thin).encode(x=x, y=y, detail="ring:N", order="order:Q")
        for each in (grid, spokes)
    ]
    layers.append(
        alt.Chart(data_of(spans))
        .mark_rule(opacity=0.45, strokeWidth=style.size / 7)
        .encode(x=x, y=y, x2="x2:Q", y2="y2:Q", color=colour_of(models, width, style))
    )
    dash = alt.StrokeDash(
        "model:N", scale=alt.Scale(domain=list(models), range=list(DASHES[: len(models)])), legend=None
    )
    line = alt.Chart(data_of(lines)).encode(x=x, y=y, color=colour_of(models, width, style))
    layers.append(line.mark_line(strokeWidth=style.size / 6).encode(order="order:Q", detail="model:N", strokeDash=dash))
    layers.append(
        line.mark_point(filled=True, size=style.size**2 * 0.4, opacity=1).encode(shape=shape_of(models, width, style))
    )
    layers += _labels(labels, style, x, y)
    between = math.cos(math.pi / many)
    rings = [{"text": f"{ring:.0%}", **_spoke_point(ring * between, 0.5, many)} for ring in RINGS]
    layers.append(
        alt.Chart(data_of(rings)).mark_text(fontSize=style.size * 0.75, color=GREY).encode(x=x, y=y, text="text:N")
    )
    return alt.layer(*layers).properties(width=width, height=height, view=alt.ViewBackground(stroke=None))


def _shifted(place: float, spoke: float, many: int, aside: float) -> dict[str, float]:
    """Return coordinates shifted sideways from the spoke, so that intervals of several models do not overlap."""
    at, angle = _spoke_point(place, spoke, many), 2 * math.pi * spoke / many
    return {"x": at["x"] + aside * math.cos(angle), "y": at["y"] - aside * math.sin(angle)}


def _labels(labels: Sequence[str], style: Style, x: Any, y: Any) -> list[Any]:
    """Return the labels of the spokes, aligned by their side of the circle."""
    import altair as alt

    found: dict[tuple[str, float], list[dict[str, Any]]] = {}
    for at, label in enumerate(labels):
        place = _spoke_point(1.06, at, len(labels))
        align = "center" if abs(place["x"]) < 0.15 else "left" if place["x"] > 0 else "right"
        lines = _folded(label)
        above = 0.5 if align != "center" else 1.0 if place["y"] > 0 else 0.0
        found.setdefault((align, -above * (len(lines) - 1)), []).append({"text": "\n".join(lines), **place})
    size = style.size * 0.9
    return [
        alt.Chart(data_of(rows))
        .mark_text(
            align=align, baseline="middle", lineBreak="\n", fontSize=size, lineHeight=size * 1.2, dy=up * size * 1.2
        )
        .encode(x=x, y=y, text="text:N")
        for (align, up), rows in found.items()
    ]


def _folded(label: str) -> list[str]:
    """Return a label split into lines. Without spaces, the lines have equal lengths, so that no single character
    remains.

    >>> _folded("内容相关性与范围控制"), _folded("Role & Tone Consistency")
    (['内容相关性', '与范围控制'], ['Role & Tone', 'Consistency'])
    """
    cells = cell_len(label)
    lines = max(1, -(-cells // LABEL))
    return fold(label, LABEL if " " in label else -(-cells // lines) + 1)


# Gains
def gain_picture(source: PictureSource) -> Picture:
    """Return the picture of a gain. Raises `StoreError` S0621 for a benchmark without one."""
    measure = _selected_gain(source)
    start = base_of(source.plan, measure.figure)
    table, words, named = source.evaluate(measure), source.words, source.title_of(measure)
    rows = [row for row in table.rows if not _is_start(measure, row.by, start)]
    if not rows:
        raise nothing_to_draw(
            f"`{measure.name}` has no value beside what it starts from", f"choose another: {PlotParameters.measure}"
        )
    if len(measure.by) > 2:
        raise nothing_to_draw(
            f"`{measure.name}` goes by more than two dimensions", f"choose another: {PlotParameters.measure}"
        )
    several = len({row.model for row in rows}) > 1 and bool(measure.by)
    models = [model for model in source.models if any(row.model == model for row in rows)] if several else []
    shown = tuple(
        {
            "model": row.model,
            "row": source.label(measure.by[-1], row.by[-1]) if measure.by else row.model,
            **({"part": source.label(measure.by[0], row.by[0])} if len(measure.by) == 2 else {}),
            "value": row.value,
            "low": row.low,
            "high": row.high,
            "items": row.items,
            "n": row.n,
        }
        for row in rows
    )
    order = list(dict.fromkeys(str(row["row"]) for row in shown))
    parts = list(dict.fromkeys(str(row["part"]) for row in shown if "part" in row))

    def draws(width: float, style: Style) -> AnyChart:
        def plot(some: Sequence[Row]) -> AnyChart:
            return estimates(some, width, style, y="row", title=named, order=order, models=models, zero=True)

        if not parts:
            return plot(shown)
        return titled_plots([(part, plot([row for row in shown if row["part"] == part])) for part in parts], style, 1)

    against = ", ".join(f"{name}: {source.label(name, value)}" for name, value in start.items())
    notes = (
        words["gain_note"].format(against=against),
        counts_of(rows, words["n"]),
        words["interval"],
        *source.stopped,
        *source.caution,
    )
    return Picture("gain", f"{source.title}: {named}", shown, notes, draws)


def _selected_gain(source: PictureSource) -> Measure:
    """Return the requested measure, or the first gain, preferably one by the arm that it compares."""
    if source.options.measure is not None:
        measure = source.measure(source.options.measure)
        if not base_of(source.plan, measure.figure):
            text = f"`{measure.name}` is no difference to an arm or a slice"
            raise nothing_to_draw(text, "a gain is such as `right - right[teaching: none]`")
        return measure
    gains = [(each, base) for each in source.plan.measures if (base := base_of(source.plan, each.figure))]
    if not gains:
        hint = "declare one, such as `measure gain = right - right[teaching: none] by teaching`"
        raise nothing_to_draw(f"`{source.plan.benchmark.name}` has no measure of a gain", hint)
    return next((each for each, base in gains if set(base) & set(each.by)), gains[0][0])


def base_of(plan: Plan, figure: Figure) -> dict[str, str]:
    """Return the slice that a figure is compared with, such as `{"teaching": "none"}`, or nothing for any other
    figure.
    """
    return next(_bases({measure.name: measure.figure for measure in plan.measures}, figure), {})


def _bases(measures: dict[str, Figure], figure: Figure) -> Iterator[dict[str, str]]:
    match figure:
        case Formula(operator="-", values=(_, Measured(slice=slice_))) if slice_:
            yield slice_
        case Formula(values=values):
            for value in values:
                yield from _bases(measures, value)
        case Measured(measure=name):
            yield from _bases(measures, measures[name])


def _is_start(measure: Measure, by: tuple[object, ...], start: dict[str, str]) -> bool:
    """Return true for the baseline cell of a gain, which is 0 by definition."""
    named = dict(zip(measure.by, by, strict=True))
    return bool(set(start) & set(named)) and all(
        str(named[name]) == value for name, value in start.items() if name in named
    )
