"""Pieces of a file that are parsed by themselves, and the memory of earlier parses.

A piece is a statement at the top of a file with its block; more than one where they share a line, or where a line goes
on on the next. Nothing of what a piece is read as depends on the text around it, but for what is in its `Ending`. The
scan passes over strings, comments and table rows as the lexer does, pairs brackets as `lexer.py` does, and where in
doubt cuts less: two pieces in one are still read rightly.

What is kept and given again are the `Line`s of a piece, with everything below them. An editor's next version of a file
is parsed with the same memory: where the text of a piece is the same, wherever it stands now, its `Entry` objects are
the *same objects*, and so `entry is earlier_entry` says that a statement is unchanged to the letter. Later phases may
key what they made of a statement on that (by `id` while they hold the entry, not by value: an entry compares and
hashes by all that is in it, slowly).

Spans of a kept piece tell where its text is now, in the `Source` that was parsed last; so do diagnostics, and all else
that holds spans. A tree is therefore right until the next parse of its file with the same memory.
"""

from __future__ import annotations

import re
from dataclasses import field
from functools import cache
from re import Pattern
from typing import NamedTuple

from tripos_compiler.constructs import CONSTRUCTS, FILE, places_of
from tripos_compiler.diagnostics import Diagnostics
from tripos_compiler.source import Line, Segment, Source, dataclass
from tripos_compiler.syntax.grammar_tables import tables
from tripos_compiler.syntax.lexer import ENDINGS, LOOKALIKES, Ending, closers_after, end_of_unclosed

PAIRS = {"(": ")", "[": "]", "{": "}"}
SPACES = " \t\r\f\u3000\ufeff"
STRINGS = ("TEXT", "STRING", "TABLE_ROW", "UNCLOSED_TEXT", "UNCLOSED_STRING", "COMMENT")
"""The tokens in which brackets and line breaks are no such thing."""
GOES_ON = re.compile(r"(?:[,，、=＝+\-*/<>]|(?:^|[\W\d])(?:and|or|not|in))$")
"""How a line ends that may go on on the next, where nothing but spaces follows."""
WORD = re.compile(r"\w*")


class Piece(NamedTuple):
    """A stretch of a file. One that ends with its line includes the line break."""

    start: int
    end: int
    ending: Ending


def split_pieces(text: str) -> list[Piece]:
    """Return the pieces of a file, in order; between them are only spaces, comments and empty lines.

    >>> text = 'role a # first\\n\\nscenario s {\\n}\\n'
    >>> [text[piece.start : piece.end] for piece in split_pieces(text)]
    ['role a # first\\n', 'scenario s {\\n}\\n']
    """
    scan = _Scan(text, by_layout=False)
    if "{" in scan.open:  # a declaration at the very left closes what is open, in the whole file
        scan = _Scan(text, by_layout=True)
    if scan.found:
        scan.found[-1] = scan.found[-1]._replace(ending=Ending.FILE)
    return scan.found


@cache
def _patterns() -> tuple[Pattern[str], Pattern[str]]:
    """Return what matters at the top of a file, and what in a block: only what may end it, with all before it."""
    grammar = tables()
    strings = "|".join(f"(?P<{name}>{expression})" for name, expression in grammar.terminals if name in STRINGS)
    alike = {sign: "".join(char for char, (meant, _) in LOOKALIKES.items() if meant == sign) for sign in "()[]{}"}
    openers, closers = (re.escape("".join(sign + alike[sign] for sign in signs)) for signs in ("([{", ")]}"))
    passed = re.escape(SPACES + "".join(sorted(ENDINGS)))
    langle = dict(grammar.terminals)["_LANGLE"]
    brackets = rf"(?P<generic>(?:{langle})[{passed}]*[{{{alike['{']}])|(?P<opener>[{openers}])|(?P<closer>[{closers}])"
    other = rf'[^"|#<{openers}{closers}'
    return (
        re.compile(rf"{strings}|{brackets}|(?P<line>\n)|(?P<plain>{other}\n]+)|(?P<other>.)"),
        re.compile(rf"{other}]*+(?:{strings}|{brackets}|(?P<other>.)|\Z)"),
    )


@cache
def _only_at_the_top() -> frozenset[str]:
    """Return the words with which begins what stands only at the top of a file."""
    return frozenset(each.starts_with for each in CONSTRUCTS if places_of(each.starts_with) == [FILE])


