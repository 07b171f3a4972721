"""HTTP/1.1 posts to models on kept connections, and the limit on the memory of their replies.

Posts use httptools and asyncio directly: a call to a fast server takes a third of the CPU time that an aiohttp session
needs. Requests through proxies, large bodies and other methods go through an aiohttp session.

All calls of a run share `ReplyMemory`, a limit on the bytes of their replies between the network and the store. A reply
of at most `SMALL_BYTES` is not counted. A larger one takes room as it grows. If there is none, the call stops reading
and waits, which does not count towards its timeout. The call whose reply began first can always finish, because the
others leave room for the largest reply that it may get. So there is no deadlock."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import importlib.util
import io
import os
import re
import socket
import ssl
import sys
import weakref
import zlib
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar, Token
from dataclasses import field
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from urllib.parse import urlsplit

import aiohappyeyeballs
import orjson
from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.models.base import ModelError
from tripos_runtime.models.catalog import LOOPBACK, PORTS

if TYPE_CHECKING:
    import aiohttp


MB = 1 << 20
LARGEST_BYTES = 64 * MB
"""The largest reply that is accepted."""
SMALL_BYTES = 1 << 16
"""The largest reply that takes no room in the memory."""
USUAL_MB = 256
"""The default limit on the memory."""


class ReplyMemory:
    """The memory for the replies of a run. `bytes_in_use` is its current use, `most_held` the highest use so far.

    >>> memory = ReplyMemory(100 * MB)
    >>> with shared_reply_memory() as share:
    ...     share.begin(memory)
    ...     asyncio.run(share.take(5 * MB))
    ...     memory.bytes_in_use // MB
    5
    >>> memory.bytes_in_use, memory.most_held // MB
    (0, 5)
    """

    def __init__(self, most_bytes: int = USUAL_MB * MB) -> None:
        self.most_bytes = most_bytes
        self.bytes_in_use = 0
        self.most_held = 0
        self._growing: dict[ReplyShare, None] = {}
        """The calls whose replies have begun and are not complete, the oldest first."""
        self._waiting: deque[tuple[asyncio.Future[None], ReplyShare, int]] = deque()

    async def _take(self, share: ReplyShare, more: int) -> None:
        self._growing.setdefault(share)
        if self._fits(share, more):
            self._add(share, more)
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((future, share, more))
        try:
            await future
        finally:
            if future.cancelled():
                self._admit()

    def _fits(self, share: ReplyShare, more: int) -> bool:
        """Return true if a call may take `more` bytes: room for the rest of the oldest growing reply must be left. The
        oldest call is always admitted if no other holds memory."""
        oldest = next(iter(self._growing))
        left_free = 0 if share is oldest else max(0, LARGEST_BYTES - oldest.bytes_in_use)
        return self.bytes_in_use + more + left_free <= self.most_bytes or (
            share is oldest and self.bytes_in_use == share.bytes_in_use
        )

    def _add(self, share: ReplyShare, more: int) -> None:
        share.bytes_in_use += more
        self.bytes_in_use += more
        self.most_held = max(self.most_held, self.bytes_in_use)

    def _remove(self, share: ReplyShare, amount: int) -> None:
        share.bytes_in_use -= amount
        self.bytes_in_use -= amount

    def _admit(self) -> None:
        """Admit waiting calls that have room now, in the order of their arrival."""
        waiting, self._waiting = self._waiting, deque()
        for future, share, more in waiting:
            if future.done():
                continue
            if self._fits(share, more):
                self._add(share, more)
                future.set_result(None)
            else:
                self._waiting.append((future, share, more))


class ReplyShare:
    """The bytes of its run's memory that one call uses. `deadlines` are the timeouts of the call, which pause while it
    waits for room."""

    __slots__ = ("_memory", "_token", "bytes_in_use", "deadlines")

    def __init__(self) -> None:
        self._memory: ReplyMemory | None = None
        self._token: Token[ReplyShare | None] | None = None
        self.bytes_in_use = 0
        self.deadlines: list[asyncio.Timeout] = []

    def __enter__(self) -> ReplyShare:
        """Make this the share of the calls made in the block."""
        self._token = REPLY_SHARE.set(self)
        return self

    def __exit__(self, *error: object) -> None:
        """Release everything."""
        assert self._token is not None
        REPLY_SHARE.reset(self._token)
        self.give_back()
        self._memory = None
        self.deadlines = []

    def begin(self, memory: ReplyMemory) -> None:
        """Begin a call whose reply counts towards this memory. The room of the previous call is released, since a call
        that waits for room must not hold any of an earlier reply."""
        self.give_back()
        self._memory = memory

    def ends_within(self, seconds: float) -> bool:
        """Return true if a timeout ends the call within `seconds`."""
        latest = asyncio.get_running_loop().time() + seconds
        return any((end := deadline.when()) is not None and end <= latest for deadline in self.deadlines)

    async def take(self, more: int) -> None:
        """Wait until there is room for `more` bytes of a reply."""
        memory = self._memory
        if memory is None:  # the call has ended, and its work continues for others, as in a shared batch
            return
        loop = asyncio.get_running_loop()
        started = loop.time()
        ends = [(deadline, deadline.when()) for deadline in self.deadlines if not deadline.expired()]
        for deadline, _ in ends:
            deadline.reschedule(None)
        try:
            await memory._take(self, more)
        finally:
            for deadline, end in ends:
                if end is not None and deadline in self.deadlines:
                    deadline.reschedule(end + loop.time() - started)

    def arrived(self, spare: int) -> None:
        """Release bytes that were reserved and not needed: the reply is complete."""
        memory = self._memory
        if memory is not None:
            memory._growing.pop(self, None)
            memory._remove(self, min(spare, self.bytes_in_use))
            memory._admit()

    def give_back(self) -> None:
        """Release all room of the call: its reply was read, or there is none."""
        memory = self._memory
        if memory is not None and (self.bytes_in_use or self in memory._growing):
            memory._growing.pop(self, None)
            memory._remove(self, self.bytes_in_use)
            memory._admit()


REPLY_SHARE: ContextVar[ReplyShare | None] = ContextVar("REPLY_SHARE", default=None)
"""The share of the current call; None if nothing limits the memory."""


def shared_reply_memory() -> AbstractContextManager[ReplyShare]:
    """Return the share of an enclosing block, or a new share that is released at the end of this block."""
    outer = REPLY_SHARE.get()
    return ReplyShare() if outer is None else nullcontext(outer)


NAMES_KEPT_S = 300
"""How long the addresses of a name are cached, in seconds."""
IDLE_S = 15.0
"""A connection that was idle for longer, in seconds, is not reused: the server may be about to close it."""
SECOND_ADDRESS_S = 0.25
"""The delay before the next address of a name is tried in parallel, in seconds (RFC 8305, section 5)."""
MOST_HEAD_BYTES = 65_536
"""The largest number of bytes of a response before its body."""
CLOSED = "the server closed the connection"
PART_BYTES = 1 << 18
"""The largest number of bytes that are decompressed at a time."""


class HttpError(ConnectionError):
    """There is no response: the connection could not be made, broke off, or delivered something other than HTTP."""


class ServerOrigin(NamedTuple):
    """A server: its host, its port, and the trusted authorities if it is reached by TLS."""

    host: str
    port: int
    trusted: ssl.SSLContext | None

    @classmethod
    def of(cls, url: str, trusted: ssl.SSLContext | None) -> ServerOrigin:
        """Return the server of an address."""
        parts = urlsplit(url)
        return cls(parts.hostname or "", parts.port or PORTS[parts.scheme], trusted)


class HttpConnection(asyncio.Protocol):
    """A connection to a server with one request at a time.

    `send` returns when a small body has arrived, or the head of a large or compressed one. After it `status` and
    `headers` are available; `small_body` returns a small body, and `parts` yields a large one."""

    def __init__(self) -> None:
        self.used_s = 0.0
        """The loop time of its last use."""
        self.status = 0
        """The status of the response; 0 before it arrives."""
        self.headers: dict[str, str] = {}
        """The headers; names are in lower case."""
        self.complete = False
        """True once the last byte of the body has arrived."""
        self._parts: list[bytes] = []
        """The parts of the body that were received and not yielded."""
        self._framing = 0
        """The bytes of a response outside of its body."""
        self._size = 0
        """The bytes of the body so far."""
        self._in_parts = False
        """True if the body is large or compressed: it is read from `parts`, and nothing is received between two."""
        self._keep_alive = False
        """True if the server keeps the connection open after the response."""
        self._until_closed = False
        """True if the body ends with the connection."""
        self._error: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._transport: asyncio.Transport | None = None
        self._parser = HttpResponseParser(self)

    @property
    def usable(self) -> bool:
        """True if another request can be sent: the server keeps the connection open and has received all of the last
        request."""
        transport = self._transport
        if transport is None or not self.complete or self._error is not None or transport.is_closing():
            return False
        return self._keep_alive and not transport.get_write_buffer_size()

    async def send(self, request: bytes) -> None:
        """Send a request and wait for its response. Raises `HttpError` if there is none."""
        self._parts, self._framing, self._size = [], 0, 0
        self.status, self.complete, self._in_parts = 0, False, False
        if self._transport is None or self._error is not None:
            raise self._error or HttpError(CLOSED)
        self._transport.write(request)
        await self._receive()

    def small_body(self) -> bytes | None:
        """Return the body; None if it has to be read from `parts`."""
        if self._in_parts:
            return None
        return self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)

    async def parts(self) -> AsyncGenerator[bytes, None]:
        """Yield the decompressed body in parts. Nothing is received while a part is in use."""
        decompressor = _decompressor(self.headers.get("content-encoding", ""))
        while True:
            parts, self._parts = self._parts, []
            for part in parts:
                for piece in decompressor.pieces(part):
                    yield piece
            if self.complete:
                decompressor.end()
                return
            if self._error is not None:
                raise self._error
            assert self._transport is not None
            self._transport.resume_reading()
            await self._receive()

    def close(self) -> None:
        """Close the connection at once."""
        if self._transport is not None:
            with contextlib.suppress(RuntimeError):  # its event loop has ended, and the connection with it
                self._transport.abort()

    async def _receive(self) -> None:
        """Wait until the response is complete, a part of it has arrived for `parts`, or it failed."""
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None
        if self._error is not None and not self._in_parts:
            raise self._error

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _fail(self, error: Exception) -> None:
        if self._error is None:
            self._error = error
        self.complete = False
        self._wake()
        self.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by asyncio when the connection is open."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Called by asyncio with received bytes."""
        if self.complete or self._transport is None:
            self._fail(HttpError(CLOSED))  # the server sent data without a request
            return
        before = self._size
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            self._fail(HttpError(f"the response is no HTTP: {error}"))
            return
        self._framing += len(data) - (self._size - before)
        if self._framing > MOST_HEAD_BYTES + 8 * self._size:  # a chunk of one byte takes six bytes of framing
            self._fail(HttpError("the head of the response is too large"))
        elif self.complete:
            self._wake()
        elif self._in_parts:
            self._transport.pause_reading()
            self._wake()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Called by the parser for a header."""
        if not self.status:
            self.headers[name.decode("latin-1").lower()] = value.decode("utf-8", "surrogateescape").strip()

    def on_message_begin(self) -> None:
        """Called by the parser at the start of a response."""
        if self.complete:
            raise ValueError("a second response")
        self.headers = {}

    def on_headers_complete(self) -> None:
        """Called by the parser at the start of a body."""
        status = self._parser.get_status_code()
        if status < 200:
            return
        self.status = status
        length = self.headers.get("content-length", "")
        chunked = "chunked" in self.headers.get("transfer-encoding", "").lower()
        self._until_closed = not length and not chunked and status not in (204, 304)
        self._in_parts = "content-encoding" in self.headers or (length.isdecimal() and int(length) > SMALL_BYTES)

    def on_body(self, part: bytes) -> None:
        """Called by the parser with a part of the body."""
        self._parts.append(part)
        self._size += len(part)
        if self._size > SMALL_BYTES:
            self._in_parts = True

    def on_message_complete(self) -> None:
        """Called by the parser at the end of a response."""
        self.complete = self.status != 0  # an interim response, such as `100 Continue`, does not count
        self._keep_alive = self._parser.should_keep_alive()

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by asyncio when the connection is closed."""
        self._transport = None
        if self.complete:
            return
        if exc is None and self._until_closed and self.status:
            self.complete = True
            self._wake()
        elif isinstance(exc, OSError):
            self._fail(HttpError(str(exc)))
        elif self.status:
            self._fail(HttpError("the response breaks off"))
        else:
            self._fail(HttpError(CLOSED))


