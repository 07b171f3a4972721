"""A model on several servers: each request goes to the one with the fewest under way, and silent ones are left out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

from tripos_compiler.plan import Settings
from tripos_compiler.source import dataclass
from tripos_runtime.models.base import ModelError, Reply, Request
from tripos_runtime.models.over_http.direct import DirectModel

DOUBTFUL = ("R0101", "R0111")
"""After these errors a server is asked whether it is there: nothing came back, or an error of its own did."""
LOOK_S = 1.0
LONGEST_LOOK_S = 30.0


@dataclass(eq=False)
class _Replica:
    model: DirectModel
    in_flight: int = 0
    left_out: asyncio.Task[None] | None = None
    """What waits for its return, while it does not answer."""


class ReplicatedModel:
    """The same model on several servers, which counts as one: with one name, one price and one limit of connections.

    A server that fails a call and then its health check is left out until it passes one, and the call goes to another.
    Where none is left, the error goes on to whoever asked, and is tried again as any other.
    """

    slots: int | None = None

    def __init__(
        self,
        models: Sequence[DirectModel],
        warm_up_s: float,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        first = models[0]
        self.name, self.price, self.endpoint = first.name, first.price, first.endpoint
        self.structured = all(model.structured for model in models)
        self._replicas = [_Replica(model) for model in models]
        self._warm_up_s = warm_up_s
        self._sleep, self._clock = sleep, clock

    @property
    def most_samples(self) -> int:
        """How many replies one request may ask for, of every server."""
        return min(each.model.most_samples for each in self._replicas)

    async def warm_up(self) -> None:
        """Wait until a server is there, for `warm_up_s` at most; those that are not yet there are left out until they
        are. Raises `ModelError` R0101."""
        if not self._warm_up_s:
            return
        ends = self._clock() + self._warm_up_s
        while True:
            ready = await asyncio.gather(*(each.model.is_ready() for each in self._replicas))
            if any(ready):
                break
            if self._clock() >= ends:
                addresses = ", ".join(each.model.endpoint.partition(" ")[0] for each in self._replicas)
                message = f"no server of `{self.name}` was ready within {self._warm_up_s:g} s: {addresses}"
                raise ModelError("R0101", message, "start a server, or raise `warm_up_s` of its endpoint", fatal=True)
            await self._sleep(min(LOOK_S, max(0.0, ends - self._clock())))
        for each, there in zip(self._replicas, ready, strict=True):
            if not there:
                self._leave_out(each)

    async def ask(self, request: Request) -> Reply:
        """Return the reply of the server with the fewest requests under way. Raises `ModelError`."""
        tried: set[_Replica] = set()
        while True:
            replica = self._least_loaded(tried)
            tried.add(replica)
            replica.in_flight += 1
            try:
                return await replica.model.ask(request)
            except ModelError as error:
                if error.code not in DOUBTFUL or error.fatal:
                    raise
                if replica.left_out is None and await replica.model.is_ready():
                    raise
                self._leave_out(replica)
                if len(tried) == len(self._replicas):
                    raise
            finally:
                replica.in_flight -= 1

    def _least_loaded(self, tried: set[_Replica]) -> _Replica:
        left = [each for each in self._replicas if each not in tried]
        there = [each for each in left if each.left_out is None]
        found = min(there or left, key=lambda each: each.in_flight)
        self._replicas.remove(found)  # of several alike, the one that was not asked for longest
        self._replicas.append(found)
        return found

    def _leave_out(self, replica: _Replica) -> None:
        if replica.left_out is None:
            replica.left_out = asyncio.get_running_loop().create_task(self._until_back(replica))

    async def _until_back(self, replica: _Replica) -> None:
        pause_s = LOOK_S
        while True:
            await self._sleep(pause_s)
            if await replica.model.is_ready():
                replica.left_out = None
                return
            pause_s = min(2 * pause_s, LONGEST_LOOK_S)

    def refuses(self, settings: Settings) -> tuple[str, ...]:
        """Return the names of the settings that a request would go without."""
        return self._replicas[0].model.refuses(settings)

    async def close(self) -> None:
        """Let go of the connections."""
        waiting = [each.left_out for each in self._replicas if each.left_out is not None]
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        for each in self._replicas:
            await each.model.close()
