"""The syntactic context of a cursor, and the words and slots that may follow.

The recovered tree gives the blocks and the statement around the cursor, even if the statement is invalid. The
compiler's lexer gives the tokens of that statement before the cursor.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from tripos.lsp.documents import word_at
from tripos.lsp.session import Outline
from tripos_compiler.constructs.signature import NAME_SLOTS, STRING_SLOTS, Item, Maybe, Slot, Word
from tripos_compiler.constructs.table import FILE, Construct, constructs_in
from tripos_compiler.editing.highlighting import RECORD
from tripos_compiler.source.text import Span
from tripos_compiler.source.tree import Block, Line
from tripos_compiler.syntax.grammar import Token
from tripos_compiler.syntax.lexer import CLOSERS, OPENERS, raw_tokens
from tripos_compiler.syntax.parser import OPERATORS

PAIRS = {"(": ")", "[": "]"}
ROUND = frozenset(OPENERS) - {"_LBRACE"}
JOINING = OPERATORS | {"ARROW", "_DOTS", "_DOT", "_COLON", "_QUESTION", "_LANGLE"}
"""Tokens that join their neighbours into one element of a head."""
SINGLE_TOKENS = ("EQUALS", "ARROW")
"""Tokens that are elements of a head by themselves."""
STRINGS = {"STRING": (1, 1), "UNCLOSED_STRING": (1, 0), "TEXT": (3, 3), "UNCLOSED_TEXT": (3, 0)}
"""String tokens, with the lengths of their opening and closing quotes."""
AGGREGATE_STATEMENTS = ("measure", "expect")
"""Statements whose expressions consist of aggregates."""


@dataclass
class Element:
    """One element of a head. `open` means that it needs a continuation, and `alone` that it is a sign such as `=`."""

    tokens: list[Token] = field(default_factory=list)
    open: bool = False
    alone: bool = False


@dataclass(frozen=True)
class Bracket:
    """An open bracket: the `name` directly before it, the number of completed arguments as `commas`, and the `label` of
    a named argument."""

    sign: str
    start: int
    name: str = ""
    commas: int = 0
    label: str = ""


@dataclass(frozen=True)
class Cursor:
    """The context of an offset in a spec. `word` is the typed beginning of a word, which starts at `start`.

    `place` is the kind of the enclosing block. Inside the head of a statement, `head` is its offset and `before` its
    tokens up to the cursor; `head` is None at the start of a statement. Inside a string, `string` is the offset of its
    text, and inside a placeholder, `hole` is the offset of its content.
    """

    offset: int
    start: int
    word: str
    place: str
    before: tuple[Token, ...] = ()
    head: int | None = None
    string: int | None = None
    hole: int | None = None
    owners: tuple[tuple[Token, ...], ...] = ()
    """The heads of the enclosing statements, outermost first."""
    row: str | None = None
    """The text of the current table row up to the cursor."""

    @property
    def keyword(self) -> str:
        """The first word of the statement."""
        return self.before[0].text if self.before and self.hole is None else ""

    @property
    def brackets(self) -> tuple[Bracket, ...]:
        """The open brackets, outermost first."""
        return _brackets(self.before)

    @property
    def elements(self) -> list[Element]:
        """The elements of the head up to the cursor, outside brackets; the last one may be open."""
        return _elements(self.before, _words_of(candidates(self)))


def cursor_at(outline: Outline, offset: int) -> Cursor:
    """Return the context of an offset.

    >>> from tripos.lsp.session import outline_of
    >>> at = cursor_at(outline_of("x", "scenario s {\\n  ask a by jud"), 27)
    >>> at.place, at.keyword, at.word
    ('scenario', 'ask', 'jud')
    """
    text = outline.source.text
    start = word_at(text, offset)[0]
    within = _enclosing_block(text, outline.block, start)
    tokens = list(_tokens(text, within.begin, start))
    last = tokens[-1] if tokens else None
    cursor = Cursor(offset, start, text[start:offset], within.place, owners=within.owners)
    if "#" in text[last.end if last is not None else within.begin : start].rpartition("\n")[2]:
        return Cursor(offset, start, cursor.word, "comment")
    if not within.heads or not _continues_head(tokens, within):
        return cursor
    *outer, own = _braces(tokens)
    if outer:  # in the braces of a type
        cursor = replace(cursor, place=RECORD, owners=(*within.owners, *outer))
    if not own:
        return cursor
    if own[0].text.startswith("|"):
        return replace(cursor, row=text[own[0].start : start])
    cursor = replace(cursor, head=own[0].start, before=own)
    quotes = STRINGS.get(own[-1].kind)
    return cursor if quotes is None else _in_string(text, cursor, own[-1], *quotes)


@dataclass(frozen=True)
class _EnclosingBlock:
    """The enclosing block. `begin` is the offset of the last statement before the cursor, or of the block; `end` is the
    end of that statement. `heads` says that there is a statement, and `listed` that it takes a list with commas."""

    place: str
    owners: tuple[tuple[Token, ...], ...]
    begin: int
    end: int
    heads: bool = False
    listed: bool = False
    broken: bool = False


def _enclosing_block(text: str, block: Block, start: int) -> _EnclosingBlock:
    place, begin = FILE, 0
    owners: tuple[tuple[Token, ...], ...] = ()
    while True:
        lines = [line for line in block.lines if line.span.start < start]
        if not lines:
            return _EnclosingBlock(place, owners, begin, begin)
        before = [entry for entry in lines[-1].entries if entry.span.start < start]
        entry = before[-1]
        constructs = constructs_in(place).get(_first(text, before[0].span), [])
        listed = any(construct.shape.takes_list for construct in constructs) and not any(
            each.block for each in before[:-1]
        )
        head = before[0].span.start if listed else entry.span.start
        if entry.block is None or not _holds(text, entry.block, start):
            opened = _opened(text, place, lines)
            head = head if opened is None else opened
            return _EnclosingBlock(place, owners, head, entry.span.end, True, listed, entry.broken)
        block, begin = entry.block, entry.block.span.start + 1
        [tokens] = _braces(_tokens(text, head, begin - 1))[:1]
        owners = (*owners, tokens)
        place = _body_of(place, tokens)


def _first(text: str, span: Span) -> str:
    return next(raw_tokens(text[span.start : span.end])).text if span.end > span.start else ""


def _opened(text: str, place: str, lines: Sequence[Line]) -> int | None:
    """Return the offset of an earlier statement with an open bracket, unless the last line begins a statement of its
    own; or None."""
    known, last = constructs_in(place), lines[-1].span
    for line in reversed(lines[:-1]):
        if "" in known or _first(text, last) in known:
            return None
        opened = any(entry.broken for entry in line.entries)
        if opened and _brackets(list(_tokens(text, line.span.start, lines[-1].span.start))):
            return line.span.start
        last = line.span
    return None


def _holds(text: str, block: Block, start: int) -> bool:
    """Return true if an offset is inside a block. An unclosed block ends where the parser closed it."""
    low, high = block.span.start, block.span.end
    if low < start < high:
        return True
    inner = block.lines[-1].span.end if block.lines else low + 1
    return start == high and (inner == high or text[high - 1] not in "}｝")


def _tokens(text: str, begin: int, end: int) -> Iterator[Token]:
    """Yield the tokens that start within a range. The last one may extend beyond it."""
    for token in _placed(text[begin:], begin):
        if token.start >= end:
            return
        yield token


def _placed(text: str, begin: int) -> Iterator[Token]:
    for token in raw_tokens(text):
        yield token._replace(start=token.start + begin, end=token.end + begin)


def _continues_head(tokens: Sequence[Token], within: _EnclosingBlock) -> bool:
    """Return true if the statement's head continues in the tokens after the part that the parser read."""
    last: Token | None = None
    for index, token in enumerate(tokens):
        if token.start >= within.end and token.kind in ("_NL", "_COMMA", "_RBRACE"):
            listed = within.listed and (token.kind == "_COMMA" or (last is not None and last.kind == "_COMMA"))
            meant = within.broken and token.kind == "_NL" and last is not None and last.kind in OPERATORS
            if token.kind == "_RBRACE" or not (listed or meant or _brackets(tokens[:index])):
                return False
        if token.kind != "_NL":
            last = token
    return True


