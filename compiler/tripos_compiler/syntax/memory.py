"""What earlier parses of a file came to, so that a change of it costs no more than what it changes.

What is kept and given again are the `Line`s of a piece, with everything below them. An editor's next version of a file
is parsed with the same memory: where the text of a piece is the same, wherever it stands now, its `Entry` objects are
the *same objects*, and so `entry is earlier_entry` says that a statement is unchanged to the letter. Later phases may
key what they made of a statement on that (by `id` while they hold the entry, not by value: an entry compares and
hashes by all that is in it, slowly).

Spans of a kept piece tell where its text is now, in the `Source` that was parsed last; so do diagnostics, and all else
that holds spans. A tree is therefore right until the next parse of its file with the same memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tripos_compiler.diagnostics import Diagnostics
from tripos_compiler.source import Segment, Source
from tripos_compiler.syntax.brackets import Ending
from tripos_compiler.syntax.pieces import Piece
from tripos_compiler.syntax.tree import Line

KEPT_PARSES = 8
"""For how many parses of a file a piece is kept that does not occur in it: a slip is often undone at once."""


@dataclass
class Parsed:
    """What a piece was read as, and what was reported about it. `slipped` and `ending` are what it was read after and
    before; they tell on nothing but what is reported. `parse` is the last parse of the file that it was part of."""

    segment: Segment
    ending: Ending
    slipped: bool
    lines: tuple[Line, ...]
    diagnostics: Diagnostics
    parse: int = 0

    def fits(self, piece: Piece, slipped: bool) -> bool:
        """Whether it would be read the same there: wherever it stands, if nothing at all is wrong in it. After a
        bracket that does not pair, a mistake may not have been reported."""
        sound = not self.diagnostics.items and not self.slipped
        return sound or (self.ending is piece.ending and self.slipped == slipped)


@dataclass
class _File:
    parses: int = 0
    pieces: dict[str, list[Parsed]] = field(default_factory=dict)


class ParseMemory:
    """The pieces of the last versions of some files. For one line of versions each, and for one thread."""

    def __init__(self) -> None:
        self._files: dict[str, _File] = {}

    def recall(self, source: Source, piece: Piece, text: str, slipped: bool) -> Parsed | None:
        """What a piece of that text was read as, now in its new place; None where that is not known. A piece is given
        once a parse, so that of two that are equal each has its own."""
        file = self._files.setdefault(source.path, _File())
        for parsed in file.pieces.get(text, ()):
            if parsed.parse <= file.parses and parsed.fits(piece, slipped):
                parsed.parse = file.parses + 1
                parsed.segment.source, parsed.segment.start = source, piece.start
                return parsed
        return None

    def keep(self, source: Source, text: str, parsed: Parsed) -> None:
        """Keeps what a piece was read as."""
        file = self._files.setdefault(source.path, _File())
        parsed.parse = file.parses + 1
        file.pieces.setdefault(text, []).append(parsed)

    def forget(self, source: Source) -> None:
        """Ends a parse of a file: what has not occurred in it for long is dropped."""
        file = self._files.setdefault(source.path, _File())
        file.parses += 1
        oldest = file.parses - KEPT_PARSES
        file.pieces = {
            text: kept
            for text, pieces in file.pieces.items()
            if (kept := [parsed for parsed in pieces if parsed.parse > oldest])
        }
