"""The web server of a view or a grading page, for the browser of this machine.

It listens on loopback. The address contains a token, so that other pages and other users cannot read or write. Host
names are checked, which prevents DNS rebinding. The page can send data only to `takers`: grades of a grading page, and
notes on replies of a page of results. The server itself changes no results of a store.
"""

from __future__ import annotations

import asyncio
import html
import logging
import re
import secrets
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Protocol
from urllib.parse import quote

import orjson
from aiohttp import web
from aiohttp.http import HttpProcessingError

from tripos.runs.interrupts import SIGNALS
from tripos.settings.options import ViewParameters
from tripos.view.files import translations
from tripos_compiler.diagnostics.i18n import chosen_language
from tripos_compiler.errors import TriposError
from tripos_runtime.datasets.media import type_of
from tripos_warehouse.errors import StoreError

HOST = "127.0.0.1"
PAGE = {"index.html": "text/html", "view.css": "text/css", "view.js": "text/javascript"}
"""The files of the page itself, with their MIME types."""
POLICY = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:;"
        " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
PATH = re.compile(r"[\w~-][\w.~-]*(?:/[\w~-][\w.~-]*)*")
"""The allowed paths: names that are safe in every file system."""
LONGEST_PATH = 500
"""The largest number of characters of a path."""
MEDIUM = re.compile(r"media/(?P<sha256>[0-9a-f]{64})")
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def page_part(name: str) -> bytes:
    """Return a file of the page, one of `PAGE`."""
    return resources.files("tripos.view").joinpath("built", name).read_bytes()


def with_language(address: str) -> str:
    """Return the address at which the page is in the language that the reader chose."""
    chosen = chosen_language()
    return address if chosen is None else f"{address}?lang={quote(chosen)}"


def language_attribute() -> str:
    """Return the attribute of the element `html` that puts a page into the language that the reader chose, if any."""
    chosen = chosen_language()
    return "" if chosen is None else f' data-lang="{html.escape(chosen)}"'


class ServedFiles(Protocol):
    """The source of the files that the page shows. None means not found."""

    def json(self, path: str) -> bytes | None:
        """Return a JSON file."""

    def table(self, path: str) -> Path | None:
        """Return the path of a table."""

    def medium(self, sha256: str) -> bytes | None:
        """Return the content of an image, a recording or a file that a model was shown."""


Taker = Callable[[bytes], bytes]
"""A function that receives the body of a message of the page and returns that of the answer. Raises `ValueError` for an
invalid message, `TriposError` for one that is refused for a reason that the page shows, and `OSError` if it cannot be
stored."""
Takers = Mapping[str, Taker]
"""The takers of a page, each by the name of its path."""
NO_TAKERS: Takers = MappingProxyType({})
MOST_SENT = 2**18
"""The largest number of bytes of a message of the page."""


def serve(files: ServedFiles, port: int, token: str, opened: Callable[[str], None], takers: Takers = NO_TAKERS) -> None:
    """Serve until Ctrl-C or SIGTERM; `opened` is called with the address. Without `takers`, the page cannot send
    anything.

    Raises `TriposError` S0708 if the port is not available.
    """
    with suppress(KeyboardInterrupt):  # on Windows, whose event loop handles no signals
        asyncio.run(_serve(make_app(files, token, takers), port, token, opened))


async def _serve(app: web.Application, port: int, token: str, opened: Callable[[str], None]) -> None:
    stopped = asyncio.Event()
    with suppress(NotImplementedError):
        for number in SIGNALS:
            asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    runner = make_runner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, HOST, port)
        try:
            await site.start()
        except OSError as error:
            hint = f"give another with `{ViewParameters.port}`, or none for any that is free"
            raise TriposError("S0708", f"port {port} is not available: {error.strerror or error}", hint) from error
        opened(f"http://{HOST}:{runner.addresses[0][1]}/{token}/")
        await stopped.wait()
    finally:
        await runner.cleanup()


