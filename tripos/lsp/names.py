"""Names that fit at a cursor: declared ones, the scope of an expression, and file paths."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lsprotocol.types import CompletionItemKind as Kind

from tripos.lsp.cursor import PAIRS, Cursor
from tripos.lsp.documents import SUFFIX
from tripos.lsp.session import View, place_of, walk_statements
from tripos_compiler.compile import Compilation
from tripos_compiler.plan import BUILT_IN_DIMENSIONS, ChoiceType, Type
from tripos_compiler.resolve.program import Binding, Symbol
from tripos_compiler.source.tree import Name
from tripos_compiler.syntax.grammar import Token
from tripos_runtime.datasets.data_files import SHIPPED, FileAccess, access_of
from tripos_runtime.datasets.formats import DOCUMENT_READERS, PACKED, ROW_READERS

PLACEHOLDER_NAME = "a_name_that_is_typed"
"""A placeholder for a missing name, so that the statement is complete and the compiler records the scope."""
READ_SUFFIXES = {
    "dataset": tuple(ROW_READERS),
    "tree": tuple(DOCUMENT_READERS),
    **dict.fromkeys(("function", "scorer", "aggregate"), (".py",)),
}
"""Suffixes of files that the path after `from` can name, by statement; data may be compressed."""
MOST_PATHS = 500
"""Maximum files of a folder in one answer."""
KINDS = {
    "role": Kind.Class,
    "axis": Kind.Enum,
    "arm": Kind.Enum,
    "value": Kind.EnumMember,
    "group": Kind.Enum,
    "dataset": Kind.Struct,
    "tree": Kind.Struct,
    "scenario": Kind.Module,
    "scorer": Kind.Function,
    "function": Kind.Function,
    "tool": Kind.Function,
    "aggregate": Kind.Function,
    "metric": Kind.Property,
    "field": Kind.Field,
    "parameter": Kind.Variable,
}
"""Completion kinds of declared names; any other is a variable."""


def scope_at(view: View, cursor: Cursor) -> Mapping[str, Binding]:
    """Return the bindings in scope of an expression, or nothing if there is no expression. Later steps are excluded.

    It may recompile the view's benchmarks with another text, so earlier results can be invalid afterwards.
    """
    for compilation in view.compilations:
        bindings = _recorded(compilation, view.path, cursor.start, cursor.offset)
        if bindings is not None:
            return bindings
    text = _with_placeholder(view.text, cursor)
    for benchmark in view.checked:
        bindings = _recorded(benchmark.benchmark.compile_with(view.path, text), view.path, cursor.start, cursor.start)
        if bindings is not None:
            return bindings
    return {}


def _recorded(compilation: Compilation, path: str, start: int, end: int) -> Mapping[str, Binding] | None:
    found = [
        (span, scope)
        for span, scope in compilation.index.scopes
        if span.source.path == path and span.start <= start and end <= span.end
    ]
    if not found:
        return None
    _, scope = min(reversed(found), key=lambda pair: pair[0].high - pair[0].low)  # a tie goes to the inner scope
    return {name: binding for name, binding in scope.items() if not _is_later(binding, path, start)}


def _is_later(binding: Binding, path: str, offset: int) -> bool:
    span = binding.span
    return (
        not binding.precedes_declaration
        and span is not None
        and span.source.path == path
        and span.start > offset
        and len(binding.path) == 1
    )


def _with_placeholder(text: str, cursor: Cursor) -> str:
    """Return the text with a placeholder at the cursor and with open brackets closed."""
    rest = text[cursor.offset :]
    closers = ""
    for bracket in reversed(cursor.brackets):
        sign = PAIRS[bracket.sign]
        if not rest.lstrip().startswith(sign):
            closers += sign
    if cursor.hole is not None:
        line = rest.split('"')[0]
        closers += "" if "}}" in line.split("{{")[0] else " }}"
    return text[: cursor.start] + PLACEHOLDER_NAME + closers + rest


def chain_before(tokens: Sequence[Token]) -> list[str]:
    """Return the names of a trailing `a.b.`, without the last dot, or nothing.

    >>> from tripos_compiler.syntax.lexer import raw_tokens
    >>> chain_before(list(raw_tokens("measure m = mean(a.b.")))
    ['a', 'b']
    """
    names: list[str] = []
    index = len(tokens) - 1
    while index >= 1 and tokens[index].text == "." and _is_name(tokens[index - 1]):
        names.insert(0, tokens[index - 1].text)
        index -= 2
    return names


def name_ending(tokens: Sequence[Token]) -> list[str]:
    """Return the dotted name at the end of tokens."""
    if not tokens or not _is_name(tokens[-1]):
        return []
    return [*chain_before(tokens[:-1]), tokens[-1].text]


def _is_name(token: Token) -> bool:
    return token.text[:1].isalpha() or token.text[:1] == "_"


def find_binding(scope: Mapping[str, Binding], names: Sequence[str]) -> Binding | None:
    """Return the binding of a dotted name, or None."""
    binding: Binding | None = None
    for name in names:
        binding = (scope if binding is None else fields_of(binding)).get(name)
        if binding is None:
            return None
    return binding


def fields_of(binding: Binding) -> Mapping[str, Binding]:
    """Return the bindings after the dot of a name."""
    record = binding.type
    if binding.fields or record is None or record.kind != "record":
        return binding.fields
    return {name: Binding((*binding.path, name), of) for name, of in record.fields.items()}


def choice_of(type_: Type | None) -> ChoiceType | None:
    """Return the choice type inside an optional, list or set, or None."""
    while type_ is not None and type_.kind in ("optional", "list", "set"):
        type_ = type_.of
    return type_ if type_ is not None and type_.kind == "choice" else None


def paths_at(view: View, cursor: Cursor) -> tuple[int, Iterator[Proposal]]:
    """Return the files that a string may name, and the offset of the last part of its path."""
    assert cursor.string is not None
    typed = view.text[cursor.string : cursor.offset]
    begin = cursor.string + typed.rfind("/") + 1
    words = [token.text for token in cursor.before]
    if not view.session.is_spec(view.path) or "\n" in typed:
        return begin, iter(())
    folder = typed[: typed.rfind("/") + 1]
    path = Path(view.path).parent
    if words[:1] == ["use"]:
        return begin, _paths_below(view, [path], folder, (SUFFIX,))
    reading = "dataset" if words[-1:] == ["join"] else cursor.keyword if words[-1:] == ["from"] else ""
    if reading in READ_SUFFIXES:
        data = [folder for benchmark in view.checked for folder in benchmark.benchmark.data_folders]
        suffixes = READ_SUFFIXES[reading]
        packed = tuple(f"{suffix}{pack}" for suffix in suffixes for pack in PACKED if suffix != ".py")
        return begin, _paths_below(view, [path, *data, path / SHIPPED], folder, (*suffixes, *packed))
    return begin, iter(())


def _paths_below(view: View, roots: list[Path], inside: str, suffixes: tuple[str, ...]) -> Iterator[Proposal]:
    """Yield the files and folders in a folder that the benchmark may read."""
    file_accesses = [benchmark.benchmark.access for benchmark in view.checked]
    accesses = [access for access in file_accesses if access is not None] or [access_of(Path(view.path))]
    for root in dict.fromkeys(roots):
        if not _allowed(accesses, root / inside / f"any{suffixes[0]}"):
            continue
        try:
            with os.scandir(root / inside) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except (OSError, ValueError):
            continue
        for entry in found[:MOST_PATHS]:
            if entry.name.startswith("."):
                continue
            path = Path(entry.path)
            if entry.name.endswith(suffixes) and _allowed(accesses, path):
                yield Proposal(entry.name, Kind.File)
            elif _allowed(accesses, path / f"any{suffixes[0]}") and path.is_dir():
                yield Proposal(f"{entry.name}/", Kind.Folder)


def _allowed(accesses: Sequence[FileAccess], path: Path) -> bool:
    try:
        return any(access.allows(path) for access in accesses)
    except (OSError, RuntimeError, ValueError):  # a loop of links, or an invalid path
        return False


@dataclass(frozen=True)
class Proposal:
    """A proposal for completion. `text` replaces the label when inserted; `snippet` is used if the editor supports
    snippets."""

    label: str
    kind: Kind
    detail: str = ""
    documentation: str = ""
    snippet: str | None = None
    text: str = ""


class SpecNames:
    """The declared names of the benchmarks that a document belongs to."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.symbols = sorted(
            (symbol for compilation in view.compilations for symbol in compilation.index.symbols.values()),
            key=lambda symbol: place_of(symbol.span),
        )

    def of(self, *kinds: str, owner: str | None = None) -> Iterator[Proposal]:
        """Yield the names of these kinds. Of data sets and measures, only top-level ones unless an owner is given."""
        for symbol in self.symbols:
            top = owner is None and (symbol.kind not in ("dataset", "measure") or not symbol.owner)
            if symbol.kind in kinds and (top or symbol.owner == owner):
                yield _proposed(symbol)

    def axes(self) -> Iterator[Proposal]:
        """Yield every axis, including the languages."""
        yield from self.of("axis")
        yield Proposal("language", Kind.Enum, "the languages of the benchmark")

    def dimensions(self) -> Iterator[Proposal]:
        """Yield the dimensions that a measure can be split by."""
        yield from self.axes()
        yield from self.of("arm")
        yield from (Proposal(name, Kind.Enum) for name in BUILT_IN_DIMENSIONS)

    def datasets(self, cursor: Cursor) -> Iterator[Proposal]:
        """Yield the data sets of the scenario around the cursor, and the top-level ones."""
        scenario = scenario_around(cursor)
        if scenario is not None:
            yield from self.of("dataset", owner=f"scenario {scenario}")
        yield from self.of("dataset")

    def steps(self, cursor: Cursor) -> Iterator[Proposal]:
        """Yield the steps of the scenario around the cursor, or of all scenarios."""
        scenario = scenario_around(cursor)
        yield from self.of("ask", "converse", "retrieve", owner=f"scenario {scenario}" if scenario else None)

    def values(self, of: str) -> Iterator[Proposal]:
        """Yield the values of an axis, an arm, or another dimension of a slice."""
        yield from self.of("value", owner=f"axis {of}")
        yield from self.of("value", owner=f"arm {of}")
        if of in ("scenario", "metric", "dimension"):
            yield from self.of(of)
        if of == "language":
            yield from (Proposal(code, Kind.EnumMember) for code in self.languages())

    def languages(self) -> list[str]:
        """Return the languages that the benchmarks declare."""
        found: dict[str, None] = {}
        for benchmark in self.view.checked:
            for statement in walk_statements(self.view.session.outline(benchmark.benchmark.main).statements):
                if statement.construct == "languages":
                    found.update({name.text: None for name in statement.many("languages") if isinstance(name, Name)})
        return list(found)


def scenario_around(cursor: Cursor) -> str | None:
    """Return the name of the scenario around the cursor, or None."""
    for owner in cursor.owners:
        if owner[0].text == "scenario":
            return owner[1].text if len(owner) > 1 else None
    return None


def detail_of(symbol: Symbol) -> str:
    """Return a short description of a symbol."""
    return symbol.detail or f"{symbol.kind} of {symbol.owner}" if symbol.owner else symbol.detail or symbol.kind


def _proposed(symbol: Symbol) -> Proposal:
    return Proposal(symbol.name, KINDS.get(symbol.kind, Kind.Variable), detail_of(symbol))
