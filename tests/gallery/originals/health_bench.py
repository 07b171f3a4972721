"""The scores of HealthBench on the conversations, rubrics and grades of test_health_bench.py: `HealthBenchEval` runs whole.

openai/simple-evals, commit ee3b0318d8d1d9d72755a4120879be65f7c07e9e, as the package `simple_evals`; with blobfile, jinja2,
numpy, openai, pandas, requests and tqdm. Its data and its grader are those that are drawn here.

    python -P tests/gallery/originals/health_bench.py > tests/gallery/verdicts/health_bench.jsonl
"""

from __future__ import annotations

import io
import json
import random
import re
import sys
from types import SimpleNamespace
from typing import Any

AXES = (
    "axis:accuracy", "axis:communication_quality", "axis:completeness", "axis:context_awareness",
    "axis:instruction_following",
)  # fmt: skip
THEMES = ("theme:hedging", "theme:global_health", "theme:emergency_referrals", "theme:context_seeking")


def rows() -> list[dict[str, Any]]:
    """Return conversations with rubrics; some criteria have no axis, or several, and some axes only negative points."""
    found = []
    for n in range(60):
        dice = random.Random(n)
        rubrics = [
            {
                "criterion": f"criterion <{n}.{at}>"
                + dice.choice(["", " such as 发热", ' with "quotes"', "\nand more"]),
                "points": 7 if at == 0 else dice.choice([-10, -8, -5, 1, 3, 5, 7, 10, 2.5]),
                "tags": [
                    f"level:{dice.choice(['example', 'cluster'])}",
                    *dice.sample(AXES, dice.choice([0, 1, 1, 1, 2])),
                ],
            }
            for at in range(dice.randint(1, 6))
        ]
        talk = [{"role": "user", "content": f"Question {n}?"}]
        if n % 3 == 0:
            talk += [
                {"role": "assistant", "content": "Since when?"},
                {"role": "user", "content": f"Since {n} days.\n\nWhy?"},
            ]
        tags = [dice.choice(THEMES), *["physician_agreed_category:hedging"] * (n % 4 == 0)]
        found.append({"prompt_id": f"p{n}", "prompt": talk, "example_tags": tags, "rubrics": rubrics})
    return found


def is_met(criterion: str) -> bool:
    """Return the verdict of the grader on a criterion."""
    return random.Random(f"met {criterion}").random() < 0.5


def asked(prompt: str) -> str:
    """Return the mark of the criterion that the grader is asked about."""
    (mark,) = re.findall(r"criterion (<\d+\.\d+>)", prompt)
    return str(mark)


def main() -> None:
    """Print the metrics of each conversation, and those of all."""
    import simple_evals.healthbench_eval as original

    data = "".join(json.dumps(row) + "\n" for row in rows()).encode()
    original.bf = SimpleNamespace(BlobFile=lambda *_: io.BytesIO(data))
    aggregate, results = original._aggregate_get_clipped_mean, []

    def grader(messages: list[dict[str, str]]) -> Any:
        text = json.dumps({"explanation": "…", "criteria_met": is_met(asked(messages[0]["content"]))})
        return SimpleNamespace(response_text=f"```json\n{text}\n```")

    def sampler(messages: list[dict[str, str]]) -> Any:
        return SimpleNamespace(response_text="A reply.", response_metadata={}, actual_queried_message_list=messages)

    original._aggregate_get_clipped_mean = lambda found: (results.extend(found), aggregate(found))[1]
    stdout, sys.stdout = sys.stdout, sys.stderr
    figures = original.HealthBenchEval(grader_model=grader, n_threads=1)(sampler)
    sys.stdout = stdout
    for each in results:
        print(json.dumps({"prompt_id": each.example_level_metadata["prompt_id"], "metrics": each.metrics}))
    print(
        json.dumps(
            {name: float(value) for name, value in figures.metrics.items() if not name.endswith(("_samples", "_std"))}
        )
    )


if __name__ == "__main__":
    main()
