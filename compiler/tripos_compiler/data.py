"""What the compiler asks of data files. It opens none itself: whoever calls it hands it a reader."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

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


class DataError(Exception):
    """A data file cannot be found or read. `help` says how to mend it."""

    def __init__(self, message: str, help: str) -> None:
        super().__init__(message)
        self.message = message
        self.help = help


class Placed(str):
    """A text of a document that knows the line, from 1, on which it stands in its file.

    >>> name = Placed("Sets", 3)
    >>> name == "Sets", name.line
    (True, 3)
    """

    __slots__ = ("line",)
    line: int

    def __new__(cls, text: str, line: int) -> Placed:
        """The text with its line."""
        placed = super().__new__(cls, text)
        placed.line = line
        return placed


class DataReader(Protocol):
    """Finds and reads the data files of a spec."""

    def find(self, source: str, near: str) -> list[FoundFile]:
        """The files that a spec at path `near` means by `source`, in order. Raises `DataError`."""
        ...

    def rows(self, file: FoundFile) -> Iterator[dict[str, Any]]:
        """The raw records of a file. Raises `DataError`."""
        ...

    def document(self, file: FoundFile) -> Any:
        """What a file that is one JSON or YAML value says. A mapping in which a name stands twice comes as a list of
        mappings of one name each. Raises `DataError`."""
        ...

    def placed(self, file: FoundFile) -> Any:
        """As `document`, and every text is `Placed` where the lines can be told: slower, for what is wrong in a file.
        Raises `DataError`."""
        ...


class NoData:
    """A reader for specs that have no data files."""

    def find(self, source: str, near: str) -> list[FoundFile]:
        """Always raises `DataError`."""
        raise DataError(f"no data folder to look for `{source}` in", "give one with --data")

    def rows(self, file: FoundFile) -> Iterator[dict[str, Any]]:
        """Always raises `DataError`."""
        raise DataError(f"cannot read `{file.path}`", "give a data folder with --data")

    def document(self, file: FoundFile) -> Any:
        """Always raises `DataError`."""
        raise DataError(f"cannot read `{file.path}`", "give a data folder with --data")

    def placed(self, file: FoundFile) -> Any:
        """Always raises `DataError`."""
        return self.document(file)
