"""Admission control for one endpoint: slots, waiting calls, circuit breaker.

A `Window` says how many calls there are at a time. Waiting calls take turns by lane (`Lanes`). After many consecutive
failures, one call at a time probes the endpoint (`Circuit`). `Times` holds the clock, so that tests can replace it."""

from __future__ import annotations

import asyncio
import heapq
import math
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import field
from datetime import datetime
from itertools import count
from operator import itemgetter
from typing import Generic, Literal, TypeVar, get_args

from tripos_compiler.diagnostics.text_format import duration
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.models.base import ModelError
from tripos_runtime.scheduling.budget import Stopped
from tripos_runtime.scheduling.limits import SharedLimit
from tripos_runtime.scheduling.window import Window

FAILURES = 10
"""The number of consecutive failures after which the endpoint counts as silent …"""
FAILING_S = 2.0
"""… unless they came within this time: hundreds of calls fail together when one connection breaks."""
LONGEST_PAUSE_S = 60.0


@dataclass
class Circuit:
    """The circuit breaker of an endpoint. Times are seconds of any monotonic clock.

    >>> circuit = Circuit(patience_s=900)
    >>> [circuit.failed(second, probe=False) for second in range(12)].index(True)  # the tenth failure
    9
    >>> circuit.may_probe(9.9), circuit.may_probe(10.0)
    (False, True)
    >>> circuit.probing = True
    >>> circuit.failed(10.5, probe=True), circuit.probe_at  # the next after 2 s
    (False, 12.5)
    >>> circuit.answered(12.6), circuit.silent  # the answer ends the silence
    (True, False)
    """

    patience_s: float
    failures: int = 0
    """Consecutive failures."""
    failing_since: float = 0.0
    silent_since: float | None = None
    probing: bool = False
    """True if a probe is in flight."""
    probe_at: float = 0.0
    pause_s: float = 1.0

    @property
    def silent(self) -> bool:
        """True if only probes are sent, one at a time."""
        return self.silent_since is not None

    @property
    def give_up_at(self) -> float:
        """The time at which the silence will have lasted too long; infinity without a silence."""
        return math.inf if self.silent_since is None else self.silent_since + self.patience_s

    def may_probe(self, now: float) -> bool:
        """Return true if it is time for a probe."""
        return not self.probing and now >= self.probe_at

    def answered(self, now: float) -> bool:
        """Record an answer of any kind. Return true if it ended a silence."""
        ended = self.silent
        self.failures = 0
        self.silent_since = None
        return ended

    def failed(self, now: float, *, probe: bool) -> bool:
        """Record a call without an answer. Return true if this makes the endpoint silent."""
        self.failures += 1
        if self.failures == 1:
            self.failing_since = now
        if self.silent:
            if probe:
                self.pause_s = min(self.pause_s * 2, LONGEST_PAUSE_S)
                self.probe_at = now + self.pause_s
            return False
        return now - self.failing_since >= FAILING_S and self.fall_silent(now)

    def fall_silent(self, now: float) -> bool:
        """Mark the endpoint as silent after enough failures. Return true if this is new."""
        if self.silent or self.failures < FAILURES:
            return False
        self.silent_since = now
        self.pause_s = 1.0
        self.probe_at = now + self.pause_s
        return True


G = TypeVar("G", bound=Hashable)
W = TypeVar("W")


class Lanes(Generic[G, W]):
    """The waiting calls of an endpoint. Lanes take turns, however many calls each of them has.

    A lane is a role in a scenario. A group within a lane may be held back by a limit of its own, such as a model's
    calls per minute; calls of other groups in the lane overtake it.

    >>> lanes: Lanes[str, str] = Lanes()
    >>> for ticket, (lane, name) in enumerate([("ask", "a1"), ("ask", "a2"), ("ask", "a3"), ("judge", "j1")]):
    ...     lanes.add(lane, "any", ticket, name)
    >>> [lanes.take(lambda group: True) for _ in range(4)]
    ['a1', 'j1', 'a2', 'a3']
    """

    def __init__(self) -> None:
        self._lanes: OrderedDict[Hashable, dict[G, list[tuple[int, W]]]] = OrderedDict()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, lane: Hashable, group: G, ticket: int, waiter: W) -> None:
        """Add a waiter to its lane. Tickets are unique, and the lowest goes first: a retry with its old ticket keeps
        its place."""
        heapq.heappush(self._lanes.setdefault(lane, {}).setdefault(group, []), (ticket, waiter))
        self._count += 1

    def take(self, may_go: Callable[[G], bool]) -> W | None:
        """Return the next waiter whose group may go; None if there is none."""
        for lane, groups in self._lanes.items():
            first = min(
                ((heap[0][0], group) for group, heap in groups.items() if may_go(group)),
                default=None,
                key=itemgetter(0),
            )
            if first is not None:
                heap = groups[first[1]]
                _, waiter = heapq.heappop(heap)
                self._count -= 1
                if not heap:
                    self._drop(lane, first[1])
                if lane in self._lanes:
                    self._lanes.move_to_end(lane)
                return waiter
        return None

    def remove(self, lane: Hashable, group: G, ticket: int) -> None:
        """Remove a waiter, if it still waits."""
        heap = self._lanes.get(lane, {}).get(group, [])
        left = [entry for entry in heap if entry[0] != ticket]
        if len(left) == len(heap):
            return
        self._count -= 1
        heapq.heapify(left)
        if left:
            self._lanes[lane][group] = left
        else:
            self._drop(lane, group)

    def _drop(self, lane: Hashable, group: G) -> None:
        """Remove an empty group, and its lane if that is empty too. A lane that returns later is the last in turn."""
        groups = self._lanes[lane]
        del groups[group]
        if not groups:
            del self._lanes[lane]


