"""A registry of OpenAI Evals: one eval for each score, with its samples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from tripos.exporting import Emitter
from tripos_warehouse.files import export_path, write_lines

if TYPE_CHECKING:
    from tripos.exporting.questions import Check, EmittedQuestion, SpecQuestions

CLASSES = {"equals": "evals.elsuite.basic.match:Match", "contains": "evals.elsuite.basic.includes:Includes"}
"""The class of the library that computes a check."""


def write_openai_evals(emission: SpecQuestions, folder: Path) -> list[Path]:
    """Write `registry/evals/BENCHMARK.yaml`, and a file of samples below `registry/data` for each score. Return their
    paths."""
    emission.lose_schemas()
    name = emission.plan.benchmark.name
    by_score: dict[tuple[str, str], list[tuple[EmittedQuestion, Check]]] = {}
    for question in emission.questions:
        place = f"{question.scenario}.{question.step}"
        if any(message.role not in ("system", "user", "assistant") for message in question.messages):
            emission.lose(place, "messages that are no chat: a plain text, options or tools")
            continue
        if not question.checks:
            emission.lose(place, "no score of it can be said")
        _lose_settings(emission, question, place)
        for check in question.checks:
            if check.field is not None:
                emission.lose(f"{question.scenario}.{check.name}", "it reads a field of a reply in JSON")
            else:
                by_score.setdefault((question.scenario, check.name), []).append((question, check))
    registry: dict[str, Any] = {}
    paths = []
    for (scenario, score), questions in by_score.items():
        check = questions[0][1]
        if check.kind == "equals":
            emission.lose(f"{scenario}.{score}", "approximately: `Match` takes a reply that begins with the target")
        if check.lower or check.trim:
            emission.lose(
                f"{scenario}.{score}", "approximately: a reply is compared as it is, with its case and spaces"
            )
        path = f"{name}/{scenario}.{score}.jsonl"
        lines = (json.dumps(_sample(*each), ensure_ascii=False).encode() for each in questions)
        paths.append(write_lines(folder / "registry" / "data" / path, lines).path)
        args: dict[str, Any] = {"samples_jsonl": path}
        if check.kind == "contains":
            args["ignore_case"] = True
        own = f"{name}.{scenario}.{score}"
        registry[own] = {"id": f"{own}.v0", "description": f"{score} of {scenario}", "metrics": ["accuracy"]}
        registry[f"{own}.v0"] = {"class": CLASSES[check.kind], "args": args}
    main = folder / "registry" / "evals" / f"{name}.yaml"
    with export_path(main) as new:
        new.write_text(yaml.safe_dump(registry, sort_keys=False, allow_unicode=True), "utf-8")
    return [main, *paths]


def _lose_settings(emission: SpecQuestions, question: EmittedQuestion, place: str) -> None:
    if question.settings:
        emission.lose(place, f"settings: {', '.join(question.settings)}")
    if question.samples > 1:
        emission.lose(place, f"{question.samples} samples")


def _sample(question: EmittedQuestion, check: Check) -> dict[str, Any]:
    messages = [{"role": message.role, "content": message.content} for message in question.messages]
    ideal = check.target if isinstance(check.target, str) else json.dumps(check.target)
    return {"input": messages, "ideal": ideal, "metadata": question.about}


EMITTER = Emitter("a registry of OpenAI Evals", write_openai_evals)
