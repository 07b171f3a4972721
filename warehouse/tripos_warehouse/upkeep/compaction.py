"""Compaction: many small parts become few big ones, in one commit that replaces those that listed them.

A compaction is named by its number, and put-if-absent lets one process have a number: two that start from the same
state cannot both replace it. Rows keep the order in which they were committed. A run goes through its cases in order,
so what belongs together stays in one row group; sorted by their names, which are hashes, the rows of one case would lie
in as many groups as there are, and to read them again would mean to unpack everything.

The commit has the time of the youngest that it replaces, so that what others commit meanwhile still counts as later.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from obstore.exceptions import BaseError

from tripos_compiler.source import dataclass
from tripos_warehouse.errors import StoreError, unwritable
from tripos_warehouse.store import (
    COMPACTION,
    GROUP_ROWS,
    TABLES,
    ParquetPart,
    Store,
    check_part,
    check_schema,
    conform,
    layout,
    misleads,
    new_part,
    number_of,
    place_of,
    reading,
)
from tripos_warehouse.upkeep.deduplication import NO_ROWS, Numbers, lost_rows, open_database, without

BIG_BYTES = 128 * 2**20
"""A part of this size is big: it is written no further, and not written again but to drop a double."""
MANY_COMMITS = 64


@dataclass(frozen=True)
class Compacted:
    """The result of a compaction: parts and commits before and after, and the doubles that it dropped."""

    name: str
    commits_before: int
    parts_before: int
    parts_after: int
    doubles: int


def compact(store: Store, big_bytes: int = BIG_BYTES) -> Compacted | None:
    """Put the small parts of every table together, drop doubles, and write parts again whose statistics mislead
    (`misleads`) or that have no digest. `None` where there is nothing to gain, or where another process is at it or
    was faster.

    Readers see what was there before or what is there after. The old files stay until `collect` takes them away.
    Raises `StoreError`: S0102 where the disk refuses, S0103 for a part that is damaged or has changed, S0104 for a
    newer schema.
    """
    place = place_of(COMPACTION, "")
    try:
        if not store.locks.hold(place):
            return None
        try:
            return _compact(store, big_bytes)
        finally:
            store.locks.free(place)
    except pa.ArrowException as error:
        message = f"rows of a part do not fit their table ({' '.join(str(error).split())})"
        raise StoreError("S0103", message, "find the part with `tripos store check`") from error
    except (OSError, BaseError) as error:
        raise unwritable(store.root, error) from error


def compact_if_needed(store: Store) -> Compacted | None:
    """`compact`, where the store has more than 64 commits, or so many small parts of a table, which one may list: the
    right thing at the end of a run. Raises what it does."""
    commits = store.commits()
    small = Counter(part.table for commit in commits for part in commit.parts if part.size < BIG_BYTES)
    return compact(store) if max(len(commits), *small.values(), 0) > MANY_COMMITS else None


def _compact(store: Store, big_bytes: int) -> Compacted | None:
    store.verify()
    latest = max((number_of(commit.name) for commit in store.all_commits()), default=0)
    commits = store.commits()
    parts: dict[str, list[ParquetPart]] = {}
    lost: dict[Path, Numbers] = {}
    for commit in commits:
        for part in commit.parts:
            if part.table in TABLES:
                path = check_part(store.root, part, commit)
                with reading(path) as file:
                    check_schema(part.table, path, file.schema_arrow)
                    if part.sha256 is None or misleads(part.table, file):
                        lost[path] = NO_ROWS  # it is written again, with all of its rows
            parts.setdefault(part.table, []).append(part)
    with closing(open_database()) as database:
        for table, some in parts.items():
            if table in TABLES:
                lost.update(lost_rows(database, TABLES[table], [store.root / part.path for part in some]))
    small = [part for some in parts.values() for part in some if part.size < big_bytes]
    # Each table can be left with one part that is not big.
    if not commits or (not lost and len(small) <= len(parts) and len(commits) <= 1):
        return None
    name = f"compaction-{latest + 1:06d}"
    written = (
        part for table, some in parts.items() for part in rewritten(store.root, table, name, some, lost, big_bytes)
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
    """Yield the parts that hold the rows of `parts`, in the same order: big ones as they are, the others put
    together."""
    waiting: list[ParquetPart] = []
    for part in parts:
        if table not in TABLES or (part.size >= big_bytes and root / part.path not in lost):
            yield from _merged(root, table, name, waiting, lost, big_bytes)
            waiting = []
            yield part
        else:
            waiting.append(part)
    yield from _merged(root, table, name, waiting, lost, big_bytes)


def _merged(
    root: Path, table: str, name: str, parts: Sequence[ParquetPart], lost: Mapping[Path, Numbers], big_bytes: int
) -> Iterator[ParquetPart]:
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
        yield new.written(rows)


def _groups(root: Path, table: str, parts: Iterable[ParquetPart], lost: Mapping[Path, Numbers]) -> Iterator[pa.Table]:
    """Yield the rows that count, in order, so many at a time as a row group has."""
    waiting: list[pa.Table] = []
    count = 0
    for part in parts:
        path = root / part.path
        with reading(path) as file:
            row = 0
            for batch in file.iter_batches(GROUP_ROWS):
                content = pa.Table.from_batches([without(batch, row, lost.get(path))])
                row += batch.num_rows
                waiting.append(conform(table, TABLES[table].schema.names, content))
                count += content.num_rows
                if count >= GROUP_ROWS:
                    whole = pa.concat_tables(waiting).combine_chunks()
                    yield whole.slice(0, GROUP_ROWS)
                    waiting, count = [whole.slice(GROUP_ROWS)], count - GROUP_ROWS
    if count:
        yield pa.concat_tables(waiting).combine_chunks()
