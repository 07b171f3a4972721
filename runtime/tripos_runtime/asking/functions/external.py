"""Scorers that are programs, as functions of a run: their values are held to their types, and failures are statuses.

An expression is evaluated at once, and a program takes its time. So where `suspending` holds, a call whose value is not
there yet raises `Suspended`; whoever evaluates gets the value and evaluates again. Elsewhere a call waits.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from tripos_compiler.language import Unavailable
from tripos_compiler.source import dataclass
from tripos_runtime.asking.functions import NONSENSE, Failed, Outcome, ScorerPool, ScorerRequest, plain
from tripos_runtime.asking.functions.calling import Loaded, WrongValue, passed, returned

_told: ContextVar[Mapping[str, Any] | None] = ContextVar("told", default=None)


class Suspended(Exception):
    """An expression needs the value of a program, under a name that the same call always has."""

    def __init__(self, scorer: ExternalScorer, key: str, request: ScorerRequest) -> None:
        super().__init__(f"`{scorer.plugin.name}` is not told yet")
        self.scorer, self.key, self.request = scorer, key, request


@contextmanager
def suspending(told: Mapping[str, Any]) -> Iterator[None]:
    """Let calls of programs give the values that are `told`, or raise `Suspended`."""
    token = _told.set(told)
    try:
        yield
    finally:
        _told.reset(token)


@dataclass
class ExternalScorer(Loaded):
    """A scorer that is a program. Raises `Unavailable` with the status `function_error` where it gives no value."""

    pool: ScorerPool | None = None

    def __call__(self, *args: Any, **named: Any) -> Any:
        types = self.plugin.parameters
        given = {**dict(zip(types, args, strict=False)), **named}
        arguments = {name: plain(passed(types[name], value)) for name, value in given.items()}
        return self.told(ScorerRequest(self.plugin.function, arguments))

    def told(self, request: ScorerRequest) -> Any:
        """Return the value of a request where it is told, or else what it comes to."""
        key = json.dumps([self.plugin.name, request.arguments], sort_keys=True)
        told = _told.get()
        if told is not None and key not in told:
            raise Suspended(self, key, request)
        value = self.asked(request) if told is None else told[key]
        if isinstance(value, Unavailable):
            raise value
        return value

    def asked(self, request: ScorerRequest) -> Any:
        """Return the value of a request, or why there is none: `Unavailable`. It waits."""
        assert self.pool is not None
        return self._meant(self.pool.submit(request).result())

    async def awaited(self, request: ScorerRequest) -> Any:
        """Return the same, while others go on."""
        assert self.pool is not None
        return self._meant(await asyncio.wrap_future(self.pool.submit(request)))

    def close(self) -> None:
        """End the program."""
        if self.pool is not None:
            self.pool.close()

    def _meant(self, outcome: Outcome) -> Any:
        if isinstance(outcome, Failed):
            return self._failed(outcome.shown)
        try:
            return returned(self.plugin.returns, outcome.value)
        except WrongValue as error:
            return self._failed(Failed(NONSENSE, str(error)).shown)
