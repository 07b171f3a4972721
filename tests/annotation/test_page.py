"""The page: who may read it, what it shows, and that a grade is on the disk before it is called saved."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientResponse, web
from aiohttp.test_utils import TestClient, TestServer

from tests.annotation.conftest import MODELS, Rows
from tests.conftest import Command
from tripos.annotation.assignment import Assignment, AssignmentDesk, AssignmentOptions
from tripos.annotation.page import GradingPage
from tripos.annotation.sheet import GradesFile, read_grades
from tripos.view.server import make_app, make_runner, serve
from tripos_compiler.errors import TriposError
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect_run
from tripos_warehouse.views.runs import get_plan

AT = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)
TOKEN = "t" * 32
PATH = Path("anna.jsonl")


@pytest.fixture
def hand(ran: Path) -> Assignment:
    store = Store.open("results", create=False)
    connection, run = connect_run(store)
    with connection:
        desk = AssignmentDesk(store, connection, get_plan(connection, run), run, "judge", "anna")
        return desk.assign(AssignmentOptions(), lambda: AT)


@pytest.fixture
def grades(hand: Assignment) -> GradesFile:
    return GradesFile(PATH, hand.batch, AT.isoformat())


def app(hand: Assignment, grades: GradesFile) -> web.Application:
    """Return the page's server for a batch."""
    page = GradingPage(hand, grades, lambda: AT)
    return make_app(page, TOKEN, {"grade": page.take})


def asked(hand: Assignment, grades: GradesFile, go: Callable[[TestClient[Any, Any]], Awaitable[Any]]) -> Any:
    """Return what `go` finds out with a client of the page."""

    async def served() -> Any:
        async with TestClient(TestServer(app(hand, grades))) as client:
            return await go(client)

    return asyncio.run(served())


def got(hand: Assignment, grades: GradesFile, path: str, **headers: str) -> tuple[ClientResponse, str]:
    async def go(client: TestClient[Any, Any]) -> tuple[ClientResponse, str]:
        response = await client.get(path, headers=headers)
        return response, await response.text()

    found: tuple[ClientResponse, str] = asked(hand, grades, go)
    return found


def posted(hand: Assignment, grades: GradesFile, *said: Any, **headers: str) -> list[int]:
    async def go(client: TestClient[Any, Any]) -> list[int]:
        return [(await client.post(f"/{TOKEN}/grade", json=each, headers=headers)).status for each in said]

    found: list[int] = asked(hand, grades, go)
    return found


