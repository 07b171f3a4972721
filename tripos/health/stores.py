"""The store: whether it is there, can be written, and is in good shape."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tripos.health.checks import Check, ok, problem, warning
from tripos_warehouse.errors import StoreError
from tripos_warehouse.store.journal import segments
from tripos_warehouse.store.store import Store
from tripos_warehouse.upkeep.compaction import BIG_BYTES, MANY_COMMITS

SUBJECT = "store"
LITTLE, TOO_LITTLE = 2**30, 100 * 2**20
"""Bytes of free disk below which a run is warned, and below which it cannot go far."""
MANY_PARTS = 4 * MANY_COMMITS


def store_checks(root: Path, folder: Path) -> Iterator[Check]:
    """Looks at the store at `root`, which need not be there, seen from `folder`. Like every reader it first commits
    what a process that died had kept."""
    root = folder / root
    shown = root.relative_to(folder) if root.is_relative_to(folder) else root
    yield from _disk_checks(root)
    if not root.exists():
        yield ok(SUBJECT, "place", f"{shown}; the first run makes it")
        return
    yield from _write_checks(root)
    left = set(segments(root))
    try:
        store = Store.open(root, create=False)
        commits = store.commits()
        store.files()
    except StoreError as error:
        if error.code == "W0101":
            told = f"{shown} is a folder without a store; the first run makes one in it"
            yield ok(SUBJECT, "place", told)
        else:
            yield problem(SUBJECT, "place", f"[{error.code}] {error.message}", error.hint)
        return
    parts = [part for commit in commits for part in commit.parts]
    size = sum(part.size for part in parts)
    told = f"{shown}: {len(commits):,} commits, {len(parts):,} parts, {size / 2**20:,.1f} MiB"
    yield ok(SUBJECT, "place", told)
    after = set(segments(root))
    if recovered := left - after:
        were = "process" if len(recovered) == 1 else "processes"
        yield ok(SUBJECT, "journal", f"what {len(recovered)} {were} left behind is committed now")
    if alive := left & after:
        were = "process works" if len(alive) == 1 else "processes work"
        yield ok(SUBJECT, "journal", f"{len(alive)} other {were} on this store, or it cannot be written")
    small = [part for part in parts if part.size < BIG_BYTES]
    if len(commits) > MANY_COMMITS or len(small) > MANY_PARTS:
        yield warning(
            SUBJECT, "parts", f"{len(small):,} small parts in {len(commits):,} commits", "tripos store compact"
        )


def _disk_checks(root: Path) -> Iterator[Check]:
    place = next(each for each in (root, *root.absolute().parents) if each.exists())
    try:
        free = shutil.disk_usage(place).free
    except OSError as error:
        yield warning(SUBJECT, "disk", f"cannot be asked: {error.strerror}", "check the disk")
        return
    told = f"{free / 2**30:,.1f} GiB free"
    if free < TOO_LITTLE:
        yield problem(SUBJECT, "disk", told, "free some space, or choose another place with --store")
    elif free < LITTLE:
        yield warning(SUBJECT, "disk", told, "free some space before a long run")
    else:
        yield ok(SUBJECT, "disk", told)


def _write_checks(root: Path) -> Iterator[Check]:
    try:
        with tempfile.TemporaryFile(dir=root):
            pass
    except OSError as error:
        mend = "give yourself write access to it, or choose another with --store"
        yield problem(SUBJECT, "writing", f"{root} cannot be written: {error.strerror}", mend)
    else:
        yield ok(SUBJECT, "writing", "a file can be made there")