class _Scan:
    """One pass over a text: the pieces found, where all but those that a declaration ends are said to end with their
    line. `open` are the brackets that are open, in the end those that are never closed."""

    def __init__(self, text: str, *, by_layout: bool) -> None:
        self.text = text
        self.by_layout = by_layout
        self.found: list[Piece] = []
        self.open: list[str] = []
        self.start: int | None = None
        """Where the piece begins; None before its first token."""
        self.over: int | None = None
        """Where the piece ends, if nothing but comments follows on its last line; None where it goes on."""
        self.solid = False
        """Whether it has more in it than what is passed over."""
        self.goes_on = False
        """Whether its last token may be followed by a line that belongs to it."""
        self._pass()
        if self.start is not None:
            self.found.append(Piece(self.start, self.over or len(text), Ending.LINE))

    def _pass(self) -> None:
        top, block = _patterns()
        place, length = 0, len(self.text)
        while place < length:
            found = (block if self.open and not self.by_layout else top).match(self.text, place)
            assert found is not None
            place = found.end()
            match found.lastgroup:
                case "COMMENT" | None:
                    pass
                case "line":
                    self._line(place)
                case "plain":
                    self._plain(found[0], found.start())
                case "closer":
                    self._closer(_meant(found["closer"]), found.start("closer"))
                case kind:
                    self._token(found.start(kind), goes_on=found[kind] == "<")
                    self._bracket(kind, found[kind])

    def _plain(self, run: str, start: int) -> None:
        """Names, numbers and signs."""
        run, spaces = run.rstrip(SPACES), len(run) - len(run.lstrip(SPACES))
        solid = run.rstrip(SPACES + "".join(ENDINGS))
        if solid:
            self._token(start + spaces, goes_on=GOES_ON.search(solid) is not None)
        elif run:
            self._pass_over(start + spaces)

    def _pass_over(self, start: int) -> None:
        """A reported stretch without a token is part of the piece before it, so that the last has tokens."""
        self.start = start if self.start is None else self.start
        self.over = None

    def _token(self, start: int, *, goes_on: bool) -> None:
        if self.over is not None and self.start is not None:
            self.found.append(Piece(self.start, self.over, Ending.LINE))
            self.start = self.over = None
        self.start = start if self.start is None else self.start
        self.solid = True
        self.goes_on = goes_on

    def _line(self, end: int) -> None:
        if self.by_layout and self.open and _word_at(self.text, end) in _only_at_the_top():
            if "{" in self.open and self.start is not None:
                self.found.append(Piece(self.start, end, Ending.DECLARATION))
                self.start = None
                self.solid = self.goes_on = False
            self.open.clear()
        if self.solid and self.over is None and not self.open and not self.goes_on:
            self.over = end

    def _closer(self, sign: str, start: int) -> None:
        opened = len(self.open)
        if self._close(sign):
            self._token(start, goes_on=False)
            return
        self._pass_over(start)
        if len(self.open) < opened:  # what came last in a block, or in brackets, was not looked at
            self.goes_on = True

    def _bracket(self, kind: str, text: str) -> None:
        if kind in ("opener", "generic"):
            sign = _meant(text[-1])
            if sign == "{" and kind == "opener":
                self._close_round()
            self.open.append(sign)
        elif kind == "UNCLOSED_STRING":
            for _, char in closers_after(text, end_of_unclosed(text)):
                self._close(char)

    def _close(self, sign: str) -> bool:
        """Return true if a closing bracket closes anything."""
        if sign == "}":
            self._close_round()
        if self.open and PAIRS[self.open[-1]] == sign:
            self.open.pop()
            return True
        return False

    def _close_round(self) -> None:
        while self.open and self.open[-1] != "{":
            self.open.pop()


def _word_at(text: str, place: int) -> str:
    found = WORD.match(text, place)
    return found[0] if found is not None else ""


def _meant(char: str) -> str:
    return LOOKALIKES[char][0] if char in LOOKALIKES else char


KEPT_PARSES = 8
"""For how many parses of a file a piece is kept that does not occur in it: a slip is often undone at once."""


@dataclass
class Parsed:
    """A parsed piece, with its diagnostics. `slipped` and `ending` are what it was read after and before; they tell on
    nothing but what is reported. `parse` is the last parse of the file that it was part of."""

    segment: Segment
    ending: Ending
    slipped: bool
    lines: tuple[Line, ...]
    diagnostics: Diagnostics
    parse: int = 0

    def fits(self, piece: Piece, slipped: bool) -> bool:
        """Return true if it would be read the same there: wherever it stands, if nothing at all is wrong in it. After a
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
        """Return what a piece of that text was read as, now in its new place; None where that is not known. A piece is
        given once a parse, so that of two that are equal each has its own."""
        file = self._files.setdefault(source.path, _File())
        for parsed in file.pieces.get(text, ()):
            if parsed.parse <= file.parses and parsed.fits(piece, slipped):
                parsed.parse = file.parses + 1
                parsed.segment.source, parsed.segment.start = source, piece.start
                return parsed
        return None

    def keep(self, source: Source, text: str, parsed: Parsed) -> None:
        """Keep what a piece was read as."""
        file = self._files.setdefault(source.path, _File())
        parsed.parse = file.parses + 1
        file.pieces.setdefault(text, []).append(parsed)

    def forget(self, source: Source) -> None:
        """End a parse of a file: what has not occurred in it for long is dropped."""
        file = self._files.setdefault(source.path, _File())
        file.parses += 1
        oldest = file.parses - KEPT_PARSES
        file.pieces = {
            text: kept
            for text, pieces in file.pieces.items()
            if (kept := [parsed for parsed in pieces if parsed.parse > oldest])
        }
