"""Scores that were given elsewhere, as rows of the store: named by what they are about, and never by their value.

So the same scores have the same names however often they are imported, and a score that was changed in the file is
seen as one that was changed. A row that is imported again counts instead of the one before, as of all doubles the
last one does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from tripos_compiler.plan import Grade, digest
from tripos_warehouse.errors import StoreError
from tripos_warehouse.locks import IMPORT, Locks, place_of
from tripos_warehouse.store import Store, unwritable

Row = dict[str, Any]


@dataclass(frozen=True)
class GivenScore:
    """A score of one reply by one evaluator in one round. `sample` has the columns `sample_id`, `run_id`, `benchmark`,
    `scenario`, `item_id` and `model` of the reply; `step` is the one in whose place the score stands."""

    sample: Mapping[str, Any]
    step: Grade
    metric: str
    evaluator: str
    round: int
    value: float
    rationale: str | None = None

    @property
    def score_id(self) -> str:
        """The name of the score."""
        return digest(["imported score", self.step.fingerprint, self.metric, *self._about])

    @property
    def judgement_id(self) -> str:
        """The name of the judgement that it is part of."""
        return digest(["imported judgement", self.step.judgement, *self._about])

    @property
    def _about(self) -> tuple[str, int, str]:
        return self.evaluator, self.round, self.sample["sample_id"]


@dataclass(frozen=True)
class Difference:
    """What an import would do to a store. `changed` are scores that the store has with another value or rationale,
    each with the value that is there."""

    new: tuple[GivenScore, ...]
    changed: tuple[tuple[GivenScore, float | None], ...]
    same: tuple[GivenScore, ...]
    judgements: Mapping[str, Mapping[str, Any]]
    """What the store has of the judgements that these are part of, by metric: `{"score": 7, "reason": "…"}`."""


@contextmanager
def alone(store: Store) -> Iterator[None]:
    """Keeps other imports of scores out of a store: each builds on what it finds there.

    Raises `StoreError`: W0506 while another one is at work, W0102 where the store cannot be written.
    """
    try:
        locks = Locks(store.root)
    except OSError as error:
        raise unwritable(store.root, error) from error
    try:
        if not locks.hold(place_of(IMPORT, "scores")):
            raise StoreError("W0506", "another import of scores into this store is under way", "wait for its end")
        yield
    finally:
        locks.close()


def difference(store: Store, given: Sequence[GivenScore]) -> Difference:
    """What of these scores the store has not, has otherwise, and has. Raises `StoreError` as `Store.rows` does."""
    kept = store.rows("scores", {each.score_id for each in given}, ["score_id", "value"])
    judged = store.rows("judgements", {each.judgement_id for each in given}, ["judgement_id", "parsed"])
    told = {name: orjson.loads(row["parsed"] or "{}") for name, row in judged.items()}
    new: list[GivenScore] = []
    changed: list[tuple[GivenScore, float | None]] = []
    same: list[GivenScore] = []
    for each in given:
        row = kept.get(each.score_id)
        if row is None:
            new.append(each)
        elif row["value"] == each.value and _reason(told, each) == each.rationale:
            same.append(each)
        else:
            changed.append((each, row["value"]))
    return Difference(tuple(new), tuple(changed), tuple(same), told)


def imported_rows(found: Difference, source: str, now: datetime) -> dict[str, list[Row]]:
    """The rows of `judgements` and `scores` that bring a store to what was given. `source` is the file."""
    fresh = [*found.new, *(each for each, _ in found.changed)]
    parsed = {each.judgement_id: dict(found.judgements.get(each.judgement_id, {})) for each in fresh}
    judgements: dict[str, Row] = {}
    for each in fresh:
        parsed[each.judgement_id][each.metric] = {"score": each.value, "reason": each.rationale}
        judgements[each.judgement_id] = _judgement(each, source, now)
    for name, row in judgements.items():
        row["parsed"] = orjson.dumps(parsed[name], option=orjson.OPT_SORT_KEYS).decode()
    return {"judgements": list(judgements.values()), "scores": [_score(each, now) for each in fresh]}


def _reason(told: Mapping[str, Any], each: GivenScore) -> str | None:
    part = told.get(each.judgement_id, {}).get(each.metric)
    return part.get("reason") if isinstance(part, dict) else None


def _common(each: GivenScore, now: datetime) -> Row:
    names = ("sample_id", "run_id", "benchmark", "scenario")
    own = {"scorer": each.step.scorer, "evaluator": each.evaluator, "round": each.round, "created_at": now}
    return {**{name: each.sample[name] for name in names}, **own, "judgement_id": each.judgement_id}


def _judgement(each: GivenScore, source: str, now: datetime) -> Row:
    own = {"fingerprint": each.step.judgement, "source": source}
    return {**_common(each, now), **own, "messages": "[]", "status": "ok", "attempts": 0}


def _score(each: GivenScore, now: datetime) -> Row:
    own = {"score_id": each.score_id, "item_id": each.sample["item_id"], "model": each.sample["model"]}
    told = {"metric": each.metric, "value": each.value, "status": "scored", "fingerprint": each.step.fingerprint}
    return {**_common(each, now), **own, **told}