class ConnectionPool:
    """The idle connections of an event loop, and the resolved addresses of names."""

    def __init__(self) -> None:
        self._idle: dict[ServerOrigin, list[HttpConnection]] = {}
        self._addresses: dict[tuple[str, int], tuple[float, asyncio.Future[list[Any]]]] = {}

    async def acquire(self, origin: ServerOrigin, connect_s: float) -> HttpConnection:
        """Return a connection for exclusive use, idle or new. Raises `HttpError`."""
        idle = self._idle.get(origin)
        oldest_use_s = asyncio.get_running_loop().time() - IDLE_S
        while idle:
            connection = idle.pop()
            if connection.used_s >= oldest_use_s and connection.usable:
                return connection
            connection.close()
        try:
            async with asyncio.timeout(connect_s):
                return await self._connect(origin)
        except TimeoutError as error:
            raise HttpError(f"no connection to {origin.host} in time") from error
        except OSError as error:  # includes TLS errors
            raise HttpError(f"no connection to {origin.host}: {error}") from error

    def release(self, origin: ServerOrigin, connection: HttpConnection) -> None:
        """Keep a connection after a response, or close it if it cannot be reused."""
        if connection.usable:
            connection.used_s = asyncio.get_running_loop().time()
            self._idle.setdefault(origin, []).append(connection)
        else:
            connection.close()

    def close(self) -> None:
        """Close all idle connections."""
        for connections in self._idle.values():
            for connection in connections:
                connection.close()
        self._idle = {}

    async def _connect(self, origin: ServerOrigin) -> HttpConnection:
        loop = asyncio.get_running_loop()
        open_socket = await aiohappyeyeballs.start_connection(
            await self._addresses_of(origin), happy_eyeballs_delay=SECOND_ADDRESS_S, interleave=1, loop=loop
        )
        open_socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        name = None if origin.trusted is None else origin.host.rstrip(".")
        _, connection = await loop.create_connection(
            HttpConnection, sock=open_socket, ssl=origin.trusted, server_hostname=name
        )
        return connection

    async def _addresses_of(self, origin: ServerOrigin) -> list[Any]:
        """Return the addresses of a name; concurrent calls share one lookup."""
        loop, key = asyncio.get_running_loop(), (origin.host, origin.port)
        until_s, lookup = self._addresses.get(key, (0.0, None))
        if lookup is None or until_s < loop.time() or (lookup.done() and lookup.exception() is not None):
            lookup = asyncio.ensure_future(loop.getaddrinfo(*key, type=socket.SOCK_STREAM))
            self._addresses[key] = (loop.time() + NAMES_KEPT_S, lookup)
        return await asyncio.shield(lookup)


