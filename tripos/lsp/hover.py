"""Hover texts, signature help and code lenses."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator

from lsprotocol.types import (
    CodeLens,
    Command,
    Hover,
    MarkupContent,
    MarkupKind,
    ParameterInformation,
    Position,
    SignatureHelp,
    SignatureInformation,
)

from tripos.lsp.cursor import AGGREGATE_STATEMENTS, Bracket, Cursor, candidates, cursor_at
from tripos.lsp.documents import word_at
from tripos.lsp.names import SpecNames
from tripos.lsp.session import View, name_of, text_of
from tripos.lsp.symbols import NameAtCursor, named_at, symbol_at, symbols_in
from tripos_compiler.constructs.signature import Statement
from tripos_compiler.constructs.table import Construct, constructs_in
from tripos_compiler.language.aggregates import AGGREGATES, AggregateFunction
from tripos_compiler.language.intervals import INTERVAL_ENDS, end_signature
from tripos_compiler.library.function import Function
from tripos_compiler.library.registry import FUNCTIONS
from tripos_compiler.plan import CallCount, Plan
from tripos_compiler.resolve.program import Index, Symbol

TYPES = {
    "text": "any text",
    "integer": "a whole number; a range such as `1..5` is one between its ends",
    "number": "a number",
    "bool": "`true` or `false`",
    "dialogue": "turns, each with a speaker and a text",
    "image": "a picture that a model is shown: a path beside the data file, or the bytes in a column of Parquet",
    "audio": "a recording that a model hears, given as an image is",
    "file": "a PDF that a model reads, given as an image is",
    "path": "a way from the root of a tree to one of its leaves",
    "json": "any value of JSON",
    "tools": "functions that a model may call, each with its parameters as JSON Schema",
    "calls": "calls that are right, each with the values that an argument may have",
    "choice": "one of several names: `choice(yes, no)`",
    "list": "any number of values of one type: `list<text>`",
    "set": "different values of one type: `set<text>`",
}
OPENING, CLOSING = "([<{", ")]>}"
MOST_LISTED = 40
"""Maximum values or fields in a list."""


def code_block(text: str) -> str:
    """Return a code block of a spec."""
    return f"```tripos\n{text}\n```"


def of_construct(constructs: Iterable[Construct]) -> str:
    """Return the signatures and summaries of constructs that share their first word."""
    return "\n\n".join(f"{code_block(construct.shape.shown)}\n{construct.summary}" for construct in constructs)


def of_function(function: Function) -> str:
    """Return the signature and documentation of a function."""
    return f"{code_block(function.shown)}\n{documentation(function)}"


def documentation(function: Function) -> str:
    """Return the documentation of a function, with its examples as code blocks."""
    lines: list[str] = []
    inside = False
    for line in (inspect.getdoc(function.python) or "").split("\n"):
        starts = line.startswith(">>>")
        if starts and not inside:
            lines.append("```python")
        elif inside and not line:
            lines.append("```")
        inside = starts or (inside and bool(line))
        lines.append(line)
    return "\n".join([*lines, "```"] if inside else lines)


def of_aggregate(function: AggregateFunction) -> str:
    """Return the signature of an aggregate, its summary, and the source of its formula."""
    source = f"\n\n{function.source}" if function.source else ""
    across = " across ROLE" if function.needs_across else ""
    return f"{code_block(function.shown + across)}\n{function.summary}{source}"


def of_name(name: str, *, measured: bool) -> str | None:
    """Return the description of a function or aggregate, or None. Inside a measure, aggregates come first."""
    if measured and name in AGGREGATES:
        return of_aggregate(AGGREGATES[name])
    if name in FUNCTIONS:
        return of_function(FUNCTIONS[name])
    return of_aggregate(AGGREGATES[name]) if name in AGGREGATES else None


def interval_end(cursor: Cursor, name: str, inside: int = 0) -> tuple[str, str] | None:
    """Return the signature and summary of an interval end with this name, if `expect` accepts it here. `inside` is the
    number of enclosing calls, including its own."""
    calls = sum(bracket.name != "" for bracket in cursor.brackets)
    found = next((each for each in INTERVAL_ENDS.items() if each[0] == name), None)
    if found is None or cursor.keyword != "expect" or calls != inside:
        return None
    return end_signature(found[0]), found[1]


def signature_help(view: View, position: Position) -> SignatureHelp | None:
    """Return the signature of the innermost known call around a position."""
    cursor = cursor_at(view.outline, view.offset(position))
    for bracket in reversed(cursor.brackets):
        if bracket.sign == "(" and bracket.name:
            end = interval_end(cursor, bracket.name, inside=1)
            found = end or _signature(view, bracket, measured=cursor.keyword in AGGREGATE_STATEMENTS)
            if found is not None:
                label, text = found
                return _signature_help(label, text, bracket)
    return None


def _signature(view: View, bracket: Bracket, *, measured: bool) -> tuple[str, str] | None:
    """Return the signature and the summary of a called name."""
    name = bracket.name
    if name in AGGREGATES and (measured or name not in FUNCTIONS):
        return AGGREGATES[name].shown, AGGREGATES[name].summary
    for symbol in SpecNames(view).symbols:
        if symbol.kind in ("scorer", "function", "aggregate") and symbol.name == name and "(" in symbol.detail:
            return symbol.detail, ""
    if name in FUNCTIONS:
        return FUNCTIONS[name].shown, documentation(FUNCTIONS[name])
    return None


def _signature_help(label: str, text: str, bracket: Bracket) -> SignatureHelp:
    parameters = list(parameters_in(label))
    names = [parameter.partition(":")[0].rstrip("…") for parameter in parameters]
    active = names.index(bracket.label) if bracket.label in names else bracket.commas
    if parameters and active >= len(parameters) and parameters[-1].partition(":")[0].endswith("…"):
        active = len(parameters) - 1
    signature = SignatureInformation(
        label,
        documentation=MarkupContent(MarkupKind.Markdown, text) if text else None,
        parameters=[ParameterInformation(parameter) for parameter in parameters],
        active_parameter=active if active < len(parameters) else None,
    )
    return SignatureHelp([signature], active_signature=0, active_parameter=signature.active_parameter)


def parameters_in(signature: str) -> Iterator[str]:
    """Yield the parameters of a signature as text.

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


