"""Scores from people and files, carried over to other runs that have the same replies.

A grade by a person or a file is a judgement, like a judge's reply: it applies to every plan that asks the same. Scores
also depend on the plan: on their name, their condition and the treatment of values outside the scale. So they are
derived anew from the judgements at the end of each run, and whenever new judgements concern replies in runs of other
plans.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import orjson

from tripos.annotation.replies import RunReplies
from tripos.importing.rows import InvalidValue
from tripos.importing.scores import gradable, replies_of
from tripos_compiler.plan import Grade, Plan
from tripos_runtime.drivers.lookup import imported_bindings
from tripos_runtime.program.binding import RoleBinding
from tripos_warehouse.errors import StoreError
from tripos_warehouse.ledger.imported_scores import (
    ImportedScore,
    changed_rows,
    compare_with_store,
    has_imported,
    imported_condition,
    imported_score,
)
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.store.schemas import JUDGEMENTS
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect, connect_run
from tripos_warehouse.views.runs import RunRecord, get_plan


class _ImportedJudgement(NamedTuple):
    """A judgement by a person or a file. `parsed` has its values by the key of each score."""

    judgement_id: str
    sample_id: str
    fingerprint: str
    binding: str
    evaluator: str
    round: int | None
    parsed: dict[str, Any]


def carry_over_scores(store: Store, plan: Plan, run_id: str) -> int:
    """Write the scores of a run's replies that follow from judgements by people and files, if the store lacks them or
    has other values. Return their number. Raises `StoreError` as `connect_run` and `append` do."""
    fingerprints = {step.judgement for step in _grades(plan)}
    if not _any_imported(store, fingerprints):
        return 0
    connection, run = connect_run(store, run_id)
    with connection:
        judgements = _imported_judgements(connection, fingerprints)
        scores = [*_by_people(connection, plan, run, judgements), *_imported(connection, plan, run, judgements)]
    changes = compare_with_store(store, scores)
    if changes.fresh:  # the judgements stay unchanged
        store.append({"scores": changed_rows(changes, None, store.next_time())["scores"]})
    return len(changes.fresh)


def carry_to_other_runs(store: Store, imported: Sequence[ImportedScore]) -> None:
    """Write the scores that follow from new judgements to other runs with the same replies."""
    if not imported:
        return
    judgements, fingerprints, bindings = (
        sorted({getattr(score, name) for score in imported}) for name in ("judgement", "fingerprint", "said_of")
    )
    connection = connect(store)
    with connection:
        runs = connection.execute(
            """select distinct scored.run_id
            from main.run_steps as asked join main.run_steps as scored using (run_id, scenario, binding)
            where list_contains($judgements, asked.fingerprint) and list_contains($bindings, asked.binding)
              and not list_contains($judgements, scored.fingerprint)
              and not list_contains($fingerprints, scored.fingerprint)
            order by all""",
            {"judgements": judgements, "fingerprints": fingerprints, "bindings": bindings},
        ).fetchall()
    for (run_id,) in runs:
        connection, run = connect_run(store, run_id)
        with connection:
            plan = get_plan(connection, run)
        carry_over_scores(store, plan, run_id)


def _grades(plan: Plan) -> Iterator[Grade]:
    for scenario in plan.scenarios:
        for treatment in scenario.treatments:
            yield from (step for step in treatment.steps if isinstance(step, Grade))


def _any_imported(store: Store, fingerprints: set[str]) -> bool:
    """Return true if a store has a judgement by people or files for these fingerprints, without opening all of it."""
    try:
        return bool(fingerprints) and has_imported(store.parts(JUDGEMENTS.name), fingerprints)
    except StoreError:  # opening the store reports the error
        return True


def _imported_judgements(connection: Connection, fingerprints: Iterable[str]) -> list[_ImportedJudgement]:
    rows = connection.execute(
        f"""select judgement_id, sample_id, fingerprint, binding, evaluator, round, parsed from main.judgements
        where {imported_condition("evaluator", "round")} and list_contains($fingerprints, fingerprint)
          and sample_id is not null
        order by judgement_id""",
        {"fingerprints": sorted(fingerprints)},
    ).fetchall()
    return [
        _ImportedJudgement(name, sample, fingerprint, binding, evaluator, round_, orjson.loads(parsed or "{}"))
        for name, sample, fingerprint, binding, evaluator, round_, parsed in rows
    ]


def _by_people(
    connection: Connection, plan: Plan, run: RunRecord, every: Sequence[_ImportedJudgement]
) -> Iterator[ImportedScore]:
    """Yield the scores from people's judgements of replies that could be assigned to them."""
    judgements = {judgement.judgement_id: judgement for judgement in every if judgement.round is None}
    roles = {plan.scorer(step.scorer).role for step in _grades(plan) if plan.scorer(step.scorer).writes}
    for evaluator in sorted({judgement.evaluator for judgement in judgements.values()}):
        for role in sorted(roles - {run.compared_role}):
            replies = RunReplies(connection, plan, run, role, evaluator)
            gradable_replies = [
                candidate for candidate in replies.candidates(pairs=False) if candidate.judgement_id in judgements
            ]
            views = replies.views(
                [score for gradable_reply in gradable_replies for score in (gradable_reply, *gradable_reply.also)]
            )
            for reply in (view.of for view in views):
                about = {"sample_id": reply.sample_id, "run_id": run.run_id, "benchmark": run.benchmark}
                about |= {"scenario": reply.scenario, "item_id": reply.unit.case.item_id}
                about |= {"model": reply.model, "binding": reply.binding}
                for mark in reply.marks:
                    value, reason = _value_and_reason(judgements[reply.judgement_id], mark.key)
                    worth, name = dict(mark.choices), None
                    if mark.choices and value in worth:
                        value, name = worth[str(value)], str(value)
                    elif not isinstance(value, float | int) or mark.choices or not mark.allows(value):
                        continue
                    yield ImportedScore(
                        score_id=mark.score_id,
                        judgement_id=reply.judgement_id,
                        sample=about,
                        scorer=reply.step.scorer,
                        metric=mark.metric,
                        evaluator=evaluator,
                        value=value,
                        rationale=reason,
                        judgement=reply.step.judgement,
                        fingerprint=reply.step.fingerprint,
                        key=mark.key,
                        name=name,
                    )


