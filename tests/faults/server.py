"""A server on loopback that answers a question as the name in it says: well, or with one of the faults of a network.

It speaks raw bytes, so that it can break off anywhere. A fault happens to the first request with its name; the next one
is answered well, unless the name ends in `always`.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import struct
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

Writer = asyncio.StreamWriter
Behaviour = Callable[[Writer], Awaitable[None]]
JSON = "Content-Type: application/json\r\n"


class Reset(Exception):
    """The connection is to be reset."""


def completion(content: Any = "it is so", **more: Any) -> dict[str, Any]:
    """Return a chat completion; `more` takes the place of its fields."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}
    return {"model": "m", "choices": [choice], "usage": usage, **more}


def answer(status: int, body: Any, headers: str = JSON, length: int | None = None) -> bytes:
    """Return the bytes of a response."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    size = len(data) if length is None else length
    return f"HTTP/1.1 {status} Said\r\n{headers}Content-Length: {size}\r\n\r\n".encode() + data


GOOD = answer(200, completion())
CHUNKED = f"HTTP/1.1 200 OK\r\n{JSON}Transfer-Encoding: chunked\r\n\r\n".encode()


def sends(data: bytes) -> Behaviour:
    """Send these bytes and go on."""

    async def send(writer: Writer) -> None:
        writer.write(data)
        await writer.drain()

    return send


def closes(data: bytes = b"") -> Behaviour:
    """Send these bytes and close the connection."""

    async def send(writer: Writer) -> None:
        writer.write(data)
        await writer.drain()
        writer.close()

    return send


def resets(data: bytes = b"") -> Behaviour:
    """Send these bytes and reset the connection."""

    async def send(writer: Writer) -> None:
        writer.write(data)
        await writer.drain()
        raise Reset

    return send


def stalls(data: bytes = b"") -> Behaviour:
    """Send these bytes and nothing more, ever."""

    async def send(writer: Writer) -> None:
        writer.write(data)
        await writer.drain()
        await asyncio.Event().wait()

    return send


async def trickles(writer: Writer) -> None:
    """Send a good reply a few bytes at a time."""
    for at in range(0, len(GOOD), 7):
        writer.write(GOOD[at : at + 7])
        await writer.drain()
        await asyncio.sleep(0)


async def goes_on(writer: Writer) -> None:
    """Send a body without an end."""
    writer.write(CHUNKED)
    chunk = b"%x\r\n%b\r\n" % (1 << 20, b" " * (1 << 20))
    while True:
        writer.write(chunk)
        await writer.drain()


def said(status: int, message: str = "no", headers: str = "") -> Behaviour:
    """Send a status with the message of an error."""
    return sends(answer(status, {"error": {"message": message}}, JSON + headers))


def replies(body: Any) -> Behaviour:
    """Send a body with status 200."""
    return sends(answer(200, body))


def packed(data: bytes) -> Behaviour:
    """Send a body that says it is packed with gzip."""
    return sends(answer(200, data, JSON + "Content-Encoding: gzip\r\n"))


def redirects(status: int, to: str) -> Behaviour:
    """Send a redirect."""
    return sends(answer(status, b"", f"Location: {to}\r\n"))


def bomb() -> bytes:
    """Return a few kilobytes that unpack to more than the largest reply."""
    return gzip.compress(b" " * (3 << 20), 9) * 24


@dataclass
class FaultServer:
    """The server while it runs. `asked` counts the requests by the name in their question."""

    behaviours: dict[str, Behaviour]
    greeting: bytes = b""
    port: int = 0
    asked: Counter[str] = field(default_factory=Counter)

    async def serve(self, reader: asyncio.StreamReader, writer: Writer) -> None:
        """Answer one request after another."""
        if self.greeting:
            await reader.read(1)
            await closes(self.greeting)(writer)
            return
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                size = int(head.lower().partition(b"content-length:")[2].split()[0])
                body = json.loads(await reader.readexactly(size))
                name = body["messages"][-1]["content"]
                self.asked[name] += 1
                fault = self.behaviours.get(name)
                if fault is not None and (self.asked[name] == 1 or name.endswith("always")):
                    await fault(writer)
                else:
                    await sends(GOOD)(writer)
        except Reset:
            handle = writer.get_extra_info("socket")
            handle.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            writer.close()


@contextmanager
def serving(behaviours: dict[str, Behaviour], tls: Any = None, greeting: bytes = b"") -> Iterator[FaultServer]:
    """Serve in a thread, over TLS where `tls` is its context. With a `greeting`, this is sent at once and nothing else."""
    server = FaultServer(behaviours, greeting)
    loop = asyncio.new_event_loop()
    ready = threading.Event()
    done = asyncio.Event()

    async def main() -> None:
        listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=tls)
        server.port = listening.sockets[0].getsockname()[1]
        ready.set()
        await done.wait()
        listening.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    thread = threading.Thread(target=lambda: loop.run_until_complete(main()), daemon=True)
    thread.start()
    ready.wait()
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join()
        with suppress(RuntimeError):
            loop.run_until_complete(asyncio.sleep(0))
        loop.close()


def free_port() -> int:
    """Return a port where nobody listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port: int = held.getsockname()[1]
        return port
