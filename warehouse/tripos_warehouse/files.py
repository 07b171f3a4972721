"""Files of an export: each appears whole or not at all, with its bytes counted and hashed on the way."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tripos_warehouse.errors import StoreError

SUFFIX = ".provenance.json"


@dataclass(frozen=True)
class Written:
    """A file that an export wrote: how many lines or rows it has, and the SHA-256 of its bytes."""

    path: Path
    rows: int
    sha256: str


@contextmanager
def appearing(path: Path) -> Iterator[Path]:
    """A path beside `path` to write to, which takes its place at the end; after a failure nothing is left of it.

    Folders that lack are made. Raises `StoreError` S0604 where the disk refuses.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with appearing(Path(folder) / "a" / "b.txt") as new:
    ...         _ = new.write_text("whole")
    ...     (Path(folder) / "a" / "b.txt").read_text()
    'whole'
    """
    new: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        os.close(handle)
        new = Path(name)
        yield new
        new.chmod(0o644)
        new.replace(path)
    except OSError as error:
        told = error.strerror or str(error)
        raise StoreError("S0604", f"cannot write `{path}`: {told}", "write it somewhere else") from error
    finally:
        if new is not None:
            with suppress(OSError):
                new.unlink(missing_ok=True)


def write_lines(path: Path, lines: Iterable[bytes]) -> Written:
    """Write lines, each of which gets a line feed. Raises `StoreError` S0604 where the disk refuses."""
    rows, hashed = 0, hashlib.sha256()
    with appearing(path) as new, new.open("wb") as file:
        for line in lines:
            whole = line + b"\n"
            file.write(whole)
            hashed.update(whole)
            rows += 1
    return Written(path, rows, hashed.hexdigest())


def beside(path: Path) -> Path:
    """Return where the provenance of a file stands.

    >>> beside(Path("train.jsonl")).name
    'train.jsonl.provenance.json'
    """
    return path.with_name(path.name + SUFFIX)
