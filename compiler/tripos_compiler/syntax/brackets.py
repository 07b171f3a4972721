"""Which brackets pair, and which line breaks end a statement."""

from __future__ import annotations

from enum import Enum

from tripos_compiler.diagnostics import Diagnostics
from tripos_compiler.source import Segment, Span
from tripos_compiler.syntax.automaton import Token

OPENERS = {"_LPAR": "_RPAR", "_CALL": "_RPAR", "_LSQB": "_RSQB", "_INDEX": "_RSQB", "_LBRACE": "_RBRACE"}
CLOSERS = frozenset(OPENERS.values())
NO_LINE_BREAK_AFTER = frozenset({"_NL", "_LBRACE", "_COMMA"})


class Ending(Enum):
    """What ends a piece of a file: the end of the file; the line break that it ends in; or, where its braces are not
    all closed, that line break and a declaration after it at the very left, which closes them."""

    FILE = 1
    LINE = 2
    DECLARATION = 3


def line_breaks(
    segment: Segment, tokens: list[Token], length: int, ending: Ending, diagnostics: Diagnostics
) -> tuple[list[Token], frozenset[int]]:
    """Reports the brackets of a piece of that length that do not pair, closes its braces, and drops the line breaks
    inside round and square brackets and those where no statement ends. Also the places of the brackets that stay
    open."""
    unclosed, stray = _pair_brackets(tokens)
    for index in sorted(unclosed | stray):
        token = tokens[index]
        span = Span(segment, token.start, token.start + len(token.text))
        if index in stray:
            message, help_ = f"this `{token.text}` closes nothing", "remove it, or open it before"
        else:
            close = {"(": ")", "[": "]", "{": "}"}[token.text]
            message, help_ = f"this `{token.text}` is never closed", f"close it with `{close}`"
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
    """The indexes of brackets that are never closed, and of closers that close nothing. A brace closes the round
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
