"""The server of a view reads to who has the token, from this machine and this page, and writes nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer

from tests.conftest import Command
from tripos.view.files import ViewFiles
from tripos.view.server import POLICY, make_app

TOKEN = "t" * 32


def got(view: ViewFiles, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
    async def go() -> Any:
        async with TestClient(TestServer(make_app(view, TOKEN))) as client:
            response = await client.request(method, path, headers=headers)
            return response.status, dict(response.headers), await response.read()

    found: tuple[int, dict[str, str], bytes] = asyncio.run(go())
    return found


def test_only_who_has_the_token_reads(view: ViewFiles) -> None:
    for path in ("/", "/x/", f"/{TOKEN[:-1]}/", "/x/index.json", "/x/view.js"):
        assert got(view, path)[0] == 404
    assert got(view, f"/{TOKEN}/")[0] == 200


@pytest.mark.parametrize("headers", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Origin": "null"}])
def test_another_site_is_kept_out_also_where_it_has_the_token(view: ViewFiles, headers: dict[str, str]) -> None:
    assert got(view, f"/{TOKEN}/index.json", **headers)[0] == 403


def test_every_answer_has_the_policy(view: ViewFiles) -> None:
    for path in ("/", f"/{TOKEN}/", f"/{TOKEN}/index.json", f"/{TOKEN}/nothing", f"/{TOKEN}/runs/no/report.json"):
        _, headers, _ = got(view, path)
        assert {name: headers.get(name) for name in POLICY} == POLICY
    assert "unsafe" not in POLICY["Content-Security-Policy"]


def test_nothing_is_written(view: ViewFiles) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert got(view, f"/{TOKEN}/index.json", method)[0] in (404, 405)


def test_no_path_leads_out(view: ViewFiles) -> None:
    for path in ("..%2f..%2fetc%2fpasswd", "runs/..%2f..%2findex.json", "%2e%2e/quiz.tripos", "built/../files.py"):
        assert got(view, f"/{TOKEN}/{path}")[0] in (403, 404)


def test_tables_are_read_by_range(view: ViewFiles) -> None:
    import json

    (run,) = json.loads(view.json("index.json") or b"")["runs"]
    listed = json.loads(view.json(f"runs/{run['run_id']}/tables.json") or b"")["tables"]["samples"]
    status, headers, data = got(view, f"/{TOKEN}/{listed['path']}", Range=f"bytes={listed['bytes'] - 4}-")
    assert (status, data) == (206, b"PAR1")
    assert headers["Content-Type"] == "application/vnd.apache.parquet"


def test_a_store_that_is_not_there_is_said_before_anything_is_served(tmp_path: Path, tripos: Command) -> None:
    outcome = tripos("view", "--store", str(tmp_path / "nothing"))
    assert outcome.code != 0 and "S0101" in outcome.err
