"""The chart of a picture with title and notes, fitted to its width, and its files: SVG, PNG, PDF and Vega-Lite."""

from __future__ import annotations

import html
import json
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.cells import cell_len

from tripos.plots.picture import (
    COLOURS,
    GREY,
    AnyChart,
    Picture,
    Row,
    Style,
    colours_for,
    config_of,
    data_of,
    shapes_for,
    words_for,
)
from tripos.settings.options import PlotParameters
from tripos_warehouse.errors import StoreError
from tripos_warehouse.files import export_path
from tripos_warehouse.tables.text import fold

LIBRARIES = ("altair", "vl_convert")
MIN_PLOT_WIDTH = 40
"""Minimum width of a plot in points."""
FITTING_STEPS = 4
MOST_OVERWIDTH = 1.03
"""Maximum ratio of the actual to the requested width; beyond it the picture is refused."""
_TEXT = re.compile(r"(<text [^>]*>)(.*?</text>)", re.DOTALL)
_FONTS = re.compile(r'font-family="[^"]*"')
_SIZE = re.compile(r'<svg[^>]*? width="([\d.]+)" height="([\d.]+)"')


@dataclass(frozen=True)
class Drawing:
    """A picture with its chart and its SVG, whose texts are not converted to outlines."""

    picture: Picture
    chart: AnyChart
    svg: str
    style: Style

    @property
    def width(self) -> float:
        """The width of the SVG in points."""
        return size_of(self.svg)[0]


def draw(picture: Picture, style: Style) -> Drawing:
    """Return the chart of a picture, including labels, at the style's width. Raises `StoreError` S0622 without the
    libraries of the extra `plot`, and S0624 if labels leave no room."""
    check_libraries()
    inner = style.width * 0.6 / picture.several
    for _ in range(FITTING_STEPS):
        chart = _titled(picture.draws(inner, style), picture, style)
        svg = with_wide_fonts(to_svg(chart), style)
        spare = style.width - size_of(svg)[0]
        if -0.5 <= spare <= 1 or inner + spare / picture.several < MIN_PLOT_WIDTH:
            break
        inner += spare / picture.several
    if size_of(svg)[0] > style.width * MOST_OVERWIDTH:
        message = f"labels leave no room for the picture in {style.width / 72 * 2.54:.1f} cm"
        raise StoreError(
            "S0624",
            message,
            f"give it more {PlotParameters.width}, a smaller {PlotParameters.font_size}, or {PlotParameters.size} page",
        )
    return Drawing(picture, chart, svg, style)


def check_libraries() -> None:
    """Raise `StoreError` S0622 if a library is missing."""
    from importlib.util import find_spec

    lacking = [name for name in LIBRARIES if find_spec(name) is None]
    if lacking:
        raise StoreError("S0622", f"pictures need {' and '.join(lacking)}", "pip install 'tripos[plot]'")


def to_svg(chart: AnyChart) -> str:
    """Return a chart as SVG. Nothing is downloaded, since the data is inline."""
    import vl_convert

    found: str = vl_convert.vegalite_to_svg(chart.to_dict(), vl_version=version_of(), allowed_base_urls=[])
    return found


def with_wide_fonts(svg: str, style: Style) -> str:
    """Return an SVG with a Chinese, Japanese or Korean font first in texts that need one. Otherwise the converter takes
    any font with the first such character for the whole text."""
    named = html.escape(style.wide_fonts)

    def fonts(found: re.Match[str]) -> str:
        if not any(map(is_wide, found[2])):
            return found[0]
        return _FONTS.sub(lambda _: f'font-family="{named}"', found[1]) + found[2]

    return _TEXT.sub(fonts, svg)


def is_wide(char: str) -> bool:
    """Return true for a Chinese, Japanese or Korean character.

    >>> is_wide("学"), is_wide("é")
    (True, False)
    """
    return ord(char) > 0x2E80 and unicodedata.east_asian_width(char) in "WF"


def version_of() -> str:
    """Return the Vega-Lite version of charts in the converter's notation."""
    import altair as alt

    return ".".join(alt.SCHEMA_VERSION.split(".")[:2])


def size_of(svg: str) -> tuple[float, float]:
    """Return the width and height of an SVG.

    >>> size_of('<svg version="1.1" width="200" height="80.5">')
    (200.0, 80.5)
    """
    match = _SIZE.search(svg)
    assert match is not None, svg[:200]
    return float(match[1]), float(match[2])


def _titled(chart: AnyChart, picture: Picture, style: Style) -> AnyChart:
    """Return a chart with the style's configuration, and with title and notes unless the style is bare."""
    import altair as alt

    config: dict[str, Any] = config_of(style)
    if not style.bare:
        title = fold(picture.title, int(style.width / (style.size * 0.7)))
        notes = fold(words_for(style.language)["between"].join(picture.notes), int(style.width / (style.size * 0.48)))
        chart = chart.properties(title=alt.TitleParams(text=title, subtitle=notes, offset=style.size * 0.8))
    found: AnyChart = chart.configure(**config)
    return found


