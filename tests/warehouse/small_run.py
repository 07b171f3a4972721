"""A small benchmark and the rows of its runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from tripos_compiler.plan import (
    Aggregate,
    Ask,
    Axis,
    AxisValue,
    Benchmark,
    Grade,
    Measure,
    Metric,
    Plan,
    Role,
    Scenario,
    Scorer,
    Template,
    Treatment,
)

START = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)
FRESH_ASK, FRESH_GRADE, STALE = "fa" * 16, "f9" * 16, "0d" * 16
Rows = dict[str, list[dict[str, Any]]]


def measure(name: str, by: tuple[str, ...]) -> Measure:
    """A mean of all scores of the rubric."""
    return Measure(name=name, by=by, low=1, high=10, figure=Aggregate(function="mean", values=("rubric",), by=by))


def small_plan() -> Plan:
    """Return the plan of the benchmark."""

    def metric(name: str, chinese: str, dimension: str) -> Metric:
        title = {"zh": chinese, "en": name.replace("_", " ").capitalize()}
        return Metric(name=name, title=title, dimension=dimension, low=1, high=10, asks={}, levels=())

    ask = Ask(name="answer", role="candidate", prompt={"zh": Template(parts=("问",))}, fingerprint=FRESH_ASK)
    grade = Grade(
        name="rubric",
        scorer="rubric",
        args={},
        of="answer",
        needs=("answer",),
        metrics=("instruction_following", "accuracy"),
        judgement=FRESH_GRADE,
        fingerprint=FRESH_GRADE,
    )
    subjects = [("maths", "数学"), ("history", "历史")]
    return Plan(
        benchmark=Benchmark(name="edubench", version="1.2.0", title="教育场景基准", languages=("zh", "en")),
        roles=(Role(name="candidate", kind="compared"), Role(name="judge", kind="single")),
        axes=(
            Axis(name="subject", values=tuple(AxisValue(name=name, labels={"zh": label}) for name, label in subjects)),
            Axis(name="level", values=(AxisValue(name="primary", labels={"zh": "小学"}),)),
        ),
        metrics=(
            metric("instruction_following", "指令遵循与任务完成", "scenario_adaptation"),
            metric("accuracy", "事实准确性", "factuality"),
        ),
        datasets=(),
        scenarios=(
            Scenario(
                name="QA",
                title="问题解答",
                axes=("subject", "level"),
                cells=2,
                rows=None,
                row_count=4,
                treatments=(Treatment(steps=(ask, grade)),),
            ),
        ),
        scorers=(Scorer(name="rubric", role="judge", params={}, prompt={}, gives=None),),
        measures=(measure("overall", ()), measure("by_metric", ("metric",)), measure("by_subject", ("subject",))),
        calls=(),
    )


def rows_of_run(
    plan: Plan,
    run_id: str,
    models: tuple[str, ...] = ("openai/gpt", "qwen/大模型"),
    *,
    items: int = 4,
    fingerprints: tuple[str, str] = (FRESH_ASK, FRESH_GRADE),
    judge: str = "openai/judge",
    value: Callable[[int, int], float] = lambda model, item: 5.0 + model + item % 3,
    minutes: int = 0,
    status: str = "ok",
) -> Rows:
    """Return the rows of one run: `items` questions for each model, a judgement each, two scores each."""
    at = START + timedelta(minutes=minutes)
    asked, graded = fingerprints
    rows: Rows = {name: [] for name in ("runs", "run_ends", "run_items", "items", "samples", "judgements", "scores")}
    rows["runs"].append(
        {
            "run_id": run_id,
            "items_of": run_id,
            "benchmark": "edubench",
            "version": plan.benchmark.version,
            "plan_digest": plan.digest,
            "plan": plan.to_json(),
            "fingerprints": list(fingerprints),
            "roles": json.dumps({"candidate": models, "judge": [judge]}),
            "compared_role": "candidate",
            "models": list(models),
            "scenarios": ["QA"],
            "options": "{}",
            "tool_version": "0.1.0",
            "started_at": at,
        }
    )
    rows["run_ends"].append(
        {
            "run_id": run_id,
            "status": "finished",
            "message": None,
            "asked": items * len(models),
            "reused": 0,
            "failed": 0,
            "cost_usd": 0.125,
            "finished_at": at + timedelta(minutes=1),
        }
    )
    for item in range(items):
        context = {"subject": ("maths", "history")[item % 2], "level": "primary"}
        key = {"benchmark": "edubench", "scenario": "QA", "item_id": f"i{item}"}
        rows["run_items"].append({"run_id": run_id, "scenario": "QA", "item_id": f"i{item}"})
        rows["items"].append({**key, "dataset": None, "language": "zh", "context": context, "fields": "{}"})
        for number, model in enumerate(models):
            sample_id = f"{asked[:4]}-{model}-i{item}"
            judged = f"{sample_id}-{graded[:4]}-{judge}"
            failed = status != "ok"
            call = {
                "status": status,
                "error": "boom" if failed else None,
                "finish_reason": None if failed else "stop",
                "attempts": 1,
                "tokens_in": 10,
                "tokens_out": 5,
                "cost_usd": None,
                "latency_s": 0.5,
                "created_at": at,
            }
            rows["samples"].append(
                {
                    **key,
                    **call,
                    "sample_id": sample_id,
                    "run_id": run_id,
                    "step": "answer",
                    "fingerprint": asked,
                    "context": context,
                    "role": "candidate",
                    "model": model,
                    "model_served": model,
                    "sample_number": 0,
                    "messages": "[]",
                    "reply": None if failed else f"答 {item}",
                    "parsed": None,
                }
            )
            metrics = [each.name for each in plan.metrics]
            given = {name: {"score": value(number, item), "reason": f"{name}: 因为"} for name in metrics}
            rows["judgements"].append(
                {
                    **call,
                    "judgement_id": judged,
                    "sample_id": sample_id,
                    "item_id": f"i{item}",
                    "run_id": run_id,
                    "benchmark": "edubench",
                    "scenario": "QA",
                    "scorer": "rubric",
                    "fingerprint": graded,
                    "evaluator": judge,
                    "model_served": None,
                    "messages": "[]",
                    "reply": None if failed else "{}",
                    "parsed": None if failed else json.dumps(given, ensure_ascii=False),
                }
            )
            for name in metrics:
                rows["scores"].append(
                    {
                        **key,
                        "score_id": f"{judged}-{name}",
                        "sample_id": sample_id,
                        "judgement_id": judged,
                        "run_id": run_id,
                        "model": model,
                        "scorer": "rubric",
                        "metric": name,
                        "evaluator": judge,
                        "value": None if failed else value(number, item),
                        "status": status if failed else "scored",
                        "fingerprint": graded,
                        "created_at": at,
                    }
                )
    return rows
