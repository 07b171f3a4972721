"""The progress of a run: a live view on a terminal, lines elsewhere, events as JSON Lines, and the final summary.

The event log is a stable interface with a version, `EVENT_FORMAT`. All observers read the same counters.
A failure of one of them never stops the run.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
import textwrap
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TextIO

import orjson

from tripos.settings.options import BUDGET, EVENTS
from tripos.settings.secrets import table_without_keys, without_keys
from tripos.terminal import (
    encodable_json,
    escape_controls,
    escape_controls_json,
    show_message,
    show_text,
    terminal_width,
)
from tripos_compiler.diagnostics.codes import CODES
from tripos_compiler.diagnostics.i18n import localized, reader_language
from tripos_compiler.diagnostics.text_format import (
    display_width,
    duration,
    per_second,
    percent as format_percent,
    usd,
    wrap,
)
from tripos_compiler.errors import TriposError
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.asking.ledger import ReuseCounts
from tripos_runtime.asking.progress import RunProgress
from tripos_runtime.scheduling.budget import Budget
from tripos_runtime.scheduling.calling import Lane
from tripos_runtime.scheduling.endpoint import Snapshot
from tripos_warehouse.tables.model import Column, Table
from tripos_warehouse.tables.text import UNBOUNDED, lay_out

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live


# Cost and budget
def format_cost(tally: RunProgress) -> str:
    """Return the cost of the calls of this run as text.

    >>> format_cost(RunProgress(cost_usd=0.25)), format_cost(RunProgress(cost_usd=0.25, cost_unknown=2))
    ('0.25 USD', '0.25 USD and more')
    >>> format_cost(RunProgress(cost_unknown=2))
    'unknown'
    """
    if not tally.cost_unknown:
        return f"{usd(tally.cost_usd)} USD"
    return f"{usd(tally.cost_usd)} USD and more" if tally.cost_usd else "unknown"


def budget_text(budget: Budget | None) -> str:
    """Return the spent part of each bound of a budget; empty without a budget.

    >>> budget_text(Budget(usd=5.0, calls=1000))
    '0.00 of 5.00 USD, 0 of 1,000 calls'
    """
    if budget is None:
        return ""
    parts = []
    if budget.usd is not None:
        parts.append(f"{usd(budget.spent_usd)} of {usd(budget.usd)} USD")
    if budget.tokens is not None:
        parts.append(f"{budget.spent_tokens:,} of {budget.tokens:,} tokens")
    if budget.calls is not None:
        parts.append(f"{budget.spent_calls:,} of {budget.calls:,} calls")
    return ", ".join(parts)


def budget_table(budget: Budget | None) -> dict[str, dict[str, float]] | None:
    """Return each bound of a budget and what is spent of it, for JSON; None without a budget.

    >>> budget_table(Budget(calls=10))
    {'calls': {'most': 10, 'spent': 0}}
    """
    if budget is None:
        return None
    bounds: dict[str, tuple[float | None, float]] = {
        "usd": (budget.usd, budget.spent_usd),
        "tokens": (budget.tokens, budget.spent_tokens),
        "calls": (budget.calls, budget.spent_calls),
    }
    return {unit: {"most": most, "spent": spent} for unit, (most, spent) in bounds.items() if most is not None} or None


RATE_WINDOW_S = 10.0
"""The window in seconds for the displayed rate."""
REMAINING_WINDOW_S = 60.0
"""The window in seconds for the remaining time, longer so that the estimate is steady."""
STEP_S = 0.5
"""The minimum time in seconds between two marks."""


# Rate and remaining time
@dataclass(frozen=True)
class PaceMark:
    """Counters at one time. `calls` are finished calls; `passed` are planned calls that are no longer needed."""

    at: float
    calls: int
    passed: int
    lanes: Counter[Lane]


@dataclass
class Pace:
    """The marks of the last minute, from which rates are computed.

    >>> tally, pace = RunProgress(), Pace()
    >>> tally.planned["candidate", "sums"] = 100
    >>> for second in range(11):
    ...     tally.asked["candidate", "sums"] = 3 * second
    ...     pace.mark(float(second), tally)
    >>> pace.rate(), pace.left_s(tally)
    (3.0, 23.333333333333332)
    """

    marks: deque[PaceMark] = field(default_factory=deque)

    def mark(self, now: float, tally: RunProgress) -> None:
        """Record the counters at a time."""
        calls = tally.asked.total() + tally.failed.total()
        passed = tally.reused.total() + tally.skipped.total()
        if self.marks and now - self.marks[-1].at < STEP_S:
            return
        self.marks.append(PaceMark(now, calls, passed, done_by_lane(tally)))
        # Keep one mark from before the window, so that rates cover the whole window.
        while len(self.marks) > 2 and now - self.marks[1].at >= REMAINING_WINDOW_S:
            self.marks.popleft()

    def rate(self) -> float:
        """The finished calls per second in the last ten seconds."""
        first = self._before(RATE_WINDOW_S)
        return self._speed(first, self.marks[-1].calls - first.calls) if first is not None else 0.0

    def left_s(self, tally: RunProgress) -> float | None:
        """Return the remaining time in seconds at the pace of the last minute, or None if nothing moves or nothing is
        left."""
        left = tally.total - tally.done
        first = self._before(REMAINING_WINDOW_S)
        if first is None or left <= 0:
            return None
        last = self.marks[-1]
        speed = self._speed(first, last.calls + last.passed - first.calls - first.passed)
        return left / speed if speed > 0 else None

    def busiest(self, most: int) -> set[Lane]:
        """Return the `most` roles and scenarios with the most finished calls in the last ten seconds."""
        first = self._before(RATE_WINDOW_S)
        if first is None:
            return set()
        last = self.marks[-1].lanes
        moved = sorted(last, key=lambda lane: (first.lanes[lane] - last[lane], lane))
        return {lane for lane in moved[:most] if last[lane] > first.lanes[lane]}

    def _before(self, seconds: float) -> PaceMark | None:
        if len(self.marks) < 2:
            return None
        since = self.marks[-1].at - seconds
        return next((mark for mark in reversed(self.marks) if mark.at <= since), self.marks[0])

    def _speed(self, first: PaceMark, done: int) -> float:
        return done / max(self.marks[-1].at - first.at, STEP_S)


def done_by_lane(tally: RunProgress) -> Counter[Lane]:
    """Return the number of planned calls that are settled in any way, by role and scenario."""
    return tally.asked + tally.reused + tally.skipped + tally.failed


RESERVED_LINES = 8
"""Lines of the live view that are not rows: the bar, the heading, the line on hidden rows, three below, and two to
spare."""
USUAL_FOOTER = 3
"""The usual number of lines below the rows."""
MOST_ENDPOINTS = 6
MOST_MAKINGS = 3
FEWEST = 3
BAR = 24
MOST_ERRORS = 3


# The live view
@dataclass(frozen=True)
class ProgressSnapshot:
    """The state of a run at one time, as far as observers show it."""

    tally: RunProgress
    pace: Pace
    elapsed_s: float
    endpoints: tuple[Snapshot, ...] | None = None
    budget: Budget | None = None
    verbose: bool = False

    @property
    def in_flight(self) -> int | None:
        """The number of calls in progress, or None if it is unknown."""
        return None if self.endpoints is None else sum(each.in_flight for each in self.endpoints)


def live_view(moment: ProgressSnapshot, height: int) -> RenderableType:
    """Return the live view for a terminal of `height` lines. It takes fewer lines than that."""
    from rich.console import Group
    from rich.text import Text

    tally = moment.tally
    under = footer_lines(moment)
    room = max(FEWEST, height - RESERVED_LINES - max(0, len(under) - USUAL_FOOTER))
    lanes, more = shown_lanes(tally, moment.pace, room)
    done = done_by_lane(tally)
    planned, failed = ([counts[lane] for lane in lanes] for counts in (tally.planned, tally.failed))
    shares = [percent(done[lane], count) for lane, count in zip(lanes, planned, strict=True)]
    columns = (
        Column("role", tuple(role for role, _ in lanes), wraps=False, max_width=18),
        Column("scenario", tuple(scenario for _, scenario in lanes), wraps=False, max_width=24),
        Column("done", tuple(done[lane] for lane in lanes), "count"),
        Column("planned", tuple(count or "" for count in planned), "count"),
        Column("share", tuple(shares), heading="", right=True),
        Column("reused", tuple(tally.reused[lane] or "" for lane in lanes), "count"),
        Column("failed", tuple(count or "" for count in failed), "count"),
    )
    shown = lay_out(Table(columns), UNBOUNDED)
    parts = [Text(line, overflow="ellipsis", no_wrap=True) for line in (overall_line(moment), *shown.head[:-1])]
    parts[1].style = "dim"
    for lane, count, bad, (line,) in zip(lanes, planned, failed, shown.rows, strict=True):
        row = Text(line, "dim" if count and done[lane] >= count else "", overflow="ellipsis", no_wrap=True)
        if bad:
            row.stylize("red", len(line) - len(f"{bad:,}"))
        parts.append(row)
    if more:
        parts.append(Text(localized(f"and {more:,} more"), style="dim"))
    parts += [Text(line, overflow="ellipsis", no_wrap=True) for line in under]
    return Group(*parts)


def shown_lanes(tally: RunProgress, pace: Pace, most: int) -> tuple[Sequence[Lane], int]:
    """Return the roles and scenarios that get a row, in the order of the plan, and the number of hidden ones. If there
    are too many, the busiest are shown, then unfinished ones."""
    lanes = list({**tally.planned, **done_by_lane(tally)})
    if len(lanes) <= most:
        return lanes, 0
    room = most - 1
    done = done_by_lane(tally)
    chosen = pace.busiest(room)
    for lane in [*(each for each in lanes if done[each] < tally.planned[each]), *lanes]:
        if len(chosen) >= room:
            break
        chosen.add(lane)
    return [lane for lane in lanes if lane in chosen], len(lanes) - len(chosen)


def overall_line(moment: ProgressSnapshot) -> str:
    """Return the overall progress in one line.

    >>> tally = RunProgress()
    >>> tally.planned["candidate", "sums"] = 200
    >>> tally.asked["candidate", "sums"] = 50
    >>> overall_line(ProgressSnapshot(tally, Pace(), 4.0))
    '━━━━━━                     25%  50 of 200 calls  after 4 s'
    """
    tally, pace = moment.tally, moment.pace
    done, total = tally.done, tally.total
    filled = min(BAR, BAR * done // total) if total else 0
    left_s = pace.left_s(tally)
    parts = [f"{'━' * filled:{BAR}}", f"{percent(done, total):>4}", localized(f"{done:,} of {total:,} calls")]
    if rate := pace.rate():
        parts.append(per_second(rate))
    told = f"{duration(left_s)} left" if left_s is not None else f"after {duration(moment.elapsed_s)}"
    parts.append(localized(told))
    return "  ".join(parts)


def footer_lines(moment: ProgressSnapshot) -> list[str]:
    """Return the lines below the rows: calls in progress, cost and failures."""
    tally = moment.tally
    lines = []
    first = [] if moment.in_flight is None else [f"{moment.in_flight:,} under way"]
    if tally.waiting:
        first.append(f"{tally.waiting:,} item{'s' if tally.waiting > 1 else ''} left to another process")
    if tally.repaired:
        first.append(f"{tally.repaired:,} asked once more")
    first.append(f"{tally.tokens_in:,} tokens in, {tally.tokens_out:,} out")
    lines.append(localized("; ").join(map(localized, first)))
    budget = budget_text(moment.budget)
    costs = [f"cost {format_cost(tally)}", *([f"budget {budget}"] if budget else [])]
    lines.append(localized("; ").join(map(localized, costs)))
    news = [
        f"{name}{localized(': ')}{localized(each.summary())}" for name, each in tally.makings.items() if each.is_news
    ]
    lines += news[-MOST_MAKINGS:]
    if tally.errors:
        lines.append(format_failures(tally))
    told = [each for each in moment.endpoints or () if moment.verbose or each.state != "ready"]
    lines += [endpoint_line(each) for each in told[:MOST_ENDPOINTS]]
    return lines


def endpoint_line(endpoint: Snapshot) -> str:
    """Return the state of an endpoint, labelled with the names of its models.

    >>> endpoint_line(Snapshot("https://x/v1 X_KEY", ("x/a", "x/b"), 4, 16, 2, 1, "silent"))
    'x/a, x/b: silent; 4 of at most 16 calls under way, 2 waiting, 1 made again'
    >>> endpoint_line(Snapshot("https://x/v1 X_KEY", ("x/a",), 4, 16, 12, 0, "held back", wait_s=40.0))
    'x/a: held back; 4 of at most 16 calls under way, 12 calls wait 40 s, as the server asked'
    """
    parts = [f"{endpoint.in_flight:,} of at most {endpoint.limit:,} calls under way"]
    if wait := wait_text(endpoint):
        parts.append(wait)
    elif endpoint.waiting:
        parts.append(f"{endpoint.waiting:,} waiting")
    if endpoint.retries:
        parts.append(f"{endpoint.retries:,} made again")
    told = localized(", ").join(map(localized, parts))
    return f"{', '.join(endpoint.models)}{localized(': ')}{localized(endpoint.state)}{localized('; ')}{told}"


def wait_text(endpoint: Snapshot) -> str | None:
    """Return how long calls of an endpoint wait because it asked for that; None if it did not."""
    if endpoint.state != "held back" or not endpoint.waiting:
        return None
    waits = "calls wait" if endpoint.waiting > 1 else "call waits"
    return f"{endpoint.waiting:,} {waits} {duration(endpoint.wait_s)}, as the server asked"


def format_failures(tally: RunProgress) -> str:
    """Return failed calls by kind, the most frequent first.

    >>> from collections import Counter
    >>> format_failures(RunProgress(errors=Counter(R0104=3, R0111=1)))
    'failed: 3 R0104 rate limited, 1 R0111 server error'
    """
    common = tally.errors.most_common(MOST_ERRORS)
    kinds = [f"{number:,} {code} {localized(CODES.get(code, ''))}".rstrip() for code, number in common]
    rest = tally.errors.total() - sum(number for _, number in common)
    kinds += [localized(f"{rest:,} others")] if rest else []
    return f"{localized('failed')}{localized(': ')}{localized(', ').join(kinds)}"


def percent(done: int, total: int) -> str:
    """Return a share as a whole percentage, which is 100 only if nothing is missing.

    >>> percent(1999, 2000), percent(2000, 2000), percent(5, 0)
    ('99%', '100%', '')
    """
    return f"{min(100, 100 * done // total)}%" if total else ""


EVENT_FORMAT = 1
"""The version of the event format. Fields may be added; removing a field or changing its meaning increases the
version."""


def _now() -> datetime:
    return datetime.now(UTC)


# The event log
@dataclass
class Events:
    """An event log in JSON Lines. Each event is flushed as a whole line. If the reader closes it, the log ends and the
    run continues.

    >>> events = Events(sys.stdout, now=lambda: datetime(2026, 1, 2, tzinfo=UTC))
    >>> events.note("one model is slow")
    {"event":"note","time":"2026-01-02T00:00:00.000Z","text":"one model is slow"}
    """

    stream: TextIO
    now: Callable[[], datetime] = _now
    secrets: tuple[str, ...] = ()
    """Values that are removed from every event."""
    on_stdout: bool = False
    """True if the log is standard output, so that nothing else may be printed there."""
    _broken: bool = field(default=False, init=False)

    @classmethod
    def open(cls, target: str, secrets: tuple[str, ...] = ()) -> Events:
        """Open an event log in a file, which is overwritten, or on standard output for `-`. Raises `TriposError` R0202
        if the file cannot be written."""
        if target == "-":
            return cls(sys.stdout, secrets=secrets, on_stdout=True)
        try:
            stream = Path(target).open("w", encoding="utf-8", buffering=1)  # noqa: SIM115 - `close` closes it
        except OSError as error:
            message = f"{EVENTS}: cannot write {target}: {error.strerror}"
            raise TriposError(
                "R0202", message, "name a file that can be written, or `-` for standard output"
            ) from error
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
        """Write the first event of a run."""
        self._write(
            "started",
            shape=EVENT_FORMAT,
            run_id=run_id,
            benchmark=benchmark,
            benchmark_version=benchmark_version,
            store=store,
            roles={role: list(models) for role, models in roles.items()},
            budget=budget_table(budget),
        )

    def progress(self, moment: ProgressSnapshot) -> None:
        """Write the state of a run. `left_s` is an estimate in seconds, or None if there is none."""
        self._write("progress", **progress_table(moment))

    def note(self, text: str) -> None:
        """Write a note in words for people."""
        self._write("note", text=text)

    def finished(self, summary: Mapping[str, Any]) -> None:
        """Write the last event of a run, with its summary."""
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
            self.stream.write(encodable_json(escape_controls_json(orjson.dumps(table).decode()), self.stream) + "\n")
            self.stream.flush()
        except (OSError, ValueError):
            self._broken = True


def progress_table(moment: ProgressSnapshot) -> dict[str, Any]:
    """Return the fields of a `progress` event.

    >>> from tripos.cli.progress import Pace
    >>> from tripos_runtime.asking.progress import RunProgress
    >>> progress_table(ProgressSnapshot(RunProgress(), Pace(), 1.0, endpoints=()))["in_flight"]
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
                "wait_s": round(each.wait_s, 1),
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


