"""BIG-Bench Hard: texts, scores and the means over items and tasks are those of lm-eval and the paper."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from tests.gallery.playing import answered, facts_of, is_answer, play, verdicts_of

ALGORITHMIC = {"boolean_expressions", "dyck_languages", "multistep_arithmetic_two", "web_of_lies", "word_sorting"}


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def test_every_score_is_that_of_lm_eval_in_nine_tasks(tmp_path: Path) -> None:
    said = verdicts_of("bbh")
    facts = facts_of("bbh")
    assert len(said) == facts.replies
    rows, right = defaultdict(list), defaultdict(list)
    for each in said:
        rows[each["task"]].append(each["row"])
    for each in answered(said):
        right[each["task"]].append(each["right"])
    sent = {}

    def answers(messages: list[str]) -> str:
        *before, last = messages[0].split("\n\n")
        sent[last] = len(before)
        return str(replies[last])

    replies = {each["last"]: each["reply"] for each in said}
    worked = [{"input": f"Worked {number}", "target": "So the answer is it."} for number in range(4)]
    files = {f"tasks/{task}.jsonl": each for task, each in rows.items()}
    files |= {f"worked/{task}.jsonl": worked for task in rows}
    figures = play(tmp_path, "bbh", {**files, "tasks/navigate.jsonl": [], "tasks/object_counting.jsonl": []}, answers)
    assert sent == {each["last"]: each["parts"] for each in said}
    scores = {(score.fields["task"], score.fields["input"]): score.value for score in figures.scores}
    for each in said:
        wanted = each["right"] if is_answer(each["reply"]) else None
        assert scores[each["task"], each["row"]["input"]] == wanted, each
    by_task = {task: mean(values) for task, values in right.items()}
    assert figures.by("by_task") == pytest.approx(by_task, abs=facts.apart)
    assert figures["average"].value == pytest.approx(mean(list(by_task.values())), abs=facts.apart)
    assert figures["micro"].value == pytest.approx(mean([each["right"] for each in answered(said)]), abs=facts.apart)
    kinds = {
        "algorithmic": mean([value for task, value in by_task.items() if task in ALGORITHMIC]),
        "language": mean([value for task, value in by_task.items() if task not in ALGORITHMIC]),
    }
    assert figures.by("by_kind") == pytest.approx(kinds, abs=facts.apart)
