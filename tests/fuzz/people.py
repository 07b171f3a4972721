"""Targets: sheets and files of people who grade, requests to their page, and tables that are imported."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import logging
import shutil
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from random import Random
from typing import cast

from aiohttp import web

from tests.conftest import ITEMS, QUIZ
from tests.fuzz.data_files import folder, put
from tests.fuzz.mutators import mutated_text, written
from tests.fuzz.stores import say
from tests.fuzz.trying import BrokenRule, Refused
from tripos.annotation.assignment import Assignment
from tripos.annotation.batch import AssignedReply, Batch, RequestedGrade, ReturnedGrades, check_grades
from tripos.annotation.page import GradingPage
from tripos.annotation.replies import GradableReply, ShownReply, ShownScale
from tripos.annotation.sheet import FORMAT, GradesFile, read_grades, read_sheet, sheet_bytes
from tripos.importing.rows import read_mapping, read_table, report_row_errors
from tripos.importing.scores import read_scores
from tripos.view.server import HOST, LOG, make_app, make_runner
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect_run
from tripos_warehouse.views.runs import get_plan

AT = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)
TOKEN = "t" * 32
WAIT_S = 0.5
"""How long the page is waited for; it waits for more itself where half a request is sent."""
SHOWN = ShownReply(
    "en",
    "en",
    "Sums",
    (("Task", "1+1"), ("Reply", "=two")),
    (
        ShownScale("clear", "Clarity", "Is it clear?", 1, 10, True, ((8, 10, "good"), (1, 7, "bad"))),
        ShownScale("right", "Correct", "Is it right?", None, None, False, ()),
    ),
    cast("GradableReply", None),
)


def _batch() -> Batch:
    marks = (
        RequestedGrade("clear", "clear", "s1", 1, 10, True),
        RequestedGrade("right", "right", "s2", None, None, False),
    )
    rows = tuple(
        AssignedReply(f"row{n}", "sums", f"i{n}", "en", f"a{n}", "m", "b", "rubric", f"j{n}", "f", "f", marks)
        for n in range(3)
    )
    return Batch("batch", "r1", "quiz", "judge", "anna", 1, AT.isoformat(), {}, rows)


# --- sheets and files of grades ---


@cache
def sheet_seeds() -> Sequence[bytes]:
    """Return a sheet as it is handed out, and one that is filled in."""
    from openpyxl import load_workbook

    batch = _batch()
    empty = sheet_bytes(batch, {row.row: SHOWN for row in batch.rows}, AT)
    book = load_workbook(io.BytesIO(empty))
    sheet = book.worksheets[0]
    for line in range(3, 6):
        for column, value in ((5, 7), (6, "4,5"), (7, "well put")):
            sheet.cell(line, column).value = value  # type: ignore[union-attr]
    filled = io.BytesIO()
    book.save(filled)
    return [empty, filled.getvalue()]


def take_sheet(data: bytes) -> None:
    """Read a sheet, and hold what it says against what was handed out."""
    _take(read_sheet(put("anna.xlsx", data)))


def _take(answers: ReturnedGrades) -> None:
    for partial in (False, True):
        found = check_grades(_batch(), answers, partial=partial)
        for fault in found.faults:
            if not fault.reason.strip() or not fault.address.strip():
                raise BrokenRule(f"a fault without a place or a reason: {fault}")
    if found.faults:
        raise Refused("S0707", len(found.faults))


def grades_seeds() -> Sequence[bytes]:
    """Return a file of the page."""
    lines = [
        {"format": FORMAT, "batch": "batch", "run": "r1", "role": "judge", "name": "anna", "at": AT.isoformat()},
        {"row": "row0", "metric": "clear", "value": 7, "at": AT.isoformat()},
        {"row": "row0", "metric": "right", "value": -0.5, "at": AT.isoformat()},
        {"row": "row1", "metric": "clear", "value": None, "at": AT.isoformat()},
        {"row": "row1", "rationale": "well put", "at": AT.isoformat()},
    ]
    return [b"".join(written(line) + b"\n" for line in lines)]


def take_grades(data: bytes) -> None:
    """Read a file of the page, and go on with it."""
    path = put("anna.jsonl", data)
    answers = read_grades(path)
    if answers.batch == "batch":
        GradesFile(path, _batch(), AT.isoformat()).close()
    _take(answers)


# --- the page ---


def request_seeds() -> Sequence[bytes]:
    """Return requests of the page."""
    made = []
    for said in (
        {"row": "row0", "metric": "clear", "value": 7},
        {"row": "row0", "metric": "right", "value": "4,5"},
        {"row": "row0", "metric": "clear", "value": None},
        {"row": "row1", "rationale": "well put \ud83d"},
    ):
        body = written(said)
        head = f"POST /{TOKEN}/grade HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json\r\n"
        made.append(f"{head}Connection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
    for name in ("", "grading.json", "view.js"):
        made.append(f"GET /{TOKEN}/{name} HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode())
    return [*made, made[0].replace(b"Content-Length: ", b"Transfer-Encoding: chunked\r\nX: ")]


def mutated_request(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Return a request with changes: of the body, whose length is then said, or of all of it."""
    head, gap, body = data.partition(b"\r\n\r\n")
    if body and random.random() < 0.7:
        from tests.fuzz.mutators import mutated_json

        body = mutated_json(random, body, [body])
        head = b"\r\n".join(
            b"Content-Length: %d" % len(body) if line.startswith(b"Content-Length") else line
            for line in head.split(b"\r\n")
        )
        return head + gap + body
    return mutated_text(random, data, others)


