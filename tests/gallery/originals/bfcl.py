"""The verdicts of the Berkeley Function Calling Leaderboard on the questions and calls of test_bfcl.py.

The package bfcl-eval 2026.3.23 (pip): `ast_checker`, for Python and for a model whose names of functions stay as they are.
`tests/field/calling.py` draws the questions. What `ast_checker` cannot be given, a reply that cannot be decoded, is wrong
in the leaderboard.

    python -P tests/gallery/originals/bfcl.py > tests/gallery/verdicts/bfcl.jsonl
"""

from __future__ import annotations

import json
import random
import runpy
from pathlib import Path
from typing import Any

CALLING = runpy.run_path(str(Path(__file__).parents[2] / "field" / "calling.py"))
"""By its path: the package has a module `tests` of its own."""
allowed, altered, arguments, function = (CALLING[name] for name in ("allowed", "altered", "arguments", "function"))

CATEGORIES = {
    "simple_python": (1, 1),
    "multiple": (3, 1),
    "parallel": (1, 3),
    "parallel_multiple": (3, 4),
    "irrelevance": (3, 0),
}
"""The functions and the most calls of a question."""
COUNT = 40


def rows(category: str) -> list[dict[str, Any]]:
    """Return the questions of a category, in the authors' form, each with its `ground_truth`."""
    found = []
    functions, calls = CATEGORIES[category]
    for n in range(COUNT):
        dice = random.Random(f"{category} {n}")
        known = [function(name, dice) for name in ("weather.now", "math_add", "book-table")[:functions]]
        answers = []
        for _ in range(dice.randint(min(calls, 2), calls)):
            chosen = dice.choice(known)
            answers.append({chosen["name"]: allowed(arguments(chosen, dice), dice)})
        question = [[{"role": "user", "content": f"Question <{category} {n}>"}]]
        found.append({"id": f"{category}_{n}", "question": question, "function": known, "ground_truth": answers})
    return found


def calls(row: dict[str, Any]) -> list[dict[str, Any]] | str | None:
    """Return the calls of the reply to a question; a text where one of them cannot be decoded, None for a refusal."""
    dice = random.Random(f"calls of {row['id']}")
    if not row["ground_truth"]:
        known = row["function"][0]
        return dice.choice([[], [], "broken", None, [{known["name"]: arguments(known, dice)}]])
    found = []
    for answer in row["ground_truth"]:
        ((name, values),) = answer.items()
        chosen = {each: first for each, (first, *_) in values.items() if dice.random() < 0.96}
        said = {each: part if dice.random() < 0.88 else altered(part, dice) for each, part in chosen.items()}
        found.append({name: {each: _plain(part) for each, part in said.items()}})
    match dice.randrange(16):
        case 0:
            return None
        case 1:
            return []
        case 2:
            return "broken"
        case 3:
            found += found[:1]
        case 4:
            found = found[1:]
        case 5:
            found = [{"another": each} for call in found for each in call.values()]
        case 6:
            found = [{name.upper(): each for name, each in call.items()} for call in found]
    dice.shuffle(found)
    return found


def _plain(part: Any) -> Any:
    """Return a value that is right, of those that a record lists for each of its members."""
    if isinstance(part, dict):
        return {name: each[0] if isinstance(each, list) and each else each for name, each in part.items()}
    return [_plain(each) for each in part] if isinstance(part, list) else part


def main() -> None:
    """Print the verdict on each question."""
    from bfcl_eval.constants.enums import Language
    from bfcl_eval.constants.model_config import MODEL_CONFIG_MAPPING
    from bfcl_eval.eval_checker.ast_eval.ast_checker import ast_checker

    model = next(
        name for name, config in MODEL_CONFIG_MAPPING.items() if not config.underscore_to_dot and "_" not in name
    )
    for category in CATEGORIES:
        for row in rows(category):
            said = calls(row)
            if category == "irrelevance":
                right = not isinstance(said, list) or not said
            else:
                right = isinstance(said, list) and bool(
                    ast_checker(row["function"], said, row["ground_truth"], Language.PYTHON, category, model)["valid"]
                )
            print(json.dumps({"id": row["id"], "right": right}))


if __name__ == "__main__":
    main()
