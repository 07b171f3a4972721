"""Inputs of a compilation: data readers, release finders and installed packages.

The compiler opens no file and no release. Its caller passes in a reader and a finder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Literal, Protocol

from tripos_compiler.errors import TriposError
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.entry_points import entry_points_by_name

if TYPE_CHECKING:  # 20 ms, for the few specs that name a function of a package
    from importlib.metadata import EntryPoint

RELEASE_REQUEST = re.compile(r"(?P<name>[^\W\d]\w*)@(?P<version>\d+(\.\d+){0,2}([-+][\w.]+)?)")
DIGEST = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True)
class ReleaseRequest:
    """Request for a release of a benchmark: name, full or partial version, and optionally its location (`place`) and
    the digest that it must have."""

    name: str
    version: str
    place: str | None = None
    sha256: str | None = None

    @property
    def text(self) -> str:
        """Notation of a spec: `edubench@1.2`."""
        return f"{self.name}@{self.version}"

    def fits(self, version: str) -> bool:
        """Return true if a version satisfies the request. A pre-release such as `1.2.0-rc1` must be requested by its
        full name.

        >>> ReleaseRequest("edubench", "1.2").fits("1.2.7"), ReleaseRequest("edubench", "1.2").fits("1.20.0")
        (True, False)
        >>> early = ReleaseRequest("edubench", "1.2.0-rc1")
        >>> ReleaseRequest("edubench", "1.2").fits("1.2.0-rc1"), early.fits("1.2.0-rc1")
        (False, True)
        """
        if self.version == version:
            return True
        return re.fullmatch(r"[\d.]+", version) is not None and version.startswith(f"{self.version}.")


def parse_release_request(text: str) -> ReleaseRequest | None:
    """Return the request written as `"edubench@1.2"`, or None if the text has another form.

    >>> parse_release_request("edubench@1.2")
    ReleaseRequest(name='edubench', version='1.2', place=None, sha256=None)
    >>> parse_release_request("edubench"), parse_release_request("edubench@latest")
    (None, None)
    """
    match = RELEASE_REQUEST.fullmatch(text)
    return None if match is None else ReleaseRequest(match["name"], match["version"])


@dataclass(frozen=True)
class ResolvedRelease:
    """Release whose files match its manifest. `folder` is the folder of the release, and `main` the path of the main
    file of its spec."""

    name: str
    version: str
    digest: str
    folder: str
    main: str
    languages: tuple[str, ...]
    data: frozenset[tuple[str, str]] = frozenset()
    """Path and SHA-256 of each data file from which its plan was compiled."""

    @property
    def title(self) -> str:
        """Name and version for people: `edubench 1.2.0`."""
        return f"{self.name} {self.version}"

    @property
    def label(self) -> str:
        """Name of its folder: `edubench-1.2.0`."""
        return f"{self.name}-{self.version}"

    def inside(self, path: str) -> str | None:
        """Return a path relative to the folder of the release, or None if it lies elsewhere.

        >>> found = ResolvedRelease("a", "1.0.0", "", "releases/a-1.0.0", "releases/a-1.0.0/spec/a.tripos", ("en",))
        >>> found.inside("releases/a-1.0.0/spec/words.py"), found.inside("words.py")
        ('spec/words.py', None)
        """
        whole = PurePosixPath(path)
        return whole.relative_to(self.folder).as_posix() if whole.is_relative_to(self.folder) else None


class UnfitRelease(TriposError):
    """A requested release is not available."""


class ReleaseFinder(Protocol):
    """Protocol that finds the releases that a spec extends."""

    def find(self, asked: ReleaseRequest, near: str) -> ResolvedRelease:
        """Return the release that a spec at path `near` requests: the highest version that satisfies the request.
        Raises `UnfitRelease` if there is none."""
        ...


class NoReleases:
    """Finder for specs that extend no release."""

    def find(self, asked: ReleaseRequest, near: str) -> ResolvedRelease:
        """Raise `UnfitRelease` for every request."""
        raise UnfitRelease("E0912", f"there is no release `{asked.text}`", "give its folder with --releases DIR")


GROUP = "tripos.functions"


class Packages:
    """Functions of installed packages, found through their entry points at first use. Nothing is imported."""

    @cached_property
    def entries(self) -> dict[str, tuple[EntryPoint, ...]]:
        """Entry points by the name that a spec uses; those of one package are listed once."""
        return entry_points_by_name(GROUP)


Origin = Literal["spec", "given", "shipped"]
"""Folder in which a data file was found: next to the spec, passed on the command line, or shipped with a benchmark."""


@dataclass(frozen=True)
class ResolvedFile:
    """Data file: its path below the folder in which it was found, and the `captures` from its name (`{language}`)."""

    path: str
    location: str
    sha256: str
    captures: Mapping[str, str]
    unpacked: str | None = None
    """SHA-256 of the content of a compressed file; None for other files."""
    origin: Origin = "spec"
    joined: tuple[JoinedFiles, ...] = ()
    """Files whose columns are added to its rows, in the order of the joins."""


@dataclass(frozen=True)
class JoinedFiles:
    """Files joined to the rows of another file: a row matches if its `column` equals their `other`. `columns` are the
    columns that are added."""

    files: tuple[ResolvedFile, ...]
    column: str
    other: str
    columns: tuple[str, ...]


class DataError(TriposError):
    """A data file cannot be found or read (E0307)."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__("E0307", message, hint)


