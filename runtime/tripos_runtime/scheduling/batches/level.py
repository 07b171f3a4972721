"""The end of a level: the moment from which no further request comes before a reply does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tripos_runtime.scheduling.times import Times

HELD_UP = 2.0
"""A pause that took so many times as long as it should was one of everything: nobody could have asked."""


@dataclass(frozen=True)
class Pauses:
    """The pauses of batches, in seconds: until a level counts as complete, between looks at a batch, and how long a
    batch whose submission nobody saw the end of is looked for."""

    quiet_s: float = 1.0
    first_look_s: float = 5.0
    longest_look_s: float = 60.0
    grace_s: float = 15.0
    again_s: float = 5.0
    """Wait before transient errors are retried."""


class BatchLevel:
    """Requests of all models that are asked in batches, as they come in."""

    def __init__(self, pauses: Pauses, times: Times, busy: Callable[[], bool]) -> None:
        """`busy` says whether calls are under way beside the batches, whose replies may make further requests."""
        self._quiet_s = pauses.quiet_s
        self._times = times
        self._busy = busy
        self._stirred_at = times.clock()

    def stir(self) -> None:
        """Say that a request came, or a reply."""
        self._stirred_at = self._times.clock()

    async def complete(self) -> None:
        """Wait until nothing has come for a while, and nothing can."""
        while True:
            began = self._times.clock()
            await self._times.sleep(self._quiet_s)
            held_up = self._times.clock() - began > HELD_UP * self._quiet_s + 0.05
            if self._stirred_at <= began and not held_up and not self._busy():
                return
