"""The copy of a bucket's committed parts on this machine: a folder store like any other, which all readers read.

It only grows by what the catalog lists, under a lock of its own, and never goes back to an earlier catalog.
"""

from __future__ import annotations

import hashlib
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson

from tripos_warehouse.errors import StoreError
from tripos_warehouse.store.bucket.catalog import BucketPart, Catalog, newest_compaction
from tripos_warehouse.store.bucket.objects import Objects, at_once
from tripos_warehouse.store.commits import COMMITS, tick, to_json
from tripos_warehouse.store.locks import LIST, Locks, place_of

SERIAL = "catalog.json"
"""Says up to which catalog the folder is complete."""


class PartGoneError(Exception):
    """A part that the catalog listed is not there: it was compacted, and the catalog is an old one."""


class LocalCopy:
    """The folder of a bucket on this machine."""

    def __init__(self, root: Path, objects: Objects) -> None:
        self.root = root
        self._objects = objects

    def take(self, catalog: Catalog) -> None:
        """Make the folder show what a catalog lists, unless it shows a later one. Raises `PartGoneError`, `OSError` and
        what `Objects.get` does."""
        with self._alone():
            if self._serial() >= catalog.serial:
                return
            missing = [part for commit in catalog.commits for part in commit.parts if not self._has(part)]
            at_once(self._fetch, missing)
            folder = self.root / COMMITS
            listed = {commit.name for commit in catalog.commits}
            here = {path.stem for path in folder.glob("*.json")}
            newest = newest_compaction(catalog)
            for commit in catalog.commits:
                # Whatever this folder has and the catalog has not any more is in the newest compaction.
                gone = tuple(sorted(here - listed)) if commit.name == newest else ()
                if commit.name not in here or gone:
                    _write(folder / f"{commit.name}.json", to_json(commit.commit(gone)))
            _write(self.root / SERIAL, orjson.dumps({"serial": catalog.serial}))
            tick(self.root)

    def _serial(self) -> int:
        try:
            return int(orjson.loads((self.root / SERIAL).read_bytes())["serial"])
        except (OSError, ValueError, KeyError, TypeError):
            return -1

    def _has(self, part: BucketPart) -> bool:
        path = self.root / part.path
        return path.is_file() and path.stat().st_size == part.bytes

    def _fetch(self, part: BucketPart) -> None:
        held = self._objects.get(part.name)
        if held is None:
            raise PartGoneError(part.name)
        if hashlib.sha256(held.content).hexdigest() != part.sha256:
            hint = "restore the object from a backup: its content is not that which was committed"
            raise StoreError("S0103", f"`{self._objects.address}/{part.name}` was changed", hint)
        _write(self.root / part.path, held.content, mode=0o444)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        locks, place = Locks(self.root), place_of(LIST, SERIAL)
        try:
            while not locks.hold(place):
                time.sleep(0.01)
            yield
        finally:
            locks.close()


def _write(path: Path, content: bytes, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(f".{uuid.uuid4().hex[:12]}.tmp")
    new.write_bytes(content)
    new.chmod(mode)
    new.replace(path)
