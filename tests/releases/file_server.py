"""Servers on this machine for a test: one of the files of a folder, and what runs any of them in a thread."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

Server = TypeVar("Server", bound=http.server.HTTPServer)


class _Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        assert isinstance(self.server, FileServer)
        self.server.asked.append(self.path)
        if self.server.answer is not None:
            return self.server.answer(self)
        return super().do_GET()


class FileServer(http.server.ThreadingHTTPServer):
    """A server of the files of a folder, unless something else answers; it writes down what it was asked for."""

    answer: Callable[[http.server.BaseHTTPRequestHandler], None] | None = None

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), lambda *given: _Handler(*given, directory=str(folder)))
        self.asked: list[str] = []


def address_of(server: http.server.HTTPServer) -> str:
    """Return the URL of a server."""
    return f"http://127.0.0.1:{server.server_address[1]}"


@contextmanager
def running(server: Server) -> Iterator[Server]:
    """Run a server in a thread as long as it is needed."""
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
