"""RAGAS by its package: faithfulness and answer relevancy of every answer."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest

from tests.gallery.originals.ragas import guesses, rows, statements, vector, verdicts
from tests.gallery.playing import facts_of, play, verdicts_of


def test_scores_are_those_of_the_package(tmp_path: Path) -> None:
    lines = verdicts_of("ragas")
    guessed: Counter[int] = Counter()

    def judge(messages: list[str]) -> str:
        if "Context:" in messages[-1]:
            return json.dumps({"statements": verdicts(int(re.findall(r"Context (\d+)\.", messages[-1])[0]))})
        number = int(re.findall(r"Answer <(\d+)>", messages[-1])[0])
        if "Question:" in messages[-1]:
            return json.dumps({"statements": statements(number)})
        guessed[number] += 1
        return json.dumps(guesses(number)[guessed[number] - 1])

    def encoder(messages: list[str]) -> str:
        """Return the cosine of the vectors that the package's embeddings gave in its place."""
        one, other = (np.asarray(vector(text)) for text in json.loads(messages[-1]))
        return repr(float(one @ other / np.linalg.norm(one) / np.linalg.norm(other)))

    figures = play(
        tmp_path,
        "ragas",
        {"samples.jsonl": rows()},
        lambda messages: "Answer " + re.findall(r"<\d+>", messages[-1])[0],
        {"judge": judge, "encoder": encoder},
    )
    apart = facts_of("ragas").apart
    found: dict[str, dict[str, float | None]] = {}
    for score in figures.scores:
        found.setdefault(score.metric, {})[score.fields["user_input"]] = score.value
    for name in ("faithfulness", "answer_relevancy"):
        wanted = {each["question"]: each[name] for each in lines}
        assert found[name] == {
            question: None if each is None else pytest.approx(each, abs=apart) for question, each in wanted.items()
        }
        there = [each for each in wanted.values() if each is not None]
        assert figures[name].value == pytest.approx(fmean(there), abs=apart)
        assert figures[name].n == len(there)
    assert sum(map(len, found.values())) == facts_of("ragas").replies