def _braces(tokens: Iterable[Token]) -> list[tuple[Token, ...]]:
    """Return the tokens of a head, and the tokens of the current entry inside each open brace."""
    levels: list[list[Token]] = [[]]
    for token in tokens:
        if token.kind == "_LBRACE":
            levels.append([])
        elif token.kind == "_RBRACE" and len(levels) > 1:
            levels.pop()
            levels[-1].append(token)
        elif len(levels) > 1 and token.kind in ("_NL", "_COMMA") and not _brackets(levels[-1]):
            levels[-1] = []
        elif token.kind != "_NL":
            levels[-1].append(token)
    return [tuple(level) for level in levels]


def _in_string(text: str, cursor: Cursor, string: Token, opening: int, closing: int) -> Cursor:
    """Return the cursor as inside a string or a placeholder, if it is."""
    begin = string.start + opening
    if not begin <= cursor.start <= cursor.offset <= string.end - closing:
        return cursor
    cursor = replace(cursor, string=begin, before=cursor.before[:-1])
    opened = text.rfind("{{", begin, cursor.start)
    if opened < 0 or text.rfind("}}", begin, cursor.start) >= opened:
        return cursor
    hole = opened + 2
    written = text[hole : cursor.start]
    written = written.replace('\\"', ' "') if opening == 1 else written
    before = tuple(token for token in _placed(written, hole) if token.kind != "_NL")
    return replace(cursor, hole=hole, before=before)


