"""Text to tokens: lexing, and which line breaks end a statement. Never raises on any input."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files

from lark import Lark, Token

from tripos_compiler.constructs.table import FILE, places_of
from tripos_compiler.diagnostics import Diagnostics, Label
from tripos_compiler.source import Source, Span

OPENERS = {"_LPAR": "_RPAR", "_CALL": "_RPAR", "_LSQB": "_RSQB", "_INDEX": "_RSQB", "_LBRACE": "_RBRACE"}
CLOSING = {")": "_RPAR", "]": "_RSQB", "}": "_RBRACE"}
CLOSERS = frozenset(OPENERS.values())
NO_LINE_BREAK_AFTER = frozenset({"_NL", "_LBRACE", "_COMMA"})


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


class KeepUnused:
    """Keeps the terminals that no rule names: they catch what is not a token, so that lexing never raises."""

    always_accept = ("UNKNOWN", "UNCLOSED_STRING", "UNCLOSED_TEXT")

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        """The tokens as they are."""
        return stream


@cache
def grammar() -> Lark:
    """The parser's tables, built once a process."""
    text = files("tripos_compiler.syntax").joinpath("grammar.lark").read_text("utf-8")
    return Lark(
        text,
        parser="lalr",
        lexer="basic",
        postlex=KeepUnused(),
        start=["file", "hole"],
        propagate_positions=True,
        maybe_placeholders=False,
    )


def lex(source: Source, diagnostics: Diagnostics) -> list[Token]:
    """The tokens of a file, without the line breaks that end nothing."""
    tokens: list[Token] = []
    for token in grammar().lex(source.text):
        start = token.start_pos or 0
        span = Span(source, start, start + len(token))
        match token.type:
            case "UNKNOWN":
                char = str(token) if token.isprintable() else f"U+{ord(token):04X}"
                message = f"the character `{char}` means nothing here"
                help_ = "remove it, or put it inside a string"
                if token in ENDINGS:
                    help_ = "remove it: a statement ends with its line"
                if token in LOOKALIKES:
                    help_ = f"write `{LOOKALIKES[token][0]}`"
                diagnostics.error("E0104", message, span, help=help_)
                if token in LOOKALIKES:
                    sign, kind = LOOKALIKES[token]
                    touching = start > 0 and (source.text[start - 1].isalnum() or source.text[start - 1] in "_)]")
                    kind = "_CALL" if kind == "_LPAR" and touching else kind
                    tokens.append(Token.new_borrow_pos(kind, sign, token))
                elif token not in ENDINGS:
                    tokens.append(token)  # the parser takes the statement as broken
            case "UNCLOSED_STRING":
                help_ = 'close it with `"`; for more than one line use `"""`'
                diagnostics.error("E0102", "this string is not closed on its line", span, help=help_)
                end = _end_of_unclosed(str(token))
                tokens.append(Token.new_borrow_pos("STRING", token[:end] + '"', token))
                for place, char in enumerate(token[end:].partition("#")[0], start + end):
                    if char in CLOSING:
                        tokens.append(Token(CLOSING[char], char, start_pos=place, end_pos=place + 1))
            case "UNCLOSED_TEXT":
                opening = Span(source, start, start + 3)
                diagnostics.error("E0102", 'this `"""` is never closed', opening, help='close it with `"""`')
                tokens.append(Token.new_borrow_pos("TEXT", token + '"""', token))
            case _:
                tokens.append(token)
    return _line_breaks(source, tokens, diagnostics)


def _end_of_unclosed(text: str) -> int:
    """Where a string that is never closed was likely meant to end: before the brackets that end the line."""
    text = re.split(r"\s#\s", text)[0]
    holes = [hole.end() for hole in re.finditer(r"\{\{.*?\}\}", text)]
    tail = re.search(r"[\s)\]}]*$", text)
    return max(1, tail.start() if tail is not None else len(text), *holes)


