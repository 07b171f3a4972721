"""A scorer as a service over HTTP, at an address that whoever runs the benchmark names. It gets no key."""

from __future__ import annotations

import http.client
import json
import secrets
import time
from collections.abc import Sequence
from urllib.parse import urlsplit

from tripos_compiler.plan import Plugin
from tripos_runtime.asking.functions.protocol import (
    DIED,
    HANGS,
    LONGEST_LINE,
    NONSENSE,
    NOT_STARTED,
    Broken,
    Outcome,
    ScorerRequest,
    check_greeting,
    greeting,
    line_of,
    read_answer,
    request_of,
)
from tripos_runtime.asking.functions.settings import ProgramLimits

CHUNK = 2**16


class ScorerService:
    """A service. A request is a POST of JSON, with requests by id; its answer has the name and the version of the
    service, and an answer for each."""

    def __init__(self, version: str, plugins: Sequence[Plugin], limits: ProgramLimits) -> None:
        self._version, self._plugins, self._limits = version, plugins, limits
        self._url = urlsplit(limits.url or "")

    def start(self) -> None:
        """Ask it who it is. Raises `Broken`."""
        try:
            self._post([], {})
        except Broken as error:
            code = error.failure.code if error.failure.code == HANGS else NOT_STARTED
            raise Broken(code, error.failure.reason) from None

    def answer(self, requests: Sequence[ScorerRequest]) -> list[Outcome]:
        """Return the outcome of each request. Raises `Broken`, with those that came before."""
        ids = {secrets.token_hex(8): place for place in range(len(requests))}
        found = self._post([request_of(id_, requests[place]) for id_, place in ids.items()], ids)
        return [found[place] for place in range(len(requests))]

    def close(self) -> None:
        """Nothing is open between two requests."""

    def _post(self, requests: list[dict[str, object]], ids: dict[str, int]) -> dict[int, Outcome]:
        body = self._sent(line_of({**greeting(self._plugins), "requests": requests}))
        check_greeting(body, self._version)
        answers, found, waiting = json.loads(body).get("answers"), dict[int, Outcome](), dict(ids)
        if not isinstance(answers, list):
            raise Broken(NONSENSE, "its answer has no list of `answers`")
        try:
            for each in answers:
                if not isinstance(each, dict):
                    raise Broken(NONSENSE, "one of its `answers` is no object")
                id_, outcome = read_answer(each, waiting, line_of(each))
                found[waiting.pop(id_)] = outcome
            if waiting:
                raise Broken(NONSENSE, f"it left {len(waiting)} of {len(ids)} requests without an answer")
        except Broken as error:
            raise Broken(error.failure.code, error.failure.reason, found) from None
        return found

    def _sent(self, body: bytes) -> bytes:
        """Return what comes back for a body. Raises `Broken`."""
        until = time.monotonic() + self._limits.timeout_s
        opened = http.client.HTTPSConnection if self._url.scheme == "https" else http.client.HTTPConnection
        connection = opened(self._url.hostname or "", self._url.port, timeout=self._limits.timeout_s)
        path = (self._url.path or "/") + (f"?{self._url.query}" if self._url.query else "")
        try:
            connection.request("POST", path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            if response.status != 200:
                raise Broken(DIED, f"it answers with HTTP status {response.status}")
            read, most = bytearray(), LONGEST_LINE * max(1, self._limits.batch)
            while chunk := response.read1(CHUNK):
                read += chunk
                if len(read) > most:
                    raise Broken(NONSENSE, f"its answer has more than {most:,} bytes")
                if time.monotonic() > until:
                    raise TimeoutError
            return bytes(read)
        except TimeoutError:
            raise Broken(HANGS, f"no answer within {self._limits.timeout_s:g} seconds") from None
        except (OSError, http.client.HTTPException) as error:
            raise Broken(DIED, f"it cannot be reached: {error or type(error).__name__}") from error
        finally:
            connection.close()
