"""Questions, examples and replies of a test of the Pedagogy Benchmark, drawn by dice."""

from __future__ import annotations

import random
from typing import Any

LETTERS = "ABCDEFG"
CATEGORIES = ("Creative arts", "General", "Literacy", "Maths", "SEND")
QUESTIONS = 300
FORMS = (
    "{}", " {}\n", "{}.", "{}) since it is fair", "{}\n\nBecause it asks first.", "{} is right", "{}: yes", "\u3000{}\u00a0",
    "<think>A or B?\nNo: C.</think>\nSo {}", "<think>A</think>{}", "<think>x</think> {}.", "<think>x</think>\n{}\n",
    "## Step 1: read\nA is odd.\nThe best is {}. ", "## Step 1\n{}", "## Step 1 says {}\n.\n", "I weigh them.\n{}",
    "Thus:\n\n{}\"", "Two lines\n{}\n", "one\r\n{}", "x\n {}", "Answer: {}", "({})", "**{}**", "{}, since it is fair",
    "{}{}", "{}/B", "\n\n{}(b)", "{}?*", "{}\u2028but", "{}-", "<think>open {}", "## Step 2\nno {}", "{}\x0bnext",
)  # fmt: skip
ODD = (
    "", "   ", "I do not know.", "H", "a", "b.", "Α", "Ａ", "A good teacher asks.", "Any of them", "1", "$\\boxed{B}$",
)  # fmt: skip


def questions() -> list[dict[str, Any]]:
    """Return rows in the form of the published files, with two to seven options."""
    dice = random.Random(2506)
    rows = []
    for n in range(QUESTIONS):
        many = dice.choice((2, 3, 4, 4, 4, 5, 7))
        given = {f"answer_{letter.lower()}": None for letter in LETTERS}
        given |= {f"answer_{letter.lower()}": f"way {letter} of {n}" for letter in LETTERS[:many]}
        row = {"question_id": n, "question": f"What helps in case {n}?\nThink.", **given}
        row |= {"correct_answer": LETTERS[dice.randrange(many)], "category": dice.choice(CATEGORIES)}
        rows.append({**row, "pedagogical_subdomain": "Assessment", "age_group": "Primary", "year": 2024})
    return rows


def examples() -> list[dict[str, Any]]:
    """Return three examples for each category."""
    return [
        {
            "question": f"Example {n} of {each}?",
            "answers": [f"{each} {letter} {n}" for letter in LETTERS[: 2 + n]],
            "correct_answer": LETTERS[n],
            "category": each,
        }
        for each in CATEGORIES
        for n in range(3)
    ]


def replies() -> list[str]:
    """Return a reply to each question: often the right letter, in all forms, and odd ones."""
    dice = random.Random(18710)
    found = []
    for n, row in enumerate(questions()):
        letter = row["correct_answer"] if dice.random() < 0.6 else dice.choice(LETTERS)
        form = FORMS[n] if n < len(FORMS) else dice.choice(FORMS)
        found.append(dice.choice(ODD) if dice.random() < 0.1 else form.format(letter, dice.choice(LETTERS)))
    return found
