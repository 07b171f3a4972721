"""SQuAD: exact match and F1 of an answer are those against the best of its references, as the official script says."""

from __future__ import annotations

import random
import re
import string
from collections import Counter
from pathlib import Path

import pytest

from tests.field.running import figures_of, lines

SPEC = r"""
benchmark squad "1.0.0" { languages en }
role candidate compared

dataset item from "items.jsonl" { question text, answers list<text> secret }

let plain(said: text) = regex_replace(lower(said), "[!-/:-@\\[-`{-~]", "")
let fixed(said: text) = trim(regex_replace(regex_replace(plain(said), "\\b(a|an|the)\\b", " "), "\\s+", " "))
let tokens(said: text) = regex_all(fixed(said), "\\S+")
scorer same(said: text, gold: text) = fixed(said) == fixed(gold)
scorer close(said: text, gold: text) = f1(tokens(said), tokens(gold))

scenario squad {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score exact = max(choose(same(reply.text, a), 1, 0) each a in item.answers) when length(item.answers) > 0
  score f1    = max(close(reply.text, a) each a in item.answers) when length(item.answers) > 0
  score worst = min(close(reply.text, a) each a in item.answers) when length(item.answers) > 0
  score any   = any(same(reply.text, a) each a in item.answers) when length(item.answers) > 0
  score long  = max([words(a) each a in item.answers where words(a) > 1]) <= words(reply.text)
}

measure exact = mean(exact)
measure f1    = mean(f1)
measure worst = mean(worst)
measure any   = mean(any)
measure long  = mean(long)
"""


def normalized(said: str) -> str:
    """Return what `normalize_answer` of the script for SQuAD 2.0 does."""
    text = "".join(each for each in said.lower() if each not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def f1(gold: str, said: str) -> float:
    """Return what `compute_f1` of the script does."""
    true, given = normalized(gold).split(), normalized(said).split()
    if not true or not given:
        return float(true == given)
    same = (Counter(true) & Counter(given)).total()
    if same == 0:
        return 0.0
    precision, recall = same / len(given), same / len(true)
    return 2 * precision * recall / (precision + recall)


WORDS = ("the", "Tower", "of", "London", "a", "red", "house,", "in", "1066.", "Norman", "(big)", "an", "owl")


def text(dice: random.Random, most: int) -> str:
    return " ".join(dice.choice(WORDS) for _ in range(dice.randint(0, most)))


def test_scores_are_those_against_the_best_of_several_references(tmp_path: Path) -> None:
    dice = random.Random(5)
    rows = [
        {"question": f"Question {n}?", "answers": [text(dice, 4) for _ in range(dice.randint(0, 4))]}
        for n in range(130)
    ]
    said: dict[str, str | None] = {}
    for row in rows:
        near = dice.choice(row["answers"]) if row["answers"] and dice.random() < 0.6 else text(dice, 5)
        told = None if dice.random() < 0.05 else near.upper() if dice.random() < 0.3 else near
        said[row["question"]] = told or None  # nothing at all is no answer
    figures = figures_of(tmp_path, SPEC, {"items.jsonl": lines(rows)}, said.get)
    there = [(said[row["question"]], row["answers"]) for row in rows if said[row["question"]] is not None]
    held = [(given or "", answers) for given, answers in there if answers]
    assert 60 < len(held) < 125
    exact = [float(max(normalized(each) == normalized(given) for each in answers)) for given, answers in held]
    scores = [[f1(each, given) for each in answers] for given, answers in held]
    assert figures["exact"].value == pytest.approx(sum(exact) / len(held))
    assert figures["f1"].value == pytest.approx(sum(map(max, scores)) / len(held))
    assert figures["worst"].value == pytest.approx(sum(map(min, scores)) / len(held))
    assert figures["f1"].n == len(held)
    assert figures["any"].value == figures["exact"].value
    longest = [
        max(map(len, several)) <= len((given or "").split())
        for given, answers in there
        if (several := [each.split() for each in answers if len(each.split()) > 1])
    ]
    assert figures["long"].value == pytest.approx(sum(longest) / len(longest))
    assert figures["long"].n == len(longest)
