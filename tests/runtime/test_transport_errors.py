"""What goes wrong means the same whichever way a model is reached, and no key is told."""

from __future__ import annotations

import asyncio
import gzip
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web

from tests.runtime.contract_server import Sent, Server, answering, completion, hanging, serving
from tripos_runtime.models import Endpoint, Message, Model, ModelError, Request, open_model
from tripos_runtime.models.litellm_client import LitellmModel

REQUEST = Request("m", (Message("user", "hi"),))
WAYS = (
    "openai/gpt-4o",
    "mistral/mistral-small-latest",
    "openai/gpt-5",
    "anthropic/claude-sonnet-4-5",
    "azure/gpt-4o",
    "gemini/gemini-2.5-pro",
)
Answering = Callable[[Sent], Awaitable[web.StreamResponse]]


def said(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, "type": "t", **more}}


FAILURES: dict[str, tuple[Answering, str, str]] = {
    "401": (answering(said("bad key"), 401), "R0102", "fatal"),
    "403": (answering(said("not yours"), 403), "R0102", "fatal"),
    "404": (answering(said("The model `m` does not exist"), 404), "R0103", "fatal"),
    "429": (answering(said("slow down"), 429, {"Retry-After": "7"}), "R0104", "retryable"),
    "no credit": (answering(said("insufficient_quota: none left"), 429), "R0104", "fatal"),
    "too long": (answering(said("This model's maximum context length is 8192 tokens", code="context_length_exceeded"), 400), "R0107", ""),
    "filtered": (answering(said("The response was filtered: content management policy", code="content_filter"), 400), "R0108", "refused"),
    "400": (answering(said("unknown field"), 400), "R0110", ""),
    "422": (answering(said("unknown field"), 422), "R0110", ""),
    "500": (answering(said("oops"), 500), "R0111", "retryable"),
    "503": (answering(said("overloaded"), 503), "R0111", "retryable"),
    "529": (answering(said("overloaded"), 529), "R0111", "retryable"),
    "broken": (answering(b'{"choices": ['), "R0111", "retryable"),
    "hanging": (hanging, "R0109", "retryable"),
}  # fmt: skip


def failing(answer: Answering, opened: Callable[[Server], Model]) -> ModelError:
    async def use(server: Server) -> ModelError:
        model = opened(server)
        try:
            with pytest.raises(ModelError) as caught:
                await model.ask(REQUEST)
            return caught.value
        finally:
            await model.close()

    return serving(answer, use)[0]


def kinds(error: ModelError) -> str:
    told = (("fatal", error.fatal), ("retryable", error.retryable), ("refused", error.status == "refused"))
    return " ".join(name for name, true in told if true)


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("name", WAYS)
def test_a_failure_means_the_same_whichever_way(name: str, failure: str) -> None:
    answer, code, kind = FAILURES[failure]
    error = failing(answer, lambda server: open_model(name, {name: server.endpoint()}, timeout_s=0.3))
    assert (error.code, kinds(error)) == (code, kind)
    assert error.retry_after_s == (7.0 if failure == "429" else None)
    assert "\n" not in error.message and name in error.message


@pytest.mark.parametrize("failure", [name for name in FAILURES if name != "hanging"])
def test_litellm_altogether_gives_the_same_codes(failure: str) -> None:
    answer, code, kind = FAILURES[failure]
    error = failing(answer, lambda server: LitellmModel("openai/gpt-4o", server.endpoint()))
    assert (error.code, kinds(error)) == (code, kind)


@pytest.mark.parametrize("name", WAYS)
def test_a_server_that_is_down_is_told_with_its_address(name: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}/v1"

    async def go() -> None:
        model = open_model(name, {name: Endpoint(address)})
        try:
            await model.ask(REQUEST)
        finally:
            await model.close()

    with pytest.raises(ModelError) as caught:
        asyncio.run(go())
    assert (caught.value.code, caught.value.retryable) == ("R0101", True)
    assert caught.value.message == f"`{name}` cannot be reached at {address}"


def test_a_reply_that_breaks_off_is_tried_again() -> None:
    async def answer(_: Sent) -> web.StreamResponse:
        return web.Response(body=b'{"choices"', headers={"Content-Length": "1000"})

    error = failing(answer, lambda server: open_model("openai/m", {"openai": server.endpoint()}))
    assert (error.code, error.retryable) == ("R0101", True)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (said("no provider is left", code=502), "R0111"),
        (said("rate limited upstream", code=429), "R0104"),
        ({"error": "out of memory"}, "R0111"),
        ({"detail": "what?"}, "R0111"),
        ([], "R0111"),
        (completion(choices=[]), "R0111"),
        (completion(choices=None), "R0111"),
        (completion(choices=["text"]), "R0111"),
    ],
)
def test_a_good_status_with_no_reply_is_a_failure_that_may_pass(body: Any, code: str) -> None:
    error = failing(answering(body), lambda server: open_model("openrouter/a/b", {"openrouter": server.endpoint()}))
    assert (error.code, error.retryable) == (code, True)


@pytest.mark.parametrize(("name", "words"), [("openai/m", "hunter22"), ("anthropic/claude-sonnet-4-5", "hunter22")])
def test_a_key_that_a_provider_echoes_is_not_told(name: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # The name of the variable says nothing of a key: the model itself knows what must not be told.
    monkeypatch.setenv("SCHOOL_PASS", words)
    error = failing(
        answering(said(f"you sent {words} and Bearer {words}"), 400),
        lambda server: open_model(name, {name: server.endpoint("SCHOOL_PASS")}),
    )
    assert words not in error.message + error.hint
    assert "[key]" in error.message


@pytest.mark.parametrize("packed", [False, True])
def test_a_reply_too_large_to_be_one_is_refused(packed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tripos_runtime.models.connections.LARGEST_BYTES", 1 << 20)
    large = b'{"choices": "' + b"a" * (2 << 20)
    headers = {"Content-Encoding": "gzip"} if packed else {}

    async def answer(_: Sent) -> web.StreamResponse:
        return web.Response(body=gzip.compress(large) if packed else large, headers=headers)

    error = failing(answer, lambda server: open_model("openai/m", {"openai": server.endpoint()}))
    assert (error.code, error.retryable) == ("R0111", False)
    assert "larger than 1 MB" in error.message


def test_a_redirect_is_not_followed_with_the_key() -> None:
    async def answer(_: Sent) -> web.StreamResponse:
        return web.Response(status=307, headers={"Location": "http://127.0.0.1:1/v1/chat/completions"})

    error = failing(answer, lambda server: open_model("openai/m", {"openai": server.endpoint()}))
    assert error.code == "R0110"
