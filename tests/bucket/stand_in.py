"""A stand-in for S3 on the loopback: real conditional writes, and faults on request.

    python tests/bucket/stand_in.py [--faults 0.3] [--seed 1] [--skew-s 3600]

It prints its port. `--faults` is the share of requests that go wrong: refused before they are done, refused after, cut
off after they were done, or slow. `--skew-s` puts its clock ahead of that of the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from aiohttp import web

BUCKET, LOCKED = "tripos", "locked"


@dataclass
class Stored:
    """An object: its bytes, its version, and when it was written."""

    content: bytes
    tag: str
    written_s: float


@dataclass
class StandIn:
    """The objects of all buckets, by path."""

    faults: float = 0.0
    seed: int = 1
    skew_s: float = 0.0
    conditional: bool = True
    """True if a write is refused whose condition does not hold, as by every real store that is served."""
    objects: dict[str, Stored] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer a request, or let it go wrong."""
        body = await request.read()
        self.counts[request.method] += 1
        drawn = self.random.random() / self.faults if self.faults else 1.0
        if drawn < 0.3:
            self.counts["refused before"] += 1
            return web.Response(status=503, text="<Error><Code>SlowDown</Code></Error>")
        if drawn > 0.8 and drawn < 1:
            self.counts["slow"] += 1
            await asyncio.sleep(self.random.uniform(0.1, 0.6))
        response = self._done(request, body)
        if 0.3 <= drawn < 0.55:
            self.counts["refused after"] += 1
            return web.Response(status=500, text="<Error><Code>InternalError</Code></Error>")
        if 0.55 <= drawn < 0.8:
            self.counts["answer lost"] += 1
            assert request.transport is not None
            request.transport.abort()
        return response

    def _done(self, request: web.Request, body: bytes) -> web.Response:
        path = request.path.lstrip("/")
        bucket, _, key = path.partition("/")
        if bucket != BUCKET:
            if bucket == LOCKED:
                return web.Response(status=403)
            return web.Response(status=404, text="<Error><Code>NoSuchBucket</Code></Error>")
        match request.method:
            case "PUT":
                return self._put(request, path, body)
            case "GET" if not key:
                return self._list(request)
            case "GET" | "HEAD":
                return self._get(request, path)
            case "DELETE":
                self.objects.pop(path, None)
                return web.Response(status=204)
            case "POST":
                return self._delete(body)
        return web.Response(status=405)

    def _put(self, request: web.Request, path: str, body: bytes) -> web.Response:
        held = self.objects.get(path)
        wanted = request.headers.get("If-Match")
        if self.conditional and (
            (request.headers.get("If-None-Match") == "*" and held is not None)
            or (wanted is not None and (held is None or held.tag != wanted))
        ):
            self.counts["conflicts"] += 1
            return web.Response(status=412, text="<Error><Code>PreconditionFailed</Code></Error>")
        tag = f'"{hashlib.md5(body, usedforsecurity=False).hexdigest()}"'
        self.objects[path] = Stored(body, tag, time.time() + self.skew_s)
        return web.Response(headers={"ETag": tag})

    def _get(self, request: web.Request, path: str) -> web.Response:
        held = self.objects.get(path)
        if held is None:
            return web.Response(status=404, text="<Error><Code>NoSuchKey</Code></Error>")
        headers = {"ETag": held.tag, "Last-Modified": formatdate(held.written_s, usegmt=True)}
        if request.headers.get("If-None-Match") == held.tag:
            return web.Response(status=304, headers=headers)
        if request.method == "HEAD":
            return web.Response(headers={**headers, "Content-Length": str(len(held.content))})
        return web.Response(body=held.content, headers=headers)

    def _list(self, request: web.Request) -> web.Response:
        start = f"{BUCKET}/{request.query.get('prefix', '')}"
        names = sorted(name for name in self.objects if name.startswith(start))
        rows = "".join(
            f"<Contents><Key>{escape(name.removeprefix(BUCKET + '/'))}</Key><Size>{len(held.content)}</Size>"
            f"<ETag>{escape(held.tag)}</ETag>"
            f"<LastModified>{time.strftime('%Y-%m-%dT%H:%M:%S.000Z', time.gmtime(held.written_s))}</LastModified></Contents>"
            for name in names
            for held in [self.objects[name]]
        )
        head = f"<Name>{BUCKET}</Name><KeyCount>{len(names)}</KeyCount><IsTruncated>false</IsTruncated>"
        return web.Response(text=f"<ListBucketResult>{head}{rows}</ListBucketResult>", content_type="application/xml")

    def _delete(self, body: bytes) -> web.Response:
        keys = [each.text or "" for each in ElementTree.fromstring(body).iter() if each.tag.endswith("Key")]
        for key in keys:
            self.objects.pop(f"{BUCKET}/{key}", None)
        rows = "".join(f"<Deleted><Key>{escape(key)}</Key></Deleted>" for key in keys)
        return web.Response(text=f"<DeleteResult>{rows}</DeleteResult>", content_type="application/xml")


@dataclass(frozen=True)
class Serving:
    """A stand-in that runs as a process of its own."""

    port: int

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a process that reaches it."""
        keys = {"AWS_ACCESS_KEY_ID": "nobody", "AWS_SECRET_ACCESS_KEY": "nothing", "AWS_REGION": "us-east-1"}
        return {**keys, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}"}


@contextmanager
def serving(faults: float = 0.0, seed: int = 1, skew_s: float = 0.0, *, conditional: bool = True) -> Iterator[Serving]:
    """Run a stand-in as a process."""
    arguments = ["--faults", str(faults), "--seed", str(seed), "--skew-s", str(skew_s)]
    if not conditional:
        arguments.append("--unconditional")
    process = subprocess.Popen([sys.executable, __file__, *arguments], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield Serving(int(process.stdout.readline()))
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()


async def _serve(stand_in: StandIn) -> None:
    application = web.Application(client_max_size=2**30)
    application.router.add_route("*", "/{path:.*}", stand_in.answer)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    parser = argparse.ArgumentParser()
    parser.add_argument("--faults", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--skew-s", type=float, default=0.0)
    parser.add_argument("--unconditional", action="store_true")
    options = parser.parse_args()
    asyncio.run(_serve(StandIn(options.faults, options.seed, options.skew_s, not options.unconditional)))
