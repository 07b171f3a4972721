"""Notes of people on replies: from the page to the store, to SQL, to sheets and exports, and never lost."""

from __future__ import annotations

import asyncio
import json
import random
import re
import shutil
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from aiohttp.test_utils import TestClient, TestServer

from tests.conftest import Command
from tests.lengths import sized
from tests.view.chromium import PROGRAM, Page, shown
from tests.view.test_view_page import HOSTILE, PICTURES, check_rules
from tripos.annotation.notes import NoteDesk
from tripos.settings import options
from tripos.view.export import write_board, write_report
from tripos.view.files import NotesAccess, ViewFiles
from tripos.view.server import MOST_SENT, make_app
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.notes import FLAGS, LONGEST_TEXT, Note, add_notes, standing

TOKEN = "t" * 32
AT = datetime(2026, 3, 1, tzinfo=UTC)
Row = dict[str, Any]


def opened(place: str | Path = "results") -> Store:
    return Store.open(place, create=False)


@pytest.fixture
def rows(ran: Path, tripos: Command) -> Callable[..., list[Row]]:
    """Answer a query with its rows."""

    def ask(query: str, store: str = "results") -> list[Row]:
        done = tripos("sql", query, "--store", store, "--format", "json")
        assert done.code == 0, done.err
        found = json.loads(done.out)
        return list(found["rows"] if isinstance(found, dict) else found)

    return ask


@pytest.fixture
def replies(rows: Callable[..., list[Row]]) -> list[Row]:
    """The replies of the run: `sample_id`, `run_id`, `created_at`."""
    return rows("select sample_id, run_id, created_at::varchar as created_at from main.samples order by sample_id")


def note(
    reply: Row,
    name: str = "anna",
    flag: str | None = "again",
    text: str | None = None,
    *,
    n: int = 0,
    at: datetime = AT,
) -> Note:
    time = datetime.fromisoformat(reply["created_at"]).replace(tzinfo=UTC)
    return Note(f"{n:032x}", reply["sample_id"], reply["run_id"], f"human/{name}", flag, text, time, at)


def sent(reply: Row, *, n: int = 0, **other: Any) -> Row:
    """Return a message of the page."""
    about = {"sample_id": reply["sample_id"], "run": reply["run_id"], "replied_at": reply["created_at"]}
    return {"note_id": f"{n:032x}", **about, "flag": "bad", "text": None, "name": "anna", "before": None, **other}


def desk() -> NoteDesk:
    return NoteDesk(opened, None, lambda: datetime.now(UTC))


def noted_view(folder: Path, access: NotesAccess | None = None) -> ViewFiles:
    return ViewFiles(opened, folder, notes=access or NotesAccess("store"))


def run_of(view: ViewFiles) -> str:
    return str(json.loads(view.json("index.json") or b"")["runs"][0]["run_id"])


# The page
def served(view: ViewFiles, go: Callable[[Page, str], Awaitable[None]]) -> None:
    async def all_of_it(page: Page) -> None:
        await page.call("Emulation.setFocusEmulationEnabled", enabled=True)
        async with TestServer(make_app(view, TOKEN, {"notes": desk().take})) as server:
            await go(page, str(server.make_url(f"/{TOKEN}/")))

    shown(all_of_it)


async def key(page: Page, name: str) -> None:
    await asyncio.sleep(0.2)  # the page listens once it is drawn
    await page.evaluate(f"window.dispatchEvent(new KeyboardEvent('keydown', {{key: '{name}'}}))")


async def write(page: Page, text: str, field: str = "textarea") -> None:
    """Write into a field of the form and leave it."""
    await page.evaluate(f"document.querySelector('.note-form {field}').focus()")
    await page.call("Input.insertText", text=text)
    await page.evaluate("document.activeElement.blur()")


NOTES = "(await (await fetch('runs/RUN/notes.json')).json()).notes"
SAVED = "document.querySelector('.note-form [role=status]').innerText === 'Saved'"


