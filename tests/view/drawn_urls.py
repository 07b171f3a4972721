"""Requests that nobody would send by mistake: paths, headers and bodies, drawn from what servers stumble over."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from aiohttp import web

from tripos.view.server import make_runner

STUMBLED_OVER = (
    "%00", "%0a", "%0d%0aX:%201", "..", "%2e%2e", ".", "%2f", "%5c", "\\", "%25%32%66", "%252e%252e", "%ff", "%c0%ae",
    "%ed%a0%80", "%zz", "%", "%u2216", "*", "?", "#", "[", "'", '"', "|", ":", ";", "~", "$", "%20", "%C3%A9", "\udcff",
    "\udce9", "etc/passwd", "/etc/passwd", "//evil.example/x", "file:///etc/passwd", "http://evil.example/", "C:/",
    "CON", "nul.json", "aux", "secret.txt", "a" * 300, "b/" * 80, "9" * 40, "9" * 4500, "e" * 5000, "-1", "0", "1e9", ".json",
    ".parquet", ".json.js", "tripos-store.json", ".git/config", ".env",
)  # fmt: skip
HEADERS = (
    (), (), (), (), ("Host: evil.example",), ("Host: localhost@evil.example",), ("Host:",), ("Origin: null",),
    ("Origin: http://evil.example",), ("Range: bytes=0-",), ("Range: bytes=9-1",), ("Range: bytes=-" + "9" * 30,),
    ("If-None-Match: *",), ("If-Modified-Since: never",), ("Content-Length: 99999999999",), ("Cookie: " + "a" * 4000,),
    ("Transfer-Encoding: chunked",), ("Expect: 100-continue",), ("Upgrade: websocket", "Connection: Upgrade"),
    ("Accept-Encoding: \udcff",), ("Content-Type: application/json",),
)  # fmt: skip
METHODS = ("GET",) * 8 + ("HEAD", "POST", "PUT", "OPTIONS", "DELETE", "TRACE")


def drawn_paths(seed: int, count: int, right: Sequence[str]) -> Iterator[str]:
    """Yield paths: parts of those that are right, among what servers stumble over."""
    draw = random.Random(seed)
    parts = sorted({part for path in right for part in (path, *path.split("/"))})
    for _ in range(count):
        if draw.random() < 0.3:  # one that is right but for one slip
            path, at = draw.choice(right), draw.random()
            cut = int(at * len(path))
            yield path[:cut] + draw.choice(STUMBLED_OVER) + path[cut + draw.randint(0, 2) :]
        else:
            chosen = [draw.choice(parts if draw.random() < 0.5 else STUMBLED_OVER) for _ in range(draw.randint(1, 5))]
            yield draw.choice(("/", "", "/")).join(chosen)


def requests(seed: int, token: str, paths: Iterable[str]) -> Iterator[bytes]:
    """Yield a request for each path, as it goes over the wire."""
    draw = random.Random(seed)
    for path in paths:
        headers = draw.choice(HEADERS)
        host = () if any(each.startswith("Host") for each in headers) else ("Host: 127.0.0.1",)
        before = f"/{token}/" if draw.random() < 0.9 else draw.choice(("/", "", f"{token}/", f"//{token}/"))
        lines = (f"{draw.choice(METHODS)} {before}{path} HTTP/1.1", *host, *headers, "Connection: close", "", "")
        yield "\r\n".join(lines).encode("utf-8", "surrogateescape")


def answers(app: web.Application, sent: Iterable[bytes]) -> list[tuple[bytes, int, bytes]]:
    """Return each request with the status and the body of its answer; status 0 if there was none."""

    async def ask(place: tuple[str, int], request: bytes) -> tuple[bytes, int, bytes]:
        reader, writer = await asyncio.open_connection(*place)
        writer.write(request)
        if request.endswith(b"\r\n\r\n") and (b"\r\nContent-Length:" in request or b"\r\nTransfer-" in request):
            writer.write_eof()  # the body that was promised does not come
        try:
            raw = await asyncio.wait_for(reader.read(), 60)
        except ConnectionError:
            raw = b""
        writer.close()
        raw = raw.removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n")
        head, _, body = raw.partition(b"\r\n\r\n")
        first = head.split(b" ", 2)
        return request, int(first[1]) if len(first) > 1 else 0, body

    async def go() -> list[tuple[bytes, int, bytes]]:
        runner = make_runner(app)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            return [await ask(runner.addresses[0][:2], each) for each in sent]
        finally:
            await runner.cleanup()

    return asyncio.run(go())


def faults(found: Iterable[tuple[bytes, int, bytes]], never: bytes) -> list[tuple[bytes, int, bytes]]:
    """Return the answers that blame the server, are none, or have what no answer may have."""
    return [each for each in found if not (each[1] == 0 or 200 <= each[1] < 500) or never in each[2]]


def counted(found: Iterable[tuple[bytes, int, bytes]]) -> Counter[int]:
    """Return how often each status was answered."""
    return Counter(status for _, status, _ in found)
