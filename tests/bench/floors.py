"""How far solution correctness is told without mathematics: rules on what a solution looks like, and a bag of words,
each learned on the solutions of one half of the problems and tested on the other.

    python tests/bench/floors.py --data DIR
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Solution:
    """A solution as the spec shows it, whether it is wrong, and in which half its problem is."""

    text: str
    wrong: bool
    half: int


def solutions(data: Path, *, chat: bool = False) -> list[Solution]:
    """Return every problem's wrong solution and a right one: as numbered steps, or as the student tells it in a
    chat."""
    rows = json.loads((data / "stepverify" / "dataset.json").read_text("utf-8"))
    found = []
    for row in rows:
        half = hashlib.sha256(row["problem"].encode()).digest()[0] % 2
        wrong, right = _numbered(row["student_incorrect_solution"]), _numbered(row["reference_solution"].splitlines())
        if chat:
            wrong = next(turn["text"] for turn in row["dialog_history"] if turn["user"] == "Student")
            right = row["student_correct_response"]
        found += [Solution(wrong, True, half), Solution(right, False, half)]
    return found


def _numbered(steps: Sequence[str]) -> str:
    return "\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1))


RULES: dict[str, Callable[[str], float]] = {
    "characters": lambda text: float(len(text)),
    "steps": lambda text: float(text.count("\n")),
    "digits": lambda text: float(len(re.findall(r"\d", text))),
    "signs of operations": lambda text: float(len(re.findall(r"[-+*/=×÷]", text))),
    "words a step": lambda text: len(text.split()) / (text.count("\n") + 1),
}


def balanced(told: Sequence[bool], wrong: Sequence[bool]) -> float:
    """The mean of the shares of wrong and of right solutions that are told right."""
    said, truth = np.array(told), np.array(wrong)
    return float((said[truth].mean() + (~said[~truth]).mean()) / 2)


def rule(measure: Callable[[str], float], learned: Sequence[Solution], tested: Sequence[Solution]) -> float:
    """Return the best threshold of the learned half, on the other."""
    values = np.array([measure(each.text) for each in learned])
    wrong = [each.wrong for each in learned]
    tries = [(balanced(values * sign > edge * sign, wrong), edge, sign) for edge in set(values) for sign in (1, -1)]
    _, edge, sign = max(tries)
    return balanced([measure(each.text) * sign > edge * sign for each in tested], [each.wrong for each in tested])


def words(learned: Sequence[Solution], tested: Sequence[Solution]) -> float:
    """Return a logistic regression on TF-IDF of words, signs and pairs of these."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    bag = TfidfVectorizer(ngram_range=(1, 2), token_pattern=r"\w+|[^\w\s]", sublinear_tf=True)
    model = LogisticRegression(C=10.0, max_iter=2000).fit(
        bag.fit_transform([each.text for each in learned]), [each.wrong for each in learned]
    )
    told = model.predict(bag.transform([each.text for each in tested]))
    return balanced(told, [each.wrong for each in tested])


def floors(data: Path, *, chat: bool = False) -> dict[str, float]:
    """Return the balanced accuracy of every rule and of the words, the mean of both ways to part the problems."""
    found = solutions(data, chat=chat)
    halves = [[each for each in found if each.half == half] for half in (0, 1)]
    ways = [(halves[0], halves[1]), (halves[1], halves[0])]
    told = {name: float(np.mean([rule(measure, *way) for way in ways])) for name, measure in RULES.items()}
    return {**told, "bag of words": float(np.mean([words(*way) for way in ways]))}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    data = parser.parse_args().data
    told = floors(data, chat=True)
    for name, value in floors(data).items():
        print(f"{name:20} {value:.3f} {told[name]:.3f}")
