"""Files of pictures: SVG, PNG, PDF and Vega-Lite."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from tripos.plots.drawing import Drawing, is_wide, size_of
from tripos_warehouse.errors import StoreError
from tripos_warehouse.exports import appearing

PPI = 300
"""Dots per inch of a PNG, as papers want them. The file says so, and programs take its width on paper from that."""
SPECIMENS = ("永", "学")
"""Two characters that no font without Chinese draws, and none with Chinese draws alike."""


def write_drawing(drawing: Drawing, path: Path) -> None:
    """Write a drawing as the name of its file says. Raises `StoreError` S0202 for a name that says nothing, and S0604
    where the disk refuses."""
    form = next((form for form in FORMATS if path.name.lower().endswith(form)), None)
    if form is None:
        named = ", ".join(f"`{each}`" for each in FORMATS)
        raise StoreError("S0202", f"cannot draw `{path.suffix or path.name}` files", f"end the name in {named}")
    content = FORMATS[form](drawing)
    with appearing(path) as new:
        new.write_bytes(content)


def _svg(drawing: Drawing) -> bytes:
    """Return SVG that takes its width on paper, and not one by the pixels of a screen."""
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


def why_no_font(drawing: Drawing) -> str | None:
    """Return what is wrong where a picture has Chinese, Japanese or Korean and no font here draws it; else None."""
    texts = re.findall(r">([^<]+)</text>|>([^<]+)</tspan>", drawing.svg)
    if not any(is_wide(char) for pair in texts for text in pair for char in text) or draws_chinese():
        return None
    return "no font of this machine has Chinese, Japanese or Korean: PNG and PDF lack these labels"


def draws_chinese() -> bool:
    """Return true if a font of this machine has Chinese: two characters come out, and not both as the same box."""
    import vl_convert

    drawn = [bytes(vl_convert.svg_to_png(_specimen(char))) for char in (*SPECIMENS, " ")]
    return len(set(drawn)) == len(drawn)


def _specimen(char: str) -> str:
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40">'
        f'<text x="4" y="32" font-size="28" font-family="Noto Sans CJK SC, sans-serif">{char}</text></svg>'
    )
