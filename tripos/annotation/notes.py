"""Notes of people on replies, from the page of results: one by one from its server, and many in a file from a page that
has none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from tripos.annotation.assignment import check_name
from tripos.annotation.batch import evaluator_of
from tripos.annotation.sheet import complete_lines
from tripos.files import MOST_DATA_BYTES, read_untrusted
from tripos_compiler.errors import TriposError
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.notes import Note, add_note

FORMAT = "tripos.notes/1"
_ID = re.compile(r"[0-9a-f]{32}")
_KEYS = ("note_id", "sample_id", "run", "flag", "text", "replied_at")


@dataclass(frozen=True)
class NoteDesk:
    """The receiver of the notes of a served page. With a `name`, all of them are of this person; otherwise the page
    sends the name with each."""

    store: Callable[[], Store]
    name: str | None
    now: Callable[[], datetime]

    def take(self, body: bytes) -> bytes:
        """Store a note, and return its id. Raises `ValueError` for a message that is none, `TriposError` S0702 for an
        unfit name, and what `add_note` raises."""
        message = _mapping(orjson.loads(body))
        name = _text(message, "name") if self.name is None else self.name
        check_name(name)
        before = message.get("before")
        note = _note(message, name, self.now())
        add_note(self.store(), note, before if isinstance(before, str) else None)
        return orjson.dumps({"note_id": note.note_id})


@dataclass(frozen=True)
class ReturnedNotes:
    """The notes of a file that a page without a server wrote, with the line of each by its id."""

    noted_by: str
    notes: tuple[Note, ...]
    addresses: Mapping[str, str]


def read_notes(path: Path, now: datetime) -> ReturnedNotes | None:
    """Return the notes of a file; None if it is not a file of notes. A note of a clock that is ahead is of `now`.

    Raises `TriposError`: S0706 if a line is no note or the file cannot be read, S0702 for an unfit name.
    """
    try:
        lines = complete_lines(read_untrusted(path, MOST_DATA_BYTES))
        head = orjson.loads(lines[0])
        if head["format"] != FORMAT:
            return None
        name = _text(head, "name")
    except OSError as error:
        fault = f"`{path}` cannot be read ({error.strerror})"
        raise TriposError("S0706", fault, "give the file that the page downloaded") from error
    except (IndexError, ValueError, KeyError, TypeError):
        return None
    check_name(name)
    notes: dict[str, Note] = {}
    addresses: dict[str, str] = {}
    for number, line in enumerate(lines[1:], 2):
        if not line.strip():
            continue
        try:
            said = _mapping(orjson.loads(line))
            note = _note(said, name, min(now, _time(said, "at")))
        except ValueError as error:
            fault = f"line {number} of `{path}` is no note"
            raise TriposError("S0706", fault, "it was changed by hand: download it again") from error
        notes[note.note_id] = note
        addresses[note.note_id] = f"line {number}"
    return ReturnedNotes(evaluator_of(name), tuple(notes.values()), addresses)


def _note(said: Mapping[str, Any], name: str, at: datetime) -> Note:
    """Return a note from a message. Raises `ValueError` for one that is none."""
    if not all(key in said for key in _KEYS) or _ID.fullmatch(note_id := _text(said, "note_id")) is None:
        raise ValueError("no note")
    flag, text = (_text(said, key).strip() if said[key] is not None else "" for key in ("flag", "text"))
    sample_id, run = _text(said, "sample_id"), _text(said, "run")
    return Note(note_id, sample_id, run, evaluator_of(name), flag or None, text or None, _time(said, "replied_at"), at)


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("no object")
    return value


def _text(said: Mapping[str, Any], key: str) -> str:
    value = said.get(key)
    if not isinstance(value, str):
        raise ValueError(f"`{key}` is no text")
    return value


def _time(said: Mapping[str, Any], key: str) -> datetime:
    """Return a time, which is UTC if it has no zone. Raises `ValueError`."""
    time = datetime.fromisoformat(_text(said, key))
    try:
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(f"`{key}` is no time that UTC has") from error
