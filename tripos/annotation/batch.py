"""Batches of replies that are assigned to a person for grading, and the check of the grades that come back.

A batch records the replies, their order, the time, and the names of the future scores. It is stored with the results.
The sheet and the page know rows only by opaque names. Grades are accepted all together or not at all.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from tripos.importing.rows import cell_text
from tripos.settings.options import STORE
from tripos_compiler.errors import TriposError
from tripos_compiler.plan import digest
from tripos_warehouse.errors import StoreError
from tripos_warehouse.ledger.imported_scores import ElementShown, ImportedScore, OtherShown
from tripos_warehouse.maintenance.media import ANNOTATIONS, list_documents, read_document, write_document
from tripos_warehouse.store.digests import sealed, unsealed
from tripos_warehouse.store.schemas import HUMAN
from tripos_warehouse.store.store import Store


@dataclass(frozen=True)
class EnteredGrade:
    """A grade as entered. `address` is its place: `Grades!F7` in a sheet, `line 12` in the file of the page."""

    row: str
    metric: str
    value: Any
    address: str


@dataclass(frozen=True)
class GradeError:
    """An invalid entry: its address, and the reason."""

    address: str
    reason: str


@dataclass(frozen=True)
class ReturnedGrades:
    """The content of a returned file: the address of each row, the grades, and the rationale of each row. `numbers` has
    the visible number of each row, if the file has one. `faults` are what makes the file unreadable in part, such as a
    repeated row."""

    batch: str
    rows: dict[str, str]
    entries: tuple[EnteredGrade, ...]
    rationales: dict[str, str]
    numbers: Mapping[str, Any] = field(default_factory=dict)
    faults: tuple[GradeError, ...] = ()
    lacks_rows: bool = False
    """True if `faults` has a sheet whose rows could not be read: replies that are not in `rows` may be on it."""


FORMAT = "tripos.annotation/1"


@dataclass(frozen=True)
class RequestedGrade:
    """A requested score. `low` and `high` are inclusive, or None without a bound. `whole` allows only whole numbers.
    `key` is the name of the score in a judge's reply. With `choices`, the grade is the position of one of these names,
    from 1; each has its number, if any."""

    metric: str
    key: str
    score_id: str
    low: int | None
    high: int | None
    whole: bool
    choices: tuple[tuple[str, float | None], ...] = ()

    @property
    def scale(self) -> str:
        """The scale in words.

        >>> RequestedGrade("CLEAR", "CLEAR", "", 1, 5, True).scale, RequestedGrade("x", "x", "", None, None,
        ... False).scale
        ('a whole number from 1 to 5', 'a number')
        """
        if self.choices:
            names = ", ".join(name for name, _ in self.choices)
            return names if self.has_numbers_as_names else f"{names}, or 1 to {len(self.choices)}"
        kind = "a whole number" if self.whole else "a number"
        match self.low, self.high:
            case None, None:
                return kind
            case low, None:
                return f"{kind} of {low} or more"
            case None, high:
                return f"{kind} of {high} or less"
            case low, high:
                return f"{kind} from {low} to {high}"

    @property
    def has_numbers_as_names(self) -> bool:
        """True if a choice is named by a number, such as `0`, so that a typed number is a name and no position."""
        return any(_as_number(name) is not None for name, _ in self.choices)

    def allows(self, value: float) -> bool:
        """Return true if a finite value is on the scale.

        >>> [RequestedGrade("CLEAR", "CLEAR", "", 1, 5, True).allows(value) for value in (1, 5.0, 5.5, 6)]
        [True, True, False, False]
        """
        above = self.low is None or value >= self.low
        return above and (self.high is None or value <= self.high) and (not self.whole or float(value).is_integer())


@dataclass(frozen=True)
class OtherReply:
    """The second reply of a comparison."""

    step: str
    model: str
    sample_id: str


@dataclass(frozen=True)
class AssignedElement:
    """The element of a list to label: its position, and its value as JSON."""

    place: str
    value: str


@dataclass(frozen=True)
class AssignedReply:
    """An assigned reply, or two to compare. `row` is its name in the person's file."""

    row: str
    scenario: str
    item_id: str
    language: str
    sample_id: str
    model: str
    binding: str
    scorer: str
    judgement_id: str
    judgement: str
    fingerprint: str
    marks: tuple[RequestedGrade, ...]
    drawn_of: int | None = None
    """The number of replies of its scenario and model from which it was sampled at random, or None if some had no
    chance."""
    other: OtherReply | None = None
    element: AssignedElement | None = None

    @property
    def key(self) -> tuple[str, str]:
        """The identity of the assigned reply, independent of the person."""
        beside = None if self.other is None else self.other.sample_id
        return key_of(self.sample_id, beside if self.element is None else self.element.place, self.fingerprint)

    @property
    def models(self) -> tuple[str, ...]:
        """The models whose replies it shows."""
        return (self.model,) if self.other is None else (self.model, self.other.model)

    def mark(self, metric: str) -> RequestedGrade | None:
        """Return the requested grade of a metric, or None."""
        return next((mark for mark in self.marks if mark.metric == metric), None)


