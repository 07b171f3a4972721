"""Scores from outside a run, by people or other judges, as rows like those that are made of a judge's reply.

Their ids depend on what is scored and by whom, never on the value. So an import can be repeated, and a changed score is
recognised as changed. A row that is written again replaces the earlier one, since of several rows with the same id the
last one counts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from tripos_compiler.plan import Grade, digest
from tripos_warehouse import sql
from tripos_warehouse.errors import StoreError, store_write_error
from tripos_warehouse.store.bucket.bucket import exclusive
from tripos_warehouse.store.locks import IMPORT, Locks, lock_offset
from tripos_warehouse.store.parts import open_part
from tripos_warehouse.store.schemas import HUMAN
from tripos_warehouse.store.store import Store

Row = dict[str, Any]
SCORED = "scored"
"""The status of a score that has a value."""


@dataclass(frozen=True)
class OtherShown:
    """The reply that was shown second in a comparison of the step `step`. The reply that was shown first is the sample
    of the score.
    """

    step: str
    model: str
    sample_id: str


@dataclass(frozen=True)
class ElementShown:
    """An element of a list: its position, and its value as JSON."""

    place: str
    value: str


@dataclass(frozen=True)
class ImportedScore:
    """A score of one reply by one evaluator, or, with `other`, a verdict on two replies.

    `value` of a verdict is 1 if the first reply is better, 0 if the second is, 0.5 for a tie. If the evaluator chose a
    name, it is in `name`, and `value` is the number of that name. `sample` has the columns `sample_id`, `run_id`,
    `benchmark`, `scenario`, `item_id`, `model` and `binding` of the rows; `binding` is that of the score. `key` is the
    key of the score in `judgements.parsed`. `judgement` is the fingerprint of a judge's replies and `fingerprint` that
    of the scores, both from the plan of the run, so that imported scores count in the same measures as those of a
    model. Only imported scores have a `round`.
    """

    score_id: str
    judgement_id: str
    sample: Mapping[str, Any]
    scorer: str
    metric: str
    evaluator: str
    value: float | None
    rationale: str | None
    judgement: str
    fingerprint: str
    key: str
    round: int | None = None
    raw_value: float | None = None
    """The value in the imported file, if it may differ from `value`, which the plan derives from it."""
    drawn_of: int | None = None
    """The number of replies of its scenario and model from which the reply was drawn at random; None if it was not."""
    name: str | None = None
    other: OtherShown | None = None
    element: ElementShown | None = None
    """The scored list element; None if the reply is scored."""
    label: str | None = None
    """The score in an imported log, as JSON; stored as the reply of the judgement."""
    status: str = SCORED
    error: str | None = None
    """The reason for a missing value."""

    @property
    def said_of(self) -> str:
        """The binding of its rows."""
        return str(self.sample["binding"])

    @property
    def part(self) -> dict[str, Any]:
        """The entry in `judgements.parsed`: what the evaluator gave, before a plan converts it."""
        if self.status != SCORED:
            return {"score": None, "reason": self.rationale, "status": self.status, "error": self.error}
        choice = {} if self.name is None else {"choice": self.name}
        if self.name is not None and self.other is None:  # without the number, which the plan defines and may change
            return {"reason": self.rationale, **choice}
        return {"score": self.value if self.raw_value is None else self.raw_value, "reason": self.rationale, **choice}

    @property
    def json_label(self) -> str | None:
        """The column `given`: the chosen name as JSON; for an element, the JSON of which a view makes a row."""
        name = None if self.name is None else orjson.dumps(self.name).decode()
        if self.element is None:
            return name
        return orjson.dumps([{"value": self.value, "given": name, "status": self.status}]).decode()

    @property
    def kept_value(self) -> float | None:
        """The `value` column of its row; None for an element, whose value is in `given`."""
        return None if self.element is not None else self.value

    @property
    def elements(self) -> str | None:
        """The element with its position, as JSON of the column `elements`."""
        if self.element is None:
            return None
        return orjson.dumps([{"place": self.element.place, "element": orjson.loads(self.element.value)}]).decode()


def imported_condition(evaluator: str, round: str) -> str:
    """Return the SQL condition that a row comes from outside a run, given the SQL of its evaluator and of its round."""
    return f"({round} is not null or starts_with({evaluator}, {sql.text(HUMAN)}))"


def has_imported(paths: Iterable[Path], prints: Collection[str]) -> bool:
    """Return true if the parts contain a judgement from outside a run (`imported_condition`) with one of the
    fingerprints. Raises `StoreError` S0103 if a part cannot be read.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    fingerprints = pa.array(sorted(prints), pa.string())
    for path in paths:
        with open_part(path) as file:
            names = [name for name in ("fingerprint", "evaluator", "round") if name in file.schema_arrow.names]
            for batch in file.iter_batches(columns=names, use_threads=False):
                rows = batch.filter(pc.is_in(batch["fingerprint"], value_set=fingerprints))
                if pc.any(pc.starts_with(rows["evaluator"], HUMAN)).as_py():
                    return True
                if "round" in names and rows["round"].null_count < rows.num_rows:
                    return True
    return False


