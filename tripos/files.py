"""Reading of files that somebody else may have written: releases, grades, training data, plans; and writing of files
that the user names.

Only regular files are opened, so that no read blocks on a pipe or a device. Reads have a limit in bytes, and nesting
has a limit that lies below the limit of the interpreter's stack. Callers of the reading functions turn `OSError` and
`ValueError` into a `TriposError` with their own code.
"""

from __future__ import annotations

import errno
import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from tripos_compiler.errors import TriposError

MOST_BYTES = 64 * 2**20
"""The default limit of bytes for a file, or for a line of a file that is read line by line."""
MOST_DATA_BYTES = 2**31
"""The limit of bytes for a file with one row for each item, such as grades and training data."""
_OPENING = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def read_untrusted(path: Path, most: int = MOST_BYTES) -> bytes:
    """Return the bytes of a regular file, or of a link to one. Raises `OSError` if it is not a regular file, cannot be
    read, or has more than `most` bytes.

    >>> read_untrusted(Path("/dev/null"))
    Traceback (most recent call last):
    OSError: [Errno 22] it is no regular file: '/dev/null'
    """
    with opened_regular(path) as file:
        return read_limited(file, path, most)


def read_untrusted_json(path: Path, most: int = MOST_BYTES) -> Any:
    """Return the value of a JSON file. Raises `OSError` as `read_untrusted` does, and `ValueError` if it is not JSON or
    is nested more than 1,024 levels deep."""
    return orjson.loads(read_untrusted(path, most))


def read_untrusted_lines(path: Path, most: int = MOST_BYTES) -> Iterator[Any]:
    """Yield the values of a JSON Lines file, one line in memory at a time. A line has at most `most` bytes. Raises as
    `read_untrusted_json` does; `ValueError` names the line."""
    for number, line in enumerate(read_untrusted_raw_lines(path, most), 1):
        try:
            yield orjson.loads(line)
        except ValueError as error:
            raise ValueError(f"line {number} is not JSON: {error}") from error


def read_untrusted_raw_lines(path: Path, most: int = MOST_BYTES) -> Iterator[bytes]:
    """Yield the lines of a file, one in memory at a time. Raises `OSError` as `read_untrusted` does, and for a line of
    more than `most` bytes."""
    with opened_regular(path) as file:
        yield from iter_lines(file, path, most)


def read_limited(file: BinaryIO, path: Path, most: int) -> bytes:
    """Return the rest of a file. Raises `OSError` if it has more than `most` bytes."""
    raw = file.read(most + 1)
    if len(raw) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes", str(path))
    return raw


def iter_lines(file: BinaryIO, path: Path, most: int) -> Iterator[bytes]:
    """Yield the lines of a file. Raises `OSError` for a line of more than `most` bytes."""
    for number in count(1):
        line = file.readline(most + 1)
        if not line:
            return
        if len(line) > most:
            raise OSError(errno.EFBIG, f"line {number} has more than {most:,} bytes", str(path))
        yield line


@contextmanager
def opened_regular(path: Path) -> Iterator[io.BufferedReader]:
    """Open a regular file, or a link to one, without blocking. Raises `OSError` for anything else."""
    handle = os.open(path, _OPENING)
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        yield file


@contextmanager
def writing(path: Path, hint: str = "write it somewhere else") -> Iterator[None]:
    """Raise `TriposError` S0102 with this hint for an `OSError` of the block, which writes to `path`."""
    try:
        yield
    except OSError as error:
        raise TriposError("S0102", f"cannot write `{path}`: {error.strerror}", hint) from error


def write_file(path: Path, content: str | bytes) -> None:
    """Write a file, a text as UTF-8. Raises `TriposError` S0102 if it cannot be written."""
    with writing(path):
        if isinstance(content, str):
            path.write_text(content, "utf-8")
        else:
            path.write_bytes(content)
