"""Tables that a benchmark declares on the page: they say what `tripos report --table` prints, and copy as it writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestServer

from tests.conftest import Command
from tests.view.chromium import PROGRAM, Page, shown
from tests.view.test_view_page import TOKEN, check_rules, run_of
from tripos.view.export import HIDDEN_REASON, write_board, write_report
from tripos.view.files import ViewFiles
from tripos.view.server import make_app
from tripos_warehouse.store.store import Store

SPEC = """\
benchmark sums "1.0.0" { languages en }
role candidate compared
arm hint { none, some }
dataset item from "items.jsonl" { question text, answer integer secret }
scenario solve {
  arms hint
  over item
  ask reply by candidate {
    system "Think." when hint == some
    prompt "{{ item.question }}"
    returns { answer 0..9 }
  }
  score right = abs(reply.answer - item.answer) < 4
  score never = reply.answer == item.answer when hint == some
}
measure accuracy = mean(right) by hint
measure never    = mean(never) by hint

table main "Table 1: answers" {
  rows   model
  column accuracy under "Accuracy"
  column never[hint: none] "never"
  points
  mark   2 best
  mark   significant at 0.9
  differences from "mock/careless" beside values
  note   "Twenty sums."
  published "As printed" {
    | model     | Accuracy: none |
    | lab/large | 71.5           |
  }
}
table gains { rows model, hint, column accuracy, differences from none }
"""


@pytest.fixture
def sums(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command) -> ViewFiles:
    """The view of a run of two models whose benchmark declares two tables."""
    monkeypatch.chdir(tmp_path)
    Path("sums.tripos").write_text(SPEC, "utf-8")
    rows = [{"question": f"{n} plus {n}?", "answer": n % 10} for n in range(20)]
    Path("items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    ran = tripos("run", "sums.tripos", "--model", "mock/careful,mock/careless")
    assert ran.code in (0, 1), ran.err
    return ViewFiles(lambda: Store.open(tmp_path / "results", create=False), tmp_path / "made")


def tables_of(view: ViewFiles) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(view.json(f"runs/{run_of(view)}/result_tables.json") or b"")["tables"]
    return found


def test_the_page_has_the_tables_of_the_report(sums: ViewFiles, tripos: Command) -> None:
    tables = tables_of(sums)
    printed = tripos("report", "--tables", "--format", "json").data["tables"]
    assert [table["name"] for table in tables] == ["sums-main", "sums-gains"]
    for table, other in zip(tables, printed, strict=True):
        keys = [column["key"] for column in other["columns"]]
        assert [column["heading"] for column in table["columns"]] == [each["heading"] for each in other["columns"]]
        assert [column["group"] for column in table["columns"]] == [each.get("group") for each in other["columns"]]
        for cells, row in zip(table["rows"], other["rows"], strict=True):
            for key, cell in zip(keys, cells, strict=True):
                if isinstance(row[key], dict):
                    value = row[key]["value"]
                    assert (cell["shown"] == "—") == (value is None)
                    assert value is None or float(cell["shown"]) == pytest.approx(value, abs=0.06)
                    assert cell.get("reason") == (row[key]["reason"] if value is None else None)
        for column, each in zip(range(len(keys)), other["columns"], strict=True):
            ranks = {
                str(row): cells[column]["rank"] for row, cells in enumerate(table["rows"]) if "rank" in cells[column]
            }
            assert ranks == each.get("emphasis", {})
            daggers = [str(row) for row, cells in enumerate(table["rows"]) if "differs" in cells[column]]
            assert daggers == [row for row, p in each.get("p", {}).items() if p < each["level"]]
        assert set(other["notes"]) <= {note.removesuffix(".") + end for note in table["notes"] for end in ("", ".")}
    assert tables[0]["separators"] == [[2, ["As printed:"]]]
    for form in ("latex", "csv", "md"):
        assert tables[0]["copies"][form] == tripos("report", "--table", "main", "--format", form).out
    about = json.loads(sums.json(f"runs/{run_of(sums)}/about.json") or b"")
    assert about["about"]["tables"] == ["main", "gains"]


def test_pages_of_one_file_have_the_tables_and_a_board_hides_reasons(sums: ViewFiles) -> None:
    run = run_of(sums)
    tables = tables_of(sums)
    assert any("reason" in cell for row in tables[0]["rows"] for cell in row)
    assert f"runs/{run}/result_tables.json" in write_report(sums, run)
    page = write_board(sums, run)
    data = json.loads(page.split('id="tripos-data">')[1].split("</script>")[0])
    table = data[f"runs/{run}/result_tables.json"]["tables"][0]
    assert [cell["shown"] for cell in table["rows"][0]] == [cell["shown"] for cell in tables[0]["rows"][0]]
    assert {cell["reason"] for row in table["rows"] for cell in row if "reason" in cell} == {HIDDEN_REASON}
    assert "csv" not in table["copies"] and "latex" in table["copies"]


CELLS = """[...document.querySelectorAll('table.declared')].map(table =>
  [...table.querySelectorAll('tbody tr')].map(row => [...row.children].map(each => each.innerText.split(' ')[0])))"""


@pytest.mark.skipif(PROGRAM is None, reason="no Chromium on this machine")
def test_the_page_shows_them_wide_and_narrow_in_both_languages(sums: ViewFiles) -> None:
    run, tables = run_of(sums), tables_of(sums)

    async def go(page: Page) -> None:
        async with TestServer(make_app(sums, TOKEN)) as server:
            for width, language in ((1200, "en"), (390, "zh")):
                address = f"{server.make_url(f'/{TOKEN}/')}?lang={language}#/run/{run}/tables"
                await page.open(address, width=width)
                await page.until("document.querySelectorAll('table.declared').length === 2")
                cells = await page.evaluate(CELLS)
                assert len(cells[0]) == len(tables[0]["rows"]) + len(tables[0]["separators"])
                assert cells[1][0][-1] == tables[1]["rows"][0][-1]["shown"]
                said = await page.evaluate("document.querySelector('#content').innerText")
                assert "undefined" not in said and "Twenty sums." in said and "LaTeX" in said
                assert await page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
                await check_rules(page, f"result tables {width} {language}")
        assert page.problems == []

    shown(go)
