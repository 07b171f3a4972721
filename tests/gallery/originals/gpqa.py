"""Verdicts of the reader of answers of `gpqa_eval.py` in openai/simple-evals (MIT), commit
ee3b0318d8d1d9d72755a4120879be65f7c07e9e. Run: `python gpqa.py FILE`, with a copy of its `common.py`."""

import random
import re
import sys
from pathlib import Path

from loading import functions_of, store

FORMS = (
    "So it is this.\nAnswer: {0}", "Answer: {1}? No.\nAnswer: {0}", "answer:{0}", "ANSWER \t: ${0}$",
    "Answer: $LETTER, that is {0}", "**Answer:** {0}", "**Answer: {0}**", "Answer: ({0})", "Answer:\n{0}",
    "Answer: {2}", "The answer is {0}", "Answer: \\boxed{{{0}}}", "Final Answer: {0}) because",
    "Answer: Because of this, {0}", "Answer: E", "Ａnswer: {0}", "Answer： {0}", "Answer:\u00a0{0}", "Unanswer: {0}",
    "{0}", "", "I cannot answer: sorry.", "\u0130 Answer: {0}", "Answer: {0}{1}",
)  # fmt: skip


def main() -> None:
    pattern = functions_of(Path(sys.argv[1]).read_text("utf-8"), ["ANSWER_PATTERN_MULTICHOICE"], {})
    dice = random.Random(2311)
    lines = []
    for number in range(60):
        row = {"Record ID": f"rec{number}", "Question": f"Question {number}?", "High-level domain": dice.choice("PCB")}
        kinds = ("Correct Answer", "Incorrect Answer 1", "Incorrect Answer 2", "Incorrect Answer 3")
        row |= {kind: f"{text} of {number}" for kind, text in zip(kinds, ("α", "β, γ", 'say "δ"', "D"), strict=True)}
        for time in range(4):
            form = FORMS[(4 * number + time) % len(FORMS)]
            letters = dice.choice("ABCD"), dice.choice("ABCD")
            reply = form.format(*letters, letters[0].lower())
            match = re.search(pattern["ANSWER_PATTERN_MULTICHOICE"], reply)
            lines.append({"row": row, "reply": reply, "letter": match.group(1) if match else None})
    store("gpqa", lines)


main()