class LocatedText(str):
    """Text of a document with the number of its line in the file, counted from 1.

    >>> name = LocatedText("Sets", 3)
    >>> name == "Sets", name.line
    (True, 3)
    """

    __slots__ = ("line",)
    line: int

    def __new__(cls, text: str, line: int) -> LocatedText:
        """Return the text with its line."""
        placed = super().__new__(cls, text)
        placed.line = line
        return placed


class DataReader(Protocol):
    """Protocol that finds and reads the data files of a spec."""

    def find(self, source: str, near: str) -> list[ResolvedFile]:
        """Return the files that match `source` for a spec at path `near`, in order. Raises `DataError`."""
        ...

    def rows(self, file: ResolvedFile) -> Iterator[dict[str, Any]]:
        """Yield the raw records of a file. Raises `DataError`."""
        ...

    def medium(self, file: ResolvedFile, kind: Any, value: Any) -> str:
        """Return the mark of the image, recording or file that a cell of a data file names or contains. Raises
        `UnfitMedium` of `library.media`."""
        ...

    def document(self, file: ResolvedFile) -> Any:
        """Return the value of a file that is a single JSON or YAML document. A mapping with a repeated key is returned
        as a list of mappings with one key each. Raises `DataError`."""
        ...

    def placed(self, file: ResolvedFile) -> Any:
        """Return the same as `document`, with each text a `LocatedText` if lines are known. This is slower and serves
        error messages. Raises `DataError`."""
        ...


class NoData:
    """Reader for specs without data files."""

    def find(self, source: str, near: str) -> list[ResolvedFile]:
        """Raise `DataError` for every source."""
        raise DataError(f"no data folder to look for `{source}` in", "give one with --data")

    def rows(self, file: ResolvedFile) -> Iterator[dict[str, Any]]:
        """Raise `DataError`: there are no data files."""
        raise DataError(f"cannot read `{file.path}`", "give a data folder with --data")

    def medium(self, file: ResolvedFile, kind: Any, value: Any) -> str:
        """Raise `DataError`: there are no data files."""
        raise DataError(f"cannot read `{value}`", "give a data folder with --data")

    def document(self, file: ResolvedFile) -> Any:
        """Raise `DataError`: there are no data files."""
        raise DataError(f"cannot read `{file.path}`", "give a data folder with --data")

    def placed(self, file: ResolvedFile) -> Any:
        """Raise `DataError`: there are no data files."""
        return self.document(file)
