"""Reads of logs that somebody else made: JSON with NaN, members of zip files, values of any type in any place."""

from __future__ import annotations

import json
import math
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from tripos.settings import MOST_BYTES, read_untrusted, read_untrusted_raw_lines
from tripos_compiler.language.library import in_bounds

MOST_MEMBER = 256 * 2**20
"""The most bytes of a member of an archive, unpacked."""
MOST_MEMBERS = 4_000_000
ZSTD = 93
LOCAL_HEADER = struct.Struct("<26xHH")
"""The lengths of the name and of the extra field, in the header before a member."""


def read_json(raw: bytes) -> Any:
    """Return what JSON says, also with NaN and Infinity, which some tools write. Raises `ValueError`, also where it is
    nested too deeply.

    >>> read_json(b'{"a": [1, NaN]}')["a"]
    [1, nan]
    """
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        try:
            return json.loads(raw)
        except RecursionError:
            raise ValueError("it is nested too deeply") from None


def read_json_file(path: Path, most: int) -> Any:
    """Return what a file of one JSON value says. Raises `OSError` as `read_untrusted` does, and `ValueError`."""
    return read_json(read_untrusted(path, most))


def read_lines(path: Path, most: int = MOST_BYTES) -> Iterator[tuple[Any, str | None]]:
    """Yield what each line of a file in JSON Lines says, or why it says nothing. Empty lines are left out. Raises
    `OSError` as `read_untrusted` does, also for a line of more than `most` bytes."""
    for line in read_untrusted_raw_lines(path, most):
        if line.strip():
            try:
                yield read_json(line), None
            except ValueError as error:
                yield None, str(error)


def read_lines_at(path: Path, most: int = MOST_BYTES) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file that are not empty, each with where it begins. Raises as `read_lines` does."""
    at = 0
    for line in read_untrusted_raw_lines(path, most):
        if line.strip():
            yield at, line
        at += len(line)


class Archive:
    """A zip file of JSON members, which are unpacked one by one, each once. Raises `ValueError` where it is none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.file = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, struct.error, EOFError, NotImplementedError) as error:
            raise ValueError(f"it is no zip file: {error}") from error
        if len(self.file.filelist) > MOST_MEMBERS:
            raise ValueError(f"it has more than {MOST_MEMBERS:,} members")
        self.file.filelist.clear()  # what was read of a member is in memory once, and until the member is unpacked

    def names(self) -> list[str]:
        """Return the names of the members that are left, each once."""
        return list(self.file.NameToInfo)

    def json(self, name: str) -> Any:
        """Return what a member says, and forget it. Raises `ValueError` where it is damaged, too large or no JSON."""
        info = self.file.NameToInfo.pop(name)
        if info.file_size > MOST_MEMBER:
            raise ValueError(f"it has more than {MOST_MEMBER:,} bytes")
        try:
            raw = self._zstd(info) if info.compress_type == ZSTD else self._unpacked(info)
        except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, RuntimeError) as error:
            raise ValueError(f"it is damaged: {error}") from error
        return read_json(raw)

    def _unpacked(self, info: zipfile.ZipInfo) -> bytes:
        with self.file.open(info) as member:
            raw = member.read(info.file_size + 1)
        return _checked(raw, info)

    def _zstd(self, info: zipfile.ZipInfo) -> bytes:
        import pyarrow

        file = self.file.fp
        assert file is not None
        file.seek(info.header_offset)
        name, extra = LOCAL_HEADER.unpack(file.read(LOCAL_HEADER.size))
        file.seek(info.header_offset + LOCAL_HEADER.size + name + extra)
        packed = file.read(min(info.compress_size, MOST_MEMBER))
        try:
            with pyarrow.input_stream(pyarrow.py_buffer(packed), compression="zstd") as stream:
                raw = stream.read(info.file_size + 1)
        except OSError as error:
            raise ValueError(f"it is damaged: {error}") from error
        return _checked(raw, info)

    def close(self) -> None:
        """Close the file."""
        self.file.close()


def _checked(raw: bytes, info: zipfile.ZipInfo) -> bytes:
    if len(raw) != info.file_size or zlib.crc32(raw) != info.CRC:
        raise ValueError("it is damaged: its length or its checksum is another")
    return raw


def mapping(value: Any) -> dict[str, Any]:
    """Return a value that is an object, and an empty one for any other."""
    return value if isinstance(value, dict) else {}


def entries(value: Any) -> list[Any]:
    """Return a value that is a list, and an empty one for any other."""
    return value if isinstance(value, list) else []


def text(value: Any) -> str | None:
    """Return a value that is a text, and a number as one; none for any other."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def count(value: Any) -> int | None:
    """Return a value that is a whole number from 0 on and that the store can keep; none for any other."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63 else None


def amount(value: Any) -> float | None:
    """Return a value that is a finite number from 0 on; none for any other."""
    found = finite(value)
    return found if found is not None and found >= 0 else None


def finite(value: Any) -> float | None:
    """Return a number that figures can be made of, also of true and false; none for any other value.

    >>> finite(True), finite(float("nan")), finite("1"), finite(10**400), finite(1.7e308)
    (1.0, None, None, None, None)
    """
    if not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if in_bounds(found) else None


def said_as_json(value: Any) -> str:
    """Return a value as JSON text; NaN is written as Python writes it."""
    try:
        return orjson.dumps(value).decode() if not _has_nan(value) else json.dumps(value, ensure_ascii=False)
    except (TypeError, orjson.JSONEncodeError):
        return json.dumps(value, ensure_ascii=True, default=str)


def _has_nan(value: Any) -> bool:
    match value:
        case float():
            return not math.isfinite(value)
        case dict():
            return any(map(_has_nan, value.values()))
        case list():
            return any(map(_has_nan, value))
    return False
