"""The documents that are open in the editor, and the text of any spec file: theirs first, then what is on disk."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import unquote, urlsplit

from lsprotocol.types import TextDocumentContentChangeEvent, TextDocumentContentChangePartial
from pygls.uris import from_fs_path, to_fs_path

from tripos.language_server.positions import Encoding, Lines

SUFFIX = ".tripos"


@dataclass(frozen=True)
class Document:
    """One version of an open document. `path` is what the compiler calls it."""

    uri: str
    path: str
    text: str
    version: int
    encoding: Encoding

    @cached_property
    def lines(self) -> Lines:
        """Its lines."""
        return Lines(self.text, self.encoding)

    def changed(self, changes: Iterable[TextDocumentContentChangeEvent]) -> str:
        """The text after changes, each of which counts on the text that the one before it left."""
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
class _OnDisk:
    stamp: tuple[int, int]
    text: str


class Documents:
    """Every open document, by URI and by path, and the files beside them."""

    def __init__(self, encoding: Encoding = "utf-16") -> None:
        self.encoding = encoding
        self.home = Path.cwd().as_posix()
        """The folder that documents without a file are taken to lie in."""
        self._open: dict[str, Document] = {}
        self._paths: dict[str, str] = {}
        self._disk: dict[str, _OnDisk] = {}

    def __iter__(self) -> Iterator[Document]:
        return iter(self._open.values())

    def path_of(self, uri: str) -> str:
        """What the compiler calls a document. One that was never saved has a place in the home folder; one that is
        neither keeps its URI for a name."""
        parts = urlsplit(uri)
        found = to_fs_path(uri) if parts.scheme == "file" else None
        if parts.scheme == "untitled":
            found = str(Path(self.home, unquote(parts.path)))
        return Path(os.path.normpath(found)).as_posix() if found is not None else uri

    def uri_of(self, path: str) -> str:
        """The URI of a file: as the editor writes it where it is open."""
        return self._paths.get(path) or from_fs_path(path) or path

    def put(self, uri: str, text: str, version: int) -> Document:
        """Opens a document, or gives it another text."""
        document = Document(uri, self.path_of(uri), text, version, self.encoding)
        self._open[uri] = document
        self._paths[document.path] = uri
        return document

    def remove(self, uri: str) -> Document | None:
        """Closes a document."""
        document = self._open.pop(uri, None)
        if document is not None and self._paths.get(document.path) == uri:
            del self._paths[document.path]
        return document

    def find(self, uri: str) -> Document | None:
        """An open document."""
        return self._open.get(uri)

    def at(self, path: str) -> Document | None:
        """The open document of that path."""
        uri = self._paths.get(path)
        return self._open.get(uri) if uri is not None else None

    def read(self, path: str) -> str:
        """The text of a file as it is now, the same object as long as it is the same. Raises `OSError` or
        `UnicodeDecodeError`."""
        document = self.at(path)
        if document is not None:
            return document.text
        found = Path(path).stat()
        stamp = (found.st_mtime_ns, found.st_size)
        known = self._disk.get(path)
        if known is None or known.stamp != stamp:
            known = self._disk[path] = _OnDisk(stamp, Path(path).read_bytes().decode("utf-8"))
        return known.text

    def find_text(self, path: str) -> str | None:
        """The text of a file, None where it cannot be read."""
        try:
            return self.read(path)
        except (OSError, ValueError):
            return None
