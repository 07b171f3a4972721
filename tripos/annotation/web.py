"""Serves a batch as a page to the browser of this machine. Nothing is fetched from elsewhere, and a text of a model is
shown as text.

The address holds a token, so that no other page in the browser and no other user of the machine can read or write;
names of hosts are checked, so that a foreign name that is made to point here does not help either.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime
from importlib.resources import files
from typing import Any

import orjson
from aiohttp import web
from aiohttp.http import HttpProcessingError

from tripos.annotation.assign import Assignment
from tripos.annotation.grades_file import GradesFile
from tripos.annotation.i18n import words_for
from tripos.annotation.ingest import read_value
from tripos.failure import Failure

HOST = "127.0.0.1"
LONGEST_RATIONALE = 20_000
POLICY = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:;"
        " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
KINDS = {"page.html": "text/html", "page.css": "text/css", "page.js": "text/javascript"}
Now = Callable[[], datetime]
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def serve(hand: Assignment, grades: GradesFile, port: int, token: str, now: Now, opened: Callable[[str], None]) -> int:
    """Serve until it is interrupted; how many replies are graded then. `opened` is told the address.

    Raises `Failure` S0708 where the port cannot be had.
    """
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve(hand, grades, port, token, now, opened))
    return done_count(hand, grades)


def done_count(hand: Assignment, grades: GradesFile) -> int:
    """Return how many replies have a grade for every metric."""
    return sum(all(mark.metric in grades.values[row.row] for mark in row.marks) for row in hand.batch.rows)


async def _serve(
    hand: Assignment, grades: GradesFile, port: int, token: str, now: Now, opened: Callable[[str], None]
) -> None:
    runner = runner_of(app_of(hand, grades, token, now))
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


LOG = logging.getLogger(__name__)


def runner_of(app: web.Application) -> web.AppRunner:
    """Return what serves the application. It logs failures of ours, and not what visitors send that is no HTTP."""
    LOG.addFilter(_told)
    return web.AppRunner(app, access_log=None, logger=LOG)


def _told(record: logging.LogRecord) -> bool:
    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))


def app_of(hand: Assignment, grades: GradesFile, token: str, now: Now) -> web.Application:
    """Return the application: `/TOKEN/` with the page, its script, its style and its items, and `/TOKEN/grade` that
    takes."""
    rows = {row.row: row for row in hand.batch.rows}

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            _check(request, token)
            response = await handler(request)
        except web.HTTPException as error:
            response = web.Response(status=error.status, text=error.reason)
        response.headers.update(POLICY)
        return response

    async def part(request: web.Request) -> web.Response:
        name = request.match_info.get("name") or "page.html"
        if name not in KINDS:
            raise web.HTTPNotFound
        text = files("tripos.annotation").joinpath("page", name).read_text("utf-8")
        return web.Response(text=text, content_type=KINDS[name], charset="utf-8")

    async def items(request: web.Request) -> web.Response:
        return web.Response(body=orjson.dumps(page_data(hand, grades)), content_type="application/json")

    async def grade(request: web.Request) -> web.Response:
        if request.content_type != "application/json":
            raise web.HTTPUnsupportedMediaType
        try:
            said = orjson.loads(await request.read())
            row = rows[said["row"]]
            if "rationale" in said:
                text = str(said["rationale"]).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
                grades.explain(row.row, text[:LONGEST_RATIONALE], now().isoformat(timespec="seconds"))
            else:
                grades.grade(row.row, said["metric"], _value(row, said), now().isoformat(timespec="seconds"))
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError) as error:
            raise web.HTTPUnprocessableEntity from error
        except OSError as error:
            raise web.HTTPInsufficientStorage from error
        return web.json_response({"done": done_count(hand, grades)})

    app = web.Application(middlewares=[guard], client_max_size=2**18)
    app.router.add_get("/{token}/", part)
    app.router.add_get("/{token}/items.json", items)
    app.router.add_get("/{token}/{name}", part)
    app.router.add_post("/{token}/grade", grade)
    return app


def page_data(hand: Assignment, grades: GradesFile) -> dict[str, Any]:
    """Return what the page shows. Nothing in it says which model, item or sample a reply is of."""
    languages = {shown.language for shown in hand.shown.values()}
    first = hand.shown[hand.batch.rows[0].row].language
    return {
        "name": hand.batch.name,
        "language": first,
        "words": {language: dict(words_for(language)) for language in sorted(languages)},
        "items": [
            {
                "row": row.row,
                "language": (shown := hand.shown[row.row]).language,
                "title": shown.title,
                "texts": shown.texts,
                "scales": [
                    {
                        "metric": scale.metric,
                        "title": scale.title,
                        "asks": scale.asks,
                        "low": scale.low,
                        "high": scale.high,
                        "whole": scale.whole,
                        "values": scale.values,
                        "levels": scale.levels,
                    }
                    for scale in shown.scales
                ],
                "grades": grades.values[row.row],
                "rationale": grades.rationales.get(row.row, ""),
            }
            for row in hand.batch.rows
        ],
    }


def _value(row: Any, said: dict[str, Any]) -> float | None:
    mark = row.mark(said["metric"])
    if mark is None:
        raise KeyError(said["metric"])
    if said["value"] is None:
        return None
    found = read_value(mark, said["value"])
    if isinstance(found, str):
        raise ValueError(found)
    return found


def _check(request: web.Request, token: str) -> None:
    """Raise `web.HTTPNotFound` for a wrong token and `web.HTTPForbidden` for a wrong host or origin."""
    given = request.match_info.get("token", "")
    if not secrets.compare_digest(given.encode(), token.encode()):
        raise web.HTTPNotFound
    origin = request.headers.get("Origin")
    if request.host.partition(":")[0] not in (HOST, "localhost") or origin not in (None, f"http://{request.host}"):
        raise web.HTTPForbidden
