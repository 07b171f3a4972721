"""Compaction of small parts into large ones, superseded rows, and garbage collection.

A compaction is one commit that replaces the commits whose parts it merged. Its name contains its number, and a commit
is written only if its name is free: of two processes that start from the same state, one publishes a compaction. Rows
keep the order of their commits. A run works on its cases in order, so rows that belong together share a row group. If
rows were sorted by ids, which are hashes, the rows of one case would be in many groups, which all would have to be
decompressed to read them. The commit has the time of the latest one that it replaces, so that concurrent commits count
as later.

Garbage collection removes files that no process reads, and never a file that a living process may need.
"""

from __future__ import annotations

import re
import tempfile
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from obstore.exceptions import BaseError

from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse import sql
from tripos_warehouse.errors import StoreError, store_write_error, unreadable_table_error
from tripos_warehouse.ledger.ledger import RUN_CACHE_SUFFIX, read_summary
from tripos_warehouse.maintenance.media import collect_media, unneeded_media
from tripos_warehouse.query.connection import as_relation, duckdb
from tripos_warehouse.store.bucket.bucket import collect_objects
from tripos_warehouse.store.commits import COMMITS, ParquetPart, number_of
from tripos_warehouse.store.derived import CACHE, INDEX_CACHE_SUFFIX, INDEX_FOLDER, UNUSED_S
from tripos_warehouse.store.index import RESULT_TABLES, RowIndex, has_all, winner_order
from tripos_warehouse.store.journal import JOURNAL, REJECTED, segments
from tripos_warehouse.store.locks import COMPACTION, LIST, PARTS_LOCK, lock_offset
from tripos_warehouse.store.parts import (
    GROUP_ROWS,
    PARTS,
    check_part,
    check_schema,
    conform,
    has_wrong_statistics,
    layout,
    new_part,
    open_part,
    stem_of,
)
from tripos_warehouse.store.paths import lies_in
from tripos_warehouse.store.schemas import TABLES, TableSchema
from tripos_warehouse.store.store import FINISHED_WORK, Store
from tripos_warehouse.views.derived import stale_files

# Superseded rows
Numbers = npt.NDArray[np.int64]
"""Row numbers of a part, ascending."""
NO_ROWS: Numbers = np.empty(0, np.int64)


def open_database() -> duckdb.DuckDBPyConnection:
    """Return an in-memory DuckDB that sorts large tables in a temporary folder of its own."""
    folder = str(Path(tempfile.gettempdir()) / f"tripos-{uuid.uuid4().hex}")
    return duckdb.connect(":memory:", config={"temp_directory": folder, "autoload_known_extensions": False})


def superseded_rows(
    database: duckdb.DuckDBPyConnection, table: TableSchema, paths: Sequence[Path]
) -> dict[Path, Numbers]:
    """Return the numbers of the superseded rows of each part, ascending; parts without any are absent.

    `database` is that of `open_database`; `paths` are in the order of their commits. Of the rows of one key, the last
    one that did not fail counts, or else the last. Raises `StoreError` S0103 if a part cannot be read.
    """
    if not paths:
        return {}
    source = f"read_parquet({sql.texts([str(path) for path in paths])}, union_by_name = true)"
    key = ", ".join(table.key)
    query = f"""select file_index, file_row_number from (
          select file_index, file_row_number,
            row_number() over (partition by {key} order by {winner_order(table.schema.names)}) as place
          from {source} semi join (select {key} from {source} group by {key} having count(*) > 1) using ({key}))
        where place > 1 order by all"""
    try:
        superseded: Any = as_relation(database, query).to_arrow_table()
    except duckdb.Error as error:
        raise unreadable_table_error(table.name, error) from error
    parts: Numbers = superseded["file_index"].to_numpy().astype(np.int64)
    rows: Numbers = superseded["file_row_number"].to_numpy().astype(np.int64)
    return {paths[part]: rows[parts == part] for part in np.unique(parts).tolist()}


def drop_rows(batch: pa.RecordBatch, first: int, lost: Numbers | None) -> pa.RecordBatch:
    """Return a batch of a part without the rows with the numbers `lost`; `first` is the number of its first row."""
    if lost is None:
        return batch
    in_batch = lost[(lost >= first) & (lost < first + batch.num_rows)] - first
    if not len(in_batch):
        return batch
    keep: Any = np.ones(batch.num_rows, bool)
    keep[in_batch] = False
    return batch.filter(pa.array(keep))


