"""How fast a run goes: calls a second of late, which scenarios are busy, and the time that is left."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field

from tripos_runtime.asking.tally import Tally
from tripos_runtime.scheduling.budget import Budget


def usd(amount: float) -> str:
    """An amount with as many decimals as it is worth.

    >>> usd(0), usd(0.00123), usd(1.5), usd(1234.5)
    ('0.0000', '0.0012', '1.5000', '1,234.50')
    """
    return f"{amount:,.2f}" if amount >= 100 else f"{amount:.4f}"


def cost(tally: Tally) -> str:
    """The cost of the calls of this run.

    >>> cost(Tally(cost_usd=0.25)), cost(Tally(cost_usd=0.25, cost_unknown=2)), cost(Tally(cost_unknown=2))
    ('0.2500 USD', '0.2500 USD and more', 'unknown')
    """
    if not tally.cost_unknown:
        return f"{usd(tally.cost_usd)} USD"
    return f"{usd(tally.cost_usd)} USD and more" if tally.cost_usd else "unknown"


def of_budget(budget: Budget | None) -> str:
    """What is spent of each bound of a budget; empty where none is set.

    >>> of_budget(Budget(usd=5.0, calls=1000))
    '0.0000 of 5 USD, 0 of 1,000 calls'
    """
    if budget is None:
        return ""
    parts = []
    if budget.usd is not None:
        parts.append(f"{usd(budget.spent_usd)} of {budget.usd:,g} USD")
    if budget.tokens is not None:
        parts.append(f"{budget.spent_tokens:,} of {budget.tokens:,} tokens")
    if budget.calls is not None:
        parts.append(f"{budget.spent_calls:,} of {budget.calls:,} calls")
    return ", ".join(parts)


def budget_table(budget: Budget | None) -> dict[str, dict[str, float]] | None:
    """The bounds of a budget and what is spent of each, for machines; `None` where none is set.

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


RATE_S = 10.0
"""The rate that is shown is that of so many seconds."""
LONG_S = 60.0
"""The time left is estimated from so many: it should not jump about."""
STEP_S = 0.5
"""Counts are kept this far apart at least, however often someone looks."""

Lane = tuple[str, str]


@dataclass(frozen=True)
class Mark:
    """Counts at a moment: `calls` were sent and came to an end, `passed` are planned calls that need none any more."""

    at: float
    calls: int
    passed: int
    lanes: Counter[Lane]


@dataclass
class Pace:
    """Marks of the last minute.

    >>> tally, pace = Tally(), Pace()
    >>> tally.planned["candidate", "sums"] = 100
    >>> for second in range(11):
    ...     tally.asked["candidate", "sums"] = 3 * second
    ...     pace.mark(float(second), tally)
    >>> pace.rate(), pace.left_s(tally)
    (3.0, 23.333333333333332)
    """

    marks: deque[Mark] = field(default_factory=deque)

    def mark(self, now: float, tally: Tally) -> None:
        """Takes note of where the run stands."""
        calls = tally.asked.total() + tally.failed.total()
        passed = tally.reused.total() + tally.skipped.total()
        if self.marks and now - self.marks[-1].at < STEP_S:
            return
        self.marks.append(Mark(now, calls, passed, done_by_lane(tally)))
        # One mark from before the minute stays, so that a whole minute is looked at.
        while len(self.marks) > 2 and now - self.marks[1].at >= LONG_S:
            self.marks.popleft()

    def rate(self) -> float:
        """Calls a second in the last ten seconds."""
        first = self._before(RATE_S)
        return self._speed(first, self.marks[-1].calls - first.calls) if first is not None else 0.0

    def left_s(self, tally: Tally) -> float | None:
        """Seconds to the end at the pace of the last minute; `None` where nothing moves, or nothing is left."""
        left = tally.total - tally.done
        first = self._before(LONG_S)
        if first is None or left <= 0:
            return None
        last = self.marks[-1]
        speed = self._speed(first, last.calls + last.passed - first.calls - first.passed)
        return left / speed if speed > 0 else None

    def busiest(self, most: int) -> set[Lane]:
        """So many scenarios and roles, those first in which most was done of late."""
        first = self._before(RATE_S)
        if first is None:
            return set()
        last = self.marks[-1].lanes
        moved = sorted(last, key=lambda lane: (first.lanes[lane] - last[lane], lane))
        return {lane for lane in moved[:most] if last[lane] > first.lanes[lane]}

    def _before(self, seconds: float) -> Mark | None:
        if len(self.marks) < 2:
            return None
        since = self.marks[-1].at - seconds
        return next((mark for mark in reversed(self.marks) if mark.at <= since), self.marks[0])

    def _speed(self, first: Mark, done: int) -> float:
        return done / max(self.marks[-1].at - first.at, STEP_S)


def done_by_lane(tally: Tally) -> Counter[Lane]:
    """Planned calls that are behind us, by role and scenario."""
    return tally.asked + tally.reused + tally.skipped + tally.failed


def duration(seconds: float) -> str:
    """A time in the two units that matter.

    >>> duration(0.44), duration(9), duration(75), duration(3700), duration(200_000)
    ('0.4 s', '9 s', '1m 15s', '1h 01m', '2d 07h')
    """
    if seconds < 1:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02}s"
    if whole < 86400:
        return f"{whole // 3600}h {whole % 3600 // 60:02}m"
    return f"{whole // 86400}d {whole % 86400 // 3600:02}h"


def per_second(rate: float) -> str:
    """A rate with as many figures as it is worth.

    >>> per_second(0.25), per_second(12.34), per_second(1234.5)
    ('0.25/s', '12.3/s', '1,234/s')
    """
    return f"{rate:,.0f}/s" if rate >= 100 else f"{rate:.1f}/s" if rate >= 1 else f"{rate:.2f}/s"