@pytest.mark.skipif(PROGRAM is None, reason="no Chromium on this machine")
def test_what_is_flagged_on_the_page_is_in_sql_and_on_a_sheet(
    ran: Path, tmp_path: Path, tripos: Command, rows: Callable[..., list[Row]]
) -> None:
    view = noted_view(tmp_path / "made")
    run = run_of(view)
    before = tripos("report", "--json").data["measures"], view.state()

    async def go(page: Page, where: str) -> None:
        await page.open(f"{where}?lang=en#/run/{run}/grid?row=1")
        await page.until("document.querySelector('.note-form')")
        await key(page, "f")
        await page.until("document.querySelector('.note-form .problem')?.innerText === 'Not saved: enter your name'")
        for wrong in ("a b", "𠀀" * 51):  # which has 204 bytes
            await page.evaluate("document.querySelector('.note-form input').maxLength = 200")
            await write(page, wrong, "input")
            await page.until("document.querySelector('.note-form .problem')?.innerText.includes('a name has letters')")
            await page.evaluate("document.querySelector('.note-form input').value = ''")
        await write(page, "anna", "input")
        await page.until(SAVED)
        await write(page, HOSTILE[0])
        await page.until(f"document.querySelector('[aria-pressed=true]') && {SAVED}")
        while not await page.evaluate(f"(async () => {NOTES}.some(each => each.text))()".replace("RUN", run)):
            await asyncio.sleep(0.05)
        await page.open(f"{where}?lang=en#/run/{run}/samples?noted=again&noted=comment")
        await page.until("document.querySelector('.bar')?.innerText.startsWith('1 of 10')")
        await page.until("document.querySelector('.line .again') && document.querySelector('.line .comment')")
        # A colleague sees it, and adds another.
        await page.evaluate("localStorage.clear()")
        for width, dark in ((1200, False), (1200, True), (390, True)):
            await page.open(f"{where}?lang=en#/run/{run}/sample/1", width=width, dark=dark)
            await page.until("document.querySelector('.notes-of')?.innerText.includes('anna')")
            assert HOSTILE[0] in await page.evaluate("document.querySelector('.notes-of').innerText")
            await check_rules(page, f"sample {width}")
            if PICTURES:
                await page.picture(Path(PICTURES) / f"notes-{width}-{dark}.png")
        await write(page, "ben", "input")
        await key(page, "g")
        await page.until(SAVED)
        await page.open(f"{where}?lang=en#/run/{run}/grid?noted=good&row=1")
        await page.until("document.querySelectorAll('.grid-cell').length === 1")
        await page.until("document.querySelector('.notes-of')?.innerText.includes('anna')")
        await check_rules(page, "grid")
        assert page.problems == []

    served(view, go)
    found = rows("select model, note_flag, note_text, noted_by, note_outdated from quiz.notes order by noted_by")
    assert [(each["note_flag"], each["note_text"], each["noted_by"]) for each in found] == [
        ("again", HOSTILE[0], "human/anna"),
        ("good", None, "human/ben"),
    ]
    assert (tripos("report", "--json").data["measures"], view.state()) == before, "a note moves no figure"
    done = tripos("annotate", "--name", "carla", "--flagged", "again")
    assert done.code == 0 and "1 reply of run" in done.out
    sheet = openpyxl.load_workbook("carla.xlsx").worksheets[0]
    assert sheet.max_row == 3  # two rows of headings
    assert tripos("annotate", "--name", "dora", "--flagged", "bad").code == 2


@pytest.mark.skipif(PROGRAM is None, reason="no Chromium on this machine")
def test_texts_of_notes_run_nothing(ran: Path, tmp_path: Path, replies: list[Row]) -> None:
    texts = random.Random(1).sample(HOSTILE, 40)
    add_notes(opened(), [note(replies[0], f"p{n}", None, text, n=n) for n, text in enumerate(texts)])
    view = noted_view(tmp_path / "made")
    run = run_of(view)
    (row,) = {n for each in json.loads(view.json(f"runs/{run}/notes.json") or b"")["notes"] for n in each["rows"]}

    async def go(page: Page, where: str) -> None:
        for path in (f"sample/{row}", f"grid?row={row}", "samples"):
            await page.open(f"{where}#/run/{run}/{path}")
            await page.until("document.querySelector('.noted, .notes-of')")
            await asyncio.sleep(0.1)
            assert await page.evaluate("window.__ran === undefined && document.title.endsWith('Tripos')")
            assert await page.evaluate("document.querySelectorAll('#app script, #app img, #app iframe').length") == 0
        assert page.problems == []

    served(view, go)


