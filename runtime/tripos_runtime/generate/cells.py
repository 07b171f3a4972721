"""One cell of a data set that is made: its slots, the rows that wait for their turn, and those that were accepted.

Slots are decided in their order, each to its end: whether a row repeats another is asked of the rows of earlier slots
alone. So a row follows from the replies, and from which slots of its cell the run has, in whatever order replies come
and whatever was made before. A run that adds slots after the others changes nothing of those.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from tripos_compiler.language import Unavailable, evaluate, item_id
from tripos_compiler.plan import Expr
from tripos_compiler.source import dataclass
from tripos_runtime.datasets import Rejection, RowSlot
from tripos_runtime.generate.attempts import Attempts, Before
from tripos_runtime.generate.duplicates import AcceptedValues


@dataclass(frozen=True, slots=True)
class Candidate:
    """A row that breaks no condition of its own, with what is compared of it: its name, and what must be unique."""

    row: Mapping[str, Any]
    name: str
    values: tuple[Any, ...]


@dataclass(slots=True)
class State:
    """The state of a slot. `before` is the attempt before, and `waits` the row that waits for its turn."""

    slot: RowSlot
    before: Before | None = None
    reply: str | None = None
    names: tuple[str, ...] = ()
    """The author's reply to the last attempt, and the names of all replies of it."""
    rejections: list[Rejection] = field(default_factory=list)
    repeats: dict[int, Candidate] = field(default_factory=dict)
    """The rows that repeated another one before their turn had come, by the number of the attempt."""
    attempts: int = 0
    waits: Candidate | None = None
    ended: bool = False
    is_open: bool = False
    """Nobody can tell what becomes of it, because a call failed or nobody was asked."""
    unsettled: bool = False
    """It may come to something else once an earlier slot is filled; of an open slot, an attempt before may."""


@dataclass
class Cell:
    """The slots of one cell, in order; `turn` is the first of which it is not known what becomes of it."""

    attempts: Attempts
    states: list[State]
    turn: int = 0
    behind_open: bool = False
    """True if a slot before `turn` is open, so that what is decided now may be decided otherwise later."""

    def __post_init__(self) -> None:
        self._unique: tuple[Expr, ...] = self.attempts.made.unique
        self._pools = [AcceptedValues() for _ in self._unique]
        self._rows: set[str] = set()
        self._names: dict[int, str] = {}
        self._waiting: dict[int, State] = {}
        self._to_compare: list[State] = []
        self._compared = 0
        """With how many accepted rows those that wait were compared, or are about to be."""

    def candidate(self, slot: RowSlot, row: dict[str, Any]) -> Candidate | Rejection:
        """Return a row as it is compared, or why it cannot be. Raises `Unasked` where a function is needed that is not
        there."""
        try:
            seen = self.attempts.names_at(slot, row)
            values = tuple(evaluate(expr, seen) for expr in self._unique)
        except Unavailable as reason:
            return Rejection("no_value", {"error": str(reason)})
        return Candidate(row, item_id(row), values)

    def repeat(self, candidate: Candidate) -> Rejection | None:
        """Return why a row is rejected, if it repeats an accepted one. As rows are accepted, one that repeats another
        goes on to do so."""
        if candidate.name in self._rows:
            return Rejection("duplicate", {"of": candidate.name})
        for number, (value, pool) in enumerate(zip(candidate.values, self._pools, strict=True), 1):
            found = pool.repeats(value)
            if found is not None:
                told = {"number": number, "of": self._names[found.place]}
                if found.similarity < 1:
                    return Rejection("near_duplicate", {**told, "similarity": round(found.similarity, 3)})
                return Rejection("duplicate", told)
        return None

    def next_due(self) -> State | None:
        """Return the slot whose turn it is, if its last attempt was made or a row of it waits."""
        if self.turn == len(self.states):
            return None
        state = self.states[self.turn]
        return state if state.ended or state.waits is not None else None

    def accept(self, state: State) -> Candidate:
        """Take the row that waits, whose turn it is."""
        candidate = self.leave(state)
        self._rows.add(candidate.name)
        self._names[state.slot.place] = candidate.name
        for pool, value in zip(self._pools, candidate.values, strict=True):
            pool.add(state.slot.place, value)
        return candidate

    def pass_on(self, state: State) -> None:
        """Return the turn to the next slot. Of rows that were rejected before theirs had come it is said what they
        repeat of all earlier slots."""
        for number, candidate in state.repeats.items():
            state.rejections[number] = self.repeat(candidate) or state.rejections[number]
        state.repeats.clear()
        state.ended = True
        if state.is_open:
            self.behind_open = True
        elif self.behind_open:
            state.unsettled = True
        self.turn += 1

    def wait(self, state: State, candidate: Candidate) -> None:
        """Have a row wait for the turn of its slot."""
        state.waits, self._waiting[state.slot.place] = candidate, state
        self._to_compare.append(state)

    def leave(self, state: State) -> Candidate:
        """Take away the row that waits."""
        candidate, state.waits = state.waits, None
        assert candidate is not None
        del self._waiting[state.slot.place]
        return candidate

    def next_refused(self) -> tuple[State, Rejection] | None:
        """Return a slot whose row waits and repeats an accepted one, so that it need not wait for its turn. What it
        repeats is looked up again when that has come."""
        if len(self._rows) > self._compared:
            self._compared, self._to_compare = len(self._rows), list(self._waiting.values())
        while self._to_compare:
            state = self._to_compare.pop()
            rejection = None if state.waits is None else self.repeat(state.waits)
            if state.waits is not None and rejection is not None:
                state.repeats[state.attempts - 1] = state.waits
                return state, rejection
        return None
