"""The forecast of the turns of a conversation.

The next turn is asked for sure, and every later one perhaps, for the one before it may end the conversation. A prompt
holds what was said so far: known turns by their text, and those to come as replies that are awaited from whoever says
them. What takes in a whole dialogue that is yet to be held takes in half as many turns as there may be.
"""

from __future__ import annotations

from dataclasses import replace

from tripos_compiler.plan import Converse, Scenario
from tripos_runtime.forecast.sizes.sizes import Size, one_reply
from tripos_runtime.program import Talk, speaker_of

BETWEEN = "/"
"""Stands between the step and the role in the name of a turn that is awaited."""


def turn_name(step: Converse, number: int) -> str:
    """Return turn `number`, counted from 1, as a reply that is awaited."""
    return f"{step.name}{BETWEEN}{speaker_of(step, number)}"


def awaited(step: Converse, first: int, last: int) -> tuple[str, ...]:
    """The turns from `first` to `last`, counted from 1, as replies that are awaited.

    >>> from tripos_compiler.plan import Speaker, Until
    >>> sides = (Speaker(role="a"), Speaker(role="b"))
    >>> until = (Until(role="a", text="done"),)
    >>> awaited(Converse(name="t", speakers=sides, opens="b", until=until, limit=9, fingerprint=""), 2, 4)
    ('t/a', 't/b', 't/a')
    """
    return tuple(turn_name(step, number) for number in range(first, last + 1))


def models_of(talk: Talk) -> dict[str, str]:
    """Return who says the turns that are awaited."""
    return {f"{talk.step.name}{BETWEEN}{role}": model for role, model in talk.models.items()}


def whole(size: Size, scenario: Scenario) -> Size:
    """A size with the turns of a conversation in its place: half of them are expected, and all may come. Names of one
    side of a pair begin with the side."""
    if not size.pending:
        return size
    talks = {step.name: step for step in scenario.talks}
    pending: list[str] = []
    beyond, turns = [*size.beyond], 0
    for name in one_reply(size.pending):
        side, dot, talk = name.rpartition(".")
        if talk not in talks:
            pending.append(name)
            continue
        half, limit = (talks[talk].limit + 1) // 2, talks[talk].limit
        pending += (f"{side}{dot}{each}" for each in awaited(talks[talk], 1, half))
        beyond += (f"{side}{dot}{each}" for each in awaited(talks[talk], half + 1, limit))
        turns += limit
    return replace(size, pending=tuple(pending), beyond=tuple(beyond), messages=size.messages + turns)
