"""Text to tokens, the brackets that pair, and the line breaks that end a statement. Never raises on any input."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set as AbstractSet
from enum import Enum

from tripos_compiler.diagnostics import Diagnostics
from tripos_compiler.source import Segment, Span
from tripos_compiler.syntax.automaton import Token
from tripos_compiler.syntax.grammar_tables import tables

OPENERS = {"_LPAR": "_RPAR", "_CALL": "_RPAR", "_LSQB": "_RSQB", "_INDEX": "_RSQB", "_LBRACE": "_RBRACE"}
CLOSERS = frozenset(OPENERS.values())
NO_LINE_BREAK_AFTER = frozenset({"_NL", "_LBRACE", "_COMMA"})


class Ending(Enum):
    """The end of a piece of a file: the end of the file; the line break that it ends in; or, where its braces are not
    all closed, that line break and a declaration after it at the very left, which closes them."""

    FILE = 1
    LINE = 2
    DECLARATION = 3


def line_breaks(
    segment: Segment, tokens: list[Token], length: int, ending: Ending, diagnostics: Diagnostics
) -> tuple[list[Token], frozenset[int]]:
    """Report the brackets of a piece of that length that do not pair, close its braces, and drop the line breaks inside
    round and square brackets and those where no statement ends. Also the places of the brackets that stay open."""
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
    """Return the indexes of brackets that are never closed, and of closers that close nothing. A brace closes the round
    and square brackets still open inside it, since those are the likelier slip; so does a new block."""
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
"""Characters that an input method or an editor puts in for one of ours, with what is meant; they are read as that."""

ENDINGS = frozenset({";", "；", "。"})
"""Characters that end a statement elsewhere; here its line does, and they are passed over."""


def raw_tokens(text: str) -> Iterator[Token]:
    """Yield the tokens of a text as the grammar has them, those for characters that fit nothing included."""
    words = tables().words
    for found in tables().pattern.finditer(text):
        kind = found.lastgroup
        if kind is not None:
            word = found[kind]
            yield Token(words.get(word, kind) if kind == "NAME" else kind, word, found.start(kind), found.end())


def lex(segment: Segment, text: str, diagnostics: Diagnostics) -> list[Token]:
    """Return the tokens of a segment, whose text that is. What fits nothing is reported, and read as what was likely
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
    """Return true if a token is the character before it once more, with nothing but blanks between them."""
    return token.kind == "UNKNOWN" and token.text == before.text and not text[before.end : token.start].strip(" \t")


def _runs(tokens: Sequence[Token], places: AbstractSet[int]) -> Iterator[list[Token]]:
    """The tokens at these places, those of one sign that stand side by side together."""
    run: list[int] = []
    for place in sorted(places):
        if run and (place != run[-1] + 1 or tokens[place].text != tokens[run[-1]].text):
            yield [tokens[each] for each in run]
            run = []
        run.append(place)
    if run:
        yield [tokens[each] for each in run]


def _unknown(segment: Segment, text: str, run: Sequence[Token], diagnostics: Diagnostics) -> Iterator[Token]:
    """Reports a character that fits nothing, however often it stands there in a row."""
    token = run[0]
    found = token.text
    char = found if found.isprintable() else f"U+{ord(found):04X}"
    help_ = "remove it, or put it inside a string"
    if found in ENDINGS:
        help_ = "remove it: a statement ends with its line"
    if found in LOOKALIKES:
        help_ = f"write `{LOOKALIKES[found][0]}`"
    message = f"the character `{char}` means nothing here"
    if len(run) > 1:
        message = f"the character `{char}` means nothing here: it stands {len(run):,} times in a row"
    diagnostics.error("E0104", message, Span(segment, token.start, run[-1].end), help=help_)
    if found in LOOKALIKES:
        sign, kind = LOOKALIKES[found]
        for each in run:
            touching = each.start > 0 and (text[each.start - 1].isalnum() or text[each.start - 1] in "_)]")
            yield each._replace(kind="_CALL" if kind == "_LPAR" and touching else kind, text=sign)
    elif found not in ENDINGS:
        yield token  # the parser takes the statement as broken


def end_of_unclosed(text: str) -> int:
    """Return where a string that is never closed was likely meant to end: before the brackets that end the line.

    >>> end_of_unclosed('"by hand) }  # a remark')
    8
    """
    text = re.split(r"\s#\s", text)[0]
    holes = [hole.end() for hole in re.finditer(r"\{\{.*?\}\}", text)]
    tail = re.search(r"[\s)\]}]*$", text)
    return max(1, tail.start() if tail is not None else len(text), *holes)


def closers_after(text: str, end: int) -> Iterator[tuple[int, str]]:
    """Yield the closing brackets that follow the likely end of a string that is never closed, with their places in
    it."""
    for place, char in enumerate(text[end:].partition("#")[0], end):
        if char in CLOSING:
            yield place, char
