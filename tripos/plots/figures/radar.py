"""The radar: the cells of a measure around a circle, from the lowest mark of the scale to the highest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rich.cells import cell_len

from tripos.plots.marks import colour_of, shape_of
from tripos.plots.picture import AnyChart, Picture, Row, data_of, nothing_to_draw
from tripos.plots.sources import PictureSource
from tripos.plots.theme import DASHES, GREY, PALE, Style
from tripos_compiler.plan import Measure
from tripos_warehouse.formats import fold
from tripos_warehouse.report import counts_of

LEAST = 3
"""Fewer spokes make no area."""
TALLEST = 42
"""A radar is no taller than so many lines of text, however wide its page is."""
LABEL = 18
"""The cells of a line of a label."""
RINGS = (0.25, 0.5, 0.75, 1.0)


def radar_picture(source: PictureSource) -> Picture:
    """Return the picture of a measure by one dimension. Raises `StoreError` S0621 for one whose cells have no bounds,
    or that has fewer than three of them."""
    measure = _measure(source)
    [name] = measure.by
    table, words = source.evaluate(measure), source.words
    spokes = list(
        dict.fromkeys(str(row.by[0]) for row in sorted(table.rows, key=lambda row: _place(source, name, row.by[0])))
    )
    if len(spokes) < LEAST:
        raise nothing_to_draw(f"`{measure.name}` has {len(spokes)} cells, and a radar needs three", "choose --measure")
    rows = []
    for row in table.rows:
        assert row.value is not None
        low, high = _ends(source, measure, str(row.by[0]))
        at = spokes.index(str(row.by[0]))
        placed = [
            None if end is None else (end - low) / (high - low)
            for end in (row.value, row.interval_low, row.interval_high)
        ]
        rows.append(
            {
                "spoke": at,
                name: source.label(name, row.by[0]),
                "model": row.model,
                "value": row.value,
                "low": row.interval_low,
                "high": row.interval_high,
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


def _measure(source: PictureSource) -> Measure:
    """Return the wanted measure, or the first by metric, or the first by any one dimension."""
    if source.options.measure is not None:
        measure = source.measure(source.options.measure)
        if len(measure.by) != 1:
            told = f"`{measure.name}` goes by {len(measure.by)} dimensions, and a radar shows one"
            raise nothing_to_draw(told, "choose a measure by one dimension")
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
        told = f"the scale of `{measure.name}` has no ends, so nothing has a place on it"
        raise nothing_to_draw(told, "choose a measure whose scores have a scale: --measure")
    return float(low), float(high)


def _place(source: PictureSource, name: str, value: object) -> tuple[int, str]:
    from tripos_warehouse.views import dimension_place

    return dimension_place(source.plan, name)(value)


def _at(place: float, spoke: float, many: int) -> dict[str, float]:
    """Return where a place on a spoke lies: the first goes straight up, and they follow one another clockwise."""
    angle = 2 * math.pi * spoke / many
    return {"x": place * math.sin(angle), "y": place * math.cos(angle)}


def _chart(rows: Sequence[Row], labels: Sequence[str], models: Sequence[str], width: float, style: Style) -> AnyChart:
    import altair as alt

    many = len(labels)
    height = min(width, style.size * TALLEST)
    rim = 1.1 + style.size * 5 / height
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[-rim * width / height, rim * width / height], nice=False))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[-rim, rim], nice=False))
    grid = [{"ring": ring, "order": at, **_at(ring, at, many)} for ring in RINGS for at in range(many + 1)]
    spokes: list[dict[str, Any]] = [
        {"ring": at, "order": end, **_at(end, at, many)} for at in range(many) for end in (0, 1)
    ]
    lines: list[dict[str, Any]] = []
    spans: list[dict[str, Any]] = []
    step = 0.035
    for number, model in enumerate(models):
        own = sorted((row for row in rows if row["model"] == model), key=lambda row: int(row["spoke"]))
        closed = [*own, *own[:1]] if len(own) == many else own
        lines += [{**row, "order": at, **_at(row["place"], row["spoke"], many)} for at, row in enumerate(closed)]
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
    rings = [{"text": f"{ring:.0%}", **_at(ring * between, 0.5, many)} for ring in RINGS]
    layers.append(
        alt.Chart(data_of(rings)).mark_text(fontSize=style.size * 0.75, color=GREY).encode(x=x, y=y, text="text:N")
    )
    return alt.layer(*layers).properties(width=width, height=height, view=alt.ViewBackground(stroke=None))


def _shifted(place: float, spoke: float, many: int, aside: float) -> dict[str, float]:
    """Return a place beside its spoke, so that the intervals of several models do not hide each other."""
    at, angle = _at(place, spoke, many), 2 * math.pi * spoke / many
    return {"x": at["x"] + aside * math.cos(angle), "y": at["y"] - aside * math.sin(angle)}


def _labels(labels: Sequence[str], style: Style, x: Any, y: Any) -> list[Any]:
    """Return the names of the spokes, each on the side of the circle where it stands."""
    import altair as alt

    found: dict[tuple[str, float], list[dict[str, Any]]] = {}
    for at, label in enumerate(labels):
        place = _at(1.06, at, len(labels))
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
    """Return a label in lines. Where it has no spaces they are of one length, so that no character stands alone.

    >>> _folded("内容相关性与范围控制"), _folded("Role & Tone Consistency")
    (['内容相关性', '与范围控制'], ['Role & Tone', 'Consistency'])
    """
    cells = cell_len(label)
    lines = max(1, -(-cells // LABEL))
    return fold(label, LABEL if " " in label else -(-cells // lines) + 1)
