"""The page in Chromium: every page draws, breaks no rule of accessibility, and runs nothing that data hold.

Without Chromium these tests are left out; without the packages of `tripos/view/site`, the rules of accessibility.
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import os
import random
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from aiohttp.test_utils import TestServer

from tests.conftest import Command
from tests.view.chromium import PROGRAM, Page, shown
from tripos.view.export import write_board, write_report
from tripos.view.files import ViewFiles
from tripos.view.server import make_app, page_part

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no Chromium on this machine")
AXE = Path(__file__).parents[2] / "tripos/view/site/node_modules/axe-core/axe.min.js"
PICTURES = os.environ.get("TRIPOS_PICTURES")
"""A folder for pictures of every page, to look at."""
TOKEN = "t" * 32
ENGLISH = re.compile(r"\b(finished|compared|panel|scored|ask|grade|difference|ruled out|each metric|is missing)\b")
"""Words of statuses, kinds and sentences, which a page in Chinese has in Chinese."""
HOSTILE = [
    template.format(each)
    for each in ("window.__ran=1", "alert(1)", "document.title='x'", "fetch('/x')", "eval('1')")
    for template in (
        *(
            "<script>{}</script>",
            "<img src=x onerror={}>",
            '"><svg onload={}>',
            "javascript:{}",
            "<iframe srcdoc='<script>{}</script>'>",
        ),
        *(
            "'-{}-'",
            "${{{}}}",
            "{{{{{}}}}}",
            "</title><script>{}</script>",
            "]]><script>{}</script>",
            "<a href=javascript:{}>a</a>",
        ),
        *(
            "<style>@import 'x'</style>{}",
            "\x1b[31m{}\x1b[0m",
            "\u202e{}",
            "=cmd|'{}'!A1",
            "<math><mi xlink:href=javascript:{}>",
        ),
        *(
            "<details open ontoggle={}>",
            "<body onload={}>",
            "\x00<script>{}</script>",
            "&lt;script&gt;{}",
            "\u2028{}\u2029",
            "[x](javascript:{})",
        ),
        *(
            "<object data=javascript:{}>",
            "<embed src=javascript:{}>",
            "<form action=javascript:{}><button>",
            "<base href=//x/>{}",
        ),
        *(
            "<link rel=stylesheet href=//x/{}>",
            "<meta http-equiv=refresh content='0;javascript:{}'>",
            "{}\ud83d\ude00" + "e\u0301" * 40,
        ),
        *(
            "<template><script>{}</script></template>",
            "<noscript><p title='</noscript><img src=x onerror={}>'>",
            "<x onclick={}>",
        ),
        *(
            "<input autofocus onfocus={}>",
            "<video><source onerror={}>",
            "<marquee onstart={}>",
            "<svg><animate onbegin={} attributeName=x>",
        ),
        *(
            "`{}`",
            "\\u003cscript\\u003e{}",
            "<!--<script>{}</script>-->",
            "%3Cscript%3E{}%3C/script%3E",
            "<textarea></textarea><script>{}</script>",
        ),
        *(
            "<select><option><script>{}</script>",
            "<plaintext>{}",
            "<xmp><script>{}</script></xmp>",
            "{}" + "A" * 2_000,
            "+ADw-script+AD4-{}",
        ),
        *(
            "<a href='data:text/html,<script>{}</script>'>",
            "<p style='background:url(javascript:{})'>",
            "constructor.constructor('{}')()",
        ),
    )
]


def paths_of(run: str) -> dict[str, str]:
    return {
        "runs": "",
        "report": f"run/{run}",
        "grid": f"run/{run}/grid?sort=apart&row=1",
        "samples": f"run/{run}/samples?sort=apart",
        "sample": f"run/{run}/sample/1",
        "judges": f"run/{run}/judges",
        "items": f"run/{run}/items",
        "spec": f"run/{run}/spec",
        "boards": "boards",
        "compare": f"compare?a={run}.0&b={run}.1",
        "history": "history",
    }


def run_of(view: ViewFiles) -> str:
    found: str = json.loads(view.json("index.json") or b"")["runs"][0]["run_id"]
    return found


async def check_rules(page: Page, name: str) -> None:
    """Fail where the page breaks a rule of axe."""
    if not AXE.is_file():
        return
    await page.evaluate(AXE.read_text("utf-8") + ";0")
    # Nothing but the rules for a page as a whole, and those of WCAG 2 A and AA.
    broken = await page.evaluate(
        "axe.run(document).then(found => found.violations.map(each => each.id + ': ' +"
        " each.nodes.slice(0, 3).map(node => node.html.slice(0, 200)).join(' | ')))"
    )
    assert not broken, f"{name}: {broken}"


OVERFULL = """[...document.querySelectorAll('.list td, .filters label')]
  .filter(each => each.scrollWidth > each.clientWidth + 1).map(each => each.dataset.label ?? each.innerText)"""
"""The cells of tables, with their labels on a phone, and the filters whose text runs over their edge."""


def test_every_page_draws_and_breaks_no_rule(view: ViewFiles) -> None:
    run = run_of(view)

    async def go(page: Page) -> None:
        async with TestServer(make_app(view, TOKEN)) as server:
            for name, path in paths_of(run).items():
                for width, dark, language in ((1200, False, "en"), (390, True, "zh"), (390, False, "en")):
                    await page.open(f"{server.make_url(f'/{TOKEN}/')}?lang={language}#/{path}", width=width, dark=dark)
                    said = await page.evaluate("document.querySelector('#content').innerText")
                    assert "undefined" not in said and "NaN" not in said and "[object" not in said, (name, said)
                    sideways = await page.evaluate("document.documentElement.scrollWidth - innerWidth")
                    assert sideways <= 0, (name, width, sideways)
                    assert await page.evaluate(OVERFULL) == [], (name, width, language)
                    assert language == "en" or not ENGLISH.search(said), (name, ENGLISH.search(said))
                    await check_rules(page, f"{name} {width}")
                    if PICTURES:
                        await page.picture(Path(PICTURES) / f"{name}-{width}-{language}.png")
        assert page.problems == []

    shown(go)


POINTS = """[...document.querySelectorAll('.panel')].map(card => [...card.querySelectorAll('.interval svg')].map(each =>
  [each.getAttribute('aria-label'), each.querySelector('.dot').getBoundingClientRect().x])).filter(each => each.length)"""


def test_within_a_card_position_rises_with_the_value(view: ViewFiles, tmp_path: Path) -> None:
    run = run_of(view)
    page_text = write_report(view, run)
    found = re.search(r'id="tripos-data">(.*?)</script>', page_text, re.DOTALL)
    assert found is not None
    dice = random.Random(3)

    def drawn(value: Any, size: float, shift: float) -> Any:
        """Give each row of a measure another value and interval, and each measure rows of its judge and of people."""
        if isinstance(value, list):
            return [drawn(each, size, shift) for each in value]
        if not isinstance(value, dict):
            return value
        if {"value", "low", "high"} <= value.keys():
            middle = shift + size * dice.uniform(-1, 1)
            low, high = middle - size * dice.random(), middle + size * dice.random()
            return value | {"value": middle, "low": low, "high": high}
        made = {name: drawn(each, size, shift) for name, each in value.items()}
        if isinstance(rows := value.get("rows"), list) and "sql" in value:
            made |= {"judge": drawn(rows, size, shift + size), "people": drawn(rows, size, shift - size)}
        return made

    async def go(page: Page) -> None:
        for size, shift in ((0.2, 0.5), (2, 3.5), (30, 60), (5, 0), (0.01, 4)):
            data = {path: drawn(each, size, shift) for path, each in json.loads(found[1]).items()}
            path = tmp_path / f"{size}.html"
            path.write_text(page_text.replace(found[1], json.dumps(data).replace("<", "\\u003c")), "utf-8")
            await page.open(f"{path.as_uri()}#/run/{run}")
            cards = await page.evaluate(POINTS)
            assert max(map(len, cards)) >= 6
            for card in cards:
                placed = sorted((float(text.split()[0].replace("−", "-")), x) for text, x in card)
                assert all(after[1] - before[1] >= -0.5 for before, after in itertools.pairwise(placed)), card
                if size > 0.1 and placed[-1][0] - placed[0][0] > size:
                    assert placed[-1][1] - placed[0][1] > 20, card
        assert page.problems == []

    shown(go)


def test_a_report_from_disk_filters_and_steps_by_key(view: ViewFiles, tmp_path: Path) -> None:
    run = run_of(view)
    path = tmp_path / "report.html"
    path.write_text(write_report(view, run), "utf-8")
    texts = "[...document.querySelectorAll('.line .model')].map(each => each.innerText)"

    async def go(page: Page) -> None:
        await page.open(f"{path.as_uri()}#/run/{run}/samples?sort=lowest")
        await page.until("document.querySelectorAll('.line').length === 10")
        scores = await page.evaluate(
            "[...document.querySelectorAll('.line .score')].map(each => Number(each.innerText))"
        )
        assert scores == sorted(scores)
        await page.evaluate(
            "[...document.querySelectorAll('.filters label')].find(each => each.innerText.includes('careless')).click()"
        )
        await page.until("document.querySelectorAll('.line').length === 5")
        assert set(await page.evaluate(texts)) == {"mock/careless"}
        await page.evaluate("document.querySelector('.line').click()")
        await page.until("document.querySelector('.steps')?.innerText.includes('1 of 5')")
        await page.evaluate("window.dispatchEvent(new KeyboardEvent('keydown', {key: 'j'}))")
        await page.until("document.querySelector('.steps')?.innerText.includes('2 of 5')")
        assert page.problems == []

    shown(go)


GRID = """[...document.querySelectorAll('.grid-body > [role=row]')].map(row => [
  row.querySelector('.apart')?.innerText.match(/[\\d.]+/)?.[0] ?? '-1', row.querySelector('.grid-item .excerpt, .message')?.innerText,
  [...row.querySelectorAll('.grid-cell')].map(cell => cell.querySelector('.score').innerText)])"""
FOCUSED = "Number(document.querySelector('.focused .score')?.hash.match(/sample\\/(\\d+)/)[1])"


def test_a_filter_of_a_long_name_stays_in_its_box(view: ViewFiles, tmp_path: Path) -> None:
    run = run_of(view)
    path = tmp_path / "report.html"
    path.write_text(write_report(view, run), "utf-8")

    async def go(page: Page) -> None:
        for width in (1200, 390):
            await page.open(f"{path.as_uri()}#/run/{run}/samples", width=width)
            await page.evaluate(
                "document.querySelector('.filters .check span').textContent = 'mock/replies:' + 'a'.repeat(70)"
            )
            await page.evaluate("document.querySelectorAll('.filters details').forEach(each => each.open = true)")
            assert await page.evaluate(OVERFULL) == [], width

    shown(go)


def test_the_grid_has_each_item_with_the_replies_of_all_models(view: ViewFiles, tmp_path: Path) -> None:
    run = run_of(view)
    table = view.table(view.tables(run)["tables"]["samples"]["path"])
    assert table is not None
    rows = pq.read_table(table).to_pylist()
    path = tmp_path / "report.html"
    path.write_text(write_report(view, run), "utf-8")

    async def press(page: Page, key: str) -> None:
        await page.evaluate(f"window.dispatchEvent(new KeyboardEvent('keydown', {{key: '{key}'}}))")
        await asyncio.sleep(0.1)

    async def go(page: Page) -> None:
        await page.open(f"{path.as_uri()}#/run/{run}/grid?sort=apart")
        texts = "[...document.querySelectorAll('.grid-item .excerpt')]"
        await page.until(f"{texts}.length === 5 && {texts}.every(each => each.innerText)")
        lines = await page.evaluate(GRID)
        heads = await page.evaluate("[...document.querySelectorAll('.grid-head .model')].map(each => each.innerText)")
        assert heads == ["mock/careful", "mock/careless"]
        spreads = [float(spread) for spread, *_ in lines]
        assert spreads == sorted(spreads, reverse=True) and spreads[0] > 0
        by_item: dict[tuple[str, ...], dict[str, float]] = {}
        for row in rows:
            by_item.setdefault((row["scenario"], row["language"], row["item_id"]), {})[row["model"]] = row["score"]
        wanted = sorted([f"{each[model]:.3f}" for model in heads] for each in by_item.values())
        assert sorted(scores for *_, scores in lines) == wanted
        for (_, text, scores), spread in zip(lines, spreads, strict=True):
            assert text
            assert spread == pytest.approx(max(map(float, scores)) - min(map(float, scores)), abs=0.002) or spread == -1
        # By key: the first row opens, then the next, then the other model, whose cell the address names.
        for key in ("j", "j", "l"):
            await press(page, key)
        await page.until("document.querySelector('.open .message')")
        focused = await page.evaluate(FOCUSED)
        assert f"row={focused}" in await page.evaluate("location.hash")
        assert rows[focused]["model"] == "mock/careless"
        await page.open(f"{path.as_uri()}#/run/{run}/grid?row={focused}")
        await page.until("document.querySelector('.open .message')")
        assert await page.evaluate(FOCUSED) == focused
        await press(page, "Enter")
        await page.until(f"location.hash.includes('sample/{focused}')")
        await page.open(f"{path.as_uri()}#/run/{run}/grid?model=mock%2Fcareful")
        await page.until("document.querySelectorAll('.grid-head .model').length === 1")
        assert page.problems == []

    shown(go)


def test_the_score_of_a_metric_and_the_text_of_replies_are_filters(view: ViewFiles) -> None:
    run = run_of(view)

    async def go(page: Page) -> None:
        async with TestServer(make_app(view, TOKEN)) as server:
            where = server.make_url(f"/{TOKEN}/")
            await page.open(f"{where}#/run/{run}/samples?metric=RIGHT")
            await page.until("document.querySelector('.bar')?.innerText.startsWith('6 of 10')")
            await page.open(f"{where}#/run/{run}/samples?evaluator=mock%2Ffair&metric=CLEAR&model=mock%2Fcareful")
            await page.until("document.querySelector('.bar')?.innerText.startsWith('5 of 10')")
        assert page.problems == []

    shown(go)


def test_a_report_prints_on_two_pages_without_controls(view: ViewFiles, tmp_path: Path) -> None:
    run = run_of(view)
    path = tmp_path / "report.html"
    path.write_text(write_report(view, run), "utf-8")
    seen = "[...document.querySelectorAll('select, button, details, .tabs, .top')].filter(each => each.checkVisibility()).length"

    async def go(page: Page) -> None:
        await page.open(f"{path.as_uri()}#/run/{run}", dark=True)
        await page.until("document.querySelectorAll('.interval').length > 3")
        printed = await page.call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69, preferCSSPageSize=True)
        assert len(re.findall(rb"/Type\s*/Page\b", base64.b64decode(printed["data"]))) <= 2
        assert await page.evaluate(seen) > 0
        await page.call("Emulation.setEmulatedMedia", media="print")
        assert await page.evaluate(seen) == 0
        assert await page.evaluate("getComputedStyle(document.body).color") == "rgb(26, 31, 43)"
        await page.call("Emulation.setEmulatedMedia", media="")
        assert page.problems == []

    shown(go)


def test_a_folder_opens_from_disk(ran: Path, tripos: Command, view: ViewFiles) -> None:
    assert tripos("view", "--to", "site").code == 0
    run = run_of(view)

    async def go(page: Page) -> None:
        for path in paths_of(run).values():
            await page.open(f"{(ran / 'site/index.html').as_uri()}#/{path}")
            assert await page.evaluate("document.querySelector('.problem') === null"), path
        assert page.problems == []

    shown(go)


def test_a_board_of_figures_opens_every_page_that_it_has(view: ViewFiles, tmp_path: Path) -> None:
    run = run_of(view)
    path = tmp_path / "board.html"
    path.write_text(write_board(view, run), "utf-8")

    async def go(page: Page) -> None:
        for place in (
            "",
            f"run/{run}",
            *(each for name, each in paths_of(run).items() if name not in ("compare", "sample")),
        ):
            await page.open(f"{path.as_uri()}#/{place}")
            assert await page.evaluate("document.querySelector('.problem') === null"), place
        await page.open(f"{path.as_uri()}#/run/{run}")
        await page.until("document.body.innerText.includes('mock/careless')")
        assert page.problems == []

    shown(go)


def test_texts_of_data_run_nothing(view: ViewFiles, tmp_path: Path) -> None:
    assert len(HOSTILE) >= 200
    run = run_of(view)
    page_text = write_report(view, run)
    found = re.search(r'id="tripos-data">(.*?)</script>', page_text, re.DOTALL)
    assert found is not None
    hostile = itertools.cycle(HOSTILE)
    used: set[str] = set()

    def spoil(value: Any, key: str = "") -> Any:
        """Put a hostile text behind every text that a benchmark, a model or a person wrote."""
        fixed = ("run_id", "item_id", "sample_id", "path", "status", "model", "models", "metric", "scenario", "format")
        if isinstance(value, dict):
            return {name: spoil(each, name) for name, each in value.items()}
        if isinstance(value, list):
            return [spoil(each, key) for each in value]
        if not isinstance(value, str) or key in fixed or key.endswith("_at"):
            return value
        text = next(hostile)
        used.add(text)
        return value + text

    data = {path: spoil(value) for path, value in json.loads(found[1]).items()}
    assert len(used) == len(set(HOSTILE))
    text = json.dumps(data).replace("<", "\\u003c")
    path = tmp_path / "hostile.html"
    path.write_text(page_text.replace(found[1], text), "utf-8")

    async def go(page: Page) -> None:
        for where in paths_of(run).values():
            if where.startswith("compare"):
                continue
            await page.open(f"{path.as_uri()}#/{where}")
            await page.evaluate("[...document.querySelectorAll('details')].forEach(each => each.open = true)")
            await page.evaluate("[...document.querySelectorAll('.more')].forEach(each => each.click())")
            await asyncio.sleep(0.1)
            assert await page.evaluate("window.__ran === undefined && document.title.endsWith('Tripos')"), where
            assert await page.evaluate("document.querySelectorAll('#app script, #app img, #app iframe').length") == 0
        refused = [each for each in page.problems if "date" not in each.lower()]
        assert refused == []

    shown(go)


def test_the_page_that_ships_asks_for_nothing_from_elsewhere() -> None:
    for name in ("index.html", "view.js", "view.css"):
        text = page_part(name).decode()
        hosts = set(re.findall(r"(?:https?:)?//([\w.-]+\.\w+)", text)) - {"www.w3.org"}
        assert not hosts, hosts
