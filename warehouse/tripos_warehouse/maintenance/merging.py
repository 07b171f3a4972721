"""Merging of stores: the rows of some stores, the sources, are added to another one, the target, each once. The sources
stay unchanged.

The rows are added in one commit. If a reply of the target does not count after the merge, because a source has an
earlier one, that commit is a compaction that replaces all commits of the target. The same stores in another order give
the same rows, and merging them again adds none. If stores are merged one after the other instead of together, a result
may be left out although it builds on a reply that counts after a later merge.

If two stores asked the same question, they have different replies with the same id, and results that build on them. One
reply counts, whatever the order of the stores: one that did not fail, and of several the earliest; for imported scores
the latest, as within a store. Results that build on the other replies are left out with them, so that no score refers
to a reply that does not count.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from duckdb import DuckDBPyConnection
from obstore.exceptions import BaseError

from tripos_compiler.plan import digest
from tripos_warehouse import sql
from tripos_warehouse.errors import StoreError, store_write_error, unreadable_table_error
from tripos_warehouse.ledger.imported_scores import imported_condition
from tripos_warehouse.maintenance.compaction import (
    BIG_BYTES,
    Numbers,
    drop_rows,
    open_database,
    rewritten,
    superseded_rows,
)
from tripos_warehouse.maintenance.media import copy_media
from tripos_warehouse.store.bucket.bucket import exclusive
from tripos_warehouse.store.commits import Commit, ParquetPart, new_name, number_of
from tripos_warehouse.store.index import FAILED, RETRIED_STATUSES, failed_condition
from tripos_warehouse.store.locks import COMPACTION, lock_offset
from tripos_warehouse.store.parts import GROUP_ROWS, conform, layout, new_part, open_part
from tripos_warehouse.store.schemas import RUNS, TABLES
from tripos_warehouse.store.store import Store

# Rows of several stores with the same key
REPLY_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "samples": ("status", "reply", "parsed"),
    "turns": ("status", "text"),
    "drafts": ("reply",),
    "judgements": ("status", "reply", "parsed"),
}
"""The tables of replies, with the columns by which two rows are the same reply."""
DEPENDENT_TABLES = ("samples", "turns", "drafts", "judgements", "scores", "comparisons", "conditions")
"""The tables whose rows are replies or refer to replies."""
MOST_TRIES = 20_000
"""The number of attempts to reconstruct the inputs of an id."""
REPLY_KEYS = ("conversation_id", "unit_id", "result_id")
"""The columns that name the reply to which a row belongs."""
FACTS = (
    *(*REPLY_KEYS, "sample_id", "judgement_id", "first_sample_id", "second_sample_id"),
    *("item_id", "fingerprint", "model", "identity", "evaluator", "sample_number", "metric", "judged_by"),
)
"""The columns by which it is decided on which replies a row builds."""


class Place(NamedTuple):
    """The location of a row: the number of the store, the part, and the row number."""

    store: int
    path: Path
    row: int


@dataclass(frozen=True)
class RowCopy:
    """A row of a store. `version` is a hash of what makes two replies the same. `given`: it is an imported score.
    `order` sorts the rows with the same key, of which the first counts. `facts` has the columns `FACTS`.
    """

    place: Place
    table: str
    key: str
    version: str
    failed: bool
    given: bool
    order: tuple[Any, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def reply(self) -> str:
        """The id of the reply that this row belongs to; for a reply, its own id."""
        return next((str(self.facts[name]) for name in REPLY_KEYS if self.facts.get(name)), self.key)


def read_row_copies(
    database: duckdb.DuckDBPyConnection, table: str, stores: Sequence[Sequence[Path]], where: str
) -> list[RowCopy]:
    """Return the rows of a table in each store's parts that satisfy the SQL condition `where`, in which `{source}` is
    replaced by a table of all rows, `{key}` by a row's key, and `{store}` by the number of its store. Raises
    `StoreError` S0103.
    """
    schema = TABLES[table]
    numbers = {str(path): number for number, paths in enumerate(stores) for path in paths}
    paths = list(numbers)
    if not paths:
        return []
    source = f"(select *, file_index as part_of from read_parquet({sql.texts(paths)}, union_by_name = true))"
    try:
        present = set(database.sql(f"select * from {source} limit 0").columns)
        key = f"concat_ws(chr(31), {', '.join(schema.key)})"
        content = _hash(name for name in schema.content if name in present)
        version = _hash(REPLY_COLUMNS[table]) if table in REPLY_COLUMNS else content
        status = f"if({failed_condition(present)}, {sql.text(FAILED)}, status)" if "status" in present else "''"
        imported = imported_condition("evaluator", "round") if {"evaluator", "round"} <= present else "false"
        at = "epoch_us(created_at)" if "created_at" in present else "0"
        facts = [name for name in FACTS if name in present]
        # `file_index` numbers the parts in the given order.
        ends = list(itertools.accumulate(map(len, stores)))
        store = "case " + " ".join(f"when part_of < {end} then {n}" for n, end in enumerate(ends)) + " end"
        query = f"""select file_index, file_row_number, {key} as key, {version}, {content}, {status}, {imported}, {at}
          {"".join(f", {name}" for name in facts)}
          from read_parquet({sql.texts(paths)}, union_by_name = true) as held where {where}"""
        result = database.execute(
            query.replace("{key}", key).replace("{source}", source).replace("{store}", store)
        ).fetchall()
    except duckdb.Error as error:
        raise unreadable_table_error(table, error) from error
    rows = []
    for part, number, name, version_, content_, status_, given_, at_, *values in result:
        place = Place(numbers[paths[part]], Path(paths[part]), number)
        failed = status_ in RETRIED_STATUSES
        order = (failed, -at_ if given_ else at_, content_)
        facts_ = dict(zip(facts, values, strict=True))
        rows.append(RowCopy(place, table, name, version_, failed, bool(given_), order, facts_))
    return rows


def _hash(columns: Iterable[str]) -> str:
    """Return the SQL of a hash of some columns."""
    parts = ", ".join(f"coalesce(md5(cast({name} as varchar)), '')" for name in columns)
    return f"md5(concat_ws(chr(31), {parts}))"


def shared_rows(
    database: duckdb.DuckDBPyConnection, table: str, stores: Sequence[Sequence[Path]], doubles: Mapping[Path, set[int]]
) -> list[list[RowCopy]]:
    """Return the rows of each key that more than one store has, without the superseded rows of each store, `doubles`
    (row numbers by part).
    """
    if sum(map(bool, stores)) < 2:
        return []
    where = "{key} in (select {key} from {source} group by all having count(distinct {store}) > 1)"
    by_key: dict[str, list[RowCopy]] = defaultdict(list)
    for row in read_row_copies(database, table, stores, where):
        if row.place.row not in doubles.get(row.place.path, ()):
            by_key[row.key].append(row)
    return [rows for rows in by_key.values() if len({row.place.store for row in rows}) > 1]


def winner(rows: Sequence[RowCopy]) -> RowCopy:
    """Return the row of a key that counts: the first by `order`. If others have the same content, it is the one of the
    first store, since the rows of the target need not be written. This is not done for replies and imported scores,
    since their time decides, also in a later merge with a third store.
    """
    if rows[0].table in REPLY_COLUMNS or any(row.given for row in rows):
        return min(rows, key=lambda row: (row.order, row.place.store))
    content = min(row.order for row in rows)[-1]
    return min((row for row in rows if row.order[-1] == content), key=lambda row: row.place.store)


def has_conflict(rows: Sequence[RowCopy]) -> bool:
    """Return true if the rows, which have the same id, are different replies."""
    return rows[0].table in REPLY_COLUMNS and len({row.version for row in rows if not row.failed}) > 1


class DependentRows:
    """Finds the rows that do not count because a reply on which they build does not count, among the rows about some
    items in all stores.
    """

    def __init__(self, rows: Iterable[RowCopy]) -> None:
        self._rows = list(rows)
        self._by_item: dict[tuple[int, Any], list[RowCopy]] = defaultdict(list)
        """The replies of a store about an item."""
        for row in self._rows:
            if row.table in ("samples", "judgements"):
                self._by_item[row.place.store, row.facts.get("item_id")].append(row)
        self._origins: dict[Place, frozenset[str] | None] = {}

    def find(self) -> list[RowCopy]:
        """Return the rows that do not count."""
        superseded: set[tuple[int, str]] = set()
        earlier: list[set[tuple[int, str]]] = []
        while True:
            invalid = self._invalid(superseded)
            gone = {(row.place.store, row.reply) for row in invalid if row.table in REPLY_COLUMNS}
            new = self._superseded(gone)
            if new in earlier:  # each store supersedes what the other builds on: drop both
                new |= superseded
            if new == superseded:
                lost = superseded | gone
                return [row for row in self._rows if (row.place.store, row.reply) in lost or row in invalid]
            earlier.append(superseded)
            superseded = new

    def _superseded(self, gone: set[tuple[int, str]]) -> set[tuple[int, str]]:
        """Return the replies, by store and id, that are superseded by those of another store, if the replies `gone` do
        not count.
        """
        by_reply: dict[str, dict[int, dict[tuple[str, str], RowCopy]]] = defaultdict(lambda: defaultdict(dict))
        for row in self._rows:
            if row.table in REPLY_COLUMNS and not row.failed and (row.place.store, row.reply) not in gone:
                by_reply[row.reply][row.place.store][row.table, row.key] = row
        lost = set()
        for reply, stores in by_reply.items():
            ranked = sorted(stores, key=lambda store: min(row.order for row in stores[store].values()))
            first = stores[ranked[0]]
            for store in ranked[1:]:
                if any(row.version != first[name].version for name, row in stores[store].items() if name in first):
                    lost.add((store, reply))
        return lost

    def _invalid(self, lost: set[tuple[int, str]]) -> list[RowCopy]:
        """Return the rows of each store that build on its replies `lost`, directly or through other replies."""
        invalid: list[RowCopy] = []
        gone = set(lost)
        items = {
            (row.place.store, row.facts.get("item_id")) for row in self._rows if (row.place.store, row.reply) in lost
        }
        for table in DEPENDENT_TABLES:
            # Repeat until no further reply builds on one that is gone.
            while True:
                more = [
                    row
                    for row in self._rows
                    if row.table == table
                    and (row.place.store, row.reply) not in gone
                    and (row.place.store, row.facts.get("item_id")) in items
                    and self._builds_on(row, gone)
                ]
                invalid += [row for row in more if row not in invalid]
                before = len(gone)
                if table in REPLY_COLUMNS:
                    gone |= {(row.place.store, row.reply) for row in more}
                if len(gone) == before:
                    break
        return invalid

    def _builds_on(self, row: RowCopy, gone: set[tuple[int, str]]) -> bool:
        """Return true if a row builds, or may build, on a reply of its store that is gone."""
        store, facts = row.place.store, row.facts
        named = ("sample_id", "judgement_id", "first_sample_id", "second_sample_id")
        if any(facts.get(name) not in (None, row.key) and (store, facts[name]) in gone for name in named):
            return True
        if row.given:
            return False
        origins = self._origins_of(row)
        if origins is None or facts.get("judged_by"):
            return True  # its inputs are unknown, and a reply about its item does not count
        return any((store, name) in gone for name in origins)

    def _origins_of(self, row: RowCopy) -> frozenset[str] | None:
        """Return the ids of the replies that a row builds on; None if they cannot be determined."""
        if row.place not in self._origins:
            self._origins[row.place] = self._search(row)
        return self._origins[row.place]

    def _search(self, row: RowCopy) -> frozenset[str] | None:
        """Return the ids of the replies that a row builds on, by trying which of them give its id, a digest."""
        facts = row.facts
        item = facts.get("item_id")  # an input of ids that build on no reply
        replies = [copy.key for copy in self._by_item[row.place.store, item] if copy.key != row.key]
        replies += [] if item is None else [item]
        fingerprint = facts.get("fingerprint")
        models = {facts.get(name) for name in ("identity", "model", "evaluator")} - {None}
        match row.table:
            case "samples":
                heads: list[list[Any]] = [
                    ["sample", fingerprint, facts["item_id"], model, facts["sample_number"]] for model in models
                ]
            case "judgements":
                heads = [["judgement", fingerprint, model] for model in models]
            case "scores":
                judges = (models - {facts.get("model")}) | {None}
                heads = [["score", fingerprint, facts["metric"], judge] for judge in judges]
            case "comparisons":
                heads = [["comparison", fingerprint, model] for model in models]
            case "conditions":
                return frozenset()  # a condition is dropped with its result
            case _:
                return None
        tries = 0
        for count in range(4):
            for names in itertools.permutations(replies, count):
                for head in heads:
                    if digest([*head, *names]) == row.key:
                        return frozenset(names)
                tries += 1
                if tries > MOST_TRIES:
                    return None
        return None


# The merge
TRIES = 5
"""The number of attempts if other processes compact the store before the merge is committed."""

Files = Mapping[str, list[Path]]
"""The parts of a store, by table."""
Dropped = Mapping[Path, Numbers]
"""The rows that are not written, by part."""


@dataclass(frozen=True)
class Merged:
    """The result of a merge.

    `added`: the number of added rows by table. `conflicts`: the number of ids of which stores have different replies.
    `left_out`: the number of rows that do not count because of a conflict, by table. `given`: how many of these are
    imported scores.
    """

    added: Mapping[str, int]
    conflicts: int
    left_out: Mapping[str, int]
    given: int


def merge_stores(target: Store, sources: Sequence[Store]) -> Merged:
    """Add the rows of the `sources` to the `target`, and their media. A repeated source is merged once.

    Raises `StoreError`: S0102 if the disk cannot be written, S0103 for a damaged part, S0104 for a newer schema, S0405
    if two stores have different runs with one id, S0406 if another process compacts or merges, and for a bucket what
    `Bucket.sync` raises.
    """
    busy = StoreError("S0406", "another process compacts the store, or merges into it", "try again when it is over")
    stores = list({source.root: source for source in sources}.values())
    try:
        with _alone(target) as alone:
            for _ in range(TRIES if alone else 0):
                with closing(open_database()) as database:
                    if (done := _merge(database, target, stores)) is not None:
                        for source in stores:
                            copy_media(source, target)
                        return done
                if target.bucket is not None:
                    target.bucket.sync()
            raise busy
    except pa.ArrowException as error:
        message = f"rows of a part do not fit their table ({' '.join(str(error).split())})"
        raise StoreError("S0103", message, "find the part with `tripos store check`") from error
    except (OSError, BaseError) as error:
        raise store_write_error(target.root, error) from error


@contextmanager
def _alone(target: Store) -> Iterator[bool]:
    """Exclude other merges, and in a folder compactions; yield false if one is running."""
    if target.bucket is not None:
        with exclusive(target.bucket, "merge") as alone:
            yield alone
        return
    offset = lock_offset(COMPACTION, "")
    alone = target.locks.hold(offset)
    try:
        yield alone
    finally:
        if alone:
            target.locks.free(offset)


def _merge(database: DuckDBPyConnection, target: Store, sources: Sequence[Store]) -> Merged | None:
    """Merge the stores; None if another process compacted the target meanwhile, so that nothing was committed."""
    for store in (target, *sources):
        store.verify()
    commits = target.commits()
    files = [store.files() for store in (target, *sources)]
    lost: dict[Path, set[int]] = defaultdict(set)
    for store_files in files:
        for schema in TABLES.values():
            for path, numbers in superseded_rows(database, schema, store_files[schema.name]).items():
                lost[path].update(numbers.tolist())
    conflicts, conflicting = _conflicting_rows(database, files, lost)
    places = {row.place for row in conflicting}
    for place in places:
        lost[place.path].add(place.row)
    for table in TABLES:
        for rows in shared_rows(database, table, [store_files[table] for store_files in files], lost):
            first = winner(rows)
            if table == RUNS.name and len({row.version for row in rows}) > 1:
                message = f"two stores have different runs of the name `{first.key}`"
                raise StoreError("S0405", message, "merge one of the two, or run one of them again")
            places |= {row.place for row in rows if row.place != first.place}
            for row in rows:
                if row.place != first.place:
                    lost[row.place.path].add(row.place.row)
    dropped = {path: np.array(sorted(rows), np.int64) for path, rows in lost.items() if rows}
    added = {
        table: sum(_count(path, dropped) for store_files in files[1:] for path in store_files[table])
        for table in TABLES
    }
    added = {table: count for table, count in added.items() if count}
    replaces = commits if any(place.store == 0 for place in places) else []
    if added or replaces:
        commit = _write(target, replaces, files[1:], [table for table in TABLES if table in added], dropped)
        if commit.repeated:
            return None
    left_out = Counter(row.table for row in conflicting)
    return Merged(added, conflicts, dict(left_out), sum(row.given for row in conflicting))


def _conflicting_rows(
    database: DuckDBPyConnection, files: Sequence[Files], doubles: Mapping[Path, set[int]]
) -> tuple[int, list[RowCopy]]:
    """Return the number of reply ids with a conflict, and the rows that do not count because of it."""
    items: set[str] = set()
    names: set[str] = set()
    for table in REPLY_COLUMNS:
        for rows in shared_rows(database, table, [store[table] for store in files], doubles):
            if has_conflict(rows):
                names.add(rows[0].reply)
                items |= {row.facts["item_id"] for row in rows if row.facts.get("item_id") is not None}
    if not names:
        return 0, []
    about_items = f"item_id in {sql.texts(sorted(items)) if items else '(null)'}"
    rows = []
    for table in DEPENDENT_TABLES:
        columns = TABLES[table].schema.names
        name = next((reply_key for reply_key in REPLY_KEYS if reply_key in columns), TABLES[table].key[0])
        of_replies = f"{name} in {sql.texts(sorted(names))}"
        where = f"({about_items} or {of_replies})" if "item_id" in columns else of_replies
        for row in read_row_copies(database, table, [store[table] for store in files], where):
            if row.place.row not in doubles.get(row.place.path, ()):
                rows.append(row)
    return len(names), DependentRows(rows).find()


def _count(path: Path, dropped: Mapping[Path, Numbers]) -> int:
    """Return the number of rows of a part that are not dropped."""
    with open_part(path) as file:
        return int(file.metadata.num_rows) - len(dropped.get(path, ()))


def _write(
    target: Store, replaces: Sequence[Commit], sources: Sequence[Files], tables: Sequence[str], dropped: Dropped
) -> Commit:
    """Commit the rows of the sources; with `replaces`, in place of all commits of the target."""
    now = target.now
    if replaces:
        name = f"compaction-{max((number_of(earlier.name) for earlier in target.all_commits()), default=0) + 1:06d}"
        now = max(commit.written_at for commit in replaces)
    else:
        name = new_name(now)
    parts: dict[str, list[ParquetPart]] = defaultdict(list)
    for commit in replaces:
        for part in commit.parts:
            parts[part.table].append(part)

    def written() -> Iterator[ParquetPart]:
        for table, parquet_parts in parts.items():
            yield from rewritten(target.root, table, name, parquet_parts, dropped, BIG_BYTES)
        for table in tables:
            yield from _copied(target.root, table, name, [path for store in sources for path in store[table]], dropped)

    return target.commit(name, now, written(), tuple(commit.name for commit in replaces))


def _copied(root: Path, table: str, name: str, paths: Sequence[Path], dropped: Dropped) -> Iterator[ParquetPart]:
    """Write the rows of some parts that are not dropped as one part."""
    count = 0
    with (
        new_part(root, table, name) as new,
        pq.ParquetWriter(new.file, TABLES[table].schema, **layout(table)) as writer,
    ):
        for path in paths:
            row = 0
            with open_part(path) as part:
                for batch in part.iter_batches(GROUP_ROWS):
                    content = pa.Table.from_batches([drop_rows(batch, row, dropped.get(path))])
                    row += batch.num_rows
                    count += content.num_rows
                    if content.num_rows:
                        writer.write_table(conform(table, TABLES[table].schema.names, content))
    yield new.finish(count)
