"""Posts over HTTP/1.1 on connections that are kept: httptools reads the responses, and asyncio does the rest.

A call of a fast server takes a third of the CPU that an aiohttp session takes for it, since nothing but its body is
made for one post. Proxies, large bodies and other methods are left to the session (`connections.py`).
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import zlib
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, cast
from urllib.parse import urlsplit

import aiohappyeyeballs
from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from tripos_runtime.models.over_http.reply_memory import SMALL_BYTES

PORTS = {"http": 80, "https": 443}
NAMES_KEPT_S = 300
IDLE_S = 15.0
"""A connection that was idle for longer is not used again: the server may be about to close it."""
SECOND_ADDRESS_S = 0.25
"""The delay before the next address of a name is tried as well (RFC 8305, section 5)."""
MOST_HEAD_BYTES = 65_536
"""The most bytes of a response before its body."""
CLOSED = "the server closed the connection"
PART_BYTES = 1 << 18
"""The most bytes that are unpacked at a time."""


class HttpError(ConnectionError):
    """There is no response: the connection was never made or broke off, or it brought what is no HTTP."""


class ServerOrigin(NamedTuple):
    """A server: its host, its port, and the authorities that it is held to where it speaks TLS."""

    host: str
    port: int
    trusted: ssl.SSLContext | None

    @classmethod
    def of(cls, url: str, trusted: ssl.SSLContext | None) -> ServerOrigin:
        """Return the server of an address."""
        parts = urlsplit(url)
        return cls(parts.hostname or "", parts.port or PORTS[parts.scheme], trusted)


class HttpConnection(asyncio.Protocol):
    """A connection to a server: one request at a time, and the response to it.

    `status` and `headers` are there after `sent`, a small body too; `parts` yields any body.
    """

    def __init__(self) -> None:
        self.used_s = 0.0
        """The time of the loop when it was last used."""
        self.status = 0
        self.headers: dict[str, str] = {}
        """The headers by their names in small letters."""
        self.whole = False
        """True when the last byte of the body is there."""
        self._parts: list[bytes] = []
        self._framing = 0
        """The bytes of a response that are not in its body."""
        self._size = 0
        self._held = False
        """True where the rest of a body is waited for by whoever reads it: the server is held back meanwhile."""
        self._kept = False
        self._until_closed = False
        self._error: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._transport: asyncio.Transport | None = None
        self._parser = HttpResponseParser(self)

    @property
    def usable(self) -> bool:
        """Return true if another request can be sent: the server keeps the connection, and took all of the last one."""
        transport = self._transport
        if transport is None or not self.whole or self._error is not None or transport.is_closing():
            return False
        return self._kept and not transport.get_write_buffer_size()

    async def sent(self, request: bytes) -> None:
        """Send a request and wait for the head of its response. Raises `HttpError` where there is none."""
        self._parts, self._framing, self._size = [], 0, 0
        self.status, self.whole, self._held = 0, False, False
        if self._transport is None or self._error is not None:
            raise self._error or HttpError(CLOSED)
        self._transport.write(request)
        await self._more()

    def small_body(self) -> bytes | None:
        """Return the body if it is here and was not packed; else it is to be read in `parts`."""
        if self._held:
            return None
        return self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)

    async def parts(self) -> AsyncGenerator[bytes, None]:
        """Yield the body in parts, unpacked; the server waits with the next part while one is in use."""
        unpack = _unpacking(self.headers.get("content-encoding", ""))
        while True:
            parts, self._parts = self._parts, []
            for part in parts:
                for piece in unpack.pieces(part):
                    yield piece
            if self.whole:
                unpack.end()
                return
            if self._error is not None:
                raise self._error
            assert self._transport is not None
            self._transport.resume_reading()
            await self._more()

    def close(self) -> None:
        """Close the connection now, whatever is under way."""
        if self._transport is not None:
            with contextlib.suppress(RuntimeError):  # its loop is over, and the connection with it
                self._transport.abort()

    async def _more(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None
        if self._error is not None and not self._held:
            raise self._error

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _fail(self, error: Exception) -> None:
        if self._error is None:
            self._error = error
        self.whole = False
        self._wake()
        self.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin: called by asyncio."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Read what came: called by asyncio."""
        if self.whole or self._transport is None:
            self._fail(HttpError(CLOSED))  # nobody asked for this
            return
        before = self._size
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            self._fail(HttpError(f"the response is no HTTP: {error}"))
            return
        self._framing += len(data) - (self._size - before)
        if self._framing > MOST_HEAD_BYTES + 8 * self._size:  # one byte a chunk takes six of framing
            self._fail(HttpError("the head of the response is too large"))
        elif self.whole:
            self._wake()
        elif self._held:
            self._transport.pause_reading()
            self._wake()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header: called by the parser."""
        if not self.status:
            self.headers[name.decode("latin-1").lower()] = value.decode("utf-8", "surrogateescape").strip()

    def on_message_begin(self) -> None:
        """Begin a response: called by the parser."""
        if self.whole:
            raise ValueError("a second response")
        self.headers = {}

    def on_headers_complete(self) -> None:
        """Begin the body: called by the parser."""
        status = self._parser.get_status_code()
        if status < 200:
            return
        self.status = status
        length = self.headers.get("content-length", "")
        chunked = "chunked" in self.headers.get("transfer-encoding", "").lower()
        self._until_closed = not length and not chunked and status not in (204, 304)
        self._held = "content-encoding" in self.headers or (length.isdecimal() and int(length) > SMALL_BYTES)

    def on_body(self, part: bytes) -> None:
        """Keep a part of the body: called by the parser."""
        self._parts.append(part)
        self._size += len(part)
        if self._size > SMALL_BYTES:
            self._held = True

    def on_message_complete(self) -> None:
        """End a response: called by the parser."""
        self.whole = self.status != 0  # else it was an interim one, such as `100 Continue`
        self._kept = self._parser.should_keep_alive()

    def connection_lost(self, exc: Exception | None) -> None:
        """End: called by asyncio."""
        self._transport = None
        if self.whole:
            return
        if exc is None and self._until_closed and self.status:
            self.whole = True
            self._wake()
        elif isinstance(exc, OSError):
            self._fail(HttpError(str(exc)))
        elif self.status:
            self._fail(HttpError("the response breaks off"))
        else:
            self._fail(HttpError(CLOSED))


class ConnectionPool:
    """The connections of an event loop that are kept, and the addresses of names."""

    def __init__(self) -> None:
        self._idle: dict[ServerOrigin, list[HttpConnection]] = {}
        self._addresses: dict[tuple[str, int], tuple[float, asyncio.Future[list[Any]]]] = {}

    async def taken(self, origin: ServerOrigin, connect_s: float) -> HttpConnection:
        """Return a connection that nobody else uses: one that is kept, or a new one. Raises `HttpError`."""
        idle = self._idle.get(origin)
        since_s = asyncio.get_running_loop().time() - IDLE_S
        while idle:
            connection = idle.pop()
            if connection.used_s >= since_s and connection.usable:
                return connection
            connection.close()
        try:
            async with asyncio.timeout(connect_s):
                return await self._opened(origin)
        except TimeoutError as error:
            raise HttpError(f"no connection to {origin.host} in time") from error
        except OSError as error:  # the words of TLS are among them
            raise HttpError(f"no connection to {origin.host}: {error}") from error

    def give_back(self, origin: ServerOrigin, connection: HttpConnection) -> None:
        """Keep a connection after a response, or close it where it can serve no other."""
        if connection.usable:
            connection.used_s = asyncio.get_running_loop().time()
            self._idle.setdefault(origin, []).append(connection)
        else:
            connection.close()

    def close(self) -> None:
        """Close all connections that nobody uses."""
        for connections in self._idle.values():
            for connection in connections:
                connection.close()
        self._idle = {}

    async def _opened(self, origin: ServerOrigin) -> HttpConnection:
        loop = asyncio.get_running_loop()
        opened = await aiohappyeyeballs.start_connection(
            await self._addresses_of(origin), happy_eyeballs_delay=SECOND_ADDRESS_S, interleave=1, loop=loop
        )
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        name = None if origin.trusted is None else origin.host.rstrip(".")
        _, connection = await loop.create_connection(
            HttpConnection, sock=opened, ssl=origin.trusted, server_hostname=name
        )
        return connection

    async def _addresses_of(self, origin: ServerOrigin) -> list[Any]:
        """Return the addresses of a name, which many calls may wait for together."""
        loop, key = asyncio.get_running_loop(), (origin.host, origin.port)
        until_s, looked_up = self._addresses.get(key, (0.0, None))
        if looked_up is None or until_s < loop.time() or (looked_up.done() and looked_up.exception() is not None):
            looked_up = asyncio.ensure_future(loop.getaddrinfo(*key, type=socket.SOCK_STREAM))
            self._addresses[key] = (loop.time() + NAMES_KEPT_S, looked_up)
        return await asyncio.shield(looked_up)


class _Unpacking:
    """A body that was packed with gzip or deflate, unpacked part by part."""

    def __init__(self) -> None:
        self._packed: Any = None
        self._form = zlib.MAX_WBITS | 32
        """gzip or zlib's own form; below 0 for one without a head, which some servers send for `deflate`."""

    def pieces(self, part: bytes) -> Iterator[bytes]:
        """Yield what a part of the body holds, at most `PART_BYTES` at a time."""
        if self._packed is None and part[0] & 0x0F != 8 and part[:1] != b"\x1f":
            self._form = -zlib.MAX_WBITS
        try:
            while True:
                if self._packed is None or (self._packed.eof and part):  # several files of gzip may follow each other
                    self._packed = zlib.decompressobj(self._form)
                piece = self._packed.decompress(part, PART_BYTES)
                part = self._packed.unused_data if self._packed.eof else self._packed.unconsumed_tail
                if piece:
                    yield piece
                if not part and (self._packed.eof or len(piece) < PART_BYTES):
                    return
        except zlib.error as error:
            raise HttpError(f"the body cannot be unpacked: {error}") from error

    def end(self) -> None:
        """Raise `HttpError` where the packed body breaks off."""
        if self._packed is not None and not self._packed.eof:
            raise HttpError("the packed body breaks off")


class _Plain:
    """A body as it was sent."""

    def pieces(self, part: bytes) -> Iterable[bytes]:
        """Return the part."""
        return (part,)

    def end(self) -> None:
        """Do nothing: the length was held by the parser."""


def _unpacking(encoding: str) -> _Unpacking | _Plain:
    """Return the way to unpack a body. Raises `HttpError` for one that nobody asked for."""
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return _Plain()
    if name in ("gzip", "x-gzip", "deflate"):
        return _Unpacking()
    raise HttpError(f"the body is packed with `{name[:40]}`, which was not asked for")


def head_of(url: str, headers: Mapping[str, str]) -> bytes | None:
    """Return a request up to its length; None where the address or a header has no place in it as it is, such as one
    with a line break.

    >>> head_of("http://localhost:8000/v1", {"Accept": "application/json"})
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
