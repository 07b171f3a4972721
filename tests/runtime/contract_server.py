"""A server on the loopback that answers in each provider's own form and keeps what it was sent."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from aiohttp import web

from tripos_runtime.models.base import Endpoint, Message, Model, Reply, Request
from tripos_runtime.models.families import open_model

T = TypeVar("T")
TOLD = (
    "authorization", "api-key", "x-api-key", "x-goog-api-key", "anthropic-version", "content-type", "http-referer",
    "x-title", "openai-organization",
)  # fmt: skip
"""The headers that a provider acts on."""


@dataclass(frozen=True)
class Sent:
    """One request: its path with the query, its body, and those headers that a provider acts on."""

    path: str
    body: dict[str, Any]
    headers: dict[str, str]


@dataclass
class Server:
    """The server while it runs. `answer` makes the response to what was sent."""

    answer: Callable[[Sent], Awaitable[web.StreamResponse]]
    base_url: str = ""
    sent: list[Sent] = field(default_factory=list)

    def endpoint(self, key_env: str | None = None, under: str = "/v1") -> Endpoint:
        return Endpoint(self.base_url + under, key_env)


def answering(
    body: Any, status: int = 200, headers: dict[str, str] | None = None
) -> Callable[[Sent], Awaitable[web.StreamResponse]]:
    async def answer(_: Sent) -> web.StreamResponse:
        if isinstance(body, bytes):
            return web.Response(
                body=body, status=status, headers={"Content-Type": "application/json", **(headers or {})}
            )
        return web.json_response(body, status=status, headers=headers)

    return answer


async def hanging(_: Sent) -> web.StreamResponse:
    await asyncio.Event().wait()
    raise AssertionError


async def in_its_form(sent: Sent) -> web.StreamResponse:
    """Return a reply of three words in the form of the provider whose path it is."""
    return web.json_response(form_of(sent.path))


def form_of(path: str) -> dict[str, Any]:
    text = "it is so"
    if path.endswith("/messages"):
        return {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-served",
            "content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "stop_sequence": None,
            "usage": {"input_tokens": 900, "output_tokens": 60, "cache_read_input_tokens": 100,
                      "cache_creation_input_tokens": 0},
        }  # fmt: skip
    if ":generateContent" in path:
        return {
            "candidates": [{"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {"promptTokenCount": 1000, "candidatesTokenCount": 40, "thoughtsTokenCount": 20,
                              "cachedContentTokenCount": 100, "totalTokenCount": 1060},
            "modelVersion": "gemini-served", "responseId": "1",
        }  # fmt: skip
    if path.endswith(("/api/chat", "/api/generate")):
        said = {"message": {"role": "assistant", "content": text}} if path.endswith("chat") else {"response": text}
        return said | {
            "model": "served", "created_at": "2026-01-01T00:00:00Z", "done": True, "done_reason": "stop",
            "prompt_eval_count": 1000, "eval_count": 60,
        }  # fmt: skip
    return completion()


def completion(text: str | None = "it is so", **changes: Any) -> dict[str, Any]:
    """Return a reply in OpenAI's form."""
    usage = {
        "prompt_tokens": 1000, "completion_tokens": 60, "total_tokens": 1060,
        "prompt_tokens_details": {"cached_tokens": 100}, "completion_tokens_details": {"reasoning_tokens": 20},
    }  # fmt: skip
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    made: dict[str, Any] = {
        "id": "1", "object": "chat.completion", "created": 1, "model": "served", "choices": [choice], "usage": usage,
        "service_tier": "default",
    }  # fmt: skip
    return made | changes


def serving(
    answer: Callable[[Sent], Awaitable[web.StreamResponse]], use: Callable[[Server], Coroutine[Any, Any, T]]
) -> tuple[T, list[Sent]]:
    """Return what `use` gives with a server that answers so, and what the server was sent."""

    async def go() -> tuple[T, list[Sent]]:
        server = Server(answer)

        async def handle(request: web.Request) -> web.StreamResponse:
            headers = {name.lower(): value for name, value in request.headers.items() if name.lower() in TOLD}
            server.sent.append(Sent(str(request.rel_url), await request.json(), headers))
            return await server.answer(server.sent[-1])

        app = web.Application(client_max_size=1 << 28)
        app.router.add_route("*", "/{path:.*}", handle)
        runner = web.AppRunner(app, shutdown_timeout=0.01)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        server.base_url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            return await use(server), server.sent
        finally:
            await runner.cleanup()

    return asyncio.run(go())


REQUEST = Request("m", (Message("user", "hi"),))


def ask(
    name: str,
    answer: Callable[[Sent], Awaitable[web.StreamResponse]],
    request: Request = REQUEST,
    *,
    key_env: str | None = None,
    under: str = "/v1",
    open_: Callable[[str, Endpoint], Model] | None = None,
    **options: Any,
) -> tuple[Reply, list[Sent]]:
    """Ask a model whose server answers so; also what the server was sent. `options` are those of `open_model`."""

    async def use(server: Server) -> Reply:
        endpoint = server.endpoint(key_env, under)
        model = open_(name, endpoint) if open_ else open_model(name, {name.partition("/")[0]: endpoint}, **options)
        try:
            return await model.ask(request)
        finally:
            await model.close()

    return serving(answer, use)
