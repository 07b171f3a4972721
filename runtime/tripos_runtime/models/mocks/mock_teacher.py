"""The replies of `mock/teacher`: one who talks, and comes to an end; and who finds what a question is about.

It says something new at every turn and ends after two to four turns of its own, by the dialogue: its last turn says, in
bold, what its system message writes in capitals, such as `TEACH DONE`. Without such words it goes on for ever. Asked
for a list of texts, it takes one or two of the points that the prompt lists, which is what tagging asks for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tripos_runtime.models.base import Message
from tripos_runtime.models.mocks.mock_values import draw, sentences

FEWEST, MORE = 2, 3
"""Turns before the last one, at least, and so many different numbers of them."""
POINT = re.compile(r"^- (.+)$", re.MULTILINE)
CAPITALS = re.compile(r"(?<![A-Za-z])[A-Z]{2,}(?: [A-Z]{2,})+(?![A-Za-z])")


def points_chosen(messages: Sequence[Message], value: Any, key: str) -> Any:
    """Return a value in which every list of texts is of points that the last message lists, where it lists any.

    >>> points_chosen([Message("user", "Which?\\n- sets\\n- sums")], {"value": ["That is so."]}, "a")["value"]
    ['sets']
    """
    points = POINT.findall(messages[-1].content) if messages else []
    if not points or not isinstance(value, dict):
        return value
    return {name: _points(points, f"{key}/{name}") if _is_texts(part) else part for name, part in value.items()}


def _points(points: list[str], key: str) -> list[str]:
    first = draw(len(points), key)
    second = draw(len(points), key, "second")
    return sorted({points[first], points[second]})


def _is_texts(part: Any) -> bool:
    return isinstance(part, list) and all(isinstance(each, str) for each in part)


def teacher_text(messages: Sequence[Message], key: str, *, chinese: bool) -> str:
    """Return what the teacher says to a dialogue; `key` tells requests apart.

    >>> told = Message("system", "Teach, and say LESSON OVER at the end.")
    >>> said = [Message("user", "Please begin."), Message("assistant", "Look."), Message("user", "I see.")]
    >>> "LESSON OVER" in teacher_text([told, *said[:1]], "a", chinese=False)
    False
    >>> teacher_text([told, *(6 * said)], "a", chinese=False).endswith("**LESSON OVER**")
    True
    """
    said = sum(message.role == "assistant" for message in messages)
    text = sentences(2, f"{key} {said}", chinese=chinese)
    system = next((message.content for message in messages if message.role == "system"), "")
    wanted = CAPITALS.search(system)
    first = next((message.content for message in messages if message.role == "assistant"), "")
    if wanted is None or said < FEWEST + draw(MORE, system, first):
        return text
    return f"{text}\n**{wanted[0]}**"
