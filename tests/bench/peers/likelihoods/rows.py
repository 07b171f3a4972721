"""Rows of our own in the form of HellaSwag and MMLU, some of them odd: marks of pages, double blanks, accents."""

from __future__ import annotations

import json
import random
from pathlib import Path

SCENES = (
    ("Making tea", "A woman fills a kettle with water.", "she", "puts it on the stove and waits."),
    ("Baking bread", "A man kneads dough on a board.", "he", "lets it rest under a cloth."),
    (
        "Home and Garden",
        "[header] How to water a plant [title] Look at the soil.",
        "",
        "Touch the soil  and see if it is dry.",
    ),
    ("Cleaning windows", "A boy sprays the glass with soap.", "he", "wipes the glass with a dry cloth."),
    ("Riding a bike", "Two girls put on their helmets.", "they", "ride along the lake to the mill."),
    ("Fixing a shelf", "The carpenter marks two holes on the wall.", "the carpenter", "drills where the marks are."),
    ("Playing chess", "The players shake hands.", "one", "moves a pawn and presses the clock."),
    ("Washing dishes", "There is a pile of plates in the sink.", "someone", "rinses them one after the other."),
    ("Café", "Une femme commande un café.", "elle", "paie et sort."),
    ("Shoeing [substeps] a horse", "A smith lifts the hoof.", "the smith", "takes the old nails out."),
    ("Swimming", "The swimmer stands on the block.", "the swimmer", "dives into the pool."),
)
ODD = (
    "paints the moon with a spoon.",
    "is a river of old letters",
    "  sings [title] to the bricks",
    "eats the stove whole!",
)


def write(folder: Path, seed: int = 7) -> None:
    """Write `hellaswag.jsonl`, `mmlu.jsonl` and `mmlu_dev.jsonl`."""
    dice = random.Random(seed)
    endings = []
    for turn in range(2):
        for place, (activity, first, second, right) in enumerate(SCENES):
            others = [scene[3] for at, scene in enumerate(SCENES) if at != place]
            wrong = dice.sample([*others, *ODD], 3) if turn else dice.sample(others, 3)
            options = [right, *wrong]
            dice.shuffle(options)
            row = {"activity_label": activity, "ctx_a": first, "ctx_b": second, "endings": options}
            endings.append(row | {"label": str(options.index(right)), "ind": len(endings), "source_id": f"own~{place}"})
    _lines(folder / "hellaswag.jsonl", endings)
    _lines(folder / "mmlu.jsonl", [_sum(dice) for _ in range(6)])
    _lines(folder / "mmlu_dev.jsonl", [_sum(dice) for _ in range(5)])


def _sum(dice: random.Random) -> dict[str, object]:
    a, b = dice.randrange(2, 20), dice.randrange(2, 20)
    question = dice.choice((f"What is {a} + {b}?", f" Find the order of the sum {a} + {b} in Z. ", f"{a} + {b} ="))
    options = [a + b, *dice.sample([n for n in range(2, 60) if n != a + b], 3)]
    dice.shuffle(options)
    choices = [str(each) for each in options]
    return {"question": question, "subject": "abstract_algebra", "choices": choices, "answer": options.index(a + b)}


def _lines(path: Path, rows: list[dict[str, object]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
