"""A stand-in for batches of providers, over loopback: OpenAI's form and Anthropic's, and calls one by one beside them.

Every request that is answered is billed once, and written down. A reply is a function of the request's body, so that a
run by batches must end like a live one. What goes wrong is chosen by the same: some requests fail at their first try,
and a batch may expire, be cancelled or be refused.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from aiohttp import web

from tests.kills.counting_server import text_of

PAGE = 5
"""Batches on one page of a list: clients have to turn pages."""


@dataclass
class Batch:
    """One batch: its requests, what they are answered with, and when it ends."""

    id: str
    marker: str | None
    lines: list[tuple[str, dict[str, Any]]]
    created_at: float
    ends_at: float
    fate: str
    outcomes: list[tuple[str, int, Any]] | None = None
    """The id, the status and the body of each line; status 0: the batch expired, 1: it was cancelled before."""


@dataclass
class BatchServer:
    """The requests that came, live and in batches. `fates` are of the next batches: `ended` where there is none left."""

    delay_s: float = 0.1
    fates: list[str] = field(default_factory=list)
    failing: int = 0
    """One request of so many fails at its first try; 0: none does."""
    slow_submit_s: float = 0.0
    """How long the answer to a submission takes after it counts."""
    port: int = 0
    billed: Counter[str] = field(default_factory=Counter)
    """By the digest of its body, how often each request was answered."""
    live: Counter[str] = field(default_factory=Counter)
    submitted: Counter[str] = field(default_factory=Counter)
    """By its id, how often each line was submitted."""
    batches: dict[str, Batch] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    forgotten: set[str] = field(default_factory=set)
    """Batches that the server says it does not know."""
    seen: Counter[str] = field(default_factory=Counter)
    """How often each address was asked for."""
    order: dict[str, None] = field(default_factory=dict)
    """The kinds of requests, the one that came last at the end."""
    _tried: Counter[str] = field(default_factory=Counter)

    @property
    def address(self) -> str:
        """The address of OpenAI's form."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def anthropic_address(self) -> str:
        """The address of Anthropic's form."""
        return f"http://127.0.0.1:{self.port}/anthropic"

    def answer(self, content: dict[str, Any], *, anthropic: bool, live: bool = False) -> tuple[int, Any]:
        """Return the status and the body of a reply, which is billed."""
        body = {key: value for key, value in content.items() if key not in ("n", "stream")}
        name = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
        self._tried[name] += 1
        if self.failing and int(name[:4], 16) % self.failing == 0 and self._tried[name] == 1:
            error = {"type": "api_error", "message": "later"}
            return 500, {"type": "error", "error": error} if anthropic else {"error": error}
        (self.live if live else self.billed)[name] += 1
        text = text_of(content, name)
        used = len(json.dumps(body)) // 4, len(text) // 4 + 1
        if anthropic:
            return 200, {
                "id": f"msg_{name[:12]}",
                "type": "message",
                "role": "assistant",
                "model": content["model"],
                "content": [{"type": "text", "text": text}],
                "stop_reason": "end_turn",
                "usage": {"input_tokens": used[0], "output_tokens": used[1]},
            }
        return 200, {
            "id": f"chatcmpl-{name[:12]}",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": content["model"],
            "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": used[0], "completion_tokens": used[1], "total_tokens": sum(used)},
        }

    def take(self, marker: str | None, lines: list[tuple[str, dict[str, Any]]]) -> Batch:
        """Make a batch."""
        self.submitted.update(name for name, _ in lines)
        fate = self.fates.pop(0) if self.fates else "ended"
        now = time.time()
        batch = Batch(f"batch_{len(self.batches):05d}", marker, lines, now, now + self.delay_s, fate)
        self.batches[batch.id] = batch
        return batch

    def outcomes(self, batch: Batch, *, anthropic: bool) -> list[tuple[str, int, Any]] | None:
        """Return what came of a batch; `None` while it is under way. Half of one that expires or is cancelled was
        answered before, every line of one with the fate `errors` fails, and the first line of one with the fate
        `missing` is in no file."""
        if time.time() < batch.ends_at:
            return None
        if batch.outcomes is None:
            answered = {"failed": 0, "errors": 0, "expired": len(batch.lines) // 2, "cancelled": len(batch.lines) // 2}
            done = answered.get(batch.fate, len(batch.lines))
            later = {"error": {"type": "api_error", "message": "later"}}
            undone = {"cancelled": (1, None), "errors": (500, later)}.get(batch.fate, (0, None))
            batch.outcomes = [
                (name, *(self.answer(content, anthropic=anthropic) if place < done else undone))
                for place, (name, content) in enumerate(batch.lines)
                if place or batch.fate != "missing"
            ]
        return batch.outcomes


def _known(server: BatchServer, batch_id: str) -> Batch:
    if batch_id in server.forgotten:
        raise web.HTTPNotFound(text='{"error": {"message": "no such batch"}}')
    return server.batches[batch_id]


def _file(batch: Batch, rows: list[str]) -> str:
    """Return the lines of a file of outcomes, as the fate of the batch has it: with half a line, or with every line
    twice."""
    if batch.fate == "garbled" and rows:
        rows[-1] = rows[-1][: len(rows[-1]) // 2]
    return "\n".join(rows * 2 if batch.fate == "doubled" else rows)


def _page(server: BatchServer, request: web.Request, after: str) -> tuple[list[Batch], bool]:
    """Return a page of batches, the newest first, and whether there are more."""
    every = sorted(server.batches.values(), key=lambda batch: batch.id, reverse=True)
    last = request.query.get(after)
    if last is not None:
        every = [batch for batch in every if batch.id < last]
    return every[:PAGE], len(every) > PAGE


class OpenaiForm:
    """Files and batches as OpenAI has them."""

    def __init__(self, server: BatchServer) -> None:
        self._server = server

    async def chat(self, request: web.Request) -> web.Response:
        status, body = self._server.answer(await request.json(), anthropic=False, live=True)
        return web.json_response(body, status=status)

    async def upload(self, request: web.Request) -> web.Response:
        form = await request.post()
        file = form["file"]
        assert form["purpose"] == "batch"
        assert isinstance(file, web.FileField)
        name = f"file-{len(self._server.files):05d}"
        self._server.files[name] = file.file.read()
        return web.json_response({"id": name, "object": "file", "purpose": "batch"})

    async def create(self, request: web.Request) -> web.Response:
        told = await request.json()
        assert told["endpoint"] == "/v1/chat/completions"
        assert told["completion_window"] == "24h"
        lines = [json.loads(line) for line in self._server.files[told["input_file_id"]].splitlines()]
        assert all(line["method"] == "POST" and line["url"] == told["endpoint"] for line in lines)
        named = [(line["custom_id"], line["body"]) for line in lines]
        batch = self._server.take((told.get("metadata") or {}).get("tripos"), named)
        await asyncio.sleep(self._server.slow_submit_s)
        return web.json_response(self._told(batch))

    async def listed(self, request: web.Request) -> web.Response:
        page, more = _page(self._server, request, "after")
        return web.json_response({"object": "list", "data": [self._told(each) for each in page], "has_more": more})

    async def one(self, request: web.Request) -> web.Response:
        return web.json_response(self._told(_known(self._server, request.match_info["id"])))

    async def content(self, request: web.Request) -> web.Response:
        kind, _, batch_id = request.match_info["id"].partition("-of-")
        batch = _known(self._server, batch_id)
        found = self._server.outcomes(batch, anthropic=False) or []
        rows = []
        for name, status, body in found:
            if status == 0:
                error = {"code": "batch_expired", "message": "This request could not be executed in time."}
                row = {"id": f"r-{name}", "custom_id": name, "response": None, "error": error}
            elif status == 1:
                continue
            else:
                response = {"status_code": status, "request_id": name, "body": body}
                row = {"id": f"r-{name}", "custom_id": name, "response": response, "error": None}
            if (status == 200) == (kind == "out"):
                rows.append(json.dumps(row))
        return web.Response(text=_file(batch, rows[::-1]))

    def _told(self, batch: Batch) -> dict[str, Any]:
        found = self._server.outcomes(batch, anthropic=False)
        done = sum(status == 200 for _, status, _ in found or ())
        ended = batch.fate if batch.fate in ("failed", "expired", "cancelled") else "completed"
        status = "in_progress" if found is None else ended
        told: dict[str, Any] = {
            "id": batch.id,
            "object": "batch",
            "status": status,
            "created_at": int(batch.created_at),
            "metadata": {"tripos": batch.marker},
            "request_counts": {"total": len(batch.lines), "completed": done, "failed": len(found or ()) - done},
        }
        if status == "failed":
            told["errors"] = {"data": [{"code": "invalid_json", "message": "the file is not\nvalid"}]}
        elif found is not None:
            told["output_file_id"] = f"out-of-{batch.id}" if done else None
            told["error_file_id"] = f"err-of-{batch.id}" if done < len(found) else None
        return told


class AnthropicForm:
    """Message batches as Anthropic has them."""

    def __init__(self, server: BatchServer) -> None:
        self._server = server

    async def chat(self, request: web.Request) -> web.Response:
        status, body = self._server.answer(await request.json(), anthropic=True, live=True)
        return web.json_response(body, status=status)

    async def create(self, request: web.Request) -> web.Response:
        assert request.headers["anthropic-version"]
        told = await request.json()
        batch = self._server.take(None, [(each["custom_id"], each["params"]) for each in told["requests"]])
        await asyncio.sleep(self._server.slow_submit_s)
        return web.json_response(self._told(batch))

    async def listed(self, request: web.Request) -> web.Response:
        page, more = _page(self._server, request, "after_id")
        return web.json_response({"data": [self._told(each) for each in page], "has_more": more})

    async def one(self, request: web.Request) -> web.Response:
        return web.json_response(self._told(_known(self._server, request.match_info["id"])))

    async def results(self, request: web.Request) -> web.Response:
        batch = _known(self._server, request.match_info["id"])
        found = self._server.outcomes(batch, anthropic=True) or []
        rows = []
        for name, status, body in found:
            result: dict[str, Any] = {"type": "succeeded", "message": body}
            if status in (0, 1):
                result = {"type": ("expired", "canceled")[status]}
            elif status != 200:
                result = {"type": "errored", "error": body}
            rows.append(json.dumps({"custom_id": name, "result": result}))
        return web.Response(text=_file(batch, rows) + "\n")

    def _told(self, batch: Batch) -> dict[str, Any]:
        found = self._server.outcomes(batch, anthropic=True)
        counts = dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), 0)
        if found is None:
            counts["processing"] = len(batch.lines)
        for _, status, _ in found or ():
            counts[{200: "succeeded", 0: "expired", 1: "canceled"}.get(status, "errored")] += 1
        return {
            "id": batch.id,
            "type": "message_batch",
            "processing_status": "in_progress" if found is None else "ended",
            "created_at": datetime.fromtimestamp(batch.created_at, UTC).isoformat().replace("+00:00", "Z"),
            "request_counts": counts,
            "results_url": None if found is None else "http://elsewhere.invalid/results",
        }


