"""The figures of the LM Evaluation Harness for BBQ on the questions and choices of test_bbq.py.

The package lm-eval 0.4.13 (pip): `process_docs`, `process_results_multiple_choice` and the aggregations of its
tasks/bbq/utils.py, with numpy. `datasets`, which that file imports, is not loaded. What chooses no option is left out, as
the authors' own script leaves it out.

    python -P tests/gallery/originals/bbq.py > tests/gallery/verdicts/bbq.jsonl
"""

from __future__ import annotations

import json
import random
import runpy
import sys
from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

UNKNOWN = ("Not enough info", "Cannot be determined", "Can't answer", "Unknown", "Undetermined", "Not known")
CATEGORIES = {
    "Age": ("old", "nonOld", "old"),
    "Nationality": ("Utopian", "Arcadian", "utopian"),
    "Religion": ("Sol", "Luna", "Sol"),
}
"""The group of each answer, and the stereotyped one as the metadata write it."""
COUNT = 40


def rows() -> list[dict[str, Any]]:
    """Return the questions: each category has as many, of both polarities and with both contexts."""
    found = []
    for category, (one, other, stereotyped) in CATEGORIES.items():
        for n in range(COUNT):
            dice = random.Random(f"{category} {n}")
            answers = [
                (f"The {one} person {n}", one),
                (f"The {other} person {n}", other),
                (dice.choice(UNKNOWN), "unknown"),
            ]
            dice.shuffle(answers)
            condition = dice.choice(["ambig", "disambig"])
            known = [at for at, (_, group) in enumerate(answers) if (group == "unknown") == (condition == "ambig")]
            found.append({
                "example_id": n, "question_polarity": dice.choice(["neg", "nonneg"]), "context_condition": condition, "category": category,
                "answer_info": {f"ans{at}": [text.lower(), group] for at, (text, group) in enumerate(answers)},
                "additional_metadata": {"stereotyped_groups": [stereotyped]}, "context": f"Context <{category} {n}>.", "question": "Who?",
                **{f"ans{at}": text for at, (text, _) in enumerate(answers)}, "label": dice.choice(known),
            })  # fmt: skip
    return found


def choice(row: dict[str, Any]) -> int | None:
    """Return the position of the option that a reply chooses; None where it chooses none."""
    dice = random.Random(f"choice {row['category']} {row['example_id']}")
    groups = [row["answer_info"][f"ans{at}"][1] for at in range(3)]
    if dice.random() < 0.08:
        return None
    if dice.random() < 0.4:
        return int(row["label"])
    if row["category"] == "Age" and dice.random() < 0.6:
        return groups.index("old" if row["question_polarity"] == "neg" else "nonOld")
    return dice.randrange(3)


def reply(row: dict[str, Any]) -> str:
    """Return the reply: the choice in one of the forms that models give, or none that can be read."""
    dice, chosen = random.Random(f"form {row['category']} {row['example_id']}"), choice(row)
    if chosen is None:
        return dice.choice(["", "A or B", "I would rather not say.", "D", "—"])
    form = dice.choice(
        [
            "{0}",
            "{0}.",
            "({0})",
            "The answer is {0}.",
            "**{0}**",
            "{0}. {1}",
            "Answer: {0}\n",
            "{1}",
            "答案是{0}。",
            "\\boxed{{{0}}}",
        ]
    )
    return form.format("ABC"[chosen], row[f"ans{chosen}"])


def main() -> None:
    """Print what is counted of each question, and the figures of each category and of all."""
    sys.modules["datasets"] = MagicMock()
    spec = find_spec("lm_eval")
    assert spec is not None and spec.origin is not None
    utils = runpy.run_path(str(Path(spec.origin).parent / "tasks" / "bbq" / "utils.py"))
    data = MagicMock()
    data.map = lambda helper: [helper(row) for row in rows()]
    columns: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for row in utils["process_docs"](data):
        chosen = choice(row)
        if chosen is None:
            continue
        options = utils["doc_to_choice"](row)
        results = [(float(option == row[f"ans{chosen}"]), False) for option in options]
        counted = utils["process_results_multiple_choice"](row, results)
        acc, biased, known, _ = counted["amb_bias_score"]
        print(json.dumps({"id": [row["category"], row["example_id"]], "acc": acc, "biased": biased, "known": known}))
        for name in ("all", row["category"]):
            for metric in ("accuracy_amb", "accuracy_disamb", "amb_bias_score", "disamb_bias_score"):
                columns[name][metric].append(counted[metric])
    aggregations = {
        "accuracy_amb": "agg_accuracy_amb", "accuracy_disamb": "agg_accuracy_disamb",
        "amb_bias_score": "agg_amb_bias_scores", "disamb_bias_score": "agg_disamb_bias_scores",
    }  # fmt: skip
    for name, each in columns.items():
        print(
            json.dumps(
                {"of": name, **{metric: float(utils[aggregations[metric]](values)) for metric, values in each.items()}}
            )
        )


if __name__ == "__main__":
    main()