# Compaction
BIG_BYTES = 128 * 2**20
"""A part of this size is big: no rows are added to it, and it is rewritten only to drop superseded rows."""
MANY_COMMITS = 64
"""The number of commits, or of small parts of a table, above which a compaction is needed."""


@dataclass(frozen=True)
class Compacted:
    """The result of a compaction: its name, the number of commits before it, the number of parts before and after it,
    and the number of superseded rows that were dropped (`doubles`).
    """

    name: str
    commits_before: int
    parts_before: int
    parts_after: int
    doubles: int


def compact(store: Store, big_bytes: int = BIG_BYTES) -> Compacted | None:
    """Merge the small parts of every table, drop superseded rows, and rewrite parts that have misleading statistics
    (`has_wrong_statistics`) or no digest. Return `None` if there is nothing to do, or if another process is compacting
    or was faster.

    Readers see the state before or the state after. The old files stay until `collect` removes them. Raises
    `StoreError`: S0102 if the disk cannot be written, S0103 for a part that is damaged or has changed, S0104 for a
    newer schema.
    """
    offset = lock_offset(COMPACTION, "")
    try:
        if not store.locks.hold(offset):
            return None
        try:
            return _compact(store, big_bytes)
        finally:
            store.locks.free(offset)
    except pa.ArrowException as error:
        message = f"rows of a part do not fit their table ({' '.join(str(error).split())})"
        raise StoreError("S0103", message, "find the part with `tripos store check`") from error
    except (OSError, BaseError) as error:
        raise store_write_error(store.root, error) from error


def compact_if_needed(store: Store) -> Compacted | None:
    """Compact if there are more than 64 commits, or more than 64 small parts of a table (one commit may list many).

    Meant for the end of a run. Raises what `compact` raises.
    """
    commits = store.commits()
    small = Counter(part.table for commit in commits for part in commit.parts if part.size < BIG_BYTES)
    return compact(store) if max(len(commits), *small.values(), 0) > MANY_COMMITS else None


def _compact(store: Store, big_bytes: int) -> Compacted | None:
    """Compact as `compact`, under its lock."""
    store.verify()
    latest = max((number_of(commit.name) for commit in store.all_commits()), default=0)
    commits = store.commits()
    parts: dict[str, list[ParquetPart]] = {}
    lost: dict[Path, Numbers] = {}
    for commit in commits:
        for part in commit.parts:
            if part.table in TABLES:
                path = check_part(store.root, part, commit)
                with open_part(path) as file:
                    check_schema(part.table, path, file.schema_arrow)
                    if part.sha256 is None or has_wrong_statistics(part.table, file):
                        lost[path] = NO_ROWS  # it is rewritten, with all of its rows
            parts.setdefault(part.table, []).append(part)
    with closing(open_database()) as database:
        for table, parquet_parts in parts.items():
            if table in TABLES:
                lost.update(
                    superseded_rows(database, TABLES[table], [store.root / part.path for part in parquet_parts])
                )
    small = [part for table_parts in parts.values() for part in table_parts if part.size < big_bytes]
    # A compacted table may have one part that is not big.
    if not commits or (not lost and len(small) <= len(parts) and len(commits) <= 1):
        return None
    name = f"compaction-{latest + 1:06d}"
    written = (
        part
        for table, table_parts in parts.items()
        for part in rewritten(store.root, table, name, table_parts, lost, big_bytes)
    )
    commit = store.commit(
        name, max(commit.written_at for commit in commits), written, tuple(commit.name for commit in commits)
    )
    if commit.repeated:
        return None
    before = sum(map(len, parts.values()))
    return Compacted(name, len(commits), before, len(commit.parts), sum(map(len, lost.values())))


def rewritten(
    root: Path, table: str, name: str, parts: Sequence[ParquetPart], lost: Mapping[Path, Numbers], big_bytes: int
) -> Iterator[ParquetPart]:
    """Yield parts with the rows of `parts`, except for those in `lost`, in the same order: big parts without lost rows
    unchanged, the others merged.
    """
    to_merge: list[ParquetPart] = []
    for part in parts:
        if table not in TABLES or (part.size >= big_bytes and root / part.path not in lost):
            yield from _merged(root, table, name, to_merge, lost, big_bytes)
            to_merge = []
            yield part
        else:
            to_merge.append(part)
    yield from _merged(root, table, name, to_merge, lost, big_bytes)


