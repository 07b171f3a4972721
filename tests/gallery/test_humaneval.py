"""HumanEval by simple-evals: every verdict and each pass@k as its class `HumanEval` gives them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.gallery.originals.humaneval import SAMPLES, replies, rows
from tests.gallery.playing import facts_of, play, verdicts_of
from tripos_runtime.asking.functions.settings import ProgramLimits


def test_verdicts_and_figures_are_those_of_the_original(tmp_path: Path) -> None:
    *verdicts, original = verdicts_of("humaneval")
    said = {row["prompt"].strip(): iter(replies(row)) for row in rows()}
    figures = play(
        tmp_path,
        "humaneval",
        {"HumanEval.jsonl": rows()},
        lambda messages: next(next(texts for prompt, texts in said.items() if prompt in messages[-1])) or "    #",
        programs={"python-tests": ProgramLimits(processes=2, unsandboxed=True)},  # the code is this test's own
    )
    passed: dict[str, int] = dict.fromkeys((each["task_id"] for each in verdicts), 0)
    for score in figures.scores:
        assert score.status == "scored", score
        passed[score.fields["task_id"]] += int(score.value or 0)
    assert passed == {each["task_id"]: sum(each["passed"]) for each in verdicts}
    assert len(figures.scores) == SAMPLES * len(verdicts) == facts_of("humaneval").replies
    for k in (1, 2, 5):
        wanted = pytest.approx(original[f"pass@{k}"], abs=facts_of("humaneval").apart)
        assert figures[f"pass_{k}"].value == wanted
        assert figures[f"pass_{k}"].coverage == 1