MAX_WIDTH = 80
"""The maximum width of a line in columns."""
SHORT_S = 10.0
"""The duration of a run is printed only if it is longer than this, in seconds."""
MOST_REASONS = 3
"""The maximum number of reasons for calls that were not made."""
OUT_OF_BUDGET = "R0402"
UNREMARKABLE = ("ok", "scored", "not_applicable")
"""Statuses that are not listed if there are no others."""


# The summary
@dataclass(frozen=True)
class RunSummary:
    """The outcome of a run. `status` is `finished`, `interrupted`, `stopped` or `failed`; `code` is the error code of
    what stopped it. `functions` lists errors of Python functions, `command` is the command as typed."""

    run_id: str
    status: str
    tally: RunProgress
    elapsed_s: float
    code: str | None = None
    budget: Budget | None = None
    functions: tuple[str, ...] = ()
    command: str = ""


def format_counts(tally: RunProgress) -> str:
    """Return the outcome of the calls so far in a few words.

    >>> format_counts(RunProgress(asked=Counter({("candidate", "sums"): 1200}), failed=Counter({("judge", "sums"): 3})))
    '1,200 asked, 3 failed'
    """
    parts = [f"{tally.asked.total():,} asked"]
    for name, counter in (("reused", tally.reused), ("skipped", tally.skipped), ("failed", tally.failed)):
        if counter.total():
            parts.append(f"{counter.total():,} {name}")
    return ", ".join(parts)