def imported_score(
    sample: Mapping[str, Any],
    step: Grade,
    metric: str,
    evaluator: str,
    round: int,
    value: float | None,
    rationale: str | None = None,
    said: float | None = None,
    told: str | None = None,
    name: str | None = None,
    status: str = SCORED,
    error: str | None = None,
) -> ImportedScore:
    """Return an imported score as the plan's grading `step` would have given it. `said` is the value in the file,
    `name` the chosen name, `told` the score in a log, as JSON. With a `status` other than "scored" there is no value.
    """
    identity = evaluator, round, sample["sample_id"], sample["binding"]
    return ImportedScore(
        score_id=digest(["imported score", step.fingerprint, metric, *identity]),
        judgement_id=digest(["imported judgement", step.judgement, *identity]),
        sample=sample,
        scorer=step.scorer,
        metric=metric,
        evaluator=evaluator,
        value=value,
        rationale=rationale,
        judgement=step.judgement,
        fingerprint=step.fingerprint,
        key=metric,
        round=round,
        raw_value=said,
        label=told,
        name=name,
        status=status,
        error=error,
    )


@dataclass(frozen=True)
class ScoreChanges:
    """The difference between new scores and a store. `changed`: scores that the store has with another value or
    rationale, each with the stored value.
    """

    new: tuple[ImportedScore, ...]
    changed: tuple[tuple[ImportedScore, float | str | None], ...]
    same: tuple[ImportedScore, ...]
    judgements: Mapping[str, Mapping[str, Any]]
    """The stored judgements of these scores, by id and key: `{"score": 7, "reason": "…"}`."""

    @property
    def fresh(self) -> tuple[ImportedScore, ...]:
        """The scores that are new or changed."""
        return *self.new, *(score for score, _ in self.changed)


@dataclass(frozen=True)
class KeptCounts:
    """How many judgements were new, changed, or the same as before."""

    new: int = 0
    changed: int = 0
    same: int = 0


@contextmanager
def exclusive_import(store: Store) -> Iterator[None]:
    """Exclude other imports of scores inside the context, since an import is compared with the scores in the store.

    Raises `StoreError`: S0506 if another import is running, S0102 if the store cannot be written.
    """
    busy = StoreError("S0506", "another import of scores into this store is under way", "wait for its end")
    if store.bucket is not None:
        with exclusive(store.bucket, "scores") as alone:
            if not alone:
                raise busy
            yield
        return
    try:
        locks = Locks(store.root)
    except OSError as error:
        raise store_write_error(store.root, error) from error
    try:
        if not locks.hold(lock_offset(IMPORT, "scores")):
            raise busy
        yield
    finally:
        locks.close()


