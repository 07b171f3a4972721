"""Verdicts of lm-eval 0.4.13 (MIT) on TruthfulQA: `truthfulqa_mc1.yaml` and `truthfulqa_mc2.yaml`. Run it in an
environment that has lm-eval."""

import math
import random

from asking import verdicts
from loading import store

WORDS = ("Yes", "No, it is not", "Nobody knows", "In 1969", "日本", "It's “so”", "I have no comment")


def targets(dice: random.Random, trues: int, falses: int) -> dict[str, list[object]]:
    choices = [f"{dice.choice(WORDS)} {place}" for place in range(trues + falses)]
    return {"choices": choices, "labels": [1] * trues + [0] * falses}


def main() -> None:
    dice = random.Random(2109)
    rows = []
    for number in range(100):
        rows.append(
            {
                "question": f"Question {number}?",
                "mc1_targets": targets(dice, 1, dice.randint(1, 6)),
                "mc2_targets": targets(dice, dice.randint(1, 4), dice.randint(1, 5)),
            }
        )

    def reply(number: int, text: str, options: list[str]) -> list[tuple[float, bool]]:
        # Near, far apart, all alike, and so unlikely that e to the power of them is 0.
        scale, least = ((3, 0), (60, 0), (0, 4), (9, 800))[0 if number % 20 else number // 20 % 4]
        return [(round(-least - scale * dice.random(), 3), False) for _ in options]

    lines = [{"row": row} for row in rows]
    for task in ("mc1", "mc2"):
        for each in verdicts(f"truthfulqa/truthfulqa_{task}.yaml", {"validation": rows}, reply):
            ((scores),) = each["scores"].values()
            value = float(scores["acc"])
            line = lines[each["number"]]
            line[f"{task}_logprobs"] = [one for one, _ in each["said"]]
            line[f"{task}_text"], line["examples"] = each["text"].split("\n\n")[-1], each["text"].count("\n\n")
            line[task] = None if math.isnan(value) else value
    store("truthfulqa", lines)


main()
