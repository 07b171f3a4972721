"""Serves the page and the files of a view to the browser of this machine: read only, on loopback.

The address holds a token, so that no other page in the browser and no other user of the machine can read; names of
hosts are checked, so that a foreign name that is made to point here does not help either.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

from aiohttp import web

from tripos.failure import Failure
from tripos.view.files import ViewFiles
from tripos_warehouse.errors import StoreError

HOST = "127.0.0.1"
PAGE = {"index.html": "text/html", "view.css": "text/css", "view.js": "text/javascript"}
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
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def page_part(name: str) -> bytes:
    """Return a file of the page, one of `PAGE`."""
    return files("tripos.view").joinpath("built", name).read_bytes()


def serve(view: ViewFiles, port: int, token: str, opened: Callable[[str], None]) -> None:
    """Serve until it is interrupted; `opened` is told the address.

    Raises `Failure` S0708 where the port cannot be had.
    """
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve(view, port, token, opened))


async def _serve(view: ViewFiles, port: int, token: str, opened: Callable[[str], None]) -> None:
    runner = web.AppRunner(app_of(view, token), access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, HOST, port)
        try:
            await site.start()
        except OSError as error:
            hint = "give another with `--port`, or none for any that is free"
            raise Failure("S0708", f"port {port} is not available: {error.strerror or error}", hint) from error
        opened(f"http://{HOST}:{runner.addresses[0][1]}/{token}/")
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()


def app_of(view: ViewFiles, token: str) -> web.Application:
    """Return the application: `/TOKEN/` with the page, and below it the files of the view."""

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
        if path in PAGE:
            return web.Response(
                body=page_part(path), content_type=PAGE[path], charset="utf-8", headers={"Cache-Control": "no-cache"}
            )
        if path.endswith(".json"):
            data = await asyncio.to_thread(view.json, path)
            if data is None:
                raise web.HTTPNotFound
            return web.Response(body=data, content_type="application/json", headers={"Cache-Control": "no-store"})
        found: Path | None = await asyncio.to_thread(view.table, path)
        if found is None:
            raise web.HTTPNotFound
        return web.FileResponse(found, headers={"Content-Type": "application/vnd.apache.parquet"})

    app = web.Application(middlewares=[guard], client_max_size=2**10)
    app.router.add_get("/{token}/", part)
    app.router.add_get("/{token}/{path:.+}", part)
    return app


def _check(request: web.Request, token: str) -> None:
    """Raise `web.HTTPNotFound` for a wrong token and `web.HTTPForbidden` for a wrong host or origin."""
    given = request.match_info.get("token", "")
    if not secrets.compare_digest(given.encode(), token.encode()):
        raise web.HTTPNotFound
    origin = request.headers.get("Origin")
    if request.host.partition(":")[0] not in (HOST, "localhost") or origin not in (None, f"http://{request.host}"):
        raise web.HTTPForbidden
