"""The progress of a run, as a callback is told it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

from tripos.api.job import Job
from tripos.api.run import Run
from tripos.settings import without_keys

LOOK_S = 0.25
"""The time between two calls of the callback."""


@dataclass(frozen=True)
class Progress:
    """A run at one moment. `done` of `total` calls are behind it: asked, reused, skipped or failed."""

    run: Run
    done: int
    total: int
    asked: int
    reused: int
    skipped: int
    failed: int
    tokens_in: int
    tokens_out: int
    cost_usd: float
    """The cost of the calls whose price is known, in USD."""
    elapsed_s: float
    notes: tuple[str, ...] = ()
    """Note that are new since the last call, such as that an endpoint does not respond."""

    def stop(self) -> None:
        """Finish the calls under way and stop the run; its results are kept."""
        self.run.stop()


Callback = Callable[[Progress], object]


class Watcher:
    """Calls a callback while a run is under way, and once at its end. An exception of the callback stops the run, and
    is in `error`."""

    def __init__(self, run: Run, callback: Callback | None, secrets: Sequence[str] = ()) -> None:
        self.run = run
        self.secrets = secrets
        self.callback = callback
        self.error: Exception | None = None
        self._started = time.monotonic()
        self._noted = 0

    @contextlib.asynccontextmanager
    async def around(self, job: Job) -> AsyncIterator[None]:
        """Watch a job while the block runs."""
        if self.callback is None:
            yield
            return
        task = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            self._look()

    async def _watch(self) -> None:
        while self.error is None:
            self._look()
            await asyncio.sleep(LOOK_S)

    def _look(self) -> None:
        if self.callback is None or self.error is not None:
            return
        tally = self.run.job.tally
        notes = tuple(without_keys(text, self.secrets) for text in tally.notes[self._noted :])
        self._noted = len(tally.notes)
        now = Progress(
            run=self.run,
            done=tally.done,
            total=tally.total,
            asked=tally.asked.total(),
            reused=tally.reused.total(),
            skipped=tally.skipped.total(),
            failed=tally.failed.total(),
            tokens_in=tally.tokens_in,
            tokens_out=tally.tokens_out,
            cost_usd=tally.cost_usd,
            elapsed_s=time.monotonic() - self._started,
            notes=notes,
        )
        try:
            self.callback(now)
        except Exception as error:
            self.error = error
            self.run.stop()
