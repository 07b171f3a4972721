"""Housekeeping: takes away what nobody reads any more, and never what a living process may still need."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tripos_warehouse.errors import unwritable
from tripos_warehouse.ledger import INDEX_CACHE_SUFFIX, RUN_CACHE_SUFFIX, SHELF, UNUSED_S, said_of
from tripos_warehouse.store import (
    COMMITS,
    JOURNAL,
    LIST,
    PARTS,
    PARTS_LOCK,
    REJECTED,
    RESULTS,
    WORKS,
    RowIndex,
    Store,
    collect_objects,
    has_all,
    lies_in,
    place_of,
    segments,
    stem_of,
)
from tripos_warehouse.upkeep.media import collect_media, unneeded_media
from tripos_warehouse.views import CACHE, stale_files

GRACE_S = 3600.0
"""Readers may have opened what was replaced so long ago."""

_GENERATED = re.compile(r"\d{8}T\d{12}-[0-9a-f]{12}")
"""A name that we made up. A commit with a name that was given stays for ever, or the name could be committed twice."""


@dataclass(frozen=True)
class Removed:
    """A file that was taken away, or would be: its path below the store, its size in bytes, and why."""

    path: str
    size: int
    why: str


def collect(store: Store, grace_s: float = GRACE_S, *, dry_run: bool = False) -> list[Removed]:
    """Remove what nobody reads and is older than `grace_s`, and say what; with `dry_run` it only says it.

    What a process that died had kept is committed first. Raises `StoreError`: S0102 where the disk refuses, S0103 and
    S0104 for a commit that cannot be read, since nobody knows then what is needed.
    """
    try:
        if not dry_run:
            store.recover()
        gone = [
            removed
            for found in (
                _replaced,
                _orphans,
                _temporary,
                _stale_works,
                _unused_indexes,
                _of_gone,
                unneeded_media,
            )
            for removed in _remove(store, found(store, grace_s), dry_run)
        ]
        if store.bucket is not None:
            gone += [Removed(*each) for each in collect_media(store, store.bucket, grace_s, dry_run=dry_run)]
            gone += [Removed(*each) for each in collect_objects(store.bucket, dry_run=dry_run)]
        return gone
    except OSError as error:
        raise unwritable(store.root, error) from error


def _remove(store: Store, found: Iterator[tuple[Path, str]], dry_run: bool) -> Iterator[Removed]:
    for path, why in found:
        if not lies_in(store.root, path):
            continue
        with suppress(FileNotFoundError):
            size = path.lstat().st_size
            if not dry_run:
                path.unlink()
            yield Removed(path.relative_to(store.root).as_posix(), size, why)


def _age(store: Store, path: Path) -> float:
    """Return seconds since the file was written; less than none for one that is gone."""
    try:
        return store.now.timestamp() - path.lstat().st_mtime
    except FileNotFoundError:
        return -1.0


def _replaced(store: Store, grace_s: float) -> Iterator[tuple[Path, str]]:
    """Commits that were compacted a while ago, and the parts that nobody can still have open."""
    commits = {commit.name: commit for commit in store.all_commits()}
    needed = {part.path for commit in store.commits() for part in commit.parts}
    compactions = []
    for commit in commits.values():
        if commit.replaces and _age(store, store.root / COMMITS / f"{commit.name}.json") > grace_s:
            compactions.append(commit)
        elif commit.replaces:
            needed.update(part.path for name in commit.replaces if name in commits for part in commits[name].parts)
    for commit in compactions:
        waiting = set(segments(store.root))
        why = f"replaced by {commit.name}"
        for old in (commits[name] for name in commit.replaces if name in commits):
            for part in old.parts:
                if part.path not in needed:
                    yield store.root / part.path, why
            if _GENERATED.fullmatch(old.name) and old.name not in waiting:
                yield store.root / COMMITS / f"{old.name}.json", why


def _orphans(store: Store, grace_s: float) -> Iterator[tuple[Path, str]]:
    """Yield parts that no commit lists, and whose writer does not live any more."""
    listed = {part.path for commit in store.all_commits() for part in commit.parts}
    orphans: dict[str, list[Path]] = {}
    for path in sorted((store.root / PARTS).glob("*/*.parquet")):
        if path.relative_to(store.root).as_posix() not in listed and _age(store, path) > grace_s:
            orphans.setdefault(stem_of(path), []).append(path)
    for stem, paths in orphans.items():
        place = place_of(PARTS_LOCK, stem)
        if not store.locks.hold(place):
            continue
        try:
            # Its writer may have published it between our look at the commits and the lock.
            listed = {part.path for commit in store.all_commits() for part in commit.parts}
            for path in paths:
                if path.relative_to(store.root).as_posix() not in listed:
                    yield path, "no commit lists it"
        finally:
            store.locks.free(place)


def _temporary(store: Store, grace_s: float) -> Iterator[tuple[Path, str]]:
    """Yield files that were on their way to something else when their writer died."""
    below = (COMMITS, f"{JOURNAL}/{REJECTED}", WORKS, CACHE)
    folders = [*sorted((store.root / PARTS).glob("*")), *(store.root / each for each in below)]
    finished = {COMMITS: ".json", CACHE: ".json", REJECTED: ".jsonl", WORKS: RUN_CACHE_SUFFIX}
    for folder in folders:
        for path in sorted(folder.glob("*")):
            if path.suffix == finished.get(folder.name, ".parquet"):
                continue
            if not path.is_file() or _age(store, path) <= grace_s:
                continue
            place = place_of(LIST, path.name)
            if store.locks.hold(place):
                try:
                    yield path, "half written"
                finally:
                    store.locks.free(place)


def _unused_indexes(store: Store, grace_s: float) -> Iterator[tuple[Path, str]]:
    """Indexes that nobody read for a long time, and what is left of some that were not written to their end."""
    for path in sorted((store.root / SHELF).glob("*")):
        age_s = _age(store, path)
        if path.suffix == INDEX_CACHE_SUFFIX and age_s > max(grace_s, UNUSED_S):
            yield path, "an index that was not used for 30 days"
        elif path.suffix != INDEX_CACHE_SUFFIX and age_s > grace_s:
            yield path, "half written"


def _of_gone(store: Store, grace_s: float) -> Iterator[tuple[Path, str]]:
    """Yield what is kept of parts that are gone, and what is left of some that was not written to its end."""
    for path in stale_files(store):
        if _age(store, path) > grace_s:
            yield path, "made of a part that is gone"


def _stale_works(store: Store, grace_s: float) -> Iterator[tuple[Path, str]]:
    """Lists of work of which not every result is there: they save nobody anything."""
    lists = [path for path in sorted((store.root / WORKS).glob(f"*{RUN_CACHE_SUFFIX}")) if _age(store, path) > grace_s]
    if not lists:
        return
    indexes = []
    for table in RESULTS:
        index = RowIndex(table, None, store.root)
        index.load(store.parts(table))
        indexes.append(index)

    def is_kept(packed: bytes) -> bool:
        return has_all(indexes, packed)

    for path in lists:
        if said_of(path, is_kept) is None:
            yield path, "some of its results are not there"