def _imported(
    connection: Connection, plan: Plan, run: RunRecord, every: Sequence[_ImportedJudgement]
) -> Iterator[ImportedScore]:
    """Yield the scores from imported ratings, as far as they are on the plan's scales."""
    by_reply: dict[tuple[str, str, str], list[tuple[int, _ImportedJudgement]]] = {}
    for judgement in every:
        if judgement.round is not None:
            key = judgement.sample_id, judgement.fingerprint, judgement.binding
            by_reply.setdefault(key, []).append((judgement.round, judgement))
    if not by_reply:
        return
    places = gradable(plan)
    bindings = imported_bindings(plan, RoleBinding(run.roles, run.compared_role, run.identities))
    arms = [arm.name for arm in plan.arms]
    for reply in replies_of(connection, plan, run, arms, places):
        for metric, by_scorer in places[reply.place].items():
            for graded_metric in by_scorer:
                for step in graded_metric.steps:
                    binding = bindings[step.fingerprint, reply.sample["binding"]]
                    sample = {**reply.sample, "binding": binding}
                    for round_, judgement in by_reply.get((reply.sample["sample_id"], step.judgement, binding), ()):
                        value, reason = _value_and_reason(judgement, metric)
                        if (failed := _failure(judgement, metric)) is not None:
                            yield imported_score(
                                sample, step, metric, judgement.evaluator, round_, None, reason, **failed
                            )
                        if value is None:
                            continue
                        try:
                            on_scale, name = graded_metric.scale.read(value), graded_metric.scale.chosen(value)
                        except InvalidValue:
                            continue
                        number = value if isinstance(value, float | int) else None
                        about = (judgement.evaluator, round_, on_scale, reason, number)
                        yield imported_score(sample, step, metric, *about, name=name)


def _failure(judgement: _ImportedJudgement, key: str) -> dict[str, Any] | None:
    """Return the status and the error of a score without a value, or None if the file had none."""
    part = judgement.parsed.get(key)
    if not isinstance(part, dict) or not part.get("status"):
        return None
    return {name: part.get(name) for name in ("status", "error")}


def _value_and_reason(judgement: _ImportedJudgement, key: str) -> tuple[float | str | None, str | None]:
    """Return the value or choice, and the reason, of one score of a judgement."""
    part = judgement.parsed.get(key)
    return (part.get("choice", part.get("score")), part.get("reason")) if isinstance(part, dict) else (None, None)
