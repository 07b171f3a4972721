"""Turns of a dialogue, from JSON of many shapes or from lines such as `Teacher: good morning`."""

from __future__ import annotations

import re
from typing import Any

from tripos_compiler.language.replies.names import fold

SPEAKERS = frozenset({"speaker", "role", "name", "from"})
UTTERANCES = frozenset({"text", "content", "message", "utterance", "value"})
LINE = re.compile(r"\s*([^:：\n]{1,40})[:：]\s*(\S.*)")


def turns_in(raw: Any) -> list[dict[str, str]] | None:
    """The turns, each with a `speaker` and a `text`, or `None` where one has no speaker. A line without a speaker
    goes on with the turn before it.

    >>> turns_in("Teacher: What is a half?\\nPupil: One of two parts.")
    [{'speaker': 'Teacher', 'text': 'What is a half?'}, {'speaker': 'Pupil', 'text': 'One of two parts.'}]
    >>> turns_in([{"Teacher": "Hello"}]), turns_in("Hello")
    ([{'speaker': 'Teacher', 'text': 'Hello'}], None)
    """
    turns: list[tuple[str, list[str]]] = []
    parts = raw.strip().splitlines() if isinstance(raw, str) else raw
    for part in parts if isinstance(parts, list) else []:
        turn = _spoken(part) if isinstance(part, str) else _given(part)
        if turn is not None:
            turns.append((turn[0], [turn[1]]))
        elif turns and isinstance(part, str):
            _go_on(turns[-1][1], part)
        else:
            return None
    return [{"speaker": speaker, "text": "\n".join(lines)} for speaker, lines in turns] or None


def _go_on(lines: list[str], line: str) -> None:
    """Add a line to the lines of a turn, which begin and end with what is no space from then on."""
    if len(lines) == 1:
        lines[0] = lines[0].lstrip() if line.strip() else lines[0].strip()
    if line.strip():
        lines.append(line.rstrip())
    if not lines[0]:
        lines[:] = [line.strip()]


def _spoken(line: str) -> tuple[str, str] | None:
    found = LINE.fullmatch(line)
    return None if found is None else (found[1].strip("*# "), found[2].strip("* "))


def _given(part: Any) -> tuple[str, str] | None:
    if not isinstance(part, dict):
        return None
    words = {fold(name): said for name, said in part.items() if isinstance(said, str)}
    speakers = [said for name, said in words.items() if name in SPEAKERS]
    texts = [said for name, said in words.items() if name in UTTERANCES]
    if speakers and texts:
        return speakers[0], texts[0]
    (name, said), *more = part.items() or [("", None)]
    return (name, said) if not more and isinstance(said, str) else None
