"""How a run goes, for machines: JSON Lines, one event a line, in a shape that stays."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

import orjson

from tripos.cli.progress.live_view import Moment
from tripos.cli.progress.pace import budget_table, done_by_lane
from tripos.settings import table_without_keys
from tripos.ui import Failure, harmless_json, json_for
from tripos_compiler.source import dataclass
from tripos_runtime.scheduling import Budget

SHAPE = 1
"""The version of the shape. Fields may be added to it; where one goes or changes its meaning, this number grows."""


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass
class Events:
    """Writes events to a stream, each whole and at once. A reader that has gone away ends the events, not the run.

    >>> events = Events(sys.stdout, now=lambda: datetime(2026, 1, 2, tzinfo=UTC))
    >>> events.note("one model is slow")
    {"event":"note","time":"2026-01-02T00:00:00.000Z","text":"one model is slow"}
    """

    stream: TextIO
    now: Callable[[], datetime] = _now
    secrets: tuple[str, ...] = ()
    """Values that are taken out of whatever is written."""
    on_stdout: bool = False
    """Whether they take standard output, where then nothing else may be printed."""
    _broken: bool = field(default=False, init=False)

    @classmethod
    def open(cls, target: str, secrets: tuple[str, ...] = ()) -> Events:
        """Events to a file, which is written anew, or to standard output for `-`. Raises `Failure` R0202."""
        if target == "-":
            return cls(sys.stdout, secrets=secrets, on_stdout=True)
        try:
            stream = Path(target).open("w", encoding="utf-8", buffering=1)  # noqa: SIM115 - `close` closes it
        except OSError as error:
            message = f"--events: cannot write {target}: {error.strerror}"
            raise Failure("R0202", message, "name a file that can be written, or `-` for standard output") from error
        return cls(stream, secrets=secrets)

    def __enter__(self) -> Events:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def started(
        self,
        *,
        run_id: str,
        benchmark: str,
        benchmark_version: str,
        store: str,
        roles: Mapping[str, tuple[str, ...]],
        budget: Budget | None = None,
    ) -> None:
        """The first event of a run."""
        self._write(
            "started",
            shape=SHAPE,
            run_id=run_id,
            benchmark=benchmark,
            benchmark_version=benchmark_version,
            store=store,
            roles={role: list(models) for role, models in roles.items()},
            budget=budget_table(budget),
        )

    def progress(self, moment: Moment) -> None:
        """Where a run stands; `left_s` is an estimate, `None` where there is none."""
        self._write("progress", **progress_table(moment))

    def note(self, text: str) -> None:
        """Something that came up, in words for people."""
        self._write("note", text=text)

    def finished(self, summary: Mapping[str, Any]) -> None:
        """The last event of a run, with its summary."""
        self._write("finished", **summary)

    def close(self) -> None:
        """Close the file."""
        if not self.on_stdout:
            with contextlib.suppress(OSError):
                self.stream.close()

    def _write(self, event: str, **fields: Any) -> None:
        if self._broken:
            return
        time = self.now().astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        table = table_without_keys({"event": event, "time": time, **fields}, self.secrets)
        try:
            self.stream.write(json_for(harmless_json(orjson.dumps(table).decode()), self.stream) + "\n")
            self.stream.flush()
        except (OSError, ValueError):
            self._broken = True


def progress_table(moment: Moment) -> dict[str, Any]:
    """Return the fields of an event `progress`.

    >>> from tripos.cli.progress.pace import Pace
    >>> from tripos_runtime.asking.counters import CallCounters
    >>> progress_table(Moment(CallCounters(), Pace(), 1.0, endpoints=()))["in_flight"]
    0
    """
    tally, pace = moment.tally, moment.pace
    left_s = pace.left_s(tally)
    done = done_by_lane(tally)
    return {
        "elapsed_s": round(moment.elapsed_s, 3),
        "left_s": None if left_s is None else round(left_s, 1),
        "done": tally.done,
        **tally.calls(),
        "in_flight": moment.in_flight,
        "waiting": tally.waiting,
        "calls_per_s": round(pace.rate(), 3),
        "tokens_in": tally.tokens_in,
        "tokens_out": tally.tokens_out,
        "cost_usd": None if tally.cost_unknown else round(tally.cost_usd, 6),
        "cost_known_usd": round(tally.cost_usd, 6),
        "budget": budget_table(moment.budget),
        "errors": dict(sorted(tally.errors.items())),
        "endpoints": [
            {
                "models": list(each.models),
                "state": each.state,
                "in_flight": each.in_flight,
                "limit": each.limit,
                "waiting": each.waiting,
                "retries": each.retries,
            }
            for each in moment.endpoints or ()
        ],
        "lanes": [
            {
                "role": lane[0],
                "scenario": lane[1],
                "done": done[lane],
                **tally.calls(lane),
            }
            for lane in {**tally.planned, **done}
        ],
    }
