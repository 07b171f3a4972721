"""People in place of models: a driver that runs a program up to the step that a person grades, and `human/NAME`, a
person who takes part in conversations.

The driver reads only kept results. A store has no data sets, trees or functions of a benchmark, so an expression that
reads one of these raises `LookupError`. A person takes part in one conversation at a time: the live driver takes the
lock `alone` for the duration of a conversation. Every turn is kept like a model's, so a person can leave and continue
later."""

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
from tripos_runtime.asking.replies import answer_of, conversation_of
from tripos_runtime.models.base import FREE, Message, Model, ModelError, Reply, Request
from tripos_runtime.program.needs import (
    Answered,
    ConversationNeed,
    JudgePrompt,
    Need,
    PlanContext,
    ProgramEvent,
    ReplyNeed,
    pending,
)
from tripos_runtime.program.running import drive_now
from tripos_runtime.program.steps import UnitProgram, pair_program
from tripos_runtime.program.units import Pair, Places, Unit
from tripos_runtime.program.values import StepValues


@dataclass
class HumanGrader:
    """A driver that runs programs up to a grade that a person gives. `rows` are the kept samples by name."""

    world: PlanContext
    rows: Mapping[str, Row]

    def names_at(self, unit: Unit, step: Grade) -> Mapping[str, Any] | None:
        """Return the values for the arguments of a grade; None if a judge would have nothing to grade. Raises
        `LookupError` if they need something that is not in a store."""
        steps = unit.bound.treatment.steps
        before = _without_tools([each for each in steps[: steps.index(step)] if isinstance(each, Ask | Converse)])
        program = UnitProgram(self.world, unit, StepValues(unit.case.names))
        shown: list[Mapping[str, Any]] = []
        drive_now(program.go([*before, step]), partial(self._answer_up_to, step, shown), program.out.clear)
        return shown[0] if shown else None

    def names_of_elements(self, unit: Unit, step: Verdict) -> Mapping[Places, Mapping[str, Any]]:
        """Return the values for the arguments of a verdict on each element, by position; none if a judge would not be
        asked. Raises `LookupError` as `names_at` does."""
        steps = unit.bound.treatment.steps
        before = _without_tools([each for each in steps[: steps.index(step)] if isinstance(each, Ask | Converse)])
        program = UnitProgram(self.world, unit, StepValues(unit.case.names))
        shown: dict[Places, Mapping[str, Any]] = {}
        drive_now(program.go([*before, step]), partial(self._answer_up_to_elements, step, shown), program.out.clear)
        return dict(sorted(shown.items()))

    def names_of_pair(self, pair: Pair) -> Mapping[str, Any] | None:
        """Return the values for the arguments of a comparison; None if a judge would have nothing to compare. Raises
        `LookupError` as `names_at` does."""
        names = pair.names(self.ask_all(pair.first), self.ask_all(pair.second))
        shown: list[Mapping[str, Any]] = []
        out: list[ProgramEvent] = []
        drive_now(pair_program(self.world, pair, names, out), partial(self._answer_up_to, pair.step, shown), out.clear)
        return shown[0] if shown else None

    def ask_all(self, unit: Unit) -> StepValues:
        """Run the asks of a unit from kept replies, and return the values of its steps. Raises `LookupError` if a
        condition needs something that is not in a store."""
        steps = _without_tools([step for step in unit.bound.treatment.steps if isinstance(step, Ask | Converse)])
        program = UnitProgram(self.world, unit, StepValues(unit.case.names))
        drive_now(program.go(steps), self._answer, program.out.clear)
        return program.names

    def _answer_up_to(self, step: Grade | Compare, shown: list[Mapping[str, Any]], need: Need) -> Answered:
        """Answer the needs of earlier steps from the rows. Add the values for the arguments of `step` to `shown`."""
        if isinstance(need, ReplyNeed) and need.call.step is step:
            assert isinstance(need.prompt, JudgePrompt)
            shown.append(need.prompt.names)
            return pending(step.name)
        return self._answer(need)

    def _answer_up_to_elements(self, step: Verdict, shown: dict[Places, Mapping[str, Any]], need: Need) -> Answered:
        """Answer the needs of earlier steps from the rows. Add the values for each element of `step` to `shown`."""
        if isinstance(need, ReplyNeed) and need.call.step is step:
            assert isinstance(need.prompt, JudgePrompt) and need.call.element is not None
            shown[need.call.element] = need.prompt.names
            return pending(step.name)
        return self._answer(need)

    def _answer(self, need: Need) -> Answered:
        assert isinstance(need, ReplyNeed | ConversationNeed), "only asks and conversations come before a grade"
        if isinstance(need, ConversationNeed):
            row = self.rows.get(need.talk.name)
            return Unavailable(need.talk.step.name, NOT_APPLICABLE) if row is None else conversation_of(row)
        row = self.rows.get(need.call.name)
        if row is None:
            return Unavailable(need.call.step.name, NOT_APPLICABLE)
        return answer_of(row, need.question)


def _without_tools(steps: list[Ask | Converse]) -> list[Ask | Converse]:
    """Return the steps. Raises `LookupError` if one has tools: a store has no functions to call."""
    if any(isinstance(step, Ask) and step.acts for step in steps):
        raise LookupError("the functions of a loop")
    return steps


LEFT = "R0250"
"""The error code of a person who has left."""


class PersonInterface(Protocol):
    """The interface to a person. The methods may block, and are called from a thread."""

    def begin(self, messages: tuple[Message, ...]) -> None:
        """Show a conversation from its beginning, or after a break."""
        ...

    def hear(self, messages: tuple[Message, ...]) -> None:
        """Show the messages since the person's last turn."""
        ...

    def say(self) -> str | None:
        """Return the person's next turn; None if they leave."""
        ...


@dataclass
class HumanModel(Model):
    """A person as a model. A call raises `ModelError` R0250 if they leave."""

    name: str
    interface: PersonInterface
    alone: asyncio.Lock = field(default_factory=asyncio.Lock)
    """The lock that a conversation with the person takes."""
    _before: tuple[Message, ...] = ()
    """The messages of the last conversation up to the person's last turn, including that turn."""
    slots = 1
    price = FREE

    async def ask(self, request: Request) -> Reply:
        """Return the person's reply."""
        text = await in_thread(lambda: self._ask(request.messages))
        if text is None:
            hint = "give the same command again: it continues after the kept turns"
            raise ModelError(LEFT, f"`{self.name}` has left", hint, fatal=True)
        self._before = (*request.messages, Message("assistant", text))
        return Reply(text, self.name, "stop", None, None, 0.0)

    def _ask(self, messages: tuple[Message, ...]) -> str | None:
        before = self._before
        if before and messages[: len(before)] == before:
            self.interface.hear(messages[len(before) :])
        else:
            self.interface.begin(messages)
        return self.interface.say()


async def in_thread(function: Callable[[], str | None]) -> str | None:
    """Return the result of a function that may block for ever. Its thread does not keep the process alive."""
    loop = asyncio.get_running_loop()
    result: asyncio.Future[str | None] = loop.create_future()

    def resolve(value: str | None, error: BaseException | None) -> None:
        if result.cancelled():
            return
        if error is None:
            result.set_result(value)
        else:
            result.set_exception(error)

    def run() -> None:
        value, error = None, None
        try:
            value = function()
        except Exception as raised:  # raised in the waiting coroutine
            error = raised
        with contextlib.suppress(RuntimeError):  # the event loop is closed, and the coroutine has ended
            loop.call_soon_threadsafe(resolve, value, error)

    threading.Thread(target=run, daemon=True).start()
    return await result
