"""A picture as a chart: with its title and notes, as wide as it is to be, all labels counted."""

from __future__ import annotations

import html
import re
import unicodedata
from dataclasses import dataclass
from typing import Any

from tripos.plots.i18n import words_for
from tripos.plots.picture import AnyChart, Picture
from tripos.plots.theme import Style, config_of
from tripos_warehouse.errors import StoreError
from tripos_warehouse.formats import fold

LIBRARIES = ("altair", "vl_convert")
NARROWEST = 40
"""Points below which a plot shows nothing."""
TRIES = 4
TOO_WIDE = 1.03
"""So many times as wide as wanted, and a picture is refused."""
_TEXT = re.compile(r"(<text [^>]*>)(.*?</text>)", re.DOTALL)
_FONTS = re.compile(r'font-family="[^"]*"')
_SIZE = re.compile(r'<svg[^>]*? width="([\d.]+)" height="([\d.]+)"')


@dataclass(frozen=True)
class Drawing:
    """A picture, its chart and its SVG, in which texts are texts."""

    picture: Picture
    chart: AnyChart
    svg: str
    style: Style

    @property
    def width(self) -> float:
        """The width of the SVG in points."""
        return size_of(self.svg)[0]


def draw(picture: Picture, style: Style) -> Drawing:
    """Return a picture as a chart of the style's width, labels and all. Raises `StoreError` S0622 without the libraries
    of the extra `plot`, and S0624 where labels leave no room."""
    check_libraries()
    inner = style.width * 0.6 / picture.several
    for _ in range(TRIES):
        chart = _titled(picture.draws(inner, style), picture, style)
        svg = with_wide_fonts(to_svg(chart), style)
        spare = style.width - size_of(svg)[0]
        if -0.5 <= spare <= 1 or inner + spare / picture.several < NARROWEST:
            break
        inner += spare / picture.several
    if size_of(svg)[0] > style.width * TOO_WIDE:
        message = f"labels leave no room for the picture in {style.width / 72 * 2.54:.1f} cm"
        raise StoreError("S0624", message, "give it more --width, a smaller --font-size, or --for page")
    return Drawing(picture, chart, svg, style)


def check_libraries() -> None:
    """Raise `StoreError` S0622 where a library is not installed."""
    from importlib.util import find_spec

    lacking = [name for name in LIBRARIES if find_spec(name) is None]
    if lacking:
        raise StoreError("S0622", f"pictures need {' and '.join(lacking)}", "pip install 'tripos[plot]'")


def to_svg(chart: AnyChart) -> str:
    """Return a chart as SVG. Nothing is fetched: its data is inside of it."""
    import vl_convert

    found: str = vl_convert.vegalite_to_svg(chart.to_dict(), vl_version=version_of(), allowed_base_urls=[])
    return found


def with_wide_fonts(svg: str, style: Style) -> str:
    """Return an SVG whose texts with Chinese, Japanese or Korean begin with a font that has them. Otherwise whatever
    font has the first of these characters is taken for the whole text."""
    named = html.escape(style.wide_fonts)

    def fonts(found: re.Match[str]) -> str:
        if not any(map(is_wide, found[2])):
            return found[0]
        return _FONTS.sub(lambda _: f'font-family="{named}"', found[1]) + found[2]

    return _TEXT.sub(fonts, svg)


def is_wide(char: str) -> bool:
    """Return true for a character of Chinese, Japanese or Korean.

    >>> is_wide("学"), is_wide("é")
    (True, False)
    """
    return ord(char) > 0x2E80 and unicodedata.east_asian_width(char) in "WF"


def version_of() -> str:
    """Return the version of Vega-Lite that charts are written in, as the converter names it."""
    import altair as alt

    return ".".join(alt.SCHEMA_VERSION.split(".")[:2])


def size_of(svg: str) -> tuple[float, float]:
    """Return the width and the height that an SVG gives itself.

    >>> size_of('<svg version="1.1" width="200" height="80.5">')
    (200.0, 80.5)
    """
    found = _SIZE.search(svg)
    assert found is not None, svg[:200]
    return float(found[1]), float(found[2])


def _titled(chart: AnyChart, picture: Picture, style: Style) -> AnyChart:
    """Return a chart with the configuration of a style, and unless it is bare, with its title and its notes."""
    import altair as alt

    config: dict[str, Any] = config_of(style)
    if not style.bare:
        title = fold(picture.title, int(style.width / (style.size * 0.7)))
        notes = fold(words_for(style.language)["between"].join(picture.notes), int(style.width / (style.size * 0.48)))
        chart = chart.properties(title=alt.TitleParams(text=title, subtitle=notes, offset=style.size * 0.8))
    found: AnyChart = chart.configure(**config)
    return found
