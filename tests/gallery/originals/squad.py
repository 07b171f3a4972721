"""Verdicts of the official `evaluate-v2.0.py` of rajpurkar/SQuAD-explorer (MIT), commit
eee5fdbf62f8613a7812b03419e6b29617b74fd1. Run: `python squad.py FILE`, with a copy of it."""

import collections
import random
import re
import string
import sys
from pathlib import Path

from loading import functions_of, store

GOLD = ("the Sea of Marmara", "Sea of Marmara", "700 metres", "A", "the", "1,973", "it's", "Café del Mar", "—", "$5.00")
SAID = (
    "the sea of marmara.", "Sea of Marmara, the", "about 700 metres", "700 metres 700 metres", "a a an the", "1973",
    "1,973 or 700", "its", "It\u2019s", "café\u00a0del   mar", "CAFÉ", "Cafe\u0301 del Mar", "$5", "500", "— –",
    "Theatre of the Sea\nof Marmara", "…", "", "  ", "\x1csea\x85of\u2003marmara", "I do not know.", "İstanbul ẞ ǅ",
)  # fmt: skip
NOTHING = ("unanswerable", "Unanswerable.", " **UNANSWERABLE**\n", "The unanswerable")


def main() -> None:
    names = ("normalize_answer", "get_tokens", "compute_exact", "compute_f1", "get_raw_scores", "make_eval_dict")
    scope = {"re": re, "string": string, "collections": collections}
    original = functions_of(Path(sys.argv[1]).read_text("utf-8"), names, scope)
    dice = random.Random(1806)
    lines = []
    for number in range(200):
        texts = [dice.choice(GOLD) for _ in range(dice.choice((0, 0, 1, 2, 3)))]
        reply = dice.choice(texts) if texts and dice.random() < 0.2 else dice.choice((*SAID, *NOTHING))
        row = {"id": f"q{number}", "title": "T", "context": "A text.", "question": f"Question {number}?"}
        row["answers"] = {"text": texts, "answer_start": [0] * len(texts)}
        # The prompt asks for this word where there is no answer; a file of predictions has an empty text there.
        prediction = "" if reply in NOTHING else reply
        questions = [{"id": row["id"], "answers": [{"text": text} for text in texts]}]
        exact, f1 = original["get_raw_scores"]([{"paragraphs": [{"qas": questions}]}], {row["id"]: prediction})
        lines.append({"row": row, "reply": reply, "exact": exact[row["id"]], "f1": f1[row["id"]]})
    every = {metric: {line["row"]["id"]: line[metric] for line in lines} for metric in ("exact", "f1")}
    ids = {"HasAns": [], "NoAns": []}
    for line in lines:
        ids["HasAns" if line["row"]["answers"]["text"] else "NoAns"].append(line["row"]["id"])
    figures = {"all": original["make_eval_dict"](every["exact"], every["f1"])}
    figures |= {kind: original["make_eval_dict"](every["exact"], every["f1"], some) for kind, some in ids.items()}
    store("squad", [*lines, {"figures": figures}])


main()
