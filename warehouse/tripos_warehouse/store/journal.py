"""The journal: rows that are written but not committed yet, so that they survive a crash of the process.

A segment is a file of lines. The first has the format and the versions of the tables; every other has rows that were
written together, with their checksum. A line is written to the file before `Ledger.keep` returns, so it survives the
process. An incomplete last line was never acknowledged, unless the file was truncated later. The name of a segment is
the name of its future commit.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import IO, Any

import orjson
import pyarrow as pa

from tripos_compiler.files import write_atomically
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.store.commits import bump_change_counter, is_name
from tripos_warehouse.store.parts import Row, encodable, to_arrow
from tripos_warehouse.store.paths import read_plain
from tripos_warehouse.store.schemas import TABLES

JOURNAL = "journal"
JOURNAL_FORMAT = "tripos.journal/2"
SUFFIX = ".jsonl"
RESERVE_BYTES = 8 * 2**20
"""Disk space reserved for replies to calls in flight: 250 replies of 32 KiB."""
MOST_BYTES = 2**31
"""The size limit when a segment is read. Segments are committed long before they reach it."""
REJECTED = "rejected"
"""The folder below the journal for lines that fit no table, so that they are neither lost nor tried again forever."""

_LINE = re.compile(rb'\{"crc32":"([0-9a-f]{8})","rows":(.*)\}', re.DOTALL)


class JournalSegment:
    """An open segment, to which only its owner appends. The owner locks its name before opening it."""

    def __init__(self, root: Path, name: str) -> None:
        """Create the file and write its first line. Raises `OSError`."""
        self.name = name
        self.path = root / JOURNAL / f"{name}{SUFFIX}"
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
        self._file = os.open(self.path, flags, 0o644)
        self._size = 0
        try:
            self.append(journal_head() + b"\n")
            bump_change_counter(root)
        except BaseException:
            self.remove()
            raise

    def append(self, line: bytes) -> None:
        """Write a complete line or nothing. Raises `OSError`; a partial line may remain if truncating the file fails
        too, and then nothing may be appended any more.
        """
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
        """Close the file and leave it in place."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def remove(self) -> None:
        """Remove the file. Raises `OSError`."""
        self.close()
        self.path.unlink(missing_ok=True)


