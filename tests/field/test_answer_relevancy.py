"""RAGAS's answer relevancy: questions that a model makes of an answer, and the mean cosine of their vectors to that of the
question that was asked. A scorer by an embedding model gives them; here a vector counts letters."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import numpy as np
import pytest

from tests.field.running import figures_of, lines

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
SPEC = """
benchmark ragas "1.0.0" { languages en }
role candidate compared
role generator
role encoder

dataset item from "items.jsonl" { question text, context text }
scorer near(one: text, other: text) by encoder { gives similarity }

scenario answering {
  over item
  ask answer by candidate { prompt "{{ item.context }}\\n{{ item.question }}" }
  ask guess by generator {
    prompt  "Generate a question for this answer, and say whether it is noncommittal: {{ answer.text }}"
    returns { question text, noncommittal bool }
    samples 3
    temperature 0.3
  }
  let open = any(g.noncommittal each g in guess.samples)
  score answer_relevancy = choose(open, 0, sum(near(item.question, g.question) each g in guess.samples) / 3)
}
measure answer_relevancy = mean(answer_relevancy)
"""
COUNT = 90


def answer(text: str) -> str | None:
    number = int(re.findall(r"Question (\d+)", text)[0])
    return None if number % 17 == 0 else f"Answer {number}."


def guesses(number: int) -> list[dict[str, object] | None]:
    """Return three questions that an answer suggests; None where nobody can read one."""
    dice = random.Random(number)
    found: list[dict[str, object] | None] = []
    for _ in range(3):
        words = " ".join(dice.choice(["why", "Question", "which", str(number), "river", "is", "?"]) for _ in range(5))
        odd = dice.random()
        found.append(None if odd < 0.03 else {"question": words if odd > 0.06 else "", "noncommittal": odd > 0.95})
    return found


def vector(text: str) -> np.ndarray:
    return np.array([text.lower().count(each) for each in LETTERS], dtype=float)


def cosine(texts: str) -> str:
    """Return what an embedding model says of two texts."""
    one, other = map(vector, json.loads(texts))
    norm = np.linalg.norm(one) * np.linalg.norm(other)
    return repr(float(one @ other / norm) if norm else 0.0)


def test_relevancy_is_the_mean_cosine_of_the_questions_that_an_answer_suggests(tmp_path: Path) -> None:
    rows = [{"question": f"Question {n}: why?", "context": f"Context {n}."} for n in range(COUNT)]
    given: dict[int, int] = {}

    def generator(text: str) -> str:
        found = re.search(r"Answer (\d+)", text)
        if found is None:
            return "I cannot."
        number = int(found[1])
        given[number] = given.get(number, 0) + 1
        told = guesses(number)[(given[number] - 1) % 3]
        return "I cannot." if told is None else json.dumps(told)

    roles = {"generator": generator, "encoder": cosine}
    figures = figures_of(tmp_path, SPEC, {"items.jsonl": lines(rows)}, answer, roles)
    scores = []
    for number, row in enumerate(rows):
        told = guesses(number)
        if number % 17 == 0 or None in told:
            continue
        own, *made = map(vector, (row["question"], *(str(each["question"]) for each in told if each)))
        norms = [np.linalg.norm(own) * np.linalg.norm(each) for each in made]
        similar = [float(own @ each) / norm if norm else 0.0 for each, norm in zip(made, norms, strict=True)]
        scores.append(float(np.mean(similar)) * (not any(each and each["noncommittal"] for each in told)))
    assert 60 < len(scores) < 85 and scores.count(0.0) > 3
    assert figures["answer_relevancy"].value == pytest.approx(float(np.mean(scores)))
    assert figures["answer_relevancy"].n == len(scores)
