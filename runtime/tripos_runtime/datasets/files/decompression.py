"""The bytes of data files, decompressed, and no more of them than is allowed, nor nested more deeply."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, cast

from tripos_compiler.source import DataError
from tripos_runtime.datasets.trust import ReadLimits

PACKED = (".gz", ".zst")
PIECE = 2**20


def is_packed(path: Path) -> bool:
    """Return true if a file is compressed, by its name."""
    return path.suffix.casefold() in PACKED


def check_size(path: Path, shown: str, limits: ReadLimits) -> None:
    """Raise `DataError` for a file that has too many bytes as it lies there."""
    if (size := path.stat().st_size) > limits.data_bytes:
        raise too_large(shown, limits.data_bytes, f"{size:,} bytes")


def opened(path: Path, shown: str, limits: ReadLimits, most: int | None = None) -> IO[bytes]:
    """Return the bytes of a file, decompressed. Reading more than `most`, or else `data_bytes`, of a compressed file
    raises `DataError`."""
    inner: Any
    match path.suffix.casefold():
        case ".gz":
            inner = gzip.GzipFile(path)
        case ".zst":
            import pyarrow

            inner = pyarrow.input_stream(str(path), compression="zstd")
        case _:
            return path.open("rb")
    return cast("IO[bytes]", io.BufferedReader(_CountedBytes(inner, shown, most or limits.data_bytes), PIECE))


def whole(path: Path, shown: str, limits: ReadLimits) -> bytes:
    """Return all bytes of a file, decompressed. Raises `DataError` where there are more than `whole_bytes`."""
    most = min(limits.whole_bytes, limits.data_bytes)
    if path.stat().st_size > most:
        raise too_large(shown, most, f"{path.stat().st_size:,} bytes")
    with opened(path, shown, limits, most) as file:
        return file.read()


def lines_of(file: IO[bytes], shown: str, limits: ReadLimits, *, cut: bool = False) -> Iterator[bytes]:
    """Yield the lines of a file. Raises `DataError` for one that is too long, unless it may be `cut`."""
    most = limits.whole_bytes
    while line := file.readline(PIECE if cut else most + 1):
        if len(line) > most:
            raise too_large(f"a line of {shown}", most, f"more than {most:,} bytes")
        yield line


def too_large(shown: str, most: int, what: str) -> DataError:
    """Return the error for what has more bytes than may be read."""
    return DataError(f"{shown} is too large: it has {what}, and at most {most:,} are read", "split it, or cut it down")


class _CountedBytes(io.RawIOBase):
    """The bytes of a stream, up to so many."""

    def __init__(self, inner: Any, shown: str, most: int) -> None:
        self.inner = inner
        self.shown = shown
        self.most = most
        self.size = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self.inner.read(len(buffer))
        self.size += len(piece)
        if self.size > self.most:
            raise too_large(self.shown, self.most, f"more than {self.most:,} bytes once it is unpacked")
        buffer[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        if not self.closed:
            self.inner.close()
        super().close()


DEEPEST = 100


def check_nesting(value: Any, what: str) -> None:
    """Raise `DataError` where a value has lists or objects in each other, more than `DEEPEST` of them; `what` is what
    the value is called.

    >>> check_nesting({"a": [{"b": 1}]}, "record 1")
    """
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [each for inner in level for each in _inside(inner) if isinstance(each, dict | list)]
        if not level:
            return
    raise DataError(f"{what} is nested more than {DEEPEST} levels deep", "keep what is nested as text, or leave it out")


def _inside(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
