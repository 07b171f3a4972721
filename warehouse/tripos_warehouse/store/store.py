"""The store: immutable Parquet parts, made visible by commit files, so that readers see only complete data.

```
results/
  tripos-store.json                    marks the folder as a store and names its format
  parts/<table>/<commit>.<hex>.parquet never changed after it was written
  commits/<name>.json                  lists the parts of one batch; written last, and only if the name is free
  journal/<name>.jsonl                 rows that a run wrote and has not committed yet
  works/<name>.ids                     the names of all results of finished work
  annotations/<name>.json              what a person was given to grade, and in which order
  media/                               files that messages refer to
  indexes/, cache/                     files that are derived from the parts, and can be rebuilt
  claims, ticks                        locks of living processes, and a counter of changes
```
Invariant: a part counts only if it is listed by a commit that no other commit replaces. A process that dies before its
commit leaves parts that nobody reads, and a journal that the next process commits.
"""

from __future__ import annotations

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

from tripos_warehouse.errors import StoreError, store_write_error
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
from tripos_warehouse.store.locks import COMPACTION, PARTS_LOCK, SEGMENT, Locks, lock_offset
from tripos_warehouse.store.parts import (
    INVALID_ROWS,
    PARTS,
    Row,
    check_part,
    check_rows,
    discard,
    get_table,
    to_arrow,
    valid_lines,
    valid_tables,
    verify_part,
    write_part,
)
from tripos_warehouse.store.paths import MARKER, address_of, check_marker, why_no_folder
from tripos_warehouse.store.schemas import RUNS, TABLES

STORE_FORMAT = "tripos.store/1"
FINISHED_WORK = "works"
ABANDONED_AFTER_S = 3600
"""Without locks, a journal segment that was not written to for this long counts as abandoned."""

DamageListener = Callable[[StoreError], None]
"""A listener that receives the error of each damaged thing that is skipped."""


def _now() -> datetime:
    return datetime.now(UTC)