LOG = logging.getLogger(__name__)
VISITOR_ERRORS = (HttpProcessingError, web.RequestPayloadError, ConnectionError)
"""Exceptions caused by a visitor: a request or body that is not HTTP, or a closed connection."""


def make_runner(app: web.Application) -> web.AppRunner:
    """Return the runner of the application. It logs errors of Tripos, but not those caused by visitors."""
    LOG.addFilter(_is_own_error)
    return web.AppRunner(app, access_log=None, logger=LOG)


def _is_own_error(record: logging.LogRecord) -> bool:
    return not (record.exc_info and isinstance(record.exc_info[1], VISITOR_ERRORS))


def make_app(files: ServedFiles, token: str, takers: Takers = NO_TAKERS) -> web.Application:
    """Return the application: the page at `/TOKEN/`, its files below, and `/TOKEN/NAME` for messages to the taker of
    that name."""

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            _check(request, token)
            response = await handler(request)
        except web.HTTPException as error:
            response = web.Response(status=error.status, text=error.reason)
        except StoreError as error:
            missing = error.code == "S0301"
            response = web.Response(status=404 if missing else 500, text=f"{error.code}: {error.message}")
        response.headers.update(POLICY)
        return response

    async def part(request: web.Request) -> web.StreamResponse:
        path = request.match_info.get("path") or "index.html"
        if len(path) > LONGEST_PATH or PATH.fullmatch(path) is None:
            raise web.HTTPNotFound
        if path in PAGE:
            return web.Response(
                body=page_part(path), content_type=PAGE[path], charset="utf-8", headers={"Cache-Control": "no-cache"}
            )
        if (named := MEDIUM.fullmatch(path)) is not None:
            content = await asyncio.to_thread(files.medium, named["sha256"])
            if content is None:
                raise web.HTTPNotFound
            return web.Response(body=content, content_type=type_of(content))
        if path.endswith(".json"):
            data = await asyncio.to_thread(files.json, path)
            if data is None:
                raise web.HTTPNotFound
            return web.Response(body=data, content_type="application/json", headers={"Cache-Control": "no-store"})
        table: Path | None = await asyncio.to_thread(files.table, path)
        if table is None:
            raise web.HTTPNotFound
        return web.FileResponse(table, headers={"Content-Type": "application/vnd.apache.parquet"})

    async def take(request: web.Request) -> web.Response:
        taker = takers.get(request.match_info["name"])
        if taker is None:
            raise web.HTTPMethodNotAllowed(request.method, ["GET"])
        if request.content_type != "application/json":
            raise web.HTTPUnsupportedMediaType
        try:
            # Run on the event loop rather than a thread, so that messages are handled in order.
            return web.Response(body=taker(await request.read()), content_type="application/json")
        except TriposError as error:
            return _refusal(error)
        except ValueError as error:
            raise web.HTTPUnprocessableEntity from error
        except OSError as error:
            raise web.HTTPInsufficientStorage from error
        except web.RequestPayloadError as error:
            raise web.HTTPBadRequest from error

    app = web.Application(middlewares=[guard], client_max_size=MOST_SENT if takers else 2**10)
    app.router.add_post("/{token}/{name}", take)
    app.router.add_get("/{token}/", part)
    app.router.add_get("/{token}/{path:.+}", part)
    return app


def _refusal(error: TriposError) -> web.Response:
    """Return the answer to a message that is refused: the reason and what to do, in every language of the page."""
    texts = [text for text in (error.message, error.hint) if text]
    body = orjson.dumps({"code": error.code, "texts": texts, "said": translations({"notes": texts})})
    return web.Response(status=422, body=body, content_type="application/json")


def _check(request: web.Request, token: str) -> None:
    """Raise `web.HTTPNotFound` for a wrong token and `web.HTTPForbidden` for a wrong host or origin."""
    given = request.match_info.get("token", "")
    if not secrets.compare_digest(given.encode(), token.encode()):
        raise web.HTTPNotFound
    origin = request.headers.get("Origin")
    if request.host.partition(":")[0] not in (HOST, "localhost") or origin not in (None, f"http://{request.host}"):
        raise web.HTTPForbidden
