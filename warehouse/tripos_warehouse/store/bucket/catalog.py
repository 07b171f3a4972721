"""The catalog: the one object that says which parts count, and up to which slot each log is in them.

Who changes it writes a new one on the condition that nobody else has since the one that was read. `serial` counts the
changes. The name of a part says at which serial it was made, and `floor` is a serial: no part of an earlier one may
be listed any more, so that garbage collection may remove those that are not.

The parts of a commit that has many are listed in a *manifest*, an object of its own, so that the catalog stays small.
It is written once, under the rules of parts.
"""

from __future__ import annotations

import gzip
import hashlib
import uuid
import zlib
from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from tripos_compiler.source import dataclass
from tripos_warehouse.errors import StoreError
from tripos_warehouse.store.bucket.objects import Objects
from tripos_warehouse.store.commits import CHECKPOINT, ParquetPart, number_of
from tripos_warehouse.store.digests import sealed, unsealed
from tripos_warehouse.store.folders import part_path

CATALOG = "catalog.json"
CATALOG_FORMAT = "tripos.catalog/1"
MANIFEST_FORMAT = "tripos.catalog/2"
"""The format of a catalog with a manifest. Whoever knows it not must stop: it would lose the parts that it lists."""
MANIFESTS = "manifests"
MOST_LISTED = 512
"""A commit of more parts has a manifest."""
MOST_BYTES = 2**28
RECENT = 256
"""So many names of commits are remembered after a compaction replaced them: a writer who does not know whether its
change landed finds the name there."""