def _words_of(constructs: Iterable[Construct]) -> frozenset[str]:
    """Return the words of statements that are operators elsewhere."""
    return frozenset(
        word for construct in constructs for word in construct.signature.split() if word in ("in", "and", "or")
    )


def _brackets(before: Sequence[Token]) -> tuple[Bracket, ...]:
    brackets: list[Bracket] = []
    last: Token | None = None
    for token in before:
        if token.kind in ROUND:
            named = token.kind in ("_CALL", "_INDEX") and last is not None and last.kind == "NAME"
            brackets.append(Bracket(token.text, token.start, last.text if last is not None and named else ""))
        elif brackets and token.kind in CLOSERS and PAIRS[brackets[-1].sign] == token.text:
            brackets.pop()
        elif brackets and token.kind == "_COMMA":
            brackets[-1] = replace(brackets[-1], commas=brackets[-1].commas + 1, label="")
        elif brackets and token.kind == "_COLON" and last is not None:
            brackets[-1] = replace(brackets[-1], label=last.text)
        last = token
    return tuple(brackets)


def _elements(before: Sequence[Token], words: frozenset[str]) -> list[Element]:
    """Split the tokens of a head into elements. A new one begins between two tokens that nothing joins."""
    elements: list[Element] = []
    depth = generics = 0
    last: Token | None = None
    for token in before:
        if token.kind == "_COMMA" and depth == 0:
            last = None
            continue
        closes_type = token.kind == "GT" and generics > 0
        joins = token.kind in JOINING and token.text not in words
        alone = (token.kind in SINGLE_TOKENS and depth == 0) or (token.kind == "_RBRACE" and not generics)
        touching = token.kind in ("_CALL", "_INDEX")
        new = not elements or last is None or elements[-1].alone or alone
        if new or not (depth or elements[-1].open or (joins and token.kind != "NOT") or touching):
            elements.append(Element(alone=alone))
        element = elements[-1]
        element.tokens.append(token)
        generics += (token.kind == "_LANGLE") - closes_type
        depth += (token.kind in ROUND) - (token.kind in CLOSERS)
        needs = joins and token.kind != "_QUESTION" and not closes_type
        element.open = depth > 0 or (needs and not alone)
        last = token
    return elements


