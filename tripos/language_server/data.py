"""A reader of data files that looks at each of them once, for compilations that follow each other closely."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tripos_compiler.data import DataError, FoundFile
from tripos_runtime.datasets.data_folders import DataFolders

Stamp = tuple[int, int, int] | None
"""What tells that a file or folder is the one that was read; None where there was none."""
MOST_BYTES = 64 * 1024 * 1024
"""The rows of larger files are read again each time rather than kept."""


class KeptData:
    """What `folders` find and read, kept. The same object for as long as the data is the same: `renewed` gives another
    once it is not, which begins with what has not changed."""

    def __init__(self, folders: DataFolders) -> None:
        self.folders = folders
        self._stamps: dict[Path, Stamp] = {}
        self._names: dict[Path, tuple[str, ...]] = {}
        """What the folders hold that were looked into: saving a file beside touches a folder, and changes nothing."""
        self._found: dict[tuple[str, str], list[FoundFile] | DataError] = {}
        self._rows: dict[Path, list[dict[str, Any]] | DataError] = {}
        self._documents: dict[Path, Any] = {}

    def find(self, source: str, near: str) -> list[FoundFile]:
        """The files that `source` means. Raises `DataError`."""
        key = (source, Path(near).parent.as_posix())
        if key not in self._found:
            for folder in (Path(near).parent, *self.folders.folders):
                self._note_folder(folder)
                self._note_folder((folder / source).parent)
            try:
                self._found[key] = self.folders.find(source, near)
            except DataError as error:
                self._found[key] = error
        found = self._found[key]
        if isinstance(found, DataError):
            raise found.with_traceback(None)
        for file in found:
            self._note(Path(file.location))
        return found

    def rows(self, file: FoundFile) -> Iterator[dict[str, Any]]:
        """The raw records of a file. Raises `DataError`."""
        path = Path(file.location)
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

    def document(self, file: FoundFile) -> Any:
        """What a JSON or YAML file says. Raises `DataError`."""
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

    def placed(self, file: FoundFile) -> Any:
        """What a JSON or YAML file says, with the lines of its texts; not kept, for it is asked of broken files alone.
        Raises `DataError`."""
        return self.folders.placed(file)

    def renewed(self) -> KeptData:
        """This reader where every file and folder that it looked at is as it was; else one that looks again."""
        now = {path: stamp for path, old in self._stamps.items() if (stamp := _stamp(path)) != old}
        gone = {path for path in now if path not in self._names or _names(path) != self._names[path]}
        if not gone:
            self._stamps.update(now)
            return self
        other = KeptData(self.folders)
        for kept, target in ((self._rows, other._rows), (self._documents, other._documents)):
            target.update({path: what for path, what in kept.items() if path not in gone})
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
