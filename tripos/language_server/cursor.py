"""Where in a spec a place is, told from the text alone, which need not be well formed: in what kind of block, after
which words of a statement, inside which brackets, in a text or in one of its placeholders."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

from pygments.lexer import ExtendedRegexLexer, LexerContext
from pygments.token import Comment, Keyword, Operator, String, Text, Whitespace, _TokenType, is_token_subtype

from tripos_compiler.constructs.table import FILE
from tripos_compiler.highlighting import AT_THE_TOP, TriposLexer

WORD = re.compile(r"\w*\Z")
OPENERS = ("(", "[")
CLOSERS = {")": "(", "]": "["}
ALONE = ("=", "->")
"""Signs that are elements of a head by themselves."""
STRINGS = ("string", "text")


class Token(NamedTuple):
    """A coloured stretch. `stack` is what the lexer was in when it met it."""

    start: int
    type: _TokenType
    text: str
    stack: tuple[str, ...]

    @property
    def end(self) -> int:
        """Where it ends."""
        return self.start + len(self.text)

    def of(self, kind: _TokenType) -> bool:
        """Whether it is of a kind."""
        return is_token_subtype(self.type, kind)


class _Lexer(ExtendedRegexLexer):
    """The lexer of the highlighter, which tells where it is. A word that stands only at the top of a file ends every
    block that was never closed, and the statement that the block belongs to as well."""

    flags = TriposLexer.flags
    tokens: ClassVar[dict[str, list[Any]]] = {
        state: [(AT_THE_TOP, Text, "#pop"), *rules] if state.startswith("head ") else rules
        for state, rules in TriposLexer.tokens.items()
    }


_LEXER = _Lexer()


def tokens(text: str) -> Iterator[Token]:
    """The tokens of a text with the states of the lexer; a last, empty one stands for the end."""
    context = LexerContext(text, 0)
    for start, kind, found in _LEXER.get_tokens_unprocessed(context=context):
        yield Token(start, kind, found, tuple(context.stack))
    yield Token(len(text), Whitespace, "", tuple(context.stack))


@dataclass
class Element:
    """One element of a head, as far as its tokens tell: `open` where it needs something after it, `alone` where it is
    a sign such as `=`."""

    tokens: list[Token] = field(default_factory=list)
    open: bool = False
    alone: bool = False


@dataclass(frozen=True)
class Bracket:
    """An open bracket: `name` is what stands right before it, `commas` how many parted what follows it so far, `label`
    the name before a colon that the current argument is given by."""

    sign: str
    start: int
    name: str = ""
    commas: int = 0
    label: str = ""


@dataclass(frozen=True)
class Cursor:
    """A place in a spec. `word` is the beginning of a word that was typed there, `start` where it begins.

    `place` is the kind of block that it is in. In the head of a statement, which begins at `head`, `before` are the
    tokens up to here; `head` is None where a statement may begin. In a string `string` is where that begins; `hole` is
    where the placeholder that it is in begins, if it is in one.
    """

    offset: int
    start: int
    word: str
    place: str
    before: tuple[Token, ...] = ()
    head: int | None = None
    string: int | None = None
    hole: int | None = None
    owners: tuple[Token, ...] = ()
    """The first words of the statements whose blocks it is in, the outermost first."""

    @property
    def keyword(self) -> str:
        """The first word of the statement."""
        return self.before[0].text if self.before and self.hole is None else ""

    @property
    def brackets(self) -> tuple[Bracket, ...]:
        """The brackets that are open here, the outermost first."""
        return _brackets(self.before)

    @property
    def elements(self) -> list[Element]:
        """The elements of the head up to here, outside of brackets; the last may be open."""
        return _elements(self.before)


def cursor_at(text: str, offset: int) -> Cursor:
    """The place of an offset.

    >>> at = cursor_at("scenario s {\\n  ask a by jud", 27)
    >>> at.place, at.keyword, at.word
    ('scenario', 'ask', 'jud')
    """
    found = WORD.search(text, 0, offset)
    start = found.start() if found is not None else offset
    before: list[Token] = []
    heads: dict[int, Token] = {}
    after: Token | None = None
    for token in tokens(text):
        if token.start >= start:
            after = token
            break
        if token.stack[-1] == "root" or token.stack[-1].startswith("body "):
            depth = _depth(token.stack)
            heads = {level: head for level, head in heads.items() if level < depth}
            if _is_word(token):
                heads[depth] = token
        before.append(token)
    assert after is not None
    last = before[-1] if before else None
    if last is not None and last.end > start:
        after = last  # inside of a token
    place = _place(after.stack)
    depth = _depth(after.stack)
    within = _string(before, after, start)
    at_head = heads.get(depth) if _in_head(after.stack) or within is not None else None
    inside = tuple(heads[level] for level in sorted(heads) if level < depth)
    word, offset_ = text[start:offset], offset
    if within is not None:
        opened = text.rfind("{{", within, start)
        hole = opened + 2 if opened >= 0 and text.rfind("}}", within, start) < opened else None
        own = _hole_tokens(text[hole:start], hole) if hole is not None else _of(before, at_head, within)
        return Cursor(offset_, start, word, place, own, at_head.start if at_head else None, within, hole, owners=inside)
    if last is not None and last.of(Comment) and last.end >= start and "\n" not in text[last.start : offset]:
        return Cursor(offset_, start, word, "comment")
    if at_head is None:
        return Cursor(offset_, start, word, place, owners=inside)
    return Cursor(offset_, start, word, place, _of(before, at_head, start), at_head.start, owners=inside)


def _depth(stack: tuple[str, ...]) -> int:
    return sum(state.startswith("body ") for state in stack)


def _place(stack: tuple[str, ...]) -> str:
    for state in reversed(stack):
        if state.startswith("body "):
            return state.removeprefix("body ")
    return FILE


def _in_head(stack: tuple[str, ...]) -> bool:
    return any(state.startswith(("head ", "brackets ")) for state in stack[_last_body(stack) :])


def _last_body(stack: tuple[str, ...]) -> int:
    return max((index for index, state in enumerate(stack) if state.startswith("body ")), default=0)


def _of(before: list[Token], head: Token | None, end: int) -> tuple[Token, ...]:
    """The tokens of a head, without the space and the comments between them; of a string how it begins."""
    if head is None:
        return ()
    return tuple(
        token
        for token in before
        if head.start <= token.start < end
        and token.text
        and not token.of(Whitespace)
        and not token.of(Comment)
        and not any(state in STRINGS for state in token.stack)
    )


def _hole_tokens(text: str, start: int) -> tuple[Token, ...]:
    found = (token._replace(start=token.start + start) for token in tokens("let x = " + text))
    shift = len("let x = ")
    kept = [token._replace(start=token.start - shift) for token in found if token.start >= start + shift]
    return tuple(token for token in kept if token.text and not token.of(Whitespace))


def _string(before: list[Token], after: Token, start: int) -> int | None:
    """Where the string begins that a place is in; None where it is in none."""
    last = before[-1] if before else None
    if last is None:
        return None
    states = [state for state in last.stack if state in STRINGS]
    if not states:
        opens = last.of(String) and last.text in ('"', '"""')
        return last.end if opens and last.end <= start else None
    closing = '"""' if states[-1] == "text" else '"'
    if last.of(String) and last.text == closing and last.stack[-1] in STRINGS and len(states) == 1:
        return None
    for token in reversed(before):
        if not any(state in STRINGS for state in token.stack):
            return token.end
    return None


