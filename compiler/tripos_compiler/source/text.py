"""Source files, their comments, spans, and segments that move when text before them changes."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import field
from functools import cached_property

from tripos_compiler.source.data_classes import dataclass

PIECE = re.compile(r'"""[\s\S]*?(?:"""|\Z)|"(?:\\.|[^"\\\n])*"?|#[^\n]*')


@dataclass(frozen=True)
class Comment:
    """Comment from its `#` to the end of the line. `alone` is true if the line has nothing else."""

    span: Span
    text: str
    alone: bool


def find_comments(source: Source) -> list[Comment]:
    """Return every comment in order. A `#` inside a string does not begin one.

    >>> [comment.text for comment in find_comments(Source("x", 'title "a # b" # c'))]
    ['# c']
    """
    comments: list[Comment] = []
    for piece in PIECE.finditer(source.text):
        if not piece[0].startswith("#"):
            continue
        line = source.text.rfind("\n", 0, piece.start()) + 1
        alone = not source.text[line : piece.start()].strip()
        comments.append(Comment(Span(source, *piece.span()), piece[0].rstrip(), alone))
    return comments


@dataclass(frozen=True, eq=False)
class Source:
    """Spec file: its path as the user wrote it, and its text."""

    path: str
    text: str
    segments: list[Segment] = field(default_factory=list, init=False, repr=False)
    """Separately parsed pieces of the file, in order; empty before the file is parsed."""

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    def position(self, offset: int) -> tuple[int, int]:
        """Return line and column of an offset, both counted from 1, columns in code points."""
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def line(self, number: int) -> str:
        """Return the text of a line, counted from 1, without its line break."""
        start = self._line_starts[number - 1]
        end = self.text.find("\n", start)
        return (self.text[start:] if end < 0 else self.text[start:end]).removesuffix("\r")


@dataclass(eq=False, slots=True)
class Segment:
    """Stretch of a source whose identity is kept while the text around it changes.

    Positions in a segment count from its start, which is looked up when needed. A segment is the only mutable object
    here; only an incremental parse moves it.
    """

    source: Source
    start: int
    length: int


@dataclass(frozen=True, eq=False)
class CopiedText:
    """Text of a source that a statement repeats elsewhere: of a scenario that another one is like, of a `for each`.

    Its positions are those of the original, `of`, but its spans differ from those of the original and of other copies,
    since what is written once can mean something else in each. `reason` is the place that made the copy, and `note`
    says so in a message about it.
    """

    of: Source | Segment | CopiedText
    reason: Span = field(repr=False)
    note: str

    @property
    def source(self) -> Source:
        """The current source."""
        return self.of if isinstance(self.of, Source) else self.of.source

    @property
    def start(self) -> int:
        """Start of the original, counted from the start of the source."""
        return 0 if isinstance(self.of, Source) else self.of.start


@dataclass(frozen=True, slots=True)
class Span:
    """Half-open range `start:end` of a source, in code points.

    Create it as `Span(source, start, end)`. A range within one segment is stored relative to that segment. After text
    before it changes, the same span refers to the new position of its text, and equal spans stay equal.
    `Span(segment, start, end)` counts from the start of the segment.

    >>> source = Source("x", "role judge")
    >>> source.segments.append(Segment(source, 0, 10))
    >>> span = Span(source, 5, 10)
    >>> moved = Source("x", "# who grades\\nrole judge")
    >>> span.anchor.source, span.anchor.start = moved, 13
    >>> span.source.text[span.start : span.end]
    'judge'
    """

    anchor: Source | Segment | CopiedText = field(repr=False)
    low: int
    high: int

    def __post_init__(self) -> None:
        if isinstance(self.anchor, Source) and self.anchor.segments:
            segment = _around(self.anchor.segments, self.low, self.high)
            if segment is not None:
                object.__setattr__(self, "anchor", segment)
                object.__setattr__(self, "low", self.low - segment.start)
                object.__setattr__(self, "high", self.high - segment.start)

    @property
    def source(self) -> Source:
        """The current source."""
        return self.anchor if isinstance(self.anchor, Source) else self.anchor.source

    @property
    def start(self) -> int:
        """Start, counted from the start of the source."""
        return self.low if isinstance(self.anchor, Source) else self.anchor.start + self.low

    @property
    def end(self) -> int:
        """End, counted from the start of the source."""
        return self.high if isinstance(self.anchor, Source) else self.anchor.start + self.high

    @property
    def written(self) -> Span:
        """The span in the text that the author wrote; for a copied text that of its original."""
        anchor = self.anchor
        while isinstance(anchor, CopiedText):
            anchor = anchor.of
        return self if anchor is self.anchor else Span(anchor, self.low, self.high)

    @property
    def excerpt(self) -> str:
        """Its text on one line."""
        return " ".join(self.source.text[self.start : self.end].split())

    def to(self, other: Span) -> Span:
        """Return the span from the start of this one to the end of the other."""
        if self.anchor is other.anchor:
            return Span(self.anchor, self.low, max(self.high, other.high))
        return Span(self.source, self.start, max(self.end, other.end))


def _around(segments: Sequence[Segment], start: int, end: int) -> Segment | None:
    """Return the segment that contains a range, or None."""
    index = bisect_right(segments, start, key=_start) - 1
    if index >= 0 and end <= segments[index].start + segments[index].length:
        return segments[index]
    return None


def _start(segment: Segment) -> int:
    return segment.start
