"""Tokens, bracket pairing, statement ends, and the pieces of a file that are parsed separately.

The lexer never raises. It also warns about deceptive text: bidirectional control characters, and names that look like
other names.

A piece is a top-level statement with its block, or several that share a line or a continued line. The parse of a piece
depends on the surrounding text only through its `Ending`. The scan skips strings, comments and table rows and pairs
brackets like the lexer. In doubt it cuts less: a piece with two statements is still parsed correctly.

`ParseMemory` keeps the `Line`s of each piece with all nodes below. If the next version of a file is parsed with the
same memory and the text of a piece is unchanged, wherever it is now, its `Entry` objects are the same objects. So
`entry is earlier_entry` means that a statement is unchanged, and later phases may cache results by the `id` of an entry
that they hold. Comparing or hashing entries by value is slow.

Spans of a kept piece refer to the `Source` that was parsed last. A tree is therefore valid until the next parse of its
file with the same memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set as AbstractSet
from dataclasses import field
from enum import Enum
from functools import cache
from re import Pattern
from typing import NamedTuple

from tripos_compiler.constructs.table import CONSTRUCTS, FILE, places_of
from tripos_compiler.diagnostics.diagnostic import Diagnostics
from tripos_compiler.diagnostics.habits import notation_for
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.text import Segment, Source, Span
from tripos_compiler.source.tree import Line
from tripos_compiler.syntax.grammar import Token, tables

# Brackets and statement ends

OPENERS = {"_LPAR": "_RPAR", "_CALL": "_RPAR", "_LSQB": "_RSQB", "_INDEX": "_RSQB", "_LBRACE": "_RBRACE"}
CLOSERS = frozenset(OPENERS.values())
NO_LINE_BREAK_AFTER = frozenset({"_NL", "_LBRACE", "_COMMA"})


class Ending(Enum):
    """End of a piece: the end of the file; the line break after it; or, if a brace is not closed, a declaration at the
    left margin, which closes all braces."""

    FILE = 1
    LINE = 2
    DECLARATION = 3


def line_breaks(
    segment: Segment, tokens: list[Token], length: int, ending: Ending, diagnostics: Diagnostics
) -> tuple[list[Token], frozenset[int]]:
    """Report unpaired brackets of a piece, close its braces, and drop line breaks inside round and square brackets and
    those that do not end a statement.

    Returns the remaining tokens and the positions of unclosed brackets. `length` is the length of the piece.
    """
    unclosed, stray = _pair_brackets(tokens)
    for run in _runs(tokens, stray):
        (first, *_, last), sign = (run * 2), run[0].text
        span = Span(segment, first.start, last.start + len(last.text))
        message, help_ = f"this `{sign}` closes nothing", "remove it, or open it before"
        if len(run) > 1:
            message, help_ = f"these {len(run):,} `{sign}` close nothing", "remove them, or open them before"
        diagnostics.error("E0103", message, span, help=help_)
    for run in _runs(tokens, unclosed):
        (first, *_, last), sign = (run * 2), run[0].text
        span = Span(segment, first.start, last.start + len(last.text))
        close = {"(": ")", "[": "]", "{": "}"}[sign]
        message, help_ = f"this `{sign}` is never closed", f"close it with `{close}`"
        if len(run) > 1:
            message, help_ = f"these {len(run):,} `{sign}` are never closed", f"close them with `{close}`"
        diagnostics.error("E0103", message, span, help=help_)
    kept: list[Token] = []
    depth: list[bool] = []  # for every open bracket: does it swallow line breaks?
    for index, token in enumerate(tokens):
        kind = token.kind
        if kind in OPENERS:
            if kind == "_LBRACE" or index not in unclosed:
                depth.append(kind != "_LBRACE")
        elif kind in CLOSERS:
            if index in stray:
                continue
            depth.pop()
            if kind == "_RBRACE" and kept and kept[-1].kind in ("_NL", "_COMMA"):
                kept.pop()
        elif kind == "_NL" and ((depth and depth[-1]) or not kept or kept[-1].kind in NO_LINE_BREAK_AFTER):
            continue
        kept.append(token)
    open_braces = sum(1 for index in unclosed if tokens[index].kind == "_LBRACE")
    if ending is Ending.FILE:
        while kept and kept[-1].kind == "_NL":
            kept.pop()
        kept += [Token("_RBRACE", "}", length, length)] * open_braces
    if ending is Ending.DECLARATION:
        for _ in range(open_braces):
            if kept[-1].kind in ("_NL", "_COMMA"):
                kept.pop()
            kept += [Token("_RBRACE", "}", length - 1, length - 1), Token("_NL", "\n", length - 1, length - 1)]
    return kept, frozenset(tokens[index].start for index in unclosed if tokens[index].kind != "_LBRACE")


def _pair_brackets(tokens: list[Token]) -> tuple[set[int], set[int]]:
    """Return the indexes of unclosed brackets and of unmatched closing brackets. A brace, or a new block, closes the
    round and square brackets that are still open inside, since those are the likelier mistake."""
    unclosed: set[int] = set()
    stray: set[int] = set()
    stack: list[int] = []
    for index, token in enumerate(tokens):
        kind = token.kind
        if kind == "_LBRACE":
            generic = index > 0 and tokens[index - 1].kind == "_LANGLE"
            while stack and not generic and tokens[stack[-1]].kind != "_LBRACE":
                unclosed.add(stack.pop())
            stack.append(index)
        elif kind in OPENERS:
            stack.append(index)
        elif kind in CLOSERS:
            while stack and kind == "_RBRACE" and tokens[stack[-1]].kind != "_LBRACE":
                unclosed.add(stack.pop())
            if stack and OPENERS[tokens[stack[-1]].kind] == kind:
                stack.pop()
            else:
                stray.add(index)
    unclosed.update(stack)
    return unclosed, stray


# Tokens

CLOSING = {")": "_RPAR", "]": "_RSQB", "}": "_RBRACE"}

LOOKALIKES = {
    "，": (",", "_COMMA"),
    "、": (",", "_COMMA"),
    "：": (":", "_COLON"),
    "（": ("(", "_LPAR"),
    "）": (")", "_RPAR"),
    "｛": ("{", "_LBRACE"),
    "｝": ("}", "_RBRACE"),
    "＝": ("=", "EQUALS"),
    "“": ('"', "UNKNOWN"),
    "”": ('"', "UNKNOWN"),
    "‘": ('"', "UNKNOWN"),
    "’": ('"', "UNKNOWN"),
    "'": ('"', "UNKNOWN"),
}
"""Characters that input methods or editors insert for ASCII signs, with the intended sign; they are read as that
sign."""

ENDINGS = frozenset({";", "；", "。"})
"""Statement terminators of other languages; they are skipped, since here the line break ends a statement."""


def raw_tokens(text: str) -> Iterator[Token]:
    """Yield the tokens of a text according to the grammar, including those for unknown characters."""
    words = tables().words
    for match in tables().pattern.finditer(text):
        kind = match.lastgroup
        if kind is not None:
            word = match[kind]
            yield Token(words.get(word, kind) if kind == "NAME" else kind, word, match.start(kind), match.end())


def lex(segment: Segment, text: str, diagnostics: Diagnostics) -> list[Token]:
    """Return the tokens of a segment with the given text. Unknown characters are reported and read as what was probably
    meant."""
    tokens: list[Token] = []
    unknown: list[Token] = []
    for token in raw_tokens(text):
        if unknown and not _goes_on(text, unknown[-1], token):
            tokens.extend(_unknown(segment, text, unknown, diagnostics))
            unknown = []
        match token.kind:
            case "UNKNOWN":
                unknown.append(token)
            case "UNCLOSED_STRING":
                help_ = 'close it with `"`; for more than one line use `"""`'
                span = Span(segment, token.start, token.end)
                diagnostics.error("E0102", "this string is not closed on its line", span, help=help_)
                end = end_of_unclosed(token.text)
                tokens.append(token._replace(kind="STRING", text=token.text[:end] + '"'))
                for place, char in closers_after(token.text, end):
                    tokens.append(Token(CLOSING[char], char, token.start + place, token.start + place + 1))
            case "UNCLOSED_TEXT":
                opening = Span(segment, token.start, token.start + 3)
                diagnostics.error("E0102", 'this `"""` is never closed', opening, help='close it with `"""`')
                tokens.append(token._replace(kind="TEXT", text=token.text + '"""'))
            case _:
                tokens.append(token)
    if unknown:
        tokens.extend(_unknown(segment, text, unknown, diagnostics))
    return tokens


def _goes_on(text: str, before: Token, token: Token) -> bool:
    """Return true if a token repeats the preceding character, with only blanks between them."""
    return token.kind == "UNKNOWN" and token.text == before.text and not text[before.end : token.start].strip(" \t")


def _runs(tokens: Sequence[Token], places: AbstractSet[int]) -> Iterator[list[Token]]:
    """Yield the tokens at these positions; adjacent tokens of the same sign are grouped."""
    run: list[int] = []
    for place in sorted(places):
        if run and (place != run[-1] + 1 or tokens[place].text != tokens[run[-1]].text):
            yield [tokens[index] for index in run]
            run = []
        run.append(place)
    if run:
        yield [tokens[index] for index in run]


def _unknown(segment: Segment, text: str, run: Sequence[Token], diagnostics: Diagnostics) -> Iterator[Token]:
    """Report a run of an unknown character, and yield the tokens that it stands for."""
    token = run[0]
    character = token.text
    shown = character if character.isprintable() else f"U+{ord(character):04X}"
    help_ = "remove it, or put it inside a string"
    if character in ENDINGS:
        help_ = "remove it: a statement ends with its line"
    notation = notation_for("operator", character * len(run)) or notation_for("operator", character)
    if notation is not None:
        help_ = f"here it is written `{notation}`"
    if character in LOOKALIKES:
        help_ = f"write `{LOOKALIKES[character][0]}`"
    message = f"the character `{shown}` means nothing here"
    if len(run) > 1:
        message = f"the character `{shown}` means nothing here: it stands {len(run):,} times in a row"
    diagnostics.error("E0104", message, Span(segment, token.start, run[-1].end), help=help_)
    if character in LOOKALIKES:
        sign, kind = LOOKALIKES[character]
        for token_ in run:
            touching = token_.start > 0 and (text[token_.start - 1].isalnum() or text[token_.start - 1] in "_)]")
            yield token_._replace(kind="_CALL" if kind == "_LPAR" and touching else kind, text=sign)
    elif character not in ENDINGS:
        yield token  # the parser takes the statement as broken


def end_of_unclosed(text: str) -> int:
    """Return the likely end of an unclosed string: before the brackets that end the line.

    >>> end_of_unclosed('"by hand) }  # a remark')
    8
    """
    text = re.split(r"\s#\s", text)[0]
    holes = [hole.end() for hole in re.finditer(r"\{\{.*?\}\}", text)]
    tail = re.search(r"[\s)\]}]*$", text)
    return max(1, tail.start() if tail is not None else len(text), *holes)


def closers_after(text: str, end: int) -> Iterator[tuple[int, str]]:
    """Yield the closing brackets after the likely end of an unclosed string, with their positions."""
    for place, char in enumerate(text[end:].partition("#")[0], end):
        if char in CLOSING:
            yield place, char


# Deceptive text

TURNS = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""Unicode characters that change the direction of the following text."""
LIKE_LATIN = str.maketrans(
    "аеорсухіјѕԁԛԝһАВЕКМНОРСТУХІЈЅοαινρυκΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
    "aeopcyxijsdqwhABEKMHOPCTYXIJSoaivpukABEZHIKMNOPTYX",
)
"""Cyrillic and Greek letters and the Latin letters that look like them."""


def warn_of_deception(source: Source, diagnostics: Diagnostics) -> None:
    """Warn about text that readers of a file mistake for something else."""
    if source.text.isascii():
        return
    line = 0
    for mark in TURNS.finditer(source.text):
        line_of_mark = source.position(mark.start())[0]
        if line_of_mark != line:
            line = line_of_mark
            message = f"the mark U+{ord(mark[0]):04X} shows what follows in another order than it is read"
            span = Span(source, mark.start(), mark.end())
            diagnostics.warning(
                "W0112", message, span, help="remove it; an editor that shows invisible characters has it"
            )
    names: dict[str, str] = {}
    texts: set[str] = set()
    for token in raw_tokens(source.text):
        if token.kind != "NAME" or token.text in texts:
            continue
        name, looks = token.text, token.text.translate(LIKE_LATIN)
        other = names.setdefault(looks, name)
        if other != name:
            message = f"`{name}` looks like `{other}`, and is another name: it has letters of another script"
        elif looks != name and looks.isascii() and any(letter.isascii() and letter.isalpha() for letter in name):
            message = f"`{name}` has letters of two scripts that look alike"
        else:
            continue
        texts.add(name)
        diagnostics.warning("W0113", message, Span(source, token.start, token.end), help=f"write `{looks}`")


# Pieces of a file

PAIRS = {"(": ")", "[": "]", "{": "}"}
SPACES = " \t\r\f\u3000\ufeff"
STRINGS = ("TEXT", "STRING", "TABLE_ROW", "UNCLOSED_TEXT", "UNCLOSED_STRING", "COMMENT")
"""Tokens in which brackets and line breaks have no meaning."""
GOES_ON = re.compile(r"(?:[,，、=＝+\-*/<>]|(?:^|[\W\d])(?:and|or|not|in))$")
"""End of a line that may continue on the next one."""
WORD = re.compile(r"\w*")


class Piece(NamedTuple):
    """Range of a file. If it ends with its line, the line break is included."""

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
    if scan.pieces:
        scan.pieces[-1] = scan.pieces[-1]._replace(ending=Ending.FILE)
    return scan.pieces


@cache
def _patterns() -> tuple[Pattern[str], Pattern[str]]:
    """Return the patterns for the top of a file and for a block; the latter matches only what may end it, with all text
    before."""
    grammar = tables()
    strings = "|".join(f"(?P<{name}>{expression})" for name, expression in grammar.terminals if name in STRINGS)
    alike = {sign: "".join(char for char, (text, _) in LOOKALIKES.items() if text == sign) for sign in "()[]{}"}
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
    """Return the first words of statements that are allowed only at the top of a file."""
    return frozenset(construct.starts_with for construct in CONSTRUCTS if places_of(construct.starts_with) == [FILE])


class _Scan:
    """Single pass over a text that collects its pieces. Each piece is assumed to end with its line unless a declaration
    ends it. `open` are the open brackets, at the end the unclosed ones."""

    def __init__(self, text: str, *, by_layout: bool) -> None:
        self.text = text
        self.by_layout = by_layout
        self.pieces: list[Piece] = []
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
            self.pieces.append(Piece(self.start, self.over or len(text), Ending.LINE))

    def _pass(self) -> None:
        top, block = _patterns()
        place, length = 0, len(self.text)
        while place < length:
            match = (block if self.open and not self.by_layout else top).match(self.text, place)
            assert match is not None
            place = match.end()
            match match.lastgroup:
                case "COMMENT" | None:
                    pass
                case "line":
                    self._line(place)
                case "plain":
                    self._plain(match[0], match.start())
                case "closer":
                    self._closer(_meant(match["closer"]), match.start("closer"))
                case kind:
                    self._token(match.start(kind), goes_on=match[kind] == "<")
                    self._bracket(kind, match[kind])

    def _plain(self, run: str, start: int) -> None:
        """Scan names, numbers and signs."""
        run, spaces = run.rstrip(SPACES), len(run) - len(run.lstrip(SPACES))
        solid = run.rstrip(SPACES + "".join(ENDINGS))
        if solid:
            self._token(start + spaces, goes_on=GOES_ON.search(solid) is not None)
        elif run:
            self._pass_over(start + spaces)

    def _pass_over(self, start: int) -> None:
        """Skip a stretch without tokens. It becomes a part of the preceding piece, so that every piece has tokens."""
        self.start = start if self.start is None else self.start
        self.over = None

    def _token(self, start: int, *, goes_on: bool) -> None:
        if self.over is not None and self.start is not None:
            self.pieces.append(Piece(self.start, self.over, Ending.LINE))
            self.start = self.over = None
        self.start = start if self.start is None else self.start
        self.solid = True
        self.goes_on = goes_on

    def _line(self, end: int) -> None:
        if self.by_layout and self.open and _word_at(self.text, end) in _only_at_the_top():
            if "{" in self.open and self.start is not None:
                self.pieces.append(Piece(self.start, end, Ending.DECLARATION))
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
        """Return true if a closing bracket matches an open one."""
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
    match = WORD.match(text, place)
    return match[0] if match is not None else ""


def _meant(char: str) -> str:
    return LOOKALIKES[char][0] if char in LOOKALIKES else char


# Cache of parsed pieces

KEPT_PARSES = 8
"""Number of parses for which an absent piece is kept, since an edit is often undone at once."""


@dataclass
class Parsed:
    """Parsed piece with its diagnostics. `slipped` and `ending` are the conditions before and after it, which affect
    only the reports. `parse` is the number of the last parse of the file that contained it."""

    segment: Segment
    ending: Ending
    slipped: bool
    lines: tuple[Line, ...]
    diagnostics: Diagnostics
    parse: int = 0

    def fits(self, piece: Piece, slipped: bool) -> bool:
        """Return true if parsing it at another place would give the same result. That is so for a piece without errors.
        After an unpaired bracket an error may not have been reported."""
        sound = not self.diagnostics.items and not self.slipped
        return sound or (self.ending is piece.ending and self.slipped == slipped)


@dataclass
class _File:
    parses: int = 0
    pieces: dict[str, list[Parsed]] = field(default_factory=dict)


class ParseMemory:
    """Cache of the pieces of the last versions of some files, for one history of each file and for one thread."""

    def __init__(self) -> None:
        self._files: dict[str, _File] = {}

    def recall(self, source: Source, piece: Piece, text: str, slipped: bool) -> Parsed | None:
        """Return the cached parse of a piece, moved to its new place, or None. A cached parse is used once in a parse,
        so that equal pieces have distinct objects."""
        file = self._files.setdefault(source.path, _File())
        for parsed in file.pieces.get(text, ()):
            if parsed.parse <= file.parses and parsed.fits(piece, slipped):
                parsed.parse = file.parses + 1
                parsed.segment.source, parsed.segment.start = source, piece.start
                return parsed
        return None

    def keep(self, source: Source, text: str, parsed: Parsed) -> None:
        """Add the parse of a piece."""
        file = self._files.setdefault(source.path, _File())
        parsed.parse = file.parses + 1
        file.pieces.setdefault(text, []).append(parsed)

    def forget(self, source: Source) -> None:
        """End a parse of a file and drop the pieces that have not occurred for `KEPT_PARSES` parses."""
        file = self._files.setdefault(source.path, _File())
        file.parses += 1
        oldest = file.parses - KEPT_PARSES
        file.pieces = {
            text: parseds
            for text, pieces in file.pieces.items()
            if (parseds := [parsed for parsed in pieces if parsed.parse > oldest])
        }
