"""Messages between a run and its workers: pickled objects over the pipes of a process that the run itself started."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from tripos.releases.opening import RunOrigin
from tripos.runs.compilation import CompiledSpec
from tripos.runs.selection import RunRequest
from tripos.settings.config import Config
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.asking.progress import RunProgress
from tripos_runtime.drivers.sequential_stopping import ItemScore
from tripos_runtime.models.base import Price, Reply
from tripos_runtime.scheduling.budget import Cost
from tripos_runtime.scheduling.endpoint import Snapshot

LENGTH = 4
"""The prefix of each message: its length in bytes."""
ORPHAN_GRACE_S = 30.0
"""The time in seconds for which a worker whose run is gone finishes its calls."""


@dataclass(frozen=True)
class WorkerAssignment:
    """The first message to a worker: the run, the number of the worker, and how many there are."""

    spec: CompiledSpec
    choices: RunRequest
    config: Config
    run_id: str
    origin: RunOrigin
    part_size: int
    number: int
    workers: int
    deaths: int
    """The number of workers of the run that have died so far."""
    budget: tuple[float | None, int | None, int | None] | None
    """The bounds of the budget in USD, tokens and calls."""
    variables: tuple[Mapping[str, str], ...] = field(default=(), repr=False)
    """Variables that `.env` files set for the run."""


@dataclass(frozen=True)
class Stop:
    """Make no further calls and finish those in progress; with `at_once`, cancel them."""

    at_once: bool = False


@dataclass(frozen=True)
class DataMade:
    """The generated data sets are complete."""


@dataclass(frozen=True)
class WorkerDied:
    """A worker has died, and its cases may be taken. `deaths` counts dead workers."""

    deaths: int


@dataclass(frozen=True)
class AllCasesDone:
    """All cases are done."""


@dataclass(frozen=True)
class NothingToTake:
    """A worker has nothing left to take, as of this number of `deaths`."""

    deaths: int


@dataclass(frozen=True)
class CaseScored:
    """A worker has finished the case at this position of a run with early stopping."""

    place: int
    scores: tuple[ItemScore, ...]


@dataclass(frozen=True)
class ActiveModels:
    """The number of cases that the run has read, and the models that are still asked; none once it is settled."""

    read: int
    models: tuple[str, ...]


@dataclass(frozen=True)
class WorkerState:
    """The state of a worker: its counters with new notes, its endpoints, and failed functions, each with the number of
    failures and the first error."""

    tally: RunProgress
    endpoints: tuple[Snapshot, ...]
    functions: dict[str, tuple[int, str]]


@dataclass(frozen=True)
class WorkerEnded:
    """The last message of a worker: how it ended, and the code, message and hint of what stopped it."""

    status: str
    failure: tuple[str, str, str] | None = None


@dataclass(frozen=True)
class BudgetRequest:
    """A worker requests a call with this maximum cost."""

    number: int
    cost: Cost
    model: str


@dataclass(frozen=True)
class BudgetReply:
    """The call may be made; or, with a `refusal` (code, message, hint), the budget is spent."""

    number: int
    refusal: tuple[str, str, str] | None = None


@dataclass(frozen=True)
class BudgetSettlement:
    """The reply to a call that was debited, without its text; `None` if there is none."""

    number: int
    reply: Reply | None
    price: Price | None = None


def pack(message: object) -> bytes:
    """Return the bytes of a message on the pipe.

    >>> len(pack(AllCasesDone())) > LENGTH
    True
    """
    content = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return len(content).to_bytes(LENGTH) + content


async def read(stream: asyncio.StreamReader) -> Any:
    """Return the next message, or None if the other process is gone."""
    try:
        length = int.from_bytes(await stream.readexactly(LENGTH))
        return pickle.loads(await stream.readexactly(length))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
