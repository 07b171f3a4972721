"""The catalog of a bucket (which parts count, and which log slots they contain) and conditional reads and writes of
objects.

The catalog is replaced on the condition that nobody replaced the version that was read. `serial` counts the changes.
The name of a part contains the serial of the catalog when it was uploaded. No part with a serial below `floor` may be
added to the catalog any more, so garbage collection may remove those that are not listed.

The parts of a commit that has many are listed in a *manifest*, an object of its own, so that the catalog stays small.
It is written once, under the rules for parts.

A write may have succeeded although its answer was lost, and a client that repeats it may then be refused because of its
own first attempt. So after an error of a conditional write the object is read, and its content shows whose write
succeeded. Every conditional write contains a nonce.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import random
import tempfile
import threading
import time
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta
from typing import Annotated, Any, TypeVar

import obstore
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    NotModifiedError,
    NotSupportedError,
    PermissionDeniedError,
    PreconditionError,
    UnauthenticatedError,
)
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.errors import StoreError
from tripos_warehouse.store.commits import CHECKPOINT, ParquetPart, number_of
from tripos_warehouse.store.digests import sealed, unsealed
from tripos_warehouse.store.paths import part_path

# Panics of the object store client
_NAME = "PanicException"
"""The class name of Rust panics. The class belongs to no module, so it is matched by name."""
_STDERR = 2
_redirecting = threading.Lock()


class ClientPanicError(BaseError):
    """A panic of the object store client, over a setting or a credential. Retrying does not help."""


@contextmanager
def panics_as_errors(*, hushed: bool = False) -> Iterator[None]:
    """Raise `ClientPanicError` if the client panics, for instance over a token with a line break.

    A Rust panic is a `BaseException` and no `Exception`, and writes to standard error. If `hushed`, standard error is
    dropped after a panic, and otherwise written at the end.
    """
    with ExitStack() as stack:
        if hushed:
            stack.enter_context(_without_panic_output())
        try:
            yield
        except BaseException as error:
            if type(error).__name__ != _NAME:
                raise
            text = (str(error).splitlines() or ["it gave no reason"])[0]
            raise ClientPanicError(f"its client failed over a setting or a credential: {text}") from error


@contextmanager
def _without_panic_output() -> Iterator[None]:
    """Redirect standard error to a file, and write it at the end unless `ClientPanicError` is raised."""
    with _redirecting, tempfile.TemporaryFile() as output:
        try:
            original = os.dup(_STDERR)
        except OSError:  # no standard error
            yield
            return
        os.dup2(output.fileno(), _STDERR)
        panicked = False
        try:
            yield
        except ClientPanicError:
            panicked = True
            raise
        finally:
            os.dup2(original, _STDERR)
            os.close(original)
            if not panicked:
                output.seek(0)
                while block := output.read(2**16):
                    os.write(_STDERR, block)


# Objects
PATIENCE_S = 60.0
"""A bucket that returns only errors for this long counts as out of reach."""
_LONGEST_PAUSE_S = 2.0
_BACKOFF = {"init_backoff": timedelta(milliseconds=50), "max_backoff": timedelta(seconds=1), "base": 2}
_RETRIES: Any = {"max_retries": 2, "retry_timeout": timedelta(seconds=10), "backoff": _BACKOFF}

Tag = dict[str, Any]
"""The version of an object, which is the condition of a conditional write."""
Name = TypeVar("Name")
Value = TypeVar("Value")
_AT_ONCE = 16


@dataclass(frozen=True)
class StoredObject:
    """An object as it was read: its content, its version, and the time of its writing by the store's clock."""

    content: bytes
    tag: Tag
    written_at: datetime


