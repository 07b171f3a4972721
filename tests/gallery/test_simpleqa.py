"""SimpleQA by simple-evals: accuracy over everything, over what was attempted, and their harmonic mean."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.gallery.originals.simpleqa import grade, rows
from tests.gallery.playing import facts_of, play, verdicts_of


def test_the_figures_are_those_of_the_original(tmp_path: Path) -> None:
    *lines, original = verdicts_of("simpleqa")
    questions = {row["answer"]: row["problem"] for row in rows()}
    figures = play(
        tmp_path,
        "simpleqa",
        {"questions.jsonl": rows()},
        lambda messages: f"a reply to {messages[-1]}",
        {"judge": lambda messages: grade(next(q for a, q in questions.items() if f"{a}\n" in messages[-1]))},
    )
    found = {score.fields["problem"]: score.choice for score in figures.scores}
    assert found == {each["problem"]: each["grade"] for each in lines}
    assert len(found) == facts_of("simpleqa").replies
    apart = facts_of("simpleqa").apart
    for name in ("correct", "incorrect", "not_attempted"):
        assert figures[name].value == pytest.approx(original[f"is_{name}"], abs=apart)
    correct, attempted = original["is_correct"], original["accuracy_given_attempted"]
    assert figures["attempted"].value == pytest.approx(attempted, abs=apart)
    # It prints F1 with three digits; the formula is that of the paper, section 2.4.
    assert f"{figures['f_score'].value:.3f}" == original["f1_rounded"]
    assert figures["f_score"].value == pytest.approx(2 * correct * attempted / (correct + attempted), abs=apart)
    assert figures["f_score"].coverage == 1
