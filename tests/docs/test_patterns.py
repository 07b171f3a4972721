"""The pictures of the patterns: every spec of docs/how-to/patterns.md runs, and Chromium shows the page that a picture names.

`TRIPOS_UPDATE_PICTURES=1` writes the pictures of docs/images.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.docs.test_docs import DOCS, blocks, commands_of
from tests.each import each
from tests.view.chromium import PROGRAM, Page, shown

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no Chromium on this machine")
UPDATE = bool(os.environ.get("TRIPOS_UPDATE_PICTURES"))
PAGE = "how-to/patterns.md"
PICTURE = re.compile(r"^<!-- picture: (?P<page>\S+) -->\n\n!\[[^\]]+\]\((?P<path>\S+)\)$", re.MULTILINE)
PUBLISHED = (
    "run specs/edubench/shipped.tripos --limit 4 --model mock/careful,mock/careless --role judge=mock/fair,mock/severe"
)
WIDTH, HEIGHT = 1200, 1000


def pictures() -> dict[str, str]:
    """Return the page of the view that each picture shows, by the path of the picture."""
    return {match["path"]: match["page"] for match in PICTURE.finditer((DOCS / PAGE).read_text("utf-8"))}


@each("path", pictures)
def test_a_pattern_has_the_page_of_its_picture(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    folder = tmp_path / Path(path).stem
    folder.mkdir()
    monkeypatch.chdir(folder)
    section = (DOCS / PAGE).read_text("utf-8").partition(f"({path})")[0].rpartition("\n## ")[2]
    for block in blocks(PAGE):
        if block.text not in section:
            continue
        if block.file is not None:
            (folder / block.file).write_text(block.text, "utf-8")
        for _, command, _ in commands_of(block) if block.language == "console" else ():
            done = tripos(*shlex.split(command)[1:])
            assert done.code == 0, done
    show(tripos, pictures()[path], (DOCS / PAGE).parent / path)


def test_the_report_of_a_published_benchmark_draws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    done = tripos(*PUBLISHED.split())
    assert done.code == 0, done
    show(tripos, "report", DOCS / "images/view-report.png")


def show(tripos: Command, page: str, picture: Path) -> None:
    """Assert that a page of the run in this folder has content and no problem; take its picture where that is asked."""
    assert tripos("view", "--to", "site").code == 0
    site = Path("site").absolute()
    [run] = [path.name for path in (site / "runs").iterdir()]

    async def go(drawn: Page) -> None:
        await drawn.open(f"{(site / 'index.html').as_uri()}?lang=en#/run/{run}/{page}", width=WIDTH)
        assert len(await drawn.evaluate("document.querySelector('#content').innerText")) > 300
        assert drawn.problems == []
        assert all(address.startswith(("file:", "about:", "data:", "blob:")) for address in drawn.requests)
        if UPDATE:
            await drawn.resize(WIDTH, HEIGHT)
            await drawn.evaluate("document.documentElement.style.scrollbarWidth = 'none'")
            picture.parent.mkdir(exist_ok=True)
            await drawn.picture(picture)

    shown(go)
    assert picture.is_file(), "TRIPOS_UPDATE_PICTURES=1 takes it"
