"""SHA-256 digests of the files of a store, by which changed bytes are detected.

The digest of a part is in the commit that lists it. A small JSON file carries its own (`sealed`). Each line of a
journal begins with its checksum (`store/journal.py`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from tripos_warehouse.store.paths import open_plain

VERIFIED_BYTES = 16 * 2**20
"""A store with at most this many bytes of parts is verified whenever it is opened, which takes about 10 ms. A larger
one is verified by `tripos store check`, and by commands that rewrite parts.
"""
SEAL = "sha256"
"""The field of a sealed object with the SHA-256 of the other fields."""


class HashingFile:
    """A file whose SHA-256 is computed while it is written from beginning to end, so that it need not be read again."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self._size = 0

    @property
    def closed(self) -> bool:
        """True if nothing more can be written."""
        return self._file.closed

    def write(self, data: bytes) -> int:
        """Write bytes and return how many. Raises `OSError`."""
        written = self._file.write(data)
        self._hash.update(data)
        self._size += written
        return written

    def tell(self) -> int:
        """Return the number of bytes that were written."""
        return self._size

    def flush(self) -> None:
        """Flush to the operating system. Raises `OSError`."""
        self._file.flush()

    def close(self) -> None:
        """Do nothing: the owner of the file syncs and closes it."""

    def hexdigest(self) -> str:
        """Return the SHA-256 of the bytes that were written."""
        return self._hash.hexdigest()


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a regular file. Raises `OSError`."""
    with open_plain(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sealed(body: Mapping[str, Any], *, lines: bool = True) -> bytes:
    """Return an object as JSON with a last field that has the SHA-256 of the others. With `lines`, each field has its
    own line.

    >>> unsealed(sealed({"serial": 7}))
    {'serial': 7}
    >>> unsealed(sealed({"serial": 7}).replace(b"7", b"8", 1))
    Traceback (most recent call last):
    ValueError: its content is not what was written
    """
    option = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE if lines else 0
    return orjson.dumps({**body, SEAL: _seal(body)}, option=option)


def unsealed(content: bytes, *, required: bool = True) -> dict[str, Any]:
    """Return the object in a sealed JSON file, without its seal.

    Files of earlier versions have no seal; a missing seal is an error only if it is `required`. Raises `ValueError` if
    the bytes are no JSON object, or if the object does not match its seal.
    """
    body = orjson.loads(content)
    if not isinstance(body, dict):
        raise ValueError("it holds no object")
    seal = body.pop(SEAL, None)
    if seal != _seal(body) and (required or seal is not None):
        raise ValueError("its content is not what was written")
    return body


def _seal(body: Mapping[str, Any]) -> str:
    """Return the SHA-256 of an object as JSON with sorted keys."""
    return hashlib.sha256(orjson.dumps(body, option=orjson.OPT_SORT_KEYS)).hexdigest()
