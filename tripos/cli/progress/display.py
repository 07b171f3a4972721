"""Shows how a run is going: a picture on a terminal, a line now and then elsewhere, events for machines."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Protocol, TextIO

from tripos.cli.progress.events import Events
from tripos.cli.progress.live_view import Moment, failures, live_view
from tripos.cli.progress.pace import Pace, cost
from tripos.cli.progress.summary import counts
from tripos.settings import without_keys
from tripos.ui import harmless, show_message, show_text
from tripos_compiler.diagnostics import duration, localized, per_second
from tripos_compiler.source import dataclass
from tripos_runtime.asking import CallCounters
from tripos_runtime.scheduling import Budget, Snapshot

if TYPE_CHECKING:
    from rich.live import Live

LOOK_S = 0.25
"""So often someone looks at the tally."""
FIRST_LINE_S, LINE_S, CI_LINE_S = 5.0, 30.0, 60.0
EVENT_S, IDLE_EVENT_S = 1.0, 30.0
"""An event comes this often while something changes, and while nothing does."""


class Show(Protocol):
    """One way of showing a run."""

    def look(self, moment: Moment) -> None:
        """Show what there is to show now."""
        ...

    def note(self, text: str) -> None:
        """Show what came up."""
        ...

    def close(self) -> None:
        """Leave things as they are."""
        ...


@dataclass
class ProgressLines:
    """A line now and then, for files and for CI."""

    stream: TextIO
    every_s: float = LINE_S
    _next_s: float = FIRST_LINE_S

    def look(self, moment: Moment) -> None:
        """Write a line where one is due."""
        if moment.elapsed_s < self._next_s:
            return
        self._next_s = self.every_s * (moment.elapsed_s // self.every_s + 1)
        show_text(line(moment), stream=self.stream, flush=True)

    def note(self, text: str) -> None:
        """Write it at once."""
        show_message(text, stream=self.stream, flush=True)

    def close(self) -> None:
        """Nothing is open."""


@dataclass
class EventLines:
    """Events, where something changed, and a sign of life where nothing does."""

    events: Events
    _next_s: float = 0.0
    _idle_s: float = 0.0
    _seen: tuple[object, ...] = ()

    def look(self, moment: Moment) -> None:
        """Write an event where one is due."""
        seen = (moment.tally.done, moment.tally.total, moment.in_flight, moment.tally.waiting, moment.endpoints)
        due = self._next_s if seen != self._seen else self._idle_s
        if moment.elapsed_s >= due:
            self._write(moment, seen)

    def last(self, moment: Moment) -> None:
        """Write where the run stands at its end."""
        self._write(moment, ())

    def note(self, text: str) -> None:
        """Write it at once."""
        self.events.note(text)

    def close(self) -> None:
        """The events go on without us."""

    def _write(self, moment: Moment, seen: tuple[object, ...]) -> None:
        self._seen = seen
        self._next_s, self._idle_s = moment.elapsed_s + EVENT_S, moment.elapsed_s + IDLE_EVENT_S
        self.events.progress(moment)


class Screen:
    """The picture, which goes away at the end; notes stay above it."""

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console
        from rich.live import Live

        self._console = Console(file=stream, highlight=False, markup=True)
        self._live: Live = Live(console=self._console, transient=True, auto_refresh=False, redirect_stdout=False)
        self._live.start()

    def look(self, moment: Moment) -> None:
        """Draw it anew."""
        self._live.update(live_view(moment, self._console.size.height), refresh=True)

    def note(self, text: str) -> None:
        """Print it above the picture."""
        self._live.console.print(harmless(localized(text)), markup=False, style="yellow")

    def close(self) -> None:
        """Take the picture away."""
        self._live.stop()


@dataclass
class Watch:
    """Look at a tally and lets it be shown."""

    tally: CallCounters
    shows: list[Show]
    started: float
    endpoints: Callable[[], Sequence[Snapshot]] | None = None
    budget: Budget | None = None
    verbose: bool = False
    secrets: tuple[str, ...] = ()
    pace: Pace = field(default_factory=Pace)
    _told: int = 0

    def look(self, now: float) -> Moment:
        """Show where the run stands."""
        self.pace.mark(now, self.tally)
        endpoints = None if self.endpoints is None else tuple(self.endpoints())
        moment = Moment(self.tally, self.pace, now - self.started, endpoints, self.budget, self.verbose)
        for text in self.tally.notes[self._told :]:
            self._told += 1
            told = without_keys(text, self.secrets)
            self._each(partial(_note, told))
        self._each(lambda show: show.look(moment))
        return moment

    def close(self) -> None:
        """Close every show."""
        self._each(lambda show: show.close())

    def _each(self, act: Callable[[Show], None]) -> None:
        """Do something with every show. One that nobody can see any more ends, and the run does not."""
        for show in tuple(self.shows):
            try:
                act(show)
            except OSError:
                self.shows.remove(show)


@contextlib.asynccontextmanager
async def shown_progress(
    tally: CallCounters,
    *,
    endpoints: Callable[[], Sequence[Snapshot]] | None = None,
    budget: Budget | None = None,
    verbose: bool = False,
    events: Events | None = None,
    quiet: bool = False,
    secrets: tuple[str, ...] = (),
    stream: TextIO | None = None,
    environ: Mapping[str, str] = os.environ,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> AsyncIterator[None]:
    """Show the tally while the block runs: to people on `stream` (standard error), unless `quiet`, and to machines as
    `events`. `endpoints` says how each is doing, and `verbose` shows all of them; `secrets` are never shown."""
    stream = stream or sys.stderr
    shows: list[Show] = []
    if not quiet:
        shows.append(_for_people(stream, environ))
    told = EventLines(events) if events is not None else None
    if told is not None:
        shows.append(told)
    watch = Watch(tally, shows, clock(), endpoints, budget, verbose, secrets)
    task = asyncio.create_task(_watch(watch, clock, sleep))
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        # What came up last is told before the shows close.
        moment = watch.look(clock())
        if told is not None:
            told.last(moment)
        watch.close()


def _note(text: str, show: Show) -> None:
    show.note(text)


async def _watch(watch: Watch, clock: Callable[[], float], sleep: Callable[[float], Awaitable[None]]) -> None:
    while True:
        watch.look(clock())
        await sleep(LOOK_S)


def _for_people(stream: TextIO, environ: Mapping[str, str]) -> Show:
    ci = environ.get("CI", "").lower() not in ("", "0", "false")
    if stream.isatty() and not ci and environ.get("TERM") != "dumb" and shutil.get_terminal_size().columns >= 40:
        return Screen(stream)
    return ProgressLines(stream, CI_LINE_S if ci else LINE_S)


def line(moment: Moment) -> str:
    """Return where a run stands, in a line.

    >>> tally = CallCounters()
    >>> tally.planned["candidate", "sums"] = 200
    >>> tally.asked["candidate", "sums"] = 50
    >>> line(Moment(tally, Pace(), 30.0))
    '50 of 200 calls (25%): 50 asked, 0.00 USD'
    """
    tally, pace = moment.tally, moment.pace
    share = f" ({100 * tally.done // tally.total}%)" if tally.total else ""
    parts = [localized(counts(tally))]
    if moment.in_flight:
        parts.append(localized(f"{moment.in_flight:,} under way"))
    if rate := pace.rate():
        parts.append(per_second(rate))
    parts.append(localized(f"cost {cost(tally)}") if tally.cost_unknown else cost(tally))
    if (left_s := pace.left_s(tally)) is not None:
        parts.append(localized(f"{duration(left_s)} left"))
    if tally.errors:
        parts.append(failures(tally))
    done = localized(f"{tally.done:,} of {tally.total:,} calls")
    return f"{done}{share}{localized(': ')}{localized(', ').join(parts)}"