@pytest.mark.parametrize("headers", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Origin": "null"}])
def test_another_site_is_kept_out_also_where_it_has_the_token(
    hand: Assignment, grades: GradesFile, headers: dict[str, str]
) -> None:
    assert got(hand, grades, f"/{TOKEN}/grading.json", **headers)[0].status == 403
    row = hand.batch.rows[0].row
    assert posted(hand, grades, {"row": row, "metric": "CLEAR", "value": 3}, **headers) == [403]
    assert not grades.values[row]


def test_nothing_is_loaded_from_elsewhere(hand: Assignment, grades: GradesFile) -> None:
    response, page = got(hand, grades, f"/{TOKEN}/")
    policy = response.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "*" not in policy
    assert response.headers["Referrer-Policy"] == "no-referrer"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    parts = page + "".join(got(hand, grades, f"/{TOKEN}/{name}")[1] for name in ("view.js", "view.css"))
    hosts = set(re.findall(r"(?:https?:)?//([\w.-]+\.\w+)", parts)) - {"www.w3.org"}
    assert not hosts and "dangerouslySetInnerHTML:" not in parts and "style=" not in page and "onclick" not in page


def test_what_is_no_http_is_refused_without_a_word_to_who_serves(
    hand: Assignment, grades: GradesFile, capsys: pytest.CaptureFixture[str]
) -> None:
    async def told() -> bytes:
        runner = make_runner(app(hand, grades))
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        reader, writer = await asyncio.open_connection(*runner.addresses[0])
        writer.write(b"GET /\x00 HTTP/1.1\r\n\r\n")
        found = await asyncio.wait_for(reader.read(), 20)
        writer.close()
        await runner.cleanup()
        return found

    assert asyncio.run(told()).startswith(b"HTTP/1.0 400 ")
    assert capsys.readouterr() == ("", "")


def test_the_files_of_the_machine_are_not_served(hand: Assignment, grades: GradesFile) -> None:
    for name in ("sheet.py", "..%2fserver.py", "%2e%2e/server.py", "index.html%00", "../../etc/passwd"):
        assert got(hand, grades, f"/{TOKEN}/{name}")[0].status == 404


def test_the_page_is_blind(hand: Assignment, grades: GradesFile, ask: Rows) -> None:
    text = got(hand, grades, f"/{TOKEN}/grading.json")[1]
    secrets = {*MODELS, *(row["s"] for row in ask("select sample_id as s from main.samples"))}
    secrets |= {row["i"] for row in ask("select item_id as i from main.items")}
    secrets |= {row.judgement_id for row in hand.batch.rows}
    assert not [secret for secret in secrets if secret in text]


def test_who_grades_reads_no_file_of_the_results(hand: Assignment, grades: GradesFile) -> None:
    for path in ("index.json", "benchmarks/quiz.json", f"runs/{hand.batch.run_id}/report.json"):
        assert got(hand, grades, f"/{TOKEN}/{path}")[0].status == 404


def test_the_page_shows_every_reply_in_the_order_of_the_batch(hand: Assignment, grades: GradesFile) -> None:
    data = GradingPage(hand, grades, lambda: AT).data()
    assert [item["row"] for item in data["items"]] == [row.row for row in hand.batch.rows]
    assert {(scale["metric"], len(scale["values"])) for item in data["items"] for scale in item["scales"]} == {
        ("CLEAR", 10), ("RIGHT", 10),
    }  # fmt: skip


def test_a_grade_is_in_the_file_when_the_page_hears_of_it(hand: Assignment, grades: GradesFile) -> None:
    row = hand.batch.rows[0].row
    said = [{"row": row, "metric": "CLEAR", "value": 3}, {"row": row, "rationale": "short <b>"}]
    assert posted(hand, grades, *said) == [200, 200]
    lines = [json.loads(line) for line in PATH.read_text("utf-8").splitlines()]
    assert lines[0]["batch"] == hand.batch.batch
    assert lines[1:] == [
        {"row": row, "metric": "CLEAR", "value": 3.0, "at": AT.isoformat()},
        {"row": row, "rationale": "short <b>", "at": AT.isoformat()},
    ]


@pytest.mark.parametrize(
    "said",
    [
        {"metric": "CLEAR", "value": 11},
        {"metric": "CLEAR", "value": "high"},
        {"metric": "NONE", "value": 3},
        {"metric": "CLEAR"},
        {"metric": "CLEAR", "value": [1]},
        {"row": "none", "metric": "CLEAR", "value": 3},
    ],
)
def test_what_is_not_on_the_scale_is_not_kept(hand: Assignment, grades: GradesFile, said: dict[str, Any]) -> None:
    before = PATH.read_bytes()
    assert posted(hand, grades, {"row": hand.batch.rows[0].row, **said}, [], "x") == [422, 422, 422]
    assert PATH.read_bytes() == before


def test_a_form_of_another_site_cannot_post(hand: Assignment, grades: GradesFile) -> None:
    async def go(client: TestClient[Any, Any]) -> int:
        return (await client.post(f"/{TOKEN}/grade", data='{"row": 1}', headers={"Content-Type": "text/plain"})).status

    assert asked(hand, grades, go) == 415


def test_the_same_file_is_gone_on_with(hand: Assignment, grades: GradesFile) -> None:
    row = hand.batch.rows[0]
    posted(hand, grades, *({"row": row.row, "metric": mark.metric, "value": 4} for mark in row.marks))
    posted(hand, grades, {"row": hand.batch.rows[1].row, "rationale": "why"})
    grades.close()
    again = GradesFile(PATH, hand.batch, AT.isoformat())
    assert again.values[row.row] == {mark.metric: 4.0 for mark in row.marks}
    assert again.rationales == {hand.batch.rows[1].row: "why"}
    assert GradingPage(hand, again, lambda: AT).done == 1


def test_half_a_line_that_a_crash_left_is_not_read_and_not_built_on(hand: Assignment, grades: GradesFile) -> None:
    row = hand.batch.rows[0].row
    posted(hand, grades, {"row": row, "metric": "CLEAR", "value": 3})
    grades.close()
    with PATH.open("ab") as file:
        file.write(b'{"row": "' + row.encode())
    assert [entry.value for entry in read_grades(PATH).entries] == [3.0]
    again = GradesFile(PATH, hand.batch, AT.isoformat())
    again.grade(row, "CLEAR", 8.0, AT.isoformat())
    again.close()
    assert [entry.value for entry in read_grades(PATH).entries] == [8.0]


def test_a_last_line_without_a_line_end_counts(hand: Assignment, grades: GradesFile) -> None:
    row = hand.batch.rows[0].row
    posted(hand, grades, {"row": row, "metric": "CLEAR", "value": 3})
    grades.close()
    PATH.write_bytes(PATH.read_bytes().rstrip())
    assert [entry.value for entry in read_grades(PATH).entries] == [3.0]
    again = GradesFile(PATH, hand.batch, AT.isoformat())
    again.explain(row, "why", AT.isoformat())
    again.close()
    found = read_grades(PATH)
    assert [entry.value for entry in found.entries] == [3.0] and found.rationales == {row: "why"}


def test_a_grade_can_be_taken_away_again(hand: Assignment, grades: GradesFile) -> None:
    row = hand.batch.rows[0].row
    posted(hand, grades, {"row": row, "metric": "CLEAR", "value": 3}, {"row": row, "metric": "CLEAR", "value": None})
    assert grades.values[row] == {}
    assert read_grades(PATH).entries == ()


def test_the_file_of_another_batch_is_left_alone(hand: Assignment, grades: GradesFile, tripos: Command) -> None:
    grades.close()
    before = PATH.read_bytes()
    done = tripos("annotate", "--name", "ben", "--page", "-o", str(PATH))
    assert done.code == 2 and "error[S0703]" in done.err
    assert PATH.read_bytes() == before


def test_options_that_a_begun_page_does_not_take_are_named(
    ran: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tripos.view.server.serve", lambda *args: None)
    assert "goes on with the replies" not in tripos("annotate", "--name", "anna", "--page", "--sample", "2").out
    assert "goes on with the replies" not in tripos("annotate", "--name", "anna", "--page", "--sample", "2").out
    assert "goes on with the replies" not in tripos("annotate", "--name", "anna", "--page").out
    told = tripos("annotate", "--name", "anna", "--page", "--sample", "5", "--seed", "0").out
    assert "anna.jsonl goes on with the replies that it has, without `--sample`;" in told


def test_a_port_that_is_taken_is_told(hand: Assignment, grades: GradesFile) -> None:
    import socket

    page = GradingPage(hand, grades, lambda: AT)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(TriposError) as caught:
            serve(page, taken.getsockname()[1], TOKEN, lambda url: None, {"grade": page.take})
    assert caught.value.code == "S0708"


def test_grades_of_the_page_are_taken_back(hand: Assignment, grades: GradesFile, tripos: Command, ask: Rows) -> None:
    for row in hand.batch.rows:
        posted(hand, grades, *({"row": row.row, "metric": mark.metric, "value": 4} for mark in row.marks))
    grades.close()
    done = tripos("annotate", "--take", str(PATH))
    assert (done.code, done.out) == (0, "human/anna: 10 replies graded, 0 changed, 0 as before\n")
    found = ask("select value, count(*) as n from quiz.scores where evaluator = 'human/anna' group by all")
    assert found == [{"value": 4.0, "n": 16}]


def test_a_full_disk_is_told_and_leaves_no_half_line(
    hand: Assignment, grades: GradesFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = hand.batch.rows[0].row
    before = PATH.read_bytes()

    def refuse(number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tripos.annotation.sheet.os.fsync", refuse)
    assert posted(hand, grades, {"row": row, "metric": "CLEAR", "value": 3}) == [507]
    assert PATH.read_bytes() == before
    assert grades.values[row] == {}
