"""Model calls of a program, with name and caller, and the conversations that some of them are turns of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from tripos_compiler.language import ends_conversation
from tripos_compiler.plan import Ask, Converse, Judging
from tripos_runtime.asking import turn_id


class StepCall(NamedTuple):
    """One model call of a unit or of a pair: the table that keeps it, its name there, and who makes it. A turn is
    `part_of` a conversation."""

    table: str
    name: str
    role: str
    model: str
    step: Ask | Converse | Judging
    part_of: str = ""
    number: int = 0
    """Which of the replies of a judge that is asked several times it is, from 0."""


SAID, LIMIT = "said", "limit"
"""The ends of a conversation that nothing went wrong with."""


@dataclass(frozen=True, eq=False)
class Conversation:
    """The `number`-th conversation of a step about a row, counted from 0. `models` are by role."""

    step: Converse
    name: str
    number: int
    models: Mapping[str, str]

    @cached_property
    def turns(self) -> tuple[str, ...]:
        """The names of all turns that there may be."""
        return tuple(turn_id(self.name, number) for number in range(1, self.step.limit + 1))

    def speaker(self, number: int) -> str:
        """Return the role that says turn `number`, counted from 1."""
        return speaker_of(self.step, number)


def speaker_of(step: Converse, number: int) -> str:
    """Return the role that says turn `number`, counted from 1."""
    first, second = step.speakers[0].role, step.speakers[1].role
    other = second if step.opens == first else first
    return step.opens if number % 2 else other


def calls_of(talk: Conversation) -> Iterator[StepCall]:
    """A call for every turn that there may be."""
    for number, name in enumerate(talk.turns, 1):
        role = talk.speaker(number)
        yield StepCall("turns", name, role, talk.models[role], talk.step, talk.name)


def most_turns(step: Converse) -> Iterator[tuple[str, int]]:
    """Each role with the turns that it has at most."""
    yield speaker_of(step, 1), (step.limit + 1) // 2
    yield speaker_of(step, 2), step.limit // 2


def ends(step: Converse, role: str, text: str) -> bool:
    """Return true if a turn of `role` ends the conversation."""
    return any(until.role == role and ends_conversation(text, until.text) for until in step.until)
