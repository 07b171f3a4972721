"""A transport in place of the network for whatever litellm sends with: it keeps each request and answers it."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest


@dataclass(frozen=True)
class SentHttp:
    """One request."""

    method: str
    url: str
    headers: dict[str, str]
    body: str

    @property
    def text(self) -> str:
        """Its body with letters as they are, where it is JSON."""
        try:
            return json.dumps(json.loads(self.body), ensure_ascii=False)
        except ValueError:
            return self.body


@dataclass(frozen=True)
class Answered:
    """The answer to a request: JSON, or bytes as they are."""

    body: Any
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


Answering = Callable[[SentHttp], Answered]


class StandIn:
    """The transport: `answer` makes the answer to each request, `sent` are the requests."""

    def __init__(self, answer: Answering) -> None:
        self.answer = answer
        self.sent: list[SentHttp] = []

    def _respond(self, module: Any, request: Any, body: bytes) -> Any:
        headers = {name.lower(): value for name, value in request.headers.items()}
        sent = SentHttp(request.method, str(request.url), headers, body.decode(errors="replace"))
        self.sent.append(sent)
        answer = self.answer(sent)
        content = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
        told = {"content-type": "application/json", **answer.headers}
        return module.Response(answer.status, content=content, headers=told, request=request)

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Put it in the place of every transport, and let nothing else out of this process."""
        import httpx
        from litellm.llms.custom_httpx.aiohttp_transport import LiteLLMAiohttpTransport

        modules: list[Any] = [httpx]
        try:  # what newer clients of OpenAI send with
            import httpx2

            modules.append(httpx2)
        except ImportError:
            pass

        def async_handler(module: Any) -> Any:
            async def handle(_: Any, request: Any) -> Any:
                return self._respond(module, request, await request.aread())

            return handle

        def handler(module: Any) -> Any:
            return lambda _, request: self._respond(module, request, request.read())

        for module in modules:
            monkeypatch.setattr(module.AsyncHTTPTransport, "handle_async_request", async_handler(module))
            monkeypatch.setattr(module.HTTPTransport, "handle_request", handler(module))
        monkeypatch.setattr(LiteLLMAiohttpTransport, "handle_async_request", async_handler(httpx))
        connect = socket.socket.connect

        def refuse(self: socket.socket, address: Any) -> None:
            if not isinstance(address, str):
                raise OSError(f"nothing is to be sent, and this goes to {address}")
            connect(self, address)

        def no_name(*args: Any, **_: Any) -> Any:
            raise socket.gaierror(f"nothing is to be sent, and this asks for {args[0]}")

        monkeypatch.setattr(socket.socket, "connect", refuse)
        monkeypatch.setattr(socket, "getaddrinfo", no_name)
