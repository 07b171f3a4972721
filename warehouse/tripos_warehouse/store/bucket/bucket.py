"""A store on an object store: commits by conditional write, the local copy, the logs of sessions, and garbage
collection.

```
tripos-store.json               format of the store, and the length of a lease
catalog.json                    the parts that count, and the sessions              (conditional write)
claims.json                     which session has which shard of the work           (conditional write)
logs/<session>/<slot>           uncommitted rows, a sign of life, or a seal         (if its name is free)
parts/<table>/<serial>-<name>   Parquet                                             (written once)
manifests/<serial>-<name>       the parts of a commit that has many                 (written once)
```
What counts depends on no clock and no listing of objects. Only garbage collection uses listings; an outdated one only
delays it.

The local copy is a folder store like any other, which all readers read. It is updated to the catalog under its own
lock, and never to an earlier catalog than its own. Every part is compared with its digest in the catalog when it is
fetched, and again if the modification time of its file has changed.

A log has numbered slots. A slot is written only if its number is free, and never changed. It has rows, nothing (a sign
of life), or a *seal*. A worker that finds a session silent for too long writes a seal at the next free slot of that
session; from then on no upload of that session can be acknowledged. Seals are never removed.
"""

from __future__ import annotations

import gzip
import hashlib
import random
import re
import stat
import time
import uuid
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pyarrow as pa

from tripos_compiler.files import write_atomically
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.errors import StoreError
from tripos_warehouse.store.bucket.catalog import (
    CATALOG,
    MANIFESTS,
    RECENT,
    BucketPart,
    Catalog,
    CatalogCommit,
    LogAdvance,
    Objects,
    OldBaseError,
    OvertakenError,
    PartGoneError,
    StoredObject,
    Tag,
    map_concurrently,
    newest_compaction,
    no_conditions,
    read_catalog,
    read_parts,
    with_advances,
    with_commit,
    with_parts,
)
from tripos_warehouse.store.commits import (
    COMMITS,
    Commit,
    ParquetPart,
    bump_change_counter,
    new_name,
    number_of,
    read_commit,
    to_json,
)
from tripos_warehouse.store.digests import sealed, sha256_of, unsealed
from tripos_warehouse.store.journal import JournalContent, journal_head, merge, parse_segment, set_aside
from tripos_warehouse.store.locks import LIST, Locks, lock_offset
from tripos_warehouse.store.parts import INVALID_ROWS, changed_part, discard, valid_lines, valid_tables, write_part
from tripos_warehouse.store.paths import MARKER, copy_of, read_plain

# The local copy
STATE = "catalog.json"
"""The file with the serial of the catalog for which the folder is complete, and the modification times of verified
parts.
"""