_Count = Annotated[int, Field(ge=0, lt=2**63)]
_Name = Annotated[str, Field(pattern=r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,199}\z")]
_STRICT = ConfigDict(strict=True, frozen=True)


class BucketPart(BaseModel):
    """A part: its path in a folder, the serial at which it was made, and the SHA-256 of its content."""

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
    """The object that lists the parts of a commit, the serial at which it was made, and the SHA-256 of its content."""

    model_config = _STRICT
    name: Annotated[str, Field(pattern=rf"\A{MANIFESTS}/[0-9]{{12}}-[0-9a-f]{{32}}\z")]
    base: _Count
    sha256: Annotated[str, Field(pattern=r"\A[0-9a-f]{64}\z")]


class CatalogCommit(BaseModel):
    """A commit that counts. Its parts are listed here, or in its manifest."""

    model_config = _STRICT
    name: _Name
    written_at: AwareDatetime
    parts: tuple[BucketPart, ...] = ()
    manifest: PartList | None = None


class Catalog(BaseModel):
    """The catalog. `sessions` has the workers that may still write, each with the first slot that is in no part."""

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
        """Return true if so many commits are listed that one should list their parts."""
        return sum(not number_of(commit.name) for commit in self.commits) >= CHECKPOINT

    def has(self, name: str) -> bool:
        """Return true if a commit was made under that name, as far as it is remembered."""
        return name in self.recent or any(commit.name == name for commit in self.commits)

    def has_landed(self, new: CatalogCommit) -> bool:
        """Return true if a commit was made, and not another one of its name: two machines may give a compaction the
        same number. One of a compaction that was replaced since is not known any more, and is taken for lost."""
        listed = next((commit for commit in self.commits if commit.name == new.name), None)
        if listed is not None:
            return (listed.parts, listed.manifest) == (new.parts, new.manifest)
        return not number_of(new.name) and new.name in self.recent


@dataclass(frozen=True)
class LogAdvance:
    """The slots of a log that a commit takes in: from `start`, which must be the first that is in no part, up to and
    without `end`. `over`: nothing can follow in this log."""

    session: str
    start: int
    end: int
    over: bool = False


class OvertakenError(Exception):
    """A change that is of no use any more: somebody else has committed or compacted the same."""


class OldBaseError(Exception):
    """A part that was made before the floor, and must be written under a new name."""


def with_commit(
    catalog: Catalog, new: CatalogCommit, replaces: tuple[str, ...], logs: Sequence[LogAdvance], made: int | None
) -> Catalog:
    """Return the catalog with a commit more, of which the objects that no replaced commit lists were made at the serial
    `made`; None where there are none. Raises `OvertakenError`, `OldBaseError`."""
    gone, there = set(replaces), {commit.name for commit in catalog.commits}
    if not gone <= there or new.name in there:
        raise OvertakenError(new.name)
    if made is not None and made < catalog.floor:
        raise OldBaseError(new.name)
    sessions = with_advances(catalog, logs)
    if not replaces and catalog.commits:  # it counts after all that are there, whatever the clock of its machine says
        after = catalog.commits[-1].written_at + timedelta(microseconds=1)
        new = new.model_copy(update={"written_at": max(new.written_at, after)})
    commits = (*(commit for commit in catalog.commits if commit.name not in gone), new)
    ordered = tuple(sorted(commits, key=lambda commit: (commit.written_at, commit.name)))
    return catalog.following(commits=ordered, sessions=sessions, recent=(*catalog.recent, new.name)[-RECENT:])


def with_advances(catalog: Catalog, logs: Sequence[LogAdvance]) -> dict[str, int]:
    """Return the sessions after the slots of some logs are in parts. Raises `OvertakenError`."""
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
    """Return the name of the last compaction that counts."""
    return max((each.name for each in catalog.commits if number_of(each.name)), key=number_of, default=None)


def read_catalog(content: bytes, address: str) -> Catalog:
    """Return the catalog of these bytes. Raises `StoreError`: S0104 of a newer format, S0402 where it is damaged."""
    try:
        found = Catalog.model_validate_json(content)
        unsealed(content)
    except ValueError as error:
        why = error.errors(include_url=False)[0]["msg"] if isinstance(error, ValidationError) else str(error)
        message = f"the catalog of `{address}` is unreadable ({why})"
        raise StoreError("S0402", message, "restore an earlier version of the object `catalog.json`") from error
    if found.format not in (CATALOG_FORMAT, MANIFEST_FORMAT):
        raise StoreError("S0104", f"the catalog of `{address}` has the format `{found.format}`", "update Tripos")
    return found


_PART_LIST = TypeAdapter(tuple[BucketPart, ...])


class PartGoneError(Exception):
    """An object that the catalog listed is not there: it was compacted, and the catalog is an old one."""


def listed(objects: Objects, commit: CatalogCommit, parts: Sequence[BucketPart], serial: int) -> CatalogCommit:
    """Return a commit that lists these parts, after its manifest was written where it needs one. Raises what
    `Objects.put` does."""
    if len(parts) <= MOST_LISTED:
        return commit.model_copy(update={"parts": tuple(parts)})
    content = gzip.compress(_PART_LIST.dump_json(tuple(parts)), 1, mtime=0)
    name = f"{MANIFESTS}/{serial:012d}-{uuid.uuid4().hex}"
    objects.put(name, content)
    manifest = PartList(name=name, base=serial, sha256=hashlib.sha256(content).hexdigest())
    return commit.model_copy(update={"parts": (), "manifest": manifest})


def parts_of(objects: Objects, commit: CatalogCommit) -> tuple[BucketPart, ...]:
    """Return the parts of a commit. Raises `PartGoneError`, `StoreError` S0103 where the manifest was changed, and what
    `Objects.get` does."""
    if commit.manifest is None:
        return commit.parts
    held = objects.get(commit.manifest.name)
    if held is None:
        raise PartGoneError(commit.manifest.name)
    try:
        if hashlib.sha256(held.content).hexdigest() != commit.manifest.sha256:
            raise ValueError
        return _PART_LIST.validate_json(zlib.decompressobj(wbits=31).decompress(held.content, MOST_BYTES))
    except (ValueError, ValidationError, zlib.error) as error:
        hint = "restore the object from a backup: its content is not that which was committed"
        raise StoreError("S0103", f"`{objects.address}/{commit.manifest.name}` was changed", hint) from error
