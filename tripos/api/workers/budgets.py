"""A budget that several processes share: the run has it, and its workers ask the run before each call."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from contextlib import suppress
from dataclasses import field, replace

from tripos.api.workers.messages import CallWanted, Debited, Settle
from tripos_compiler.source import dataclass
from tripos_runtime.models import Price, Reply
from tripos_runtime.scheduling import Budget, Cost, Debit, Halted, OutOfBudget

Send = Callable[[object], None]


class WorkerBudget(Budget):
    """The budget as a worker sees it."""

    def __init__(self, usd: float | None, tokens: int | None, calls: int | None, send: Send) -> None:
        super().__init__(usd, tokens, calls)
        self._send = send
        self._numbers = itertools.count()
        self._answers: dict[int, asyncio.Future[None]] = {}
        self._open: dict[Debit, int] = {}

    async def debit(self, cost: Cost, name: str) -> Debit:
        """Wait until the run reserves the cost of a call. Raises `OutOfBudget`."""
        number = next(self._numbers)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        self._send(CallWanted(number, cost, name))
        try:
            await answer
        except asyncio.CancelledError:
            self._send(Settle(number, None))
            raise
        finally:
            del self._answers[number]
        debit = Debit(cost, name, (0, 0, 0))
        self._open[debit] = number
        return debit

    def answer(self, answer: Debited) -> None:
        """Take what the run said."""
        future = self._answers.get(answer.number)
        if future is None or future.done():
            return
        if answer.refusal is None:
            future.set_result(None)
        else:
            future.set_exception(OutOfBudget(*answer.refusal))

    def abandon(self) -> None:
        """Refuse every call that waits for an answer: the run is gone."""
        for future in self._answers.values():
            if not future.done():
                future.set_exception(Halted())

    def settle(self, debit: Debit, reply: Reply, price: Price | None) -> None:
        """Tell the run what a reply used."""
        bare = replace(reply, text="", others=tuple(replace(each, text="") for each in reply.others))
        self._send(Settle(self._open.pop(debit), bare, price))

    def give_back(self, debit: Debit) -> None:
        """Tell the run that a call gave no reply."""
        self._send(Settle(self._open.pop(debit), None))


@dataclass
class BudgetDesk:
    """The other end, in the run: reserves for the calls of one worker."""

    budget: Budget
    send: Send
    _waiting: dict[int, asyncio.Task[None]] = field(default_factory=dict)
    _debits: dict[int, Debit] = field(default_factory=dict)

    def reserve(self, wanted: CallWanted) -> None:
        """Reserve what a call may cost, and say so when it is done."""
        self._waiting[wanted.number] = asyncio.create_task(self._reserve(wanted))

    async def _reserve(self, wanted: CallWanted) -> None:
        refusal = None
        try:
            self._debits[wanted.number] = await self.budget.debit(wanted.cost, wanted.model)
        except OutOfBudget as error:
            refusal = (error.code, error.message, error.hint or "")
        finally:
            self._waiting.pop(wanted.number, None)
        self.send(Debited(wanted.number, refusal))

    def settle(self, settled: Settle) -> None:
        """Put what a reply used in place of what was reserved."""
        if (waiting := self._waiting.pop(settled.number, None)) is not None:
            waiting.cancel()
        debit = self._debits.pop(settled.number, None)
        if debit is None:
            return
        if settled.reply is None:
            self.budget.give_back(debit)
        else:
            self.budget.settle(debit, settled.reply, settled.price)

    async def close(self) -> None:
        """Give back what is reserved for a worker that is gone: nobody knows of a reply to these calls."""
        waiting = list(self._waiting.values())
        for task in waiting:
            task.cancel()
        for task in waiting:
            with suppress(asyncio.CancelledError):
                await task
        for debit in self._debits.values():
            self.budget.give_back(debit)
        self._debits.clear()
