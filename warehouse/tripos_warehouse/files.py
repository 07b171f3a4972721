"""Atomic writes of export files: a file appears whole or not at all; its rows are counted and its bytes hashed."""

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
    """A file that an export wrote, with the number of its lines or rows and the SHA-256 of its bytes."""

    path: Path
    rows: int
    sha256: str


@contextmanager
def appearing(path: Path) -> Iterator[Path]:
    """Yield a temporary path in the same folder, which replaces `path` at the end. After a failure it is removed.

    Missing folders are created. Raises `StoreError` S0604 if the disk refuses.

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
    """Write lines, with a line feed after each. Raises `StoreError` S0604 if the disk refuses."""
    rows, hashed = 0, hashlib.sha256()
    with appearing(path) as new, new.open("wb") as file:
        for line in lines:
            whole = line + b"\n"
            file.write(whole)
            hashed.update(whole)
            rows += 1
    return Written(path, rows, hashed.hexdigest())


def beside(path: Path) -> Path:
    """Return the path of the provenance file of an export.

    >>> beside(Path("train.jsonl")).name
    'train.jsonl.provenance.json'
    """
    return path.with_name(path.name + SUFFIX)
