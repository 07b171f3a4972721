"""Which benchmark a file is part of: the main files that use it, themselves or by way of others."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tripos.config import NAME
from tripos.language_server.documents import SUFFIX, Documents
from tripos_compiler.program import beside
from tripos_compiler.syntax.pieces import pieces

BENCHMARK = re.compile(r"benchmark\b(?!\s*[=(.])")
USE = re.compile(r'(?:^|,)\s*use\s*"([^"\n]*)"')
TELLING = re.compile(r"^[^\S\n]*(?:use|benchmark)\b.*$", re.MULTILINE)
"""The lines of which a header is read; while they are the same, so is it."""
PASSED = frozenset({"node_modules", "__pycache__", "site-packages", "venv"})
"""Folders that hold no specs of the project's; neither do those whose name begins with a dot."""
MOST_FILES = 2_000
"""So many spec files of a workspace are looked at."""
MOST_FOLDERS = 20_000
"""So many folders are searched for them."""
ROOTS = (NAME, ".git", ".hg")
"""What lies in the topmost folder of a project."""


@dataclass(frozen=True)
class Header:
    """What a file says of itself: whether it declares a benchmark, and the paths that it uses."""

    main: bool
    uses: tuple[str, ...]


def header_of(path: str, text: str) -> Header:
    """The header of a text.

    >>> header_of("b/x.tripos", 'use "../y.tripos"\\nbenchmark x "1.0.0" { languages en }').uses
    ('y.tripos',)
    """
    main, uses = False, []
    for piece in pieces(text):
        start = text[piece.start : piece.start + len("benchmark ")]
        main = main or BENCHMARK.match(start) is not None
        if start.startswith(("use", "benchmark")):
            uses += [beside(path, used) for used in USE.findall(text[piece.start : piece.end])]
    return Header(main, tuple(uses))


class Membership:
    """Looks through folders and reads headers once, and again when it is told that something changed."""

    def __init__(self, documents: Documents) -> None:
        self.documents = documents
        self.folders: tuple[str, ...] = ()
        """The folders of the workspace."""
        self._found: set[str] | None = None
        self._near: dict[str, tuple[str, ...]] = {}
        self._headers: dict[str, tuple[list[str], Header] | None] = {}
        self._mains: dict[str, list[str]] = {}

    def refresh(self) -> None:
        """Files on disk came, went or changed."""
        self._found = None
        self._near.clear()
        self._headers.clear()
        self._mains.clear()

    def changed(self, path: str) -> None:
        """A document was opened, closed or has another text."""
        known = self._headers.pop(path, None)
        text = self.documents.find_text(path)
        if known is not None and text is not None and TELLING.findall(text) == known[0]:
            self._headers[path] = known
        else:
            self._mains.clear()

    def header(self, path: str) -> Header | None:
        """The header of a file; None where it cannot be read."""
        if path not in self._headers:
            text = self.documents.find_text(path)
            self._headers[path] = None if text is None else (TELLING.findall(text), header_of(path, text))
        known = self._headers[path]
        return known[1] if known is not None else None

    def files(self, path: str = "") -> list[str]:
        """Every spec file of the workspace and, where the one at `path` is in none, of its folder and those above."""
        if self._found is None:
            self._found = {each for folder in self.folders for each in _below(folder)}
        found = self._found | {each.path for each in self.documents if each.path.endswith(SUFFIX)}
        if path and path not in self._found:
            folder = Path(path).parent.as_posix()
            if folder not in self._near:
                self._near[folder] = tuple(_beside_and_above(Path(folder)))
            found |= {path, *self._near[folder]}
        return sorted(found)

    def mains(self, path: str) -> list[str]:
        """The main files of the benchmarks that a file is part of, itself where it is one; empty where it is none and
        no other uses it."""
        if path not in self._mains:
            self._mains[path] = self._mains_of(path)
        return self._mains[path]

    def _mains_of(self, path: str) -> list[str]:
        users: dict[str, list[str]] = {}
        headers = {each: header for each in self.files(path) if (header := self.header(each)) is not None}
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
    """The spec files below a folder, as many as are looked at, those that lie higher first."""
    waiting, count = [folder], 0
    for searched, here in enumerate(waiting):
        if searched >= MOST_FOLDERS or count >= MOST_FILES:
            return
        for entry in _entries(here):
            if entry.name.startswith(".") or entry.name in PASSED:
                continue
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
            elif entry.name.endswith(SUFFIX):
                count += 1
                yield Path(entry.path).as_posix()


def _beside_and_above(folder: Path) -> Iterable[str]:
    """The spec files of a folder and of those above it, up to the topmost of the project; of the folder alone where
    nothing tells which that is."""
    above = [folder, *folder.parents]
    top = next((index for index, each in enumerate(above) if any((each / root).exists() for root in ROOTS)), 0)
    for each in above[: top + 1]:
        yield from (Path(entry.path).as_posix() for entry in _entries(str(each)) if entry.name.endswith(SUFFIX))


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []
