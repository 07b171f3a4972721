"""Checks what a person gave against what they were handed: all of it can be kept, or none of it is."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tripos.annotation.answers import Answers, Entry
from tripos.annotation.batch import Batch, Mark, Row
from tripos_warehouse.graded import Given, Grade


@dataclass(frozen=True)
class Fault:
    """Something that cannot be taken: where it stands, and why."""

    address: str
    reason: str


@dataclass(frozen=True)
class Taken:
    """The grades of a file, its faults, and how many of the replies that were handed out it says nothing of."""

    grades: tuple[Grade, ...]
    faults: tuple[Fault, ...]
    open: int


def check(batch: Batch, answers: Answers, *, partial: bool) -> Taken:
    """The grades that a file holds. A reply needs a value for every metric; with `partial`, replies that nothing is
    said of may be missing. Grades are to be kept only where there is no fault."""
    handed = {row.row: row for row in batch.rows}
    faults = [Fault(address, reason) for address, reason in answers.twice]
    faults += [
        Fault(address, f"`{name}` is no reply of this batch")
        for name, address in answers.rows.items()
        if name not in handed
    ]
    given: dict[str, dict[str, Given]] = {}
    for entry in answers.entries:
        if (row := handed.get(entry.row)) is None:
            continue
        mark = row.mark(entry.metric)
        found = f"`{entry.metric}` is not graded in this scenario" if mark is None else read_value(mark, entry.value)
        if isinstance(found, str) or mark is None:
            faults.append(Fault(entry.address, str(found)))
            given.setdefault(entry.row, {})
            continue
        reason = answers.rationales.get(entry.row)
        each = Given(mark.score_id, mark.metric, found, mark.key, reason)
        given.setdefault(entry.row, {})[mark.metric] = each
    wrong = {(entry.row, entry.metric) for entry in answers.entries}
    still_open = 0
    for number, row in enumerate(batch.rows, 1):
        address = answers.rows.get(row.row, f"reply {number}")
        begun = row.row in given or row.row in answers.rationales
        if not begun:
            still_open += 1
            if not partial:
                faults.append(Fault(address, "nothing is graded"))
            continue
        missing = [mark.metric for mark in row.marks if (row.row, mark.metric) not in wrong]
        if missing:
            faults.append(Fault(address, f"no grade for {', '.join(f'`{each}`' for each in missing)}"))
    grades = tuple(_grade(batch, row, given[row.row].values()) for row in batch.rows if given.get(row.row))
    return Taken(() if faults else grades, tuple(faults), still_open)


def read_value(mark: Mark, value: Any) -> float | str:
    """A value as a number on the scale, or what is wrong with it.

    >>> mark = Mark("CLEAR", "CLEAR", "", 1, 5, True)
    >>> read_value(mark, " ４ "), read_value(mark, 7), read_value(mark, "good")
    (4.0, '7 is not on the scale: a whole number from 1 to 5', '`good` is no number')
    """
    number: float | None = None
    if isinstance(value, int | float) and not isinstance(value, bool):
        number = float(value)
    elif isinstance(value, str):
        try:
            number = float(unicodedata.normalize("NFKC", value).strip())
        except ValueError:
            number = None
    if number is None or not math.isfinite(number):
        shown = " ".join(str(value).split())
        return f"`{shown if len(shown) <= 40 else shown[:39] + '…'}` is no number"
    if not mark.allows(number):
        return f"{number:g} is not on the scale: {mark.scale}"
    return number


def _grade(batch: Batch, row: Row, given: Iterable[Given]) -> Grade:
    return Grade(
        judgement_id=row.judgement_id,
        sample_id=row.sample_id,
        scenario=row.scenario,
        item_id=row.item_id,
        model=row.model,
        scorer=row.scorer,
        evaluator=batch.evaluator,
        judgement=row.judgement,
        fingerprint=row.fingerprint,
        given=tuple(given),
    )


__all__ = ["Entry", "Fault", "Taken", "check", "read_value"]
