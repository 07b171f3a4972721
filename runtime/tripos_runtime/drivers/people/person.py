"""`human/NAME`: a person who talks in a conversation, asked wherever they sit.

A person holds one conversation at a time: whoever holds one takes `alone` for as long as it lasts (`conversing.py`).
Every turn is kept as any model's, so whoever leaves goes on at the same place.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from tripos_runtime.models import FREE, Message, ModelError, Price, Reply, Request

LEFT = "R0250"


class Seat(Protocol):
    """Where a person sits: what they are shown, and what they say. Both block, and are called from a thread."""

    def begin(self, messages: tuple[Message, ...]) -> None:
        """Show a conversation that is begun, or gone on with after a break: all that was said so far."""
        ...

    def hear(self, messages: tuple[Message, ...]) -> None:
        """Show what was said since."""
        ...

    def say(self) -> str | None:
        """Return what the person says next; None where they leave."""
        ...


@dataclass
class HumanModel:
    """A person as a model. Raises `ModelError` R0250 once they leave."""

    name: str
    seat: Seat
    structured: bool = False
    slots: int | None = 1
    price: Price | None = FREE
    most_samples: int = 1
    alone: asyncio.Lock = field(default_factory=asyncio.Lock)
    _before: tuple[Message, ...] = ()
    """The conversation as the person last left it, their own turn included."""

    @property
    def endpoint(self) -> str:
        """A place of their own."""
        return self.name

    async def ask(self, request: Request) -> Reply:
        """Return what the person says to that."""
        said = await in_thread(lambda: self._asked(request.messages))
        if said is None:
            hint = "give the same command again: it continues after the kept turns"
            raise ModelError(LEFT, f"`{self.name}` has left", hint, fatal=True)
        self._before = (*request.messages, Message("assistant", said))
        return Reply(said, self.name, "stop", None, None, 0.0)

    def _asked(self, messages: tuple[Message, ...]) -> str | None:
        before = self._before
        if before and messages[: len(before)] == before:
            self.seat.hear(messages[len(before) :])
        else:
            self.seat.begin(messages)
        return self.seat.say()

    async def close(self) -> None:
        """Nothing to let go of."""


async def in_thread(function: Callable[[], str | None]) -> str | None:
    """Return what a function gives that may block for ever. The thread does not keep a process from ending."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[str | None] = loop.create_future()

    def tell(value: str | None, error: BaseException | None) -> None:
        if done.cancelled():
            return
        if error is None:
            done.set_result(value)
        else:
            done.set_exception(error)

    def run() -> None:
        value, error = None, None
        try:
            value = function()
        except Exception as raised:  # it is raised where it is waited for
            error = raised
        with contextlib.suppress(RuntimeError):  # the loop has been closed meanwhile: nobody waits any more
            loop.call_soon_threadsafe(tell, value, error)

    threading.Thread(target=run, daemon=True).start()
    return await done
