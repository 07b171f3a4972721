"""The ledger of a store on an object store: what is kept is uploaded at once, and committed when there is enough of it.

The journal of this machine holds what is not committed, as in a folder. A claim is one of a shard, for which a session
holds a lease; before anything of a shard is asked, what others uploaded is read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tripos_warehouse.errors import unwritable
from tripos_warehouse.ledger.ledger import RunLedger, remember
from tripos_warehouse.store import SEGMENT, Bucket, Commit, Row, Session, Store, place_of


class BucketLedger(RunLedger):
    """A ledger that is one session on a bucket. Raises what the bucket does where it cannot be reached."""

    def __init__(self, store: Store, bucket: Bucket, fingerprints: Collection[str], release: str | None) -> None:
        self._bucket = bucket
        self._session = Session(bucket)
        self._segments = 0
        self._tails: dict[str, dict[str, Row]] = {}
        """What other sessions uploaded and nobody has committed."""
        store.recover()
        self._session.begin()
        super().__init__(store, fingerprints, release)
        self._claims = self._session.leases

    def refresh(self) -> bool:
        """Take in what others committed or uploaded, as `RunLedger.refresh`."""
        loaded = self._session.load()
        if loaded:
            self._tails = {}
            for table, rows in self._session.tails.items():
                remember(self._tails, table, rows)
        return super().refresh() or loaded

    def flush(self) -> Commit | None:
        """Let others have what they wait for; commit what was kept, where there is enough of it or a minute has gone
        by. Raises `StoreError` S0112 where the lease was lost, and what `Session.commit` does."""
        self._session.check()
        self._claims.let_go()
        return self._commit_log() if self._batch.is_full or self._session.is_due else None

    def close(self) -> None:
        """Commit what this session kept and what others have uploaded, and let go of everything. Raises what `flush`
        does; what could not be committed is in the journal."""
        try:
            self._session.check()
            self._commit_log()
            self._session.end()
            self._bucket.commit_tails()
        finally:
            self._session.stop()
            self._let_go()

    def _commit_log(self) -> Commit | None:
        self._close_batch()
        commit = self._session.commit()
        if commit is not None:
            self._mine.append(commit)
        self._fresh = {}
        done = [batch.segment for batch in self._closed if batch.segment is not None]
        self._closed.clear()
        try:
            for segment in done:
                segment.remove()
                self._locks.free(place_of(SEGMENT, segment.name))
        except OSError as error:
            raise unwritable(self._store.root, error) from error
        return commit

    def _added(self, line: bytes, rows: Mapping[str, Sequence[Row]]) -> None:
        self._session.queue(line, rows)

    def _segment_name(self) -> str:
        self._segments += 1
        return f"{self._session.id}.{self._segments:06d}"

    def _uncommitted(self, table: str) -> list[dict[str, Row]]:
        return [*([self._tails[table]] if table in self._tails else []), *super()._uncommitted(table)]
