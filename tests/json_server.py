"""A server on this machine for a test: it is posted JSON or asked for it, and says JSON."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Posted:
    """A request to the server."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def data(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def key(self) -> str:
        """The header that has the key."""
        return self.headers.get("authorization", "")


@contextmanager
def json_server(answer: Callable[[Posted], Any]) -> Iterator[str]:
    """Yield the address, with `/v1`, of a server that answers requests so: with JSON, or a status and JSON, or a status,
    JSON and further headers. Bytes are sent as they are. What is only read has no body."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # the head and the body in one packet

        def do_POST(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            said = answer(Posted(self.path, self.headers, self.rfile.read(length)))
            status, content, *more = said if isinstance(said, tuple) else (200, said)
            body = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            headers = {"content-type": "application/json", "content-length": str(len(body))}
            for name, value in (headers | dict(*more)).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()


def completion(text: str | None, model: str = "m") -> dict[str, Any]:
    """Return a reply in OpenAI's form."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    return {"id": "1", "object": "chat.completion", "created": 1, "model": model, "choices": [choice], "usage": usage}
