"""Hover: what stands at a place."""

from __future__ import annotations

from lsprotocol.types import Hover, MarkupContent, MarkupKind, Position

from tripos.language_server.counts import counted
from tripos.language_server.cursor import Cursor, Token, cursor_at, tokens
from tripos.language_server.descriptions import TYPES, code, of_construct, of_name
from tripos.language_server.expected import candidates
from tripos.language_server.navigation import Named, named_at
from tripos.language_server.session import View
from tripos.language_server.symbols import symbol_at, symbols_in, text_of
from tripos.language_server.values import MEASURED
from tripos_compiler.constructs.signature import Statement
from tripos_compiler.constructs.table import constructs_in
from tripos_compiler.index import Index, Symbol

SHOWN = 40
"""So many values or fields are listed."""


def hover(view: View, position: Position) -> Hover | None:
    """What stands at a position: a name with its type and what it is, or a word of the language."""
    offset = view.offset(position)
    token = _token(view.text, offset)
    if token is None:
        return None
    text = _name(view, offset) or _word(view, token)
    if text is None:
        return None
    return Hover(MarkupContent(MarkupKind.Markdown, text), view.range(token.start, token.end))


def _token(text: str, offset: int) -> Token | None:
    """The word at a place."""
    for token in tokens(text):
        if token.start <= offset <= token.end and (token.text[-1:].isalnum() or token.text[-1:] == "_"):
            return token
        if token.start > offset:
            return None
    return None


# --- names ---


def _name(view: View, offset: int) -> str | None:
    for named in named_at(view, offset):
        index = named.checked.compilation.index
        symbol = symbol_at(index, named.declared)
        type_ = index.types.get(named.span, "")
        own = text_of(named.span).rpartition(".")[2].strip('"')
        if own != symbol.name:  # what a step or field has behind its dot
            return f"{code(f'{own}: {type_}' if type_ else own)}\nof {symbol.kind} `{symbol.name}`"
        statement = _statement(view, symbol)
        parts = [code(_heading(symbol, statement, type_)), *_details(view, named, symbol, statement)]
        return "\n\n".join(part for part in parts if part)
    return None


def _statement(view: View, symbol: Symbol) -> Statement | None:
    """The statement that declares a symbol."""
    path = symbol.span.source.path
    return view.session.outline(path).declared_at(symbol.span.start)


def _heading(symbol: Symbol, statement: Statement | None, type_: str) -> str:
    """How it is declared, on a line, and its type where that does not say it."""
    if statement is None or symbol.kind in ("value", "group"):
        shown = type_ or (symbol.detail if symbol.kind in ("parameter", "field") else "")
        return f"{symbol.kind} {symbol.name}" + (f": {shown}" if shown else "")
    head = " ".join(text_of(statement.head).split())
    kind = "" if head.startswith((symbol.kind, statement.construct, "dataset", "score")) else f"{symbol.kind} "
    shown = type_ or (symbol.detail if symbol.kind in ("let", "ask", "retrieve", "field") else "")
    return f"{kind}{head}" + (f"  # {shown}" if shown and shown not in head else "")


def _details(view: View, named: Named, symbol: Symbol, statement: Statement | None) -> list[str]:
    """What else is worth knowing of a symbol, by its kind."""
    index = named.checked.compilation.index
    owner = f"in {symbol.owner.replace(' ', ' `', 1)}`" if symbol.owner else ""
    match symbol.kind:
        case "axis" | "arm":
            return [_values(index, f"{symbol.kind} {symbol.name}")]
        case "value":
            return [symbol.detail, owner]
        case "role":
            kinds = {"compared": "its models are compared", "panel": "each of its models grades everything"}
            return [text for word, text in kinds.items() if statement is not None and statement.has(word)]
        case "scenario":
            plan = named.checked.compilation.plan
            return [counted(plan, symbol.name)] if plan is not None else []
        case "dataset" if statement is not None:
            return [_listed([(text_of(each.head), "") for each in statement.of("field")])]
        case "metric" if statement is not None:
            asks = [text.value for each in statement.of("asks") for _, text in each.labels()]
            return [f"scale {symbol.detail}" if symbol.detail else "", *asks[:1], owner]
        case "field":
            secret = statement is not None and statement.has("secret")
            told = "secret: it never reaches the compared role" if secret else ""
            return [told, _values(index, f"axis {symbol.detail}"), owner]
        case "scorer" | "function" | "tree" | "measure":
            return [f"`{symbol.detail}`" if symbol.detail else "", owner]
    return [owner]


def _values(index: Index, owner: str) -> str:
    return _listed([(each.name, each.detail) for each in symbols_in(index, owner) if each.kind == "value"])


def _listed(rows: list[tuple[str, str]]) -> str:
    lines = [f"- `{name}`{'  ' + detail if detail else ''}" for name, detail in rows[:SHOWN]]
    if len(rows) > SHOWN:
        lines.append(f"- and {len(rows) - SHOWN} more")
    return "\n".join(lines)


# --- words ---


def _word(view: View, token: Token) -> str | None:
    cursor = cursor_at(view.text, token.start)
    if cursor.place == "comment" or (cursor.string is not None and cursor.hole is None):
        return None
    if cursor.hole is None and cursor.head is None:
        return of_construct(constructs_in(cursor.place).get(token.text, [])) or None
    called = view.text[token.end : token.end + 1] == "("
    if called:
        return of_name(token.text, measured=cursor.keyword in MEASURED)
    return _in_head(cursor, token)


def _in_head(cursor: Cursor, token: Token) -> str | None:
    """A further word of a statement, or a type."""
    fitting = [each for each in candidates(cursor) if token.text in each.signature.replace("|", " ").split()]
    bracketed = [each for each in candidates(cursor) if f"[{token.text}" in each.signature]
    if fitting or bracketed:
        return of_construct(dict.fromkeys([*fitting, *bracketed]))
    if token.text in TYPES:
        return f"{code(token.text)}\n{TYPES[token.text]}"
    return None