class LocalCopy:
    """The folder of a bucket on this machine."""

    def __init__(self, root: Path, objects: Objects) -> None:
        self.root = root
        self._objects = objects
        self._replaced: dict[str, frozenset[str]] = {}
        """The commits that each compaction in the folder replaces."""
        self._verified: dict[str, int] = {}
        """The modification time of each part file whose content matched the catalog, by path."""

    def take(self, catalog: Catalog) -> None:
        """Bring the folder to the state of a catalog, unless it has a later one. Raises `PartGoneError`, `OSError` and
        what `Objects.get` raises.
        """
        with self._locked():
            if (serial := self._read_state()) >= catalog.serial:
                return
            folder = self.root / COMMITS
            present = {path.stem for path in folder.glob("*.json") if serial >= 0 or self._is_readable(path)}
            # The parts of a manifest were fetched before its commit was written to the folder.
            to_check = [
                catalog_commit
                for catalog_commit in catalog.commits
                if catalog_commit.manifest is None or catalog_commit.name not in present
            ]
            part_lists = map_concurrently(lambda catalog_commit: read_parts(self._objects, catalog_commit), to_check)
            parts = {
                catalog_commit.name: part_list for catalog_commit, part_list in zip(to_check, part_lists, strict=True)
            }
            bucket_parts = [part for part_list in parts.values() for part in part_list]
            map_concurrently(self._fetch, [part for part in bucket_parts if not self._has(part)])
            obsolete = self._obsolete_commits(catalog, present)
            newest = newest_compaction(catalog)
            for commit in catalog.commits:
                path = folder / f"{commit.name}.json"
                replaces = obsolete if commit.name == newest else frozenset()
                if commit.name not in present:
                    parquet_parts = tuple(part.parquet for part in parts[commit.name])
                    listed = Commit(commit.name, commit.written_at, parquet_parts, replaces=tuple(sorted(replaces)))
                    _write(path, to_json(listed))
                elif replaces:
                    present_commit = read_commit(path)
                    replaces |= set(present_commit.replaces)
                    _write(path, to_json(replace(present_commit, replaces=tuple(sorted(replaces)))))
                if replaces:
                    self._replaced[commit.name] = replaces
            earlier = {path: mtime for path, mtime in self._verified.items() if (self.root / path).exists()}
            self._verified = earlier | {part.path: (self.root / part.path).stat().st_mtime_ns for part in bucket_parts}
            _write(self.root / STATE, sealed({"serial": catalog.serial, "verified": self._verified}))
            bump_change_counter(self.root)

    def forget(self) -> None:
        """Make the next `take` compare the whole folder with the catalog, and fetch what is missing or damaged."""
        with self._locked():
            (self.root / STATE).unlink(missing_ok=True)

    def _obsolete_commits(self, catalog: Catalog, present: set[str]) -> frozenset[str]:
        """Return the commits of the folder, `present`, that are neither in the catalog nor replaced by a compaction in
        the folder: the newest compaction replaced them.
        """
        obsolete = present - {commit.name for commit in catalog.commits}
        for commit in catalog.commits if obsolete else ():
            if number_of(commit.name) and commit.name in present:
                if commit.name not in self._replaced:
                    path = self.root / COMMITS / f"{commit.name}.json"
                    self._replaced[commit.name] = frozenset(read_commit(path).replaces)
                obsolete -= self._replaced[commit.name]
        return frozenset(obsolete)

    def _read_state(self) -> int:
        """Read the state file and return the serial of the catalog for which the folder is complete; -1 without one."""
        try:
            state = unsealed(read_plain(self.root / STATE))
            serial, verified = int(state["serial"]), state.get("verified", {})
            self._verified = {str(path): int(at) for path, at in verified.items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            self._verified = {}
            return -1
        return serial

    def _is_readable(self, path: Path) -> bool:
        """Return true if the commit file can be read."""
        try:
            read_commit(path)
        except StoreError:
            self._replaced.pop(path.stem, None)
            return False
        return True

    def _has(self, part: BucketPart) -> bool:
        """Return true if the folder has a part with the content in the catalog."""
        path = self.root / part.path
        try:
            status = path.lstat()
            if not stat.S_ISREG(status.st_mode) or status.st_size != part.bytes:
                return False
            return self._verified.get(part.path) == status.st_mtime_ns or sha256_of(path) == part.sha256
        except OSError:
            return False

    def _fetch(self, part: BucketPart) -> None:
        """Copy a part to the folder."""
        stored_object = self._objects.get(part.name)
        if stored_object is None:
            raise PartGoneError(part.name)
        if hashlib.sha256(stored_object.content).hexdigest() != part.sha256:
            hint = "restore the object from a backup: its content is not that which was committed"
            raise StoreError("S0103", f"`{self._objects.address}/{part.name}` was changed", hint)
        _write(self.root / part.path, stored_object.content, mode=0o444)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Wait until no other process changes the folder, and exclude others."""
        locks, offset = Locks(self.root), lock_offset(LIST, STATE)
        try:
            while not locks.hold(offset):
                time.sleep(0.01)
            yield
        finally:
            locks.close()


def _write(path: Path, content: bytes, mode: int = 0o644) -> None:
    """Write a file atomically, in a folder that may be missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, content, mode=mode)


# Logs of sessions
LOGS = "logs"
SEAL_FORMAT = "tripos.seal/1"
MOST_BYTES = 2**31
"""The size limit of a slot after decompression."""


@dataclass(frozen=True)
class LogSlot:
    """A slot of a log; `content` is None for a seal."""

    number: int
    content: JournalContent | None

    @property
    def is_seal(self) -> bool:
        """True for a seal: no slot can follow."""
        return self.content is None