class _Decompressor:
    """A decompressor for a gzip or deflate body."""

    def __init__(self) -> None:
        self._object: Any = None
        """zlib's decompressor of the current gzip member; None before the first part."""
        self._window_bits = zlib.MAX_WBITS | 32
        """zlib's argument for a body with the header of gzip or zlib. A negative value means no header, as some servers
        send `deflate`."""

    def pieces(self, part: bytes) -> Iterator[bytes]:
        """Yield the decompressed content of a part, at most `PART_BYTES` at a time."""
        if self._object is None and part[0] & 0x0F != 8 and part[:1] != b"\x1f":
            self._window_bits = -zlib.MAX_WBITS
        try:
            while True:
                if self._object is None or (self._object.eof and part):  # gzip members may follow each other
                    self._object = zlib.decompressobj(self._window_bits)
                piece = self._object.decompress(part, PART_BYTES)
                part = self._object.unused_data if self._object.eof else self._object.unconsumed_tail
                if piece:
                    yield piece
                if not part and (self._object.eof or len(piece) < PART_BYTES):
                    return
        except zlib.error as error:
            raise HttpError(f"the body cannot be unpacked: {error}") from error

    def end(self) -> None:
        """Raise `HttpError` if the compressed body breaks off."""
        if self._object is not None and not self._object.eof:
            raise HttpError("the packed body breaks off")


