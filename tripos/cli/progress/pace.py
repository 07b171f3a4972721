"""How fast a run goes: calls a second of late, which scenarios are busy, and the time that is left."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import field

from tripos_compiler.diagnostics import usd
from tripos_compiler.source import dataclass
from tripos_runtime.asking import CallCounters
from tripos_runtime.scheduling import Budget


def cost(tally: CallCounters) -> str:
    """Return the cost of the calls of this run.

    >>> cost(CallCounters(cost_usd=0.25)), cost(CallCounters(cost_usd=0.25, cost_unknown=2))
    ('0.25 USD', '0.25 USD and more')
    >>> cost(CallCounters(cost_unknown=2))
    'unknown'
    """
    if not tally.cost_unknown:
        return f"{usd(tally.cost_usd)} USD"
    return f"{usd(tally.cost_usd)} USD and more" if tally.cost_usd else "unknown"


def budget_text(budget: Budget | None) -> str:
    """Return what is spent of each bound of a budget; empty where none is set.

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
    """Return the bounds of a budget and what is spent of each, for machines; `None` where none is set.

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
class PaceMark:
    """Counts at a moment: `calls` were sent and came to an end, `passed` are planned calls that need none any more."""

    at: float
    calls: int
    passed: int
    lanes: Counter[Lane]


@dataclass
class Pace:
    """Marks of the last minute.

    >>> tally, pace = CallCounters(), Pace()
    >>> tally.planned["candidate", "sums"] = 100
    >>> for second in range(11):
    ...     tally.asked["candidate", "sums"] = 3 * second
    ...     pace.mark(float(second), tally)
    >>> pace.rate(), pace.left_s(tally)
    (3.0, 23.333333333333332)
    """

    marks: deque[PaceMark] = field(default_factory=deque)

    def mark(self, now: float, tally: CallCounters) -> None:
        """Take note of where the run stands."""
        calls = tally.asked.total() + tally.failed.total()
        passed = tally.reused.total() + tally.skipped.total()
        if self.marks and now - self.marks[-1].at < STEP_S:
            return
        self.marks.append(PaceMark(now, calls, passed, done_by_lane(tally)))
        # One mark from before the minute stays, so that a whole minute is looked at.
        while len(self.marks) > 2 and now - self.marks[1].at >= LONG_S:
            self.marks.popleft()

    def rate(self) -> float:
        """Call a second in the last ten seconds."""
        first = self._before(RATE_S)
        return self._speed(first, self.marks[-1].calls - first.calls) if first is not None else 0.0

    def left_s(self, tally: CallCounters) -> float | None:
        """Return seconds to the end at the pace of the last minute; `None` where nothing moves, or nothing is left."""
        left = tally.total - tally.done
        first = self._before(LONG_S)
        if first is None or left <= 0:
            return None
        last = self.marks[-1]
        speed = self._speed(first, last.calls + last.passed - first.calls - first.passed)
        return left / speed if speed > 0 else None

    def busiest(self, most: int) -> set[Lane]:
        """Return that many scenarios and roles, those first in which most was done of late."""
        first = self._before(RATE_S)
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


def done_by_lane(tally: CallCounters) -> Counter[Lane]:
    """Return planned calls that are behind us, by role and scenario."""
    return tally.asked + tally.reused + tally.skipped + tally.failed
