"""The clock, the pause and the wall time of a run, which tests replace."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime

from tripos_compiler.source import dataclass

Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True)
class Times:
    """The passing of time: seconds that only go forward, a pause, and the time on the wall."""

    clock: Callable[[], float]
    sleep: Sleep
    now: Callable[[], datetime]