State = Literal["ready", "held back", "silent", "given up"]
"""`held back`: the endpoint asked clients to wait. `silent`: it has stopped answering, and one call at a time probes
it. `given up`: it has been silent for too long, and its calls fail."""


@dataclass(frozen=True)
class Snapshot:
    """The state of one endpoint: `limit` is the number of concurrent calls allowed now, `waiting` the number of waiting
    calls, `retries` the number of retries so far, `wait_s` the seconds that the endpoint still asks clients to wait."""

    endpoint: str
    models: tuple[str, ...]
    in_flight: int
    limit: int
    waiting: int
    retries: int
    state: State
    wait_s: float = field(default=0.0, compare=False)

    def combined_with(self, other: Snapshot) -> Snapshot:
        """Return the combined state of an endpoint that another process calls too; the worse state counts."""
        return Snapshot(
            self.endpoint,
            self.models,
            self.in_flight + other.in_flight,
            self.limit + other.limit,
            self.waiting + other.waiting,
            self.retries + other.retries,
            max(self.state, other.state, key=get_args(State).index),
            max(self.wait_s, other.wait_s),
        )


Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True)
class Times:
    """The clock of a run: monotonic seconds, a sleep function, and the wall time."""

    clock: Callable[[], float]
    sleep: Sleep
    now: Callable[[], datetime]


Shares = tuple[SharedLimit, ...]

UNREACHABLE = "R0101"
RATE_LIMITED = "R0104"
TIMED_OUT = "R0109"
SERVER_ERROR = "R0111"
GIVEN_UP = "R0112"
NO_ANSWER = frozenset((UNREACHABLE, TIMED_OUT, SERVER_ERROR))
PROBE = -1
"""The epoch of a call that says nothing about the window, such as a probe."""


@dataclass(frozen=True, slots=True)
class _Waiter:
    """A waiting call: the future epoch of its start, its limits, and its estimated tokens."""

    future: asyncio.Future[int]
    shares: Shares
    tokens: int


