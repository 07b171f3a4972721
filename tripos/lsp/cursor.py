"""The syntactic context of a cursor, and the words and slots that may follow.

The blocks and the statement around the cursor come from the parser's tree, which recovers from errors, so the statement
may be invalid. The tokens of that statement before the cursor come from the compiler's lexer.

The head of a statement is its text before the block. A head consists of elements, such as a keyword, a name or an
expression, and the signature of a construct says which elements it takes.
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
"""Closing brackets by opening bracket, without braces."""
ROUND = frozenset(OPENERS) - {"_LBRACE"}
"""Kinds of tokens that open a bracket other than a brace."""
JOINING = OPERATORS | {"ARROW", "_DOTS", "_DOT", "_COLON", "_QUESTION", "_LANGLE"}
"""Kinds of tokens that join their neighbours into one element of a head."""
SINGLE_TOKENS = ("EQUALS", "ARROW")
"""Kinds of tokens that are elements of a head by themselves."""
STRINGS = {"STRING": (1, 1), "UNCLOSED_STRING": (1, 0), "TEXT": (3, 3), "UNCLOSED_TEXT": (3, 0)}
"""Kinds of string tokens, with the lengths of their opening and closing quotes."""
AGGREGATE_STATEMENTS = ("measure", "expect")
"""Statements whose expressions consist of aggregates."""


@dataclass
class Element:
    """One element of a head. `open` means that it is incomplete, and `alone` that it is a sign such as `=`."""

    tokens: list[Token] = field(default_factory=list)
    open: bool = False
    alone: bool = False


@dataclass(frozen=True)
class Bracket:
    """An open bracket: the `name` directly before it, the number of `commas` in it so far, and the `label` of the
    current argument, if it is a named one."""

    sign: str
    start: int
    name: str = ""
    commas: int = 0
    label: str = ""


@dataclass(frozen=True)
class Cursor:
    """The context of an offset in a spec. `word` is the part of a word before the offset, and `start` where it starts;
    the rest of the context is that of `start`.

    `place` is the kind of the enclosing block, or `comment`. Inside the head of a statement, `head` is the offset of
    the head and `before` its tokens so far; `head` is None if a statement can start here. Inside a string, `string` is
    the offset of its text, and `before` has the tokens before the string. Inside a placeholder, `hole` is the offset of
    its content, and `before` has the tokens of the placeholder.
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
    """The text of the current row of a table, from its first bar; None outside tables."""

    @property
    def keyword(self) -> str:
        """The first word of the statement; empty at its start and inside a placeholder."""
        return self.before[0].text if self.before and self.hole is None else ""

    @property
    def brackets(self) -> tuple[Bracket, ...]:
        """The open brackets, outermost first."""
        return _open_brackets(self.before)

    @property
    def elements(self) -> list[Element]:
        """The elements of the head before the cursor; the last one may be open."""
        return _head_elements(self.before, _operator_words(candidates(self)))


def cursor_at(outline: Outline, offset: int) -> Cursor:
    """Return the context of an offset.

    >>> from tripos.lsp.session import outline_of
    >>> at = cursor_at(outline_of("x", "scenario s {\\n  ask a by jud"), 27)
    >>> at.place, at.keyword, at.word
    ('scenario', 'ask', 'jud')
    """
    text = outline.source.text
    start = word_at(text, offset)[0]
    enclosing = _enclosing_block(text, outline.block, start)
    tokens = list(_tokens(text, enclosing.begin, start))
    last = tokens[-1] if tokens else None
    cursor = Cursor(offset, start, text[start:offset], enclosing.place, owners=enclosing.owners)
    if "#" in text[last.end if last is not None else enclosing.begin : start].rpartition("\n")[2]:
        return Cursor(offset, start, cursor.word, "comment")
    if not enclosing.has_statement or not _continues_head(tokens, enclosing):
        return cursor
    *outer_heads, head = _brace_levels(tokens)
    if outer_heads:  # inside the braces of a record type
        cursor = replace(cursor, place=RECORD, owners=(*enclosing.owners, *outer_heads))
    if not head:
        return cursor
    if head[0].text.startswith("|"):
        return replace(cursor, row=text[head[0].start : start])
    cursor = replace(cursor, head=head[0].start, before=head)
    quotes = STRINGS.get(head[-1].kind)
    return cursor if quotes is None else _in_string(text, cursor, head[-1], *quotes)


