"""SimpleQA by its published formula: accuracy over everything, over what was attempted, and their harmonic mean."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.gallery.playing import facts_of, play

VERDICTS = ("CORRECT", "INCORRECT", "NOT_ATTEMPTED")


def test_the_figures_are_those_of_the_formula(tmp_path: Path) -> None:
    dice = random.Random(4326)
    rows = [
        {"problem": f"Question {n}?", "answer": f"answer {n}", "topic": dice.choice("abc"), "answer_type": "Other"}
        for n in range(facts_of("simpleqa").replies)
    ]
    verdicts = {row["problem"]: dice.choices(VERDICTS, (5, 3, 2))[0] for row in rows}
    figures = play(
        tmp_path,
        "simpleqa",
        {"questions.jsonl": rows},
        lambda messages: f"a reply to {messages[-1]}",
        {"judge": lambda messages: next(said for problem, said in verdicts.items() if problem in messages[-1])},
    )
    assert {score.fields["problem"]: score.choice for score in figures.scores} == verdicts
    counts = [list(verdicts.values()).count(name) for name in VERDICTS]
    correct, attempted = counts[0] / sum(counts), counts[0] / (counts[0] + counts[1])
    apart = facts_of("simpleqa").apart
    assert figures["correct"].value == pytest.approx(correct, abs=apart)
    assert figures["attempted"].value == pytest.approx(attempted, abs=apart)
    assert figures["f_score"].value == pytest.approx(2 * correct * attempted / (correct + attempted), abs=apart)
    assert figures["f_score"].coverage == 1
