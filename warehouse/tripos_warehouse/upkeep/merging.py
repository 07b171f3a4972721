"""Merging: the rows of other stores are added to one, each once, and nothing of the others is touched.

What is added is one commit. Where a reply of the store itself does not count any more, since another store has an
earlier one, that commit is a compaction, which replaces all of the store's. The same stores in another order give the
same rows, and merged again they add none. One after the other, a result may be missing that builds on a reply which
counts only since a later store came.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from duckdb import DuckDBPyConnection
from obstore.exceptions import BaseError

from tripos_warehouse import sql
from tripos_warehouse.errors import StoreError, unwritable
from tripos_warehouse.store import (
    COMPACTION,
    GROUP_ROWS,
    RUNS,
    TABLES,
    Commit,
    ParquetPart,
    Store,
    conform,
    layout,
    new_name,
    new_part,
    number_of,
    only_one,
    place_of,
    reading,
)
from tripos_warehouse.upkeep.compaction import BIG_BYTES, rewritten
from tripos_warehouse.upkeep.deduplication import Numbers, lost_rows, open_database, without
from tripos_warehouse.upkeep.media import copy_media
from tripos_warehouse.upkeep.merge_rows import (
    ABOUT,
    REPLY,
    VERSIONS,
    Held,
    Losses,
    has_conflict,
    held_rows,
    shared_rows,
    winner,
)

TRIES = 5
"""So often a merge begins anew where others compacted the store before it could be committed."""

Files = Mapping[str, list[Path]]
"""The parts of a store, by table."""
Dropped = Mapping[Path, Numbers]
"""The rows that are not written, by part."""


@dataclass(frozen=True)
class Merged:
    """The result of a merge: `added` rows by table; how many replies had another one under their name in another store
    (`conflicts`), the rows that do not count for that, by table (`left_out`), and how many of these people had said or
    a file (`given`)."""

    added: Mapping[str, int]
    conflicts: int
    left_out: Mapping[str, int]
    given: int


def merge_stores(target: Store, sources: Sequence[Store]) -> Merged:
    """Add the rows of the `sources` to the `target`, and the media that they name. A source that is named
    twice is merged once.

    Raises `StoreError`: S0102 where the disk refuses, S0103 for a damaged part, S0104 for a newer schema, S0405 where
    two stores have runs of one name that differ, S0406 where another process compacts or merges, and what `Bucket.sync`
    does where the target is on a bucket.
    """
    busy = StoreError("S0406", "another process compacts the store, or merges into it", "try again when it is over")
    every = list({source.root: source for source in sources}.values())
    try:
        with _alone(target) as alone:
            for _ in range(TRIES if alone else 0):
                with closing(open_database()) as database:
                    if (done := _merge(database, target, every)) is not None:
                        for source in every:
                            copy_media(source, target)
                        return done
                if target.bucket is not None:
                    target.bucket.sync()
            raise busy
    except pa.ArrowException as error:
        message = f"rows of a part do not fit their table ({' '.join(str(error).split())})"
        raise StoreError("S0103", message, "find the part with `tripos store check`") from error
    except (OSError, BaseError) as error:
        raise unwritable(target.root, error) from error


@contextmanager
def _alone(target: Store) -> Iterator[bool]:
    """Keep other merges out of a store, and compactions where it is a folder; yield false where another one is."""
    if target.bucket is not None:
        with only_one(target.bucket, "merge") as alone:
            yield alone
        return
    place = place_of(COMPACTION, "")
    alone = target.locks.hold(place)
    try:
        yield alone
    finally:
        if alone:
            target.locks.free(place)


def _merge(database: DuckDBPyConnection, target: Store, sources: Sequence[Store]) -> Merged | None:
    """Merge, or return None where others compacted the target meanwhile: nothing was written then."""
    for each in (target, *sources):
        each.verify()
    commits = target.commits()
    files = [store.files() for store in (target, *sources)]
    lost: dict[Path, set[int]] = defaultdict(set)
    for store in files:
        for schema in TABLES.values():
            for path, numbers in lost_rows(database, schema, store[schema.name]).items():
                lost[path].update(numbers.tolist())
    conflicts, out = _left_out(database, files, lost)
    outdone = {row.place for row in out}
    for place in outdone:
        lost[place.path].add(place.row)
    for table in TABLES:
        for rows in shared_rows(database, table, [store[table] for store in files], lost):
            first = winner(rows)
            if table == RUNS.name and len({row.version for row in rows}) > 1:
                message = f"two stores have different runs of the name `{first.key}`"
                raise StoreError("S0405", message, "merge one of the two, or run one of them anew")
            outdone |= {row.place for row in rows if row.place != first.place}
            for row in rows:
                if row.place != first.place:
                    lost[row.place.path].add(row.place.row)
    dropped = {path: np.array(sorted(rows), np.int64) for path, rows in lost.items() if rows}
    added = {table: sum(_count(path, dropped) for store in files[1:] for path in store[table]) for table in TABLES}
    added = {table: count for table, count in added.items() if count}
    replaces = commits if any(place.store == 0 for place in outdone) else []
    if added or replaces:
        commit = _write(target, replaces, files[1:], [table for table in TABLES if table in added], dropped)
        if commit.repeated:
            return None
    left_out = Counter(row.table for row in out)
    return Merged(added, conflicts, dict(left_out), sum(row.given for row in out))


def _left_out(
    database: DuckDBPyConnection, files: Sequence[Files], doubles: Mapping[Path, set[int]]
) -> tuple[int, list[Held]]:
    """Return how many names of replies have several, and the rows that do not count for that."""
    items: set[str] = set()
    names: set[str] = set()
    for table in VERSIONS:
        for rows in shared_rows(database, table, [store[table] for store in files], doubles):
            if has_conflict(rows):
                names.add(rows[0].reply)
                items |= {row.facts["item_id"] for row in rows if row.facts.get("item_id") is not None}
    if not names:
        return 0, []
    of_items = f"item_id in {sql.texts(sorted(items)) if items else '(null)'}"
    rows = []
    for table in ABOUT:
        columns = TABLES[table].schema.names
        name = next((each for each in REPLY if each in columns), TABLES[table].key[0])
        named = f"{name} in {sql.texts(sorted(names))}"
        where = f"({of_items} or {named})" if "item_id" in columns else named
        for row in held_rows(database, table, [store[table] for store in files], where):
            if row.place.row not in doubles.get(row.place.path, ()):
                rows.append(row)
    return len(names), Losses(rows).find()


def _count(path: Path, dropped: Mapping[Path, Numbers]) -> int:
    with reading(path) as file:
        return int(file.metadata.num_rows) - len(dropped.get(path, ()))


def _write(
    target: Store, replaces: Sequence[Commit], sources: Sequence[Files], tables: Sequence[str], dropped: Dropped
) -> Commit:
    """Commit the rows of the sources; with `replaces` in place of all commits of the target."""
    now = target.now
    if replaces:
        name = f"compaction-{max((number_of(each.name) for each in target.all_commits()), default=0) + 1:06d}"
        now = max(commit.written_at for commit in replaces)
    else:
        name = new_name(now)
    parts: dict[str, list[ParquetPart]] = defaultdict(list)
    for commit in replaces:
        for part in commit.parts:
            parts[part.table].append(part)

    def written() -> Iterator[ParquetPart]:
        for table, some in parts.items():
            yield from rewritten(target.root, table, name, some, dropped, BIG_BYTES)
        for table in tables:
            yield from _copied(target.root, table, name, [path for store in sources for path in store[table]], dropped)

    return target.commit(name, now, written(), tuple(commit.name for commit in replaces))


def _copied(root: Path, table: str, name: str, paths: Sequence[Path], dropped: Dropped) -> Iterator[ParquetPart]:
    """Write the rows of some parts that count, as one part."""
    count = 0
    with (
        new_part(root, table, name) as new,
        pq.ParquetWriter(new.file, TABLES[table].schema, **layout(table)) as writer,
    ):
        for path in paths:
            row = 0
            with reading(path) as part:
                for batch in part.iter_batches(GROUP_ROWS):
                    content = pa.Table.from_batches([without(batch, row, dropped.get(path))])
                    row += batch.num_rows
                    count += content.num_rows
                    if content.num_rows:
                        writer.write_table(conform(table, TABLES[table].schema.names, content))
    yield new.written(count)
