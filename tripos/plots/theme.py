"""Sizes, fonts and colours of pictures: for a column or a page of a paper, or for a slide."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

POINTS = {"pt": 1.0, "in": 72.0, "cm": 72 / 2.54, "mm": 72 / 25.4}
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#999999")
"""The palette of Okabe and Ito, whose colours people with any colour vision tell apart."""
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left")
DASHES = ([1, 0], [4, 2], [1, 2], [6, 2, 1, 2], [8, 3], [2, 1], [1, 1], [5, 1, 1, 1])
CONTINUOUS = "viridis"
"""The scale of a heat map: it grows evenly lighter, so it is read in grey and by any colour vision."""
LATIN = "Liberation Sans, Arial, Helvetica"
WIDE = "Noto Sans CJK SC, Source Han Sans SC, Microsoft YaHei, PingFang SC, sans-serif"
"""Fonts for Chinese, Japanese and Korean, on the systems that people have."""
GREY, PALE = "#555555", "#DDDDDD"
_LENGTH = re.compile(r"(\d+(?:\.\d+)?|\.\d+) ?(pt|in|cm|mm)")


@dataclass(frozen=True)
class Style:
    """How a picture looks: its whole width and the size of its text in points, its font and its language. A `bare` one
    has no title and no note, for a paper that says both in its caption."""

    width: float
    size: float
    font: str = LATIN
    language: str = "en"
    bare: bool = False

    @property
    def fonts(self) -> str:
        """The fonts of a text, the wanted ones first."""
        return f"{self.font}, {WIDE}"

    @property
    def wide_fonts(self) -> str:
        """The fonts of a text with Chinese, Japanese or Korean: those that were named after the first one, if any."""
        _, _, named = self.font.partition(",")
        return f"{named.strip()}, {WIDE}" if named and self.font != LATIN else WIDE

    @property
    def step(self) -> float:
        """The height of a line with a mark and a label."""
        return self.size * 2

    def with_changes(self, **changes: Any) -> Style:
        """Return the style with those of the changes that are given."""
        return replace(self, **{name: value for name, value in changes.items() if value is not None})


SIZES: Mapping[str, Style] = {
    "column": Style(8.4 * POINTS["cm"], 7),
    "page": Style(17.4 * POINTS["cm"], 8),
    "slide": Style(25.4 * POINTS["cm"], 14),
}
"""A column and a page of a paper, and a slide."""


def length_pt(text: str) -> float:
    """Return a length in points. Raises `ValueError` for what is none.

    >>> round(length_pt("8.4cm"), 1), length_pt("3 in")
    (238.1, 216.0)
    """
    found = _LENGTH.fullmatch(text.strip())
    if found is None or float(found[1]) <= 0:
        raise ValueError(f"{text} is no length such as 8.4cm")
    return float(found[1]) * POINTS[found[2]]


def config_of(style: Style) -> dict[str, Any]:
    """Return what Vega-Lite is told of fonts, lines and colours."""
    size, fonts = style.size, style.fonts
    label = {"labelFont": fonts, "labelFontSize": size, "labelLimit": 0}
    title = {"titleFont": fonts, "titleFontSize": size, "titleFontWeight": "normal", "titleLimit": 0}
    return {
        "font": fonts,
        "background": "white",
        "padding": 2,
        "axis": {
            **label,
            **title,
            "domainColor": GREY,
            "tickColor": GREY,
            "gridColor": PALE,
            "gridWidth": 0.5,
            "domainWidth": 0.5,
            "tickWidth": 0.5,
            "tickSize": 3,
            "titlePadding": size * 0.6,
        },
        "header": {**label, **title, "labelFontWeight": "bold"},
        "legend": {**label, **title, "symbolSize": size * 6, "rowPadding": 1, "symbolLimit": 0, "offset": size},
        "title": {
            "font": fonts,
            "fontSize": size * 1.2,
            "fontWeight": "bold",
            "anchor": "start",
            "frame": "bounds",
            "limit": 0,
            "subtitleFont": fonts,
            "subtitleFontSize": size * 0.9,
            "subtitleColor": GREY,
            "subtitlePadding": 2,
            "subtitleLineHeight": size * 1.2,
        },
        "view": {"strokeWidth": 0.5, "stroke": PALE},
        "text": {"font": fonts, "fontSize": size},
        "range": {"category": list(COLOURS), "symbol": list(SHAPES)},
    }


def colours_for(names: Sequence[str]) -> list[str]:
    """Return a colour for each name; after the eighth they repeat, and shapes go on telling them apart."""
    return [COLOURS[place % len(COLOURS)] for place in range(len(names))]


def shapes_for(names: Sequence[str]) -> list[str]:
    """Return a shape for each name. Names that share a colour have other shapes."""
    many = len(SHAPES)
    return [SHAPES[(place + place // many) % many] for place in range(len(names))]
