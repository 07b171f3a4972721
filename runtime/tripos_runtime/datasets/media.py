"""Images, recordings and other files: detection of their format from the first bytes, and their content by digest.

No image is decoded: its header has the width and height, which is all that a request and an estimate need."""

from __future__ import annotations

import hashlib
import re
import struct
from base64 import b64decode
from collections.abc import Callable
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import Any, Final

from tripos_compiler.library.media import Medium, MediumKind, UnfitMedium, media_in
from tripos_compiler.source.data_classes import dataclass

Shape = tuple[int, int] | None
"""Width and height in pixels; `None` if the header cannot be read."""
TAKEN: Final = {
    "image": "a PNG, JPEG, GIF or WebP image",
    "audio": "a WAV or MP3 recording",
    "file": "a PDF",
}
"""The formats of each kind, for messages."""
MP3_RATES: Final = {3: (44100, 48000, 32000), 2: (22050, 24000, 16000), 0: (11025, 12000, 8000)}
"""Samples per second by version (1, 2, 2.5) and index."""
MP3_KBITS: Final = {
    True: (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    False: (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
}
"""Kilobits per second of layer III by index; true for version 1."""


def medium_of(kind: MediumKind, content: bytes, shown: str) -> Medium:
    """Return the medium of a content. Raises `UnfitMedium` if it has no format of that kind; `shown` is its name in
    messages.

    >>> medium_of("file", b"%PDF-1.7", "a.pdf").mime
    'application/pdf'
    """
    detected = {"image": _image, "audio": _audio, "file": _file}[kind](content)
    if detected is None:
        raise UnfitMedium(f"{shown} is not {TAKEN[kind]}", "give one of these formats, or fix the column's type")
    mime, shape, seconds = detected
    width, height = shape or (None, None)
    return Medium(mime, hashlib.sha256(content).hexdigest(), len(content), width, height, seconds)


def type_of(content: bytes) -> str:
    """Return the MIME type of a content by its first bytes; `application/octet-stream` for unknown formats.

    >>> type_of(b"%PDF-1.7"), type_of(b"<svg>")
    ('application/pdf', 'application/octet-stream')
    """
    for read in (_image, _audio, _file):
        if (detected := read(content)) is not None:
            return detected[0]
    return "application/octet-stream"


Detected = tuple[str, Shape, float | None] | None
"""The MIME type of a content, its width and height, and its duration in seconds; `None` for another format."""


def _image(content: bytes) -> Detected:
    for mime, head, read in IMAGES:
        if content.startswith(head):
            try:
                shape = read(content)
            except (struct.error, IndexError):
                return None
            return (mime, shape, None) if shape is not None and min(shape) > 0 else None
    return None


def _png(content: bytes) -> Shape:
    return struct.unpack(">II", content[16:24]) if content[12:16] == b"IHDR" else None


def _gif(content: bytes) -> Shape:
    return struct.unpack("<HH", content[6:10])


def _jpeg(content: bytes) -> Shape:
    """Return the size, which the first frame header has. It is found by going from segment to segment, each of which
    has its length."""
    at = 2
    while at + 9 <= len(content):
        if content[at] != 0xFF:
            return None
        marker = content[at + 1]
        if marker == 0xFF:  # padding
            at += 1
        elif marker in (0x01, *range(0xD0, 0xD9)):  # a marker without a segment
            at += 2
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", content[at + 5 : at + 9])
            return width, height
        else:
            at += 2 + struct.unpack(">H", content[at + 2 : at + 4])[0]
    return None


def _webp(content: bytes) -> Shape:
    if content[8:12] != b"WEBP":
        return None
    match content[12:16]:
        case b"VP8 ":
            width, height = struct.unpack("<HH", content[26:30])
            return width & 0x3FFF, height & 0x3FFF
        case b"VP8L":
            bits = struct.unpack("<I", content[21:25])[0]
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            return int.from_bytes(content[24:27], "little") + 1, int.from_bytes(content[27:30], "little") + 1
    return None


IMAGES: Final[tuple[tuple[str, bytes, Callable[[bytes], Shape]], ...]] = (
    ("image/png", b"\x89PNG\r\n\x1a\n", _png),
    ("image/jpeg", b"\xff\xd8\xff", _jpeg),
    ("image/gif", b"GIF87a", _gif),
    ("image/gif", b"GIF89a", _gif),
    ("image/webp", b"RIFF", _webp),
)


def _audio(content: bytes) -> Detected:
    if content.startswith(b"RIFF") and content[8:12] == b"WAVE":
        seconds = _wav_seconds(content)
        return None if seconds is None else ("audio/wav", None, seconds)
    seconds = _mp3_seconds(content)
    return None if seconds is None else ("audio/mpeg", None, seconds)


def _wav_seconds(content: bytes) -> float | None:
    """Return the duration by the size of the data and the bytes per second; None if the content has no data."""
    at, rate = 12, 0
    while at + 8 <= len(content):
        name, length = content[at : at + 4], int.from_bytes(content[at + 4 : at + 8], "little")
        if name == b"fmt " and at + 20 <= len(content):
            rate = int.from_bytes(content[at + 16 : at + 20], "little")
        elif name == b"data":
            return min(length, len(content) - at - 8) / rate if rate else None
        at += 8 + length + length % 2
    return None


def _mp3_seconds(content: bytes) -> float | None:
    """Return the duration of consecutive layer III frames; None if the content does not begin with one."""
    at, seconds = _after_id3(content), 0.0
    while at + 4 <= len(content):
        head = int.from_bytes(content[at : at + 4], "big")
        version, layer, kbits, rate = head >> 19 & 3, head >> 17 & 3, head >> 12 & 15, head >> 10 & 3
        if head >> 21 != 0x7FF or version == 1 or layer != 1 or kbits in (0, 15) or rate == 3:
            break
        samples = 1152 if version == 3 else 576
        hertz = MP3_RATES[version][rate]
        at += samples // 8 * MP3_KBITS[version == 3][kbits] * 1000 // hertz + (head >> 9 & 1)
        seconds += samples / hertz
    return seconds or None


def _after_id3(content: bytes) -> int:
    """Return the position after the tag at the beginning, 0 if there is none."""
    if not content.startswith(b"ID3") or len(content) < 10:
        return 0
    size = 0
    for byte in content[6:10]:
        size = size << 7 | byte & 0x7F
    return 10 + size


def _file(content: bytes) -> Detected:
    return ("application/pdf", None, None) if content.startswith(b"%PDF-") else None


MOST_HELD = 2**28
"""The largest number of bytes of contents kept in memory: the same contents are often sent to several models."""


DATA_URL = re.compile(r"data:[\w./+-]*;base64,")
"""The beginning of a URL that contains the content itself."""


def cell_of(value: Any) -> bytes | str:
    """Return the content in a cell, else the path or address that it names. A cell is a text, bytes, or a record with
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
                raise UnfitMedium("a cell has base64 that cannot be read", "fix the row") from error
        case str() if value.strip() and "\0" not in value:
            return value
        case {"path": str() as path} if path:
            return path
    raise UnfitMedium("a cell names no file, and holds none", "write a path beside the data file")


@dataclass(frozen=True)
class MediaStore:
    """The store of a run for contents by SHA-256: `keep` ignores one that is kept already, `load` returns None for a
    missing one, and `close` is called once all rows that refer to contents are kept."""

    keep: Callable[[str, bytes], None]
    load: Callable[[str], bytes | None]
    close: Callable[[], None]


@dataclass
class KnownMedia:
    """The media that a command has read. Of a file its path is kept, and its bytes are read when a request needs them;
    the bytes of a cell go to the run's `store` at once. A mark is the text that represents a medium in a row."""

    store: MediaStore | None = None
    _paths: dict[str, Path] = field(default_factory=dict)
    """The files by the SHA-256 of their content."""
    _marks: dict[Path, tuple[tuple[Any, ...], str]] = field(default_factory=dict)
    """The mark of every file, with its kind, time and size, by which a changed file is recognized."""
    _contents: dict[str, bytes] = field(default_factory=dict)
    """Contents in memory by SHA-256, with `_size` bytes in total."""
    _stored: set[str] = field(default_factory=set)
    """The SHA-256 of the contents that the store has."""
    _size: int = 0

    def file(self, kind: MediumKind, path: Path, shown: str, most: int) -> str:
        """Return the mark of a file. An unchanged file is read once. Raises `UnfitMedium`."""
        try:
            stat = path.stat()
            stamp = (kind, stat.st_mtime_ns, stat.st_size)
            if self._marks.get(path, ((), ""))[0] != stamp:
                if stat.st_size > most:
                    raise UnfitMedium(f"`{shown}` has more than {most:,} bytes", "give a smaller one")
                medium = medium_of(kind, path.read_bytes(), f"`{shown}`")
                self._paths[medium.sha256] = path
                self._marks[path] = (stamp, str(medium))
        except OSError as error:
            raise UnfitMedium(f"cannot read `{shown}`: {error.strerror}", "check its permissions") from error
        return self._marks[path][1]

    @property
    def files(self) -> dict[Path, str]:
        """The files that cells name, each with the SHA-256 of its content."""
        return {path: medium.sha256 for path, (_, mark) in self._marks.items() if (medium := Medium.read(mark))}

    def cell(self, kind: MediumKind, content: bytes, most: int) -> str:
        """Return the mark of a content in a cell, and keep it in the run's store. Raises `UnfitMedium`."""
        if len(content) > most:
            raise UnfitMedium(f"a cell holds more than {most:,} bytes", "give a smaller one")
        medium = medium_of(kind, content, "what the cell holds")
        self._keep(medium.sha256, content)
        return str(medium)

    def content(self, medium: Medium) -> bytes:
        """Return the content of a medium, and keep it in the run's store. Raises `OSError` if it is gone or has
        changed."""
        in_memory = self._contents.get(medium.sha256)
        if in_memory is not None:
            self._keep(medium.sha256, in_memory)
            return in_memory
        path = self._paths.get(medium.sha256)
        content = path.read_bytes() if path is not None and path.is_file() else None
        if content is None or hashlib.sha256(content).hexdigest() != medium.sha256:
            content = self.store.load(medium.sha256) if self.store is not None else None
        if content is None or hashlib.sha256(content).hexdigest() != medium.sha256:
            where = "" if path is None else f", which `{path.name}` was"
            raise OSError(f"nobody has the {medium.kind} with SHA-256 {medium.sha256}{where}")
        self._keep(medium.sha256, content)
        if self._size + len(content) > MOST_HELD:
            self._contents.clear()
            self._size = 0
        self._contents[medium.sha256] = content
        self._size += len(content)
        return content

    def close(self) -> None:
        """Close the store, once the rows that refer to contents are kept."""
        if self.store is not None:
            self.store.close()
            self.store = None
            self._stored.clear()

    def keep_shown(self, text: str) -> None:
        """Keep the media whose marks are in a text in the run's store, if there is one. Media that cannot be read are
        skipped: `content` raises the error when they are sent."""
        if self.store is not None:
            for medium in media_in(text):
                if medium.sha256 not in self._stored:
                    with suppress(OSError):
                        self.content(medium)

    def _keep(self, sha256: str, content: bytes) -> None:
        if self.store is not None and sha256 not in self._stored:
            self.store.keep(sha256, content)
            self._stored.add(sha256)
