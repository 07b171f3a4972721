"""Open documents, other files with cached data, and the conversion between offsets and editor positions.

The compiler counts code points from the start of a file. The protocol counts lines, and UTF-16 units within them unless
the client offers another encoding. An emoji has two such units.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

from lsprotocol.types import Position, Range, TextDocumentContentChangeEvent, TextDocumentContentChangePartial
from pygls.uris import from_fs_path, to_fs_path

from tripos_compiler.library.media import MediumKind
from tripos_compiler.source.inputs import DataError, ResolvedFile
from tripos_runtime.datasets.data_files import DataFolders, joined_rows

Encoding = Literal["utf-8", "utf-16", "utf-32"]

WORD = re.compile(r"\w*\Z")
REST = re.compile(r"\w*")
LINE_BREAK = re.compile(r"\r\n|\n|\r")
"""The line breaks of the protocol; other line breaks of Unicode do not count."""
Stamp = tuple[int, int, int] | None
"""Identifies the version of a file or folder that was read; None if it is missing."""
MOST_TEXT_BYTES = 4 * 1024 * 1024
"""Maximum bytes of a spec file that is compiled while it is edited."""
MOST_BYTES = 64 * 1024 * 1024
"""Maximum bytes of a data file whose rows are cached."""
SUFFIX = ".tripos"


def word_at(text: str, offset: int) -> tuple[int, str]:
    """Return the start of the word around an offset, and the word, which may be empty."""
    before, after = WORD.search(text, 0, offset), REST.match(text, offset)
    start = offset if before is None else before.start()
    return start, text[start : offset if after is None else after.end()]


class Lines:
    """The lines of a text.

    >>> lines = Lines("a = 1\\n# 😀 b", "utf-16")
    >>> lines.position(9).character, lines.offset(Position(1, 4))
    (4, 9)
    """

    def __init__(self, text: str, encoding: Encoding) -> None:
        self.text = text
        self.encoding = encoding

    @cached_property
    def starts(self) -> list[int]:
        """The offsets of line starts, in code points."""
        return [0, *(match.end() for match in LINE_BREAK.finditer(self.text))]

    @cached_property
    def _plain(self) -> bool:
        return self.encoding == "utf-32" or self.text.isascii()

    def end(self, line: int) -> int:
        """Return the offset of a line's end, before its line break."""
        if line + 1 >= len(self.starts):
            return len(self.text)
        end = self.starts[line + 1]
        return end - 2 if self.text[end - 2 : end] == "\r\n" else end - 1

    def units(self, start: int, end: int) -> int:
        """Return the number of protocol units between two offsets of one line."""
        if self._plain:
            return end - start
        text = self.text[start:end]
        if text.isascii():
            return len(text)
        if self.encoding == "utf-8":
            return len(text.encode("utf-8", "surrogatepass"))
        return len(text.encode("utf-16-le", "surrogatepass")) // 2

    def position(self, offset: int) -> Position:
        """Return the position of an offset, at most the end of the text."""
        offset = max(0, min(offset, len(self.text)))
        line = bisect_right(self.starts, offset) - 1
        return Position(line, self.units(self.starts[line], min(offset, self.end(line))))

    def range(self, start: int, end: int) -> Range:
        """Return the range between two offsets."""
        return Range(self.position(start), self.position(end))

    def offset(self, position: Position) -> int:
        """Return the offset of a position. A position past the end of a line is the line's end; one inside a character
        is its start."""
        if position.line >= len(self.starts):
            return len(self.text)
        start, end = self.starts[position.line], self.end(position.line)
        if self._plain or self.text[start:end].isascii():
            return min(start + position.character, end)
        left = position.character
        for offset in range(start, end):
            left -= self._size(self.text[offset])
            if left < 0:
                return offset
        return end

    def _size(self, char: str) -> int:
        code = ord(char)
        if self.encoding == "utf-8":
            return 1 if code < 0x80 else 2 if code < 0x800 else 3 if code < 0x10000 else 4
        return 2 if code > 0xFFFF else 1


