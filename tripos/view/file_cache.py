"""The files of a view that are kept for the next time: below a folder of their state, to which nothing comes back.

The folder may lie in a store, and a store may come from somebody else. So a file is taken only where it is a regular
file and no folder above it is a link, and the name of a state is made of this installation and the place of the store:
nobody who hands out a store knows it. A file has the SHA-256 of its content in its name, to which it is held.
"""

from __future__ import annotations

import glob
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path

import tripos_compiler
import tripos_warehouse
from tripos_compiler.diagnostics import reader_language
from tripos_warehouse.store import Store, is_plain, lies_in, sha256_of

STATES = 3
"""States that are kept: a page that began to read the tables of one can go on after the store has grown."""


def state_of(store: Store) -> str:
    """Return a name of the state of a store, as this installation shows it: it changes with every commit."""
    digest = hashlib.blake2b(f"{store.root}\n{_made_by()}".encode(), digest_size=8)
    names = sorted(path for paths in store.files().values() for path in map(str, paths))
    digest.update("\n".join(names).encode())
    return digest.hexdigest()


@cache
def _made_by() -> str:
    """Return what changes with the programs that make the files, and is another on every machine."""
    found = []
    for package in (Path(__file__).parent, Path(tripos_compiler.__file__), Path(tripos_warehouse.__file__)):
        root = package.parent
        for path in sorted(root.rglob("*.py")):
            if "node_modules" not in path.parts:
                stat = path.stat()
                found.append((str(path.relative_to(root)), stat.st_mtime_ns, stat.st_size))
    return hashlib.blake2b(repr((found, reader_language())).encode()).hexdigest()


class KeptFiles:
    """Files by their state and path: in `lasting` where there is such a folder and it can be written to, else in
    `folder`, which lasts as long as the process."""

    def __init__(self, folder: Path, lasting: Path | None = None) -> None:
        self._folders = [each.parent.resolve() / each.name for each in (lasting, folder) if each is not None]
        self._seen: set[str] = set()
        self._whole: dict[Path, int] = {}
        """When each file was written that has the content that its name says."""

    def find(self, state: str, path: str) -> Path | None:
        """Return where a file lies, if it does."""
        for folder in self._folders:
            place = folder / state / path
            for found in sorted(place.parent.glob(f"{glob.escape(place.name)}.*")):
                with suppress(OSError):
                    if is_plain(found) and lies_in(folder, found) and self._is_whole(found, place.name):
                        return found
        return None

    def _is_whole(self, path: Path, name: str) -> bool:
        written_at = path.stat().st_mtime_ns
        if self._whole.get(path) != written_at:
            if path.name != f"{name}.{sha256_of(path)}":
                return False
            self._whole[path] = written_at
        return True

    def read(self, state: str, path: str) -> bytes | None:
        """Return what is in a file, if there is one."""
        found = self.find(state, path)
        with suppress(OSError):
            return None if found is None else found.read_bytes()
        return None

    def write(self, state: str, path: str, make: Callable[[Path], object], *, lasts: bool = True) -> Path:
        """Have a file made at a path that `make` is given, and return where it lies then: whole, or not at all.
        `lasts` says whether another process may take it. Raises `OSError`, and what `make` does."""
        *lasting, temporary = self._folders
        if lasts and lasting:
            with suppress(OSError):
                return self._write(lasting[0], state, path, make)
        return self._write(temporary, state, path, make)

    def _write(self, folder: Path, state: str, path: str, make: Callable[[Path], object]) -> Path:
        place = folder / state / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if not lies_in(folder, place):
            raise OSError(f"`{place.parent}` leads out of `{folder}`")
        self._forget(folder, state)
        handle, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.")
        os.close(handle)
        try:
            make(Path(name))
            Path(name).chmod(0o644)
            named = place.with_name(f"{place.name}.{sha256_of(Path(name))}")
            Path(name).replace(named)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        return named

    def _forget(self, folder: Path, state: str) -> None:
        """Remove the oldest states, once for each state that comes."""
        if state in self._seen:
            return
        self._seen.add(state)
        with suppress(OSError):
            os.utime(folder / state)
            ages = {each: each.lstat().st_mtime_ns for each in folder.iterdir() if not each.is_symlink()}
            for old in sorted(ages, key=lambda each: ages[each])[:-STATES]:
                shutil.rmtree(old, ignore_errors=True)