def summary_lines(ended: RunSummary) -> list[str]:
    """Return the summary for people, in lines of at most 80 columns.

    >>> tally = RunProgress(asked=Counter({("candidate", "sums"): 9}), failed=Counter({("candidate", "sums"): 1}))
    >>> tally.errors["R0111"] = 1
    >>> tally.samples.update(ok=8, parse_failure=1, provider_error=1)
    >>> for status_line in summary_lines(RunSummary("r1", "finished", tally, 20.0, command="tripos run quiz")):
    ...     print(status_line)
    finished: 9 calls asked, 1 failed; 0 tokens in, 0 out; cost 0.00 USD
      took     20 s, 0.50/s
      replies  8 ok (80%), 1 parse_failure (10%), 1 provider_error (10%)
      failed   1 with R0111 server error: `tripos explain R0111`
      next     tries the failed call again: tripos run quiz
    """
    tally = ended.tally
    spent = budget_text(ended.budget)
    tokens = f"{tally.tokens_in:,} token{'' if tally.tokens_in == 1 else 's'} in, {tally.tokens_out:,} out"
    asked = format_counts(tally).replace(" asked", f" call{'' if tally.asked.total() == 1 else 's'} asked", 1)
    colon = localized(": ")
    lines = wrap_labelled(
        f"{localized(ended.status)}{colon}", localized(f"{asked}; {tokens}; cost {format_cost(tally)}"), "  "
    )
    for text in ended.functions:
        lines += wrap_labelled("  ", without_keys(text), "    ")
    for label, text in _details(ended):
        lines += wrap_labelled(_labelled(label), localized(text), " " * 11)
    if spent:
        lines += wrap_labelled(_labelled("budget"), localized(spent), " " * 11)
    for text in _next(ended):
        lines += wrap_labelled(_labelled("next"), localized(text), " " * 11)
    return lines


