"""Lines of a reply against several references: the likeness of the best, and how many are covered."""

from __future__ import annotations

import random

import pytest

from tripos_compiler.library.registry import FUNCTIONS
from tripos_compiler.library.signature import Undefined

best_bleu = FUNCTIONS["best_bleu"].python
coverage = FUNCTIONS["coverage"].python
each_before = FUNCTIONS["each_before"].python
WORDS = [
    "how", "many", "eggs", "does", "she", "sell", "at", "the", "market", "on", "each", "day", "of", "a", "week", "?",
]  # fmt: skip
QUESTIONS = ["How many eggs does she sell?", "What does she earn a day?", "What does she earn a week?"]


def sentence(source: random.Random) -> str:
    return " ".join(source.choice(WORDS) for _ in range(source.randint(1, 9)))


def test_the_best_line_is_that_of_sacrebleu_on_random_lines() -> None:
    from sacrebleu import sentence_bleu

    source = random.Random(7)
    for _ in range(200):
        said = [sentence(source) for _ in range(source.randint(1, 4))]
        gold = [sentence(source) for _ in range(source.randint(1, 4))]
        assert best_bleu("\n".join(said), gold) == max(min(sentence_bleu(line, gold).score, 100.0) for line in said)


def test_nothing_said_is_like_nothing() -> None:
    assert best_bleu("", QUESTIONS) == coverage("\n\n", QUESTIONS) == 0.0


def test_one_line_that_is_echoed_has_the_best_likeness_and_covers_one_step() -> None:
    echoed = "\n".join([QUESTIONS[0]] * 3)
    assert best_bleu(echoed, QUESTIONS) == 100.0
    assert coverage(echoed, QUESTIONS) < 0.5


def test_every_question_in_any_order_covers_all() -> None:
    assert coverage("\n".join(reversed(QUESTIONS)), QUESTIONS) == 1.0


def test_lines_that_are_paired_otherwise_would_cover_less() -> None:
    # The first line fits both questions; it is left to the one that the second line does not fit.
    said = ["what does she earn a day", "what does she earn a week"]
    assert coverage(said, ["what does she earn a day", "what does she earn"]) > 0.85


def test_of_no_reference_there_is_no_coverage() -> None:
    with pytest.raises(Undefined, match="no reference"):
        coverage("a line", [])


def test_what_stands_before_a_marker_is_taken_of_the_lines_that_have_it() -> None:
    lines = ["How many? ** 2 + 3 = 5", "And now? **5 - 1 = 4", "#### 4"]
    assert each_before(lines, "**") == ["How many?", "And now?"]
