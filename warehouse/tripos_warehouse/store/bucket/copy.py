"""The copy of a bucket's committed parts on this machine: a folder store like any other, which all readers read.

It only grows by what the catalog lists, under a lock of its own, and never goes back to an earlier catalog.
"""

from __future__ import annotations

import hashlib
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import orjson

from tripos_warehouse.errors import StoreError
from tripos_warehouse.store.bucket.catalog import BucketPart, Catalog, PartGoneError, newest_compaction, parts_of
from tripos_warehouse.store.bucket.objects import Objects, at_once
from tripos_warehouse.store.commits import COMMITS, Commit, number_of, read_commit, tick, to_json
from tripos_warehouse.store.locks import LIST, Locks, place_of

SERIAL = "catalog.json"
"""Says up to which catalog the folder is complete."""


class LocalCopy:
    """The folder of a bucket on this machine."""

    def __init__(self, root: Path, objects: Objects) -> None:
        self.root = root
        self._objects = objects
        self._replaced: dict[str, frozenset[str]] = {}
        """What compactions replace, as they stand in the folder."""

    def take(self, catalog: Catalog) -> None:
        """Make the folder show what a catalog lists, unless it shows a later one. Raises `PartGoneError`, `OSError` and
        what `Objects.get` does."""
        with self._alone():
            if self._serial() >= catalog.serial:
                return
            folder = self.root / COMMITS
            here = {path.stem for path in folder.glob("*.json")}
            # What a manifest lists was fetched before its commit was written here.
            looked_at = [each for each in catalog.commits if each.manifest is None or each.name not in here]
            found = at_once(lambda each: parts_of(self._objects, each), looked_at)
            parts = {each.name: some for each, some in zip(looked_at, found, strict=True)}
            at_once(self._fetch, [part for some in parts.values() for part in some if not self._has(part)])
            gone = self._gone(catalog, here)
            newest = newest_compaction(catalog)
            for new in catalog.commits:
                path = folder / f"{new.name}.json"
                replaces = gone if new.name == newest else frozenset()
                if new.name not in here:
                    made = tuple(part.parquet for part in parts[new.name])
                    _write(path, to_json(Commit(new.name, new.written_at, made, replaces=tuple(sorted(replaces)))))
                elif replaces:
                    known = read_commit(path)
                    replaces |= set(known.replaces)
                    _write(path, to_json(replace(known, replaces=tuple(sorted(replaces)))))
                if replaces:
                    self._replaced[new.name] = replaces
            _write(self.root / SERIAL, orjson.dumps({"serial": catalog.serial}))
            tick(self.root)

    def _gone(self, catalog: Catalog, here: set[str]) -> frozenset[str]:
        """Return what this folder has and the catalog has not any more, and no compaction here replaces: it is in the
        newest."""
        gone = here - {commit.name for commit in catalog.commits}
        for commit in catalog.commits if gone else ():
            if number_of(commit.name) and commit.name in here:
                if commit.name not in self._replaced:
                    path = self.root / COMMITS / f"{commit.name}.json"
                    self._replaced[commit.name] = frozenset(read_commit(path).replaces)
                gone -= self._replaced[commit.name]
        return frozenset(gone)

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
