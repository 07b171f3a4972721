"""A store on an object store: its catalog, its copy on this machine, and commits by conditional write.

```
tripos-store.json               format of the store, and how long a lease is
catalog.json                    the parts that count, and the sessions              (conditional write)
claims.json                     which session has which shard of the work           (conditional write)
logs/<session>/<slot>           rows that were kept and are not committed, or a seal     (if its name is free)
parts/<table>/<serial>-<name>   Parquet                                              (once)
manifests/<serial>-<name>       the parts of a commit that has many                  (once)
```
No clock and no listing decides what counts. Listings are used by garbage collection only, which they may delay.

The copy of a bucket's committed parts on this machine: a folder store like any other, which all readers read.

It only grows by what the catalog lists, under a lock of its own, and never goes back to an earlier catalog. Every part
is held to the digest that the catalog says: when it comes, and again where its file was touched since.

Garbage collection on a bucket: parts that no catalog can list any more, and slots that are in parts.

One at a time on a bucket: an object that says that somebody is at work, for what builds on what it finds.

Nothing that counts rests on it: rows have names, and of two imports the later counts. It keeps an import from passing
over what another one is just writing. Whoever has held it for longer than some leases is taken to have died.

Logs of sessions: what a worker has kept and nobody has committed yet, in numbered slots.

A slot is written if its number is free, and never changed. It holds rows that were kept, nothing (a sign of life), or a
*seal*: who finds a session silent for too long writes a seal at its next free slot, and from then on no upload of that
session can be acknowledged. Seals are never removed.
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

from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.errors import StoreError
from tripos_warehouse.store.bucket.catalog import (
    CATALOG,
    MANIFESTS,
    RECENT,
    BucketPart,
    Catalog,
    CatalogCommit,
    HeldObject,
    LogAdvance,
    Objects,
    OldBaseError,
    OvertakenError,
    PartGoneError,
    Tag,
    at_once,
    listed,
    newest_compaction,
    no_conditions,
    parts_of,
    read_catalog,
    with_advances,
    with_commit,
)
from tripos_warehouse.store.commits import COMMITS, Commit, ParquetPart, new_name, number_of, read_commit, tick, to_json
from tripos_warehouse.store.digests import sealed, sha256_of, unsealed
from tripos_warehouse.store.journal import JournalContent, journal_head, merge, parse_segment, set_aside
from tripos_warehouse.store.locks import LIST, Locks, place_of
from tripos_warehouse.store.parts import UNFIT, altered, discard, fitting_lines, sound_tables, write_part
from tripos_warehouse.store.paths import copy_of, read_plain

STATE = "catalog.json"
"""Says up to which catalog the folder is complete, and when each part was written that has the catalog's digest."""


