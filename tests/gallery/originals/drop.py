"""Verdicts of lm-eval 0.4.13 (MIT) on DROP: `drop/utils.py`, which has the metric of the official script. Run it in an
environment that has lm-eval and scipy."""

import random

from lm_eval.tasks.drop import utils
from loading import store

NUMBERS = ("7", "1,240", "3.50", "0", "-2", "1e3", "nan", "½", "12%", "$5.00", "")
SPANS = (
    "the Brandt", "Lind", "Anna-Lena Lind", "7 men", "7.0 men", "4 May 1968", "A", "—", "Oduya's team", "Ärzte",
    "x_y",
)  # fmt: skip
ODD = ("", "  ", "I cannot say.", "seven", "7 or 8", "a an the", "1_000", "inf", "--", "7.", "7-8", "Brandt\n\n Lind ")


def answer(dice: random.Random) -> dict[str, object]:
    kind = dice.choice(("number", "spans", "spans", "date"))
    date = {"day": dice.choice(("4", "")), "month": "May", "year": dice.choice(("1968", ""))}
    return {
        "number": dice.choice(NUMBERS) if kind == "number" else "",
        "date": date if kind == "date" else dict.fromkeys(date, ""),
        "spans": [dice.choice(SPANS) for _ in range(dice.randint(1, 4))] if kind == "spans" else [],
    }


def main() -> None:
    dice = random.Random(1903)
    lines = []
    for number in range(220):
        true, validated = answer(dice), [answer(dice) for _ in range(dice.choice((0, 0, 1, 2)))]
        row = {"query_id": f"q{number}", "passage": "A text.", "question": f"Question {number}?"}
        row |= {"answer": true, "validated_answers": validated}
        spans = list(dice.choice([true, *validated])["spans"])
        dice.shuffle(spans)
        close = dice.choice(
            ("\n".join(spans), "\n".join([*spans, "Lind"]), "\n".join(spans[1:]), " ".join(spans).upper())
        )
        reply = dice.choice((close, close, dice.choice(NUMBERS), dice.choice(ODD), "4 may, 1968"))
        doc = {"answer": true, "validated_answers": {key: [each[key] for each in validated] for key in true}}
        # Each line of a reply that is not blank is a span of the prediction.
        said = [line.strip() for line in reply.split("\n") if line.strip()] or [""]
        scores = utils.process_results({"answers": utils.get_answers(doc)}, said)
        lines.append({"row": row, "reply": reply, "em": float(scores["em"]), "f1": float(scores["f1"])})
    store("drop", lines)


main()
