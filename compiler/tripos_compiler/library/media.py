"""Images, recordings and files as values: content-addressed marks in texts.

A row contains the mark instead of the content. A prompt prints it at the position of the image, so a stored request is
text, and a request with another image has another digest. Other printed text cannot contain a valid mark: `unmarked`
replaces its bracket.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

from tripos_compiler.source.data_classes import dataclass

MediumKind = Literal["image", "audio", "file"]
OPEN, CLOSE = "⟦", "⟧"
MARK = re.compile(
    OPEN + r"(?P<mime>[a-z]+/[a-z0-9.+-]+)(?: (?P<width>\d+)x(?P<height>\d+))?(?: (?P<seconds>\d+(?:\.\d+)?) s)?"
    r" (?P<size>\d+) bytes sha256:(?P<sha256>[0-9a-f]{64})" + CLOSE
)
FindMedium = Callable[[MediumKind, Any], str]
"""Returns the mark of the medium that a cell of a data file names or contains. Raises `UnfitMedium`."""


class UnfitMedium(Exception):
    """A cell is not a supported image, recording or file. `help` says how to fix it."""

    def __init__(self, message: str, help: str) -> None:
        super().__init__(message)
        self.message = message
        self.help = help


@dataclass(frozen=True)
class Medium:
    """Image, recording or file: its MIME type, the SHA-256 of its content and its size in bytes; width and height in
    pixels of an image, length in seconds of a recording.

    >>> picture = Medium("image/png", "ab" * 32, 68, width=1, height=2)
    >>> str(picture)[:39], picture.kind, Medium.read(str(picture)) == picture
    ('⟦image/png 1x2 68 bytes sha256:abababab', 'image', True)
    """

    mime: str
    sha256: str
    size: int
    width: int | None = None
    height: int | None = None
    seconds: float | None = None

    def __str__(self) -> str:
        shape = f" {self.width}x{self.height}" if self.width is not None else ""
        length = f" {self.seconds:.3f}".rstrip("0").rstrip(".") + " s" if self.seconds is not None else ""
        return f"{OPEN}{self.mime}{shape}{length} {self.size} bytes sha256:{self.sha256}{CLOSE}"

    @property
    def kind(self) -> MediumKind:
        """Return its type in a spec."""
        return "image" if self.mime.startswith("image/") else "audio" if self.mime.startswith("audio/") else "file"

    @classmethod
    def read(cls, mark: str) -> Medium | None:
        """Return the medium of a mark, or None if a text is not a mark."""
        match = MARK.fullmatch(mark)
        return None if match is None else cls._of(match)

    @classmethod
    def _of(cls, match: re.Match[str]) -> Medium:
        width, height, seconds = match["width"], match["height"], match["seconds"]
        return cls(
            match["mime"],
            match["sha256"],
            int(match["size"]),
            None if width is None else int(width),
            None if height is None else int(height),
            None if seconds is None else float(seconds),
        )


def media_in(text: str) -> Iterator[Medium]:
    """Yield the media of the marks in a text, in order.

    >>> mark = str(Medium("image/png", "ab" * 32, 68, width=1, height=2))
    >>> [each.size for each in media_in(f"Look: {mark} and {mark}")], list(media_in("⟦x⟧"))
    ([68, 68], [])
    """
    if OPEN in text:
        for match in MARK.finditer(text):
            yield Medium._of(match)


def split_media(text: str) -> list[str | Medium]:
    """Return the parts of a text: the non-empty texts between marks, and the media of the marks.

    >>> mark = str(Medium("image/png", "ab" * 32, 68, width=1, height=2))
    >>> [each if isinstance(each, str) else each.mime for each in split_media(f"Which?{mark}A or B?")]
    ['Which?', 'image/png', 'A or B?']
    """
    parts: list[str | Medium] = []
    end = 0
    for match in MARK.finditer(text) if OPEN in text else ():
        if match.start() > end:
            parts.append(text[end : match.start()])
        parts.append(Medium._of(match))
        end = match.end()
    return [*parts, text[end:]] if text[end:] or not parts else parts


def without_media(text: str) -> str:
    """Return a text without its marks.

    >>> without_media(f"a{Medium('image/png', 'ab' * 32, 68)}b")
    'ab'
    """
    return MARK.sub("", text) if OPEN in text else text


def unmarked(text: str) -> str:
    """Return a text without valid marks, so that a reply or a cell that imitates one shows no image.

    >>> unmarked(str(Medium("image/png", "ab" * 32, 68)))[:24], unmarked("⟦x⟧")
    ('[image/png 68 bytes sha2', '⟦x⟧')
    """
    return MARK.sub(lambda match: f"[{match[0][1:-1]}]", text) if OPEN in text else text


def joined_media(pieces: Sequence[str]) -> str:
    """Return the concatenation of pieces in which only marks within one piece are valid, so that two halves of a mark
    do not form one.

    >>> mark = str(Medium("image/png", "ab" * 32, 68))
    >>> joined_media(["a", mark]) == "a" + mark, joined_media([mark[:20], mark[20:]])[:12]
    (True, '[image/png 6')
    """
    text = "".join(pieces)
    if OPEN not in text or len(MARK.findall(text)) == sum(len(MARK.findall(piece)) for piece in pieces):
        return text
    parts = (part for piece in pieces for part in split_media(piece))
    return "".join(part.replace(OPEN, "[") if isinstance(part, str) else str(part) for part in parts)
