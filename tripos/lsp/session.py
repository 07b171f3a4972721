"""The session of one editor: open documents, their outlines, and the benchmarks that they belong to.

A benchmark is recompiled when a text or data changes. Compilations of one benchmark share their memory, so spans of an
earlier result become invalid with the next.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path

from lsprotocol.types import Location, Position, Range

from tripos.lsp.documents import SUFFIX, DataCache, Document, Documents, Encoding, Lines
from tripos.releases.opening import ReleaseFolders
from tripos.settings.config import SETTINGS_FILE, Config, denied_codes
from tripos.settings.load import load_config
from tripos.settings.options import DATA
from tripos_compiler.compile import Compilation, compile_spec
from tripos_compiler.constructs.signature import Statement
from tripos_compiler.constructs.statements import read_statements
from tripos_compiler.diagnostics.diagnostic import Diagnostic, Diagnostics, deny
from tripos_compiler.errors import TriposError
from tripos_compiler.resolve.files import scorer_name
from tripos_compiler.resolve.incremental import Memory
from tripos_compiler.resolve.program import path_beside
from tripos_compiler.source.text import Source, Span
from tripos_compiler.source.tree import Block, Name, Text
from tripos_compiler.syntax.lexer import ParseMemory, raw_tokens, split_pieces
from tripos_compiler.syntax.parser import parse
from tripos_runtime.datasets.data_files import DataFolders, FileAccess, access_of

HEADER_WORDS = ("use", "benchmark")
"""The first words of header statements."""
NOT_A_STATEMENT = ("EQUALS", "_CALL", "_LPAR", "_DOT")
"""Tokens after which a word is not a statement."""
HEADER_LINES = re.compile(r"^[^\S\n]*(?:use|benchmark)\b.*$", re.MULTILINE)
"""The lines that determine a header. If they are unchanged, the header is reused."""
SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__", "site-packages", "venv"})
"""Folders without specs of the project; folders with a leading dot are skipped too."""
MOST_FILES = 2_000
"""Maximum spec files of a workspace that are read."""
MOST_FOLDERS = 20_000
"""Maximum folders that are searched."""
PROJECT_MARKS = (SETTINGS_FILE, ".git", ".hg")
"""Names that mark the top folder of a project."""
MOST_CHARS = 1_000_000
"""Maximum characters of a spec, over all of its files, that is compiled while it is edited."""


@dataclass(frozen=True)
class Header:
    """The header of a file: whether it declares a benchmark, and the paths that it uses."""

    main: bool
    uses: tuple[str, ...]


def header_of(path: str, text: str) -> Header:
    """Return the header of a text.

    >>> header_of("b/x.tripos", 'use "../y.tripos"\\nbenchmark x "1.0.0" { languages en }').uses
    ('y.tripos',)
    """
    own = (text[piece.start : piece.end] for piece in split_pieces(text) if text.startswith(HEADER_WORDS, piece.start))
    source = Source(path, "".join(own))
    entries = [entry for line in parse(source, Diagnostics()).lines for entry in line.entries]
    main, uses = False, []
    for entry in entries:
        word, *tokens = islice(raw_tokens(source.text[entry.span.start : entry.span.end]), 2)
        main = main or (word.text == "benchmark" and not any(token.kind in NOT_A_STATEMENT for token in tokens))
        match entry.elements:
            case [Name(text="use"), Text(value=used)]:
                uses.append(path_beside(path, used))
    return Header(main, tuple(uses))


class Membership:
    """Finds the benchmarks that a file belongs to. Folders and headers are read once, and again after a change."""

    def __init__(self, documents: Documents) -> None:
        self.documents = documents
        self.folders: tuple[str, ...] = ()
        """The folders of the workspace."""
        self._benchmarks: set[str] | None = None
        self._near: dict[str, tuple[str, ...]] = {}
        self._headers: dict[str, tuple[list[str], Header] | None] = {}
        self._mains: dict[str, list[str]] = {}

    def refresh(self) -> None:
        """Forget everything read from disk."""
        self._benchmarks = None
        self._near.clear()
        self._headers.clear()
        self._mains.clear()

    def changed(self, path: str) -> None:
        """Handle a document that was opened, closed or changed."""
        known = self._headers.pop(path, None)
        text = self.documents.find_text(path)
        if known is not None and text is not None and HEADER_LINES.findall(text) == known[0]:
            self._headers[path] = known
        else:
            self._mains.clear()

    def header(self, path: str) -> Header | None:
        """Return the header of a file, or None if it cannot be read."""
        if path not in self._headers:
            text = self.documents.find_text(path)
            self._headers[path] = None if text is None else (HEADER_LINES.findall(text), header_of(path, text))
        known = self._headers[path]
        return known[1] if known is not None else None

    def files(self, path: str = "") -> list[str]:
        """Return every spec file of the workspace. If `path` is outside of it, also those of its folder and the folders
        above."""
        if self._benchmarks is None:
            self._benchmarks = {each for folder in self.folders for each in _below(folder)}
        found = self._benchmarks | {document.path for document in self.documents if document.path.endswith(SUFFIX)}
        if path and path not in self._benchmarks:
            folder = Path(path).parent.as_posix()
            if folder not in self._near:
                self._near[folder] = tuple(_beside_and_above(Path(folder)))
            found |= {path, *self._near[folder]}
        return sorted(found)

    def mains(self, path: str) -> list[str]:
        """Return the main files of the benchmarks that a file belongs to, which may be itself. Empty if no benchmark
        uses it."""
        if path not in self._mains:
            self._mains[path] = self._mains_of(path)
        return self._mains[path]

    def _mains_of(self, path: str) -> list[str]:
        users: dict[str, list[str]] = {}
        headers = {file: header for file in self.files(path) if (header := self.header(file)) is not None}
        for each, header in headers.items():
            for used in header.uses:
                users.setdefault(used, []).append(each)
        reached, waiting = {path}, [path]
        while waiting:
            for user in users.get(waiting.pop(), ()):
                if user not in reached:
                    reached.add(user)
                    waiting.append(user)
        return sorted(each for each in reached if each in headers and headers[each].main)


def _below(folder: str) -> Iterator[str]:
    """Yield the spec files below a folder up to the maximum, higher ones first."""
    waiting, count = [folder], 0
    for searched, here in enumerate(waiting):
        if searched >= MOST_FOLDERS or count >= MOST_FILES:
            return
        for entry in _entries(here):
            if entry.name.startswith(".") or entry.name in SKIPPED_FOLDERS:
                continue
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
            elif entry.name.endswith(SUFFIX):
                count += 1
                yield Path(entry.path).as_posix()


def _beside_and_above(folder: Path) -> Iterable[str]:
    """Yield the spec files of a folder and of those above, up to the top folder of the project; only of the folder
    itself if there is none."""
    above = [folder, *folder.parents]
    top = next((index for index, each in enumerate(above) if any((each / root).exists() for root in PROJECT_MARKS)), 0)
    for path in above[: top + 1]:
        yield from (Path(entry.path).as_posix() for entry in _entries(str(path)) if entry.name.endswith(SUFFIX))


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


class TooLong(Exception):
    """The spec is too long to be compiled at every keystroke."""


@dataclass(frozen=True)
class Project:
    """The settings of a main file's `tripos.toml`: data folders, release folders and denied warnings."""

    data: DataFolders
    releases: ReleaseFolders
    denied: Mapping[str, str]