def _labelled(label: str) -> str:
    """Return the label of a summary line, padded to the same width in every language."""
    shown = localized(label)
    return f"  {shown}{' ' * (8 - display_width(shown))} "


def _details(ended: RunSummary) -> Iterator[tuple[str, str]]:
    tally = ended.tally
    if ended.elapsed_s >= SHORT_S:
        calls = tally.asked.total() + tally.failed.total()
        yield "took", f"{duration(ended.elapsed_s)}, {per_second(calls / ended.elapsed_s)}"
    if told := format_reused(tally.reuse_counts):
        yield "reused", told
    for name, making in tally.makings.items():
        if making.is_news:
            yield "made", f"{name}: {making.summary()}"
    counted = (
        ("replies", tally.samples),
        ("judges", tally.judgements),
        ("scores", tally.scores),
        ("compared", tally.comparisons),
    )
    for label, statuses in counted:
        if any(number and status not in UNREMARKABLE for status, number in statuses.items()):
            yield label, format_shares(statuses)
    for (role, reason), count in tally.unasked.most_common(MOST_REASONS):
        yield "unasked", f"{count:,} call{'' if count == 1 else 's'} of {role}: {reason}"
    if len(tally.unasked) > MOST_REASONS:
        left = tally.unasked.total() - sum(count for _, count in tally.unasked.most_common(MOST_REASONS))
        yield "unasked", f"{left:,} more, for other reasons: tripos report"
    if tally.repaired:
        replies = f"{tally.repaired:,} {'reply' if tally.repaired == 1 else 'replies'}"
        yield (
            "repairs",
            f"{replies} could not be read and {'was' if tally.repaired == 1 else 'were'} asked for once more",
        )
    for code, failed in sorted(tally.errors.items()):
        headline = f" {CODES[code]}" if code in CODES else ""
        yield "failed", f"{failed:,} with {code}{headline}: `tripos explain {code}`"
    if tally.unpriced:
        names = ", ".join(sorted(tally.unpriced))
        unknown = f"{tally.cost_unknown:,} call{'s' if tally.cost_unknown != 1 else ''}"
        yield "unpriced", f'{unknown} of {names}; [prices."NAME"] in tripos.toml gives a price'


