"""The heat map: the mean of every scenario and metric, placed on its scale, a plot for each model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tripos.plots.marks import titled_plots
from tripos.plots.picture import AnyChart, Picture, Row, data_of, nothing_to_draw
from tripos.plots.sources import PictureSource
from tripos.plots.theme import CONTINUOUS, Style
from tripos.view import grid_means
from tripos_warehouse.views import dimension_place


def heatmap_picture(source: PictureSource) -> Picture:
    """Return the means that the page of results shows. Raises `StoreError` S0621 where no score has a scale."""
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
    shown = [model for model in models if any(row["model"] == model for row in rows)]
    least, most = min(row["n"] for row in rows), max(row["n"] for row in rows)
    n = f"{least:,}" if least == most else f"{least:,}–{most:,}"

    def draws(width: float, style: Style) -> AnyChart:
        plots = [(model, _grid(source, rows, model, across, down, width, style, model == shown[-1])) for model in shown]
        return plots[0][1] if len(plots) == 1 else titled_plots(plots, style, 1)

    title = f"{source.title}: {words['title_heatmap']}" + (f", {shown[0]}" if len(shown) == 1 else "")
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
    """Return the cells of a model; the names of metrics stand below the last one."""
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