@pytest.mark.skipif(PROGRAM is None, reason="no Chromium on this machine")
def test_a_folder_keeps_notes_in_the_browser_for_annotate(
    ran: Path, tmp_path: Path, tripos: Command, rows: Callable[..., list[Row]], replies: list[Row]
) -> None:
    add_notes(opened(), [note(replies[0], text="stored")])
    done = tripos("view", "--to", "site")
    assert done.code == 0 and "it has 1 note of anna: `--no-notes` leaves them out" in " ".join(done.out.split())
    run = replies[0]["run_id"]
    made: list[str] = []

    async def go(page: Page) -> None:
        await page.call("Emulation.setFocusEmulationEnabled", enabled=True)
        await page.open(f"{(ran / 'site/index.html').as_uri()}?lang=en#/run/{run}/samples")
        await page.until("document.querySelector('.line .again')")
        await page.evaluate("document.querySelector('.line:has(.again)').click()")
        await page.until("document.querySelector('.notes-of')?.innerText.includes('stored')")
        await write(page, "ben", "input")
        await key(page, "b")
        await write(page, "why?")
        await page.until("document.querySelector('.local')?.innerText.startsWith('1 notes: only in this browser')")
        await page.until(SAVED.replace("Saved", "Kept in this browser"))
        await page.open(await page.evaluate("location.href"))
        await page.until("document.querySelector('.local') && document.querySelector('.note-form')")
        assert await page.evaluate("document.querySelector('.note-form textarea').value") == "why?"
        await page.evaluate(
            "URL.createObjectURL = blob => { blob.text().then(text => { window.__file = text }); return '#' }"
        )
        await page.evaluate("document.querySelector('.local button').click()")
        await page.until("window.__file")
        made.append(await page.evaluate("window.__file"))
        assert page.problems == []

    shown(go)
    Path("notes-ben.jsonl").write_text(made[0], "utf-8")
    for new in (1, 0):
        done = tripos("annotate", "--take", "notes-ben.jsonl")
        assert (done.code, done.err) == (0, "")
        assert f"human/ben: {new} note" in done.out
    found = rows("select noted_by, note_flag, note_text from quiz.notes order by all")
    assert [tuple(each.values()) for each in found] == [("human/anna", "again", "stored"), ("human/ben", "bad", "why?")]


def test_nothing_that_is_published_has_notes_unasked(
    ran: Path, tmp_path: Path, tripos: Command, replies: list[Row]
) -> None:
    add_notes(opened(), [note(replies[0], "xaver", text="for us alone")])
    view = noted_view(tmp_path / "made")
    run = run_of(view)
    assert tripos("view", "--to", "site", "--no-notes").code == 0
    for form in ("csv", "parquet"):
        assert tripos("export", form, "-o", form).code == 0
    hub = ("--dataset", "a/b", "--organization", "c", "--secrets")
    assert tripos("export", "hub", "-o", "hub", *hub).code == 0
    texts = [write_report(view, run), write_board(view, run)]
    files = [path for folder in ("site", "csv", "parquet", "hub") for path in Path(folder).rglob("*") if path.is_file()]
    assert len(files) > 20
    for content in (*(path.read_bytes() for path in files), *(text.encode() for text in texts)):
        assert b"xaver" not in content and b"for us alone" not in content
    assert tripos("export", "csv", "--table", "notes", "-o", "notes.csv").code == 0
    assert "for us alone" in Path("notes.csv").read_text("utf-8")
    assert tripos("export", "xlsx", "--table", "notes", "-o", "notes.xlsx").code == 0
    assert openpyxl.load_workbook("notes.xlsx").sheetnames == ["notes"]


