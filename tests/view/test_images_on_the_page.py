"""Images that models were shown, on the page in Chromium: served, and in a folder that is opened from disk."""

from __future__ import annotations

import asyncio
import os
import shutil
from contextlib import closing
from pathlib import Path

import pytest
from aiohttp.test_utils import TestClient, TestServer

from tests.conftest import Command
from tests.view.chromium import PROGRAM, Page, shown
from tripos.view.files import ViewFiles
from tripos.view.server import make_app
from tripos_warehouse.store.store import Store

CASE = Path(__file__).parents[1] / "cases/media/valid"
PICTURES = os.environ.get("TRIPOS_PICTURES")
TOKEN = "t" * 32
WIDTHS = "[...document.querySelectorAll('.message img.medium')].map((each) => each.naturalWidth)"


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command) -> str:
    """A run over items with two images each for the model, and two for the judge; its identifier."""
    monkeypatch.chdir(tmp_path)
    for name in ("images.tripos", "items.jsonl"):
        shutil.copy(CASE / name, name)
    assert tripos("run", "images.tripos", "--model", "mock/careful", "--role", "judge=mock/fair").code == 0
    return str(tripos("report", "--json").data["run"]["run_id"])


def test_only_what_the_store_has_is_served_with_its_type(ran: str, tmp_path: Path) -> None:
    known = sorted(path.name for path in Path("results/media").iterdir())
    assert len(known) == 8  # three images in each of three rows, one of them twice

    async def go(view: ViewFiles) -> None:
        async with TestClient(TestServer(make_app(view, TOKEN))) as client:
            answer = await client.get(f"/{TOKEN}/media/{known[0]}")
            assert (answer.status, answer.content_type) == (200, "image/png")
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            for path in ("media/" + "0" * 64, "media/../tripos-store.json", "media/x", f"media/{known[0]}/x"):
                assert (await client.get(f"/{TOKEN}/{path}")).status == 404
            assert (await client.get(f"/x/media/{known[0]}")).status == 404

    with closing(ViewFiles(lambda: Store.open(Path("results"), create=False), tmp_path / "kept")) as view:
        assert view.shown(ran) == set(known)
        asyncio.run(go(view))


@pytest.mark.skipif(PROGRAM is None, reason="no Chromium on this machine")
def test_a_prompt_shows_its_images_where_they_stand(ran: str, tripos: Command, tmp_path: Path) -> None:
    assert tripos("view", "--to", "site").code == 0
    assert len(list(Path("site/media").iterdir())) == 8

    async def look(page: Page, address: str) -> None:
        await page.open(f"{address}#/run/{ran}/sample/1")
        await page.until(f"{WIDTHS}.filter((each) => each >= 8).length >= 2")
        assert page.problems == []
        if PICTURES:
            await page.picture(Path(PICTURES, "image.png"))

    async def go(page: Page) -> None:
        await look(page, (tmp_path / "site/index.html").as_uri())
        with closing(ViewFiles(lambda: Store.open(Path("results"), create=False), tmp_path / "kept")) as view:
            async with TestServer(make_app(view, TOKEN), host="127.0.0.1") as server:
                await look(page, str(server.make_url(f"/{TOKEN}/")))

    shown(go)