def _line_breaks(source: Source, tokens: list[Token], diagnostics: Diagnostics) -> list[Token]:
    """Reports brackets that do not pair, and drops line breaks inside round and square ones and where no
    statement ends."""
    unclosed, stray, closed_before = _pair_brackets(tokens, by_layout=False)
    if any(tokens[index].type == "_LBRACE" for index in unclosed):
        unclosed, stray, closed_before = _pair_brackets(tokens, by_layout=True)
    for index in sorted(unclosed | stray):
        token = tokens[index]
        start = token.start_pos or 0
        span = Span(source, start, start + len(token))
        if index in stray:
            diagnostics.error("E0103", f"this `{token}` closes nothing", span, help="remove it, or open it before")
        else:
            close = {"(": ")", "[": "]", "{": "}"}[str(token)]
            diagnostics.error("E0103", f"this `{token}` is never closed", Label(span), help=f"close it with `{close}`")
    kept: list[Token] = []
    depth: list[bool] = []  # for every open bracket: does it swallow line breaks?
    for index, token in enumerate(tokens):
        for _ in range(closed_before.get(index, 0)):
            if kept and kept[-1].type in ("_NL", "_COMMA"):
                kept.pop()
            depth.pop()
            place = (token.start_pos or 0) - 1
            kept.append(Token("_RBRACE", "}", start_pos=place, end_pos=place))
            kept.append(Token("_NL", "\n", start_pos=place, end_pos=place))
        if index in stray:
            continue
        if token.type == "_LBRACE" or (token.type in OPENERS and index not in unclosed):
            depth.append(token.type != "_LBRACE")
        elif token.type in CLOSERS:
            depth.pop()
        if token.type == "_NL" and ((depth and depth[-1]) or not kept or kept[-1].type in NO_LINE_BREAK_AFTER):
            continue
        if token.type == "_RBRACE" and kept and kept[-1].type in ("_NL", "_COMMA"):
            kept.pop()
        kept.append(token)
    while kept and kept[-1].type == "_NL":
        kept.pop()
    open_braces = sum(1 for index in unclosed if tokens[index].type == "_LBRACE") - sum(closed_before.values())
    end = Token("_RBRACE", "}", start_pos=len(source.text), end_pos=len(source.text))
    return kept + [end] * open_braces


def _pair_brackets(tokens: list[Token], *, by_layout: bool) -> tuple[set[int], set[int], dict[int, int]]:
    """The indexes of brackets that are never closed, and of closers that close nothing. A brace closes the round
    and square brackets still open inside it, since those are the likelier slip; so does a new block. By layout, a
    declaration at the very left closes every brace that is still open: how many, before which token, comes third."""
    unclosed: set[int] = set()
    stray: set[int] = set()
    closed_before: dict[int, int] = {}
    stack: list[int] = []
    for index, token in enumerate(tokens):
        if by_layout and stack and _declares(tokens, index):
            closed_before[index] = sum(1 for open_ in stack if tokens[open_].type == "_LBRACE")
            unclosed.update(stack)
            stack.clear()
        if token.type == "_LBRACE":
            generic = index > 0 and tokens[index - 1].type == "_LANGLE"
            while stack and not generic and tokens[stack[-1]].type != "_LBRACE":
                unclosed.add(stack.pop())
            stack.append(index)
        elif token.type in OPENERS:
            stack.append(index)
        elif token.type in CLOSERS:
            while stack and token.type == "_RBRACE" and tokens[stack[-1]].type != "_LBRACE":
                unclosed.add(stack.pop())
            if stack and OPENERS[tokens[stack[-1]].type] == token.type:
                stack.pop()
            else:
                stray.add(index)
    unclosed.update(stack)
    return unclosed, stray, closed_before


def _declares(tokens: list[Token], index: int) -> bool:
    """Whether a token is the first of a line, not indented, and begins what stands only at the top of a file."""
    before, token = tokens[index - 1], tokens[index]
    first = index > 0 and before.type == "_NL" and token.start_pos == before.end_pos
    return first and token.type == "NAME" and places_of(str(token)) == [FILE]
