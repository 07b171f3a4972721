"""MMTutorBench by its published formula: six criteria of 0 or 1 for each reply, their means, and the mean of their sum."""

from __future__ import annotations

import json
import random
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from tests.gallery.playing import facts_of, play

CRITERIA = ("insight_identification", "operation_prescription", "operation_execution", "solution_scope_control",
            "brevity", "coherence")  # fmt: skip
PICTURE = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAgAAAAIAQMAAAD+wSzIAAAAA1BMVEX/AAAZ4gk3AAAAC0lEQVQI12NggAAAAAgAAYq4KFYAAAAASUVORK5CYII="
PROBLEMS = 40


def problems() -> list[dict[str, Any]]:
    """Return rows in the form of the published file, with none to three images of the steps before."""
    dice = random.Random(2510)
    return [
        {
            "instance_id": f"p{n}",
            "question": f"Why not {n}?",
            "prev_img": [PICTURE] * dice.randrange(4),
            "img": PICTURE,
            "answer": f"[key detail] d{n} [key operation] o{n} [next step] s{n}",
            "rubric": {
                "task_description": f"Task {n}.",
                "evaluation_criteria": [
                    {"id": each, "criterion": each, "condition_for_1": f"{each} of {n}", "condition_for_0": "else"}
                    for each in CRITERIA
                ],
            },
            "domain": dice.choice(("Algebra", "Calculus")),
            "category": "c",
            "difficulty_score": dice.choice((1, 2, None)),
        }
        for n in range(PROBLEMS)
    ]


def test_criteria_and_their_sum_are_those_of_the_formula(tmp_path: Path) -> None:
    dice = random.Random(23477)
    graded = {f"Why not {n}?": {each: int(dice.random() < 0.7) for each in CRITERIA} for n in range(PROBLEMS)}
    odd = dict(
        zip(list(graded)[5::8], ("", "All of it is fine.", '{"brevity": 1}', "brevity: 2", "[1, 1, 1]"), strict=False)
    )
    seen: list[tuple[str, str]] = []

    def tutor(messages: list[str]) -> str:
        seen.append((messages[0], messages[1]))
        return f"[Insight Discovery] {messages[1].splitlines()[-1]}"

    def judge(messages: list[str]) -> str:
        question = next(line for line in messages[0].splitlines() if line.startswith("Why not "))
        number = question.removeprefix("Why not ").rstrip("?")
        assert all(f"1 if: {each} of {number}\n" in messages[0] for each in CRITERIA)
        given = {name: {"reason": "r", "score": value} for name, value in graded[question].items()}
        return odd.get(question, json.dumps(given))

    figures = play(tmp_path, "mmtutorbench", {"mmtutorbench.jsonl": problems()}, tutor, {"judge": judge})
    wanted = {(question, name): value for question, each in graded.items() for name, value in each.items()}
    wanted |= {(question, name): None for question in odd for name in CRITERIA}
    partly = next(question for question, said in odd.items() if said.startswith("{"))
    wanted[partly, "brevity"] = 1
    found = {(each.fields["question"], each.metric): each.value for each in figures.scores}
    assert found == wanted
    assert len(found) == facts_of("mmtutorbench").replies
    assert len(odd) == 5
    assert len(seen) == PROBLEMS
    assert all("Insight Discovery" in prompt for _, prompt in seen)
    apart = facts_of("mmtutorbench").apart
    read = {
        name: [value for (_, each), value in wanted.items() if each == name and value is not None] for name in CRITERIA
    }
    means = {name: fmean(values) for name, values in read.items()}
    assert figures.by("key_step.by_criterion") == pytest.approx(means, abs=apart)
    every = [value for values in read.values() for value in values]
    assert figures["key_step.total"].value == pytest.approx(6 * fmean(every), abs=apart)
    assert figures["key_step.total"].coverage == pytest.approx(len(every) / len(wanted), abs=apart)
    for question, each in graded.items():
        if question not in odd:
            assert sum(found[question, name] or 0 for name in CRITERIA) == sum(each.values())
