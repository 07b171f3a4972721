"""What the compiler asks of data files. It opens none itself: whoever calls it hands it a reader."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class FoundFile:
    """A data file: its path below the folder in which it was found, and what its name says (`{language}`)."""

    path: str
    location: str
    sha256: str
    captures: Mapping[str, str]


class DataError(Exception):
    """A data file cannot be found or read. `help` says how to mend it."""

    def __init__(self, message: str, help: str) -> None:
        super().__init__(message)
        self.message = message
        self.help = help


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