def application(server: BatchServer) -> web.Application:
    """Return the application that answers for a server."""

    @web.middleware
    async def count(request: web.Request, handler: Any) -> web.StreamResponse:
        server.seen[f"{request.method} {request.path.rpartition('/')[2] or request.path}"] += 1
        kind = "file" if "files" in request.path else "batch"
        step = f"{request.method} {kind}"
        server.order.pop(step, None)
        server.order[step] = None
        response: web.StreamResponse = await handler(request)
        return response

    app = web.Application(middlewares=[count], client_max_size=1 << 30)
    first, second = OpenaiForm(server), AnthropicForm(server)
    app.add_routes(
        [
            web.post("/v1/chat/completions", first.chat),
            web.post("/v1/files", first.upload),
            web.get("/v1/files/{id}/content", first.content),
            web.post("/v1/batches", first.create),
            web.get("/v1/batches", first.listed),
            web.get("/v1/batches/{id}", first.one),
            web.post("/anthropic/v1/messages", second.chat),
            web.post("/anthropic/v1/messages/batches", second.create),
            web.get("/anthropic/v1/messages/batches", second.listed),
            web.get("/anthropic/v1/messages/batches/{id}", second.one),
            web.get("/anthropic/v1/messages/batches/{id}/results", second.results),
        ]
    )
    return app


@contextmanager
def batch_serving(delay_s: float = 0.1) -> Iterator[BatchServer]:
    """A server that runs in a thread of its own."""
    server, loop = BatchServer(delay_s), asyncio.new_event_loop()
    runner = web.AppRunner(application(server), access_log=None, shutdown_timeout=0.1)

    async def begin() -> None:
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        server.port = runner.addresses[0][1]

    loop.run_until_complete(begin())
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
