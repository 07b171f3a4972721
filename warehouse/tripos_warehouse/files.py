"""Files of exports, and the version of the code that computes cached files."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from tripos_compiler.files import atomic_path
from tripos_warehouse.errors import StoreError

SUFFIX = ".provenance.json"
"""The end of the name of a provenance file, after the name of its export."""
COMPUTES = ("tripos_compiler", "tripos_warehouse")
"""The packages whose code decides what views, boards and figures of a store are."""


@cache
def code_version(*packages: str) -> str:
    """Return a digest that changes with the code that computes figures, and with the libraries that it uses.

    It covers the name, modification time and size of every file of the compiler, the warehouse and further `packages`,
    and the installations of Python, DuckDB and NumPy. Everything cached is stored under this version.
    """
    inputs: list[object] = [sys.version]
    for library in ("duckdb", "numpy"):  # found without importing them or reading their metadata, which takes 10 ms
        spec = find_spec(library)
        if spec is not None and spec.origin is not None:
            inputs.append((spec.origin, Path(spec.origin).stat().st_mtime_ns))
    for package in (*COMPUTES, *packages):
        spec = find_spec(package)
        for root in spec.submodule_search_locations or () if spec is not None else ():
            for folder, folders, names in os.walk(root):
                folders[:] = sorted(set(folders) - {"__pycache__", "node_modules"})
                for name in sorted(names):
                    stat = os.stat(os.path.join(folder, name))  # noqa: PTH116, PTH118 - a third of the time of paths
                    inputs.append((folder, name, stat.st_mtime_ns, stat.st_size))
    return hashlib.blake2b(repr(inputs).encode(), digest_size=16).hexdigest()


@dataclass(frozen=True)
class Written:
    """A file that an export wrote, with the number of its lines or rows and the SHA-256 of its bytes."""

    path: Path
    rows: int
    sha256: str


@contextmanager
def export_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path for an export. At the end the file, which every user may read, replaces `path`.

    Missing folders are created. Raises `StoreError` S0604 if the file cannot be written.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with export_path(Path(folder) / "a" / "b.txt") as new:
    ...         _ = new.write_text("whole")
    ...     (Path(folder) / "a" / "b.txt").read_text()
    'whole'
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_path(path, mode=0o644) as new:
            yield new
    except OSError as error:
        text = error.strerror or str(error)
        raise StoreError("S0604", f"cannot write `{path}`: {text}", "write it somewhere else") from error


def write_lines(path: Path, lines: Iterable[bytes]) -> Written:
    """Write lines, with a line feed after each. Raises `StoreError` S0604 if the file cannot be written."""
    rows, hashed = 0, hashlib.sha256()
    with export_path(path) as new, new.open("wb") as file:
        for line in lines:
            terminated = line + b"\n"
            file.write(terminated)
            hashed.update(terminated)
            rows += 1
    return Written(path, rows, hashed.hexdigest())


def provenance_path(path: Path) -> Path:
    """Return the path of the provenance file of an export.

    >>> provenance_path(Path("train.jsonl")).name
    'train.jsonl.provenance.json'
    """
    return path.with_name(path.name + SUFFIX)
