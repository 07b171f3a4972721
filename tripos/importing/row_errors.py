"""Rows that do not fit: each with its place, the value and the reason."""

from __future__ import annotations

import csv
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tripos.importing.records import FileRow
from tripos.ui import SOME_FAILED, USAGE, Failure, harmless, show_message

SHOWN = 20
LONGEST = 40
ALIKE = 3
"""More rows than this that do not fit for the same reason are told of in one line."""


@dataclass(frozen=True)
class RowError:
    """Why a row is not taken: `field` and `value` are what is wrong with it."""

    record: FileRow
    field: str
    value: Any
    reason: str

    @property
    def line(self) -> str:
        """The rejection in one line.

        >>> from tripos.importing.records import ColumnMap
        >>> RowError(FileRow("a.csv", 3, None, {}, ColumnMap()), "value", "12", "not in 1..10").line
        'row 3: value `12`: not in 1..10'
        """
        return f"{self.record.place}: {self.what}"

    @property
    def what(self) -> str:
        """The rejection without its row."""
        said = "" if self.value is None else f" `{_short(str(self.value))}`"
        return harmless(f"{self.field}{said}: {self.reason}").replace("\n", " ")

    def is_of(self, options: Collection[str]) -> bool:
        """Return true if one of the options says what is wrong, or would say what is missing."""
        return self.field in options and (self.value is None or self.field in self.record.told.set)

    def to_json(self) -> dict[str, Any]:
        """Return what `--rejected` and `--json` say of it."""
        record = self.record
        found = {"file": record.file, "row": record.number}
        if record.part is not None:
            found["entry"] = record.part
        return {**found, "field": self.field, "value": self.value, "reason": self.reason}


class UnfitValue(Exception):
    """A row that cannot be taken; whoever reads it makes a `RowError` of it."""

    def __init__(self, field: str, value: Any, reason: str) -> None:
        super().__init__(reason)
        self.field, self.value, self.reason = field, value, reason

    def at(self, record: FileRow) -> RowError:
        """Return the rejection of the row in which it came up."""
        return RowError(record, self.field, self.value, self.reason)


def whole(said: Any, field: str) -> int | None:
    """Return what a row says as a whole number, also as text or as a float, as tables have it; None where it says
    nothing. Raises `UnfitValue`.

    >>> whole("3", "sample"), whole(2.0, "round"), whole(None, "round")
    (3, 2, None)
    """
    if said is None:
        return None
    try:
        number = float(said)
        if not isinstance(said, bool) and number == int(number) and 0 <= number < 2**53:
            return int(number)
    except (TypeError, ValueError, OverflowError):
        pass
    raise UnfitValue(field, said, "not a whole number")


def settle(
    rejected: Sequence[RowError], rows: int, file: str | None, *, skip: bool, what: str, options: Collection[str]
) -> None:
    """Write the rejected rows to `file` and show the first of them. Raises `Failure` S0503 where there are any, unless
    they are skipped: one of usage where one of the `options` is what all rows lack, or what is wrong with them."""
    if file is not None:
        _write(rejected, Path(file))
    if not rejected:
        return
    bad = len({(each.record.file, each.record.place) for each in rejected})
    groups: dict[str, list[RowError]] = {}
    for each in rejected:
        groups.setdefault(each.what, []).append(each)
    told = list(_lines(groups, whole_file=bad == rows))
    for line, _ in told[:SHOWN]:
        show_message(line, stderr=True)
    if left := sum(count for _, count in told[SHOWN:]):
        rest = "`--rejected FILE` writes all" if file is None else f"`{file}` has all"
        show_message(f"and {left:,} more: {rest}", stderr=True)
    if skip:
        show_message(f"{bad:,} of {rows:,} rows do not fit and are left out, as `--skip-rejected` says", stderr=True)
        return
    option = len(groups) == 1 and bad == rows and rejected[0].is_of(options)
    hint = "mend them, or import the others with `--skip-rejected`"
    if bad == rows:
        hint = f"give another `--{rejected[0].field}`" if option else "mend them, or say how to read them"
    raise Failure(
        "S0503",
        f"{bad:,} of {rows:,} rows do not fit, so no {what} was imported",
        hint,
        USAGE if option else SOME_FAILED,
    )


def _lines(groups: Mapping[str, Sequence[RowError]], *, whole_file: bool) -> Iterator[tuple[str, int]]:
    """Yield what is shown, and of how many rejections each line tells: many that are alike share one."""
    for what, alike in groups.items():
        if len(alike) <= ALIKE:
            yield from ((each.line, 1) for each in alike)
        elif whole_file and len(groups) == 1:
            yield f"every row: {what}", len(alike)
        else:
            yield f"{alike[0].record.place} and {len(alike) - 1:,} more: {what}", len(alike)


def _write(rejected: Sequence[RowError], path: Path) -> None:
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            if path.suffix.casefold() in (".csv", ".tsv"):
                delimiter = "\t" if path.suffix.casefold() == ".tsv" else ","
                writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
                writer.writerow(("file", "row", "field", "value", "reason"))
                for each in rejected:
                    place = each.record.place.removeprefix("row ")
                    writer.writerow((each.record.file, place, each.field, each.value, each.reason))
                return
            for each in rejected:
                told = {**each.to_json(), "record": dict(each.record.said)}
                file.write(json.dumps(told, ensure_ascii=False, default=str) + "\n")
    except OSError as error:
        raise Failure(
            "S0102", f"cannot write `{path}`: {error.strerror}", "check the path and its permissions"
        ) from error


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
