"""The manifest of a release, the names in a release's folder, and the author's statements in `release.toml`.

The manifest lists every file by digest, and the manifest's own digest names the release. `release.toml` says what only
the publisher knows, such as which data may be copied.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from tripos.settings.environment import read_toml
from tripos.source_files import colliding_names, is_inside
from tripos_compiler.errors import TriposError
from tripos_compiler.plan import Canonical
from tripos_compiler.source.data_classes import dataclass

FORMAT: Literal["tripos.release/1"] = "tripos.release/1"
MANIFEST = "manifest.json"
CHECKSUM = "manifest.sha256"
"""The digest of the manifest, in the format of `sha256sum -c`."""
SIGNATURES = ("manifest.json.minisig", "manifest.json.sig")
"""Signatures of the manifest by minisign and by `ssh-keygen -Y sign`."""
UNLISTED = (MANIFEST, CHECKSUM, *SIGNATURES)
"""Files of a release that its manifest cannot list."""
RELEASES = "releases"
"""The folder for extended releases: next to a spec, and inside a release."""
HUB = "hf://"
"""Prefix of an address on the Hugging Face Hub."""
SPEC, DATA = "spec", "data"
"""Folders of a release: the spec with its files, and data files from elsewhere."""
MOST_FILES = 100_000
"""Maximum files of a release."""


Outcome = Literal["good", "wrong", "unchecked"]


@dataclass(frozen=True)
class ReleaseCheck:
    """The result of one check: its subject, such as a file, the outcome, and a reason if it is not good."""

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
        """Raise `ValueError` if the manifest names a file outside the release, or a file twice."""
        listed = [file.path for file in self.files]
        if len(set(listed)) < len(listed):
            raise ValueError("a file is named twice")
        if same := colliding_names([*listed, *UNLISTED]):
            raise ValueError(f"`{same[0]}` and `{same[1]}` are one file on some systems")
        for name in (self.main, *(item.path for item in self.items if item.path is not None)):
            if name not in listed:
                raise ValueError(f"`{name}` is none of its files")
        for name in listed:
            if not is_inside(name):
                raise ValueError(f"`{name}` is no path below the release")
        return self

    @property
    def name(self) -> str:
        """The name of the release, such as `edubench-1.2.0`."""
        return f"{self.benchmark}-{self.version}"

    def to_bytes(self) -> bytes:
        """Return the canonical bytes of the manifest (RFC 8785)."""
        return canonical(self.model_dump(mode="json"))


def parse_manifest(raw: bytes) -> Manifest:
    """Parse a manifest. Raises `ValueError` for an invalid one, and for a repeated key: one program would read its
    first value, another the last."""
    parse_strict_json(raw)
    return Manifest.model_validate_json(raw)


def manifest_fault(error: ValueError) -> str:
    """Return what is wrong with a manifest, and where."""
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors()[0]
    place = ".".join(map(str, first["loc"]))
    return f"`{place}`: {first['msg'].lower()}" if place else first["msg"].lower()


def parse_strict_json(raw: bytes) -> Any:
    """Parse JSON. Raises `ValueError` if it is invalid, too deeply nested, or repeats a key in an object.

    >>> parse_strict_json(b'{"a": 1, "a": 2}')
    Traceback (most recent call last):
    ValueError: the name `a` is repeated in one object
    """

    def checked(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            counts = Counter(name for name, _ in pairs)
            name = next(name for name, times in counts.items() if times > 1)
            raise ValueError(f"the name `{name}` is repeated in one object")
        return found

    try:
        return json.loads(raw, object_pairs_hook=checked)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def canonical(value: Any) -> bytes:
    """Return the canonical bytes of a JSON value (RFC 8785). Raises `ValueError` if it has none.

    >>> canonical({"b": 1.0, "a": "é"}).decode()
    '{"a":"é","b":1}'
    """
    import rfc8785

    return rfc8785.dumps(value)


def digest_of(manifest: bytes) -> str:
    """Return the digest that names a release: the SHA-256 of its manifest's bytes."""
    return hashlib.sha256(manifest).hexdigest()


