"""The journal: rows that were kept and are not committed yet, on their way through a crash of the process.

A segment is a file of lines: the first says what wrote it, every other holds rows that were kept together, with their
checksum. A line is written with one call before `keep` returns, so it is in the hands of the operating system and
survives the process; one that breaks off was never acknowledged, unless the file was cut later. A segment has the name
of the commit that its rows will be.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import uuid
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import IO, Any

import orjson
import pyarrow as pa

from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.store.commits import is_name, tick
from tripos_warehouse.store.parts import Row, encodable, to_arrow
from tripos_warehouse.store.paths import read_plain
from tripos_warehouse.store.schemas import TABLES

JOURNAL = "journal"
JOURNAL_FORMAT = "tripos.journal/2"
SUFFIX = ".jsonl"
RESERVE_BYTES = 8 * 2**20
"""So much room is kept free for the replies to calls under way: 250 replies of 32 KiB."""
MOST_BYTES = 2**31
"""A segment is committed long before it has so many."""
REJECTED = "rejected"
"""The folder below the journal for lines that fit no table, so that they are neither lost nor tried for ever."""

_LINE = re.compile(rb'\{"crc32":"([0-9a-f]{8})","rows":(.*)\}', re.DOTALL)


class JournalSegment:
    """One open segment, to which only its owner appends. The owner has locked its name before it opens it."""

    def __init__(self, root: Path, name: str) -> None:
        """Raise `OSError`."""
        self.name = name
        self.path = root / JOURNAL / f"{name}{SUFFIX}"
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
        self._file = os.open(self.path, flags, 0o644)
        self._size = 0
        try:
            self.append(journal_head() + b"\n")
            tick(root)
        except BaseException:
            self.remove()
            raise

    def append(self, line: bytes) -> None:
        """Write a line, or nothing of it. Raises `OSError`; if the disk did not even let go of half a line, nothing may
        be appended to it."""
        try:
            written = os.write(self._file, line)
            while written < len(line):
                written += os.write(self._file, line[written:])
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._file, self._size)
            raise
        self._size += len(line)

    def close(self) -> None:
        """Leave the file as it is."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def remove(self) -> None:
        """Take the file away. Raises `OSError`."""
        self.close()
        self.path.unlink(missing_ok=True)


