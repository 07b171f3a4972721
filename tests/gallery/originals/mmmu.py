"""Verdicts of `mmmu/utils/eval_utils.py` of MMMU-Benchmark/MMMU (Apache-2.0), commit
bb0b95a945998d91dfef37e969e07d49d1139438. Run: `python mmmu.py FILE`, with a copy of it, where numpy is installed."""

import random
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from loading import functions_of, store

CLOSED = (
    "{0}", "({0})", "{0}.", "'{0}'", "{0},.", ".,{0}", "Answer: {0}", "The answer is ({0}), not ({1}).", "{1} or {0} ",
    "I think that {2} is what the picture shows here.", "{2}", "it is the option with {3} rather than {2}, I believe",
    "\n{0}\n", "({1}) is wrong; {0} is right", "**{0}**", "a", "", " ", "None of the options fits this picture at all.",
    "({0}){1}", "A {1} D", "（{0}）", "I cannot see an image.", "{0}) {2}",
)  # fmt: skip
OPEN = (
    "{0}", "The answer is {0}.", "x = {0}", "so {1} is wrong\nThe result is {0}", "It is about {0} metres. So it is {1}.",
    "{0}, {1}", "1,{0}", "The final answer could be {0}", "approximately -{0}", "{0}e0", "$ {0} $", "", ".", "I cannot say.",
    "is ", "is :", "thus it follows\n{0}", "THE ANSWER IS {0}", "{1}\n{0} = {1}", "equals {0}%", "as {0}s", "no answer {1}",
)  # fmt: skip
TRUTHS = (
    ["18"],
    ["3.14", "π"],
    ["1,200"],
    ["x"],
    ["mitosis", "Mitosis"],
    ["-0.5"],
    ["Art Nouveau"],
    ["2e3"],
    ["(3, 4)"],
    ["7%"],
)
OPTIONS = ("One half", "the larger bar", "Oxygen", "3", "x + 1", "Mitosis", "all of these", "A")


def main() -> None:
    names = ("parse_multi_choice_response", "parse_open_response", "check_is_number", "normalize_str")
    names += ("extract_numbers", "eval_multi_choice", "eval_open")
    # A reply that names no option is a draw there; here it has no letter.
    scope = {"re": re, "np": np, "random": SimpleNamespace(choice=lambda _: None), "Dict": dict}
    original = functions_of(Path(sys.argv[1]).read_text("utf-8"), names, scope)
    dice = random.Random(2311)
    lines = []
    for number in range(200):
        row = {"id": f"validation_{number}", "question": f"Question {number}? <image 1>", "options": []}
        if number % 2:
            options = dice.sample(OPTIONS, dice.choice((2, 4, 5)))
            letters = [chr(65 + place) for place in range(len(options))]
            key, other = dice.choice(letters), dice.choice(letters)
            texts = dict(zip(letters, options, strict=True))
            reply = CLOSED[number // 2 % len(CLOSED)].format(key, other, texts[key], texts[other])
            row |= {"options": options, "answer": [key], "question_type": "multiple-choice"}
            said = original["parse_multi_choice_response"](reply, letters, texts)
            right = original["eval_multi_choice"](row["answer"], said)
            lines.append({"row": row, "reply": reply, "letter": said, "right": right})
        else:
            truth, other = dice.choice(TRUTHS), dice.choice(TRUTHS)
            said = dice.choice((truth[0], truth[-1], truth[0].upper(), other[0]))
            reply = OPEN[number // 2 % len(OPEN)].format(said, dice.choice(other))
            row |= {"answer": truth, "question_type": "open"}
            right = original["eval_open"](truth, original["parse_open_response"](reply))
            lines.append({"row": row, "reply": reply, "right": right})
        lines[-1]["subject"] = dice.choice(("Math", "Art", "Physics", "Finance"))
    store("mmmu", lines)


main()