class _Page:
    """The page on a port of this machine, served by a thread."""

    def __init__(self) -> None:
        batch = _batch()
        hand = Assignment(batch, {row.row: SHOWN for row in batch.rows})
        path = put("page.jsonl", b"")
        self.loop = asyncio.new_event_loop()
        self.broken: list[str] = []
        self.loop.set_exception_handler(lambda loop, context: self.broken.append(str(context)))
        handler = logging.Handler()
        handler.emit = lambda record: self.broken.append(record.getMessage())  # type: ignore[method-assign]
        LOG.addHandler(handler)
        page = GradingPage(hand, GradesFile(path, batch, AT.isoformat()), lambda: AT)
        app = make_app(page, TOKEN, {"grade": page.take})
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        self.port = asyncio.run_coroutine_threadsafe(self._serve(app), self.loop).result()

    async def _serve(self, app: web.Application) -> int:
        runner = make_runner(app)
        await runner.setup()
        await web.TCPSite(runner, HOST, 0).start()
        return int(runner.addresses[0][1])

    async def ask(self, data: bytes) -> bytes:
        """Send bytes, and return what comes until the other side closes; nothing where it waits for more."""
        reader, writer = await asyncio.open_connection(HOST, self.port)
        try:
            writer.write(data)
            await writer.drain()
            return await asyncio.wait_for(reader.read(), WAIT_S)
        except (OSError, TimeoutError):
            return b""
        finally:
            writer.close()


@cache
def _page() -> _Page:
    return _Page()


def ask_page(data: bytes) -> None:
    """Send a request to the page."""
    page = _page()
    told = asyncio.run_coroutine_threadsafe(page.ask(data), page.loop).result()
    if page.broken:
        raise BrokenRule(f"the page logs an exception: {page.broken.pop()}")
    for line in told.split(b"\r\n"):
        if line.startswith(b"HTTP/1."):
            status = int(line.split()[1])
            if status >= 500:
                raise BrokenRule(f"the page answers {status}")
            if status >= 400:
                raise Refused(str(status))
    if not told:
        raise Refused("closed")


# --- imports ---


def score_seeds() -> Sequence[bytes]:
    """Return scores as people keep them: one a line, and one a column."""
    long = (
        "scenario,question,metric,score,reason\nsums,1+1,CLEAR,7,short\nsums,1+1,Correctness,3.5,\n"
        "words,12 + 30,Clarity,9,\n"
    )
    wide = "scenario,question,Clarity,RIGHT,Clarity reason\nsums,1+1,7,9,short\nwords,12 + 30,3.5,,\n"
    return [long.encode(), wide.encode(), long.replace(",", ";").encode()]


@cache
def _graded() -> Path:
    """Return a store with a run of the quiz that a judge graded."""
    root = folder() / "graded"
    say("run", str(_quiz()), "--model", "mock/careful", "--role", "judge=mock/careful:a", "--store", str(root))
    return root


def _quiz() -> Path:
    put("items.jsonl", "\n".join(json.dumps(item) for item in ITEMS).encode())
    return put("quiz.tripos", QUIZ.encode())


def take_scores(data: bytes) -> None:
    """Read scores of a table for a run."""
    table = read_table(str(put("scores.csv", data)), read_mapping(None, [], {"evaluator": "human/anna"}, None))
    connection, run = connect_run(Store.open(_graded(), create=False))
    with connection:
        found = read_scores(table, get_plan(connection, run), run, connection)
    with contextlib.redirect_stderr(io.StringIO()):
        report_row_errors(found.rejected, len(table.records), None, skip=False, what="score", options=())


def sample_seeds() -> Sequence[bytes]:
    """Return replies as logs have them."""
    rows = [
        {"scenario": "sums", "question": "1+1", "model": "openai/x", "reply": "two", "tokens_in": 3, "cost_usd": 0.1},
        {"scenario": "words", "question": "12 + 30", "model": "openai/x", "reply": {"said": "a", "sure": True}},
        {"scenario": "words", "question": "half of 9", "model": "openai/x", "reply": "no JSON", "sample": 0},
    ]
    return [b"".join(written(row) + b"\n" for row in rows), written(rows)]


def take_samples(data: bytes) -> None:
    """Import replies as those of a run."""
    root = folder() / "imported"
    shutil.rmtree(root, ignore_errors=True)
    path = put("replies.jsonl", data)
    say("import", "samples", str(path), "--spec", str(_quiz()), "--store", str(root), "--json")
