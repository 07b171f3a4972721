"""What a run has done so far, for whoever shows it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Tally:
    """Counts of model calls, by `role scenario`, and of what became of them.

    `planned` counts what was planned, `asked` the calls that were answered in this run, `reused` those answered by an
    earlier one, `skipped` those that a `when` or a failure before them made needless, `failed` those without an answer.
    """

    planned: Counter[tuple[str, str]] = field(default_factory=Counter)
    asked: Counter[tuple[str, str]] = field(default_factory=Counter)
    reused: Counter[tuple[str, str]] = field(default_factory=Counter)
    skipped: Counter[tuple[str, str]] = field(default_factory=Counter)
    failed: Counter[tuple[str, str]] = field(default_factory=Counter)
    samples: Counter[str] = field(default_factory=Counter)
    """Replies of the compared role by status."""
    scores: Counter[str] = field(default_factory=Counter)
    """Scores by status."""
    errors: Counter[str] = field(default_factory=Counter)
    """Failed calls by the code of their error."""
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float = 0.0
    cost_unknown: int = 0
    """Answered calls whose price is not known."""

    @property
    def done(self) -> int:
        """Planned calls that are behind us."""
        return sum(sum(part.values()) for part in (self.asked, self.reused, self.skipped, self.failed))

    @property
    def total(self) -> int:
        """All planned calls."""
        return sum(self.planned.values())