# The server
def posted(view: ViewFiles, takers: Any, body: Any, **headers: str) -> tuple[int, str]:
    async def go() -> tuple[int, str]:
        async with TestClient(TestServer(make_app(view, TOKEN, takers))) as client:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            told = {"Content-Type": "application/json", **headers}
            response = await client.post(f"/{TOKEN}/notes", data=data, headers=told)
            return response.status, await response.text()

    return asyncio.run(go())


def test_the_server_takes_notes_of_its_page_alone(ran: Path, tmp_path: Path, replies: list[Row]) -> None:
    view, takers, right = noted_view(tmp_path / "made"), {"notes": desk().take}, sent(replies[0])
    for headers in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}, {"Origin": "null"}):
        assert posted(view, takers, right, **headers)[0] == 403
    assert posted(view, takers, right, **{"Content-Type": "text/plain"})[0] == 415
    assert posted(view, takers, sent(replies[0], text="x" * MOST_SENT))[0] == 413
    assert posted(view, {}, right)[0] == 405, "read only"
    for body in (
        b"",
        b"[]",
        b"{}",
        b'{"note_id": 1}',
        b"\xff",
        {**right, "note_id": "../x"},
        {**right, "flag": 3},
        {**right, "replied_at": "0001-01-01T00:00:00+14:00"},
    ):
        assert posted(view, takers, body)[0] == 422
    for wrong, reason in (
        ({"name": "a b"}, "cannot be the name of a person"),
        ({"flag": "excellent"}, "is no flag"),
        ({"text": "x" * (LONGEST_TEXT + 1)}, "longer than 20,000"),
        ({"sample_id": "0" * 32}, "the store has no reply"),
        ({"run": "no"}, "the store has no run"),
        ({"replied_at": "2020-01-01 00:00:00"}, "was asked for again"),
    ):
        status, text = posted(view, takers, {**right, **wrong})
        assert status == 422 and reason in json.loads(text)["texts"][0]
    assert standing(opened()) == []
    assert posted(view, takers, right)[0] == 200
    assert posted(view, takers, right)[0] == 200, "a message that is sent again is one note"
    status, text = posted(view, takers, sent(replies[0], n=1))
    assert status == 422 and "another note on this reply meanwhile" in json.loads(text)["texts"][0]
    assert posted(view, takers, sent(replies[0], n=1, before="0" * 32, flag=None))[0] == 200
    assert standing(opened()) == [], "withdrawn"


def test_a_store_that_cannot_be_written_says_so(ran: Path, tmp_path: Path, replies: list[Row]) -> None:
    def full(*_: object) -> Store:
        store = opened()
        store.append = fail  # type: ignore[method-assign, assignment]
        return store

    def fail(*_: object) -> None:
        from tripos_warehouse.errors import store_write_error

        raise store_write_error(Path("results"), OSError(28, "No space left on device"))

    takers = {"notes": NoteDesk(full, "anna", lambda: AT).take}
    status, text = posted(noted_view(tmp_path / "made"), takers, sent(replies[0]))
    assert status == 422 and "the disk is full" in json.loads(text)["texts"][0]


def test_the_flags_of_the_command_are_those_of_notes() -> None:
    assert options.FLAGS == FLAGS


