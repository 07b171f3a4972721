"""What can be named at a place: the scope that the compiler had there, or would have if a name stood there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tripos.language_server.cursor import CLOSERS, Cursor, Token
from tripos.language_server.session import View
from tripos_compiler.compile import Compilation
from tripos_compiler.plan import ChoiceType, Type
from tripos_compiler.scope import Binding

STAND_IN = "a_name_that_is_typed"
"""Stands where something is missing, so that the statement is one and the compiler says what is in scope."""


def scope_at(view: View, cursor: Cursor) -> Mapping[str, Binding]:
    """The bindings that an expression can name there; empty where no expression can stand. A step that comes later is
    not among them.

    Results of the view's benchmarks may be of another text afterwards.
    """
    for compilation in view.compilations:
        found = _recorded(compilation, view.path, cursor.start, cursor.offset)
        if found is not None:
            return found
    text = _completed(view.text, cursor)
    for each in view.checked:
        found = _recorded(each.benchmark.supposing(view.path, text), view.path, cursor.start, cursor.start)
        if found is not None:
            return found
    return {}


def _recorded(compilation: Compilation, path: str, start: int, end: int) -> Mapping[str, Binding] | None:
    found = [
        (span, scope)
        for span, scope in compilation.index.scopes
        if span.source.path == path and span.start <= start and end <= span.end
    ]
    if not found:
        return None
    _, scope = min(found, key=lambda pair: pair[0].high - pair[0].low)
    return {name: binding for name, binding in scope.items() if not _is_later(binding, path, start)}


def _is_later(binding: Binding, path: str, offset: int) -> bool:
    span = binding.span
    return span is not None and span.source.path == path and span.start > offset and len(binding.path) == 1


def _completed(text: str, cursor: Cursor) -> str:
    """The text with a name at the cursor, and what is open before it closed."""
    rest = text[cursor.offset :]
    closers = ""
    for bracket in reversed(cursor.brackets):
        sign = next(closer for closer, opener in CLOSERS.items() if opener == bracket.sign)
        if not rest.lstrip().startswith(sign):
            closers += sign
    if cursor.hole is not None:
        line = rest.split('"')[0]
        closers += "" if "}}" in line.split("{{")[0] else " }}"
    return text[: cursor.start] + STAND_IN + closers + rest


def chain_before(tokens: Sequence[Token]) -> list[str]:
    """The names of `a.b.` that a list of tokens ends with, without the last dot; empty where it ends with none.

    >>> from tripos.language_server.cursor import cursor_at
    >>> chain_before(cursor_at("measure m = mean(a.b.", 21).before)
    ['a', 'b']
    """
    names: list[str] = []
    index = len(tokens) - 1
    while index >= 1 and tokens[index].text == "." and _is_name(tokens[index - 1]):
        names.insert(0, tokens[index - 1].text)
        index -= 2
    return names


def name_ending(tokens: Sequence[Token]) -> list[str]:
    """The dotted name that a list of tokens ends with."""
    if not tokens or not _is_name(tokens[-1]):
        return []
    return [*chain_before(tokens[:-1]), tokens[-1].text]


def _is_name(token: Token) -> bool:
    return token.text[:1].isalpha() or token.text[:1] == "_"


def find_binding(scope: Mapping[str, Binding], names: Sequence[str]) -> Binding | None:
    """What a dotted name means."""
    found: Binding | None = None
    for name in names:
        found = (scope if found is None else fields_of(found)).get(name)
        if found is None:
            return None
    return found


def fields_of(binding: Binding) -> Mapping[str, Binding]:
    """What stands behind the dot of a name."""
    record = binding.type
    if binding.fields or record is None or record.kind != "record":
        return binding.fields
    return {name: Binding((*binding.path, name), of) for name, of in record.fields.items()}


def choice_of(type_: Type | None) -> ChoiceType | None:
    """The choice that a type is, or that may be missing, or that a list or set holds."""
    while type_ is not None and type_.kind in ("optional", "list", "set"):
        type_ = type_.of
    return type_ if type_ is not None and type_.kind == "choice" else None
