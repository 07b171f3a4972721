"""Where training data comes from: a JSON file beside it that says everything needed to judge and repeat it."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tripos_compiler.language.contamination import ALIKE
from tripos_compiler.plan import Ask, Plan
from tripos_warehouse.exports.distillation import Example, Training
from tripos_warehouse.exports.files import Written
from tripos_warehouse.exports.replies import ReplyQuery, steps_of
from tripos_warehouse.views import RunRecord

FORMAT = "tripos.training/2"
TERMS = (
    "The replies were written by the models named here. Whether they may be used to train others is said by the terms"
    " of their providers and by the licence of the benchmark's data."
)


def provenance(plan: Plan, run: RunRecord, wanted: ReplyQuery, made: Training, written: Written) -> dict[str, Any]:
    """Return the provenance as JSON values; `lines` has an entry for every line, the better of two replies first."""
    steps = steps_of(plan, wanted.rows)
    revealed = [each for each in plan.reveals if each.step in steps]
    return {
        "format": FORMAT,
        "file": written.path.name,
        "sha256": written.sha256,
        "examples": written.rows,
        "kind": {"best": "distillation", "pairs": "preferences"}[wanted.kind],
        "export": wanted.name,
        "run_id": run.run_id,
        "benchmark": run.benchmark,
        "version": run.version,
        "plan_digest": run.plan_digest,
        "models": list(wanted.models),
        "judges": {role: list(models) for role, models in run.evaluators.items()},
        "by": wanted.by,
        "per": list(wanted.per),
        "every_reply": wanted.every,
        "replies_of": list(made.replies_of),
        "margin": wanted.margin if wanted.kind == "pairs" else None,
        "steps": list(wanted.rows),
        "settings": _settings(plan, wanted),
        "line_format": wanted.format,
        "filters": list(wanted.told),
        "best": [
            {
                "cell": dict(zip(wanted.per, each.cell, strict=True)),
                "model": each.model,
                "value": each.value,
                "ties": list(each.ties),
            }
            for each in made.best
        ],
        "by_scenario": counts(plan, made),
        "by_model": dict(Counter(each.models[0] for each in made.examples)),
        "left_out": dict(made.left_out),
        "held_out": {
            "subsets": list(made.held.subsets),
            "runs": list(made.held.runs),
            "items": len(made.held.items),
            "known": {name: {"items": each.there, "of": each.of} for name, each in made.held.known.items()},
            "alike": ALIKE,
            "near": [
                {
                    "item": each.item[1],
                    "scenario": each.item[0],
                    "like": each.like[1],
                    "overlap": round(each.overlap, 4),
                }
                for each in made.held.near.values()
            ],
        },
        "revealed": [{"scenario": each.scenario, "step": each.step, "secret": each.secret} for each in revealed],
        "licence": plan.benchmark.license,
        "terms": TERMS,
        "lines": [_line(wanted, each) for each in made.examples],
    }


def _settings(plan: Plan, wanted: ReplyQuery) -> dict[str, Any]:
    """Return what the replies were asked with, by scenario and step; only what was not left to the model."""
    steps = steps_of(plan, wanted.rows)
    return {
        f"{scenario.name}.{step.name}": step.settings.given
        for scenario in plan.scenarios
        for step in scenario.steps
        if isinstance(step, Ask) and step.name in steps
    }


def _line(wanted: ReplyQuery, example: Example) -> dict[str, Any]:
    """Return where a line comes from, and why it is there."""
    line = {
        "samples": list(example.sample_ids),
        "scenario": example.scenario,
        "item": example.item_id,
        "models": list(example.models),
    }
    if example.margin is not None:
        return {**line, "margin": example.margin}
    won = [{"cell": dict(zip(wanted.per, each.cell, strict=True)), "value": each.value} for each in example.won]
    return {**line, "won": won}


def counts(plan: Plan, made: Training) -> dict[str, int]:
    """Return how many examples there are of each scenario, in the plan's order."""
    found = Counter(each.scenario for each in made.examples)
    return {each.name: found[each.name] for each in plan.scenarios if found[each.name]}
