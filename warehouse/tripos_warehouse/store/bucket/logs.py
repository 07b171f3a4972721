"""Logs of sessions: what a worker has kept and nobody has committed yet, in numbered slots.

A slot is written if its number is free, and never changed. It holds rows that were kept, nothing (a sign of life), or a
*seal*: who finds a session silent for too long writes a seal at its next free slot, and from then on no upload of that
session can be acknowledged. Seals are never removed.
"""

from __future__ import annotations

import gzip
import uuid
import zlib
from collections.abc import Mapping, Sequence

import orjson

from tripos_compiler.source import dataclass
from tripos_warehouse.errors import StoreError
from tripos_warehouse.store.bucket.objects import Objects, at_once
from tripos_warehouse.store.journal import JournalContent, journal_head, parse_segment

LOGS = "logs"
SEAL_FORMAT = "tripos.seal/1"
MOST_BYTES = 2**31


@dataclass(frozen=True)
class LogSlot:
    """The content of a slot; `kept` is None for a seal."""

    number: int
    kept: JournalContent | None

    @property
    def is_seal(self) -> bool:
        """Return true if nothing can follow."""
        return self.kept is None


@dataclass(frozen=True)
class Tail:
    """The slots of a log from a number on, and the number of the first that is free or has a seal."""

    slots: tuple[LogSlot, ...]
    end: int
    sealed: bool

    @property
    def has_rows(self) -> bool:
        """Return true if there is anything to commit."""
        return any(slot.kept is not None and (slot.kept.lines or slot.kept.damaged) for slot in self.slots)


def slot_name(session: str, number: int) -> str:
    """Return the name of the object of a slot.

    >>> slot_name("20260301T080000000000-0123456789ab", 7)
    'logs/20260301T080000000000-0123456789ab/00000007'
    """
    return f"{LOGS}/{session}/{number:08d}"


def slot_content(lines: Sequence[bytes]) -> bytes:
    """Return the bytes of a slot with these lines of a journal. No two are equal."""
    head = journal_head(nonce=uuid.uuid4().hex) + b"\n"
    return gzip.compress(head + b"".join(lines), 1, mtime=0)


def seal_content(by: str) -> bytes:
    """Return the bytes of a seal."""
    return gzip.compress(orjson.dumps({"format": SEAL_FORMAT, "by": by, "nonce": uuid.uuid4().hex}) + b"\n", 1, mtime=0)


def sealed_by(seal: bytes) -> str:
    """Return the session that wrote a seal."""
    return str(orjson.loads(zlib.decompress(seal, 31))["by"])


def read_slot(number: int, content: bytes, name: str) -> LogSlot:
    """Return the slot of these bytes. Raises `StoreError`: S0104 of a newer format, S0404 where it is damaged."""
    try:
        unpacker = zlib.decompressobj(wbits=31)
        unpacked = unpacker.decompress(content, MOST_BYTES)
        if not unpacker.eof:
            raise zlib.error("it breaks off")
        head = orjson.loads(unpacked.partition(b"\n")[0])
    except (zlib.error, orjson.JSONDecodeError) as error:
        hint = "restore the object from a backup, or remove it: its calls are then made again"
        raise StoreError("S0404", f"`{name}` is unreadable ({error})", hint) from error
    if isinstance(head, dict) and head.get("format") == SEAL_FORMAT:
        return LogSlot(number, None)
    kept = parse_segment(unpacked)
    if kept.newer:
        raise StoreError("S0104", f"`{name}` was not written by this Tripos", "update Tripos")
    return LogSlot(number, kept)


class LogReader:
    """Reads tails of logs. A slot never changes, so each is read once."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._known: dict[str, dict[int, LogSlot]] = {}

    def tail(self, session: str, start: int) -> Tail:
        """Return the slots of a log from `start` on. Raises `StoreError`: S0104, S0109, S0110, S0404."""
        known = self._known.setdefault(session, {})
        slots: list[LogSlot] = []
        number = start
        while True:
            slot = known.get(number)
            if slot is None:
                name = slot_name(session, number)
                held = self._objects.get(name)
                if held is None:
                    return Tail(tuple(slots), number, sealed=False)
                slot = known[number] = read_slot(number, held.content, name)
            if slot.is_seal:
                return Tail(tuple(slots), number, sealed=True)
            slots.append(slot)
            number += 1

    def tails(self, starts: Mapping[str, int]) -> dict[str, Tail]:
        """Return the tail of each log from a slot on. Raises as `tail` does."""
        names = list(starts)
        return dict(zip(names, at_once(lambda name: self.tail(name, starts[name]), names), strict=True))

    def forget(self, sessions: dict[str, int]) -> None:
        """Let go of slots that are in parts by now, and of the logs of sessions that are over."""
        for session, known in list(self._known.items()):
            if session not in sessions:
                del self._known[session]
            else:
                for number in [number for number in known if number < sessions[session]]:
                    del known[number]
