"""Inputs of a compilation: data readers, release finders and installed packages.

The compiler opens no file and no release itself: its caller hands it a reader and a finder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Literal, Protocol

from tripos_compiler.source.data_classes import dataclass

if TYPE_CHECKING:  # 20 ms, for the few specs that name a function of a package
    from importlib.metadata import EntryPoint

ASKED = re.compile(r"(?P<name>[^\W\d]\w*)@(?P<version>\d+(\.\d+){0,2}([-+][\w.]+)?)")
DIGEST = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True)
class ReleaseRequest:
    """A request for a release: a benchmark, the version or the first numbers of it, where it says that it lies, and the
    digest that it must have."""

    name: str
    version: str
    place: str | None = None
    sha256: str | None = None

    @property
    def text(self) -> str:
        """As a spec has it: `edubench@1.2`."""
        return f"{self.name}@{self.version}"

    def fits(self, version: str) -> bool:
        """Return true if a version is one of those that are asked for. An early one, such as `1.2.0-rc1`, must be
        named.

        >>> ReleaseRequest("edubench", "1.2").fits("1.2.7"), ReleaseRequest("edubench", "1.2").fits("1.20.0")
        (True, False)
        >>> early = ReleaseRequest("edubench", "1.2.0-rc1")
        >>> ReleaseRequest("edubench", "1.2").fits("1.2.0-rc1"), early.fits("1.2.0-rc1")
        (False, True)
        """
        if self.version == version:
            return True
        return re.fullmatch(r"[\d.]+", version) is not None and version.startswith(f"{self.version}.")


def read_asked(text: str) -> ReleaseRequest | None:
    """Return what `"edubench@1.2"` asks for; None where it is not written so.

    >>> read_asked("edubench@1.2")
    ReleaseRequest(name='edubench', version='1.2', place=None, sha256=None)
    >>> read_asked("edubench"), read_asked("edubench@latest")
    (None, None)
    """
    found = ASKED.fullmatch(text)
    return None if found is None else ReleaseRequest(found["name"], found["version"])


@dataclass(frozen=True)
class FoundRelease:
    """A release that was found, whose files are those that its manifest says. `folder` holds it; `main` is the path of
    its spec's main file, as a spec file is read by."""

    name: str
    version: str
    digest: str
    folder: str
    main: str
    languages: tuple[str, ...]
    data: frozenset[tuple[str, str]] = frozenset()
    """The data files that its plan was compiled from: path and SHA-256."""

    @property
    def title(self) -> str:
        """In words: `edubench 1.2.0`."""
        return f"{self.name} {self.version}"

    @property
    def label(self) -> str:
        """As its folder is called: `edubench-1.2.0`."""
        return f"{self.name}-{self.version}"

    def inside(self, path: str) -> str | None:
        """Return a path as seen from its folder; None where it lies elsewhere.

        >>> found = FoundRelease("a", "1.0.0", "", "releases/a-1.0.0", "releases/a-1.0.0/spec/a.tripos", ("en",))
        >>> found.inside("releases/a-1.0.0/spec/words.py"), found.inside("words.py")
        ('spec/words.py', None)
        """
        whole = PurePosixPath(path)
        return whole.relative_to(self.folder).as_posix() if whole.is_relative_to(self.folder) else None