def project_of(path: str, log: Callable[[str], None], *, trusted: bool = False) -> Project:
    """Return the settings of the nearest `tripos.toml` above a file, and log errors in them. Unless `trusted`, folders
    outside the project are ignored, since opening a folder in an editor is not consent."""
    folder = next((parent for parent in Path(path).parents if (parent / SETTINGS_FILE).is_file()), None)
    config = Config()
    denied: Mapping[str, str] = {}
    if folder is not None:
        try:
            config = load_config(folder)
            denied = denied_codes([], config)
        except TriposError as failure:
            log(f"{failure.message}; {failure.hint}" if failure.hint else failure.message)
    data, releases = (tuple(Path(each) for each in folders) for folders in (config.data, config.releases))
    if folder is not None and not trusted:
        paths = {Path(part) for part in os.environ.get(DATA.variable, "").split(os.pathsep)}
        outside = {each for each in (*data, *releases) if not each.resolve().is_relative_to(folder.resolve())} - paths
        for each in sorted(outside):
            log(f"{folder / SETTINGS_FILE}: `{each}` lies outside of the project, and is not read in an editor")
        data, releases = (tuple(each for each in folders if each not in outside) for folders in (data, releases))
    access = access_of(Path(path), data)
    return Project(DataFolders(data, access), ReleaseFolders(releases), denied)