class Gate:
    """The gate of one endpoint, which calls pass.

    A call enters by `try_enter` or `enter`, which return the epoch of the window in which it is sent, and leaves by
    exactly one of `succeeded`, `failed` and `cancelled`. `shares` are the limits that the call shares with others, and
    `tokens` its estimated tokens."""

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
        """`gates` are all gates of the run. If an endpoint is given up and so are all others in use, the run stops."""
        self.endpoint = endpoint
        self.models = tuple(models)
        self.window = Window(most)
        self.circuit = Circuit(patience_s)
        self.in_flight = 0
        self._closed: list[tuple[float, int]] = []
        """The slots that stay closed after their calls, as a heap: when each opens, and the epoch in which its refusal
        counts, or `PROBE`."""
        self.retries = 0
        self.answered = False
        """True if the endpoint has ever answered."""
        self._accepted_at = -math.inf
        """The time of the last reply."""
        self._patience_s = patience_s
        self._notes = notes
        self._times = times
        self._clock = times.clock
        self._gates = gates
        self._lanes: Lanes[Shares, _Waiter] = Lanes()
        self._tickets = count()
        self._used = False
        """True once a call has come."""
        self._wait_until = -math.inf
        """The time until which the endpoint asked clients to wait."""
        self._is_reported = False
        """True if the user knows that the endpoint was given up."""
        self._wake_up: asyncio.Task[None] | None = None
        """The task that admits calls at `_wake_up_at`."""
        self._wake_up_at = math.inf

    def ticket(self) -> int:
        """Return a ticket, the place of a call in its lane, which it keeps for retries."""
        return next(self._tickets)

    @property
    def silent(self) -> bool:
        """True if the endpoint has stopped answering, so that failures are not the call's fault."""
        return self.circuit.silent

    @property
    def full(self) -> bool:
        """True if the endpoint still accepts calls, but fewer than one at a time, so that its refusals are not the
        call's fault."""
        return self.window.paced and self._clock() - self._accepted_at < self._patience_s

    @property
    def given_up(self) -> bool:
        """True if the endpoint has been silent for longer than the run's patience."""
        return self._clock() >= self.circuit.give_up_at

    def snapshot(self) -> Snapshot:
        """Return the state of the endpoint."""
        now = self._clock()
        state: State = "held back" if now < self._wait_until else "ready"
        if self.silent:
            state = "given up" if now >= self.circuit.give_up_at else "silent"
        waiting = len(self._lanes)
        return Snapshot(
            *(self.endpoint, self.models, self.in_flight, self.window.allowed, waiting, self.retries, state),
            wait_s=max(0.0, self._wait_until - now),
        )

    def try_enter(self, shares: Shares, tokens: int) -> int | None:
        """Return the epoch of a call that may go at once; None if it has to wait."""
        if self._lanes or self._slots_in_use() >= self.window.allowed or self.circuit.silent:
            return None
        if shares or self._wait_until > -math.inf:
            now = self._clock()
            if now < self._wait_until or any(share.wait_s(now) > 0 for share in shares):
                return None
            self._wait_until = -math.inf
            for share in shares:
                share.enter(now, tokens)
        self._used = True
        self.in_flight += 1
        return self.window.epoch

    async def enter(self, lane: Hashable, shares: Shares, tokens: int, ticket: int) -> int:
        """Wait for a slot, and return the epoch. Raises `ModelError` (R0112) if the endpoint is given up, and `Stopped`
        if all endpoints in use are."""
        self._used = True
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._lanes.add(lane, shares, ticket, _Waiter(future, shares, tokens))
        self._admit()
        try:
            return await future
        except asyncio.CancelledError:
            self._lanes.remove(lane, shares, ticket)
            if future.done() and not future.cancelled() and future.exception() is None:
                self.cancelled(future.result(), shares, tokens)
            raise

    def succeeded(self, epoch: int, shares: Shares, tokens: int, used: int | None, took_s: float) -> None:
        """Record a reply after `took_s` seconds that used `used` tokens."""
        self._note_reply()
        self._accepted_at = self._clock()
        self.window.accepted(epoch, self._slots_in_use(), took_s)
        self._close_slot(epoch, took_s, refused=False)
        self._leave(epoch, shares, tokens, used)

    def failed(self, epoch: int, shares: Shares, tokens: int, error: ModelError, took_s: float) -> None:
        """Record an error after `took_s` seconds: an answer of the endpoint, or a missing answer."""
        refused = error.code == RATE_LIMITED
        if error.code in NO_ANSWER and error.retryable and not error.broken:
            if self.window.unanswered(timed_out=error.code == TIMED_OUT):
                self.window.refused(epoch, self._slots_in_use())
            self._no_response(epoch, error)
        else:
            self._note_reply()
        if error.retry_after_s:
            until = self._clock() + min(error.retry_after_s, self._patience_s)
            self._wait_until = max(self._wait_until, until)
            refused = refused and not self.window.deferred(epoch)
        self._close_slot(epoch, took_s, refused=refused)
        self._leave(epoch, shares, tokens, None)

    def cancelled(self, epoch: int, shares: Shares, tokens: int) -> None:
        """Record a call that its caller cancelled, which says nothing about the endpoint."""
        self._leave(epoch, shares, tokens, None)

    def _note_reply(self) -> None:
        self.answered = True
        if self.circuit.failures == 0:
            return
        now = self._clock()
        since = self.circuit.silent_since
        if self.circuit.answered(now) and since is not None:
            self._is_reported = False
            self.window.restart()
            self._notes(f"{self._names} answers again, after {duration(now - since)}")

    def _no_response(self, epoch: int, error: ModelError) -> None:
        if error.code == SERVER_ERROR:
            self.answered = True
        if not self.answered and error.code == UNREACHABLE:
            return  # probably a wrong address: the caller gives up soon
        if self.circuit.failed(self._clock(), probe=epoch == PROBE):
            self._report_silence(error)

    def endpoint_failed(self, error: ModelError) -> bool:
        """Return true if the endpoint and not the call is to blame for the last error of a call without retries: none
        of the last calls was answered. The endpoint is silent from then on."""
        if error.code not in NO_ANSWER or not self.circuit.fall_silent(self._clock()):
            return False
        self._report_silence(error)
        return True

    def _report_silence(self, error: ModelError) -> None:
        since = self._times.now()
        self._notes(
            f"{self._names} has not responded since {since:%H:%M:%S} ({error.message}); "
            "retrying one call after 1, 2, 4 … 60 s"
        )

    def _slots_in_use(self) -> int:
        """Return the number of slots that are in use or closed, after opening those whose time has come."""
        while self._closed and self._closed[0][0] <= self._clock():
            _, epoch = heapq.heappop(self._closed)
            self.window.refused(epoch, self.in_flight + len(self._closed) + 1)
        return self.in_flight + len(self._closed)

    def _close_slot(self, epoch: int, took_s: float, *, refused: bool) -> None:
        """Close the slot of a call that ends, as long as the window says. A refusal counts when its slot opens, as
        replies take that long too: a server that refuses at once would seem to refuse more than it does otherwise."""
        pause_s = 0.0 if epoch == PROBE else self.window.pause_s(epoch, took_s, refused=refused)
        if pause_s > 0.0:
            heapq.heappush(self._closed, (self._clock() + pause_s, epoch if refused else PROBE))
        elif refused:
            self.window.refused(epoch, self._slots_in_use())

    def _leave(self, epoch: int, shares: Shares, tokens: int, used: int | None) -> None:
        self.in_flight -= 1
        if epoch == PROBE:
            self.circuit.probing = False
        if shares:
            for share in shares:
                share.leave(tokens, used)
            for gate in self._gates:  # a limit may apply to models of several endpoints
                gate._admit()
        elif self._lanes:
            self._admit()

    def _admit(self) -> None:
        """Admit the waiting calls that may go, and schedule a wake-up for the next one."""
        if not self._lanes:
            return
        now = self._clock()
        if self.circuit.silent:
            self._admit_probe(now)
            return
        if now < self._wait_until:
            self._wake(self._wait_until)
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

        while self._lanes and self._slots_in_use() < self.window.allowed:
            waiter = self._lanes.take(may_go)
            if waiter is None:
                break
            self._send(waiter, self.window.epoch, now)
            if waiter.shares:
                known.clear()  # limits may be shared by several groups
        if self._lanes and self._closed and self._slots_in_use() >= self.window.allowed:
            soonest_s = min(soonest_s, self._closed[0][0] - now)
        if self._lanes and soonest_s < math.inf:
            self._wake(now + soonest_s)

    def _admit_probe(self, now: float) -> None:
        """Admit a probe of a silent endpoint. After too long a silence, fail all waiting calls."""
        circuit = self.circuit
        if circuit.may_probe(now) and now >= self._wait_until:
            waiter = self._lanes.take(lambda shares: all(share.wait_s(now) <= 0 for share in shares))
            if waiter is not None:
                circuit.probing = True
                self._send(waiter, PROBE, now)
        if now >= circuit.give_up_at:
            self._give_up()
        elif self._lanes:
            probe_at = math.inf if circuit.probing else max(circuit.probe_at, self._wait_until)
            self._wake(min(probe_at if probe_at > now else now + 1.0, circuit.give_up_at))

    def _give_up(self) -> None:
        if not self._is_reported:
            self._is_reported = True
            after = duration(self._patience_s)
            self._notes(f"{self._names} did not answer for {after}: its calls fail from now on (R0112)")
        self.fail_waiting(self.given_up_error)

    def fail_waiting(self, make_error: Callable[[], Exception]) -> None:
        """Raise an error of its own in each waiting call."""
        while (waiter := self._lanes.take(lambda shares: True)) is not None:
            if not waiter.future.done():
                waiter.future.set_exception(make_error())

    def given_up_error(self) -> ModelError | Stopped:
        """Return the error of a call to an endpoint that was given up."""
        message = f"{self._names} did not answer for {duration(self._patience_s)}"
        hint = "check the server and the network, and run again: kept replies are reused"
        if all(gate.given_up for gate in self._gates if gate._used):
            return Stopped(GIVEN_UP, message, hint)
        return ModelError(GIVEN_UP, message, hint)

    def _send(self, waiter: _Waiter, epoch: int, now: float) -> None:
        if waiter.future.done():  # just cancelled
            if epoch == PROBE:
                self.circuit.probing = False
            return
        self.in_flight += 1
        for share in waiter.shares:
            share.enter(now, waiter.tokens)
        waiter.future.set_result(epoch)

    def _wake(self, at: float) -> None:
        """Admit calls again at that time, or earlier."""
        if self._wake_up is not None and not self._wake_up.done():
            if self._wake_up_at <= at:
                return
            self._wake_up.cancel()
        self._wake_up_at = at
        self._wake_up = asyncio.get_running_loop().create_task(self._admit_at(at))

    async def _admit_at(self, at: float) -> None:
        await self._times.sleep(max(0.0, at - self._clock()))
        self._wake_up_at, self._wake_up = math.inf, None
        self._admit()

    @property
    def _names(self) -> str:
        first = f"`{self.models[0]}`"
        return first if len(self.models) == 1 else f"the endpoint of {first} and {len(self.models) - 1} more"
