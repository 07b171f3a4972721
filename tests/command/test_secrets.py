"""Keys are sent to the endpoint that they are for, and stand nowhere else: whatever the endpoint makes of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow.parquet as pq
import pytest

from tests.conftest import Command
from tests.json_server import Posted, completion, json_server
from tests.lengths import spread
from tripos_runtime.models.base import Endpoint
from tripos_runtime.models.catalog import is_carried, path_of

MODELS = {"direct": "openai/tester", "carried": "openai/o3-mini", "litellm": "perplexity/tester"}
"""A model for every way to reach one; litellm's calls of the second go over our own connections."""
KEYS = {
    "of a known form": "sk-test-4f1d9c0b7a6e5d3c2b1a",
    "of no form": "Krokodil7Bassgeige9Winterschlaf",
    "with signs": "kr0k/od+il=7_bass%geige&9",
}

SHAPES = ("openai", "text", "other")
STATUSES = (400, 401, 403, 404, 429, 500)
# litellm is told once to ignore these, and every test begins with filters of its own.
pytestmark = pytest.mark.filterwarnings("ignore:Items? .* on TypedDict:UserWarning")


class Careless:
    """A server that repeats the key that it is sent wherever it can."""

    status = 200
    shape = "openai"
    said = "two words"
    sent: list[str] = []  # noqa: RUF012 - of the one server of a test

    def answer(self, posted: Posted) -> tuple[int, object, dict[str, str]]:
        self.sent.append(posted.key)
        body = completion(self.said) if self.status == 200 else self._error(posted.key)
        return self.status, body, {"x-you-sent": posted.key, "x-request-id": posted.key}

    def _error(self, given: str) -> object:
        key = given.removeprefix("Bearer ")
        match self.shape:
            case "openai":
                return {"error": {"message": f"bad key {key}", "type": "x", "code": given}}
            case "text":
                return f"<html>refused: {given} ({key})</html>".encode()
            case _:
                return {"detail": [{"input": {"headers": {"authorization": given}}}], "url": f"?key={quote(key)}"}


@pytest.fixture
def endpoint(quiz: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of the quiz, with every model at a server that repeats keys."""
    monkeypatch.setenv("QUIZ_TUTOR", "")  # so that what `.env` sets is undone after the test
    monkeypatch.delenv("QUIZ_TUTOR")
    monkeypatch.setenv("TRIPOS_DEBUG", "1")
    Careless.sent = []
    with json_server(Careless().answer) as address:
        tables = [
            f'[endpoints."{name}"]\nbase_url = "{address}"\napi_key_env = "QUIZ_TUTOR"\n' for name in MODELS.values()
        ]
        (quiz / "tripos.toml").write_text("\n".join(tables))
        yield quiz


def run(tripos: Command, path: str) -> Any:
    chosen = ("--model", MODELS[path], "--role", "judge=mock/careful", "--scenario", "sums", "--limit", "1")
    return tripos("run", "quiz.tripos", *chosen, "--max-retries", "0", "--events", "events.jsonl")


def texts_in(folder: Path) -> Iterator[str]:
    """Yield every text that stands in a file below a folder, of Parquet those of every column; not what `.env` says."""
    for path in folder.rglob("*"):
        if path.suffix == ".parquet":
            for column in pq.read_table(path).columns:
                yield json.dumps(column.to_pylist(), default=str, ensure_ascii=False)
        if path.is_file() and path.name != ".env":
            yield path.read_bytes().decode("utf-8", "replace")


def assert_hidden(key: str, folder: Path, *printed: str) -> None:
    forms = {key, quote(key), quote(key, safe=""), json.dumps(key)[1:-1], key[4:]}
    for text in (*printed, *texts_in(folder)):
        for form in forms:
            assert form not in text, text[max(0, text.find(form) - 200) : text.find(form) + 100]


@pytest.mark.parametrize("path", MODELS)
def test_every_way_to_a_model_is_tried(path: str) -> None:
    name = MODELS[path]
    endpoints = {name: Endpoint("http://127.0.0.1:1/v1", "QUIZ_TUTOR")}
    assert ("carried" if is_carried(name, endpoints) else path_of(name, endpoints)) == path


@pytest.mark.parametrize("where", ["environment", pytest.param(".env", marks=pytest.mark.long)])
@pytest.mark.parametrize("path", MODELS)
def test_a_key_that_is_repeated_in_the_headers_of_a_reply_is_kept_nowhere(
    endpoint: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch, path: str, where: str
) -> None:
    key = KEYS["of no form"]
    if where == ".env":
        (endpoint / ".env").write_text(f"QUIZ_TUTOR={key}\n")
    else:
        monkeypatch.setenv("QUIZ_TUTOR", key)
    done = run(tripos, path)
    assert done.code == 0, done.err
    assert set(Careless.sent) == {f"Bearer {key}"}
    shown = [tripos(*each) for each in (("report",), ("list", "--json"), ("sql", "select * from main.samples"))]
    assert_hidden(key, endpoint, *(each.out + each.err for each in (done, *shown)))


@pytest.mark.parametrize("path", MODELS)
def test_a_key_that_is_repeated_in_the_text_of_a_reply_is_kept_nowhere(
    endpoint: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    key = KEYS["of no form"]
    monkeypatch.setenv("QUIZ_TUTOR", key)
    monkeypatch.setattr(Careless, "said", f"you sent Bearer {key}, and it is {key}")
    done = run(tripos, path)
    assert done.code == 0, done.err
    shown = tripos("sql", "select reply from main.samples")
    assert "you sent Bearer [key], and it is [key]" in shown.out
    assert_hidden(key, endpoint, done.out, done.err, shown.out)


@pytest.mark.parametrize("status", spread(STATUSES, 3))
@pytest.mark.parametrize("path", MODELS)
def test_a_key_that_is_repeated_in_an_error_is_kept_nowhere(
    endpoint: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch, path: str, status: int
) -> None:
    turn = [*MODELS].index(path) + STATUSES.index(status)
    key = [*KEYS.values()][turn % len(KEYS)]
    monkeypatch.setattr(Careless, "status", status)
    monkeypatch.setattr(Careless, "shape", SHAPES[(turn + status) % len(SHAPES)])
    monkeypatch.setenv("QUIZ_TUTOR", key)
    done = run(tripos, path)
    assert done.code == 1
    assert_hidden(key, endpoint, done.out, done.err)
    assert set(Careless.sent) == {f"Bearer {key}"}


@pytest.mark.parametrize("path", MODELS)
def test_the_key_of_another_provider_is_sent_to_nobody(
    endpoint: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setenv("QUIZ_TUTOR", KEYS["of no form"])
    for name in ("OPENAI_API_KEY", "PERPLEXITYAI_API_KEY", "PERPLEXITY_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, KEYS["of a known form"])
    assert run(tripos, path).code == 0
    assert set(Careless.sent) == {f"Bearer {KEYS['of no form']}"}
    assert_hidden(KEYS["of a known form"], endpoint)


def test_a_plan_and_a_replay_know_no_key(endpoint: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    key = KEYS["of no form"]
    monkeypatch.setenv("QUIZ_TUTOR", key)
    assert run(tripos, "direct").code == 0
    monkeypatch.delenv("QUIZ_TUTOR")
    asked = len(Careless.sent)
    done = tripos(
        "run", "quiz.tripos", "--model", "replay/results", "--scenario", "sums", "--limit", "1", "--store", "again"
    )
    assert done.code == 0, done.err
    assert len(Careless.sent) == asked
    planned = tripos("plan", "quiz.tripos", "--json")
    assert_hidden(key, endpoint, done.out, done.err, planned.out)
