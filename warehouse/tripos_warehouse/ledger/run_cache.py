"""Works: the names of all results that a finished piece of work consists of, so that doing it again takes a look only.

A file has a header of one block, a line of JSON filled up with blanks, then 16 bytes a name (`keys.pack`), and at the
end, as JSON, what whoever finished the work said of it. The header has the SHA-256 of what follows. The file is written
beside its place while the work goes on, and moved there when all of it is done.
"""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from tripos_warehouse.errors import unwritable
from tripos_warehouse.store import LIST, SIZE, WORKS, Locks, check_name, open_plain, pack, place_of, sync

WORK_FORMAT = "tripos.work/2"
RUN_CACHE_SUFFIX = ".ids"
HEADER_BYTES = 512
_WAITING = 4096
_CHUNK = 2**18
"""So many names are compared at once: 4 MiB of them."""

IsKept = Callable[[bytes], bool]
"""Whether a store has every one of some packed names, with a status that needs no further try."""


class WorkList:
    """The list of one piece of work; `name` is a digest of what the work is."""

    def __init__(self, root: Path, name: str, locks: Locks, is_kept: IsKept) -> None:
        self._root = root
        self._path = root / WORKS / f"{check_name(name)}{RUN_CACHE_SUFFIX}"
        self._locks = locks
        self._is_kept = is_kept
        self._new: Path | None = None
        self._place = 0
        self._waiting: list[str] = []
        self._count = 0
        self._hash = hashlib.sha256()

    def finished(self) -> Mapping[str, Any] | None:
        """Return what was said of this work when it was finished, if the store has every result of it and none
        failed."""
        return said_of(self._path, self._is_kept)

    def add(self, ids: Iterable[str]) -> None:
        """Take further names. Raises `StoreError` S0102 where the disk refuses."""
        rest = iter(ids)
        while batch := list(islice(rest, _WAITING)):
            self._waiting.extend(batch)
            if len(self._waiting) >= _WAITING:
                self._write()

    def finish(self, said: Mapping[str, Any]) -> None:
        """Say that every name is kept, and `said`, which is JSON. Raises `StoreError` S0102 where the disk refuses."""
        self._write()
        new = self._new
        assert new is not None
        last = orjson.dumps(said)
        self._hash.update(last)
        told = {
            "format": WORK_FORMAT,
            "count": self._count,
            "said": len(last),
            "sha256": self._hash.hexdigest(),
        }
        try:
            with new.open("r+b") as file:
                file.write(_header(told))
                file.seek(HEADER_BYTES + SIZE * self._count)
                file.write(last)
                file.truncate()
                file.flush()
                os.fsync(file.fileno())
            new.replace(self._path)
            sync(self._path.parent)
        except OSError as error:
            raise unwritable(self._root, error) from error
        self._new = None
        self._locks.free(self._place)
        self._forget()

    def _forget(self) -> None:
        self._count = 0
        self._hash = hashlib.sha256()

    def abandon(self) -> None:
        """Forget the names of work that is not finished."""
        self._waiting.clear()
        self._forget()
        if self._new is not None:
            self._new.unlink(missing_ok=True)
            self._new = None
            self._locks.free(self._place)

    def _write(self) -> None:
        packed = pack(self._waiting)
        try:
            if self._new is None:
                new = self._path.with_suffix(f".{uuid.uuid4().hex[:12]}.tmp")
                new.parent.mkdir(exist_ok=True)
                self._place = place_of(LIST, new.name)
                self._locks.hold(self._place)
                new.write_bytes(_header({}))
                self._new = new
            with self._new.open("r+b") as file:
                # Not at the end: what an earlier try left half written is written over.
                file.seek(HEADER_BYTES + SIZE * self._count)
                file.write(packed)
        except OSError as error:
            raise unwritable(self._root, error) from error
        self._hash.update(packed)
        self._count += len(self._waiting)
        self._waiting.clear()


def said_of(path: Path, is_kept: IsKept) -> Mapping[str, Any] | None:
    """Return what a list says at its end; `None` where there is no whole list, or where something of it is not kept.

    >>> said_of(Path("nowhere.ids"), lambda packed: True) is None
    True
    """
    try:
        with open_plain(path) as file:
            told = orjson.loads(file.read(HEADER_BYTES))
            if told.get("format") != WORK_FORMAT:
                return None
            left = SIZE * told["count"]
            if path.stat().st_size != HEADER_BYTES + left + told["said"]:
                return None
            found = hashlib.sha256()
            while chunk := file.read(min(left, SIZE * _CHUNK)):
                left -= len(chunk)
                found.update(chunk)
                # In order, the searches in the index go from its beginning to its end and not all over it.
                if not is_kept(np.sort(np.frombuffer(chunk, dtype=f"V{SIZE}").view(f"S{SIZE}")).tobytes()):
                    return None
            last = file.read()
            found.update(last)
            said = orjson.loads(last)
            return said if isinstance(said, dict) and found.hexdigest() == told["sha256"] else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _header(told: dict[str, object]) -> bytes:
    return orjson.dumps(told).ljust(HEADER_BYTES - 1) + b"\n"
