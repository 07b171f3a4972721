"""Conversations of a test of MRBench, drawn by dice: the labels of people, and what an annotator replies."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

STEPS = ("Yes", "To some extent", "No")
LABELS = {
    "Mistake_Identification": STEPS,
    "Mistake_Location": STEPS,
    "Revealing_of_the_Answer": ("Yes (and the answer is correct)", "Yes (but the answer is incorrect)", "No"),
    "Providing_Guidance": STEPS,
    "Actionability": STEPS,
    "Coherence": STEPS,
    "Tutor_Tone": ("Encouraging", "Neutral", "Offensive"),
    "humanlikeness": STEPS,
}
CONVERSATIONS, TUTORS = 13, 3
READABLE = ("{}", ' {{"value": {}}}', "**{}**\n", '```json\n{{"value": {}}}\n```', '{{"value": "{}"}}')
UNREADABLE = ("", "The tutor did well.", "0", "4", "1 or 2", "1.5", "⅓")


def conversations() -> list[dict[str, Any]]:
    """Return rows in the form of the published file. People seldom say `Offensive`, and often `Yes`."""
    dice = random.Random(2412)
    return [
        {
            "conversation_id": f"c{n}",
            "conversation_history": f"Tutor: What is {n} + 5?\n Student: {n + 6}.",
            "Data": dice.choice(("Bridge", "MathDial")),
            "anno_llm_responses": {
                f"T{tutor}": {
                    "response": f"Look again, says tutor {tutor} in talk {n}!",
                    "annotation": {each: dice.choices(said, (6, 3, 2))[0] for each, said in LABELS.items()},
                }
                for tutor in range(TUTORS)
            },
        }
        for n in range(CONVERSATIONS)
    ]


def annotations() -> Iterator[tuple[str, str, str, int | None, str]]:
    """Return an ability, the reply of a tutor, the label of people, that of the annotator as a number or None where
    none can be read, and what the annotator says."""
    dice = random.Random(9416)
    for row in conversations():
        for reply in row["anno_llm_responses"].values():
            for ability, steps in LABELS.items():
                of_people = reply["annotation"][ability]
                said = steps.index(of_people) + 1 if dice.random() < 0.6 else dice.randint(1, 3)
                odd = dice.random() < 0.08
                text = dice.choice(UNREADABLE) if odd else dice.choice(READABLE).format(said)
                yield ability, reply["response"], of_people, None if odd else said, text