def call_counts(plan: Plan, scenario: str) -> str:
    """Return the numbers of contexts and items of a scenario, and of its calls with one model in each role."""
    found = next((each for each in plan.scenarios if each.name == scenario), None)
    if found is None:
        return ""
    parts = [_number(found.cells, "context"), _number(found.row_count, "item")]
    calls = [call for call in plan.calls if call.scenario == scenario]
    for role in dict.fromkeys(call.role for call in calls):
        parts.append(f"{role}: {_span([call for call in calls if call.role == role])}")
    return " · ".join(parts)


def _span(calls: list[CallCount]) -> str:
    least, most = sum(call.least for call in calls), sum(call.most for call in calls)
    return _number(most, "call") if least == most else f"{least:,} to {_number(most, 'call')}"


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun if count == 1 else noun + 's'}"


def lenses(view: View) -> list[CodeLens]:
    """Return the counts of every scenario in a document, if one of its benchmarks compiles."""
    plan = next((compilation.plan for compilation in view.compilations if compilation.plan is not None), None)
    if plan is None:
        return []
    found: list[CodeLens] = []
    for statement in view.outline.statements:
        name = name_of(statement)
        text = call_counts(plan, name.text) if statement.construct == "scenario" and name is not None else ""
        if text:
            place = view.range(statement.head.start, statement.head.end)
            found.append(CodeLens(place, command=Command(text, "")))
    return found


def hover(view: View, position: Position) -> Hover | None:
    """Return the description at a position: of a name with its type, or of a word of the language."""
    offset = view.offset(position)
    start, word = word_at(view.text, offset)
    text = (_name(view, offset) or _word(view, start, word)) if word else None
    return Hover(MarkupContent(MarkupKind.Markdown, text), view.range(start, start + len(word))) if text else None


def _name(view: View, offset: int) -> str | None:
    for named in named_at(view, offset):
        index = named.checked.compilation.index
        symbol = symbol_at(index, named.declared)
        type_ = index.types.get(named.span, "")
        own = text_of(named.span).rpartition(".")[2].strip('"')
        if own != symbol.name:  # a member of a step or field
            return f"{code_block(f'{own}: {type_}' if type_ else own)}\nof {symbol.kind} `{symbol.name}`"
        statement = _statement(view, symbol)
        parts = [code_block(_heading(symbol, statement, type_)), *_details(view, named, symbol, statement)]
        return "\n\n".join(part for part in parts if part)
    return None


