"""External scorers as functions of a run: processes or services, pooled and asked in batches.

Values are checked against their types, and failures become statuses. Expressions are evaluated synchronously, but a
program takes time. So inside `suspending`, a call whose value is not known yet raises `Suspended`: the driver gets the
value and evaluates the expression again. Elsewhere a call blocks. Before a run asks for anything, each allowed program
is started once to check its greeting."""

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
        """End the process; a service needs nothing."""
        ...


@dataclass(frozen=True)
class _Submitted:
    request: ScorerRequest
    outcome: Future[Outcome]


class ScorerPool:
    """The processes of a program, or the connections to a service, each with a thread that asks it in batches.

    If a program fails while it answers a batch, each unanswered request is asked again, alone and in a new process, so
    that its outcome depends on no other request. If that fails too, the failure is the outcome."""

    def __init__(self, open_: Callable[[], Answering], processes: int, batch: int) -> None:
        self._open, self._processes, self._batch = open_, processes, batch
        self._queue: queue.SimpleQueue[_Submitted | None] = queue.SimpleQueue()
        self._all: list[Answering] = []
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._unfinished = 0
        """The number of requests that are waiting or being answered."""
        self._closed = False

    def start(self) -> None:
        """Start one process and check that it answers. Raises `Broken`."""
        with self._lock:
            first = self._open()
            self._all.append(first)
        first.start()

    def submit(self, request: ScorerRequest) -> Future[Outcome]:
        """Return the future outcome of a request. It is cancelled if the pool is closed."""
        submitted = _Submitted(request, Future())
        with self._lock:
            if self._closed:
                submitted.outcome.cancel()
                return submitted.outcome
            self._unfinished += 1
            number = len(self._threads)
            if self._unfinished > number and number < self._processes:
                if number == len(self._all):
                    self._all.append(self._open())
                thread = threading.Thread(target=self._work, args=(self._all[number],), daemon=True)
                self._threads.append(thread)
                thread.start()
        self._queue.put(submitted)
        return submitted.outcome

    def close(self) -> None:
        """End all processes. Unanswered requests get no value."""
        with self._lock:
            self._closed = True
        for _ in self._threads:
            self._queue.put(None)
        for answering in self._all:
            answering.close()

    def _work(self, answering: Answering) -> None:
        while (first := self._queue.get()) is not None:
            batch = [first]
            while len(batch) < self._batch_size():
                try:
                    submitted = self._queue.get_nowait()
                except queue.Empty:
                    break
                if submitted is None:
                    self._queue.put(None)
                    break
                batch.append(submitted)
            try:
                self._answer(answering, batch)
            finally:
                with self._lock:
                    self._unfinished -= len(batch)

    def _batch_size(self) -> int:
        """Return how many requests one process takes at a time: waiting ones are divided among all processes."""
        waiting = self._queue.qsize() + 1
        return max(1, min(self._batch, -(-waiting // self._processes)))

    def _answer(self, answering: Answering, batch: Sequence[_Submitted]) -> None:
        # Cancelled requests are not asked. The others cannot be cancelled from here on, so they can take their outcome.
        running = [submitted for submitted in batch if submitted.outcome.set_running_or_notify_cancel()]
        outcomes = _outcomes(answering, [submitted.request for submitted in running], retry=True) if running else []
        for submitted, outcome in zip(running, outcomes, strict=True):
            submitted.outcome.set_result(outcome)


def _outcomes(answering: Answering, requests: Sequence[ScorerRequest], *, retry: bool) -> list[Outcome]:
    """Return the outcome of each request. With `retry`, requests that a failure of the program leaves unanswered are
    asked again, each alone."""
    try:
        if not retry:
            answering.start()  # a new process has no state of earlier requests
        return answering.answer(requests)
    except Broken as error:
        code, answered = error.failure.code, error.answered
        if code == NONSENSE:
            answered = {}  # its earlier answers are not trusted either
        if retry:
            rest = {place: [request] for place, request in enumerate(requests) if place not in answered}
            answered |= {place: _outcomes(answering, one, retry=False)[0] for place, one in rest.items()}
        return [answered.get(place, error.failure) for place in range(len(requests))]
    except Exception as error:  # an internal error costs only these scores
        return [Failed(DIED, f"{type(error).__name__}: {error}") for _ in requests]


_known_values: ContextVar[Mapping[str, Any] | None] = ContextVar("known_values", default=None)
"""The values of calls by key, inside `suspending`; None elsewhere."""


class Suspended(Exception):
    """An expression needs the value of a program that is not known yet. Equal calls have equal keys."""

    def __init__(self, scorer: ExternalScorer, key: str, request: ScorerRequest) -> None:
        super().__init__(f"`{scorer.plugin.name}` has no value yet")
        self.scorer, self.key, self.request = scorer, key, request


@contextmanager
def suspending(values: Mapping[str, Any]) -> Iterator[None]:
    """Let calls of programs return the value of their key in `values`, or raise `Suspended` if there is none."""
    token = _known_values.set(values)
    try:
        yield
    finally:
        _known_values.reset(token)


@dataclass
class ExternalScorer(LoadedPlugin):
    """A scorer that is a program. A call raises `Unavailable` with the status `function_error` if the program returns
    no value."""

    pool: ScorerPool | None = None

    def __call__(self, *args: Any, **named: Any) -> Any:
        types = self.plugin.parameters
        values = {**dict(zip(types, args, strict=False)), **named}
        arguments = {name: json_argument(as_argument(types[name], value)) for name, value in values.items()}
        return self.known_value(ScorerRequest(self.plugin.function, arguments))

    def known_value(self, request: ScorerRequest) -> Any:
        """Return the value of a request. Inside `suspending`, raise `Suspended` if it is not known yet; elsewhere, ask
        the program. Raises `Unavailable` if there is no value."""
        key = json.dumps([self.plugin.name, request.arguments], sort_keys=True)
        known = _known_values.get()
        if known is not None and key not in known:
            raise Suspended(self, key, request)
        value = self.request_value(request) if known is None else known[key]
        if isinstance(value, Unavailable):
            raise value
        return value

    def request_value(self, request: ScorerRequest) -> Any:
        """Ask the program and wait. Return the value of a request, or `Unavailable` with the reason."""
        assert self.pool is not None
        return self._value_of(self.pool.submit(request).result())

    async def awaited(self, request: ScorerRequest) -> Any:
        """Return the same as `request_value`, without blocking the event loop."""
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
    by_program: dict[tuple[str | None, str, str], list[Plugin]] = {}
    for plugin in plugins:
        if plugin.external is not None:
            by_program.setdefault((plugin.release, program_name(plugin), plugin.version), []).append(plugin)
    limits = {key: _limits(scorers[0], allowed) for key, scorers in by_program.items()}
    pools: dict[str, ScorerPool] = {}
    for key, scorers in by_program.items():
        path = folder if scorers[0].release is None else Path(releases.get(scorers[0].release, folder))
        pool = _pool(scorers, path, limits[key])
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
        pools |= {scorer.name: pool for scorer in scorers}
    return pools


def _limits(plugin: Plugin, allowed: AllowedPrograms) -> ProgramLimits:
    """Return the limits of a program. Raises `PluginError` (R0303) if it is not allowed."""
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


def _pool(plugins: Sequence[Plugin], folder: Path, limits: ProgramLimits) -> ScorerPool:
    """Return the pool of one program, which is not started."""
    plugin = plugins[0]
    processes = limits.processes or min(MOST_PROCESSES, os.cpu_count() or 1)
    if plugin.external == "service":
        return ScorerPool(partial(ScorerService, plugin.version, plugins, limits), processes, limits.batch)
    if plugin.external == "shipped":
        from tripos_runtime.asking.functions.code_runner import RUNNERS

        return ScorerPool(partial(RUNNERS[plugin.function], unsandboxed=limits.unsandboxed), processes, 1)
    text = _text(plugin, folder)
    return ScorerPool(partial(ScorerProcess, program_name(plugin), text, plugins, limits), processes, limits.batch)


def _text(plugin: Plugin, folder: Path) -> str:
    """Return the text of a program, which must be the compiled one."""
    assert plugin.path is not None
    try:
        text = (folder / plugin.path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise PluginError("R0301", f"cannot read `{plugin.path}`: {reason}", "put the file back") from error
    if hashlib.sha256(text.encode()).hexdigest() != plugin.version:
        raise PluginError("R0302", f"`{plugin.path}` changed since the spec was compiled", "run again")
    return text
