"""Checks what a person gave against what they were handed: all of it can be kept, or none of it is."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tripos.annotation.batch import Answers, Batch, EnteredGrade, HandedReply, WantedGrade
from tripos_warehouse.ledger import ElementShown, GivenScore, OtherShown


@dataclass(frozen=True)
class GradeError:
    """Something that cannot be taken: where it stands, and why."""

    address: str
    reason: str


@dataclass(frozen=True)
class IngestedGrades:
    """The scores of a file, its faults, and how many of the replies that were handed out lack a grade."""

    scores: tuple[GivenScore, ...]
    faults: tuple[GradeError, ...]
    open: int


def check(batch: Batch, answers: Answers, *, partial: bool) -> IngestedGrades:
    """Return the grades that a file holds. A reply needs a value for every metric; with `partial`, replies that lack
    one are left out. Grades are to be kept only where there is no fault; faults come in the order of the file."""
    handed = {row.row: row for row in batch.rows}
    faults = [GradeError(address, reason) for address, reason in answers.twice]
    faults += [
        GradeError(address, f"`{name}` is no reply of this batch")
        for name, address in answers.rows.items()
        if name not in handed
    ]
    entries: dict[str, list[EnteredGrade]] = {}
    for entry in answers.entries:
        entries.setdefault(entry.row, []).append(entry)
    places = {name: place for place, name in enumerate(answers.rows)}
    scores: list[GivenScore] = []
    still_open = 0
    for number, row in sorted(enumerate(batch.rows, 1), key=lambda pair: places.get(pair[1].row, len(places))):
        address = answers.rows.get(row.row, f"reply {number}")
        given, wrong = _read(batch, row, entries.get(row.row, ()), answers.rationales.get(row.row))
        faults += wrong
        entered = {entry.metric for entry in entries.get(row.row, ())}
        missing = [mark.metric for mark in row.marks if mark.metric not in entered]
        if not missing:
            scores += given
            continue
        still_open += 1
        if not partial:
            names = ", ".join(f"`{each}`" for each in missing)
            begun = entered or row.row in answers.rationales
            faults.append(GradeError(address, f"no grade for {names}" if begun else "nothing is graded"))
    return IngestedGrades(() if faults else tuple(scores), tuple(faults), still_open)


def _read(
    batch: Batch, row: HandedReply, entries: Iterable[EnteredGrade], reason: str | None
) -> tuple[list[GivenScore], list[GradeError]]:
    given: list[GivenScore] = []
    faults: list[GradeError] = []
    for entry in entries:
        if (mark := row.mark(entry.metric)) is None:
            faults.append(GradeError(entry.address, f"`{entry.metric}` is not graded in this scenario"))
            continue
        found = read_value(mark, entry.value)
        if isinstance(found, str):
            faults.append(GradeError(entry.address, found))
        else:
            given.append(_score(batch, row, mark, found, reason))
    return given, faults


def read_value(mark: WantedGrade, value: Any) -> float | str:
    """Return a value as a number on the scale, or what is wrong with it.

    >>> mark = WantedGrade("CLEAR", "CLEAR", "", 1, 5, True)
    >>> read_value(mark, " ４ "), read_value(mark, 7), read_value(mark, "good")
    (4.0, '7 is not on the scale: a whole number from 1 to 5', '`good` is no number')
    >>> kind = WantedGrade("kind", "verdict", "", 1, 2, True, (("RIGHT", None), ("WRONG", None)))
    >>> read_value(kind, " wrong "), read_value(kind, 1), read_value(kind, "maybe")
    (2.0, 1.0, '`maybe` is not on the scale: RIGHT, WRONG, or 1 to 2')
    """
    if isinstance(value, str) and (place := _place(mark, value)) is not None:
        return float(place)
    number: float | None = None
    if isinstance(value, int | float) and not isinstance(value, bool):
        number = float(value)
    elif isinstance(value, str):
        try:
            number = float(unicodedata.normalize("NFKC", value).strip())
        except ValueError:
            number = None
    if number is None or not math.isfinite(number):
        shown = " ".join((str(value) if isinstance(value, str | int | float) else type(value).__name__).split())
        shown = f"`{shown if len(shown) <= 40 else shown[:39] + '…'}`"
        return f"{shown} is not on the scale: {mark.scale}" if mark.choices else f"{shown} is no number"
    if not mark.allows(number):
        return f"{number:g} is not on the scale: {mark.scale}"
    return number


def _place(mark: WantedGrade, text: str) -> int | None:
    """Return the place of the name that a text is, as it is written or else whatever its case; None where it is none,
    or several."""
    names = [name for name, _ in mark.choices]
    for form in (str, str.casefold):
        found = [place for place, name in enumerate(names, 1) if form(name) == form(text.strip())]
        if len(found) == 1:
            return found[0]
    return None


def _score(batch: Batch, row: HandedReply, mark: WantedGrade, grade: float, reason: str | None) -> GivenScore:
    name, value = mark.choices[int(grade) - 1] if mark.choices else (None, grade)
    other = None if row.other is None else OtherShown(row.other.step, row.other.model, row.other.sample_id)
    return GivenScore(
        score_id=mark.score_id,
        judgement_id=row.judgement_id,
        sample={
            "sample_id": row.sample_id,
            "run_id": batch.run_id,
            "benchmark": batch.benchmark,
            "scenario": row.scenario,
            "item_id": row.item_id,
            "model": row.model,
            "binding": row.binding,
        },
        scorer=row.scorer,
        metric=mark.metric,
        evaluator=batch.evaluator,
        value=value,
        rationale=reason,
        judgement=row.judgement,
        fingerprint=row.fingerprint,
        key=mark.key,
        round=batch.round,
        drawn_of=row.drawn_of,
        name=name,
        other=other,
        element=None if row.element is None else ElementShown(row.element.place, row.element.value),
    )
