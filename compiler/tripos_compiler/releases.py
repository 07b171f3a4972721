"""What the compiler asks of releases that a spec extends. It opens none itself: whoever calls it hands it a finder."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Protocol

ASKED = re.compile(r"(?P<name>[^\W\d]\w*)@(?P<version>\d+(\.\d+){0,2}([-+][\w.]+)?)")
DIGEST = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True)
class Asked:
    """What a spec asks for: a benchmark, the version or the first numbers of it, where it says that it lies, and the
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
        """Whether a version is one of those that are asked for. An early one, such as `1.2.0-rc1`, must be named.

        >>> Asked("edubench", "1.2").fits("1.2.7"), Asked("edubench", "1.2").fits("1.20.0")
        (True, False)
        >>> Asked("edubench", "1.2").fits("1.2.0-rc1"), Asked("edubench", "1.2.0-rc1").fits("1.2.0-rc1")
        (False, True)
        """
        if self.version == version:
            return True
        return re.fullmatch(r"[\d.]+", version) is not None and version.startswith(f"{self.version}.")


def read_asked(text: str) -> Asked | None:
    """What `"edubench@1.2"` asks for; None where it is not written so.

    >>> read_asked("edubench@1.2")
    Asked(name='edubench', version='1.2', place=None, sha256=None)
    >>> read_asked("edubench"), read_asked("edubench@latest")
    (None, None)
    """
    found = ASKED.fullmatch(text)
    return None if found is None else Asked(found["name"], found["version"])


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
        """A path as seen from its folder; None where it lies elsewhere.

        >>> found = FoundRelease("a", "1.0.0", "", "releases/a-1.0.0", "releases/a-1.0.0/spec/a.tripos", ("en",))
        >>> found.inside("releases/a-1.0.0/spec/words.py"), found.inside("words.py")
        ('spec/words.py', None)
        """
        whole = PurePosixPath(path)
        return whole.relative_to(self.folder).as_posix() if whole.is_relative_to(self.folder) else None


class ReleaseError(Exception):
    """A release cannot be had as it is asked for. `help` says how to mend it."""

    def __init__(self, code: str, message: str, help: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.help = help


class ReleaseFinder(Protocol):
    """Finds the releases that a spec extends."""

    def find(self, asked: Asked, near: str) -> FoundRelease:
        """The release that a spec at path `near` asks for: of those that fit, the highest version. Raises
        `ReleaseError`."""
        ...


class NoReleases:
    """A finder for specs that extend no release."""

    def find(self, asked: Asked, near: str) -> FoundRelease:
        """Always raises `ReleaseError`."""
        raise ReleaseError("E0912", f"there is no release `{asked.text}`", "give its folder with --releases DIR")