class LocalCopy:
    """The folder of a bucket on this machine."""

    def __init__(self, root: Path, objects: Objects) -> None:
        self.root = root
        self._objects = objects
        self._replaced: dict[str, frozenset[str]] = {}
        """What compactions replace, as they stand in the folder."""
        self._verified: dict[str, int] = {}
        """When the file of a part was written whose content is what the catalog says, by its path."""

    def take(self, catalog: Catalog) -> None:
        """Make the folder show what a catalog lists, unless it shows a later one. Raises `PartGoneError`, `OSError` and
        what `Objects.get` does."""
        with self._alone():
            if (serial := self._read_state()) >= catalog.serial:
                return
            folder = self.root / COMMITS
            here = {path.stem for path in folder.glob("*.json") if serial >= 0 or self._is_whole(path)}
            # What a manifest lists was fetched before its commit was written here.
            looked_at = [each for each in catalog.commits if each.manifest is None or each.name not in here]
            found = at_once(lambda each: parts_of(self._objects, each), looked_at)
            parts = {each.name: some for each, some in zip(looked_at, found, strict=True)}
            every = [part for some in parts.values() for part in some]
            at_once(self._fetch, [part for part in every if not self._has(part)])
            gone = self._gone(catalog, here)
            newest = newest_compaction(catalog)
            for commit in catalog.commits:
                path = folder / f"{commit.name}.json"
                replaces = gone if commit.name == newest else frozenset()
                if commit.name not in here:
                    made = tuple(part.parquet for part in parts[commit.name])
                    listed = Commit(commit.name, commit.written_at, made, replaces=tuple(sorted(replaces)))
                    _write(path, to_json(listed))
                elif replaces:
                    known = read_commit(path)
                    replaces |= set(known.replaces)
                    _write(path, to_json(replace(known, replaces=tuple(sorted(replaces)))))
                if replaces:
                    self._replaced[commit.name] = replaces
            before = {part: at for part, at in self._verified.items() if (self.root / part).exists()}
            self._verified = before | {part.path: (self.root / part.path).stat().st_mtime_ns for part in every}
            _write(self.root / STATE, sealed({"serial": catalog.serial, "verified": self._verified}))
            tick(self.root)

    def forget(self) -> None:
        """Let the next `take` compare all of the folder with the catalog, and fetch what is gone or damaged."""
        with self._alone():
            (self.root / STATE).unlink(missing_ok=True)

    def _gone(self, catalog: Catalog, here: set[str]) -> frozenset[str]:
        """Return what this folder has and the catalog has not any more, and no compaction here replaces: it is in the
        newest."""
        gone = here - {commit.name for commit in catalog.commits}
        for commit in catalog.commits if gone else ():
            if number_of(commit.name) and commit.name in here:
                if commit.name not in self._replaced:
                    path = self.root / COMMITS / f"{commit.name}.json"
                    self._replaced[commit.name] = frozenset(read_commit(path).replaces)
                gone -= self._replaced[commit.name]
        return frozenset(gone)

    def _read_state(self) -> int:
        """Return the serial of the catalog up to which the folder is complete; -1 where it is of none."""
        try:
            state = unsealed(read_plain(self.root / STATE))
            serial, verified = int(state["serial"]), state.get("verified", {})
            self._verified = {str(path): int(at) for path, at in verified.items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            self._verified = {}
            return -1
        return serial

    def _is_whole(self, path: Path) -> bool:
        """Return true if the file of a commit can be read."""
        try:
            read_commit(path)
        except StoreError:
            self._replaced.pop(path.stem, None)
            return False
        return True

    def _has(self, part: BucketPart) -> bool:
        path = self.root / part.path
        try:
            found = path.lstat()
            if not stat.S_ISREG(found.st_mode) or found.st_size != part.bytes:
                return False
            return self._verified.get(part.path) == found.st_mtime_ns or sha256_of(path) == part.sha256
        except OSError:
            return False

    def _fetch(self, part: BucketPart) -> None:
        held = self._objects.get(part.name)
        if held is None:
            raise PartGoneError(part.name)
        if hashlib.sha256(held.content).hexdigest() != part.sha256:
            hint = "restore the object from a backup: its content is not that which was committed"
            raise StoreError("S0103", f"`{self._objects.address}/{part.name}` was changed", hint)
        _write(self.root / part.path, held.content, mode=0o444)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        locks, place = Locks(self.root), place_of(LIST, STATE)
        try:
            while not locks.hold(place):
                time.sleep(0.01)
            yield
        finally:
            locks.close()


def _write(path: Path, content: bytes, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(f".{uuid.uuid4().hex[:12]}.tmp")
    new.write_bytes(content)
    new.chmod(mode)
    new.replace(path)


LOGS = "logs"
SEAL_FORMAT = "tripos.seal/1"
MOST_BYTES = 2**31


@dataclass(frozen=True)
class LogSlot:
    """The content of a slot; `kept` is None for a seal."""

    number: int
    kept: JournalContent | None

    @property
    def is_seal(self) -> bool:
        """Return true if nothing can follow."""
        return self.kept is None


@dataclass(frozen=True)
class Tail:
    """The slots of a log from a number on, and the number of the first that is free or has a seal."""

    slots: tuple[LogSlot, ...]
    end: int
    sealed: bool

    @property
    def has_rows(self) -> bool:
        """Return true if there is anything to commit."""
        return any(slot.kept is not None and (slot.kept.lines or slot.kept.damaged) for slot in self.slots)


def slot_name(session: str, number: int) -> str:
    """Return the name of the object of a slot.

    >>> slot_name("20260301T080000000000-0123456789ab", 7)
    'logs/20260301T080000000000-0123456789ab/00000007'
    """
    return f"{LOGS}/{session}/{number:08d}"


def slot_content(lines: Sequence[bytes]) -> bytes:
    """Return the bytes of a slot with these lines of a journal. No two are equal."""
    head = journal_head(nonce=uuid.uuid4().hex) + b"\n"
    return gzip.compress(head + b"".join(lines), 1, mtime=0)


def seal_content(by: str) -> bytes:
    """Return the bytes of a seal."""
    return gzip.compress(orjson.dumps({"format": SEAL_FORMAT, "by": by, "nonce": uuid.uuid4().hex}) + b"\n", 1, mtime=0)


def sealed_by(seal: bytes) -> str:
    """Return the session that wrote a seal."""
    return str(orjson.loads(zlib.decompress(seal, 31))["by"])


def read_slot(number: int, content: bytes, name: str) -> LogSlot:
    """Return the slot of these bytes. Raises `StoreError`: S0104 of a newer format, S0404 where it is damaged."""
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
    kept = parse_segment(unpacked)
    if kept.newer:
        raise StoreError("S0104", f"`{name}` was not written by this Tripos", "update Tripos")
    return LogSlot(number, kept)


class LogReader:
    """Reads tails of logs. A slot never changes, so each is read once."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._known: dict[str, dict[int, LogSlot]] = {}

    def tail(self, session: str, start: int) -> Tail:
        """Return the slots of a log from `start` on. Raises `StoreError`: S0104, S0109, S0110, S0404."""
        known = self._known.setdefault(session, {})
        slots: list[LogSlot] = []
        number = start
        while True:
            slot = known.get(number)
            if slot is None:
                name = slot_name(session, number)
                held = self._objects.get(name)
                if held is None:
                    return Tail(tuple(slots), number, sealed=False)
                slot = known[number] = read_slot(number, held.content, name)
            if slot.is_seal:
                return Tail(tuple(slots), number, sealed=True)
            slots.append(slot)
            number += 1

    def tails(self, starts: Mapping[str, int]) -> dict[str, Tail]:
        """Return the tail of each log from a slot on. Raises as `tail` does."""
        names = list(starts)
        return dict(zip(names, at_once(lambda name: self.tail(name, starts[name]), names), strict=True))

    def forget(self, sessions: dict[str, int]) -> None:
        """Let go of slots that are in parts by now, and of the logs of sessions that are over."""
        for session, known in list(self._known.items()):
            if session not in sessions:
                del self._known[session]
            else:
                for number in [number for number in known if number < sessions[session]]:
                    del known[number]


BUCKET_FORMAT = "tripos.store/2"
MARKER = "tripos-store.json"
LEASE_S = 60.0
"""A session that was silent for so long may be sealed by others."""
_PAUSE_S = 0.2
_TRIES, _PROBES = 3, 12


@dataclass(frozen=True)
class OpenLog:
    """What a log has from slot `start` on, and nobody has committed; `over`: nothing can follow in it."""

    session: str
    start: int
    tail: Tail
    over: bool

    @property
    def name(self) -> str:
        """Its name for lines that are set aside."""
        return f"{self.session}.{self.start}"

    @property
    def advance(self) -> LogAdvance:
        """What a commit says of it."""
        return LogAdvance(self.session, self.start, self.tail.end, self.over)


class Bucket:
    """A store at an address of an object store. `Bucket.open` makes one. Each thread needs one of its own."""

    def __init__(self, objects: Objects, root: Path, lease_s: float) -> None:
        self.objects = objects
        self.root = root
        self.lease_s = lease_s
        self.reader = LogReader(objects)
        self.copy = LocalCopy(root, objects)
        self._held: HeldObject | None = None
        self._catalog = Catalog()

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
        """Return the store at an address; with `create` it is made where there is none, with that length of a lease.

        Raises `StoreError`: S0101 no store there, S0103 it is unreadable, S0104 of a newer format, S0108 no bucket,
        S0109 no rights, S0110 out of reach, S0111 no conditional writes.
        """
        objects = objects or Objects.at(address)
        held = objects.get(MARKER)
        if held is None and create:
            _probe(objects)
            made = {"format": BUCKET_FORMAT, "lease_s": lease_s, "id": uuid.uuid4().hex}
            objects.create(CATALOG, Catalog().following().content())
            objects.create(MARKER, orjson.dumps(made) + b"\n")
            held = objects.get(MARKER)
        if held is None:
            hint = "run a benchmark first, or name the store with `--store`"
            raise StoreError("S0101", f"no store at `{address}`", hint)
        try:
            said = orjson.loads(held.content)
            format_, length_s = said["format"], float(said.get("lease_s", LEASE_S))
        except (ValueError, KeyError, TypeError) as error:
            hint = "restore an earlier version of the object"
            raise StoreError("S0103", f"`{address}/{MARKER}` is unreadable ({error})", hint) from error
        if format_ != BUCKET_FORMAT:
            message = f"the store at `{address}` has the format `{format_}`; this Tripos reads `{BUCKET_FORMAT}`"
            raise StoreError("S0104", message, "update Tripos")
        return cls(objects, copy_of(address) if root is None else root, length_s)

    @property
    def address(self) -> str:
        """Where it is."""
        return self.objects.address

    # The catalog

    def catalog(self) -> Catalog:
        """Return the catalog as it is now. Raises what `Objects.get` and `read_catalog` do."""
        held = self.objects.get(CATALOG) if self._held is None else self.objects.changed(CATALOG, self._held)
        if held is None:
            hint = "restore an earlier version of the object `catalog.json`"
            raise StoreError("S0103", f"the store at `{self.address}` has no catalog", hint)
        if held is not self._held:
            self._held, self._catalog = held, read_catalog(held.content, self.address)
        return self._catalog

    def change(self, changed: Callable[[Catalog], Catalog], has_landed: Callable[[Catalog], bool]) -> Catalog:
        """Change the catalog, and return one that has the change.

        `changed` makes the new one of the newest; what it raises ends the try. Of a write whose outcome is not known,
        `has_landed` says of a later catalog whether it is in there.
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
            assert self._held is not None
            content = new.content()
            tag = self.objects.swap(CATALOG, content, self._held.tag)
            if tag is not None:
                self._held, self._catalog = HeldObject(content, tag, self._held.written_at), new
                return new
            time.sleep(random.uniform(0, _PAUSE_S))

    # The copy on this machine

    def sync(self) -> Catalog:
        """Bring the copy on this machine up to date. Raises what `catalog` does, and S0103 where a part is gone."""
        for _ in range(_TRIES):
            catalog = self.catalog()
            try:
                self.copy.take(catalog)
            except PartGoneError as error:
                gone = error
                continue
            return catalog
        hint = "restore the object from a backup, or find what is missing with `tripos store check`"
        raise StoreError("S0103", f"`{self.address}/{gone}` is gone", hint)

    def mend(self) -> None:
        """Compare all of the copy on this machine with the catalog, and fetch what is gone or damaged. Raises what
        `sync` does."""
        self.copy.forget()
        self.sync()

    # Commits

    def publish(self, commit: Commit, logs: Sequence[LogAdvance] = ()) -> Commit:
        """Make a commit count whose parts lie in the copy on this machine; with `logs`, together with the slots that
        are in it. Where the name was committed before, that commit comes back with `repeated` set.

        Raises `OvertakenError` where the slots, or the commits that it replaces, are in another commit by now,
        `StoreError` S0103 where a part has changed since it was written, and what `change` does. Objects that were
        written are never removed here: a write that is under way may list them yet.
        """
        while True:
            catalog = self.catalog()
            if catalog.has(commit.name):
                self.sync()
                return Commit(commit.name, commit.written_at, commit.parts, repeated=True)
            try:
                new, made = self._uploaded(commit, catalog)
            except PartGoneError as error:
                raise OvertakenError(commit.name) from error
            with suppress(OldBaseError):
                self.change(
                    lambda now, new=new, made=made: with_commit(now, new, commit.replaces, logs, made),  # type: ignore[misc]
                    lambda now, new=new: now.has_landed(new),  # type: ignore[misc]
                )
                self.sync()
                return commit

    def _uploaded(self, commit: Commit, catalog: Catalog) -> tuple[CatalogCommit, int | None]:
        """Return a commit as the catalog lists it, and at which serial its new objects were made; None where the
        commits that it replaces list them all. What they do not list is uploaded."""
        gone = set(commit.replaces)
        replaced = [each for each in catalog.commits if each.name in gone]
        listed_so_far = at_once(lambda each: parts_of(self.objects, each), replaced)
        known = {part.path: part for parts in listed_so_far for part in parts}

        def upload(part: ParquetPart) -> BucketPart:
            if part.path in known:
                return known[part.path]
            content = (self.root / part.path).read_bytes()
            sha256 = hashlib.sha256(content).hexdigest()
            if sha256 != part.sha256:
                raise altered(self.root / part.path, commit.name)
            made = BucketPart(
                table=part.table, path=part.path, rows=part.rows, bytes=part.size, version=part.version,
                base=catalog.serial, sha256=sha256,
            )  # fmt: skip
            self.objects.put(made.name, content)
            return made

        parts = at_once(upload, commit.parts)
        new = listed(self.objects, CatalogCommit(name=commit.name, written_at=commit.written_at), parts, catalog.serial)
        is_new = new.manifest is not None or any(part.path not in known for part in parts)
        return new, catalog.serial if is_new else None

    def commit_tables(self, tables: dict[str, pa.Table], logs: Sequence[LogAdvance]) -> Commit:
        """Commit the rows of some slots. Raises what `publish` does, and `OSError`."""
        now = datetime.now(UTC)
        name = new_name(now)
        parts = [write_part(self.root, table, name, tables[table]) for table in tables]
        try:
            return self.publish(Commit(name, now, tuple(parts)), logs)
        except OvertakenError:
            discard(self.root, parts, name)  # of the copy only
            raise

    def commit_logs(self, logs: Sequence[OpenLog]) -> Commit | None:
        """Commit what some logs have, for whoever wrote them. None where nothing was there, or others were faster: what
        they left is committed. Raises as `publish` does."""
        while logs:
            try:
                return self._commit_logs(logs)
            except OvertakenError:
                sessions = self.catalog().sessions
                logs = [log for log in logs if sessions.get(log.session) == log.start]
        return None

    def _commit_logs(self, logs: Sequence[OpenLog]) -> Commit | None:
        kept = [(log, slot.kept) for log in logs for slot in log.tail.slots if slot.kept is not None]
        lines = [line for _, slot in kept for line in slot.lines]
        rejected = {log.name: [line for of, slot in kept if of is log for line in slot.damaged] for log in logs}
        advances = [log.advance for log in logs]
        if not lines:
            self.close_logs([log for log in advances if log.over or log.end > log.start])
            return None
        try:
            tables = sound_tables(merge(lines))
        except UNFIT:
            fitting = fitting_lines(lines)
            raw = [(log.name, line) for log, slot in kept for line in slot.raw]
            for place, (name, line) in enumerate(raw):
                if place not in fitting:
                    rejected[name].append(line)
            tables = sound_tables(merge([line for place, line in enumerate(lines) if place in fitting]))
        for name, some in rejected.items():
            if some:
                set_aside(self.root, name, some)
        return self.commit_tables(tables, advances)

    def close_logs(self, logs: Sequence[LogAdvance]) -> None:
        """Say that slots of logs hold no rows, or that logs are over. Raises `OvertakenError`, and what `change`
        does."""

        def has_landed(now: Catalog) -> bool:
            return all(
                now.sessions.get(log.session, log.end) >= log.end and not (log.over and log.session in now.sessions)
                for log in logs
            )

        if logs:
            self.change(lambda now: now.following(sessions=with_advances(now, logs)), has_landed)

    def commit_tails(self) -> int:
        """Commit what every session has uploaded so far, and say of how many there was anything."""
        sessions = self.catalog().sessions
        tails = self.reader.tails(sessions)
        over = self.counting({name: tail.end for name, tail in tails.items() if tail.sealed})
        logs = [
            OpenLog(name, sessions[name], tail, over=name in over)
            for name, tail in tails.items()
            if tail.has_rows or name in over
        ]
        committed = self.commit_logs(logs)
        self.reader.forget(self.catalog().sessions)
        return 0 if committed is None else len(logs)

    def counting(self, seals: Mapping[str, int]) -> set[str]:
        """Of seals that were seen, each at a slot of a log, return those that count: the catalog, read after them, is
        not beyond them. Any other went into the place of a slot that had been collected, and stops nobody."""
        if not seals:
            return set()
        sessions = self.catalog().sessions
        return {name for name, seal in seals.items() if sessions.get(name, seal) <= seal}


def _probe(objects: Objects) -> None:
    """Raise `StoreError` S0111 where writes are not conditional."""
    name = f"probe-{uuid.uuid4().hex}"
    objects.create(name, b"first")
    held = objects.get(name)
    if held is None or objects.create(name, b"second"):
        raise no_conditions(objects.address)
    for _ in range(_PROBES):
        objects.swap(name, b"third", held.tag)
        after = objects.get(name)
        if after is not None and after.content == b"third":
            break
    else:
        raise no_conditions(objects.address)
    objects.swap(name, b"fourth", held.tag)
    after = objects.get(name)
    if after is None or after.content != b"third":
        raise no_conditions(objects.address)
    objects.delete([name])


_PART = re.compile(rf"(?:parts/[a-z0-9_]+|{MANIFESTS})/(\d{{12}})-.+")
_SLOT = re.compile(rf"{LOGS}/([^/]+)/(\d{{8}})")


def collect_objects(bucket: Bucket, *, dry_run: bool) -> Iterator[tuple[str, int, str]]:
    """Remove the objects that nobody needs, and yield the name and size of each, and why; with `dry_run` only that.

    First the floor is put above every part that there is: from then on none that the catalog does not list can come to
    be listed. The last slot of each log stays: it is a seal, or a sign of life. Raises what `Bucket.change` does.
    """
    before = bucket.catalog()
    catalog = before
    if not dry_run:
        catalog = bucket.change(lambda now: now.following(floor=now.serial + 1), lambda now: now.floor > before.serial)
    try:
        unneeded = [*_parts(bucket, catalog, before.serial + 1), *_slots(bucket, catalog)]
    except PartGoneError:
        return  # another one compacts and collects at the moment
    if not dry_run:
        bucket.objects.delete(name for name, _, _ in unneeded)
    yield from unneeded


def _parts(bucket: Bucket, catalog: Catalog, floor: int) -> Iterator[tuple[str, int, str]]:
    listed = {part.name for commit in catalog.commits for part in parts_of(bucket.objects, commit)}
    listed |= {commit.manifest.name for commit in catalog.commits if commit.manifest is not None}
    for name, size in sorted({**bucket.objects.sizes("parts"), **bucket.objects.sizes(MANIFESTS)}.items()):
        found = _PART.fullmatch(name)
        if found is not None and name not in listed and int(found[1]) < floor:
            yield name, size, "the catalog does not list it"


def _slots(bucket: Bucket, catalog: Catalog) -> Iterator[tuple[str, int, str]]:
    sizes = bucket.objects.sizes(LOGS)
    slots: dict[str, dict[int, str]] = {}
    for name in sizes:
        if (found := _SLOT.fullmatch(name)) is not None:
            slots.setdefault(found[1], {})[int(found[2])] = name
    for session, numbers in sorted(slots.items()):
        # A session that is not in the catalog is over; one that is about to be registered has one slot.
        end = min(catalog.sessions.get(session, max(numbers) + 1) - 1, max(numbers))
        for number in sorted(number for number in numbers if number < end):
            yield numbers[number], sizes[numbers[number]], "it is in a part"


LEASES = 5
"""So many leases after it began, whoever has not ended is taken to have died."""


@contextmanager
def only_one(bucket: Bucket, name: str) -> Iterator[bool]:
    """Be the only one at work under a name, on all machines; yield false where another one is. Then the copy on this
    machine is brought up to date. Raises what `Objects.get` and `Bucket.sync` do."""
    place = f"busy/{name}.json"
    tag = _taken(bucket, place)
    try:
        if tag is not None:
            bucket.sync()
        yield tag is not None
    finally:
        if tag is not None:
            with suppress(StoreError):
                bucket.objects.swap(place, _content(at_work=False), tag)


def _taken(bucket: Bucket, place: str) -> Tag | None:
    objects, content = bucket.objects, _content(at_work=True)
    held = objects.get(place)
    if held is None:
        objects.create(place, content)
    elif not _is_at_work(held) or _is_old(bucket, place, held):
        objects.swap(place, content, held.tag)
    held = objects.get(place)
    return held.tag if held is not None and held.content == content else None


def _content(*, at_work: bool) -> bytes:
    return orjson.dumps({"at_work": at_work, "nonce": uuid.uuid4().hex})


def _is_at_work(held: HeldObject) -> bool:
    try:
        return bool(orjson.loads(held.content)["at_work"])
    except (ValueError, KeyError, TypeError):
        return False


def _is_old(bucket: Bucket, place: str, held: HeldObject) -> bool:
    """Return true if whoever is at work began long ago, by two times of the store's clock."""
    now = bucket.objects.clock(f"{place}.asked")
    return now is not None and (now - held.written_at).total_seconds() > LEASES * bucket.lease_s
