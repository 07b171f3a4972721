"""Grades that came from outside a run, kept as the judgements and scores that a judge's reply would have become."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from tripos_warehouse.runs import Run
from tripos_warehouse.schemas import JUDGEMENTS, SCORES
from tripos_warehouse.store import Store


@dataclass(frozen=True)
class Given:
    """A score: its id, its value on the metric's scale, and `key`, what it is called in `judgements.parsed`."""

    score_id: str
    metric: str
    value: float
    key: str
    reason: str | None = None


@dataclass(frozen=True)
class Grade:
    """What an evaluator gave a reply. `judgement` is the fingerprint of a judge's reply, and `fingerprint` that of the
    scores, as in the plan of the run: so they count where the scores of a model do."""

    judgement_id: str
    sample_id: str
    scenario: str
    item_id: str
    model: str
    scorer: str
    evaluator: str
    judgement: str
    fingerprint: str
    given: tuple[Given, ...]


@dataclass(frozen=True)
class Kept:
    """How many grades of replies were new, were changed since they were kept before, or are as they were."""

    new: int = 0
    changed: int = 0
    same: int = 0


def keep_grades(store: Store, run: Run, grades: Sequence[Grade], at: datetime) -> Kept:
    """Keeps grades of a run's replies in one commit: all of them or none.

    What is kept already is not kept again; a grade whose values or reasons differ takes the place of the earlier one.
    `at` is the time, with a zone. Raises `StoreError`: W0102 where the disk refuses, W0105 for a row that fits none.
    """
    known = store.rows(JUDGEMENTS.name, (grade.judgement_id for grade in grades), ["parsed"])
    scores = store.rows(SCORES.name, (each.score_id for grade in grades for each in grade.given), ["value"])
    new = changed = 0
    rows: dict[str, list[dict[str, Any]]] = {JUDGEMENTS.name: [], SCORES.name: []}
    for grade in grades:
        before = known.get(grade.judgement_id)
        if before is not None and before["parsed"] == _parsed(grade.given) and _has_all(scores, grade.given):
            continue
        new, changed = (new + 1, changed) if before is None else (new, changed + 1)
        rows[JUDGEMENTS.name].append(_judgement(run, grade, at))
        rows[SCORES.name] += [_score(run, grade, each, at) for each in grade.given]
    if new or changed:
        store.append(rows)
    return Kept(new, changed, len(grades) - new - changed)


def _has_all(scores: Mapping[str, Mapping[str, Any]], given: Iterable[Given]) -> bool:
    return all(each.score_id in scores and scores[each.score_id]["value"] == each.value for each in given)


def _parsed(given: Iterable[Given]) -> str:
    said = {each.key: {"score": each.value, "reason": each.reason} for each in given}
    return orjson.dumps(said, option=orjson.OPT_SORT_KEYS).decode()


def _judgement(run: Run, grade: Grade, at: datetime) -> dict[str, Any]:
    return {
        "judgement_id": grade.judgement_id,
        "sample_id": grade.sample_id,
        "run_id": run.run_id,
        "benchmark": run.benchmark,
        "scenario": grade.scenario,
        "scorer": grade.scorer,
        "fingerprint": grade.judgement,
        "evaluator": grade.evaluator,
        "model_served": None,
        "messages": "[]",
        "reply": None,
        "parsed": _parsed(grade.given),
        "status": "ok",
        "error": None,
        "finish_reason": None,
        "attempts": 1,
        "tokens_in": None,
        "tokens_out": None,
        "tokens_reasoning": None,
        "cost_usd": None,
        "latency_s": None,
        "created_at": at,
    }


def _score(run: Run, grade: Grade, given: Given, at: datetime) -> dict[str, Any]:
    return {
        "score_id": given.score_id,
        "sample_id": grade.sample_id,
        "judgement_id": grade.judgement_id,
        "run_id": run.run_id,
        "benchmark": run.benchmark,
        "scenario": grade.scenario,
        "item_id": grade.item_id,
        "model": grade.model,
        "scorer": grade.scorer,
        "metric": given.metric,
        "evaluator": grade.evaluator,
        "value": given.value,
        "status": "scored",
        "fingerprint": grade.fingerprint,
        "created_at": at,
    }