class Objects:
    """The objects below one address."""

    def __init__(self, store: Any, address: str, patience_s: float = PATIENCE_S) -> None:
        self.address = address
        self._store = store
        self._patience_s = patience_s
        self._answered = False
        """True after a first call succeeded, so that the settings and credentials are known to work."""

    @classmethod
    def at(cls, address: str, patience_s: float = PATIENCE_S) -> Objects:
        """Return the objects at an address. Credentials and the endpoint come only from the user's environment.

        Raises `StoreError` S0110 for an invalid address.
        """
        from obstore.store import from_url

        plain = any(os.environ.get(name, "").startswith("http://") for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT"))
        options: Any = {"timeout": "20s", "connect_timeout": "5s"} | ({"allow_http": True} if plain else {})
        try:
            with panics_as_errors(hushed=True):
                return cls(from_url(address, client_options=options, retry_config=_RETRIES), address, patience_s)
        except (BaseError, ValueError) as error:
            raise _out_of_reach(address, error) from error

    def get(self, name: str) -> StoredObject | None:
        """Return an object; None if there is none. Raises `StoreError`: S0109, S0110."""

        def read() -> StoredObject:
            result = obstore.get(self._store, name)
            return StoredObject(bytes(result.bytes()), _tag(result.meta), result.meta["last_modified"])

        return self._retried(read)

    def changed(self, name: str, known: StoredObject) -> StoredObject | None:
        """Return the current object, or `known` itself if it has not changed. Raises what `get` raises."""
        e_tag = known.tag.get("e_tag")

        def read() -> StoredObject:
            try:
                result = obstore.get(self._store, name, options={"if_none_match": e_tag} if e_tag else None)
            except NotModifiedError:
                return known
            return StoredObject(bytes(result.bytes()), _tag(result.meta), result.meta["last_modified"])

        return self._retried(read)

    def written_at(self, name: str) -> datetime | None:
        """Return when an object was written, by the store's clock; None if there is none. Raises what `get` raises."""
        return self._retried(lambda: obstore.head(self._store, name)["last_modified"])

    def clock(self, name: str) -> datetime | None:
        """Return the time of the store's clock, by writing an object under this name. Raises what `get` raises."""
        self.put(name, uuid.uuid4().hex.encode())
        return self.written_at(name)

    def create(self, name: str, content: bytes, ends_s: float | None = None) -> bool:
        """Write an object if its name is free, and return true if the object that then has the name is this one.

        `ends_s` is the deadline on the monotonic clock. Raises what `get` raises; the outcome is then unknown.
        """
        ends_s = time.monotonic() + self._patience_s if ends_s is None else ends_s
        pause_s = 0.05
        while True:
            last_error: Exception | None = None
            try:
                self._call(lambda: obstore.put(self._store, name, content, mode="create"))
                return True
            except (AlreadyExistsError, PreconditionError):
                pass  # written by another process, or by our own first attempt
            except (BaseError, OSError, NotImplementedError) as error:
                last_error = self._temporary(error, writing=True)
            stored_object = self.get(name)
            if stored_object is not None:
                return stored_object.content == content
            if time.monotonic() > ends_s:
                raise _out_of_reach(
                    self.address, last_error or TimeoutError("a write was refused and nothing is there")
                )
            pause_s = _pause(pause_s)

    def swap(self, name: str, content: bytes, tag: Tag) -> Tag | None:
        """Write an object if it still has the version `tag`, and return its new version; None if the outcome is
        unknown, and the object must be read. Raises `StoreError`: S0108, S0109, S0111.
        """
        try:
            return _tag(self._call(lambda: obstore.put(self._store, name, content, mode=tag)))  # type: ignore[arg-type]
        except (AlreadyExistsError, PreconditionError):
            return None
        except (BaseError, OSError, NotImplementedError) as error:
            self._temporary(error, writing=True)
            return None

    def put(self, name: str, content: bytes) -> None:
        """Write an object whose name nobody else uses. Raises `StoreError`: S0108, S0109, S0110."""
        self._retried(lambda: obstore.put(self._store, name, content), writing=True)

    def sizes(self, prefix: str) -> dict[str, int]:
        """Return the sizes of all objects below a prefix, by name. A listing may lag behind."""

        def list_all() -> dict[str, int]:
            return {item["path"]: item["size"] for batch in obstore.list(self._store, prefix) for item in batch}

        return self._retried(list_all) or {}

    def delete(self, names: Iterable[str]) -> None:
        """Remove objects; missing ones are ignored."""
        ordered = sorted(names)
        for start in range(0, len(ordered), 1000):
            self._retried(lambda start=start: obstore.delete(self._store, ordered[start : start + 1000]))  # type: ignore[misc]

    def _retried(self, call: Callable[[], Value], *, writing: bool = False) -> Value | None:
        """Return the result of a client call, which is repeated after temporary errors; None if the object of a read is
        missing. Raises `StoreError`.
        """
        ends_s, pause_s = time.monotonic() + self._patience_s, 0.05
        while True:
            try:
                return self._call(call)
            except FileNotFoundError as error:
                if writing:
                    raise self._temporary(error, writing=True) from error
                return None
            except (BaseError, OSError, NotImplementedError) as error:
                self._temporary(error, writing=writing)
                if time.monotonic() > ends_s:
                    raise _out_of_reach(self.address, error) from error
            pause_s = _pause(pause_s)

    def _call(self, call: Callable[[], Value]) -> Value:
        """Return the result of a client call. Raises `StoreError` S0110 for a panic, and what the client raises."""
        try:
            with panics_as_errors(hushed=not self._answered):
                result = call()
        except ClientPanicError as error:
            raise _out_of_reach(self.address, error) from error
        self._answered = True
        return result

    def _temporary(self, error: Exception, *, writing: bool) -> Exception:
        """Return the error if it may be temporary. Raises `StoreError` for any other."""
        if isinstance(error, FileNotFoundError) and writing:
            hint = "make the bucket, or name another one with `--store`"
            raise StoreError("S0108", f"no bucket at `{self.address}`", hint) from error
        if isinstance(error, (PermissionDeniedError, UnauthenticatedError)):
            hint = "give your keys in the environment, with the right to read, write and list below this address"
            raise StoreError("S0109", f"`{self.address}` refuses access: {first_line(error)}", hint) from error
        if isinstance(error, (NotSupportedError, NotImplementedError)):
            raise no_conditions(self.address) from error
        return error


def map_concurrently(call: Callable[[Name], Value], names: Sequence[Name]) -> list[Value]:
    """Return the results of a call for each name, in order; many requests run in parallel."""
    if len(names) < 2:
        return [call(name) for name in names]
    with ThreadPoolExecutor(min(_AT_ONCE, len(names)), "tripos-bucket") as pool:
        return list(pool.map(call, names))


def no_conditions(address: str) -> StoreError:
    """Return the error of an object store that does not check the conditions of writes."""
    return StoreError(
        "S0111",
        f"`{address}` has no conditional writes, so two workers could overwrite each other there",
        "use an object store with `If-None-Match` and `If-Match` on writes, or a folder and one machine",
    )


def first_line(error: Exception) -> str:
    """Return the first line of an error message."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def _out_of_reach(address: str, error: Exception) -> StoreError:
    """Return the error of a bucket that cannot be reached."""
    return StoreError(
        "S0110",
        f"`{address}` is out of reach: {first_line(error)}",
        "look at the address, the endpoint in the environment and the network; what was kept is in the local journal",
    )


def _pause(pause_s: float) -> float:
    """Sleep for a random time around `pause_s`, and return the next pause."""
    time.sleep(pause_s * random.uniform(0.5, 1.5))
    return min(2 * pause_s, _LONGEST_PAUSE_S)


def _tag(metadata: Any) -> Tag:
    """Return the version in the metadata of an object."""
    return {name: metadata[name] for name in ("e_tag", "version") if metadata.get(name) is not None}


# The catalog
CATALOG = "catalog.json"
CATALOG_FORMAT = "tripos.catalog/1"
MANIFEST_FORMAT = "tripos.catalog/2"
"""The format of a catalog with a manifest. A reader that does not know it must stop, since it would ignore the parts in
the manifest.
"""
MANIFESTS = "manifests"
MOST_LISTED = 512
"""A commit with more parts has a manifest."""
MOST_BYTES = 2**28
"""The size limit of a manifest after decompression."""
RECENT = 256
"""The number of the last commit names that the catalog lists also after a compaction replaced them, for writers that do
not know whether their change is in the catalog.
"""

_Count = Annotated[int, Field(ge=0, lt=2**63)]
_Name = Annotated[str, Field(pattern=r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,199}\z")]
_STRICT = ConfigDict(strict=True, frozen=True)


class BucketPart(BaseModel):
    """A part: its path in a folder store, the serial of the catalog when it was uploaded (`base`), and the SHA-256 of
    its content.
    """

    model_config = _STRICT
    table: Annotated[str, Field(max_length=64)]
    path: str
    rows: _Count
    bytes: _Count
    version: Annotated[int, Field(ge=1, lt=2**31)]
    base: _Count
    sha256: Annotated[str, Field(pattern=r"\A[0-9a-f]{64}\z")]

    @model_validator(mode="after")
    def _lies_in_the_store(self) -> BucketPart:
        """Raise `ValueError` if the path is not that of a part."""
        part_path(self.table, self.path)
        return self

    @property
    def name(self) -> str:
        """The name of the object.

        >>> BucketPart(table="runs", path="parts/runs/a.0f.parquet", rows=1, bytes=9, version=1, base=7,
        ...     sha256="0" * 64).name
        'parts/runs/000000000007-a.0f.parquet'
        """
        return f"parts/{self.table}/{self.base:012d}-{self.path.rpartition('/')[2]}"

    @property
    def parquet(self) -> ParquetPart:
        """The part as a commit file lists it."""
        return ParquetPart(self.table, self.path, self.rows, self.bytes, self.version, self.sha256)


class PartList(BaseModel):
    """A manifest: its name, the serial of the catalog when it was written (`base`), and the SHA-256 of its content."""

    model_config = _STRICT
    name: Annotated[str, Field(pattern=rf"\A{MANIFESTS}/[0-9]{{12}}-[0-9a-f]{{32}}\z")]
    base: _Count
    sha256: Annotated[str, Field(pattern=r"\A[0-9a-f]{64}\z")]


class CatalogCommit(BaseModel):
    """A commit that counts. Its parts are listed here or in its manifest."""

    model_config = _STRICT
    name: _Name
    written_at: AwareDatetime
    parts: tuple[BucketPart, ...] = ()
    manifest: PartList | None = None


class Catalog(BaseModel):
    """The catalog.

    `serial` and `floor` are explained in the module docstring. `sessions`: the workers that may still write, each with
    its first uncommitted slot. `recent`: the names of the last commits.
    """

    model_config = _STRICT
    format: str = CATALOG_FORMAT
    serial: _Count = 0
    nonce: str = ""
    floor: _Count = 0
    commits: tuple[CatalogCommit, ...] = ()
    sessions: dict[_Name, _Count] = {}
    recent: tuple[_Name, ...] = ()

    def following(self, **changes: object) -> Catalog:
        """Return the catalog after a change."""
        new = self.model_copy(update={**changes, "serial": self.serial + 1, "nonce": uuid.uuid4().hex})
        has_manifest = any(commit.manifest is not None for commit in new.commits)
        return new.model_copy(update={"format": MANIFEST_FORMAT if has_manifest else CATALOG_FORMAT})

    def content(self) -> bytes:
        """Return the bytes of the object."""
        return sealed(self.model_dump(mode="json", exclude_none=True), lines=False)

    @property
    def is_long(self) -> bool:
        """True if so many commits are listed that one should list their parts."""
        return sum(not number_of(commit.name) for commit in self.commits) >= CHECKPOINT

    def has(self, name: str) -> bool:
        """Return true if a commit of that name exists, as far as names are remembered."""
        return name in self.recent or any(commit.name == name for commit in self.commits)

    def has_landed(self, new: CatalogCommit) -> bool:
        """Return true if the catalog contains this commit, and not another one of its name: two machines may give a
        compaction the same number. For a compaction that was replaced since, the answer is false.
        """
        listed = next((commit for commit in self.commits if commit.name == new.name), None)
        if listed is not None:
            return (listed.parts, listed.manifest) == (new.parts, new.manifest)
        return not number_of(new.name) and new.name in self.recent


@dataclass(frozen=True)
class LogAdvance:
    """The slots of a log that a commit contains: from `start`, which must be the first uncommitted slot, up to but
    excluding `end`. `over`: no slot can follow in the log.
    """

    session: str
    start: int
    end: int
    over: bool = False


class OvertakenError(Exception):
    """Raised for a change that is obsolete, because another process committed or compacted the same."""


class OldBaseError(Exception):
    """Raised for a part with a serial below the floor, which must be uploaded under a new name."""


def with_commit(
    catalog: Catalog, new: CatalogCommit, replaces: tuple[str, ...], logs: Sequence[LogAdvance], serial: int | None
) -> Catalog:
    """Return the catalog with one more commit. `serial` is that of the commit's new objects, or None if there are none.
    Raises `OvertakenError`, `OldBaseError`.
    """
    replaced, listed = set(replaces), {commit.name for commit in catalog.commits}
    if not replaced <= listed or new.name in listed:
        raise OvertakenError(new.name)
    if serial is not None and serial < catalog.floor:
        raise OldBaseError(new.name)
    sessions = with_advances(catalog, logs)
    if not replaces and catalog.commits:  # the commit follows all others, whatever the clock of its machine
        after = catalog.commits[-1].written_at + timedelta(microseconds=1)
        new = new.model_copy(update={"written_at": max(new.written_at, after)})
    commits = (*(commit for commit in catalog.commits if commit.name not in replaced), new)
    ordered = tuple(sorted(commits, key=lambda commit: (commit.written_at, commit.name)))
    return catalog.following(commits=ordered, sessions=sessions, recent=(*catalog.recent, new.name)[-RECENT:])


def with_advances(catalog: Catalog, logs: Sequence[LogAdvance]) -> dict[str, int]:
    """Return the sessions after slots of some logs were committed. Raises `OvertakenError`."""
    sessions = dict(catalog.sessions)
    for log in logs:
        if sessions.get(log.session) != log.start:
            raise OvertakenError(log.session)
        if log.over:
            del sessions[log.session]
        else:
            sessions[log.session] = log.end
    return sessions


def newest_compaction(catalog: Catalog) -> str | None:
    """Return the name of the last compaction that counts; None if there is none."""
    return max((commit.name for commit in catalog.commits if number_of(commit.name)), key=number_of, default=None)


def read_catalog(content: bytes, address: str) -> Catalog:
    """Return the catalog in these bytes. Raises `StoreError`: S0104 for a newer format, S0402 if it is damaged."""
    try:
        catalog = Catalog.model_validate_json(content)
        unsealed(content)
    except ValueError as error:
        why = error.errors(include_url=False)[0]["msg"] if isinstance(error, ValidationError) else str(error)
        message = f"the catalog of `{address}` is unreadable ({why})"
        raise StoreError("S0402", message, "restore an earlier version of the object `catalog.json`") from error
    if catalog.format not in (CATALOG_FORMAT, MANIFEST_FORMAT):
        raise StoreError("S0104", f"the catalog of `{address}` has the format `{catalog.format}`", "update Tripos")
    return catalog


_PART_LIST = TypeAdapter(tuple[BucketPart, ...])


class PartGoneError(Exception):
    """Raised if an object of the catalog is missing: it was compacted, and the catalog that was read is outdated."""


def with_parts(objects: Objects, commit: CatalogCommit, parts: Sequence[BucketPart], serial: int) -> CatalogCommit:
    """Return a commit with these parts, after writing a manifest if there are many. Raises what `Objects.put`
    raises.
    """
    if len(parts) <= MOST_LISTED:
        return commit.model_copy(update={"parts": tuple(parts)})
    content = gzip.compress(_PART_LIST.dump_json(tuple(parts)), 1, mtime=0)
    name = f"{MANIFESTS}/{serial:012d}-{uuid.uuid4().hex}"
    objects.put(name, content)
    manifest = PartList(name=name, base=serial, sha256=hashlib.sha256(content).hexdigest())
    return commit.model_copy(update={"parts": (), "manifest": manifest})


def read_parts(objects: Objects, commit: CatalogCommit) -> tuple[BucketPart, ...]:
    """Return the parts of a commit. Raises `PartGoneError`, `StoreError` S0103 if the manifest was changed, and what
    `Objects.get` raises.
    """
    if commit.manifest is None:
        return commit.parts
    stored_object = objects.get(commit.manifest.name)
    if stored_object is None:
        raise PartGoneError(commit.manifest.name)
    try:
        if hashlib.sha256(stored_object.content).hexdigest() != commit.manifest.sha256:
            raise ValueError
        return _PART_LIST.validate_json(zlib.decompressobj(wbits=31).decompress(stored_object.content, MOST_BYTES))
    except (ValueError, ValidationError, zlib.error) as error:
        hint = "restore the object from a backup: its content is not that which was committed"
        raise StoreError("S0103", f"`{objects.address}/{commit.manifest.name}` was changed", hint) from error