class DataCache:
    """A cache of the data files that `folders` find and read. `renewed` returns the same object if the data is
    unchanged, and otherwise a new one with the unchanged part."""

    def __init__(self, folders: DataFolders) -> None:
        self.folders = folders
        self._stamps: dict[Path, Stamp] = {}
        self._names: dict[Path, tuple[str, ...]] = {}
        """The entries of searched folders. Saving another file changes a folder's stamp but not the result of a
        search.
        """
        self._files: dict[tuple[str, str], list[ResolvedFile] | DataError] = {}
        self._rows: dict[Path, list[dict[str, Any]] | DataError] = {}
        self._documents: dict[Path, Any] = {}

    def find(self, source: str, near: str) -> list[ResolvedFile]:
        """Return the files that `source` matches. Raises `DataError`."""
        key = (source, Path(near).parent.as_posix())
        if key not in self._files:
            access = self.folders.access
            for folder in (Path(near).parent, *self.folders.folders):
                for looked_into in (folder, (folder / source).parent):
                    if access is None or access.allows(looked_into):
                        self._note_folder(looked_into)
            try:
                self._files[key] = self.folders.find(source, near)
            except DataError as error:
                self._files[key] = error
        found = self._files[key]
        if isinstance(found, DataError):
            raise found.with_traceback(None)
        for file in found:
            self._note(Path(file.location))
        return found

    def rows(self, file: ResolvedFile) -> Iterator[dict[str, Any]]:
        """Yield the raw records of a file, with the columns of joined files. Raises `DataError`."""
        yield from joined_rows(file, self._own_rows)

    def _own_rows(self, file: ResolvedFile) -> Iterator[dict[str, Any]]:
        file, path = replace(file, joined=()), Path(file.location)
        stamp = self._note(path)
        if stamp is not None and stamp[1] > MOST_BYTES:
            yield from self.folders.rows(file)
            return
        if path not in self._rows:
            try:
                self._rows[path] = list(self.folders.rows(file))
            except DataError as error:
                self._rows[path] = error
        kept = self._rows[path]
        if isinstance(kept, DataError):
            raise kept.with_traceback(None)
        yield from kept

    def medium(self, file: ResolvedFile, kind: MediumKind, value: Any) -> str:
        """Return the reference to the medium that a cell contains or names. Raises `UnfitMedium`."""
        if isinstance(value, str):
            self._note(Path(file.location).parent / value)
        return self.folders.medium(file, kind, value)

    def document(self, file: ResolvedFile) -> Any:
        """Return the content of a JSON or YAML file. Raises `DataError`."""
        path = Path(file.location)
        self._note(path)
        if path not in self._documents:
            try:
                self._documents[path] = self.folders.document(file)
            except DataError as error:
                self._documents[path] = error
        kept = self._documents[path]
        if isinstance(kept, DataError):
            raise kept.with_traceback(None)
        return kept

    def placed(self, file: ResolvedFile) -> Any:
        """Return the content of a JSON or YAML file with the lines of its texts. Not cached, since it is only needed
        for invalid files. Raises `DataError`."""
        return self.folders.placed(file)

    def renewed(self) -> DataCache:
        """Return this cache if all files and folders are unchanged, or else a new one."""
        now = {path: stamp for path, old in self._stamps.items() if (stamp := _stamp(path)) != old}
        paths = {path for path in now if path not in self._names or _names(path) != self._names[path]}
        if not paths:
            self._stamps.update(now)
            return self
        other = DataCache(self.folders)
        for kept, target in ((self._rows, other._rows), (self._documents, other._documents)):
            target.update({path: what for path, what in kept.items() if path not in paths})
        other._stamps.update({path: self._stamps[path] for path in (*other._rows, *other._documents)})
        return other

    def _note(self, path: Path) -> Stamp:
        if path not in self._stamps:
            self._stamps[path] = _stamp(path)
        return self._stamps[path]

    def _note_folder(self, path: Path) -> None:
        if path not in self._stamps:
            self._note(path)
            self._names[path] = _names(path)


