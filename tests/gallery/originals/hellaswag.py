"""Verdicts of lm-eval 0.4.13 (MIT) on HellaSwag: `hellaswag/hellaswag.yaml`. Run it in an environment that has lm-eval."""

import random

from asking import verdicts
from loading import store

STARTS = ("A man  sits", "[header] How to sit [title] Sit down. [step] Do", "She", " They [laugh] and", "Ärzte", "x  y")
ENDS = ("", "he", "McDonald then", "THE dog", "élan is", "[step] it", "ñandú RUNS", "then  they")
WORDS = (
    "[substeps] sit.", "run away", "run", "eat  the [x] cake", "日本へ行く", "a very long ending that goes on and on", "😀",
)  # fmt: skip


def main() -> None:
    dice = random.Random(1905)
    rows = []
    for number in range(150):
        endings = [f"{dice.choice(WORDS)} {dice.choice(WORDS)}{place}" for place in range(4)]
        if number % 25 == 7:
            endings[2] = endings[1]
        rows.append(
            {
                "ind": number,
                "activity_label": f"Task {number}",
                "ctx_a": dice.choice(STARTS),
                "ctx_b": dice.choice(ENDS),
                "endings": endings,
                "label": str(dice.randrange(4)),
                "split_type": dice.choice(("indomain", "zeroshot")),
            }
        )

    def reply(number: int, text: str, options: list[str]) -> list[tuple[float, bool]]:
        likely = {each: round(-dice.choice((0.4, 1, 3)) * len(each) * dice.random(), 3) for each in options}
        if number % 10 == 3:
            likely = dict.fromkeys(options, -4.5)
        return [(likely[each], False) for each in options]

    lines = []
    for each in verdicts("hellaswag/hellaswag.yaml", {"validation": rows}, reply):
        ((scores),) = each["scores"].values()
        likely = [one for one, _ in each["said"]]
        sent = {"text": each["text"], "options": each["options"], "logprobs": likely}
        lines.append({"row": rows[each["number"]], **sent, "acc": scores["acc"], "acc_norm": scores["acc_norm"]})
    store("hellaswag", lines)


main()
