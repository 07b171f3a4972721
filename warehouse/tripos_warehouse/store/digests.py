"""Digests: what the content of a file of a store should be, so that a byte which changed is seen.

A part has its SHA-256 in the commit that lists it, a small file of JSON has its own within itself (`sealed`), and a
line of a journal begins with its checksum (`store/journal.py`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from tripos_warehouse.store.paths import open_plain

VERIFIED_BYTES = 16 * 2**20
"""A store whose parts have so many bytes at most is held to its digests whenever it is opened: that takes about 10 ms.
A larger one is by `tripos store check`, and by whoever writes what it reads once more."""
SEAL = "sha256"
"""The field of a sealed object with the SHA-256 of the other fields."""


class HashingFile:
    """A file that is written from its beginning to its end, and hashed on the way, so that nobody need read it again
    to know its digest."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self._size = 0

    @property
    def closed(self) -> bool:
        """Return true if nothing more can be written."""
        return self._file.closed

    def write(self, data: bytes) -> int:
        """Write bytes. Raises `OSError`."""
        written = self._file.write(data)
        self._hash.update(data)
        self._size += written
        return written

    def tell(self) -> int:
        """Return how many bytes were written."""
        return self._size

    def flush(self) -> None:
        """Hand everything to the operating system. Raises `OSError`."""
        self._file.flush()

    def close(self) -> None:
        """Leave the file open: whoever opened it syncs and closes it."""

    def hexdigest(self) -> str:
        """Return the SHA-256 of what was written."""
        return self._hash.hexdigest()


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a regular file. Raises `OSError`."""
    with open_plain(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sealed(body: Mapping[str, Any], *, lines: bool = True) -> bytes:
    """Return an object as JSON, with a last field that has the SHA-256 of the others; with `lines` a field a line.

    >>> unsealed(sealed({"serial": 7}))
    {'serial': 7}
    >>> unsealed(sealed({"serial": 7}).replace(b"7", b"8", 1))
    Traceback (most recent call last):
    ValueError: its content is not what was written
    """
    option = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE if lines else 0
    return orjson.dumps({**body, SEAL: _seal(body)}, option=option)


def unsealed(content: bytes, *, required: bool = True) -> dict[str, Any]:
    """Return the object that these bytes hold, without its seal. One that was written before there were seals has
    none, which is no fault unless it is `required`. Raises `ValueError` where they hold no object, or another one than
    was sealed."""
    body = orjson.loads(content)
    if not isinstance(body, dict):
        raise ValueError("it holds no object")
    seal = body.pop(SEAL, None)
    if seal != _seal(body) and (required or seal is not None):
        raise ValueError("its content is not what was written")
    return body


def _seal(body: Mapping[str, Any]) -> str:
    return hashlib.sha256(orjson.dumps(body, option=orjson.OPT_SORT_KEYS)).hexdigest()
