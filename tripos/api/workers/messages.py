"""The messages between a run and its workers: pickled objects in the pipes of a process that the run itself started."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from tripos.releases.opening import RunOrigin
from tripos.runs.compilation import CompiledSpec
from tripos.runs.selection import Choices
from tripos.settings.config import Config
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.asking.progress import CallCounters
from tripos_runtime.drivers.sequential_stopping import ItemScore
from tripos_runtime.models.base import Price, Reply
from tripos_runtime.scheduling.budget import Cost
from tripos_runtime.scheduling.endpoint import Snapshot

LENGTH = 4
"""The bytes before each message that say how long it is."""
STOPS_S = 30.0
"""How long a worker without a run finishes the calls under way."""


@dataclass(frozen=True)
class WorkerAssignment:
    """The first message to a worker: the run, and which worker of how many it is."""

    spec: CompiledSpec
    choices: Choices
    config: Config
    run_id: str
    origin: RunOrigin
    part_size: int
    number: int
    workers: int
    deaths: int
    """How many workers of the run have died so far."""
    budget: tuple[float | None, int | None, int | None] | None
    """The bounds of the budget in USD, tokens and calls."""
    variables: tuple[Mapping[str, str], ...] = field(default=(), repr=False)
    """Those that files `.env` gave to the run."""


@dataclass(frozen=True)
class Stop:
    """Make no further call and finish those under way; `at_once`: give them up."""

    at_once: bool = False


@dataclass(frozen=True)
class DataMade:
    """The data sets that models write are made."""


@dataclass(frozen=True)
class LookAgain:
    """A worker died, and what it had may be taken. `deaths` counts them."""

    deaths: int


@dataclass(frozen=True)
class Over:
    """Every case is done."""


@dataclass(frozen=True)
class Idle:
    """A worker has nothing left to take, as things stood after so many `deaths`."""

    deaths: int


@dataclass(frozen=True)
class CaseRead:
    """A worker went through the case at this place of a run that stops when it is settled."""

    place: int
    scores: tuple[ItemScore, ...]


@dataclass(frozen=True)
class StillAsked:
    """The run has read so many cases, and asks these models further: none once it is settled."""

    read: int
    models: tuple[str, ...]


@dataclass(frozen=True)
class WorkerState:
    """The state of a worker: its tally with the notes that are new, its endpoints, and the functions that failed, each
    with how often and the first reason."""

    tally: CallCounters
    endpoints: tuple[Snapshot, ...]
    functions: dict[str, tuple[int, str]]


@dataclass(frozen=True)
class WorkerEnded:
    """The last message of a worker: how it ended, and the code, the message and the hint of what stopped it."""

    status: str
    failure: tuple[str, str, str | None] | None = None


@dataclass(frozen=True)
class CallWanted:
    """A worker wants to make a call that costs so much at most."""

    number: int
    cost: Cost
    model: str


@dataclass(frozen=True)
class Debited:
    """The call may be made; with a `refusal`, its code, message and hint, it may not, for the budget is spent."""

    number: int
    refusal: tuple[str, str, str] | None = None


@dataclass(frozen=True)
class Settle:
    """The call that was debited has a reply, which is sent without its text; `None`: it has none."""

    number: int
    reply: Reply | None
    price: Price | None = None


def pack(message: object) -> bytes:
    """Return a message as it is written.

    >>> len(pack(Over())) > LENGTH
    True
    """
    content = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return len(content).to_bytes(LENGTH) + content


async def read(stream: asyncio.StreamReader) -> Any:
    """Return the next message; `None` where the other process is gone."""
    try:
        length = int.from_bytes(await stream.readexactly(LENGTH))
        return pickle.loads(await stream.readexactly(length))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
