"""Verdicts of MMLU-Pro's own reader of answers: `evaluate_from_api.py` of TIGER-AI-Lab/MMLU-Pro (Apache-2.0), commit
f418b116db00b065c2aea046518d8fcf74d39872. Run: `python mmlu_pro.py FILE`, with a copy of that file."""

import random
import re
import sys
from pathlib import Path

from loading import functions_of, store

LETTERS = "ABCDEFGHIJ"
FORMS = (
    "Let's think. The answer is ({0}).",
    "The answer is {0}",
    "the answer is ({1}). No: the answer is ({0}).",
    "**The answer is ({0})**",
    "The answer **is** ({0}).",
    "The answer is: {0}",
    "The answer is ( {0} ).",
    "the ANSWER IS {0}",
    "Answer: {0}",
    "answer:\n\n{0}. because of {1}",
    "First Answer: {1}, final Answer: {0}\nAnswer: {1}",
    "Answer : {0}",
    "{0}",
    "({0})",
    "{0}. {1} is wrong",
    "I think A and {1} are close, so {0}\nis best",
    "Option{0} is right",
    "答案是{0}",
    "答案是 {0} 。",
    "answer is ｛{0}｝",
    "The answer is \\boxed{{{0}}}",
    "$\\text{{{0}}}$",
    "the answer is (K)",
    "The answer is z",
    "é{0} {0}é",
    "_{0}_",
    "",
    " ",
    "I cannot help with that.",
    "I will not say.",
    "no idea whatsoever \U0001f937",
    "a b c d",
    "the answer is ({0}{1})",
    "The answer is {0}, not {1}; in any case the answer is {0}",
)


def main() -> None:
    source = Path(sys.argv[1]).read_text("utf-8")
    names = ("extract_answer", "extract_again", "extract_final")
    extract = functions_of(source, names, {"re": re, "print": lambda *_: None})["extract_answer"]
    dice = random.Random(12345)
    lines = []
    for number in range(340):
        count = dice.choice((4, 5, 7, 10, 10, 10))
        options = [f"{dice.choice(('force', 'cell', 'N', 'x²'))} {place}" for place in range(count)]
        options += ["N/A"] * dice.choice((0, 0, 10 - count))
        key, other = dice.choice(LETTERS[:count]), dice.choice(LETTERS)
        said = key if dice.random() < 0.6 else dice.choice(LETTERS)
        reply = FORMS[number % len(FORMS)].format(said, other)
        row = {
            "question_id": number,
            "question": f"Question {number}?",
            "options": options,
            "answer": key,
            "cot_content": "",
            "category": dice.choice(("law", "math", "physics")),
        }
        # As `single_request` has it, emphasis goes before the answer is looked for.
        lines.append({"row": row, "reply": reply, "letter": extract(reply.replace("**", ""))})
    store("mmlu_pro", lines)


main()
