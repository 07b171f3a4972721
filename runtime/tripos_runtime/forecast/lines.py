"""A forecast as a table: the calls of every step, by scenario, arm, role and model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from tripos_runtime.asking import TakenCounts
from tripos_runtime.forecast.call_outcomes import Fate, Where
from tripos_runtime.forecast.estimates import Estimate, Load
from tripos_runtime.forecast.reasons import Reason


@dataclass
class ForecastLine:
    """The calls of one place: those `reused`, those that are `ruled_out`, and the `load` of those that are made or may
    be. Of these `failed` counts those that failed before, by the code of the error."""

    reused: int = 0
    ruled_out: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    load: Load = field(default_factory=Load)

    @property
    def certain(self) -> int:
        """The calls that are made for sure."""
        return self.load.calls[Fate.CERTAIN]

    @property
    def perhaps(self) -> int:
        """The calls that depend on replies, or rows, which are not there."""
        return self.load.calls.total() - self.certain

    @property
    def most(self) -> int:
        """The calls that are made at the most."""
        return self.certain + self.perhaps


@dataclass(frozen=True)
class Forecast:
    """The forecast of a run. `lines` are in the order of the plan; `scores` counts those that are taken anew from
    replies that are kept. `estimates` says what calls take, `reasons` why they are made, the most frequent first."""

    lines: Mapping[Where, ForecastLine]
    estimates: Mapping[Where, Estimate]
    reasons: tuple[Reason, ...]
    items: Mapping[str, int]
    scores: int
    unpriced: tuple[str, ...]
    """The models of calls whose price is not known."""
    unmade: Mapping[str, int] = field(default_factory=dict)
    """How many items of a scenario are yet to be made, at the most."""
    taken: TakenCounts = field(default_factory=TakenCounts)
    """Of the reused calls those whose reply is found in another store."""

    @property
    def reused(self) -> int:
        """The calls that an earlier run made."""
        return sum(line.reused for line in self.lines.values())

    @property
    def certain(self) -> int:
        """The calls that are made for sure."""
        return sum(line.certain for line in self.lines.values())

    @property
    def perhaps(self) -> int:
        """The calls that depend on replies which are not there."""
        return sum(line.perhaps for line in self.lines.values())

    @property
    def total(self) -> Estimate:
        """Return what all calls take."""
        return Estimate.of_all(self.estimates.values())