class OpenBenchmark:
    """The spec whose main file is at `main`. With `alone`, the file belongs to no benchmark: a missing declaration is
    not an error, and checks that need a benchmark are skipped."""

    def __init__(
        self,
        documents: Documents,
        main: str,
        log: Callable[[str], None],
        *,
        alone: bool = False,
        trusted: bool = False,
    ) -> None:
        self.documents = documents
        self.trusted = trusted
        self.main = main
        self.alone = alone
        self._log = log
        self._project: Project | None = None
        self._data: DataCache | None = None
        self._memory = Memory()
        self._reads: dict[str, str | None] = {}
        """The texts of the files that the last compilation read; None for missing files."""
        self._compilation: Compilation | None = None

    def refresh(self) -> None:
        """Handle changes on disk, including the settings."""
        self._project = None

    @property
    def data_folders(self) -> tuple[Path, ...]:
        """The data folders besides the folder of the spec."""
        return self._settings_and_data()[0].data.folders

    @property
    def access(self) -> FileAccess | None:
        """The files that the benchmark may read."""
        return self._settings_and_data()[0].data.access

    def compilation(self) -> Compilation:
        """Return the compilation of the current texts. Its spans are valid until the next call.

        Raises `OSError` or `UnicodeDecodeError` if the main file cannot be read, and `TooLong`.
        """
        project, data = self._settings_and_data()
        if self._compilation is None or not self._is_current():
            self._compilation = self._compiled({}, project, data)
        return self._compilation

    def compile_with(self, path: str, text: str) -> Compilation:
        """Return the compilation with another text of one file. It invalidates the spans of earlier results."""
        project, data = self._settings_and_data()
        self._compilation = None
        return self._compiled({path: text}, project, data)

    def trying(self, texts: Mapping[str, str]) -> tuple[Diagnostic, ...]:
        """Return the diagnostics with other texts of files, without changing any state."""
        project, data = self._settings_and_data()

        def read(path: str) -> str:
            return texts[path] if path in texts else self._text(path, project)

        return deny(compile_spec(self.main, read, data, releases=project.releases).diagnostics, project.denied)

    def _settings_and_data(self) -> tuple[Project, DataCache]:
        """Return the settings and the data reader. Results of an earlier reader are discarded."""
        if self._project is None:
            project = project_of(self.main, self._log, trusted=self.trusted)
            if self._data is not None and self._data.folders != project.data:
                self._data = None
            self._project = project
            self._compilation = None
        data = self._data.renewed() if self._data is not None else DataCache(self._project.data)
        if data is not self._data:
            self._data = data
            self._memory = Memory(parses=self._memory.parses)
            self._compilation = None
        return self._project, data

    def _text(self, path: str, project: Project) -> str:
        """Return the text of a file that the benchmark may read. Raises `OSError` and `UnicodeDecodeError`."""
        if self.documents.at(path) is None and project.data.access is not None:
            project.data.access.check(Path(path))
        return self.documents.read(path)

    def _is_current(self) -> bool:
        return all(self.documents.find_text(path) == text for path, text in self._reads.items())

    def _compiled(self, instead: Mapping[str, str], project: Project, data: DataCache) -> Compilation:
        code = {path: text for path, text in self._reads.items() if not path.endswith(SUFFIX)}
        if any(self.documents.find_text(path) != text for path, text in code.items()):
            self._memory = Memory(parses=self._memory.parses)  # its keys do not cover Python files
        self._reads = {}
        length = 0

        def read(path: str) -> str:
            nonlocal length
            self._reads[path] = None
            text = instead[path] if path in instead else self._text(path, project)
            self._reads[path] = text
            length += len(text)
            if length > MOST_CHARS:
                raise TooLong
            return text

        try:
            compilation = compile_spec(self.main, read, data, self._memory, releases=project.releases)
        except BaseException:
            self._memory = Memory()
            raise
        diagnostics = deny(compilation.diagnostics, project.denied)
        if self.alone:
            diagnostics = tuple(
                diagnostic for diagnostic in diagnostics if not _lacks_benchmark(diagnostic, compilation.sources[0])
            )
        failed = any(diagnostic.severity == "error" for diagnostic in diagnostics)
        return replace(compilation, diagnostics=diagnostics, plan=None if failed else compilation.plan)


