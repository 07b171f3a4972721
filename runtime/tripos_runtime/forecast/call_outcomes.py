"""The forecast calls of a run: how certain each call is, and the size of its prompt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import IntEnum
from typing import NamedTuple

from tripos_compiler.plan import Settings
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.forecast.sizes import NO_SIZE, ReplySource, Size
from tripos_runtime.program.units import Pair, StepCall, Unit


class CallGroup(NamedTuple):
    """The key by which calls are counted. `arm` says which treatments share them, such as `hints yes`; empty if all
    do."""

    scenario: str
    arm: str
    step: str
    role: str
    model: str


class CallCertainty(IntEnum):
    """How certain it is that a call is made. If several units need the call, the highest certainty counts.

    A `LIKELY` call is made unless an earlier reply fails or lacks a value; a `SPARE` call is made only if others
    fail."""

    RULED_OUT = 0
    SPARE = 1
    PERHAPS = 2
    LIKELY = 3
    CERTAIN = 4
    REUSED = 5


OPEN = (CallCertainty.SPARE, CallCertainty.PERHAPS, CallCertainty.LIKELY, CallCertainty.CERTAIN)
"""The certainties of calls that are or may be made."""


@dataclass(frozen=True)
class ForecastCall:
    """One call of a case. `size` is the size of its prompt, if it would be made. `awaits` are the steps that it builds
    on and that are asked first, with the model of each; `reply_sources` are the sources of pending replies in its
    prompt, including turns."""

    call: StepCall
    unit: Unit | Pair
    fate: CallCertainty
    size: Size = NO_SIZE
    awaits: Mapping[str, str] = field(default_factory=dict)
    reply_sources: Mapping[str, ReplySource] = field(default_factory=dict)
    settings: Settings | None = None
    """The settings of the request, or the widest possible; None for a call that is not made."""
