"""Sessions on a bucket: uploads, signs of life, commits, takeovers of silent sessions, and recovery of journals.

Every worker has one session. The log of a session contains its uncommitted rows, shows that the worker is alive, and
can be sealed by others. One thread uploads rows within seconds, and writes an empty slot if there are none. It is known
whether a slot was written before the next one is written. A session whose next slot is sealed has lost its lease:
nothing that it sends can be acknowledged any more. A second thread reads, claims and commits, so that the caller never
waits for the bucket: a reply that arrives meanwhile would be lost if the process died.

Takeover: all sessions that were silent for longer than a lease are sealed together, and what they uploaded is
committed. For every session in the catalog, each other session makes one request whenever it looks for changes, so
sessions that never took any work are removed too.

Recovery: if a process of this machine died, its session is continued by another process. Rows that its log lacks become
its next slot, so its claims still cover these rows, and no other worker can have repeated their calls. If others sealed
the log, they may have repeated the calls: the rows are then set aside, for a run that claims their case and finds none
of them in the store.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.errors import StoreError
from tripos_warehouse.store.bucket.bucket import Bucket, OpenLog, Tail, read_slot, seal_content, slot_content, slot_name
from tripos_warehouse.store.bucket.catalog import LogAdvance, OvertakenError, map_concurrently
from tripos_warehouse.store.bucket.leases import LOOK_S, Background, Leases
from tripos_warehouse.store.commits import Commit, CommitFiles, new_name, raised
from tripos_warehouse.store.journal import SUFFIX, JournalContent, journal_head, segments
from tripos_warehouse.store.parts import Row, open_part, to_arrow
from tripos_warehouse.store.schemas import TABLES


# Takeovers
@dataclass(frozen=True)
class _Suspect:
    """A session whose log has had the same end since a monotonic time, `since_s`. `written_at` is the time at which its
    last slot was written, by the store's clock; None if it is not known yet.
    """

    end: int
    since_s: float
    written_at: datetime | None = None


class Takeovers:
    """Takes over sessions that are silent. `beat` writes a sign of life of our session and returns its time by the
    store's clock; None if it failed.
    """

    def __init__(self, bucket: Bucket, own: str, beat: Callable[[], datetime | None]) -> None:
        self._bucket = bucket
        self._own_session = own
        self._beat = beat
        self._suspects: dict[str, _Suspect] = {}
        self._clock: tuple[datetime, float] | None = None
        """A time of the store's clock, and the monotonic time then."""

    def is_over(self, other: str) -> bool:
        """Return true if another session is over, after all silent sessions were taken over. Raises what
        `Bucket.commit_logs` raises.
        """
        sessions = self._bucket.catalog().sessions
        if other not in sessions:
            return True
        tails = self._bucket.reader.tails(
            {name: start for name, start in sessions.items() if name != self._own_session}
        )
        silent = self._silent({name: tail for name, tail in tails.items() if not tail.sealed})
        sealed = map_concurrently(lambda name: self._seal(name, tails[name].end), silent)
        all_sealed = [name for name, is_sealed in zip(silent, sealed, strict=True) if is_sealed]
        all_sealed += [name for name, tail in tails.items() if tail.sealed]
        over = self._bucket.effective_seals({name: tails[name].end for name in all_sealed})
        self._bucket.commit_logs([OpenLog(name, sessions[name], tails[name], over=True) for name in sorted(over)])
        return other not in self._bucket.catalog().sessions

    def _silent(self, tails: Mapping[str, Tail]) -> list[str]:
        """Return the sessions whose last slot is older than a lease, by the store's clock."""
        now_s = time.monotonic()
        self._suspects = {
            name: suspect
            if (suspect := self._suspects.get(name)) is not None and suspect.end == tail.end
            else _Suspect(tail.end, now_s)
            for name, tail in tails.items()
        }
        least_s = max(LOOK_S, self._bucket.lease_s / 12)
        quiet = [name for name, suspect in self._suspects.items() if now_s - suspect.since_s >= least_s]
        new = [name for name in quiet if self._suspects[name].written_at is None]
        for name, written_at in zip(new, map_concurrently(self._last_written, new), strict=True):
            # If the last slot was removed, its time is not known: the lease is counted from now.
            self._suspects[name] = _Suspect(tails[name].end, self._suspects[name].since_s, written_at or self._now())
        lease = timedelta(seconds=self._bucket.lease_s)

        def expired(names: list[str], now: datetime | None) -> list[str]:
            times = {name: self._suspects[name].written_at for name in names}
            return [name for name, at in times.items() if at is not None and now is not None and now - at > lease]

        likely = expired(quiet, self._estimated_now())
        return expired(likely, self._now()) if likely else []

    def _last_written(self, name: str) -> datetime | None:
        """Return when the last slot of a suspect's log was written, by the store's clock; None if it was removed."""
        return self._bucket.objects.written_at(slot_name(name, max(0, self._suspects[name].end - 1)))

    def _now(self) -> datetime | None:
        """Return the time of the store's clock, by writing a sign of life; None if that failed."""
        now_s, now = time.monotonic(), self._beat()
        if now is not None:
            self._clock = (now, now_s)
        return now

    def _estimated_now(self) -> datetime | None:
        """Return an estimate of the time of the store's clock, from its last known time if that is recent."""
        now_s = time.monotonic()
        if self._clock is None or now_s - self._clock[1] > self._bucket.lease_s:
            return self._now()
        return self._clock[0] + timedelta(seconds=now_s - self._clock[1])

    def _seal(self, name: str, end: int) -> bool:
        """Write a seal at the end of a log, and return true if there is one; false if the session is alive and wrote
        the slot first.
        """
        objects = self._bucket.objects
        if objects.create(slot_name(name, end), seal_content(self._own_session)):
            return True
        stored_object = objects.get(slot_name(name, end))
        return stored_object is not None and read_slot(end, stored_object.content, name).is_seal