def _lacks_benchmark(diagnostic: Diagnostic, source: Source) -> bool:
    """Return true if a diagnostic reports a missing declaration of a benchmark, at the start of a file."""
    if diagnostic.code != "E0206" or not diagnostic.labels:
        return False
    span = diagnostic.labels[0].span
    return span.source is source and span.start == span.end == 0


@dataclass(frozen=True)
class Outline:
    """A parsed file. Valid until the file is parsed again with the same memory."""

    source: Source
    block: Block
    statements: tuple[Statement, ...]

    def around(self, offset: int) -> list[Statement]:
        """Return the statements that contain an offset, outermost first."""
        statements: list[Statement] = []
        inside: tuple[Statement, ...] = self.statements
        while True:
            inner = next(
                (statement for statement in inside if statement.span.start <= offset <= statement.span.end), None
            )
            if inner is None:
                return statements
            statements.append(inner)
            inside = inner.body

    def declared_at(self, start: int) -> Statement | None:
        """Return the statement that declares the name at an offset."""
        for statement in reversed(self.around(start)):
            name = name_of(statement)
            if name is not None and name.span.start == start:
                return statement
        return None


def outline_of(path: str, text: str, memory: ParseMemory | None = None) -> Outline:
    """Return the outline of a text, without malformed statements.

    >>> [statement.construct for statement in outline_of("x", "role judge\\naxis {}\\n").statements]
    ['role']
    """
    source, passed = Source(path, text), Diagnostics()
    block = parse(source, passed, memory)
    return Outline(source, block, read_statements(block, passed))


def name_of(statement: Statement) -> Name | None:
    """Return the name that a statement declares, or None."""
    if "name" in statement.values:
        return statement.find_name("name")
    if statement.construct in ("scorer", "formula", "python_scorer", "program_scorer", "named", "aggregate"):
        return scorer_name(statement.values.get("call"))
    return None


def walk_statements(statements: tuple[Statement, ...]) -> Iterator[Statement]:
    """Yield statements and all statements in their blocks, in the order of the text."""
    for statement in statements:
        yield statement
        yield from walk_statements(statement.body)


@dataclass(frozen=True, order=True)
class DocumentPlace:
    """A range in a file. Unlike a span it does not move with the text, and can be compared across compilations."""

    path: str
    start: int
    end: int


def place_of(span: Span) -> DocumentPlace:
    """Return the current place of a span."""
    return DocumentPlace(span.source.path, span.start, span.end)


def text_of(span: Span) -> str:
    """Return the text of a span."""
    return span.source.text[span.start : span.end]


@dataclass(frozen=True)
class CheckedBenchmark:
    """A benchmark with its compilation."""

    benchmark: OpenBenchmark
    compilation: Compilation

    @property
    def paths(self) -> list[str]:
        """The paths of its spec files."""
        return [source.path for source in self.compilation.sources]


