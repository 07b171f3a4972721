"""Reward models: chats go in, a number for each comes out.

They fill the roles of scorers that give `reward`, and no other. To the rest of the runtime one is a `Model` whose reply
is the number (`BatchedReward`), so that gates, retries, budgets, the ledger and work that is done once need to know
nothing of it. Units ask one by one; a model is given many chats together, since an encoder takes sixteen in little more
time than one.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import field
from typing import Protocol

from tripos_compiler.source import dataclass
from tripos_runtime.models.base import FREE, DialogueTurn, Message, ModelError, Price, Reply, Request

Chat = tuple[Message, ...]

PREFIXES = ("mock/reward", "reward/", "vllm-pooling/", "vllm-score/", "tei/")
"""The beginnings of the names of reward models."""
FULL = 16
"""The number of chats that are worth a call of their own; fewer wait a little for others."""
MOST = 64
"""The most chats at once, also for a model that would take more."""
AT_ONCE = 256
"""The most questions to a reward model that are under way at once: they fill the next batch while one is worked on."""
LINGER_S = 0.004


class RewardModel(Protocol):
    """Something that says of texts how good they are. `endpoint` names where it is, `price` what it costs, `None` where
    nobody knows; `most` is how many chats it takes at once, and `batches` how many calls of `score` at a time."""

    @property
    def name(self) -> str: ...

    @property
    def endpoint(self) -> str: ...

    @property
    def price(self) -> Price | None: ...

    @property
    def most(self) -> int: ...

    @property
    def batches(self) -> int: ...

    async def score(self, chats: Sequence[Chat]) -> Sequence[float]:
        """Return a finite number for each chat, in their order; more is better, and the scale is the model's own. It
        must not hold the event loop: what computes does so in a thread. Raises `ModelError`."""
        ...

    async def close(self) -> None:
        """Let go of connections, threads and processes."""
        ...


def is_reward(name: str) -> bool:
    """Return true if the model of that name gives numbers in place of text.

    >>> is_reward("mock/reward"), is_reward("reward/models/tutor"), is_reward("mock/careful")
    (True, True, False)
    """
    return name.startswith(PREFIXES)


def as_text(chat: Chat) -> str:
    """Return a chat as one text, for models that take no messages; the turns of a dialogue are a transcript.

    >>> as_text((Message("system", "You grade."), Message("user", "2 + 2 = 5")))
    'You grade.\\n\\n2 + 2 = 5'
    >>> turns = DialogueTurn("user", "5", "Ann"), DialogueTurn("assistant", "Why?", "Teacher")
    >>> as_text((Message("user", "2 + 2?"), *turns))
    '2 + 2?\\n\\nAnn: 5\\nTeacher: Why?'
    """
    turns = "\n".join(f"{message.speaker}: {message.content}" for message in chat if isinstance(message, DialogueTurn))
    return "\n\n".join(
        [*(message.content for message in chat if not isinstance(message, DialogueTurn)), *([turns] if turns else [])]
    )


def before_and_reply(chat: Chat) -> tuple[str, str] | None:
    """Return what stands before the reply that is judged, without the system message, and the reply; None of a chat
    that has no dialogue.

    >>> turns = DialogueTurn("user", "5", "Ann"), DialogueTurn("assistant", "Why?", "T")
    >>> before_and_reply((Message("system", "Judge."), *turns))
    ('Ann: 5', 'Why?')
    """
    if not chat or not isinstance(chat[-1], DialogueTurn):
        return None
    return as_text(tuple(each for each in chat[:-1] if each.role != "system")), chat[-1].content


@dataclass
class BatchedReward:
    """A reward model as the runtime asks it: one request, one reply, which is the number as text."""

    model: RewardModel
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    structured: bool = False
    slots: int | None = None
    most_samples: int = 1
    at_once: int = AT_ONCE
    """How many requests are let out together, where no limit was set for it."""
    _waiting: list[tuple[Chat, asyncio.Future[float]]] = field(default_factory=list)
    _under_way: set[asyncio.Task[None]] = field(default_factory=set)
    _free: int = field(init=False)

    def __post_init__(self) -> None:
        self._free = max(1, self.model.batches)

    @property
    def name(self) -> str:
        """The reward model's name."""
        return self.model.name

    @property
    def endpoint(self) -> str:
        """Return where the reward model is."""
        return self.model.endpoint

    @property
    def price(self) -> Price | None:
        """Return what the reward model costs."""
        return self.model.price

    async def ask(self, request: Request) -> Reply:
        """Return the reward of the request's messages. Raises `ModelError`."""
        answer = asyncio.get_running_loop().create_future()
        self._waiting.append((request.messages, answer))
        self._begin()
        value = await answer
        cost = 0.0 if self.price == FREE else None
        return Reply(repr(value), self.name, "stop", None, None, cost)

    async def close(self) -> None:
        """Wait for what is under way and closes the model."""
        await asyncio.gather(*self._under_way, return_exceptions=True)
        await self.model.close()

    def _begin(self) -> None:
        if self._free and self._waiting:
            self._free -= 1
            task = asyncio.get_running_loop().create_task(self._work())
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)

    async def _work(self) -> None:
        """Take batches until nobody waits."""
        try:
            while self._waiting:
                if len(self._waiting) < FULL:
                    await self.sleep(LINGER_S)
                most = max(1, min(MOST, self.model.most))
                batch, self._waiting = self._waiting[:most], self._waiting[most:]
                batch = [(chat, answer) for chat, answer in batch if not answer.done()]
                if batch:
                    await self._settle(batch)
        finally:
            self._free += 1

    async def _settle(self, batch: Sequence[tuple[Chat, asyncio.Future[float]]]) -> None:
        try:
            values = checked(self.name, await self.model.score([chat for chat, _ in batch]), len(batch))
        except ModelError as error:
            if len(batch) > 1 and not error.retryable and not error.fatal:
                for one in batch:  # one text that is too long must not cost the others their reward
                    await self._settle([one])
                return
            values = [error] * len(batch)
        except Exception as error:
            said = f"`{self.name}` failed: {type(error).__name__}: {error}"
            values = [ModelError("R0233", said, "read the log of the model server")] * len(batch)
        for (_, answer), value in zip(batch, values, strict=True):
            if answer.done():
                continue
            if isinstance(value, ModelError):
                answer.set_exception(value)
            else:
                answer.set_result(value)


def checked(name: str, values: Sequence[float], count: int) -> list[float | ModelError]:
    """Return what a model gave for `count` chats, with an error in place of what is no finite number. Raises
    `ModelError` R0233 where these are not so many.

    >>> checked("reward/x", [0.5, 2], 2)
    [0.5, 2.0]
    """
    if len(values) != count:
        message = f"`{name}` gave {len(values)} rewards for {count} texts"
        raise ModelError("R0233", message, "check that it is a reward model, which gives one number a text")
    bad = ModelError("R0233", f"`{name}` gave no finite number", "check that the text fits the model's context")
    return [float(value) if math.isfinite(value) else bad for value in values]