class Reserve:
    """Disk space reserved for the journal, so that the replies to calls in flight can be stored even if the disk is
    full.

    The space is that of a file without a name, which disappears with the process.
    """

    def __init__(self, root: Path) -> None:
        """Reserve half of the free space, and at most `RESERVE_BYTES`; nothing if the file cannot be written."""
        self._file: IO[bytes] | None = None
        try:
            size = min(RESERVE_BYTES, shutil.disk_usage(root).free // 2)
            file = self._file = tempfile.TemporaryFile(dir=root / JOURNAL, buffering=0)  # noqa: SIM115 - until `free`
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, max(1, size))
            else:
                for _ in range(size // 2**16):
                    file.write(bytes(2**16))
        except OSError:
            self.free()

    def free(self) -> bool:
        """Release the space and return true if there was any."""
        file, self._file = self._file, None
        if file is not None:
            file.close()
        return file is not None


@dataclass(frozen=True)
class JournalContent:
    """The content of a segment.

    `lines`: rows that were written together, by table. `raw`: the same lines as bytes. `damaged`: lines that are not
    rows by table, or do not match their checksum. `newer`: the segment was written by a newer Tripos, and its lines are
    not read. `breaks_off`: the last line is incomplete, or there is none.
    """

    lines: tuple[dict[str, list[Row]], ...]
    raw: tuple[bytes, ...] = ()
    damaged: tuple[bytes, ...] = ()
    newer: bool = False
    breaks_off: bool = False


def journal_head(**more: str) -> bytes:
    """Return the first line of a segment, with the additional fields `more`."""
    versions = {table.name: table.version for table in TABLES.values()}
    return orjson.dumps({"format": JOURNAL_FORMAT, "versions": versions, **more})


def segments(root: Path) -> list[str]:
    """Return the names of all segments, oldest first. Other files and links are ignored."""
    try:
        with os.scandir(root / JOURNAL) as entries:
            names = [
                entry.name.removesuffix(SUFFIX)
                for entry in entries
                if entry.name.endswith(SUFFIX) and entry.is_file(follow_symlinks=False)
            ]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(filter(is_name, names))


def to_line(rows: Mapping[str, Sequence[Row]]) -> bytes:
    """Return the line with `rows`. Raises `StoreError` S0105 if they do not fit their tables.

    >>> to_line({"run_items": [{"run_id": "r", "scenario": "QA", "item_id": "1"}]})
    b'{"crc32":"17b2574a","rows":{"run_items":[{"run_id":"r","scenario":"QA","item_id":"1"}]}}\\n'
    """
    try:
        text = orjson.dumps(rows, default=_mapping_as_dict, option=orjson.OPT_SERIALIZE_NUMPY)
    except TypeError:  # orjson's error too: not a JSON value, or a lone surrogate
        for table, batch in rows.items():
            to_arrow(table, batch)
        text = orjson.dumps(encodable(rows), default=_mapping_as_dict, option=orjson.OPT_SERIALIZE_NUMPY)
    return b'{"crc32":"%08x","rows":%b}\n' % (zlib.crc32(text), text)


def read_segment(path: Path) -> JournalContent:
    """Return the complete lines of a segment. Raises `OSError`."""
    return parse_segment(read_plain(path, MOST_BYTES))


def parse_segment(content: bytes) -> JournalContent:
    """Return the complete lines in the bytes of a segment."""
    *lines, rest = content.split(b"\n")
    if not lines:
        return JournalContent((), breaks_off=True)
    # The last line may lack its line feed, or have another byte in its place.
    last = next((line for line in (rest, rest[:-1]) if _rows_of(line) is not None), None)
    first, *lines = lines if last is None else [*lines, last]
    header = _object(first)
    if header is not None and isinstance(header.get("format"), str):
        if header["format"] != JOURNAL_FORMAT or _is_newer(header.get("versions")):
            return JournalContent((), newer=True)
        damaged = []
    else:
        damaged = [first]
    rows, raw = [], []
    for line in lines:
        if (by_table := _rows_of(line)) is None:
            damaged.append(line)
        else:
            rows.append({table: _with_times(table, batch) for table, batch in by_table.items()})
            raw.append(line)
    return JournalContent(tuple(rows), tuple(raw), tuple(damaged), breaks_off=bool(rest) and last is None)


def _rows_of(line: bytes) -> dict[str, list[Any]] | None:
    """Return the rows of a line by table; None if the line is malformed or does not match its checksum."""
    match = _LINE.fullmatch(line)
    if match is None or zlib.crc32(match[2]) != int(match[1], 16):
        return None
    rows = _object(match[2])
    return rows if rows is not None and all(map(_is_batch, rows.values())) else None


def merge(lines: Sequence[Mapping[str, Sequence[Row]]]) -> dict[str, list[Row]]:
    """Return the rows of all lines by table, in order."""
    merged: dict[str, list[Row]] = {}
    for line in lines:
        for table, batch in line.items():
            merged.setdefault(table, []).extend(batch)
    return merged


def set_aside(root: Path, name: str, lines: Sequence[bytes]) -> None:
    """Write lines that fit no table to the folder of rejected lines, under the segment's name. Raises `OSError`."""
    folder = root / JOURNAL / REJECTED
    folder.mkdir(exist_ok=True)
    write_atomically(folder / f"{name}{SUFFIX}", b"".join(line + b"\n" for line in lines))


def _mapping_as_dict(value: Any) -> Any:
    """Return a mapping as a dictionary. Raises `TypeError` for any other value."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(type(value).__name__)


def _object(line: bytes) -> dict[str, Any] | None:
    """Return a JSON object; None if the line is not one."""
    try:
        parsed = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return parsed if isinstance(parsed, dict) else None


def _is_batch(batch: Any) -> bool:
    """Return true for a list of objects."""
    return isinstance(batch, list) and all(isinstance(row, dict) for row in batch)


def _is_newer(versions: Any) -> bool:
    """Return true if a segment has a table, or a version of one, that this Tripos does not know."""
    if not isinstance(versions, dict):
        return True
    return any(
        table not in TABLES or type(version) is not int or version > TABLES[table].version
        for table, version in versions.items()
    )


def _with_times(table: str, batch: list[Any]) -> list[Row]:
    """Convert the times of rows from text, in place, and return the rows."""
    if table not in TABLES:
        return batch
    times = [field.name for field in TABLES[table].schema if pa.types.is_timestamp(field.type)]
    for row in batch:
        for name in times:
            if isinstance(text := row.get(name), str):
                try:
                    row[name] = datetime.fromisoformat(text)
                except ValueError:
                    continue  # the row does not fit its table, which is reported at the commit
    return batch
