"""The verdicts and scores of Arena-Hard on the judgements of test_arena_hard.py.

lmarena/arena-hard-auto, commit 196f6b826783b3da7310e361a805fa36f0be83f3, on the path: `get_score` of gen_judgment.py with
the patterns of config/arena-hard-v2.0.yaml, and `load_judgments` of show_result.py with the mean that its table shows
(it prints that of 100 bootstrap draws, rounded); with pandas, pyyaml and tqdm. What calls models, and torch, which only
the control of style needs, are not loaded.

    python -P tests/gallery/originals/arena_hard.py CHECKOUT > tests/gallery/verdicts/arena_hard.jsonl
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

CATEGORIES = ("hard_prompt", "creative_writing")
LEVELS = ("A>>B", "A>B", "A=B", "B>A", "B>>A")
FORMS = ("My final verdict is: [[{0}]]", "[[{0}]]", "[[{1}]]? No, on balance [[{0}]].", "[[{0}]].\n[{1}]", "Verdict: [{0}]",
         "[[{lower}]]", "**[[{0}]]**", "[[ {0} ]]", "{0}", "", "I judge neither.", "[[{back}]]", "结论：[[{0}]]", "[{1}] and [{0}]",
         "[[{0}]", "Both are fine [[]]", "[1] is wrong, so [[{0}]]\n")  # fmt: skip
COUNT = 75


def questions() -> list[dict[str, str]]:
    """Return the prompts of both categories."""
    return [
        {"uid": f"{category}-{n}", "category": category, "subcategory": category, "prompt": f"Prompt <{category} {n}>"}
        for category in CATEGORIES
        for n in range(COUNT)
    ]


def baseline(category: str) -> list[dict[str, Any]]:
    """Return the answers of a baseline, in both forms that the files have."""
    return [
        {"uid": row["uid"], "model": "b", "messages": [
            {"role": "user", "content": row["prompt"]},
            {"role": "assistant", "content": {"answer": f"baseline's {row['uid']}"} if n % 3 else f"baseline's {row['uid']}"},
        ]}
        for n, row in enumerate(questions())
        if row["category"] == category
    ]  # fmt: skip


def judgement(uid: str, game: int) -> str:
    """Return what the judge says: in the first game the baseline is A, in the second B."""
    dice = random.Random(f"{uid} {game}")
    level, other = dice.choice(LEVELS), dice.choice(LEVELS)
    back = level[::-1].replace(">", "<")  # B<<A says the same as A>>B
    return dice.choice([*FORMS, *FORMS[:3] * 3]).format(level, other, lower=level.lower(), back=back)


def main(checkout: str) -> None:
    """Print both verdicts of each question, and the score of each category."""
    sys.path.insert(0, checkout)
    for name, attributes in {
        "torch": (),
        "utils.completion": ("load_questions", "registered_api_completion", "load_model_answers", "get_endpoint", "make_config"),
        "utils.math_utils": ("one_hot_encode", "to_winrate_probabilities", "bootstrap_pairwise_model"),
    }.items():  # fmt: skip
        sys.modules[name] = module = ModuleType(name)
        for attribute in attributes:
            setattr(module, attribute, None)
    import gen_judgment
    import show_result
    import yaml

    patterns = yaml.safe_load((Path(checkout) / "config" / "arena-hard-v2.0.yaml").read_text())["regex_patterns"]
    rows = []
    for row in questions():
        scores = [gen_judgment.get_score(judgement(row["uid"], game), patterns) for game in (1, 2)]
        print(json.dumps({"uid": row["uid"], "scores": scores}))
        rows.append({**row, "model": "m", "games": [{"score": score} for score in scores]})
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "data" / "bench" / "model_judgment" / "judge"
        place.mkdir(parents=True)
        (place / "m.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        os.chdir(folder)
        show_result.print = show_result.tqdm = lambda files: files
        battles = show_result.load_judgments(["judge"], "bench")
    means = battles.groupby("category")["scores"].apply(lambda each: each.astype(float).mean())
    print(json.dumps({category: means[category] for category in CATEGORIES}))


if __name__ == "__main__":
    main(str(Path(sys.argv[1]).resolve()))
