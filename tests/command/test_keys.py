"""Keys: read from `.env`, sent to the endpoint that asks for them, and written nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.json_server import Posted, completion, json_server

KEY = "sk-test-4f1d9c0b7a6e5d3c2b1a"


@pytest.fixture
def endpoint(quiz: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The keys that a server was sent, which answers those who know the one, and to others repeats what they sent."""
    monkeypatch.setenv("QUIZ_KEY", "")  # so that what `.env` sets is undone after the test
    monkeypatch.delenv("QUIZ_KEY")
    sent: list[str] = []

    def answer(posted: Posted) -> tuple[int, object]:
        sent.append(posted.key)
        if posted.key == f"Bearer {KEY}":
            return 200, completion("two words")
        return 401, {"error": {"message": f"Incorrect API key provided: {posted.key}"}}

    with json_server(answer) as address:
        table = f'base_url = "{address}"\napi_key_env = "QUIZ_KEY"\n'
        (quiz / "tripos.toml").write_text(f'[endpoints."openai/tester"]\n{table}')
        yield sent


RUN = ("run", "quiz.tripos", "--model", "openai/tester", "--role", "judge=mock/careful", "--scenario", "sums")


def everything_in(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != ".env")


def test_a_key_in_the_env_file_is_sent_and_kept_nowhere(quiz: Path, tripos: Command, endpoint: list[str]) -> None:
    (quiz / ".env").write_text(f"QUIZ_KEY={KEY}\n")
    done = tripos(*RUN)
    assert done.code == 0, done.err
    assert set(endpoint) == {f"Bearer {KEY}"}
    assert KEY not in done.out + done.err
    assert KEY.encode() not in everything_in(quiz)


def test_a_wrong_key_stops_the_run_and_is_not_repeated(quiz: Path, tripos: Command, endpoint: list[str]) -> None:
    wrong = KEY.replace("4f", "5e")
    (quiz / ".env").write_text(f"QUIZ_KEY={wrong}\n")
    done = tripos(*RUN)
    assert (done.code, "error[R0102]" in done.err) == (1, True), done.err
    assert wrong not in done.out + done.err
    assert wrong.encode() not in everything_in(quiz)


def test_a_missing_key_names_its_variable(quiz: Path, tripos: Command, endpoint: list[str]) -> None:
    done = tripos(*RUN)
    assert (done.code, "error[R0102]" in done.err, "QUIZ_KEY" in done.err) == (2, True, True), done.err
    assert endpoint == []


@pytest.mark.parametrize(
    "key", ["sk-test-\udcff", "sk-test\nX-Other: 1", "sk-test\xa0"], ids=["no UTF-8", "lines", "space"]
)
def test_a_key_that_cannot_be_sent_is_refused_and_not_told(
    quiz: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key + "1")
    done = tripos("run", "quiz.tripos", "--model", "openai/gpt-4o")
    assert done.code != 0
    assert "the key for `openai/gpt-4o` has a character that cannot be sent" in done.err
    assert "set OPENAI_API_KEY again" in done.err
    assert "sk-test" not in done.err + done.out


@pytest.mark.parametrize("host", ["localhost:99999", "localhost:x", "a..b", "[::1"])
def test_an_address_that_cannot_be_is_refused_and_its_password_is_not_told(
    quiz: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://me:hidden@{host}/v1?key=hidden")
    done = tripos("run", "quiz.tripos", "--model", "openai/gpt-4o")
    assert f"error[R0101]: `{host}/v1`, where `openai/gpt-4o` is to be reached, is no address" in done.err
    assert "hidden" not in done.err + done.out
    if "[" not in host:
        (quiz / "tripos.toml").write_text(f'[endpoints.openai]\nbase_url = "http://{host}/v1"\n', "utf-8")
        assert "the address has no valid host and port" in tripos("run", "quiz.tripos", "--model", "openai/x").err
