"""The gate before an endpoint: who may call now, who waits, and when an endpoint counts as gone."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Hashable, Sequence
from itertools import count

from tripos_compiler.diagnostics import duration
from tripos_compiler.source import dataclass
from tripos_runtime.models import ModelError
from tripos_runtime.scheduling.circuit import Circuit
from tripos_runtime.scheduling.concurrency import Window
from tripos_runtime.scheduling.endpoint_state import Snapshot, State
from tripos_runtime.scheduling.errors import Stopped
from tripos_runtime.scheduling.fairness import Lanes
from tripos_runtime.scheduling.limits import LimitShare
from tripos_runtime.scheduling.times import Times

Shares = tuple[LimitShare, ...]

UNREACHABLE = "R0101"
RATE_LIMITED = "R0104"
TIMED_OUT = "R0109"
SERVER_ERROR = "R0111"
GIVEN_UP = "R0112"
NO_ANSWER = frozenset((UNREACHABLE, TIMED_OUT, SERVER_ERROR))
PROBE = -1
"""In place of the epoch of a call: it is the one that finds out whether an endpoint is back."""


@dataclass(frozen=True, slots=True)
class _Waiter:
    future: asyncio.Future[int]
    shares: Shares
    tokens: int


class Gate:
    """Everything about one endpoint and key. A call comes in by `try_enter` or `enter`, which say in which epoch of the
    window it goes out, and leaves by one of `succeeded`, `failed` and `vanished`, exactly once."""

    def __init__(
        self,
        endpoint: str,
        models: Sequence[str],
        most: int,
        patience_s: float,
        notes: Callable[[str], None],
        times: Times,
        gates: list[Gate],
    ) -> None:
        """`gates` are those of the run, this one and the others: an endpoint that is gone stops the run if there is no
        other in use."""
        self.endpoint = endpoint
        self.models = tuple(models)
        self.window = Window(most)
        self.circuit = Circuit(patience_s)
        self.in_flight = 0
        self.retries = 0
        self.answered = False
        """True if anything ever came back."""
        self._patience_s = patience_s
        self._notes = notes
        self._times = times
        self._clock = times.clock
        self._gates = gates
        self._lanes: Lanes[Shares, _Waiter] = Lanes()
        self._tickets = count()
        self._used = False
        self._held_until = -math.inf
        self._told = False
        self._alarm: asyncio.Task[None] | None = None
        self._alarm_at = math.inf

    def ticket(self) -> int:
        """Return the place of a call in its lane, which it keeps when it is made again."""
        return next(self._tickets)

    @property
    def silent(self) -> bool:
        """True if the endpoint has stopped answering, so that what fails is no fault of the call."""
        return self.circuit.silent

    @property
    def given_up(self) -> bool:
        """True if it has been silent for longer than the run is patient."""
        return self._clock() >= self.circuit.gives_up_at

    def snapshot(self) -> Snapshot:
        """Return how things stand."""
        now = self._clock()
        state: State = "held back" if now < self._held_until else "ready"
        if self.silent:
            state = "given up" if now >= self.circuit.gives_up_at else "silent"
        waiting = len(self._lanes)
        return Snapshot(self.endpoint, self.models, self.in_flight, self.window.allowed, waiting, self.retries, state)

    def try_enter(self, shares: Shares, tokens: int) -> int | None:
        """Return the epoch of a call that may go at once; None where it has to wait."""
        if self._lanes or self.in_flight >= self.window.allowed or self.circuit.silent:
            return None
        if shares or self._held_until > -math.inf:
            now = self._clock()
            if now < self._held_until or any(share.wait_s(now) > 0 for share in shares):
                return None
            self._held_until = -math.inf
            for share in shares:
                share.enter(now, tokens)
        self._used = True
        self.in_flight += 1
        return self.window.epoch

    async def enter(self, lane: Hashable, shares: Shares, tokens: int, ticket: int) -> int:
        """Wait for a turn, and return the epoch. Raises `ModelError` (R0112) where the endpoint is gone, and `Stopped`
        where there is no other."""
        self._used = True
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._lanes.add(lane, shares, ticket, _Waiter(future, shares, tokens))
        self._let_in()
        try:
            return await future
        except asyncio.CancelledError:
            self._lanes.remove(lane, shares, ticket)
            if future.done() and not future.cancelled() and future.exception() is None:
                self.vanished(future.result(), shares, tokens)
            raise

    def succeeded(self, epoch: int, shares: Shares, tokens: int, used: int | None) -> None:
        """A reply came, which used so many tokens."""
        self._heard()
        self.window.grow(self.in_flight)
        self._leave(epoch, shares, tokens, used)

    def failed(self, epoch: int, shares: Shares, tokens: int, error: ModelError) -> None:
        """An error came, or nothing did."""
        if error.code in NO_ANSWER and error.retryable and not error.broken:
            self._missed(epoch, error)
        else:
            self._heard()
            if error.code == RATE_LIMITED:
                self.window.shrink(epoch)
        if error.retry_after_s:
            until = self._clock() + min(error.retry_after_s, self._patience_s)
            self._held_until = max(self._held_until, until)
        self._leave(epoch, shares, tokens, None)

    def vanished(self, epoch: int, shares: Shares, tokens: int) -> None:
        """The call was given up by whoever made it, and says nothing about the endpoint."""
        self._leave(epoch, shares, tokens, None)

    def _heard(self) -> None:
        self.answered = True
        if self.circuit.failures == 0:
            return
        now = self._clock()
        since = self.circuit.silent_since
        if self.circuit.answered(now) and since is not None:
            self._told = False
            self.window.restart()
            self._notes(f"{self._names} answers again, after {duration(now - since)}")

    def _missed(self, epoch: int, error: ModelError) -> None:
        if error.code == TIMED_OUT:
            self.window.shrink(epoch)
        else:
            self.window.stumble(epoch)
        if error.code == SERVER_ERROR:
            self.answered = True
        if not self.answered and error.code == UNREACHABLE:
            return  # more likely a wrong address: whoever calls gives up soon
        if self.circuit.failed(self._clock(), probe=epoch == PROBE):
            self._tell_silence(error)

    def blamed(self, error: ModelError) -> bool:
        """Return true if the endpoint and not the call is to blame when a call is out of retries: nothing else got an
        answer either. It counts as silent from now on."""
        if error.code not in NO_ANSWER or not self.circuit.fall_silent(self._clock()):
            return False
        self._tell_silence(error)
        return True

    def _tell_silence(self, error: ModelError) -> None:
        since = self._times.now()
        self._notes(
            f"{self._names} has not responded since {since:%H:%M:%S} ({error.message}); "
            "retrying one call after 1, 2, 4 … 60 s"
        )

    def _leave(self, epoch: int, shares: Shares, tokens: int, used: int | None) -> None:
        self.in_flight -= 1
        if epoch == PROBE:
            self.circuit.probing = False
        if shares:
            for share in shares:
                share.leave(tokens, used)
            for gate in self._gates:  # a limit may span several endpoints
                gate._let_in()
        elif self._lanes:
            self._let_in()

    def _let_in(self) -> None:
        """Let out whoever may go, and see to it that it is called again when the next one may."""
        if not self._lanes:
            return
        now = self._clock()
        if self.circuit.silent:
            self._let_one_in(now)
            return
        if now < self._held_until:
            self._wake(self._held_until)
            return
        soonest_s = math.inf
        known: dict[Shares, bool] = {}

        def may_go(shares: Shares) -> bool:
            nonlocal soonest_s
            if not shares:
                return True
            if shares not in known:
                wait_s = max(share.wait_s(now) for share in shares)
                known[shares] = wait_s <= 0
                if wait_s > 0:
                    soonest_s = min(soonest_s, wait_s)
            return known[shares]

        while self._lanes and self.in_flight < self.window.allowed:
            waiter = self._lanes.take(may_go)
            if waiter is None:
                break
            self._send(waiter, self.window.epoch, now)
            if waiter.shares:
                known.clear()  # limits may be shared by several groups
        if self._lanes and soonest_s < math.inf:
            self._wake(now + soonest_s)

    def _let_one_in(self, now: float) -> None:
        """While the endpoint is silent: one call at a time finds out, and after too long the others fail."""
        circuit = self.circuit
        if circuit.may_probe(now) and now >= self._held_until:
            waiter = self._lanes.take(lambda shares: all(share.wait_s(now) <= 0 for share in shares))
            if waiter is not None:
                circuit.probing = True
                self._send(waiter, PROBE, now)
        if now >= circuit.gives_up_at:
            self._give_up()
        elif self._lanes:
            probe_at = math.inf if circuit.probing else max(circuit.probe_at, self._held_until)
            self._wake(min(probe_at if probe_at > now else now + 1.0, circuit.gives_up_at))

    def _give_up(self) -> None:
        if not self._told:
            self._told = True
            after = duration(self._patience_s)
            self._notes(f"{self._names} did not answer for {after}: its calls fail from now on (R0112)")
        self.send_away(self.gone)

    def send_away(self, why: Callable[[], Exception]) -> None:
        """Raise an error in everybody who waits."""
        while (waiter := self._lanes.take(lambda shares: True)) is not None:
            if not waiter.future.done():
                waiter.future.set_exception(why())

    def gone(self) -> ModelError | Stopped:
        """Return what a call to an endpoint that was given up gets."""
        message = f"{self._names} did not answer for {duration(self._patience_s)}"
        hint = "check the server and the network, and run again: kept replies are reused"
        if all(gate.given_up for gate in self._gates if gate._used):
            return Stopped(GIVEN_UP, message, hint)
        return ModelError(GIVEN_UP, message, hint)

    def _send(self, waiter: _Waiter, epoch: int, now: float) -> None:
        if waiter.future.done():  # cancelled a moment ago
            if epoch == PROBE:
                self.circuit.probing = False
            return
        self.in_flight += 1
        for share in waiter.shares:
            share.enter(now, waiter.tokens)
        waiter.future.set_result(epoch)

    def _wake(self, at: float) -> None:
        """Look again at that time, or earlier."""
        if self._alarm is not None and not self._alarm.done():
            if self._alarm_at <= at:
                return
            self._alarm.cancel()
        self._alarm_at = at
        self._alarm = asyncio.get_running_loop().create_task(self._sound(at))

    async def _sound(self, at: float) -> None:
        await self._times.sleep(max(0.0, at - self._clock()))
        self._alarm_at, self._alarm = math.inf, None
        self._let_in()

    @property
    def _names(self) -> str:
        first = f"`{self.models[0]}`"
        return first if len(self.models) == 1 else f"the endpoint of {first} and {len(self.models) - 1} more"
