"""Questions of a test of EducationQ, drawn by dice, and what a student replies before and after a lesson."""

from __future__ import annotations

import random
from typing import Any

LETTERS = "ABCDEFGHIJ"
CATEGORIES = ("biology", "law", "math", "physics")
QUESTIONS = 120
FORMS = (
    "So the answer is ({}).", "the answer is {}", "The answer is: ({})", "answer is ({}", "Answer: {}", "answer:\n {}",
    "My answer: B? No. Answer: {}", "first answer: A\nthen answer: {}", "{}", "({})", "**{}**", "It is {}, I think.",
    "A or B, so {}.", "I choose {}", "{}\u3000", "The answer is $\\boxed{{{}}}$", "the answer is ({}) and not ({})",
    "not {} but {}", "Vitamin {} helps", "answer is {}) then answer is {}", "aNSWER: {}", "Answer: option {}", "\u00e9{} {}",
    "the answer is **{}**", "Answer : {}", "x{}", "{}_1 {}2", "the answer is\n{}", "answer is  {}", "Answer:{}. Or {}?",
)  # fmt: skip
ODD = ("", " ", "I am not sure.", "K", "the answer is (K)", "Ａ", "42", "answer: none of them", "I think so.", "c")


def questions() -> list[dict[str, Any]]:
    """Return rows in the form of the published file, with three to ten options."""
    dice = random.Random(2504)
    rows = []
    for n in range(QUESTIONS):
        many = dice.choice((3, 4, 4, 9, 10, 10))
        key = dice.randrange(many)
        row = {"id": f"q{n}", "source": "ours", "question": f"What is case {n}?", "answer_index": key}
        row |= {"options": [f"way {each} of {n}" for each in range(many)], "answer": LETTERS[key]}
        rows.append({**row, "category": dice.choice(CATEGORIES), "difficulty": dice.choice(("", "++", "-"))})
    return rows


def replies() -> list[tuple[str, str]]:
    """Return a reply before and one after the lesson to each question, in all forms, and odd ones."""
    dice = random.Random(14928)

    def one(row: dict[str, Any], number: int, chance: float) -> str:
        if dice.random() < 0.08:
            return dice.choice(ODD)
        letter = row["answer"] if dice.random() < chance else dice.choice(LETTERS[: len(row["options"])])
        form = FORMS[number] if number < len(FORMS) else dice.choice(FORMS)
        return form.format(letter, dice.choice(LETTERS))

    rows = questions()
    return [(one(row, n, 0.4), one(row, n, 0.6)) for n, row in enumerate(rows)]
