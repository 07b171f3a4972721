"""A synthesised set of results of EduBench: 198 items, replies of five models, scores of three evaluators."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

SPECS = Path(__file__).parent.parent / "specs/edubench"
STRENGTHS = {"lab/a": 1.0, "lab/b": 0.5, "lab/c": 0.0, "lab/d": -0.5, "lab/e": -1.0}
SEVERITIES = {"judge/mild": 1.0, "judge/plain": 0.0, "human/panel": -0.5}
NOISES = {"judge/mild": 0.6, "judge/plain": 0.6, "human/panel": 1.2}
PER_LANGUAGE = 11
TELLING = ("question", "student_profile", "conversation", "knowledge_point")
"""Fields that tell the items of a scenario apart."""


def spec(folder: Path) -> Path:
    """Return a copy of the spec over shipped items, with 11 items a scenario and language: the shipped ones under new
    names."""
    shutil.copytree(SPECS, folder / "edubench")
    shutil.copytree(SPECS.parent / "common", folder / "common")
    for path in sorted((folder / "edubench/items").glob("*.jsonl")):
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        made = [
            _renamed(of_language[number % len(of_language)], number)
            for language in ("en", "zh")
            for of_language in [[row for row in rows if row["language"] == language]]
            for number in range(PER_LANGUAGE)
        ]
        path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in made), "utf-8")
    return folder / "edubench/shipped.tripos"


def _renamed(row: dict[str, Any], number: int) -> dict[str, Any]:
    shown = next(name for name in TELLING if name in row)
    return {**row, shown: f"{row[shown]} ({number})"}


def write(folder: Path, allocation: dict[str, str]) -> list[dict[str, Any]]:
    """Write `replies.jsonl` and `scores.jsonl` of all models and evaluators, and return the scores."""
    told: dict[tuple[str, int], dict[str, Any]] = {}
    for scenario in allocation:
        lines = (folder / f"edubench/items/{scenario}.jsonl").read_text("utf-8").splitlines()
        for position, row in enumerate(map(json.loads, lines), 1):
            told[scenario, position] = {name: row[name] for name in TELLING if name in row}
    scores = [{**score, **told[score["scenario"], score["number"]]} for score in _scores(allocation)]
    replies = [
        {"scenario": scenario, "position": item, "model": model, "reply": _reply(scenario, model, item)}
        for scenario in allocation
        for item in range(1, 2 * PER_LANGUAGE + 1)
        for model in STRENGTHS
    ]
    for name, rows in (("replies", replies), ("scores", scores)):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return scores


def _scores(allocation: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Grades about 6: by the strength of the model, the reply and the metric, then as the evaluator sees it."""
    random = np.random.default_rng(16160)
    for scenario, metrics in allocation.items():
        for item in range(1, 2 * PER_LANGUAGE + 1):
            for model, strength in STRENGTHS.items():
                luck = random.normal(0, 0.8)
                for metric in metrics.split():
                    truth = 6 + strength + luck + random.normal(0, 0.5)
                    for evaluator, severity in SEVERITIES.items():
                        given = truth + severity + random.normal(0, NOISES[evaluator])
                        value = int(np.clip(round(given), 1, 10))
                        place = {"scenario": scenario, "number": item, "model": model}
                        yield {**place, "metric": metric, "evaluator": evaluator, "value": value}


def _reply(scenario: str, model: str, item: int) -> dict[str, Any]:
    """Return a reply in the form that its scenario asks for."""
    text = f"{model} on {scenario} {item}"
    forms: dict[str, dict[str, Any]] = {
        "question_answering": {"reasoning": text, "final_answer": "A"},
        "error_correction": {"corrected_answer": "A", "error_explanation": text},
        "idea_provision": {"guidance": text},
        "personalised_support": {"learning_path": [text], "recommendations": [text]},
        "emotional_support": {"state": text, "advice": text},
        "question_generation": {"question": text, "guidance": text, "final_answer": "A"},
        "grading": {"score": 5, "details": text, "feedback": text},
        "teaching_material": {"objectives": [text], "key_points": [text], "activities": [text], "assessment": text},
        "personalised_content": {"explanation": text, "tasks": [text], "self_check": text},
    }
    return forms[scenario]
