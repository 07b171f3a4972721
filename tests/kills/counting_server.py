"""An OpenAI-compatible server on loopback that writes down every request: when it came, and when its reply went out.

A reply is a function of the request's body alone, so that two runs of the same work must end alike. Some bodies are
answered with a failure when they come for the first time, and some that want JSON with text that is none.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

TEXT = "the sum of the two is found by counting on from the first of them as many steps as the second says"
WORDS = TEXT.split()


@dataclass
class Asked:
    """One request. `place` is the address it came to, `body` names what was asked, `replies` is how many it wanted.

    `handed_s` is when the reply was handed to the socket; `None`: it never was. Times are of `time.monotonic`.
    """

    place: str
    body: str
    replies: int
    arrived_s: float
    status: int
    handed_s: float | None = None
    connection: int = 0
    """The number of the connection that it came by, which is of one process."""
    unread: bool = False
    """True if the process ended before it had read the reply: its kernel then resets the connection."""


@dataclass
class CountingServer:
    """What has been asked, in the order in which it came. `latency_s` is the longest time that a reply takes."""

    latency_s: float = 0.03
    port: int = 0
    asked: list[Asked] = field(default_factory=list)
    answered: Counter[str] = field(default_factory=Counter)
    """How many replies were handed over, by place and by store."""
    closed_s: dict[int, float] = field(default_factory=dict)
    """When each connection that is gone was closed."""
    changed: threading.Condition = field(default_factory=threading.Condition)
    _seen: dict[tuple[str, str], int] = field(default_factory=dict)
    _held: list[Callable[[], None]] | None = None
    _loop: asyncio.AbstractEventLoop | None = None

    def address(self, store: str, process: str) -> str:
        """Return the base URL for a process that works for a store."""
        return f"http://127.0.0.1:{self.port}/{store}/{process}"

    def of(self, store: str) -> list[Asked]:
        """Return the requests of all processes that worked for a store, in the order in which they came."""
        with self.changed:
            return [each for each in self.asked if each.place.split("/")[1] == store]

    def wait_for(self, holds: Callable[[], bool], timeout_s: float) -> bool:
        """Wait until something holds, looking again with every request and reply; whether it came to hold."""
        with self.changed:
            return self.changed.wait_for(holds, timeout_s)

    def hold(self) -> None:
        """Let no reply out from now on."""
        self._held = []

    def let_go(self) -> None:
        """Let out every reply that was held, and hold no more."""
        held, self._held = self._held or [], None
        assert self._loop is not None
        for send in held:
            self._loop.call_soon_threadsafe(send)

    def take(self, path: str, body: bytes) -> tuple[Asked, bytes, float]:
        """Write a request down; its reply, and the seconds after which to send it."""
        content = json.loads(body)
        replies = int(content.pop("n", None) or 1)
        name = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        place = path.removesuffix("/chat/completions")
        store = place.split("/")[1]
        with self.changed:
            time_of_it = self._seen[store, name] = self._seen.get((store, name), 0) + 1
            status = trouble(name) if time_of_it == 1 else 200
            asked = Asked(place, name, replies, time.monotonic(), status)
            self.asked.append(asked)
            self.changed.notify_all()
        reply = completion(content, name, replies) if status == 200 else refusal(status)
        return asked, reply, self.latency_s * int(name[8:10], 16) / 255

    def sent(self, asked: Asked) -> None:
        """Note that a reply has been handed over."""
        with self.changed:
            asked.handed_s = time.monotonic()
            if asked.status == 200:
                self.answered.update({asked.place: asked.replies, asked.place.split("/")[1]: asked.replies})
            self.changed.notify_all()


def trouble(name: str) -> int:
    """Return the status of the first reply to a body: most are answered."""
    return {0: 429, 1: 429, 2: 500}.get(int(name[:2], 16) % 32, 200)


def refusal(status: int) -> bytes:
    """Return a reply that says to try again."""
    body = json.dumps({"error": {"message": "later", "type": "busy", "code": None}}).encode()
    reason = {429: "Too Many Requests", 500: "Internal Server Error"}[status]
    head = f"HTTP/1.1 {status} {reason}\r\nretry-after: 0\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


def completion(content: dict[str, Any], name: str, replies: int) -> bytes:
    """Return the chat completion for a body, with as many equal choices as were wanted."""
    text = text_of(content, name)
    message = {"role": "assistant", "content": text}
    choices = [{"index": index, "message": message, "finish_reason": "stop"} for index in range(replies)]
    tokens_in, tokens_out = len(json.dumps(content)) // 4, (len(text) // 4 + 1) * replies
    usage = {"prompt_tokens": tokens_in, "completion_tokens": tokens_out, "total_tokens": tokens_in + tokens_out}
    whole = {
        "id": f"chatcmpl-{name[:12]}",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": content["model"],
        "choices": choices,
        "usage": usage,
    }
    body = json.dumps(whole).encode()
    return f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body


def text_of(content: dict[str, Any], name: str) -> str:
    """Words, or JSON that fits the schema; one time in six JSON that breaks off, and of repairs one in six as well."""
    form = content.get("response_format")
    if form is None:
        return " ".join(WORDS[int(digit, 16)] for digit in name[16 : 24 + int(name[12], 16)])
    text = json.dumps(value_of(form["json_schema"]["schema"], name))
    return "I would say {" if int(name[10:12], 16) % 6 == 0 else text


def value_of(schema: dict[str, Any], name: str) -> Any:
    """Return a value that fits a schema, drawn by a name."""
    drawn = int(hashlib.sha256(f"{name} {sorted(schema)}".encode()).hexdigest()[:8], 16)
    match schema:
        case {"enum": choices}:
            return choices[drawn % len(choices)]
        case {"anyOf": [first, *_]} | {"oneOf": [first, *_]}:
            return value_of(first, name)
        case {"properties": properties}:
            return {key: value_of(each, f"{name} {key}") for key, each in properties.items()}
        case {"items": item}:
            return [value_of(item, f"{name} {number}") for number in range(1 + drawn % 3)]
        case {"type": "boolean"}:
            return drawn % 2 == 0
        case {"type": "integer" | "number"}:
            low, high = int(schema.get("minimum", 1)), int(schema.get("maximum", 10))
            return low + drawn % (high - low + 1)
        case _:
            return WORDS[drawn % len(WORDS)]


_numbers = itertools.count(1)


class Connection(asyncio.Protocol):
    """One connection of a client, which sends requests with a `content-length` one after the other."""

    def __init__(self, server: CountingServer) -> None:
        self._server = server
        self._buffer = b""
        self._transport: asyncio.Transport | None = None
        self._number = next(_numbers)
        self._last: Asked | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        with self._server.changed:
            if self._last is not None and isinstance(error, ConnectionError):
                self._last.unread = True
            self._server.closed_s[self._number] = time.monotonic()
            self._server.changed.notify_all()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            first, *lines = self._buffer[:end].decode("latin-1").split("\r\n")
            fields = {key.strip().lower(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
            whole = end + 4 + int(fields["content-length"])
            if len(self._buffer) < whole:
                return
            body, self._buffer = self._buffer[end + 4 : whole], self._buffer[whole:]
            asked, reply, delay_s = self._server.take(first.split(" ")[1], body)
            asked.connection, self._last = self._number, asked
            asyncio.get_running_loop().call_later(delay_s, self._reply, asked, reply)

    def _reply(self, asked: Asked, reply: bytes) -> None:
        held = self._server._held
        if held is not None:
            held.append(lambda: self._reply(asked, reply))
        elif self._transport is not None and not self._transport.is_closing():
            self._transport.write(reply)
            self._server.sent(asked)


@contextmanager
def serving(latency_s: float = 0.03, kind: type[CountingServer] = CountingServer) -> Iterator[CountingServer]:
    """A server that runs in a thread of its own."""
    server = kind(latency_s)
    loop = server._loop = asyncio.new_event_loop()
    listening = loop.run_until_complete(loop.create_server(lambda: Connection(server), "127.0.0.1", 0))
    server.port = listening.sockets[0].getsockname()[1]
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        listening.close()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.close()
