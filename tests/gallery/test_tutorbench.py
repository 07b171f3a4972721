"""TutorBench by its published formula: points of the criteria that a reply meets, by all positive points."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from tests.gallery.playing import facts_of, play

WEIGHTS = {"critical": 5, "not_critical": 1, "critical_negative": -5}
DIMENSIONS = ("truthfulness", "style_tone", "visual_perception")
MET = ("true", "Yes.", '{"value": true}', '```json\n{"value": true}\n```')
UNMET = ("false", "no", '{"value": false}', "**False**")
UNREADABLE = ("", "perhaps", "true or false")
PICTURE = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAgAAAAIAQMAAAD+wSzIAAAAA1BMVEX/AAAZ4gk3AAAAC0lEQVQI12NggAAAAAgAAYq4KFYAAAAASUVORK5CYII="


def samples() -> list[dict[str, Any]]:
    """Return rows in the form of the published file; some have negative criteria alone."""
    dice = random.Random(2510)
    rows = []
    for n in range(50):
        severities = (
            ["critical_negative"] * 2 if n % 20 == 7 else dice.choices(list(WEIGHTS), (4, 4, 2), k=dice.randint(3, 6))
        )
        rubric = [
            {"criteria": f"Criterion {place} of {n}.", "attributes": {"severity": each, "eval_dimension": dice.choice(DIMENSIONS)}}
            for place, each in enumerate(severities)
        ]  # fmt: skip
        use = dice.randint(1, 3)
        row = {"BATCH": f"USE_CASE_{use}_{'MULTIMODAL' if n % 2 else 'TEXT'}", "SUBJECT": dice.choice("abc")}
        row |= {"PROMPT": f"Problem {n}?", "Image": PICTURE if n % 2 else None, "RUBRICS": json.dumps(rubric)}
        row |= {"UC1_INITIAL_EXPLANATION": f"Since {n}." if use == 1 else None}
        rows.append({**row, "FOLLOW_UP_PROMPT": f"Why {n}?" if n % 3 else None, "bloom_taxonomy": "Apply"})
    return rows


def test_ratings_are_those_of_the_formula(tmp_path: Path) -> None:
    dice = random.Random(2663)
    rows = samples()
    met: dict[str, bool | None] = {}
    said: dict[str, str] = {}
    for row in rows:
        for each in json.loads(row["RUBRICS"]):
            verdict = None if dice.random() < 0.02 else dice.random() < 0.5
            met[each["criteria"]] = verdict
            said[each["criteria"]] = dice.choice(UNREADABLE if verdict is None else MET if verdict else UNMET)
    asked: dict[str, list[str]] = {}

    def tutor(messages: list[str]) -> str:
        asked[messages[1].partition("?")[0]] = messages
        return f"A reply to {messages[1].partition('?')[0]}."

    def judge(messages: list[str]) -> str:
        return said[messages[0].partition("Criterion: ")[2].splitlines()[0]]

    files = {"sample.jsonl": rows}
    figures = play(tmp_path, "tutorbench", files, tutor, {"judge": judge})

    ratings: dict[str, float | None] = {}
    passes: dict[str, list[bool]] = defaultdict(list)
    for row in rows:
        rubric = [(each, WEIGHTS[each["attributes"]["severity"]]) for each in json.loads(row["RUBRICS"])]
        verdicts = [met[each["criteria"]] for each, _ in rubric]
        for (each, weight), verdict in zip(rubric, verdicts, strict=True):
            if weight > 0 and verdict is not None:
                passes[each["attributes"]["eval_dimension"]].append(verdict)
        points = sum(weight for _, weight in rubric if weight > 0)
        if points:
            total = sum(weight for (_, weight), verdict in zip(rubric, verdicts, strict=True) if verdict)
            ratings[row["PROMPT"]] = None if None in verdicts else total / points
    apart = facts_of("tutorbench").apart
    found = {
        each.fields["PROMPT"]: each.value
        for each in figures.scores
        if each.metric == "rating" and each.status != "not_applicable"
    }
    assert found == pytest.approx(ratings, abs=apart)
    read = [value for value in ratings.values() if value is not None]
    assert min(read) < 0 < max(read)
    assert figures["tutoring.score"].value == pytest.approx(fmean(read), abs=apart)
    assert figures["tutoring.score"].coverage == pytest.approx(len(read) / len(ratings), abs=apart)
    assert 0.8 < len(read) / len(ratings) < 1
    assert figures.by("tutoring.by_dimension") == pytest.approx(
        {name: fmean(each) for name, each in passes.items()}, abs=apart
    )
    assert len(met) == facts_of("tutorbench").replies
    for row in rows:
        system, prompt = asked[row["PROMPT"].rstrip("?")]
        wanted = {
            "1": "what the pupil says is unclear",
            "2": "which mistakes it has",
            "3": "do not tell the whole answer",
        }
        assert wanted[row["BATCH"][9]] in system
        assert (row["FOLLOW_UP_PROMPT"] or "") in prompt
        assert (row["UC1_INITIAL_EXPLANATION"] or "") in prompt
