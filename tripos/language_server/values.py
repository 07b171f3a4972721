"""What may be typed inside an expression: names, fields, functions, values and the names of arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lsprotocol.types import CompletionItemKind as Kind

from tripos.language_server.cursor import Bracket, Cursor
from tripos.language_server.descriptions import of_aggregate, of_function
from tripos.language_server.names import Names, Proposal
from tripos.language_server.scopes import chain_before, choice_of, fields_of, find_binding, name_ending, scope_at
from tripos.language_server.session import View
from tripos_compiler.plan import ChoiceType
from tripos_compiler.scope import Binding
from tripos_compiler.semantics.aggregates import AGGREGATES
from tripos_compiler.semantics.library import FUNCTIONS, shown

MEASURED = ("measure", "expect")
"""The statements whose expressions are made of aggregates."""
COMPARING = ("==", "!=", "in")


def expression(view: View, cursor: Cursor) -> Iterator[Proposal]:
    """What may be typed at a place in an expression, the likeliest first."""
    names = Names(view)
    measured = cursor.keyword in MEASURED
    bracket = cursor.brackets[-1] if cursor.brackets else None
    if measured and bracket is not None and bracket.sign == "[":
        yield from _slice(names, bracket)
        return
    if measured and not bracket and cursor.place == "file" and not _after_dot(cursor):
        yield from _aggregates(names)
        return
    scope = scope_at(view, cursor)
    if _after_dot(cursor):
        binding = find_binding(scope, chain_before(cursor.before))
        yield from _bindings(fields_of(binding)) if binding is not None else ()
        return
    choice = _compared(cursor, scope)
    if choice is not None:
        yield from _values(names, choice)
    called = bracket if bracket is not None and bracket.name else None
    if called is not None and called.label:
        yield from _words(names, called, measured=measured)
    elif called is not None and not measured:
        yield from _arguments(names, called, measured=False)
    yield from _bindings(scope)
    yield from _aggregates(names) if measured else _functions(names)
    if called is not None and measured and not called.label:
        yield from _arguments(names, called, measured=True)


def _after_dot(cursor: Cursor) -> bool:
    return bool(cursor.before) and cursor.before[-1].text == "." and cursor.before[-1].end == cursor.start


def _bindings(scope: Mapping[str, Binding]) -> Iterator[Proposal]:
    for name, binding in scope.items():
        secret = "secret " if binding.secret else ""
        detail = secret + (shown(binding.type) if binding.type is not None else "")
        yield Proposal(name, Kind.Field if len(binding.path) > 1 else Kind.Variable, detail.strip())


def _functions(names: Names) -> Iterator[Proposal]:
    yield from (_called(each) for each in names.of("function", "scorer"))
    for name, function in FUNCTIONS.items():
        yield Proposal(name, Kind.Function, function.shown, of_function(function), f"{name}($0)")
    yield from (Proposal(word, Kind.Keyword) for word in ("true", "false", "not"))


def _aggregates(names: Names) -> Iterator[Proposal]:
    yield from names.of("score", "compare", "scorer", "metric", "measure")
    for name, function in AGGREGATES.items():
        yield Proposal(name, Kind.Function, function.shown, of_aggregate(function), f"{name}($0)")


def _called(proposal: Proposal) -> Proposal:
    return Proposal(proposal.label, proposal.kind, proposal.detail, snippet=f"{proposal.label}($0)")


def _slice(names: Names, bracket: Bracket) -> Iterator[Proposal]:
    if bracket.label:
        yield from names.values(bracket.label)
    else:
        for each in names.dimensions():
            yield Proposal(each.label, each.kind, each.detail, text=f"{each.label}: ")


def _compared(cursor: Cursor, scope: Mapping[str, Binding]) -> ChoiceType | None:
    """The choice that what is typed is compared with: after `==`, or in the brackets after `in`."""
    tokens = list(cursor.before)
    if cursor.brackets and not cursor.brackets[-1].name:
        while tokens and tokens[-1].start >= cursor.brackets[-1].start:
            tokens.pop()
    if not tokens or tokens[-1].text not in COMPARING:
        return None
    tokens.pop()
    if tokens and tokens[-1].text == "not":
        tokens.pop()
    binding = find_binding(scope, name_ending(tokens))
    return choice_of(binding.type) if binding is not None else None


def _values(names: Names, choice: ChoiceType) -> Iterator[Proposal]:
    labels = {each.label: each.detail for each in names.values(choice.axis)} if choice.axis else {}
    for value in choice.values:
        yield Proposal(value, Kind.EnumMember, labels.get(value, ""))


def _arguments(names: Names, bracket: Bracket, *, measured: bool) -> Iterator[Proposal]:
    """The names that arguments of a call can be given by."""
    for each in names.of("parameter", owner=f"scorer {bracket.name}"):
        yield Proposal(each.label, Kind.Variable, each.detail, text=f"{each.label}: ")
    function, aggregate = FUNCTIONS.get(bracket.name), AGGREGATES.get(bracket.name)
    if aggregate is not None and (measured or function is None):
        for setting in aggregate.parameters:
            if not setting.column:
                yield Proposal(setting.name, Kind.Variable, setting.shown, text=f"{setting.name}: ")
        yield Proposal("missing", Kind.Variable, f"missing: {'|'.join(aggregate.missing)}", text="missing: ")
    elif function is not None:
        for parameter in function.parameters[bracket.commas :]:
            if not parameter.many:
                yield Proposal(parameter.name, Kind.Variable, parameter.shown, text=f"{parameter.name}: ")


def _words(names: Names, bracket: Bracket, *, measured: bool) -> Iterator[Proposal]:
    """The words that a named argument can be."""
    function, aggregate = FUNCTIONS.get(bracket.name), AGGREGATES.get(bracket.name)
    if aggregate is not None and (measured or function is None):
        words = next((each.words for each in aggregate.parameters if each.name == bracket.label), ())
        words = aggregate.missing if bracket.label == "missing" else words
        yield from (Proposal(word, Kind.EnumMember) for word in words)
    elif function is not None:
        parameter = next((each for each in function.parameters if each.name == bracket.label), None)
        choice = choice_of(parameter.type) if parameter is not None else None
        yield from _values(names, choice) if choice is not None else ()
