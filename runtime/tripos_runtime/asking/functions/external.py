"""External scorers as functions of a run: processes or services, pooled and asked in batches.

Values are checked against their types, and failures become statuses. An expression is evaluated synchronously, and a
program takes time. So inside `suspending`, a call whose value is missing raises `Suspended`; the evaluator gets the
value and evaluates again. Elsewhere a call blocks. Each allowed program is started and greeted once, before anything is
asked."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import queue
import shlex
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from tripos_compiler.language.evaluation import Unavailable
from tripos_compiler.plan import Plugin
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.asking.functions.calling import LoadedPlugin, PluginError, WrongValue, as_argument, as_result
from tripos_runtime.asking.functions.process import ScorerProcess, ScorerService
from tripos_runtime.asking.functions.protocol import (
    DIED,
    NO_SANDBOX,
    NONSENSE,
    NOT_ALLOWED,
    Broken,
    Failed,
    Outcome,
    ScorerRequest,
    json_argument,
)
from tripos_runtime.asking.functions.settings import AllowedPrograms, ProgramLimits, program_name


class Answering(Protocol):
    """A process or a service that answers requests."""

    def start(self) -> None:
        """Start it, or ask for its name. Raises `Broken`."""
        ...

    def answer(self, requests: Sequence[ScorerRequest]) -> list[Outcome]:
        """Return the outcome of each request. Raises `Broken` with the outcomes so far."""
        ...

    def close(self) -> None:
        """End it."""
        ...


@dataclass(frozen=True)
class _Submitted:
    request: ScorerRequest
    outcome: Future[Outcome]


class ScorerPool:
    """Asks a program. A request whose batch broke is asked again, alone and in a new process, so that its outcome
    depends on no other request; if that breaks too, the failure is its outcome."""

    def __init__(self, opened: Callable[[], Answering], processes: int, batch: int) -> None:
        self._opened, self._processes, self._batch = opened, processes, batch
        self._queue: queue.SimpleQueue[_Submitted | None] = queue.SimpleQueue()
        self._all: list[Answering] = []
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._busy = 0
        self._closed = False

    def start(self) -> None:
        """Start one process and check that it answers. Raises `Broken`."""
        with self._lock:
            first = self._opened()
            self._all.append(first)
        first.start()

    def submit(self, request: ScorerRequest) -> Future[Outcome]:
        """Return the future outcome of a request."""
        waiting = _Submitted(request, Future())
        with self._lock:
            if self._closed:
                waiting.outcome.cancel()
                return waiting.outcome
            self._busy += 1
            number = len(self._threads)
            if self._busy > number and number < self._processes:
                if number == len(self._all):
                    self._all.append(self._opened())
                thread = threading.Thread(target=self._work, args=(self._all[number],), daemon=True)
                self._threads.append(thread)
                thread.start()
        self._queue.put(waiting)
        return waiting.outcome

    def close(self) -> None:
        """End all processes. Open requests get no score."""
        with self._lock:
            self._closed = True
        for _ in self._threads:
            self._queue.put(None)
        for answering in self._all:
            answering.close()

    def _work(self, answering: Answering) -> None:
        while (first := self._queue.get()) is not None:
            batch = [first]
            while len(batch) < self._share():
                try:
                    more = self._queue.get_nowait()
                except queue.Empty:
                    break
                if more is None:
                    self._queue.put(None)
                    break
                batch.append(more)
            try:
                self._do(answering, batch)
            finally:
                with self._lock:
                    self._busy -= len(batch)

    def _share(self) -> int:
        """Return how many requests one process takes at a time: waiting ones are divided among all processes."""
        waiting = self._queue.qsize() + 1
        return max(1, min(self._batch, -(-waiting // self._processes)))

    def _do(self, answering: Answering, batch: Sequence[_Submitted]) -> None:
        outcomes = _asked(answering, [each.request for each in batch], again=True)
        for submitted, outcome in zip(batch, outcomes, strict=True):
            if not submitted.outcome.cancelled():
                submitted.outcome.set_result(outcome)


def _asked(answering: Answering, requests: Sequence[ScorerRequest], *, again: bool) -> list[Outcome]:
    try:
        if not again:
            answering.start()  # a new process has no state of earlier requests
        return answering.answer(requests)
    except Broken as error:
        code, answered = error.failure.code, error.answered
        if code == NONSENSE:
            answered = {}  # its earlier answers are not trusted either
        if again:
            rest = {place: [request] for place, request in enumerate(requests) if place not in answered}
            answered |= {place: _asked(answering, one, again=False)[0] for place, one in rest.items()}
        return [answered.get(place, error.failure) for place in range(len(requests))]
    except Exception as error:  # an internal error costs only these scores
        return [Failed(DIED, f"{type(error).__name__}: {error}") for _ in requests]


_told: ContextVar[Mapping[str, Any] | None] = ContextVar("told", default=None)


class Suspended(Exception):
    """An expression needs the value of a program; equal calls have equal keys."""

    def __init__(self, scorer: ExternalScorer, key: str, request: ScorerRequest) -> None:
        super().__init__(f"`{scorer.plugin.name}` is not told yet")
        self.scorer, self.key, self.request = scorer, key, request


@contextmanager
def suspending(values: Mapping[str, Any]) -> Iterator[None]:
    """Let calls of programs return the values in `told`, or raise `Suspended`."""
    token = _told.set(values)
    try:
        yield
    finally:
        _told.reset(token)


@dataclass
class ExternalScorer(LoadedPlugin):
    """A scorer that is a program. Raises `Unavailable` with the status `function_error` if it returns no value."""

    pool: ScorerPool | None = None

    def __call__(self, *args: Any, **named: Any) -> Any:
        types = self.plugin.parameters
        given = {**dict(zip(types, args, strict=False)), **named}
        arguments = {name: json_argument(as_argument(types[name], value)) for name, value in given.items()}
        return self.known_value(ScorerRequest(self.plugin.function, arguments))

    def known_value(self, request: ScorerRequest) -> Any:
        """Return the known value of a request, else raise `Suspended` or ask."""
        key = json.dumps([self.plugin.name, request.arguments], sort_keys=True)
        told = _told.get()
        if told is not None and key not in told:
            raise Suspended(self, key, request)
        value = self.request_value(request) if told is None else told[key]
        if isinstance(value, Unavailable):
            raise value
        return value

    def request_value(self, request: ScorerRequest) -> Any:
        """Return the value of a request, or `Unavailable` with the reason. Blocks."""
        assert self.pool is not None
        return self._value_of(self.pool.submit(request).result())

    async def awaited(self, request: ScorerRequest) -> Any:
        """Return the same without blocking."""
        assert self.pool is not None
        return self._value_of(await asyncio.wrap_future(self.pool.submit(request)))

    def close(self) -> None:
        """End the program."""
        if self.pool is not None:
            self.pool.close()

    def _value_of(self, outcome: Outcome) -> Any:
        if isinstance(outcome, Failed):
            return self._failed(outcome.shown)
        try:
            return as_result(self.plugin.returns, outcome.value)
        except WrongValue as error:
            return self._failed(Failed(NONSENSE, str(error)).shown)


MOST_PROCESSES = 8


def open_scorers(
    plugins: Sequence[Plugin], folder: Path, releases: Mapping[str, str], allowed: AllowedPrograms
) -> dict[str, ScorerPool]:
    """Return the pools of the external scorers by name; scorers of one program share a pool. `folder` and `releases`
    are as for functions.

    Raises `PluginError`: R0303 for a program that is not allowed, R0304 for one that does not start, R0302 for a
    changed file, and R0309 if there is no sandbox."""
    together: dict[tuple[str | None, str, str], list[Plugin]] = {}
    for plugin in plugins:
        if plugin.external is not None:
            together.setdefault((plugin.release, program_name(plugin), plugin.version), []).append(plugin)
    limits = {key: _allowed(some[0], allowed) for key, some in together.items()}
    pools: dict[str, ScorerPool] = {}
    for key, some in together.items():
        path = folder if some[0].release is None else Path(releases.get(some[0].release, folder))
        pool = _opened(some, path, limits[key])
        try:
            pool.start()
        except Broken as error:
            for scorer_pool in (pool, *pools.values()):
                scorer_pool.close()
            message, hint = f"the program `{key[1]}` does not start: {error}", "fix the program, or its settings"
            if error.failure.code == NO_SANDBOX:
                from tripos_runtime.asking.functions.code_runner import no_sandbox_hint

                hint = no_sandbox_hint(key[1].partition(" ")[0])
            raise PluginError(error.failure.code, message, hint) from error
        pools |= {each.name: pool for each in some}
    return pools


def _allowed(plugin: Plugin, allowed: AllowedPrograms) -> ProgramLimits:
    name = program_name(plugin)
    limits = allowed.of(plugin)
    if plugin.external == "service" and (limits is None or limits.url is None):
        message = f"`{plugin.name}` asks the service `{name}`, and you name no address for it"
        hint = f'--allow-program "{name}=http://127.0.0.1:8000"'
        raise PluginError(NOT_ALLOWED, message, hint)
    if plugin.external != "service" and limits is not None and limits.url is not None:
        what = "comes with Tripos" if plugin.external == "shipped" else "is a file"
        hint = f"allow it without an address: --allow-program {shlex.quote(name.partition(' ')[0])}"
        raise PluginError(NOT_ALLOWED, f"`{name}` {what}, and you name an address for it: `{limits.url}`", hint)
    if limits is None:
        if plugin.external == "shipped":
            message = f"`{plugin.name}` executes what models write: `{name}`"
            raise PluginError(NOT_ALLOWED, message, f"allow it: --allow-program {name.partition(' ')[0]}")
        hint = f"read it, and allow it: --allow-program {shlex.quote(name)}"
        raise PluginError(NOT_ALLOWED, f"`{plugin.name}` starts a program: `{name}`", hint)
    return limits


def _opened(plugins: Sequence[Plugin], folder: Path, limits: ProgramLimits) -> ScorerPool:
    plugin = plugins[0]
    processes = limits.processes or min(MOST_PROCESSES, os.cpu_count() or 1)
    if plugin.external == "service":
        return ScorerPool(partial(ScorerService, plugin.version, plugins, limits), processes, limits.batch)
    if plugin.external == "shipped":
        from tripos_runtime.asking.functions.code_runner import RUNNERS

        return ScorerPool(partial(RUNNERS[plugin.function], unsandboxed=limits.unsandboxed), processes, 1)
    text = _checked(plugin, folder)
    return ScorerPool(partial(ScorerProcess, program_name(plugin), text, plugins, limits), processes, limits.batch)


def _checked(plugin: Plugin, folder: Path) -> str:
    assert plugin.path is not None
    try:
        text = (folder / plugin.path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise PluginError("R0301", f"cannot read `{plugin.path}`: {reason}", "put the file back") from error
    if hashlib.sha256(text.encode()).hexdigest() != plugin.version:
        raise PluginError("R0302", f"`{plugin.path}` changed since the spec was compiled", "run again")
    return text
