"""Commit files: their content, their JSON form, and the put-if-absent write that makes a commit visible."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Self

import obstore
from obstore.exceptions import AlreadyExistsError
from obstore.store import LocalStore
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError, model_validator

from tripos_compiler.files import sync
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.errors import StoreError
from tripos_warehouse.store.digests import sealed, unsealed
from tripos_warehouse.store.paths import part_path, read_plain

COMMIT_FORMAT = "tripos.commit/1"
REPLACING_FORMAT = "tripos.commit/2"
"""The format of a commit that replaces others. A reader that does not know it must stop, since it would count rows
twice.
"""
COMMITS = "commits"
CHANGE_COUNTER = "ticks"
"""The name of a file that grows by a byte with every commit and every new journal segment, so that a changed length
means that there is something new.
"""

CHECKPOINT, MOST_LISTED = 1024, 4096
"""If at least `CHECKPOINT` commits are not compacted, one commit lists the parts of up to `MOST_LISTED` of them, so
that opening the store reads one file in their place.
"""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_COMPACTION = re.compile(r"compaction-([0-9]{6,18})")


@dataclass(frozen=True)
class ParquetPart:
    """A Parquet file: `path` below the store's root, `size` in bytes, `version` of the table's schema, and the SHA-256
    of its content (None if an earlier Tripos wrote it).
    """

    table: str
    path: str
    rows: int
    size: int
    version: int
    sha256: str | None


@dataclass(frozen=True)
class Commit:
    """Parts that became visible together.

    `repeated`: a commit of this name existed before. `replaces`: the names of commits that this one replaces, since
    their rows are in these parts.
    """

    name: str
    written_at: datetime
    parts: tuple[ParquetPart, ...]
    repeated: bool = False
    replaces: tuple[str, ...] = ()


def number_of(name: str) -> int:
    """Return the number of a compaction; 0 for any other commit.

    >>> number_of("compaction-000012"), number_of("20260301T080000000000-0123456789ab")
    (12, 0)
    """
    match = _COMPACTION.fullmatch(name)
    return int(match[1]) if match else 0


def _number(file: str) -> int:
    """Return the number of a compaction by its file name; 0 for any other commit."""
    return number_of(file.removesuffix(".json")) if file.startswith("compaction-") else 0


def check_name(name: str) -> str:
    """Return `name`. Raises `ValueError` if it cannot be a file name on every system."""
    if not is_name(name):
        raise ValueError(f"not a commit name: {name!r}")
    return name


def is_name(name: str) -> bool:
    """Return true if a text can be the name of a commit."""
    return _NAME.fullmatch(name) is not None


def to_json(commit: Commit) -> bytes:
    """Return the bytes of a commit file."""
    parts = [
        {
            "table": part.table,
            "path": part.path,
            "rows": part.rows,
            "bytes": part.size,
            "version": part.version,
            **({} if part.sha256 is None else {"sha256": part.sha256}),
        }
        for part in commit.parts
    ]
    written_at = commit.written_at.astimezone(UTC).isoformat(timespec="microseconds")
    format_ = REPLACING_FORMAT if commit.replaces else COMMIT_FORMAT
    body = {"format": format_, "name": commit.name, "written_at": written_at, "parts": parts}
    if commit.replaces:
        body["replaces"] = list(commit.replaces)
    return sealed(body)


_STRICT = ConfigDict(strict=True)
_Count = Annotated[int, Field(ge=0, lt=2**63)]
_Name = Annotated[str, Field(pattern=r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,199}\z")]


class _Listed(BaseModel):
    """A part in a commit file."""

    model_config = _STRICT
    table: Annotated[str, Field(max_length=64)]
    path: str
    rows: _Count
    bytes: _Count
    version: Annotated[int, Field(ge=1, lt=2**31)]
    sha256: Annotated[str, Field(pattern=r"\A[0-9a-f]{64}\z")] | None = None

    @model_validator(mode="after")
    def _lies_in_the_store(self) -> Self:
        """Raise `ValueError` if the path is not that of a part."""
        part_path(self.table, self.path)
        return self


class _Format(BaseModel):
    """The format field of every commit file."""

    model_config = _STRICT
    format: str


class _Body(_Format):
    """A commit file. Unknown fields, which later versions may add, are ignored."""

    name: _Name
    written_at: AwareDatetime
    parts: list[_Listed]
    replaces: list[_Name] = []

    @model_validator(mode="after")
    def _replaces_earlier_commits(self) -> Self:
        """Raise `ValueError` if a commit replaces others and is no compaction, or replaces a later one."""
        if any(number_of(name) >= number_of(self.name) for name in self.replaces):
            raise ValueError("only a compaction replaces commits, and only earlier ones")
        return self


def read_commit(path: Path) -> Commit:
    """Return the commit in a file.

    Raises `StoreError` S0402 if the file is damaged, S0104 if a newer Tripos wrote it, and `FileNotFoundError` if it is
    missing.
    """
    try:
        content = read_plain(path)
        try:
            body = _Body.model_validate_json(content)
        except ValidationError:
            _check_format(path, _Format.model_validate_json(content).format)
            raise
        _check_format(path, body.format)
        unsealed(content, required=any(part.sha256 is not None for part in body.parts))
        parts = tuple(
            ParquetPart(part.table, part.path, part.rows, part.bytes, part.version, part.sha256) for part in body.parts
        )
        written_at = body.written_at.astimezone(UTC)
    except FileNotFoundError:
        raise
    except ValidationError as error:
        problem = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(str(part) for part in problem["loc"])
        raise _damaged(path, f"{where}: {problem['msg']}" if where else problem["msg"]) from error
    except (OSError, OverflowError, ValueError) as error:
        raise _damaged(path, getattr(error, "strerror", None) or str(error)) from error
    if body.name != path.stem:
        raise StoreError("S0402", f"the commit `{path}` says that its name is `{body.name}`", "rename the file back")
    return Commit(body.name, written_at, parts, replaces=tuple(body.replaces))


def _check_format(path: Path, format_: str) -> None:
    """Raise `StoreError` S0104 for an unknown format."""
    if format_ not in (COMMIT_FORMAT, REPLACING_FORMAT):
        raise StoreError("S0104", f"`{path}` has the format `{format_}`", "update Tripos: this store is newer than it")


def _damaged(path: Path, why: str) -> StoreError:
    """Return the error of a commit file that cannot be read."""
    return StoreError(
        "S0402",
        f"the commit `{path}` is unreadable ({why})",
        "restore the file from a backup, or delete it: the next run repeats its calls",
    )


class CommitFiles:
    """The commit files of a store, each read once."""

    def __init__(self, root: Path) -> None:
        self._folder = root / COMMITS
        self.commits: dict[str, Commit] = {}
        """The commits that were read, by file name."""

    def live(self, skip: Callable[[StoreError], None]) -> list[Commit]:
        """Return every commit that no other replaces, oldest first. `skip` is called with the error of each unreadable
        commit and may raise it.

        Only compactions replace commits. The replaced commits, which may be many, are not read.
        """
        return self._live(self._listed(), skip)

    def _live(self, files: Sequence[str], skip: Callable[[StoreError], None]) -> list[Commit]:
        """Return the commits of `live` among these files."""
        compactions = self._read([file for file in files if _number(file)], skip)
        replaced = {f"{name}.json" for commit in compactions for name in commit.replaces}
        return self._read([file for file in files if file not in replaced], skip)

    def all(self, skip: Callable[[StoreError], None]) -> list[Commit]:
        """Return every commit, oldest first. `skip` is called as by `live`."""
        return self._read(self._listed(), skip)

    def checkpoint(self, skip: Callable[[StoreError], None]) -> Commit | None:
        """Return an unpublished compaction that lists the parts of the oldest commits unchanged; None if fewer than
        `CHECKPOINT` commits would be replaced. It does not replace other compactions, so its size is bounded.
        """
        files = self._listed()
        if len(files) < CHECKPOINT:
            return None
        latest = max(map(_number, files))  # of two processes that use the next number, one fails to publish
        to_replace = [commit for commit in self._live(files, skip) if not number_of(commit.name)][:MOST_LISTED]
        if len(to_replace) < CHECKPOINT:
            return None
        parts = tuple(part for commit in to_replace for part in commit.parts)
        replaces = tuple(commit.name for commit in to_replace)
        return Commit(f"compaction-{latest + 1:06d}", to_replace[-1].written_at, parts, replaces=replaces)

    def _listed(self) -> list[str]:
        """Return the names of all commit files."""
        exists = self._folder.is_dir()
        return [entry.name for entry in os.scandir(self._folder) if entry.name.endswith(".json")] if exists else []

    def _read(self, files: Sequence[str], skip: Callable[[StoreError], None]) -> list[Commit]:
        """Return the commits in files, oldest first."""
        commits = []
        for name in files:
            if name not in self.commits:
                # Only replaced commits are ever removed; the commit that replaces this one is among the files.
                try:
                    self.commits[name] = read_commit(self._folder / name)
                except FileNotFoundError:
                    continue
                except StoreError as error:
                    skip(error)
            if name in self.commits:
                commits.append(self.commits[name])
        return sorted(commits, key=lambda commit: (commit.written_at, commit.name))


def raised(error: StoreError) -> None:
    """Raise the error: the argument `skip` of readers that skip nothing."""
    raise error


def publish(root: Path, commit: Commit) -> Commit:
    """Write the commit file if its name is free; otherwise return the commit that has the name.

    Raises `OSError` or an `obstore` error if the disk refuses. It is then unknown whether the commit exists; publishing
    it again settles that.
    """
    path = root / COMMITS / f"{check_name(commit.name)}.json"
    try:
        obstore.put(LocalStore(prefix=root), f"{COMMITS}/{commit.name}.json", to_json(commit), mode="create")
    except AlreadyExistsError:
        bump_change_counter(root)  # the process that published it may have died before it did this
        return replace(read_commit(path), repeated=True)
    sync(path)
    sync(path.parent)
    bump_change_counter(root)
    return commit


def bump_change_counter(root: Path) -> None:
    """Increment the change counter, by which other processes notice that something changed. Raises `OSError`."""
    handle = os.open(root / CHANGE_COUNTER, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        os.write(handle, b".")
    finally:
        os.close(handle)


def new_name(now: datetime) -> str:
    """Return a unique name for a commit; names sort by time.

    >>> len(new_name(datetime(2026, 3, 1, 8, 0, tzinfo=UTC)))
    34
    """
    return f"{now:%Y%m%dT%H%M%S%f}-{uuid.uuid4().hex[:12]}"
