"""The store: immutable Parquet parts, made visible by commit files, so that what is read was written whole.

```
results/
  tripos-store.json                    says that this is a store, and of which format
  parts/<table>/<commit>.<hex>.parquet never changed once written
  commits/<name>.json                  lists the parts of one batch; written last, and only if the name is free
  journal/<name>.jsonl                 rows that a run has kept and not committed yet
  works/<name>.ids                     the names of all results of work that was finished
  annotations/<name>.json              what a person was handed to grade, in which order
  claims, ticks                        what living processes hold, and how often there was something new
```
The invariant: a part counts only once a commit lists it that no other replaces. A process that dies half way leaves
files that nobody reads, and a journal that the next one commits.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import obstore
import orjson
import pyarrow as pa
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import LocalStore

from tripos_warehouse.errors import StoreError, unwritable
from tripos_warehouse.store.bucket.bucket import Bucket
from tripos_warehouse.store.bucket.catalog import OvertakenError
from tripos_warehouse.store.bucket.session import recover_segment
from tripos_warehouse.store.commits import (
    COMMITS,
    Commit,
    CommitFiles,
    ParquetPart,
    check_name,
    new_name,
    publish,
    raised,
)
from tripos_warehouse.store.digests import VERIFIED_BYTES
from tripos_warehouse.store.index import rows_by_id
from tripos_warehouse.store.journal import JOURNAL, REJECTED, SUFFIX, merge, read_segment, segments, set_aside
from tripos_warehouse.store.locks import COMPACTION, PARTS_LOCK, SEGMENT, Locks, place_of
from tripos_warehouse.store.parts import (
    PARTS,
    UNFIT,
    Row,
    check_part,
    check_rows,
    discard,
    fitting_lines,
    get_table,
    sound_tables,
    to_arrow,
    verify_part,
    write_part,
)
from tripos_warehouse.store.paths import address_of, check_marker, why_no_folder
from tripos_warehouse.store.schemas import RUNS, TABLES

STORE_FORMAT = "tripos.store/1"
MARKER = "tripos-store.json"
WORKS = "works"
SILENT_S = 3600
"""Where there are no locks, a journal that nobody has written to for so long is taken as left behind."""

Tell = Callable[[StoreError], None]
"""Is told of something that is damaged and was left out."""


def _now() -> datetime:
    return datetime.now(UTC)


class Store:
    """A store that exists. `Store.open` makes one; several processes may append to it at once."""

    def __init__(
        self,
        root: Path,
        clock: Callable[[], datetime] = _now,
        tell: Tell | None = None,
        *,
        tolerant: bool = False,
        bucket: Bucket | None = None,
    ) -> None:
        self.root = root
        self.bucket = bucket
        """The object store that this folder is a copy of, if it is one."""
        self._clock = clock
        self._tell = tell
        self._tolerant = tolerant
        self.damages: dict[str, StoreError] = {}
        """What is damaged and was left out, by its message."""
        self._left_out: set[Path] = set()
        self._sound: set[Path] = set()
        self._verified: set[Path] = set()
        self._commit_files = CommitFiles(root)
        self._locks: Locks | None = None

    @property
    def place(self) -> str:
        """The folder of the store, or its address on an object store."""
        return str(self.root) if self.bucket is None else self.bucket.address

    @property
    def now(self) -> datetime:
        """Return what the store's clock says, with a zone."""
        return self._clock()

    def next_time(self) -> datetime:
        """Return what the store's clock says, or a time just after the last commit if that is later: so what is
        committed later counts as later, also where a clock goes backwards or a machine's is hours off."""
        latest = max((each.written_at for each in self._commit_files.live(lambda damaged: None)), default=None)
        now = self._clock()
        return now if latest is None else max(now, latest + timedelta(microseconds=1))

    @classmethod
    def open(
        cls,
        root: str | Path,
        create: bool,
        *,
        clock: Callable[[], datetime] = _now,
        tell: Tell | None = None,
        tolerant: bool = False,
        writes: bool = True,
    ) -> Store:
        """Return the store at `root`; with `create` it is made where there is none.

        What a process that died had kept and not committed is committed now, if the store can be written to. `tell` is
        called, once each, with what is damaged and left out. `tolerant`: damaged commits and parts are left out too,
        for who only reads; a run would pay again for what they hold, and `gc` would remove it. Without `writes` the
        store stays as it is: what a process that died had kept is not committed.

        An address such as `s3://bucket/results` is one of an object store; its committed parts are copied to a folder
        of this machine, which is read like any other.

        Raises `StoreError`: S0101 no store there, S0102 it cannot be made, S0104 of a newer format, S0106 no folder,
        S0107 a link in it, and what `Bucket.open` and `Bucket.sync` do.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store = Store.open(folder, create=True)
        ...     commit = store.append({"run_items": [{"run_id": "r", "scenario": "QA", "item_id": "1"}]})
        ...     len(store.parts("run_items")), len(store.parts("scores"))
        (1, 0)
        """
        address = address_of(root)
        bucket = None if address is None else Bucket.open(address, create)
        foreign = why_no_folder(str(root)) if bucket is None else None
        if foreign is not None:
            raise StoreError("S0106", *foreign)
        folder = (Path(root) if bucket is None else bucket.root).expanduser().resolve()
        marker = folder / MARKER
        if (create or bucket is not None) and not marker.is_file():
            try:
                for below in (COMMITS, *(f"{PARTS}/{table}" for table in TABLES)):
                    (folder / below).mkdir(parents=True, exist_ok=True)
                with suppress(AlreadyExistsError):
                    obstore.put(
                        LocalStore(prefix=folder), MARKER, orjson.dumps({"format": STORE_FORMAT}) + b"\n", mode="create"
                    )
            except (OSError, BaseError) as error:
                raise unwritable(folder, error) from error
        check_marker(folder, MARKER, STORE_FORMAT)
        store = cls(folder, clock, tell, tolerant=tolerant, bucket=bucket)
        _opened.add(store)
        catalog = None if bucket is None else bucket.sync()
        store._mend_copy()
        is_open = catalog is None or bool(catalog.sessions) or catalog.is_long or bool(segments(folder))
        if writes and is_open:  # a request less where nobody works on a bucket
            with suppress(StoreError):  # who only reads need not be able to write
                store.recover()
        return store

    def append(self, rows: Mapping[str, Sequence[Row]], name: str | None = None) -> Commit:
        """Make the rows of all tables visible at once, under one commit.

        With a `name` that is committed already nothing happens, and that commit comes back with
        `repeated` set. Raises `StoreError`: S0105 a row does not fit its table (nothing is written),
        S0102 the disk refuses (earlier commits stay as they are).
        """
        return self.append_arrow({table: to_arrow(table, batch) for table, batch in rows.items() if batch}, name)

    def append_arrow(self, tables: Mapping[str, pa.Table], name: str | None = None) -> Commit:
        """As `append`, of rows that are Arrow tables already (`to_arrow`)."""
        now = self._clock()
        name = new_name(now) if name is None else check_name(name)
        try:
            if (self.root / COMMITS / f"{name}.json").exists():
                return self._publish(Commit(name, now, ()))
            return self.commit(name, now, (write_part(self.root, table, name, tables[table]) for table in tables))
        except (OSError, BaseError) as error:
            raise unwritable(self.root, error) from error

    def append_batches(self, batches: Iterable[Mapping[str, Sequence[Row]]]) -> Commit:
        """As `append`, of rows that come some at a time, each batch written before the next one is made."""
        name, tables = new_name(self._clock()), ((table, rows) for each in batches for table, rows in each.items())
        parts = (write_part(self.root, table, name, to_arrow(table, rows)) for table, rows in tables if rows)
        try:
            return self.commit(name, self._clock(), parts)
        except (OSError, BaseError) as error:
            raise unwritable(self.root, error) from error

    def commit(self, name: str, at: datetime, write: Iterable[ParquetPart], replaces: tuple[str, ...] = ()) -> Commit:
        """Publish the parts that `write` makes one by one, and carry them away where that fails. The commit has the
        time `at`, or a later one, so that it comes after those that are there; one that `replaces` others has theirs.

        While it runs, a lock says that parts with this name have a living owner. Raises `OSError` or an error of
        `obstore`.
        """
        place = place_of(PARTS_LOCK, name)
        locks = self.locks
        locks.share(place)
        parts: list[ParquetPart] = []
        try:
            parts.extend(write)
            at = at if replaces else max(at, self.next_time())
            commit = self._publish(Commit(name, at, tuple(parts), replaces=replaces))
        except BaseException:
            if not (self.root / COMMITS / f"{name}.json").exists():
                discard(self.root, parts, name)
            raise
        finally:
            locks.free(place)
        if commit.repeated:
            discard(self.root, parts, name)
        return commit

    def _publish(self, commit: Commit) -> Commit:
        if self.bucket is None:
            return publish(self.root, commit)
        try:
            return self.bucket.publish(commit) if commit.parts else replace(commit, repeated=True)
        except OvertakenError:
            return replace(commit, repeated=True)

    @property
    def locks(self) -> Locks:
        """The locks of this store in this process. Raises `OSError` where the store cannot be written."""
        if self._locks is None:
            self._locks = Locks(self.root)
        return self._locks

    def recover(self) -> int:
        """Commit what processes that died had kept, and say how many segments there were.

        Raises `StoreError`: S0102 where the disk refuses; what was kept stays where it is.
        """
        found = 0
        try:
            for name in segments(self.root):
                # Its lock is looked at and not taken: whoever meets a dead process's claim must see that it is dead,
                # also while another one recovers. Several may do so at once, since the name is committed once.
                if self._is_left(name) and not (self.locks.real and self.locks.others_hold(place_of(SEGMENT, name))):
                    found += self._recover(name)
            if self.bucket is not None and self.bucket.commit_tails():
                self.bucket.sync()
            self._list_together()
        except (OSError, BaseError) as error:
            raise unwritable(self.root, error) from error
        return found

    def _list_together(self) -> None:
        """Publish a commit in place of many, so that the next one who opens the store reads few files."""
        place = place_of(COMPACTION, "")
        while (checkpoint := self._commit_files.checkpoint(self.leave_out)) is not None and self.locks.hold(place):
            try:
                if self._publish(checkpoint).repeated:
                    return
            finally:
                self.locks.free(place)

    def _is_left(self, name: str) -> bool:
        """Return true if a segment can be one without an owner. Where there are locks, those say it."""
        if self.locks.real:
            return True
        with suppress(FileNotFoundError):
            return self._clock().timestamp() - (self.root / JOURNAL / f"{name}{SUFFIX}").stat().st_mtime > SILENT_S
        return False

    def _recover(self, name: str) -> bool:
        path = self.root / JOURNAL / f"{name}{SUFFIX}"
        try:
            kept = read_segment(path)
        except FileNotFoundError:
            return False  # another process was faster
        if kept.newer:
            message = f"the journal segment `{name}` was not written by this Tripos, and its rows are left out"
            self.note(StoreError("S0404", message, "update Tripos: it then commits them"))
            return False
        if kept.breaks_off:
            message = f"the last line of the journal segment `{name}` breaks off"
            self.note(StoreError("S0404", message, "the next run asks for it again"))
        rejected = list(kept.damaged)
        if self.bucket is not None:
            if (late := recover_segment(self.bucket, name, kept)) is not None:
                self.note(late)
        elif kept.lines:
            try:
                self.append_arrow(sound_tables(merge(kept.lines)), name)
            except UNFIT as error:
                if isinstance(error, StoreError) and error.code != "S0105":
                    raise
                places = fitting_lines(kept.lines)
                fitting = [line for place, line in enumerate(kept.lines) if place in places]
                self.append_arrow(sound_tables(merge(fitting)), name)
                rejected += [line for place, line in enumerate(kept.raw) if place not in places]
        if rejected:
            set_aside(self.root, name, rejected)
            aside = self.root / JOURNAL / REJECTED / f"{name}{SUFFIX}"
            lines = f"{len(rejected):,} line{'' if len(rejected) == 1 else 's'} of kept rows"
            message = f"{lines} that fit no table or have changed went to `{aside}`"
            self.note(StoreError("S0404", message, "read the lines; the next run repeats their calls"))
        path.unlink(missing_ok=True)
        return True

    def commits(self) -> list[Commit]:
        """Return every commit that no other replaces, oldest first.

        Raises `StoreError` S0103 or S0104 for one that cannot be read.
        """
        return self._commit_files.live(self.leave_out)

    def all_commits(self) -> list[Commit]:
        """Every commit there is, also those that another replaces, oldest first. Raises what `commits` does."""
        return self._commit_files.all(self.leave_out)

    def files(self) -> dict[str, list[Path]]:
        """Return the committed files of every table at one moment, oldest commit first.

        Raises `StoreError`: S0103 for one that is gone or cut short, S0104 for a schema newer than ours.
        """
        found: dict[str, list[Path]] = {table: [] for table in TABLES}
        for part, _, path in self._listed():
            found[part.table].append(path)
        return found

    def _listed(self) -> Iterator[tuple[ParquetPart, Commit, Path]]:
        """Yield every part that counts and is not left out, of the oldest commit first, with its commit and its
        file."""
        commits = self.commits()
        is_small = _is_small(commits)
        for commit in commits:
            for part in commit.parts:
                if part.table not in TABLES:
                    message = f"commit `{commit.name}` has a table `{part.table}`, which is left out"
                    self.leave_out(StoreError("S0402", message, "update Tripos"))
                elif (path := self._path(part, commit, is_small)) is not None:
                    yield part, commit, path

    def digests(self) -> dict[Path, str]:
        """Return the SHA-256 that the content of each part should have. Those that an earlier Tripos wrote have none.
        Raises what `commits` does."""
        every = (part for commit in self.commits() for part in commit.parts)
        return {self.root / part.path: part.sha256 for part in every if part.sha256 is not None}

    def verify(self, only: Collection[Path] | None = None) -> None:
        """Read all bytes of the parts, or of those `only`, and hold them to the digests that their commits say.

        Whoever writes what it reads once more does this before: a byte that changed would get a new digest. Raises
        `StoreError` S0103 for a part with another content; in a store that is read tolerantly it is left out.
        """
        self._mend_copy(whole=True)
        for part, commit, path in self._listed():
            if only is None or path in only:
                self._hold(partial(verify_part, self.root, part, commit), path)

    def _mend_copy(self, *, whole: bool = False) -> None:
        """Mend the copy of a bucket on this machine, if a commit in it cannot be read, or a part is gone or, where it
        is looked at as a `whole`, has changed. Raises what `Bucket.sync` does."""
        if self.bucket is None:
            return
        try:
            commits = self._commit_files.live(raised)
            check = verify_part if whole or _is_small(commits) else check_part
            for commit in commits:
                for part in commit.parts:
                    if part.table in TABLES:
                        check(self.root, part, commit)
        except StoreError:
            self.bucket.mend()
            self._commit_files = CommitFiles(self.root)

    def sweep(self) -> bool:
        """Read everything in a store that is read tolerantly, leave out the parts that have changed since they were
        written or hold rows that are not sound, and say whether there were any that were not left out before."""
        if not self._tolerant:
            return False
        before = len(self._left_out)
        self.verify()
        for table, paths in self.files().items():
            for path in paths:
                self._hold(partial(check_rows, table, path), path)
        return len(self._left_out) > before

    def _hold(self, check: Callable[[], object], path: Path) -> None:
        """Leave a part out where a check raises `StoreError`; or raise it, where damage is not tolerated."""
        try:
            check()
        except StoreError as error:
            self.leave_out(error)
            self._left_out.add(path)

    def first_damage(self) -> StoreError | None:
        """The error of the first part that has changed, or whose rows are not sound; None where all are whole."""
        try:
            for part, commit, path in self._listed():
                verify_part(self.root, part, commit)
                check_rows(part.table, path)
        except StoreError as error:
            return error
        return None

    def _path(self, part: ParquetPart, commit: Commit, is_small: bool) -> Path | None:
        """Return the file of a part, which is held to its digest if the store `is_small`; None where it is left
        out."""
        try:
            path = check_part(self.root, part, commit)
            if is_small and path not in self._verified:
                verify_part(self.root, part, commit)
                self._verified.add(path)
            if self._tolerant and part.table == RUNS.name and path not in self._sound:
                check_rows(part.table, path)  # every command reads each of its rows
                self._sound.add(path)
        except StoreError as error:
            self.leave_out(error)
            return None
        return None if self._left_out and path in self._left_out else path

    def leave_out(self, error: StoreError) -> None:
        """Raise the error, unless the store is read tolerantly: then it is told."""
        if not self._tolerant:
            raise error
        self.note(error)

    def note(self, error: StoreError) -> None:
        """Tell of damage, once."""
        if error.message not in self.damages:
            self.damages[error.message] = error
            if self._tell is not None:
                self._tell(error)

    def outdated(self, files: Mapping[str, Sequence[Path]]) -> set[str]:
        """Return the tables that have, among `files`, one of an earlier version of the schema, which lacks columns."""
        old = {
            self.root / part.path
            for commit in self._commit_files.known.values()
            for part in commit.parts
            if part.table in TABLES and part.version < TABLES[part.table].version
        }
        return {table for table, paths in files.items() if not old.isdisjoint(paths)}

    def parts(self, table: str) -> list[Path]:
        """Return the committed files of one table, oldest commit first. Raises what `files` does, for that table."""
        known = get_table(table).name
        commits = self.commits()
        is_small = _is_small(commits)
        found = (self._path(part, each, is_small) for each in commits for part in each.parts if part.table == known)
        return [path for path in found if path is not None]

    def rows(self, table: str, ids: Iterable[str], columns: Sequence[str] | None = None) -> dict[str, dict[str, Any]]:
        """Return whole rows by their id (or the `columns` of them). Of several with one id a reply counts before a
        `provider_error`, and of equals the one committed last.

        Ids that the table lacks are absent. Files that hold none of the ids cost one narrow read.
        """
        return rows_by_id(get_table(table), self.parts(table), ids, columns)


def _is_small(commits: Iterable[Commit]) -> bool:
    return sum(part.size for commit in commits for part in commit.parts) <= VERIFIED_BYTES


_opened: weakref.WeakSet[Store] = weakref.WeakSet()


def damage_of_opened() -> StoreError | None:
    """The error of rows that are not sound in a store that this process has open: the reason of a failure that nobody
    foresaw."""
    return next(filter(None, (store.first_damage() for store in list(_opened))), None)


def forget_opened() -> None:
    """Start anew: stores that were opened before are no longer looked at by `damage_of_opened`."""
    _opened.clear()
