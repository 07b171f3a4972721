"""A session: the life of one worker on a bucket. Its log is its journal, its sign of life and its fence in one.

A thread uploads what was kept, at most some seconds later, and writes an empty slot when nothing was. One slot is
settled before the next is tried. Who finds that its next slot is sealed has lost its lease: nothing that it sends can
be acknowledged any more. A second thread reads, claims and commits, so that whoever keeps results never waits for the
bucket: a reply that arrived meanwhile would not be read, and would be lost with the process.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from datetime import UTC, datetime

from tripos_warehouse.errors import StoreError
from tripos_warehouse.store.bucket.bucket import Bucket
from tripos_warehouse.store.bucket.catalog import LogAdvance, OvertakenError
from tripos_warehouse.store.bucket.leases import Background, Leases
from tripos_warehouse.store.bucket.logs import seal_content, slot_content, slot_name
from tripos_warehouse.store.bucket.takeovers import Takeovers
from tripos_warehouse.store.commits import Commit, new_name
from tripos_warehouse.store.rows import Row, to_arrow

UPLOAD_S = 2.0
"""What was kept is uploaded after so long at the latest, …"""
UPLOAD_LINES = 64
"""… or when so many lines wait: at most that is asked again when a machine is lost."""
COMMIT_S = 60.0
MARGIN = 0.75
"""This share of a lease after the start of the last upload that was acknowledged, a session begins no call any more."""
LOAD_S = 2.0
"""What others uploaded is read again after so long, if nothing demands it earlier."""

Lines = list[tuple[bytes, Mapping[str, Sequence[Row]]]]


class Session:
    """One worker's session. `begin` makes it known to the others; `end` commits everything and goes."""

    def __init__(self, bucket: Bucket) -> None:
        self.id = new_name(datetime.now(UTC))
        self.bucket = Bucket(bucket.objects, bucket.root, bucket.lease_s)
        """Its own: that of the caller is of another thread."""
        self._background = Background()
        self._takeovers = Takeovers(self.bucket, self.id, self._beat)
        self.leases = Leases(
            self.bucket, self.id, lambda: self._queued, lambda: self._acknowledged, self._takeovers.is_over,
            self._load, self._background,
        )  # fmt: skip
        self._loading: Future[None] | None = None
        self._tails: dict[str, list[Row]] | None = None
        self._changed = threading.Condition()
        self._waiting: Lines = []
        self._slots: dict[int, Lines] = {}
        """What was acknowledged and is not committed, by slot."""
        self._next = 0
        self._queued = self._acknowledged = 0
        self._waits_since_s = 0.0
        self._hurry = False
        self._stopping = False
        self._sealed = False
        self._trouble: StoreError | None = None
        self._alive_s = 0.0
        self._committed_s = time.monotonic()
        self._loaded_s = -LOAD_S
        self._thread = threading.Thread(target=self._upload_often, name="tripos-upload", daemon=True)

    def begin(self) -> None:
        """Make the session known, start to upload, and read what others did. Raises what `Bucket.change` does."""
        started_s = time.monotonic()
        self.bucket.objects.create(slot_name(self.id, 0), slot_content([]))
        self._next = 1
        self.bucket.change(
            lambda now: now.following(sessions={**now.sessions, self.id: 0}), lambda now: self.id in now.sessions
        )
        self._alive_s = started_s
        self._thread.start()
        self._background.submit(self._load).result()

    # Uploads

    def queue(self, line: bytes, rows: Mapping[str, Sequence[Row]]) -> None:
        """Take a line of the journal, to be uploaded soon."""
        with self._changed:
            if not self._waiting:
                self._waits_since_s = time.monotonic()
            self._waiting.append((line, rows))
            self._queued += 1
            if len(self._waiting) >= UPLOAD_LINES:
                self._changed.notify_all()

    def check(self) -> None:
        """Raise `StoreError` where no call may begin: S0112 the lease was lost, or what keeps the bucket from being
        reached once the lease may be over."""
        if self._sealed:
            raise _lost(self.bucket.address)
        if time.monotonic() - self._alive_s > MARGIN * self.bucket.lease_s:
            raise self._trouble or _lost(self.bucket.address)

    def check_background(self) -> None:
        """Raise the first error of work in the background since the last time."""
        self._background.check()

    def drain(self) -> None:
        """Wait until everything that was kept is uploaded. Raises `StoreError` where it cannot be."""
        with self._changed:
            wanted = self._queued
            self._hurry = True
            self._changed.notify_all()
            while self._acknowledged < wanted:
                if self._sealed or not self._thread.is_alive():
                    raise _lost(self.bucket.address)
                if time.monotonic() - self._alive_s > self.bucket.lease_s + 60 and self._trouble is not None:
                    raise self._trouble
                self._changed.wait(0.5)

    def _upload_often(self) -> None:
        beat_s = self.bucket.lease_s / 4
        while True:
            with self._changed:
                while not self._is_due(beat_s):
                    self._changed.wait(min(0.25, beat_s))
                if self._stopping and not self._waiting:
                    return
                lines, self._waiting = self._waiting, []
                self._hurry = False
            if not self._upload(lines):
                return

    def _is_due(self, beat_s: float) -> bool:
        now_s = time.monotonic()
        if self._waiting:
            late = now_s - self._waits_since_s >= UPLOAD_S
            return late or len(self._waiting) >= UPLOAD_LINES or self._hurry or self._stopping
        return self._stopping or now_s - self._alive_s >= beat_s

    def _upload(self, lines: Lines) -> bool:
        """Write the next slot, however long it takes; false where it was sealed."""
        name = slot_name(self.id, self._next)
        content = slot_content([line for line, _ in lines])
        while True:
            started_s = time.monotonic()
            try:
                ours = self.bucket.objects.create(name, content)
            except StoreError as error:
                self._trouble = error
                if self._stopping and started_s - self._alive_s > self.bucket.lease_s:
                    return False
                time.sleep(0.2)
                continue
            break
        with self._changed:
            if ours:
                if lines:
                    self._slots[self._next] = lines
                self._next += 1
                self._acknowledged += len(lines)
                self._alive_s = started_s
                self._trouble = None
            else:
                self._sealed = True
                self._waiting = lines + self._waiting
            self._changed.notify_all()
        return ours

    # Reading what others did

    def news(self) -> dict[str, list[Row]] | None:
        """Return the rows that others uploaded and nobody has committed, by table, where they were read since the last
        time; what others committed is in the copy by then. Read them again in the background after some time."""
        if (self._loading is None or self._loading.done()) and time.monotonic() - self._loaded_s >= LOAD_S:
            self._loading = self._background.submit(self._load)
        with self._changed:
            found, self._tails = self._tails, None
        return found

    def _load(self) -> None:
        while True:
            before = self.bucket.catalog()
            tails: dict[str, list[Row]] = {}
            starts = {session: start for session, start in before.sessions.items() if session != self.id}
            for tail in self.bucket.reader.tails(starts).values():
                for line in (line for slot in tail.slots if slot.kept is not None for line in slot.kept.lines):
                    for table, rows in line.items():
                        tails.setdefault(table, []).extend(rows)
            # A slot may be absent because it was committed and collected since the catalog was read.
            after = self.bucket.sync()
            if all(after.sessions.get(session) == start for session, start in before.sessions.items()):
                break
        self.bucket.reader.forget(after.sessions)
        with self._changed:
            self._tails = tails
        self._loaded_s = time.monotonic()

    def _beat(self) -> datetime | None:
        """Write a sign of life, and return when the store wrote it, by its own clock; None where it could not be."""
        with self._changed:
            number, self._hurry = self._next, True
            self._alive_s = min(self._alive_s, time.monotonic() - self.bucket.lease_s / 4)  # one is due
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._next > number or self._sealed, timeout=self.bucket.lease_s / 2)
            if self._next == number:
                return None
            own = self._next - 1
        return self.bucket.objects.written_at(slot_name(self.id, own))

    # Commits

    @property
    def is_due(self) -> bool:
        """Return true if it is time to commit what was uploaded."""
        return time.monotonic() - self._committed_s >= COMMIT_S

    def commit(self) -> Future[Commit | None]:
        """Upload everything that was kept, and commit it, in the background; None where nothing waited. The future
        raises `StoreError`: S0112 where the lease was lost, and what `Bucket.publish` does."""
        self._committed_s = time.monotonic()
        return self._background.submit(self._commit)

    def _commit(self) -> Commit | None:
        self.drain()
        while True:
            start = self.bucket.catalog().sessions.get(self.id)
            with self._changed:
                end = self._next
                if start is not None:
                    self._slots = {number: lines for number, lines in self._slots.items() if number >= start}
                kept = [rows for number in sorted(self._slots) for _, rows in self._slots[number]]
            if start is None:
                raise _lost(self.bucket.address)
            if not kept:
                return None
            merged: dict[str, list[Row]] = {}
            for rows in kept:
                for table, some in rows.items():
                    merged.setdefault(table, []).extend(some)
            tables = {table: to_arrow(table, some) for table, some in merged.items() if some}
            try:
                commit = self.bucket.commit_tables(tables, [LogAdvance(self.id, start, end)])
            except OvertakenError:
                continue  # somebody else has committed some of it
            with self._changed:
                self._slots = {number: lines for number, lines in self._slots.items() if number >= end}
            return commit

    def end(self) -> None:
        """Commit everything, let go of all shards and close the log, so that nobody waits for this session. Raises what
        `commit` does."""
        self._background.close()
        self._commit()
        self.stop()
        end = self._next
        if self.bucket.objects.create(slot_name(self.id, end), seal_content(self.id)):
            start = self.bucket.catalog().sessions.get(self.id, end)
            with suppress(OvertakenError):
                self.bucket.close_logs([LogAdvance(self.id, start, end, over=True)])

    def stop(self) -> None:
        """End the uploads. What was kept and not uploaded is in the journal."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        self._background.close(5)
        if self._thread.ident is not None:
            self._thread.join(timeout=5)


def _lost(address: str) -> StoreError:
    return StoreError(
        "S0112",
        f"this worker lost its lease on `{address}`: it could not be reached for too long, and others may do its work",
        "run the same command again: what this worker kept is in its journal, and nothing counts twice",
    )
