"""The check of a whole store: what is damaged, and a summary of each table."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import numpy as np
import orjson
import pyarrow as pa

from tripos_warehouse import sql
from tripos_warehouse.errors import StoreError
from tripos_warehouse.maintenance.compaction import Numbers, drop_rows, open_database, superseded_rows
from tripos_warehouse.maintenance.media import damaged_annotations, damaged_media
from tripos_warehouse.store.commits import COMMITS, Commit, ParquetPart, read_commit
from tripos_warehouse.store.journal import JOURNAL, REJECTED, SUFFIX, segments
from tripos_warehouse.store.locks import SEGMENT, lock_offset
from tripos_warehouse.store.parts import check_rows, conform, open_part, verify_part
from tripos_warehouse.store.schemas import TABLES, TableSchema
from tripos_warehouse.store.store import Store

# One row: the number of conversations with fewer stored turns than their transcript, and the first of them.
FEWER_TURNS = """
select count(*), min(talk.sample_id)
from (
  select sample_id, max(json_array_length(parsed, '$.turns')) as turns
  from {samples} where starts_with(parsed, '{{"ended":') and json_valid(parsed) and status = 'ok'
  group by sample_id
) as talk
left join (
  select conversation_id, count(distinct number) as turns from {turns} where text is not null group by conversation_id
) as said on said.conversation_id = talk.sample_id
where coalesce(said.turns, 0) < talk.turns"""
# One row: the number of conversations with a missing turn number, and the first of them.
GAPS = """
select count(*), min(conversation_id)
from (select conversation_id from {turns} group by conversation_id having max(number) > count(distinct number))"""
NO_TURNS = "(select NULL::varchar as conversation_id, NULL::bigint as number, NULL::varchar as text where false)"
NO_SAMPLES = "(select NULL::varchar as sample_id, NULL::varchar as parsed, NULL::varchar as status where false)"


def find_missing_turns(
    database: duckdb.DuckDBPyConnection, samples: str | None, turns: str | None
) -> Iterator[tuple[int, str, str]]:
    """Yield, for each of two faults, how many conversations have it, one of them, and the fault in words. `samples` and
    `turns` are `from` items of SQL; None for an empty table.
    """
    sources = {"samples": samples or NO_SAMPLES, "turns": turns or NO_TURNS}
    for query, fault in ((FEWER_TURNS, "lacking turns"), (GAPS, "with a gap among the turns")):
        row = database.execute(query.format(**sources)).fetchone()
        assert row is not None
        if row[0]:
            yield row[0], row[1], fault


_DANGLING = (
    ("scores", "samples", "sample_id", "status = 'scored'"),
    ("scores", "judgements", "judgement_id", "judgement_id is not null"),
    ("judgements", "samples", "sample_id", "sample_id is not null"),
    ("comparisons", "judgements", "judgement_id", "judgement_id is not null"),
)
"""References between tables: table, referenced table, common column, and condition of the rows to check. Scores with
another status, such as those of a skipped step, may name a reply that was never requested.
"""

TAKEN_AWAY = "a commit or a part was taken away by hand: restore it, or run the benchmark again"


@dataclass(frozen=True)
class Damage:
    """A fault, in the form of a diagnostic."""

    code: str
    message: str
    hint: str


@dataclass(frozen=True)
class TableContent:
    """The content of a table.

    `parts`: the number of committed parts. `rows`: the number of rows that count. `doubles`: the number of superseded
    rows. `digest` is equal for any two stores with the same results: the SHA-256 of the sorted distinct digests of the
    rows, over the columns `TableSchema.content`. It is `None` if a part cannot be read.
    """

    table: str
    parts: int
    rows: int
    doubles: int
    digest: str | None


@dataclass(frozen=True)
class StoreCheck:
    """The result of a check. `commits` and `replaced`: the numbers of commits that count and that were replaced. `live`
    and `left`: the numbers of journal segments with and without a living owner. `without_digest`: the number of parts
    of earlier Tripos versions, whose bytes cannot be verified.
    """

    commits: int
    replaced: int
    live: int
    left: int
    tables: tuple[TableContent, ...]
    damages: tuple[Damage, ...] = field(default=())
    without_digest: int = 0


def check_store(store: Store) -> StoreCheck:
    """Read and check everything that is committed, also in a store that this user cannot write."""
    damages: list[Damage] = []
    all_commits = _commits(store, damages)
    replaced = {name for commit in all_commits for name in commit.replaces}
    commits = [commit for commit in all_commits if commit.name not in replaced]
    paths: dict[str, list[Path]] = {table: [] for table in TABLES}
    counts = dict.fromkeys(TABLES, 0)
    for commit in commits:
        for part in commit.parts:
            if (path := _part(store, part, commit, damages)) is not None:
                paths[part.table].append(path)
            if part.table in counts:
                counts[part.table] += 1
    with closing(open_database()) as database:
        tables = tuple(
            _checked(store, database, table, paths[table.name], counts[table.name], damages)
            for table in TABLES.values()
        )
        if not damages:  # rows of unreadable parts would be reported as missing
            damages += _dangling(database, paths)
    errors = (*damaged_media(store), *damaged_annotations(store))
    damages += (Damage(error.code, error.message, error.hint) for error in errors)
    live, left = _journal(store, damages)
    without_digest = sum(part.sha256 is None for commit in commits for part in commit.parts)
    return StoreCheck(len(commits), len(all_commits) - len(commits), live, left, tables, tuple(damages), without_digest)


def _checked(
    store: Store,
    database: duckdb.DuckDBPyConnection,
    table: TableSchema,
    paths: list[Path],
    parts: int,
    damages: list[Damage],
) -> TableContent:
    """Return the content of a table with `parts` committed parts, of which `paths` are valid; if a part cannot be read
    nevertheless, the error is added to `damages`.
    """
    try:
        rows, doubles, digest = _content(table, paths, superseded_rows(database, table, paths))
    except StoreError as error:
        damages.append(_damaged(store, error.message))
        rows, doubles, digest = 0, 0, ""
    is_complete = digest and parts == len(paths)
    return TableContent(table.name, parts, rows, doubles, digest if is_complete else None)


def _commits(store: Store, damages: list[Damage]) -> list[Commit]:
    """Return all readable commits, oldest first; the errors of others are added to `damages`."""
    commits = []
    for path in sorted((store.root / COMMITS).glob("*.json")):
        try:
            commit = read_commit(path)
        except StoreError as error:
            damages.append(Damage("S0402", error.message, error.hint))
            continue
        commits.append(commit)
    return sorted(commits, key=lambda commit: (commit.written_at, commit.name))


def _part(store: Store, part: ParquetPart, commit: Commit, damages: list[Damage]) -> Path | None:
    """Return the path of a part whose content, rows and columns are valid; otherwise add the damage and return None."""
    if part.table not in TABLES:
        damages.append(Damage("S0402", f"commit `{commit.name}` has a table `{part.table}`", "update Tripos"))
        return None
    try:
        path = verify_part(store.root, part, commit)
        with open_part(path) as file:
            rows = file.metadata.num_rows
    except StoreError as error:
        damages.append(_damaged(store, error.message))
        return None
    if rows != part.rows:
        damages.append(_damaged(store, f"`{path}` has {rows:,} rows, and commit `{commit.name}` says {part.rows:,}"))
        return None
    try:
        check_rows(part.table, path)
    except StoreError as error:
        damages.append(_damaged(store, error.message))
        return None
    return path


def _content(table: TableSchema, paths: list[Path], lost: dict[Path, Numbers]) -> tuple[int, int, str]:
    """Return the number of rows that count, the number of superseded rows, and the digest."""
    names = list(table.content)
    digests = []
    for path in paths:
        row = 0
        with open_part(path) as file:
            for batch in file.iter_batches(columns=[name for name in names if name in file.schema_arrow.names]):
                content = pa.Table.from_batches([drop_rows(batch, row, lost.get(path))])
                row += batch.num_rows
                columns = (
                    column.to_pylist(maps_as_pydicts="lossy") for column in conform(table.name, names, content).columns
                )
                lines = (orjson.dumps(values, option=orjson.OPT_SORT_KEYS) for values in zip(*columns, strict=True))
                digests.append(b"".join(hashlib.sha256(line).digest() for line in lines))
    rows = np.frombuffer(b"".join(digests), dtype="S32")
    doubles = sum(map(len, lost.values()))
    return len(rows), doubles, hashlib.sha256(np.unique(rows).tobytes()).hexdigest()


def _dangling(database: duckdb.DuckDBPyConnection, paths: dict[str, list[Path]]) -> list[Damage]:
    """Return the damages of rows that refer to missing rows, and of conversations without all turns."""
    damages = []
    for table, other, column, condition in _DANGLING:
        if not paths[table]:
            continue
        present = f"from {_source(paths[other])}" if paths[other] else "from (select NULL::varchar as " + column + ")"
        row = database.execute(
            f"""select count(*), min({column}) from {_source(paths[table])}
            where {condition} and {column} not in (select {column} {present} where {column} is not null)"""
        ).fetchone()
        assert row is not None
        count, first = row
        if count:
            message = f"{count:,} rows of `{table}` are about rows that `{other}` lacks, such as `{first}`"
            damages.append(Damage("S0403", message, TAKEN_AWAY))
    sources = [_source(paths[name]) if paths[name] else None for name in ("samples", "turns")]
    for count, first, fault in find_missing_turns(database, *sources):
        message = f"{count:,} {'conversations' if count > 1 else 'conversation'} {fault}, such as `{first}`"
        damages.append(Damage("S0403", message, TAKEN_AWAY))
    return damages


def _source(paths: list[Path]) -> str:
    """Return the SQL of the rows of some parts."""
    return f"read_parquet({sql.texts([str(path) for path in paths])}, union_by_name = true)"


def _journal(store: Store, damages: list[Damage]) -> tuple[int, int]:
    """Return how many segments have a living owner, and how many have none; if that is unknown, a segment counts as one
    with an owner."""
    live = left = 0
    for name in segments(store.root):
        if _may_be_alive(store, name):
            live += 1
        else:
            left += 1
            message = f"the journal segment `{name}` of a dead process could not be committed"
            damages.append(Damage("S0404", message, "update Tripos, and open the store where you may write to it"))
    for path in sorted((store.root / JOURNAL / REJECTED).glob(f"*{SUFFIX}")):
        message = f"`{path}` has kept rows that fit no table or have changed"
        damages.append(Damage("S0404", message, "look at the lines; delete the file once you need them no more"))
    return live, left


def _may_be_alive(store: Store, segment: str) -> bool:
    """Return true if a segment has a living owner, or if that is unknown: the locks of a store can only be tested by a
    user who can write it."""
    try:
        locks = store.locks
    except OSError:
        return True
    return locks.others_hold(lock_offset(SEGMENT, segment))


def _damaged(store: Store, message: str) -> Damage:
    """Return the damage of a part."""
    hint = "restore the file from a backup, or delete the commit that lists it: its calls are then made again"
    if store.bucket is not None:
        hint = "delete the file, which is of the copy on this machine: the next command fetches it from the bucket"
    return Damage("S0401", message, hint)
