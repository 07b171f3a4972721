"""Model calls of a program, with name and caller, and the conversations that some of them are turns of."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence, Set as AbstractSet
from functools import cached_property
from typing import Any, NamedTuple

from tripos_compiler.language import PLACE, Unavailable, elements, ends_conversation, names_in
from tripos_compiler.plan import Ask, Converse, Judging, Loop, Verdict
from tripos_compiler.source import dataclass
from tripos_runtime.asking import condition_id, turn_id

Places = tuple[int, ...]
"""The place of an element in its list, after those of the elements that the list is of."""


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
    element: Places | None = None
    """About which element of a list a judge is asked: its place, after those of the lists that it stands in."""

    @property
    def element_name(self) -> str | None:
        """Return the places of the element as rows have them: `4`, or `0.2` of a list in a list."""
        return None if self.element is None else element_name(self.element)

    @property
    def results(self) -> Iterator[tuple[str, str]]:
        """The table and the name of what is kept of it."""
        return kept_results(self.table, self.name, self.step)


def kept_results(table: str, name: str, step: Ask | Converse | Judging) -> Iterator[tuple[str, str]]:
    """Yield the table and the name of what is kept of a result: its row, and that the condition of its step held."""
    yield table, name
    if step.condition:
        yield "conditions", condition_id(name, step.condition)


def element_name(places: Places) -> str:
    """Return the places of an element as rows have them.

    >>> element_name((4,)), element_name((0, 2))
    ('4', '0.2')
    """
    return ".".join(map(str, places))


def places_of(step: Verdict, names: Mapping[str, Any], yielded: AbstractSet[str]) -> list[Places]:
    """Return where there may be elements: in a list that stands in a row where it has some, and in one that a reply
    says, whose names are `yielded`, as far as its loop goes. A unit of no item has none."""
    return [()] if not names else list(_places(step.loops, names, yielded))


def _places(loops: Sequence[Loop], names: Mapping[str, Any], yielded: AbstractSet[str]) -> Iterator[Places]:
    if not loops:
        yield ()
        return
    loop, rest = loops[0], loops[1:]
    if not names_in(loop.of).isdisjoint(yielded):
        for place in range(loop.most or 0):
            yield from ((place, *inner) for inner in _places(rest, names, {*yielded, loop.alias}))
        return
    try:
        for inside in elements(loop, names):
            place = inside[PLACE + loop.alias]
            yield from ((place, *inner) for inner in _places(rest, inside, yielded))
    except Unavailable:
        return


def last_asked(name: str, asks: Mapping[str, Ask], unasked: Container[str]) -> str:
    """Return a step, or where it was not asked the last one before it of the chat that it continues, or of those for
    the elements of a list."""
    while name in unasked and (earlier := asks[name].before) in asks:
        name = str(earlier)
    return name


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
