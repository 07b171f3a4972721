"""Shows how a run is going: a bar with counts and time left on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from tripos_runtime.tally import Tally

BAR_S = 0.2
LINE_S = 10.0


@contextlib.asynccontextmanager
async def shown_progress(tally: Tally, clock: Callable[[], float] = time.monotonic) -> AsyncIterator[None]:
    """Shows the tally on standard error while the block runs."""
    show = _bar if sys.stderr.isatty() else _lines
    task = asyncio.create_task(show(tally, clock))
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def counts(tally: Tally) -> str:
    """What came of the calls so far, in a few words."""
    parts = [f"{sum(tally.asked.values()):,} asked"]
    for name, counter in (("reused", tally.reused), ("skipped", tally.skipped), ("failed", tally.failed)):
        if counter:
            parts.append(f"{sum(counter.values()):,} {name}")
    unread = tally.scores["parse_failure"]
    if unread:
        parts.append(f"{unread:,} scores unread")
    return ", ".join(parts)


def time_left(tally: Tally, elapsed_s: float) -> str:
    """An estimate from the rate of the calls made so far, such as `1m 05s left`; a dash while there is none."""
    made = tally.done - sum(tally.reused.values())
    if made < 1 or tally.total <= tally.done:
        return "-"
    left_s = int(elapsed_s / made * (tally.total - tally.done))
    minutes, seconds = divmod(left_s, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h {minutes:02}m left"
    return f"{minutes}m {seconds:02}s left" if minutes else f"{seconds}s left"


async def _lines(tally: Tally, clock: Callable[[], float]) -> None:
    started = clock()
    while True:
        await asyncio.sleep(LINE_S)
        left = time_left(tally, clock() - started)
        print(f"{tally.done:,} of {tally.total:,} calls, {counts(tally)}, {left}", file=sys.stderr, flush=True)


async def _bar(tally: Tally, clock: Callable[[], float]) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    started = clock()
    columns: tuple[Any, ...] = (
        TextColumn("{task.fields[done]}"),
        BarColumn(bar_width=16),
        TextColumn("{task.fields[left]}"),
        TextColumn("{task.fields[counts]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None, done="", left="-", counts="")
        while True:
            progress.update(
                task,
                completed=tally.done,
                total=tally.total or None,
                done=f"{tally.done:,}/{tally.total:,} calls",
                left=time_left(tally, clock() - started),
                counts=counts(tally),
            )
            await asyncio.sleep(BAR_S)