@dataclass(frozen=True)
class Batch:
    """The replies assigned to one person together, in order. With a `round`, the grades are stored like those of an
    imported round."""

    batch: str
    run_id: str
    benchmark: str
    role: str
    name: str
    seed: int
    made_at: str
    chosen: Mapping[str, Any]
    rows: tuple[AssignedReply, ...]
    round: int | None = None

    @property
    def evaluator(self) -> str:
        """The name of the person in the tables."""
        return evaluator_of(self.name)


def key_of(sample_id: str, other: str | None, fingerprint: str) -> tuple[str, str]:
    """Return the identity of an assigned reply, a pair or an element, with the step that requests its grade."""
    return sample_id if other is None else f"{sample_id} {other}", fingerprint


def evaluator_of(name: str) -> str:
    """Return the name of a person in the tables.

    >>> evaluator_of("anna")
    'human/anna'
    """
    return f"{HUMAN}{name}"


def batch_name(run_id: str, role: str, name: str, seed: int, rows: tuple[AssignedReply, ...]) -> str:
    """Return the name of a batch, a digest of its content: the same command on the same store gives the same batch."""
    return digest(["annotation", run_id, role, name, seed, [row.judgement_id for row in rows]], size=6)


def row_name(seed: int, name: str, judgement_id: str) -> str:
    """Return the name of a reply in a person's file. It reveals nothing, and differs between persons."""
    return digest(["row", seed, name, judgement_id], size=6)


def save_batch(store: Store, batch: Batch) -> Batch:
    """Store a batch, and return the stored one. An existing record is kept unchanged.

    Raises `StoreError` S0102 if it cannot be written.
    """
    write_document(store, ANNOTATIONS, f"{batch.batch}.json", sealed({"format": FORMAT, **asdict(batch)}))
    return get_batch(store, batch.batch)


def get_batch(store: Store, name: str) -> Batch:
    """Return the batch with this name. Raises `TriposError` S0704 if it is missing or unreadable."""
    place = f"{store.place}/{ANNOTATIONS}/{name}.json"
    try:
        content = read_document(store, ANNOTATIONS, f"{name}.json") if name.isalnum() else None
        if content is None:
            raise TriposError(
                "S0704",
                f"the store at `{store.place}` has no record of the batch `{name}`",
                f"name the store that the file was made from with `{STORE}`",
            )
        said = unsealed(content, required=False)
        if said.pop("format") != FORMAT:
            raise TriposError(
                "S0704", f"the record of the batch `{name}` is of another format than `{FORMAT}`", "update Tripos"
            )
        rows = tuple(map(_row, said.pop("rows")))
        return Batch(**said, rows=rows)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        text = " ".join(str(error).split())
        raise TriposError(
            "S0704", f"`{place}` is unreadable ({text})", "copy it back from a backup of the store"
        ) from error