class EditorSession:
    """The state of one client's session."""

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

    # Documents

    def put(self, uri: str, text: str, version: int) -> Document:
        """Open a document, or update its text."""
        document = self.documents.put(uri, text, version)
        self.membership.changed(document.path)
        return document

    def remove(self, uri: str) -> Document | None:
        """Close a document, and forget benchmarks without open documents."""
        document = self.documents.remove(uri)
        if document is not None:
            self.membership.changed(document.path)
            self._outlines.pop(document.path, None)
            used = {key for each in self.documents for key in self._keys(each.path)}
            self._benchmarks = {key: benchmark for key, benchmark in self._benchmarks.items() if key in used}
        return document

    def refresh(self) -> None:
        """Handle files that changed on disk."""
        self.membership.refresh()
        for benchmark in self._benchmarks.values():
            benchmark.refresh()

    # Benchmarks

    def checked(self, path: str) -> list[CheckedBenchmark]:
        """Return the current benchmarks that a file belongs to, or the file by itself if there are none. A benchmark
        that cannot be compiled is left out; unless that is the user's doing, the reason is logged.

        Raises `TooLong` if a benchmark is too long to be compiled while it is edited.
        """
        if not self.is_spec(path):
            return []
        benchmarks = [
            benchmark
            for key in self._keys(path)
            if (benchmark := self._check(key)) is not None and path in benchmark.paths
        ]
        if not benchmarks and (path, False) not in self._keys(path):
            alone = self._check((path, True))
            benchmarks = [alone] if alone is not None else []
        return benchmarks

    def all_checked(self) -> Iterator[CheckedBenchmark]:
        """Yield every benchmark that an open document belongs to, without repetition."""
        seen: set[int] = set()
        for document in list(self.documents):
            try:
                benchmarks = self.checked(document.path)
            except TooLong:
                continue
            for benchmark in benchmarks:
                if id(benchmark.benchmark) not in seen:
                    seen.add(id(benchmark.benchmark))
                    yield benchmark

    def is_spec(self, path: str) -> bool:
        """Return true if a document is a file or will be saved as one, rather than an old version or a remote
        resource.
        """
        return Path(path).is_absolute()

    def _keys(self, path: str) -> list[tuple[str, bool]]:
        return [(main, False) for main in self.membership.mains(path)] or [(path, True)]

    def _check(self, key: tuple[str, bool]) -> CheckedBenchmark | None:
        benchmark = self._benchmarks.get(key)
        if benchmark is None:
            benchmark = self._benchmarks[key] = OpenBenchmark(
                self.documents, key[0], self.log, alone=key[1], trusted=self.trusted
            )
        try:
            return CheckedBenchmark(benchmark, benchmark.compilation())
        except TooLong:
            raise
        except (OSError, UnicodeDecodeError):
            return None
        except Exception as error:  # a bug in the compiler must not affect other benchmarks
            self.log(f"cannot check {key[0]}: {type(error).__name__}: {error}")
            return None

    # Places

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
        """Return the location of a span."""
        return Location(self.documents.uri_of(span.source.path), self.range(span))

    def location_of(self, place: DocumentPlace) -> Location:
        """Return the location of a place."""
        source = Source(place.path, self.documents.read(place.path))
        return Location(self.documents.uri_of(place.path), self.lines(source).range(place.start, place.end))

    def outline(self, path: str) -> Outline:
        """Return the outline of a file's current text. Raises `OSError` or `UnicodeDecodeError`."""
        text = self.documents.read(path)
        known = self._outlines.get(path)
        if known is None or known.source.text != text:
            known = self._outlines[path] = outline_of(path, text, self._parses)
        return known

    def view(self, uri: str) -> View | None:
        """Return an open document with its session, or None."""
        document = self.documents.find(uri)
        return View(self, document) if document is not None else None


@dataclass(frozen=True)
class View:
    """An open document as a request sees it."""

    session: EditorSession
    document: Document

    @property
    def path(self) -> str:
        """The path of the document for the compiler."""
        return self.document.path

    @property
    def text(self) -> str:
        """The text of the document."""
        return self.document.text

    @cached_property
    def checked(self) -> list[CheckedBenchmark]:
        """The benchmarks that it belongs to; empty if one is too long."""
        try:
            return self.session.checked(self.path)
        except TooLong:
            return []

    @property
    def compilations(self) -> list[Compilation]:
        """The compilations of those benchmarks."""
        return [benchmark.compilation for benchmark in self.checked]

    @property
    def outline(self) -> Outline:
        """The outline of the document."""
        return self.session.outline(self.path)

    def offset(self, position: Position) -> int:
        """Return the offset of a position in code points."""
        return self.document.lines.offset(position)

    def range(self, start: int, end: int) -> Range:
        """Return the range between two offsets."""
        return self.document.lines.range(start, end)
