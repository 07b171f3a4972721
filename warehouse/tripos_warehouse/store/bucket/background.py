"""The thread of a session for its work on the bucket: reads, claims and commits, one after another."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

Value = TypeVar("Value")


class Background:
    """One thread that makes calls in the order in which they were given. It does not keep the process alive."""

    def __init__(self) -> None:
        self._waiting: SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="tripos-bucket-work", daemon=True)
        self._closed = False
        self._trouble: Exception | None = None

    def submit(self, call: Callable[[], Value]) -> Future[Value]:
        """Make a call soon, or now where the thread has ended; the future has what it returns or raises."""
        future: Future[Value] = Future()
        if self._closed:
            self._make(call, future)
            return future
        if self._thread.ident is None:
            self._thread.start()
        self._waiting.put((call, future))
        return future

    def check(self) -> None:
        """Raise the first error of a call since the last time."""
        trouble, self._trouble = self._trouble, None
        if trouble is not None:
            raise trouble

    def close(self, timeout_s: float | None = None) -> None:
        """Make the calls that wait, for so long at most, and end the thread."""
        self._closed = True
        if self._thread.ident is not None:
            self._waiting.put(None)
            self._thread.join(timeout_s)

    def _run(self) -> None:
        while (each := self._waiting.get()) is not None:
            self._make(*each)

    def _make(self, call: Callable[[], Any], future: Future[Any]) -> None:
        try:
            future.set_result(call())
        except Exception as error:
            self._trouble = self._trouble or error
            future.set_exception(error)
