"""The ledger of a store on an object store: rows are uploaded within seconds, and committed in larger batches.

Uncommitted rows are also in the local journal, as in a folder store. A claim is for a shard of the work, for which the
session has a lease; before the first call of a shard, what others uploaded is read. All of this happens in the
background.

Late replies are rows of a worker of this machine that were not uploaded when others sealed its log. Others may have
repeated the calls since. So late replies are examined when this ledger claims their case, after reading what others
did. The replies of one worker to a case are used only if the store has no reply of another worker to it; missing ones
are then added like new ones. Their scores are computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path

from tripos_compiler.plan import digest
from tripos_warehouse.errors import StoreError, store_write_error
from tripos_warehouse.ledger.ledger import RowBatch, RunLedger, add_uncommitted
from tripos_warehouse.store.bucket.bucket import Bucket
from tripos_warehouse.store.bucket.session import LATE, Session
from tripos_warehouse.store.commits import Commit
from tripos_warehouse.store.journal import SUFFIX, read_segment
from tripos_warehouse.store.locks import SEGMENT, lock_offset
from tripos_warehouse.store.parts import Row
from tripos_warehouse.store.schemas import JUDGEMENTS, SAMPLES, TABLES, TURNS
from tripos_warehouse.store.store import Store

REPLIES = (SAMPLES.name, TURNS.name, JUDGEMENTS.name)
_DISTINGUISHING = ("created_at", "run_id", "reply", "text")
"""The columns that distinguish the replies of different workers with the same name."""
LateReplies = dict[str, list[Row]]
"""The replies of one worker to a case, and its item, by table."""
Find = Callable[[str, Sequence[str]], Mapping[str, Row]]
"""Returns the stored rows of a table with some names."""


def late_replies(root: Path, find: Find) -> dict[str, list[LateReplies]]:
    """Return the late replies of this machine by the key of the claim of their case: a digest of the fingerprint of its
    first question and its item. Replies without a known first question are skipped. Files without usable replies are
    removed.
    """
    files: dict[str, list[Path]] = {}
    for path in sorted((root / LATE).glob(f"*{SUFFIX}")):
        files.setdefault(path.name.partition(".")[0], []).append(path)
    by_claim: dict[str, list[LateReplies]] = {}
    for paths in files.values():
        by_item = _by_item(paths)
        if all(new_replies(rows, find) is None for rows in by_item):
            for path in paths:
                path.unlink(missing_ok=True)
            continue
        for rows in by_item:
            for key in _keys(rows, find):
                by_claim.setdefault(key, []).append(rows)
    return by_claim


def new_replies(rows: LateReplies, find: Find) -> LateReplies | None:
    """Return those late replies that are not stored yet, with the item; None if there are none, or if a reply of
    another worker is stored.
    """
    new: LateReplies = {}
    for table in REPLIES:
        key = TABLES[table].key[0]
        names = [row[key] for row in rows.get(table, ())]
        stored = find(table, names) if names else {}
        for row in rows.get(table, ()):
            other = stored.get(row[key])
            if other is None:
                new.setdefault(table, []).append(row)
            elif any(other.get(name) != row.get(name) for name in _DISTINGUISHING):
                return None
    return {"items": rows["items"], **new} if new else None


def _by_item(paths: Sequence[Path]) -> list[LateReplies]:
    """Return the replies in the segments of one worker, grouped by item. Replies without their item are dropped."""
    items: dict[str, Row] = {}
    by_item: dict[str, LateReplies] = {}
    for path in paths:
        with suppress(OSError):
            for line in read_segment(path).lines:
                items.update((row["item_id"], row) for row in line.get("items", ()) if "item_id" in row)
                for table in REPLIES:
                    for row in line.get(table, ()):
                        if TABLES[table].key[0] in row:
                            by_item.setdefault(str(row.get("item_id")), {}).setdefault(table, []).append(row)
    return [{"items": [items[item_id]], **rows} for item_id, rows in by_item.items() if item_id in items]


def _keys(rows: LateReplies, find: Find) -> set[str]:
    """Return the possible keys of the claim of a case: one for each of its replies and of the replies that
    were judged.
    """
    replies = [row for table in REPLIES[:2] for row in rows.get(table, ())]
    judged = [row["sample_id"] for row in rows.get(JUDGEMENTS.name, ()) if row.get("sample_id")]
    questions = (*replies, *(find(SAMPLES.name, judged).values() if judged else ()))
    return {digest([row["fingerprint"], rows["items"][0]["item_id"]]) for row in questions if row.get("fingerprint")}


MOST_CLOSED = 2
"""If this many batches wait for their commits, a flush waits for one."""


class BucketLedger(RunLedger):
    """A ledger with one session on a bucket. Raises what the bucket raises if it is out of reach."""

    def __init__(self, store: Store, bucket: Bucket, fingerprints: Collection[str], release: str | None) -> None:
        self._bucket = bucket
        self._session = Session(bucket)
        self._segments = 0
        self._tails: dict[str, dict[str, Row]] = {}
        """Uncommitted uploads of other sessions."""
        self._committing: tuple[Future[Commit | None], list[RowBatch]] | None = None
        """A commit in the background, and its batches."""
        self._late: dict[str, list[LateReplies]] = {}
        """Late replies of this machine, by the key of the claim of their case."""
        self._claimed: list[str] = []
        """Keys of `_late` that were claimed since the last refresh."""
        store.recover()
        self._session.begin()
        super().__init__(store, fingerprints, release)
        self._claims = self._session.leases
        self._late = late_replies(store.root, self.rows)

    def claim(self, key: str, *, later: bool = False) -> bool:
        """Claim as `RunLedger.claim` does. The next refresh stores usable late replies of the case."""
        is_ours = super().claim(key, later=later)
        if is_ours and key in self._late:
            self._claimed.append(key)
        return is_ours

    def refresh(self) -> bool:
        """Read what others committed or uploaded, as `RunLedger.refresh` does, and store late replies to
        claimed cases.
        """
        self._settle_commit()
        self._recover()
        news = self._session.news()
        if news is not None:
            self._tails = {}
            for table, rows in news.items():
                add_uncommitted(self._tails, table, rows)
        is_new = super().refresh() or news is not None
        return self._store_late() or is_new

    def _store_late(self) -> bool:
        """Store late replies to claimed cases without a reply of another worker; return true if there were any."""
        has_stored = False
        claimed, self._claimed = self._claimed, []
        for late in (late for key in claimed for late in self._late.pop(key, ())):
            if (rows := new_replies(late, self.rows)) is None:
                continue
            try:
                self.keep(rows)
            except StoreError as error:
                if error.code != "S0105":  # written by an earlier Tripos with other columns
                    raise
            else:
                has_stored = True
        return has_stored

    def flush(self) -> Commit | None:
        """Give back shards that others request, and commit if the batch is full or a minute has passed. Both happen in
        the background; the commit is returned by a later flush.

        Raises `StoreError` S0112 if the lease is lost, and errors of background work since the last flush.
        """
        self._session.check()
        self._session.check_background()
        commit = self._settle_commit()
        self._claims.let_go()
        if self._batch.is_full or self._session.is_due:
            if self._committing is not None and len(self._closed) >= MOST_CLOSED:
                commit = self._settle_commit(wait=True)
            self._begin_commit()
        return commit

    def close(self) -> None:
        """Commit the rows of this session and the uploads of others, and release everything. Raises what `flush`
        raises; uncommitted rows stay in the journal.
        """
        try:
            self._session.check()
            self._commit_log()
            self._session.end()
            self._bucket.commit_tails()
        finally:
            self._session.stop()
            self._release_all()

    def _commit_log(self) -> Commit | None:
        """Commit all rows and wait until they are committed."""
        self._settle_commit(wait=True)
        self._begin_commit()
        return self._settle_commit(wait=True)

    def _begin_commit(self) -> None:
        """Commit all rows in the background, unless another commit is running."""
        self._close_batch()
        if self._committing is None:
            self._committing = (self._session.commit(), list(self._closed))

    def _settle_commit(self, *, wait: bool = False) -> Commit | None:
        """Remove the batches of a finished commit and return the commit; None if none is finished. With `wait`, wait
        for a running one. Raises the error of the commit, after which another one may begin.
        """
        if self._committing is None or not (wait or self._committing[0].done()):
            return None
        (future, batches), self._committing = self._committing, None
        commit = future.result()
        if commit is not None and commit.name not in self._commits:
            self._own_commits.append(commit)
        self._closed = [batch for batch in self._closed if all(batch is not done for done in batches)]
        self._uncommitted_rows = {}
        for batch in (*self._closed, self._batch):
            for table, rows in batch.rows.items():
                add_uncommitted(self._uncommitted_rows, table, rows)
        try:
            for batch in batches:
                if batch.segment is not None:
                    batch.segment.remove()
                    self._locks.free(lock_offset(SEGMENT, batch.segment.name))
        except OSError as error:
            raise store_write_error(self._store.root, error) from error
        return commit

    def _added(self, line: bytes, rows: Mapping[str, Sequence[Row]]) -> None:
        """Queue a line for upload."""
        self._session.queue(line, rows)

    def _segment_name(self) -> str:
        """Return the name of a new segment, which begins with that of the session."""
        self._segments += 1
        return f"{self._session.id}.{self._segments:06d}"

    def _uncommitted(self, table: str) -> list[dict[str, Row]]:
        """Return the uncommitted rows of a table by name: those of other sessions, then those of this ledger."""
        return [*([self._tails[table]] if table in self._tails else []), *super()._uncommitted(table)]
