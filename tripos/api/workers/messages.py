"""Messages between a run and its worker processes: pickled objects over the pipes of each process.

The run itself starts these processes, so it can trust what they pickle.
"""

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
"""The size in bytes of the prefix of a message, which is the length of its pickle."""
ORPHAN_GRACE_S = 30.0
"""The time in seconds for which a worker may finish its calls after the process of the run has ended."""


@dataclass(frozen=True)
class WorkerAssignment:
    """The first message to a worker: the run, the number of the worker from 0, and the number of workers. `part_size`
    is the number of cases that a worker claims at once."""

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
    """The limits of the budget in USD, tokens and calls, each `None` if unlimited; `None` if there is no budget."""
    variables: tuple[Mapping[str, str], ...] = field(default=(), repr=False)
    """The environment variables of the `.env` files of the run; they may be secret, so `repr` omits them."""


@dataclass(frozen=True)
class Stop:
    """The order to make no further calls and finish those in progress, or with `at_once` cancel them."""

    at_once: bool = False


@dataclass(frozen=True)
class DataMade:
    """The notice that the generated data sets are complete, from the worker that made them; the run forwards it to all
    workers."""


@dataclass(frozen=True)
class WorkerDied:
    """The notice that a worker has died, so others may take over its cases; `deaths` have died so far."""

    deaths: int


@dataclass(frozen=True)
class AllCasesDone:
    """The notice that all cases are done, so workers may end."""


@dataclass(frozen=True)
class NothingToTake:
    """The notice that a worker has no case left to do or take over, after it learned of `deaths` dead workers."""

    deaths: int


@dataclass(frozen=True)
class CaseScored:
    """The scores of a finished case in a run with early stopping; `place` is the position of the case."""

    place: int
    scores: tuple[ItemScore, ...]


@dataclass(frozen=True)
class ActiveModels:
    """The state of early stopping: the number of cases whose scores the run has read, and the compared models that are
    still asked."""

    read: int
    models: tuple[str, ...]


@dataclass(frozen=True)
class WorkerState:
    """The state of a worker: its counters with new notes, its endpoints, and the user functions that failed, by name
    with the number of failures and the first error."""

    tally: RunProgress
    endpoints: tuple[Snapshot, ...]
    functions: dict[str, tuple[int, str]]


@dataclass(frozen=True)
class WorkerEnded:
    """The last message of a worker: how it ended, and the code, message and hint of the error that stopped it."""

    status: str
    failure: tuple[str, str, str] | None = None


@dataclass(frozen=True)
class BudgetRequest:
    """The request for a call with this maximum cost; `number` identifies it in the reply and in the settlement."""

    number: int
    cost: Cost
    model: str


@dataclass(frozen=True)
class BudgetReply:
    """The answer to a `BudgetRequest`: the call may be made, or, with a `refusal` (code, message, hint), the budget is
    spent."""

    number: int
    refusal: tuple[str, str, str] | None = None


@dataclass(frozen=True)
class BudgetSettlement:
    """The end of a requested call: its reply without texts, for its usage, or `None` if there is no reply, with the
    price by which its cost is computed."""

    number: int
    reply: Reply | None
    price: Price | None = None


def pack(message: object) -> bytes:
    """Return the bytes of a message for the pipe: its length, then its pickle.

    >>> len(pack(AllCasesDone())) > LENGTH
    True
    """
    content = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return len(content).to_bytes(LENGTH) + content


async def read(stream: asyncio.StreamReader) -> Any:
    """Return the next message, or None if the other process has closed the pipe."""
    try:
        length = int.from_bytes(await stream.readexactly(LENGTH))
        return pickle.loads(await stream.readexactly(length))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