@dataclass(frozen=True)
class _EnclosingBlock:
    """The innermost block around an offset, and the last statement before the offset in it.

    `begin` and `end` are those of the statement, as the parser read it; without a statement, both are the beginning of
    the block. A statement that `is_listed` takes a list separated by commas.
    """

    place: str
    owners: tuple[tuple[Token, ...], ...]
    begin: int
    end: int
    has_statement: bool = False
    is_listed: bool = False
    is_broken: bool = False


def _enclosing_block(text: str, block: Block, start: int) -> _EnclosingBlock:
    place, begin = FILE, 0
    owners: tuple[tuple[Token, ...], ...] = ()
    while True:
        lines = [line for line in block.lines if line.span.start < start]
        if not lines:
            return _EnclosingBlock(place, owners, begin, begin)
        before = [entry for entry in lines[-1].entries if entry.span.start < start]
        entry = before[-1]
        constructs = constructs_in(place).get(_first_word(text, before[0].span), [])
        is_listed = any(construct.shape.takes_list for construct in constructs) and not any(
            earlier.block for earlier in before[:-1]
        )
        head = before[0].span.start if is_listed else entry.span.start
        if entry.block is None or not _contains(text, entry.block, start):
            unclosed = _unclosed_statement(text, place, lines)
            begin = head if unclosed is None else unclosed
            return _EnclosingBlock(place, owners, begin, entry.span.end, True, is_listed, entry.broken)
        block, begin = entry.block, entry.block.span.start + 1
        [tokens] = _brace_levels(_tokens(text, head, begin - 1))[:1]
        owners = (*owners, tokens)
        place = _block_kind(place, tokens)


def _first_word(text: str, span: Span) -> str:
    return next(raw_tokens(text[span.start : span.end])).text if span.end > span.start else ""


def _unclosed_statement(text: str, place: str, lines: Sequence[Line]) -> int | None:
    """Return the offset of an earlier statement that the last line continues, since a bracket in it is still open; None
    if there is none. A line that begins with a keyword of the block is a statement of its own."""
    keywords, last = constructs_in(place), lines[-1].span
    for line in reversed(lines[:-1]):
        if "" in keywords or _first_word(text, last) in keywords:
            return None
        is_invalid = any(entry.broken for entry in line.entries)
        if is_invalid and _open_brackets(list(_tokens(text, line.span.start, lines[-1].span.start))):
            return line.span.start
        last = line.span
    return None


def _contains(text: str, block: Block, start: int) -> bool:
    """Return true if an offset is inside a block. The end of a block is inside it if the block has no closing brace."""
    begin, end = block.span.start, block.span.end
    if begin < start < end:
        return True
    end_of_lines = block.lines[-1].span.end if block.lines else begin + 1
    return start == end and (end_of_lines == end or text[end - 1] not in "}｝")


def _tokens(text: str, begin: int, end: int) -> Iterator[Token]:
    """Yield the tokens that start within a range. The last one may end after it."""
    for token in _tokens_at(text[begin:], begin):
        if token.start >= end:
            return
        yield token


def _tokens_at(text: str, begin: int) -> Iterator[Token]:
    """Yield the tokens of a part of a spec that begins at an offset, with their offsets in the spec."""
    for token in raw_tokens(text):
        yield token._replace(start=token.start + begin, end=token.end + begin)