# Expected words and slots


def candidates(cursor: Cursor) -> list[Construct]:
    """Return the constructs that the statement at the cursor may be."""
    return _candidates(cursor.place, cursor.keyword)


def _candidates(place: str, keyword: str) -> list[Construct]:
    table = constructs_in(place)
    return table.get(keyword) or table.get("", [])


def _body_of(place: str, head: Sequence[Token]) -> str:
    """Return the kind of block that a statement opens, by the signature that fits its head."""
    constructs = _candidates(place, head[0].text if head else "")
    opening = [construct for construct in constructs if construct.shape.block != "none"]
    elements = _elements(head, _words_of(constructs))
    fitting = [construct for construct in opening if any(True for _ in _next(construct.shape.items, elements))]
    chosen = next(iter(fitting or opening[-1:]), None)
    return (chosen.body if chosen is not None else None) or RECORD


def expected_items(cursor: Cursor) -> list[Word | Slot]:
    """Return the words and slots that may follow in a head. Inside an unfinished element, return the slots that it may
    fill.

    >>> from tripos.lsp.session import outline_of
    >>> cursor = cursor_at(outline_of("x", "scenario s {\\n  ask a by "), 24)
    >>> [item.kind for item in expected_items(cursor) if isinstance(item, Slot)]
    ['ROLE']
    """
    elements = cursor.elements
    begun = bool(elements) and elements[-1].open
    found: dict[Word | Slot, None] = {}
    for construct in candidates(cursor):
        items = _next(construct.shape.items, elements[:-1] if begun else elements)
        found.update(dict.fromkeys(item for item in items if item is not None))
    return [item for item in found if isinstance(item, Slot) or not begun]


def _next(items: Sequence[Item], elements: Sequence[Element]) -> Iterator[Word | Slot | None]:
    """Yield the items that may follow the elements under a signature; None if the signature is complete."""
    if not items:
        if not elements:
            yield None
        return
    head, rest = items[0], items[1:]
    match head:
        case Maybe(items=inner):
            yield from _next((*inner, *rest), elements)
            yield from _next(rest, elements)
        case Slot(kind="LABELS") if elements:
            taken = _labels(elements)
            if taken == len(elements) or (not taken and _is_name(elements[0]) and len(elements) == 1):
                yield head
            if taken:
                yield from _next(rest, elements[taken:])
        case Slot(many=True) if elements:
            if _fits(head, elements[0]):
                yield from _next((head, *rest), elements[1:])
                yield from _next(rest, elements[1:])
        case Word() | Slot():
            if not elements:
                yield head
            elif _fits(head, elements[0]):
                yield from _next(rest, elements[1:])


def _labels(elements: Sequence[Element]) -> int:
    """Return the number of leading elements that are strings, with or without a language."""
    index = 0
    while index < len(elements):
        if _is_string(elements[index]):
            index += 1
        elif _is_name(elements[index]) and index + 1 < len(elements) and _is_string(elements[index + 1]):
            index += 2
        else:
            break
    return index


def _fits(item: Word | Slot, element: Element) -> bool:
    first = element.tokens[0]
    if isinstance(item, Word):
        return len(element.tokens) == 1 and first.text in item.texts
    if item.kind in NAME_SLOTS:
        return _is_name(element)
    if item.kind in STRING_SLOTS:
        return _is_string(element)
    if item.kind in ("COUNT", "NUMBER"):
        return first.kind == "NUMBER"
    return not element.alone


def _is_name(element: Element) -> bool:
    first = element.tokens[0]
    return len(element.tokens) == 1 and not _is_string(element) and first.kind != "NUMBER" and not element.alone


def _is_string(element: Element) -> bool:
    return element.tokens[0].kind in STRINGS