@dataclass(frozen=True)
class Tail:
    """The slots of a log from some number on, and the number of the first slot that is free or sealed."""

    slots: tuple[LogSlot, ...]
    end: int
    sealed: bool

    @property
    def has_rows(self) -> bool:
        """True if there is anything to commit."""
        return any(slot.content is not None and (slot.content.lines or slot.content.damaged) for slot in self.slots)


def slot_name(session: str, number: int) -> str:
    """Return the object name of a slot.

    >>> slot_name("20260301T080000000000-0123456789ab", 7)
    'logs/20260301T080000000000-0123456789ab/00000007'
    """
    return f"{LOGS}/{session}/{number:08d}"


def slot_content(lines: Sequence[bytes]) -> bytes:
    """Return the bytes of a slot with these journal lines. A nonce makes every slot unique."""
    head = journal_head(nonce=uuid.uuid4().hex) + b"\n"
    return gzip.compress(head + b"".join(lines), 1, mtime=0)


def seal_content(by: str) -> bytes:
    """Return the bytes of a seal."""
    return gzip.compress(orjson.dumps({"format": SEAL_FORMAT, "by": by, "nonce": uuid.uuid4().hex}) + b"\n", 1, mtime=0)


def sealed_by(seal: bytes) -> str:
    """Return the session that wrote a seal."""
    return str(orjson.loads(zlib.decompress(seal, 31))["by"])


def read_slot(number: int, content: bytes, name: str) -> LogSlot:
    """Return the slot in these bytes. Raises `StoreError`: S0104 for a newer format, S0404 if it is damaged."""
    try:
        unpacker = zlib.decompressobj(wbits=31)
        unpacked = unpacker.decompress(content, MOST_BYTES)
        if not unpacker.eof:
            raise zlib.error("it breaks off")
        head = orjson.loads(unpacked.partition(b"\n")[0])
    except (zlib.error, orjson.JSONDecodeError) as error:
        hint = "restore the object from a backup, or remove it: its calls are then made again"
        raise StoreError("S0404", f"`{name}` is unreadable ({error})", hint) from error
    if isinstance(head, dict) and head.get("format") == SEAL_FORMAT:
        return LogSlot(number, None)
    journal_content = parse_segment(unpacked)
    if journal_content.newer:
        raise StoreError("S0104", f"`{name}` was not written by this Tripos", "update Tripos")
    return LogSlot(number, journal_content)