class Reserve:
    """Room on the disk of a store that nobody else gets, until it is freed for the journal: a disk that is full then
    takes the replies to the calls under way. It is a file without a name, so it goes with the process."""

    def __init__(self, root: Path) -> None:
        """Take half of what is free, and `RESERVE_BYTES` at most; or nothing, where the disk refuses."""
        self._file: IO[bytes] | None = None
        try:
            room = min(RESERVE_BYTES, shutil.disk_usage(root).free // 2)
            file = self._file = tempfile.TemporaryFile(dir=root / JOURNAL, buffering=0)  # noqa: SIM115 - until `free`
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, max(1, room))
            else:
                for _ in range(room // 2**16):
                    file.write(bytes(2**16))
        except OSError:
            self.free()

    def free(self) -> bool:
        """Let go of the room; return true if there was any."""
        file, self._file = self._file, None
        if file is not None:
            file.close()
        return file is not None


@dataclass(frozen=True)
class JournalContent:
    """The contents of a segment. `lines` are the rows that were kept together, by table, and `raw` the same as they
    stand in the file; `damaged` are lines that are not rows by table, or not those that were kept. `newer`: another
    Tripos wrote it, and it is left to that. `breaks_off`: its last line does, or it has none.
    """

    lines: tuple[dict[str, list[Row]], ...]
    raw: tuple[bytes, ...] = ()
    damaged: tuple[bytes, ...] = ()
    newer: bool = False
    breaks_off: bool = False


def journal_head(**more: str) -> bytes:
    """Return the first line of what has the form of a segment."""
    versions = {table.name: table.version for table in TABLES.values()}
    return orjson.dumps({"format": JOURNAL_FORMAT, "versions": versions, **more})


def segments(root: Path) -> list[str]:
    """Return the names of all segments, oldest first. What is no regular file, or has no name of a commit, is none."""
    try:
        with os.scandir(root / JOURNAL) as entries:
            found = [
                entry.name.removesuffix(SUFFIX)
                for entry in entries
                if entry.name.endswith(SUFFIX) and entry.is_file(follow_symlinks=False)
            ]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(filter(is_name, found))


def to_line(rows: Mapping[str, Sequence[Row]]) -> bytes:
    """Return the line that holds `rows`. Raises `StoreError` S0105 where they fit no table.

    >>> to_line({"run_items": [{"run_id": "r", "scenario": "QA", "item_id": "1"}]})
    b'{"crc32":"17b2574a","rows":{"run_items":[{"run_id":"r","scenario":"QA","item_id":"1"}]}}\\n'
    """
    try:
        text = orjson.dumps(rows, default=_mapping_as_dict, option=orjson.OPT_SERIALIZE_NUMPY)
    except TypeError:  # orjson's own error is one: a value that is no JSON, or a lone surrogate
        for table, batch in rows.items():
            to_arrow(table, batch)
        text = orjson.dumps(encodable(rows), default=_mapping_as_dict, option=orjson.OPT_SERIALIZE_NUMPY)
    return b'{"crc32":"%08x","rows":%b}\n' % (zlib.crc32(text), text)


def read_segment(path: Path) -> JournalContent:
    """Return the whole lines of a segment. Raises `OSError`."""
    return parse_segment(read_plain(path, MOST_BYTES))


def parse_segment(content: bytes) -> JournalContent:
    """Return the whole lines of these bytes of a segment."""
    *lines, rest = content.split(b"\n")
    if not lines:
        return JournalContent((), breaks_off=True)
    # The last line may have lost its line feed, or have another byte in its place.
    whole = next((line for line in (rest, rest[:-1]) if _rows_of(line) is not None), None)
    first, *lines = lines if whole is None else [*lines, whole]
    header = _object(first)
    if header is not None and isinstance(header.get("format"), str):
        if header["format"] != JOURNAL_FORMAT or _is_newer(header.get("versions")):
            return JournalContent((), newer=True)
        damaged = []
    else:
        damaged = [first]
    rows, raw = [], []
    for line in lines:
        if (found := _rows_of(line)) is None:
            damaged.append(line)
        else:
            rows.append({table: _with_times(table, batch) for table, batch in found.items()})
            raw.append(line)
    return JournalContent(tuple(rows), tuple(raw), tuple(damaged), breaks_off=bool(rest) and whole is None)


def _rows_of(line: bytes) -> dict[str, list[Any]] | None:
    """Return the rows of a line by table; None where it holds none, or others than were written."""
    found = _LINE.fullmatch(line)
    if found is None or zlib.crc32(found[2]) != int(found[1], 16):
        return None
    rows = _object(found[2])
    return rows if rows is not None and all(map(_is_batch, rows.values())) else None


def merge(lines: Sequence[Mapping[str, Sequence[Row]]]) -> dict[str, list[Row]]:
    """Return the rows of all lines, by table, in order."""
    merged: dict[str, list[Row]] = {}
    for line in lines:
        for table, batch in line.items():
            merged.setdefault(table, []).extend(batch)
    return merged


def set_aside(root: Path, name: str, lines: Sequence[bytes]) -> None:
    """Put lines that fit no table where nothing reads them, under the segment's name. Raises `OSError`."""
    folder = root / JOURNAL / REJECTED
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}{SUFFIX}"
    new = path.with_suffix(f".{uuid.uuid4().hex[:12]}.tmp")
    new.write_bytes(b"".join(line + b"\n" for line in lines))
    new.replace(path)


def _mapping_as_dict(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(type(value).__name__)


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None


def _is_batch(batch: Any) -> bool:
    return isinstance(batch, list) and all(isinstance(row, dict) for row in batch)


def _is_newer(versions: Any) -> bool:
    if not isinstance(versions, dict):
        return True
    return any(
        table not in TABLES or type(version) is not int or version > TABLES[table].version
        for table, version in versions.items()
    )


def _with_times(table: str, batch: list[Any]) -> list[Row]:
    if table not in TABLES:
        return batch
    times = [field.name for field in TABLES[table].schema if pa.types.is_timestamp(field.type)]
    for row in batch:
        for name in times:
            if isinstance(text := row.get(name), str):
                try:
                    row[name] = datetime.fromisoformat(text)
                except ValueError:
                    continue  # it fits no table, and whoever commits it says so
    return batch
