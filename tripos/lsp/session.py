"""One editor's session: its documents, the tree of each, and the benchmarks that they are part of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from lsprotocol.types import Location, Position, Range

from tripos.lsp.benchmarks import Membership, OpenBenchmark, TooLong
from tripos.lsp.documents import Document, Documents, Encoding, Lines
from tripos_compiler.compile import Compilation
from tripos_compiler.constructs import Statement, read_statements
from tripos_compiler.diagnostics import Diagnostics
from tripos_compiler.resolve import scorer_name
from tripos_compiler.source import Block, Name, Source, Span
from tripos_compiler.syntax import ParseMemory, parse


@dataclass(frozen=True)
class Outline:
    """A file as it was parsed. Right until the file is parsed again with the same memory."""

    source: Source
    block: Block
    statements: tuple[Statement, ...]

    def around(self, offset: int) -> list[Statement]:
        """Return the statements that a place lies in, from the outermost to the innermost."""
        found: list[Statement] = []
        inside: tuple[Statement, ...] = self.statements
        while True:
            inner = next((each for each in inside if each.span.start <= offset <= each.span.end), None)
            if inner is None:
                return found
            found.append(inner)
            inside = inner.body

    def declared_at(self, start: int) -> Statement | None:
        """Return the statement that declares the name that begins at a place."""
        for statement in reversed(self.around(start)):
            name = name_of(statement)
            if name is not None and name.span.start == start:
                return statement
        return None


def outline_of(path: str, text: str, memory: ParseMemory | None = None) -> Outline:
    """Return the outline of a text; what is malformed is left out.

    >>> [statement.construct for statement in outline_of("x", "role judge\\naxis {}\\n").statements]
    ['role']
    """
    source, passed = Source(path, text), Diagnostics()
    block = parse(source, passed, memory)
    return Outline(source, block, read_statements(block, passed))


def name_of(statement: Statement) -> Name | None:
    """Return the name that a statement declares."""
    if "name" in statement.values:
        return statement.find_name("name")
    if statement.construct in ("scorer", "formula", "python_scorer", "program_scorer", "named", "aggregate"):
        return scorer_name(statement.values.get("call"))
    return None


def every(statements: tuple[Statement, ...]) -> Iterator[Statement]:
    """Yield statements with all that stand in their blocks, in the order of the text."""
    for statement in statements:
        yield statement
        yield from every(statement.body)


@dataclass(frozen=True, order=True)
class DocumentPlace:
    """A stretch of a file. Unlike a span it does not move with the text, and compares across compilations."""

    path: str
    start: int
    end: int


def place_of(span: Span) -> DocumentPlace:
    """Return where a span is now."""
    return DocumentPlace(span.source.path, span.start, span.end)


def text_of(span: Span) -> str:
    """Return what stands there."""
    return span.source.text[span.start : span.end]


@dataclass(frozen=True)
class Checked:
    """A benchmark and what it comes to."""

    benchmark: OpenBenchmark
    compilation: Compilation

    @property
    def paths(self) -> list[str]:
        """The spec files that it is made of."""
        return [source.path for source in self.compilation.sources]


class EditorSession:
    """Everything that a server knows; made when a client has said what it can do."""

    def __init__(
        self,
        encoding: Encoding = "utf-16",
        folders: tuple[str, ...] = (),
        log: Callable[[str], None] = lambda message: None,
        *,
        trusted: bool = False,
    ) -> None:
        self.trusted = trusted
        self.documents = Documents(encoding)
        self.documents.home = folders[0] if folders else self.documents.home
        self.membership = Membership(self.documents)
        self.membership.folders = folders
        self.log = log
        self._benchmarks: dict[tuple[str, bool], OpenBenchmark] = {}
        self._lines: dict[str, Lines] = {}
        self._parses = ParseMemory()
        self._outlines: dict[str, Outline] = {}

    # --- documents ---

    def put(self, uri: str, text: str, version: int) -> Document:
        """Open a document, or give it another text."""
        document = self.documents.put(uri, text, version)
        self.membership.changed(document.path)
        return document

    def remove(self, uri: str) -> Document | None:
        """Close a document, and forget the benchmarks that none is part of any more."""
        document = self.documents.remove(uri)
        if document is not None:
            self.membership.changed(document.path)
            self._outlines.pop(document.path, None)
            used = {key for each in self.documents for key in self._keys(each.path)}
            self._benchmarks = {key: each for key, each in self._benchmarks.items() if key in used}
        return document

    def refresh(self) -> None:
        """Files on disk came, went or changed."""
        self.membership.refresh()
        for benchmark in self._benchmarks.values():
            benchmark.refresh()

    # --- benchmarks ---

    def checked(self, path: str) -> list[Checked]:
        """Return the benchmarks that a file is part of, as they are now; the file by itself where there is none. A
        benchmark that cannot be compiled is left out, for a reason that is logged unless it is the user's.

        Raises `TooLong` where one is too long to be compiled while it is edited.
        """
        if not self.is_spec(path):
            return []
        found = [each for key in self._keys(path) if (each := self._check(key)) is not None and path in each.paths]
        if not found and (path, False) not in self._keys(path):
            alone = self._check((path, True))
            found = [alone] if alone is not None else []
        return found

    def all_checked(self) -> Iterator[Checked]:
        """Yield every benchmark that an open document is part of, once."""
        seen: set[int] = set()
        for document in list(self.documents):
            try:
                found = self.checked(document.path)
            except TooLong:
                continue
            for each in found:
                if id(each.benchmark) not in seen:
                    seen.add(id(each.benchmark))
                    yield each

    def is_spec(self, path: str) -> bool:
        """Return true if a document is a file, or will be one, and not an old version or something of a remote
        place."""
        return Path(path).is_absolute()

    def _keys(self, path: str) -> list[tuple[str, bool]]:
        return [(main, False) for main in self.membership.mains(path)] or [(path, True)]

    def _check(self, key: tuple[str, bool]) -> Checked | None:
        benchmark = self._benchmarks.get(key)
        if benchmark is None:
            benchmark = self._benchmarks[key] = OpenBenchmark(
                self.documents, key[0], self.log, alone=key[1], trusted=self.trusted
            )
        try:
            return Checked(benchmark, benchmark.compilation())
        except TooLong:
            raise
        except (OSError, UnicodeDecodeError):
            return None
        except Exception as error:  # a bug of the compiler's must not take the other benchmarks with it
            self.log(f"cannot check {key[0]}: {type(error).__name__}: {error}")
            return None

    # --- places ---

    def lines(self, source: Source) -> Lines:
        """Return the lines of a source."""
        document = self.documents.at(source.path)
        if document is not None and document.text is source.text:
            return document.lines
        known = self._lines.get(source.path)
        if known is None or known.text != source.text:
            known = self._lines[source.path] = Lines(source.text, self.documents.encoding)
        return known

    def range(self, span: Span) -> Range:
        """Return the range of a span."""
        return self.lines(span.source).range(span.start, span.end)

    def location(self, span: Span) -> Location:
        """Return where a span is, in which file."""
        return Location(self.documents.uri_of(span.source.path), self.range(span))

    def location_of(self, place: DocumentPlace) -> Location:
        """Return where a place is, in which file."""
        source = Source(place.path, self.documents.read(place.path))
        return Location(self.documents.uri_of(place.path), self.lines(source).range(place.start, place.end))

    def outline(self, path: str) -> Outline:
        """Return the statements of a file as it is now. Raises `OSError` or `UnicodeDecodeError`."""
        text = self.documents.read(path)
        known = self._outlines.get(path)
        if known is None or known.source.text != text:
            known = self._outlines[path] = outline_of(path, text, self._parses)
        return known

    def view(self, uri: str) -> View | None:
        """Return a document with what is known of it; None where it is not open."""
        document = self.documents.find(uri)
        return View(self, document) if document is not None else None


@dataclass(frozen=True)
class View:
    """An open document, as a request sees it."""

    session: EditorSession
    document: Document

    @property
    def path(self) -> str:
        """Return what the compiler calls it."""
        return self.document.path

    @property
    def text(self) -> str:
        """Its text."""
        return self.document.text

    @cached_property
    def checked(self) -> list[Checked]:
        """The benchmarks that it is part of; none where one is too long."""
        try:
            return self.session.checked(self.path)
        except TooLong:
            return []

    @property
    def compilations(self) -> list[Compilation]:
        """Return what those benchmarks come to."""
        return [each.compilation for each in self.checked]

    @property
    def outline(self) -> Outline:
        """Its statements."""
        return self.session.outline(self.path)

    def offset(self, position: Position) -> int:
        """Return the code point at a position."""
        return self.document.lines.offset(position)

    def range(self, start: int, end: int) -> Range:
        """Return the range of a stretch of it."""
        return self.document.lines.range(start, end)