class UnfitRelease(Exception):
    """A release cannot be had as it is asked for. `help` says how to mend it."""

    def __init__(self, code: str, message: str, help: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.help = help


class ReleaseFinder(Protocol):
    """Finds the releases that a spec extends."""

    def find(self, asked: ReleaseRequest, near: str) -> FoundRelease:
        """Return the release that a spec at path `near` asks for: of those that fit, the highest version. Raises
        `UnfitRelease`."""
        ...


class NoReleases:
    """A finder for specs that extend no release."""

    def find(self, asked: ReleaseRequest, near: str) -> FoundRelease:
        """Always raises `UnfitRelease`."""
        raise UnfitRelease("E0912", f"there is no release `{asked.text}`", "give its folder with --releases DIR")


GROUP = "tripos.functions"


class Packages:
    """The functions of installed packages. They are looked for when the first is, and nothing is imported."""

    @cached_property
    def entries(self) -> dict[str, tuple[EntryPoint, ...]]:
        """The entry points by the name that a spec uses, those of each package once."""
        from importlib.metadata import entry_points

        found: dict[str, tuple[EntryPoint, ...]] = {}
        for entry in sorted(entry_points(group=GROUP), key=package_of):
            same = found.get(entry.name, ())
            if all(package_of(entry) != package_of(other) for other in same):  # the path may lead to it twice
                found[entry.name] = (*same, entry)
        return found


def package_of(entry: EntryPoint) -> str:
    """Return the name of the package that an entry point belongs to."""
    return entry.dist.name if entry.dist is not None else entry.module


Origin = Literal["spec", "given", "shipped"]
"""Where a data file was found: beside the spec, in a folder that was given, or among what ships with a benchmark."""


@dataclass(frozen=True)
class FoundFile:
    """A data file: its path below the folder in which it was found, and what its name says (`{language}`)."""

    path: str
    location: str
    sha256: str
    captures: Mapping[str, str]
    unpacked: str | None = None
    """The SHA-256 of what a compressed file holds; None of any other."""
    origin: Origin = "spec"
    joined: tuple[JoinedFiles, ...] = ()
    """The files whose columns its rows get, in the order in which they are joined."""


@dataclass(frozen=True)
class JoinedFiles:
    """Files whose rows are found by the value of a column: what stands in `column` of a row stands in `other` of
    theirs. `columns` are those that are taken of them."""

    files: tuple[FoundFile, ...]
    column: str
    other: str
    columns: tuple[str, ...]


class DataError(Exception):
    """A data file cannot be found or read. `help` says how to mend it."""

    def __init__(self, message: str, help: str) -> None:
        super().__init__(message)
        self.message = message
        self.help = help


class LocatedText(str):
    """A text of a document that knows the line, from 1, on which it stands in its file.

    >>> name = LocatedText("Sets", 3)
    >>> name == "Sets", name.line
    (True, 3)
    """

    __slots__ = ("line",)
    line: int

    def __new__(cls, text: str, line: int) -> LocatedText:
        """The text with its line."""
        placed = super().__new__(cls, text)
        placed.line = line
        return placed


class DataReader(Protocol):
    """Finds and reads the data files of a spec."""

    def find(self, source: str, near: str) -> list[FoundFile]:
        """Return the files that a spec at path `near` means by `source`, in order. Raises `DataError`."""
        ...

    def rows(self, file: FoundFile) -> Iterator[dict[str, Any]]:
        """Return the raw records of a file. Raises `DataError`."""
        ...

    def medium(self, file: FoundFile, kind: Any, value: Any) -> str:
        """Return the mark of the image, recording or file that a cell of a data file names or holds. Raises
        `UnfitMedium` of `language`."""
        ...

    def document(self, file: FoundFile) -> Any:
        """Return what a file that is one JSON or YAML value says. A mapping in which a name stands twice comes as a
        list of mappings of one name each. Raises `DataError`."""
        ...

    def placed(self, file: FoundFile) -> Any:
        """As `document`, and every text is `LocatedText` where the lines can be told: slower, for what is wrong in a
        file. Raises `DataError`."""
        ...


class NoData:
    """A reader for specs that have no data files."""

    def find(self, source: str, near: str) -> list[FoundFile]:
        """Always raises `DataError`."""
        raise DataError(f"no data folder to look for `{source}` in", "give one with --data")

    def rows(self, file: FoundFile) -> Iterator[dict[str, Any]]:
        """Always raises `DataError`."""
        raise DataError(f"cannot read `{file.path}`", "give a data folder with --data")

    def medium(self, file: FoundFile, kind: Any, value: Any) -> str:
        """Always raises `DataError`."""
        raise DataError(f"cannot read `{value}`", "give a data folder with --data")

    def document(self, file: FoundFile) -> Any:
        """Always raises `DataError`."""
        raise DataError(f"cannot read `{file.path}`", "give a data folder with --data")

    def placed(self, file: FoundFile) -> Any:
        """Always raises `DataError`."""
        return self.document(file)