# Marks shared by several pictures
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
    """Return a chart of values as dots with intervals as lines, from top to bottom by `y` in this order. `beside` names
    a text column at the right. With `models`, each has its own colour, shape and line. `zero` draws a line at 0. The
    dots of a model with equal `joined` values are connected."""
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
    """Return plots in a grid of `columns`, each with its title."""
    import altair as alt

    title = {"fontSize": style.size, "anchor": "start", "offset": style.size * 0.4, "frame": "group"}
    each = [chart.properties(title=alt.TitleParams(text=text, **title)) for text, chart in plots]
    return alt.concat(*each, columns=columns, spacing=style.size)


def colour_of(models: Sequence[str], width: float, style: Style) -> Any:
    """Return the colour encoding by model, with a legend that fits the width."""
    import altair as alt

    scale = alt.Scale(domain=list(models), range=colours_for(models))
    return alt.Color("model:N", scale=scale, legend=_legend(models, width, style), title=None)


def shape_of(models: Sequence[str], width: float, style: Style) -> Any:
    """Return the shape encoding by model, with the same legend."""
    import altair as alt

    scale = alt.Scale(domain=list(models), range=shapes_for(models))
    return alt.Shape("model:N", scale=scale, legend=_legend(models, width, style), title=None)


def _legend(models: Sequence[str], width: float, style: Style) -> Any:
    import altair as alt

    widest = max(cell_len(model) for model in models) * style.size * 0.6 + style.size * 4
    columns = max(1, min(len(models), int(width / widest)))
    plain = {"symbolOpacity": 1, "symbolDash": [1, 0], "symbolStrokeWidth": 0}
    return alt.Legend(orient="top", direction="vertical", columns=columns, title=None, **plain)


# Files
PPI = 300
"""Resolution of a PNG in dots per inch, as papers require. It is stored in the file, and sets the printed width."""
SPECIMENS = ("永", "学")
"""Two characters that a font with Chinese draws differently, and one without cannot draw."""


def write_drawing(drawing: Drawing, path: Path) -> None:
    """Write a drawing in the format of its file name. Raises `StoreError` S0202 for an unknown format, and S0604 if the
    file cannot be written."""
    form = next((form for form in FORMATS if path.name.lower().endswith(form)), None)
    if form is None:
        named = ", ".join(f"`{each}`" for each in FORMATS)
        raise StoreError("S0202", f"cannot draw `{path.suffix or path.name}` files", f"end the name in {named}")
    content = FORMATS[form](drawing)
    with export_path(path) as new:
        new.write_bytes(content)


def _svg(drawing: Drawing) -> bytes:
    """Return SVG with its size in points instead of pixels."""
    width, height = size_of(drawing.svg)
    sized = re.sub(
        r' width="[\d.]+" height="[\d.]+"', f' width="{width:g}pt" height="{height:g}pt"', drawing.svg, count=1
    )
    return sized.encode()


def _png(drawing: Drawing) -> bytes:
    import vl_convert

    return bytes(vl_convert.svg_to_png(drawing.svg, ppi=PPI))


def _pdf(drawing: Drawing) -> bytes:
    import vl_convert

    return bytes(vl_convert.svg_to_pdf(drawing.svg))


def _vega_lite(drawing: Drawing) -> bytes:
    return (json.dumps(drawing.chart.to_dict(), ensure_ascii=False, indent=1) + "\n").encode()


FORMATS: Mapping[str, Callable[[Drawing], bytes]] = {
    ".svg": _svg,
    ".png": _png,
    ".pdf": _pdf,
    ".vl.json": _vega_lite,
}


def missing_font(drawing: Drawing) -> str | None:
    """Return a warning if the picture has Chinese, Japanese or Korean text and no installed font draws it, or None."""
    texts = re.findall(r">([^<]+)</text>|>([^<]+)</tspan>", drawing.svg)
    if not any(is_wide(char) for pair in texts for text in pair for char in text) or draws_chinese():
        return None
    return "no font of this machine has Chinese, Japanese or Korean: PNG and PDF lack these labels"


def draws_chinese() -> bool:
    """Return true if an installed font has Chinese: two characters and a space are drawn differently."""
    import vl_convert

    drawn = [bytes(vl_convert.svg_to_png(_specimen(char))) for char in (*SPECIMENS, " ")]
    return len(set(drawn)) == len(drawn)


def _specimen(char: str) -> str:
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40">'
        f'<text x="4" y="32" font-size="28" font-family="Noto Sans CJK SC, sans-serif">{char}</text></svg>'
    )
