"""The store: immutable Parquet parts, made visible by commit files, so that what is read was written whole.

```
results/
  tripos-store.json           says that this is a store, and of which format
  parts/<table>/<uuid>.parquet  never changed once written
  commits/<name>.json         lists the parts of one batch; written last, and only if the name is free
```
The invariant: a part counts only once a commit lists it. A process that dies half way leaves files
that nobody reads.
"""

from __future__ import annotations

import errno
import os
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import obstore
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import LocalStore

from tripos_warehouse.commits import COMMITS, Commit, Part, check_name, publish, read_commit, sync
from tripos_warehouse.errors import StoreError
from tripos_warehouse.rows import Row, get_table, to_arrow
from tripos_warehouse.schemas import COMPRESSION, COMPRESSION_LEVEL, TABLES

STORE_FORMAT = "tripos.store/1"
MARKER = "tripos-store.json"
PARTS = "parts"

FAILED = "provider_error"
"""The status of a unit that may be tried again: any other row of the same key counts before it."""


def _now() -> datetime:
    return datetime.now(UTC)


class Store:
    """A store that exists. `Store.open` makes one; several processes may append to it at once."""

    def __init__(self, root: Path, clock: Callable[[], datetime] = _now) -> None:
        self.root = root
        self._clock = clock
        self._read: dict[str, Commit] = {}

    @classmethod
    def open(cls, root: str | Path, create: bool, *, clock: Callable[[], datetime] = _now) -> Store:
        """The store at `root`; with `create` it is made where there is none.

        Raises `StoreError`: W0101 no store there, W0102 it cannot be made, W0104 of a newer format.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store = Store.open(folder, create=True)
        ...     commit = store.append({"run_items": [{"run_id": "r", "scenario": "QA", "item_id": "1"}]})
        ...     len(store.parts("run_items")), len(store.parts("scores"))
        (1, 0)
        """
        folder = Path(root).expanduser().resolve()
        marker = folder / MARKER
        if create and not marker.is_file():
            try:
                for below in (COMMITS, *(f"{PARTS}/{table}" for table in TABLES)):
                    (folder / below).mkdir(parents=True, exist_ok=True)
                with suppress(AlreadyExistsError):
                    obstore.put(
                        LocalStore(prefix=folder), MARKER, orjson.dumps({"format": STORE_FORMAT}) + b"\n", mode="create"
                    )
            except (OSError, BaseError) as error:
                raise _unwritable(folder, error) from error
        try:
            found = orjson.loads(marker.read_bytes())["format"]
        except FileNotFoundError as error:
            raise StoreError(
                "W0101", f"no store at `{folder}`", "run a benchmark first, or name the store with `--store`"
            ) from error
        except (OSError, orjson.JSONDecodeError, KeyError, TypeError) as error:
            raise StoreError(
                "W0103", f"`{marker}` is unreadable ({error})", f'write `{{"format":"{STORE_FORMAT}"}}` into it'
            ) from error
        if found != STORE_FORMAT:
            raise StoreError(
                "W0104",
                f"the store at `{folder}` has the format `{found}`; this Tripos reads `{STORE_FORMAT}`",
                "update Tripos",
            )
        return cls(folder, clock)

    def append(self, rows: Mapping[str, Sequence[Row]], name: str | None = None) -> Commit:
        """Makes the rows of all tables visible at once, under one commit.

        With a `name` that is committed already nothing happens, and that commit comes back with
        `repeated` set. Raises `StoreError`: W0105 a row does not fit its table (nothing is written),
        W0102 the disk refuses (earlier commits stay as they are).
        """
        now = self._clock()
        name = f"{now:%Y%m%dT%H%M%S%f}-{uuid.uuid4().hex[:12]}" if name is None else check_name(name)
        taken = self.root / COMMITS / f"{name}.json"
        if taken.exists():
            return publish(self.root, Commit(name, now, ()))
        tables = {table: to_arrow(table, batch) for table, batch in rows.items() if batch}
        parts: list[Part] = []
        try:
            for table, content in tables.items():
                parts.append(self._write_part(table, content))
            commit = publish(self.root, Commit(name, now, tuple(parts)))
        except (OSError, BaseError) as error:
            self._discard(parts)
            raise _unwritable(self.root, error) from error
        if commit.repeated:
            self._discard(parts)
        return commit

    def commits(self) -> list[Commit]:
        """Every commit, oldest first. Raises `StoreError` W0103 or W0104 for one that cannot be read."""
        folder = self.root / COMMITS
        names = [entry.name for entry in os.scandir(folder) if entry.name.endswith(".json")] if folder.is_dir() else []
        for name in names:
            if name not in self._read:
                self._read[name] = read_commit(folder / name)
        return sorted((self._read[name] for name in names), key=lambda commit: (commit.written_at, commit.name))

    def files(self) -> dict[str, list[Path]]:
        """The committed files of every table at one moment, oldest commit first.

        Raises `StoreError`: W0103 for one that is gone or cut short, W0104 for a schema newer than ours.
        """
        found: dict[str, list[Path]] = {table: [] for table in TABLES}
        for commit in self.commits():
            for part in commit.parts:
                if part.table in found:
                    found[part.table].append(self._check(part, commit))
        return found

    def parts(self, table: str) -> list[Path]:
        """The committed files of one table, oldest commit first. Raises what `files` does, for that table."""
        known = get_table(table).name
        return [self._check(part, each) for each in self.commits() for part in each.parts if part.table == known]

    def known(self, table: str, fingerprints: set[str] | None = None) -> dict[str, str]:
        """The status of every row of `samples` or `judgements` by its id, of some fingerprints or of all.

        Reads three columns only. An id with a `provider_error` and another row has the other's status;
        of equals, the one committed last counts.
        """
        (key,) = get_table(table).key
        wanted = None if fingerprints is None else pa.array(sorted(fingerprints), type=pa.string())
        failed: dict[str, str] = {}
        answered: dict[str, str] = {}
        for content in self._scan(table, [key, "fingerprint", "status"], "fingerprint", wanted):
            bad = pc.equal(content["status"], pa.scalar(FAILED))
            for rows, into in ((content.filter(bad), failed), (content.filter(pc.invert(bad)), answered)):
                pairs: Any = zip(rows[key].to_pylist(), rows["status"].to_pylist(), strict=True)
                into.update(pairs)
        return failed | answered

    def rows(self, table: str, ids: Iterable[str], columns: Sequence[str] | None = None) -> dict[str, dict[str, Any]]:
        """Whole rows by their id (or the `columns` of them), chosen among doubles as `known` does.

        Ids that the table lacks are absent. Files that hold none of the ids cost one narrow read.
        """
        schema = get_table(table)
        (key,) = schema.key
        names = list(columns if columns is not None else schema.schema.names)
        needed = list(dict.fromkeys([*names, key, "status"]))
        failed: dict[str, dict[str, Any]] = {}
        answered: dict[str, dict[str, Any]] = {}
        for content in self._scan(table, needed, key, pa.array(sorted(set(ids)), type=pa.string())):
            for row in content.to_pylist(maps_as_pydicts="strict"):
                into = failed if row["status"] == FAILED else answered
                into[row[key]] = {name: row[name] for name in names}
        return failed | answered

    def _scan(self, table: str, columns: list[str], key: str, wanted: pa.Array[Any] | None) -> Iterable[pa.Table]:
        """The columns of each part, cut to the rows whose `key` is wanted; the key is read first, alone."""
        for path in self.parts(table):
            try:
                with pq.ParquetFile(path) as file:
                    if wanted is None:
                        content = file.read(columns)
                    else:
                        hits = pc.is_in(file.read([key])[key], value_set=wanted)
                        if not pc.any(hits).as_py():
                            continue
                        content = file.read(columns).filter(hits)
            except (OSError, pa.ArrowException) as error:
                raise _broken(path, str(error)) from error
            yield content

    def _write_part(self, table: str, content: pa.Table) -> Part:
        path = f"{PARTS}/{table}/{uuid.uuid4().hex}.parquet"
        full = self.root / path
        full.parent.mkdir(parents=True, exist_ok=True)
        known = TABLES[table]
        options: Any = {
            "compression": COMPRESSION,
            "compression_level": COMPRESSION_LEVEL,
            "use_dictionary": list(known.repeating),
        }
        try:
            with full.open("xb") as file:
                pq.write_table(content, file, **options)
                file.flush()
                os.fsync(file.fileno())
            full.chmod(0o444)
            sync(full.parent)
        except BaseException:
            full.unlink(missing_ok=True)
            raise
        return Part(table, path, content.num_rows, full.stat().st_size, known.version)

    def _discard(self, parts: Iterable[Part]) -> None:
        for part in parts:
            (self.root / part.path).unlink(missing_ok=True)

    def _check(self, part: Part, commit: Commit) -> Path:
        path = self.root / part.path
        if part.version > (known := TABLES[part.table].version):
            raise StoreError(
                "W0104",
                f"`{part.table}` has version {part.version} in commit `{commit.name}`; this Tripos knows {known}",
                "update Tripos",
            )
        try:
            size = path.stat().st_size
        except OSError as error:
            raise _broken(path, f"commit `{commit.name}` lists it: {error.strerror}") from error
        if size != part.size:
            raise _broken(path, f"commit `{commit.name}` says {part.size} bytes, the file has {size}")
        return path


def _broken(path: Path, why: str) -> StoreError:
    return StoreError(
        "W0103",
        f"the part `{path}` is missing or unreadable ({why})",
        "restore the file from a backup, or delete the commit that lists it: its calls are then made again",
    )


def _unwritable(root: Path, error: Exception) -> StoreError:
    match error:
        case OSError(errno=errno.ENOSPC | errno.EDQUOT):
            why, hint = "the disk is full", "free some space and run the same command again"
        case OSError(errno=errno.EACCES | errno.EPERM | errno.EROFS):
            why, hint = "permission denied", "give yourself write access to it, or choose another with `--store`"
        case _:
            why = (str(error).splitlines() or [type(error).__name__])[0]
            hint = "mend the disk and run the same command again"
    return StoreError(
        "W0102",
        f"cannot write to the store at `{root}`: {why}",
        f"{hint}; everything committed so far is kept and is not asked for twice",
    )
