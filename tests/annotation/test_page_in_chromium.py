"""The page for grading in Chromium: by keyboard alone, on a phone, in Chinese, and with texts that try to run."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import json
import os
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from aiohttp.test_utils import TestServer

from tests.conftest import Command
from tests.view.chromium import PROGRAM, Page, shown
from tests.view.test_view_page import HOSTILE, check_rules
from tripos.annotation.assignment import Assignment, AssignmentDesk, AssignmentOptions
from tripos.annotation.page import GradingPage
from tripos.annotation.sheet import GradesFile, read_grades
from tripos.view.server import make_app
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect_run
from tripos_warehouse.views.runs import get_plan

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no Chromium on this machine")
AT = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)
TOKEN = "t" * 32
PATH = Path("anna.jsonl")
PICTURES = os.environ.get("TRIPOS_PICTURES")
SENT = "dispatchEvent(new Event('beforeunload', {cancelable: true}))"
"""True once everything is sent: until then the page asks before it is left, and nobody answers."""
STATE = "document.querySelector('[role=status]').innerText"
SPEC = """
benchmark clear "1.0.0" { languages en, zh }
role candidate compared
role judge panel
dimension quality en "Quality" zh "质量" {
  metric CLEAR en "Clarity" zh "清楚" {
    scale 1..5, asks en "Is it clear?" zh "清楚吗？"
    level 5..5 en "fully" zh "完全"
    level 1..4 en "not fully" zh "不完全"
  }
}
scorer rubric(reply: text) by judge {
  prompt en "{{ metrics }} {{ reply }}" zh "{{ metrics }} {{ reply }}"
  gives  allocated metrics
}
scorer safe(reply: text) by judge { prompt "Is it safe? {{ reply }}", gives bool }
scorer long(reply: text) by judge { prompt "How many words has it? {{ reply }}", gives integer }
allocate rubric {
  |        | CLEAR |
  | spoken |   x   |
}
scenario spoken en "Spoken" zh "口语" {
  context language
  ask reply by candidate { prompt en "Say hello." zh "打个招呼。" }
  score rubric(reply.text)
  score safe = safe(reply.text)
  score length = long(reply.text)
}
measure clarity = mean(rubric)
"""


@pytest.fixture
def assignment(quiz: Path, tripos: Command, once: Command) -> Assignment:
    """Six replies in two languages, with a metric, a yes or no, and a number without ends."""
    (quiz / "clear.tripos").write_text(SPEC, "utf-8")
    models = ("--model", "mock/careful,mock/careless", "--role", "judge=mock/careful:a")
    done = once("run", "clear.tripos", *models, "--json")
    assert done.code == 0, done.err
    store = Store.open("results", create=False)
    connection, run = connect_run(store)
    with connection:
        desk = AssignmentDesk(store, connection, get_plan(connection, run), run, "judge", "anna")
        return desk.assign(AssignmentOptions(), lambda: AT)


def graded(assignment: Assignment, go: Callable[[Page, str], Awaitable[None]], hear: bool = True) -> GradesFile:
    """Do something with the page for a batch; return the file that it wrote."""
    grades = GradesFile(PATH, assignment.batch, AT.isoformat())
    desk = GradingPage(assignment, grades, lambda: AT)

    async def served(page: Page) -> None:
        async with TestServer(make_app(desk, TOKEN, {"grade": desk.take})) as server:
            await go(page, str(server.make_url(f"/{TOKEN}/")))
        if hear:
            assert page.problems == []
            assert all(f"/{TOKEN}/" in each or each.startswith(("about:", "data:")) for each in page.requests)

    shown(served)
    grades.close()
    return grades


async def press(page: Page, key: str) -> None:
    """Press and release a key, as a keyboard does."""
    text = {"text": key} if len(key) == 1 else {}
    code = {"Escape": 27, "Backspace": 8, "Tab": 9}.get(key, ord(key[0].upper()))
    for kind in ("keyDown", "keyUp"):
        said = {"type": kind, "key": key, "windowsVirtualKeyCode": code, **(text if kind == "keyDown" else {})}
        await page.call("Input.dispatchKeyEvent", **said)


def test_everything_is_graded_by_keyboard_alone(assignment: Assignment) -> None:
    marks = sum(len(row.marks) for row in assignment.batch.rows)

    async def go(page: Page, where: str) -> None:
        await page.open(f"{where}?lang=en#/grade")
        for number, row in enumerate(assignment.batch.rows, 1):
            await page.until(f"document.querySelector('.standing').innerText.startsWith('{number} of')")
            for mark in row.marks:
                field = f"document.querySelector('fieldset[data-metric={json.dumps(mark.metric)}] input')"
                await page.evaluate(f"{field}.focus()")
                if mark.metric == "length":
                    for key in "12":
                        await press(page, key)
                    await press(page, "Escape")
                else:
                    await press(page, "1")
            if number == 1:
                await press(page, "r")
                for key in "why":
                    await press(page, key)
                await press(page, "Escape")
            await press(page, "n")
        await page.until(
            "document.querySelector('.standing progress').value === document.querySelector('progress').max"
        )
        await page.until(f"{STATE} === 'Saved'")
        assert "Ctrl-C" in await page.evaluate("document.querySelector('.steps').innerText")

    grades = graded(assignment, go)
    assert sum(map(len, grades.values.values())) == marks
    assert {value for values in grades.values.values() for value in values.values()} == {1.0, 12.0}
    assert grades.rationales == {assignment.batch.rows[0].row: "why"}


def test_a_second_click_or_backspace_takes_a_grade_away(assignment: Assignment) -> None:
    field = "document.querySelector('fieldset[data-metric=CLEAR]')"

    async def go(page: Page, where: str) -> None:
        await page.open(f"{where}#/grade")
        while not await page.evaluate(f"!!{field}"):
            await press(page, "n")
        await page.evaluate(f"{field}.querySelector('input[value=\"4\"]').click()")
        await page.until(f"{field}.classList.contains('given')")
        await page.evaluate(f"{field}.querySelector('input[value=\"4\"]').click()")
        await page.until(f"!{field}.classList.contains('given')")
        assert await page.evaluate(f"{field}.querySelector(':checked') === null")
        await page.evaluate(f"{field}.querySelector('input').focus()")
        await press(page, "3")
        await page.until(f"{field}.querySelector(':checked')?.value === '3'")
        await page.evaluate(f"{field}.querySelector('input').focus()")
        await press(page, "Backspace")
        await page.until(f"!{field}.classList.contains('given')")
        await page.until(f"{STATE} !== ''")

    graded(assignment, go)
    assert read_grades(PATH).entries == ()


def test_a_page_that_is_opened_again_goes_on_where_it_was(assignment: Assignment) -> None:
    first = assignment.batch.rows[0]

    async def go(page: Page, where: str) -> None:
        await page.open(f"{where}?lang=en#/grade")
        await page.until("document.querySelector('.standing').innerText.startsWith('2 of')")
        await press(page, "p")
        await page.until("document.querySelector('.standing').innerText.startsWith('1 of')")
        assert await page.evaluate("document.querySelectorAll('fieldset.given').length") == len(first.marks)
        assert await page.evaluate("document.querySelector('textarea').value") == "short"

    before = GradesFile(PATH, assignment.batch, AT.isoformat())
    for mark in first.marks:
        before.grade(first.row, mark.metric, 1.0, AT.isoformat())
    before.explain(first.row, "short", AT.isoformat())
    before.close()
    graded(assignment, go)


def test_names_are_in_the_language_of_the_item_and_the_page_in_that_of_the_reader(assignment: Assignment) -> None:
    seen: dict[str, set[str]] = {"en": set(), "zh": set()}

    async def go(page: Page, where: str) -> None:
        for reader, word in (("en", "Rationale"), ("zh", "理由")):
            await page.open(f"{where}?lang={reader}#/grade")
            for number, _ in enumerate(assignment.batch.rows, 1):
                await page.until(f"document.querySelector('.standing').innerText.trim().startsWith('{number} ')")
                text = await page.evaluate("document.querySelector('#content').innerText")
                assert word in text and await page.evaluate("document.documentElement.lang") == reader
                language = await page.evaluate("document.querySelector('.texts').lang")
                seen[language].add(text)
                await press(page, "n")

    graded(assignment, go)
    chinese, english = ("\n".join(seen[each]) for each in ("zh", "en"))
    for word in ("口语", "清楚 (CLEAR)", "清楚吗？", "不完全", "是", "否"):
        assert word in chinese, word
    for word in ("Spoken", "Clarity (CLEAR)", "Is it clear?", "not fully", "Yes", "No"):
        assert word in english, word
    assert "Spoken" not in chinese and "口语" not in english


def test_the_page_breaks_no_rule_in_any_size_theme_or_language(assignment: Assignment) -> None:
    async def go(page: Page, where: str) -> None:
        for width, dark, language in ((1200, False, "en"), (390, True, "zh"), (390, False, "en"), (1200, True, "zh")):
            await page.open(f"{where}?lang={language}#/grade", width=width, dark=dark)
            for number, _ in enumerate(assignment.batch.rows):
                await press(page, "1")
                sideways = await page.evaluate("document.documentElement.scrollWidth - innerWidth")
                assert sideways <= 0, (width, sideways)
                await check_rules(page, f"grade {width} {number}")
                if PICTURES and number == 0:
                    await page.picture(Path(PICTURES) / f"grade-{width}-{language}.png")
                await press(page, "n")
            said = await page.evaluate("document.querySelector('#content').innerText")
            assert "undefined" not in said and "NaN" not in said and "[object" not in said
            await page.until(SENT)

    graded(assignment, go)


def test_a_grade_that_could_not_be_sent_is_told_and_sent_later(assignment: Assignment) -> None:
    grades = GradesFile(PATH, assignment.batch, AT.isoformat())
    desk = GradingPage(assignment, grades, lambda: AT)
    refused = iter([True, False])

    def take(body: bytes) -> bytes:
        if next(refused, False):
            raise OSError(28, "the disk is full")
        return desk.take(body)

    async def served(page: Page) -> None:
        async with TestServer(make_app(desk, TOKEN, {"grade": take})) as server:
            await page.open(f"{server.make_url(f'/{TOKEN}/')}?lang=en#/grade")
            await page.evaluate("document.querySelector('fieldset input[type=radio]').focus()")
            await press(page, "1")
            await page.until(f"{STATE}.startsWith('Not saved')")
            await page.until(f"{STATE} === 'Saved'")

    shown(served)
    grades.close()
    assert [entry.value for entry in read_grades(PATH).entries] == [1.0]


def test_texts_of_data_run_nothing(assignment: Assignment) -> None:
    texts = itertools.cycle(HOSTILE)
    used: set[str] = set()

    def text(value: str) -> str:
        found = next(texts)
        used.add(found)
        return value + json.loads(json.dumps(found))  # as a store has it, without halves of characters

    spoiled = {}
    for row, seen in assignment.views.items():
        scales = tuple(
            dataclasses.replace(
                scale,
                title=text(scale.title),
                asks=text(scale.asks),
                levels=tuple((low, high, text(told)) for low, high, told in scale.levels),
            )
            for scale in seen.scales
        )
        many = tuple((text(label), text("")) for label, _ in seen.texts for _ in range(40))
        spoiled[row] = dataclasses.replace(seen, title=text(seen.title), texts=many, scales=scales)
    hostile = dataclasses.replace(assignment, views=spoiled)
    assert used == set(HOSTILE)

    async def go(page: Page, where: str) -> None:
        await page.open(f"{where}#/grade")
        for _ in assignment.batch.rows:
            await press(page, "1")
            await asyncio.sleep(0.1)
            assert await page.evaluate("window.__ran === undefined && document.title.endsWith('Tripos')")
            assert await page.evaluate("document.querySelectorAll('#app script, #app img, #app iframe').length") == 0
            sideways = await page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert sideways <= 0
            await press(page, "n")

    graded(hostile, go)