def _next(ended: RunSummary) -> Iterator[str]:
    tally, failed = ended.tally, ended.tally.failed.total()
    if ended.code == OUT_OF_BUDGET:
        yield _copyable_command(f"goes on with a larger {BUDGET}; what was answered is kept", ended.command)
    elif ended.status != "finished":
        yield _copyable_command("goes on where this ended; what was answered is kept", ended.command)
    elif failed:
        yield _copyable_command(f"tries the failed call{'s' if failed > 1 else ''} again", ended.command)
    elif not tally.asked.total() and tally.reused.total():
        yield "nothing was left to ask: every call was answered before"


def _copyable_command(what: str, command: str) -> str:
    """Return the purpose of a command with the command on a line that can be copied."""
    command = without_keys(command)
    if command and len(f"{what}: {command}") <= _width() - 11:
        return f"{localized(what)}{localized(': ')}{command}"
    return f"the same command {what}"


def format_shares(statuses: Counter[str]) -> str:
    """Return statuses with their counts and shares, the most frequent first.

    >>> format_shares(Counter(ok=1999, refused=1))
    '1,999 ok (99.9%), 1 refused (0.1%)'
    """
    total = statuses.total()
    return ", ".join(
        f"{number:,} {localized(status)} ({format_percent(number / total)})"
        for status, number in sorted(statuses.items(), key=lambda each: (-each[1], each[0]))
        if number
    )


