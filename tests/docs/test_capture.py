"""The capture of three errors in docs/how-to/check-and-format.md, as text and as a picture, is what `tripos check` prints.

`TRIPOS_UPDATE_GOLDEN=1` rewrites both.
"""

from __future__ import annotations

import io
import os
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from tests.conftest import Command

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "how-to/check-and-format.md"
PICTURE = DOCS / "images" / "three-errors.svg"
NAME = "three-errors"
WIDTH = 80
BLOCK = re.compile(r"(?<=^\$ tripos check three-errors\.tripos\n)error.*?(?=^```$)", re.DOTALL | re.MULTILINE)
THEME = TerminalTheme(
    (253, 253, 253),
    (36, 41, 46),
    [
        (36, 41, 46),
        (203, 36, 49),
        (34, 134, 58),
        (176, 136, 0),
        (3, 102, 214),
        (111, 66, 193),
        (5, 122, 133),
        (88, 96, 105),
    ],
)
# Fonts of the reader's machine, where the template of rich fetches one from the network.
TEMPLATE = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{
  font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px;
  line-height: {line_height}px;
}}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


@pytest.fixture
def coloured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command) -> str:
    """Return what the command prints in colour, in a folder with the files of the page, with their mistakes."""
    page = PAGE.read_text("utf-8")
    for name in (f"{NAME}.tripos", "items.jsonl"):
        found = re.search(rf"^```\w+ {re.escape(name)}\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
        assert found is not None
        (tmp_path / name).write_text(found[1], "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    done = tripos("check", f"{NAME}.tripos")
    assert done.code == 2
    return done.err


def test_the_page_shows_the_three_errors_word_for_word(coloured: str) -> None:
    page = PAGE.read_text("utf-8")
    plain = Text.from_ansi(coloured).plain.rstrip() + "\n"
    if os.environ.get("TRIPOS_UPDATE_GOLDEN"):
        page = BLOCK.sub(lambda _: plain, page)
        PAGE.write_text(page, "utf-8")
    found = BLOCK.search(page)
    assert found is not None
    assert found[0] == plain
    assert plain.count("error[") == 3


def test_the_picture_is_the_coloured_output(coloured: str) -> None:
    console = Console(record=True, width=WIDTH, force_terminal=True, color_system="standard", file=io.StringIO())
    console.print(Text.from_ansi(f"\x1b[1m$ tripos check {NAME}.tripos\x1b[0m\n{coloured.rstrip()}"))
    picture = console.export_svg(title="tripos check", theme=THEME, code_format=TEMPLATE, unique_id=NAME)
    if os.environ.get("TRIPOS_UPDATE_GOLDEN"):
        PICTURE.parent.mkdir(exist_ok=True)
        PICTURE.write_text(picture, "utf-8")
    assert picture == PICTURE.read_text("utf-8"), "run this test with TRIPOS_UPDATE_GOLDEN=1"


def test_the_picture_fetches_nothing_and_is_linked_from_the_page() -> None:
    picture = PICTURE.read_text("utf-8")
    ElementTree.fromstring(picture)
    assert re.findall(r"https?://\S+", picture) == ['http://www.w3.org/2000/svg">']
    assert f"](../images/{NAME}.svg)" in PAGE.read_text("utf-8")
