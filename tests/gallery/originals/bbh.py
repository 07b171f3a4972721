"""Verdicts of lm-eval 0.4.13 (MIT) on BIG-Bench Hard: nine of the tasks `bbh/cot_fewshot`. Run it in an environment that
has lm-eval."""

import random

from asking import verdicts
from loading import store

TARGETS = {
    "boolean_expressions": ("True", "False"),
    "causal_judgement": ("Yes", "No"),
    "date_understanding": ("(A)", "(B)", "(F)"),
    "dyck_languages": ("} ]", ") > ]", ">"),
    "formal_fallacies": ("valid", "invalid"),
    "multistep_arithmetic_two": ("-12", "7", "1,050"),
    "sports_understanding": ("yes", "no"),
    "web_of_lies": ("Yes", "No"),
    "word_sorting": ("apple plum", "a b c", "x"),
}
FORMS = (
    "First this. So the answer is {0}.", "So the answer is {0}.\nthe answer is {1}.", "the answer is {0}",
    "the answer is {0}. So the answer is {1}.", "The answer is {0}.", "So the answer is  {0} .",
    "the answer is\n{0}.", "the answer is **{0}**.", "the answer is {0}.\n", "the answer is 5", "the answer is .",
    "the answer is ", "the answer is x\nthe answer is {0}.", "答案: the answer is {0}。", "bathe answer is {0}!", "{0}",
    "", "I cannot say.",
)  # fmt: skip


def main() -> None:
    dice = random.Random(2210)
    lines = []
    for task, targets in TARGETS.items():
        count = dice.choice((18, 20, 26))
        rows = [{"input": f"Puzzle {number} of {task}", "target": dice.choice(targets)} for number in range(count)]

        def reply(
            number: int, text: str, options: list[str], rows: object = rows, targets: object = targets
        ) -> list[str]:
            said = dice.choice((rows[number]["target"], rows[number]["target"], dice.choice(targets)))
            return [FORMS[number % len(FORMS)].format(said, dice.choice(targets))]

        for each in verdicts(f"bbh/cot_fewshot/{task}.yaml", {"test": rows}, reply, shots=3):
            ((scores),) = each["scores"].values()
            *before, last = each["text"].split("\n\n")
            sent = {"last": last, "parts": len(before)}
            lines.append({"task": task, "row": rows[each["number"]], **sent, "reply": each["said"][0]})
            lines[-1]["right"] = scores["exact_match"]
    store("bbh", lines)


main()
