"""Signature help: the parameters of what is called at a place, and the one that is being written."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol.types import (
    MarkupContent,
    MarkupKind,
    ParameterInformation,
    Position,
    SignatureHelp,
    SignatureInformation,
)

from tripos.language_server.cursor import Bracket, cursor_at
from tripos.language_server.descriptions import documentation
from tripos.language_server.names import Names
from tripos.language_server.session import View
from tripos.language_server.values import MEASURED
from tripos_compiler.semantics.aggregates import AGGREGATES
from tripos_compiler.semantics.library import FUNCTIONS

OPENING, CLOSING = "([<{", ")]>}"


def signature_help(view: View, position: Position) -> SignatureHelp | None:
    """The signature of the innermost call around a position that is known."""
    cursor = cursor_at(view.text, view.offset(position))
    for bracket in reversed(cursor.brackets):
        if bracket.sign == "(" and bracket.name:
            found = _signature(view, bracket, measured=cursor.keyword in MEASURED)
            if found is not None:
                label, text = found
                return _help(label, text, bracket)
    return None


def _signature(view: View, bracket: Bracket, *, measured: bool) -> tuple[str, str] | None:
    """How what is called is written, and what it gives."""
    name = bracket.name
    if name in AGGREGATES and (measured or name not in FUNCTIONS):
        return AGGREGATES[name].shown, AGGREGATES[name].summary
    for symbol in Names(view).symbols:
        if symbol.kind in ("scorer", "function") and symbol.name == name and "(" in symbol.detail:
            return symbol.detail, ""
    if name in FUNCTIONS:
        return FUNCTIONS[name].shown, documentation(FUNCTIONS[name])
    return None


def _help(label: str, text: str, bracket: Bracket) -> SignatureHelp:
    parameters = list(parameters_in(label))
    names = [each.partition(":")[0].rstrip("…") for each in parameters]
    active = names.index(bracket.label) if bracket.label in names else bracket.commas
    if parameters and active >= len(parameters) and parameters[-1].partition(":")[0].endswith("…"):
        active = len(parameters) - 1
    signature = SignatureInformation(
        label,
        documentation=MarkupContent(MarkupKind.Markdown, text) if text else None,
        parameters=[ParameterInformation(each) for each in parameters],
        active_parameter=active if active < len(parameters) else None,
    )
    return SignatureHelp([signature], active_signature=0, active_parameter=signature.active_parameter)


def parameters_in(signature: str) -> Iterator[str]:
    """The parameters of a signature as they are written in it.

    >>> list(parameters_in("near(a: list<{ x text, y text }>, b: choice(p, q)) -> number"))
    ['a: list<{ x text, y text }>', 'b: choice(p, q)']
    """
    depth, begin = 0, 0
    for index, char in enumerate(signature):
        if char in CLOSING and signature[index - 1 : index + 1] != "->":
            depth -= 1
            if depth == 0:
                last = signature[begin:index].strip()
                if last:
                    yield last
                return
        elif char in OPENING:
            depth += 1
            begin = index + 1 if depth == 1 else begin
        elif char == "," and depth == 1:
            yield signature[begin:index].strip()
            begin = index + 1
