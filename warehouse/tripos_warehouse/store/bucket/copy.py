"""The copy of a bucket's committed parts on this machine: a folder store like any other, which all readers read.

It only grows by what the catalog lists, under a lock of its own, and never goes back to an earlier catalog. Every part
is held to the digest that the catalog says: when it comes, and again where its file was touched since.
"""

from __future__ import annotations

import hashlib
import stat
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tripos_warehouse.errors import StoreError
from tripos_warehouse.store.bucket.catalog import BucketPart, Catalog, PartGoneError, newest_compaction, parts_of
from tripos_warehouse.store.bucket.objects import Objects, at_once
from tripos_warehouse.store.commits import COMMITS, Commit, number_of, read_commit, tick, to_json
from tripos_warehouse.store.digests import sealed, sha256_of, unsealed
from tripos_warehouse.store.folders import read_plain
from tripos_warehouse.store.locks import LIST, Locks, place_of

STATE = "catalog.json"
"""Says up to which catalog the folder is complete, and when each part was written that has the catalog's digest."""


class LocalCopy:
    """The folder of a bucket on this machine."""

    def __init__(self, root: Path, objects: Objects) -> None:
        self.root = root
        self._objects = objects
        self._replaced: dict[str, frozenset[str]] = {}
        """What compactions replace, as they stand in the folder."""
        self._verified: dict[str, int] = {}
        """When the file of a part was written whose content is what the catalog says, by its path."""

    def take(self, catalog: Catalog) -> None:
        """Make the folder show what a catalog lists, unless it shows a later one. Raises `PartGoneError`, `OSError` and
        what `Objects.get` does."""
        with self._alone():
            if (serial := self._read_state()) >= catalog.serial:
                return
            folder = self.root / COMMITS
            here = {path.stem for path in folder.glob("*.json") if serial >= 0 or self._is_whole(path)}
            # What a manifest lists was fetched before its commit was written here.
            looked_at = [each for each in catalog.commits if each.manifest is None or each.name not in here]
            found = at_once(lambda each: parts_of(self._objects, each), looked_at)
            parts = {each.name: some for each, some in zip(looked_at, found, strict=True)}
            every = [part for some in parts.values() for part in some]
            at_once(self._fetch, [part for part in every if not self._has(part)])
            gone = self._gone(catalog, here)
            newest = newest_compaction(catalog)
            for commit in catalog.commits:
                path = folder / f"{commit.name}.json"
                replaces = gone if commit.name == newest else frozenset()
                if commit.name not in here:
                    made = tuple(part.parquet for part in parts[commit.name])
                    listed = Commit(commit.name, commit.written_at, made, replaces=tuple(sorted(replaces)))
                    _write(path, to_json(listed))
                elif replaces:
                    known = read_commit(path)
                    replaces |= set(known.replaces)
                    _write(path, to_json(replace(known, replaces=tuple(sorted(replaces)))))
                if replaces:
                    self._replaced[commit.name] = replaces
            before = {part: at for part, at in self._verified.items() if (self.root / part).exists()}
            self._verified = before | {part.path: (self.root / part.path).stat().st_mtime_ns for part in every}
            _write(self.root / STATE, sealed({"serial": catalog.serial, "verified": self._verified}))
            tick(self.root)

    def forget(self) -> None:
        """Let the next `take` compare all of the folder with the catalog, and fetch what is gone or damaged."""
        with self._alone():
            (self.root / STATE).unlink(missing_ok=True)

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

    def _read_state(self) -> int:
        """Return the serial of the catalog up to which the folder is complete; -1 where it is of none."""
        try:
            state = unsealed(read_plain(self.root / STATE))
            serial, verified = int(state["serial"]), state.get("verified", {})
            self._verified = {str(path): int(at) for path, at in verified.items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            self._verified = {}
            return -1
        return serial

    def _is_whole(self, path: Path) -> bool:
        """Return true if the file of a commit can be read."""
        try:
            read_commit(path)
        except StoreError:
            self._replaced.pop(path.stem, None)
            return False
        return True

    def _has(self, part: BucketPart) -> bool:
        path = self.root / part.path
        try:
            found = path.lstat()
            if not stat.S_ISREG(found.st_mode) or found.st_size != part.bytes:
                return False
            return self._verified.get(part.path) == found.st_mtime_ns or sha256_of(path) == part.sha256
        except OSError:
            return False

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
        locks, place = Locks(self.root), place_of(LIST, STATE)
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
