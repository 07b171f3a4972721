"""Tables of classes and diagrams of probabilities on the page: what they say is what the report's tables say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from aiohttp.test_utils import TestServer

from tests.conftest import Command
from tests.view.chromium import PROGRAM, Page, shown
from tests.view.test_view_page import PICTURES, TOKEN, check_rules, run_of
from tripos.view.export import write_report
from tripos.view.files import ViewFiles
from tripos.view.server import make_app
from tripos_warehouse.store.store import Store

SPEC = """\
benchmark quiz "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { question text, key choice(A, B, C, D) secret, kind choice(yes, no) secret }
scenario sums {
  over item
  ask reply by candidate {
    prompt  "{{ item.question }}"
    returns { letter choice(A, B, C, D), sure 0..100, kind choice(yes, no) }
  }
  measure right = accuracy(reply.letter, item.key)
  measure kinds = f1(reply.kind, item.kind)
  measure brier = brier(reply.sure / 100, reply.letter == item.key)
}
"""


@pytest.fixture
def classes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command) -> ViewFiles:
    """The view of a run of two models, one of whose replies cannot be read now and then."""
    monkeypatch.chdir(tmp_path)
    Path("quiz.tripos").write_text(SPEC, "utf-8")
    rows = [{"question": f"Which one is number {at}?", "key": "ABCD"[at % 4 if at % 3 else 0], "kind": "yes" if at % 3 else "no"}
            for at in range(60)]  # fmt: skip
    Path("items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    ran = tripos("run", "quiz.tripos", "--model", "mock/careful,mock/careless")
    assert ran.code in (0, 1), ran.err
    return ViewFiles(lambda: Store.open(tmp_path / "results", create=False), tmp_path / "made")


def test_the_file_of_the_page_has_the_tables_of_the_report(classes: ViewFiles, tripos: Command) -> None:
    found = json.loads(classes.json(f"runs/{run_of(classes)}/confusion.json") or b"")
    told = tripos("report", "--json", "--confusion").data
    assert {name: found[name] for name in ("confusion", "reliability")} == {
        name: told[name] for name in ("confusion", "reliability")
    }
    assert {(each["measure"], each["model"]) for each in found["confusion"]} == {
        (measure, model) for measure in ("sums.right", "sums.kinds") for model in ("mock/careful", "mock/careless")
    }
    assert any(each["remark"] for each in found["confusion"])
    assert found["said"]["zh"], "the remark is in Chinese too"


CELLS = """[...document.querySelectorAll('table.confusion')].map(table => [...table.querySelectorAll('tbody tr')]
  .map(row => [...row.querySelectorAll('td')].map(each => Number(each.innerText))))"""
DOTS = "[...document.querySelectorAll('svg.reliability')].map(each => each.querySelectorAll('circle').length)"


@pytest.mark.skipif(PROGRAM is None, reason="no Chromium on this machine")
def test_the_page_shows_them_wide_and_narrow_in_both_languages(classes: ViewFiles, tmp_path: Path) -> None:
    run = run_of(classes)
    behind = json.loads(classes.json(f"runs/{run}/confusion.json") or b"")
    path = tmp_path / "report.html"
    path.write_text(write_report(classes, run), "utf-8")

    async def go(page: Page) -> None:
        async with TestServer(make_app(classes, TOKEN)) as server:
            for width, dark, language in (
                (1200, False, "en"),
                (1200, True, "zh"),
                (390, False, "en"),
                (390, True, "zh"),
            ):
                await page.open(f"{server.make_url(f'/{TOKEN}/')}?lang={language}#/run/{run}", width=width, dark=dark)
                await page.until("document.querySelectorAll('svg.reliability').length === 2")
                wanted = [_cells(each) for each in behind["confusion"]]
                assert sorted(await page.evaluate(CELLS)) == sorted(wanted)
                assert await page.evaluate(DOTS) == [len(each["bins"]) for each in behind["reliability"]]
                said = await page.evaluate("document.querySelector('#content').innerText")
                assert "undefined" not in said and "NaN" not in said
                assert ("the key is unbalanced" in said) == (language == "en")
                label = await page.evaluate("document.querySelector('svg.reliability').getAttribute('aria-label')")
                assert f"n = {behind['reliability'][0]['bins'][0]['n']}" in label
                assert await page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
                await check_rules(page, f"figure tables {width} {language}")
                if PICTURES:
                    await page.resize(width, 3000)
                    await page.picture(Path(PICTURES) / f"figure-tables-{width}-{language}-{dark}.png")
        await page.open(f"{path.as_uri()}#/run/{run}")
        await page.until("document.querySelectorAll('table.confusion').length === 4")
        assert page.problems == []

    shown(go)


def _cells(table: dict[str, list[list[int]]]) -> list[list[int]]:
    """Return the counts as the page has them: without a column of no value where there is none, with a sum at the end."""
    lacking = any(line[-1] for line in table["counts"])
    return [[*(line if lacking else line[:-1]), sum(line)] for line in table["counts"]]
