"""A batch: which replies a person was handed, in which order, when, and what their grades will be called.

It is recorded in the store, beside the results: the sheet and the page know rows by names that tell nothing.

Checks what a person gave against what they were handed: all of it can be kept, or none of it is.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from tripos.errors import Failure
from tripos_compiler.plan import digest
from tripos_warehouse.errors import StoreError
from tripos_warehouse.ledger.imported_scores import ElementShown, GivenScore, OtherShown
from tripos_warehouse.maintenance.media import ANNOTATIONS, keep_document, list_documents, read_document
from tripos_warehouse.store.digests import sealed, unsealed
from tripos_warehouse.store.schemas import HUMAN
from tripos_warehouse.store.store import Store


@dataclass(frozen=True)
class EnteredGrade:
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
    entries: tuple[EnteredGrade, ...]
    rationales: dict[str, str]
    twice: tuple[tuple[str, str], ...] = ()


FORMAT = "tripos.annotation/1"


@dataclass(frozen=True)
class WantedGrade:
    """A score that is asked for. `low` and `high` are inclusive, absent where the scale has no end; `whole` says
    whether only whole numbers are on it; `key` is what a judge's reply calls it. With `choices` the grade is the place
    of one of these names, from 1; each has the number that it stands for, if it stands for one."""

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

        >>> WantedGrade("CLEAR", "CLEAR", "", 1, 5, True).scale, WantedGrade("x", "x", "", None, None, False).scale
        ('a whole number from 1 to 5', 'a number')
        """
        if self.choices:
            return f"{', '.join(name for name, _ in self.choices)}, or 1 to {len(self.choices)}"
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

    def allows(self, value: float) -> bool:
        """Return true if a finite value is on the scale.

        >>> [WantedGrade("CLEAR", "CLEAR", "", 1, 5, True).allows(value) for value in (1, 5.0, 5.5, 6)]
        [True, True, False, False]
        """
        above = self.low is None or value >= self.low
        return above and (self.high is None or value <= self.high) and (not self.whole or float(value).is_integer())


@dataclass(frozen=True)
class OtherReply:
    """The reply that stands second, where two are compared."""

    step: str
    model: str
    sample_id: str


@dataclass(frozen=True)
class HandedElement:
    """The element of a list that is labelled: its place there, and what it is, as JSON."""

    place: str
    value: str


@dataclass(frozen=True)
class HandedReply:
    """A reply that was handed out, or two of them to compare. `row` is what the person's file calls it."""

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
    marks: tuple[WantedGrade, ...]
    drawn_of: int | None = None
    """Of how many replies of its scenario and model it was drawn at random. None where some could not be drawn."""
    other: OtherReply | None = None
    element: HandedElement | None = None

    @property
    def key(self) -> tuple[str, str]:
        """What it is, whoever it is handed to."""
        beside = None if self.other is None else self.other.sample_id
        return key_of(self.sample_id, beside if self.element is None else self.element.place, self.fingerprint)

    @property
    def models(self) -> tuple[str, ...]:
        """The models whose replies it shows."""
        return (self.model,) if self.other is None else (self.model, self.other.model)

    def mark(self, metric: str) -> WantedGrade | None:
        """Return the mark of that metric, where it is asked for."""
        return next((mark for mark in self.marks if mark.metric == metric), None)


@dataclass(frozen=True)
class Batch:
    """The replies assigned to one person at once, in this order. Of a later round than the first, the grades are kept
    as those of an imported round are."""

    batch: str
    run_id: str
    benchmark: str
    role: str
    name: str
    seed: int
    made_at: str
    chosen: Mapping[str, Any]
    rows: tuple[HandedReply, ...]
    round: int | None = None

    @property
    def evaluator(self) -> str:
        """Return what the person is called in the tables."""
        return evaluator_of(self.name)


def key_of(sample_id: str, other: str | None, fingerprint: str) -> tuple[str, str]:
    """Return what a reply, two of them or an element is called among all that were handed out, with the step that
    asks for its grade."""
    return sample_id if other is None else f"{sample_id} {other}", fingerprint


def evaluator_of(name: str) -> str:
    """Return what the person of that name is called in the tables.

    >>> evaluator_of("anna")
    'human/anna'
    """
    return f"{HUMAN}{name}"


def name_of(run_id: str, role: str, name: str, seed: int, rows: tuple[HandedReply, ...]) -> str:
    """Return the name of a batch, from what it is: the same command on the same store makes the same batch."""
    return digest(["annotation", run_id, role, name, seed, [row.judgement_id for row in rows]], size=6)


def row_name(seed: int, name: str, judgement_id: str) -> str:
    """Return what a person's file calls a reply: it says nothing, and no other person's file has it."""
    return digest(["row", seed, name, judgement_id], size=6)


def save_batch(store: Store, batch: Batch) -> Batch:
    """Record a batch, and give back what the store has under its name: the first record stays as it is.

    Raises `StoreError` S0102 where the disk refuses.
    """
    keep_document(store, ANNOTATIONS, f"{batch.batch}.json", sealed({"format": FORMAT, **asdict(batch)}))
    return get_batch(store, batch.batch)


def get_batch(store: Store, name: str) -> Batch:
    """Return the batch of that name. Raises `Failure` S0704 where the store has no readable record of it."""
    place = f"{store.place}/{ANNOTATIONS}/{name}.json"
    try:
        content = read_document(store, ANNOTATIONS, f"{name}.json") if name.isalnum() else None
        if content is None:
            raise Failure(
                "S0704",
                f"the store at `{store.place}` has no record of the batch `{name}`",
                "name the store that the file was made from with `--store`",
            )
        said = unsealed(content, required=False)
        if said.pop("format") != FORMAT:
            raise Failure(
                "S0704", f"the record of the batch `{name}` is of another format than `{FORMAT}`", "update Tripos"
            )
        rows = tuple(map(_row, said.pop("rows")))
        return Batch(**said, rows=rows)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        told = " ".join(str(error).split())
        raise Failure(
            "S0704", f"`{place}` is unreadable ({told})", "copy it back from a backup of the store"
        ) from error


def _row(said: Mapping[str, Any]) -> HandedReply:
    other = dict(said.get("other") or {})
    earlier = other.pop("choices", ())  # batches of earlier versions have the names to choose from there
    marks = tuple(_mark({"choices": earlier, **mark}) for mark in said["marks"])
    element = said.get("element")
    told = {"marks": marks, "other": OtherReply(**other) if other else None}
    return HandedReply(**{**said, **told, "element": HandedElement(**element) if element else None})


def _mark(said: Mapping[str, Any]) -> WantedGrade:
    return WantedGrade(**{**said, "choices": tuple((name, worth) for name, worth in said["choices"])})


def every_batch(store: Store) -> Iterator[Batch]:
    """Yield all batches that were handed out from a store, by name. Raises `Failure` S0704 where a record is
    unreadable."""
    for name in list_documents(store, ANNOTATIONS, ".json"):
        yield get_batch(store, name.removesuffix(".json"))


def copy_batches(source: Store, target: Store) -> None:
    """Record the batches of another store that this one has not; one that cannot be read is left out, and the source
    says so. Raises `StoreError` S0102 where the disk refuses."""
    for name in list_documents(source, ANNOTATIONS, ".json"):
        try:
            batch = get_batch(source, name.removesuffix(".json"))
        except Failure as error:
            source.leave_out(StoreError("S0401", error.message, error.hint or ""))
        else:
            save_batch(target, batch)


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
