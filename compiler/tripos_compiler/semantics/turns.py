"""Turns of a dialogue, as data files have them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson

SPEAKERS = ("speaker", "role", "from", "user", "name")
SAID = ("text", "content", "value", "utterance", "message")
END = "|EOM|"
"""What MathDial and its kin write between the turns of a transcript; otherwise a turn begins with its line."""
SPOKEN = re.compile(r"\s*([^\W\d_][\w'’.-]{0,29}(?: [\w'’.-]{1,20})?) ?[:：](?!//)\s*(.*)", re.DOTALL)
"""A speaker of one or two words, and what is said."""


def read_turns(value: Any) -> list[dict[str, str]] | None:
    """The turns, each with a `speaker` and a `text`; None where it is no dialogue.

    A dialogue is a list of turns, or JSON text of one, or a transcript with a speaker before every turn. A turn names
    its speaker as one of `SPEAKERS` and its text as one of `SAID`, or is `{"Teacher": "Why?"}`, or a line of a
    transcript.

    >>> read_turns([{"user": "Teacher", "text": "Why?", "time": "06:36"}])
    [{'speaker': 'Teacher', 'text': 'Why?'}]
    >>> read_turns("Teacher: Why?|EOM|Student: Because\\nit is even.")
    [{'speaker': 'Teacher', 'text': 'Why?'}, {'speaker': 'Student', 'text': 'Because\\nit is even.'}]
    >>> read_turns("Tutor: Why?\\nStudent: Because\\nit is even.")[1]["text"]
    'Because\\nit is even.'
    >>> read_turns("hello") is None, read_turns([])
    (True, [])
    """
    if isinstance(value, str):
        if value.lstrip().startswith("["):
            try:
                value = orjson.loads(value)
            except ValueError:
                return None
        else:
            return _transcript(value)
    if not isinstance(value, list):
        return None
    turns = [_turn(each) for each in value]
    known = [turn for turn in turns if turn is not None]
    return known if len(known) == len(turns) else None


def _transcript(text: str) -> list[dict[str, str]] | None:
    turns: list[dict[str, str]] = []
    marked = END in text
    for part in text.split(END) if marked else text.splitlines():
        turn = _spoken(part)
        if turn is not None:
            turns.append(turn)
        elif turns and not marked:
            turns[-1]["text"] = f"{turns[-1]['text']}\n{part.strip()}".strip()
        elif part.strip():
            return None
    return turns or None


def _turn(value: Any) -> dict[str, str] | None:
    if isinstance(value, str):
        return _spoken(value)
    if not isinstance(value, Mapping):
        return None
    said = {str(name).casefold(): text for name, text in value.items() if isinstance(text, str)}
    speaker = next((said[name] for name in SPEAKERS if name in said), None)
    text = next((said[name] for name in SAID if name in said), None)
    if speaker is not None and text is not None:
        return {"speaker": speaker, "text": text}
    if len(value) == len(said) == 1 and not said.keys() & {*SAID, *SPEAKERS} - {"user"}:
        name, only = next(iter(value.items()))
        return {"speaker": str(name), "text": only}
    return None


def _spoken(line: str) -> dict[str, str] | None:
    found = SPOKEN.fullmatch(line)
    return None if found is None else {"speaker": found[1], "text": found[2].strip()}
