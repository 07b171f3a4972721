"""How time passes for whoever waits: handed in, so that a test need not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True)
class Times:
    """How time passes: seconds that only go forward, a pause, and what stands on the wall."""

    clock: Callable[[], float]
    sleep: Sleep
    now: Callable[[], datetime]
