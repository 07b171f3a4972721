"""A stand-in for an S3 bucket on this machine: objects that are put if they are absent, read and listed."""

from __future__ import annotations

import hashlib
import http.server
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from tests.releases.file_server import address_of, running


@dataclass
class Bucket:
    """The objects of the stand-in, by key. After `most` puts it takes no more."""

    address: str = ""
    objects: dict[str, bytes] = field(default_factory=dict)
    most: int | None = None


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    bucket: Bucket

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _key(self) -> str:
        return unquote(urlsplit(self.path).path).strip("/").partition("/")[2]

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        objects, key = self.bucket.objects, self._key()
        if self.headers.get("If-None-Match") == "*" and key in objects:
            return self._answer(412, b"<Error><Code>PreconditionFailed</Code></Error>")
        if self.bucket.most is not None and len(objects) >= self.bucket.most:
            return self._answer(403, b"<Error><Code>AccessDenied</Code></Error>")
        objects[key] = body
        return self._answer(200, ETag=_etag(body))

    def do_GET(self) -> None:
        query = parse_qs(urlsplit(self.path).query)
        if "list-type" in query:
            return self._list(query.get("prefix", [""])[0])
        body = self.bucket.objects.get(self._key())
        if body is None:
            return self._answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
        return self._answer(200, body, ETag=_etag(body), Last_Modified="Sat, 01 Jan 2022 00:00:00 GMT")

    do_HEAD = do_GET  # noqa: N815

    def _list(self, prefix: str) -> None:
        entries = "".join(
            f"<Contents><Key>{escape(key)}</Key><LastModified>2022-01-01T00:00:00.000Z</LastModified>"
            f"<ETag>{_etag(body)}</ETag><Size>{len(body)}</Size></Contents>"
            for key, body in sorted(self.bucket.objects.items())
            if key.startswith(prefix)
        )
        found = f"<ListBucketResult><Name>lab</Name><IsTruncated>false</IsTruncated>{entries}</ListBucketResult>"
        self._answer(200, found.encode(), Content_Type="application/xml")


def _etag(body: bytes) -> str:
    return f'"{hashlib.md5(body).hexdigest()}"'


@contextmanager
def serving() -> Iterator[Bucket]:
    """The stand-in, as long as it is needed."""
    bucket = Bucket()
    handler = type("Handler", (_Handler,), {"bucket": bucket})
    with running(http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)) as server:
        bucket.address = address_of(server)
        yield bucket
