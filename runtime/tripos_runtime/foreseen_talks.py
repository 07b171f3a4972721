"""What becomes of the turns of a conversation, before anybody is asked.

The next turn is asked for sure, and every later one perhaps, for the one before it may end the conversation. A prompt
holds what was said so far: known turns by their text, and those to come as replies that are awaited from whoever says
them. What takes in a whole dialogue that is yet to be held takes in half as many turns as there may be.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tripos_compiler.plan import Converse, Scenario
from tripos_runtime.ledger import Row
from tripos_runtime.talks import Talk, ends, speaker_of, turns_so_far
from tripos_runtime.units import Call

BETWEEN = "/"
"""Stands between the step and the role in the name of a turn that is awaited."""


def awaited(step: Converse, first: int, last: int) -> tuple[str, ...]:
    """The turns from `first` to `last`, counted from 1, as replies that are awaited.

    >>> from tripos_compiler.plan import Speaker, Until
    >>> sides = (Speaker(role="a"), Speaker(role="b"))
    >>> until = (Until(role="a", text="done"),)
    >>> awaited(Converse(name="t", speakers=sides, opens="b", until=until, limit=9, fingerprint=""), 2, 4)
    ('t/a', 't/b', 't/a')
    """
    return tuple(f"{step.name}{BETWEEN}{speaker_of(step, number)}" for number in range(first, last + 1))


def models_of(talk: Talk) -> dict[str, str]:
    """Who says the turns that are awaited."""
    return {f"{talk.step.name}{BETWEEN}{role}": model for role, model in talk.models.items()}


def whole(pending: tuple[str, ...], scenario: Scenario) -> tuple[str, ...]:
    """Replies that are awaited, with half of its turns in place of a conversation."""
    talks = {step.name: step for step in scenario.talks}
    if talks.keys().isdisjoint(pending):
        return pending
    found: list[str] = []
    for name in pending:
        found += awaited(talks[name], 1, (talks[name].limit + 1) // 2) if name in talks else (name,)
    return tuple(found)


def calls_of(talk: Talk) -> Iterator[Call]:
    """A call for every turn that there may be."""
    for number, name in enumerate(talk.turns, 1):
        role = talk.speaker(number)
        yield Call("turns", name, role, talk.models[role], talk.step, talk.name)


def is_over(talk: Talk, kept: Mapping[str, str], rows: Mapping[str, Row]) -> bool:
    """Whether nothing is asked any more, as far as is kept."""
    if talk.name in kept:
        return True
    turns = turns_so_far(talk, rows, kept)
    if len(turns) == talk.step.limit:
        return True
    if turns and ends(talk.step, turns[-1]["speaker"], turns[-1]["text"]):
        return True
    return talk.turns[len(turns)] in kept  # whoever was to go on refused
