"""The common part of the units of one case, and how they go on side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeVar

from tripos_compiler.plan import Ask, Converse, Judging
from tripos_compiler.plan.outcomes import NOT_ASKED
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.asking.ledger import Row, condition_id
from tripos_runtime.asking.questions import Answer
from tripos_runtime.models.base import Message
from tripos_runtime.scheduling.budget import Halted

if TYPE_CHECKING:
    from tripos_runtime.program.adoption import Here
    from tripos_runtime.program.units import Unit
    from tripos_runtime.program.values import Names


Value = TypeVar("Value")
_at_once: ContextVar[bool] = ContextVar("at_once", default=False)


@dataclass
class Shared:
    """Rows of the ledger, and what one unit has done for all: what several of them need is asked once."""

    kept: Mapping[str, str]
    """The status of what the ledger has of this case, by name."""
    rows: Mapping[str, Row]
    drafts: Mapping[str, Row]
    here: Here | None = None
    """The case at hand, for those who look for its replies under other names."""
    answers: dict[str, asyncio.Future[Answer]] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    reused: set[str] = field(default_factory=set)
    skipped: set[str] = field(default_factory=set)
    """Calls that the units that came so far did not make; another treatment may."""
    sent: dict[tuple[str, ...], tuple[Message, ...]] = field(default_factory=dict)
    """The messages of every step, by its fingerprint and the names of the replies that it builds on."""
    near: dict[tuple[str, ...], asyncio.Future[Any]] = field(default_factory=dict)
    """How near by their vectors the elements are that retrieving steps look through, by the same."""
    found: dict[tuple[str, ...], Any] = field(default_factory=dict)
    """The results of every retrieving step, by the same."""
    conditions: set[str] = field(default_factory=set)
    """The names of the rows which say that a condition held, of those that came meanwhile."""
    names: dict[Unit, Names] = field(default_factory=dict)
    """The names that the expressions of a unit saw in the end, for those that were gone through."""

    def has_reply(self, name: str) -> bool:
        """Return True if the ledger has a reply of that name, and not only that there was nothing to ask."""
        status = self.kept.get(name)
        return status is not None and status not in NOT_ASKED

    def is_sure(self, name: str, step: Ask | Converse | Judging) -> bool:
        """Return true if it is known without a look at what is sent that a reply of this name is asked for, if it is
        there: no condition rules it out, or this one held before. For another, a reply may be there whose prompt lacks
        something now."""
        if not step.condition:
            return True
        held = condition_id(name, step.condition)
        return held in self.kept or held in self.conditions

    def reuses(self, name: str) -> bool:
        """Return true if a reply of an earlier run is used for the first time."""
        if name in self.reused:
            return False
        self.reused.add(name)
        return True

    def first(self, name: str) -> bool:
        """Return true if this name comes up for the first time."""
        if name in self.seen:
            return False
        self.seen.add(name)
        return True

    async def once(
        self, names: Sequence[str], answering: Coroutine[Any, Any, Mapping[str, Answer]]
    ) -> Mapping[str, Answer]:
        """Return the answers of these names, of which nobody asks for one yet; whoever needs one from now on waits for
        it."""
        loop = asyncio.get_running_loop()
        futures = {each: loop.create_future() for each in names}
        self.answers |= futures
        self.seen.update(names)
        try:
            answers = await answering
        except BaseException as error:
            for future in futures.values():
                future.set_exception(error)
                future.exception()  # seen: nobody else may be waiting
            raise
        for each, future in futures.items():
            future.set_result(answers[each])
        return answers


async def together(todo: Sequence[Coroutine[Any, Any, None]]) -> None:
    """Run all to their end, also where one fails, and then raise what the first of those raised: a reply under way is
    worth waiting for. `Halted` is raised where nothing worse was."""
    if len(todo) == 1:
        await todo[0]
        return
    if _at_once.get():
        outcomes: list[BaseException | None] = [await _outcome(each) for each in todo]
    else:
        outcomes = await asyncio.gather(*todo, return_exceptions=True)
    errors = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    if errors:
        raise next((error for error in errors if not isinstance(error, Halted)), errors[0])


async def _outcome(one: Coroutine[Any, Any, None]) -> BaseException | None:
    try:
        await one
    except BaseException as error:
        return error
    return None


def at_once(work: Coroutine[Any, Any, Value]) -> Value:
    """Return what a coroutine returns that waits for nobody, such as one that goes through what is kept: run to its end
    here, without an event loop, so that it may be called where one runs already.

    >>> async def answer() -> int:
    ...     return 42
    >>> at_once(answer())
    42
    """
    token = _at_once.set(True)
    try:
        work.send(None)
    except StopIteration as end:
        value: Value = end.value
        return value
    finally:
        _at_once.reset(token)
        work.close()
    raise RuntimeError("a step that should not wait waits")