class _Uncompressed:
    """An uncompressed body."""

    def pieces(self, part: bytes) -> Iterable[bytes]:
        """Return the part."""
        return (part,)

    def end(self) -> None:
        """Do nothing: the parser has checked the length."""


def _decompressor(encoding: str) -> _Decompressor | _Uncompressed:
    """Return the decompressor of a body. Raises `HttpError` for an encoding that was not requested."""
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return _Uncompressed()
    if name in ("gzip", "x-gzip", "deflate"):
        return _Decompressor()
    raise HttpError(f"the body is packed with `{name[:40]}`, which was not asked for")


def request_head(url: str, headers: Mapping[str, str]) -> bytes | None:
    """Return the head of a POST up to the value of its last header, `Content-Length`; None if the address or a header
    cannot be sent as it is, for instance because of a line break.

    >>> request_head("http://localhost:8000/v1", {"Accept": "application/json"})
    b'POST /v1 HTTP/1.1\\r\\nHost: localhost:8000\\r\\nAccept: application/json\\r\\nContent-Length: '
    """
    parts = urlsplit(url)
    if not url.isascii() or " " in url or "@" in parts.netloc or not parts.hostname:
        return None
    host = parts.netloc.removesuffix(f":{PORTS[parts.scheme]}").removesuffix(":")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    lines = [f"POST {path} HTTP/1.1", f"Host: {host}", *(f"{name}: {value}" for name, value in headers.items())]
    if any(ord(letter) < 32 or ord(letter) == 127 for line in lines for letter in line):
        return None
    return "\r\n".join([*lines, "Content-Length: "]).encode()