def _width() -> int:
    return min(MAX_WIDTH, terminal_width())


def wrap_labelled(head: str, text: str, margin: str) -> list[str]:
    """Return a text in lines of at most 80 columns and the width of the terminal. The first line begins with `head`,
    the others with `margin`."""
    if reader_language() != "en":  # Chinese text has no spaces to break at
        first, *more = wrap(text, _width() - max(display_width(head), len(margin)))
        return [f"{head}{first}", *(f"{margin}{line}" for line in more)]
    # Break only at ASCII spaces: a figure and its unit are joined by a no-break space.
    whole = re.sub(r"(\d) (USD|tokens|calls)", "\\1\N{NO-BREAK SPACE}\\2", text)
    lines = textwrap.wrap(
        whole, _width(), initial_indent=head, subsequent_indent=margin, break_long_words=False, break_on_hyphens=False
    )
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]


def format_reused(taken: ReuseCounts) -> str:
    """Return the number of replies reused from other stores, with their original cost; empty if there are none.

    >>> format_reused(ReuseCounts(Counter({"../class": 312}), {"../class": 1.25}))
    '312 from ../class, where they had cost 1.25 USD'
    """
    parts = []
    for place, count in taken.calls.items():
        paid, unpriced, shown = taken.cost_of(place), taken.unpriced[place], escape_controls(place)
        if paid is None:
            parts.append(localized(f"{count:,} from {shown}, where {unpriced:,} of them have no known cost"))
        else:
            parts.append(localized(f"{count:,} from {shown}, where they had cost {usd(paid)} USD"))
    return localized("; ").join(parts)