def compare_with_store(store: Store, imported: Sequence[ImportedScore]) -> ScoreChanges:
    """Compare scores with the store. Raises what `Store.rows` raises."""
    stored = store.rows("scores", {score.score_id for score in imported if score.other is None}, ["score_id", "value"])
    if comparison_ids := {score.score_id for score in imported if score.other is not None}:
        stored = {**stored, **store.rows("comparisons", comparison_ids, ["comparison_id", "value"])}
    judgements = store.rows("judgements", {score.judgement_id for score in imported}, ["judgement_id", "parsed"])
    parsed = {name: orjson.loads(row["parsed"] or "{}") for name, row in judgements.items()}
    new: list[ImportedScore] = []
    changed: list[tuple[ImportedScore, float | str | None]] = []
    same: list[ImportedScore] = []
    for score in imported:
        row, part = stored.get(score.score_id), parsed.get(score.judgement_id, {}).get(score.key) or {}
        if row is None:
            new.append(score)
        elif row["value"] == score.kept_value and part == score.part:
            same.append(score)
        else:
            changed.append((score, part.get("choice", part.get("status", row["value"]))))
    return ScoreChanges(tuple(new), tuple(changed), tuple(same), parsed)


def changed_rows(changes: ScoreChanges, source: str | None, now: datetime) -> dict[str, list[Row]]:
    """Return the rows of `judgements`, `scores` and `comparisons` that add the new and changed scores. `source` is the
    imported file.
    """
    parsed = {score.judgement_id: dict(changes.judgements.get(score.judgement_id, {})) for score in changes.fresh}
    judgements: dict[str, Row] = {}
    for score in changes.fresh:
        parsed[score.judgement_id][score.key] = score.part
        judgements[score.judgement_id] = _judgement(score, source, now)
    for name, row in judgements.items():
        row["parsed"] = orjson.dumps(parsed[name], option=orjson.OPT_SORT_KEYS).decode()
    scores = [_score(score, now) for score in changes.fresh if score.other is None]
    comparisons = [_comparison(score, score.other, now) for score in changes.fresh if score.other is not None]
    rows = {"judgements": list(judgements.values()), "scores": scores}
    return rows if not comparisons else {**rows, "comparisons": comparisons}


def store_scores(store: Store, imported: Sequence[ImportedScore], now: datetime) -> KeptCounts:
    """Store scores in one commit, all or none. Unchanged scores are not written again; a score with another value or
    reason replaces the earlier one. `now` has a zone.

    Raises `StoreError`: S0102 if nothing can be written, S0105 if a row does not fit its table.
    """
    changes = compare_with_store(store, imported)
    fresh, all_ids = ({score.judgement_id for score in scores} for scores in (changes.fresh, imported))
    if fresh:
        store.append(changed_rows(changes, None, now))
    return KeptCounts(
        len(fresh - changes.judgements.keys()), len(fresh & changes.judgements.keys()), len(all_ids - fresh)
    )


def _common(score: ImportedScore, now: datetime) -> Row:
    """Return the columns that the rows of a score have in all three tables."""
    names = ("sample_id", "run_id", "benchmark", "scenario", "item_id", "binding")
    own = {"scorer": score.scorer, "evaluator": score.evaluator, "round": score.round, "created_at": now}
    return {**{name: score.sample[name] for name in names}, **own, "judgement_id": score.judgement_id}


def _judgement(score: ImportedScore, source: str | None, now: datetime) -> Row:
    """Return the row of `judgements`, without `parsed`."""
    own = {"fingerprint": score.judgement, "source": source, "drawn_of": score.drawn_of, "reply": score.label}
    return {**_common(score, now), **own, "messages": "[]", "status": "ok", "attempts": 0}


def _score(score: ImportedScore, now: datetime) -> Row:
    """Return the row of `scores`."""
    own = {
        "score_id": score.score_id,
        "model": score.sample["model"],
        "scorer": score.scorer if score.element is None else score.metric,  # elements are scored by an expression
        "metric": score.metric,
        "value": score.kept_value,
        "given": score.json_label,
        "elements": score.elements,
        "status": score.status,
        "error": score.error,
        "fingerprint": score.fingerprint,
    }
    return {**_common(score, now), **own}


def _comparison(score: ImportedScore, other: OtherShown, now: datetime) -> Row:
    """Return the row of `comparisons`."""
    own = {"comparison_id": score.score_id, "step": other.step, "fingerprint": score.fingerprint, "status": "scored"}
    own |= {"first_model": score.sample["model"], "second_model": other.model}
    own |= {"first_sample_id": score.sample["sample_id"], "second_sample_id": other.sample_id}
    result = {"value": score.value, "given": score.json_label}
    common = {name: value for name, value in _common(score, now).items() if name != "sample_id"}
    return {**common, **own, **result}
