"""Arena-Hard by its own code: every verdict of both games, and the score of each category before it is rounded."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.gallery.originals.arena_hard import CATEGORIES, baseline, judgement, questions
from tests.gallery.playing import facts_of, play, verdicts_of


def test_verdicts_and_scores_are_those_of_the_original(tmp_path: Path) -> None:
    *lines, scores = verdicts_of("arena_hard")

    def judge(messages: list[str]) -> str:
        category, number = re.findall(r"Prompt <(\w+) (\d+)>", messages[-1])[0]
        a, b = re.findall(r"Assistant [AB]'s Answer\|>\n(.*?)\n<\|The End", messages[-1])
        assert {a, b} == {f"baseline's {category}-{number}", "an answer"}
        return judgement(f"{category}-{number}", 2 if a == "an answer" else 1)

    files = {
        "question.jsonl": questions(),
        "model_answer/o3-mini-2025-01-31.jsonl": baseline("hard_prompt"),
        "model_answer/gemini-2.0-flash-001.jsonl": baseline("creative_writing"),
    }
    figures = play(tmp_path, "arena_hard", files, lambda _: "an answer", {"judge": judge})
    found = {score.fields["uid"]: score.value for score in figures.scores}
    apart = facts_of("arena_hard").apart
    assert found == {each["uid"]: pytest.approx(of_both(each["scores"]), abs=apart) for each in lines}
    assert 2 * len(found) == facts_of("arena_hard").replies
    assert sum(value is None for value in found.values()) > 20  # one verdict that is missing leaves both games out
    for category in CATEGORIES:
        row = figures[f"{category}.score"]
        assert row.value == pytest.approx(scores[category], abs=apart)
        assert row.low is not None and 0 <= row.low < row.value


def of_both(verdicts: list[str | None]) -> float | None:
    """Return the mean of a model's points, by the authors' verdict of each game: in the first one it is B."""
    points: list[float] = []
    for verdict, model in zip(verdicts, "BA", strict=True):
        if verdict is None:
            return None
        first, sign, second = verdict[0], verdict[1:-1], verdict[-1]
        winner = None if "=" in sign else first if ">" in sign else second
        points += [0.5 if winner is None else float(winner == model)] * (3 if len(sign) == 2 else 1)
    return sum(points) / len(points)
