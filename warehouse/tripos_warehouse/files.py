"""Files that appear whole or not at all, with their bytes counted and hashed on the way; and the version of the code
that kept files were computed by."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from tripos_warehouse.errors import StoreError

SUFFIX = ".provenance.json"
COMPUTES = ("tripos_compiler", "tripos_warehouse")
"""The packages whose code decides what views, boards and figures of a store are."""


@cache
def code_version(*packages: str) -> str:
    """Return a digest that changes with the code which computes figures and with what it computes by.

    It covers the name, time of change and size of every file of the compiler, the warehouse and further `packages`, and
    the versions of Python, DuckDB and NumPy. Whatever is kept of a computation is kept under this version.
    """
    found: list[object] = [sys.version, *(metadata.version(name) for name in ("duckdb", "numpy"))]
    for package in (*COMPUTES, *packages):
        spec = find_spec(package)
        for root in spec.submodule_search_locations or () if spec is not None else ():
            for folder, folders, names in os.walk(root):
                folders[:] = sorted(set(folders) - {"__pycache__", "node_modules"})
                for name in sorted(names):
                    stat = os.stat(os.path.join(folder, name))  # noqa: PTH116, PTH118 - a third of the time of paths
                    found.append((folder, name, stat.st_mtime_ns, stat.st_size))
    return hashlib.blake2b(repr(found).encode(), digest_size=16).hexdigest()


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