# The store
def test_notes_of_several_writers_are_never_lost(
    ran: Path, tripos: Command, rows: Callable[..., list[Row]], replies: list[Row]
) -> None:
    """Writers on two machines flag, comment and withdraw at once; their stores are compacted and merged in any order."""
    for seed in range(sized(3, 60)):
        dice = random.Random(seed)
        places = [f"at-{seed}-{n}" for n in range(3)]
        for place in places:
            shutil.copytree("results", place)
        given: dict[str, list[list[Note]]] = {place: [[] for _ in range(3)] for place in places}
        for n in range(dice.randrange(1, 24)):
            flag, text = dice.choice([None, *FLAGS]), dice.choice([None, "a", "née\x00", "好"])
            at = AT + timedelta(microseconds=dice.randrange(20))
            one = note(dice.choice(replies[:3]), dice.choice("abc"), flag, text, n=n, at=at)
            dice.choice(given[dice.choice(places)]).append(one)

        def go(place: str, notes: list[Note]) -> None:
            for each in notes:
                assert add_notes(opened(place), [each]).faults == ()

        with ThreadPoolExecutor(6) as pool:
            list(pool.map(go, *zip(*((place, each) for place in places for each in given[place]), strict=True)))
        if dice.random() < 0.5:
            assert tripos("store", "compact", "--store", places[0]).code == 0
        into, *others = dice.sample(places, 3)
        for source in [others] if dice.random() < 0.5 else [[each] for each in (*others, *others)]:
            assert tripos("store", "merge", *source, "--into", into).code == 0
        notes = [each for place in places for some in given[place] for each in some]
        kept = rows("select note_id, noted_by, note_flag, note_text, state from main.notes", into)
        assert sorted(each["note_id"] for each in kept) == sorted(each.note_id for each in notes)
        last: dict[tuple[str, str], Note] = {}
        for each in sorted(notes, key=lambda each: (each.created_at, each.note_id)):
            last[each.noted_by, each.sample_id] = each
        wanted = {each.note_id for each in last.values() if each.flag or each.text}
        assert {each["note_id"] for each in standing(opened(into))} == wanted
        assert {each["note_id"] for each in rows("select note_id from quiz.notes", into)} == wanted
        assert tripos("store", "check", "--store", into).code == 0


def test_a_note_on_a_reply_that_was_replaced_says_so(
    ran: Path, tmp_path: Path, tripos: Command, rows: Callable[..., list[Row]], replies: list[Row]
) -> None:
    add_notes(opened(), [note(replies[0])])
    store = opened()
    row = store.rows("samples", [replies[0]["sample_id"]])[replies[0]["sample_id"]]
    store.append({"samples": [{**row, "reply": "another", "created_at": row["created_at"] + timedelta(hours=1)}]})
    assert [each["note_outdated"] for each in rows("from quiz.notes")] == [True]
    view = noted_view(tmp_path / "made")
    (shown_note,) = json.loads(view.json(f"runs/{run_of(view)}/notes.json") or b"")["notes"]
    assert shown_note["outdated"] is True
    assert "has a flag" in tripos("annotate", "--name", "ben", "--flagged", "any").err


def lines_of(replies: list[Row], **other: Any) -> Iterator[str]:
    yield json.dumps({"format": "tripos.notes/1", "name": "anna"})
    for n, reply in enumerate(replies):
        yield json.dumps({**sent(reply, n=n), "at": "2999-01-01T00:00:00Z", **other})


def test_a_file_of_notes_is_taken_whole_or_not_at_all(ran: Path, tripos: Command, replies: list[Row]) -> None:
    wrong = {**replies[1], "created_at": "2020-01-01 00:00:00"}
    Path("n.jsonl").write_text("\n".join(lines_of([replies[0], wrong])), "utf-8")
    done = tripos("annotate", "--take", "n.jsonl")
    assert done.code == 1 and "S0709" in done.err and re.search(r"line 3 .*asked for again", " ".join(done.out.split()))
    assert standing(opened()) == []
    assert tripos("annotate", "--take", "n.jsonl", "--partial").code == 0
    (kept,) = standing(opened())
    assert kept["created_at"] <= datetime.now(UTC).replace(tzinfo=None), "of a clock that is ahead"
    early = json.dumps({**json.loads([*lines_of([replies[0]])][1]), "at": "0001-01-01T00:00:00+14:00"})
    for text in ("{", '{"note_id": 3}', "[]", early):
        Path("n.jsonl").write_text("\n".join([*lines_of([]), text, "{}"]), "utf-8")
        assert tripos("annotate", "--take", "n.jsonl").code == 2
