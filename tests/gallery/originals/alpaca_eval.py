"""The preferences and win rates of AlpacaEval on the outputs and judgements of test_alpaca_eval.py.

The package alpaca_eval 0.6.6 (pip): `logprob_parser` with the arguments of its `weighted_alpaca_eval_gpt4_turbo`,
`get_winrate`, and `get_length_controlled_winrate` by the formula `length_controlled_minimal`: once without a penalty,
and once as the package fits it. The difficulties of instructions, which it would download, do not stand in the formula.

    python -P tests/gallery/originals/alpaca_eval.py > tests/gallery/verdicts/alpaca_eval.jsonl
"""

from __future__ import annotations

import json
import math
import random
import sys
from typing import Any

COUNT = 160
WORDS = ("fern", "Fluß", "市场", "rain\n", "e\u0301t\u00e9", "🦊", "$x^2$", "bread", "a")


def rows() -> list[dict[str, str]]:
    """Return the instructions with the outputs of the baseline."""
    return [
        {"instruction": f"Instruction <{n}>.", "output": _text(f"baseline {n}", 18), "dataset": "abc"[n % 3]}
        for n in range(COUNT)
    ]


def _text(seed: str, most: int) -> str:
    dice = random.Random(seed)
    return " ".join(dice.choice(WORDS) for _ in range(dice.randint(0, most)))


def reply(instruction: str) -> str:
    """Return the reply of the model; now and then it is empty."""
    return _text(f"reply {instruction}", 25)


def chances(row: dict[str, str]) -> tuple[float | None, float | None]:
    """Return the logarithms of the probabilities that the judge gives the reply and the baseline; None where one is not
    among the likeliest tokens."""
    dice = random.Random(f"judge {row['instruction']}")
    longer = len(reply(row["instruction"])) - len(row["output"])
    chance = 1 / (1 + math.exp(0.5 - 0.9 * math.tanh(longer / 60) - dice.gauss(0, 1.5)))
    mass = dice.uniform(0.6, 1.0)
    match dice.randrange(16):
        case 0:
            return math.log(mass), None
        case 1:
            return None, math.log(mass)
        case 2:
            return None, None
        case 3:
            return math.log(mass / 2), math.log(mass / 2)
    return math.log(mass * chance), math.log(mass * (1 - chance))


def main() -> None:
    """Print the preference of each judgement, and the figures in per cent."""
    import pandas as pd
    from alpaca_eval.completion_parsers import logprob_parser
    from alpaca_eval.metrics import glm_winrate

    found: list[dict[str, Any]] = []
    for at, row in enumerate(rows()):
        ours, theirs = chances(row)
        tokens = [("M", ours), ("m", theirs), ("The", -9.0)]  # m is the baseline, which stands first
        top = [{"token": token, "logprob": each} for token, each in tokens if each is not None]
        completion = {"logprobs": {"content": [{"top_logprobs": top}]}}
        (preference,) = logprob_parser(
            completion, numerator_token="m", denominator_tokens=["m", "M"], is_binarize=False
        )
        texts = {"output_1": row["output"], "output_2": reply(row["instruction"])}
        names = {"generator_1": "baseline", "generator_2": "model", "annotator": "judge"}
        if texts["output_2"]:  # the figures are those of the replies that say something
            found.append({"index": at, "instruction": row["instruction"], "preference": preference, **texts, **names})
        print(
            json.dumps(
                {"instruction": row["instruction"], "preference": None if math.isnan(preference) else float(preference)}
            )
        )
    difficulties = pd.DataFrame({"index": range(COUNT), "instruction_difficulty": 0.0, "model": ""})
    glm_winrate.hf_hub_download = lambda **_: "nowhere"
    read_csv, pd.read_csv = pd.read_csv, lambda *_, **__: difficulties
    fits = {
        "unpenalised": {"n_splits": 0, "penalty": None, "solver": "lbfgs", "tol": 1e-12, "max_iter": 10**5},
        "as_shipped": {"n_splits": 5},
    }
    for name, fit in fits.items():
        formula = glm_winrate.GLM_INFO["length_controlled_minimal"] | {"kwargs": fit}
        annotations = pd.DataFrame(found).dropna()
        figures = glm_winrate.get_length_controlled_winrate(annotations, save_weights_dir=None, glm_info=formula)
        print(json.dumps({"fit": name, **{key: float(value) for key, value in figures.items()}}))
    pd.read_csv = read_csv


if __name__ == "__main__":
    sys.exit(main())
