"""Images, recordings and files as values: a mark that names one by its content, and the marks in a text.

A row holds the mark and not the content. A prompt prints it where the image is to stand, so what is kept of a request
is text, and a request with another image has another digest. What else is printed cannot pass for a mark: `unmarked`
takes the bracket from it.
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
"""Gives the mark of what a cell of a data file names or holds. Raises `UnfitMedium`."""


class UnfitMedium(Exception):
    """A cell is no image, recording or file that can be shown. `help` says how to mend it."""

    def __init__(self, message: str, help: str) -> None:
        super().__init__(message)
        self.message = message
        self.help = help


@dataclass(frozen=True)
class Medium:
    """An image, a recording or a file: its type, the SHA-256 of its content and its size; of an image its width and
    height in pixels, of a recording its length in seconds.

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
        """Return which type of a spec it has."""
        return "image" if self.mime.startswith("image/") else "audio" if self.mime.startswith("audio/") else "file"

    @classmethod
    def read(cls, mark: str) -> Medium | None:
        """Return what a mark names; None where a text is no mark."""
        found = MARK.fullmatch(mark)
        return None if found is None else cls._of(found)

    @classmethod
    def _of(cls, found: re.Match[str]) -> Medium:
        width, height, seconds = found["width"], found["height"], found["seconds"]
        return cls(
            found["mime"],
            found["sha256"],
            int(found["size"]),
            None if width is None else int(width),
            None if height is None else int(height),
            None if seconds is None else float(seconds),
        )


def media_in(text: str) -> Iterator[Medium]:
    """Yield what the marks in a text name, in order.

    >>> mark = str(Medium("image/png", "ab" * 32, 68, width=1, height=2))
    >>> [each.size for each in media_in(f"Look: {mark} and {mark}")], list(media_in("⟦x⟧"))
    ([68, 68], [])
    """
    if OPEN in text:
        for found in MARK.finditer(text):
            yield Medium._of(found)


def split_media(text: str) -> list[str | Medium]:
    """Return the parts of a text: what stands between marks, where anything does, and what the marks name.

    >>> mark = str(Medium("image/png", "ab" * 32, 68, width=1, height=2))
    >>> [each if isinstance(each, str) else each.mime for each in split_media(f"Which?{mark}A or B?")]
    ['Which?', 'image/png', 'A or B?']
    """
    parts: list[str | Medium] = []
    end = 0
    for found in MARK.finditer(text) if OPEN in text else ():
        if found.start() > end:
            parts.append(text[end : found.start()])
        parts.append(Medium._of(found))
        end = found.end()
    return [*parts, text[end:]] if text[end:] or not parts else parts


def without_media(text: str) -> str:
    """Return a text without its marks.

    >>> without_media(f"a{Medium('image/png', 'ab' * 32, 68)}b")
    'ab'
    """
    return MARK.sub("", text) if OPEN in text else text


def unmarked(text: str) -> str:
    """Return a text in which nothing is a mark: a reply or a cell that has the letters of one shows no image.

    >>> unmarked(str(Medium("image/png", "ab" * 32, 68)))[:24], unmarked("⟦x⟧")
    ('[image/png 68 bytes sha2', '⟦x⟧')
    """
    return MARK.sub(lambda found: f"[{found[0][1:-1]}]", text) if OPEN in text else text


def joined_media(pieces: Sequence[str]) -> str:
    """Return pieces one after another, in which only what is a mark in a piece is one: two cells that have a half of a
    mark each show no image.

    >>> mark = str(Medium("image/png", "ab" * 32, 68))
    >>> joined_media(["a", mark]) == "a" + mark, joined_media([mark[:20], mark[20:]])[:12]
    (True, '[image/png 6')
    """
    text = "".join(pieces)
    if OPEN not in text or len(MARK.findall(text)) == sum(len(MARK.findall(each)) for each in pieces):
        return text
    parts = (part for each in pieces for part in split_media(each))
    return "".join(part.replace(OPEN, "[") if isinstance(part, str) else str(part) for part in parts)
