"""Text to tokens. Never raises on any input."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tripos_compiler.diagnostics import Diagnostics
from tripos_compiler.source import Segment, Span
from tripos_compiler.syntax.automaton import Token
from tripos_compiler.syntax.grammar_tables import tables

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
    """The tokens of a text as the grammar has them, those for characters that fit nothing included."""
    words = tables().words
    for found in tables().pattern.finditer(text):
        kind = found.lastgroup
        if kind is not None:
            word = found[kind]
            yield Token(words.get(word, kind) if kind == "NAME" else kind, word, found.start(kind), found.end())


def lex(segment: Segment, text: str, diagnostics: Diagnostics) -> list[Token]:
    """The tokens of a segment, whose text that is. What fits nothing is reported, and read as what was likely meant."""
    tokens: list[Token] = []
    for token in raw_tokens(text):
        match token.kind:
            case "UNKNOWN":
                tokens.extend(_unknown(segment, text, token, diagnostics))
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
    return tokens


def _unknown(segment: Segment, text: str, token: Token, diagnostics: Diagnostics) -> Iterator[Token]:
    found, start = token.text, token.start
    char = found if found.isprintable() else f"U+{ord(found):04X}"
    help_ = "remove it, or put it inside a string"
    if found in ENDINGS:
        help_ = "remove it: a statement ends with its line"
    if found in LOOKALIKES:
        help_ = f"write `{LOOKALIKES[found][0]}`"
    message = f"the character `{char}` means nothing here"
    diagnostics.error("E0104", message, Span(segment, start, token.end), help=help_)
    if found in LOOKALIKES:
        sign, kind = LOOKALIKES[found]
        touching = start > 0 and (text[start - 1].isalnum() or text[start - 1] in "_)]")
        yield token._replace(kind="_CALL" if kind == "_LPAR" and touching else kind, text=sign)
    elif found not in ENDINGS:
        yield token  # the parser takes the statement as broken


def end_of_unclosed(text: str) -> int:
    """Where a string that is never closed was likely meant to end: before the brackets that end the line.

    >>> end_of_unclosed('"by hand) }  # a remark')
    8
    """
    text = re.split(r"\s#\s", text)[0]
    holes = [hole.end() for hole in re.finditer(r"\{\{.*?\}\}", text)]
    tail = re.search(r"[\s)\]}]*$", text)
    return max(1, tail.start() if tail is not None else len(text), *holes)


def closers_after(text: str, end: int) -> Iterator[tuple[int, str]]:
    """The closing brackets that follow the likely end of a string that is never closed, with their places in it."""
    for place, char in enumerate(text[end:].partition("#")[0], end):
        if char in CLOSING:
            yield place, char
