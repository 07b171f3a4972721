"""Drawn requests of visitors: each is answered, without a failure of the server and without a file of elsewhere."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from tests.lengths import sized
from tests.view.drawn_urls import answers, counted, drawn_paths, faults, requests
from tripos.view.files import ViewFiles
from tripos.view.server import Taker, make_app

TOKEN = "t" * 32
NEVER = b"what lies outside of the page"


def test_no_drawn_url_fails_the_server_or_reads_what_is_outside(
    view: ViewFiles, ran: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for folder in (ran, ran.parent, tmp_path, tmp_path.parent, ran / "results"):
        (folder / "secret.txt").write_bytes(NEVER)
        (folder / "secret.json").write_bytes(NEVER)
    (run,) = json.loads(view.json("index.json") or b"")["runs"]
    name = run["run_id"]
    tables = json.loads(view.json(f"runs/{name}/tables.json") or b"")["tables"]
    right = [
        "index.json", "view.js", "benchmarks/quiz.json", f"runs/{name}/about.json", f"runs/{name}/tables.json",
        f"runs/{name}/first.json", f"compare/{name}.0~{name}.1.json", "media/" + "0a" * 32, "secret.json",
        *(each["path"] for each in tables.values()),
    ]  # fmt: skip
    paths = [*right, *drawn_paths(1, sized(100, 10_000), right)]
    with caplog.at_level(logging.ERROR):
        found = answers(make_app(view, TOKEN), requests(2, TOKEN, paths))
    assert not faults(found, NEVER)[:5]
    assert not [record for record in caplog.records if record.exc_info][:1]
    assert {200, 404} <= counted(found).keys()


@pytest.mark.parametrize("path", ["runs/%00/about.json", "a" * 300 + "/9.json"])
def test_a_name_that_no_file_can_have_is_not_there(view: ViewFiles, path: str) -> None:
    assert view.json("index.json"), "the folder of the state is there"
    sent = [f"GET /{TOKEN}/{path} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode()]
    assert [status for _, status, _ in answers(make_app(view, TOKEN), sent)] == [404]


@pytest.mark.parametrize("head", ["Content-Encoding: gzip", "Content-Encoding: deflate", "Content-Encoding: br",
                                  "Transfer-Encoding: chunked"])  # fmt: skip
@pytest.mark.parametrize("taker", [None, lambda body: body])
@pytest.mark.parametrize("path", [f"{TOKEN}/grade", f"{TOKEN}/view.js", "grade"])
def test_a_body_that_cannot_be_decoded_is_no_fault_of_the_server(
    view: ViewFiles, caplog: pytest.LogCaptureFixture, head: str, taker: Taker | None, path: str
) -> None:
    length = "" if "chunked" in head else "Content-Length: 2\r\n"
    lines = f"POST /{path} HTTP/1.1\r\nHost: localhost\r\n{head}\r\n{length}Content-Type: application/json\r\n"
    with caplog.at_level(logging.ERROR):
        found = answers(
            make_app(view, TOKEN, {"grade": taker} if taker else {}),
            [f"{lines}Connection: close\r\n\r\n{{}}\r\n".encode()],
        )
    assert found[0][1] in (400, 404, 405)
    assert not caplog.records