class LogReader:
    """A reader of log tails. A slot never changes, so each is read once."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._slots: dict[str, dict[int, LogSlot]] = {}

    def tail(self, session: str, start: int) -> Tail:
        """Return the slots of a log from `start` on. Raises `StoreError`: S0104, S0109, S0110, S0404."""
        read_slots = self._slots.setdefault(session, {})
        slots: list[LogSlot] = []
        number = start
        while True:
            slot = read_slots.get(number)
            if slot is None:
                name = slot_name(session, number)
                stored_object = self._objects.get(name)
                if stored_object is None:
                    return Tail(tuple(slots), number, sealed=False)
                slot = read_slots[number] = read_slot(number, stored_object.content, name)
            if slot.is_seal:
                return Tail(tuple(slots), number, sealed=True)
            slots.append(slot)
            number += 1

    def tails(self, starts: Mapping[str, int]) -> dict[str, Tail]:
        """Return the tail of each log from its given slot on. Raises what `tail` raises."""
        names = list(starts)
        return dict(zip(names, map_concurrently(lambda name: self.tail(name, starts[name]), names), strict=True))

    def forget(self, sessions: dict[str, int]) -> None:
        """Forget slots that are committed, and logs of sessions that are over."""
        for session, slots in list(self._slots.items()):
            if session not in sessions:
                del self._slots[session]
            else:
                for number in [number for number in slots if number < sessions[session]]:
                    del slots[number]


# The bucket
BUCKET_FORMAT = "tripos.store/2"
LEASE_S = 60.0
"""A session that was silent for this long may be sealed by others."""
_PAUSE_S = 0.2
_TRIES, _PROBES = 3, 12


@dataclass(frozen=True)
class OpenLog:
    """The uncommitted slots of a log, from `start` on. `over`: nothing can follow in the log."""

    session: str
    start: int
    tail: Tail
    over: bool

    @property
    def name(self) -> str:
        """The file name for its rejected lines."""
        return f"{self.session}.{self.start}"

    @property
    def advance(self) -> LogAdvance:
        """The slots that a commit of this log takes in."""
        return LogAdvance(self.session, self.start, self.tail.end, self.over)


class Bucket:
    """A store at an address of an object store, opened by `Bucket.open`. Each thread needs its own."""

    def __init__(self, objects: Objects, root: Path, lease_s: float) -> None:
        self.objects = objects
        self.root = root
        self.lease_s = lease_s
        self.reader = LogReader(objects)
        self.copy = LocalCopy(root, objects)
        self._catalog_object: StoredObject | None = None
        """The object of the catalog as it was last read or written, …"""
        self._catalog = Catalog()
        """… and its content."""

    @classmethod
    def open(
        cls,
        address: str,
        create: bool,
        *,
        objects: Objects | None = None,
        root: Path | None = None,
        lease_s: float = LEASE_S,
    ) -> Bucket:
        """Return the store at an address. With `create` it is created if it does not exist, with leases of `lease_s`
        seconds.

        Raises `StoreError`: S0101 if there is no store, S0103 if it is unreadable, S0104 for a newer format, S0108 if
        there is no bucket, S0109 without access rights, S0110 if it is out of reach, S0111 without conditional writes.
        """
        objects = objects or Objects.at(address)
        stored_object = objects.get(MARKER)
        if stored_object is None and create:
            _probe(objects)
            marker = {"format": BUCKET_FORMAT, "lease_s": lease_s, "id": uuid.uuid4().hex}
            objects.create(CATALOG, Catalog().following().content())
            objects.create(MARKER, orjson.dumps(marker) + b"\n")
            stored_object = objects.get(MARKER)
        if stored_object is None:
            hint = "run a benchmark first, or name the store with `--store`"
            raise StoreError("S0101", f"no store at `{address}`", hint)
        try:
            marker = orjson.loads(stored_object.content)
            format_, length_s = marker["format"], float(marker.get("lease_s", LEASE_S))
        except (ValueError, KeyError, TypeError) as error:
            hint = "restore an earlier version of the object"
            raise StoreError("S0103", f"`{address}/{MARKER}` is unreadable ({error})", hint) from error
        if format_ != BUCKET_FORMAT:
            message = f"the store at `{address}` has the format `{format_}`; this Tripos reads `{BUCKET_FORMAT}`"
            raise StoreError("S0104", message, "update Tripos")
        return cls(objects, copy_of(address) if root is None else root, length_s)

    @property
    def address(self) -> str:
        """The address of the store."""
        return self.objects.address

    # The catalog

    def catalog(self) -> Catalog:
        """Return the current catalog. Raises what `Objects.get` and `read_catalog` raise."""
        stored_object = (
            self.objects.get(CATALOG)
            if self._catalog_object is None
            else self.objects.changed(CATALOG, self._catalog_object)
        )
        if stored_object is None:
            hint = "restore an earlier version of the object `catalog.json`"
            raise StoreError("S0103", f"the store at `{self.address}` has no catalog", hint)
        if stored_object is not self._catalog_object:
            self._catalog_object, self._catalog = stored_object, read_catalog(stored_object.content, self.address)
        return self._catalog

    def change(self, changed: Callable[[Catalog], Catalog], has_landed: Callable[[Catalog], bool]) -> Catalog:
        """Change the catalog, and return a catalog that has the change.

        `changed` returns the new catalog for the current one; an error that it raises is raised here. `has_landed`
        returns true for a catalog that contains the change, which decides about a write whose outcome is unknown.
        """
        first = None
        while True:
            catalog = self.catalog()
            if first is not None and has_landed(catalog):
                return catalog
            if first is None:
                first = catalog.serial
            elif catalog.serial - first >= RECENT:
                hint = "run the same command again"
                raise StoreError("S0110", f"too many others write to `{self.address}` at once", hint)
            new = changed(catalog)
            assert self._catalog_object is not None
            content = new.content()
            tag = self.objects.swap(CATALOG, content, self._catalog_object.tag)
            if tag is not None:
                self._catalog_object = StoredObject(content, tag, self._catalog_object.written_at)
                self._catalog = new
                return new
            time.sleep(random.uniform(0, _PAUSE_S))

    # The copy on this machine

    def sync(self) -> Catalog:
        """Update the local copy and return the catalog. Raises what `catalog` raises, and S0103 if a part is
        missing.
        """
        for _ in range(_TRIES):
            catalog = self.catalog()
            try:
                self.copy.take(catalog)
            except PartGoneError as error:
                gone_error = error
                continue
            return catalog
        hint = "restore the object from a backup, or find what is missing with `tripos store check`"
        raise StoreError("S0103", f"`{self.address}/{gone_error}` is gone", hint)

    def repair(self) -> None:
        """Compare the whole local copy with the catalog, and fetch what is missing or damaged. Raises what `sync`
        raises.
        """
        self.copy.forget()
        self.sync()

    # Commits

    def publish(self, commit: Commit, logs: Sequence[LogAdvance] = ()) -> Commit:
        """Publish a commit whose parts are in the local copy; with `logs`, the slots whose rows it contains are marked
        as committed. If a commit of this name exists, it is returned with `repeated` set.

        Raises `OvertakenError` if another commit has the slots or replaced the same commits, `StoreError` S0103 if a
        part has changed since it was written, and what `change` raises. Uploaded objects are never removed here, since
        a write in flight may still list them.
        """
        while True:
            catalog = self.catalog()
            if catalog.has(commit.name):
                self.sync()
                return Commit(commit.name, commit.written_at, commit.parts, repeated=True)
            try:
                new, serial = self._uploaded(commit, catalog)
            except PartGoneError as error:
                raise OvertakenError(commit.name) from error
            with suppress(OldBaseError):
                self.change(
                    lambda now, new=new, serial=serial: with_commit(now, new, commit.replaces, logs, serial),  # type: ignore[misc]
                    lambda now, new=new: now.has_landed(new),  # type: ignore[misc]
                )
                self.sync()
                return commit

    def _uploaded(self, commit: Commit, catalog: Catalog) -> tuple[CatalogCommit, int | None]:
        """Upload the parts that the replaced commits do not list. Return the commit as the catalog lists it, and the
        serial of its new objects; None if there are none.
        """
        names = set(commit.replaces)
        replaced = [catalog_commit for catalog_commit in catalog.commits if catalog_commit.name in names]
        part_lists = map_concurrently(lambda catalog_commit: read_parts(self.objects, catalog_commit), replaced)
        bucket_parts = {part.path: part for parts in part_lists for part in parts}

        def upload(part: ParquetPart) -> BucketPart:
            if part.path in bucket_parts:
                return bucket_parts[part.path]
            content = (self.root / part.path).read_bytes()
            sha256 = hashlib.sha256(content).hexdigest()
            if sha256 != part.sha256:
                raise changed_part(self.root / part.path, commit.name)
            bucket_part = BucketPart(
                table=part.table, path=part.path, rows=part.rows, bytes=part.size, version=part.version,
                base=catalog.serial, sha256=sha256,
            )  # fmt: skip
            self.objects.put(bucket_part.name, content)
            return bucket_part

        parts = map_concurrently(upload, commit.parts)
        new = with_parts(
            self.objects, CatalogCommit(name=commit.name, written_at=commit.written_at), parts, catalog.serial
        )
        is_new = new.manifest is not None or any(part.path not in bucket_parts for part in parts)
        return new, catalog.serial if is_new else None

    def commit_tables(self, tables: dict[str, pa.Table], logs: Sequence[LogAdvance]) -> Commit:
        """Commit `tables`, the rows of the slots in `logs`. Raises what `publish` raises, and `OSError`."""
        now = datetime.now(UTC)
        name = new_name(now)
        parts = [write_part(self.root, table, name, tables[table]) for table in tables]
        try:
            return self.publish(Commit(name, now, tuple(parts)), logs)
        except OvertakenError:
            discard(self.root, parts, name)  # from the local copy only
            raise

    def commit_logs(self, logs: Sequence[OpenLog]) -> Commit | None:
        """Commit the content of some logs on behalf of their writers, and return the commit; None if there were no
        rows, or others committed them first. Raises what `publish` raises.
        """
        while logs:
            try:
                return self._commit_logs(logs)
            except OvertakenError:
                sessions = self.catalog().sessions
                logs = [log for log in logs if sessions.get(log.session) == log.start]
        return None

    def _commit_logs(self, logs: Sequence[OpenLog]) -> Commit | None:
        """Commit the valid lines of some logs. Raises `OvertakenError` if others committed some of them."""
        contents = [(log, slot.content) for log in logs for slot in log.tail.slots if slot.content is not None]
        lines = [line for _, content in contents for line in content.lines]
        rejected = {
            log.name: [line for other, content in contents if other is log for line in content.damaged] for log in logs
        }
        advances = [log.advance for log in logs]
        if not lines:
            self.close_logs([log for log in advances if log.over or log.end > log.start])
            return None
        try:
            tables = valid_tables(merge(lines))
        except INVALID_ROWS:
            valid = valid_lines(lines)
            raw = [(log.name, line) for log, content in contents for line in content.raw]
            for number, (name, line) in enumerate(raw):
                if number not in valid:
                    rejected[name].append(line)
            tables = valid_tables(merge([line for number, line in enumerate(lines) if number in valid]))
        for name, rejected_lines in rejected.items():
            if rejected_lines:
                set_aside(self.root, name, rejected_lines)
        return self.commit_tables(tables, advances)

    def close_logs(self, logs: Sequence[LogAdvance]) -> None:
        """Mark slots without rows as committed, or logs as over. Raises `OvertakenError`, and what `change` raises."""

        def has_landed(now: Catalog) -> bool:
            return all(
                now.sessions.get(log.session, log.end) >= log.end and not (log.over and log.session in now.sessions)
                for log in logs
            )

        if logs:
            self.change(lambda now: now.following(sessions=with_advances(now, logs)), has_landed)

    def commit_tails(self) -> int:
        """Commit what every session has uploaded so far, and return the number of logs that were committed."""
        sessions = self.catalog().sessions
        tails = self.reader.tails(sessions)
        over = self.effective_seals({name: tail.end for name, tail in tails.items() if tail.sealed})
        logs = [
            OpenLog(name, sessions[name], tail, over=name in over)
            for name, tail in tails.items()
            if tail.has_rows or name in over
        ]
        committed = self.commit_logs(logs)
        self.reader.forget(self.catalog().sessions)
        return 0 if committed is None else len(logs)

    def effective_seals(self, seals: Mapping[str, int]) -> set[str]:
        """Return the sessions whose seals, at the given slots, are effective: the current catalog is not beyond them.
        Any other seal was written in the place of a committed slot that had been removed, and has no effect.
        """
        if not seals:
            return set()
        sessions = self.catalog().sessions
        return {name for name, seal in seals.items() if sessions.get(name, seal) <= seal}


def _probe(objects: Objects) -> None:
    """Raise `StoreError` S0111 if the object store does not check the conditions of writes."""
    name = f"probe-{uuid.uuid4().hex}"
    objects.create(name, b"first")
    stored_object = objects.get(name)
    if stored_object is None or objects.create(name, b"second"):
        raise no_conditions(objects.address)
    for _ in range(_PROBES):
        objects.swap(name, b"third", stored_object.tag)
        after = objects.get(name)
        if after is not None and after.content == b"third":
            break
    else:
        raise no_conditions(objects.address)
    objects.swap(name, b"fourth", stored_object.tag)
    after = objects.get(name)
    if after is None or after.content != b"third":
        raise no_conditions(objects.address)
    objects.delete([name])


# Garbage collection
_PART = re.compile(rf"(?:parts/[a-z0-9_]+|{MANIFESTS})/(\d{{12}})-.+")
_SLOT = re.compile(rf"{LOGS}/([^/]+)/(\d{{8}})")


def collect_objects(bucket: Bucket, *, dry_run: bool) -> Iterator[tuple[str, int, str]]:
    """Remove the objects that are not needed, and yield the name and size of each, and the reason. With `dry_run`
    nothing is removed.

    First the floor is raised above every existing part, so that unlisted parts can no longer become listed. The last
    slot of each log stays: it is a seal or a sign of life. Raises what `Bucket.change` raises.
    """
    before = bucket.catalog()
    catalog = before
    if not dry_run:
        catalog = bucket.change(lambda now: now.following(floor=now.serial + 1), lambda now: now.floor > before.serial)
    try:
        unneeded = [*_parts(bucket, catalog, before.serial + 1), *_slots(bucket, catalog)]
    except PartGoneError:
        return  # another process compacts and collects now
    if not dry_run:
        bucket.objects.delete(name for name, _, _ in unneeded)
    yield from unneeded


def _parts(bucket: Bucket, catalog: Catalog, floor: int) -> Iterator[tuple[str, int, str]]:
    """Yield the parts and manifests with a serial below `floor` that the catalog does not list."""
    listed = {part.name for commit in catalog.commits for part in read_parts(bucket.objects, commit)}
    listed |= {commit.manifest.name for commit in catalog.commits if commit.manifest is not None}
    for name, size in sorted({**bucket.objects.sizes("parts"), **bucket.objects.sizes(MANIFESTS)}.items()):
        match = _PART.fullmatch(name)
        if match is not None and name not in listed and int(match[1]) < floor:
            yield name, size, "the catalog does not list it"


def _slots(bucket: Bucket, catalog: Catalog) -> Iterator[tuple[str, int, str]]:
    """Yield the committed slots of every log, except for the last one."""
    sizes = bucket.objects.sizes(LOGS)
    slots: dict[str, dict[int, str]] = {}
    for name in sizes:
        if (match := _SLOT.fullmatch(name)) is not None:
            slots.setdefault(match[1], {})[int(match[2])] = name
    for session, numbers in sorted(slots.items()):
        # A session that is not in the catalog is over, or about to be registered with one slot.
        end = min(catalog.sessions.get(session, max(numbers) + 1) - 1, max(numbers))
        for number in sorted(number for number in numbers if number < end):
            yield numbers[number], sizes[numbers[number]], "it is in a part"


# Mutual exclusion between machines
DEAD_AFTER_LEASES = 5
"""The time in leases after which a process that still has the lock of `exclusive` counts as dead."""


@contextmanager
def exclusive(bucket: Bucket, name: str) -> Iterator[bool]:
    """Take the lock of a name, on all machines, and yield true; yield false if another process has it.

    The local copy is updated first. The lock is not needed for consistency: rows have names, and the later of two
    imports counts. It prevents that an import does not see what another one is writing. A process that has the lock for
    more than `DEAD_AFTER_LEASES` leases counts as dead. Raises what `Objects.get` and `Bucket.sync` raise.
    """
    object_name = f"busy/{name}.json"
    tag = _take_lock(bucket, object_name)
    try:
        if tag is not None:
            bucket.sync()
        yield tag is not None
    finally:
        if tag is not None:
            with suppress(StoreError):
                bucket.objects.swap(object_name, _content(at_work=False), tag)


def _take_lock(bucket: Bucket, object_name: str) -> Tag | None:
    """Take a lock and return the version of its object; None if another process has it."""
    objects, content = bucket.objects, _content(at_work=True)
    stored_object = objects.get(object_name)
    if stored_object is None:
        objects.create(object_name, content)
    elif not _is_at_work(stored_object) or _is_old(bucket, object_name, stored_object):
        objects.swap(object_name, content, stored_object.tag)
    stored_object = objects.get(object_name)
    return stored_object.tag if stored_object is not None and stored_object.content == content else None


def _content(*, at_work: bool) -> bytes:
    """Return the content of the object of a lock: whether a process has it, and a nonce."""
    return orjson.dumps({"at_work": at_work, "nonce": uuid.uuid4().hex})


def _is_at_work(lock: StoredObject) -> bool:
    """Return true if a process has the lock."""
    try:
        return bool(orjson.loads(lock.content)["at_work"])
    except (ValueError, KeyError, TypeError):
        return False


def _is_old(bucket: Bucket, object_name: str, lock: StoredObject) -> bool:
    """Return true if the lock was taken more than `DEAD_AFTER_LEASES` leases ago, by the clock of the object store."""
    now = bucket.objects.clock(f"{object_name}.asked")
    return now is not None and (now - lock.written_at).total_seconds() > DEAD_AFTER_LEASES * bucket.lease_s