def _row(said: Mapping[str, Any]) -> AssignedReply:
    other = said.get("other")
    marks = tuple(_mark(mark) for mark in said["marks"])
    element = said.get("element")
    told = {"marks": marks, "other": OtherReply(**other) if other else None}
    return AssignedReply(**{**said, **told, "element": AssignedElement(**element) if element else None})


def _mark(said: Mapping[str, Any]) -> RequestedGrade:
    return RequestedGrade(**{**said, "choices": tuple((name, worth) for name, worth in said["choices"])})


def list_batches(store: Store) -> Iterator[Batch]:
    """Yield all batches of a store, by name. Raises `TriposError` S0704 for an unreadable record."""
    for name in list_documents(store, ANNOTATIONS, ".json"):
        yield get_batch(store, name.removesuffix(".json"))


def copy_batches(source: Store, target: Store) -> None:
    """Copy the batches of another store that this one lacks. Unreadable ones are skipped and reported by the source.
    Raises `StoreError` S0102 if one cannot be written."""
    for name in list_documents(source, ANNOTATIONS, ".json"):
        try:
            batch = get_batch(source, name.removesuffix(".json"))
        except TriposError as error:
            if error.code != "S0704":
                raise
            source.leave_out(StoreError("S0401", error.message, error.hint))
        else:
            save_batch(target, batch)


# Grades that come back
@dataclass(frozen=True)
class IngestedGrades:
    """The scores of a file, its errors, and the assigned replies without all grades."""

    scores: tuple[ImportedScore, ...]
    faults: tuple[GradeError, ...]
    unfinished: tuple[AssignedReply, ...]


def check_grades(batch: Batch, answers: ReturnedGrades, *, partial: bool) -> IngestedGrades:
    """Return the grades of a file. Each reply needs a value for every metric; with `partial`, replies without one are
    skipped. Scores are returned only if there are no errors. Errors are in file order."""
    numbers = {row.row: number for number, row in enumerate(batch.rows, 1)}
    faults = list(answers.faults)
    for name, address in answers.rows.items():
        shown = answers.numbers.get(name)
        if name not in numbers:
            faults.append(GradeError(address, f"`{name}` is no reply of this batch"))
        elif shown is not None and cell_text(shown) != str(numbers[name]):
            moved = f"this row is numbered {cell_text(shown)}, but its hidden name is that of reply {numbers[name]}"
            faults.append(GradeError(address, f"{moved}: sort whole rows, with the hidden column"))
    entries: dict[str, list[EnteredGrade]] = {}
    for entry in answers.entries:
        entries.setdefault(entry.row, []).append(entry)
    places = {name: place for place, name in enumerate(answers.rows)}
    scores: list[ImportedScore] = []
    unfinished: list[AssignedReply] = []
    for number, row in sorted(enumerate(batch.rows, 1), key=lambda pair: places.get(pair[1].row, len(places))):
        address = answers.rows.get(row.row, f"reply {number}")
        imported_scores, wrong = _read(batch, row, entries.get(row.row, ()), answers.rationales.get(row.row))
        faults += wrong
        entered = {entry.metric for entry in entries.get(row.row, ())}
        missing = [mark.metric for mark in row.marks if mark.metric not in entered]
        if not missing:
            scores += imported_scores
            continue
        unfinished.append(row)
        if not partial and (row.row in answers.rows or not answers.lacks_rows):
            names = ", ".join(f"`{each}`" for each in missing)
            begun = entered or row.row in answers.rationales
            faults.append(GradeError(address, f"no grade for {names}" if begun else "nothing is graded"))
    return IngestedGrades(() if faults else tuple(scores), tuple(faults), tuple(unfinished))


