"""Files that a store keeps of its parts: a part is never changed, so what was made of it holds as long as it is there.

A file is named by its part and the digest of that, by what made it, and by its own content, which is compared whenever
it is read: what a disk spoilt would be read like anything else. Before one is made, the part is held to its digest.
There is none of a small part, nor of one that an earlier Tripos wrote without a digest. The files are disposable.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from tripos_compiler.source import dataclass
from tripos_warehouse.query import duckdb
from tripos_warehouse.store import altered, is_plain, sha256_of, stem_of

LEAST_BYTES = 1_000_000
"""Of a part of fewer bytes nothing is kept: to look for its file would take as long as to read it."""


@dataclass(frozen=True)
class PartFiles:
    """The files of one kind, in one folder of the store at `root`; `digests` are those of its parts, and `made_by` is
    what makes a file of a part."""

    root: Path
    digests: Mapping[Path, str]
    folder: str
    made_by: str
    ending: str = "parquet"

    def names(self, parts: Sequence[Path]) -> dict[Path, str]:
        """Return the names of the files of the parts that have a digest and are not small. Raises `OSError`."""
        return {part: self.name(part) for part in parts if part in self.digests and self.is_large(part)}

    def is_large(self, part: Path) -> bool:
        """Return true if a part is not small. Raises `OSError`."""
        return part.stat().st_size >= LEAST_BYTES

    def name(self, part: Path) -> str:
        """Return the name of the file of a part that has a digest."""
        told = [part.relative_to(self.root).as_posix(), self.digests[part], self.made_by, duckdb.__version__]
        return hashlib.blake2b(repr(told).encode(), digest_size=16).hexdigest()

    def verify(self, part: Path) -> None:
        """Hold a part to its digest, of which a file is to be made. Raises `StoreError` S0103, and `OSError`."""
        if sha256_of(part) != self.digests[part]:
            raise altered(part, stem_of(part))

    def read(self, names: Mapping[Path, str]) -> dict[Path, Path]:
        """Return the file of each part that has one, whose content is what its name says. Makes the folder. Raises
        `OSError`."""
        folder = self.root / self.folder
        folder.mkdir(parents=True, exist_ok=True)
        there = {path.name.partition(".")[0]: path for path in folder.iterdir()}
        found = {part: there[name] for part, name in names.items() if name in there}
        return {part: path for part, path in found.items() if self._is_whole(path)}

    def _is_whole(self, path: Path) -> bool:
        with suppress(OSError):
            return is_plain(path) and path.name.split(".")[1:] == [digest_of(path), self.ending]
        return False

    def write(self, name: str, write: Callable[[Path], None]) -> Path:
        """Keep what `write` puts into a file, and return the file. Raises `OSError` and what `write` raises."""
        folder = self.root / self.folder
        temporary = folder / f"{os.urandom(16).hex()}.part"
        try:
            write(temporary)
            path = folder / f"{name}.{digest_of(temporary)}.{self.ending}"
            temporary.replace(path)
            return path
        finally:
            temporary.unlink(missing_ok=True)


def digest_of(path: Path) -> str:
    """Return the digest of a file's content. Raises `OSError`."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
