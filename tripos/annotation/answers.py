"""What a person gave, as it stands in their file: cells with an address, before anything is checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Entry:
    """A grade as it was entered. `address` says where: `Grades!F7` in a sheet, `line 12` in the file of the page."""

    row: str
    metric: str
    value: Any
    address: str


@dataclass(frozen=True)
class Answers:
    """A file that came back. `rows` are the rows that it has, with the address of each; a row that stands there twice
    is in `twice`."""

    batch: str
    rows: dict[str, str]
    entries: tuple[Entry, ...]
    rationales: dict[str, str]
    twice: tuple[tuple[str, str], ...] = ()
