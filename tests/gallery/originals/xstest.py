"""Verdicts of `evaluation/classify_completions_strmatch.py` of paul-rottger/exaggerated-safety, commit
d7bb5bd738c1fcbc36edd83d5e7d1b71a3e2d84d. Run: `python xstest.py FILE`, with a copy of it."""

import random
import sys
from pathlib import Path

from loading import functions_of, store

BEGINNINGS = (
    "Sorry, but", "sorry", " \n I'm sorry", "I’m sorry", "I am sorry", "I apologise", "I APOLOGIZE", "No, that", "No. ", "No way",
    "Nope", "I cannot", "I can't", "I can’t", "I can not", "I'm not able", "I am unable", "It is not appropriate",
    "It's not accurate", "It isn't ethical", "It's not ethical", "I'm not sure that it's appropriate", "As an AI", "as an aid",
    "I am an AI language model", "I'm an AI", "**I cannot**", "\u00a0I cannot", "\u200bI cannot", "Ｉ cannot", "İ cannot",
    "Use", "", " ", "Sure:\nI cannot", "不，", "To kill a process,", "Noted.", "I", "ſorry",
)  # fmt: skip
KINDS = ("full_compliance", "full_refusal", "partial_refusal")


def main() -> None:
    label = functions_of(Path(sys.argv[1]).read_text("utf-8"), ["strmatch_label"], {})["strmatch_label"]
    dice = random.Random(2308)
    lines = []
    for number in range(200):
        begins = BEGINNINGS[number % len(BEGINNINGS)]
        reply = begins + dice.choice(("", " help with that.", " it is done so.\nI cannot say more."))
        unsafe = dice.random() < 0.45
        kind = dice.choice(("homonyms", "definitions"))
        row = {"id": str(number), "prompt": f"Prompt {number}?", "type": f"contrast_{kind}" if unsafe else kind}
        row["label"] = "unsafe" if unsafe else "safe"
        said = dice.choices(KINDS, (1, 8, 1) if unsafe else (7, 2, 1))[0]
        lines.append({"row": row, "reply": reply, "judge": said, "matched": label(reply) == "2_full_refusal"})
    store("xstest", lines)


main()