def _statement(view: View, symbol: Symbol) -> Statement | None:
    """Return the statement that declares a symbol."""
    path = symbol.span.source.path
    return view.session.outline(path).declared_at(symbol.span.start)


def _heading(symbol: Symbol, statement: Statement | None, type_: str) -> str:
    """Return the declaration on one line, with its type if the declaration does not show it."""
    if statement is None or symbol.kind in ("value", "group"):
        text = type_ or (symbol.detail if symbol.kind in ("parameter", "field") else "")
        return f"{symbol.kind} {symbol.name}" + (f": {text}" if text else "")
    head = " ".join(text_of(statement.head).split())
    kind = "" if head.startswith((symbol.kind, statement.construct, "dataset", "score")) else f"{symbol.kind} "
    text = type_ or (symbol.detail if symbol.kind in ("let", "ask", "retrieve", "field") else "")
    return f"{kind}{head}" + (f"  # {text}" if text and text not in head else "")


def _details(view: View, named: NameAtCursor, symbol: Symbol, statement: Statement | None) -> list[str]:
    """Return further facts about a symbol, by its kind."""
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
            return [_changes(symbol), call_counts(plan, symbol.name) if plan is not None else ""]
        case "export":
            return [_changes(symbol)]
        case "dataset" if statement is not None:
            return [_changes(symbol), _listed([(text_of(each.head), "") for each in statement.of("field")])]
        case "tool" if statement is not None:
            about = [text.value for _, text in statement.labels()[:1]]
            return [*about, _listed([(text_of(each.head), "") for each in statement.of("tool_parameter")])]
        case "metric" if statement is not None:
            asks = [text.value for each in statement.of("asks") for _, text in each.labels()]
            return [f"scale {symbol.detail}" if symbol.detail else "", *asks[:1], owner]
        case "field":
            secret = statement is not None and statement.has("secret")
            told = "secret: it never reaches the compared role" if secret else ""
            return [told, _values(index, f"axis {symbol.detail}"), owner]
        case "scorer" | "function" | "aggregate" | "tree" | "measure":
            return [f"`{symbol.detail}`" if symbol.detail else "", owner]
    return [owner]


def _changes(symbol: Symbol) -> str:
    """Return how a declaration differs from the one that it is like; empty if it is like no other."""
    return "" if symbol.changes is None else f"as `{symbol.changes.base}`, except: {symbol.changes.shown}"


def _values(index: Index, owner: str) -> str:
    return _listed([(symbol.name, symbol.detail) for symbol in symbols_in(index, owner) if symbol.kind == "value"])


def _listed(rows: list[tuple[str, str]]) -> str:
    lines = [f"- `{name}`{'  ' + detail if detail else ''}" for name, detail in rows[:MOST_LISTED]]
    if len(rows) > MOST_LISTED:
        lines.append(f"- and {len(rows) - MOST_LISTED} more")
    return "\n".join(lines)


def _word(view: View, start: int, word: str) -> str | None:
    cursor = cursor_at(view.outline, start)
    if cursor.place == "comment" or (cursor.string is not None and cursor.hole is None):
        return None
    if cursor.hole is None and cursor.head is None:
        return of_construct(constructs_in(cursor.place).get(word, [])) or None
    if view.text.startswith("(", start + len(word)):
        end = interval_end(cursor, word)
        return (
            of_name(word, measured=cursor.keyword in AGGREGATE_STATEMENTS)
            if end is None
            else f"{code_block(end[0])}\n{end[1]}"
        )
    return _in_head(cursor, word)


def _in_head(cursor: Cursor, word: str) -> str | None:
    """Return the description of a keyword inside a statement, or of a type."""
    fitting = [candidate for candidate in candidates(cursor) if word in candidate.signature.replace("|", " ").split()]
    bracketed = [candidate for candidate in candidates(cursor) if f"[{word}" in candidate.signature]
    if fitting or bracketed:
        return of_construct(dict.fromkeys([*fitting, *bracketed]))
    if word in TYPES:
        return f"{code_block(word)}\n{TYPES[word]}"
    return None
