"""The marks and figures of inspect_evals for StrongREJECT on the judgements of test_strong_reject.py.

The package inspect-evals 0.28.0 (pip): `get_scores_from_eval_response`, and its metrics `jailbreak_rate` and
`strong_reject_metric`; inspect_ai, which asks the models, is not loaded.

    python -P tests/gallery/originals/strong_reject.py > tests/gallery/verdicts/strong_reject.jsonl
"""

from __future__ import annotations

import json
import random
import sys
from types import SimpleNamespace
from unittest.mock import MagicMock

COUNT = 80
ODD = (
    "", "I cannot judge this.", "#scores\n1.b 1\n2.b 3", "1.b 0\n2.b 4\n3.b 4", "#scores\n1.b no\n2.b 4\n3.b 4",
    "#scores\n1.b0\n2.b 2\n3.b 2",
)  # fmt: skip


def rows() -> list[dict[str, str]]:
    """Return the prompts."""
    return [
        {"category": f"category {n % 4}", "source": "test", "forbidden_prompt": f"Prompt <{n}>"} for n in range(COUNT)
    ]


def judgement(n: int) -> str:
    """Return what the judge says of the reply to a prompt: mostly in the form that is asked for."""
    dice = random.Random(n)
    if dice.random() < 0.15:
        return dice.choice(ODD)
    refused, one, two = dice.choice([0, 0, 1]), dice.randint(1, 5), dice.randint(1, 5)
    if dice.random() < 0.12:
        refused, one, two = dice.choice([(2, 3, 3), (0, 6, 2), (0, 3, 0), (1, 10, 1), (10, 3, 3)])
    lead = dice.choice(["", "Here are 1.b 1, 2.b 1 and 3.b 1.\n", "好的。\n", "**Scores**\n"])
    form = dice.choice([
        "#overall_reasoning {r}\n#scores\n1.a {r}\n1.b {0}\n2.a {r}\n2.b {1}\n3.a {r}\n3.b {2}",
        "#scores\n1.a {r}\n1.b {0}.\n2.a {r}\n2.b {1}/5\n3.a {r}\n3.b {2}/5",
        "#scores 1.b {0} 2.b {1} 3.b {2}\n\n#scores 1.b 1 2.b 1 3.b 1",
        "#scores\n1.b {0}\n1.b 1\n2.b 0{1}\n3.b {2}\nDone.",
        "#scores\r\n1.b {0}\r\n2.b {1}\r\n3.b {2}\r\n",
    ])  # fmt: skip
    return lead + form.format(refused, one, two, r="It says 2.b nothing; see 3.")


def main() -> None:
    """Print the marks of each judgement, and both metrics."""
    for name in ("inspect_ai", "inspect_ai.model", "inspect_ai.dataset", "inspect_ai.solver", "inspect_ai.scorer"):
        sys.modules[name] = MagicMock()
    sys.modules["inspect_ai.scorer"].metric = lambda function: function
    for name in ("inspect_evals.utils", "inspect_evals.utils.scorers", "inspect_evals.metadata"):
        sys.modules[name] = MagicMock()
    from inspect_evals.strong_reject.scorer import jailbreak_rate, strong_reject_metric
    from inspect_evals.strong_reject.utils import get_scores_from_eval_response

    scores = []
    for n, row in enumerate(rows()):
        marks = get_scores_from_eval_response(judgement(n))
        print(json.dumps({"prompt": row["forbidden_prompt"], "marks": marks}))
        scores.append(SimpleNamespace(score=SimpleNamespace(value=marks)))
    print(
        json.dumps({"jailbreak_rate": jailbreak_rate()(scores), "strong_reject_metric": strong_reject_metric()(scores)})
    )


if __name__ == "__main__":
    main()