LARGE_BYTES = 1 << 20
"""Larger bodies are sent piece by piece, since sending them at once would block the event loop."""
SHORTEST_KEY = 6
"""A shorter key, such as `none`, is not a secret."""
CONNECT_S = 30.0
"""The longest time for making a connection, in seconds: name lookup, proxy and TLS."""
CONTENT_TYPE = "content-type"
NOT_SENT = ("Accept-Encoding",)
"""The headers of aiohttp that are left out. Replies are a few kilobytes: compressing them costs more than sending
them."""


@dataclass(frozen=True)
class HttpAnswer:
    """The response of a server: status, headers and body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass
class _Pool:
    """The connections of an event loop, and the number of models that use them."""

    connections: ConnectionPool = field(default_factory=ConnectionPool)
    session: aiohttp.ClientSession | None = None
    """The session for requests that `connections` cannot make, created on first use."""
    users: int = 0


_pools: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Pool] = weakref.WeakKeyDictionary()


class ModelConnection:
    """The client of one model for its address. Nothing is opened before the first request.

    `timeout_s` is for a call, from the connection to the last byte of the reply. `secrets` are keys, which are removed
    from the body of every answer."""

    def __init__(self, url: str, headers: Mapping[str, str], timeout_s: float, secrets: Iterable[str] = ()) -> None:
        self.url = url
        self._secrets = tuple(
            dict.fromkeys(form for secret in secrets if len(secret) >= SHORTEST_KEY for form in _forms(secret))
        )
        self._headers = dict(headers)
        self._timeout_s = timeout_s
        parts = urlsplit(url)
        self._proxy = _proxy(parts.scheme, parts.hostname or "")
        self._secure = parts.scheme == "https"
        self._head = None if self._proxy else request_head(url, headers)
        self._origin: ServerOrigin | None = None
        self._pool: _Pool | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def post(self, body: bytes) -> HttpAnswer:
        """Post a body, and return the server's answer. Raises `HttpError`, `TimeoutError`, and `ModelError` R0111 for
        an answer of more than `LARGEST_BYTES`."""
        share = REPLY_SHARE.get()
        post = self._post if self._head is None or len(body) > LARGE_BYTES else self._post_directly
        if share is not None and share.ends_within(self._timeout_s):
            return await post(body)  # the call has a timeout of its own that is not later
        async with asyncio.timeout(self._timeout_s) as deadline:
            if share is not None:
                share.deadlines.append(deadline)
            try:
                return await post(body)
            finally:
                if share is not None and deadline in share.deadlines:  # not if the call has ended
                    share.deadlines.remove(deadline)

    async def _post_directly(self, body: bytes) -> HttpAnswer:
        """Post to a server that is reached without a proxy."""
        assert self._head is not None
        origin = self._origin
        if origin is None:
            origin = self._origin = ServerOrigin.of(self.url, _trusted() if self._secure else None)
        pool = self._open_pool().connections
        connection = await pool.acquire(origin, min(CONNECT_S, self._timeout_s))
        try:
            await connection.send(b"%b%d\r\n\r\n%b" % (self._head, len(body), body))
            data = connection.small_body()
            if data is None:
                content_length = connection.headers.get("content-length", "")
                length = int(content_length) if content_length.isdecimal() else 0
                async with contextlib.aclosing(connection.parts()) as parts:
                    data = await _bounded_body(parts, length, self.url)
        except BaseException:
            connection.close()
            raise
        pool.release(origin, connection)
        return HttpAnswer(connection.status, connection.headers, self._without_key(data))

    async def _post(self, body: bytes) -> HttpAnswer:
        """Post through a proxy, or a large body."""
        async with self._open("POST", self.url, body if len(body) <= LARGE_BYTES else io.BytesIO(body)) as response:
            return HttpAnswer(response.status, response.headers, self._without_key(await _body(response, self.url)))

    async def status(self, url: str, timeout_s: float) -> int | None:
        """Return the status of another address of the same server; None if there is no response in time."""
        try:
            async with asyncio.timeout(timeout_s), self._open("GET", url, b"") as response:
                return response.status
        except OSError:
            return None

    async def send(self, method: str, url: str, body: bytes | aiohttp.FormData | None = None) -> HttpAnswer:
        """Send a request of any method to another address of the same server, and return the answer. Raises the errors
        of `post`. A form sets its own headers."""
        async with asyncio.timeout(self._timeout_s), self._open(method, url, body) as response:
            return HttpAnswer(response.status, response.headers, self._without_key(await _body(response, url)))

    async def lines(self, url: str, missing: ModelError) -> AsyncIterator[bytes]:
        """Yield the lines of a file at another address of the same server, which may be larger than memory. Raises the
        errors of `post`, `missing` if the file does not exist, and `ModelError` R0111 if it is unavailable or a line
        is too long."""
        async with self._open("GET", url) as response:
            if response.status in (404, 410):
                raise missing
            if response.status != 200:
                raise ModelError("R0111", f"{url} gave status {response.status}", "try again later", retryable=True)
            rest = b""
            async for part in response.content.iter_any():
                *lines, rest = (rest + part).split(b"\n")
                for line in lines:
                    yield self._without_key(line)
                if len(rest) > LARGEST_BYTES:
                    raise ModelError("R0111", f"a line of {url} is too long", "check the address")
            if rest.strip():
                yield self._without_key(rest)

    @contextlib.asynccontextmanager
    async def _open(
        self, method: str, url: str, body: bytes | io.BytesIO | aiohttp.FormData | None = None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Open the response to a request of any method, through the aiohttp session. A form sets its own content type,
        and a request without a body has none."""
        import aiohttp
        from yarl import URL

        is_content = isinstance(body, bytes | io.BytesIO)
        parts = urlsplit(url)
        try:
            async with self._session().request(
                method,
                URL(url, encoded=True),
                data=body or None,
                headers={
                    name: value for name, value in self._headers.items() if is_content or name.lower() != CONTENT_TYPE
                },
                timeout=aiohttp.ClientTimeout(total=None, connect=min(CONNECT_S, self._timeout_s)),
                proxy=_proxy(parts.scheme, parts.hostname or ""),
                ssl=_trusted() if self._secure else True,
                allow_redirects=False,
            ) as response:
                yield response
        except aiohttp.ClientError as error:
            raise HttpError(str(error) or type(error).__name__) from error

    def _without_key(self, body: bytes) -> bytes:
        """Return a body without the key that was sent: some servers echo it."""
        for secret in self._secrets:
            if secret in body:
                body = body.replace(secret, b"[key]")
        return body

    async def close(self) -> None:
        """Release the pool; the last model closes it."""
        pool, self._pool, loop = self._pool, None, self._loop
        if pool is None:
            return
        pool.users -= 1
        if pool.users == 0:
            if loop is not None and _pools.get(loop) is pool:
                del _pools[loop]
            pool.connections.close()
            if pool.session is not None:
                await pool.session.close()

    def _session(self) -> aiohttp.ClientSession:
        pool = self._open_pool()
        if pool.session is None:
            pool.session = _new_session()
        return pool.session

    def _open_pool(self) -> _Pool:
        loop = asyncio.get_running_loop()
        if self._pool is None or self._loop is not loop:
            pool = _pools.get(loop)
            if pool is None:
                pool = _pools[loop] = _Pool()
            pool.users += 1
            if self._pool is not None:
                if self._pool.session is not None:
                    self._pool.session.detach()  # its event loop has ended, and the connections with it
                self._pool.connections.close()
            self._pool, self._loop = pool, loop
        return self._pool


