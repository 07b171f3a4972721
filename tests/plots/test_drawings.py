"""Drawings: their size, their texts, the files that they become, and that nothing is fetched."""

from __future__ import annotations

import json
import re
import struct
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.conftest import Command
from tests.each import each
from tests.plots.conftest import MODELS
from tripos.plots import chart, chart as drawings
from tripos.plots.chart import draw, with_wide_fonts
from tripos.plots.picture import SIZES, PlotOptions
from tripos.plots.plot import KINDS, make_picture
from tripos_warehouse.store.store import Store

SVG = "{http://www.w3.org/2000/svg}"


def texts_of(svg: str) -> list[str]:
    """Return the texts of an SVG."""
    return ["".join(each.itertext()) for each in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@pytest.mark.parametrize(
    "kind",
    [
        kind if kind in ("leaderboard", "heatmap", "gain") else pytest.param(kind, marks=pytest.mark.long)
        for kind in KINDS
    ],
)
def test_a_picture_is_as_wide_as_it_is_to_be_and_all_labels_are_whole(kind: str, store: Store) -> None:
    picture = make_picture(kind, store, options=PlotOptions(language="zh"))
    for style in (SIZES["page"], SIZES["slide"]):
        drawn = draw(picture, style.with_changes(language="zh"))
        assert drawn.width == pytest.approx(style.width, abs=style.width * 0.03)
        texts = texts_of(drawn.svg)
        assert not [text for text in texts if text.endswith("…")]
        assert any("课程" in text for text in texts)
    if kind in ("leaderboard", "heatmap", "radar", "cost", "gain"):
        assert all(model in texts for model in MODELS)
    if kind in ("heatmap", "radar"):
        assert {"清晰程度", "准确程度", "亲和程度"} <= set(texts)


@each("form", [".svg", ".png", ".pdf", ".vl.json"])
def test_a_command_writes_the_format_of_the_name(form: str, lessons: Path, tripos: Command) -> None:
    outcome = tripos("plot", "heatmap", "--out", f"made{form}", "--width", "12cm")
    assert outcome.code == 0, outcome.err
    made = (lessons / f"made{form}").read_bytes()
    assert f"written to made{form}" in outcome.out and "0 is the lowest mark" in outcome.out
    match form:
        case ".svg":
            width = re.search(rb'width="([\d.]+)pt"', made)
            assert width is not None and float(width[1]) == pytest.approx(12 / 2.54 * 72, abs=4)
            assert "Warmth & <care>" in texts_of(made.decode())
        case ".png":
            assert made.startswith(b"\x89PNG")
            [dots], at = struct.unpack(">I", made[16:20]), made.index(b"pHYs") + 4
            a_metre, unit = struct.unpack(">I4xB", made[at : at + 9])
            assert dots == pytest.approx(12 / 2.54 * 300, abs=20)
            assert unit == 1 and dots / a_metre == pytest.approx(0.12, abs=0.002), "its width on paper"
        case ".pdf":
            assert made.startswith(b"%PDF") and b"Liberation" in made
        case _:
            spec = json.loads(made)
            assert "vega-lite/v6" in spec["$schema"]
            assert '"url"' not in json.dumps({key: value for key, value in spec.items() if key != "$schema"})


def test_a_bare_picture_has_no_title_and_no_note(store: Store) -> None:
    picture = make_picture("leaderboard", store)
    drawn = draw(picture, SIZES["page"].with_changes(bare=True))
    assert not [text for text in texts_of(drawn.svg) if text == picture.title or "coverage" in text]
    assert picture.title in texts_of(draw(picture, SIZES["page"]).svg)


def test_a_picture_without_room_is_refused_and_leaves_no_file(lessons: Path, tripos: Command) -> None:
    outcome = tripos("plot", "heatmap", "--out", "small.png", "--width", "2cm")
    assert outcome.code != 0 and "S0624" in outcome.err and not (lessons / "small.png").exists()


@each(
    "arguments, said",
    [
        (("leaderboard", "--out", "x.gif"), "S0202"),
        (("leaderboard", "--out", "x.svg", "--width", "wide"), "R0202"),
        (("leaderboard", "--out", "x.svg", "--width", "0cm"), "R0202"),
        (("leaderboard", "--out", "x.svg", "--cost", "usd"), "R0202"),
        (("heatmap", "--out", "x.svg", "--measure", "a"), "R0202"),
        (("pie", "--out", "x.svg"), "R0202"),
        (("leaderboard",), "R0202"),
    ],
)
def test_a_wrong_command_is_told(arguments: tuple[str, ...], said: str, lessons: Path, tripos: Command) -> None:
    outcome = tripos("plot", *arguments)
    assert outcome.code == 2 and said in outcome.err and not list(lessons.glob("x.*"))


def test_a_text_with_chinese_begins_with_a_font_that_has_it() -> None:
    svg = '<svg><text font-family="Arial">one</text><text x="1" font-family="Arial">学 one</text></svg>'
    shown = with_wide_fonts(svg, SIZES["page"])
    assert re.findall(r'font-family="([^",]+)', shown) == ["Arial", "Noto Sans CJK SC"]
    named = with_wide_fonts(svg, SIZES["page"].with_changes(font='Times New Roman, My "Song"'))
    assert ElementTree.fromstring(named)[1].get("font-family", "").startswith('My "Song", Noto')


def test_a_machine_without_a_font_for_chinese_is_told_so(
    lessons: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chart, "draws_chinese", lambda: False)
    outcome = tripos("plot", "heatmap", "--out", "a.svg", "--language", "zh")
    assert outcome.code == 0 and "warning[S0623]" in outcome.err and "清晰程度" in texts_of(Path("a.svg").read_text())
    assert "S0623" not in tripos("plot", "heatmap", "--out", "b.svg", "--language", "en").err


def test_two_characters_that_no_font_has_are_no_font(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chart, "SPECIMENS", ("\U0010fffd", "\U0010fffc"))
    assert not chart.draws_chinese()


def test_pictures_without_their_libraries_name_the_extra(
    lessons: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawings, "LIBRARIES", ("altair_that_is_not_there",))
    outcome = tripos("plot", "heatmap", "--out", "a.svg")
    assert outcome.code != 0 and "S0622" in outcome.err and "tripos[plot]" in outcome.err


def test_nothing_else_imports_the_libraries() -> None:
    code = (
        "import sys, tripos, tripos.api.run, tripos.api.results, tripos.plots.picture, tripos.plots.plot, tripos.cli.main as m\n"
        "m.build_parser(); assert not {'altair', 'vl_convert', 'pandas', 'polars'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