def summary_data(ended: RunSummary) -> dict[str, Any]:
    """Return the summary for `tripos run --json` and the event `finished`. `cost_usd` is None if the price of a call is
    unknown; `cost_known_usd` is the cost of the others.

    >>> summary_data(RunSummary("r1", "finished", RunProgress(), 1.25))["calls"]
    {'planned': 0, 'asked': 0, 'reused': 0, 'skipped': 0, 'failed': 0, 'left': 0}
    """
    tally = ended.tally
    calls = tally.asked.total() + tally.failed.total()
    return {
        "run_id": ended.run_id,
        "status": ended.status,
        "code": ended.code,
        "calls": tally.calls(),
        "samples": dict(sorted(tally.samples.items())),
        "judgements": dict(sorted(tally.judgements.items())),
        "scores": dict(sorted(tally.scores.items())),
        "comparisons": dict(sorted(tally.comparisons.items())),
        "made": {name: making.to_json() for name, making in tally.makings.items()},
        "unasked": [
            {"role": role, "reason": reason, "calls": count} for (role, reason), count in sorted(tally.unasked.items())
        ],
        "errors": dict(sorted(tally.errors.items())),
        "reused_from": tally.reuse_counts.to_json(),
        "repaired": tally.repaired,
        "functions": [without_keys(text) for text in ended.functions],
        "tokens_in": tally.tokens_in,
        "tokens_out": tally.tokens_out,
        "cost_usd": None if tally.cost_unknown else round(tally.cost_usd, 6),
        "cost_known_usd": round(tally.cost_usd, 6),
        "unpriced": sorted(tally.unpriced),
        "budget": budget_table(ended.budget),
        "elapsed_s": round(ended.elapsed_s, 3),
        "calls_per_s": round(calls / ended.elapsed_s, 3) if ended.elapsed_s > 0 else None,
    }


FIRST_LINE_S, LINE_S, CI_LINE_S = 5.0, 30.0, 60.0
EVENT_S, IDLE_EVENT_S = 1.0, 30.0
"""The interval of events in seconds, while counters change and while they do not."""


# Views of a run
class ProgressView:
    """A view of a run."""

    def look(self, moment: ProgressSnapshot) -> None:
        """Show the current state, if it is time to."""

    def note(self, text: str) -> None:
        """Show a note."""

    def close(self) -> None:
        """End the view."""