def _merged(
    root: Path, table: str, name: str, parts: Sequence[ParquetPart], lost: Mapping[Path, Numbers], big_bytes: int
) -> Iterator[ParquetPart]:
    """Write the rows of some parts, except for those in `lost`, as big parts and a smaller one, and yield these."""
    if len(parts) == 1 and root / parts[0].path not in lost:
        yield parts[0]
        return
    groups = _groups(root, table, parts, lost)
    group = next(groups, None)
    while group is not None:
        rows = 0
        with (
            new_part(root, table, name) as new,
            pq.ParquetWriter(new.file, TABLES[table].schema, **layout(table)) as writer,
        ):
            while group is not None and new.file.tell() < big_bytes:
                writer.write_table(group, row_group_size=GROUP_ROWS)
                rows += group.num_rows
                group = next(groups, None)
        yield new.finish(rows)


def _groups(root: Path, table: str, parts: Iterable[ParquetPart], lost: Mapping[Path, Numbers]) -> Iterator[pa.Table]:
    """Yield the rows of parts, except for those in `lost`, in order, as tables with the size of a row group."""
    pieces: list[pa.Table] = []
    count = 0
    for part in parts:
        path = root / part.path
        with open_part(path) as file:
            row = 0
            for batch in file.iter_batches(GROUP_ROWS):
                content = pa.Table.from_batches([drop_rows(batch, row, lost.get(path))])
                row += batch.num_rows
                pieces.append(conform(table, TABLES[table].schema.names, content))
                count += content.num_rows
                if count >= GROUP_ROWS:
                    combined = pa.concat_tables(pieces).combine_chunks()
                    yield combined.slice(0, GROUP_ROWS)
                    pieces, count = [combined.slice(GROUP_ROWS)], count - GROUP_ROWS
    if count:
        yield pa.concat_tables(pieces).combine_chunks()


# Garbage collection
GRACE_S = 3600.0
"""The time for which replaced files are kept, since readers may have opened them."""

_GENERATED = re.compile(r"\d{8}T\d{12}-[0-9a-f]{12}")
"""A generated commit name. A commit with another name is never removed, since the name could be committed again."""


@dataclass(frozen=True)
class Removed:
    """A file that was, or would be, removed: its path below the store, its size in bytes, and the reason."""

    path: str
    size: int
    why: str


def collect(store: Store, grace_s: float = GRACE_S, *, dry_run: bool = False) -> list[Removed]:
    """Remove files that no process reads and that are older than `grace_s`, and return them; with `dry_run` nothing is
    removed.

    Journals of processes that died are committed first. Raises `StoreError`: S0102 if the disk cannot be written, S0402
    and S0104 for an unreadable commit, since it is then unknown which files are needed.
    """
    try:
        if not dry_run:
            store.recover()
        removed_files = [
            removed
            for leftovers in (
                _replaced,
                _orphans,
                _temporary,
                _stale_works,
                _unused_indexes,
                _stale_derived_files,
                unneeded_media,
            )
            for removed in _remove(store, leftovers(store, grace_s), dry_run)
        ]
        if store.bucket is not None:
            removed_files += [
                Removed(*medium) for medium in collect_media(store, store.bucket, grace_s, dry_run=dry_run)
            ]
            removed_files += [Removed(*item) for item in collect_objects(store.bucket, dry_run=dry_run)]
        return removed_files
    except OSError as error:
        raise store_write_error(store.root, error) from error


def _remove(store: Store, leftovers: Iterator[tuple[Path, str]], dry_run: bool) -> Iterator[Removed]:
    """Remove files, each with its reason, and yield those that existed."""
    for path, why in leftovers:
        if not lies_in(store.root, path):
            continue
        with suppress(FileNotFoundError):
            size = path.lstat().st_size
            if not dry_run:
                path.unlink()
            yield Removed(path.relative_to(store.root).as_posix(), size, why)


def _age(store: Store, path: Path) -> float:
    """Return the seconds since the file was written; negative if it does not exist."""
    try:
        return store.now.timestamp() - path.lstat().st_mtime
    except FileNotFoundError:
        return -1.0


