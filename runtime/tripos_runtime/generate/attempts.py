"""One attempt at a row: the role that writes it, walks, computed fields, and those who look at it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, assert_never

from tripos_compiler.language import TREES, Placeholders, Unavailable, evaluate
from tripos_compiler.language.library import unmarked
from tripos_compiler.plan import Ask, Derived, Made, Verify, Walk, digest
from tripos_compiler.source import dataclass
from tripos_runtime.asking import AGAIN, OK, REFUSED, TRUNCATED, PreparedQuestion, Questions, messages
from tripos_runtime.datasets import Reason, Rejection, RowSlot, Sources, looked_into, note, one_of_several
from tripos_runtime.generate.author import (
    Asker,
    LedgerEntries,
    MadeCall,
    MadeReply,
    MakingProgram,
    NotAsked,
    PlannedCalls,
)
from tripos_runtime.generate.check_schedule import Due
from tripos_runtime.generate.duplicates import Others
from tripos_runtime.generate.outcomes import place_of
from tripos_runtime.generate.walks import Path, among, below, node_at, walk
from tripos_runtime.models import Message
from tripos_runtime.roles import RoleBinding, makers_of, making_binding


@dataclass(frozen=True)
class Before:
    """The attempt before: why it was rejected, and what whoever made the row had replied, with the names of that."""

    rejection: Rejection
    reply: str | None = None
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Attempt:
    """The result of an attempt: a row, or why there is none; without either a call or a Python function failed, and a
    later run tries again. `reply` is the author's, `names` are those of all replies, `asked` counts the steps that
    were. `last`: another attempt would come to the same."""

    row: dict[str, Any] | None = None
    rejection: Rejection | None = None
    reply: str | None = None
    names: tuple[str, ...] = ()
    asked: int = 0
    last: bool = False


@dataclass(frozen=True)
class Attempts:
    """Makes attempts at the slots of one data set."""

    made: Made
    asker: Asker
    sources: Sources
    binding: RoleBinding

    @cached_property
    def own(self) -> str:
        """Return what expressions know the row as."""
        return self.made.name.rpartition(".")[2]

    @property
    def asks(self) -> tuple[Ask, ...]:
        """The steps that ask somebody."""
        return self.made.asks

    @cached_property
    def author(self) -> Ask | None:
        """The step that writes the row, if any."""
        return next((step for step in self.made.steps if isinstance(step, Ask)), None)

    @property
    def written(self) -> bool:
        """True if another attempt can come to another row: somebody writes it, or chooses paths for it."""
        return any(isinstance(step, Ask | Walk) for step in self.made.steps)

    @property
    def questions(self) -> Questions:
        """Return the questions of the steps."""
        return self.asker.questions

    @cached_property
    def due(self) -> Due:
        """Return what is looked at of a row, and after which step."""
        return Due.of(self.made)

    @cached_property
    def others(self) -> Others:
        """Return what rows must be distinct from."""
        return Others(self.made, self.sources)

    @cached_property
    def makers(self) -> tuple[str, ...]:
        """Return who made the data sets that are looked into, which is part of the name of every reply."""
        return makers_of(self.sources.plan, looked_into(self.made), self.binding.answering)

    def language(self, slot: RowSlot) -> str:
        """Return the language in which those who make the row are asked."""
        if "language" in slot.cell:
            return slot.cell["language"]
        said = slot.source.get("language") if isinstance(slot.source, Mapping) else None
        languages = self.sources.plan.benchmark.languages
        return said if said in languages else languages[0]

    def first_row(self, slot: RowSlot) -> dict[str, Any]:
        """The row before anybody was asked."""
        row: dict[str, Any] = {}
        if self.made.alias is not None:
            row |= slot.source if isinstance(slot.source, Mapping) else {self.made.alias: slot.source}
        return row | dict(slot.cell)

    def names_at(self, slot: RowSlot, row: dict[str, Any]) -> dict[str, Any]:
        """Return what expressions see of a slot and its row."""
        names = {**slot.cell, **self.sources.names, self.own: row}
        return names if self.made.alias is None else {**names, self.made.alias: slot.source}

    def names_of(self, slot: RowSlot, number: int, before: Before | None) -> list[str]:
        """Return the names of the replies that an attempt builds on, as far as they are known before it."""
        upstream = _after(before)
        names: list[str] = []
        for step in self.made.steps:
            if isinstance(step, Walk):
                break
            if not isinstance(step, Derived):
                names.append(self.call(_ask_of(step), slot, slot.name, number, (*upstream, *names)).name)
        return names

    async def make(self, slot: RowSlot, number: int, before: Before | None, found: LedgerEntries) -> Attempt:
        """Make attempt `number`, counted from 0, at a slot. Raises `Unasked` where it takes a reply that is
        not kept and nobody is to be asked, and what callers raise."""
        if self.asker.on_attempt is not None:
            self.asker.on_attempt(self.made.name, slot.place, number)
        program = _Trial(self, slot, number, before).go()
        attempt: Attempt = await self.asker.drive(program, found)
        if attempt.row is None and attempt.rejection is None:
            self.asker.whole = False
        return attempt

    def messages(
        self, ask: Ask, slot: RowSlot, names: Mapping[str, Any], placeholders: Placeholders | None = None
    ) -> tuple[Message, ...]:
        """Return the messages of a step about a slot, without what is said of an attempt before."""
        language = self.language(slot)
        question = self.questions.of(ask, language, names)
        sent = messages(question, names, language, self.sources.axes, placeholders=placeholders)
        if ask is self.author and slot.number:
            said = one_of_several(language, slot.number + 1)
            sent = (*sent[:-1], replace(sent[-1], content=f"{sent[-1].content}\n\n{unmarked(said)}"))
        return sent

    def call(self, ask: Ask, slot: RowSlot, item: str, number: int, upstream: tuple[str, ...]) -> MadeCall:
        """Return the call of a step about `item`."""
        model = self.binding.of(ask.role)[0]
        return MadeCall(
            slot.place,
            ask,
            ask is self.author,
            self.made.name,
            place_of(self.made),
            item,
            slot.cell,
            self.language(slot),
            number,
            model,
            self.binding.identity_of(model),
            (*upstream, *self.makers),
            self.binding_of(ask.fingerprint),
        )

    def binding_of(self, fingerprint: str) -> str:
        """Return the binding of the replies to a step, or of what becomes of slots."""
        if fingerprint not in self._bindings:
            found = making_binding(self.sources.plan, self.made, fingerprint, self.binding.answering)
            self._bindings[fingerprint] = found
        return self._bindings[fingerprint]

    @cached_property
    def _bindings(self) -> dict[str, str]:
        return {}


class _Trial:
    """One attempt, while it is made. `row` grows from step to step, `replies` are the names of what was replied."""

    def __init__(self, attempts: Attempts, slot: RowSlot, number: int, before: Before | None) -> None:
        self.attempts, self.slot, self.number, self.before = attempts, slot, number, before
        self.row = attempts.first_row(slot)
        self.names = attempts.names_at(slot, self.row)
        self.reply: str | None = None
        self.replies: tuple[str, ...] = ()
        self.asked = 0

    def go(self) -> MakingProgram:
        """Return the program of the attempt, whose result is the `Attempt`."""
        made = self.attempts.made
        try:
            rejection = self._required(0)
            for place, step in enumerate(made.steps, 1):
                if rejection is not None:
                    break
                rejection = (yield from self._step(step)) or self._required(place)
        except _NoReply:
            return Attempt(names=self.replies, asked=self.asked + 1)
        except Unavailable as reason:
            if reason.status in AGAIN:
                return Attempt(names=self.replies, asked=self.asked)
            rejection = Rejection("no_value", {"error": str(reason)})
        if rejection is not None:
            return Attempt(None, rejection, self.reply, self.replies, self.asked, self._is_last(rejection))
        return Attempt(
            {each.name: self.row[each.name] for each in made.fields}, None, self.reply, self.replies, self.asked
        )

    def _step(self, step: Ask | Walk | Derived | Verify) -> MakingProgram:
        """Take a step; its result is why the row is rejected, if so."""
        match step:
            case Ask():
                answer = yield from self._next(step, tell=True)
                self.reply = answer.text
                if answer.value is None:
                    return Rejection(_reason(answer.status), {"step": step.name, "error": answer.columns["error"]})
                self.row |= answer.value
            case Walk():
                return (yield from self._walk(step))
            case Derived():
                self.row[step.name] = evaluate(step.value, self.names)
            case Verify():
                answer = yield from self._next(step.ask)
                if answer.value is None:
                    told = {"step": step.ask.name, "error": answer.columns["error"]}
                    return Rejection("unverified", told)
                said = {**self.names, **answer.value}
                if not all(evaluate(expr, said) for expr in step.require):
                    return Rejection("verify", {"step": step.ask.name})
            case _:
                assert_never(step)
        return None

    def _walk(self, step: Walk) -> MakingProgram:
        """Go down a tree. Whoever walks is told of the attempt before where nobody else made the row."""
        tell, tree = self.attempts.author is None, self.names[TREES][step.tree]
        lane, start = (step.ask.role, self.attempts.made.name), self._start(step, tree)

        def choose(path: tuple[str, ...], branches: list[str]) -> MakingProgram:
            if path != start:  # one call was planned; how many follow is known as nodes are reached
                yield PlannedCalls(lane, 1)
            # What there is to choose among is in the name, so a branch that is added is asked about.
            item = digest([self.slot.name, step.name, path, branches])
            names = {**self.names, "branches": branches}
            asked = self.attempts.questions.of(step.ask, self.attempts.language(self.slot), names)
            question = among(asked, branches, step.ask)
            return (yield from self._ask(step.ask, item, names, tell=tell, question=question, node=below(tree, path)))

        walked = yield from walk(tree, choose, start)
        self.replies = (*self.replies, *walked.replies)
        self.asked += 1
        if not walked.replies:
            yield PlannedCalls(lane, -1)
        if walked.unknown is not None:
            return Rejection("unreadable", {"step": step.name, "error": walked.unknown})
        self.row[step.name] = list(walked.paths)
        return None

    def _start(self, step: Walk, tree: Mapping[str, Any]) -> Path:
        """Return the node at which a walk begins. Raises `Unavailable` where the tree has none of that name."""
        if step.below is None:
            return ()
        value = evaluate(step.below, self.names)
        return node_at(tree, step.starts.get(value, value))

    def _next(self, ask: Ask, *, tell: bool = False) -> MakingProgram:
        """Return the answer to a step, on which what follows builds."""
        answer, name = yield from self._ask(ask, self.slot.name, self.names, tell=tell)
        self.replies = (*self.replies, name)
        self.asked += 1
        return answer

    def _ask(
        self,
        ask: Ask,
        item: str,
        names: Mapping[str, Any],
        *,
        tell: bool,
        question: PreparedQuestion | None = None,
        node: Mapping[str, Any] | None = None,
    ) -> MakingProgram:
        """Return the answer to a step about `item` and the name of the reply; with `tell`, it is said why the attempt
        before was rejected. The value is `None` where the reply is of no use. Raises `_NoReply` where there is none,
        and `Unasked` where it is pending."""
        attempts = self.attempts
        call = attempts.call(ask, self.slot, item, self.number, (*_after(self.before), *self.replies))
        own = attempts.questions.of(ask, call.language, names)
        sent = attempts.messages(ask, self.slot, names)
        if tell and self.before is not None:
            sent = (*sent, *self._told(self.before, call.language))
        answer = yield MadeReply(call, sent, question or own, node)
        if isinstance(answer, Unavailable):
            raise NotAsked
        if answer.status in AGAIN:
            raise _NoReply
        return (answer if answer.status in (OK, TRUNCATED) else replace(answer, value=None)), call.name

    def _told(self, before: Before, language: str) -> tuple[Message, ...]:
        said = note(before.rejection.known_as, language, self.number + 1, self.attempts.made.retries + 1)
        earlier = () if before.reply is None else (Message("assistant", unmarked(before.reply)),)
        return (*earlier, Message("user", unmarked(said)))

    def _required(self, place: int) -> Rejection | None:
        for number, expr in self.attempts.due.required.get(place, ()):
            if not evaluate(expr, self.names):
                return Rejection("require", {"number": number})
        for number in self.attempts.due.compared.get(place, ()):
            rejection = self.attempts.others.rejection(number, self.names)
            if rejection is not None:
                return rejection
        return None

    def _is_last(self, rejection: Rejection) -> bool:
        """Return a row that nobody wrote stays the same. A role that reads it is asked again only where its own reply
        was of no use: to ask until it says yes would be no review."""
        return not self.attempts.written and (rejection.reason != "unverified" or not self.replies)


class _NoReply(Exception):
    """A call failed."""


def _after(before: Before | None) -> tuple[str, ...]:
    """Return what the first call of an attempt builds on: why the one before was rejected, and the reply that it is
    shown."""
    return () if before is None else (before.rejection.known_as, *before.names)


def _ask_of(step: Ask | Walk | Verify) -> Ask:
    return step if isinstance(step, Ask) else step.ask


def _reason(status: str) -> Reason:
    return "refused" if status == REFUSED else "truncated" if status == TRUNCATED else "unreadable"
