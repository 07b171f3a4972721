"""The items of imported logs: which samples of which logs are about the same one, and the files that hold them.

Items pair by what is asked: the system message, the earlier turns and the question. Of several that ask the same, the
one with the id of the sample counts, or else one that no other id of the log has. So the logs of two tools are about
the same items, whatever these are called there, and a log that asks a question twice keeps both.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any, BinaryIO

import orjson

from tripos.importing.logs.entries import LoggedItem
from tripos.settings import MOST_DATA_BYTES, read_untrusted_lines

FREE, OWN, LENT = range(3)
"""An item that the log has no sample of so far, or has under its id, or under another one."""
Asked = bytes
"""A digest of what is asked."""


def asked_digest(system: str, history: Any, question: str) -> Asked:
    """Return the digest of what is asked; `history` is turns of a speaker and a text.

    >>> asked_digest("", [("user", "a")], "b") == asked_digest("", [["user", "a"]], "b")
    True
    """
    told = orjson.dumps([system, [list(turn) for turn in history], question])
    return blake2b(told, digest_size=16).digest()


def sound_text(value: str) -> str:
    """Return a text that UTF-8 can hold: a lone surrogate becomes `\\ufffd`.

    >>> sound_text("a\\ud800")
    'a\\ufffd'
    """
    return value if value.isascii() else value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def sound(value: Any) -> Any:
    """Return a value of JSON with texts that UTF-8 can hold."""
    match value:
        case str():
            return sound_text(value)
        case dict():
            return {sound(name): sound(each) for name, each in value.items()}
        case list():
            return [sound(each) for each in value]
    return value


@dataclass
class ItemTable:
    """The items of one task, in the order of its file, `path`. New ones wait in a temporary file until `write` puts
    them at its end. Of each it holds no more than a digest and the id, so that a log of many takes little memory."""

    path: Path
    known: dict[Asked, int] = field(default_factory=dict)
    """The place of the first item that asks something, counted from 0."""
    further: dict[Asked, list[int]] = field(default_factory=dict)
    """The places of others that ask the same."""
    names: list[str] = field(default_factory=list)
    """The id of each item, by its place."""
    added: int = 0
    _claimed: dict[tuple[Asked, str], int] = field(default_factory=dict)
    """The places of items that a log has under another id."""
    _taken: bytearray = field(default_factory=bytearray)
    _new: IO[bytes] | None = None

    @classmethod
    def read(cls, path: Path) -> ItemTable:
        """Return the items of a file that an import made; none where there is no file. Raises `OSError`, and
        `ValueError` where it is no such file."""
        table = cls(path)
        if path.exists():
            for row in read_untrusted_lines(path, MOST_DATA_BYTES):
                table._know(row)
        return table

    def _know(self, row: Any) -> None:
        try:
            turns = [(turn["speaker"], turn["text"]) for turn in row["history"]]
            digest, name = asked_digest(row["system"], turns, row["question"]), row["id"]
        except (KeyError, TypeError) as error:
            raise ValueError(f"line {len(self.names) + 1} is no item of a log") from error
        self._keep(digest, name)

    def _keep(self, digest: Asked, name: str) -> int:
        place = len(self.names)
        self.names.append(name)
        self._taken.append(FREE)
        if self.known.setdefault(digest, place) != place:
            self.further.setdefault(digest, []).append(place)
        return place

    def begin_log(self) -> None:
        """Begin with the samples of another log."""
        self._claimed.clear()
        self._taken = bytearray(len(self.names))

    def place_of(self, item: LoggedItem) -> int:
        """Return the place of an item, which is added where it is new."""
        name, question, system = sound_text(item.item), sound_text(item.question), sound_text(item.system)
        turns = [(sound_text(speaker), sound_text(said)) for speaker, said in item.history]
        digest = asked_digest(system, turns, question)
        if (place := self._claimed.get((digest, name))) is not None:
            return place
        alike: list[int] = [self.known[digest], *self.further.get(digest, ())] if digest in self.known else []
        own = next((at for at in alike if self.names[at] == name and self._taken[at] != LENT), None)
        if own is not None:
            self._taken[own] = OWN
            return own
        found = None
        if question or turns or system:  # without a text an item is known by its id alone
            found = next((at for at in alike if self._taken[at] == FREE), None)
        if found is None:
            told = name
            while any(told == self.names[at] for at in alike):
                told += "+"
            found = self._keep(digest, told)
            self._add(
                {
                    "id": told,
                    "system": system,
                    "history": [{"speaker": speaker, "text": said} for speaker, said in turns],
                    "question": question,
                    "target": None if item.target is None else sound_text(item.target),
                }
            )
        if self.names[found] == name:
            self._taken[found] = OWN
        else:
            self._claimed[digest, name] = found
            self._taken[found] = LENT
        return found

    def _add(self, row: Mapping[str, Any]) -> None:
        if self._new is None:
            self._new = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the table
        self._new.write(orjson.dumps(row) + b"\n")
        self.added += 1

    def write(self, folder: Path) -> None:
        """Put the items into their file in a folder, whole or not at all. Raises `OSError`."""
        target = folder / self.path.name
        if not self.added and target == self.path:
            return
        with replacing(target) as file:
            if self.path.exists():
                with self.path.open("rb") as old:
                    shutil.copyfileobj(old, file)
                    if old.tell() and old.seek(-1, 2) and old.read() != b"\n":
                        file.write(b"\n")
            if self._new is not None:
                self._new.seek(0)
                shutil.copyfileobj(self._new, file)

    def close(self) -> None:
        """Remove the temporary file."""
        if self._new is not None:
            self._new.close()
            self._new = None


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to write to, which takes the place of another one at the end; after a failure that one is as it was.
    Raises `OSError`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.new")
    try:
        with new.open("wb") as file:
            yield file
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)
