"""Result sets with a known truth: scores and columns of a compiled spec, written as a run would write them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.warehouse.bound import bound
from tripos_compiler.plan import Column, Grade, Plan, Score
from tripos_runtime.asking.judging import score_columns
from tripos_runtime.program.steps import kept_value
from tripos_warehouse.measures.evaluation import evaluate
from tripos_warehouse.measures.measure_rows import MeasureRow, MeasureTable
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

AT = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)


def digest(*parts: object) -> str:
    """Return a name such as results have."""
    return hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest()


@dataclass
class Results:
    """What a run of `plan` found, to be written to a store."""

    plan: Plan
    models: tuple[str, ...] = ("m",)
    judges: tuple[str, ...] = ("j1",)
    scores: list[dict[str, Any]] = field(default_factory=list)
    items: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    drawn: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Judgements by people of replies that were drawn at random."""

    def item(
        self, scenario: str, item: str, fields: Mapping[str, Any] | None = None, axes: Mapping[str, str] | None = None
    ) -> None:
        """Add an item."""
        self.items[scenario, item] = {
            "item_id": item,
            "benchmark": self.plan.benchmark.name,
            "scenario": scenario,
            "dataset": None,
            "language": self.plan.benchmark.languages[0],
            "context": dict(axes or {}),
            "fields": json.dumps(dict(fields or {}), ensure_ascii=False),
        }

    def add(
        self,
        scenario: str,
        step: str,
        item: str,
        value: Any,
        *,
        model: str = "m",
        number: int = 0,
        metric: str | None = None,
        evaluator: str | None = None,
        round: int | None = None,
        arms: Mapping[str, str] | None = None,
        status: str | None = None,
        drawn_of: int | None = None,
    ) -> None:
        """Add a score, or a column, of the `number`-th reply to an item; by a person of one that was `drawn_of` so
        many."""
        if (scenario, item) not in self.items:
            self.item(scenario, item)
        found = self._step(scenario, step, arms or {})
        number_kept, given = (value, None)
        if isinstance(found, Column):
            number_kept, given = kept_value(value)
        elif isinstance(found, Grade):
            number_kept, given = score_columns(self.plan.scorer(found.scorer), value)
        sample = digest("sample", scenario, item, model, number, sorted((arms or {}).items()))
        self.scores.append(
            {
                "score_id": digest(found.fingerprint, sample, metric, evaluator, round),
                "sample_id": sample,
                "judgement_id": digest(sample, evaluator, round) if evaluator else None,
                "run_id": "r1",
                "benchmark": self.plan.benchmark.name,
                "scenario": scenario,
                "item_id": item,
                "model": model,
                "scorer": found.scorer if isinstance(found, Grade) else found.name,
                "metric": metric or found.name,
                "evaluator": evaluator,
                "round": round,
                "value": number_kept,
                "given": given,
                "status": status or ("parse_failure" if value is None else "scored"),
                "fingerprint": found.fingerprint,
                "created_at": AT,
            }
        )

        if drawn_of is not None and isinstance(found, Grade):
            own = self.scores[-1]
            names = ("judgement_id", "sample_id", "run_id", "benchmark", "scenario", "item_id", "scorer", "evaluator")
            call = {"messages": "[]", "status": "ok", "attempts": 0, "created_at": AT, "fingerprint": found.judgement}
            self.drawn[own["judgement_id"]] = {**{name: own[name] for name in names}, **call, "drawn_of": drawn_of}

    def _step(self, scenario: str, name: str, arms: Mapping[str, str]) -> Score | Column | Grade:
        for one in self.plan.scenarios:
            for treatment in one.treatments if one.name == scenario else ():
                if all(treatment.arms.get(arm) == value for arm, value in arms.items()):
                    for step in treatment.steps:
                        if isinstance(step, Score | Column | Grade) and step.name == name:
                            return step
        raise KeyError(name)

    def write(self, store: Store, samples: Sequence[Mapping[str, Any]] = ()) -> None:
        """Write the run with all of it, and with the replies `samples`."""
        roles = {role.name: list(self.models if role.kind == "compared" else self.judges) for role in self.plan.roles}
        compared = next(role.name for role in self.plan.roles if role.kind == "compared")
        fingerprints = sorted(
            {
                each
                for scenario in self.plan.scenarios
                for step in scenario.steps
                for each in (step.fingerprint, getattr(step, "judgement", step.fingerprint))
            }
        )
        rows = {
            "runs": [
                {
                    "run_id": "r1",
                    "items_of": "r1",
                    "benchmark": self.plan.benchmark.name,
                    "version": self.plan.benchmark.version,
                    "plan_digest": self.plan.digest,
                    "plan": self.plan.to_json(),
                    "fingerprints": fingerprints,
                    "roles": json.dumps(roles),
                    "compared_role": compared,
                    "models": list(self.models),
                    "scenarios": [scenario.name for scenario in self.plan.scenarios],
                    "options": "{}",
                    "tool_version": "0.1.0",
                    "started_at": AT,
                }
            ],
            "run_ends": [
                {
                    "run_id": "r1",
                    "status": "finished",
                    "message": None,
                    "asked": 0,
                    "reused": 0,
                    "failed": 0,
                    "cost_usd": None,
                    "finished_at": AT + timedelta(minutes=1),
                }
            ],
            "run_items": [{"run_id": "r1", "scenario": s, "item_id": i} for s, i in self.items],
            "items": list(self.items.values()),
            "judgements": list(self.drawn.values()),
            "scores": self.scores,
            "samples": samples,
        }
        store.append(bound(rows))


def measured(store: Store, plan: Plan, name: str) -> MeasureTable:
    """Return a measure of the plan over what the store has."""
    with connect(store) as connection:
        return evaluate(connection, plan, next(each for each in plan.measures if each.name == name))


def single(store: Store, plan: Plan, name: str) -> MeasureRow:
    """Return the one value of a measure."""
    [row] = measured(store, plan, name).rows
    return row
