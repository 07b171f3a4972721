"""Calls of models: admission by the endpoint, retries of transient errors, and the budget."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Mapping
from datetime import datetime

from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.models.base import Model, ModelError, Reply, Request
from tripos_runtime.models.http import MB, REPLY_SHARE, ReplyMemory, ReplyShare
from tripos_runtime.scheduling.budget import Budget, Cost, Halted, Stopped
from tripos_runtime.scheduling.endpoint import (
    RATE_LIMITED,
    TIMED_OUT,
    UNREACHABLE,
    Gate,
    Shares,
    Sleep,
    Snapshot,
    Times,
)
from tripos_runtime.scheduling.limits import Limits, TokensPerMinute, most_at_once, shared_limits

FIRST_DELAY_S = 0.5
"""The longest delay before the first retry; it doubles with each further retry."""
LONGEST_DELAY_S = 60.0
FIRST_CONTACT_RETRIES = 2
"""The most retries of a call to an endpoint that has never answered."""
Lane = tuple[str, str]
"""The role and the scenario that a call belongs to."""
NO_LANE: Lane = ("", "")


@dataclass(frozen=True, slots=True)
class Called:
    """A reply, with the number of attempts, the latency of the last attempt in seconds (None for a batch), and the
    provider's id of its batch, if any. The tokens and the cost of the reply include all attempts with known usage."""

    reply: Reply
    attempts: int
    latency_s: float | None
    batch_id: str | None = None


class Caller:
    """Calls one model. Created by `open_callers`."""

    def __init__(
        self,
        model: Model,
        gate: Gate,
        shares: Shares,
        limits: Limits,
        budget: Budget | None,
        memory: ReplyMemory,
        times: Times,
        rng: random.Random,
    ) -> None:
        self.model = model
        self.gate = gate
        self._shares = shares
        self._limits = limits
        self._budget = budget
        self.memory = memory
        self._clock, self._sleep = times.clock, times.sleep
        self._rng = rng
        self._average = _TokenAverage() if any(isinstance(share, TokensPerMinute) for share in shares) else None
        self._fatal: ModelError | None = None
        self._halted = False

    def halt(self) -> None:
        """Make no further calls: waiting and new calls raise `Halted`. Calls in flight are finished."""
        self._halted = True
        self.gate.fail_waiting(Halted)

    async def call(self, request: Request, lane: Lane = NO_LANE) -> Called:
        """Wait for a slot and ask the model. Transient errors are retried after a random delay of up to 0.5 s, 1 s, 2 s
        …, or after the delay that the endpoint asks for. `lane` is the role and the scenario of the call; lanes take
        turns.

        Raises `ModelError` if this call failed for good, and `Stopped` if every other call would fail too: the model is
        unavailable, or the budget is spent (`OutOfBudget`). Raises `Halted` after `halt`."""
        share = REPLY_SHARE.get()
        if share is not None:
            share.begin(self.memory)
            return await self._call(request, lane, share)
        with ReplyShare() as share:
            share.begin(self.memory)
            return await self._call(request, lane, share)

    async def _call(self, request: Request, lane: Lane, share: ReplyShare) -> Called:
        gate, shares, budget = self.gate, self._shares, self._budget
        cost = None if budget is None else budget.highest(request, self.model)
        tokens = 0 if self._average is None else self._average.tokens(request)
        left_s = self._limits.timeout_s
        ticket = gate.ticket()
        attempts = failures = 0
        lost: list[Reply] = []
        while True:
            if self._halted:
                raise Halted
            epoch = gate.try_enter(shares, tokens)
            if epoch is None:
                epoch = await gate.enter(lane, shares, tokens, ticket)
            if self._fatal is not None:
                gate.cancelled(epoch, shares, tokens)
                raise Stopped.because(self._fatal)
            attempts += 1
            started = self._clock()
            try:
                reply, latency_s = await self._attempt(request, epoch, tokens, cost, left_s, share)
            except ModelError as error:
                share.give_back()
                lost += [] if error.usage is None else [error.usage]
                error.attempts, error.usage = attempts, (lost[0].with_usage_of(lost[1:]) if lost else None)
                if error.fatal:
                    self._fatal = error
                    raise Stopped.because(error) from error
                left_s -= self._clock() - started
                if not (gate.silent or (error.code == RATE_LIMITED and gate.full)):
                    failures += 1
                delay_s = self._delay_s(error, failures, left_s)
                if delay_s is None:
                    if error.code == UNREACHABLE and not gate.answered:
                        raise Stopped.because(error) from error
                    raise
                gate.retries += 1
                if delay_s:
                    left_s -= delay_s
                    await self._sleep(delay_s)
                continue
            return Called(reply.with_usage_of(lost) if lost else reply, attempts, latency_s)

    async def _attempt(
        self, request: Request, epoch: int, tokens: int, cost: Cost | None, left_s: float, share: ReplyShare
    ) -> tuple[Reply, float]:
        """Make one request, and return the reply and its latency in seconds. However the request ends, its slot is
        released and its reservation of the budget is settled."""
        gate, shares, budget = self.gate, self._shares, self._budget
        debit = None
        started = self._clock()
        try:
            if budget is not None and cost is not None:
                debit = await budget.debit(cost, self.model.name)
            if self._halted:  # halted while it waited
                raise Halted
            started = self._clock()
            async with asyncio.timeout(left_s) as deadline:
                share.deadlines = [deadline]
                try:
                    reply = await self.model.ask(request)
                finally:
                    share.deadlines = []
            latency_s = self._clock() - started
        except BaseException as error:
            if budget is not None and debit is not None:
                usage = error.usage if isinstance(error, ModelError) else None
                budget.end(debit, usage, self.model.price)
            if isinstance(error, TimeoutError):
                timeout = self._timeout_error()
                gate.failed(epoch, shares, tokens, timeout, self._clock() - started)
                raise timeout from None
            if isinstance(error, ModelError):
                gate.failed(epoch, shares, tokens, error, self._clock() - started)
            else:
                gate.cancelled(epoch, shares, tokens)
            raise
        if budget is not None and debit is not None:
            budget.settle(debit, reply, self.model.price)
        used = None
        if self._average is not None:
            used = self._average.learn(request, reply)
        gate.succeeded(epoch, shares, tokens, used, latency_s)
        return reply, latency_s

    def _delay_s(self, error: ModelError, failures: int, left_s: float) -> float | None:
        """Return the delay before a retry in seconds; None if there is no retry."""
        if not error.retryable or left_s <= 0:
            return None
        if self.gate.silent:
            return 0.0  # the gate lets it wait until the endpoint answers again, and it uses up no retry
        retries = self._limits.max_retries
        if error.code == UNREACHABLE and not self.gate.answered:  # probably a wrong address
            retries = min(retries, FIRST_CONTACT_RETRIES)
        if failures > retries:
            return 0.0 if self.gate.endpoint_failed(error) else None
        if error.retry_after_s:
            return 0.0  # the gate delays all calls
        delay_s = self._rng.uniform(0.0, min(FIRST_DELAY_S * 2 ** max(failures - 1, 0), LONGEST_DELAY_S))
        return delay_s if delay_s < left_s else None

    def _timeout_error(self) -> ModelError:
        message = f"`{self.model.name}` did not answer within {self._limits.timeout_s:g} s"
        return ModelError(TIMED_OUT, message, "lower `--max-connections`, or raise `timeout_s`", retryable=True)