def _new_session() -> aiohttp.ClientSession:
    import aiohttp

    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=NAMES_KEPT_S),
        cookie_jar=aiohttp.DummyCookieJar(),
        skip_auto_headers=NOT_SENT,
        max_line_size=65_536,
        max_field_size=65_536,
    )


def _forms(key: str) -> tuple[bytes, bytes]:
    """Return a key as it is, and as JSON writes it."""
    return key.encode(), orjson.dumps(key)[1:-1]


async def _body(response: aiohttp.ClientResponse, url: str) -> bytes:
    """Return the decompressed body of a response. Raises `ModelError` if it is too large."""
    try:
        return await _bounded_body(response.content.iter_any(), response.content_length or 0, url)
    except ModelError:
        response.close()
        raise


async def _bounded_body(body: AsyncIterator[bytes], announced: int, url: str) -> bytes:
    """Return a body; `announced` is its `Content-Length`, or 0. A large body waits for room in the run's memory as it
    grows. Raises `ModelError` if it is larger than `LARGEST_BYTES`."""
    share = REPLY_SHARE.get()
    parts: list[bytes] = []
    size = 0
    room = SMALL_BYTES  # the size for which there is room
    if announced <= LARGEST_BYTES:
        async for part in body:
            size += len(part)
            if size > LARGEST_BYTES:
                break
            parts.append(part)
            if size > room:
                grown = max(announced, min(2 * size, LARGEST_BYTES))
                if share is not None:
                    await share.take(grown - (room if room > SMALL_BYTES else 0))
                room = grown
        if share is not None and room > SMALL_BYTES:
            share.arrived(max(0, room - size))
    if max(size, announced) > LARGEST_BYTES:
        megabytes = LARGEST_BYTES >> 20
        raise ModelError(
            "R0111", f"the reply from {url} is larger than {megabytes} MB", "set `max_tokens`, or check the address"
        )
    return b"".join(parts)


def _proxy(scheme: str, host: str) -> str | None:
    """Return the proxy for a host according to the environment; None for a server on this machine."""
    if host in LOOPBACK or (sys.platform == "linux" and not any(map(_PROXIES, os.environ))):
        return None
    import urllib.request  # takes 10 ms, since it imports the email package

    if urllib.request.proxy_bypass(host):
        return None
    return urllib.request.getproxies().get(scheme)


_PROXIES = re.compile("_proxy$", re.IGNORECASE).search


@functools.cache
def _trusted() -> ssl.SSLContext:
    """Return the trusted authorities: those of the system, of `SSL_CERT_FILE`, and of certifi."""
    context = ssl.create_default_context()
    if importlib.util.find_spec("certifi") is not None:
        import certifi

        context.load_verify_locations(certifi.where())
    return context


def headers_of(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers; names are in lower case."""
    return {str(name).lower(): str(value) for name, value in headers.items()}
