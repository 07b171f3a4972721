"""Text to tokens: lexing, and which line breaks end a statement. Never raises on any input."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.resources import files

from lark import Lark, Token

from tripos_compiler.diagnostics import Diagnostics, Label
from tripos_compiler.source import Source, Span

OPENERS = {"_LPAR": "_RPAR", "_CALL": "_RPAR", "_LSQB": "_RSQB", "_INDEX": "_RSQB", "_LBRACE": "_RBRACE"}
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
                tokens.append(Token.new_borrow_pos("STRING", token + '"', token))
            case "UNCLOSED_TEXT":
                opening = Span(source, start, start + 3)
                diagnostics.error("E0102", 'this `"""` is never closed', opening, help='close it with `"""`')
                tokens.append(Token.new_borrow_pos("TEXT", token + '"""', token))
            case _:
                tokens.append(token)
    return _line_breaks(source, tokens, diagnostics)


def _line_breaks(source: Source, tokens: list[Token], diagnostics: Diagnostics) -> list[Token]:
    """Reports brackets that do not pair, and drops line breaks inside round and square ones and where no
    statement ends."""
    unclosed, stray = _pair_brackets(tokens)
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
    open_braces = sum(1 for index in unclosed if tokens[index].type == "_LBRACE")
    end = Token("_RBRACE", "}", start_pos=len(source.text), end_pos=len(source.text))
    return kept + [end] * open_braces


def _pair_brackets(tokens: list[Token]) -> tuple[set[int], set[int]]:
    """The indexes of brackets that are never closed, and of closers that close nothing. A brace closes the round
    and square brackets still open inside it, since those are the likelier slip; so does a new block."""
    unclosed: set[int] = set()
    stray: set[int] = set()
    stack: list[int] = []
    for index, token in enumerate(tokens):
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
    return unclosed, stray