class Store:
    """An existing store, opened by `Store.open`. Several processes may append to it at once."""

    def __init__(
        self,
        root: Path,
        clock: Callable[[], datetime] = _now,
        on_damage: DamageListener | None = None,
        *,
        tolerant: bool = False,
        bucket: Bucket | None = None,
    ) -> None:
        self.root = root
        self.bucket = bucket
        """The object store of which this folder is a copy, if there is one."""
        self._clock = clock
        self._on_damage = on_damage
        self._tolerant = tolerant
        self.damages: dict[str, StoreError] = {}
        """Damaged things that were skipped: errors by message."""
        self._skipped: set[Path] = set()
        """The parts that are skipped because their content is damaged."""
        self._checked: set[Path] = set()
        """The parts of `runs` whose rows were checked."""
        self._verified: set[Path] = set()
        """The parts whose content was compared with the digests in their commits."""
        self._commit_files = CommitFiles(root)
        self._locks: Locks | None = None

    @property
    def place(self) -> str:
        """The folder of the store, or its address on an object store."""
        return str(self.root) if self.bucket is None else self.bucket.address

    @property
    def now(self) -> datetime:
        """The time of the store's clock, with a zone."""
        return self._clock()

    def next_time(self) -> datetime:
        """Return the time of the store's clock, or a microsecond after the last commit if that is later. So commits
        stay in order if a clock goes backwards or differs between machines.
        """
        latest = max((commit.written_at for commit in self._commit_files.live(lambda damaged: None)), default=None)
        now = self._clock()
        return now if latest is None else max(now, latest + timedelta(microseconds=1))

    @classmethod
    def open(
        cls,
        root: str | Path,
        create: bool,
        *,
        clock: Callable[[], datetime] = _now,
        on_damage: DamageListener | None = None,
        tolerant: bool = False,
        writes: bool = True,
    ) -> Store:
        """Return the store at `root`. With `create` it is created if it does not exist.

        The journals of processes that died are committed, if the store is writable and `writes` is true. `on_damage` is
        called with the error of each damaged thing that is skipped, once for each. `tolerant` also skips damaged
        commits and parts. It is for readers only: a run would pay for their content again, and `gc` would remove it.

        An address such as `s3://bucket/results` is that of a store on an object store. Its committed parts are copied
        to a folder of this machine, which is read like any other store.

        Raises `StoreError`: S0101 if there is no store, S0102 if it cannot be created, S0104 for a newer format, S0106
        if the path is not a folder, S0107 for a link in it, and what `Bucket.open` and `Bucket.sync` raise.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store = Store.open(folder, create=True)
        ...     commit = store.append({"run_items": [{"run_id": "r", "scenario": "QA", "item_id": "1"}]})
        ...     len(store.parts("run_items")), len(store.parts("scores"))
        (1, 0)
        """
        address = address_of(root)
        bucket = None if address is None else Bucket.open(address, create)
        problem = why_no_folder(str(root)) if bucket is None else None
        if problem is not None:
            raise StoreError("S0106", *problem)
        folder = (Path(root) if bucket is None else bucket.root).expanduser().resolve()
        marker = folder / MARKER
        if (create or bucket is not None) and not marker.is_file():
            try:
                for subfolder in (COMMITS, *(f"{PARTS}/{table}" for table in TABLES)):
                    (folder / subfolder).mkdir(parents=True, exist_ok=True)
                with suppress(AlreadyExistsError):
                    obstore.put(
                        LocalStore(prefix=folder), MARKER, orjson.dumps({"format": STORE_FORMAT}) + b"\n", mode="create"
                    )
            except (OSError, BaseError) as error:
                raise store_write_error(folder, error) from error
        check_marker(folder, MARKER, STORE_FORMAT)
        store = cls(folder, clock, on_damage, tolerant=tolerant, bucket=bucket)
        catalog = None if bucket is None else bucket.sync()
        store._repair_copy()
        # Without sessions and segments there is nothing to recover, which saves a request.
        may_recover = catalog is None or bool(catalog.sessions) or catalog.is_long or bool(segments(folder))
        if writes and may_recover:
            with suppress(StoreError):  # readers need no write access
                store.recover()
        return store

    def append(self, rows: Mapping[str, Sequence[Row]], name: str | None = None) -> Commit:
        """Make rows of any tables visible at once, in one commit.

        If a commit with this `name` exists, nothing is written and that commit is returned with `repeated` set. Raises
        `StoreError`: S0105 if a row does not fit its table, S0102 if nothing can be written to the disk. Nothing is
        committed then.
        """
        return self.append_arrow({table: to_arrow(table, batch) for table, batch in rows.items() if batch}, name)

    def append_arrow(self, tables: Mapping[str, pa.Table], name: str | None = None) -> Commit:
        """Append rows that are Arrow tables already (`to_arrow`), as `append` does."""
        now = self._clock()
        name = new_name(now) if name is None else check_name(name)
        try:
            if (self.root / COMMITS / f"{name}.json").exists():
                return self._publish(Commit(name, now, ()))
            return self.commit(name, now, (write_part(self.root, table, name, tables[table]) for table in tables))
        except (OSError, BaseError) as error:
            raise store_write_error(self.root, error) from error

    def append_batches(self, batches: Iterable[Mapping[str, Sequence[Row]]]) -> Commit:
        """Append rows in batches in one commit, as `append` does; each batch is written before the next is taken."""
        name, tables = new_name(self._clock()), ((table, rows) for batch in batches for table, rows in batch.items())
        parts = (write_part(self.root, table, name, to_arrow(table, rows)) for table, rows in tables if rows)
        try:
            return self.commit(name, self._clock(), parts)
        except (OSError, BaseError) as error:
            raise store_write_error(self.root, error) from error

    def commit(self, name: str, at: datetime, write: Iterable[ParquetPart], replaces: tuple[str, ...] = ()) -> Commit:
        """Publish a commit of the parts that `write` yields, and remove the parts if that fails.

        The time of the commit is `at`, or later if needed to follow all earlier commits; a commit that `replaces`
        others keeps `at`. A lock marks the parts of this name as owned while they are written. Raises `OSError` or an
        error of `obstore`.
        """
        offset = lock_offset(PARTS_LOCK, name)
        locks = self.locks
        locks.share(offset)
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
            locks.free(offset)
        if commit.repeated:
            discard(self.root, parts, name)
        return commit

    def _publish(self, commit: Commit) -> Commit:
        """Publish a commit in the folder or the bucket; return it, with `repeated` set if another one was faster."""
        if self.bucket is None:
            return publish(self.root, commit)
        try:
            return self.bucket.publish(commit) if commit.parts else replace(commit, repeated=True)
        except OvertakenError:
            return replace(commit, repeated=True)

    @property
    def locks(self) -> Locks:
        """The locks of this store in this process. Raises `OSError` if the store cannot be written."""
        if self._locks is None:
            self._locks = Locks(self.root)
        return self._locks

    def recover(self) -> int:
        """Commit the journal segments of processes that died, and return their number.

        Raises `StoreError` S0102 if nothing can be written to the disk; the segments then stay.
        """
        recovered = 0
        try:
            for name in segments(self.root):
                # The segment's lock is tested, not taken: a process that gets the claim of a dead process must see that
                # its owner is dead, also while others recover it. Several may recover it at once: a commit's name is
                # published once.
                if self._may_be_abandoned(name) and not (
                    self.locks.real and self.locks.others_hold(lock_offset(SEGMENT, name))
                ):
                    recovered += self._recover(name)
            if self.bucket is not None and self.bucket.commit_tails():
                self.bucket.sync()
            self._publish_checkpoints()
        except (OSError, BaseError) as error:
            raise store_write_error(self.root, error) from error
        return recovered

    def _publish_checkpoints(self) -> None:
        """Publish checkpoint commits that replace many small ones, so that opening the store reads few files."""
        offset = lock_offset(COMPACTION, "")
        while (checkpoint := self._commit_files.checkpoint(self.leave_out)) is not None and self.locks.hold(offset):
            try:
                if self._publish(checkpoint).repeated:
                    return
            finally:
                self.locks.free(offset)

    def _may_be_abandoned(self, name: str) -> bool:
        """Return true if a segment may be abandoned. With locks, the caller decides by the segment's lock."""
        if self.locks.real:
            return True
        with suppress(FileNotFoundError):
            return (
                self._clock().timestamp() - (self.root / JOURNAL / f"{name}{SUFFIX}").stat().st_mtime
                > ABANDONED_AFTER_S
            )
        return False

    def _recover(self, name: str) -> bool:
        """Commit the valid rows of a segment and remove it; other lines go to a file. Return false if it is gone, or
        was written by a newer Tripos."""
        path = self.root / JOURNAL / f"{name}{SUFFIX}"
        try:
            content = read_segment(path)
        except FileNotFoundError:
            return False  # another process was faster
        if content.newer:
            message = f"the journal segment `{name}` was not written by this Tripos, and its rows are left out"
            self.note(StoreError("S0404", message, "update Tripos: it then commits them"))
            return False
        if content.breaks_off:
            message = f"the last line of the journal segment `{name}` breaks off"
            self.note(StoreError("S0404", message, "the next run asks for it again"))
        rejected = list(content.damaged)
        if self.bucket is not None:
            if (late_lines := recover_segment(self.bucket, name, content)) is not None:
                self.note(late_lines)
        elif content.lines:
            try:
                self.append_arrow(valid_tables(merge(content.lines)), name)
            except INVALID_ROWS as error:
                if isinstance(error, StoreError) and error.code != "S0105":
                    raise
                valid = valid_lines(content.lines)
                fitting = [line for number, line in enumerate(content.lines) if number in valid]
                self.append_arrow(valid_tables(merge(fitting)), name)
                rejected += [line for number, line in enumerate(content.raw) if number not in valid]
        if rejected:
            set_aside(self.root, name, rejected)
            rejected_path = self.root / JOURNAL / REJECTED / f"{name}{SUFFIX}"
            lines = f"{len(rejected):,} line{'' if len(rejected) == 1 else 's'} of kept rows"
            message = f"{lines} that fit no table or have changed went to `{rejected_path}`"
            self.note(StoreError("S0404", message, "read the lines; the next run repeats their calls"))
        path.unlink(missing_ok=True)
        return True

    def commits(self) -> list[Commit]:
        """Return every commit that no other replaces, oldest first.

        Raises `StoreError` S0402 or S0104 for one that cannot be read; a tolerant store skips it instead.
        """
        return self._commit_files.live(self.leave_out)

    def all_commits(self) -> list[Commit]:
        """Return every commit, also those that another replaces, oldest first. Raises what `commits` raises."""
        return self._commit_files.all(self.leave_out)

    def files(self) -> dict[str, list[Path]]:
        """Return the committed files of every table, as of one moment, oldest commit first.

        Raises `StoreError`: S0103 for a file that is missing or damaged, S0104 for a schema newer than ours, and what
        `commits` raises; a tolerant store skips the file instead.
        """
        files: dict[str, list[Path]] = {table: [] for table in TABLES}
        for part, _, path in self._counting_parts():
            files[part.table].append(path)
        return files

    def _counting_parts(self) -> Iterator[tuple[ParquetPart, Commit, Path]]:
        """Yield every part that counts and is not skipped, oldest commit first, with its commit and its path."""
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
        """Return the expected SHA-256 of each part. Parts of earlier Tripos versions have none and are absent. Raises
        what `commits` raises.
        """
        parts = (part for commit in self.commits() for part in commit.parts)
        return {self.root / part.path: part.sha256 for part in parts if part.sha256 is not None}

    def verify(self, only: Collection[Path] | None = None) -> None:
        """Compare the content of the parts, or of those in `only`, with the digests in their commits.

        Commands that rewrite parts call this first, because a changed byte would get a new digest. Raises `StoreError`
        S0103 for a part with other content; a tolerant store skips the part instead.
        """
        self._repair_copy(verify=True)
        for part, commit, path in self._counting_parts():
            if only is None or path in only:
                self._check_or_skip(partial(verify_part, self.root, part, commit), path)

    def _repair_copy(self, *, verify: bool = False) -> None:
        """Repair the local copy of a bucket if a commit is unreadable, or a part is missing or has another size. With
        `verify`, and in a small store, the content of the parts is checked too. Raises what `Bucket.sync` raises.
        """
        if self.bucket is None:
            return
        try:
            commits = self._commit_files.live(raised)
            check = verify_part if verify or _is_small(commits) else check_part
            for commit in commits:
                for part in commit.parts:
                    if part.table in TABLES:
                        check(self.root, part, commit)
        except StoreError:
            self.bucket.repair()
            self._commit_files = CommitFiles(self.root)

    def sweep(self) -> bool:
        """Check the content and rows of all parts of a tolerant store, and from now on skip those that have changed or
        have invalid rows. Return true if there are new ones; always false for a store that is not tolerant.
        """
        if not self._tolerant:
            return False
        before = len(self._skipped)
        self.verify()
        for table, paths in self.files().items():
            for path in paths:
                self._check_or_skip(partial(check_rows, table, path), path)
        return len(self._skipped) > before

    def _check_or_skip(self, check: Callable[[], object], path: Path) -> None:
        """Run a check; if it raises `StoreError`, skip the part, or raise if the store is not tolerant."""
        try:
            check()
        except StoreError as error:
            self.leave_out(error)
            self._skipped.add(path)

    def first_damage(self) -> StoreError | None:
        """Return the error of the first part that has changed or has invalid rows; None if there is none."""
        try:
            for part, commit, path in self._counting_parts():
                verify_part(self.root, part, commit)
                check_rows(part.table, path)
        except StoreError as error:
            return error
        return None

    def _path(self, part: ParquetPart, commit: Commit, is_small: bool) -> Path | None:
        """Return the path of a part, whose content is verified if the store `is_small`; None if the part is skipped."""
        try:
            path = check_part(self.root, part, commit)
            if is_small and path not in self._verified:
                verify_part(self.root, part, commit)
                self._verified.add(path)
            if self._tolerant and part.table == RUNS.name and path not in self._checked:
                check_rows(part.table, path)  # every command reads all rows of `runs`
                self._checked.add(path)
        except StoreError as error:
            self.leave_out(error)
            return None
        return None if path in self._skipped else path

    def leave_out(self, error: StoreError) -> None:
        """Raise the error, or report it if the store is tolerant."""
        if not self._tolerant:
            raise error
        self.note(error)

    def note(self, error: StoreError) -> None:
        """Report damage to the listener, once for each message."""
        if error.message not in self.damages:
            self.damages[error.message] = error
            if self._on_damage is not None:
                self._on_damage(error)

    def outdated(self, files: Mapping[str, Sequence[Path]]) -> set[str]:
        """Return the tables that have, among `files`, a part of an earlier schema version, which lacks columns."""
        outdated_paths = {
            self.root / part.path
            for commit in self._commit_files.commits.values()
            for part in commit.parts
            if part.table in TABLES and part.version < TABLES[part.table].version
        }
        return {table for table, paths in files.items() if not outdated_paths.isdisjoint(paths)}

    def parts(self, table: str) -> list[Path]:
        """Return the committed files of one table, oldest commit first. Raises what `files` raises, for that table."""
        name = get_table(table).name
        commits = self.commits()
        is_small = _is_small(commits)
        paths = (
            self._path(part, commit, is_small) for commit in commits for part in commit.parts if part.table == name
        )
        return [path for path in paths if path is not None]

    def rows(self, table: str, ids: Iterable[str], columns: Sequence[str] | None = None) -> dict[str, dict[str, Any]]:
        """Return all columns of rows, or these `columns`, by id. Of several rows with an id, one that did not fail
        counts before one that failed, and then the last committed one (`index.winner_order`).

        Missing ids are absent. Of a file without any of the ids, only the column of the ids is read.
        """
        return rows_by_id(get_table(table), self.parts(table), ids, columns)


def _is_small(commits: Iterable[Commit]) -> bool:
    """Return true if the parts have at most `VERIFIED_BYTES` bytes."""
    return sum(part.size for commit in commits for part in commit.parts) <= VERIFIED_BYTES
