"""The manifest of a release: what lies in it, by digest, and what it stands for. Its own digest names the release."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, model_validator

from tripos.releases.layout import FORMAT, MANIFEST, UNLISTED
from tripos.settings import collisions, is_inside
from tripos_compiler.plan import Canonical
from tripos_compiler.source import dataclass

Outcome = Literal["good", "wrong", "unchecked"]


@dataclass(frozen=True)
class ReleaseCheck:
    """One thing that was looked at: `what`, such as a file, how it stands, and what is wrong or why nobody looked."""

    what: str
    outcome: Outcome
    told: str = ""


Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class ReleasedFile(Canonical):
    """A file below the release's folder; `rows` where it is data."""

    path: str
    sha256: Digest
    bytes: int
    rows: int | None = None


class ExternalFile(Canonical):
    """A data file that the benchmark needs and the release does not hold: where a spec looks for it, and what it
    must be."""

    path: str
    source: str
    sha256: Digest
    rows: int | None = None
    license: str | None = None


class ReleasedItems(Canonical):
    """The items of a scenario: how many, a digest of them all in any order, and the file where they can be read, if
    their text may be published."""

    scenario: str
    rows: int
    digest: Digest
    path: str | None = None
    withheld: tuple[str, ...] = ()
    """The ids of items whose text is in no file of the release; an id is a digest of what the item says."""


class ReleasedArtefact(Canonical):
    """A model that fills the role of a scorer: its digest, as `reward/FOLDER@DIGEST` has it, and the folder of the
    release that holds its files, if one does."""

    role: str
    digest: Digest
    path: str | None = None
    bytes: int | None = None
    """The size of those files together."""
    source: str | None = None
    license: str | None = None


class Parent(Canonical):
    """The release that this one follows."""

    version: str
    digest: Digest


class ExtendedRelease(Canonical):
    """A release of another benchmark that this one extends. Its folder is at `path`, or is held by the release
    `within`; where it is neither, it may not be copied and is had from `source`."""

    name: str
    version: str
    digest: Digest
    license: str
    path: str | None = None
    within: str | None = None
    source: str | None = None


class Manifest(Canonical):
    """The manifest of a release. Everything in it follows from what was released, so that the same input makes the same
    bytes: no clock, no machine, no user."""

    format: Literal["tripos.release/1"] = FORMAT
    benchmark: str
    version: str
    title: str
    license: str
    languages: tuple[str, ...]
    cites: tuple[str, ...] = ()
    tool: str
    main: str
    """The spec's main file."""
    plan: Digest
    """`Plan.digest`."""
    spec: Digest
    """Of the paths and digests of the spec's own files."""
    parent: Parent | None = None
    extends: tuple[ExtendedRelease, ...] = ()
    canary: str
    items: tuple[ReleasedItems, ...]
    external: tuple[ExternalFile, ...] = ()
    artefacts: tuple[ReleasedArtefact, ...] = ()
    files: tuple[ReleasedFile, ...]

    @model_validator(mode="after")
    def _names_its_own_files(self) -> Manifest:
        """Nothing that is read of a release lies outside of it."""
        listed = [each.path for each in self.files]
        if len(set(listed)) < len(listed):
            raise ValueError("a file is named twice")
        if same := collisions([*listed, *UNLISTED]):
            raise ValueError(f"`{same[0]}` and `{same[1]}` are one file on some systems")
        for name in (self.main, *(each.path for each in self.items if each.path is not None)):
            if name not in listed:
                raise ValueError(f"`{name}` is none of its files")
        for name in listed:
            if not is_inside(name):
                raise ValueError(f"`{name}` is no path below the release")
        return self

    @property
    def name(self) -> str:
        """`edubench-1.2.0`."""
        return f"{self.benchmark}-{self.version}"

    def to_bytes(self) -> bytes:
        """Return the manifest as RFC 8785 writes it: one byte form of one content."""
        return canonical(self.model_dump(mode="json"))


def parse_manifest(raw: bytes) -> Manifest:
    """Return the manifest that JSON says. Raises `ValueError` for what is none, and for a name that stands twice: one
    program would read the first, another the last."""
    parse_once(raw)
    return Manifest.model_validate_json(raw)


def manifest_fault(error: ValueError) -> str:
    """Return what is wrong with a manifest, in words, with the place of it."""
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors()[0]
    place = ".".join(map(str, first["loc"]))
    return f"`{place}`: {first['msg'].lower()}" if place else first["msg"].lower()


def parse_once(raw: bytes) -> Any:
    """Return what JSON says. Raises `ValueError` for what is none, is nested too deeply, or has a name twice in one
    object.

    >>> parse_once(b'{"a": 1, "a": 2}')
    Traceback (most recent call last):
    ValueError: the name `a` stands twice in one object
    """

    def checked(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            counts = Counter(name for name, _ in pairs)
            name = next(name for name, times in counts.items() if times > 1)
            raise ValueError(f"the name `{name}` stands twice in one object")
        return found

    try:
        return json.loads(raw, object_pairs_hook=checked)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def canonical(value: Any) -> bytes:
    """Return the form that RFC 8785 gives a JSON value. Raises `ValueError` for what it has no form for.

    >>> canonical({"b": 1.0, "a": "é"}).decode()
    '{"a":"é","b":1}'
    """
    import rfc8785

    return rfc8785.dumps(value)


def digest_of(manifest: bytes) -> str:
    """Return the digest that names a release: SHA-256 of its manifest's bytes."""
    return hashlib.sha256(manifest).hexdigest()


def checksum_line(manifest: bytes) -> bytes:
    """Return what `manifest.sha256` says.

    >>> checksum_line(b"{}").decode()[-18:]
    '8a  manifest.json\\n'
    """
    return f"{digest_of(manifest)}  {MANIFEST}\n".encode()


def list_digest(names: list[str]) -> str:
    """Return one SHA-256 of many texts, in whatever order they come.

    >>> list_digest(["b", "a"]) == list_digest(["a", "b"])
    True
    """
    return hashlib.sha256(canonical(sorted(names))).hexdigest()


def file_fault(folder: Path, name: str) -> str | None:
    """Return why a file of a release is none that may be read; None where it is one."""
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        return "lies outside of the release"
    if path.is_symlink():
        return "is a link in the place of a file"
    if not path.exists():
        return "is missing"
    return None if path.is_file() else "is no file"  # a pipe would be waited for


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file's bytes. Raises `OSError`."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def spec_digest(files: tuple[ReleasedFile, ...]) -> str:
    """Return the digest of a release's spec: of the paths and digests of all files below `spec/`."""
    return list_digest([f"{each.sha256} {each.path}" for each in files if each.path.startswith("spec/")])