def _read(
    batch: Batch, row: AssignedReply, entries: Iterable[EnteredGrade], reason: str | None
) -> tuple[list[ImportedScore], list[GradeError]]:
    scores: list[ImportedScore] = []
    faults: list[GradeError] = []
    for entry in entries:
        if (mark := row.mark(entry.metric)) is None:
            faults.append(GradeError(entry.address, f"`{entry.metric}` is not graded in this scenario"))
            continue
        found = read_value(mark, entry.value)
        if isinstance(found, str):
            faults.append(GradeError(entry.address, found))
        else:
            scores.append(_score(batch, row, mark, found, reason))
    return scores, faults


def read_value(mark: RequestedGrade, value: Any) -> float | str:
    """Return a value as a number on the scale, or a message why it is invalid.

    >>> mark = RequestedGrade("CLEAR", "CLEAR", "", 1, 5, True)
    >>> read_value(mark, " ４ "), read_value(mark, 7), read_value(mark, "good")
    (4.0, '7 is not on the scale: a whole number from 1 to 5', '`good` is not on the scale: a whole number from 1 to 5')
    >>> half = RequestedGrade("CLEAR", "CLEAR", "", 1, 5, False)
    >>> read_value(half, "4,5"), read_value(half, "4.5"), read_value(half, "1,500")
    (4.5, 4.5, '`1,500` is not on the scale: a number from 1 to 5')
    >>> kind = RequestedGrade("kind", "verdict", "", 1, 2, True, (("RIGHT", None), ("WRONG", None)))
    >>> read_value(kind, " wrong "), read_value(kind, 1), read_value(kind, "maybe")
    (2.0, 1.0, '`maybe` is not on the scale: RIGHT, WRONG, or 1 to 2')
    >>> digit = RequestedGrade("digit", "verdict", "", 1, 2, True, (("0", None), ("1", None)))
    >>> read_value(digit, "1"), read_value(digit, "0.0"), read_value(digit, "2")
    (2.0, 1.0, '`2` is not on the scale: 0, 1')
    """
    if isinstance(value, str) and (place := _place(mark, value)) is not None:
        return float(place)
    number: float | None = None
    if isinstance(value, int | float) and not isinstance(value, bool):
        number = float(value)
    elif isinstance(value, str) and not mark.has_numbers_as_names:
        number = _as_number(value)
    if number is None or not math.isfinite(number):
        is_nested = isinstance(value, list | dict)  # perhaps too deep to be printed
        text = " ".join((type(value).__name__ if is_nested else str(value)).split())
        text = f"`{text if len(text) <= 40 else text[:39] + '…'}`"
        return f"{text} is not on the scale: {mark.scale}"
    if not mark.allows(number):
        return f"{cell_text(number)} is not on the scale: {mark.scale}"
    return number


DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d{1,2}")
"""A number with a comma that cannot part thousands."""


def _as_number(text: str) -> float | None:
    if "_" in text:  # Python reads `1_0` as 10
        return None
    plain = unicodedata.normalize("NFKC", text).strip()
    if DECIMAL_COMMA.fullmatch(plain):
        plain = plain.replace(",", ".")
    try:
        return float(plain)
    except ValueError:
        return None


def _place(mark: RequestedGrade, text: str) -> int | None:
    """Return the position of the matching name: exactly, ignoring case, or as the same number. None if no name or
    several match."""
    names = [name for name, _ in mark.choices]
    forms: tuple[Callable[[str], object], ...] = (str, str.casefold, _as_number)
    for form in forms if _as_number(text) is not None else forms[:2]:
        found = [place for place, name in enumerate(names, 1) if form(name) == form(text.strip())]
        if len(found) == 1:
            return found[0]
    return None


def _score(batch: Batch, row: AssignedReply, mark: RequestedGrade, grade: float, reason: str | None) -> ImportedScore:
    name, value = mark.choices[int(grade) - 1] if mark.choices else (None, grade)
    other = None if row.other is None else OtherShown(row.other.step, row.other.model, row.other.sample_id)
    return ImportedScore(
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