def checksum_line(manifest: bytes) -> bytes:
    """Return the content of `manifest.sha256`.

    >>> checksum_line(b"{}").decode()[-18:]
    '8a  manifest.json\\n'
    """
    return f"{digest_of(manifest)}  {MANIFEST}\n".encode()


def set_digest(names: list[str]) -> str:
    """Return one SHA-256 of a set of texts, independent of their order.

    >>> set_digest(["b", "a"]) == set_digest(["a", "b"])
    True
    """
    return hashlib.sha256(canonical(sorted(names))).hexdigest()


def file_fault(folder: Path, name: str) -> str | None:
    """Return why a file of a release must not be read, or None."""
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        return "lies outside of the release"
    if path.is_symlink():
        return "is a link in the place of a file"
    if not path.exists():
        return "is missing"
    return None if path.is_file() else "is no file"  # reading a pipe would block


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file. Raises `OSError`."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def spec_digest(files: tuple[ReleasedFile, ...]) -> str:
    """Return the digest of a release's spec, from the paths and digests of all files below `spec/`."""
    return set_digest([f"{file.sha256} {file.path}" for file in files if file.path.startswith("spec/")])


# Statements of the publisher
OWN_LICENSE_PREFIX = "LicenseRef-"
"""Prefix of a licence that is not on the SPDX list."""

HUB_LICENSES = frozenset(
    """
    afl-3.0 agpl-3.0 apache-2.0 artistic-2.0 bsd-2-clause bsd-3-clause bsd-3-clause-clear bsl-1.0 cc-by-2.0
    cc-by-2.5 cc-by-3.0 cc-by-4.0 cc-by-nc-2.0 cc-by-nc-3.0 cc-by-nc-4.0 cc-by-nc-nd-3.0 cc-by-nc-nd-4.0 cc-by-nc-sa-2.0
    cc-by-nc-sa-3.0 cc-by-nc-sa-4.0 cc-by-nd-4.0 cc-by-sa-3.0 cc-by-sa-4.0 cc0-1.0 cdla-permissive-1.0
    cdla-permissive-2.0 cdla-sharing-1.0 ecl-2.0 epl-1.0 epl-2.0 etalab-2.0 eupl-1.1 eupl-1.2 isc lppl-1.3c mit mpl-2.0
    ms-pl ncsa ofl-1.1 osl-3.0 postgresql unlicense wtfpl zlib
    """.split()  # noqa: SIM905
)
"""The licences that the Hugging Face Hub accepts, under their SPDX names in lower case."""


def check_license(expression: str | None, what: str) -> str:
    """Return a licence as a normalized SPDX expression. Raises `TriposError` S0852 if it is missing or unknown to SPDX.

    >>> check_license("Apache-2.0 or mit", "the benchmark")
    'Apache-2.0 OR MIT'
    """
    if not expression:
        raise TriposError("S0852", f"{what} has no licence", 'say it in the spec, such as `license "CC-BY-4.0"`')
    from license_expression import get_spdx_licensing

    spdx = get_spdx_licensing()
    try:
        found = spdx.validate(expression)
        unknown = [
            invalid_symbol
            for invalid_symbol in found.invalid_symbols
            if not invalid_symbol.startswith(OWN_LICENSE_PREFIX)
        ]
        bad = bool(unknown) or (bool(found.errors) and not found.invalid_symbols)
    except AttributeError:  # the library raises this for an incomplete expression
        unknown, bad = [], True
    if bad:
        named = ", ".join(f"`{each}`" for each in unknown) or f"`{expression}`"
        hint = "use the names of spdx.org/licenses, joined with AND, OR and WITH; LicenseRef-NAME for one of your own"
        raise TriposError("S0852", f"the licence of {what} is no SPDX expression: {named}", hint)
    return str(spdx.parse(expression).render())


RELEASE_TOML = "release.toml"


class DataTerms(BaseModel):
    """The terms of a third party's data file: an SPDX expression, its source, and whether the release may contain a
    copy."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    license: str | None = None
    source: str | None = None
    copy_it: bool = False


class ReleaseTerms(BaseModel):
    """The terms of an extended release: whether it may be copied, and another source of it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    copy_it: bool = True
    source: str | None = None


