"""Ctrl-C and SIGTERM during a run: handled between calls, and also during long evaluations of an expression."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator
from types import FrameType

from tripos_compiler.language.evaluation import EvaluationWatchdog

SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""The signals that stop a run. A cluster sends SIGTERM at the end of the time limit."""
TO_WORKER: signal.Signals | None = getattr(signal, "SIGUSR1", None)
"""The signal to a worker that must stop while an evaluation blocks its event loop; None on Windows."""
POLL_S = 0.25
"""The interval in seconds of the checks after a signal. An evaluation that is the same in two checks is ended, so it
may take once to twice this time."""


@contextlib.contextmanager
def interrupt_handler(interrupted: Callable[[], None]) -> Iterator[None]:
    """While the block runs, call `interrupted` from the event loop for each signal.

    An evaluation blocks the loop, so after the first signal long evaluations are ended. The next run computes their
    results.
    """
    before, loop = None, asyncio.get_running_loop()
    with contextlib.suppress(NotImplementedError, AttributeError):  # Windows
        before = signal.getsignal(signal.SIGALRM)
        for number in SIGNALS:
            loop.add_signal_handler(number, interrupted)
            end_evaluations_on(number)  # the loop still handles the signal
    try:
        yield
    finally:
        if before is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
            for number in SIGNALS:
                loop.add_signal_handler(number, interrupted)
            signal.signal(signal.SIGALRM, before)


def end_evaluations_on(number: signal.Signals) -> None:
    """End long evaluations when this signal arrives."""
    long = EvaluationWatchdog()

    def look(number: int, frame: FrameType | None) -> None:
        long.look(frame)

    def begin(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGALRM, look)
        signal.setitimer(signal.ITIMER_REAL, POLL_S, POLL_S)

    signal.signal(number, begin)
