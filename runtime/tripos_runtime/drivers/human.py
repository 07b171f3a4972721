"""The human driver: it answers a program from what is kept, and stops at the step that a person is to take.

The data sets, trees and functions of a benchmark are not in a store. What looks into one of these raises `LookupError`.

`human/NAME`: a person who talks in a conversation, asked wherever they sit.

A person holds one conversation at a time: whoever holds one takes `alone` for as long as it lasts (`conversing.py`).
Every turn is kept as any model's, so whoever leaves goes on at the same place.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from tripos_compiler.language.evaluation import Unavailable
from tripos_compiler.plan import Ask, Compare, Converse, Grade, Verdict
from tripos_compiler.plan.outcomes import NOT_APPLICABLE
from tripos_runtime.asking.ledger import Row
from tripos_runtime.asking.replies import answer_of, talk_of
from tripos_runtime.models.base import FREE, Message, ModelError, Price, Reply, Request
from tripos_runtime.program.needs import (
    Got,
    HeldConversation,
    JudgePrompt,
    Need,
    ReplyNeed,
    Result,
    World,
    drive,
    pending,
)
from tripos_runtime.program.steps import UnitProgram, pair_program
from tripos_runtime.program.units import Pair, Unit
from tripos_runtime.program.values import Names

Places = tuple[int, ...]
"""The place of an element in its list."""


@dataclass
class Human:
    """Runs programs up to a grade that a person gives. `rows` are the samples that are kept, by name."""

    world: World
    rows: Mapping[str, Row]

    def names_at(self, unit: Unit, step: Grade) -> Mapping[str, Any] | None:
        """Return the names that the arguments of a grade are taken from; None where a judge would have nothing to
        grade. Raises `LookupError` where they take what is not in a store."""
        steps = unit.bound.treatment.steps
        before = _kept([each for each in steps[: steps.index(step)] if isinstance(each, Ask | Converse)])
        program = UnitProgram(self.world, unit, Names(unit.case.names))
        shown: list[Mapping[str, Any]] = []
        drive(program.go([*before, step]), partial(self._meet, step, shown), program.out.clear)
        return shown[0] if shown else None

    def names_of_elements(self, unit: Unit, step: Verdict) -> Mapping[Places, Mapping[str, Any]]:
        """Return the same of each element that a judge is asked about, by its place; none where a judge would not be
        asked."""
        steps = unit.bound.treatment.steps
        before = _kept([each for each in steps[: steps.index(step)] if isinstance(each, Ask | Converse)])
        program = UnitProgram(self.world, unit, Names(unit.case.names))
        shown: dict[Places, Mapping[str, Any]] = {}
        drive(program.go([*before, step]), partial(self._meet_element, step, shown), program.out.clear)
        return dict(sorted(shown.items()))

    def names_of_pair(self, pair: Pair) -> Mapping[str, Any] | None:
        """Return the same of a comparison of two replies."""
        names = pair.names(self.ask_all(pair.first), self.ask_all(pair.second))
        shown: list[Mapping[str, Any]] = []
        out: list[Result] = []
        drive(pair_program(self.world, pair, names, out), partial(self._meet, pair.step, shown), out.clear)
        return shown[0] if shown else None

    def ask_all(self, unit: Unit) -> Names:
        """Take a unit through what it asks, so that it knows what it does not, and return the names that it has then.
        Raises `LookupError` where a condition takes what is not in a store."""
        steps = _kept([each for each in unit.bound.treatment.steps if isinstance(each, Ask | Converse)])
        program = UnitProgram(self.world, unit, Names(unit.case.names))
        drive(program.go(steps), self._answer, program.out.clear)
        return program.names

    def _meet(self, step: Grade | Compare, shown: list[Mapping[str, Any]], need: Need) -> Got:
        if isinstance(need, ReplyNeed) and need.call.step is step:
            assert isinstance(need.prompt, JudgePrompt)
            shown.append(need.prompt.names)
            return pending(step.name)
        return self._answer(need)

    def _meet_element(self, step: Verdict, shown: dict[Places, Mapping[str, Any]], need: Need) -> Got:
        if isinstance(need, ReplyNeed) and need.call.step is step:
            assert isinstance(need.prompt, JudgePrompt) and need.call.element is not None
            shown[need.call.element] = need.prompt.names
            return pending(step.name)
        return self._answer(need)

    def _answer(self, need: Need) -> Got:
        assert isinstance(need, ReplyNeed | HeldConversation), "nothing is looked for by a vector"
        if isinstance(need, HeldConversation):
            row = self.rows.get(need.talk.name)
            return Unavailable(need.talk.step.name, NOT_APPLICABLE) if row is None else talk_of(row)
        row = self.rows.get(need.call.name)
        if row is None:
            return Unavailable(need.call.step.name, NOT_APPLICABLE)
        return answer_of(row, need.question)


def _kept(steps: list[Ask | Converse]) -> list[Ask | Converse]:
    """Return the steps. Raises `LookupError` where calls of one are made: a store has no functions to make them."""
    if any(isinstance(step, Ask) and step.acts for step in steps):
        raise LookupError("the functions of a loop")
    return steps


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