def _continues_head(tokens: Sequence[Token], enclosing: _EnclosingBlock) -> bool:
    """Return true if the cursor is still in the head of the last statement, and not after its end.

    The parser's end of the statement is not its end if a list, an open bracket or an operator is continued after it.
    """
    last: Token | None = None
    for index, token in enumerate(tokens):
        if token.start >= enclosing.end and token.kind in ("_NL", "_COMMA", "_RBRACE"):
            continues_list = enclosing.is_listed and (
                token.kind == "_COMMA" or (last is not None and last.kind == "_COMMA")
            )
            lacks_operand = enclosing.is_broken and token.kind == "_NL" and last is not None and last.kind in OPERATORS
            if token.kind == "_RBRACE" or not (continues_list or lacks_operand or _open_brackets(tokens[:index])):
                return False
        if token.kind != "_NL":
            last = token
    return True


def _brace_levels(tokens: Iterable[Token]) -> list[tuple[Token, ...]]:
    """Return the tokens of a head, and, for each brace that is open at their end, the tokens of the last entry in that
    brace."""
    levels: list[list[Token]] = [[]]
    for token in tokens:
        if token.kind == "_LBRACE":
            levels.append([])
        elif token.kind == "_RBRACE" and len(levels) > 1:
            levels.pop()
            levels[-1].append(token)
        elif len(levels) > 1 and token.kind in ("_NL", "_COMMA") and not _open_brackets(levels[-1]):
            levels[-1] = []
        elif token.kind != "_NL":
            levels[-1].append(token)
    return [tuple(level) for level in levels]


def _in_string(text: str, cursor: Cursor, string: Token, opening: int, closing: int) -> Cursor:
    """Return the cursor with its position inside a string token and its placeholder, if it is inside them. `opening`
    and `closing` are the lengths of the quotes."""
    begin = string.start + opening
    if not begin <= cursor.start <= cursor.offset <= string.end - closing:
        return cursor
    cursor = replace(cursor, string=begin, before=cursor.before[:-1])
    braces = text.rfind("{{", begin, cursor.start)
    if braces < 0 or text.rfind("}}", begin, cursor.start) >= braces:
        return cursor
    hole = braces + 2
    content = text[hole : cursor.start]
    content = content.replace('\\"', ' "') if opening == 1 else content  # escaped quotes, with the same offsets
    before = tuple(token for token in _tokens_at(content, hole) if token.kind != "_NL")
    return replace(cursor, hole=hole, before=before)


def _operator_words(constructs: Iterable[Construct]) -> frozenset[str]:
    """Return the words in the signatures of some constructs that are operators in expressions."""
    return frozenset(
        word for construct in constructs for word in construct.signature.split() if word in ("in", "and", "or")
    )


def _open_brackets(before: Sequence[Token]) -> tuple[Bracket, ...]:
    """Return the brackets other than braces that are open after some tokens, outermost first."""
    brackets: list[Bracket] = []
    last: Token | None = None
    for token in before:
        if token.kind in ROUND:
            has_name = token.kind in ("_CALL", "_INDEX") and last is not None and last.kind == "NAME"
            brackets.append(Bracket(token.text, token.start, last.text if last is not None and has_name else ""))
        elif brackets and token.kind in CLOSERS and PAIRS[brackets[-1].sign] == token.text:
            brackets.pop()
        elif brackets and token.kind == "_COMMA":
            brackets[-1] = replace(brackets[-1], commas=brackets[-1].commas + 1, label="")
        elif brackets and token.kind == "_COLON" and last is not None:
            brackets[-1] = replace(brackets[-1], label=last.text)
        last = token
    return tuple(brackets)


