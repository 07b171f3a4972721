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
"""

from __future__ import annotations

import hashlib
import random
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pyarrow as pa

from tripos_compiler.source import dataclass
from tripos_warehouse.errors import StoreError
from tripos_warehouse.store.bucket.addresses import copy_of
from tripos_warehouse.store.bucket.catalog import (
    CATALOG,
    RECENT,
    BucketPart,
    Catalog,
    CatalogCommit,
    LogAdvance,
    OldBaseError,
    OvertakenError,
    PartGoneError,
    listed,
    parts_of,
    read_catalog,
    with_advances,
    with_commit,
)
from tripos_warehouse.store.bucket.copy import LocalCopy
from tripos_warehouse.store.bucket.logs import LogReader, Tail
from tripos_warehouse.store.bucket.objects import HeldObject, Objects, at_once, no_conditions
from tripos_warehouse.store.commits import Commit, ParquetPart, new_name
from tripos_warehouse.store.journal import merge, set_aside
from tripos_warehouse.store.parts import altered, discard, write_part
from tripos_warehouse.store.soundness import UNFIT, fitting_lines, sound_tables

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
