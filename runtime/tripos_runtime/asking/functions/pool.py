"""The requests to one program: handed to a few processes in batches, and asked again alone where a batch broke."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Protocol

from tripos_compiler.source import dataclass
from tripos_runtime.asking.functions.protocol import DIED, NONSENSE, Broken, Failed, Outcome, ScorerRequest


class Answering(Protocol):
    """A process or a service that answers requests."""

    def start(self) -> None:
        """Start it, or ask who it is. Raises `Broken`."""
        ...

    def answer(self, requests: Sequence[ScorerRequest]) -> list[Outcome]:
        """Return the outcome of each request. Raises `Broken`, with those that came before."""
        ...

    def close(self) -> None:
        """End it."""
        ...


@dataclass(frozen=True)
class _Submitted:
    request: ScorerRequest
    outcome: Future[Outcome]


class ScorerPool:
    """Asks a program. A request that a batch broke with is asked once more, alone and in a new process, so that its
    outcome does not hang on what stood beside or before it; where it breaks that too, this is its outcome."""

    def __init__(self, opened: Callable[[], Answering], processes: int, batch: int) -> None:
        self._opened, self._processes, self._batch = opened, processes, batch
        self._queue: queue.SimpleQueue[_Submitted | None] = queue.SimpleQueue()
        self._all: list[Answering] = []
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._busy = 0
        self._closed = False

    def start(self) -> None:
        """Start one process, and see that it answers. Raises `Broken`."""
        with self._lock:
            first = self._opened()
            self._all.append(first)
        first.start()

    def submit(self, request: ScorerRequest) -> Future[Outcome]:
        """Return the outcome of a request, once it is there."""
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
        """End all processes. What is still asked has no score."""
        with self._lock:
            self._closed = True
        for _ in self._threads:
            self._queue.put(None)
        for each in self._all:
            each.close()

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
        """Return how many requests one process takes at a time: what waits is divided among all."""
        waiting = self._queue.qsize() + 1
        return max(1, min(self._batch, -(-waiting // self._processes)))

    def _do(self, answering: Answering, batch: Sequence[_Submitted]) -> None:
        outcomes = _asked(answering, [each.request for each in batch], again=True)
        for each, outcome in zip(batch, outcomes, strict=True):
            if not each.outcome.cancelled():
                each.outcome.set_result(outcome)


def _asked(answering: Answering, requests: Sequence[ScorerRequest], *, again: bool) -> list[Outcome]:
    try:
        if not again:
            answering.start()  # nothing of what was asked before is left in it
        return answering.answer(requests)
    except Broken as error:
        code, answered = error.failure.code, error.answered
        if code == NONSENSE:
            answered = {}  # what it said before is not believed either
        if again:
            rest = {place: [each] for place, each in enumerate(requests) if place not in answered}
            answered |= {place: _asked(answering, one, again=False)[0] for place, one in rest.items()}
        return [answered.get(place, error.failure) for place in range(len(requests))]
    except Exception as error:  # a mistake of ours costs these scores and no others
        return [Failed(DIED, f"{type(error).__name__}: {error}") for _ in requests]