def _head_elements(before: Sequence[Token], words: frozenset[str]) -> list[Element]:
    """Split the tokens of a head into elements. A new element begins between two tokens of which neither joins the
    other, outside brackets. `words` are operators that are keywords in this head and join nothing."""
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
        starts_element = not elements or last is None or elements[-1].alone or alone
        if starts_element or not (depth or elements[-1].open or (joins and token.kind != "NOT") or touching):
            elements.append(Element(alone=alone))
        element = elements[-1]
        element.tokens.append(token)
        generics += (token.kind == "_LANGLE") - closes_type
        depth += (token.kind in ROUND) - (token.kind in CLOSERS)
        needs_operand = joins and token.kind != "_QUESTION" and not closes_type
        element.open = depth > 0 or (needs_operand and not alone)
        last = token
    return elements


# Expected words and slots


def candidates(cursor: Cursor) -> list[Construct]:
    """Return the constructs of which the statement at the cursor may be one, by its first word."""
    return _candidates_in(cursor.place, cursor.keyword)


def _candidates_in(place: str, keyword: str) -> list[Construct]:
    """Return the constructs of a keyword in a kind of block, or else those without a keyword."""
    table = constructs_in(place)
    return table.get(keyword) or table.get("", [])


def _block_kind(place: str, head: Sequence[Token]) -> str:
    """Return the kind of block that a statement opens: that of the first construct whose signature fits the head, or
    else of the last construct with a block."""
    constructs = _candidates_in(place, head[0].text if head else "")
    with_block = [construct for construct in constructs if construct.shape.block != "none"]
    elements = _head_elements(head, _operator_words(constructs))
    fitting = [construct for construct in with_block if any(True for _ in _next_items(construct.shape.items, elements))]
    chosen = next(iter(fitting or with_block[-1:]), None)
    return (chosen.body if chosen is not None else None) or RECORD


def expected_items(cursor: Cursor) -> list[Word | Slot]:
    """Return the words and slots that may follow in the head. If the last element is incomplete, return the slots that
    it may fill.

    >>> from tripos.lsp.session import outline_of
    >>> cursor = cursor_at(outline_of("x", "scenario s {\\n  ask a by "), 24)
    >>> [item.kind for item in expected_items(cursor) if isinstance(item, Slot)]
    ['ROLE']
    """
    elements = cursor.elements
    is_incomplete = bool(elements) and elements[-1].open
    expected: dict[Word | Slot, None] = {}  # an ordered set
    for construct in candidates(cursor):
        items = _next_items(construct.shape.items, elements[:-1] if is_incomplete else elements)
        expected.update(dict.fromkeys(item for item in items if item is not None))
    return [item for item in expected if isinstance(item, Slot) or not is_incomplete]


def _next_items(items: Sequence[Item], elements: Sequence[Element]) -> Iterator[Word | Slot | None]:
    """Match the elements against the items of a signature, in every possible way. Yield the item that follows in each
    match, or None if the elements complete the signature."""
    if not items:
        if not elements:
            yield None
        return
    head, rest = items[0], items[1:]
    match head:
        case Maybe(items=inner):
            yield from _next_items((*inner, *rest), elements)
            yield from _next_items(rest, elements)
        case Slot(kind="LABELS") if elements:
            count = _leading_labels(elements)
            if count == len(elements) or (not count and _is_name(elements[0]) and len(elements) == 1):
                yield head
            if count:
                yield from _next_items(rest, elements[count:])
        case Slot(many=True) if elements:
            if _fits_item(head, elements[0]):
                yield from _next_items((head, *rest), elements[1:])
                yield from _next_items(rest, elements[1:])
        case Word() | Slot():
            if not elements:
                yield head
            elif _fits_item(head, elements[0]):
                yield from _next_items(rest, elements[1:])


def _leading_labels(elements: Sequence[Element]) -> int:
    """Return the number of leading elements that are labels: strings, each with or without a language before it."""
    index = 0
    while index < len(elements):
        if _is_string(elements[index]):
            index += 1
        elif _is_name(elements[index]) and index + 1 < len(elements) and _is_string(elements[index + 1]):
            index += 2
        else:
            break
    return index


def _fits_item(item: Word | Slot, element: Element) -> bool:
    """Return true if an element may stand for a word or slot of a signature."""
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