def _brackets(before: tuple[Token, ...]) -> tuple[Bracket, ...]:
    found: list[Bracket] = []
    last: Token | None = None
    for token in before:
        if token.text in OPENERS:
            touching = last is not None and last.end == token.start and _is_word(last)
            found.append(Bracket(token.text, token.start, last.text if last is not None and touching else ""))
        elif found and token.text in CLOSERS and found[-1].sign == CLOSERS[token.text]:
            found.pop()
        elif found and token.text == ",":
            found[-1] = replace(found[-1], commas=found[-1].commas + 1, label="")
        elif found and token.text == ":" and last is not None:
            found[-1] = replace(found[-1], label=last.text)
        last = token
    return tuple(found)


def _elements(before: tuple[Token, ...]) -> list[Element]:
    """Parts a head where two things stand side by side with nothing that joins them."""
    found: list[Element] = []
    depth = generics = 0
    last: Token | None = None
    for token in before:
        sign = token.text
        if sign == "," and depth == 0:
            last = None
            continue
        closes_type = sign == ">" and generics > 0
        joining = (token.of(Operator) or sign in (".", ":")) and sign != "not"
        alone = sign in ALONE and depth == 0
        touching = sign in OPENERS and last is not None and last.end == token.start
        new = not found or last is None or found[-1].alone or alone
        if new or not (depth or found[-1].open or joining or touching):
            found.append(Element(alone=alone))
        element = found[-1]
        element.tokens.append(token)
        generics += (sign == "<" and last is not None and last.of(Keyword.Type)) - closes_type
        depth += (sign in OPENERS) - (sign in CLOSERS)
        needs = (token.of(Operator) or sign in (".", ":")) and sign != "?" and not closes_type
        element.open = depth > 0 or (needs and not alone)
        last = token
    return found


def _is_word(token: Token) -> bool:
    return token.text[-1:].isalnum() or token.text[-1:] == "_"