class _TokenAverage:
    """The average size of a model's calls in tokens, for limits of tokens per minute. The averages are exponential and
    start with a guess."""

    def __init__(self) -> None:
        self._per_byte = 0.3
        """Tokens per byte of the prompt."""
        self._out = 300.0
        """Tokens per reply."""

    def tokens(self, request: Request) -> int:
        """Return the estimated tokens of a request."""
        longest = request.settings.max_tokens
        out = self._out if longest is None else min(self._out, longest)
        return round(_size(request) * self._per_byte + out * request.samples)

    def learn(self, request: Request, reply: Reply) -> int | None:
        """Record the usage of a reply, and return its tokens, if known."""
        replies = (reply, *reply.further_choices)
        sent, received = [each.tokens_in for each in replies], [each.tokens_out for each in replies]
        if None in sent or None in received:
            return None
        tokens_in, tokens_out = sum(each or 0 for each in sent), sum(each or 0 for each in received)
        self._per_byte += 0.1 * (tokens_in / max(1, _size(request)) - self._per_byte)
        self._out += 0.1 * (tokens_out / request.samples - self._out)
        return tokens_in + tokens_out


def open_callers(
    models: Mapping[str, Model],
    limits: Limits,
    budget: Budget | None = None,
    notes: Callable[[str], None] = lambda note: None,
    *,
    sleep: Sleep = asyncio.sleep,
    clock: Callable[[], float] = time.monotonic,
    rng: random.Random | None = None,
    now: Callable[[], datetime] = lambda: datetime.now().astimezone(),
) -> dict[str, Caller]:
    """Return a caller for each model, by the names of `models`. Models of one endpoint, which is an address with a key,
    share a gate; all share the budget. `notes` receives a line for the user when an endpoint stops answering and when
    it answers again.

    >>> from tripos_runtime.models.base import Message
    >>> from tripos_runtime.models.families import open_model
    >>> callers = open_callers({"mock/careful": open_model("mock/careful")}, Limits(max_connections=4))
    >>> called = asyncio.run(callers["mock/careful"].call(Request("mock/careful", (Message("user", "Hello"),))))
    >>> called.attempts, callers["mock/careful"].gate.snapshot().limit
    (1, 4)
    """
    times = Times(clock, sleep, now)
    random_source = random.Random() if rng is None else rng
    by_endpoint: dict[str, list[Model]] = {}
    for model in models.values():
        by_endpoint.setdefault(model.endpoint, []).append(model)
    all_gates: list[Gate] = []
    gates: dict[str, Gate] = {}
    for endpoint, its_models in by_endpoint.items():
        most = most_at_once(its_models, limits)
        names = [model.name for model in its_models]
        gates[endpoint] = Gate(endpoint, names, most, limits.patience_s, notes, times, all_gates)
        all_gates.append(gates[endpoint])
    shares = shared_limits(models, limits)
    memory = ReplyMemory(limits.reply_memory_mb * MB)
    return {
        name: Caller(model, gates[model.endpoint], shares[name], limits, budget, memory, times, random_source)
        for name, model in models.items()
    }


def snapshot(callers: Mapping[str, Caller]) -> list[Snapshot]:
    """Return the state of each endpoint, in the order of the models."""
    return [gate.snapshot() for gate in dict.fromkeys(caller.gate for caller in callers.values())]


def _size(request: Request) -> int:
    """Return the size of the messages and the tools in bytes."""
    texts = (*(message.content for message in request.messages), *request.tools)
    return sum(len(text.encode("utf-8", "replace")) for text in texts)
