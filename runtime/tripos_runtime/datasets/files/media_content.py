"""The content of images and other files, by digest: where a data set has it, or in the store of a run."""

from __future__ import annotations

import hashlib
import re
from base64 import b64decode
from collections.abc import Callable
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import Any

from tripos_compiler.language.library import Medium, MediumKind, UnfitMedium, media_in
from tripos_compiler.source import dataclass
from tripos_runtime.datasets.files.media_formats import medium_of

MOST_HELD = 2**28
"""Bytes of contents that are held in memory, for requests of other models that show the same."""


DATA_URL = re.compile(r"data:[\w./+-]*;base64,")


def cell_of(value: Any) -> bytes | str:
    """Return the content that a cell holds, or else the path or address that it names: a text, bytes, or a record with
    `bytes` or a `path`, as the library `datasets` writes. Raises `UnfitMedium`.

    >>> cell_of("a/b.png"), cell_of("data:image/png;base64,YWJj"), cell_of({"bytes": b"abc", "path": "b.png"})
    ('a/b.png', b'abc', b'abc')
    """
    match value:
        case bytes():
            return value
        case {"bytes": bytes() as content}:
            return content
        case str() if (head := DATA_URL.match(value)) is not None:
            try:
                return b64decode(value[head.end() :], validate=True)
            except ValueError as error:
                raise UnfitMedium("a cell has base64 that cannot be read", "mend the row") from error
        case str() if value.strip() and "\0" not in value:
            return value
        case {"path": str() as path} if path:
            return path
    raise UnfitMedium("a cell names no file, and holds none", "write a path beside the data file")


@dataclass(frozen=True)
class MediaStore:
    """Keeps contents by digest: `keep` leaves one that is there as it is, `read` gives None for one that is not.
    After `close` nobody waits for rows that name them."""

    keep: Callable[[str, bytes], None]
    read: Callable[[str], bytes | None]
    close: Callable[[], None]


@dataclass
class KnownMedia:
    """The contents that a command has met: of files where they lie, of cells the bytes themselves, which go to the
    store of a run at once."""

    store: MediaStore | None = None
    _places: dict[str, Path] = field(default_factory=dict)
    _marks: dict[Path, tuple[tuple[Any, ...], str]] = field(default_factory=dict)
    _held: dict[str, bytes] = field(default_factory=dict)
    _kept: set[str] = field(default_factory=set)
    _size: int = 0

    def file(self, kind: MediumKind, path: Path, shown: str, most: int) -> str:
        """Return the mark of a file. One that stays as it is is read once. Raises `UnfitMedium`."""
        try:
            stat = path.stat()
            stamp = (kind, stat.st_mtime_ns, stat.st_size)
            if self._marks.get(path, ((), ""))[0] != stamp:
                if stat.st_size > most:
                    raise UnfitMedium(f"`{shown}` has more than {most:,} bytes", "give a smaller one")
                medium = medium_of(kind, path.read_bytes(), f"`{shown}`")
                self._places[medium.sha256] = path
                self._marks[path] = (stamp, str(medium))
        except OSError as error:
            raise UnfitMedium(f"cannot read `{shown}`: {error.strerror}", "check its permissions") from error
        return self._marks[path][1]

    @property
    def files(self) -> dict[Path, str]:
        """Return the files that cells name, each with the SHA-256 of its content."""
        return {path: medium.sha256 for path, (_, mark) in self._marks.items() if (medium := Medium.read(mark))}

    def cell(self, kind: MediumKind, content: bytes, most: int) -> str:
        """Return the mark of what a cell holds, which is in the store of a run from here on. Raises `UnfitMedium`."""
        if len(content) > most:
            raise UnfitMedium(f"a cell holds more than {most:,} bytes", "give a smaller one")
        medium = medium_of(kind, content, "what the cell holds")
        self._keep(medium.sha256, content)
        return str(medium)

    def content(self, medium: Medium) -> bytes:
        """Return the content of a medium, which is in the store of the run from here on. Raises `OSError` where it is
        not to be had any more, or has changed."""
        held = self._held.get(medium.sha256)
        if held is not None:
            self._keep(medium.sha256, held)
            return held
        place = self._places.get(medium.sha256)
        found = place.read_bytes() if place is not None and place.is_file() else None
        if found is None or hashlib.sha256(found).hexdigest() != medium.sha256:
            found = self.store.read(medium.sha256) if self.store is not None else None
        if found is None or hashlib.sha256(found).hexdigest() != medium.sha256:
            where = "" if place is None else f", which `{place.name}` was"
            raise OSError(f"nobody has the {medium.kind} with SHA-256 {medium.sha256}{where}")
        self._keep(medium.sha256, found)
        if self._size + len(found) > MOST_HELD:
            self._held.clear()
            self._size = 0
        self._held[medium.sha256] = found
        self._size += len(found)
        return found

    def close(self) -> None:
        """Let go of the store: the rows that name contents are there by now."""
        if self.store is not None:
            self.store.close()
            self.store = None
            self._kept.clear()

    def keep_shown(self, text: str) -> None:
        """Put in the store of the run, if there is one, what the marks in a text show. What is not to be had any more
        is passed over: whoever sends it is told by `content`."""
        if self.store is not None:
            for medium in media_in(text):
                if medium.sha256 not in self._kept:
                    with suppress(OSError):
                        self.content(medium)

    def _keep(self, sha256: str, content: bytes) -> None:
        if self.store is not None and sha256 not in self._kept:
            self.store.keep(sha256, content)
            self._kept.add(sha256)
