"""The fates of the calls of a run, before the first call: the fate of each, and the size of its prompt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import IntEnum
from typing import NamedTuple

from tripos_compiler.plan import Settings
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.forecast.sizes import NO_SIZE, Saying, Size
from tripos_runtime.program.units import Pair, StepCall, Unit


class Where(NamedTuple):
    """The key by which calls are counted. `arm` says which treatments share them, such as `hints yes`; empty: all."""

    scenario: str
    arm: str
    step: str
    role: str
    model: str


class Fate(IntEnum):
    """The fate of a call. Of several fates of one name the greatest holds. A call that is `LIKELY` is made unless a
    reply before it does not come or does not yield what it takes; one that is `SPARE` only where others come to
    nothing."""

    RULED_OUT = 0
    SPARE = 1
    PERHAPS = 2
    LIKELY = 3
    CERTAIN = 4
    REUSED = 5


OPEN = (Fate.SPARE, Fate.PERHAPS, Fate.LIKELY, Fate.CERTAIN)
"""The fates of calls that are made, or may be."""


@dataclass(frozen=True)
class Foreseen:
    """One call of a case. `size` is that of its prompt, for those that would be made; `awaits` are the steps it builds
    on that would be asked first, by the model that answers each; `said_by` tells who gives what its prompt waits for,
    turns of conversations included."""

    call: StepCall
    unit: Unit | Pair
    fate: Fate
    size: Size = NO_SIZE
    awaits: Mapping[str, str] = field(default_factory=dict)
    said_by: Mapping[str, Saying] = field(default_factory=dict)
    settings: Settings | None = None
    """The settings of the request, or the widest that it may have; None of a call that is not made."""
