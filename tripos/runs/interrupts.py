"""Ctrl-C and SIGTERM while a run asks: heard between calls, and also while a long expression is evaluated."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator
from types import FrameType

from tripos_compiler.language.evaluation import LongEvaluations

SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""The latter comes from a cluster whose time is over."""
TO_WORKER: signal.Signals | None = getattr(signal, "SIGUSR1", None)
"""Sent to a worker that is to stop, whose event loop waits while an expression is evaluated; none on Windows."""
LOOK_S = 0.25
"""Once a signal has come, an evaluation may take this long, and twice this at most."""


@contextlib.contextmanager
def heard(interrupted: Callable[[], None]) -> Iterator[None]:
    """Have `interrupted` called for each signal, by the event loop. A loop waits while an expression is evaluated, so
    from the first signal on, evaluations that take long are ended: what they were for is left to the next run."""
    before, loop = None, asyncio.get_running_loop()
    with contextlib.suppress(NotImplementedError, AttributeError):  # Windows
        before = signal.getsignal(signal.SIGALRM)
        for number in SIGNALS:
            loop.add_signal_handler(number, interrupted)
            end_evaluations_on(number)  # the loop hears of it all the same
    try:
        yield
    finally:
        if before is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
            for number in SIGNALS:
                loop.add_signal_handler(number, interrupted)
            signal.signal(signal.SIGALRM, before)


def end_evaluations_on(number: signal.Signals) -> None:
    """End evaluations that take long, from that signal on."""
    long = LongEvaluations()

    def look(number: int, frame: FrameType | None) -> None:
        long.look(frame)

    def begin(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGALRM, look)
        signal.setitimer(signal.ITIMER_REAL, LOOK_S, LOOK_S)

    signal.signal(number, begin)
