"""A large store of EduBench, made by our own writer: what the measurements of queries are taken on."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.warehouse.bound import bound
from tripos.runs.compilation import find_spec
from tripos_compiler.plan import Ask, Grade, Plan, Scenario
from tripos_warehouse.maintenance.compaction import compact
from tripos_warehouse.store.store import Store

SPEC = Path(__file__).parents[2] / "specs/edubench/shipped.tripos"
AT = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)
MODELS = tuple(f"openai/model-{letter}" for letter in "abcde")
JUDGES = ("openai/judge", "anthropic/judge")
BATCH = 2_000
WORDS = (
    *("the", "answer", "of", "a", "pupil", "shows", "that", "step", "two", "was", "left", "out", "because", "signs"),
    *("这道题", "change", "when", "terms", "move", "over", "and", "formula", "holds", "for", "every", "triangle"),
)
Row = dict[str, Any]


def build(root: Path, samples: int, *, seed: int = 0) -> Store:
    """Return a store with so many samples, about ten scores each by two judges, as a run leaves it: compacted."""
    store = Store.open(root, create=True)
    plan = find_spec(str(SPEC)).compile().plan
    assert plan is not None
    chance = random.Random(seed)
    items = list(_items(plan, samples // len(MODELS), chance))
    store.append(
        bound(
            {"runs": [_run(plan)], "items": [row for _, row in items], "run_items": [_listed(row) for _, row in items]}
        )
    )
    rows: dict[str, list[Row]] = {"samples": [], "judgements": [], "scores": []}
    for scenario, item in items:
        for model in MODELS:
            _answer(plan, scenario, item, model, chance, rows)
        if len(rows["samples"]) >= BATCH:
            store.append(bound(rows))
            rows = {name: [] for name in rows}
    store.append(bound(rows) | {"run_ends": [_end(samples)]})
    compact(store)
    return store


def name(*parts: object) -> str:
    """Return a name such as results have."""
    return hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest()


def _run(plan: Plan) -> Row:
    fingerprints = sorted(set().union(*(scenario.fingerprints for scenario in plan.scenarios)))
    return {
        "run_id": "large",
        "items_of": "large",
        "benchmark": plan.benchmark.name,
        "version": plan.benchmark.version,
        "plan_digest": plan.digest,
        "plan": plan.to_json(),
        "fingerprints": fingerprints,
        "roles": json.dumps({"candidate": MODELS, "judge": JUDGES}),
        "compared_role": "candidate",
        "models": list(MODELS),
        "scenarios": [scenario.name for scenario in plan.scenarios],
        "options": "{}",
        "tool_version": "0.1.0",
        "started_at": AT,
    }


def _end(samples: int) -> Row:
    told = {"run_id": "large", "status": "finished", "message": None, "asked": samples * 3, "reused": 0, "failed": 0}
    return {**told, "cost_usd": samples * 0.004, "finished_at": AT + timedelta(hours=5)}


def _listed(item: Row) -> Row:
    return {"run_id": "large", "scenario": item["scenario"], "item_id": item["item_id"]}


def _items(plan: Plan, count: int, chance: random.Random) -> Iterator[tuple[Scenario, Row]]:
    axes = {axis.name: [value.name for value in axis.values] for axis in plan.axes}
    for number in range(count):
        scenario = plan.scenarios[number % len(plan.scenarios)]
        context = {axis: chance.choice(axes[axis]) for axis in scenario.axes}
        yield (
            scenario,
            {
                "item_id": name("item", number),
                "benchmark": plan.benchmark.name,
                "scenario": scenario.name,
                "dataset": "items",
                "language": context["language"],
                "context": context,
                "fields": json.dumps({"question": _text(chance, 30)}, ensure_ascii=False),
            },
        )


def _text(chance: random.Random, words: int) -> str:
    return " ".join(chance.choices(WORDS, k=words))


def _answer(
    plan: Plan, scenario: Scenario, item: Row, model: str, chance: random.Random, rows: dict[str, list[Row]]
) -> None:
    """A reply of a model and its judgements: one call in two hundred fails, one reply in fifty is cut short."""
    ask = next(step for step in scenario.steps if isinstance(step, Ask))
    grade = next(step for step in scenario.steps if isinstance(step, Grade))
    drawn = chance.random()
    status = "provider_error" if drawn < 0.005 else "truncated" if drawn < 0.025 else "ok"
    key = {"run_id": "large", "benchmark": plan.benchmark.name, "scenario": scenario.name}
    sample_id = name("sample", item["item_id"], model)
    about = {**key, "item_id": item["item_id"]}
    sent = json.dumps([{"role": "user", "content": json.loads(item["fields"])["question"]}], ensure_ascii=False)
    rows["samples"].append(
        {
            **about,
            **_call(status, chance),
            "sample_id": sample_id,
            "step": ask.name,
            "fingerprint": ask.fingerprint,
            "context": item["context"],
            "role": "candidate",
            "model": model,
            "model_served": model,
            "sample_number": 0,
            "messages": sent,
            "reply": None if status == "provider_error" else _text(chance, chance.randint(40, 160)),
            "parsed": None,
        }
    )
    asked = grade.metrics if hasattr(grade, "metrics") else ()
    metrics = list(asked) or [metric.name for metric in plan.metrics[:5]]
    strength = MODELS.index(model)
    for judge in JUDGES:
        judgement_id = name("judgement", sample_id, judge)
        given = {
            metric: {"score": max(1, min(10, round(chance.gauss(6 + strength / 2, 2)))), "reason": _text(chance, 12)}
            for metric in metrics
        }
        good = status == "ok"
        rows["judgements"].append(
            {
                **key,
                **_call("ok" if good else "upstream_error", chance),
                "judgement_id": judgement_id,
                "sample_id": sample_id,
                "item_id": item["item_id"],
                "scorer": grade.scorer,
                "fingerprint": grade.judgement,
                "evaluator": judge,
                "model_served": None,
                "messages": sent,
                "reply": json.dumps(given, ensure_ascii=False) if good else None,
                "parsed": json.dumps(given, ensure_ascii=False) if good else None,
            }
        )
        rows["scores"] += [
            {
                **about,
                "score_id": name("score", judgement_id, metric),
                "sample_id": sample_id,
                "judgement_id": judgement_id,
                "model": model,
                "scorer": grade.scorer,
                "metric": metric,
                "evaluator": judge,
                "value": float(said["score"]) if good else None,
                "status": "scored" if good else "upstream_error",
                "fingerprint": grade.fingerprint,
                "created_at": AT,
            }
            for metric, said in given.items()
        ]


def _call(status: str, chance: random.Random) -> Row:
    failed = status in ("provider_error", "upstream_error")
    return {
        "status": status,
        "error": "the endpoint answered 500" if failed else None,
        "finish_reason": None if failed else "length" if status == "truncated" else "stop",
        "attempts": 1,
        "tokens_in": None if failed else 180,
        "tokens_out": None if failed else chance.randint(60, 240),
        "tokens_reasoning": None,
        "thinking": None,
        "cost_usd": None if failed else chance.randint(1, 30) / 10_000,
        "latency_s": None if failed else round(chance.lognormvariate(0, 0.5), 3),
        "created_at": AT,
    }