def _replaced(store: Store, grace_s: float) -> Iterator[tuple[Path, str]]:
    """Yield commits that were replaced more than `grace_s` ago, and their parts unless another commit needs them."""
    commits = {commit.name: commit for commit in store.all_commits()}
    needed = {part.path for commit in store.commits() for part in commit.parts}
    compactions = []
    for commit in commits.values():
        if commit.replaces and _age(store, store.root / COMMITS / f"{commit.name}.json") > grace_s:
            compactions.append(commit)
        elif commit.replaces:
            needed.update(part.path for name in commit.replaces if name in commits for part in commits[name].parts)
    for commit in compactions:
        uncommitted = set(segments(store.root))
        why = f"replaced by {commit.name}"
        for old in (commits[name] for name in commit.replaces if name in commits):
            for part in old.parts:
                if part.path not in needed:
                    yield store.root / part.path, why
            if _GENERATED.fullmatch(old.name) and old.name not in uncommitted:
                yield store.root / COMMITS / f"{old.name}.json", why


def _orphans(store: Store, grace_s: float) -> Iterator[tuple[Path, str]]:
    """Yield parts that no commit lists and whose writer is dead."""
    listed = {part.path for commit in store.all_commits() for part in commit.parts}
    orphans: dict[str, list[Path]] = {}
    for path in sorted((store.root / PARTS).glob("*/*.parquet")):
        if path.relative_to(store.root).as_posix() not in listed and _age(store, path) > grace_s:
            orphans.setdefault(stem_of(path), []).append(path)
    for stem, paths in orphans.items():
        offset = lock_offset(PARTS_LOCK, stem)
        if not store.locks.hold(offset):
            continue
        try:
            # The commit may have been published after the commits were read and before the lock was taken.
            listed = {part.path for commit in store.all_commits() for part in commit.parts}
            for path in paths:
                if path.relative_to(store.root).as_posix() not in listed:
                    yield path, "no commit lists it"
        finally:
            store.locks.free(offset)


def _temporary(store: Store, grace_s: float) -> Iterator[tuple[Path, str]]:
    """Yield temporary files whose writer is dead."""
    subfolders = (COMMITS, f"{JOURNAL}/{REJECTED}", FINISHED_WORK, CACHE)
    folders = [*sorted((store.root / PARTS).glob("*")), *(store.root / name for name in subfolders)]
    suffixes = {COMMITS: ".json", CACHE: ".json", REJECTED: ".jsonl", FINISHED_WORK: RUN_CACHE_SUFFIX}
    for folder in folders:
        for path in sorted(folder.glob("*")):
            if path.suffix == suffixes.get(folder.name, ".parquet"):
                continue
            if not path.is_file() or _age(store, path) <= grace_s:
                continue
            offset = lock_offset(LIST, path.name)
            if store.locks.hold(offset):
                try:
                    yield path, "half written"
                finally:
                    store.locks.free(offset)


def _unused_indexes(store: Store, grace_s: float) -> Iterator[tuple[Path, str]]:
    """Yield indexes that were not read for a long time, and incomplete ones."""
    for path in sorted((store.root / INDEX_FOLDER).glob("*")):
        age_s = _age(store, path)
        if path.suffix == INDEX_CACHE_SUFFIX and age_s > max(grace_s, UNUSED_S):
            yield path, "an index that was not used for 30 days"
        elif path.suffix != INDEX_CACHE_SUFFIX and age_s > grace_s:
            yield path, "half written"


def _stale_derived_files(store: Store, grace_s: float) -> Iterator[tuple[Path, str]]:
    """Yield derived files of parts that are gone, and incomplete ones."""
    for path in stale_files(store):
        if _age(store, path) > grace_s:
            yield path, "made of a part that is gone"


def _stale_works(store: Store, grace_s: float) -> Iterator[tuple[Path, str]]:
    """Yield work lists of which a result is missing, so that they are of no use."""
    lists = [
        path
        for path in sorted((store.root / FINISHED_WORK).glob(f"*{RUN_CACHE_SUFFIX}"))
        if _age(store, path) > grace_s
    ]
    if not lists:
        return
    indexes = []
    for table in RESULT_TABLES:
        index = RowIndex(table, None, store.root)
        index.load(store.parts(table))
        indexes.append(index)

    def is_kept(packed: bytes) -> bool:
        return has_all(indexes, packed)

    for path in lists:
        if read_summary(path, is_kept) is None:
            yield path, "some of its results are not there"