@dataclass
class ProgressLines(ProgressView):
    """A view that prints a line from time to time, for log files and CI."""

    stream: TextIO
    every_s: float = LINE_S
    _next_s: float = FIRST_LINE_S

    def look(self, moment: ProgressSnapshot) -> None:
        """Print a line if it is time to."""
        if moment.elapsed_s < self._next_s:
            return
        self._next_s = self.every_s * (moment.elapsed_s // self.every_s + 1)
        show_text(status_line(moment), stream=self.stream, flush=True)

    def note(self, text: str) -> None:
        """Print the note at once."""
        show_message(text, stream=self.stream, flush=True)


@dataclass
class EventLines(ProgressView):
    """A view that writes events: often while counters change, rarely while they do not."""

    events: Events
    _next_s: float = 0.0
    _idle_s: float = 0.0
    _last_state: tuple[object, ...] = ()
    _last: ProgressSnapshot | None = None

    def look(self, moment: ProgressSnapshot) -> None:
        """Write an event if it is time to."""
        self._last = moment
        seen = (moment.tally.done, moment.tally.total, moment.in_flight, moment.tally.waiting, moment.endpoints)
        due = self._next_s if seen != self._last_state else self._idle_s
        if moment.elapsed_s >= due:
            self._write(moment, seen)

    def note(self, text: str) -> None:
        """Write the note at once."""
        self.events.note(text)

    def close(self) -> None:
        """Write the final state of the run. The log is closed by its owner."""
        if self._last is not None:
            self._write(self._last, ())

    def _write(self, moment: ProgressSnapshot, seen: tuple[object, ...]) -> None:
        self._last_state = seen
        self._next_s, self._idle_s = moment.elapsed_s + EVENT_S, moment.elapsed_s + IDLE_EVENT_S
        self.events.progress(moment)


class Screen(ProgressView):
    """A view that draws the live view, with notes above it, and removes it at the end."""

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console
        from rich.live import Live

        self._console = Console(file=stream, highlight=False, markup=True)
        self._live: Live = Live(console=self._console, transient=True, auto_refresh=False, redirect_stdout=False)
        self._live.start()

    def look(self, moment: ProgressSnapshot) -> None:
        """Redraw the live view."""
        self._live.update(live_view(moment, self._console.size.height), refresh=True)

    def note(self, text: str) -> None:
        """Print the note above the live view."""
        self._live.console.print(escape_controls(localized(text)), markup=False, style="yellow")

    def close(self) -> None:
        """Remove the live view."""
        self._live.stop()


@dataclass
class ProgressMonitor:
    """The counters of a run, as several views show them. `endpoints` returns the state of each endpoint, and `verbose`
    shows all of them. `secrets` are removed from all notes."""

    tally: RunProgress
    views: list[ProgressView]
    endpoints: Callable[[], Sequence[Snapshot]] | None = None
    budget: Budget | None = None
    verbose: bool = False
    secrets: tuple[str, ...] = ()
    pace: Pace = field(default_factory=Pace)

    def look(self, elapsed_s: float, notes: Sequence[str] = ()) -> None:
        """Show the current state and new notes in every view."""
        self.pace.mark(elapsed_s, self.tally)
        endpoints = None if self.endpoints is None else tuple(self.endpoints())
        moment = ProgressSnapshot(self.tally, self.pace, elapsed_s, endpoints, self.budget, self.verbose)
        for text in notes:
            self._for_each_view(partial(_note, without_keys(text, self.secrets)))
        self._for_each_view(lambda view: view.look(moment))

    def close(self) -> None:
        """Close every view."""
        self._for_each_view(lambda view: view.close())

    def _for_each_view(self, act: Callable[[ProgressView], None]) -> None:
        """Call a function for every view. A view whose output is closed is dropped, and the run continues."""
        for view in tuple(self.views):
            try:
                act(view)
            except OSError:
                self.views.remove(view)


def views_of(
    events: Events | None = None,
    *,
    quiet: bool = False,
    stream: TextIO | None = None,
    environ: Mapping[str, str] = os.environ,
) -> list[ProgressView]:
    """Return the views of a run: for people on `stream` (default: standard error) unless `quiet`, and `events`."""
    views: list[ProgressView] = [] if quiet else [_for_people(stream or sys.stderr, environ)]
    return views if events is None else [*views, EventLines(events)]


def _note(text: str, view: ProgressView) -> None:
    view.note(text)


def _for_people(stream: TextIO, environ: Mapping[str, str]) -> ProgressView:
    ci = environ.get("CI", "").lower() not in ("", "0", "false")
    if stream.isatty() and not ci and environ.get("TERM") != "dumb" and shutil.get_terminal_size().columns >= 40:
        return Screen(stream)
    return ProgressLines(stream, CI_LINE_S if ci else LINE_S)


def status_line(moment: ProgressSnapshot) -> str:
    """Return the state of a run in one line.

    >>> tally = RunProgress()
    >>> tally.planned["candidate", "sums"] = 200
    >>> tally.asked["candidate", "sums"] = 50
    >>> status_line(ProgressSnapshot(tally, Pace(), 30.0))
    '50 of 200 calls (25%): 50 asked, 0.00 USD'
    """
    tally, pace = moment.tally, moment.pace
    share = f" ({100 * tally.done // tally.total}%)" if tally.total else ""
    parts = [localized(format_counts(tally))]
    if moment.in_flight:
        parts.append(localized(f"{moment.in_flight:,} under way"))
    if rate := pace.rate():
        parts.append(per_second(rate))
    parts.append(localized(f"cost {format_cost(tally)}") if tally.cost_unknown else format_cost(tally))
    if (left_s := pace.left_s(tally)) is not None:
        parts.append(localized(f"{duration(left_s)} left"))
    if tally.errors:
        parts.append(format_failures(tally))
    parts += [localized(wait) for endpoint in moment.endpoints or () if (wait := wait_text(endpoint))]
    done = localized(f"{tally.done:,} of {tally.total:,} calls")
    return f"{done}{share}{localized(': ')}{localized(', ').join(parts)}"