def _names(path: Path) -> tuple[str, ...]:
    try:
        with os.scandir(path) as entries:
            return tuple(sorted(entry.name for entry in entries))
    except (OSError, ValueError):
        return ()


def _stamp(path: Path) -> Stamp:
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


@dataclass(frozen=True)
class Document:
    """One version of an open document. `path` is its path for the compiler."""

    uri: str
    path: str
    text: str
    version: int
    encoding: Encoding

    @cached_property
    def lines(self) -> Lines:
        """The lines of the document."""
        return Lines(self.text, self.encoding)

    def changed(self, changes: Iterable[TextDocumentContentChangeEvent]) -> str:
        """Return the text after changes, applied in order."""
        text, lines = self.text, self.lines
        for change in changes:
            if isinstance(change, TextDocumentContentChangePartial):
                start, end = lines.offset(change.range.start), lines.offset(change.range.end)
                text = text[:start] + change.text + text[max(start, end) :]
            else:
                text = change.text
            lines = Lines(text, self.encoding)
        return text


@dataclass(frozen=True)
class _DiskText:
    stamp: tuple[int, int]
    text: str


class Documents:
    """All open documents, by URI and by path, and the other files of the disk."""

    def __init__(self, encoding: Encoding = "utf-16") -> None:
        self.encoding = encoding
        self.home = Path.cwd().as_posix()
        """The folder of documents without a file."""
        self._open: dict[str, Document] = {}
        self._paths: dict[str, str] = {}
        self._disk: dict[str, _DiskText] = {}

    def __iter__(self) -> Iterator[Document]:
        return iter(self._open.values())

    def path_of(self, uri: str) -> str:
        """Return the path of a document for the compiler. A document that was never saved gets a path in the home
        folder; any other without a file keeps its URI."""
        parts = urlsplit(uri)
        found = to_fs_path(uri) if parts.scheme == "file" else None
        if parts.scheme == "untitled":
            found = str(Path(self.home, unquote(parts.path)))
        return Path(os.path.normpath(found)).as_posix() if found is not None else uri

    def uri_of(self, path: str) -> str:
        """Return the URI of a file, as the editor writes it if it is open."""
        return self._paths.get(path) or from_fs_path(path) or path

    def put(self, uri: str, text: str, version: int) -> Document:
        """Open a document, or update its text."""
        document = Document(uri, self.path_of(uri), text, version, self.encoding)
        self._open[uri] = document
        self._paths[document.path] = uri
        return document

    def remove(self, uri: str) -> Document | None:
        """Close a document."""
        document = self._open.pop(uri, None)
        if document is not None and self._paths.get(document.path) == uri:
            del self._paths[document.path]
        return document

    def find(self, uri: str) -> Document | None:
        """Return an open document by its URI."""
        return self._open.get(uri)

    def at(self, path: str) -> Document | None:
        """Return an open document by its path."""
        uri = self._paths.get(path)
        return self._open.get(uri) if uri is not None else None

    def read(self, path: str) -> str:
        """Return the current text of a file. An unchanged text is the same object. Raises `OSError` or
        `UnicodeDecodeError`."""
        document = self.at(path)
        if document is not None:
            return document.text
        found = Path(path).stat()
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", path)
        if found.st_size > MOST_TEXT_BYTES:
            raise OSError(errno.EFBIG, f"it has more than {MOST_TEXT_BYTES:,} bytes", path)
        stamp = (found.st_mtime_ns, found.st_size)
        disk_text = self._disk.get(path)
        if disk_text is None or disk_text.stamp != stamp:
            disk_text = self._disk[path] = _DiskText(stamp, Path(path).read_bytes().decode("utf-8"))
        return disk_text.text

    def find_text(self, path: str) -> str | None:
        """Return the text of a file, or None if it cannot be read."""
        try:
            return self.read(path)
        except (OSError, ValueError):
            return None
