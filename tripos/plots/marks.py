"""Marks that several pictures share: values as dots on lines that are their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.cells import cell_len

from tripos.plots.picture import AnyChart, Row, data_of
from tripos.plots.theme import COLOURS, GREY, Style, colours_for, shapes_for


def estimates(
    rows: Sequence[Row],
    width: float,
    style: Style,
    *,
    y: str,
    title: str,
    order: Sequence[str],
    beside: str | None = None,
    models: Sequence[str] = (),
    zero: bool = False,
    joined: str | None = None,
) -> AnyChart:
    """Return values from top to bottom by `y`, in an order, each a dot on the line of its interval. `beside` names a
    text at the right; with `models`, each has a colour, a shape and a line of its own. `zero` draws a line at 0. Dots
    of a model that have the same value of `joined` are joined, and those without one are not."""
    import altair as alt

    lines = max(1, len(models))
    step = style.step if lines == 1 else max(style.step, lines * style.size * 1.1 + style.size)
    base = alt.Chart(data_of(rows))
    shared: dict[str, Any] = {
        "y": alt.Y(f"{y}:N", sort=list(order), title=None, axis=alt.Axis(ticks=False, domain=False))
    }
    if models:
        shared["yOffset"] = alt.YOffset("model:N", sort=list(models))
        shared["color"] = colour_of(models, width, style)
    axis = alt.X("value:Q", title=title, scale=alt.Scale(zero=zero, nice=True))
    shape = {"shape": shape_of(models, width, style)} if models else {}
    line = base.mark_rule(strokeWidth=style.size / 5, color=COLOURS[0]).encode(
        x=alt.X("low:Q", title=title, scale=alt.Scale(zero=zero, nice=True)), x2="high:Q", **shared
    )
    dot = base.mark_point(filled=True, size=style.size**2 * 0.7, color=COLOURS[0], opacity=1).encode(
        x=axis, **shared, **shape
    )
    layers: list[Any] = [line, dot]
    if joined is not None:
        places = {name: place for place, name in enumerate(order)}
        whole = [{**row, "place": places[str(row[y])]} for row in rows if row[joined] is not None]
        path = alt.Chart(data_of(whole)).mark_line(strokeWidth=style.size / 10, opacity=0.6)
        layers.insert(0, path.encode(x=axis, **shared, detail=f"{joined}:N", order="place:Q"))
    if zero:
        layers.insert(0, alt.Chart(data_of([{"value": 0}])).mark_rule(color=GREY, strokeWidth=0.8).encode(x="value:Q"))
    if beside is not None:
        text = base.mark_text(align="left", color=GREY).encode(
            x=alt.value(width + style.size), y=shared["y"], text=f"{beside}:N"
        )
        layers.append(text)
    return alt.layer(*layers).properties(width=width, height=alt.Step(step, **{"for": "position"}))


def titled_plots(plots: Sequence[tuple[str, AnyChart]], style: Style, columns: int) -> AnyChart:
    """Return plots in rows of so many `columns`, each under its title."""
    import altair as alt

    title = {"fontSize": style.size, "anchor": "start", "offset": style.size * 0.4, "frame": "group"}
    each = [chart.properties(title=alt.TitleParams(text=text, **title)) for text, chart in plots]
    return alt.concat(*each, columns=columns, spacing=style.size)


def colour_of(models: Sequence[str], width: float, style: Style) -> Any:
    """Return the colour of a mark by its model, with a legend that has room in a width."""
    import altair as alt

    scale = alt.Scale(domain=list(models), range=colours_for(models))
    return alt.Color("model:N", scale=scale, legend=_legend(models, width, style), title=None)


def shape_of(models: Sequence[str], width: float, style: Style) -> Any:
    """Return the shape of a mark by its model, with the same legend."""
    import altair as alt

    scale = alt.Scale(domain=list(models), range=shapes_for(models))
    return alt.Shape("model:N", scale=scale, legend=_legend(models, width, style), title=None)


def _legend(models: Sequence[str], width: float, style: Style) -> Any:
    import altair as alt

    widest = max(cell_len(model) for model in models) * style.size * 0.6 + style.size * 4
    columns = max(1, min(len(models), int(width / widest)))
    plain = {"symbolOpacity": 1, "symbolDash": [1, 0], "symbolStrokeWidth": 0}
    return alt.Legend(orient="top", direction="vertical", columns=columns, title=None, **plain)