class ArtefactTerms(BaseModel):
    """The terms of a model that fills a scorer's role: its folder, relative to the spec, or its digest; its source; its
    licence as an SPDX expression; and whether the release contains a copy."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str | None = None
    digest: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None
    source: str | None = None
    license: str | None = None
    copy_it: bool = True


class ResponsibleUse(BaseModel):
    """Statements on the origin and use of the data, under the terms of Croissant RAI 1.0. Each is one text or
    several.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    data_collection: str | None = None
    data_collection_type: tuple[str, ...] = ()
    data_collection_missing_data: str | None = None
    data_collection_raw_data: str | None = None
    data_imputation_protocol: str | None = None
    data_preprocessing_protocol: tuple[str, ...] = ()
    data_annotation_protocol: tuple[str, ...] = ()
    data_annotation_platform: tuple[str, ...] = ()
    data_annotation_analysis: tuple[str, ...] = ()
    annotations_per_item: str | None = None
    annotator_demographics: tuple[str, ...] = ()
    machine_annotation_tools: tuple[str, ...] = ()
    data_biases: tuple[str, ...] = ()
    data_use_cases: tuple[str, ...] = ()
    data_social_impact: str | None = None
    personal_sensitive_information: tuple[str, ...] = ()
    data_release_maintenance_plan: str | None = None

    @property
    def said(self) -> dict[str, str | list[str]]:
        """The fields that are filled in."""
        given = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: list(each) if isinstance(each, tuple) else each for name, each in given.items() if each}


class CitationAuthor(BaseModel):
    """An author: a person with family and given names, or an organization with a name."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    family_names: str | None = None
    given_names: str | None = None
    name: str | None = None
    orcid: Annotated[str, Field(pattern=r"^https://orcid\.org/\d{4}-\d{4}-\d{4}-\d{3}[\dX]$")] | None = None
    affiliation: str | None = None

    @model_validator(mode="after")
    def _named(self) -> CitationAuthor:
        if (self.name is None) == (self.family_names is None):
            raise ValueError("an author has `family_names`, or an organisation a `name`")
        return self


class CitationTerms(BaseModel):
    """The citation of a benchmark: its authors, and optionally a DOI and an address."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    authors: Annotated[tuple[CitationAuthor, ...], Field(min_length=1)]
    doi: Annotated[str, Field(pattern=r"^10\.\d{4,9}(\.\d+)?/[A-Za-z0-9:/_;\-\.\(\)\[\]]+$")] | None = None
    url: Annotated[str, Field(pattern=r"^https?://\S+$")] | None = None


class ReleaseToml(BaseModel):
    """The content of `release.toml`. All fields are optional. `data` is keyed by path as in the spec, `releases` by
    `NAME-VERSION`, and `artefacts` by role."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    measures: str | None = None
    limits: tuple[str, ...] = ()
    baselines: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    license_file: str | None = None
    rai: ResponsibleUse = ResponsibleUse()
    citation: CitationTerms | None = None
    data: dict[str, DataTerms] = {}
    releases: dict[str, ReleaseTerms] = {}
    artefacts: dict[str, ArtefactTerms] = {}


def read_release_toml(folder: Path) -> ReleaseToml:
    """Return the `release.toml` of a spec's folder, or its defaults if there is none. Raises `TriposError` R0203 if it
    is invalid."""
    path = folder / RELEASE_TOML
    if not path.exists():
        return ReleaseToml()
    try:
        _, table = read_toml(path)
        tables = [each for of in ("data", "releases", "artefacts") if isinstance(each := table.get(of), dict)]
        for terms in [each for named in tables for each in named.values()]:
            if isinstance(terms, dict) and "copy" in terms:
                terms["copy_it"] = terms.pop("copy")
        return ReleaseToml.model_validate(table)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])).replace("copy_it", "copy")
        raise TriposError(
            "R0203", f"{path}: `{place}`: {first['msg'].lower()}", "see docs/how-to/publish-a-release.md"
        ) from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, TypeError) as error:
        raise TriposError("R0203", f"cannot read {path}: {error}", "fix the file; it is TOML in UTF-8") from error
