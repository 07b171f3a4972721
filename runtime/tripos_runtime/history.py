"""What a store tells about earlier runs of a benchmark: what forecasts are made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from pydantic import ValidationError

from tripos_compiler.plan import Plan


@dataclass(frozen=True)
class Earlier:
    """An earlier run. `whole`: it came to its end and left out no item by choice."""

    run_id: str
    plan_text: str
    """The plan as JSON, maybe of a format that this version does not read; empty where it was not looked into."""
    fingerprints: frozenset[str]
    roles: Mapping[str, tuple[str, ...]]
    scenarios: frozenset[str]
    """Those that were run."""
    whole: bool = True
    identities: Mapping[str, str] = field(default_factory=dict)
    """Who answered under the name of a model, where that does not say it."""

    @property
    def plan(self) -> Plan | None:
        """The plan, or `None` where this version cannot read it."""
        return _read(self.plan_text)


@lru_cache(maxsize=16)
def _read(text: str) -> Plan | None:
    """Runs of one plan share it."""
    try:
        return Plan.model_validate_json(text)
    except ValidationError:
        return None


@dataclass(frozen=True)
class Usage:
    """What the replies of one model to one step took: means and bounds over `replies` of them, in tokens. Those that
    were asked for once more count with both calls."""

    replies: int
    tokens_in: float | None
    out_low: float
    """The 10th percentile of a reply's tokens."""
    out_mean: float
    out_high: float
    """The 95th percentile."""


Place = tuple[str, str, str]
"""The table, the scenario, and the step or scorer that a usage is of."""


@dataclass(frozen=True)
class History:
    """The earlier runs of a benchmark, newest first; the items that they had, by scenario; what replies took, by place
    and model; and for models how many tokens a character of a prompt is."""

    earlier: tuple[Earlier, ...] = ()
    items: Mapping[str, frozenset[str]] = field(default_factory=dict)
    usage: Mapping[Place, Mapping[str, Usage]] = field(default_factory=dict)
    density: Mapping[str, float] = field(default_factory=dict)


NO_HISTORY = History()
"""That of a benchmark which was never run."""
