"""The generated rows of a run, stored in temporary files, and the reasons for rejected attempts.

The author is the model that writes the rows. Its notes before the next attempt are fixed texts. They name no row, no
condition and nothing that another role said, so a secret that only a reviewer saw cannot reach the author this way."""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any, Final, Literal

from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.inputs import DataError


@dataclass(frozen=True, slots=True)
class Origins:
    """How a row was made: by which author (`None` if no model was asked), in which attempt (counted from 1), and why
    the earlier attempts were rejected."""

    written_by: str | None
    attempts: int
    rejections: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class GeneratedRow:
    """A row, and the place of its slot in the data set, from 0."""

    place: int
    values: Mapping[str, Any]
    origins: Origins


class RowFile:
    """Rows in a temporary file that ends with the process; memory holds 16 bytes per row.

    >>> rows = RowFile()
    >>> rows.add(GeneratedRow(1, {"n": 2}, Origins(None, 1)))
    >>> rows.add(GeneratedRow(0, {"n": 1}, Origins(None, 1)))
    >>> [row.values for row in rows], len(rows)
    ([{'n': 1}, {'n': 2}], 2)
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  # it is open as long as its rows are read
        self._offsets: dict[int, int] = {}
        self._end = 0

    def __len__(self) -> int:
        return len(self._offsets)

    def add(self, row: GeneratedRow) -> None:
        """Add a row; its place must be new."""
        content = pickle.dumps((row.place, row.values, row.origins), pickle.HIGHEST_PROTOCOL)
        self._file.seek(self._end)
        self._file.write(len(content).to_bytes(8, "big") + content)
        self._offsets[row.place] = self._end
        self._end += 8 + len(content)

    def __iter__(self) -> Iterator[GeneratedRow]:
        """Yield the rows in the order of their places."""
        for place in sorted(self._offsets):
            yield self[place]

    def __contains__(self, place: int) -> bool:
        return place in self._offsets

    def __getitem__(self, place: int) -> GeneratedRow:
        """Return the row at that place. Raises `KeyError` if there is none."""
        self._file.flush()
        offset, descriptor = self._offsets[place], self._file.fileno()
        size = int.from_bytes(os.pread(descriptor, 8, offset), "big")
        return GeneratedRow(*pickle.loads(os.pread(descriptor, size, offset + 8)))


@dataclass
class GeneratedData:
    """The rows of every generated data set by its name; the `chosen` places that a scenario runs over, by its name, if
    not all; and the `frozen` data sets, whose rows existed before the run, so that it generates none."""

    rows: dict[str, RowFile] = field(default_factory=dict)
    chosen: dict[str, frozenset[int]] = field(default_factory=dict)
    frozen: set[str] = field(default_factory=set)

    def of(self, dataset: str, scenario: str | None = None) -> Iterator[GeneratedRow]:
        """Yield the rows of a data set, or those that a scenario runs over. Raises `DataError` if it is not generated
        yet."""
        chosen = self.chosen.get(scenario) if scenario is not None else None
        if dataset not in self.rows:
            raise DataError(f"the rows of `{dataset}` are yet to be made", "run the benchmark first: `tripos run`")
        file = self.rows[dataset]
        if chosen is None:
            yield from file
            return
        for place in sorted(chosen):
            if place in file:
                yield file[place]


Reason = Literal[
    "unreadable",
    "truncated",
    "refused",
    "no_value",
    "require",
    "verify",
    "unverified",
    "duplicate",
    "near_duplicate",
    "too_near",
]

NOTES: Final[Mapping[str, Mapping[Reason, str]]] = {
    "en": {
        "unreadable": "it could not be read in the form that was asked for",
        "truncated": "it was cut off before its end: be shorter",
        "refused": "it holds no item",
        "no_value": "it is not complete",
        "require": "it does not keep to what is required of an item",
        "verify": "it did not pass a review",
        "unverified": "it could not be reviewed",
        "duplicate": "it repeats an item that is there already, or nearly so: write a different one",
        "too_near": "it cannot be used as it is: write a different one",
    },
    "zh": {
        "unreadable": "无法按所要求的格式读取",
        "truncated": "内容未完即被截断，请写得更短",
        "refused": "其中没有题目内容",
        "no_value": "内容不完整",
        "require": "不符合对内容的要求",
        "verify": "未通过审核",
        "unverified": "无法审核",
        "duplicate": "与已有内容相同或几乎相同，请写一个不同的",
        "too_near": "它不能照这样使用，请写一个不同的",
    },
}
NOTE: Final[Mapping[str, str]] = {
    "en": "That was not accepted: {why}. Write another one. This is attempt {number} of {most}.",
    "zh": "上面的内容未被采用：{why}。请重新写一个。这是第 {number} 次尝试，最多 {most} 次。",
}
ONE_OF_SEVERAL: Final[Mapping[str, str]] = {
    "en": "Several are written to this same request, and this is number {number}. Make it unlike the others.",
    "zh": "按同样的要求会写多个，这是第 {number} 个，请使它与其他的不同。",
}
WORDS: Final[Mapping[Reason, str]] = {
    "unreadable": "unreadable",
    "truncated": "cut off",
    "refused": "refused by the author",
    "no_value": "incomplete",
    "require": "against a `require`",
    "verify": "not verified",
    "unverified": "without a readable verdict",
    "duplicate": "duplicates",
    "near_duplicate": "near-duplicates",
    "too_near": "too near to others",
}
"""The reasons as summaries name them."""


@dataclass(frozen=True)
class Rejection:
    """The reason why an attempt was rejected; `details` has details as JSON values for the tables."""

    reason: Reason
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def known_as(self) -> Reason:
        """The reason as the note to the author and the name of the next request have it: a near duplicate counts as a
        duplicate. Both are written before the most similar row is found, which distinguishes the two."""
        return "duplicate" if self.reason == "near_duplicate" else self.reason

    def to_json(self) -> dict[str, Any]:
        """Return the rejection as JSON values for the tables.

        >>> Rejection("require", {"number": 2}).to_json()
        {'reason': 'require', 'number': 2}
        """
        return {"reason": self.reason, **self.details}


def one_of_several(language: str, number: int) -> str:
    """Return the note to the author of row `number` (from 1) of one cell, from the second row on: otherwise the request
    is the same for all of them.

    >>> one_of_several("zh", 2)
    '按同样的要求会写多个，这是第 2 个，请使它与其他的不同。'
    """
    return ONE_OF_SEVERAL.get(language, ONE_OF_SEVERAL["en"]).format(number=number)


def retry_note(reason: Reason, language: str, number: int, most: int) -> str:
    """Return the note to the author before attempt `number` of `most`, counted from 1. The number makes each request
    different, so an author that always answers equal requests alike does not repeat itself.

    >>> retry_note("refused", "en", 2, 4)
    'That was not accepted: it holds no item. Write another one. This is attempt 2 of 4.'
    """
    known = language if language in NOTES else "en"
    return NOTE[known].format(why=NOTES[known][reason], number=number, most=most)