# The session of a worker
UPLOAD_S = 2.0
"""The longest time until rows are uploaded, …"""
UPLOAD_LINES = 64
"""… and the number of waiting lines that starts an upload at once: at most this much is lost with a machine."""
COMMIT_S = 60.0
"""The time after which rows are committed."""
MARGIN = 0.75
"""The share of a lease, from the start of the last acknowledged upload, after which a session starts no call."""
LOAD_S = 2.0
"""The interval after which uploads of others are read again."""

Lines = list[tuple[bytes, Mapping[str, Sequence[Row]]]]
"""Lines of the journal, each with its rows by table."""


class Session:
    """The session of a worker. `begin` registers it; `end` commits everything and closes it."""

    def __init__(self, bucket: Bucket) -> None:
        self.id = new_name(datetime.now(UTC))
        self.bucket = Bucket(bucket.objects, bucket.root, bucket.lease_s)
        """The session's own bucket, since the caller's belongs to another thread."""
        self._background = Background()
        self._takeovers = Takeovers(self.bucket, self.id, self._beat)
        self.leases = Leases(
            self.bucket, self.id, lambda: self._queued, lambda: self._acknowledged, self._takeovers.is_over,
            self._load, self._background,
        )  # fmt: skip
        self._loading: Future[None] | None = None
        self._tails: dict[str, list[Row]] | None = None
        """The uncommitted rows of other sessions, if they were read since the last call of `news`."""
        self._changed = threading.Condition()
        """Guards the following attributes, and is notified when the uploading thread or its callers change them."""
        self._waiting: Lines = []
        """The lines that are not uploaded."""
        self._slots: dict[int, Lines] = {}
        """Acknowledged lines that are not committed, by slot."""
        self._next_slot = 0
        self._queued = self._acknowledged = 0
        """The numbers of lines that were queued and uploaded."""
        self._waits_since_s = 0.0
        """When the first of the waiting lines was queued."""
        self._upload_now = False
        self._stopping = False
        self._sealed = False
        self._upload_error: StoreError | None = None
        """The error of the last upload, if it failed."""
        self._alive_s = 0.0
        """When the last acknowledged upload began."""
        self._committed_s = time.monotonic()
        self._loaded_s = -LOAD_S
        self._thread = threading.Thread(target=self._upload_often, name="tripos-upload", daemon=True)

    def begin(self) -> None:
        """Register the session, start uploading, and read what others did. Raises what `Bucket.change` raises."""
        started_s = time.monotonic()
        self.bucket.objects.create(slot_name(self.id, 0), slot_content([]))
        self._next_slot = 1
        self.bucket.change(
            lambda now: now.following(sessions={**now.sessions, self.id: 0}), lambda now: self.id in now.sessions
        )
        self._alive_s = started_s
        self._thread.start()
        self._background.submit(self._load).result()

    # Uploads

    def queue(self, line: bytes, rows: Mapping[str, Sequence[Row]]) -> None:
        """Queue a line of the journal for upload."""
        with self._changed:
            if not self._waiting:
                self._waits_since_s = time.monotonic()
            self._waiting.append((line, rows))
            self._queued += 1
            if len(self._waiting) >= UPLOAD_LINES:
                self._changed.notify_all()

    def check(self) -> None:
        """Raise `StoreError` if no call may begin: S0112 if the lease is lost, or the error that keeps the bucket out
        of reach when the lease may be over.
        """
        if self._sealed:
            raise _lost(self.bucket.address)
        if time.monotonic() - self._alive_s > MARGIN * self.bucket.lease_s:
            raise self._upload_error or _lost(self.bucket.address)

    def check_background(self) -> None:
        """Raise the first error of background work since the last check."""
        self._background.check()

    def drain(self) -> None:
        """Wait until all rows are uploaded. Raises `StoreError` if they cannot be."""
        with self._changed:
            target = self._queued
            self._upload_now = True
            self._changed.notify_all()
            while self._acknowledged < target:
                if self._sealed or not self._thread.is_alive():
                    raise _lost(self.bucket.address)
                if time.monotonic() - self._alive_s > self.bucket.lease_s + 60 and self._upload_error is not None:
                    raise self._upload_error
                self._changed.wait(0.5)

    def _upload_often(self) -> None:
        """Write slots until the session is stopped or sealed: the loop of the uploading thread."""
        beat_s = self.bucket.lease_s / 4
        while True:
            with self._changed:
                while not self._is_due(beat_s):
                    self._changed.wait(min(0.25, beat_s))
                if self._stopping and not self._waiting:
                    return
                lines, self._waiting = self._waiting, []
                self._upload_now = False
            if not self._upload(lines):
                return

    def _is_due(self, beat_s: float) -> bool:
        """Return true if the next slot should be written, or the thread should end."""
        now_s = time.monotonic()
        if self._waiting:
            is_late = now_s - self._waits_since_s >= UPLOAD_S
            return is_late or len(self._waiting) >= UPLOAD_LINES or self._upload_now or self._stopping
        return self._stopping or now_s - self._alive_s >= beat_s

    def _upload(self, lines: Lines) -> bool:
        """Write the next slot, after as many attempts as needed; false if the slot was sealed, or if the session is
        stopping and out of reach.
        """
        name = slot_name(self.id, self._next_slot)
        content = slot_content([line for line, _ in lines])
        while True:
            started_s = time.monotonic()
            try:
                is_ours = self.bucket.objects.create(name, content)
            except StoreError as error:
                self._upload_error = error
                if self._stopping and started_s - self._alive_s > self.bucket.lease_s:
                    return False
                time.sleep(0.2)
                continue
            break
        with self._changed:
            if is_ours:
                if lines:
                    self._slots[self._next_slot] = lines
                self._next_slot += 1
                self._acknowledged += len(lines)
                self._alive_s = started_s
                self._upload_error = None
            else:
                self._sealed = True
                self._waiting = lines + self._waiting
            self._changed.notify_all()
        return is_ours

    # Reading what others did

    def news(self) -> dict[str, list[Row]] | None:
        """Return the uncommitted rows of other sessions, by table, if they were read since the last call; otherwise
        None. What others committed is in the local copy by then. Starts the next read in the background after `LOAD_S`.
        """
        if (self._loading is None or self._loading.done()) and time.monotonic() - self._loaded_s >= LOAD_S:
            self._loading = self._background.submit(self._load)
        with self._changed:
            tails, self._tails = self._tails, None
        return tails

    def _load(self) -> None:
        """Read what others uploaded, and update the local copy."""
        while True:
            before = self.bucket.catalog()
            tails: dict[str, list[Row]] = {}
            starts = {session: start for session, start in before.sessions.items() if session != self.id}
            for tail in self.bucket.reader.tails(starts).values():
                for line in (line for slot in tail.slots if slot.content is not None for line in slot.content.lines):
                    for table, rows in line.items():
                        tails.setdefault(table, []).extend(rows)
            # A slot may be missing because it was committed and collected after the catalog was read.
            after = self.bucket.sync()
            if all(after.sessions.get(session) == start for session, start in before.sessions.items()):
                break
        self.bucket.reader.forget(after.sessions)
        with self._changed:
            self._tails = tails
        self._loaded_s = time.monotonic()

    def _beat(self) -> datetime | None:
        """Write a sign of life and return its time by the store's clock; None if it failed."""
        with self._changed:
            number, self._upload_now = self._next_slot, True
            self._alive_s = min(self._alive_s, time.monotonic() - self.bucket.lease_s / 4)  # makes a sign of life due
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._next_slot > number or self._sealed, timeout=self.bucket.lease_s / 2)
            if self._next_slot == number:
                return None
            last = self._next_slot - 1
        return self.bucket.objects.written_at(slot_name(self.id, last))

    # Commits

    @property
    def is_due(self) -> bool:
        """True if it is time to commit."""
        return time.monotonic() - self._committed_s >= COMMIT_S

    def commit(self) -> Future[Commit | None]:
        """Upload and commit all rows in the background. The future has the commit, or None if there were no rows. It
        raises `StoreError` S0112 if the lease is lost, and what `Bucket.publish` raises.
        """
        self._committed_s = time.monotonic()
        return self._background.submit(self._commit)

    def _commit(self) -> Commit | None:
        """Upload and commit all rows."""
        self.drain()
        while True:
            start = self.bucket.catalog().sessions.get(self.id)
            with self._changed:
                end = self._next_slot
                if start is not None:
                    self._slots = {number: lines for number, lines in self._slots.items() if number >= start}
                uncommitted = [rows for number in sorted(self._slots) for _, rows in self._slots[number]]
            if start is None:
                raise _lost(self.bucket.address)
            if not uncommitted:
                return None
            merged: dict[str, list[Row]] = {}
            for by_table in uncommitted:
                for table, rows in by_table.items():
                    merged.setdefault(table, []).extend(rows)
            tables = {table: to_arrow(table, rows) for table, rows in merged.items() if rows}
            try:
                commit = self.bucket.commit_tables(tables, [LogAdvance(self.id, start, end)])
            except OvertakenError:
                continue  # another session committed some of it
            with self._changed:
                self._slots = {number: lines for number, lines in self._slots.items() if number >= end}
            return commit

    def end(self) -> None:
        """Commit everything, give back all shards and close the log, so that nobody waits for this session. Raises what
        `commit` raises.
        """
        self._background.close()
        self._commit()
        self.stop()
        end = self._next_slot
        if self.bucket.objects.create(slot_name(self.id, end), seal_content(self.id)):
            start = self.bucket.catalog().sessions.get(self.id, end)
            with suppress(OvertakenError):
                self.bucket.close_logs([LogAdvance(self.id, start, end, over=True)])

    def stop(self) -> None:
        """Stop uploading. Rows that were not uploaded are still in the journal."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        self._background.close(5)
        if self._thread.ident is not None:
            self._thread.join(timeout=5)


def _lost(address: str) -> StoreError:
    """Return the error of a session that lost its lease."""
    return StoreError(
        "S0112",
        f"this worker lost its lease on `{address}`: it could not be reached for too long, and others may do its work",
        "run the same command again: what this worker kept is in its journal, and nothing counts twice",
    )


# Recovery of journals
LATE = "late"
"""The folder for rows that were too late to be uploaded."""


def session_of(segment: str) -> str:
    """Return the session that wrote a journal segment.

    >>> session_of("20260301T080000000000-0123456789ab.000002")
    '20260301T080000000000-0123456789ab'
    """
    return segment.partition(".")[0]


def recover_segment(bucket: Bucket, name: str, kept: JournalContent) -> StoreError | None:
    """Upload and commit the rows of a segment, `kept`, that the bucket lacks. If others sealed the log of its session,
    set the segment aside instead, and return an error that reports the lines which the bucket lacks; otherwise None.

    Raises what `Bucket.publish` raises.
    """
    session = session_of(name)
    is_last = not any(segment > name and session_of(segment) == session for segment in segments(bucket.root))
    while True:
        catalog = bucket.sync()
        start = catalog.sessions.get(session)
        if start is None:
            return _set_aside(bucket.root, name, kept, len(_missing_lines(bucket, kept, None)))
        tail = bucket.reader.tail(session, start)
        if not tail.sealed:
            missing = _missing_lines(bucket, kept, tail)
            if not missing and not is_last:
                return None
            content = slot_content([line + b"\n" for line in missing]) if missing else seal_content(session)
            bucket.objects.create(slot_name(session, tail.end), content)
        elif bucket.effective_seals({session: tail.end}):
            bucket.commit_logs([OpenLog(session, start, tail, over=True)])


def _missing_lines(bucket: Bucket, kept: JournalContent, tail: Tail | None) -> list[bytes]:
    """Return the lines of a segment with a named row that is neither committed nor in a slot of the tail."""
    names: dict[str, set[str]] = {}
    for table, row in _named(kept.lines):
        names.setdefault(table, set()).add(row[TABLES[table].key[0]])
    known = {table: _committed(bucket, table, name) for table, name in names.items()}
    for slot in tail.slots if tail is not None else ():
        for table, row in _named(slot.content.lines if slot.content is not None else ()):
            known.setdefault(table, set()).add(row[TABLES[table].key[0]])
    uploaded = {line for slot in (tail.slots if tail else ()) if slot.content is not None for line in slot.content.raw}
    missing = []
    for line, raw in zip(kept.lines, kept.raw, strict=True):
        rows = [(table, row[TABLES[table].key[0]]) for table, row in _named([line])]
        is_known = all(name in known[table] for table, name in rows) if rows else tail is None
        if not is_known and raw not in uploaded:
            missing.append(raw)
    return missing


def _named(lines: Iterable[dict[str, list[Row]]]) -> Iterable[tuple[str, Row]]:
    """Yield the rows of tables whose key is one column."""
    for line in lines:
        for table, rows in line.items():
            if table in TABLES and len(TABLES[table].key) == 1:
                yield from ((table, row) for row in rows if TABLES[table].key[0] in row)


def _committed(bucket: Bucket, table: str, names: set[str]) -> set[str]:
    """Return those of the names that have a committed row."""
    import pyarrow.compute as pc

    (key,) = TABLES[table].key
    name_values: Any = pa.array(sorted(names), type=pa.string())
    committed: set[str] = set()
    commits = CommitFiles(bucket.root).live(raised)  # of the local copy, which is up to date
    for part in (part for commit in commits for part in commit.parts if part.table == table):
        with open_part(bucket.root / part.path) as file:
            column = file.read([key])[key]
            committed.update(column.filter(pc.is_in(column, value_set=name_values)).to_pylist())
    return committed


def _set_aside(root: Path, name: str, kept: JournalContent, late: int) -> StoreError | None:
    """Write all lines of a segment to the folder of late rows, since a later run must see which replies are from the
    same worker. Return an error that reports the number `late` of lines that the bucket lacks; None if it is 0.
    """
    (root / LATE).mkdir(exist_ok=True)
    lines = (journal_head(), *kept.raw)
    (root / LATE / f"{name}{SUFFIX}").write_bytes(b"".join(line + b"\n" for line in lines))
    if not late:
        return None
    count = f"{late:,} line{'' if late == 1 else 's'} that a worker kept"
    hint = f"they lie in `{root / LATE}`: a run takes in what nobody has asked for since, and the rest counts nowhere"
    return StoreError("S0112", f"{count} came after others had taken over its work", hint)
